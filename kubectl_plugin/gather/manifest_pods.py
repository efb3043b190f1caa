"""The pods and workloads of manifests, and the next pod that a workload would create."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from msgspec.structs import replace

from cluster_io.errors import ManifestError
from cluster_io.kinds import (
    CRON_JOBS,
    DAEMON_SETS,
    DEPLOYMENTS,
    JOBS,
    PODS,
    REPLICA_SETS,
    STATEFUL_SETS,
    Kind,
)
from podrules.api.model.base import OwnerReference
from podrules.api.model.decode import DecodeError, from_object
from podrules.api.model.pod import Pod, PodTemplateSpec
from podrules.api.model.storage import PersistentVolumeClaim
from podrules.api.model.workload import CronJob, ReplicationController, Workload
from podrules.pod.tolerations import with_daemon_tolerations
from podrules.scheduling.placement.planned import Autoscaler, JobSize

if TYPE_CHECKING:
    from cluster_io.manifests.files import Document
    from kubectl_plugin.gather.field_validation import ValidDocument
    from kubectl_plugin.reports.pod.admission import DryRunPod
    from kubectl_plugin.reports.pod.pod_report import RefusedField
    from podrules.scheduling.placement.planned_budgets import PodGroup

_MAKES_THROUGH: Final[dict[Kind[Any], Kind[Any]]] = {DEPLOYMENTS: REPLICA_SETS, CRON_JOBS: JOBS}
"""Workloads that create the owners of their pods."""


class PodManifest(NamedTuple):
    """A pod or a workload of a file."""

    entry: Any
    kind: Kind[Any]
    pod: Pod
    """The pod itself, or the pod that the workload would create, in its future namespace."""
    written: Mapping[str, Any] | None
    """The object as written in the file; None: it is in the cluster."""
    file: str = ""
    """The file of the manifest; empty: unknown."""
    refusals: Sequence[RefusedField] = ()
    """The values for which the API server refuses it."""
    asked: DryRunPod | None = None
    """The result of the API server's own dry run; None: not requested."""
    autoscaler: Autoscaler | None = None
    """The HorizontalPodAutoscaler of the files that decides about its replicas; None: none does."""

    @property
    def name(self) -> str:
        """``deployment.apps/web``; ``pod/web-…`` for a pod that the API server names."""
        return printed_name(self.kind, self.entry.metadata.written_name)

    @property
    def spec_name(self) -> str:
        """``deployment/web``, as plans and budgets name the source of pods."""
        return f"{self.kind.singular}/{self.entry.metadata.written_name}"


def read_manifests(documents: Iterable[ValidDocument], namespace: str) -> Iterator[PodManifest | ManifestError]:
    """The pods and workloads among the documents of a file, and the errors of unreadable ones.

    Args:
        documents: In order.
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
        pod = entry if isinstance(entry, Pod) else template_pod(entry, kind)
        if not pod.metadata.namespace:
            pod = replace(pod, metadata=replace(pod.metadata, namespace=namespace))
        yield PodManifest(entry, kind, pod, document.content, document.file, refusals)


def template_pod(entry: Workload | ReplicationController | CronJob, kind: Kind[Any]) -> Pod:
    """The next pod that a workload would create."""
    spec = entry.spec.job_template.spec if isinstance(entry, CronJob) else entry.spec
    template = spec.template or PodTemplateSpec()
    owner = OwnerReference(api_version=kind.api_version, kind=kind.kind, name=entry.metadata.name, controller=True)
    between = _MAKES_THROUGH.get(kind)
    if between is not None:
        # The name of the object in between is not known yet.
        owner = replace(owner, api_version=between.api_version, kind=between.kind)
    meta = replace(
        template.metadata, name=entry.metadata.name, namespace=entry.metadata.namespace, owner_references=(owner,)
    )
    made = template.spec
    if kind is DAEMON_SETS:
        tolerations = with_daemon_tolerations(made.tolerations, host_network=made.host_network)
        made = replace(made, tolerations=tolerations)
    return Pod(metadata=meta, spec=made)


def own_replicas(manifest: PodManifest) -> int:
    """How many pods a manifest asks for; for a Job, how many at a time."""
    if manifest.kind is PODS:
        return 1
    size = job_size(manifest.kind, manifest.entry)
    if size is not None:
        return size.at_once
    spec = manifest.entry.spec
    return 1 if spec.replicas is None else int(spec.replicas)


def job_size(kind: Kind[Any], entry: Any) -> JobSize | None:
    """How many pods a Job, or each Job of a CronJob, creates; None: it is neither."""
    if kind not in (JOBS, CRON_JOBS):
        return None
    spec = entry.spec.job_template.spec if kind is CRON_JOBS else entry.spec
    parallel = 1 if spec.parallelism is None else int(spec.parallelism)
    return JobSize(
        at_once=parallel if spec.completions is None else min(parallel, int(spec.completions)),
        completions=spec.completions,
        succeeded=0 if kind is CRON_JOBS else int(entry.status.succeeded),
        indexed=spec.completion_mode == "Indexed",
        schedule=entry.spec.schedule if kind is CRON_JOBS else "",
    )


def claim_templates(kind: Kind[Any], entry: Any) -> tuple[PersistentVolumeClaim, ...]:
    """The claim templates of a StatefulSet; other kinds have none."""
    templates: tuple[PersistentVolumeClaim, ...] = entry.spec.volume_claim_templates if kind is STATEFUL_SETS else ()
    return templates


def made_pods(manifests: Iterable[PodManifest]) -> Iterator[PodGroup]:
    """The pods of manifests as budgets count them; the nodes determine a DaemonSet's number."""
    # Loaded on demand.
    from podrules.scheduling.placement.controllers import controlled
    from podrules.scheduling.placement.planned_budgets import made_groups

    for manifest in manifests:
        kind, entry, scaler = manifest.kind, manifest.entry, manifest.autoscaler
        number = None if kind is DAEMON_SETS else own_replicas(manifest) if scaler is None else scaler.min_replicas
        if number == 0 or manifest.refusals or (kind in (JOBS, CRON_JOBS) and entry.spec.suspend):
            continue
        yield from made_groups(
            manifest.spec_name,
            controlled(manifest.pod, kind.singular, entry, None).pod,
            number,
            first=first_ordinal(kind, entry),
            may_grow=scaler is not None and scaler.max_replicas > scaler.min_replicas,
        )


def first_ordinal(kind: Kind[Any], entry: Any) -> int:
    """The first ordinal of a StatefulSet's pods; 0 for others."""
    return int(entry.spec.ordinals.start) if kind is STATEFUL_SETS else 0


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
