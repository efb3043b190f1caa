"""Ends rebuilt from public bug reports, and others like them: what the commands say of each."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

import pytest

from tests.kubectl_plugin.running import run
from tests.tree import ROOT

FIELD: Final = ROOT / "tests" / "testdata" / "cases" / "field"
FIRST_LINES: Final = 12
Json = dict[str, Any]


def first_lines(file: Path | str, *words: str, whole: bool = False) -> str:
    """The first lines of a page as one line; all of them if asked."""
    ran = run(*words, "--snapshot", str(FIELD / file))
    assert "Traceback" not in ran.err
    lines = ran.out.splitlines()
    return " ".join(" ".join(lines if whole else lines[:FIRST_LINES]).split())


def varied(folder: Path, name: str, change: Callable[[Json], None], kind: str = "Pod") -> Path:
    """A capture, with each object of a kind changed."""
    items = json.loads((FIELD / name).read_text())["items"]
    for entry in items:
        if entry["kind"] == kind:
            change(entry)
    file = folder / name
    file.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
    return file


def ended(index: int = 0, statuses: str = "containerStatuses", /, **fields: Any) -> Callable[[Json], None]:
    """Changes how a container ended last."""

    def change(pod: Json) -> None:
        status = pod["status"][statuses][index]
        (status["lastState"] or status["state"])["terminated"].update(fields)

    return change


# Init containers

MULTI: Final = "C2-init-oom0-loop-v1.35.0.json"
PREP: Final = ("pod/multi", "-n", "prod")


def test_an_init_container_that_is_oom_killed_failed_despite_exit_code_0() -> None:
    said = first_lines(MULTI, "died", *PREP)
    assert "Container prep failed despite exit code 0" in said
    assert "memory limit of 64Mi" in said
    assert "completed" not in said
    assert "Job" not in first_lines(MULTI, "died", *PREP, whole=True)
    assert "failed despite exit code 0" in first_lines(MULTI, "explain", *PREP)


def test_an_init_container_that_completes_is_done(tmp_path: Path) -> None:
    file = varied(tmp_path, MULTI, ended(0, "initContainerStatuses", reason="Completed"))
    assert "failed despite" not in first_lines(file, "died", *PREP)


def test_the_node_may_have_been_it_without_a_limit_of_its_own(tmp_path: Path) -> None:
    def change(pod: Json) -> None:
        pod["spec"]["initContainers"][0]["resources"] = {}
        pod["spec"]["containers"][0]["resources"] = {}

    said = first_lines(varied(tmp_path, MULTI, change), "died", *PREP)
    assert "Container prep failed despite exit code 0, as node worker-1 ran out of memory" in said


# Placeholders of the kubelet

GROWN: Final = "D3-evicted-unknown.json"


def test_an_unknown_exit_code_is_no_signal() -> None:
    said = first_lines(GROWN, "died", "pod/grow-1", "-n", "prod", whole=True)
    assert "an unknown exit code (ContainerStatusUnknown)" in said
    assert "SIGKILL" not in said
    assert "137" not in said
    explained = first_lines(GROWN, "explain", "pod/grow-1", "-n", "prod", whole=True)
    assert "SIGKILL" not in explained


# Windows

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


def test_on_windows_ctrl_c_speaks_for_a_liveness_probe(tmp_path: Path) -> None:
    def change(pod: Json) -> None:
        probe = {"httpGet": {"path": "/", "port": 80}, "periodSeconds": 10, "failureThreshold": 3}
        pod["spec"]["containers"][0]["livenessProbe"] = probe

    said = first_lines(varied(tmp_path, CTRL_C, change), "died", *IIS)
    assert "its liveness probe failed 3 times in a row" in said
    assert "also possible: its own process, " in said


# Old kubelets


def test_a_shutdown_of_1_20_is_a_shutdown() -> None:
    said = first_lines("H2-shutdown-old.json", "died", "pod/api-66-x", "-n", "prod")
    assert "The kubelet ended the pod: its node shut down." in said


def rejected(status: Mapping[str, str]) -> Callable[[Json], None]:
    """A pod that its kubelet never started."""

    def change(pod: Json) -> None:
        pod["status"] = {"phase": "Failed", "startTime": pod["status"]["startTime"], **status}

    return change


# A node that ran out of memory

JAVA: Final = "P3-systemoom-oomkilled.json"
JAVA_POD: Final = ("pod/java-7-a", "-n", "prod")


def reported(reason: str, message: str, clock: str = "09:48:59", **more: Any) -> Callable[[Json], None]:
    """An event about the node."""

    def change(event: Json) -> None:
        when = f"2026-03-06T{clock}Z"
        event.update({"reason": reason, "message": message, "firstTimestamp": when, "lastTimestamp": when, **more})

    return change


def test_a_system_oom_event_speaks_for_the_node() -> None:
    said = first_lines(JAVA, "died", *JAVA_POD)
    assert "node worker-1 ran out of memory" in said
    assert "Likely, not certain: also possible: own memory limit" in said
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
def test_which_events_speak_for_the_node(change: Callable[[Json], None], first: str, tmp_path: Path) -> None:
    said = first_lines(varied(tmp_path, JAVA, change, "Event"), "died", *JAVA_POD)
    assert first in said.partition("Likely")[0]


def test_a_system_oom_event_beside_reason_error(tmp_path: Path) -> None:
    said = first_lines(varied(tmp_path, JAVA, ended(reason="Error")), "died", *JAVA_POD)
    assert "node worker-1 ran out of memory" in said
    assert "also possible: own memory limit" in said


def test_an_event_of_another_node_does_not_count(tmp_path: Path) -> None:
    def change(event: Json) -> None:
        event["involvedObject"]["name"] = "worker-9"

    said = first_lines(varied(tmp_path, JAVA, change, "Event"), "died", *JAVA_POD)
    assert "own memory limit of 12Gi" in said


def test_node_and_report_show_that_it_ran_out_of_memory() -> None:
    said = first_lines(JAVA, "node", "worker-1")
    assert 'It ran out of memory: the kernel killed process "java" 11 min ago (SystemOOM).' in said
    data = json.loads(run("node", "worker-1", "-o", "json", "--snapshot", str(FIELD / JAVA)).out)
    assert data["verdict"]["code"] == "NodeOOMKill"
    assert data["verdict"]["severity"] == "trouble"
    found = first_lines(JAVA, "report", "-A", whole=True)
    assert "worker-1 ran out of memory within the last hour." in found
    assert "The kernel killed java on worker-1 (SystemOOM)." in found


def test_a_kill_in_a_cgroup_is_no_shortage_of_the_node(tmp_path: Path) -> None:
    change = reported("OOMKilling", "Memory cgroup out of memory: Killed process 4 (java) total-vm:9kB")
    file = varied(tmp_path, JAVA, change, "Event")
    assert "It ran out of memory" not in first_lines(file, "node", "worker-1")
    assert "worker-1 ran out" not in first_lines(file, "report", "-A", whole=True)


def test_a_list_without_events_leaves_that_open() -> None:
    ran = run("node", "worker-1", "--snapshot", str(FIELD / GROWN))
    assert ran.code == 11
    assert "Not certain: no events in the file: assumed none." in ran.out
