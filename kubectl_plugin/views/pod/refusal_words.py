"""Pods that are refused for what holds in their namespace: what to do and what explains it; and a warning."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from kubectl_plugin.render.page import Section
from podrules.admission import PodRefusal, RefusedBy

__all__ = ["pod_security_section", "refusal_remedy", "refusal_term"]

_TERMS: Final = {
    RefusedBy.VALIDATION: "LimitRange",
    RefusedBy.LIMIT_RANGER: "LimitRange",
    RefusedBy.POD_SECURITY: "violates PodSecurity",
    RefusedBy.RESOURCE_QUOTA: "exceeded quota",
}


def refusal_remedy(refusal: PodRefusal) -> Iterator[str]:
    """What lets the pod in; nothing where the API server's words say it."""
    match refusal.by:
        case RefusedBy.VALIDATION:
            yield "A LimitRange of the namespace fills in what is not written: write the limit, too."
        case RefusedBy.LIMIT_RANGER:
            yield "Write amounts inside that range, or have the LimitRange changed."
        case RefusedBy.POD_SECURITY:
            label = "pod-security.kubernetes.io/enforce"
            yield f"Correct these fields, or have the label {label} of the namespace changed."
        case RefusedBy.RESOURCE_QUOTA if refusal.resources:
            yield f"Ask for less, or have quota {refusal.quota} raised."


def refusal_term(refusal: PodRefusal) -> str:
    """What ``kubectl qos why`` explains."""
    return _TERMS[refusal.by]


def pod_security_section(warning: str) -> Section:
    """The warning of Pod Security when the pod is created; empty where there is none."""
    return Section("Pod Security", (f"warns: {warning}",) if warning else ())
