"""How pods end."""

from __future__ import annotations

from typing import Final

from kubectl_plugin.glossary.entry import Entry

_TIMELINE: Final = "kubectl qos explain pod/NAME --timeline"
_CONTAINER: Final = "pkg/kubelet/kuberuntime/kuberuntime_container.go"
_EXPLAIN: Final = "kubectl qos explain pod/NAME"
_STRATEGY: Final = "pkg/registry/core/pod/strategy.go"

ENTRIES: Final = (
    Entry(
        name="terminationGracePeriodSeconds",
        also=("grace", "grace period", "gracePeriodSeconds", "--grace-period", "deletionGracePeriodSeconds"),
        pattern=r"--now and --grace-period cannot be specified together",
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
        also=("deletionTimestamp", "stuck terminating", "terminating pods", "finalizers", "finalizer"),
        pattern=r"skip schedule deleting pod: .*|pod \".*\" has DeletionTimestamp older than \S+ seconds, skipping"
        r"|error when waiting for pod \".*\" in namespace \".*\" to terminate: .*",
        means="The pod has a deletionTimestamp; it is removed once its kubelet stopped it and no finalizer is left.",
        rule=(
            "On a silent node it stays until the kubelet answers, the node is fenced or its Node object is deleted.",
            "A second delete can shorten the period in the object; a stop in progress keeps its first period.",
        ),
        do=("See which it waits for: process, finalizer or node.",),
        commands=("kubectl qos explain pod/NAME", "kubectl qos partitions"),
        source=(_STRATEGY, "pkg/kubelet/pod_workers.go"),
        see=("force deletion", "node.kubernetes.io/unreachable"),
    ),
    Entry(
        name="preStop",
        also=("lifecycle.preStop", "preStop hook", "FailedPreStopHook", "PreStopHook", "Container Lifecycle Hooks"),
        pattern=r"PreStopHook failed.*|must be non-negative and less than terminationGracePeriodSeconds \(\d+\)",
        means="Runs before SIGTERM, inside the grace period: the time that it takes is missing afterwards.",
        rule=("A hook that fails or hangs blocks nothing: SIGTERM comes, with at least 2 s.",),
        commands=(_TIMELINE,),
        source=(_CONTAINER, "KEP-3960"),
        see=("terminationGracePeriodSeconds",),
    ),
    Entry(
        name="sidecar",
        also=("sidecars", "sidecar container", "restartable init container", "native sidecar", "SidecarStopped"),
        pattern=r"may not be set for (non-init containers|init containers without restartPolicy=Always)",
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
        name="SIGTERM",
        also=("stopSignal", "stop signal", "lifecycle.stopSignal", "exit code 143", "143", "PID 1"),
        means="The signal that asks a container to end; remaining processes are killed after the grace period.",
        rule=(
            "It comes after preStop, and to a sidecar after the containers before it have ended.",
            "The image's STOPSIGNAL replaces it, and spec.containers[].lifecycle.stopSignal where that gate is on.",
            "The container's first process gets it: a shell in between does not forward it by itself.",
        ),
        do=("Handle it, and end well before terminationGracePeriodSeconds.",),
        commands=(_TIMELINE,),
        source=(_CONTAINER, "KEP-4960"),
        see=("terminationGracePeriodSeconds", "preStop", "exit code 137"),
    ),
    Entry(
        name="Killing",
        pattern=(
            r"Stopping container .*|(Init )?container \S+ (failed (liveness|startup) probe|definition changed)"
            r"(, will be restarted)?|Container \S+ resize requires restart"
            r"|why (was|is|were) (my|our|the) (pod|container)s? (being )?killed\??"
        ),
        means="The kubelet begins to stop a container; any stop writes this event, and it does not say that it ended.",
        rule=(
            "Stopping container: the pod is deleted, evicted or preempted, or has ended. Read the pod for the cause.",
            "failed liveness probe, failed startup probe: the container is stopped; restartPolicy decides the rest.",
        ),
        commands=("kubectl qos explain pod/NAME", _TIMELINE),
        source=(_CONTAINER, "pkg/kubelet/kuberuntime/kuberuntime_manager.go", "pkg/kubelet/events/event.go"),
        see=("terminationGracePeriodSeconds", "livenessProbe", "ExceededGracePeriod"),
    ),
    Entry(
        name="ExceededGracePeriod",
        also=("exceeded grace period", "Container runtime did not kill the pod within specified grace period."),
        pattern=r"Container .* exceeded (its |the )?grace period.*"
        r"|(timeout|timed out) waiting to kill( pod)?",
        means="The kubelet waited 1.5 times the grace period of an eviction, at least 10 s, and the pod did not end.",
        rule=(
            "It continues without waiting and may evict another pod; the kill continues too.",
            "The event is written for pods that the kubelet itself ends: under pressure, or for a critical pod.",
        ),
        do=("See why the runtime is slow: a full disk, or a process that cannot be killed while it waits for one.",),
        commands=("kubectl qos node NODE", f"{_TIMELINE}=evict-hard"),
        source=(
            "pkg/kubelet/pod_workers.go",
            "pkg/kubelet/events/event.go",
            "pkg/kubelet/eviction/eviction_manager.go",
        ),
        see=("Evicted", "terminationGracePeriodSeconds"),
    ),
    Entry(
        name="kubelet restart",
        also=("restart of the kubelet", "kubelet restarted", "restarting the kubelet", "Starting"),
        pattern=r"Starting kubelet\.",
        means="A restart of the kubelet alone stops no container; it finds them again when it is back.",
        rule=(
            "While it is down, no probe, preStop or SIGTERM runs; after 50 s (40 s before 1.32) it is NotReady.",
            "A stop in progress starts again: preStop again, and the whole deletionGracePeriodSeconds.",
            "So a Terminating pod may live longer than its grace period.",
        ),
        commands=("kubectl qos explain pod/NAME", "kubectl qos partitions"),
        source=("pkg/kubelet/pod_workers.go", _CONTAINER, "pkg/kubelet/kubelet.go"),
        see=("terminationGracePeriodSeconds", "node.kubernetes.io/unreachable"),
    ),
    Entry(
        name="livenessProbe",
        also=("liveness probe", "liveness"),
        pattern=r"Liveness probe (failed|errored).*",
        means="Fails failureThreshold times in a row: the container is stopped, and restarted as restartPolicy says.",
        rule=(
            "With a startupProbe it begins once that has succeeded.",
            "It has a grace period of its own (terminationGracePeriodSeconds of the probe), else the pod's.",
            "It moves no pod to another node. With restartPolicy Never, as in many Jobs, the container stays ended.",
        ),
        do=("Let it ask only the process itself: a probe of a database restarts every copy when that is slow.",),
        commands=(f"{_TIMELINE}=probe",),
        source=("pkg/kubelet/prober/worker.go", _CONTAINER, "KEP-2238"),
        see=("startupProbe", "Unhealthy", "CrashLoopBackOff"),
    ),
    Entry(
        name="startupProbe",
        also=("startup probe",),
        pattern=r"Startup probe (failed|errored).*",
        means="Until it succeeds once, no other probe runs; if it fails, the container is stopped (see restartPolicy).",
        rule=("A container has initialDelaySeconds, and then failureThreshold x periodSeconds, to start.",),
        do=("A slow start needs a larger failureThreshold here, not a longer initialDelaySeconds of liveness.",),
        commands=(f"{_TIMELINE}=probe",),
        source=("pkg/kubelet/prober/worker.go", _CONTAINER, "KEP-950"),
        see=("livenessProbe", "Unhealthy"),
    ),
    Entry(
        name="Unhealthy",
        also=("readiness probe", "readinessProbe", "readiness", "probe failure"),
        pattern=r"Readiness probe (failed|errored).*",
        means="A probe failed: liveness and startup stop the container, readiness only takes its pod out of Services.",
        rule=(
            "The event comes with each failure; failureThreshold of them in a row, periodSeconds apart, act.",
            "Before that nothing happens to the container. Whether a stopped one starts again, restartPolicy decides.",
        ),
        do=("A slow start needs a startupProbe, not a longer initialDelaySeconds.",),
        commands=(f"{_TIMELINE}=probe",),
        source=("pkg/kubelet/prober/worker.go", _CONTAINER),
        see=("livenessProbe", "startupProbe", "terminationGracePeriodSeconds"),
    ),
    Entry(
        name="CrashLoopBackOff",
        also=("BackOff", "restart", "container restarts", "restart back-off", "back-off restarting failed container"),
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
        also=(
            *("drain", "kubectl drain", "pods/eviction", "API-initiated eviction", "eviction subresource", "429"),
            *("TooManyRequests", "--disable-eviction", "Safely Drain a Node", "ApiEviction"),
        ),
        pattern=r"(node/\S+ )?drained|draining( node \S+)?"
        r"|evicting pod \S+|error when evicting pods/.* global timeout reached: .*",
        means="A deletion that checks PodDisruptionBudgets first: if none is allowed, it is refused, and drain waits.",
        rule=(
            "A refusal is 429 (TooManyRequests), which an overloaded API server also returns.",
            "kubectl drain --disable-eviction deletes the pods instead: it checks no budget.",
            "A running pod with two budgets cannot be evicted at all.",
            "A running pod that is not Ready can be evicted while enough healthy pods are left (IfHealthyBudget).",
            "That is the default of unhealthyPodEvictionPolicy; with AlwaysAllow such a pod can always be evicted.",
        ),
        do=("Check a drain before it starts.",),
        commands=("kubectl qos place --drain NODE",),
        source=("pkg/registry/core/pod/storage/eviction.go",),
        see=("PodDisruptionBudget", "Evicted"),
    ),
    Entry(
        name="PodDisruptionBudget",
        also=(
            *("PDB", "budget", "disruption budget", "disruptionsAllowed", "minAvailable", "maxUnavailable"),
            *("currentHealthy", "desiredHealthy", "expectedPods", "voluntary disruption", "involuntary disruption"),
            *("Disruptions", "Specifying a Disruption Budget for your Application"),
        ),
        pattern=r".*Cannot evict pod as it would violate the pod's disruption budget.*"
        r"|.*This pod has more than one PodDisruptionBudget.*|The disruption budget \S+ (needs|does not|is still) .*"
        r"|pdb disruptions allowed is negative|DisruptedPods map too big - .*"
        r"|Pod .* matches multiple PodDisruptionBudgets\..*"
        r"|minAvailable and maxUnavailable cannot be both set",
        means="How many of some pods may be missing: the eviction API, and so a drain, evicts no more than it allows.",
        rule=(
            "Preemption prefers other victims, and breaks a budget only if nothing else makes room.",
            "Node pressure, NoExecute taints, a deletion and a rolling update ignore it.",
            "maxUnavailable of a Deployment (25%) or DaemonSet (1) is another field: it limits an update only.",
            "Overlaps: two select a pod, which stays. Blocks…, Stale, Uncounted: a drain waits. Allows: it continues.",
        ),
        do=("One replica and minAvailable 1 never lets a drain through: run two.",),
        commands=("kubectl get pdb -A", "kubectl qos place --drain NODE"),
        source=(
            "pkg/registry/core/pod/storage/eviction.go",
            "pkg/controller/disruption/disruption.go",
            "pkg/scheduler/framework/preemption/preemption.go",
        ),
        see=("eviction API", "preemption", "Evicted"),
    ),
    Entry(
        name="NoPods",
        pattern=r"No matching pods found",
        means="The budget's selector matches no pod of its namespace: it protects none.",
        do=("Unless the workload is scaled to 0, compare spec.selector with the labels of its pods.",),
        commands=("kubectl get pods --show-labels",),
        source=("pkg/controller/disruption/disruption.go",),
        see=("PodDisruptionBudget",),
    ),
    Entry(
        name="CalculateExpectedPodCountFailed",
        also=("UnmanagedPods", "SyncFailed"),
        pattern=r"Failed to calculate the number of expected pods: .*|found no controllers for pod .*"
        r"|Pods selected by this PodDisruptionBudget \(selector: .*\) were found to be unmanaged\..*"
        r"|\S+ does not implement the scale subresource",
        means="The budget has a pod without a controller that has a scale, so its numbers are missing or wrong.",
        rule=(
            "found no controllers: it allows no eviction. unmanaged: these are not counted, and it may allow too many.",
        ),
        do=("Use minAvailable with a number, not a percentage or maxUnavailable, for pods without such a controller.",),
        source=("pkg/controller/disruption/disruption.go",),
        see=("PodDisruptionBudget",),
    ),
    Entry(
        name="NodeShutdown",
        also=(
            *("Pod was terminated in response to imminent node shutdown.", "graceful node shutdown", "node shutdown"),
            *("shutdownGracePeriod", "shutdownGracePeriodCriticalPods", "shutdownGracePeriodByPodPriority", "Shutdown"),
        ),
        pattern=r"Pod was rejected as the node is shutting down\.?|node is shutting down"
        r"|Shutdown manager detected (pre)?shutdown (event|cancellation)",
        means="The node shut down gracefully: the kubelet ended its pods, critical ones last, in shutdownGracePeriod.",
        rule=("shutdownGracePeriod is 0 by default: then processes end with the machine.",),
        commands=(f"{_TIMELINE}=shutdown",),
        source=("pkg/kubelet/nodeshutdown/nodeshutdown_manager.go", "KEP-2000"),
        see=("Terminating",),
    ),
    Entry(
        name="DeadlineExceeded",
        also=("activeDeadlineSeconds", "ActiveDeadline"),
        pattern=r"Pod was active on the node longer than the specified deadline"
        r"|Job was active longer than specified deadline",
        means="The pod, or its Job, ran longer than activeDeadlineSeconds.",
        source=("pkg/kubelet/active_deadline.go", "pkg/controller/job/job_controller.go"),
        see=("terminationGracePeriodSeconds",),
    ),
    Entry(
        name="graceful termination",
        also=(
            *("graceful deletion", "pod termination", "termination of pods", "kubectl delete", "kubectl delete --now"),
            *("graceful shutdown", "--now", "deletion", "termination", "EndpointSlice", "terminating endpoint"),
        ),
        means="A deleted pod gets deletionTimestamp, preStop and SIGTERM, then SIGKILL when its grace period is over.",
        rule=(
            "Services drop it at once (EndpointSlice: ready false). Its object is removed when the kubelet is done.",
            "A second delete can shorten the period in the object, never lengthen it.",
            "kubectl delete: --now is 1 s, -1 the pod's own period, --grace-period=0 without --force 1 s.",
        ),
        commands=(_TIMELINE,),
        source=(_STRATEGY, "pkg/kubelet/pod_workers.go", "pkg/controller/endpointslice/endpointslice_controller.go"),
        see=("terminationGracePeriodSeconds", "preStop", "SIGTERM", "Terminating", "force deletion"),
    ),
    Entry(
        name="probe",
        also=("periodSeconds", "failureThreshold", "initialDelaySeconds", "timeoutSeconds", "successThreshold"),
        means="A check of the kubelet: startup and liveness stop the container, readiness ends its traffic.",
        rule=("Defaults: each 10 s (periodSeconds), 1 s to answer, 3 failures in a row, 1 success, no initial delay.",),
        commands=(f"{_TIMELINE}=probe",),
        source=("pkg/apis/core/v1/defaults.go", "pkg/kubelet/prober/worker.go"),
        see=("livenessProbe", "startupProbe", "Unhealthy"),
    ),
    Entry(
        name="restartPolicy",
        also=("OnFailure", "restartCount", "restartPolicy: Always", "restartPolicy: Never", "RestartAllContainers"),
        means="Whether a container that ended is started again on its node: Always (default), OnFailure or Never.",
        rule=("A deleted, evicted or preempted pod does not start again; a container can have its own (since 1.35).",),
        source=("pkg/kubelet/container/helpers.go",),
        see=("CrashLoopBackOff", "phase"),
    ),
    Entry(
        name="pod condition",
        also=(
            *("Initialized", "PodReadyToStartContainers", "PodHasNetwork", "AllContainersRestarting", "readinessGates"),
            "ReadinessGatesNotReady",
        ),
        means="A step of the pod that is True or False: the pod waits at the first one that is False.",
        rule=(
            "PodScheduled, PodReadyToStartContainers (sandbox and network), Initialized (init containers), Ready.",
            "Ready also needs each condition in spec.readinessGates, which another component than the kubelet sets.",
        ),
        source=("pkg/kubelet/status/generate.go", "KEP-580"),
        see=("ContainersNotReady", "FailedScheduling", "DisruptionTarget"),
    ),
    Entry(
        name="ReplicaSet",
        also=("Deployment", "ReplicationController", "replicas", "Recreate", "RollingUpdate", "rollout", "maxSurge"),
        means="Keeps a number of pods: it creates another once one is Terminating, so two copies may run at once.",
        rule=(
            "It prefers availability to at most one: only the storage itself can keep two writers apart.",
            "A Deployment rolls ReplicaSets, by default with 25% more and 25% fewer pods, and guarantees no more.",
            "Recreate ends all old pods before a rollout's new ones; a deleted or lost pod can still run twice.",
        ),
        do=("A volume that only one pod may write to: use a StatefulSet, or ReadWriteOncePod.",),
        commands=("kubectl qos explain deployment/NAME",),
        source=("pkg/controller/replicaset/replica_set.go", "pkg/controller/deployment/recreate.go"),
        see=("StatefulSet", "scale down", "access modes"),
    ),
    Entry(
        name="DaemonSet",
        means="One pod for each node that fits: it tolerates not-ready, unreachable and pressure taints without end.",
        rule=("On a silent node its pods are not deleted; an evicted pod is recreated on the same node.",),
        source=("pkg/controller/daemon/daemon_controller.go", "pkg/controller/daemon/util/daemonset_util.go"),
        see=("tolerationSeconds", "eviction API"),
    ),
    Entry(
        name="Job",
        also=("podReplacementPolicy", "TerminatingOrFailed", "CronJob", "ttlSecondsAfterFinished"),
        means="Runs pods until enough have succeeded; a pod that is Terminating is replaced at once, by default.",
        rule=(
            "podReplacementPolicy Failed, the default with a podFailurePolicy, waits until the old pod has ended.",
            "A CronJob creates Jobs by its schedule. A finished Job stays, or for ttlSecondsAfterFinished.",
        ),
        source=("pkg/controller/job/job_controller.go", "pkg/apis/batch/v1/defaults.go"),
        see=("BackoffLimitExceeded", "DisruptionTarget"),
    ),
    Entry(
        name="scale down",
        also=("scale in", "scaling down", "pod-deletion-cost", "controller.kubernetes.io/pod-deletion-cost"),
        means="A ReplicaSet deletes pods without a node first, then pending, then not Ready ones; no priority counts.",
        rule=(
            "Then lower pod-deletion-cost, more copies on the same node, Ready for less time, more restarts, younger.",
            "A StatefulSet deletes the highest ordinal. Budgets and topology spread are ignored.",
        ),
        source=("pkg/controller/controller_utils.go", "pkg/controller/statefulset/stateful_set_control.go"),
        see=("ReplicaSet", "StatefulSet", "skew"),
    ),
    Entry(
        name="garbage collection",
        also=(
            *("garbage collector", "owner", "ownerReferences", "dependents", "cascading deletion"),
            *("foregroundDeletion", "--cascade", "propagationPolicy", "blockOwnerDeletion", "orphan"),
        ),
        means="An object is deleted once all owners in its ownerReferences are gone: so a Deployment's pods follow it.",
        rule=(
            "Background (default): the owner is deleted first. Orphan: its dependents stay.",
            "Foreground: the finalizer foregroundDeletion keeps the owner until blockOwnerDeletion dependents end.",
            "It deletes pods gracefully and never forces. PodGC removes pods of deleted nodes.",
        ),
        source=("pkg/controller/garbagecollector/garbagecollector.go",),
        see=("PodGC", "Terminating"),
    ),
    Entry(
        name="unhealthyPodEvictionPolicy",
        also=("IfHealthyBudget", "AlwaysAllow"),
        means="Pods that are not Ready: AlwaysAllow lets all be evicted, the default only while the budget is met.",
        rule=(
            "Met (IfHealthyBudget, the default): currentHealthy is at least desiredHealthy, which is above 0.",
            "Pending pods and pods that have ended can always be evicted. On by default since 1.27.",
        ),
        do=("AlwaysAllow keeps crashing pods from blocking a drain, but also lets starting pods be evicted.",),
        commands=("kubectl get pdb -A", "kubectl qos place --drain NODE"),
        source=("pkg/registry/core/pod/storage/eviction.go", "KEP-3017"),
        see=("PodDisruptionBudget", "eviction API"),
    ),
)
