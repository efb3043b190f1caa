"""Images, sandboxes and first processes: the kubelet's messages before a container runs."""

from __future__ import annotations

from typing import Final

from kubectl_plugin.glossary.entry import Entry

_DESCRIBE: Final = "kubectl describe pod NAME"
_EXPLAIN: Final = "kubectl qos explain pod/NAME"
_IMAGES: Final = ("pkg/kubelet/images/image_manager.go", "pkg/kubelet/images/types.go")
_RUNTIME: Final = "pkg/kubelet/kuberuntime/kuberuntime_manager.go"
_CONTAINER: Final = "pkg/kubelet/kuberuntime/kuberuntime_container.go"

ENTRIES: Final = (
    Entry(
        name="InvalidImageName",
        also=("invalid reference format",),
        pattern=r"(Error: )?InvalidImageName|Failed to apply default image tag .*",
        means="The name of the image is invalid: no registry was contacted.",
        do=("Correct spec.containers[].image: no upper-case letters in the path, no blank, one tag.",),
        commands=(_DESCRIBE,),
        source=_IMAGES,
        see=("ImagePullBackOff",),
    ),
    Entry(
        name="ErrImageNeverPull",
        also=("imagePullPolicy: Never",),
        pattern=r"Container image .* is not present with pull policy of Never|Error: ErrImageNeverPull",
        means="imagePullPolicy is Never, and the image is not on this node.",
        do=("Load the image onto the node, or let the kubelet pull it: imagePullPolicy IfNotPresent.",),
        commands=(_DESCRIBE,),
        source=_IMAGES,
        see=("ImagePullBackOff",),
    ),
    Entry(
        name="ImageInspectError",
        also=("InspectFailed",),
        pattern=r"Failed to inspect image .*|Error: ImageInspectError",
        means="The container runtime could not determine whether the node has the image.",
        do=("Check the runtime of that node; other pods there have the same problem.",),
        commands=(_DESCRIBE,),
        source=_IMAGES,
        see=("KubeletNotReady",),
    ),
    Entry(
        name="FailedToRetrieveImagePullSecret",
        also=("imagePullSecrets",),
        pattern=r"Unable to retrieve some image pull secrets .*",
        means="A Secret in imagePullSecrets does not exist in the pod's namespace; the pull is tried without it.",
        do=("Create the Secret in that namespace; a public image is pulled without it.",),
        commands=(_DESCRIBE,),
        source=("pkg/kubelet/kubelet.go",),
        see=("ImagePullBackOff",),
    ),
    Entry(
        name="Pulled",
        also=("Pulling", "Created", "Started", "Scheduled", "SuccessfulMountVolume"),
        pattern=r"Pulling image .*|Successfully pulled image .*|Container image .* already present on machine.*"
        r"|Container (created|started)|Successfully assigned \S+/\S+ to \S+",
        means="No problem: these events show that a pod starts.",
        rule=("In order: Scheduled, then for each container Pulling, Pulled, Created and Started.",),
        do=("If it does not continue, the next event or the container's status says why.",),
        commands=(_EXPLAIN,),
        source=("pkg/kubelet/events/event.go", "pkg/scheduler/schedule_one.go"),
        see=("ContainerCreating",),
    ),
    Entry(
        name="RunContainerError",
        also=("StartError", "OCI runtime create failed", "PreCreateHookError", "PreStartHookError", "Runtime"),
        pattern=r"(?!Failed to create pod sandbox)"
        r"(.*: )?(OCI runtime create failed|failed to create shim task|failed to create containerd task): .*"
        r"|Error: failed to (create|start) container( .*|d .*)?|Internal Pre(Create|Start)Container hook failed: .*",
        means="The container runtime could not start the container's first process.",
        rule=("Mostly the command does not exist in the image, is not executable, or a mount fails.",),
        do=("Read the end of the text: it names the file. Then correct command, args or the image.",),
        commands=(_DESCRIBE,),
        source=(_CONTAINER, "pkg/kubelet/container/sync_result.go"),
        see=("CrashLoopBackOff", "exit code"),
    ),
    Entry(
        name="FailedCreatePodSandBox",
        also=("CreatePodSandboxError", "ConfigPodSandboxError", "FailedPodSandBoxStatus", "sandbox"),
        pattern=r"Failed to create pod sandbox: .*|Unable to get pod sandbox status: .*",
        means="The pod's sandbox, with its network, could not be created: no container of the pod can start.",
        rule=("The end of the text is the runtime's, or the network plugin's. The kubelet tries again.",),
        commands=(_DESCRIBE, "kubectl qos explain node/NODE"),
        source=(_RUNTIME,),
        see=("ContainerCreating", "NetworkNotReady"),
    ),
    Entry(
        name="SandboxChanged",
        pattern=r"Pod sandbox changed, it will be killed and re-created\.?",
        means="The pod's sandbox is missing or changed: its containers stop, and restart as restartPolicy says.",
        rule=("Causes: a restart of the node or of its runtime, or a failed network of the sandbox.",),
        commands=(_DESCRIBE,),
        source=(_RUNTIME,),
        see=("FailedCreatePodSandBox", "Rebooted"),
    ),
    Entry(
        name="NetworkNotReady",
        also=(
            *("cni plugin not initialized", "NetworkUnavailable", "node.kubernetes.io/network-unavailable"),
            "NetworkPluginNotReady",
        ),
        pattern=r"network is not ready(: .*)?|(.*[: ])?cni plugin not initialized",
        means="The node has no pod network yet; only pods with hostNetwork start there.",
        do=("Check whether the pod of the network plugin runs on that node.",),
        commands=("kubectl get pods -A --field-selector spec.nodeName=NODE",),
        source=("pkg/kubelet/kubelet.go", "pkg/kubelet/errors.go"),
        see=("FailedCreatePodSandBox", "KubeletNotReady"),
    ),
    Entry(
        name="FailedPostStartHook",
        also=("PostStartHookError", "postStart", "PostStartHook"),
        pattern=r"PostStartHook failed.*",
        means="A container's postStart hook failed: the kubelet kills the container, and restartPolicy decides.",
        commands=(_DESCRIBE,),
        source=(_CONTAINER,),
        see=("CrashLoopBackOff", "preStop"),
    ),
    Entry(
        name="ContainersNotReady",
        also=("ContainersNotInitialized", "ContainersReady", "PodsNotReady"),
        pattern=r"containers with (unready|unknown|incomplete) status: .*|.* pod readiness gate \".*\" .*",
        means="Why a pod is not Ready, or not Initialized: the containers in brackets are not.",
        rule=(
            "unready: not running, or its readiness probe fails. incomplete: an init container that has not succeeded.",
            "Services send nothing to a pod that is not Ready.",
        ),
        do=("Check those containers: state, last state, events.",),
        commands=(_EXPLAIN,),
        source=("pkg/kubelet/status/generate.go",),
        see=("Unhealthy", "ContainerCreating"),
    ),
    Entry(
        name="ProbeWarning",
        pattern=r"\w+ probe warning: .*",
        means="The probe counts as passed, with a remark: mostly a redirect to another host, which is not followed.",
        commands=(_DESCRIBE,),
        source=("pkg/kubelet/prober/prober.go", "pkg/probe/http/http.go"),
        see=("Unhealthy",),
    ),
    Entry(
        name="FailedSync",
        pattern=r"error determining status: .*|unable to ensure pod container exists: .*"
        r"|error making pod data directories: .*",
        means="The kubelet could not bring the pod to its desired state this time; it tries again.",
        do=("Once is harmless. If it repeats, the end of the text says what does not answer: mostly the runtime.",),
        commands=(_DESCRIBE,),
        source=("pkg/kubelet/pod_workers.go", "pkg/kubelet/events/event.go"),
        see=("KubeletNotReady",),
    ),
)
