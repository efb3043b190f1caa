"""Where pods may go: node affinity, tolerations, node names, host ports, and pods that nothing replaces.

    invalid-node-affinity   refused: terms that cannot be read, weights outside 1 to 100
    unusable-node-affinity  taken, and not read by the scheduler: Gt and Lt of no number; in preferred terms, values
                            that no label has. A required term then matches no node, a preferred one ends the attempt
    invalid-toleration      refused: key, operator, value, effect and tolerationSeconds that do not go together
    node-name-set           the scheduler is passed over: nothing checks that the pod fits
    host-port-replicas      each node has a port once: so many replicas need so many nodes
    bare-pod                nothing makes it anew, and `kubectl drain` stops at it

Source: pkg/apis/core/validation/validation.go (ValidateNodeSelectorRequirement, ValidateTolerations) and
pkg/scheduler/framework/plugins/nodeports at v1.36.3.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from podrules.checks.finding import Finding
from podrules.checks.objects import PodCase
from podrules.model.affinity import NodeAffinity, NodeSelectorTerm, Toleration
from podrules.model.selectors import is_label_key
from podrules.priority import is_static_pod
from podrules.scheduler.plugins.node_selector_problems import NAME_FIELD, node_selector_problems, preferred_problems

__all__ = ["check_placement"]

_REQUIRED: Final = "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED: Final = "spec.affinity.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution"
_REFUSED: Final = "invalid-node-affinity"
_UNUSABLE: Final = "unusable-node-affinity"
_NO_INTEGER: Final = "the value must be an integer"
_LABEL_VALUE: Final = re.compile(r"\.values\[\d+\]\[")
_EFFECTS: Final = frozenset(("", "NoSchedule", "PreferNoSchedule", "NoExecute"))
_OPERATORS: Final = frozenset(("", "Equal", "Exists"))


def check_placement(case: PodCase) -> Iterator[Finding]:
    """All that is told of where a pod may go."""
    spec = case.pod.spec
    if spec.affinity is not None and spec.affinity.node_affinity is not None:
        for rule, field, problem in _affinity_problems(spec.affinity.node_affinity):
            yield case.finding(rule, field, problem=problem)
    for index, toleration in enumerate(spec.tolerations):
        for name, problem in _toleration_problems(toleration):
            yield case.finding("invalid-toleration", f"spec.tolerations[{index}].{name}", problem=problem)
    if spec.node_name:
        yield case.finding("node-name-set", "spec.nodeName", node=spec.node_name)
    if case.replicas is not None and case.replicas > 1:
        yield from _host_ports(case, case.replicas)
    if not case.templated and not case.pod.metadata.owner_references and not is_static_pod(case.pod):
        yield case.finding("bare-pod", "kind")


def _affinity_problems(affinity: NodeAffinity) -> Iterator[tuple[str, str, str]]:
    """By rule: the field and what is wrong with it."""
    required = affinity.required_during_scheduling_ignored_during_execution
    if required is not None:
        if not required.node_selector_terms:
            yield (
                _REFUSED,
                f"{_REQUIRED}.nodeSelectorTerms",
                "Required value: must have at least one node selector term",
            )
        for text in node_selector_problems(required):
            rule = _UNUSABLE if text.endswith(_NO_INTEGER) else _REFUSED
            yield rule, *_split(f"{_REQUIRED}.", text)
        for index, term in enumerate(required.node_selector_terms):
            yield from _unknown_fields(term, f"{_REQUIRED}.nodeSelectorTerms[{index}]")
    preferred = affinity.preferred_during_scheduling_ignored_during_execution
    for index, weighed in enumerate(preferred):
        if not 1 <= weighed.weight <= 100:
            yield (
                _REFUSED,
                f"{_PREFERRED}[{index}].weight",
                f"Invalid value: {weighed.weight}: must be in the range 1-100",
            )
        yield from _unknown_fields(weighed.preference, f"{_PREFERRED}[{index}].preference")
    for text in preferred_problems(preferred):
        # Upstream's scheduler leaves out `preference`, which stands between.
        place, problem = _split("", text)
        index_end = place.index("]") + 1
        rule = _UNUSABLE if text.endswith(_NO_INTEGER) or _LABEL_VALUE.search(place) else _REFUSED
        yield rule, f"{_PREFERRED}{place[:index_end]}.preference{place[index_end:]}", problem


def _unknown_fields(term: NodeSelectorTerm, path: str) -> Iterator[tuple[str, str, str]]:
    for index, requirement in enumerate(term.match_fields):
        if requirement.key != NAME_FIELD:
            yield (
                _REFUSED,
                f"{path}.matchFields[{index}].key",
                f"nodes have {NAME_FIELD} alone, and no {requirement.key}",
            )


def _split(before: str, text: str) -> tuple[str, str]:
    place, _, problem = text.partition(": ")
    return before + place, problem


def _toleration_problems(toleration: Toleration) -> Iterator[tuple[str, str]]:
    if toleration.key and not is_label_key(toleration.key):
        yield "key", f"{toleration.key} is no label key"
    if not toleration.key and toleration.operator != "Exists":
        yield "operator", "it must be Exists where key is empty"
    if toleration.toleration_seconds is not None and toleration.effect != "NoExecute":
        yield "effect", "it must be NoExecute where tolerationSeconds is set"
    if toleration.operator not in _OPERATORS:
        yield "operator", f"{toleration.operator} is neither Exists nor Equal"
    elif toleration.operator == "Exists" and toleration.value:
        yield "value", "it must be empty where operator is Exists"
    if toleration.effect not in _EFFECTS:
        yield "effect", f"{toleration.effect} is none of NoSchedule, PreferNoSchedule and NoExecute"


def _host_ports(case: PodCase, replicas: int) -> Iterator[Finding]:
    for ref in case.pod.containers():
        if ref.is_init and not ref.is_sidecar:
            continue
        for index, port in enumerate(ref.container.ports):
            # The API server fills in host ports of pods in their node's network (defaultHostNetworkPorts).
            number = port.host_port or (port.container_port if case.pod.spec.host_network else 0)
            if number:
                field = f"{ref.field}.ports[{index}].{'hostPort' if port.host_port else 'containerPort'}"
                yield case.finding("host-port-replicas", field, port=number, replicas=replicas)
