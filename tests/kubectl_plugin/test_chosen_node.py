"""Pods without a node for which one is chosen: what they wait for before binding, in `explain` and `report`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

import pytest

from tests.kubectl_plugin.running import run, write_cluster
from tests.objects import raw_condition, raw_node, raw_pod

MADE: Final = "2026-10-01T12:00:00Z"
ASKED: Final = "Waiting for a volume to be created either by the external provisioner 'csi.acme.io' or manually"
TIMEOUT: Final = 'running PreBind plugin "VolumeBinding": binding volumes: context deadline exceeded'
Json = dict[str, Any]


def pod(name: str = "db", *, claim: str = "data", nominated: str = "n1", reason: str = "", **more: Any) -> Json:
    conditions = [raw_condition("PodScheduled", "False", reason=reason, message=TIMEOUT, lastTransitionTime=MADE)]
    volumes = [{"name": "v", "persistentVolumeClaim": {"claimName": claim}}] if claim else []
    status = {"phase": "Pending", "nominatedNodeName": nominated, "conditions": conditions if reason else []}
    made = raw_pod(name, "shop", uid=name, volumes=volumes, status=status, requests={"cpu": "1"}, **more)
    made["metadata"]["creationTimestamp"] = MADE
    return made


def claim(name: str = "data", *, selected: str = "n1", **spec: Any) -> Json:
    annotations = {"volume.kubernetes.io/selected-node": selected} if selected else {}
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {
            "name": name,
            "namespace": "shop",
            "uid": name,
            "creationTimestamp": MADE,
            "annotations": annotations,
        },
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "storageClassName": "fast",
            "resources": {"requests": {"storage": "5Gi"}},
            **spec,
        },
        "status": {"phase": "Pending"},
    }


CLASS: Final = {
    "apiVersion": "storage.k8s.io/v1",
    "kind": "StorageClass",
    "metadata": {"name": "fast"},
    "provisioner": "csi.acme.io",
    "volumeBindingMode": "WaitForFirstConsumer",
}


def event(reason: str, at: str, *, first: str = "", kind: str = "PersistentVolumeClaim", **more: Any) -> Json:
    name = "data" if kind != "Pod" else "db"
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": f"{reason}-{at}", "namespace": "shop", "creationTimestamp": MADE},
        "involvedObject": {"kind": kind, "name": name, "namespace": "shop", "uid": name},
        "reason": reason,
        "type": "Normal",
        "firstTimestamp": f"2026-10-01T{first or at}Z",
        "lastTimestamp": f"2026-10-01T{at}Z",
        **more,
    }


def waiting(at: str) -> Json:
    """The controller's event about an awaited provisioner; the newest one is the present."""
    return event("ExternalProvisioning", at, first="12:00:02", count=9, message=ASKED)


class Cluster:
    """Nodes n1 and n2 with 2 CPUs, and the objects of a test."""

    def __init__(self, folder: Path, *objects: Json) -> None:
        heartbeat = raw_condition("Ready", lastHeartbeatTime=MADE)
        nodes = [raw_node(name, allocatable={"cpu": "2", "pods": "9"}, conditions=[heartbeat]) for name in ("n1", "n2")]
        self.file = write_cluster(folder / "c.json", [*nodes, *objects])

    def said(self, *words: str) -> str:
        ran = run(*words, "--snapshot", self.file)
        assert not ran.err
        return " ".join(ran.out.split())

    def explained(self, name: str = "db") -> str:
        return self.said("explain", f"pod/{name}", "-n", "shop")


def test_failed_provisioner_is_named(tmp_path: Path) -> None:
    cluster = Cluster(tmp_path, pod(), claim(), CLASS, waiting("12:00:12"))
    said = cluster.explained()
    assert (
        'Pending for 12 s: kube-scheduler chose n1 and waits for claim "data", which is unbound: csi.acme.io has not '
        'created a volume of class "fast" yet. No CSIDriver is named csi.acme.io: if it is a CSI driver, it is not '
        "installed. The scheduler gives up after 600 s (bindTimeoutSeconds, the default) and tries again. Way out: "
        "check that the provisioner runs; the claim's events show its messages."
    ) in said
    assert "preemption" not in said
    assert "trouble" not in cluster.said("report", "-n", "shop")


def test_start_and_duration_of_the_wait(tmp_path: Path) -> None:
    said = Cluster(tmp_path, pod(), claim(), CLASS, waiting("12:04:00")).explained()
    assert "The volume was requested at 12:00:02 UTC; the scheduler gives up after 600 s (" in said
    assert "default), at 12:10:02 UTC, and tries again." in said


@pytest.mark.parametrize("nominated", ["n1", ""])
def test_attempt_that_timed_out_is_trouble(nominated: str, tmp_path: Path) -> None:
    failed = event("FailedScheduling", "12:10:04", kind="Pod", type="Warning", message=TIMEOUT)
    given = pod(nominated=nominated, reason="SchedulerError")
    cluster = Cluster(tmp_path, given, claim(), CLASS, failed, waiting("12:11:00"))
    said = cluster.explained()
    waits = "waits" if nominated else "waited"
    assert f'Pending for 11 min: kube-scheduler chose n1 and {waits} for claim "data"' in said
    assert f"An attempt failed: {TIMEOUT}." in said
    assert "default), at" not in said
    report = cluster.said("report", "-n", "shop")
    assert "trouble 1 pod: claim stays unbound. shop/db." in report


def test_report_names_the_claim_and_its_provisioner(tmp_path: Path) -> None:
    unbound = 'Claim "data" is unbound: csi.acme.io has not created a volume of class "fast" yet.'
    for at in ("12:00:12", "12:20:00"):
        report = Cluster(tmp_path, pod(), claim(), CLASS, waiting(at)).said("report", "-n", "shop")
        assert f"shop/db. {unbound}" in report
        assert "Nothing says" not in report
    many = [made for n in range(3) for made in (claim(f"d{n}"), pod(f"p{n}", claim=f"d{n}", nominated=""))]
    cluster = Cluster(tmp_path, *many, pod("free", claim="", nominated=""), CLASS, waiting("12:00:12"))
    report = cluster.said("report", "-n", "shop")
    assert 'class "fast" yet. 1 more claim like these. Nothing says that no node fits.' in report


@pytest.mark.parametrize(("at", "late"), [("12:04:50", False), ("12:05:10", True)])
def test_wait_without_failure_is_trouble_after_5_min(at: str, late: bool, tmp_path: Path) -> None:
    cluster = Cluster(tmp_path, pod(), claim(), CLASS, waiting(at))
    assert ("trouble 1 pod: claim stays unbound" in cluster.said("report", "-n", "shop")) is late


def test_older_scheduler_names_no_node(tmp_path: Path) -> None:
    """This also holds with the feature gate off: the claim shows the node."""
    said = Cluster(tmp_path, pod(nominated=""), claim(selected="n2"), CLASS, waiting("12:20:00")).explained()
    assert 'kube-scheduler chose n2 and waits for claim "data"' in said
    assert "no scheduler has seen it" not in said


def test_room_that_preemption_made(tmp_path: Path) -> None:
    """The claim keeps the node of an earlier attempt, which is full now."""
    full = [raw_pod("low", "shop", uid="low", nodeName="n1", requests={"cpu": "2"})]
    said = Cluster(tmp_path, pod(reason="Unschedulable"), claim(), CLASS, *full, waiting("12:01:00")).explained()
    assert "preemption made room on n1" in said
    assert "no node fits" in said
    none = Cluster(tmp_path, pod(claim="", reason="Unschedulable"), waiting("12:01:00")).explained()
    assert "preemption made room on n1" in none


def test_unschedulable_pod_that_now_waits_for_its_volume(tmp_path: Path) -> None:
    said = Cluster(tmp_path, pod(reason="Unschedulable"), claim(), CLASS, waiting("12:01:00")).explained()
    assert 'kube-scheduler chose n1 and waits for claim "data"' in said
    assert "An attempt failed" not in said


def test_unexplained_nomination(tmp_path: Path) -> None:
    said = Cluster(tmp_path, pod(claim=""), waiting("12:01:00")).explained()
    assert "n1 is named for it (status.nominatedNodeName), and nothing shows what it waits for" in said
    assert "preemption" not in said


def test_unawaited_pod_that_fits_nowhere_now(tmp_path: Path) -> None:
    full = [raw_pod(name, "shop", uid=name, nodeName=name, requests={"cpu": "2"}, priority=9) for name in ("n1", "n2")]
    for given in (pod(claim=""), pod(claim="", nominated="", reason="SchedulerError")):
        said = Cluster(tmp_path, given, *full, waiting("12:07:00")).explained()
        assert "Pending for 7 min: no node fits." in said
    said = Cluster(tmp_path, given, waiting("12:07:00")).explained()
    assert f"kube-scheduler's last attempt failed, and it tries again. An attempt failed: {TIMEOUT}." in said
    assert "trouble" not in Cluster(tmp_path, given, waiting("12:07:00")).said("report", "-n", "shop")


def test_volume_that_is_reserved(tmp_path: Path) -> None:
    """kube-controller-manager still has to bind the claim to it."""
    volume = {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": "pv-7"},
        "spec": {
            "capacity": {"storage": "5Gi"},
            "accessModes": ["ReadWriteOnce"],
            "storageClassName": "fast",
            "claimRef": {"namespace": "shop", "name": "data", "uid": "data"},
        },
    }
    said = Cluster(tmp_path, pod(), claim(selected=""), CLASS, volume, waiting("12:01:00")).explained()
    assert 'kube-scheduler chose n1 and waits for claim "data", which is not bound yet to volume "pv-7"' in said
    assert "kube-controller-manager binds it" in said


def test_drivers(tmp_path: Path) -> None:
    driver = {"apiVersion": "storage.k8s.io/v1", "kind": "CSIDriver", "metadata": {"name": "csi.acme.io"}, "spec": {}}
    node = {"apiVersion": "storage.k8s.io/v1", "kind": "CSINode", "metadata": {"name": "n1"}, "spec": {"drivers": []}}
    said = Cluster(tmp_path, pod(), claim(), CLASS, driver, node, waiting("12:01:00")).explained()
    assert "CSINode n1 does not list csi.acme.io: its node plugin does not run there." in said
    node["spec"] = {"drivers": [{"name": "csi.acme.io", "nodeID": "n1"}]}
    said = Cluster(tmp_path, pod(), claim(), CLASS, driver, node, waiting("12:01:00")).explained()
    assert "CSINode" not in said
    assert "CSIDriver" not in said


def test_provisioner_message_is_quoted(tmp_path: Path) -> None:
    message = 'failed to provision volume with StorageClass "fast": rpc error: quota of 3 volumes exceeded'
    failed = event("ProvisioningFailed", "12:06:00", first="12:00:03", type="Warning", count=7, message=message)
    said = Cluster(tmp_path, pod(), claim(), CLASS, failed, waiting("12:06:01")).explained()
    assert 'kube-scheduler chose n1 and waits for claim "data"' in said
    event_words = f"ProvisioningFailed (persistentvolumeclaim/data) 7 times in 5 min, last 1 s ago: {message}."
    assert f'has not created a volume of class "fast" yet. {event_words}' in said
    assert "check that the provisioner runs" not in said


def test_several_claims(tmp_path: Path) -> None:
    given = pod()
    given["spec"]["volumes"].append({"name": "w", "persistentVolumeClaim": {"claimName": "logs"}})
    said = Cluster(tmp_path, given, claim(), claim("logs"), CLASS, waiting("12:01:00")).explained()
    assert 'Claim "logs" is unbound: csi.acme.io has not created a volume of class "fast" yet.' in said


def gpu(*, failure: tuple[str, ...] = (), **conditions: str) -> Json:
    """A claim with an allocated device that is bound once Attached is True; True conditions have a message."""
    device = {
        "request": "gpu",
        "driver": "fabric.acme.io",
        "pool": "p",
        "device": "g0",
        "bindingConditions": ["Attached"],
        "bindingFailureConditions": list(failure),
    }
    shown = [{"type": name, "status": status, "message": f"port 7: {name}"} for name, status in conditions.items()]
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {"name": "gpu", "namespace": "shop", "uid": "gpu", "creationTimestamp": MADE},
        "spec": {"devices": {"requests": [{"name": "gpu", "exactly": {"deviceClassName": "gpu"}}]}},
        "status": {
            "allocation": {"devices": {"results": [device]}, "allocationTimestamp": "2026-10-01T12:00:30Z"},
            "reservedFor": [{"resource": "pods", "name": "db", "uid": "db"}],
            "devices": [{"driver": "fabric.acme.io", "pool": "p", "device": "g0", "conditions": shown}]
            if shown
            else [],
        },
    }


def explained_with(claimed: Json, tmp_path: Path) -> str:
    devices = {"apiVersion": "resource.k8s.io/v1", "kind": "DeviceClass", "metadata": {"name": "gpu"}, "spec": {}}
    given = pod(claim="", resourceClaims=[{"name": "gpu", "resourceClaimName": "gpu"}])
    return Cluster(tmp_path, given, claimed, devices, waiting("12:01:00")).explained()


def test_device_binding_failure_quotes_the_driver(tmp_path: Path) -> None:
    """One failure condition ends the attempt, regardless of other True conditions."""
    for attached in ("False", "True"):
        said = explained_with(gpu(failure=("Broken", "Lost"), Attached=attached, Broken="True", Lost="False"), tmp_path)
        assert 'which is not ready: driver fabric.acme.io set "Broken" to True (port 7: Broken).' in said
        assert "That is a binding failure condition: the attempt ends, and the scheduler tries again." in said
        assert "see that fabric.acme.io runs" not in said
    said = explained_with(gpu(failure=("Broken",), Attached="False"), tmp_path)
    assert 'driver fabric.acme.io has not set "Attached" to True (port 7: Attached).' in said


def test_devices_that_are_not_ready(tmp_path: Path) -> None:
    """A device with binding conditions becomes ready after the node is chosen."""
    said = explained_with(gpu(), tmp_path)
    assert 'chose n1 and waits for claim "gpu", which is not ready: ' in said
    assert 'driver fabric.acme.io has not set "Attached" to True.' in said
    assert "The scheduler gives up after 600 s (bindingTimeout, the default) and tries again." in said


def test_chosen_node_is_unexplained_without_claims(tmp_path: Path) -> None:
    """Without the claims, neither reason is shown."""
    given = pod(reason="Unschedulable")
    cluster = {"apiVersion": "v1", "kind": "List", "items": [raw_node("n1"), given]}
    file = tmp_path / "list.json"
    file.write_text(json.dumps(cluster))
    said = " ".join(run("explain", "pod/db", "-n", "shop", "--snapshot", str(file)).out.split())
    assert "preemption made room" not in said


@pytest.mark.parametrize("reason", ["", "SchedulerError"])
def test_only_a_pod_that_was_unschedulable_has_preempted(reason: str, tmp_path: Path) -> None:
    """The preemption event has expired: another pod is nominated to the node and waits for its volume."""
    target = raw_condition("DisruptionTarget", reason="PreemptionByScheduler", lastTransitionTime=MADE)
    low = raw_pod("low", "shop", uid="low", nodeName="n1", status={"phase": "Running", "conditions": [target]})
    low["metadata"] |= {"deletionTimestamp": "2026-10-01T12:01:30Z", "deletionGracePeriodSeconds": 30}
    high = pod(reason=reason, priority=9)
    said = Cluster(tmp_path, low, high, claim(), CLASS, waiting("12:01:00")).explained("low")
    assert "no remaining event names it" in said
    assert "shop/db" not in said


def test_claim_pins_pod_to_rejecting_node(tmp_path: Path) -> None:
    full = raw_pod("top", "shop", uid="top", nodeName="n1", requests={"cpu": "2"}, priority=9)
    given = pod(nominated="", reason="Unschedulable")
    said = Cluster(tmp_path, given, claim(), CLASS, full, waiting("12:06:00")).explained()
    assert (
        'The volume that claim "data" is to get (5Gi, Pending, csi.acme.io) can be used only on node n1 '
        "(volume.kubernetes.io/selected-node): on n1, which rejects the pod: Insufficient cpu. Way out: remove "
        'annotation volume.kubernetes.io/selected-node from claim "data": the scheduler selects a node again.'
    ) in said


CONFLICT: Final = (
    'running PreBind plugin "VolumeBinding": Operation cannot be fulfilled on persistentvolumeclaims "data"'
)


def test_first_failed_attempt_is_not_trouble(tmp_path: Path) -> None:
    """This happens to two pods that share a claim."""
    given = pod(reason="SchedulerError")
    given["status"]["conditions"][0]["message"] = CONFLICT
    for at, late in (("12:00:20", False), ("12:06:00", True)):
        cluster = Cluster(tmp_path, given, claim(), CLASS, waiting(at))
        assert f"An attempt failed: {CONFLICT}." in cluster.explained()
        assert ("trouble 1 pod: claim stays unbound" in cluster.said("report", "-n", "shop")) is late


def test_pod_of_a_group_that_waits_for_the_others(tmp_path: Path) -> None:
    given = pod(claim="", schedulingGroup={"podGroupName": "train"})
    said = Cluster(tmp_path, given, waiting("12:00:30")).explained()
    assert "it has chosen n1 for this one, and may wait for the others (Permit)" in said


def test_plugin_of_the_profile_that_may_let_it_wait(tmp_path: Path) -> None:
    config = tmp_path / "scheduler.yaml"
    config.write_text(
        "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
        "profiles: [{plugins: {permit: {enabled: [{name: Coscheduling}]}}}]\n"
    )
    cluster = Cluster(tmp_path, pod(claim=""), waiting("12:00:30"))
    said = cluster.said("explain", "pod/db", "-n", "shop", "--scheduler-config", str(config))
    assert "kube-scheduler chose n1 and waits for a plugin of its profile (Permit)." in said


@pytest.mark.parametrize(
    ("message", "leads"),
    [
        ('pod "db" rejected while waiting on permit: rejected due to timeout after waiting 1m0s at plugin Gang', True),
        ("group ml has 3 of 5 pods", True),
        ("0/2 nodes are available: 2 Insufficient cpu.", False),
        ("no nodes available to schedule pods", False),
    ],
)
def test_plugin_that_rejects_the_pod_itself_leads(message: str, *, leads: bool, tmp_path: Path) -> None:
    given = pod(claim="", nominated="", reason="Unschedulable")
    given["status"]["conditions"][0]["message"] = message
    said = Cluster(tmp_path, given, waiting("12:00:30")).explained()
    lead = f"kube-scheduler says: {message}. By kube-scheduler's own plugins, 2 of 2 nodes would fit."
    assert (lead in said) is leads
    assert ("not yet bound: 2 of 2 nodes fit now." in said) is not leads


def test_timeout_is_that_of_the_profile(tmp_path: Path) -> None:
    config = tmp_path / "scheduler.yaml"
    config.write_text(
        "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
        "profiles: [{pluginConfig: [{name: VolumeBinding, args: {bindTimeoutSeconds: 90}}]}]\n"
    )
    cluster = Cluster(tmp_path, pod(), claim(), CLASS, waiting("12:01:15"))
    said = cluster.said("explain", "pod/db", "-n", "shop", "--scheduler-config", str(config))
    assert "the scheduler gives up after 90 s (bindTimeoutSeconds), at 12:01:32 UTC, and tries again." in said


def test_selected_node_that_was_deleted_and_its_successor(tmp_path: Path) -> None:
    given = pod(nominated="", reason="Unschedulable")
    said = Cluster(tmp_path, given, claim(selected="n9"), CLASS, waiting("12:01:00")).explained()
    assert 'Claim "data" is unbound: its volume is to be created for node n9, which does not exist.' in said
    assert "can be used only on" not in said
    said = Cluster(tmp_path, pod(nominated="n2"), claim(selected="n2"), CLASS, waiting("12:02:00")).explained()
    assert 'kube-scheduler chose n2 and waits for claim "data"' in said


DRIVERS: Final = [
    {"apiVersion": "storage.k8s.io/v1", "kind": "CSIDriver", "metadata": {"name": "csi.other.io"}},
    {"apiVersion": "storage.k8s.io/v1", "kind": "CSINode", "metadata": {"name": "n1"}, "spec": {"drivers": []}},
]


def test_claim_page_shows_that_node_rejects_pod(tmp_path: Path) -> None:
    large = pod(nominated="")
    large["spec"]["containers"][0]["resources"]["requests"]["cpu"] = "3"
    cluster = Cluster(tmp_path, large, claim(), CLASS, waiting("12:20:00"))
    said = cluster.said("explain", "pvc/data", "-n", "shop")
    assert (
        "can be used only on node n1 (volume.kubernetes.io/selected-node): on n1, which rejects the pod: Insuf" in said
    )
    assert "Way out: remove annotation volume.kubernetes.io/selected-node from claim" in said
    assert "check that the provisioner runs" not in said


def test_provisioner_message_counts_while_waiting(tmp_path: Path) -> None:
    failed = event("ProvisioningFailed", "12:05:00", type="Warning", message="no quota left")
    said = Cluster(tmp_path, pod(), claim(), CLASS, failed, waiting("12:05:10")).said(
        "explain", "pvc/data", "-n", "shop"
    )
    assert "for node n1. It keeps pod db waiting. ProvisioningFailed 10s ago: no quota left." in said
    assert "check that the provisioner runs" not in said


def test_claim_page_shows_missing_driver(tmp_path: Path) -> None:
    folder = tmp_path
    said = Cluster(folder, pod(), claim(), CLASS, *DRIVERS).said("explain", "pvc/data", "-n", "shop")
    assert "No CSIDriver is named csi.acme.io: if it is a CSI driver, it is not installed. Way out: check that" in said
    own = {**DRIVERS[0], "metadata": {"name": "csi.acme.io"}}
    said = Cluster(folder, pod(), claim(), CLASS, own, DRIVERS[1]).said("explain", "pvc/data", "-n", "shop")
    assert "CSINode n1 does not list csi.acme.io: its node plugin does not run there. Way out" in said


def test_claim_pins_pod_to_chosen_node_without_volumes(tmp_path: Path) -> None:
    """A plain List has neither PersistentVolumes nor CSIStorageCapacities: the scheduler needs none here."""
    heartbeat = raw_condition("Ready", lastHeartbeatTime=MADE)
    nodes = [raw_node(name, allocatable={"cpu": "2", "pods": "9"}, conditions=[heartbeat]) for name in ("n1", "n2")]
    tracking = {**DRIVERS[0], "metadata": {"name": "csi.acme.io"}, "spec": {"storageCapacity": True}}
    own: Json = pod(nominated="", name="db")

    def placed(*claims: Json) -> Json:
        file = tmp_path / "list.json"
        items = [*nodes, own, *claims, CLASS, tracking, waiting("12:00:12")]
        file.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
        ran = run("explain", "pod/db", "-n", "shop", "--snapshot", str(file), "-o", "json")
        found: Json = json.loads(ran.out)["placement"]
        return found

    found = placed(claim(selected="n2"))
    assert (found["best"], found["feasible"], found["proven"]) == (["n2"], 1, False)
    own["spec"]["volumes"].append({"name": "w", "persistentVolumeClaim": {"claimName": "log"}})
    assert placed(claim(selected="n2"), claim("log", selected="n1"))["feasible"] == 0
    assert placed(claim(selected="n2"), claim("log", selected=""))["feasible"] == 2


def test_name_that_no_object_can_have_is_cut(tmp_path: Path) -> None:
    cluster = Cluster(tmp_path, pod(nominated=""), claim(selected="n" * 3000), CLASS, waiting("12:00:12"))
    assert "n" * 50 not in cluster.explained() + cluster.said("explain", "pvc/data", "-n", "shop")
    named = Cluster(tmp_path, pod(nominated="n" * 3000, claim="")).said("explain", "pods", "-n", "shop", "-o", "wide")
    assert "n" * 50 not in named
