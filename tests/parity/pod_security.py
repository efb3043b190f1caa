"""Suite ``pod_security``: a Pod or a workload in a namespace with labels, and Pod Security admission's words on it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from podrules.admission.pod_security.checks import evaluate, refusal, warning
from podrules.admission.pod_security.pods import SecuredPod, pod_of
from podrules.admission.pod_security.policy import LevelVersion, PolicyLevel, parse_version, policy_of
from podrules.admission.validation.view import Rules
from podrules.api.features import Features

Answer = dict[str, Any]


def answer_pod_security(case: Mapping[str, Any], features: Features) -> Answer:
    """The answer to one case, in the shape of ``expected``.

    Args:
        case: Its input.
        features: What holds in the version that was asked.
    """
    policy, pod = policy_of(case["labels"]), pod_of(case["object"], Rules(features.minor))
    warned = None if pod is None else warning(pod, policy)
    return {
        "evaluation": None if pod is None else _evaluation(pod, case["level"], case["version"]),
        "policy": {
            "enforce": str(policy.enforce),
            "audit": str(policy.audit),
            "warn": str(policy.warn),
            "problems": [str(problem) for problem in policy.problems],
        },
        "refusal": None if pod is None else refusal(pod, policy),
        "warnings": [] if warned is None else [warned],
    }


def _evaluation(pod: SecuredPod, level: str, version: str) -> Answer:
    found = evaluate(pod, LevelVersion(PolicyLevel(level), parse_version(version)))
    return {"allowed": found.allowed, "reason": found.reason, "detail": found.detail}
