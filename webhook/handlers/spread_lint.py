"""Tells of topology spread constraints of people's own that do not do what they seem to.

    selector        it does not match the pod itself: the pod is not counted, so copies of it may all go to one place.
                    matchLabelKeys do not matter, for they take the pod's own values; of a template, nor do labels that
                    controllers add
    topologyKey     no node has such a label: with DoNotSchedule the pod fits nowhere, with ScheduleAnyway it spreads
                    over nothing. Asked only where nodes' labels are kept: `Options.lint_topology_keys`

What a controller made is passed over: its owner was told of it.

Source: pkg/scheduler/framework/plugins/podtopologyspread/{common,filtering}.go (selfMatch) at v1.36.3.
"""

from __future__ import annotations

from typing import Final

from podrules.checks.objects import ADDED_LABELS
from podrules.checks.spread import Miss, selector_misses
from podrules.model.pod import Pod, PodTemplateSpec, TopologySpreadConstraint
from podrules.scheduler.plugins.pod_topology_spread.args import DO_NOT_SCHEDULE
from webhook.cluster import Cluster
from webhook.handlers.near import did_you_mean
from webhook.handlers.pod_template import TemplateOwner, template_of
from webhook.response import ALLOWED, Answer

__all__ = ["lint_spread", "lint_spread_of_template"]

_MISSES: Final = {
    Miss.NO_SELECTOR: ": without labelSelector it counts no pods, so it spreads nothing",
    Miss.EMPTY_SELECTOR: ".labelSelector: an empty one counts no pods, so it spreads nothing",
    Miss.NOT_MATCHED: (
        ".labelSelector: {term} does not match the pod's own labels: "
        "it is not counted, and copies of it may all go to one place"
    ),
}


def lint_spread(pod: Pod, cluster: Cluster) -> Answer:
    """Warnings for whoever creates a pod."""
    if pod.metadata.controller is not None:
        return ALLOWED
    return _answer(pod, "spec", cluster, added=frozenset())


def lint_spread_of_template(workload: TemplateOwner, cluster: Cluster) -> Answer:
    """Warnings for whoever creates or changes a workload."""
    if workload.metadata.controller is not None:
        return ALLOWED
    template, path = template_of(workload)
    return _answer(template, f"{path}.spec", cluster, added=ADDED_LABELS)


def _answer(pod: Pod | PodTemplateSpec, path: str, cluster: Cluster, *, added: frozenset[str]) -> Answer:
    constraints = pod.spec.topology_spread_constraints
    if not constraints:
        return ALLOWED
    options = cluster.options
    keys = cluster.node_label_keys() if options.lint_topology_keys else frozenset()
    warnings: list[str] = []
    for index, constraint in enumerate(constraints):
        place = f"{path}.topologySpreadConstraints[{index}]"
        missed = selector_misses(constraint, pod.metadata.labels, added) if options.lint_selectors else None
        if missed is not None:
            warnings.append(place + _MISSES[missed.why].format(term=missed.term))
        # A cluster without nodes, as one that starts them on demand, says nothing of their labels.
        if keys and constraint.topology_key not in keys:
            warnings.append(_unknown_key(constraint, place, keys))
    return Answer(warnings=tuple(warnings)) if warnings else ALLOWED


def _unknown_key(constraint: TopologySpreadConstraint, place: str, keys: frozenset[str]) -> str:
    consequence = (
        "the pod fits nowhere" if constraint.when_unsatisfiable == DO_NOT_SCHEDULE else "it spreads over nothing"
    )
    near = did_you_mean(constraint.topology_key, keys)
    return f"{place}.topologyKey: no node has label {constraint.topology_key}: {consequence}{near}"
