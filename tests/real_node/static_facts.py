"""The values that are fixed when a container starts: oom_score_adj, cgroup values at container, pod and QoS level.

Predicted by `kubectl qos explain pod/NAME -o json`, seen in what the kubelet asked of the runtime, in the cgroup files,
and in /proc. The runtime may not lower scores, which some machines forbid: /proc is read for the others.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from podrules.api.model.decode import from_object
from podrules.api.model.pod import Pod
from podrules.pod.cgroup import cpu_weight, qos_cgroup_name, qos_resource_configs
from tests.controlplane.client import Object
from tests.objects import raw_pod
from tests.real_node.deaths.pods import container
from tests.real_node.node import CGROUPS, RealNode

_UNIFIED: Final = (CGROUPS / "cgroup.controllers").exists()
"""Cgroup v2."""
_NO_LIMIT: Final = 1 << 62
"""Above it cgroup v1 has no limit."""


class Compared(NamedTuple):
    """One figure."""

    where: str
    what: str
    predicted: object
    seen: object
    measured: str = ""
    """The measured value, if it is in the predicted range."""

    @property
    def equal(self) -> bool:
        """Whether it is as predicted."""
        return self.predicted == self.seen


def _container(name: str, cpu: str = "", memory: str = "", **more: Any) -> Object:
    """A container that sleeps."""
    return container(name, ["sleep", "2147483647"], cpu, memory, **more)


def make_pod(name: str, *containers: Mapping[str, Any], namespace: str = "default", **spec: Any) -> Object:
    """A pod on the node, in its network."""
    own = {"hostNetwork": True, "terminationGracePeriodSeconds": 1, **spec}
    return raw_pod(name, namespace, containers=containers, **own)


_ALWAYS: Final = {"restartPolicy": "Always"}
PODS: Final = (
    make_pod("guaranteed", _container("main", "250m/250m", "128Mi/128Mi")),
    make_pod("guaranteed-least", _container("main", "1m/1m", "32Mi/32Mi")),
    make_pod(
        "burstable",
        _container("main", "100m/500m", "200Mi/300Mi"),
        _container("sibling"),
        initContainers=[_container("sidecar", "50m", "64Mi/128Mi", **_ALWAYS)],
    ),
    make_pod(
        "small-sidecar", _container("main", "", "200Mi"), initContainers=[_container("sidecar", "", "10Mi", **_ALWAYS)]
    ),
    make_pod(
        "init-dominates",
        _container("main", "100m/200m", "64Mi/64Mi"),
        initContainers=[_container("once", "200m/300m", "96Mi/96Mi", command=["sleep", "1"])],
    ),
    make_pod("best-effort", _container("main")),
    make_pod("limits-alone", _container("main", "/30m", "/64Mi")),
    make_pod("memory-alone", _container("main", "", "1Gi")),
    make_pod("many-shares", _container("main", "1050m", "1Mi")),
    make_pod("cluster-critical", _container("main"), priorityClassName="system-cluster-critical"),
    make_pod("node-critical", _container("main"), priorityClassName="system-node-critical"),
    make_pod("node-critical-burstable", _container("main", "10m", "10Mi"), priorityClassName="system-node-critical"),
    make_pod(
        "pod-level",
        _container("one"),
        _container("two", "100m", "16Mi"),
        resources={"requests": {"cpu": "200m", "memory": "64Mi"}, "limits": {"cpu": "200m", "memory": "64Mi"}},
    ),
    make_pod(
        "pod-level-burstable",
        _container("one", "", "16Mi"),
        _container("two"),
        resources={"requests": {"cpu": "100m", "memory": "128Mi"}, "limits": {"memory": "256Mi"}},
    ),
)


def compare(node: RealNode, pod: Mapping[str, Any], explained: Mapping[str, Any]) -> Iterator[Compared]:
    """Each figure of a running pod.

    Args:
        node: Where it runs.
        pod: As it is stored.
        explained: The plugin's answer, JSON.
    """
    name, cgroup = pod["metadata"]["name"], explained["cgroup"]
    adjs = {entry["container"]: entry["value"] for entry in explained["oom"][0]["containers"]}
    configs = {entry["container"]: entry for entry in cgroup["containers"]}
    for own, identity in node.containers(pod).items():
        where = f"{name}/{own}"
        asked = _asked(node, identity)
        yield Compared(where, "oom_score_adj asked", adjs[own], int(asked.get("oom_score_adj", 0)))
        seen = int(Path("/proc", str(node.task(identity)), "oom_score_adj").read_text())
        if adjs[own] >= 0:
            yield Compared(where, "oom_score_adj in /proc", adjs[own], seen)
        yield from _values(where, f"{cgroup['cgroupfs']}/{identity}", configs[own])
    yield from _values(name, cgroup["cgroupfs"], cgroup)


def compare_qos_level(pods: Sequence[Mapping[str, Any]]) -> Iterator[Compared]:
    """The cgroups that pods of one class share, on a node with these pods."""
    decoded = [from_object(dict(pod), Pod) for pod in pods]
    for qos, config in qos_resource_configs(decoded).items():
        if config.cpu_shares is None:
            continue
        path = qos_cgroup_name(qos).to_cgroupfs()
        if _UNIFIED:
            weight = int(_read(CGROUPS, path, "cpu.weight"))
            yield Compared(path, "cpu.weight", cpu_weight(config.cpu_shares), weight)
        else:
            yield Compared(path, "cpu.shares", config.cpu_shares, int(_read(CGROUPS / "cpu", path, "cpu.shares")))


def _asked(node: RealNode, identity: str) -> Mapping[str, Any]:
    """The resources that the kubelet asked of the runtime (CRI LinuxContainerResources)."""
    stored = json.loads(node.ctr("containers", "info", identity))
    kept = stored["Extensions"]["io.cri-containerd.container.metadata"]["value"]
    resources: Mapping[str, Any] = json.loads(base64.b64decode(kept))["Metadata"]["Config"]["linux"]["resources"]
    return resources


def _values(where: str, path: str, predicted: Mapping[str, Any]) -> Iterator[Compared]:
    """The files of one cgroup; what is predicted as unset is the kernel's default."""
    config = predicted["config"]
    quota, memory = config["cpuQuota"] or -1, config["memory"] or None
    if _UNIFIED:
        limit, _, _ = _read(CGROUPS, path, "cpu.max").partition(" ")
        yield Compared(where, "cpu.weight", predicted["cpuWeight"], int(_read(CGROUPS, path, "cpu.weight")))
        yield Compared(where, "cpu.max", quota, -1 if limit == "max" else int(limit))
        most = _read(CGROUPS, path, "memory.max")
        yield Compared(where, "memory.max", memory, None if most == "max" else int(most))
        return
    yield Compared(where, "cpu.shares", config["cpuShares"], int(_read(CGROUPS / "cpu", path, "cpu.shares")))
    yield Compared(where, "cpu.cfs_quota_us", quota, int(_read(CGROUPS / "cpu", path, "cpu.cfs_quota_us")))
    most_bytes = int(_read(CGROUPS / "memory", path, "memory.limit_in_bytes"))
    yield Compared(where, "memory.limit_in_bytes", memory, None if most_bytes > _NO_LIMIT else most_bytes)


def _read(hierarchy: Path, path: str, file: str) -> str:
    return (hierarchy / path.lstrip("/") / file).read_text().strip()
