"""The room of quotas for pods, and the LimitRange that limits them: reports use it without loading the rules."""

from __future__ import annotations

from msgspec import Struct


class QuotaShare(Struct, frozen=True, rename="camel"):
    """The used and the hard amount of a resource in a quota."""

    resource: str
    used: str
    hard: str


class QuotaRoom(Struct, frozen=True, kw_only=True, rename="camel"):
    """How many more pods the quotas of a namespace accept."""

    pods: int
    quota: str
    """The quota that rejects the next pod."""
    resources: tuple[str, ...]
    """The resources that are then short; empty: it rejects for another reason."""
    refusal: str
    """Upstream's message for the next pod."""
    shares: tuple[QuotaShare, ...] = ()
    """The usage of these resources at the time of the next pod."""


class LimitRangeBound(Struct, frozen=True, rename="camel"):
    """The LimitRange that rejects a pod, or sets a container's limit below its request."""

    name: str
    resource: str = ""
    """The resource with the limit below the request; empty: it sets no such limit."""
    request: str = ""
    limit: str = ""
    capped: bool = False
    """Whether a limit equal to the request would be above the maximum of this LimitRange."""
