"""The causes of an end in words: a sentence with its numbers, and a short form for tables and lists."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Final

from kubectl_plugin.reports.end_report import EndReport
from kubectl_plugin.views.died.start_errors import REJECTION_REASONS, start_error
from kubectl_plugin.views.evictor_words import evicted_words, node_words, removed_words
from kubectl_plugin.views.pod.container_words import signal_name
from kubectl_plugin.views.scheduling.preemption import preemptor_name
from kubectl_plugin.views.words import counted, memory, resource_amount
from podrules.ending.died.cause import Cause, Clue, EvidenceSource, Suspect
from podrules.ending.died.container_end import REBOOTED
from podrules.ending.died.controllers import JOB_ENDS, RESCALED, SCALED
from podrules.ending.died.memory import OF_CGROUP
from podrules.ending.died.messages import FORCE_ALLOWED, forced_by
from podrules.ending.died.of_pod import ContainerEnd
from podrules.ending.died.pod_end import RejectionKind
from podrules.ending.died.windows_exits import windows_exit
from podrules.pod.termination import MINIMUM_GRACE_PERIOD_SECONDS
from podrules.workload.evictors import Evictor, Where

SHORT: Final = {
    Cause.OWN_MEMORY_LIMIT: "own memory limit",
    Cause.POD_MEMORY_LIMIT: "memory limit of the pod",
    Cause.NODE_OUT_OF_MEMORY: "node out of memory",
    Cause.LIVENESS_PROBE: "liveness probe",
    Cause.STARTUP_PROBE: "startup probe",
    Cause.POST_START_HOOK: "postStart hook",
    Cause.RESIZE: "resize with a restart",
    Cause.DEFINITION_CHANGED: "image changed in place",
    Cause.RESTART_ALL: "all containers restarted",
    Cause.SANDBOX_CHANGED: "sandbox gone",
    Cause.SIDECAR_STOPPED: "main containers ended",
    Cause.CONTAINER_LOST: "container lost",
    Cause.APPLICATION: "its own process",
    Cause.NODE_REBOOT: "node restarted",
    Cause.IMAGE: "image",
    Cause.CONFIGURATION: "configuration",
    Cause.RUNTIME: "runtime error",
    Cause.EVICTED_MEMORY: "evicted: memory",
    Cause.EVICTED_DISK: "evicted: disk",
    Cause.EVICTED_INODES: "evicted: inodes",
    Cause.EVICTED_PIDS: "evicted: process ids",
    Cause.CONTAINER_STORAGE_LIMIT: "own ephemeral-storage limit",
    Cause.POD_STORAGE_LIMIT: "ephemeral-storage of the pod",
    Cause.EMPTY_DIR_LIMIT: "emptyDir sizeLimit",
    Cause.KUBELET_PREEMPTION: "preempted by the kubelet",
    Cause.NODE_SHUTDOWN: "node shutdown",
    Cause.ACTIVE_DEADLINE: "activeDeadlineSeconds",
    Cause.REJECTED: "rejected by the kubelet",
    Cause.STATIC_MANIFEST: "static manifest",
    Cause.PREEMPTION: "preempted",
    Cause.API_EVICTION: "evicted by the API",
    Cause.TAINT_EVICTION: "taint of the node",
    Cause.NODE_REMOVED: "node gone",
    Cause.JOB_ENDED: "its Job ended",
    Cause.OWNER: "its controller",
    Cause.DELETED: "deleted",
    Cause.FORCE_DELETED: "force deleted",
}
"""The short form of each cause, for a column or a list."""

_SUSPENDED: Final = "Suspended"
_EVICTION_API: Final = "a client evicted the pod through the eviction API, as drains and autoscalers do"
_CRASHES: Final = frozenset({3, 4, 5, 6, 7, 8, 11, 24, 25, 31})
"""Signals that end a process because of its own error, with a core dump by default (signal(7))."""
_Words = Callable[[EndReport, str], str]


def cause_sentence(suspect: Suspect, report: EndReport, container: str) -> str:
    """What happened if this was the cause: a main clause without a full stop; an empty container means the pod."""
    return _SENTENCES[suspect.cause](report, container)


def _its(report: EndReport, container: str) -> ContainerEnd | None:
    return report.end.end_of(container)


def _name(container: str) -> str:
    return f"container {container}" if container else "a container"


def _memory_of(field: str, words: str) -> _Words:
    """A kill by the kernel for memory: the container, or any process of an init container (`fails_init`)."""

    def sentence(report: EndReport, container: str) -> str:
        one = _its(report, container)
        limits = one.limits if one is not None else None
        most = {"own": limits.own, "pod": limits.pod}.get(field) if limits is not None else None
        limit, node = f" of {memory(most)}" if most else "", f" {report.node}" if report.node else ""
        node += _AND_ITS_PODS if not field and _is_of_cgroup(report) else ""
        failed = one is not None and one.end is not None and one.end.exit_code == 0
        lead = (
            f"{_name(container)} failed despite exit code 0, because"
            if failed
            else f"the kernel killed {_name(container)}:"
        )
        return f"{lead} {words.format(limit=limit, node=node)}"

    return sentence


_AND_ITS_PODS: Final = ", or the cgroup of all its pods,"


def _is_of_cgroup(report: EndReport) -> bool:
    """Whether node events report kills, all of them for the limit of a cgroup and not for the node's memory."""
    of_cgroup = [OF_CGROUP in clue.says for clue in known_clues(report) if clue.source is EvidenceSource.NODE_EVENT]
    return bool(of_cgroup) and all(of_cgroup)


def _probe(kind: str) -> _Words:
    def words(report: EndReport, container: str) -> str:
        verb = "stopped" if report.restart_policy == "Never" else "restarted"
        spec = next((one for one in report.containers if one.name == container), None)
        probe = None if spec is None else spec.liveness if kind == "liveness" else spec.startup
        several = probe is not None and probe.failure_threshold > 1
        times = f" {counted(probe.failure_threshold, 'time')} in a row" if probe is not None and several else ""
        return f"the kubelet {verb} {_name(container)}: its {kind} probe failed{times}"

    return words


def _application(report: EndReport, container: str) -> str:
    one = _its(report, container)
    end = one.end if one is not None else None
    if end is None:
        return f"{_name(container)} ended by itself"
    if end.exit_code == 0:
        return f"{_name(container)} completed: exit code 0"
    named = windows_exit(end.exit_code)
    if named is not None:
        return f"{_name(container)} {named.meaning} (exit code {end.exit_code}, {named.name})"
    signal = signal_name(end.signal)
    if signal and end.signal not in _CRASHES:
        return f"{_name(container)} got {signal} from elsewhere than Kubernetes, or returned {end.exit_code} itself"
    if signal:
        return f"{_name(container)} crashed with {signal}: exit code {end.exit_code}"
    return f"{_name(container)} ended by itself: exit code {end.exit_code}"


def _waits(what: str) -> _Words:
    def words(report: EndReport, container: str) -> str:
        one = _its(report, container)
        reason = "" if one is None else one.waits or (one.end.reason if one.end is not None else "")
        known = None if one is None else start_error(one.said)
        why = what if known is None else known.what
        return f"{_name(container)} could not start: {why}{f' ({reason})' if reason else ''}"

    return words


def _evicted(resource: str) -> _Words:
    def words(report: EndReport, container: str) -> str:
        del container
        numbers = report.end.numbers
        kind = f" of {numbers.set_by}" if numbers.set_by else ""
        if numbers.grace_seconds is not None:
            kind += f", which gave it up to {max(numbers.grace_seconds, MINIMUM_GRACE_PERIOD_SECONDS)} s"
        found = f" ({numbers.available} available, threshold {numbers.threshold}{kind})" if numbers.threshold else ""
        return f"the kubelet evicted the pod: the node was low on {resource}{found}"

    return words


def _storage(what: str) -> _Words:
    def words(report: EndReport, container: str) -> str:
        del container
        numbers = report.end.numbers
        name, limit = f" {numbers.name}" if numbers.name else "", f" of {numbers.limit}" if numbers.limit else ""
        return f"the kubelet evicted the pod: {what.format(name=name)}{limit}"

    return words


def _preempted(report: EndReport, container: str) -> str:
    del container
    preemptor = "a pod of higher priority" if report.preempted is None else preemptor_name(report.preempted)
    return f"the scheduler preempted the pod for {preemptor}"


def known_clues(report: EndReport) -> list[Clue]:
    """The evidence for the causes that the page names."""
    return [clue for one in report.end.verdict.suspects for clue in one.clues]


def is_device_taint(report: EndReport) -> bool:
    """Whether the taint belongs to a device that the pod uses, not to its node."""
    return any("DeviceTaintManager" in f"{clue.where}: {clue.says[:_MOST_WHY]}" for clue in known_clues(report))


def _tainted(report: EndReport, container: str) -> str:
    del container
    if is_device_taint(report):
        return "the device taint manager deleted the pod: its ResourceClaim does not tolerate a taint of its device"
    taints = f": {', '.join(report.taints)}" if report.taints else ""
    return f"the taint manager deleted the pod, which does not tolerate a taint of its node{taints}"


def _deadline(report: EndReport, container: str) -> str:
    del container
    seconds = report.active_deadline_seconds
    limit = f"activeDeadlineSeconds{f' ({seconds} s)' if seconds else ''}"
    return f"the kubelet ended the pod: it was active longer than {limit}"


def _owner(report: EndReport, container: str) -> str:
    del container
    owner = f"{report.owner.kind} {report.owner.name}" if report.owner is not None else "its controller"
    suspects = (*report.end.verdict.suspects, *report.end.verdict.others)
    clues = [clue for one in suspects if one.cause is Cause.OWNER for clue in one.clues]
    # A controller that reports the deletion existed; the pods of a deleted one are garbage collected.
    if report.owner_missing and not any(clue.source is EvidenceSource.OWNER_EVENT for clue in clues):
        return f"{owner} was deleted, and the pod with it"
    kind = report.owner.kind if report.owner is not None else ""
    if scaled := _scaled_words(clues):
        return f"{owner} removed the pod: {scaled}"
    return f"{owner} removed the pod, {_REASONS.get(kind, 'for a rollout or because it was scaled down')}"


def _scaled_words(clues: Sequence[Clue]) -> str:
    """How a ReplicaSet was scaled down, by the events of `scaling`; empty if none shows it."""
    said = [clue.says.partition("replica set ")[2].split() for clue in clues if clue.where == SCALED]
    if not said:
        return ""
    sizes = " ".join(word for word in said[0][1:] if word.isdecimal() or word in {"from", "to"})
    rescaled = next((clue for clue in clues if clue.where.startswith(RESCALED)), None)
    if rescaled is not None:
        why = rescaled.says.partition("reason: ")[2][:_MOST_WHY]
        by = f"HorizontalPodAutoscaler {rescaled.where.rpartition(' ')[2]}"
        return f"it was scaled down {sizes}, probably by {by}{f' ({why})' if why else ''}"
    if len(said) > 1:
        return f"it was scaled down {sizes} in a rollout to {said[1][0]}"
    return f"it was scaled down {sizes}"


_REASONS: Final = {
    "Job": "because fewer may run at once",
    "DaemonSet": "for a rollout, or because the pod no longer belongs on its node",
}
"""Why a controller removes a running pod."""


def _job(report: EndReport, container: str) -> str:
    del container
    job = f"Job {report.owner.name}" if report.owner is not None else "its Job"
    why = job_end(report)
    if not why:
        return f"{job} removed the pod, because the Job had ended or was suspended"
    return f"{job} removed the pod: the Job {'was suspended' if why == _SUSPENDED else f'had ended ({why})'}"


def job_end(report: EndReport) -> str:
    """The controller's reason for the end of the Job; empty if unknown."""
    clues = [clue for one in report.end.verdict.suspects if one.cause is Cause.JOB_ENDED for clue in one.clues]
    for clue in clues:
        if clue.source is EvidenceSource.OWNER:
            kind, _, rest = clue.says.partition(": ")
            return _SUSPENDED if kind == _SUSPENDED else rest.partition(": ")[0]
        if clue.where in JOB_ENDS:
            return clue.where
    return ""


def _sidecar(report: EndReport, container: str) -> str:
    del report
    which = f"sidecar {container}" if container else "the sidecars"
    return f"the kubelet stopped {which}: the main containers of the pod had ended"


def _rejected(report: EndReport, container: str) -> str:
    del container
    if any(one.end is not None for one in report.end.ends):
        return "the kubelet restarted, and then rejected the pod"
    found, lead, node = report.end.rejection, "the kubelet rejected the pod", report.node or "its node"
    if found is None:
        return lead
    short = _SHORTAGE.search(" ".join(clue.says[:_MOST_SAID] for clue in known_clues(report)))
    if short is not None:
        asks, used, most = (resource_amount(short[1], int(one), named=False) for one in short.group(2, 3, 4))
        return f"{lead}: {node} had {used} of {most} {short[1]} in use, and it requests {asks} ({found.reason})"
    if found.kind is RejectionKind.NO_FIT and found.reason in REJECTION_REASONS:
        return f"{lead}: {REJECTION_REASONS[found.reason][0].format(node=node)} ({found.reason})"
    return f"{lead}{_REJECTIONS[found.kind].format(conditions=', '.join(found.conditions)) or f' ({found.reason})'}"


def rejection_words(report: EndReport) -> str:
    """How often pods were rejected, and why new ones come to the node again; empty if neither is known."""
    found, owner = report.end.rejection, report.owner
    if found is None or (found.times < _REPEATED and not found.toleration):
        return ""
    controller = f"{owner.kind} {owner.name}" if owner is not None else "its controller"
    repeated = f"{found.times} pods of {controller} were rejected there" if found.times >= _REPEATED else ""
    back = f"it tolerates {found.toleration}, so new pods come to the node again at once" if found.toleration else ""
    return f"{'; '.join(filter(None, (repeated, back)))}."


_REPEATED: Final = 2
_MOST_SAID: Final = 2000
_SHORTAGE: Final = re.compile(
    r"enough resource: ([^\s,]{1,320}), requested: (\d{1,19}), used: (\d{1,19}), capacity: (\d{1,19})"
)
"""Numbers as the kubelet counts them: cpu in thousandths."""
_MOST_WHY: Final = 120
"""Characters of an autoscaler's reason."""
_REJECTIONS: Final = {
    RejectionKind.SHUTDOWN: ": its node was shutting down",
    RejectionKind.PRESSURE: ": its node had {conditions}",
    RejectionKind.ADMISSION: ": a device plugin or another part of the kubelet does not admit it",
    RejectionKind.NO_FIT: "",
}


def _static(report: EndReport, container: str) -> str:
    del container
    changed = "changed" if report.earlier else "changed, or removed"
    return f"the kubelet stopped the static pod: its manifest on {report.node or 'its node'} was {changed}"


def _by_program(plain: str, *, deletes: bool) -> _Words:
    """The sentence with the program that did it, if known."""

    def words(report: EndReport, container: str) -> str:
        del container
        by = report.end.evictor
        return plain if by is None or by.deletes is not deletes else evicted_words(by, report.node)

    return words


def _of_node(plain: str, words: Callable[[Evictor, str], str]) -> _Words:
    """The sentence, with the program that removes or restarts the node, if known."""

    def sentence(report: EndReport, container: str) -> str:
        by, said = report.end.evictor, plain.format(name=_name(container))
        return said if by is None or by.where is Where.POD_EVENT else f"{said}; {words(by, report.node)}"

    return sentence


def _forced(report: EndReport, container: str) -> str:
    """The user who deleted the pod without grace, if an event of the webhook names one."""
    del container
    clues = (clue for one in report.end.verdict.suspects for clue in one.clues if clue.where == FORCE_ALLOWED)
    by = next(filter(None, (forced_by(clue.says) for clue in clues)), "")
    return f"{f'user {by}' if by else 'a client'} force deleted the pod"


def _plain(words: str) -> _Words:
    return lambda _report, container: words.format(name=_name(container))


def _or_reboot(plain: str) -> _Words:
    """The sentence, after the restart of the node if an event shows one."""

    def words(report: EndReport, container: str) -> str:
        where = f"node {report.node}" if report.node else "its node"
        lead = f"{where} restarted: " if was_rebooted(report) else ""
        return lead + plain.format(name=_name(container))

    return words


def was_rebooted(report: EndReport) -> bool:
    """Whether an event of the node shows that it restarted at this end."""
    return any(clue.where == REBOOTED for clue in known_clues(report))


_SENTENCES: Final[dict[Cause, _Words]] = {
    Cause.OWN_MEMORY_LIMIT: _memory_of("own", "it reached its own memory limit{limit}"),
    Cause.POD_MEMORY_LIMIT: _memory_of("pod", "the pod reached its memory limit{limit}"),
    Cause.NODE_OUT_OF_MEMORY: _memory_of("", "node{node} ran out of memory"),
    Cause.LIVENESS_PROBE: _probe("liveness"),
    Cause.STARTUP_PROBE: _probe("startup"),
    Cause.POST_START_HOOK: _plain("the kubelet stopped {name}: its postStart hook failed"),
    Cause.RESIZE: _plain("the kubelet restarted {name}: a resize in place required it"),
    Cause.DEFINITION_CHANGED: _plain("the kubelet restarted {name}: its image was changed in place"),
    Cause.RESTART_ALL: _plain("the kubelet restarted all containers, as restartPolicyRules require"),
    Cause.SANDBOX_CHANGED: _or_reboot("the pod's sandbox was gone, and the kubelet restarted the whole pod"),
    Cause.SIDECAR_STOPPED: _sidecar,
    Cause.CONTAINER_LOST: _or_reboot("the runtime lost {name}: unknown how it ended"),
    Cause.APPLICATION: _application,
    Cause.NODE_REBOOT: _of_node("its node restarted, and ended {name} without the kubelet", node_words),
    Cause.IMAGE: _waits("its image is not available"),
    Cause.CONFIGURATION: _waits("its configuration is not complete"),
    Cause.RUNTIME: _waits("the runtime reports an error"),
    Cause.EVICTED_MEMORY: _evicted("memory"),
    Cause.EVICTED_DISK: _evicted("disk space"),
    Cause.EVICTED_INODES: _evicted("inodes"),
    Cause.EVICTED_PIDS: _evicted("process ids"),
    Cause.CONTAINER_STORAGE_LIMIT: _storage("container{name} wrote more than its ephemeral-storage limit"),
    Cause.POD_STORAGE_LIMIT: _storage("its containers wrote more than their ephemeral-storage limit"),
    Cause.EMPTY_DIR_LIMIT: _storage("emptyDir volume{name} exceeded its sizeLimit"),
    Cause.KUBELET_PREEMPTION: _plain("the kubelet removed the pod to make room for a critical pod"),
    Cause.NODE_SHUTDOWN: _of_node("the kubelet ended the pod: its node shut down", node_words),
    Cause.ACTIVE_DEADLINE: _deadline,
    Cause.REJECTED: _rejected,
    Cause.STATIC_MANIFEST: _static,
    Cause.PREEMPTION: _preempted,
    Cause.API_EVICTION: _by_program(_EVICTION_API, deletes=False),
    Cause.TAINT_EVICTION: _tainted,
    Cause.NODE_REMOVED: _of_node("garbage collection removed the pod: its Node object is gone", removed_words),
    Cause.JOB_ENDED: _job,
    Cause.OWNER: _owner,
    Cause.DELETED: _by_program("a client deleted the pod", deletes=True),
    Cause.FORCE_DELETED: _forced,
}
