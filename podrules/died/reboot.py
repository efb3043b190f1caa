"""Whether a restart of the node may have ended a container: its system stops all, and the kubelet tells no pod of it.

    Rebooted        the kubelet's event about its node, once it is up again and finds another boot id
    no run after    a container that runs again got a new sandbox for that; see `kubelet_stops`

A restart that no event tells of counts as somebody who ends the process past Kubernetes.

Source: pkg/kubelet/nodestatus/setters.go (MachineInfo) at v1.36.3.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Final

from podrules.container_state import Termination
from podrules.died.evidence import Evidence
from podrules.model.event import Event
from podrules.model.instant import instant
from podrules.model.pod import ContainerRef, Pod
from podrules.processes import status_of

__all__ = ["reboot_after"]

_REBOOTED: Final = "Rebooted"
_STOP_TO_EVENT: Final = timedelta(minutes=15)
"""What a restart of a machine may take, from the stop of its processes to the kubelet's event."""


def reboot_after(evidence: Evidence, pod: Pod, ref: ContainerRef, end: Termination) -> Event | None:
    """The restart of the node that may have ended a container; None: no event tells of one."""
    status, ended = status_of(pod, ref.container.name), instant(end.finished_at)
    if ended is None or status is None or status.state.terminated is None or evidence.node_events is None:
        return None
    for event in evidence.node_events.named(_REBOOTED):
        when = instant(event.last)
        if when is not None and ended <= when <= ended + _STOP_TO_EVENT:
            return event
    return None
