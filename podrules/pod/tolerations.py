"""Whether a pod tolerates a node's taint, or a request for devices tolerates a device's taint.

A toleration tolerates a taint if

    its effect is empty or the taint's, and its key is empty or the taint's, and
    its operator is Exists, or Equal (also when empty) and the values are the same

The operators Gt and Lt need the gate TaintTolerationComparisonOperators, off by default in 1.36, and tolerate nothing
without it.

The DaemonSet controller adds tolerations to the pods that it creates (AddOrUpdateDaemonPodTolerations in
pkg/controller/daemon/util/daemonset_util.go at v1.37.1).

Source: k8s.io/api/core/v1/toleration.go (ToleratesTaint), k8s.io/component-helpers/scheduling/corev1/helpers.go
(TolerationsTolerateTaint) and k8s.io/dynamic-resource-allocation/resourceclaim (ToleratesTaint) at v0.36.3; KEP-5471.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from msgspec.structs import replace

from podrules.api.model.affinity import Toleration
from podrules.api.model.node import Taint

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
