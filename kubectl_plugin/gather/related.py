"""Reads the objects that depend on a claim, a disruption budget, a quota or a priority class."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any, Final

from msgspec.structs import replace

from cluster_io import kinds
from cluster_io.gather import Gatherer
from cluster_io.kinds import Kind
from kubectl_plugin.gather.admission import Admission
from kubectl_plugin.gather.manifest_objects import NO_OBJECTS
from kubectl_plugin.gather.manifest_pods import PodManifest
from kubectl_plugin.reports.pod.pod_report import LikelyNode
from kubectl_plugin.reports.related import (
    BudgetReport,
    ClaimReport,
    ClassReport,
    QuotaReport,
    QuotaWorkload,
    RelatedPod,
    RelatedReport,
)
from kubectl_plugin.reports.workload import ReportedReason, pods_wanted
from podrules.admission.admitted_pod import QuotaRoom, QuotaShare
from podrules.admission.limits import quota_room, required_amounts, still_refused, with_pods
from podrules.api.model.pod import Pod
from podrules.api.model.policy import PodDisruptionBudget, PriorityClass, ResourceQuota, ScopeSelector
from podrules.api.model.quantity import ZERO
from podrules.api.model.snapshot import ClusterSnapshot
from podrules.api.model.storage import PersistentVolumeClaim
from podrules.api.model.workload import Workload
from podrules.api.refusals import RefusedFor, pods_short, refuser
from podrules.ending.volumes import WriterLock, attached_guard, claimed_volumes
from podrules.node.allocation import percent_of
from podrules.pod.health import kubectl_status
from podrules.pod.priority import PREEMPT_LOWER_PRIORITY, default_priority_class
from podrules.pod.reading import read_or_none
from podrules.pod.versions import version_notes
from podrules.scheduling.placement.outcome import ClaimTrouble
from podrules.workload.budget_risk import budgets_at_stake
from podrules.workload.disruption import CoveredPods, Evictions, budget_room, budgets_of, failed_sync
from podrules.workload.made_pod import template_pod

_TO_BE_MADE: Final = ClaimTrouble.WAITS_FOR_PROVISIONER
_SURE: Final = frozenset({ClaimTrouble.LOST, ClaimTrouble.BEING_DELETED, ClaimTrouble.NEEDS_SCHEDULER})
"""The resources that could not be read."""
_ATTACHED: Final = frozenset({WriterLock.ATTACHMENT, WriterLock.CONTROLLER})


class RelatedReports:
    """Makes the reports."""

    def __init__(
        self,
        gatherer: Gatherer,
        admission: Admission,
        refused: Callable[[Any, Kind[Any]], ReportedReason | None],
        place: Callable[[Pod], LikelyNode],
    ) -> None:
        """Read nothing yet. ``refused`` returns why a workload's pods are not created, ``place`` a pod's placement."""
        self._gatherer, self._admission, self._refused, self._place = gatherer, admission, refused, place

    def report(self, entry: Any, *, named: bool) -> RelatedReport:
        """The report of an object; for many objects, only lists are read from a live cluster, no events."""
        if isinstance(entry, PersistentVolumeClaim):
            return self._claim(entry, named=named)
        if isinstance(entry, PodDisruptionBudget):
            return self._budget(entry, named=named)
        return self._quota(entry) if isinstance(entry, ResourceQuota) else self._class(entry)

    def _head(self, entry: Any) -> dict[str, Any]:
        """The fields of all reports; all data are read before."""
        gatherer, meta = self._gatherer, entry.metadata
        versions = gatherer.versions
        return {
            "name": meta.name,
            "namespace": meta.namespace,
            "source": gatherer.source.description,
            "rules_version": versions.rules_version,
            "server_version": versions.server_version,
            "version_notes": version_notes(versions),
            "unread": gatherer.unread,
        }

    def _list(self, kind: Kind[Any], namespace: str | None = None) -> Any:
        return self._gatherer.noted(self._gatherer.list(kind, namespace))

    def _short(self, pod: Pod) -> RelatedPod:
        reach, node = None, pod.spec.node_name
        if node and self._list(kinds.NODES) is not None:
            reach = self._gatherer.reach(node, of_many=True)
        return RelatedPod(
            name=pod.metadata.name,
            node=node,
            status=kubectl_status(pod),
            ready=pod.is_ready,
            reach=reach if reach is not None and reach.reach.quiet else None,
        )

    def _claim(self, claim: PersistentVolumeClaim, *, named: bool) -> ClaimReport:
        # Loaded on demand: they need numpy.
        from podrules.scheduling.placement.claims import claim_problem, claimed_place
        from podrules.scheduling.placement.controllers import is_waiting
        from podrules.scheduling.scheduler.plugins.volume_binding import storage_index as storage
        from podrules.scheduling.scheduler.plugins.volume_binding.binder import ANNOTATION_SELECTED_NODE

        gatherer, meta, spec = self._gatherer, claim.metadata, claim.spec
        chosen, bound = storage.claim_class(claim), storage.is_bound(claim) or claim.status.phase == "Bound"
        wanted, has = (amounts.get(storage.STORAGE) for amounts in (spec.resources.requests, claim.status.capacity))
        pods, nodes = self._list(kinds.PODS, meta.namespace), self._list(kinds.NODES)
        read = gatherer.get if named else partial(gatherer.one_of, None, namespace=None)
        own = gatherer.noted(read(kinds.PERSISTENT_VOLUMES, spec.volume_name)) if spec.volume_name else None
        kind = read(kinds.STORAGE_CLASSES, chosen) if chosen else None
        kind = read_or_none(kind) if bound else gatherer.noted(kind)
        snapshot = ClusterSnapshot(
            nodes=tuple(nodes or ()),
            pods=tuple(pods or ()),
            persistent_volumes=(own,) if own else () if bound else tuple(self._list(kinds.PERSISTENT_VOLUMES) or ()),
            storage_classes=() if bound else tuple(self._list(kinds.STORAGE_CLASSES) or ()),
        )
        # A finished pod keeps a claim that is being deleted.
        live = (pod for pod in pods or () if meta.deletion_timestamp or not pod.finished)
        users = [pod for pod in live if any(one.claim == meta.name for one in claimed_volumes(pod))]
        resizing = (ReportedReason(one.type, one.message) for one in claim.status.conditions if one.status == "True")
        grows = bound and wanted is not None and has is not None and has < wanted
        report = ClaimReport(
            phase=claim.status.phase,
            storage_class=chosen,
            provisioner=kind.provisioner if kind is not None else "",
            waits_for_consumer=kind is not None and kind.volume_binding_mode == storage.WAIT_FOR_FIRST_CONSUMER,
            created=meta.creation_timestamp,
            access_modes=spec.access_modes,
            requested=str(wanted or ""),
            capacity=str(has or ""),
            resize=next(resizing, ReportedReason("", "")) if grows else None,
            deleted_at=meta.deletion_timestamp,
            finalizers=tuple(one for one in meta.finalizers if one != "kubernetes.io/pvc-protection"),
            problem=None,
            volume=None if own is None or nodes is None else claimed_place(claim, own, nodes),
            volume_deleted_at=None if own is None else own.metadata.deletion_timestamp,
            one_node=own is not None and attached_guard(own).lock in _ATTACHED,
            pods=None if pods is None else tuple(map(self._short, users)),
            event=self._event(claim) if named and not bound else None,
            **self._head(claim),
        )
        node = users[0].spec.node_name if users and all(pod.spec.node_name for pod in users) else ""
        problem = claim_problem(claim, snapshot, node=node)
        sure = problem is not None and (not report.lacks or problem.trouble in _SURE)
        if problem is None or not sure:
            return report
        report, waiting = replace(report, problem=problem), next((pod for pod in users if is_waiting(pod)), None)
        if not named or waiting is None or not problem.selected_node or problem.trouble is not _TO_BE_MADE:
            return report
        found = self._place(waiting).placement
        if found is None:
            return report
        places = [one for one in found.volumes if ANNOTATION_SELECTED_NODE in one.labels and not found.assumed]
        places.sort(key=lambda one: one.claim != meta.name)
        return replace(report, chosen=tuple(places), missing=found.binding.missing if found.binding is not None else "")

    def _event(self, claim: PersistentVolumeClaim) -> ReportedReason | None:
        """The newest event about it; ExternalProvisioning, which only reports a wait every 15 s, counts last."""
        meta = claim.metadata
        events = self._gatherer.events_of(kinds.PERSISTENT_VOLUME_CLAIMS.kind, meta.name, meta.namespace)
        own = [one for one in self._gatherer.noted(events) or () if one.involved_object.uid in {"", meta.uid}]
        newest = max(own, key=lambda one: (one.reason != "ExternalProvisioning", one.last or ""), default=None)
        return None if newest is None else ReportedReason(newest.reason, newest.message, newest.last)

    def _budget(self, budget: PodDisruptionBudget, *, named: bool) -> BudgetReport:
        gatherer, meta, spec = self._gatherer, budget.metadata, budget.spec
        pods, listed = self._list(kinds.PODS, meta.namespace), self._list(kinds.PDBS, meta.namespace) or ()
        budgets = [*(one for one in listed if one.metadata.name != meta.name), budget]
        own = [pod for pod in pods or () if budgets_of(pod, [budget])]
        standings = budgets_at_stake(gatherer.as_wanted(budgets, own), own).standings
        live = [pod for pod in own if not pod.finished]
        failures = (one.message for one in budget.status.conditions if one.type == "DisruptionAllowed")
        counted = budget_room(budget, list(map(self._covered, own))) if named and pods is not None else None
        failure = "" if counted is None else counted.failure
        return BudgetReport(
            min_available=spec.min_available,
            max_unavailable=spec.max_unavailable,
            unhealthy_pod_eviction_policy=spec.unhealthy_pod_eviction_policy or "IfHealthyBudget",
            standing=None if pods is None else next(one for one in standings if one.name == meta.name),
            counted=counted,
            failure=next(failures, "") if failed_sync(budget) else failure,
            others=tuple(sorted({one.metadata.name for pod in live for one in budgets_of(pod, budgets)} - {meta.name})),
            pods=tuple(replace(self._short(pod), refused=Evictions(budgets).refused(pod) or "") for pod in live),
            workloads=dict(self._selected(budget)) if not live and pods is not None else {},
            **self._head(budget),
        )

    def _selected(self, budget: PodDisruptionBudget) -> Iterator[tuple[str, int | None]]:
        """The workloads that create pods which a budget selects, and how many each wants; the most first."""
        selected = (
            (f"{kind.singular}/{entry.metadata.name}", pods_wanted(kind.kind, entry))
            for kind, entry in self._workloads(budget.metadata.namespace)
            if budgets_of(template_pod(entry, kind.kind), [budget])
        )
        yield from sorted(selected, key=lambda one: (-(one[1] or 0), one[0]))

    def _covered(self, pod: Pod) -> CoveredPods:
        """A pod as the disruption controller counts it: by its outermost controller, and the number that it wants."""
        healthy = int(pod.is_ready and pod.metadata.deletion_timestamp is None)
        owners = self._gatherer.owners(pod)
        if not owners:
            return CoveredPods("", "", 1, healthy, None)
        owner = owners[-1]
        kind = next((one for one in kinds.WORKLOADS if one.kind == owner.kind), None)
        found = None if kind is None else self._gatherer.get(kind, owner.name, pod.metadata.namespace)
        known = None if found is None else read_or_none(found)
        wanted = None if known is None else pods_wanted(owner.kind, known)
        return CoveredPods(owner.kind, f"{owner.kind}/{owner.name}", 1, healthy, wanted)

    def _quota(self, quota: ResourceQuota) -> QuotaReport:
        spec, used = quota.spec, quota.status.used
        workloads = sorted(self._counted(quota), key=lambda one: (not one.missing, one.room.pods, one.name))
        matched = (spec.scope_selector or ScopeSelector()).match_expressions
        selected = (f"{one.scope_name} {one.operator} {', '.join(one.values)}".rstrip() for one in matched)
        ranked = [
            (-percent_of(used.get(name, ZERO).milli_value, most.milli_value), name, most)
            for name, most in spec.hard.items()
        ]
        return QuotaReport(
            scopes=(*spec.scopes, *selected),
            resources=tuple(QuotaShare(name, str(used.get(name, "")), str(most)) for _, name, most in sorted(ranked)),
            behind=spec.hard != quota.status.hard or not spec.hard.keys() <= used.keys(),
            required=required_amounts(quota),
            defaults=tuple(
                one.metadata.name
                for one in self._list(kinds.LIMIT_RANGES, quota.metadata.namespace) or ()
                if any(item.type == "Container" and (item.default or item.default_request) for item in one.spec.limits)
            ),
            workloads=tuple(workloads),
            **self._head(quota),
        )

    def _counted(self, quota: ResourceQuota) -> Iterator[QuotaWorkload]:
        """The workloads with pods that the quota counts."""
        most, features = quota.status.hard, self._gatherer.versions.api_server
        every = self._list(kinds.RESOURCE_QUOTAS, quota.metadata.namespace) or ()
        for kind, entry in self._workloads(quota.metadata.namespace):
            pod = self._admission.review(PodManifest.of_workload(entry, kind), NO_OBJECTS).admitted.pod
            room = quota_room(pod, [quota], features=features)
            if room is None:
                continue
            wanted = pods_wanted(kind.kind, entry)
            missing = pods_short(kind.kind, entry, wanted) if isinstance(entry, Workload) else 0
            said = self._refused(entry, kind) if missing else None
            by = refuser(said.message) if said is not None else None
            again = still_refused(by, pod, [quota]) if by is not None and room.pods else ()
            if said is not None and by is not None and again:
                names = again if by.why is RefusedFor.QUOTA_EXCEEDED else ()
                room = QuotaRoom(pods=0, quota=by.name, resources=names, refusal=said.message)
            other = quota_room(pod, every, features=features)
            full = {} if again else with_pods(pod, missing, [quota], features=features)[0].status.used
            yield QuotaWorkload(
                name=f"{kind.singular}/{entry.metadata.name}",
                wanted=wanted,
                missing=missing,
                room=room,
                refused=said if by is not None and by.name == quota.metadata.name else None,
                needs={
                    name: str(full[name])
                    for name in room.resources or most
                    if missing and name in full and full[name] > most[name]
                },
                other=other if other is not None and other.pods < room.pods else None,
            )

    def _workloads(self, namespace: str | None) -> Iterator[tuple[Kind[Any], Any]]:
        """Workloads that no other workload creates."""
        for kind in kinds.WORKLOADS:
            found: Iterable[Any] = self._list(kind, namespace) or ()
            yield from ((kind, entry) for entry in found if entry.metadata.controller is None)

    def _class(self, entry: PriorityClass) -> ClassReport:
        name, value = entry.metadata.name, entry.value
        # Loaded on demand.
        from kubectl_plugin.gather.admission_rules import OwnWebhook

        found, classes = self._list(kinds.PODS), self._list(kinds.PRIORITY_CLASSES) or ()
        pods: list[Pod] | None = None if found is None else [pod for pod in found if not pod.finished]
        own = [pod for pod in pods or () if pod.spec.priority_class_name == name]
        earlier = [one for pod in own if (one := pod.spec.priority) is not None and one != value]
        ranked = sorted((one for one in classes if one.metadata.name != name), key=lambda one: -one.value)
        defaults = [one for one in (entry, *ranked) if one.global_default]
        first = default_priority_class(defaults)
        named: list[str] = []
        given: list[str] = []
        for kind, one in self._workloads(None):
            manifest = PodManifest.of_workload(one, kind)
            place, own_class = (
                f"{one.metadata.namespace}/{kind.singular}/{one.metadata.name}",
                manifest.pod.spec.priority_class_name,
            )
            if own_class == name:
                named.append(place)
            elif not own_class:
                pod = OwnWebhook(manifest, NO_OBJECTS, self._gatherer).written({name: entry}, spread=False)
                given += [place] if pod.spec.priority_class_name == name else []
        return ClassReport(
            value=value,
            preemption_policy=entry.preemption_policy or PREEMPT_LOWER_PRIORITY,
            pods=None if pods is None else dict(sorted(Counter(pod.metadata.namespace for pod in own).items())),
            pending=sum(not pod.spec.node_name for pod in own),
            stale=len(earlier),
            earlier=tuple(sorted(set(earlier))),
            lower=sum(bool(pod.spec.node_name) and (pod.spec.priority or 0) < value for pod in pods or ()),
            above={
                one.metadata.name: one.value
                for one in ranked
                if one.value > value and one.preemption_policy in {None, PREEMPT_LOWER_PRIORITY}
            },
            below={one.metadata.name: one.value for one in ranked if one.value < value},
            defaults=tuple(
                one.metadata.name for one in sorted(defaults, key=lambda one: (one is not first, one.value))
            ),
            workloads=tuple(named),
            given=tuple(given),
            quotas=tuple(
                f"{one.metadata.namespace}/{one.metadata.name}"
                for one in self._list(kinds.RESOURCE_QUOTAS) or ()
                for part in (one.spec.scope_selector or ScopeSelector()).match_expressions
                if part.scope_name == "PriorityClass" and name in part.values
            ),
            **self._head(entry),
        )
