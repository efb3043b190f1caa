"""How a force deletion's stakes are worded: a line on where the pod runs and what its owner does, one on its volumes.

Texts hold times and no ages, for the API server may ask twice and kubectl prints each distinct text. A command that is
cut in the middle cannot be run: it goes before details.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final

from podrules.attachment import FORCE_DETACH_AFTER, detached_after
from podrules.ending import pod_ending
from podrules.fencing import TAINT
from podrules.forcing import has_another
from podrules.model.pod import Pod
from podrules.reachability import NodeReach, Reach
from podrules.safety import Guarantee
from podrules.volumes import WriterGuard, WriterLock
from webhook.force_delete_risk import ForceDeleteRisk
from webhook.response import MAX_MESSAGE, MAX_WARNING

__all__ = ["capital", "fencing", "first_line", "fitting", "node_state", "refusal", "second_line", "volumes_at_stake"]

_RISKS: Final = {
    Guarantee.AT_MOST_ONE: "{kind}{owner} promises at most one, but a second may start while it still runs",
    Guarantee.AVAILABILITY_FIRST: "{kind}{owner} may start a replacement while it still runs",
    Guarantee.ONE_PER_NODE: "{kind}{owner} may start the next copy while it still runs",
    Guarantee.RUNS_TO_COMPLETION: "{kind}{owner} may start the work again while it still runs",
    Guarantee.KUBELET_OWNED: "it mirrors a static pod, and deleting it stops nothing",
    Guarantee.NOT_REPLACED: "its processes may run on, and nobody replaces it",
    Guarantee.UNKNOWN: "{kind}{owner} decides whether a second starts while it still runs",
}
_REPLACED: Final = "{kind}{owner} has another instead, and this one may still run"
_NODES: Final = {
    Reach.SILENT: "{node}, silent{since}",
    Reach.RETURNING: "{node}, which answers again",
    Reach.MISSED_HEARTBEATS: "{node}, without a heartbeat{since}",
    Reach.OUT_OF_SERVICE: "{node}, declared out of service",
    Reach.BACK: "{node}, back in service but for its taint",
    Reach.BACK_NOT_READY: "{node}, which answers again and is still declared out of service",
    Reach.GONE: "{node}, which has no Node object",
    Reach.UNKNOWN: "{node}, state unknown",
}


def first_line(pod: Pod, stakes: ForceDeleteRisk) -> str:
    """Where it runs and what its owner then does."""
    place, risk = _place(pod, stakes), _risk(pod, stakes)
    texts = [risk.format(kind="Its owner", owner="")]
    if stakes.owner.name:
        texts.insert(0, risk.format(kind=stakes.owner.kind, owner=f" {stakes.owner.name}"))
    return fitting(*(_standing(pod, stakes, place, text) for text in texts))


def _place(pod: Pod, stakes: ForceDeleteRisk) -> str:
    """The pod on its node; alone where there is nothing to say of the node, not even its name."""
    if stakes.withheld and stakes.node.reach not in _NODES:
        return pod.metadata.name
    return f"{pod.metadata.name} on {node_state(stakes.node, stakes.now)}"


def _risk(pod: Pod, stakes: ForceDeleteRisk) -> str:
    deleted = pod.metadata.deletion_timestamp is not None
    replaced = has_another(stakes.owner.guarantee, stakes.node.reach, deleted=deleted)
    return _REPLACED if replaced else _RISKS[stakes.owner.guarantee]


def _standing(pod: Pod, stakes: ForceDeleteRisk, place: str, risk: str) -> str:
    ending = pod_ending(pod)
    if ending.deleted_at is None or ending.static:
        return f"{place}: {risk}"
    if stakes.node.reach.quiet:
        return f"{place}, is already stopping, and nobody knows when it ends: forcing stops nothing sooner; {risk}"
    if stakes.node.reach is Reach.UNKNOWN or stakes.node.provider:
        frees = "" if ending.holders else "frees its name and "
        return f"{place}, is already stopping: forcing {frees}stops nothing sooner; {risk}"
    until = ""
    if ending.ends_by is not None:
        due = "should have ended by" if stakes.now > ending.ends_by else "may run until"
        until = f" and {due} {_instant(ending.ends_by, stakes.now)}"
    return f"{place} is already stopping{until}: forcing stops nothing sooner; {risk}"


def capital(text: str) -> str:
    """The text as the beginning of a sentence."""
    return f"{text[:1].upper()}{text[1:]}"


def fitting(*texts: str) -> str:
    """The first that is short enough to be shown whole, else the last."""
    return next((text for text in texts if len(text) <= MAX_WARNING), texts[-1])


def refusal(details: Sequence[str], remedy: str) -> str:
    """The details in one line as far as they leave the remedy whole."""
    known = [detail for detail in details if detail]
    texts = ("; ".join((*known[:count], remedy)) for count in range(len(known), -1, -1))
    return next((text for text in texts if len(text) <= MAX_MESSAGE), remedy)


def node_state(node: NodeReach, now: datetime) -> str:
    """``node-c3, silent since 03:02:56 UTC``; one that answers is only named."""
    since = f" since {_instant(node.since, now)}" if node.since else ""
    return _NODES.get(node.reach, "{node}").format(node=node.name, since=since)


def _instant(when: datetime, now: datetime) -> str:
    return f"{when:%H:%M:%S} UTC" if when.date() == now.date() else f"{when:%Y-%m-%d %H:%M:%S} UTC"


def fencing(node: str, argument: str = "") -> str:
    """The command that vouches for a machine that is off: garbage collection then ends what ran there.

    Args:
        node: As people are told of it.
        argument: As the command has it, where that is something else.
    """
    return f"once {node} is off for certain: kubectl taint nodes {argument or node} {TAINT.text}"


def second_line(pod: Pod, stakes: ForceDeleteRisk) -> str:
    """Which volumes may get a second writer, and what to look at before."""
    check = f"check first: kubectl qos explain pod/{pod.metadata.name} -n {pod.metadata.namespace}"
    alone = capital(check)
    at_stake = volumes_at_stake(stakes)
    return fitting(f"{at_stake}; {check}", f"volumes at stake; {check}", alone) if at_stake else alone


def volumes_at_stake(stakes: ForceDeleteRisk) -> str:
    """The worst that is known of the volumes; empty when all are safe."""
    worst = _worst(stakes)
    return "volumes at stake" if worst and stakes.withheld else worst


def _worst(stakes: ForceDeleteRisk) -> str:
    by_lock = {lock: [guard for guard in stakes.volumes if guard.lock is lock] for lock in WriterLock}
    if by_lock[WriterLock.NONE]:
        named = _named(by_lock[WriterLock.NONE])
        return f"nothing keeps a second writer off {named}"
    after, node = detached_after(stakes.node.reach), stakes.node.name
    when = "at once" if after == timedelta() else f"{FORCE_DETACH_AFTER.seconds // 60} min later"
    if by_lock[WriterLock.CONTROLLER] and after is not None:
        named = _named(by_lock[WriterLock.CONTROLLER])
        return f"{named} is detached from {node} {when}, and then nothing keeps a second writer off"
    if by_lock[WriterLock.UNKNOWN]:
        return f"whether anything keeps a second writer off {_named(by_lock[WriterLock.UNKNOWN])} is unknown"
    if by_lock[WriterLock.ATTACHMENT] and after is not None:
        named = _named(by_lock[WriterLock.ATTACHMENT])
        return f"{named} is detached from {node} by force {when}"
    return ""


def _named(guards: list[WriterGuard]) -> str:
    """``volume data (NFS, ReadWriteOnce) and 2 more``."""
    first = guards[0]
    what = ", ".join(filter(None, (first.backend, *first.access_modes)))
    more = f" and {len(guards) - 1} more" if len(guards) > 1 else ""
    return f"volume {first.volume}{f' ({what})' if what else ''}{more}"
