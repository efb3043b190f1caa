"""The models of a Pod and its parts, and references to pods by name, for results.

Source: k8s.io/api/core/v1/types.go at v0.36.3.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from enum import Enum
from typing import Final

from msgspec import Struct, field

from podrules.api.model.base import Condition, KubeObject, Model, OwnerReference, ResourceList, Time
from podrules.api.model.instant import instant
from podrules.api.model.selectors import Affinity, LabelSelector, Toleration
from podrules.api.model.storage import Volume

DEFAULT_SCHEDULER_NAME: Final = "default-scheduler"
"""The default of ``spec.schedulerName``."""


class PodQOSClass(Enum):
    """``status.qosClass``."""

    GUARANTEED = "Guaranteed"
    BURSTABLE = "Burstable"
    BEST_EFFORT = "BestEffort"


class ResourceRequirements(Model, frozen=True):
    """``resources`` of a container or a pod."""

    requests: ResourceList = {}
    limits: ResourceList = {}


class Probe(Model, frozen=True):
    """A probe, with the fields that decide when a container is killed and how long it may take to stop.

    Absent times have the API server's defaults.
    """

    termination_grace_period_seconds: int | None = None
    initial_delay_seconds: int = 0
    period_seconds: int = 10
    timeout_seconds: int = 1
    failure_threshold: int = 3


class ExecAction(Model, frozen=True):
    """A command run inside the container."""

    command: tuple[str, ...] = ()


class HTTPGetAction(Model, frozen=True):
    """An HTTP request to the container."""

    path: str = ""


class SleepAction(Model, frozen=True):
    """A pause of whole seconds."""

    seconds: int = 0


class LifecycleHandler(Model, frozen=True):
    """``lifecycle.preStop``: exactly one field is set."""

    exec: ExecAction | None = None
    http_get: HTTPGetAction | None = None
    sleep: SleepAction | None = None


class Lifecycle(Model, frozen=True):
    """``lifecycle``."""

    post_start: LifecycleHandler | None = None
    pre_stop: LifecycleHandler | None = None
    stop_signal: str = ""


class ContainerPort(Model, frozen=True):
    """``ports[]``."""

    container_port: int = 0
    host_port: int = 0
    host_ip: str = field(default="", name="hostIP")
    protocol: str = "TCP"


class ContainerRestartRule(Model, frozen=True):
    """``restartPolicyRules[]``."""

    action: str = ""


class ContainerResizePolicy(Model, frozen=True):
    """``resizePolicy[]``."""

    resource_name: str = ""
    restart_policy: str = ""
    """``NotRequired``, ``RestartContainer``."""


class VolumeMount(Model, frozen=True):
    """``volumeMounts[]``, and ``volumeDevices[]``, which are always writable."""

    name: str = ""
    read_only: bool = False


class Container(Model, frozen=True):
    """A container, init container, sidecar or ephemeral container."""

    name: str = ""
    image: str = ""
    resources: ResourceRequirements = field(default_factory=ResourceRequirements)
    restart_policy: str = ""
    restart_policy_rules: tuple[ContainerRestartRule, ...] = ()
    ports: tuple[ContainerPort, ...] = ()
    liveness_probe: Probe | None = None
    startup_probe: Probe | None = None
    lifecycle: Lifecycle | None = None
    resize_policy: tuple[ContainerResizePolicy, ...] = ()
    volume_mounts: tuple[VolumeMount, ...] = ()
    volume_devices: tuple[VolumeMount, ...] = ()

    @property
    def restarts_always(self) -> bool:
        """Whether an init container is a sidecar (podutil.IsRestartableInitContainer)."""
        return self.restart_policy == "Always"


class SchedulingGate(Model, frozen=True):
    """``spec.schedulingGates[]``."""

    name: str = ""


class PodReadinessGate(Model, frozen=True):
    """``spec.readinessGates[]``: a condition that has to be True for the pod to be Ready."""

    condition_type: str = ""


class TopologySpreadConstraint(Model, frozen=True):
    """``spec.topologySpreadConstraints[]``."""

    max_skew: int = 0
    topology_key: str = ""
    when_unsatisfiable: str = ""
    label_selector: LabelSelector | None = None
    min_domains: int | None = None
    node_affinity_policy: str | None = None
    node_taints_policy: str | None = None
    match_label_keys: tuple[str, ...] = ()


class PodResourceClaim(Model, frozen=True):
    """``spec.resourceClaims[]``."""

    name: str = ""
    resource_claim_name: str | None = None
    resource_claim_template_name: str | None = None


class PodOS(Model, frozen=True):
    """``spec.os``."""

    name: str = ""
    """``linux`` or ``windows``."""


class PodSchedulingGroup(Model, frozen=True):
    """``spec.schedulingGroup``, from 1.36 on: pods that the scheduler places together."""

    pod_group_name: str | None = None


class WorkloadReference(Model, frozen=True):
    """``spec.workloadRef`` of 1.35, which ``spec.schedulingGroup`` replaced."""

    name: str = ""


class PodSpec(Model, frozen=True):
    """``spec``."""

    containers: tuple[Container, ...] = ()
    init_containers: tuple[Container, ...] = ()
    ephemeral_containers: tuple[Container, ...] = ()
    resources: ResourceRequirements | None = None
    overhead: ResourceList = {}
    runtime_class_name: str = ""
    node_name: str = ""
    priority: int | None = None
    priority_class_name: str = ""
    preemption_policy: str | None = None
    termination_grace_period_seconds: int | None = None
    active_deadline_seconds: int | None = None
    restart_policy: str = ""
    """Always (default), OnFailure or Never."""
    scheduling_gates: tuple[SchedulingGate, ...] = ()
    readiness_gates: tuple[PodReadinessGate, ...] = ()
    scheduler_name: str = ""
    topology_spread_constraints: tuple[TopologySpreadConstraint, ...] = ()
    volumes: tuple[Volume, ...] = ()
    affinity: Affinity | None = None
    node_selector: dict[str, str] = {}
    tolerations: tuple[Toleration, ...] = ()
    host_network: bool = False
    host_users: bool | None = None
    resource_claims: tuple[PodResourceClaim, ...] = ()
    os: PodOS | None = None
    scheduling_group: PodSchedulingGroup | None = None
    workload_ref: WorkloadReference | None = None


class ContainerStateTerminated(Model, frozen=True):
    """How a container ended."""

    reason: str = ""
    message: str = ""
    exit_code: int = 0
    signal: int = 0
    """The signal that ended it; 0: not reported. The kubelet reports only exit codes, 128 + n for signal n."""
    started_at: Time | None = None
    finished_at: Time | None = None


class ContainerStateWaiting(Model, frozen=True):
    """Why a container is not running at the moment."""

    reason: str = ""
    message: str = ""


class ContainerStateRunning(Model, frozen=True):
    """When a running container started."""

    started_at: Time | None = None


class ContainerState(Model, frozen=True):
    """``state`` or ``lastState``; no field set: the container is waiting."""

    running: ContainerStateRunning | None = None
    terminated: ContainerStateTerminated | None = None
    waiting: ContainerStateWaiting | None = None


class ContainerStatus(Model, frozen=True):
    """``status.containerStatuses[]``; init and ephemeral containers have the same type."""

    name: str = ""
    ready: bool = False
    started: bool | None = None
    """Whether its startup probe has succeeded and its postStart hook returned; None: not reported."""
    restart_count: int = 0
    state: ContainerState = field(default_factory=ContainerState)
    last_state: ContainerState = field(default_factory=ContainerState)
    resources: ResourceRequirements | None = None
    allocated_resources: ResourceList = {}

    @property
    def latest_end(self) -> ContainerStateTerminated | None:
        """How it ended last; None: it has not, as far as is kept."""
        return self.state.terminated or self.last_state.terminated

    @property
    def runs_since(self) -> datetime | None:
        """When it began to run; None: it does not run, or the status does not show it."""
        return instant(self.state.running.started_at) if self.state.running is not None else None


class PodResourceClaimStatus(Model, frozen=True):
    """``status.resourceClaimStatuses[]``: the claim made from a template."""

    name: str = ""
    resource_claim_name: str | None = None


class PodStatus(Model, frozen=True):
    """``status``."""

    phase: str = ""
    reason: str = ""
    message: str = ""
    conditions: tuple[Condition, ...] = ()
    qos_class: str = ""
    start_time: Time | None = None
    nominated_node_name: str = ""
    container_statuses: tuple[ContainerStatus, ...] = ()
    init_container_statuses: tuple[ContainerStatus, ...] = ()
    ephemeral_container_statuses: tuple[ContainerStatus, ...] = ()
    resources: ResourceRequirements | None = None
    allocated_resources: ResourceList = {}
    resource_claim_statuses: tuple[PodResourceClaimStatus, ...] = ()

    def condition(self, kind: str) -> Condition | None:
        """The condition of that type, if reported."""
        return next((condition for condition in self.conditions if condition.type == kind), None)

    @property
    def of_containers(self) -> tuple[ContainerStatus, ...]:
        """The statuses of all its containers but ephemeral ones."""
        return (*self.container_statuses, *self.init_container_statuses)


class ContainerRef(Struct, frozen=True):
    """A container and its path in the pod."""

    container: Container
    field: str
    """The container's path, e.g. ``spec.initContainers[0]``."""
    is_init: bool

    @property
    def is_sidecar(self) -> bool:
        """Whether it is a restartable init container."""
        return self.is_init and self.container.restarts_always


class Pod(KubeObject, frozen=True):
    """A pod."""

    spec: PodSpec = field(default_factory=PodSpec)
    status: PodStatus = field(default_factory=PodStatus)

    @property
    def finished(self) -> bool:
        """Whether it has ended permanently, without processes and resources."""
        return self.status.phase in {"Succeeded", "Failed"}

    @property
    def is_ready(self) -> bool:
        """Whether its Ready condition is True."""
        ready = self.status.condition("Ready")
        return ready is not None and ready.status == "True"

    def restart_policy(self, container: Container) -> str:
        """The restartPolicy of an app container or a sidecar: its own, else the pod's (ContainerRestartRules)."""
        return container.restart_policy or self.spec.restart_policy or "Always"

    @property
    def as_controller(self) -> OwnerReference:
        """The owner reference of the objects that the pod controls."""
        meta = self.metadata
        return OwnerReference(api_version="v1", kind="Pod", name=meta.name, uid=meta.uid, controller=True)

    def containers(self) -> Iterator[ContainerRef]:
        """App containers, then init containers, each with its path; ephemeral ones are left out."""
        for index, container in enumerate(self.spec.containers):
            yield ContainerRef(container, f"spec.containers[{index}]", is_init=False)
        for index, container in enumerate(self.spec.init_containers):
            yield ContainerRef(container, f"spec.initContainers[{index}]", is_init=True)


class PodTemplateSpec(KubeObject, frozen=True):
    """``spec.template`` of a workload."""

    spec: PodSpec = field(default_factory=PodSpec)


class PodReference(Struct, frozen=True, rename="camel"):
    """A pod by name."""

    namespace: str
    name: str


class PodOnNode(PodReference, frozen=True, rename="camel"):
    """A bound pod."""

    node: str


def reference(pod: Pod) -> PodReference:
    """A pod's name."""
    return PodReference(pod.metadata.namespace, pod.metadata.name)


def on_its_node(pod: Pod) -> PodOnNode:
    """A bound pod's name and node."""
    return PodOnNode(pod.metadata.namespace, pod.metadata.name, pod.spec.node_name)
