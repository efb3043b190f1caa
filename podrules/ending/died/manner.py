"""How the containers of a stopped pod ended: before the stop, on SIGTERM, or by SIGKILL.

    the stop        began with the kubelet's event, with its DisruptionTarget, or with the deletion of the pod:
                    the first of these counts. The kubelet's last request sets both fields of a deletion again: they
                    then do not show the start
    SIGKILL         comes from the kubelet after the grace period. Earlier it comes from the kernel, from a second
                    delete, or from elsewhere

Source: pkg/kubelet/kuberuntime/kuberuntime_container.go (killContainer) at v1.36.3.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from enum import Enum
from typing import Final

from msgspec import Struct

from podrules.api.model.instant import instant, span
from podrules.api.model.pod import Pod
from podrules.ending.deleted_pod import deleted_at, grace_of
from podrules.ending.died.deleted import disruption
from podrules.ending.died.evidence import Clocks, Evidence
from podrules.ending.died.memory import SIGKILL_CODE
from podrules.ending.died.messages import BY_KUBELET
from podrules.ending.died.stop_order import was_reset
from podrules.pod.container_state import Termination

_ROUNDED: Final = timedelta(seconds=2)
"""Both times are in whole seconds."""


class Manner(Enum):
    """How a container of a pod that was stopped ended."""

    OBEYED = "Obeyed"
    """By SIGTERM, or by its own exit within its grace period."""
    KILLED = "Killed"
    """By SIGKILL: it still ran at the end of its grace period."""
    CUT_SHORT = "CutShort"
    """By SIGKILL within its grace period: from the kernel for memory, from a second delete, or from elsewhere."""
    SIGKILL = "Sigkill"
    """By SIGKILL; whether its grace period was over is not known."""
    BEFORE = "Before"
    """It had ended before the stop."""


class PodStop(Struct, frozen=True):
    """The stop of a whole pod."""

    began: datetime | None = None
    """By the API server's clock; None: not known."""
    grace: timedelta | None = None
    """The grace period of its containers; None: the kubelet decided it."""


def stop_of(evidence: Evidence, pod: Pod) -> PodStop:
    """The stop of a pod that ended as a whole."""
    condition, clocks, deleted = disruption(pod), evidence.clocks, deleted_at(pod)
    by_kubelet = condition is not None and condition.reason == BY_KUBELET
    stops = evidence.known_events.stops()
    own = [instant(stops[-1].last)] if stops else []
    if condition is not None and by_kubelet:
        own.append(instant(condition.last_transition_time))
    times = [clocks.server_time(when) for when in own if when is not None]
    if deleted is not None and not was_reset(pod):
        times.append(deleted)
    known = deleted is not None and not by_kubelet
    return PodStop(min(times, default=None), span(grace_of(pod).longest) if known else None)


def manner_of(clocks: Clocks, end: Termination, stop: PodStop) -> Manner:
    """How a container of a stopped pod ended.

    Args:
        clocks: The clocks of its node and the API server.
        end: Its end.
        stop: The stop of its pod.
    """
    ended = instant(end.finished_at)
    taken = None if ended is None or stop.began is None else clocks.server_time(ended) - stop.began
    if taken is not None and taken + clocks.margin < timedelta():
        return Manner.BEFORE
    if end.exit_code != SIGKILL_CODE:
        return Manner.OBEYED
    if stop.grace is None:
        return Manner.KILLED
    if taken is None or clocks.margin > _ROUNDED:
        return Manner.SIGKILL
    return Manner.CUT_SHORT if taken + clocks.margin + _ROUNDED < stop.grace else Manner.KILLED
