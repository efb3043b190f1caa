"""What the verdict on a node goes by: what it says of itself, its headroom, its requests and its containers' limits."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from kubectl_plugin.reports.node import NodeReport
from kubectl_plugin.reports.node_pressure import NodePressureReport
from kubectl_plugin.reports.steps import Outcome
from kubectl_plugin.reports.verdict import Severity, Verdict, VerdictCode
from kubectl_plugin.views.node import node_verdict
from kubectl_plugin.views.node_pressure import node_pressure_verdict
from kubectl_plugin.views.steps import outcome_verdict
from podrules.pressure.nearness import Nearness, headroom_nearness, is_near_limit
from tests.kubectl_plugin.running import run


def _promised() -> NodeReport:
    return msgspec.json.decode(run("explain", "--demo", "node/node-b1", "-o", "json").out, type=NodeReport)


def _pressed(name: str = "node-b1") -> NodePressureReport:
    return msgspec.json.decode(run("node", "--demo", name, "-o", "json").out, type=NodePressureReport)


@pytest.mark.parametrize(
    ("percent", "met", "nearness"),
    [
        (10, False, Nearness.FAR),
        (9, False, Nearness.NEAR),
        (3, False, Nearness.NEAR),
        (2, False, Nearness.CLOSE),
        (0, False, Nearness.CLOSE),
        (-1, True, Nearness.MET),
    ],
)
def test_how_near_a_threshold_is(percent: int, met: bool, nearness: Nearness) -> None:
    assert headroom_nearness(percent, met=met) is nearness


@pytest.mark.parametrize(("used", "near"), [(None, False), (94, False), (95, True), (101, True)])
def test_who_is_near_a_limit(used: int | None, near: bool) -> None:
    assert is_near_limit(used, 100) is near
    assert not is_near_limit(used, 0)


@pytest.mark.parametrize(
    ("percent", "code", "severity"),
    [
        (40, VerdictCode.READY, Severity.FINE),
        (6, VerdictCode.NEAR_EVICTION, Severity.NOTICE),
        (2, VerdictCode.NEAR_EVICTION, Severity.TROUBLE),
    ],
)
@pytest.mark.parametrize("memory", [True, False])
def test_a_node_is_judged_by_its_headroom(percent: int, code: VerdictCode, severity: Severity, memory: bool) -> None:
    report = _pressed()
    far = [replace(one, headroom_percent=50, met=False) for one in report.thresholds]
    told = [
        replace(one, headroom_percent=percent) if one.signal.is_memory is memory and one.hard else one for one in far
    ]
    said = node_pressure_verdict(replace(report, thresholds=tuple(told), oom=report.oom[:1]), None)
    assert (said.code, said.severity) == (code, severity)
    if memory:
        assert f"({percent}% of the capacity) until the first eviction" in " ".join(said.sentences)


def test_a_node_without_trouble_tells_none() -> None:
    said = node_pressure_verdict(replace(_pressed(), oom=_pressed().oom[:1]), None)
    assert (said.code, said.severity) == (VerdictCode.READY, Severity.FINE)


@pytest.mark.parametrize(
    ("changed", "code", "severity"),
    [
        ({}, VerdictCode.READY, Severity.FINE),
        ({"unschedulable": True}, VerdictCode.CORDONED, Severity.NOTICE),
        ({"ready": "False"}, VerdictCode.NODE_NOT_READY, Severity.TROUBLE),
        ({"pods_full": True}, VerdictCode.NODE_FULL, Severity.NOTICE),
        ({"pods": None}, VerdictCode.PODS_UNREAD, Severity.NOTICE),
        ({"pods": None, "ready": "False"}, VerdictCode.NODE_NOT_READY, Severity.TROUBLE),
    ],
    ids=str,
)
def test_codes_of_a_node(changed: dict[str, Any], code: VerdictCode, severity: Severity) -> None:
    said = node_verdict(replace(_promised(), **changed), None)
    assert (said.code, said.severity) == (code, severity)
    assert all(sentence.endswith(".") for sentence in said.sentences)


def test_requests_over_allocatable_are_told_on_both_pages() -> None:
    for command in (("explain", "node/node-a3"), ("node", "node-a3")):
        said = " ".join(run(*command, "--demo").out.partition("\n\n")[0].split())
        assert "Requests add up to memory 112% of allocatable" in said


def test_the_container_at_its_limit_is_named_alike() -> None:
    """By the node with its pod, by the pod without."""
    words = "uses 95% of its limit 8Gi: the kernel kills it there, whatever the node has left."
    node = " ".join(run("node", "node-a3", "--demo").out.split())
    pod = " ".join(run("explain", "pod/postgres-0", "-n", "data", "--demo").out.split())
    assert f"Container postgres of data/postgres-0 {words}" in node
    assert f"Container postgres {words}" in pod


@pytest.mark.parametrize("outcome", Outcome)
def test_a_change_is_told_by_its_outcome(outcome: Outcome) -> None:
    said = outcome_verdict(outcome, ("It is so.",))
    assert said == Verdict(VerdictCode(outcome.value), said.severity, ("It is so.",))


@pytest.mark.parametrize("name", ["node-a1", "node-b1", "node-c3"])
def test_the_first_screen_has_the_verdict_and_who_goes_first(name: str) -> None:
    screen = run("node", name, "--demo").out.splitlines()[:24]
    text = " ".join(" ".join(screen).split())
    assert "why ahead" in text
    assert "Headroom: " in text or name == "node-c3"


def test_old_words_are_gone() -> None:
    said = run("node", "node-a1", "--demo", "-o", "wide").out
    assert "why ahead" in said
    assert "tie" in said
    assert "what puts it before" not in " ".join(said.split())
    assert "equal" not in said
