"""Reviews of all kinds that the webhook gets: fields that rules read are set, the rest of each object is grown."""

from __future__ import annotations

from typing import Any, NamedTuple

from tests.controlplane.client import Object
from tests.webhook.siege.growing import Grower
from tests.webhook.siege.oracle import ALLOWED, CLASSES, EXEMPT_USERS, LABELS, MODES

_CORE = "io.k8s.api.core.v1"
_META = "io.k8s.apimachinery.pkg.apis.meta.v1"
_WORKLOADS = {
    "replicationcontrollers": ("", f"{_CORE}.ReplicationController"),
    "deployments": ("apps", "io.k8s.api.apps.v1.Deployment"),
    "statefulsets": ("apps", "io.k8s.api.apps.v1.StatefulSet"),
    "daemonsets": ("apps", "io.k8s.api.apps.v1.DaemonSet"),
    "replicasets": ("apps", "io.k8s.api.apps.v1.ReplicaSet"),
    "jobs": ("batch", "io.k8s.api.batch.v1.Job"),
    "cronjobs": ("batch", "io.k8s.api.batch.v1.CronJob"),
}
_NAMESPACES = tuple(LABELS)
_NAMES = (None, "", *CLASSES, "low ", "Low", "gone", "*", *ALLOWED)
_USERS = ("jane", "system:serviceaccount:limited:default", "system:serviceaccount:kube-system:default", "fencer2")
_CONTROLLER = "system:serviceaccount:kube-system:pod-garbage-collector"
_CONFIRM = "kubectl-qos.io/confirm-force-delete"
_UID = "97adba77-19ea-40d7-a1ef-b38fa206ac45"
_OWNERS = (
    ("apps/v1", "ReplicaSet"),
    ("apps/v1", "StatefulSet"),
    ("apps/v1", "DaemonSet"),
    ("batch/v1", "Job"),
    ("example.com/v1", "Web"),
)


class Grown(NamedTuple):
    """A review, and the objects that exist besides."""

    path: str
    request: Object
    pods: list[Object]
    """The objects in the API server."""


def draw(grower: Grower) -> Grown:
    """Any review."""
    return grower.chance.choices(
        (_pod_created, _pod_deleted, _pod_evicted, _node_deleted, _workload_written, _subresource), (6, 4, 3, 2, 5, 1)
    )[0](grower)


def _pod_created(grower: Grower) -> Grown:
    pod = _pod(grower)
    if grower.chance.random() < 0.5:
        del pod["metadata"]["name"]
        pod["metadata"]["generateName"] = "web-"
    path = grower.chance.choice(("/mutate", "/validate", "/validate"))
    return Grown(path, _request(grower, "CREATE", "pods", pod, None), [])


def _pod_deleted(grower: Grower) -> Grown:
    pod = _pod(grower)
    request = _request(grower, "DELETE", "pods", None, pod)
    request["options"] = _delete_options(grower)
    return Grown("/validate", request, [])


def _pod_evicted(grower: Grower) -> Grown:
    chance = grower.chance
    pod = _pod(grower)
    eviction = grower.grown("io.k8s.api.policy.v1.Eviction")
    eviction["deleteOptions"] = _delete_options(grower)
    if chance.random() < 0.1:
        del eviction["deleteOptions"]
    eviction["metadata"] = {**(eviction.get("metadata") or {}), "name": pod["metadata"]["name"]}
    eviction["metadata"]["namespace"] = pod["metadata"]["namespace"]
    request = _request(grower, "CREATE", "pods", eviction, None, like=pod)
    request["subResource"] = "eviction"
    return Grown("/validate", request, [pod] if chance.random() < 0.95 else [])


def _node_deleted(grower: Grower) -> Grown:
    node = grower.grown(f"{_CORE}.Node")
    node["metadata"] = _metadata(grower, node) | {"name": "node-1"}
    if grower.chance.random() < 0.7:
        node["metadata"].pop("finalizers", None)
    pods = []
    for number in range(grower.chance.choice((0, 1, 1, 2))):
        pod = _pod(grower)
        pod["metadata"]["name"] = f"web-{number}"
        pods.append(pod)
    return Grown("/validate", _request(grower, "DELETE", "nodes", None, node), pods)


def _workload_written(grower: Grower) -> Grown:
    chance = grower.chance
    resource = chance.choice(tuple(_WORKLOADS))
    new = _workload(grower, resource)
    namespace = new["metadata"]["namespace"]
    if chance.random() < 0.5:
        request = _request(grower, "CREATE", resource, new, None)
    else:
        old = _workload(grower, resource)
        old["metadata"]["namespace"] = namespace
        request = _request(grower, "UPDATE", resource, new, old)
    request["resource"]["group"] = _WORKLOADS[resource][0]
    return Grown("/validate", request, [])


def _subresource(grower: Grower) -> Grown:
    """Values that no rule reads."""
    pod = _pod(grower)
    request = _request(grower, grower.chance.choice(("CREATE", "UPDATE", "DELETE")), "pods", pod, pod)
    request["subResource"] = grower.chance.choice(("status", "binding", "ephemeralcontainers", "resize", "scale"))
    return Grown(grower.chance.choice(("/mutate", "/validate")), request, [])


def _request(
    grower: Grower,
    operation: str,
    resource: str,
    new: Object | None,
    old: Object | None,
    *,
    like: Object | None = None,
) -> Object:
    """In the API server's order."""
    chance = grower.chance
    metadata = (like or new or old or {})["metadata"]
    user = chance.choice((*_USERS, *_USERS, *_USERS, *EXEMPT_USERS, _CONTROLLER))
    groups = chance.choices((["system:authenticated"], ["system:nodes"], None, []), (6, 1, 1, 1))[0]
    return {
        "uid": "705ab4f5-6393-11e8-b7cc-42010a800002",
        "resource": {"group": "", "version": "v1", "resource": resource},
        **({"name": metadata["name"]} if "name" in metadata else {}),
        **({"namespace": metadata["namespace"]} if resource != "nodes" else {}),
        "operation": operation,
        "userInfo": {"username": user, "groups": groups},
        "object": new,
        "oldObject": old,
        "dryRun": chance.choice((True, False)),
        "options": {"kind": f"{operation.capitalize()}Options", "apiVersion": "meta.k8s.io/v1"},
    }


def _delete_options(grower: Grower) -> Object:
    options = grower.grown(f"{_META}.DeleteOptions")
    options["gracePeriodSeconds"] = grower.chance.choice((0, 0, 0, 0, 0, 0, None, 1, 30, -1))
    if grower.chance.random() < 0.1:
        del options["gracePeriodSeconds"]
    return options


def _metadata(grower: Grower, entry: Object) -> Object:
    """Grown metadata with the fields that rules read."""
    chance = grower.chance
    metadata = entry.get("metadata") or {}
    annotations = dict(metadata.get("annotations") or {})
    if chance.random() < 0.2:
        annotations[_CONFIRM] = chance.choice((_UID, _UID, "", "other"))
    if chance.random() < 0.002:
        annotations["example.com/list"] = "," * 100_001
    metadata |= {"annotations": annotations, "name": "web", "namespace": chance.choice((*_NAMESPACES, *MODES))}
    metadata["uid"] = _UID if chance.random() < 0.98 else ""
    for name in ("deletionTimestamp", "deletionGracePeriodSeconds", "ownerReferences", "generateName"):
        metadata.pop(name, None)
    if chance.random() < 0.2:
        metadata["deletionTimestamp"] = "2026-11-21T03:10:00Z"
        metadata["deletionGracePeriodSeconds"] = chance.choice((0, 1, 30))
    if chance.random() < 0.3:
        version, kind = chance.choice(_OWNERS)
        owner = {"apiVersion": version, "kind": kind, "name": "web", "uid": "0-0"}
        metadata["ownerReferences"] = [owner | {"controller": chance.choice((True, True, False, None))}]
    return dict(metadata)


def _pod(grower: Grower) -> Object:
    chance = grower.chance
    pod = grower.grown(f"{_CORE}.Pod")
    pod |= {"apiVersion": "v1", "kind": "Pod", "metadata": _metadata(grower, pod)}
    if chance.random() < 0.05:
        pod["metadata"]["annotations"]["kubernetes.io/config.mirror"] = chance.choice(("x", ""))
    spec = pod["spec"] = pod.get("spec") or {"containers": []}
    _set(spec, "nodeName", chance.choices(("node-1", "", None), (8, 1, 1))[0])
    _set(spec, "terminationGracePeriodSeconds", chance.choices((30, 1, 0, None), (6, 2, 1, 1))[0])
    _set_class(grower, spec)
    status = pod["status"] = pod.get("status") or {}
    phases = ("Running", "Pending", "Unknown", "Succeeded", "Failed", None)
    _set(status, "phase", chance.choices(phases, (6, 2, 1, 1, 1, 1))[0])
    return pod


def _set(fields: Object, name: str, value: Any) -> None:
    fields.pop(name, None)
    if value is not None:
        fields[name] = value


def _set_class(grower: Grower, spec: Object) -> None:
    """Mostly as the API server's Priority plugin leaves it."""
    chance = grower.chance
    name = chance.choice(_NAMES)
    value, policy = CLASSES.get(name or "usual", (0, "PreemptLowerPriority"))
    seen = chance.random()
    _set(spec, "priorityClassName", name)
    _set(spec, "priority", value if seen < 0.7 else None if seen < 0.95 else value + 1)
    _set(spec, "preemptionPolicy", policy if seen < 0.7 else None if seen < 0.98 else "Other")


def _workload(grower: Grower, resource: str) -> Object:
    workload = grower.grown(_WORKLOADS[resource][1])
    workload["metadata"] = _metadata(grower, workload)
    spec = workload["spec"] = workload.get("spec") or {}
    if resource == "cronjobs":
        job = spec["jobTemplate"] = spec.get("jobTemplate") or {}
        spec = job["spec"] = job.get("spec") or {}
    template = spec.get("template")
    if template or grower.chance.random() < 0.9:
        template = spec["template"] = template or {}
        inside = template["spec"] = template.get("spec") or {"containers": []}
        _set_class(grower, inside)
    return workload
