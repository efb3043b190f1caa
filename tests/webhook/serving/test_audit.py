"""The pods of the real API server that count as stored without an answer of the webhook."""

from __future__ import annotations

import importlib
import math
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from pkgutil import iter_modules
from types import SimpleNamespace
from typing import Any

import pytest
import yaml

from cluster_io.live.client import ClientTransport
from tests.controlplane.certificates import Authority
from tests.controlplane.client import Object
from tests.controlplane.control_plane import ControlPlane
from tests.objects import raw_node, raw_pod, raw_priority_class
from tests.waiting import wait_for
from tests.webhook.asked_by_url import Files
from tests.webhook.clusters import make_class, make_cluster, make_namespace, pod_rules
from tests.webhook.demo_server import DemoServer, running_demo
from tests.webhook.installation import ZONE, chart_values
from tests.webhook.review_objects import create_review
from webhook import rules as handlers
from webhook.cluster.view import Cluster
from webhook.reviews.admission_review import decode_review
from webhook.reviews.new_pod import NewPod
from webhook.reviews.response import ALLOWED, Answer, add
from webhook.rules import fill_in
from webhook.serving.audit import Audit, AuditResult
from webhook.serving.metrics import Metrics

pytestmark = pytest.mark.controlplane

CONFIGURATION = "audited"
SERVICE = {
    "apiVersion": "v1",
    "kind": "Service",
    "metadata": {"name": "web", "namespace": "", "uid": "5e41"},
    "spec": {"selector": {"app": "web"}},
}


@pytest.fixture
def older(control_plane: ControlPlane, namespace: str) -> str:
    """A pod from before the webhook was configured, if a test requests this before `audited`."""
    name: str = control_plane.api.create(_pod(namespace, "before"))["metadata"]["name"]
    # The API server's times have a resolution of one second.
    time.sleep(1.1)
    return name


@pytest.fixture
def audited(control_plane: ControlPlane, namespace: str) -> Iterator[str]:
    """A namespace with a configured but unreachable webhook for its pods."""
    control_plane.create_node("audit-node")
    path = "https://127.0.0.1:1/mutate"
    webhook = {
        "name": "pods.example.com",
        "clientConfig": {"url": path},
        "rules": [{"apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"], "operations": ["CREATE"]}],
        "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": namespace}},
        "objectSelector": {"matchExpressions": [{"key": "skip", "operator": "DoesNotExist"}]},
        "admissionReviewVersions": ["v1"],
        "sideEffects": "None",
        "failurePolicy": "Ignore",
    }
    configuration: Object = {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "MutatingWebhookConfiguration",
        "metadata": {"name": CONFIGURATION},
        "webhooks": [webhook],
    }
    control_plane.api.create(configuration)
    yield namespace
    control_plane.api.delete(configuration)
    control_plane.api.delete(raw_node("audit-node"))


def _pod(namespace: str, name: str, *, labels: dict[str, str] | None = None, **spec: Any) -> Object:
    own = {"app": "web"} | (labels or {})
    return raw_pod(name, namespace, labels=own, **{"schedulerName": "no-scheduler", **spec})


def _cluster(namespace: str, *, default_class: str | None = None) -> Cluster:
    """The content of the webhook's caches; for scheduler ``no-scheduler``, so that the pods are not placed."""
    configuration = chart_values(1, ZONE)["clusterDefaultConstraints"]["schedulerConfiguration"]
    configuration["profiles"][0]["schedulerName"] = "no-scheduler"
    defaults = {namespace: default_class} if default_class else {}
    space = make_namespace(namespace)
    space["metadata"]["labels"]["kubernetes.io/metadata.name"] = namespace
    service = {**SERVICE, "metadata": {**SERVICE["metadata"], "namespace": namespace}}  # type: ignore[dict-item]  # it is one
    return make_cluster(
        [space, make_namespace("default"), service, make_class("audit-low", 7)],
        scheduler_config=yaml.safe_dump(configuration),
        options=pod_rules(priorityClasses={"defaults": defaults}),
    )


@pytest.fixture
def count(control_plane: ControlPlane, audited: str) -> Callable[..., AuditResult]:
    """Count the stored pods without defaults, with the rights of an administrator."""

    def count(*, default_class: str | None = None) -> AuditResult:
        transport = ClientTransport(kubeconfig=str(control_plane.admin_kubeconfig), request_timeout=60)
        try:
            cluster = _cluster(audited, default_class=default_class)
            return Audit(transport, cluster, Metrics(), lambda: True, configuration=CONFIGURATION).count()
        finally:
            transport.close()

    return count


Count = Callable[..., AuditResult]


def test_stored_without_constraints(control_plane: ControlPlane, older: str, audited: str, count: Count) -> None:
    """Neither the pod that is older than the configuration, nor one in another namespace."""
    control_plane.api.create(_pod(audited, "missed"))
    control_plane.api.create(_pod("default", "not-reviewed"))
    try:
        assert count() == AuditResult(1, (f"{audited}/missed",))
        assert control_plane.api.get("v1", "Pod", older, audited)
    finally:
        control_plane.api.delete(_pod("default", "not-reviewed"), grace_period_seconds=0)


def test_bound_since(control_plane: ControlPlane, audited: str, count: Count) -> None:
    """A scheduler's binding makes no difference; a node that the author named does: such pods get nothing."""
    control_plane.bind(control_plane.api.create(_pod(audited, "bound")), "audit-node")
    control_plane.api.create(_pod(audited, "placed-by-its-author", nodeName="audit-node"))
    assert count().first == (f"{audited}/bound",)


def test_pods_without_missing_defaults(control_plane: ControlPlane, audited: str, count: Count) -> None:
    selector = {"labelSelector": {"matchLabels": {"app": "web"}}}
    control_plane.api.create(_pod(audited, "has-some", topologySpreadConstraints=[{**ZONE, **selector}]))
    control_plane.api.create(_pod(audited, "not-selected", labels={"skip": "yes"}))
    control_plane.api.create(_pod(audited, "of-no-service", labels={"app": "other"}))
    finished = control_plane.api.create(_pod(audited, "finished", nodeName="audit-node"))
    control_plane.set_pod_status(finished, {"phase": "Succeeded"})
    assert count() == AuditResult()


def test_stored_without_the_default_class(control_plane: ControlPlane, audited: str, count: Count) -> None:
    control_plane.api.create(_pod(audited, "no-class", labels={"app": "other"}))
    assert count() == AuditResult()
    assert count(default_class="audit-low") == AuditResult(1, (f"{audited}/no-class",))


def test_a_handler_that_is_added_is_audited_too(
    control_plane: ControlPlane, audited: str, count: Count, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Reviews and the audit use the same list."""

    def default_hostname(new: NewPod, _: Cluster) -> Answer:
        return ALLOWED if new.pod.metadata.name == "other" else Answer(patch=(add("/spec/hostname", "web"),))

    for name in ("web", "other"):
        control_plane.api.create(_pod(audited, name, labels={"app": "other"}))
    assert count() == AuditResult()
    rule = handlers.Rule("hostname", "spec.hostname", default_hostname)
    monkeypatch.setattr(handlers, "DEFAULTS", [*handlers.DEFAULTS, rule])
    review = decode_review(create_review(_pod(audited, "web", labels={"app": "other"})))
    assert add("/spec/hostname", "web") in handlers.mutate(review, _cluster(audited)).patch
    assert count() == AuditResult(1, (f"{audited}/web",))


def test_every_handler_that_patches_is_in_that_list() -> None:
    modules = [importlib.import_module(f"webhook.rules.{found.name}") for found in iter_modules(handlers.__path__)]
    patching = {module.__name__ for module in modules if add in vars(module).values()}
    assert patching == {rule.judge.__module__ for rule in handlers.DEFAULTS}


def test_pages(control_plane: ControlPlane, audited: str, count: Count, monkeypatch: pytest.MonkeyPatch) -> None:
    """All are counted, and only a few are named."""
    monkeypatch.setattr("webhook.serving.audit._PAGE", 2)
    for number in range(7):
        control_plane.api.create(_pod(audited, f"missed-{number}"))
    assert count() == AuditResult(7, tuple(f"{audited}/missed-{number}" for number in range(3)))


def test_result_is_logged_once_and_measured(
    control_plane: ControlPlane, audited: str, caplog: pytest.LogCaptureFixture
) -> None:
    control_plane.api.create(_pod(audited, "missed"))
    metrics = Metrics()
    transport = ClientTransport(kubeconfig=str(control_plane.admin_kubeconfig), request_timeout=60)
    audit = Audit(transport, _cluster(audited), metrics, lambda: True, configuration=CONFIGURATION)
    assert math.isnan(_value(metrics, "qos_webhook_unpatched_pods"))
    for _ in range(2):
        audit.report(audit.count())
    transport.close()
    assert _value(metrics, "qos_webhook_unpatched_pods") == 1
    assert _value(metrics, "qos_webhook_audit_timestamp_seconds") > time.time() - 3600
    (line,) = (record.getMessage() for record in caplog.records if record.name == "webhook.serving.audit")
    assert line.startswith(f"pods stored without the defaults that the webhook would set now: 1, {audited}/missed: ")


@pytest.mark.parametrize("mode", ["self", "files"])
def test_one_replica_audits_for_all(control_plane: ControlPlane, audited: str, tmp_path: Path, mode: str) -> None:
    """The holder of the Lease, with every source of the certificate; when it ends normally another one continues."""
    control_plane.api.create(_pod(audited, "no-class"))
    lease = {"namespace": audited, "name": f"audit-{mode}"}
    certificate, key = Files(tmp_path).credential("server", Authority().server(()))
    config: Object = {
        "kubeconfig": str(control_plane.admin_kubeconfig),
        "priorityClasses": {"defaults": {audited: "audit-once"}},
        "certificate": {"kept": {"secret": lease, "names": ["127.0.0.1"], "configuration": CONFIGURATION}},
    }
    if mode == "files":
        config["certificate"] = {"files": {"certificate": str(certificate), "key": str(key)}}
        config["audit"] = {"configuration": CONFIGURATION, "lease": lease}
    # As the chart creates them: the program creates neither.
    metadata = {"name": f"audit-{mode}", "namespace": audited}
    kept: list[Object] = [
        {"apiVersion": "v1", "kind": "Secret", "metadata": metadata},
        {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": metadata},
    ]
    with control_plane.holding([raw_priority_class("audit-once", 7), *kept]), ExitStack() as stack:
        replicas = []
        for number in range(2):
            (folder := tmp_path / str(number)).mkdir()
            replicas.append(stack.enter_context(running_demo(folder, demo=False, **config)))
        wait_for(lambda: all(map(_ready, replicas)) and any(map(_counted, replicas)), "one has counted")
        # Enough time for the other to do it too.
        time.sleep(2.5)
        (holder,) = filter(_counted, replicas)
        (other,) = (replica for replica in replicas if replica is not holder)
        assert holder.metric("qos_webhook_unpatched_pods") == 1
        assert math.isnan(other.metric("qos_webhook_unpatched_pods"))
        if mode == "self":
            holder.process.terminate()
            wait_for(lambda: _counted(other), "the other continues")
            assert other.metric("qos_webhook_unpatched_pods") == 1


def _ready(replica: DemoServer) -> bool:
    return replica.metric("qos_webhook_ready") == 1


def _counted(replica: DemoServer) -> bool:
    return replica.metric("qos_webhook_audit_timestamp_seconds") > 0


def test_pages_are_read_slowly(control_plane: ControlPlane, audited: str, count: Count, monkeypatch: Any) -> None:
    """The API server lists as slowly as its answers are processed."""
    monkeypatch.setattr("webhook.serving.audit._PAGE", 1)
    for number in range(5):
        control_plane.api.create(_pod(audited, f"missed-{number}"))
    began = time.monotonic()
    assert count().count == 5
    assert time.monotonic() - began >= 4 * 0.1


def test_others_are_served_between_pods_that_cost_much(
    control_plane: ControlPlane, audited: str, count: Count, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a pause of zero length, gevent would not poll its sockets."""
    for number in range(5):
        control_plane.api.create(_pod(audited, f"missed-{number}"))
    sleep, rests = time.sleep, []

    def slow(*asked: Any) -> Any:
        sleep(0.02)
        return fill_in(*asked)

    def rest(seconds: float) -> None:
        rests.append(seconds)

    monkeypatch.setattr("webhook.serving.audit.fill_in", slow)
    monkeypatch.setattr("webhook.serving.audit.time", SimpleNamespace(monotonic=time.monotonic, sleep=rest))
    assert count().count == 5
    assert len([seconds for seconds in rests if seconds >= 0.02]) > 5


def test_regained_lease_starts_no_second_audit(control_plane: ControlPlane, monkeypatch: pytest.MonkeyPatch) -> None:
    """Replicas that lose it to each other because they are busy must not get more work from that."""
    terms, audits = iter([True, False, True, False, True]), []
    transport = ClientTransport(kubeconfig=str(control_plane.admin_kubeconfig), request_timeout=60)
    audit = Audit(transport, make_cluster([]), Metrics(), terms.__next__, configuration="")

    def count() -> AuditResult:
        audits.append("audit")
        return AuditResult()

    monkeypatch.setattr("webhook.serving.audit._STEP_SECONDS", 0)
    monkeypatch.setattr(audit, "count", count)
    with pytest.raises(StopIteration):
        audit.run(list, 3600)
    transport.close()
    assert audits == ["audit"]


def test_replica_that_loses_the_lease_stops_at_the_next_page(
    control_plane: ControlPlane, audited: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("webhook.serving.audit._PAGE", 1)
    for number in range(3):
        control_plane.api.create(_pod(audited, f"missed-{number}"))
    terms = iter([True, True, False])
    transport = ClientTransport(kubeconfig=str(control_plane.admin_kubeconfig), request_timeout=60)
    audit = Audit(transport, _cluster(audited), Metrics(), lambda: next(terms), configuration=CONFIGURATION)
    with pytest.raises(Exception, match="another replica counts them now"):
        audit.count()
    transport.close()


def _value(metrics: Metrics, name: str) -> float:
    lines = metrics.render().decode().splitlines()
    return next(float(line.split()[1]) for line in lines if line.startswith(f"{name} "))
