"""What the quotas of a namespace have left for pods, apart from the rules: reports have it without loading these."""

from __future__ import annotations

from msgspec import Struct

__all__ = ["QuotaRoom", "QuotaShare"]


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
