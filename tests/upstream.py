"""Upstream's source in Go's module cache, which may lack it even if the control plane was built once.

``python -m tests.upstream`` downloads it with Go, as the ``go.sum`` of that version's control plane pins it. Tests
only read it.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from podrules.api.features import REFERENCE, REFERENCE_VERSION
from tests.controlplane.binaries import Unavailable, find_go, go_environment
from tests.required import without

# What is published on its own has 0 for the major version.
_ON_ITS_OWN: Final = f"v0.{REFERENCE_VERSION.partition('.')[2]}"
MODULES: Final = {
    "k8s.io/kubernetes": f"v{REFERENCE_VERSION}",
    "k8s.io/api": _ON_ITS_OWN,
    "k8s.io/apimachinery": _ON_ITS_OWN,
    "k8s.io/apiserver": _ON_ITS_OWN,
    "k8s.io/cloud-provider": _ON_ITS_OWN,
    "k8s.io/component-base": _ON_ITS_OWN,
    "k8s.io/component-helpers": _ON_ITS_OWN,
    "k8s.io/dynamic-resource-allocation": _ON_ITS_OWN,
    "k8s.io/kube-scheduler": _ON_ITS_OWN,
    "k8s.io/kubectl": _ON_ITS_OWN,
    "k8s.io/kubelet": _ON_ITS_OWN,
    "k8s.io/pod-security-admission": _ON_ITS_OWN,
}
"""Modules with files that tests read, in the reference version."""
_TOOLS: Final = Path(__file__).parent / "controlplane" / "tools" / "kubernetes"
_REQUIREMENTS: Final = f"versions/1.{REFERENCE.minor}.mod"


def find_source(module: str) -> Path | Unavailable:
    """The folder of a module."""
    name = f"{module}@{MODULES[module]}"
    for folder in _module_caches(os.environ):
        if (folder / name).is_dir():
            return folder / name
    return Unavailable(reason=f"no {name} in Go's module cache: `make ci-tools` has it downloaded")


def upstream_source(module: str = "k8s.io/kubernetes") -> Path:
    """The folder of a module; the test ends if it is missing."""
    found = find_source(module)
    if isinstance(found, Unavailable):
        without(found.reason)
    return found


def _module_caches(environment: Mapping[str, str]) -> Iterator[Path]:
    if cache := environment.get("GOMODCACHE"):
        yield Path(cache)
    go_path = environment.get("GOPATH") or Path(environment.get("HOME", "~")).expanduser() / "go"
    yield Path(go_path) / "pkg" / "mod"


def main() -> int:
    """Download the missing modules."""
    go = find_go()
    if isinstance(go, Unavailable):
        print(go.reason, file=sys.stderr)
        return 1
    return subprocess.run(
        [go, "mod", "download", f"-modfile={_REQUIREMENTS}", *MODULES], cwd=_TOOLS, env=go_environment(), check=False
    ).returncode


if __name__ == "__main__":
    sys.exit(main())
