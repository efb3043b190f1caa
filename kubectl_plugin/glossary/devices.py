"""Devices: dynamic resource allocation."""

from __future__ import annotations

from typing import Final

from kubectl_plugin.glossary.entry import Entry

_EXPLAIN: Final = "kubectl qos explain pod/NAME"
_PLUGIN: Final = "pkg/scheduler/framework/plugins/dynamicresources/dynamicresources.go"

ENTRIES: Final = (
    Entry(
        name="cannot allocate all claims",
        also=("ResourceClaim", "DRA", "dynamic resource allocation", "DynamicResources", "ResourceSlice"),
        means="The node has no free devices that fulfil all of the pod's ResourceClaims together.",
        rule=("A device is in use once it is allocated to a claim, even while that claim's pod is ending.",),
        commands=(_EXPLAIN, "kubectl get resourceslices"),
        source=(_PLUGIN, "KEP-4381"),
        see=("resourceclaim not available on the node", "invalid resource pools were encountered"),
    ),
    Entry(
        name="resourceclaim not available on the node",
        also=("claim allocation not found for node",),
        means="The claim is already allocated, and its devices are not on this node.",
        rule=("If no pod has it reserved, the scheduler releases the devices and tries again.",),
        commands=(_EXPLAIN,),
        source=(_PLUGIN,),
        see=("no new claims to deallocate",),
    ),
    Entry(
        name="invalid resource pools were encountered",
        means="A driver's ResourceSlices of the node are inconsistent or incomplete.",
        do=("See whether the driver is being updated on that node.",),
        commands=("kubectl get resourceslices",),
        source=(_PLUGIN, "KEP-4381"),
    ),
    Entry(
        name="no new claims to deallocate",
        pattern=r"still not schedulable|(deallocation|deletion"
        r"|deallocation and deletion) of .*ResourceClaims? completed"
        r"|ResourceClaim unreserved for PodGroup",
        means="What the scheduler could do about the pod's ResourceClaims when no node fitted. Preemption is separate.",
        rule=(
            "`no new claims to deallocate`: the pod has none. `still not schedulable`: none that could be released.",
            "`... completed`: one was allocated where the pod does not fit, and was released; the pod is tried again.",
        ),
        commands=(_EXPLAIN,),
        source=(_PLUGIN,),
        see=("cannot allocate all claims",),
    ),
    Entry(
        name="waiting for binding conditions",
        pattern=r"waiting for binding conditions for device on node .*|device binding (timeout|failed)(: .*)?",
        means="A device must be prepared on the chosen node before the pod is bound: its driver reports when it is.",
        rule=("If the driver reports a failure, or nothing in time, the scheduler tries another placement.",),
        commands=(_EXPLAIN, "kubectl get resourceclaims"),
        source=(_PLUGIN, "KEP-5007"),
    ),
    Entry(
        name="ResourceClaim cannot be used",
        also=("FailedResourceClaimCreation", "FailedPrepareDynamicResources"),
        pattern=r"request \S+: device class \S+ does not exist|resourceclaim \".*\" is being deleted"
        r"|PodResourceClaim \S+: .*|ResourceClaim (not created yet|\S+ was not created for Pod(Group)? .*)"
        r"|(Failed to )?prepare dynamic resources: .*|NodePrepareResources failed for ResourceClaim .*"
        r"|pod \S+ \(.*\) is not allowed to use ResourceClaim .*",
        means="A ResourceClaim of the pod cannot be created, or its devices not prepared; the text's end says why.",
        do=("Check that claim, template and DeviceClass exist, and that the driver of the device runs on that node.",),
        commands=("kubectl get resourceclaims -n NAMESPACE", _EXPLAIN),
        source=("pkg/controller/resourceclaim/controller.go", "pkg/kubelet/cm/dra/manager.go"),
    ),
)
