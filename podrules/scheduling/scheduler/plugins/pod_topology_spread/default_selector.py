"""The selector of default topology spread constraints: it selects the pods that count as this pod's siblings.

    the selectors of all Services of the namespace that match the pod, merged
    and the selector of its controller, if that is a ReplicationController, ReplicaSet or StatefulSet that still exists

Empty: the pod belongs to nothing, and default constraints do not apply to it.

Source: pkg/scheduler/framework/plugins/helper/spread.go (DefaultSelector, GetPodServices) at v1.36.3.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol, TypeVar

from podrules.api.model.pod import Pod
from podrules.api.model.selectors import LabelSelector, Selector, SelectorError

S_co = TypeVar("S_co", covariant=True)


class _Spec(Protocol[S_co]):
    @property
    def selector(self) -> S_co: ...


class Selecting(Protocol[S_co]):
    """Anything with ``spec.selector``."""

    @property
    def spec(self) -> _Spec[S_co]:
        """``spec``."""
        ...


class Siblings(Protocol):
    """What the selector is built from; names are looked up in the pod's namespace."""

    def services(self, namespace: str) -> Iterable[Selecting[dict[str, str] | None]]:
        """All Services of a namespace, in any stable order."""
        ...

    def replication_controller(self, namespace: str, name: str) -> Selecting[dict[str, str]] | None:
        """One ReplicationController, None when there is none."""
        ...

    def replica_set(self, namespace: str, name: str) -> Selecting[LabelSelector | None] | None:
        """One ReplicaSet, None when there is none."""
        ...

    def stateful_set(self, namespace: str, name: str) -> Selecting[LabelSelector | None] | None:
        """One StatefulSet, None when there is none."""
        ...


def default_selector(pod: Pod, siblings: Siblings) -> Selector:
    """The selector that default constraints get for this pod (helper.DefaultSelector)."""
    labels: dict[str, str] = {}
    for service in siblings.services(pod.metadata.namespace):
        wanted = service.spec.selector
        if wanted is not None and all(pod.metadata.labels.get(key) == value for key, value in wanted.items()):
            labels |= wanted
    owner = pod.metadata.controller
    match (owner.api_version, owner.kind) if owner else None:
        case ("v1", "ReplicationController"):
            controller = siblings.replication_controller(pod.metadata.namespace, owner.name if owner else "")
            return Selector.from_labels(labels | (controller.spec.selector if controller else {}))
        case ("apps/v1", "ReplicaSet"):
            found = siblings.replica_set(pod.metadata.namespace, owner.name if owner else "")
        case ("apps/v1", "StatefulSet"):
            found = siblings.stateful_set(pod.metadata.namespace, owner.name if owner else "")
        case _:
            found = None
    selector = Selector.from_labels(labels)
    if found is None or found.spec.selector is None:
        return selector
    try:
        return selector.add(*Selector.from_label_selector(found.spec.selector).requirements)
    except SelectorError:
        # A controller with a selector that cannot be read adds nothing, as upstream.
        return selector
