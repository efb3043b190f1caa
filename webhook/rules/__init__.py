"""The rules of the webhook: one module for each concern, and the tables that map requests to rules.

A rule is a function of an object or request and of the `Cluster`, and returns an `Answer`. One entry in one of four
tables registers it: `DEFAULTS`, `POD_RULES`, `TEMPLATE_RULES` or `DELETION_RULES`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import Final, Generic, NamedTuple, TypeVar

from podrules.api.model.pod import Pod
from podrules.pod.priority import is_mirror_pod
from webhook.cluster.view import Cluster
from webhook.reviews.admission_review import Request, new_object, pod_of
from webhook.reviews.new_pod import NewPod, as_new
from webhook.reviews.partial_objects import PartialObject
from webhook.reviews.response import ALLOWED, Answer, combined
from webhook.rules.force_delete import (
    review_deletion,
    review_eviction,
    warn_of_zero_grace,
    warn_of_zero_grace_in_template,
)
from webhook.rules.node_deletion import review_node_deletion
from webhook.rules.pod_template import WORKLOADS_WITH_TEMPLATES, TemplateReview
from webhook.rules.priority import (
    check_class_of_template,
    default_priority,
    refuse_disallowed_class,
    refuse_unknown_class,
)
from webhook.rules.topology_spread import default_topology_spread, lint_spread, lint_spread_of_template
from webhook.rules.unreadable import allow_unreadable, refuse_unreadable

__all__ = [
    "DEFAULTS",
    "DELETION_RULES",
    "POD_RULES",
    "TEMPLATE_RULES",
    "Rule",
    "allow_unreadable",
    "fill_in",
    "mutate",
    "refuse_unreadable",
    "validate",
]

T = TypeVar("T")

_LOG: Final = logging.getLogger(__name__)
_CLASS: Final = "spec.priorityClassName"
_CONSTRAINTS: Final = "spec.topologySpreadConstraints"
_GRACE: Final = "spec.terminationGracePeriodSeconds"


class Rule(NamedTuple, Generic[T]):
    """A rule and its name in the audit log."""

    name: str
    """The name in docs/webhook/reference.md."""
    field: str
    """The field that the rule checks; in a workload, the path below its template."""
    judge: Callable[[T, Cluster], Answer]
    advice: bool = False
    """Whether it only warns. An error in it then ends neither the request nor the other rules."""

    def answer(self, judged: T, cluster: Cluster, template: str = "") -> Answer:
        """Apply the rule; return its answer with its entry for the audit log.

        Args:
            judged: The object or the request.
            cluster: The cluster that the rule reads.
            template: The path of the template that contains the field; empty: the field is not part of a template.
        """
        try:
            answer = self.judge(judged, cluster)
        except Exception:
            if not self.advice:
                raise
            _LOG.exception("advice failed")
            return ALLOWED
        return answer.of_rule(self.name, f"{template}.{self.field}" if template else self.field)


DEFAULTS: Final[list[Rule[NewPod]]] = [
    Rule("priority-class", _CLASS, default_priority),
    Rule("topology-spread", _CONSTRAINTS, default_topology_spread),
]
"""Rules that patch new pods. Reviews and the audit of stored pods use this table."""

POD_RULES: Final[list[Rule[PartialObject[Pod]]]] = [
    Rule("unknown-class", _CLASS, refuse_unknown_class),
    Rule("disallowed-class", _CLASS, refuse_disallowed_class),
    Rule("spread-lint", _CONSTRAINTS, lint_spread, advice=True),
    Rule("no-grace", _GRACE, warn_of_zero_grace, advice=True),
]
"""Rules for new pods."""

TEMPLATE_RULES: Final[list[Rule[TemplateReview]]] = [
    Rule("template-class", _CLASS, check_class_of_template),
    Rule("spread-lint", _CONSTRAINTS, lint_spread_of_template, advice=True),
    Rule("no-grace", _GRACE, warn_of_zero_grace_in_template, advice=True),
]
"""Rules for created or changed workloads."""

DELETION_RULES: Final[Mapping[tuple[str, str, str, str], Rule[Request]]] = {
    ("", "pods", "", "DELETE"): Rule("force-deletion", "options.gracePeriodSeconds", review_deletion),
    ("", "pods", "eviction", "CREATE"): Rule("force-deletion", "deleteOptions.gracePeriodSeconds", review_eviction),
    ("", "nodes", "", "DELETE"): Rule("node-deletion", "name", review_node_deletion),
}
"""The rule for each deletion, by group, resource, subresource and operation."""


def fill_in(new: NewPod, cluster: Cluster) -> Answer:
    """Return the patches of all `DEFAULTS` for a new pod."""
    return combined(rule.answer(new, cluster) for rule in DEFAULTS)


def mutate(request: Request, cluster: Cluster) -> Answer:
    """Return the patches of a new pod."""
    if _kind(request) != ("", "pods", "", "CREATE"):
        return ALLOWED
    seen = pod_of(request)
    # A kubelet creates a mirror pod to report a static pod that already runs.
    if seen is None or is_mirror_pod(seen.object):
        return ALLOWED
    return fill_in(as_new(seen, request, cluster), cluster)


def validate(request: Request, cluster: Cluster) -> Answer:
    """Return a refusal or warnings."""
    group, resource, sub_resource, operation = kind = _kind(request)
    if kind in DELETION_RULES:
        return DELETION_RULES[kind].answer(request, cluster)
    if kind == ("", "pods", "", "CREATE"):
        return _check_new_pod(request, cluster)
    workload = WORKLOADS_WITH_TEMPLATES.get((group, resource))
    if workload is not None and not sub_resource and operation in {"CREATE", "UPDATE"}:
        seen = new_object(request, workload)
        return ALLOWED if seen is None else _template(TemplateReview(request, seen), cluster)
    return ALLOWED


def _check_new_pod(request: Request, cluster: Cluster) -> Answer:
    seen = pod_of(request)
    # Any client can set the annotation of mirror pods; only a kubelet creates mirror pods.
    if seen is None or (is_mirror_pod(seen.object) and request.user_info.is_kubelet):
        return ALLOWED
    return combined(rule.answer(seen, cluster) for rule in POD_RULES)


def _template(review: TemplateReview, cluster: Cluster) -> Answer:
    return combined(rule.answer(review, cluster, review.path) for rule in TEMPLATE_RULES)


def _kind(request: Request) -> tuple[str, str, str, str]:
    """Group, resource, subresource and operation."""
    return request.resource.group, request.resource.resource, request.sub_resource, request.operation
