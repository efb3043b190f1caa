"""Reads what the rules need to know about a pod. It notes what cannot be read, and goes on with the rest.

A `Gatherer` keeps what it made of each answer, an object or an `UnreadInput`; its source keeps the answers themselves
(`RememberedSource`).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any, Final, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from cluster_io.errors import (
    BadEntry,
    BadObject,
    ClusterError,
    Forbidden,
    KubeletUnavailable,
    NotCaptured,
    NotFound,
    NotListed,
    NotServed,
    Unreachable,
)
from cluster_io.field_selector import equal_fields
from cluster_io.force_delete_objects import read_guards, read_node_reach, read_reach, renewals
from cluster_io.kinds import (
    DEPLOYMENTS,
    EVENTS,
    JOBS,
    LEASE_CANDIDATES,
    LEASES,
    NODE_METRICS,
    NODE_PROXIES,
    NODES,
    POD_METRICS,
    PODS,
    PRIORITY_CLASSES,
    REPLICA_SETS,
    REPLICATION_CONTROLLERS,
    STATEFUL_SETS,
    Kind,
)
from cluster_io.kubelet import CONFIGZ, KubeletEndpoint
from cluster_io.live.many_reads import together
from cluster_io.source import Source
from podrules.api.features import Features, minor_of
from podrules.api.model.base import KubeObject, Model
from podrules.api.model.event import Event
from podrules.api.model.kubelet import KubeletConfiguration
from podrules.api.model.node import Node, NodeMetrics, PodMetrics
from podrules.api.model.pod import Pod
from podrules.api.model.policy import PodDisruptionBudget, PriorityClass
from podrules.api.model.selectors import Selector
from podrules.ending.volumes import WriterGuard
from podrules.node.reachability import LEASE_NAMESPACE, NodeReach, Reach, node_reach
from podrules.pod.platform import Platform, node_platform
from podrules.pod.priority import SYSTEM_PRIORITY_CLASSES
from podrules.pod.reading import (
    FORBIDDEN,
    NOT_ALL_IN_FILE,
    NOT_FOUND,
    NOT_IN_FILE,
    NOT_IN_SNAPSHOT,
    OUTSIDE,
    Owner,
    UnreadInput,
    read_or_none,
)
from podrules.pod.versions import SCHEDULER_NAMESPACE, Component, Release, Versions, leading_scheduler, static_versions
from podrules.workload.evictors import going

if TYPE_CHECKING:
    from cluster_io.needs import KnownObjects, Need
    from podrules.api.model.snapshot import ClusterSnapshot

T = TypeVar("T")
M = TypeVar("M", bound=Model)
K = TypeVar("K", bound=KubeObject)
_OWNED: Final[tuple[Kind[Any], ...]] = (REPLICA_SETS, JOBS)
"""Controllers of pods that usually have one of their own."""
_SCALED: Final = (DEPLOYMENTS, REPLICA_SETS, STATEFUL_SETS, REPLICATION_CONTROLLERS)
_MAX_OWNERS: Final = 4
_MAX_SPACES: Final = 3
"""Namespaces that are tried where not all may be read."""
_LONG_AGO: Final = datetime.fromtimestamp(0, UTC)


class KnownCluster(Struct, frozen=True):
    """A cluster as far as the scheduling cycles of some pods read it."""

    snapshot: ClusterSnapshot
    """Without what could not be read."""
    unread: tuple[UnreadInput, ...] = ()
    """What could not be read."""
    error: ClusterError | None = None
    """Why nothing can be computed without that; None: it can."""


class Gatherer:
    """Reads what belongs to a pod. Each thing is read at most once.

    Each method returns what it read or an `UnreadInput` that says why not. `noted` makes an `UnreadInput` part of the
    answer.
    """

    def __init__(self, source: Source) -> None:
        """Read from a source."""
        self._source = source
        self._unread: dict[tuple[str, str, str | None], UnreadInput] = {}
        self._known: dict[tuple[Any, ...], Any] = {}
        self._cluster: KnownObjects | None = None
        self._needs: dict[Need, ClusterError | None] = {}
        """What placement has asked for, and why it could not be read."""
        self._parts: dict[Need, str] = {}
        """The one namespace in which a list could be read that could not be read in all."""
        self._asks_schedulers = False
        self._events: dict[str, dict[tuple[str, str], list[Event]]] = {}

    @property
    def source(self) -> Source:
        """The source that it reads."""
        return self._source

    @property
    def unread(self) -> tuple[UnreadInput, ...]:
        """What was noted so far."""
        return tuple(self._unread.values())

    @property
    def versions(self) -> Versions:
        """The rules that hold in the cluster, as far as it is known.

        A scheduler's static pod shows its version, or its LeaseCandidate does. Until placement has read
        the pods of a live cluster, or `ask_schedulers` asked for them, it is taken to have the API server's.
        """
        pods = self._placed_pods()
        if pods is None and (self._asks_schedulers or not self._source.side_by_side):
            pods = read_or_none(self.list(PODS, SCHEDULER_NAMESPACE))
        return self._versions(pods)

    def ask_schedulers(self) -> None:
        """From now on, let `versions` send the requests that show a live cluster's scheduler version."""
        self._asks_schedulers = True

    def schedulers(self, pods: Sequence[Pod]) -> Sequence[Release]:
        """The versions of the schedulers, as far as they are known; ``pods`` include their static pods."""
        if self._source.schedulers is not None:
            return self._source.schedulers
        seen = [Release(version) for version in static_versions(pods, Component.SCHEDULER)]
        if len({one.minor for one in seen}) == 1:
            return seen
        # It takes a request that few clusters answer, and only with an alpha or beta API.
        candidates = read_or_none(self.list(LEASE_CANDIDATES, SCHEDULER_NAMESPACE))
        leading = leading_scheduler(candidates or ())
        return seen if leading is None else (leading,)

    def _versions(self, pods: Sequence[Pod] | None) -> Versions:
        """The rules of the cluster by the pods among which the schedulers may be; None: those are not known."""
        source = self._source

        def found() -> Versions:
            schedulers = () if pods is None or source.stated.version else self.schedulers(pods)
            static = (
                () if source.git_version or source.side_by_side else static_versions(pods or (), Component.API_SERVER)
            )
            # Static pods of several minors do not show which of them answers.
            server = source.git_version or (static[-1] if len(set(map(minor_of, static))) == 1 else None)
            return Versions.of(server, schedulers, source.stated, self._kubelets(), emulates=source.emulates)

        return self._made_once("versions", "" if pods is None else "pods", found)

    def _kubelets(self) -> Sequence[str]:
        """The versions of all kubelets, where they cost no request and the API server's is not known."""
        if self._source.git_version or self._source.side_by_side:
            return ()
        nodes = read_or_none(self.list(NODES)) or ()
        # A virtual kubelet's version is its provider's.
        kubelets = [node for node in nodes if node_platform(node) is not Platform.VIRTUAL_KUBELET]
        return [node.status.node_info.kubelet_version for node in kubelets]

    def _placed_pods(self) -> Sequence[Pod] | None:
        """All pods, if placement has read them."""
        known, read = self._cluster, (need for need, error in self._needs.items() if error is None)
        return known.snapshot.pods if known is not None and any(need.kind is PODS for need in read) else None

    def noted(self, found: T | UnreadInput) -> T | None:
        """What was read; None: it could not be, and `unread` says so from now on."""
        if not isinstance(found, UnreadInput):
            return found
        self._unread.setdefault((found.verb, found.resource, found.namespace), found)
        return None

    def preemptor_among(self, event: Event | None) -> tuple[Sequence[Pod] | None, bool]:
        """The pods among which an event's preemptor may be, of all namespaces or one; whether there may be others."""
        every = read_or_none(self.list(PODS))
        if every is not None or event is None:
            return every, self._source.is_plain_list
        return read_or_none(self.list(PODS, event.involved_object.namespace)), True

    def get(self, kind: Kind[K], name: str, namespace: str | None = None) -> K | UnreadInput | None:
        """One object; None: it does not exist. It is unread where a List does not hold it."""
        found = self._outcome(lambda: self._source.get(kind, name, namespace), "get", kind, namespace, name)
        return None if _is_absent(found) else _reading(found, "get", kind, namespace)

    def one_of(self, where: str | None, kind: Kind[K], name: str, namespace: str | None) -> K | UnreadInput | None:
        """The same of one of many of a namespace, or of all: a live cluster is asked for a list, once."""
        listed = self.list(kind, where) if self._source.side_by_side else None
        if listed is None or isinstance(listed, UnreadInput):
            return listed or self.get(kind, name, namespace)
        by_place = self._made_once(
            "places", f"{kind.plural}/{where}", lambda: {one.metadata.place: one for one in listed}
        )
        return by_place.get((namespace or "", name))

    def named(self, kind: Kind[K], name: str, namespace: str | None = None) -> K | UnreadInput:
        """An object that another object names. It is unread where it is not there."""
        found = self._outcome(lambda: self._source.get(kind, name, namespace), "get", kind, namespace, name)
        return _reading(found, "get", kind, namespace)

    def list(
        self,
        kind: Kind[K],
        namespace: str | None = None,
        *,
        field_selector: str = "",
        selector: Selector | None = None,
    ) -> Sequence[K] | UnreadInput:
        """The objects of a kind.

        Args:
            kind: The kind.
            namespace: Their namespace; None: all.
            field_selector: Chooses by their fields, as the API server takes it.
            selector: Chooses by their labels.
        """
        read = partial(self._source.list, kind, namespace, selector=selector, field_selector=field_selector)
        chosen = field_selector if selector is None else f"{field_selector};{selector}"
        return _reading(self._outcome(read, "list", kind, namespace, chosen), "list", kind, namespace)

    def in_reach(self, kind: Kind[K]) -> Sequence[K] | None:
        """The objects of a kind in all namespaces, or in the source's own if those may not be listed; None: neither.

        What could not be read is noted.
        """
        part, unread = self.within_reach(kind)
        self.noted(unread)
        return part

    def within_reach(self, kind: Kind[K]) -> tuple[Sequence[K] | None, UnreadInput | None]:
        """The same, with what could not be read, which is not noted."""
        found, space = self.list(kind), self._source.namespace
        if not isinstance(found, UnreadInput):
            return found, None
        part = read_or_none(self.list(kind, space)) if found.may_exist else None
        if part is not None and found.reason == FORBIDDEN:
            found = replace(found, reason=f"{OUTSIDE}{space}")
        return part, found

    def node(self, name: str, *, of_many: bool = False) -> Node | UnreadInput:
        """The node that a pod names. It is unread where it is not there.

        With ``of_many``, many nodes are asked for: no request is made if all nodes were listed.
        """
        listed = self._known.get(("list", NODES, None, "")) if of_many else None
        if listed is None or isinstance(listed, ClusterError):
            return self.named(NODES, name)
        by_name = self._made_once("nodes", "", lambda: {node.metadata.name: node for node in listed})
        return by_name.get(name) or self.named(NODES, name)

    def reach(self, name: str, *, of_many: bool = False) -> NodeReach:
        """Whether a node answers; unknown if that cannot be read.

        With ``of_many``, many nodes are asked for: all Leases are read at once.
        """
        source = self._source
        # If the time of reading is unknown, a Lease shows nothing, and the Node decides.
        now = source.now or _LONG_AGO
        node = self.node(name, of_many=of_many)
        if isinstance(node, UnreadInput):
            return self._made_once("reach", name, lambda: read_node_reach(name, source, now))
        if not of_many:
            return self._made_once("reach", name, lambda: read_reach(name, node, source, now))
        leases = self.list(LEASES, LEASE_NAMESPACE)
        if isinstance(leases, UnreadInput):
            known = node_reach(name, node, renewed=None, now=now)
            return known if known.reach.quiet or leases.is_not_captured else NodeReach(name, Reach.UNKNOWN, "")
        renewed = self._made_once("renewals", "", lambda: renewals(leases))
        return node_reach(name, node, renewed=renewed.get(name), now=now)

    def guards(self, pod: Pod) -> tuple[WriterGuard, ...]:
        """What keeps a second writer off each volume of a pod; unknown if that cannot be read."""
        place = f"{pod.metadata.namespace}/{pod.metadata.name}"
        node = read_or_none(self.node(pod.spec.node_name, of_many=True)) if pod.spec.node_name else None
        return self._made_once("guards", place, lambda: read_guards(pod, self._source, node=node))

    def _made_once(self, what: str, name: str, made: Callable[[], T]) -> T:
        """What is made of things read. It is made once."""
        if (what, name) not in self._known:
            self._known[what, name] = made()
        kept: T = self._known[what, name]
        return kept

    def pods_on(self, node: str) -> Sequence[Pod] | UnreadInput:
        """The pods bound to a node."""
        return self.list(PODS, field_selector=equal_fields(("spec.nodeName", node)))

    def nominated_to(self, node: str) -> Sequence[Pod]:
        """The pods that wait for a node on which they are nominated; none if they cannot be read.

        Those of all nodes are read at once.
        """
        return [
            pod
            for pod in read_or_none(self.waiting()) or ()
            if pod.status.nominated_node_name == node and pod.metadata.deletion_timestamp is None
        ]

    def waiting(self) -> Sequence[Pod] | UnreadInput:
        """The pods that wait for a node."""
        return self.list(PODS, field_selector="spec.nodeName=,status.phase=Pending")

    def kubelet(self, node: str, endpoint: KubeletEndpoint[M]) -> M | UnreadInput:
        """What the kubelet of a node says."""
        found = self._outcome(
            lambda: self._source.kubelet(node, endpoint), "get", NODE_PROXIES, None, f"{node}/{endpoint.path}"
        )
        if not isinstance(found, ClusterError):
            return found
        return replace(_unread(found, "get", NODE_PROXIES, None), node=node, path=endpoint.path)

    def kubelet_config(self, node: str) -> KubeletConfiguration | UnreadInput:
        """The configuration of a node's kubelet: the user's file, else what it says itself."""
        if (stated := self._source.stated.kubelet) is not None:
            return stated
        said = self.kubelet(node, CONFIGZ)
        return said if isinstance(said, UnreadInput) else said.kubeletconfig

    def node_metrics(self, name: str) -> NodeMetrics | UnreadInput:
        """A node's usage by a metrics API."""
        return self.named(NODE_METRICS, name)

    def pod_metrics(self, pod: Pod) -> PodMetrics | UnreadInput | None:
        """A pod's usage by a metrics API; None: that has not measured it."""
        name, namespace = pod.metadata.name, pod.metadata.namespace
        found = self._outcome(
            lambda: self._source.get(POD_METRICS, name, namespace), "get", POD_METRICS, namespace, name
        )
        return None if isinstance(found, NotFound) else _reading(found, "get", POD_METRICS, namespace)

    def events_about(self, entry: KubeObject) -> Sequence[Event] | UnreadInput:
        """The events about an object with a namespace."""
        about = equal_fields(("involvedObject.uid", entry.metadata.uid))
        return self.list(EVENTS, entry.metadata.namespace, field_selector=about)

    def events_of(self, kind: str, name: str, namespace: str) -> Sequence[Event] | UnreadInput:
        """The events about a name: also about an earlier object that had it."""
        if not self._source.side_by_side:
            return self._events_by_name(namespace, kind, name)
        about = equal_fields(("involvedObject.kind", kind), ("involvedObject.name", name))
        return self.list(EVENTS, namespace, field_selector=about)

    def _events_by_name(self, namespace: str, kind: str, name: str) -> Sequence[Event] | UnreadInput:
        """The same from all events of a namespace, which are sorted by name once: a capture may have thousands."""
        found = self.list(EVENTS, namespace)
        if isinstance(found, UnreadInput):
            return found
        if namespace not in self._events:
            by_name: dict[tuple[str, str], list[Event]] = {}
            for one in found:
                by_name.setdefault((one.involved_object.kind, one.involved_object.name), []).append(one)
            self._events[namespace] = by_name
        return self._events[namespace].get((kind, name), ())

    def classes(self) -> dict[str, PriorityClass] | UnreadInput:
        """All PriorityClasses by name."""
        found = self.list(PRIORITY_CLASSES)
        return found if isinstance(found, UnreadInput) else {entry.metadata.name: entry for entry in found}

    def class_named(self, name: str) -> dict[str, PriorityClass] | UnreadInput:
        """One PriorityClass by name; empty: there is none of that name."""
        if not name:
            return {}
        if name in SYSTEM_PRIORITY_CLASSES:
            # Each API server makes them when it starts; see scheduling/rest/storage_scheduling.go.
            return SYSTEM_PRIORITY_CLASSES
        found = self.get(PRIORITY_CLASSES, name)
        if isinstance(found, UnreadInput):
            return found
        return {} if found is None else {name: found}

    def owners(self, pod: Pod) -> tuple[Owner, ...]:
        """The chain of controllers, nearest first. The first one that cannot be read ends it and is noted."""
        chain: list[Owner] = []
        current: KubeObject | None = pod
        namespace = pod.metadata.namespace
        while current is not None and len(chain) < _MAX_OWNERS and (owner := current.metadata.controller):
            chain.append(Owner(owner.kind, owner.name))
            kind = next((entry for entry in _OWNED if (entry.group, entry.kind) == (owner.group, owner.kind)), None)
            current = None if kind is None else self.noted(self.named(kind, owner.name, namespace))
        return tuple(chain)

    def as_wanted(
        self, budgets: Sequence[PodDisruptionBudget], pods: Sequence[Pod], known: Sequence[Pod] = ()
    ) -> tuple[PodDisruptionBudget, ...]:
        """The budgets of pods, with what the controllers of these want, where that decides; others are not read.

        ``known`` are all known pods, where these are more than ``pods``.
        """
        # Loaded on demand.
        from podrules.api.model.workload import ReplicationController, Workload
        from podrules.workload.budget_risk import as_wanted, needs_all_counted, without_going
        from podrules.workload.disruption import SelectingBudgets

        selecting = SelectingBudgets(filter(needs_all_counted, without_going(budgets, known or pods)))
        kinds: dict[str, Kind[Any]] = {one.kind: one for one in _SCALED}
        makers: dict[tuple[str, str, str], Any] = {}
        for pod in pods:
            own = pod.metadata.controller
            if own is None or own.kind not in kinds or not selecting.of(pod):
                continue
            owner = self.owners(pod)[-1]
            if owner.kind in kinds:
                key = pod.metadata.namespace, owner.kind, owner.name
                makers[key] = self.noted(self.get(kinds[owner.kind], owner.name, key[0]))
        found = [one for one in makers.values() if isinstance(one, (Workload, ReplicationController))]
        return as_wanted(budgets, found, known or pods)

    def snapshot(
        self,
        pods: Sequence[Pod],
        args: Mapping[str, Any] | None = None,
        *,
        budgets: bool = False,
        others: Collection[Features] = (),
        beside: Iterable[str] = (),
    ) -> KnownCluster:
        """The cluster as far as the scheduling cycles of pods read it; `unread` knows nothing of what is missing there.

        What was read for other pods is in it too. While nothing new is read, it is the same snapshot, and its nodes and
        pods are always the same tuples.

        Args:
            pods: Each is to be placed in the cluster, where the others may be by then.
            args: Arguments of the scheduler's plugins by plugin name.
            budgets: Whether PodDisruptionBudgets are needed too.
            others: Versions of schedulers that place them, too.
            beside: More namespaces; one of them may be readable if not all are.
        """
        # Loaded when placement is asked for: its many models take time that a single pod's answer does not have.
        from cluster_io.needs import KnownObjects, left_out, needs

        known = self._cluster or KnownObjects()
        spaces = sorted({*beside, *(pod.metadata.namespace for pod in pods)})
        spaces = spaces if len(spaces) == 1 else [self._source.namespace, *spaces]

        def wanted() -> Iterator[Need]:
            for features in (self._versions(self._placed_pods()).scheduler, *others):
                yield from needs(pods, known, features, args or {}, budgets=budgets)

        while new := [need for need in dict.fromkeys(wanted()) if need not in self._needs]:
            reads = [partial(self._read, need) for need in new]
            answers = together(reads) if self._source.side_by_side else [read() for read in reads]
            for need, found in zip(new, answers, strict=True):
                error = found if isinstance(found, ClusterError) else None
                self._needs[need] = error
                objects = self._part(need, found, spaces) if isinstance(found, ClusterError) else found
                known = self._cluster = known.adding(need, objects)
        asked = dict.fromkeys(wanted())
        errors = {need: error for need in asked if (error := self._needs[need]) is not None}
        unread = tuple(
            _unread(error, "get" if need.name else "list", need.kind, need.namespace, self._parts.get(need, ""))
            for need, error in errors.items()
        )
        if self._source.is_plain_list:
            lacking = self._made_once("left out", str(len(self._needs)), lambda: tuple(left_out(known)))
            kinds = {need.kind for need in asked} - {need.kind for need in errors}
            unread += tuple(
                UnreadInput("list", kind.rbac_name, None, NOT_ALL_IN_FILE) for kind in lacking if kind in kinds
            )
        # A file without pods may be of an empty cluster: nothing can be computed from it.
        ends = (
            error
            for need, error in errors.items()
            if need not in self._parts
            and ((need.kind in {NODES, PODS} and isinstance(error, Forbidden)) or isinstance(error, BadObject))
        )
        return KnownCluster(known.snapshot, unread, next(ends, None))

    def node_events(self, name: str = "") -> Sequence[Event] | UnreadInput:
        """The events about a node; without a name about all nodes."""
        if name and not self._source.side_by_side:
            return self._events_by_name(_OF_NODES, NODES.kind, name)
        of_one = (("involvedObject.name", name),) if name else ()
        about = equal_fields(("involvedObject.kind", NODES.kind), *of_one)
        return self.list(EVENTS, _OF_NODES, field_selector=about)

    def cordon_events(self, nodes: Iterable[Node]) -> Mapping[str, Sequence[Event]]:
        """The events about all nodes by name, where one is cordoned and its own state does not show why."""
        if not any(node.spec.unschedulable and going(node, (), None) is None for node in nodes):
            return {}
        found: dict[str, list[Event]] = {}
        for event in self.noted(self.node_events()) or ():
            found.setdefault(event.involved_object.name, []).append(event)
        return found

    def _read(self, need: Need) -> Sequence[KubeObject] | ClusterError:
        kind, namespace, selector = need.kind, need.namespace, need.field_selector
        if need.name:
            one = self._outcome(lambda: self._source.get(kind, need.name, namespace), "get", kind, namespace, need.name)
            if isinstance(one, ClusterError):
                is_new = need.may_be_new and isinstance(one, NotListed | NotCaptured)
                return () if is_new or _is_absent(one) else one
            return (one,)
        found = self._outcome(
            lambda: self._source.list(kind, namespace, field_selector=selector), "list", kind, namespace, selector
        )
        # A cluster that does not serve the kind has no such objects.
        return () if isinstance(found, NotServed) else found

    def _part(self, need: Need, error: ClusterError, namespaces: Iterable[str]) -> Sequence[KubeObject]:
        """The objects of the first of some namespaces that the user may list, if not all are allowed; else nothing."""
        may_be = need.namespace is None and need.kind.namespaced and isinstance(error, Forbidden | NotCaptured)
        for namespace in islice(dict.fromkeys(namespaces), _MAX_SPACES if may_be else 0):
            found = self._read(replace(need, namespace=namespace))
            if not isinstance(found, ClusterError):
                self._parts[need] = namespace
                return found
        return ()

    def _outcome(
        self, read: Callable[[], T | ClusterError], verb: str, kind: Kind[Any], namespace: str | None, name: str
    ) -> T | ClusterError:
        """What was read, or why it cannot be; asked for once."""
        key = (verb, kind, namespace, name)
        if key not in self._known:
            try:
                self._known[key] = read()
            except BadEntry:
                # The owner of a file can correct it.
                raise
            except (Forbidden, NotFound, NotServed, NotCaptured, BadObject, KubeletUnavailable) as error:
                self._known[key] = error
            except Unreachable as error:
                # Another server serves a metrics API. It may be down while the API server is not.
                if kind not in {NODE_METRICS, POD_METRICS}:
                    raise
                self._known[key] = error
        outcome: T | ClusterError = self._known[key]
        return outcome


_OF_NODES: Final = "default"
"""The namespace of events about objects that have none."""
_REASONS: Final = {
    Forbidden: FORBIDDEN,
    NotFound: NOT_FOUND,
    NotListed: NOT_ALL_IN_FILE,
    NotServed: "not served",
}


def _is_absent(found: object) -> bool:
    """Whether the object that was asked for does not exist: a List that lacks it does not show that."""
    return isinstance(found, NotFound) and not isinstance(found, NotListed)


def _reading(found: T | ClusterError, verb: str, kind: Kind[Any], namespace: str | None) -> T | UnreadInput:
    return _unread(found, verb, kind, namespace) if isinstance(found, ClusterError) else found


def _unread(error: ClusterError, verb: str, kind: Kind[Any], namespace: str | None, read_in: str = "") -> UnreadInput:
    reason = _REASONS.get(type(error), str(error))
    if read_in and isinstance(error, Forbidden):
        reason = f"{OUTSIDE}{read_in}"
    if isinstance(error, NotCaptured):
        reason = f"{NOT_IN_FILE if error.is_list else NOT_IN_SNAPSHOT}{f': {error.reason}' if error.reason else ''}"
    return UnreadInput(verb, kind.rbac_name, namespace if kind.namespaced else None, reason)
