"""Feature gates, as data: what is on by default in a given Kubernetes minor version.

Rules take a `Features` value and look nothing up globally. Only gates that rules read are listed.

Source: pkg/features/kube_features.go at v1.36.3.
"""

from __future__ import annotations

import re
from typing import Final

from msgspec import Struct

__all__ = ["REFERENCE", "REFERENCE_VERSION", "Features", "minor_of"]

REFERENCE_VERSION: Final = "1.36.3"
"""The version whose behaviour the rules restate."""

_REFERENCE_MINOR: Final = 36
_ON_BY_DEFAULT_SINCE: Final = {
    "in_place_pod_vertical_scaling": 33,
    "pod_level_resources": 34,
    "in_place_pod_level_resources_vertical_scaling": 36,
    "node_declared_features": 36,
}


class Features(Struct, frozen=True, kw_only=True):
    """The gates that change what a rule answers."""

    minor: int
    """Kubernetes 1.<minor>."""
    pod_level_resources: bool
    """PodLevelResources: ``spec.resources`` counts (KEP-2837)."""
    in_place_pod_vertical_scaling: bool
    """InPlacePodVerticalScaling: container resources in the status count (KEP-1287)."""
    in_place_pod_level_resources_vertical_scaling: bool
    """InPlacePodLevelResourcesVerticalScaling: pod resources in the status count (KEP-5419)."""
    node_declared_features: bool
    """NodeDeclaredFeatures: pods that need a kubelet's feature go where it is declared (KEP-5328)."""

    @classmethod
    def of_minor(cls, minor: int) -> Features:
        """The defaults of Kubernetes 1.<minor>; a newer minor than the reference has the reference's."""
        gates = {gate: minor >= since for gate, since in _ON_BY_DEFAULT_SINCE.items()}
        return cls(minor=minor, **gates)


REFERENCE: Final = Features.of_minor(_REFERENCE_MINOR)


def minor_of(git_version: str) -> int | None:
    """The minor of a version such as ``v1.36.3-eks-1`` or ``1.36``; None when it is not one of 1.x."""
    found = re.match(r"v?1\.([0-9]{1,3})(?:[^0-9]|$)", git_version, re.ASCII)
    return int(found.group(1)) if found else None
