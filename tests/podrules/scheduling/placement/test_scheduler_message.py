"""The message of kube-scheduler compared with the current one."""

from __future__ import annotations

from typing import Final

import pytest

from podrules.scheduling.placement.outcome import ReasonCount
from podrules.scheduling.placement.scheduler_condition import compare_messages, histogram

NOW = "0/3 nodes are available: 1 Insufficient memory, 2 node(s) had untolerated taint(s)."
PREEMPTION = "no new claims to deallocate, preemption: 0/3 nodes are available: 3 Preemption is not helpful."


@pytest.mark.parametrize("message", [NOW, f"{NOW} {PREEMPTION}"])
def test_preemption_suffix_does_not_count(message: str) -> None:
    earlier = compare_messages(message, NOW)
    assert (earlier.agrees, earlier.changed, earlier.message) == (True, (), message)


@pytest.mark.parametrize(("room", "agrees"), [(True, False), (False, True)])
def test_no_victims_is_not_the_same_as_room_by_preemption(*, room: bool, agrees: bool) -> None:
    """If preemption has victims, kube-scheduler writes no sentence about preemption."""
    earlier = compare_messages(f"{NOW} {PREEMPTION}", NOW, room=room)
    assert (earlier.agrees, earlier.no_victims) == (agrees, room)
    assert compare_messages(NOW, NOW, room=room).agrees


LED: Final = "0/3 nodes are available: 1 Insufficient memory"


@pytest.mark.parametrize(
    "message",
    [
        f"{LED}, 2 node(s) had untolerated taint {{gpu: a100}}.",
        f"{LED}, 1 node(s) had untolerated taint {{a: b, c}}, 1 node(s) had untolerated taint {{x: y}}. {PREEMPTION}",
        f"{LED}, 2 node(s) had taint {{gpu: a100}}, that the pod didn't tolerate.",
        f"{LED}, 2 node(s) had taints that the pod didn't tolerate.",
    ],
)
def test_older_equivalent_messages_agree(message: str) -> None:
    assert compare_messages(message, NOW).agrees


@pytest.mark.parametrize(
    ("older", "today"),
    [
        ("node(s) didn't match node selector", "node(s) didn't match Pod's node affinity/selector"),
        ("node(s) didn't match Pod's node affinity", "node(s) didn't match Pod's node affinity/selector"),
        ("node(s) had volume node affinity conflict", "node(s) didn't match PersistentVolume's node affinity"),
    ],
)
def test_reasons_of_older_versions(older: str, today: str) -> None:
    now = f"0/2 nodes are available: 2 {today}."
    assert compare_messages(f"0/2 nodes are available: 2 {older}.", now).agrees
    assert compare_messages(f"0/2 nodes are available: 1 {older}, 1 Too many pods.", now).changed == (
        ReasonCount("Too many pods", 1, 0),
        ReasonCount(today, 1, 2),
    )
    assert not compare_messages(f"0/4 nodes are available: 2 {older}.", now).agrees


def test_reasons_with_changed_numbers_are_listed() -> None:
    before = f"0/3 nodes are available: 2 Insufficient memory, 1 node(s) were unschedulable. {PREEMPTION}"
    earlier = compare_messages(before, NOW)
    assert not earlier.agrees
    assert earlier.changed == (
        ReasonCount("Insufficient memory", 2, 1),
        ReasonCount("node(s) had untolerated taint(s)", 0, 2),
        ReasonCount("node(s) were unschedulable", 1, 0),
    )


def test_node_that_fits_now_changes_every_reason() -> None:
    assert compare_messages(NOW, "").changed == (
        ReasonCount("Insufficient memory", 1, 0),
        ReasonCount("node(s) had untolerated taint(s)", 2, 0),
    )


def test_message_of_other_format_is_kept_uncounted() -> None:
    earlier = compare_messages("running PreBind plugin failed", NOW)
    assert (earlier.agrees, earlier.changed) == (False, ())


def test_commas_within_a_reason_do_not_split_it() -> None:
    sentence = "0/9 nodes are available: 4 node(s) had untolerated taint {a: b, c}, 5 Too many pods."
    assert histogram(sentence) == {"node(s) had untolerated taint {a: b, c}": 4, "Too many pods": 5}
