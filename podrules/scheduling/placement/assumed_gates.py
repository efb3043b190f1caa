"""The feature gates that decide the placement by their default, while the scheduler's own setting is unknown.

Each gate that is settable in the scheduler's version and read by a plugin that applies to the pod is flipped, and the
pod is placed again. Gates that change the requests of other pods are left out: all pods would have to be counted again.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Final

from msgspec.structs import replace

from podrules.api.features import GATES, Features
from podrules.api.model.pod import Pod
from podrules.pod.resources import pod_requests
from podrules.scheduling.placement.likely import likely_placement
from podrules.scheduling.placement.outcome import Placement
from podrules.scheduling.placement.situation import Situation
from podrules.scheduling.scheduler.plugins.dynamic_resources.claims import is_extended_resource
from podrules.scheduling.scheduler.plugins.one_field import required_features
from podrules.scheduling.scheduler.plugins.volume_binding.storage_index import claim_reference
from podrules.scheduling.scheduler.runtime import Framework
from podrules.upgrade.version_changes import AssumedGate, PodChangeKind


def gates_of_placement(
    situation: Situation, placed: Placement, named: Collection[str], framework: Callable[[Features], Framework]
) -> Iterator[AssumedGate]:
    """The gates that decide a pod's placement and that the user did not set.

    Args:
        situation: The pod and the cluster.
        placed: The placement with the gates' defaults.
        named: Fields of `Features` for the gates that the user set.
        framework: The plugins of the pod's profile by other rules.
    """
    own = situation.features
    for field, change in GATES.items():
        concerns = _CONCERNS.get(change.rule)
        if concerns is None or field in named or not change.can_be_set(own.gates_of) or not concerns(situation.pod):
            continue
        on: bool = getattr(own, field)
        other = replace(situation, framework=framework(replace(own, **{field: not on})))
        if _choice(likely_placement(other, ways_out=False)) != _choice(placed):
            yield AssumedGate(change.gate, on, (PodChangeKind.PLACEMENT,))


def every_gate(features: Features) -> Features:
    """The same with every gate on that can be set: what these read suffices for each of them."""
    on = {field: True for field, change in GATES.items() if change.can_be_set(features.gates_of)}
    return replace(features, **on)


def _choice(placement: Placement) -> tuple[object, ...]:
    """What the scheduler does and says."""
    return placement.outcome, placement.best, placement.message, placement.reason


def _has_claims(pod: Pod) -> bool:
    return any(claim_reference(pod, volume) is not None for volume in pod.spec.volumes)


def _wants_devices(pod: Pod) -> bool:
    return bool(pod.spec.resource_claims) or any(map(is_extended_resource, pod_requests(pod)))


def _needs_features(pod: Pod) -> bool:
    return bool(required_features(pod))


_CONCERNS: Final[Mapping[str, Callable[[Pod], bool]]] = {
    "DynamicResources": _wants_devices,
    "NodeDeclaredFeatures": _needs_features,
    "NodeVolumeLimits": _has_claims,
    "VolumeBinding": _has_claims,
}
"""Whether a plugin has to do with a pod, by the plugin's name; the other gates are no plugin's."""
