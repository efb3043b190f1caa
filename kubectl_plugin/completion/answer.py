"""The entry point of ``kubectl_complete-qos``: from words to candidates and a directive."""

from __future__ import annotations

import os
import re
import signal
import sys
from collections.abc import Mapping, Sequence
from types import FrameType
from typing import TYPE_CHECKING, Final

from cluster_io.errors import ClusterError
from kubectl_plugin.completion.words import Directive, Question, TypedWords, question, typed

if TYPE_CHECKING:
    from kubectl_plugin.options import ClusterOptions

_SECONDS: Final = 1.0
_OWN_SECONDS: Final = "KUBECTL_QOS_COMPLETION_SECONDS"
_PLAIN: Final = re.compile(r"[\w.:/@+=,~][\w.:/@+=,~-]*", re.ASCII)
"""Shells may expand candidates, so names and flags with other characters are left out."""


class _OutOfTime(BaseException):
    """The time is up. A BaseException, so that no handler on the way catches it."""


def main(argv: Sequence[str] | None = None) -> int:
    """Print candidates for the last word; returns 0, because a shell shows no errors here."""
    words = sys.argv[1:] if argv is None else argv
    lines, directive = answer(words[:-1], words[-1] if words else "")
    print(*lines, f":{int(directive)}", sep="\n")
    return 0


def answer(before: Sequence[str], current: str) -> tuple[Sequence[str], Directive]:
    """The candidates, each with a tab and its description if it has one, and the directive.

    Args:
        before: The words before it.
        current: The word that is being typed.
    """
    line = typed(before)
    asked = question(line, current)
    found = [(name, description) for name, description in asked.candidates if name.startswith(asked.prefix)]
    names = (name for name in _names(asked, line) if name.startswith(asked.prefix) and _PLAIN.fullmatch(name))
    found += [(f"{asked.before}{name}", "") for name in names]
    directive = asked.directive
    if asked.names is not None and found and all(name.endswith("/") for name, _ in found):
        directive |= Directive.NO_SPACE
    return [f"{name}\t{description}" if description else name for name, description in found], directive


def _names(asked: Question, line: TypedWords) -> Sequence[str]:
    if asked.names is None:
        return ()
    from kubectl_plugin.completion.names import candidates

    seconds = _seconds(os.environ)
    signal.signal(signal.SIGALRM, _stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        return candidates(asked, _cluster(line.values), seconds)
    except (ClusterError, OSError, _OutOfTime, ValueError):
        return ()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


def _stop(_number: int, _frame: FrameType | None) -> None:
    raise _OutOfTime


def _seconds(environment: Mapping[str, str]) -> float:
    try:
        return max(0.1, float(environment.get(_OWN_SECONDS, "")))
    except ValueError:
        return _SECONDS


def _cluster(values: Mapping[str, str]) -> ClusterOptions:
    """The cluster that the flags select."""
    from kubectl_plugin.options import ClusterOptions

    return ClusterOptions(
        namespace=values.get("--namespace"),
        context=values.get("--context"),
        kubeconfig=values.get("--kubeconfig"),
        cluster=values.get("--cluster"),
        user=values.get("--user"),
        as_user=values.get("--as"),
        as_groups=(values["--as-group"],) if "--as-group" in values else (),
        demo="--demo" in values,
        snapshot=values.get("--snapshot"),
    )
