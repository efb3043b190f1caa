"""The ways in which the control plane ends pods, by the real scheduler and the real controllers."""

from __future__ import annotations

import time
from typing import Final

from tests.controlplane.client import Object
from tests.e2e.deaths import KEEPS, NAMES, OLD_SECONDS, TAINT, Act, Deaths, name_of, spec_of
from tests.e2e.kubelets import give_up
from tests.e2e.played_kubelets import UNINITIALIZED, event
from tests.objects import raw_node, raw_object, raw_priority_class, raw_workload
from tests.waiting import wait_for

DEATHS: dict[str, Act] = {}
"""The acts by name."""
SLOW: Final = "collected"
"""The act that takes more than a minute."""


def _act(function: Act) -> Act:
    DEATHS[function.__name__] = function
    return function


@_act
def preempted(deaths: Deaths) -> None:
    """Room for pods of higher priority."""
    deaths.plane.apply([raw_priority_class(deaths.prefix, 1000)])
    asks: Object = {"requests": {"cpu": "800m"}}
    victims = []
    for which in NAMES:
        node = deaths.node(f"small-{which}", capacity={"cpu": "1"})
        name = f"preempted-{which}"
        deaths.pods[name] = name
        pod = deaths.manifest(name, stays=which == "held", nodeName=node, **asks)
        victims.append(deaths.plane.api.create(pod))
    for which, victim in zip(NAMES, deaths.old(victims), strict=True):
        selector = {"kubernetes.io/hostname": victim["spec"]["nodeName"]}
        winner: Object = {
            "schedulerName": "default-scheduler",
            "priorityClassName": deaths.prefix,
            "nodeSelector": selector,
        }
        deaths.plane.api.create(deaths.manifest(f"winner-{which}", **winner, **asks))
    deaths.ended(*victims)
    for victim in victims:
        deaths.await_event(victim["metadata"]["name"], "Preempted")


@_act
def evicted(deaths: Deaths) -> None:
    """Evict pods with the eviction API."""
    pods = deaths.pair("evicted", nodeName=deaths.quick)
    deaths.evict(*pods)
    deaths.ended(*pods)


@_act
def drained(deaths: Deaths) -> None:
    """Drain with kubectl, which gives up on a pod that does not stop."""
    node = deaths.node("drained")
    pods = deaths.pair("drained", nodeName=node)
    deaths.plane.kubectl("drain", node, "--force", "--timeout=4s", check=False)
    deaths.ended(*pods)


@_act
def tainted(deaths: Deaths) -> None:
    """Taint evictions, at once, later, and never; and pods that a user had deleted before, or deletes then."""
    node = deaths.node("tainted")
    tolerates: Object = {"key": TAINT, "operator": "Exists", "effect": "NoExecute"}
    spec = {"nodeName": node}
    late = {**spec, "tolerations": [{**tolerates, "tolerationSeconds": 1}]}
    bears = {**spec, "tolerations": [{**tolerates, "tolerationSeconds": 300}]}
    before = deaths.one("tainted-after-deleted", stays=True, **spec)
    again = deaths.one("again", restartPolicy="Never", **spec)
    pairs = []
    for name, own in (("tainted", spec), ("tolerating", late), ("deleted-while-tolerating", bears)):
        for which in NAMES:
            deaths.pods[f"{name}-{which}"] = f"{name}-{which}"
            pod = deaths.manifest(f"{name}-{which}", stays=which == "held", **own)
            pairs.append(deaths.plane.api.create(pod))
    deaths.old(pairs)
    deaths.delete(before)
    deaths.terminating(before)
    time.sleep(OLD_SECONDS)
    deaths.taint(node)
    deaths.ended(*pairs[:2])
    deaths.gone(again)
    # Another pod of its name ends by itself.
    again = deaths.old(
        [deaths.plane.api.create(deaths.manifest("again", nodeName=deaths.quick, restartPolicy="Never"))]
    )[0]
    deaths.fail(again, 1)
    deaths.delete(*pairs[4:])
    deaths.ended(*pairs[4:])
    deaths.ended(*pairs[2:4])
    for pod in (*pairs[:4], before):
        deaths.await_event(pod["metadata"]["name"], "TaintManagerEviction")


@_act
def lost(deaths: Deaths) -> None:
    """A node that falls silent. A person had deleted a pod before, and deletes another for good afterwards."""
    node = deaths.node("lost", labels={"topology.kubernetes.io/zone": deaths.prefix})
    unreachable = {"key": "node.kubernetes.io/unreachable", "operator": "Exists", "effect": "NoExecute"}
    spec: Object = {"nodeName": node, "tolerations": [{**unreachable, "tolerationSeconds": 1}]}
    names = ("lost-held", "lost-gone", "lost-after-deleted", "lost-after-deleted-gone")
    for name in names:
        deaths.pods[name] = name
    made = [deaths.plane.api.create(deaths.manifest(name, stays=name == "lost-held", **spec)) for name in names]
    held, gone, before, returned = deaths.old(made)
    deaths.kubelets.silent.add(node)
    deaths.delete(before, returned)
    deaths.stay(before)
    time.sleep(OLD_SECONDS)
    give_up(deaths.plane, node)
    deaths.terminating(held, gone, before)
    for name in names:
        deaths.await_event(name, "TaintManagerEviction")
    deaths.delete(gone, grace_period_seconds=0)
    deaths.gone(gone)
    # It answers again, and stops what was deleted meanwhile.
    deaths.kubelets.silent.discard(node)
    deaths.gone(returned)


@_act
def jobs(deaths: Deaths) -> None:
    """Jobs that fail while pods of them run."""
    spec = {"nodeName": deaths.quick, "restartPolicy": "Never"}
    three = {"parallelism": 3, "completions": 3}
    policy = {"rules": [{"action": "FailJob", "onExitCodes": {"operator": "In", "values": [42]}}]}
    deaths.plane.apply(
        [
            raw_workload("Job", "backoff", deaths.namespace, pod_spec=spec_of(deaths, spec), backoffLimit=0, **three),
            raw_workload(
                "Job", "policy", deaths.namespace, pod_spec=spec_of(deaths, spec), podFailurePolicy=policy, **three
            ),
        ]
    )
    made = {name: deaths.of_workload(name, 3) for name in ("backoff", "policy")}
    running = deaths.old([*made["backoff"], *made["policy"]])
    rest = [*deaths.two_of("backoff", running[:2]), *deaths.two_of("policy", running[3:5])]
    deaths.fail(running[2], 1)
    deaths.fail(running[5], 42)
    deaths.ended(rest[0], rest[1])
    deaths.ended(rest[2], rest[3])
    # A namesake that has never had a pod of this Job.
    namesake = raw_workload(
        "StatefulSet", "policy", deaths.namespace, pod_spec=spec_of(deaths, {"nodeName": deaths.quick})
    )
    labels = {"app": "namesake"}
    own = {"selector": {"matchLabels": labels}, "serviceName": "policy"}
    template = {**namesake["spec"]["template"], "metadata": {"labels": labels}}
    deaths.plane.api.create({**namesake, "spec": {**namesake["spec"], **own, "template": template}})
    deaths.running(deaths.of_workload("namesake", 1)[0])
    deaths.await_event("backoff", "SuccessfulDelete", times=2)
    deaths.await_event("policy", "SuccessfulDelete", times=2)


@_act
def stopped_jobs(deaths: Deaths) -> None:
    """Jobs that are over their deadline, suspended, deleted, or scaled down."""
    spec = {"nodeName": deaths.quick, "restartPolicy": "Never"}
    two = {"parallelism": 2, "completions": 2}
    names = ("late", "suspended", "removed", "narrowed")
    for name in names:
        deaths.plane.apply([raw_workload("Job", name, deaths.namespace, pod_spec=spec_of(deaths, spec), **two)])
    made = [pod for name in names for pod in deaths.of_workload(name, 2)]
    running = deaths.old(made)
    pairs = [deaths.two_of(name, running[2 * place :]) for place, name in enumerate(names)]
    # Its time is over at once, and not while it is still prepared.
    deaths.change("Job", "late", {"activeDeadlineSeconds": 1}, "batch/v1")
    deaths.change("Job", "suspended", {"suspend": True}, "batch/v1")
    deaths.change("Job", "narrowed", {"parallelism": 0}, "batch/v1")
    deaths.remove("Job", "removed", "batch/v1")
    for pair in pairs:
        deaths.ended(*pair)
    for name in ("late", "suspended", "narrowed"):
        deaths.await_event(name, "SuccessfulDelete", times=2)


@_act
def deployments(deaths: Deaths) -> None:
    """Fewer replicas, another revision, none at all; and pods that persons delete."""
    spec = {"nodeName": deaths.quick}
    names = ("web-scaled", "rolled", "abandoned", "web", "forced")
    for name in names:
        deaths.plane.apply(
            [raw_workload("Deployment", name, deaths.namespace, pod_spec=spec_of(deaths, spec), replicas=2)]
        )
    made = [pod for name in names for pod in deaths.of_workload(name, 2)]
    running = deaths.old(made)
    scaled, rolled, abandoned, web, forced = (
        deaths.two_of(name, running[2 * place :]) for place, name in enumerate(names)
    )
    deaths.change("Deployment", "web-scaled", {"replicas": 0})
    deaths.change("Deployment", "rolled", {"template": {"metadata": {"annotations": {"revision": "2"}}}})
    deaths.remove("Deployment", "abandoned", "apps/v1")
    deaths.delete(*web)
    deaths.plane.api.patch(forced[0], {"metadata": {"finalizers": [KEEPS]}})
    deaths.delete(*forced, grace_period_seconds=0)
    for pair in (scaled, rolled, abandoned, web, forced):
        deaths.ended(*pair)
    for held, _ in (scaled, rolled):
        deaths.await_event(held["metadata"]["ownerReferences"][0]["name"], "SuccessfulDelete", times=2)
    for pod in (web[1], forced[1]):
        deaths.await_event(pod["metadata"]["name"], "Killing")
    for name in ("rolled", "web", "forced"):
        for pod in deaths.of_workload(name, 2):
            deaths.running(pod)


@_act
def grown(deaths: Deaths) -> None:
    """A Deployment that gets a second pod; then the first one is deleted, and a third comes in its place."""
    first = deaths.workload("Deployment", "grown", 1, {"nodeName": deaths.quick}, replicas=1)[0]
    deaths.pods["grown"] = first["metadata"]["name"]
    deaths.stay(first)
    deaths.change("Deployment", "grown", {"replicas": 2})
    second = next(pod for pod in deaths.of_workload("grown", 2) if name_of(pod) != name_of(first))
    deaths.running(second)
    # Times of objects have whole seconds.
    time.sleep(1.1)
    deaths.delete(first)
    deaths.terminating(first)
    third = next(pod for pod in deaths.of_workload("grown", 2) if name_of(pod) != name_of(second))
    deaths.running(third)
    deaths.pods["grown-third"] = name_of(third)


@_act
def sets(deaths: Deaths) -> None:
    """A StatefulSet's pods of one name, one after the other; and a DaemonSet's."""
    spec = {"nodeName": deaths.quick}
    for name in ("db", "roll", "shrunk"):
        more = {"replicas": 1, "serviceName": name}
        deaths.plane.apply(
            [raw_workload("StatefulSet", name, deaths.namespace, pod_spec=spec_of(deaths, spec), **more)]
        )
    node = deaths.node("daemon")
    placed = {"schedulerName": "default-scheduler", "nodeSelector": {"kubernetes.io/hostname": node}}
    daemon = deaths.workload("DaemonSet", "agent", 1, placed)[0]
    db, roll, shrunk = deaths.old([deaths.of_workload(name, 1)[0] for name in ("db", "roll", "shrunk")])
    deaths.pods |= {"db": "db-0", "roll": "roll-0", "shrunk": "shrunk-0", "agent": name_of(daemon)}
    deaths.delete(db, daemon)
    deaths.stay(shrunk)
    deaths.change("StatefulSet", "shrunk", {"replicas": 0})
    deaths.change("StatefulSet", "roll", {"template": {"metadata": {"annotations": {"revision": "2"}}}})
    deaths.gone(db, daemon, roll)
    deaths.terminating(shrunk)
    for name in ("roll", "shrunk"):
        deaths.await_event(name, "SuccessfulDelete")
    (again,) = deaths.old([_next(deaths, "roll-0")])
    deaths.stay(again)
    # A person this time.
    deaths.delete(again)
    deaths.terminating(again)
    deaths.running(_next(deaths, "db-0"))
    deaths.running(deaths.of_workload("agent", 1)[0])


@_act
def moved(deaths: Deaths) -> None:
    """A StatefulSet's pod that a taint ends, and the next of its name, which a person deletes."""
    nodes = [deaths.node(f"moved-{number}", labels={deaths.prefix: "moved"}) for number in range(2)]
    preferred = [_preferred(node, weight) for node, weight in zip(nodes, (100, 50), strict=True)]
    spec: Object = {
        "schedulerName": "default-scheduler",
        "nodeSelector": {deaths.prefix: "moved"},
        "affinity": {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": preferred}},
    }
    more = {"replicas": 1, "serviceName": "moved"}
    first = deaths.workload("StatefulSet", "moved", 1, spec, **more)[0]
    deaths.pods["moved"] = "moved-0"
    deaths.taint(first["spec"]["nodeName"])
    deaths.gone(first)
    (second,) = deaths.old([_next(deaths, "moved-0")])
    deaths.delete(second)
    deaths.gone(second)
    deaths.running(_next(deaths, "moved-0"))


def _preferred(node: str, weight: int) -> Object:
    expression = {"key": "kubernetes.io/hostname", "operator": "In", "values": [node]}
    return {"weight": weight, "preference": {"matchExpressions": [expression]}}


def _next(deaths: Deaths, name: str) -> Object:
    """The pod that has a name now, once there is one."""

    def there() -> Object | None:
        found = deaths.plane.api.list_items("v1", "Pod", deaths.namespace, fieldSelector=f"metadata.name={name}")
        return found[0] if found else None

    return wait_for(there, f"{name} is there again")


@_act
def by_persons(deaths: Deaths) -> None:
    """Pods without a controller."""
    pods = deaths.pair("deleted", nodeName=deaths.quick)
    late = deaths.one("evicted-after-deleted", stays=True, nodeName=deaths.quick)
    forced = deaths.one("forced", finalizer=True, nodeName=deaths.quick)
    waits = deaths.manifest(
        UNINITIALIZED, finalizer=True, nodeName=deaths.quick, initContainers=[{"name": "init", "image": "init:1"}]
    )
    waits["metadata"]["labels"][UNINITIALIZED] = ""
    deaths.pods[UNINITIALIZED] = UNINITIALIZED
    waits = deaths.plane.api.create(waits)
    wait_for(lambda: "initContainerStatuses" in (deaths.get(waits) or {})["status"], "its init container waits")
    deaths.one("alive", nodeName=deaths.quick)
    deaths.old([forced])
    deaths.delete(*pods, late, waits)
    deaths.delete(forced, grace_period_seconds=0)
    deaths.ended(*pods)
    deaths.terminating(late, forced)
    wait_for(
        lambda: (deaths.get(waits) or {})["metadata"].get("deletionGracePeriodSeconds") == 0, "its kubelet is done"
    )
    time.sleep(OLD_SECONDS)
    deaths.evict(late)


@_act
def of_other_owners(deaths: Deaths) -> None:
    """Pods of objects that are no workloads of Kubernetes; config maps stand for them."""
    api = deaths.plane.api
    root, custom = (api.create(raw_object("ConfigMap", name, deaths.namespace)) for name in ("root", "custom"))
    api.create(event(custom, "Reconciled", "All is as it should be", {"component": "custom-controller"}))
    time.sleep(1)
    garbage = deaths.owned("garbage", root, controller=False)
    owned = deaths.owned("custom", custom, controller=True)
    deaths.plane.api.delete(root)
    # Its controller deletes it, without an event.
    deaths.delete(owned)
    deaths.terminating(garbage, owned)


@_act
def device_tainted(deaths: Deaths) -> None:
    """A device that is tainted: its pod has to go."""
    node = deaths.node("devices")
    api, driver = "resource.k8s.io/v1", f"{deaths.prefix}.example.com"
    selector = {"cel": {"expression": f'device.driver == "{driver}"'}}
    pool = {"name": node, "generation": 1, "resourceSliceCount": 1}
    own = {"driver": driver, "pool": pool, "nodeName": node, "devices": [{"name": "gpu-0"}]}
    slice_ = raw_object("ResourceSlice", deaths.prefix, spec=own, apiVersion=api)
    request = {"name": "gpu", "exactly": {"deviceClassName": deaths.prefix}}
    device_class = raw_object("DeviceClass", deaths.prefix, spec={"selectors": [selector]})
    asks = {"devices": {"requests": [request]}}
    claim = raw_object("ResourceClaim", "gpu", deaths.namespace, spec=asks, apiVersion=api)
    deaths.plane.apply([device_class, slice_, claim])
    deaths.pods["device-tainted"] = "device-tainted"
    pod = deaths.manifest(
        "device-tainted",
        stays=True,
        schedulerName="default-scheduler",
        nodeSelector={"kubernetes.io/hostname": node},
        resourceClaims=[{"name": "gpu", "resourceClaimName": "gpu"}],
    )
    (pod,) = deaths.old([deaths.plane.api.create(pod)])
    device = {"name": "gpu-0", "taints": [{"key": TAINT, "effect": "NoExecute"}]}
    deaths.plane.api.patch(slice_, {"spec": {"devices": [device], "pool": {**pool, "generation": 2}}})
    deaths.terminating(pod)


@_act
def unseen(deaths: Deaths) -> None:
    """Without grace, on a node with a kubelet that does nothing: no event shows when."""
    node = deaths.node("unseen")
    kinds: dict[str, Object] = {"ReplicaSet": {}, "StatefulSet": {}, "Job": {"restartPolicy": "Never"}}
    made = [
        raw_workload(
            kind, f"unseen-{kind.lower()}", deaths.namespace, pod_spec=spec_of(deaths, {"nodeName": node, **more})
        )
        for kind, more in kinds.items()
    ]
    deaths.plane.apply(made)
    pods = deaths.old(deaths.of_workload(one["metadata"]["name"], 1)[0] for one in made)
    deaths.kubelets.silent.add(node)
    deaths.delete(*pods, grace_period_seconds=0)
    for kind, pod in zip(kinds, pods, strict=True):
        deaths.unseen[kind] = pod, _after(deaths, pod)


def _after(deaths: Deaths, pod: Object) -> Object:
    """The next pod of its controller."""
    name = pod["metadata"]["labels"]["app"]

    def made() -> Object | None:
        (found,) = deaths.of_workload(name, 1)
        return found if found["metadata"]["uid"] != pod["metadata"]["uid"] else None

    return wait_for(made, f"{name} has another pod")


@_act
def collected(deaths: Deaths) -> None:
    """Node objects that are deleted: garbage collection takes their pods, after 40 s at least.

    One node is off, as when an autoscaler drained it before; of the other the kubelet runs on.
    """
    off, on = deaths.node("off"), deaths.node("on")
    nodes = {"collected-kept": off, "collected-gone": off, "collected-after-drain-gone": off, "collected-on-gone": on}
    for name in nodes:
        deaths.pods[name] = name
    made = [deaths.manifest(name, finalizer=name == "collected-kept", nodeName=node) for name, node in nodes.items()]
    kept, gone, drained_before, stopped = deaths.old([deaths.plane.api.create(pod) for pod in made])
    deaths.evict(drained_before)
    deaths.gone(drained_before)
    deaths.kubelets.silent.add(off)
    for node in (off, on):
        deaths.plane.api.delete(raw_node(node))
    deaths.gone(gone, stopped)
    wait_for(lambda: "deletionTimestamp" in (deaths.get(kept) or {})["metadata"], "garbage collection takes it")
    deaths.await_event(name_of(stopped), "Killing")
