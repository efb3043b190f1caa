"""Builders of pods with their usage, as short as a table row."""

from __future__ import annotations

from typing import Any

from podrules.api.model.decode import from_object
from podrules.api.model.kubelet import KubeletConfiguration, PodStats, Summary
from podrules.api.model.pod import Pod
from podrules.api.model.quantity import Quantity
from tests.objects import make_pod, raw_container


def amount(text: str) -> int:
    """Bytes or a count."""
    return Quantity.parse(text).value


def pod(name: str, priority: int | None = None, request: str = "", **fields: Any) -> Pod:
    """A pod with one container, ``app``, that requests this memory."""
    container = raw_container(requests={"memory": request} if request else None)
    return make_pod(name, uid=name, priority=priority, **{"containers": [container], **fields})


def stats(of: str, memory: str = "0", **fields: Any) -> PodStats:
    """The usage of the pod with this name: its working set, and further fields as the kubelet writes them."""
    used = {"workingSetBytes": amount(memory)}
    containers = [{"name": "app", "memory": used}]
    return from_object({"podRef": {"uid": of}, "memory": used, "containers": containers, **fields}, PodStats)


def node_memory(available: str, working_set: str = "4Gi", time: str = "2026-01-01T00:00:00Z") -> dict[str, Any]:
    """The field ``memory`` of a node."""
    return {"time": time, "availableBytes": amount(available), "workingSetBytes": amount(working_set)}


def summary(*pods: PodStats, **node: Any) -> Summary:
    """A node's measurements; ``node`` has fields of NodeStats as the kubelet writes them."""
    measured = from_object({"node": node}, Summary)
    return Summary(measured.node, pods)


def configuration(**fields: Any) -> KubeletConfiguration:
    """A kubelet's configuration, fields as in its file."""
    return from_object(fields, KubeletConfiguration)
