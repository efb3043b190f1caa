"""Unhealthy pods in every answer: `states.json` has a pod for each state."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import pytest

from tests.kubectl_plugin.answers import check_texts, data, said
from tests.kubectl_plugin.edits import CASES, items_of
from tests.kubectl_plugin.running import run, write_cluster
from tests.objects import raw_condition, raw_container, raw_node, raw_object, raw_owner, raw_pod

SHORTENED = str(CASES / "seeds/s4.json")


@pytest.fixture(scope="module")
def states(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A cluster that has only the objects of `states.json`."""
    return write_cluster(tmp_path_factory.mktemp("states") / "cluster.qos", items_of(CASES / "cli/states.json"))


def test_Q3_node_ranks_no_container_that_has_no_process(states: str) -> None:
    [order] = [one for one in data("node", "n1", "--snapshot", states)["oom"] if one["scope"] == "Global"]
    ranked = {place["pod"] for place in order["places"]}
    assert ranked == {"healthy", "notready", "oom2", "sigkill", "unknownphase"}


@pytest.mark.parametrize("name", ["crash", "image", "creating", "config", "initfail"])
def test_Q3_explain_shows_no_process_to_kill(name: str, states: str) -> None:
    assert "no process of it runs now: nothing to kill" in run("explain", f"pod/{name}", "--snapshot", states).out
    page = " ".join(run("explain", f"pod/{name}", "--snapshot", states, "-o", "wide").out.split())
    assert "container has no process now, so nothing for the kernel to kill: app" in page
    assert "containers that the kernel kills" not in page


def test_T1_absent_grace_period_is_the_default_of_the_api_server(states: str) -> None:
    plan = data("explain", "pod/healthy", "--snapshot", states)["termination"]
    assert plan["grace"] == {"seconds": 30, "source": "spec.terminationGracePeriodSeconds"}


def test_T5_explain_and_timeline_agree_on_a_shortened_grace() -> None:
    explained = said("explain", "pod/shortened", "--snapshot", SHORTENED)
    assert "its processes may run until 10:06:00 UTC." in explained
    check_texts(explained, ("SIGKILL by 60 s", "processes may live until 10:06:00 UTC"))
    assert "SIGKILL by 10:06:00 UTC" in said("explain", "pod/shortened", "--snapshot", SHORTENED, "--timeline=delete")


def test_T1_finalizer_delays_the_end_of_the_object() -> None:
    pod = ("explain", "pod/nightly-index-w5k9d", "-n", "batch", "--demo")
    kept = 'finalizer "batch.example.com/keep-output" keeps the object until the controller of batch.example.com'
    check_texts(said(*pod), f"its processes have ended, {kept} removes it.", "removes the object at once")
    drawn = said(*pod, "--timeline=delete")
    assert 'object gone once finalizer "batch.example.com/keep-output" is removed' in drawn
    assert "(metadata.finalizers)" in drawn


def test_T5_single_way_starts_at_its_own_beginning() -> None:
    drawn = said("explain", "pod/db-1", "-n", "shop", "--demo", "--timeline=delete")
    # The way node-lost begins at the node's last heartbeat, 03:02:04.
    check_texts(drawn, "Being deleted since 03:07:56 UTC", "03:02:04")


@pytest.mark.parametrize(
    ("name", "first"),
    [
        ("failed", 'x Failed: container "app" ended with exit 3 (Error). Last end'),
        ("nonode", "x Its node gone has no Node object any more"),
    ],
)
def test_state_leads_before_what_follows(name: str, first: str, states: str) -> None:
    title, *lines = run("explain", f"pod/{name}", "--snapshot", states).out.splitlines()
    assert title.startswith(f"pod/{name} in namespace default")
    assert " ".join(filter(None, lines)).startswith(first)


def test_init_container_that_runs_is_named(tmp_path: Path) -> None:
    begun = {"name": "mig", "state": {"running": {"startedAt": "2026-10-01T00:00:00Z"}}}
    waits = {"name": "app", "state": {"waiting": {"reason": "PodInitializing"}}}
    status = {"phase": "Pending", "initContainerStatuses": [begun], "containerStatuses": [waits]}
    pod = raw_pod("web", "default", nodeName="n1", initContainers=[raw_container("mig")], status=status)
    heartbeat = raw_condition("Ready", "True", lastHeartbeatTime="2026-10-01T00:48:00Z")
    node = raw_node("n1", conditions=[heartbeat])
    file = write_cluster(tmp_path / "list.json", [node, pod])
    page = said("explain", "pod/web", "--snapshot", file)
    assert 'Pending: init container "mig" runs for 48 min; the containers after it wait for its end.' in page


def test_page_counts_what_does_not_run(states: str) -> None:
    page = run("report", "-A", "-o", "-", "--snapshot", states).out
    counts = ("4 pods: container does not run.", "1 pod: not Ready.", "1 pod: not started.", "1 pod: phase Unknown.")
    check_texts(page, counts)


def test_page_counts_by_the_placement_that_explain_computes(tmp_path: Path) -> None:
    unplaced = [raw_condition("PodScheduled", "False", reason="Unschedulable", message="0/1 nodes are available: 1 x.")]
    room = {"cpu": "4", "memory": "8Gi", "pods": "110"}
    objects = [
        raw_node("n1", {"kubernetes.io/hostname": "n1"}, capacity=room, allocatable=room),
        raw_pod("fits-by-now", "default", status={"phase": "Pending", "conditions": unplaced}),
        raw_pod("not-looked-at-yet", "default", requests={"memory": "64Gi"}, status={"phase": "Pending"}),
        raw_pod("gone-on", "default", requests={"memory": "64Gi"}, status={"phase": "Pending", "conditions": unplaced}),
    ]
    file = write_cluster(tmp_path / "list.json", objects)
    page = run("report", "-A", "-o", "-", "--snapshot", file).out
    assert "2 pods: no node fits." in page
    assert "1 of 1 node fits now" in run("explain", "pod/fits-by-now", "--snapshot", file).out


@pytest.mark.parametrize(
    ("finalizers", "forcing"),
    [
        ([], "forcing frees the name and does not stop processes sooner"),
        (
            ["example.com/a"],
            'forcing does not stop processes sooner and frees no name: finalizer "example.com/a" keeps the object',
        ),
    ],
)
def test_F1_force_deletion_keeps_name_with_finalizer(tmp_path: Path, finalizers: list[str], forcing: str) -> None:
    ready = [raw_condition("Ready", lastTransitionTime="2026-10-01T00:00:00Z")]
    meta = {"deletionTimestamp": "2026-10-01T00:00:30Z", "deletionGracePeriodSeconds": 30, "finalizers": finalizers}
    status = {"phase": "Running", "containerStatuses": [{"name": "app", "state": {"running": {}}}]}
    spec: dict[str, Any] = {"nodeName": "n1", "terminationGracePeriodSeconds": 30}
    pod = raw_pod("going", "default", metadata=meta, status=status, **spec)
    file = write_cluster(tmp_path / "list.json", [raw_node("n1", conditions=ready), pod])
    assert forcing in said("explain", "pod/going", "--snapshot", file)
    page = said("delete", "pod/going", "--grace-period=0", "--snapshot", file)
    assert forcing.replace("forcing", "deleting it again") in page


def test_one_is_one(tmp_path: Path) -> None:
    """A cluster of one node with room for one pod, and a second, waiting pod."""
    amounts = {"cpu": "4", "memory": "4Gi", "pods": "1"}
    node = raw_node("n1", capacity=amounts, allocatable=amounts, conditions=[raw_condition("Ready")])
    there = raw_pod("there", "default", uid="there", nodeName="n1", status={"phase": "Running"})
    waits = raw_pod("waits", "default", uid="waits", status={"phase": "Pending"})
    source = ("--snapshot", write_cluster(tmp_path / "c.json", [node, there, waits]))
    page = said("explain", "pod/waits", *source)
    check_texts(page, ("0 of 1 node fits.", "free 1 pod on n1", "1 [#] room n1 has 1 of 1 pod"), "Of 1 node")
    check_texts(said("explain", "pod/waits", "-o", "wide", *source), "Of 1 node, 1 has as many pods as it may.")
    page = said("explain", "node/n1", *source)
    assert "It has 1 of 1 pod: no other fits here." in page
    assert "1 of 1 pod has no memory limit: it may use all memory." in page
    assert said("partitions", *source).startswith("1 node ")


def test_api_server_refusal_ends_with_one_full_stop(tmp_path: Path) -> None:
    own = {"selector": {"matchLabels": {"app": "web"}}, "minAvailable": 1}
    budgets = [raw_object("PodDisruptionBudget", name, "default", spec=own) for name in ("a", "b")]
    ready = {"phase": "Running", "conditions": [raw_condition("Ready")]}
    meta = {"ownerReferences": [raw_owner("ReplicaSet", "web", uid="rs")]}
    pod = raw_pod("web", "default", uid="web", labels={"app": "web"}, metadata=meta, nodeName="n1", status=ready)
    file = write_cluster(tmp_path / "c.json", [raw_node("n1"), pod, *budgets])
    page = said("explain", "pod/web", "--timeline=drain", "--snapshot", file)
    check_texts(page, "eviction subresource does not support.", "support..")


READY: Final = [raw_condition("Ready")]
CODES: Final[Mapping[str, Any]] = {
    "ready": ({"phase": "Running", "conditions": READY}, "1 run", "Running", ""),
    "nothing reported": (
        {"phase": "Running", "conditions": None, "containerStatuses": None},
        "1 not ready",
        "NotReady",
        "Running, readiness not reported",
    ),
    "phase Unknown": (
        {"phase": "Unknown", "conditions": READY},
        "1 not ready",
        "PhaseUnknown",
        "its state could not be read",
    ),
    "an unknown phase": ({"phase": "Bogus", "conditions": READY}, "1 not ready", "PhaseUnknown", "Bogus"),
    "no phase": ({"conditions": READY}, "1 not ready", "PhaseUnknown", "status.phase is not set"),
}


@pytest.mark.parametrize(("status", "counted", "code", "why"), CODES.values(), ids=CODES)
def test_row_total_and_code_of_a_pod_agree(
    status: dict[str, Any], counted: str, code: str, why: str, tmp_path: Path
) -> None:
    limited = [raw_container("app", requests={"memory": "1Mi"})]
    pods = [raw_pod(name, nodeName="n1", containers=limited) | {"status": status} for name in ("a", "b")]
    items = [raw_node("n1", conditions=READY), *pods]
    file = write_cluster(tmp_path / "pods.json", items)
    page = said("explain", "pods", "--snapshot", file)
    assert f"2 pods: {counted.replace('1', '2')}" in page
    assert page.count(why) >= bool(why) * 2
    assert {one["verdict"]["code"] for one in data("explain", "pods", "--snapshot", file)["items"]} == {code}
