"""How the API server validates a pod's resources once admission has filled in what its author left out.

A default of a LimitRange may contradict what is written: a limit below the request of its container, or above the limit
of the whole pod. The rules are those of what is written (`podrules.admission.validation.resources`); here is only what
they are asked about.

Source: pkg/registry/core/pod/strategy.go (Validate) of k8s.io/kubernetes at v1.37.1, which runs after the plugins that
change a pod.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from podrules.admission.validation.resources import validate_container_resources, validate_pod_resources
from podrules.admission.validation.view import PodContext, Rules, View
from podrules.api.model.field_error import FieldError
from podrules.api.model.pod import Container, Pod, ResourceRequirements

Content = Mapping[str, Any]


def validate_filled_resources(pod: Pod, rules: Rules) -> Iterator[FieldError]:
    """Hold the resources of a pod against their rules.

    Args:
        pod: After the plugins that change it.
        rules: The API server's version.
    """
    spec = {
        "containers": _containers(pod.spec.containers),
        "initContainers": _containers(pod.spec.init_containers),
        "resources": None if pod.spec.resources is None else _resources(pod.spec.resources),
    }
    asked = PodContext(View(spec, "spec"), View({}, "metadata"), rules, True, {}, frozenset())
    for name in ("containers", "initContainers"):
        for container in asked.spec.structs(name):
            yield from validate_container_resources(container, asked)
    yield from validate_pod_resources(asked)


def _containers(containers: Iterable[Container]) -> list[Content]:
    return [
        {"name": one.name, "restartPolicy": one.restart_policy or None, "resources": _resources(one.resources)}
        for one in containers
    ]


def _resources(own: ResourceRequirements) -> Content:
    return {
        side: {name: str(amount) for name, amount in amounts.items()}
        for side, amounts in (("limits", own.limits), ("requests", own.requests))
    }
