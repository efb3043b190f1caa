"""One cycle over all plugins: the order of verdicts, nominated pods, narrowed nodes, the message, the best nodes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from podrules.api.features import REFERENCE
from podrules.api.model.decode import from_object
from podrules.api.model.pod import Pod
from podrules.api.model.snapshot import ClusterSnapshot
from podrules.scheduling.scheduler.cycle import FilterResult, filter_nodes, pre_enqueue, score_nodes
from podrules.scheduling.scheduler.framework.answers import Code, Status
from podrules.scheduling.scheduler.framework.node_table import NodeTable
from podrules.scheduling.scheduler.plugin_set import Plugins
from podrules.scheduling.scheduler.profile import Profile
from podrules.scheduling.scheduler.runtime import Framework, new_framework
from tests.objects import raw_node, raw_pod
from tests.podrules.scheduling.building import HOST, Json, mounted, near, node_affinity
from tests.scheduling import DEFAULT_FRAMEWORK, unschedulable_plugins
from tests.table import row, table

TAINT = {"key": "dedicated", "value": "db", "effect": "NoSchedule"}


def make_node(name: str, cpu: str = "4", *, labels: Json | None = None, **spec: Any) -> Json:
    return raw_node(name, labels, allocatable={"cpu": cpu, "memory": "8Gi", "pods": "110"}, **spec)


def make_pod(name: str, cpu: str = "1", *, nominated: str = "", **spec: Any) -> Json:
    requests, status = {"cpu": cpu}, {"nominatedNodeName": nominated}
    return raw_pod(name, "default", uid=name, requests=requests, status=status, **spec)


TWO = [make_node("a"), make_node("b")]


def on_node(name: str) -> Json:
    return node_affinity("metadata.name", "In", name, matching="matchFields")


def cycle(
    pod: Json, nodes: Sequence[Json], pods: Sequence[Json] = (), framework: Framework = DEFAULT_FRAMEWORK
) -> FilterResult:
    snapshot = from_object({"nodes": nodes, "pods": pods}, ClusterSnapshot)
    table = NodeTable(snapshot.nodes, snapshot.pods)
    return filter_nodes(from_object(pod, Pod), table, snapshot, features=REFERENCE, framework=framework)


def names(filtered: FilterResult, rows: Any) -> list[str]:
    return [filtered.context.table.names[row] for row in rows]


def test_first_plugin_that_rejects_counts() -> None:
    found = cycle(make_pod("web", cpu="9"), [make_node("a", unschedulable=True, taints=[TAINT])])
    assert found.rejected["a"] == Status(
        Code.UNSCHEDULABLE_AND_UNRESOLVABLE, ("node(s) were unschedulable",), "NodeUnschedulable"
    )
    assert unschedulable_plugins(found) == {"NodeUnschedulable"}


def test_sentence_counts_reasons_in_the_order_of_their_text() -> None:
    nodes = [
        *(make_node(f"small-{number}", cpu="1") for number in range(11)),
        make_node("cordoned", unschedulable=True),
        make_node("tainted", taints=[TAINT]),
        make_node("full", cpu="4"),
    ]
    found = cycle(make_pod("web", cpu="3"), nodes, [make_pod("old", cpu="2", nodeName="full")])
    assert list(found.feasible) == []
    # As text: "1 node(s)" before "12 Insufficient".
    assert found.message == (
        "0/14 nodes are available: 1 node(s) had untolerated taint(s), 1 node(s) were unschedulable, "
        "12 Insufficient cpu."
    )
    assert unschedulable_plugins(found) == {"NodeUnschedulable", "TaintToleration", "NodeResourcesFit"}


def test_pre_filter_narrows_the_nodes() -> None:
    found = cycle(make_pod("web", affinity=on_node("b"), cpu="9"), [make_node("a"), make_node("b"), make_node("c")])
    assert found.pre_filter.node_names == frozenset({"b"})
    assert list(found.rejected) == ["b"]
    assert found.message == (
        "0/3 nodes are available: 1 Insufficient cpu, 2 node(s) didn't satisfy plugin(s) [NodeAffinity]."
    )
    assert unschedulable_plugins(found) == {"NodeAffinity", "NodeResourcesFit"}


def test_pre_filter_names_a_node_that_does_not_exist() -> None:
    found = cycle(make_pod("web", affinity=on_node("gone")), TWO)
    assert list(found.feasible) == []
    assert found.message == "0/2 nodes are available: 2 node(s) didn't satisfy plugin(s) [NodeAffinity]."


def test_pre_filter_rejects_the_pod_for_all_nodes() -> None:
    found = cycle(make_pod("web", volumes=[mounted("missing")]), TWO)
    assert found.pre_filter.status.plugin
    assert found.rejected == {}
    assert list(found.feasible) == []
    assert found.message == '0/2 nodes are available: persistentvolumeclaim "missing" not found.'


@table(
    "priority, fits",
    {
        "of lower priority: ignored": row(5, ["a", "b"]),
        "of the same priority: it keeps the room": row(10, ["b"]),
        "of higher priority: likewise": row(20, ["b"]),
    },
)
def test_nominated_pod_reserves_its_room(priority: int, fits: list[str]) -> None:
    waiting = make_pod("waiting", cpu="3", nominated="a", priority=priority)
    found = cycle(make_pod("web", cpu="2", priority=10), TWO, [waiting])
    assert names(found, found.feasible) == fits
    assert [status.reasons for status in found.rejected.values()] == [("Insufficient cpu",)] * (2 - len(fits))


def test_nominated_pod_does_not_satisfy_affinity() -> None:
    """The pod has affinity to one that does not run yet: it has to fit without it too."""
    waiting = make_pod("waiting", nominated="a", priority=10, labels={"app": "db"})
    found = cycle(
        make_pod("web", priority=10, affinity=near(app="db")), [make_node("a", labels={HOST: "a"})], [waiting]
    )
    assert found.rejected["a"].plugin == "InterPodAffinity"


def test_own_nomination_reserves_no_room() -> None:
    pod = make_pod("web", cpu="3", nominated="a", priority=10)
    found = cycle(pod, [make_node("a")], [pod])
    assert names(found, found.feasible) == ["a"]


def test_scores_add_up_and_ties_are_all_best() -> None:
    nodes = [make_node("a"), make_node("b"), make_node("busy")]
    found = cycle(make_pod("web"), nodes, [make_pod("old", cpu="2", nodeName="busy")])
    scored = score_nodes(found)
    assert names(found, scored.best) == ["a", "b"]
    assert scored.totals.tolist() == [sum(column) for column in zip(*scored.by_plugin.values(), strict=True)]
    assert scored.skipped >= {"InterPodAffinity", "NodeAffinity"}


def test_P3_gated_pod_is_not_queued() -> None:
    gated = from_object(make_pod("web", schedulingGates=[{"name": "example.com/quota"}]), Pod)
    status = pre_enqueue(gated, ClusterSnapshot(), DEFAULT_FRAMEWORK)
    assert (status.plugin, status.rejected) == ("SchedulingGates", True)
    assert pre_enqueue(from_object(make_pod("web"), Pod), ClusterSnapshot(), DEFAULT_FRAMEWORK).ok


def make_framework(**points: Json) -> Framework:
    """The framework of a profile, with points as written."""
    return new_framework(Profile("default-scheduler", plugins=from_object(points, Plugins)))


def disable(*plugins: str) -> Json:
    return {"disabled": [{"name": name} for name in plugins]}


def test_gated_pod_is_queued_without_gate_plugin() -> None:
    gated = from_object(make_pod("web", schedulingGates=[{"name": "example.com/quota"}]), Pod)
    framework = make_framework(preEnqueue=disable("SchedulingGates"))
    assert pre_enqueue(gated, ClusterSnapshot(), framework).ok


TAINTED = make_node("tainted", taints=[TAINT])
SMALL = make_node("small", cpu="1")


def test_disabled_filter_plugins_do_not_filter() -> None:
    pod = make_pod("web", cpu="2")
    assert unschedulable_plugins(cycle(pod, [TAINTED, SMALL])) == {"TaintToleration", "NodeResourcesFit"}
    found = cycle(pod, [TAINTED, SMALL], framework=make_framework(filter=disable("TaintToleration")))
    assert names(found, found.feasible) == ["tainted"]
    found = cycle(pod, [TAINTED, SMALL], framework=make_framework(filter=disable("*")))
    assert names(found, found.feasible) == ["tainted", "small"]


def test_profile_order_decides_which_rejection_counts() -> None:
    nodes = [make_node("both", cpu="1", taints=TAINTED["spec"]["taints"])]
    first = {"enabled": [{"name": "NodeResourcesFit"}]}
    assert cycle(make_pod("web", cpu="2"), nodes).rejected["both"].plugin == "TaintToleration"
    found = cycle(make_pod("web", cpu="2"), nodes, framework=make_framework(filter=first))
    assert found.rejected["both"].plugin == "NodeResourcesFit"


def test_pre_filter_runs_without_its_filter() -> None:
    """NodeAffinity narrows the nodes in PreFilter; no plugin checks labels after that."""
    pod = make_pod("web", affinity=on_node("b"), nodeSelector={"disk": "ssd"})
    nodes = TWO
    assert list(cycle(pod, nodes).feasible) == []
    found = cycle(pod, nodes, framework=make_framework(filter=disable("NodeAffinity")))
    assert names(found, found.feasible) == ["b"]


@table(
    "plugin, error",
    {
        "it needs the state of PreFilter": row(
            "NodeResourcesFit",
            'running "NodeResourcesFit" filter plugin: '
            'error reading "PreFilterNodeResourcesFit" from cycleState: not found',
        ),
        "it works without": row("NodeAffinity", ""),
        "it computes the state itself": row("VolumeZone", ""),
    },
)
def test_filter_without_its_pre_filter(plugin: str, error: str) -> None:
    found = cycle(make_pod("web"), TWO, framework=make_framework(preFilter=disable(plugin)))
    assert found.error == error
    assert names(found, found.feasible) == ([] if error else ["a", "b"])


def test_volume_zone_finds_a_missing_claim_at_each_node() -> None:
    pod = make_pod("web", volumes=[mounted("gone")])
    others = disable("VolumeRestrictions", "NodeVolumeLimits", "VolumeBinding")
    framework = make_framework(multiPoint=others, preFilter=disable("VolumeZone"))
    found = cycle(pod, TWO, framework=framework)
    assert found.rejected["b"] == Status(
        Code.UNSCHEDULABLE_AND_UNRESOLVABLE, ('persistentvolumeclaim "gone" not found',), "VolumeZone"
    )


SOFT = make_node("soft", taints=[{"key": "a", "effect": "PreferNoSchedule"}])


def test_weight_multiplies_the_score() -> None:
    weighty = {"enabled": [{"name": "TaintToleration", "weight": 7}]}
    found = cycle(make_pod("web"), [SOFT, make_node("free")], framework=make_framework(score=weighty))
    scored = score_nodes(found)
    assert next(iter(scored.by_plugin)) == "TaintToleration"
    assert scored.by_plugin["TaintToleration"].tolist() == [0, 700]
    assert scored.totals.tolist() == [sum(column) for column in zip(*scored.by_plugin.values(), strict=True)]


def test_disabled_score_plugins_do_not_score() -> None:
    nodes = [SOFT, make_node("busy")]
    pods = [make_pod("old", cpu="2", nodeName="busy")]
    found = cycle(make_pod("web"), nodes, pods)
    assert names(found, score_nodes(found).best) == ["busy"]
    found = cycle(make_pod("web"), nodes, pods, make_framework(multiPoint=disable("TaintToleration")))
    assert names(found, score_nodes(found).best) == ["soft"]


def test_every_node_ties_without_score_plugins() -> None:
    found = cycle(make_pod("web"), [SOFT, make_node("free")], framework=make_framework(score=disable("*")))
    scored = score_nodes(found)
    assert (scored.by_plugin, scored.totals.tolist()) == ({}, [1, 1])
    assert names(found, scored.best) == ["soft", "free"]


@table(
    "points, error",
    {
        "it needs the state of PreScore": row(
            {"preScore": disable("TaintToleration")},
            'running Score plugins: plugin "TaintToleration" failed with: '
            'failed to read "PreScoreTaintToleration" from cycleState: not found',
        ),
        "it needs the state of PreFilter": row(
            {"preFilter": disable("DynamicResources"), "filter": disable("DynamicResources")},
            'running Score plugins: plugin "DynamicResources" failed with: not found',
        ),
    },
)
def test_score_without_earlier_points(points: Json, error: str) -> None:
    found = cycle(make_pod("web"), TWO, framework=make_framework(**points))
    scored = score_nodes(found)
    assert (scored.error, list(scored.best)) == (error, [])


def test_scores_without_pre_score_are_the_same() -> None:
    """NodeAffinity would have skipped: it scores 0 instead."""
    nodes = [SOFT, make_node("free"), make_node("busy")]
    pods = [make_pod("old", cpu="2", nodeName="busy")]
    alone = ("NodeAffinity", "NodeResourcesFit", "NodeResourcesBalancedAllocation")
    usual = score_nodes(cycle(make_pod("web"), nodes, pods))
    scored = score_nodes(cycle(make_pod("web"), nodes, pods, make_framework(preScore=disable(*alone))))
    assert scored.totals.tolist() == usual.totals.tolist()
    assert scored.skipped == usual.skipped - {"NodeAffinity"}
    assert scored.by_plugin["NodeAffinity"].tolist() == [0, 0, 0]


def test_nominated_node_is_tried_despite_pre_filter() -> None:
    """Upstream tries it first, and keeps its plugin with those that excluded nodes."""
    pod = make_pod("web", affinity=on_node("small"), nominated="cordoned", cpu="2")
    nodes = [SMALL, make_node("cordoned", unschedulable=True), make_node("other")]
    found = cycle(pod, nodes)
    assert list(found.rejected) == ["small"]
    assert found.nominated["cordoned"].plugin == "NodeUnschedulable"
    assert unschedulable_plugins(found) == {"NodeAffinity", "NodeResourcesFit", "NodeUnschedulable"}
    assert found.message == (
        "0/3 nodes are available: 1 Insufficient cpu, "
        "1 node(s) didn't satisfy plugin(s) [NodeAffinity NodeUnschedulable], 1 node(s) were unschedulable."
    )
    assert found.reasons(1) == ("node(s) were unschedulable",)


def test_nominated_node_kept_by_pre_filter_is_rejected() -> None:
    pod = make_pod("web", affinity=on_node("small"), nominated="small", cpu="2")
    found = cycle(pod, [SMALL, make_node("other")])
    assert found.nominated == {}
    left_out = "node(s) didn't satisfy plugin(s) [NodeAffinity NodeResourcesFit]"
    assert found.message == f"0/2 nodes are available: 1 Insufficient cpu, 1 {left_out}."
    assert found.reasons(1) == (left_out,)


def test_only_fitting_node_needs_no_score() -> None:
    framework = make_framework(preScore=disable("TaintToleration"))
    alone = score_nodes(cycle(make_pod("web"), [make_node("a")], framework=framework))
    assert alone.error
    assert not alone.fails
    assert alone.best.tolist() == [0]
    both = score_nodes(cycle(make_pod("web"), TWO, framework=framework))
    assert both.fails
    assert both.best.tolist() == []
