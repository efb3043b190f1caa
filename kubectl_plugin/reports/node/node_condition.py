"""The code and severity of a node: whether it answers, is Ready and takes pods."""

from __future__ import annotations

from typing import Final

from kubectl_plugin.reports.verdict import Severity, VerdictCode
from podrules.node.reachability import Reach

QUIET_CODES: Final = {
    Reach.SILENT: VerdictCode.NODE_SILENT,
    Reach.MISSED_HEARTBEATS: VerdictCode.NODE_SILENT,
    Reach.OUT_OF_SERVICE: VerdictCode.NODE_OUT_OF_SERVICE,
    Reach.GONE: VerdictCode.NODE_REMOVED,
}
"""The verdict on a node that does not answer."""
NOT_READY: Final = VerdictCode.NODE_NOT_READY, Severity.TROUBLE
"""The verdict on a node that answers but is not Ready."""


def node_standing(
    reach: Reach | None, ready: str | None, *, unschedulable: bool = False
) -> tuple[VerdictCode, Severity] | None:
    """Code and severity; None: it answers, is Ready and takes pods.

    Args:
        reach: Whether it answers; None: not checked.
        ready: Status of its Ready condition; None: it has none.
        unschedulable: Whether it is cordoned.
    """
    if reach is not None and reach.quiet:
        return QUIET_CODES[reach], Severity.TROUBLE
    if reach is not None and reach.back:
        return VerdictCode.NODE_BACK, Severity.TROUBLE
    if reach is Reach.RETURNING:
        return VerdictCode.NODE_RETURNING, Severity.NOTICE
    if ready != "True":
        return NOT_READY
    return (VerdictCode.CORDONED, Severity.NOTICE) if unschedulable else None
