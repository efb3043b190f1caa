"""The output of `-o json` has the recorded schema."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from kubectl_plugin.reports.schema import REPORTS, schema_of
from tests.golden import check
from tests.kubectl_plugin.running import run

SCHEMAS = Path(__file__).resolve().parents[3] / "docs" / "schema"


def _printed(*arguments: str) -> dict[str, Any]:
    ran = run("explain", "--demo", *arguments, "-o", "json")
    assert ran.code == 0, ran.err
    printed: dict[str, Any] = json.loads(ran.out)
    return printed


@pytest.mark.parametrize("kind", REPORTS)
def test_schema_is_written_down(kind: str) -> None:
    check(SCHEMAS / f"{kind}.json", json.dumps(schema_of(kind), indent=2) + "\n")


@pytest.mark.parametrize("namespace", ["shop", "data", "batch", "ml", "monitoring", "kube-system"])
def test_pods_fit_their_schema(namespace: str) -> None:
    printed = _printed("-n", namespace, "pods")
    assert printed["kind"] == "List"
    assert printed["items"]
    validator = jsonschema.Draft202012Validator(schema_of("PodExplanation"))
    for item in printed["items"]:
        validator.validate(item)


@pytest.mark.parametrize(
    ("target", "kind"),
    [
        ("nodes", "NodeExplanation"),
        ("deployments", "WorkloadExplanation"),
        ("statefulsets", "WorkloadExplanation"),
    ],
)
def test_others_fit_their_schema(target: str, kind: str) -> None:
    validator = jsonschema.Draft202012Validator(schema_of(kind))
    for item in _printed("-n", "shop", target)["items"]:
        assert item["kind"] == kind
        validator.validate(item)


def test_single_object_is_not_a_list() -> None:
    printed = _printed("-n", "shop", "pod/db-0")
    assert (printed["apiVersion"], printed["kind"], printed["name"]) == ("kubectl-qos/v1", "PodExplanation", "db-0")


def test_json_and_yaml_agree() -> None:
    import yaml

    as_json = run("explain", "--demo", "-n", "shop", "pod/db-1", "-o", "json")
    as_yaml = run("explain", "--demo", "-n", "shop", "pod/db-1", "-o", "yaml")
    assert yaml.safe_load(as_yaml.out) == json.loads(as_json.out)


@pytest.mark.parametrize(
    "arguments", [("-f", "tests/testdata/manifests/checkout.yaml", "--replicas", "9"), ("--drain", "node/node-a1")]
)
def test_plans_fit_their_schema(arguments: tuple[str, ...]) -> None:
    printed = json.loads(run("place", "--demo", *arguments, "-o", "json").out)
    jsonschema.Draft202012Validator(schema_of("PlacementPlan")).validate(printed)
