"""The models of workloads, which make pods, of Services, which select pods, and of ConfigMaps.

Source: k8s.io/api/{apps,batch,core}/v1/types.go at v0.36.3.
"""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, field

from podrules.api.model.base import Condition, KubeObject, Model, Time
from podrules.api.model.pod import PodTemplateSpec
from podrules.api.model.selectors import LabelSelector, Selector
from podrules.api.model.storage import Empty, PersistentVolumeClaim

Int32 = Annotated[int, Meta(ge=-(1 << 31), le=(1 << 31) - 1)]
"""Go's int32: a value outside its range cannot be decoded."""


class RollingUpdate(Model, frozen=True):
    """``updateStrategy.rollingUpdate``."""

    max_surge: int | str | None = None
    """A number of pods or a percentage."""
    max_unavailable: int | str | None = None
    partition: int = 0
    """StatefulSets only: pods with a lower ordinal keep the old template."""


class UpdateStrategy(Model, frozen=True):
    """``updateStrategy``, and ``strategy`` of a Deployment."""

    type: str = ""
    """RollingUpdate (default), Recreate or OnDelete."""
    rolling_update: RollingUpdate | None = None


class StatefulSetOrdinals(Model, frozen=True):
    """``spec.ordinals`` of a StatefulSet."""

    start: Int32 = 0


class WorkloadSpec(Model, frozen=True):
    """``spec`` of a Deployment, ReplicaSet, StatefulSet, DaemonSet or Job."""

    replicas: Int32 | None = None
    selector: LabelSelector | None = None
    template: PodTemplateSpec = field(default_factory=PodTemplateSpec)
    parallelism: Int32 | None = None
    """Jobs only."""
    completions: Int32 | None = None
    """Jobs only: how many pods have to succeed; None: one pod is enough."""
    completion_mode: str = ""
    """Jobs only: NonIndexed (default) or Indexed."""
    ordinals: StatefulSetOrdinals = field(default_factory=StatefulSetOrdinals)
    """StatefulSets only."""
    volume_claim_templates: tuple[PersistentVolumeClaim, ...] = ()
    """StatefulSets only."""
    pod_management_policy: str = ""
    """StatefulSets only: OrderedReady (default) or Parallel."""
    pod_replacement_policy: str = ""
    """Jobs only: TerminatingOrFailed, or Failed, which is the default with a podFailurePolicy."""
    pod_failure_policy: Empty | None = None
    """Jobs only."""
    suspend: bool = False
    """Jobs only: it makes no pods."""
    paused: bool = False
    """Deployments only: changes of the template are not rolled out."""
    update_strategy: UpdateStrategy = field(default_factory=UpdateStrategy)
    """DaemonSets and StatefulSets only."""
    strategy: UpdateStrategy = field(default_factory=UpdateStrategy)
    """Deployments only."""


class WorkloadStatus(Model, frozen=True):
    """``status`` of a workload, with the fields that do not follow from its spec and its pods."""

    desired_number_scheduled: int = 0
    """DaemonSets only: how many nodes should run its pod; 0 also before its controller has counted."""
    active: int = 0
    """Jobs only: how many pods exist that have not finished."""
    succeeded: int = 0
    """Jobs only: how many pods succeeded; the pods may be deleted since."""
    failed: int = 0
    """Jobs only: how many pods failed; the pods may be deleted since."""
    observed_generation: int = 0
    """The ``metadata.generation`` that the controller has acted on; 0 also for a controller that does not report it."""
    replicas: int = 0
    """How many pods exist; only a StatefulSet counts terminating pods."""
    updated_replicas: int = 0
    """Deployments and StatefulSets only: how many pods have the newest template, without terminating pods."""
    current_revision: str = ""
    """StatefulSets only: the template that the pods had before the rollout."""
    update_revision: str = ""
    """StatefulSets only: the newest template."""
    current_number_scheduled: int = 0
    """DaemonSets only: how many of the nodes that should run its pod do run one."""
    updated_number_scheduled: int = 0
    """DaemonSets only: how many of the nodes that should run its pod run one of the newest template."""
    conditions: tuple[Condition, ...] = ()

    def condition(self, kind: str, status: str) -> Condition | None:
        """The condition of that type, if it has that status."""
        return next((entry for entry in self.conditions if entry.type == kind and entry.status == status), None)

    def is_true(self, kind: str) -> bool:
        """Whether the condition of that type is True: a Job that ended is Complete or Failed."""
        return self.condition(kind, "True") is not None


class Workload(KubeObject, frozen=True):
    """A Deployment, ReplicaSet, StatefulSet, DaemonSet or Job: one model serves all of them."""

    spec: WorkloadSpec = field(default_factory=WorkloadSpec)
    status: WorkloadStatus = field(default_factory=WorkloadStatus)


class ReplicationControllerSpec(Model, frozen=True):
    """``spec``; its selector is a plain map."""

    replicas: Int32 | None = None
    selector: dict[str, str] = {}
    template: PodTemplateSpec | None = None


class ReplicationController(KubeObject, frozen=True):
    """A ReplicationController."""

    spec: ReplicationControllerSpec = field(default_factory=ReplicationControllerSpec)


def selector_of(entry: KubeObject | None) -> Selector | None:
    """By which a workload selects its pods; None: it has no selector, as a CronJob has none.

    Raises:
        SelectorError: the API server would refuse the selector.
    """
    if isinstance(entry, ReplicationController):
        return Selector.from_labels(entry.spec.selector)
    given = entry.spec.selector if isinstance(entry, Workload) else None
    return None if given is None else Selector.from_label_selector(given)


class ServiceSpec(Model, frozen=True):
    """``spec``: without a selector the Service selects nothing; an empty selector selects everything."""

    selector: dict[str, str] | None = None


class Service(KubeObject, frozen=True):
    """A Service."""

    spec: ServiceSpec = field(default_factory=ServiceSpec)


class JobTemplateSpec(KubeObject, frozen=True):
    """``spec.jobTemplate`` of a CronJob."""

    spec: WorkloadSpec = field(default_factory=WorkloadSpec)


class CronJobSpec(Model, frozen=True):
    """``spec``."""

    job_template: JobTemplateSpec = field(default_factory=JobTemplateSpec)
    suspend: bool = False
    """The CronJob creates no Jobs."""
    schedule: str = ""
    """The schedule in cron notation."""


class ActiveJob(Model, frozen=True):
    """``status.active[]`` of a CronJob: one of its running Jobs."""

    name: str = ""


class CronJobStatus(Model, frozen=True):
    """``status`` of a CronJob."""

    active: tuple[ActiveJob, ...] = ()
    last_schedule_time: Time | None = None


class CronJob(KubeObject, frozen=True):
    """A CronJob."""

    spec: CronJobSpec = field(default_factory=CronJobSpec)
    status: CronJobStatus = field(default_factory=CronJobStatus)


class ConfigMap(KubeObject, frozen=True):
    """A ConfigMap, with its texts only."""

    data: dict[str, str] = {}
