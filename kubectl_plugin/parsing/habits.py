"""Commands and flags that kubectl's users type, and their form here. Loaded only for an error."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from itertools import pairwise, takewhile
from typing import Final, NamedTuple

from cluster_io.kinds import NODES, find_kind

_FORCE: Final = {
    "fence": "Use --confirm-powered-off once the machine is certainly off, or --fence-command with --confirm",
    "unfence": "Use --confirm: it removes the taint",
    "snapshot": "Leave it out: -o replaces a file that is there",
    "report": "Leave it out: -o replaces a file that is there",
}
"""The meaning of ``--force`` by command."""
_FORCE_ELSEWHERE: Final = (
    "It changes nothing. To delete a pod without grace: kubectl qos delete pod/NAME --grace-period=0"
)
_GRACE: Final = "--grace-period"
_AT_ONCE: Final = f"{_GRACE}=0"
_NOW: Final = f"{_GRACE}=1"
"""The meaning of kubectl's ``--now`` (k8s.io/kubectl/pkg/cmd/delete at v1.36.3)."""


class Habit(NamedTuple):
    """A command of kubectl, or an expected command, as a command of the plugin."""

    command: str
    before: tuple[str, ...] = ()
    """Words before the typed words."""
    after: tuple[str, ...] = ()
    example: str = "pod/NAME"
    """The words if none were typed."""
    first: str = ""
    """Other advice, which comes first."""

    def advice(self, words: Sequence[str]) -> str:
        """``Write kubectl qos explain pod/web-0 --timeline``.

        Args:
            words: The words after the command.
        """
        if self.before == ("--drain",):
            # It takes its nodes as one word.
            names = list(takewhile(lambda word: not word.startswith("-"), words))
            nodes = ",".join(name for name in names if find_kind(name) is not NODES)
            words = [*filter(None, (nodes,)), *words[len(names) :]]
        named = shlex.join(words) if words else self.example
        command = ("kubectl", "qos", self.command, *self.before, *filter(None, (named,)), *self.after)
        return f"{self.first or 'Write '}{' '.join(command)}"


_DRAINED: Final = "what a drain would move: "
_EXPLAINED: Final = Habit("explain")
_HABITS: Final = {
    "timeline": Habit("explain", after=("--timeline",)),
    "describe": _EXPLAINED,
    "get": _EXPLAINED,
    "top": Habit("explain", example="nodes"),
    "drain": Habit("place", before=("--drain",), example="NODE"),
    "cordon": Habit("place", before=("--drain",), example="NODE", first=f"Use kubectl cordon; {_DRAINED}"),
    "uncordon": Habit("node", example="NODE", first="Use kubectl uncordon; the state of the node: "),
    "logs": Habit("explain", first="Use kubectl logs; how a container ended: "),
    "evict": Habit("explain", after=("--timeline=drain",), first="The effect of an eviction: "),
    "status": Habit("report", example="-A"),
}
KUBECTL_COMMANDS: Final = tuple(_HABITS)
"""The commands with advice."""


def habit_of(word: str, words: Sequence[str]) -> Habit | None:
    """The plugin's command for the typed command; None: no advice.

    Args:
        word: The command.
        words: The words after it.
    """
    kind = find_kind(word)
    if kind is not None and kind is not NODES:
        return Habit("explain", before=(word,), example="")
    return _EXPLAINED if word == "status" and words else _HABITS.get(word)


def instead_of_force(command: str, flags: Sequence[str], words: Sequence[str]) -> str:
    """Advice for ``--force``.

    Args:
        command: A command without that flag.
        flags: As they were typed, with their values.
        words: The other words.
    """
    if command != "delete":
        return _FORCE.get(command, _FORCE_ELSEWHERE)
    left = [flag for flag in flags if flag.partition("=")[0] != "--force"]
    if "--confirm" in left:
        return f"Leave it out: {_deletion(_at_once(left), words)}"
    return f"Leave it out: {_deletion(_at_once(left), words)} shows the risk; with --confirm it also deletes"


def instead_of_now(flags: Sequence[str], words: Sequence[str]) -> str:
    """Advice for kubectl's ``--now``.

    Args:
        flags: As they were typed, with their values.
        words: The other words.
    """
    left = [flag for flag in flags if flag.partition("=")[0] != "--now"]
    return f"Write {_deletion(left if _has_grace(left) else [_NOW, *left], words)}"


def instead_of_dry_run(command: str, flags: Sequence[str]) -> str:
    """Advice for a dry run on the client.

    Args:
        command: A command that changes something.
        flags: As they were typed, with their values.
    """
    asks = command != "delete" or _is_at_once(flags)
    if not asks:
        return "Use --dry-run=server: the API server processes the change without storing it"
    return "Use --dry-run=server, or leave it out: without a confirmation nothing is changed"


def _at_once(flags: Sequence[str]) -> Sequence[str]:
    return flags if _has_grace(flags) else [_AT_ONCE, *flags]


def _has_grace(flags: Sequence[str]) -> bool:
    return any(flag.partition("=")[0] == _GRACE for flag in flags)


def _is_at_once(flags: Sequence[str]) -> bool:
    return _AT_ONCE in flags or (_GRACE, "0") in pairwise(flags)


def _deletion(flags: Sequence[str], words: Sequence[str]) -> str:
    return f"kubectl qos delete {shlex.join((*(words or ('pod/NAME',)), *flags))}"
