"""Short forms for requests and room: ``cpu=1m memory=2 example.com/aaa=3``."""

from __future__ import annotations

from collections.abc import Sequence

from podrules.api.model.node import Node
from podrules.api.model.pod import Pod
from podrules.scheduling.scheduler.plugins.node_resources.scoring import ResourceSpec
from tests.controlplane.client import Object
from tests.objects import make_node, make_pod, raw_container

SHORT = {"storage": "ephemeral-storage", "aaa": "example.com/aaa", "bbb": "example.com/bbb", "huge": "hugepages-2Mi"}


def amounts_of(text: str) -> dict[str, str]:
    """Amounts by resource."""
    pairs = (entry.split("=") for entry in text.split())
    return {SHORT.get(name, name): amount for name, amount in pairs}


def asking(text: str, *, sidecar: bool = False) -> Object:
    """A container with these requests."""
    return raw_container(requests=amounts_of(text), restartPolicy="Always" if sidecar else None)


def pod_asking(
    *containers: str,
    init: Sequence[str] = (),
    sidecars: Sequence[str] = (),
    overhead: str = "",
    own: str | None = None,
    on: str = "",
) -> Pod:
    """A pod with these containers; ``own`` are its pod-level requests, ``on`` its node."""
    return make_pod(
        containers=[asking(text) for text in containers],
        initContainers=[*(asking(text, sidecar=True) for text in sidecars), *map(asking, init)],
        overhead=amounts_of(overhead),
        resources=None if own is None else {"requests": amounts_of(own)},
        nodeName=on,
    )


def make_room(name: str, text: str) -> Node:
    """A node with this much room; for 110 pods unless given."""
    return make_node(name, allocatable={"pods": "110"} | amounts_of(text))


def specs(text: str) -> tuple[ResourceSpec, ...]:
    """``cpu=1 memory=2``: resources with their weights."""
    return tuple(ResourceSpec(name, int(weight)) for name, weight in amounts_of(text).items())
