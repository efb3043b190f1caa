"""Random clusters from fixed seeds: the states of pods, crossed with the states of their nodes.

Objects are as the API server stores them. `Cluster.objects` holds all of a cluster; every pod differs from the others
in its phase, containers, owner, volumes, deletion, or in its node's state and operating system.
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Final, NamedTuple

from tests.controlplane.client import Object
from tests.matrix.states import Life, NodeState, befallen
from tests.objects import raw_condition, raw_container, raw_node, raw_pod, raw_priority_class, raw_workload

__all__ = ["CLUSTERS", "HOSTILE", "NAMESPACES", "NOW", "PODS_EACH", "Cluster", "clusters", "key_of"]

NOW: Final = datetime(2026, 11, 21, 3, 11, tzinfo=UTC)
NAMESPACES: Final = ("shop", "batch")
CLUSTERS: Final = 50
PODS_EACH: Final = 40
HOSTILE: Final = "evil\x1b]0;x\x07\u202e\r\n$(id)"
"""A name that no API server accepts, but a file given as a snapshot may contain."""
_HOSTILE_EVERY: Final = 10
_DRIVER: Final = "block.csi.example.com"
_CLASSES: Final = {
    "": 0,
    "low": -10,
    "high": 1000,
    "deleted": 500,
    "system-cluster-critical": 2_000_000_000,
    "system-node-critical": 2_000_001_000,
}
_AMOUNTS: Final[Mapping[str, tuple[Mapping[str, str] | None, Mapping[str, str] | None]]] = {
    "Guaranteed": ({"cpu": "100m", "memory": "256Mi"}, {"cpu": "100m", "memory": "256Mi"}),
    "Burstable": ({"cpu": "50m", "memory": "192Mi"}, {"memory": "512Mi"}),
    "BestEffort": (None, None),
}
_SOURCES: Final[Mapping[str, Mapping[str, Any]]] = {
    "nfs": {"nfs": {"server": "10.0.0.9", "path": "/data"}},
    "shared": {"nfs": {"server": "10.0.0.9", "path": "/shared"}},
    "ebs": {"awsElasticBlockStore": {"volumeID": "vol-{name}"}},
    "csi": {"csi": {"driver": _DRIVER, "volumeHandle": "handle-{name}"}},
    "loose": {"csi": {"driver": _DRIVER, "volumeHandle": "handle-{name}"}},
    "iscsi": {"iscsi": {"targetPortal": "10.0.0.8:3260", "iqn": "iqn.2026-01.com.example:{name}", "lun": 0}},
    "fc": {"fc": {"targetWWNs": ["50060e801049cfd1"], "lun": 0}},
    "host": {"hostPath": {"path": "/var/data"}},
}
"""Of PersistentVolumes; ``loose``: CSI that is attached nowhere; ``shared``: for several pods."""
_VOLUMES: Final = (*[""] * 14, *_SOURCES, "iscsi", "nfs", "missing", "unbound")
_OWNERS: Final = (
    *("StatefulSet",) * 3,
    *("ReplicaSet",) * 4,
    *(kind for kind in ("DaemonSet", "Job", "", "Node") for _ in range(2)),
    "Widget",
)
_NODE_STATES: Final = (
    NodeState("Silent"),
    NodeState("MissedHeartbeats"),
    NodeState("OutOfService"),
    NodeState("Gone"),
    NodeState("Answers", ready="False"),
    NodeState("Answers", cordoned=True),
    NodeState("Answers", pressure=True),
    NodeState("Answers", system="windows"),
    NodeState("Answers", system="virtual"),
    NodeState("Silent", system="windows"),
    NodeState("Silent", system="virtual"),
    NodeState("Answers"),
)


class Cluster(NamedTuple):
    """One cluster."""

    seed: int
    objects: Sequence[Object]

    def of(self, kind: str) -> Sequence[Object]:
        """Objects of a kind."""
        return [entry for entry in self.objects if entry["kind"] == kind]


def key_of(entry: Mapping[str, Any]) -> tuple[str, str]:
    """Namespace and name."""
    return entry["metadata"].get("namespace", ""), entry["metadata"]["name"]


def clusters(count: int = CLUSTERS, pods: int = PODS_EACH) -> Iterator[Cluster]:
    """The clusters, the same each time."""
    for seed in range(count):
        yield Cluster(seed, _Maker(seed).objects(pods))


class _Maker:
    """Makes one cluster."""

    def __init__(self, seed: int) -> None:
        self._chance = random.Random(seed)  # noqa: S311  # objects for tests, no secret
        self._seed = seed
        self._hostile = seed % _HOSTILE_EVERY == 0
        self._measured = seed % 2 == 0
        self._made: list[Object] = []
        self._names: set[tuple[str, str, str]] = set()

    def objects(self, count: int) -> list[Object]:
        states = [NodeState("Answers"), NodeState("Answers"), *self._chance.sample(_NODE_STATES, 6)]
        self._nodes = {f"node-{number}": state for number, state in enumerate(states)}
        for name, state in self._nodes.items():
            self._add_node(name, state)
        for name in NAMESPACES:
            self._add({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "uid": f"ns-{name}"}})
        for name, value in _CLASSES.items():
            if name not in {"", "deleted"}:
                self._add(raw_priority_class(name, value, preemptionPolicy="PreemptLowerPriority"))
        for number in range(count):
            self._add_pod(number, self._chance.choice(list(Life)))
        return self._made

    def _add(self, entry: Object) -> None:
        place = entry["kind"], *key_of(entry)
        if place not in self._names:
            self._names.add(place)
            self._made.append(entry)

    def _ago(self, seconds: float) -> str:
        return (NOW - timedelta(seconds=seconds)).isoformat().replace("+00:00", "Z")

    def _add_node(self, name: str, state: NodeState) -> None:
        if state.reach == "Gone":
            return
        silent = state.reach in {"Silent", "OutOfService"}
        answers = state.reach == "Answers"
        memory = self._chance.choice(["4Gi", "8Gi"])
        taints = [{"key": "node.kubernetes.io/unreachable", "effect": "NoExecute", "timeAdded": self._ago(190)}]
        if state.reach == "OutOfService":
            taints.append({"key": "node.kubernetes.io/out-of-service", "value": "nodeshutdown", "effect": "NoExecute"})
        taints = taints if silent else []
        system = "windows" if state.system == "windows" else "linux"
        labels = {"kubernetes.io/hostname": name, "kubernetes.io/os": system}
        labels["topology.kubernetes.io/zone"] = self._chance.choice(["a", "b"])
        if state.system == "virtual":
            labels["type"] = "virtual-kubelet"
            taints.append({"key": "virtual-kubelet.io/provider", "value": "cloud", "effect": "NoSchedule"})
        if state.ready == "False":
            taints.append({"key": "node.kubernetes.io/not-ready", "effect": "NoExecute", "timeAdded": self._ago(60)})
        if state.cordoned:
            taints.append({"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"})
        if state.pressure:
            taints.append({"key": "node.kubernetes.io/memory-pressure", "effect": "NoSchedule"})
        ready = "Unknown" if silent else state.ready
        conditions = [
            raw_condition("Ready", ready, lastTransitionTime=self._ago(200 if silent else 86400)),
            raw_condition("MemoryPressure", "True" if state.pressure else "False"),
        ]
        self._add(
            raw_node(
                name,
                labels,
                metadata={"uid": f"uid-{name}"},
                capacity={"cpu": "4", "memory": memory, "pods": "110"},
                allocatable={"cpu": "3900m", "memory": f"{int(memory[0]) * 1024 - 200}Mi", "pods": "110"},
                conditions=conditions,
                status={"nodeInfo": {"kubeletVersion": "v1.36.3", "operatingSystem": system}},
                taints=taints or None,
                unschedulable=state.cordoned or None,
            )
        )
        renewed = self._ago(self._chance.randint(3, 8) if answers else 250 if silent else self._chance.randint(49, 58))
        metadata = {"name": name, "namespace": "kube-node-lease"}
        lease = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": metadata}
        self._add(lease | {"spec": {"renewTime": renewed, "holderIdentity": name}})
        if self._measured:
            usage = {"cpu": "900m", "memory": f"{self._chance.randint(1, 3)}Gi"}
            self._add(self._metrics("NodeMetrics", {"name": name}, usage=usage))

    def _metrics(self, kind: str, metadata: Mapping[str, str], **more: Any) -> Object:
        about = {"timestamp": self._ago(15), "window": "10s", **more}
        return {"apiVersion": "metrics.k8s.io/v1beta1", "kind": kind, "metadata": dict(metadata), **about}

    def _add_pod(self, number: int, life: Life) -> None:
        chance, namespace = self._chance, self._chance.choice(NAMESPACES)
        kind = chance.choice(_OWNERS)
        waits = life.is_unbound
        if waits and kind == "Node":
            kind = ""
        node = "" if waits else chance.choice(list(self._nodes))
        state = self._nodes.get(node)
        system = state.system if state is not None else chance.choice(["linux"] * 6 + ["windows"])
        hostile = self._hostile and number % 8 == 0
        name = self._pod_name(number, kind, node, hostile=hostile)
        containers, inits, qos = self._containers(hostile=hostile)
        if life is Life.UNPLACED:
            containers[0]["resources"] = {"requests": {"memory": "40Gi", "cpu": "1"}}
            qos = "Burstable"
        volumes = self._volumes(namespace, node, kind)
        class_name = "system-node-critical" if kind == "Node" else chance.choice(list(_CLASSES))
        grace = chance.choice([0, 5, 30, 30, 30, 300])
        outcome = befallen(
            life, chance, NOW, grace=grace, containers=containers, inits=inits, hostile=HOSTILE if hostile else ""
        )
        metadata: Object = {"creationTimestamp": self._ago(7200), **outcome.metadata}
        template = {"containers": list(containers), **({"volumes": list(volumes)} if volumes else {})}
        self._own(metadata, kind, number, namespace, template)
        if kind == "Node":
            mirror = {"kubernetes.io/config.mirror": f"{number:08x}", "kubernetes.io/config.source": "file"}
            metadata["annotations"] = mirror
            owner = {"apiVersion": "v1", "kind": "Node", "name": node, "uid": f"uid-{node}"}
            metadata["ownerReferences"] = [owner | {"controller": True}]
        spec = self._spec(node, kind, class_name, grace, system)
        spec |= {"initContainers": inits or None, "volumes": volumes or None, **outcome.spec}
        if life is Life.NOMINATED and system == "linux":
            self._nominate(spec, outcome.status, containers, number)
        pod = raw_pod(
            name,
            namespace,
            uid=f"{self._seed:04}-{number:04}-uid",
            labels={"app": f"app-{number % 7}"},
            metadata=metadata,
            containers=containers,
            status={"qosClass": qos, **outcome.status},
            **spec,
        )
        self._add(pod)
        if self._measured and node and life is Life.RUNNING:
            usages = [
                {"name": one["name"], "usage": {"cpu": "5m", "memory": f"{chance.randint(20, 700)}Mi"}}
                for one in containers
            ]
            self._add(self._metrics("PodMetrics", {"name": name, "namespace": namespace}, containers=usages))

    def _spec(self, node: str, kind: str, class_name: str, grace: int, system: str) -> Object:
        """The parts of the spec that do not depend on the pod's containers."""
        spec: Object = {
            "nodeName": node or None,
            "priority": _CLASSES[class_name],
            "priorityClassName": class_name or None,
            "preemptionPolicy": "PreemptLowerPriority",
            "terminationGracePeriodSeconds": grace,
            "restartPolicy": "Never" if kind == "Job" else "Always",
            "schedulerName": "volcano" if not node and self._chance.random() < 0.1 else "default-scheduler",
            "tolerations": self._tolerations(kind),
        }
        if system == "windows":
            spec |= {"os": {"name": "windows"}, "nodeSelector": {"kubernetes.io/os": "windows"}}
        return spec

    def _pod_name(self, number: int, kind: str, node: str, *, hostile: bool) -> str:
        if hostile and kind != "StatefulSet":
            return f"{HOSTILE}{number}"
        if kind == "Node":
            return f"etcd-{number}-{node}"
        return f"db{number % 7}-{number}" if kind == "StatefulSet" else f"web-{number}-x2x7p"

    def _tolerations(self, kind: str) -> list[Object] | None:
        """As admission and the DaemonSet controller add them."""
        if kind == "Node":
            return [{"operator": "Exists", "effect": "NoExecute"}]
        keys = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")
        more = {} if kind == "DaemonSet" else {"tolerationSeconds": 300}
        return [{"key": key, "operator": "Exists", "effect": "NoExecute", **more} for key in keys]

    def _containers(self, *, hostile: bool) -> tuple[list[Object], list[Object], str]:
        chance = self._chance
        profiles = [chance.choice(list(_AMOUNTS)) for _ in range(chance.choice([1, 1, 1, 2]))]
        names = ["app", "helper"]
        containers = [self._container(names[place], profile) for place, profile in enumerate(profiles)]
        if hostile:
            containers[0]["name"] = HOSTILE
        inits: list[Object] = []
        if chance.random() < 0.2:
            profiles.append(chance.choice(list(_AMOUNTS)))
            inits.append(self._container("proxy", profiles[-1]) | {"restartPolicy": "Always"})
        if chance.random() < 0.1:
            profiles.append(chance.choice(list(_AMOUNTS)))
            inits.append(self._container("migrate", profiles[-1]))
        alike = set(profiles)
        return containers, inits, alike.pop() if len(alike) == 1 else "Burstable"

    def _container(self, name: str, profile: str) -> Object:
        hooks: list[Object | None] = [None] * 5
        hooks += [{"preStop": {"sleep": {"seconds": 4}}}, {"preStop": {"exec": {"command": ["x"]}}}]
        probes = [None, None, {"periodSeconds": 10, "failureThreshold": 3}]
        requests, limits = _AMOUNTS[profile]
        return raw_container(
            name, requests, limits, lifecycle=self._chance.choice(hooks), livenessProbe=self._chance.choice(probes)
        )

    def _volumes(self, namespace: str, node: str, kind: str) -> list[Object]:
        source = self._chance.choice(_VOLUMES)
        if not source or kind == "Node":
            return []
        claim = f"data-{len(self._made)}"
        if source != "missing":
            self._add_claim(claim, namespace, source, node)
        return [{"name": "data", "persistentVolumeClaim": {"claimName": claim}}]

    def _add_claim(self, claim: str, namespace: str, source: str, node: str) -> None:
        volume = f"pv-{claim}"
        modes = ["ReadWriteMany"] if source == "shared" else ["ReadWriteOnce"]
        spec: Object = {"accessModes": modes, "resources": {"requests": {"storage": "1Gi"}}, "volumeMode": "Filesystem"}
        spec |= (
            {"storageClassName": "absent"} if source == "unbound" else {"storageClassName": "", "volumeName": volume}
        )
        metadata: Object = {"name": claim, "namespace": namespace, "uid": f"uid-{claim}"}
        if source != "unbound":
            metadata["annotations"] = {"pv.kubernetes.io/bind-completed": "yes"}
        phase = "Pending" if source == "unbound" else "Bound"
        made = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": metadata, "spec": spec}
        self._add(made | {"status": {"phase": phase}})
        if source == "unbound":
            return
        about = {
            field: {key: value.format(name=volume) if isinstance(value, str) else value for key, value in parts.items()}
            for field, parts in _SOURCES[source].items()
        }
        own = {"accessModes": modes, "capacity": {"storage": "1Gi"}, "persistentVolumeReclaimPolicy": "Retain"}
        own |= {"claimRef": {"name": claim, "namespace": namespace, "uid": f"uid-{claim}"}, "volumeMode": "Filesystem"}
        metadata = {"name": volume, "uid": f"uid-{volume}"}
        self._add({"apiVersion": "v1", "kind": "PersistentVolume", "metadata": metadata, "spec": own | about})
        if source == "csi" and node:
            handle = about["csi"]["volumeHandle"]
            name = "csi-" + hashlib.sha256(f"{handle}{_DRIVER}{node}".encode()).hexdigest()
            spec = {"attacher": _DRIVER, "nodeName": node, "source": {"persistentVolumeName": volume}}
            attachment = {"apiVersion": "storage.k8s.io/v1", "kind": "VolumeAttachment", "metadata": {"name": name}}
            self._add(attachment | {"spec": spec, "status": {"attached": True}})

    def _own(self, metadata: Object, kind: str, number: int, namespace: str, template: Object) -> None:
        """Add the pod's controller, and name it in the pod."""
        if kind in {"", "Node"}:
            return
        name = f"db{number % 7}" if kind == "StatefulSet" else f"{kind.lower()}-{number % 7}"
        version = {"Job": "batch/v1", "Widget": "example.com/v1"}.get(kind, "apps/v1")
        reference = {"apiVersion": version, "kind": kind, "name": name, "uid": f"uid-{kind}-{name}", "controller": True}
        metadata["ownerReferences"] = [reference]
        if kind == "Widget":
            return
        owner = raw_workload(
            kind, name, namespace, pod_spec=template, replicas=None if kind in {"DaemonSet", "Job"} else 3
        )
        owner["metadata"]["uid"] = reference["uid"]
        if kind == "ReplicaSet":
            name, uid = f"deploy-{number % 7}", f"uid-d-{number % 7}"
            above = {"apiVersion": "apps/v1", "kind": "Deployment", "name": name, "uid": uid, "controller": True}
            owner["metadata"]["ownerReferences"] = [above]
            self._add(raw_workload("Deployment", name, namespace, pod_spec=template, replicas=3))
        self._add(owner)

    def _nominate(self, spec: Object, status: Object, containers: Sequence[Object], number: int) -> None:
        """Room is being made: a lower pod on an answering node is marked for deletion, and holds a port till then."""
        victims = [
            pod
            for pod in self._made
            if pod["kind"] == "Pod"
            and pod["spec"].get("nodeName") in {"node-0", "node-1"}
            and pod["status"]["phase"] == "Running"
            and "deletionTimestamp" not in pod["metadata"]
            and pod["spec"]["priority"] < _CLASSES["high"]
        ]
        if not victims:
            return
        victim = self._chance.choice(victims)
        grace = max(victim["spec"]["terminationGracePeriodSeconds"], 30)
        victim["metadata"] |= {"deletionTimestamp": self._ago(10 - grace), "deletionGracePeriodSeconds": grace}
        message = "default-scheduler: preempting to accommodate a higher priority pod"
        why = raw_condition("DisruptionTarget", reason="PreemptionByScheduler", message=message)
        victim["status"]["conditions"].append(why | {"lastTransitionTime": self._ago(10)})
        node = victim["spec"]["nodeName"]
        status["nominatedNodeName"] = node
        spec |= {"priority": _CLASSES["high"], "priorityClassName": "high", "schedulerName": "default-scheduler"}
        spec["nodeSelector"] = {"kubernetes.io/hostname": node}
        for container in (victim["spec"]["containers"][0], containers[0]):
            container["ports"] = [{"containerPort": 80, "hostPort": 30000 + number, "protocol": "TCP"}]
