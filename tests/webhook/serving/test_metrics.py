"""The metrics: of a running server, of caches and certificates, and that each is documented."""

from __future__ import annotations

import http.client
import json
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from http import HTTPStatus
from pathlib import Path
from typing import Any, Self

import pytest
from flask.testing import FlaskClient
from prometheus_client.parser import text_string_to_metric_families

from cluster_io.demo import demo_objects
from cluster_io.kinds import NAMESPACES
from cluster_io.live.reflector import Reflector
from tests.webhook.clusters import make_cluster
from tests.webhook.demo_server import DemoServer, running_demo
from tests.webhook.review_objects import create_review, delete_review, leaves, pod_object, with_text
from webhook.certificates.serving import CertificateStatus
from webhook.cluster.cached import CachedNamespace, NamespaceMeta
from webhook.cluster.view import Cluster
from webhook.serving.app import REVIEW_PATHS, create_app
from webhook.serving.metrics import Metrics, MetricSources

DOCUMENT = Path(__file__).resolve().parents[3] / "docs" / "webhook" / "reference.md"
DB_0 = next(entry for entry in demo_objects() if entry["kind"] == "Pod" and entry["metadata"]["name"] == "db-0")


def samples(metrics: Metrics) -> dict[str, float]:
    """Every series and its value."""
    found = {}
    for family in text_string_to_metric_families(metrics.render().decode()):
        for sample in family.samples:
            labels = ",".join(f"{name}={value}" for name, value in sorted(sample.labels.items()))
            found[f"{sample.name}{{{labels}}}" if labels else sample.name] = sample.value
    return found


def client_of(cluster: Cluster, metrics: Metrics, waiting_for: tuple[str, ...] = ()) -> FlaskClient:
    return create_app(cluster, lambda: waiting_for, lambda: False, metrics=metrics).test_client()


def outcomes(metrics: Metrics) -> dict[str, float]:
    """The counted reviews."""
    prefix = "qos_webhook_reviews_total"
    return {name.removeprefix(prefix): value for name, value in samples(metrics).items() if prefix in name and value}


class BrokenCluster(Cluster):
    """An error of ours."""

    def __init__(self) -> None:
        pass

    def for_review(self, *_: float) -> Self:
        return self

    def namespace(self, name: str) -> CachedNamespace:
        raise ZeroDivisionError(name)


@pytest.mark.parametrize(
    ("path", "body", "outcome"),
    [
        pytest.param("/validate", delete_review(DB_0), "warned", id="warned"),
        pytest.param("/validate", delete_review(DB_0, seconds=30), "allowed", id="allowed"),
        pytest.param("/validate", create_review(pod_object(priorityClassName="none")), "denied", id="denied"),
        pytest.param(
            "/mutate", create_review(pod_object(priorityClassName="high", priority=None)), "patched", id="patched"
        ),
        pytest.param("/mutate", create_review({**pod_object(), "spec": 7}), "unreadable", id="unreadable"),
    ],
)
def test_reviews_are_counted_by_outcome(path: str, body: bytes, outcome: str, demo_cluster: Cluster) -> None:
    metrics = Metrics(REVIEW_PATHS)
    classes = [
        {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "high"}, "value": 7}
    ]
    cluster = demo_cluster if outcome in {"warned", "allowed"} else make_cluster(classes)
    answer = client_of(cluster, metrics).post(path, data=body, content_type="application/json")
    assert answer.status_code == 200
    assert outcomes(metrics) == {f"{{outcome={outcome},path={path}}}": 1}
    assert samples(metrics)[f"qos_webhook_review_duration_seconds_count{{path={path}}}"] == 1


def test_crashing_handler_allows_and_is_counted(caplog: pytest.LogCaptureFixture) -> None:
    metrics = Metrics(REVIEW_PATHS)
    client = client_of(BrokenCluster(), metrics)
    answer = client.post("/mutate", data=create_review(pod_object(name="web")), content_type="application/json")
    uid = "705ab4f5-6393-11e8-b7cc-42010a800002"
    warning = 'pods "web": no defaults are filled in: the webhook failed; its log shows why'
    audit = {"warned": "unseen: object"}
    expected = {"uid": uid, "allowed": True, "warnings": [warning], "auditAnnotations": audit}
    assert answer.get_json()["response"] == expected
    assert outcomes(metrics) == {"{outcome=failed,path=/mutate}": 1}
    assert f"review {uid} of pods was not checked" in caplog.text


def test_not_ready_is_retried(demo_cluster: Cluster) -> None:
    """client-go retries after a 503 with Retry-After; the connection is closed, so that another replica may answer."""
    metrics = Metrics(REVIEW_PATHS)
    client = client_of(demo_cluster, metrics, ("services",))
    answer = client.post("/mutate", data=create_review(pod_object()), content_type="application/json")
    assert answer.status_code == 503
    assert answer.get_data(as_text=True) == "not ready: waiting for services\n"
    assert answer.headers["Retry-After"] == "0"
    assert samples(metrics)["qos_webhook_refused_requests_total{code=503}"] == 1
    assert outcomes(metrics) == {}


def test_ready_while_a_review_waits(demo_cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("webhook.serving.app._HOLD_SECONDS", 60)
    missing = [["services"], ["services"], []]
    app = create_app(demo_cluster, lambda: missing.pop(0), lambda: False)
    answer = app.test_client().post("/mutate", data=create_review(pod_object()), content_type="application/json")
    assert answer.status_code == 200
    assert missing == []


class _Silent:
    """An unavailable API server: the cache is filled by hand."""

    def get(self, path: str, accept: str = "application/json") -> Any:
        raise AssertionError(f"{path}: {accept}")

    def lines(self, path: str, *, idle_timeout: float) -> Iterator[bytes]:
        raise AssertionError(f"{path}: {idle_timeout}")


def test_caches_certificate_and_connections() -> None:
    cache = Reflector(_Silent(), NAMESPACES, CachedNamespace)
    status = CertificateStatus(
        not_after=datetime(2027, 1, 1, tzinfo=UTC), authority_not_after=None, writer=True, renewals=2, failures=1
    )
    metrics = Metrics()
    metrics.watch(
        MetricSources(
            caches=[cache], ready=lambda: cache.synced, certificate=lambda: status, connections=lambda: {"idle": 3}
        )
    )
    assert samples(metrics)["qos_webhook_ready"] == 0
    assert "qos_webhook_cache_age_seconds{cache=namespaces}" not in samples(metrics)
    cache.fill([CachedNamespace(metadata=NamespaceMeta(name=name)) for name in ("shop", "data")])
    cache.heard_at = time.monotonic() - 100
    found = samples(metrics)
    assert found["qos_webhook_ready"] == 1
    assert 100 <= found.pop("qos_webhook_cache_age_seconds{cache=namespaces}") < 200
    expected = {
        "qos_webhook_cache_synced{cache=namespaces}": 1,
        "qos_webhook_cache_objects{cache=namespaces}": 2,
        "qos_webhook_cache_lists_total{cache=namespaces}": 1,
        "qos_webhook_cache_watches_total{cache=namespaces}": 0,
        "qos_webhook_cache_failures_total{cache=namespaces}": 0,
        "qos_webhook_certificate_expiry_timestamp_seconds": 1798761600,
        "qos_webhook_certificate_writer": 1,
        "qos_webhook_certificate_renewals_total": 2,
        "qos_webhook_certificate_failures_total": 1,
        "qos_webhook_connections{state=idle}": 3,
    }
    assert {name: found.get(name) for name in expected} == expected
    assert "qos_webhook_authority_expiry_timestamp_seconds" not in found


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DemoServer]:
    with running_demo(tmp_path_factory.mktemp("metrics"), "--log-format=json") as running:
        yield running


def test_of_a_running_server(server: DemoServer) -> None:
    assert server.metric("qos_webhook_ready") == 1
    reviews = 'qos_webhook_reviews_total{outcome="warned",path="/validate"}'
    before = server.metric(reviews)
    assert server.ask("POST", "/validate", delete_review(DB_0)).status == 200
    assert server.metric(reviews) == before + 1
    assert server.metric("process_resident_memory_bytes") > 0
    assert server.metric('qos_webhook_cache_synced{cache="services"}') == 1
    assert server.metric('qos_webhook_connections{state="request"}') == 0


def test_metrics_hold_no_names(server: DemoServer) -> None:
    """A client that reaches their port learns neither the objects in the cluster nor the users."""
    mark = "somebodys-secret"
    for body in (delete_review(DB_0), create_review(pod_object(name="web", priorityClassName="shop-secret"))):
        review = json.loads(body)
        for place in leaves(review):
            server.ask("POST", "/validate", json.dumps(with_text(review, place, mark)).encode())
            server.ask("POST", f"/{mark}", body)
    text = server.metrics()
    named = ("db-0", DB_0["metadata"]["uid"], DB_0["spec"]["nodeName"], "shop", "web-", "jane", mark)
    assert not [name for name in named if name in text]


def test_every_metric_is_documented(server: DemoServer) -> None:
    named = set(re.findall(r"^# TYPE (qos_webhook_\w+) ", server.metrics(), re.MULTILINE))
    documented = set(re.findall(r"^\| `(qos_webhook_\w+)`", DOCUMENT.read_text(encoding="utf-8"), re.MULTILINE))
    of_certificates = {name for name in documented if "_certificate_" in name or "_authority_" in name}
    # Counters appear with their first count, and the demo cluster has no kept certificate.
    later = {
        "qos_webhook_refused_requests_total",
        "qos_webhook_closed_connections_total",
        "qos_webhook_events_total",
    }
    assert {name for name in named if not name.endswith("_created")} | of_certificates | later == documented


def test_only_metrics_are_served_there(server: DemoServer) -> None:
    """For every method, and for the paths of the other port."""
    review = delete_review(DB_0)
    counted = 'qos_webhook_reviews_total{outcome="warned",path="/validate"}'
    before = server.metric(counted)
    paths = ("/", "/debug", "/metrics/", "//metrics", "/metrics/../validate", "/healthz", "/readyz", *REVIEW_PATHS)
    requests = [("GET", path) for path in paths]
    requests += [("POST", path) for path in (*REVIEW_PATHS, "/metrics")]
    requests += [(method, "/metrics") for method in ("PUT", "HEAD", "OPTIONS", "TRACE", "CONNECT")]
    for method, path in requests:
        connection = http.client.HTTPConnection("127.0.0.1", server.metrics_port, timeout=60)
        connection.request(method, path, review)
        assert connection.getresponse().status == HTTPStatus.NOT_FOUND, (method, path)
        connection.close()
    assert server.metric(counted) == before


def test_lines_of_the_server_are_json(server: DemoServer) -> None:
    """Including gunicorn's."""
    server.ask("POST", "/validate", create_review({**pod_object(name="web"), "spec": 7}))
    lines = [json.loads(line) for line in server.log().splitlines()]
    assert {"gunicorn.error", "webhook.review"} <= {line["logger"] for line in lines}
    reviews = [line for line in lines if line["logger"] == "webhook.review"]
    assert ("unreadable", "pods/shop/web") in {(line["outcome"], line["object"]) for line in reviews}


def test_address_that_is_taken(server: DemoServer, tmp_path: Path) -> None:
    program = Path(sys.executable).parent / "qos-webhook"
    taken = f"127.0.0.1:{server.metrics_port}"
    done = subprocess.run(
        [program, "--demo", "--address=127.0.0.1:0", f"--metrics-address={taken}"],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
        cwd=tmp_path,
    )
    assert done.returncode == 3
    assert f"error: the metrics address {taken}: Address already in use: " in done.stderr
    assert "Traceback" not in done.stderr
