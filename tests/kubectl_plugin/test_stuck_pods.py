"""Pages of stuck pods: the warning leads, with count, span and remedy; the report lists the pods."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any, Final

import pytest

from tests.kubectl_plugin.running import run
from tests.objects import raw_condition, raw_container, raw_node, raw_pod
from tests.tree import ROOT

FIELD: Final = ROOT / "tests" / "testdata" / "cases" / "field"


def headline(file: Path, *words: str) -> str:
    ran = run(*words, "--snapshot", str(file))
    assert "Traceback" not in ran.err
    return " ".join(ran.out.split()).partition(" is taken")[0]


@pytest.mark.parametrize(
    ("name", "pod", "said"),
    [
        (
            "L-cm",
            "cm",
            (
                "Pending for 60 min: FailedMount 30 times in 57 min, last 2 min ago: MountVolume.SetUp failed for "
                'volume "cfg" : configmap "app-config" not found. Create it in the pod\'s namespace, or set optional'
            ),
        ),
        (
            "L-rc",
            "rc",
            (
                "Pending for 60 min: FailedCreatePodSandBox 30 times in 57 min, last 2 min ago: Failed to create pod "
                'sandbox: rpc error: code = Unknown desc = failed to get sandbox runtime: no runtime for "gvisor" is '
                "configured. Configure the handler in that node's runtime, or correct runtimeClassName."
            ),
        ),
        (
            "AI-killfail",
            "killfail",
            "Being deleted since 07:40:00 UTC, grace 30 s: FailedKillPod 60 times in 136 min, last 90 s ago: error",
        ),
        ("AI-killfail", "killfail", 'Overdue since 07:40:30 UTC: container "app" still runs by its status.'),
        (
            "AI-unmount",
            "unmount",
            (
                "Being deleted since 07:40:00 UTC, grace 30 s: FailedUnMount 60 times in 136 min, last 90 s ago: "
                'UnmountVolume.TearDown failed for volume "d"'
            ),
        ),
        (
            "AI-unmount",
            "unmount",
            "device is busy. Its processes have ended; its kubelet has not cleaned up. On the node",
        ),
        (
            "c26",
            "typo",
            (
                'Pending for 10 min: no scheduler has seen it (spec.schedulerName "my-scheduler", no PodScheduled '
                'condition). Check that a scheduler of that name runs; the default is "default-scheduler".'
            ),
        ),
        (
            "c26",
            "fresh",
            (
                'Pending for 10 min: no scheduler has seen it (spec.schedulerName "default-scheduler", no '
                "PodScheduled condition). Check that kube-scheduler runs. 1 of 1 node fits now."
            ),
        ),
    ],
)
def test_warning_leads(name: str, pod: str, said: str) -> None:
    assert said in headline(FIELD / f"{name}.json", "explain", f"pod/{pod}")


@pytest.mark.parametrize(
    ("name", "risk", "said"),
    [
        ("L-cm", "Stuck", "trouble 1 pod: stuck: a warning persists. default/cm (FailedMount 30 times)."),
        ("L-rc", "Stuck", "default/rc (FailedCreatePodSandBox 30 times)"),
        ("AI-killfail", "Stuck", "default/killfail (FailedKillPod 60 times)"),
        ("AI-unmount", "Stuck", "default/unmount (FailedUnMount 60 times)"),
        ("c26", "NoScheduler", "trouble 3 pods: not seen by a scheduler. default/vc, default/typo and default/fresh."),
    ],
)
def test_report_lists_it_as_trouble(name: str, risk: str, said: str) -> None:
    file = str(FIELD / f"{name}.json")
    # A table wraps within columns: this width has no breaks.
    report = json.loads(run("report", "-A", "--snapshot", file, "-o", "json").out)
    assert risk in {one["risk"] for one in report["pods"]}
    text = " ".join(run("report", "-A", "--snapshot", file, env={**os.environ, "COLUMNS": "250"}).out.split())
    assert said in text


NOW: Final = "2026-08-02T09:00:00Z"
OF_POD: Final = {"kind": "Pod", "namespace": "lab", "name": "probe-4", "uid": "p4"}
PATIENT: Final = "2026-08-02T08:20:00Z"


def written(folder: Path, reason: str, message: str, *, events: bool = True, **more: Any) -> Path:
    """A pod that has waited on node n2 for 40 minutes, and its warning."""
    metadata = {"uid": "p4", "creationTimestamp": PATIENT, **more.pop("metadata", {})}
    status = {
        "phase": "Pending",
        "conditions": [raw_condition("PodScheduled"), raw_condition("PodReadyToStartContainers", "False")],
        "containerStatuses": [{"name": "app", "state": {"waiting": {"reason": "ContainerCreating"}}}],
        **more.pop("status", {}),
    }
    pod = raw_pod("probe-4", "lab", metadata=metadata, status=status, **{"nodeName": "n2", **more})
    ready = raw_condition("Ready", lastHeartbeatTime=NOW, lastTransitionTime="2026-08-01T09:00:00Z")
    event = {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": "probe-4.1", "namespace": "lab", "creationTimestamp": "2026-08-02T08:21:00Z"},
        "involvedObject": OF_POD,
        "reason": reason,
        "message": message,
        "type": "Warning",
        "source": {"component": "kubelet", "host": "n2"},
        "firstTimestamp": "2026-08-02T08:21:00Z",
        "lastTimestamp": "2026-08-02T08:58:00Z",
        "count": 41,
    }
    file = folder / "c.json"
    node = raw_node("n2", conditions=[ready], allocatable={"cpu": "4", "memory": "8Gi", "pods": "110"})
    items = [node, pod, *([event] if events else [])]
    file.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
    return file


SANDBOX: Final = "Failed to create pod sandbox: rpc error: code = Unknown desc = "


@pytest.mark.parametrize(
    ("reason", "message", "said"),
    [
        (
            "FailedCreatePodSandBox",
            (
                f'{SANDBOX}failed to setup network for sandbox "{"5a" * 32}": plugin type="aws-cni" failed (add): '
                "add cmd: failed to assign an IP address to container"
            ),
            "failed to assign an IP address to container. Free addresses on that node or give its network plugin more",
        ),
        (
            "FailedCreatePodSandBox",
            f'{SANDBOX}plugin type="weave-net" name="weave" failed (add): unable to allocate: connection refused',
            "connection refused. Check that node's network plugin (CNI): its pod there, its rights and its free",
        ),
        (
            "FailedCreatePodSandBox",
            (
                f'{SANDBOX}failed to start sandbox "{"7c" * 32}": failed to create containerd task: failed to create '
                "shim task: OCI runtime create failed: runc create failed: unable to start container process: "
                "container init was OOM-killed (memory limit too low?): unknown"
            ),
            "Raise the memory limit: the runtime itself needs some MiB of it. Now",
        ),
        (
            "FailedCreatePodSandBox",
            (
                f"{SANDBOX}failed to create containerd task: failed to create shim task: OCI runtime create failed: "
                "unable to apply cgroup configuration: mkdir /sys/fs/cgroup/kubepods/x: no space left on device"
            ),
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
        (
            "FailedAttachVolume",
            (
                'AttachVolume.Attach failed for volume "pv-8" : rpc error: code = Internal desc = Could not attach '
                'volume "vol-8" to node "i-8": UnauthorizedOperation: You are not authorized. Encoded message: '
                f"{'q7Hd' * 90}"
            ),
            "not authorized. Encoded message: q7Hdq7Hd…. Give the volume's driver the permission that its cloud denies",
        ),
        (
            "FailedMount",
            (
                'MountVolume.MountDevice failed for volume "pvc-7f" : kubernetes.io/csi: attacher.MountDevice failed '
                "to create client: driver name efs.csi.aws.com not found in the list of registered CSI drivers"
            ),
            "Check the driver's DaemonSet: its pod on that node must run",
        ),
        (
            "FailedMount",
            (
                'MountVolume.SetUp failed for volume "home" : mount failed: exit status 32 Output: mount.nfs: access '
                "denied by server while mounting 10.2.0.9:/export/home"
            ),
            "Check the server and path of the volume, and that the server exports it to that node.",
        ),
        (
            "NetworkNotReady",
            (
                "network is not ready: container runtime network not ready: NetworkReady=false "
                "reason:NetworkPluginNotReady message:Network plugin returns error: cni plugin not initialized"
            ),
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
    text = headline(written(tmp_path, reason, message), "explain", "pod/probe-4", "-n", "lab")
    assert said in text
    assert f"Pending for 40 min: {reason} 41 times in 37 min" in text


def test_long_message_keeps_its_end_without_long_ids(tmp_path: Path) -> None:
    message = (
        f'{SANDBOX}for sandbox "{"0123456789abcdef" * 4}": ' + "by a very long way round, " * 20 + "disk quota exceeded"
    )
    text = headline(written(tmp_path, "FailedCreatePodSandBox", message), "explain", "pod/probe-4", "-n", "lab")
    assert 'for sandbox "01234567…"' in text
    assert " … " in text
    assert "disk quota exceeded." in text
    assert len(text) < 700


def test_hostile_message_is_escaped_and_bounded(tmp_path: Path) -> None:
    text = headline(
        written(tmp_path, "FailedMount", "\x1b[2J" + '" : configmap "' * 5000), "explain", "pod/probe-4", "-n", "lab"
    )
    assert "\x1b" not in text
    assert len(text) < 900


def test_missing_events_make_the_answer_uncertain(tmp_path: Path) -> None:
    file = written(tmp_path, "FailedMount", "no", events=False)
    ran = run("explain", "pod/probe-4", "-n", "lab", "--snapshot", str(file))
    assert ran.code == 11
    assert "Not certain: no events in the file" in " ".join(ran.out.split())
    assert run("report", "-A", "--snapshot", str(file)).code == 11


def test_provisioner_that_fails_leads_where_a_node_fits(tmp_path: Path) -> None:
    file = written(
        tmp_path,
        "ProvisioningFailed",
        'failed to provision volume with StorageClass "fast": rpc error: code = ResourceExhausted desc = no capacity',
        nodeName=None,
        volumes=[{"name": "d", "persistentVolumeClaim": {"claimName": "wal"}}],
        containers=[raw_container()],
        status={"conditions": [], "containerStatuses": []},
    )
    content = json.loads(file.read_text())
    content["items"][-1]["involvedObject"] = {"kind": "PersistentVolumeClaim", "namespace": "lab", "name": "wal"}
    file.write_text(json.dumps(content))
    text = headline(file, "explain", "pod/probe-4", "-n", "lab")
    assert "Pending for 40 min: ProvisioningFailed (persistentvolumeclaim/wal) 41 times in 37 min, last 2 min" in text
    assert "desc = no capacity" in text


def test_failed_attach_quotes_the_storage_error(tmp_path: Path) -> None:
    said = 'AttachVolume.Attach failed for volume "pv-5" : rpc error: code = Internal desc = disk is attaching'
    file = written(
        tmp_path, "FailedAttachVolume", said, volumes=[{"name": "d", "persistentVolumeClaim": {"claimName": "wal"}}]
    )
    content = json.loads(file.read_text())
    claim = {"namespace": "lab", "name": "wal", "uid": "c5"}
    size = {"accessModes": ["ReadWriteOnce"], "storageClassName": "fast"}
    content["items"] += [
        {
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "metadata": claim,
            "spec": {**size, "volumeName": "pv-5"},
            "status": {"phase": "Bound"},
        },
        {
            "apiVersion": "v1",
            "kind": "PersistentVolume",
            "metadata": {"name": "pv-5"},
            "spec": {**size, "csi": {"driver": "disk.example.com", "volumeHandle": "v5"}, "claimRef": claim},
            "status": {"phase": "Bound"},
        },
    ]
    file.write_text(json.dumps(content))
    text = headline(file, "explain", "pod/probe-4", "-n", "lab")
    assert 'it waits for volume "d". FailedAttachVolume 41 times in 37 min, last 2 min ago: AttachVolume' in text
    assert "disk is attaching. Attach: its driver has to attach it at n2. Not certain" in text


def test_sandbox_that_the_network_plugin_does_not_release(tmp_path: Path) -> None:
    said = (
        'error killing pod: failed to "KillPodSandbox" for "0f" with KillPodSandboxError: "rpc error: code = Unknown '
        'desc = failed to destroy network for sandbox: calico failed (delete): connection is unauthorized"'
    )
    ended = {"terminated": {"exitCode": 0, "finishedAt": "2026-08-02T08:20:03Z"}}
    file = written(
        tmp_path,
        "FailedKillPod",
        said,
        metadata={
            "creationTimestamp": "2026-08-01T08:00:00Z",
            "deletionTimestamp": "2026-08-02T08:20:30Z",
            "deletionGracePeriodSeconds": 30,
        },
        status={"phase": "Running", "containerStatuses": [{"name": "app", "state": ended}]},
    )
    text = headline(file, "explain", "pod/probe-4", "-n", "lab")
    assert "Its processes have ended; its kubelet has not cleaned up. Check the network plugin's pod" in text


@pytest.mark.parametrize("kind", ["StatefulSet", "ReplicaSet", "Job"])
def test_drain_does_not_end_before_an_overdue_pod(tmp_path: Path, kind: str) -> None:
    meta = {
        "ownerReferences": [{"apiVersion": "v1", "kind": kind, "name": "o", "uid": "o", "controller": True}],
        "deletionTimestamp": "2026-08-02T08:40:00Z",
        "deletionGracePeriodSeconds": 30,
        "finalizers": ["example.com/flush"],
    }
    file = written(tmp_path, "FailedKillPod", "error killing pod", metadata=meta)
    ran = run("place", "--drain", "node/n2", "--snapshot", str(file))
    text = " ".join(ran.out.split())
    assert ran.code == 7
    assert (
        "The drain does not end before lab/probe-4 is gone: deleted before, overdue since 2026-08-02 08:40:00 UTC; "
        'finalizer "example.com/flush" keeps the object until the controller of example.com removes it.' in text
    )
    assert "fits" not in text
