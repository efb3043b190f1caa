"""The command line's words: which command, which flags, as options. It prints help only.

A command is a module here with its words (`add`, `options`, `DESCRIPTION`, `EXAMPLES`) and one of the same name in
`kubectl_plugin.commands` that runs it; only those of the command that was typed are loaded.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

from podrules import __version__

if TYPE_CHECKING:
    from kubectl_plugin.options import Options

__all__ = ["COMMANDS", "FLAGS_WITH_VALUE", "Parsed", "Words", "parse", "words_of"]

COMMANDS: Final = {
    "explain": "explain a pod, a node, a workload or a manifest",
    "place": "what if: where would these pods go",
    "node": "a node under memory or disk pressure: who goes first, how far it is",
    "report": "one HTML page: the cluster's nodes, zones, priorities, budgets and pods",
    "snapshot": "capture what the rules need, for --snapshot of the other commands",
    "lint": "what is wrong in manifests, without a cluster; for CI",
    "why": "what a term, or a text that Kubernetes wrote, means",
    "partitions": "nodes that went silent, and what hangs on them",
    "delete": "delete a pod and follow it; without grace only what was looked at",
    "fence": "declare a silent node out of service, once its machine is off",
    "unfence": "take a node back that was declared out of service",
}
"""Each command and its line of help."""
FLAGS_WITH_VALUE: Final = frozenset(
    {
        "-f",
        "--filename",
        "-n",
        "--namespace",
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
    }
)
"""Of all commands: the word after one of them is no command."""
_ALONE: Final = {"--timeline": "--timeline=all"}
"""Flags whose value may be left out, as in kubectl: it then has to stand behind a =, and the next word is no value."""


class Parsed(NamedTuple):
    """A command line."""

    command: str
    options: Options


class Words(Protocol):
    """What a command's module holds."""

    DESCRIPTION: str
    EXAMPLES: str

    def add(self, parser: argparse.ArgumentParser) -> None:
        """Name its flags."""
        ...

    def options(self, args: argparse.Namespace) -> Options:
        """What was typed."""
        ...


def parse(words: Sequence[str]) -> Parsed:
    """The options of a command line; a wrong one ends the process with code 2, as argparse does."""
    ordered = _command_first([_ALONE.get(word, word) for word in words])
    args = _parser(ordered[0] if ordered else "").parse_args(ordered)
    return Parsed(args.command, words_of(args.command).options(args))


def words_of(command: str) -> Words:
    """The module with a command's words."""
    module: Words = import_module(f"{__name__}.{command}")
    return module


def _command_first(words: Sequence[str]) -> list[str]:
    """The words with the command moved to the front: kubectl's users write flags anywhere, also before it."""
    takes_value = False
    for position, word in enumerate(words):
        if word in COMMANDS and not takes_value:
            return [word, *words[:position], *words[position + 1 :]]
        takes_value = word in FLAGS_WITH_VALUE
    return list(words)


def _parser(command: str) -> argparse.ArgumentParser:
    """All commands by name, and the flags of the one that is meant."""
    parser = argparse.ArgumentParser(
        prog="kubectl qos",
        description="Explains what Kubernetes will do to a pod, and why.",
        epilog="Run `kubectl qos COMMAND --help` for the options of a command.",
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"kubectl-qos {__version__}")
    # With its name given argparse does not word a usage for it, which loads four ways to compress.
    commands = parser.add_subparsers(
        prog=parser.prog, title="commands", metavar="COMMAND", required=True, dest="command"
    )
    for name, line in COMMANDS.items():
        if name != command:
            commands.add_parser(name, help=line)
            continue
        words = words_of(name)
        chosen = commands.add_parser(
            name,
            help=line,
            description=words.DESCRIPTION,
            epilog=words.EXAMPLES,
            formatter_class=argparse.RawDescriptionHelpFormatter,
            allow_abbrev=False,
        )
        chosen.set_defaults(command_parser=chosen)
        words.add(chosen)
    return parser
