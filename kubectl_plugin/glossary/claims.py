"""Claims that wait for a volume."""

from __future__ import annotations

from typing import Final

from kubectl_plugin.glossary.entry import Entry

_CLAIM: Final = "kubectl describe pvc NAME"
_CONTROLLER: Final = "pkg/controller/volume/persistentvolume/pv_controller.go"

ENTRIES: Final = (
    Entry(
        name="WaitForFirstConsumer",
        also=("volumeBindingMode", "waiting for first consumer to be created before binding"),
        pattern=r"waiting for pods? .* to be scheduled",
        means=(
            "The claim is bound only once the scheduler has chosen a node for a pod that uses it. That is normal, "
            "unless the pod has spec.nodeName: it bypasses the scheduler, and the claim stays unbound."
        ),
        do=(
            "If the pod is pending, check the pod; without a pod, nothing needs to be done.",
            "If the pod has spec.nodeName, replace it by nodeSelector kubernetes.io/hostname.",
        ),
        commands=("kubectl qos explain pod/NAME", _CLAIM),
        source=(_CONTROLLER,),
        see=("FailedScheduling", "pod has unbound immediate PersistentVolumeClaims"),
    ),
    Entry(
        name="FailedBinding",
        also=("no persistent volumes available for this claim and no storage class is set",),
        means="No PersistentVolume fits the claim, and without a StorageClass none is created for it.",
        rule=("It waits until a volume of its size, access mode and labels appears.",),
        do=("Name a StorageClass in the claim, mark one as default, or create a PersistentVolume.",),
        commands=(_CLAIM, "kubectl get storageclass"),
        source=(_CONTROLLER,),
        see=("pod has unbound immediate PersistentVolumeClaims",),
    ),
    Entry(
        name="ExternalProvisioning",
        also=("Provisioning",),
        pattern=r"Waiting for a volume to be created,? either by (the )?external provisioner .*",
        means="The claim waits until the driver of its StorageClass creates a volume: seconds are usual, minutes not.",
        do=("Check whether the driver's controller runs, and read its log.",),
        commands=(_CLAIM,),
        source=(_CONTROLLER,),
        see=("ProvisioningFailed",),
    ),
    Entry(
        name="ProvisioningFailed",
        pattern=r"(Failed to provision volume with StorageClass|storageclass\.storage\.k8s\.io) \".*\".*"
        r"|Failed to create provisioner: .*|Error creating provisioned PV object for claim .*"
        r"|Mount options are not supported by the provisioner but StorageClass .*",
        means="The driver could not create a volume for the claim; it tries again.",
        rule=("The end of the text is the driver's own: a quota, no room, wrong parameters, a missing class.",),
        commands=(_CLAIM,),
        source=(_CONTROLLER,),
        see=("ExternalProvisioning",),
    ),
    Entry(
        name="VolumeMismatch",
        also=("ClaimMisbound", "PVC is not bound"),
        pattern=r"Cannot bind (to requested volume|PersistentVolume) .*"
        r"|volume \".*\" already bound to a different claim\."
        r"|Two claims are bound to the same volume, this one is bound incorrectly"
        r"|found PV object .* pv\.Spec\.ClaimRef.*"
        r"|volume \S+ has volumeMode \S+, but is specified in volume\w+",
        means="The claim and the volume that it names do not match: different size, mode, class, or another claim.",
        do=("Correct volumeName or volumeMode; without claimRef a Released volume gives its data to the next claim.",),
        commands=(_CLAIM, "kubectl get pv"),
        source=(_CONTROLLER, "pkg/kubelet/volumemanager/populator/desired_state_of_world_populator.go"),
    ),
    Entry(
        name="ClaimLost",
        also=("Lost",),
        pattern=r"Bound claim has lost .*",
        means="The PersistentVolume to which the claim is bound does not exist any more, or never existed.",
        rule=("The claim stays Lost; it is not bound to another volume.",),
        do=("Restore the PersistentVolume if its disk still exists, else recreate the claim, which is empty then.",),
        commands=(_CLAIM,),
        source=(_CONTROLLER,),
        see=("claim without its volume",),
    ),
)
