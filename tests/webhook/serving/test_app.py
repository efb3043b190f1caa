"""The webhook over HTTP: whole answers, and hostile input."""

from __future__ import annotations

import json
import time

import pytest
from flask.testing import FlaskClient

from cluster_io.demo import demo_objects
from cluster_io.in_memory import NothingSource
from cluster_io.source import Source
from tests.webhook.clusters import make_cluster
from tests.webhook.review_objects import create_review, delete_review, pod_object
from webhook.cluster.view import Cluster
from webhook.serving.app import create_app

DB_0 = next(entry for entry in demo_objects() if entry["kind"] == "Pod" and entry["metadata"]["name"] == "db-0")

RISK = "db-0 on node-b2: StatefulSet db promises at most one, but a second may start while it still runs"
CHECK = (
    "nothing keeps a second writer off volume data (claim data-db-0, NFS, ReadWriteOnce); "
    "check now whether container db still runs on node-b2: "
    "kubectl qos died pod/db-0 -n shop; kubectl qos node node-b2"
)
WARNED = {"warned": "force-deletion: options.gracePeriodSeconds"}
OLD_VERSION = {
    "kind": "AdmissionReview",
    "apiVersion": "admission.k8s.io/v1beta1",
    "request": {"uid": "x", "operation": "DELETE", "resource": {}},
}


@pytest.fixture
def client(demo_cluster: Cluster) -> FlaskClient:
    return create_app(demo_cluster, lambda: (), lambda: False).test_client()


def test_answer_is_a_whole_admission_review(client: FlaskClient) -> None:
    answer = client.post("/validate", data=delete_review(DB_0), content_type="application/json")
    assert answer.status_code == 200
    assert answer.get_json() == {
        "apiVersion": "admission.k8s.io/v1",
        "kind": "AdmissionReview",
        "response": {
            "uid": "705ab4f5-6393-11e8-b7cc-42010a800002",
            "allowed": True,
            "warnings": [RISK, CHECK],
            "auditAnnotations": WARNED,
        },
    }


@pytest.mark.parametrize(
    ("query", "seconds"),
    [("", 0.5), ("?timeout=10s", 2.5), ("?a=b&timeout=1s", 0.25), ("?timeout=999s", 7.5), ("?timeout=soon", 0.5)],
)
def test_live_reads_take_a_quarter_of_the_api_servers_timeout(
    demo_cluster: Cluster, query: str, seconds: float
) -> None:
    deadlines: list[float] = []

    def live(deadline: float | None) -> Source:
        assert deadline is not None
        deadlines.append(deadline)
        return NothingSource("default")

    cluster = Cluster(make_cluster()._caches, live, demo_cluster._spread_defaults, demo_cluster.now)
    client = create_app(cluster, lambda: (), lambda: False).test_client()
    review = create_review(pod_object(priority=None, priorityClassName="high"))
    before = time.monotonic()
    assert client.post(f"/mutate{query}", data=review, content_type="application/json").status_code == 200
    # One source, although its namespace and its class are both read; and it belongs to the review.
    (deadline,) = deadlines
    assert before + seconds <= deadline <= time.monotonic() + seconds


def test_healthz(client: FlaskClient) -> None:
    assert client.get("/healthz").data == b"ok\n"


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b"", "not valid JSON"),
        (b"[]", "this is a list; write a mapping"),
        (b"{" * 100_000, "not valid JSON"),
        (b'{"a":' * 100_000, "not valid JSON"),
        (b'{"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1"}', "the field request is missing"),
        (json.dumps(OLD_VERSION).encode(), "admission.k8s.io/v1beta1 AdmissionReview is not supported"),
        (b'{"kind": NaN}', "not valid JSON"),
        (b'{"kind": \xff}', "not valid JSON"),
    ],
)
def test_bad_reviews_get_the_reason(client: FlaskClient, body: bytes, words: str) -> None:
    answer = client.post("/validate", data=body, content_type="application/json")
    assert answer.status_code == 400
    assert words in answer.get_data(as_text=True)


def test_unreadable_pod_is_allowed(client: FlaskClient) -> None:
    review = json.loads(delete_review(DB_0))
    review["request"]["oldObject"] = {"spec": 7}
    answer = client.post("/validate", data=json.dumps(review), content_type="application/json")
    what, problem = 'pods "db-0"', "spec: 7 is a number; write a mapping"
    assert answer.get_json()["response"] == {
        "uid": review["request"]["uid"],
        "allowed": True,
        "warnings": [f"{what}: allowed without a check: it cannot be read: request.oldObject of pods: {problem}"],
        "auditAnnotations": {"warned": "unseen: oldObject"},
    }


def test_warnings_are_plain_and_short(client: FlaskClient) -> None:
    review = json.loads(delete_review(DB_0))
    review["request"]["oldObject"]["metadata"]["name"] = "a\x1b[2J\n" + "b" * 300
    answer = client.post("/validate", data=json.dumps(review), content_type="application/json")
    for warning in answer.get_json()["response"]["warnings"]:
        assert warning.isprintable()
        assert len(warning) <= 256
