"""PodTopologySpreadArgs, and the constraints that pods get that have none of their own. It loads no arrays.

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

from collections.abc import Iterable, Sequence
from typing import Final, Protocol, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from podrules.api.model.base import KubeObject, Model
from podrules.api.model.misfit import FieldError
from podrules.api.model.pod import Pod, TopologySpreadConstraint
from podrules.api.model.selectors import LabelSelector, Selector, SelectorError, is_label_key
from podrules.api.model.snapshot import ClusterSnapshot
from podrules.api.model.workload import ReplicationController, Service, Workload

SYSTEM_DEFAULTING: Final = "System"
LIST_DEFAULTING: Final = "List"
DO_NOT_SCHEDULE: Final = "DoNotSchedule"
SCHEDULE_ANYWAY: Final = "ScheduleAnyway"
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
    # What the scheduler's configuration allows and a pod does not.
    domains = constraint.min_domains
    if domains is not None and domains <= 0:
        errors.append(FieldError(f"{place}.minDomains", f"Invalid value: {domains}: must be greater than zero"))
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


# The selector of default topology spread constraints: it selects the pods that count as this pod's siblings.
#
#     the selectors of all Services of the namespace that match the pod, merged
#     and that of its controller, if it is a ReplicationController, ReplicaSet or StatefulSet that still exists
#
# Empty: the pod belongs to nothing, and default constraints do not apply to it.
#
# Source: pkg/scheduler/framework/plugins/helper/spread.go (DefaultSelector, GetPodServices) at v1.36.3.

S_co = TypeVar("S_co", covariant=True)


class _Spec(Protocol[S_co]):
    @property
    def selector(self) -> S_co: ...


class Selecting(Protocol[S_co]):
    """Anything with ``spec.selector``."""

    @property
    def spec(self) -> _Spec[S_co]:
        """``spec``."""
        ...


class Siblings(Protocol):
    """What the selector is built from; names are looked up in the pod's namespace."""

    def services(self, namespace: str) -> Iterable[Selecting[dict[str, str] | None]]:
        """All Services of a namespace, in any stable order."""
        ...

    def replication_controller(self, namespace: str, name: str) -> Selecting[dict[str, str]] | None:
        """One ReplicationController, None when there is none."""
        ...

    def replica_set(self, namespace: str, name: str) -> Selecting[LabelSelector | None] | None:
        """One ReplicaSet, None when there is none."""
        ...

    def stateful_set(self, namespace: str, name: str) -> Selecting[LabelSelector | None] | None:
        """One StatefulSet, None when there is none."""
        ...


def default_selector(pod: Pod, siblings: Siblings) -> Selector:
    """The selector that default constraints get for this pod (helper.DefaultSelector)."""
    labels: dict[str, str] = {}
    for service in siblings.services(pod.metadata.namespace):
        wanted = service.spec.selector
        if wanted is not None and all(pod.metadata.labels.get(key) == value for key, value in wanted.items()):
            labels |= wanted
    owner = pod.metadata.controller
    match (owner.api_version, owner.kind) if owner else None:
        case ("v1", "ReplicationController"):
            controller = siblings.replication_controller(pod.metadata.namespace, owner.name if owner else "")
            return Selector.from_labels(labels | (controller.spec.selector if controller else {}))
        case ("apps/v1", "ReplicaSet"):
            found = siblings.replica_set(pod.metadata.namespace, owner.name if owner else "")
        case ("apps/v1", "StatefulSet"):
            found = siblings.stateful_set(pod.metadata.namespace, owner.name if owner else "")
        case _:
            found = None
    selector = Selector.from_labels(labels)
    if found is None or found.spec.selector is None:
        return selector
    try:
        return selector.add(*Selector.from_label_selector(found.spec.selector).requirements)
    except SelectorError:
        # A controller with a selector that cannot be read adds nothing, as upstream.
        return selector


def build_default_constraints(
    pod: Pod, defaults: Sequence[TopologySpreadConstraint], siblings: Siblings
) -> tuple[TopologySpreadConstraint, ...]:
    """The constraints that a pod without its own is scheduled by (buildDefaultConstraints).

    None if its selector is empty. It stands in place of a default's own and of matchLabelKeys, which the scheduler does
    not look at in defaults.
    """
    if pod.spec.topology_spread_constraints or not defaults:
        return ()
    selector = default_selector(pod, siblings)
    if selector.empty:
        return ()
    label_selector = selector.to_label_selector()
    return tuple(replace(entry, label_selector=label_selector, match_label_keys=()) for entry in defaults)


K = TypeVar("K", bound=KubeObject)


class SnapshotSiblings:
    """`Siblings` over a snapshot."""

    def __init__(self, snapshot: ClusterSnapshot) -> None:
        self._snapshot = snapshot

    def services(self, namespace: str) -> Iterable[Service]:
        """All Services of a namespace, in the order given."""
        return (service for service in self._snapshot.services if service.metadata.namespace == namespace)

    def replication_controller(self, namespace: str, name: str) -> ReplicationController | None:
        """One ReplicationController."""
        return _named(self._snapshot.replication_controllers, namespace, name)

    def replica_set(self, namespace: str, name: str) -> Workload | None:
        """One ReplicaSet."""
        return _named(self._snapshot.replica_sets, namespace, name)

    def stateful_set(self, namespace: str, name: str) -> Workload | None:
        """One StatefulSet."""
        return _named(self._snapshot.stateful_sets, namespace, name)


def _named(objects: Iterable[K], namespace: str, name: str) -> K | None:
    found = (entry for entry in objects if entry.metadata.name == name and entry.metadata.namespace == namespace)
    return next(found, None)


class SpreadDomain(Struct, frozen=True, rename="camel"):
    """One domain of a topology spread constraint."""

    value: str
    matching: int
    """Pods that count, now."""
    skew: int
    """With the pod in this domain: ``with_pod`` less the constraint's minimum."""
    fits: bool
    with_pod: int
    """Pods that would count with this one there; as many as now where its labels do not match."""
    rejected_by: tuple[str, ...] = ()
    """Other plugins that together reject every node of it: the domain counts, and the pod cannot go there."""


class SpreadTerm(Struct, frozen=True, rename="camel"):
    """One ScheduleAnyway constraint's part of a node's score: ``count * weight + (maxSkew - 1)``."""

    field: str
    topology_key: str
    domain: str | None
    """None: the node lacks the key, and the part is 0."""
    count: int
    """Matching pods of the domain."""
    domains: int
    weight: float
    """``ln(domains + 2)``."""
    max_skew: int
    score: float
