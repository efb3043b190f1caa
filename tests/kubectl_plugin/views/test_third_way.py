"""The alternative to fencing and force deletion for a lost StatefulSet pod: the application removes the member."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import pytest

from tests.kubectl_plugin.answers import check_texts, said, write_list
from tests.kubectl_plugin.edits import find, items_of
from tests.objects import raw_condition
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


def test_F3_majority_may_remove_the_member() -> None:
    preview = said(*FORCE, str(CASE))
    assert f"Safer: fence node-a once its machine is off. {WAY}" in preview
    assert "to remove pet-2 in the application: its own command or API" in preview
    assert "the next pet-2 starts on the old data: to join it needs an empty claim, as a rule" in preview
    assert "the old pet-2 may still write to data" in preview
    page = said("explain", "pod/pet-2", "--snapshot", str(CASE))
    assert "or remove it in the application first, if its other members are a majority" in page


def _preview(folder: Path, items: list[Json]) -> str:
    return said(*FORCE, write_list(folder / "cluster.json", items))


def _with_image(image: str) -> list[Json]:
    items = items_of(CASE)
    for one in items:
        if one["kind"] == "Pod":
            one["spec"]["containers"][0]["image"] = image
    return items


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
    page = _preview(tmp_path, _with_image(image))
    check_texts(page, (SURE, f"to remove pet-2 in the application: {command}"))
    assert f"the next pet-2 starts on the old data: to join it needs {needs}" in page


@pytest.mark.parametrize("image", ["prom/prometheus:v3.5.0", "redis:8", "elasticsearch:9.1.2", "postgres:18"])
def test_F3_application_without_majority(tmp_path: Path, image: str) -> None:
    page = _preview(tmp_path, _with_image(image))
    check_texts(page, "2 of 3 are Ready without it", ("a majority", "in the application"))


def test_F3_no_majority_means_no_member_removal(tmp_path: Path) -> None:
    items = items_of(CASE)
    find(items, "Pod/pet-1")["status"]["conditions"] = [raw_condition("Ready", "False")]
    lives = "the application removes pet-2 only while 2 of 3 members live"
    check_texts(_preview(tmp_path, items), lives, "Or remove it")


def test_F3_member_on_node_without_heartbeat_is_unknown(tmp_path: Path) -> None:
    """A rack fails at once, and its nodes are considered lost one after another."""
    items = items_of(CASE)
    find(items, "Lease/node-c")["spec"]["renewTime"] = "2026-11-27T21:59:10Z"
    page = _preview(tmp_path, items)
    check_texts(page, ("1 of 3 is Ready without it (pet-0)", "on nodes that are not known to answer: pet-1"))
    check_texts(page, "a majority is 2 of 3: the StatefulSet is not known to keep one without it", "Or remove it")


def test_F3_missing_leases_are_listed_as_unknown(tmp_path: Path) -> None:
    items = [one for one in items_of(CASE) if one["kind"] != "Lease"]
    assert "leases.coordination.k8s.io" in _preview(tmp_path, items).partition("Unknown")[2]


def test_F3_answering_node_offers_no_member_removal(tmp_path: Path) -> None:
    items = items_of(CASE)
    for one in items:
        if one["kind"] == "Lease":
            one["spec"]["renewTime"] = "2026-11-27T22:00:00Z"
        if one["kind"] == "Node":
            ready = raw_condition("Ready", lastTransitionTime="2026-11-01T00:00:00Z")
            one["status"]["conditions"], one["spec"] = [ready], {}
    check_texts(_preview(tmp_path, items), "Not safe: its processes may outlive its object", "in the application")


def test_F3_single_member_cannot_be_removed(tmp_path: Path) -> None:
    items = items_of(CASE)
    [one] = [one for one in items if one["kind"] == "StatefulSet"]
    one["spec"]["replicas"] = 1
    assert "in the application" not in _preview(tmp_path, items)
