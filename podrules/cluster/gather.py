"""Reads what the rules need to know about a pod. It notes what cannot be read, and goes on with the rest."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from podrules.cluster.errors import (
    BadObject,
    ClusterError,
    Forbidden,
    KubeletUnavailable,
    NotCaptured,
    NotFound,
    NotServed,
    Unreachable,
)
from podrules.cluster.force_delete_objects import read_guards, read_node_reach, read_reach, renewals
from podrules.cluster.kinds import (
    EVENTS,
    JOBS,
    LEASES,
    LIMIT_RANGES,
    NODE_METRICS,
    NODE_PROXIES,
    NODES,
    PDBS,
    POD_METRICS,
    PODS,
    PRIORITY_CLASSES,
    REPLICA_SETS,
    RUNTIME_CLASSES,
    Kind,
)
from podrules.cluster.kubelet import KubeletEndpoint
from podrules.cluster.live.parallel_reads import together
from podrules.cluster.source import Source, tells_of
from podrules.features import REFERENCE, Features, minor_of
from podrules.model.base import KubeObject, Model
from podrules.model.event import Event
from podrules.model.metrics import NodeMetrics, PodMetrics
from podrules.model.node import Node
from podrules.model.pod import Pod
from podrules.model.policy import LimitRange, PriorityClass, RuntimeClass
from podrules.model.selectors import Selector
from podrules.priority import SYSTEM_PRIORITY_CLASSES
from podrules.reachability import LEASE_NAMESPACE, NodeReach, Reach, node_reach
from podrules.reading import Owner, Unread
from podrules.volumes import WriterGuard

if TYPE_CHECKING:
    from podrules.cluster.needs import Known, Need
    from podrules.model.snapshot import ClusterSnapshot

__all__ = ["Cluster", "Gatherer"]

T = TypeVar("T")
M = TypeVar("M", bound=Model)
K = TypeVar("K", bound=KubeObject)
_OWNED: Final[tuple[Kind[Any], ...]] = (REPLICA_SETS, JOBS)
"""Controllers of pods that usually have one of their own."""
_MAX_OWNERS: Final = 4
_LONG_AGO: Final = datetime.fromtimestamp(0, UTC)


class Cluster(Struct, frozen=True):
    """A cluster as far as the scheduling cycles of some pods read it."""

    snapshot: ClusterSnapshot | None
    """None when something is missing."""
    unread: tuple[Unread, ...] = ()
    """What is missing."""
    error: ClusterError | None = None
    """Why the first of that is."""


class Gatherer:
    """Reads what belongs to a pod. Each thing is read at most once, and each refusal is noted once."""

    def __init__(self, source: Source) -> None:
        """Read from a source."""
        self._source = source
        self._unread: dict[tuple[str, str, str | None], Unread] = {}
        self._known: dict[tuple[Any, ...], Any] = {}
        self._cluster: Known | None = None
        self._needs: dict[Need, ClusterError | None] = {}
        """What placement has asked for, and why it could not be read."""

    @property
    def source(self) -> Source:
        """Where it reads; what is read there past it is not noted."""
        return self._source

    @property
    def unread(self) -> tuple[Unread, ...]:
        """What could not be read so far."""
        return tuple(self._unread.values())

    @property
    def features(self) -> Features:
        """The gates of the cluster's version, or of the reference where it is not known."""
        version = self._source.git_version
        minor = minor_of(version) if version else None
        return REFERENCE if minor is None else Features.of_minor(minor)

    def existing(self, pod: Pod) -> Pod | None:
        """The pod that already has this one's name; None when there is none or it cannot be read."""
        if not pod.metadata.name:
            return None
        name, namespace = pod.metadata.name, pod.metadata.namespace
        found = self._outcome(lambda: self._source.get(PODS, name, namespace), "get", PODS, namespace, name)
        return None if isinstance(found, ClusterError) else found

    def node(self, name: str) -> Node | None:
        """A node, None when it cannot be read."""
        return self._try(lambda: self._source.get(NODES, name), "get", NODES, None, name)

    def reach(self, name: str, *, of_many: bool = False) -> NodeReach:
        """Whether a node answers; unknown where that cannot be read, which is not noted.

        Args:
            name: The node's.
            of_many: It is one of many that are asked for: all Leases are read at once.
        """
        source = self._source
        # Where it is not known when the objects were so, a Lease tells nothing, and the Node does.
        now = source.now or _LONG_AGO
        node = self.node_of(name, of_many=of_many)
        if node is None:
            return self._kept("reach", name, lambda: read_node_reach(name, source, now))
        if not of_many:
            return self._kept("reach", name, lambda: read_reach(name, node, source, now))
        leases = self._outcome(lambda: source.list(LEASES, LEASE_NAMESPACE), "list", LEASES, LEASE_NAMESPACE, "")
        if isinstance(leases, ClusterError):
            known = node_reach(name, node, renewed=None, now=now)
            return known if known.reach.quiet else NodeReach(name, Reach.UNKNOWN, "")
        renewed = self._kept("renewals", "", lambda: renewals(leases))
        return node_reach(name, node, renewed=renewed.get(name), now=now)

    def node_of(self, name: str, *, of_many: bool = False) -> Node | None:
        """The node that a pod names; None: there is none, or it cannot be read, which is not noted.

        Args:
            name: The node's.
            of_many: It is one of many that are asked for.
        """
        listed = self._listed_node(name) if of_many else None
        found = listed or self._outcome(lambda: self._source.get(NODES, name), "get", NODES, None, name)
        return found if isinstance(found, Node) else None

    def _listed_node(self, name: str) -> Node | None:
        """A node of the list, where that was read: each needs no request of its own."""
        listed = self._known.get(("list", NODES, None, ""))
        if listed is None or isinstance(listed, ClusterError):
            return None
        return self._kept("nodes", "", lambda: {node.metadata.name: node for node in listed}).get(name)

    def guards(self, pod: Pod) -> tuple[WriterGuard, ...]:
        """Who keeps a second writer off each volume of a pod; unknown where that cannot be read, which is not noted."""
        place = f"{pod.metadata.namespace}/{pod.metadata.name}"
        return self._kept("guards", place, lambda: read_guards(pod, self._source))

    def _kept(self, what: str, name: str, made: Callable[[], T]) -> T:
        """What is made of things read, once."""
        if (what, name) not in self._known:
            self._known[what, name] = made()
        kept: T = self._known[what, name]
        return kept

    def nodes(self) -> Sequence[Node] | None:
        """All nodes, None when they cannot be read."""
        return self._try(lambda: self._source.list(NODES), "list", NODES, None)

    def pods_on(self, node: str) -> Sequence[Pod] | None:
        """The pods bound to a node, None when they cannot be read."""
        selector = f"spec.nodeName={node}"
        return self._try(lambda: self._source.list(PODS, field_selector=selector), "list", PODS, None, node)

    def nominated_to(self, node: str) -> Sequence[Pod]:
        """The pods on no node yet that a node is kept for; none where they cannot be read: that is not noted.

        Those of all nodes are read at once.
        """
        selector = "spec.nodeName=,status.phase=Pending"
        found = self._outcome(lambda: self._source.list(PODS, field_selector=selector), "list", PODS, None, selector)
        if isinstance(found, ClusterError):
            return ()
        return [
            pod for pod in found if pod.status.nominated_node_name == node and pod.metadata.deletion_timestamp is None
        ]

    def neighbours(self, node: str) -> Sequence[Pod] | Unread:
        """The pods bound to a node, or why they cannot be read, which is not noted."""
        selector = f"spec.nodeName={node}"
        found = self._outcome(lambda: self._source.list(PODS, field_selector=selector), "list", PODS, None, node)
        return _unread(found, "list", PODS, None) if isinstance(found, ClusterError) else found

    def kubelet(self, node: str, endpoint: KubeletEndpoint[M]) -> M | Unread:
        """What the kubelet of a node says, or why it cannot be read, which is not noted."""
        found = self._outcome(
            lambda: self._source.kubelet(node, endpoint), "get", NODE_PROXIES, None, f"{node}/{endpoint.path}"
        )
        if not isinstance(found, ClusterError):
            return found
        return replace(_unread(found, "get", NODE_PROXIES, None), node=node, path=endpoint.path)

    def node_metrics(self, name: str) -> NodeMetrics | Unread:
        """A node's usage by a metrics API, or why it cannot be read, which is not noted."""
        found = self._metrics(NODE_METRICS, name, None)
        return _unread(found, "get", NODE_METRICS, None) if isinstance(found, ClusterError) else found

    def pod_metrics(self, pod: Pod) -> PodMetrics | Unread | None:
        """A pod's usage by a metrics API, None where that knows none; or why it cannot be read, which is not noted."""
        found = self._metrics(POD_METRICS, pod.metadata.name, pod.metadata.namespace)
        if isinstance(found, NotFound):
            return None
        namespace = pod.metadata.namespace
        return _unread(found, "get", POD_METRICS, namespace) if isinstance(found, ClusterError) else found

    def _metrics(self, kind: Kind[Any], name: str, namespace: str | None) -> Any:
        def read() -> Any:
            try:
                return self._source.get(kind, name, namespace)
            except Unreachable as error:
                # A metrics API is served by somebody else, who may be down while the API server is not.
                return error

        return self._outcome(read, "get", kind, namespace, name)

    def all_pods(self) -> Sequence[Pod] | None:
        """The pods of the cluster; None when they cannot be read, which is not noted."""
        found = self._outcome(lambda: self._source.list(PODS), "list", PODS, None, "")
        return None if isinstance(found, ClusterError) else found

    def events_about(self, pod: Pod) -> Sequence[Event] | None:
        """What was seen of a pod, None when it cannot be read."""
        selector, namespace = f"involvedObject.uid={pod.metadata.uid}", pod.metadata.namespace
        return self._try(
            lambda: self._source.list(EVENTS, namespace, field_selector=selector), "list", EVENTS, namespace, selector
        )

    def pods_of(self, namespace: str, selector: Selector) -> Sequence[Pod] | None:
        """The pods of a namespace that a selector matches, None when they cannot be read."""
        return self.selected(PODS, namespace, selector)

    def selected(self, kind: Kind[K], namespace: str, selector: Selector) -> Sequence[K] | None:
        """The objects of a namespace that a selector matches, None when they cannot be read."""
        return self._try(
            lambda: self._source.list(kind, namespace, selector=selector), "list", kind, namespace, str(selector)
        )

    def snapshot(self, pods: Sequence[Pod], args: Mapping[str, Any] | None = None, *, budgets: bool = False) -> Cluster:
        """The cluster as far as the scheduling cycles of pods read it; `unread` knows nothing of what is missing there.

        What was read for other pods is in it too. While nothing new is read, it is the same snapshot, and its nodes and
        pods are always the same tuples.

        Args:
            pods: Each is to be placed in the cluster, where the others may be by then.
            args: Arguments of the scheduler's plugins by plugin name.
            budgets: Whether PodDisruptionBudgets are needed too.
        """
        # Loaded when placement is asked for: its many models take time that a single pod's answer does not have.
        from podrules.cluster.needs import Known, needs

        known = self._cluster or Known()
        wanted = tuple(needs(pods, known, self.features, args or {}, budgets=budgets))
        while new := [need for need in dict.fromkeys(wanted) if need not in self._needs]:
            for need, found in zip(new, self._read_all(new), strict=True):
                if isinstance(found, ClusterError):
                    self._needs[need] = found
                else:
                    self._needs[need] = None
                    known = self._cluster = known.adding(need, found)
            wanted = tuple(needs(pods, known, self.features, args or {}, budgets=budgets))
        errors = {need: error for need in dict.fromkeys(wanted) if (error := self._needs[need]) is not None}
        unread = tuple(
            _unread(error, "get" if need.name else "list", need.kind, need.namespace) for need, error in errors.items()
        )
        return Cluster(None if unread else known.snapshot, unread, next(iter(errors.values()), None))

    def _read_all(self, needs: Sequence[Need]) -> Sequence[Sequence[KubeObject] | ClusterError]:
        """What several needs ask for, in their order."""
        reads = [partial(self._read, need) for need in needs]
        return together(reads) if self._source.side_by_side else [read() for read in reads]

    def _read(self, need: Need) -> Sequence[KubeObject] | ClusterError:
        kind, namespace, selector = need.kind, need.namespace, need.field_selector
        if need.name:
            one = self._outcome(lambda: self._source.get(kind, need.name, namespace), "get", kind, namespace, need.name)
            if isinstance(one, ClusterError):
                return () if isinstance(one, NotFound) else one
            return (one,)
        found = self._outcome(
            lambda: self._source.list(kind, namespace, field_selector=selector), "list", kind, namespace, selector
        )
        return () if isinstance(found, NotServed) and need.none_if_not_served else found

    def get(self, kind: Kind[K], name: str, namespace: str | None = None) -> K | None:
        """One object, None when it cannot be read or is not there; only the former is noted."""
        found = self._outcome(lambda: self._source.get(kind, name, namespace), "get", kind, namespace, name)
        if isinstance(found, NotFound):
            return None
        return self._try(lambda: self._source.get(kind, name, namespace), "get", kind, namespace, name)

    def list(self, kind: Kind[K], namespace: str | None = None, field_selector: str = "") -> Sequence[K] | None:
        """All objects of a kind, None when they cannot be read."""
        if kind is PDBS and self._is_left_out(kind, namespace):
            return None
        return self._try(
            lambda: self._source.list(kind, namespace, field_selector=field_selector),
            "list",
            kind,
            namespace,
            field_selector,
        )

    def limit_ranges(self, namespace: str) -> Sequence[LimitRange] | None:
        """The LimitRanges of a namespace, None when they cannot be read."""
        return self._try(lambda: self._source.list(LIMIT_RANGES, namespace), "list", LIMIT_RANGES, namespace)

    def runtime_class(self, name: str) -> RuntimeClass | None:
        """A RuntimeClass, None when none is named or it cannot be read."""
        if not name:
            return None
        return self._try(lambda: self._source.get(RUNTIME_CLASSES, name), "get", RUNTIME_CLASSES, None, name)

    def classes(self) -> dict[str, PriorityClass] | None:
        """All PriorityClasses by name, None when they cannot be read."""
        if self._is_left_out(PRIORITY_CLASSES, None):
            return None
        found = self._try(lambda: self._source.list(PRIORITY_CLASSES), "list", PRIORITY_CLASSES, None)
        return None if found is None else {entry.metadata.name: entry for entry in found}

    def class_named(self, name: str) -> dict[str, PriorityClass] | None:
        """One PriorityClass by name: empty when it does not exist, None when it cannot be read."""
        if not name:
            return {}
        if name in SYSTEM_PRIORITY_CLASSES:
            # Each API server makes them when it starts; see scheduling/rest/storage_scheduling.go.
            return SYSTEM_PRIORITY_CLASSES
        if self._is_left_out(PRIORITY_CLASSES, None):
            return None
        found = self._outcome(lambda: self._source.get(PRIORITY_CLASSES, name), "get", PRIORITY_CLASSES, None, name)
        if isinstance(found, NotFound):
            return {}
        if isinstance(found, ClusterError):
            self._note(found, "get", PRIORITY_CLASSES, None)
            return None
        return {name: found}

    def owners(self, pod: Pod) -> tuple[Owner, ...]:
        """The chain of controllers, nearest first, as far as it can be read."""
        chain: list[Owner] = []
        current: KubeObject | None = pod
        namespace = pod.metadata.namespace
        while current is not None and len(chain) < _MAX_OWNERS and (owner := current.metadata.controller):
            chain.append(Owner(owner.kind, owner.name))
            kind = next((entry for entry in _OWNED if (entry.group, entry.kind) == (owner.group, owner.kind)), None)
            current = None if kind is None else self._owner(kind, owner.name, namespace)
        return tuple(chain)

    def _owner(self, kind: Kind[Any], name: str, namespace: str) -> KubeObject | None:
        return self._try(lambda: self._source.get(kind, name, namespace), "get", kind, namespace, name)

    def _is_left_out(self, kind: Kind[Any], namespace: str | None) -> bool:
        """Whether nobody may have asked for a kind, with a note: that there is none of it would be told as a fact."""
        left_out = not tells_of(self._source, kind)
        if left_out:
            self._note(NotCaptured(kind, self._source.description, ""), "list", kind, namespace)
        return left_out

    def _try(
        self, read: Callable[[], T], verb: str, kind: Kind[Any], namespace: str | None, name: str = ""
    ) -> T | None:
        """What was read; None, and a note, when it cannot be."""
        found = self._outcome(read, verb, kind, namespace, name)
        if isinstance(found, ClusterError):
            self._note(found, verb, kind, namespace)
            return None
        return found

    def _outcome(
        self, read: Callable[[], T], verb: str, kind: Kind[Any], namespace: str | None, name: str
    ) -> T | ClusterError:
        """What was read, or why it cannot be; asked for once."""
        key = (verb, kind, namespace, name)
        if key not in self._known:
            try:
                self._known[key] = read()
            except (Forbidden, NotFound, NotServed, NotCaptured, BadObject, KubeletUnavailable) as error:
                self._known[key] = error
        outcome: T | ClusterError = self._known[key]
        return outcome

    def _note(self, error: ClusterError, verb: str, kind: Kind[Any], namespace: str | None) -> None:
        self._unread.setdefault((verb, kind.rbac_name, namespace), _unread(error, verb, kind, namespace))


_REASONS: Final = {
    Forbidden: "forbidden",
    NotFound: "not found",
    NotServed: "not served",
    NotCaptured: "not in the snapshot",
}


def _unread(error: ClusterError, verb: str, kind: Kind[Any], namespace: str | None) -> Unread:
    reason = _REASONS.get(type(error), str(error))
    return Unread(verb, kind.rbac_name, namespace if kind.namespaced else None, reason)
