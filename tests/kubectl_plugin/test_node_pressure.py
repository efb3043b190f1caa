"""``kubectl qos node``, and a pod's rank on its node."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from copy import deepcopy
from pathlib import Path
from typing import Any, Final

import jsonschema
import msgspec
import pytest
from msgspec.structs import replace

from kubectl_plugin.render.page import Row, Section, Table
from kubectl_plugin.reports.node.node_pressure import NodePressureReport
from kubectl_plugin.reports.schema import schema_of
from kubectl_plugin.views.node.node_pressure import node_pressure_page
from podrules.node.pressure.node import OOMScope
from podrules.node.pressure.usage import UsageSource
from tests.kubectl_plugin.answers import check_texts, data, said, write_list
from tests.kubectl_plugin.edits import FIELD, find, items_of
from tests.kubectl_plugin.running import Ran, run, write_cluster
from tests.objects import raw_condition, raw_container, raw_node, raw_object, raw_pod

CAPACITY = {"cpu": "4", "memory": "8Gi", "pods": "110"}
ROOM = {**CAPACITY, "memory": "7Gi"}
NODE = raw_node("n1", capacity=CAPACITY, allocatable=ROOM, conditions=[raw_condition("Ready")])
NODE_METRICS = raw_object("NodeMetrics", "n1", usage={"memory": "6Gi"})
NEARLY_FULL = NODE_METRICS | {"usage": {"memory": "8150Mi"}}


def _pod(name: str, request: str = "", **more: Any) -> dict[str, Any]:
    """A pod that runs on the node, unless the arguments differ."""
    requests = {"memory": request} if request else None
    running: dict[str, Any] = {"nodeName": "n1", "status": {"phase": "Running"}}
    return raw_pod(name, "default", uid=name, requests=requests, **{**running, **more})


def _metrics(name: str, memory: str) -> dict[str, Any]:
    containers = [{"name": "app", "usage": {"memory": memory}}]
    version = NODE_METRICS["apiVersion"]
    return raw_object("PodMetrics", name, "default", apiVersion=version, containers=containers)


def _on(tmp_path: Path, objects: Sequence[Mapping[str, Any]], *arguments: str, node: Mapping[str, Any] = NODE) -> Ran:
    return run(*arguments, "--snapshot", write_cluster(tmp_path / "snapshot.json", [node, *objects]))


def _flat(ran: Ran) -> str:
    assert (ran.code, ran.err) == (0, "")
    return " ".join(ran.out.split())


@pytest.mark.parametrize("words", [["node-a1"], ["node/node-a1"], ["no/node-a1"], ["nodes/node-a1"]])
def test_node_by_any_of_its_names(words: list[str]) -> None:
    ran = run("node", *words, "--demo")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.startswith("node/node-a1\n! Near an eviction: 1.9Gi (6%) until the first eviction (")


NO_NODES: Final[Mapping[str, Any]] = {
    "unknown": (["node-a7"], 3, 'no node "node-a7"\nDid you mean node/node-a'),
    "a pod": (["pod/web"], 2, 'error: "pod/web" is not the name of a node\nWrite a node\'s name, or node/NAME\n'),
    "no name": (["node/"], 2, 'error: "node/" is not the name of a node\nWrite a node\'s name, or node/NAME\n'),
}


@pytest.mark.parametrize(("words", "code", "text"), NO_NODES.values(), ids=NO_NODES)
def test_targets_that_are_not_nodes(words: list[str], code: int, text: str) -> None:
    ran = run("node", *words, "--demo")
    assert ran.code == code
    assert text in ran.err


@pytest.mark.parametrize("words", [["node", "node-a2"], ["explain", "node/node-a2"]])
def test_next_command_lists_pods_of_the_node(words: list[str]) -> None:
    line = "kubectl qos explain pods -A --demo --field-selector spec.nodeName=node-a2"
    assert line in run(*words, "--demo").out
    pods = data(*line.split()[2:])["items"]
    assert {pod["status"]["node"]["name"] for pod in pods} == {"node-a2"}


@pytest.mark.parametrize("form", ["json", "yaml"])
@pytest.mark.parametrize("name", ["node-a1", "node-a3", "node-b2", "node-b4", "node-c3", "cp-a1"])
def test_report_fits_its_schema(name: str, form: str) -> None:
    import yaml

    ran = run("node", name, "--demo", "-o", form)
    printed = json.loads(ran.out) if form == "json" else yaml.safe_load(ran.out)
    assert (printed["kind"], printed["name"]) == ("NodePressure", name)
    jsonschema.Draft202012Validator(schema_of("NodePressure")).validate(printed)


def test_several_nodes_are_a_list() -> None:
    printed = data("node", "node-a1", "node-b2", "--demo")
    assert printed["kind"] == "List"
    assert [item["name"] for item in printed["items"]] == ["node-a1", "node-b2"]


def test_Q3_containers_near_own_limits_are_shown() -> None:
    printed = run("node", "node-a1", "--demo", "-o", "json").out
    report = msgspec.json.decode(printed, type=NodePressureReport)
    one = next(order for order in report.oom if order.scope is OOMScope.CONTAINER)
    own = [
        replace(
            one,
            namespace="shop",
            pod="web-0",
            container=f"c{percent}",
            memory=1000 << 20,
            working_set=percent * 10 << 20,
        )
        for percent in (89, 90, 97, 91, 99)
    ]
    page = node_pressure_page(replace(report, oom=(report.oom[0], *own)), now=None, wide=False)
    limits = next(part.lines for part in page.parts if isinstance(part, Section) and part.label == "Own limits")
    assert limits == (
        Row(("[#########-]", "990Mi of 1000Mi", "99%", "shop/web-0 c99")),
        Row(("[#########-]", "970Mi of 1000Mi", "97%", "shop/web-0 c97")),
        Row(("[#########-]", "910Mi of 1000Mi", "91%", "shop/web-0 c91")),
        "and 1 more (-o wide)",
    )
    rule = (
        "at its own limit the kernel drops a container's file cache first, and kills it if that is not enough, "
        "even if the node has memory left"
    )
    assert rule in said("node", "node-a1", "--demo", "-o", "wide")


@pytest.mark.parametrize(
    ("source", "swap", "heading"),
    [
        (UsageSource.SUMMARY, 0, "rss"),
        (UsageSource.SUMMARY, 4096, "rss + swap"),
        (UsageSource.METRICS, 0, "working set"),
    ],
)
def test_measured_signal_heads_its_column(source: UsageSource, swap: int, heading: str) -> None:
    """Resident memory and the working set of one container differ by its file cache: neither is simply "used"."""
    report = msgspec.json.decode(run("node", "node-a1", "--demo", "-o", "json").out, type=NodePressureReport)
    order = report.oom[0]
    swapped = replace(order, places=tuple(replace(place, swap=swap) for place in order.places))
    for wide, column in ((False, 4), (True, 3)):
        page = node_pressure_page(replace(report, usage_source=source, oom=(swapped,)), now=None, wide=wide)
        oom, eviction, *_ = [part for part in page.parts if isinstance(part, Table) and "order" in part.title]
        assert oom.headings[column] == heading
        assert "memory (working set over request" in eviction.title


def test_Q3_numbers_of_the_demo_add_up() -> None:
    printed = data("node", "node-a1", "--demo")
    machine = printed["oom"][0]
    assert machine["scope"] == "Global"
    assert [place["rank"] for place in machine["places"]] == list(range(1, len(machine["places"]) + 1))
    first = machine["places"][0]
    assert (first["container"], first["qosClass"], first["decidedBy"]) == ("recommend", "Burstable", "UsageDespiteAdj")
    assert first["usagePoints"] == 1000 * first["rss"] // machine["memory"]
    assert first["points"] == first["usagePoints"] + first["oomScoreAdj"]
    second = machine["places"][1]
    assert (second["qosClass"], second["oomScoreAdj"]) == ("BestEffort", 1000)
    assert first["badnessPages"] > second["badnessPages"]
    assert first["procOomScore"] > second["procOomScore"]


def test_Q6_no_eviction_order_without_usage(tmp_path: Path) -> None:
    text = _flat(_on(tmp_path, [_pod("web", "1Gi"), _pod("batch")], "node", "n1"))
    assert "Usage is unknown, so neither order is certain." in text
    assert "Kernel OOM order by oom_score_adj only: usage is unknown" in text
    assert "Eviction order for" not in text
    wide = _flat(_on(tmp_path, [_pod("web", "1Gi"), _pod("batch")], "node", "n1", "-o", "wide"))
    check_texts(wide, "pods above their requests are evicted first, then by priority", "Eviction order for")
    assert "usage of n1 is unknown: not in snapshot" in text


def test_Q3_Q6_metrics_replace_usage_and_are_named(tmp_path: Path) -> None:
    objects = [_pod("web", "1Gi"), _pod("batch"), NODE_METRICS, _metrics("web", "2Gi"), _metrics("batch", "100Mi")]
    text = _flat(_on(tmp_path, objects, "node", "n1"))
    assert "Measured by the metrics API: working sets, which include file cache" in text
    # 875 + 250 is more than 1000 + 12.
    assert (
        "the kernel kills container app of default/web first; if usage grows slowly, the kubelet evicts that pod"
        in text
    )
    assert "memory.available < 100Mi: Kubernetes' default, the kubelet's own was not read" in text
    place = _flat(_on(tmp_path, objects, "explain", "pod/batch", "-n", "default", "-o", "wide"))
    assert (
        "2nd of 2 containers that the kernel kills if n1 runs out: app, 1012 = 12 + 1000; after default/web app"
        in place
    )
    assert "2nd of 2 pods that the kubelet evicts for memory: 100Mi, no request, priority 0" in place
    assert "by working sets of the metrics API" in place


def test_Q6_met_threshold_comes_first(tmp_path: Path) -> None:
    full = NEARLY_FULL
    ran = _on(tmp_path, [_pod("web", "1Gi"), _pod("batch"), full, _metrics("web", "2Gi")], "node", "n1")
    assert ran.out.splitlines()[1].startswith("x Under pressure: memory.available is 42Mi, below 100Mi: the kubelet")
    # The metrics API lacks batch; the kubelet has its own measurements.
    assert "evicts default/web now, unless 1 pod without measurements is first." in _flat(ran)
    assert "not measured default/batch: place unknown" in _flat(ran)
    metered = [_pod("web", "1Gi"), _pod("batch"), full, _metrics("web", "2Gi")]
    [memory] = json.loads(_on(tmp_path, metered, "node", "n1", "-o", "json").out)["evictions"]
    listed = [[one[key] for one in memory[of]] for of, key in (("places", "pod"), ("unmeasured", "name"))]
    assert listed == [["web"], ["batch"]]
    ran = _on(tmp_path, [_pod("web", "1Gi"), full], "node", "n1")
    assert "evicts default/web now." in _flat(ran), "it is the only one"


def test_Q6_node_of_critical_pods_alone(tmp_path: Path) -> None:
    objects = [_pod("etcd", priority=2_000_001_000), NEARLY_FULL, _metrics("etcd", "2Gi")]
    check_texts(_flat(_on(tmp_path, objects, "node", "n1")), ("no evictable pod is known", "1 critical: never evicted"))
    page = _flat(_on(tmp_path, objects, "explain", "pod/etcd", "-n", "default", "-o", "wide"))
    assert "the kubelet never evicts it: it is critical" in page


@pytest.mark.parametrize("name", ["evict.json", "evict3.json"])
def test_Q6_reason_compares_pods_that_are_shown(name: str) -> None:
    snapshot = ("--snapshot", str(FIELD / name))
    node, pod = run("node", "n1", *snapshot, "-o", "wide"), run("explain", "pod/lowunder", *snapshot, "-o", "wide")
    assert "1000000 default/be, BestEffort: over its request" in " ".join(node.out.split())
    assert "1Gi under 4Gi, priority 10; after default/be (over its request)" in " ".join(pod.out.split())


def test_Q3_kube_proxy_has_the_score_that_it_writes_everywhere() -> None:
    snapshot = ("--snapshot", str(FIELD / "c05.json"))
    text = said("node", "kind-worker", *snapshot, "-o", "wide")
    assert "4 -999 1 kube-system/kube-proxy-kind-worker main, BestEffort, writes its adj itself" in text
    assert "kube-proxy writes its adj itself: -999 over the kubelet's -997 (its default, unless --oom-score-adj" in text
    asked = ("explain", "pod/kube-proxy-kind-worker", "-n", "kube-system", *snapshot)
    assert "OOM score -999; kill order 4th of 4" in said(*asked)
    text = said(*asked, "-o", "wide")
    assert "recognised by its DaemonSet); the kubelet sets -997: class system-node-critical" in text
    assert "main, -999; after kube-system/kindnet-kind-worker main (-997: higher adj)" in text
    report = data("report", "-A", *snapshot)
    scores = {entry["name"]: entry["oomScoreAdj"] for entry in report["pods"]}
    assert (scores["kube-proxy-kind-worker"], scores["kindnet-kind-worker"]) == (-999, -997)


def test_Q3_equal_kube_proxy_scores_are_shown_once(tmp_path: Path) -> None:
    items = items_of(FIELD / "c05.json")
    twin = deepcopy(find(items, "Pod/kube-proxy-kind-worker"))
    twin["metadata"] |= {"name": "kube-proxy-twin", "uid": "twin"}
    file = write_list(tmp_path / "twins.json", [*items, twin])
    text = said("node", "kind-worker", "--snapshot", file, "-o", "wide")
    # In the order of the machine and in that of all pods.
    assert text.count("BestEffort, writes its adj itself") == 4
    assert text.count("kube-proxy writes its adj itself: -999 over the kubelet's -997") == 1


def test_Q5_wide_page_has_the_tree_of_cgroups() -> None:
    snapshot = ("--snapshot", str(FIELD / "evict.json"))
    lines = run("node", "n1", *snapshot, "-o", "wide").out.splitlines()
    first = lines.index("cpu.weight  v1 shares  memory.max  cgroup")
    assert lines[first + 1 : first + 5] == [
        "       157       4096      15.1Gi  kubepods.slice",
        "         1          2         max    kubepods-burstable.slice",
        "         1          2         max      pod00b33071-a957-5038-a69f-99f3f64a65a1",
        "                                   default/highover",
    ]
    text = " ".join(" ".join(lines).split())
    assert 'assumed: enforceNodeAllocatable has "pods", cgroupRoot is empty, memory.max of all pods is' in text
    assert text.count("cgroupfs driver: /kubepods/burstable/pod<uid>") == 1
    assert "Cgroups" not in run("node", "n1", *snapshot).out


def test_Q5_json_has_the_same_pod_cgroups_as_explain(tmp_path: Path) -> None:
    limits = {"cpu": "250m", "memory": "640Mi"}
    whole = _pod("whole", containers=[raw_container("app", limits, limits)])
    objects = [whole, _pod("part", "1Gi"), _pod("least")]
    report = json.loads(_on(tmp_path, objects, "node", "n1", "-o", "json").out)
    found = {one["pod"]: one for one in report["cgroups"] if one["pod"]}
    assert list(found) == ["whole", "part", "least"]
    assert report["cgroupsAssumed"]
    for name, one in found.items():
        asked = ("explain", f"pod/{name}", "-n", "default", "-o", "json")
        own = json.loads(_on(tmp_path, objects, *asked).out)["cgroup"]
        assert {key: one[key] for key in ("cgroupfs", "systemd", "config", "cpuWeight", "memoryQos")} == {
            key: own[key] for key in ("cgroupfs", "systemd", "config", "cpuWeight", "memoryQos")
        }


def test_node_without_pods(tmp_path: Path) -> None:
    assert "Pods 0 of 110" in _flat(_on(tmp_path, [], "node", "n1"))


def test_hostile_names_reach_no_command(tmp_path: Path) -> None:
    ran = _on(tmp_path, [_pod("web;reboot"), NODE_METRICS], "node", "n1")
    assert "pod/web;reboot" not in ran.out
    assert "default/web;reboot" in ran.out


def test_list_of_pods_has_the_available_usage() -> None:
    printed = data("explain", "pods", "-n", "shop", "--demo")
    listed = {item["name"]: item["pressure"] for item in printed["items"]}
    named = data("explain", "pod/db-0", "-n", "shop", "--demo")
    assert [entry["assumption"] for entry in named["pressure"]] == ["Measured"]
    assert listed["db-0"] == named["pressure"]


MANIFEST = "tests/testdata/manifests/limits-only.yaml"


def test_Q3_Q6_manifest_on_node_shows_both_orders(tmp_path: Path) -> None:
    pod = _pod("job", "64Mi", limits={"memory": "20Gi"}, priorityClassName="batch-low", nodeName=None)
    manifest = tmp_path / "job.json"
    manifest.write_text(json.dumps(pod))
    ran = run("explain", "-f", str(manifest), "--on", "node/node-a1", "--demo", "--no-placement", "-o", "json")
    requests, limits = json.loads(ran.out)["pressure"]
    assert (requests["assumption"], limits["assumption"]) == ("Requests", "Limits")
    assert requests["node"] == "node-a1"
    assert requests["oom"][0]["place"]["rank"] > limits["oom"][0]["place"]["rank"] == 1
    assert requests["evictions"][0]["place"]["rank"] > limits["evictions"][0]["place"]["rank"] == 1
    brief = ("explain", "-f", str(manifest), "--on", "node-a1", "--demo", "--no-placement")
    assert "using all that it may: kill order 1st of 21 containers, eviction 1st of " in _flat(run(*brief))
    text = _flat(run(*brief, "-o", "wide"))
    assert "using what it requests: " in text
    assert "using all that it may: 1st of 21 containers that the kernel kills if node-a1 runs out" in text


def test_likely_node_is_used_with_placement() -> None:
    printed = data("explain", "-f", MANIFEST, "--placement", "--demo")
    assert {entry["node"] for entry in printed["pressure"]} == {printed["placement"]["best"][0]}
    assert data("explain", "-f", MANIFEST, "--demo")["pressure"] == []


def test_on_an_unknown_node() -> None:
    ran = run("explain", "-f", MANIFEST, "--on", "node-a7", "--demo")
    assert ran.code == 3
    assert 'no node "node-a7"' in ran.err
    ran = run("explain", "-f", MANIFEST, "--on", "pod/x", "--demo")
    assert ran.code == 2
    assert ran.err == 'error: --on "pod/x" is not the name of a node\nWrite a node\'s name, or node/NAME\n'


def test_Q2_child_kill_differs_from_main_process_kill(tmp_path: Path) -> None:
    def ended(exit_code: int) -> Ran:
        state = {"terminated": {"reason": "OOMKilled", "exitCode": exit_code}}
        status = {"phase": "Running", "containerStatuses": [{"name": "app", "lastState": state, "restartCount": 1}]}
        return _on(tmp_path, [_pod("web", status=status)], "explain", "pod/web", "-n", "default")

    child = "Only a child process was killed: the main process continued, and ended by itself with 0."
    assert child in _flat(ended(0))
    assert child not in _flat(ended(137))


def test_Q2_score_kept_after_resize_is_shown() -> None:
    text = _flat(run("explain", "pod/feature-store-0", "-n", "ml", "--demo", "-o", "wide"))
    assert "oom_score_adj stays as it was when the container started, until it restarts" in text


PRESSED = [raw_condition("Ready"), raw_condition("MemoryPressure"), raw_condition("DiskPressure", "False")]
SHORT = raw_node("n1", capacity=CAPACITY, allocatable=ROOM, conditions=PRESSED)
SAID = "MemoryPressure: its kubelet evicts pods, or did in the last 5 min (evictionPressureTransitionPeriod)."


@pytest.mark.parametrize("words", [("node", "n1"), ("explain", "node/n1")])
def test_Q3_node_under_pressure_leads_without_usage(words: Sequence[str], tmp_path: Path) -> None:
    assert _flat(_on(tmp_path, [_pod("web")], *words, node=SHORT)).startswith(f"node/n1 x It has {SAID}")


def test_Q3_pod_on_a_node_under_pressure_without_usage(tmp_path: Path) -> None:
    page = _flat(_on(tmp_path, [_pod("web")], "explain", "pod/web", node=SHORT))
    assert (
        "on n1 ! Running, readiness not reported. Services that select only ready pods send it no traffic. "
        f"Its node n1 has {SAID} Pods above their requests are evicted first"
    ) in page


def test_Q3_pod_under_pressure_shows_earlier_evictions(tmp_path: Path) -> None:
    usage = [NODE_METRICS, _metrics("over", "3Gi"), _metrics("under", "1Gi")]
    objects = [_pod("over", "1Gi"), _pod("under", "2Gi"), *usage]
    first = _flat(_on(tmp_path, objects, "explain", "pod/over", node=SHORT))
    assert f"Its node n1 has {SAID} This pod is evicted first of 2." in first
    second = _flat(_on(tmp_path, objects, "explain", "pod/under", node=SHORT))
    assert f"Its node n1 has {SAID} 1 of 2 is evicted before this pod, default/over." in second


def test_Q3_critical_pod_on_a_node_under_pressure_stays(tmp_path: Path) -> None:
    page = _flat(_on(tmp_path, [_pod("agent", priority=2_000_001_000)], "explain", "pod/agent", node=SHORT))
    assert f"Its node n1 has {SAID} This pod is never evicted: it is critical." in page


def test_Q3_report_counts_a_node_under_pressure_without_usage(tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    _on(tmp_path, [_pod("web")], "report", "-A", "-o", str(page), node=SHORT)
    assert "n1 is under MemoryPressure." in page.read_text()
