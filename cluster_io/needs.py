"""Determines which lists and objects the scheduling cycle of a pod reads, given the pod and what was read before.

    nodes, pods         always
    namespaces          InterPodAffinity: a term of the pod, or a term of a pod on a node that may select it, selects
                        namespaces by label. An empty namespaceSelector needs no labels; nor does a term of the pod
                        itself that matches even no labels, for it selects every namespace (`inter_pod_affinity.terms`)
    services, and the   PodTopologySpread: default constraints get their selector from them. A pod with constraints of
    pod's controller    its own does not need them, nor does a profile without defaults; without labels no service
                        selects a pod
    persistent          VolumeRestrictions, VolumeZone, NodeVolumeLimits, VolumeBinding: the pod has claims; or
      volume claims,    NodeVolumeLimits alone: the pod has an in-tree disk that is migrated to a CSI driver. They are
      volumes, classes, read in all namespaces, for a node's limit counts the volumes of all its pods. Disks without a
      CSI nodes,        driver (iscsi, rbd) are compared with those of other pods and need no list; other volumes need
      attachments       nothing
    CSI drivers,        VolumeBinding: a claim of the pod is not bound yet, and its volume may be provisioned
      capacities
    resource claims     DynamicResources: the pod has claims. They are read in all namespaces, for they hold devices
    slices, device      … and one of its claims is not allocated yet; or the pod is new, and its claim is not made yet
      classes
    claim templates     … and the template's claim is not made yet
    device classes      NodeResourcesFit, DynamicResources, with gate DRAExtendedResource: the pod requests an extended
                        resource, which a class may provide; if one does, resource claims and slices too

Resource claims are read for every version. Where the gate DynamicResourceAllocation is off by default, a pod with
claims shows that it is on.

Source, at v1.36.3: the listers of pkg/scheduler/framework/plugins/*; for the omitted pods
pkg/scheduler/scheduler.go (newPodInformer).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from cluster_io.device_kinds import (
    DEVICE_CLASSES,
    RESOURCE_CLAIM_TEMPLATES,
    RESOURCE_CLAIMS,
    RESOURCE_SLICES,
)
from cluster_io.kinds import (
    CSI_DRIVERS,
    CSI_NODES,
    CSI_STORAGE_CAPACITIES,
    NAMESPACES,
    NODES,
    PDBS,
    PERSISTENT_VOLUME_CLAIMS,
    PERSISTENT_VOLUMES,
    PODS,
    REPLICA_SETS,
    REPLICATION_CONTROLLERS,
    SERVICES,
    STATEFUL_SETS,
    STORAGE_CLASSES,
    VOLUME_ATTACHMENTS,
    Kind,
)
from podrules.api.controllers import HASH_LABEL
from podrules.api.csi_translation import in_tree_plugin
from podrules.api.features import Features
from podrules.api.model.base import KubeObject
from podrules.api.model.pod import Pod
from podrules.api.model.selectors import Affinity, PodAffinityTerm
from podrules.api.model.snapshot import ClusterSnapshot
from podrules.pod.resources import pod_requests
from podrules.scheduling.placement.device_claims import awaited_templates
from podrules.scheduling.scheduler.plugins.dynamic_resources.claims import (
    ClaimError,
    classes_by_resource,
    is_extended_resource,
    needs_claim,
    pod_claims,
)
from podrules.scheduling.scheduler.plugins.inter_pod_affinity.terms import AffinityTerm, parse_terms
from podrules.scheduling.scheduler.plugins.pod_topology_spread.constraints import PodTopologySpreadArgs
from podrules.scheduling.scheduler.plugins.pod_topology_spread.filtering import NAME as POD_TOPOLOGY_SPREAD
from podrules.scheduling.scheduler.plugins.volume_binding.storage_index import claim_reference, is_bound

_UNFINISHED: Final = "status.phase!=Succeeded,status.phase!=Failed"
CONTROLLERS: Final[Mapping[tuple[str, str], Kind[Any]]] = {
    (kind.api_version, kind.kind): kind for kind in (REPLICATION_CONTROLLERS, REPLICA_SETS, STATEFUL_SETS)
}
"""Controllers with selectors that count (helper.DefaultSelector)."""
_FIELDS: Final = {field.replace("_", ""): field for field in ClusterSnapshot.__struct_fields__}
"""The snapshot's fields by the resources' plural names."""


class Need(Struct, frozen=True):
    """A list of objects, or one object, that has to be read."""

    kind: Kind[Any]
    namespace: str | None = None
    """None: all namespaces."""
    name: str = ""
    """The name of the one object, which may be missing; empty: a list."""
    field_selector: str = ""
    may_be_new: bool = False
    """Whether the object comes with the pod, and so counts as absent where it is not known."""


class KnownObjects(Struct, frozen=True):
    """What has been read of a cluster so far."""

    snapshot: ClusterSnapshot = ClusterSnapshot()
    namespace_terms: tuple[AffinityTerm, ...] = ()
    """Affinity terms that select namespaces by label, of pods that are bound or nominated to a node."""
    kinds: frozenset[Kind[Any]] = frozenset()
    """The kinds that were asked for."""

    def adding(self, need: Need, objects: Sequence[KubeObject]) -> KnownObjects:
        """A copy with the objects of a need; other lists stay the same tuples."""
        field = field_of(need.kind)
        snapshot = replace(self.snapshot, **{field: (*getattr(self.snapshot, field), *objects)})
        kinds = self.kinds | {need.kind}
        if need.kind is not PODS:
            return KnownObjects(snapshot, self.namespace_terms, kinds)
        placed = (pod for pod in snapshot.pods if pod.spec.node_name or pod.status.nominated_node_name)
        return KnownObjects(snapshot, tuple(_namespace_terms(placed)), kinds)


def field_of(kind: Kind[Any]) -> str:
    """The snapshot's field that holds a kind's objects."""
    return _FIELDS[kind.plural]


def needs(
    pods: Sequence[Pod], known: KnownObjects, features: Features, args: Mapping[str, Any], *, budgets: bool = False
) -> Iterator[Need]:
    """What the scheduling cycles of pods read, as far as is known yet; the same need may come twice.

    Args:
        pods: The pods to place; when one is placed, the others may be in the cluster already.
        known: What was read before. Once it holds all needs, no others follow.
        features: The cluster's feature gates.
        args: Plugin arguments by plugin name.
        budgets: Whether preemption or evictions are asked about too.
    """
    yield Need(NODES)
    if budgets:
        yield Need(PDBS)
    yield Need(PODS, field_selector=_UNFINISHED)
    others = known.namespace_terms if len(pods) == 1 else (*known.namespace_terms, *_namespace_terms(pods))
    for pod in pods:
        namespace, labels = pod.metadata.namespace, pod.metadata.labels
        # The labels of namespaces decide if the pod's terms select some of them, or another pod's term the pod.
        if any(term.namespace_selector is not None and not term.matches_namespace({}) for term in _terms(pod)) or any(
            namespace not in term.namespaces and term.selector is not None and term.selector.matches(labels)
            for term in others
        ):
            yield Need(NAMESPACES)
        yield from _siblings(pod, args)
        yield from _storage(pod, known, features)
        if pod.spec.resource_claims:
            yield Need(RESOURCE_CLAIMS)
            for name in awaited_templates(pod):
                yield Need(RESOURCE_CLAIM_TEMPLATES, pod.metadata.namespace, name)
            if _waits_for_devices(pod, known.snapshot):
                yield Need(RESOURCE_SLICES)
                yield _DEVICE_CLASSES
        if features.dra_extended_resource and any(
            is_extended_resource(name) and not amount.is_zero for name, amount in pod_requests(pod).items()
        ):
            yield _DEVICE_CLASSES
            if needs_claim(pod, classes_by_resource(known.snapshot.device_classes)):
                yield Need(RESOURCE_CLAIMS)
                yield Need(RESOURCE_SLICES)


def left_out(known: KnownObjects) -> Iterator[Kind[Any]]:
    """The kinds that were read and lack an object that another one names, or that each Node has."""
    cluster = known.snapshot
    nodes, classes = _names(cluster.nodes), _names(cluster.device_classes)
    claims, device_claims = _places(cluster.persistent_volume_claims), _places(cluster.resource_claims)
    placed = [pod for pod in cluster.pods if pod.spec.node_name or pod.status.nominated_node_name]
    requests = [one for claim in cluster.resource_claims for one in claim.spec.devices.requests]
    asked = [
        device.device_class_name
        for request in requests
        for device in (*request.first_available, *([request.exactly] if request.exactly is not None else ()))
    ]
    # The name of a CSI driver has no slash; other provisioners have no CSIDriver.
    drivers = {one.provisioner for one in cluster.storage_classes if "/" not in one.provisioner}
    complete: Mapping[Kind[Any], bool] = {
        NODES: nodes >= {pod.spec.node_name or pod.status.nominated_node_name for pod in placed},
        NAMESPACES: _names(cluster.namespaces) >= {pod.metadata.namespace for pod in cluster.pods},
        CSI_NODES: _names(cluster.csi_nodes) >= nodes,
        CSI_DRIVERS: _names(cluster.csi_drivers) >= drivers,
        DEVICE_CLASSES: classes.issuperset(asked),
        PERSISTENT_VOLUME_CLAIMS: claims.issuperset(
            (pod.metadata.namespace, claim.name)
            for pod in placed
            if pod.spec.volumes
            for volume in pod.spec.volumes
            if (claim := claim_reference(pod, volume)) is not None
        ),
        RESOURCE_CLAIMS: device_claims.issuperset(
            (pod.metadata.namespace, claim.resource_claim_name)
            for pod in placed
            for claim in pod.spec.resource_claims
            if claim.resource_claim_name is not None
        ),
    }
    return (kind for kind, whole in complete.items() if kind in known.kinds and not whole)


def _names(objects: Iterable[KubeObject]) -> set[str]:
    return {entry.metadata.name for entry in objects}


def _places(objects: Iterable[KubeObject]) -> set[tuple[str, str]]:
    return {entry.metadata.place for entry in objects}


def _terms(pod: Pod) -> Iterator[AffinityTerm]:
    """All terms of a pod that select pods."""
    terms = parse_terms(pod.spec.affinity, pod.metadata.namespace)
    for listed in (
        terms.required_affinity,
        terms.required_anti_affinity,
        terms.preferred_affinity,
        terms.preferred_anti_affinity,
    ):
        yield from (term for term in listed if term.selector is not None)


def _namespace_terms(pods: Iterable[Pod]) -> Iterator[AffinityTerm]:
    """The terms of pods that select namespaces by label."""
    for pod in pods:
        # Few terms have a namespaceSelector, and in a large cluster only those are worth parsing.
        given = () if pod.spec.affinity is None else _given_terms(pod.spec.affinity)
        if any(term.namespace_selector is not None for term in given):
            for term in _terms(pod):
                if term.namespace_selector is not None and not term.namespace_selector.empty:
                    yield term


def _given_terms(affinity: Affinity) -> Iterator[PodAffinityTerm]:
    """The terms of pod affinity and anti-affinity, as they are written."""
    for given in (affinity.pod_affinity, affinity.pod_anti_affinity):
        if given is not None:
            yield from given.required_during_scheduling_ignored_during_execution
            yield from (entry.pod_affinity_term for entry in given.preferred_during_scheduling_ignored_during_execution)


def goes_by_revision(pod: Pod, args: Mapping[str, Any]) -> bool:
    """Whether scheduling depends on the pod's revision of its Deployment, by the label pod-template-hash."""
    affinity = pod.spec.affinity or Affinity()
    constraints = pod.spec.topology_spread_constraints
    return (
        _has_default_spread(pod, args)
        or any(HASH_LABEL in constraint.match_label_keys for constraint in constraints)
        or any(
            HASH_LABEL in (*selector.match_labels, *(term.key for term in selector.match_expressions))
            for selector in (one.label_selector for one in constraints)
            if selector is not None
        )
        or any(HASH_LABEL in term.match_label_keys for term in _given_terms(affinity))
        or any(HASH_LABEL in term.mismatch_label_keys for term in _given_terms(affinity))
    )


def _has_default_spread(pod: Pod, args: Mapping[str, Any]) -> bool:
    spread: PodTopologySpreadArgs = args.get(POD_TOPOLOGY_SPREAD) or PodTopologySpreadArgs()
    return bool(spread.constraints) and not pod.spec.topology_spread_constraints


def _siblings(pod: Pod, args: Mapping[str, Any]) -> Iterator[Need]:
    if not _has_default_spread(pod, args):
        return
    namespace = pod.metadata.namespace
    if pod.metadata.labels:
        yield Need(SERVICES, namespace)
    owner = pod.metadata.controller
    if owner is not None and owner.name and (owner.api_version, owner.kind) in CONTROLLERS:
        # The owner of a pod of a manifest has no uid.
        yield Need(CONTROLLERS[owner.api_version, owner.kind], namespace, owner.name, may_be_new=not owner.uid)


def _storage(pod: Pod, known: KnownObjects, features: Features) -> Iterator[Need]:
    references = [claim_reference(pod, volume) for volume in pod.spec.volumes]
    names = {reference.name for reference in references if reference is not None}
    if not names and not any(in_tree_plugin(volume) for volume in pod.spec.volumes):
        return
    yield Need(PERSISTENT_VOLUME_CLAIMS)
    yield Need(PERSISTENT_VOLUMES)
    yield Need(STORAGE_CLASSES)
    yield Need(CSI_NODES)
    yield Need(VOLUME_ATTACHMENTS)
    if features.volume_limit_scaling:
        yield Need(CSI_DRIVERS)
    bound = {
        claim.metadata.name
        for claim in known.snapshot.persistent_volume_claims
        if claim.metadata.namespace == pod.metadata.namespace and is_bound(claim)
    }
    if PERSISTENT_VOLUME_CLAIMS in known.kinds and not names <= bound:
        # A missing claim may be created soon.
        yield Need(CSI_DRIVERS)
        yield Need(CSI_STORAGE_CAPACITIES)


_DEVICE_CLASSES: Final = Need(DEVICE_CLASSES)


def _waits_for_devices(pod: Pod, snapshot: ClusterSnapshot) -> bool:
    """Whether the pod has all its claims, or will have them, and one of them has no devices yet."""
    if awaited_templates(pod):
        # The scheduler does not place an existing pod before it has its claims.
        return not pod.metadata.uid
    try:
        claims = pod_claims(pod, {claim.key: claim for claim in snapshot.resource_claims})
    except ClaimError:
        return False
    return any(claim.status.allocation is None for claim in claims)
