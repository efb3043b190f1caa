"""The demo cluster is complete: every named object exists, and the numbers add up."""

from __future__ import annotations

import json
import re
import sys
from collections import Counter
from datetime import datetime, timedelta
from functools import cache
from typing import Any

import pytest

from cluster_io.demo import DEMO_NOW, demo_objects

Obj = dict[str, Any]

NOW = datetime.fromisoformat(DEMO_NOW)
UNITS = {"Ki": 2**10, "Mi": 2**20, "Gi": 2**30}
DNS_SUBDOMAIN = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")


@cache
def everything() -> tuple[Obj, ...]:
    return tuple(demo_objects())


def kind(name: str) -> list[Obj]:
    return [one for one in everything() if one["kind"] == name]


def key(one: Obj) -> tuple[str, str, str]:
    meta = one["metadata"]
    return one["kind"], meta.get("namespace", ""), meta["name"]


def pods(prefix: str) -> list[Obj]:
    """Pods of a workload: ``shop/checkout``."""
    found = [
        one for one in kind("Pod") if f"{one['metadata']['namespace']}/{one['metadata']['labels'].get('app')}" == prefix
    ]
    assert found, prefix
    return found


def only(prefix: str, **status: Any) -> Obj:
    found = [pod for pod in pods(prefix) if status.items() <= pod["status"].items()]
    assert len(found) == 1, (prefix, status, len(found))
    return found[0]


def condition(one: Obj, name: str) -> Obj:
    return next(each for each in one["status"]["conditions"] if each["type"] == name)


def has_condition(one: Obj, name: str) -> bool:
    return any(each["type"] == name for each in one["status"]["conditions"])


def number(quantity: str) -> int:
    """Cpu in thousandths, memory in bytes."""
    if quantity[-2:] in UNITS:
        return int(quantity[:-2]) * UNITS[quantity[-2:]]
    return int(quantity[:-1]) if quantity.endswith("m") else int(quantity) * 1000


def at(text: str) -> datetime:
    return datetime.fromisoformat(text)


def is_sidecar(container: Obj) -> bool:
    return container.get("restartPolicy") == "Always"


def qos_class(pod: Obj) -> str:
    """Upstream's ComputePodQOS, for pods without zero quantities."""
    spec = pod["spec"]
    rows = [spec] if "resources" in spec else spec["containers"] + spec.get("initContainers", [])
    limited = True
    totals = {kind: dict.fromkeys(("cpu", "memory"), 0) for kind in ("requests", "limits")}
    for row in rows:
        resources = row["resources"]
        limited = limited and {"cpu", "memory"} <= resources.get("limits", {}).keys()
        for name, total in totals.items():
            for resource, amount in resources.get(name, {}).items():
                total[resource] += number(amount)
    if not any(amount for total in totals.values() for amount in total.values()):
        return "BestEffort"
    return "Guaranteed" if limited and totals["requests"] == totals["limits"] else "Burstable"


def allocated(pod: Obj, resource: str) -> int:
    """The amount that the kubelet allocates to a pod: the old amount during a pending resize."""
    spec, status = pod["spec"], pod["status"]
    if "resources" in spec:
        return number(status["allocatedResources"][resource])

    def of(one: Obj) -> int:
        return number(one.get("allocatedResources", {}).get(resource, "0m"))

    before = 0
    peak = 0
    for container, shown in zip(spec.get("initContainers", []), status.get("initContainerStatuses", []), strict=True):
        peak = max(peak, before + of(shown))
        before += of(shown) if is_sidecar(container) else 0
    return max(peak, before + sum(map(of, status["containerStatuses"])))


def running_on(node: str) -> list[Obj]:
    return [
        pod
        for pod in kind("Pod")
        if pod["spec"].get("nodeName") == node and pod["status"]["phase"] not in {"Failed", "Succeeded"}
    ]


def test_two_calls_are_equal_and_share_nothing() -> None:
    first, second = demo_objects(), demo_objects()
    before = json.dumps(second)
    assert first == second

    def spoil(value: Any) -> None:
        parts = list(value.values()) if isinstance(value, dict) else list(value) if isinstance(value, list) else []
        for part in parts:
            spoil(part)
        if isinstance(value, dict | list):
            value.clear()

    spoil(first)
    assert json.dumps(second) == before
    assert json.dumps(demo_objects()) == before


def test_no_part_of_an_object_is_shared_with_another() -> None:
    owner: dict[int, tuple[str, str, str]] = {}
    objects = demo_objects()

    def walk(value: Any, owner_key: tuple[str, str, str]) -> None:
        if not isinstance(value, dict | list):
            return
        assert owner.setdefault(id(value), owner_key) == owner_key
        for part in value.values() if isinstance(value, dict) else value:
            walk(part, owner_key)

    for one in objects:
        walk(one, key(one))


def test_objects_are_plain_json() -> None:
    assert json.loads(json.dumps(demo_objects(), allow_nan=False)) == demo_objects()


def test_counts() -> None:
    counts = Counter(one["kind"] for one in everything())
    assert counts["Node"] == counts["Lease"] == counts["CSINode"] == 12
    assert len({node["metadata"]["labels"]["topology.kubernetes.io/zone"] for node in kind("Node")}) == 3
    assert 110 <= counts["Pod"] <= 130
    assert {"Deployment", "ReplicaSet", "StatefulSet", "DaemonSet", "Job", "CronJob", "Service"} <= counts.keys()
    assert {"StorageClass", "CSIDriver", "VolumeAttachment", "PodDisruptionBudget", "Event"} <= counts.keys()


def test_it_is_built_in_a_moment() -> None:
    """It takes about one call for each value, because every command with --demo waits for it."""
    calls = Counter[str]()
    before = sys.getprofile()
    sys.setprofile(lambda _frame, event, _argument: calls.update((event,)))
    try:
        built = demo_objects()
    finally:
        sys.setprofile(before)

    def values(value: Any) -> int:
        parts = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
        return 1 + sum(map(values, parts))

    assert calls["call"] + calls["c_call"] < 2 * values(built), calls


def test_names_and_uids_are_unique_and_valid() -> None:
    keys = Counter(map(key, everything()))
    uids = Counter(one["metadata"]["uid"] for one in everything())
    assert max(keys.values()) == max(uids.values()) == 1
    for _, namespace, name in keys:
        assert DNS_SUBDOMAIN.fullmatch(name)
        assert len(name) <= 253
        assert not namespace or ("Namespace", "", namespace) in keys


@pytest.mark.parametrize(("field", "name"), [("podIP", "Pod"), ("clusterIP", "Service")])
def test_addresses_are_unique(field: str, name: str) -> None:
    part = "status" if name == "Pod" else "spec"
    found = [
        one[part][field]
        for one in kind(name)
        if one[part].get(field, "None") != "None" and not one["spec"].get("hostNetwork")
    ]
    assert len(found) == len(set(found))


def test_owner_references_resolve() -> None:
    uids = {key(one): one["metadata"]["uid"] for one in everything()}
    for one in everything():
        for owner in one["metadata"].get("ownerReferences", []):
            namespace = "" if owner["kind"] == "Node" else one["metadata"]["namespace"]
            assert uids[owner["kind"], namespace, owner["name"]] == owner["uid"]


def test_selectors_find_the_pods_of_their_controllers() -> None:
    for name in ("ReplicaSet", "StatefulSet", "DaemonSet", "Job"):
        for controller in kind(name):
            wanted = controller["spec"]["selector"]["matchLabels"]
            uid = controller["metadata"]["uid"]
            own = [pod for pod in kind("Pod") if pod["metadata"].get("ownerReferences", [{}])[0].get("uid") == uid]
            assert own
            for pod in own:
                assert wanted.items() <= pod["metadata"]["labels"].items()
            assert wanted.items() <= controller["spec"]["template"]["metadata"]["labels"].items()


def test_events_are_about_objects_that_exist() -> None:
    known = {key(one): one["metadata"]["uid"] for one in everything()}
    for event in kind("Event"):
        named: list[Obj] = [event[field] for field in ("involvedObject", "related") if field in event]
        for about in named:
            assert known[about["kind"], about.get("namespace", ""), about["name"]] == about["uid"]
        assert event["metadata"]["namespace"] == event["involvedObject"].get("namespace", "default")


def test_nodes_and_priority_classes_of_pods_resolve() -> None:
    nodes = {node["metadata"]["name"]: node for node in kind("Node")}
    classes = {one["metadata"]["name"]: one for one in kind("PriorityClass")}
    for pod in kind("Pod"):
        spec = pod["spec"]
        if "nodeName" in spec:
            host = nodes[spec["nodeName"]]["status"]["addresses"][0]["address"]
            assert pod["status"]["hostIP"] == host
        name = spec["priorityClassName"]
        if name == "legacy-vip":
            assert name not in classes
            continue
        assert (spec["priority"], spec["preemptionPolicy"]) == (
            classes[name]["value"],
            classes[name]["preemptionPolicy"],
        )
    assert sum(one.get("globalDefault", False) for one in classes.values()) == 1


def test_claims_volumes_and_attachments_resolve() -> None:
    claims = {(one["metadata"]["namespace"], one["metadata"]["name"]): one for one in kind("PersistentVolumeClaim")}
    volumes = {one["metadata"]["name"]: one for one in kind("PersistentVolume")}
    classes = {one["metadata"]["name"] for one in kind("StorageClass")}
    drivers = {one["metadata"]["name"] for one in kind("CSIDriver")}
    attached = {
        one["spec"]["source"]["persistentVolumeName"]: one["spec"]["nodeName"] for one in kind("VolumeAttachment")
    }
    used = set()
    for pod in kind("Pod"):
        for volume in pod["spec"].get("volumes", []):
            if "persistentVolumeClaim" not in volume:
                continue
            where = pod["metadata"]["namespace"], volume["persistentVolumeClaim"]["claimName"]
            bound = volumes[claims[where]["spec"]["volumeName"]]
            used.add(where)
            assert bound["spec"]["claimRef"]["uid"] == claims[where]["metadata"]["uid"]
            assert bound["spec"]["storageClassName"] in classes
            if "csi" in bound["spec"]:
                assert bound["spec"]["csi"]["driver"] in drivers
                assert attached[bound["metadata"]["name"]] == pod["spec"]["nodeName"]
    assert used == claims.keys()
    assert attached.keys() <= volumes.keys()


def test_every_qos_class_is_right() -> None:
    for pod in kind("Pod"):
        assert pod["status"]["qosClass"] == qos_class(pod), key(pod)
    assert {pod["status"]["qosClass"] for pod in kind("Pod")} == {"Guaranteed", "Burstable", "BestEffort"}


@pytest.mark.parametrize("resource", ["cpu", "memory"])
def test_requests_fit_every_node(resource: str) -> None:
    for node in kind("Node"):
        on_node = running_on(node["metadata"]["name"])
        held = sum(allocated(pod, resource) for pod in on_node)
        assert held <= number(node["status"]["allocatable"][resource]), node["metadata"]["name"]
        assert len(on_node) <= int(node["status"]["allocatable"]["pods"])


def test_containers_are_reported_completely() -> None:
    for pod in kind("Pod"):
        if "nodeName" not in pod["spec"]:
            assert "containerStatuses" not in pod["status"]
            continue
        for where, shown in (("containers", "containerStatuses"), ("initContainers", "initContainerStatuses")):
            declared = [(one["name"], one["image"]) for one in pod["spec"].get(where, [])]
            statuses = pod["status"].get(shown, [])
            assert [(one["name"], one["image"]) for one in statuses] == declared
            for one in statuses:
                assert {"imageID", "ready", "restartCount", "lastState"} <= one.keys()
                assert len(one["state"]) == 1


def test_no_time_is_in_the_future() -> None:
    for one in everything():
        deleted = one["metadata"].get("deletionTimestamp")
        for text in re.findall(r"\d{4}-\d\d-\d\dT[\d:.]+Z", json.dumps(one)):
            assert at(text) <= NOW or text == deleted, (key(one), text)


def test_controllers_report_their_pods() -> None:
    for deployment in kind("Deployment"):
        name = deployment["metadata"]["name"]
        own = pods(f"{deployment['metadata']['namespace']}/{name}")
        alive = [p for p in own if "deletionTimestamp" not in p["metadata"] and p["status"]["phase"] != "Failed"]
        ready = [p for p in alive if has_condition(p, "Ready") and condition(p, "Ready")["status"] == "True"]
        assert deployment["spec"]["replicas"] == deployment["status"]["replicas"] == len(alive), name
        assert deployment["status"].get("readyReplicas", 0) == len(ready), name
        missing = len(alive) - len(ready)
        # rollingUpdate.maxUnavailable is rounded down; Available means that no more than that are missing.
        available = condition(deployment, "Available")["status"] == "True"
        assert available == (missing <= len(alive) // 4), name


# The troubles, one test each.


def test_trouble_node_c3_went_silent() -> None:
    node = next(one for one in kind("Node") if one["metadata"]["name"] == "node-c3")
    ready = condition(node, "Ready")
    assert (ready["status"], ready["reason"]) == ("Unknown", "NodeStatusUnknown")
    assert ready["message"] == "Kubelet stopped posting node status."
    taints = {(taint["key"], taint["effect"]) for taint in node["spec"]["taints"]}
    assert taints == {("node.kubernetes.io/unreachable", effect) for effect in ("NoSchedule", "NoExecute")}
    assert all("timeAdded" in taint for taint in node["spec"]["taints"])
    leases = {one["metadata"]["name"]: at(one["spec"]["renewTime"]) for one in kind("Lease")}
    assert timedelta(minutes=8) < NOW - leases.pop("node-c3") < timedelta(minutes=10)
    assert all(NOW - renewed < timedelta(seconds=40) for renewed in leases.values())
    for pod in running_on("node-c3"):
        assert condition(pod, "Ready")["status"] == "False"


def test_trouble_node_c1_is_cordoned() -> None:
    cordoned = [one["metadata"]["name"] for one in kind("Node") if one["spec"].get("unschedulable")]
    assert cordoned == ["node-c1"]


def test_trouble_node_c2_has_no_memory_left_to_request() -> None:
    node = next(one for one in kind("Node") if one["metadata"]["name"] == "node-c2")
    held = sum(allocated(pod, "memory") for pod in running_on("node-c2"))
    assert held > 0.96 * number(node["status"]["allocatable"]["memory"])


def test_trouble_log_agent_is_best_effort() -> None:
    agents = pods("monitoring/log-agent")
    assert len(agents) == 12
    assert {pod["status"]["qosClass"] for pod in agents} == {"BestEffort"}


def test_trouble_istio_proxy_keeps_checkout_from_guaranteed() -> None:
    for pod in pods("shop/checkout"):
        (proxy,) = pod["spec"].pop("initContainers")
        try:
            assert is_sidecar(proxy)
            assert "limits" not in proxy["resources"]
            assert pod["status"]["qosClass"] == "Burstable"
            assert qos_class(pod) == "Guaranteed"
        finally:
            pod["spec"]["initContainers"] = [proxy]


def test_trouble_an_init_container_keeps_cart_from_guaranteed() -> None:
    for pod in pods("shop/cart"):
        (migrate,) = pod["spec"]["initContainers"]
        assert not is_sidecar(migrate)
        assert pod["status"]["qosClass"] == "Burstable"
        assert qos_class({"spec": {"containers": pod["spec"]["containers"]}}) == "Guaranteed"


def test_demo_has_three_ways_to_be_guaranteed() -> None:
    for prefix in ("payments/ledger", "payments/payout-api", "shop/catalog"):
        assert {pod["status"]["qosClass"] for pod in pods(prefix)} == {"Guaranteed"}
    assert all("resources" in pod["spec"] for pod in pods("shop/catalog"))
    assert all(not one["resources"] for pod in pods("shop/catalog") for one in pod["spec"]["containers"])


def test_trouble_checkout_cannot_meet_its_zone_spread() -> None:
    pod = only("shop/checkout", phase="Pending")
    (constraint,) = pod["spec"]["topologySpreadConstraints"]
    assert constraint["whenUnsatisfiable"] == "DoNotSchedule"
    scheduled = condition(pod, "PodScheduled")
    assert (scheduled["status"], scheduled["reason"]) == ("False", "Unschedulable")
    nodes = {one["metadata"]["name"]: one for one in kind("Node")}
    reasons = Counter(checkout_rejection(pod, node) for node in nodes.values())
    reason_texts = sorted(f"{count} {reason}" for reason, count in reasons.items())
    assert scheduled["message"].startswith(f"0/12 nodes are available: {', '.join(reason_texts)}. ")


def checkout_rejection(pod: Obj, node: Obj) -> str:
    """The first filter that rejects a node for this pod, in the scheduler's order."""
    zone_label = "topology.kubernetes.io/zone"
    name, zone = node["metadata"]["name"], node["metadata"]["labels"][zone_label]
    if node["spec"].get("unschedulable"):
        return "node(s) were unschedulable"
    if node["spec"].get("taints"):
        return "node(s) had untolerated taint(s)"
    asked = sum(number(one["resources"]["requests"]["memory"]) for one in all_containers(pod))
    held = sum(allocated(other, "memory") for other in running_on(name))
    if asked > number(node["status"]["allocatable"]["memory"]) - held:
        return "Insufficient memory"
    peers = Counter({one["metadata"]["labels"][zone_label]: 0 for one in kind("Node")})
    for other in pods("shop/checkout"):
        if "nodeName" in other["spec"] and "deletionTimestamp" not in other["metadata"]:
            peers[other["metadata"]["labels"][zone_label]] += 1
    skew = peers[zone] + 1 - min(peers.values())
    assert skew > pod["spec"]["topologySpreadConstraints"][0]["maxSkew"], f"{name} would do"
    return "node(s) didn't match pod topology spread constraints"


def all_containers(pod: Obj) -> list[Obj]:
    found: list[Obj] = pod["spec"]["containers"] + pod["spec"].get("initContainers", [])
    return found


def test_trouble_trainer_finds_no_memory() -> None:
    pod = only("ml/trainer", phase="Pending")
    assert "Insufficient memory" in condition(pod, "PodScheduled")["message"]
    assert pod["spec"]["preemptionPolicy"] == "Never"
    asked = number(pod["spec"]["containers"][0]["resources"]["requests"]["memory"])
    for node in kind("Node"):
        held = sum(allocated(other, "memory") for other in running_on(node["metadata"]["name"]))
        assert asked > number(node["status"]["allocatable"]["memory"]) - held


def test_trouble_evaluate_is_gated() -> None:
    pod = only("ml/evaluate", phase="Pending")
    assert pod["spec"]["schedulingGates"] == [{"name": "ml.example.com/dataset-ready"}]
    assert condition(pod, "PodScheduled")["reason"] == "SchedulingGated"


def test_trouble_nightly_index_was_preempted() -> None:
    pod = only("batch/nightly-index", phase="Failed")
    assert condition(pod, "DisruptionTarget")["reason"] == "PreemptionByScheduler"
    (event,) = [
        one
        for one in kind("Event")
        if one["reason"] == "Preempted" and one["involvedObject"]["uid"] == pod["metadata"]["uid"]
    ]
    preemptor = next(one for one in pods("shop/search") if one["metadata"]["uid"] in event["message"])
    assert event["message"] == f"Preempted by pod {preemptor['metadata']['uid']} on node node-b1"
    assert preemptor["spec"]["nodeName"] == pod["spec"]["nodeName"]
    assert preemptor["spec"]["priority"] > pod["spec"]["priority"]


def test_trouble_fraud_score_waits_for_its_victim() -> None:
    waiting = only("payments/fraud-score", phase="Pending")
    victim = only("ml/embed")
    assert waiting["status"]["nominatedNodeName"] == victim["spec"]["nodeName"]
    assert condition(victim, "DisruptionTarget")["reason"] == "PreemptionByScheduler"
    assert at(victim["metadata"]["deletionTimestamp"]) > NOW
    assert victim["metadata"]["deletionGracePeriodSeconds"] == 120


def test_trouble_loyalty_keeps_the_value_of_a_deleted_class() -> None:
    assert {(pod["spec"]["priorityClassName"], pod["spec"]["priority"]) for pod in pods("shop/loyalty")} == {
        ("legacy-vip", 5000)
    }


@pytest.mark.parametrize(("name", "nfs"), [("shop/db", True), ("data/broker", False)])
def test_trouble_stateful_pod_terminates_on_silent_node(name: str, *, nfs: bool) -> None:
    pod = next(one for one in pods(name) if one["spec"]["nodeName"] == "node-c3")
    meta = pod["metadata"]
    assert at(meta["deletionTimestamp"]) < NOW
    assert meta["deletionGracePeriodSeconds"] == pod["spec"]["terminationGracePeriodSeconds"]
    assert condition(pod, "DisruptionTarget")["reason"] == "DeletionByTaintManager"
    claims = [
        one["persistentVolumeClaim"]["claimName"] for one in pod["spec"]["volumes"] if "persistentVolumeClaim" in one
    ]
    (volume,) = [
        one
        for one in kind("PersistentVolume")
        if one["spec"]["claimRef"]["name"] in claims and one["spec"]["claimRef"]["namespace"] == meta["namespace"]
    ]
    assert volume["spec"]["accessModes"] == ["ReadWriteOnce"]
    assert ("nfs" in volume["spec"]) is nfs


def test_shop_db_1_has_the_default_grace_of_30_s() -> None:
    pod = next(one for one in pods("shop/db") if one["metadata"]["name"] == "db-1")
    assert pod["metadata"]["deletionGracePeriodSeconds"] == 30


def test_trouble_the_hook_of_web_outlasts_its_grace() -> None:
    for pod in pods("shop/web"):
        hook = pod["spec"]["containers"][0]["lifecycle"]["preStop"]["exec"]["command"]
        assert hook[-1] == "sleep 60"
        assert pod["spec"]["terminationGracePeriodSeconds"] == 30


def test_trouble_price_feed_has_no_grace() -> None:
    assert only("shop/price-feed")["spec"]["terminationGracePeriodSeconds"] == 0


def test_postgres_has_300_s_and_a_sidecar() -> None:
    for pod in pods("data/postgres"):
        assert pod["spec"]["terminationGracePeriodSeconds"] == 300
        assert [one["name"] for one in pod["spec"]["initContainers"] if is_sidecar(one)] == ["wal-archiver"]


def test_trouble_image_resizer_is_oom_killed() -> None:
    killed = [pod["status"]["containerStatuses"][0] for pod in pods("shop/image-resizer")]
    killed = [one for one in killed if one["restartCount"]]
    assert [one["lastState"]["terminated"]["reason"] for one in killed] == ["OOMKilled"]
    assert killed[0]["lastState"]["terminated"]["exitCode"] == 137
    assert killed[0]["state"]["waiting"]["reason"] == "CrashLoopBackOff"


def test_trouble_report_export_was_evicted() -> None:
    pod = only("batch/report-export", phase="Failed")
    assert pod["status"]["reason"] == "Evicted"
    assert pod["status"]["message"].startswith("The node was low on resource: memory. ")
    assert condition(pod, "DisruptionTarget")["reason"] == "TerminationByKubelet"


def test_nightly_report_succeeded() -> None:
    pod = only("batch/nightly-report", phase="Succeeded")
    assert pod["status"]["containerStatuses"][0]["state"]["terminated"]["exitCode"] == 0


def test_a_cron_jobs_job_is_named_after_its_minute() -> None:
    (job,) = [one for one in kind("Job") if one["metadata"]["name"].startswith("nightly-report-")]
    minute = int(job["metadata"]["name"].rpartition("-")[2])
    assert (
        minute * 60 == at(job["metadata"]["annotations"]["batch.kubernetes.io/cronjob-scheduled-timestamp"]).timestamp()
    )


def test_trouble_the_resize_of_feature_store_is_deferred() -> None:
    pod = only("ml/feature-store")
    pending = condition(pod, "PodResizePending")
    assert (pending["status"], pending["reason"]) == ("True", "Deferred")
    container, shown = pod["spec"]["containers"][0], pod["status"]["containerStatuses"][0]
    wanted = number(container["resources"]["requests"]["memory"])
    assert wanted > number(shown["allocatedResources"]["memory"])
    node = next(one for one in kind("Node") if one["metadata"]["name"] == pod["spec"]["nodeName"])
    others = [one for one in running_on(node["metadata"]["name"]) if one is not pod]
    used = sum(allocated(one, "memory") for one in others)
    capacity = number(node["status"]["allocatable"]["memory"])
    assert used + wanted > capacity
    assert pending["message"] == (
        f"Node didn't have enough resource: memory, requested: {wanted}, used: {used}, capacity: {capacity}"
    )


def test_mirror_pods_of_the_control_plane() -> None:
    mirrors = [pod for pod in kind("Pod") if "kubernetes.io/config.mirror" in pod["metadata"].get("annotations", {})]
    assert {pod["metadata"]["name"] for pod in mirrors} == {
        "etcd-cp-a1",
        "kube-apiserver-cp-a1",
        "kube-controller-manager-cp-a1",
        "kube-scheduler-cp-a1",
    }
    for pod in mirrors:
        assert pod["metadata"]["ownerReferences"][0]["kind"] == "Node"
        assert pod["spec"]["priorityClassName"] == "system-node-critical"


def test_disruption_budgets_report_their_pods() -> None:
    allowed = {key(one)[1:]: one["status"]["disruptionsAllowed"] for one in kind("PodDisruptionBudget")}
    assert allowed["shop", "checkout"] == allowed["shop", "db"] == 0
    assert allowed["data", "postgres"] == 1
    for budget in kind("PodDisruptionBudget"):
        status = budget["status"]
        assert status["disruptionsAllowed"] == max(0, status["currentHealthy"] - status["desiredHealthy"])


def test_frequently_requested_events() -> None:
    reasons = {event["reason"] for event in kind("Event")}
    assert {"FailedScheduling", "Preempted", "Killing", "BackOff", "Evicted", "NodeNotReady"} <= reasons
