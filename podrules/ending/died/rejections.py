"""Why a kubelet rejected a pod, how often it did so, and which toleration brings such pods back.

    NodeShutdown          the node shuts down
    Evicted               "The node had condition: [DiskPressure]": it is short of a resource
    UnexpectedAdmission…  a device plugin or another manager of the kubelet rejected the pod; a kubelet that restarts
                          before its device plugins does so for each pod
    the others            the node did not fit when the pod arrived: it was bound without the scheduler, or the node
                          changed

The scheduler keeps pods away from a node that is short or shuts down by taints. A pod that tolerates them returns
there at once. The DaemonSet controller adds such tolerations to its pods, and reports each failed pod that it replaces.

Source: pkg/kubelet/eviction/eviction_manager.go (Admit), pkg/kubelet/nodeshutdown, pkg/kubelet/cm/devicemanager,
pkg/controller/daemon/daemon_controller.go (podsShouldBeOnNode) at v1.36.3.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import Enum
from typing import Final

from msgspec import Struct

from podrules.api.model.node import Taint
from podrules.api.model.pod import Pod
from podrules.ending.died.cause import Cause
from podrules.ending.died.evidence import Evidence
from podrules.ending.died.messages import CONDITION, cause_of_status
from podrules.pod.tolerations import NO_SCHEDULE, tolerates_taint

_SHUTTING_DOWN: Final = re.compile("node is shutting down", re.IGNORECASE)
_CONDITIONS: Final = re.compile(rf"{re.escape(CONDITION)}\[([^\]]{{1,200}})\]")
_TAINTS: Final = {
    "MemoryPressure": "node.kubernetes.io/memory-pressure",
    "DiskPressure": "node.kubernetes.io/disk-pressure",
    "PIDPressure": "node.kubernetes.io/pid-pressure",
}
_NOT_READY: Final = "node.kubernetes.io/not-ready"
"""The taint of a node that shuts down: its kubelet reports it as not Ready."""
_DAEMON_FAILED: Final = "FailedDaemonPod"
_MAX_READ: Final = 2000
_ALL: Final = "all taints"


class RejectionKind(Enum):
    """Why a kubelet rejected a pod."""

    SHUTDOWN = "Shutdown"
    PRESSURE = "Pressure"
    ADMISSION = "Admission"
    """A device plugin or another manager of the kubelet rejected it."""
    NO_FIT = "NoFit"


class Rejection(Struct, frozen=True, rename="camel"):
    """One rejection."""

    kind: RejectionKind
    reason: str
    """The kubelet's reason."""
    conditions: tuple[str, ...] = ()
    """The conditions of a node under pressure: ``DiskPressure``."""
    times: int = 1
    """How many pods of the same controller its node rejected, as far as is known, including this one."""
    toleration: str = ""
    """The taints that the pod tolerates, so that the scheduler places such pods there again; empty: none."""


def rejection_of(evidence: Evidence, reason: str, message: str) -> Rejection:
    """Why the kubelet rejected a pod.

    Args:
        evidence: What is known about the pod.
        reason: The reason of its status, or of the kubelet's event.
        message: The message of the same source.
    """
    text = message[:_MAX_READ]
    found = _CONDITIONS.search(text)
    conditions = tuple(found[1].split()) if found is not None else ()
    kind, keys = RejectionKind.NO_FIT, [key for one in conditions if (key := _TAINTS.get(one)) is not None]
    if conditions:
        kind = RejectionKind.PRESSURE
    elif reason == "NodeShutdown" or _SHUTTING_DOWN.search(text):
        kind, keys = RejectionKind.SHUTDOWN, [_NOT_READY]
    elif reason == "UnexpectedAdmissionError":
        kind = RejectionKind.ADMISSION
    pod = evidence.pod
    toleration = "" if pod is None or not keys else _toleration(pod, keys)
    return Rejection(kind, reason, conditions, _rejections_there(evidence), toleration)


def _toleration(pod: Pod, keys: list[str]) -> str:
    """The tolerations that let the scheduler place a pod on a node with all of these taints."""
    found: dict[str, None] = {}
    for key in keys:
        taint = Taint(key=key, effect=NO_SCHEDULE)
        one = next((one for one in pod.spec.tolerations if tolerates_taint(one, taint)), None)
        if one is None:
            return ""
        found[one.key and taint.text] = None
    return ", ".join(text or _ALL for text in found)


def _rejections_there(evidence: Evidence) -> int:
    owner = evidence.pod.metadata.controller if evidence.pod is not None else evidence.controller
    others = evidence.neighbours or () if owner is not None else ()
    alike = sum(_is_rejected(one) and one.metadata.controller == owner for one in others)
    return max(1 + alike, sum(_replaced(evidence)))


def _is_rejected(pod: Pod) -> bool:
    return pod.finished and cause_of_status(pod.status.reason, pod.status.message) is Cause.REJECTED


def _replaced(evidence: Evidence) -> Iterator[int]:
    """How often the DaemonSet controller found a failed pod on the node."""
    node = evidence.node.metadata.name if evidence.node is not None else ""
    for event in evidence.known_owner_events.named(_DAEMON_FAILED):
        if node and f" on node {node}," in event.message:
            yield event.times
