"""Feature gates by version."""

from __future__ import annotations

import pytest

from podrules.features import REFERENCE, REFERENCE_VERSION, Features, minor_of


@pytest.mark.parametrize(
    ("minor", "in_place", "pod_level", "in_place_pod_level", "declared_features"),
    [
        pytest.param(32, False, False, False, False, id="1.32: none"),
        pytest.param(33, True, False, False, False, id="1.33: in-place resize"),
        pytest.param(34, True, True, False, False, id="1.34: pod-level resources"),
        pytest.param(35, True, True, False, False, id="1.35"),
        pytest.param(36, True, True, True, True, id="1.36: in-place resize of pod-level resources"),
        pytest.param(99, True, True, True, True, id="newer than the reference"),
    ],
)
def test_Q1_gates_that_are_on_by_default(
    minor: int, in_place: bool, pod_level: bool, in_place_pod_level: bool, declared_features: bool
) -> None:
    assert Features.of_minor(minor) == Features(
        minor=minor,
        in_place_pod_vertical_scaling=in_place,
        pod_level_resources=pod_level,
        in_place_pod_level_resources_vertical_scaling=in_place_pod_level,
        node_declared_features=declared_features,
    )


def test_Q1_reference_is_the_version_that_the_rules_restate() -> None:
    assert REFERENCE_VERSION == "1.36.3"
    assert Features.of_minor(36) == REFERENCE


@pytest.mark.parametrize(
    ("version", "minor"),
    [
        ("v1.36.3", 36),
        ("1.36.3", 36),
        ("1.36", 36),
        ("v1.30.4-eks-036c24b", 30),
        ("v1.33.1+k3s1", 33),
        ("v1.34.0-alpha.1", 34),
        ("v1.9.0", 9),
        ("v1.36-gke.5", 36),
        ("v2.1.0", None),
        ("v1.", None),
        ("v1.x", None),
        ("v1.1234.0", None),
        ("", None),
        ("kubelet v1.36.3", None),
    ],
)
def test_minor_of_a_version(version: str, minor: int | None) -> None:
    assert minor_of(version) == minor
