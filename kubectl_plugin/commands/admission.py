"""Pods of manifests as the API server would store them: reads what admission needs, and asks the rule."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from kubectl_plugin.reports.pod.pod_report import RefusedField
from podrules.admission import AdmissionObjects, AdmittedPod, admit_pod
from podrules.cluster.gather import Gatherer
from podrules.cluster.kinds import LIMIT_RANGES, RUNTIME_CLASSES, Kind
from podrules.features import Features
from podrules.model.pod import Pod
from podrules.model.policy import PriorityClass

__all__ = ["Admission", "ReviewedPod"]


class ReviewedPod(NamedTuple):
    """A new pod after the API server's review: validation of its manifest, and admission."""

    admitted: AdmittedPod
    refusals: tuple[RefusedField, ...]
    """The refused fields of its manifest."""

    @property
    def stored(self) -> Pod | str:
        """The pod as the API server stores it, or why it refuses the pod."""
        if self.refusals:
            return f"the API server refuses {self.refusals[0]}"
        return self.admitted.rejected or self.admitted.pod


class Admission:
    """Reviews the pods of manifests. What several of them need is read once."""

    def __init__(self, gatherer: Gatherer) -> None:
        """Read nothing yet."""
        self._gatherer = gatherer

    def review(
        self,
        pod: Pod,
        kind: Kind[Any],
        entry: Any,
        written: Mapping[str, Any] | None,
        classes: Mapping[str, PriorityClass],
    ) -> ReviewedPod:
        """A pod to come, after review.

        Args:
            pod: As its author wrote it.
            kind: The kind of what makes it. Pod: the pod itself.
            entry: What makes it.
            written: Its manifest; None: it is in the cluster, and the API server has taken it.
            classes: PriorityClasses that come with it.
        """
        gatherer, runtime_class = self._gatherer, pod.spec.runtime_class_name
        objects = AdmissionObjects(
            priority_classes=self._classes(pod, classes),
            limit_ranges=gatherer.noted(gatherer.list(LIMIT_RANGES, pod.metadata.namespace)),
            runtime_class=gatherer.noted(gatherer.named(RUNTIME_CLASSES, runtime_class)) if runtime_class else None,
        )
        refusals = () if written is None else _refusals(kind, entry, written, gatherer.versions.api_server)
        return ReviewedPod(admit_pod(pod, objects, features=gatherer.versions.api_server), refusals)

    def _classes(self, pod: Pod, from_file: Mapping[str, PriorityClass]) -> Mapping[str, PriorityClass] | None:
        """The classes that decide about a pod; None: they are not known.

        A class that is in the cluster keeps its value (upstream: ValidatePriorityClassUpdate). Without the cluster's
        classes, a class of the file still decides about the pods that name it. The default class stays unknown.
        """
        known = self._gatherer.noted(self._gatherer.classes())
        if known is None:
            return from_file if pod.spec.priority_class_name in from_file else None
        return {**from_file, **known}


def _refusals(kind: Kind[Any], entry: Any, written: Mapping[str, Any], features: Features) -> tuple[RefusedField, ...]:
    """The fields for which the API server refuses a pod or workload, except numbers and the priority.

    Args:
        kind: Its kind.
        entry: The object.
        written: As it stands in its file.
        features: The rules of the API server's version.
    """
    # Loaded only for manifests.
    from podrules.checks import objects
    from podrules.checks.rules import refusals

    case = objects.pod_case(objects.Manifest(0, kind.kind, entry), written, features=features)
    found = () if case is None else refusals(case)
    return tuple(
        RefusedField(
            finding.rule.name,
            finding.field,
            str(finding),
            finding.rule.remedy,
            finding.rule.source,
            finding.rule.term,
        )
        for finding in found
    )
