"""Messages about wrong command lines: the problem, and the probable intention. Loaded only for an error."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Mapping, Sequence
from itertools import pairwise, takewhile
from typing import Final, NamedTuple

from cluster_io.errors import UsageError
from cluster_io.kinds import NODES, find_kind
from kubectl_plugin.options.flag import Flag
from kubectl_plugin.options.similar_words import nearest
from kubectl_plugin.parsing.commands import COMMANDS, flags_of

_REQUIRED: Final = "the following arguments are required: "
_IN_KUBECONFIG: Final = "Set it in a kubeconfig (kubectl config --help), and select that with --kubeconfig or --context"
_LEAVE_OUT: Final = "Leave it out"
_OF_KUBECTL: Final = {
    "--as-uid": "Leave it out, or use --as and --as-group",
    "--as-user-extra": "Leave it out, or use --as and --as-group",
    **dict.fromkeys(("--server", "-s", "--token", "--username", "--password", "--tls-server-name"), _IN_KUBECONFIG),
    **dict.fromkeys(("--certificate-authority", "--client-certificate", "--client-key"), _IN_KUBECONFIG),
    **dict.fromkeys(("--insecure-skip-tls-verify", "--disable-compression"), _IN_KUBECONFIG),
    **dict.fromkeys(("-v", "--v", "--vmodule", "--log-flush-frequency", "--profile", "--profile-output"), _LEAVE_OUT),
    **dict.fromkeys(("--cache-dir", "--kuberc", "--match-server-version", "--warnings-as-errors"), _LEAVE_OUT),
}
"""Flags of kubectl that are not passed on to it, each with advice."""


def unknown_command(word: str, flags: Sequence[str], words: Sequence[str]) -> UsageError:
    """The error for a first word that is not a command, or is the value of an unknown flag."""
    known = habit_of(word, words)
    near = "" if known else nearest(word, tuple(COMMANDS))
    unknown = "" if near or known else _first_unknown(flags, _all_flags())
    if unknown:
        return _unknown_flag(unknown, "")
    if not near and not known and "/" in word:
        return UsageError(f'"{word}" is not a command', advice=f"Write kubectl qos explain {shlex.quote(word)}")
    known = known or (None if near else habit_of(nearest(word, KUBECTL_COMMANDS), words))
    if known:
        taken = () if _first_unknown(flags, flags_of(known.command)) else flags
        return UsageError(f'unknown command "{word}"', advice=known.advice((*words, *taken)))
    question = f'Did you mean "{near}"? ' if near else ""
    return UsageError(f'unknown command "{word}"', advice=f"{question}Commands: kubectl qos --help")


def no_command(left: Sequence[str]) -> UsageError:
    """The error for flags without a command."""
    unknown = _first_unknown(left, _all_flags())
    if unknown:
        return _unknown_flag(unknown, "")
    return UsageError("no command", advice="Write e.g. kubectl qos explain pod/NAME. Commands: kubectl qos --help")


def wrong_flag(
    command: str, flags: Sequence[str], words: Sequence[str], error: argparse.ArgumentError | UsageError
) -> UsageError:
    """The error for a wrong value, a missing value, or an unknown flag. The flags have their values."""
    unknown = _first_unknown(flags, flags_of(command))
    if unknown:
        return _unknown_flag(unknown, command, flags, words)
    if isinstance(error, UsageError):
        return _missing(command, error)
    message, _, advice = error.message.partition("\n")
    names = (error.argument_name or "").split("/")
    flag = flags_of(command).get(names[0])
    typed = _as_typed(names, flags)
    if typed == "--dry-run" and not message.startswith("expected"):
        advice = instead_of_dry_run(command, flags)
    if message.startswith("expected"):
        return UsageError(f"{typed} needs a value", advice=f"Write {typed} {_value(flag)}")
    if message.startswith("ignored explicit argument"):
        return UsageError(f"{typed} takes no value", advice=f"Write {typed} alone")
    if message.startswith("not allowed with argument"):
        other = message.rpartition(" ")[2]
        return UsageError(f"{typed} cannot be used with {other}", advice=f"Leave {typed} or {other} out")
    return UsageError(f"{typed} {message}", advice=advice or f"See kubectl qos {command} --help")


def left_over(command: str, flags: Sequence[str], words: Sequence[str], left: Sequence[str]) -> UsageError:
    """The error for words that the parser did not accept: unknown flags, or words for a command without targets."""
    unknown = _first_unknown(flags, flags_of(command))
    if unknown:
        return _unknown_flag(unknown, command, flags, words)
    word = next((word for word in left if word != "--"), "")
    return UsageError(
        f'"{word}": kubectl qos {command} takes flags only', advice=f"Flags and examples: kubectl qos {command} --help"
    )


def _missing(command: str, error: UsageError) -> UsageError:
    if not error.message.startswith(_REQUIRED):
        return error
    names = error.message.removeprefix(_REQUIRED).split(", ")[0].split("/")
    flag = flags_of(command).get(names[0])
    typed = f"{names[0]} {flag.value}" if flag is not None else names[0]
    return UsageError(
        f"{typed} is missing", advice=f"Write kubectl qos {command} {typed}; see kubectl qos {command} --help"
    )


def _unknown_flag(flag: str, command: str, flags: Sequence[str] = (), words: Sequence[str] = ()) -> UsageError:
    """The error for a flag that the command does not have; without a command, for a flag that no command has."""
    if flag == "--force" and command:
        return UsageError(f'"kubectl qos {command}" has no --force', advice=instead_of_force(command, flags, words))
    if (flag, command) == ("--now", "delete"):
        return UsageError(f'"kubectl qos {command}" has no --now', advice=instead_of_now(flags, words))
    if flag in _OF_KUBECTL:
        return UsageError(f"{flag} is kubectl's, and kubectl qos does not pass it on", advice=_OF_KUBECTL[flag])
    place = f"kubectl qos {command}".rstrip()
    having = [other for other in COMMANDS if flag in flags_of(other)]
    if having:
        advice = f"It is a flag of kubectl qos {', '.join(having)}. Flags: {place} --help"
    else:
        known = flags_of(command) if command else [*flags_of("explain"), "--version"]
        near = nearest(flag, [name for name in known if name.startswith("--")]) if flag.startswith("--") else ""
        advice = f"{f'Did you mean {near}? ' if near else ''}Flags: {place} --help"
    return UsageError(f'unknown flag {flag} for "{place}"', advice=advice)


def _all_flags() -> dict[str, Flag]:
    return {name: flag for command in COMMANDS for name, flag in flags_of(command).items()}


def _first_unknown(flags: Sequence[str], known: Mapping[str, Flag]) -> str:
    """The first unknown flag; empty: all are known."""
    takes_value = False
    for word in flags:
        if takes_value:
            takes_value = False
            continue
        name = word.partition("=")[0]
        if name in known:
            takes_value = bool(known[name].value) and "=" not in word
        elif word.startswith("--") or word[:2] not in known:
            return name if word.startswith("--") else word[:2]
    return ""


def _value(flag: Flag | None) -> str:
    """The placeholder of a flag's value."""
    if flag is None or not flag.choices:
        return flag.value if flag is not None else "VALUE"
    choices = ", ".join(flag.choices)
    return choices if len(flag.choices) == 1 else f"{flag.value.partition('{')[0]}, one of {choices}".lstrip(", ")


def _as_typed(names: Sequence[str], flags: Sequence[str]) -> str:
    """The last typed name of a flag."""
    typed = [name for word in flags for name in names if word.partition("=")[0] == name or word[:2] == name]
    return typed[-1] if typed else names[0]


# Commands and flags that kubectl's users type, and their form here

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
        """``Write kubectl qos explain pod/web-0 --timeline``."""
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
    """The plugin's command for the typed command; None: no advice."""
    kind = find_kind(word)
    if kind is not None and kind is not NODES:
        return Habit("explain", before=(word,), example="")
    return _EXPLAINED if word == "status" and words else _HABITS.get(word)


def instead_of_force(command: str, flags: Sequence[str], words: Sequence[str]) -> str:
    """Advice for ``--force``. The flags have their values."""
    if command != "delete":
        return _FORCE.get(command, _FORCE_ELSEWHERE)
    left = [flag for flag in flags if flag.partition("=")[0] != "--force"]
    if "--confirm" in left:
        return f"Leave it out: {_deletion(_at_once(left), words)}"
    return f"Leave it out: {_deletion(_at_once(left), words)} shows the risk; with --confirm it also deletes"


def instead_of_now(flags: Sequence[str], words: Sequence[str]) -> str:
    """Advice for kubectl's ``--now``. The flags have their values."""
    left = [flag for flag in flags if flag.partition("=")[0] != "--now"]
    return f"Write {_deletion(left if _has_grace(left) else [_NOW, *left], words)}"


def instead_of_dry_run(command: str, flags: Sequence[str]) -> str:
    """Advice for a dry run on the client. The flags have their values."""
    if command == "delete" and _AT_ONCE not in flags and (_GRACE, "0") not in pairwise(flags):
        return "Use --dry-run=server: the API server processes the change without storing it"
    return "Use --dry-run=server, or leave it out: without a confirmation nothing is changed"


def _at_once(flags: Sequence[str]) -> Sequence[str]:
    return flags if _has_grace(flags) else [_AT_ONCE, *flags]


def _has_grace(flags: Sequence[str]) -> bool:
    return any(flag.partition("=")[0] == _GRACE for flag in flags)


def _deletion(flags: Sequence[str], words: Sequence[str]) -> str:
    return f"kubectl qos delete {shlex.join((*(words or ('pod/NAME',)), *flags))}"
