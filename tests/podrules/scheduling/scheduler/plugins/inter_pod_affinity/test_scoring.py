"""Cases of upstream's interpodaffinity/scoring_test.go at v1.36.3."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from podrules.api.model.node import Node
from podrules.api.model.pod import Pod
from podrules.scheduling.scheduler.framework.answers import Code
from podrules.scheduling.scheduler.plugins.inter_pod_affinity import InterPodAffinity, InterPodAffinityArgs
from tests.podrules.scheduling.scheduler.plugins.building_affinity import (
    NAMESPACES,
    affinity_pod,
    labelled_node,
    make_context,
    term,
)
from tests.table import row, table

S1, S2 = {"security": "S1"}, {"security": "S2"}
CHINA, CHINA_AZ1, INDIA, AZ1, AZ2 = (
    {"region": "China"},
    {"region": "China", "az": "az1"},
    {"region": "India"},
    {"az": "az1"},
    {"az": "az2"},
)
WITH_TEAM1 = {"namespaces": ["subteam2.team2"], "namespace_selector": ("team in team1",)}

NEAR_S1: dict[str, Any] = {"near": term("region", "security in S1", weight=5)}
NEAR_S2: dict[str, Any] = {"near": term("region", "security in S2", weight=6)}
NEAR_SEVERAL: dict[str, Any] = {
    "near": [
        term("region", "security notin S1", "security in S2", weight=8),
        term("region", "security", "!wrongkey", weight=2),
    ]
}
HARD: dict[str, Any] = {"near": [term("region", "security in S1,value2"), term("region", "security", "!wrongkey")]}
AWAY_S1: dict[str, Any] = {"away": term("az", "security in S1", weight=5)}
AWAY_S2: dict[str, Any] = {"away": term("az", "security in S2", weight=5)}
NEAR_S1_AWAY_S2: dict[str, Any] = {
    "near": term("region", "security in S1", weight=8),
    "away": term("az", "security in S2", weight=5),
}
NEAR_NAMESPACES: dict[str, Any] = {"near": term("region", "security in S1", weight=5, **WITH_TEAM1)}
AWAY_NAMESPACES: dict[str, Any] = {"away": term("region", "security in S1", weight=5, **WITH_TEAM1)}


def nodes(*labels: dict[str, str]) -> list[Node]:
    return [labelled_node(f"node{number}", **entry) for number, entry in enumerate(labels, 1)]


def pods(*entries: tuple[int, dict[str, str]], **affinity: Any) -> list[Pod]:
    return [affinity_pod(labels, node=f"node{number}", **affinity) for number, labels in entries]


def score(
    pod: Pod, bound: Sequence[Pod], table: Sequence[Node], args: InterPodAffinityArgs | None = None
) -> list[int] | Code:
    plugin = InterPodAffinity()
    context = make_context(pod, table, bound, snapshot=NAMESPACES, args={plugin.name: args} if args else None)
    feasible = np.arange(len(table), dtype=np.int32)
    found = plugin.pre_score(context, feasible)
    return plugin.score(context, found.state, feasible).tolist() if found.status.ok else found.status.code


SIX = pods((1, S2), (1, S2), (2, S2), (3, S2), (4, S2), (5, S2))
FIVE_NODES = nodes(CHINA, INDIA, CHINA, CHINA, INDIA)
TEAM_POD: dict[str, Any] = {"labels": S1, "namespace": "subteam1.team1"}


def in_teams(*entries: tuple[int, str]) -> list[Pod]:
    return [affinity_pod(S1, node=f"node{number}", namespace=namespace) for number, namespace in entries]


MATCHING_SELECTOR = in_teams((1, "subteam1.team1"), (1, "subteam1.team1"), (1, "subteam1.team2"), (2, "subteam2.team1"))
MATCHING_BOTH = in_teams((1, "subteam1.team1"), (1, "subteam1.team1"), (1, "subteam2.team2"), (2, "subteam2.team1"))


@table(
    "pod, bound, table, expected",
    {
        "all nodes are same priority as Affinity is nil": row(
            affinity_pod(S1), [], nodes(CHINA, INDIA, AZ1), Code.SKIP
        ),
        "Affinity: pod that matches topology key & pods in nodes will get high score": row(
            affinity_pod(S1, **NEAR_S1), pods((1, S1), (2, S2), (3, S1)), nodes(CHINA, INDIA, AZ1), [100, 0, 0]
        ),
        "All the nodes that have the same topology key & label value have the same score": row(
            affinity_pod(**NEAR_S1), pods((1, S1)), nodes(CHINA, CHINA_AZ1, INDIA), [100, 100, 0]
        ),
        "Affinity: the region which has more matches will get high score": row(
            affinity_pod(S1, **NEAR_S2), SIX, FIVE_NODES, [100, 0, 100, 100, 0]
        ),
        "Affinity: different Label operators and values, including some match failures": row(
            affinity_pod(S1, **NEAR_SEVERAL), pods((1, S1), (2, S2), (3, S1)), nodes(CHINA, INDIA, AZ1), [20, 100, 0]
        ),
        "Affinity symmetry: considered only the preferred terms in pod affinity symmetry": row(
            affinity_pod(S2),
            [*pods((1, S1), **NEAR_S1), *pods((2, S2), **NEAR_S2)],
            nodes(CHINA, INDIA, AZ1),
            [0, 100, 0],
        ),
        "Affinity symmetry with namespace selector": row(
            affinity_pod(**TEAM_POD),
            [*pods((1, S1), **NEAR_NAMESPACES), *pods((2, S2), **NEAR_S2)],
            nodes(CHINA, INDIA, AZ1),
            [100, 0, 0],
        ),
        "AntiAffinity symmetry with namespace selector": row(
            affinity_pod(**TEAM_POD),
            [*pods((1, S1), **AWAY_NAMESPACES), *pods((2, S2), **NEAR_S2)],
            nodes(CHINA, INDIA, AZ1),
            [0, 100, 100],
        ),
        "Affinity symmetry: considered required terms in pod affinity symmetry": row(
            affinity_pod(S1), pods((1, S1), (2, S2), **HARD), nodes(CHINA, INDIA, AZ1), [100, 100, 0]
        ),
        "Anti Affinity: pod that does not match existing pods in node will get high score": row(
            affinity_pod(S1, **AWAY_S1), pods((1, S1), (2, S2)), nodes(AZ1, CHINA), [0, 100]
        ),
        "Anti Affinity: pod that does not match topology key & match the pods in nodes will get higher score": row(
            affinity_pod(S1, **AWAY_S1), pods((1, S1), (2, S1)), nodes(AZ1, CHINA), [0, 100]
        ),
        "Anti Affinity: the node which has more unmatches will get high score": row(
            affinity_pod(S1, **AWAY_S1), pods((1, S1), (1, S1), (2, S2)), nodes(AZ1, INDIA), [0, 100]
        ),
        "Anti Affinity symmetry: the existing pods in node which has anti affinity match will get high score": row(
            affinity_pod(S2), [*pods((1, S1), **AWAY_S2), *pods((2, S2), **AWAY_S1)], nodes(AZ1, AZ2), [0, 100]
        ),
        "Affinity and Anti Affinity: considered only preferred terms in both": row(
            affinity_pod(S1, **NEAR_S1_AWAY_S2), pods((1, S1), (2, S1)), nodes(CHINA, AZ1), [100, 0]
        ),
        "Affinity and Anti Affinity: the pod to schedule and existing pods have the same labels": row(
            affinity_pod(S1, **NEAR_S1_AWAY_S2),
            pods((1, S1), (1, S1), (2, S1), (3, S1), (3, S1), (4, S1), (5, S1)),
            nodes(CHINA_AZ1, INDIA, CHINA, CHINA, INDIA),
            [100, 0, 100, 100, 0],
        ),
        "Affinity and Anti Affinity and symmetry: considered only preferred terms in all": row(
            affinity_pod(S1, **NEAR_S1_AWAY_S2),
            [*pods((1, S1), (2, S2)), *pods((3, {}), **NEAR_S1_AWAY_S2), *pods((4, {}), **AWAY_S1)],
            nodes(CHINA, AZ1, INDIA, AZ2),
            [100, 0, 100, 0],
        ),
        "Avoid panic when partial nodes in a topology don't have pods with affinity": row(
            affinity_pod(S1), [*pods((1, S1)), *pods((2, {}), **NEAR_S1_AWAY_S2)], nodes(CHINA, CHINA), [0, 0]
        ),
        "invalid Affinity fails PreScore": row(
            affinity_pod(near=term("region", "security in {{.bad-value.}}", weight=8)),
            [],
            nodes(CHINA, CHINA),
            Code.ERROR,
        ),
        "invalid AntiAffinity fails PreScore": row(
            affinity_pod(away=term("az", "security in {{.bad-value.}}", weight=5)), [], nodes(CHINA, CHINA), Code.ERROR
        ),
        "Affinity with pods matching NamespaceSelector": row(
            affinity_pod(**TEAM_POD, **NEAR_NAMESPACES), MATCHING_SELECTOR, nodes(CHINA, INDIA), [100, 0]
        ),
        "Affinity with pods matching both NamespaceSelector and Namespaces fields": row(
            affinity_pod(**TEAM_POD, **NEAR_NAMESPACES), MATCHING_BOTH, nodes(CHINA, INDIA), [100, 0]
        ),
        "Anti Affinity with pods matching NamespaceSelector": row(
            affinity_pod(**TEAM_POD, **AWAY_NAMESPACES), MATCHING_SELECTOR, nodes(CHINA, INDIA), [0, 100]
        ),
        "Anti Affinity with pods matching both NamespaceSelector and Namespaces fields": row(
            affinity_pod(**TEAM_POD, **AWAY_NAMESPACES), MATCHING_BOTH, nodes(CHINA, INDIA), [0, 100]
        ),
        "Do not ignore preferred terms of existing pods": row(
            affinity_pod(S2),
            [*pods((1, S1), **NEAR_S1_AWAY_S2), *pods((2, S2), **NEAR_S2)],
            nodes(CHINA, INDIA),
            [0, 100],
        ),
        "No nodes to score": row(affinity_pod(S2), [], [], Code.SKIP),
    },
)
def test_preferred_affinity(pod: Pod, bound: Sequence[Pod], table: Sequence[Node], expected: list[int] | Code) -> None:
    assert score(pod, bound, table) == expected


def test_score_share_is_a_truncated_float() -> None:
    """29 of 100 times 100 is 28.999… in floats, as upstream works it out; whole numbers would give 29."""
    near = [term("region", "security in S1", weight=29), term("region", "security in S2", weight=100)]
    assert score(affinity_pod(near=near), pods((1, S1), (2, S2)), nodes(CHINA, INDIA, AZ1)) == [28, 100, 0]


IGNORE = InterPodAffinityArgs(ignore_preferred_terms_of_existing_pods=True)


@table(
    "pod, expected",
    {
        "Ignore preferred terms of existing pods": row(affinity_pod(S2), Code.SKIP),
        "not for a pod with preferred terms": row(affinity_pod(S2, **NEAR_S1), [0, 100]),
    },
)
def test_ignore_preferred_terms_of_existing_pods(pod: Pod, expected: list[int] | Code) -> None:
    bound = [*pods((1, S2), **NEAR_S1_AWAY_S2), *pods((2, S2), **NEAR_S2)]

    assert score(pod, bound, nodes(CHINA, INDIA), IGNORE) == expected


HARD_NAMESPACES = term(
    "region", "service in S1", namespaces=["", "subteam2.team2"], namespace_selector=("team in team1",)
)


@table(
    "namespace, weight, expected",
    {
        "with default weight": row("", 1, [100, 100, 0]),
        "with zero weight": row("", 0, Code.SKIP),
        "with no matching namespace": row("subteam1.team2", 1, Code.SKIP),
        "with matching NamespaceSelector": row("subteam1.team1", 1, [100, 100, 0]),
        "with matching Namespaces": row("subteam2.team2", 1, [100, 100, 0]),
    },
)
def test_hard_pod_affinity_weight(namespace: str, weight: int, expected: list[int] | Code) -> None:
    bound = [affinity_pod(node=name, near=HARD_NAMESPACES) for name in ("node1", "node2")]
    args = InterPodAffinityArgs(hard_pod_affinity_weight=weight)

    assert (
        score(affinity_pod({"service": "S1"}, namespace=namespace), bound, nodes(CHINA, INDIA, AZ1), args) == expected
    )
