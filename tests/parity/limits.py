"""Suite ``limits``: a new pod in a namespace with LimitRanges and ResourceQuotas: the stored pod, or the rejection."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from podrules.admission.limits import limit_range_refusal, quota_refusal, quota_room
from podrules.api.features import Features
from podrules.api.model.decode import from_object
from podrules.api.model.pod import Pod, ResourceRequirements
from podrules.api.model.policy import LimitRange, ResourceQuota
from podrules.pod.defaults import apply_limit_ranges, default_limit_range, default_pod, default_pod_level_resources
from podrules.pod.qos import created_pod_qos

Answer = dict[str, Any]

_ASKED: Final = 25
"""The most pods for which the oracle asks."""
_NEXT_PROBLEM: Final = re.compile(r", (?=minimum |maximum |\S+ max limit to request ratio per )")


def answer_limits(case: Mapping[str, Any], features: Features) -> Answer:
    """The answer to one case, in the shape of ``expected``."""
    limit_ranges = [default_limit_range(from_object(entry, LimitRange)) for entry in case["limitRanges"]]
    quotas = [from_object(entry, ResourceQuota) for entry in case["resourceQuotas"]]
    filled = apply_limit_ranges(default_pod(from_object(case["pod"], Pod), features=features), limit_ranges)
    stored = default_pod_level_resources(filled, features=features)
    answer: Answer = {
        "filled": _resources(filled),
        "stored": _resources(stored),
        "qosClass": created_pod_qos(stored, features=features).value,
    }
    by_range = limit_range_refusal(stored, limit_ranges, features=features)
    if by_range is not None:
        answer["limitRangeRefusal"] = _in_order(by_range)
    room = quota_room(stored, quotas, features=features)
    if room is not None and room.pods < _ASKED:
        answer |= {"room": room.pods, "nextRefusal": room.refusal}
    by_quota = quota_refusal(stored, quotas, features=features)
    if by_quota is not None:
        answer["quotaRefusal"] = by_quota
    return answer


def _resources(pod: Pod) -> Answer:
    found = {ref.container.name: ref.container.resources for ref in pod.containers()}
    if pod.spec.resources is not None:
        found[""] = pod.spec.resources
    return {name: _amounts(resources) for name, resources in found.items()}


def _amounts(resources: ResourceRequirements) -> Answer:
    return {
        side: {name: str(amount) for name, amount in amounts.items()}
        for side, amounts in (("requests", resources.requests), ("limits", resources.limits))
    }


def _in_order(refusal: str) -> str:
    """The problems of a LimitRange sorted, as the oracle does: upstream has them in the order of Go maps."""
    head, bracket, rest = refusal.partition(" is forbidden: [")
    return f"{head}{bracket}{', '.join(sorted(_NEXT_PROBLEM.split(rest[:-1])))}]" if bracket else refusal
