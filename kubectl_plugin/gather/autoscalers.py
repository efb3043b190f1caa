"""HorizontalPodAutoscalers of manifest files, and how many replicas they allow their workloads.

    minReplicas          1 when absent; fewer replicas are raised to it, without any metric
    maxReplicas          more replicas are reduced to it
    replicas: 0          of the workload: the autoscaler does not act, unless its own minimum is 0

Source: pkg/controller/podautoscaler/horizontal.go (reconcileAutoscaler) at v1.37.1.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from cluster_io.kinds import DEPLOYMENTS, REPLICA_SETS, REPLICATION_CONTROLLERS, STATEFUL_SETS
from cluster_io.manifests.files import Document
from kubectl_plugin.gather.manifest_pods import PodManifest, own_replicas
from podrules.scheduling.placement.planned import Autoscaler

AUTOSCALER: Final = "HorizontalPodAutoscaler"
_SCALED: Final = (DEPLOYMENTS, REPLICA_SETS, STATEFUL_SETS, REPLICATION_CONTROLLERS)

Autoscalers = Mapping[tuple[str, str, str], Autoscaler]
"""The autoscalers by namespace, kind and name of the workloads that they scale."""


def autoscalers_of(documents: Sequence[Document], namespace: str) -> Autoscalers:
    """The autoscalers among documents.

    Args:
        documents: Of one file.
        namespace: Of those that name none.
    """
    return dict(_read(documents, namespace))


def autoscaler_of(manifest: PodManifest, autoscalers: Autoscalers) -> Autoscaler | None:
    """The autoscaler that decides about the replicas of a manifest; None: none does."""
    if manifest.kind not in _SCALED:
        return None
    found = autoscalers.get((manifest.pod.metadata.namespace, manifest.kind.kind, manifest.entry.metadata.name))
    if found is None or (own_replicas(manifest) == 0 and found.min_replicas):
        return None
    return found


def _read(documents: Sequence[Document], namespace: str) -> Iterator[tuple[tuple[str, str, str], Autoscaler]]:
    for document in documents:
        spec = document.content.get("spec")
        target = spec.get("scaleTargetRef") if isinstance(spec, Mapping) else None
        if document.content["kind"] != AUTOSCALER or not isinstance(spec, Mapping) or not isinstance(target, Mapping):
            continue
        metadata = document.content.get("metadata")
        own: Mapping[str, Any] = metadata if isinstance(metadata, Mapping) else {}
        least, most = _number(spec.get("minReplicas"), 1), _number(spec.get("maxReplicas"), 1)
        place = str(own.get("namespace") or namespace), str(target.get("kind")), str(target.get("name"))
        yield place, Autoscaler(str(own.get("name") or ""), least, max(least, most))


def _number(value: Any, absent: int) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) else absent
