"""What makes pods and what selects them: controllers and Services.

Source: k8s.io/api/{apps,batch,core}/v1/types.go at v0.36.3.
"""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, field

from podrules.model.base import Condition, KubeObject, Model, Time
from podrules.model.pod import PodTemplateSpec
from podrules.model.selectors import LabelSelector
from podrules.model.storage import Empty, PersistentVolumeClaim

__all__ = ["ReplicationController", "Service", "UpdateStrategy", "Workload"]

Int32 = Annotated[int, Meta(ge=-(1 << 31), le=(1 << 31) - 1)]
"""As the Go types have it: what is outside cannot be decoded."""


class RollingUpdate(Model, frozen=True):
    """``updateStrategy.rollingUpdate``."""

    max_surge: int | str | None = None
    """Pods, or a percentage."""
    max_unavailable: int | str | None = None
    partition: int = 0
    """Of a StatefulSet: pods of a lower ordinal keep the old template."""


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
    """Of a Job."""
    completions: Int32 | None = None
    """Of a Job: how many pods have to succeed; None: any one of them."""
    completion_mode: str = ""
    """Of a Job: NonIndexed (default) or Indexed."""
    ordinals: StatefulSetOrdinals = field(default_factory=StatefulSetOrdinals)
    """Of a StatefulSet."""
    volume_claim_templates: tuple[PersistentVolumeClaim, ...] = ()
    """Of a StatefulSet."""
    pod_management_policy: str = ""
    """Of a StatefulSet: OrderedReady (default) or Parallel."""
    pod_replacement_policy: str = ""
    """Of a Job: TerminatingOrFailed, or Failed, which is the default with a podFailurePolicy."""
    pod_failure_policy: Empty | None = None
    """Of a Job."""
    suspend: bool = False
    """Of a Job: it makes no pods."""
    paused: bool = False
    """Of a Deployment: changes of its template are not rolled out."""
    update_strategy: UpdateStrategy = field(default_factory=UpdateStrategy)
    """Of a DaemonSet or StatefulSet."""
    strategy: UpdateStrategy = field(default_factory=UpdateStrategy)
    """Of a Deployment."""


class WorkloadStatus(Model, frozen=True):
    """``status`` of the same, as far as the spec and the pods do not tell it."""

    desired_number_scheduled: int = 0
    """Of a DaemonSet: on how many nodes it should run; 0 also before its controller has counted."""
    succeeded: int = 0
    """Of a Job: pods that succeeded; their objects may be gone."""
    failed: int = 0
    """Of a Job: likewise."""
    observed_generation: int = 0
    """The spec that the controller has acted on, by its ``metadata.generation``; 0 also of one that does not tell."""
    replicas: int = 0
    """Pods that there are, without those that are being deleted; of a StatefulSet with them."""
    updated_replicas: int = 0
    """Those of the newest template, of a Deployment or StatefulSet; never with those that are being deleted."""
    current_revision: str = ""
    """Of a StatefulSet: the template that its pods had before the rollout."""
    update_revision: str = ""
    """Of a StatefulSet: the newest template."""
    current_number_scheduled: int = 0
    """Of a DaemonSet: on how many nodes that should run a pod there is one."""
    updated_number_scheduled: int = 0
    """Of a DaemonSet: on how many of them it is of the newest template."""
    conditions: tuple[Condition, ...] = ()

    def condition(self, kind: str, status: str) -> Condition | None:
        """That condition, while it has that status."""
        return next((entry for entry in self.conditions if entry.type == kind and entry.status == status), None)

    def is_true(self, kind: str) -> bool:
        """Whether it has that condition: a Job that ended is Complete or Failed."""
        return self.condition(kind, "True") is not None


class Workload(KubeObject, frozen=True):
    """A Deployment, ReplicaSet, StatefulSet, DaemonSet or Job: for rules they differ by kind alone."""

    spec: WorkloadSpec = field(default_factory=WorkloadSpec)
    status: WorkloadStatus = field(default_factory=WorkloadStatus)


class ReplicationControllerSpec(Model, frozen=True):
    """``spec``: its selector is a plain map."""

    replicas: Int32 | None = None
    selector: dict[str, str] = {}
    template: PodTemplateSpec | None = None


class ReplicationController(KubeObject, frozen=True):
    """A ReplicationController."""

    spec: ReplicationControllerSpec = field(default_factory=ReplicationControllerSpec)


class ServiceSpec(Model, frozen=True):
    """``spec``: no selector selects nothing, an empty one selects everything."""

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
    """It makes no Jobs."""
    schedule: str = ""
    """In Cron's notation."""


class ActiveJob(Model, frozen=True):
    """``status.active[]`` of a CronJob: a Job of it that runs."""

    name: str = ""


class CronJobStatus(Model, frozen=True):
    """``status`` of a CronJob."""

    active: tuple[ActiveJob, ...] = ()
    last_schedule_time: Time | None = None


class CronJob(KubeObject, frozen=True):
    """A CronJob."""

    spec: CronJobSpec = field(default_factory=CronJobSpec)
    status: CronJobStatus = field(default_factory=CronJobStatus)
