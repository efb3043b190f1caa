"""The constraints by which PodTopologySpread filters: the pod's own or the defaults (TestPreFilterState)."""

from __future__ import annotations

from podrules.api.model.pod import Pod
from podrules.scheduling.scheduler.framework.answers import Code
from podrules.scheduling.scheduler.plugins.pod_topology_spread.constraints import PodTopologySpreadArgs
from podrules.scheduling.scheduler.plugins.pod_topology_spread.plugin import PodTopologySpread
from tests.objects import make_pod, make_service
from tests.podrules.scheduling.scheduler.plugins.building_spread import (
    anyway,
    hard,
    make_incoming,
    make_spread_cycle,
    spread_nodes,
)
from tests.table import row, table

PLUGIN = PodTopologySpread()
SERVED = make_pod("p", labels={"foo": "bar", "baz": "kar"})
DEFAULTS = PodTopologySpreadArgs(
    default_constraints=(
        hard(3, "node", None),
        anyway(5, "rack", None),
        hard(2, "zone", None, nodeTaintsPolicy="Honor"),
    ),
    defaulting_type="List",
)


@table(
    "pod, service, args, expected",
    {
        "default constraints and a service": row(
            SERVED,
            {"foo": "bar"},
            DEFAULTS,
            [("defaultConstraints[0]", "foo=bar"), ("defaultConstraints[2]", "foo=bar")],
        ),
        "default constraints and a service that doesn't match": row(SERVED, {"baz": "kep"}, DEFAULTS, []),
        "default constraints and a service, but pod has constraints": row(
            make_incoming(hard(1, "zone")), {"foo": ""}, DEFAULTS, [("spec.topologySpreadConstraints[0]", "foo")]
        ),
        "default soft constraints and a service": row(
            SERVED,
            {"foo": "bar"},
            PodTopologySpreadArgs(default_constraints=(anyway(2, "zone", None),), defaulting_type="List"),
            [],
        ),
        "system defaults filter nothing": row(SERVED, {"foo": "bar"}, None, []),
        "skip if not specified": row(make_incoming(anyway(1, "zone")), {"foo": ""}, DEFAULTS, []),
    },
)
def test_pre_filter_constraints(
    pod: Pod, service: dict[str, str], args: PodTopologySpreadArgs | None, expected: list[tuple[str, str]]
) -> None:
    context = make_spread_cycle(pod, spread_nodes("ab"), args=args, services=[make_service(selector=service)])
    found = PLUGIN.pre_filter(context)
    if not expected:
        assert found.status.code is Code.SKIP
        return
    constraints = [spread.constraint for spread in found.state.spreads]
    assert [(constraint.field, str(constraint.selector)) for constraint in constraints] == expected


def test_S1_fields_that_are_not_given_have_their_defaults() -> None:
    state = PLUGIN.pre_filter(make_spread_cycle(make_incoming(hard(1, "zone")), spread_nodes("ab"))).state
    constraint = state.spreads[0].constraint
    assert (constraint.max_skew, constraint.topology_key, constraint.min_domains) == (1, "zone", 1)
    assert (constraint.node_affinity_policy, constraint.node_taints_policy) == ("Honor", "Ignore")


def test_S1_fields_that_are_given_are_kept() -> None:
    given = hard(4, "node", minDomains=7, nodeAffinityPolicy="Ignore", nodeTaintsPolicy="Honor")
    state = PLUGIN.pre_filter(make_spread_cycle(make_incoming(given), spread_nodes("ab"))).state
    constraint = state.spreads[0].constraint
    assert (constraint.max_skew, constraint.topology_key, constraint.min_domains) == (4, "node", 7)
    assert (constraint.node_affinity_policy, constraint.node_taints_policy) == ("Ignore", "Honor")


def test_S4_defaults_keep_their_node_policies() -> None:
    services = [make_service(selector={"foo": "bar"})]
    state = PLUGIN.pre_filter(make_spread_cycle(SERVED, spread_nodes("ab"), args=DEFAULTS, services=services)).state
    assert [spread.constraint.node_taints_policy for spread in state.spreads] == ["Ignore", "Honor"]
