"""A node falls silent, on the real control plane: the reports at every step, and the rights for each action (F8).

The test writes that the node is lost (`tests.e2e.kubelets`); its pods tolerate that for 2 s, and pod garbage
collection runs every 20 s.
"""

from __future__ import annotations

import io
import json
import os
import re
import shlex
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Final

import pytest

from cluster_io.kinds import NODES, Kind
from cluster_io.live.client import ClientTransport
from cluster_io.live.live_source import LiveSource
from kubectl_plugin.commands import unfence
from kubectl_plugin.options import Streams
from kubectl_plugin.options.change_commands import FenceOptions
from kubectl_plugin.parsing import parse
from tests.controlplane.binaries import Binaries
from tests.controlplane.client import ApiError, Object
from tests.controlplane.control_plane import ControlPlane
from tests.e2e.access import everywhere
from tests.e2e.kubelets import DRIVER, Kubelet, claimed_volume, give_up, in_tree_name, ready_condition, uid_of
from tests.e2e.plugin import InProcess, KeptConnection, Plugin, flat
from tests.golden import check
from tests.kubectl_plugin.running import Ran
from tests.objects import raw_container, raw_object, raw_workload, unscheduled_pod
from tests.waiting import wait_for

pytestmark = pytest.mark.controlplane

PAGE: Final = Path(__file__).resolve().parents[2] / "docs" / "partitions.md"
STORY: Final = re.compile(r"(<!-- story: (\w+) -->\n```\n)(.*?)(```\n)", re.DOTALL)
LOST: Final = ("node-1", "node-2", "node-3")
"""Nodes that fall silent, each in its own zone, so that the states of others do not delay its evictions."""
OUT_OF_SERVICE: Final = "node.kubernetes.io/out-of-service"
Kubelets = dict[str, Kubelet]
"""By the names of their nodes."""
PATIENCE: Final = 120
"""Seconds until a test's parallel processes have ended."""


@pytest.fixture(scope="module")
def plane(control_plane_binaries: Binaries) -> Iterator[ControlPlane]:
    """A control plane that evicts pods from lost nodes soon, one node after the other without a pause."""
    running = ControlPlane(
        control_plane_binaries,
        apiserver_args=["--default-unreachable-toleration-seconds=2", "--default-not-ready-toleration-seconds=2"],
        controller_manager_args=["--node-monitor-period=500ms", "--node-eviction-rate=100"],
    )
    with running:
        running.apply([raw_object("CSIDriver", DRIVER, spec={"attachRequired": True})])
        running.create_namespace("shop")
        yield running


@pytest.fixture(scope="module")
def kubelets(plane: ControlPlane) -> Iterator[Kubelets]:
    """Three nodes that are lost, and one that stays."""
    with ExitStack() as stack:
        yield {name: stack.enter_context(Kubelet(plane, name, zone=f"zone-{name}")) for name in (*LOST, "node-4")}


@pytest.fixture(autouse=True)
def as_before(plane: ControlPlane, kubelets: Kubelets) -> Iterator[None]:
    """Make all nodes answer and empty before the next test."""
    yield
    for kubelet in kubelets.values():
        take_back(plane, kubelet)
    for workload in plane.api.list_items("apps/v1", "StatefulSet", "shop"):
        plane.api.delete(workload)
    for pod in plane.api.list_items("v1", "Pod", "shop"):
        plane.api.delete(pod)
    wait_for(lambda: not plane.api.list_items("v1", "Pod", "shop"), "no pods are left")


def ended(run: subprocess.Popen[bytes]) -> tuple[bytes, bytes]:
    """The output of a finished run. A run that does not end is reported with the processes of its group."""
    try:
        return run.communicate(timeout=PATIENCE)
    except subprocess.TimeoutExpired as error:
        columns = "pid,ppid,pgid,stat,wchan:24,args"
        listed = subprocess.run(["ps", "-e", "-o", columns], capture_output=True, text=True, check=False).stdout
        group = [line for line in listed.splitlines() if str(run.pid) in line.split()[:3]]
        raise AssertionError(
            "\n".join((f"{run.poll()}: not ended", *group, *map(str, (error.output, error.stderr))))
        ) from error


class Command:
    """``kubectl qos`` on this control plane."""

    def __init__(self, plane: ControlPlane, runtime: Path, kept: KeptConnection) -> None:
        self._plane, self._here = plane, InProcess(plane, runtime, kept)
        # Active runs have their sockets elsewhere: a finished run may leave none.
        self._background = runtime.with_name(f"background-{runtime.name}")
        self._background.mkdir()
        self._started: list[subprocess.Popen[bytes]] = []

    def __call__(self, command: str, *arguments: str, **how: Any) -> Ran:
        return self._here.also(command)(*arguments, **how)

    def start(self, command: str, *arguments: str) -> subprocess.Popen[bytes]:
        """Start it by the real kubectl, in parallel to the test."""
        self._started.append(Plugin(self._plane, self._background, command=command).start(*arguments))
        return self._started[-1]

    def end(self) -> None:
        """Kill the processes that a failed test started."""
        for run in self._started:
            if run.poll() is None:
                os.killpg(run.pid, signal.SIGTERM)
            run.communicate(timeout=PATIENCE)

    def nodes(self) -> dict[str, Any]:
        """The nodes of ``kubectl qos partitions -o json`` by name."""
        ran = self("partitions", "-o", "json")
        assert (ran.code, ran.err) == (0, ""), ran
        return {entry["reach"]["name"]: entry for entry in json.loads(ran.out)["nodes"]}


@pytest.fixture(scope="module")
def kept(plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Iterator[KeptConnection]:
    """The connection of runs in this process."""
    with KeptConnection(tmp_path_factory.mktemp("kept")) as connection:
        yield connection


@pytest.fixture
def qos(plane: ControlPlane, runtime: Path, kept: KeptConnection) -> Iterator[Command]:
    command = Command(plane, runtime, kept)
    yield command
    command.end()


def stateful_set(plane: ControlPlane, name: str, node: str, *, volume: bool = False) -> None:
    """A StatefulSet of one pod, which starts on a node and later moves to node-4; returns when it runs on the first."""
    preferred = [_preferred(node, 100), _preferred("node-4", 50)]
    spec: Object = {
        "containers": [raw_container()],
        "terminationGracePeriodSeconds": 5,
        "affinity": {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": preferred}},
    }
    if volume:
        plane.apply(claimed_volume(f"{name}-disk", "shop"))
        spec["volumes"] = [{"name": "data", "persistentVolumeClaim": {"claimName": f"{name}-disk"}}]
    plane.apply([raw_workload("StatefulSet", name, "shop", pod_spec=spec, replicas=1, serviceName=name)])
    wait_for(lambda: runs_on(plane, f"{name}-0") == node, f"{name}-0 runs on {node}")


def _preferred(node: str, weight: int) -> Object:
    expression = {"key": "kubernetes.io/hostname", "operator": "In", "values": [node]}
    return {"weight": weight, "preference": {"matchExpressions": [expression]}}


def pods(plane: ControlPlane, name: str) -> Object:
    found = plane.api.list_items("v1", "Pod", "shop", fieldSelector=f"metadata.name={name}")
    return found[0] if found else {"metadata": {}, "spec": {}, "status": {}}


def runs_on(plane: ControlPlane, name: str) -> str:
    """The node on which a pod runs; empty while it does not."""
    pod = pods(plane, name)
    return str(pod["spec"].get("nodeName", "")) if pod["status"].get("phase") == "Running" else ""


def is_terminating(plane: ControlPlane, name: str) -> bool:
    return "deletionTimestamp" in pods(plane, name)["metadata"]


def taints(plane: ControlPlane, node: str) -> list[str]:
    return [taint["key"] for taint in plane.api.get("v1", "Node", node)["spec"].get("taints", ())]


def ready(plane: ControlPlane, node: str) -> str:
    return str(ready_condition(plane.api.get("v1", "Node", node))["status"])


def lose(plane: ControlPlane, kubelet: Kubelet) -> None:
    """Cut a node off; returns when it is tainted."""
    kubelet.fall_silent()
    give_up(plane, kubelet.name)


def take_back(plane: ControlPlane, kubelet: Kubelet) -> None:
    """A node that answers, without taints."""
    kubelet.let_go()
    if kubelet.is_silent:
        kubelet.recover()
    if OUT_OF_SERVICE in taints(plane, kubelet.name):
        node = plane.api.get("v1", "Node", kubelet.name)
        left = [taint for taint in node["spec"]["taints"] if taint["key"] != OUT_OF_SERVICE]
        plane.api.patch(node, {"spec": {"taints": left}})
    wait_for(lambda: not taints(plane, kubelet.name), f"{kubelet.name} has no taints")


@pytest.fixture
def silent(plane: ControlPlane, kubelets: Kubelets) -> str:
    """A node that does not answer, and is not fenced."""
    lose(plane, kubelets["node-2"])
    return "node-2"


class PostMortem:
    """The commands and their output, recorded for the page."""

    def __init__(self, qos: Command) -> None:
        self._qos = qos
        self.scenes: dict[str, str] = {}

    def __call__(self, scene: str, code: int, command: str, *arguments: str) -> str:
        ran = self._qos(command, *arguments)
        assert ran.code == code, ran
        shown = f"$ kubectl qos {command} {' '.join(arguments)}".rstrip()
        self.scenes[scene] = f"{shown}\n{ran.out}{ran.err}"
        return flat(ran.out + ran.err)


def timeless(text: str) -> str:
    """A text with placeholders for times, ages, uids and revisions, and with a fixed order of simultaneous events."""
    text = re.sub(r"^(.* UTC  volume .*\n)(.* UTC  pod .*\n)", r"\2\1", text, flags=re.MULTILINE)
    text = re.sub(r"\s+", " ", text)
    for pattern, word in (
        # Events of a node's course that share a second share their time.
        (r"(?<=> )\d\d:\d\d:\d\d(?! UTC)", "TIME"),
        (r" > TIME (?=tainted)", ", "),
        (r"(\d{4}-\d\d-\d\d )?\d\d:\d\d:\d\d UTC", "TIME"),
        (r"(?<=\bfor )\d+ (?:s|min|h|d)\b|\b\d+ (?:s|min|h|d)(?= ago\b)", "AGE"),
        (r"[0-9a-f]{8}-[0-9a-f-]{27}", "UID"),
        (r"resourceVersion \d+", "REVISION"),
    ):
        text = re.sub(pattern, word, text)
    # If another client wrote to the node in between, it is tainted once more.
    return re.sub(r"(TIME tainting [^,]*, if it has not changed since REVISION )\1+", r"\1", text)


def test_F8_post_mortem_of_a_node_that_went_silent(plane: ControlPlane, kubelets: Kubelets, qos: Command) -> None:
    """One database, one disk, one machine that loses its network."""
    scene = PostMortem(qos)
    stateful_set(plane, "db", "node-1", volume=True)
    first = uid_of(plane, "shop", "db-0")
    assert "All nodes answer." in qos("partitions").out

    # The network fails. Half a minute later, in a real cluster, an operator checks.
    lose(plane, kubelets["node-1"])
    wait_for(lambda: is_terminating(plane, "db-0"), "db-0 is marked for deletion")
    seen = scene("partitions", 0, "partitions")
    assert "node/node-1 x Silent for" in seen
    assert "StatefulSet can neither replace it, scale nor roll out" in seen
    assert "volume db-disk stays attached" in seen
    node = qos.nodes()["node-1"]
    assert (node["reach"]["reach"], node["ready"], node["zone"]["state"]) == ("Silent", "Unknown", "FullDisruption")
    assert [(pod["name"], pod["risk"], bool(pod["deleted"])) for pod in node["pods"]] == [
        ("db-0", "NoReplacement", True)
    ]

    # Why does nothing happen? The pod waits for its kubelet, and all controllers wait for the pod.
    moving = json.loads(qos("explain", "pod/db-0", "-n", "shop", "-o", "json").out)["moving"]
    assert [(entry["step"], entry["waitsFor"], entry["heldBy"]) for entry in moving] == [
        ("Stop", "SilentKubelet", ["db-0"])
    ]

    # An operator may want to force it. This command does not yet.
    refused = scene("delete", 3, "delete", "pod/db-0", "-n", "shop", "--grace-period=0")
    assert "Not deleted: to delete it without grace, add --confirm." in refused
    assert "node-1 is silent" in refused
    assert uid_of(plane, "shop", "db-0") == first

    # What would fencing do? Nothing, until the operator confirms that the machine is off.
    asked = scene("look", 3, "fence", "node/node-1")
    assert "Not fenced: it is not confirmed that its machine is off." in asked
    assert OUT_OF_SERVICE not in taints(plane, "node-1")
    dry = qos("fence", "node/node-1", "--confirm-powered-off", "--dry-run=server")
    assert (dry.code, "dry run: the API server would do it" in flat(dry.out)) == (0, True)
    assert OUT_OF_SERVICE not in taints(plane, "node-1")

    # The operator has powered it off, and confirms that.
    done = scene("fence", 0, "fence", "node/node-1", "--confirm-powered-off")
    order = [
        "you confirm",
        "is declared out of service",
        "pod shop/db-0 is gone",
        "volume db-disk is detached",
        "nothing is left",
    ]
    vouched, declared, gone, detached, nothing_left = (done.index(words) for words in order)
    # Garbage collection and the detaching controller each act on the taint.
    assert vouched < declared < min(gone, detached) < max(gone, detached) < nothing_left

    # The database is back, elsewhere, with its disk: 20 seconds later and not never.
    wait_for(lambda: runs_on(plane, "db-0") not in {"", "node-1"}, "db-0 runs elsewhere")
    assert uid_of(plane, "shop", "db-0") != first
    attached = [entry["spec"]["nodeName"] for entry in plane.api.list_items("storage.k8s.io/v1", "VolumeAttachment")]
    assert attached == [runs_on(plane, "db-0")]
    assert "Nothing is left to remove." in scene("after", 0, "partitions")

    # The machine is repaired and boots. It stays empty until the operator unfences it.
    kubelets["node-1"].recover()
    wait_for(lambda: ready(plane, "node-1") == "True", "node-1 is Ready")
    assert "It answers again" in flat(qos("partitions").out)
    assert scene("unfence", 3, "unfence", "node/node-1").startswith("node/node-1 ! Not taken back")
    assert OUT_OF_SERVICE in taints(plane, "node-1")
    scene("unfenced", 0, "unfence", "node/node-1", "--confirm")
    wait_for(lambda: not taints(plane, "node-1"), "node-1 has no taints")
    assert "All nodes answer." in qos("partitions").out
    _write_down(scene.scenes)


def _write_down(scenes: dict[str, str]) -> None:
    """The page shows the recorded output; if any word differs, the whole output is recorded again."""
    page = PAGE.read_text(encoding="utf-8")
    shown = STORY.findall(page)
    assert len(shown) >= 4
    if all(timeless(text) == timeless(scenes[scene]) for _, scene, text, _ in shown):
        return
    check(PAGE, STORY.sub(lambda found: f"{found[1]}{scenes[found[2]]}{found[4]}", page))


def test_F8_plain_force_starts_a_second_ours_does_not(plane: ControlPlane, kubelets: Kubelets, qos: Command) -> None:
    """The plain command makes two pods of one StatefulSet name at once."""
    stateful_set(plane, "cache", "node-3")
    lose(plane, kubelets["node-3"])
    first = uid_of(plane, "shop", "cache-0")

    assert qos("delete", "pod/cache-0", "-n", "shop", "--grace-period=0").code == 3
    assert uid_of(plane, "shop", "cache-0") == first

    plane.kubectl("delete", "pod", "cache-0", "-n", "shop", "--grace-period=0", "--force")
    wait_for(lambda: runs_on(plane, "cache-0") not in {"", "node-3"}, "a second cache-0 runs")
    assert uid_of(plane, "shop", "cache-0") != first
    assert ready(plane, "node-3") == "Unknown", "and it is unknown whether the first has stopped"


def volumes_attached(plane: ControlPlane, node: str) -> list[str]:
    return [entry["name"] for entry in plane.api.get("v1", "Node", node)["status"].get("volumesAttached", ())]


@pytest.mark.parametrize(("source", "deleted"), [("iscsi", False), ("iscsi", True), ("fc", True)])
def test_F6_fence_waits_for_volumes_without_a_volume_attachment(
    plane: ControlPlane, kubelets: Kubelets, qos: Command, source: str, deleted: bool
) -> None:
    """The attach/detach controller keeps iSCSI and FC volumes in the status of the Node until the taint is there."""
    disk = f"{source}-left" if deleted else source
    plane.apply(claimed_volume(disk, "shop", source=source))
    volume = {"name": "data", "persistentVolumeClaim": {"claimName": disk}}
    old, new = (
        unscheduled_pod("shop", f"{name}-{disk}", nodeName=node, volumes=[volume])
        for name, node in (("old", "node-2"), ("new", "node-4"))
    )
    plane.api.create(old)
    wait_for(lambda: runs_on(plane, f"old-{disk}") == "node-2", "the old pod runs")
    name = in_tree_name(disk, source)
    assert volumes_attached(plane, "node-2") == [name]
    assert not plane.api.list_items("storage.k8s.io/v1", "VolumeAttachment")
    lose(plane, kubelets["node-2"])
    plane.api.create(new)
    wait_for(lambda: is_terminating(plane, f"old-{disk}"), "the old pod is marked for deletion")
    if deleted:
        plane.kubectl("delete", "pod", f"old-{disk}", "-n", "shop", "--grace-period=0", "--force")

    # The pod that waits, and the suggested commands.
    assert f"new-{disk}" in qos("partitions").out
    waits = qos("explain", f"pod/new-{disk}", "-n", "shop").out
    assert "kubectl qos partitions" in waits
    assert "kubectl qos fence node/node-2" in waits
    assert f"detaches 1 volume: {disk}" in flat(qos("fence", "node/node-2").out)
    assert volumes_attached(plane, "node-2") == [name], "nothing detaches it before the taint"

    # The controller is paused: the taint exists, and the volume is still attached.
    with plane.paused("kube-controller-manager"):
        late = qos("fence", "node/node-2", "--confirm-powered-off", "--timeout=2s")
        assert (late.code, "nothing is left to remove" in late.out) == (10, False), late
        assert f"volume {disk}" in flat(late.err)
        assert OUT_OF_SERVICE in taints(plane, "node-2")
        assert volumes_attached(plane, "node-2") == [name]
        assert "Nothing is left to remove." not in qos("partitions").out
        assert json.loads(qos("fence", "node/node-2", "--timeout=1s", "-o", "json").out)["left"]["attachments"] == [
            disk
        ]
    done = qos("fence", "node/node-2")
    assert done.code == 0, done
    assert volumes_attached(plane, "node-2") == []
    steps = flat(done.out)
    assert ("is gone" in steps) is not deleted
    assert "nothing is left to remove" in steps
    wait_for(lambda: volumes_attached(plane, "node-4") == [name], "it is attached where it is awaited")
    wait_for(lambda: runs_on(plane, f"new-{disk}") == "node-4", "the new pod runs")
    assert "Nothing is left to remove." in qos("partitions").out


def test_F6_fence_command_that_fails_changes_nothing(
    plane: ControlPlane, qos: Command, silent: str, tmp_path: Path
) -> None:
    commands = (
        (_program(tmp_path, "sys.exit(7)"), "60s", "exit code 7"),
        (_program(tmp_path, "time.sleep(600)"), "1s", "it did not end within 1 s"),
        (str(tmp_path / "missing"), "60s", "it cannot be started: No such file or directory"),
    )
    for command, timeout, said in commands:
        ran = qos("fence", f"node/{silent}", f"--fence-command={command}", "--confirm", f"--timeout={timeout}")
        assert ran.code == 9, ran
        assert f"the fence command failed, nothing in the cluster is changed: {said}" in ran.out
    assert OUT_OF_SERVICE not in taints(plane, silent)


def test_F6_without_confirmation_nothing_runs(plane: ControlPlane, qos: Command, silent: str, tmp_path: Path) -> None:
    """A configured fence command is not a confirmation, and a dry run does not run it."""
    trace = tmp_path / "ran"
    configured = {"KUBECTL_QOS_FENCE_COMMAND": _program(tmp_path, f"open({str(trace)!r}, 'w').close()")}
    for arguments, code in (((), 3), (("--dry-run=server",), 0), (("--confirm", "--dry-run=server"), 0)):
        assert qos("fence", f"node/{silent}", *arguments, env=configured).code == code
    assert not trace.exists()
    assert OUT_OF_SERVICE not in taints(plane, silent)


def test_F6_missing_rights_come_first(plane: ControlPlane, qos: Command, silent: str, tmp_path: Path) -> None:
    """A user with read access only gets the missing rights before any proof is requested."""
    trace = tmp_path / "ran"
    command = _program(tmp_path, f"open({str(trace)!r}, 'w').close()")
    user = _viewer(plane)
    ran = qos("fence", f"node/{silent}", f"--fence-command={command}", "--confirm", kubeconfig=user)
    assert ran.code == 4, ran
    assert "patch nodes node-2 (kubectl auth can-i patch nodes)" in flat(ran.out)
    assert ran.err.startswith("error: you may not patch nodes")
    assert ran.err.endswith("Nothing was changed.\n")
    assert not trace.exists()
    assert OUT_OF_SERVICE not in taints(plane, silent)


def test_F6_interrupted_before_the_taint(plane: ControlPlane, qos: Command, silent: str, tmp_path: Path) -> None:
    started = tmp_path / "started"
    command = _program(tmp_path, f"open({str(started)!r}, 'w').close(); time.sleep(600)")
    run = qos.start("fence", f"node/{silent}", f"--fence-command={command}", "--confirm")
    wait_for(started.exists, "the fence command runs")
    os.killpg(run.pid, signal.SIGINT)
    _, err = ended(run)
    assert run.returncode == 130, err
    assert b"it is unknown whether the machine of node/node-2 is off" in err
    assert b"Traceback" not in err
    assert OUT_OF_SERVICE not in taints(plane, silent)


def test_F8_api_server_cut_from_etcd_while_fencing(
    plane: ControlPlane, qos: Command, silent: str, tmp_path: Path
) -> None:
    """The fence command has run, and the API server stops answering: nothing is half done, and a retry works."""
    pid, trace = plane.pids["etcd"], tmp_path / "ran"
    stop = _program(tmp_path, f"open({str(trace)!r}, 'w').close(); os.kill({pid}, signal.SIGSTOP)")

    def fence() -> Ran | None:
        try:
            ran = qos("fence", f"node/{silent}", f"--fence-command={stop}", "--confirm", "--request-timeout=2s")
        finally:
            os.kill(pid, signal.SIGCONT)
        # A machine that stands still for 2 s before that is no answer either.
        return ran if trace.exists() else None

    cut = wait_for(fence, "the fence command runs")
    assert cut.code == 5, cut
    assert cut.err.startswith("error: ")
    assert "The fence command has run; node/node-2 is not declared out of service." in cut.err
    wait_for(lambda: _answers(plane), "the API server answers")
    assert OUT_OF_SERVICE not in taints(plane, silent)


def test_F8_api_server_cut_from_etcd_while_deleting(plane: ControlPlane, kubelets: Kubelets, qos: Command) -> None:
    """The API server loses its store during a deletion: that one is followed to its end, and no other begins."""
    stuck = _bound(plane, "kept", "node-4", finalizers=["example.com/keeps"])
    kubelets["node-4"].hold()

    def followed() -> subprocess.Popen[bytes] | None:
        run = qos.start("delete", "pod/kept", "-n", "shop", "--request-timeout=2s", "--timeout=10m")
        # A machine that stands still for 2 s before that is no answer either.
        return run if _has_printed(run, b"pod/kept is deleted") else None

    run = wait_for(followed, "it is being deleted")
    deletion = pods(plane, "kept")["metadata"]["deletionTimestamp"]
    with plane.paused("etcd"):
        cut = qos("delete", "pod/kept", "-n", "shop", "--grace-period=1", "--request-timeout=2s")
        assert _has_printed(run, b"no answer for the moment")
    wait_for(lambda: _answers(plane), "the API server answers")
    assert pods(plane, "kept")["metadata"]["deletionTimestamp"] == deletion, "a second deletion would bring it forward"
    assert (cut.code, cut.out, cut.err.startswith("error: "), cut.err.count("\n")) == (5, "", True, 1), cut
    kubelets["node-4"].let_go()
    plane.api.patch(stuck, {"metadata": {"finalizers": None}})
    assert _has_printed(run, b"pod/kept is gone")
    out, err = ended(run)
    assert run.returncode == 0, (out, err)
    assert b"Traceback" not in err


def test_F6_interrupted_fence_resumes_after_the_taint(plane: ControlPlane, qos: Command, silent: str) -> None:
    """A pod that does not stop in time, an interruption, and the same command again."""
    stuck = _bound(plane, "stuck", silent, finalizers=["example.com/keeps"])
    run = qos.start("fence", f"node/{silent}", "--confirm-powered-off")
    # Not by the node's taints: they exist before the answer to the patch.
    assert _has_printed(run, b"is declared out of service")
    assert OUT_OF_SERVICE in taints(plane, silent)
    wait_for(lambda: is_terminating(plane, "stuck"), "its pod is marked for deletion")
    os.killpg(run.pid, signal.SIGINT)
    out, err = ended(run)
    assert run.returncode == 130, (out, err)
    assert b"node/node-2 is declared out of service" in err
    assert b"To go on: kubectl qos fence node/node-2" in err

    late = qos("fence", f"node/{silent}", "--timeout=1s", "-o", "json")
    assert late.code == 10, late
    report = json.loads(late.out)
    assert (report["outcome"], report["left"]["pods"]) == ("UnderWay", ["shop/stuck"])
    assert [step["kind"] for step in report["steps"]] == ["GoingOn", "Waiting"]

    again = qos.start("fence", f"node/{silent}")
    assert again.stdout
    begun = again.stdout.readline() + again.stdout.readline()
    assert b"is declared out of service already: continuing from there" in begun
    assert b"waiting for shop/stuck and 0 volumes to be removed" in begun
    plane.api.patch(stuck, {"metadata": {"finalizers": None}})
    out, err = again.communicate(timeout=PATIENCE)
    assert (again.returncode, err) == (0, b"")
    assert b"pod shop/stuck is gone" in out
    done = qos("fence", f"node/{silent}")
    assert (done.code, "waiting for" in done.out, "nothing is left to remove" in done.out) == (0, False, True), done
    looked = qos("unfence", f"node/{silent}", kubeconfig=_viewer(plane))
    assert (looked.code, "--confirm does not help: you may not patch nodes" in flat(looked.out)) == (4, True), looked
    assert qos("unfence", f"node/{silent}", "--confirm").code == 0
    assert OUT_OF_SERVICE not in taints(plane, silent)


def test_F8_two_operators_fence_at_once(plane: ControlPlane, qos: Command, silent: str, tmp_path: Path) -> None:
    """Both have proof at the same moment: one wins, the other gets an error and has changed nothing."""
    meeting = tmp_path / "meeting"
    meeting.mkdir()
    arrive = f"folder = {str(meeting)!r}; open(f'{{folder}}/{{os.getpid()}}', 'w').close()"
    meet = _program(tmp_path, f"{arrive}\nwhile len(os.listdir(folder)) < 2: time.sleep(0.01)")
    runs = [qos.start("fence", f"node/{silent}", f"--fence-command={meet}", "--confirm") for _ in range(2)]
    outputs = [[text.decode() for text in ended(run)] for run in runs]
    assert sorted(run.returncode for run in runs) == [0, 9], outputs
    loser = next(out for run, (out, _) in zip(runs, outputs, strict=True) if run.returncode == 9)
    assert f"node/{silent} was declared out of service by another client" in loser
    assert taints(plane, silent).count(OUT_OF_SERVICE) == 1
    assert qos("unfence", f"node/{silent}", "--confirm").code == 0


def test_F6_taints_that_became_fewer_are_looked_at_again(
    plane: ControlPlane, silent: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As when a node answers again, and its taints are removed one by one during unfencing."""
    node = plane.api.get("v1", "Node", silent)
    own, fenced = ({"key": key, "effect": "NoExecute"} for key in ("example.com/own", OUT_OF_SERVICE))
    plane.api.patch(node, {"spec": {"taints": [*node["spec"]["taints"], own, fenced]}})
    writes = [lambda: plane.api.patch(node, {"spec": {"taints": [*node["spec"]["taints"], fenced]}})]

    class Overtaken(LiveSource):
        """Another client writes to the node after it was read for the first time."""

        def get(self, kind: Kind[Any], name: str, namespace: str | None = None) -> Any:
            found = super().get(kind, name, namespace)
            if kind is NODES and writes:
                writes.pop()()
            return found

    for name, value in plane.kubectl_environment().items():
        monkeypatch.setenv(name, value)
    transport = ClientTransport(kubeconfig=str(plane.admin_kubeconfig), request_timeout=60)
    streams = Streams(io.StringIO(), io.StringIO(), io.StringIO())
    options = parse(["unfence", f"node/{silent}", "--confirm"]).options
    assert isinstance(options, FenceOptions)
    try:
        assert unfence.run(options, Overtaken(transport, namespace=None), streams) == 0, streams
    finally:
        transport.close()
    assert not writes
    assert OUT_OF_SERVICE not in taints(plane, silent)


def _program(folder: Path, body: str) -> str:
    """A fence command for this test."""
    script = folder / f"program-{len(list(folder.iterdir()))}.py"
    lines = ("import os, signal, sys, time", "signal.signal(signal.SIGINT, signal.SIG_DFL)", body)
    script.write_text("\n".join(lines))
    return shlex.join([sys.executable, str(script)])


def _has_printed(run: subprocess.Popen[bytes], words: bytes) -> bool:
    """Waits until a run has written a line with these words; False when it has ended without."""
    assert run.stdout
    return any(words in line for line in iter(run.stdout.readline, b""))


def _answers(plane: ControlPlane) -> bool:
    try:
        plane.api.list_items("v1", "Node", limit="1")
    except (ApiError, OSError):
        return False
    return True


def _bound(plane: ControlPlane, name: str, node: str, *, finalizers: Sequence[str]) -> Object:
    """A pod that reports Running on a node."""
    pod = unscheduled_pod("shop", name, nodeName=node)
    pod["metadata"]["finalizers"] = list(finalizers)
    # Otherwise it would be marked for deletion: the taint is tolerated for 2 s.
    return plane.api.create(pod)


def _viewer(plane: ControlPlane) -> Path:
    """A user who may read everything here and change nothing."""
    names = ("nodes", "pods", "namespaces", "persistentvolumes", "persistentvolumeclaims")
    others = ("leases.coordination.k8s.io", "statefulsets.apps", "volumeattachments.storage.k8s.io")
    return everywhere(plane, "viewer", dict.fromkeys((*names, *others), ("get", "list")))
