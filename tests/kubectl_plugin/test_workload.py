"""A workload's page: how many of its pods run, which is the worst, and why."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubectl_plugin.reports.workload import pod_counts, pods_wanted
from podrules.api.model.base import Condition
from podrules.api.model.decode import from_object
from podrules.api.model.pod import Pod
from podrules.api.model.workload import CronJob, Workload, WorkloadSpec, WorkloadStatus
from podrules.ending.pod_state import PodState, state_of
from podrules.node.reachability import NodeReach, Reach
from podrules.pod.health import health
from tests.kubectl_plugin.running import run, write_cluster
from tests.objects import raw_condition, raw_node, raw_pod, raw_workload

NAMESPACES = ("shop", "payments", "data", "batch", "ml", "monitoring", "kube-system")
KINDS = ("deployments", "replicasets", "statefulsets", "daemonsets", "jobs", "cronjobs")
SINCE = datetime(2026, 10, 17, 3, 2, 56, tzinfo=UTC)


def _demo_workloads() -> list[tuple[str, str]]:
    found = []
    for namespace in NAMESPACES:
        for kind in KINDS:
            names = run("explain", kind, "-n", namespace, "--demo", "-o", "name").out.split()
            found += [(namespace, name) for name in names]
    return found


def _page(namespace: str, target: str, *more: str) -> str:
    ran = run("explain", target, "-n", namespace, "--demo", *more)
    assert ran.code == 0, ran.err
    return ran.out


def _lead(page: str) -> str:
    """The verdict's sentences in one line."""
    return " ".join(page.partition("\n\n")[0].splitlines()[1:])


@pytest.mark.parametrize(
    ("namespace", "target", "lead"),
    [
        (
            "shop",
            "deployment/checkout",
            "x 5 of 6 run, 1 pending for 3 min: checkout-mv9cgvs6p-x2x7p: 0 of 12 nodes fit.",
        ),
        ("shop", "deployment/cart", "ok 4 of 4 run."),
        ("shop", "statefulset/db", "x 1 of 2 runs, 1 terminating on silent node-c3 since 03:02:56 UTC: db-1: stuck,"),
        (
            "monitoring",
            "daemonset/log-agent",
            "x 11 of 12 run, 1 on silent node-c3 since 03:02:56 UTC: log-agent-fwj7l:",
        ),
        ("batch", "job/video-encode", "ok 0 of 12 succeeded, 3 run."),
        ("ml", "job/evaluate", "! 0 of 1 succeeded, 1 pending for 58 min: evaluate-j3xhf: a scheduling gate holds it."),
    ],
)
def test_count_leads(namespace: str, target: str, lead: str) -> None:
    assert _lead(_page(namespace, target)).startswith(lead)


def test_faulty_pods_are_named_with_the_reason() -> None:
    lead = _lead(_page("shop", "deployment/image-resizer"))
    assert re.match(
        r"x 1 of 2 runs, 1 in CrashLoopBackOff: image-resizer-\S+: \"resizer\" CrashLoopBackOff, 23 restarts", lead
    )


def test_pod_on_a_silent_node_is_not_running() -> None:
    page = _page("monitoring", "daemonset/log-agent")
    [row] = re.findall(r"^log-agent-fwj7l [^\n]*(?:\n +[^\n]*)*", page, re.MULTILINE)
    assert " ".join(row.split()).endswith("NodeDown on silent node-c3 since 03:02:56 UTC")
    assert "Running" not in row


def test_next_leads_to_the_worst() -> None:
    for namespace, name in _demo_workloads():
        report = json.loads(_page(namespace, name, "-o", "json"))
        pods = {pod["name"]: PodState(pod["state"]) for pod in report["pods"] or ()}
        said = re.findall(r"kubectl qos explain pod/(\S+)", _page(namespace, name))
        if not pods:
            assert said == []
            continue
        worst = min(state.worse for state in pods.values())
        assert pods[said[0]].worse == worst, (namespace, name)
        if worst < PodState.SUCCEEDED.worse:
            assert {PodState.READY, PodState.SUCCEEDED}.isdisjoint(pods[pod] for pod in said), (namespace, name)


def test_at_most_ten_pods_by_default() -> None:
    short, wide = (_page("monitoring", "daemonset/log-agent", *more) for more in ((), ("-o", "wide")))
    assert sum(line.startswith("log-agent-") for line in short.splitlines()) == 10
    assert "and 2 more (-o wide)" in short
    assert sum(line.startswith("log-agent-") for line in wide.splitlines()) == 12
    assert "more (-o wide)" not in wide


@given(
    states=st.lists(st.sampled_from(PodState)),
    wanted=st.integers(0, 12),
    kind=st.sampled_from(["Deployment", "StatefulSet", "DaemonSet", "Job"]),
)
def test_counts_add_up(states: list[PodState], wanted: int, kind: str) -> None:
    counts = pod_counts(states, wanted, kind)
    there = counts.ready + counts.not_ready + counts.starting + counts.pending + counts.broken + counts.unreachable
    leaving = counts.terminating if counts.terminating_awaited else 0
    assert there + leaving + counts.missing == wanted + counts.surplus
    assert min(counts.missing, counts.surplus) == 0
    assert there + counts.terminating + counts.failed + counts.succeeded == len(states)
    assert counts.terminating_awaited is (kind in {"StatefulSet", "DaemonSet"})


def _pod(phase: str = "Running", node: str = "node-1", deleted: str = "", ready: str = "True", wait: str = "") -> Pod:
    state = {"waiting": {"reason": wait}} if wait else {"running": {}}
    conditions = [raw_condition("Ready", ready)] if ready else []
    statuses = [{"name": "app", "ready": ready == "True", "state": state}]
    status = {"phase": phase, "conditions": conditions, "containerStatuses": statuses}
    meta = {"deletionTimestamp": deleted or None}
    return from_object(raw_pod("web-0", metadata=meta, nodeName=node, status=status), Pod)


def _state(pod: Pod, reach: NodeReach | None) -> PodState:
    deleted = pod.metadata.deletion_timestamp is not None
    return state_of(health(pod), bound=bool(pod.spec.node_name), deleted=deleted, reach=reach)


@pytest.mark.parametrize(
    ("pod", "state"),
    [
        (_pod(), PodState.READY),
        (_pod(ready="False"), PodState.NOT_READY),
        (_pod(phase="Pending", node="", ready=""), PodState.PENDING),
        (_pod(phase="Pending", ready="", wait="ContainerCreating"), PodState.STARTING),
        (_pod(ready="False", wait="CrashLoopBackOff"), PodState.BROKEN),
        (_pod(deleted="2026-10-17T03:00:00Z"), PodState.TERMINATING),
        (_pod(phase="Failed"), PodState.FAILED),
        (_pod(phase="Succeeded"), PodState.SUCCEEDED),
    ],
)
def test_states(pod: Pod, state: PodState) -> None:
    assert _state(pod, None) is state


@pytest.mark.parametrize("reach", list(Reach))
def test_silent_node_overrides_pod_status(reach: Reach) -> None:
    found = _state(_pod(), NodeReach("node-1", reach, "", SINCE))
    assert found is (PodState.UNREACHABLE if reach.quiet else PodState.READY)


@pytest.mark.parametrize(
    ("kind", "entry", "wanted"),
    [
        ("Deployment", Workload(spec=WorkloadSpec(replicas=3)), 3),
        ("Deployment", Workload(), 1),
        ("DaemonSet", Workload(status=WorkloadStatus(desired_number_scheduled=9)), 9),
        ("DaemonSet", Workload(), None),
        ("Job", Workload(spec=WorkloadSpec(completions=12, parallelism=3)), 3),
        ("Job", Workload(spec=WorkloadSpec(completions=12, parallelism=3), status=WorkloadStatus(succeeded=11)), 1),
        ("Job", Workload(spec=WorkloadSpec(completions=12, parallelism=3, suspend=True)), 0),
        (
            "Job",
            Workload(
                spec=WorkloadSpec(completions=1),
                status=WorkloadStatus(conditions=(Condition(type="Failed", status="True"),)),
            ),
            0,
        ),
        ("CronJob", CronJob(), None),
    ],
)
def test_desired_count(kind: str, entry: Workload | CronJob, wanted: int | None) -> None:
    assert pods_wanted(kind, entry) == wanted


def test_json_counts() -> None:
    counts = json.loads(_page("shop", "deployment/checkout", "-o", "json"))["counts"]
    assert (counts["wanted"], counts["ready"], counts["pending"], counts["terminating"]) == (6, 5, 1, 1)


def test_page_fits_a_screen() -> None:
    for namespace, name in _demo_workloads():
        assert len(_page(namespace, name).splitlines()) <= 40, (namespace, name)


CRASHES = {
    "name": "app",
    "restartCount": 3,
    "state": {"waiting": {"reason": "CrashLoopBackOff"}},
    "lastState": {"terminated": {"exitCode": 137, "reason": "Error", "finishedAt": "2026-11-23T11:00:00Z"}},
}


def _owned(folder: Path, node: dict[str, Any] | None, *, deleted: bool = False, kind: str = "Deployment") -> str:
    """A workload with one pod on node ``there``, as a snapshot."""
    status = {"conditions": [raw_condition("Ready", lastHeartbeatTime="2026-11-23T11:01:00Z")]}
    metadata = {"deletionTimestamp": "2026-11-23T10:00:00Z", "deletionGracePeriodSeconds": 30} if deleted else {}
    pod = raw_pod(
        "web-0", "shop", labels={"app": "web"}, metadata=metadata, nodeName="there",
        status={"phase": "Running", "conditions": [raw_condition("Ready", "False")], "containerStatuses": [CRASHES]},
    )  # fmt: skip
    workload = raw_workload(kind, "web", "shop", replicas=1)
    items = [workload, pod, raw_node("other", status=status)]
    if node is not None:
        items.append(raw_node("there", status=status, **node))
    return write_cluster(folder / "cluster.json", items)


@pytest.mark.parametrize(
    ("node", "end"),
    [
        pytest.param({}, "last exit 137 (signal 9, SIGKILL)", id="Linux"),
        pytest.param({"labels": {"kubernetes.io/os": "windows"}}, "last exit 137 (Error)", id="Windows"),
        pytest.param({"labels": {"type": "virtual-kubelet"}}, "last exit 137 (Error)", id="virtual kubelet"),
    ],
)
def test_workload_and_pod_agree_on_an_exit_code(node: dict[str, Any], end: str, tmp_path: Path) -> None:
    file = _owned(tmp_path, node)
    for asked in ("deployment/web", "pod/web-0"):
        page = run("explain", asked, "-n", "shop", "--snapshot", file).out
        assert end in _lead(page)
        assert ("SIGKILL" in page.replace("SIGKILL by", "")) == ("SIGKILL" in end)


@pytest.mark.parametrize(
    ("deleted", "lead"),
    [
        (False, "x 0 of 1 run, 1 on there, which has no Node object: web-0: unknown whether it runs."),
        (
            True,
            "x 0 of 1 run, 1 terminating on there, which has no Node object: web-0: pod garbage collection removes its",
        ),
    ],
)
def test_deleted_node_is_a_main_clause(deleted: bool, lead: str, tmp_path: Path) -> None:
    file = _owned(tmp_path, None, deleted=deleted, kind="StatefulSet")
    assert _lead(run("explain", "statefulset/web", "-n", "shop", "--snapshot", file).out).startswith(lead)
