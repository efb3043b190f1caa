"""The domains of a topology spread constraint, as results name them; it loads no arrays."""

from __future__ import annotations

from msgspec import Struct


class SpreadDomain(Struct, frozen=True, rename="camel"):
    """One domain of a topology spread constraint."""

    value: str
    matching: int
    """Pods that count, now."""
    skew: int
    """With the pod in this domain: ``with_pod`` less the constraint's minimum."""
    fits: bool
    with_pod: int
    """Pods that would count with this one there; as many as now where its labels do not match."""
    rejected_by: tuple[str, ...] = ()
    """Other plugins that together reject every node of it: the domain counts, and the pod cannot go there."""


class SpreadTerm(Struct, frozen=True, rename="camel"):
    """One ScheduleAnyway constraint's part of a node's score: ``count * weight + (maxSkew - 1)``."""

    field: str
    topology_key: str
    domain: str | None
    """None: the node lacks the key, and the part is 0."""
    count: int
    """Matching pods of the domain."""
    domains: int
    weight: float
    """``ln(domains + 2)``."""
    max_skew: int
    score: float
