"""The source of Kubernetes, where Go has downloaded it: for the control plane of the tests, or for the oracle."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from podrules.features import REFERENCE_VERSION

__all__ = ["upstream_source"]


def upstream_source() -> Path:
    """The folder of its module; the test is skipped where it is not."""
    module = f"k8s.io/kubernetes@v{REFERENCE_VERSION}"
    for folder in _module_caches(os.environ):
        if (folder / module).is_dir():
            return folder / module
    return pytest.skip(
        f"no {module} in Go's module cache: run `go mod download` in tests/controlplane/tools/kubernetes"
    )


def _module_caches(environment: Mapping[str, str]) -> Iterator[Path]:
    if cache := environment.get("GOMODCACHE"):
        yield Path(cache)
    go_path = environment.get("GOPATH") or Path(environment.get("HOME", "~")).expanduser() / "go"
    yield Path(go_path) / "pkg" / "mod"
