"""``explain`` of claims, budgets, quotas and priority classes: what depends on each, what it blocks, what to change."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import pytest

from cluster_io.demo import demo_objects
from tests.kubectl_plugin.answers import data, in_order, said, write_list
from tests.kubectl_plugin.running import run, write_cluster
from tests.objects import (
    raw_condition,
    raw_node,
    raw_object,
    raw_owner,
    raw_pod,
    raw_priority_class,
    raw_workload,
)

Object = Mapping[str, Any]
Cases = Mapping[str, Mapping[str, Sequence[Object]]]
"""By code of the verdict and text of the page: all objects."""

NOW: Final = "2026-10-01T12:00:00Z"
EARLIER: Final = "2026-10-01T11:50:00Z"
ZONE: Final = "topology.kubernetes.io/zone"


def claim(*modes: str, phase: str = "Pending", storage: str = "1Gi", **more: Any) -> Object:
    """``data``, of class ``fast``."""
    spec = {"accessModes": modes or ("ReadWriteOnce",), "resources": {"requests": {"storage": storage}}}
    own = {**spec, "storageClassName": "fast", **more.pop("spec", {})}
    meta = {"uid": "c", **more.pop("metadata", {})}
    return raw_object(
        "PersistentVolumeClaim", "data", "default", metadata=meta, spec=own, status={"phase": phase, **more}
    )


def bound(*modes: str, **more: Any) -> Object:
    done = {"metadata": {"annotations": {"pv.kubernetes.io/bind-completed": "yes"}}, "spec": {"volumeName": "pv"}}
    return claim(*modes, phase="Bound", **{"capacity": {"storage": "1Gi"}, **done, **more})


def volume(zone: str = "", of: str = "data", mode: str = "ReadWriteOnce", **metadata: Any) -> Object:
    """``pv`` of a claim."""
    where = {"matchExpressions": [{"key": ZONE, "operator": "In", "values": [zone]}]}
    spec = {
        "accessModes": [mode],
        "capacity": {"storage": "1Gi"},
        "claimRef": {"namespace": "default", "name": of, "uid": "c"},
        "csi": {"driver": "disk.example.com", "volumeHandle": "v"},
        "nodeAffinity": {"required": {"nodeSelectorTerms": [where]}} if zone else None,
        "storageClassName": "fast",
    }
    return raw_object("PersistentVolume", "pv", metadata=metadata, spec=spec)


def storage_class(
    name: str = "fast", provisioner: str = "disk.example.com", mode: str = "WaitForFirstConsumer"
) -> Object:
    return raw_object("StorageClass", name, provisioner=provisioner, volumeBindingMode=mode)


def user(name: str, node: str | None = None, *, ready: bool = True, of: str = "data", **labels: str) -> Object:
    """A pod that uses a claim."""
    mounted = [{"name": "data", "persistentVolumeClaim": {"claimName": of}}]
    phase = "Running" if node else "Pending"
    status = {"phase": phase, "conditions": [raw_condition("Ready", str(bool(node) and ready))]}
    return raw_pod(name, "default", uid=name, labels=labels, volumes=mounted, nodeName=node, status=status)


def event(reason: str, message: str) -> Object:
    about = {"kind": "PersistentVolumeClaim", "name": "data", "namespace": "default", "uid": "c"}
    happened: Object = {"reason": reason, "message": message, "type": "Warning", "lastTimestamp": NOW}
    return raw_object("Event", f"data.{reason}", "default", involvedObject=about, **happened)


def budget(
    name: str = "web", *, app: str = "web", generation: int = 1, status: Object | None = None, **spec: Any
) -> Object:
    return raw_object(
        "PodDisruptionBudget", name, "default", metadata={"generation": generation},
        spec={"selector": {"matchLabels": {"app": app}}, **spec}, status={"observedGeneration": 1, **(status or {})},
    )  # fmt: skip


def counts(healthy: int, desired: int, expected: int, **more: Any) -> Object:
    allowed = max(0, healthy - desired)
    status = {"currentHealthy": healthy, "desiredHealthy": desired, "expectedPods": expected}
    return {**status, "disruptionsAllowed": allowed, **more}


def web(number: int, node: str = "n1", *, ready: bool = True) -> Object:
    """A pod of Deployment ``web``."""
    return user(f"web-{number}", node, ready=ready, of="other", app="web")


def quota(hard: Mapping[str, str], used: Mapping[str, str], name: str = "compute", **spec: Any) -> Object:
    status = {"hard": hard, "used": used}
    return raw_object("ResourceQuota", name, "default", spec={"hard": hard, **spec}, status=status)


def deployment(
    name: str = "web", replicas: int = 3, made: int = 3, requests: Mapping[str, str] | None = None, **spec: Any
) -> Object:
    pod = {**raw_pod(requests=requests)["spec"], **spec}
    found = raw_workload("Deployment", name, "default", pod_spec=pod, replicas=replicas)
    status = {"observedGeneration": 1, "replicas": made}
    return {**found, "metadata": {**found["metadata"], "uid": name}, "status": status}


def node(name: str = "n1", ready: str = "True", at: str = NOW) -> Object:
    condition = raw_condition("Ready", ready, lastHeartbeatTime=at, lastTransitionTime=at)
    return raw_node(name, {ZONE: "a"}, conditions=[condition])


def cluster(*objects: Object) -> list[Object]:
    """All objects of a cluster with node n1."""
    return [node(), *objects]


def check_page(folder: Path, target: str, objects: Sequence[Object], has: str, code: str | None = None) -> str:
    """Check the page of an object and, if given, the code of its verdict; return the page."""
    words = ("explain", target, "--snapshot", write_cluster(folder / "c.qos", objects))
    ran = run(*words)
    page = " ".join(ran.out.split())
    assert (ran.code, in_order(page, has)) == (0, True), page
    if code is not None:
        assert data(*words)["verdict"]["code"] == code
    return page


LOST: Final = {**claim(phase="Lost"), "spec": bound()["spec"]}
CHOSEN: Final = {"volume.kubernetes.io/selected-node": "n1"}
DRIVER: Final = {**CHOSEN, "volume.kubernetes.io/storage-provisioner": "ebs.csi.aws.com"}
WAITS_FOR_STEP: Final = raw_condition("FileSystemResizePending", message="wait")
RESIZE_FAILED: Final = raw_condition("ControllerResizeError", message="no quota left")
KEPT: Final = ["kubernetes.io/pvc-protection", "x.io/copy"]
GOING: Final = volume(deletionTimestamp=EARLIER, finalizers=["kubernetes.io/pv-protection"])
ON_TWO: Final = [node("n2"), user("db-0", "n1"), user("db-1", "n2", ready=False)]
SILENT: Final = node("n2", "Unknown", EARLIER)
ON_SILENT: Final = user("db-0", "n2", ready=False)
CREATED: Final = raw_pod(
    "db-new", "default", uid="db-new", volumes=ON_SILENT["spec"]["volumes"], nodeName="n1", status={"phase": "Pending"}
)
ENDED: Final = {**user("once", "n1"), "status": {"phase": "Succeeded"}}
CLAIMS: Final[Cases] = {
    "ClaimBound": {
        "Bound to pv. Pod db-0 uses it.": cluster(bound(), volume("a"), user("db-0", "n1")),
        "Bound to pv": cluster(bound("ReadWriteMany"), volume(mode="ReadWriteMany"), *ON_TWO),
        "Its volume pv is being deleted: once the claim is deleted, it is removed, and its data too, unless": cluster(
            bound(), GOING, storage_class(), user("a", "n1")
        ),
        "being deleted, disk.example.com": cluster(bound(), GOING, storage_class()),
    },
    "ClaimWaitsForPod": {
        "(WaitForFirstConsumer), and no pod uses it.": cluster(claim(), storage_class()),
        "and pod db-0 has none.": cluster(claim(), storage_class(), user("db-0"), user("db-1", of="other")),
    },
    "ClaimLost": {
        'has lost its volume "pv"': [LOST],
        'Claim "data" has no volume: "pv", which it names, belongs to another claim.': [LOST, volume(of="other")],
        'names volume "pv", which does not exist': [bound(), user("db-0")],
    },
    "ClaimNoNode": {
        'Volume "pv" of claim "data" (1Gi, disk.example.com) can be used only in zone z': cluster(
            bound(), volume("z"), user("db-0")
        ),
    },
    "ClaimContended": {
        "ReadWriteOncePod lets one pod use it, and 2 want to: pods db-0 and db-1.": cluster(
            bound("ReadWriteOncePod"), volume(), user("db-0", "n1"), user("db-1")
        ),
        "attached to one node at a time, and its pods are on n1 and n2. Pod db-1 may wait": cluster(
            bound(), volume(), *ON_TWO
        ),
        "pod db-0 holds it on n2, which is silent: pod db-new waits for ever. ... Make sure that the machine of "
        "n2 is off, then fence n2. ... kubectl qos fence node/n2": cluster(
            bound(), volume(), SILENT, ON_SILENT, CREATED
        ),
    },
    "ClaimResizing": {
        "Has 1Gi of the 3Gi that it requests (FileSystemResizePending: wait).": cluster(
            bound(storage="3Gi", conditions=[WAITS_FOR_STEP]), volume()
        ),
        "(ControllerResizeError: no quota left). Way out: fix what it reports, or request less, but not below "
        "1Gi.": cluster(bound(storage="3Gi", conditions=[RESIZE_FAILED]), volume()),
    },
    "ClaimTerminating": {
        "finalizer kubernetes.io/pvc-protection keeps it until pod default/db-0 is gone.": cluster(
            bound(metadata={"deletionTimestamp": NOW, "finalizers": ["x"]}), volume(), user("db-0", "n1")
        ),
        "Being deleted for 0 s: finalizer x.io/copy keeps it.": cluster(
            bound(metadata={"deletionTimestamp": NOW, "finalizers": KEPT})
        ),
        "keeps it until pod default/once is gone.": cluster(
            bound(metadata={"deletionTimestamp": NOW}), volume(), ENDED
        ),
    },
    "ClaimUnbound": {
        'Claim "data" is unbound: disk.example.com has not created a volume of class "fast" yet. It keeps pod db-0 ... '
        "Event ProvisioningFailed 0 s ago: no quota left ... kubectl qos explain pod/db-0 -n default": cluster(
            claim(), storage_class(mode="Immediate"), user("db-0"), event("ProvisioningFailed", "no quota left")
        ),
        'ebs.csi.aws.com has not created a volume of class "fast" yet for node n1.': cluster(
            claim(metadata={"annotations": DRIVER}), storage_class(provisioner="kubernetes.io/aws-ebs"), user("db-0")
        ),
        "for node n1. It keeps pod a waiting. ProvisioningFailed 0 s ago: no quota.": cluster(
            claim(metadata={"annotations": CHOSEN}), storage_class(), user("a"), event("ProvisioningFailed", "no quota")
        ),
        'no PersistentVolume of class "fast" matches it, and no StorageClass has that name; "pv" (1Gi, '
        'disk.example.com) does not match. Way out: create a PersistentVolume of class "fast" that matches it (3Gi, '
        'ReadWriteOnce), or create StorageClass "fast", or recreate the claim with a class that exists (std).': cluster(
            claim(storage="3Gi"), volume(of="other"), storage_class("std")
        ),
    },
}


def of_web(name: str, replicas: int, kind: str = "Deployment") -> Object:
    """A workload of pods that the budget selects."""
    spec = raw_workload("Deployment", pod_spec={"containers": []}, replicas=replicas)["spec"]
    made = {"schedule": "0 3 * * *", "jobTemplate": {"spec": spec}} if kind == "CronJob" else spec
    return raw_object(kind, name, "default", spec=made, status={"observedGeneration": 1})


TO_COME: Final = [budget(minAvailable=1, status=counts(0, 1, 0))]
BOTH: Final = [web(0), web(1)]
UNCOUNTED: Final = {"type": "DisruptionAllowed", "status": "False", "reason": "SyncFailed", "message": "found no owner"}
BUDGETS: Final[Cases] = {
    "BudgetAllows": {
        "Lets 1 pod be evicted now: 2 healthy of 2 pods, 1 needed (minAvailable 1).": cluster(
            budget(minAvailable=1, status=counts(2, 1, 2)), *BOTH
        ),
    },
    "BudgetBlocksNow": {
        "until the disruption controller has seen its newest spec ... by the pods now: 2 healthy, 1 needed, 1 "
        "may be": cluster(budget(minAvailable=1, generation=2, status=counts(2, 2, 2)), *BOTH),
        "2 healthy of 3 pods, 2 needed (minAvailable 2). Way out: 1 more healthy pod; not Ready: pod web-2.": cluster(
            budget(minAvailable=2, status=counts(2, 2, 3)), *BOTH, web(2, ready=False)
        ),
        "Lets no pod be evicted now ... Way out: 1 more healthy pod.": cluster(
            budget(maxUnavailable=1, status=counts(2, 2, 3)), *BOTH
        ),
    },
    "BudgetBlocksAlways": {
        "A drain of n1 and n2 does not end. Way out: minAvailable 1, or 3 pods (now 2).": cluster(
            budget(minAvailable=2, status=counts(2, 2, 2)), web(0), web(1, "n2")
        ),
        **{
            f"Way out: {change}": cluster(budget(status=counts(4, 4, 4), **spec), *map(web, range(4)))
            for change, spec in (
                ("maxUnavailable 1.", {"maxUnavailable": 0}),
                ("minAvailable 75%, or maxUnavailable 1 in its place.", {"minAvailable": "100%"}),
                ("minAvailable 3, or 5 pods (now 4).", {"minAvailable": 4}),
            )
        },
        "A drain of n1 does not end. Way out: set maxUnavailable 1.": cluster(
            budget(status=counts(2, 0, 0, disruptionsAllowed=0)), *BOTH
        ),
        "Some of its pods are never evicted: budget all selects them, too. ... Way out: let one of web and all select "
        "these pods.": cluster(
            budget(minAvailable=1, status=counts(2, 1, 2)), budget("all", minAvailable=0, status=counts(2, 0, 2)), *BOTH
        ),
        "cannot be counted (no controller makes them, and only pods of controllers are counted). ... A drain of n1 "
        "does not end. Way out: minAvailable as a number, such as 1 of 2.": cluster(
            budget(maxUnavailable=1, status=counts(2, 0, 0, disruptionsAllowed=0)), *BOTH
        ),
        "its pods cannot be counted (found no owner). ... Way out: minAvailable as a number, such as 1 of 2.": cluster(
            budget(maxUnavailable=1, status=counts(0, 0, 0, conditions=[UNCOUNTED])), *BOTH
        ),
    },
    "BudgetSelectsNothing": {
        "Protects nothing": cluster(budget(app="wbe", status=counts(0, 1, 0)), web(0)),
        "Protects no pod now: deployment/web, which it selects, has 0 replicas. Keep it: it selects the pods to come. "
        "... kubectl qos explain deployment/web": cluster(*TO_COME, of_web("web", 0)),
        "till, which it selects, has none of 2 pods. It selects pods of ... Keep it: it selects the "
        "pods to come.": cluster(*TO_COME, of_web("till", 2), of_web("shop", 0)),
        "cronjob/nightly, which it selects, has no pod now. Keep it: it selects the pods to come.": cluster(
            *TO_COME, of_web("nightly", 1, "CronJob")
        ),
    },
}
HARD: Final = {"pods": "10", "requests.cpu": "2"}
FULL: Final = {"pods": "3", "requests.cpu": "2500m"}
FEW: Final = quota({"pods": "4"}, {"pods": "4"}, "few")
CONTAINER: Final = {"type": "Container", "defaultRequest": {"cpu": "100m"}}
LIMITS: Final = raw_object("LimitRange", "small", "default", spec={"limits": [CONTAINER]})
AGENT: Final = {
    **raw_workload("DaemonSet", "agent", "default", pod_spec=raw_pod(requests={"cpu": "1"})["spec"]),
    "status": {"desiredNumberScheduled": 4, "currentNumberScheduled": 1},
}
GOLD: Final = {"matchExpressions": [{"scopeName": "PriorityClass", "operator": "In", "values": ["gold"]}]}
NOT_SET: Final = [quota(HARD, {"pods": "1", "requests.cpu": "0"}), deployment(replicas=1)]
QUOTAS: Final[Cases] = {
    "QuotaHasRoom": {
        "Has room; the fullest: requests.cpu, 1.5 of 2. Room for 2 more pods of deployment/web.": cluster(
            quota(HARD, {"pods": "3", "requests.cpu": "1500m"}), deployment(requests={"cpu": "250m"})
        ),
        "Room for 9 more pods of deployment/web. ... each container has to set requests.cpu; LimitRange small has "
        "defaults": cluster(*NOT_SET, LIMITS),
        "PriorityClass In gold": cluster(
            quota(HARD, {"pods": "0", "requests.cpu": "0"}, scopeSelector=GOLD), deployment()
        ),
        "Room for 5 more pods of deployment/web. Quota few admits 0: pods is 4 of 4.": cluster(
            quota({"pods": "9"}, {"pods": "4"}), FEW, deployment(replicas=4, made=4)
        ),
    },
    "QuotaFull": {
        "Admits no more pods of deployment/web: requests.cpu is 2 of 2.": cluster(
            quota(HARD, {"pods": "3", "requests.cpu": "2"}), deployment(requests={"cpu": "500m"})
        ),
        "Admits nothing more that uses services (5 of 5).": cluster(
            quota({"services": "5", "pods": "9"}, {"services": "5", "pods": "3"})
        ),
        "Admits nothing more that uses pods (0 of 0). Only pods in scope BestEffort count.": cluster(
            quota({"pods": "0"}, {"pods": "0"}, scopes=["BestEffort"])
        ),
    },
    "QuotaRefuses": {
        "deployment/web: room for 1, requests.cpu is then 2 of 2. Way out: raise requests.cpu to 3 for all "
        "pods of": cluster(quota(HARD, {"pods": "1", "requests.cpu": "1"}), deployment(made=1, requests={"cpu": "1"})),
        "Refuses 2 of 4 pods of daemonset/agent: room for 1": cluster(
            quota(HARD, {"pods": "1", "requests.cpu": "1"}), AGENT
        ),
        "Refuses new pods of deployment/web: not all containers set requests.cpu.": cluster(*NOT_SET),
        # The missing field of a template is not the only reason: the quota is used up, too.
        "Admits no more pods of deployment/busy: requests.cpu is 2.5 of 2. Refuses new pods of deployment/lazy: not "
        "all containers set requests.cpu. Way out: raise requests.cpu above 2.5, or delete what uses it; then set "
        "requests.cpu in the template, or give the namespace a LimitRange with a default.": cluster(
            quota(HARD, FULL), deployment("lazy"), deployment("busy", requests={"cpu": "1"})
        ),
        "Admits nothing more that uses requests.cpu (2.5 of 2). Refuses new pods of deployment/lazy: not all": cluster(
            quota(HARD, FULL), deployment("lazy")
        ),
        "Way out: raise requests.cpu to 3.5 for all pods of deployment/busy, or request less. Way out for "
        "deployment/lazy: raise requests.cpu above 2.5, or delete what uses it; then set requests.cpu": cluster(
            quota(HARD, FULL), deployment("lazy", made=1), deployment("busy", made=2, requests={"cpu": "1"})
        ),
        # Only those that do not fit are refused.
        "Refuses 1 of 6 pods of deployment/web: room for 1, pods is then 5 of 5. Way out: raise pods to 6 for all "
        "pods of deployment/web, or request fewer pods.": cluster(
            quota({"pods": "5"}, {"pods": "4"}), deployment(replicas=6, made=4)
        ),
        "pods is then 5 of 5. Quota few admits 0: pods is 4 of 4. Way out: raise pods to 6 for all pods of "
        "deployment/web, or request fewer pods; the same for quota few.": cluster(
            quota({"pods": "5"}, {"pods": "4"}), FEW, deployment(replicas=6, made=4)
        ),
        "or request fewer pods. Finished pods count until they are deleted.": cluster(
            quota({"count/pods": "2"}, {"count/pods": "2"}), deployment(replicas=2, made=1)
        ),
    },
    "QuotaNotCounted": {"has not counted its newest spec": cluster(quota(HARD, {"pods": "1"}), deployment())},
}
IN_USE: Final = [
    raw_priority_class("gold", 100),
    raw_pod("old", "default", priorityClassName="gold", priority=50, status={"phase": "Running"}),
    deployment(priorityClassName="gold"),
]
CLASSES: Final[Cases] = {
    "ClassInUse": {
        "Gives priority 100 to 0 pods; 1 workload names it; 1 pod has priority 50 of an earlier class of this "
        "name.": cluster(*IN_USE),
        "the API server refuses new pods of default/deployment/web ... Quotas default/compute": cluster(
            *IN_USE, quota(HARD, {}, scopeSelector=GOLD)
        ),
    },
    "ClassUnused": {"Gives priority 100 to 0 pods; 0 workloads name it.": cluster(raw_priority_class("gold", 100))},
    "ClassDefaults": {
        "2 classes are globalDefault; the lowest counts, tin.": cluster(
            raw_priority_class("gold", 100, globalDefault=True), raw_priority_class("tin", 1, globalDefault=True)
        )
    },
}
CASES: Final = [
    (target, code, has, objects)
    for target, cases in {"pvc/data": CLAIMS, "pdb/web": BUDGETS, "quota/compute": QUOTAS, "pc/gold": CLASSES}.items()
    for code, answers in cases.items()
    for has, objects in answers.items()
]


@pytest.mark.parametrize(("target", "code", "has", "objects"), CASES)
def test_related_object_has_a_verdict(tmp_path: Path, target: str, code: str, has: str, objects: list[Object]) -> None:
    check_page(tmp_path, target, objects, has, code)


@pytest.mark.parametrize(
    ("target", "has", "lacks"),
    [
        ("pvc/data", "and pod db-0 has none.", "db-1"),
        ("pvc/data", [*CLAIMS["ClaimContended"]][-1], "run its pods on one node"),
        ("pdb/web", next(iter(BUDGETS["BudgetAllows"])), "Drains held"),
        *(
            ("pdb/web", has, lacks)
            for has in BUDGETS["BudgetSelectsNothing"]
            for lacks in ("Way out", "delete it")
            if "Keep" in has
        ),
        ("quota/compute", "PriorityClass In gold", "deployment/web"),
    ],
)
def test_related_object_names_no_others(tmp_path: Path, target: str, has: str, lacks: str) -> None:
    [objects] = (objects for name, _, page, objects in CASES if (name, page) == (target, has))
    assert lacks not in check_page(tmp_path, target, objects, has)


@pytest.mark.parametrize(("created", "severity"), [("2026-10-01T11:58:00Z", "notice"), (EARLIER, "trouble")])
def test_claim_with_a_chosen_node_waits_for_its_provisioner(tmp_path: Path, created: str, severity: str) -> None:
    chosen = claim(metadata={"annotations": CHOSEN, "creationTimestamp": created})
    has = 'is unbound: disk.example.com has not created a volume of class "fast" yet for node n1. It keeps pod db-0'
    check_page(tmp_path, "pvc/data", cluster(chosen, storage_class(), user("db-0")), has)
    file = write_cluster(tmp_path / "c.qos", cluster(chosen, storage_class()))
    assert data("explain", "pvc/data", "--snapshot", file)["verdict"]["severity"] == severity


@pytest.mark.parametrize(
    ("target", "objects", "lacks"),
    [("pvc/data", [claim()], "does not exist"), ("pdb/web", [budget(minAvailable=1)], "delete it")],
)
def test_list_without_related_objects_is_not_certain(
    tmp_path: Path, target: str, objects: list[Object], lacks: str
) -> None:
    file = write_list(tmp_path / "list.json", [node(), user("db-0"), *objects])
    ran = run("explain", target, "--snapshot", file, "-n", "default")
    assert (ran.code, lacks in ran.out, "Not certain" in ran.out) == (11, False, True)


@pytest.mark.parametrize(
    ("has", "status"),
    [
        (
            "an eviction was granted at 2026-10-01 11:59:58 UTC,",
            counts(3, 2, 3, disruptionsAllowed=0, disruptedPods={"web-0": "2026-10-01T11:59:58Z"}),
        ),
        ("disruptionsAllowed is -1,", counts(3, 1, 3, disruptionsAllowed=-1)),
        ("2001 evictions were granted,", counts(3, 2, 3, disruptedPods={f"w-{one}": NOW for one in range(2001)})),
    ],
)
def test_budget_that_is_not_counted_since_an_eviction(tmp_path: Path, has: str, status: Object) -> None:
    objects = cluster(budget(minAvailable=2, status=status), *map(web, range(3)), node("n2"))
    later = "and the disruption controller has not counted since."
    page = check_page(
        tmp_path, "pdb/web", objects, f"Lets no pod be evicted now: {has} {later} Way out: wait until it has"
    )
    drain = said("place", "--drain", "n1", "--snapshot", str(tmp_path / "c.qos"))
    assert (" waits: " in drain) is has.startswith("an eviction")
    assert f"{has[1:]} {later[:-1]}: wait for it" in drain
    assert "minAvailable as a number" not in page + drain
    assert "have to be Ready first" not in drain


def test_pods_on_silent_node_are_not_called_running(tmp_path: Path) -> None:
    pods = [web(0), web(1, "n2"), ON_SILENT, user("db-1", "n3")]
    objects = cluster(SILENT, budget(minAvailable=1, status=counts(2, 1, 2)), bound(), volume("a"), *pods)
    check_page(tmp_path, "pdb/web", objects, "web-0 n1 Running yes ... web-1 n2 NodeDown (last: Running)")
    check_page(tmp_path, "pvc/data", objects, "db-0 n2 NodeDown (last: Running)")
    check_page(tmp_path, "pvc/data", objects, "db-1 n3 NodeDown (last: Running)")


@pytest.mark.parametrize(("used", "has"), [("1", "requested: requests.cpu=1500m"), ("0", "by now there is room")])
def test_quota_message_counts_containers_of_webhooks(tmp_path: Path, used: str, has: str) -> None:
    message = "exceeded quota: compute, requested: requests.cpu=1500m, used: requests.cpu=1, limited: requests.cpu=2"
    failing = raw_condition("ReplicaFailure", reason="FailedCreate", message=message)
    made = deployment(made=2, requests={"cpu": "10m"})
    made = {**made, "status": {**made["status"], "conditions": [failing]}}
    meta = {"uid": "web-1", "ownerReferences": [raw_owner("Deployment", "web", "web")]}
    maker = {**made, "kind": "ReplicaSet", "metadata": {"name": "web-1", "namespace": "default", **meta}}
    objects = cluster(quota(HARD, {"pods": "2", "requests.cpu": used}), made, maker)
    check_page(tmp_path, "quota/compute", objects, has)


def test_built_in_class_is_never_deleted() -> None:
    own = run("explain", "pc/system-node-critical", "--demo").out
    assert "the API server refuses that: it is a built-in class of Kubernetes" in own


SPELLINGS: Final = (
    ("persistentvolumeclaim", "persistentvolumeclaims", "pvc"),
    ("poddisruptionbudget", "poddisruptionbudgets", "pdb", "pdb.policy"),
    ("priorityclass", "priorityclasses", "pc", "priorityclasses.scheduling.k8s.io"),
)
NAMES: Final = {"persistentvolumeclaim": "data-db-0", "poddisruptionbudget": "db", "priorityclass": "shop-high"}


@pytest.mark.parametrize("words", SPELLINGS, ids=lambda words: words[0])
def test_every_spelling_of_a_type(words: Sequence[str]) -> None:
    name = NAMES[words[0]]
    for word in words:
        for target in ((f"{word}/{name}",), (word, name)):
            ran = run("explain", *target, "-n", "shop", "--demo")
            assert (ran.code, ran.out.startswith(f"{words[0]}/{name}")) == (0, True), ran


def test_type_without_name_lists_one_line_each() -> None:
    ran = run("explain", "pdb,pvc", "-A", "--demo")
    found = [entry for entry in demo_objects() if entry["kind"] in {"PodDisruptionBudget", "PersistentVolumeClaim"}]
    assert f"{len(found)} objects" in ran.out
    assert "shop/poddisruptionbudget/checkout" in ran.out


def test_mistyped_name_is_corrected() -> None:
    ran = run("explain", "pvc/data-db-9", "-n", "shop", "--demo")
    assert (ran.code, "Did you mean persistentvolumeclaim/data-db-" in ran.err) == (3, True)
    assert "exists in namespace data" in run("explain", "pvc/data-broker-0", "--demo", "-n", "shop").err


@pytest.mark.parametrize("verb", ["place", "died"])
def test_other_commands_refuse_related_types(verb: str) -> None:
    ran = run(verb, "pdb/web", "--demo")
    assert (ran.code, "poddisruptionbudget" in ran.err) == (2, False)


def test_flags_for_pods_are_refused() -> None:
    ran = run("explain", "pdb/db", "--timeline", "-n", "shop", "--demo")
    assert (ran.code, "--timeline is for pods and workloads" in ran.err) == (2, True)


def test_mistyped_class_of_a_workload_is_named(tmp_path: Path) -> None:
    there = raw_priority_class("shop-high", 100)
    file = write_cluster(tmp_path / "c.qos", [node("n1"), there, deployment(priorityClassName="shop-hihg")])
    page = said("explain", "deployment/web", "--snapshot", file)
    assert "no PriorityClass with name shop-hihg was found; did you mean shop-high?" in page
