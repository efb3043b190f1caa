"""Pages about nodes that do not answer: one for each, the worst first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable, Iterator, Sequence
from datetime import datetime
from itertools import chain, groupby
from operator import itemgetter

from msgspec.structs import replace

from kubectl_plugin.render.command import Command, qos
from kubectl_plugin.render.page import Page, Row, Section, Table
from kubectl_plugin.reports.node.node_report import NOT_READY, PartitionsReport, node_standing
from kubectl_plugin.reports.verdict import (
    Severity,
    Verdict,
    VerdictCode,
    joined_verdict,
    lacking,
    trouble_until,
)
from kubectl_plugin.views.caveats import assumed_words, versions_section
from kubectl_plugin.views.node.node_words import remedies
from kubectl_plugin.views.pod.pod_page import unread_section
from kubectl_plugin.views.pod.safety_words import (
    FORCE_LEADS,
    bound_words,
    collected_too_early,
    guarded,
    holder_words,
    off_sentences,
    unfenced_from,
)
from kubectl_plugin.views.pod.volume_words import detach_overdue
from kubectl_plugin.views.words import clock, counted, cut, lasting, listed
from podrules.api.model.instant import later
from podrules.ending.attachment import FORCE_DETACH_AFTER
from podrules.ending.deleted_pod import PATIENCE
from podrules.node.lost_node import ZoneState, collected_within
from podrules.node.reachability import Reach
from podrules.silent_node.forcing import lets_second_writer
from podrules.silent_node.partitions import Block, BlockKind, HeldAttachment, NodeDown, PodDown, Risk
from podrules.workload.safety import ForceSafety

_HEADINGS = ("pod", "what depends on it")
_WITH_PRIORITIES = ("pod", "priority", "what depends on it")
_SEVERITIES = trouble_until(Risk.VOLUME_AWAITED)
_MAX_BUDGETS = 6
_MAX_UNREADY = 3
_MAX_NAMED = 6


def partitions_pages(report: PartitionsReport, *, wide: bool) -> Sequence[Page]:
    """A page for each silent node and one for nodes that are not Ready; if all answer, a single page that says so."""
    pages = [_page(node, report, wide=wide) for node in report.nodes]
    if not pages:
        summary = partitions_verdict(report)
        title = counted(report.nodes_total, "node")
        pages = [Page(title, summary.sentences, summary.severity, (), tuple(_unready_commands(report)))]
    elif names := report.not_ready:
        # The page of the nodes that answer but are not Ready.
        title = f"node/{names[0]}" if len(names) == 1 else f"{counted(len(names), 'node')} not Ready"
        unready = _unready(report, most=len(names) if wide else _MAX_UNREADY)
        answers = "It answers." if len(names) == 1 else "They answer."
        pages.append(Page(title, (unready, answers), NOT_READY[1], (), tuple(_unready_commands(report))))
    last = pages[-1]
    verdict = (*last.verdict, *(assumed_words(report.lacks) if report.nodes else ()))
    parts = (*last.parts, versions_section(report.version_notes), unread_section(report.unread))
    pages[-1] = replace(last, verdict=verdict, parts=parts)
    if len(pages) > 1:
        named = [*(node.reach.name for node in report.nodes), *(f"{name} (not Ready)" for name in report.not_ready)]
        are = f"{counted(len(named), 'node')} are silent, not Ready or out of service"
        worst = f"{are}, the worst first: {listed(named, most=_MAX_NAMED)}."
        pages.insert(0, Page("", (worst,), partitions_verdict(report).severity))
    return pages


def partitions_verdict(report: PartitionsReport) -> Verdict:
    """Says whether all nodes answer and are Ready; for each other node, the verdict of its page."""
    lacks = report.lacks if report.nodes_total else ()
    unready = (_unready(report, most=_MAX_UNREADY),) if report.not_ready else ()
    if report.nodes:
        alone = len(report.nodes) == 1 and not unready
        down = [
            Verdict(
                VerdictCode.NODES_LOST,
                _severity(node),
                (f"{'' if alone else f'{node.reach.name}: '}{' '.join(_verdict(node, report))}",),
            )
            for node in report.nodes
        ]
        verdict = joined_verdict((*down, *([Verdict(*NOT_READY, unready)] if unready else [])))
    elif not report.nodes_total:
        # A List may have no Node because none was requested.
        nothing = "No Node was read: it is unknown whether the nodes of pods answer."
        verdict = Verdict(VerdictCode.NODES_UNREAD, Severity.NOTICE, (nothing,))
    else:
        answer = "All nodes that were read answer." if report.lacks else "All nodes answer."
        code, severity = NOT_READY if unready else (VerdictCode.ALL_NODES_ANSWER, Severity.FINE)
        verdict = Verdict(code, severity, (answer, *unready))
    return lacking(verdict, assumed_words(lacks))


def _unready(report: PartitionsReport, *, most: int) -> str:
    verb, possessive = ("is", "its") if len(report.not_ready) == 1 else ("are", "their")
    return f"{listed(report.not_ready, most=most)} {verb} not Ready: {possessive} taints may delete pods."


def _unready_commands(report: PartitionsReport) -> Iterator[Command]:
    """A command for each node that is not Ready."""
    yield from (qos("node {}", name) for name in report.not_ready[:_MAX_UNREADY])


def _severity(node: NodeDown) -> Severity:
    """The severity of the node's own page, which depends on whether it answers."""
    standing = node_standing(node.reach.reach, node.ready)
    return Severity.FINE if standing is None else standing[1]


def _page(node: NodeDown, report: PartitionsReport, *, wide: bool) -> Page:
    zone, zone_lines = node.zone, []
    if zone.state is not ZoneState.NORMAL or zone.cluster_down:
        nodes = counted(zone.nodes, "node")
        zone_lines.append(f"{zone.zone or 'the cluster'}: {zone.not_ready} of {nodes} not Ready ({zone.state.value})")
        if zone.cluster_down:
            zone_lines.append("no node of the cluster is Ready: taints are removed, and no pod is evicted")
        elif not zone.rate:
            zone_lines.append(
                "considered a network fault: no other node is tainted, so no pod is evicted from other nodes"
            )
    sections = (
        force_section(node),
        Section("Zone", tuple(zone_lines)),
        Section("By itself", tuple(by_itself(node, report.at))),
        *((budgets_section(node),) if wide else ()),
    )
    return Page(
        title=f"node/{node.reach.name}",
        verdict=tuple(_verdict(node, report)),
        severity=_severity(node),
        parts=(pods_table(node, priorities=wide, nodes_own=wide), *sections),
        next_commands=tuple(_next_commands(node)),
    )


def _verdict(node: NodeDown, report: PartitionsReport) -> Iterator[str]:
    now = report.at
    if any(one.resource == "pods" for one in report.lacks):
        yield f"{_state(node, now)}: which pods depend on it is unknown."
        return
    lost = _lost(node)
    them, their, they = ("it", "its", "It") if len(lost or node.pods) == 1 else ("them", "their", "They")
    waiting = tuple(waiting_words((node,)))
    depend = (
        (f"{counted(len(lost), 'pod')} depend{'s' if len(lost) == 1 else ''} on it",) if lost or not waiting else ()
    )
    yield f"{_state(node, now)}: {', and '.join((*depend, *waiting))}."
    yield from bound_sentences(node)
    if node.zone.cluster_down:
        yield "No node of the cluster is Ready: the control plane may be cut off, and not the nodes."
    match node.reach.reach:
        case Reach.BACK_NOT_READY:
            yield "It answers again, but is not Ready: unfence it, and delete nothing there before."
            yield from unhelped(node, now)
        case Reach.BACK:
            yield "It answers again: unfence it, or its pods are kept away."
        case Reach.RETURNING:
            yield "It answers again: its machine is on. Do not fence it: its kubelet stops pods marked for deletion."
        case Reach.OUT_OF_SERVICE if lost:
            if going := len(lost) - sum(pod.stays or bool(_due(pod, now)) or bool(pod.finalizers) for pod in lost):
                they = f"{counted(going, 'pod')} {'is' if going == 1 else 'are'}"
                yield f"{they} removed, and volumes are detached, without waiting for the machine."
            yield from unhelped(node, now)
            yield f"It is not confirmed that {their} processes ended: the taint only says that the machine is off."
        case Reach.GONE:
            yield f"Pod garbage collection removes {them} without confirmation that {their} processes ended."
            yield f"{they} may still run: find out whether the machine is off."
        case Reach.OUT_OF_SERVICE if left := _unused(node):
            verb = "has" if len(left) == 1 else "have"
            alone = "" if any(held.error for held in left) else "; no further action is needed"
            yield f"{counted(len(left), 'volume')} still {verb} to be detached{alone}."
        case Reach.OUT_OF_SERVICE:
            yield "Nothing is left to remove. Unfence it once the machine is up."
        case Reach.MISSED_HEARTBEATS:
            yield "It may still come back by itself: nothing has been done about it yet."
        case _ if off := off_sentences(node.reach):
            yield from off
        case _:
            yield "It is unknown what still runs there. Find out whether the machine is off."
    yield from detaching_words(node, now) if node.reach.reach.quiet else ()


def _lost(node: NodeDown) -> Sequence[PodDown]:
    """The pods that do not belong to the node itself."""
    return [pod for pod in node.pods if pod.risk is not Risk.NODES_OWN]


def waiting_words(nodes: Sequence[NodeDown]) -> Iterator[str]:
    """How many pods wait for volumes still attached to these nodes, or for volumes that only these nodes have."""
    pods, it = {pod for node in nodes for pod in node.waiting}, "it" if len(nodes) == 1 else "them"
    if pending := {one.pod for node in nodes for one in node.pending}:
        stay, volumes = ("stays", "a volume") if len(pending) == 1 else ("stay", "volumes")
        yield f"{counted(len(pending), 'pod')} {stay} Pending for {volumes} only on {it}"
    if pods:
        wait = "waits" if len(pods) == 1 else "wait"
        yield f"{counted(len(pods), 'pod')} elsewhere {wait} for a volume still attached to {it}"


def bound_sentences(node: NodeDown) -> Iterator[str]:
    """Names the pods that a fence does not bring back, because a volume is only on this node."""
    lost = (pod for pod in node.pods if pod.risk is Risk.NO_REPLACEMENT)
    found = [f"{one.namespace}/{one.name}" for one in lost if bound_words(one.volumes, node.reach, pending=True)]
    if found:
        stays = (
            f"the next one stays Pending until {node.reach.name} is back, or the claim is deleted and its data with it"
        )
        yield f"{listed(found, most=3)}: {stays}, because a volume is only on {node.reach.name}."


def _unused(node: NodeDown) -> Sequence[HeldAttachment]:
    """The volumes that no pod object on the node uses any more."""
    return [held for held in node.attachments if not held.used_by]


def unhelped(node: NodeDown, now: datetime, among: Container[str] | None = None) -> Iterator[str]:
    """Pods that stay on a node out of service: overdue, kept by finalizers, or not deleted. ``among`` limits them."""
    pods = [pod for pod in node.pods if among is None or _name(pod) in among]
    if late := {_name(pod): due for pod in pods if (due := _due(pod, now)) is not None}:
        by = clock(max(late.values()), now)
        yield f"{_names(late)} should have been removed by {by}: check kube-controller-manager."
    if kept := {_name(pod): pod.finalizers for pod in pods if pod.finalizers and not pod.stays}:
        yield f"{_names(kept)}: {holder_words(tuple(dict.fromkeys(chain(*kept.values()))))}."
    staying = [_name(pod) for pod in pods if pod.stays]
    if staying and not node.reach.reach.back:
        stays, them = ("stays", "it") if len(staying) == 1 else ("stay", "them")
        delete = f"delete {them} with grace, and pod garbage collection removes {them}"
        yield f"{_names(staying)} {stays}, because the taint is tolerated: {delete}."


def _due(pod: PodDown, now: datetime) -> datetime | None:
    """When a pod on a node out of service should have been removed; None: it is not overdue."""
    due = pod.collected_by
    if pod.deleted is None and pod.eviction.at is not None and not pod.finalizers:
        due = later(pod.eviction.at, PATIENCE.total_seconds())
    return due if due is not None and now > due else None


def _name(pod: PodDown) -> str:
    return f"{pod.namespace}/{pod.name}"


def _names(pods: Iterable[str]) -> str:
    return listed(tuple(pods), most=_MAX_NAMED)


def _state(node: NodeDown, now: datetime) -> str:
    match node.reach.reach:
        case Reach.OUT_OF_SERVICE | Reach.BACK | Reach.BACK_NOT_READY:
            since = f" since {clock(node.out_of_service_at, now)}" if node.out_of_service_at else ""
            return f"Declared out of service{since}"
        case Reach.MISSED_HEARTBEATS:
            lasts = f" for {lasting(now - node.renewed)}" if node.renewed else ""
            return f"No heartbeats{lasts}, not yet considered lost"
        case Reach.RETURNING:
            return "Coming back, Ready is still Unknown"
        case Reach.GONE:
            return "Gone since an unknown time (no Node object)"
    silent = node.reach.since or node.renewed
    return f"Silent for {lasting(now - silent)}" if silent else "Silent"


def by_itself(node: NodeDown, now: datetime) -> Iterator[str | Row]:
    """What Kubernetes did and will do by itself, and when: the course in one line, then what stays."""
    steps = [*_node_steps(node, now)]
    due: Counter[tuple[datetime, str]] = Counter()
    for pod in node.pods:
        if pod.deleted is not None:
            due[pod.deleted.replace(microsecond=0), "deleted"] += 1
        elif pod.eviction.at is not None and node.reach.reach is not Reach.RETURNING:
            why = "toleration over" if pod.eviction.tolerated else "taint not tolerated"
            due[pod.eviction.at.replace(microsecond=0), f"{_to_come(pod.eviction.at, now)} deleted ({why})"] += 1
    steps += [(when, f"{count} {text}") for (when, text), count in due.items()]
    course: list[str] = []
    for time, group in groupby(sorted(steps, key=itemgetter(0)), key=lambda step: clock(step[0], now)):
        course.append(f"{time.removesuffix(' UTC') if course else time} {', '.join(text for _, text in group)}")
    if node.renewed is None:
        course.insert(0, "no heartbeat known (no Lease in kube-node-lease)")
    gone, within, lost = node.reach.reach is Reach.GONE, collected_within(node.reach.reach, deleted=True), _lost(node)
    if lost and within is None:
        never = f"never ends: only its kubelet can report {'its' if len(lost) == 1 else 'their'} end"
        course.append(never if node.reach.reach.quiet else "its kubelet answers again and stops deleted pods")
    collected = [pod for pod in node.pods if gone or pod.deleted is not None] if within is not None else []
    if going := [pod for pod in collected if not pod.finalizers and _due(pod, now) is None]:
        count, possessive = counted(len(going), "pod"), "its" if len(going) == 1 else "their"
        after = " after Ready became Unknown" if not gone and node.ready == "True" else ""
        course.append(f"within {within} s{after} garbage collection removes {count}, not {possessive} processes")
    yield " > ".join(course)
    if any(_OVERDUE in text for _, text in steps):
        yield Row(("late", "check kube-controller-manager"))
    if not gone:
        yield from _other_pods(node)
    if kept := sum(bool(pod.finalizers) for pod in (collected if gone else lost)):
        removed = "marked for deletion and not removed" if gone else "not removed even then"
        yield Row(("stays", f"{counted(kept, 'pod')} {removed}: finalizers keep the object"))
    yield from (Row(("volumes", text)) for text in _detaches(node, now))


def detaching_words(node: NodeDown, now: datetime) -> Iterator[str]:
    """The volumes that their drivers fail to detach."""
    for held in node.attachments:
        if held.detaching is not None and held.error:
            since = clock(held.detaching, now)
            does = f"its driver has not detached it since {since}, and a fence does not help; the driver reports"
            yield f"{held.persistent_volume}: {does}: {cut(held.error).rstrip('. ')}."


def _detaches(node: NodeDown, now: datetime) -> Iterator[str]:
    """When each volume is detached."""
    minutes = int(FORCE_DETACH_AFTER.total_seconds() // 60)
    declared = node.reach.reach.declared
    left = [held for held in node.attachments if held.detaching is None]
    if driven := len(node.attachments) - len(left):
        yield f"{driven} being detached by the driver, which no fence speeds up"
    late = [held.forced_by for held in left if held.forced_by is not None and now - held.forced_by > PATIENCE]
    if late:
        yield f"{len(late)} {detach_overdue(min(late), now)}"
    waiting = [held for held in left if held.forced_by not in late]
    mounted = sum(held.mounted or declared for held in waiting)
    free = len(waiting) - mounted
    if free:
        it = "it" if free == 1 else "them"
        unlisted = f"status.volumesInUse does not list {it}"
        yield f"{free} detached once the pod objects are gone: {unlisted}"
    if mounted and declared:
        yield f"{mounted} detached without waiting, once the pod objects are gone"
    elif mounted and node.reach.reach.quiet:
        yield f"{mounted} detached by force {minutes} min after the pod objects are gone"
    elif mounted:
        it = "it" if mounted == 1 else "them"
        yield f"{mounted} detached once its kubelet has unmounted {it}"


_OVERDUE = "should be"


def _to_come(when: datetime, now: datetime) -> str:
    return _OVERDUE if now - when > PATIENCE else "will be"


def _node_steps(node: NodeDown, now: datetime) -> Iterator[tuple[datetime, str]]:
    """What happens to the Node object, and when."""
    if node.renewed is not None:
        yield node.renewed, "heartbeat"
    unknown = node.unknown_at
    if unknown is not None and node.ready == "Unknown":
        yield unknown, "Unknown"
    elif unknown is not None:
        version = "; the version is unknown: 50 s since 1.32, 40 s before" if node.grace_assumed else ""
        yield unknown, f"{_to_come(unknown, now)} Unknown (--node-monitor-grace-period{version})"
    if node.tainted_at is not None:
        yield node.tainted_at, "tainted"
    elif unknown is not None and node.zone.rate and node.reach.reach.quiet:
        yield unknown, f"{_to_come(unknown, now)} tainted"


def _other_pods(node: NodeDown) -> Iterator[Row]:
    """Pods that have no known deletion time."""
    waiting = [pod for pod in node.pods if pod.deleted is None]
    if node.reach.reach is Reach.RETURNING:
        yield Row(
            ("soon", "Ready is updated and the taint is removed: pods that are not marked for deletion by then stay")
        )
        return
    held = sum(pod.eviction.held_back for pod in waiting)
    if held:
        yield Row(
            ("not now", f"{counted(held, 'pod')} would be marked for deletion if nodes of this zone were tainted")
        )
    untimed = sum(pod.eviction.comes and pod.eviction.at is None for pod in waiting)
    if untimed:
        taint = "a taint that they do not tolerate" if untimed > 1 else "a taint that it does not tolerate"
        yield Row(
            ("soon", f"{counted(untimed, 'pod')} marked for deletion because of {taint} for ever; it has no timeAdded")
        )
    forever = sum(pod.eviction.tolerated is None for pod in waiting)
    if forever:
        tolerates = "tolerates" if forever == 1 else "tolerate"
        yield Row(("stays", f"{counted(forever, 'pod')} that {tolerates} the taint for ever"))


def pods_table(node: NodeDown, *, priorities: bool, nodes_own: bool) -> Table:
    """The pods that depend on a node, the worst first; ``nodes_own`` adds its DaemonSet and static pods."""
    own = [pod for pod in node.pods if pod.risk is Risk.NODES_OWN]
    rows: list[tuple[Risk, str, str, str]] = []
    for pod in node.pods if nodes_own else _lost(node):
        bound = "" if pod.risk in {Risk.NODES_OWN, Risk.NOT_REPLACED} else bound_words(pod.volumes, node.reach)
        words = f"{_dependency_words(pod, node.reach.reach)}{bound and f'; {bound}'}"
        rows.append((pod.risk, _name(pod), str(pod.priority), words))
    for held in node.attachments:
        words = f"elsewhere: waits for its volume {held.claim}, still attached here"
        if held.writer is not None and lets_second_writer(held.writer, node.reach.reach):
            words += f"; then nothing keeps a second writer off ({guarded(held.writer)})"
        rows += [(Risk.VOLUME_AWAITED, name, "", words) for name in held.waiting]
    alone = f"Pending until {node.reach.name} is back: its volume {{}} is only on this node"
    rows += [(Risk.NO_REPLACEMENT, one.pod, "", alone.format(one.claim)) for one in node.pending]
    if own and not nodes_own:
        belong = f"{'belongs' if len(own) == 1 else 'belong'} to this node (DaemonSets, static pods)"
        rows.append((Risk.NODES_OWN, f"and {counted(len(own), 'pod')}", "", belong))
    # No row is worse than the node.
    marks = tuple(
        None if risk is Risk.NODES_OWN else min(_SEVERITIES[risk], _severity(node), key=lambda found: found.urgency)
        for risk, *_ in rows
    )
    if priorities:
        return Table("", _WITH_PRIORITIES, tuple(row[1:] for row in rows), right=frozenset({1}), marks=marks)
    return Table("", _HEADINGS, tuple((name, words) for _, name, _, words in rows), marks=marks)


def force_section(node: NodeDown) -> Section:
    """Which of its pods can be force-deleted now, and when the others can."""
    if not node.pods:
        return Section("Force delete", ())
    named: dict[ForceSafety, list[str]] = {}
    for pod in node.pods:
        named.setdefault(pod.force_safety, []).append(_name(pod))
    answers = not node.reach.reach.quiet
    count, safe = len(node.pods), [] if answers else named.pop(ForceSafety.SAFE, [])
    verb = "is" if len(safe) < 2 else "are"
    if node.reach.reach is Reach.BACK_NOT_READY:
        lines = [collected_too_early(node.reach)]
    elif answers and all(pod.deleted is not None for pod in node.pods):
        lines = [f"no need to: {node.reach.name} answers, and stops what is deleted already"]
    elif answers:
        lines = [f"no need to: {node.reach.name} answers, so delete with grace"]
    elif not safe:
        which = "the pod is not" if count == 1 else f"none of the {count} pods is"
        lines = [f"{which} safe{_until(node)}"]
    elif len(safe) == count:
        lines = [f"{'the pod' if count == 1 else f'all {count} pods'} {verb} safe: {_names(safe)}"]
    else:
        others = f"not the {'others' if count - len(safe) > 1 else 'other'}{_until(node)}"
        lines = [f"{len(safe)} of {counted(count, 'pod')} {verb} safe: {_names(safe)}", others]
    for safety, lead in FORCE_LEADS.items():
        if safety in named and (safe or safety is not ForceSafety.NOT_SAFE_YET):
            lines.append(f"{lead.lower()}: {_names(named[safety])}")
    return Section("Force delete", tuple(lines))


def _until(node: NodeDown) -> str:
    """When pods of a silent node can be force-deleted, or what to do instead."""
    match node.reach.reach:
        case Reach.GONE:
            return " until you know that the machine is off"
        case Reach.OUT_OF_SERVICE:
            return ": garbage collection removes what is deleted there, with grace too"
        case Reach.MISSED_HEARTBEATS:
            return f": {node.reach.name} may still come back"
    staying = _names(_name(pod) for pod in node.pods if pod.stays)
    leaves = f", and then delete with grace what tolerates the taint ({staying})" if staying else ""
    return f" until the machine is off: then fence {node.reach.name}{leaves}"


def budgets_section(node: NodeDown) -> Section:
    """How many healthy pods elsewhere the PodDisruptionBudgets of its pods have."""
    lines = [
        f"{entry.namespace}/{entry.name}: {entry.healthy} healthy elsewhere, {entry.needed} needed"
        for entry in node.budgets
    ]
    rest = [f"and {len(lines) - _MAX_BUDGETS} more"] if len(lines) > _MAX_BUDGETS else []
    ignored = ["not checked when a node is lost or fenced"] if lines else []
    return Section("Budgets", (*lines[:_MAX_BUDGETS], *rest, *ignored))


def _dependency_words(pod: PodDown, reach: Reach) -> str:
    # The names of most pods begin with those of their owners.
    owner = pod.owner.kind if pod.name.startswith(f"{pod.owner.name}-") else f"{pod.owner.kind} {pod.owner.name}"
    open_volumes = [
        f"{open_from} volume {guard.volume} ({guarded(guard)})"
        for guard in pod.volumes
        if pod.risk is Risk.TWO_WRITERS and (open_from := unfenced_from(guard, reach))
    ]
    if reasons := [*open_volumes, *(_blocked(block, owner) for block in pod.blocks)]:
        return "; ".join(reasons)
    match pod.risk:
        case Risk.NOT_REPLACED:
            return "no controller replaces it"
        case Risk.NODES_OWN:
            return "belongs to this node"
        case _ if pod.deleted is not None:
            return f"{owner} has another; this one may still run"
    return f"{owner} creates another once it is deleted"


def _blocked(block: Block, owner: str) -> str:
    match block.kind:
        case BlockKind.STATEFUL_SET if block.ordered:
            return f"{owner} can neither replace it, scale nor roll out"
        case BlockKind.STATEFUL_SET:
            return f"{owner} cannot replace it"
        case BlockKind.NAMESPACE:
            return f"namespace {block.name} is being deleted and waits for it"
    if block.waiting:
        verb = "waits" if len(block.waiting) == 1 else "wait"
        return f"{listed(block.waiting, most=3)} elsewhere {verb} for its volume {block.claim}"
    return f"volume {block.claim} stays attached"


def deletions(node: NodeDown) -> Iterator[Command]:
    """The command that deletes a pod that stays on a node out of service."""
    for pod in [pod for pod in node.pods if pod.stays][:1]:
        yield qos("delete pod/{}", pod.name, namespace=pod.namespace, changes=True, comment="it tolerates the taint")


def _next_commands(node: NodeDown) -> Iterator[Command]:
    name = node.reach.name
    lost = any(pod.risk is not Risk.NODES_OWN for pod in node.pods)
    # A fence does not help if only volumes are left that drivers fail to detach.
    refused = not lost and bool(node.attachments) and all(held.error for held in node.attachments)
    match node.reach.reach:
        case Reach.OUT_OF_SERVICE if not (node.pods or _unused(node)):
            yield qos("unfence node/{}", name, comment="once the machine is back")
        case Reach.MISSED_HEARTBEATS | Reach.RETURNING:
            yield qos("partitions", comment="in a minute")
        case reach if not (reach.quiet and refused):
            yield from remedies(node.reach)
    if node.reach.reach is Reach.OUT_OF_SERVICE:
        yield from deletions(node)
    for pod in (*map(_name, node.pods), *(one.pod for one in node.pending), *node.waiting)[:1]:
        namespace, _, pod_name = pod.partition("/")
        yield qos("explain pod/{}", pod_name, namespace=namespace)
