"""The pods that ``kubectl qos place`` places: of manifests, more of a workload, waiting and evicted pods."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import replace

from cluster_io.errors import NotFound, UsageError
from cluster_io.gather import Gatherer
from cluster_io.kinds import CRON_JOBS, DAEMON_SETS, DEPLOYMENTS, JOBS, NODES, PODS, STATEFUL_SETS
from cluster_io.source import Source
from kubectl_plugin.gather.admission import Admission
from kubectl_plugin.gather.controllers import Controllers
from kubectl_plugin.gather.likely_node import Maker, Schedulers
from kubectl_plugin.gather.manifest_objects import ManifestObjects
from kubectl_plugin.gather.manifest_pods import (
    PodManifest,
    claim_templates,
    first_ordinal,
    job_size,
    own_replicas,
    template_pod,
)
from kubectl_plugin.gather.targets import ObjectQuery, find, targets_of
from kubectl_plugin.options import NO_SELECTION, PlaceOptions
from kubectl_plugin.reports.plan import RefusedSpec
from kubectl_plugin.reports.pod.admission import OwnWebhookReport
from podrules.admission.admitted_pod import QuotaRoom, RejectedBy
from podrules.api.model.pod import Pod, PodStatus
from podrules.api.model.storage import PersistentVolumeClaim
from podrules.api.model.workload import Workload
from podrules.scheduling.placement.claims import with_claims_of
from podrules.scheduling.placement.controllers import ControlledPod, is_waiting, own_pods, pods_there
from podrules.scheduling.placement.daemon_sets import Existing, existing_pods
from podrules.scheduling.placement.planned import Autoscaler, JobSize, Origin

if TYPE_CHECKING:
    from podrules.scheduling.scheduler.runtime import Framework


def _none(_: Sequence[Pod]) -> Sequence[Pod]:
    return ()


class PlaceableSpec(Struct, frozen=True):
    """Pods of one spec that can be placed."""

    name: str
    controlled: ControlledPod
    replicas: int | None
    framework: Framework
    first: int = 0
    claim_templates: tuple[PersistentVolumeClaim, ...] = ()
    suspended: bool = False
    there: Callable[[Sequence[Pod]], Sequence[Pod]] = _none
    """Finds its existing pods in the cluster."""
    own: Callable[[Sequence[Pod]], Sequence[Pod]] = _none
    """The same, including finished pods and pods that are being deleted."""
    origin: Origin = "manifest"
    quota: QuotaRoom | None = None
    """The quota that admits fewer pods than requested; None: none does."""
    stateful_set: Workload | None = None
    """The StatefulSet of the cluster that gets more pods."""
    ordered: bool = False
    """Whether its StatefulSet creates a pod only when the previous one is Ready."""
    job: JobSize | None = None
    autoscaler: Autoscaler | None = None
    """The autoscaler of the files that decides about its replicas; None: none does."""
    daemons: Existing | None = None
    """What happens to the existing pods of a DaemonSet; None: another kind."""

    @property
    def pod(self) -> Pod:
        """The next pod, as it will be stored."""
        return self.controlled.pod

    @property
    def first_pod(self) -> Pod:
        """The first pod with all its volumes named: it decides what must be read."""
        return with_claims_of(self.pod, self.claim_templates)[0]


class PlaceableSpecs:
    """Turns manifests, workloads and pods into specs to place, or returns why that is not possible."""

    def __init__(self, gatherer: Gatherer, schedulers: Schedulers, options: PlaceOptions) -> None:
        """Read nothing yet."""
        self._replicas = options.replicas
        self._features = gatherer.versions.scheduler
        self._admission = Admission(gatherer)
        self._schedulers = schedulers
        self._controllers = Controllers(gatherer)
        self.webhooks: list[OwnWebhookReport] = []
        """What the webhook of kubectl qos does with the pods of each spec."""

    def of_manifest(self, manifest: PodManifest, files: ManifestObjects) -> PlaceableSpec | RefusedSpec:
        """The pods of a manifest, or why it cannot have any."""
        name, namespace = manifest.spec_name, manifest.pod.metadata.namespace
        maker = Maker(manifest.kind, manifest.entry, manifest.written, manifest.refusals, manifest.asked)
        reviewed = self._admission.review(manifest.pod, maker, files)
        if reviewed.webhook is not None:
            self.webhooks.append(replace(reviewed.webhook, spec=name))
        stored = reviewed.stored
        if isinstance(stored, str):
            # An unread LimitRange may have set a value that a quota requires.
            ranges, refusal = reviewed.admitted.objects.limit_ranges, reviewed.refusal
            if refusal is not None and refusal.by is RejectedBy.NAMESPACE:
                return RefusedSpec(name, namespace, stored, True, manifest.file)
            refusals = tuple(reviewed.refusals)
            unknown = ranges is None and refusal is not None and refusal.may_be_defaulted
            return RefusedSpec(name, namespace, stored, _is_refused(manifest), manifest.file, refusals, unknown)
        framework = self._schedulers.framework(stored, self._features)
        if isinstance(framework, str):
            return RefusedSpec(name, namespace, f"not modelled: {framework}", unknown=True)
        more = manifest.written is None
        scaled = manifest.autoscaler if self._replicas is None else None
        number = self._number(1 if more else scaled.min_replicas if scaled is not None else own_replicas(manifest))
        kind, entry = manifest.kind, manifest.entry
        # The nodes determine the number of a DaemonSet's pods.
        quota = None if kind is DAEMON_SETS else self._admission.take(stored, number)
        first = first_ordinal(kind, entry)
        # Pods with lower ordinals exist, or the controller creates them first.
        if more and kind is STATEFUL_SETS:
            first += own_replicas(manifest)
        controlled = self._controllers.of(stored, kind, entry, manifest.written, framework.args)
        selector = entry.spec.selector if kind is DEPLOYMENTS else None
        return PlaceableSpec(
            name,
            controlled,
            number,
            framework,
            first,
            claim_templates(kind, entry),
            suspended=kind in (JOBS, CRON_JOBS) and entry.spec.suspend,
            there=partial(pods_there, kind.singular, manifest.pod.metadata, selector),
            own=partial(own_pods, kind.singular, manifest.pod.metadata, selector),
            origin="more" if more else "manifest",
            quota=quota,
            stateful_set=entry if more and kind is STATEFUL_SETS else None,
            ordered=kind is STATEFUL_SETS and entry.spec.pod_management_policy != "Parallel",
            job=job_size(kind, entry),
            autoscaler=scaled,
            daemons=existing_pods(entry.spec.update_strategy, more=more) if kind is DAEMON_SETS else None,
        )

    def scaled_up(self, entry: PlaceableSpec) -> PlaceableSpec | None:
        """The replicas that an autoscaler may add to a spec; None: none."""
        scaled, least = entry.autoscaler, entry.replicas
        if scaled is None or least is None or scaled.max_replicas <= least:
            return None
        number = scaled.max_replicas - least
        return replace(
            entry,
            replicas=number,
            first=entry.first + least,
            there=_none,
            origin="autoscaler",
            quota=self._admission.take(entry.pod, number),
        )

    def more(self, more: WorkloadOrPod, files: ManifestObjects) -> PlaceableSpec | RefusedSpec:
        """More pods of a workload or pod of the cluster; objects of files count for them too."""
        if isinstance(more, PodManifest):
            return self.of_manifest(more, files)
        made = self.without_node(more, "more")
        if isinstance(made, RefusedSpec):
            return made
        # The copy has its own name, and its own claims for ephemeral volumes.
        meta = replace(made.pod.metadata, name=f"{more.metadata.name}-copy", deletion_timestamp=None)
        return replace(
            made,
            controlled=ControlledPod(replace(made.pod, metadata=meta, status=PodStatus())),
            replicas=self._number(1),
            there=partial(pods_there, PODS.singular, more.metadata, None),
        )

    def without_node(self, pod: Pod, origin: Origin) -> PlaceableSpec | RefusedSpec:
        """The same pod without a node: a waiting pod, or the replacement of an evicted pod."""
        name = f"pod/{pod.metadata.name}"
        framework = self._schedulers.framework(pod, self._features)
        if isinstance(framework, str):
            return RefusedSpec(name, pod.metadata.namespace, f"not modelled: {framework}", unknown=True)
        made = replace(
            pod,
            metadata=replace(pod.metadata, uid="", deletion_timestamp=None),
            spec=replace(pod.spec, node_name=""),
            status=replace(pod.status, nominated_node_name="", resource_claim_statuses=()),
        )
        return PlaceableSpec(name, ControlledPod(made), 1, framework, origin=origin)

    def _number(self, own: int) -> int | None:
        """How many pods to place; None: as many as fit."""
        if self._replicas is None:
            return own
        return None if self._replicas == "max" else int(self._replicas)


def _is_refused(manifest: PodManifest) -> bool:
    """Whether the API server refuses the object itself; for a workload, it may refuse only the pods."""
    if manifest.asked is not None and not manifest.asked.report.unanswered:
        return bool(manifest.asked.report.verdicts[0].refusal)
    return bool(manifest.refusals)


def waiting_pods(wanted: Sequence[PlaceableSpec], pods: Sequence[Pod]) -> Sequence[Pod]:
    """Pods of the same workloads that already wait. The scheduler takes them first."""
    # The pods of a DaemonSet are placed with the DaemonSet.
    found = (pod for entry in wanted if entry.daemons is None for pod in entry.there(pods))
    return tuple({pod.metadata.place: pod for pod in found if is_waiting(pod)}.values())


# Targets of ``place``: another replica of a workload, or another pod like an existing one.

WorkloadOrPod = PodManifest | Pod
"""A workload with the pod that it would create, or a pod."""


def more_of(words: Sequence[str], source: Source, *, live: bool, replicas: int | str | None) -> Sequence[WorkloadOrPod]:
    """The named workloads and pods.

    Args:
        words: ``TYPE/NAME …``, ``TYPE NAME …``, or ``NAME …`` of pods.
        source: The source of the objects.
        live: Whether an API server answers.
        replicas: How many more pods; None: not given.

    Raises:
        UsageError: an object that needs no choice of a node, or no name.
        ClusterError: it cannot be read, or does not exist.
    """
    asked = targets_of(words, NO_SELECTION, verb="placed")
    for one in asked:
        _check_placeable(one, replicas)
    return tuple(more for one in asked for more in _found_of(one, words, source, live=live))


def _found_of(asked: ObjectQuery, words: Sequence[str], source: Source, *, live: bool) -> Sequence[WorkloadOrPod]:
    """The object of one target. A number after the names is meant as --replicas."""
    try:
        return tuple(_found(asked, source, live=live))
    except NotFound as error:
        if asked.name.isdecimal() and words[-1] == asked.name and len(words) > 1:
            raise UsageError(
                f'"{asked.name}": pass the number of pods with --replicas',
                remedy=("kubectl", "qos", "place", *words[:-1], "--replicas", asked.name, "-n", source.namespace),
            ) from error
        raise


def _check_placeable(asked: ObjectQuery, replicas: int | str | None) -> None:
    if not asked.name:
        singular = asked.kind.singular
        raise UsageError(
            f'"{asked.kind.plural}": no name', advice=f"Write {singular}/NAME: place accepts one at a time"
        )
    if asked.kind is NODES:
        raise UsageError(
            f"node/{asked.name}: a node is not placed",
            advice=f"Where its pods would go: kubectl qos place --drain {shlex.quote(f'node/{asked.name}')}",
        )
    if asked.kind is DAEMON_SETS and replicas is not None:
        raise UsageError(
            f"daemonset/{asked.name}: a DaemonSet has one pod on each node that it chooses, and cannot have more",
            advice=f"On which nodes it runs: kubectl qos place {shlex.quote(f'daemonset/{asked.name}')}",
        )


def _check_not_ended(asked: ObjectQuery, entry: Any) -> None:
    if asked.kind is JOBS and any(entry.status.is_true(word) for word in ("Complete", "Failed")):
        raise UsageError(
            f"job/{asked.name}: it has ended, and has no more pods",
            advice="Place the manifest of another Job: kubectl qos place -f FILE",
        )


def _found(asked: ObjectQuery, source: Source, *, live: bool) -> Iterator[WorkloadOrPod]:
    for entry in find(asked, NO_SELECTION, source, live=live, command="place"):
        if not isinstance(entry, Pod):
            _check_not_ended(asked, entry)
            pod = template_pod(entry, asked.kind)  # type: ignore[arg-type]
            yield PodManifest(entry, asked.kind, pod, None)
            continue
        owner = entry.metadata.controller
        if owner is not None and owner.kind in {DAEMON_SETS.kind, NODES.kind}:
            what = f"{owner.kind} {owner.name}" if owner.kind == DAEMON_SETS.kind else f"the kubelet of {owner.name}"
            raise UsageError(
                f"pod/{asked.name}: it belongs to {what}, which does not choose a node",
                advice="Name a pod or a workload that the scheduler places",
            )
        yield entry
