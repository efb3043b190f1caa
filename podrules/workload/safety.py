"""What a pod's owner guarantees about copies of it, and so what a force deletion may violate.

    StatefulSet             at most one pod with a name, ever: a force deletion can start a second while the first runs
    ReplicaSet, Deployment  availability first: a replacement may start while the old pod still runs
    DaemonSet               one per node: a replacement may start on the node while the old pod still runs
    Job                     may run more than once; podReplacementPolicy Failed waits for the old pod to end
    static pod              the kubelet owns it: deleting its mirror pod does not stop it
    bare pod                no controller replaces it

Source: kubernetes.io/docs "Force Delete StatefulSet Pods"; pkg/controller/{statefulset,replicaset,daemon,job} at
v1.36.3.
"""

from __future__ import annotations

from enum import Enum
from typing import Final

from msgspec import Struct

from podrules.api.model.pod import Pod
from podrules.pod.priority import is_mirror_pod, is_static_pod


class Guarantee(Enum):
    """The owner's guarantee about copies of a pod."""

    AT_MOST_ONE = "AtMostOne"
    AVAILABILITY_FIRST = "AvailabilityFirst"
    ONE_PER_NODE = "OnePerNode"
    RUNS_TO_COMPLETION = "RunsToCompletion"
    KUBELET_OWNED = "KubeletOwned"
    NOT_REPLACED = "NotReplaced"
    UNKNOWN = "Unknown"


_BY_GROUP_AND_KIND: Final = {
    ("apps", "StatefulSet"): Guarantee.AT_MOST_ONE,
    ("apps", "ReplicaSet"): Guarantee.AVAILABILITY_FIRST,
    ("", "ReplicationController"): Guarantee.AVAILABILITY_FIRST,
    ("apps", "DaemonSet"): Guarantee.ONE_PER_NODE,
    ("batch", "Job"): Guarantee.RUNS_TO_COMPLETION,
}


OF_ONE_NODE: Final = frozenset({Guarantee.ONE_PER_NODE, Guarantee.KUBELET_OWNED})
"""The guarantees of pods that belong to their node: no controller replaces one of them elsewhere."""


class ForceSafety(Enum):
    """Whether a pod's object can be deleted while its processes are not known to have ended."""

    SAFE = "Safe"
    """None of its containers runs."""
    STOPS_NOTHING = "StopsNothing"
    """It is the mirror pod of a static pod."""
    NO_PROMISE_BROKEN = "NoPromiseBroken"
    """Its processes get little time; its owner allows a second copy, and no two pods write to one volume."""
    NOT_SAFE = "NotSafe"
    """A second copy, or a second writer, may start before its processes have ended."""
    NOT_SAFE_YET = "NotSafeYet"
    """Its processes may continue as long as its node does not respond."""
    UNKNOWN = "Unknown"
    """Whether its node stops processes is not known."""


class OwnerGuarantee(Struct, frozen=True, rename="camel"):
    """A pod's controller and its guarantee."""

    guarantee: Guarantee
    kind: str
    """The kind of the controller; empty without one."""
    name: str
    field: str
    """The field that decided."""


def owner_guarantee(pod: Pod) -> OwnerGuarantee:
    """The guarantee of the pod's controller."""
    if is_mirror_pod(pod) or is_static_pod(pod):
        return OwnerGuarantee(Guarantee.KUBELET_OWNED, "Node", pod.spec.node_name, "metadata.annotations")
    owner = pod.metadata.controller
    if owner is None:
        return OwnerGuarantee(Guarantee.NOT_REPLACED, "", "", "metadata.ownerReferences")
    index = pod.metadata.owner_references.index(owner)
    guarantee = _BY_GROUP_AND_KIND.get((owner.group, owner.kind), Guarantee.UNKNOWN)
    return OwnerGuarantee(guarantee, owner.kind, owner.name, f"metadata.ownerReferences[{index}].kind")


def force_safety(guarantee: Guarantee, *, answers: bool | None, idle: bool, unprotected: bool) -> ForceSafety:
    """Whether a force deletion is safe.

    Args:
        guarantee: The guarantee of the pod's owner.
        answers: Whether the kubelet of the pod's node responds; None: not known, or no kubelet runs the pod.
        idle: Whether its kubelet reports that none of its containers runs.
        unprotected: Whether nothing prevents a second writer to one of its volumes.
    """
    if guarantee is Guarantee.KUBELET_OWNED:
        return ForceSafety.STOPS_NOTHING
    if answers is None:
        return ForceSafety.UNKNOWN
    if not answers:
        return ForceSafety.NOT_SAFE_YET
    if idle:
        return ForceSafety.SAFE
    if guarantee in {Guarantee.AT_MOST_ONE, Guarantee.UNKNOWN}:
        return ForceSafety.NOT_SAFE
    replaced = guarantee is not Guarantee.NOT_REPLACED
    return ForceSafety.NOT_SAFE if replaced and unprotected else ForceSafety.NO_PROMISE_BROKEN


# The words for what a pod's owner does once the pod's object is gone.
#
# The plugin and the webhook use the same words, and a test compares the chart's policies with them. ``{owner}`` is the
# owner's kind and name. "It" is the pod.

NEXT_START: Final = {
    Guarantee.AT_MOST_ONE: "{owner} may start a second {pod}",
    Guarantee.AVAILABILITY_FIRST: "{owner} may start a replacement",
    Guarantee.ONE_PER_NODE: "{owner} may start the next copy",
    Guarantee.RUNS_TO_COMPLETION: "{owner} may start the work again",
    Guarantee.UNKNOWN: "{owner} may start a second copy",
}
"""What an owner may start; ``{pod}`` is the pod's name. The owners that are missing here start no pod."""
_WHILE: Final = "while it still runs"
OWNER_RISK: Final = {
    Guarantee.AT_MOST_ONE: f"{{owner}} promises at most one, but a second may start {_WHILE}",
    Guarantee.AVAILABILITY_FIRST: f"{NEXT_START[Guarantee.AVAILABILITY_FIRST]} {_WHILE}",
    Guarantee.ONE_PER_NODE: f"{NEXT_START[Guarantee.ONE_PER_NODE]} {_WHILE}",
    Guarantee.RUNS_TO_COMPLETION: f"{NEXT_START[Guarantee.RUNS_TO_COMPLETION]} {_WHILE}",
    Guarantee.KUBELET_OWNED: "it mirrors a static pod, and deleting it stops nothing",
    Guarantee.NOT_REPLACED: "its processes may run on, and no controller replaces it",
    Guarantee.UNKNOWN: f"{{owner}} decides whether a second starts {_WHILE}",
}
"""The risk of a force deletion, by the owner's guarantee."""
REPLACED: Final = "{owner} has another instead"
"""The owner has created another pod: it no longer counts this one, which is being deleted."""
REPLACED_RISK: Final = f"{REPLACED}, and this one may still run"
