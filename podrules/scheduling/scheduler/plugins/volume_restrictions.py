"""VolumeRestrictions: disks that one node can mount for one pod only, and claims for a single pod.

    node(s) had no available disk (Unschedulable), when a pod on the node has the same
      gcePersistentDisk     pdName, unless both read only
      awsElasticBlockStore  volumeID
      iscsi                 iqn, unless both read only
      rbd                   pool and image and one of the monitors, unless both read only
    ReadWriteOncePod (Unschedulable): a bound pod of the namespace uses a claim of the pod that has this access mode

PreFilter rejects a pod if its claim does not exist, and skips Filter when there is nothing to check.

Source: pkg/scheduler/framework/plugins/volumerestrictions/volume_restrictions.go at v1.36.3.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from podrules.api.model.base import Model
from podrules.api.model.pod import Pod, PodReference, reference
from podrules.api.model.storage import READ_WRITE_ONCE_POD
from podrules.scheduling.scheduler.framework.answers import SKIP, SUCCESS, Code, Fact, Status
from podrules.scheduling.scheduler.framework.interface import (
    AppliedChange,
    CycleContext,
    PreFilterResult,
    S,
    Verdicts,
    pods_removed,
)
from podrules.scheduling.scheduler.framework.node_table import BoundPods
from podrules.scheduling.scheduler.plugins.volume_binding.storage_index import not_found, storage_index

REASON_DISK_CONFLICT: Final = "node(s) had no available disk"
REASON_READ_WRITE_ONCE_POD: Final = (
    "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use by another pod"
)


class Disk(NamedTuple):
    """A disk as far as conflicts go."""

    identity: tuple[str, ...]
    """Kind and name; for rbd pool and image."""
    read_only: bool
    monitors: frozenset[str] | None = None
    """Of rbd: disks with none in common are different ones."""

    def conflicts(self, other: Disk) -> bool:
        """Whether the two, equal in identity, cannot be mounted together (isVolumeConflict)."""
        if self.read_only and other.read_only:
            return False
        return self.monitors is None or other.monitors is None or not self.monitors.isdisjoint(other.monitors)


class DiskUse(NamedTuple):
    """A disk of a bound pod."""

    disk: Disk
    pod: int
    """Index among the pods that have disks."""


class RestrictionState(Struct, frozen=True):
    """What PreFilter found."""

    disks: tuple[Disk, ...]
    claims: tuple[str, ...]
    """The pod's ReadWriteOncePod claims that are in use."""
    restricted: frozenset[str]
    """All of them, in use or not."""


class DiskConflict(Model, frozen=True):
    """A disk that a pod on the node holds."""

    kind: str
    disk: str
    namespace: str
    pod: str


class VolumeRestrictionsValues(Model, frozen=True):
    """What stands in the way on a node."""

    disks: tuple[DiskConflict, ...]
    claims: tuple[str, ...]
    """ReadWriteOncePod claims in use."""


class DiskInUse(Fact, frozen=True):
    """VolumeRestrictions: a disk, or a ReadWriteOncePod claim, that other pods hold."""

    disk: str
    by: tuple[PodReference, ...]


class VolumeRestrictions:
    """The plugin."""

    name = "VolumeRestrictions"
    fact_types = (DiskInUse,)
    without_pre_filter = 'cannot read "PreFilterVolumeRestrictions" from cycleState'

    def pre_filter(self, context: CycleContext) -> PreFilterResult:
        """Find the pod's disks and its claims that are in use."""
        pod = context.pod
        disks = tuple(_disks(pod))
        restricted: dict[str, None] = {}
        index = storage_index(context)
        for name in claim_names(pod):
            claim = index.claims.get((pod.metadata.namespace, name))
            if claim is None:
                text = not_found("persistentvolumeclaim", name)
                return PreFilterResult(Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, (text,)))
            if READ_WRITE_ONCE_POD in claim.spec.access_modes:
                restricted[name] = None
        used = context.table.pods.only(_has_claims).derived(_claims_in_use) if restricted else frozenset()
        claims = tuple(name for name in restricted if (pod.metadata.namespace, name) in used)
        if not (disks or claims):
            return PreFilterResult(SKIP)
        return PreFilterResult(state=RestrictionState(disks, claims, frozenset(restricted)))

    def filter(self, context: CycleContext, state: RestrictionState) -> Verdicts:
        """Judge every node: disks first, then claims, which rule out all nodes."""
        size, holders = len(context.table), context.table.pods.only(_has_disks)
        codes = np.full(size, Code.UNSCHEDULABLE if state.claims else Code.SUCCESS, np.int8)
        taken = np.zeros(size, np.bool_)
        for use in _conflicts(holders, state):
            taken[holders.rows[use.pod]] = True
        codes[taken] = Code.UNSCHEDULABLE
        return Verdicts(codes, lambda row: (REASON_DISK_CONFLICT if taken[row] else REASON_READ_WRITE_ONCE_POD,))

    def explain(self, context: CycleContext, state: RestrictionState, row: int) -> VolumeRestrictionsValues:
        """The disks that pods on a node hold, and the claims in use."""
        holders = context.table.pods.only(_has_disks)
        found = [
            DiskConflict(
                kind=use.disk.identity[0],
                disk="/".join(use.disk.identity[1:]),
                namespace=holders[use.pod].metadata.namespace,
                pod=holders[use.pod].metadata.name,
            )
            for use in _conflicts(holders, state)
            if holders.rows[use.pod] == row
        ]
        return VolumeRestrictionsValues(tuple(found), state.claims)

    def facts(self, context: CycleContext, state: RestrictionState, row: int) -> Iterator[Fact]:
        """The disks and claims that other pods hold."""
        found = self.explain(context, state, row)
        for entry in found.disks:
            yield DiskInUse(f"{entry.kind} {entry.disk}", (PodReference(entry.namespace, entry.pod),))
        for claim in found.claims:
            yield DiskInUse(f"claim {claim}", tuple(map(reference, pods_using_claims(context, (claim,)))))

    def on_node(
        self,
        context: CycleContext,  # noqa: ARG002 - Protocol
        state: RestrictionState,
        row: int,  # noqa: ARG002 - its pods say all
        pods: Sequence[Pod],
    ) -> RestrictionsOnNode:
        """The disks of a row's node, and the claims in use anywhere."""
        disks = tuple(disk for pod in pods for disk in _disks(pod))
        return RestrictionsOnNode(state, disks, len(state.claims))

    def changes(
        self, situation: S, context: CycleContext, state: RestrictionState, row: int
    ) -> Iterator[AppliedChange[S]]:
        """Remove the pods that hold the disk or the claim."""
        found = self.explain(context, state, row)
        names = {(disk.namespace, disk.pod) for disk in found.disks}
        holders = [pod for pod in context.table.pods if (pod.metadata.namespace, pod.metadata.name) in names]
        return pods_removed(situation, row, (*holders, *pods_using_claims(context, found.claims)))


class RestrictionsOnNode(Struct, frozen=True):
    """What the pods of one node hold."""

    state: RestrictionState
    disks: tuple[Disk, ...]
    uses: int
    """How many pods, on all nodes, use the pod's ReadWriteOncePod claims (conflictingPVCRefCount).

    A pod that comes or goes counts by the names of its claims alone, as upstream: also one of another namespace, and
    more than once when it names a claim more than once.
    """

    def add_pod(self, pod: Pod) -> RestrictionsOnNode:
        """With the pod's disks and claims."""
        if not pod.spec.volumes:
            return self
        return replace(self, disks=(*self.disks, *_disks(pod)), uses=self.uses + self._uses_of(pod))

    def remove_pod(self, pod: Pod) -> RestrictionsOnNode:
        """Without the pod's disks and claims."""
        if not pod.spec.volumes:
            return self
        disks = list(self.disks)
        for disk in _disks(pod):
            disks.remove(disk)
        return replace(self, disks=tuple(disks), uses=self.uses - self._uses_of(pod))

    def _uses_of(self, pod: Pod) -> int:
        return sum(name in self.state.restricted for name in claim_names(pod))

    def status(self) -> Status:
        """Whether disks are free, and then claims."""
        for wanted in self.state.disks:
            if any(wanted.identity == disk.identity and wanted.conflicts(disk) for disk in self.disks):
                return Status(Code.UNSCHEDULABLE, (REASON_DISK_CONFLICT,))
        if self.uses > 0:
            return Status(Code.UNSCHEDULABLE, (REASON_READ_WRITE_ONCE_POD,))
        return SUCCESS


def _conflicts(holders: BoundPods, state: RestrictionState) -> Iterator[DiskUse]:
    if not state.disks:
        return
    uses = holders.derived(_disk_uses)
    for disk in state.disks:
        yield from (use for use in uses.get(disk.identity, ()) if disk.conflicts(use.disk))


def pods_using_claims(context: CycleContext, claims: Sequence[str]) -> tuple[Pod, ...]:
    """Bound pods of the pod's namespace that use one of these claims."""
    namespace, wanted = context.pod.metadata.namespace, frozenset(claims)
    return tuple(
        pod
        for pod in context.table.pods
        if pod.metadata.namespace == namespace
        and any(
            volume.persistent_volume_claim is not None and volume.persistent_volume_claim.claim_name in wanted
            for volume in pod.spec.volumes
        )
    )


def claim_names(pod: Pod) -> Iterator[str]:
    """Claims that the pod names; the claims of its ephemeral volumes are its own and not examined."""
    for volume in pod.spec.volumes:
        if volume.persistent_volume_claim is not None:
            yield volume.persistent_volume_claim.claim_name


def _disks(pod: Pod) -> Iterator[Disk]:
    for volume in pod.spec.volumes:
        if (gce := volume.gce_persistent_disk) is not None:
            yield Disk(("gcePersistentDisk", gce.pd_name), gce.read_only)
        if (ebs := volume.aws_elastic_block_store) is not None:
            yield Disk(("awsElasticBlockStore", ebs.volume_id), read_only=False)
        if (iscsi := volume.iscsi) is not None:
            yield Disk(("iscsi", iscsi.iqn), iscsi.read_only)
        if (rbd := volume.rbd) is not None:
            yield Disk(("rbd", rbd.pool, rbd.image), rbd.read_only, frozenset(rbd.monitors))


def _has_disks(pod: Pod) -> bool:
    return any(True for _ in _disks(pod))


def _has_claims(pod: Pod) -> bool:
    return any(True for _ in claim_names(pod))


def _disk_uses(holders: BoundPods) -> Mapping[tuple[str, ...], list[DiskUse]]:
    """Disks of bound pods by identity."""
    found: dict[tuple[str, ...], list[DiskUse]] = {}
    for index, pod in enumerate(holders):
        for disk in _disks(pod):
            found.setdefault(disk.identity, []).append(DiskUse(disk, index))
    return found


def _claims_in_use(pods: BoundPods) -> frozenset[tuple[str, str]]:
    """Namespace and name of the claims of bound pods (Snapshot.IsPVCUsedByPods)."""
    return frozenset((pod.metadata.namespace, name) for pod in pods for name in claim_names(pod))
