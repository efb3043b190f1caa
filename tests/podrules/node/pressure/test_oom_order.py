"""The kernel's arithmetic: badness, /proc/PID/oom_score, order."""

from __future__ import annotations

from itertools import pairwise, permutations

from hypothesis import given
from hypothesis import strategies as st

from podrules.node.pressure.oom_order import (
    PAGE_SIZE,
    OOMCandidate,
    OOMSeparator,
    oom_badness,
    proc_oom_score,
    proc_oom_score_before_5_9,
    rank_oom,
)
from tests.table import table

MI, GI = 1 << 20, 1 << 30
TOTAL = 24684096 // 4
"""Pages of the node with known REAL orders."""


def candidate(name: str, adj: int, used: int | None, swap: int = 0) -> OOMCandidate:
    return OOMCandidate("shop", name, "app", adj, used, swap)


@table(
    "used, adj, total, badness, shown, shown_before",
    {
        "nothing used": (0, 0, 1_000_000, 0, 666, 0),
        "a quarter": (250_000, 0, 1_000_000, 250_000, 833, 250),
        "everything": (1_000_000, 0, 1_000_000, 1_000_000, 1333, 1000),
        "BestEffort": (0, 1000, 1_000_000, 1_000_000, 1333, 1000),
        "BestEffort with all memory": (1_000_000, 1000, 1_000_000, 2_000_000, 2000, 2000),
        "Guaranteed": (0, -997, 1_000_000, -997_000, 2, 0),
        "Guaranteed that uses a tenth": (100_000, -997, 1_000_000, -897_000, 68, 0),
        "kubelet": (0, -999, 1_000_000, -999_000, 0, 0),
        "never killed": (5, -1000, 1_000_000, None, 0, 0),
        "adj counts whole thousandths of the total only": (0, 1, 1_999, 1, 666, 0),
        "truncated towards zero": (1, -1, 1_999, 0, 666, 0),
        "also below zero": (0, -3, 1_999, -3, 666, 0),
    },
)
def test_Q3_both_scales(used: int, adj: int, total: int, badness: int | None, shown: int, shown_before: int) -> None:
    assert oom_badness(used, adj, total) == badness
    assert proc_oom_score(used, adj, total) == shown
    assert proc_oom_score_before_5_9(used, adj, total) == shown_before


@table(
    "first, second, separator",
    {
        "adj alone": ((1000, 7), (985, 7), OOMSeparator.ADJ),
        "usage alone": ((985, 9), (985, 7), OOMSeparator.USAGE),
        "both": ((1000, 9), (985, 7), OOMSeparator.BOTH),
        "adj outweighs": ((1000, 7), (985, 9), OOMSeparator.ADJ_DESPITE_USAGE),
        "usage outweighs": ((985, 900), (1000, 7), OOMSeparator.USAGE_DESPITE_ADJ),
        "nothing": ((985, 7), (985, 7), None),
    },
)
def test_Q3_deciding_term_between_neighbours(
    first: tuple[int, int], second: tuple[int, int], separator: OOMSeparator | None
) -> None:
    candidates = [candidate(name, adj, used * MI) for name, (adj, used) in (("first", first), ("second", second))]
    places = rank_oom(candidates, 8 * GI)
    assert [place.candidate.pod for place in places] == ["first", "second"]
    assert [place.decided_by for place in places] == [separator, None]


def test_Q3_swap_counts_and_unmeasured_container_is_zero() -> None:
    places = rank_oom(
        [
            candidate("unmeasured", 985, None),
            candidate("resident", 985, 10 * MI),
            candidate("swapped", 985, 0, 20 * MI),
        ],
        8 * GI,
    )
    assert [(place.candidate.pod, place.points) for place in places] == [
        ("swapped", 987),
        ("resident", 986),
        ("unmeasured", 985),
    ]


def test_Q3_unkillable_process_is_not_ranked() -> None:
    assert [place.candidate.pod for place in rank_oom([candidate("sshd", -1000, GI), candidate("web", 3, 0)], GI)] == [
        "web"
    ]


def test_Q3_order_that_a_real_kernel_took_at_the_kubepods_limit() -> None:
    # A Burstable container (adj 996, 250Mi) died before a BestEffort one (1000, 100Mi), both times.
    used = [candidate("best-effort", 1000, 100 * MI), candidate("burstable", 996, 250 * MI)]
    for candidates in permutations(used):
        places = rank_oom(candidates, 3 * GI)
        assert [place.candidate.pod for place in places] == ["burstable", "best-effort"]
        assert places[0].decided_by is OOMSeparator.USAGE_DESPITE_ADJ
        assert [place.points for place in places] == [1077, 1032]


def test_Q3_same_process_weighs_more_in_a_smaller_cgroup() -> None:
    used = [candidate("best-effort", 1000, 2 * MI), candidate("burstable", 900, 100 * MI)]
    node, limit = rank_oom(used, TOTAL * PAGE_SIZE), rank_oom(used, 200 * MI)
    assert [place.candidate.pod for place in node] == ["best-effort", "burstable"]
    assert [place.candidate.pod for place in limit] == ["burstable", "best-effort"]


USED = st.integers(0, 64 * GI)
CANDIDATES = st.lists(
    st.builds(candidate, st.text("ab", max_size=3), st.integers(-1000, 1000), USED, USED), max_size=12
)


@given(CANDIDATES, st.integers(1, 256 * GI))
def test_Q3_order_is_by_badness_and_complete(candidates: list[OOMCandidate], total: int) -> None:
    places = rank_oom(candidates, total)
    assert len(places) == sum(one.oom_score_adj > -1000 for one in candidates)
    for first, second in pairwise(places):
        assert first.badness >= second.badness
        assert (first.decided_by is None) == (first.badness == second.badness)


@given(st.integers(0, 2**24), st.integers(0, 2**24), st.integers(-999, 1000), st.integers(1000, 2**26))
def test_Q3_more_memory_never_lowers_the_score(used: int, more: int, adj: int, total: int) -> None:
    for formula in (proc_oom_score, proc_oom_score_before_5_9):
        assert 0 <= formula(used, adj, total) <= formula(used + more, adj, total)
