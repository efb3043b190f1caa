"""The default constraints that a pod gets, with the selector that is deduced for it.

    the pod has constraints of its own         none
    its selector (`default_selector`) is empty none: it belongs to no Service and no controller that counts
    else                                       each default constraint with that selector in place of its own and of its
                                               matchLabelKeys, which the scheduler does not look at in defaults

Source: pkg/scheduler/framework/plugins/podtopologyspread/common.go (buildDefaultConstraints) at v1.36.3.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from podrules.api.model.pod import Pod, TopologySpreadConstraint
from podrules.scheduling.scheduler.plugins.pod_topology_spread.default_selector import Siblings, default_selector


def build_default_constraints(
    pod: Pod, defaults: Sequence[TopologySpreadConstraint], siblings: Siblings
) -> tuple[TopologySpreadConstraint, ...]:
    """The constraints that a pod without its own is scheduled by (buildDefaultConstraints)."""
    if pod.spec.topology_spread_constraints or not defaults:
        return ()
    selector = default_selector(pod, siblings)
    if selector.empty:
        return ()
    label_selector = selector.to_label_selector()
    return tuple(replace(entry, label_selector=label_selector, match_label_keys=()) for entry in defaults)
