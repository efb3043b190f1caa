"""The schema matches upstream's sources, and lists the kinds that a version serves."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from podrules.api.features import REFERENCE, VERIFIED
from podrules.api.schema.table import schema, wire_fields
from release.api_schema import API, WIRE, api_schema, written
from release.api_schema import wire_fields as generate_wire_fields
from tests.upstream import upstream_source

MAX_BYTES = 100_000
FORMER_FIELDS = {"core.PodSpec": {"workloadRef"}, "core.NodeAllocatableResourceClaimStatus": {"resources"}}
"""Fields that the newest version lacks; their numbers stay reserved."""


def _modules() -> Path:
    for module in ("k8s.io/api", "k8s.io/apimachinery", "k8s.io/component-base", "k8s.io/kube-scheduler"):
        upstream_source(module)
    return upstream_source("k8s.io/kubelet").parents[1]


def test_table_matches_upstream_sources() -> None:
    upstream_source()
    known = schema(REFERENCE.minor)
    made = api_schema(_modules(), (REFERENCE.minor,))

    structs = {name: fields for name, fields in made["types"].items() if isinstance(fields, Mapping)}
    assert len(structs) > 300
    for name, fields in structs.items():
        found = known.fields(name)
        assert {key: f"{'.'.join(one.through)}~{one.type}".lstrip("~") for key, one in found.items()} == fields, name
    for version, kinds in made["kinds"].items():
        assert all(known.serves(version, kind) for kind in kinds), version


def test_protobuf_numbers_match_upstream_sources() -> None:
    made = generate_wire_fields(_modules(), (REFERENCE.minor,))

    assert len(made) > 250
    for name, fields in made.items():
        known = {key: f"{number} {kind}" for key, (number, kind) in wire_fields(name).items()}
        former = known.keys() - fields.keys()
        assert {key: kind for key, kind in known.items() if key not in former} == fields, name
        assert former == FORMER_FIELDS.get(name, set()), name


def test_files_are_those_that_all_versions_give() -> None:
    modules = _modules()
    missing = [version for version in VERIFIED.values() if not (modules / f"k8s.io/kubernetes@v{version}").is_dir()]
    if missing:
        # CI downloads only the newest; a release's author has them all.
        pytest.skip(f"no k8s.io/kubernetes at {', '.join(missing)} in Go's module cache")
    assert API.read_text(encoding="utf-8") == written(api_schema(modules))
    assert WIRE.read_text(encoding="utf-8") == written(generate_wire_fields(modules))


def test_tables_are_small() -> None:
    assert len(API.read_bytes()) < MAX_BYTES
    assert len(WIRE.read_bytes()) < MAX_BYTES


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
