"""The flags of a command as data, for completion, manual pages and messages."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import NamedTuple

from kubectl_plugin.parsing.commands import command_parser
from kubectl_plugin.parsing.output import OutputFormats


class Flag(NamedTuple):
    """One flag, or a positional argument."""

    names: tuple[str, ...]
    """``-o``, ``--output``; empty: a positional argument."""
    value: str
    """The placeholder of its value; empty: it takes none."""
    choices: tuple[str, ...]
    """The possible values; a value with = at the end takes more text."""
    help: str


class Group(NamedTuple):
    """Flags under one heading."""

    title: str
    flags: tuple[Flag, ...]


def groups_of(command: str) -> tuple[Group, ...]:
    """All flags and arguments of a command, by group; positional arguments first."""
    parser = argparse.ArgumentParser(prog=f"kubectl qos {command}")
    command_parser(command).add(parser)
    # argparse has no public way to list the added flags.
    groups = parser._action_groups  # noqa: SLF001
    return tuple(Group(group.title or "", tuple(_flags(group))) for group in groups if group._group_actions)  # noqa: SLF001


def _flags(group: argparse._ArgumentGroup) -> Iterator[Flag]:
    for action in group._group_actions:  # noqa: SLF001
        takes = action.nargs != 0
        metavar = action.metavar if isinstance(action.metavar, str) else ""
        choices = action.type.all if isinstance(action.type, OutputFormats) else tuple(map(str, action.choices or ()))
        yield Flag(
            names=tuple(action.option_strings),
            value=(metavar or f"{{{','.join(choices)}}}") if takes else "",
            choices=tuple(choices),
            help=action.help or "",
        )
