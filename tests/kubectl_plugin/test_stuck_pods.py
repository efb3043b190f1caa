"""Pages of stuck pods: the warning leads, with count, span and remedy; the report lists the pods."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Final

import pytest

from tests.kubectl_plugin.answers import check_texts, data, said, write_list
from tests.kubectl_plugin.edits import FIELD
from tests.kubectl_plugin.running import run
from tests.objects import raw_condition, raw_event, raw_node, raw_object, raw_owner, raw_pod


def headline(file: Path | str, *words: str) -> str:
    ran = run(*words, "--snapshot", str(file))
    assert "Traceback" not in ran.err
    return " ".join(ran.out.split()).partition(" is taken")[0]


@pytest.mark.parametrize(
    ("name", "pod", "said"),
    [
        pytest.param(
            "L-cm",
            "cm",
            "Pending for 60 min: FailedMount 30 times in 57 min, last 2 min ago: MountVolume.SetUp failed for "
            'volume "cfg" : configmap "app-config" not found. Create it in the pod\'s namespace, or set optional',
        ),
        pytest.param(
            "L-rc",
            "rc",
            "Pending for 60 min: FailedCreatePodSandBox 30 times in 57 min, last 2 min ago: Failed to create pod "
            'sandbox: rpc error: code = Unknown desc = failed to get sandbox runtime: no runtime for "gvisor" is '
            "configured. Configure the handler in that node's runtime, or correct runtimeClassName.",
        ),
        (
            "AI-killfail",
            "killfail",
            "Being deleted since 07:40:00 UTC, grace 30 s: FailedKillPod 60 times in 136 min, last 90 s ago: error",
        ),
        ("AI-killfail", "killfail", 'Overdue since 07:40:30 UTC: container "app" still runs by its status.'),
        pytest.param(
            "AI-unmount",
            "unmount",
            "Being deleted since 07:40:00 UTC, grace 30 s: FailedUnMount 60 times in 136 min, last 90 s ago: "
            'UnmountVolume.TearDown failed for volume "d"',
        ),
        (
            "AI-unmount",
            "unmount",
            "device is busy. Its processes have ended; its kubelet has not cleaned up. On the node",
        ),
        pytest.param(
            "c26",
            "typo",
            'Pending for 10 min: no scheduler has seen it (spec.schedulerName "my-scheduler", no PodScheduled '
            'condition). Check that a scheduler of that name runs; the default is "default-scheduler".',
        ),
        pytest.param(
            "c26",
            "fresh",
            'Pending for 10 min: no scheduler has seen it (spec.schedulerName "default-scheduler", no '
            "PodScheduled condition). Check that kube-scheduler runs. 1 of 1 node fits now.",
        ),
    ],
)
def test_warning_leads(name: str, pod: str, said: str) -> None:
    assert said in headline(FIELD / f"{name}.json", "explain", f"pod/{pod}")


@pytest.mark.parametrize(
    ("name", "risk", "said"),
    [
        ("L-cm", "Stuck", "x 1 pod: stuck: a warning persists default/cm (FailedMount 30 times)"),
        ("L-rc", "Stuck", "default/rc (FailedCreatePodSandBox 30 times)"),
        ("AI-killfail", "Stuck", "default/killfail (FailedKillPod 60 times)"),
        ("AI-unmount", "Stuck", "default/unmount (FailedUnMount 60 times)"),
        ("c26", "NoScheduler", "x 3 pods: not seen by a scheduler default/vc, default/typo and default/fresh"),
    ],
)
def test_report_lists_it_as_trouble(name: str, risk: str, said: str) -> None:
    file = str(FIELD / f"{name}.json")
    # A table wraps within columns: this width has no breaks.
    assert risk in {one["risk"] for one in data("report", "-A", "--snapshot", file)["pods"]}
    assert said in " ".join(run("report", "-A", "--snapshot", file, env={**os.environ, "COLUMNS": "250"}).out.split())


NOW: Final = "2026-08-02T09:00:00Z"
PROBE: Final = ("explain", "pod/probe-4", "-n", "lab")


def objects(reason: str, message: str, *, about: str = "Pod/probe-4", **more: Any) -> list[dict[str, Any]]:
    """A pod that has waited on node n2 for 40 minutes, and a warning about it or another object."""
    metadata = {"uid": "p4", "creationTimestamp": "2026-08-02T08:20:00Z", **more.pop("metadata", {})}
    status = {
        "phase": "Pending",
        "conditions": [raw_condition("PodScheduled"), raw_condition("PodReadyToStartContainers", "False")],
        "containerStatuses": [{"name": "app", "state": {"waiting": {"reason": "ContainerCreating"}}}],
        **more.pop("status", {}),
    }
    pod = raw_pod("probe-4", "lab", metadata=metadata, status=status, **{"nodeName": "n2", **more})
    ready = raw_condition("Ready", lastHeartbeatTime=NOW, lastTransitionTime="2026-08-01T09:00:00Z")
    node = raw_node("n2", conditions=[ready], allocatable={"cpu": "4", "memory": "8Gi", "pods": "110"})
    event = raw_event(
        about,
        reason,
        message,
        namespace="lab",
        uid="p4" if about == "Pod/probe-4" else None,
        first="2026-08-02T08:21:00Z",
        last="2026-08-02T08:58:00Z",
        type="Warning",
        source={"component": "kubelet", "host": "n2"},
        count=41,
    )
    return [node, pod, event]


def written(folder: Path, reason: str, message: str, **more: Any) -> str:
    return write_list(folder / "c.json", objects(reason, message, **more))


SANDBOX: Final = "Failed to create pod sandbox: rpc error: code = Unknown desc = "


@pytest.mark.parametrize(
    ("reason", "message", "said"),
    [
        pytest.param(
            "FailedCreatePodSandBox",
            f'{SANDBOX}failed to setup network for sandbox "{"5a" * 32}": plugin type="aws-cni" failed (add): '
            "add cmd: failed to assign an IP address to container",
            "failed to assign an IP address to container. Free addresses on that node or give its network plugin more",
        ),
        (
            "FailedCreatePodSandBox",
            f'{SANDBOX}plugin type="weave-net" name="weave" failed (add): unable to allocate: connection refused',
            "connection refused. Check that node's network plugin (CNI): its pod there, its rights and its free",
        ),
        pytest.param(
            "FailedCreatePodSandBox",
            f'{SANDBOX}failed to start sandbox "{"7c" * 32}": failed to create containerd task: failed to create '
            "shim task: OCI runtime create failed: runc create failed: unable to start container process: "
            "container init was OOM-killed (memory limit too low?): unknown",
            "Raise the memory limit: the runtime itself needs some MiB of it. Now",
        ),
        pytest.param(
            "FailedCreatePodSandBox",
            f"{SANDBOX}failed to create containerd task: failed to create shim task: OCI runtime create failed: "
            "unable to apply cgroup configuration: mkdir /sys/fs/cgroup/kubepods/x: no space left on device",
            "The node has no room for another cgroup: drain and restart it, or remove leftover cgroups. Now",
        ),
        (
            "FailedCreatePodSandBox",
            f"{SANDBOX}failed to create containerd task: failed to create shim task: EOF",
            "failed to create shim task: EOF. Now",
        ),
        (
            "FailedCreatePodSandBox",
            f"{SANDBOX}mkdir /var/lib/containers/storage/overlay/9: no space left on device",
            "Free disk space or inodes on that node, in the directories that the text names. Now",
        ),
        (
            "FailedCreatePodSandBox",
            f'{SANDBOX}failed to get sandbox image "mirror.example.com/pause:3.9": dial tcp: i/o timeout',
            "The node cannot pull the runtime's sandbox image (pause): check its connection to that registry. Now",
        ),
        (
            "FailedMount",
            'MountVolume.SetUp failed for volume "s" : references non-existent secret key: ca.crt',
            "ca.crt. Add that key to it, or correct items of the volume; the kubelet retries automatically. Now",
        ),
        (
            "FailedMount",
            'MountVolume.SetUp failed for volume "h" : hostPath type check failed: /srv is not a file',
            "/srv is not a file. Now",
        ),
        pytest.param(
            "FailedAttachVolume",
            'AttachVolume.Attach failed for volume "pv-8" : rpc error: code = Internal desc = Could not attach '
            'volume "vol-8" to node "i-8": UnauthorizedOperation: You are not authorized. Encoded message: '
            f"{'q7Hd' * 90}",
            "not authorized. Encoded message: q7Hdq7Hd…. Give the volume's driver the permission that its cloud denies",
        ),
        pytest.param(
            "FailedMount",
            'MountVolume.MountDevice failed for volume "pvc-7f" : kubernetes.io/csi: attacher.MountDevice failed '
            "to create client: driver name efs.csi.aws.com not found in the list of registered CSI drivers",
            "Check the driver's DaemonSet: its pod on that node must run",
        ),
        pytest.param(
            "FailedMount",
            'MountVolume.SetUp failed for volume "home" : mount failed: exit status 32 Output: mount.nfs: access '
            "denied by server while mounting 10.2.0.9:/export/home",
            "Check the server and path of the volume, and that the server exports it to that node.",
        ),
        pytest.param(
            "NetworkNotReady",
            "network is not ready: container runtime network not ready: NetworkReady=false "
            "reason:NetworkPluginNotReady message:Network plugin returns error: cni plugin not initialized",
            "Check whether the pod of the network plugin runs on that node.",
        ),
        (
            "BranchAllocationFailed",
            "no free branch interface",
            "BranchAllocationFailed 41 times in 37 min, last 2 min ago",
        ),
    ],
)
def test_remedy_follows_from_the_message(reason: str, message: str, said: str, tmp_path: Path) -> None:
    text = headline(written(tmp_path, reason, message), *PROBE)
    check_texts(text, (said, f"Pending for 40 min: {reason} 41 times in 37 min"))


def test_long_message_keeps_its_end_without_long_ids(tmp_path: Path) -> None:
    message = (
        f'{SANDBOX}for sandbox "{"0123456789abcdef" * 4}": ' + "by a very long way round, " * 20 + "disk quota exceeded"
    )
    text = headline(written(tmp_path, "FailedCreatePodSandBox", message), *PROBE)
    check_texts(text, ('for sandbox "01234567…"', " … ", "disk quota exceeded."))
    assert len(text) < 700


def test_hostile_message_is_escaped_and_bounded(tmp_path: Path) -> None:
    text = headline(written(tmp_path, "FailedMount", "\x1b[2J" + '" : configmap "' * 5000), *PROBE)
    assert "\x1b" not in text
    assert len(text) < 900


def test_missing_events_make_the_answer_uncertain(tmp_path: Path) -> None:
    file = write_list(tmp_path / "c.json", objects("FailedMount", "no")[:-1])
    assert "Not certain: no events in the file" in said(*PROBE, "--snapshot", file)
    assert run(*PROBE, "--snapshot", file).code == run("report", "-A", "--snapshot", file).code == 11


WAL: Final = [{"name": "d", "persistentVolumeClaim": {"claimName": "wal"}}]


def test_provisioner_that_fails_leads_where_a_node_fits(tmp_path: Path) -> None:
    file = written(
        tmp_path,
        "ProvisioningFailed",
        'failed to provision volume with StorageClass "fast": rpc error: code = ResourceExhausted desc = no capacity',
        about="PersistentVolumeClaim/wal",
        nodeName=None,
        volumes=WAL,
        status={"conditions": [], "containerStatuses": []},
    )
    first = "Pending for 40 min: ProvisioningFailed (persistentvolumeclaim/wal) 41 times in 37 min, last 2 min"
    check_texts(headline(file, *PROBE), (first, "desc = no capacity"))


def test_failed_attach_quotes_the_storage_error(tmp_path: Path) -> None:
    message = 'AttachVolume.Attach failed for volume "pv-5" : rpc error: code = Internal desc = disk is attaching'
    claim = {"namespace": "lab", "name": "wal", "uid": "c5"}
    size = {"accessModes": ["ReadWriteOnce"], "storageClassName": "fast"}
    volume = {**size, "csi": {"driver": "disk.example.com", "volumeHandle": "v5"}, "claimRef": claim}
    bound: Any = {"status": {"phase": "Bound"}}
    items = [
        *objects("FailedAttachVolume", message, volumes=WAL),
        raw_object("PersistentVolumeClaim", metadata=claim, spec={**size, "volumeName": "pv-5"}, **bound),
        raw_object("PersistentVolume", "pv-5", spec=volume, **bound),
    ]
    first = 'it waits for volume "d". FailedAttachVolume 41 times in 37 min, last 2 min ago: AttachVolume'
    last = "disk is attaching. Attach: its driver has to attach it at n2. Not certain"
    check_texts(headline(write_list(tmp_path / "c.json", items), *PROBE), (first, last))


def test_sandbox_that_the_network_plugin_does_not_release(tmp_path: Path) -> None:
    message = (
        'error killing pod: failed to "KillPodSandbox" for "0f" with KillPodSandboxError: "rpc error: code = Unknown '
        'desc = failed to destroy network for sandbox: calico failed (delete): connection is unauthorized"'
    )
    ended = {"terminated": {"exitCode": 0, "finishedAt": "2026-08-02T08:20:03Z"}}
    meta = {
        "creationTimestamp": "2026-08-01T08:00:00Z",
        "deletionTimestamp": "2026-08-02T08:20:30Z",
        "deletionGracePeriodSeconds": 30,
    }
    status = {"phase": "Running", "containerStatuses": [{"name": "app", "state": ended}]}
    text = headline(written(tmp_path, "FailedKillPod", message, metadata=meta, status=status), *PROBE)
    assert "Its processes have ended; its kubelet has not cleaned up. Check the network plugin's pod" in text


@pytest.mark.parametrize("kind", ["StatefulSet", "ReplicaSet", "Job"])
def test_drain_does_not_end_before_an_overdue_pod(tmp_path: Path, kind: str) -> None:
    meta = {
        "ownerReferences": [raw_owner(kind, "o", uid="o")],
        "deletionTimestamp": "2026-08-02T08:40:00Z",
        "deletionGracePeriodSeconds": 30,
        "finalizers": ["example.com/flush"],
    }
    file = written(tmp_path, "FailedKillPod", "error killing pod", metadata=meta)
    ran = run("place", "--drain", "node/n2", "--snapshot", str(file))
    text = " ".join(ran.out.split())
    assert ran.code == 7
    assert (
        'x lab/probe-4 overdue since 2026-08-02 08:40:00 UTC; finalizer "example.com/flush" keeps the object until the '
        "controller of example.com removes it" in text
    )
    assert "fits" not in text
