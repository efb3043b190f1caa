"""Whether a restart of the node may have ended a container: its system stops all, and no pod's status shows it.

    Rebooted        the kubelet's event about its node, once it is up again and finds another boot id
    runs again      the restart came before that run, and the pod got a new sandbox, or the exit code is 255, which
                    runtimes report for containers that they find dead at their start, about when the kubelet starts

A restart without an event counts as a process that was ended outside Kubernetes.

Source: pkg/kubelet/nodestatus/setters.go (MachineInfo) at v1.36.3.
"""

from __future__ import annotations

from typing import Final

from podrules.api.model.instant import instant, later
from podrules.api.model.pod import ContainerRef, Pod
from podrules.ending.died.cause import Clue, EvidenceSource, of_event
from podrules.ending.died.evidence import Evidence
from podrules.ending.died.kubelet_stops import new_sandbox
from podrules.pod.container_state import Termination
from podrules.pod.processes import status_of

REBOOTED: Final = "Rebooted"
FOUND_DEAD: Final = 255
"""The exit code that runtimes report for a container that ended in a crash of the node."""
_STOP_TO_EVENT: Final = 900
"""The seconds that a restart of a machine may take, from the stop of its processes to the kubelet's event."""
_FOUND_TO_EVENT: Final = 300
"""The seconds between the start of a runtime and that event."""
_MINUTE: Final = 60


def reboot_clues(evidence: Evidence, pod: Pod, ref: ContainerRef, end: Termination) -> list[Clue]:
    """The evidence of a restart of the node that may have ended a container; empty: no event shows one."""
    status, ended = status_of(pod, ref.container.name), instant(end.finished_at)
    if ended is None or status is None:
        return []
    sandbox, found, again = new_sandbox(evidence, pod, ref, end), end.exit_code == FOUND_DEAD, status.runs_since
    if status.state.terminated is None and sandbox is None and not found:
        return []
    first = later(ended, -_MINUTE) if found else ended
    last = later(ended, _FOUND_TO_EVENT if found else _STOP_TO_EVENT)
    for event in evidence.known_node_events.named(REBOOTED):
        when = instant(event.last)
        if when is not None and first <= when <= last and (again is None or when <= later(again, _MINUTE)):
            restart = of_event(event, EvidenceSource.NODE_EVENT)
            return [restart] if sandbox is None else [restart, of_event(sandbox)]
    return []
