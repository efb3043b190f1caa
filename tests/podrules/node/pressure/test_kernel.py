"""The kernel's arithmetic and choice, compared with the running kernel."""

from __future__ import annotations

import contextlib
import os
import platform
import re
from pathlib import Path

import pytest

from podrules.node.pressure.oom_order import (
    OOMCandidate,
    oom_badness,
    proc_oom_score,
    proc_oom_score_before_5_9,
    rank_oom,
)
from tests.podrules.node.pressure.processes import PAGE, Sized, memory_cgroup, total_pages
from tests.required import without
from tests.waiting import wait_for

# (adj, MiB): close to each other, so that both adj and usage decide.
PROCESSES = [(1000, 4), (999, 4), (996, 120), (990, 4), (937, 60), (300, 80), (300, 4), (3, 100), (0, 150), (0, 4)]
# The kernel keeps page counters per cpu and sums them now and then.
SLACK_PAGES = 64 * (os.cpu_count() or 1) * 4


@pytest.fixture(autouse=True)
def _linux() -> None:
    if not Path("/proc/self/oom_score").exists():
        without("there is no /proc/PID/oom_score: only Linux has it")


def _kernel() -> tuple[int, int]:
    found = re.match(r"(\d+)\.(\d+)", platform.release())
    assert found
    return int(found[1]), int(found[2])


@pytest.mark.parametrize("adj", sorted({adj for adj, _ in PROCESSES}))
def test_Q3_proc_oom_score_is_what_the_kernel_shows(adj: int) -> None:
    formula = proc_oom_score if _kernel() >= (5, 9) else proc_oom_score_before_5_9
    total = total_pages()
    for own, size in PROCESSES:
        if own != adj:
            continue
        with Sized(own, size) as process:
            used, shown = process.used_pages, process.oom_score
            least, most = (formula(used + slack, adj, total) for slack in (-SLACK_PAGES, SLACK_PAGES))
            assert least <= shown <= most, f"{process.name}: the kernel shows {shown}, ours {least} to {most}"
            assert most - least <= 1


def test_Q3_order_matches_the_kernel() -> None:
    total = total_pages()
    with contextlib.ExitStack() as running:
        processes = {f"{adj}/{size}": running.enter_context(Sized(adj, size)) for adj, size in PROCESSES}
        candidates = [
            OOMCandidate("", name, "", process.adj, process.used_pages * PAGE) for name, process in processes.items()
        ]
        ranked = [place.candidate.pod for place in rank_oom(candidates, total * PAGE, page_size=PAGE)]
        shown = [processes[name].oom_score for name in ranked]
        badness = [oom_badness(processes[name].used_pages, processes[name].adj, total) for name in ranked]
    assert shown == sorted(shown, reverse=True), list(zip(ranked, shown, strict=True))
    assert len(set(shown)) > len(shown) // 2
    assert None not in badness


def test_Q3_kernel_kills_by_usage_and_adj() -> None:
    """A cgroup of the test runs out of memory three times: the larger, the one of highest adj, the one that grew."""
    limit = 160 << 20
    with memory_cgroup("kubectl-qos-test") as cgroup, contextlib.ExitStack() as running:
        if isinstance(cgroup, str):
            without(f"{cgroup}; make ci-tools prepares it, as root")
        cgroup.limit(limit)
        small, large, growing = (
            running.enter_context(Sized(adj, size, cgroup.path)) for adj, size in ((1000, 2), (900, 70), (0, 2))
        )
        alive = {"small": small, "large": large, "growing": growing}
        died: list[str] = []
        while len(died) < len(PREDICTED):
            candidates = [OOMCandidate("", name, "", one.adj, one.used_pages * PAGE) for name, one in alive.items()]
            ranked = [place.candidate.pod for place in rank_oom(candidates, limit, page_size=PAGE)]
            grown = growing.grow(2)
            # The memory freed by the first may be too little or too late: then one growth kills the next, too.
            predicted = ranked[: cgroup.kills - len(died)]
            assert _killed(alive, len(predicted)) == set(predicted)
            died += predicted
            for name in predicted:
                del alive[name]
            assert grown or "growing" in died
    assert died == PREDICTED


def _killed(alive: dict[str, Sized], count: int) -> set[str]:
    """The processes that are killed: they have the signal and need a moment."""

    def ended() -> set[str]:
        return {name for name, one in alive.items() if one.killed}

    wait_for(lambda: len(ended()) >= count, f"{count} processes that were killed end")
    return ended()


# By class, the process with adj 1000 would have been first.
PREDICTED = ["large", "small", "growing"]
