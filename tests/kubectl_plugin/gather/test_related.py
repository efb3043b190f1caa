"""``explain`` of claims, budgets, quotas and priority classes: what depends on each, what it blocks, what to change."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import pytest

from cluster_io.demo import demo_objects
from tests.kubectl_plugin.running import Ran, run, write_cluster
from tests.objects import raw_condition, raw_node, raw_pod, raw_priority_class, raw_workload

Object = Mapping[str, Any]

NOW: Final = "2026-10-01T12:00:00Z"
EARLIER: Final = "2026-10-01T11:50:00Z"
ZONE: Final = "topology.kubernetes.io/zone"
LATER: Final = {"provisioner": "disk.example.com", "volumeBindingMode": "WaitForFirstConsumer"}
AT_ONCE: Final = {**LATER, "volumeBindingMode": "Immediate"}


def claim(*modes: str, phase: str = "Pending", storage: str = "1Gi", **more: Any) -> Object:
    """``data``, of class ``fast``."""
    spec = {"accessModes": modes or ("ReadWriteOnce",), "resources": {"requests": {"storage": storage}}}
    own = {"storageClassName": "fast", **more.pop("spec", {})}
    meta = {"name": "data", "namespace": "default", "uid": "c", **more.pop("metadata", {})}
    kind = {"apiVersion": "v1", "kind": "PersistentVolumeClaim"}
    return {**kind, "metadata": meta, "spec": {**spec, **own}, "status": {"phase": phase, **more}}


def bound(*modes: str, **more: Any) -> Object:
    done = {"metadata": {"annotations": {"pv.kubernetes.io/bind-completed": "yes"}}, "spec": {"volumeName": "pv"}}
    return claim(*modes, phase="Bound", **{"capacity": {"storage": "1Gi"}, **done, **more})


def volume(zone: str = "", driver: str = "disk.example.com", of: str = "data") -> Object:
    """``pv`` of a claim."""
    where = {"matchExpressions": [{"key": ZONE, "operator": "In", "values": [zone]}]}
    affinity = {"nodeAffinity": {"required": {"nodeSelectorTerms": [where]}}} if zone else {}
    ref = {"namespace": "default", "name": of, "uid": "c"}
    csi = {"driver": driver, "volumeHandle": "v"}
    spec = {"accessModes": ["ReadWriteOnce"], "capacity": {"storage": "1Gi"}, "claimRef": ref, "csi": csi, **affinity}
    own = {"storageClassName": "fast", **spec}
    return {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": "pv"}, "spec": own}


def storage_class(fields: Object = LATER, name: str = "fast") -> Object:
    return {"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": name}, **fields}


def user(name: str, node: str | None = None, *, ready: bool = True, of: str = "data", **labels: str) -> Object:
    """A pod that uses a claim."""
    mounted = [{"name": "data", "persistentVolumeClaim": {"claimName": of}}]
    phase = "Running" if node else "Pending"
    status = {"phase": phase, "conditions": [raw_condition("Ready", str(bool(node) and ready))]}
    return raw_pod(name, "default", uid=name, labels=labels, volumes=mounted, nodeName=node, status=status)


def event(reason: str, message: str) -> Object:
    about = {"kind": "PersistentVolumeClaim", "name": "data", "namespace": "default", "uid": "c"}
    meta = {"name": f"data.{reason}", "namespace": "default"}
    said = {"reason": reason, "message": message, "type": "Warning", "lastTimestamp": NOW}
    return {"apiVersion": "v1", "kind": "Event", "metadata": meta, "involvedObject": about, **said}


def budget(name: str = "web", *, app: str = "web", status: Object | None = None, **spec: Any) -> Object:
    own = {"selector": {"matchLabels": {"app": app}}, **spec}
    meta = {"name": name, "namespace": "default", "generation": 1}
    kind = {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget"}
    return {**kind, "metadata": meta, "spec": own, "status": {"observedGeneration": 1, **(status or {})}}


def counts(healthy: int, desired: int, expected: int, **more: Any) -> Object:
    allowed = max(0, healthy - desired)
    status = {"currentHealthy": healthy, "desiredHealthy": desired, "expectedPods": expected}
    return {**status, "disruptionsAllowed": allowed, **more}


def web(number: int, node: str = "n1", *, ready: bool = True) -> Object:
    """A pod of Deployment ``web``."""
    return user(f"web-{number}", node, ready=ready, of="other", app="web")


def quota(hard: Mapping[str, str], used: Mapping[str, str], name: str = "compute", **spec: Any) -> Object:
    meta = {"name": name, "namespace": "default"}
    kind = {"apiVersion": "v1", "kind": "ResourceQuota"}
    return {**kind, "metadata": meta, "spec": {"hard": hard, **spec}, "status": {"hard": hard, "used": used}}


def deployment(
    name: str = "web", replicas: int = 3, made: int = 3, requests: Mapping[str, str] | None = None, **spec: Any
) -> Object:
    pod = {**raw_pod(requests=requests)["spec"], **spec}
    found = raw_workload("Deployment", name, "default", pod_spec=pod, replicas=replicas)
    status = {"observedGeneration": 1, "replicas": made}
    return {**found, "metadata": {**found["metadata"], "uid": name}, "status": status}


def node(name: str = "n1", zone: str = "a") -> Object:
    ready = raw_condition("Ready", lastHeartbeatTime=NOW, lastTransitionTime=NOW)
    return raw_node(name, {ZONE: zone}, conditions=[ready])


def ask(folder: Path, objects: Sequence[Object], *words: str) -> Ran:
    """Asks about a cluster of these objects."""
    return run("explain", *words, "--snapshot", write_cluster(folder / "c.qos", [node(), *objects]))


CLAIMS: Final[Mapping[str, tuple[Sequence[Object], str]]] = {
    "ClaimBound": ([bound(), volume("a"), user("db-0", "n1")], "Bound to pv. Pod db-0 uses it."),
    "ClaimWaitsForPod": ([claim(), storage_class()], "(WaitForFirstConsumer), and no pod uses it."),
    "ClaimLost": ([{**claim(phase="Lost"), "spec": bound()["spec"]}], 'has lost its volume "pv"'),
    "ClaimNoNode": (
        [bound(), volume("z"), user("db-0")],
        'Volume "pv" of claim "data" (1Gi, disk.example.com) can be used only in zone z',
    ),
    "ClaimContended": (
        [bound("ReadWriteOncePod"), volume(), user("db-0", "n1"), user("db-1")],
        "ReadWriteOncePod lets one pod use it, and 2 want to: pods db-0 and db-1.",
    ),
    "ClaimResizing": (
        [bound(storage="3Gi", conditions=[raw_condition("FileSystemResizePending", message="wait")]), volume()],
        "Has 1Gi of the 3Gi that it requests (FileSystemResizePending: wait).",
    ),
    "ClaimTerminating": (
        [bound(metadata={"deletionTimestamp": NOW, "finalizers": ["x"]}), volume(), user("db-0", "n1")],
        "finalizer kubernetes.io/pvc-protection keeps it until pod default/db-0 is gone.",
    ),
    "ClaimUnbound": (
        [claim(), storage_class(AT_ONCE), user("db-0"), event("ProvisioningFailed", "no quota left")],
        'Claim "data" is unbound: disk.example.com has not created a volume of class "fast" yet. It keeps pod db-0',
    ),
}


@pytest.mark.parametrize("code", CLAIMS)
def test_claim(tmp_path: Path, code: str) -> None:
    objects, said = CLAIMS[code]
    ran = ask(tmp_path, objects, "pvc/data")
    assert (ran.code, said in " ".join(ran.out.split())) == (0, True), ran
    assert json.loads(ask(tmp_path, objects, "pvc/data", "-o", "json").out)["verdict"]["code"] == code


CHOSEN: Final = {"volume.kubernetes.io/selected-node": "n1"}
IN_TREE: Final = {"provisioner": "kubernetes.io/aws-ebs"}
FOUND: Final = [
    pytest.param(
        [{**claim(phase="Lost"), "spec": bound()["spec"]}, volume(of="other")],
        'Claim "data" has no volume: "pv", which it names, belongs to another claim.',
        id="volume of another claim",
    ),
    pytest.param(
        [bound(metadata={"deletionTimestamp": NOW, "finalizers": ["kubernetes.io/pvc-protection", "x.io/copy"]})],
        "Being deleted for 0s: finalizer x.io/copy keeps it.",
        id="finalizer",
    ),
    pytest.param(
        [
            bound(storage="3Gi", conditions=[raw_condition("ControllerResizeError", message="no quota left")]),
            volume(),
        ],
        "(ControllerResizeError: no quota left). Way out: fix what it reports, or request less, but not below 1Gi.",
        id="resize error",
    ),
    pytest.param(
        [
            claim(metadata={"annotations": {**CHOSEN, "volume.kubernetes.io/storage-provisioner": "ebs.csi.aws.com"}}),
            {**storage_class(), **IN_TREE},
            user("db-0"),
        ],
        'ebs.csi.aws.com has not created a volume of class "fast" yet for node n1.',
        id="driver in place of a plugin",
    ),
    pytest.param(
        [claim(metadata={"annotations": CHOSEN}), storage_class(), user("a"), event("ProvisioningFailed", "no quota")],
        "for node n1. It keeps pod a waiting. ProvisioningFailed 0s ago: no quota.",
        id="words of the provisioner",
    ),
    pytest.param(
        [claim(storage="3Gi"), volume(of="other"), storage_class(name="std")],
        'no PersistentVolume of class "fast" matches it, and no StorageClass has that name; "pv" (1Gi, '
        'disk.example.com) does not match. Way out: create a PersistentVolume of class "fast" that matches it (3Gi, '
        'ReadWriteOnce), or create StorageClass "fast", or recreate the claim with a class that exists (std).',
        id="volumes made by hand",
    ),
]


@pytest.mark.parametrize(("objects", "said"), FOUND)
def test_claim_in_trouble(tmp_path: Path, objects: Sequence[Object], said: str) -> None:
    ran = ask(tmp_path, objects, "pvc/data")
    assert (ran.code, said in " ".join(ran.out.split())) == (0, True), ran


def test_claim_kept_by_finished_pod(tmp_path: Path) -> None:
    done = {**user("once", "n1"), "status": {"phase": "Succeeded"}}
    leaving = bound(metadata={"deletionTimestamp": NOW})
    assert "keeps it until pod\ndefault/once is gone." in ask(tmp_path, [leaving, volume(), done], "pvc/data").out


def test_bound_claim_without_its_volume_is_lost(tmp_path: Path) -> None:
    report = json.loads(ask(tmp_path, [bound(), user("db-0")], "pvc/data", "-o", "json").out)
    assert report["verdict"]["code"] == "ClaimLost"
    assert 'names volume "pv", which does not exist' in report["verdict"]["text"]


def test_bound_volume_that_is_being_deleted_is_named_first(tmp_path: Path) -> None:
    meta = {"name": "pv", "deletionTimestamp": EARLIER, "finalizers": ["kubernetes.io/pv-protection"]}
    going = {**volume(), "metadata": meta}
    out = " ".join(
        ask(tmp_path, [bound(), going, storage_class(), raw_node("n1"), user("a", "n1")], "pvc/data").out.split()
    )
    assert "Its volume pv is being deleted: once the claim is deleted, it is removed, and its data too, unless" in out
    assert "being deleted, disk.example.com" in out


def test_claim_quotes_its_newest_event(tmp_path: Path) -> None:
    out = ask(tmp_path, CLAIMS["ClaimUnbound"][0], "pvc", "data").out
    assert "Event         ProvisioningFailed 0s ago: no quota left" in out
    assert "kubectl qos explain pod/db-0 -n default" in out


def test_claim_that_waits_names_its_pods(tmp_path: Path) -> None:
    ran = ask(tmp_path, [claim(), storage_class(), user("db-0"), user("db-1", of="other")], "pvc/data")
    assert "and pod db-0 has none." in " ".join(ran.out.split())
    assert "db-1" not in ran.out


@pytest.mark.parametrize(("created", "severity"), [("2026-10-01T11:58:00Z", "notice"), (EARLIER, "trouble")])
def test_claim_with_a_chosen_node_waits_for_its_provisioner(tmp_path: Path, created: str, severity: str) -> None:
    annotations = {"volume.kubernetes.io/selected-node": "n1"}
    chosen = claim(metadata={"annotations": annotations, "creationTimestamp": created})
    out = " ".join(ask(tmp_path, [chosen, storage_class(), user("db-0")], "pvc/data").out.split())
    assert 'is unbound: disk.example.com has not created a volume of class "fast" yet for node n1.' in out
    report = json.loads(ask(tmp_path, [chosen, storage_class()], "pvc/data", "-o", "json").out)
    assert report["verdict"]["severity"] == severity
    assert "It keeps pod db-0 waiting." in out


def test_claim_of_pods_on_two_nodes(tmp_path: Path) -> None:
    pods = [user("db-0", "n1"), user("db-1", "n2", ready=False)]
    out = " ".join(ask(tmp_path, [bound(), volume(), node("n2"), *pods], "pvc/data").out.split())
    assert "attached to one node at a time, and its pods are on n1 and n2. Pod db-1 may wait" in out
    shared = {**volume(), "spec": {**volume()["spec"], "accessModes": ["ReadWriteMany"]}}
    assert "Bound to pv" in ask(tmp_path, [bound("ReadWriteMany"), shared, node("n2"), *pods], "pvc/data").out


def test_claim_of_a_pod_on_a_node_that_does_not_answer(tmp_path: Path) -> None:
    lost = node("n2")
    lost["status"]["conditions"] = [raw_condition("Ready", "Unknown", lastHeartbeatTime=EARLIER)]
    waits = user("db-new", "n1", ready=False)
    waits["status"]["phase"] = "Pending"
    pods = [user("db-0", "n2", ready=False), waits]
    out = " ".join(ask(tmp_path, [bound(), volume(), lost, *pods], "pvc/data").out.split())
    assert "pod db-0 holds it on n2, which does not answer: pod db-new waits for ever." in out
    assert "Make sure that the machine of n2 is off, then fence n2." in out
    assert "kubectl qos fence node/n2" in out
    assert "run its pods on one node" not in out


def test_claim_without_its_class_in_a_list_is_not_certain(tmp_path: Path) -> None:
    file = tmp_path / "list.json"
    file.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": [claim(), node(), user("db-0")]}))
    ran = run("explain", "pvc/data", "--snapshot", str(file), "-n", "default")
    assert ran.code == 11
    assert "does not exist" not in ran.out
    assert "Not certain" in ran.out


BUDGETS: Final[Mapping[str, tuple[Sequence[Object], str]]] = {
    "BudgetAllows": (
        [budget(minAvailable=1, status=counts(2, 1, 2)), web(0), web(1)],
        "Lets 1 pod be evicted now: 2 healthy of 2 pods, 1 needed (minAvailable 1).",
    ),
    "BudgetBlocksNow": (
        [budget(minAvailable=2, status=counts(2, 2, 3)), web(0), web(1), web(2, ready=False)],
        "2 healthy of 3 pods, 2 needed (minAvailable 2). Way out: 1 more healthy pod; not Ready: pod web-2.",
    ),
    "BudgetBlocksAlways": (
        [budget(minAvailable=2, status=counts(2, 2, 2)), web(0), web(1, "n2")],
        "A drain of n1 and n2 does not end. Way out: minAvailable 1, or 3 pods (now 2).",
    ),
    "BudgetSelectsNothing": ([budget(app="wbe", status=counts(0, 1, 0)), web(0)], "Protects nothing"),
}


@pytest.mark.parametrize("code", BUDGETS)
def test_budget(tmp_path: Path, code: str) -> None:
    objects, said = BUDGETS[code]
    ran = ask(tmp_path, objects, "pdb/web")
    assert (ran.code, said in " ".join(ran.out.split())) == (0, True), ran
    assert json.loads(ask(tmp_path, objects, "pdb/web", "-o", "json").out)["verdict"]["code"] == code


def test_budget_of_workload_without_current_pods_is_kept(tmp_path: Path) -> None:
    labels = {"app": "web"}
    idle = deployment(replicas=0, made=0)
    template = {**idle["spec"]["template"], "metadata": {"labels": labels}}
    idle = {**idle, "spec": {**idle["spec"], "selector": {"matchLabels": labels}, "template": template}}
    ran = ask(tmp_path, [budget(minAvailable=1, status=counts(0, 1, 0)), idle], "pdb/web")
    out = " ".join(ran.out.split())
    assert (
        "Protects no pod now: deployment/web, which it selects, has 0 replicas. Keep it: it selects the pods to come."
        in out
    )
    assert "Way out" not in out
    assert "kubectl qos explain deployment/web" in out


def test_budget_that_blocks_no_pod_names_no_drain(tmp_path: Path) -> None:
    assert "Drains held" not in ask(tmp_path, BUDGETS["BudgetAllows"][0], "pdb/web").out


@pytest.mark.parametrize(
    ("spec", "change"),
    [
        ({"maxUnavailable": 0}, "maxUnavailable 1."),
        ({"minAvailable": "100%"}, "minAvailable 75%, or maxUnavailable 1 in its place."),
        ({"minAvailable": 4}, "minAvailable 3, or 5 pods (now 4)."),
    ],
)
def test_permanently_blocking_budget_names_the_numbers(tmp_path: Path, spec: Object, change: str) -> None:
    pods = [web(number) for number in range(4)]
    ran = ask(tmp_path, [budget(status=counts(4, 4, 4), **spec), *pods], "pdb/web")
    assert f"Way out: {change}" in ran.out


def test_budget_without_a_setting_allows_no_eviction(tmp_path: Path) -> None:
    out = ask(tmp_path, [budget(status=counts(2, 0, 0, disruptionsAllowed=0)), web(0), web(1)], "pdb/web").out
    assert "Way out: set maxUnavailable 1." in out
    assert "A drain of n1 does not end." in out


def test_budget_with_missing_pod_blocks_temporarily(tmp_path: Path) -> None:
    short = [budget(maxUnavailable=1, status=counts(2, 2, 3)), web(0), web(1)]
    out = ask(tmp_path, short, "pdb/web").out
    assert "Lets no pod be evicted now" in out
    assert "Way out: 1 more healthy pod." in out


@pytest.mark.parametrize(
    ("status", "said"),
    [
        (
            counts(3, 2, 3, disruptionsAllowed=0, disruptedPods={"web-0": "2026-10-01T11:59:58Z"}),
            "an eviction was granted at 2026-10-01 11:59:58 UTC,",
        ),
        (counts(3, 1, 3, disruptionsAllowed=-1), "disruptionsAllowed is -1,"),
        (counts(3, 2, 3, disruptedPods={f"w-{one}": NOW for one in range(2001)}), "2001 evictions were granted,"),
    ],
)
def test_budget_that_is_not_counted_since_an_eviction(tmp_path: Path, status: Object, said: str) -> None:
    objects = [budget(minAvailable=2, status=status), *map(web, range(3))]
    out = " ".join(ask(tmp_path, objects, "pdb/web").out.split())
    later = "and the disruption controller has not counted since."
    assert f"Lets no pod be evicted now: {said} {later} Way out: wait until it has" in out
    file = write_cluster(tmp_path / "d.qos", [node(), node("n2"), *objects])
    drain = " ".join(run("place", "--drain", "n1", "--snapshot", file).out.split())
    assert ("The drain waits: " in drain) is said.startswith("an eviction")
    assert f"{said[1:]} {later[:-1]}: wait for it" in drain
    assert "minAvailable as a number" not in out + drain
    assert "have to be Ready first" not in drain


CRON_JOB: Final = {
    "apiVersion": "batch/v1",
    "kind": "CronJob",
    "metadata": {"name": "nightly", "namespace": "default"},
    "spec": {
        "schedule": "0 3 * * *",
        "jobTemplate": {"spec": {"template": {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": []}}}},
    },
}


def of_web(name: str, replicas: int) -> Object:
    """A Deployment of pods that the budget selects."""
    found = deployment(name, replicas, 0)
    template = {**found["spec"]["template"], "metadata": {"labels": {"app": "web"}}}
    return {**found, "spec": {**found["spec"], "template": template}}


@pytest.mark.parametrize(
    ("makers", "said"),
    [
        ([of_web("shop", 0)], "deployment/shop, which it selects, has 0 replicas."),
        ([of_web("till", 2), of_web("shop", 0)], "till, which it selects, has none of 2 pods. It selects pods of"),
        ([CRON_JOB], "cronjob/nightly, which it selects, has no pod now."),
    ],
)
def test_budget_of_workloads_without_pods_is_kept(tmp_path: Path, makers: Sequence[Object], said: str) -> None:
    out = " ".join(ask(tmp_path, [budget(minAvailable=1, status=counts(0, 1, 0)), *makers], "pdb/web").out.split())
    assert "Protects no pod now: " in out
    assert said in out
    assert "Keep it: it selects the pods to come." in out
    assert "delete it" not in out


def test_budget_of_unknown_workloads_is_kept(tmp_path: Path) -> None:
    file = tmp_path / "list.json"
    file.write_text(
        json.dumps({"apiVersion": "v1", "kind": "List", "items": [budget(minAvailable=1), node(), user("db-0")]})
    )
    ran = run("explain", "pdb/web", "--snapshot", str(file), "-n", "default")
    assert (ran.code, "delete it" in ran.out) == (11, False)


def test_two_budgets_of_one_pod(tmp_path: Path) -> None:
    both = [budget(minAvailable=1, status=counts(2, 1, 2)), budget("all", minAvailable=0, status=counts(2, 0, 2))]
    out = " ".join(ask(tmp_path, [*both, web(0), web(1)], "pdb/web").out.split())
    assert "Some of its pods are never evicted: budget all selects them, too." in out
    assert "Way out: let one of web and all select these pods." in out


def test_budget_of_pods_without_a_controller(tmp_path: Path) -> None:
    alone = [budget(maxUnavailable=1, status=counts(2, 0, 0, disruptionsAllowed=0)), web(0), web(1)]
    out = " ".join(ask(tmp_path, alone, "pdb/web").out.split())
    assert "cannot be counted (no controller makes them, and only pods of controllers are counted)." in out
    assert "A drain of n1 does not end. Way out: minAvailable as a number, such as 1 of 2." in out


def test_budget_with_uncountable_pods(tmp_path: Path) -> None:
    failed = raw_condition("DisruptionAllowed", "False", reason="SyncFailed", message="found no controllers for pod")
    status = counts(0, 0, 0, conditions=[failed])
    out = " ".join(ask(tmp_path, [budget(maxUnavailable=1, status=status), web(0), web(1)], "pdb/web").out.split())
    assert "its pods cannot be counted (found no controllers for pod)." in out
    assert "Way out: minAvailable as a number, such as 1 of 2." in out


def test_budget_with_a_status_of_an_older_spec_is_counted(tmp_path: Path) -> None:
    old = budget(minAvailable=1, status=counts(2, 2, 2))
    old = {**old, "metadata": {**old["metadata"], "generation": 2}}
    out = " ".join(ask(tmp_path, [old, web(0), web(1)], "pdb/web").out.split())
    assert "until the disruption controller has seen its newest spec" in out
    assert "by the pods now: 2 healthy, 1 needed, 1 may be evicted" in out


def test_pods_on_silent_node_are_not_called_running(tmp_path: Path) -> None:
    unknown = raw_condition("Ready", "Unknown", lastHeartbeatTime=EARLIER, lastTransitionTime=EARLIER)
    silent = raw_node("n2", {ZONE: "a"}, conditions=[unknown])
    objects = [silent, budget(minAvailable=1, status=counts(2, 1, 2)), web(0), web(1, "n2"), bound(), volume("a")]
    out = ask(tmp_path, [*objects, user("db-0", "n2", ready=False)], "pdb/web").out
    assert re.search(r"web-0 +n1 +Running +yes", out)
    assert re.search(r"web-1 +n2 +Node silent \(last: Running\)", out)
    out = ask(tmp_path, [*objects, user("db-0", "n2", ready=False), user("db-1", "n3")], "pvc/data").out
    assert re.search(r"db-1 +n3 +Node gone \(last: Running\)", out)
    assert re.search(r"db-0 +n2 +Node silent \(last: Running\)", out)


HARD: Final = {"pods": "10", "requests.cpu": "2"}
QUOTAS: Final[Mapping[str, tuple[Sequence[Object], str]]] = {
    "QuotaHasRoom": (
        [quota(HARD, {"pods": "3", "requests.cpu": "1500m"}), deployment(requests={"cpu": "250m"})],
        "Has room; the fullest: requests.cpu, 1.5 of 2. Room for 2 more pods of deployment/web.",
    ),
    "QuotaFull": (
        [quota(HARD, {"pods": "3", "requests.cpu": "2"}), deployment(requests={"cpu": "500m"})],
        "Admits no more pods of deployment/web: requests.cpu is 2 of 2.",
    ),
    "QuotaRefuses": (
        [quota(HARD, {"pods": "1", "requests.cpu": "1"}), deployment(made=1, requests={"cpu": "1"})],
        "deployment/web: room for 1, requests.cpu is then 2 of 2. Way out: raise requests.cpu to 3 for all pods of",
    ),
    "QuotaNotCounted": ([quota(HARD, {"pods": "1"}), deployment()], "has not counted its newest spec"),
}


@pytest.mark.parametrize("code", QUOTAS)
def test_quota(tmp_path: Path, code: str) -> None:
    objects, said = QUOTAS[code]
    ran = ask(tmp_path, objects, "quota/compute")
    assert (ran.code, said in " ".join(ran.out.split())) == (0, True), ran
    assert json.loads(ask(tmp_path, objects, "quota/compute", "-o", "json").out)["verdict"]["code"] == code


def test_quota_that_requires_what_a_template_does_not_set(tmp_path: Path) -> None:
    objects = [quota(HARD, {"pods": "1", "requests.cpu": "0"}), deployment(replicas=1)]
    out = " ".join(ask(tmp_path, objects, "quota/compute").out.split())
    assert "Refuses new pods of deployment/web: not all containers set requests.cpu." in out
    defaults = {"apiVersion": "v1", "kind": "LimitRange", "metadata": {"name": "small", "namespace": "default"}}
    limits = {"spec": {"limits": [{"type": "Container", "defaultRequest": {"cpu": "100m"}}]}}
    out = " ".join(ask(tmp_path, [*objects, {**defaults, **limits}], "quota/compute").out.split())
    assert "Room for 9 more pods of deployment/web." in out
    assert "each container has to set requests.cpu; LimitRange small has defaults" in out


FULL: Final = {"pods": "3", "requests.cpu": "2500m"}
OTHER: Final = quota({"pods": "4"}, {"pods": "4"}, "few")


@pytest.mark.parametrize(
    ("objects", "said"),
    [
        # The missing field of a template is not the only reason: the quota is used up, too.
        (
            [quota(HARD, FULL), deployment("lazy"), deployment("busy", requests={"cpu": "1"})],
            (
                "Admits no more pods of deployment/busy: requests.cpu is 2.5 of 2. Refuses new pods of "
                "deployment/lazy: not all containers set requests.cpu. Way out: raise requests.cpu above 2.5, or "
                "delete what uses it; then set requests.cpu in the template, or give the namespace a LimitRange with a "
                "default."
            ),
        ),
        (
            [quota(HARD, FULL), deployment("lazy")],
            "Admits nothing more that uses requests.cpu (2.5 of 2). Refuses new pods of deployment/lazy: not all",
        ),
        (
            [quota(HARD, FULL), deployment("lazy", made=1), deployment("busy", made=2, requests={"cpu": "1"})],
            (
                "Way out: raise requests.cpu to 3.5 for all pods of deployment/busy, or request less. Way out for "
                "deployment/lazy: raise requests.cpu above 2.5, or delete what uses it; then set requests.cpu"
            ),
        ),
        # Only those that do not fit are refused.
        (
            [quota({"pods": "5"}, {"pods": "4"}), deployment(replicas=6, made=4)],
            (
                "Refuses 1 of 6 pods of deployment/web: room for 1, pods is then 5 of 5. Way out: raise pods to 6 "
                "for all pods of deployment/web, or request fewer pods."
            ),
        ),
        (
            [quota({"pods": "5"}, {"pods": "4"}), OTHER, deployment(replicas=6, made=4)],
            (
                "pods is then 5 of 5. Quota few admits 0: pods is 4 of 4. Way out: raise pods to 6 for all pods of "
                "deployment/web, or request fewer pods; the same for quota few."
            ),
        ),
        (
            [quota({"pods": "9"}, {"pods": "4"}), OTHER, deployment(replicas=4, made=4)],
            "Room for 5 more pods of deployment/web. Quota few admits 0: pods is 4 of 4.",
        ),
        (
            [quota({"count/pods": "2"}, {"count/pods": "2"}), deployment(replicas=2, made=1)],
            "or request fewer pods. Finished pods count until they are deleted.",
        ),
        (
            [quota({"pods": "0"}, {"pods": "0"}, scopes=["BestEffort"])],
            "Admits nothing more that uses pods (0 of 0). Only pods in scope BestEffort count.",
        ),
    ],
)
def test_quota_names_all_reasons_of_refusal(tmp_path: Path, objects: Sequence[Object], said: str) -> None:
    assert said in " ".join(ask(tmp_path, objects, "quota/compute").out.split())


@pytest.mark.parametrize(("used", "said"), [("1", "requested: requests.cpu=1500m"), ("0", "by now there is room")])
def test_quota_message_counts_containers_of_webhooks(tmp_path: Path, used: str, said: str) -> None:
    message = "exceeded quota: compute, requested: requests.cpu=1500m, used: requests.cpu=1, limited: requests.cpu=2"
    made = deployment(made=2, requests={"cpu": "10m"})
    failing = {"type": "ReplicaFailure", "status": "True", "reason": "FailedCreate", "message": message}
    made = {**made, "status": {**made["status"], "conditions": [failing]}}
    owner = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web", "uid": "web", "controller": True}
    meta = {"name": "web-1", "namespace": "default", "uid": "web-1", "ownerReferences": [owner]}
    maker = {**made, "kind": "ReplicaSet", "metadata": meta}
    out = ask(tmp_path, [quota(HARD, {"pods": "2", "requests.cpu": used}), made, maker], "quota/compute").out
    assert said in " ".join(out.split())


def test_quota_counts_the_pods_that_a_daemon_set_lacks(tmp_path: Path) -> None:
    found = raw_workload("DaemonSet", "agent", "default", pod_spec=raw_pod(requests={"cpu": "1"})["spec"])
    status = {"desiredNumberScheduled": 4, "currentNumberScheduled": 1}
    out = ask(
        tmp_path, [quota(HARD, {"pods": "1", "requests.cpu": "1"}), {**found, "status": status}], "quota/compute"
    ).out
    assert "Refuses 2 of 4 pods of daemonset/agent: room for 1" in out


def test_quota_of_other_objects_is_full(tmp_path: Path) -> None:
    out = ask(tmp_path, [quota({"services": "5", "pods": "9"}, {"services": "5", "pods": "3"})], "quota/compute").out
    assert "Admits nothing more that uses services (5 of 5)." in out


def test_quota_of_another_scope_bounds_no_workload(tmp_path: Path) -> None:
    match = {"scopeName": "PriorityClass", "operator": "In", "values": ["gold"]}
    scoped = quota(HARD, {"pods": "0", "requests.cpu": "0"}, scopeSelector={"matchExpressions": [match]})
    out = ask(tmp_path, [scoped, deployment()], "quota/compute").out
    assert "PriorityClass In gold" in out
    assert "deployment/web" not in out


CLASSES: Final[Mapping[str, tuple[Sequence[Object], str]]] = {
    "ClassInUse": (
        [
            raw_priority_class("gold", 100),
            raw_pod("old", "default", priorityClassName="gold", priority=50, status={"phase": "Running"}),
            deployment(priorityClassName="gold"),
        ],
        "Gives priority 100 to 0 pods; 1 workload names it; 1 pod has priority 50 of an earlier class of this name.",
    ),
    "ClassUnused": ([raw_priority_class("gold", 100)], "Gives priority 100 to 0 pods; 0 workloads name it."),
    "ClassDefaults": (
        [raw_priority_class("gold", 100, globalDefault=True), raw_priority_class("tin", 1, globalDefault=True)],
        "2 classes are globalDefault; the lowest counts, tin.",
    ),
}


@pytest.mark.parametrize("code", CLASSES)
def test_class(tmp_path: Path, code: str) -> None:
    objects, said = CLASSES[code]
    ran = ask(tmp_path, objects, "pc/gold")
    assert (ran.code, said in " ".join(ran.out.split())) == (0, True), ran
    assert json.loads(ask(tmp_path, objects, "pc/gold", "-o", "json").out)["verdict"]["code"] == code


def test_class_shows_effect_of_its_deletion(tmp_path: Path) -> None:
    scope = {"matchExpressions": [{"scopeName": "PriorityClass", "operator": "In", "values": ["gold"]}]}
    out = ask(tmp_path, [*CLASSES["ClassInUse"][0], quota(HARD, {}, scopeSelector=scope)], "pc/gold").out
    assert "the API server refuses new pods of default/deployment/web" in out
    assert "Quotas        default/compute" in out
    own = run("explain", "pc/system-node-critical", "--demo")
    assert "the API server refuses that: it is a built-in class of Kubernetes" in own.out


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
    page = " ".join(run("explain", "deployment/web", "--snapshot", file).out.split())
    assert "no PriorityClass with name shop-hihg was found; did you mean shop-high?" in page
