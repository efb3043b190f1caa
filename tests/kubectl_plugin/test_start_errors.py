"""Messages decide about containers that ended and about those that the kubelet or the runtime could not start."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import pytest

from kubectl_plugin.views.died.start_errors import start_error
from kubectl_plugin.views.pod.container_words import decisive
from kubectl_plugin.views.words import cut
from tests.kubectl_plugin.answers import said, write_list
from tests.kubectl_plugin.edits import FIELD
from tests.kubectl_plugin.running import run
from tests.objects import raw_condition, raw_container, raw_node, raw_pod

NOW: Final = "2026-08-02T09:00:00Z"
OCI: Final = (
    "failed to create containerd task: failed to create shim task: OCI runtime create failed: runc create failed: "
)


@pytest.mark.parametrize(
    ("command", "name", "pod", "page"),
    [
        ("died", "AA-termmsg", "msg", "its message: panic: dial tcp 10.0.0.9:5432: connect: connection refused"),
        ("explain", "AA-termmsg", "msg", "19 min ago: panic: dial tcp 10.0.0.9:5432: connect: connection refused."),
        ("died", "W2-starterror-ebusy", "tiny", "could not start: its memory limit is too small for the runtime"),
        ("died", "W2-starterror-ebusy", "tiny", "What helps raise its memory limit above 4Mi"),
        ("explain", "W2-starterror-ebusy", "tiny", "Raise its memory limit above 4Mi: the runtime needs some MiB"),
        ("died", "X-cfg-root", "cfg-root", "could not start: runAsNonRoot is set, and its image runs as root"),
        ("died", "X-cfg-root", "cfg-root", "What helps set runAsUser to a number other than 0, or use an image with"),
        ("explain", "X-cfg-root", "cfg-root", "Set runAsUser to a number other than 0, or use an image with"),
    ],
)
def test_message_of_the_report_decides(command: str, name: str, pod: str, page: str) -> None:
    ran = run(command, f"pod/{pod}", "--snapshot", str(FIELD / f"{name}.json"))
    assert page in " ".join(ran.out.split())
    assert "create the ConfigMap" not in ran.out
    assert "command exists" not in ran.out


@pytest.mark.parametrize(
    ("message", "what", "remedy"),
    [
        pytest.param(
            "container has runAsNonRoot and image has non-numeric user (nginx), cannot verify user is non-root "
            '(pod: "w_lab(1)", container: web)',
            'names user "nginx", not a number',
            "set runAsUser to the number of that user",
        ),
        ("container's runAsUser breaks non-root policy (pod: ...)", "its own user is root", "other than 0"),
        ('configmap "app-env" not found', 'configmap "app-env" was not found', "create it in the pod's namespace"),
        ("couldn't find key dsn in Secret lab/db", "Secret lab/db has no key dsn", "add the key"),
        (
            f'{OCI}exec: "/entry.sh": permission denied: unknown',
            "its command is not executable",
            "make the file executable",
        ),
        ("exec /app: exec format error", "for another processor", "the node's architecture"),
        (
            f"{OCI}write /sys/fs/cgroup/kubepods.slice/pod7/memory.max: device or resource busy: unknown",
            "memory limit is too small",
            "raise its memory limit",
        ),
        (f"{OCI}mkdir /data/in: not a directory: unknown", "folder /data/in of its workingDir", "correct workingDir"),
        ("no match for platform in manifest: not found", "no build for the platform", "kubernetes.io/os"),
        (f"{OCI}unable to find user app: no matching entries in passwd file", 'no user "app"', "a number in runAsUser"),
        pytest.param(
            f'{OCI}error mounting "/x" to rootfs at "/etc/a": not a directory: Are you trying to mount a directory '
            "onto a file (or vice-versa)?",
            "does not fit its mountPath",
            "subPath",
        ),
        (f'{OCI}exec: "serve": executable file not found in $PATH: unknown', "is not in the image", "command exists"),
        ("exec /run.sh: no such file or directory", "is not in the image", "command exists"),
        (
            "failed to reserve container name app_w_lab_0: name is reserved",
            "did not create it in time",
            "node's runtime",
        ),
        (f"{OCI}mkdir /var/lib/x: no space left on device", "a disk of the node is full", "free space"),
    ],
)
def test_start_error_has_its_own_remedy(message: str, what: str, remedy: str) -> None:
    found = start_error(message)
    assert found is not None
    assert what in found.what
    assert remedy in found.remedy


def test_other_messages_have_the_general_remedy() -> None:
    assert start_error("") is None
    assert start_error('path "/sys/fs/bpf" is mounted on "/sys/fs/bpf" but it is not a shared mount') is None
    assert start_error("{0} {limit} " * 9000) is None


def test_unknown_message_is_only_quoted(tmp_path: Path) -> None:
    waiting = {"waiting": {"reason": "CreateContainerConfigError", "message": "the moon is in the wrong house"}}
    file = written(tmp_path, {"name": "app", "ready": False, "state": waiting})
    assert "the message above" not in said("died", "pod/web-1", "-n", "lab", "--snapshot", file)


@pytest.mark.parametrize(
    ("message", "line"),
    [
        ("starting\npanic: nil map\n\ngoroutine 1 [running]:\nmain.main()\n\t/src/a.go:7", "panic: nil map"),
        ('Traceback (most recent call last):\n  File "a.py"\nValueError: no port\n', "ValueError: no port"),
        ("ready\nshutting down\nlost the lease", "lost the lease"),
        ('Exception in thread "main" java.lang.OutOfMemoryError\n\tat A.b(A.java:3)', 'Exception in thread "main"'),
        ("", ""),
    ],
)
def test_decisive_line_of_a_log(message: str, line: str) -> None:
    assert decisive(message).startswith(line)


def test_cut_message_keeps_both_ends() -> None:
    page = cut("begin " + "word " * 9000 + "end")
    assert page.startswith("begin word")
    assert page.endswith("word end")
    assert len(page) <= 250
    assert cut("a b") == "a b"
    assert cut("task c3a8d1f0-1111-2222-3333-444455556666 is gone") == "task c3a8d1f0… is gone"
    assert cut(f"id {'ab' * 32}") == "id abababab…"


def written(folder: Path, container: dict[str, Any], **metadata: Any) -> str:
    own = {"uid": "w", "creationTimestamp": "2026-08-02T08:00:00Z", **metadata}
    status = {
        "phase": "Running",
        "startTime": "2026-08-02T08:00:00Z",
        "conditions": [raw_condition("Ready", "False", lastTransitionTime="2026-08-02T08:10:00Z")],
        "containerStatuses": [container, {"name": "log", "ready": True, "state": {"running": {"startedAt": NOW}}}],
    }
    pod = raw_pod(
        "web-1",
        "lab",
        metadata=own,
        status=status,
        nodeName="n2",
        containers=[raw_container("app"), raw_container("log")],
        terminationGracePeriodSeconds=20,
    )
    ready = raw_condition("Ready", lastHeartbeatTime=NOW, lastTransitionTime="2026-08-01T09:00:00Z")
    items = [raw_node("n2", conditions=[ready]), pod]
    return write_list(folder / "c.json", items)


def test_hostile_message_is_escaped_and_bounded(tmp_path: Path) -> None:
    end = {"exitCode": 3, "reason": "Error", "finishedAt": "2026-08-02T08:50:00Z", "message": "\x1b[31m" + "x" * 90_000}
    file = written(tmp_path, {"name": "app", "lastState": {"terminated": end}, "state": {"waiting": {"reason": "x"}}})
    for command in ("died", "explain"):
        ran = run(command, "pod/web-1", "-n", "lab", "--snapshot", file)
        assert "\x1b" not in ran.out
        assert "x" * 300 not in "".join(ran.out.split())


def test_pod_that_does_not_end_names_what_still_runs(tmp_path: Path) -> None:
    going = {"deletionTimestamp": "2026-08-02T08:30:20Z", "deletionGracePeriodSeconds": 20}
    ended = {"terminated": {"exitCode": 0, "finishedAt": "2026-08-02T08:30:01Z"}}
    file = written(tmp_path, {"name": "app", "state": ended}, **going)
    text = said("explain", "pod/web-1", "-n", "lab", "--snapshot", file)
    assert 'overdue since 08:30:20 UTC; container "log" still runs by its status.' in text
