"""The API objects that the tests create."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tests.controlplane.client import Object

__all__ = ["NOWHERE", "container", "make_class", "make_pod", "make_workload", "node_name", "on"]

NOWHERE = "nobody"
"""A scheduler that does not run: a pod that names it stays where the test puts it."""


def container(
    name: str = "app",
    requests: Mapping[str, str] | None = None,
    limits: Mapping[str, str] | None = None,
    **more: Any,
) -> Object:
    """A container, init container or, with ``restartPolicy="Always"``, sidecar."""
    amounts = {"requests": requests, "limits": limits}
    resources = {kind: dict(given) for kind, given in amounts.items() if given is not None}
    return {"name": name, "image": "registry.example.com/app:1", "resources": resources, **more}


def make_pod(
    namespace: str,
    name: str = "web",
    *,
    requests: Mapping[str, str] | None = None,
    limits: Mapping[str, str] | None = None,
    **spec: Any,
) -> Object:
    """A pod of one container, as its author would write it; it is scheduled by nobody unless ``spec`` says so."""
    own = {"schedulerName": NOWHERE, "containers": [container(requests=requests, limits=limits)], **spec}
    metadata = {"name": name, "namespace": namespace, "labels": {"app": name}}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": own}


def make_class(name: str, value: int, **more: Any) -> Object:
    """A PriorityClass."""
    return {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": name},
        "value": value,
        **more,
    }


def make_workload(kind: str, namespace: str, pod_spec: Mapping[str, Any], name: str = "web", **spec: Any) -> Object:
    """A Deployment, ReplicaSet, StatefulSet, DaemonSet or Job of pods labelled with its name."""
    selector = {} if kind == "Job" else {"selector": {"matchLabels": {"app": name}}}
    template = {"metadata": {"labels": {"app": name}}, "spec": dict(pod_spec)}
    return {
        "apiVersion": "batch/v1" if kind == "Job" else "apps/v1",
        "kind": kind,
        "metadata": {"name": name, "namespace": namespace},
        "spec": {**selector, "template": template, **spec},
    }


def node_name(node: Mapping[str, Any]) -> str:
    """The name of a node."""
    name: str = node["metadata"]["name"]
    return name


def on(node: Mapping[str, Any]) -> Mapping[str, str]:
    """A node selector that only this node matches."""
    return {"kubernetes.io/hostname": node_name(node)}
