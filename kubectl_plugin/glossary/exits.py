"""Containers that ended, and the controllers' messages."""

from __future__ import annotations

from typing import Final

from kubectl_plugin.glossary.entry import Entry
from podrules.ending.died.windows_exits import WINDOWS_EXITS

_EXPLAIN: Final = "kubectl qos explain pod/NAME"
_LOG: Final = "kubectl logs NAME --previous"
_JOB: Final = "pkg/controller/job/job_controller.go"

ENTRIES: Final = (
    Entry(
        name="Unknown",
        means="A state is not known: how a container ended (exit code 255), or whether a node's kubelet runs.",
        rule=(
            "A container: its runtime lost track of it, as after a reboot; the kubelet answers, and 255 is no signal.",
            "A condition of a node, as Ready: its kubelet has not renewed its Lease for 50 s (40 s before 1.32).",
        ),
        commands=(_EXPLAIN, "kubectl qos partitions"),
        source=("pkg/controller/nodelifecycle/node_lifecycle_controller.go",),
        see=("exit code", "Rebooted", "node.kubernetes.io/unreachable"),
    ),
    Entry(
        name="exit code",
        also=(
            *("Completed", "Error", "exit code 0", "exit code 1", "exit code 139", "lastState.terminated"),
            *("126", "127", "128", "130", "134", "139", "255", "ContainerEnded", "Ended", "Application"),
        ),
        pattern=r"(exit[ -]?(code|status)|code):? *(\d|[1-9]\d{1,2})|Signal:\d+|signal [1-9]\d?",
        means="The number with which the container's first process ended: 0 is success, 129 to 192 mostly a signal.",
        rule=(
            "0 to 255 on Linux: only Windows programs have a larger one.",
            "1 to 125: the program's own; its log says why. 126: the command cannot be executed. 127: it is missing.",
            "128 with reason StartError: it did not start. 129 to 192: 128 and the signal.",
            "255 with reason Unknown: the runtime lost it, as after a reboot; else it is the program's own.",
            "130 SIGINT, 134 aborted, 137 killed (SIGKILL), 139 segmentation fault, 143 SIGTERM.",
            "Completed is 0 and Error is not; OOMKilled means that the kernel killed for memory.",
        ),
        do=("Read the log of the container that ended, not of the one that runs now.",),
        commands=(_LOG, _EXPLAIN),
        source=("pkg/apis/core/types.go",),
        see=("exit code 137", "SIGTERM", "OOMKilled", "CrashLoopBackOff", "Unknown"),
    ),
    *(
        Entry(
            name=exit_.name,
            also=(*dict.fromkeys((str(code), str(code - (code >> 31 << 32)))), f"0x{code:08X}"),
            pattern=rf"exit ?code:? *({code}|{code - (code >> 31 << 32)}|0x{code:08X})",
            means=f"The Windows process {exit_.meaning}; exit code {code} is 0x{code:08X}.",
            do=("Read the log of the container that ended; Windows' event log names the module that failed.",),
            commands=(_LOG,),
            source=("pkg/apis/core/types.go",),
            see=("exit code", "Windows"),
        )
        for code, exit_ in WINDOWS_EXITS.items()
    ),
    Entry(
        name="exit code of Windows",
        also=("NTSTATUS",),
        pattern=r"exit ?code:? *(-?\d{1,10}|0x[\da-f]{8})",
        means="Linux has exit codes up to 255 only: this one is a Windows process's own, or an NTSTATUS value.",
        source=("pkg/apis/core/types.go",),
        see=("exit code", "Windows"),
    ),
    Entry(
        name="ContainerStatusUnknown",
        pattern=r"The container could not be located when the pod was (deleted|terminated).*",
        means="The kubelet no longer found the container: unknown how it ended.",
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
        do=("Check the node's runtime, and find processes that wait for a disk: SIGKILL does not end them.",),
        commands=(_EXPLAIN,),
        source=("pkg/kubelet/kubelet.go", "pkg/kubelet/container/sync_result.go"),
        see=("Terminating", "ExceededGracePeriod"),
    ),
    Entry(
        name="BackoffLimitExceeded",
        also=("backoffLimit",),
        pattern=r"Job has reached the specified backoff limit\.?|Job has failed indexes"
        r"|Job has exceeded the specified maximal number of failed indexes",
        means="More pods of the Job failed than its backoffLimit allows: it is Failed, and creates no other pod.",
        rule=("It is 6 by default; failed pods and restarts count. Indexed Jobs can have one for each index.",),
        do=("Read why its pods failed, then recreate the Job: a failed Job stays failed; a new one starts from zero.",),
        commands=("kubectl describe job NAME",),
        source=(_JOB,),
        see=("exit code", "DeadlineExceeded"),
    ),
    Entry(
        name="ProgressDeadlineExceeded",
        also=("progressDeadlineSeconds", "RolloutStuck"),
        pattern=r"(Deployment|ReplicaSet) .* (has timed out progressing|exceeded its progress deadline)\.?",
        means="A rollout made no progress for progressDeadlineSeconds, 600 by default.",
        rule=(
            "Nothing is rolled back or stopped: the Deployment continues to try.",
            "Progress is a new pod that is created, becomes Ready or available, or an old one that is removed.",
        ),
        do=("Check why the new pods are not Ready; kubectl rollout undo reverts the whole template, no ConfigMap.",),
        commands=("kubectl qos explain deployment/NAME", "kubectl rollout history deployment/NAME"),
        source=("pkg/controller/deployment/progress.go",),
        see=("FailedCreate", "Unhealthy", "CrashLoopBackOff"),
    ),
    Entry(
        name="ScalingReplicaSet",
        also=("SuccessfulCreate", "SuccessfulDelete"),
        pattern=r"Scaled (up|down) replica set .*|(Created|Deleted) pod: .*|(create|delete) (Pod"
        r"|Claim) .* success(ful)?"
        r"|(Found|Created) new replica set .*|(Deployment|ReplicaSet) .* has successfully progressed\."
        r"|Deployment (has minimum availability\.|is resumed)|\w+( set)? \".*\" successfully rolled out"
        r"|Job (completed|resumed)|Reached expected number of succeeded pods|pod triggered scale-up: .*"
        r"|New size: \d+; reason: [^;]*"
        r"|recommended size matches current size|the HPA was able to successfully calculate a replica count from .*",
        means="No problem: a controller does what replicas, a rollout, a Job or an autoscaler require.",
        commands=("kubectl qos explain deployment/NAME",),
        source=("pkg/controller/deployment/sync.go", "pkg/controller/controller_utils.go"),
        see=("FailedCreate",),
    ),
    Entry(
        name="rollout is not finished",
        also=("MinimumReplicasUnavailable", "RolloutPaused", "RolloutPartial", "SpecNotObserved"),
        pattern=r"Waiting for (deployment|daemon set) .* rollout to finish: .*|Waiting for \d+ pods to be ready\.\.\."
        r"|Waiting for partitioned roll out to finish: .*|waiting for statefulset rolling update to complete .*"
        r"|Deployment does not have minimum availability\.|(Deployment|ReplicaSet) .* is progressing\.",
        means="The workload still has old pods, or fewer available pods than it wants; its controller continues.",
        do=("If the numbers do not change, check why its new pods are pending, refused or not Ready.",),
        source=("pkg/controller/deployment/progress.go",),
    ),
    Entry(
        name="PodFailurePolicy",
        pattern=r"Container \S+ for pod \S+ failed with exit code \d+ matching \w+ rule at index \d+"
        r"|Pod \S+ has condition \w+ matching \w+ rule at index \d+",
        means="A rule of the Job's podFailurePolicy matched a failed pod: FailJob ends the Job at once.",
        source=("pkg/controller/job/pod_failure_policy.go",),
    ),
    Entry(
        name="FailedGetResourceMetric",
        also=("FailedComputeMetricsReplicas",),
        pattern=r"the HPA was unable to compute the replica count: .*"
        r"|missing request for \S+ in container \S+ of Pod \S+"
        r"|failed to get .* (utilization|usage|metric( value)?): .*|no metrics returned from \w+ metrics API"
        r"|unable to get metrics for resource .*"
        r"|did not receive metrics for targeted pods \(pods might be unready\)",
        means="The HorizontalPodAutoscaler gets no value for a metric, so it does not scale by it.",
        rule=("Utilization is usage divided by the request: each container needs a request of that resource.",),
        do=("Set the request that the text names; see that metrics-server runs and the pods are Ready.",),
        commands=("kubectl top pods",),
        source=("pkg/controller/podautoscaler/horizontal.go", "pkg/controller/podautoscaler/replica_calculator.go"),
    ),
    Entry(
        name="HorizontalPodAutoscaler",
        also=("HPA", "horizontal pod autoscaling"),
        means="Sets the replicas of its scaleTargetRef so that metrics, such as usage by request, stay near targets.",
        source=("pkg/controller/podautoscaler/horizontal.go",),
        see=("FailedGetResourceMetric", "FailedGetScale", "scale down"),
    ),
    Entry(
        name="FailedGetScale",
        pattern=r"the HPA controller was unable to get the target's current scale: .*",
        means="The HorizontalPodAutoscaler cannot read its scaleTargetRef: it is not there, or has no scale.",
        do=("Correct kind, name and apiVersion of scaleTargetRef, or create that object; metrics do not matter yet.",),
        commands=("kubectl describe hpa NAME",),
        source=("pkg/controller/podautoscaler/horizontal.go",),
        see=("FailedGetResourceMetric",),
    ),
    Entry(
        name="FailedDaemonPod",
        also=("SucceededDaemonPod",),
        pattern=r"Found (failed|succeeded) daemon pod \S+ on node \S+, will try to (kill|delete) it",
        means="A DaemonSet's pod has ended, so its controller deletes it and makes another, with a growing back-off.",
        source=("pkg/controller/daemon/daemon_controller.go",),
    ),
)
