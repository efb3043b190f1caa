"""Parse a namespace's labels: the level and the version for each mode, and problems in the labels.

Source: api/helpers.go (PolicyToEvaluate, ParseLevel, ParseVersion) and api/constants.go of
k8s.io/pod-security-admission at v0.37.1.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from enum import StrEnum
from typing import Final, NamedTuple

from msgspec import Struct

from podrules.admission.validation.errors import invalid
from podrules.api.model.misfit import FieldError
from podrules.api.model.quantity import whole_number

LABEL_PREFIX: Final = "pod-security.kubernetes.io/"
_ENFORCE: Final = LABEL_PREFIX + "enforce"
_AUDIT: Final = LABEL_PREFIX + "audit"
_WARN: Final = LABEL_PREFIX + "warn"
_VERSION: Final = "-version"
LATEST: Final = "latest"
_NUMBERED: Final = re.compile(r"v1\.(0|[1-9][0-9]*)")
_MAX_INT: Final = 2**63 - 1


class PolicyLevel(StrEnum):
    """How much a policy allows, from everything to little."""

    PRIVILEGED = "privileged"
    BASELINE = "baseline"
    RESTRICTED = "restricted"


class LevelVersion(NamedTuple):
    """A level in a version of Kubernetes."""

    level: PolicyLevel = PolicyLevel.PRIVILEGED
    minor: int | None = None
    """37 for v1.37; None: the API server's own version."""

    def __str__(self) -> str:
        return f"{self.level}:{LATEST if self.minor is None else f'v1.{self.minor}'}"


class Policy(Struct, frozen=True):
    """The policy of a namespace."""

    enforce: LevelVersion = LevelVersion()
    """Pods that violate it are rejected."""
    audit: LevelVersion = LevelVersion()
    """Pods and templates that violate it are recorded in the audit log."""
    warn: LevelVersion = LevelVersion()
    """The user who creates a pod or a template that violates it gets a warning."""
    problems: tuple[FieldError, ...] = ()
    """Malformed labels; a namespace with them cannot be created."""


def policy_of(labels: Mapping[str, str]) -> Policy:
    """The policy of a namespace with these labels; a malformed level enforces restricted and does not warn."""
    problems: list[FieldError] = []
    enforce = _level_version(labels, _ENFORCE, PolicyLevel.RESTRICTED, problems)
    audit = _level_version(labels, _AUDIT, PolicyLevel.PRIVILEGED, problems)
    warn = _level_version(labels, _WARN, PolicyLevel.PRIVILEGED, problems)
    if _WARN not in labels and labels.get(_ENFORCE) == enforce.level != PolicyLevel.PRIVILEGED:
        warn = LevelVersion(enforce.level, warn.minor if _WARN + _VERSION in labels else enforce.minor)
    return Policy(enforce, audit, warn, tuple(problems))


def parse_version(text: str) -> int | None:
    """The minor version of ``v1.37``, None for ``latest``.

    Raises:
        ValueError: It is neither.
    """
    if text == LATEST:
        return None
    found = _NUMBERED.fullmatch(text)
    if found is None or whole_number(found[1]) > _MAX_INT:
        raise ValueError('must be "latest" or "v1.x"')
    return whole_number(found[1])


def _level_version(
    labels: Mapping[str, str], label: str, malformed: PolicyLevel, problems: list[FieldError]
) -> LevelVersion:
    level, minor = PolicyLevel.PRIVILEGED, None
    if label in labels:
        try:
            level = PolicyLevel(labels[label])
        except ValueError:
            level = malformed
            problems.append(_problem(labels, label, f"must be one of {', '.join(PolicyLevel)}"))
    if label + _VERSION in labels:
        try:
            minor = parse_version(labels[label + _VERSION])
        except ValueError as error:
            problems.append(_problem(labels, label + _VERSION, str(error)))
    return LevelVersion(level, minor)


def _problem(labels: Mapping[str, str], label: str, words: str) -> FieldError:
    return invalid(f"metadata.labels[{label}]", labels[label], words)
