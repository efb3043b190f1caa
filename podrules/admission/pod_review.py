"""The API server's answer to a new pod after every plugin that changes it: the first rejection, and the warning.

    validation      the resources, after LimitRanges have added missing ones
    LimitRanger     the minimums, maximums and ratios of the namespace's LimitRanges
    PodSecurity     the level that the namespace's labels enforce; another level may warn
    ResourceQuota   the room in the namespace's quotas; last of all, after the webhooks

Each step runs only if the previous ones accept the pod. Exemptions, the configuration of PodSecurity and of limited
resources, and webhooks and policies are not considered.

Source: pkg/kubeapiserver/options/plugins.go (AllOrderedPlugins) of k8s.io/kubernetes at v1.37.1 and
pkg/registry/generic/registry/store.go (Create) of k8s.io/apiserver at v0.37.1.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from podrules.admission.admitted_pod import LimitRangeBound, PodRefusal, RejectedBy, forbidden
from podrules.admission.limits import limit_below_request, limit_range_refusal, quota_room, still_refused
from podrules.admission.pod_security.checks import refusal, warning
from podrules.admission.pod_security.pods import SecuredPod
from podrules.admission.pod_security.policy import Policy, PolicyLevel
from podrules.admission.validation.resources import validate_filled_resources
from podrules.admission.validation.view import Rules
from podrules.api.features import REFERENCE, Features
from podrules.api.model.pod import Pod
from podrules.api.model.policy import LimitRange, ResourceQuota
from podrules.api.refusals import RefusedFor, refuser


class AdmissionRules(Struct, frozen=True, kw_only=True):
    """The known rules for the pods of a namespace."""

    limit_ranges: Sequence[LimitRange] = ()
    quotas: Sequence[ResourceQuota] = ()
    policy: Policy = Policy()
    """The policy of Pod Security."""


def needs_content(policy: Policy) -> bool:
    """Whether Pod Security needs the whole pod: a level is not the one that allows everything."""
    return policy.enforce.level is not PolicyLevel.PRIVILEGED or policy.warn.level is not PolicyLevel.PRIVILEGED


def pod_refusal(
    pod: Pod, secured: SecuredPod | None, rules: AdmissionRules, *, features: Features = REFERENCE, said: str = ""
) -> PodRefusal | None:
    """The first rejection of a pod after every plugin that changes it; None: all accept it.

    ``secured`` is the same pod as input of Pod Security; None: it is not known well enough. ``said`` is why the API
    server rejected a pod of the same workload; empty: no rejection is known.
    """
    errors = list(validate_filled_resources(pod, Rules(features.minor))) if rules.limit_ranges else []
    if errors:
        texts = [f"{error.field}: {error.problem}" for error in dict.fromkeys(errors)]
        problem = texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"
        bound = limit_below_request(pod, rules.limit_ranges)
        return PodRefusal(RejectedBy.VALIDATION, f'Pod "{pod.metadata.name}" is invalid: {problem}', limit_range=bound)
    for one in rules.limit_ranges:
        if (said_of_range := limit_range_refusal(pod, [one], features=features)) is not None:
            bound = LimitRangeBound(one.metadata.name)
            return PodRefusal(RejectedBy.LIMIT_RANGER, said_of_range, limit_range=bound)
    violation = None if secured is None else refusal(secured, rules.policy)
    if violation is not None:
        return PodRefusal(RejectedBy.POD_SECURITY, forbidden(pod, violation))
    by = refuser(said)
    if by is not None and (names := still_refused(by, pod, rules.quotas)):
        return PodRefusal(
            RejectedBy.RESOURCE_QUOTA, said, by.name, names if by.why is RefusedFor.QUOTA_EXCEEDED else ()
        )
    room = quota_room(pod, rules.quotas, features=features)
    if room is None or room.pods:
        return None
    return PodRefusal(RejectedBy.RESOURCE_QUOTA, room.refusal, room.quota, room.resources)


def pod_warning(secured: SecuredPod | None, rules: AdmissionRules) -> str:
    """The warning of Pod Security at the creation of the pod or its workload; empty: none."""
    return ("" if secured is None else warning(secured, rules.policy)) or ""
