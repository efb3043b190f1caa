"""What reading a cluster came to, as plain data: reports and views name it without any I/O.

`cluster_io` makes it.
"""

from __future__ import annotations

from typing import Final, TypeVar

from msgspec import Struct
from msgspec.structs import replace

__all__ = [
    "FORBIDDEN",
    "NOT_ALL_IN_FILE",
    "NOT_ASKED",
    "NOT_FOUND",
    "NOT_IN_FILE",
    "NOT_IN_SNAPSHOT",
    "OUTSIDE",
    "POLICY_NOT_EVALUATED",
    "USAGE_NOT_ASKED",
    "WEBHOOK_NOT_ASKED",
    "Access",
    "Owner",
    "Unread",
    "read_or_none",
]

T = TypeVar("T")

NOT_IN_FILE: Final = "not in the file"
"""A List has no objects of the kind; the cluster may have some."""
NOT_ALL_IN_FILE: Final = "not all in the file"
"""A List has objects of the kind, and lacks one that another object names."""
NOT_IN_SNAPSHOT: Final = "not in the snapshot"
"""A snapshot did not capture it."""
NOT_ASKED: Final = "not asked"
"""A plugin or an extender of the scheduler that is not restated here."""
FORBIDDEN: Final = "forbidden"
OUTSIDE: Final = f"{FORBIDDEN} outside of "
"""Before the one namespace in which the user may list a kind, and where it was read."""
NOT_FOUND: Final = "not found"


class Unread(Struct, frozen=True, rename="camel"):
    """Something that the answer would have used and that could not be read."""

    verb: str
    resource: str
    namespace: str | None
    reason: str
    """``forbidden``, ``not found``, ``not served``, ``not in the file`` …"""
    node: str = ""
    """Whose kubelet was asked, where one was."""
    path: str = ""
    """What that kubelet was asked for: ``stats/summary``, ``configz``."""

    @property
    def is_not_listed(self) -> bool:
        """Whether a List does not hold it."""
        return self.reason.startswith((NOT_IN_FILE, NOT_ALL_IN_FILE))

    @property
    def is_not_captured(self) -> bool:
        """Whether a List or a snapshot does not hold it."""
        return self.is_not_listed or self.reason.startswith(NOT_IN_SNAPSHOT)

    @property
    def may_exist(self) -> bool:
        """Whether the cluster may have what was not read."""
        return self.reason.startswith(FORBIDDEN) or self.is_not_captured

    @property
    def read_in(self) -> str:
        """The one namespace where it was read; empty: nowhere."""
        return self.reason.partition(OUTSIDE)[2]


def read_or_none(found: T | Unread) -> T | None:
    """What was read; None: it could not be, and the answer does without it and says nothing."""
    return None if isinstance(found, Unread) else found


USAGE_NOT_ASKED: Final = Unread("get", "nodes/proxy", None, "not asked for a list")
"""Of pods that were not named, in a source that takes a request for each node."""


WEBHOOK_NOT_ASKED: Final = Unread("create", "pods.mutate.kubectl-qos.io", None, NOT_ASKED)
"""The webhook of kubectl qos, where its configuration does not say what it writes."""
POLICY_NOT_EVALUATED: Final = replace(
    WEBHOOK_NOT_ASKED, resource="mutatingadmissionpolicies.admissionregistration.k8s.io"
)
"""The policies that the chart of kubectl qos installs instead."""


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
