"""NodeVolumeLimits: how many volumes a CSI driver attaches to a node.

    limit      allocatable.count of the driver in the node's CSINode; without one there is no limit
    attached   volumes of the driver in use by pods on the node, each counted once, and those attached without a pod
    new        volumes of the pod, less those already in use on the node
    rejected   attached + new > limit: Unschedulable, node(s) exceed max volume count

    A volume is CSI when its PersistentVolume is; when it is an in-tree one that has moved to CSI, on nodes with a
    CSINode; and when its claim is unbound, by its class's provisioner.

PreFilter skips pods without claims and without in-tree volumes that have moved. In a pod on a node, a claim that is
missing counts for nothing; in the pod to place, UnschedulableAndUnresolvable.

Source: pkg/scheduler/framework/plugins/nodevolumelimits/{csi,utils}.go at v1.36.3; gate VolumeLimitScaling is off.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray

from podrules.api.csi_translation import (
    MIGRATED_PROVISIONERS,
    NOT_SWITCHED_ON_PROVISIONERS,
    TranslationError,
    in_tree_plugin,
    is_inline_migratable,
    translate_inline,
    translate_volume,
)
from podrules.api.model.base import Model
from podrules.api.model.pod import Pod
from podrules.api.model.snapshot import ClusterSnapshot
from podrules.api.model.storage import PersistentVolumeClaim
from podrules.scheduling.scheduler.framework.answers import SKIP, SUCCESS, Code, Fact, Status
from podrules.scheduling.scheduler.framework.interface import (
    CycleContext,
    PreFilterResult,
    Verdicts,
    WithoutState,
    all_fit,
)
from podrules.scheduling.scheduler.framework.node_table import NodeTable
from podrules.scheduling.scheduler.plugins.volume_binding.storage_index import (
    StorageIndex,
    claim_class,
    claim_reference,
    is_owned,
    not_found,
    not_owned,
    storage_index,
)

REASON_MAX_VOLUME_COUNT_EXCEEDED: Final = "node(s) exceed max volume count"

Rows = NDArray[np.int32]
Volumes = Mapping[str, str]
"""Unique name (driver and handle) to driver."""


class DriverVolumes(Model, frozen=True):
    """A driver's volumes on a node."""

    driver: str
    limit: int
    attached: int
    added: int
    """What the pod would add."""


class _VolumesError(ValueError):
    """A pod's volumes cannot be determined."""

    def __init__(self, text: str, code: Code = Code.ERROR) -> None:
        super().__init__(text)
        self.code = code


class AttachedVolumes(Struct, frozen=True):
    """Volumes in use or attached, on nodes that have a CSINode."""

    counts: Mapping[str, NDArray[np.int64]]
    """Driver to a number for each row."""
    rows: Mapping[str, Rows]
    """Unique name of a volume to the rows of the pods that use it."""
    problems: Mapping[int, str]
    """Rows with a pod with volumes that cannot be determined."""


class VolumeLimit(Fact, frozen=True):
    """NodeVolumeLimits: a driver that can attach no more volumes."""

    driver: str
    attached: int
    added: int
    limit: int


class NodeVolumeLimits:
    """The plugin."""

    name = "NodeVolumeLimits"
    fact_types = (VolumeLimit,)
    without_pre_filter = WithoutState.NOT_NEEDED

    def pre_filter(self, context: CycleContext) -> PreFilterResult:
        """Skip pods without volumes that a CSI driver may attach."""
        return PreFilterResult() if may_have_csi_volumes(context.pod) else PreFilterResult(SKIP)

    def filter(self, context: CycleContext, state: None) -> Verdicts:
        """Judge nodes with a CSINode, and the others, where in-tree volumes have not moved."""
        del state
        table, index = context.table, storage_index(context)
        codes = np.zeros(len(table), np.int8)
        texts: dict[int, str] = {}
        with_csi = np.zeros(len(table), np.bool_)
        with_csi[list(index.csi_nodes)] = True
        for rows, migrated in ((with_csi, True), (~with_csi, False)):
            try:
                new = _pod_volumes(index, context.pod, migrated=migrated, must_exist=True)
            except _VolumesError as error:
                codes[rows] = error.code
                texts |= dict.fromkeys(np.flatnonzero(rows).tolist(), str(error))
                continue
            if new and migrated:
                self._judge_limits(context, new, codes, texts)
            # Upstream asks for the drivers first, and ends there.
            if required := _required_drivers(context, new):
                for row in np.flatnonzero(rows).tolist():
                    if driver := _missing_driver(index, row, required):
                        codes[row], texts[row] = Code.UNSCHEDULABLE, _not_installed(driver)
        if not codes.any():
            return all_fit(table)
        return Verdicts(codes, lambda row: (texts.get(row, REASON_MAX_VOLUME_COUNT_EXCEEDED),))

    def explain(self, context: CycleContext, state: None, row: int) -> tuple[DriverVolumes, ...]:
        """The drivers of the pod's volumes that have a limit on a node."""
        del state
        index = storage_index(context)
        new = _pod_volumes(index, context.pod, migrated=row in index.csi_nodes, must_exist=True)
        limits, attached = index.derived(_limits), _attached(context)
        nothing = np.zeros(len(context.table), np.int64)
        return tuple(
            DriverVolumes(
                driver=driver,
                limit=int(limits[driver][row]),
                attached=int(attached.counts.get(driver, nothing)[row]),
                added=int(_added(attached, new, driver, len(context.table))[row]),
            )
            for driver in dict.fromkeys(new.values())
            if driver in limits and limits[driver][row] != _NO_LIMIT
        )

    def facts(self, context: CycleContext, state: None, row: int) -> Iterator[Fact]:
        """The drivers that can attach no more."""
        for entry in self.explain(context, state, row):
            if entry.added and entry.attached + entry.added > entry.limit:
                yield VolumeLimit(entry.driver, entry.attached, entry.added, entry.limit)

    def on_node(self, context: CycleContext, state: None, row: int, pods: Sequence[Pod]) -> VolumesOnNode:
        """The volumes of a row's node."""
        del state
        index = storage_index(context)
        limits = {
            driver: int(limit[row]) for driver, limit in index.derived(_limits).items() if limit[row] != _NO_LIMIT
        }
        found = VolumesOnNode(index, limits, index.derived(_attachments_by_row).get(row, {}))
        try:
            new = _pod_volumes(index, context.pod, migrated=row in index.csi_nodes, must_exist=True)
        except _VolumesError as error:
            return replace(found, rejection=Status(error.code, (str(error),)))
        if driver := _missing_driver(index, row, _required_drivers(context, new)):
            return replace(found, rejection=Status(Code.UNSCHEDULABLE, (_not_installed(driver),)))
        if not (new and limits):
            return found
        volumes = tuple(_volumes_or_problem(index, pod) for pod in pods if pod.spec.volumes)
        return replace(found, new=new, pods=volumes)

    def _judge_limits(
        self, context: CycleContext, new: Volumes, codes: NDArray[np.int8], texts: dict[int, str]
    ) -> None:
        limits, attached = storage_index(context).derived(_limits), _attached(context)
        nothing = np.zeros(len(codes), np.int64)
        for driver in dict.fromkeys(new.values()):
            if driver in limits:
                added = _added(attached, new, driver, len(codes))
                total = attached.counts.get(driver, nothing) + added
                exceeded = (limits[driver] != _NO_LIMIT) & (added > 0) & (total > limits[driver])
                codes[exceeded] = Code.UNSCHEDULABLE
        for row, text in attached.problems.items():
            if any(limit[row] != _NO_LIMIT for limit in limits.values()):
                codes[row], texts[row] = Code.ERROR, text


_NO_LIMIT: Final = -1


class VolumesOnNode(Struct, frozen=True):
    """The volumes of one node's pods, which count where the pod has new ones and the node has limits."""

    index: StorageIndex
    limits: Mapping[str, int]
    """By driver."""
    attachments: Volumes
    """What is attached, with or without a pod."""
    new: Volumes = {}
    """The pod's."""
    pods: tuple[Volumes | str, ...] = ()
    """For each pod with volumes, those that have a driver, or why they are not known."""
    rejection: Status = SUCCESS
    """The pod's own volumes cannot be determined, or the node lacks their driver."""

    def add_pod(self, pod: Pod) -> VolumesOnNode:
        """With the pod's volumes."""
        if not (self.new and pod.spec.volumes):
            return self
        return replace(self, pods=(*self.pods, _volumes_or_problem(self.index, pod)))

    def remove_pod(self, pod: Pod) -> VolumesOnNode:
        """Without the pod's volumes."""
        if not (self.new and pod.spec.volumes):
            return self
        pods = list(self.pods)
        pods.remove(_volumes_or_problem(self.index, pod))
        return replace(self, pods=tuple(pods))

    def status(self) -> Status:
        """Whether the new volumes keep within the limits."""
        if not self.rejection.ok or not self.new:
            return self.rejection
        used: dict[str, str] = {}
        for volumes in self.pods:
            if isinstance(volumes, str):
                return Status(Code.ERROR, (volumes,))
            used |= volumes
        attached = Counter({**self.attachments, **used}.values())
        added = Counter(driver for name, driver in self.new.items() if name not in used)
        exceeded = (attached[driver] + added[driver] > limit for driver, limit in self.limits.items() if added[driver])
        return Status(Code.UNSCHEDULABLE, (REASON_MAX_VOLUME_COUNT_EXCEEDED,)) if any(exceeded) else SUCCESS


def _required_drivers(context: CycleContext, new: Volumes) -> tuple[str, ...]:
    """Drivers of the pod's volumes that their CSIDriver requires on the node (checkCSIDriverOnNode, since 1.37)."""
    if not context.features.volume_limit_scaling:
        return ()
    drivers = storage_index(context).drivers
    return tuple(
        name
        for name in dict.fromkeys(new.values())
        if name in drivers and drivers[name].spec.prevent_pod_scheduling_if_missing
    )


def _missing_driver(index: StorageIndex, row: int, required: Sequence[str]) -> str:
    """The first of the drivers that a node does not have; empty: it has them."""
    if not required:
        return ""
    node = index.csi_nodes.get(row)
    installed = {entry.name for entry in node.spec.drivers} if node is not None else set()
    return next((name for name in required if name not in installed), "")


def _not_installed(driver: str) -> str:
    return f"{driver} CSI driver is not installed on the node"


def _volumes_or_problem(index: StorageIndex, pod: Pod) -> Volumes | str:
    try:
        return _pod_volumes(index, pod, migrated=True, must_exist=False)
    except _VolumesError as error:
        return str(error)


def may_have_csi_volumes(pod: Pod) -> bool:
    """Whether a pod has volumes that can be a CSI driver's."""
    return any(claim_reference(pod, volume) or is_inline_migratable(volume) for volume in pod.spec.volumes)


def _attached(context: CycleContext) -> AttachedVolumes:
    return context.table.derived_with(context.snapshot, attached_volumes)


def _added(attached: AttachedVolumes, new: Volumes, driver: str, size: int) -> NDArray[np.int64]:
    """For each row the pod's volumes of a driver that no pod there uses yet."""
    names = [name for name, owner in new.items() if owner == driver]
    added = np.full(size, len(names), np.int64)
    for name in names:
        if name in attached.rows:
            added[attached.rows[name]] -= 1
    return added


def _limits(index: StorageIndex) -> Mapping[str, NDArray[np.int64]]:
    """Driver to the limit on each row (getVolumeLimits)."""
    limits: dict[str, NDArray[np.int64]] = {}
    for row, node in index.csi_nodes.items():
        for driver in node.spec.drivers:
            if driver.allocatable is not None and driver.allocatable.count is not None:
                limit = limits.setdefault(driver.name, np.full(len(index.nodes), _NO_LIMIT, np.int64))
                limit[row] = driver.allocatable.count
    return limits


def attached_volumes(table: NodeTable, snapshot: ClusterSnapshot) -> AttachedVolumes:
    """What is in use by bound pods, or attached: ask by `NodeTable.beside`."""
    index = table.nodes.derived_with(snapshot, StorageIndex)
    holders = table.pods.only(may_have_csi_volumes)
    used: dict[tuple[int, str], str] = {}
    problems: dict[int, str] = {}
    for pod, row in zip(holders, holders.rows.tolist(), strict=True):
        if row not in index.csi_nodes:
            continue
        try:
            volumes = _pod_volumes(index, pod, migrated=True, must_exist=False)
        except _VolumesError as error:
            problems.setdefault(row, str(error))
            continue
        for name, driver in volumes.items():
            used[row, name] = driver
    rows: dict[str, list[int]] = {}
    for row, name in used:
        rows.setdefault(name, []).append(row)
    by_driver: dict[str, list[int]] = {}
    for (row, _), driver in ({**_attachments(index), **used}).items():
        by_driver.setdefault(driver, []).append(row)
    return AttachedVolumes(
        {driver: np.bincount(found, minlength=len(table)) for driver, found in by_driver.items()},
        {name: np.array(found, np.int32) for name, found in rows.items()},
        problems,
    )


def _attachments(index: StorageIndex) -> dict[tuple[int, str], str]:
    """Row and unique name of volumes that VolumeAttachments speak of (getNodeVolumeAttachmentInfo)."""
    found: dict[tuple[int, str], str] = {}
    for attachment in index.attachments:
        spec = attachment.spec
        volume = index.volumes.get(spec.source.persistent_volume_name or "")
        row = index.nodes.rows.get(spec.node_name)
        if spec.attacher and volume is not None and volume.spec.csi is not None and row is not None:
            found[row, _unique(spec.attacher, volume.spec.csi.volume_handle)] = spec.attacher
    return found


def _attachments_by_row(index: StorageIndex) -> Mapping[int, Volumes]:
    found: dict[int, dict[str, str]] = {}
    for (row, name), driver in _attachments(index).items():
        found.setdefault(row, {})[name] = driver
    return found


def _unique(driver: str, handle: str) -> str:
    return f"{driver}/{handle}"


def _pod_volumes(index: StorageIndex, pod: Pod, *, migrated: bool, must_exist: bool) -> Volumes:
    """A pod's CSI volumes (filterAttachableVolumes).

    Raises:
        _VolumesError: a claim is missing that must exist, is another pod's, or a volume has no CSI form.
    """
    found: dict[str, str] = {}
    for volume in pod.spec.volumes:
        reference, source = claim_reference(pod, volume), None
        if reference is None and migrated:
            try:
                inline = translate_inline(volume)
            except TranslationError as error:
                raise _VolumesError(f"converting volume({volume.name}) from inline to csi: {error}") from error
            source = None if inline is None else (inline.driver, inline.volume_handle)
        elif reference is not None:
            if not reference.name:
                raise _VolumesError("PersistentVolumeClaim had no name")
            namespace = pod.metadata.namespace
            claim = index.claims.get((namespace, reference.name))
            if claim is None and must_exist:
                problem = not_found("persistentvolumeclaim", reference.name)
                text = f"looking up PVC {namespace}/{reference.name}: {problem}"
                raise _VolumesError(text, Code.UNSCHEDULABLE_AND_UNRESOLVABLE)
            if claim is not None and reference.ephemeral and not is_owned(claim, pod):
                raise _VolumesError(not_owned(claim, pod))
            source = None if claim is None else _claim_source(index, claim, migrated=migrated)
        if source is not None:
            found[_unique(*source)] = source[0]
    return found


def _claim_source(index: StorageIndex, claim: PersistentVolumeClaim, *, migrated: bool) -> tuple[str, str] | None:
    """Driver and handle of a claim's volume, existing or to be made (getCSIDriverInfo)."""
    volume = index.volumes.get(claim.spec.volume_name)
    if volume is None:
        # The class's driver, and a handle that no volume has (getCSIDriverInfoFromSC).
        found = index.classes.get(claim_class(claim))
        driver = "" if found is None else found.provisioner
        if not driver or driver in NOT_SWITCHED_ON_PROVISIONERS or (driver in MIGRATED_PROVISIONERS and not migrated):
            return None
        return MIGRATED_PROVISIONERS.get(driver, driver), f"\0{claim.metadata.namespace}/{claim.metadata.name}"
    source = volume.spec.csi
    if source is None:
        if not migrated or in_tree_plugin(volume.spec) is None:
            return None
        try:
            source = translate_volume(volume).spec.csi
        except TranslationError:
            return None
    return (source.driver, source.volume_handle) if source and source.driver and source.volume_handle else None
