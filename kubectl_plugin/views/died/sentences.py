"""Sentences about the causes of an end, with their numbers: main clauses without a full stop.

The table `causes` names a function of this module for each cause with a sentence that depends on the report.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Final

from kubectl_plugin.reports.end_report import EndReport
from kubectl_plugin.views.died.start_errors import REJECTION_REASONS, start_error
from kubectl_plugin.views.evictor_words import evicted_words
from kubectl_plugin.views.pod.container_words import signal_name
from kubectl_plugin.views.scheduling.preemption import preemptor_name
from kubectl_plugin.views.words import counted, in_units, memory, resource_amount
from podrules.ending.died.cause import Cause, Clue, EvidenceSource
from podrules.ending.died.container_end import REBOOTED
from podrules.ending.died.controllers import JOB_ENDS, RESCALED, SCALED
from podrules.ending.died.memory import OF_CGROUP
from podrules.ending.died.messages import FORCE_ALLOWED, forced_by
from podrules.ending.died.pod_end import RejectionKind
from podrules.ending.died.windows_exits import windows_exit
from podrules.pod.termination import MINIMUM_GRACE_PERIOD_SECONDS
from podrules.workload.evictors import Evictor, Where

_SUSPENDED: Final = "Suspended"
_CRASHES: Final = frozenset({3, 4, 5, 6, 7, 8, 11, 24, 25, 31})
"""Signals that end a process because of its own error, with a core dump by default (signal(7))."""
_AND_ITS_PODS: Final = ", or the cgroup of all its pods,"
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
_REASONS: Final = {
    "Job": "because fewer may run at once",
    "DaemonSet": "for a rollout, or because the pod no longer belongs on its node",
}
"""Why a controller removes a running pod."""
Sentence = Callable[[EndReport], str]


def container_name(report: EndReport) -> str:
    """``container app``; ``a container`` if the pod as a whole ended."""
    return f"container {report.end.container}" if report.end.container else "a container"


def out_of_memory(field: str, words: str) -> Sentence:
    """A kill by the kernel for memory: the container, or any process of an init container (`fails_init`)."""

    def sentence(report: EndReport) -> str:
        one = report.end.container_end
        limits = one.limits if one is not None else None
        most = {"own": limits.own, "pod": limits.pod}.get(field) if limits is not None else None
        limit, node = f" of {memory(most)}" if most else "", f" {report.node}" if report.node else ""
        clues = [clue for clue in known_clues(report) if clue.source is EvidenceSource.NODE_EVENT]
        if not field and clues and all(OF_CGROUP in clue.says for clue in clues):
            node += _AND_ITS_PODS
        name = container_name(report)
        lead = f"the kernel killed {name}:"
        if one is not None and one.end is not None and one.end.exit_code == 0:
            lead = f"{name} failed despite exit code 0, because"
        return f"{lead} {words.format(limit=limit, node=node)}"

    return sentence


def probe(kind: str) -> Sentence:
    """A restart for a probe, with its failureThreshold."""

    def sentence(report: EndReport) -> str:
        verb = "stopped" if report.restart_policy == "Never" else "restarted"
        spec = report.container_spec
        found = None if spec is None else spec.liveness if kind == "liveness" else spec.startup
        several = found is not None and found.failure_threshold > 1
        times = f" {counted(found.failure_threshold, 'time')} in a row" if found is not None and several else ""
        return f"the kubelet {verb} {container_name(report)}: its {kind} probe failed{times}"

    return sentence


def application(report: EndReport) -> str:
    """The process ended by itself: by its exit code, or by a signal from elsewhere."""
    one, name = report.end.container_end, container_name(report)
    end = one.end if one is not None else None
    if end is None:
        return f"{name} ended by itself"
    if end.exit_code == 0:
        return f"{name} completed: exit code 0"
    named = windows_exit(end.exit_code)
    if named is not None:
        return f"{name} {named.meaning} (exit code {end.exit_code}, {named.name})"
    signal = signal_name(end.signal)
    if signal and end.signal not in _CRASHES:
        return f"{name} got {signal} from elsewhere than Kubernetes, or returned {end.exit_code} itself"
    if signal:
        return f"{name} crashed with {signal}: exit code {end.exit_code}"
    return f"{name} ended by itself: exit code {end.exit_code}"


def could_not_start(what: str) -> Sentence:
    """A container that never ran, with the error of the kubelet or the runtime."""

    def sentence(report: EndReport) -> str:
        one = report.end.container_end
        reason = "" if one is None else one.waits or (one.end.reason if one.end is not None else "")
        known = None if one is None else start_error(one.said)
        why = what if known is None else known.what
        return f"{container_name(report)} could not start: {why}{f' ({reason})' if reason else ''}"

    return sentence


def evicted(resource: str) -> Sentence:
    """An eviction from a node that was low on a resource, with its threshold."""

    def sentence(report: EndReport) -> str:
        numbers = report.end.numbers
        kind = f" of {numbers.set_by}" if numbers.set_by else ""
        if numbers.grace_seconds is not None:
            kind += f", which gave it up to {max(numbers.grace_seconds, MINIMUM_GRACE_PERIOD_SECONDS)} s"
        available = in_units(numbers.available)
        found = f" ({available} available, threshold {numbers.threshold}{kind})" if numbers.threshold else ""
        return f"the kubelet evicted the pod: the node was low on {resource}{found}"

    return sentence


def over_limit(what: str) -> Sentence:
    """An eviction for a storage limit of the pod itself."""

    def sentence(report: EndReport) -> str:
        numbers = report.end.numbers
        name, limit = f" {numbers.name}" if numbers.name else "", f" of {numbers.limit}" if numbers.limit else ""
        return f"the kubelet evicted the pod: {what.format(name=name)}{limit}"

    return sentence


def preempted(report: EndReport) -> str:
    """A preemption by the scheduler, with the pod of higher priority."""
    preemptor = "a pod of higher priority" if report.preempted is None else preemptor_name(report.preempted)
    return f"the scheduler preempted the pod for {preemptor}"


def known_clues(report: EndReport) -> list[Clue]:
    """The evidence for the causes that the page names."""
    return [clue for one in report.end.verdict.suspects for clue in one.clues]


def is_device_taint(report: EndReport) -> bool:
    """Whether the taint belongs to a device that the pod uses, not to its node."""
    return any("DeviceTaintManager" in f"{clue.where}: {clue.says[:_MOST_WHY]}" for clue in known_clues(report))


def tainted(report: EndReport) -> str:
    """A deletion for a taint of the node, or of a device."""
    if is_device_taint(report):
        return "the device taint manager deleted the pod: its ResourceClaim does not tolerate a taint of its device"
    taints = f": {', '.join(report.taints)}" if report.taints else ""
    return f"the taint manager deleted the pod, which does not tolerate a taint of its node{taints}"


def deadline(report: EndReport) -> str:
    """An end by activeDeadlineSeconds."""
    seconds = f" ({report.active_deadline_seconds} s)" if report.active_deadline_seconds else ""
    return f"the kubelet ended the pod: it was active longer than activeDeadlineSeconds{seconds}"


def by_controller(report: EndReport) -> str:
    """A deletion by the pod's controller, with the reason if events show it."""
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
    """How a ReplicaSet was scaled down, by the events about its size; empty if none shows it."""
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


def by_job(report: EndReport) -> str:
    """A deletion by a Job that ended or was suspended."""
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


def sidecar(report: EndReport) -> str:
    """A sidecar that was stopped because the main containers had ended."""
    which = f"sidecar {report.end.container}" if report.end.container else "the sidecars"
    return f"the kubelet stopped {which}: the main containers of the pod had ended"


def rejected(report: EndReport) -> str:
    """A rejection by the kubelet, with what the node lacked."""
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


def static(report: EndReport) -> str:
    """A change of the manifest of a static pod."""
    changed = "changed" if report.earlier else "changed, or removed"
    return f"the kubelet stopped the static pod: its manifest on {report.node or 'its node'} was {changed}"


def by_program(plain: str, *, deletes: bool) -> Sentence:
    """The sentence with the program that did it, if known."""

    def sentence(report: EndReport) -> str:
        by = report.end.evictor
        return plain if by is None or by.deletes is not deletes else evicted_words(by, report.node)

    return sentence


def of_node(plain: str, words: Callable[[Evictor, str], str]) -> Sentence:
    """The sentence, with the program that removes or restarts the node, if known."""

    def sentence(report: EndReport) -> str:
        by, said = report.end.evictor, plain.format(name=container_name(report))
        return said if by is None or by.where is Where.POD_EVENT else f"{said}; {words(by, report.node)}"

    return sentence


def forced(report: EndReport) -> str:
    """The user who deleted the pod without grace, if an event of the webhook names one."""
    said = (forced_by(clue.says) for clue in known_clues(report) if clue.where == FORCE_ALLOWED)
    by = next(filter(None, said), "")
    return f"{f'user {by}' if by else 'a client'} force deleted the pod"


def or_reboot(plain: str) -> Sentence:
    """The sentence, after the restart of the node if an event shows one."""

    def sentence(report: EndReport) -> str:
        where = f"node {report.node}" if report.node else "its node"
        lead = f"{where} restarted: " if was_rebooted(report) else ""
        return lead + plain.format(name=container_name(report))

    return sentence


def was_rebooted(report: EndReport) -> bool:
    """Whether an event of the node shows that it restarted at this end."""
    return any(clue.where == REBOOTED for clue in known_clues(report))
