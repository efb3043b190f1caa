"""The page's numbers are those of the commands for one pod and one node."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from functools import partial

import pytest
from msgspec.structs import replace

from cluster_io.demo import DEMO_NOW, demo_kubelets, demo_objects
from cluster_io.gather import Gatherer
from cluster_io.in_memory import MemorySource
from cluster_io.kinds import NODES, PODS
from cluster_io.node_usage import read_usage, read_usages
from cluster_io.source import RememberedSource
from kubectl_plugin.gather.overview import Overview, overview, scope_of
from kubectl_plugin.reports.cluster.cluster_entries import ClusterReport
from kubectl_plugin.reports.cluster.cluster_report import cluster_report, pod_key
from kubectl_plugin.reports.pod.pod_risk import PodRisk
from kubectl_plugin.reports.pod.similar_pods import SimilarPods
from podrules.api.features import REFERENCE
from podrules.api.model.node import Node
from podrules.api.model.pod import Pod, PodQOSClass
from podrules.node.allocation import node_allocation
from podrules.node.eviction.thresholds import Signal
from podrules.node.pressure.node import memory_orders, node_pressure
from podrules.node.pressure.usage import ReadUsage, UsageSource
from podrules.pod.oom import container_oom_score_adjs
from podrules.pod.qos import get_pod_qos
from podrules.pod.resources import pod_requests, scheduler_options
from podrules.pod.versions import Versions
from tests.objects import raw_object


@pytest.fixture(scope="module")
def source() -> MemorySource:
    return MemorySource(
        demo_objects(),
        description="demo",
        now=datetime.fromisoformat(DEMO_NOW),
        git_version="v1.36.3",
        namespace="shop",
        kubelets=demo_kubelets(),
    )


@pytest.fixture(scope="module")
def read(source: MemorySource) -> Overview:
    return overview(scope_of([], everything=True), source)


@pytest.fixture(scope="module")
def report(read: Overview) -> ClusterReport:
    return cluster_report(read.facts)


def test_nodes_promise_what_the_node_command_says(read: Overview, report: ClusterReport) -> None:
    for node, entry in zip(read.facts.nodes, report.nodes, strict=True):
        allocation = node_allocation(node, read.facts.pods)
        totals = {one.name: one for one in allocation.resources}
        assert (entry.pods, entry.pods_by_class) == (allocation.pods, allocation.pods_by_class)
        assert entry.cpu.total == totals["cpu"].requested.milli_value
        assert entry.memory.total == totals["memory"].requested.value
        assert entry.memory.limited == totals["memory"].limited.value
        assert entry.memory.without_limit == totals["memory"].without_limit
        assert entry.memory.requested == {one: totals["memory"].requested_by_class[one].value for one in PodQOSClass}


def _measured(read: Overview) -> Iterator[tuple[Node, Sequence[Pod], ReadUsage]]:
    """Nodes with known usage, and their pods."""
    for node in read.facts.nodes:
        if usage := read.facts.usages.get(node.metadata.name):
            yield node, read.gatherer.noted(read.gatherer.pods_on(node.metadata.name)) or (), usage


def test_places_are_those_of_the_node_command(read: Overview, report: ClusterReport) -> None:
    entries = {entry.key: entry for entry in report.pods}
    ranked = 0
    for node, pods, usage in _measured(read):
        pressure = node_pressure(node, pods, usage.usage, usage.config, features=REFERENCE)
        places = [(one.candidate.namespace, one.candidate.pod) for one in pressure.ooms[0].places]
        for pod in pods:
            key = pod_key(pod)
            if key in places:
                ranked += 1
                assert entries[key].oom_rank == places.index(key) + 1
        memory = next((one for one in pressure.evictions if one.signal is Signal.MEMORY_AVAILABLE), None)
        able = [pod_key(one.ranked.pod) for one in memory.places if not one.ranked.critical] if memory else []
        assert [entries[key].eviction_rank for key in able] == list(range(1, len(able) + 1))
    assert ranked > 100


def test_memory_orders_match_the_full_computation(read: Overview) -> None:
    """Large clusters are judged by `memory_orders` alone, with scores that alike pods share."""
    alike = SimilarPods(Versions())
    for node, pods, usage in _measured(read):
        whole = node_pressure(node, pods, usage.usage, None, features=REFERENCE)
        orders = memory_orders(node, pods, usage.usage, partial(alike.scores, features=REFERENCE), features=REFERENCE)
        assert orders.oom == whole.ooms[0]
        assert orders.eviction == next(
            (one.places for one in whole.evictions if one.signal is Signal.MEMORY_AVAILABLE), ()
        )


def test_alike_pods_get_their_own_answers(read: Overview) -> None:
    """Also one that was changed after its owner made it, as a resize does."""
    alike = SimilarPods(Versions())
    for pod in [*read.facts.pods, *map(_resized, read.facts.pods)]:
        asked, requests = alike.asked(pod), pod_requests(pod, scheduler_options(REFERENCE))
        assert asked.qos_class is get_pod_qos(pod)
        assert asked.memory == (requests["memory"].value if "memory" in requests else 0)
        assert alike.scores(pod, 2**34, features=REFERENCE) == container_oom_score_adjs(pod, 2**34)


def _resized(pod: Pod) -> Pod:
    first = pod.spec.containers[0]
    doubled = {name: amount + amount for name, amount in first.resources.requests.items()}
    container = replace(first, resources=replace(first.resources, requests=doubled))
    return replace(pod, spec=replace(pod.spec, containers=(container, *pod.spec.containers[1:])))


def test_what_is_wrong(read: Overview, report: ClusterReport) -> None:
    risks = {entry.key: entry.risk for entry in report.pods}
    assert risks["shop", "db-1"] is PodRisk.NODE_DOWN
    assert risks["shop", "db-0"] is None
    gated = {pod_key(pod) for pod in read.facts.pods if pod.spec.scheduling_gates}
    waiting = {entry.key for entry in report.pods if entry.phase == "Pending"} - gated
    assert {key for key, risk in risks.items() if risk is PodRisk.UNSCHEDULABLE} == waiting
    assert {key for key, risk in risks.items() if risk is PodRisk.SCHEDULING_GATED} == gated
    assert all(entry.used is None for entry in report.pods if entry.risk is PodRisk.NODE_DOWN)


def test_a_remembered_source_answers_as_its_own(source: MemorySource) -> None:
    remembered = RememberedSource(source)
    remembered.know(source.list(NODES), source.list(PODS))
    on_node = "spec.nodeName=node-a1"
    for namespace in (None, "shop"):
        for selector in ("", on_node, f"{on_node},status.phase!=Running", "status.phase=Pending"):
            expected = source.list(PODS, namespace, field_selector=selector)
            assert list(remembered.list(PODS, namespace, field_selector=selector)) == list(expected)
    assert remembered.get(NODES, "node-a1") is source.get(NODES, "node-a1")
    assert remembered.get(PODS, "db-1", "shop") is source.get(PODS, "db-1", "shop")


def test_usage_of_many_nodes_is_that_of_each(source: MemorySource) -> None:
    gatherer, nodes = Gatherer(source), source.list(NODES)
    usages, _ = read_usages(gatherer, nodes, {})
    for name, usage in usages.items():
        assert usage == read_usage(Gatherer(source), source.get(NODES, name), ())
    assert len(usages) == len(demo_kubelets())


def test_usage_of_a_metrics_api_where_kubelets_say_nothing() -> None:
    api, containers = "metrics.k8s.io/v1beta1", [{"name": "db", "usage": {"memory": "3Gi"}}]
    metrics = [
        raw_object("NodeMetrics", "node-a1", usage={"memory": "20Gi"}),
        raw_object("PodMetrics", "db-0", "shop", containers=containers, apiVersion=api),
    ]
    source = MemorySource([*demo_objects(), *metrics], description="demo", now=datetime.fromisoformat(DEMO_NOW))
    nodes, pods = [source.get(NODES, "node-a1")], source.list(PODS, field_selector="spec.nodeName=node-a1")
    usages, unread = read_usages(Gatherer(source), nodes, {"node-a1": [*pods, source.get(PODS, "db-0", "shop")]})
    usage = usages["node-a1"].usage
    assert usage.source is UsageSource.METRICS
    assert [one.pod_ref.name for one in usage.summary.pods] == ["db-0"]
    assert [entry.resource for entry in unread] == ["nodes/proxy"]
