"""Containers that delay a pod, have ended, or have not started."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.kubectl_plugin.answers import check_texts, write_list
from tests.kubectl_plugin.running import run
from tests.objects import raw_node, raw_pod

RUNNING = {"running": {"startedAt": "2026-11-23T10:00:00Z"}}
DONE = {"terminated": {"exitCode": 0, "reason": "Completed", "finishedAt": "2026-11-23T11:00:00Z"}}
KILLED = {"terminated": {"exitCode": 137, "reason": "Error", "finishedAt": "2026-11-23T11:00:00Z"}}
INITIALIZING = {"waiting": {"reason": "PodInitializing"}}
SIDECAR = {"name": "proxy", "restartPolicy": "Always"}
UNREADY = {"type": "Ready", "status": "False", "reason": "ContainersNotReady"}


def _status(name: str, state: Mapping[str, Any], *, ready: bool = False, started: bool = True) -> dict[str, Any]:
    return {"name": name, "state": state, "ready": ready, "started": started, "restartCount": 0, "image": "x"}


def _said(
    folder: Path, phase: str, apps: Sequence[Any], *typed: str, sidecars: Sequence[Any] = (), conditions: Any = ()
) -> str:
    pod = raw_pod(
        "web",
        "shop",
        containers=[{"name": entry["name"]} for entry in apps],
        initContainers=[SIDECAR] if sidecars else [],
        nodeName="node-1",
        restartPolicy="Never",
        status={
            "phase": phase,
            "conditions": list(conditions),
            "containerStatuses": list(apps),
            "initContainerStatuses": list(sidecars),
        },
    )
    node = raw_node("node-1") | {"status": {"conditions": [{"type": "Ready", "status": "True"}]}}
    path = write_list(folder / "c.json", [pod, node])
    ran = run("explain", "pod/web", "-n", "shop", "--snapshot", path, *typed, env={"COLUMNS": "200"})
    assert ran.code == 0
    return " ".join(ran.out.split())


def test_unstarted_sidecar_delays_the_others(tmp_path: Path) -> None:
    proxy = _status("proxy", RUNNING, started=False)
    said = _said(tmp_path, "Pending", [_status("app", INITIALIZING)], sidecars=[proxy])
    assert "not started yet (startupProbe or postStart); the containers after it wait." in said
    assert ': sidecar "proxy" runs' in said
    assert "PodInitializing" not in said.partition("QoS class")[0]


def test_unstarted_container_is_called_not_started(tmp_path: Path) -> None:
    said = _said(tmp_path, "Running", [_status("app", RUNNING, started=False)], conditions=[UNREADY])
    assert "not started yet (startupProbe or postStart)." in said


def test_completed_container_makes_pod_unready(tmp_path: Path) -> None:
    apps = [_status("app", DONE), _status("side", RUNNING, ready=True)]
    said = _said(tmp_path, "Running", apps, "-o", "json", conditions=[UNREADY])
    check_texts(said, '"app\\" ended with exit 0 (Completed)', "ContainersNotReady.")


def test_sidecar_killed_at_job_end_is_shown(tmp_path: Path) -> None:
    said = _said(tmp_path, "Succeeded", [_status("app", DONE)], sidecars=[_status("proxy", KILLED)])
    assert 'every app container succeeded; sidecar "proxy" ended with exit 137' in said
    assert ": every container succeeded" in _said(tmp_path, "Succeeded", [_status("app", DONE)])


def test_wide_page_has_every_container_and_its_whole_message(tmp_path: Path) -> None:
    waiting = {"waiting": {"reason": "CreateContainerError", "message": "e" * 300 + " END"}}
    apps = [_status(name, waiting) for name in ("a", "b", "d")]
    sidecar = _status("proxy", RUNNING, ready=True)
    wide = _said(tmp_path, "Pending", apps, "-o", "wide", sidecars=[sidecar]).partition("Containers")[2]
    containers = wide.partition("QoS class")[0]
    assert containers.count("CreateContainerError") == containers.count("END") == len(apps)
    assert "proxy (sidecar) runs" in containers


@pytest.mark.parametrize(
    ("condition", "words"),
    [
        (("PodResizePending", "Infeasible", "not enough cpu."), "is not done: Infeasible: not enough cpu."),
        (("PodResizeInProgress", "Error", "cannot shrink"), "is not done: InProgress: Error: cannot shrink."),
        (("PodResizeInProgress", "", ""), "is not done: InProgress."),
    ],
)
def test_reason_of_pending_resize_is_shown(tmp_path: Path, condition: tuple[str, str, str], words: str) -> None:
    kind, reason, message = condition
    ready = {"type": "Ready", "status": "True"}
    conditions = [ready, {"type": kind, "status": "True", "reason": reason, "message": message}]
    assert words in _said(
        tmp_path, "Running", [_status("app", RUNNING, ready=True)], "-o", "json", conditions=conditions
    )
