"""Users and their rights."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.controlplane.client import Object
from tests.controlplane.control_plane import ControlPlane
from tests.objects import raw_object
from tests.waiting import wait_for

_RBAC = "rbac.authorization.k8s.io"
Rules = Mapping[str, Sequence[str]]
"""Verbs by resource (``pods``, ``replicasets.apps``)."""


def role(kind: str, name: str, rules: Rules, namespace: str | None = None) -> Object:
    """A Role or ClusterRole."""
    made = [
        {"apiGroups": [group], "resources": [resource], "verbs": list(verbs)}
        for place, verbs in rules.items()
        for resource, _, group in [place.partition(".")]
    ]
    return raw_object(kind, name, namespace, rules=made)


def binding(of: Object, subject: Mapping[str, str], namespace: str | None = None, name: str | None = None) -> Object:
    """A RoleBinding in a namespace, else a ClusterRoleBinding."""
    known = of["metadata"]["name"]
    reference = {"apiGroup": _RBAC, "kind": of["kind"], "name": known}
    group = {} if subject["kind"] == "ServiceAccount" else {"apiGroup": _RBAC}
    kind = "RoleBinding" if namespace else "ClusterRoleBinding"
    return raw_object(kind, name or known, namespace, roleRef=reference, subjects=[{**subject, **group}])


def rights_everywhere(user: str, rules: Rules) -> list[Object]:
    """A ClusterRole with the name of a user, and its binding."""
    made = role("ClusterRole", user, rules)
    return [made, binding(made, {"kind": "User", "name": user})]


def everywhere(control_plane: ControlPlane, user: str, rules: Rules) -> Path:
    """The kubeconfig of a user with these rights; returns when the user may list pods."""
    control_plane.apply(rights_everywhere(user, rules))
    wait_for(lambda: may(control_plane, user, "list"), f"{user} may list pods")
    return control_plane.kubeconfig_for_client_certificate(user)


def allow(control_plane: ControlPlane, namespace: str, subject: Mapping[str, str], rules: Rules) -> None:
    """Grants a subject rights in one namespace."""
    _bind(control_plane, namespace, subject, role("Role", "own", rules, namespace))


def robot(control_plane: ControlPlane, namespace: str, rules: Rules | None = None) -> Path:
    """The kubeconfig of a service account that may view its namespace, or has the rights in ``rules``."""
    kubeconfig = control_plane.kubeconfig_for_service_account("robot", namespace)
    subject = {"kind": "ServiceAccount", "name": "robot", "namespace": namespace}
    if rules is None:
        _bind(control_plane, namespace, subject, {"kind": "ClusterRole", "metadata": {"name": "view"}})
    else:
        allow(control_plane, namespace, subject, rules)
    return kubeconfig


def _bind(control_plane: ControlPlane, namespace: str, subject: Mapping[str, str], of: Object) -> None:
    bound = binding(of, subject, namespace)
    control_plane.apply([of, bound] if "rules" in of else [bound])
    name, groups = subject["name"], []
    if subject["kind"] == "ServiceAccount":
        name = f"system:serviceaccount:{subject['namespace']}:{name}"
    if subject["kind"] == "Group":
        name, groups = "anybody", [name]
    wait_for(lambda: may(control_plane, name, "get", namespace, groups), f"{name} may get pods in {namespace}")


def may(control_plane: ControlPlane, user: str, verb: str, namespace: str = "", groups: Sequence[str] = ()) -> bool:
    """Whether the API server's authorizer lets a user read pods."""
    wanted = {"verb": verb, "resource": "pods", "namespace": namespace}
    spec = {"user": user, "groups": list(groups), "resourceAttributes": wanted}
    body = {"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview", "spec": spec}
    answer = control_plane.api.request("POST", "/apis/authorization.k8s.io/v1/subjectaccessreviews", body)
    return bool(answer["status"]["allowed"])
