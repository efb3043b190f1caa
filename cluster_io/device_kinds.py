"""The kinds of dynamic resource allocation, in a module of their own: their many models take time to load."""

from __future__ import annotations

from typing import Final

from cluster_io.kinds import Kind
from podrules.api.model.resource import DeviceClass, ResourceClaim, ResourceClaimTemplate, ResourceSlice

RESOURCE_CLAIMS: Final = Kind(
    "ResourceClaim", "resourceclaims", (), "resource.k8s.io", "v1", namespaced=True, model=ResourceClaim
)
RESOURCE_CLAIM_TEMPLATES: Final = Kind(
    "ResourceClaimTemplate",
    "resourceclaimtemplates",
    (),
    "resource.k8s.io",
    "v1",
    namespaced=True,
    model=ResourceClaimTemplate,
)
RESOURCE_SLICES: Final = Kind(
    "ResourceSlice", "resourceslices", (), "resource.k8s.io", "v1", namespaced=False, model=ResourceSlice
)
DEVICE_CLASSES: Final = Kind(
    "DeviceClass", "deviceclasses", (), "resource.k8s.io", "v1", namespaced=False, model=DeviceClass
)
