"""``kubectl qos delete`` on the real API server: it waits for the end, and deletes only the examined pod."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from cluster_io.errors import Conflict, NotFound, RequestRefused
from cluster_io.kinds import NODES, PODS
from cluster_io.live.transport import KubectlProxy, ProxySettings
from cluster_io.writer import ACCESS_REVIEWS, Writer
from podrules.api.model.decode import from_object
from podrules.api.model.pod import Pod
from tests.controlplane.client import Object
from tests.controlplane.control_plane import ControlPlane
from tests.controlplane.proxies import connected_proxy
from tests.e2e.access import robot
from tests.e2e.kubelets import Kubelet, uid_of
from tests.e2e.plugin import InProcess, Plugin, Qos, flat
from tests.objects import raw_node, unscheduled_pod
from tests.waiting import wait_for

pytestmark = pytest.mark.controlplane

PATIENCE: Final = 60
"""Seconds until a run that was interrupted has ended."""


@pytest.fixture(scope="module")
def kubelet(control_plane: ControlPlane) -> Iterator[Kubelet]:
    """A node with pods that start and stop."""
    with Kubelet(control_plane, "node-of-deletions", cordoned=True) as running:
        yield running
    control_plane.api.delete(raw_node(running.name))


@pytest.fixture
def delete(qos: InProcess) -> Qos:
    """``kubectl qos delete``."""
    return qos.also("delete")


@pytest.fixture
def kubectl_delete(control_plane: ControlPlane, runtime: Path) -> Plugin:
    """The same by the real kubectl."""
    return Plugin(control_plane, runtime, command="delete")


def run_pod(control_plane: ControlPlane, kubelet: Kubelet, namespace: str, name: str = "web", **more: object) -> Object:
    """A pod that runs."""
    pod = unscheduled_pod(namespace, name, nodeName=kubelet.name, terminationGracePeriodSeconds=5)
    pod["metadata"] |= more
    made = control_plane.api.create(pod)
    wait_for(
        lambda: control_plane.api.get("v1", "Pod", name, namespace)["status"]["phase"] == "Running", f"{name} runs"
    )
    return {"apiVersion": "v1", "kind": "Pod", **made}


def interrupted_after(run: subprocess.Popen[bytes], words: bytes) -> bytes:
    """Interrupts a run when it has printed certain words; returns its standard error."""
    assert run.stdout is not None
    while words not in (line := run.stdout.readline()):
        assert line, run.communicate(timeout=PATIENCE)
    os.killpg(run.pid, signal.SIGINT)
    _, err = run.communicate(timeout=PATIENCE)
    return err


def test_F2_followed_until_it_is_gone(
    control_plane: ControlPlane, kubelet: Kubelet, delete: Qos, namespace: str
) -> None:
    made = run_pod(control_plane, kubelet, namespace)
    ran = delete("pod/web", "-n", namespace)
    assert ran.code == 0, ran
    uid = made["metadata"]["uid"]
    lines = [line.partition("UTC  ")[2] for line in ran.out.splitlines()]
    assert lines[0] == f"deleting pod/web with 5 s of grace, if its uid is still {uid}"
    assert lines[1] == f"pod/web is deleted: the kubelet of {kubelet.name} stops it, SIGKILL after 5 s at the latest"
    assert lines[-1] == "pod/web is gone"
    assert not uid_of(control_plane, namespace, "web")


@pytest.mark.parametrize(("asked", "seconds"), [("-1", 5), ("-7", 5), ("3", 3)])
def test_F2_the_grace_period_is_kubectls(
    control_plane: ControlPlane, kubelet: Kubelet, delete: Qos, namespace: str, asked: str, seconds: int
) -> None:
    for name, finish in (("ours", delete), ("kubectls", control_plane.kubectl)):
        run_pod(control_plane, kubelet, namespace, name, finalizers=["example.com/keep"])
        wait = "--timeout=1ms" if finish is delete else "--wait=false"
        words = (f"pod/{name}", "-n", namespace, f"--grace-period={asked}", wait)
        # Its last delete, of a stopped pod, has a period of 0.
        kubelet.hold()
        try:
            finish(*(() if finish is delete else ("delete",)), *words)
            stored = control_plane.api.get("v1", "Pod", name, namespace)
        finally:
            kubelet.let_go()
        assert stored["metadata"]["deletionGracePeriodSeconds"] == seconds
        control_plane.api.patch(stored, {"metadata": {"finalizers": None}})


def test_F2_a_report_for_programs(control_plane: ControlPlane, kubelet: Kubelet, delete: Qos, namespace: str) -> None:
    made = run_pod(control_plane, kubelet, namespace)
    ran = delete("pod", "web", "-n", namespace, "--grace-period=2", "-o", "json")
    report = json.loads(ran.out)
    assert (ran.code, report["kind"], report["outcome"]) == (0, "PodDeletion", "Done")
    assert (report["uid"], report["forced"], report["stakes"]) == (made["metadata"]["uid"], False, None)
    assert report["plan"]["grace"]["seconds"] == 2
    kinds = [step["kind"] for step in report["steps"]]
    assert (kinds[:2], kinds[-1]) == (["Deleting", "Deleted"], "Gone")
    assert "pod/web is gone" in ran.err, "steps are printed while a program waits"


def test_F2_without_grace_it_takes_a_confirmation(
    control_plane: ControlPlane, kubelet: Kubelet, delete: Qos, namespace: str
) -> None:
    uid = run_pod(control_plane, kubelet, namespace)["metadata"]["uid"]
    refused = delete("pod/web", "-n", namespace, "--grace-period=0")
    assert (refused.code, refused.err) == (3, "")
    assert "Not deleted: to delete it without grace, add --confirm." in refused.out
    assert uid_of(control_plane, namespace, "web") == uid

    dry = delete("pod/web", "-n", namespace, "--grace-period=0", "--dry-run=server")
    assert dry.code == 0
    assert "dry run: the API server would do it; pod/web is unchanged" in dry.out
    assert uid_of(control_plane, namespace, "web") == uid

    done = delete("pod/web", "-n", namespace, "--grace-period=0", "--confirm")
    assert done.code == 0, done
    assert "Deleting it without grace, as you confirmed." in done.out
    assert not uid_of(control_plane, namespace, "web")


def test_F2_a_dry_run_with_grace_changes_nothing(
    control_plane: ControlPlane, kubelet: Kubelet, delete: Qos, namespace: str
) -> None:
    run_pod(control_plane, kubelet, namespace)
    assert delete("pod/web", "-n", namespace, "--dry-run=server").code == 0
    assert "deletionTimestamp" not in control_plane.api.get("v1", "Pod", "web", namespace)["metadata"]


def test_F2_own_grace_of_0_is_a_force_deletion(
    control_plane: ControlPlane, kubelet: Kubelet, delete: Qos, namespace: str
) -> None:
    control_plane.api.create(unscheduled_pod(namespace, nodeName=kubelet.name, terminationGracePeriodSeconds=0))
    assert delete("pod/web", "-n", namespace).code == 3
    assert uid_of(control_plane, namespace, "web")


def test_F2_pod_without_processes_needs_confirmation(control_plane: ControlPlane, delete: Qos, namespace: str) -> None:
    control_plane.api.create(unscheduled_pod(namespace))
    looked = delete("pod/web", "-n", namespace, "--grace-period=0")
    assert (looked.code, looked.out.splitlines()[1]) == (3, "Safe: it is on no node yet."), looked
    assert "Not deleted: to delete it without grace, add --confirm." in looked.out
    assert uid_of(control_plane, namespace, "web")
    ran = delete("pod/web", "-n", namespace, "--grace-period=0", "--confirm")
    assert ran.code == 0, ran
    assert not uid_of(control_plane, namespace, "web")


def test_F2_not_gone_in_time_and_interrupted(
    control_plane: ControlPlane, kubelet: Kubelet, delete: Qos, kubectl_delete: Plugin, namespace: str
) -> None:
    """A pod that takes long: the deletion continues without the command."""
    run_pod(control_plane, kubelet, namespace)
    kubelet.hold()
    try:
        late = delete("pod/web", "-n", namespace, "--timeout=1s")
        assert late.code == 10, late
        assert "pod/web is deleted. Its object is removed once" in late.err

        following = kubectl_delete.start("pod/web", "-n", namespace)
        err = interrupted_after(following, b"stops it")
        assert following.returncode == 130
        assert b"pod/web is deleted. Its object is removed once" in err
        assert b"Traceback" not in err
    finally:
        kubelet.let_go()
    wait_for(lambda: not uid_of(control_plane, namespace, "web"), "it goes")


def test_F2_finalizers_are_shown(
    control_plane: ControlPlane, kubelet: Kubelet, delete: Qos, kubectl_delete: Plugin, namespace: str
) -> None:
    pod = run_pod(control_plane, kubelet, namespace, finalizers=["example.com/keeps"])
    words = "nothing of pod/web runs any more; finalizer example.com/keeps keeps the object"
    # Follow until the kubelet has stopped it, then once more until the same line is printed.
    interrupted_after(kubectl_delete.start("pod/web", "-n", namespace), words.encode())
    ran = delete("pod/web", "-n", namespace, "--timeout=1s")
    assert ran.code == 10, ran
    assert words in ran.out
    control_plane.api.patch(pod, {"metadata": {"finalizers": None}})


def test_F2_missing_right_to_delete_changes_nothing(
    control_plane: ControlPlane, kubelet: Kubelet, delete: Qos, namespace: str
) -> None:
    run_pod(control_plane, kubelet, namespace)
    user = robot(control_plane, namespace)
    ran = delete("pod/web", "-n", namespace, kubeconfig=user)
    assert ran.code == 4, ran
    assert ran.err.startswith(f"error: you may not delete pods in namespace {namespace}")
    assert ran.err.endswith("Nothing was changed.\n")
    report = json.loads(delete("pod/web", "-n", namespace, "-o", "json", kubeconfig=user).out)
    assert (report["outcome"], report["refusal"]["by"]) == ("Refused", "Rights")
    assert delete("pod/none", "-n", namespace, kubeconfig=user).code == 8
    looked = delete("pod/web", "-n", namespace, "--grace-period=0", kubeconfig=user)
    assert looked.code == 4, looked
    said = f"Not deleted, and --confirm does not help: you may not delete pods in namespace {namespace}"
    assert said in flat(looked.out)
    assert "kubectl qos delete" not in looked.out


@pytest.fixture
def proxy(control_plane: ControlPlane, namespace: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[KubectlProxy]:
    """What carries changes of pod ``web`` alone."""
    for name, value in control_plane.kubectl_environment().items():
        monkeypatch.setenv(name, value)
    settings = ProxySettings(methods=("POST", "PATCH", "DELETE"), paths=(PODS.path(namespace, "web"), ACCESS_REVIEWS))
    with connected_proxy(settings) as started:
        yield started


def stored(control_plane: ControlPlane, namespace: str) -> Pod:
    return from_object(control_plane.api.get("v1", "Pod", "web", namespace), Pod)


def test_F2_only_the_pod_that_was_looked_at(control_plane: ControlPlane, proxy: KubectlProxy, namespace: str) -> None:
    control_plane.api.create(unscheduled_pod(namespace))
    looked_at = stored(control_plane, namespace)
    control_plane.api.delete(unscheduled_pod(namespace))
    writer = Writer(proxy, dry_run=False)
    with pytest.raises(NotFound):
        writer.delete(PODS, looked_at, grace_period_seconds=0)
    control_plane.api.create(unscheduled_pod(namespace))
    with pytest.raises(Conflict, match="pod/web is not as it was looked at"):
        writer.delete(PODS, looked_at, grace_period_seconds=0)
    labelling = [{"op": "add", "path": "/metadata/labels/seen", "value": "true"}]
    with pytest.raises((Conflict, RequestRefused)):
        writer.patch(PODS, looked_at, labelling)
    assert "seen" not in stored(control_plane, namespace).metadata.labels


def test_F6_of_two_patches_one_wins(control_plane: ControlPlane, proxy: KubectlProxy, namespace: str) -> None:
    control_plane.api.create(unscheduled_pod(namespace))
    looked_at = stored(control_plane, namespace)
    writer = Writer(proxy, dry_run=False)
    writer.patch(PODS, looked_at, [{"op": "add", "path": "/metadata/labels/first", "value": "true"}])
    with pytest.raises(Conflict):
        writer.patch(PODS, looked_at, [{"op": "add", "path": "/metadata/labels/second", "value": "true"}])
    assert "second" not in stored(control_plane, namespace).metadata.labels


def test_F6_the_way_in_is_narrow(control_plane: ControlPlane, proxy: KubectlProxy, namespace: str) -> None:
    """A process with access to the socket could change only this pod, and read nothing."""
    control_plane.api.create(unscheduled_pod(namespace))
    other = PODS.path(namespace, "web2")
    assert proxy.get(PODS.path(namespace))[0] == 403
    assert proxy.get(NODES.path(None, "n"))[0] == 403
    assert proxy.send("DELETE", other, b"{}").status == 403
    assert proxy.send("PUT", PODS.path(namespace, "web"), b"{}").status == 403
    assert proxy.send("POST", f"{PODS.path(namespace, 'web')}/eviction", b"{}").status == 403


def test_F6_rights_are_asked(control_plane: ControlPlane, namespace: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in control_plane.kubectl_environment(robot(control_plane, namespace)).items():
        monkeypatch.setenv(name, value)
    with connected_proxy(ProxySettings(methods=("POST",), paths=(ACCESS_REVIEWS,))) as proxy:
        writer = Writer(proxy, dry_run=False)
        assert writer.may("get", PODS, "web", namespace).allowed
        assert not writer.may("delete", PODS, "web", namespace).allowed
        assert not writer.may("patch", NODES, "node").allowed


def test_F2_text_of_the_cluster_is_escaped(
    control_plane: ControlPlane, kubelet: Kubelet, delete: Qos, namespace: str
) -> None:
    """A container's termination message is untrusted text."""
    pod = run_pod(control_plane, kubelet, namespace)
    kubelet.hold()
    try:
        control_plane.api.delete(pod)
        ended = {"exitCode": 1, "reason": "\x1b[31mred\u202e", "startedAt": None, "finishedAt": None}
        status = [{"name": "app", "image": "x", "imageID": "x", "ready": False, "restartCount": 0}]
        status[0]["state"] = {"terminated": ended}
        control_plane.set_pod_status(pod, {"containerStatuses": status})
        ran = delete("pod/web", "-n", namespace, "--timeout=1s")
    finally:
        kubelet.let_go()
    assert "\x1b" not in ran.out
    assert "\u202e" not in ran.out
    assert "pod/web was already marked for deletion" in flat(ran.out)
