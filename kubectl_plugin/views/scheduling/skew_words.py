"""The words for how evenly pods are spread by their constraints."""

from __future__ import annotations

from typing import Final

from kubectl_plugin.views.words import counted
from podrules.scheduling.skew import ConstraintSkew, UncountedNodes, UncountedReason


def skew_words(one: ConstraintSkew) -> str:
    """``skew 3 > maxSkew 1 now``, ``skew 1 within maxSkew 1 now``."""
    return f"skew {one.skew} {'>' if one.exceeded else 'within'} maxSkew {one.max_skew} now"


def domain_words(one: ConstraintSkew) -> str:
    """The domains and the constraint of the numbers."""
    kind = "DoNotSchedule" if one.hard else "ScheduleAnyway"
    least = f"least is {one.least} in {one.least_in}"
    if one.least_in is None:
        verb = "is" if one.domains == 1 else "are"
        least = f"least counts as 0, because {counted(one.domains, 'domain')} {verb} fewer than minDomains"
    more = "".join(f"; {_uncounted_words(entry)}" for entry in one.uncounted if one.most > 1)
    return f"{one.most_in} has {one.most}, {least} ({one.topology_key}, {kind}){more}"


def _uncounted_words(entry: UncountedNodes) -> str:
    one = entry.nodes == 1
    who = f"{entry.node} does" if one else f"{entry.nodes} nodes, such as {entry.node}, do"
    why = _UNCOUNTED[entry.why][not one].format(key=entry.key)
    return f"{who} not count: {'it' if one else 'they'} {why}"


_UNTOLERATED: Final = "a taint that the pod does not tolerate (nodeTaintsPolicy)"
_UNCOUNTED: Final = {
    UncountedReason.LACKS_KEY: ("lacks label {key}", "lack label {key}"),
    UncountedReason.NODE_AFFINITY: (
        "does not match its node affinity or selector",
        "do not match its node affinity or selector",
    ),
    UncountedReason.TAINT: (f"has {_UNTOLERATED}", f"have {_UNTOLERATED}"),
}
