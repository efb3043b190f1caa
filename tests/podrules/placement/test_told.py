"""kube-scheduler's own sentence beside that of now."""

from __future__ import annotations

import pytest

from podrules.placement.outcome import ReasonCount
from podrules.placement.scheduler_condition import histogram, told_before

NOW = "0/3 nodes are available: 1 Insufficient memory, 2 node(s) had untolerated taint(s)."
PREEMPTION = "no new claims to deallocate, preemption: 0/3 nodes are available: 3 Preemption is not helpful."


@pytest.mark.parametrize("message", [NOW, f"{NOW} {PREEMPTION}"])
def test_what_preemption_adds_does_not_count(message: str) -> None:
    told = told_before(message, NOW)
    assert (told.agrees, told.changed, told.message) == (True, (), message)


def test_reasons_whose_numbers_changed_are_told() -> None:
    before = f"0/3 nodes are available: 2 Insufficient memory, 1 node(s) were unschedulable. {PREEMPTION}"
    told = told_before(before, NOW)
    assert not told.agrees
    assert told.changed == (
        ReasonCount("Insufficient memory", 2, 1),
        ReasonCount("node(s) had untolerated taint(s)", 0, 2),
        ReasonCount("node(s) were unschedulable", 1, 0),
    )


def test_a_node_that_fits_now_changes_every_reason() -> None:
    assert told_before(NOW, "").changed == (
        ReasonCount("Insufficient memory", 1, 0),
        ReasonCount("node(s) had untolerated taint(s)", 2, 0),
    )


def test_a_sentence_of_another_form_is_kept_and_not_counted() -> None:
    told = told_before("running PreBind plugin failed", NOW)
    assert (told.agrees, told.changed) == (False, ())


def test_commas_within_a_reason_do_not_part_it() -> None:
    sentence = "0/9 nodes are available: 4 node(s) had untolerated taint {a: b, c}, 5 Too many pods."
    assert histogram(sentence) == {"node(s) had untolerated taint {a: b, c}": 4, "Too many pods": 5}
