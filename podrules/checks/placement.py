"""Where pods may go: node affinity, node names, host ports, and pods without a controller.

Source: pkg/apis/core/validation/validation.go (ValidateNodeSelectorRequirement) and
pkg/scheduler/framework/plugins/nodeports at v1.36.3.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Final

from podrules.checks.finding import Finding, Level, LintRule
from podrules.checks.objects import PodCase
from podrules.model.affinity import NodeAffinity, NodeSelectorTerm
from podrules.priority import is_static_pod
from podrules.scheduler.plugins.node_selector_problems import ProblemKind, term_problems

__all__ = [
    "BarePod",
    "HostPortReplicas",
    "NodeNameSet",
    "UnusableNodeAffinity",
    "check_placement",
]

_REQUIRED: Final = "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED: Final = "spec.affinity.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution"
_ACCEPTED: Final = frozenset((ProblemKind.NOT_AN_INTEGER,))
"""What the API server accepts in a required term."""
_ACCEPTED_IF_PREFERRED: Final = _ACCEPTED | {ProblemKind.NOT_A_LABEL_VALUE}


def check_placement(case: PodCase) -> Iterator[Finding]:
    """Every finding in where a pod may go."""
    spec = case.pod.spec
    if spec.affinity is not None and spec.affinity.node_affinity is not None:
        yield from _node_affinity(case, spec.affinity.node_affinity)
    if spec.node_name:
        yield NodeNameSet(*case.at("spec.nodeName"), spec.node_name)
    if case.replicas is not None and case.replicas > 1:
        yield from _host_ports(case, case.replicas)
    if not case.templated and not case.pod.metadata.owner_references and not is_static_pod(case.pod):
        yield BarePod(*case.at("kind"))


def _node_affinity(case: PodCase, affinity: NodeAffinity) -> Iterator[UnusableNodeAffinity]:
    required = affinity.required_during_scheduling_ignored_during_execution
    for index, term in enumerate(required.node_selector_terms if required is not None else ()):
        yield from _unusable(case, term, f"{_REQUIRED}.nodeSelectorTerms[{index}]", _ACCEPTED)
    for index, weighed in enumerate(affinity.preferred_during_scheduling_ignored_during_execution):
        if weighed.weight:
            yield from _unusable(case, weighed.preference, f"{_PREFERRED}[{index}].preference", _ACCEPTED_IF_PREFERRED)


def _unusable(
    case: PodCase, term: NodeSelectorTerm, path: str, accepted: Collection[ProblemKind]
) -> Iterator[UnusableNodeAffinity]:
    for found in term_problems(term, path):
        if found.kind in accepted:
            yield UnusableNodeAffinity(*case.at(found.field), found.problem)


def _host_ports(case: PodCase, replicas: int) -> Iterator[Finding]:
    for ref in case.pod.containers():
        if ref.is_init and not ref.is_sidecar:
            continue
        for index, port in enumerate(ref.container.ports):
            # The API server fills in host ports of pods in their node's network (defaultHostNetworkPorts).
            number = port.host_port or (port.container_port if case.pod.spec.host_network else 0)
            if number:
                field = f"{ref.field}.ports[{index}].{'hostPort' if port.host_port else 'containerPort'}"
                yield HostPortReplicas(*case.at(field), number, replicas)


class UnusableNodeAffinity(Finding, frozen=True):
    """A term that the scheduler cannot read: Gt or Lt without a number; a preferred value that no label can have.

    A required term then matches no node. A preferred term ends the scheduling attempt.
    """

    rule = LintRule(
        name="unusable-node-affinity",
        level=Level.WARNING,
        about="A node affinity term that the API server takes and the scheduler cannot read.",
        remedy="Correct the value: the pod stays pending with it, or is not placed as meant.",
        source="pkg/scheduler/framework/plugins/nodeaffinity/node_affinity.go",
        term="nodeAffinity",
        check_pod=check_placement,
    )
    problem: str

    def __str__(self) -> str:
        return f"{self.problem}: the scheduler does not read the term."


class NodeNameSet(Finding, frozen=True):
    """The pod goes to its node without the scheduler."""

    rule = LintRule(
        name="node-name-set",
        level=Level.WARNING,
        about="spec.nodeName is set by hand.",
        remedy="Use nodeSelector or node affinity with kubernetes.io/hostname.",
        source="pkg/scheduler/eventhandlers.go (assignedPod)",
        term="spec.nodeName",
        check_pod=check_placement,
    )
    node: str

    def __str__(self) -> str:
        return f"The scheduler is passed over: nothing checks that {self.node} exists or that the pod fits on it."


class HostPortReplicas(Finding, frozen=True):
    """A node has each port once, so each replica needs a node of its own."""

    rule = LintRule(
        name="host-port-replicas",
        level=Level.NOTICE,
        about="Several replicas ask for one port of their node.",
        remedy="Use a Service, or a DaemonSet.",
        source="pkg/scheduler/framework/plugins/nodeports",
        term="hostPort",
        check_pod=check_placement,
    )
    port: int
    replicas: int

    def __str__(self) -> str:
        return f"{self.replicas} replicas need {self.replicas} nodes: port {self.port} is there once on each."


class BarePod(Finding, frozen=True):
    """Nothing makes the pod again, and `kubectl drain` stops at it."""

    rule = LintRule(
        name="bare-pod",
        level=Level.NOTICE,
        about="A pod has no controller.",
        remedy="Use a Deployment, StatefulSet or Job.",
        source="staging/src/k8s.io/kubectl/pkg/drain/filters.go (unreplicatedFilter)",
        check_pod=check_placement,
    )

    def __str__(self) -> str:
        return "No controller replaces this pod when its node goes, and a drain stops at it without --force."
