"""Whether the user may do something, as the API server says."""

from __future__ import annotations

from msgspec import Struct

__all__ = ["Access"]


class Access(Struct, frozen=True, rename="camel"):
    """The answer to a SelfSubjectAccessReview."""

    verb: str
    resource: str
    """``pods``, ``volumeattachments.storage.k8s.io``."""
    name: str
    """Empty: any."""
    namespace: str
    """Empty: all, or none for what has no namespace."""
    allowed: bool
    reason: str
    """The authorizer's words, often none."""
