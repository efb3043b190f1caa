"""Labels that Kubernetes sets on nodes, and keys that resemble one of them but that nothing sets.

The domains kubernetes.io and k8s.io, and their subdomains, are Kubernetes' own. A key there is a mistake if it has the
name of a node's label with another domain (topology.kubernetes.io/hostname), or one letter more, less or different
(topology.kubernetes.io/zome). The API server accepts such keys everywhere.

Source: staging/src/k8s.io/api/core/v1/well_known_labels.go and cluster/addons at v1.36.3; the reference "Well-Known
Labels, Annotations and Taints".
"""

from __future__ import annotations

from typing import Final

NODE_LABELS: Final = (
    "kubernetes.io/hostname",
    "topology.kubernetes.io/zone",
    "topology.kubernetes.io/region",
    "kubernetes.io/os",
    "kubernetes.io/arch",
    "node.kubernetes.io/instance-type",
    "node.kubernetes.io/windows-build",
    "failure-domain.beta.kubernetes.io/zone",
    "failure-domain.beta.kubernetes.io/region",
    "beta.kubernetes.io/os",
    "beta.kubernetes.io/arch",
    "beta.kubernetes.io/instance-type",
)
"""The labels; if several domains have the same name, the current one is first."""
_OPEN: Final = ("node-role.kubernetes.io", "node-restriction.kubernetes.io", "feature.node.kubernetes.io")
"""Domains with names that others choose, as CSI drivers do."""
_ALIKE: Final = 0.75
"""The ratio of difflib from which two names in one domain count as one word with a typing error."""
_DOMAINS_ALIKE: Final = 0.9
_MAX_LENGTH: Final = 316
"""A domain with 253 characters and a name with 63: the maximum length of a label's key."""


def meant_label(key: str) -> str:
    """The node's label that a key probably should be; empty: the key is one, or resembles none."""
    domain, slash, name = key.partition("/")
    if not slash or key in NODE_LABELS or domain in _OPEN or "csi" in domain.split(".") or len(key) > _MAX_LENGTH:
        return ""
    known = [label.partition("/")[::2] for label in NODE_LABELS]
    if any(domain == own or domain.endswith(f".{own}") for own in ("kubernetes.io", "k8s.io")):
        same = next((one for one in known if one[1] == name), None)
        close = (
            one
            for one in known
            if one[0] == domain and abs(len(one[1]) - len(name)) <= 1 and _alike(name, one[1], _ALIKE)
        )
    else:
        same = None
        close = (one for one in known if one[1] == name and _alike(domain, one[0], _DOMAINS_ALIKE))
    return "/".join(same or next(close, ()))


def _alike(one: str, other: str, ratio: float) -> bool:
    # Loaded only for an unknown key.
    from difflib import SequenceMatcher

    return SequenceMatcher(None, one, other).ratio() >= ratio
