"""The base of commands that change something: one target, narrow rights, and steps that are printed as they happen.

Steps go to standard output, or to standard error if standard output gets a report for programs.
"""

from __future__ import annotations

import contextlib
import time
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final, TypeVar

from msgspec import Struct

from cluster_io.errors import (
    ClusterError,
    Conflict,
    Forbidden,
    NotFound,
    RequestRefused,
    Unreachable,
    UsageError,
)
from cluster_io.kinds import PODS, Kind, find_kind
from cluster_io.live.transport import ProxySettings
from cluster_io.source import Source
from cluster_io.writer import ACCESS_REVIEWS, Writer
from kubectl_plugin.exit_codes import INTERRUPTED, NOT_CONFIRMED, NOT_OVER, NOT_POSSIBLE, NOTHING_TO_CHANGE, print_error
from kubectl_plugin.gather.targets import ObjectQuery, is_namespace_of_pod, namespace_in_front, suggest_namespace
from kubectl_plugin.options import ClusterOptions, DeletionOptions, FenceOptions, Streams, connect_for_changes
from kubectl_plugin.printing import Printer
from kubectl_plugin.render.escape import escape
from kubectl_plugin.reports.steps import Refusal, RefusedBy, Step, StepEvent, StepKind, StepOutcome
from podrules.api.model.base import KubeObject
from podrules.api.plain_names import is_plain_name

if TYPE_CHECKING:
    from kubectl_plugin.render.command import Prose, Target
    from kubectl_plugin.render.page import Page

K = TypeVar("K", bound=KubeObject)

POLL_SECONDS: Final = 0.5
"""Between two polls of what is followed."""
_CODES: Final = {
    StepOutcome.NOT_CONFIRMED: NOT_CONFIRMED,
    StepOutcome.NOT_POSSIBLE: NOT_POSSIBLE,
    StepOutcome.NOTHING_AT_STAKE: NOT_CONFIRMED,
    StepOutcome.DRY_RUN: 0,
    StepOutcome.DONE: 0,
    StepOutcome.UNDER_WAY: NOT_OVER,
}
"""What `ClusterAction.act` returns; the rest ends with an error."""


class StepLog:
    """Prints each step when it happens, and stores it for the report."""

    def __init__(self, printer: Printer) -> None:
        """Print with this printer."""
        self._printer = printer
        self._steps: list[Step] = []

    @property
    def steps(self) -> tuple[Step, ...]:
        """The steps so far."""
        return tuple(self._steps)

    def __call__(
        self,
        kind: StepKind,
        subject: str = "",
        detail: str = "",
        number: int | None = None,
        names: tuple[str, ...] = (),
    ) -> None:
        """Print a step, and keep it; the fields are those of `StepEvent`."""
        from kubectl_plugin.views.steps import step_line

        event, now = StepEvent(kind, subject, detail, number, names), datetime.now(UTC)
        self._steps.append(event.record(now))
        self._printer.say(step_line(event, now))

    def add_warnings(self, warnings: Sequence[str]) -> None:
        """Print the warnings of the API server."""
        for warning in warnings:
            self(StepKind.WARNING, detail=warning)

    def has(self, kind: StepKind) -> bool:
        """Whether such a step happened."""
        return any(step.kind is kind for step in self._steps)


class ClusterAction(ABC):
    """One change of one object. It runs to its end, or reports its progress."""

    def __init__(self, named: str, options: DeletionOptions | FenceOptions, source: Source, streams: Streams) -> None:
        """Change nothing yet.

        Args:
            named: The object, as ``-o name`` prints it.
            options: The output format, and the location of the object for suggested commands.
            source: Where objects are read.
            streams: Where to print.
        """
        # The outcome until the change has ended.
        self.outcome = StepOutcome.FAILED
        self.refusal: Refusal | None = None
        self.named, self._streams, self._target = named, streams, options.cluster.target()
        self._printer = Printer(options.output, streams, colour=options.colour, target=self._target, source=source)
        self.step_log = StepLog(self._printer)

    def run(self) -> int:
        """Make the change, and print a report if one is requested, whatever the outcome."""
        try:
            self.outcome = self.act()
            return _CODES[self.outcome]
        except (KeyboardInterrupt, SystemExit) as stop:
            self.outcome = StepOutcome.INTERRUPTED
            self.print_state(sure=False)
            if isinstance(stop, SystemExit):
                raise
            return INTERRUPTED
        except ClusterError as error:
            self._streams.out.flush()
            self.broken_by(error)
            code = print_error(error, self._streams.err, self._target)
            self.print_state(sure=not isinstance(error, Unreachable))
            return NOTHING_TO_CHANGE if isinstance(error, NotFound) else code
        finally:
            self._print()

    @abstractmethod
    def act(self) -> StepOutcome:
        """Make the change.

        Raises:
            ClusterError: it cannot be made, or it is unknown whether it was made.
        """

    @abstractmethod
    def report(self) -> Struct:
        """The data and steps so far."""

    @abstractmethod
    def state(self, *, sure: bool) -> Iterable[str | Prose]:
        """The state of a change that did not finish, and how to continue.

        Args:
            sure: Whether the last request was answered.
        """

    def broken_by(self, error: ClusterError) -> None:
        """Set the outcome by an error, and who refused, if nothing has been changed yet."""
        self.outcome = StepOutcome.FAILED
        if any(step.kind.changes for step in self.step_log.steps):
            return
        self.refusal = _refusal(error)
        if self.refusal is not None:
            self.outcome = StepOutcome.REFUSED
        elif isinstance(error, (Conflict, NotFound)):
            self.outcome = StepOutcome.NOT_POSSIBLE

    def show(self, page: Page) -> None:
        """Print a page, unless a report is printed."""
        self._printer.show(page)
        self._streams.out.flush()

    def print_state(self, *, sure: bool) -> None:
        """Print the progress on standard error."""
        from kubectl_plugin.views.steps import remedy

        self._streams.out.flush()
        helps = () if self.refusal is None else (remedy(self.refusal),)
        for line in filter(None, map(self._target.sentence, (*helps, *self.state(sure=sure)))):
            self._streams.err.write(f"{escape(line)}\n")
        self._streams.err.flush()

    def _print(self) -> None:
        self._printer.add(self.report(), [self.named])
        try:
            self._printer.finish()
        except UsageError as error:
            # The change decides the exit code.
            print_error(error, self._streams.err, self._target)


def _refusal(error: ClusterError) -> Refusal | None:
    """Who refused; None: the change was not refused, for example because there was no answer."""
    match error:
        case Forbidden():
            return Refusal(RefusedBy.RIGHTS, error.message, error.verb, error.resource, error.namespace or "")
        case RequestRefused():
            return Refusal(RefusedBy.ADMISSION if error.admission else RefusedBy.API_SERVER, error.message)
        case UsageError():
            return Refusal(RefusedBy.COMMAND, error.message)
    return None


class Deadline:
    """The time limit for following an object."""

    def __init__(self, seconds: float) -> None:
        """Start now."""
        self._end = time.monotonic() + seconds

    @property
    def left(self) -> float:
        """Seconds; 0 after the limit."""
        return max(0.0, self._end - time.monotonic())

    def wait(self) -> bool:
        """Wait until the next poll; False after the limit."""
        if not self.left:
            return False
        time.sleep(min(POLL_SECONDS, self.left))
        return True


def _target_name(words: Sequence[str], kind: Kind[Any]) -> str:
    """The name in ``TYPE/NAME``, ``TYPE NAME`` or ``NAME``, for one object of this kind.

    Raises:
        UsageError: something else was typed.
    """
    typed, slash, name = words[0].partition("/")
    rest = words[1:]
    if not slash and find_kind(typed) is not None:
        name, rest = rest[0] if rest else "", rest[1:]
    elif not slash:
        typed, name = kind.singular, typed
    if find_kind(typed, (kind,)) is None:
        if slash and kind is PODS and is_namespace_of_pod(typed):
            raise namespace_in_front(words[0])
        raise UsageError(
            f'"{words[0]}": this command is for a {kind.singular}', advice=f"Write {kind.singular}/NAME, or NAME alone"
        )
    if rest or not name:
        what = "more than one name" if rest else "no name"
        raise UsageError(what, advice=f"Write one {kind.singular}/NAME: each is checked before it is changed")
    if not is_plain_name(name):
        raise UsageError(
            f'"{name}" is not a valid {kind.singular} name', advice="Names have a-z, 0-9, '-' and '.' only"
        )
    return name


def look_up(kind: Kind[K], words: Sequence[str], source: Source, streams: Streams, target: Target) -> K | None:
    """The object to change. None if it does not exist: the error is printed then.

    Raises:
        UsageError: something else was typed.
        ClusterError: it cannot be read.
    """
    name = _target_name(words, kind)
    try:
        return source.get(kind, name, source.namespace if kind.namespaced else None)
    except NotFound as error:
        suggest_namespace(ObjectQuery(kind, name), error, source)
        print_error(error, streams.err, target)
        return None


def require_live(cluster: ClusterOptions, instead: str) -> None:
    """Refuse to change a demo or a snapshot.

    Args:
        cluster: Which cluster.
        instead: How to see the same without a change.

    Raises:
        UsageError: it is a demo or a snapshot.
    """
    if not cluster.live:
        what = "the demo cluster" if cluster.demo else "a snapshot"
        raise UsageError(f"{what} cannot be changed; {instead}")


@contextlib.contextmanager
def changes_to(path: str, cluster: ClusterOptions, *, methods: tuple[str, ...], dry_run: bool) -> Iterator[Writer]:
    """A writer for one object. It can also check the user's permissions.

    Args:
        path: The object's path.
        cluster: The live cluster, and the user.
        methods: The allowed methods.
        dry_run: Whether the API server stores nothing.

    Raises:
        Unreachable: there is no kubectl.
    """
    settings = ProxySettings(methods=("POST", *methods), paths=(path, ACCESS_REVIEWS))
    with connect_for_changes(cluster, settings) as sender:
        yield Writer(sender, dry_run=dry_run)


def present(source: Source) -> datetime:
    """The time of the objects, or the time of reading if a snapshot has no time."""
    return source.now or datetime.now(UTC)
