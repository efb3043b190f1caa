"""Manifests as typed objects, and the pods that they create.

Source: k8s.io/api at v0.36.3 for the kinds; pkg/apis/apps/v1/defaults.go and pkg/apis/batch/v1/defaults.go at v1.36.3
for the default of one replica.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import cached_property
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from podrules.api.features import REFERENCE, Features
from podrules.api.model.base import KubeObject, Model
from podrules.api.model.pod import Pod, PodTemplateSpec
from podrules.api.model.policy import PodDisruptionBudget, PriorityClass
from podrules.api.model.storage import CSIDriver, PersistentVolume, PersistentVolumeClaim, StorageClass
from podrules.api.model.workload import CronJob, ReplicationController, Workload

DEFAULT_NAMESPACE: Final = "default"


class ScaleTarget(Model, frozen=True):
    """``spec.scaleTargetRef``."""

    kind: str = ""
    name: str = ""


class AutoscalerSpec(Model, frozen=True):
    """``spec``."""

    scale_target_ref: ScaleTarget = ScaleTarget()


class HorizontalPodAutoscaler(KubeObject, frozen=True):
    """A HorizontalPodAutoscaler, which decides the replicas of a workload."""

    spec: AutoscalerSpec = AutoscalerSpec()


KINDS: Final[Mapping[tuple[str, str], type[KubeObject]]] = {
    ("v1", "Pod"): Pod,
    ("v1", "ReplicationController"): ReplicationController,
    ("v1", "PersistentVolumeClaim"): PersistentVolumeClaim,
    ("v1", "PersistentVolume"): PersistentVolume,
    ("storage.k8s.io/v1", "CSIDriver"): CSIDriver,
    ("storage.k8s.io/v1", "StorageClass"): StorageClass,
    **{("apps/v1", kind): Workload for kind in ("Deployment", "ReplicaSet", "StatefulSet", "DaemonSet")},
    ("batch/v1", "Job"): Workload,
    ("batch/v1", "CronJob"): CronJob,
    ("policy/v1", "PodDisruptionBudget"): PodDisruptionBudget,
    ("scheduling.k8s.io/v1", "PriorityClass"): PriorityClass,
    ("autoscaling/v1", "HorizontalPodAutoscaler"): HorizontalPodAutoscaler,
    ("autoscaling/v2", "HorizontalPodAutoscaler"): HorizontalPodAutoscaler,
}
"""The checked kinds, by apiVersion and kind, with the type that reads them."""


class Manifest(Struct, frozen=True):
    """An object of a manifest file."""

    position: int
    kind: str
    content: KubeObject

    @property
    def namespace(self) -> str:
        """Its namespace."""
        return self.content.metadata.namespace

    @property
    def name(self) -> str:
        """Its name, or its generateName prefix."""
        return self.content.metadata.name or self.content.metadata.generate_name

    def at(self, field: str) -> tuple[int, str]:
        """The first two arguments of a `Finding`: the position of the object, and the path of the field."""
        return self.position, field


class PodCase(Struct, frozen=True):
    """A pod, or the template of the pods that a workload creates."""

    owner: Manifest
    pod: Pod
    path: str
    """The prefix of the pod's fields: empty, or ``spec.template.`` with its dot."""
    replicas: int | None
    """The number of pods; None: the number of nodes or an autoscaler decides."""
    features: Features = REFERENCE
    """The rules of the API server's version."""

    @property
    def templated(self) -> bool:
        """Whether a controller creates the pods, and adds labels to them."""
        return bool(self.path)

    def at(self, field: str) -> tuple[int, str]:
        """The first two arguments of a `Finding`: the position of the object, and the path of the pod's field in it."""
        return self.owner.at(self.path + field)

    @classmethod
    def of(cls, manifest: Manifest, scaled: Collection[tuple[str, str, str]], features: Features) -> PodCase | None:
        """The pods of an object; None: it creates none. Autoscalers decide the replicas of the scaled workloads."""
        content = manifest.content
        replicas: int | None
        match content:
            case Pod():
                return cls(manifest, content, "", 1, features)
            case CronJob():
                template, path = content.spec.job_template.spec.template, "spec.jobTemplate.spec.template."
                replicas = content.spec.job_template.spec.parallelism
            case Workload():
                template, path = content.spec.template, "spec.template."
                replicas = content.spec.parallelism if manifest.kind == "Job" else content.spec.replicas
            case ReplicationController():
                template, path = content.spec.template or PodTemplateSpec(), "spec.template."
                replicas = content.spec.replicas
            case _:
                return None
        replicas = 1 if replicas is None else replicas
        if manifest.kind == "DaemonSet" or (manifest.namespace, manifest.kind, manifest.name) in scaled:
            replicas = None
        metadata = replace(template.metadata, namespace=manifest.namespace)
        return cls(manifest, Pod(metadata=metadata, spec=template.spec), path, replicas, features)


class Objects(Struct, frozen=True, dict=True):
    """All objects of one run, grouped for the checks."""

    manifests: tuple[Manifest, ...]
    cases: tuple[PodCase, ...]

    @cached_property
    def budgets(self) -> tuple[tuple[Manifest, PodDisruptionBudget], ...]:
        """All PodDisruptionBudgets."""
        return tuple(self._of(PodDisruptionBudget))

    @cached_property
    def classes(self) -> tuple[tuple[Manifest, PriorityClass], ...]:
        """All PriorityClasses."""
        return tuple(self._of(PriorityClass))

    @cached_property
    def claims(self) -> Mapping[tuple[str, str], PersistentVolumeClaim]:
        """All claims, by namespace and name."""
        return {(manifest.namespace, manifest.name): claim for manifest, claim in self._of(PersistentVolumeClaim)}

    @cached_property
    def volumes(self) -> Mapping[str, PersistentVolume]:
        """All PersistentVolumes, by name."""
        return {manifest.name: volume for manifest, volume in self._of(PersistentVolume)}

    @cached_property
    def reserved(self) -> Collection[tuple[str, str]]:
        """The claims with a reserved PersistentVolume, by namespace and name."""
        refs = (volume.spec.claim_ref for volume in self.volumes.values())
        return {(ref.namespace, ref.name) for ref in refs if ref is not None}

    @cached_property
    def storage_classes(self) -> Mapping[str, StorageClass]:
        """All StorageClasses, by name."""
        return {manifest.name: entry for manifest, entry in self._of(StorageClass)}

    @cached_property
    def drivers(self) -> Mapping[str, CSIDriver]:
        """All CSIDrivers, by name."""
        return {manifest.name: driver for manifest, driver in self._of(CSIDriver)}

    def _of(self, kind: type[Any]) -> Iterator[tuple[Manifest, Any]]:
        return ((manifest, manifest.content) for manifest in self.manifests if isinstance(manifest.content, kind))

    @classmethod
    def of(cls, read: Iterable[Manifest], features: Features = REFERENCE) -> Objects:
        """Group the objects and their pods, for a version."""
        manifests = tuple(read)
        scaled = {
            (
                manifest.namespace,
                manifest.content.spec.scale_target_ref.kind,
                manifest.content.spec.scale_target_ref.name,
            )
            for manifest in manifests
            if isinstance(manifest.content, HorizontalPodAutoscaler)
        }
        cases = (PodCase.of(manifest, scaled, features) for manifest in manifests)
        return cls(manifests, tuple(case for case in cases if case is not None))
