"""The nodes that a pod's own fields allow are those that the scheduler's plugins find over a whole table."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from podrules.scheduling.placement.eligible import eligible_nodes
from podrules.scheduling.scheduler.framework.answers import Code
from podrules.scheduling.scheduler.plugins.node_affinity import NodeAffinityPlugin
from podrules.scheduling.scheduler.plugins.taint_toleration import TaintToleration
from tests.podrules.scheduling.scheduler.plugins.building_nodes import (
    Json,
    make_cycle,
    make_requirement,
    node_of,
    node_terms,
    pod_of,
)

KEYS = st.sampled_from(["zone", "disk", "not a key"])
VALUES = st.sampled_from(["a", "b", "1", "2", ""])
EFFECTS = st.sampled_from(["NoSchedule", "NoExecute", "PreferNoSchedule"])
LABELS = st.builds(
    make_requirement, KEYS, st.sampled_from(["In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"]), VALUES
) | st.builds(make_requirement, KEYS, st.sampled_from(["Exists", "DoesNotExist"]))
FIELDS = st.builds(
    make_requirement,
    st.sampled_from(["metadata.name", "metadata.uid"]),
    st.sampled_from(["In", "NotIn"]),
    st.sampled_from(["node-0", "node-1", ""]),
)
TERMS = st.fixed_dictionaries(
    {"matchExpressions": st.lists(LABELS, max_size=2), "matchFields": st.lists(FIELDS, max_size=1)}
)
TAINTS = st.builds(lambda key, value, effect: {"key": key, "value": value, "effect": effect}, KEYS, VALUES, EFFECTS)
TOLERATIONS = st.builds(
    lambda taint, operator, effect: {**taint, "operator": operator, "effect": effect},
    TAINTS,
    st.sampled_from(["Exists", "Equal", ""]),
    EFFECTS | st.just(""),
)


@given(
    labels=st.lists(st.dictionaries(KEYS, VALUES), min_size=1, max_size=3),
    taints=st.lists(st.lists(TAINTS, max_size=2), min_size=3, max_size=3),
    node_selector=st.dictionaries(KEYS, VALUES, max_size=1),
    terms=st.none() | st.lists(TERMS, max_size=2),
    tolerations=st.lists(TOLERATIONS, max_size=2),
)
def test_S1_plugins_allow_the_same_nodes(
    labels: list[dict[str, str]],
    taints: list[list[Json]],
    node_selector: dict[str, str],
    terms: list[Json] | None,
    tolerations: list[Json],
) -> None:
    nodes = [node_of(f"node-{row}", own, spec={"taints": taints[row]}) for row, own in enumerate(labels)]
    required = {"requiredDuringSchedulingIgnoredDuringExecution": node_terms(*terms)} if terms is not None else {}
    pod = pod_of({"nodeSelector": node_selector, "tolerations": tolerations, "affinity": {"nodeAffinity": required}})
    context = make_cycle(pod, nodes)
    codes = [plugin.filter(context, None).codes for plugin in (NodeAffinityPlugin(), TaintToleration())]
    expected = [
        node.metadata.name
        for node, *found in zip(nodes, *codes, strict=True)
        if all(code == Code.SUCCESS for code in found)
    ]
    assert [node.metadata.name for node in eligible_nodes(pod, nodes)] == expected


def test_S1_node_name_alone_decides_when_it_is_set() -> None:
    nodes = [node_of("here", spec={"taints": [{"key": "a", "effect": "NoSchedule"}]}), node_of("there")]
    pod = pod_of({"nodeName": "here", "nodeSelector": {"zone": "a"}})
    assert list(eligible_nodes(pod, nodes)) == nodes[:1]
