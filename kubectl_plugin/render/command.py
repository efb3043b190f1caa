"""Commands that an answer suggests, with the flags that select the source of the answer.

    Command   a suggestion of a view: program, target and namespace; `qos` and `kubectl` make one from a text and names
    Target    the typed flags that select a cluster, a snapshot or the demo; the renderer adds them
    Prose     a sentence with commands in it

A view does not add flags of the target, so it cannot forget any. A pasted command must use the same cluster and user:
otherwise, a deletion that was checked in one cluster would happen in another.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from typing import Final

from msgspec import Struct

from podrules.api.escape import escape
from podrules.api.names import NO_COMMAND, command, is_plain_name

_ASK_NO_CLUSTER: Final = frozenset({"why", "lint", "rights"})
"""Commands of the plugin without flags of a target."""
_READ_SCHEDULER_CONFIG: Final = frozenset({"explain", "place", "report", "versions"})
_READ_VERSIONS: Final = _READ_SCHEDULER_CONFIG | {"node"}
_READ_KUBELET_CONFIG: Final = frozenset({"explain", "node", "died"})


class Command(Struct, frozen=True):
    """One command to paste."""

    words: tuple[str, ...]
    """``kubectl``, ``qos``, ``explain``, ``pod/web-0``."""
    namespace: str | None = None
    """The namespace of the command's object; empty: the target's; None: the command needs none."""
    options: tuple[str, ...] = ()
    """Flags after the target."""
    comment: str = ""
    """The purpose of the command, printed after ``#``."""
    changes: bool = False
    """Whether the command changes something, which needs a live cluster."""
    typed: tuple[tuple[str, str], ...] = ()
    """Further flags with the user's own values, which are always quoted."""
    plain: bool = True
    """Whether all names in it are plain; else it is not suggested, and the answer says so."""

    @property
    def ours(self) -> str:
        """The name of the plugin's command; empty: a command of another program."""
        return self.words[2] if self.words[:2] == ("kubectl", "qos") and len(self.words) > 2 else ""

    @property
    def asks_a_cluster(self) -> bool:
        """Whether it takes the flags of a target."""
        return self.words[0] == "kubectl" and self.ours not in _ASK_NO_CLUSTER


class Hint(Struct, frozen=True):
    """A command in a sentence. The words around it are left out together with the command."""

    command: Command
    before: str = ""
    after: str = ""


class Prose(Struct, frozen=True):
    """A sentence with commands in it."""

    parts: tuple[str | Hint, ...]


def kubectl(
    text: str,
    *names: str,
    namespace: str | None = None,
    options: str = "",
    comment: str = "",
    changes: bool = False,
    typed: tuple[tuple[str, str], ...] = (),
) -> Command:
    """A command of kubectl; see `Command`.

    Args:
        text: Its words, ``describe pod {}``, with ``{}`` in the place of each name.
        names: The names, for the text and then for the options.
        namespace: A name, too.
        options: Words after the target, with ``{}`` likewise.
        comment: Its purpose.
        changes: Whether it changes something.
        typed: Flags with the user's own values.
    """
    whole = command(f"kubectl {text}|{options}", *names)
    words, _, rest = whole.partition("|")
    plain = whole != NO_COMMAND and (not namespace or is_plain_name(namespace))
    return Command(tuple(words.split()), namespace, tuple(rest.split()), comment, changes, typed, plain)


def can_i(verb: str, resource: str, namespace: str | None, *, everywhere: bool = False) -> Command:
    """The command that checks a permission; in ``can-i``, ``nodes/proxy`` would mean a node of that name.

    Args:
        verb: The verb.
        resource: The resource's name in RBAC.
        namespace: The namespace; None: the context's, or the resource has none.
        everywhere: In all namespaces.
    """
    kind, _, part = resource.partition("/")
    if part:
        return kubectl("auth can-i {} {}", verb, kind, part, namespace=namespace or None, options="--subresource={}")
    return kubectl("auth can-i {} {}", verb, kind, namespace=namespace or None, options="-A" if everywhere else "")


def qos(
    text: str,
    *names: str,
    namespace: str | None = None,
    options: str = "",
    comment: str = "",
    changes: bool = False,
    typed: tuple[tuple[str, str], ...] = (),
) -> Command:
    """A command of the plugin; see `kubectl`."""
    return kubectl(
        f"qos {text}", *names, namespace=namespace, options=options, comment=comment, changes=changes, typed=typed
    )


def why(term: str, comment: str = "") -> Command:
    """The command that explains a term or a message, which is always quoted."""
    return Command(("kubectl", "qos", "why", term), comment=comment)


def as_typed(text: str) -> Command:
    """A command from its text."""
    return Command(tuple(shlex.split(text)))


def _flag(flag: tuple[str, str]) -> str:
    name, value = flag
    return f"{name}={shlex.quote(value)}" if value else name


class Target(Struct, frozen=True):
    """The flags that selected the source of an answer. Without any: the current context."""

    connection: tuple[tuple[str, str], ...] = ()
    """Flags of kubectl, each with its value."""
    source: tuple[tuple[str, str], ...] = ()
    """``--demo`` without a value, or ``--snapshot``."""
    namespace: str = ""
    """As typed."""
    scheduler_config: str = ""
    kubelet_config: str = ""
    versions: tuple[tuple[str, str], ...] = ()
    """Flags that select the version of the rules, each with its value."""
    live: bool = True
    """Whether the objects come from a cluster."""
    command: str = ""
    """The typed command of the plugin."""
    typed: tuple[tuple[str, str], ...] = ()
    """The flags of that command that do not select a target."""

    def corrected(self, words: tuple[str, ...]) -> Command:
        """A corrected command; it keeps the typed flags if the command is the same."""
        corrected = Command(words)
        return Command(words, typed=self.typed) if self.command and corrected.ours == self.command else corrected

    def flags(self, command: str) -> str | None:
        """The flags that select this target, quoted for the shell; None: they cannot be shown safely.

        Args:
            command: The plugin's command, ``explain``; empty: kubectl itself.
        """
        flags = " ".join(map(_flag, self._flags(command)))
        return flags if escape(flags) == flags else None

    def _flags(self, command: str) -> Iterator[tuple[str, str]]:
        yield from self.connection
        if command:
            yield from self.source
        if self.scheduler_config and command in _READ_SCHEDULER_CONFIG:
            yield "--scheduler-config", self.scheduler_config
        if command in _READ_VERSIONS:
            yield from self.versions
        if self.kubelet_config and command in _READ_KUBELET_CONFIG:
            yield "--kubelet-config", self.kubelet_config

    def line(self, command: Command) -> str | None:
        """The command to paste; None: it cannot be suggested.

        A command is not suggested if it needs a cluster and there is none, or if a name in it is not plain: a hostile
        object must not add words to a command that people paste.
        """
        asks = command.asks_a_cluster
        if not command.plain or (asks and not self.live and (command.changes or not command.ours)):
            return None
        namespace = self.namespace if command.namespace == "" else command.namespace
        place = ["-n", namespace] if namespace else []
        flags = (*(self._flags(command.ours) if asks else ()), *command.typed)
        words = [*map(shlex.quote, (*command.words, *place)), *map(_flag, flags), *map(shlex.quote, command.options)]
        line = " ".join(words)
        # An escaped command would name another object.
        return None if escape(line) != line else line

    def suggestion(self, command: Command) -> str | None:
        """The command with its comment; None: it cannot be suggested."""
        line = self.line(command)
        return f"{line}   # {command.comment}" if line is not None and command.comment else line

    def suggestions(self, commands: tuple[Command, ...]) -> tuple[str, ...]:
        """The commands that can be suggested, one per line; a comment if one has a name that is not plain."""
        lines = tuple(line for command in commands if (line := self.suggestion(command)) is not None)
        return lines if all(command.plain for command in commands) else (*lines, f"# {NO_COMMAND}")

    def sentence(self, text: str | Prose, space: str = " ") -> str:
        """A sentence with its commands filled in.

        Args:
            text: The sentence.
            space: Separates the words of a command; a renderer that wraps lines passes an unbreakable one.
        """
        if isinstance(text, str):
            return text
        return "".join(part if isinstance(part, str) else self._hint(part, space) for part in text.parts)

    def _hint(self, hint: Hint, space: str) -> str:
        line = self.line(hint.command) if hint.command.plain else NO_COMMAND
        return "" if line is None else f"{hint.before}{line.replace(' ', space)}{hint.after}"
