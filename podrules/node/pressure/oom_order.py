"""Which process the kernel kills when memory runs out: the one with the highest badness in the cgroup that ran out.

    badness         rss + swap + page tables + oom_score_adj * (total // 1000), all in pages; no floor, may be negative
    total           memory and swap of the machine; or the limits of the cgroup that ran out: of all pods (kubepods), of
                    a pod, of a container. The same process is thus larger in a smaller cgroup, and adj weighs less
    adj -1000       never killed
    equal           the kernel kills the later one of its list: not predicted
    whole container with memory.oom.group (cgroup v2, unless singleProcessOOMKill) all its processes are killed

So usage and adj decide together, and the QoS class only through adj: a large Burstable container can be killed before a
small BestEffort one. The value in /proc/PID/oom_score has another scale:

    since Linux 5.9   (1000 + badness * 1000 / total) * 2 / 3, divisions towards zero; 0 for adj -1000
    before            badness * 1000 / total, with a badness of at least 1 page; 0 for adj -1000

Measurements are per container, but the kernel kills a process: here a container counts as one process with all of its
resident memory; several processes have less each. The kernel also counts page tables, mapped files and shared memory,
which are not measured. If only a working set is known, it is used for rss: it also contains active file cache.

Source: mm/oom_kill.c (oom_badness, oom_evaluate_task, constrained_alloc), mm/memcontrol.c (mem_cgroup_get_max,
mem_cgroup_get_oom_group) and fs/proc/base.c (proc_oom_score) of Linux 6.18; of 5.8 for the older scale.
pkg/kubelet/qos/policy.go at v1.36.3 for adj of the kubelet itself; KEP-2400 for swap.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import Enum
from typing import Final

from msgspec import Struct

from podrules.pod.oom import OOM_SCORE_ADJ_MIN, OwnScore, divide

PAGE_SIZE: Final = 4096
"""Bytes, on most machines; rankings depend on it only in rounding."""


class OOMSeparator(Enum):
    """The reason why a candidate is before the next one."""

    ADJ = "Adj"
    """Its oom_score_adj is higher; their usage is equal, or not known."""
    USAGE = "Usage"
    """It uses more; adj is equal."""
    BOTH = "Both"
    ADJ_DESPITE_USAGE = "AdjDespiteUsage"
    """It uses less, and its adj outweighs that."""
    USAGE_DESPITE_ADJ = "UsageDespiteAdj"
    """Its adj is lower, and its usage outweighs that."""


class OOMCandidate(Struct, frozen=True, rename="camel"):
    """A container, or a cgroup of the system, as if it were one process."""

    namespace: str
    """Empty for a cgroup of the system."""
    pod: str
    """Empty for a cgroup of the system."""
    container: str
    oom_score_adj: int
    rss: int | None
    """Bytes of resident memory, or of the working set if only that is known; None: not measured."""
    swap: int = 0
    """Bytes."""
    own: OwnScore | None = None
    """Why its oom_score_adj is not the kubelet's; None: it is, or it is a cgroup of the system."""

    @property
    def used(self) -> int:
        """The bytes that count; 0 without a measurement."""
        return (self.rss or 0) + self.swap


class OOMPlace(Struct, frozen=True, rename="camel"):
    """A candidate's place."""

    candidate: OOMCandidate
    badness: int
    """Pages."""
    usage_points: int
    """Its usage in thousandths of the total; the sum with the adj is about badness * 1000 / total."""
    decided_by: OOMSeparator | None
    """Why it is before the next one; None: no reason, either may be killed first, or it is the last."""

    @property
    def points(self) -> int:
        """Usage and adj together, in thousandths."""
        return self.usage_points + self.candidate.oom_score_adj


def oom_badness(used_pages: int, oom_score_adj: int, total_pages: int) -> int | None:
    """The kernel's badness of one process in pages; None: it cannot be killed (oom_badness)."""
    if oom_score_adj == OOM_SCORE_ADJ_MIN:
        return None
    return used_pages + oom_score_adj * (total_pages // 1000)


def proc_oom_score(used_pages: int, oom_score_adj: int, total_pages: int) -> int:
    """``/proc/PID/oom_score`` since Linux 5.9, from 0 to 1333, rarely higher (proc_oom_score)."""
    badness = oom_badness(used_pages, oom_score_adj, total_pages)
    return 0 if badness is None else (1000 + divide(badness * 1000, total_pages)) * 2 // 3


def proc_oom_score_before_5_9(used_pages: int, oom_score_adj: int, total_pages: int) -> int:
    """The same file in older kernels, from 0 to 2000."""
    badness = oom_badness(used_pages, oom_score_adj, total_pages)
    return 0 if badness is None else max(badness, 1) * 1000 // total_pages


def rank_oom(candidates: Iterable[OOMCandidate], total: int, *, page_size: int = PAGE_SIZE) -> tuple[OOMPlace, ...]:
    """The candidates in the order of their kills, without unkillable ones; equal ones in the given order."""
    pages = max(total // page_size, 1)
    scored = [
        (badness, candidate)
        for candidate in candidates
        if (badness := oom_badness(candidate.used // page_size, candidate.oom_score_adj, pages)) is not None
    ]
    scored.sort(key=lambda entry: -entry[0])
    return tuple(
        OOMPlace(candidate, badness, 1000 * candidate.used // max(total, 1), _separator(scored, index))
        for index, (badness, candidate) in enumerate(scored)
    )


def _separator(scored: Sequence[tuple[int, OOMCandidate]], index: int) -> OOMSeparator | None:
    if index + 1 == len(scored) or scored[index][0] == scored[index + 1][0]:
        return None
    own, following = scored[index][1], scored[index + 1][1]
    adj, used = own.oom_score_adj - following.oom_score_adj, own.used - following.used
    if adj > 0:
        if used == 0:
            return OOMSeparator.ADJ
        return OOMSeparator.BOTH if used > 0 else OOMSeparator.ADJ_DESPITE_USAGE
    return OOMSeparator.USAGE if adj == 0 else OOMSeparator.USAGE_DESPITE_ADJ
