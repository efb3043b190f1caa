"""Messages about wrong command lines: the problem, and the probable intention. Loaded only for an error."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Iterator, Sequence
from typing import Final

from cluster_io.errors import UsageError
from kubectl_plugin.parsing.commands import COMMANDS
from kubectl_plugin.parsing.flags import Flag, groups_of
from kubectl_plugin.parsing.habits import (
    KUBECTL_COMMANDS,
    habit_of,
    instead_of_dry_run,
    instead_of_force,
    instead_of_now,
)
from kubectl_plugin.parsing.similar_words import nearest

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
    """The error for a first word that is not a command, or is the value of an unknown flag.

    Args:
        word: The first.
        flags: As they were typed, with their values.
        words: The words after it.
    """
    known = habit_of(word, words)
    near = "" if known else nearest(word, tuple(COMMANDS))
    unknown = "" if near or known else _first_unknown(flags, [flag for command in COMMANDS for flag in _flags(command)])
    if unknown:
        return _unknown_flag(unknown, "")
    if not near and not known and "/" in word:
        return UsageError(f'"{word}" is not a command', advice=f"Write kubectl qos explain {shlex.quote(word)}")
    known = known or (None if near else habit_of(nearest(word, KUBECTL_COMMANDS), words))
    if known:
        taken = () if _first_unknown(flags, list(_flags(known.command))) else flags
        return UsageError(f'unknown command "{word}"', advice=known.advice((*words, *taken)))
    question = f'Did you mean "{near}"? ' if near else ""
    return UsageError(f'unknown command "{word}"', advice=f"{question}Commands: kubectl qos --help")


def no_command(left: Sequence[str]) -> UsageError:
    """The error for flags without a command."""
    unknown = _first_unknown(left, [flag for command in COMMANDS for flag in _flags(command)])
    if unknown:
        return _unknown_flag(unknown, "")
    return UsageError("no command", advice="Write e.g. kubectl qos explain pod/NAME. Commands: kubectl qos --help")


def wrong_flag(
    command: str, flags: Sequence[str], words: Sequence[str], error: argparse.ArgumentError | UsageError
) -> UsageError:
    """The error for a wrong value, a missing value, or an unknown flag.

    Args:
        command: The command.
        flags: As they were typed, with their values.
        words: The other words.
        error: The error of the parser.
    """
    unknown = _first_unknown(flags, list(_flags(command)))
    if unknown:
        return _unknown_flag(unknown, command, flags, words)
    if isinstance(error, UsageError):
        return _missing(command, error)
    message, _, advice = error.message.partition("\n")
    names = (error.argument_name or "").split("/")
    flag = next((flag for flag in _flags(command) if flag.names == tuple(names)), None)
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
    """The error for words that the parser did not accept: unknown flags, or words for a command without targets.

    Args:
        command: The command.
        flags: As they were typed, with their values.
        words: The other words.
        left: The words that were not accepted.
    """
    unknown = _first_unknown(flags, list(_flags(command)))
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
    flag = next((flag for flag in _flags(command) if flag.names == tuple(names)), None)
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
    having = [other for other in COMMANDS if any(flag in known.names for known in _flags(other))]
    if having:
        advice = f"It is a flag of kubectl qos {', '.join(having)}. Flags: {place} --help"
    else:
        known = [name for entry in (_flags(command) if command else _common()) for name in entry.names]
        near = nearest(flag, [name for name in known if name.startswith("--")]) if flag.startswith("--") else ""
        advice = f"{f'Did you mean {near}? ' if near else ''}Flags: {place} --help"
    return UsageError(f'unknown flag {flag} for "{place}"', advice=advice)


def _common() -> Iterator[Flag]:
    yield from _flags("explain")
    yield Flag(("--version",), "", (), "")


def _flags(command: str) -> Iterator[Flag]:
    for group in groups_of(command):
        yield from (flag for flag in group.flags if flag.names)


def _first_unknown(flags: Sequence[str], known: Sequence[Flag]) -> str:
    """The first unknown flag; empty: all are known."""
    names = {name: flag for flag in known for name in flag.names}
    takes_value = False
    for word in flags:
        if takes_value:
            takes_value = False
            continue
        name = word.partition("=")[0]
        if name in names:
            takes_value = bool(names[name].value) and "=" not in word
        elif word.startswith("--") or word[:2] not in names:
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
