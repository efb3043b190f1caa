"""What can stand where the cursor is: of the words alone, no cluster is asked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import Enum, IntFlag
from typing import Final, NamedTuple

from kubectl_plugin.parsing import COMMANDS, FLAGS_WITH_VALUE
from kubectl_plugin.parsing.flags import Flag, groups_of

__all__ = ["TYPES", "Directive", "Names", "Question", "Typed", "question", "typed"]


class Directive(IntFlag):
    """How the shell goes on, in cobra's numbers."""

    FILES = 0
    """Names of files, where there is no candidate."""
    NO_SPACE = 2
    NO_FILES = 4


class Names(Enum):
    """Objects whose names are asked for."""

    EXPLAINED = "pods, nodes and workloads"
    PLACED = "pods and workloads"
    PODS = "pods"
    NODES = "nodes"
    PODS_AND_NODES = "pods and nodes"
    NAMESPACES = "namespaces"
    CONTEXTS = "contexts"
    CLUSTERS = "clusters"
    USERS = "users"
    TERMS = "terms"


class Question(NamedTuple):
    """What is asked for."""

    candidates: tuple[tuple[str, str], ...] = ()
    """What is known already, each with its explanation."""
    names: Names | None = None
    """Objects that are to be added."""
    prefix: str = ""
    """What was typed of it."""
    typed_kind: str | None = None
    """The kind of a name without one: ``explain pod NAME``. None: ``TYPE/NAME``, empty: the name alone."""
    directive: Directive = Directive.NO_FILES


class Typed(NamedTuple):
    """The words before the one in question, understood as far as they go."""

    command: str
    words: tuple[str, ...]
    """That are no flags."""
    values: Mapping[str, str]
    """Of flags, by every name of the flag; the last one counts."""
    open_flag: str
    """The flag whose value comes next; empty: none."""


_VALUES: Final = {
    "--namespace": Names.NAMESPACES,
    "--context": Names.CONTEXTS,
    "--cluster": Names.CLUSTERS,
    "--user": Names.USERS,
    "--on": Names.NODES,
    "--drain": Names.NODES,
    "--exclude-node": Names.NODES,
    "--without": Names.PODS,
}
"""Flags whose values are names."""
_OWN_NAMES: Final = {
    "explain": Names.EXPLAINED,
    "place": Names.PLACED,
    "report": Names.PODS_AND_NODES,
    "delete": Names.PODS,
    "fence": Names.NODES,
    "unfence": Names.NODES,
    "node": Names.NODES,
    "why": Names.TERMS,
}
"""What commands are about."""
TYPES: Final = {
    Names.PLACED: ("pod", "deployment", "replicaset", "statefulset", "job", "cronjob", "replicationcontroller"),
    Names.PODS: ("pod",),
    Names.NODES: ("node",),
    Names.PODS_AND_NODES: ("pod", "node"),
    Names.EXPLAINED: (
        "pod",
        "node",
        "deployment",
        "replicaset",
        "statefulset",
        "daemonset",
        "job",
        "cronjob",
        "replicationcontroller",
    ),
}
"""Of what commands are about, the type of a name alone first."""
_SHORT: Final = {"-n": "--namespace"}


def typed(words: Sequence[str]) -> Typed:
    """Take words apart, whatever they are."""
    command, own, values, open_flag, only_words = "", [], {}, "", False
    for word in words:
        if open_flag:
            values[_SHORT.get(open_flag, open_flag)], open_flag = word, ""
        elif only_words or not word.startswith("-") or word == "-":
            if command or word not in COMMANDS:
                own.append(word)
            else:
                command = word
        elif word == "--":
            only_words = True
        elif "=" in word:
            name, _, value = word.partition("=")
            values[_SHORT.get(name, name)] = value
        elif word in FLAGS_WITH_VALUE and word != "--timeline":
            open_flag = word
        else:
            values[word] = ""
    return Typed(command, tuple(own), values, open_flag)


def question(before: Typed, current: str) -> Question:
    """What may stand in place of the word that is being typed."""
    if before.open_flag:
        return _value(before, before.open_flag, current)
    if current.startswith("-") and "=" in current:
        name, _, value = current.partition("=")
        return _value(before, name, value)
    if current.startswith("-"):
        return Question(_flags(before.command), prefix=current)
    if not before.command:
        return Question(tuple(COMMANDS.items()), prefix=current)
    names = _OWN_NAMES.get(before.command)
    if names is None:
        return Question()
    if names is Names.NODES and before.command == "node":
        return Question(names=names, prefix=current, typed_kind=None if "/" in current else "")
    kind = before.words[0].partition(",")[0] if before.words and "/" not in before.words[0] else None
    if kind is None and current and "/" not in current and names in TYPES:
        # What no type begins with is a name alone.
        kind = None if any(name.startswith(current) for name in TYPES[names]) else ""
    return Question(names=names, prefix=current, typed_kind=kind)


def _flags(command: str) -> tuple[tuple[str, str], ...]:
    if not command:
        return (("--help", "how it is used"), ("--version", "which one it is"))
    return tuple((name, flag.help) for flag in _all_flags(command) for name in flag.names if name.startswith("--"))


def _all_flags(command: str) -> Sequence[Flag]:
    return [flag for group in groups_of(command) for flag in group.flags]


def _value(before: Typed, name: str, prefix: str) -> Question:
    """The value of a flag; before the command is known those of all commands are meant."""
    flag = next((flag for flag in _all_flags(before.command or "explain") if name in flag.names), None)
    names = _VALUES.get(_SHORT.get(name, name))
    if names is not None:
        return Question(names=names, prefix=prefix, typed_kind=None if names is Names.PODS or "/" in prefix else "")
    if flag is None:
        return Question()
    if flag.choices and "=" not in prefix:
        more = any(choice.endswith("=") and choice.startswith(prefix) for choice in flag.choices)
        directive = Directive.NO_FILES | (Directive.NO_SPACE if more else Directive.NO_FILES)
        return Question(tuple((choice, "") for choice in flag.choices), prefix=prefix, directive=directive)
    return Question(directive=Directive.FILES if flag.value in {"FILE", "WHERE"} else Directive.NO_FILES)
