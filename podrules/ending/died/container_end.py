"""What ended one container: by its exit code and reason, by the kubelet's events, and by what its pod's spec allows.

The kubelet's statement about this end decides. Without it, each cause that no evidence excludes is a suspect:

    the kubelet     for reasons that the spec allows, see `kubelet_stops`
    memory          OOMKilled, or exit code 137; not with another code if the kernel kills all its processes together
    the hook        waiting reason PostStartHookError: the kubelet keeps why the last start failed (reason_cache.go)
    application     always, unless the kernel killed all its processes for memory, or the kubelet stopped the whole pod

An exit code alone shows this: 128 + n means signal n. The process may also return it by itself, and a shell returns it
for its child.

Source: pkg/kubelet/kubelet_pods.go (convertToAPIContainerStatuses) at v1.36.3.
"""

from __future__ import annotations

import signal
from collections.abc import Mapping
from typing import Final

from podrules.api.model.pod import ContainerRef, Pod
from podrules.ending.died.cause import Cause, Clue, EndVerdict, EvidenceSource, Grade, Weight, of_event, proven, weighed
from podrules.ending.died.evidence import Evidence
from podrules.ending.died.kubelet_stops import (
    ALWAYS,
    STOP_CODES,
    TERM_CODES,
    stop_event,
    stop_of_all,
    stop_weights,
    storage_causes,
)
from podrules.ending.died.memory import SIGKILL_CODE, kills_whole_container, memory_weights, start_ran_out
from podrules.ending.died.messages import NEVER_RAN
from podrules.ending.died.reboot import FOUND_DEAD, reboot_clues
from podrules.pod.container_state import OOM_KILLED, STATUS_UNKNOWN, Termination, fails_init
from podrules.pod.processes import status_of

_LOST: Final = frozenset({STATUS_UNKNOWN, "Unknown"})
"""The kubelet's reason, and containerd's for a container with a task that was gone after a restart of containerd
(exit code 255)."""
_RESTART_ALL: Final = "RestartingAllContainers"
_PROBES: Final = {Cause.LIVENESS_PROBE: "livenessProbe", Cause.STARTUP_PROBE: "startupProbe"}
"""The field of the probe for each cause."""

_Weighed = tuple[dict[Cause, Weight], dict[Cause, list[Clue]]]


def never_ran(reason: str) -> Cause | None:
    """Why a waiting container could not be started; None: it waits for another reason."""
    return NEVER_RAN.get(reason)


def container_verdict(evidence: Evidence, pod: Pod, ref: ContainerRef, end: Termination) -> EndVerdict:
    """What ended a container of a pod that has not ended as a whole.

    Args:
        evidence: What is known of the pod.
        pod: The pod.
        ref: The container.
        end: How it ended.
    """
    if start_ran_out(end.message) or _failed_despite_zero(pod, ref, end):
        return weighed(*memory_weights(evidence, pod, ref, end))
    said, reboot = _by_status(end), reboot_clues(evidence, pod, ref, end)
    if said is not None:
        also = reboot if said is Cause.CONTAINER_LOST else []
        return proven(said, Clue(EvidenceSource.POD, "reason", end.reason, end.finished_at), *also)
    stop = stop_event(evidence, pod, ref, end)
    if stop is not None:
        cause, event = stop
        return proven(cause, of_event(event), *(reboot[:1] if cause is Cause.SANDBOX_CHANGED else ()))
    whole = kills_whole_container(evidence)
    weights, clues = _memory(evidence, pod, ref, end, whole=whole)
    if whole and end.reason == OOM_KILLED and end.exit_code == SIGKILL_CODE:
        return weighed(weights, clues)
    stops, stopped = stop_weights(evidence, pod, ref, end), stop_of_all(evidence.known_events, ref, end)
    stored, always = storage_causes(evidence, pod, ref, end), pod.spec.restart_policy in ALWAYS
    if stopped is not None and Cause.SIDECAR_STOPPED in stops:
        return weighed(stops, {Cause.SIDECAR_STOPPED: [of_event(stopped)]})
    if stopped is not None and not stops and not stored:
        # It was stopped with its pod, and neither the pod's status nor another event says why.
        return EndVerdict(Grade.NOTHING, clues=(of_event(stopped),))
    hook = _failed_hook(pod, ref)
    if hook is not None:
        if end.exit_code in STOP_CODES and end.reason != OOM_KILLED:
            return proven(Cause.POST_START_HOOK, hook)
        stops[Cause.POST_START_HOOK] = Weight.MUCH
        clues[Cause.POST_START_HOOK] = [hook]
    weights |= stops | dict.fromkeys(stored, Weight.MUCH if always else Weight.POSSIBLE)
    if not (stored and always):
        other = hook is not None or (reboot and end.exit_code == FOUND_DEAD)
        weights[Cause.APPLICATION] = min(_application(end, weights), Weight.SOME if other else Weight.MUCH)
    if reboot:
        weights.pop(Cause.SANDBOX_CHANGED, None)
        weights[Cause.NODE_REBOOT] = Weight.MUCH if end.exit_code in {*STOP_CODES, FOUND_DEAD} else Weight.SOME
        clues[Cause.NODE_REBOOT] = reboot
    clues[Cause.APPLICATION] = [Clue(EvidenceSource.POD, "exitCode", str(end.exit_code), end.finished_at)]
    clues |= {cause: [Clue(EvidenceSource.POD, f"{ref.field}.{field}", "")] for cause, field in _PROBES.items()}
    return weighed(weights, clues)


def _failed_despite_zero(pod: Pod, ref: ContainerRef, end: Termination) -> bool:
    """Whether an init container failed only because of reason OOMKilled."""
    return ref.is_init and not ref.is_sidecar and end.exit_code == 0 and fails_init(pod, 0, end.reason)


def _failed_hook(pod: Pod, ref: ContainerRef) -> Clue | None:
    """The evidence that the last start of a container failed for its postStart hook; None: its status has none."""
    status = status_of(pod, ref.container.name)
    waiting = status.state.waiting if status is not None else None
    if waiting is None or NEVER_RAN.get(waiting.reason) is not Cause.POST_START_HOOK:
        return None
    return Clue(EvidenceSource.POD, "state.waiting", f"{waiting.reason}: {waiting.message}")


def _by_status(end: Termination) -> Cause | None:
    if end.reason == _RESTART_ALL:
        return Cause.RESTART_ALL
    return Cause.CONTAINER_LOST if end.reason in _LOST else NEVER_RAN.get(end.reason)


def _memory(evidence: Evidence, pod: Pod, ref: ContainerRef, end: Termination, *, whole: bool | None) -> _Weighed:
    """The memory limits that may have ended it; the kernel may also have killed only a child process."""
    if end.exit_code == 0 or (whole and end.exit_code != SIGKILL_CODE):
        return {}, {}
    if end.reason == OOM_KILLED or end.signal == signal.SIGKILL:
        return memory_weights(evidence, pod, ref, end)
    return {}, {}


def _application(end: Termination, others: Mapping[Cause, Weight]) -> Weight:
    """The weight of the cause that the process ended by itself."""
    if end.exit_code not in STOP_CODES and end.reason != OOM_KILLED:
        return Weight.MUCH
    if end.exit_code in TERM_CODES and others.keys() & _PROBES.keys():
        return Weight.SOME
    if end.reason == OOM_KILLED:
        return Weight.POSSIBLE if end.exit_code == SIGKILL_CODE else Weight.SOME
    return Weight.SOME if others else Weight.MUCH
