"""The documented refusals, decided from the JSON of a review without any code of the product.

All rules belong to one configuration, `CONFIGURED`; `CLASSES` has the existing classes with their values.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from tests.controlplane.client import Object

CLASSES: Mapping[str, tuple[int, str]] = {
    "low": (10, "PreemptLowerPriority"),
    "high": (1000, "Never"),
    "usual": (5, "PreemptLowerPriority"),
    "system-node-critical": (2000001000, "PreemptLowerPriority"),
    "system-cluster-critical": (2000000000, "PreemptLowerPriority"),
}
GLOBAL_DEFAULT = "usual"
ALLOWED: Mapping[str, tuple[str, ...]] = {
    "limited": ("low",),
    "nothing": (),
    "team-*": ("low", "usual"),
    "team-all": ("*",),
}
DEFAULTS: Mapping[str, str] = {"limited": "low"}
MODES: Mapping[str, str] = {"limited": "deny", "asking": "confirm", "nothing": "warn"}
"""The configured mode of force deletions."""
LABELS: Mapping[str, Mapping[str, str]] = {
    "limited": {"force-delete": "warn"},
    "asking": {"force-delete": "deny"},
    "nothing": {"force-delete": "Deny"},
    "team-all": {"force-delete": "confirm", "default-priority-class": "high"},
    "team-a": {"default-priority-class": "high"},
    "free": {},
}
EXEMPT_USERS = ("fencer",)
_CONTROLLERS = (
    "system:kube-controller-manager",
    "system:serviceaccount:kube-system:pod-garbage-collector",
    "system:serviceaccount:kube-system:generic-garbage-collector",
    "system:serviceaccount:kube-system:namespace-controller",
    "system:serviceaccount:kube-system:node-controller",
)
_STRICTNESS = ("warn", "confirm", "deny")
_ALONE_ON_A_NODE = ("DaemonSet", "Node")


def is_refused(request: Mapping[str, Any], live: Iterable[Object]) -> bool:
    """Whether a request must be refused.

    Args:
        request: ``request`` of an AdmissionReview.
        live: The existing pods.
    """
    resource, below = request["resource"]["resource"], request.get("subResource") or ""
    operation = request["operation"]
    if below == "eviction" and operation == "CREATE":
        options = (request["object"].get("deleteOptions")) or {}
        forced = options.get("gracePeriodSeconds") == 0 and not _is_exempt(request)
        named = [pod for pod in live if pod["metadata"]["name"] == request["name"]]
        version = _of(options, "preconditions", "resourceVersion") or ""
        return forced and any(_holds(pod, request["namespace"]) or _may_start(pod, version, request) for pod in named)
    if below:
        return False
    if resource == "pods":
        if operation == "CREATE":
            of_kubelet = _is_mirror(request["object"]) and _is_kubelet(request)
            return not of_kubelet and _pod_is_refused(request["object"], request["namespace"])
        return operation == "DELETE" and _deletion_is_refused(request)
    if resource == "nodes":
        return operation == "DELETE" and _node_is_refused(request, live)
    return operation in {"CREATE", "UPDATE"} and _workload_is_refused(request)


def class_of_new_pod(pod: Object, namespace: str) -> str | None:
    """The class that a pod must get; None: it depends on the fields that the API server filled in."""
    name = _of(pod, "spec", "priorityClassName") or ""
    if _is_mirror(pod) or (name and name != GLOBAL_DEFAULT):
        return name
    if name:
        # managedFields show whether its author named it.
        return None if _of(pod, "metadata", "managedFields") else name
    own = _default(namespace)
    return None if own == GLOBAL_DEFAULT else own


def _of(entry: Mapping[str, Any] | None, *path: str) -> Any:
    """A value in nested objects; None: it is missing or null."""
    found: Any = entry
    for step in path:
        found = (found or {}).get(step)
    return found


def _allows(namespace: str, name: str) -> bool:
    entry = ALLOWED.get(namespace)
    if entry is None and namespace.startswith("team-"):
        entry = ALLOWED["team-*"]
    return entry is None or name in entry or "*" in entry


def _is_mirror(pod: Object) -> bool:
    return "kubernetes.io/config.mirror" in (_of(pod, "metadata", "annotations") or {})


def _pod_is_refused(pod: Object, namespace: str) -> bool:
    spec = pod.get("spec") or {}
    name = spec.get("priorityClassName") or ""
    if name and name not in CLASSES:
        return True
    value, policy = CLASSES[name or GLOBAL_DEFAULT]
    if spec.get("priority") not in {None, value} or spec.get("preemptionPolicy") not in {None, policy}:
        return True
    return name != "" and not _allows(namespace, name)


def _is_exempt(request: Mapping[str, Any]) -> bool:
    return request["userInfo"].get("username") in (*_CONTROLLERS, *EXEMPT_USERS) or _is_kubelet(request)


def _is_kubelet(request: Mapping[str, Any]) -> bool:
    return "system:nodes" in (request["userInfo"].get("groups") or ())


def _is_stopped(pod: Object) -> bool:
    """Whether no process of a pod runs: it has ended, never had a node, or was force deleted before."""
    return (
        _of(pod, "status", "phase") in {"Succeeded", "Failed"}
        or not _of(pod, "spec", "nodeName")
        or _of(pod, "metadata", "deletionGracePeriodSeconds") == 0
    )


def _counts(pod: Object) -> bool:
    """Whether a force deletion of a pod can be refused at all."""
    no_grace = _of(pod, "spec", "terminationGracePeriodSeconds") == 0
    return not (_is_stopped(pod) or no_grace or _is_mirror(pod))


def _may_start(pod: Object, version: str, request: Mapping[str, Any]) -> bool:
    """Whether a pod may start before its later eviction, in a namespace that does not allow every force deletion."""
    other = version != (_of(pod, "metadata", "resourceVersion") or "")
    return other and not _of(pod, "spec", "nodeName") and _mode(request["namespace"]) != "warn"


def _is_confirmed(entry: Object) -> bool:
    uid = _of(entry, "metadata", "uid")
    annotations = _of(entry, "metadata", "annotations") or {}
    return bool(uid) and annotations.get("kubectl-qos.io/confirm-force-delete") == uid


def _mode(namespace: str) -> str:
    label = LABELS[namespace].get("force-delete", "warn")
    modes = (MODES.get(namespace, "warn"), label if label in _STRICTNESS else "warn")
    return max(modes, key=_STRICTNESS.index)


def _holds(pod: Object, namespace: str) -> bool:
    """Whether a namespace refuses the force deletion of a pod."""
    mode = _mode(namespace)
    return _counts(pod) and (mode == "deny" or (mode == "confirm" and not _is_confirmed(pod)))


def _deletion_is_refused(request: Mapping[str, Any]) -> bool:
    pod, seconds = request["oldObject"], (request.get("options") or {}).get("gracePeriodSeconds")
    return seconds == 0 and not _is_exempt(request) and _holds(pod, request["namespace"])


def _node_is_refused(request: Mapping[str, Any], live: Iterable[Object]) -> bool:
    node = request["oldObject"]
    if _is_exempt(request) or _of(node, "metadata", "finalizers"):
        return False
    lost = [
        MODES.get(pod["metadata"]["namespace"], "warn")
        for pod in live
        if _of(pod, "spec", "nodeName") == node["metadata"]["name"] and _counts(pod) and not _is_alone_there(pod)
    ]
    return "deny" in lost or ("confirm" in lost and not _is_confirmed(node))


def _is_alone_there(pod: Object) -> bool:
    owners = _of(pod, "metadata", "ownerReferences") or []
    return any(owner.get("controller") and owner["kind"] in _ALONE_ON_A_NODE for owner in owners)


def _template(workload: Object, resource: str) -> Any:
    spec = workload.get("spec")
    return _of(spec, "jobTemplate", "spec", "template") if resource == "cronjobs" else _of(spec, "template")


def _class_of_template(workload: Object | None, resource: str) -> str:
    return _of(_template(workload or {}, resource), "spec", "priorityClassName") or ""


def _workload_is_refused(request: Mapping[str, Any]) -> bool:
    workload, namespace = request["object"], request["namespace"]
    resource = request["resource"]["resource"]
    owners = _of(workload, "metadata", "ownerReferences") or []
    if any(owner.get("controller") for owner in owners):
        return False
    name = _class_of_template(workload, resource)
    if request["operation"] == "UPDATE" and _class_of_template(request["oldObject"], resource) == name:
        return False
    return (name != "" and name not in CLASSES) or not _allows(namespace, name or _default(namespace))


def _default(namespace: str) -> str:
    label = LABELS[namespace].get("default-priority-class", "")
    return label if label and _allows(namespace, label) else DEFAULTS.get(namespace, GLOBAL_DEFAULT)
