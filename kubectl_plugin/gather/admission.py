"""Pods of manifests as the API server would store them: reads the data for admission, and applies the rules."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from cluster_io.gather import Gatherer
from cluster_io.kinds import PODS, PRIORITY_CLASSES, RUNTIME_CLASSES
from kubectl_plugin.gather.manifest_objects import ManifestObjects
from kubectl_plugin.gather.manifest_pods import PodManifest
from kubectl_plugin.reports.pod.pod_report import ReviewedPod
from podrules.admission.admitted_pod import (
    AdmissionObjects,
    AdmittedPod,
    PodRefusal,
    RejectedBy,
    admit_pod,
    admitted_by_server,
)
from podrules.api.model.pod import Pod
from podrules.api.model.policy import PriorityClass
from podrules.pod.reading import NOT_ALL_IN_FILE, UnreadInput

if TYPE_CHECKING:
    from kubectl_plugin.gather.admission_rules import NamespaceReader
    from podrules.admission.admitted_pod import QuotaRoom


class Admission:
    """Reviews the pods of manifests. Data that several pods need are read once."""

    def __init__(self, gatherer: Gatherer, *, asks: bool = True) -> None:
        """Read nothing yet; ``asks``: separate requests for quotas and labels of namespaces are allowed."""
        self._gatherer = gatherer
        self._asks = asks
        self._kept_reader: NamespaceReader | None = None

    def review(
        self, manifest: PodManifest, files: ManifestObjects, *, exists: bool = False, refused: str = ""
    ) -> ReviewedPod:
        """Review a future pod.

        Args:
            manifest: The object that creates it. The API server's own dry run of that object decides.
            files: The other objects in the files.
            exists: Whether the pod exists already: a change of it is not checked against the namespace's limits.
            refused: Why its controller cannot create pods: quotas are then requested in any case.
        """
        gatherer, pod = self._gatherer, manifest.pod
        refusals, asked, runtime_class = manifest.refusals, manifest.dry_run, pod.spec.runtime_class_name
        objects = AdmissionObjects(
            priority_classes=self._classes(pod, files.classes),
            limit_ranges=self._reader.limit_ranges(pod.metadata.namespace, files),
            runtime_class=gatherer.noted(gatherer.named(RUNTIME_CLASSES, runtime_class)) if runtime_class else None,
        )
        admitted = admit_pod(pod, objects, features=gatherer.versions.api_server)
        if asked is not None and asked.pod is not None:
            return ReviewedPod(admitted_by_server(pod, asked.pod, objects), (), asked.report)
        if asked is not None and asked.report.refusal:
            return ReviewedPod(admitted, (), asked.report)
        report, namespace = None if asked is None else asked.report, pod.metadata.namespace
        if manifest.written is not None and not exists:
            meta = manifest.entry.metadata
            name = f'{manifest.kind.rbac_name} "{meta.name or meta.generate_name or "Unknown"}"'
            if (refusal := self._reader.refusal(namespace, files, name)) is not None:
                return ReviewedPod(admitted, refusals, report, refusal)
        if refusals or admitted.rejected or exists:
            return ReviewedPod(admitted, refusals, report)
        # Loaded for future pods: it needs many rules. Webhooks are called after the plugin that refuses a class.
        from kubectl_plugin.gather.admission_rules import OwnWebhook

        own = OwnWebhook(manifest, files, gatherer)
        if (filled_in := own.written(objects.priority_classes)) is not pod:
            admitted = admit_pod(filled_in, objects, features=gatherer.versions.api_server)
        refusal, warning = self._in_namespace(admitted, files, manifest.written, refused)
        denied = own.refusal(admitted.pod)
        if refusal is None or refusal.by is RejectedBy.RESOURCE_QUOTA:
            refusal = denied or refusal
        return ReviewedPod(admitted, refusals, report, refusal, warning, own.report)

    def take(self, pod: Pod, wanted: int | None) -> QuotaRoom | None:
        """Subtract the use of pods like a stored one from the quotas; returns the room of quotas that lack some.

        Without a wanted number, as many as fit are counted.
        """
        return self._reader.take(pod, wanted, self._gatherer.versions.api_server)

    @property
    def _reader(self) -> NamespaceReader:
        # Loaded for future pods: it needs many rules.
        from kubectl_plugin.gather.admission_rules import NamespaceReader

        if self._kept_reader is None:
            self._kept_reader = NamespaceReader(self._gatherer, asks=self._asks)
        return self._kept_reader

    def _in_namespace(
        self, admitted: AdmittedPod, files: ManifestObjects, written: Mapping[str, Any] | None, refused: str
    ) -> tuple[PodRefusal | None, str]:
        """Why the rules of the namespace refuse a pod, and the warnings about it."""
        from podrules.admission.pod_review import needs_content, pod_refusal, pod_warning
        from podrules.admission.pod_security.pods import pod_of
        from podrules.admission.validation.view import Rules
        from podrules.workload.made_pod import made_pod

        pod, features = admitted.pod, self._gatherer.versions.api_server
        bare = written is not None and written.get("kind") == PODS.kind
        rules = self._reader.rules(
            pod.metadata.namespace,
            files,
            admitted.objects.limit_ranges,
            quotas=bool(refused),
            of_file=written is not None,
        )
        if written is None or not needs_content(rules.policy):
            return pod_refusal(pod, None, rules, features=features, said=refused), ""
        server = Rules(features.minor)
        made = None if bare else made_pod(written)
        secured = pod_of(written if made is None else made.content, server)
        return pod_refusal(pod, secured, rules, features=features), pod_warning(pod_of(written, server), rules)

    def _classes(self, pod: Pod, from_file: Mapping[str, PriorityClass]) -> Mapping[str, PriorityClass] | None:
        """The classes that decide about a pod; None: unknown.

        A class in the cluster keeps its value (upstream: ValidatePriorityClassUpdate). Without the cluster's classes,
        a class of the file still decides about the pods that name it. The default class stays unknown.
        """
        known = self._gatherer.noted(self._gatherer.classes())
        if known is None:
            return from_file if pod.spec.priority_class_name in from_file else None
        classes = {**from_file, **known}
        if self._gatherer.source.is_plain_list and pod.spec.priority_class_name not in {"", *classes}:
            self._gatherer.noted(UnreadInput("get", PRIORITY_CLASSES.rbac_name, None, NOT_ALL_IN_FILE))
            return None
        return classes
