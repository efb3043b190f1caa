"""Texts about topology spread: the current pods, the domains' numbers, the terms of soft constraints."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Final

import pytest

from kubectl_plugin.views.cluster.cluster_page import spread_words
from kubectl_plugin.views.scheduling.spread_words import domain_words, score_tables, spread_table
from podrules.scheduling.placement.outcome import ConstraintSpread, NodeScore, SoftSpreadScore
from podrules.scheduling.scheduler.plugins.pod_topology_spread.constraints import SpreadDomain, SpreadTerm
from podrules.scheduling.skew import ConstraintSkew, WorkloadSpread
from tests.kubectl_plugin.answers import check_texts, data, said, write_list
from tests.kubectl_plugin.edits import SEEDS, items_of
from tests.kubectl_plugin.running import run
from tests.objects import raw_pod

FIELD: Final = "spec.topologySpreadConstraints[0]"


def snapshot(name: str) -> tuple[str, str]:
    return "--snapshot", str(SEEDS / name)


def test_workload_shows_current_spread() -> None:
    assert (
        "Spread now skew 3 > maxSkew 1 now; nothing moves running pods: zoneA has 3, least is 0 in zoneB "
        "(topology.kubernetes.io/zone, DoNotSchedule)"
    ) in said("explain", "deployment/web", *snapshot("s1dep.json"))


def test_replica_set_and_json_agree_on_spread() -> None:
    (by_deployment,) = data("explain", "deployment/web", *snapshot("s1dep.json"))["spread"]
    (by_replica_set,) = data("explain", "replicaset/web-h1", *snapshot("s1dep.json"))["spread"]
    assert by_deployment == by_replica_set
    (constraint,) = by_deployment["constraints"]
    assert [constraint[key] for key in ("most", "mostIn", "least", "leastIn")] == [3, "zoneA", 0, "zoneB"]


EVEN: Final = ConstraintSkew(FIELD, "zone", False, 2, 2, 1, 1, "a", "b")


@pytest.mark.parametrize(
    ("skew", "pods", "words"),
    [
        (
            ConstraintSkew(FIELD, "zone", True, 2, 3, 0, 1, "a", "b"),
            {"a": 3},
            "skew 3 > maxSkew 1 now: a has 3, least is 0 in b (zone, DoNotSchedule)",
        ),
        (EVEN, {"a": 2, "b": 1}, "skew 1 within maxSkew 1 now: a has 2, least is 1 in b (zone, ScheduleAnyway)"),
    ],
)
def test_report_uses_the_same_words(skew: ConstraintSkew, pods: dict[str, int], words: str) -> None:
    assert spread_words(WorkloadSpread("shop", "Deployment", "web", pods, (skew,)))[1] == words


def test_too_few_domains_are_reported() -> None:
    few = ConstraintSkew(FIELD, "zone", True, 2, 2, 0, 1, "a", None)
    counts = "least counts as 0, because 2 domains are fewer than minDomains"
    assert domain_words(few) == f"a has 2, {counts} (zone, DoNotSchedule)"


def explained(manifest: str, of: str, *more: str) -> str:
    return said("explain", "-f", str(SEEDS / manifest), *snapshot(of), *more)


def test_table_of_domains_adds_up() -> None:
    """Each skew is the pods with this one minus the minimum; zoneC counts, though its only node is tainted."""
    assert (
        "pods with it skew domain zone, maxSkew 1, least 0 (spec.topologySpreadConstraints[0]) "
        "2 3 3 zoneA: more than maxSkew 1 1 2 2 zoneB: more than maxSkew 1 "
        "0 1 1 zoneC: counts, but no node of it takes the pod (TaintToleration)"
    ) in explained("one.yaml", "s1t.json", "-o", "wide")


def test_domain_without_counted_nodes_is_reported() -> None:
    assert (
        "1 2 1 zoneB: fits zoneC: not counted, because node policies or missing keys leave out every node there"
    ) in explained("honor.yaml", "s1t.json", "-o", "wide")


def test_suggested_taint_policy_frees_the_nodes() -> None:
    before = explained("one.yaml", "s1t.json", "-o", "wide")
    assert "Ways out: nodeTaintsPolicy Honor on zone (then node4 and 1 more node); or tolerate k=v:NoSchedule" in before
    assert "2 of 5 nodes fit score node by plugin 398 node4" in explained("honor.yaml", "s1t.json", "-o", "wide")


def test_json_has_the_terms_of_soft_constraints() -> None:
    report = data("explain", "-f", str(SEEDS / "dany.yaml"), *snapshot("s1d.json"))
    soft = {entry["node"]: entry["softSpread"] for entry in report["placement"]["scores"]}
    raw_normalized = {node: (one["raw"], one["normalized"], one["weight"]) for node, one in soft.items()}
    assert raw_normalized == {"node-a": (8, 84, 2), "node-b": (6, 100, 2), "node-x": (6, 100, 2), "node-y": (13, 46, 2)}
    assert [(term["topologyKey"], term["domain"], term["count"]) for term in soft["node-a"]["terms"]] == [
        ("zone", "zone1", 3),
        ("node", "node-a", 2),
    ]
    assert [round(math.exp(term["weight"])) for term in soft["node-a"]["terms"]] == [4, 6]


def test_terms_add_up_to_the_score() -> None:
    """The result of the terms is the plugin's score of the node."""
    report = data("explain", "-f", str(SEEDS / "dany.yaml"), *snapshot("s1d.json"))
    for entry in report["placement"]["scores"]:
        soft = entry["softSpread"]
        assert soft["normalized"] * soft["weight"] == entry["plugins"]["PodTopologySpread"]
        assert round(sum(term["score"] for term in soft["terms"])) == soft["raw"]


def test_wide_shows_them_and_narrow_does_not() -> None:
    wide = explained("dany.yaml", "s1d.json", "-o", "wide")
    assert "zone: weight ln 4 = 1.386 (2 domains + 2), maxSkew 1 adds 0" in wide
    assert "node: weight ln 6 = 1.792 (4 domains + 2), maxSkew 1 adds 0" in wide
    assert "168 84 x 2 8 node-a 3 x ln 4 (zone1) + 2 x ln 6 (node-a) = 7.74" in wide
    assert "Soft topology spread" not in explained("dany.yaml", "s1d.json")


def test_node_without_the_key_is_skipped() -> None:
    (table,) = score_tables([NodeScore("a", 0, {}, SoftSpreadScore((), 0, 0, 2))], ())
    assert table.rows == (("0", "0 x 2", "0", "a", "ignored: it lacks a topology key"),)


def test_term_with_slack_and_one_without_the_key() -> None:
    slack = SpreadTerm(FIELD, "zone", "a", 2, 2, math.log(4), 3, 2 * math.log(4) + 2)
    absent = SpreadTerm(FIELD, "rack", None, 0, 1, math.log(3), 1, 0.0)
    (table,) = score_tables([NodeScore("n", 200, {}, SoftSpreadScore((slack, absent), 5, 100, 2))], ())
    assert table.rows[-1] == ("200", "100 x 2", "5", "n", "2 x ln 4 + 2 (a) + 0 (no rack) = 4.77")
    assert table.rows[0][-1].endswith("maxSkew 3 adds 2 (spec.topologySpreadConstraints[0])")


def test_place_names_uncounted_domains() -> None:
    page = said("place", "-f", str(SEEDS / "honor.yaml"), *snapshot("s1t.json"))
    assert "pod/mypod 0 zone, maxSkew 1 DoNotSchedule: zoneA 2, zoneB 2; not counted: zoneC" in page


def test_place_shows_minimum_of_missing_domains() -> None:
    constraint = {"maxSkew": 2, "minDomains": 3, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule"}
    spread = [constraint | {"labelSelector": {"matchLabels": {"app": "new"}}}]
    pod = raw_pod("new", labels={"app": "new"}, topologySpreadConstraints=spread)
    ran = run("place", "-f", "-", "--replicas", "4", *snapshot("s1d.json"), stdin=json.dumps(pod))
    assert "pod/new 2 zone, maxSkew 2 DoNotSchedule, least 0: zone1 2, zone2 2" in " ".join(ran.out.split())


def test_domain_table_explains_uncounted_pod_and_domains() -> None:
    entry = ConstraintSpread(
        FIELD, "zone", 9, 0, (SpreadDomain("a", 2, 2, fits=True, with_pod=2),), 1, 3, ("x", "y", "z"), 7, ()
    )
    lines = [row[-1] for row in spread_table([entry]).rows]
    assert lines == [
        f"zone, maxSkew 9, least 0, because of 1 domain where minDomains is 3 ({FIELD})",
        "a: fits",
        "the pod itself does not count: its labels do not match the selector",
        "x, y, z and 4 more: not counted, because node policies or missing keys leave out every node there",
    ]


def test_normalized_scores_show_old_and_new_formula() -> None:
    text = said("explain", "pod/p", "--snapshot", str(SEEDS.parent / "field/unitsoft.json"), "-o", "wide")
    assert "the fewer pods the better; raw is rounded" in text
    assert (
        "NormalizeScore, cut to whole numbers plugin node of 100 "
        "PodTopologySpread 100 x (most + least - raw) / most node-b and 1 more 100 x (13 + 6 - 6) / 13 = 100 "
        "node-a 100 x (13 + 6 - 8) / 13 = 84 "
        "node-y 100 x (13 + 6 - 13) / 13 = 46 "
        "before 1.24: raw cut 100 x (most + least - raw) / most node-b and 1 more 100 x (12 + 5 - 5) / 12 = 100 "
        "node-a 100 x (12 + 5 - 7) / 12 = 83 "
        "node-y 100 x (12 + 5 - 12) / 12 = 41 "
    ) in text
    assert "NormalizeScore" not in said("explain", "pod/p", "--snapshot", str(SEEDS.parent / "field/unitsoft.json"))


def test_scores_of_a_version_that_truncates(tmp_path: Path) -> None:
    items = items_of(SEEDS.parent / "field/unitsoft.json")
    for one in items:
        if one["kind"] == "Node":
            one["status"].setdefault("nodeInfo", {})["kubeletVersion"] = "v1.23.17"
    text = said("explain", "pod/p", "--snapshot", write_list(tmp_path / "old.json", items), "-o", "wide")
    check_texts(text, ("the fewer pods the better; raw is cut", "node-a 100 x (12 + 5 - 7) / 12 = 83"))
    check_texts(text, "VolumeBinding and PodTopologySpread; more may differ", "before 1.24")
