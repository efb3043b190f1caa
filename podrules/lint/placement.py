"""Where pods can run: node affinity, node names, host ports, and pods without a controller.

Source: pkg/apis/core/validation/validation.go (ValidateNodeSelectorRequirement) and
pkg/scheduler/framework/plugins/nodeports at v1.36.3.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from podrules.api.model.pod import PodSpec
from podrules.api.model.selectors import Affinity, NodeAffinity, NodeSelectorTerm
from podrules.api.names import meant_label
from podrules.lint.finding import Finding, Level, LintRule
from podrules.lint.objects import PodCase
from podrules.pod.priority import is_static_pod
from podrules.scheduling.scheduler.plugins.requirement import ProblemKind, term_problems

_REQUIRED_RULES: Final = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED_RULES: Final = "preferredDuringSchedulingIgnoredDuringExecution"
_REQUIRED: Final = f"spec.affinity.nodeAffinity.{_REQUIRED_RULES}"
_PREFERRED: Final = f"spec.affinity.nodeAffinity.{_PREFERRED_RULES}"
_ACCEPTED: Final = frozenset((ProblemKind.NOT_AN_INTEGER,))
"""The problems that the API server accepts in a required term."""
_HOOKS: Final = frozenset({"helm.sh/hook", "argocd.argoproj.io/hook"})
"""Annotations of pods that a tool creates, waits for and removes."""
_ACCEPTED_IF_PREFERRED: Final = _ACCEPTED | {ProblemKind.NOT_A_LABEL_VALUE}


def check_placement(case: PodCase) -> Iterator[Finding]:
    """Every finding in the placement of a pod."""
    spec = case.pod.spec
    if spec.affinity is not None and spec.affinity.node_affinity is not None:
        affinity = spec.affinity.node_affinity
        for path, term in _node_terms(affinity):
            accepted = _ACCEPTED if path.startswith(_REQUIRED) else _ACCEPTED_IF_PREFERRED
            for found in term_problems(term, path):
                if found.kind in accepted:
                    yield UnusableNodeAffinity(*case.at(found.field), found.problem)
    for field, key in _node_keys(spec):
        if meant := meant_label(key):
            yield MisspeltLabel(*case.at(field), key, meant)
    if spec.node_name:
        yield NodeNameSet(*case.at("spec.nodeName"), spec.node_name)
    if case.replicas is not None and case.replicas > 1:
        for ref in case.pod.containers():
            for index, port in enumerate(ref.container.ports if ref.is_sidecar or not ref.is_init else ()):
                # For pods in the host network the API server sets the host ports (defaultHostNetworkPorts).
                number = port.host_port or (port.container_port if spec.host_network else 0)
                if number:
                    field = f"{ref.field}.ports[{index}].{'hostPort' if port.host_port else 'containerPort'}"
                    yield HostPortReplicas(*case.at(field), number, case.replicas)
    metadata = case.pod.metadata
    if not (
        case.templated or metadata.owner_references or is_static_pod(case.pod) or metadata.annotations.keys() & _HOOKS
    ):
        yield BarePod(*case.at("kind"))


def _node_keys(spec: PodSpec) -> Iterator[tuple[str, str]]:
    """The fields that name a label of nodes, with the label's key."""
    for key in spec.node_selector:
        yield "spec.nodeSelector", key
    for index, constraint in enumerate(spec.topology_spread_constraints):
        yield f"spec.topologySpreadConstraints[{index}].topologyKey", constraint.topology_key
    affinity = spec.affinity or Affinity()
    for name, own in (("podAffinity", affinity.pod_affinity), ("podAntiAffinity", affinity.pod_anti_affinity)):
        required = () if own is None else own.required_during_scheduling_ignored_during_execution
        preferred = () if own is None else own.preferred_during_scheduling_ignored_during_execution
        for index, term in enumerate(required):
            yield f"spec.affinity.{name}.{_REQUIRED_RULES}[{index}].topologyKey", term.topology_key
        for index, weighed in enumerate(preferred):
            field = f"spec.affinity.{name}.{_PREFERRED_RULES}[{index}].podAffinityTerm.topologyKey"
            yield field, weighed.pod_affinity_term.topology_key
    for path, node_term in _node_terms(affinity.node_affinity or NodeAffinity()):
        for index, wanted in enumerate(node_term.match_expressions):
            yield f"{path}.matchExpressions[{index}].key", wanted.key


def _node_terms(affinity: NodeAffinity) -> Iterator[tuple[str, NodeSelectorTerm]]:
    required = affinity.required_during_scheduling_ignored_during_execution
    for index, term in enumerate(required.node_selector_terms if required is not None else ()):
        yield f"{_REQUIRED}.nodeSelectorTerms[{index}]", term
    for index, weighed in enumerate(affinity.preferred_during_scheduling_ignored_during_execution):
        if weighed.weight:
            yield f"{_PREFERRED}[{index}].preference", weighed.preference


class UnusableNodeAffinity(Finding, frozen=True):
    """A term that the scheduler cannot parse: Gt or Lt without a number; a preferred value that no label can have.

    A required term then matches no node. A preferred term ends the scheduling attempt.
    """

    rule = LintRule(
        name="unusable-node-affinity",
        level=Level.WARNING,
        about="A node affinity term that the API server accepts but the scheduler cannot parse.",
        remedy="Correct the value: otherwise the pod stays pending, or is not placed as intended.",
        source="pkg/scheduler/framework/plugins/nodeaffinity/node_affinity.go",
        term="nodeAffinity",
        check_pod=check_placement,
    )
    problem: str

    def __str__(self) -> str:
        return f"{self.problem}: the scheduler cannot parse the term."


class NodeNameSet(Finding, frozen=True):
    """The pod is bound to its node without the scheduler."""

    rule = LintRule(
        name="node-name-set",
        level=Level.WARNING,
        about="The manifest sets spec.nodeName.",
        remedy="Use nodeSelector or node affinity with kubernetes.io/hostname.",
        source="pkg/scheduler/eventhandlers.go (assignedPod)",
        term="spec.nodeName",
        check_pod=check_placement,
    )
    node: str

    def __str__(self) -> str:
        return f"The pod bypasses the scheduler: nothing checks that {self.node} exists or that the pod fits on it."


class HostPortReplicas(Finding, frozen=True):
    """A node has each port once, so each replica needs its own node."""

    rule = LintRule(
        name="host-port-replicas",
        level=Level.NOTICE,
        about="Several replicas use one port of their node.",
        remedy="Use a Service, or a DaemonSet.",
        source="pkg/scheduler/framework/plugins/nodeports",
        term="hostPort",
        check_pod=check_placement,
    )
    port: int
    replicas: int

    def __str__(self) -> str:
        return f"{self.replicas} replicas need {self.replicas} nodes: each node has port {self.port} only once."


class BarePod(Finding, frozen=True):
    """No controller recreates the pod, and `kubectl drain` stops at it."""

    rule = LintRule(
        name="bare-pod",
        level=Level.NOTICE,
        about="A pod has no controller; hooks of Helm and Argo CD need none.",
        remedy="Use a Deployment, StatefulSet or Job.",
        source="staging/src/k8s.io/kubectl/pkg/drain/filters.go (unreplicatedFilter)",
        check_pod=check_placement,
    )

    def __str__(self) -> str:
        return "No controller replaces this pod if its node is removed, and a drain stops at it without --force."


class MisspeltLabel(Finding, frozen=True):
    """A key in one of Kubernetes' own domains that no node has, but that resembles a label of nodes."""

    rule = LintRule(
        name="misspelt-label",
        level=Level.WARNING,
        about="A selector or topology key resembles a label of nodes that Kubernetes sets, but is not one.",
        remedy="Use the key that nodes have; your own label needs your own domain.",
        source="staging/src/k8s.io/api/core/v1/well_known_labels.go",
        term="nodeSelector",
        check_pod=check_placement,
    )
    key: str
    meant: str

    def __str__(self) -> str:
        return f"Nodes have no label {self.key} unless a user sets it; Kubernetes sets {self.meant}."
