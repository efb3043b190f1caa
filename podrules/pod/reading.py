"""The results of reading a cluster, as plain data: reports and views use them without I/O.

`cluster_io` creates them.
"""

from __future__ import annotations

from typing import Final, TypeVar

from msgspec import Struct
from msgspec.structs import replace

T = TypeVar("T")

NOT_IN_FILE: Final = "not in the file"
"""A List has no objects of the kind; the cluster may have some."""
NOT_ALL_IN_FILE: Final = "not all in the file"
"""A List has objects of the kind, but not one that another object names."""
NOT_IN_SNAPSHOT: Final = "not in the snapshot"
"""A snapshot did not capture it."""
NOT_ASKED: Final = "not asked"
"""A plugin or an extender of the scheduler that is not implemented here."""
FORBIDDEN: Final = "forbidden"
OUTSIDE: Final = f"{FORBIDDEN} outside of "
"""The prefix of the only namespace in which the user may list a kind, and where it was read."""
NOT_FOUND: Final = "not found"


class UnreadInput(Struct, frozen=True, rename="camel"):
    """An input of the answer that could not be read."""

    verb: str
    resource: str
    namespace: str | None
    reason: str
    """``forbidden``, ``not found``, ``not served``, ``not in the file`` …"""
    node: str = ""
    """The node of the kubelet, for a request to a kubelet."""
    path: str = ""
    """The path of the request to that kubelet: ``stats/summary``, ``configz``."""

    @property
    def is_not_listed(self) -> bool:
        """Whether a List does not contain it."""
        return self.reason.startswith((NOT_IN_FILE, NOT_ALL_IN_FILE))

    @property
    def is_not_captured(self) -> bool:
        """Whether a List or a snapshot does not contain it."""
        return self.is_not_listed or self.reason.startswith(NOT_IN_SNAPSHOT)

    @property
    def may_exist(self) -> bool:
        """Whether it may exist in the cluster."""
        return self.reason.startswith(FORBIDDEN) or self.is_not_captured

    @property
    def read_in(self) -> str:
        """The only namespace where it was read; empty: none."""
        return self.reason.partition(OUTSIDE)[2]


def read_or_none(found: T | UnreadInput) -> T | None:
    """The read value; None: it could not be read, and the answer ignores it without a note."""
    return None if isinstance(found, UnreadInput) else found


USAGE_NOT_ASKED: Final = UnreadInput("get", "nodes/proxy", None, "not asked for a list")
"""The usage of pods that were not named, in a source with one request per node."""


WEBHOOK_NOT_ASKED: Final = UnreadInput("create", "pods.mutate.kubectl-qos.io", None, NOT_ASKED)
"""The webhook of kubectl qos, if its configuration does not show what it writes."""
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
    """The name of the object; empty: any."""
    namespace: str
    """The namespace; empty: all, or none for cluster-scoped resources."""
    allowed: bool
    reason: str
    """The authorizer's message, often empty."""
