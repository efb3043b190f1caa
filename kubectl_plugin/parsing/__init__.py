"""Parses the command line into a command and its options. Prints only help.

A command is a struct in `kubectl_plugin.options`, which declares its flags and help, and a module of its name in
`kubectl_plugin.commands` that runs it. Only the modules of the typed command are loaded.
"""

from __future__ import annotations

import argparse
import itertools
import re
import sys
from collections.abc import Iterator, Sequence
from typing import Any, Final, NoReturn

from cluster_io.errors import UsageError
from kubectl_plugin.options import ClusterOptions, CommandOptions, Selection, TypedCommand
from kubectl_plugin.options.flag import KUBECTL, OptionsStruct, add_flags
from kubectl_plugin.parsing.commands import COMMANDS, LISTED, flags_of, options_of, takes_value
from podrules import __version__

_OPTIONAL_VALUE: Final = "--timeline"
"""The flag with an optional value."""
_CONNECTION: Final = 'Use "kubectl qos options" for the flags of the connection to the cluster.'
_NOT_OF_TARGET: Final = frozenset({"request_timeout", "offline"})
"""Flags of `ClusterOptions` that do not select objects."""


class ParsedCommand(OptionsStruct):
    """A parsed command line."""

    command: str
    options: CommandOptions


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
    if positional[:1] == ("options",):
        _print_connection_flags()
    if not positional:
        _parse_without_command(flags)
    command = positional[0]
    if command not in COMMANDS:
        from kubectl_plugin.parsing.mistakes import unknown_command

        raise unknown_command(command, flags, positional[1:])
    return _parse_command(command, flags, positional[1:])


def _split(words: Sequence[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The flags with their values, and the other words. Users of kubectl write flags anywhere."""
    flags: list[str] = []
    positional: list[str] = []
    # Of this command, the flags are loaded to separate the words.
    command = next((word for word in words if word in COMMANDS), "explain")
    has_open_flag = False
    for position, word in enumerate(words):
        if has_open_flag:
            flags.append(word)
            has_open_flag = False
        elif word == "--":
            positional.extend(words[position + 1 :])
            break
        elif word == _OPTIONAL_VALUE:
            # As in kubectl, its value follows a =. A next word that is one of its values is also accepted.
            has_open_flag = position + 1 < len(words) and _is_way(words[position + 1])
            flags.append(word if has_open_flag else f"{word}=all")
        elif word.startswith("-") and word != "-":
            flags.append(word)
            has_open_flag = takes_value(word, command)
        else:
            positional.append(word)
    return tuple(flags), tuple(positional)


def _is_way(word: str) -> bool:
    """Whether a word is a value of ``--timeline``, or a misspelt one."""
    if word.startswith("-") or "/" in word or word in COMMANDS:
        return False
    from kubectl_plugin.options.pod_commands import WAYS
    from kubectl_plugin.options.similar_words import nearest

    return word in {"all", *WAYS} or (word.replace("-", "").isalpha() and bool(nearest(word, WAYS, closeness=0.75)))


class _HelpFormatter(argparse.RawDescriptionHelpFormatter):
    """Leaves room for long flags, and names a value only once, as Python 3.13 does."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, max_help_position=28)

    def _format_action_invocation(self, action: argparse.Action) -> str:
        return re.sub(r"^(-\w) \S+(?=, --)", r"\1", super()._format_action_invocation(action))


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
            from kubectl_plugin.options.similar_words import not_one_of

            raise argparse.ArgumentError(action, not_one_of(str(value), tuple(map(str, action.choices))))


def _parse_command(command: str, flags: Sequence[str], positional: Sequence[str]) -> ParsedCommand:
    options = options_of(command)
    declared = options.all_flags()
    connection = {name: one.but(help=argparse.SUPPRESS) for name, one in declared.items() if one.group == KUBECTL}
    words = next((f" [{one.value} ...]" for one in declared.values() if not one.names), "")
    parser = Parser(
        prog=f"kubectl qos {command}",
        usage=f"%(prog)s{words} [flags]",
        description=options.description,
        epilog=f"{options.examples}\n{_CONNECTION}" if connection else options.examples,
        formatter_class=_HelpFormatter,
        allow_abbrev=False,
        exit_on_error=False,
    )
    add_flags(parser, {**declared, **connection})
    try:
        args, left = parser.parse_known_args([*flags, *(["--"] if positional else []), *positional])
    except (argparse.ArgumentError, UsageError) as error:
        from kubectl_plugin.parsing.mistakes import wrong_flag

        raise wrong_flag(command, flags, positional, error) from None
    if left:
        from kubectl_plugin.parsing.mistakes import left_over

        raise left_over(command, flags, positional, left)
    args.typed = TypedCommand(command=command, flags=tuple(_flags_to_repeat(command, flags)))
    return ParsedCommand(command=command, options=options.parsed(args))


def _flags_to_repeat(command: str, flags: Sequence[str]) -> Iterator[tuple[str, str]]:
    """The typed flags with their values, without flags that a suggested command gets from its target."""
    known = flags_of(command)
    cluster = (flag.names for name, flag in ClusterOptions.all_flags().items() if name not in _NOT_OF_TARGET)
    of_target = {*itertools.chain.from_iterable(cluster), *Selection.all_flags()["everywhere"].names}
    words = iter(flags)
    for word in words:
        name, _, value = word.partition("=")
        if not word.startswith("--"):
            name, value = word[:2], word[2:].removeprefix("=")
        takes_value = known[name].takes_value
        if takes_value and name == word:
            value = next(words, "")
        if name not in of_target:
            # The long form takes its value after a =.
            yield known[name].names[-1] if takes_value else name, value


def _print_connection_flags() -> NoReturn:
    """``kubectl qos options``: as ``kubectl options``, the flags that the help of the commands leaves out."""
    parser = Parser(usage="kubectl qos COMMAND [flags]", formatter_class=_HelpFormatter, add_help=False)
    flags = ClusterOptions.all_flags()
    add_flags(parser, {name: one for name, one in flags.items() if one.group == KUBECTL})
    parser.print_help()
    sys.exit(0)


def _parse_without_command(flags: Sequence[str]) -> NoReturn:
    """Print help or the version; refuse all other words."""
    parser = Parser(
        prog="kubectl qos",
        description="Explains what Kubernetes will do to a pod, and why.",
        formatter_class=_HelpFormatter,
        epilog='Use "kubectl qos COMMAND --help" for the flags of a command.',
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"kubectl-qos {__version__}")
    # With a name given, argparse does not format a usage, which would import shutil and its compression modules.
    commands = parser.add_subparsers(prog=parser.prog, title="commands", metavar="COMMAND")
    for name, line in LISTED.items():
        commands.add_parser(name, help=line)
    _, left = parser.parse_known_args(flags or ("--help",))
    from kubectl_plugin.parsing.mistakes import no_command

    raise no_command(left)
