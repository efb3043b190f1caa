"""Builders of claims, slices and classes, and of a cycle over them; amounts are written as in manifests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from podrules.api.features import REFERENCE, Features
from podrules.api.model.decode import from_object
from podrules.api.model.node import Node
from podrules.api.model.pod import Pod
from podrules.api.model.snapshot import ClusterSnapshot
from podrules.scheduling.scheduler.framework.interface import CycleContext
from podrules.scheduling.scheduler.framework.node_table import NodeTable
from tests.objects import raw_node, raw_pod

DRIVER = "gpu.example.com"
NOW = datetime(2026, 6, 1, tzinfo=UTC)

JSON = Mapping[str, Any]


def make_context(
    pod: Pod,
    *,
    nodes: Sequence[JSON | str] = ("node-1",),
    claims: Sequence[JSON] = (),
    slices: Sequence[JSON] = (),
    classes: Sequence[JSON] | None = None,
    features: Features = REFERENCE,
    now: datetime | None = NOW,
) -> CycleContext:
    """A cycle; a node may be given by name; without classes there is one for the driver."""
    lists = {
        "nodes": [raw_node(node) if isinstance(node, str) else node for node in nodes],
        "resourceClaims": list(claims),
        "resourceSlices": list(slices),
        "deviceClasses": list(classes) if classes is not None else [make_class()],
    }
    snapshot = from_object(lists, ClusterSnapshot)
    nodes_seen: Sequence[Node] = snapshot.nodes
    return CycleContext(pod, NodeTable(nodes_seen, ()), snapshot, features, {}, {}, now)


def make_claiming_pod(
    *claims: str,
    template_claims: Mapping[str, str | None] | None = None,
    statuses: Mapping[str, str | None] | None = None,
    requests: Mapping[str, str] | None = None,
    init_containers: Sequence[JSON] = (),
    containers: Sequence[JSON] | None = None,
) -> Pod:
    """A pod with claims by name, and others from templates, which its status names."""
    references: list[JSON] = [{"name": name, "resourceClaimName": name} for name in claims]
    references += [{"name": name, "resourceClaimTemplateName": kind} for name, kind in (template_claims or {}).items()]
    found = [
        {"name": name} | ({"resourceClaimName": claim} if claim is not None else {})
        for name, claim in (statuses or {}).items()
    ]
    pod = raw_pod(
        "my-pod",
        "default",
        uid="1234",
        requests=requests,
        containers=containers,
        initContainers=init_containers,
        resourceClaims=references,
        status={"resourceClaimStatuses": found},
    )
    return from_object(pod, Pod)


def make_class(name: str = "gpu", *expressions: str, extended_resource: str | None = None) -> JSON:
    """A device class; without expressions it takes the devices of the driver."""
    chosen = expressions or (f"device.driver == '{DRIVER}'",)
    spec: dict[str, Any] = {"selectors": [{"cel": {"expression": expression}} for expression in chosen]}
    if extended_resource:
        spec["extendedResourceName"] = extended_resource
    return {"metadata": {"name": name}, "spec": spec}


def make_request(
    name: str = "req-0",
    *,
    device_class: str = "gpu",
    count: int = 1,
    selector: str = "",
    first_available: Sequence[JSON] = (),
    **fields: Any,
) -> JSON:
    """A request; other fields as in manifests, ``allocationMode`` and ``adminAccess`` among them."""
    if first_available:
        return {"name": name, "firstAvailable": [{"name": sub["name"], **sub["exactly"]} for sub in first_available]}
    exactly: dict[str, Any] = {"deviceClassName": device_class, "count": count, **fields}
    if selector:
        exactly["selectors"] = [{"cel": {"expression": selector}}]
    return {"name": name, "exactly": exactly}


def make_claim(
    name: str = "my-claim",
    *requests: JSON,
    constraints: Sequence[JSON] = (),
    allocated: Sequence[JSON | str] | None = None,
    node: str = "",
    devices: Sequence[JSON] = (),
    timestamp: str | None = None,
    **metadata: Any,
) -> JSON:
    """A claim; ``allocated`` lists results, or devices of the pool ``pool-1`` by name."""
    status: dict[str, Any] = {"devices": list(devices)}
    if allocated is not None:
        default = {"request": "req-0", "driver": DRIVER, "pool": "pool-1"}
        results = [default | ({"device": one} if isinstance(one, str) else dict(one)) for one in allocated]
        status["allocation"] = {"devices": {"results": results}, "allocationTimestamp": timestamp}
        if node:
            fields = [{"key": "metadata.name", "operator": "In", "values": [node]}]
            status["allocation"]["nodeSelector"] = {"nodeSelectorTerms": [{"matchFields": fields}]}
    spec = {"devices": {"requests": list(requests or (make_request(),)), "constraints": list(constraints)}}
    return {"metadata": {"name": name, "namespace": "default", **metadata}, "spec": spec, "status": status}


def make_device(
    name: str,
    *,
    attributes: Mapping[str, bool | int | str | JSON] | None = None,
    capacity: Mapping[str, str | JSON] | None = None,
    counters: Mapping[str, Mapping[str, str]] | None = None,
    **fields: Any,
) -> JSON:
    """A device; attributes by their Python type, versions as ``{"version": …}``; other fields as in manifests."""
    held = {
        key: value if isinstance(value, Mapping) else {_kind(value): value} for key, value in (attributes or {}).items()
    }
    amounts = {
        key: value if isinstance(value, Mapping) else {"value": value} for key, value in (capacity or {}).items()
    }
    consumed = [
        {"counterSet": key, "counters": {counter: {"value": amount} for counter, amount in each.items()}}
        for key, each in (counters or {}).items()
    ]
    return {"name": name, "attributes": held, "capacity": amounts, "consumesCounters": consumed, **fields}


def _kind(value: bool | int | str) -> str:
    return {bool: "bool", int: "int", str: "string"}[type(value)]


def make_slice(
    *devices: JSON | str,
    name: str = "slice-1",
    pool: str = "pool-1",
    node: str = "node-1",
    driver: str = DRIVER,
    generation: int = 1,
    slices: int = 1,
    counters: Mapping[str, Mapping[str, str]] | None = None,
    **fields: Any,
) -> JSON:
    """A slice of one node, or, with ``node=""``, of the nodes that other fields name; ``counters`` are shared ones."""
    spec: dict[str, Any] = {
        "driver": driver,
        "pool": {"name": pool, "generation": generation, "resourceSliceCount": slices},
        "devices": [make_device(one) if isinstance(one, str) else one for one in devices],
        "sharedCounters": [
            {"name": key, "counters": {counter: {"value": amount} for counter, amount in each.items()}}
            for key, each in (counters or {}).items()
        ],
        **fields,
    }
    if node:
        spec["nodeName"] = node
    return {"metadata": {"name": name}, "spec": spec}
