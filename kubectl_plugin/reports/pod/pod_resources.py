"""A pod's total requests and limits (Q4)."""

from __future__ import annotations

from msgspec import Struct

from podrules.api.model.base import ResourceList
from podrules.api.model.node import Node
from podrules.api.model.pod import Pod
from podrules.pod.resources import (
    CPU,
    MEMORY,
    PodResourcesOptions,
    SchedulerRequest,
    allocated_pod,
    pod_limits,
    pod_requests,
    scheduler_options,
    scheduler_request,
)
from podrules.pod.versions import Versions


class ResourcesReport(Struct, frozen=True, rename="camel"):
    """The pod's requests and limits (Q4)."""

    requests: dict[str, str]
    limits: dict[str, str]
    scheduler: SchedulerRequest
    allocated: dict[str, str] | None
    """Requests that the kubelet has granted, if they differ: a resize is not finished."""
    node_allocatable: dict[str, str] | None


def pod_resources(pod: Pod, node: Node | None, versions: Versions) -> ResourcesReport:
    """The sums of a pod, and the allocatable resources of its node."""
    options = scheduler_options(versions.scheduler)
    plain = PodResourcesOptions(skip_pod_level_resources=options.skip_pod_level_resources)
    wanted = pod_requests(pod, plain)
    granted = pod_requests(allocated_pod(pod, features=versions.kubelet(node)), plain)
    return ResourcesReport(
        requests=_texts(pod_requests(pod, options)),
        limits=_texts(pod_limits(pod, options)),
        scheduler=scheduler_request(pod, versions.scheduler),
        allocated=None if granted == wanted else _texts(granted),
        node_allocatable=None if node is None else _texts(node.status.allocatable),
    )


def _texts(amounts: ResourceList) -> dict[str, str]:
    order = sorted(amounts, key=lambda name: (name != CPU, name != MEMORY, name))
    return {name: str(amounts[name]) for name in order}
