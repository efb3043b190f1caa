"""Ends pods, and records how each ended; see `ways_to_end`.

Kubelets are simulated. A pod with the label `STAYS` does not stop: its object can be read while it is Terminating.
The other pod of the pair is deleted.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, Final

from tests.controlplane.client import Object
from tests.controlplane.control_plane import ControlPlane
from tests.e2e.played_kubelets import STAYS, Kubelets, ended
from tests.objects import raw_owner, raw_workload, unscheduled_pod
from tests.waiting import wait_for

KEEPS: Final = "example.com/keeps"
"""A finalizer."""
TAINT: Final = "example.com/going"
NAMES: Final = ("held", "gone")
"""Two pods that end alike: one stays Terminating, the other's object is deleted."""
_OF_NO_NAMESPACE: Final = (
    ("scheduling.k8s.io/v1", "PriorityClass"),
    ("resource.k8s.io/v1", "DeviceClass"),
    ("resource.k8s.io/v1", "ResourceSlice"),
)
OLD_SECONDS: Final = 2.1
"""After this time the events are clearly older: their times are in whole seconds."""
_THREADS: Final = 16

Act = Callable[["Deaths"], None]
"""A way in which pods end."""


class Deaths:
    """Ends pods, and records how each ended."""

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
        """Names of pods by their key in the tests."""
        self.unseen: dict[str, tuple[Object, Object]] = {}
        """Pods that no kubelet stopped, and their replacements, by the controller's kind."""
        self.failed: dict[str, BaseException] = {}
        """The error of each failed act."""

    def run(self, acts: Mapping[str, Act]) -> None:
        """Do these; returns when all have been done, failed or not."""

        def do(name: str) -> None:
            try:
                acts[name](self)
            except Exception as error:  # noqa: BLE001  # reported by the test that needs it
                self.failed[name] = error
            finally:
                self.plane.api.close()

        with ThreadPoolExecutor(_THREADS) as pool:
            list(pool.map(do, acts))

    def clean(self) -> None:
        """Remove what would remain: nodes, and finalizers of pods."""
        for pod in self.plane.api.list_items("v1", "Pod", self.namespace):
            if KEEPS in pod["metadata"].get("finalizers", ()):
                self.plane.api.patch(pod, {"metadata": {"finalizers": None}})
        for node in self.plane.api.list_items("v1", "Node"):
            if name_of(node).startswith(f"{self.prefix}-"):
                self.plane.api.delete(node)
        for api_version, kind in _OF_NO_NAMESPACE:
            self.plane.api.delete({"apiVersion": api_version, "kind": kind, "metadata": {"name": self.prefix}})

    # Objects

    def node(self, name: str, **more: Any) -> str:
        """A node for one act."""
        made: str = self.plane.create_node(f"{self.prefix}-{name}", **more)["metadata"]["name"]
        return made

    def manifest(self, name: str, *, stays: bool = False, finalizer: bool = False, **spec: Any) -> Object:
        """A pod of this namespace."""
        pod = unscheduled_pod(self.namespace, name, **spec)
        if stays:
            pod["metadata"]["labels"][STAYS] = ""
        if finalizer:
            pod["metadata"]["finalizers"] = [KEEPS]
        return pod

    def pair(self, name: str, **spec: Any) -> list[Object]:
        """Two pods, ``NAME-held`` and ``NAME-gone``, that have been running for a while."""
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
        """A workload with pods that have been running for a while."""
        self.plane.apply([raw_workload(kind, name, self.namespace, pod_spec=spec_of(self, spec), **more)])
        return self.old(self.of_workload(name, count))

    def of_workload(self, name: str, count: int) -> list[Object]:
        """The pods of a workload that are not being deleted, once there are so many."""

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
        """Make the pod ignore its deletion."""
        self.plane.api.patch(pod, {"metadata": {"labels": {STAYS: ""}}})

    def owned(self, name: str, owner: Object, *, controller: bool) -> Object:
        """A pod of another object, Terminating once it is deleted."""
        meta, version = owner["metadata"], owner["apiVersion"]
        pod = self.manifest(name, stays=True, nodeName=self.quick)
        reference = raw_owner(owner["kind"], meta["name"], apiVersion=version, uid=meta["uid"], controller=controller)
        pod["metadata"]["ownerReferences"] = [reference]
        self.pods[name] = name
        return self.old([self.plane.api.create(pod)])[0]

    @property
    def quick(self) -> str:
        """The node of pods without other requirements."""
        return f"{self.prefix}-quick"

    # What happens to them

    def get(self, pod: Object) -> Object | None:
        """The pod's current object; None: it is deleted, or another pod has its name."""
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
        """Running pods, once their events are clearly older."""
        running = [self.running(pod) for pod in pods]
        time.sleep(OLD_SECONDS)
        return running

    def delete(self, *pods: Object, **how: Any) -> None:
        """Delete pods as a user does."""
        for pod in pods:
            self.plane.api.delete(pod, **how)

    def evict(self, *pods: Object) -> None:
        """Evict pods with the eviction API."""
        for pod in pods:
            self.plane.api.evict(pod)

    def taint(self, node: str) -> None:
        """Taint the node by hand."""
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
        """End its process."""
        self.plane.set_pod_status(pod, ended(pod, code))

    def terminating(self, *pods: Object) -> None:
        """Returns when each is being deleted and its kubelet has reported that."""
        for pod in pods:
            wait_for(partial(self._is_reported_terminating, pod), f"{name_of(pod)} is terminating")

    def _is_reported_terminating(self, pod: Object) -> bool:
        found = self.get(pod)
        assert found is not None, pod["metadata"]["name"]
        if "deletionTimestamp" not in found["metadata"]:
            return False
        node = found["spec"].get("nodeName")
        return node in self.kubelets.silent or self.has_event(pod["metadata"]["name"], "Killing")

    def gone(self, *pods: Object) -> None:
        """Returns when none of them is left."""
        for pod in pods:
            wait_for(partial(self._is_deleted, pod), f"{name_of(pod)} is gone")

    def _is_deleted(self, pod: Object) -> bool:
        return self.get(pod) is None

    def ended(self, held: Object, gone: Object) -> None:
        """Returns when both have ended."""
        self.terminating(held)
        self.gone(gone)

    def has_event(self, name: str, reason: str, *, times: int = 1) -> bool:
        """Whether an event with that reason exists about an object of that name."""
        about = f"involvedObject.name={name},reason={reason}"
        found = self.plane.api.list_items("v1", "Event", self.namespace, fieldSelector=about)
        return len(found) >= times

    def await_event(self, name: str, reason: str, *, times: int = 1) -> None:
        """Returns when such an event exists."""
        wait_for(partial(self.has_event, name, reason, times=times), f"event {reason} about {name}")


def spec_of(deaths: Deaths, spec: Mapping[str, Any]) -> Object:
    """The pods of a workload."""
    return {**unscheduled_pod(deaths.namespace)["spec"], **spec}


def name_of(pod: Object) -> str:
    name: str = pod["metadata"]["name"]
    return name
