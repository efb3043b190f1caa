"""Pods without a node for which one is chosen: what they wait for before binding, in `explain` and `report`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import pytest

from tests.kubectl_plugin.answers import check_texts, data, said, write_list
from tests.kubectl_plugin.running import run, write_cluster
from tests.objects import raw_condition, raw_event, raw_node, raw_object, raw_pod

MADE: Final = "2026-10-01T12:00:00Z"
ASKED: Final = "Waiting for a volume to be created either by the external provisioner 'csi.acme.io' or manually"
TIMEOUT: Final = 'running PreBind plugin "VolumeBinding": binding volumes: context deadline exceeded'
Json = dict[str, Any]


def waits(name: str = "db", *, claim: str = "data", nominated: str = "n1", reason: str = "", **more: Any) -> Json:
    conditions = [raw_condition("PodScheduled", "False", reason=reason, message=TIMEOUT, lastTransitionTime=MADE)]
    volumes = [{"name": "v", "persistentVolumeClaim": {"claimName": claim}}] if claim else []
    status = {"phase": "Pending", "nominatedNodeName": nominated, "conditions": conditions if reason else []}
    meta = {"creationTimestamp": MADE}
    requests = {"cpu": "1"}
    return raw_pod(name, "shop", uid=name, metadata=meta, volumes=volumes, status=status, requests=requests, **more)


def unbound(name: str = "data", *, selected: str = "n1") -> Json:
    annotations = {"volume.kubernetes.io/selected-node": selected} if selected else {}
    return raw_object(
        "PersistentVolumeClaim",
        name,
        "shop",
        metadata={"uid": name, "creationTimestamp": MADE, "annotations": annotations},
        spec={**SIZE, "resources": {"requests": {"storage": "5Gi"}}},
        status={"phase": "Pending"},
    )


SIZE: Final = {"accessModes": ["ReadWriteOnce"], "storageClassName": "fast"}
CLASS: Final = raw_object("StorageClass", "fast", provisioner="csi.acme.io", volumeBindingMode="WaitForFirstConsumer")


def seen(reason: str, at: str, *, first: str = "", about: str = "PersistentVolumeClaim/data", **more: Any) -> Json:
    times = {"first": f"2026-10-01T{first or at}Z", "last": f"2026-10-01T{at}Z"}
    uid, fields = about.partition("/")[2], {"type": "Normal", **times, **more}
    return raw_event(about, reason, namespace="shop", uid=uid, **fields)


def waiting(at: str) -> Json:
    """The controller's event about an awaited provisioner; the newest one is the present."""
    return seen("ExternalProvisioning", at, first="12:00:02", count=9, message=ASKED)


HEARTBEAT: Final = raw_condition("Ready", lastHeartbeatTime=MADE)
NODES: Final = [raw_node(name, allocatable={"cpu": "2", "pods": "9"}, conditions=[HEARTBEAT]) for name in ("n1", "n2")]


class Cluster:
    """Nodes n1 and n2 with 2 CPUs, and the objects of a test."""

    def __init__(self, folder: Path, *objects: Json) -> None:
        self.file = write_cluster(folder / "c.json", [*NODES, *objects])

    def said(self, *words: str) -> str:
        ran = run(*words, "--snapshot", self.file)
        assert not ran.err
        return " ".join(ran.out.split())

    def explained(self, name: str = "db") -> str:
        return self.said("explain", f"pod/{name}", "-n", "shop")


DB: Final = (unbound(), CLASS)
AFTER_1_MIN: Final = waiting("12:01:00")
CLAIM: Final = ("explain", "pvc/data", "-n", "shop")
REPORT: Final = ("report", "-n", "shop")
FOR_DATA: Final = 'kube-scheduler chose n1 and waits for claim "data"'
UNSCHEDULABLE: Final = waits(reason="Unschedulable")
UNAWAITED: Final = waits(nominated="", reason="Unschedulable")
FULL: Final = raw_pod("top", "shop", uid="top", nodeName="n1", requests={"cpu": "2"}, priority=9)


def test_failed_provisioner_is_named(tmp_path: Path) -> None:
    cluster = Cluster(tmp_path, waits(), *DB, waiting("12:00:12"))
    whole = (
        'Pending for 12 s: kube-scheduler chose n1 and waits for claim "data", which is unbound: csi.acme.io has not '
        'created a volume of class "fast" yet. No CSIDriver is named csi.acme.io: if it is a CSI driver, it is not '
        "installed. The scheduler gives up after 600 s (bindTimeoutSeconds, the default) and tries again. Way out: "
        "check that the provisioner runs; the claim's events show its messages."
    )
    check_texts(cluster.explained(), whole, "preemption")
    assert "trouble" not in cluster.said(*REPORT)


@pytest.mark.parametrize("nominated", ["n1", ""])
def test_attempt_that_timed_out_is_trouble(nominated: str, tmp_path: Path) -> None:
    failed = seen("FailedScheduling", "12:10:04", about="Pod/db", type="Warning", message=TIMEOUT)
    pod = waits(nominated=nominated, reason="SchedulerError")
    cluster = Cluster(tmp_path, pod, *DB, failed, waiting("12:11:00"))
    first = f'Pending for 11 min: kube-scheduler chose n1 and {"waits" if nominated else "waited"} for claim "data"'
    check_texts(cluster.explained(), (first, f"An attempt failed: {TIMEOUT}."), "default), at")
    assert "x 1 pod: claim stays unbound shop/db." in cluster.said(*REPORT)


def test_report_names_the_claim_and_its_provisioner(tmp_path: Path) -> None:
    known = 'Claim "data" is unbound: csi.acme.io has not created a volume of class "fast" yet.'
    for at in ("12:00:12", "12:20:00"):
        check_texts(Cluster(tmp_path, waits(), *DB, waiting(at)).said(*REPORT), f"shop/db. {known}", "Nothing says")
    many = [made for n in range(3) for made in (unbound(f"d{n}"), waits(f"p{n}", claim=f"d{n}", nominated=""))]
    cluster = Cluster(tmp_path, *many, waits("free", claim="", nominated=""), CLASS, waiting("12:00:12"))
    assert 'class "fast" yet. 1 more claim like these. Nothing says that no node fits.' in cluster.said(*REPORT)


@pytest.mark.parametrize(("at", "late"), [("12:04:50", False), ("12:05:10", True)])
def test_wait_without_failure_is_trouble_after_5_min(at: str, late: bool, tmp_path: Path) -> None:
    assert ("x 1 pod: claim stays unbound" in Cluster(tmp_path, waits(), *DB, waiting(at)).said(*REPORT)) is late


RESERVED: Final = raw_object(
    "PersistentVolume",
    "pv-7",
    spec={**SIZE, "capacity": {"storage": "5Gi"}, "claimRef": {"namespace": "shop", "name": "data", "uid": "data"}},
)
DRIVER: Final = raw_object("CSIDriver", "csi.acme.io") | {"spec": {}}
OF_NODE: Final = raw_object("CSINode", "n1") | {"spec": {"drivers": []}}
LISTED: Final = raw_object("CSINode", "n1", spec={"drivers": [{"name": "csi.acme.io", "nodeID": "n1"}]})
QUOTA: Final = 'failed to provision volume with StorageClass "fast": rpc error: quota of 3 volumes exceeded'
FAILED: Final = seen("ProvisioningFailed", "12:06:00", first="12:00:03", type="Warning", count=7, message=QUOTA)
QUOTED: Final = f"ProvisioningFailed (persistentvolumeclaim/data) 7 times in 5 min, last 1 s ago: {QUOTA}."
TWO: Final = waits()
TWO["spec"]["volumes"].append({"name": "w", "persistentVolumeClaim": {"claimName": "logs"}})
PINNED: Final = (
    'The volume that claim "data" is to get (5Gi, Pending, csi.acme.io) can be used only on node n1 '
    "(volume.kubernetes.io/selected-node): on n1, which rejects the pod: Insufficient cpu. Way out: remove "
    'annotation volume.kubernetes.io/selected-node from claim "data": the scheduler selects a node again.'
)


POD_PAGES: Final[Mapping[str, Any]] = {
    "start and duration of the wait": (
        [waits(), *DB, waiting("12:04:00")],
        (
            "The volume was requested at 12:00:02 UTC; the scheduler gives up after 600 s (",
            "default), at 12:10:02 UTC, and tries again.",
        ),
    ),
    # This also holds with the feature gate off: the claim shows the node.
    "an older scheduler names no node": (
        [waits(nominated=""), unbound(selected="n2"), CLASS, waiting("12:20:00")],
        'kube-scheduler chose n2 and waits for claim "data"',
        "no scheduler has seen it",
    ),
    # The claim keeps the node of an earlier attempt, which is full now.
    "room that preemption made": (
        [UNSCHEDULABLE, *DB, FULL | {"spec": {**FULL["spec"], "priority": None}}, AFTER_1_MIN],
        ("preemption made room on n1", "no node fits"),
    ),
    "room that preemption made without a claim": (
        [waits(claim="", reason="Unschedulable"), AFTER_1_MIN],
        "preemption made room on n1",
    ),
    "it waits for its volume now": ([UNSCHEDULABLE, *DB, AFTER_1_MIN], FOR_DATA, "An attempt failed"),
    "an unexplained nomination": (
        [waits(claim=""), AFTER_1_MIN],
        "n1 is named for it (status.nominatedNodeName), and nothing shows what it waits for",
        "preemption",
    ),
    # kube-controller-manager still has to bind the claim to it.
    "a volume that is reserved": (
        [waits(), unbound(selected=""), CLASS, RESERVED, AFTER_1_MIN],
        (f'{FOR_DATA}, which is not bound yet to volume "pv-7"', "kube-controller-manager binds it"),
    ),
    "the driver does not run on the node": (
        [waits(), *DB, DRIVER, OF_NODE, AFTER_1_MIN],
        "CSINode n1 does not list csi.acme.io: its node plugin does not run there.",
    ),
    "its driver runs": ([waits(), *DB, DRIVER, LISTED, AFTER_1_MIN], (), "CSINode", "CSIDriver"),
    "the provisioner's message": (
        [waits(), *DB, FAILED, waiting("12:06:01")],
        (FOR_DATA, f'has not created a volume of class "fast" yet. {QUOTED}'),
        "check that the provisioner runs",
    ),
    "several claims": (
        [TWO, unbound("logs"), *DB, AFTER_1_MIN],
        'Claim "logs" is unbound: csi.acme.io has not created a volume of class "fast" yet.',
    ),
    "the claim pins it to a full node": ([UNAWAITED, *DB, FULL, waiting("12:06:00")], PINNED),
    "a group": (
        [waits(claim="", schedulingGroup={"podGroupName": "train"}), waiting("12:00:30")],
        "it has chosen n1 for this one, and may wait for the others (Permit)",
    ),
    "the selected node was deleted": (
        [UNAWAITED, unbound(selected="n9"), CLASS, AFTER_1_MIN],
        'Claim "data" is unbound: its volume is to be created for node n9, which does not exist.',
        "can be used only on",
    ),
    "the selected node exists": (
        [waits(nominated="n2"), unbound(selected="n2"), CLASS, waiting("12:02:00")],
        'kube-scheduler chose n2 and waits for claim "data"',
    ),
}


@pytest.mark.parametrize("row", POD_PAGES.values(), ids=POD_PAGES)
def test_page_of_the_pod(row: tuple[Any, ...], tmp_path: Path) -> None:
    objects, has, *lacks = row
    check_texts(Cluster(tmp_path, *objects).explained(), has, lacks)


def test_unawaited_pod_that_fits_nowhere_now(tmp_path: Path) -> None:
    full = [raw_pod(name, "shop", uid=name, nodeName=name, requests={"cpu": "2"}, priority=9) for name in ("n1", "n2")]
    error = waits(claim="", nominated="", reason="SchedulerError")
    for pod in (waits(claim=""), error):
        assert "Pending for 7 min: 0 of 2 nodes fit." in Cluster(tmp_path, pod, *full, waiting("12:07:00")).explained()
    cluster = Cluster(tmp_path, error, waiting("12:07:00"))
    failed = f"kube-scheduler's last attempt failed, and it tries again. An attempt failed: {TIMEOUT}."
    assert failed in cluster.explained()
    assert "trouble" not in cluster.said(*REPORT)


def gpu(*, failure: tuple[str, ...] = (), **conditions: str) -> Json:
    """A claim with an allocated device that is bound once Attached is True; True conditions have a message."""
    device = {"driver": "fabric.acme.io", "pool": "p", "device": "g0"}
    bound = {"request": "gpu", "bindingConditions": ["Attached"], "bindingFailureConditions": list(failure)}
    shown = [raw_condition(name, status, message=f"port 7: {name}") for name, status in conditions.items()]
    return raw_object(
        "ResourceClaim",
        "gpu",
        "shop",
        apiVersion="resource.k8s.io/v1",
        metadata={"uid": "gpu", "creationTimestamp": MADE},
        spec={"devices": {"requests": [{"name": "gpu", "exactly": {"deviceClassName": "gpu"}}]}},
        status={
            "allocation": {"devices": {"results": [device | bound]}, "allocationTimestamp": "2026-10-01T12:00:30Z"},
            "reservedFor": [{"resource": "pods", "name": "db", "uid": "db"}],
            "devices": [device | {"conditions": shown}] if shown else [],
        },
    )


def explained_with(claimed: Json, tmp_path: Path) -> str:
    devices = raw_object("DeviceClass", "gpu") | {"spec": {}}
    pod = waits(claim="", resourceClaims=[{"name": "gpu", "resourceClaimName": "gpu"}])
    return Cluster(tmp_path, pod, claimed, devices, AFTER_1_MIN).explained()


def test_device_binding_failure_quotes_the_driver(tmp_path: Path) -> None:
    """One failure condition ends the attempt, regardless of other True conditions."""
    broken = 'which is not ready: driver fabric.acme.io set "Broken" to True (port 7: Broken).'
    ends = "That is a binding failure condition: the attempt ends, and the scheduler tries again."
    for attached in ("False", "True"):
        page = explained_with(gpu(failure=("Broken", "Lost"), Attached=attached, Broken="True", Lost="False"), tmp_path)
        check_texts(page, (broken, ends), "see that fabric.acme.io runs")
    page = explained_with(gpu(failure=("Broken",), Attached="False"), tmp_path)
    assert 'driver fabric.acme.io has not set "Attached" to True (port 7: Attached).' in page


def test_devices_that_are_not_ready(tmp_path: Path) -> None:
    """A device with binding conditions becomes ready after the node is chosen."""
    texts = (
        'chose n1 and waits for claim "gpu", which is not ready: ',
        'driver fabric.acme.io has not set "Attached" to True.',
        "The scheduler gives up after 600 s (bindingTimeout, the default) and tries again.",
    )
    check_texts(explained_with(gpu(), tmp_path), texts)


def test_chosen_node_is_unexplained_without_claims(tmp_path: Path) -> None:
    """Without the claims, neither reason is shown."""
    file = write_list(tmp_path / "list.json", [raw_node("n1"), UNSCHEDULABLE])
    assert "preemption made room" not in said("explain", "pod/db", "-n", "shop", "--snapshot", file)


@pytest.mark.parametrize("reason", ["", "SchedulerError"])
def test_only_a_pod_that_was_unschedulable_has_preempted(reason: str, tmp_path: Path) -> None:
    """The preemption event has expired: another pod is nominated to the node and waits for its volume."""
    target = raw_condition("DisruptionTarget", reason="PreemptionByScheduler", lastTransitionTime=MADE)
    low = raw_pod("low", "shop", uid="low", nodeName="n1", status={"phase": "Running", "conditions": [target]})
    low["metadata"] |= {"deletionTimestamp": "2026-10-01T12:01:30Z", "deletionGracePeriodSeconds": 30}
    page = Cluster(tmp_path, low, waits(reason=reason, priority=9), *DB, AFTER_1_MIN).explained("low")
    check_texts(page, "no remaining event names it", "shop/db")


def test_first_failed_attempt_is_not_trouble(tmp_path: Path) -> None:
    """This happens to two pods that share a claim."""
    conflict = 'running PreBind plugin "VolumeBinding": Operation cannot be fulfilled on persistentvolumeclaims "data"'
    pod = waits(reason="SchedulerError")
    pod["status"]["conditions"][0]["message"] = conflict
    for at, late in (("12:00:20", False), ("12:06:00", True)):
        cluster = Cluster(tmp_path, pod, *DB, waiting(at))
        assert f"An attempt failed: {conflict}." in cluster.explained()
        assert ("x 1 pod: claim stays unbound" in cluster.said(*REPORT)) is late


@pytest.mark.parametrize(
    ("objects", "profile", "words"),
    [
        pytest.param(
            [waits(claim=""), waiting("12:00:30")],
            "plugins: {permit: {enabled: [{name: Coscheduling}]}}",
            "kube-scheduler chose n1 and waits for a plugin of its profile (Permit).",
            id="a plugin of the profile may let it wait",
        ),
        pytest.param(
            [waits(), *DB, waiting("12:01:15")],
            "pluginConfig: [{name: VolumeBinding, args: {bindTimeoutSeconds: 90}}]",
            "the scheduler gives up after 90 s (bindTimeoutSeconds), at 12:01:32 UTC, and tries again.",
            id="the timeout is that of the profile",
        ),
    ],
)
def test_profile_of_the_scheduler_counts(objects: list[Json], profile: str, words: str, tmp_path: Path) -> None:
    config = tmp_path / "scheduler.yaml"
    config.write_text(
        f"apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\nprofiles: [{{{profile}}}]\n"
    )
    cluster = Cluster(tmp_path, *objects)
    assert words in cluster.said("explain", "pod/db", "-n", "shop", "--scheduler-config", str(config))


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
    pod = waits(claim="", nominated="", reason="Unschedulable")
    pod["status"]["conditions"][0]["message"] = message
    page = Cluster(tmp_path, pod, waiting("12:00:30")).explained()
    lead = f"kube-scheduler says: {message}. By kube-scheduler's own plugins, 2 of 2 nodes would fit."
    assert (lead in page) is leads
    assert ("not yet bound: 2 of 2 nodes fit now." in page) is not leads


LARGE: Final = waits(nominated="")
LARGE["spec"]["containers"][0]["resources"]["requests"]["cpu"] = "3"
NO_QUOTA: Final = seen("ProvisioningFailed", "12:05:00", type="Warning", message="no quota left")


CLAIM_PAGES: Final[Mapping[str, Any]] = {
    "its node rejects the pod": (
        [LARGE, *DB, waiting("12:20:00")],
        (
            "can be used only on node n1 (volume.kubernetes.io/selected-node): on n1, which rejects the pod: Insuf",
            "Way out: remove annotation volume.kubernetes.io/selected-node from claim",
        ),
        "check that the provisioner runs",
    ),
    "the provisioner's message counts while it waits": (
        [waits(), *DB, NO_QUOTA, waiting("12:05:10")],
        "for node n1. It keeps pod db waiting. ProvisioningFailed 10 s ago: no quota left.",
        "check that the provisioner runs",
    ),
    "its driver is missing": (
        [waits(), *DB, raw_object("CSIDriver", "csi.other.io"), OF_NODE],
        "No CSIDriver is named csi.acme.io: if it is a CSI driver, it is not installed. Way out: check that",
    ),
    "its driver does not run on the node": (
        [waits(), *DB, raw_object("CSIDriver", "csi.acme.io"), OF_NODE],
        "CSINode n1 does not list csi.acme.io: its node plugin does not run there. Way out",
    ),
}


@pytest.mark.parametrize("row", CLAIM_PAGES.values(), ids=CLAIM_PAGES)
def test_page_of_the_claim(row: tuple[Any, ...], tmp_path: Path) -> None:
    objects, has, *lacks = row
    check_texts(Cluster(tmp_path, *objects).said(*CLAIM), has, lacks)


def test_claim_pins_pod_to_chosen_node_without_volumes(tmp_path: Path) -> None:
    """A plain List has neither PersistentVolumes nor CSIStorageCapacities: the scheduler needs none here."""
    tracking = raw_object("CSIDriver", "csi.acme.io", spec={"storageCapacity": True})
    own = waits(nominated="")

    def placed(*claims: Json) -> Json:
        items = [*NODES, own, *claims, CLASS, tracking, waiting("12:00:12")]
        file = write_list(tmp_path / "list.json", items)
        found: Json = data("explain", "pod/db", "-n", "shop", "--snapshot", file)["placement"]
        return found

    found = placed(unbound(selected="n2"))
    assert (found["best"], found["feasible"], found["proven"]) == (["n2"], 1, False)
    own["spec"]["volumes"].append({"name": "w", "persistentVolumeClaim": {"claimName": "log"}})
    assert placed(unbound(selected="n2"), unbound("log", selected="n1"))["feasible"] == 0
    assert placed(unbound(selected="n2"), unbound("log", selected=""))["feasible"] == 2


def test_name_that_no_object_can_have_is_cut(tmp_path: Path) -> None:
    cluster = Cluster(tmp_path, waits(nominated=""), unbound(selected="n" * 3000), CLASS, waiting("12:00:12"))
    assert "n" * 50 not in cluster.explained() + cluster.said(*CLAIM)
    named = Cluster(tmp_path, waits(nominated="n" * 3000, claim="")).said("explain", "pods", "-n", "shop", "-o", "wide")
    assert "n" * 50 not in named
