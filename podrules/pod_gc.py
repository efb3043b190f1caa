"""Pod garbage collection where a node does not answer: which pods' objects it removes, and how soon.

    no Node object               every pod that names it. The controller looks each 20 s; a node that it misses stands
                                 in quarantine for 40 s, then the API server is asked once more: within 80 s
    taint out-of-service, while  pods that are being deleted, within 20 s. Others are deleted by the taint before,
      the node is not Ready      unless they tolerate it
    else                         none

It marks a pod Failed and deletes it with grace 0. Nobody is asked whether its processes have ended, and nothing stops
them; finalizers keep the object longer.

Source: pkg/controller/podgc/gc_controller.go (gcCheckPeriod, quarantineTime, gcTerminating, gcOrphaned,
markFailedAndDeletePod) at v1.36.3.
"""

from __future__ import annotations

from typing import Final

from podrules.reachability import Reach

__all__ = ["GC_CHECK_PERIOD", "ORPHANS_GONE_WITHIN", "collected_within"]

GC_CHECK_PERIOD: Final = 20
"""Seconds (gcCheckPeriod)."""
_QUARANTINE: Final = 40
"""Seconds (quarantineTime)."""
ORPHANS_GONE_WITHIN: Final = 2 * GC_CHECK_PERIOD + _QUARANTINE
"""Seconds after a Node is deleted: the controller looks twice, with the quarantine between."""


def collected_within(reach: Reach | None, *, deleted: bool) -> int | None:
    """Seconds within which a pod's object is removed, whatever its processes do; None: it is not.

    Args:
        reach: Whether the pod's node answers; None: not known.
        deleted: Whether the pod is being deleted.
    """
    if reach is Reach.GONE:
        return ORPHANS_GONE_WITHIN
    return GC_CHECK_PERIOD if reach in {Reach.OUT_OF_SERVICE, Reach.BACK_NOT_READY} and deleted else None
