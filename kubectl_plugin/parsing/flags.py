"""The flags of a command as data, for whoever tells of them: completion and manual pages."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import NamedTuple

from kubectl_plugin.parsing import words_of
from kubectl_plugin.parsing.common import OutputFormats

__all__ = ["Flag", "Group", "groups_of"]


class Flag(NamedTuple):
    """One flag, or what stands without one."""

    names: tuple[str, ...]
    """``-o``, ``--output``; none: it is a word of its own."""
    value: str
    """What its value is called; empty: it has none."""
    choices: tuple[str, ...]
    """Of values; a = at the end: more follows."""
    help: str


class Group(NamedTuple):
    """Flags under one heading."""

    title: str
    flags: tuple[Flag, ...]


def groups_of(command: str) -> tuple[Group, ...]:
    """All that a command takes, by group; words of their own first."""
    parser = argparse.ArgumentParser(prog=f"kubectl qos {command}")
    words_of(command).add(parser)
    # argparse prints what was added and has no other way to list it.
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
