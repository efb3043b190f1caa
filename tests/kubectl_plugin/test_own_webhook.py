"""The webhook's configuration in a cluster says what it will write into pods to come, and which it refuses."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from tests.controlplane.client import Object
from tests.kubectl_plugin.running import Ran, run, write_cluster
from tests.objects import raw_node, raw_pod, raw_priority_class, raw_workload

NAMES: Final = "kubernetes.io/metadata.name"
ZONE: Final = {"maxSkew": 2, "topologyKey": "topology.kubernetes.io/zone", "whenUnsatisfiable": "DoNotSchedule"}
RACK: Final = {"maxSkew": 1, "topologyKey": "rack", "whenUnsatisfiable": "ScheduleAnyway"}
CLASSES: Final = (
    raw_priority_class("billing-batch", -50),
    raw_priority_class("billing-high", 9000, preemptionPolicy="Never"),
)
NODE: Final = raw_node(
    "node-1",
    {"topology.kubernetes.io/zone": "a", "rack": "r1"},
    allocatable={"cpu": "4", "memory": "8Gi", "pods": "110"},
)


def space(name: str, labels: Mapping[str, str] | None = None, annotations: Mapping[str, str] | None = None) -> Object:
    meta = {"name": name, "labels": {NAMES: name, **(labels or {})}, "annotations": dict(annotations or {})}
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": meta}


def entry(name: str, resources: Sequence[str] = ("pods",), **more: Any) -> Object:
    """An entry of the chart's configurations."""
    service = {"name": "rules", "namespace": "qos", "path": "/x", "port": 443}
    excluded = {"key": NAMES, "operator": "NotIn", "values": ["qos", "kube-system"]}
    return {
        "name": name,
        "clientConfig": {"service": service},
        "rules": [{"apiGroups": [""], "apiVersions": ["v1"], "resources": [*resources], "operations": ["CREATE"]}],
        "namespaceSelector": {"matchExpressions": [excluded]},
        "matchConditions": [{"name": "not-a-mirror-pod", "expression": "true"}],
        "failurePolicy": "Ignore",
        **more,
    }


def configuration(kind: str, *entries: Object) -> Object:
    meta = {"name": "rules.qos", "labels": {"app.kubernetes.io/name": "qos-webhook"}}
    return {"apiVersion": "admissionregistration.k8s.io/v1", "kind": kind, "metadata": meta, "webhooks": [*entries]}


def deployment(*arguments: str, ready: int = 2) -> Object:
    container = {"name": "qos-webhook", "image": "w", "args": ["--address=0.0.0.0:10250", *arguments]}
    made = raw_workload("Deployment", "rules", "qos", pod_spec={"containers": [container]})
    made["metadata"]["labels"] = {"app.kubernetes.io/name": "qos-webhook"}
    return {**made, "status": {"readyReplicas": ready, "replicas": 2}}


def installed(*arguments: str, ready: int = 2, **more: Any) -> list[Object]:
    """The webhook with these arguments, in an empty cluster of one node."""
    return [
        NODE,
        *CLASSES,
        space("qos"),
        configuration("MutatingWebhookConfiguration", entry("pods.mutate.kubectl-qos.io", **more)),
        configuration("ValidatingWebhookConfiguration", entry("pods.validate.kubectl-qos.io", **more)),
        deployment(*arguments, ready=ready),
    ]


def scheduler_config(*constraints: Object) -> Object:
    args = {"defaultingType": "List", "defaultConstraints": [*constraints]}
    content = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [{"pluginConfig": [{"name": "PodTopologySpread", "args": args}]}],
    }
    meta = {"name": "spread", "namespace": "kube-system"}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": {"c.yaml": yaml.safe_dump(content)}}


def web(namespace: str = "billing", **pod_spec: Any) -> Object:
    return raw_workload("Deployment", "web", namespace, pod_spec={**raw_pod()["spec"], **pod_spec})


def asked(folder: Path, objects: Sequence[Object], *words: str, code: int = 0) -> Any:
    """The JSON answer about a cluster that holds nothing else."""
    ran = run(*words, "--snapshot", write_cluster(folder / "cluster.qos", objects), "-o", "json")
    assert (ran.code, ran.err) == (code, ""), ran
    return json.loads(ran.out)


def page(folder: Path, objects: Sequence[Object], *words: str) -> Ran:
    ran = run(*words, "--snapshot", write_cluster(folder / "cluster.qos", objects))
    return ran._replace(out=" ".join(ran.out.split()))


@pytest.mark.parametrize(
    ("space_", "arguments"),
    [
        (space("billing", {"kubectl-qos.io/default-priority-class": "billing-batch"}), []),
        (space("billing"), ["--default-class=bill*=billing-batch"]),
        # A label that is not allowed does not count.
        (
            space("billing", {"kubectl-qos.io/default-priority-class": "billing-high"}),
            ["--default-class=billing=billing-batch", "--allowed-classes=billing=billing-batch"],
        ),
    ],
    ids=["label", "argument", "label that is not allowed"],
)
def test_default_class_of_namespace_counts(space_: Object, arguments: list[str], tmp_path: Path) -> None:
    objects = [*installed(*arguments), space_, web()]
    report = asked(tmp_path, objects, "explain", "deployment/web", "-n", "billing")["template"]
    assert (report["priority"]["className"], report["priority"]["priority"]) == ("billing-batch", -50)
    assert report["webhook"]["priorityClassName"] == "billing-batch"
    file = tmp_path / "web.yaml"
    file.write_text(yaml.safe_dump(web()))
    report = asked(tmp_path, objects, "explain", "-f", str(file))
    assert report["priority"]["priority"] == -50
    plan = asked(tmp_path, objects, "place", "-f", str(file))
    assert plan["specs"][0]["priority"] == -50
    assert plan["webhook"][0]["does"]["priorityClassName"] == "billing-batch"
    said = page(tmp_path, objects, "explain", "deployment/web", "-n", "billing").out
    assert "qos/rules will write: priorityClassName billing-batch (default class of namespace billing)" in said
