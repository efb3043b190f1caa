"""Where a workload's next pod would go by its manifest, from a cluster that is given as objects."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from cluster_io.gather import Gatherer
from cluster_io.in_memory import MemorySource
from cluster_io.kinds import find_kind
from cluster_io.manifests.files import Document
from kubectl_plugin.gather.field_validation import ValidDocument
from kubectl_plugin.gather.manifest_objects import NO_OBJECTS
from kubectl_plugin.gather.manifest_pods import PodManifest, read_manifests
from kubectl_plugin.gather.object_reports import ReportBuilder
from kubectl_plugin.options import ClusterOptions, Output
from kubectl_plugin.options.pod_commands import ExplainOptions
from podrules.scheduling.placement.outcome import Placement
from tests.controlplane.client import Object
from tests.e2e.workloads import Case
from tests.objects import raw_node

_OPTIONS: Final = ExplainOptions(
    targets=(), files=(), output=Output(), colour=False, cluster=ClusterOptions(), placement=True
)
_HASH: Final = "5f6c"


def predict(case: Case, cluster: Sequence[Object]) -> Placement:
    """The placement of the next pod of a manifest, as `kubectl qos explain -f` says it."""
    namespace = case.manifest["metadata"]["namespace"]
    source = MemorySource(cluster, description="the cluster", git_version="v1.36.3", namespace=namespace)
    kind = find_kind(case.manifest["kind"])
    (manifest,) = read_manifests([ValidDocument(Document("manifest", case.manifest), kind, ())], namespace)
    assert isinstance(manifest, PodManifest)
    placement = ReportBuilder(Gatherer(source), _OPTIONS).manifest(manifest, NO_OBJECTS).placement
    assert placement is not None
    return placement


def has_ties(case: Case, nodes: Sequence[Object]) -> bool:
    """Whether chance has a say in where a workload's pods go on nodes that are empty.

    Args:
        case: The workload.
        nodes: Arguments of `ControlPlane.create_node`.
    """
    cluster = [_node(node) for node in nodes]
    cluster += [case.service] if case.service is not None else []
    cluster.append(_owner(case))
    for number in range(case.count):
        best = predict(case, cluster).best
        if not best:
            return False
        if len(best) > 1:
            return True
        cluster.append(_pod(case, number, best[0]))
    return False


def _node(given: Object) -> Object:
    has = {"pods": "110", **given["capacity"]}
    labels = {"kubernetes.io/hostname": given["name"], **given["labels"]}
    return raw_node(given["name"], labels, allocatable=has, capacity=has, taints=given.get("taints", ()))


def _owner(case: Case) -> Object:
    """What the workload's pods belong to."""
    if case.kind != "Deployment":
        return case.manifest
    spec, name = case.manifest["spec"], case.name
    labels = spec["template"]["metadata"]["labels"] | {"pod-template-hash": _HASH}
    owner = {"apiVersion": "apps/v1", "kind": "Deployment", "name": name, "controller": True}
    metadata = {**case.manifest["metadata"], "name": f"{name}-{_HASH}", "labels": labels, "ownerReferences": [owner]}
    own = {"selector": {"matchLabels": labels}, "template": spec["template"]}
    return {"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": metadata, "spec": own}


def _pod(case: Case, number: int, node: str) -> Object:
    owner = _owner(case)
    template = case.manifest["spec"]["template"]
    more = {"pod-template-hash": _HASH} if case.kind == "Deployment" else {}
    name = owner["metadata"]["name"]
    metadata = {
        "name": f"{name}-{number}",
        "namespace": case.manifest["metadata"]["namespace"],
        "labels": template["metadata"]["labels"] | more,
        "ownerReferences": [
            {"apiVersion": owner["apiVersion"], "kind": owner["kind"], "name": name, "controller": True}
        ],
    }
    spec = {**template["spec"], "nodeName": node}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}
