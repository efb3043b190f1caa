"""Texts about preemption."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import pytest
from msgspec.structs import replace

from kubectl_plugin.views.scheduling.preemption import (
    awaited_words,
    defeated_words,
    nominated_words,
    preempted_words,
    preemption_words,
    preemptor_words,
    preemptors_section,
    queue_words,
    room_words,
)
from podrules.api.model.pod import PodOnNode, PodReference
from podrules.node.lost_node import GC_CHECK_PERIOD
from podrules.node.reachability import NodeReach, Reach
from podrules.scheduling.placement.preemption_victims import (
    CrossNode,
    GoingVictim,
    LeftAlone,
    NominatedNode,
    NoRoom,
    PreemptedFor,
    PreemptionPreview,
    PreemptionRecord,
    Preemptor,
    Preemptors,
    VictimPod,
)
from podrules.scheduling.scheduler.queue import QueuePosition

NOW = datetime(2026, 1, 1, 10, 0, tzinfo=UTC)
OTHER = PodReference("shop", "web-0")


NO_PREVIEW = PreemptionPreview("", 4, 0, (), "", (), 30, None, None, (), (), "")


def preview_of(**changed: Any) -> PreemptionPreview:
    return replace(NO_PREVIEW, **changed)


def victim(name: str, violates: tuple[str, ...] = ()) -> VictimPod:
    return VictimPod(PodReference("shop", name), 3, "Burstable", 30, violates)


def words(preview: PreemptionPreview, *, wide: bool = False) -> list[str]:
    return list(preemption_words(preview, wide=wide))


def test_no_preemption() -> None:
    assert words(preview_of(not_eligible="not eligible due to preemptionPolicy=Never.")) == [
        "preempts no pod: preemptionPolicy Never"
    ]
    assert words(preview_of(potential=0)) == ["preempts no pod: removing pods helps on no node"]


SPREAD = NoRoom("PodTopologySpread", ("uneven",), 3, "a", 7, ())
NEEDED = NoRoom("InterPodAffinity", ("affinity",), 1, "b", 2, (OTHER,))
UNEVEN = "3 nodes, such as a, do not take it even without pods of lower priority: PodTopologySpread: uneven"
NO_LOWER = NoRoom("", ("No preemption victims found for incoming pod",), 1, "c", 0, ())


def test_P4_no_preemption_for_reason_of_plugin() -> None:
    assert words(preview_of(no_room=(SPREAD,))) == [f"preempts no pod: {UNEVEN}"]
    assert words(preview_of(no_room=(SPREAD, NEEDED, NO_LOWER)), wide=True) == [
        "preempts no pod: it would help on none of 4 nodes",
        UNEVEN,
        "b would lose shop/web-0, which its pod affinity needs: InterPodAffinity: affinity",
        "c has no pod of lower priority",
    ]


def test_P4_pod_that_affinity_needs_is_named_in_the_verdict() -> None:
    assert list(defeated_words(preview_of(no_room=(SPREAD, NEEDED)))) == [
        "Preemption cannot make room on b: its pod affinity needs shop/web-0, which would be preempted."
    ]
    assert list(defeated_words(preview_of(nodes=("a",), no_room=(NEEDED,)))) == []


def test_victims() -> None:
    victims = tuple(victim(f"v{number}") for number in range(5))
    preview = preview_of(candidates=4, nodes=("a",), decided_by="fewestVictims", victims=victims, sampled=2)
    assert words(preview) == [
        (
            "would preempt shop/v0 (priority 3), shop/v1 (priority 3), shop/v2 (priority 3) and 2 more on a, "
            "then wait up to 30 s"
        ),
        "a is chosen of 4 nodes: it has the fewest victims",
    ]
    every, _, sampled = words(preview, wide=True)
    assert "shop/v4 (priority 3)" in every
    assert sampled == "kube-scheduler checks 2 candidates only, from a random node on: it may choose another"
    room = "The scheduler would preempt shop/v0, shop/v1, shop/v2 and 2 more on a for it, within 30 s."
    assert room_words(preview, denied=False) == room


def test_room_that_the_scheduler_did_not_find() -> None:
    preview = preview_of(candidates=1, nodes=("a",), victims=(victim("v"),))
    assert room_words(preview, denied=True) == (
        "Preemption: kube-scheduler found no victims when it last tried; by what was read, 1 pod on a would be "
        "preempted."
    )


def test_static_pods_make_no_room() -> None:
    """A kubelet keeps them running and recreates their objects."""
    preview = preview_of(candidates=1, nodes=("a",), victims=(replace(victim("v"), is_static=True),))
    assert room_words(preview, denied=False) == (
        "Preemption makes no room on a: it would delete the object of a static pod, which keeps running."
    )
    assert words(preview)[0].startswith("would preempt shop/v (priority 3, static: it keeps running) on a")


def pending(name: str, *, denied: bool) -> Preemptor:
    return Preemptor(
        PodReference("shop", name), 9, True, denied, "a", 1, (), nodes=1, twin=None, sampled=None, assumed=()
    )


def test_preemptor_without_victims_might_preempt() -> None:
    denied = pending("hi", denied=True)
    why = "kube-scheduler found no victims when it last tried"
    assert list(preemptor_words([denied])) == [f"The pending pod shop/hi (priority 9) might preempt it, but {why}."]
    assert list(preemptor_words([denied, pending("top", denied=False)])) == [
        "The pending pod shop/top (priority 9) would preempt it now."
    ]
    (line,) = preemptors_section(Preemptors((denied,)), wide=False).lines
    assert line == f"shop/hi (priority 9) on a: this pod would be preempted; but {why}"


def test_violated_budgets() -> None:
    (text,) = words(preview_of(candidates=1, nodes=("a",), victims=(victim("v", ("keep",)),)))
    assert "shop/v (priority 3, violates PodDisruptionBudget keep)" in text


def test_spared_lower_pods() -> None:
    left = (LeftAlone("fewestPDBViolations", 1, 1, OTHER, -5), LeftAlone("Insufficient cpu", 2, 3, OTHER, 0))
    found = words(preview_of(candidates=1, nodes=("a",), victims=(victim("v"),), left_alone=left), wide=True)
    assert found[1:] == [
        (
            "pods of lower priority stay: 1 pod on 1 node, such as shop/web-0 (-5): a is better: it violates the "
            "fewest PodDisruptionBudgets"
        ),
        "pods of lower priority stay: 3 pods on 2 nodes, such as shop/web-0 (0): Insufficient cpu",
    ]


def test_across_nodes() -> None:
    found = words(
        preview_of(elsewhere=CrossNode("a", (PodOnNode("shop", "web-0", "b"),), (PodReference("shop", "own"),)))
    )
    assert found[1] == (
        "without shop/web-0 on b and shop/own on a it would fit a; the scheduler never preempts across nodes: delete "
        "pods by hand"
    )


def test_nominated() -> None:
    node = NominatedNode("a", (GoingVictim(OTHER, "2026-01-01T10:00:30Z"), GoingVictim(OTHER, None)), (OTHER,))
    assert list(nominated_words(node, NOW)) == [
        "preemption made room on a: it is tried first; a reservation, not a guarantee",
        "waits for shop/web-0 and shop/web-0 (by 10:00:30 UTC) to end",
        "shop/web-0 of higher priority may take the place",
    ]


def test_nomination_to_deleted_node_reserves_nothing() -> None:
    assert list(nominated_words(NominatedNode("gone", (), (OTHER,), exists=False), NOW)) == [
        "its nomination to gone has no effect: there is no such Node, and the scheduler ignores it"
    ]


EARLY = GoingVictim(PodReference("ml", "early"), "2026-01-01T10:00:30Z")
LATE = GoingVictim(PodReference("ml", "late"), "2026-01-01T10:01:00Z")
COLLECTED = f"pod garbage collection removes such objects within {GC_CHECK_PERIOD} s, and stops no process"
SILENT = NodeReach("a", Reach.SILENT, "status.conditions[type=Ready]", NOW)


def preempted(pods: str) -> str:
    return f"The scheduler preempted {pods} to make room on a, which it tries first: no guarantee."


def nominated(*victims: GoingVictim, **more: Any) -> NominatedNode:
    return NominatedNode("a", victims or (EARLY,), (), **more)


BOTH = "waits for 2 pods to end, the last, late, by 10:01:00 UTC."
BEFORE_EARLY = "no node fits before early ends on a."
AWAITED: Final[Mapping[str, Any]] = {
    "one victim": (nominated(), NOW, ("waits for early to end, by 10:00:30 UTC.", preempted("ml/early"))),
    "the last of several": (nominated(LATE, EARLY), NOW, (BOTH, preempted("ml/early and ml/late"))),
    "one with unknown end": (
        nominated(EARLY, GoingVictim(PodReference("ml", "vk"), None)),
        NOW,
        ("waits for 2 pods to end.", preempted("ml/vk and ml/early")),
    ),
    "another terminating pod": (nominated(others=(LATE,)), NOW, (BOTH, preempted("ml/early"))),
    "overdue": (
        nominated(),
        NOW + timedelta(minutes=5),
        ("waits for early to end, overdue since 10:00:30 UTC.", preempted("ml/early")),
    ),
    "no room even then": (
        nominated(rejected=("Insufficient cpu",)),
        NOW,
        ("no node fits, and a does not fit either once the pods that leave it are gone: Insufficient cpu.",),
    ),
    "silent": (
        nominated(reach=SILENT),
        NOW,
        (BEFORE_EARLY, "a is silent since 10:00:00 UTC: nothing there ends before it answers."),
    ),
    "out of service": (
        nominated(reach=NodeReach("a", Reach.OUT_OF_SERVICE, "spec.taints[0]")),
        NOW,
        (BEFORE_EARLY, f"a is declared out of service: {COLLECTED}."),
    ),
}


@pytest.mark.parametrize(("node", "now", "said"), AWAITED.values(), ids=AWAITED)
def test_P5_awaited_pods(node: NominatedNode, now: datetime, said: tuple[str, ...]) -> None:
    assert awaited_words(node, now) == said


def test_P5_silent_node_has_no_end_time() -> None:
    assert list(nominated_words(nominated(reach=SILENT), NOW))[1:] == [
        "waits for ml/early to end",
        "a is silent since 10:00:00 UTC: nothing there ends before it answers",
    ]


@pytest.mark.parametrize(
    ("queue", "text"),
    [
        (QueuePosition(1, 1, 0), "queue: no other pod waits"),
        (QueuePosition(1, 3, 0), "queue: it is the first of 3 pods"),
        (QueuePosition(2, 3, 0), "queue: 1 pod goes before it, by age"),
        (QueuePosition(4, 4, 1), "queue: 3 pods go before it, 1 by priority and 2 by age"),
        (
            QueuePosition(1, 4, 0, tied=3),
            "queue: it may be the first; 3 other pods have the same priority and creation time",
        ),
        (
            QueuePosition(2, 3, 1, tied=1),
            "queue: 1 pod goes before it, by priority; 1 other pod has the same priority and creation time",
        ),
        (QueuePosition(1, 1, 0, 2), "queue: no other pod waits; 2 gated pods are not in it"),
        (QueuePosition(3, 3, 2, 1), "queue: 2 pods go before it, by priority; 1 gated pod is not in it"),
        (QueuePosition(3, 4, 2), "queue: 2 pods go before it, by priority"),
    ],
)
def test_queue(queue: QueuePosition, text: str) -> None:
    assert queue_words(queue) == text


@pytest.mark.parametrize(
    ("became", "place", "end"),
    [
        ("TOOK_THE_PLACE", "a", ", which runs on a now."),
        ("RUNS_ELSEWHERE", "b", ", without effect: that pod runs on b."),
        ("STILL_WAITS", "a", ", which still waits for a."),
        ("WAITS_ELSEWHERE", "b", ", without effect so far: that pod waits for b."),
        ("WAITS_ELSEWHERE", "", ", without effect so far: that pod waits without a nominated node."),
        ("GONE", "", ", which is also gone."),
        ("UNKNOWN", "", "."),
    ],
)
def test_preempted(became: str, place: str, end: str) -> None:
    found = PreemptionRecord(OTHER, "u", "2026-01-01T09:59:00Z", "a", PreemptedFor[became], place, ())
    assert preempted_words(found, NOW) == f"Preempted at 09:59:00 UTC for shop/web-0{end}"


def test_preempted_by_a_pod() -> None:
    found = PreemptionRecord(None, "", None, "a", PreemptedFor.UNKNOWN, "", ())
    assert preempted_words(found, NOW).endswith("no remaining event names it.")
    alone = PreemptionRecord(OTHER, "", None, "a", PreemptedFor.UNKNOWN, "a", ())
    probably = "Preempted by the scheduler, probably for shop/web-0, the only pod nominated to a: "
    assert preempted_words(alone, NOW) == f"{probably}no remaining event names it."
    unnamed = PreemptionRecord(None, "u", None, "a", PreemptedFor.GONE, "", ())
    assert preempted_words(unnamed, NOW) == "Preempted for the pod with uid u, which is also gone."
