"""Whether a pod's node still responds: a force deletion depends on that, because the kubelet stops processes.

    no Node object                      its pods' processes may run on a machine that no component checks any longer
    taint node.kubernetes.io/           a user or program declared that the machine is off; if the node is Ready again
      out-of-service                    with the taint, it is back and responds; a node that sends heartbeats but is not
                                        Ready also responds, and garbage collection continues there
    Ready Unknown                       the node lifecycle controller missed heartbeats for 50 s
                                        (--node-monitor-grace-period, 40 s before 1.32)
      and a Lease renewed since         it is returning: each renewal is a heartbeat for that controller
                                        (tryUpdateNodeHealth), and its kubelet will update the condition
    Lease not renewed for 40 s          the kubelet renews every 10 s: known before the condition changes
    else                                the kubelet responds, even if Ready is False

The cloud controller taints a node that is not Ready if its provider reports the machine as shut down, until the node is
Ready, not until the machine is started: a reason to check, but not a proof.

The end of processes on a silent node is unknown: only its kubelet stops them, and only it can report their end. Pod
garbage collection removes objects without a check: every pod on a node without a Node object, and terminating pods on a
node with the out-of-service taint that is not Ready.

Source: pkg/controller/podgc/gc_controller.go (gcTerminating, gcOrphaned),
pkg/controller/nodelifecycle/node_lifecycle_controller.go, pkg/kubelet/util/nodelease.go,
pkg/kubelet/apis/config/v1beta1/defaults.go (NodeLeaseDurationSeconds) at v1.36.3;
k8s.io/cloud-provider/controllers/nodelifecycle/node_lifecycle_controller.go (MonitorNodes) at v0.36.3.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from enum import Enum
from typing import Final, Protocol

from msgspec import Struct
from msgspec.structs import replace

from podrules.api.model.base import Condition
from podrules.api.model.instant import instant
from podrules.api.model.node import Taint
from podrules.pod.platform import has_provider_taint

LEASE_NAMESPACE: Final = "kube-node-lease"
OUT_OF_SERVICE: Final = "node.kubernetes.io/out-of-service"
"""The key of the taint that declares a machine as off."""
SHUTDOWN: Final = "node.cloudprovider.kubernetes.io/shutdown"
"""The key of the taint with which a cloud controller reports a machine as off."""
_LEASE_DURATION: Final = timedelta(seconds=40)


class Reach(Enum):
    """Whether a node responds."""

    ANSWERS = "Answers"
    SILENT = "Silent"
    """Ready is Unknown, and no heartbeat has come since."""
    RETURNING = "Returning"
    """Ready is still Unknown, but its kubelet renews its Lease again: it responds."""
    MISSED_HEARTBEATS = "MissedHeartbeats"
    """The Lease has expired, but the condition has not changed yet."""
    OUT_OF_SERVICE = "OutOfService"
    """It has the out-of-service taint and sends no heartbeats."""
    BACK = "Back"
    """It still has that taint, but is Ready again."""
    BACK_NOT_READY = "BackNotReady"
    """It still has that taint and responds, but is not Ready: pod garbage collection still removes deleted pods."""
    GONE = "Gone"
    UNKNOWN = "Unknown"

    @property
    def quiet(self) -> bool:
        """Whether the node can neither stop processes nor report that they ended."""
        return self in _QUIET

    @property
    def declared(self) -> bool:
        """Whether it has the out-of-service taint: volumes are detached from it without waiting."""
        return self in _DECLARED

    @property
    def back(self) -> bool:
        """Whether it responds despite that taint."""
        return self.declared and not self.quiet


_QUIET: Final = frozenset({Reach.SILENT, Reach.MISSED_HEARTBEATS, Reach.OUT_OF_SERVICE, Reach.GONE})

_DECLARED: Final = frozenset({Reach.OUT_OF_SERVICE, Reach.BACK, Reach.BACK_NOT_READY})


class NodeReach(Struct, frozen=True, rename="camel"):
    """Whether a node responds, since when it does not, and the field that decided."""

    name: str
    reach: Reach
    field: str
    since: datetime | None = None
    """The last heartbeat of a node that is gone, if its Lease still exists."""
    provider: bool = False
    """It is a virtual kubelet: a provider responds, and when a pod ends there is not known."""
    shut_down: bool = False
    """It does not respond, and its cloud controller's taint reports its machine as shut down."""

    @property
    def ends_unknown(self) -> bool:
        """Whether the end of pods there is unknown: no kubelet responds, or a provider decides."""
        return self.reach.quiet or self.provider


class _Spec(Protocol):
    @property
    def taints(self) -> tuple[Taint, ...]: ...


class ReachableNode(Protocol):
    """The fields of a Node that the rule reads."""

    @property
    def spec(self) -> _Spec:
        """``spec``."""
        ...

    @property
    def ready(self) -> Condition | None:
        """The Ready condition."""
        ...


def node_reach(name: str, node: ReachableNode | None, *, renewed: datetime | None, now: datetime) -> NodeReach:
    """Whether a node responds.

    Args:
        name: The node's name.
        node: The Node object; None: it does not exist.
        renewed: ``spec.renewTime`` of its Lease; None: it has none, or it could not be read.
        now: The current time.
    """
    if node is None:
        return NodeReach(name, Reach.GONE, "metadata.name", renewed)
    found = _reach_of(name, node, renewed, now)
    off = found.reach.quiet and any(taint.key == SHUTDOWN for taint in node.spec.taints)
    return replace(found, provider=has_provider_taint(node.spec.taints), shut_down=off)


def _reach_of(name: str, node: ReachableNode, renewed: datetime | None, now: datetime) -> NodeReach:
    ready = node.ready
    missed = renewed is not None and now - renewed > _LEASE_DURATION
    since = instant(ready.last_transition_time) if ready is not None and ready.status == "Unknown" else None
    # A heartbeat in the future, or from before the condition became Unknown, proves nothing. The condition's time has
    # whole seconds: within the same second the order is not known.
    after = renewed is not None and (since is None or renewed.replace(microsecond=0) > since)
    near = renewed is not None and abs(now - renewed) <= _LEASE_DURATION and after
    for index, taint in enumerate(node.spec.taints):
        if taint.key == OUT_OF_SERVICE:
            is_ready = ready is not None and ready.status == "True"
            back = Reach.BACK if is_ready and not missed else Reach.BACK_NOT_READY if near and not is_ready else None
            return NodeReach(name, back or Reach.OUT_OF_SERVICE, f"spec.taints[{index}]")
    if ready is not None and ready.status == "Unknown":
        if near:
            return NodeReach(name, Reach.RETURNING, "Lease spec.renewTime", since)
        return NodeReach(name, Reach.SILENT, "status.conditions[type=Ready]", since)
    if missed:
        return NodeReach(name, Reach.MISSED_HEARTBEATS, "Lease spec.renewTime", renewed)
    return NodeReach(name, Reach.ANSWERS, "status.conditions[type=Ready]")
