"""The first sentences of a workload show its controller's failures and its outdated pods."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.kubectl_plugin.running import run, write_cluster

Explained = Callable[..., tuple[str, dict[str, Any]]]


READY = {"type": "Ready", "status": "True"}


def _pods(count: int) -> list[dict[str, Any]]:
    return [
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": f"web-{index}", "namespace": "shop", "labels": {"app": "web"}},
            "spec": {"nodeName": "node-1", "containers": [{"name": "app"}]},
            "status": {
                "phase": "Running",
                "conditions": [READY],
                "containerStatuses": [{"name": "app", "ready": True, "state": {"running": {}}}],
            },
        }
        for index in range(count)
    ]


def _workload(kind: str, spec: dict[str, Any], status: dict[str, Any], generation: int = 2) -> dict[str, Any]:
    template = {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "app"}]}}
    pod_spec = {"selector": {"matchLabels": {"app": "web"}}, "template": template}
    if kind == "CronJob":
        pod_spec = {"jobTemplate": {"spec": {"template": template}}}
    return {
        "apiVersion": "batch/v1" if kind.endswith("Job") else "apps/v1",
        "kind": kind,
        "metadata": {"name": "web", "namespace": "shop", "uid": "u", "generation": generation},
        "spec": {**pod_spec, **spec},
        "status": status,
    }


@pytest.fixture
def explained(tmp_path: Path) -> Explained:
    def explain(kind: str, spec: dict[str, Any], status: dict[str, Any], pods: int = 0) -> tuple[str, dict[str, Any]]:
        node: dict[str, Any] = {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": "node-1"},
            "status": {"conditions": [{"type": "Ready", "status": "True"}]},
        }
        items = [_workload(kind, spec, status), *_pods(pods), node]
        path = tmp_path / "cluster.json"
        write_cluster(path, items)
        target = ("explain", f"{kind.lower()}/web", "-n", "shop", "--snapshot", str(path))
        ran = run(*target)
        assert ran.code == 0, ran.err
        return " ".join(ran.out.partition("\n\n")[0].splitlines()[1:]), json.loads(run(*target, "-o", "json").out)

    return explain


CONDITION = {"type": "ReplicaFailure", "status": "True", "reason": "FailedCreate", "message": "exceeded quota: q"}
STALLED = {"type": "Progressing", "status": "False", "reason": "ProgressDeadlineExceeded", "message": "timed out."}
FAILED = {"type": "Failed", "status": "True", "reason": "BackoffLimitExceeded", "message": "Job has reached the limit"}
ROLLED = {"observedGeneration": 2, "replicas": 2, "updatedReplicas": 1}
HALF = {**ROLLED, "currentRevision": "web-1", "updateRevision": "web-2"}
PARTITION = {"type": "RollingUpdate", "rollingUpdate": {"partition": 1}}


@pytest.mark.parametrize(
    ("kind", "spec", "status", "pods", "said", "code", "severity"),
    [
        (
            "Deployment",
            {"replicas": 2},
            {"observedGeneration": 2, "replicas": 1, "updatedReplicas": 1, "conditions": [CONDITION]},
            1,
            "1 of 2 runs, 1 not made yet: FailedCreate: exceeded quota: q. ",
            "PodsRefused",
            "trouble",
        ),
        (
            "ReplicaSet",
            {"replicas": 1},
            {"observedGeneration": 2, "replicas": 1, "conditions": [CONDITION]},
            1,
            "1 of 1 runs. The controller cannot make or delete pods: FailedCreate: exceeded quota: q. ",
            "PodsRefused",
            "trouble",
        ),
        (
            "Deployment",
            {"replicas": 2},
            {**ROLLED, "conditions": [STALLED]},
            2,
            "2 of 2 run, 1 of the old template. The rollout is stuck: ProgressDeadlineExceeded: timed out. ",
            "RolloutStuck",
            "trouble",
        ),
        (
            "Deployment",
            {"replicas": 2, "paused": True},
            ROLLED,
            2,
            "2 of 2 run, 1 of the old template. The rollout is paused: changes of the template are not rolled out. ",
            "RolloutPaused",
            "notice",
        ),
        (
            "Deployment",
            {"replicas": 2},
            {**ROLLED, "observedGeneration": 1},
            2,
            "2 of 2 run. The controller has not acted on the newest spec yet: it has seen generation 1 of 2. ",
            "SpecNotObserved",
            "notice",
        ),
        (
            "StatefulSet",
            {"replicas": 2, "updateStrategy": PARTITION},
            HALF,
            2,
            "2 of 2 run, 1 of the old template (partition 1). ",
            "RolloutPartial",
            "notice",
        ),
        (
            "StatefulSet",
            {"replicas": 2, "updateStrategy": PARTITION},
            {**HALF, "updateRevision": "web-1"},
            2,
            "2 of 2 run. ",
            "AllReady",
            "fine",
        ),
        (
            "DaemonSet",
            {"updateStrategy": {"type": "OnDelete"}},
            {"observedGeneration": 2, "desiredNumberScheduled": 2, "currentNumberScheduled": 2},
            2,
            "2 of 2 run, 2 of the old template (OnDelete). ",
            "RolloutPartial",
            "notice",
        ),
        (
            "Job",
            {"completions": 1},
            {"failed": 1, "conditions": [FAILED]},
            0,
            "Failed: 0 of 1 succeeded, 1 failed: BackoffLimitExceeded: Job has reached the limit.",
            "JobFailed",
            "trouble",
        ),
        ("Job", {"completions": 1, "suspend": True}, {}, 0, "Suspended: 0 of 1 succeeded. ", "Suspended", "notice"),
        (
            "CronJob",
            {"schedule": "*/5 * * * *"},
            {"active": [{"name": "web-1"}]},
            0,
            "Scheduled */5 * * * *: it has made no Job yet, 1 Job runs. ",
            "Scheduled",
            "fine",
        ),
        (
            "CronJob",
            {"schedule": "*/5 * * * *", "suspend": True},
            {},
            0,
            "Suspended: it makes no Jobs; it has made no Job yet, no Job runs. ",
            "Suspended",
            "notice",
        ),
    ],
)
def test_messages_of_the_controller(
    explained: Explained,
    kind: str,
    spec: dict[str, Any],
    status: dict[str, Any],
    pods: int,
    said: str,
    code: str,
    severity: str,
) -> None:
    lead, report = explained(kind, spec, status, pods)
    assert lead.startswith(said)
    assert report["verdict"]["text"].startswith(said)
    assert (report["verdict"]["code"], report["verdict"]["severity"]) == (code, severity)


UNREADY = {"conditions": [{"type": "Ready", "status": "False"}]}


@pytest.fixture
def listed(tmp_path: Path) -> Callable[..., str]:
    def explain(items: list[dict[str, Any]], *target: str) -> str:
        node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "node-1"}, "status": {"conditions": [READY]}}
        path = tmp_path / "cluster.json"
        write_cluster(path, [*items, node])
        ran = run("explain", *target, "-n", "shop", "--snapshot", str(path))
        assert ran.code == 0, ran.err
        return ran.out

    return explain


def _lead(page: str) -> str:
    return " ".join(page.partition("\n\n")[0].splitlines()[1:])


def _with_status(pod: dict[str, Any], **status: Any) -> dict[str, Any]:
    return {**pod, "status": {**pod["status"], **status}}


def test_running_pods_may_be_unready(listed: Callable[..., str]) -> None:
    pods = [_with_status(pod, **UNREADY) for pod in _pods(2)]
    lead = _lead(listed([_workload("Deployment", {"replicas": 2}, {}, 0), *pods], "deployment/web"))
    assert lead.startswith("0 of 2 ready, 2 run and are not ready, such as web-0")


def test_stateful_set_names_the_pod_that_is_missing(listed: Callable[..., str]) -> None:
    first, second, third = _pods(3)
    entry = _workload("StatefulSet", {"replicas": 3}, {}, 0)
    assert _lead(listed([entry, first, third], "sts/web")).startswith("2 of 3 run, web-1 not made yet. Each")
    waits = _lead(listed([entry, first, _with_status(second, **UNREADY)], "sts/web"))
    assert waits.startswith("1 of 3 ready, web-2 not made yet, 1 runs and is not ready: web-1")
    assert " web-2 waits for web-1, which is not Ready. " in waits
    parallel = _workload("StatefulSet", {"replicas": 3, "podManagementPolicy": "Parallel"}, {}, 0)
    assert "waits for" not in _lead(listed([parallel, first, _with_status(second, **UNREADY)], "sts/web"))


def test_remaining_evicted_pods_are_shown(listed: Callable[..., str]) -> None:
    first, *left = _pods(3)
    evicted = [_with_status(pod, phase="Failed", reason="Evicted", containerStatuses=[]) for pod in left]
    lead = _lead(listed([_workload("Deployment", {"replicas": 1}, {}, 0), first, *evicted], "deployment/web"))
    assert lead.startswith("1 of 1 runs. 2 evicted pods are left. ")


def test_terminating_pod_is_not_surplus(listed: Callable[..., str]) -> None:
    [pod] = _pods(1)
    pod["metadata"]["deletionTimestamp"] = "2026-10-17T03:00:00Z"
    lead = _lead(listed([_workload("Deployment", {"replicas": 0}, {}, 0), pod], "deployment/web"))
    assert lead.startswith("No pod is wanted; 1 is terminating. ")


def test_totals_of_workloads_add_up(listed: Callable[..., str]) -> None:
    def named(kind: str, name: str, spec: dict[str, Any], status: dict[str, Any]) -> dict[str, Any]:
        entry = _workload(kind, spec, status)
        spec = entry["spec"] | ({} if kind == "CronJob" else {"selector": {"matchLabels": {"app": name}}})
        return {**entry, "metadata": {**entry["metadata"], "name": name}, "spec": spec}

    items = [
        named("CronJob", "nightly", {"schedule": "0 3 * * *"}, {}),
        named("CronJob", "weekly", {"schedule": "0 3 * * 0", "suspend": True}, {}),
        named("Job", "failed", {}, {"failed": 1, "conditions": [FAILED]}),
        named("Job", "done", {}, {"succeeded": 1, "conditions": [{"type": "Complete", "status": "True"}]}),
        named("Job", "held", {"suspend": True}, {}),
        named("Deployment", "web", {"replicas": 2}, {}),
        named("Deployment", "all", {"replicas": 0}, {}),
    ]
    page = " ".join(listed([*items, *_pods(1)], "deployments,jobs,cronjobs").split())
    counts = "1 with all wanted pods, 1 with fewer, 1 failed, 1 complete, 1 scheduled, 2 suspended"
    assert f"7 workloads: {counts}" in page


def test_workload_with_most_missing_pods_comes_first(listed: Callable[..., str]) -> None:
    waiting = {"name": "app", "ready": False, "state": {"waiting": {"reason": "CrashLoopBackOff"}}}
    broken = {**UNREADY, "containerStatuses": [waiting]}

    def one(name: str, ready: int) -> list[dict[str, Any]]:
        entry = _workload("Deployment", {"replicas": ready + 1}, {}, 0)
        entry["metadata"]["name"], entry["spec"]["selector"] = name, {"matchLabels": {"app": name}}
        pods = _pods(ready + 1)
        pods[-1] = _with_status(pods[-1], **broken)
        for pod in pods:
            pod["metadata"] = {**pod["metadata"], "name": f"{name}-{pod['metadata']['name']}", "labels": {"app": name}}
        return [entry, *pods]

    page = listed([*one("almost", 5), *one("none", 0)], "deployments")
    assert page.index("\nnone ") < page.index("\nalmost ")
    assert "explain deployment/none" in page


WRITTEN = {"observedGeneration": 2, "replicas": 2}
REVISIONS = {"currentRevision": "web-1", "updateRevision": "web-2"}


@pytest.mark.parametrize(
    ("kind", "status", "old"),
    [
        pytest.param("Deployment", WRITTEN, 2, id="the controller wrote the status: omitted counts are 0"),
        pytest.param("StatefulSet", WRITTEN | REVISIONS, 2, id="the same for a StatefulSet"),
        pytest.param("StatefulSet", WRITTEN | REVISIONS | {"updatedReplicas": 2}, 0, id="all have the newest revision"),
        pytest.param("Deployment", {"observedGeneration": 2}, 0, id="no pod is counted"),
        pytest.param("Deployment", {"replicas": 2}, 0, id="no sign of a controller update"),
        pytest.param("Deployment", {}, 0, id="empty status"),
        pytest.param("DaemonSet", {"observedGeneration": 2, "currentNumberScheduled": 2}, 2, id="a DaemonSet's"),
        pytest.param("DaemonSet", {}, 0, id="empty status of a DaemonSet"),
    ],
)
def test_omitted_count_is_zero_after_controller_update(
    explained: Explained, kind: str, status: dict[str, Any], old: int
) -> None:
    lead, report = explained(kind, {"replicas": 2}, status, 2)
    assert report["rollout"]["old"] == old
    assert ("of the old template" in lead) is bool(old)


def test_terminating_stateful_set_pods_are_not_old(listed: Callable[..., str]) -> None:
    first, second = _pods(2)
    second["metadata"] |= {"deletionTimestamp": "2026-10-17T03:00:00Z", "deletionGracePeriodSeconds": 30}
    # replicas counts both pods, updatedReplicas only the first.
    entry = _workload("StatefulSet", {"replicas": 2}, WRITTEN | REVISIONS | {"updatedReplicas": 1})
    assert _lead(listed([entry, first, second], "sts/web")).startswith("1 of 2 runs, 1 terminating: web-1")


@pytest.mark.parametrize("ended", ["Complete", "Failed"])
def test_job_that_has_ended_makes_no_new_pod(explained: Explained, ended: str) -> None:
    lead, _ = explained("Job", {"completions": 1}, {"conditions": [{"type": ended, "status": "True"}]})
    assert lead.startswith(ended)
    assert "Each new pod" not in lead
    assert "Each new pod" in explained("Job", {"completions": 1}, {})[0]
