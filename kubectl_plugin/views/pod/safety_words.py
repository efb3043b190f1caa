"""Words about force deletions, their risks and what is safer, and about nodes that do not answer; views share them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Final

from kubectl_plugin.render.page import Row, Section
from kubectl_plugin.reports.steps import Stakes
from kubectl_plugin.reports.verdict import Severity
from kubectl_plugin.views.node.node_words import PROVIDER
from kubectl_plugin.views.words import clock, lasting, listed, quoted
from podrules.ending.attachment import detached_after
from podrules.ending.deleted_pod import JOB_TRACKING, StopPlan
from podrules.ending.volumes import REMOVED_SINCE, SecondWriters, WriterGuard, WriterLock
from podrules.node.lost_node import GC_CHECK_PERIOD, collected_within
from podrules.node.reachability import SHUTDOWN, NodeReach, Reach
from podrules.pod.termination import GraceSource
from podrules.silent_node.forcing import has_another, lets_second_writer
from podrules.workload.safety import (
    NEXT_START,
    OWNER_RISK,
    REPLACED,
    REPLACED_RISK,
    ForceSafety,
    Guarantee,
    OwnerGuarantee,
)

_BRIEFLY: Final = {
    Guarantee.AT_MOST_ONE: "two may run; {owner} promises one",
    Guarantee.AVAILABILITY_FIRST: "two may run ({owner})",
    Guarantee.ONE_PER_NODE: "two may run here ({owner})",
    Guarantee.RUNS_TO_COMPLETION: "work may be done twice ({owner})",
    Guarantee.KUBELET_OWNED: OWNER_RISK[Guarantee.KUBELET_OWNED],
    Guarantee.NOT_REPLACED: OWNER_RISK[Guarantee.NOT_REPLACED],
    Guarantee.UNKNOWN: "{owner} decides whether a second copy starts meanwhile",
}
_LOCKS: Final = {
    WriterLock.NOT_NEEDED: "made for several pods, or only read",
    WriterLock.ATTACHMENT: "a second writer is kept off until it is detached from this node{when}",
    WriterLock.CONTROLLER: (
        "a second node is kept off until it is detached{when}; from then on nothing keeps a second writer off: "
        "detaching does not stop the writer"
    ),
    WriterLock.NODE: "only on this node, for which the next pod waits{when}",
    WriterLock.FOLDER: "another folder on another node{when}",
    WriterLock.NONE: "nothing keeps a second writer off",
    WriterLock.REMOVED: "no kubelet from {removed} on mounts it; older ones are not modelled",
    WriterLock.UNKNOWN: "whether anything keeps a second writer off is unknown",
}
_NODE_BOUND: Final = {
    WriterLock.NODE: "the next pod stays Pending: volume {volume} is only on {node}",
    WriterLock.FOLDER: "the next pod starts on other files: volume {volume} is another folder on another node",
}
_REACHES: Final = {
    Reach.ANSWERS: "{name} answers",
    Reach.SILENT: "{name} is silent{since}",
    Reach.RETURNING: "{name} answers again, and its Ready condition is not updated yet",
    Reach.MISSED_HEARTBEATS: "{name} sends no heartbeats{since}",
    Reach.OUT_OF_SERVICE: "{name} is declared out of service",
    Reach.BACK: "{name} answers again, and is still declared out of service",
    Reach.BACK_NOT_READY: "{name} answers again, is not Ready, and is still declared out of service",
    Reach.GONE: "{name} has no Node object any more",
    Reach.UNKNOWN: "whether {name} answers is unknown",
}
_ROLLOUTS: Final = {
    True: "two at once in a rollout: the next pod starts before this one ends (maxSurge)",
    False: "two at once in a rollout: the next pod starts while this one ends (maxSurge 0)",
    None: "not in a rollout: strategy Recreate waits until this one has ended",
}
_REPLACED: Final = (
    "two at once after a drain, an eviction or a delete: the next pod starts while this one ends",
    "two at once on a silent node: the next pod starts after tolerationSeconds (300 by default); this one may run on",
)
_STAYS: Final = "not on a silent node: this pod tolerates its taint forever, so the next one does not start"
_ON_ONE_NODE: Final = (
    "two at once after an eviction or a delete: the next pod starts on the same node while this one ends",
    "not after a drain or on a silent node: the next pod waits for the one node where it may run",
)
_STATEFUL: Final = "a StatefulSet creates no second pod of the same name before the first is gone"
_APART: Final = "a pod on another node waits until it is detached; on the same node both may write"
_BOTH: Final = {
    WriterLock.NOT_NEEDED: "made for several pods, both may write",
    WriterLock.NODE: "nothing keeps a second writer off on the one node where these pods run",
    WriterLock.ATTACHMENT: _APART,
    WriterLock.CONTROLLER: _APART,
}
"""What two pods of a Deployment may do to a volume, if it differs from what keeps off a second writer elsewhere."""
_REMOVERS: Final = {
    JOB_TRACKING: "the Job controller",
    "foregroundDeletion": "the garbage collector",
    "orphan": "the garbage collector",
}


def holder_words(finalizers: Sequence[str]) -> str:
    """``finalizer "example.com/copy" keeps the object until the controller of example.com removes it``."""
    removers: dict[str, None] = {}
    for finalizer in finalizers:
        domain, _, name = finalizer.rpartition("/")
        client = f"the controller of {domain}" if domain and name else "the client that set it"
        removers[_REMOVERS.get(finalizer, client)] = None
    removal = "removes it" if len(finalizers) == 1 else "remove them"
    return f"{finalizer_words(finalizers, 'keeps', 'keep')} the object until {listed(list(removers))} {removal}"


def finalizer_words(finalizers: Sequence[str], one: str, many: str) -> str:
    """``finalizer "example.com/copy" keeps``, with the verb for one or for many."""
    names = listed([quoted(name) for name in finalizers])
    return f"finalizer {names} {one}" if len(finalizers) == 1 else f"finalizers {names} {many}"


def forcing_words(finalizers: Sequence[str], act: str = "forcing") -> str:
    """The effect of forcing a pod that is already being deleted; finalizers keep the object and its name."""
    if not finalizers:
        return f"{act} frees the name and does not stop processes sooner"
    kept = finalizer_words(finalizers, "keeps", "keep")
    return f"{act} does not stop processes sooner and frees no name: {kept} the object"


def overdue_words(collected_by: datetime | None, now: datetime | None) -> str:
    """Words for pod garbage collection that should have removed an object; empty if not late, or unknown."""
    if collected_by is None or now is None or now <= collected_by:
        return ""
    by = clock(collected_by, now)
    return f"Pod garbage collection should have removed its object by {by}: check kube-controller-manager"


def collected_too_early(node: NodeReach) -> str:
    """Why to unfence a node before any delete if it answers, is not Ready and is declared out of service."""
    removes = f"until it is Ready, pod garbage collection removes within {GC_CHECK_PERIOD} s what is deleted there"
    return f"unfence {node.name} first: {removes}, even with grace"


def until_words(ends_by: datetime | None, now: datetime | None) -> str:
    """``may live until 03:02:34 UTC``: the processes of a pod that is being deleted, on a node that answers."""
    if ends_by is None:
        return "may live until their node says otherwise"
    by = clock(ends_by, now)
    if now is not None and now > ends_by:
        return f"should have ended by {by}: they may live until their node says otherwise"
    return f"may live until {by}"


def ordinal_words(stateful_set: str, pod: str, *, ordered: bool) -> str:
    """What a StatefulSet does not do while the object of its deleted pod exists."""
    more = ", and neither scales nor rolls out" if ordered else ""
    return f"StatefulSet {stateful_set} makes no other {pod} before it is gone{more}"


def owner_risk(owner: OwnerGuarantee, *, idle: bool = False, replaced: bool = False) -> str:
    """What the owner does when the object is removed while its processes run.

    ``idle``: its kubelet reports that no container of it runs; ``replaced``: its owner already has a replacement.
    """
    named = f"{owner.kind} {owner.name}"
    if idle and not replaced:
        another = f"{named} may make another" if named.strip() else "no controller replaces it"
        return f"no container of it runs now; {another}"
    return (REPLACED_RISK if replaced else OWNER_RISK[owner.guarantee]).format(owner=named)


def owner_risk_briefly(guarantee: Guarantee, owner: str) -> str:
    """The same in one line; ``owner`` is the topmost, such as ``Deployment web``."""
    return _BRIEFLY[guarantee].format(owner=owner)


def guard_words(guard: WriterGuard, reach: Reach) -> str:
    """``NFS, ReadWriteOnce: nothing keeps a second writer off``; `reach` of its node decides when it is detached."""
    when = " (once its kubelet has unmounted it)" if reach in {Reach.ANSWERS, Reach.RETURNING} else ""
    if detached_after(reach) is not None:
        when = f" ({_after(guard, reach)} the pod object is gone)"
    if guard.lock.of_a_node:
        when = "; here nothing keeps a second writer off" if lets_second_writer(guard, reach) else ""
    words = _LOCKS[guard.lock].format(when=when, removed=REMOVED_SINCE.get(guard.backend, ""))
    what = guarded(guard)
    return f"{what}: {words}" if what else words


def second_writers_sentence(found: SecondWriters) -> str:
    """A warning that two pods of a Deployment may write to unguarded volumes; empty if all are guarded."""
    names = [guard.volume for guard in found.unguarded]
    pods = "even with 1 replica two pods" if found.replicas == 1 else f"{found.replicas} replicas"
    what = f"{'volume' if len(names) == 1 else 'volumes'} {listed(names, most=3)}"
    return f"Nothing keeps a second writer off: {pods} may write to {what} at once." if names else ""


def second_writers_section(found: SecondWriters | None, *, wide: bool) -> Section:
    """The volumes of a new pod that a second pod may write to, and when a second pod exists."""
    if found is None:
        return Section("Writers", ())
    shared = found.with_lock(WriterLock.NOT_NEEDED) if found.replicas == 1 else ()
    free = (*found.unguarded, *shared)
    rows = []
    for guard in found.guards if wide else free:
        words = guard_words(guard, Reach.UNKNOWN)
        if guard.lock in _BOTH:
            words = f"{guarded(guard)}: {_BOTH[guard.lock]}"
        rows.append(Row((guard.volume, words)))
    drained, silent = _ON_ONE_NODE if found.one_node else _REPLACED
    if found.stays and not found.one_node:
        silent = _STAYS
    when = (_ROLLOUTS[found.surges], drained, silent, _STATEFUL)
    return Section("Writers", (*rows, *(when if free else ())))


def guarded(guard: WriterGuard) -> str:
    """``NFS, ReadWriteOnce``."""
    return ", ".join(filter(None, (guard.backend, *guard.access_modes)))


def unfenced_from(guard: WriterGuard, reach: Reach) -> str:
    """From when nothing keeps a second writer off a volume; empty if something does. ``reach``: of its pod's node."""
    if not lets_second_writer(guard, reach):
        return ""
    if guard.lock is not WriterLock.CONTROLLER:
        return "nothing keeps a second writer off"
    return f"{_after(guard, reach)} its object is gone, nothing keeps a second writer off"


def bound_words(guards: Sequence[WriterGuard], node: NodeReach, *, pending: bool = False) -> str:
    """What the volumes of a node that does not answer mean for the next pod, which may be `pending`; or empty."""
    for lock, words in _NODE_BOUND.items():
        named = [f"{one.volume} ({guarded(one)})" for one in guards if one.lock is lock]
        if named and node.reach.quiet and (lock is WriterLock.NODE or not pending):
            return words.format(volume=listed(named, most=3), node=node.name)
    return ""


def _after(guard: WriterGuard, reach: Reach) -> str:
    """``6 min after``, or without a wait ``as soon as``."""
    after = detached_after(reach) if guard.mounted else None
    return f"{int(after.total_seconds()) // 60} min after" if after else "as soon as"


def off_sentences(node: NodeReach | None) -> tuple[str, ...]:
    """What the cloud provider reports about the machine of a silent, unfenced node; none without a report."""
    if node is None or not node.shut_down or node.reach is not Reach.SILENT:
        return ()
    said = f"The cloud provider reports that the machine of {node.name} is off (taint {SHUTDOWN})"
    return (f"{said}: check that in its console, then fence {node.name}.",)


def reach_words(node: NodeReach, renewed: datetime | None, now: datetime | None) -> str:
    """``node-c3 is silent since 03:02:56 UTC; last heartbeat 03:02:04 UTC, 8 min ago``."""
    since = f" since {clock(node.since, now)}" if node.since is not None else ""
    text = _REACHES[node.reach].format(name=node.name, since=since)
    if renewed is None:
        return text
    ago = f", {lasting(now - renewed)} ago" if now is not None else ""
    return f"{text}; last heartbeat {clock(renewed, now)}{ago}"


FORCE_LEADS: Final = {
    ForceSafety.SAFE: "Safe",
    ForceSafety.STOPS_NOTHING: "It stops nothing",
    ForceSafety.NO_PROMISE_BROKEN: "No promise is broken",
    ForceSafety.UNKNOWN: "Not known to be safe",
    ForceSafety.NOT_SAFE: "Not safe",
    ForceSafety.NOT_SAFE_YET: "Not safe yet",
}
"""The beginning of each answer about a force deletion."""
FORCE_SEVERITIES: Final = {
    ForceSafety.SAFE: Severity.FINE,
    ForceSafety.STOPS_NOTHING: Severity.NOTICE,
    ForceSafety.NO_PROMISE_BROKEN: Severity.NOTICE,
    ForceSafety.UNKNOWN: Severity.TROUBLE,
    ForceSafety.NOT_SAFE: Severity.TROUBLE,
    ForceSafety.NOT_SAFE_YET: Severity.TROUBLE,
}


def no_process_words(plan: StopPlan) -> str:
    """Why a pod has no process."""
    return "it is on no node yet" if plan.grace.source is GraceSource.NOT_SCHEDULED else "its processes have ended"


def safe_or_not(name: str, stakes: Stakes, now: datetime | None, held: Sequence[str] = ()) -> str:
    """``Not safe yet: node-c3 is silent …, and StatefulSet db may start …``; ``held``: finalizers keep its object."""
    lead = FORCE_LEADS[stakes.safety]
    owner = owner_risk(stakes.owner, idle=stakes.safety is ForceSafety.SAFE)
    named = held and stakes.owner.guarantee is Guarantee.AT_MOST_ONE
    # What the next pod does, and the volumes that both pods may write to.
    once = f" once {finalizer_words(held, 'is', 'are')} done" if named else ""
    full_name = f"{stakes.owner.kind} {stakes.owner.name}"
    another = has_another(stakes.owner.guarantee, stakes.node.reach, deleted=stakes.deleted is not None)
    if not (words := REPLACED if another else NEXT_START.get(stakes.owner.guarantee, "")):
        then = _writers(stakes)
    elif bound := bound_words(stakes.volumes, stakes.node, pending=True):
        then = f", and {bound}"
    else:
        bound = bound_words(stakes.volumes, stakes.node)
        then = f", and {words.format(owner=full_name, pod=name)}{once}{_writers(stakes)}{bound and f'; {bound}'}"
    match stakes.safety:
        case ForceSafety.SAFE:
            return f"{lead}: {owner}."
        case ForceSafety.STOPS_NOTHING:
            return f"{lead}: the pod is static, and the API has only its mirror."
        case ForceSafety.NOT_SAFE_YET:
            return f"{lead}: {reach_words(stakes.node, None, now)}, so its processes may still run{then}."
        case ForceSafety.UNKNOWN:
            why = PROVIDER if stakes.node.provider else reach_words(stakes.node, None, now)
            return f"{lead}: {why}, so its processes may run on{then}."
        case ForceSafety.NOT_SAFE:
            return f"{lead}: its processes may outlive its object{then}."
        case ForceSafety.NO_PROMISE_BROKEN:
            until = stakes.may_run_until
            late = until is not None and now is not None and now > until
            risk = "may run on unseen" if late else "get little time"
            return f"{lead}, but its processes {risk}: {owner}."


def safer(stakes: Stakes, now: datetime | None, held: Sequence[str] = (), *, forcible: bool = True) -> Iterator[str]:
    """What to do instead; ``held``: finalizers keep its object; ``forcible``: force is not refused."""
    name, reach = stakes.node.name, stakes.node.reach
    if stakes.deleted is not None and held:
        yield f"It removes nothing: {holder_words(held)}."
    if reach is Reach.GONE:
        yield "Safer: find out first whether its machine is off."
    elif (within := collected_within(reach, deleted=stakes.deleted is not None)) is not None:
        if late := overdue_words(stakes.collected_by, now):
            yield f"{late}."
        elif not (held and reach.quiet):
            wait = f"wait, because pod garbage collection removes its object within {within} s"
            yield f"Safer: {wait if reach.quiet else collected_too_early(stakes.node)}."
    elif reach is Reach.OUT_OF_SERVICE:
        yield "Safer: a deletion with grace, because pod garbage collection removes pods deleted there."
    elif reach.quiet:
        leaves = ", and then a deletion with grace: the pod tolerates the taint of the fence" if stakes.stays else ""
        yield f"Safer: fence {name} once its machine is off{leaves}."
        if (found := stakes.members) is not None and found.may_remove and forcible:
            others = f"the other {len(found.live)} of {found.replicas} are a majority"
            where = f", where {others}" if found.votes else f" if a majority decides there: {others}"
            empty = "empty its volume, and " if stakes.volumes else ""
            yield f"Or remove it in the application{where}; {empty}add --confirm."
    elif stakes.deleted is None and stakes.safety not in {ForceSafety.SAFE, ForceSafety.STOPS_NOTHING}:
        back = reach is Reach.BACK_NOT_READY
        held_back = " (its budget would refuse an eviction)" if stakes.eviction_refused is not None else ""
        yield f"Safer: {collected_too_early(stakes.node) if back else f'a deletion with grace{held_back}'}."


def two_writers(guards: Sequence[WriterGuard], reach: Reach) -> str:
    """``both would write to volume data``; empty if no second writer is possible."""
    return _both_write([guard.volume for guard in guards if lets_second_writer(guard, reach)])


def _writers(stakes: Stakes) -> str:
    """The volumes that two pods may write to; none if the pod is not replaced."""
    if stakes.owner.guarantee is Guarantee.NOT_REPLACED:
        return ""
    found = [(guard, unfenced_from(guard, stakes.node.reach)) for guard in stakes.volumes]
    named = [f"{guard.volume} ({': '.join(filter(None, (guarded(guard), words)))})" for guard, words in found if words]
    return f": {_both_write(named)}" if named else ""


def _both_write(volumes: Sequence[str]) -> str:
    return f"both would write to {'volume' if len(volumes) == 1 else 'volumes'} {listed(volumes)}" if volumes else ""
