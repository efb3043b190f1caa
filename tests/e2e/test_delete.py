"""``kubectl qos delete`` on the real API server: it waits for the end, and deletes only the examined pod."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

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
from tests.kubectl_plugin.running import Ran
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
def kubectl_delete(control_plane: ControlPlane, runtime: Path) -> Plugin:
    """The same by the real kubectl."""
    return Plugin(control_plane, runtime, command="delete")


class Deletions(NamedTuple):
    """The pod ``web`` of a namespace, and its deletion."""

    plane: ControlPlane
    kubelet: Kubelet
    delete: Qos
    namespace: str

    def __call__(self, *words: str, **how: Any) -> Ran:
        """``kubectl qos delete pod/web``."""
        return self.delete("pod/web", "-n", self.namespace, *words, **how)

    def run(self, name: str = "web", **metadata: object) -> Object:
        """A pod that runs."""
        pod = unscheduled_pod(self.namespace, name, nodeName=self.kubelet.name, terminationGracePeriodSeconds=5)
        pod["metadata"] |= metadata
        made = self.plane.api.create(pod)
        wait_for(lambda: self.get(name)["status"]["phase"] == "Running", f"{name} runs")
        return made

    def get(self, name: str = "web") -> Object:
        """A pod as it is stored."""
        return self.plane.api.get("v1", "Pod", name, self.namespace)

    def uid(self) -> str:
        """Empty if the pod does not exist."""
        return uid_of(self.plane, self.namespace, "web")


@pytest.fixture
def web(control_plane: ControlPlane, kubelet: Kubelet, qos: InProcess, namespace: str) -> Deletions:
    """By ``kubectl qos delete`` in this process."""
    return Deletions(control_plane, kubelet, qos.also("delete"), namespace)


def interrupted_after(run: subprocess.Popen[bytes], words: bytes) -> bytes:
    """Interrupts a run when it has printed certain words; returns its standard error."""
    assert run.stdout is not None
    while words not in (line := run.stdout.readline()):
        assert line, run.communicate(timeout=PATIENCE)
    os.killpg(run.pid, signal.SIGINT)
    _, err = run.communicate(timeout=PATIENCE)
    return err


def test_F2_followed_until_it_is_gone(web: Deletions) -> None:
    made = web.run()
    ran = web()
    assert ran.code == 0, ran
    uid, node = made["metadata"]["uid"], web.kubelet.name
    lines = [line.partition("UTC  ")[2] for line in ran.out.splitlines()]
    assert lines[0] == f"deleting pod/web with 5 s of grace, if its uid is still {uid}"
    assert lines[1] == f"pod/web is deleted: the kubelet of {node} stops it, SIGKILL after 5 s at the latest"
    assert lines[-1] == "pod/web is gone"
    assert not web.uid()


@pytest.mark.parametrize(("asked", "seconds"), [("-1", 5), ("-7", 5), ("3", 3)])
def test_F2_the_grace_period_is_kubectls(web: Deletions, asked: str, seconds: int) -> None:
    for name, finish in (("ours", web.delete), ("kubectls", web.plane.kubectl)):
        web.run(name, finalizers=["example.com/keep"])
        wait = "--timeout=1ms" if finish is web.delete else "--wait=false"
        words = (f"pod/{name}", "-n", web.namespace, f"--grace-period={asked}", wait)
        # Its last delete, of a stopped pod, has a period of 0.
        web.kubelet.hold()
        try:
            finish(*(() if finish is web.delete else ("delete",)), *words)
            stored = web.get(name)
        finally:
            web.kubelet.let_go()
        assert stored["metadata"]["deletionGracePeriodSeconds"] == seconds
        web.plane.api.patch(stored, {"metadata": {"finalizers": None}})


def test_F2_a_report_for_programs(web: Deletions) -> None:
    made = web.run()
    ran = web.delete("pod", "web", "-n", web.namespace, "--grace-period=2", "-o", "json")
    report = json.loads(ran.out)
    assert (ran.code, report["kind"], report["outcome"]) == (0, "PodDeletion", "Done")
    assert (report["uid"], report["forced"], report["stakes"]) == (made["metadata"]["uid"], False, None)
    assert report["plan"]["grace"]["seconds"] == 2
    kinds = [step["kind"] for step in report["steps"]]
    assert (kinds[:2], kinds[-1]) == (["Deleting", "Deleted"], "Gone")
    assert "pod/web is gone" in ran.err, "steps are printed while a program waits"


def test_F2_without_grace_it_takes_a_confirmation(web: Deletions) -> None:
    uid = web.run()["metadata"]["uid"]
    refused = web("--grace-period=0")
    assert (refused.code, refused.err) == (3, "")
    assert "Not deleted: to delete it without grace, add --confirm." in refused.out
    assert web.uid() == uid

    dry = web("--grace-period=0", "--dry-run=server")
    assert dry.code == 0
    assert "dry run: the API server would do it; pod/web is unchanged" in dry.out
    assert web.uid() == uid

    done = web("--grace-period=0", "--confirm")
    assert done.code == 0, done
    assert "Deleting it without grace, as you confirmed." in done.out
    assert not web.uid()


def test_F2_a_dry_run_with_grace_changes_nothing(web: Deletions) -> None:
    web.run()
    assert web("--dry-run=server").code == 0
    assert "deletionTimestamp" not in web.get()["metadata"]


def test_F2_own_grace_of_0_is_a_force_deletion(web: Deletions) -> None:
    web.plane.api.create(unscheduled_pod(web.namespace, nodeName=web.kubelet.name, terminationGracePeriodSeconds=0))
    assert web().code == 3
    assert web.uid()


def test_F2_pod_without_processes_needs_confirmation(web: Deletions) -> None:
    web.plane.api.create(unscheduled_pod(web.namespace))
    looked = web("--grace-period=0")
    assert (looked.code, looked.out.splitlines()[1]) == (3, "ok Safe: it is on no node yet."), looked
    assert "Not deleted: to delete it without grace, add --confirm." in looked.out
    assert web.uid()
    ran = web("--grace-period=0", "--confirm")
    assert ran.code == 0, ran
    assert not web.uid()


def test_F2_not_gone_in_time_and_interrupted(web: Deletions, kubectl_delete: Plugin) -> None:
    """A pod that takes long: the deletion continues without the command."""
    web.run()
    web.kubelet.hold()
    try:
        late = web("--timeout=1s")
        assert late.code == 10, late
        assert "pod/web is deleted. Its object is removed once" in late.err

        following = kubectl_delete.start("pod/web", "-n", web.namespace)
        err = interrupted_after(following, b"stops it")
        assert following.returncode == 130
        assert b"pod/web is deleted. Its object is removed once" in err
        assert b"Traceback" not in err
    finally:
        web.kubelet.let_go()
    wait_for(lambda: not web.uid(), "it goes")


def test_F2_finalizers_are_shown(web: Deletions, kubectl_delete: Plugin) -> None:
    pod = web.run(finalizers=["example.com/keeps"])
    words = "nothing of pod/web runs any more; finalizer example.com/keeps keeps the object"
    # Follow until the kubelet has stopped it, then once more until the same line is printed.
    interrupted_after(kubectl_delete.start("pod/web", "-n", web.namespace), words.encode())
    ran = web("--timeout=1s")
    assert ran.code == 10, ran
    assert words in ran.out
    web.plane.api.patch(pod, {"metadata": {"finalizers": None}})


def test_F2_missing_right_to_delete_changes_nothing(web: Deletions) -> None:
    web.run()
    user = robot(web.plane, web.namespace)
    ran = web(kubeconfig=user)
    assert ran.code == 4, ran
    assert ran.err.startswith(f"error: you may not delete pods in namespace {web.namespace}")
    assert ran.err.endswith("Nothing was changed.\n")
    report = json.loads(web("-o", "json", kubeconfig=user).out)
    assert (report["outcome"], report["refusal"]["by"]) == ("Refused", "Rights")
    assert web.delete("pod/none", "-n", web.namespace, kubeconfig=user).code == 8
    looked = web("--grace-period=0", kubeconfig=user)
    assert looked.code == 4, looked
    said = f"Not deleted, and --confirm does not help: you may not delete pods in namespace {web.namespace}"
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


def test_F2_text_of_the_cluster_is_escaped(web: Deletions) -> None:
    """A container's termination message is untrusted text."""
    pod = web.run()
    web.kubelet.hold()
    try:
        web.plane.api.delete(pod)
        ended = {"exitCode": 1, "reason": "\x1b[31mred\u202e", "startedAt": None, "finishedAt": None}
        status = [{"name": "app", "image": "x", "imageID": "x", "ready": False, "restartCount": 0}]
        status[0]["state"] = {"terminated": ended}
        web.plane.set_pod_status(pod, {"containerStatuses": status})
        ran = web("--timeout=1s")
    finally:
        web.kubelet.let_go()
    assert "\x1b" not in ran.out
    assert "\u202e" not in ran.out
    assert "pod/web was already marked for deletion" in flat(ran.out)
