"""The certainty that each verdict has to have, by the evidence of a variation: defined before the run.

An unnamed variation has the grade of its family. A verdict may be more certain and must be true: a certain verdict is
right, and one of A or B includes the truth. A less certain verdict is a difference.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from msgspec.structs import replace

from podrules.ending.died.cause import Cause, Grade
from podrules.ending.died.of_pod import EndOf, PodEnd, last_end
from tests.podrules.ending.died.cases import RecordedEnd
from tests.real_node.static_facts import Compared

_SAID: Final = "a component reports it: in the pod's status, in a condition, or in an event of this very end"
_COMPLETE: Final = "no event is missing and none shows a stop, so it was not stopped"
_V1: Final = "cgroup v1: every container below the cgroup that ran out is OOMKilled, whichever process was killed"
_NO_WORD: Final = (
    "exit code 137 without OOMKilled: SIGKILL from elsewhere, its own exit code, or a kill that was missed"
)
_CODE_OF_ITS_OWN: Final = (
    "cgroup v1: a child was killed, and the process ended with its own exit code, because of that or not"
)
_AGAIN: Final = "the kubelet's event may be repeated for the next run, and has only its first and last time"
_PLAIN_STOP: Final = "the kubelet stops all containers of a pod without restarts, and its event gives no reason"
_NO_AUTHOR: Final = "the API server does not record who deleted a pod, nor whether the last request was the kubelet's"
_GONE: Final = "the object is gone, and the kubelet's events show that it stopped, not which client asked for it"
_COLLECTED: Final = "garbage collection deletes without grace, which hides an earlier deletion"
_HOOK: Final = "the hook fails in the second in which the container starts: its event may be of the previous run"
_FILES: Final = "files in memory count for the pod's cgroup, too: either limit may come first"
_VOLUME: Final = "no container was created yet: it waits for a volume, and nothing has ended"
_NOTHING: Final = "the object and the kubelet are gone: there is no record"

_Expected = tuple[Grade, str]
_FAMILIES: Final[Mapping[_Expected, str]] = {
    (Grade.CERTAIN, _SAID): (
        "active-deadline api-eviction child-killed-earlier/liveness configuration container-lost container-storage "
        "definition-changed empty-dir evicted-disk evicted-inodes evicted-memory evicted-memory-soft evicted-pids "
        "image job-ended kubelet-preemption node-shutdown owner pod-storage post-start preemption rejected resize "
        "runtime sandbox-changed sidecar-stopped taint-eviction"
    ),
    (Grade.CERTAIN, _COMPLETE): (
        "application-abort application-exit-0 application-exit-1 application-exit-143 application-segfault "
        "child-killed-earlier init-fails sidecar-fails"
    ),
    (Grade.LIKELY, _V1): (
        "child-killed-earlier/killed kubelet-away node-out-of-memory own-memory-limit own-memory-limit-init "
        "own-memory-limit-of-child own-memory-limit-sidecar"
    ),
    (Grade.LIKELY, _PLAIN_STOP): "liveness/in-job liveness/never sandbox-changed/in-job sandbox-changed/never",
    (Grade.LIKELY, _AGAIN): "liveness startup",
    (Grade.LIKELY, _COLLECTED): "node-gone/object-kept",
    (Grade.LIKELY, _HOOK): "post-start/http-137",
    (Grade.LIKELY, "the other containers' ends look like their own"): "restart-all",
    (Grade.LIKELY, "it ended in the second of its stop, perhaps by itself"): "sidecar-stopped/exit-0",
    (Grade.LIKELY, "the node was silent: it may have been deleted before"): "unreachable",
    (Grade.SEVERAL, _NO_AUTHOR): "child-killed-earlier/deleted deleted deleted-pre-stop deleted-sigkill force-deleted",
    (Grade.SEVERAL, _GONE): "api-eviction/gone api-eviction/in-deployment job-ended/deleted owner/owner-deleted",
    (Grade.SEVERAL, _V1): "node-out-of-memory-earlier pod-memory-limit pod-memory-limit-earlier",
    (Grade.SEVERAL, _NO_WORD): "application-exit-137 application-killed-on-node",
    (Grade.SEVERAL, _CODE_OF_ITS_OWN): "child-killed-earlier/exit-1 own-memory-limit-hidden",
    (Grade.SEVERAL, _FILES): "own-memory-limit-tmpfs",
    (Grade.NOTHING, _VOLUME): "configuration/volume",
    (Grade.NOTHING, _NOTHING): "node-gone",
}
"""By family, or by family and variation: the least grade, and the evidence for it."""
EXPECTED: Final = {family: evidence for evidence, names in _FAMILIES.items() for family in names.split()}
_SURENESS: Final = {Grade.NOTHING: 0, Grade.SEVERAL: 1, Grade.LIKELY: 2, Grade.CERTAIN: 3}


def expected(case_id: str) -> _Expected:
    """The least grade of a case, and why."""
    return EXPECTED.get(case_id) or EXPECTED[case_id.partition("/")[0]]


def compare_verdict(case: RecordedEnd) -> Compared:
    """Compare the verdict over all of the evidence with the truth."""
    end = _of_case(case)
    least, _ = expected(case.id)
    wanted = f"{case.cause.value}, at least {least.value}"
    said = f"{end.verdict.grade.value}: {', '.join(_causes(end)) or 'nothing'}"
    right = _is_true(case.cause, end) and _SURENESS[end.verdict.grade] >= _SURENESS[least]
    return Compared(case.id, "verdict", wanted, wanted if right else said, said)


def _of_case(case: RecordedEnd) -> PodEnd:
    """The end of the container with the known truth, if another container's end comes first."""
    end = last_end(case.evidence)
    own = end.end_of(case.container) if case.container and end.container not in {"", case.container} else None
    if own is None or own.verdict is None:
        return end
    return replace(end, verdict=own.verdict, container=case.container)


def _is_true(cause: Cause, end: PodEnd) -> bool:
    verdict = end.verdict
    if end.of is EndOf.NOTHING or verdict.grade is Grade.NOTHING:
        return verdict.grade is Grade.NOTHING
    first = verdict.causes if verdict.grade is Grade.LIKELY else {one.cause for one in verdict.suspects}
    return cause in first


def _causes(end: PodEnd) -> Iterator[str]:
    return (one.cause.value for one in end.verdict.suspects)
