"""The first sentences of a workload show its controller's failures and its outdated pods."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

import pytest

from kubectl_plugin.reports.verdict import Severity
from tests.kubectl_plugin.answers import data
from tests.kubectl_plugin.running import run, write_cluster
from tests.objects import raw_condition, raw_node, raw_object, raw_pod, raw_workload

Json = dict[str, Any]
Explained = Callable[..., tuple[str, Json]]
READY = raw_condition("Ready")
UNREADY: Json = {"conditions": [raw_condition("Ready", "False")]}
SPEC = raw_pod()["spec"]
GOING = {"deletionTimestamp": "2026-10-17T03:00:00Z", "deletionGracePeriodSeconds": 30}


def _pods(count: int, app: str = "web", **status: Any) -> list[Json]:
    running = [{"name": "app", "ready": True, "state": {"running": {}}}]
    state = {"phase": "Running", "conditions": [READY], "containerStatuses": running, **status}
    names = [f"{app}-{index}" for index in range(count)]
    return [raw_pod(name, "shop", labels={"app": app}, nodeName="node-1", status=state) for name in names]


def _workload(kind: str, spec: Json, status: Json, generation: int = 2, name: str = "web") -> Json:
    if kind == "CronJob":
        made = raw_object(kind, name, "shop", spec={"jobTemplate": {"spec": {"template": {"spec": SPEC}}}, **spec})
    else:
        made = raw_workload(kind, name, "shop", selector={"matchLabels": {"app": name}}, **spec)
    made["metadata"] |= {"uid": "u", "generation": generation}
    return made | {"status": status}


@pytest.fixture
def listed(tmp_path: Path) -> Callable[..., str]:
    def explain(items: list[Json], *target: str) -> str:
        file = write_cluster(tmp_path / "cluster.json", [*items, raw_node("node-1", conditions=[READY])])
        ran = run("explain", *target, "-n", "shop", "--snapshot", file)
        assert ran.code == 0, ran.err
        return ran.out

    return explain


@pytest.fixture
def explained(listed: Callable[..., str], tmp_path: Path) -> Explained:
    def explain(kind: str, spec: Json, status: Json, pods: int = 0) -> tuple[str, Json]:
        target = f"{kind.lower()}/web"
        lead = _lead(listed([_workload(kind, spec, status), *_pods(pods)], target))
        return lead, data("explain", target, "-n", "shop", "--snapshot", str(tmp_path / "cluster.json"))

    return explain


def _lead(page: str) -> str:
    return " ".join(page.partition("\n\n")[0].splitlines()[1:])


CONDITION = raw_condition("ReplicaFailure", reason="FailedCreate", message="exceeded quota: q")
STALLED = raw_condition("Progressing", "False", reason="ProgressDeadlineExceeded", message="timed out.")
FAILED = raw_condition("Failed", reason="BackoffLimitExceeded", message="Job has reached the limit")
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
            "The controller cannot make or delete pods: FailedCreate: exceeded quota: q. 1 of 1 runs. ",
            "PodsRefused",
            "trouble",
        ),
        (
            "Deployment",
            {"replicas": 2},
            {**ROLLED, "conditions": [STALLED]},
            2,
            "The rollout is stuck: ProgressDeadlineExceeded: timed out. 2 of 2 run, 1 of the old template. ",
            "RolloutStuck",
            "trouble",
        ),
        (
            "Deployment",
            {"replicas": 2, "paused": True},
            ROLLED,
            2,
            "The rollout is paused: changes of the template are not rolled out. 2 of 2 run, 1 of the old template. ",
            "RolloutPaused",
            "notice",
        ),
        (
            "Deployment",
            {"replicas": 2},
            {**ROLLED, "observedGeneration": 1},
            2,
            "The controller has not acted on the newest spec yet: it has seen generation 1 of 2. 2 of 2 run. ",
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
    explained: Explained, kind: str, spec: Json, status: Json, pods: int, said: str, code: str, severity: str
) -> None:
    lead, report = explained(kind, spec, status, pods)
    assert lead.startswith(f"{Severity(severity).mark} {said}")
    assert report["verdict"]["text"].startswith(said)
    assert (report["verdict"]["code"], report["verdict"]["severity"]) == (code, severity)


FIRST, SECOND, THIRD = _pods(3)
WAITS = _pods(2, **UNREADY)
EVICTED: Json = {"phase": "Failed", "reason": "Evicted", "containerStatuses": []}


COUNTED: Final[Mapping[str, Any]] = {
    "running pods may be unready": (
        "Deployment",
        {"replicas": 2},
        WAITS,
        "! 0 of 2 ready, 2 run and are not ready, such as web-0",
    ),
    "the pod that is missing": (
        "StatefulSet",
        {"replicas": 3},
        [FIRST, THIRD],
        "! 2 of 3 run, web-1 not made yet. Each",
    ),
    "remaining evicted pods": (
        "Deployment",
        {"replicas": 1},
        [FIRST, *_pods(3, **EVICTED)[1:]],
        "ok 1 of 1 runs. 2 evicted pods are left. ",
    ),
    "a terminating pod is not surplus": (
        "Deployment",
        {"replicas": 0},
        [{**FIRST, "metadata": FIRST["metadata"] | GOING}],
        "ok No pod is wanted; 1 is terminating. ",
    ),
}


@pytest.mark.parametrize(("kind", "spec", "pods", "lead"), COUNTED.values(), ids=COUNTED)
def test_pods_that_are_counted(listed: Callable[..., str], kind: str, spec: Json, pods: list[Json], lead: str) -> None:
    assert _lead(listed([_workload(kind, spec, {}, 0), *pods], f"{kind.lower()}/web")).startswith(lead)


def test_stateful_set_pod_waits_for_the_one_before_it(listed: Callable[..., str]) -> None:
    waits = _lead(listed([_workload("StatefulSet", {"replicas": 3}, {}, 0), FIRST, WAITS[1]], "sts/web"))
    assert waits.startswith("! 1 of 3 ready, web-2 not made yet, 1 runs and is not ready: web-1")
    assert " web-2 waits for web-1, which is not Ready. " in waits
    parallel = _workload("StatefulSet", {"replicas": 3, "podManagementPolicy": "Parallel"}, {}, 0)
    assert "waits for" not in _lead(listed([parallel, FIRST, WAITS[1]], "sts/web"))


def test_totals_of_workloads_add_up(listed: Callable[..., str]) -> None:
    items = [
        _workload(kind, spec, status, name=name)
        for kind, name, spec, status in (
            ("CronJob", "nightly", {"schedule": "0 3 * * *"}, {}),
            ("CronJob", "weekly", {"schedule": "0 3 * * 0", "suspend": True}, {}),
            ("Job", "failed", {}, {"failed": 1, "conditions": [FAILED]}),
            ("Job", "done", {}, {"succeeded": 1, "conditions": [raw_condition("Complete")]}),
            ("Job", "held", {"suspend": True}, {}),
            ("Deployment", "web", {"replicas": 2}, {}),
            ("Deployment", "all", {"replicas": 0}, {}),
        )
    ]
    page = " ".join(listed([*items, *_pods(1)], "deployments,jobs,cronjobs").split())
    counts = "1 with all wanted pods, 1 with fewer, 1 failed, 1 complete, 1 scheduled, 2 suspended"
    assert f"7 workloads: {counts}" in page


def test_workload_with_most_missing_pods_comes_first(listed: Callable[..., str]) -> None:
    waiting = {"name": "app", "ready": False, "state": {"waiting": {"reason": "CrashLoopBackOff"}}}
    items = []
    for name, ready in (("almost", 5), ("none", 0)):
        broken = _pods(ready + 1, name, **UNREADY, containerStatuses=[waiting])[-1]
        items += [_workload("Deployment", {"replicas": ready + 1}, {}, 0, name), *_pods(ready, name), broken]
    page = listed(items, "deployments")
    assert page.index("\nx  none ") < page.index("\nx  almost ")
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
def test_omitted_count_is_zero_after_controller_update(explained: Explained, kind: str, status: Json, old: int) -> None:
    lead, report = explained(kind, {"replicas": 2}, status, 2)
    assert report["rollout"]["old"] == old
    assert ("of the old template" in lead) is bool(old)


def test_terminating_stateful_set_pods_are_not_old(listed: Callable[..., str]) -> None:
    going = {**SECOND, "metadata": SECOND["metadata"] | GOING}
    # replicas counts both pods, updatedReplicas only the first.
    entry = _workload("StatefulSet", {"replicas": 2}, WRITTEN | REVISIONS | {"updatedReplicas": 1})
    assert _lead(listed([entry, FIRST, going], "sts/web")).startswith("ok 1 of 2 runs, 1 terminating: web-1")


@pytest.mark.parametrize(("ended", "mark"), [("Complete", "ok"), ("Failed", "x")])
def test_job_that_has_ended_makes_no_new_pod(explained: Explained, ended: str, mark: str) -> None:
    lead, _ = explained("Job", {"completions": 1}, {"conditions": [raw_condition(ended)]})
    assert lead.startswith(f"{mark} {ended}")
    assert "Each new pod" not in lead
    assert "Each new pod" in explained("Job", {"completions": 1}, {})[0]
