"""The pods and workloads of manifests, and the next pod that a workload would create."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from msgspec.structs import replace

from cluster_io.errors import ManifestError
from cluster_io.kinds import CRON_JOBS, DAEMON_SETS, JOBS, PODS, STATEFUL_SETS, Kind
from podrules.api.model.decode import DecodeError, from_object
from podrules.api.model.pod import Pod
from podrules.api.model.storage import PersistentVolumeClaim
from podrules.api.model.workload import CronJob, ReplicationController, Workload
from podrules.scheduling.placement.planned import Autoscaler, JobSize
from podrules.workload.made_pod import template_pod

if TYPE_CHECKING:
    from cluster_io.manifests.files import Document
    from kubectl_plugin.gather.field_validation import ValidDocument
    from kubectl_plugin.reports.pod.admission import DryRunPod
    from kubectl_plugin.reports.pod.pod_report import RefusedField
    from podrules.scheduling.placement.planned_budgets import PodGroup


class PodManifest(NamedTuple):
    """A pod, or a workload with the pod that it creates next: of a file, or of the cluster."""

    entry: Any
    kind: Kind[Any]
    pod: Pod
    """The pod itself, or the pod that the workload would create, in its future namespace."""
    written: Mapping[str, Any] | None = None
    """The object as written in the file; None: it is in the cluster."""
    file: str = ""
    """The file of the manifest; empty: unknown."""
    refusals: Sequence[RefusedField] = ()
    """The values for which the API server refuses it."""
    dry_run: DryRunPod | None = None
    """The result of the API server's own dry run; None: not requested."""
    autoscaler: Autoscaler | None = None
    """The HorizontalPodAutoscaler of the files that decides about its replicas; None: none does."""

    @classmethod
    def of_workload(cls, entry: Workload | ReplicationController | CronJob, kind: Kind[Any]) -> PodManifest:
        """A workload of the cluster."""
        return cls(entry, kind, template_pod(entry, kind.kind))

    @property
    def name(self) -> str:
        """``deployment.apps/web``; ``pod/web-…`` for a pod that the API server names."""
        return printed_name(self.kind, self.entry.metadata.written_name)

    @property
    def spec_name(self) -> str:
        """``deployment/web``, as plans and budgets name the source of pods."""
        return f"{self.kind.singular}/{self.entry.metadata.written_name}"

    @property
    def replicas(self) -> int:
        """How many pods it asks for; for a Job, how many at a time."""
        if self.kind is PODS:
            return 1
        if self.job is not None:
            return self.job.at_once
        return 1 if self.entry.spec.replicas is None else int(self.entry.spec.replicas)

    @property
    def job(self) -> JobSize | None:
        """How many pods a Job, or each Job of a CronJob, creates; None: it is neither."""
        if self.kind not in (JOBS, CRON_JOBS):
            return None
        cron = self.kind is CRON_JOBS
        spec = self.entry.spec.job_template.spec if cron else self.entry.spec
        parallel = 1 if spec.parallelism is None else int(spec.parallelism)
        return JobSize(
            at_once=parallel if spec.completions is None else min(parallel, int(spec.completions)),
            completions=spec.completions,
            succeeded=0 if cron else int(self.entry.status.succeeded),
            indexed=spec.completion_mode == "Indexed",
            schedule=self.entry.spec.schedule if cron else "",
        )

    @property
    def suspended(self) -> bool:
        """Whether it is a Job or CronJob that creates no pods for now."""
        return self.kind in (JOBS, CRON_JOBS) and bool(self.entry.spec.suspend)

    @property
    def claim_templates(self) -> tuple[PersistentVolumeClaim, ...]:
        """The claim templates of a StatefulSet; other kinds have none."""
        return tuple(self.entry.spec.volume_claim_templates) if self.kind is STATEFUL_SETS else ()

    @property
    def first_ordinal(self) -> int:
        """The first ordinal of a StatefulSet's pods; 0 for others."""
        return int(self.entry.spec.ordinals.start) if self.kind is STATEFUL_SETS else 0


def read_manifests(documents: Iterable[ValidDocument], namespace: str) -> Iterator[PodManifest | ManifestError]:
    """The pods and workloads among the documents of a file, in order, and the errors of unreadable ones.

    Args:
        documents: The documents of the file.
        namespace: Of those that name none.
    """
    for document, kind, refusals in documents:
        if kind is None:
            continue
        try:
            entry = decode(document, kind)
        except ManifestError as error:
            yield error
            continue
        pod = entry if isinstance(entry, Pod) else template_pod(entry, kind.kind)
        if not pod.metadata.namespace:
            pod = replace(pod, metadata=replace(pod.metadata, namespace=namespace))
        yield PodManifest(entry, kind, pod, document.content, document.file, refusals)


def made_pods(manifests: Iterable[PodManifest]) -> Iterator[PodGroup]:
    """The pods of manifests as budgets count them; the nodes determine a DaemonSet's number."""
    # Loaded on demand.
    from podrules.scheduling.placement.controllers import controlled
    from podrules.scheduling.placement.planned_budgets import made_groups

    for manifest in manifests:
        kind, scaler = manifest.kind, manifest.autoscaler
        number = None if kind is DAEMON_SETS else manifest.replicas if scaler is None else scaler.min_replicas
        if number == 0 or manifest.refusals or manifest.suspended:
            continue
        yield from made_groups(
            manifest.spec_name,
            controlled(manifest.pod, kind.singular, manifest.entry, None).pod,
            number,
            first=manifest.first_ordinal,
            may_grow=scaler is not None and scaler.max_replicas > scaler.min_replicas,
        )


def printed_name(kind: Kind[Any], name: str) -> str:
    """``pod/web`` or ``deployment.apps/web``, as kubectl prints it."""
    return f"{kind.singular}{f'.{kind.group}' if kind.group else ''}/{name}"


def decode(document: Document, kind: Kind[Any]) -> Any:
    """A document, decoded as its kind.

    Raises:
        ManifestError: it does not have the kind's shape.
    """
    try:
        return from_object(document.content, kind.model)
    except DecodeError as error:
        # Loaded for an error.
        from kubectl_plugin.gather.field_validation import refused

        raise refused(document, error.field, str(error)) from error
