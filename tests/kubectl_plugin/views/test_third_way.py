"""The alternative to fencing and force deletion for a lost StatefulSet pod: the application removes the member."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pytest

from tests.kubectl_plugin.answers import check_texts, said
from tests.tree import ROOT

CASE: Final = ROOT / "tests" / "testdata" / "cases" / "field" / "partpdb.json"
FORCE: Final = ("delete", "pod/pet-2", "--grace-period=0", "--snapshot")
WAY: Final = (
    "Or remove it in the application if a majority decides there: the other 2 of 3 are a majority; "
    "empty its volume, and add --confirm."
)
SURE: Final = (
    "Or remove it in the application, where the other 2 of 3 are a majority; empty its volume, and add --confirm."
)
Json = dict[str, Any]


def _changed(folder: Path, change: Callable[[Json], None]) -> str:
    """The case with each object changed."""
    cluster = json.loads(CASE.read_text())
    for one in cluster["items"]:
        change(one)
    file = folder / "cluster.json"
    file.write_text(json.dumps(cluster))
    return str(file)


def test_F3_majority_may_remove_the_member() -> None:
    preview = said(*FORCE, str(CASE))
    assert f"Safer: fence node-a once its machine is off. {WAY}" in preview
    assert "to remove pet-2 in the application: its own command or API" in preview
    assert "the next pet-2 starts on the old data: to join it needs an empty claim, as a rule" in preview
    assert "the old pet-2 may still write to data" in preview
    page = said("explain", "pod/pet-2", "--snapshot", str(CASE))
    assert "or remove it in the application first, if its other members are a majority" in page


def _with_image(image: str) -> Callable[[Json], None]:
    def change(one: Json) -> None:
        if one["kind"] == "Pod":
            one["spec"]["containers"][0]["image"] = image

    return change


@pytest.mark.parametrize(
    ("image", "command", "needs"),
    [
        (
            "registry.k8s.io/etcd:3.6.1-0",
            "etcdctl member remove MEMBER-ID",
            "etcdctl member add and an empty data directory",
        ),
        ("rabbitmq:4.1", "rabbitmqctl forget_cluster_node NODE", "an empty data directory"),
    ],
)
def test_F3_command_follows_from_the_image(tmp_path: Path, image: str, command: str, needs: str) -> None:
    page = said(*FORCE, _changed(tmp_path, _with_image(image)))
    check_texts(page, (SURE, f"to remove pet-2 in the application: {command}"))
    assert f"the next pet-2 starts on the old data: to join it needs {needs}" in page


@pytest.mark.parametrize("image", ["prom/prometheus:v3.5.0", "redis:8", "elasticsearch:9.1.2", "postgres:18"])
def test_F3_application_without_majority(tmp_path: Path, image: str) -> None:
    page = said(*FORCE, _changed(tmp_path, _with_image(image)))
    check_texts(page, "2 of 3 are Ready without it", ("a majority", "in the application"))


def test_F3_no_majority_means_no_member_removal(tmp_path: Path) -> None:
    def without_pet_1(one: Json) -> None:
        if one["metadata"]["name"] == "pet-1":
            one["status"]["conditions"] = [{"type": "Ready", "status": "False"}]

    page = said(*FORCE, _changed(tmp_path, without_pet_1))
    check_texts(page, "the application removes pet-2 only while 2 of 3 members live", "Or remove it")


def test_F3_member_on_node_without_heartbeat_is_unknown(tmp_path: Path) -> None:
    """A rack fails at once, and its nodes are considered lost one after another."""

    def without_heartbeats(one: Json) -> None:
        if (one["kind"], one["metadata"]["name"]) == ("Lease", "node-c"):
            one["spec"]["renewTime"] = "2026-11-27T21:59:10Z"

    page = said(*FORCE, _changed(tmp_path, without_heartbeats))
    check_texts(page, ("1 of 3 is Ready without it (pet-0)", "on nodes that are not known to answer: pet-1"))
    check_texts(page, "a majority is 2 of 3: the StatefulSet is not known to keep one without it", "Or remove it")


def test_F3_missing_leases_are_listed_as_unknown(tmp_path: Path) -> None:
    cluster = json.loads(CASE.read_text())
    cluster["items"] = [one for one in cluster["items"] if one["kind"] != "Lease"]
    file = tmp_path / "cluster.json"
    file.write_text(json.dumps(cluster))
    assert "leases.coordination.k8s.io" in said(*FORCE, str(file)).partition("Unknown")[2]


def test_F3_answering_node_offers_no_member_removal(tmp_path: Path) -> None:
    def answers(one: Json) -> None:
        if one["kind"] == "Lease":
            one["spec"]["renewTime"] = "2026-11-27T22:00:00Z"
        if one["kind"] == "Node":
            ready = {"type": "Ready", "status": "True", "lastTransitionTime": "2026-11-01T00:00:00Z"}
            one["status"]["conditions"], one["spec"] = [ready], {}

    page = said(*FORCE, _changed(tmp_path, answers))
    check_texts(page, "Not safe: its processes may outlive its object", "in the application")


def test_F3_single_member_cannot_be_removed(tmp_path: Path) -> None:
    def one_replica(one: Json) -> None:
        if one["kind"] == "StatefulSet":
            one["spec"]["replicas"] = 1

    assert "in the application" not in said(*FORCE, _changed(tmp_path, one_replica))
