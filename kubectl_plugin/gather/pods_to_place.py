"""The pods that ``kubectl qos place`` places: of manifests, more of a workload, waiting and evicted pods."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from typing import Any

from msgspec.structs import replace

from cluster_io.errors import NotFound, UsageError
from cluster_io.gather import Gatherer
from cluster_io.kinds import DAEMON_SETS, DEPLOYMENTS, JOBS, NODES, PODS, STATEFUL_SETS
from cluster_io.source import Source
from kubectl_plugin.gather.admission import Admission
from kubectl_plugin.gather.controllers import Controllers
from kubectl_plugin.gather.likely_node import Schedulers
from kubectl_plugin.gather.manifest_objects import ManifestObjects
from kubectl_plugin.gather.manifest_pods import PodManifest
from kubectl_plugin.gather.targets import ObjectQuery, find, targets_of
from kubectl_plugin.options import NO_SELECTION
from kubectl_plugin.options.pod_commands import PlaceOptions
from kubectl_plugin.reports.plan import RefusedSpec
from kubectl_plugin.reports.pod.admission import OwnWebhookReport
from podrules.admission.admitted_pod import RejectedBy
from podrules.api.model.pod import Pod, PodStatus
from podrules.scheduling.placement.controllers import ControlledPod, OwnPods, is_waiting
from podrules.scheduling.placement.daemon_sets import existing_pods
from podrules.scheduling.placement.plan import PlacementRequest
from podrules.scheduling.placement.planned import Origin
from podrules.workload.made_pod import is_ordered


class PlacementRequests:
    """Turns manifests, workloads and pods into requests to place pods, or returns why that is not possible."""

    def __init__(self, gatherer: Gatherer, schedulers: Schedulers, options: PlaceOptions) -> None:
        """Read nothing yet."""
        self._replicas = options.replicas
        self._features = gatherer.versions.scheduler
        self._admission = Admission(gatherer)
        self._schedulers = schedulers
        self._controllers = Controllers(gatherer)
        self.webhooks: list[OwnWebhookReport] = []
        """What the webhook of kubectl qos does with the pods of each spec."""

    def of_manifest(self, manifest: PodManifest, files: ManifestObjects) -> PlacementRequest | RefusedSpec:
        """The pods of a manifest, or why it cannot have any."""
        name, kind, entry, meta = manifest.spec_name, manifest.kind, manifest.entry, manifest.pod.metadata
        reviewed = self._admission.review(manifest, files)
        if reviewed.webhook is not None:
            self.webhooks.append(replace(reviewed.webhook, spec=name))
        stored = reviewed.stored
        if isinstance(stored, str):
            # An unread LimitRange may have set a value that a quota requires.
            ranges, refusal = reviewed.admitted.objects.limit_ranges, reviewed.refusal
            if refusal is not None and refusal.by is RejectedBy.NAMESPACE:
                return RefusedSpec(name, meta.namespace, stored, True, manifest.file)
            unknown = ranges is None and refusal is not None and refusal.may_be_defaulted
            # The API server refuses the object itself; for a workload, it may refuse only the pods.
            by_api_server, dry_run = bool(manifest.refusals), manifest.dry_run
            if dry_run is not None and not dry_run.report.unanswered:
                by_api_server = bool(dry_run.report.verdicts[0].refusal)
            refusals = tuple(reviewed.refusals)
            return RefusedSpec(name, meta.namespace, stored, by_api_server, manifest.file, refusals, unknown)
        framework = self._schedulers.framework(stored, self._features)
        if isinstance(framework, str):
            return RefusedSpec(name, meta.namespace, f"not modelled: {framework}", unknown=True)
        more, stateful, daemons = manifest.written is None, kind is STATEFUL_SETS, kind is DAEMON_SETS
        scaled = manifest.autoscaler if self._replicas is None else None
        number = self._number(1 if more else scaled.min_replicas if scaled is not None else manifest.replicas)
        # The nodes determine the number of a DaemonSet's pods.
        quota = None if daemons else self._admission.take(stored, number)
        return PlacementRequest(
            name,
            self._controllers.of(stored, manifest, framework.args),
            framework,
            number,
            # Pods with lower ordinals exist, or the controller creates them first.
            first=manifest.first_ordinal + (manifest.replicas if more and stateful else 0),
            claim_templates=manifest.claim_templates,
            origin="more" if more else "manifest",
            suspended=manifest.suspended,
            quota=quota,
            stateful_set=entry if more and stateful else None,
            ordered=stateful and is_ordered(entry),
            job=manifest.job,
            autoscaler=scaled,
            existing=existing_pods(entry.spec.update_strategy, more=more) if daemons else None,
            own=OwnPods(kind.singular, meta, entry.spec.selector if kind is DEPLOYMENTS else None),
        )

    def scaled_up(self, request: PlacementRequest) -> PlacementRequest | None:
        """The replicas that an autoscaler may add to a spec; None: none."""
        scaled, least = request.autoscaler, request.replicas
        if scaled is None or least is None or scaled.max_replicas <= least:
            return None
        number = scaled.max_replicas - least
        return replace(
            request,
            replicas=number,
            first=request.first + least,
            own=None,
            origin="autoscaler",
            quota=self._admission.take(request.pod, number),
        )

    def more(self, more: WorkloadOrPod, files: ManifestObjects) -> PlacementRequest | RefusedSpec:
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
            own=OwnPods(PODS.singular, more.metadata),
        )

    def without_node(self, pod: Pod, origin: Origin) -> PlacementRequest | RefusedSpec:
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
        return PlacementRequest(name, ControlledPod(made), framework, 1, origin=origin)

    def _number(self, own: int) -> int | None:
        """How many pods to place; None: as many as fit."""
        if self._replicas is None:
            return own
        return None if self._replicas == "max" else int(self._replicas)


def waiting_pods(requests: Sequence[PlacementRequest], pods: Sequence[Pod]) -> Sequence[Pod]:
    """Pods of the same workloads that already wait. The scheduler takes them first."""
    # The pods of a DaemonSet are placed with the DaemonSet.
    own = (entry.own for entry in requests if entry.existing is None)
    found = (pod for one in own if one is not None for pod in one.staying(pods))
    return tuple({pod.metadata.place: pod for pod in found if is_waiting(pod)}.values())


WorkloadOrPod = PodManifest | Pod
"""A workload with the pod that it would create, or a pod."""


def more_of(words: Sequence[str], source: Source, *, live: bool, replicas: int | str | None) -> Sequence[WorkloadOrPod]:
    """The named workloads and pods, to place more like them.

    Args:
        words: ``TYPE/NAME …``, ``TYPE NAME …``, or ``NAME …`` of pods.
        source: The source of the objects.
        live: Whether an API server answers.
        replicas: How many more pods; None: not given.

    Raises:
        UsageError: an object that needs no choice of a node, or no name.
        ClusterError: it cannot be read, or does not exist.
    """
    queries = targets_of(words, NO_SELECTION, verb="placed")
    for query in queries:
        name, typed = query.name, f"{query.kind.singular}/{query.name}"
        if not name:
            raise UsageError(
                f'"{query.kind.plural}": no name',
                advice=f"Write {query.kind.singular}/NAME: place accepts one at a time",
            )
        if query.kind is NODES:
            raise UsageError(
                f"node/{name}: a node is not placed",
                advice=f"Where its pods would go: kubectl qos place --drain {shlex.quote(typed)}",
            )
        if query.kind is DAEMON_SETS and replicas is not None:
            raise UsageError(
                f"daemonset/{name}: a DaemonSet has one pod on each node that it chooses, and cannot have more",
                advice=f"On which nodes it runs: kubectl qos place {shlex.quote(typed)}",
            )
    found: list[WorkloadOrPod] = []
    for query in queries:
        try:
            found += _found(query, source, live=live)
        except NotFound as error:
            # A number after the names is meant as --replicas.
            if query.name.isdecimal() and words[-1] == query.name and len(words) > 1:
                raise UsageError(
                    f'"{query.name}": pass the number of pods with --replicas',
                    remedy=("kubectl", "qos", "place", *words[:-1], "--replicas", query.name, "-n", source.namespace),
                ) from error
            raise
    return found


def _found(query: ObjectQuery, source: Source, *, live: bool) -> Iterator[WorkloadOrPod]:
    for entry in find(query, NO_SELECTION, source, live=live, command="place"):
        if not isinstance(entry, Pod):
            workload: Any = entry
            if query.kind is JOBS and any(workload.status.is_true(word) for word in ("Complete", "Failed")):
                raise UsageError(
                    f"job/{query.name}: it has ended, and has no more pods",
                    advice="Place the manifest of another Job: kubectl qos place -f FILE",
                )
            yield PodManifest.of_workload(workload, query.kind)
            continue
        owner = entry.metadata.controller
        if owner is not None and owner.kind in {DAEMON_SETS.kind, NODES.kind}:
            what = f"{owner.kind} {owner.name}" if owner.kind == DAEMON_SETS.kind else f"the kubelet of {owner.name}"
            raise UsageError(
                f"pod/{query.name}: it belongs to {what}, which does not choose a node",
                advice="Name a pod or a workload that the scheduler places",
            )
        yield entry
