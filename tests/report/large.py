"""A large cluster as the page gets it: what `tests.scale.cluster` has, each kind of pod decoded once.

``python -m tests.report.large NODES PODS FILE`` writes its page and prints the time; with a browser it also prints the
time until the page is usable, and the time of a search (``make report-scale``).
"""

from __future__ import annotations

import hashlib
import resource
import sys
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from msgspec.structs import replace

from kubectl_plugin.html.document import FullExplanations, document
from kubectl_plugin.render.command import Target
from kubectl_plugin.reports.cluster.cluster_report import ClusterFacts, cluster_report
from podrules.api.model.base import Condition, ObjectMeta
from podrules.api.model.decode import from_object
from podrules.api.model.node import ContainerMetrics, Node, NodeMetrics, PodMetrics
from podrules.api.model.pod import Pod
from podrules.api.model.policy import PodDisruptionBudget, PriorityClass
from podrules.api.model.quantity import Quantity
from podrules.node.pressure.usage import ReadUsage, usage_from_metrics
from podrules.pod.resources import MEMORY
from podrules.pod.versions import Versions
from tests.scale import cluster
from tests.scale.cluster import Size

_APPS = 300
_UNPLACED = 500
"""One pod in so many waits for a node."""
_TIME = datetime(2026, 3, 1, 9, 31, tzinfo=UTC)


def large_facts(size: Size) -> ClusterFacts:
    """Nodes, pods, budgets and usage by a metrics API."""
    nodes, pods = _nodes(size), _pods(size)
    on: dict[str, list[Pod]] = {node.metadata.name: [] for node in nodes}
    for pod in pods:
        if pod.spec.node_name and not pod.finished:
            on[pod.spec.node_name].append(pod)
    made = list(cluster.deployments(size))
    return ClusterFacts(
        source="the cluster",
        at=_TIME,
        nodes=nodes,
        pods=pods,
        classes=[from_object(entry, PriorityClass) for entry in cluster.priority_classes()],
        budgets=[from_object(one, PodDisruptionBudget) for one in made if one["kind"] == "PodDisruptionBudget"],
        usages={node.metadata.name: _usage(node, on[node.metadata.name]) for node in nodes},
        partitions=None,
        versions=Versions(server_version="v1.36.3"),
        unread=(),
    )


def _nodes(size: Size) -> list[Node]:
    alike = [from_object({**cluster.node(number), "status": cluster.node_status(number)}, Node) for number in range(12)]
    return [
        replace(alike[number % 12], metadata=replace(alike[number % 12].metadata, name=cluster.node_name(number)))
        for number in range(size.nodes)
    ]


def _pods(size: Size) -> list[Pod]:
    alike = [
        from_object({**cluster.pod(number, size), "status": cluster.pod_status(number, size)}, Pod)
        for number in range(_APPS)
    ]
    return [_pod(alike[number % _APPS], number, size) for number in range(size.pods)]


def _pod(like: Pod, number: int, size: Size) -> Pod:
    name = f"{like.metadata.generate_name}{hashlib.sha256(str(number).encode()).hexdigest()[:6]}"
    metadata: ObjectMeta = replace(like.metadata, name=name, uid=f"00000000-0000-4000-9000-{number:012x}")
    if number % _UNPLACED == 0:
        status = replace(
            like.status, phase="Pending", conditions=(Condition("PodScheduled", "False", "Unschedulable"),)
        )
        return replace(like, metadata=metadata, spec=replace(like.spec, node_name=""), status=status)
    node = cluster.node_name(number * size.nodes // size.pods)
    return replace(like, metadata=metadata, spec=replace(like.spec, node_name=node))


def _usage(node: Node, pods: Sequence[Pod]) -> ReadUsage:
    """Working sets from 60 to 109 percent of what is requested."""
    metrics = []
    for place, pod in enumerate(pods):
        used = [
            ContainerMetrics(
                one.name, {MEMORY: Quantity(one.resources.requests[MEMORY].value * (60 + place % 50) // 100)}
            )
            for one in pod.spec.containers
        ]
        metrics.append(PodMetrics(metadata=pod.metadata, containers=tuple(used)))
    whole = sum(one.usage[MEMORY].value for entry in metrics for one in entry.containers)
    of_node = NodeMetrics(metadata=node.metadata, usage={MEMORY: Quantity(whole + 2**31)})
    return ReadUsage(usage_from_metrics(node, of_node, pods, metrics), None, ())


def _main(nodes: int, pods: int, path: Path) -> None:
    from tests.report.browser import find_browser, opened

    facts = large_facts(Size(nodes, pods))
    before = time.process_time()
    text = document(cluster_report(facts), FullExplanations(), Target())
    made = time.process_time() - before
    path.write_text(text, encoding="utf-8")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    print(f"made in {made:.1f} s of CPU, {len(text.encode()) / 2**20:.1f} MiB, {peak} MiB of memory in use at most")
    browser = find_browser()
    if not isinstance(browser, str):
        print(browser.reason)
        return
    with opened(browser) as chromium:
        page = chromium.new_page()
        session = page.context.new_cdp_session(page)
        session.send("Performance.enable", {"timeDomain": "threadTicks"})
        page.goto(path.resolve().as_uri())
        page.wait_for_selector("html[data-ready]")
        ready = page.evaluate("performance.now()")
        busy = {one["name"]: one["value"] for one in session.send("Performance.getMetrics")["metrics"]}["TaskDuration"]
        searched = page.evaluate(
            """() => new Promise((done) => {
                const field = document.getElementById("pods-search"), count = document.getElementById("pods-count");
                const start = performance.now();
                new MutationObserver(() => done(performance.now() - start)).observe(count, { childList: true });
                field.value = "app-17 node:ip-10-0-1";
                field.dispatchEvent(new Event("input"));
            })"""
        )
        print(f"usable after {ready / 1000:.1f} s ({busy:.1f} s of CPU), a search takes {searched:.0f} ms")


if __name__ == "__main__":
    _main(int(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[3]))
