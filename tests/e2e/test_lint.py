"""What ``kubectl qos lint`` calls an error the API server refuses, and what has none it takes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from podrules.api.features import REFERENCE
from podrules.api.schema.table import schema
from podrules.lint.finding import Level
from podrules.lint.objects import Objects
from podrules.lint.rules import check
from podrules.lint.shape import read_manifest
from tests.controlplane.client import ApiError
from tests.controlplane.control_plane import ControlPlane

pytestmark = pytest.mark.controlplane

DATA = Path(__file__).resolve().parents[1] / "testdata" / "lint"
REFUSED_UNLESS = {"priority-without-class"}
"""Warnings that say that it depends on the cluster: this one has no default class."""


def _read(name: str) -> list[dict[str, Any]]:
    return list(yaml.safe_load_all((DATA / f"{name}.yaml").read_text(encoding="utf-8")))


def _problem(control_plane: ControlPlane, entry: dict[str, Any], namespace: str) -> str:
    """What the API server objects to; empty: it takes the object."""
    api = control_plane.api
    entry = {**entry, "metadata": {**entry["metadata"], "namespace": namespace}}
    if entry["kind"] == "PriorityClass":
        del entry["metadata"]["namespace"]
    try:
        path = api.path(entry["apiVersion"], entry["kind"], entry["metadata"].get("namespace"))
    except LookupError as error:
        return f"400 {error}"
    try:
        api.request("POST", path, entry, query={"dryRun": "All", "fieldValidation": "Strict"})
    except ApiError as error:
        return str(error)
    return ""


def test_errors_are_refused(control_plane: ControlPlane, namespace: str) -> None:
    entries = _read("refused")
    problems = [_problem(control_plane, entry, namespace) for entry in entries]
    taken = [entry["metadata"] for entry, problem in zip(entries, problems, strict=True) if not problem]
    assert len(entries) > 50
    assert taken == []
    # Refused for what it says, and not for want of permission or of a namespace.
    assert {problem.split()[0] for problem in problems} <= {"400", "403", "422"}


def test_object_without_errors_is_accepted(control_plane: ControlPlane, namespace: str) -> None:
    entries = _read("unwanted")
    manifests = [read_manifest(number, entry, known=schema(REFERENCE.minor)) for number, entry in enumerate(entries)]
    findings = check(Objects.of([one.manifest for one in manifests if one.manifest is not None]))
    assert not [one.findings for one in manifests if one.findings]
    assert not [finding for finding in findings if finding.rule.level is Level.ERROR]
    expected = {finding.position for finding in findings if finding.rule.name in REFUSED_UNLESS}
    problems = {number: _problem(control_plane, entry, namespace) for number, entry in enumerate(entries)}
    assert {number for number, problem in problems.items() if problem} == expected, problems
