"""The feature gates that decide what the API server accepts, with their default in each minor version.

A field with its gate off is dropped before it is validated, or rejected, as its rule says. Gates with one default in
all versions are not listed or checked: those that are on are rules like others, and fields of those that are off
(ContainerStopSignals, ImageVolumeWithDigest, TaintTolerationComparisonOperators, UserNamespacesHostNetworkSupport,
GenericWorkload, EmptyDirVolumeMode and others of 1.37) have the rule of an API server that drops them.

Versions before 1.34 were not compared with upstream. A gate that other rules know, too, has its minor from there
(`podrules.api.features`).

Source: pkg/features/kube_features.go of k8s.io/kubernetes at v1.37.1, which keeps the defaults of every version.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from msgspec import Struct

from podrules.api.features import CHANGES

_ON_SINCE: Final[Mapping[str, int]] = {
    "ClusterTrustBundleProjection": 37,
    "ContainerRestartRules": 35,
    "EnvFiles": 35,
    "HPAConfigurableTolerance": 35,
    "HPAScaleToZero": 37,
    "HostnameOverride": 35,
    "ImageVolume": 35,
    "MaxUnavailableStatefulSet": 37,
    "PodCertificateRequest": 37,
    "PodLevelResources": CHANGES["pod_level_resources"].since,
    "RestartAllContainersOnContainerExits": 36,
    "SELinuxMount": 37,
    "StrictIPCIDRValidation": 36,
}
"""The first minor in which each is on."""


class Rules(Struct, frozen=True):
    """The API server's version, by which some rules differ."""

    minor: int

    def on(self, gate: str) -> bool:
        """Whether a gate is on by default."""
        return self.minor >= _ON_SINCE[gate]
