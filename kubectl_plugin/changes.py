"""What the commands that change something share: one target, narrow rights, and steps that are printed as they happen.

Steps go to standard output, or to standard error if standard output gets a report for programs.
"""

from __future__ import annotations

import contextlib
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from enum import Enum
from typing import TYPE_CHECKING, Any, ClassVar, Final, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from cluster_io.errors import ClusterError, Conflict, Forbidden, NotFound, RequestRefused, Unreachable, UsageError
from cluster_io.field_selector import equal_fields
from cluster_io.force_delete_objects import read_node_reach
from cluster_io.gather import Gatherer
from cluster_io.kinds import NODES, PODS, VOLUME_ATTACHMENTS, Kind, find_kind
from cluster_io.live.transport import ProxySettings
from cluster_io.safety_facts import partition_facts, renewals
from cluster_io.source import Source
from cluster_io.writer import ACCESS_REVIEWS, Writer
from kubectl_plugin.connection import connect_for_changes
from kubectl_plugin.exit_codes import INTERRUPTED, NOT_CONFIRMED, NOT_OVER, NOT_POSSIBLE, NOTHING_TO_CHANGE, print_error
from kubectl_plugin.gather.targets import ObjectQuery, is_namespace_of_pod, namespace_in_front, suggest_namespace
from kubectl_plugin.options import ClusterOptions, Streams
from kubectl_plugin.options.change_commands import DeletionOptions, FenceOptions
from kubectl_plugin.printing import Printer
from kubectl_plugin.render.command import Prose
from kubectl_plugin.reports.steps import FenceReport, Refusal, RefusedBy, Step, StepEvent, StepKind, StepOutcome
from podrules.api.escape import escape
from podrules.api.model.base import KubeObject
from podrules.api.model.node import Node
from podrules.api.model.pod import Pod
from podrules.api.model.storage import PersistentVolume
from podrules.api.names import is_plain_name
from podrules.ending.deleted_pod import pod_ending
from podrules.node.reachability import Reach
from podrules.pod.reading import Access
from podrules.pod.versions import version_notes
from podrules.silent_node.fencing import FenceRemainder, FenceState, fence_state, kept_volumes, left_to_go
from podrules.silent_node.partitions import NodeDown, partitions

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
        suggest_namespace(ObjectQuery(kind, name), error, source, workloads=False)
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


# Deletions


class FollowResult(Enum):
    """How the following ended."""

    GONE = "Gone"
    STUCK = "Stuck"
    """Nothing will remove the pod: its node is silent."""
    TIME_OVER = "TimeOver"


def follow(pod: Pod, source: Source, step_log: StepLog, deadline: Deadline) -> FollowResult:
    """Log what happens to a deleted pod.

    Raises:
        Unreachable: the API server did not answer until the time was over.
        ClusterError: the pod cannot be read any more.
    """
    seen = _FollowedPod(pod, step_log)
    while True:
        unanswered = None
        try:
            current = source.get(PODS, pod.metadata.name, pod.metadata.namespace)
            if current.metadata.uid != pod.metadata.uid:
                step_log(StepKind.GONE, seen.name)
                step_log(StepKind.REPLACED, seen.name, current.metadata.uid)
                return FollowResult.GONE
            seen.look(current, source)
            if seen.stuck:
                return FollowResult.STUCK
        except NotFound:
            step_log(StepKind.GONE, seen.name)
            return FollowResult.GONE
        except Unreachable as error:
            unanswered = error
            seen.unanswered(error)
        if not deadline.wait():
            if unanswered is not None:
                raise unanswered
            return FollowResult.TIME_OVER


class _FollowedPod:
    """The state that was logged about a pod."""

    def __init__(self, pod: Pod, step_log: StepLog) -> None:
        self.name = f"pod/{pod.metadata.name}"
        self.stuck = False
        self._step_log = step_log
        self._ended = {status.name for status in pod.status.container_statuses if status.state.terminated}
        self._said: set[StepKind] = set()
        self._was_cut_off = False

    def look(self, pod: Pod, source: Source) -> None:
        """Log the changes."""
        self._said.discard(StepKind.NO_ANSWER)
        for status in (*pod.status.init_container_statuses, *pod.status.container_statuses):
            end = status.state.terminated
            if end is not None and status.name not in self._ended:
                self._ended.add(status.name)
                self._step_log(StepKind.CONTAINER_ENDED, status.name, end.reason, end.exit_code)
        node, now = pod.spec.node_name, present(source)
        found = read_node_reach(node, source, now) if node else None
        reach = found.reach if found is not None else Reach.UNKNOWN
        ending = pod_ending(pod, quiet=found is not None and found.ends_unknown)
        if ending.finalizers and not ending.processes:
            self._once(StepKind.KEPT_BY_FINALIZERS, names=ending.finalizers)
            return
        if reach.quiet:
            self._once(StepKind.NODE_SILENT, node)
            # While the API server was down, no node could renew its Lease: an old Lease means nothing then.
            self.stuck = reach is Reach.SILENT and not self._was_cut_off
        elif ending.ends_by is not None and now > ending.ends_by:
            self._once(StepKind.OVERDUE, node)

    def unanswered(self, error: Unreachable) -> None:
        """Log once that the API server does not answer."""
        self._was_cut_off = True
        self._once(StepKind.NO_ANSWER, error.message)

    def _once(self, kind: StepKind, detail: str = "", names: tuple[str, ...] = ()) -> None:
        if kind not in self._said:
            self._said.add(kind)
            self._step_log(kind, self.name, detail, names=names)


# Fences

_ATTEMPTS: Final = 5


class FencingFacts(Struct, frozen=True):
    """The facts about a node."""

    node: Node
    state: FenceState
    down: NodeDown | None
    left: FenceRemainder
    kept: frozenset[str]
    """Volumes that stay attached because their pods stay."""
    volumes: tuple[PersistentVolume, ...]
    """The known ones: a Node's status does not name them."""


class NodeAction(ClusterAction):
    """A change of a node's taints."""

    undo: ClassVar[bool]

    def __init__(self, node: Node, options: FenceOptions, source: Source, streams: Streams) -> None:
        """Read the node and its dependent objects."""
        super().__init__(f"node/{node.metadata.name}", options, source, streams)
        self._options, self._source = options, source
        self._gatherer = Gatherer(source)
        # Read now, so that a report is printed even if the connection is lost later.
        self._versions = self._gatherer.versions
        self._denied: tuple[Access, ...] = ()
        self.facts = self._read_facts(node)

    def report(self) -> FenceReport:
        """See `ClusterAction.report`."""
        facts = self.facts
        return FenceReport(
            name=facts.node.metadata.name,
            undo=self.undo,
            source=self._source.description,
            rules_version=self._versions.rules_version,
            server_version=self._versions.server_version,
            dry_run=self._options.dry_run,
            state=facts.state,
            node=facts.down,
            left=facts.left,
            denied=self._denied,
            steps=self.step_log.steps,
            outcome=self.outcome,
            refusal=self.refusal,
            version_notes=version_notes(self._versions, (facts.node,)),
            unread=self._gatherer.unread,
        )

    def state(self, *, sure: bool) -> Iterable[str | Prose]:
        """See `ClusterAction.state`."""
        from kubectl_plugin.views.node.fencing import state_words

        return state_words(self.report(), sure=sure)

    def refresh(self) -> FenceState:
        """Read the node and its Lease again, without its dependent objects."""
        node = self._source.get(NODES, self.facts.node.metadata.name)
        if node.metadata.uid != self.facts.node.metadata.uid:
            raise Conflict(f"{self.named} is another Node now: it was created again")
        now = present(self._source)
        renewed = renewals(Gatherer(self._source)).get(node.metadata.name)
        state = fence_state(node, renewed=renewed, now=now)
        self.facts = replace(self.facts, node=node, state=state)
        return state

    def patch(
        self,
        writer: Writer,
        kind: StepKind,
        operations: Callable[[Node], Sequence[Mapping[str, Any]]],
        *,
        while_in: frozenset[FenceState],
    ) -> bool:
        """Patch the current node; False if its state no longer allows the patch.

        A node's status is written every few seconds: after another write, the node is checked and the patch is tried
        again.

        Raises:
            Conflict: other clients keep writing to the node.
            RequestRefused: the API server refuses the patch.
        """
        for attempt in range(_ATTEMPTS):
            node = self.facts.node
            self.step_log(kind, self.named, node.metadata.resource_version)
            try:
                self.step_log.add_warnings(writer.patch(NODES, node, operations(node)))
                return True
            except (Conflict, RequestRefused) as error:
                state = self.refresh()
                # The API server refuses an index beyond the end of a list before it compares versions.
                unchanged = self.facts.node.metadata.resource_version == node.metadata.resource_version
                if isinstance(error, RequestRefused) and unchanged:
                    raise
                if state not in while_in:
                    return False
                if attempt == _ATTEMPTS - 1:
                    raise
        return False

    def _read_facts(self, node: Node) -> FencingFacts:
        now = present(self._source)
        facts = partition_facts(self._gatherer, self._source.list(NODES), now)
        name = node.metadata.name
        down = next((entry for entry in partitions(facts, now) if entry.reach.name == name), None)
        state = fence_state(node, renewed=facts.renewed.get(name), now=now)
        pods = [pod for pod in facts.pods if pod.spec.node_name == name]
        kept = kept_volumes(down, node, pods) if down is not None else frozenset()
        volumes = tuple(facts.volumes.values())
        left = (
            left_to_go(node, pods, facts.attachments, kept, volumes)
            if down is not None
            else FenceRemainder((), (), (), ())
        )
        return FencingFacts(node, state, down, left, kept, volumes)

    def what_is_left(self) -> FenceRemainder:
        """Read the remaining objects and the state again: volumes leave a node's status after its pods are removed.

        Raises:
            ClusterError: it cannot be read.
        """
        on_it = equal_fields(("spec.nodeName", self.facts.node.metadata.name))
        pods = self._source.list(PODS, field_selector=on_it)
        self.refresh()
        facts, attachments = self.facts, self._source.list(VOLUME_ATTACHMENTS)
        left = left_to_go(facts.node, pods, attachments, facts.kept, facts.volumes)
        self.facts = replace(facts, left=left)
        return left
