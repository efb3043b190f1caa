"""Pods that end in each way that the control plane has, by the real scheduler and the real controllers.

Kubelets are played: they start what is bound to their nodes, stop what is deleted, and tell so in events, as real ones
do. A pod that is labelled `STAYS` does not stop: its object can be looked at while it is Terminating. Its fellow goes.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from functools import partial
from types import TracebackType
from typing import Any, Final, Self

from tests.controlplane.client import ApiError, Object
from tests.controlplane.control_plane import ControlPlane
from tests.e2e.kubelets import give_up
from tests.e2e.objects import make_class, make_pod, make_workload
from tests.waiting import wait_for

__all__ = ["DEATHS", "SLOW", "Deaths", "Kubelets"]

STAYS: Final = "stays"
"""The label of a pod that does not stop."""
UNINITIALIZED: Final = "uninitialized"
"""The label of a pod whose init container never starts."""
KEEPS: Final = "example.com/keeps"
"""A finalizer."""
TAINT: Final = "example.com/going"
NAMES: Final = ("held", "gone")
"""Of two pods that end alike: one stays Terminating, and the other's object goes."""
_OF_NO_NAMESPACE: Final = (
    ("scheduling.k8s.io/v1", "PriorityClass"),
    ("resource.k8s.io/v1", "DeviceClass"),
    ("resource.k8s.io/v1", "ResourceSlice"),
)
_PERIOD_SECONDS: Final = 0.1
_OLD_SECONDS: Final = 2.1
"""From here on events tell of a time before: they have whole seconds."""
_THREADS: Final = 16


class Kubelets:
    """The kubelets of all nodes, for the pods of some namespaces."""

    def __init__(self, plane: ControlPlane, namespaces: Sequence[str]) -> None:
        """Nothing runs yet."""
        self._plane, self._namespaces = plane, namespaces
        self.silent: set[str] = set()
        """Nodes whose kubelets do nothing."""
        self._running: dict[str, Object] = {}
        self._stopping: set[str] = set()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ended.set()
        self._thread.join()

    def _run(self) -> None:
        try:
            while not self._ended.wait(_PERIOD_SECONDS):
                for namespace in self._namespaces:
                    # An object may change or go under our hands: the next round sees it as it is.
                    with contextlib.suppress(ApiError):
                        self._do_a_round(namespace)
        finally:
            self._plane.api.close()

    def _do_a_round(self, namespace: str) -> None:
        found = self._plane.api.list_items("v1", "Pod", namespace)
        here = {pod["metadata"]["uid"] for pod in found}
        for uid, pod in list(self._running.items()):
            node, own = pod["spec"]["nodeName"], pod["metadata"]["namespace"]
            if uid not in here and own == namespace and node not in self.silent:
                # Deleted without grace: its kubelet stops it then.
                del self._running[uid]
                self._tell_of_stop(pod)
        for pod in found:
            if pod["spec"].get("nodeName", "") not in {"", *self.silent}:
                with contextlib.suppress(ApiError):
                    self._care_for(pod)

    def _care_for(self, pod: Object) -> None:
        meta = pod["metadata"]
        if "deletionTimestamp" in meta:
            self._stop(pod)
        elif pod["status"]["phase"] == "Pending" and meta["uid"] not in self._running:
            self._start(pod)

    def _start(self, pod: Object) -> None:
        if UNINITIALIZED in pod["metadata"].get("labels", {}):
            if "initContainerStatuses" not in pod["status"]:
                self._plane.set_pod_status(pod, _never_started("Pending"))
                self.tell(pod, "Pulling", "Pulling image", container="init")
            return
        started = {"running": {"startedAt": now()}}
        conditions = [_condition("Ready"), _condition("ContainersReady")]
        state = {"phase": "Running", "conditions": conditions, "startTime": now()}
        self._plane.set_pod_status(pod, {**state, "containerStatuses": [_container(started, ready=True)]})
        self._running[pod["metadata"]["uid"]] = pod
        self.tell(pod, "Started", "Started container app")

    def _stop(self, pod: Object) -> None:
        meta = pod["metadata"]
        uid = meta["uid"]
        if uid in self._running:
            del self._running[uid]
            if pod["status"]["phase"] == "Running":
                self._tell_of_stop(pod)
        elif STAYS not in meta.get("labels", {}) and uid not in self._stopping:
            if UNINITIALIZED in meta.get("labels", {}):
                self._plane.set_pod_status(pod, _never_started("Failed"))
            elif pod["status"]["phase"] in {"Running", "Pending"}:
                self._plane.set_pod_status(pod, ended(pod, 143))
            self._stopping.add(uid)
            self._plane.api.delete(pod, grace_period_seconds=0)

    def _tell_of_stop(self, pod: Object) -> None:
        self.tell(pod, "Killing", "Stopping container app")

    def tell(self, pod: Object, reason: str, message: str, *, container: str = "app") -> None:
        """An event about a pod's container, as a kubelet writes it."""
        meta, node = pod["metadata"], pod["spec"]["nodeName"]
        about = {"apiVersion": "v1", "kind": "Pod", "namespace": meta["namespace"], "name": meta["name"]}
        event = {
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {"generateName": f"{meta['name']}.", "namespace": meta["namespace"]},
            "involvedObject": {**about, "uid": meta["uid"], "fieldPath": f"spec.containers{{{container}}}"},
            "reason": reason,
            "message": message,
            "type": "Normal",
            "count": 1,
            "firstTimestamp": now(),
            "lastTimestamp": now(),
            "source": {"component": "kubelet", "host": node},
            "reportingComponent": "kubelet",
            "reportingInstance": node,
        }
        self._plane.api.create(event)


Act = Callable[["Deaths"], None]
DEATHS: dict[str, Act] = {}
"""What is done, by its name."""
SLOW: Final = "collected"
"""One that takes a minute and more."""


def _act(function: Act) -> Act:
    DEATHS[function.__name__] = function
    return function


class Deaths:
    """Has pods end, and keeps which pod ended how."""

    def __init__(self, plane: ControlPlane, namespace: str, kubelets: Kubelets, prefix: str) -> None:
        """Nothing has ended yet.

        Args:
            plane: The cluster.
            namespace: Where the pods are.
            kubelets: Those of all nodes.
            prefix: What the names of nodes and of other things of no namespace begin with.
        """
        self.plane, self.namespace, self.kubelets, self.prefix = plane, namespace, kubelets, prefix
        self.pods: dict[str, str] = {}
        """Names of pods by what they are called in the tests."""
        self.failed: dict[str, BaseException] = {}
        """What went wrong, by act."""

    def run(self, acts: Iterable[str]) -> None:
        """Do these; returns when all have been done, whatever became of them."""

        def do(name: str) -> None:
            try:
                DEATHS[name](self)
            except Exception as error:  # noqa: BLE001  # told by the test that asks for it
                self.failed[name] = error
            finally:
                self.plane.api.close()

        with ThreadPoolExecutor(_THREADS) as pool:
            list(pool.map(do, acts))

    def clean(self) -> None:
        """Take away what would stay: nodes, and finalizers of pods."""
        for pod in self.plane.api.list_items("v1", "Pod", self.namespace):
            if KEEPS in pod["metadata"].get("finalizers", ()):
                self.plane.api.patch(pod, {"metadata": {"finalizers": None}})
        for node in self.plane.api.list_items("v1", "Node"):
            if _name(node).startswith(f"{self.prefix}-"):
                self.plane.api.delete(node)
        for api_version, kind in _OF_NO_NAMESPACE:
            self.plane.api.delete({"apiVersion": api_version, "kind": kind, "metadata": {"name": self.prefix}})

    # Objects

    def node(self, name: str, **more: Any) -> str:
        """A node of one act's own."""
        made: str = self.plane.create_node(f"{self.prefix}-{name}", **more)["metadata"]["name"]
        return made

    def manifest(self, name: str, *, stays: bool = False, finalizer: bool = False, **spec: Any) -> Object:
        """A pod of this namespace."""
        pod = make_pod(self.namespace, name, **spec)
        if stays:
            pod["metadata"]["labels"][STAYS] = ""
        if finalizer:
            pod["metadata"]["finalizers"] = [KEEPS]
        return pod

    def pair(self, name: str, **spec: Any) -> list[Object]:
        """Two pods, ``NAME-held`` and ``NAME-gone``, that run and have done so for a while."""
        made = []
        for which in NAMES:
            self.pods[f"{name}-{which}"] = f"{name}-{which}"
            pod = self.manifest(f"{name}-{which}", stays=which == "held", **spec)
            made.append(self.plane.api.create(pod))
        return self.old(made)

    def one(self, name: str, **how: Any) -> Object:
        """One pod that runs."""
        self.pods[name] = name
        made = self.plane.api.create(self.manifest(name, **how))
        return self.running(made)

    def workload(self, kind: str, name: str, count: int, spec: Mapping[str, Any], **more: Any) -> list[Object]:
        """A workload whose pods run and have done so for a while."""
        self.plane.apply([make_workload(kind, self.namespace, _spec(self, spec), name, **more)])
        return self.old(self.of_workload(name, count))

    def of_workload(self, name: str, count: int) -> list[Object]:
        """The pods of a workload that nobody has deleted, once there are so many."""

        def made() -> list[Object] | None:
            found = self.plane.api.list_items("v1", "Pod", self.namespace, labelSelector=f"app={name}")
            alive = [pod for pod in found if "deletionTimestamp" not in pod["metadata"]]
            return alive if len(alive) == count else None

        return wait_for(made, f"{name} has {count} pods")

    def two_of(self, name: str, pods: Sequence[Object]) -> list[Object]:
        """Two of a workload's pods, called ``NAME-held`` and ``NAME-gone``; the first one does not stop."""
        held, gone = pods[:2]
        self.stay(held)
        for which, pod in zip(NAMES, (held, gone), strict=True):
            self.pods[f"{name}-{which}"] = pod["metadata"]["name"]
        return [held, gone]

    def stay(self, pod: Object) -> None:
        """From here on it does not stop."""
        self.plane.api.patch(pod, {"metadata": {"labels": {STAYS: ""}}})

    def owned(self, name: str, owner: Object, *, controller: bool) -> Object:
        """A pod of another object, Terminating once it is deleted."""
        meta = owner["metadata"]
        reference = {"apiVersion": owner["apiVersion"], "kind": owner["kind"], "name": meta["name"], "uid": meta["uid"]}
        pod = self.manifest(name, stays=True, nodeName=self.quick)
        pod["metadata"]["ownerReferences"] = [{**reference, "controller": controller}]
        self.pods[name] = name
        return self.old([self.plane.api.create(pod)])[0]

    @property
    def quick(self) -> str:
        """The node of pods of which nothing else matters."""
        return f"{self.prefix}-quick"

    # What happens to them

    def get(self, pod: Object) -> Object | None:
        """It as it is now; None: it is gone, or another has its name."""
        meta = pod["metadata"]
        found = self.plane.api.list_items("v1", "Pod", self.namespace, fieldSelector=f"metadata.name={meta['name']}")
        return found[0] if found and found[0]["metadata"]["uid"] == meta["uid"] else None

    def running(self, pod: Object) -> Object:
        """The pod, once it runs."""

        def runs() -> Object | None:
            found = self.get(pod)
            return found if found is not None and found["status"]["phase"] == "Running" else None

        return wait_for(runs, f"{pod['metadata']['name']} runs")

    def old(self, pods: Iterable[Object]) -> list[Object]:
        """Pods that run, once events tell of a time before."""
        running = [self.running(pod) for pod in pods]
        time.sleep(_OLD_SECONDS)
        return running

    def delete(self, *pods: Object, **how: Any) -> None:
        """As a person does."""
        for pod in pods:
            self.plane.api.delete(pod, **how)

    def evict(self, *pods: Object) -> None:
        """By the eviction API."""
        for pod in pods:
            meta = pod["metadata"]
            body = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": meta["name"]}}
            self.plane.api.request(
                "POST", self.plane.api.path("v1", "Pod", self.namespace, meta["name"], "eviction"), body
            )

    def taint(self, node: str) -> None:
        """By hand."""
        stored = self.plane.api.get("v1", "Node", node)
        taints = [*stored["spec"].get("taints", ()), {"key": TAINT, "effect": "NoExecute"}]
        self.plane.api.patch({**stored, "apiVersion": "v1", "kind": "Node"}, {"spec": {"taints": taints}})

    def remove(self, kind: str, name: str, api_version: str) -> None:
        """Delete a workload, and its pods with it."""
        path = self.plane.api.path(api_version, kind, self.namespace, name)
        self.plane.api.request("DELETE", path, {"propagationPolicy": "Background"})

    def change(self, kind: str, name: str, spec: Mapping[str, Any], api_version: str = "apps/v1") -> None:
        """Patch a workload."""
        target = {"apiVersion": api_version, "kind": kind, "metadata": {"name": name, "namespace": self.namespace}}
        self.plane.api.patch(target, {"spec": dict(spec)})

    def fail(self, pod: Object, code: int) -> None:
        """Its process ends."""
        self.plane.set_pod_status(pod, ended(pod, code))

    def terminating(self, *pods: Object) -> None:
        """Returns when each is being deleted and its kubelet has told so."""
        for pod in pods:
            wait_for(partial(self._is_told, pod), f"{_name(pod)} is terminating")

    def _is_told(self, pod: Object) -> bool:
        found = self.get(pod)
        assert found is not None, pod["metadata"]["name"]
        if "deletionTimestamp" not in found["metadata"]:
            return False
        node = found["spec"].get("nodeName")
        return node in self.kubelets.silent or self.has_event(pod["metadata"]["name"], "Killing")

    def gone(self, *pods: Object) -> None:
        """Returns when none of them is left."""
        for pod in pods:
            wait_for(partial(self._is_gone, pod), f"{_name(pod)} is gone")

    def _is_gone(self, pod: Object) -> bool:
        return self.get(pod) is None

    def ended(self, held: Object, gone: Object) -> None:
        """Returns when both have ended."""
        self.terminating(held)
        self.gone(gone)

    def has_event(self, name: str, reason: str, *, times: int = 1) -> bool:
        """Whether an event of that reason is there about an object of that name."""
        about = f"involvedObject.name={name},reason={reason}"
        found = self.plane.api.list_items("v1", "Event", self.namespace, fieldSelector=about)
        return len(found) >= times

    def told(self, name: str, reason: str, *, times: int = 1) -> None:
        """Returns when it is."""
        wait_for(partial(self.has_event, name, reason, times=times), f"event {reason} about {name}")


# What happens


@_act
def preempted(deaths: Deaths) -> None:
    """Room for pods of higher priority."""
    deaths.plane.apply([make_class(deaths.prefix, 1000)])
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
        deaths.told(victim["metadata"]["name"], "Preempted")


@_act
def evicted(deaths: Deaths) -> None:
    """By the eviction API."""
    pods = deaths.pair("evicted", nodeName=deaths.quick)
    deaths.evict(*pods)
    deaths.ended(*pods)


@_act
def drained(deaths: Deaths) -> None:
    """By kubectl; it gives the pod up that does not stop."""
    node = deaths.node("drained")
    pods = deaths.pair("drained", nodeName=node)
    deaths.plane.kubectl("drain", node, "--force", "--timeout=4s", check=False)
    deaths.ended(*pods)


@_act
def tainted(deaths: Deaths) -> None:
    """By a taint at once, after some time, and never: and pods that a person had deleted before, or deletes then."""
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
    time.sleep(_OLD_SECONDS)
    deaths.taint(node)
    deaths.ended(*pairs[:2])
    deaths.gone(again)
    # Another of its name ends by itself.
    again = deaths.old(
        [deaths.plane.api.create(deaths.manifest("again", nodeName=deaths.quick, restartPolicy="Never"))]
    )[0]
    deaths.fail(again, 1)
    deaths.delete(*pairs[4:])
    deaths.ended(*pairs[4:])
    deaths.ended(*pairs[2:4])
    for pod in (*pairs[:4], before):
        deaths.told(pod["metadata"]["name"], "TaintManagerEviction")


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
    time.sleep(_OLD_SECONDS)
    give_up(deaths.plane, node)
    deaths.terminating(held, gone, before)
    for name in names:
        deaths.told(name, "TaintManagerEviction")
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
            make_workload("Job", deaths.namespace, _spec(deaths, spec), "backoff", backoffLimit=0, **three),
            make_workload("Job", deaths.namespace, _spec(deaths, spec), "policy", podFailurePolicy=policy, **three),
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
    namesake = make_workload("StatefulSet", deaths.namespace, _spec(deaths, {"nodeName": deaths.quick}), "policy")
    labels = {"app": "namesake"}
    own = {"selector": {"matchLabels": labels}, "serviceName": "policy"}
    template = {**namesake["spec"]["template"], "metadata": {"labels": labels}}
    deaths.plane.api.create({**namesake, "spec": {**namesake["spec"], **own, "template": template}})
    deaths.running(deaths.of_workload("namesake", 1)[0])
    deaths.told("backoff", "SuccessfulDelete", times=2)
    deaths.told("policy", "SuccessfulDelete", times=2)


@_act
def stopped_jobs(deaths: Deaths) -> None:
    """Jobs whose time is over, that are suspended, deleted, or may have fewer pods."""
    spec = {"nodeName": deaths.quick, "restartPolicy": "Never"}
    two = {"parallelism": 2, "completions": 2}
    names = ("late", "suspended", "removed", "narrowed")
    for name in names:
        deaths.plane.apply([make_workload("Job", deaths.namespace, _spec(deaths, spec), name, **two)])
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
        deaths.told(name, "SuccessfulDelete", times=2)


def _spec(deaths: Deaths, spec: Mapping[str, Any]) -> Object:
    """The pods of a workload."""
    return {**make_pod(deaths.namespace)["spec"], **spec}


@_act
def deployments(deaths: Deaths) -> None:
    """Fewer replicas, another revision, none at all; and pods that persons delete."""
    spec = {"nodeName": deaths.quick}
    names = ("web-scaled", "rolled", "abandoned", "web", "forced")
    for name in names:
        deaths.plane.apply([make_workload("Deployment", deaths.namespace, _spec(deaths, spec), name, replicas=2)])
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
        deaths.told(held["metadata"]["ownerReferences"][0]["name"], "SuccessfulDelete", times=2)
    for pod in (web[1], forced[1]):
        deaths.told(pod["metadata"]["name"], "Killing")
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
    second = next(pod for pod in deaths.of_workload("grown", 2) if _name(pod) != _name(first))
    deaths.running(second)
    # Times of objects have whole seconds.
    time.sleep(1.1)
    deaths.delete(first)
    deaths.terminating(first)
    third = next(pod for pod in deaths.of_workload("grown", 2) if _name(pod) != _name(second))
    deaths.running(third)
    deaths.pods["grown-third"] = _name(third)


@_act
def sets(deaths: Deaths) -> None:
    """A StatefulSet's pods of one name, one after the other; and a DaemonSet's."""
    spec = {"nodeName": deaths.quick}
    for name in ("db", "roll", "shrunk"):
        more = {"replicas": 1, "serviceName": name}
        deaths.plane.apply([make_workload("StatefulSet", deaths.namespace, _spec(deaths, spec), name, **more)])
    node = deaths.node("daemon")
    placed = {"schedulerName": "default-scheduler", "nodeSelector": {"kubernetes.io/hostname": node}}
    daemon = deaths.workload("DaemonSet", "agent", 1, placed)[0]
    db, roll, shrunk = deaths.old([deaths.of_workload(name, 1)[0] for name in ("db", "roll", "shrunk")])
    deaths.pods |= {"db": "db-0", "roll": "roll-0", "shrunk": "shrunk-0", "agent": _name(daemon)}
    deaths.delete(db, daemon)
    deaths.stay(shrunk)
    deaths.change("StatefulSet", "shrunk", {"replicas": 0})
    deaths.change("StatefulSet", "roll", {"template": {"metadata": {"annotations": {"revision": "2"}}}})
    deaths.gone(db, daemon, roll)
    deaths.terminating(shrunk)
    for name in ("roll", "shrunk"):
        deaths.told(name, "SuccessfulDelete")
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
    time.sleep(_OLD_SECONDS)
    deaths.evict(late)


@_act
def of_other_owners(deaths: Deaths) -> None:
    """Pods of objects that are no workloads of Kubernetes; config maps stand for them."""
    made = []
    for name in ("root", "custom"):
        config = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": deaths.namespace}}
        made.append({**config, **deaths.plane.api.create(config)})
    root, custom = made
    about = {"apiVersion": "v1", "kind": "ConfigMap", "name": "custom", "namespace": deaths.namespace}
    deaths.plane.api.create(
        {
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {"generateName": "custom.", "namespace": deaths.namespace},
            "involvedObject": {**about, "uid": custom["metadata"]["uid"]},
            "reason": "Reconciled",
            "message": "All is as it should be",
            "type": "Normal",
            "count": 1,
            "firstTimestamp": now(),
            "lastTimestamp": now(),
            "source": {"component": "custom-controller"},
        }
    )
    time.sleep(1)
    garbage = deaths.owned("garbage", root, controller=False)
    owned = deaths.owned("custom", custom, controller=True)
    deaths.plane.api.delete(root)
    # Its controller does, which tells nobody.
    deaths.delete(owned)
    deaths.terminating(garbage, owned)


@_act
def device_tainted(deaths: Deaths) -> None:
    """A device that is tainted: its pod has to go."""
    node = deaths.node("devices")
    api, driver = "resource.k8s.io/v1", f"{deaths.prefix}.example.com"
    selector = {"cel": {"expression": f'device.driver == "{driver}"'}}
    device_class = {"apiVersion": api, "kind": "DeviceClass", "metadata": {"name": deaths.prefix}}
    slice_ = {
        "apiVersion": api,
        "kind": "ResourceSlice",
        "metadata": {"name": deaths.prefix},
        "spec": {
            "driver": driver,
            "pool": {"name": node, "generation": 1, "resourceSliceCount": 1},
            "nodeName": node,
            "devices": [{"name": "gpu-0"}],
        },
    }
    request = {"name": "gpu", "exactly": {"deviceClassName": deaths.prefix}}
    claim = {"apiVersion": api, "kind": "ResourceClaim", "metadata": {"name": "gpu", "namespace": deaths.namespace}}
    deaths.plane.apply(
        [
            {**device_class, "spec": {"selectors": [selector]}},
            slice_,
            {**claim, "spec": {"devices": {"requests": [request]}}},
        ]
    )
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
    pool = {"name": node, "generation": 2, "resourceSliceCount": 1}
    deaths.plane.api.patch(slice_, {"spec": {"devices": [device], "pool": pool}})
    deaths.terminating(pod)


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
        deaths.plane.api.delete({"apiVersion": "v1", "kind": "Node", "metadata": {"name": node}})
    deaths.gone(gone, stopped)
    wait_for(lambda: "deletionTimestamp" in (deaths.get(kept) or {})["metadata"], "garbage collection takes it")
    deaths.told(_name(stopped), "Killing")


def _name(pod: Object) -> str:
    name: str = pod["metadata"]["name"]
    return name


def now() -> str:
    """As Kubernetes writes it."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def ended(pod: Object, code: int) -> Object:
    """The status of a pod whose process has ended, as its kubelet reports it."""
    began = next(iter(_started(pod)), now())
    state = {"exitCode": code, "reason": "Error", "startedAt": began, "finishedAt": now()}
    return {"phase": "Failed", "containerStatuses": [_container({"terminated": state}, ready=False)]}


def _started(pod: Object) -> Iterator[str]:
    for status in pod["status"].get("containerStatuses", ()):
        if "running" in status["state"]:
            yield status["state"]["running"]["startedAt"]


def _condition(kind: str) -> Object:
    return {"type": kind, "status": "True", "lastTransitionTime": now()}


def _container(state: Mapping[str, Any], *, ready: bool, name: str = "app") -> Object:
    more = {"image": "x", "imageID": "x", "restartCount": 0}
    return {"name": name, "ready": ready, "state": dict(state), **more}


def _never_started(phase: str) -> Object:
    waits = {"waiting": {"reason": "PodInitializing"}}
    init = waits if phase == "Pending" else {"terminated": {"exitCode": 137, "reason": "ContainerStatusUnknown"}}
    return {
        "phase": phase,
        "initContainerStatuses": [_container(init, ready=False, name="init")],
        "containerStatuses": [_container(waits, ready=False)],
    }
