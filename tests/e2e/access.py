"""Users and their rights."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.controlplane.client import Object
from tests.controlplane.control_plane import ControlPlane
from tests.waiting import wait_for

_RBAC = "rbac.authorization.k8s.io"


def allow(
    control_plane: ControlPlane, namespace: str, subject: Mapping[str, str], rules: Mapping[str, Sequence[str]]
) -> None:
    """Grants a subject rights in one namespace: verbs by resource (``pods``, ``replicasets.apps``)."""
    made = [
        {"apiGroups": [group], "resources": [resource], "verbs": list(verbs)}
        for name, verbs in rules.items()
        for resource, _, group in [name.partition(".")]
    ]
    role = {"metadata": {"name": "own", "namespace": namespace}, "rules": made}
    _bind(control_plane, namespace, subject, {"apiVersion": f"{_RBAC}/v1", "kind": "Role", **role})


def robot(control_plane: ControlPlane, namespace: str, rules: Mapping[str, Sequence[str]] | None = None) -> Path:
    """The kubeconfig of a service account that may view its namespace, or has the rights in ``rules``."""
    kubeconfig = control_plane.kubeconfig_for_service_account("robot", namespace)
    subject = {"kind": "ServiceAccount", "name": "robot", "namespace": namespace}
    if rules is None:
        _bind(control_plane, namespace, subject, {"kind": "ClusterRole", "metadata": {"name": "view"}})
    else:
        allow(control_plane, namespace, subject, rules)
    return kubeconfig


def _bind(control_plane: ControlPlane, namespace: str, subject: Mapping[str, str], role: Object) -> None:
    name = role["metadata"]["name"]
    binding = {
        "apiVersion": f"{_RBAC}/v1",
        "kind": "RoleBinding",
        "metadata": {"name": name, "namespace": namespace},
        "roleRef": {"apiGroup": _RBAC, "kind": role["kind"], "name": name},
        "subjects": [{**subject, **({"apiGroup": _RBAC} if subject["kind"] != "ServiceAccount" else {})}],
    }
    control_plane.apply([role, binding] if "rules" in role else [binding])
    wait_for(lambda: _allowed(control_plane, namespace, subject), f"{subject['name']} may get pods in {namespace}")


def _allowed(control_plane: ControlPlane, namespace: str, subject: Mapping[str, str]) -> bool:
    """Whether the API server's authorizer has seen the binding."""
    who: dict[str, Any] = {"user": subject["name"]}
    if subject["kind"] == "ServiceAccount":
        who = {"user": f"system:serviceaccount:{subject['namespace']}:{subject['name']}"}
    if subject["kind"] == "Group":
        who = {"user": "anybody", "groups": [subject["name"]]}
    wanted = {"verb": "get", "resource": "pods", "namespace": namespace}
    review = {"spec": {**who, "resourceAttributes": wanted}}
    path = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
    answer = control_plane.api.request("POST", path, {"apiVersion": "authorization.k8s.io/v1", **review})
    return bool(answer["status"]["allowed"])
