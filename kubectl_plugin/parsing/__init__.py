"""Parses the command line into a command and its options. Prints only help.

A command is a module in this folder with its flags and help (`CommandParser`), and a module of the same name in
`kubectl_plugin.commands` that runs it. Only the modules of the typed command are loaded.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple, NoReturn

from cluster_io.errors import UsageError
from kubectl_plugin.parsing.commands import COMMANDS, FLAGS_WITH_VALUE, command_parser
from podrules import __version__

if TYPE_CHECKING:
    from kubectl_plugin.options import Options

_OPTIONAL_VALUE: Final = "--timeline"
"""The flag with an optional value."""


class ParsedCommand(NamedTuple):
    """A parsed command line."""

    command: str
    options: Options


class Tokens(NamedTuple):
    """The typed words, with flags separated: kubectl's users write flags anywhere, even before the command."""

    flags: tuple[str, ...]
    """The flags with their values."""
    positional: tuple[str, ...]
    """The command first, then its targets."""


def parse(words: Sequence[str]) -> ParsedCommand:
    """The options of a command line. Help and the version are printed, and end the process with code 0.

    Raises:
        UsageError: the command line is wrong.
    """
    flags, positional = _split(words)
    if positional[:1] == ("help",):
        flags, positional = ("--help",), positional[1:2]
    if positional[:1] == ("version",):
        flags, positional = ("--version",), ()
    if not positional:
        _parse_without_command(flags)
    command = positional[0]
    if command not in COMMANDS:
        from kubectl_plugin.parsing.mistakes import unknown_command

        raise unknown_command(command, flags, positional[1:])
    return _parse_command(command, Tokens(flags, positional[1:]))


def _split(words: Sequence[str]) -> Tokens:
    flags: list[str] = []
    positional: list[str] = []
    takes_value = False
    for position, word in enumerate(words):
        if takes_value:
            flags.append(word)
            takes_value = False
        elif word == "--":
            positional.extend(words[position + 1 :])
            break
        elif word == _OPTIONAL_VALUE:
            # As in kubectl, its value follows a =. A next word that is one of its values is also accepted.
            takes_value = position + 1 < len(words) and _is_way(words[position + 1])
            flags.append(word if takes_value else f"{word}=all")
        elif word.startswith("-") and word != "-":
            flags.append(word)
            takes_value = word in FLAGS_WITH_VALUE
        else:
            positional.append(word)
    return Tokens(tuple(flags), tuple(positional))


def _is_way(word: str) -> bool:
    """Whether a word is a value of ``--timeline``, or a misspelt one."""
    if word.startswith("-") or "/" in word or word in COMMANDS:
        return False
    from kubectl_plugin.parsing.explain import WAYS
    from kubectl_plugin.parsing.similar_words import nearest

    return word in {"all", *WAYS} or (word.replace("-", "").isalpha() and bool(nearest(word, WAYS, closeness=0.75)))


class Parser(argparse.ArgumentParser):
    """Raises an exception with the problem and the remedy."""

    def error(self, message: str) -> NoReturn:
        """Refuse the command line.

        Args:
            message: The problem; after a line break, the remedy.

        Raises:
            UsageError: always.
        """
        wrong, _, advice = message.partition("\n")
        raise UsageError(wrong, advice=advice or f"Flags and examples: {self.prog} --help")

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if action.choices is not None and value not in action.choices:
            from kubectl_plugin.parsing.similar_words import not_one_of

            raise argparse.ArgumentError(action, not_one_of(str(value), tuple(map(str, action.choices))))


def _parse_command(command: str, typed: Tokens) -> ParsedCommand:
    module = command_parser(command)
    parser = Parser(
        prog=f"kubectl qos {command}",
        description=module.DESCRIPTION,
        epilog=module.EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
        exit_on_error=False,
    )
    parser.set_defaults(command_parser=parser, typed_command=command, typed_flags=typed.flags)
    module.add(parser)
    try:
        args, left = parser.parse_known_args([*typed.flags, *(["--"] if typed.positional else []), *typed.positional])
    except (argparse.ArgumentError, UsageError) as error:
        from kubectl_plugin.parsing.mistakes import wrong_flag

        raise wrong_flag(command, typed.flags, typed.positional, error) from None
    if left:
        from kubectl_plugin.parsing.mistakes import left_over

        raise left_over(command, typed.flags, typed.positional, left)
    return ParsedCommand(command, module.options(args))


def _parse_without_command(flags: Sequence[str]) -> NoReturn:
    """Print help or the version; refuse all other words."""
    parser = Parser(
        prog="kubectl qos",
        description="Explains what Kubernetes will do to a pod, and why.",
        epilog="Run `kubectl qos COMMAND --help` for the options of a command.",
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"kubectl-qos {__version__}")
    # With a name given, argparse does not format a usage, which would import shutil and its compression modules.
    commands = parser.add_subparsers(prog=parser.prog, title="commands", metavar="COMMAND")
    for name, line in COMMANDS.items():
        commands.add_parser(name, help=line)
    _, left = parser.parse_known_args(flags or ("--help",))
    from kubectl_plugin.parsing.mistakes import no_command

    raise no_command(left)
