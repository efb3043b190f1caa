"""Remedies that prevent another such end, with the numbers that decide."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from kubectl_plugin.reports.end_report import ContainerSpec, EndReport
from kubectl_plugin.views.died.cause_words import is_device_taint, job_end, was_rebooted
from kubectl_plugin.views.died.start_errors import REJECTION_REASONS, start_error
from kubectl_plugin.views.evictor_words import evictor_remedies
from kubectl_plugin.views.words import counted, memory
from podrules.api.model.pod import Probe
from podrules.api.model.quantity import Quantity, QuantityError
from podrules.ending.died.cause import Cause, Grade
from podrules.ending.died.gone import LOST_NODE, NODE_LOST
from podrules.ending.died.messages import OverUse
from podrules.ending.died.of_pod import EndOf, Manner
from podrules.ending.died.pod_end import RejectionKind
from podrules.node.reachability import OUT_OF_SERVICE

_PLAIN: Final = frozenset({Cause.OWNER, Cause.JOB_ENDED, Cause.DELETED, Cause.FORCE_DELETED})
_DAEMON_SET: Final = "DaemonSet"
"""The controller of this kind adds tolerations of taints that keep other pods away."""
_REPLACES: Final = frozenset({"ReplicaSet", "ReplicationController"})
"""Owners that do not count a Failed pod, and leave it. Others delete it, or count failures."""
_DRAIN: Final = "drain a node before it is restarted, or let its kubelet shut down gracefully"
_NOTHING: Final = "nothing: "
_ENOUGH: Final = 2
"""The most causes that each get a remedy: among more, none stands out."""


def remedies(report: EndReport) -> tuple[str, ...]:
    """The remedies for the causes of the verdict; none if too many causes fit."""
    end = report.end
    if end.of is EndOf.NOTHING or end.verdict.grade is Grade.NOTHING or len(end.verdict.suspects) > _ENOUGH:
        return tuple(_stubborn(report))
    # The remedy of a plain cause says too much if another cause may be the true one.
    causes = [one.cause for one in end.verdict.suspects if len(end.verdict.suspects) == 1 or one.cause not in _PLAIN]
    stubborn = tuple(_stubborn(report))
    found = [line for cause in causes for line in _REMEDIES[cause](report)]
    return tuple(dict.fromkeys((*(line for line in found if not (stubborn and line.startswith(_NOTHING))), *stubborn)))


def _own_limit(report: EndReport) -> Iterator[str]:
    one = report.end.end_of(report.end.container)
    if one is not None and one.limits is not None and one.limits.own is not None:
        field = one.limits.own_field or "spec.resources.limits.memory"
        yield f"let it use less, or raise {field} above {memory(one.limits.own)}"


def _pod_limit(report: EndReport) -> Iterator[str]:
    one = report.end.end_of(report.end.container)
    if one is None or one.limits is None or one.limits.pod is None:
        return
    if one.limits.pod_field:
        yield f"let its containers use less, or raise {one.limits.pod_field} above {memory(one.limits.pod)}"
    else:
        yield f"its containers may use {memory(one.limits.pod)} together: let them use less, or raise their limits"


def _node_memory(report: EndReport) -> Iterator[str]:
    one = report.end.end_of(report.end.container)
    request = one.limits.request if one is not None and one.limits is not None else None
    if request is not None:
        asks = memory(request) if request else "nothing"
        yield f"it requests {asks}: request what it uses, so that the scheduler counts it and its oom_score_adj falls"
    yield "the pods on the node use more memory than it has: limit memory-hungry pods"


def _probe(kind: str) -> Callable[[EndReport], Iterator[str]]:
    def lines(report: EndReport) -> Iterator[str]:
        spec = _spec(report)
        probe = None if spec is None else spec.liveness if kind == "liveness" else spec.startup
        if spec is None or probe is None:
            return
        field = f"{spec.field}.{kind}Probe"
        yield f"it may fail for {_patience(probe)} s now: {_times(probe)} ({field})"
        if kind == "liveness" and spec.startup is None:
            yield "if it only starts slowly, give it a startupProbe; if it answers slowly, raise timeoutSeconds"
        else:
            yield "raise failureThreshold or periodSeconds if it needs longer"

    return lines


def _patience(probe: Probe) -> int:
    return probe.failure_threshold * probe.period_seconds


def _times(probe: Probe) -> str:
    every = f"every {probe.period_seconds} s, each answered within {probe.timeout_seconds} s"
    return f"{counted(probe.failure_threshold, 'time')} {every}"


def _application(report: EndReport) -> Iterator[str]:
    one = report.end.end_of(report.end.container)
    code = one.end.exit_code if one is not None and one.end is not None else None
    if code == 0:
        if report.restart_policy == "Always":
            yield "a container that completes is restarted (restartPolicy Always): use a Job for work that ends"
        return
    yield "read the log of the process that ended"


def _start(otherwise: str) -> Callable[[EndReport], Iterator[str]]:
    """The remedy by the message of the kubelet or the runtime."""

    def lines(report: EndReport) -> Iterator[str]:
        one = report.end.end_of(report.end.container)
        known = None if one is None else start_error(one.said)
        if one is None or known is None:
            if one is None or not one.said:
                yield otherwise
            return
        own = one.limits.own if one.limits is not None else None
        yield known.remedy.format(limit=f" above {memory(own)}" if own else "")

    return lines


def _evicted_memory(report: EndReport) -> Iterator[str]:
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


def _evicted_disk(report: EndReport) -> Iterator[str]:
    for over in report.end.numbers.over:
        used, asked = _mebibytes(over.used), _mebibytes(over.requested)
        yield f"{_consumer(over)} wrote {used} and requests {asked} of ephemeral-storage: request {used}"
    yield "write less to logs, to the container's own files and to emptyDir volumes, or use a PersistentVolume"


def _storage_limit(report: EndReport) -> Iterator[str]:
    numbers = report.end.numbers
    limit = f" above {numbers.limit}" if numbers.limit else ""
    what = (
        "sizeLimit of the volume" if report.end.verdict.cause is Cause.EMPTY_DIR_LIMIT else "limit of ephemeral-storage"
    )
    yield f"write less, or raise the {what}{limit}"


def _preemption(report: EndReport) -> Iterator[str]:
    priority = f" ({report.priority} now)" if report.priority is not None else ""
    yield f"give it a PriorityClass of higher value{priority}, or add capacity to the cluster"


def _eviction(report: EndReport) -> Iterator[str]:
    if report.end.evictor is not None:
        yield from evictor_remedies(report.end.evictor)
    yield "a PodDisruptionBudget slows evictions; only more replicas keep the application available"


def _deleted(report: EndReport) -> Iterator[str]:
    if report.end.evictor is not None and report.end.evictor.deletes:
        yield "raise terminationGracePeriod of the NodePool: Karpenter deletes the remaining pods when it is over"
    else:
        yield "RBAC decides who may delete pods; a PodDisruptionBudget limits evictions only"


def _lost(report: EndReport) -> Iterator[str]:
    yield _DRAIN if was_rebooted(report) else "check whether the node or its container runtime was restarted"


def _manifest(report: EndReport) -> Iterator[str]:
    node = report.node or "its node"
    yield f"check the manifests on {node} (staticPodPath of its kubelet, often /etc/kubernetes/manifests)"


def _deadline(report: EndReport) -> Iterator[str]:
    del report
    yield "raise spec.activeDeadlineSeconds, or make the pod end sooner"


def _taint(report: EndReport) -> Iterator[str]:
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


def _rejected(report: EndReport) -> Iterator[str]:
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


def _job(report: EndReport) -> Iterator[str]:
    if not job_end(report):
        yield "the Job's conditions show why it ended: backoffLimit, podFailurePolicy or a deadline"


def _plain(*lines: str) -> Callable[[EndReport], Iterator[str]]:
    def words(report: EndReport) -> Iterator[str]:
        del report
        yield from lines

    return words


def _stubborn(report: EndReport) -> Iterator[str]:
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


def _spec(report: EndReport) -> ContainerSpec | None:
    return next((one for one in report.containers if one.name == report.end.container), None)


_REMEDIES: Final[dict[Cause, Callable[[EndReport], Iterator[str]]]] = {
    Cause.OWN_MEMORY_LIMIT: _own_limit,
    Cause.POD_MEMORY_LIMIT: _pod_limit,
    Cause.NODE_OUT_OF_MEMORY: _node_memory,
    Cause.LIVENESS_PROBE: _probe("liveness"),
    Cause.STARTUP_PROBE: _probe("startup"),
    Cause.POST_START_HOOK: _plain("let the hook succeed: it runs at the same time as the process, in no fixed order"),
    Cause.RESIZE: _plain("resizePolicy NotRequired resizes without a restart, if the process supports that"),
    Cause.DEFINITION_CHANGED: _plain("change the template of its workload, not the pod"),
    Cause.RESTART_ALL: _plain("restartPolicyRules required it: check the container that ended first"),
    Cause.SANDBOX_CHANGED: _lost,
    Cause.SIDECAR_STOPPED: _plain("nothing: sidecars are stopped once the main containers have ended"),
    Cause.CONTAINER_LOST: _lost,
    Cause.APPLICATION: _application,
    Cause.NODE_REBOOT: _plain(_DRAIN),
    Cause.IMAGE: _plain(
        "correct the image's name or tag, or the pull secret; check that the node reaches the registry"
    ),
    Cause.CONFIGURATION: _start("create the ConfigMap, Secret or key that the message names"),
    Cause.RUNTIME: _start("check that the command exists in the image and is executable"),
    Cause.EVICTED_MEMORY: _evicted_memory,
    Cause.EVICTED_DISK: _evicted_disk,
    Cause.EVICTED_INODES: _plain("write fewer files, and remove those that are no longer needed"),
    Cause.EVICTED_PIDS: _plain("start fewer processes; podPidsLimit of the kubelet limits those of each pod"),
    Cause.CONTAINER_STORAGE_LIMIT: _storage_limit,
    Cause.POD_STORAGE_LIMIT: _storage_limit,
    Cause.EMPTY_DIR_LIMIT: _storage_limit,
    Cause.KUBELET_PREEMPTION: _plain(
        "leave room for critical pods: system-node-critical ones are admitted to a full node, too"
    ),
    Cause.NODE_SHUTDOWN: _plain("drain a node before it is shut down: a drain respects budgets"),
    Cause.ACTIVE_DEADLINE: _deadline,
    Cause.REJECTED: _rejected,
    Cause.STATIC_MANIFEST: _manifest,
    Cause.PREEMPTION: _preemption,
    Cause.API_EVICTION: _eviction,
    Cause.TAINT_EVICTION: _taint,
    Cause.NODE_REMOVED: _plain("drain a node before its object is deleted"),
    Cause.JOB_ENDED: _job,
    Cause.OWNER: _plain("nothing: its controller does what its spec asks for"),
    Cause.DELETED: _deleted,
    Cause.FORCE_DELETED: _plain("its processes may have run on: delete with grace; if its node is off, fence the node"),
}
