"""Ends rebuilt from public bug reports, and similar ones, in every command."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

import pytest

from podrules.ending.died.controllers import RESCALED, SCALED
from podrules.ending.died.messages import READ_REASONS
from tests.kubectl_plugin.answers import check_texts, data, write_list
from tests.kubectl_plugin.edits import FIELD, items_of
from tests.kubectl_plugin.running import run
from tests.objects import raw_event

FIRST_LINES: Final = 12
Json = dict[str, Any]


def first_lines(file: Path | str, *words: str, whole: bool = False) -> str:
    """The first lines of a page as one line; the whole page if requested."""
    ran = run(*words, "--snapshot", str(FIELD / file))
    assert "Traceback" not in ran.err
    lines = ran.out.splitlines()
    return " ".join(" ".join(lines if whole else lines[:FIRST_LINES]).split())


def varied(folder: Path, name: str, change: Callable[[Json], None], kind: str = "Pod") -> Path:
    """A capture with each object of a kind changed."""
    items = items_of(FIELD / name)
    for entry in items:
        if entry["kind"] == kind:
            change(entry)
    return Path(write_list(folder / name, items))


def ended(index: int = 0, statuses: str = "containerStatuses", /, **fields: Any) -> Callable[[Json], None]:
    """Changes how a container last ended."""

    def change(pod: Json) -> None:
        status = pod["status"][statuses][index]
        (status["lastState"] or status["state"])["terminated"].update(fields)

    return change


MULTI: Final = "C2-init-oom0-loop-v1.35.0.json"
PREP: Final = ("pod/multi", "-n", "prod")


def test_oom_killed_init_container_failed_despite_exit_0() -> None:
    said = first_lines(MULTI, "died", *PREP)
    check_texts(said, ("Container prep failed despite exit code 0", "memory limit of 64Mi"), "completed")
    assert "Job" not in first_lines(MULTI, "died", *PREP, whole=True)
    assert "failed despite exit code 0" in first_lines(MULTI, "explain", *PREP)


def test_init_container_that_completes_is_done(tmp_path: Path) -> None:
    file = varied(tmp_path, MULTI, ended(0, "initContainerStatuses", reason="Completed"))
    assert "failed despite" not in first_lines(file, "died", *PREP)


def test_init_container_before_running_app_has_not_failed(tmp_path: Path) -> None:
    def change(pod: Json) -> None:
        init, app = pod["status"]["initContainerStatuses"][0], pod["status"]["containerStatuses"][0]
        init.update({"state": init["lastState"], "lastState": {}, "restartCount": 0})
        app.update({"state": {"running": {"startedAt": "2021-08-19T13:25:31Z"}}, "ready": True})
        pod["status"] |= {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}

    file = varied(tmp_path, MULTI, change)
    assert "Neither the pod nor a container has ended." in first_lines(file, "died", *PREP)
    assert "Running and ready" in first_lines(file, "explain", *PREP)
    assert "failed" not in first_lines(file, "explain", *PREP)


def test_node_is_possible_cause_without_own_limit(tmp_path: Path) -> None:
    def change(pod: Json) -> None:
        pod["spec"]["initContainers"][0]["resources"] = {}
        pod["spec"]["containers"][0]["resources"] = {}

    said = first_lines(varied(tmp_path, MULTI, change), "died", *PREP)
    assert "Container prep failed despite exit code 0, because node worker-1 ran out of memory" in said


GROWN: Final = "D3-evicted-unknown.json"


def test_unknown_exit_code_is_no_signal() -> None:
    said = first_lines(GROWN, "died", "pod/grow-1", "-n", "prod", whole=True)
    check_texts(said, "an unknown exit code (ContainerStatusUnknown)", ("SIGKILL", "137"))
    assert "SIGKILL" not in first_lines(GROWN, "explain", "pod/grow-1", "-n", "prod", whole=True)


CTRL_C: Final = "N-win-ctrlc.json"
IIS: Final = ("pod/iis-5-a", "-n", "win")


@pytest.mark.parametrize(
    ("code", "said"),
    [
        (3221225786, "ended on Ctrl+C, as a stop sends it (exit code 3221225786, STATUS_CONTROL_C_EXIT)"),
        (-1073741510, "ended on Ctrl+C, as a stop sends it (exit code -1073741510, STATUS_CONTROL_C_EXIT)"),
        (3221225477, "crashed: access violation (exit code 3221225477, STATUS_ACCESS_VIOLATION)"),
        (-1073741819, "crashed: access violation (exit code -1073741819, STATUS_ACCESS_VIOLATION)"),
        (-532462766, "crashed: unhandled .NET exception (exit code -532462766, CLR exception)"),
        (3221225781, "did not start: a DLL is missing (exit code 3221225781, STATUS_DLL_NOT_FOUND)"),
        (3221229999, "ended by itself: exit code 3221229999"),
    ],
)
def test_exit_codes_of_windows(code: int, said: str, tmp_path: Path) -> None:
    assert f"Container iis {said}." in first_lines(varied(tmp_path, CTRL_C, ended(exitCode=code)), "died", *IIS)


def test_windows_ctrl_c_suggests_a_liveness_probe(tmp_path: Path) -> None:
    def change(pod: Json) -> None:
        probe = {"httpGet": {"path": "/", "port": 80}, "periodSeconds": 10, "failureThreshold": 3}
        pod["spec"]["containers"][0]["livenessProbe"] = probe

    said = first_lines(varied(tmp_path, CTRL_C, change), "died", *IIS)
    check_texts(said, ("its liveness probe failed 3 times in a row", "also possible: its own process, "))


def test_shutdown_of_1_20_is_a_shutdown() -> None:
    said = first_lines("H2-shutdown-old.json", "died", "pod/api-66-x", "-n", "prod")
    assert "The kubelet ended the pod: its node shut down." in said


def rejected(status: Mapping[str, str]) -> Callable[[Json], None]:
    """A pod that its kubelet never started."""

    def change(pod: Json) -> None:
        pod["status"] = {"phase": "Failed", "startTime": pod["status"]["startTime"], **status}

    return change


JAVA: Final = "P3-systemoom-oomkilled.json"
JAVA_POD: Final = ("pod/java-7-a", "-n", "prod")


def reported(reason: str, message: str, clock: str = "09:48:59", **more: Any) -> Callable[[Json], None]:
    """An event about the node."""

    def change(event: Json) -> None:
        when = f"2026-03-06T{clock}Z"
        event.update({"reason": reason, "message": message, "firstTimestamp": when, "lastTimestamp": when, **more})

    return change


def test_system_oom_event_suggests_the_node() -> None:
    said = first_lines(JAVA, "died", *JAVA_POD)
    check_texts(said, ("node worker-1 ran out of memory", "Likely, not certain: also possible: own memory limit"))
    assert "event of its node, SystemOOM at 09:48:59 UTC" in said


@pytest.mark.parametrize(
    ("change", "first"),
    [
        (reported("SystemOOM", "System OOM encountered"), "node worker-1 ran out of memory"),
        (
            reported("SystemOOM", "System OOM encountered, victim process: gc-worker, pid: 9", "09:49:04"),
            "node worker-1",
        ),
        (reported("OOMKilling", "Out of memory: Killed process 4 (java) total-vm:9kB"), "node worker-1 ran out"),
        (
            reported("SystemOOM", "System OOM encountered", "09:55:00", count=7, firstTimestamp="2026-03-06T09:30:00Z"),
            "node worker-1 ran out of memory",
        ),
        (reported("SystemOOM", "System OOM encountered", "09:20:00"), "own memory limit of 12Gi"),
        (
            reported("OOMKilling", "Memory cgroup out of memory: Killed process 4 (java) total-vm:9kB"),
            "own memory limit of 12Gi",
        ),
        (reported("OOMKilling", "Killed process 4 (java) total-vm:9kB"), "own memory limit of 12Gi"),
        (reported("Rebooted", "Node worker-1 has been rebooted"), "own memory limit of 12Gi"),
    ],
)
def test_events_that_suggest_the_node(change: Callable[[Json], None], first: str, tmp_path: Path) -> None:
    assert first in first_lines(varied(tmp_path, JAVA, change, "Event"), "died", *JAVA_POD).partition("Likely")[0]


def test_system_oom_event_with_reason_error(tmp_path: Path) -> None:
    said = first_lines(varied(tmp_path, JAVA, ended(reason="Error")), "died", *JAVA_POD)
    check_texts(said, ("node worker-1 ran out of memory", "also possible: own memory limit"))


def test_event_of_another_node_does_not_count(tmp_path: Path) -> None:
    def change(event: Json) -> None:
        event["involvedObject"]["name"] = "worker-9"

    assert "own memory limit of 12Gi" in first_lines(varied(tmp_path, JAVA, change, "Event"), "died", *JAVA_POD)


def test_node_and_report_show_that_it_ran_out_of_memory() -> None:
    said = first_lines(JAVA, "node", "worker-1")
    assert 'It ran out of memory: the kernel killed process "java" 11 min ago (SystemOOM).' in said
    assert "It ran out of memory" in first_lines(JAVA, "node")
    printed = data("node", "worker-1", "--snapshot", str(FIELD / JAVA))
    assert printed["verdict"]["code"] == "NodeOOMKill"
    assert printed["verdict"]["severity"] == "trouble"
    found = first_lines(JAVA, "report", "-A", whole=True)
    assert "x worker-1 ran out of memory within the last hour The kernel" in found
    assert "The kernel killed java on worker-1 (SystemOOM)." in found


def test_cgroup_kill_is_no_node_shortage(tmp_path: Path) -> None:
    change = reported("OOMKilling", "Memory cgroup out of memory: Killed process 4 (java) total-vm:9kB")
    file = varied(tmp_path, JAVA, change, "Event")
    assert "It ran out of memory" not in first_lines(file, "node", "worker-1")
    assert "worker-1 ran out" not in first_lines(file, "report", "-A", whole=True)


def test_list_without_events_leaves_node_shortage_open() -> None:
    ran = run("node", "worker-1", "--snapshot", str(FIELD / GROWN))
    assert ran.code == 11
    assert "Not certain: no events in the file: assumed none." in ran.out


SHUT: Final = "H2-shutdown-old.json"
API: Final = ("pod/api-66-x", "-n", "prod")
SHORT_OF_DISK: Final = {"reason": "Evicted", "message": "Pod was rejected: The node had condition: [DiskPressure]. "}
NO_DEVICE: Final = {
    "reason": "UnexpectedAdmissionError",
    "message": "Pod was rejected: Allocate failed due to no healthy devices present; cannot allocate",
}
BACK: Final = {"key": "node.kubernetes.io/disk-pressure", "operator": "Exists"}


@pytest.mark.parametrize(
    ("status", "said", "helps"),
    [
        (SHORT_OF_DISK, "rejected the pod: its node had DiskPressure.", "free what worker-1 lacks"),
        (
            {"reason": "Evicted", "message": "Pod The node had condition: [MemoryPressure PIDPressure]. "},
            "rejected the pod: its node had MemoryPressure, PIDPressure.",
            "free what worker-1 lacks",
        ),
        (
            {"reason": "NodeShutdown", "message": "Pod was rejected: The node is shutting down"},
            "rejected the pod: its node was shutting down.",
            "nothing while the node shuts down",
        ),
        (
            {"reason": "NodeShutdown", "message": "Pod Pod was rejected as the node is shutting down."},
            "rejected the pod: its node was shutting down.",
            "nothing while the node shuts down",
        ),
        (NO_DEVICE, "a device plugin or another part of the kubelet does not admit it.", "the device plugin is Ready"),
        (
            {"reason": "MatchNodeSelector", "message": "Pod Predicate MatchNodeSelector failed"},
            "rejected the pod: the labels of worker-1 do not match its node selector or affinity (",
            "compare the labels of worker-1",
        ),
        (
            {"reason": "OutOfcpu", "message": "Node didn't have enough resource: cpu, requested: 4000, used: 3100"},
            "rejected the pod (OutOfcpu).",
            "spec.nodeName bypassed the scheduler",
        ),
    ],
)
def test_reason_of_a_kubelet_rejection(status: Json, said: str, helps: str, tmp_path: Path) -> None:
    page = first_lines(varied(tmp_path, SHUT, rejected(status)), "died", *API, whole=True)
    check_texts(page, (said, helps))
    assert ("bypassed the scheduler" in page) == ("bypassed" in helps)


@pytest.mark.parametrize(("count", "tolerates"), [(1, False), (1, True), (5, False), (5, True)])
def test_rejections_that_repeat_are_counted_with_the_toleration(count: int, tolerates: bool, tmp_path: Path) -> None:
    items = items_of(FIELD / SHUT)
    for pod in [entry for entry in items if entry["kind"] == "Pod"]:
        rejected(SHORT_OF_DISK)(pod)
        pod["spec"]["tolerations"] = [BACK] if tolerates else []
        for number in range(count - 1):
            again = json.loads(json.dumps(pod))
            again["metadata"] |= {"name": f"api-66-y{number}", "uid": f"y{number}"}
            items.append(again)
    file = write_list(tmp_path / "c.json", items)
    page = first_lines(file, "died", *API, whole=True)
    assert ("5 pods of ReplicaSet api-66 were rejected there" in page) == (count == 5)
    brings_back = "tolerates node.kubernetes.io/disk-pressure:NoSchedule, so new pods come to the node again at once"
    assert (brings_back in page) == tolerates
    assert ("remove the toleration of node.kubernetes.io/disk-pressure" in page) == tolerates


def test_daemon_pod_has_tolerations_of_its_controller(tmp_path: Path) -> None:
    def change(pod: Json) -> None:
        rejected(SHORT_OF_DISK)(pod)
        pod["spec"]["tolerations"] = [{"operator": "Exists"}]
        pod["metadata"]["ownerReferences"][0].update({"kind": "DaemonSet", "name": "agent"})

    said = "Found failed daemon pod prod/agent-x on node worker-1, will try to kill it"
    times: Json = {"first": "2026-03-06T09:00:00Z", "last": "2026-03-06T09:58:00Z", "count": 14}
    event = raw_event("DaemonSet/agent", "FailedDaemonPod", said, namespace="prod", **times)
    file = write_list(tmp_path / "c.json", [*items_of(varied(tmp_path, SHUT, change)), event])
    page = first_lines(file, "died", *API, whole=True)
    all_taints = "14 pods of DaemonSet agent were rejected there; it tolerates all taints"
    check_texts(page, all_taints, "remove the toleration")


@pytest.mark.parametrize(
    ("reason", "message", "said"),
    [
        ("Evicted", "The node had condition: [DiskPressure]. ", "its node had DiskPressure."),
        ("UnexpectedAdmissionError", "Allocate failed due to no healthy devices present", "a device plugin or another"),
        ("OutOfcpu", "Node didn't have enough resource: cpu", "rejected the pod (OutOfcpu)."),
    ],
)
def test_deleted_rejected_pod(reason: str, message: str, said: str, tmp_path: Path) -> None:
    event = seen("Pod/agent-x7k2p", reason, message, "09:41:00", uid="u")
    items = [entry for entry in items_of(FIELD / GONE) if entry["kind"] == "Node"]
    file = write_list(tmp_path / "c.json", [*items, event])
    check_texts(first_lines(file, "died", "pod/agent-x7k2p", "-n", "default"), ("The kubelet rejected the pod", said))


def test_old_end_is_not_recent() -> None:
    page = first_lines("AB-gone-taint.json", "died", "pod/web-x", whole=True)
    check_texts(page, ("34 min ago", "its node was lost"), ("just now", "ask again"))


def test_end_of_seconds_ago_may_still_get_events(tmp_path: Path) -> None:
    def change(event: Json) -> None:
        event.update({"firstTimestamp": "2026-03-06T09:59:40Z", "lastTimestamp": "2026-03-06T09:59:40Z"})

    file = varied(tmp_path, "AB-gone-taint.json", change, "Event")
    assert "it ended just now" in first_lines(file, "died", "pod/web-x", whole=True)


def test_times_that_count_as_the_present(tmp_path: Path) -> None:
    said = first_lines(GROWN, "died", "pod/grow-1", "-n", "prod")
    assert "Now is taken to be 2026-03-06 10:00:00 UTC, by the heartbeats in" in said
    check_texts(said, "later times, up to 2026-03-24 01:00:00 UTC, do not count.", "the newest time in")
    assert "the newest time in" in first_lines(JAVA, "died", *JAVA_POD)

    def change(pod: Json) -> None:
        pod["metadata"] |= {"deletionTimestamp": "2026-03-06T11:30:00Z", "deletionGracePeriodSeconds": 7200}

    assert "the newest time in" in first_lines(varied(tmp_path, JAVA, change), "died", *JAVA_POD)


def hooked(code: int, reason: str = "Error", *, ran: bool = True) -> Callable[[Json], None]:
    """A container that waits because its postStart hook failed."""

    def change(pod: Json) -> None:
        pod["spec"]["containers"][0]["lifecycle"] = {"postStart": {"exec": {"command": ["warm"]}}}
        status = pod["status"]["containerStatuses"][0]
        status["restartCount"] = 0
        status["state"] = {"waiting": {"reason": "PostStartHookError", "message": "command 'warm' exited with 1"}}
        status["lastState"]["terminated"].update({"exitCode": code, "reason": reason})
        status["lastState"] = status["lastState"] if ran else {}

    return change


@pytest.mark.parametrize("code", [0, 137, 143])
@pytest.mark.parametrize("ran", [True, False])
def test_post_start_hook_that_fails_in_a_loop_is_certain(code: int, ran: bool, tmp_path: Path) -> None:
    result = run("died", *JAVA_POD, "--snapshot", str(varied(tmp_path, JAVA, hooked(code, ran=ran))))
    assert result.code == 0
    assert "The kubelet stopped container java: its postStart hook failed." in " ".join(result.out.split())


def test_own_exit_code_with_failed_hook_is_likely(tmp_path: Path) -> None:
    said = first_lines(varied(tmp_path, JAVA, hooked(3)), "died", *JAVA_POD)
    check_texts(said, ("The kubelet stopped container java: its postStart hook failed.", "Likely, not certain"))


GONE: Final = "AC2-gone-scaledown-nodes-pods-events.json"


def seen(about: str, reason: str, message: str, clock: str, **more: Any) -> Json:
    """An event of a controller."""
    return raw_event(about, reason, message, namespace="default", last=f"2026-03-06T{clock}Z", **more)


def of_deleted(folder: Path, without: set[str], *more: Json) -> str:
    """The page of ``web-y`` without some events and with others."""
    left = [entry for entry in items_of(FIELD / GONE) if entry.get("reason") not in without]
    return first_lines(write_list(folder / "c.json", [*left, *more]), "died", "pod/web-y", "-n", "default")


def scaled(message: str, clock: str = "09:39:58") -> Json:
    return seen("Deployment/shop", "ScalingReplicaSet", message, clock)


def rescaled(name: str, message: str) -> Json:
    return seen(f"HorizontalPodAutoscaler/{name}", "SuccessfulRescale", message, "09:39:57")


DOWN: Final = scaled("Scaled down replica set web from 5 to 4")
UP: Final = scaled("Scaled up replica set web2 from 0 to 2", "09:38:10")
RESCALE: Final = rescaled("shop", "New size: 4; reason: All metrics below target")
OTHER_NAME: Final = rescaled("cart", "New size: 4; reason: All metrics below target")


@pytest.mark.parametrize(
    "without",
    [set(), {"Scheduled"}, {"Scheduled", "Killing"}, {"Scheduled", "Killing", "Unhealthy"}, {"Scheduled", "Unhealthy"}],
)
def test_controller_event_decides_without_other_events(without: set[str], tmp_path: Path) -> None:
    assert "ReplicaSet web removed the pod" in of_deleted(tmp_path, without)


@pytest.mark.parametrize(
    ("events", "said"),
    [
        ((DOWN,), "ReplicaSet web removed the pod: it was scaled down from 5 to 4."),
        ((scaled("Scaled down replica set web to 4"),), "ReplicaSet web removed the pod: it was scaled down to 4."),
        ((DOWN, RESCALE), "from 5 to 4, probably by HorizontalPodAutoscaler shop (All metrics below target)."),
        ((DOWN, OTHER_NAME), "ReplicaSet web removed the pod: it was scaled down from 5 to 4."),
        ((OTHER_NAME, DOWN, RESCALE), "from 5 to 4, probably by HorizontalPodAutoscaler shop (All metrics"),
        (
            (DOWN, rescaled("shop", "New size: 7; reason: cpu")),
            "ReplicaSet web removed the pod: it was scaled down from 5 to 4.",
        ),
        ((UP, DOWN), "it was scaled down from 5 to 4 in a rollout to web2."),
        ((UP,), "ReplicaSet web removed the pod, for a rollout or because it was scaled down."),
    ],
)
@pytest.mark.parametrize("without", [set(), {"Scheduled", "Unhealthy"}])
def test_reason_of_a_smaller_replica_set(
    events: tuple[Json, ...], said: str, without: set[str], tmp_path: Path
) -> None:
    assert said in of_deleted(tmp_path, without, *events)


def test_deployment_scale_down_without_event_is_likely(tmp_path: Path) -> None:
    said = of_deleted(tmp_path, {"SuccessfulDelete"}, DOWN, RESCALE)
    assert "removed the pod: it was scaled down from 5 to 4, probably by HorizontalPodAutoscaler shop" in said
    assert "Likely, not certain" in said


def test_older_scheduler_messages_are_equivalent() -> None:
    said = first_lines("c29.json", "explain", "pod/web", "-n", "default", whole=True)
    check_texts(said, "kube-scheduler said the same", "otherwise")


@pytest.mark.parametrize("phase", ["Failed", "Succeeded", "Running"])
@pytest.mark.parametrize("deadline", ["2026-03-06T09:59:00Z", "9999-12-31T23:59:59Z"])
def test_longest_grace_period_does_not_overflow(phase: str, deadline: str, tmp_path: Path) -> None:
    def change(pod: Json) -> None:
        pod["metadata"] |= {"deletionTimestamp": deadline, "deletionGracePeriodSeconds": 2**63 - 1}
        pod["spec"]["terminationGracePeriodSeconds"] = 2**63 - 1
        pod["status"] = {**pod["status"], "phase": phase, "reason": "", "message": ""}

    file = varied(tmp_path, SHUT, change)
    for words in (("died", *API), ("explain", *API), ("explain", *API, "--timeline"), ("report", "-A"), ("died", "-A")):
        assert first_lines(file, *words)


def test_snapshots_keep_the_messages_that_are_read() -> None:
    assert {"SystemOOM", "OOMKilling", SCALED, RESCALED} <= READ_REASONS
