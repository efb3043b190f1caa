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
        pattern=r"The container could not be located when the pod was (deleted|terminated)\..*",
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
        pattern=r"Job has reached the specified backoff limit\.?",
        means="More pods of the Job failed than its backoffLimit allows: it is Failed, and makes no other pod.",
        rule=("backoffLimit is 6 unless it is set; each failed pod, and each restart of a container, counts.",),
        do=("Read why its pods failed; then recreate the Job: a failed one does not continue.",),
        commands=("kubectl describe job NAME",),
        source=(_JOB,),
        see=("exit code", "DeadlineExceeded"),
    ),
    Entry(
        name="ProgressDeadlineExceeded",
        also=("progressDeadlineSeconds",),
        pattern=r"(Deployment|ReplicaSet) .* has timed out progressing\.?",
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
        pattern=r"Scaled (up|down) replica set .*|(Created|Deleted) pod: .*|(create|delete) Pod .* successful",
        means="Nothing is wrong: a controller made or deleted pods, as its replicas or a rollout demand.",
        commands=("kubectl qos explain deployment/NAME",),
        source=("pkg/controller/deployment/sync.go", "pkg/controller/controller_utils.go"),
        see=("FailedCreate",),
    ),
)
