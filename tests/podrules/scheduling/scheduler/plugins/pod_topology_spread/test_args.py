"""PodTopologySpreadArgs: upstream's cases (TestValidatePodTopologySpreadArgs), and values that pods may not have."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from podrules.admission.validation.objects import validate
from podrules.api.model.pod import TopologySpreadConstraint
from podrules.scheduling.scheduler.plugins.pod_topology_spread.constraints import (
    PodTopologySpreadArgs,
    validate_pod_topology_spread_args,
)
from tests.objects import make_constraint, raw_pod

DO_NOT = "DoNotSchedule"
ANYWAY = "ScheduleAnyway"
ACTIONS = 'supported values: "DoNotSchedule", "ScheduleAnyway"'


def test_max_skew_errors_of_pod_and_configuration_differ() -> None:
    """ValidatePositiveField of the API server, ValidatePodTopologySpreadArgs of the scheduler."""
    constraint = make_constraint(0, "node", DO_NOT)
    written = {"maxSkew": 0, "topologyKey": "node", "whenUnsatisfiable": DO_NOT}
    assert [str(error) for error in validate(raw_pod(topologySpreadConstraints=[written]), 37)] == [
        "spec.topologySpreadConstraints[0].maxSkew: Invalid value: 0: must be greater than zero"
    ]
    assert validate_pod_topology_spread_args(make_args(constraint), "args") == (
        "args.defaultConstraints[0].maxSkew: Invalid value: 0: not in valid range (0, inf)",
    )


def make_args(*constraints: TopologySpreadConstraint, kind: str = "List") -> PodTopologySpreadArgs:
    return PodTopologySpreadArgs(constraints, kind)


@pytest.mark.parametrize(
    ("args", "errors"),
    [
        pytest.param(
            make_args(make_constraint(1, "node", DO_NOT), make_constraint(2, "zone", ANYWAY)), [], id="valid config"
        ),
        pytest.param(
            make_args(make_constraint(-1, "node", DO_NOT)),
            ["args.defaultConstraints[0].maxSkew: Invalid value: -1: not in valid range (0, inf)"],
            id="maxSkew less than zero",
        ),
        pytest.param(
            make_args(make_constraint(0, "node", DO_NOT)),
            ["args.defaultConstraints[0].maxSkew: Invalid value: 0: not in valid range (0, inf)"],
            id="maxSkew of zero, or none",
        ),
        pytest.param(
            make_args(make_constraint(1, "", DO_NOT)),
            ["args.defaultConstraints[0].topologyKey: Required value: can not be empty"],
            id="empty topology key",
        ),
        pytest.param(
            make_args(make_constraint(1, "a zone", DO_NOT)),
            ['args.defaultConstraints[0].topologyKey: Invalid value: "a zone": not a label name'],
            id="topology key that no label can have",
        ),
        pytest.param(
            make_args(make_constraint(1, "node", "")),
            ["args.defaultConstraints[0].whenUnsatisfiable: Required value: can not be empty"],
            id="whenUnsatisfiable is empty",
        ),
        pytest.param(
            make_args(make_constraint(1, "node", "unknown action")),
            [f'args.defaultConstraints[0].whenUnsatisfiable: Unsupported value: "unknown action": {ACTIONS}'],
            id="whenUnsatisfiable contains unsupported action",
        ),
        pytest.param(
            make_args(make_constraint(1, "node", DO_NOT), make_constraint(2, "node", DO_NOT)),
            ['args.defaultConstraints[1]: Duplicate value: "{node, DoNotSchedule}"'],
            id="duplicated constraints",
        ),
        pytest.param(
            make_args(make_constraint(1, "node", DO_NOT), make_constraint(2, "node", ANYWAY)),
            [],
            id="one key, two actions",
        ),
        pytest.param(
            make_args(make_constraint(1, "key", DO_NOT, {"matchLabels": {"a": "b"}})),
            [
                (
                    "args.defaultConstraints[0].labelSelector: Forbidden: constraint must not define a selector, "
                    "as they deduced for each pod"
                )
            ],
            id="label selector present",
        ),
        pytest.param(
            make_args(make_constraint(1, "key", DO_NOT, {})),
            [
                (
                    "args.defaultConstraints[0].labelSelector: Forbidden: constraint must not define a selector, "
                    "as they deduced for each pod"
                )
            ],
            id="label selector present, and empty",
        ),
        pytest.param(make_args(), [], id="list default constraints, no constraints"),
        pytest.param(make_args(kind="System"), [], id="system default constraints"),
        pytest.param(
            make_args(kind="unknown"),
            ['args.defaultingType: Unsupported value: "unknown": supported values: "System", "List"'],
            id="wrong constraints",
        ),
        pytest.param(
            make_args(make_constraint(1, "key", DO_NOT), kind="System"),
            ['args.defaultingType: Invalid value: "System": when .defaultConstraints are not empty; write "List"'],
            id="system default constraints, but has constraints",
        ),
        pytest.param(
            make_args(make_constraint(0, "", "sometimes"), make_constraint(1, "node", DO_NOT), kind="list"),
            [
                'args.defaultingType: Unsupported value: "list": supported values: "System", "List"',
                "args.defaultConstraints[0].maxSkew: Invalid value: 0: not in valid range (0, inf)",
                "args.defaultConstraints[0].topologyKey: Required value: can not be empty",
                f'args.defaultConstraints[0].whenUnsatisfiable: Unsupported value: "sometimes": {ACTIONS}',
            ],
            id="all errors together",
        ),
    ],
)
def test_S4_validate_pod_topology_spread_args(args: PodTopologySpreadArgs, errors: Sequence[str]) -> None:
    assert validate_pod_topology_spread_args(args, "args") == tuple(errors)


@pytest.mark.parametrize(
    ("constraint", "errors"),
    [
        pytest.param(make_constraint(1, "zone", DO_NOT, minDomains=3), [], id="minDomains"),
        pytest.param(
            make_constraint(1, "zone", DO_NOT, minDomains=0),
            ["args.defaultConstraints[0].minDomains: Invalid value: 0: must be greater than zero"],
            id="minDomains of zero",
        ),
        pytest.param(
            make_constraint(1, "zone", ANYWAY, minDomains=3),
            [
                (
                    "args.defaultConstraints[0].minDomains: Invalid value: 3: can only use minDomains if "
                    "whenUnsatisfiable=DoNotSchedule, not ScheduleAnyway"
                )
            ],
            id="minDomains with ScheduleAnyway",
        ),
        pytest.param(
            make_constraint(1, "zone", ANYWAY, nodeAffinityPolicy="Honor", nodeTaintsPolicy="Ignore"),
            [],
            id="node policies",
        ),
        pytest.param(
            make_constraint(1, "zone", ANYWAY, nodeAffinityPolicy="honor", nodeTaintsPolicy=""),
            [
                (
                    "args.defaultConstraints[0].nodeAffinityPolicy: "
                    'Unsupported value: "honor": supported values: "Honor", "Ignore"'
                ),
                (
                    'args.defaultConstraints[0].nodeTaintsPolicy: Unsupported value: "": '
                    'supported values: "Honor", "Ignore"'
                ),
            ],
            id="node policies that pods may not have",
        ),
    ],
)
def test_S4_constraints_that_no_pod_may_have_are_refused(
    constraint: TopologySpreadConstraint, errors: Sequence[str]
) -> None:
    assert validate_pod_topology_spread_args(make_args(constraint), "args") == tuple(errors)


@pytest.mark.parametrize(
    ("args", "expected"),
    [
        pytest.param(
            PodTopologySpreadArgs(),
            (
                make_constraint(3, "kubernetes.io/hostname", ANYWAY),
                make_constraint(5, "topology.kubernetes.io/zone", ANYWAY),
            ),
            id="System, as nothing was configured",
        ),
        pytest.param(make_args(), (), id="List without constraints"),
        pytest.param(
            make_args(make_constraint(1, "zone", DO_NOT)), (make_constraint(1, "zone", DO_NOT),), id="List with its own"
        ),
    ],
)
def test_S4_constraints_in_force(args: PodTopologySpreadArgs, expected: tuple[TopologySpreadConstraint, ...]) -> None:
    assert args.constraints == expected
