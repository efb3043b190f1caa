"""A volume that moves from one node to another, in words: the step, what holds it, and since when."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Final

from kubectl_plugin.render.page import Row, Section
from kubectl_plugin.views.pod.safety_words import overdue_words
from kubectl_plugin.views.words import clock, listed
from podrules.ending.attachment import FORCE_DETACH_AFTER, MoveStep, VolumePosition, WaitsFor
from podrules.ending.deleted_pod import PATIENCE
from podrules.node.reachability import Reach

_STEPS: Final = tuple(MoveStep)
_MINUTES: Final = int(FORCE_DETACH_AFTER.total_seconds() // 60)
_WAITS: Final = {
    WaitsFor.USER: "no client has deleted {holders} on {node}",
    WaitsFor.KUBELET: "the kubelet of {node} has to stop {holders}",
    WaitsFor.SILENT_KUBELET: "{holders}{deleted} on {node}, which does not answer: this waits forever",
    WaitsFor.POD_GC: (
        "{holders}{deleted} on {node}: garbage collection removes the object, without confirmation that processes ended"
    ),
    WaitsFor.FORCE_DETACH: f"{{node}} does not answer: detached by force {_MINUTES} min after the pod object is gone",
    WaitsFor.DRIVER: "its driver has to {verb} it at {node}",
    WaitsFor.CONTROLLER: "the attach/detach controller has to {verb} it at {node}",
    WaitsFor.OWN_KUBELET: "the kubelet of {node} has to mount it and start the containers",
}
_UNMOUNT: Final = "the kubelet of {node} still has it mounted"
_VERBS: Final = {MoveStep.DETACH: "detach", MoveStep.ATTACH: "attach"}


def moving_section(positions: Iterable[VolumePosition], now: datetime | None) -> Section:
    """``data  1 of 4, stop: db-1 on node-c3, which does not answer …``."""
    rows = [
        Row((entry.volume, f"step {_STEPS.index(entry.step) + 1} of 4, {waiting_words(entry, now)}"))
        for entry in positions
    ]
    if not rows:
        return Section("Volumes", ())
    return Section("Volumes", (*rows, "steps: stop, detach, attach, start"))


def detach_overdue(by: datetime, now: datetime) -> str:
    """Words for a forced detach that is overdue after 6 min, and what to check."""
    flag = "--disable-force-detach-on-timeout"
    return f"should have been detached by force by {clock(by, now)}: check kube-controller-manager ({flag})"


def advice_words(entry: VolumePosition) -> str:
    """What helps while another node has the volume; empty if the wait ends by itself or the driver has to act."""
    if entry.reach is Reach.SILENT and entry.waits_for is not WaitsFor.DRIVER:
        return f"Make sure that the machine of {entry.node} is off, then fence {entry.node}."
    rollout = "The rolling update waits for itself: set strategy Recreate."
    return rollout if entry.rollout and not entry.reach.quiet else ""


def waiting_words(entry: VolumePosition, now: datetime | None) -> str:
    """``detach: node-c3 does not answer: …, since 03:12:04 UTC``."""
    text = _WAITS[entry.waits_for]
    if entry.step is MoveStep.DETACH and entry.waits_for is WaitsFor.KUBELET:
        text = _UNMOUNT
    elif entry.step is MoveStep.DETACH and entry.waits_for is not WaitsFor.FORCE_DETACH and entry.reach.quiet:
        text += ", which does not answer"
    if entry.forced_by is not None and now is not None and now - entry.forced_by > PATIENCE:
        text = f"{{node}} does not answer; it {detach_overdue(entry.forced_by, now)}"
    if late := overdue_words(entry.collected_by, now):
        text = f"{{holders}}{{deleted}} on {{node}}: {late[:1].lower()}{late[1:]}"
    at = clock(entry.since, now) if entry.since is not None else ""
    deleted, since = (f" (deleted at {at})", f", since {at}") if at else ("", "")
    holders = listed(entry.held_by, most=3) or "its pod"
    words = text.format(node=entry.node, holders=holders, verb=_VERBS.get(entry.step, ""), deleted=deleted)
    said = f"; it says: {entry.error}" if entry.error else ""
    return f"{entry.step.value.lower()}: {words}{'' if '{deleted}' in text else since}{said}"
