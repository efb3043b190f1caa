"""A pod and a cluster, as they are or as they would be, with all that a scheduling cycle needs, and what is missing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from podrules.api.features import Features
from podrules.api.model.base import KubeObject
from podrules.api.model.event import Event
from podrules.api.model.pod import Pod
from podrules.api.model.snapshot import ClusterSnapshot
from podrules.api.model.storage import PersistentVolumeClaim
from podrules.pod.reading import NOT_ALL_IN_FILE, NOT_ASKED, UnreadInput
from podrules.scheduling.placement.device_claims import missing_templates
from podrules.scheduling.placement.outcome import Placement, PlacementOutcome
from podrules.scheduling.scheduler.cycle import FilterResult, filter_nodes
from podrules.scheduling.scheduler.framework.interface import NamedPlugin, PodOnCluster
from podrules.scheduling.scheduler.in_tree import ExtensionPoint
from podrules.scheduling.scheduler.plugins.pod_topology_spread.constraints import DO_NOT_SCHEDULE, PodTopologySpreadArgs
from podrules.scheduling.scheduler.plugins.pod_topology_spread.filtering import NAME as POD_TOPOLOGY_SPREAD
from podrules.scheduling.scheduler.plugins.volume_binding.binder import ANNOTATION_SELECTED_NODE, NO_PROVISIONER
from podrules.scheduling.scheduler.plugins.volume_binding.storage_index import claim_class, claim_reference, is_bound
from podrules.scheduling.scheduler.runtime import Framework
from podrules.workload.evictors import Evictor, going


class Situation(PodOnCluster, frozen=True):
    """A pod, the cluster, and the profile that schedules the pod."""

    framework: Framework
    now: datetime | None
    unread: tuple[UnreadInput, ...] = ()
    """The kinds that a cycle of the pod reads and that could not be read. The snapshot has none of them."""
    is_list: bool = False
    """Whether the objects are of a plain List, which may lack single objects of the kinds that it has."""

    waiting: int = 1
    """How many pods like this one wait for a node, this one included."""
    is_extra: bool = False
    """Whether the pod is one more than its workload wants: what a rollout stops makes no room for it."""
    node_events: Mapping[str, Sequence[Event]] = {}
    """By node, where one is cordoned: a program may have announced that it removes the node."""

    @property
    def may_lack_nodes(self) -> bool:
        """Whether a node may exist that is not in the table."""
        return self.is_list or any(one.resource == "nodes" for one in self.unread)

    @property
    def features(self) -> Features:
        """The rules of the scheduler's version."""
        return self.framework.features

    def going(self, row: int) -> Evictor | None:
        """The program that is about to remove or restart the node of a row."""
        node = self.table.nodes[row]
        return going(node, self.node_events.get(node.metadata.name, ()), self.now)

    def filtered(self) -> FilterResult:
        """Judge every node."""
        return filter_nodes(
            self.pod, self.table, self.snapshot, features=self.features, framework=self.framework, now=self.now
        )


NODES: Final = "nodes"
PODS: Final = "pods"
BUDGETS: Final = "poddisruptionbudgets.policy"
CLAIMS: Final = "persistentvolumeclaims"
VOLUMES: Final = "persistentvolumes"
CLASSES: Final = "storageclasses.storage.k8s.io"
_CSI_NODES: Final = "csinodes.storage.k8s.io"
_CAPACITIES: Final = "csistoragecapacities.storage.k8s.io"
"""VolumeBinding reads them, after all else, for a claim to be provisioned by a driver that tracks its capacity."""
_DEVICE_CLAIMS: Final = "resourceclaims.resource.k8s.io"
_DEVICE_TEMPLATES: Final = "resourceclaimtemplates.resource.k8s.io"
_DEVICE_CLASSES: Final = "deviceclasses.resource.k8s.io"
_SELECTORS: Final = frozenset({"services", "replicationcontrollers", "replicasets.apps", "statefulsets.apps"})
"""Default topology spread constraints take their selectors from them."""
_MAX_NAME: Final = 100
_OF_VOLUMES: Final = frozenset({"VolumeRestrictions", "NodeVolumeLimits", "VolumeBinding", "VolumeZone"})
_JUDGES: Final = {
    PODS: frozenset({"InterPodAffinity"}),
    "namespaces": frozenset({"InterPodAffinity"}),
    _CSI_NODES: frozenset({"NodeVolumeLimits"}),
    _DEVICE_CLAIMS: frozenset({"DynamicResources"}),
    _DEVICE_TEMPLATES: frozenset({"DynamicResources"}),
    "resourceslices.resource.k8s.io": frozenset({"DynamicResources"}),
}
"""The plugins that would reject nodes for what is not there, if the kind counted as empty."""


class MissingKinds(Struct, frozen=True):
    """The kinds that a cycle of a pod reads and that are missing: what can be said without them.

        a kind that was not read   counts as empty: without PodDisruptionBudgets nothing protects a victim, without
                                   other pods' claims their volumes are not counted
        an object that is named    a claim, its volume or class that is not known cannot count as absent: the plugins
                                   that would read it do not judge the pod

    Both only let more nodes fit. So "no node fits" is proved, and "fits" is not. Three kinds are the other way around:
    without nodes no other node is judged, a DeviceClass may stand for an extended resource that no node offers, and a
    CSINode may give an in-tree disk other labels.

    Source: the listers of pkg/scheduler/framework/plugins/* at v1.36.3.
    """

    unread: tuple[UnreadInput, ...] = ()
    hard_spread: bool = False
    """Whether default topology spread constraints reject nodes, and do not only score them."""
    in_tree: bool = False
    """Whether a claim has an in-tree disk: CSINodes say on which nodes it has the labels of a CSI driver."""

    def __bool__(self) -> bool:
        return bool(self.unread)

    @property
    def resources(self) -> frozenset[str]:
        """``services``, ``csinodes.storage.k8s.io``."""
        return frozenset(one.resource for one in self.unread)

    def decides_fit(self, one: UnreadInput) -> bool:
        """Whether more nodes would be rejected with it. Without the other nodes, those that fit still fit."""
        scores = one.resource in _SELECTORS and not self.hard_spread
        return one.resource not in {BUDGETS, NODES} and one.verb != ExtensionPoint.SCORE and not scores

    def moving(self, *, victims: bool) -> Iterator[UnreadInput]:
        """By what a pod that fits may go to another node; budgets may protect `victims` that are preempted for it."""
        # Where nodes score alike, another may be taken.
        return (one for one in self.unread if one.resource != BUDGETS or victims)

    def of(self, placement: Placement, pod: Pod) -> Placement:
        """A placement that was computed without what is missing, with what that may change."""
        if not self.unread:
            return placement
        fits = [one for one in self.unread if self.decides_fit(one)]
        match placement.outcome:
            case PlacementOutcome.FITS:
                return replace(placement, assumed=tuple(fits), proven=not fits)
            case PlacementOutcome.UNKNOWN if NODES in self.resources:
                return replace(placement, assumed=self.unread, proven=False)
            case PlacementOutcome.UNSCHEDULABLE:
                rejected, preemption = placement.rejected, placement.preemption
                plugins = {group.plugin for group in rejected}
                may_save = {
                    NODES: True,
                    _DEVICE_CLASSES: "NodeResourcesFit" in plugins and not pod.spec.resource_claims,
                    _CSI_NODES: self.in_tree and bool(plugins & _OF_VOLUMES),
                }
                saving = [one for one in self.unread if may_save.get(one.resource)]
                preempts = preemption is not None and bool(preemption.nodes)
                found = dict.fromkeys(saving)
                if preempts or any(group.remedy is not None for group in rejected):
                    found |= dict.fromkeys(fits)
                if preempts:
                    found |= dict.fromkeys(one for one in self.unread if one.resource == BUDGETS)
                return replace(placement, assumed=tuple(found), proven=not saving)
        return placement


def missing_of(situation: Situation) -> MissingKinds:
    """The kinds that the cycle of a pod reads and that are missing."""
    pod, snapshot, framework = situation.pod, situation.snapshot, situation.framework
    found = [one for one in situation.unread if one.resource != _DEVICE_TEMPLATES or missing_templates(pod, snapshot)]
    resources = {one.resource for one in found}
    if situation.is_list:
        for resource in dict.fromkeys(_unresolved(pod, snapshot)):
            if resource not in resources:
                namespace = pod.metadata.namespace if resource in {CLAIMS, _DEVICE_CLAIMS} else None
                found.append(UnreadInput("get", resource, namespace, NOT_ALL_IN_FILE))
    if not pod.spec.node_name:
        # The plugins and extenders that judge the pod and are not restated here.
        for name, point in framework.unasked.items():
            found.append(UnreadInput(point, f"plugin {name[:_MAX_NAME]}", None, NOT_ASKED))
        for one in framework.extenders_of(pod):
            point = ExtensionPoint.FILTER if one.filter_verb else ExtensionPoint.SCORE
            found.append(UnreadInput(point, f"extender {one.url_prefix[:_MAX_NAME]}", None, NOT_ASKED))
    args = framework.args.get(POD_TOPOLOGY_SPREAD) or PodTopologySpreadArgs()
    hard = any(constraint.when_unsatisfiable == DO_NOT_SCHEDULE for constraint in args.constraints)
    claimed = {claim.spec.volume_name for claim in _own_claims(pod, snapshot)}
    disks = (one for one in snapshot.persistent_volumes if one.metadata.name in claimed and one.spec.csi is None)
    return MissingKinds(tuple(found), hard, in_tree=any(disks))


def known_part(situation: Situation, missing: MissingKinds) -> Situation:
    """The situation without the plugins that cannot judge the pod, for they would read what is missing."""
    if not missing:
        return situation
    space = situation.pod.metadata.namespace
    own = {one.resource for one in missing.unread if one.read_in == space}
    unjudged = frozenset(_unjudged(situation.pod, situation.snapshot, missing.resources, own))

    scoring, framework, snapshot = unjudged, situation.framework, situation.snapshot
    if _CAPACITIES in missing.resources:
        # VolumeBinding asks for capacities where the driver tracks them: all else about the node is judged.
        scoring |= {"VolumeBinding"}
        drivers = (replace(one, spec=replace(one.spec, storage_capacity=False)) for one in snapshot.csi_drivers)
        snapshot = replace(snapshot, csi_drivers=tuple(drivers))

    def judges(plugin: NamedPlugin) -> bool:
        return plugin.name not in unjudged

    def scores(plugin: NamedPlugin) -> bool:
        return plugin.name not in scoring

    reduced = replace(
        framework,
        pre_enqueue=tuple(filter(judges, framework.pre_enqueue)),
        pre_filter=tuple(filter(judges, framework.pre_filter)),
        filter=tuple(filter(judges, framework.filter)),
        pre_score=tuple(filter(scores, framework.pre_score)),
        score=tuple(entry for entry in framework.score if scores(entry[0])),
    )
    return replace(situation, framework=reduced, snapshot=snapshot)


def _unresolved(pod: Pod, snapshot: ClusterSnapshot) -> Iterator[str]:
    """The resources of objects that the pod, its claims or its volumes name and that the snapshot does not hold."""
    claims = {claim.metadata.name: claim for claim in _own_claims(pod, snapshot)}
    references = (claim_reference(pod, volume) for volume in pod.spec.volumes)
    for reference in references:
        claim = None if reference is None else claims.get(reference.name)
        if reference is not None and claim is None and not (reference.ephemeral and not pod.metadata.uid):
            yield CLAIMS
        elif claim is not None and (is_bound(claim) or claim.spec.volume_name):
            if claim.spec.volume_name not in _names(snapshot.persistent_volumes):
                yield VOLUMES
        elif claim is not None and claim_class(claim) not in {"", *_names(snapshot.storage_classes)}:
            yield CLASSES
        elif claim is not None and claim.spec.storage_class_name is None and not claim_class(claim):
            # It may get the default class.
            yield CLASSES
    namespace = pod.metadata.namespace
    device_claims = {claim.metadata.name for claim in snapshot.resource_claims if claim.metadata.namespace == namespace}
    named = (reference.resource_claim_name for reference in pod.spec.resource_claims)
    if any(name is not None and name not in device_claims for name in named):
        yield _DEVICE_CLAIMS


def _names(objects: Sequence[KubeObject]) -> frozenset[str]:
    return frozenset(entry.metadata.name for entry in objects)


def _unjudged(pod: Pod, snapshot: ClusterSnapshot, missing: frozenset[str], own: set[str]) -> Iterator[str]:
    """The plugins that cannot judge the pod, by what was read.

    The `missing` kinds were not read, or not in all namespaces; `own` are those that were read in the pod's namespace.
    """
    affinity, space = None if pod.spec.affinity is None else pod.spec.affinity.pod_affinity, {pod.metadata.namespace}
    terms = () if affinity is None else affinity.required_during_scheduling_ignored_during_execution
    # With affinity to pods of its own namespace alone, pods of other namespaces may only rule out more nodes.
    near = all(one.namespace_selector is None and space.issuperset(one.namespaces) for one in terms)
    for resource in missing - ({PODS, "namespaces"} if near and PODS not in missing - own else set()):
        yield from _JUDGES.get(resource, ())
    if _DEVICE_CLASSES in missing and pod.spec.resource_claims:
        yield "DynamicResources"
    known: set[str] = set()
    makes = {one.metadata.name for one in snapshot.storage_classes if one.provisioner not in {"", NO_PROVISIONER}}
    for claim in _own_claims(pod, snapshot):
        # Its volume is to be made for a chosen node: VolumeBinding then examines no volume.
        selected = ANNOTATION_SELECTED_NODE in claim.metadata.annotations and not claim.spec.volume_name
        if is_bound(claim) or (CLASSES not in missing and selected and claim_class(claim) in makes):
            known.add(claim.metadata.name)
    # Another claim may be bound to a volume, or be given a class, that is not known.
    awaits = bool(missing & {VOLUMES, CLASSES}) and not _claim_names(pod) <= known
    unresolved = (missing - own).intersection(_unresolved(pod, snapshot))
    if awaits or unresolved & {CLAIMS, VOLUMES, CLASSES}:
        yield from _OF_VOLUMES


def _claim_names(pod: Pod) -> frozenset[str]:
    references = (claim_reference(pod, volume) for volume in pod.spec.volumes)
    return frozenset(reference.name for reference in references if reference is not None)


def _own_claims(pod: Pod, snapshot: ClusterSnapshot) -> Sequence[PersistentVolumeClaim]:
    names, namespace = _claim_names(pod), pod.metadata.namespace
    near = (one for one in snapshot.persistent_volume_claims if one.metadata.namespace == namespace)
    return [one for one in near if one.metadata.name in names]
