"""memory.high, memory.low and memory.min in `explain`, by the configuration of the node's kubelet."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from cluster_io.gather import Gatherer
from cluster_io.kinds import PODS
from kubectl_plugin.gather.object_reports import ReportBuilder
from kubectl_plugin.options import ClusterOptions, Output
from kubectl_plugin.options.pod_commands import ExplainOptions
from kubectl_plugin.render.page import Row, Section
from kubectl_plugin.reports.pod.pod_report import PodReport
from kubectl_plugin.views.pod.pod_page import pod_page
from podrules.pod.memory_qos import MemoryQoS
from tests.cluster_io.recording import RecordingSource
from tests.objects import raw_condition, raw_container, raw_node, raw_pod

OPTIONS = ExplainOptions(targets=(), files=(), output=Output(), colour=False, cluster=ClusterOptions())
MI = 1 << 20
SET = {
    "memoryThrottlingFactor": 0.5,
    "memoryReservationPolicy": "TieredReservation",
    "kubeReserved": {"memory": "1Gi"},
    "failCgroupV1": True,
}
POD = raw_pod(
    "web",
    "shop",
    uid="u",
    nodeName="node-1",
    status={"phase": "Running", "qosClass": "Burstable"},
    containers=[raw_container("app", {"memory": "128Mi"}, {"memory": "256Mi"}), raw_container("side")],
)


def source(version: str, config: Mapping[str, Any] | None) -> RecordingSource:
    capacity = {"cpu": "4", "memory": "9Gi", "pods": "110"}
    node = raw_node("node-1", capacity=capacity, allocatable=capacity, conditions=[raw_condition("Ready", "True")])
    info = {"kubeletVersion": version, "operatingSystem": "linux"}
    said = {"stats/summary": {}, **({} if config is None else {"configz": {"kubeletconfig": config}})}
    objects = [{**node, "status": {**node["status"], "nodeInfo": info}}, POD]
    return RecordingSource(objects, kubelets={"node-1": said}, git_version="v1.37.1")


def explained(version: str, config: Mapping[str, Any] | None, **options: Any) -> PodReport:
    cluster = source(version, config)
    report = ReportBuilder(Gatherer(cluster), OPTIONS.replace(**options)).report(
        cluster.get(PODS, "web", "shop"), PODS, named=True
    )
    assert isinstance(report, PodReport)
    return report


def values(report: PodReport) -> list[MemoryQoS | None]:
    assert report.cgroup is not None
    return [report.cgroup.memory_qos, *(entry.memory_qos for entry in report.cgroup.containers)]


def lines(report: PodReport) -> list[str]:
    parts = pod_page(report, now=None, wide=True).parts
    section = next(part for part in parts if isinstance(part, Section) and part.label == "Cgroup")
    return [" ".join(map(str, line.cells)) if isinstance(line, Row) else str(line) for line in section.lines]


THROTTLED = [MemoryQoS(low=128 * MI), MemoryQoS(192 * MI, 128 * MI), MemoryQoS(4096 * MI, 0, 0)]


@pytest.mark.parametrize(
    ("version", "config", "expected"),
    [
        pytest.param("v1.37.1", SET, THROTTLED, id="1.37"),
        pytest.param("v1.36.3", SET, [None, None, None], id="1.36: the gate is off"),
        pytest.param("v1.37.1", {**SET, "featureGates": {"MemoryQoS": False}}, [None, None, None], id="turned off"),
        pytest.param(
            "v1.36.3",
            {**SET, "featureGates": {"MemoryQoS": True}},
            [*THROTTLED[:2], MemoryQoS(low=0, min=0)],
            id="1.36: turned on",
        ),
        pytest.param("v1.37.1", {}, [MemoryQoS(), *[MemoryQoS(low=0, min=0)] * 2], id="no factor is set"),
        pytest.param("v1.37.1", None, [MemoryQoS(), *[MemoryQoS(low=0, min=0)] * 2], id="not read"),
    ],
)
def test_Q5_memory_depends_on_the_kubelet_of_the_node(
    version: str, config: Mapping[str, Any] | None, expected: list[MemoryQoS | None]
) -> None:
    assert values(explained(version, config)) == expected


def test_Q5_timeline_and_other_nodes_change_nothing() -> None:
    assert values(explained("v1.37.1", SET, timeline="all")) == THROTTLED
    assert values(explained("v1.37.1", SET, on="node-1")) == THROTTLED


def test_Q5_kernel_behaviour_is_beside_the_limit() -> None:
    known = lines(explained("v1.37.1", SET))
    assert known[1].endswith("cpu.max max, memory.low 128Mi, memory.max max")
    assert known[-2].endswith("memory.low 128Mi, memory.high 192Mi, memory.max 256Mi")
    assert known[-1].endswith("cpu.max max, memory.high 4Gi, memory.max max")
    assert not any("memory.high" in line or "memory.low" in line for line in lines(explained("v1.37.1", {})))


def test_Q5_kubelet_configuration_is_read_once() -> None:
    cluster = source("v1.37.1", SET)
    ReportBuilder(Gatherer(cluster), OPTIONS).report(cluster.get(PODS, "web", "shop"), PODS, named=True)
    assert sum(asked.endswith("configz") for asked in cluster.asked) == 1
