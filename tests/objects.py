"""Keyword builders of API objects: those named ``raw_`` as manifests write them, those named ``make_`` as models.

A field that is not named is absent. Arguments that are fields of the API have its names,
``nodeName`` and not ``node_name``; one that is None is absent.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from podrules.api.model.decode import from_object
from podrules.api.model.node import Node
from podrules.api.model.pod import Pod, ResourceRequirements, TopologySpreadConstraint
from podrules.api.model.policy import LimitRange
from podrules.api.model.workload import Service, Workload
from tests.controlplane.client import Object

_IMAGE = "registry.example.com/app:1"
_API_VERSIONS = {
    **dict.fromkeys(("Deployment", "ReplicaSet", "StatefulSet", "DaemonSet"), "apps/v1"),
    **dict.fromkeys(("Job", "CronJob"), "batch/v1"),
    **dict.fromkeys(("StorageClass", "CSIDriver", "CSINode", "VolumeAttachment"), "storage.k8s.io/v1"),
    **dict.fromkeys(("ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding"), "rbac.authorization.k8s.io/v1"),
    "DeviceClass": "resource.k8s.io/v1",
    "HorizontalPodAutoscaler": "autoscaling/v2",
    "Lease": "coordination.k8s.io/v1",
    "NodeMetrics": "metrics.k8s.io/v1beta1",
    "PodDisruptionBudget": "policy/v1",
    "PriorityClass": "scheduling.k8s.io/v1",
}
"""Of kinds that are not of ``v1``."""
NOWHERE = "no-scheduler"
"""A scheduler that does not run: a pod that names it stays where the test puts it."""


def raw_container(
    name: str = "app",
    requests: Mapping[str, str] | None = None,
    limits: Mapping[str, str] | None = None,
    *,
    image: str = _IMAGE,
    **more: Any,
) -> Object:
    """A container, init container or, with ``restartPolicy="Always"``, sidecar."""
    amounts = {"requests": requests, "limits": limits}
    return _named({"name": name, "image": image, "resources": _named(amounts) or None, **more})


def raw_sidecar(name: str = "sidecar", **fields: Any) -> Object:
    """An init container that restarts; its fields as those of `raw_container`."""
    return raw_container(name, restartPolicy="Always", **fields)


def raw_container_status(
    name: str = "app", requests: Mapping[str, str] | None = None, limits: Mapping[str, str] | None = None, **more: Any
) -> Object:
    """One of ``status.containerStatuses`` with the resources that the kubelet reports."""
    amounts = {"requests": requests, "limits": limits}
    return _named({"name": name, "resources": _named(amounts) or None, **more})


def raw_owner(kind: str, name: str = "owner", uid: str | None = None, **more: Any) -> Object:
    """One of ``metadata.ownerReferences``: a controller unless ``more`` differs."""
    version = _API_VERSIONS.get(kind, "apps/v1")
    return _named({"apiVersion": version, "kind": kind, "name": name, "uid": uid, "controller": True, **more})


def raw_pod(
    name: str = "web",
    namespace: str | None = None,
    *,
    uid: str | None = None,
    labels: Mapping[str, str] | None = None,
    metadata: Mapping[str, Any] | None = None,
    requests: Mapping[str, str] | None = None,
    limits: Mapping[str, str] | None = None,
    containers: Sequence[Mapping[str, Any]] | None = None,
    status: Mapping[str, Any] | None = None,
    **spec: Any,
) -> Object:
    """A pod; without ``containers`` it has one, ``app``, with the given requests and limits.

    Args:
        name: Its name.
        namespace: Its namespace.
        uid: Its uid.
        labels: Its labels.
        metadata: More of ``metadata``, such as ``ownerReferences``.
        requests: What its one container requests.
        limits: What limits its one container.
        containers: All of its containers; an empty sequence leaves the field out.
        status: Its status.
        spec: More of ``spec``.
    """
    if containers is None:
        containers = [raw_container(requests=requests, limits=limits)]
    return _object(
        "Pod",
        {"name": name, "namespace": namespace, "uid": uid, "labels": labels, **(metadata or {})},
        {"containers": containers or None, **spec},
        status,
    )


def unscheduled_pod(namespace: str, name: str = "web", **more: Any) -> Object:
    """A pod labelled with its name; no scheduler handles it unless ``more`` names one."""
    return raw_pod(name, namespace, labels={"app": name}, **{"schedulerName": NOWHERE, **more})


def raw_node(
    name: str = "node-1",
    labels: Mapping[str, str] | None = None,
    *,
    metadata: Mapping[str, Any] | None = None,
    capacity: Mapping[str, str] | None = None,
    allocatable: Mapping[str, str] | None = None,
    conditions: Sequence[Mapping[str, Any]] | None = None,
    status: Mapping[str, Any] | None = None,
    **spec: Any,
) -> Object:
    """A node; its name alone identifies the node to patch or delete.

    Args:
        name: Its name.
        labels: Its labels.
        metadata: More of ``metadata``.
        capacity: ``status.capacity``.
        allocatable: ``status.allocatable``.
        conditions: ``status.conditions``; see `raw_condition`.
        status: More of ``status``.
        spec: ``taints``, ``unschedulable`` and more of ``spec``.
    """
    reported = {"capacity": capacity, "allocatable": allocatable, "conditions": conditions, **(status or {})}
    return _object("Node", {"name": name, "labels": labels, **(metadata or {})}, spec, reported)


def raw_condition(kind: str, status: str = "True", **more: Any) -> Object:
    """One of ``status.conditions`` of a pod or a node; ``more`` has ``lastTransitionTime``, ``reason`` and so on."""
    return _named({"type": kind, "status": status, **more})


def raw_node_event(node: str, reason: str = "NodeReady", message: str = "") -> Object:
    """An event about a node; in a List without events it is unknown whether the node ran out of memory."""
    metadata = {"name": f"{node}.{reason}", "namespace": "default"}
    about = {"kind": "Node", "name": node}
    event = {"metadata": metadata, "involvedObject": about, "reason": reason, "message": message}
    return {"apiVersion": "v1", "kind": "Event", **event}


def raw_workload(
    kind: str,
    name: str = "web",
    namespace: str | None = None,
    *,
    pod_spec: Mapping[str, Any] | None = None,
    **spec: Any,
) -> Object:
    """A Deployment, ReplicaSet, StatefulSet, DaemonSet or Job of pods labelled with its name.

    Args:
        kind: Its kind.
        name: Its name, also the ``app`` label of its pods.
        namespace: Its namespace.
        pod_spec: What its pods are; as `raw_pod` makes them when not given.
        spec: More of ``spec``.
    """
    selector = {} if kind == "Job" else {"selector": {"matchLabels": {"app": name}}}
    # The API server rejects a Job with pods that always restart.
    ends = {"restartPolicy": "Never"} if kind == "Job" else {}
    pods = {"metadata": {"labels": {"app": name}}, "spec": {**ends, **(pod_spec or raw_pod()["spec"])}}
    return _object(
        kind,
        {"name": name, "namespace": namespace},
        {**selector, "template": pods, **spec},
        api_version=_API_VERSIONS.get(kind, "apps/v1"),
    )


def raw_priority_class(name: str, value: int, **more: Any) -> Object:
    """A PriorityClass."""
    return raw_object("PriorityClass", name, value=value, **more)


def raw_service_account(namespace: str, name: str = "default") -> Object:
    """A service account: what pods of a namespace need before they can be created."""
    return raw_object("ServiceAccount", name, namespace)


def on(node: Mapping[str, Any]) -> Mapping[str, str]:
    """A node selector that only this node matches."""
    return {"kubernetes.io/hostname": node["metadata"]["name"]}


def raw_webhook(name: str, client: Mapping[str, str], reviewed: Mapping[str, Sequence[str]], **more: Any) -> Object:
    """A webhook of a configuration.

    Args:
        name: Its name.
        client: ``clientConfig``, such as its ``url``.
        reviewed: The operations of each resource, which has its group, as in ``deployments.apps``.
        more: More of its fields.
    """
    rules = [
        {"apiGroups": [name.partition(".")[2]], "apiVersions": ["v1"], "resources": [name.partition(".")[0]]}
        | {"operations": list(operations)}
        for name, operations in reviewed.items()
    ]
    own = {"name": name, "clientConfig": client, "rules": rules}
    return _named({**own, "admissionReviewVersions": ["v1"], "sideEffects": "None", **more})


def raw_webhook_configuration(name: str, *webhooks: Mapping[str, Any], kind: str = "Mutating") -> Object:
    """A MutatingWebhookConfiguration, or one of another kind."""
    made = raw_object(f"{kind}WebhookConfiguration", name, apiVersion="admissionregistration.k8s.io/v1")
    return {**made, "webhooks": _copy(webhooks)}


def _object(
    kind: str,
    metadata: Mapping[str, Any],
    spec: Mapping[str, Any] | None = None,
    status: Mapping[str, Any] | None = None,
    *,
    api_version: str | None = None,
) -> Object:
    """An object without its empty parts, of the version that its kind has unless given."""
    parts = {"spec": _named(spec or {}), "status": _named(status or {})}
    version = api_version or _API_VERSIONS.get(kind, "v1")
    whole = {"apiVersion": version, "kind": kind, "metadata": _named(metadata)}
    return whole | {part: fields for part, fields in parts.items() if fields}


def _named(fields: Mapping[str, Any]) -> Object:
    """Fields that have a value, copied: a test may add to its object."""
    return {name: _copy(value) for name, value in fields.items() if value is not None}


def _copy(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _copy(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_copy(entry) for entry in value]
    return value


def make_pod(name: str = "web", namespace: str = "default", **fields: Any) -> Pod:
    """`raw_pod` as a model."""
    return from_object(raw_pod(name, namespace, **fields), Pod)


def make_resources(
    requests: Mapping[str, str] | None = None, limits: Mapping[str, str] | None = None
) -> ResourceRequirements:
    """``resources`` of a container or a pod."""
    return from_object(_named({"requests": requests, "limits": limits}), ResourceRequirements)


def make_node(
    name: str = "node-1",
    *,
    capacity: Mapping[str, str] | None = None,
    allocatable: Mapping[str, str] | None = None,
    kubelet: str = "v1.36.3",
    **fields: Any,
) -> Node:
    """`raw_node` as a model; allocatable equals the capacity unless given."""
    room = capacity if allocatable is None else allocatable
    status = {"nodeInfo": {"kubeletVersion": kubelet}}
    return from_object(raw_node(name, capacity=capacity, allocatable=room, status=status, **fields), Node)


def make_constraint(
    max_skew: int, topology_key: str, when_unsatisfiable: str, selector: Mapping[str, Any] | None = None, **more: Any
) -> TopologySpreadConstraint:
    """A topology spread constraint; ``selector`` is a labelSelector as manifests write it."""
    required = {"maxSkew": max_skew, "topologyKey": topology_key, "whenUnsatisfiable": when_unsatisfiable}
    return from_object(required | _named({"labelSelector": selector, **more}), TopologySpreadConstraint)


def make_workload(name: str = "workload", namespace: str = "default", **spec: Any) -> Workload:
    """A ReplicaSet, which stands for every workload with a selector."""
    return from_object(raw_workload("ReplicaSet", name, namespace, **spec), Workload)


def make_service(
    name: str = "service", namespace: str = "default", selector: Mapping[str, str] | None = None
) -> Service:
    """A Service; without a selector it selects nothing."""
    return from_object(_object("Service", {"name": name, "namespace": namespace}, {"selector": selector}), Service)


def make_limit_range(
    default: Mapping[str, str] | None = None, default_request: Mapping[str, str] | None = None, kind: str = "Container"
) -> LimitRange:
    """A LimitRange with one item, as it is stored: limits and requests for containers that set none."""
    item = _named({"type": kind, "default": default, "defaultRequest": default_request})
    return from_object({"metadata": {"name": "limits"}, "spec": {"limits": [item]}}, LimitRange)


def raw_object(
    kind: str,
    name: str | None = None,
    namespace: str | None = None,
    *,
    metadata: Mapping[str, Any] | None = None,
    spec: Mapping[str, Any] | None = None,
    status: Mapping[str, Any] | None = None,
    **fields: Any,
) -> Object:
    """An object of any kind, with other ``fields`` beside its spec and status."""
    meta = {"name": name, "namespace": namespace, **(metadata or {})}
    return _object(kind, meta, spec, status) | _named(fields)


def raw_event(
    about: str,
    reason: str,
    message: str | None = None,
    *,
    namespace: str | None = None,
    uid: str | None = None,
    fieldPath: str | None = None,  # noqa: N803
    first: str | None = None,
    last: str | None = None,
    **fields: Any,
) -> Object:
    """An event about ``Kind/name``, with its ``first`` and ``last`` time; ``fields`` has ``count`` and so on."""
    kind, _, name = about.partition("/")
    begun = first or last
    meta = {"name": f"{name}.{reason}.{last}", "namespace": namespace or "default", "creationTimestamp": begun}
    involved = {"kind": kind, "name": name, "namespace": namespace, "uid": uid, "fieldPath": fieldPath}
    times = {"firstTimestamp": begun, "lastTimestamp": last}
    whole = {"apiVersion": "v1", "kind": "Event", "metadata": _named(meta), "involvedObject": _named(involved)}
    return whole | _named({"reason": reason, "message": message, **times, **fields})
