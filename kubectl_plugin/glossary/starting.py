"""Why a pod is not created, or its containers do not start."""

from __future__ import annotations

from typing import Final

from kubectl_plugin.glossary.entry import Entry

_EXPLAIN: Final = "kubectl qos explain pod/NAME"
_DESCRIBE: Final = "kubectl describe pod NAME"
_PODS: Final = "pkg/kubelet/kubelet_pods.go"
_CONTAINER: Final = "pkg/kubelet/kuberuntime/kuberuntime_container.go"

ENTRIES: Final = (
    Entry(
        name="exceeded quota",
        also=("ResourceQuota", "quota"),
        pattern=r"exceeded quota: .*, requested: .*, used: .*, limited: .*"
        r"|quota usage is negative for resource\(s\): .*",
        means="The API server refused the object: with it the namespace would use more than a ResourceQuota allows.",
        rule=(
            "The text ends with what was requested, what is used and what the quota limits.",
            "Pods that have ended count only for count/pods.",
        ),
        do=("Lower the requests, delete other objects, or get a larger quota; the controller retries automatically.",),
        commands=("kubectl describe resourcequota -n NAMESPACE",),
        source=("pkg/quota/v1/evaluator/core/pods.go", "pkg/controller/resourcequota/resource_quota_controller.go"),
        see=("FailedCreate", "requests"),
    ),
    Entry(
        name="failed quota",
        also=("must specify limits.cpu", "must specify"),
        pattern=r"failed quota: .*|must specify (limits|requests)\.\S+ for: .*",
        means="The API server refused the pod: a container lacks a request or limit that a ResourceQuota counts.",
        rule=(
            "The quota is not exceeded: with more room the same pod is refused.",
            "The text ends with the missing amounts, and the containers that lack them.",
        ),
        do=("Set these amounts, or add a LimitRange with defaults to the namespace: the API server then sets them.",),
        commands=("kubectl describe resourcequota,limitrange -n NAMESPACE",),
        source=("pkg/quota/v1/evaluator/core/pods.go",),
        see=("exceeded quota", "LimitRange"),
    ),
    Entry(
        name="insufficient quota to match these scopes",
        also=("insufficient quota",),
        pattern=r"insufficient quota to (match these scopes|consume): .*",
        means="This cluster allows such pods only in a namespace that has a ResourceQuota for them, and it has none.",
        rule=("The API server's configuration names them (limitedResources), such as critical PriorityClasses.",),
        do=("Create a ResourceQuota with that scopeSelector in the namespace, or use another priorityClassName.",),
        commands=("kubectl get resourcequota -n NAMESPACE",),
        source=("pkg/quota/v1/evaluator/core/pods.go",),
        see=("exceeded quota", "FailedCreate"),
    ),
    Entry(
        name="FailedCreate",
        also=("ReplicaFailure", "PodsRefused", "PodsMissing", "AdmissionRefused"),
        pattern=r"Error creating: (pods? |Internal error|Post |context |etcdserver|the server |Unauthorized"
        r"|.* is forbidden).*"
        r"|(create|update) (Claim|Pod) .* failed error: .*",
        means="A controller could not create a pod: the API server refused it, so no pod exists.",
        rule=(
            "The end of the text says who refused: a quota, a missing PriorityClass or service account, a webhook.",
            "The controller tries again, with longer waits each time.",
        ),
        do=("Read the events of the ReplicaSet, StatefulSet, DaemonSet or Job, not of a pod.",),
        commands=("kubectl describe replicaset NAME", "kubectl qos lint -f FILE"),
        source=("pkg/controller/controller_utils.go", "pkg/controller/replicaset/replica_set_utils.go"),
        see=("exceeded quota", "no PriorityClass with name"),
    ),
    Entry(
        name="ImagePullBackOff",
        also=("ErrImagePull", "image pull", "image pull back-off", "Failed to pull image", "Image"),
        pattern=r"Back-off pulling image .*|Failed to pull image .*|Error: (ImagePullBackOff|ErrImagePull)"
        r"|pull QPS exceeded|trying and failing to pull image"
        r"|image pull failed for \S+ because the (registry is unavailable|signature validation failed).*"
        r"|failed to pull and unpack image .*",
        means="The image cannot be pulled, and the kubelet waits before the next try: 10 s, doubled up to 5 min.",
        rule=(
            "The container has no process that can be killed for memory, or must be stopped.",
            "The pod keeps its node, and its requests count there.",
        ),
        do=("Read the text of Failed to pull image: wrong name or tag, no imagePullSecrets, registry not reached.",),
        commands=(_DESCRIBE,),
        source=("pkg/kubelet/images/image_manager.go", "pkg/kubelet/images/types.go", "pkg/kubelet/kubelet.go"),
        see=("ContainerCreating", "CrashLoopBackOff"),
    ),
    Entry(
        name="ContainerCreating",
        also=("PodInitializing", "stuck in ContainerCreating"),
        pattern=r"Init:\d+/\d+",
        means="The state of a container until its kubelet reports: the pod has a node, but no process yet.",
        rule=(
            "Volumes are attached and mounted first, then the sandbox with its network, then images are pulled.",
            "PodInitializing is the same for a pod with init containers.",
        ),
        do=("The events name the step that hangs: FailedAttachVolume, FailedMount, FailedCreatePodSandBox, Pulling.",),
        commands=(_EXPLAIN, _DESCRIBE),
        source=(_PODS, "pkg/kubelet/volumemanager/volume_manager.go"),
        see=("FailedMount", "Multi-Attach error", "ImagePullBackOff"),
    ),
    Entry(
        name="CreateContainerError",
        pattern=r"Error: (rpc error: code = \w+ desc = )?failed to (create container|prepare subPath"
        r"|reserve container name|generate container \".*\" spec)\b.*|Error: context deadline exceeded",
        means="A try to create or start a container failed: the pod is not Failed, and the kubelet tries again.",
        rule=("context deadline exceeded: the runtime did not answer in time, if an event of the kubelet says so.",),
        do=("Read the end of the text; after a timeout, check that the container runtime of the node answers.",),
        commands=(_DESCRIBE,),
        source=(_CONTAINER, "pkg/kubelet/events/event.go"),
        see=("RunContainerError", "CreateContainerConfigError"),
    ),
    Entry(
        name="CreateContainerConfigError",
        pattern=(
            r"(Error: )?(configmap|secret) \".*\" not found|(Error: )?couldn't find key .* in (ConfigMap|Secret) .*"
            r"|Error: CreateContainerConfigError|(Error: )?container has runAsNonRoot and image .*"
            r"|(Error: )?container's runAsUser.* non-root policy .*"
        ),
        means="The kubelet cannot build the container's settings: mostly a ConfigMap, Secret or key is missing.",
        rule=(
            "Also an image that runs as root, although runAsNonRoot is set.",
            "The container was not started, so it does not restart: the kubelet tries again until the object exists.",
        ),
        do=(
            "Create what the message names, in the pod's namespace, or mark the reference optional.",
            "If it names runAsNonRoot, set runAsUser, or use an image with a numeric USER other than 0.",
        ),
        commands=(_DESCRIBE,),
        source=(_CONTAINER, _PODS),
        see=("ContainerCreating",),
    ),
    Entry(
        name="phase",
        also=("pod phase", "status.phase", "phases never go back", "Succeeded", "Failed", "Running", "Pod Lifecycle"),
        pattern=r"cannot exec into a container in a completed pod; current phase is \w+",
        means="Pending, Running, then Succeeded or Failed; the last two are final.",
        rule=(
            "A pod that has ended never starts again, even with restartPolicy Always: its controller creates another.",
            "Running: every container was started, and one runs or is about to start again. It does not mean Ready.",
            "Terminating, CrashLoopBackOff and Evicted are not phases: kubectl shows them instead.",
        ),
        commands=(_EXPLAIN,),
        source=(_PODS,),
        see=("Terminating", "CrashLoopBackOff", "FailedScheduling"),
    ),
)
