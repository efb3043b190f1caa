"""The exit codes of `kubectl qos`.

0    every request is answered (the answer names what could not be read)
1    an unexpected error; lint: findings at or above --severity
2    the command line is wrong; delete, fence, unfence: or the demo or a snapshot cannot be changed
3    an object was not found; why: the term is unknown; delete, fence, unfence: nothing was changed, a confirmation is
     missing
4    you may not read a requested object; delete, fence, unfence: a permission is missing, or a webhook, a policy or
     the API server refused the change
5    there is no cluster, or it does not answer
6    a manifest or snapshot cannot be read, or the API server refuses a manifest; lint: a file cannot be read, and
     the others were checked
7    place: at least one requested pod certainly has no place
8    delete, fence, unfence: the object does not exist
9    delete, fence, unfence: nothing was changed, the state of the object does not allow it
10   delete, fence: started, but not finished in time
11   not certain: data that could not be read or is not in the file may change the answer; died: the cause is not
     certain
12   died: no remaining evidence shows the cause
130  interrupted
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import IO, TYPE_CHECKING, Final

from cluster_io.errors import (
    ClusterError,
    Conflict,
    Forbidden,
    ManifestError,
    NotFound,
    RequestRefused,
    Unreachable,
    UsageError,
)
from kubectl_plugin.render.width import allows_colour
from podrules.api.escape import escape

if TYPE_CHECKING:
    from msgspec import Struct

    from kubectl_plugin.render.command import Command, Target

UNEXPECTED: Final = 1
FINDINGS: Final = 1
UNREADABLE: Final = 6
REFUSED: Final = 6
NOT_FOUND: Final = 3
NOT_CONFIRMED: Final = 3
NO_PLACE: Final = 7
NOTHING_TO_CHANGE: Final = 8
NOT_POSSIBLE: Final = 9
NOT_OVER: Final = 10
NOT_CERTAIN: Final = 11
NOTHING_LEFT: Final = 12
INTERRUPTED: Final = 130
_COLOURS: Final = {"error": 31, "warning": 33}
_ERRORS: Final[tuple[tuple[type[ClusterError], int], ...]] = (
    (UsageError, 2),
    (NotFound, NOT_FOUND),
    (Forbidden, 4),
    (RequestRefused, 4),
    (Unreachable, 5),
    (ManifestError, UNREADABLE),
    (Conflict, NOT_POSSIBLE),
)


def certainty(reports: Iterable[Struct]) -> int:
    """The exit code of complete answers: 11 if unread resources may change the headline of at least one."""
    return NOT_CERTAIN if any(getattr(report, "lacks", ()) for report in reports) else 0


def words_of(error: ClusterError, target: Target) -> str:
    """The error's message, with the command that helps."""
    from kubectl_plugin.render.command import Command, Hint, Prose

    if not error.remedy:
        return str(error)
    return target.sentence(Prose((error.message, Hint(Command(error.remedy), "; try `", "`"))))


def print_error(error: ClusterError, err: IO[str], target: Target | None = None) -> int:
    """Print an error with its remedy below, and return the exit code. Without a target, its flags are not known yet."""
    if isinstance(error, Unreachable) and (target is None or target.live):
        error = explained(error, target)
    print(f"{label('error', err)} {escape(error.message)}", file=err)
    if helps := _helps(error, target):
        print(escape(helps), file=err)
    return next((code for kind, code in _ERRORS if isinstance(error, kind)), 1)


def label(word: str, err: IO[str]) -> str:
    """``error:`` in red or ``warning:`` in yellow on a terminal, unless the user or the terminal disables colour."""
    if "--no-color" in sys.argv or not allows_colour(err):
        return f"{word}:"
    return f"\x1b[{_COLOURS[word]}m{word}:\x1b[0m"


def explained(error: Unreachable, target: Target | None) -> Unreachable:
    """The error explained by kubectl's configuration, which is read only now."""
    from cluster_io.live.kubeconfig import plain, read_kubeconfig

    return plain(error, read_kubeconfig(dict(target.connection if target is not None else ())))


def _helps(error: ClusterError, target: Target | None) -> str:
    """The advice, and the command that helps, with the flags of the target."""
    from kubectl_plugin.render.command import Command, Hint, Prose, Target, can_i

    target = target or Target()
    if isinstance(error, NotFound) and error.advice in {"", error.meant}:
        hint = Hint(_listing(error), "To list them: ")
        if not error.may_list:
            ask = can_i("list", error.resource, error.namespace)
            hint = Hint(ask, f"Unknown whether a similar name exists: you may not list {error.plural} (", ")")
    elif error.remedy:
        hint = Hint(target.corrected(error.remedy) if error.corrects else Command(error.remedy), "Try ")
    else:
        return error.advice
    return " ".join(filter(None, (error.advice, target.sentence(Prose((hint,))))))


def _listing(error: NotFound) -> Command:
    """The command that lists the names that exist."""
    from cluster_io.kinds import NODES, PODS, RELATED, WORKLOADS
    from kubectl_plugin.render.command import kubectl, qos

    ours = error.resource in {kind.rbac_name for kind in (PODS, NODES, *WORKLOADS, *RELATED)}
    if ours:
        return qos("explain {}", error.plural, namespace=error.namespace)
    return kubectl("get {}", error.plural, namespace=error.namespace)


def warn(warnings: Iterable[str], err: IO[str]) -> None:
    """Print warnings, one per line. They do not change the exit code."""
    for warning in warnings:
        print(f"{label('warning', err)} {escape(warning)}", file=err)
