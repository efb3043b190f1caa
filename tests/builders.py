"""Keyword builders of model objects: unnamed fields are absent, as in a short manifest.

Everything is decoded by `from_object`, pods and nodes from the raw ones of `tests.objects`, so that tests write amounts
and fields as manifests do.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from podrules.api.model.base import OwnerReference, ResourceList
from podrules.api.model.decode import from_object
from podrules.api.model.node import Node
from podrules.api.model.pod import Container, ContainerStatus, Pod, ResourceRequirements, TopologySpreadConstraint
from podrules.api.model.policy import LimitRange, PriorityClass, RuntimeClass
from podrules.api.model.storage import PersistentVolume
from podrules.api.model.workload import ReplicationController, Service, Workload
from podrules.pod.qos import FieldChange
from tests.objects import raw_node, raw_pod

Amounts = Mapping[str, str]


def amounts(**by_name: str) -> ResourceList:
    """A resource list: ``amounts(cpu="1", memory="1Gi")``; underscores stand for dashes."""
    return make_resources(requests={name.replace("_", "-"): amount for name, amount in by_name.items()}).requests


def make_resources(*, requests: Amounts | None = None, limits: Amounts | None = None) -> ResourceRequirements:
    """``resources`` of a container or a pod."""
    return from_object({"requests": _dict(requests), "limits": _dict(limits)}, ResourceRequirements)


def make_container(
    name: str = "app",
    *,
    requests: Amounts | None = None,
    limits: Amounts | None = None,
    restart_policy: str | None = None,
    liveness_seconds: int | None = None,
    startup_seconds: int | None = None,
    pre_stop: Mapping[str, Any] | None = None,
    stop_signal: str | None = None,
) -> Container:
    """A container; ``liveness_seconds`` and ``startup_seconds`` are the probes' own termination grace periods."""
    lifecycle = {"preStop": pre_stop, "stopSignal": stop_signal} if pre_stop or stop_signal else None
    return from_object(
        {
            "name": name,
            "resources": {"requests": _dict(requests), "limits": _dict(limits)},
            "restartPolicy": restart_policy,
            "livenessProbe": _probe(liveness_seconds),
            "startupProbe": _probe(startup_seconds),
            "lifecycle": lifecycle,
        },
        Container,
    )


def make_sidecar(
    name: str = "sidecar",
    *,
    requests: Amounts | None = None,
    limits: Amounts | None = None,
    pre_stop: Mapping[str, Any] | None = None,
) -> Container:
    """A restartable init container."""
    return make_container(name, requests=requests, limits=limits, restart_policy="Always", pre_stop=pre_stop)


def make_container_status(
    name: str = "app",
    *,
    requests: Amounts | None = None,
    limits: Amounts | None = None,
    allocated: Amounts | None = None,
) -> ContainerStatus:
    """The kubelet's report about a container: actuated requests and limits, allocated requests."""
    return from_object(
        {
            "name": name,
            "resources": {"requests": _dict(requests), "limits": _dict(limits)},
            "allocatedResources": _dict(allocated),
        },
        ContainerStatus,
    )


def make_owner(
    kind: str, name: str = "owner", *, api_version: str = "apps/v1", controller: bool = True
) -> OwnerReference:
    """One of ``metadata.ownerReferences``."""
    return from_object(
        {"apiVersion": api_version, "kind": kind, "name": name, "controller": controller}, OwnerReference
    )


def make_pod(
    *,
    name: str = "web",
    generate_name: str = "",
    namespace: str = "default",
    uid: str = "",
    generation: int = 0,
    resource_version: str = "",
    labels: Mapping[str, str] | None = None,
    annotations: Mapping[str, str] | None = None,
    owners: Sequence[OwnerReference] = (),
    finalizers: Sequence[str] = (),
    deletion_timestamp: str | None = None,
    deletion_seconds: int | None = None,
    requests: Amounts | None = None,
    limits: Amounts | None = None,
    containers: Sequence[Container] | None = None,
    init_containers: Sequence[Container] = (),
    ephemeral_containers: Sequence[Container] = (),
    resources: ResourceRequirements | None = None,
    overhead: Amounts | None = None,
    node_name: str = "",
    priority: int | None = None,
    priority_class_name: str = "",
    preemption_policy: str | None = None,
    termination_seconds: int | None = None,
    constraints: Sequence[TopologySpreadConstraint] = (),
    volumes: Sequence[Mapping[str, Any]] = (),
    phase: str = "",
    qos_class: str = "",
    conditions: Sequence[Mapping[str, str]] = (),
    container_statuses: Sequence[ContainerStatus] = (),
    init_container_statuses: Sequence[ContainerStatus] = (),
    status_resources: ResourceRequirements | None = None,
    allocated_resources: Amounts | None = None,
) -> Pod:
    """A pod; without ``containers`` it has one, ``app``, with the given requests and limits."""
    if containers is None:
        containers = [make_container(requests=requests, limits=limits)]
    pod = from_object(
        raw_pod(
            name,
            namespace,
            uid=uid,
            labels=labels,
            metadata={
                "generateName": generate_name,
                "generation": generation,
                "resourceVersion": resource_version,
                "annotations": annotations,
                "finalizers": finalizers,
                "deletionTimestamp": deletion_timestamp,
                "deletionGracePeriodSeconds": deletion_seconds,
            },
            containers=(),
            overhead=overhead,
            nodeName=node_name,
            priority=priority,
            priorityClassName=priority_class_name,
            preemptionPolicy=preemption_policy,
            terminationGracePeriodSeconds=termination_seconds,
            volumes=volumes,
            status={
                "phase": phase,
                "qosClass": qos_class,
                "conditions": conditions,
                "allocatedResources": allocated_resources,
            },
        ),
        Pod,
    )
    return replace(
        pod,
        metadata=replace(pod.metadata, owner_references=tuple(owners)),
        spec=replace(
            pod.spec,
            containers=tuple(containers),
            init_containers=tuple(init_containers),
            ephemeral_containers=tuple(ephemeral_containers),
            resources=resources,
            topology_spread_constraints=tuple(constraints),
        ),
        status=replace(
            pod.status,
            container_statuses=tuple(container_statuses),
            init_container_statuses=tuple(init_container_statuses),
            resources=status_resources,
        ),
    )


def make_node(
    name: str = "node-1",
    *,
    capacity: Amounts | None = None,
    allocatable: Amounts | None = None,
    kubelet: str = "v1.36.3",
    taints: Sequence[Mapping[str, str]] = (),
    conditions: Sequence[Mapping[str, str]] = (),
) -> Node:
    """A node; allocatable equals the capacity unless given."""
    return from_object(
        raw_node(
            name,
            capacity=capacity,
            allocatable=capacity if allocatable is None else allocatable,
            conditions=conditions,
            status={"nodeInfo": {"kubeletVersion": kubelet}},
            taints=taints,
        ),
        Node,
    )


def make_priority_class(
    name: str, value: int, *, global_default: bool = False, preemption_policy: str | None = "PreemptLowerPriority"
) -> PriorityClass:
    """A PriorityClass; a stored one always has a policy."""
    return from_object(
        {
            "metadata": {"name": name},
            "value": value,
            "globalDefault": global_default,
            "preemptionPolicy": preemption_policy,
        },
        PriorityClass,
    )


def make_constraint(
    max_skew: int,
    topology_key: str,
    when_unsatisfiable: str,
    *,
    selector: Mapping[str, Any] | None = None,
    min_domains: int | None = None,
    node_affinity_policy: str | None = None,
    node_taints_policy: str | None = None,
    match_label_keys: Sequence[str] = (),
) -> TopologySpreadConstraint:
    """A topology spread constraint; ``selector`` is a labelSelector as manifests write it."""
    return from_object(
        {
            "maxSkew": max_skew,
            "topologyKey": topology_key,
            "whenUnsatisfiable": when_unsatisfiable,
            "labelSelector": None if selector is None else dict(selector),
            "minDomains": min_domains,
            "nodeAffinityPolicy": node_affinity_policy,
            "nodeTaintsPolicy": node_taints_policy,
            "matchLabelKeys": list(match_label_keys),
        },
        TopologySpreadConstraint,
    )


def make_persistent_volume(
    source: str = "", about: Mapping[str, Any] | None = None, *, access_modes: Sequence[str] = ("ReadWriteOnce",)
) -> PersistentVolume:
    """A PersistentVolume with this source (``nfs``, ``csi``) and its fields ``about``; by default without a source."""
    sources = {source: dict(about or {})} if source else {}
    return from_object(
        {"metadata": {"name": "volume"}, "spec": {"accessModes": list(access_modes), **sources}}, PersistentVolume
    )


def make_limit_range(
    *, default: Amounts | None = None, default_request: Amounts | None = None, kind: str = "Container"
) -> LimitRange:
    """A LimitRange with one item, as it is stored: limits and requests for containers that set none."""
    item = {"type": kind, "default": _dict(default), "defaultRequest": _dict(default_request)}
    return from_object({"metadata": {"name": "limits"}, "spec": {"limits": [item]}}, LimitRange)


def make_runtime_class(*, overhead: Amounts | None = None) -> RuntimeClass:
    """A RuntimeClass with this ``overhead`` for each pod."""
    return from_object({"metadata": {"name": "sandboxed"}, "overhead": {"podFixed": _dict(overhead)}}, RuntimeClass)


def make_service(
    name: str = "service", *, namespace: str = "default", selector: Mapping[str, str] | None = None
) -> Service:
    """A Service; without a selector it selects nothing."""
    return from_object(
        {
            "metadata": {"name": name, "namespace": namespace},
            "spec": {"selector": None if selector is None else dict(selector)},
        },
        Service,
    )


def make_workload(
    name: str = "workload",
    *,
    namespace: str = "default",
    match_labels: Mapping[str, str] | None = None,
    match_expressions: Sequence[Mapping[str, Any]] = (),
) -> Workload:
    """A ReplicaSet, StatefulSet or other workload, with its selector only."""
    selector = {"matchLabels": _dict(match_labels), "matchExpressions": [dict(entry) for entry in match_expressions]}
    return from_object({"metadata": {"name": name, "namespace": namespace}, "spec": {"selector": selector}}, Workload)


def make_controller(
    name: str = "controller", *, namespace: str = "default", selector: Mapping[str, str] | None = None
) -> ReplicationController:
    """A ReplicationController."""
    return from_object(
        {"metadata": {"name": name, "namespace": namespace}, "spec": {"selector": _dict(selector)}},
        ReplicationController,
    )


def with_changes(pod: Pod, changes: Iterable[FieldChange], *, chosen: Amounts) -> Pod:
    """The manifest after the edits; ``chosen`` has the amounts that the author may choose."""
    for change in changes:
        path, side, resource = change.field.rsplit(".", 2)
        amount = change.after or chosen[resource]
        if path == "spec.resources":
            assert pod.spec.resources is not None
            pod = replace(pod, spec=replace(pod.spec, resources=_edited(pod.spec.resources, side, resource, amount)))
            continue
        place, _, index = path.removeprefix("spec.").removesuffix("].resources").partition("[")
        attribute = {"containers": "containers", "initContainers": "init_containers"}[place]
        entries: list[Container] = list(getattr(pod.spec, attribute))
        entry = entries[int(index)]
        entries[int(index)] = replace(entry, resources=_edited(entry.resources, side, resource, amount))
        pod = replace(pod, spec=replace(pod.spec, **{attribute: tuple(entries)}))
    return pod


def _edited(resources: ResourceRequirements, side: str, resource: str, amount: str) -> ResourceRequirements:
    return replace(
        resources, **{side: {**getattr(resources, side), **make_resources(requests={resource: amount}).requests}}
    )


def _dict(entries: Mapping[str, str] | None) -> dict[str, str]:
    return dict(entries or {})


def _probe(seconds: int | None) -> dict[str, int] | None:
    return None if seconds is None else {"terminationGracePeriodSeconds": seconds}
