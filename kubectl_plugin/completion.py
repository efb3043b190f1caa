"""Completion in bash, zsh, fish and PowerShell, through kubectl's own: ``kubectl_complete-qos``.

Kubectl 1.26 and newer calls this program with the words after ``kubectl qos``; the last word is being typed. The
program prints one candidate per line, with a tab and a description, and ends with a directive of cobra. The words
determine what can follow: a command, a flag, a value, or the name of an object. Names are read within a second, so that
a slow cluster does not block the shell.

Source: pkg/cmd/plugin/plugin_completion.go of k8s.io/kubectl at v0.36.3.
"""

from __future__ import annotations

import io
import os
import re
import signal
import sys
from collections.abc import Mapping, Sequence
from enum import Enum, IntFlag
from types import FrameType
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from cluster_io.errors import ClusterError
from kubectl_plugin.options import ClusterOptions
from kubectl_plugin.parsing.commands import COMMANDS, LISTED, find_flag, flags_of, options_of, takes_value

if TYPE_CHECKING:
    from cluster_io.source import Source


class Directive(IntFlag):
    """How the shell uses the candidates, in cobra's numbers."""

    FILES = 0
    """Complete file names if there is no candidate."""
    NO_SPACE = 2
    NO_FILES = 4


class Names(Enum):
    """The objects with names as candidates."""

    EXPLAINED = "explained objects"
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
    """What can follow."""

    candidates: tuple[tuple[str, str], ...] = ()
    """Candidates that need no cluster, each with its description."""
    names: Names | None = None
    """Objects with names as further candidates; None: none."""
    prefix: str = ""
    """The typed part of the word."""
    typed_kind: str | None = None
    """The kind of a name that is typed without it: ``explain pod NAME``. None: ``TYPE/NAME``; empty: a name alone."""
    directive: Directive = Directive.NO_FILES
    before: str = ""
    """The part of the word before the name: names of a list, each with its comma."""


class TypedWords(NamedTuple):
    """The words before the current one."""

    command: str
    words: tuple[str, ...]
    """The words that are not flags."""
    values: Mapping[str, str]
    """The values by flag; the last value counts."""
    open_flag: str
    """The flag that needs a value next; empty: none."""


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
        "pvc",
        "pdb",
        "quota",
        "pc",
    ),
}
"""The types that can be named; a name alone means the first."""
_SHORT: Final = {"-n": "--namespace"}


def typed(words: Sequence[str]) -> TypedWords:
    """Split words into command, flags and names; never fails."""
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
        elif word != "--timeline" and takes_value(word, command or "explain"):
            open_flag = word
        else:
            values[word] = ""
    return TypedWords(command, tuple(own), values, open_flag)


def question(before: TypedWords, current: str) -> Question:
    """What can replace the word that is being typed."""
    if before.open_flag:
        return _value(before, before.open_flag, current)
    if current.startswith("-") and "=" in current:
        name, _, value = current.partition("=")
        return _value(before, name, value)
    if current.startswith("-"):
        if not before.command:
            return Question((("--help", "how it is used"), ("--version", "which one it is")), prefix=current)
        flags = flags_of(before.command).items()
        return Question(tuple((name, flag.help) for name, flag in flags if name.startswith("--")), prefix=current)
    if not before.command:
        return Question(tuple(LISTED.items()), prefix=current)
    if before.command == "rights":
        from kubectl_plugin.reports.rights import ASKED

        return Question(tuple((name, COMMANDS[name]) for name in ASKED), prefix=current)
    own = next((flag for flag in options_of(before.command).all_flags().values() if not flag.names), None)
    if own is None or not own.completes:
        return Question()
    names = Names(own.completes)
    if names is Names.NODES and before.command == "node":
        return Question(names=names, prefix=current, typed_kind=None if "/" in current else "")
    kind = before.words[0].partition(",")[0] if before.words and "/" not in before.words[0] else None
    if kind is None and current and "/" not in current and names in TYPES:
        # A word that is not the beginning of a type is a name alone.
        kind = None if any(name.startswith(current) for name in TYPES[names]) else ""
    return Question(names=names, prefix=current, typed_kind=kind)


def _value(before: TypedWords, name: str, prefix: str) -> Question:
    """The value of a flag; until the command is typed, the flags of explain are used."""
    command = before.command or "explain"
    found = find_flag(name, command)
    if found is not None and found.completes:
        names = Names(found.completes)
        several, comma, last = prefix.rpartition(",") if name == "--drain" else ("", "", prefix)
        kind = None if names is Names.PODS or "/" in last else ""
        return Question(names=names, prefix=last, typed_kind=kind, before=several + comma)
    flag = flags_of(command).get(name)
    if flag is None:
        return Question()
    if flag.choices and "=" not in prefix:
        more = any(choice.endswith("=") and choice.startswith(prefix) for choice in flag.choices)
        directive = Directive.NO_FILES | (Directive.NO_SPACE if more else Directive.NO_FILES)
        return Question(tuple((choice, "") for choice in flag.choices), prefix=prefix, directive=directive)
    return Question(directive=Directive.FILES if flag.value in {"FILE", "WHERE"} else Directive.NO_FILES)


_SECONDS: Final = 1.0
_OWN_SECONDS: Final = "KUBECTL_QOS_COMPLETION_SECONDS"
_PLAIN: Final = re.compile(r"[\w.:/@+=,~][\w.:/@+=,~-]*", re.ASCII)
"""Shells may expand candidates, so names and flags with other characters are left out."""


class _OutOfTime(BaseException):
    """The time is up. A BaseException, so that no handler on the way catches it."""


def main(argv: Sequence[str] | None = None) -> int:
    """Print candidates for the last word; returns 0, because a shell shows no errors here."""
    words = sys.argv[1:] if argv is None else argv
    lines, directive = answer(words[:-1], words[-1] if words else "")
    print(*lines, f":{int(directive)}", sep="\n")
    return 0


def answer(before: Sequence[str], current: str) -> tuple[Sequence[str], Directive]:
    """The candidates, each with a tab and its description if it has one, and the directive.

    Args:
        before: The words before it.
        current: The word that is being typed.
    """
    line = typed(before)
    asked = question(line, current)
    found = [(name, description) for name, description in asked.candidates if name.startswith(asked.prefix)]
    names = (name for name in _names(asked, line) if name.startswith(asked.prefix) and _PLAIN.fullmatch(name))
    found += [(f"{asked.before}{name}", "") for name in names]
    directive = asked.directive
    if asked.names is not None and found and all(name.endswith("/") for name, _ in found):
        directive |= Directive.NO_SPACE
    return [f"{name}\t{description}" if description else name for name, description in found], directive


def _names(asked: Question, line: TypedWords) -> Sequence[str]:
    if asked.names is None:
        return ()
    try:
        seconds = max(0.1, float(os.environ.get(_OWN_SECONDS, "")))
    except ValueError:
        seconds = _SECONDS
    signal.signal(signal.SIGALRM, _stop)
    # Python prints and drops an exception in a finalizer, such as that of an import lock: the signal comes again.
    hook, sys.unraisablehook = sys.unraisablehook, lambda _: None
    signal.setitimer(signal.ITIMER_REAL, seconds, 1)
    try:
        return _candidates(asked, asked.names, _cluster(line.values), seconds)
    except (ClusterError, OSError, _OutOfTime, ValueError):
        return ()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        sys.unraisablehook = hook


def _stop(_number: int, _frame: FrameType | None) -> None:
    raise _OutOfTime


def _cluster(values: Mapping[str, str]) -> ClusterOptions:
    """The cluster that the flags select."""
    typed: dict[str, Any] = {
        name: values[flag.names[-1]]
        for name, flag in ClusterOptions.all_flags().items()
        if flag.names[-1] in values and name in _CONNECTION
    }
    groups = (values["--as-group"],) if "--as-group" in values else ()
    return ClusterOptions(**typed, as_groups=groups, demo="--demo" in values)


_CONNECTION: Final = frozenset({"namespace", "context", "kubeconfig", "cluster", "user", "as_user", "snapshot"})
"""The flags with a text as value that select a cluster."""
_OF_KUBECONFIG: Final = {
    Names.CONTEXTS: ("get-contexts", "--output=name"),
    Names.CLUSTERS: ("get-clusters",),
    Names.USERS: ("get-users",),
}
_KINDS: Final = {**TYPES, Names.NAMESPACES: ("namespace",)}


def _candidates(asked: Question, names: Names, cluster: ClusterOptions, seconds: float) -> Sequence[str]:
    """The candidates: names, or ``TYPE/`` if the type is not typed yet.

    Args:
        asked: What can follow.
        names: The objects.
        cluster: The cluster and the user.
        seconds: The time-out of one request.

    Raises:
        ClusterError: they cannot be read.
    """
    if names is Names.TERMS:
        from kubectl_plugin.glossary.catalogue import CATALOGUE

        return [entry.name for entries in CATALOGUE.values() for entry in entries]
    if names in _OF_KUBECONFIG:
        import subprocess

        flags = [f"--kubeconfig={cluster.kubeconfig}"] if cluster.kubeconfig else []
        done = subprocess.run(
            ["kubectl", "config", *_OF_KUBECONFIG[names], *flags],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            timeout=seconds,
        )
        # Two of the three commands print a heading.
        return [line for line in done.stdout.splitlines() if line not in {"NAME", ""}]
    kinds = _KINDS[names]
    if asked.typed_kind is None and "/" not in asked.prefix and len(kinds) > 1:
        return [f"{kind}/" for kind in kinds]
    from kubectl_plugin.cli import source_of

    with source_of(cluster.replace(request_timeout=seconds), io.StringIO()) as source:
        return _of_objects(asked, kinds, source)


def _of_objects(asked: Question, kinds: Sequence[str], source: Source) -> Sequence[str]:
    # Loaded while kubectl starts.
    from cluster_io.kinds import find_kind

    word, slash, _ = asked.prefix.partition("/")
    named = word if asked.typed_kind is None and slash else asked.typed_kind
    known = [kind for name in kinds if (kind := find_kind(name)) is not None]
    kind = find_kind(named, known) if named else known[0]
    if kind is None and asked.typed_kind:
        # The previous word is a name without a type, so this one is, too.
        kind = known[0]
    if kind is None:
        return ()
    lead = f"{word if slash else kind.singular}/" if asked.typed_kind is None else ""
    return [f"{lead}{name}" for name in source.names(kind, source.namespace)]
