"""The commands: their names, the flags that take a value, and the module that parses each."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from importlib import import_module
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

from kubectl_plugin.parsing.output import OutputFormats

if TYPE_CHECKING:
    from kubectl_plugin.options import Options


COMMANDS: Final = {
    "explain": "explain a pod, a node, a workload or a manifest",
    "died": "show what ended a pod or its containers, with the evidence",
    "place": "predict where pods would be placed, without creating them",
    "node": "show what is killed and evicted first on a node under pressure, and how close that is",
    "report": "list problems in the cluster; with -o FILE.html write a page of nodes, budgets and pods",
    "snapshot": "capture the data that the rules need, for --snapshot of the other commands",
    "lint": "check manifests for problems, without a cluster; for CI",
    "versions": "list the running versions; with --to show what changes in another version",
    "why": "explain a term or a message of Kubernetes",
    "partitions": "list nodes that do not answer, and what depends on them",
    "delete": "delete a pod and follow it; without grace only a pod that was checked",
    "fence": "declare a silent node out of service, once its machine is off",
    "unfence": "take back a node that was declared out of service",
    "rights": "print the ClusterRole that commands need, for an administrator to apply",
}
"""The help line of each command."""
FLAGS_WITH_VALUE: Final = frozenset(
    {
        "-f",
        "--filename",
        "-n",
        "--namespace",
        "-l",
        "--selector",
        "--field-selector",
        "-o",
        "--output",
        "--snapshot",
        "--context",
        "--kubeconfig",
        "--cluster",
        "--user",
        "--as",
        "--as-group",
        "--request-timeout",
        "--scheduler-config",
        "--kubelet-config",
        "--kubernetes-version",
        "--feature-gates",
        "--replicas",
        "--exclude-node",
        "--add-node",
        "--without",
        "--drain",
        "--on",
        "--grace-period",
        "--timeline",
        "--dry-run",
        "--timeout",
        "--fence-command",
        "--severity",
        "--watch-interval",
        "--disable",
        "--compare",
        "--to",
        "--since",
    }
)
"""Flags of any command that take a value: the word after one of them is not a command."""


class CommandParser(Protocol):
    """The module of a command in this folder."""

    DESCRIPTION: str
    EXAMPLES: str

    def add(self, parser: argparse.ArgumentParser) -> None:
        """Add the command's flags."""
        ...

    def options(self, args: argparse.Namespace) -> Options:
        """The typed options."""
        ...


def command_parser(command: str) -> CommandParser:
    """The module that parses a command."""
    module: CommandParser = import_module(f"kubectl_plugin.parsing.{command}")
    return module


# The flags of a command as data, for completion, manual pages and messages.


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
