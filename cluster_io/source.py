"""The interface of everything that serves API objects.

A `Source` is the live cluster, a snapshot, manifests or the demo cluster. Views and rules do not know which one it is.
A `RememberedSource` sends each request once, and answers from the nodes and pods it has read: a report needs the pods
of every node and single nodes. It serves all parts of a command, also those without a `Gatherer`, such as the search
for targets. A `Gatherer` remembers readings: what a rule gets where the source raises an error.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any, Protocol, TypeVar, cast

from cluster_io.errors import BadEntry, ClusterError, Unreachable
from cluster_io.field_selector import FieldIndex, FieldTerm
from cluster_io.kinds import NODES, PODS, Kind
from cluster_io.kubelet import KubeletEndpoint
from podrules.api.model.base import KubeObject, Model
from podrules.api.model.node import Node
from podrules.api.model.pod import Pod
from podrules.api.model.selectors import Selector
from podrules.pod.versions import Release, StatedFacts

T = TypeVar("T", bound=KubeObject)
M = TypeVar("M", bound=Model)


class Source(Protocol):
    """Serves API objects by kind and name."""

    stated: StatedFacts
    """What the user states about the cluster: versions, feature gates, kubelet configuration."""

    @property
    def description(self) -> str:
        """The source's name in messages: ``the cluster``, ``snapshot nodes.yaml``, ``the demo cluster``."""
        ...

    @property
    def namespace(self) -> str:
        """The namespace of a request that names none."""
        ...

    @property
    def git_version(self) -> str | None:
        """The API server's version, when it is known."""
        ...

    @property
    def emulates(self) -> str:
        """The version that the API server emulates: ``1.36``; empty: its own, or not known."""
        ...

    @property
    def schedulers(self) -> Sequence[Release] | None:
        """The versions of the schedulers, as a snapshot keeps them; None: objects may show them."""
        ...

    @property
    def now(self) -> datetime | None:
        """The time at which the objects had this state; None when it is not known."""
        ...

    @property
    def is_plain_list(self) -> bool:
        """Whether it is a List as kubectl prints it.

        Such a List does not say when it was printed: ``now`` is the newest time in it. It shows that its objects exist,
        and never that others do not: `get` raises `NotListed` for an object that it lacks, and `get` and `list` raise
        `NotCaptured` for a kind that has no objects in it.
        """
        ...

    @property
    def side_by_side(self) -> bool:
        """Whether reads in several threads at once are allowed and faster."""
        ...

    def get(self, kind: Kind[T], name: str, namespace: str | None = None) -> T:
        """One object.

        Raises:
            NotFound: no object has that name.
            NotListed: a List does not hold it; it may exist.
            NotCaptured: a file holds nothing of the kind.
            Forbidden: the user may not get it.
            Unreachable: the cluster does not answer.
            BadObject: it does not have the shape of its kind.
        """
        ...

    def list(
        self, kind: Kind[T], namespace: str | None = None, *, selector: Selector | None = None, field_selector: str = ""
    ) -> Sequence[T]:
        """All objects of a kind, in one namespace or in all, that match both selectors.

        ``field_selector`` is written as for kubectl: ``spec.nodeName=node-1``, ``status.phase!=Failed``, or several
        with commas between them.

        Raises:
            Forbidden: the user may not list them.
            NotServed: the cluster does not serve the kind.
            NotCaptured: a file holds nothing of the kind.
            Unreachable: the cluster does not answer.
            BadObject: an object does not have the shape of its kind.
        """
        ...

    def names(self, kind: Kind[Any], namespace: str | None) -> Sequence[str]:
        """The names of a kind's objects, for suggestions; of a large live cluster only those of the first page.

        Raises:
            Forbidden: the user may not list them.
            NotServed: the cluster does not serve the kind.
            Unreachable: the cluster does not answer.
        """
        ...

    def kubelet(self, node: str, endpoint: KubeletEndpoint[M]) -> M:
        """The answer of a node's kubelet at an endpoint.

        Raises:
            Forbidden: the user may not get nodes/proxy.
            KubeletUnavailable: the kubelet cannot be reached, or does not serve the endpoint.
            BadObject: the answer does not have the shape of the endpoint's model.
        """
        ...


A = TypeVar("A")


class RememberedSource:
    """Keeps each answer of another source, and its refusals."""

    def __init__(self, source: Source) -> None:
        """Ask for nothing yet."""
        self._source = source
        self._answers: dict[tuple[Any, ...], Any] = {}
        self._of: str | None = None
        self._nodes: dict[str, Node] | None = None
        self._pods: FieldIndex[Pod] | None = None
        self.description = source.description
        self.schedulers = source.schedulers
        self.stated = source.stated
        self.now = source.now
        self.later_time: datetime | None = getattr(source, "later_time", None)
        self.is_plain_list = source.is_plain_list
        self.side_by_side = source.side_by_side

    def know(self, nodes: Sequence[Node] | None, pods: Sequence[Pod] | None, of: str | None = None) -> None:
        """Answer requests about nodes and pods from these lists.

        Args:
            nodes: All nodes of the cluster; None: they could not be read, and the other source says why.
            pods: The same of pods.
            of: The only namespace that these pods are from; None: of all.
        """
        self._of = of
        self._nodes = None if nodes is None else {node.metadata.name: node for node in nodes}
        self._pods = None if pods is None else FieldIndex(pods, FieldTerm.read_model)

    # The first use of these may be a request.

    @property
    def namespace(self) -> str:
        """See `Source.namespace`."""
        return self._source.namespace

    @property
    def git_version(self) -> str | None:
        """See `Source.git_version`."""
        return self._source.git_version

    @property
    def emulates(self) -> str:
        """See `Source.emulates`."""
        return self._source.emulates

    def get(self, kind: Kind[T], name: str, namespace: str | None = None) -> T:
        """One object; see `Source.get`."""
        if kind is NODES and self._nodes is not None and name in self._nodes:
            return cast("T", self._nodes[name])
        return self._once(lambda: self._source.get(kind, name, namespace), "get", kind, _space(kind, namespace), name)

    def list(
        self,
        kind: Kind[T],
        namespace: str | None = None,
        *,
        selector: Selector | None = None,
        field_selector: str = "",
    ) -> Sequence[T]:
        """All objects of a kind; see `Source.list`."""
        if kind is NODES and self._nodes is not None and not selector and not field_selector:
            return cast("Sequence[T]", tuple(self._nodes.values()))
        if kind is not PODS or self._pods is None or selector or self._of not in {None, namespace}:
            chosen = _space(kind, namespace), None if selector is None else str(selector), field_selector
            return self._once(
                lambda: self._source.list(kind, namespace, selector=selector, field_selector=field_selector),
                *("list", kind, *chosen),
            )
        found = self._pods.of(field_selector)
        if namespace is not None:
            found = [pod for pod in found if pod.metadata.namespace == namespace]
        return cast("Sequence[T]", found)

    def names(self, kind: Kind[Any], namespace: str | None) -> Sequence[str]:
        """The names of a kind's objects; see `Source.names`."""
        return self._once(lambda: self._source.names(kind, namespace), "names", kind, namespace)

    def kubelet(self, node: str, endpoint: KubeletEndpoint[M]) -> M:
        """Ask a node's kubelet; see `Source.kubelet`."""
        return self._once(lambda: self._source.kubelet(node, endpoint), "kubelet", node, endpoint.path)

    def _once(self, ask: Callable[[], A], *request: Any) -> A:
        """The answer to a request, or its refusal again. A server that did not answer is asked again."""
        if request not in self._answers:
            try:
                self._answers[request] = ask()
            except (BadEntry, Unreachable):
                raise
            except ClusterError as error:
                self._answers[request] = error
        found: A | ClusterError = self._answers[request]
        if isinstance(found, ClusterError):
            raise found
        return found


def _space(kind: Kind[Any], namespace: str | None) -> str | None:
    """The namespace in the path of a request."""
    return namespace if kind.namespaced else None


def remembered(source: Source) -> Source:
    """The source with a memory for one answer, if it answers at all."""
    # Loaded by most sources without a cluster.
    from cluster_io.in_memory import NothingSource

    return source if isinstance(source, NothingSource) else RememberedSource(source)
