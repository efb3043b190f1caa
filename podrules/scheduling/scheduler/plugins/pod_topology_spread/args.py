"""PodTopologySpreadArgs: which constraints pods get that have none of their own.

    defaultingType  System (the default): hostname maxSkew 3 and zone maxSkew 5, both ScheduleAnyway
                    List: defaultConstraints, which may be empty
    a default       has no labelSelector (it is deduced for each pod); topologyKey and whenUnsatisfiable are unique
    constraint      together

What a pod may hold is narrower than what the scheduler's configuration may: minDomains goes only with DoNotSchedule,
and node policies are Honor or Ignore. Those are checked here too, for a constraint that is written into a pod must be
one that the API server takes.

Source: pkg/scheduler/apis/config/{v1/defaults.go,validation/validation_pluginargs.go},
pkg/scheduler/framework/plugins/podtopologyspread/plugin.go, pkg/apis/core/validation/validation.go at v1.36.3.
"""

from __future__ import annotations

from typing import Final

from podrules.api.model.base import Model
from podrules.api.model.field_error import FieldError
from podrules.api.model.pod import TopologySpreadConstraint
from podrules.api.model.selectors import is_label_key

SYSTEM_DEFAULTING: Final = "System"
LIST_DEFAULTING: Final = "List"
DO_NOT_SCHEDULE: Final = "DoNotSchedule"
SCHEDULE_ANYWAY: Final = "ScheduleAnyway"
_NOT_POSITIVE: Final = "must be greater than zero"
SYSTEM_DEFAULT_CONSTRAINTS: Final = (
    TopologySpreadConstraint(max_skew=3, topology_key="kubernetes.io/hostname", when_unsatisfiable=SCHEDULE_ANYWAY),
    TopologySpreadConstraint(
        max_skew=5, topology_key="topology.kubernetes.io/zone", when_unsatisfiable=SCHEDULE_ANYWAY
    ),
)


class PodTopologySpreadArgs(Model, frozen=True):
    """``pluginConfig[].args`` of PodTopologySpread."""

    default_constraints: tuple[TopologySpreadConstraint, ...] = ()
    defaulting_type: str = SYSTEM_DEFAULTING

    @property
    def constraints(self) -> tuple[TopologySpreadConstraint, ...]:
        """The default constraints in force."""
        return SYSTEM_DEFAULT_CONSTRAINTS if self.defaulting_type == SYSTEM_DEFAULTING else self.default_constraints


def validate_pod_topology_spread_args(args: PodTopologySpreadArgs, path: str) -> tuple[str, ...]:
    """Field errors, each with its path below ``path`` (ValidatePodTopologySpreadArgs, and what pods may hold)."""
    errors: list[str] = []
    if args.defaulting_type not in {SYSTEM_DEFAULTING, LIST_DEFAULTING}:
        errors.append(
            f'{path}.defaultingType: Unsupported value: "{args.defaulting_type}": supported values: "System", "List"'
        )
    elif args.defaulting_type == SYSTEM_DEFAULTING and args.default_constraints:
        errors.append(
            f'{path}.defaultingType: Invalid value: "System": when .defaultConstraints are not empty; write "List"'
        )
    seen: set[tuple[str, str]] = set()
    for index, constraint in enumerate(args.default_constraints):
        place = f"{path}.defaultConstraints[{index}]"
        if constraint.max_skew <= 0:
            errors.append(f"{place}.maxSkew: Invalid value: {constraint.max_skew}: not in valid range (0, inf)")
        errors += map(str, _field_errors(constraint, place))
        if constraint.topology_key and not is_label_key(constraint.topology_key):
            errors.append(f'{place}.topologyKey: Invalid value: "{constraint.topology_key}": not a label name')
        if constraint.label_selector is not None:
            errors.append(
                f"{place}.labelSelector: Forbidden: constraint must not define a selector, as they deduced for each pod"
            )
        kind = (constraint.topology_key, constraint.when_unsatisfiable)
        if kind in seen:
            errors.append(f'{place}: Duplicate value: "{{{kind[0]}, {kind[1]}}}"')
        seen.add(kind)
    return tuple(errors)


def _field_errors(constraint: TopologySpreadConstraint, place: str) -> list[FieldError]:
    """All except maxSkew, which has the configuration's own message."""
    errors: list[FieldError] = []
    if not constraint.topology_key:
        errors.append(FieldError(f"{place}.topologyKey", "Required value: can not be empty"))
    if not constraint.when_unsatisfiable:
        errors.append(FieldError(f"{place}.whenUnsatisfiable", "Required value: can not be empty"))
    elif constraint.when_unsatisfiable not in {DO_NOT_SCHEDULE, SCHEDULE_ANYWAY}:
        supported = 'supported values: "DoNotSchedule", "ScheduleAnyway"'
        problem = f'Unsupported value: "{constraint.when_unsatisfiable}": {supported}'
        errors.append(FieldError(f"{place}.whenUnsatisfiable", problem))
    return errors + _pod_errors(constraint, place)


def _pod_errors(constraint: TopologySpreadConstraint, place: str) -> list[FieldError]:
    """What the scheduler's configuration allows and a pod does not."""
    errors: list[FieldError] = []
    domains = constraint.min_domains
    if domains is not None and domains <= 0:
        errors.append(FieldError(f"{place}.minDomains", f"Invalid value: {domains}: {_NOT_POSITIVE}"))
    elif domains is not None and constraint.when_unsatisfiable != DO_NOT_SCHEDULE:
        problem = (
            f"Invalid value: {domains}: can only use minDomains if whenUnsatisfiable=DoNotSchedule, "
            f"not {constraint.when_unsatisfiable}"
        )
        errors.append(FieldError(f"{place}.minDomains", problem))
    for name, policy in (
        ("nodeAffinityPolicy", constraint.node_affinity_policy),
        ("nodeTaintsPolicy", constraint.node_taints_policy),
    ):
        if policy not in {None, "Honor", "Ignore"}:
            problem = f'Unsupported value: "{policy}": supported values: "Honor", "Ignore"'
            errors.append(FieldError(f"{place}.{name}", problem))
    return errors
