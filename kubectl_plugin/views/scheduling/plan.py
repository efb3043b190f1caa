"""The page of `place`: what would fit where if pods, nodes or numbers of replicas were others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final

from msgspec.structs import replace

from kubectl_plugin.render.command import Command, kubectl, qos
from kubectl_plugin.render.page import Page, Section, Table
from kubectl_plugin.reports.plan import PlanReport, WhatIf
from kubectl_plugin.reports.verdict import Severity, Verdict, VerdictCode
from kubectl_plugin.views.caveats import assumed_words, versions_section
from kubectl_plugin.views.manifest import job_words, range_words
from kubectl_plugin.views.pod.admission_words import webhook_lines
from kubectl_plugin.views.pod.pod_page import unread_section
from kubectl_plugin.views.pod.safety_words import holder_words
from kubectl_plugin.views.pod.verdict import also_refused, refused_words
from kubectl_plugin.views.scheduling.budget_words import blocked_words, budgets_table, drain_leads, held_by, is_one_hold
from kubectl_plugin.views.scheduling.daemon_words import daemon_tables, daemon_words
from kubectl_plugin.views.scheduling.placement import why_no_node
from kubectl_plugin.views.scheduling.plan_more import (
    SHOWN_NODES,
    fit_words,
    guessed,
    let_in,
    more_words,
    nodes_words,
    paid_words,
    pending_words,
    quota_words,
    replacement_words,
    row_name,
    suspended_words,
    unknown_words,
    victim_rows,
)
from kubectl_plugin.views.scheduling.spread_words import left_out_words
from kubectl_plugin.views.words import clock, counted, lasting, listed
from podrules.api.model.instant import span
from podrules.api.model.pod import PodReference
from podrules.scheduling.placement.planned import AchievedSpread, PlannedSpec
from podrules.workload.disruption import fails_drain

_SHOWN_NODES = 10
_SHOWN_PENDING = 10
_SHOWN_LATE = 2
_SHOWN_ALIKE = 3
_SHOWN_FITTING = 6
_LONG: Final = 60
"""The characters of a reason that is not repeated in the next row."""
_DRAIN_REASONS: Final = {
    "DaemonSet": (None, "stays, of DaemonSet {}: a drain ignores it"),
    "StaticPod": (None, "stays, a static pod: {}"),
    "Finished": (None, "has ended: {}"),
    "Terminating": (None, "was marked for deletion before: {}"),
    "NoController": (Severity.TROUBLE, "lost: no controller recreates it"),
    "NodeSilent": (Severity.TROUBLE, "stays Terminating: {}"),
    "PodDisruptionBudget": (Severity.TROUBLE, "{}"),
    "Overdue": (Severity.TROUBLE, "{}"),
}
_FLAG_REASONS: Final = {
    "--force": "no controller recreates {pods}",
    "--delete-emptydir-data": "{pods} with an emptyDir, which is lost",
    "--ignore-daemonsets": "{pods}, which stay",
}
_Row = tuple[Severity | None, str, str]


def plan_page(report: PlanReport, *, wide: bool, folded: bool) -> Page:
    """Everything about one plan.

    ``wide`` names every node and victim; if ``folded``, many pods or specs that find a place share a row.
    """
    summary = plan_verdict(report)
    # The assumed changes of the cluster; empty if there are none: the verdict then comes first.
    changes = listed(list(_changes(report.what_if)))
    parts: list[Section | Table] = []
    if wide and any(len(entry.refusals) > 1 for entry in report.refused):
        rows = tuple((entry.name, refused_words(one)) for entry in report.refused for one in entry.refusals)
        parts.append(Table("Refused", ("object", "why"), rows))
    parts += _pods_tables(report, wide=wide, folded=folded)
    flags = [f"{one.flag} ({_FLAG_REASONS[one.flag].format(pods=counted(one.pods, 'pod'))})" for one in report.flags]
    parts.append(Section("Flags", (f"kubectl drain needs {listed(flags)}",) if flags else ()))
    parts.append(_specs_table(report, wide=wide, folded=folded))
    # The verdict names the nodes of one spec, if they are few; a DaemonSet has one pod on each node.
    made = [spec for spec in report.asked if spec.origin != "drain"]
    if any(spec.placed > 1 and (wide or (spec.daemon is None and _needs_nodes(made))) for spec in made):
        parts.append(_nodes_table(made, wide=wide))
    for spec in report.asked:
        parts += daemon_tables(spec, wide=wide)
    spread = tuple(
        _spread_row(spec, entry)
        for spec in report.specs
        for entry in spec.spread
        if wide or (entry.when_unsatisfiable == "DoNotSchedule" and spec.origin != "pending")
    )
    parts.append(Table("Topology spread afterwards", ("spec", "skew", "constraint"), spread, right=frozenset({1})))
    if report.budgets.budgets:
        replaced = any(spec.there for spec in report.specs if spec.origin == "manifest" and spec.daemon is None)
        parts.append(budgets_table(report.budgets, replaced=replaced))
    lines = (f"{one.spec}: {line}" for one in report.webhook for line in webhook_lines(one))
    parts.append(Section("Webhook", tuple(lines)))
    parts.append(versions_section(report.version_notes))
    parts.append(unread_section(tuple(dict.fromkeys((*report.unread, *report.lacks)))))
    return Page(
        title=(f"on {counted(report.nodes, 'node')}, {changes}" if changes else ""),
        verdict=summary.sentences,
        severity=summary.severity,
        parts=tuple(parts),
        next_commands=tuple(_next(report)),
    )


def plan_verdict(report: PlanReport) -> Verdict:
    """What fits, and what does not."""
    sentences = (*_verdict(report), *assumed_words(report.lacks))
    fits = report.fits
    if fits is None:
        return Verdict(VerdictCode.FIT_UNKNOWN, Severity.NOTICE, sentences)
    if fits:
        # Pods that fit but preempt others, or can never be evicted, are no trouble yet.
        preempted = any(spec.preempted for spec in report.specs)
        notice = report.lacks or report.kept or preempted or any(blocked_words(report.budgets))
        severity = Severity.NOTICE if notice else Severity.FINE
        return Verdict(VerdictCode.FITS, severity, sentences)
    return Verdict(VerdictCode.DOES_NOT_FIT, Severity.TROUBLE, sentences)


def _changes(what_if: WhatIf) -> Iterator[str]:
    if what_if.excluded_nodes:
        yield f"without {listed(what_if.excluded_nodes, most=3)}"
    if what_if.added_nodes:
        yield f"with {listed(what_if.added_nodes, most=3)} added"
    if what_if.without_pods:
        names = [name.removeprefix("pod/") for name in what_if.without_pods]
        yield f"without {'pod' if len(names) == 1 else 'pods'} {listed(names, most=3)}"


def _verdict(report: PlanReport) -> Iterator[str]:
    """What fits, what is preempted for it, then the rest."""
    for entry in report.refused:
        # Why a spec is not placed; for a manifest, with file and line.
        if not entry.refusals:
            yield f"{entry.name} is not placed: {entry.reason}."
        else:
            first, *more = entry.refusals
            line = "" if first.line is None else f"line {first.line}"
            place = ", ".join(filter(None, (entry.file, line)))
            yield f"{entry.name} is not placed: the API server refuses it{f' ({place})' if place else ''}: {first}."
            yield from also_refused([one.field for one in more])
    for name in report.silent:
        pods = sum(spec.nodes.get(name, 0) for spec in report.specs)
        goes = "1 pod goes" if pods == 1 else f"{pods} pods go"
        yield f"{goes} to {name}, which is silent: nothing starts there until it is back."
    # kube-scheduler has reported nothing about added nodes.
    for spec in () if report.what_if.added_nodes else report.specs:
        if spec.scheduler_message and not spec.proven and not spec.is_short:
            yield f"kube-scheduler disagrees about {spec.name.removeprefix('pod/')}: {spec.scheduler_message}"
    pending = [spec for spec in report.specs if spec.origin == "pending"]
    asked = {(spec.namespace, spec.name) for spec in report.specs if spec.origin == "more"}
    # If the named pod itself is pending, its own placement is the answer.
    named = [spec for spec in pending if (spec.namespace, spec.name) in asked]
    for spec in named:
        yield from pending_words([spec], leading=True)
    yield from more_words(report)
    yield from _drain_words(report)
    daemons = [spec for spec in report.specs if spec.daemon is not None]
    for spec in daemons:
        yield from daemon_words(spec, drained=report.what_if.drained_nodes)
    others = [spec for spec in report.specs if spec.origin == "manifest" and spec.daemon is None]
    yield from _asked_words(others, report)
    yield from autoscaler_words(report.specs)
    yield from pending_words([spec for spec in pending if spec not in named])
    yield from blocked_words(report.budgets)
    yield from replacement_words(report.specs)


def _asked_words(specs: Sequence[PlannedSpec], report: PlanReport) -> Iterator[str]:
    """The sentences about manifests."""
    for spec in specs:
        yield from quota_words(spec, "replica", f"of {spec.name}")
    specs = [let_in(spec) for spec in specs]
    for spec in specs:
        if spec.is_short:
            why = why_no_node(spec.stopped, drained=report.what_if.drained_nodes) if spec.stopped is not None else ()
            words = guessed(" ".join((_short(spec), *why)), guess=report.is_guess(spec))
            yield unknown_words(spec) or words
        elif spec.wanted is None:
            then = f" The next does not: {' '.join(why_no_node(spec.stopped))}" if spec.stopped is not None else ""
            yield guessed(f"{fit_words([spec], 'replica', f'of {spec.name}')}.{then}", guess=report.is_guess(spec))
    total = sum(spec.placed for spec in specs)
    # If nothing is placed, each spec says that it requests no pods.
    if total and all(spec.wanted is not None and not spec.is_short for spec in specs):
        nodes: Counter[str] = Counter()
        for spec in specs:
            nodes.update(spec.nodes)
        everything = report.everything_fits and not report.what_if.drained
        paid = paid_words(specs)
        if total == 1:
            fits = f"{'It' if everything else 'The one new pod'} fits, on {next(iter(nodes))}"
            fit = f"{fits}, {paid}." if paid else f"{fits}."
        else:
            what = "pod" if everything else "new pod"
            fits = fit_words(specs, what) if paid else f"{_every(total).capitalize()} {what}s fit"
            fit = f"{fits}: {nodes_words(dict(nodes.most_common()))}."
        yield guessed(fit, guess=any(map(report.is_guess, specs)))
    for spec in specs:
        if spec.wanted == 0:
            yield f"{spec.name} requests no pods."
        elif spec.there and spec.name.startswith("pod/"):
            yield f"{spec.name} is there already; one more is placed in addition to it."
        elif spec.there:
            number = "" if spec.wanted is None else f"{spec.wanted} "
            requested = "one more is" if spec.wanted == 1 else f"{number}more are"
            yield f"{spec.name} has {counted(spec.there, 'pod')} already; {requested} placed."
        job = spec.job
        if job is not None and (job.schedule or (job.completions or 0) > job.at_once):
            # A Job makes more pods in all than it has at once.
            makes = f"makes a Job at {job.schedule}, of " if job.schedule else "makes "
            yield f"{spec.name} {makes}{job_words(job)}."
        yield from suspended_words(spec)


def _drain_words(report: PlanReport) -> Iterator[str]:
    """The sentences about a drain: if it ends, what blocks it, and how many pods find a place; empty without one."""
    nodes = report.what_if.drained_nodes
    if not nodes:
        return
    turn = ", one by one," if report.what_if.one_by_one and len(nodes) > 1 else ""
    drain = f"Drain of {listed(nodes, most=3)}{turn}"
    held = [entry for entry in report.unmoved if entry.reason == "PodDisruptionBudget"]
    if report.stuck_on:
        # On a silent node no eviction ends.
        stay = "1 pod stays" if report.stuck == 1 else f"{report.stuck} pods stay"
        stay = stay if report.stuck else "each pod that is evicted stays"
        one = len(report.stuck_on) == 1
        silent = f"{listed(report.stuck_on, most=3)} {'is' if one else 'are'} silent"
        yield f"{drain} stops: {silent}, and {stay} Terminating until {'it is' if one else 'they are'} back or fenced."
    # On a silent node, a change of a budget does not help.
    yield from drain_leads([entry for entry in held if entry.node not in report.stuck_on], drain, more=len(nodes) > 1)
    late = [entry for entry in report.unmoved if entry.reason == "Overdue"]
    if late:
        names = listed([f"{entry.pod.namespace}/{entry.pod.name}" for entry in late], most=_SHOWN_LATE)
        lead = "" if held or report.stuck_on else f"{drain} stops: "
        yield f"{lead}{names} {'is' if len(late) == 1 else 'are'} being deleted and overdue."
    lead = "It" if held or late or report.stuck_on else drain
    for name, finalizers in [*report.kept.items()][:_SHOWN_LATE]:
        yield f"{lead} does not end before {name} is gone: {holder_words(finalizers)}."
    if len(report.kept) > _SHOWN_LATE:
        yield f"Finalizers keep {len(report.kept) - _SHOWN_LATE} more of its pods."
    waiting = [entry for entry in (*held, *late) if not fails_drain(entry.detail)]
    open_nodes = {*report.stuck_on, *(entry.node for entry in waiting)}
    first = next((place for place, name in enumerate(nodes, 1) if name in open_nodes), len(nodes))
    if nodes[first:]:
        wait = "waits" if len(nodes) == first + 1 else "wait"
        after = f"{listed(nodes[first:], most=3)} {wait} behind {nodes[first - 1]}"
        turn = "an upgrade does not continue there" if report.what_if.one_by_one else "kubectl drain continues there"
        yield f"{after}: {turn} {'before that' if report.what_if.one_by_one else 'only with --timeout, as below'}."
    yield from _moves_words(report, "" if open_nodes or held or report.kept else drain)
    if report.slow:
        name, grace = max(report.slow.items(), key=lambda one: one[1])
        more = f" (so may {len(report.slow) - 1} more for minutes)" if len(report.slow) > 1 else ""
        yield f"{name} may take {lasting(span(grace))} to stop, its grace period{more}: the drain waits."


def _moves_words(report: PlanReport, drain: str) -> Iterator[str]:
    """``Drain of node-a1 ends, but 3 of 4 pods find no place.``; an empty ``drain`` does not end."""
    specs = [spec for spec in report.specs if spec.origin == "drain"]
    short, pods = [spec for spec in specs if spec.is_short], counted(len(specs), "pod")
    guess, fine, bad = any(map(report.is_guess, specs)), "", []
    if unknown := sum(bool(unknown_words(spec)) for spec in short):
        fine = f"where {unknown} of {pods} would go is unknown"
    elif short:
        late = {spec.until_back for spec in short}
        until = "" if "" in late else f" before {listed(sorted(late))} {'is' if len(late) == 1 else 'are'} back"
        who = f"{len(short)} of {pods}" if len(specs) > 1 else f"pod {_pod_name(short[0])}"
        bad = [f"{who} {'finds' if len(short) == 1 else 'find'} no place{until}"]
    elif specs:
        alone, paid, every = sum(spec.without_preemption for spec in specs), paid_words(specs), _every(len(specs))
        fine = f"{every} pods find a place" if len(specs) > 1 else f"pod {_pod_name(specs[0])} finds a place"
        if paid and len(specs) > 1:
            fine = f"{alone} of {pods} {'finds' if alone == 1 else 'find'} a place without preemption, {every} {paid}"
        elif paid:
            fine = f"{fine}, {paid}"
    elif not report.refused:
        fine, guess = "no pod is recreated elsewhere", bool(drain) and report.guesses_drain
    if lost := sum(entry.reason == "NoController" for entry in report.unmoved):
        bad.append(f"{counted(lost, 'pod')} {'is' if lost == 1 else 'are'} lost")
    if bad:
        yield guessed(f"{f'{drain} ends, but' if drain else 'Besides,'} {listed(bad)}.", guess=guess)
    if fine:
        lead = f"{drain} ends: " if drain and not bad else ""
        yield guessed(f"{lead}{fine if lead else fine[:1].upper() + fine[1:]}.", guess=guess)
    if len(report.what_if.drained_nodes) == report.nodes and not report.what_if.one_by_one and short:
        yield "No node is left: all are drained."


def _every(pods: int) -> str:
    return "both" if pods == 2 else f"all {pods}"


def _short(spec: PlannedSpec) -> str:
    """``2 of 3 replicas of deployment/web stay pending.``."""
    missing = (spec.wanted or 0) - spec.placed
    named = spec.stopped is not None and spec.stopped.named is not None
    one = missing == 1
    # A StatefulSet makes no pod after the one that stays pending.
    held = f" {spec.holds_back} stays pending, and none after it is made (OrderedReady)."
    held = held if spec.holds_back and not one else ""
    what = ("does not run" if one else "do not run") if named or held else "stays pending" if one else "stay pending"
    wanted = counted(spec.wanted or 0, "replica")
    lead = f"{missing} of {wanted} of {spec.name} {what}."
    if paid := paid_words([spec]):
        alone = (spec.wanted or 0) - spec.without_preemption
        lead = f"{alone} of {wanted} of {spec.name} {what} without preemption, {missing} {paid}."
    if spec.wanted == 1:
        lead = f"{spec.name} {'does not run' if named else 'stays pending'}."
    return f"{lead}{held}"


def _pods_tables(report: PlanReport, *, wide: bool, folded: bool) -> Iterator[Table]:
    """The pods of drained nodes and those that are preempted: those in trouble first, then those that find a place."""
    moved = [spec for spec in report.specs if spec.origin == "drain"]
    rows = [*_unmoved_rows(report, moved, wide=wide), *_short_rows(report, moved)]
    rows = [*_joined([*rows, *victim_rows(report.specs, wide=wide)], folded=folded)]
    fit, many = [spec for spec in moved if not spec.is_short], len(report.what_if.drained_nodes) > 1
    fine = [spec for spec in fit if folded and _mark(report, spec) is Severity.FINE]
    if len(fine) > _SHOWN_FITTING:
        nodes = Counter(node for spec in fine for node in spec.nodes)
        counts = ", ".join(f"{node} {count}" for node, count in nodes.most_common(_SHOWN_NODES))
        rest = f", {counted(len(nodes) - _SHOWN_NODES, 'more node')}" if len(nodes) > _SHOWN_NODES else ""
        rows.append((Severity.FINE, f"{len(fine)} {'more' if rows else 'pods'}", f"-> {counts}{rest} (-o wide)"))
        fit = [spec for spec in fit if spec not in fine]
    yield _marked(rows)
    placed: list[_Row] = []
    for spec in fit:
        where = f"-> {_node_words(spec)}{f', from {listed(spec.leaves)}' if many else ''}"
        where += ", once replacements of others are Ready (its budget)" if spec.waits else ""
        placed.append((_mark(report, spec), _pod_name(spec), where))
    yield _marked(placed)


def _marked(rows: Sequence[_Row]) -> Table:
    marks = tuple(mark for mark, *_ in rows)
    return Table("", ("", ""), tuple((name, words) for _, name, words in rows), one_line=True, marks=marks)


def _unmoved_rows(report: PlanReport, moved: Sequence[PlannedSpec], *, wide: bool) -> Iterator[_Row]:
    """The pods that block the drain, would be lost or stay; without -o wide, flags count those of DaemonSets."""
    order = list(_DRAIN_REASONS)
    replaced = {PodReference(spec.namespace, spec.name.removeprefix("pod/")) for spec in moved}
    answering = [one for one in report.unmoved if one.hold and one.node not in report.stuck_on]
    for entry in sorted(report.unmoved, key=lambda entry: -order.index(entry.reason)):
        mark, words = _DRAIN_REASONS[entry.reason]
        detail = entry.detail
        if entry.reason == "PodDisruptionBudget":
            # On a silent node, a change of a budget does not help.
            held = entry if entry in answering else replace(entry, hold=None, lacks=None, unready=None)
            named = held is entry and is_one_hold(answering) and not fails_drain(detail)
            detail = f"{'held: ' if named else ''}{held_by(held, named=named, replaced=replaced)}"
            detail += f" ({entry.detail})" if wide and entry.detail not in detail else ""
        elif entry.over is not None:
            finalizers = f"; {holder_words(detail.split(', '))}" if detail else ""
            detail = f"overdue since {clock(entry.over, None)}{finalizers}"
        if wide or entry.reason != "DaemonSet":
            on = f"on {entry.node}, " if len(report.what_if.drained_nodes) > 1 else ""
            yield mark, f"{entry.pod.namespace}/{entry.pod.name}", on + words.format(detail)


def _short_rows(report: PlanReport, moved: Sequence[PlannedSpec]) -> Iterator[_Row]:
    """The evicted pods without a place."""
    for spec in moved:
        if spec.is_short:
            # One by one, only the node that the pod left last is empty.
            drained = spec.leaves[-1:] if report.what_if.one_by_one else report.what_if.drained_nodes
            why = why_no_node(spec.stopped, drained=drained) if spec.stopped is not None else ()
            lead = f"no place until {spec.until_back} is back." if spec.until_back else "no place."
            words = guessed(" ".join((lead, *why)), guess=report.is_guess(spec))
            yield _mark(report, spec), _pod_name(spec), unknown_words(spec) or words


def _joined(rows: Sequence[_Row], *, folded: bool) -> Iterator[_Row]:
    """The rows, worst first; of rows with the same long text, the first has it."""
    alike: dict[tuple[Severity | None, str], list[str]] = {}
    for mark, name, words in sorted(rows, key=lambda row: row[0].urgency if row[0] else -1, reverse=True):
        alike.setdefault((mark, words), []).append(name)
    for (mark, words), (first, *others) in alike.items():
        yield mark, first, words
        like = f"like {first}" if len(words) > _LONG else words
        shown = others[: _SHOWN_ALIKE if folded else None]
        yield from ((mark, name, like) for name in shown)
        if len(others) > len(shown):
            yield mark, f"{len(others) - len(shown)} more", f"{like} (-o wide)"


def _pod_name(spec: PlannedSpec) -> str:
    return f"{spec.namespace}/{spec.name.removeprefix('pod/')}"


def _mark(report: PlanReport, spec: PlannedSpec) -> Severity | None:
    """Pods that are pending already and those that only an autoscaler may request are not judged."""
    if spec.origin in {"pending", "autoscaler"}:
        return None
    if spec.is_short or spec.awaited is not None or not spec.nodes.keys().isdisjoint(report.silent):
        return Severity.NOTICE if report.is_guess(spec) else Severity.TROUBLE
    return Severity.NOTICE if report.is_guess(spec) else Severity.FINE


def _node_words(spec: PlannedSpec) -> str:
    """``node-b2 (eu-1b)``, of a spec with one pod."""
    (node,), (zone,) = spec.nodes, spec.zones
    return f"{node} ({zone})" if zone else node


def _specs_table(report: PlanReport, *, wide: bool, folded: bool) -> Table:
    """The requested and pending specs, those that are short first."""
    rows: list[tuple[Severity | None, tuple[str, ...]]] = []
    specs = [spec for spec in report.specs if spec.origin != "drain"]
    pending = [] if wide else [spec for spec in specs if spec.origin == "pending"][_SHOWN_PENDING:]
    fit = [spec for spec in specs if folded and _mark(report, spec) is Severity.FINE]
    fit = fit if len(fit) > _SHOWN_FITTING else []
    for spec in specs:
        if spec not in pending and spec not in fit:
            of = "" if spec.wanted is None else f" of {spec.wanted}"
            where = ", ".join(f"{zone or 'no zone'} {count}" for zone, count in spec.zones.items()) or "-"
            where = _node_words(spec) if spec.placed == 1 else where
            cells = (row_name(spec), f"{spec.placed}{of}", *((str(spec.priority),) if wide else ()), where)
            rows.append((_mark(report, spec), cells))
    rows.sort(key=lambda row: row[0] is Severity.TROUBLE, reverse=True)
    for left_out, what, mark in ((fit, "more", Severity.FINE), (pending, "more pending", None)):
        if left_out:
            placed = sum(spec.placed for spec in left_out)
            wanted = sum(spec.wanted or 0 for spec in left_out)
            rows.append((mark, (f"{len(left_out)} {what} (-o wide)", f"{placed} of {wanted}", "")))
    marks = tuple(mark for mark, _ in rows)
    headings = ("spec", "placed", *(("priority",) if wide else ()), "where")
    return Table("", headings, tuple(row for _, row in rows), right=frozenset({1, 2} if wide else {1}), marks=marks)


def _needs_nodes(specs: Sequence[PlannedSpec]) -> bool:
    """Whether the verdict does not name each node of each spec."""
    return len(specs) > 1 or any(len(spec.nodes) > SHOWN_NODES + 1 for spec in specs)


def _nodes_table(specs: Sequence[PlannedSpec], *, wide: bool) -> Table:
    # Pending pods have their own rows in the table of specs.
    by_node: dict[str, dict[str, int]] = {}
    for spec in specs:
        for node, count in spec.nodes.items():
            by_node.setdefault(node, {})[row_name(spec)] = count
    totals = {node: sum(counts.values()) for node, counts in by_node.items()}
    order = sorted(totals, key=lambda node: (-totals[node], node))
    shown = order if wide else order[:_SHOWN_NODES]
    rows = []
    for node in shown:
        of = ", ".join(f"{name} {count}" if count > 1 else name for name, count in by_node[node].items())
        rows.append((str(totals[node]), node, of))
    if rest := order[len(shown) :]:
        rows.append((str(sum(totals[node] for node in rest)), f"{counted(len(rest), 'more node')} (-o wide)", ""))
    headings = ("pods", "node", "of") if len(specs) > 1 else ("pods", "node")
    return Table("", headings, tuple(row[: len(headings)] for row in rows), right=frozenset({0}))


def _next(report: PlanReport) -> Iterator[Command]:
    """Explain what blocks a drain; one that would succeed is run."""
    what_if = report.what_if
    for node in report.stuck_on[:1]:
        yield qos("explain node/{}", node, comment="what runs there, and whether it can be fenced")
    held = [one for one in report.unmoved if one.hold is not None and one.node not in report.stuck_on]
    for one in held[:1]:
        waits, why = (one.lacks, "why it fits on no node") if one.lacks else (one.pod, "its budget")
        yield qos("explain pod/{}", waits.name, namespace=waits.namespace, comment=why)
    if what_if.drained_nodes and report.fits and not (what_if.one_by_one and len(what_if.drained_nodes) > 1):
        names, flags = what_if.drained_nodes, " ".join(one.flag for one in report.flags)
        yield kubectl(f"drain{' {}' * len(names)}", *names, options=flags, changes=True)


def _spread_row(spec: PlannedSpec, entry: AchievedSpread) -> tuple[str, ...]:
    counts = ", ".join(f"{domain.value} {domain.matching}" for domain in entry.domains[:_SHOWN_NODES])
    rest = len(entry.domains) - _SHOWN_NODES
    counts += f" and {rest} more" if rest > 0 else ""
    shown = [domain.matching for domain in entry.domains[:_SHOWN_NODES]]
    # The counts show the least, unless it is in a domain that is not shown, or 0 because there are no domains.
    least = f", least {entry.minimum}" if shown and min(shown) != entry.minimum else ""
    if entry.left_out:
        counts += f"; not counted: {left_out_words(entry.left_out, entry.left_out_count)}"
    return (
        row_name(spec),
        str(entry.skew),
        f"{entry.topology_key}, maxSkew {entry.max_skew} {entry.when_unsatisfiable}{least}: {counts}",
    )


def autoscaler_words(specs: Sequence[PlannedSpec]) -> Iterator[str]:
    """Says whether the most replicas that an autoscaler may request fit, by all specs of a plan."""
    by_name = {(one.namespace, one.name): one for one in specs if one.origin == "manifest"}
    for spec in specs:
        scaler = spec.autoscaler
        if spec.origin == "autoscaler" and scaler is not None:
            least = by_name[spec.namespace, spec.name]
            fit, most = least.placed + spec.placed, scaler.max_replicas
            fits = f"all {most} fit" if fit == most else f"of {most}, {fit or 'none'} {'fits' if fit == 1 else 'fit'}"
            paid = f", {paid_words([spec])}" if spec.victims else ""
            lead = f"{spec.name} has {range_words(scaler)} (HorizontalPodAutoscaler {scaler.name})"
            # The sentence about its minimum comes before.
            why = why_no_node(spec.stopped) if spec.stopped is not None and least.stopped is None else ()
            yield " ".join((f"{lead}: {fits}{paid}.", *why))
            yield from quota_words(spec, "replica", f"of {spec.name} besides its {scaler.min_replicas}")
