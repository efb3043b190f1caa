"""The first sentence of a pod is its state, exactly as its status shows it."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, Final

import pytest
from msgspec.structs import replace

from kubectl_plugin.render.command import kubectl
from kubectl_plugin.render.page import Row, Section
from kubectl_plugin.reports.pod.pod_report import PodFacts, pod_report
from kubectl_plugin.reports.pod.pod_risk import PodRisk, pod_risk
from kubectl_plugin.reports.verdict import Severity, VerdictCode
from kubectl_plugin.views.pod.health_words import health_commands, state_line, state_verdict
from kubectl_plugin.views.pod.pod_page import pod_page
from podrules.api.features import REFERENCE
from podrules.api.model.decode import from_object
from podrules.api.model.pod import Pod
from podrules.pod.health import health
from tests.kubectl_plugin.answers import check_texts, write_list
from tests.kubectl_plugin.running import run
from tests.objects import raw_condition, raw_container, raw_node, raw_pod

Json = dict[str, Any]
NOW = datetime(2026, 10, 1, 12, 0, tzinfo=UTC)
RUNNING = {"running": {"startedAt": "2026-10-01T11:50:00Z"}}
READY = raw_condition("Ready", "True", lastTransitionTime="2026-09-28T12:00:00Z")
UNREADY = raw_condition("Ready", "False", lastTransitionTime="2026-10-01T11:55:00Z")
LATELY = "2026-10-01T11:57:00Z"
CRASHES = {"waiting": {"reason": "CrashLoopBackOff"}}


def ended(code: int, reason: str = "Error", at: str | None = LATELY, **more: Any) -> Json:
    return {"terminated": {"exitCode": code, "reason": reason, "finishedAt": at, **more}}


def status_of(name: str, state: Json, last: Json | None = None, restarts: int = 0) -> Json:
    return {"name": name, "state": state, "lastState": last, "restartCount": restarts, "ready": "running" in state}


app, web, mig, mesh = (partial(status_of, name) for name in ("app", "web", "mig", "mesh"))


def make(
    *apps: Json,
    init: Json | None = None,
    ready: Json | None = READY,
    phase: str = "Running",
    limits: dict[str, str] | None = None,
    status: Json | None = None,
    **spec: Any,
) -> Pod:
    """A pod with the containers `app` and `web`, the init container `mig` and the sidecar `mesh`."""
    containers = [raw_container("app", limits=limits), raw_container("web")]
    before = [raw_container("mig", limits=limits), raw_container("mesh", limits=limits, restartPolicy="Always")]
    whole = {
        "phase": phase,
        "containerStatuses": apps,
        "initContainerStatuses": [init] if init else [],
        "conditions": [ready] if ready else [],
        "startTime": "2026-10-01T11:53:00Z",
        **(status or {}),
    }
    raw = raw_pod("web", "shop", containers=containers, initContainers=before, nodeName="n1", status=whole, **spec)
    return from_object(raw, Pod)


def gated(gate: Json | None) -> Pod:
    """A pod with ready containers and a readiness gate; the kubelet's message names no gate."""
    conditions = [
        UNREADY | {"reason": "ContainersNotReady"},
        raw_condition("ContainersReady"),
        *([gate] if gate else []),
    ]
    status = {"conditions": conditions}
    return make(app(RUNNING), status=status, readinessGates=[{"conditionType": "example.com/lb"}])


def debugged(state: Json) -> Pod:
    """A pod that runs well, with an ephemeral container."""
    status = {"ephemeralContainerStatuses": [status_of("debugger", state)]}
    return make(app(RUNNING), status=status, ephemeralContainers=[raw_container("debugger")])


def said(pod: Pod, now: datetime | None = NOW) -> str:
    return state_line(health(pod), now)


def commands(pod: Pod) -> list[str]:
    return [" ".join(command.words) for command in health_commands(health(pod), "web", "shop", NOW)]


STATES: Final[Mapping[str, Any]] = {
    "healthy": (make(app(RUNNING)), "Running and ready for 3 d"),
    "nothing reported": (make(ready=None), "Running, readiness not reported"),
    "crash loop": (
        make(app(CRASHES, ended(1), 12), ready=UNREADY),
        'Running, not ready for 5 min: "app" CrashLoopBackOff, 12 restarts in 7 min, last exit 1 (Error) 3 min ago',
    ),
    "no last state: nothing is claimed": (
        make(app(CRASHES), ready=UNREADY),
        'Running, not ready for 5 min: "app" CrashLoopBackOff',
    ),
    "init container": (
        make(init=mig(CRASHES, ended(2), 5), ready=None, phase="Pending"),
        'Pending for 7 min: init container "mig" CrashLoopBackOff, 5 restarts in 7 min, last exit 2 (Error) 3 min ago',
    ),
    "restarted sidecar": (
        make(app(RUNNING), init=mesh(RUNNING, ended(1), 2)),
        'Running and ready for 3 d: sidecar "mesh" 2 restarts in 7 min, last exit 1 (Error) 3 min ago',
    ),
    "restarted after exit 0, as a liveness probe makes it": (
        make(app(RUNNING, ended(0, "Completed"), 1)),
        'Running and ready for 3 d: "app" 1 restart, last exit 0 (Completed) 3 min ago',
    ),
    "restarted long ago": (make(app(RUNNING, ended(1, at="2026-10-01T10:00:00Z"), 1)), "Running and ready for 3 d"),
    "two containers": (
        make(
            app(CRASHES, ended(1), 3),
            web({"waiting": {"reason": "ErrImagePull", "message": "not found"}}),
            ready=UNREADY,
        ),
        (
            'Running, not ready for 5 min: "app" CrashLoopBackOff, 3 restarts in 7 min, last exit 1 (Error) 3 min ago; '
            '"web" ErrImagePull: not found'
        ),
    ),
    "one in a crash loop, another ran out of memory": (
        make(app(CRASHES, ended(1), 3), web(RUNNING, ended(137, "OOMKilled"), 2), ready=UNREADY),
        (
            'Running, not ready for 5 min: "app" CrashLoopBackOff, 3 restarts in 7 min, last exit 1 (Error) 3 min ago; '
            '"web" 2 restarts in 7 min, last exit 137 (OOMKilled, no memory limit) 3 min ago'
        ),
    ),
    "one not ready, another ran out of memory": (
        make(app({"running": {}}) | {"ready": False}, web(RUNNING, ended(137, "OOMKilled"), 2), ready=UNREADY),
        (
            'Running, not ready for 5 min: "app" runs, not ready; "web" 2 restarts in 7 min, last exit 137 (OOMKilled, '
            "no memory limit) 3 min ago"
        ),
    ),
    "one ended finally": (
        make(app(ended(143)), web(RUNNING), ready=UNREADY, restartPolicy="Never"),
        'Running, not ready for 5 min: "app" ended with exit 143 (signal 15, SIGTERM) 3 min ago',
    ),
    "its probe has not succeeded": (
        make(app({"running": {}}) | {"ready": False}, ready=UNREADY),
        'Running, not ready for 5 min: "app" runs, not ready',
    ),
    "a readiness gate, and no times": (
        make(ready=raw_condition("Ready", "False", reason="ReadinessGatesNotReady", message="gate is not set")),
        "Running, not ready: ReadinessGatesNotReady: gate is not set",
    ),
    "an unset readiness gate": (
        gated(None),
        'Running, not ready for 5 min: ReadinessGatesNotReady: condition "example.com/lb" is not set yet',
    ),
    "a readiness gate that is False": (
        gated(raw_condition("example.com/lb", "False", reason="NotRegistered", message="wait for it.")),
        (
            'Running, not ready for 5 min: ReadinessGatesNotReady: condition "example.com/lb" is False, not True: '
            "NotRegistered: wait for it"
        ),
    ),
    "set by the node controller": (
        make(app(RUNNING), ready=UNREADY),
        (
            "Running, not ready for 5 min: its containers are ready, but the node controller marks pods not ready once "
            "their node's Ready is not True"
        ),
    ),
    "new": (make(phase="Pending"), "Pending for 7 min: its kubelet has not reported its containers yet"),
    "phase Unknown": (make(phase="Unknown"), "Unknown: its state could not be read"),
    "no phase": (make(phase="", ready=None), "State unknown: status.phase is not set"),
    "succeeded, by its phase alone": (
        make(app(ended(3)), phase="Succeeded"),
        'Succeeded 3 min ago: container "app" ended with exit 3 (Error) 3 min ago; the phase says that all succeeded',
    ),
    "succeeded": (
        make(app(ended(0, "Completed")), phase="Succeeded"),
        "Succeeded 3 min ago: every container succeeded",
    ),
    "137 without the word OOMKilled is no OOM kill": (
        make(app(ended(137)), phase="Failed"),
        'Failed: container "app" ended with exit 137 (signal 9, SIGKILL) 3 min ago',
    ),
    "failed": (make(phase="Failed"), "Failed: the status does not say which container ended with an error"),
}


@pytest.mark.parametrize(("pod", "line"), STATES.values(), ids=STATES)
def test_state_is_one_sentence(pod: Pod, line: str) -> None:
    assert said(pod) == line


@pytest.mark.parametrize(
    ("end", "words"),
    [
        (ended(1), "exit 1 (Error) 3 min ago"),
        (ended(1, at=None), "exit 1 (Error)"),
        (ended(137), "exit 137 (signal 9, SIGKILL) 3 min ago"),
        (ended(139, "ContainerCannotRun"), "exit 139 (ContainerCannotRun, signal 11, SIGSEGV) 3 min ago"),
        (ended(162), "exit 162 (signal 34) 3 min ago"),
        (ended(255), "exit 255 (Error) 3 min ago"),
        (ended(1, signal=6), "exit 1 (signal 6, SIGABRT) 3 min ago"),
        (ended(137, "OOMKilled"), "exit 137 (OOMKilled, memory limit 128Mi) 3 min ago"),
        (ended(1, at="2026-10-01T12:05:00Z"), "exit 1 (Error) at 12:05:00 UTC"),
        (ended(1, at="2026-10-01T12:00:00Z"), "exit 1 (Error) just now"),
    ],
)
def test_end_has_its_signal_and_time(end: Json, words: str) -> None:
    pod = make(app(CRASHES, end, 1), ready=None, limits={"memory": "128Mi"})
    assert said(pod) == f'Running, not ready: "app" CrashLoopBackOff, 1 restart, last {words}'


def test_windows_has_no_signals() -> None:
    pod = make(app(CRASHES, ended(137), 1), ready=None, os={"name": "windows"})
    assert said(pod).endswith("last exit 137 (Error) 3 min ago")


def test_times_without_a_clock_are_absolute() -> None:
    pod = make(app(CRASHES, ended(1), 1), ready=UNREADY)
    line = 'Running, not ready since {}: "app" CrashLoopBackOff, 1 restart, last exit 1 (Error) at {}'
    assert said(pod, None) == line.format("2026-10-01 11:55:00 UTC", "2026-10-01 11:57:00 UTC")


def test_init_container_that_ran_out_of_memory() -> None:
    killed = mig(CRASHES, ended(137, "OOMKilled"), 2)
    pod = make(init=killed, ready=None, phase="Pending", limits={"memory": "64Mi"})
    verdict = state_verdict(health(pod), NOW)
    assert " ".join(verdict.sentences) == (
        'Pending for 7 min: init container "mig" CrashLoopBackOff, 2 restarts in 7 min, last exit 137 (OOMKilled, '
        "memory limit 64Mi) 3 min ago."
    )
    assert verdict.severity is Severity.TROUBLE
    assert commands(pod) == ["kubectl logs web -c mig --previous", "kubectl qos why OOMKilled"]


@pytest.mark.parametrize("whole", [None, {"limits": {"memory": "512Mi"}}, {"limits": {"cpu": "2"}}])
def test_pod_limit_may_apply_without_container_limit(whole: Json | None) -> None:
    spec: Json = {"resources": whole} if whole else {}
    pod = make(app(RUNNING, ended(137, "OOMKilled"), 1), **spec)
    _, second = state_verdict(health(pod), NOW).sentences
    unlimited = 'Neither container "app" nor the pod has a memory limit: most likely the node ran out of memory.'
    limited = (
        'Container "app" has no memory limit of its own: the status does not show whether the pod or the node ran out '
        "of memory."
    )
    assert second == (limited if "memory" in (whole or {}).get("limits", {}) else unlimited)


@pytest.mark.parametrize(
    ("pod", "severity"),
    [
        (make(app(RUNNING)), Severity.FINE),
        (make(app(RUNNING, ended(1), 1)), Severity.NOTICE),
        (make(app(RUNNING), ready=UNREADY), Severity.NOTICE),
        (make(phase="Pending"), Severity.NOTICE),
        (make(phase="Pending", status={"startTime": "2026-10-01T11:00:00Z"}), Severity.TROUBLE),
        (make(phase="Unknown"), Severity.NOTICE),
        (make(app(CRASHES), ready=UNREADY), Severity.TROUBLE),
        (make(app(RUNNING, ended(137, "OOMKilled", at=None), 1)), Severity.TROUBLE),
        (make(phase="Failed"), Severity.TROUBLE),
        (make(phase="Succeeded"), Severity.FINE),
    ],
)
def test_pod_in_trouble_is_never_fine(pod: Pod, severity: Severity) -> None:
    assert state_verdict(health(pod), NOW).severity is severity


@pytest.mark.parametrize(
    ("pod", "command"),
    [
        (make(app(CRASHES, ended(1), 3), ready=UNREADY), ["kubectl logs web -c app --previous"]),
        (make(app(RUNNING, ended(137), 3)), ["kubectl logs web -c app --previous"]),
        # The log of a container that has ended and was not restarted is the log of the process that ended.
        (make(app(ended(1)), ready=UNREADY, restartPolicy="Never"), ["kubectl logs web -c app"]),
        (make(app(ended(3)), phase="Failed"), ["kubectl logs web -c app"]),
        (make(app({"waiting": {"reason": "ImagePullBackOff"}}), phase="Pending"), ["kubectl describe pod web"]),
        (make(app(RUNNING), ready=UNREADY), ["kubectl describe pod web"]),
        (make(app(RUNNING)), []),
        (make(app(RUNNING, ended(1, at="2026-09-01T00:00:00Z"), 1)), []),
    ],
)
def test_next_command_shows_more(pod: Pod, command: list[str]) -> None:
    assert commands(pod) == command


@pytest.mark.parametrize(
    ("pod", "risk", "code"),
    [
        (make(app(RUNNING)), "NO_GRACE_PERIOD", "RUNNING"),
        (make(app(RUNNING, ended(1), 1)), "RESTARTED", "RESTARTED"),
        (make(app(RUNNING), ready=UNREADY), "NOT_READY", "NOT_READY"),
        (make(app(CRASHES), ready=UNREADY), "HELD_UP", "CONTAINER_WAITING"),
        (make(app(ended(1)), ready=UNREADY), "HELD_UP", "CONTAINER_ENDED"),
        (make(app(RUNNING, ended(137, "OOMKilled"), 1)), "OOM_KILLED", "OOM_KILLED"),
        (make(init=mig(CRASHES, ended(137, "OOMKilled"), 1), ready=None, phase="Pending"), "OOM_KILLED", "OOM_KILLED"),
        # A container that last ended well was not last killed.
        (make(app(ended(0, "Completed"), ended(137, "OOMKilled"), 1)), "HELD_UP", "CONTAINER_ENDED"),
        (make(phase="Pending"), "NOT_STARTED", "STARTING"),
        (make(phase="Unknown"), "PHASE_UNKNOWN", "PHASE_UNKNOWN"),
        (make(phase="Failed"), "FAILED", "FAILED"),
        (make(phase="Succeeded"), "", "SUCCEEDED"),
    ],
)
def test_explain_and_report_agree(pod: Pod, risk: str, code: str) -> None:
    assert pod_risk(pod, at=NOW, features=REFERENCE) is (PodRisk[risk] if risk else None)
    assert state_verdict(health(pod), NOW).code is VerdictCode[code]


def test_text_of_the_cluster_cannot_break_the_page(tmp_path: Path) -> None:
    waits = {
        "waiting": {"reason": "Bad\nReason\x1b[31m", "message": "first\nForged: line\x1b]0;title\x07" + "x" * 5000}
    }
    status = {"phase": "Pend\x1b[2Jing", "containerStatuses": [app(waits)]}
    items = [raw_node("n1"), raw_pod("web", "shop", nodeName="n1", status=status)]
    file = write_list(tmp_path / "list.json", items)
    out = run("explain", "pod/web", "-n", "shop", "--snapshot", file).out
    check_texts(out, (), ("\x1b", "\x07", "\nForged"))
    assert "x" * 300 not in out.replace("\n", "")


def test_log_is_the_first_of_the_next_commands() -> None:
    crashing = make(app(CRASHES, ended(1), 3), ready=UNREADY)
    page = pod_page(pod_report(PodFacts(pod=crashing)), now=NOW, wide=False)
    assert page.next_commands[0] == kubectl("logs {} -c {} --previous", "web", "app", namespace="shop")


def test_no_log_is_suggested_for_an_invalid_name() -> None:
    crashing = make(app(CRASHES, ended(1), 3), ready=UNREADY)
    hostile = replace(crashing, metadata=replace(crashing.metadata, name="web;reboot"))
    page = pod_page(pod_report(PodFacts(pod=hostile)), now=NOW, wide=False)
    assert not any(command.words[:2] == ("kubectl", "logs") for command in page.next_commands)


def test_owner_of_a_gate_is_named() -> None:
    sentences = state_verdict(health(gated(None)), NOW).sentences[1:]
    assert sentences == (
        "Services that select only ready pods send it no traffic.",
        "Its containers are ready: the owner of the readiness gate has to set it True (spec.readinessGates).",
    )


EPHEMERAL: Final[Mapping[str, Any]] = {
    "failed": (ended(1), 'Ephemeral container "debugger" ended with exit 1 (Error) 3 min ago; it is never restarted.'),
    "held up": (
        {"waiting": {"reason": "ImagePullBackOff", "message": "no such image"}},
        'Ephemeral container "debugger" ImagePullBackOff: no such image.',
    ),
    "failed long ago": (ended(1, at="2026-10-01T10:00:00Z"), ""),
    "ended well": (ended(0, "Completed"), ""),
    "runs": (RUNNING, ""),
    "starts": ({"waiting": {"reason": "ContainerCreating"}}, ""),
}


@pytest.mark.parametrize(("state", "words"), EPHEMERAL.values(), ids=EPHEMERAL)
def test_ephemeral_container_does_not_change_pod_verdict(state: Json, words: str) -> None:
    found = state_verdict(health(debugged(state)), NOW)
    well = state_verdict(health(make(app(RUNNING))), NOW)
    assert (found.code, found.severity) == (well.code, well.severity)
    assert found.sentences == (*well.sentences, *filter(None, [words]))


def test_wide_page_lists_an_ephemeral_container() -> None:
    page = pod_page(pod_report(PodFacts(pod=debugged(ended(1)))), now=NOW, wide=True)
    [section] = [part for part in page.parts if isinstance(part, Section) and part.label == "Containers"]
    assert section.lines[-1] == Row(("debugger (ephemeral)", "ended with exit 1 (Error) 3 min ago"))


def test_memory_kill_term_shows_remedy() -> None:
    killed = make(app(CRASHES, ended(137, "OOMKilled"), 3), ready=UNREADY)
    assert commands(killed) == ["kubectl logs web -c app --previous", "kubectl qos why OOMKilled"]
    assert "kubectl qos why OOMKilled" not in commands(make(app(CRASHES, ended(137), 3), ready=UNREADY))
