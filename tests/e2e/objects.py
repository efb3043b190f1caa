"""The API objects that the tests create."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tests.controlplane.client import Object
from tests.objects import raw_pod, raw_workload

NOWHERE = "no-scheduler"
"""A scheduler that does not run: a pod that names it stays where the test puts it."""


def make_pod(namespace: str, name: str = "web", **more: Any) -> Object:
    """A pod as `raw_pod` makes it, labelled with its name; no scheduler handles it unless ``more`` names one."""
    return raw_pod(name, namespace, labels={"app": name}, **{"schedulerName": NOWHERE, **more})


def make_workload(kind: str, namespace: str, pod_spec: Mapping[str, Any], name: str = "web", **spec: Any) -> Object:
    """As `raw_workload` makes it."""
    return raw_workload(kind, name, namespace, pod_spec=pod_spec, **spec)


def node_name(node: Mapping[str, Any]) -> str:
    """The name of a node."""
    name: str = node["metadata"]["name"]
    return name
