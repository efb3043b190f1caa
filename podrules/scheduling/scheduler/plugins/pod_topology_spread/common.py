"""What filter and score of PodTopologySpread share: constraints in force, nodes that count, pods that match.

    constraints    the pod's own, else the defaults (`build_default_constraints`); those of one whenUnsatisfiable
    selector       labelSelector and, for each of matchLabelKeys that the pod has, key = the pod's value; without
                   labelSelector it matches nothing, whatever the keys
    minDomains 1, nodeAffinityPolicy Honor, nodeTaintsPolicy Ignore where nothing is said
    a node counts  Honor of affinity: it fits nodeSelector and required node affinity;
                   Honor of taints: the pod tolerates its NoSchedule and NoExecute taints
    a pod matches  it is of the pod's namespace, is not being deleted, and the selector matches; an empty selector,
                   which matches everything, counts nothing

Source: pkg/scheduler/framework/plugins/podtopologyspread/common.go at v1.36.3.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from podrules.api.model.pod import Pod, TopologySpreadConstraint
from podrules.api.model.selectors import Selector
from podrules.scheduling.scheduler.framework.interface import CycleContext
from podrules.scheduling.scheduler.framework.node_table import ABSENT, BoundPods, Nodes
from podrules.scheduling.scheduler.framework.pod_kinds import CountPods, PodKinds
from podrules.scheduling.scheduler.plugins.node_selector import pod_matches_node_affinity
from podrules.scheduling.scheduler.plugins.pod_topology_spread.constraints import (
    PodTopologySpreadArgs,
    SnapshotSiblings,
    build_default_constraints,
)
from podrules.scheduling.scheduler.plugins.taint_toleration import untolerated_taint_codes

NAME: Final = "PodTopologySpread"
HONOR: Final = "Honor"
HOSTNAME: Final = "kubernetes.io/hostname"
_IGNORE: Final = "Ignore"

Mask = NDArray[np.bool_]


class SpreadConstraint(Struct, frozen=True):
    """A constraint with its defaults filled in and its selector read."""

    max_skew: int
    topology_key: str
    selector: Selector | None
    """None matches nothing."""
    min_domains: int
    node_affinity_policy: str
    node_taints_policy: str
    field: str
    """Where it stands: ``spec.topologySpreadConstraints[0]``, ``defaultConstraints[1]``."""

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Whether the selector matches a pod with these labels."""
        return self.selector is not None and self.selector.matches(labels)


def spread_args(context: CycleContext) -> PodTopologySpreadArgs:
    """The plugin's arguments."""
    found: PodTopologySpreadArgs = context.args.get(NAME) or PodTopologySpreadArgs()
    return found


def constraints_in_force(context: CycleContext, action: str) -> tuple[SpreadConstraint, ...]:
    """The constraints with this whenUnsatisfiable that the pod is scheduled by.

    Raises:
        SelectorError: a labelSelector cannot be read.
    """
    pod = context.pod
    given, place = pod.spec.topology_spread_constraints, "spec.topologySpreadConstraints"
    if not given:
        defaults = spread_args(context).constraints
        given, place = (
            build_default_constraints(pod, defaults, SnapshotSiblings(context.snapshot)),
            "defaultConstraints",
        )
    return tuple(
        _read(entry, pod, f"{place}[{index}]")
        for index, entry in enumerate(given)
        if entry.when_unsatisfiable == action
    )


def nodes_with_all_keys(nodes: Nodes, constraints: Sequence[SpreadConstraint]) -> Mask:
    """For each node whether it has every topology key (nodeLabelsMatchSpreadConstraints)."""
    found = np.ones(len(nodes), np.bool_)
    for constraint in constraints:
        found &= nodes.label(constraint.topology_key).codes != ABSENT
    return found


def included_nodes(context: CycleContext, constraints: Sequence[SpreadConstraint]) -> tuple[Mask, ...]:
    """For each constraint the nodes that its node policies let count (matchNodeInclusionPolicies)."""
    everything = np.ones(len(context.table), np.bool_)
    affine = tolerated = everything
    if any(constraint.node_affinity_policy == HONOR for constraint in constraints):
        affine = pod_matches_node_affinity(context.table.nodes, context.pod)
    if any(constraint.node_taints_policy == HONOR for constraint in constraints):
        tolerated = untolerated_taint_codes(context.table.nodes, context.pod.spec.tolerations) == ABSENT
    return tuple(
        (affine if constraint.node_affinity_policy == HONOR else everything)
        & (tolerated if constraint.node_taints_policy == HONOR else everything)
        for constraint in constraints
    )


def matching_pods(context: CycleContext, constraints: Sequence[SpreadConstraint]) -> tuple[NDArray[np.int64], ...]:
    """For each constraint how many pods of each node match."""
    return tuple(
        count_matching_pods(context.table.pods, constraint.selector, context.pod.metadata.namespace)
        for constraint in constraints
    )


def count_matching_pods(pods: BoundPods, selector: Selector | None, namespace: str) -> NDArray[np.int64]:
    """For each node how many of its pods match (countPodsMatchSelector)."""
    if selector is None or selector.empty:
        return np.zeros(pods.node_count, np.int64)
    return pods.derived(CountPods(_Matching(namespace, selector))).counts


class _Matching(Struct, frozen=True):
    namespace: str
    selector: Selector

    def among(self, kinds: PodKinds) -> Mask:
        return kinds.in_namespaces(self.namespace.__eq__) & kinds.matching(self.selector) & ~kinds.deleted


def _read(constraint: TopologySpreadConstraint, pod: Pod, field: str) -> SpreadConstraint:
    """One constraint (filterTopologySpreadConstraints)."""
    selector = None
    if constraint.label_selector is not None:
        selector = Selector.from_label_selector(constraint.label_selector)
        labels = pod.metadata.labels
        merged = Selector.from_labels({key: labels[key] for key in constraint.match_label_keys if key in labels})
        selector = merged.add(*selector.requirements)
    return SpreadConstraint(
        constraint.max_skew,
        constraint.topology_key,
        selector,
        1 if constraint.min_domains is None else constraint.min_domains,
        constraint.node_affinity_policy or HONOR,
        constraint.node_taints_policy or _IGNORE,
        field,
    )
