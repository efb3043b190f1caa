"""The pages of claims, disruption budgets, quotas and priority classes: what depends on them, and what to change."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from typing import Any, Final

from kubectl_plugin.render.command import Command, kubectl, qos, why
from kubectl_plugin.render.page import Page, Section, Table
from kubectl_plugin.reports.related import (
    BudgetReport,
    ClaimReport,
    ClassReport,
    QuotaReport,
    QuotaWorkload,
    RelatedPod,
    RelatedReport,
)
from kubectl_plugin.reports.verdict import Severity, Verdict, VerdictCode, lacking
from kubectl_plugin.reports.workload import ReportedReason
from kubectl_plugin.views.caveats import assumed_words, unread_lines, versions_section
from kubectl_plugin.views.pod.volume_words import claim_command, claim_sentences, missing_driver, volume_sentences
from kubectl_plugin.views.scheduling.budget_words import NO_SETTING, remedy_words, setting_words
from kubectl_plugin.views.words import ago, amount, bounded, counted, cut, listed
from kubectl_plugin.views.workload_words import NODE_DOWN
from podrules.admission.admitted_pod import QuotaRoom
from podrules.api.model.instant import instant, later
from podrules.api.model.storage import READ_WRITE_ONCE_POD
from podrules.ending.stuck import PROVISIONING_FAILED
from podrules.node.reachability import Reach
from podrules.pod.priority import SYSTEM_PRIORITY_CLASSES
from podrules.scheduling.placement.outcome import ClaimTrouble
from podrules.workload.budget_risk import BudgetRisk
from podrules.workload.disruption import fails_drain

_C: Final = VerdictCode
_FINE, _NOTICE, _TROUBLE = Severity.FINE, Severity.NOTICE, Severity.TROUBLE
_SHOWN: Final = 3
_MAX_ROWS: Final = 10
_LONG: Final = 300
"""The seconds after which a state that should end by itself counts as a problem."""
_PASSING: Final = frozenset(
    {ClaimTrouble.WAITS_FOR_CLASS, ClaimTrouble.WAITS_FOR_VOLUME, ClaimTrouble.WAITS_FOR_PROVISIONER}
)
_NOT_STARTED: Final = "Pending", "ContainerCreating", "PodInitializing", "Init:0"
"""The beginnings of the status of a pod that has a node and may wait for a volume."""
_COUNTS: Final = frozenset({"pods", "count/pods"})


def related_page(report: RelatedReport, *, now: datetime | None, wide: bool) -> Page:
    """The verdict, what depends on the object, and what to change; ``wide`` shows all rows."""
    verdict, (name, _, parts, commands) = related_verdict(report, now), _view(report)
    namespace = f" in namespace {report.namespace}" if report.namespace else ""
    return Page(
        title=f"{name}/{report.name}{namespace}",
        verdict=verdict.sentences,
        severity=verdict.severity,
        parts=(
            *parts(report, now, None if wide else _MAX_ROWS),
            versions_section(report.version_notes),
            Section("Unknown", unread_lines(report.unread)),
        ),
        next_commands=tuple(commands(report)),
    )


def related_verdict(report: RelatedReport, now: datetime | None) -> Verdict:
    """What the object does to pods now."""
    return lacking(Verdict(*_view(report)[1](report, now)), assumed_words(report.lacks))


def _event_words(said: ReportedReason, now: datetime | None) -> str:
    when = ago(said.at, now)
    return f"{said.reason}{f' {when} ago' if when else ''}{f': {cut(said.message)}' if said.message else ''}"


def _names(what: str, names: Sequence[str]) -> str:
    """``pods db-0 and db-1``."""
    return f"{what}{'' if len(names) == 1 else 's'} {listed(names, most=_SHOWN)}"


def _pods(pods: Sequence[RelatedPod]) -> str:
    return _names("pod", [pod.name for pod in pods])


def _waiting(pods: Sequence[RelatedPod]) -> Sequence[RelatedPod]:
    return [pod for pod in pods if not pod.ready and pod.status != "Terminating"]


def _pods_table(title: str, pods: Sequence[RelatedPod], most: int | None, *, budget: bool = False) -> Table:
    """The table of pods, those that are not Ready first."""
    last, ordered = ("evicted now",) if budget else (), sorted(pods, key=lambda pod: pod.ready)
    rows = [
        (
            pod.name,
            pod.node or "none",
            pod.status if pod.reach is None else f"{NODE_DOWN} (last: {pod.status})",
            *(("no" if pod.refused else "yes",) if budget else ()),
        )
        for pod in ordered[:most]
    ]
    rest = [(f"and {len(pods) - len(rows)} more (-o wide)",)] if len(pods) > len(rows) else []
    return Table(f"{counted(len(pods), 'pod')}{title}", ("pod", "node", "status", *last), (*rows, *rest))


def _pod_commands(pods: Sequence[RelatedPod], namespace: str) -> Iterator[Command]:
    for pod in (_waiting(pods) or [one for one in pods if not one.ready])[:2]:
        yield qos("explain pod/{}", pod.name, namespace=namespace)


_Finding = tuple[VerdictCode, Severity, tuple[str, ...]]


def _claim(report: ClaimReport, now: datetime | None) -> _Finding:
    problem, pods = report.problem, report.pods or ()
    waiting = _waiting(pods)
    held = (f"It keeps {_pods(waiting)} waiting.",) if waiting else ()
    if problem is not None and problem.trouble is ClaimTrouble.BEING_DELETED:
        users, when = [f"{one.namespace}/{one.name}" for one in problem.users], ago(report.deleted_at, now)
        lead = f"Being deleted{f' for {when}' if when else ''}"
        if not users and report.finalizers:
            kept = (
                f"{lead}: {_names('finalizer', report.finalizers)} keep{'s' if len(report.finalizers) == 1 else ''} it."
            )
            return _C.CLAIM_TERMINATING, _NOTICE, (kept, "The controller that set it removes it, if it still runs.")
        if not users:
            return _C.CLAIM_TERMINATING, _NOTICE, (f"{lead}: no pod with a node keeps it, so it is removed soon.",)
        kept = f"{lead}: finalizer kubernetes.io/pvc-protection keeps it until {_names('pod', users)} "
        kept += "is gone." if len(users) == 1 else "are gone."
        return _C.CLAIM_TERMINATING, _NOTICE, (kept, "Save its data before that; no new pod can use it.")
    if problem is not None:
        made, failed = instant(report.created), report.event is not None and report.event.reason == PROVISIONING_FAILED
        young = made is not None and now is not None and now < later(made, _LONG)
        passes = young and not failed and not report.chosen and problem.trouble in _PASSING
        lost = problem.trouble is ClaimTrouble.LOST or report.phase in {"Bound", "Lost"}
        code = _C.CLAIM_LOST if lost else _C.CLAIM_UNBOUND
        what, *way = claim_sentences([problem])
        if problem.selected_node and problem.trouble is ClaimTrouble.WAITS_FOR_PROVISIONER:
            what = f"{what.rstrip('.')} for node {bounded(problem.selected_node)}."
            if failed and report.event is not None:
                way = [f"{_event_words(report.event, now).rstrip('. ')}."]
            elif report.chosen:
                way = []
            else:
                way[:0] = missing_driver(report.missing, problem.provisioner, problem.selected_node)
            way += volume_sentences(report.chosen)
        return code, _NOTICE if passes else _TROUBLE, (what, *held, *way)
    if report.phase != "Bound":
        return _unbound(report, pods)
    if report.volume is not None and not report.volume.count:
        return _C.CLAIM_NO_NODE, _TROUBLE, tuple(volume_sentences([report.volume]))
    nodes, waiting = sorted({pod.node for pod in pods if pod.node}), _waiting(pods)
    if READ_WRITE_ONCE_POD in report.access_modes and len(pods) > 1:
        lead = f"ReadWriteOncePod lets one pod use it, and {len(pods)} want to: {_pods(pods)}."
        return _C.CLAIM_CONTENDED, _TROUBLE, (lead, "Way out: one replica, or a claim with another access mode.")
    if report.one_node and len(nodes) > 1 and any(pod.node for pod in waiting):
        lead = f"Its volume is attached to one node at a time, and its pods are on {listed(nodes, most=_SHOWN)}."
        silent = _silent_holders(report)
        away = {pod.node for pod in silent}
        moved = [pod for pod in waiting if pod.node and pod.node not in away and pod.status.startswith(_NOT_STARTED)]
        if silent and moved:
            return _C.CLAIM_CONTENDED, _TROUBLE, tuple(_held_on_silent(silent, moved))
        more = f"{_pods(waiting).capitalize()} may wait until the others end.", "Way out: run its pods on one node."
        return _C.CLAIM_CONTENDED, _TROUBLE, (lead, *more)
    if report.resize is not None:
        why_not = f" ({_event_words(report.resize, now).rstrip('.: ')})" if report.resize.reason else ""
        lead = f"Has {report.capacity} of the {report.requested} that it requests{why_not}."
        grows = "The driver grows the volume, then the kubelet of a node where a pod uses it the file system."
        if report.resize.reason.endswith("ResizeError"):
            less = f"request less, but not below {report.capacity}" if report.capacity else "request less"
            return _C.CLAIM_RESIZING, _TROUBLE, (lead, f"Way out: fix what it reports, or {less}.")
        return _C.CLAIM_RESIZING, _NOTICE, (lead, grows)
    used = f"{_pods(pods).capitalize()} use{'s' if len(pods) == 1 else ''} it" if pods else "No pod uses it"
    if report.volume is not None and report.volume_deleted_at:
        lead = f"Its volume {report.volume.volume} is being deleted: once the claim is deleted, it is removed, "
        save = f"{lead}and its data too, unless its reclaim policy is Retain.", "Save its data before that."
        return _C.CLAIM_BOUND, _NOTICE, (*save, *(() if report.pods is None else (f"{used}.",)))
    volume = f" to {report.volume.volume}" if report.volume is not None else ""
    return _C.CLAIM_BOUND, _FINE, (f"Bound{volume}. {'' if report.pods is None else f'{used}.'}".rstrip(),)


def _silent_holders(report: ClaimReport) -> Sequence[RelatedPod]:
    return [pod for pod in report.pods or () if report.one_node and pod.reach and pod.reach.reach is Reach.SILENT]


def _held_on_silent(silent: Sequence[RelatedPod], waiting: Sequence[RelatedPod]) -> Iterator[str]:
    """No kubelet unmounts the volume: pods elsewhere wait until the node is fenced."""
    nodes = listed(sorted({pod.node for pod in silent}), most=_SHOWN)
    hold, are = ("holds", "is") if len(silent) == 1 else ("hold", "are")
    lead = f"Its volume is attached to one node at a time, and {_pods(silent)} {hold} it on {nodes}"
    yield f"{lead}, which {are} silent: {_pods(waiting)} wait{'s' if len(waiting) == 1 else ''} for ever."
    yield f"Make sure that the machine of {nodes} is off, then fence {nodes}."


def _unbound(report: ClaimReport, pods: Sequence[RelatedPod]) -> _Finding:
    """A claim without a volume and without another problem: its class waits for a pod, or the reason is unknown."""
    if not report.waits_for_consumer or report.pods is None:
        return _C.CLAIM_UNBOUND, _NOTICE, ("Unbound.",)
    wait, free = "Unbound: its StorageClass waits for a pod with a node", [pod for pod in pods if not pod.node]
    none = f"{_pods(free)} {'has' if len(free) == 1 else 'have'} none" if free else "no pod uses it"
    if pods and not free:
        return _C.CLAIM_UNBOUND, _NOTICE, (f"Unbound, and {_pods(pods)} may wait for it.",)
    return _C.CLAIM_WAITS_FOR_POD, _NOTICE if pods else _FINE, (f"{wait} (WaitForFirstConsumer), and {none}.",)


def _claim_parts(report: ClaimReport, now: datetime | None, most: int | None) -> Iterator[Section | Table]:
    has = f"has {report.capacity}" if report.capacity else ""
    own = (report.phase, *report.access_modes, f"requests {report.requested or 'no size'}", has)
    yield Section("Claim", (", ".join(filter(None, own)),))
    waits = ["WaitForFirstConsumer"] if report.waits_for_consumer else []
    kind = (report.storage_class or "none", report.provisioner, *waits)
    yield Section("StorageClass", (", ".join(filter(None, kind)),))
    if (one := report.volume) is not None:
        where = [f"{key} {' or '.join(values[:_SHOWN])}" for key, values in one.labels.items()]
        usable = f"{counted(one.count, 'node')} can use it{f' ({listed(where)})' if where else ''}"
        deleted = "being deleted" if report.volume_deleted_at else ""
        facts = ", ".join(filter(None, (one.volume, one.size, one.phase, deleted, one.kind)))
        yield Section("Volume", (f"{facts}; {usable}",))
    yield Section("Event", () if report.event is None else (_event_words(report.event, now),))
    yield from (_pods_table(" with this claim", pods, most) for pods in [report.pods] if pods)


def _claim_commands(report: ClaimReport) -> Iterator[Command]:
    yield from _pod_commands(report.pods or (), report.namespace)
    for pod in _silent_holders(report)[:1]:
        yield qos("fence node/{}", pod.node, comment="what it would remove; changes nothing")
    if report.problem is not None:
        yield from (one for one in claim_command([report.problem]) if one.ours != "explain")
    if report.phase != "Bound":
        yield kubectl("describe pvc {}", report.name, namespace=report.namespace)
    if report.waits_for_consumer and report.problem is None and report.phase != "Bound":
        yield why("WaitForFirstConsumer")


def _budget(report: BudgetReport, _now: datetime | None) -> _Finding:
    found = report.standing
    if found is None:
        return _C.PODS_UNREAD, _NOTICE, ("What it blocks is unknown: its pods could not be read.",)
    of = f"{found.healthy} healthy of {counted(found.pods, 'pod')}, {found.desired} needed ({setting_words(report)})"
    nodes = {
        fails: {pod.node for pod in report.pods if pod.node and pod.refused and fails_drain(pod.refused) is fails}
        for fails in (False, True)
    }
    ends = {"does not end": nodes[False], "fails": nodes[True] - nodes[False]}
    drains = [f"A drain of {listed(sorted(on), most=_SHOWN)} {does}." for does, on in ends.items() if on]
    way = tuple(f"Way out: {change}." for change in _changes(report))[:1]
    lead, never = f"Lets no pod be evicted now: {of}.", True
    match found.risk:
        case BudgetRisk.ALLOWS:
            return _C.BUDGET_ALLOWS, _FINE, (f"Lets {counted(found.allowed, 'pod')} be evicted now: {of}.",)
        case BudgetRisk.SELECTS_NOTHING if report.workloads:
            (name, wanted), *rest = report.workloads.items()
            has = f"none of {counted(wanted, 'pod')}" if wanted else "no pod now"
            has = "0 replicas" if wanted == 0 and name.partition("/")[0] not in {"job", "daemonset"} else has
            also = f" It selects pods of {listed([one for one, _ in rest], most=_SHOWN)}, too." if rest else ""
            lead = f"Protects no pod now: {name}, which it selects, has {has}.{also}"
            return _C.BUDGET_SELECTS_NOTHING, _NOTICE, (lead, "Keep it: it selects the pods to come.", *way)
        case BudgetRisk.SELECTS_NOTHING:
            return _C.BUDGET_SELECTS_NOTHING, _NOTICE, ("Protects nothing: it selects no pod.", *way)
        case BudgetRisk.OVERLAPS:
            others = f"{_names('budget', report.others)} select{'s' if len(report.others) == 1 else ''}"
            lead = f"Some of its pods are never evicted: {others} them, too."
        case BudgetRisk.BLOCKS_ALWAYS:
            lead = f"Lets no pod be evicted, even if all are Ready: {of}."
        case BudgetRisk.UNCOUNTED:
            why_not = cut(report.failure).rstrip(".") or setting_words(report)
            lead = f"Lets no pod be evicted: its pods cannot be counted ({why_not})."
        case BudgetRisk.STALE:
            lead = f"Lets no pod be evicted now: {found.way}, and the disruption controller has not counted since."
            never = False
        case BudgetRisk.NOT_OBSERVED:
            lead, never = "Lets no pod be evicted until the disruption controller has seen its newest spec.", False
        case _:
            return _C.BUDGET_BLOCKS_NOW, _NOTICE, (*_broken(report), lead, *way)
    if not never:
        return _C.BUDGET_BLOCKS_NOW, _NOTICE, (lead, *way)
    return _C.BUDGET_BLOCKS_ALWAYS, _TROUBLE, (lead, *drains, *way)


def _broken(report: BudgetReport) -> Iterator[str]:
    """Why pods of a budget are not Ready: the budget itself needs no change."""
    found, silent = report.standing, [pod for pod in report.pods if pod.reach is not None and not pod.ready]
    if silent:
        nodes = sorted({pod.node for pod in silent})
        yield f"{listed(nodes, most=_SHOWN)} {'is' if len(nodes) == 1 else 'are'} silent: {_pods(silent)}."
    if found is not None and found.missing:
        is_not = "is" if found.missing == 1 else "are"
        wanted = counted(found.pods + found.missing, "pod")
        yield f"{found.missing} of {wanted} {is_not} not made yet."


def _changes(report: BudgetReport) -> Iterator[str]:
    """The changes that allow evictions, with numbers."""
    found = report.standing
    if found is None or found.risk in {BudgetRisk.ALLOWS, BudgetRisk.NOT_OBSERVED}:
        return
    match found.risk:
        case BudgetRisk.BLOCKS_ALWAYS:
            yield found.way
        case BudgetRisk.UNCOUNTED if setting_words(report) == NO_SETTING:
            yield "set maxUnavailable 1"
        case BudgetRisk.UNCOUNTED:
            yield f"minAvailable as a number, such as {max(0, found.pods - 1)} of {found.pods}"
        case BudgetRisk.STALE:
            yield "wait until it has; see that kube-controller-manager runs"
        case BudgetRisk.UNHEALTHY | BudgetRisk.BLOCKS_NOW:
            unready = [pod for pod in report.pods if not pod.ready and pod.status != "Terminating"]
            more = counted(max(1, found.desired + 1 - found.healthy), "more healthy pod")
            yield f"{more}{f'; not Ready: {_pods(unready)}' if unready else ''}"
            if found.risk is BudgetRisk.UNHEALTHY:
                yield remedy_words(found.risk)
        case BudgetRisk.SELECTS_NOTHING if report.workloads or report.lacks:
            return
        case BudgetRisk.SELECTS_NOTHING:
            yield "make spec.selector match the labels of the pods, or delete it"
        case _:
            yield f"let one of {listed([report.name, *report.others], most=_SHOWN)} select these pods"


def _budget_parts(report: BudgetReport, _now: datetime | None, most: int | None) -> Iterator[Section | Table]:
    found, own = report.standing, report.counted
    policy = f"unhealthyPodEvictionPolicy {report.unhealthy_pod_eviction_policy}"
    yield Section("Budget", (f"{setting_words(report)}; {policy}",))
    if found is None:
        return
    late = "; of an older spec" if found.risk is BudgetRisk.NOT_OBSERVED else ""
    lines = [f"{found.healthy} healthy, {found.desired} needed, {found.allowed} may be evicted{late}"]
    if own is not None and not own.failure and (late or (own.healthy, own.allowed) != (found.healthy, found.allowed)):
        lines.append(
            f"by the pods now: {own.healthy} healthy, {own.desired_healthy} needed, {own.allowed} may be evicted"
        )
    yield Section("Status", tuple(lines))
    yield Section("Change", tuple(_changes(report))[1:])
    held = Counter(pod.node for pod in report.pods if pod.node and pod.refused)
    nodes = [f"{node} ({count})" for node, count in sorted(held.items())]
    yield Section("Drains held", (listed(nodes, most=most),) if nodes else ())
    yield Section("Server says", tuple(dict.fromkeys(cut(pod.refused) for pod in report.pods if pod.refused))[:_SHOWN])
    yield from (_pods_table(", each asked alone", pods, most, budget=True) for pods in [report.pods] if pods)


def _budget_commands(report: BudgetReport) -> Iterator[Command]:
    for one in [*report.workloads][:1]:
        yield qos("explain {}/{}", *one.split("/"), namespace=report.namespace)
    yield from _pod_commands(report.pods, report.namespace)
    for pod in [one for one in report.pods if one.node and one.refused][:1]:
        yield qos("place", pod.node, options="--drain {}")
    yield why("PodDisruptionBudget")


def _quota(report: QuotaReport, _now: datetime | None) -> _Finding:
    if report.behind:
        return (
            _C.QUOTA_NOT_COUNTED,
            _NOTICE,
            ("Its controller has not counted its newest spec: until then the old status counts.",),
        )
    only = (f"Only pods in scope {listed(report.scopes)} count.",) if report.scopes else ()
    short = [one for one in report.workloads if one.missing and (one.refused or one.room.pods < one.missing)]
    if short:
        rest = (f"{len(short) - _SHOWN} more workloads lack pods.",) if len(short) > _SHOWN else ()
        ways: list[str] = []
        for one in [one for one in short if one.needs][:1]:
            hard = [f"{name} to {amount(name.rpartition('.')[2], text)}" for name, text in one.needs.items()]
            less = "request fewer pods" if _COUNTS.issuperset(one.needs) else "request less"
            also = "; the same for quota " + one.other.quota if one.other is not None else ""
            ways.append(f"Way out: raise {listed(hard)} for all pods of {one.name}, or {less}{also}.")
            if "count/pods" in one.needs:
                ways.append("Finished pods count until they are deleted.")
        unset_by = [one.name for one in short if not one.room.resources]
        if unset_by:
            of = "" if len(unset_by) == len(short) else f" for {listed(unset_by, most=_SHOWN)}"
            ways.append(f"Way out{of}: {_setting_amounts(report)}")
        return _C.QUOTA_REFUSES, _TROUBLE, (*map(_refuses, short[:_SHOWN]), *rest, *only, *ways)
    full = [one for one in report.workloads if not one.room.pods and one.room.resources]
    spent = [f"{one.resource} ({_amounts(one.resource, one.used, one.hard)})" for one in report.spent[:_SHOWN]]
    lead = [f"Admits nothing more that uses {listed(spent)}."] if spent else []
    if full:
        lead = [f"Admits no more pods of {listed([one.name for one in full], most=_SHOWN)}: {_shares(full[0].room)}."]
    silent = [one.name for one in report.workloads if not one.room.pods and not one.room.resources]
    if silent:
        unset = f"Refuses new pods of {listed(silent, most=_SHOWN)}: not all containers set {listed(report.required)}."
        return _C.QUOTA_REFUSES, _NOTICE, (*lead, unset, *only, f"Way out: {_setting_amounts(report)}")
    if lead:
        return _C.QUOTA_FULL, _NOTICE, (*lead, *only)
    first, least = report.resources[:1], min(report.workloads, key=lambda one: one.room.pods, default=None)
    room = [f"Has room; the fullest: {one.resource}, {_amounts(one.resource, one.used, one.hard)}." for one in first]
    more = [f"Room for {counted(least.room.pods, 'more pod')} of {least.name}.{_first(least)}"] if least else []
    return _C.QUOTA_HAS_ROOM, _FINE, (*(room or ["Bounds nothing."]), *more, *only)


def _amounts(resource: str, used: str, hard: str) -> str:
    """``3 of 4``, with memory in readable units."""
    own = resource.removeprefix("requests.").removeprefix("limits.")
    return f"{amount(own, used) if used else 'not counted'} of {amount(own, hard)}"


def _shares(room: QuotaRoom) -> str:
    """``requests.cpu is 2 of 2``: the resources that are too small for the next pod; else the text of the refusal."""
    then = " then" if room.pods else ""
    shares = [f"{own.resource} is{then} {_amounts(own.resource, own.used, own.hard)}" for own in room.shares]
    return listed(shares) or cut(room.refusal.partition(f"quota: {room.quota}: ")[2] or room.refusal).rstrip(".")


def _refuses(one: QuotaWorkload) -> str:
    refused, wanted = one.missing - one.room.pods, counted(one.wanted or 0, "pod")
    if refused <= 0:
        by_now = "by now there is room, and the controller tries again"
        return f"Refuses {one.missing} of {wanted} of {one.name} by its last event; {by_now}.{_first(one)}"
    room = f"room for {one.room.pods}, " if one.room.pods else ""
    return f"Refuses {refused} of {wanted} of {one.name}: {room}{_shares(one.room)}.{_first(one)}"


def _first(one: QuotaWorkload) -> str:
    """Another quota that admits fewer pods."""
    return "" if one.other is None else f" Quota {one.other.quota} admits {one.other.pods}: {_shares(one.other)}."


def _setting_amounts(report: QuotaReport) -> str:
    """What makes the quota admit pods that do not set the required amounts, even if it is used up."""
    over = [one for one in report.spent if one.resource in {*report.required, *_COUNTS}]
    raised = [f"{one.resource} above {amount(one.resource.rpartition('.')[2], one.used)}" for one in over]
    first = f"raise {listed(raised)}, or delete what uses it; then " if raised else ""
    what = listed(report.required) if raised else "these"
    return f"{first}set {what} in the template, or give the namespace a LimitRange with a default."


def _quota_parts(report: QuotaReport, now: datetime | None, most: int | None) -> Iterator[Section | Table]:
    rows = [(one.resource, one.used or "not counted", one.hard) for one in report.resources]
    yield Table("", ("resource", "used", "hard"), tuple(rows), right=frozenset({1, 2}))
    yield Section("Scopes", report.scopes)
    filled = f"LimitRange {listed(report.defaults)} has defaults" if report.defaults else "no LimitRange has defaults"
    needs = (f"each container has to set {listed(report.required)}; {filled}",) if report.required else ()
    yield Section("Requires", needs)
    shown = [
        (one.name, str(one.wanted or ""), str(one.missing), str(one.room.pods), _shares(one.room))
        for one in report.workloads[:most]
    ]
    headings = ("workload", "wanted", "missing", "more fit", "limit")
    yield Table("Workloads with pods that it counts", headings, tuple(shown), right=frozenset({1, 2, 3}))
    yield Section(
        "Events", tuple(f"{one.name}: {_event_words(one.refused, now)}" for one in report.workloads if one.refused)
    )


def _quota_commands(report: QuotaReport) -> Iterator[Command]:
    for one in [one for one in report.workloads if one.missing or not one.room.pods][:2]:
        yield qos("explain {}/{}", *one.name.split("/"), namespace=report.namespace)
    for name in sorted({one.other.quota for one in report.workloads if one.other is not None})[:1]:
        yield qos("explain quota/{}", name, namespace=report.namespace)
    yield why("exceeded quota")


def _class(report: ClassReport, _now: datetime | None) -> _Finding:
    if report.pods is None:
        return _C.PODS_UNREAD, _NOTICE, ("Which pods have it is unknown: they could not be read.",)
    pods, workloads, given = sum(report.pods.values()), len(report.workloads), len(report.given)
    lead = f"Gives priority {report.value} to {counted(pods - report.stale, 'pod')}; {counted(workloads, 'workload')} "
    lead += "names it" if workloads == 1 else "name it"
    if given:
        lead += f", {given} {'gets' if given == 1 else 'get'} it from the webhook of kubectl qos"
    if report.stale:
        earlier = listed([str(one) for one in report.earlier], most=_SHOWN)
        has = f"{counted(report.stale, 'pod')} {'has' if report.stale == 1 else 'have'}"
        lead += f"; {has} priority {earlier} of an earlier class of this name"
    if report.name in report.defaults and len(report.defaults) > 1:
        both = f"{len(report.defaults)} classes are globalDefault; the lowest counts, {report.defaults[0]}."
        return _C.CLASS_DEFAULTS, _NOTICE, (both, f"{lead}.", "Way out: set globalDefault: false in all but one.")
    if report.stale:
        keep = "Pods keep their priority until they are created again."
        return _C.CLASS_IN_USE, _NOTICE, (f"{lead}.", keep)
    return _C.CLASS_IN_USE if pods or workloads or given else _C.CLASS_UNUSED, _FINE, (f"{lead}.",)


def _class_parts(report: ClassReport, _now: datetime | None, most: int | None) -> Iterator[Section | Table]:
    default = report.defaults[:1] == (report.name,)
    gets = "; pods without a class get it" if default else ""
    yield Section("Class", (f"value {report.value}, {report.preemption_policy}{gets}",))
    known = "" if report.pods is None else f" ({report.lower} on nodes now)"
    lower = f"pods of lower priority{known}"
    never = report.preemption_policy == "Never"
    yield Section("Preempts", (f"nothing; its pods come earlier in the queue than {lower}" if never else lower,))
    for label, ranked in (("Preempted by", report.above), ("Comes before", report.below)):
        yield Section(label, tuple(f"{name} ({value})" for name, value in list(ranked.items())[:most]))
    if_deleted = ["the API server refuses that: it is a built-in class of Kubernetes"]
    if report.name not in SYSTEM_PRIORITY_CLASSES:
        if_deleted = ["existing pods keep their priority"]
        if report.workloads:
            of = listed(report.workloads, most=_SHOWN)
            if_deleted.append(f"the API server refuses new pods of {of}: no such class")
        rest = next((f"class {one}" for one in report.defaults if one != report.name), "priority 0")
        if report.given:
            of = listed(report.given, most=_SHOWN)
            if_deleted.append(f"the webhook gives new pods of {of} no class, and warns: {rest}")
        if default:
            if_deleted.append(f"new pods without a class get {rest}")
    yield Section("If deleted", tuple(if_deleted))
    yield Section("If changed", ("value and preemptionPolicy are immutable: create another class and use its name",))
    rows = [(namespace, str(count)) for namespace, count in list((report.pods or {}).items())[:most]]
    waiting = f", {report.pending} without a node" if report.pending else ""
    yield Table(f"Pods{waiting}", ("namespace", "pods"), tuple(rows), right=frozenset({1}))
    of_webhook = tuple(f"{one} (by the webhook)" for one in report.given)
    yield Section("Workloads", (*report.workloads, *of_webhook)[:most])
    yield Section("Quotas", report.quotas[:most])


def _class_commands(report: ClassReport) -> Iterator[Command]:
    for namespace, kind, name in (one.split("/") for one in report.workloads[:2]):
        yield qos("explain {}/{}", kind, name, namespace=namespace)
    yield why("PriorityClass")


def _view(report: RelatedReport) -> _View:
    return _VIEWS[str(report.__struct_config__.tag)]


_View = tuple[str, Callable[..., _Finding], Callable[..., Any], Callable[..., Any]]
_VIEWS: Final[dict[str, _View]] = {
    "ClaimExplanation": ("persistentvolumeclaim", _claim, _claim_parts, _claim_commands),
    "BudgetExplanation": ("poddisruptionbudget", _budget, _budget_parts, _budget_commands),
    "QuotaExplanation": ("resourcequota", _quota, _quota_parts, _quota_commands),
    "PriorityClassExplanation": ("priorityclass", _class, _class_parts, _class_commands),
}
"""By the report's ``kind``: the object type, and the functions for verdict, sections and next commands."""
