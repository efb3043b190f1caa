"""Sums and scores of pods, computed once for similar pods: a large cluster has few kinds of pods and many of each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from podrules.api.features import Features
from podrules.api.model.pod import Pod, PodQOSClass
from podrules.api.model.quantity import ZERO
from podrules.node.allocation import limited_resources
from podrules.pod.oom import OOMScoreAdj, container_oom_score_adjs
from podrules.pod.qos import get_pod_qos
from podrules.pod.resources import CPU, MEMORY, pod_limits, pod_requests, scheduler_options
from podrules.pod.versions import Versions


class CountedResources(Struct, frozen=True, rename="camel"):
    """The resources that the scheduler counts for a pod, and its class."""

    qos_class: PodQOSClass
    cpu: int
    """Thousandths."""
    memory: int
    """Bytes."""
    cpu_limit: int
    """Thousandths; 0: none."""
    memory_limit: int
    """Bytes; 0: none."""


class PodNumbers:
    """Numbers pods: pods with the same number have the same owner, and agree in every field that is read here."""

    def __init__(self) -> None:
        """Start without pods."""
        self._known: dict[tuple[str, str], list[tuple[tuple[Any, ...], int]]] = {}
        self._count = 0

    def of(self, pod: Pod) -> int:
        """The number of a pod's kind."""
        owner = pod.metadata.controller
        known = self._known.setdefault((pod.metadata.namespace, owner.uid if owner else pod.metadata.uid), [])
        # The fields that determine class, sums and oom_score_adj.
        spec, status = pod.spec, pod.status
        read = (
            spec.containers,
            spec.init_containers,
            spec.resources,
            spec.overhead,
            spec.priority,
            spec.priority_class_name,
            pod.metadata.annotations,
            pod.metadata.labels.get("k8s-app"),
            status.qos_class,
            status.resources,
            status.allocated_resources,
            tuple((one.name, one.resources, one.allocated_resources) for one in status.container_statuses),
            tuple((one.name, one.resources, one.allocated_resources) for one in status.init_container_statuses),
            tuple(entry for entry in status.conditions if entry.type.startswith("PodResize")),
        )
        # The owner only narrows the search, and equality decides: a changed pod is a kind of its own.
        for sample, number in known:
            if sample == read:
                return number
        self._count += 1
        known.append((read, self._count))
        return self._count


class SimilarPods:
    """The sums and scores of the pods of one cluster."""

    def __init__(self, versions: Versions) -> None:
        """Start without pods."""
        self._versions = versions
        self._kinds = PodNumbers()
        self._sums: dict[int, CountedResources] = {}
        self._limited: dict[int, frozenset[str]] = {}
        self._scores: dict[tuple[int, int, int], Mapping[str, OOMScoreAdj]] = {}

    def asked(self, pod: Pod) -> CountedResources:
        """A pod's requests and limits."""
        kind = self._kinds.of(pod)
        if kind not in self._sums:
            options = scheduler_options(self._versions.scheduler)
            requests, limits = pod_requests(pod, options), pod_limits(pod, options)
            self._sums[kind] = CountedResources(
                get_pod_qos(pod, features=self._versions.api_server),
                requests.get(CPU, ZERO).milli_value,
                requests.get(MEMORY, ZERO).value,
                limits.get(CPU, ZERO).milli_value,
                limits.get(MEMORY, ZERO).value,
            )
        return self._sums[kind]

    def limited(self, pod: Pod) -> frozenset[str]:
        """The resources that no part of the pod may use without a limit; see `limited_resources`."""
        kind = self._kinds.of(pod)
        if kind not in self._limited:
            self._limited[kind] = limited_resources(pod, self._versions.scheduler)
        return self._limited[kind]

    def scores(self, pod: Pod, capacity: int, *, features: Features) -> Mapping[str, OOMScoreAdj]:
        """Its containers' oom_score_adj; see `container_oom_score_adjs`."""
        key = self._kinds.of(pod), capacity, features.minor
        if key not in self._scores:
            self._scores[key] = container_oom_score_adjs(pod, capacity, features=features)
        return self._scores[key]
