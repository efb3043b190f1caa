"""Pod garbage collection on a node that does not respond: which pods' objects it removes, and how soon.

    no Node object               every pod that names it. The controller checks each 20 s; a missing node is in
                                 quarantine for 40 s, then the controller checks with the API server: within 80 s
    taint out-of-service, while  pods that are being deleted, within 20 s, even within their grace period and if the
      the node is not Ready      kubelet responds and still stops them. The taint deletes the others first, unless they
                                 tolerate it: a client has to delete those
    else                         none

It marks a pod Failed and deletes it with grace period 0. It does not check whether its processes have ended, and
nothing stops them; finalizers keep the object longer.

Source: pkg/controller/podgc/gc_controller.go (gcCheckPeriod, quarantineTime, gcTerminating, gcOrphaned,
markFailedAndDeletePod) at v1.36.3.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Final

from podrules.api.model.instant import instant, later
from podrules.api.model.node import Node, Taint
from podrules.api.model.pod import Pod
from podrules.node.lost_node import taint_added
from podrules.node.reachability import OUT_OF_SERVICE, Reach
from podrules.pod.taint_eviction import eviction_after
from podrules.pod.tolerations import NO_EXECUTE

TAINT: Final = Taint(OUT_OF_SERVICE, "nodeshutdown", NO_EXECUTE)

GC_CHECK_PERIOD: Final = 20
"""Seconds (gcCheckPeriod)."""
_QUARANTINE: Final = 40
"""Seconds (quarantineTime)."""
ORPHANS_GONE_WITHIN: Final = 2 * GC_CHECK_PERIOD + _QUARANTINE
"""Seconds after the deletion of a Node: two checks of the controller, with the quarantine between them."""


def collected_within(reach: Reach | None, *, deleted: bool) -> int | None:
    """Seconds within which pod garbage collection removes the object, even if processes run; None: it does not.

    Args:
        reach: Whether the pod's node responds; None: not known.
        deleted: Whether the pod is being deleted.
    """
    if reach is Reach.GONE:
        return ORPHANS_GONE_WITHIN
    return GC_CHECK_PERIOD if reach in {Reach.OUT_OF_SERVICE, Reach.BACK_NOT_READY} and deleted else None


def collected_by(deleted: datetime | None, node: Node | None) -> datetime | None:
    """When the object of a pod should be gone from an out-of-service node.

    Args:
        deleted: When the pod was marked for deletion, if it was.
        node: Its node.

    Returns:
        None: garbage collection does not remove it, or the object does not show since when it can.
    """
    ready = node.ready if node is not None else None
    added = taint_added(node, OUT_OF_SERVICE)
    unready = instant(ready.last_transition_time) if ready is not None and ready.status != "True" else None
    if deleted is None or added is None or unready is None:
        return None
    return later(max(deleted, added, unready), GC_CHECK_PERIOD)


def goes(pod: Pod, taints: Sequence[Taint] = ()) -> bool:
    """Whether a pod is removed, now or later, if its node with these other taints is declared out of service."""
    deleted = pod.metadata.deletion_timestamp is not None
    return deleted or eviction_after(pod.spec.tolerations, (*taints, TAINT)) is not None
