"""Whether a pod tolerates a node's taint, or a request for devices a device's, and when NoExecute taints delete a pod.

A toleration tolerates a taint if

    its effect is empty or the taint's, and its key is empty or the taint's, and
    its operator is Exists, or Equal (also when empty) and the values are the same

The operators Gt and Lt need the gate TaintTolerationComparisonOperators, off by default in 1.36, and tolerate nothing
without it.

The DaemonSet controller adds tolerations to the pods that it creates (AddOrUpdateDaemonPodTolerations in
pkg/controller/daemon/util/daemonset_util.go at v1.37.1).

Source: k8s.io/api/core/v1/toleration.go (ToleratesTaint), k8s.io/component-helpers/scheduling/corev1/helpers.go
(TolerationsTolerateTaint) and k8s.io/dynamic-resource-allocation/resourceclaim (ToleratesTaint) at v0.36.3; KEP-5471.

NoExecute taints of a node delete a pod, regardless of who set them:

    a taint that it does not tolerate   deleted as soon as the controller notices it
    all tolerated, some for a time      deleted the shortest tolerationSeconds after the taint. A scheduled deletion
                                        stays: a later taint with a shorter time does not advance it
    all tolerated without a time        never

For each taint the first matching toleration counts, and 0 s or less means at once. The shortest becomes a Duration in
Go, and a negative one means no limit: more than 9,223,372,036 s wrap (`go_seconds`), to no limit (10**10, 2**63-1) or
to another time (10**12 s to 3,875,820,020 s, 123 years). The time counts from when the controller noticed the taint on
the pod's node: from `timeAdded`, if recorded, or from the pod's binding, if later. A restarted controller counts again.

Source: pkg/controller/tainteviction/taint_eviction.go (processPodOnNode, getMinTolerationTime, handleNodeUpdate) at
v1.36.3; k8s.io/component-helpers/scheduling/corev1/helpers.go (GetMatchingTolerations) at v0.36.3.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from itertools import groupby
from typing import TYPE_CHECKING, Final

from msgspec import Struct
from msgspec.structs import replace

from podrules.api.model.instant import FIRST, go_seconds, instant, later
from podrules.api.model.node import Taint
from podrules.api.model.pod import Pod
from podrules.api.model.selectors import Toleration

if TYPE_CHECKING:
    from podrules.api.model.resource import DeviceTaint, DeviceToleration


NO_SCHEDULE: Final = "NoSchedule"
NO_EXECUTE: Final = "NoExecute"
DO_NOT_SCHEDULE: Final = frozenset({NO_SCHEDULE, NO_EXECUTE})
"""Effects that prevent scheduling (DoNotScheduleTaintsFilterFunc)."""
_ENDURED: Final = tuple(
    Toleration(f"node.kubernetes.io/{name}", "Exists", "", NO_EXECUTE) for name in ("not-ready", "unreachable")
)
_PASSED_OVER: Final = tuple(
    Toleration(f"node.kubernetes.io/{name}", "Exists", "", NO_SCHEDULE)
    for name in ("disk-pressure", "memory-pressure", "pid-pressure", "unschedulable")
)
_NETWORK: Final = Toleration("node.kubernetes.io/network-unavailable", "Exists", "", NO_SCHEDULE)
DEFAULT_TOLERATION_SECONDS: Final = 300
"""The default toleration of the taints of a lost node (--default-unreachable-toleration-seconds)."""


def tolerates_taint(toleration: Toleration | DeviceToleration, taint: Taint | DeviceTaint) -> bool:
    """Whether one toleration tolerates a taint (Toleration.ToleratesTaint)."""
    if toleration.effect not in {"", taint.effect} or toleration.key not in {"", taint.key}:
        return False
    match toleration.operator:
        case "" | "Equal":
            return toleration.value == taint.value
        case operator:
            return operator == "Exists"


def tolerations_tolerate_taint(
    tolerations: Sequence[Toleration] | Sequence[DeviceToleration], taint: Taint | DeviceTaint
) -> bool:
    """Whether any toleration tolerates a taint."""
    return any(tolerates_taint(toleration, taint) for toleration in tolerations)


def daemon_tolerations(*, host_network: bool) -> tuple[Toleration, ...]:
    """The tolerations that the DaemonSet controller adds to a pod, in its order."""
    return (*_ENDURED, *_PASSED_OVER, *((_NETWORK,) if host_network else ()))


def with_daemon_tolerations(own: Sequence[Toleration], *, host_network: bool) -> tuple[Toleration, ...]:
    """The tolerations of a DaemonSet's pod. The controller removes the time of an own toleration that is the same."""
    found = list(own)
    for added in daemon_tolerations(host_network=host_network):
        alike = [replace(entry, toleration_seconds=None) == added for entry in found]
        found = [added if same else entry for entry, same in zip(found, alike, strict=True)]
        found += [] if any(alike) else [added]
    return tuple(found)


class Eviction(Struct, frozen=True, rename="camel"):
    """When the taints of a node delete a pod."""

    at: datetime | None
    """None: never, by `tolerated` or `held_back`, or the time of the taint is not recorded."""
    tolerated: int | None
    """Seconds from the taint; None: without a limit."""
    held_back: bool = False
    """Whether it would be deleted, but nodes in its zone are currently not tainted."""
    taint: str = ""
    """``key=value:effect`` of the deciding taint; empty: none decides."""

    @property
    def comes(self) -> bool:
        """Whether the pod is deleted, at a known time or not."""
        return self.tolerated is not None and not self.held_back


def eviction_after(tolerations: Sequence[Toleration], taints: Iterable[Taint]) -> timedelta | None:
    """How long a pod may stay under NoExecute taints; None: forever (processPodOnNode, getMinTolerationTime)."""
    found = _shortest(tolerations, [taint for taint in taints if taint.effect == NO_EXECUTE])
    return timedelta(seconds=found[0]) if found is not None else None


def taint_eviction(
    tolerations: Sequence[Toleration], taints: Iterable[Taint], *, bound: datetime | None = None
) -> Eviction | None:
    """When the current taints of a node delete one of its pods; None: none of them is NoExecute.

    Args:
        tolerations: The pod's tolerations.
        taints: Its node's taints.
        bound: When the pod was bound to the node; None: not known, counts as before the taints.
    """
    present = sorted((taint for taint in taints if taint.effect == NO_EXECUTE), key=_added)
    if not present:
        return None
    seen: list[Taint] = []
    scheduled = Eviction(None, None)
    for added, group in groupby(present, key=_added):
        new = list(group)
        seen += new
        found = _shortest(tolerations, seen)
        at_once = not all(tolerations_tolerate_taint(tolerations, taint) for taint in new)
        if found is None or (scheduled.comes and not at_once):
            continue
        after, taint = found
        at = None if added == FIRST else later(max(added, bound or added), after)
        if not scheduled.comes or (at is not None and (scheduled.at is None or at < scheduled.at)):
            scheduled = Eviction(at, after, taint=taint.text)
    return scheduled


def pod_eviction(pod: Pod, taints: Iterable[Taint]) -> Eviction | None:
    """When the taints of its node delete a stored pod; None: they do not, or it is already deleted, or has finished."""
    if pod.finished or pod.metadata.deletion_timestamp:
        return None
    found = taint_eviction(pod.spec.tolerations, taints, bound=bound_at(pod))
    return found if found is not None and found.comes else None


def bound_at(pod: Pod) -> datetime | None:
    """When a pod was bound to its node; None: not known."""
    scheduled = pod.status.condition("PodScheduled")
    noted = scheduled.last_transition_time if scheduled is not None and scheduled.status == "True" else None
    text = noted or pod.metadata.creation_timestamp
    return instant(text)


def _shortest(tolerations: Sequence[Toleration], taints: Sequence[Taint]) -> tuple[int, Taint] | None:
    """How many seconds a pod may stay, and the deciding taint; None: forever."""
    found: tuple[int, Taint] | None = None
    for taint in taints:
        used = next((toleration for toleration in tolerations if tolerates_taint(toleration, taint)), None)
        if used is None:
            return 0, taint
        if used.toleration_seconds is None:
            continue
        after = max(used.toleration_seconds, 0)
        if found is None or after < found[0]:
            found = after, taint
    if found is None:
        return None
    # Upstream multiplies only the smallest, after the comparison.
    stays = go_seconds(found[0])
    return (stays, found[1]) if stays >= 0 else None


def _added(taint: Taint) -> datetime:
    return instant(taint.time_added) or FIRST
