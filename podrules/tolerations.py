"""Whether a pod tolerates a node's taint, or a request for devices a device's.

A toleration tolerates a taint when

    its effect is empty or the taint's, and its key is empty or the taint's, and
    its operator is Exists, or Equal (also when empty) and the values are the same

The operators Gt and Lt are behind the gate TaintTolerationComparisonOperators, off by default in 1.36, and tolerate
nothing without it.

Source: k8s.io/api/core/v1/toleration.go (ToleratesTaint), k8s.io/component-helpers/scheduling/corev1/helpers.go
(TolerationsTolerateTaint) and k8s.io/dynamic-resource-allocation/resourceclaim (ToleratesTaint) at v0.36.3; KEP-5471.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from podrules.model.affinity import Toleration
from podrules.model.node import Taint

if TYPE_CHECKING:
    from podrules.model.resource import DeviceTaint, DeviceToleration

__all__ = ["DO_NOT_SCHEDULE", "NO_EXECUTE", "NO_SCHEDULE", "tolerates_taint", "tolerations_tolerate_taint"]

NO_SCHEDULE: Final = "NoSchedule"
NO_EXECUTE: Final = "NoExecute"
DO_NOT_SCHEDULE: Final = frozenset({NO_SCHEDULE, NO_EXECUTE})
"""Effects that keep pods from being scheduled (DoNotScheduleTaintsFilterFunc)."""


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
