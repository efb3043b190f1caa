"""The sentences of Pod Security admission: the rejection of a Pod, and the warning about a Pod or a workload.

Source: admission/admission.go (EvaluatePod) of k8s.io/pod-security-admission at v0.37.1.
"""

from __future__ import annotations

from podrules.admission.pod_security.evaluation import evaluate
from podrules.admission.pod_security.pods import SecuredPod
from podrules.admission.pod_security.policy import Policy


def refusal(pod: SecuredPod, policy: Policy) -> str | None:
    """What ``kubectl create`` prints after ``pods "x" is forbidden: ``; None: the pod is accepted, as are templates."""
    if not pod.is_pod:
        return None
    found = evaluate(pod, policy.enforce)
    return None if found.allowed else f'violates PodSecurity "{policy.enforce}": {found.detail}'


def warning(pod: SecuredPod, policy: Policy) -> str | None:
    """What ``kubectl create`` prints after ``Warning: ``; None: no warning, also if the pod is rejected."""
    if refusal(pod, policy) is not None:
        return None
    found = evaluate(pod, policy.warn)
    return None if found.allowed else f'would violate PodSecurity "{policy.warn}": {found.detail}'
