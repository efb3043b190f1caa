"""Where objects come from.

A `Source` is the live cluster, a snapshot, manifests or the demo cluster. Views and rules never see which.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol, TypeVar

from podrules.cluster.kinds import Kind
from podrules.cluster.kubelet import KubeletEndpoint
from podrules.model.base import KubeObject, Model
from podrules.model.selectors import Selector

__all__ = ["Source", "tells_of"]

T = TypeVar("T", bound=KubeObject)
M = TypeVar("M", bound=Model)


class Source(Protocol):
    """Objects by kind and name."""

    @property
    def description(self) -> str:
        """What a message calls it: ``the cluster``, ``snapshot nodes.yaml``, ``the demo cluster``."""
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
    def now(self) -> datetime | None:
        """The instant at which the objects were so; None when it is not known."""
        ...

    @property
    def is_plain_list(self) -> bool:
        """Whether it is a List that tells nothing of itself.

        Not when it was made: ``now`` is the newest time in it. And not what was asked for: a kind without objects may
        be one that nobody looked for.
        """
        ...

    @property
    def side_by_side(self) -> bool:
        """Whether several threads may read at a time, and gain by it."""
        ...

    def get(self, kind: Kind[T], name: str, namespace: str | None = None) -> T:
        """One object.

        Raises:
            NotFound: there is none of that name.
            Forbidden: the user may not get it.
            Unreachable: the cluster does not answer.
            BadObject: it does not have the shape of its kind.
        """
        ...

    def list(
        self, kind: Kind[T], namespace: str | None = None, *, selector: Selector | None = None, field_selector: str = ""
    ) -> Sequence[T]:
        """All objects of a kind in a namespace, or in all, that both selectors match.

        ``field_selector`` is written as for kubectl: ``spec.nodeName=node-1``, ``status.phase!=Failed``, or several
        with commas between them.

        Raises:
            Forbidden: the user may not list them.
            NotServed: the cluster does not know the kind.
            Unreachable: the cluster does not answer.
            BadObject: one does not have the shape of its kind.
        """
        ...

    def kubelet(self, node: str, endpoint: KubeletEndpoint[M]) -> M:
        """What the kubelet of a node says.

        Raises:
            Forbidden: the user may not get nodes/proxy.
            KubeletUnavailable: the kubelet cannot be reached, or does not say it.
            BadObject: what it says has another shape.
        """
        ...


def tells_of(source: Source, kind: Kind[KubeObject]) -> bool:
    """Whether there is nothing of a kind where a source has nothing of it; else nobody may have asked for it."""
    return not source.is_plain_list or bool(source.list(kind))
