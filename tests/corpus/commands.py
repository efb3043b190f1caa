"""The commands over files and objects of the corpus, in this process: their exit codes, and unexpected errors."""

from __future__ import annotations

import contextlib
import io
import json
import traceback
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from msgspec import Struct

from cluster_io.kinds import PODS, WORKLOADS
from kubectl_plugin.cli import main
from kubectl_plugin.exit_codes import FINDINGS, REFUSED, UNREADABLE
from tests.corpus.objects import Found
from tests.corpus.sources import Text

_LINT_ENDS: Final = frozenset({0, FINDINGS, UNREADABLE})
_EXPLAIN_ENDS: Final = frozenset({0, REFUSED})
_EXPLAINED: Final = frozenset((kind.api_version, kind.kind) for kind in (PODS, *WORKLOADS))


class Run(Struct, frozen=True):
    """How a command ended."""

    code: int
    said: str
    broken: str
    """The traceback, or another problem; empty: none."""


def lint(text: Text, minor: int) -> Run:
    """`kubectl qos lint` of a file."""
    name = f"manifests{Path(text.path).suffix or '.yaml'}"
    return _run(name, text.content, ("lint", "-o", "json", f"--kubernetes-version=1.{minor}"), _LINT_ENDS)


def explain(found: Found, minor: int) -> Run:
    """`kubectl qos explain` of a pod or workload, without a cluster."""
    content = json.dumps(found.content)
    arguments = ("explain", "--offline", "-o", "wide", f"--kubernetes-version=1.{minor}")
    return _run("manifests.json", content, arguments, _EXPLAIN_ENDS)


def is_explained(content: Mapping[str, Any]) -> bool:
    """Whether an object is a pod or a workload."""
    return (content["apiVersion"], content["kind"]) in _EXPLAINED


def _run(name: str, content: str, arguments: Sequence[str], ends: frozenset[int]) -> Run:
    with TemporaryDirectory(prefix="corpus-") as folder:
        file = Path(folder) / name
        file.write_text(content, encoding="utf-8")
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code, broken = _ended(lambda: main([*arguments, "-f", str(file)]))
    said = out.getvalue() + err.getvalue()
    if not broken and code not in ends:
        broken = f"exit code {code}: {said[-500:]}"
    return Run(code, said, broken)


def _ended(command: Callable[[], int]) -> tuple[int, str]:
    try:
        return command(), ""
    except SystemExit as ended:
        return int(ended.code or 0), ""
    except Exception:  # noqa: BLE001  # whatever a command raises is what is looked for
        return -1, traceback.format_exc()
