"""Warns of pods whose own grace period is 0: each deletion of one is a force deletion, and cannot be told from it.

Of a workload's pods its creator is told, for nobody reads what a controller is warned of.
"""

from __future__ import annotations

from typing import Final

from podrules.model.pod import Pod
from webhook.handlers.pod_template import WORKLOADS_WITH_TEMPLATES, TemplateOwner, template_of
from webhook.response import ALLOWED, Answer

__all__ = ["warn_of_no_grace", "warn_of_no_grace_in_template"]

_FIELD: Final = "terminationGracePeriodSeconds"
_TOLD: Final = frozenset(group for group, _ in WORKLOADS_WITH_TEMPLATES)
_MEANING: Final = (
    "0, so every deletion is a force deletion: the object goes at once, its processes may run on beside a replacement; "
    "1 or more waits for them"
)


def warn_of_no_grace(pod: Pod) -> Answer:
    """A warning for whoever creates the pod."""
    owner = pod.metadata.controller
    told = owner is not None and owner.group in _TOLD
    return _warning("spec") if pod.spec.termination_grace_period_seconds == 0 and not told else ALLOWED


def warn_of_no_grace_in_template(workload: TemplateOwner) -> Answer:
    """A warning for whoever creates or changes a workload; of what a controller owns, its owner was told."""
    if workload.metadata.controller is not None:
        return ALLOWED
    template, path = template_of(workload)
    return _warning(f"{path}.spec") if template.spec.termination_grace_period_seconds == 0 else ALLOWED


def _warning(path: str) -> Answer:
    return Answer(warnings=(f"{path}.{_FIELD}: {_MEANING}",))
