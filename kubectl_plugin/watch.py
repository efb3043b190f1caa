"""``--watch``: answers again when a watched object changes, on a terminal that is redrawn or as changes in a pipe."""

from __future__ import annotations

import difflib
import io
import logging
import os
import select
import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from types import FrameType, TracebackType
from typing import IO, Any, Final, NamedTuple, Protocol, Self

from msgspec import field

from cluster_io.errors import Unreachable
from cluster_io.kinds import Kind
from cluster_io.live.live_source import LiveSource
from cluster_io.live.reflector import CachedObject
from cluster_io.source import Source
from kubectl_plugin.exit_codes import words_of
from kubectl_plugin.options import CommandFunction, Streams
from kubectl_plugin.options.cluster_commands import NodeOptions, PartitionsOptions
from kubectl_plugin.options.pod_commands import ExplainOptions
from kubectl_plugin.render.width import MIN_COLUMNS
from podrules.api.escape import escape
from podrules.api.model.base import Model

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


#     bell     wakes the loop: after a change from the API server, or of the terminal's size
#     screen   a terminal is redrawn; a pipe gets only changes
#     loop     answer, show, wait; if the API server does not answer, say so and retry after 1 to 30 s
#
# Watches report changes of the objects, as metadata or little more. They do not report usage or elapsed time: hence the
# interval. An answer that takes long is not repeated at once.

_FIRST_DELAY: Final = 1.0
_LAST_DELAY: Final = 30.0
_REST: Final = 4
"""After each answer, the pause lasts this many times its duration, and at least a second."""
_LEAST_REST: Final = 1.0
_CHANGED: Final = b"\0"
_WINDOW: Final = bytes([signal.SIGWINCH, signal.SIGTSTP, signal.SIGCONT])
"""The byte that Python writes to the bell when the terminal's size has changed, or this process was stopped."""


WatchedOptions = ExplainOptions | NodeOptions | PartitionsOptions


class WatchedObjects(NamedTuple):
    """Objects that cause a new answer when they change."""

    kind: Kind[Any]
    namespace: str | None
    name: str = ""
    """Empty: all."""
    model: type[CachedObject | NodeHealth] = CachedObject
    """The part of them that counts as a change."""


class _Condition(Model, frozen=True):
    type: str = ""
    status: str = ""


class _Spec(Model, frozen=True):
    taints: tuple[dict[str, str], ...] = ()


class _Status(Model, frozen=True):
    conditions: tuple[_Condition, ...] = ()


class _Name(Model, frozen=True):
    name: str = ""
    namespace: str = ""


class NodeHealth(Model, frozen=True):
    """The fields that show whether a node answers. The resource version is left out: it always changes."""

    metadata: _Name = field(default_factory=_Name)
    spec: _Spec = field(default_factory=_Spec)
    status: _Status = field(default_factory=_Status)


def watch(
    options: WatchedOptions, source: Source, streams: Streams, run: CommandFunction, watched: Sequence[WatchedObjects]
) -> int:
    """Answer again and again, until interrupted.

    Args:
        options: The command's options; ``watch`` is the interval.
        source: Where objects come from.
        streams: Where to read and write.
        run: The command, which answers once.
        watched: Objects that cause a new answer when they change.

    Returns:
        The exit code of the first answer, if that is not 0; else only a signal ends the loop.

    Raises:
        ClusterError: the first answer cannot be given.
    """
    once = _Once(options, source, streams, run)
    first = once.look()
    if first.code:
        streams.out.write(first.text)
        streams.err.write(first.problem)
        return first.code
    screen: Screen
    screen = Terminal(streams.out) if streams.out.isatty() else Pipe(streams, in_words=options.output.in_words)
    with _bell() as bell, _following(source, watched, bell), screen:
        screen.show(first.text, first.problem)
        _go_on(once, bell, screen, float(options.watch or 0))
    return 0


def _go_on(once: _Once, bell: _Bell, screen: Screen, interval: float) -> None:
    """Run the loop, until a signal ends it."""
    delay, due = 0.0, once.began + interval
    while True:
        rung = bell.wait(max(0.0, due - time.monotonic()))
        if rung and not rung.strip(_WINDOW):
            screen.draw()
            if once.is_as_wide():
                continue
        if rung and not delay:
            rest = max(_LEAST_REST, _REST * once.took)
            time.sleep(max(0.0, once.began + once.took + rest - time.monotonic()))
            bell.hush()
        try:
            answer = once.look()
        except Unreachable as error:
            delay = min(_LAST_DELAY, 2 * delay or _FIRST_DELAY)
            due = time.monotonic() + delay
            screen.note(f"the API server does not answer, next try in {delay:.0f} s: {once.reason(error)}")
            continue
        if delay:
            screen.note("the API server answers again")
        delay, due = 0.0, once.began + max(interval, once.took + _LEAST_REST)
        screen.show(answer.text, answer.problem)


class _Answer(NamedTuple):
    code: int
    text: str
    problem: str
    """The output on standard error."""


class _Once:
    """Runs the command once and stores its output."""

    def __init__(self, options: WatchedOptions, source: Source, streams: Streams, run: CommandFunction) -> None:
        self._options, self._source, self._streams, self._run = options.replace(watch=None), source, streams, run
        self.began = 0.0
        """By the monotonic clock."""
        self.took = 0.0
        """Seconds."""
        self._columns = 0

    def reason(self, error: Unreachable) -> str:
        """Why no answer is available."""
        return words_of(error, self._options.cluster.target())

    def look(self) -> _Answer:
        """Run the command again.

        Raises:
            ClusterError: no answer is available.
        """
        out, err = io.StringIO(), io.StringIO()
        self._columns = self._width()
        self.began = time.monotonic()
        code = self._run(self._options, self._source, Streams(self._streams.stdin, out, err, self._columns))
        self.took = time.monotonic() - self.began
        return _Answer(code, out.getvalue(), err.getvalue())

    def is_as_wide(self) -> bool:
        """Whether the terminal still has the width of the last answer."""
        return self._columns == self._width()

    def _width(self) -> int:
        # The screen keeps its last column free.
        return max(self._streams.width() - self._streams.out.isatty(), MIN_COLUMNS)


class _Bell:
    """A pipe that threads and signal handlers write to. The loop waits for it."""

    def __init__(self, read: int, write: int) -> None:
        self._read, self._write = read, write

    def ring(self) -> None:
        """Wake the loop; from any thread."""
        # A full pipe already wakes the loop.
        with suppress(OSError):
            os.write(self._write, _CHANGED)

    def wait(self, seconds: float) -> bytes:
        """Wait; returns the written bytes, empty after the time-out."""
        ready, _, _ = select.select([self._read], [], [], seconds)
        return os.read(self._read, 4096) if ready else b""

    def hush(self) -> None:
        """Discard the written bytes."""
        while self.wait(0):
            pass


@contextmanager
def _bell() -> Iterator[_Bell]:
    """A bell that also rings when the terminal's size changes."""
    read, write = os.pipe()
    os.set_blocking(write, False)
    kept = {number: signal.signal(number, lambda _number, _frame: None) for number in (signal.SIGWINCH, signal.SIGCONT)}
    before = signal.set_wakeup_fd(write, warn_on_full_buffer=False)
    try:
        yield _Bell(read, write)
    finally:
        signal.set_wakeup_fd(before)
        for number, handler in kept.items():
            signal.signal(number, handler)
        # The write end stays open: a thread may be writing, and file descriptors are soon reused.


@contextmanager
def _following(source: Source, watched: Sequence[WatchedObjects], bell: _Bell) -> Iterator[None]:
    """Watch the objects, each in a thread, until the block ends."""
    # The reflector logs errors. Here the loop prints them so that they are not overwritten.
    logging.getLogger("cluster_io.live.reflector").disabled = True
    running = [_follow(source, entry, bell) for entry in watched] if isinstance(source, LiveSource) else []
    try:
        yield
    finally:
        for stop in running:
            stop()


def _follow(source: LiveSource, watched: WatchedObjects, bell: _Bell) -> Callable[[], None]:
    """Start one watch; returns the function that ends it."""
    seen: list[Mapping[str, CachedObject | NodeHealth]] = []

    def changed() -> None:
        now: Mapping[str, CachedObject | NodeHealth] = {} if reflector is None else reflector.in_namespace(namespace)
        # The first list also wakes the loop: objects may have changed since the last answer.
        if not seen or seen[-1] != now:
            bell.ring()
        seen[:] = [now]

    namespace = (watched.namespace or "") if watched.kind.namespaced else ""
    reflector = source.reflector(watched.kind, watched.model, watched.namespace, watched.name, changed)
    if reflector is None:
        return lambda: None
    threading.Thread(target=reflector.run, daemon=True).start()
    return reflector.stop
