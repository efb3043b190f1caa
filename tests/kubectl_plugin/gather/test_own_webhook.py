"""The webhook's configuration in a cluster shows what it writes into new pods, and which pods it refuses."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from cluster_io.gather import Gatherer
from cluster_io.in_memory import MemorySource
from cluster_io.kinds import PODS
from cluster_io.live.responses import ChangeAnswer
from cluster_io.manifests.files import Document
from kubectl_plugin.gather import dry_run
from kubectl_plugin.gather.field_validation import ValidDocument
from kubectl_plugin.gather.manifest_pods import PodManifest, read_manifests
from kubectl_plugin.options import ClusterOptions, Validation
from podrules.admission.admitted_pod import AdmissionObjects, admitted_by_server
from podrules.admission.mutating_webhooks import CONFIG_ARGUMENT
from podrules.api.model.decode import from_object
from podrules.api.model.policy import PriorityClass
from tests.controlplane.client import Object
from tests.kubectl_plugin.running import Ran, run, write_cluster
from tests.objects import raw_node, raw_pod, raw_priority_class, raw_service_account, raw_workload

NAMES: Final = "kubernetes.io/metadata.name"
ZONE: Final = {"maxSkew": 2, "topologyKey": "topology.kubernetes.io/zone", "whenUnsatisfiable": "DoNotSchedule"}
RACK: Final = {"maxSkew": 1, "topologyKey": "rack", "whenUnsatisfiable": "ScheduleAnyway"}
DEFAULT: Final = {"priorityClasses": {"defaults": {"billing": "billing-batch"}}}
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
        "clientConfig": {"service": service, "caBundle": "Q0E="},
        "rules": [{"apiGroups": [""], "apiVersions": ["v1"], "resources": [*resources], "operations": ["CREATE"]}],
        "namespaceSelector": {"matchExpressions": [excluded]},
        "matchConditions": [{"name": "not-a-mirror-pod", "expression": "true"}],
        "failurePolicy": "Ignore",
        **more,
    }


def configuration(kind: str, *entries: Object) -> Object:
    meta = {"name": "rules.qos", "labels": {"app.kubernetes.io/name": "qos-webhook"}}
    return {"apiVersion": "admissionregistration.k8s.io/v1", "kind": kind, "metadata": meta, "webhooks": [*entries]}


def deployment(ready: int = 2) -> Object:
    container = {"name": "qos-webhook", "image": "w", "args": [CONFIG_ARGUMENT]}
    volumes = [{"name": "tmp", "emptyDir": {}}, {"name": "config", "configMap": {"name": "rules-config"}}]
    made = raw_workload("Deployment", "rules", "qos", pod_spec={"containers": [container], "volumes": volumes})
    made["metadata"]["labels"] = {"app.kubernetes.io/name": "qos-webhook"}
    return {**made, "status": {"readyReplicas": ready, "replicas": 2}}


def config_map(keys: Mapping[str, Any] | str) -> Object:
    """The ConfigMap with the configuration file, by its keys or as text."""
    content = {"apiVersion": "kubectl-qos.io/v1", "kind": "QosWebhookConfiguration", "drainSeconds": 5}
    text = keys if isinstance(keys, str) else yaml.safe_dump({**content, **keys})
    meta = {"name": "rules-config", "namespace": "qos"}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": {"config.yaml": text}}


def installed(keys: Mapping[str, Any] | str = {}, *, ready: int = 2, **more: Any) -> list[Object]:  # it is not changed
    """The webhook with these keys in its file, in an empty cluster of one node."""
    return [
        NODE,
        *CLASSES,
        space("qos"),
        configuration("MutatingWebhookConfiguration", entry("pods.mutate.kubectl-qos.io", **more)),
        configuration("ValidatingWebhookConfiguration", entry("pods.validate.kubectl-qos.io", **more)),
        deployment(ready),
        config_map(keys),
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
    """The JSON answer about a cluster that has no other objects."""
    ran = run(*words, "--snapshot", write_cluster(folder / "cluster.qos", objects), "-o", "json")
    assert (ran.code, ran.err) == (code, ""), ran
    return json.loads(ran.out)


def page(folder: Path, objects: Sequence[Object], *words: str) -> Ran:
    ran = run(*words, "--snapshot", write_cluster(folder / "cluster.qos", objects))
    return ran._replace(out=" ".join(ran.out.split()))


@pytest.mark.parametrize(
    ("space_", "classes"),
    [
        (space("billing", {"kubectl-qos.io/default-priority-class": "billing-batch"}), {}),
        (space("billing"), {"defaults": {"bill*": "billing-batch"}}),
        # A label with a class that is not allowed does not count.
        (
            space("billing", {"kubectl-qos.io/default-priority-class": "billing-high"}),
            {"defaults": {"billing": "billing-batch"}, "allowed": {"billing": ["billing-batch"]}},
        ),
    ],
    ids=["label", "argument", "label that is not allowed"],
)
def test_default_class_of_namespace_counts(space_: Object, classes: Object, tmp_path: Path) -> None:
    objects = [*installed({"priorityClasses": classes}), space_, web()]
    report = asked(tmp_path, objects, "explain", "deployment/web", "-n", "billing")["template"]
    assert (report["priority"]["className"], report["priority"]["priority"]) == ("billing-batch", -50)
    assert report["webhook"]["priorityClassName"] == "billing-batch"
    file = tmp_path / "web.yaml"
    file.write_text(yaml.safe_dump(web()))
    report = asked(tmp_path, objects, "explain", "-f", str(file))
    assert report["priority"]["priority"] == -50
    plan = asked(tmp_path, objects, "place", "-f", str(file))
    assert plan["specs"][0]["priority"] == -50
    assert plan["webhook"][0]["priorityClassName"] == "billing-batch"
    said = page(tmp_path, objects, "explain", "deployment/web", "-n", "billing").out
    assert "qos/rules will write: priorityClassName billing-batch (default class of namespace billing)" in said


SPREAD: Final = {"namespace": "kube-system", "name": "spread"}
SPREADING: Final = (
    *installed({"clusterDefaultConstraints": {"configMap": SPREAD, "namespaces": {"flat*": []}}}),
    scheduler_config(ZONE, RACK),
)
SERVICE: Final = {
    "apiVersion": "v1",
    "kind": "Service",
    "metadata": {"name": "web", "namespace": "billing"},
    "spec": {"selector": {"app": "web"}},
}
ANNOTATION: Final = "kubectl-qos.io/default-topology-spread-constraints"


def keys(report: Mapping[str, Any]) -> list[str]:
    found = report["webhook"] or {"topologySpreadConstraints": []}
    return [one["topologyKey"] for one in found["topologySpreadConstraints"]]


def written(folder: Path, *objects: Object) -> str:
    file = folder / "written.yaml"
    file.write_text(yaml.safe_dump_all(objects))
    return str(file)


@pytest.mark.parametrize(
    ("space_", "kind", "expected"),
    [
        (space("billing"), "Deployment", ["topology.kubernetes.io/zone", "rack"]),
        (space("billing"), "StatefulSet", ["topology.kubernetes.io/zone", "rack"]),
        # A Job is not counted as a controller, and there is no Service.
        (space("billing"), "Job", []),
        (space("billing", annotations={ANNOTATION: json.dumps([RACK])}), "Deployment", ["rack"]),
        (space("billing", {"kubectl-qos.io/topology-spread": "disabled"}), "Deployment", []),
        (space("flat-1"), "Deployment", []),
        (space("kube-system"), "Deployment", []),
    ],
)
def test_default_constraints(space_: Object, kind: str, expected: list[str], tmp_path: Path) -> None:
    namespace = space_["metadata"]["name"]
    more: dict[str, Any] = {"serviceName": "web"} if kind == "StatefulSet" else {}
    workload = raw_workload(kind, "web", namespace, **more)
    objects = [*SPREADING, space_, workload]
    assert keys(asked(tmp_path, objects, "explain", "-f", written(tmp_path, workload))) == expected
    assert keys(asked(tmp_path, objects, "explain", f"{kind}/web", "-n", namespace)["template"]) == expected


def test_namespace_and_service_of_the_file_count(tmp_path: Path) -> None:
    job = raw_workload("Job", "web", "billing")
    file = written(tmp_path, space("billing", annotations={ANNOTATION: json.dumps([RACK])}), SERVICE, job)
    assert keys(asked(tmp_path, SPREADING, "explain", "-f", file)) == ["rack"]


def test_written_constraints_decide_about_the_place(tmp_path: Path) -> None:
    other = raw_node("node-2", {"topology.kubernetes.io/zone": "b"}, allocatable=NODE["status"]["allocatable"])
    full = {**other, "spec": {"unschedulable": True}}
    objects = [*SPREADING, full, space("billing")]
    plan = asked(tmp_path, objects, "place", "-f", written(tmp_path, web()), "--replicas=3", code=7)
    assert plan["specs"][0]["placed"] == 2, "maxSkew 2 with none in zone b"
    own = web(topologySpreadConstraints=[{**RACK, "labelSelector": {"matchLabels": {"app": "web"}}}])
    plan = asked(tmp_path, objects, "place", "-f", written(tmp_path, own), "--replicas=3")
    assert plan["specs"][0]["placed"] == 3


def test_stored_pods_keep_their_values(tmp_path: Path) -> None:
    pod = raw_pod("old", "billing", nodeName="node-1", priority=0)
    objects = [*installed(DEFAULT), space("billing"), pod]
    report = asked(tmp_path, objects, "explain", "pod/old", "-n", "billing")
    assert (report["priority"]["priority"], report["webhook"]) == (0, None)


@pytest.mark.parametrize(
    ("mode", "pod_spec", "refused"),
    [("deny", {"priorityClassName": "billing-high"}, True), ("warn", {"priorityClassName": "billing-high"}, False)],
)
def test_disallowed_class(mode: str, pod_spec: Mapping[str, Any], refused: bool, tmp_path: Path) -> None:
    objects = [
        *installed({"priorityClasses": {"allowed": {"billing": ["billing-batch"]}, "disallowed": mode}}),
        space("billing"),
    ]
    problem = "PriorityClass billing-high is not allowed in namespace billing (allowed: billing-batch)"
    file = written(tmp_path, web(**pod_spec))
    report = asked(tmp_path, objects, "explain", "-f", file, code=6 if refused else 0)
    if refused:
        denied = 'admission webhook "pods.validate.kubectl-qos.io" denied the request: pods "web" is forbidden: '
        assert (report["refusal"]["by"], report["refusal"]["message"]) == ("Webhook", denied + problem)
        plan = asked(tmp_path, objects, "place", "-f", file, code=7)
        assert plan["refused"][0]["reason"] == denied + problem
    else:
        assert report["webhook"]["warnings"] == [f"spec.priorityClassName: {problem}"]


def test_default_class_that_does_not_exist(tmp_path: Path) -> None:
    objects = [*installed({"priorityClasses": {"defaults": {"billing": "gone"}}}), space("billing")]
    report = asked(tmp_path, objects, "explain", "-f", written(tmp_path, web()))
    (warning,) = report["webhook"]["warnings"]
    assert warning == "namespace billing: its default class is not given: no PriorityClass with name gone was found"
    assert report["priority"]["priority"] == 0


def started_by(command: Sequence[str]) -> list[Object]:
    objects = installed(DEFAULT)
    objects[-2]["spec"]["template"]["spec"]["containers"][0] |= {"command": [*command], "args": []}
    return objects


def without(objects: Sequence[Object], *kinds: str) -> list[Object]:
    return [one for one in objects if one["kind"] not in kinds]


@pytest.mark.parametrize(
    ("objects", "unknown"),
    [
        (
            [*installed(DEFAULT, matchConditions=[{"name": "not-mine", "expression": "x"}]), space("billing")],
            "rules.qos has matchConditions of its own",
        ),
        (
            [*installed({"priorityClasses": {"default": {}}}), space("billing")],
            'cannot start with ConfigMap qos/rules-config: priorityClasses: unknown field "default"',
        ),
        ([*installed("a: ["), space("billing")], "cannot start with ConfigMap qos/rules-config: data.config.yaml"),
        ([*installed("{apiVersion: v1, kind: Other}"), space("billing")], "documents of kind QosWebhookConfiguration"),
        ([*without(installed(), "ConfigMap"), space("billing")], "ConfigMap qos/rules-config could not be read"),
        ([*started_by(["sh", "-c", "qos-webhook"]), space("billing")], "has no container qos-webhook"),
        (
            [*started_by(["qos-webhook", "--default-class=billing=billing-batch"]), space("billing")],
            "does not mount a configuration file: an older chart installed it; --dry-run=server asks the API server",
        ),
        ([*without(installed(), "Deployment"), space("billing")], "Deployment qos/rules could not be read"),
        (
            [*installed({"clusterDefaultConstraints": {"configMap": {**SPREAD, "name": "other"}}}), space("billing")],
            "default constraints: ConfigMap kube-system/other could not be read",
        ),
        (
            [*installed({"clusterDefaultConstraints": {"configMap": SPREAD}}), scheduler_config({}), space("billing")],
            "default constraints: it refuses ConfigMap kube-system/spread",
        ),
    ],
)
def test_unknown_facts_lower_certainty(objects: list[Object], unknown: str, tmp_path: Path) -> None:
    report = asked(tmp_path, objects, "explain", "-f", written(tmp_path, web()), code=11)
    (said,) = report["webhook"]["unknown"]
    assert unknown in said
    out = page(tmp_path, objects, "explain", "-f", written(tmp_path, web())).out
    assert "Not certain: pods.mutate.kubectl-qos.io was not asked." in out
    assert f"unknown what it writes: {said}"[:60] in out


@pytest.mark.parametrize("refused", [False, True])
def test_class_that_the_webhook_may_give_is_not_known(refused: bool, tmp_path: Path) -> None:
    bounds = {"hard": {"pods": "0"}}
    quota = {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": "none", "namespace": "billing"},
        "spec": bounds,
        "status": bounds | {"used": {"pods": "0"}},
    }
    account = raw_service_account("billing")
    objects = [*without(installed(), "Deployment"), space("billing"), account, web(), *([quota] if refused else [])]
    ran = page(tmp_path, objects, "explain", "deployment/web", "-n", "billing")
    assert (ran.code, "exceeded quota" in ran.out) == (11, refused), ran
    assert "Not certain: pods.mutate.kubectl-qos.io was not asked." in ran.out
    assert "0 (no PriorityClass), if the webhook gives it no class: preempts lower pods" in ran.out
    named = page(
        tmp_path, [*objects, web(priorityClassName="billing-batch")], "explain", "deployment/web", "-n", "billing"
    )
    assert "if the webhook gives it no class" not in named.out


def test_webhook_without_a_ready_pod_writes_nothing(tmp_path: Path) -> None:
    objects = [*installed(DEFAULT, ready=0), space("billing")]
    report = asked(tmp_path, objects, "explain", "-f", written(tmp_path, web()))
    assert report["priority"]["priority"] == 0
    said = page(tmp_path, objects, "explain", "-f", written(tmp_path, web())).out
    assert "qos/rules has no ready pod: pods are stored without it (failurePolicy Ignore)" in said
    assert "would write: priorityClassName billing-batch" in said


def test_unready_webhook_with_fail_rejects_pods(tmp_path: Path) -> None:
    objects = [*installed(DEFAULT, ready=0, failurePolicy="Fail"), space("billing")]
    ran = page(tmp_path, objects, "explain", "-f", written(tmp_path, web()))
    assert ran.code == 6
    assert 'no endpoints available for service "rules"' in ran.out
    assert "No pod of webhook pods.mutate.kubectl-qos.io is ready: start its pods." in ran.out


@pytest.mark.parametrize(("policy", "code"), [("Ignore", 0), ("Fail", 6)])
def test_webhook_without_a_ca_bundle_is_not_trusted(policy: str, code: int, tmp_path: Path) -> None:
    client = {"service": {"name": "rules", "namespace": "qos"}}
    objects = [*installed(DEFAULT, failurePolicy=policy, clientConfig=client), space("billing")]
    ran = page(tmp_path, objects, "explain", "-f", written(tmp_path, web()))
    assert ran.code == code
    assert ("qos/rules has no caBundle in its configuration: pods are stored without it" in ran.out) is (code == 0)
    assert ("certificate signed by unknown authority" in ran.out) is (code == 6)


def test_program_behind_a_url_may_not_answer(tmp_path: Path) -> None:
    client = {"url": "https://127.0.0.1:1/mutate"}
    objects = [*installed(DEFAULT, ready=0, clientConfig=client), space("billing")]
    objects[-3]["spec"]["replicas"] = 0
    ran = page(tmp_path, objects, "explain", "-f", written(tmp_path, web()))
    assert ran.code == 11
    assert "has 0 replicas, and rules.qos asks another program, by its url" in " ".join(ran.out.split())


def test_policies_replace_webhook_without_ready_pod(tmp_path: Path) -> None:
    objects = [*installed(DEFAULT, ready=0), *chart_policies(), space("billing"), web()]
    ran = listed(tmp_path, objects, "explain", "-f", written(tmp_path, web()))
    assert "is not evaluated here; --dry-run=server asks the API server" in ran.out


def listed(folder: Path, objects: Sequence[Object], *words: str) -> Ran:
    """The answer about a List of kubectl."""
    file = folder / "list.json"
    file.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": [*objects]}))
    ran = run(*words, "--snapshot", str(file))
    return ran._replace(out=" ".join(ran.out.split()))


@pytest.mark.parametrize(
    ("objects", "possible"),
    [
        (installed(DEFAULT), True),
        (without(installed(DEFAULT), "Deployment"), False),
        (
            [
                *without(installed(DEFAULT), "Deployment", "Namespace"),
                space("billing", {"kubectl-qos.io/default-priority-class": "billing-batch"}),
            ],
            True,
        ),
    ],
    ids=["its Deployment", "nothing shows it", "a label for it"],
)
def test_list_without_webhook_configurations(objects: list[Object], possible: bool, tmp_path: Path) -> None:
    kept = [*without(objects, "MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"), web()]
    ran = listed(tmp_path, kept, "explain", "deployment/web", "-n", "billing")
    assert ("mutatingwebhookconfigurations.admissionregistration.k8s.io could not be read" in ran.out) is possible


def test_list_with_webhook_configurations(tmp_path: Path) -> None:
    objects = [*installed(DEFAULT), space("billing"), web()]
    ran = listed(tmp_path, objects, "explain", "deployment/web", "-n", "billing")
    assert "will write: priorityClassName billing-batch" in ran.out


def chart_policies() -> list[Object]:
    chart = Path(__file__).parents[2] / "charts" / "golden" / "policy.yaml"
    return [one for one in yaml.safe_load_all(chart.read_text()) if one and one["kind"].endswith("Policy")]


def test_policies_of_the_chart_are_not_evaluated(tmp_path: Path) -> None:
    objects = [NODE, *CLASSES, *chart_policies(), space("billing"), space("kube-system"), web()]
    ran = listed(tmp_path, objects, "explain", "-f", written(tmp_path, web()))
    assert ran.code == 11
    assert "is not evaluated here; --dry-run=server asks the API server" in ran.out
    assert "Not certain: mutatingadmissionpolicies.admissionregistration.k8s.io" in ran.out
    ran = listed(tmp_path, objects, "explain", "-f", written(tmp_path, web("kube-system")))
    assert "is not evaluated here" not in ran.out


def test_anonymised_snapshot_shows_missing_webhook(tmp_path: Path) -> None:
    cluster = write_cluster(tmp_path / "cluster.qos", [*installed(DEFAULT), space("billing"), web()])
    made = run("snapshot", "--snapshot", cluster, "--anonymise", "-o", str(tmp_path / "other.qos"))
    assert made.code == 0, made
    kinds, _, _ = " ".join(made.out.split()).partition(": left out by --anonymise")
    assert "mutatingwebhookconfigurations.admissionregistration.k8s.io" in kinds
    # A snapshot of a snapshot has everything that the first one has.
    again = str(tmp_path / "again.qos")
    assert run("snapshot", "--snapshot", cluster, "-o", again).code == 0
    ran = run("explain", "deployment/web", "-n", "billing", "--snapshot", again)
    assert "priorityClassName billing-batch" in " ".join(ran.out.split())


def test_class_shows_workloads_that_get_it(tmp_path: Path) -> None:
    objects = [*installed(DEFAULT), space("billing"), space("other"), web(), web("other")]
    ran = page(tmp_path, objects, "explain", "pc/billing-batch")
    assert "0 workloads name it, 1 gets it from the webhook of kubectl qos." in ran.out
    assert "the webhook gives new pods of billing/deployment/web no class, and warns: priority 0" in ran.out
    assert "Workloads billing/deployment/web (by the webhook)" in ran.out
    assert "from the webhook" not in page(tmp_path, objects, "explain", "pc/billing-high").out
    down = [*installed(DEFAULT, ready=0), space("billing"), web()]
    assert "from the webhook" not in page(tmp_path, down, "explain", "pc/billing-batch").out


def test_class_is_not_certain_where_the_webhook_cannot_be_read(tmp_path: Path) -> None:
    objects = [*without(installed(DEFAULT), "MutatingWebhookConfiguration"), space("billing"), web()]
    ran = listed(tmp_path, objects, "explain", "pc/billing-batch")
    assert ran.code == 11
    assert "mutatingwebhookconfigurations.admissionregistration.k8s.io" in ran.out


class _Writes:
    """An API server in which a webhook writes class low into each pod."""

    def send(self, _method: str, _path: str, body: bytes, _content_type: str = "application/json") -> ChangeAnswer:
        """See `cluster_io.writer.Sender.send`."""
        sent = json.loads(body)
        stored = {**sent, "spec": {**sent["spec"], "priorityClassName": "low", "priority": 100}}
        return ChangeAnswer(201, json.dumps(stored).encode(), ())


@pytest.mark.parametrize("default", ["low", "other"])
def test_priority_plugin_adds_only_default_class(default: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dry_run, "connect_for_changes", lambda *_: contextlib.nullcontext(_Writes()))
    objects = [raw_priority_class(name, 100, globalDefault=name == default) for name in ("low", "other")]
    source = MemorySource([*objects, space("shop")], description="here", now=None, git_version="v1.36.3")
    document = ValidDocument(Document("file", raw_pod("web", "shop")), PODS, ())
    (manifest,) = read_manifests([document], "shop")
    assert isinstance(manifest, PodManifest)
    (asked,) = dry_run.with_dry_runs([manifest], Gatherer(source), ClusterOptions(), Validation.STRICT)
    assert asked.dry_run is not None
    added = {one.what: one.by for one in asked.dry_run.report.added}
    assert added == {"priority 100": "Priority", "priorityClassName low": "Priority" if default == "low" else ""}
    stored = asked.dry_run.pod
    assert stored is not None
    classes = {one["metadata"]["name"]: from_object(one, PriorityClass) for one in objects}
    admitted = admitted_by_server(manifest.pod, stored, AdmissionObjects(priority_classes=classes))
    assert admitted.priority is not None
    assert admitted.priority.source.value == ("GlobalDefault" if default == "low" else "PriorityClass")
