"""Warns whoever force deletes a pod of what is at stake, in two lines: a second copy, and a second writer.

A grace period of 0 removes the object at once, and nobody waits for its processes. The API server fills the option in
before the review, so a plain delete of a pod that is not scheduled or has finished says 0 as well: the pod tells them
apart. ``kubectl delete --force`` makes two reviews, the second with the object already at 0: it is passed over.
The kubelet's last delete of a stopped pod, pod garbage collection and the namespace and garbage-collector controllers
send 0 as part of their work: they are never bothered. Texts hold times and no ages, for the API server may ask twice
and kubectl prints each distinct text.
"""

from __future__ import annotations

from datetime import datetime
from typing import Final

from podrules.model.pod import Pod
from podrules.reachability import Reach
from podrules.safety import Guarantee
from podrules.termination import GraceSource, check_graceful_delete
from podrules.volumes import WriterGuard, WriterLock
from webhook.cluster import Cluster
from webhook.response import ALLOWED, MAX_WARNING, Answer
from webhook.review import Request, old_pod
from webhook.stakes import Stakes, read_stakes

__all__ = ["warn_of_force_delete"]

_CONTROLLERS: Final = frozenset(
    f"system:serviceaccount:kube-system:{name}"
    for name in ("pod-garbage-collector", "generic-garbage-collector", "namespace-controller", "node-controller")
) | {"system:kube-controller-manager"}
"""PodGC and its like under their own accounts, and all controllers under one where they have none."""

_RISKS: Final = {
    Guarantee.AT_MOST_ONE: "{kind}{owner} promises at most one, but a second may start while it still runs",
    Guarantee.AVAILABILITY_FIRST: "{kind}{owner} may start a replacement while it still runs",
    Guarantee.ONE_PER_NODE: "{kind}{owner} may start the next copy while it still runs",
    Guarantee.RUNS_TO_COMPLETION: "{kind}{owner} may start the work again while it still runs",
    Guarantee.KUBELET_OWNED: "it mirrors a static pod, and deleting it stops nothing",
    Guarantee.NOT_REPLACED: "its processes may run on, and nobody replaces it",
    Guarantee.UNKNOWN: "{kind}{owner} decides whether a second starts while it still runs",
}
_NODES: Final = {
    Reach.SILENT: "{node}, silent{since}",
    Reach.MISSED_HEARTBEATS: "{node}, without a heartbeat{since}",
    Reach.OUT_OF_SERVICE: "{node}, declared out of service",
    Reach.GONE: "{node}, which has no Node object",
    Reach.UNKNOWN: "{node}, state unknown",
}
_SILENT: Final = frozenset({Reach.SILENT, Reach.MISSED_HEARTBEATS})


def warn_of_force_delete(request: Request, cluster: Cluster) -> Answer:
    """A warning for a person's force deletion of a pod that may be running."""
    if request.options is None or request.options.grace_period_seconds != 0 or _is_part_of_the_work(request):
        return ALLOWED
    pod = old_pod(request)
    if pod is None or pod.metadata.deletion_grace_period_seconds == 0 or not _may_run(pod):
        return ALLOWED
    stakes = read_stakes(pod, cluster)
    return Answer(warnings=(_first_line(pod, stakes), _second_line(pod, stakes)))


def _is_part_of_the_work(request: Request) -> bool:
    user = request.user_info
    return user.username in _CONTROLLERS or "system:nodes" in (user.groups or ())


def _may_run(pod: Pod) -> bool:
    source = check_graceful_delete(pod, 0).source
    return source not in {GraceSource.NOT_SCHEDULED, GraceSource.FINISHED}


def _first_line(pod: Pod, stakes: Stakes) -> str:
    """Where it runs and what its owner then does."""
    place, risk = f"{pod.metadata.name} on {_node(stakes)}", _RISKS[stakes.owner.guarantee]
    named = risk.format(kind=stakes.owner.kind, owner=f" {stakes.owner.name}")
    return _fitting(*(_standing(pod, stakes, place, text) for text in (named, risk.format(kind="Its owner", owner=""))))


def _standing(pod: Pod, stakes: Stakes, place: str, risk: str) -> str:
    if pod.metadata.deletion_timestamp is None:
        return f"{place}: {risk}"
    if stakes.node.reach is not Reach.ANSWERS:
        return f"{place}, is already stopping: forcing frees its name and stops nothing sooner; {risk}"
    until = _instant(datetime.fromisoformat(pod.metadata.deletion_timestamp), stakes.now)
    return f"{place} is already stopping and may run until {until}: forcing stops nothing sooner; {risk}"


def _fitting(*texts: str) -> str:
    """The first that is short enough to be shown whole, else the last."""
    return next((text for text in texts if len(text) <= MAX_WARNING), texts[-1])


def _node(stakes: Stakes) -> str:
    node = stakes.node
    since = f" since {_instant(node.since, stakes.now)}" if node.since else ""
    return _NODES.get(node.reach, "{node}").format(node=node.name, since=since)


def _instant(when: datetime, now: datetime) -> str:
    return f"{when:%H:%M:%S} UTC" if when.date() == now.date() else f"{when:%Y-%m-%d %H:%M:%S} UTC"


def _second_line(pod: Pod, stakes: Stakes) -> str:
    """Which volumes may get a second writer, and what to look at before."""
    check = f"check first: kubectl qos explain pod/{pod.metadata.name} -n {pod.metadata.namespace}"
    alone = f"{check[0].upper()}{check[1:]}"
    at_stake = _volumes(stakes)
    # A command that is cut in the middle cannot be run: it goes before details.
    return _fitting(f"{at_stake}; {check}", f"volumes at stake; {check}", alone) if at_stake else alone


def _volumes(stakes: Stakes) -> str:
    """The worst that is known of the volumes; empty when all are safe."""
    by_lock = {lock: [guard for guard in stakes.volumes if guard.lock is lock] for lock in WriterLock}
    if by_lock[WriterLock.NONE]:
        named = _named(by_lock[WriterLock.NONE])
        return f"nothing keeps a second writer off {named}"
    if by_lock[WriterLock.UNKNOWN]:
        return f"whether anything keeps a second writer off {_named(by_lock[WriterLock.UNKNOWN])} is unknown"
    if by_lock[WriterLock.ATTACHMENT] and stakes.node.reach in _SILENT:
        named = _named(by_lock[WriterLock.ATTACHMENT])
        return f"{named} is detached from {stakes.node.name} by force 6 min later"
    return ""


def _named(guards: list[WriterGuard]) -> str:
    """``volume data (NFS, ReadWriteOnce) and 2 more``."""
    first = guards[0]
    what = ", ".join(filter(None, (first.backend, *first.access_modes)))
    more = f" and {len(guards) - 1} more" if len(guards) > 1 else ""
    return f"volume {first.volume}{f' ({what})' if what else ''}{more}"
