"""The outcome of a preemption."""

from __future__ import annotations

from typing import Any

import pytest

from podrules.api.model.decode import from_object
from podrules.api.model.event import Event
from podrules.api.model.pod import Pod, PodReference
from podrules.scheduling.placement.preemption_victims import PreemptedFor, is_preempted, preempted, preemption_event
from tests.objects import raw_condition, raw_pod

CONDITION = raw_condition("DisruptionTarget", reason="PreemptionByScheduler", lastTransitionTime="2026-01-01T10:00:00Z")


def make_pod(name: str, on: str = "", *, priority: int = 0, nominated: str = "", **status: Any) -> Pod:
    tried = [raw_condition("PodScheduled", "False", reason="Unschedulable")] if nominated else []
    reported = {"nominatedNodeName": nominated, "conditions": tried, **status}
    return from_object(raw_pod(name, "shop", uid=name, status=reported, nodeName=on, priority=priority), Pod)


def make_event(reason: str = "Preempted", name: str = "high", at: str = "10:00:01") -> Event:
    message = f"Preempted by pod {name} on node a"
    return from_object({"reason": reason, "message": message, "eventTime": f"2026-01-01T{at}Z"}, Event)


VICTIM = make_pod("low", "a", priority=5, conditions=[CONDITION])


def test_P6_condition_identifies_a_victim() -> None:
    assert is_preempted(VICTIM)
    assert not is_preempted(make_pod("low", "a", conditions=[{**CONDITION, "reason": "EvictionByEvictionAPI"}]))
    assert not is_preempted(make_pod("low", "a"))


def test_P6_latest_event_names_the_preemptor() -> None:
    events = [make_event(at="09:00:00", name="first"), make_event("Killing"), make_event(), Event(reason="Preempted")]
    found = preemption_event(events)
    assert found is not None
    assert found.message == "Preempted by pod high on node a"
    assert preemption_event([]) is None


@pytest.mark.parametrize(
    ("preemptor", "became", "place"),
    [
        (make_pod("high", "a"), PreemptedFor.TOOK_THE_PLACE, "a"),
        (make_pod("high", "b"), PreemptedFor.RUNS_ELSEWHERE, "b"),
        (make_pod("high", nominated="a"), PreemptedFor.STILL_WAITS, "a"),
        (make_pod("high", nominated="b"), PreemptedFor.WAITS_ELSEWHERE, "b"),
        (make_pod("high"), PreemptedFor.WAITS_ELSEWHERE, ""),
        (None, PreemptedFor.GONE, ""),
    ],
)
def test_P6_outcome_of_a_preemption(preemptor: Pod | None, became: PreemptedFor, place: str) -> None:
    found = preempted(VICTIM, make_event(), (VICTIM,) if preemptor is None else (VICTIM, preemptor))
    assert found.by == (None if preemptor is None else PodReference("shop", "high"))
    assert (found.uid, found.at) == ("high", "2026-01-01T10:00:01Z")
    assert (found.became, found.preemptor_node) == (became, place)


def test_P6_condition_gives_the_time_without_event() -> None:
    found = preempted(VICTIM, None, ())
    assert (found.by, found.at, found.became) == (None, "2026-01-01T10:00:00Z", PreemptedFor.UNKNOWN)


@pytest.mark.parametrize(
    ("waiting", "by"),
    [
        ([make_pod("vip", priority=9, nominated="a")], PodReference("shop", "vip")),
        ([make_pod("vip", priority=9, nominated="a"), make_pod("top", priority=10, nominated="a")], None),
        ([make_pod("vip", priority=9, nominated="b"), make_pod("same", priority=5, nominated="a")], None),
        ([make_pod("bound", "c", priority=9, nominated="a")], None),
    ],
)
def test_P6_nominated_pod_is_named_without_event(waiting: list[Pod], by: PodReference | None) -> None:
    found = preempted(VICTIM, None, (VICTIM, *waiting))
    assert (found.by, found.uid, found.became) == (by, "", PreemptedFor.UNKNOWN)


def test_P6_spared_lower_pods_elsewhere_are_named() -> None:
    others = [make_pod("lower", "b", priority=1), make_pod("lowest", "b"), make_pod("same", "b", priority=5), VICTIM]
    found = preempted(VICTIM, make_event(), others)
    assert [pod.name for pod in found.higher_than] == ["lowest", "lower"]


def test_P6_uid_is_shown_without_the_right_to_list() -> None:
    found = preempted(VICTIM, make_event(), None)
    assert (found.by, found.uid, found.became) == (None, "high", PreemptedFor.UNKNOWN)


def test_P6_related_event_names_deleted_preemptor() -> None:
    related = {"namespace": "shop", "name": "high", "uid": "high"}
    event = from_object({"reason": "Preempted", "message": "Preempted", "related": related}, Event)
    found = preempted(VICTIM, event, ())
    assert (found.by, found.became) == (PodReference("shop", "high"), PreemptedFor.GONE)
