"""The words of each cause of an end, one row per cause, and what pages make of them.

Sentences and remedies that depend on the report are functions of `sentences` and `remedies`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from enum import Enum
from typing import Final, NamedTuple

from kubectl_plugin.render.command import Command, Hint, Prose, kubectl
from kubectl_plugin.reports.end_report import EndedPod, EndReport
from kubectl_plugin.views.died import remedies, sentences
from kubectl_plugin.views.evictor_words import node_words, removed_words
from kubectl_plugin.views.words import listed
from podrules.api.names import command
from podrules.ending.died.cause import Cause, Grade
from podrules.ending.died.of_pod import EndOf
from podrules.workload.evictors import Evictor, Where

_AUDIT: Final = (
    "the API server's audit log: who deleted the pod, and whether the webhook warned of force (annotation "
    "force-delete.kubectl-qos.io/warned)"
)
_GREP: Final = "grep -iE 'oom|killed process'"
_NOTHING: Final = "nothing: "
_MOST_ANSWERS: Final = 2
"""The most causes that an answer acts on: among more, none stands out."""
_FEW: Final = 3
MOST_CHOICES: Final = 3
"""The most causes that are named one by one."""
_STOPPED: Final = "stopped, unknown why"


class Check(Enum):
    """Where further evidence for a cause may be found."""

    KERNEL_LOG = "KernelLog"
    KUBELET_LOG = "KubeletLog"
    AUDIT_LOG = "AuditLog"
    PROCESS_LOG = "ProcessLog"


class CauseWords(NamedTuple):
    """All words of one cause."""

    short: str
    """For a column or a list."""
    sentence: str | sentences.Sentence
    """What happened, as a main clause without a full stop; ``{name}`` is the container."""
    remedy: str | remedies.Remedy
    """What prevents another such end."""
    check: Check | None = None
    only_alone: bool = False
    """Whether the remedy says too much if another cause may be the true one."""


CAUSES: Final[dict[Cause, CauseWords]] = {
    Cause.OWN_MEMORY_LIMIT: CauseWords(
        "own memory limit",
        sentences.out_of_memory("own", "it reached its own memory limit{limit}"),
        remedies.own_limit,
        Check.KERNEL_LOG,
    ),
    Cause.POD_MEMORY_LIMIT: CauseWords(
        "memory limit of the pod",
        sentences.out_of_memory("pod", "the pod reached its memory limit{limit}"),
        remedies.pod_limit,
        Check.KERNEL_LOG,
    ),
    Cause.NODE_OUT_OF_MEMORY: CauseWords(
        "node out of memory",
        sentences.out_of_memory("", "node{node} ran out of memory"),
        remedies.node_memory,
        Check.KERNEL_LOG,
    ),
    Cause.LIVENESS_PROBE: CauseWords(
        "liveness probe", sentences.probe("liveness"), remedies.probe("liveness"), Check.KUBELET_LOG
    ),
    Cause.STARTUP_PROBE: CauseWords(
        "startup probe", sentences.probe("startup"), remedies.probe("startup"), Check.KUBELET_LOG
    ),
    Cause.POST_START_HOOK: CauseWords(
        "postStart hook",
        "the kubelet stopped {name}: its postStart hook failed",
        "let the hook succeed: it runs at the same time as the process, in no fixed order",
        Check.KUBELET_LOG,
    ),
    Cause.RESIZE: CauseWords(
        "resize with a restart",
        "the kubelet restarted {name}: a resize in place required it",
        "resizePolicy NotRequired resizes without a restart, if the process supports that",
    ),
    Cause.DEFINITION_CHANGED: CauseWords(
        "image changed in place",
        "the kubelet restarted {name}: its image was changed in place",
        "change the template of its workload, not the pod",
        Check.KUBELET_LOG,
    ),
    Cause.RESTART_ALL: CauseWords(
        "all containers restarted",
        "the kubelet restarted all containers, as restartPolicyRules require",
        "restartPolicyRules required it: check the container that ended first",
    ),
    Cause.SANDBOX_CHANGED: CauseWords(
        "sandbox gone",
        sentences.or_reboot("the pod's sandbox was gone, and the kubelet restarted the whole pod"),
        remedies.lost,
        Check.KUBELET_LOG,
    ),
    Cause.SIDECAR_STOPPED: CauseWords(
        "main containers ended",
        sentences.sidecar,
        "nothing: sidecars are stopped once the main containers have ended",
    ),
    Cause.CONTAINER_LOST: CauseWords(
        "container lost", sentences.or_reboot("the runtime lost {name}: unknown how it ended"), remedies.lost
    ),
    Cause.APPLICATION: CauseWords("its own process", sentences.application, remedies.application, Check.PROCESS_LOG),
    Cause.NODE_REBOOT: CauseWords(
        "node restarted",
        sentences.of_node("its node restarted, and ended {name} without the kubelet", node_words),
        remedies.DRAIN,
    ),
    Cause.IMAGE: CauseWords(
        "image",
        sentences.could_not_start("its image is not available"),
        "correct the image's name or tag, or the pull secret; check that the node reaches the registry",
    ),
    Cause.CONFIGURATION: CauseWords(
        "configuration",
        sentences.could_not_start("its configuration is not complete"),
        remedies.start("create the ConfigMap, Secret or key that the message names"),
    ),
    Cause.RUNTIME: CauseWords(
        "runtime error",
        sentences.could_not_start("the runtime reports an error"),
        remedies.start("check that the command exists in the image and is executable"),
    ),
    Cause.EVICTED_MEMORY: CauseWords("evicted: memory", sentences.evicted("memory"), remedies.evicted_memory),
    Cause.EVICTED_DISK: CauseWords("evicted: disk", sentences.evicted("disk space"), remedies.evicted_disk),
    Cause.EVICTED_INODES: CauseWords(
        "evicted: inodes",
        sentences.evicted("inodes"),
        "write fewer files, and remove those that are no longer needed",
    ),
    Cause.EVICTED_PIDS: CauseWords(
        "evicted: process ids",
        sentences.evicted("process ids"),
        "start fewer processes; podPidsLimit of the kubelet limits those of each pod",
    ),
    Cause.CONTAINER_STORAGE_LIMIT: CauseWords(
        "own ephemeral-storage limit",
        sentences.over_limit("container{name} wrote more than its ephemeral-storage limit"),
        remedies.storage_limit,
    ),
    Cause.POD_STORAGE_LIMIT: CauseWords(
        "ephemeral-storage of the pod",
        sentences.over_limit("its containers wrote more than their ephemeral-storage limit"),
        remedies.storage_limit,
    ),
    Cause.EMPTY_DIR_LIMIT: CauseWords(
        "emptyDir sizeLimit",
        sentences.over_limit("emptyDir volume{name} exceeded its sizeLimit"),
        remedies.storage_limit,
    ),
    Cause.KUBELET_PREEMPTION: CauseWords(
        "preempted by the kubelet",
        "the kubelet removed the pod to make room for a critical pod",
        "leave room for critical pods: system-node-critical ones are admitted to a full node, too",
    ),
    Cause.NODE_SHUTDOWN: CauseWords(
        "node shutdown",
        sentences.of_node("the kubelet ended the pod: its node shut down", node_words),
        "drain a node before it is shut down: a drain respects budgets",
    ),
    Cause.ACTIVE_DEADLINE: CauseWords(
        "activeDeadlineSeconds",
        sentences.deadline,
        "raise spec.activeDeadlineSeconds, or make the pod end sooner",
    ),
    Cause.REJECTED: CauseWords("rejected by the kubelet", sentences.rejected, remedies.rejected),
    Cause.STATIC_MANIFEST: CauseWords("static manifest", sentences.static, remedies.manifest),
    Cause.PREEMPTION: CauseWords("preempted", sentences.preempted, remedies.preemption, Check.AUDIT_LOG),
    Cause.API_EVICTION: CauseWords(
        "evicted by the API",
        sentences.by_program(
            "a client evicted the pod through the eviction API, as drains and autoscalers do", deletes=False
        ),
        remedies.eviction,
        Check.AUDIT_LOG,
    ),
    Cause.TAINT_EVICTION: CauseWords("deleted by a taint", sentences.tainted, remedies.taint),
    Cause.NODE_REMOVED: CauseWords(
        "node gone",
        sentences.of_node("garbage collection removed the pod: its Node object is gone", removed_words),
        "drain a node before its object is deleted",
    ),
    Cause.JOB_ENDED: CauseWords("its Job ended", sentences.by_job, remedies.job, Check.AUDIT_LOG, only_alone=True),
    Cause.OWNER: CauseWords(
        "its controller",
        sentences.by_controller,
        "nothing: its controller does what its spec asks for",
        Check.AUDIT_LOG,
        only_alone=True,
    ),
    Cause.DELETED: CauseWords(
        "deleted",
        sentences.by_program("a client deleted the pod", deletes=True),
        remedies.deleted,
        Check.AUDIT_LOG,
        only_alone=True,
    ),
    Cause.FORCE_DELETED: CauseWords(
        "force deleted",
        sentences.forced,
        "its processes may have run on: delete with grace; if its node is off, fence the node",
        Check.AUDIT_LOG,
        only_alone=True,
    ),
}


def cause_sentence(cause: Cause, report: EndReport) -> str:
    """What happened if this was the cause: a main clause without a full stop."""
    words = CAUSES[cause].sentence
    return words.format(name=sentences.container_name(report)) if isinstance(words, str) else words(report)


def causes_words(causes: Iterable[Cause], evictor: Evictor | None = None) -> str:
    """``own memory limit``; ``own memory limit or node out of memory``; too many causes, or none, are unknown."""
    words = [CAUSES[cause].short for cause in causes]
    if evictor is not None and evictor.where is Where.POD_EVENT and len(words) == 1:
        return f"{'deleted' if evictor.deletes else 'evicted'} by {evictor.agent.value}"
    return _STOPPED if len(words) > MOST_CHOICES else " or ".join(words) or "unknown"


def by_cause(ended: Iterable[EndedPod]) -> Iterator[tuple[int, str, str]]:
    """The number of ends, their cause and some of the pods, the most frequent cause first."""
    found: dict[str, list[str]] = {}
    for one in ended:
        found.setdefault(causes_words(one.causes, one.evictor), []).append(f"{one.namespace}/{one.name}")
    for cause, pods in sorted(found.items(), key=lambda entry: (-len(entry[1]), entry[0])):
        yield len(pods), cause, listed(list(dict.fromkeys(pods)), most=_FEW)


def end_remedies(report: EndReport) -> tuple[str, ...]:
    """The remedies for the causes of the verdict; none if too many causes fit."""
    end, stubborn = report.end, tuple(remedies.stubborn(report))
    causes = [one.cause for one in end.verdict.suspects]
    if end.of is EndOf.NOTHING or end.verdict.grade is Grade.NOTHING or len(causes) > _MOST_ANSWERS:
        return stubborn
    found: list[str] = []
    for words in map(CAUSES.__getitem__, causes):
        if len(causes) == 1 or not words.only_alone:
            found += [words.remedy] if isinstance(words.remedy, str) else words.remedy(report)
    return tuple(dict.fromkeys((*(line for line in found if not (stubborn and line.startswith(_NOTHING))), *stubborn)))


def leading_causes(report: EndReport) -> frozenset[Cause]:
    """The causes that an answer acts on."""
    return frozenset(one.cause for one in report.end.verdict.suspects[:_MOST_ANSWERS])


def may_run_on(report: EndReport) -> bool:
    """Whether a pod without an object may still run: it may have been force deleted, and nothing shows its end."""
    end = report.end
    if report.exists or end.of is not EndOf.POD or not report.node or end.stopped:
        return False
    # Pod garbage collection does not stop a machine; a program that removes a node does.
    unseen = {Cause.FORCE_DELETED} if end.evictor else {Cause.FORCE_DELETED, Cause.NODE_REMOVED}
    return end.verdict.grade is Grade.NOTHING or bool(unseen & leading_causes(report))


def further_evidence(report: EndReport) -> Iterator[str | Prose]:
    """What distinguishes the causes that fit; nothing if the verdict is certain or nothing has ended."""
    verdict, where = report.end.verdict, report.node or "its node"
    if report.end.of is EndOf.NOTHING:
        return
    if may_run_on(report) and not report.silent:
        pods = command("crictl pods --name {} --namespace {} --state ready", report.name, report.namespace)
        yield f"on {where}: {pods} lists it as long as it runs; `kubectl qos node` lists only pods with an object"
    if verdict.grade is Grade.CERTAIN:
        return
    if verdict.grade is Grade.NOTHING:
        yield "your log and metrics store, by the pod's name"
        yield _AUDIT
        return
    checks = {CAUSES[cause].check for cause in verdict.causes}
    if Check.KERNEL_LOG in checks:
        yield f"the kernel's log on {where}: journalctl -k | {_GREP} names the cgroup that ran out"
        yield "container_oom_events_total and container_memory_working_set_bytes, if your monitoring keeps them"
    if Check.KUBELET_LOG in checks:
        yield f"the kubelet's log on {where}: it says why it stops a container"
    if Check.AUDIT_LOG in checks:
        yield _AUDIT
    if Check.PROCESS_LOG in checks and (logs := end_log(report)) is not None:
        yield Prose(("the log of the process that ended", Hint(logs, ": ")))


def end_log(report: EndReport) -> Command | None:
    """The command for the log of the container that ended; None if none did, or its pod is gone."""
    one = report.end.container_end
    if not report.exists or one is None or one.end is None:
        return None
    options = "-c {} --previous" if one.runs or one.waits else "-c {}"
    return kubectl("logs {}", report.name, one.container, namespace=report.namespace, options=options)
