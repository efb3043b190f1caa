"""A source that answers from the nodes and pods it has read already.

A report asks for the pods of every node and for single nodes. Without this source, each is a request of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any, TypeVar, cast

from cluster_io.field_selector import FieldIndex, FieldTerm
from cluster_io.kinds import NODES, PODS, Kind
from cluster_io.kubelet import KubeletEndpoint
from cluster_io.source import Source
from podrules.api.model.base import KubeObject, Model
from podrules.api.model.node import Node
from podrules.api.model.pod import Pod
from podrules.api.model.selectors import Selector

T = TypeVar("T", bound=KubeObject)
M = TypeVar("M", bound=Model)


class RememberedSource:
    """Keeps the nodes of another source, and its pods or those of one namespace; asks it for everything else."""

    def __init__(
        self, source: Source, nodes: Sequence[Node] | None, pods: Sequence[Pod] | None, of: str | None = None
    ) -> None:
        """Take the nodes and pods.

        Args:
            source: Answers for all other kinds.
            nodes: All nodes of the cluster; None: they could not be read, and the other source says why.
            pods: The same of pods.
            of: The only namespace that these pods are from; None: of all.
        """
        self._of = of
        self._source = source
        self._nodes = None if nodes is None else {node.metadata.name: node for node in nodes}
        self._pods = None if pods is None else FieldIndex(pods, FieldTerm.read_model)
        self.description = source.description
        self.namespace = source.namespace
        self.git_version = source.git_version
        self.emulates = source.emulates
        self.schedulers = source.schedulers
        self.stated = source.stated
        self.now = source.now
        self.later_time: datetime | None = getattr(source, "later_time", None)
        self.is_plain_list = source.is_plain_list
        self.side_by_side = source.side_by_side

    def get(self, kind: Kind[T], name: str, namespace: str | None = None) -> T:
        """One object; see `Source.get`."""
        if kind is NODES and self._nodes is not None and name in self._nodes:
            return cast("T", self._nodes[name])
        return self._source.get(kind, name, namespace)

    def list(
        self, kind: Kind[T], namespace: str | None = None, *, selector: Selector | None = None, field_selector: str = ""
    ) -> Sequence[T]:
        """All objects of a kind; see `Source.list`."""
        if kind is NODES and self._nodes is not None and not selector and not field_selector:
            return cast("Sequence[T]", tuple(self._nodes.values()))
        if kind is not PODS or self._pods is None or selector or self._of not in {None, namespace}:
            return self._source.list(kind, namespace, selector=selector, field_selector=field_selector)
        found = self._pods.of(field_selector)
        if namespace is not None:
            found = [pod for pod in found if pod.metadata.namespace == namespace]
        return cast("Sequence[T]", found)

    def names(self, kind: Kind[Any], namespace: str | None) -> Sequence[str]:
        """The names of a kind's objects; see `Source.names`."""
        return self._source.names(kind, namespace)

    def kubelet(self, node: str, endpoint: KubeletEndpoint[M]) -> M:
        """Ask a node's kubelet; see `Source.kubelet`."""
        return self._source.kubelet(node, endpoint)
