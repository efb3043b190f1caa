"""Feature gates with defaults that decide about placement."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest
from msgspec.structs import replace

from podrules.api.features import GATES, Features
from podrules.scheduling.placement.likely import _CONCERNS, gates_of_placement, likely_placement
from podrules.scheduling.scheduler.in_tree import IN_TREE
from podrules.scheduling.scheduler.profile import Profile
from podrules.scheduling.scheduler.runtime import new_framework
from podrules.upgrade.version_changes import PodChangeKind
from tests.podrules.scheduling.placement.building import make_node, make_pod, situation
from tests.podrules.scheduling.scheduler.plugins.building_devices import make_claim, make_class, make_device, make_slice

NEEDS = make_pod(hostNetwork=True, hostUsers=False)
CLAIMING = make_pod(resourceClaims=[{"name": "gpu", "resourceClaimName": "my-claim"}])
BROKEN = make_slice(make_device("device-1", taints=[{"key": "broken", "effect": "NoSchedule"}]))
DEVICES: dict[str, Any] = {
    "resourceClaims": [make_claim()],
    "resourceSlices": [BROKEN],
    "deviceClasses": [make_class()],
}


def named(pod: Any, minor: int, given: tuple[str, ...] = (), **lists: Any) -> list[tuple[str, bool]]:
    """The gates that an answer assumes, and their values."""
    framework = partial(new_framework, Profile("default-scheduler"))
    asked = replace(situation(pod, [make_node("node-1")], **lists), framework=framework(Features.of_minor(minor)))
    found = list(gates_of_placement(asked, likely_placement(asked), given, framework))
    assert {gate.changes for gate in found} <= {(PodChangeKind.PLACEMENT,)}
    return [(gate.name, gate.on) for gate in found]


def test_plain_pod_depends_on_none() -> None:
    assert named(make_pod(), 36) == named(make_pod(volumes=[{"name": "v", "emptyDir": {}}]), 37) == []


@pytest.mark.parametrize(
    ("minor", "gates"),
    [(34, []), (35, [("NodeDeclaredFeatures", False)]), (36, [("NodeDeclaredFeatures", True)]), (37, [])],
)
def test_gate_that_cannot_be_set_is_not_named(minor: int, gates: list[tuple[str, bool]]) -> None:
    """1.34 does not have it, and 1.37 locks it."""
    assert named(NEEDS, minor) == gates


def test_gate_that_the_user_named_is_not_named() -> None:
    assert named(NEEDS, 36, ("node_declared_features",)) == []


def test_taint_of_a_device_counts_if_its_gate_is_on() -> None:
    assert named(CLAIMING, 37, **DEVICES) == [("DRADeviceTaints", True)]
    assert ("DRADeviceTaints", False) in named(CLAIMING, 35, **DEVICES)


def test_every_gated_plugin_defines_affected_pods() -> None:
    plugins = set(IN_TREE)
    assert {change.rule for change in GATES.values()} & plugins == set(_CONCERNS)
