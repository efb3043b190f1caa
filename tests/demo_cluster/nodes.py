"""Twelve nodes in three zones, with their Leases and CSINodes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple

from tests.demo_cluster.base import Obj, condition, digest, instant, reference, uid, written
from tests.demo_cluster.states import NODE_UNKNOWN_SINCE
from tests.demo_cluster.storage import BLOCK_DRIVER, handle_of

SILENT_NODE: Final = "node-c3"
"""Trouble: the node that went silent. Its last heartbeat was at 03:02:04."""

LAST_HEARTBEAT: Final = "03:02:04"


class _Size(NamedTuple):
    instance_type: str
    cpu: int
    memory_ki: int
    disk_ki: int


class Node(NamedTuple):
    """One node."""

    zone: str
    pool: str
    number: int

    @property
    def address(self) -> str:
        """Its internal IP: the third number tells the zone."""
        return f"10.20.{ord(self.zone[-1]) - 96}.{10 + self.number}"

    @property
    def topology(self) -> dict[str, str]:
        """The labels that are copied to its pods when they are bound."""
        return {"topology.kubernetes.io/region": "eu-1", "topology.kubernetes.io/zone": self.zone}


_SIZES: Final = {
    "control-plane": _Size("m.xlarge", 4, 16238400, 60827116),
    "general": _Size("m.2xlarge", 8, 32859712, 101430960),
    "memory": _Size("r.2xlarge", 8, 65841156, 203056560),
    "spot": _Size("m.xlarge", 4, 16238400, 101430960),
}

NODES: Final = {
    "cp-a1": Node("eu-1a", "control-plane", 1),
    "node-a1": Node("eu-1a", "general", 2),
    "node-a2": Node("eu-1a", "general", 3),
    "node-a3": Node("eu-1a", "memory", 4),
    "node-b1": Node("eu-1b", "general", 5),
    "node-b2": Node("eu-1b", "general", 6),
    "node-b3": Node("eu-1b", "memory", 7),
    "node-b4": Node("eu-1b", "spot", 8),
    # Trouble: cordoned for a kernel update, so nothing new may come.
    "node-c1": Node("eu-1c", "general", 9),
    # Trouble: its memory is nearly full of requests.
    "node-c2": Node("eu-1c", "general", 10),
    SILENT_NODE: Node("eu-1c", "general", 11),
    "node-c4": Node("eu-1c", "spot", 12),
}

_CORDONED: Final = "node-c1"
MEMORY_KI: Final = {name: _SIZES[row.pool].memory_ki for name, row in NODES.items()}
DISK_KI: Final = {name: _SIZES[row.pool].disk_ki for name, row in NODES.items()}
RESERVED_MI: Final = (1024, 512, 100)
"""kubeReserved, systemReserved and the hard eviction threshold: what allocatable is short of capacity."""
_RESERVED_CPU_MILLI: Final = 200
_RESERVED_KI: Final = sum(RESERVED_MI) * 1024
_POOL_TAINTS: Final = {
    "control-plane": "node-role.kubernetes.io/control-plane",
    "memory": "example.com/memory",
    "spot": "example.com/spot",
}
_HEALTHY: Final = (
    ("MemoryPressure", "False", "KubeletHasSufficientMemory", "kubelet has sufficient memory available"),
    ("DiskPressure", "False", "KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
    ("PIDPressure", "False", "KubeletHasSufficientPID", "kubelet has sufficient PID available"),
    ("Ready", "True", "KubeletReady", "kubelet is posting ready status"),
)


def nodes_with_leases(pods: Iterable[Obj], attachments: Iterable[Obj]) -> list[Obj]:
    """Nodes, Leases and CSINodes; a node's images and volumes are those of its pods."""
    images: dict[str, set[str]] = {name: set() for name in NODES}
    for pod in pods:
        for container in pod["spec"]["containers"] + pod["spec"].get("initContainers", []):
            if "nodeName" in pod["spec"]:
                images[pod["spec"]["nodeName"]].add(container["image"])
    volumes: dict[str, list[str]] = {name: [] for name in NODES}
    for one in attachments:
        handle = handle_of(one["spec"]["source"]["persistentVolumeName"])
        volumes[one["spec"]["nodeName"]].append(f"kubernetes.io/csi/{BLOCK_DRIVER}^{handle}")
    return [
        *(_node(name, row, sorted(images[name]), sorted(volumes[name])) for name, row in NODES.items()),
        *(_lease(name) for name in NODES),
        *(_csi_node(name, row) for name, row in NODES.items()),
    ]


def _node(name: str, row: Node, images: list[str], volumes: list[str]) -> Obj:
    size, short = _SIZES[row.pool], uid("Node", "", name)
    labels = {
        "beta.kubernetes.io/arch": "amd64",
        "beta.kubernetes.io/os": "linux",
        "example.com/pool": row.pool,
        "kubernetes.io/arch": "amd64",
        "kubernetes.io/hostname": name,
        "kubernetes.io/os": "linux",
        "node.kubernetes.io/instance-type": size.instance_type,
        **row.topology,
    }
    if row.pool == "control-plane":
        labels["node-role.kubernetes.io/control-plane"] = ""
    made = written("v1", "Node", name, age="146d", changed=LAST_HEARTBEAT, labels=labels)
    made["metadata"]["annotations"] = {
        "csi.volume.kubernetes.io/nodeid": f'{{"{BLOCK_DRIVER}":"i-{short[:8]}"}}',
        "node.alpha.kubernetes.io/ttl": "0",
        "volumes.kubernetes.io/controller-managed-attach-detach": "true",
    }
    spec: Obj = {
        "podCIDR": f"10.244.{row.number}.0/24",
        "podCIDRs": [f"10.244.{row.number}.0/24"],
        "providerID": f"example://{row.zone}/i-{short[:8]}",
    }
    if name == _CORDONED:
        spec["unschedulable"] = True
    if taints := _taints(name, row):
        spec["taints"] = taints
    status = {
        "addresses": [{"address": row.address, "type": "InternalIP"}, {"address": name, "type": "Hostname"}],
        **_amounts(size),
        "conditions": _conditions(name),
        "daemonEndpoints": {"kubeletEndpoint": {"Port": 10250}},
        "features": {"supplementalGroupsPolicy": True},
        "images": [_image(one) for one in images],
        "nodeInfo": _node_info(name),
    }
    if volumes:
        status["volumesAttached"] = [{"devicePath": "", "name": one} for one in volumes]
        status["volumesInUse"] = volumes
    return made | {"spec": spec, "status": status}


def _taints(name: str, row: Node) -> list[Obj]:
    taints: list[Obj] = []
    if key := _POOL_TAINTS.get(row.pool):
        taints.append({"effect": "NoSchedule", "key": key})
    if name == _CORDONED:
        unschedulable = "node.kubernetes.io/unschedulable"
        taints.append({"effect": "NoSchedule", "key": unschedulable, "timeAdded": instant("02:40:11")})
    if name == SILENT_NODE:
        taints += [
            {"effect": effect, "key": "node.kubernetes.io/unreachable", "timeAdded": instant(NODE_UNKNOWN_SINCE)}
            for effect in ("NoSchedule", "NoExecute")
        ]
    return taints


def _amounts(size: _Size) -> Obj:
    fixed = {"hugepages-1Gi": "0", "hugepages-2Mi": "0", "pods": "110"}
    return {
        "capacity": {
            "cpu": str(size.cpu),
            "memory": f"{size.memory_ki}Ki",
            "ephemeral-storage": f"{size.disk_ki}Ki",
            **fixed,
        },
        "allocatable": {
            "cpu": f"{size.cpu * 1000 - _RESERVED_CPU_MILLI}m",
            "memory": f"{size.memory_ki - _RESERVED_KI}Ki",
            # The kubelet reports this one in bytes: nodefs less its 10 % eviction threshold.
            "ephemeral-storage": str(size.disk_ki * 1024 * 9 // 10),
            **fixed,
        },
    }


def _conditions(name: str) -> list[Obj]:
    network = condition("NetworkUnavailable", "False", instant("146d"), "CNIReady", "net-agent is running on this node")
    made = [{**network, "lastHeartbeatTime": instant("146d")}]
    for kind, status, reason, message in _HEALTHY:
        one = condition(kind, status, instant("146d"), reason, message)
        heartbeat = instant("03:08:31")
        if name == SILENT_NODE:
            unknown = "Kubelet stopped posting node status."
            one = condition(kind, "Unknown", instant(NODE_UNKNOWN_SINCE), "NodeStatusUnknown", unknown)
            heartbeat = instant("03:00:12")
        made.append({**one, "lastHeartbeatTime": heartbeat})
    return made


def _node_info(name: str) -> Obj:
    return {
        "architecture": "amd64",
        "bootID": uid("boot", "", name),
        "containerRuntimeVersion": "containerd://2.2.1",
        "kernelVersion": "6.12.48-amd64",
        # No kubelet fills it any more, and the API still writes it.
        "kubeProxyVersion": "",
        "kubeletVersion": "v1.36.3",
        "machineID": uid("machine", "", name).replace("-", ""),
        "operatingSystem": "linux",
        "osImage": "Example Linux 13",
        "systemUUID": uid("system", "", name),
    }


def _image(image: str) -> Obj:
    content = digest(image)
    by_digest = f"{image.rpartition(':')[0]}@sha256:{content}"
    return {"names": [by_digest, image], "sizeBytes": 18_000_000 + int(content[:8], 16) % 460_000_000}


def _lease(name: str) -> Obj:
    silent = name == SILENT_NODE
    renewed = LAST_HEARTBEAT if silent else f"03:10:5{NODES[name].number % 10}"
    made = written("coordination.k8s.io/v1", "Lease", name, "kube-node-lease", age="146d", changed=renewed)
    made["metadata"]["ownerReferences"] = [reference("Node", "", name, controller=False)]
    time = instant(renewed).replace("Z", ".318442Z")
    return made | {"spec": {"holderIdentity": name, "leaseDurationSeconds": 40, "renewTime": time}}


def _csi_node(name: str, row: Node) -> Obj:
    made = written("storage.k8s.io/v1", "CSINode", name, age="146d")
    made["metadata"]["ownerReferences"] = [reference("Node", "", name, controller=False)]
    driver = {
        "name": BLOCK_DRIVER,
        "nodeID": f"i-{uid('Node', '', name)[:8]}",
        "topologyKeys": ["topology.kubernetes.io/zone"],
        "allocatable": {"count": 25},
    }
    return made | {"spec": {"drivers": [driver] if row.pool in {"general", "memory"} else None}}
