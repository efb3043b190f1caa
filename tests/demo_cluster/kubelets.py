"""What the kubelets of the demo cluster say: measurements and configuration, in the shape in which they say it.

Trouble: node-a1 is nearly out of memory. What uses most over its request there is Burstable, so that neither the kernel
nor the kubelet begins with the BestEffort pod; and the host itself uses more than is reserved for it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from cluster_io.demo import DEMO_NOW
from podrules.api.model.quantity import Quantity
from tests.demo_cluster.base import Obj, digest
from tests.demo_cluster.nodes import DISK_KI, MEMORY_KI, NODES, RESERVED_MI, SILENT_NODE

_UNMEASURED: Final = frozenset({SILENT_NODE, "node-b4"})
"""One is silent, and one says nothing of use: without a kubelet's measurements less is known."""
_MI: Final = 1 << 20
_USED: Final = {
    "agent": (402, 9),
    "recommend": (2890, 55),
    "web": (371, 22),
    "index": (10990, 610),
    "catalog": (1320, 40),
    "warmer": (60, 4),
    "broker": (2710, 960),
    "checkout": (655, 61),
    "istio-proxy": (88, 6),
    "postgres": (6480, 1340),
    "exporter": (21, 2),
    "wal-archiver": (74, 31),
    "store": (22910, 410),
    "model": (16310, 150),
    "prometheus": (5870, 640),
}
"""By container, mebibytes of anonymous memory and of file cache in use; others use six tenths of what they request."""
_FS: Final = {
    "agent": ((12, 90), (340, 6)),
    "index": ((5210, 1410), (18, 2)),
    "prometheus": ((3, 60), (96, 4)),
}
"""By container, mebibytes and inodes of the writable layer and of logs."""
_SYSTEM_MI: Final = {"kubelet": (84, 41), "runtime": (76, 180)}
_HOST_MI: Final = {"node-a1": 6720}
_HOST_MILLI: Final = 180
"""Thousandths of a cpu that the host uses itself."""
_USUAL_HOST_MI: Final = 830
"""Of everything that is in none of these cgroups."""
_CALM: Final = {"avg10": 0.0, "avg60": 0.02, "avg300": 0.0}
_STALLED: Final = {"avg10": 3.41, "avg60": 1.87, "avg300": 0.6}
_TIGHT_BYTES: Final = 3 << 30
_CONFIG: Final = {
    "kubeReserved": {"cpu": "100m", "memory": f"{RESERVED_MI[0]}Mi"},
    "systemReserved": {"cpu": "100m", "memory": f"{RESERVED_MI[1]}Mi"},
    "enforceNodeAllocatable": ["pods"],
    "evictionHard": {
        "imagefs.available": "15%",
        "imagefs.inodesFree": "5%",
        "memory.available": f"{RESERVED_MI[2]}Mi",
        "nodefs.available": "10%",
        "nodefs.inodesFree": "5%",
        "pid.available": "5%",
    },
    "evictionPressureTransitionPeriod": "5m0s",
    "failCgroupV1": True,
    "failSwapOn": True,
    "memorySwap": {},
    "oomScoreAdj": -999,
    "localStorageCapacityIsolation": True,
}
_SOFT: Final[dict[str, Obj]] = {
    "node-b2": {
        "evictionSoft": {"memory.available": "2Gi"},
        "evictionSoftGracePeriod": {"memory.available": "1m30s"},
        "evictionMaxPodGracePeriod": 60,
    }
}


def kubelets(pods: Iterable[Obj]) -> dict[str, dict[str, Obj]]:
    """Answers by node and path."""
    running: dict[str, list[Obj]] = {name: [] for name in NODES if name not in _UNMEASURED}
    for pod in pods:
        if pod["status"]["phase"] == "Running" and pod["spec"].get("nodeName") in running:
            running[pod["spec"]["nodeName"]].append(_pod(pod))
    return {
        name: {
            "stats/summary": {"node": _node(name, own), "pods": own},
            "configz": {"kubeletconfig": {**_CONFIG, **_SOFT.get(name, {})}},
        }
        for name, own in running.items()
    }


def _node(name: str, pods: list[Obj]) -> Obj:
    capacity, limit = MEMORY_KI[name] * 1024, MEMORY_KI[name] * 1024 - sum(RESERVED_MI[:2]) * _MI
    used, resident = (sum(pod["memory"][kind] for pod in pods) for kind in ("workingSetBytes", "rssBytes"))
    working_set = used + (_HOST_MI.get(name, _USUAL_HOST_MI) + sum(map(sum, _SYSTEM_MI.values()))) * _MI
    stalled = _STALLED if capacity - working_set < _TIGHT_BYTES else _CALM
    fs = _fs(DISK_KI[name] * 1024)
    return {
        "nodeName": name,
        "systemContainers": [
            *({"name": key, "memory": _memory(rss * _MI, cache * _MI)} for key, (rss, cache) in _SYSTEM_MI.items()),
            {"name": "pods", "memory": {**_memory(resident, used - resident), "availableBytes": limit - used}},
        ],
        "cpu": _cpu(sum(pod["cpu"]["usageNanoCores"] for pod in pods) // 1_000_000 + _HOST_MILLI),
        "memory": {
            "time": DEMO_NOW,
            "availableBytes": capacity - working_set,
            "usageBytes": capacity - 310 * _MI,
            "workingSetBytes": working_set,
            "rssBytes": resident,
            "psi": {"some": {"total": 91_442_017, **stalled}, "full": {"total": 40_118_933, **_CALM}},
        },
        "fs": fs,
        "runtime": {"imageFs": fs, "containerFs": fs},
        "rlimit": {"time": DEMO_NOW, "maxpid": 32768, "curproc": 1412},
        "swap": {"time": DEMO_NOW, "swapAvailableBytes": 0, "swapUsageBytes": 0},
    }


def _fs(size: int) -> Obj:
    inodes = {"inodes": 6_553_600, "inodesFree": 5_980_000, "inodesUsed": 573_600}
    used = size * 42 // 100
    return {"time": DEMO_NOW, "capacityBytes": size, "availableBytes": size - used, "usedBytes": used, **inodes}


def _pod(pod: Obj) -> Obj:
    meta, spec = pod["metadata"], pod["spec"]
    static = meta.get("annotations", {}).get("kubernetes.io/config.hash")
    sidecars = [one for one in spec.get("initContainers", []) if one.get("restartPolicy") == "Always"]
    containers = [_container(one) for one in (*spec["containers"], *sidecars)]
    resident, used = (sum(one["memory"][kind] for one in containers) for kind in ("rssBytes", "workingSetBytes"))
    layers = [one[kind] for one in containers for kind in ("rootfs", "logs")]
    return {
        "podRef": {"name": meta["name"], "namespace": meta["namespace"], "uid": static or meta["uid"]},
        "containers": containers,
        "cpu": _cpu(sum(one["cpu"]["usageNanoCores"] for one in containers) // 1_000_000),
        # The pause container, and what the pod's cgroup holds besides.
        "memory": _memory(resident + 40 * 1024, used - resident + 180 * 1024),
        "ephemeral-storage": {
            "time": DEMO_NOW,
            **{kind: sum(one[kind] for one in layers) for kind in ("usedBytes", "inodesUsed")},
        },
        "process_stats": {"process_count": 1 + sum(1 + int(digest(one["name"])[:2], 16) % 9 for one in containers)},
    }


def _container(spec: Obj) -> Obj:
    name, resources = spec["name"], spec["resources"]
    asked = Quantity.parse(resources.get("requests", {}).get("memory", "32Mi")).value
    resident, cached = (amount * _MI for amount in _USED.get(name, (asked * 6 // 10 // _MI, 3)))
    layer, logs = _FS.get(name, ((1, 12), (4, 2)))
    memory = _memory(resident, cached)
    if limit := resources.get("limits", {}).get("memory"):
        memory["availableBytes"] = Quantity.parse(limit).value - resident - cached
    return {
        "name": name,
        "cpu": _cpu(_cpu_asked(spec) * (20 + int(digest(name)[:2], 16) % 70) // 100),
        "memory": memory,
        "rootfs": _layer(*layer),
        "logs": _layer(*logs),
        "swap": {"time": DEMO_NOW, "swapAvailableBytes": 0, "swapUsageBytes": 0},
    }


def _cpu_asked(spec: Obj) -> int:
    """Thousandths; of what requests none, what it uses all the same."""
    return Quantity.parse(spec["resources"].get("requests", {}).get("cpu", "15m")).milli_value


def _cpu(milli: int) -> Obj:
    return {"time": DEMO_NOW, "usageNanoCores": milli * 1_000_000}


def _layer(used: int, inodes: int) -> Obj:
    return {"time": DEMO_NOW, "usedBytes": used * _MI, "inodesUsed": inodes}


def _memory(resident: int, cached: int) -> dict[str, Any]:
    used = {"usageBytes": resident + 3 * cached, "workingSetBytes": resident + cached, "rssBytes": resident}
    return {"time": DEMO_NOW, **used}
