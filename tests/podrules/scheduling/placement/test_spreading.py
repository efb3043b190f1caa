"""Domains that count although they are closed to the pod, and values without counted nodes."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from msgspec.structs import replace

from podrules.scheduling.placement.outcome import ConstraintSpread, NormalizedScores
from podrules.scheduling.placement.remedies import normalized_scores
from podrules.scheduling.scheduler.cycle import score_nodes
from podrules.scheduling.scheduler.profile import read_profiles
from podrules.scheduling.scheduler.runtime import PLUGIN_ARGS, new_framework
from tests.podrules.scheduling.building import ZONE, Json, node_affinity, spread
from tests.podrules.scheduling.placement.building import make_node, make_pod, make_taint, place, situation, zoned
from tests.recorded import recorded

FOO = {"foo": "bar"}


def spread_of(nodes: list[Json], *, constraint: Json | None = None, **spec: Any) -> ConstraintSpread:
    constraints = [{**spread(ZONE, foo="bar"), **(constraint or {})}]
    pod = make_pod("new", labels=FOO, topologySpreadConstraints=constraints, **spec)
    (found,) = place(pod, nodes).spread
    return found


def rejected(found: ConstraintSpread) -> dict[str, tuple[str, ...]]:
    return {domain.value: domain.rejected_by for domain in found.domains}


def test_domain_with_only_rejected_nodes_is_closed() -> None:
    taints = [make_taint("k", "v")]
    first = [zoned("a1", "a", taints=taints), zoned("a2", "a")]
    nodes = [*first, zoned("b1", "b", taints=taints), zoned("b2", "b", cpu="500m")]
    assert rejected(spread_of(nodes)) == {"a": (), "b": ("TaintToleration", "NodeResourcesFit")}


def test_node_that_the_pod_names_closes_the_other_domains() -> None:
    pinned = node_affinity("metadata.name", "In", "a1", matching="matchFields")
    nodes = [zoned("a1", "a"), zoned("b1", "b")]
    found = spread_of(nodes, constraint={"nodeAffinityPolicy": "Ignore"}, affinity=pinned)
    assert rejected(found) == {"a": (), "b": ("NodeAffinity",)}


def test_values_without_counted_nodes_are_named() -> None:
    nodes = [zoned("a1", "a"), *(zoned(f"n{name}", name, taints=[make_taint("k")]) for name in "bcdef")]
    found = spread_of(nodes, constraint={"nodeTaintsPolicy": "Honor"})
    assert [domain.value for domain in found.domains] == ["a"]
    assert (found.left_out, found.left_out_count) == (("b", "c", "d"), 5)


def made(one: NormalizedScores, raw: int) -> int:
    """The result of the displayed formula, in floats and truncated as in Go."""
    numbers = {"most": one.most, "least": one.least, "raw": raw}
    return int(eval(one.formula.replace(" x ", " * "), {}, numbers))  # noqa: S307  # ours


def test_formulas_give_the_scores_that_upstream_recorded() -> None:
    seen: Counter[str] = Counter()
    for case in recorded("schedule"):
        given, expected = case["input"], case["expected"]
        if len(expected.get("scores", ())) < 2:
            continue
        profile = read_profiles(given["schedulerConfiguration"], PLUGIN_ARGS)["default-scheduler"]
        lists = {name: value for name, value in given.items() if isinstance(value, list)}
        known = replace(situation(given["pod"], **lists), framework=new_framework(profile))
        filtered = known.filtered()
        weights = {plugin.name: weight for plugin, weight in filtered.framework.score}
        for one in normalized_scores(filtered, score_nodes(filtered)):
            seen[one.plugin + one.before] += 1
            assert [made(one, value.raw) for value in one.values] == [value.score for value in one.values], case["id"]
            if one.before:
                continue
            column = expected["scorePlugins"].index(one.plugin)
            for value in one.values:
                assert value.score * weights[one.plugin] == expected["scores"][value.node][column], case["id"]
            scores = Counter(scores[column] for scores in expected["scores"].values())
            counted = sum(value.nodes for value in one.values)
            # Nodes without the key of a spread are skipped, with 0.
            assert counted == scores.total() or (
                one.plugin == "PodTopologySpread" and scores[0] >= scores.total() - counted
            )
    assert set(seen) >= {"TaintToleration", "NodeAffinity", "InterPodAffinity", "PodTopologySpread"}, seen
    assert min(seen.values()) >= 5, seen


@pytest.mark.parametrize(
    ("pods", "max_skew", "today", "older"),
    [
        # ln 5 = 1.609: 1.61 and 3.22 are 2 and 3; before 1.24 they were 1 and 3.
        ({"b": 1, "c": 2}, 1, {"a": (0, 100), "b": (2, 33), "c": (3, 0)}, {"a": (0, 100), "b": (1, 66), "c": (3, 0)}),
        # With maxSkew 3 each has 2 more: 2, 3.61, 8.44.
        ({"b": 1, "c": 4}, 3, {"a": (2, 100), "b": (4, 75), "c": (8, 25)}, {"a": (2, 100), "b": (3, 87), "c": (8, 25)}),
    ],
)
def test_soft_spread_includes_the_older_scores(
    pods: dict[str, int], max_skew: int, today: dict[str, Any], older: dict[str, Any]
) -> None:
    bound = [make_pod(f"{node}{number}", on=node, labels=FOO, cpu="0") for node in pods for number in range(pods[node])]
    nodes = [zoned(name, name) for name in "abc"]
    pod = make_pod("new", labels=FOO, topologySpreadConstraints=[spread(ZONE, max_skew, "ScheduleAnyway", foo="bar")])
    now, before = place(pod, nodes, bound, every_node=True).normalized
    assert {value.node: (value.raw, value.score) for value in now.values} == today
    assert {value.node: (value.raw, value.score) for value in before.values} == older
    assert (now.before, before.before) == ("", "1.24")
    assert place(pod, nodes, bound).normalized == ()


def test_plugins_with_equal_scores_are_left_out() -> None:
    tainted = make_node("t", taints=[make_taint("k", "v", "PreferNoSchedule"), make_taint("m", "", "PreferNoSchedule")])
    one = make_node("o", taints=[make_taint("k", "v", "PreferNoSchedule")])
    (found,) = place(make_pod("new"), [tainted, one, make_node("n")], every_node=True).normalized
    assert (found.plugin, found.formula, found.most) == ("TaintToleration", "100 - 100 x raw / most", 2)
    assert [(value.node, value.raw, value.score) for value in found.values] == [
        ("n", 0, 100),
        ("o", 1, 50),
        ("t", 2, 0),
    ]
    assert place(make_pod("new"), [make_node("n"), make_node("m")], every_node=True).normalized == ()
