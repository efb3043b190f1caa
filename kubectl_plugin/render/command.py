"""Commands that an answer suggests, and the flags that lead each of them to where the answer came from.

    Command   what a view suggests: program, what it asks, of which namespace
    Target    the flags that were typed to choose a cluster, a snapshot or the demo; whoever prints adds them
    Prose     a sentence with commands in it

A view names no flag of the target, so it can forget none. What is pasted must ask the same cluster as the same user:
else a deletion that was looked at in one cluster would be made in another.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from typing import Final

from msgspec import Struct

from kubectl_plugin.render.escape import escape

__all__ = ["Command", "Hint", "Prose", "Target", "as_typed", "kubectl", "qos"]

_ASK_NO_CLUSTER: Final = frozenset({"why", "lint"})
"""Commands of ours without the flags of a target."""
_READ_SCHEDULER_CONFIG: Final = frozenset({"explain", "place", "report"})
_PLAIN: Final = re.compile(r"[A-Za-z0-9@%+=:,./_-]+", re.ASCII)
"""What no shell reads anything into."""


class Command(Struct, frozen=True):
    """One command to paste."""

    words: tuple[str, ...]
    """``kubectl``, ``qos``, ``explain``, ``pod/web-0``."""
    namespace: str | None = None
    """Of the object that it is about; empty: that of the target; None: it is about none."""
    options: tuple[str, ...] = ()
    """What stands behind the target."""
    comment: str = ""
    """What it is good for, behind ``#``."""
    changes: bool = False
    """Whether it changes something: no demo and no snapshot lets it."""
    typed: tuple[tuple[str, str], ...] = ()
    """Further flags with values that the user gave: they are quoted, whatever is in them."""

    @property
    def ours(self) -> str:
        """The plugin's command; empty: it is another program's."""
        return self.words[2] if self.words[:2] == ("kubectl", "qos") and len(self.words) > 2 else ""

    @property
    def asks_a_cluster(self) -> bool:
        """Whether the flags of a target belong to it."""
        return self.words[0] == "kubectl" and self.ours not in _ASK_NO_CLUSTER


class Hint(Struct, frozen=True):
    """A command in a sentence, with the words that go with it where it cannot be suggested."""

    command: Command
    before: str = ""
    after: str = ""


class Prose(Struct, frozen=True):
    """A sentence with commands in it."""

    parts: tuple[str | Hint, ...]


def qos(
    *words: str,
    namespace: str | None = None,
    options: tuple[str, ...] = (),
    comment: str = "",
    changes: bool = False,
    typed: tuple[tuple[str, str], ...] = (),
) -> Command:
    """One of the plugin's own; see `Command`."""
    return Command(("kubectl", "qos", *words), namespace, options, comment, changes, typed)


def kubectl(
    *words: str, namespace: str | None = None, options: tuple[str, ...] = (), comment: str = "", changes: bool = False
) -> Command:
    """One of kubectl itself; see `Command`."""
    return Command(("kubectl", *words), namespace, options, comment, changes)


def as_typed(text: str) -> Command:
    """One that stands somewhere as it is typed."""
    return Command(tuple(shlex.split(text)))


def _flag(flag: tuple[str, str]) -> str:
    name, value = flag
    return f"{name}={shlex.quote(value)}" if value else name


class Target(Struct, frozen=True):
    """The flags that chose where an answer came from. Without any: the current context."""

    connection: tuple[tuple[str, str], ...] = ()
    """Flags that kubectl has too, each with its value."""
    source: tuple[tuple[str, str], ...] = ()
    """``--demo`` without a value, or ``--snapshot``."""
    namespace: str = ""
    """As it was typed."""
    scheduler_config: str = ""
    live: bool = True
    """Whether there is a cluster to ask."""
    command: str = ""
    """Which of ours was typed."""
    typed: tuple[tuple[str, str], ...] = ()
    """Its flags that are none of a target."""

    def corrected(self, words: tuple[str, ...]) -> Command:
        """The command that corrects what was typed, with the flags that were typed where it is the same command."""
        corrected = Command(words)
        return Command(words, typed=self.typed) if self.command and corrected.ours == self.command else corrected

    def flags(self, command: str) -> str | None:
        """What a command of ours needs to be led here, quoted for the shell; None: it cannot be shown as it is.

        Args:
            command: ``explain``; empty: it is kubectl itself.
        """
        flags = " ".join(map(_flag, self._flags(command)))
        return flags if escape(flags) == flags else None

    def _flags(self, command: str) -> Iterator[tuple[str, str]]:
        yield from self.connection
        if command:
            yield from self.source
        if self.scheduler_config and command in _READ_SCHEDULER_CONFIG:
            yield "--scheduler-config", self.scheduler_config

    def line(self, command: Command) -> str | None:
        """The command as it is pasted; None where it cannot be suggested.

        That is so where it would need a cluster and there is none; and where a name of the cluster is none that an API
        server accepts: a hostile snapshot must not put words into a command that people paste.
        """
        asks = command.asks_a_cluster
        if asks and not self.live and (command.changes or not command.ours):
            return None
        namespace = self.namespace if command.namespace == "" else command.namespace
        place = ["-n", namespace] if namespace else []
        if asks and not all(map(_PLAIN.fullmatch, (*command.words, *place, *command.options))):
            return None
        flags = (*(self._flags(command.ours) if asks else ()), *command.typed)
        words = [*map(shlex.quote, (*command.words, *place)), *map(_flag, flags), *map(shlex.quote, command.options)]
        line = " ".join(words)
        # What is shown otherwise than it was typed would name something else.
        return None if escape(line) != line else line

    def suggestion(self, command: Command) -> str | None:
        """The command with what it is good for."""
        line = self.line(command)
        return f"{line}   # {command.comment}" if line is not None and command.comment else line

    def suggestions(self, commands: tuple[Command, ...]) -> tuple[str, ...]:
        """Those that can be suggested, each as a line."""
        return tuple(line for command in commands if (line := self.suggestion(command)) is not None)

    def said(self, text: str | Prose, space: str = " ") -> str:
        """A sentence with its commands.

        Args:
            text: The sentence.
            space: What stands between the words of a command, for those that must not break it.
        """
        if isinstance(text, str):
            return text
        return "".join(part if isinstance(part, str) else self._hint(part, space) for part in text.parts)

    def _hint(self, hint: Hint, space: str) -> str:
        line = self.line(hint.command)
        return "" if line is None else f"{hint.before}{line.replace(' ', space)}{hint.after}"
