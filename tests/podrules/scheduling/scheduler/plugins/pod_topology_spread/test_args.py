"""PodTopologySpreadArgs: upstream's cases (TestValidatePodTopologySpreadArgs), and values that pods may not have."""

from __future__ import annotations

from podrules.admission.validation.objects import validate
from podrules.api.model.pod import TopologySpreadConstraint
from podrules.scheduling.scheduler.plugins.pod_topology_spread.constraints import (
    PodTopologySpreadArgs,
    validate_pod_topology_spread_args,
)
from tests.objects import make_constraint, raw_pod
from tests.table import row, table

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


@table(
    "args, errors",
    {
        "valid config": row(make_args(make_constraint(1, "node", DO_NOT), make_constraint(2, "zone", ANYWAY)), ""),
        "maxSkew less than zero": row(
            make_args(make_constraint(-1, "node", DO_NOT)),
            "defaultConstraints[0].maxSkew: Invalid value: -1: not in valid range (0, inf)",
        ),
        "maxSkew of zero, or none": row(
            make_args(make_constraint(0, "node", DO_NOT)),
            "defaultConstraints[0].maxSkew: Invalid value: 0: not in valid range (0, inf)",
        ),
        "empty topology key": row(
            make_args(make_constraint(1, "", DO_NOT)),
            "defaultConstraints[0].topologyKey: Required value: can not be empty",
        ),
        "topology key that no label can have": row(
            make_args(make_constraint(1, "a zone", DO_NOT)),
            'defaultConstraints[0].topologyKey: Invalid value: "a zone": not a label name',
        ),
        "whenUnsatisfiable is empty": row(
            make_args(make_constraint(1, "node", "")),
            "defaultConstraints[0].whenUnsatisfiable: Required value: can not be empty",
        ),
        "whenUnsatisfiable contains unsupported action": row(
            make_args(make_constraint(1, "node", "unknown action")),
            f'defaultConstraints[0].whenUnsatisfiable: Unsupported value: "unknown action": {ACTIONS}',
        ),
        "duplicated constraints": row(
            make_args(make_constraint(1, "node", DO_NOT), make_constraint(2, "node", DO_NOT)),
            'defaultConstraints[1]: Duplicate value: "{node, DoNotSchedule}"',
        ),
        "one key, two actions": row(
            make_args(make_constraint(1, "node", DO_NOT), make_constraint(2, "node", ANYWAY)), ""
        ),
        "label selector present": row(
            make_args(make_constraint(1, "key", DO_NOT, {"matchLabels": {"a": "b"}})),
            "defaultConstraints[0].labelSelector: Forbidden: constraint must not define a selector, "
            "as they deduced for each pod",
        ),
        "label selector present, and empty": row(
            make_args(make_constraint(1, "key", DO_NOT, {})),
            "defaultConstraints[0].labelSelector: Forbidden: constraint must not define a selector, "
            "as they deduced for each pod",
        ),
        "list default constraints, no constraints": row(make_args(), ""),
        "system default constraints": row(make_args(kind="System"), ""),
        "wrong constraints": row(
            make_args(kind="unknown"),
            'defaultingType: Unsupported value: "unknown": supported values: "System", "List"',
        ),
        "system default constraints, but has constraints": row(
            make_args(make_constraint(1, "key", DO_NOT), kind="System"),
            'defaultingType: Invalid value: "System": when .defaultConstraints are not empty; write "List"',
        ),
        "all errors together": row(
            make_args(make_constraint(0, "", "sometimes"), make_constraint(1, "node", DO_NOT), kind="list"),
            'defaultingType: Unsupported value: "list": supported values: "System", "List"\n'
            "defaultConstraints[0].maxSkew: Invalid value: 0: not in valid range (0, inf)\n"
            "defaultConstraints[0].topologyKey: Required value: can not be empty\n"
            f'defaultConstraints[0].whenUnsatisfiable: Unsupported value: "sometimes": {ACTIONS}',
        ),
        "minDomains": row(make_args(make_constraint(1, "zone", DO_NOT, minDomains=3)), ""),
        "minDomains of zero": row(
            make_args(make_constraint(1, "zone", DO_NOT, minDomains=0)),
            "defaultConstraints[0].minDomains: Invalid value: 0: must be greater than zero",
        ),
        "minDomains with ScheduleAnyway": row(
            make_args(make_constraint(1, "zone", ANYWAY, minDomains=3)),
            "defaultConstraints[0].minDomains: Invalid value: 3: can only use minDomains if "
            "whenUnsatisfiable=DoNotSchedule, not ScheduleAnyway",
        ),
        "node policies": row(
            make_args(make_constraint(1, "zone", ANYWAY, nodeAffinityPolicy="Honor", nodeTaintsPolicy="Ignore")), ""
        ),
        "node policies that pods may not have": row(
            make_args(make_constraint(1, "zone", ANYWAY, nodeAffinityPolicy="honor", nodeTaintsPolicy="")),
            "defaultConstraints[0].nodeAffinityPolicy: "
            'Unsupported value: "honor": supported values: "Honor", "Ignore"\n'
            'defaultConstraints[0].nodeTaintsPolicy: Unsupported value: "": '
            'supported values: "Honor", "Ignore"',
        ),
    },
)
def test_S4_validate_pod_topology_spread_args(args: PodTopologySpreadArgs, errors: str) -> None:
    expected = tuple(f"args.{error}" for error in errors.splitlines())
    assert validate_pod_topology_spread_args(args, "args") == expected


@table(
    "args, expected",
    {
        "System, as nothing was configured": row(
            PodTopologySpreadArgs(),
            (
                make_constraint(3, "kubernetes.io/hostname", ANYWAY),
                make_constraint(5, "topology.kubernetes.io/zone", ANYWAY),
            ),
        ),
        "List without constraints": row(make_args(), ()),
        "List with its own": row(make_args(make_constraint(1, "zone", DO_NOT)), (make_constraint(1, "zone", DO_NOT),)),
    },
)
def test_S4_constraints_in_force(args: PodTopologySpreadArgs, expected: tuple[TopologySpreadConstraint, ...]) -> None:
    assert args.constraints == expected
