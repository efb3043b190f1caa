"""Remedies that prevent another such end, with the numbers that decide.

The table `causes` names a function of this module for each cause with a remedy that depends on the report.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from kubectl_plugin.reports.end_report import EndReport
from kubectl_plugin.views.died.sentences import is_device_taint, job_end, was_rebooted
from kubectl_plugin.views.died.start_errors import REJECTION_REASONS, start_error
from kubectl_plugin.views.evictor_words import evictor_remedies
from kubectl_plugin.views.words import counted, memory
from podrules.api.model.quantity import Quantity, QuantityError
from podrules.ending.died.cause import Cause
from podrules.ending.died.gone import LOST_NODE, NODE_LOST
from podrules.ending.died.messages import OverUse
from podrules.ending.died.of_pod import Manner
from podrules.ending.died.pod_end import RejectionKind
from podrules.node.reachability import OUT_OF_SERVICE

_DAEMON_SET: Final = "DaemonSet"
"""The controller of this kind adds tolerations of taints that keep other pods away."""
_REPLACES: Final = frozenset({"ReplicaSet", "ReplicationController"})
"""Owners that do not count a Failed pod, and leave it. Others delete it, or count failures."""
DRAIN: Final = "drain a node before it is restarted, or let its kubelet shut down gracefully"
Remedy = Callable[[EndReport], Iterator[str]]


def own_limit(report: EndReport) -> Iterator[str]:
    """The memory limit of the container."""
    one = report.end.container_end
    if one is not None and one.limits is not None and one.limits.own is not None:
        field = one.limits.own_field or "spec.resources.limits.memory"
        yield f"let it use less, or raise {field} above {memory(one.limits.own)}"


def pod_limit(report: EndReport) -> Iterator[str]:
    """The memory limit of the pod's cgroup."""
    one = report.end.container_end
    if one is None or one.limits is None or one.limits.pod is None:
        return
    if one.limits.pod_field:
        yield f"let its containers use less, or raise {one.limits.pod_field} above {memory(one.limits.pod)}"
    else:
        yield f"its containers may use {memory(one.limits.pod)} together: let them use less, or raise their limits"


def node_memory(report: EndReport) -> Iterator[str]:
    """The memory of the node."""
    one = report.end.container_end
    request = one.limits.request if one is not None and one.limits is not None else None
    if request is not None:
        asks = memory(request) if request else "nothing"
        yield f"it requests {asks}: request what it uses, so that the scheduler counts it and its oom_score_adj falls"
    yield "the pods on the node use more memory than it has: limit memory-hungry pods"


def probe(kind: str) -> Remedy:
    """A probe that failed, with how long it may fail."""

    def lines(report: EndReport) -> Iterator[str]:
        spec = report.container_spec
        found = None if spec is None else spec.liveness if kind == "liveness" else spec.startup
        if spec is None or found is None:
            return
        times, period = counted(found.failure_threshold, "time"), found.period_seconds
        every = f"{times} every {period} s, each answered within {found.timeout_seconds} s"
        yield f"it may fail for {found.failure_threshold * period} s now: {every} ({spec.field}.{kind}Probe)"
        if kind == "liveness" and spec.startup is None:
            yield "if it only starts slowly, give it a startupProbe; if it answers slowly, raise timeoutSeconds"
        else:
            yield "raise failureThreshold or periodSeconds if it needs longer"

    return lines


def application(report: EndReport) -> Iterator[str]:
    """The process that ended by itself."""
    one = report.end.container_end
    code = one.end.exit_code if one is not None and one.end is not None else None
    if code == 0:
        if report.restart_policy == "Always":
            yield "a container that completes is restarted (restartPolicy Always): use a Job for work that ends"
        return
    yield "read the log of the process that ended"


def start(otherwise: str) -> Remedy:
    """The remedy by the message of the kubelet or the runtime."""

    def lines(report: EndReport) -> Iterator[str]:
        one = report.end.container_end
        known = None if one is None else start_error(one.said)
        if one is None or known is None:
            if one is None or not one.said:
                yield otherwise
            return
        own = one.limits.own if one.limits is not None else None
        yield known.remedy.format(limit=f" above {memory(own)}" if own else "")

    return lines


def evicted_memory(report: EndReport) -> Iterator[str]:
    """An eviction for memory."""
    for over in report.end.numbers.over:
        used, asked = _mebibytes(over.used), _mebibytes(over.requested)
        order = "pods above their requests are evicted first"
        yield f"{_consumer(over)} used {used} and requests {asked}: {order}, so request {used}"
    yield "of the pods above their requests, those with a higher priority are evicted later"


def _consumer(over: OverUse) -> str:
    return "the pod" if over.whole_pod else f"container {over.name}"


def _mebibytes(text: str) -> str:
    """A quantity in a readable unit, rounded up; other text unchanged."""
    try:
        return memory(Quantity.parse(text).value, enough=True)
    except QuantityError:
        return text


def evicted_disk(report: EndReport) -> Iterator[str]:
    """An eviction for disk space."""
    for over in report.end.numbers.over:
        used, asked = _mebibytes(over.used), _mebibytes(over.requested)
        yield f"{_consumer(over)} wrote {used} and requests {asked} of ephemeral-storage: request {used}"
    yield "write less to logs, to the container's own files and to emptyDir volumes, or use a PersistentVolume"


def storage_limit(report: EndReport) -> Iterator[str]:
    """A storage limit of the pod itself."""
    numbers = report.end.numbers
    limit = f" above {numbers.limit}" if numbers.limit else ""
    what = (
        "sizeLimit of the volume" if report.end.verdict.cause is Cause.EMPTY_DIR_LIMIT else "limit of ephemeral-storage"
    )
    yield f"write less, or raise the {what}{limit}"


def preemption(report: EndReport) -> Iterator[str]:
    """A preemption by the scheduler."""
    priority = f" ({report.priority} now)" if report.priority is not None else ""
    yield f"give it a PriorityClass of higher value{priority}, or add capacity to the cluster"


def eviction(report: EndReport) -> Iterator[str]:
    """An eviction through the API."""
    if report.end.evictor is not None:
        yield from evictor_remedies(report.end.evictor)
    yield "a PodDisruptionBudget slows evictions; only more replicas keep the application available"


def deleted(report: EndReport) -> Iterator[str]:
    """A deletion by a client."""
    if report.end.evictor is not None and report.end.evictor.deletes:
        yield "raise terminationGracePeriod of the NodePool: Karpenter deletes the remaining pods when it is over"
    else:
        yield "RBAC decides who may delete pods; a PodDisruptionBudget limits evictions only"


def lost(report: EndReport) -> Iterator[str]:
    """A container or sandbox that was gone."""
    yield DRAIN if was_rebooted(report) else "check whether the node or its container runtime was restarted"


def manifest(report: EndReport) -> Iterator[str]:
    """The manifest of a static pod."""
    node = report.node or "its node"
    yield f"check the manifests on {node} (staticPodPath of its kubelet, often /etc/kubernetes/manifests)"


def taint(report: EndReport) -> Iterator[str]:
    """A taint of the node, or of a device."""
    if is_device_taint(report):
        yield "put a toleration in the request of its ResourceClaim or template, not in the pod's spec"
        return
    suspects = (*report.end.verdict.suspects, *report.end.verdict.others)
    lost = any(clue.where == NODE_LOST for one in suspects for clue in one.clues)
    first, *more = report.taints or ("",)
    if first.startswith(OUT_OF_SERVICE) and any(taint.startswith(LOST_NODE) for taint in more):
        yield (
            f"its node was lost, and taint {OUT_OF_SERVICE} (a fence) deletes pods at once: the tolerationSeconds of "
            "the others, by default 300 s, were not over"
        )
        return
    if lost or any(taint.startswith(LOST_NODE) for taint in report.taints):
        yield "its node was lost: Kubernetes deletes pods there once their tolerationSeconds are over, by default 300 s"
        return
    taints = ", ".join(report.taints) or "the taint"
    yield f"tolerate {taints}, or set tolerationSeconds to how long it may stay"


def rejected(report: EndReport) -> Iterator[str]:
    """A rejection by the kubelet."""
    if any(one.end is not None for one in report.end.ends):
        yield "the node changed while the pod ran, and its kubelet restarted after that: let its controller try again"
        return
    found = report.end.rejection
    kind, node = found.kind if found is not None else RejectionKind.NO_FIT, report.node or "the node"
    if found is not None and found.toleration and (report.owner is None or report.owner.kind != _DAEMON_SET):
        yield f"remove the toleration of {found.toleration}: the scheduler then waits until {node} recovers"
    if kind is RejectionKind.SHUTDOWN:
        yield "nothing while the node shuts down: its controller makes another pod; drain a node before that"
    elif kind is RejectionKind.PRESSURE:
        yield f"free what {node} lacks: kubectl qos node shows who uses most"
    elif kind is RejectionKind.ADMISSION:
        yield f"check that the device plugin is Ready on {node}: after a kubelet restart, pods may come before it"
    elif found is not None and found.reason in REJECTION_REASONS:
        yield REJECTION_REASONS[found.reason][1].format(node=node)
    else:
        yield "the node changed, or spec.nodeName bypassed the scheduler"
    if not report.exists or kind not in {RejectionKind.ADMISSION, RejectionKind.NO_FIT}:
        return
    if report.owner is None:
        yield "it stays Failed, and no controller makes another: delete it and create it again"
    elif report.owner.kind in _REPLACES and not report.owner_missing:
        yield f"it stays Failed: {report.owner.kind} {report.owner.name} does not count it, and makes another"


def job(report: EndReport) -> Iterator[str]:
    """A Job that ended or was suspended."""
    if not job_end(report):
        yield "the Job's conditions show why it ended: backoffLimit, podFailurePolicy or a deadline"


def stubborn(report: EndReport) -> Iterator[str]:
    """Remedies for preStop hooks that failed or took all the time, and for containers that did not obey SIGTERM."""
    grace, own = report.end.grace_seconds, report.grace_seconds or 0
    if grace is None:
        return
    failed = {one.container: one.hook_failed_seconds for one in report.end.ends if one.hook_failed_seconds is not None}
    long = [name for name, seconds in failed.items() if seconds >= grace]
    if long:
        yield f"{', '.join(long)}: let the preStop hook end sooner: SIGTERM comes after it, with 2 s left"
    if short := [name for name in failed if name not in long]:
        yield f"{', '.join(short)}: correct the preStop hook, which failed: SIGTERM came at once"
    killed = [one.container for one in report.end.ends if one.manner is Manner.KILLED and one.container not in long]
    if killed:
        yield f"{', '.join(killed)}: let it end on SIGTERM; a shell as PID 1 does not forward signals (use exec)"
    if not killed and not long:
        return
    hooks = any(one.name in killed and one.pre_stop for one in report.containers)
    also = ": its preStop hook takes part of that" if hooks else ""
    if grace < own:
        yield f"or give it more time than the {grace} s of the delete: terminationGracePeriodSeconds is {own} s{also}"
    else:
        yield f"or raise terminationGracePeriodSeconds above {grace} s{also}"
