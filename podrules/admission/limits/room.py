"""What quotas have left for pods, and which LimitRange bounds them: reports have it without loading the rules."""

from __future__ import annotations

from msgspec import Struct

__all__ = ["LimitRangeBound", "QuotaRoom", "QuotaShare"]


class QuotaShare(Struct, frozen=True, rename="camel"):
    """How much of a resource a quota has given away."""

    resource: str
    used: str
    hard: str


class QuotaRoom(Struct, frozen=True, kw_only=True, rename="camel"):
    """How many more pods the quotas of a namespace let in."""

    pods: int
    quota: str
    """The quota that refuses the next one."""
    resources: tuple[str, ...]
    """What there is not enough of then; empty: it refuses for another reason."""
    refusal: str
    """Upstream's words for the next one."""
    shares: tuple[QuotaShare, ...] = ()
    """The use of these resources, as the next one finds it."""


class LimitRangeBound(Struct, frozen=True, rename="camel"):
    """The LimitRange that refuses a pod, or gives a container a limit below its request."""

    name: str
    resource: str = ""
    """What it limits below the request; empty: it gives no such limit."""
    request: str = ""
    limit: str = ""
    capped: bool = False
    """Whether a limit of that request would be above the maximum of this LimitRange."""
