"""Runs the command line in this process and records its output."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Any, Final, NamedTuple

import pytest

from cluster_io.capture.contents import contents
from cluster_io.capture.file import CapturedKind, Header, snapshot_parts
from cluster_io.device_kinds import DEVICE_CLASSES, RESOURCE_SLICES
from cluster_io.in_memory import MemorySource, newest_time
from cluster_io.kinds import ALL_KINDS, NODE_METRICS
from kubectl_plugin.cli import main

_WITHOUT_NAMESPACE: Final = frozenset(
    kind.kind for kind in (*ALL_KINDS, NODE_METRICS, DEVICE_CLASSES, RESOURCE_SLICES) if not kind.namespaced
)
_ANY_TIME: Final = datetime(2026, 1, 1, tzinfo=UTC)


class Ran(NamedTuple):
    """The visible result of one run."""

    code: int
    out: str
    err: str


def run(*arguments: str, stdin: str = "", env: Mapping[str, str] | None = None) -> Ran:
    """Run ``kubectl qos ARGUMENTS`` with output that is not a terminal.

    Args:
        arguments: The arguments.
        stdin: The standard input, as from a pipe.
        env: The whole environment; by default that of this process.
    """
    # Real files, because a started program may inherit one of them.
    with _file() as out, _file(errors="backslashreplace") as err:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(sys, "stdin", io.StringIO(stdin))
            patch.setattr(sys, "stdout", out)
            # Libraries read the width of the terminal from this variable.
            patch.setattr(sys, "__stdout__", out)
            patch.setattr(sys, "stderr", err)
            if env is not None:
                _set_environment(patch, env)
            try:
                code = main(arguments)
            except SystemExit as stop:
                code = stop.code if isinstance(stop.code, int) else 1
        return Ran(code, _written(out), _written(err))


def _file(errors: str = "strict") -> IO[str]:
    return TemporaryFile("w+", encoding="utf-8", errors=errors)


def _set_environment(patch: pytest.MonkeyPatch, wanted: Mapping[str, str]) -> None:
    for name in os.environ.keys() - wanted.keys():
        patch.delenv(name)
    for name, value in wanted.items():
        if os.environ.get(name) != value:
            patch.setenv(name, value)


def _written(file: IO[str]) -> str:
    file.seek(0)
    return file.read()


def write_cluster(file: Path, objects: Sequence[Mapping[str, Any]]) -> str:
    """Write a whole cluster as a snapshot, which shows that no other objects exist; return the file's name.

    Args:
        file: The file.
        objects: All objects of the cluster. Their newest time is the present.
    """
    placed = [one if one["kind"] in _WITHOUT_NAMESPACE else _placed(one) for one in objects]
    source = MemorySource(placed, description="a cluster", now=newest_time(objects) or _ANY_TIME)
    found = contents(source)
    kinds = tuple(CapturedKind(one.kind.captured_as, len(one.objects), one.not_captured, one.only) for one in found)
    header = Header(
        captured_at=source.now or _ANY_TIME,
        captured_by="test",
        server_version=None,
        namespace=source.namespace,
        anonymised=False,
        kinds=kinds,
    )
    parts = snapshot_parts(header, {one.kind.captured_as: (one.kind, one.objects) for one in found})
    file.write_bytes(b"".join(parts))
    return str(file)


def _placed(entry: Mapping[str, Any]) -> Mapping[str, Any]:
    """An object with a namespace, as the API server stores it."""
    return {**entry, "metadata": {"namespace": "default", **entry["metadata"]}}
