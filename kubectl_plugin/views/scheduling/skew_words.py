"""How evenly pods stand by their constraints, in words."""

from __future__ import annotations

from kubectl_plugin.views.words import counted
from podrules.skew import ConstraintSkew

__all__ = ["domain_words", "skew_words"]


def skew_words(one: ConstraintSkew) -> str:
    """``skew 3 > maxSkew 1 now``, ``skew 1 within maxSkew 1 now``."""
    return f"skew {one.skew} {'>' if one.exceeded else 'within'} maxSkew {one.max_skew} now"


def domain_words(one: ConstraintSkew) -> str:
    """Which domains the numbers are from, and by which constraint."""
    kind = "DoNotSchedule" if one.hard else "ScheduleAnyway"
    least = f"least is {one.least} in {one.least_in}"
    if one.least_in is None:
        verb = "is" if one.domains == 1 else "are"
        least = f"least counts as 0, because {counted(one.domains, 'domain')} {verb} fewer than minDomains"
    return f"{one.most_in} has {one.most}, {least} ({one.topology_key}, {kind})"
