"""How pods end."""

from __future__ import annotations

from typing import Final

from kubectl_plugin.glossary.entry import Entry

__all__ = ["ENTRIES"]

_TIMELINE: Final = "kubectl qos explain pod/NAME --timeline"
_CONTAINER: Final = "pkg/kubelet/kuberuntime/kuberuntime_container.go"
_STRATEGY: Final = "pkg/registry/core/pod/strategy.go"

ENTRIES: Final = (
    Entry(
        name="terminationGracePeriodSeconds",
        also=("grace period", "gracePeriodSeconds", "--grace-period", "deletionGracePeriodSeconds"),
        means="Seconds from the deletion to SIGKILL; preStop and the answer to SIGTERM share them.",
        rule=(
            "The delete's own option, else the pod's field, else 30; a pod without a node, or finished: 0.",
            "A failed liveness or startup probe can have a period of its own.",
            "A container always gets 2 s between SIGTERM and SIGKILL.",
        ),
        commands=(_TIMELINE,),
        source=(_STRATEGY, _CONTAINER, "pkg/kubelet/pod_workers.go"),
        see=("preStop", "force deletion", "exit code 137"),
    ),
    Entry(
        name="Terminating",
        also=("deletionTimestamp", "stuck terminating", "finalizers", "finalizer"),
        means="The pod has a deletionTimestamp; it goes when the kubelet has stopped it and no finalizer is left.",
        rule=(
            "A kubelet that does not answer never reports it: on a silent node it stays without end.",
            "A second delete can shorten the period in the object; the stop that is under way lives its first one out.",
        ),
        do=("See which it waits for: process, finalizer or node.",),
        commands=("kubectl qos explain pod/NAME", "kubectl qos partitions"),
        source=(_STRATEGY, "pkg/kubelet/pod_workers.go"),
        see=("force deletion", "node.kubernetes.io/unreachable"),
    ),
    Entry(
        name="preStop",
        also=("lifecycle.preStop", "preStop hook", "FailedPreStopHook", "PreStopHook"),
        means="Runs before SIGTERM, inside the grace period: what it takes is missing afterwards.",
        rule=("A hook that fails or hangs blocks nothing: SIGTERM comes, with at least 2 s.",),
        commands=(_TIMELINE,),
        source=(_CONTAINER, "KEP-3960"),
        see=("terminationGracePeriodSeconds",),
    ),
    Entry(
        name="sidecar",
        also=("sidecars", "restartable init container", "native sidecar"),
        means="An init container with restartPolicy Always: it starts before the others, ends after them, last first.",
        rule=(
            "It gets SIGTERM only when the containers before it in the order have ended, or the grace period is over.",
            "It counts for requests together with the containers.",
        ),
        commands=(_TIMELINE,),
        source=("pkg/kubelet/kuberuntime/kuberuntime_termination_order.go", "KEP-753"),
        see=("requests", "terminationGracePeriodSeconds"),
    ),
    Entry(
        name="Unhealthy",
        also=("liveness probe", "startup probe", "readiness probe", "probe failure", "Killing"),
        pattern=r"(Liveness|Readiness|Startup) probe (failed|errored).*|Container .* failed (liveness|startup) probe.*",
        means="A probe failed: liveness and startup restart the container, readiness only takes it out of Services.",
        rule=(
            "failureThreshold failures in a row, periodSeconds apart; then SIGTERM, with the probe's own grace period.",
        ),
        do=("A slow start needs a startupProbe, not a longer initialDelaySeconds.",),
        commands=(f"{_TIMELINE}=probe",),
        source=("pkg/kubelet/prober/worker.go", _CONTAINER),
        see=("CrashLoopBackOff", "terminationGracePeriodSeconds"),
    ),
    Entry(
        name="CrashLoopBackOff",
        also=("BackOff", "restart back-off", "back-off restarting failed container"),
        pattern=r"back-off .*restarting failed container.*",
        means="The container ends again and again, and the kubelet waits before each start: 10 s, doubled up to 5 min.",
        rule=("After ten minutes without an end it begins at 10 s again.",),
        do=("Read why it ended: kubectl logs --previous, and the exit code.",),
        commands=("kubectl qos explain pod/NAME", "kubectl logs NAME --previous"),
        source=("pkg/kubelet/kuberuntime/kuberuntime_manager.go", "pkg/kubelet/kubelet.go"),
        see=("exit code 137", "OOMKilled"),
    ),
    Entry(
        name="eviction API",
        also=("drain", "kubectl drain", "pods/eviction", "PodDisruptionBudget", "PDB", "disruption budget"),
        pattern=r".*Cannot evict pod as it would violate the pod's disruption budget.*",
        means="A deletion that asks the PodDisruptionBudgets first: with none allowed it is refused, and drain waits.",
        rule=(
            "A pod with two budgets cannot be evicted at all.",
            "Preemption, node pressure and NoExecute taints do not ask budgets.",
            "Unhealthy pods count against it, unless unhealthyPodEvictionPolicy is AlwaysAllow.",
        ),
        do=("One replica and minAvailable 1 never lets a drain through: run two.",),
        commands=("kubectl get pdb -A", "kubectl qos place --drain NODE"),
        source=("pkg/registry/core/pod/storage/eviction.go", "pkg/controller/disruption/disruption.go"),
        see=("preemption", "Evicted"),
    ),
    Entry(
        name="NodeShutdown",
        also=("Pod was terminated in response to imminent node shutdown.", "graceful node shutdown"),
        means="The node went down in order: the kubelet ended its pods, critical ones last, in shutdownGracePeriod.",
        rule=("shutdownGracePeriod is 0 by default: then processes are cut off with the machine.",),
        commands=(f"{_TIMELINE}=shutdown",),
        source=("pkg/kubelet/nodeshutdown/nodeshutdown_manager.go", "KEP-2000"),
        see=("Terminating",),
    ),
    Entry(
        name="DeadlineExceeded",
        also=("activeDeadlineSeconds",),
        means="The pod, or its Job, ran longer than activeDeadlineSeconds.",
        source=("pkg/kubelet/active_deadline.go", "pkg/controller/job/job_controller.go"),
        see=("terminationGracePeriodSeconds",),
    ),
)
