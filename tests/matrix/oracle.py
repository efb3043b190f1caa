"""The facts about a pod, read from the objects alone: no rule of the product is used."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from fractions import Fraction
from functools import cached_property
from typing import Any, Final

from tests.controlplane.client import Object
from tests.matrix.clusters import NOW, Cluster, key_of

__all__ = ["Truth", "amount"]

_LEASE: Final = timedelta(seconds=40)
_UNITS: Final = {"m": Fraction(1, 1000), "Ki": Fraction(2**10), "Mi": Fraction(2**20), "Gi": Fraction(2**30)}
_OPEN: Final = frozenset({"nfs"})
"""Volumes that two nodes can always write at the same time."""
_NETWORK: Final = frozenset({"iscsi", "fc"})
"""The attach/detach controller keeps two nodes apart while the pod object is there; the storage never does."""
_JOB_TRACKING: Final = "batch.kubernetes.io/job-tracking"


def amount(text: str) -> Fraction:
    """A quantity, such as ``100m`` or ``256Mi``."""
    unit = next((unit for unit in _UNITS if text.endswith(unit)), "")
    return Fraction(text.removesuffix(unit)) * _UNITS.get(unit, Fraction(1))


class Truth:
    """One pod of a cluster."""

    def __init__(self, cluster: Cluster, pod: Object) -> None:
        """Read it."""
        self.pod = pod
        self.meta: Mapping[str, Any] = pod["metadata"]
        self.spec: Mapping[str, Any] = pod["spec"]
        self.status: Mapping[str, Any] = pod["status"]
        self._objects = {(entry["kind"], *key_of(entry)): entry for entry in cluster.objects}

    @property
    def finished(self) -> bool:
        """Whether all has ended."""
        return self.status["phase"] in {"Succeeded", "Failed"}

    @property
    def node_name(self) -> str:
        """Empty: on none."""
        name: str = self.spec.get("nodeName", "")
        return name

    @cached_property
    def node(self) -> Object | None:
        """Its Node object."""
        return self._objects.get(("Node", "", self.node_name))

    @property
    def has_processes(self) -> bool:
        """Whether processes of it may run: it has a node, and has not finished."""
        return bool(self.node_name) and not self.finished

    @property
    def running(self) -> set[str]:
        """Containers with a running process, as the kubelet reported."""
        statuses = (*self.status.get("containerStatuses", ()), *self.status.get("initContainerStatuses", ()))
        return {entry["name"] for entry in statuses if "running" in entry["state"]}

    @cached_property
    def reach(self) -> str:
        """Whether its node answers; empty without one."""
        if not self.node_name:
            return ""
        if self.node is None:
            return "Gone"
        if any(
            taint["key"] == "node.kubernetes.io/out-of-service" for taint in self.node.get("spec", {}).get("taints", ())
        ):
            return "OutOfService"
        [ready] = [entry for entry in self.node["status"]["conditions"] if entry["type"] == "Ready"]
        if ready["status"] == "Unknown":
            return "Silent"
        lease = self._objects["Lease", "kube-node-lease", self.node_name]
        missed = NOW - datetime.fromisoformat(lease["spec"]["renewTime"]) > _LEASE
        return "MissedHeartbeats" if missed else "Answers"

    @property
    def is_quiet(self) -> bool:
        """Whether its node cannot be asked to end its processes."""
        return self.reach not in {"", "Answers"}

    @cached_property
    def system(self) -> str:
        """``linux windows virtual``."""
        labels = self.node["metadata"]["labels"] if self.node is not None else {}
        if labels.get("type") == "virtual-kubelet":
            return "virtual"
        windows = self.spec.get("os", {}).get("name") == "windows" or labels.get("kubernetes.io/os") == "windows"
        return "windows" if windows else "linux"

    @property
    def is_static(self) -> bool:
        """Whether the kubelet runs it from a file: the API has a mirror of it."""
        return "kubernetes.io/config.mirror" in self.meta.get("annotations", {})

    @property
    def owner(self) -> str:
        """Kind of its controller; empty without one."""
        kinds: list[str] = [entry["kind"] for entry in self.meta.get("ownerReferences", ()) if entry.get("controller")]
        return kinds[0] if kinds else ""

    @property
    def is_terminating(self) -> bool:
        """Whether it was deleted."""
        return "deletionTimestamp" in self.meta

    @property
    def deleted_at(self) -> datetime:
        """When it was deleted, according to the object."""
        due = datetime.fromisoformat(self.meta["deletionTimestamp"])
        return due - timedelta(seconds=self.meta["deletionGracePeriodSeconds"])

    @property
    def killed_by(self) -> datetime:
        """When its kubelet has sent SIGKILL to all of it; a second, shorter delete does not shorten the stop."""
        seconds = max(self.meta["deletionGracePeriodSeconds"], self.spec["terminationGracePeriodSeconds"])
        return self.deleted_at + timedelta(seconds=seconds)

    @property
    def finalizers(self) -> Sequence[str]:
        """The finalizers that keep the object after all processes have ended."""
        return [name for name in self.meta.get("finalizers", ()) if name != _JOB_TRACKING]

    @property
    def containers(self) -> Sequence[Object]:
        """All of them, init containers too."""
        return [*self.spec["containers"], *self.spec.get("initContainers", ())]

    @property
    def qos(self) -> str:
        """Its class by the resources of its containers."""
        given = [entry.get("resources") or {} for entry in self.containers]
        if not any(side.get("requests") or side.get("limits") for side in given):
            return "BestEffort"
        names = ("cpu", "memory")
        whole = all(
            {name: side.get("requests", {}).get(name) for name in names}
            == {name: side.get("limits", {}).get(name) for name in names}
            and all(side.get("limits", {}).get(name) for name in names)
            for side in given
        )
        return "Guaranteed" if whole else "Burstable"

    def requested(self, resource: str) -> Fraction:
        """What the scheduler counts: the containers and sidecars together, or an init container that needs more."""
        inits = self.spec.get("initContainers", ())
        sidecars = [entry for entry in inits if entry.get("restartPolicy") == "Always"]
        together = sum((_asks(entry, resource) for entry in (*self.spec["containers"], *sidecars)), Fraction())
        before, most = Fraction(), Fraction()
        for entry in inits:
            if entry.get("restartPolicy") == "Always":
                before += _asks(entry, resource)
                most = max(most, before)
            else:
                most = max(most, before + _asks(entry, resource))
        return max(together, most)

    @property
    def source(self) -> str:
        """Of its one volume: ``nfs``, ``csi``, ``missing``, ``unbound``; empty without a volume."""
        for volume in self.spec.get("volumes", ()):
            claim = self._claim(volume)
            if claim is None:
                return "missing"
            behind = self._objects.get(("PersistentVolume", "", claim["spec"].get("volumeName", "")))
            if behind is None:
                return "unbound"
            [source] = _SOURCES.intersection(behind["spec"])
            return source
        return ""

    @property
    def is_shared(self) -> bool:
        """Whether its volume is made for several pods."""
        claims = [self._claim(volume) for volume in self.spec.get("volumes", ())]
        return any(claim is not None and "ReadWriteMany" in claim["spec"]["accessModes"] for claim in claims)

    @property
    def second_writer(self) -> bool | None:
        """Whether another writer may use its volume when its object is gone; None: the objects do not show it."""
        source = self.source
        if not source or self.is_shared:
            return False
        if source in {"missing", "unbound"}:
            return None
        if source == "csi":
            attached = any(
                kind == "VolumeAttachment" and entry["spec"]["source"]["persistentVolumeName"] == self._volume_name
                for (kind, *_), entry in self._objects.items()
            )
            # One that has not started may wait for its volume yet.
            return None if not attached and not self._has_started else not attached
        # A folder of the node: a pod of another node finds another, and on a silent node none starts.
        return source in _OPEN | _NETWORK or (source == "hostPath" and not self.is_quiet)

    @property
    def _has_started(self) -> bool:
        statuses = (*self.status.get("containerStatuses", ()), *self.status.get("initContainerStatuses", ()))
        return any("waiting" not in entry["state"] or "lastState" in entry for entry in statuses)

    @property
    def is_kept_apart(self) -> bool:
        """Whether the attach/detach controller keeps two nodes apart, and nothing does once it has detached."""
        return self.source in _NETWORK and not self.is_shared

    @property
    def _volume_name(self) -> str:
        [volume] = self.spec["volumes"]
        claim = self._claim(volume)
        name: str = "" if claim is None else claim["spec"].get("volumeName", "")
        return name

    def _claim(self, volume: Mapping[str, Any]) -> Object | None:
        name = volume["persistentVolumeClaim"]["claimName"]
        return self._objects.get(("PersistentVolumeClaim", self.meta["namespace"], name))

    @property
    def is_well(self) -> bool:
        """Whether it is healthy: it has succeeded, or it runs, is Ready and is not being deleted."""
        if self.is_terminating:
            return False
        if self.status["phase"] == "Succeeded":
            return True
        statuses = (*self.status.get("containerStatuses", ()), *self.status.get("initContainerStatuses", ()))
        ready = any(entry["type"] == "Ready" and entry["status"] == "True" for entry in self.status["conditions"])
        waits = any("waiting" in entry["state"] for entry in statuses)
        return self.status["phase"] == "Running" and ready and not waits and not self.is_quiet

    def exists(self, kind: str, name: str, namespace: str) -> bool:
        """Whether the cluster has such an object."""
        return (kind, namespace, name) in self._objects

    def is_named_by_pod(self, node: str) -> bool:
        """Whether a pod of the cluster is on a node, which may be gone."""
        return any(kind == "Pod" and one["spec"].get("nodeName") == node for (kind, *_), one in self._objects.items())


_SOURCES: Final = frozenset({"nfs", "awsElasticBlockStore", "csi", "iscsi", "fc", "hostPath"})


def _asks(container: Mapping[str, Any], resource: str) -> Fraction:
    return amount(container.get("resources", {}).get("requests", {}).get(resource, "0"))
