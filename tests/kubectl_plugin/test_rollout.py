"""What the controller of a workload could not do, and which of its pods are outdated, told in the first sentences."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.kubectl_plugin.running import run

Explained = Callable[..., tuple[str, dict[str, Any]]]


def _pods(count: int) -> list[dict[str, Any]]:
    ready = {"type": "Ready", "status": "True"}
    return [
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": f"web-{index}", "namespace": "shop", "labels": {"app": "web"}},
            "spec": {"nodeName": "node-1", "containers": [{"name": "app"}]},
            "status": {
                "phase": "Running",
                "conditions": [ready],
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
        path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}), encoding="utf-8")
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
            "1 of 2 run, 1 not made yet: FailedCreate: exceeded quota: q. ",
            "PodsRefused",
            "trouble",
        ),
        (
            "ReplicaSet",
            {"replicas": 1},
            {"observedGeneration": 2, "replicas": 1, "conditions": [CONDITION]},
            1,
            "1 of 1 run. The controller cannot make or delete pods: FailedCreate: exceeded quota: q. ",
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
            "Failed: 0 of 1 succeeded, 1 failed. BackoffLimitExceeded: Job has reached the limit. ",
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
def test_what_the_controller_says(
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
