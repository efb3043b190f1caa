"""SchedulingGates, NodeName and NodeDeclaredFeatures: plugins that read one field of the pod or the node.

Source: pkg/scheduler/framework/plugins/{schedulinggates,nodename,nodedeclaredfeatures} at v1.36.3, of NodeName at
v1.37.1 too; k8s.io/component-helpers/nodedeclaredfeatures at v0.36.3; KEP-3521, KEP-5328.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from podrules.api.features import Features
from podrules.api.model.pod import Pod
from podrules.api.model.snapshot import ClusterSnapshot
from podrules.scheduling.scheduler.framework.answers import SKIP, SUCCESS, Code, Fact, Status
from podrules.scheduling.scheduler.framework.interface import (
    CycleContext,
    PreFilterResult,
    Verdicts,
    WithoutState,
    all_fit,
)
from podrules.scheduling.scheduler.framework.node_table import Nodes


class SchedulingGates:
    """A pod is not queued until all of its ``spec.schedulingGates`` are removed."""

    name = "SchedulingGates"

    def pre_enqueue(self, pod: Pod, snapshot: ClusterSnapshot, features: Features) -> Status:  # noqa: ARG002 - the interface's
        """Success without gates; else the gates in the order of the spec."""
        gates = pod.spec.scheduling_gates
        if not gates:
            return SUCCESS
        names = " ".join(gate.name for gate in gates)
        return Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, (f"waiting for scheduling gates: [{names}]",))


ERR_REASON_NODE_NAME: Final = "node(s) didn't match the requested node name"


class NodeName:
    """Filters by ``spec.nodeName``. Since 1.37 no other node is examined; before, each of them was rejected."""

    name = "NodeName"
    without_pre_filter = WithoutState.NOT_NEEDED

    def pre_filter(self, context: CycleContext) -> PreFilterResult:
        """The named node alone (since 1.37)."""
        wanted = context.pod.spec.node_name
        return PreFilterResult(node_names=frozenset({wanted}) if wanted else None)

    def filter(self, context: CycleContext, state: Any) -> Verdicts:  # noqa: ARG002 - has none
        """UnschedulableAndUnresolvable for each node of another name."""
        wanted = context.pod.spec.node_name
        if not wanted:
            return all_fit(context.table)
        codes = np.full(len(context.table), Code.UNSCHEDULABLE_AND_UNRESOLVABLE, np.int8)
        row = context.table.index.get(wanted)
        if row is not None:
            codes[row] = Code.SUCCESS
        return Verdicts(codes, lambda _: (ERR_REASON_NODE_NAME,))


# NodeDeclaredFeatures: a pod that needs a feature of the kubelet goes only where the node declares it.
#
#     RestartAllContainersOnContainerExits   a container or init container has a restart rule with RestartAllContainers
#     UserNamespacesHostNetworkSupport       hostNetwork is true and hostUsers is false
#
# The other registered features matter to updates only. PreFilter skips a pod that needs none, and any pod before 1.36,
# where the gate NodeDeclaredFeatures is off by default.

ERR_REASON_FEATURES: Final = "node(s) didn't match Pod's required features"
RESTART_ALL_CONTAINERS: Final = "RestartAllContainersOnContainerExits"
USER_NAMESPACES_HOST_NETWORK: Final = "UserNamespacesHostNetworkSupport"
_REGISTERED: Final = (
    "ExtendWebSocketsToKubelet",
    "InPlacePodLevelResourcesVerticalScaling",
    "InPlacePodVerticalScalingInitContainers",
    RESTART_ALL_CONTAINERS,
    USER_NAMESPACES_HOST_NETWORK,
)


class MissingFeatures(Struct, frozen=True):
    """What a node does not declare."""

    required: tuple[str, ...]
    missing: tuple[str, ...]


class FeatureColumn(Struct, frozen=True):
    """Declared features of all nodes."""

    codes: NDArray[np.int32]
    """For each node the index of its set in ``sets``."""
    sets: tuple[frozenset[str], ...]


class MissingFeature(Fact, frozen=True):
    """NodeDeclaredFeatures: a kubelet's feature that the pod needs and the node does not declare."""

    feature: str


class NodeDeclaredFeatures:
    """Filters by ``status.declaredFeatures``."""

    name = "NodeDeclaredFeatures"
    fact_types = (MissingFeature,)
    gate = "node_declared_features"
    without_pre_filter = 'error reading "PreFilterNodeDeclaredFeatures" from cycle-state: not found'

    def pre_filter(self, context: CycleContext) -> PreFilterResult:
        """What the pod needs, or Skip."""
        required = required_features(context.pod)
        if not context.features.node_declared_features or not required:
            return PreFilterResult(SKIP)
        return PreFilterResult(state=required)

    def filter(self, context: CycleContext, state: frozenset[str]) -> Verdicts:
        """UnschedulableAndUnresolvable for each node that does not declare all of it."""
        column = context.table.nodes.derived(feature_column)
        fits = np.fromiter((state <= declared for declared in column.sets), np.bool_, len(column.sets))
        codes = np.where(fits, Code.SUCCESS, Code.UNSCHEDULABLE_AND_UNRESOLVABLE).astype(np.int8)
        return Verdicts(codes[column.codes], lambda _: (ERR_REASON_FEATURES,))

    def explain(self, context: CycleContext, state: frozenset[str], row: int) -> MissingFeatures:
        """What a row's node lacks."""
        column = context.table.nodes.derived(feature_column)
        declared = column.sets[column.codes[row]]
        return MissingFeatures(tuple(sorted(state)), tuple(sorted(state - declared)))

    def facts(self, context: CycleContext, state: frozenset[str], row: int) -> Iterator[Fact]:
        """The features that the node does not declare."""
        return map(MissingFeature, self.explain(context, state, row).missing)


def required_features(pod: Pod) -> frozenset[str]:
    """The features that scheduling a pod needs (InferForPodScheduling)."""
    required = set()
    containers = (*pod.spec.containers, *pod.spec.init_containers)
    rules = (rule for container in containers for rule in container.restart_policy_rules)
    if any(rule.action == "RestartAllContainers" for rule in rules):
        required.add(RESTART_ALL_CONTAINERS)
    if pod.spec.host_network and pod.spec.host_users is False:
        required.add(USER_NAMESPACES_HOST_NETWORK)
    return frozenset(required)


def feature_column(nodes: Nodes) -> FeatureColumn:
    """The features of nodes: a column (`Nodes.derived`)."""
    known: dict[tuple[str, ...], int] = {}
    codes = np.fromiter(
        (known.setdefault(node.status.declared_features, len(known)) for node in nodes), np.int32, len(nodes)
    )
    return FeatureColumn(codes, tuple(map(_try_map, known)))


def _try_map(declared: Sequence[str]) -> frozenset[str]:
    """The registered ones among declared features, which are sorted as the API server demands it (TryMap).

    Both lists are read once, side by side: of a list that is not sorted, features are lost.
    """
    found = set()
    registered = iter(_REGISTERED)
    feature = next(registered, None)
    for name in declared:
        while feature is not None and feature < name:
            feature = next(registered, None)
        if feature == name:
            found.add(name)
            feature = next(registered, None)
    return frozenset(found)
