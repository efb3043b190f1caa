"""The command line's words: which command, which flags, as options. It prints help only.

A command is a module here with its words (`add`, `options`, `DESCRIPTION`, `EXAMPLES`) and one of the same name in
`kubectl_plugin.commands` that runs it; only those of the command that was typed are loaded.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, NamedTuple, NoReturn, Protocol

from podrules import __version__
from podrules.cluster.errors import UsageError

if TYPE_CHECKING:
    from kubectl_plugin.options import Options

__all__ = ["COMMANDS", "FLAGS_WITH_VALUE", "CommandParser", "Parsed", "parse", "words_of"]

COMMANDS: Final = {
    "explain": "explain a pod, a node, a workload or a manifest",
    "place": "what if: where would these pods go",
    "node": "a node under memory or disk pressure: who goes first, how far it is",
    "report": "what stands out in the cluster; with -o FILE.html one page of nodes, budgets and pods",
    "snapshot": "capture what the rules need, for --snapshot of the other commands",
    "lint": "what is wrong in manifests, without a cluster; for CI",
    "why": "what a term, or a text that Kubernetes wrote, means",
    "partitions": "nodes that went silent, and what depends on them",
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
    }
)
"""Of all commands: the word after one of them is no command."""
_ALONE: Final = "--timeline"
"""A flag whose value may be left out."""


class Parsed(NamedTuple):
    """A command line."""

    command: str
    options: Options


class CommandParser(Protocol):
    """What a command's module holds."""

    DESCRIPTION: str
    EXAMPLES: str

    def add(self, parser: argparse.ArgumentParser) -> None:
        """Name its flags."""
        ...

    def options(self, args: argparse.Namespace) -> Options:
        """What was typed."""
        ...


class Typed(NamedTuple):
    """Words, the flags apart from the others: kubectl's users write flags anywhere, also before the command."""

    flags: tuple[str, ...]
    """With their values."""
    own: tuple[str, ...]
    """The command first."""


def parse(words: Sequence[str]) -> Parsed:
    """The options of a command line. Help and the version are printed, and end the process with code 0.

    Raises:
        UsageError: something was typed that cannot be meant.
    """
    flags, own = _typed(words)
    if own[:1] == ("help",):
        flags, own = ("--help",), own[1:2]
    if own[:1] == ("version",):
        flags, own = ("--version",), ()
    if not own:
        _without_command(flags)
    command = own[0]
    if command not in COMMANDS:
        from kubectl_plugin.parsing.mistakes import unknown_command

        raise unknown_command(command, flags, own[1:])
    return _of_command(command, Typed(flags, own[1:]))


def words_of(command: str) -> CommandParser:
    """The module with a command's words."""
    module: CommandParser = import_module(f"{__name__}.{command}")
    return module


def _typed(words: Sequence[str]) -> Typed:
    flags: list[str] = []
    own: list[str] = []
    takes_value = False
    for position, word in enumerate(words):
        if takes_value:
            flags.append(word)
            takes_value = False
        elif word == "--":
            own.extend(words[position + 1 :])
            break
        elif word == _ALONE:
            # As in kubectl the value of such a flag stands behind a =; a way that follows is meant as one all the same.
            takes_value = position + 1 < len(words) and _is_way(words[position + 1])
            flags.append(word if takes_value else f"{word}=all")
        elif word.startswith("-") and word != "-":
            flags.append(word)
            takes_value = word in FLAGS_WITH_VALUE
        else:
            own.append(word)
    return Typed(tuple(flags), tuple(own))


def _is_way(word: str) -> bool:
    """Whether a word is meant as the value of ``--timeline``: one of its ways, or nearly."""
    if word.startswith("-") or "/" in word or word in COMMANDS:
        return False
    from kubectl_plugin.parsing.explain import WAYS
    from kubectl_plugin.parsing.mistakes import nearest

    return word in {"all", *WAYS} or (word.replace("-", "").isalpha() and bool(nearest(word, WAYS, closeness=0.75)))


class Parser(argparse.ArgumentParser):
    """Says what is wrong by an exception, with what helps."""

    def error(self, message: str) -> NoReturn:
        """Refuse what was typed.

        Args:
            message: What is wrong; behind a line break what helps.

        Raises:
            UsageError: always.
        """
        wrong, _, advice = message.partition("\n")
        raise UsageError(wrong, advice=advice or f"Flags and examples: {self.prog} --help")

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if action.choices is not None and value not in action.choices:
            from kubectl_plugin.parsing.mistakes import not_one_of

            raise argparse.ArgumentError(action, not_one_of(str(value), tuple(map(str, action.choices))))


def _of_command(command: str, typed: Typed) -> Parsed:
    words = words_of(command)
    parser = Parser(
        prog=f"kubectl qos {command}",
        description=words.DESCRIPTION,
        epilog=words.EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
        exit_on_error=False,
    )
    parser.set_defaults(command_parser=parser, typed_command=command, typed_flags=typed.flags)
    words.add(parser)
    try:
        args, left = parser.parse_known_args([*typed.flags, *(["--"] if typed.own else []), *typed.own])
    except (argparse.ArgumentError, UsageError) as error:
        from kubectl_plugin.parsing.mistakes import wrong_flag

        raise wrong_flag(command, typed.flags, typed.own, error) from None
    if left:
        from kubectl_plugin.parsing.mistakes import left_over

        raise left_over(command, typed.flags, typed.own, left)
    return Parsed(command, words.options(args))


def _without_command(flags: Sequence[str]) -> NoReturn:
    """Help, also where nothing was typed, or the version."""
    parser = Parser(
        prog="kubectl qos",
        description="Explains what Kubernetes will do to a pod, and why.",
        epilog="Run `kubectl qos COMMAND --help` for the options of a command.",
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"kubectl-qos {__version__}")
    # With its name given argparse does not word a usage for it, which loads four ways to compress.
    commands = parser.add_subparsers(prog=parser.prog, title="commands", metavar="COMMAND")
    for name, line in COMMANDS.items():
        commands.add_parser(name, help=line)
    _, left = parser.parse_known_args(flags or ("--help",))
    from kubectl_plugin.parsing.mistakes import no_command

    raise no_command(left)
