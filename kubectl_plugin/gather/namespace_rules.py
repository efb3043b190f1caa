"""Reads the rules for the pods of a namespace: LimitRanges, ResourceQuotas, and the labels for Pod Security.

Objects of the files count as after an apply: an object of the cluster gets the content of the file, and a quota keeps
its use in the cluster. A quota that is only in a file counts from 0.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from cluster_io.gather import Gatherer
from cluster_io.kinds import LIMIT_RANGES, NAMESPACES, RESOURCE_QUOTAS
from kubectl_plugin.gather.manifest_objects import ManifestObjects, applied
from podrules.admission.admitted_pod import PodRefusal, QuotaRoom, RejectedBy
from podrules.admission.limits import quota_room, with_pods
from podrules.admission.pod_review import AdmissionRules
from podrules.admission.pod_security.policy import policy_of
from podrules.api.features import Features
from podrules.api.model.base import ResourceList
from podrules.api.model.pod import Pod
from podrules.api.model.policy import LimitRange, ResourceQuota, ResourceQuotaStatus
from podrules.api.model.quantity import ZERO
from podrules.pod.reading import UnreadInput, read_or_none


class NamespaceReader:
    """Reads each namespace once, and counts the used room of its quotas."""

    def __init__(self, gatherer: Gatherer, *, asks: bool) -> None:
        """Read nothing yet.

        Args:
            gatherer: Reads the cluster.
            asks: Whether separate requests for quotas and labels are allowed.
        """
        self._gatherer = gatherer
        self._asks = asks
        self._quotas: dict[str, Sequence[ResourceQuota]] = {}
        self._asked: set[str] = set()
        """The namespaces with requested quotas."""

    def limit_ranges(self, namespace: str, objects: ManifestObjects) -> Sequence[LimitRange] | None:
        """The LimitRanges of a namespace; None: they cannot be read, and the files have none."""
        found = self._gatherer.noted(self._gatherer.list(LIMIT_RANGES, namespace))
        own = [entry for entry in objects.limit_ranges if entry.metadata.namespace == namespace]
        return found if not own else applied(found or (), own)

    def refusal(self, namespace: str, objects: ManifestObjects, name: str) -> PodRefusal | None:
        """Why a namespace takes no new object: it does not exist, or is being terminated; None: it does, or unknown.

        Source: pkg/admission/plugin/namespace/lifecycle/admission.go (Admit) of k8s.io/apiserver at v0.36.3.

        Args:
            namespace: Its name.
            objects: The objects of the files.
            name: The object to create, as ``pods "web"``.
        """
        found = self._gatherer.get(NAMESPACES, namespace)
        if found is None:
            own = (entry.metadata.name for kind, entry in objects.others if kind is NAMESPACES)
            # Every cluster has Namespaces: a file without any does not include them.
            if not self._gatherer.source.side_by_side and not read_or_none(self._gatherer.list(NAMESPACES)):
                return None
            if namespace in own:
                return None
            return PodRefusal(RejectedBy.NAMESPACE, f'namespaces "{namespace}" not found')
        if isinstance(found, UnreadInput) or found.metadata.deletion_timestamp is None:
            return None
        why = f"unable to create new content in namespace {namespace} because it is being terminated"
        return PodRefusal(RejectedBy.NAMESPACE, f"{name} is forbidden: {why}")

    def rules(
        self,
        namespace: str,
        objects: ManifestObjects,
        limit_ranges: Sequence[LimitRange] | None,
        *,
        quotas: bool,
        of_file: bool,
    ) -> AdmissionRules:
        """All rules of a namespace.

        Args:
            namespace: Its name.
            objects: The objects of the files.
            limit_ranges: The namespace's LimitRanges, as `limit_ranges` returned them.
            quotas: Whether quotas may be requested in any case.
            of_file: Whether the pod is in a file: its Namespace is then always read, and quotas decide.
        """
        read = self._gatherer.noted(self._gatherer.get(NAMESPACES, namespace)) if self._asks or of_file else None
        labels = {**({} if read is None else read.metadata.labels), **objects.labels_of(namespace)}
        asks = self._asks or quotas or of_file
        if namespace not in self._quotas or (asks and namespace not in self._asked):
            self._quotas[namespace] = self._read_quotas(namespace, objects, asks=asks)
        return AdmissionRules(limit_ranges=limit_ranges or (), quotas=self._quotas[namespace], policy=policy_of(labels))

    def take(self, pod: Pod, wanted: int | None, features: Features) -> QuotaRoom | None:
        """Subtract the use of this many pods from the quotas; returns the room if it is not enough for all.

        Args:
            pod: The pod as the API server would store it, in a namespace that was read.
            wanted: None: as many as fit.
            features: The feature gates.
        """
        namespace = pod.metadata.namespace
        quotas = self._quotas.get(namespace, ())
        room = quota_room(pod, quotas, features=features)
        if room is not None and wanted is not None and room.pods >= wanted:
            room = None
        pods = wanted if room is None else room.pods
        # Pods without a limiting quota are not counted either.
        self._quotas[namespace] = with_pods(pod, pods or 0, quotas, features=features)
        return room

    def _read_quotas(self, namespace: str, objects: ManifestObjects, *, asks: bool) -> Sequence[ResourceQuota]:
        found: Sequence[ResourceQuota] = ()
        if asks:
            self._asked.add(namespace)
            found = self._gatherer.noted(self._gatherer.list(RESOURCE_QUOTAS, namespace)) or ()
        used = {entry.metadata.name: entry.status.used for entry in found}
        own = [entry for entry in objects.quotas if entry.metadata.namespace == namespace]
        for entry in own:
            if entry.metadata.name not in used:
                reason = f"quota {entry.metadata.name} is only in the file: it counts from 0"
                self._gatherer.noted(UnreadInput("get", RESOURCE_QUOTAS.rbac_name, namespace, reason))
        return applied(found, [_counted(entry, used.get(entry.metadata.name, {})) for entry in own])


def _counted(quota: ResourceQuota, used: ResourceList) -> ResourceQuota:
    """A quota of a file as the quota controller will count it."""
    hard = quota.spec.hard
    counted = {name: used.get(name, ZERO) for name in hard}
    return replace(quota, status=ResourceQuotaStatus(hard=hard, used=counted))
