"""Containers that ended, and what controllers then say."""

from __future__ import annotations

from typing import Final

from kubectl_plugin.glossary.entry import Entry

__all__ = ["ENTRIES"]

_EXPLAIN: Final = "kubectl qos explain pod/NAME"
_LOG: Final = "kubectl logs NAME --previous"
_JOB: Final = "pkg/controller/job/job_controller.go"

ENTRIES: Final = (
    Entry(
        name="exit code",
        also=("Completed", "Error", "exit code 0", "exit code 1", "exit code 139", "lastState.terminated"),
        pattern=r"(last state: |terminated with )?exit ?code:? *\d+|Signal:\d+",
        means="The number with which the container's first process ended: 0 is success, more than 128 is a signal.",
        rule=(
            "1 to 125: the program's own; its log says why. 126: the command cannot be executed. 127: there is none.",
            "Above 128: 128 and the signal. 134 aborted, 137 killed (SIGKILL), 139 segmentation fault, 143 SIGTERM.",
            "Completed is 0 and Error is not; OOMKilled means that the kernel killed for memory.",
        ),
        do=("Read the log of the container that ended, not of the one that runs now.",),
        commands=(_LOG, _EXPLAIN),
        source=("pkg/apis/core/types.go",),
        see=("exit code 137", "SIGTERM", "OOMKilled", "CrashLoopBackOff"),
    ),
    Entry(
        name="ContainerStatusUnknown",
        pattern=r"The container could not be located when the pod was (deleted|terminated).*",
        means="The kubelet no longer found the container, so nobody knows how it ended.",
        rule=("It writes exit code 137 then; that does not mean that memory ran out.",),
        commands=(_EXPLAIN,),
        source=("pkg/kubelet/kubelet_pods.go", "pkg/kubelet/container/runtime.go"),
        see=("exit code 137", "Rebooted"),
    ),
    Entry(
        name="FailedKillPod",
        also=("KillContainerError", "KillPodSandboxError"),
        pattern=r"error killing pod: .*",
        means="The runtime did not stop a container or the sandbox in time; the kubelet tries again until it does.",
        rule=("The pod stays Terminating meanwhile, and its volumes stay mounted.",),
        do=("Look at the node's runtime, and for a process that waits for a disk: SIGKILL does not end it.",),
        commands=(_EXPLAIN,),
        source=("pkg/kubelet/kubelet.go", "pkg/kubelet/container/sync_result.go"),
        see=("Terminating", "ExceededGracePeriod"),
    ),
    Entry(
        name="BackoffLimitExceeded",
        also=("backoffLimit",),
        pattern=r"Job has reached the specified backoff limit\.?|Job has failed indexes"
        r"|Job has exceeded the specified maximal number of failed indexes",
        means="More pods of the Job failed than its backoffLimit allows: it is Failed, and makes no other pod.",
        rule=(
            "backoffLimit is 6 unless it is set; each failed pod, and each restart of a container, counts.",
            "In an indexed Job, backoffLimitPerIndex and maxFailedIndexes count in its place.",
        ),
        do=("Read why its pods failed; then recreate the Job: a failed one does not continue.",),
        commands=("kubectl describe job NAME",),
        source=(_JOB,),
        see=("exit code", "DeadlineExceeded"),
    ),
    Entry(
        name="ProgressDeadlineExceeded",
        also=("progressDeadlineSeconds",),
        pattern=r"(Deployment|ReplicaSet) .* (has timed out progressing|exceeded its progress deadline)\.?",
        means="A rollout made no progress for progressDeadlineSeconds, 600 by default.",
        rule=(
            "Nothing is rolled back or stopped by it: the Deployment goes on trying.",
            "Progress is a new pod that is made, becomes Ready or available, or an old one that goes.",
        ),
        do=("See why the new pods are not Ready: pending, refused, crashing or failing their probe.",),
        commands=("kubectl qos explain deployment/NAME", "kubectl rollout undo deployment/NAME"),
        source=("pkg/controller/deployment/progress.go",),
        see=("FailedCreate", "Unhealthy", "CrashLoopBackOff"),
    ),
    Entry(
        name="ScalingReplicaSet",
        also=("SuccessfulCreate", "SuccessfulDelete"),
        pattern=r"Scaled (up|down) replica set .*|(Created|Deleted) pod: .*|(create|delete) Pod .* successful"
        r"|create Claim .* success|(Found|Created) new replica set .*|(Deployment"
        r"|ReplicaSet) .* has successfully progressed\."
        r"|Deployment has minimum availability\.|Deployment is resumed|\w+( set)? \".*\" successfully rolled out"
        r"|Job (completed|resumed)|Reached expected number of succeeded pods|Matched rules at index \d+"
        r"|New size: \d+; reason: [^;]*|recommended size matches current size|the HPA controller was able to .*"
        r"|the HPA was able to successfully calculate a replica count from .*|the desired count is within the .* range",
        means="Nothing is wrong: a controller does what replicas, a rollout, a Job or an autoscaler demand.",
        commands=("kubectl qos explain deployment/NAME",),
        source=("pkg/controller/deployment/sync.go", "pkg/controller/controller_utils.go"),
        see=("FailedCreate",),
    ),
    Entry(
        name="rollout is not finished",
        also=("MinimumReplicasUnavailable", "Progressing"),
        pattern=r"Waiting for (deployment|daemon set) .* rollout to finish: .*|Waiting for \d+ pods to be ready\.\.\."
        r"|Waiting for partitioned roll out to finish: .*|waiting for statefulset rolling update to complete .*"
        r"|Deployment does not have minimum availability\.|(Deployment|ReplicaSet) .* is progressing\.",
        means="The workload still has old pods, or fewer available ones than it wants; its controller goes on.",
        do=("If the numbers stay, see why its new pods are pending, refused or not Ready.",),
        commands=("kubectl qos explain deployment/NAME",),
        source=("pkg/controller/deployment/progress.go",),
        see=("ProgressDeadlineExceeded",),
    ),
    Entry(
        name="DeploymentPaused",
        pattern=r"Deployment is paused|can't restart paused deployment .*|(\S+ \".*\" )?is (not|already) paused",
        means="spec.paused is set: changes of the template start no rollout until kubectl rollout resume.",
        source=("pkg/controller/deployment/sync.go",),
    ),
    Entry(
        name="Job suspended",
        also=("JobSuspended", "spec.suspend"),
        means="spec.suspend of the Job is true: its pods are deleted, and none is made until it is false.",
        do=("A queue controller may have set it; else set it to false.",),
        source=(_JOB,),
    ),
    Entry(
        name="PodFailurePolicy",
        pattern=r"Container \S+ for pod \S+ failed with exit code \d+ matching \w+ rule at index \d+"
        r"|Pod \S+ has condition \w+ matching \w+ rule at index \d+",
        means="A rule of the Job's podFailurePolicy matched a failed pod: FailJob ends the Job at once.",
        source=("pkg/controller/job/pod_failure_policy.go",),
        see=("BackoffLimitExceeded",),
    ),
    Entry(
        name="FailedDaemonPod",
        also=("SucceededDaemonPod",),
        pattern=r"Found (failed|succeeded) daemon pod \S+ on node \S+, will try to (kill|delete) it",
        means="A DaemonSet's pod has ended, so its controller deletes it and makes another, with a growing back-off.",
        do=("Read why it ended: a rejection by the kubelet, an eviction, or its own exit.",),
        source=("pkg/controller/daemon/daemon_controller.go",),
        see=("Evicted", "Predicate failed"),
    ),
    Entry(
        name="FailedDelete",
        pattern=r"Error deleting: .*",
        means="A controller could not delete a pod: the API server refused it; it tries again.",
        source=("pkg/controller/controller_utils.go",),
    ),
    Entry(
        name="FailedGetResourceMetric",
        also=("FailedComputeMetricsReplicas", "ScalingActive", "FailedGetScale"),
        pattern=r"the HPA was unable to compute the replica count: .*"
        r"|missing request for \S+ in container \S+ of Pod \S+"
        r"|failed to get .* (utilization|usage|metric( value)?): .*|no metrics returned from \w+ metrics API"
        r"|the HPA controller was unable to get the target's current scale: .*|unable to get metrics for resource .*"
        r"|did not receive metrics for targeted pods \(pods might be unready\)",
        means="The HorizontalPodAutoscaler gets no value for a metric, so it does not scale by it.",
        rule=("Utilization is usage divided by the request: each container needs a request of that resource.",),
        do=("Set the request that the text names; see that metrics-server runs and the pods are Ready.",),
        commands=("kubectl top pods",),
        source=("pkg/controller/podautoscaler/horizontal.go", "pkg/controller/podautoscaler/replica_calculator.go"),
        see=("requests",),
    ),
    Entry(
        name="ScalingLimited",
        also=("TooManyReplicas", "TooFewReplicas", "ScaleDownStabilized", "ScalingDisabled"),
        pattern=r"the desired replica count is .*|recent recommendations were (higher|lower) than current one, .*"
        r"|scaling is disabled since the replica count of the target is zero",
        means="The HorizontalPodAutoscaler wants another number of replicas; a bound or its behavior holds it back.",
        rule=("Bounds are minReplicas and maxReplicas; scaling down waits for 300 s of lower values by default.",),
        source=("pkg/controller/podautoscaler/horizontal.go",),
    ),
    Entry(
        name="JobAlreadyActive",
        also=("MissSchedule", "TooManyMissedTimes"),
        pattern=r"Not starting job because prior execution is running and concurrency policy is Forbid"
        r"|Missed scheduled time to start a job: .*|too many missed start times\. .*",
        means="The CronJob left out a run: the last one still runs, or its startingDeadlineSeconds are over.",
        source=("pkg/controller/cronjob/cronjob_controllerv2.go",),
    ),
)
