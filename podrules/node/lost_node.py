"""What Kubernetes does by itself about a node that stopped responding, and when (T5); pod garbage collection there.

    last heartbeat          the kubelet renews its Lease every 10 s
    + 50 s                  Ready becomes Unknown (--node-monitor-grace-period), and its pods' Ready condition False
    at once                 taint node.kubernetes.io/unreachable:NoExecute, at the zone's rate (`eviction_rate`)
    + tolerationSeconds     a pod is deleted (DisruptionTarget, DeletionByTaintManager): after 300 s by default; a pod
                            that tolerates the taint without a time is not deleted
    after that              it stays Terminating: only its kubelet can report the end of its processes. It is removed
                            when the node responds again, when the Node is deleted (podgc, a minute later), or when
                            the node is declared out of service (podgc, every 20 s)
    pod object gone + 6 min volumes are detached by force, with the out-of-service taint at once (`attachment`)

If most nodes of a zone are silent, the controller assumes a network fault: it taints nodes more slowly or not at all.
If no node of the cluster is Ready, it even removes old taints. A restarted controller counts tolerations again.

Source: pkg/controller/nodelifecycle/node_lifecycle_controller.go (tryUpdateNodeHealth, processTaintBaseEviction,
ComputeZoneState, ReducedQPSFunc, setLimiterInZone, handleDisruption), pkg/controller/podgc/gc_controller.go at v1.36.3;
k8s.io/component-helpers/node/topology/helpers.go (GetZoneKey) at v0.36.3; KEP-2268.

Pod garbage collection removes the objects of pods:

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
from enum import Enum
from typing import Final, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from podrules.api.features import minor_of
from podrules.api.model.instant import instant, later
from podrules.api.model.node import Node, Taint
from podrules.api.model.pod import Pod
from podrules.api.model.selectors import Toleration
from podrules.node.reachability import OUT_OF_SERVICE, Reach
from podrules.pod.tolerations import NO_EXECUTE, Eviction, eviction_after, taint_eviction
from podrules.pod.versions import Versions

UNREACHABLE: Final = "node.kubernetes.io/unreachable"
_EXCLUDED: Final = "node.kubernetes.io/exclude-disruption"
_UNHEALTHY_ZONE_THRESHOLD: Final = 0.55
_LARGE_ZONE: Final = 50
_RATE: Final = 0.1
_SECONDARY_RATE: Final = 0.01
_ZONE_LABELS: Final = ("failure-domain.beta.kubernetes.io/zone", "topology.kubernetes.io/zone")
_REGION_LABELS: Final = ("failure-domain.beta.kubernetes.io/region", "topology.kubernetes.io/region")
TAINT: Final = Taint(OUT_OF_SERVICE, "nodeshutdown", NO_EXECUTE)
GC_CHECK_PERIOD: Final = 20
"""Seconds (gcCheckPeriod)."""
_QUARANTINE: Final = 40
"""Seconds (quarantineTime)."""
ORPHANS_GONE_WITHIN: Final = 2 * GC_CHECK_PERIOD + _QUARANTINE
"""Seconds after the deletion of a Node: two checks of the controller, with the quarantine between them."""


class MonitorGrace(NamedTuple):
    """The default of --node-monitor-grace-period: 50 s, and 40 s before 1.32."""

    seconds: int = 50
    known: bool = False
    """Whether the control plane's version is known; it is at least as new as its newest kubelet."""

    @classmethod
    def of(cls, versions: Versions) -> MonitorGrace:
        """The grace period of a cluster."""
        old = versions.api_server.minor < 32
        version = versions.server_version or ("" if old else versions.newest_kubelet)
        return cls(40 if old else 50, minor_of(version) is not None)


class ZoneState(Enum):
    """How much of a zone is not Ready (ComputeZoneState)."""

    NORMAL = "Normal"
    PARTIAL_DISRUPTION = "PartialDisruption"
    """At least 3 nodes and 55 % are not Ready."""
    FULL_DISRUPTION = "FullDisruption"


class ZoneHealth(Struct, frozen=True, rename="camel"):
    """A zone of nodes, and how fast nodes are tainted in it."""

    zone: str
    """``region/zone``, one of both, or empty without labels."""
    nodes: int
    not_ready: int
    state: ZoneState
    rate: float
    """Tainted nodes per second; 0: none."""
    cluster_down: bool
    """Whether no node of the cluster is Ready: the control plane itself may be cut off."""


def zone_key(node: Node) -> str:
    """A node's zone for the node lifecycle controller: ``region/zone`` (GetZoneKey)."""
    labels = node.metadata.labels
    parts = (next((labels[key] for key in keys if key in labels), "") for keys in (_REGION_LABELS, _ZONE_LABELS))
    return "/".join(filter(None, parts))


def zone_health(nodes: Sequence[Node]) -> dict[str, ZoneHealth]:
    """Every zone of a cluster by its key, without nodes with label node.kubernetes.io/exclude-disruption."""
    ready: dict[str, list[bool]] = {}
    for node in nodes:
        states = ready.setdefault(zone_key(node), [])
        if _EXCLUDED not in node.metadata.labels:
            states.append(node.ready is not None and node.ready.status == "True")
    down = any(ready.values()) and not any(map(any, ready.values()))
    return {zone: _zone(zone, states, cluster_down=down) for zone, states in ready.items()}


def _zone(zone: str, ready: Sequence[bool], *, cluster_down: bool) -> ZoneHealth:
    nodes, not_ready = len(ready), ready.count(False)
    state = compute_zone_state(nodes, not_ready)
    rate = eviction_rate(state, nodes, cluster_down=cluster_down)
    return ZoneHealth(zone, nodes, not_ready, state, rate, cluster_down)


def compute_zone_state(nodes: int, not_ready: int) -> ZoneState:
    """How disrupted a zone is (ComputeZoneState)."""
    if not_ready and not_ready == nodes:
        return ZoneState.FULL_DISRUPTION
    if not_ready > 2 and not_ready / nodes >= _UNHEALTHY_ZONE_THRESHOLD:
        return ZoneState.PARTIAL_DISRUPTION
    return ZoneState.NORMAL


def eviction_rate(state: ZoneState, nodes: int, *, cluster_down: bool) -> float:
    """Tainted nodes per second in a zone with that many (setLimiterInZone, handleDisruption)."""
    if cluster_down:
        return 0.0
    if state is not ZoneState.PARTIAL_DISRUPTION:
        return _RATE
    return _SECONDARY_RATE if nodes > _LARGE_ZONE else 0.0


def unknown_at(node: Node, renewed: datetime | None, grace: MonitorGrace) -> datetime | None:
    """When Ready became Unknown, or will if the heartbeat at ``renewed`` was the last; None: not known.

    For an Unknown condition without a time, the time is computed from the Lease.
    """
    ready = node.ready
    since = instant(ready.last_transition_time) if ready is not None and ready.status == "Unknown" else None
    if since is not None:
        return since
    return later(renewed, grace.seconds) if renewed is not None else None


def taint_added(node: Node | None, key: str) -> datetime | None:
    """When a node got its NoExecute taint with that key; None: no Node, no taint or no timeAdded."""
    taints = node.spec.taints if node is not None else ()
    added = (taint.time_added for taint in taints if (taint.key, taint.effect) == (key, NO_EXECUTE))
    return instant(next(added, None))


def eviction(
    tolerations: Sequence[Toleration],
    node: Node,
    unknown: datetime | None,
    zone: ZoneHealth,
    *,
    bound: datetime | None = None,
) -> Eviction:
    """When the taints of a node that does not respond delete one of its pods.

    Args:
        tolerations: The pod's tolerations.
        node: Its node; the taint unreachable is assumed if the node will get it.
        unknown: When Ready became Unknown, or will.
        zone: The node's zone.
        bound: When the pod was bound to the node; None: not known, counts as before the taints.
    """
    noted = unknown.isoformat() if unknown is not None else None
    present = [
        replace(taint, time_added=noted) if taint.key == UNREACHABLE and not taint.time_added else taint
        for taint in node.spec.taints
        if taint.effect == NO_EXECUTE
    ]
    now = taint_eviction(tolerations, present, bound=bound) or Eviction(None, None)
    if any(taint.key == UNREACHABLE for taint in present):
        return now
    expected = Taint(UNREACHABLE, "", NO_EXECUTE, noted)
    then = taint_eviction(tolerations, (*present, expected), bound=bound) or now
    if zone.rate:
        return then
    return Eviction(None, then.tolerated, held_back=True) if then.comes and not now.comes else now


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
