"""NodeAffinity: upstream's cases (TestNodeAffinity, TestNodeAffinityPriority)."""

from __future__ import annotations

import numpy as np

from podrules.api.model.base import Model
from podrules.api.model.decode import from_object
from podrules.scheduling.scheduler.framework.answers import SKIP, SUCCESS, Code, Status
from podrules.scheduling.scheduler.plugins.node_affinity import (
    FailedTerm,
    NodeAffinityArgs,
    NodeAffinityMismatch,
    NodeAffinityPlugin,
    UnmetRequirement,
)
from tests.podrules.scheduling.scheduler.plugins.building_nodes import (
    Json,
    filter_status,
    make_cycle,
    make_requirement,
    node_of,
    node_terms,
    pod_of,
    preferring,
    requiring,
    scores_of,
)
from tests.table import row, table

POD = Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, ("node(s) didn't match Pod's node affinity/selector",))
ENFORCED = Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, ("node(s) didn't match scheduler-enforced node affinity",))
CONFLICT = Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, ("pod affinity terms conflict",))

FOO_BAR = make_requirement("foo", "In", "bar")
GPU = make_requirement("GPU", "Exists")
NODE1 = make_requirement("metadata.name", "In", "node1")
NODE2 = make_requirement("metadata.name", "In", "node2")


def fields(*requirements: Json) -> Json:
    return {"matchFields": list(requirements)}


def added(node_affinity: Json) -> dict[str, Model]:
    return {"NodeAffinity": from_object({"addedAffinity": node_affinity}, NodeAffinityArgs)}


def added_terms(*terms: list[Json] | Json) -> dict[str, Model]:
    return added({"requiredDuringSchedulingIgnoredDuringExecution": node_terms(*terms)})


@table(
    "spec, labels, expected",
    {
        "missing labels": row({"nodeSelector": {"foo": "bar"}}, {}, POD),
        "same labels": row({"nodeSelector": {"foo": "bar"}}, {"foo": "bar"}, SUCCESS),
        "node labels are superset": row({"nodeSelector": {"foo": "bar"}}, {"foo": "bar", "baz": "blah"}, SUCCESS),
        "node labels are subset": row({"nodeSelector": {"foo": "bar", "baz": "blah"}}, {"foo": "bar"}, POD),
        "Pod with matchExpressions using In operator that matches the existing node": row(
            requiring([make_requirement("foo", "In", "bar", "value2")]), {"foo": "bar"}, SUCCESS
        ),
        "Pod with matchExpressions using Gt operator that matches the existing node": row(
            requiring([make_requirement("kernel-version", "Gt", "0204")]), {"kernel-version": "0206"}, SUCCESS
        ),
        "Pod with matchExpressions using NotIn operator that matches the existing node": row(
            requiring([make_requirement("mem-type", "NotIn", "DDR", "DDR2")]), {"mem-type": "DDR3"}, SUCCESS
        ),
        "Pod with matchExpressions using Exists operator that matches the existing node": row(
            requiring([GPU]), {"GPU": "NVIDIA-GRID-K1"}, SUCCESS
        ),
        "Pod with affinity that don't match node's labels won't schedule onto the node": row(
            requiring([make_requirement("foo", "In", "value1", "value2")]), {"foo": "bar"}, POD
        ),
        "Pod with empty MatchExpressions is not a valid value will match no objects and won't schedule onto the "
        "node": row(requiring([]), {"foo": "bar"}, POD),
        "Pod with required affinity without terms": row(requiring(), {"foo": "bar"}, POD),
        "Pod with no Affinity will schedule onto a node": row({}, {"foo": "bar"}, SKIP),
        "Pod with Affinity but nil NodeSelector will schedule onto a node": row(
            {"affinity": {"nodeAffinity": {}}}, {"foo": "bar"}, SKIP
        ),
        "Pod with multiple matchExpressions ANDed that matches the existing node": row(
            requiring([GPU, make_requirement("GPU", "NotIn", "AMD", "INTER")]), {"GPU": "NVIDIA-GRID-K1"}, SUCCESS
        ),
        "Pod with multiple matchExpressions ANDed that doesn't match the existing node": row(
            requiring([GPU, make_requirement("GPU", "In", "AMD", "INTER")]), {"GPU": "NVIDIA-GRID-K1"}, POD
        ),
        "Pod with multiple NodeSelectorTerms ORed in affinity, matches the node's labels and will schedule onto "
        "the node": row(
            requiring(
                [make_requirement("foo", "In", "bar", "value2")], [make_requirement("diffkey", "In", "wrong", "value2")]
            ),
            {"foo": "bar"},
            SUCCESS,
        ),
        "Pod with an Affinity and a PodSpec.NodeSelector both are satisfied, will schedule onto the node": row(
            {"nodeSelector": {"foo": "bar"}, **requiring([make_requirement("foo", "Exists")])}, {"foo": "bar"}, SUCCESS
        ),
        "Pod with an Affinity matches node's labels but the PodSpec.NodeSelector is not satisfied, won't "
        "schedule onto the node": row(
            {"nodeSelector": {"foo": "bar"}, **requiring([make_requirement("foo", "Exists")])}, {"foo": "barrrrrr"}, POD
        ),
        "Pod with an invalid value in Affinity term won't be scheduled onto the node": row(
            requiring([make_requirement("foo", "NotIn", "invalid value: ___@#$%^")]), {"foo": "bar"}, POD
        ),
    },
)
def test_filter_by_labels(spec: Json, labels: dict[str, str], expected: Status) -> None:
    assert filter_status(NodeAffinityPlugin(), make_cycle(pod_of(spec), [node_of("node", labels)])) == expected


@table(
    "terms, node, expected, names",
    {
        "Pod with matchFields using In operator that matches the existing node": row(
            [fields(NODE1)], "node1", SUCCESS, {"node1"}
        ),
        "Pod with matchFields using In operator that does not match the existing node": row(
            [fields(NODE1)], "node2", POD, {"node1"}
        ),
        "Pod with two terms: matchFields does not match, but matchExpressions matches": row(
            [fields(NODE1, NODE2), [FOO_BAR]], "node2", SUCCESS, None
        ),
        "Pod with one term: matchFields does not match, but matchExpressions matches": row(
            [{**fields(NODE1), "matchExpressions": [FOO_BAR]}], "node2", POD, {"node1"}
        ),
        "Pod with one term: both matchFields and matchExpressions match": row(
            [{**fields(NODE1), "matchExpressions": [FOO_BAR]}], "node1", SUCCESS, {"node1"}
        ),
        "Pod with two terms: both matchFields and matchExpressions do not match": row(
            [fields(NODE1), [make_requirement("foo", "In", "not-match-to-bar")]], "node2", POD, None
        ),
        "Pod with two terms of node.Name affinity": row(
            [fields(NODE1), fields(NODE2)], "node2", SUCCESS, {"node1", "node2"}
        ),
        "Pod with two conflicting mach field requirements": row([fields(NODE1, NODE2)], "node2", CONFLICT, None),
        "a conflict in one of two terms leaves the other's nodes": row(
            [fields(NODE1, NODE2), fields(NODE2)], "node2", SUCCESS, {"node2"}
        ),
        "NotIn names no nodes": row(
            [fields(make_requirement("metadata.name", "NotIn", "node1"))], "node2", SUCCESS, None
        ),
        "an empty term names no nodes": row([{}], "node2", POD, None),
    },
)
def test_filter_by_name(terms: list[Json], node: str, expected: Status, names: set[str] | None) -> None:
    context = make_cycle(pod_of(requiring(*terms)), [node_of(node, {"foo": "bar"})])
    assert filter_status(NodeAffinityPlugin(), context) == expected
    assert NodeAffinityPlugin().pre_filter(context).node_names == names


@table(
    "spec, terms, expected",
    {
        "Matches added affinity and Pod's node affinity": row(
            requiring([make_requirement("zone", "In", "foo")]), [fields(NODE2)], SUCCESS
        ),
        "Matches added affinity but not Pod's node affinity": row(
            requiring([make_requirement("zone", "In", "bar")]), [fields(NODE2)], POD
        ),
        "Doesn't match added affinity": row({}, [[make_requirement("zone", "In", "bar")]], ENFORCED),
        "added affinity is asked before the pod's": row({"nodeSelector": {"zone": "bar"}}, [fields(NODE1)], ENFORCED),
    },
)
def test_added_affinity(spec: Json, terms: list[Json], expected: Status) -> None:
    context = make_cycle(pod_of(spec), [node_of("node2", {"zone": "foo"})], args=added_terms(*terms))
    assert filter_status(NodeAffinityPlugin(), context) == expected


LABEL1 = {"foo": "bar"}
LABEL2 = {"key": "value"}
LABEL3 = {"az": "az1"}
LABEL4 = {"abc": "az11", "def": "az22"}
LABEL5 = {"foo": "bar", "key": "value", "az": "az1"}
KEY_VALUE = make_requirement("key", "In", "value")
AFFINITY1 = preferring((2, [FOO_BAR]))
AFFINITY2 = preferring((2, [FOO_BAR]), (4, [KEY_VALUE]), (5, [FOO_BAR, KEY_VALUE, make_requirement("az", "In", "az1")]))


@table(
    "affinity, args, labels, expected",
    {
        "no node matches preferred scheduling requirements in NodeAffinity of pod so all nodes' priority is zero": row(
            AFFINITY1, {}, [LABEL4, LABEL2, LABEL3], [0, 0, 0]
        ),
        "only node1 matches the preferred scheduling requirements of pod": row(
            AFFINITY1, {}, [LABEL1, LABEL2, LABEL3], [100, 0, 0]
        ),
        "all nodes matches the preferred scheduling requirements of pod but with different priorities ": row(
            AFFINITY2, {}, [LABEL1, LABEL5, LABEL2], [18, 100, 36]
        ),
        "added affinity": row({}, added(AFFINITY1), [LABEL1, LABEL2], [100, 0]),
        "added affinity and pod has default affinity": row(
            AFFINITY1, added(preferring((3, [KEY_VALUE]))), [LABEL1, LABEL2, LABEL5], [40, 60, 100]
        ),
        "empty terms match nothing, terms of weight 0 are not read": row(
            preferring((5, {}), (0, [make_requirement("not a key", "Exists")]), (1, [FOO_BAR])),
            {},
            [LABEL1, LABEL2],
            [100, 0],
        ),
        "first and third term match": row(
            preferring((5, fields(NODE1)), (7, [make_requirement("x", "In", "y")]), (11, [FOO_BAR])),
            {},
            [LABEL1, LABEL3],
            [100, 0],
        ),
    },
)
def test_score(affinity: Json, args: dict[str, Model], labels: list[dict[str, str]], expected: list[int]) -> None:
    nodes = [node_of(f"node{index}", entries) for index, entries in enumerate(labels, 1)]
    context = make_cycle(pod_of({"affinity": {"nodeAffinity": affinity}}), nodes, args=args)
    assert scores_of(NodeAffinityPlugin(), context) == expected


def test_only_feasible_nodes_are_compared() -> None:
    nodes = [node_of("a", LABEL1), node_of("b", LABEL5), node_of("c", LABEL2)]
    context = make_cycle(pod_of({"affinity": {"nodeAffinity": AFFINITY2}}), nodes)
    assert scores_of(NodeAffinityPlugin(), context, [2, 0]) == [100, 50]


NAME = (
    "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric "
    "character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is "
    "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
)


@table(
    "affinity, expected",
    {
        "Skip is returned in PreScore when NodeAffinity is nil": row({}, SKIP),
        "PreScore returns error when an incoming Pod has a broken affinity": row(
            preferring((2, [make_requirement("invalid key", "In", "bar")])),
            Status(Code.ERROR, (f'[0].matchExpressions[0].key: Invalid value: "invalid key": {NAME}',)),
        ),
        "terms of weight 0 are no reason to skip": row(preferring((0, [FOO_BAR])), SUCCESS),
    },
)
def test_pre_score(affinity: Json, expected: Status) -> None:
    context = make_cycle(pod_of({"affinity": {"nodeAffinity": affinity}}), [node_of("node1", LABEL1)])
    assert NodeAffinityPlugin().pre_score(context, np.zeros(1, np.int32)).status == expected


def test_explain_names_what_is_unmet() -> None:
    spec = {
        "nodeSelector": {"disk": "ssd", "foo": "bar"},
        **requiring(
            [FOO_BAR, make_requirement("cores", "Gt", "8")],
            fields(NODE1),
            [make_requirement("not a key", "Exists")],
            {},
        ),
    }
    node = node_of("node2", {"foo": "bar", "cores": "4"})
    terms = added_terms([make_requirement("pool", "In", "web")])
    found = NodeAffinityPlugin().explain(make_cycle(pod_of(spec), [node], args=terms), None, 0)
    assert found == NodeAffinityMismatch(
        enforced=(FailedTerm(0, (UnmetRequirement("pool", "In", ("web",), None),), ()),),
        node_selector=(UnmetRequirement("disk", "In", ("ssd",), None),),
        required=(
            FailedTerm(0, (UnmetRequirement("cores", "Gt", ("8",), "4"),), ()),
            FailedTerm(1, (UnmetRequirement("metadata.name", "In", ("node1",), "node2"),), ()),
            FailedTerm(2, (), (f'nodeSelectorTerms[2].matchExpressions[0].key: Invalid value: "not a key": {NAME}',)),
            FailedTerm(3, (), ()),
        ),
        none_required=False,
    )


def test_explain_of_a_node_that_matches_is_empty() -> None:
    context = make_cycle(pod_of(requiring([FOO_BAR])), [node_of("node", LABEL1)])
    assert NodeAffinityPlugin().explain(context, None, 0) == NodeAffinityMismatch((), (), (), none_required=False)
    context = make_cycle(pod_of(requiring()), [node_of("node", LABEL1)])
    assert NodeAffinityPlugin().explain(context, None, 0) == NodeAffinityMismatch((), (), (), none_required=True)
