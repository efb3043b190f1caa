"""The progress of a volume from one node to another: stop, detach, attach, start.

    stop    a pod on another node still uses it: its object exists, and not all its containers have ended
    detach  no pod uses it there, but it is attached. The attach/detach controller waits until that node's kubelet has
            unmounted it (status.volumesInUse); from a node that is not Ready it detaches by force 6 min after the pod
            object was gone, unless force detach is disabled; with taint node.kubernetes.io/out-of-service at once
    attach  it is not in use elsewhere: the driver attaches it to the pod's node
    start   it is attached: the kubelet mounts it and starts the containers

A volume for several nodes (ReadWriteMany, ReadOnlyMany, or without an access mode) does not wait. A volume without
attachment (NFS, hostPath, CSI without attachment) has only the last step: it does not wait, and nothing prevents two
writers.

An in-tree disk counts as a volume of the CSI driver that replaced its plugin (`csi_translation`). iSCSI and FC have no
driver: the controller writes an attached volume into status.volumesAttached of the node, and removes it when it
detaches, without an effect on the node. There is no VolumeAttachment.

The controller counts the 6 min in memory, from when it first finds the volume unused: a restart starts again. If the
driver fails to detach, neither force nor the out-of-service taint helps.

Source: pkg/controller/volume/attachdetach/reconciler/reconciler.go (reconcile, attachDesiredVolumes),
attach_detach_controller.go (DefaultTimerConfig), pkg/volume/util/util.go (IsMultiAttachAllowed, IsPodTerminated) at
v1.36.3; pkg/volume/{iscsi,fc} (GetVolumeName, Attach, Detach).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from enum import Enum
from typing import Any, Final

from msgspec import Struct

from podrules.api.csi_translation import csi_source
from podrules.api.model.instant import instant, later
from podrules.api.model.node import Node
from podrules.api.model.pod import ContainerStatus, Pod
from podrules.api.model.storage import PersistentVolume, PersistentVolumeSpec, Volume, VolumeAttachment
from podrules.ending.deleted_pod import deleted_at
from podrules.ending.volumes import is_multi_attach_allowed
from podrules.node.lost_node import collected_within
from podrules.node.reachability import NodeReach, Reach
from podrules.workload.safety import Guarantee, owner_guarantee

FORCE_DETACH_AFTER: Final = timedelta(minutes=6)
"""ReconcilerMaxWaitForUnmountDuration."""
_CSI: Final = "kubernetes.io/csi/"


class MoveStep(Enum):
    """The next step."""

    STOP = "Stop"
    DETACH = "Detach"
    ATTACH = "Attach"
    START = "Start"


class WaitsFor(Enum):
    """The component that has to do the next step."""

    USER = "Somebody"
    """The pod that uses it has not been deleted."""
    KUBELET = "Kubelet"
    """The kubelet of the node in use stops processes, or unmounts."""
    SILENT_KUBELET = "SilentKubelet"
    """The same for a node that does not respond: the wait has no end."""
    POD_GC = "PodGC"
    """Pod garbage collection removes the objects that use it, even if containers still run."""
    FORCE_DETACH = "ForceDetach"
    """The controller's 6 min."""
    DRIVER = "Driver"
    """The CSI driver attaches or detaches."""
    CONTROLLER = "Controller"
    """The attach/detach controller does it for volumes without a driver: iSCSI and FC."""
    OWN_KUBELET = "OwnKubelet"
    """The kubelet of the pod's node mounts and starts."""


class VolumePosition(Struct, frozen=True, rename="camel"):
    """The progress of one volume of a pod."""

    volume: str
    """The name in the pod."""
    claim: str
    persistent_volume: str
    step: MoveStep
    waits_for: WaitsFor
    node: str
    """The node of this step."""
    held_by: tuple[str, ...] = ()
    """The pods on it that use the volume: ``db-1``, or ``data/db-1`` in another namespace."""
    since: datetime | None = None
    """The start of this step; None: the API does not show it."""
    error: str = ""
    """The driver's last error."""
    reach: Reach = Reach.UNKNOWN
    """Whether the node that has to stop or detach responds."""
    rollout: bool = False
    """Whether a pod of an older ReplicaSet of the same Deployment uses it, and has not been deleted."""
    forced_by: datetime | None = None
    """The latest time of its forced detach; None: not known."""
    collected_by: datetime | None = None
    """When pod garbage collection should have removed the object that uses it; None: it does not, or unknown."""


class VolumeFacts(Struct, frozen=True, kw_only=True):
    """The input of the rule for one volume."""

    name: str
    """The name in the pod."""
    claim: str
    volume: PersistentVolume
    attachable: bool
    """Whether the controller attaches it: iSCSI, FC, and CSI unless its CSIDriver says attachRequired: false."""
    attachments: Sequence[VolumeAttachment]
    """The VolumeAttachments of this volume, to any node."""
    attached_to: frozenset[str] = frozenset()
    """Nodes with the volume in status.volumesAttached; not read if VolumeAttachments show it."""
    users: Sequence[Pod]
    """All pods that use the claim, including the pod itself."""
    mounted_on: frozenset[str]
    """Nodes with the volume in status.volumesInUse."""
    collected_by: Mapping[str, datetime | None] = {}
    """When pod garbage collection should have removed the objects of users, by name."""


def is_pod_terminated(pod: Pod) -> bool:
    """Whether volumes of a pod may be detached: none of its containers still runs (IsPodTerminated)."""
    statuses = (*pod.status.init_container_statuses, *pod.status.container_statuses)
    stopped = all(status.state.running is None for status in statuses)
    return pod.finished or (pod.metadata.deletion_timestamp is not None and stopped)


def detached_after(reach: Reach) -> timedelta | None:
    """The time from the removal of a pod's object to the detach of its volumes; None: its kubelet unmounts first.

    Args:
        reach: Whether the pod's node responds.
    """
    if reach.declared:
        return timedelta()
    return FORCE_DETACH_AFTER if reach.quiet else None


def is_in_use(volume: PersistentVolume, node: Node | None) -> bool:
    """Whether a volume may be mounted on a node; not if the status shows it as attached and not in use."""
    name, attached = unique_volume_name(volume), node.status.volumes_attached if node is not None else ()
    return node is None or name in node.status.volumes_in_use or name not in {entry.name for entry in attached}


def unique_volume_name(volume: PersistentVolume | Volume) -> str:
    """The name of an attachable volume in node statuses, empty for others (GetUniqueVolumeName)."""
    csi, spec = csi_source(volume), volume.spec if isinstance(volume, PersistentVolume) else volume
    if csi is not None:
        return f"{_CSI}{csi.driver}^{csi.volume_handle}"
    if spec.iscsi is not None:
        return f"kubernetes.io/iscsi/{spec.iscsi.target_portal}:{spec.iscsi.iqn}:{spec.iscsi.lun}"
    if spec.fc is not None and spec.fc.target_wwns and spec.fc.lun is not None:
        return f"kubernetes.io/fc/[{' '.join(spec.fc.target_wwns)}]:{spec.fc.lun}"
    return f"kubernetes.io/fc/[{' '.join(spec.fc.wwids)}]" if spec.fc is not None else ""


def attached_volumes(
    name: str, node: Node | None, attachments: Iterable[VolumeAttachment], volumes: Iterable[PersistentVolume]
) -> Mapping[str, str]:
    """The volumes attached to a node: the PersistentVolume, with its VolumeAttachment, which iSCSI and FC do not have.

    The status of the node also names CSI volumes. A volume without a known PersistentVolume appears with that name.

    Args:
        name: The name of the node.
        node: Its object; None: it does not exist.
        attachments: The VolumeAttachments of all nodes.
        volumes: The PersistentVolumes that were read.
    """
    names = {unique: volume.metadata.name for volume in volumes if (unique := unique_volume_name(volume))}
    found: dict[str, str] = {}
    here = [(entry.spec.source, entry) for entry in attachments if entry.spec.node_name == name]
    for source, entry in here:
        # A disk without a claim has no PersistentVolume: the status has its CSI name.
        disk = unique_volume_name(PersistentVolume(spec=source.inline_volume_spec or PersistentVolumeSpec()))
        found[source.persistent_volume_name or disk or entry.metadata.name] = entry.metadata.name
    # A VolumeAttachment with a volume that the status does not name explains the driver's volumes in the status.
    listed = node.status.volumes_attached if node is not None else ()
    known = {names.get(attached.name) for attached in listed}
    nameless = tuple(
        f"{_CSI}{entry.spec.attacher}^"
        for source, entry in here
        if source.inline_volume_spec is None and source.persistent_volume_name not in known
    )
    for attached in listed:
        if attached.name in names or not attached.name.startswith(nameless):
            found.setdefault(names.get(attached.name, attached.name), "")
    return found


def volume_position(pod: Pod, facts: VolumeFacts, reach: Iterable[NodeReach]) -> VolumePosition | None:
    """The progress of a volume to the pod, or away from a leaving pod; None: it is in place.

    Args:
        pod: A pod that is bound to a node.
        facts: One of its volumes.
        reach: Whether the involved nodes respond.
    """
    nodes = {entry.name: entry for entry in reach}
    by_node = {name: entry.reach for name, entry in nodes.items()}
    elsewhere = [user for user in facts.users if user.spec.node_name not in {"", pod.spec.node_name}]
    holders = [user for user in elsewhere if not is_pod_terminated(user)]
    waits = facts.attachable and not is_multi_attach_allowed(facts.volume)
    if pod.metadata.deletion_timestamp is not None or by_node.get(pod.spec.node_name, Reach.UNKNOWN).quiet:
        return None if is_pod_terminated(pod) else _stop(pod, facts, [pod], by_node)
    if waits and holders:
        return _stop(pod, facts, holders, by_node)
    attached = {entry.spec.node_name: entry for entry in facts.attachments}
    others = [node for node in (*attached, *sorted(facts.attached_to)) if node != pod.spec.node_name]
    if waits and others:
        return _detach(pod, facts, nodes.get(others[0]) or NodeReach(others[0], Reach.UNKNOWN, ""), attached)
    if has_started(pod):
        return None
    own = attached.get(pod.spec.node_name)
    is_attached = own.status.attached if own is not None else pod.spec.node_name in facts.attached_to
    if facts.attachable and not is_attached:
        made = instant(own.metadata.creation_timestamp) if own is not None else None
        error = own.status.attach_error if own is not None else None
        does = WaitsFor.DRIVER if csi_source(facts.volume) is not None else WaitsFor.CONTROLLER
        text = error.message if error is not None else ""
        return _position(facts, MoveStep.ATTACH, does, pod.spec.node_name, since=made, error=text)
    return _position(facts, MoveStep.START, WaitsFor.OWN_KUBELET, pod.spec.node_name)


def _stop(pod: Pod, facts: VolumeFacts, holders: Sequence[Pod], by_node: dict[str, Reach]) -> VolumePosition:
    """The stop of the first holder that is not being deleted, else of the one that was deleted last."""
    holder = max(holders, key=lambda user: (user.metadata.deletion_timestamp is None, deleted_at(user)))
    node, deleted = holder.spec.node_name, deleted_at(holder)
    waits = WaitsFor.USER if deleted is None else WaitsFor.KUBELET
    reach = by_node.get(node, Reach.UNKNOWN)
    if collected_within(reach, deleted=deleted is not None) is not None:
        waits = WaitsFor.POD_GC
    elif reach.quiet and reach is not Reach.OUT_OF_SERVICE:
        waits = WaitsFor.SILENT_KUBELET
    own = pod.metadata.namespace
    there = [user.metadata for user in holders if user.spec.node_name == node]
    names = tuple(meta.name if meta.namespace == own else f"{meta.namespace}/{meta.name}" for meta in there)
    due = facts.collected_by.get(holder.metadata.name)
    rollout = deleted is None and _is_older(holder, pod)
    more = {"since": deleted, "reach": reach, "rollout": rollout, "collected_by": due}
    return _position(facts, MoveStep.STOP, waits, node, held_by=names, **more)


def _is_older(holder: Pod, pod: Pod) -> bool:
    """Whether a pod belongs to another ReplicaSet of the same Deployment: they are named ``DEPLOYMENT-HASH``."""
    one, other = holder.metadata.controller, pod.metadata.controller
    if one is None or other is None or one.name == other.name or {one.kind, other.kind} != {"ReplicaSet"}:
        return False
    return one.name.rpartition("-")[0] == other.name.rpartition("-")[0]


def _detach(pod: Pod, facts: VolumeFacts, on: NodeReach, held_by: Mapping[str, VolumeAttachment]) -> VolumePosition:
    node, reach, held = on.name, on.reach, held_by.get(on.name)
    if held is not None and held.metadata.deletion_timestamp is not None:
        since, error = instant(held.metadata.deletion_timestamp), held.status.detach_error
        text = error.message if error is not None else ""
        return _position(facts, MoveStep.DETACH, WaitsFor.DRIVER, node, since=since, error=text, reach=reach)
    # With the out-of-service taint the detach does not wait, even if the node is back. For a node that is gone, its
    # mounted volumes are not known.
    if reach.declared or (node not in facts.mounted_on and reach is not Reach.GONE):
        return _position(facts, MoveStep.DETACH, WaitsFor.CONTROLLER, node, reach=reach)
    does = WaitsFor.FORCE_DETACH if reach.quiet else WaitsFor.KUBELET
    forced = forced_by(pod, facts.claim, on)
    return _position(facts, MoveStep.DETACH, does, node, reach=reach, forced_by=forced)


def forced_by(pod: Pod, claim: str, node: NodeReach) -> datetime | None:
    """The latest time of the forced detach of a volume from a silent node, for a waiting pod; None: unknown.

    A StatefulSet creates a pod once the last one of its name is gone: its own claim is unused at least since then.
    """
    own = owner_guarantee(pod).guarantee is Guarantee.AT_MOST_ONE and claim.endswith(f"-{pod.metadata.name}")
    made = instant(pod.metadata.creation_timestamp) if own else None
    if made is None or node.reach not in {Reach.SILENT, Reach.GONE}:
        return None
    forced = later(made, FORCE_DETACH_AFTER.total_seconds())
    return max(forced, node.since or forced)


def _position(facts: VolumeFacts, step: MoveStep, waits_for: WaitsFor, node: str, **more: Any) -> VolumePosition:
    return VolumePosition(facts.name, facts.claim, facts.volume.metadata.name, step, waits_for, node, **more)


def has_started(pod: Pod) -> bool:
    """Whether any container runs or ran: volumes are mounted before that."""
    statuses: tuple[ContainerStatus, ...] = (*pod.status.init_container_statuses, *pod.status.container_statuses)
    return any(status.state.running or status.state.terminated or status.last_state.terminated for status in statuses)
