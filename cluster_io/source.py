"""The interface of everything that serves API objects.

A `Source` is the live cluster, a snapshot, manifests or the demo cluster. Views and rules do not know which one it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Protocol, TypeVar

from cluster_io.kinds import Kind
from cluster_io.kubelet import KubeletEndpoint
from podrules.api.model.base import KubeObject, Model
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
