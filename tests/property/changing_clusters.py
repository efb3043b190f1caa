"""A small cluster that exercises every plugin of the scheduler, and their complete results for a pod."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from msgspec.structs import replace

from podrules.api.features import REFERENCE
from podrules.api.model.decode import from_object
from podrules.api.model.node import Node
from podrules.api.model.pod import Pod
from podrules.api.model.snapshot import ClusterSnapshot
from podrules.scheduling.scheduler.cycle import FilterResult, filter_nodes, score_nodes
from podrules.scheduling.scheduler.framework.node_table import NodeTable
from tests.objects import raw_container, raw_node, raw_pod
from tests.scheduling import DEFAULT_FRAMEWORK

Json = dict[str, Any]

HOST: Final = "kubernetes.io/hostname"
ZONE: Final = "topology.kubernetes.io/zone"
REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED: Final = "preferredDuringSchedulingIgnoredDuringExecution"
DRIVER: Final = "ebs.csi.aws.com"
NAMES: Final = ("a", "b", "c", "d")


def _node(zone: str | None = "z1", *, cpu: str = "2", pods: str = "5", status: Json | None = None, **spec: Any) -> Json:
    allocatable = {"cpu": cpu, "memory": "4Gi", "ephemeral-storage": "10Gi", "pods": pods, "example.com/gpu": "1"}
    return raw_node("", {} if zone is None else {ZONE: zone}, allocatable=allocatable, status=status, **spec)


_IMAGES: Final = {"images": [{"names": ["app:v1"], "sizeBytes": 900_000_000}]}
_SHAPES: Final = (
    _node(),
    _node("z2", status=_IMAGES),
    _node("z2", cpu="8", pods="110", status={"declaredFeatures": ["RestartAllContainersOnContainerExits"]}),
    _node(None, cpu="1"),
    _node(unschedulable=True, status=_IMAGES),
    _node("z3", taints=[{"key": "k", "value": "v", "effect": "NoSchedule"}]),
    _node("z3", taints=[{"key": "k", "value": "v", "effect": "PreferNoSchedule"}]),
)


def _named(shape: Json, name: str) -> Node:
    metadata = {"name": name, "labels": {**shape["metadata"]["labels"], HOST: name}}
    return from_object({**shape, "metadata": metadata}, Node)


NODES: Final[Mapping[str, tuple[Node, ...]]] = {name: tuple(_named(shape, name) for shape in _SHAPES) for name in NAMES}
"""By name, what each of four nodes may be."""


def _app(app: str, spec: Json | None = None, *, requests: Json | None = None, **metadata: Any) -> Pod:
    named = {"namespace": "default", "labels": {"app": app}, **metadata}
    container = raw_container(requests=requests, image="app:v1")
    return from_object(raw_pod(app, metadata=named, **{"containers": [container], **(spec or {})}), Pod)


def _term(app: str, key: str, **fields: Any) -> Json:
    return {"labelSelector": {"matchLabels": {"app": app}}, "topologyKey": key, **fields}


def _weighted(weight: int, term: Json) -> Json:
    return {"weight": weight, "podAffinityTerm": term}


def _spread(when: str, key: str, app: str, **fields: Any) -> Json:
    selector = {"matchLabels": {"app": app}}
    return {"maxSkew": 1, "topologyKey": key, "whenUnsatisfiable": when, "labelSelector": selector, **fields}


def _mounting(claim: str) -> Json:
    return {"volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": claim}}]}


def _with_port(port: int) -> Json:
    return {"containers": [{"name": "app", "ports": [{"containerPort": 80, "hostPort": port}]}]}


_RESTARTING: Final = {"containers": [{"name": "app", "restartPolicyRules": [{"action": "RestartAllContainers"}]}]}

PODS: Final[tuple[Pod, ...]] = (
    _app("plain", requests={"cpu": "500m", "memory": "1Gi"}),
    _app("plain", requests={"cpu": "100m"}, deletionTimestamp="2026-01-01T00:00:00Z"),
    _app("plain", namespace="other", labels={"app": "plain", "team": "x"}),
    _app("greedy", {"priority": 10}, requests={"cpu": "1500m", "example.com/gpu": "1", "ephemeral-storage": "1Gi"}),
    _app("spread", {"topologySpreadConstraints": [_spread("DoNotSchedule", ZONE, "spread")]}),
    _app(
        "spread",
        {
            "topologySpreadConstraints": [
                _spread("ScheduleAnyway", HOST, "spread", matchLabelKeys=["app"]),
                _spread("DoNotSchedule", ZONE, "plain", minDomains=2, nodeTaintsPolicy="Honor"),
            ]
        },
    ),
    _app("served"),
    _app("alone", {"affinity": {"podAntiAffinity": {REQUIRED: [_term("alone", HOST), _term("plain", ZONE)]}}}),
    _app("alone", {"affinity": {"podAntiAffinity": {REQUIRED: [_term("plain", HOST, namespaceSelector={})]}}}),
    _app("near", {"affinity": {"podAffinity": {REQUIRED: [_term("near", ZONE)]}}}),
    _app(
        "fond",
        {
            "affinity": {
                "podAffinity": {PREFERRED: [_weighted(5, _term("plain", HOST)), _weighted(2, _term("fond", ZONE))]},
                "podAntiAffinity": {PREFERRED: [_weighted(9, _term("served", ZONE, namespaces=["default", "other"]))]},
            }
        },
        requests={"memory": "2Gi"},
    ),
    _app("ports", _with_port(8080)),
    _app("ports", _with_port(8080), namespace="other"),
    _app("disk", {"volumes": [{"name": "disk", "gcePersistentDisk": {"pdName": "shared"}}]}),
    _app("claims", _mounting("bound")),
    _app("claims", _mounting("single")),
    _app("claims", _mounting("late")),
    _app("device", {"resourceClaims": [{"name": "gpu", "resourceClaimName": "gpu"}]}),
    _app("choosy", {"nodeSelector": {ZONE: "z2"}, "tolerations": [{"operator": "Exists"}]}),
    _app("restarts", _RESTARTING),
)
"""Pods; any of them may be bound, and any may be the one to place."""


def _claim(name: str, mode: str = "ReadWriteOnce", **spec: Any) -> Json:
    metadata = {"name": name, "namespace": "default", "annotations": {"pv.kubernetes.io/bind-completed": "yes"}}
    requests = {"resources": {"requests": {"storage": "1Gi"}}}
    return {"metadata": metadata, "spec": {"accessModes": [mode], **requests, **spec}, "status": {"phase": "Bound"}}


def _volume(name: str, zone: str) -> Json:
    terms = [{"matchExpressions": [{"key": ZONE, "operator": "In", "values": [zone]}]}]
    csi = {"driver": DRIVER, "volumeHandle": name}
    return {
        "metadata": {"name": name, "labels": {ZONE: zone}},
        "spec": {
            "capacity": {"storage": "1Gi"},
            "csi": csi,
            "nodeAffinity": {"required": {"nodeSelectorTerms": terms}},
        },
    }


def _selected(zone: str) -> Json:
    return {"nodeSelectorTerms": [{"matchExpressions": [{"key": ZONE, "operator": "In", "values": [zone]}]}]}


def _csi_node(name: str) -> Json:
    return {"metadata": {"name": name}, "spec": {"drivers": [{"name": DRIVER, "allocatable": {"count": 1}}]}}


_NOMINATED: Final = replace(
    _app("nominated", {"priority": 5}, requests={"cpu": "1"}, uid="nominated"),
    status=replace(PODS[0].status, nominated_node_name="b"),
)
SNAPSHOT: Final = replace(
    from_object(
        {
            "namespaces": [{"metadata": {"name": "default"}}, {"metadata": {"name": "other", "labels": {"x": "y"}}}],
            "services": [{"metadata": {"name": "s", "namespace": "default"}, "spec": {"selector": {"app": "served"}}}],
            "persistentVolumeClaims": [
                _claim("bound", volumeName="pv-1"),
                _claim("single", "ReadWriteOncePod", volumeName="pv-2"),
                {**_claim("late", storageClassName="slow"), "metadata": {"name": "late", "namespace": "default"}},
            ],
            "persistentVolumes": [_volume("pv-1", "z1"), _volume("pv-2", "z2")],
            "storageClasses": [
                {
                    "metadata": {"name": "slow"},
                    "provisioner": DRIVER,
                    "volumeBindingMode": "WaitForFirstConsumer",
                    "allowedTopologies": [{"matchLabelExpressions": [{"key": ZONE, "values": ["z1", "z2"]}]}],
                }
            ],
            "csiNodes": [_csi_node("a"), _csi_node("b")],
            "resourceClaims": [
                {
                    "metadata": {"name": "gpu", "namespace": "default"},
                    "spec": {"devices": {"requests": [{"name": "r", "exactly": {"deviceClassName": "gpu"}}]}},
                    "status": {"allocation": {"nodeSelector": _selected("z2"), "devices": {"results": []}}},
                }
            ],
        },
        ClusterSnapshot,
    ),
    pods=(_NOMINATED,),
)
"""What else there is; one pod is nominated to node b."""


def said_of(pod: Pod, table: NodeTable) -> Json:
    """The complete result of a cycle: verdicts, reasons and values of each plugin on each node, and scores."""
    filtered = filter_nodes(pod, table, SNAPSHOT, features=REFERENCE, framework=DEFAULT_FRAMEWORK)
    said: Json = {
        "pre filter": filtered.pre_filter,
        "codes": filtered.codes.tolist(),
        "rejected": filtered.rejected,
        "message": filtered.message,
        "values": _values(filtered),
    }
    if len(filtered.feasible):
        scored = score_nodes(filtered)
        said["scores"] = {plugin: scores.tolist() for plugin, scores in scored.by_plugin.items()}
        said["totals"], said["error"] = scored.totals.tolist(), scored.error
    return said


def _values(filtered: FilterResult) -> Json:
    if not filtered.pre_filter.status.ok:
        return {}
    context, found = filtered.context, dict[str, Any]()
    for plugin in filtered.framework.filter:
        if plugin.name not in filtered.pre_filter.skipped:
            explain = getattr(plugin, "explain", None)
            state = context.states[plugin.name]
            for row in range(len(context.table)):
                status = filtered.verdict(plugin.name, row)
                found[f"{plugin.name} {row}"] = (status, explain(context, state, row) if explain else None)
    return found
