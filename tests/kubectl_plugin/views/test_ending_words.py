"""Pods that end late, are kept by a finalizer, or have no processes: all answers agree."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import pytest

from tests.kubectl_plugin.answers import check_texts
from tests.kubectl_plugin.running import run, write_cluster
from tests.objects import raw_condition, raw_node, raw_owner, raw_pod, raw_workload

NOW: Final = "2026-11-22T10:05:00Z"
SINCE: Final = "2026-11-22T09:50:50Z"
DELETED: Final = {"deletionTimestamp": "2026-11-22T09:56:20Z", "deletionGracePeriodSeconds": 30}
RUNS: Final = [{"name": "app", "state": {"running": {"startedAt": "2026-11-20T00:00:00Z"}}}]
ENDED: Final = [{"name": "app", "state": {"terminated": {"exitCode": 0}}}]


def node(ready: str = "True", **more: Any) -> Mapping[str, Any]:
    conditions = [raw_condition("Ready", ready, lastHeartbeatTime=NOW, lastTransitionTime=SINCE)]
    return raw_node("lost", conditions=conditions, **more)


WELL: Final = raw_node("well", conditions=[raw_condition("Ready", lastHeartbeatTime=NOW, lastTransitionTime=SINCE)])


def pod(phase: str = "Running", **more: Any) -> Mapping[str, Any]:
    status = {"phase": phase, "containerStatuses": ENDED if phase == "Succeeded" else RUNS, **more.pop("status", {})}
    return raw_pod("db-0", status=status, **{"nodeName": "lost", "terminationGracePeriodSeconds": 30, **more})


def said(directory: Path, *items: Mapping[str, Any], ask: str) -> str:
    file = write_cluster(directory / "cluster.json", [WELL, *items])
    command, *options = ask.split()
    ran = run(command, "pod/db-0", *options, "--snapshot", file)
    assert not ran.err, ran.err
    return " ".join(ran.out.split())


FORCED: Final = "delete --grace-period=0"


@pytest.mark.parametrize("ask", ["explain", FORCED])
def test_T5_past_end_is_not_predicted(ask: str, tmp_path: Path) -> None:
    page = said(tmp_path, node(), pod(metadata=DELETED), ask=ask)
    assert "processes should have ended by 09:56:20 UTC: they may live until their node says otherwise" in page
    assert "until 09:56:20" not in page


def test_T5_deletion_without_grace_names_the_finalizer(tmp_path: Path) -> None:
    kept = {"finalizers": ["example.com/copy"]}
    page = said(tmp_path, node(), pod(metadata={**DELETED, **kept}), ask=FORCED)
    assert 'frees no name: finalizer "example.com/copy" keeps the object' in page
    page = said(tmp_path, node(), pod(metadata=kept), ask=FORCED)
    assert 'the object is gone once finalizer "example.com/copy" is done' in page


def test_T5_finalizer_remains_after_stuck_pod_is_freed(tmp_path: Path) -> None:
    silent, stuck = node("Unknown"), pod(metadata={**DELETED, "finalizers": ["example.com/copy"]})
    page = said(tmp_path, silent, stuck, ask="explain")
    assert 'out of service. Then finalizer "example.com/copy" keeps the object until' in page
    drawn = said(tmp_path, silent, stuck, ask="explain --timeline=node-lost")
    for lead in ("the Node is deleted", "taint node.kubernetes.io/out-of-service"):
        assert f"{lead}: garbage collected within" in drawn
    assert drawn.count("but finalizer example.com/copy still keeps the object") == 2


def test_T5_garbage_collection_waits_for_finalizers(tmp_path: Path) -> None:
    collects = "pod garbage collection does the same by itself"
    assert collects in said(tmp_path, pod(metadata=DELETED), ask="explain")
    assert collects not in said(tmp_path, pod(metadata={**DELETED, "finalizers": ["example.com/copy"]}), ask="explain")


@pytest.mark.parametrize(
    ("more", "why"),
    [
        ({"phase": "Succeeded"}, "Stops no process of it runs (status.phase); the object is gone at once"),
        (
            {"phase": "Pending", "nodeName": ""},
            "Stops no process of it runs (spec.nodeName is empty); the object is gone at once",
        ),
        (
            {"phase": "Succeeded", "metadata": {"finalizers": ["example.com/copy"]}},
            'finalizer "example.com/copy" keeps the object until the controller of example.com removes it',
        ),
    ],
)
def test_F1_deletion_without_processes_is_safe(more: Any, why: str, tmp_path: Path) -> None:
    check_texts(said(tmp_path, node(), pod(**more), ask=FORCED), ("Safe: ", why))


OUT: Final = {"key": "node.kubernetes.io/out-of-service", "effect": "NoExecute", "timeAdded": "2026-11-22T09:57:00Z"}


def test_T5_object_of_ended_pod_waits_for_silent_kubelet(tmp_path: Path) -> None:
    silent, ended = node("Unknown"), pod("Succeeded", metadata=DELETED)
    page = said(tmp_path, silent, ended, ask="explain")
    assert "its processes have ended. Its node lost is silent since 09:50:50 UTC. Its object stays until lost" in page
    assert "only its kubelet removes the object, and lost is silent" in page
    for way in ("delete", "node-lost"):
        assert "object gone never by itself" in said(tmp_path, silent, ended, ask=f"explain --timeline={way}")


def test_T5_object_of_ended_pod_still_exists(tmp_path: Path) -> None:
    drawn = said(tmp_path, node(), pod("Succeeded", metadata=DELETED), ask="explain --timeline=delete")
    assert "object still there. Its processes have ended; its kubelet removes the object once" in drawn
    assert "object gone at" not in drawn


@pytest.mark.parametrize("phase", ["Running", "Succeeded"])
def test_T5_overdue_garbage_collection_points_to_controller(phase: str, tmp_path: Path) -> None:
    objects = node("Unknown", taints=[OUT]), pod(phase, metadata=DELETED)
    page = said(tmp_path, *objects, ask="explain")
    check_texts(page, "should have removed its object by 09:57:20 UTC: check kube-controller-manager", "within 20 s")
    drawn = said(tmp_path, *objects, ask="explain --timeline=delete")
    assert "object due to be removed by 09:57:20 UTC and still there" in drawn
    assert "Pod garbage collection should have removed its object by 09:57:20 UTC: check" in drawn


def test_T5_timeline_shows_overdue_object(tmp_path: Path) -> None:
    drawn = said(tmp_path, node(), pod(metadata=DELETED), ask="explain --timeline=delete")
    assert "object due to be removed by 09:56:22 UTC and still there" in drawn
    assert "The kubelet has not confirmed yet that its processes are gone." in drawn
    check_texts(drawn, ("all ended due but not confirmed: ", "object gone due but not observed: "))


LATELY: Final = {"deletionTimestamp": "2026-11-22T10:04:50Z", "deletionGracePeriodSeconds": 30}
"""Its object should have been removed 8 s before the present."""


def test_T5_timeline_has_no_past_end_of_existing_object(tmp_path: Path) -> None:
    drawn = said(
        tmp_path,
        node(),
        pod(metadata={**LATELY, "ownerReferences": [raw_owner("StatefulSet", "db", uid="u-db")]}),
        ask="explain --timeline=delete",
    )
    assert "object due to be removed by 10:04:52 UTC and still there, another pod once the object is gone. " in drawn
    assert "object gone by" not in drawn
    lines = run(
        "explain", "pod/db-0", "--timeline=delete", "--snapshot", str(tmp_path / "cluster.json")
    ).out.splitlines()
    assert [line[8:] for line in lines if line.startswith("object  ")] == [f"D{'=' * 58}>"]


DELAYS: Final[Mapping[str, Any]] = {
    "a silent node": (
        (node("Unknown"), pod(metadata=DELETED)),
        "Only its kubelet removes the object, and lost is silent since 09:50:50 UTC.",
    ),
    "a silent node, then a finalizer": (
        (node("Unknown"), pod(metadata={**DELETED, "finalizers": ["example.com/copy"]})),
        'lost is silent since 09:50:50 UTC. Then finalizer "example.com/copy" keeps the object until',
    ),
    "the finalizer of the Job controller": (
        (
            node(),
            pod(
                metadata={**DELETED, "finalizers": ["batch.kubernetes.io/job-tracking"]},
                status={"containerStatuses": ENDED},
            ),
        ),
        'Its processes have ended; finalizer "batch.kubernetes.io/job-tracking" keeps the object until the Job',
    ),
}


@pytest.mark.parametrize(("objects", "held"), DELAYS.values(), ids=DELAYS)
def test_T5_timeline_names_what_delays_object_removal(objects: Any, held: str, tmp_path: Path) -> None:
    assert held in said(tmp_path, *objects, ask="explain --timeline=delete")


def test_T5_object_is_due_once_the_last_container_had_ended(tmp_path: Path) -> None:
    ended = [{"name": "app", "state": {"terminated": {"exitCode": 0, "finishedAt": "2026-11-22T09:56:05Z"}}}]
    drawn = said(
        tmp_path, node(), pod(metadata=DELETED, status={"containerStatuses": ended}), ask="explain --timeline=delete"
    )
    assert "15 09:56:05 all ended its containers have ended (status.containerStatuses)" in drawn
    assert "object due to be removed by 09:56:07 UTC and still there" in drawn


@pytest.mark.parametrize("ask", ["explain", FORCED])
def test_F1_pod_with_waiting_containers_runs_nothing(ask: str, tmp_path: Path) -> None:
    waits = [{"name": "app", "state": {"waiting": {"reason": "ImagePullBackOff"}}}]
    waiting = pod("Pending", status={"containerStatuses": waits})
    assert "no container of it runs now; no controller replaces it" in said(tmp_path, node(), waiting, ask=ask)
    assert "may run on" not in said(tmp_path, node(), waiting, ask=ask)
    assert "its processes may run on" in said(tmp_path, node("Unknown"), waiting, ask=ask)
    assert "its processes may run on" in said(tmp_path, node(), pod(), ask=ask)


TWO: Final = {"finalizers": ["example.com/copy", "example.com/scrub"]}
DELETED_TWICE: Final = {"deletionTimestamp": "2026-11-22T09:56:20Z", "deletionGracePeriodSeconds": 0}


@pytest.mark.parametrize("ask", ["explain", "explain --timeline=delete"])
@pytest.mark.parametrize("deletion", [DELETED, DELETED_TWICE])
def test_T5_late_kubelet_comes_before_finalizer(ask: str, deletion: Any, tmp_path: Path) -> None:
    page = said(tmp_path, node(), pod(metadata=deletion | TWO), ask=ask)
    assert (
        "The kubelet has not confirmed yet that its processes are gone. "
        'Then finalizers "example.com/copy" and "example.com/scrub" keep the object until'
    ) in page
    before = " or before" if deletion is DELETED_TWICE else ""
    assert f"Being deleted since {'09:56:20' if deletion is DELETED_TWICE else '09:55:50'} UTC{before}" in page


def test_T5_timeline_names_every_finalizer(tmp_path: Path) -> None:
    drawn = said(tmp_path, node(), pod(metadata=DELETED | TWO), ask="explain --timeline=delete")
    assert 'object gone once finalizers "example.com/copy" and "example.com/scrub" are removed' in drawn
    assert "finalizers example.com/copy, example.com/scrub keep it until their owners remove them" in drawn


def test_T5_pod_without_node_was_deleted_once(tmp_path: Path) -> None:
    waiting = pod("Pending", nodeName="", metadata=DELETED_TWICE | TWO, status={"containerStatuses": []})
    page = said(tmp_path, node(), waiting, ask="explain")
    assert "Being deleted since 09:56:20 UTC, grace 0 s: no process of it runs" in page


@pytest.mark.parametrize(
    ("status", "why"),
    [
        (RUNS, "overdue since 09:56:20 UTC, its kubelet has not confirmed that its processes are gone."),
        (ENDED, 'finalizers "example.com/copy" and "example.com/scrub" keep the object until the controller of'),
    ],
)
def test_T5_workload_shows_why_its_pod_remains(status: Any, why: str, tmp_path: Path) -> None:
    leaving = pod(metadata=DELETED | TWO, labels={"app": "db"}, status={"containerStatuses": status})
    said(tmp_path, node(), leaving, raw_workload("StatefulSet", "db", "default", replicas=1), ask="explain")
    ran = run("explain", "statefulset/db", "--snapshot", str(tmp_path / "cluster.json"))
    assert f"0 of 1 run, 1 terminating: db-0: {why}" in " ".join(ran.out.split())


def test_container_that_waits_without_a_reason_is_named(tmp_path: Path) -> None:
    unready = raw_condition(
        "Ready", "False", reason="ContainersNotReady", message="containers with unready status: [app]"
    )
    waits = pod(status={"containerStatuses": [{"name": "app"}], "conditions": [unready]})
    check_texts(said(tmp_path, node(), waits, ask="explain"), 'Running, not ready: "app" waits. ', "ContainersNotReady")


def test_T5_lost_node_does_not_delete_terminating_pod(tmp_path: Path) -> None:
    drawn = said(tmp_path, node(), pod(metadata=LATELY), ask="explain --timeline=node-lost")
    assert "When its node stops answering: being deleted already, " in drawn


def test_F1_static_pod_shows_once_that_nothing_stops(tmp_path: Path) -> None:
    mirror = pod(metadata={"annotations": {"kubernetes.io/config.mirror": "x"}})
    page = said(tmp_path, node(), mirror, ask=FORCED)
    assert "It stops nothing: the pod is static, and the API has only its mirror. " in page
