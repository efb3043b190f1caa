"""The output of ``--watch``: a terminal that is redrawn, or a pipe that gets only changes."""

from __future__ import annotations

import difflib
import os
import signal
from datetime import UTC, datetime
from types import FrameType, TracebackType
from typing import IO, Final, Protocol, Self

from kubectl_plugin.options import Streams
from kubectl_plugin.render.escape import escape

_ENTER: Final = "\x1b[?1049h\x1b[?25l"
"""The alternate screen, without a cursor."""
_LEAVE: Final = "\x1b[?25h\x1b[?1049l"
_HOME: Final = "\x1b[H"
_REST_OF_LINE: Final = "\x1b[0m\x1b[K"
_REST_OF_ESCAPE: Final = "\x1b[J"


class Screen(Protocol):
    """Shows answers, each replacing the previous one."""

    def __enter__(self) -> Self:
        """Begin."""
        ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Restore the previous state."""
        ...

    def show(self, text: str, problem: str) -> None:
        """Show an answer, and the errors of its parts."""
        ...

    def note(self, problem: str) -> None:
        """Show why no new answer is available, or that answers are available again."""
        ...

    def draw(self) -> None:
        """Redraw the answer."""
        ...


class Terminal:
    """The alternate screen of a terminal. At the end, the terminal shows its previous content."""

    def __init__(self, out: IO[str]) -> None:
        """Change nothing yet."""
        self._out = out
        self._text, self._notes, self._at = "", "", datetime.now(UTC)

    def __enter__(self) -> Self:
        signal.signal(signal.SIGTSTP, self._stop)
        self._write(_ENTER)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        signal.signal(signal.SIGTSTP, signal.SIG_DFL)
        self._write(_LEAVE)

    def show(self, text: str, problem: str) -> None:
        """See `Screen.show`."""
        self._text, self._notes, self._at = text, problem, datetime.now(UTC)
        self.draw()

    def note(self, problem: str) -> None:
        """See `Screen.note`: shown below the answer, which stays."""
        self._notes = f"{datetime.now(UTC):%H:%M:%S} UTC  {escape(problem)}"
        self.draw()

    def draw(self) -> None:
        """See `Screen.draw`. The last line says how many lines do not fit."""
        size = os.get_terminal_size(self._out.fileno())
        # A new terminal may not have a size yet: 0 by 0.
        columns, rows = size.columns or 80, size.lines or 24
        lines, notes = self._text.splitlines(), self._notes.splitlines()
        room = max(1, rows - 1 - len(notes))
        hidden = max(0, len(lines) - room)
        more = f", {hidden} more lines in a larger window" if hidden else ""
        notes.append(f"as of {self._at:%H:%M:%S} UTC{more}; Ctrl-C ends")
        # One column stays free: terminals clear differently after a full line.
        drawn = [*lines[:room], *notes][:rows]
        self._write(_HOME + "\n".join(f"{_cut(line, columns - 1)}{_REST_OF_LINE}" for line in drawn) + _REST_OF_ESCAPE)

    def _stop(self, number: int, _frame: FrameType | None) -> None:
        """On Ctrl-Z, restore the terminal, stop, and take it over again. The loop redraws it."""
        # Not through the stream: the signal may have interrupted a write to it.
        os.write(self._out.fileno(), _LEAVE.encode())
        signal.signal(number, signal.SIG_DFL)
        signal.raise_signal(number)
        signal.signal(number, self._stop)
        os.write(self._out.fileno(), _ENTER.encode())

    def _write(self, text: str) -> None:
        self._out.write(text)
        self._out.flush()


def _cut(line: str, columns: int) -> str:
    """The part of a line that fits. Colours need no columns."""
    if len(line) <= columns:
        return line
    shown, room = [], columns
    for number, piece in enumerate(line.split("\x1b[")):
        code, letter, text = piece.partition("m") if number else ("", "", piece)
        shown.append((f"\x1b[{code}{letter}" if number else "") + text[:room])
        room -= len(text[:room])
    return "".join(shown)


class Pipe:
    """Prints new lines, each with its time. Data is printed as a whole, because a program reads it."""

    def __init__(self, streams: Streams, *, in_words: bool) -> None:
        """Write nothing yet."""
        self._streams, self._in_words = streams, in_words
        self._text: str | None = None
        self._problem = ""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        pass

    def show(self, text: str, problem: str) -> None:
        """See `Screen.show`."""
        if problem != self._problem:
            self._problem = problem
            self._streams.err.write(problem)
            self._streams.err.flush()
        if text == self._text:
            return
        new = "".join(f"{line}\n" for line in self._new_lines(text)) if self._in_words else text
        self._text = text
        self._streams.out.write(new)
        self._streams.out.flush()

    def note(self, problem: str) -> None:
        """See `Screen.note`: printed on standard error."""
        self._streams.err.write(f"{_now()}{escape(problem)}\n")
        self._streams.err.flush()

    def draw(self) -> None:
        """A pipe has no size: nothing to redraw."""

    def _new_lines(self, text: str) -> list[str]:
        now, before, after = _now(), (self._text or "").splitlines(), text.splitlines()
        changes = difflib.SequenceMatcher(None, before, after, autojunk=False).get_opcodes()
        new: list[str] = []
        for what, old_from, old_to, new_from, new_to in changes:
            if what == "delete":
                new += [f"{now}no longer: {line.strip()}" for line in before[old_from:old_to] if line.strip()]
            elif what != "equal":
                new += [f"{now}{line}".rstrip() for line in after[new_from:new_to]]
        return new


def _now() -> str:
    return f"{datetime.now(UTC):%H:%M:%S} UTC  "
