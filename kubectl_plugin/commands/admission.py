"""Pods of manifests as the API server would store them: reads what admission needs, and asks the rule."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from kubectl_plugin.reports.pod.pod_report import RefusedField
from podrules.admission import AdmissionObjects, AdmittedPod, admit_pod
from podrules.cluster.gather import Gatherer
from podrules.cluster.kinds import LIMIT_RANGES, RUNTIME_CLASSES
from podrules.model.pod import Pod
from podrules.model.policy import PriorityClass

__all__ = ["Admission", "ReviewedPod"]


class ReviewedPod(NamedTuple):
    """A new pod after the API server's review: validation of its manifest, and admission."""

    admitted: AdmittedPod
    refusals: Sequence[RefusedField]
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
        refusals: Sequence[RefusedField],
        classes: Mapping[str, PriorityClass],
    ) -> ReviewedPod:
        """A pod to come, after review.

        Args:
            pod: As its author wrote it.
            refusals: The values for which the API server refuses its manifest; none of what is in the cluster.
            classes: PriorityClasses that come with it.
        """
        gatherer, runtime_class = self._gatherer, pod.spec.runtime_class_name
        objects = AdmissionObjects(
            priority_classes=self._classes(pod, classes),
            limit_ranges=gatherer.noted(gatherer.list(LIMIT_RANGES, pod.metadata.namespace)),
            runtime_class=gatherer.noted(gatherer.named(RUNTIME_CLASSES, runtime_class)) if runtime_class else None,
        )
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
