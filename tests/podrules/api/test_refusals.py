"""The component that refused a pod, from the message of its controller's event or condition."""

from __future__ import annotations

import time
from datetime import UTC, datetime

import pytest

from podrules.api.model.base import Condition
from podrules.api.model.event import Event
from podrules.api.model.instant import instant
from podrules.api.model.workload import Workload, WorkloadSpec, WorkloadStatus
from podrules.api.refusals import RefusedFor, Refuser, newest_refusal, pods_short, refuser, said_by_server

FORBIDDEN = 'Error creating: pods "api-5d9-" is forbidden: '
CALL = 'Error creating: Internal error occurred: failed calling webhook "pods.guard.io": failed to call webhook: '
POST = f'{CALL}Post "https://guard.policy.svc:443/mutate?timeout=10s": '
AT = "policy/guard"
SCOPES = "{PriorityClass In [gold silver]}"
SPREAD = 'allowPrivilegeEscalation != false (container "a" must set securityContext.allowPrivilegeEscalation=false)'


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        (
            'Error creating: admission webhook "v.guard.io" denied the request: exceeded quota: q, go away',
            (RefusedFor.WEBHOOK_REFUSES, "v.guard.io", ""),
        ),
        (f'{CALL}no endpoints available for service "guard"', (RefusedFor.WEBHOOK_SERVICE_EMPTY, "pods.guard.io", "")),
        (f'{POST}no endpoints available for service "guard"', (RefusedFor.WEBHOOK_SERVICE_EMPTY, "pods.guard.io", AT)),
        (f'{POST}service "guard" not found', (RefusedFor.WEBHOOK_SERVICE_MISSING, "pods.guard.io", AT)),
        (f"{POST}x509: certificate has expired", (RefusedFor.WEBHOOK_CERTIFICATE, "pods.guard.io", AT)),
        (f"{POST}tls: failed to verify certificate", (RefusedFor.WEBHOOK_CERTIFICATE, "pods.guard.io", AT)),
        (f"{POST}dial tcp 10.9.0.4:443: connect: connection refused", (RefusedFor.WEBHOOK_PORT, "pods.guard.io", AT)),
        (f"{POST}context deadline exceeded", (RefusedFor.WEBHOOK_LATE, "pods.guard.io", AT)),
        (f"{POST}dial tcp 10.9.0.4:9443: i/o timeout", (RefusedFor.WEBHOOK_LATE, "pods.guard.io", AT)),
        (f"{POST}net/http: TLS handshake timeout", (RefusedFor.WEBHOOK_LATE, "pods.guard.io", AT)),
        (
            (
                'Error creating: Internal error occurred: failed calling admission webhook "old.io": Post '
                "https://o.p.svc:443/?timeout=30s: net/http: request canceled (Client.Timeout exceeded while awaiting)"
            ),
            (RefusedFor.WEBHOOK_LATE, "old.io", "p/o"),
        ),
        (
            "Error creating: Timeout: request did not complete within requested timeout - context deadline exceeded",
            (RefusedFor.SERVER_LATE, "", ""),
        ),
        (f"{POST}EOF", (RefusedFor.WEBHOOK_FAILS, "pods.guard.io", AT)),
        (
            f"{CALL.partition('failed to call')[0]}received invalid webhook response: expected response.uid=1",
            (RefusedFor.WEBHOOK_ANSWER, "pods.guard.io", ""),
        ),
        (
            "ValidatingAdmissionPolicy 'no-root' with binding 'all' denied request: run as a user",
            (RefusedFor.POLICY, "no-root", ""),
        ),
        (f"insufficient quota to match these scopes: [{SCOPES}]", (RefusedFor.QUOTA_SCOPE, "", SCOPES)),
        (f"{FORBIDDEN}insufficient quota to consume: pods", (RefusedFor.QUOTA_NONE, "", "pods")),
        (
            f"{FORBIDDEN}failed quota: team: must specify limits.cpu for: app; limits.memory for: app,side",
            (RefusedFor.QUOTA_UNSPECIFIED, "team", "limits.cpu for: app; limits.memory for: app,side"),
        ),
        (
            f"{FORBIDDEN}exceeded quota: team, requested: cpu=1,pods=1, used: cpu=9,pods=9, limited: cpu=9,pods=9",
            (RefusedFor.QUOTA_EXCEEDED, "team", "requested: cpu=1,pods=1, used: cpu=9,pods=9, limited: cpu=9,pods=9"),
        ),
        (f"{FORBIDDEN}status unknown for quota: team, resources: pods", (RefusedFor.QUOTA_UNCOUNTED, "team", "")),
        (
            f'{FORBIDDEN}violates PodSecurity "restricted:v1.30": {SPREAD}',
            (RefusedFor.POD_SECURITY, "restricted", SPREAD),
        ),
        (
            f"{FORBIDDEN}unable to validate against any security context constraint: [provider restricted-v2: no]",
            (RefusedFor.SECURITY_CONTEXT, "security context constraint", ""),
        ),
        (
            f"{FORBIDDEN}[maximum cpu usage per Container is 2, but limit is 4, maximum memory usage per Pod is 1Gi]",
            (RefusedFor.LIMIT_RANGE, "", "maximum cpu usage per Container is 2, but limit is 4"),
        ),
        (
            f"{FORBIDDEN}minimum memory usage per Pod is 64Mi.  No request is specified",
            (RefusedFor.LIMIT_RANGE, "", "minimum memory usage per Pod is 64Mi. No request is specified"),
        ),
        (
            f"{FORBIDDEN}cpu max limit to request ratio per Pod is 2, but provided ratio is 9.000000",
            (RefusedFor.LIMIT_RANGE, "", "cpu max limit to request ratio per Pod is 2, but provided ratio is 9.000000"),
        ),
        (
            f'{FORBIDDEN}error looking up service account shop/builder: serviceaccount "builder" not found',
            (RefusedFor.SERVICE_ACCOUNT, "builder", ""),
        ),
        (
            f"{FORBIDDEN}service account shop/etl was not found, retry after the service account is created",
            (RefusedFor.SERVICE_ACCOUNT, "etl", ""),
        ),
        (
            'create Pod db-1 in StatefulSet db failed error: object is being deleted: pods "db-1" already exists',
            (RefusedFor.NAME_ENDS, "db-1", ""),
        ),
        (f"{FORBIDDEN}no PriorityClass with name gold was found", (RefusedFor.PRIORITY_CLASS, "gold", "")),
        (f'{FORBIDDEN}pod rejected: RuntimeClass "kata" not found', (RefusedFor.RUNTIME_CLASS, "kata", "")),
        (
            f"{FORBIDDEN}pod node label selector conflicts with its namespace node label selector",
            (RefusedFor.NODE_SELECTOR, "", ""),
        ),
        (
            f"{FORBIDDEN}unable to create new content in namespace shop because it is being terminated",
            (RefusedFor.NAMESPACE_ENDS, "", ""),
        ),
        (
            'create Pod db-0 in StatefulSet db failed error: pods "db-0" already exists',
            (RefusedFor.NAME_TAKEN, "db-0", ""),
        ),
        (
            (
                'Pod "a" is invalid: [spec.containers[0].resources.requests: Invalid value: "2": must be less than or '
                "equal to cpu limit of 500m, spec.x: Required value]"
            ),
            (RefusedFor.LIMIT_BELOW_REQUEST, "cpu", "500m"),
        ),
        (
            'Error creating: Pod "a" is invalid: spec.containers[0].env[1].name: Required value',
            (RefusedFor.INVALID, "", "spec.containers[0].env[1].name"),
        ),
    ],
)
def test_refuser_by_message(message: str, expected: tuple[RefusedFor, str, str]) -> None:
    assert refuser(message) == Refuser(*expected)


def test_long_names_are_cut() -> None:
    found = refuser(f"failed quota: {'q' * 400}: must specify {'limits.cpu for: a,' * 40}")
    assert found is not None
    assert (len(found.name), len(found.detail)) == (253, 254)


def test_unknown_refuser() -> None:
    assert refuser("Error creating: the server is currently unable to handle the request") is None


@pytest.mark.parametrize(
    ("message", "said"),
    [
        ('Error creating: pods "a" is\n forbidden', 'pods "a" is forbidden'),
        ("create Pod db-0 in StatefulSet db failed error: etcdserver: timed out", "etcdserver: timed out"),
        ("create Claim d-db-0 for Pod db-0 in StatefulSet db failed error: no", "no"),
        ("no prefix", "no prefix"),
    ],
)
def test_messages_of_the_server(message: str, said: str) -> None:
    assert said_by_server(message) == said


@pytest.mark.parametrize(
    "part",
    ['failed calling webhook "', 'failed calling webhook "a" https://a.b.svc ', "maximum ", "create Pod a b ", "\x00"],
)
def test_hostile_messages_are_read_quickly(part: str) -> None:
    began = time.process_time()
    refuser(part * 100_000)
    assert time.process_time() - began < 5


def test_newest_refusal() -> None:
    def event(reason: str, last: str | None) -> Event:
        return Event(reason=reason, message="no", last_timestamp=last)

    old, new = event("FailedCreate", "2026-03-01T08:00:00Z"), event("FailedCreate", "9999-12-31T23:59:59Z")
    assert newest_refusal([old, new, event("SuccessfulCreate", "2026-03-02T08:00:00Z")], None) is new
    assert newest_refusal([old, new], instant("9999-12-31T23:59:59Z")) is new
    assert newest_refusal([event("FailedCreate", None)], None) is None


@pytest.mark.parametrize(("minutes", "holds"), [(19, True), (21, False)])
def test_refusal_that_was_not_repeated(minutes: int, holds: bool) -> None:
    event = Event(reason="FailedCreate", message="no", last_timestamp="2026-03-01T08:00:00Z")
    now = datetime(2026, 3, 1, 8, minutes, tzinfo=UTC)
    assert (newest_refusal([event], now) is event) is holds


HELD = (Condition(type="ReplicaFailure", status="True"),)


@pytest.mark.parametrize(
    ("kind", "status", "wanted", "short"),
    [
        ("Deployment", WorkloadStatus(observed_generation=1, replicas=1), 3, 2),
        ("Deployment", WorkloadStatus(observed_generation=1, replicas=4), 3, 0),
        ("Deployment", WorkloadStatus(observed_generation=1, replicas=4, updated_replicas=1, conditions=HELD), 3, 1),
        ("Deployment", WorkloadStatus(observed_generation=1, replicas=4, updated_replicas=3, conditions=HELD), 3, 0),
        ("Deployment", WorkloadStatus(observed_generation=1, replicas=1, updated_replicas=1, conditions=HELD), 3, 2),
        ("ReplicaSet", WorkloadStatus(observed_generation=1, replicas=3, conditions=HELD), 3, 0),
        ("StatefulSet", WorkloadStatus(), 3, 0),
        ("DaemonSet", WorkloadStatus(observed_generation=1, current_number_scheduled=4), 9, 5),
        ("DaemonSet", WorkloadStatus(current_number_scheduled=1), 3, 2),
        ("Job", WorkloadStatus(active=1), 2, 1),
        ("Job", WorkloadStatus(), None, 0),
    ],
)
def test_pods_short(kind: str, status: WorkloadStatus, wanted: int | None, short: int) -> None:
    assert pods_short(kind, Workload(spec=WorkloadSpec(), status=status), wanted) == short
