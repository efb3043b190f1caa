"""What reading a cluster came to, as plain data: reports and views name it without any I/O.

`podrules.cluster` makes it.
"""

from __future__ import annotations

from typing import Final, TypeVar

from msgspec import Struct

__all__ = ["LABELS_NOT_ASKED", "QUOTAS_NOT_ASKED", "USAGE_NOT_ASKED", "Access", "Owner", "Unread", "read_or_none"]

T = TypeVar("T")


class Unread(Struct, frozen=True, rename="camel"):
    """Something that the answer would have used and that could not be read."""

    verb: str
    resource: str
    namespace: str | None
    reason: str
    """``forbidden``, ``not found``, ``not served``, ``not in the snapshot`` …"""
    node: str = ""
    """Whose kubelet was asked, where one was."""
    path: str = ""
    """What that kubelet was asked for: ``stats/summary``, ``configz``."""


def read_or_none(found: T | Unread) -> T | None:
    """What was read; None: it could not be, and the answer does without it and says nothing."""
    return None if isinstance(found, Unread) else found


USAGE_NOT_ASKED: Final = Unread("get", "nodes/proxy", None, "not asked for a list")
"""Of pods that were not named, in a source that takes a request for each node."""


LABELS_NOT_ASKED: Final = Unread("get", "namespaces", None, "not asked for Pod Security; --dry-run=server tells")
QUOTAS_NOT_ASKED: Final = Unread("list", "resourcequotas", None, "not asked, as Pod Security; --dry-run=server tells")
"""What bounds a namespace, where one answer about a manifest is to take a live cluster no more requests."""


class Owner(Struct, frozen=True, rename="camel"):
    """One step up the chain of controllers."""

    kind: str
    name: str


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
