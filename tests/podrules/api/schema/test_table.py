"""The schema matches upstream's sources, and lists the kinds that a version serves."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.resources import files

import pytest

from podrules.api.features import REFERENCE
from podrules.api.schema.table import schema
from release.api_schema import api_schema
from tests.upstream import upstream_source

MAX_BYTES = 200_000


def test_table_matches_upstream_sources() -> None:
    for module in ("k8s.io/api", "k8s.io/component-base", "k8s.io/kube-scheduler", "k8s.io/kubelet"):
        upstream_source(module)
    modules = upstream_source().parents[1]
    known = schema(REFERENCE.minor)
    made = api_schema(modules, (REFERENCE.minor,))

    structs = {name: fields for name, fields in made["types"].items() if isinstance(fields, Mapping)}
    assert len(structs) > 300
    for name, fields in structs.items():
        found = known.fields(name)
        assert {key: f"{'.'.join(one.through)}~{one.type}".lstrip("~") for key, one in found.items()} == fields, name
    for version, kinds in made["kinds"].items():
        assert all(known.serves(version, kind) for kind in kinds), version


def test_table_is_small() -> None:
    assert len(files("podrules.api.schema").joinpath("api.json").read_bytes()) < MAX_BYTES


@pytest.mark.parametrize(
    ("api_version", "kind", "served"),
    [
        ("v1", "Pod", {34, 35, 36, 37}),
        ("extensions/v1beta1", "Deployment", set()),
        ("policy/v1beta1", "PodDisruptionBudget", set()),
        ("policy/v1beta1", "PodSecurityPolicy", set()),
        ("apps/v1", "Pod", set()),
        ("core/v1", "Pod", set()),
        ("apiextensions.k8s.io/v1beta1", "CustomResourceDefinition", set()),
        ("apiextensions.k8s.io/v1", "CustomResourceDefinition", {34, 35, 36, 37}),
        ("settings.k8s.io/v1alpha1", "PodPreset", set()),
        ("scheduling.k8s.io/v1alpha1", "Workload", {35}),
        ("resource.k8s.io/v1", "DeviceTaintRule", {37}),
    ],
)
def test_version_serves_its_kinds(api_version: str, kind: str, served: set[int]) -> None:
    assert {minor for minor in range(34, 38) if schema(minor).serves(api_version, kind)} == served


def test_other_groups_are_not_judged() -> None:
    for api_version in (
        "autoscaling.k8s.io/v1",
        "metrics.k8s.io/v1beta1",
        "example.com/v1",
        "gateway.networking.k8s.io/v1",
    ):
        assert schema(37).serves(api_version, "Thing") is None


def test_best_version_of_a_kind_comes_first() -> None:
    assert schema(37).versions_of("HorizontalPodAutoscaler") == ("autoscaling/v2", "autoscaling/v1")
    assert schema(36).versions_of("Workload") == ("scheduling.k8s.io/v1alpha2",)
    assert schema(37).versions_of("PodSecurityPolicy") == ()
