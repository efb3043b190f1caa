"""Words for the risk of a force deletion: one line about the pod's node and owner, one line about its volumes.

Texts contain times, not durations: the API server may send two reviews, and kubectl prints each distinct text. Commands
come before details, because a truncated command cannot be run.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final

from podrules.api.model.pod import Pod
from podrules.api.plain_names import command, is_plain_name
from podrules.ending.attachment import FORCE_DETACH_AFTER, detached_after
from podrules.ending.deleted_pod import pod_ending
from podrules.ending.volumes import WriterGuard, WriterLock
from podrules.node.pod_gc import TAINT
from podrules.node.reachability import NodeReach, Reach
from podrules.silent_node.forcing import has_another, lets_second_writer
from podrules.workload.owner_risk import OWNER_RISK, REPLACED_RISK
from podrules.workload.safety import Guarantee
from webhook.reviews.response import MAX_MESSAGE, MAX_WARNING
from webhook.rules.force_delete_risk import ForceDeleteRisk

_EXPLAIN: Final = "kubectl qos explain pod/{} -n {}"
_MAX_NAMES: Final = 3
FENCE: Final = f"kubectl taint nodes {{}} {TAINT.text}"
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


def first_line(pod: Pod, risk: ForceDeleteRisk) -> str:
    """The pod's node, and what its owner does after the deletion."""
    place, consequence = _place(pod, risk), _consequence(pod, risk)
    texts = [consequence.format(owner="Its owner")]
    if risk.owner.name:
        texts.insert(0, consequence.format(owner=f"{risk.owner.kind} {risk.owner.name}"))
    return fitting(*(_with_ending(pod, risk, place, text) for text in texts))


def _place(pod: Pod, risk: ForceDeleteRisk) -> str:
    """The pod and its node; only the pod if even the name of the node is withheld."""
    if risk.withheld and risk.node.reach not in _NODES:
        return pod.metadata.name
    return f"{pod.metadata.name} on {node_state(risk.node, risk.now)}"


def _consequence(pod: Pod, risk: ForceDeleteRisk) -> str:
    deleted = pod.metadata.deletion_timestamp is not None
    replaced = has_another(risk.owner.guarantee, risk.node.reach, deleted=deleted)
    return REPLACED_RISK if replaced else OWNER_RISK[risk.owner.guarantee]


def _with_ending(pod: Pod, risk: ForceDeleteRisk, place: str, consequence: str) -> str:
    ending = pod_ending(pod)
    if ending.deleted_at is None or ending.static:
        return f"{place}: {consequence}"
    if risk.node.reach.quiet:
        return f"{place}, is already stopping, and its end is unknown: forcing does not stop it sooner; {consequence}"
    if risk.node.reach is Reach.UNKNOWN or risk.node.provider:
        frees = "" if ending.holders else "frees its name and "
        return f"{place}, is already stopping: forcing {frees}does not stop it sooner; {consequence}"
    until = ""
    if ending.ends_by is not None:
        due = "should have ended by" if risk.now > ending.ends_by else "may run until"
        until = f" and {due} {_instant(ending.ends_by, risk.now)}"
    return f"{place} is already stopping{until}: forcing does not stop it sooner; {consequence}"


def capital(text: str) -> str:
    """Capitalize the first letter."""
    return f"{text[:1].upper()}{text[1:]}"


def fitting(*texts: str) -> str:
    """Return the first text that fits into a warning, or else the last."""
    return next((text for text in texts if len(text) <= MAX_WARNING), texts[-1])


def refusal(details: Sequence[str], remedy: str) -> str:
    """Return one line with as many details as leave room for the whole remedy."""
    known = [detail for detail in details if detail]
    texts = ("; ".join((*known[:count], remedy)) for count in range(len(known), -1, -1))
    return next((text for text in texts if len(text) <= MAX_MESSAGE), remedy)


def node_state(node: NodeReach, now: datetime) -> str:
    """``node-c3, silent since 03:02:56 UTC``; only the name if the node answers."""
    since = f" since {_instant(node.since, now)}" if node.since else ""
    return _NODES.get(node.reach, "{node}").format(node=node.name, since=since)


def _instant(when: datetime, now: datetime) -> str:
    return f"{when:%H:%M:%S} UTC" if when.date() == now.date() else f"{when:%Y-%m-%d %H:%M:%S} UTC"


def fencing(node: str, name: str) -> str:
    """The command that declares a machine off: pod garbage collection then deletes the pods that ran there.

    Args:
        node: The node as the text names it.
        name: The name in the command.
    """
    return f"once {node} is off for certain: {command(FENCE, name)}"


def second_line(pod: Pod, risk: ForceDeleteRisk, *, dry_run: bool) -> str:
    """The volumes that may get a second writer, and what to check.

    The client reads it when the pod object no longer exists, except after a dry run.
    """
    texts = [f"check first: {command(_EXPLAIN, *pod_names(pod))}"] if dry_run else _checks(pod, risk)
    at_stake = volumes_at_stake(risk)
    leads = (at_stake, "volumes at stake") if at_stake else ()
    return fitting(*(f"{lead}; {text}" for lead in leads for text in texts), *map(capital, texts))


def _checks(pod: Pod, risk: ForceDeleteRisk) -> list[str]:
    """What to check about a deleted pod, the longest text first."""
    if risk.owner.guarantee is Guarantee.KUBELET_OWNED:
        # Its kubelet recreates the mirror pod.
        return [f"check now: {command(_EXPLAIN, *pod_names(pod))}"]
    died, node = command("kubectl qos died pod/{} -n {}", *pod_names(pod)), pod.spec.node_name
    if risk.withheld or not is_plain_name(node):
        return [f"check now whether it still runs: {died}", f"check now: {died}"]
    where = command("kubectl qos died node/{}" if risk.node.reach is Reach.GONE else "kubectl qos node {}", node)
    names = [one.name for one in pod.spec.containers]
    more = f" and {len(names) - _MAX_NAMES} more" if len(names) > _MAX_NAMES else ""
    those = f"containers {', '.join(names[:_MAX_NAMES])}{more} still run"
    whether = (those if len(names) > 1 else f"container {names[0]} still runs" if names else "", "it still runs")
    long = [f"check now whether {text} on {node}: {died}; {where}" for text in whether if text]
    return [*long, f"check now: {died}; {where}", f"check now: {died}"]


def pod_names(pod: Pod) -> tuple[str, str]:
    """The pod's name and namespace, in the order of commands."""
    return pod.metadata.name, pod.metadata.namespace


def volumes_at_stake(risk: ForceDeleteRisk) -> str:
    """The most severe risk of the volumes; empty: all are safe."""
    worst = _worst(risk)
    return "volumes at stake" if worst and risk.withheld else worst


def _worst(risk: ForceDeleteRisk) -> str:
    by_lock = {lock: [guard for guard in risk.volumes if guard.lock is lock] for lock in WriterLock}
    unlocked = [guard for guard in risk.volumes if guard.lock is WriterLock.NONE or guard.lock.of_a_node]
    if found := [guard for guard in unlocked if lets_second_writer(guard, risk.node.reach)]:
        return f"nothing keeps a second writer off {_named(found, risk)}"
    after, node = detached_after(risk.node.reach), risk.node.name
    when = "at once" if after == timedelta() else f"{FORCE_DETACH_AFTER.seconds // 60} min later"
    if by_lock[WriterLock.CONTROLLER] and after is not None:
        named = _named(by_lock[WriterLock.CONTROLLER], risk)
        return f"{named} is detached from {node} {when}, and then nothing keeps a second writer off"
    if by_lock[WriterLock.NODE] and risk.node.reach.quiet:
        return f"{_named(by_lock[WriterLock.NODE], risk)} is on {node} alone: the next pod stays Pending"
    if by_lock[WriterLock.UNKNOWN]:
        return f"whether anything keeps a second writer off {_named(by_lock[WriterLock.UNKNOWN], risk)} is unknown"
    if by_lock[WriterLock.ATTACHMENT] and after is not None:
        named = _named(by_lock[WriterLock.ATTACHMENT], risk)
        return f"{named} is detached from {node} by force {when}"
    return ""


def _named(guards: list[WriterGuard], risk: ForceDeleteRisk) -> str:
    """``volume data (claim data-db-0, NFS, ReadWriteOnce) and 2 more``."""
    first = guards[0]
    claim = risk.claims.get(first.volume)
    what = ", ".join(filter(None, (claim and f"claim {claim}", first.backend, *first.access_modes)))
    more = f" and {len(guards) - 1} more" if len(guards) > 1 else ""
    return f"volume {first.volume}{f' ({what})' if what else ''}{more}"
