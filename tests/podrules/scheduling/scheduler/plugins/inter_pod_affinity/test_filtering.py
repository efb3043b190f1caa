"""Cases of upstream's interpodaffinity/filtering_test.go at v1.36.3, and further ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from podrules.api.model.node import Node
from podrules.api.model.pod import Pod
from podrules.scheduling.scheduler.framework.answers import SKIP, SUCCESS, Code, Status
from podrules.scheduling.scheduler.plugins.inter_pod_affinity import InterPodAffinity, TopologyConflict
from podrules.scheduling.scheduler.plugins.inter_pod_affinity.filtering import (
    REASON_AFFINITY,
    REASON_ANTI_AFFINITY,
    REASON_EXISTING_ANTI_AFFINITY,
)
from tests.podrules.scheduling.scheduler.plugins.building_affinity import (
    NAMESPACES,
    affinity_pod,
    labelled_node,
    make_context,
    statuses,
    term,
)
from tests.table import row, table

AFFINITY = Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, (REASON_AFFINITY,))
ANTI_AFFINITY = Status(Code.UNSCHEDULABLE, (REASON_ANTI_AFFINITY,))
EXISTING = Status(Code.UNSCHEDULABLE, (REASON_EXISTING_ANTI_AFFINITY,))

SCAN = {"service": "securityscan"}
S1 = {"security": "S1"}


def at(node: str, labels: Mapping[str, str] | None = None, **fields: Any) -> Pod:
    """A pod on a node."""
    return affinity_pod(labels, node=node, **fields)


def there(labels: Mapping[str, str] | None = None, **fields: Any) -> Pod:
    """A pod on node1."""
    return at("node1", labels, **fields)


NODE = labelled_node("node1", region="r1", zone="z11")
SCANNER = there(SCAN)
NEAR_SCAN = term("region", "service in securityscan,value2")
AWAY_FROM_VIRUS = term("node", "service in antivirusscan,value2")
NEAR_TEAM1 = term("region", "service in securityscan,value2", namespace_selector=("team in team1",))
AWAY_FROM_TEAM1 = term("zone", "service in securityscan,value2", namespace_selector=("team in team1",))
AWAY_FROM_OTHERS = term("zone", "service", namespace_selector=("team notin team1",))
AWAY_FROM_SCAN = term("zone", "service in securityscan,value2")


@table(
    "pod, pods, expected",
    {
        "A pod that has no required pod affinity scheduling rules, a node with no existing pods": row(
            affinity_pod(), [], SKIP
        ),
        "satisfies PodAffinity using In operator that matches the existing pod": row(
            affinity_pod(S1, near=NEAR_SCAN), [SCANNER], SUCCESS
        ),
        "satisfies PodAffinity using not in operator in labelSelector that matches the existing pod": row(
            affinity_pod(S1, near=term("region", "service notin securityscan3,value3")), [SCANNER], SUCCESS
        ),
        "Does not satisfy the PodAffinity with labelSelector because of diff Namespace": row(
            affinity_pod(S1, near=term("", "service in securityscan,value2", namespaces=["DiffNameSpace"])),
            [there(SCAN, namespace="ns")],
            AFFINITY,
        ),
        "Doesn't satisfy the PodAffinity because of unmatching labelSelector with the existing pod": row(
            affinity_pod(SCAN, near=term("", "service in antivirusscan,value2")), [SCANNER], AFFINITY
        ),
        "satisfies the PodAffinity with different label Operators in multiple terms": row(
            affinity_pod(
                S1,
                near=[
                    term("region", "service", "!wrongkey"),
                    term("region", "service in securityscan", "service notin WrongValue"),
                ],
            ),
            [SCANNER],
            SUCCESS,
        ),
        "The labelSelector requirements(items of matchExpressions) are ANDed": row(
            affinity_pod(
                S1,
                near=[
                    term("region", "service", "!wrongkey"),
                    term("region", "service in securityscan2", "service notin WrongValue"),
                ],
            ),
            [SCANNER],
            AFFINITY,
        ),
        "satisfies the PodAffinity and PodAntiAffinity with the existing pod": row(
            affinity_pod(S1, near=NEAR_SCAN, away=AWAY_FROM_VIRUS), [SCANNER], SUCCESS
        ),
        "satisfies the PodAffinity and PodAntiAffinity and PodAntiAffinity symmetry with the existing pod": row(
            affinity_pod(S1, near=NEAR_SCAN, away=AWAY_FROM_VIRUS), [there(SCAN, away=AWAY_FROM_VIRUS)], SUCCESS
        ),
        "satisfies the PodAffinity but doesn't satisfy the PodAntiAffinity with the existing pod": row(
            affinity_pod(S1, near=NEAR_SCAN, away=AWAY_FROM_SCAN), [SCANNER], ANTI_AFFINITY
        ),
        "satisfies the PodAffinity and PodAntiAffinity but doesn't satisfy PodAntiAffinity symmetry": row(
            affinity_pod(SCAN, near=NEAR_SCAN, away=AWAY_FROM_VIRUS), [there(SCAN, away=AWAY_FROM_SCAN)], EXISTING
        ),
        "pod matches its own Label in PodAffinity and that matches the existing pod Labels": row(
            affinity_pod(SCAN, near=term("region", "service notin securityscan,value2")), [at("node2", SCAN)], AFFINITY
        ),
        "PodAntiAffinity from existing pod is respected when pod has no AntiAffinity constraints: not satisfied": row(
            affinity_pod(SCAN), [there(SCAN, away=AWAY_FROM_SCAN)], EXISTING
        ),
        "PodAntiAffinity from existing pod is respected when pod has no AntiAffinity constraints: satisfied": row(
            affinity_pod(SCAN), [there(SCAN, away=term("zone", "service notin securityscan,value2"))], SKIP
        ),
        "satisfies the PodAntiAffinity with existing pod but not PodAntiAffinity symmetry with incoming pod": row(
            affinity_pod(SCAN, away=[term("region", "service"), term("region", "security")]),
            [there(S1, away=term("zone", "security"))],
            ANTI_AFFINITY,
        ),
        "PodAntiAffinity symmetry check a1: incoming pod and existing pod partially match each other": row(
            affinity_pod(SCAN, away=[term("zone", "service"), term("zone", "security")]),
            [there(S1, away=term("zone", "security"))],
            ANTI_AFFINITY,
        ),
        "PodAntiAffinity symmetry check a2: incoming pod and existing pod partially match each other": row(
            affinity_pod(S1, away=term("zone", "security")),
            [there(SCAN, away=[term("zone", "service"), term("zone", "security")])],
            EXISTING,
        ),
        "PodAntiAffinity symmetry check b1: incoming pod and existing pod partially match each other": row(
            affinity_pod({"abc": "", "xyz": ""}, away=[term("zone", "abc"), term("zone", "def")]),
            [there({"def": "", "xyz": ""}, away=[term("zone", "abc"), term("zone", "def")])],
            ANTI_AFFINITY,
        ),
        "PodAntiAffinity symmetry check b2: incoming pod and existing pod partially match each other": row(
            affinity_pod({"def": "", "xyz": ""}, away=[term("zone", "abc"), term("zone", "def")]),
            [there({"abc": "", "xyz": ""}, away=[term("zone", "abc"), term("zone", "def")])],
            ANTI_AFFINITY,
        ),
        "affinity with NamespaceSelector": row(
            affinity_pod(S1, near=NEAR_TEAM1), [there(SCAN, namespace="subteam1.team1")], SUCCESS
        ),
        "affinity with non-matching NamespaceSelector": row(
            affinity_pod(S1, near=NEAR_TEAM1), [there(SCAN, namespace="subteam1.team2")], AFFINITY
        ),
        "anti-affinity with matching NamespaceSelector": row(
            affinity_pod(S1, away=AWAY_FROM_TEAM1, namespace="subteam1.team1"),
            [there(SCAN, namespace="subteam2.team1")],
            ANTI_AFFINITY,
        ),
        "anti-affinity with matching all NamespaceSelector": row(
            affinity_pod(
                S1,
                away=term("zone", "service in securityscan,value2", namespace_selector=()),
                namespace="subteam1.team1",
            ),
            [there(SCAN, namespace="subteam2.team1")],
            ANTI_AFFINITY,
        ),
        "anti-affinity with non-matching NamespaceSelector": row(
            affinity_pod(S1, away=AWAY_FROM_TEAM1, namespace="subteam1.team1"),
            [there(SCAN, namespace="subteam1.team2")],
            SUCCESS,
        ),
        "a namespaceSelector that matches no labels at all selects every namespace": row(
            affinity_pod(S1, away=AWAY_FROM_OTHERS), [there(SCAN, namespace="subteam1.team1")], ANTI_AFFINITY
        ),
        "an existing pod's namespaceSelector is asked about the namespace's labels": row(
            affinity_pod(SCAN, namespace="subteam1.team2"), [there(away=AWAY_FROM_OTHERS)], EXISTING
        ),
        "an existing pod's namespaceSelector that does not match": row(
            affinity_pod(SCAN, namespace="subteam1.team1"), [there(away=AWAY_FROM_OTHERS)], SKIP
        ),
        "a term without labelSelector selects no pod, not even the pod itself": row(
            affinity_pod(SCAN, near=term("region")), [SCANNER], AFFINITY
        ),
    },
)
def test_required_affinity_single_node(pod: Pod, pods: Sequence[Pod], expected: Status) -> None:
    found = statuses(InterPodAffinity(), make_context(pod, [NODE], pods, snapshot=NAMESPACES))

    assert found == (expected if expected is SKIP else [expected])


@pytest.mark.parametrize("bad", ["near", "away"])
def test_invalid_label_syntax_fails_pre_filter_and_pre_score(bad: str) -> None:
    terms = [term("region", "service in {{.bad-value.}}"), term("node", "service in antivirusscan")]
    pod = affinity_pod(SCAN, near=terms) if bad == "near" else affinity_pod(SCAN, away=terms)
    context = make_context(pod, [NODE])

    found = statuses(InterPodAffinity(), context)

    assert isinstance(found, Status)
    assert found.code is Code.UNSCHEDULABLE_AND_UNRESOLVABLE
    field = {"near": "requiredAffinityTerms", "away": "requiredAntiAffinityTerms"}[bad]
    assert found.reasons[0].startswith(f"parsing pod: {field}: ")


def test_existing_pod_with_invalid_selector_repels_no_pod() -> None:
    existing = there(away=[term("zone", "service in {{.bad-value.}}"), term("zone", "service")])

    assert statuses(InterPodAffinity(), make_context(affinity_pod(SCAN), [NODE], [existing])) is SKIP


CHINA, CHINA_AZ1, INDIA = {"region": "China"}, {"region": "China", "az": "az1"}, {"region": "India"}
SAME_ZONE = [
    labelled_node("nodeA", region="r1", zone="z1", hostname="nodeA"),
    labelled_node("nodeB", region="r1", zone="z1", hostname="nodeB"),
]
TWO_ZONES = [
    labelled_node("nodeA", region="r1", zone="z1", hostname="nodeA"),
    labelled_node("nodeB", region="r1", zone="z2", hostname="nodeB"),
]
REGIONS = [labelled_node("nodeA", **CHINA), labelled_node("nodeB", **CHINA_AZ1), labelled_node("nodeC", **INDIA)]
AWAY_FROM_ABC = term("region", "foo in abc")
FOO_BAR = {"foo": "", "bar": ""}
SERIES = affinity_pod(
    {"foo": "bar", "service": "securityscan"},
    near=[term("zone", "foo in bar"), term("zone", "service in securityscan")],
)
TERM_MATCH = "only when labelSelector and topologyKey both match, it's counted as a single term match - case when"


@table(
    "pod, pods, nodes, expected",
    {
        "A pod can be scheduled onto all the nodes that have the same topology key & label value": row(
            affinity_pod(near=term("region", "foo in bar")),
            [at("nodeA", {"foo": "bar"})],
            REGIONS,
            [SUCCESS, SUCCESS, AFFINITY],
        ),
        "The first pod of the collection should not be blocked from being scheduled onto any node": row(
            SERIES,
            [at("nodeA", {"foo": "bar"})],
            [labelled_node("nodeA", zone="az1"), labelled_node("nodeB", zone="az2")],
            [SUCCESS, SUCCESS],
        ),
        "The first pod of the collection only on nodes labelled with the requested topology keys": row(
            SERIES,
            [at("nodeA", {"foo": "bar"})],
            [labelled_node("nodeA", zoneLabel="az1"), labelled_node("nodeB", zoneLabel="az2")],
            [AFFINITY, AFFINITY],
        ),
        "A pod that only some of its terms select is the first of no collection": row(
            affinity_pod({"foo": "bar"}, near=[term("zone", "foo in bar"), term("zone", "service in securityscan")]),
            [],
            TWO_ZONES,
            [AFFINITY, AFFINITY],
        ),
        "NodeA and nodeB have same topologyKey and label value: the pod can not be scheduled onto either": row(
            affinity_pod(away=AWAY_FROM_ABC), [at("nodeA", {"foo": "abc"})], SAME_ZONE, [ANTI_AFFINITY, ANTI_AFFINITY]
        ),
        "anti-affinity matches a pod when any term of the anti-affinity rule matches a pod": row(
            affinity_pod(away=[AWAY_FROM_ABC, term("zone", "service in securityscan")]),
            [at("nodeA", {"foo": "abc", "service": "securityscan"})],
            TWO_ZONES,
            [ANTI_AFFINITY, ANTI_AFFINITY],
        ),
        "The pod can not be scheduled onto nodeA and nodeB but can be scheduled onto nodeC": row(
            affinity_pod(away=AWAY_FROM_ABC),
            [at("nodeA", {"foo": "abc"})],
            REGIONS,
            [ANTI_AFFINITY, ANTI_AFFINITY, SUCCESS],
        ),
        "NodeC has an existing pod that match the inter pod affinity rule but in different namespace": row(
            affinity_pod({"foo": "123"}, away=term("region", "foo in bar"), namespace="NS1"),
            [
                at("nodeA", {"foo": "bar"}, namespace="NS1"),
                at("nodeC", namespace="NS2", away=term("region", "foo in 123")),
            ],
            REGIONS,
            [ANTI_AFFINITY, ANTI_AFFINITY, SUCCESS],
        ),
        "existing pod's anti-affinity: a term with invalid topologyKey": row(
            affinity_pod({"foo": ""}), [at("nodeA", away=term("invalid-node-label", "foo"))], SAME_ZONE, SKIP
        ),
        "incoming pod's anti-affinity: even if labelSelector matches, we still check if topologyKey matches": row(
            affinity_pod(away=term("invalid-node-label", "foo")),
            [at("nodeA", {"foo": ""})],
            SAME_ZONE,
            [SUCCESS, SUCCESS],
        ),
        "existing pod's anti-affinity: it violates each existingPod's terms on all nodes": row(
            affinity_pod(FOO_BAR),
            [at("nodeA", away=term("zone", "foo")), at("nodeA", away=term("region", "bar"))],
            TWO_ZONES,
            [EXISTING, EXISTING],
        ),
        "incoming pod's anti-affinity: it at least violates one anti-affinity rule of existingPod": row(
            affinity_pod(away=[term("zone", "foo"), term("region", "bar")]),
            [at("nodeA", {"foo": ""}), at("nodeB", {"bar": ""})],
            TWO_ZONES,
            [ANTI_AFFINITY, ANTI_AFFINITY],
        ),
        f"existing pod's anti-affinity: {TERM_MATCH} one term has invalid topologyKey": row(
            affinity_pod(FOO_BAR),
            [at("nodeA", away=[term("invalid-node-label", "foo"), term("zone", "bar")])],
            TWO_ZONES,
            [EXISTING, SUCCESS],
        ),
        f"incoming pod's anti-affinity: {TERM_MATCH} one term has invalid topologyKey": row(
            affinity_pod(away=[term("invalid-node-label", "foo"), term("zone", "bar")]),
            [at("nodeA", FOO_BAR)],
            TWO_ZONES,
            [ANTI_AFFINITY, SUCCESS],
        ),
        f"existing pod's anti-affinity: {TERM_MATCH} all terms have valid topologyKey": row(
            affinity_pod(FOO_BAR),
            [at("nodeA", away=[term("region", "foo"), term("zone", "bar")])],
            TWO_ZONES,
            [EXISTING, EXISTING],
        ),
        f"incoming pod's anti-affinity: {TERM_MATCH} all terms have valid topologyKey": row(
            affinity_pod(away=[term("region", "foo"), term("zone", "bar")]),
            [at("nodeA", FOO_BAR)],
            TWO_ZONES,
            [ANTI_AFFINITY, ANTI_AFFINITY],
        ),
        "existing pod's anti-affinity: incoming pod can only be scheduled to nodeC": row(
            affinity_pod(FOO_BAR),
            [
                at("nodeA", away=[term("zone", "foo"), term("zone", "labelA")]),
                at("nodeB", away=[term("zone", "bar"), term("zone", "labelB")]),
            ],
            [*TWO_ZONES, labelled_node("nodeC", region="r1", zone="z3", hostname="nodeC")],
            [EXISTING, EXISTING, SUCCESS],
        ),
        "incoming pod's affinity: firstly check if all affinityTerms match, then if all topologyKeys match": row(
            affinity_pod(near=[term("region", "foo"), term("zone", "bar")]),
            [at("nodeA", FOO_BAR)],
            SAME_ZONE,
            [SUCCESS, SUCCESS],
        ),
        "incoming pod's affinity: the match logic should be satisfied on the same pod": row(
            affinity_pod(near=[term("region", "foo"), term("zone", "bar")]),
            [at("nodeA", {"foo": ""}), at("nodeB", {"bar": ""})],
            TWO_ZONES,
            [AFFINITY, AFFINITY],
        ),
    },
)
def test_required_affinity_multiple_nodes(
    pod: Pod, pods: Sequence[Pod], nodes: Sequence[Node], expected: Status | list[Status]
) -> None:
    assert statuses(InterPodAffinity(), make_context(pod, nodes, pods, snapshot=NAMESPACES)) == expected


def test_explain_counts_pods_by_domain() -> None:
    pod = affinity_pod(
        {"app": "web"}, near=[term("zone", "app in db"), term("rack", "app in db")], away=[term("region", "app in web")]
    )
    nodes = [labelled_node("a", zone="z1", region="r1"), labelled_node("b", zone="z2", region="r1", rack="k")]
    pods = [at("a", {"app": "db"}), at("a", {"app": "web"}), at("b", {"app": "web"}, away=term("zone", "app in web"))]
    context = make_context(pod, nodes, pods)
    state = InterPodAffinity().pre_filter(context).state

    first, second = (InterPodAffinity().explain(context, state, row) for row in range(2))

    assert first.missing_keys == ("rack",)
    assert first.unmatched == ()
    assert first.anti_affinity == (TopologyConflict("region", "r1", 2),)
    assert second.unmatched == (TopologyConflict("zone", "z2", 0), TopologyConflict("rack", "k", 0))
    assert second.existing_anti_affinity == (TopologyConflict("zone", "z2", 1),)
    assert not second.first_of_series


def test_explain_lists_repelling_pods_by_topology_key() -> None:
    web = {"app": "web"}
    pods = [at("a", away=term(key, "app in web")) for key in ("zone", "region")]
    nodes = [labelled_node("a", zone="z1", region="r1")]
    for bound in (pods, pods[::-1]):
        context = make_context(affinity_pod(web), nodes, bound)
        found = InterPodAffinity().explain(context, InterPodAffinity().pre_filter(context).state, 0)
        assert [entry.topology_key for entry in found.existing_anti_affinity] == ["region", "zone"]
