"""Devices: dynamic resource allocation."""

from __future__ import annotations

from typing import Final

from kubectl_plugin.glossary.entry import Entry

__all__ = ["ENTRIES"]

_EXPLAIN: Final = "kubectl qos explain pod/NAME"
_PLUGIN: Final = "pkg/scheduler/framework/plugins/dynamicresources/dynamicresources.go"

ENTRIES: Final = (
    Entry(
        name="cannot allocate all claims",
        also=("ResourceClaim", "DRA", "dynamic resource allocation", "DynamicResources", "ResourceSlice"),
        means="The node has no free devices that fulfil all of the pod's ResourceClaims together.",
        rule=("A device counts as taken once it is allocated to a claim, also while that claim's pod is ending.",),
        commands=(_EXPLAIN, "kubectl get resourceslices"),
        source=(_PLUGIN, "KEP-4381"),
        see=("resourceclaim not available on the node", "invalid resource pools were encountered"),
    ),
    Entry(
        name="resourceclaim not available on the node",
        means="The claim is allocated already, and its devices are not on this node.",
        rule=("If no pod has it reserved, the scheduler gives the devices back and tries again.",),
        commands=(_EXPLAIN,),
        source=(_PLUGIN,),
        see=("no new claims to deallocate",),
    ),
    Entry(
        name="invalid resource pools were encountered",
        means="A driver's ResourceSlices of the node contradict each other, or are not all there yet.",
        do=("See whether the driver is being updated on that node.",),
        commands=("kubectl get resourceslices",),
        source=(_PLUGIN, "KEP-4381"),
    ),
    Entry(
        name="no new claims to deallocate",
        also=(
            "still not schedulable",
            "deallocation of ResourceClaim completed",
            "deletion of ResourceClaim completed",
        ),
        means="What the scheduler could do about the pod's ResourceClaims when no node fitted. Preemption is separate.",
        rule=(
            "`no new claims to deallocate`: the pod has none. `still not schedulable`: none that could be given back.",
            "`... completed`: one was allocated where the pod does not fit, and was given back; it is tried again.",
        ),
        commands=(_EXPLAIN,),
        source=(_PLUGIN,),
        see=("cannot allocate all claims",),
    ),
)
