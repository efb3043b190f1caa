"""Ends made on a real kubelet: no verdict is wrong, whatever part of the evidence remains."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any, Final

import pytest
from msgspec.structs import replace

from podrules.api.model.instant import instant
from podrules.api.model.pod import ContainerState, Pod
from podrules.ending.died.cause import Cause, Grade
from podrules.ending.died.evidence import Evidence, PodEvents
from podrules.ending.died.of_pod import EndOf, PodEnd, last_end
from tests.podrules.ending.died.cases import RecordedEnd, recorded_clusters, recorded_end, recorded_ends

ENDS: Final = list(recorded_ends())
SURENESS: Final = {Grade.NOTHING: 0, Grade.SEVERAL: 1, Grade.LIKELY: 1, Grade.CERTAIN: 2}
"""LIKELY and SEVERAL are equally certain: evidence against a cause may be lost, too."""


def _without_states(evidence: Evidence) -> Evidence:
    """The container restarted again, so that the status no longer shows the end."""
    pod = evidence.pod
    return evidence if pod is None else replace(evidence, pod=_fresh(pod))


def _fresh(pod: Pod) -> Pod:
    statuses = tuple(replace(one, last_state=ContainerState()) for one in pod.status.container_statuses)
    init = tuple(replace(one, last_state=ContainerState()) for one in pod.status.init_container_statuses)
    return replace(pod, status=replace(pod.status, container_statuses=statuses, init_container_statuses=init))


PIECES: Final[Mapping[str, Callable[[Evidence], Evidence]]] = {
    "events": lambda one: replace(one, events=None),
    "lastState": _without_states,
    "pod": lambda one: replace(one, pod=None),
    "node": lambda one: replace(one, node=None, config=None, neighbours=None, node_events=None, node_missing=True),
    "kubelet's configuration": lambda one: replace(one, config=None),
    "neighbours": lambda one: replace(one, neighbours=None),
    "owner": lambda one: replace(one, owner=None, controller=None),
    "owner's events": lambda one: replace(one, owner_events=None),
}
"""Evidence that may be missing: expired, deleted, overwritten, or not readable for this user."""
SUBSETS: Final = [frozenset(some) for count in range(len(PIECES) + 1) for some in combinations(PIECES, count)]


def _left(evidence: Evidence, missing: frozenset[str]) -> Evidence:
    for name in PIECES:
        if name in missing:
            evidence = PIECES[name](evidence)
    return evidence


def _error_of(case: RecordedEnd, end: PodEnd) -> str:
    """The error in a verdict about a recorded end; empty: none."""
    verdict = end.verdict
    if end.of is EndOf.NOTHING or verdict.grade is Grade.NOTHING:
        return ""
    if end.container and case.container and end.container != case.container:
        return ""
    suspects = {one.cause for one in verdict.suspects}
    if case.cause not in verdict.causes:
        return f"{verdict.grade.value}: not even possible"
    wrong = case.cause not in suspects and verdict.grade in {Grade.CERTAIN, Grade.SEVERAL}
    return f"{verdict.grade.value}: {sorted(one.value for one in suspects)}" if wrong else ""


@pytest.mark.parametrize("case", ENDS, ids=lambda case: case.id)
def test_no_verdict_is_wrong_with_partial_evidence(case: RecordedEnd) -> None:
    ends = {missing: last_end(_left(case.evidence, missing)) for missing in SUBSETS}
    for missing, end in ends.items():
        assert not _error_of(case, end), (sorted(missing), case.cause)
        for piece in missing:
            more = ends[missing - {piece}]
            # If a status shows no end, there is no verdict to compare with.
            if more.of is not EndOf.NOTHING:
                assert SURENESS[end.verdict.grade] <= SURENESS[more.verdict.grade], (sorted(missing), piece)


@pytest.mark.parametrize("case", ENDS, ids=lambda case: case.id)
def test_events_expire_the_oldest_first(case: RecordedEnd) -> None:
    before = SURENESS[last_end(case.evidence).verdict.grade]
    for left in _expiring(case.evidence):
        end = last_end(left)
        assert not _error_of(case, end)
        assert SURENESS[end.verdict.grade] <= before
        before = SURENESS[end.verdict.grade]


def _expiring(evidence: Evidence) -> Iterator[Evidence]:
    events = evidence.events.events if evidence.events is not None else ()
    for moment in sorted({when for event in events if (when := instant(event.last)) is not None}):
        kept = [event for event in events if (when := instant(event.last)) is None or when > moment]
        yield replace(evidence, events=PodEvents.of(kept))


@pytest.mark.parametrize("case", list(recorded_clusters()), ids=lambda case: case["id"])
def test_missing_events_never_raise_certainty(case: dict[str, Any]) -> None:
    full = last_end(recorded_end(case).evidence)
    if full.of is EndOf.NOTHING:
        return
    events = [one for one in case["objects"] if one["kind"] == "Event"]
    assert _sureness(case, events) <= SURENESS[full.verdict.grade]
    for event in events:
        if _sureness(case, [event]) > SURENESS[full.verdict.grade]:
            # The kubelet stopped it, which contradicts an end by itself.
            assert event["reason"] == "Killing"
            assert last_end(recorded_end(_without(case, [event])).evidence).verdict.cause is Cause.APPLICATION


def _sureness(case: dict[str, Any], missing: Sequence[Any]) -> int:
    return SURENESS[last_end(recorded_end(_without(case, missing)).evidence).verdict.grade]


def _without(case: dict[str, Any], missing: Sequence[Any]) -> dict[str, Any]:
    return {**case, "objects": [one for one in case["objects"] if one not in missing]}


def test_every_family_has_five_variations() -> None:
    families: dict[str, int] = {}
    for case in ENDS:
        family = case.id.partition("/")[0]
        families[family] = families.get(family, 0) + 1
    assert len([count for count in families.values() if count >= 5]) >= 24
