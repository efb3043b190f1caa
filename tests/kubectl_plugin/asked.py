"""The requests that commands send to a source, and the changes they make, by RBAC resource."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import IO, Any, Final, TypeVar

import pytest

from cluster_io.demo import DEMO_NOW, DEMO_VERSION, demo_kubelets, demo_objects
from cluster_io.errors import Forbidden
from cluster_io.in_memory import MemorySource
from cluster_io.kinds import NODE_PROXIES, WORKLOADS, Kind
from cluster_io.kubelet import KubeletEndpoint
from cluster_io.live.responses import ChangeAnswer
from cluster_io.live.transport import ProxySettings
from cluster_io.source import Source
from kubectl_plugin import changes as changing
from kubectl_plugin import cli
from kubectl_plugin.completion import answer
from kubectl_plugin.gather import dry_run
from kubectl_plugin.options import ClusterOptions
from kubectl_plugin.reports.rights import ASKED
from podrules.api.model.base import KubeObject, Model
from tests.kubectl_plugin.running import run
from tests.objects import raw_condition, raw_container, raw_node, raw_object, raw_owner, raw_pod
from tests.tree import ROOT

T = TypeVar("T", bound=KubeObject)
M = TypeVar("M", bound=Model)


Request = tuple[str, str, bool]
"""Verb, resource, and whether the resource is namespaced."""
_GPU: Final = "example.com/gpu"
_TERM: Final = {
    "topologyKey": "zone",
    "labelSelector": {"matchLabels": {"app": "x"}},
    "namespaceSelector": {"matchLabels": {"team": "a"}},
}
_RARE: Final[Mapping[str, Any]] = {
    "containers": [raw_container(requests={"cpu": "1", _GPU: "1"}, limits={_GPU: "1"})],
    "runtimeClassName": "sandbox",
    "resourceClaims": [{"name": "gpu", "resourceClaimTemplateName": "gpus"}],
    "volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "unbound"}}],
    "affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [_TERM]}},
}
"""A pod for which the scheduler has to read many kinds."""
MANIFEST: Final = json.dumps(
    {
        "apiVersion": "v1",
        "kind": "List",
        "items": [
            raw_pod("rare", "shop", labels={"app": "rare"}, **_RARE),
            raw_pod("refused", "shop", priorityClassName="batch-low"),
        ],
    }
)
_CREATED: Final = "2026-10-17T02:10:00Z"
_ENDED: Final = {"startedAt": _CREATED, "finishedAt": "2026-10-17T03:05:00Z", "exitCode": 137, "reason": "OOMKilled"}
_KILLED: Final = {
    "phase": "Running",
    "containerStatuses": [
        {"name": "app", "restartCount": 1, "state": {"waiting": {}}, "lastState": {"terminated": _ENDED}}
    ],
}


def _owned(kind: Kind[Any]) -> Mapping[str, Any]:
    """A pod with a deleted controller; its container was killed a few minutes ago."""
    owner = raw_owner(kind.kind, "gone", apiVersion=kind.api_version, uid="gone")
    metadata = {"creationTimestamp": _CREATED, "ownerReferences": [owner]}
    name = f"of-{kind.singular}"
    return raw_pod(name, "shop", uid=name, metadata=metadata, nodeName="node-a1", status=_KILLED)


def _held(kind: str, owner: str) -> Mapping[str, Any]:
    """A pod on a cordoned node, with a budget that allows no eviction."""
    metadata = {"creationTimestamp": _CREATED, "ownerReferences": [raw_owner(kind, owner, uid=owner)]}
    status = {"phase": "Running", "conditions": [raw_condition("Ready")]}
    name, labels = f"held-{kind.lower()}", {"is": "held"}
    return raw_pod(name, "shop", uid=name, labels=labels, metadata=metadata, nodeName="cordoned", status=status)


def _limited(config_map: Mapping[str, Any]) -> Mapping[str, Any]:
    """The webhook's configuration, which allows one PriorityClass in a namespace."""
    text: str = config_map["data"]["config.yaml"]
    allowed = text.replace("priorityClasses:\n", "priorityClasses:\n  allowed: {shop: [shop-low]}\n")
    return {**config_map, "data": {"config.yaml": allowed}}


_ADDED: Final = (
    raw_pod("rare-0", "shop", uid="rare", labels={"app": "rare"}, metadata={"creationTimestamp": _CREATED}, **_RARE),
    raw_pod("waits", "shop", uid="waits", metadata={"creationTimestamp": _CREATED}),
    raw_pod(
        "elsewhere",
        "data",
        uid="elsewhere",
        metadata={"creationTimestamp": _CREATED},
        nodeName="node-a1",
        volumes=[{"name": "data", "persistentVolumeClaim": {"claimName": "data-postgres-0"}}],
    ),
    *map(_owned, WORKLOADS),
    raw_node("cordoned", conditions=[raw_condition("Ready")], unschedulable=True),
    _held("ReplicaSet", "checkout-mv9cgvs6p"),
    _held("StatefulSet", "db"),
    _held("ReplicationController", "gone"),
    raw_object(
        "PodDisruptionBudget",
        "held",
        "shop",
        spec={"minAvailable": 3, "selector": {"matchLabels": {"is": "held"}}},
        status={"desiredHealthy": 3, "currentHealthy": 3, "expectedPods": 3, "disruptionsAllowed": 0},
    ),
    raw_node(
        "fenced",
        conditions=[raw_condition("Ready")],
        taints=[{"key": "node.kubernetes.io/out-of-service", "value": "nodeshutdown", "effect": "NoExecute"}],
    ),
    raw_object("ResourceQuota", "all", "shop") | {"spec": {}},
    raw_object("NodeMetrics", "node-b4", timestamp=_CREATED, window="30s", usage={"cpu": "1", "memory": "1Gi"}),
    raw_object("DeviceClass", "gpu", spec={"extendedResourceName": _GPU}),
)
_PODS: Final = (
    *(f"of-{kind.singular}" for kind in WORKLOADS),
    "rare-0",
    "waits",
    "db-1",
    "price-feed",
    "checkout-mv9cgvs6p-x2x7p",
    "image-resizer-t7fpjd79c-t6pxj",
)
_TYPES: Final = [kind.plural for kind in WORKLOADS]
COMMANDS: Final[Mapping[str, Sequence[str]]] = {
    "explain": [
        *(f"pod/{name} -n shop {more}" for name in _PODS for more in ("", "--placement", "--timeline")),
        *(f"{kind} -A" for kind in ("pods", "nodes", *_TYPES)),
        *("deployment/web -n shop", "statefulset/db -n shop", "job/nightly-index -n batch", "job/trainer -n ml"),
        *("cronjob/nightly-report -n batch", "daemonset/log-agent -n monitoring", "node/node-c3", "node/node-a1"),
        *(f"{kind} -A" for kind in ("pvc", "pdb", "quota")),
        *(
            "pvc/data-db-0 -n shop",
            "pdb/cart -n shop",
            "pdb/held -n shop",
            "pod/held-replicaset -n shop",
            "quota/all -n shop",
            "pc/shop-high",
            "pc",
        ),
        *("pod/embed-n6d8t -n ml", "-f -", "-f - --dry-run=server", "-f - --placement"),
    ],
    "died": [
        "-A",
        *(f"pod/{name} -n shop" for name in (*_PODS, "gone")),
        *(f"{kind}/x -n shop" for kind in _TYPES),
        *("job/nightly-index -n batch", "node/node-a1", "cronjob/nightly-report -n batch"),
    ],
    "place": [
        *(
            "--drain node-a1",
            "--drain node-c1",
            "--drain cordoned",
            "-f -",
            "-f - --replicas max",
            "-f - --dry-run=server",
        ),
        *(f"pod/{name} -n shop" for name in _PODS if name != "of-daemonset"),
        *(
            "deployment/web -n shop --replicas 9",
            "statefulset/db -n shop --replicas 3",
            "cronjob/nightly-report -n batch",
        ),
        *("daemonset/log-agent -n monitoring", "job/trainer -n ml", "replicationcontroller/gone -n shop"),
    ],
    "node": ["", "cordoned", *(f"node-{name}" for name in ("a1", "a2", "c1", "c3", "b4"))],
    "report": ["-A", "-n shop", "-A -o -", "pod/rare-0 -n shop", "node/node-a1"],
    "snapshot": ["-o FILE"],
    "versions": ["", "--to 1.37", "--to 1.37 -n shop"],
    "partitions": ["", "-o wide"],
    "delete": [
        *("pod/db-1 -n shop --grace-period=0 --confirm --timeout 1ms", "pod/price-feed -n shop --timeout 1ms"),
        *(f"pod/held-{kind} -n shop --grace-period=0" for kind in ("replicaset", "replicationcontroller")),
        *("pod/db-0 -n shop --grace-period=0", "pod/elsewhere -n data --grace-period=0"),
    ],
    "fence": ["node/node-c3 --confirm-powered-off --timeout 1ms", "node/node-a1"],
    "unfence": ["node/node-c3", "node/fenced --confirm"],
}
"""The arguments of each command."""
_OF_WEBHOOK: Final = {"Deployment", "ConfigMap", "MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"}
_WEBHOOK: Final = tuple(
    _limited(one) if one["metadata"]["name"] == "qos-webhook-config" else one
    for one in json.loads((ROOT / "tests/testdata/manifests/cluster-with-webhook.json").read_text())["items"]
    if one["kind"] in _OF_WEBHOOK and one["metadata"]["name"].startswith(("qos-webhook", "kube-scheduler"))
)
"""The objects of the project's webhook."""


def _is_scheduler(entry: Mapping[str, Any]) -> bool:
    """Whether the object shows the scheduler's version, so that commands read it."""
    return bool(entry["kind"] == "Pod" and entry["metadata"]["name"].startswith("kube-scheduler"))


class _Asked(MemorySource):
    """The demo cluster with further objects, as a live cluster."""

    side_by_side = True
    forbidden = ""
    """The resource that may not be read."""

    def __init__(self, asked: set[Request], more: Sequence[Mapping[str, Any]]) -> None:
        super().__init__(
            [*more, *(one for one in demo_objects() if not _is_scheduler(one)), *_ADDED],
            description="the cluster",
            now=datetime.fromisoformat(DEMO_NOW),
            git_version=DEMO_VERSION,
            kubelets=demo_kubelets(),
        )
        self._asked = asked

    def get(self, kind: Kind[T], *given: Any, **named: Any) -> T:
        """See `Source.get`."""
        self._ask("get", kind)
        return super().get(kind, *given, **named)

    def list(self, kind: Kind[T], *given: Any, **named: Any) -> Sequence[T]:
        """See `Source.list`."""
        self._ask("list", kind)
        return super().list(kind, *given, **named)

    def names(self, kind: Kind[Any], namespace: str | None) -> Sequence[str]:
        """See `Source.names`."""
        self._ask("list", kind)
        return super().names(kind, namespace)

    def kubelet(self, node: str, endpoint: KubeletEndpoint[M]) -> M:
        """See `Source.kubelet`."""
        self._ask("get", NODE_PROXIES)
        return super().kubelet(node, endpoint)

    def _ask(self, verb: str, kind: Kind[Any]) -> None:
        self._asked.add((verb, kind.rbac_name, kind.namespaced))
        if kind.rbac_name == self.forbidden:
            raise Forbidden(verb, kind, None, "")


class _Changes:
    """Accepts changes; the first deletion requires a confirmation, which is a patch."""

    def __init__(self, asked: set[Request]) -> None:
        self._asked = asked

    def send(self, method: str, path: str, body: bytes, content_type: str = "application/json") -> ChangeAnswer:
        """See `cluster_io.writer.Sender.send`."""
        del content_type
        kind = path.partition("?")[0].split("/")[-2]
        if method == "POST":
            # A webhook adds a label to created objects.
            sent = json.loads(body)
            stored = {**sent, "metadata": {**sent.get("metadata", {}), "labels": {"added": "yes"}}}
            stored |= {"status": {"allowed": True}} if "Review" in sent["kind"] else {}
            return ChangeAnswer(201, json.dumps(stored).encode(), ())
        verb, namespaced = method.lower(), "/namespaces/" in path
        asks = (
            method == "DELETE" and ("patch", kind, namespaced) not in self._asked and b'"gracePeriodSeconds": 0' in body
        )
        self._asked.add((verb, kind, namespaced))
        if asks:
            why = 'admission webhook "x" denied the request: annotate kubectl-qos.io/confirm-force-delete'
            return ChangeAnswer(403, json.dumps({"kind": "Status", "message": why, "code": 403}).encode(), ())
        return ChangeAnswer(200, b"{}", ())


def asked_by(command: str, folder: Path) -> set[Request]:
    """All requests of a command, including its completion."""
    asked: set[Request] = set()
    # Without the webhook, policies may write the fields instead.
    worlds = [_Asked(asked, ()), _Asked(asked, _WEBHOOK)]
    world = worlds[0]

    @contextlib.contextmanager
    def source_of(cluster: ClusterOptions, _err: IO[str]) -> Iterator[Source]:
        world.namespace = cluster.namespace or "default"
        yield world

    def connect(_cluster: ClusterOptions, _settings: ProxySettings) -> contextlib.nullcontext[_Changes]:
        return contextlib.nullcontext(_Changes(asked))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cli, "source_of", source_of)
        for module in (changing, dry_run):
            patch.setattr(module, "connect_for_changes", connect)
        patch.chdir(folder)
        for words in COMMANDS[command]:
            for world in worlds if "-f -" in words else worlds[:1]:  # noqa: B007  # the source is it
                ran = run(command, *words.split(), stdin=MANIFEST)
                assert ran.code not in {1, 2}, (command, words, ran)
        for before, current in (("", "pod/"), ("", "node/"), ("", "x"), ("-n", ""), ("", "sts/"), ("", "ds/")):
            answer([command, *filter(None, [before])], current)
    return asked


def missed(resource: str, folder: Path) -> bool:
    """Whether a command reports that it may not read a resource."""
    world = _Asked(set(), _WEBHOOK)
    world.forbidden = resource
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cli, "source_of", lambda *_: contextlib.nullcontext(world))
        patch.chdir(folder)
        for words in ("snapshot -o FILE", "node node-a1", "place -f - -n shop"):
            ran = run(*words.split(), stdin=MANIFEST)
            said = ran.out + ran.err
            if resource in said and ("forbidden" in said or "may not" in said):
                return True
    return False


def rights_of(command: str) -> set[str]:
    """The resources that a command may read by its role, and with --scheduler-config."""
    asked = ASKED.get(command)
    return set() if asked is None else {*asked.cluster, *asked.namespaced, "configmaps"}
