"""The chart on a real API server: the stored objects, the calls of the webhook, and the permissions of the program."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml
from prometheus_client.parser import text_string_to_metric_families

from cluster_io.live.client import ClientTransport
from tests.charts.chart import (
    CHART,
    EVENTS,
    FULL_VALUES,
    HOST_NETWORK,
    PRODUCTION,
    Chart,
    HelmError,
    config_argument,
    config_of,
    of_kind,
    only_in,
)
from tests.charts.policies import mirror_pod_refusal
from tests.controlplane.client import ApiError, Object
from tests.controlplane.control_plane import ControlPlane
from tests.controlplane.processes import free_port, probe, start_on_free_port, stop_all
from tests.objects import raw_pod, raw_workload
from tests.waiting import wait_for
from tests.webhook.installation import TIMEOUT_SECONDS, port_beside, program_for_tests
from tests.webhook.scraping import scraped

pytestmark = pytest.mark.controlplane

MIRROR = {"kubernetes.io/config.mirror": "0123456789abcdef", "kubernetes.io/config.source": "file"}
CANNOT_BE_CALLED = "failed calling webhook"


def make_pod(namespace: str, name: str = "web", **spec: Any) -> Object:
    return raw_pod(name, namespace, labels={"app": name}, **spec)


def make_deployment(namespace: str, **spec: Any) -> Object:
    return raw_workload("Deployment", "web", namespace, pod_spec=raw_pod(**spec)["spec"])


def creation_refusal(control_plane: ControlPlane, obj: Object) -> str:
    """Why the API server would refuse to create this; empty if it would not."""
    api = control_plane.api
    path = api.path(obj["apiVersion"], obj["kind"], obj["metadata"]["namespace"])
    try:
        api.request("POST", path, obj, query={"dryRun": "All"})
    except ApiError as error:
        return error.message
    return ""


def deletion_refusal(control_plane: ControlPlane, obj: Object, **options: Any) -> str:
    """Why the API server would refuse to delete this with these DeleteOptions; empty if it would not."""
    api = control_plane.api
    path = api.path(obj["apiVersion"], obj["kind"], obj["metadata"].get("namespace"), obj["metadata"]["name"])
    # For a deletion with a body, the query does not count.
    body = {"apiVersion": "v1", "kind": "DeleteOptions", "dryRun": ["All"], **options}
    try:
        api.request("DELETE", path, body)
    except ApiError as error:
        return error.message
    return ""


@contextmanager
def applied(control_plane: ControlPlane, objects: Sequence[Object], watched: str) -> Iterator[None]:
    """Create the objects until the block ends; afterwards no webhook is called for ``watched``."""
    try:
        control_plane.apply(objects)
        yield
    finally:
        for entry in reversed(objects):
            control_plane.api.delete(entry)
        pod = make_pod(watched, "probe")
        wait_for(lambda: not creation_refusal(control_plane, pod), "the webhooks are forgotten")


# Stored objects


@pytest.mark.parametrize(
    "values",
    [
        pytest.param({}, id="defaults"),
        pytest.param(PRODUCTION, id="the example"),
        pytest.param({**FULL_VALUES, "priorityClassName": "system-cluster-critical"}, id="all values"),
        pytest.param(EVENTS, id="client certificates, and Events"),
    ],
)
def test_api_server_takes_every_object(
    control_plane: ControlPlane,
    chart: Chart,
    monitoring_kinds: None,
    release_namespace: str,
    values: Mapping[str, Any],
) -> None:
    # As for an installed chart: the rendered objects depend on the version.
    version = control_plane.api.request("GET", "/version")["gitVersion"]
    values = {**values, "test": {"namespace": release_namespace}}
    manifest = chart.rendered(values, f"--kube-version={version}", namespace=release_namespace)
    accounts = of_kind("ServiceAccount", yaml.safe_load_all(manifest))
    # A pod's account must exist before it: nothing is stored here.
    with control_plane.holding(accounts):
        done = control_plane.kubectl(
            *("apply", "--server-side", "--force-conflicts", "--dry-run=server", "--validate=strict", "-f", "-"),
            input=manifest,
        )
    assert "Warning" not in done.stderr
    assert done.stdout.count("serverside-applied") == manifest.count("\nkind: ")


def test_pods_are_admitted_where_only_restricted_ones_are(
    control_plane: ControlPlane, chart: Chart, release_namespace: str
) -> None:
    objects = chart.objects(namespace=release_namespace)
    (deployment,), (account,) = of_kind("Deployment", objects), of_kind("ServiceAccount", objects)
    control_plane.apply([account])
    template = deployment["spec"]["template"]
    pod = raw_pod("one", release_namespace, metadata=template["metadata"], **template["spec"])
    assert creation_refusal(control_plane, pod) == ""
    assert "violates PodSecurity" in creation_refusal(control_plane, make_pod(release_namespace))


def test_host_network_needs_privileged_namespace_and_own_node(
    control_plane: ControlPlane,
    chart: Chart,
    namespace: str,
    release_namespace: str,
    make_node: Callable[..., Object],
) -> None:
    selector = {"kubernetes.io/hostname": make_node()["metadata"]["name"]}
    values = {**HOST_NETWORK, "priorityClassName": "", "nodeSelector": selector}

    def pods_in(where: str) -> list[Object]:
        objects = chart.objects(values, namespace=where)
        (deployment,), accounts = of_kind("Deployment", objects), of_kind("ServiceAccount", objects)
        control_plane.apply(accounts)
        template = deployment["spec"]["template"]
        return [raw_pod(name, where, metadata=template["metadata"], **template["spec"]) for name in ("one", "two")]

    assert "host namespaces (hostNetwork=true)" in creation_refusal(control_plane, pods_in(release_namespace)[0])
    for pod in pods_in(namespace):
        control_plane.api.create(pod)

    def unscheduled() -> list[str]:
        pods = control_plane.api.list_items("v1", "Pod", namespace)
        found = [entry for pod in pods for entry in pod["status"].get("conditions", [])]
        return [entry["message"] for entry in found if entry.get("reason") == "Unschedulable"]

    # Both ports belong to the node: a rolling update needs a node without a replica.
    (said,) = wait_for(unscheduled, "the second has no place")
    assert "1 node(s) didn't have free ports for the requested pod ports" in said


def test_life_of_a_release(control_plane: ControlPlane, chart: Chart, namespace: str, release_namespace: str) -> None:
    api = control_plane.api
    values = {"webhook": {"namespaceMatchExpressions": only_in(f"{namespace}-nowhere")}}
    full_name = f"qos-webhook.{release_namespace}"

    def helm(*arguments: str | Path, **more: Any) -> None:
        chart.run(*arguments, "--namespace", release_namespace, kubeconfig=control_plane.admin_kubeconfig, **more)

    def configurations() -> list[Object]:
        kinds = ("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration")
        return [
            entry
            for kind in kinds
            for entry in api.list_items("admissionregistration.k8s.io/v1", kind)
            if entry["metadata"]["name"] == full_name
        ]

    def bundles() -> set[str]:
        return {entry["clientConfig"].get("caBundle", "") for found in configurations() for entry in found["webhooks"]}

    try:
        helm("install", "qos-webhook", CHART, values=values)
        secret = api.get("v1", "Secret", "qos-webhook-tls", release_namespace)
        assert not secret.get("data")
        assert bundles() == {""}

        # The program does this itself.
        data = {"tls.crt": base64.b64encode(b"certificate").decode()}
        api.patch(secret, {"data": data})
        bundle = base64.b64encode(control_plane.folder.joinpath("ca.crt").read_bytes()).decode()
        for found in configurations():
            changes = [{"name": entry["name"], "clientConfig": {"caBundle": bundle}} for entry in found["webhooks"]]
            path = api.path(found["apiVersion"], found["kind"], None, full_name)
            api.request("PATCH", path, {"webhooks": changes}, content_type="application/strategic-merge-patch+json")

        # Without an image nothing happens: this project does not own the old default's name.
        with pytest.raises(HelmError, match=r"image\.repository: .* name it: --set image\.repository="):
            helm("upgrade", "qos-webhook", CHART, values={"image": {"repository": "kubectl-qos/qos-webhook"}})
        helm("upgrade", "qos-webhook", CHART, values=values | {"drainSeconds": 5})
        config = api.get("v1", "ConfigMap", "qos-webhook-config", release_namespace)
        assert "drainSeconds: 5\n" in config["data"]["config.yaml"]
        assert api.get("v1", "Secret", "qos-webhook-tls", release_namespace)["data"] == data
        assert bundles() == {bundle}
    finally:
        helm("uninstall", "qos-webhook", "--ignore-not-found")
    assert not configurations()
    assert not [
        entry["metadata"]["name"]
        for entry in api.list_items("v1", "Secret", release_namespace)
        if entry["metadata"]["name"] == "qos-webhook-tls"
    ]
    labels = {"labelSelector": "app.kubernetes.io/name=qos-webhook"}
    for kind in ("ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding"):
        left = api.list_items("rbac.authorization.k8s.io/v1", kind, **labels)
        assert not [entry for entry in left if entry["metadata"]["name"] in {full_name, "qos-webhook"}]


# Calls of the webhook


@pytest.fixture
def bound_pod(control_plane: ControlPlane, namespace: str, make_node: Callable[..., Object]) -> Object:
    """A pod on a node; created before any webhook could be called for it."""
    node = make_node()["metadata"]["name"]
    return control_plane.api.create(make_pod(namespace, nodeName=node))


@pytest.fixture
def unanswered(
    control_plane: ControlPlane, chart: Chart, namespace: str, release_namespace: str, bound_pod: Object
) -> Iterator[None]:
    """Unreachable webhook configurations of the chart that refuse: every call is refused."""
    values = {
        "webhook": {
            "url": f"https://127.0.0.1:{free_port()}",
            "failurePolicy": "Fail",
            "namespaceMatchExpressions": only_in(namespace),
        }
    }
    objects = chart.objects(values, namespace=release_namespace)
    mutating = of_kind("MutatingWebhookConfiguration", objects)
    validating = of_kind("ValidatingWebhookConfiguration", objects)
    pod = make_pod(namespace, "probe")
    with applied(control_plane, [*validating, *mutating], namespace):
        wait_for(lambda: "pods.mutate.kubectl-qos.io" in creation_refusal(control_plane, pod), "pods are asked about")
        wait_for(lambda: deletion_refusal(control_plane, bound_pod, gracePeriodSeconds=0), "deletions are asked about")
        yield


def test_fail_excludes_the_namespaces_of_the_readmes_values(
    control_plane: ControlPlane, chart: Chart, namespace: str, release_namespace: str
) -> None:
    """Without a reachable webhook, the example's label exempts the pods of a namespace; others are refused."""
    page = (CHART / "README.md").read_text(encoding="utf-8")
    (text,) = re.findall(r"<!-- fail values -->\n```yaml\n(.*?)```", page, re.DOTALL)
    values = yaml.safe_load(text)
    (excluded,) = values["webhook"]["namespaceMatchExpressions"]
    spared = f"{namespace}-spared"
    control_plane.create_namespace(spared, {excluded["key"]: "", "tried": namespace})
    asked = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}}
    control_plane.api.patch(asked, {"metadata": {"labels": {"tried": namespace}}})
    # In addition to the example: tests share the API server.
    values["webhook"]["namespaceMatchExpressions"] += [{"key": "tried", "operator": "In", "values": [namespace]}]
    values["webhook"]["url"] = f"https://127.0.0.1:{free_port()}"
    objects = chart.objects(values, namespace=release_namespace)
    configurations = [entry for entry in objects if entry["kind"].endswith("WebhookConfiguration")]
    try:
        with applied(control_plane, configurations, namespace):
            wait_for(lambda: CANNOT_BE_CALLED in creation_refusal(control_plane, make_pod(namespace)), "it is asked")
            assert creation_refusal(control_plane, make_pod(spared)) == ""
    finally:
        control_plane.leave_namespace(spared)


def test_two_releases_with_fail_have_to_exclude_each_other(
    control_plane: ControlPlane, chart: Chart, namespace: str
) -> None:
    """While both are down: otherwise neither's Deployment and pods are recreated."""
    spaces = [f"{namespace}-first", f"{namespace}-second"]
    for space in spaces:
        control_plane.create_namespace(space, {"tried": namespace})

    def configurations(*excluded: str) -> list[Object]:
        tried = {"key": "tried", "operator": "In", "values": [namespace]}
        common = {"failurePolicy": "Fail", "url": f"https://127.0.0.1:{free_port()}", "excludedNamespaces": excluded}
        values = {"webhook": {**common, "namespaceMatchExpressions": [tried]}}
        made = [entry for space in spaces for entry in chart.objects(values, namespace=space)]
        return [entry for entry in made if entry["kind"].endswith("WebhookConfiguration")]

    asked = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}}
    control_plane.api.patch(asked, {"metadata": {"labels": {"tried": namespace}}})
    try:
        for excluded, refused in (((), True), (spaces, False)):
            with applied(control_plane, configurations(*excluded), namespace):
                wait_for(
                    lambda: CANNOT_BE_CALLED in creation_refusal(control_plane, make_pod(namespace)), "it is asked"
                )
                for entry in [make(space) for space in spaces for make in (make_pod, make_deployment)]:

                    def is_so(entry: Object = entry, refused: bool = refused) -> bool:
                        return (CANNOT_BE_CALLED in creation_refusal(control_plane, entry)) == refused

                    wait_for(is_so, f"refused: {refused}")
    finally:
        for space in spaces:
            control_plane.leave_namespace(space)


def failed_open(control_plane: ControlPlane, selector: str) -> float:
    """How often the API server continued without an answer, from the series that an alert selects."""
    metric, _, name = selector.partition('{name=~"')
    text = control_plane.kubectl("get", "--raw", "/metrics").stdout
    # Prometheus unquotes the expression, as Go does.
    pattern = name.replace("\\\\", "\\")
    return sum(
        sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
        if family.name == metric and re.fullmatch(pattern, sample.labels["name"])
    )


def test_alert_fires_for_requests_that_failed_open(
    control_plane: ControlPlane, chart: Chart, unanswered: None, make_node: Callable[..., Object]
) -> None:
    """The API server counts with the metric and the names in the alert; for Nodes the policy is Ignore."""
    (rule,) = of_kind("PrometheusRule", chart.objects({"metrics": {"prometheusRule": {"enabled": True}}}))
    (alert,) = (entry for entry in rule["spec"]["groups"][0]["rules"] if entry["alert"] == "QosWebhookFailedOpen")
    (selector,) = set(re.findall(r'apiserver_admission_webhook_fail_open_count\{name=~"[^"]*', alert["expr"]))
    before = failed_open(control_plane, selector)
    assert deletion_refusal(control_plane, make_node()) == ""
    assert failed_open(control_plane, selector) == before + 1


def test_plain_deletion_is_not_reviewed(control_plane: ControlPlane, unanswered: None, bound_pod: Object) -> None:
    assert deletion_refusal(control_plane, bound_pod) == ""
    assert deletion_refusal(control_plane, bound_pod, gracePeriodSeconds=1) == ""
    control_plane.api.delete(bound_pod)
    metadata = bound_pod["metadata"]
    left = control_plane.api.get("v1", "Pod", metadata["name"], metadata["namespace"])
    assert left["metadata"]["deletionGracePeriodSeconds"] == 30


def test_force_deletion_is_reviewed(control_plane: ControlPlane, unanswered: None, bound_pod: Object) -> None:
    said = deletion_refusal(control_plane, bound_pod, gracePeriodSeconds=0)
    assert CANNOT_BE_CALLED in said
    assert "force-delete.kubectl-qos.io" in said


def test_forced_collection_is_reviewed(control_plane: ControlPlane, unanswered: None, bound_pod: Object) -> None:
    namespace = bound_pod["metadata"]["namespace"]
    path = control_plane.api.path("v1", "Pod", namespace)
    with pytest.raises(ApiError, match=r"force-delete\.kubectl-qos\.io"):
        control_plane.api.request("DELETE", path, query={"gracePeriodSeconds": "0"})
    control_plane.api.request("DELETE", path)


def test_last_deletion_by_a_kubelet_is_not_reviewed(
    control_plane: ControlPlane, unanswered: None, bound_pod: Object
) -> None:
    node = bound_pod["spec"]["nodeName"]
    kubelet = control_plane.kubeconfig_for_client_certificate(f"system:node:{node}", ["system:nodes"])
    namespace = bound_pod["metadata"]["namespace"]
    force = ("delete", "pod", "web", "-n", namespace, "--grace-period=0", "--force", "--wait=false")

    def deleted() -> bool:
        done = control_plane.kubectl(*force, kubeconfig=kubelet, check=False)
        assert CANNOT_BE_CALLED not in done.stderr
        return done.returncode == 0

    wait_for(deleted, "the authorizer knows that the pod is the node's")
    assert not control_plane.api.list_items("v1", "Pod", namespace)


def eviction_refusal(control_plane: ControlPlane, pod: Object, **options: Any) -> str:
    """Why the API server would refuse to evict this with these deleteOptions; empty if it would not."""
    meta = pod["metadata"]
    path = control_plane.api.path("v1", "Pod", meta["namespace"], meta["name"], "eviction")
    named = {"name": meta["name"], "namespace": meta["namespace"]}
    eviction = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": named}
    try:
        control_plane.api.request("POST", path, eviction | options, query={"dryRun": "All"})
    except ApiError as error:
        return error.message
    return ""


def test_F1_only_eviction_without_grace_is_reviewed(
    control_plane: ControlPlane, unanswered: None, bound_pod: Object
) -> None:
    said = eviction_refusal(control_plane, bound_pod, deleteOptions={"gracePeriodSeconds": 0})
    assert "evictions.kubectl-qos.io" in said
    assert eviction_refusal(control_plane, bound_pod) == ""
    assert eviction_refusal(control_plane, bound_pod, deleteOptions={}) == ""
    assert eviction_refusal(control_plane, bound_pod, deleteOptions={"gracePeriodSeconds": 1}) == ""


@pytest.mark.parametrize("phase", ["Succeeded", "Failed"])
def test_F2_finished_pod_is_not_reviewed(
    control_plane: ControlPlane, unanswered: None, bound_pod: Object, phase: str
) -> None:
    control_plane.set_pod_status(bound_pod, {"phase": phase})
    assert deletion_refusal(control_plane, bound_pod, gracePeriodSeconds=0) == ""


@pytest.mark.parametrize(
    "user",
    [
        "system:kube-controller-manager",
        "system:serviceaccount:kube-system:pod-garbage-collector",
        "system:serviceaccount:kube-system:generic-garbage-collector",
        "system:serviceaccount:kube-system:namespace-controller",
    ],
)
def test_F2_controllers_are_not_reviewed(
    control_plane: ControlPlane, unanswered: None, bound_pod: Object, user: str
) -> None:
    line = ("delete", "pod", "web", "-n", bound_pod["metadata"]["namespace"], "--grace-period=0", "--force")
    done = control_plane.kubectl(*line, f"--as={user}", "--as-group=system:masters", check=False)
    assert done.returncode == 0, done.stderr


def test_F1_node_deletion_works_without_the_webhook(
    control_plane: ControlPlane, unanswered: None, bound_pod: Object
) -> None:
    node = bound_pod["spec"]["nodeName"]
    control_plane.kubectl("delete", "node", node, "--as=jane", "--as-group=system:masters")
    assert not control_plane.api.list_items("v1", "Node", fieldSelector=f"metadata.name={node}")


def test_kubelets_mirror_pod_is_not_reviewed(control_plane: ControlPlane, unanswered: None, bound_pod: Object) -> None:
    namespace, node = bound_pod["metadata"]["namespace"], bound_pod["spec"]["nodeName"]
    plain = make_pod(namespace, "static", nodeName=node)
    mirror = {**plain, "metadata": {**plain["metadata"], "annotations": MIRROR}}
    other = {**plain, "metadata": {**plain["metadata"], "annotations": {"team": "platform"}}}
    assert mirror_pod_refusal(control_plane, plain) == ""
    # Any client can set the annotation: no defaults are filled in, and refusals apply.
    assert CANNOT_BE_CALLED in creation_refusal(control_plane, mirror)
    assert CANNOT_BE_CALLED in creation_refusal(control_plane, plain)
    assert CANNOT_BE_CALLED in creation_refusal(control_plane, other)


def test_workload_is_reviewed_unless_a_controller_owns_it(
    control_plane: ControlPlane, unanswered: None, namespace: str
) -> None:
    workload = make_deployment(namespace)

    def owned_by(**owner: Any) -> Object:
        reference = {"apiVersion": "example.com/v1", "kind": "Shop", "name": "shop", "uid": "0-0", **owner}
        return {**workload, "metadata": {**workload["metadata"], "ownerReferences": [reference]}}

    assert "workloads.kubectl-qos.io" in creation_refusal(control_plane, workload)
    assert "workloads.kubectl-qos.io" in creation_refusal(control_plane, owned_by())
    assert creation_refusal(control_plane, owned_by(controller=True)) == ""


def test_own_namespace_is_not_reviewed(control_plane: ControlPlane, unanswered: None, release_namespace: str) -> None:
    assert creation_refusal(control_plane, make_deployment(release_namespace)) == ""


# The program, with the chart's arguments and permissions


SPREAD = {
    "clusterDefaultConstraints": {
        "schedulerConfiguration": FULL_VALUES["clusterDefaultConstraints"]["schedulerConfiguration"]
    }
}
LEAST = {"auditInterval": "0s", "forceDeletion": {"nodes": False}}
"""Values that give the program only the permissions for its rules of classes and force deletions."""


class Running(NamedTuple):
    """The running program."""

    log: Path
    metrics_port: int
    kubeconfig: Path


@pytest.fixture
def running(
    request: pytest.FixtureRequest,
    control_plane: ControlPlane,
    chart: Chart,
    namespace: str,
    release_namespace: str,
    tmp_path: Path,
) -> Iterator[Running]:
    """The program as the chart starts it, except for the address, as the chart's ServiceAccount; takes values."""
    started = Running(tmp_path / "log", 0, tmp_path)
    rendered: list[Object] = []
    asked_about = [
        (make_pod(namespace, "probe"), "pods.mutate.kubectl-qos.io"),
        (make_deployment(namespace), "workloads.kubectl-qos.io"),
    ]

    def is_refused(entry: Object, by: str) -> bool:
        return by in creation_refusal(control_plane, entry)

    def is_admitted(entry: Object) -> bool:
        return not creation_refusal(control_plane, entry)

    def arguments(port: int) -> list[str | Path]:
        nonlocal started
        values = {
            "drainSeconds": 0,
            "webhook": {
                "url": f"https://127.0.0.1:{port}",
                "failurePolicy": "Fail",
                "timeoutSeconds": TIMEOUT_SECONDS,
                "namespaceMatchExpressions": only_in(namespace),
            },
            **getattr(request, "param", SPREAD),
        }
        rendered[:] = [
            entry for entry in chart.objects(values, namespace=release_namespace) if entry["kind"] != "Deployment"
        ]
        control_plane.apply(rendered)
        # No webhook answers yet, so the refusal shows that the API server calls it.
        for entry, webhook in asked_about:
            wait_for(partial(is_refused, entry, by=webhook), f"{webhook} is asked")
        (deployment,) = of_kind("Deployment", chart.objects(values, namespace=release_namespace))
        (container,) = deployment["spec"]["template"]["spec"]["containers"]
        account = deployment["spec"]["template"]["spec"]["serviceAccountName"]
        kubeconfig = control_plane.kubeconfig_for_service_account(account, release_namespace)
        started = started._replace(metrics_port=port_beside(port), kubeconfig=kubeconfig)
        own = (f"--address=127.0.0.1:{port}", f"--metrics-address=127.0.0.1:{started.metrics_port}")
        config = config_argument(config_of(rendered), started.log.with_suffix(".yaml"))
        return [*program_for_tests(container["command"][0]), config, *own, f"--kubeconfig={kubeconfig}"]

    # The port's objects are in the list by the end of the block.
    with applied(control_plane, rendered, namespace):
        process, _ = start_on_free_port(arguments, probe("/readyz"), log=started.log, timeout=120)
        try:
            for entry, webhook in asked_about:
                wait_for(partial(is_admitted, entry), f"the answers of {webhook} are trusted")
            yield started
        finally:
            stop_all([process], timeout=2)


@pytest.mark.parametrize(
    "running",
    [
        pytest.param(SPREAD, id="all"),
        pytest.param(LEAST, id="least"),
        pytest.param({**LEAST, "auditInterval": "1h"}, id="audit"),
        pytest.param({**LEAST, "forceDeletion": {"nodes": True}}, id="nodes"),
        pytest.param({**LEAST, **SPREAD}, id="constraints"),
        pytest.param({**LEAST, "clusterDefaultConstraints": {"annotations": True}}, id="annotations"),
    ],
    indirect=True,
)
def test_A_program_works_with_the_permissions_of_its_values(
    request: pytest.FixtureRequest,
    control_plane: ControlPlane,
    running: Running,
    namespace: str,
    make_node: Callable[..., Object],
) -> None:
    work = request.node.callspec.id
    spreads = work in {"all", "constraints", "annotations"}
    if work == "annotations":
        _annotate(control_plane, namespace)
    _new_pods_get_default_constraints(control_plane, namespace, are_given=spreads)
    _unknown_class_is_warned_of(control_plane, namespace)
    node = make_node()["metadata"]["name"]
    _force_deletion_is_warned_of(control_plane, namespace, node)
    _deletion_of_a_node_is_warned_of(control_plane, namespace, node, is_called=work in {"all", "nodes"})
    if audits := work in {"all", "audit"}:
        wait_for(lambda: audited(running) > 0, "pods were audited")
    assert (audited(running) > 0) == audits
    assert "forbidden" not in running.log.read_text(encoding="utf-8").lower()

    # The API server grants no permission that no value needs.
    transport = ClientTransport(kubeconfig=str(running.kubeconfig), request_timeout=60)
    found = {path: transport.get(path)[0] == 200 for path in LISTED}
    transport.close()
    assert found == {path: audits or work == "nodes" if path == "/api/v1/pods?limit=1" else spreads for path in LISTED}


LISTED = (
    "/api/v1/pods?limit=1",
    "/api/v1/services?limit=1",
    "/api/v1/replicationcontrollers?limit=1",
    "/apis/apps/v1/replicasets?limit=1",
    "/apis/apps/v1/statefulsets?limit=1",
)


def audited(running: Running) -> float:
    """The time of the last count of pods; 0: never."""
    found = re.search(r"^qos_webhook_audit_timestamp_seconds (\S+)$", scraped(running.metrics_port), re.MULTILINE)
    assert found is not None
    return float(found[1])


def test_program_refills_its_secret_with_these_permissions(
    control_plane: ControlPlane, running: Running, namespace: str, release_namespace: str
) -> None:
    """Also publishes the new authority to the API server."""
    api = control_plane.api
    secret = api.get("v1", "Secret", "qos-webhook-tls", release_namespace)
    api.patch(secret, {"data": None})
    wait_for(
        lambda: api.get("v1", "Secret", "qos-webhook-tls", release_namespace).get("data"), "the Secret is filled again"
    )
    wait_for(
        lambda: not creation_refusal(control_plane, make_pod(namespace)), "the API server trusts the new certificate"
    )
    assert "forbidden" not in running.log.read_text(encoding="utf-8").lower()


def _annotate(control_plane: ControlPlane, namespace: str) -> None:
    constraint = {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "ScheduleAnyway"}
    annotations = {"kubectl-qos.io/default-topology-spread-constraints": json.dumps([constraint])}
    api = control_plane.api
    api.patch(api.get("v1", "Namespace", namespace), {"metadata": {"annotations": annotations}})

    def is_known() -> bool:
        service = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "web", "namespace": namespace}}
        api.apply([{**service, "spec": {"selector": {"app": "web"}, "ports": [{"port": 80}]}}])
        made = api.request("POST", api.path("v1", "Pod", namespace), make_pod(namespace), query={"dryRun": "All"})
        return "topologySpreadConstraints" in made["spec"]

    wait_for(is_known, "the webhook knows the annotation")


def _deletion_of_a_node_is_warned_of(
    control_plane: ControlPlane, namespace: str, node: str, *, is_called: bool
) -> None:
    control_plane.api.create(make_pod(namespace, "left", nodeName=node))
    said = control_plane.kubectl("delete", "node", node, "--dry-run=server").stderr
    assert (f"{node}: without the Node, pod garbage collection force deletes" in said) == is_called
    assert "cannot be read" not in said


def _new_pods_get_default_constraints(control_plane: ControlPlane, namespace: str, *, are_given: bool) -> None:
    control_plane.apply([make_deployment(namespace)])
    (pod,) = wait_for(
        lambda: control_plane.api.list_items("v1", "Pod", namespace, labelSelector="app=web"), "there is a pod"
    )
    found = pod["spec"].get("topologySpreadConstraints", ())
    assert [constraint["topologyKey"] for constraint in found] == ["zone"] * are_given


def _unknown_class_is_warned_of(control_plane: ControlPlane, namespace: str) -> None:
    workload = json.dumps(make_deployment(namespace, priorityClassName="no-such-class"))
    said = control_plane.kubectl("apply", "--dry-run=server", "-f", "-", input=workload).stderr
    assert "spec.template.spec.priorityClassName" in said


def _force_deletion_is_warned_of(control_plane: ControlPlane, namespace: str, node: str) -> None:
    """With everything that is read for it: node, lease, claim, volume, attachment."""
    volume: Object = {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": f"{namespace}-disk"},
        "spec": {
            "capacity": {"storage": "1Gi"},
            "accessModes": ["ReadWriteOnce"],
            "csi": {"driver": "disk.example.com", "volumeHandle": "disk-1"},
        },
    }
    claim = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": "disk", "namespace": namespace},
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "storageClassName": "",
            "volumeName": volume["metadata"]["name"],
            "resources": {"requests": {"storage": "1Gi"}},
        },
    }
    pod = make_pod(
        namespace,
        "db",
        nodeName=node,
        volumes=[{"name": "disk", "persistentVolumeClaim": {"claimName": "disk"}}],
    )
    *_, stored = control_plane.apply([volume, claim, pod])
    # A pod that has run needed no attachment: for a pod that waits for its volume this is not known yet.
    ran = {"name": "app", "image": "app", "imageID": "", "ready": True, "restartCount": 0, "state": {"running": {}}}
    control_plane.api.patch(stored, {"status": {"containerStatuses": [ran]}}, subresource="status")
    try:
        said = control_plane.kubectl("delete", "pod", "db", "-n", namespace, "--force", "--wait=false").stderr
    finally:
        control_plane.api.delete(claim)
        control_plane.api.delete(volume)
    assert f"db on {node}" in said
    assert "unknown" not in said
