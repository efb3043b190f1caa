"""Permissions, one resource at a time."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from cluster_io.live.client import ClientTransport
from tests.charts.chart import of_kind
from tests.controlplane.client import Object

_SELF = (
    "selfsubjectaccessreviews.authorization",
    "selfsubjectrulesreviews.authorization",
    "selfsubjectreviews.authentication",
)
_NODES_ALONE = "node authorizer does not support user rule resolution"
"""The kubelet authorizer's answer; the answer of RBAC lists all."""


class Grant(NamedTuple):
    """One resource of one rule."""

    where: str
    resource: str
    names: tuple[str, ...]
    verbs: tuple[str, ...]


GRANTED_TO_ALL = {Grant("", f"{resource}.k8s.io", (), ("create",)) for resource in _SELF}
"""The permissions that Kubernetes grants to each ServiceAccount."""


def granted(objects: list[Object]) -> Iterator[Grant]:
    """The permissions of those objects that are roles."""
    for role in of_kind("ClusterRole", objects) + of_kind("Role", objects):
        yield from _of_rules(role["rules"], role["metadata"].get("namespace", ""))


def granted_to_token(transport: ClientTransport, namespace: str) -> set[Grant]:
    """The permissions of a token in a namespace according to the API server, with the namespace as ``where``."""
    review = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SelfSubjectRulesReview",
        "spec": {"namespace": namespace},
    }
    path = "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews"
    status, body, _ = transport.send("POST", path, json.dumps(review).encode())
    assert status == 201
    found = json.loads(body)["status"]
    assert not found["incomplete"] or found.get("evaluationError") == _NODES_ALONE
    assert all(rule["verbs"] == ["get"] for rule in found["nonResourceRules"])
    return set(_of_rules(found["resourceRules"], namespace))


def _of_rules(rules: Iterable[Object], where: str) -> Iterator[Grant]:
    for rule in rules:
        assert set(rule) <= {"apiGroups", "resources", "resourceNames", "verbs"}
        for group in rule["apiGroups"]:
            for resource in rule["resources"]:
                name = f"{resource}.{group}" if group else resource
                yield Grant(where, name, tuple(rule.get("resourceNames", ())), tuple(rule["verbs"]))
