"""The current state of a pod, one of a few: for counts of a workload's pods and for tables.

    being deleted               terminating, also on a node that does not respond: controllers do not count it
    ended                       succeeded or failed, permanently
    its node does not respond   unreachable: its last state is known, its current state is not
    no node                     pending: the scheduler has not placed it, or must not process it
    a container is held up      broken: it waits or has ended, and does not recover by itself
    starting                    it has a node, and its containers are starting
    not Ready                   it runs, but its Ready is not True, or was never reported; or no phase is known
    Ready                       it runs, and controllers count it (readyReplicas)

Source: pkg/controller/controller_utils.go (FilterActivePods, IsPodActive), pkg/api/v1/pod/util.go (IsPodReady),
pkg/controller/replicaset/replica_set_utils.go (calculateStatus) at v1.36.3; `podrules.pod.health`,
`podrules.node.reachability`.
"""

from __future__ import annotations

from enum import Enum

from podrules.node.reachability import NodeReach
from podrules.pod.health import Health


class PodState(Enum):
    """The state of a pod, the worst first."""

    BROKEN = "Broken"
    PENDING = "Pending"
    UNREACHABLE = "Unreachable"
    TERMINATING = "Terminating"
    FAILED = "Failed"
    NOT_READY = "NotReady"
    STARTING = "Starting"
    SUCCEEDED = "Succeeded"
    READY = "Ready"

    @property
    def worse(self) -> int:
        """Its place in the order: 0 is the worst."""
        return list(PodState).index(self)


def state_of(found: Health, *, bound: bool, deleted: bool, reach: NodeReach | None) -> PodState:
    """The state of a pod.

    Args:
        found: Its health.
        bound: Whether it has a node.
        deleted: Whether it is being deleted.
        reach: Whether its node responds; None: it has none, or that was not read.
    """
    if deleted:
        return PodState.TERMINATING
    if found.phase in {"Succeeded", "Failed"}:
        return PodState.SUCCEEDED if found.phase == "Succeeded" else PodState.FAILED
    if reach is not None and reach.reach.quiet:
        return PodState.UNREACHABLE
    if not bound:
        return PodState.PENDING
    if found.broken:
        return PodState.BROKEN
    if found.phase == "Pending":
        return PodState.STARTING
    return PodState.READY if found.ready and found.phase == "Running" else PodState.NOT_READY
