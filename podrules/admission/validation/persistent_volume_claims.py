"""How the API server validates a PersistentVolumeClaim.

dataSource and dataSourceRef are made equal before they are validated, and a dataSource that is neither a claim nor a
snapshot is dropped.

Source: pkg/apis/core/validation/validation.go (ValidatePersistentVolumeClaim),
pkg/registry/core/persistentvolumeclaim/strategy.go and pkg/api/persistentvolumeclaim/util.go (DropDisabledFields,
EnforceDataSourceBackwardsCompatibility, NormalizeDataSources) of k8s.io/kubernetes at v1.37.1.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from podrules.admission.validation.claims import validate_claim_spec
from podrules.admission.validation.formats import dns_subdomain
from podrules.admission.validation.metadata import validate_object_meta
from podrules.admission.validation.view import Rules, View
from podrules.api.model.field_error import FieldError

_SOURCES: Final = frozenset({("", "PersistentVolumeClaim"), ("snapshot.storage.k8s.io", "VolumeSnapshot")})
"""Group and kind of what dataSource may name."""


def validate_persistent_volume_claim(claim: View, rules: Rules) -> Iterator[FieldError]:
    """Hold a claim against the rules of its creation."""
    yield from validate_object_meta(claim.struct("metadata"), rules, dns_subdomain)
    spec = claim.struct("spec")
    yield from validate_claim_spec(View(_with_equal_sources(spec), spec.path), rules)


def _with_equal_sources(spec: View) -> dict[str, Any]:
    content = dict(spec.content)
    if spec.struct("dataSourceRef").text("namespace"):
        del content["dataSourceRef"]
    source, reference = content.get("dataSource"), content.get("dataSourceRef")
    if reference is not None:
        content["dataSource"] = reference if source is None else source
    elif source is not None:
        own = spec.struct("dataSource")
        known = (own.text("apiGroup"), own.text("kind")) in _SOURCES
        content["dataSource"] = content["dataSourceRef"] = source if known else None
    return content
