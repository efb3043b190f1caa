"""What is graded: a verdict that is not known is not equal, and neither is an error that upstream cannot give."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from tests.parity.grading import EQUAL, Grade, graded

Json = Mapping[str, Any]

WRAPPED = 'running "DynamicResources" filter plugin: '


def failed(text: str) -> Json:
    return {"code": "Error", "plugin": "DynamicResources", "reasons": [f"{WRAPPED}{text}"]}


FULL = {"code": "Unschedulable", "plugin": "NodeResourcesFit", "reasons": ["Insufficient cpu"]}
SUCCESS = {"preFilter": {"code": "Success"}}


def schedule(**said: Any) -> Json:
    return {**SUCCESS, "rejected": {}, "feasible": [], **said}


def test_nodes_are_sets_and_scores_are_per_plugin() -> None:
    one = schedule(feasible=["a", "b"], best=["a", "b"], scorePlugins=["X", "Y"], scores={"a": [1, 2], "b": [3, 4]})
    other = schedule(feasible=["b", "a"], best=["b", "a"], scorePlugins=["Y", "X"], scores={"a": [2, 1], "b": [4, 3]})
    assert graded("schedule", one, {**other, "scorePlugins": ["X", "Y"]}).differs == ["scores"]
    assert graded("schedule", one, other).differs == ["scorePlugins"]
    assert graded("schedule", one, {**one, "feasible": ["b", "a"], "best": ["b", "a"]}) == EQUAL


def test_unknown_verdict_is_reported_and_others_graded() -> None:
    said = schedule(rejected={"a": failed("unknown: a search this long"), "b": FULL}, error="of the cycle")
    theirs = schedule(rejected={"b": FULL}, feasible=["a"], totals={"a": 100})
    assert graded("schedule_dra", said, theirs) == Grade([], "a search this long")
    assert graded("schedule_dra", said, schedule(feasible=["a", "b"])) == Grade(
        ["feasible", "rejected"], "a search this long"
    )


@pytest.mark.parametrize(
    ("given", "differs"),
    [
        pytest.param(f"{WRAPPED}first", [], id="the one recorded"),
        pytest.param(f"{WRAPPED}second", [], id="another node's"),
        pytest.param("first", ["error"], id="of no node"),
        pytest.param(f"{WRAPPED}third", ["error"], id="made up"),
        pytest.param("", ["error"], id="none"),
    ],
)
def test_the_error_of_any_node_is_upstreams(given: str, differs: list[str]) -> None:
    rejected = {"a": failed("first"), "b": failed("second"), "c": FULL}
    theirs = schedule(rejected=rejected, error=f"{WRAPPED}first")
    said = schedule(rejected=rejected, **({"error": given} if given else {}))
    assert graded("schedule_dra", said, theirs).differs == differs


def test_an_error_of_a_step_that_runs_once_is_that_text() -> None:
    theirs = schedule(rejected={"a": failed("first")}, error="running PreFilter")
    said = schedule(rejected={"a": failed("first")}, error=f"{WRAPPED}first")
    assert graded("schedule_dra", said, theirs).differs == ["error"]


@pytest.mark.parametrize(
    ("device", "differs"),
    [
        pytest.param({"request": "r", "device": "d/p/0", "consumed": {"memory": "1Gi"}}, [], id="the same"),
        pytest.param(
            {"request": "r", "device": "d/p/1", "consumed": {"memory": "1Gi"}}, ["draAllocations"], id="device"
        ),
        pytest.param(
            {"request": "s", "device": "d/p/0", "consumed": {"memory": "1Gi"}}, ["draAllocations"], id="request"
        ),
        pytest.param(
            {"request": "r", "device": "d/p/0", "consumed": {"memory": "2Gi"}}, ["draAllocations"], id="amount"
        ),
        pytest.param({"request": "r", "device": "d/p/0"}, ["draAllocations"], id="nothing consumed"),
    ],
)
def test_devices_are_graded_but_for_the_mark_of_a_share(device: Json, differs: list[str]) -> None:
    theirs = {"request": "r", "device": "d/p/0", "consumed": {"memory": "1Gi"}, "shared": True}
    said = schedule(feasible=["a"], draAllocations={"a": [[device]]})
    assert graded("schedule_dra", said, schedule(feasible=["a"], draAllocations={"a": [[theirs]]})).differs == differs


def test_one_sided_reasons_differ() -> None:
    assert graded("qos", {"qosClass": "Burstable"}, {"qosClass": "Burstable", "more": 1}).differs == ["more"]
    assert graded("qos", {"qosClass": "Burstable", "more": 1}, {"qosClass": "Burstable"}).differs == ["more"]
