"""The page of `place`: what would fit where if pods, nodes or numbers of replicas were others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from kubectl_plugin.render.page import Page, Section, Table
from kubectl_plugin.reports.plan import PlanReport, WhatIf
from kubectl_plugin.reports.verdict import Severity, Verdict, VerdictCode
from kubectl_plugin.views.caveats import assumed_words, versions_section
from kubectl_plugin.views.manifest import job_words, range_words
from kubectl_plugin.views.pod.admission_words import webhook_lines
from kubectl_plugin.views.pod.pod_page import unread_section
from kubectl_plugin.views.pod.safety_words import holder_words
from kubectl_plugin.views.pod.verdict import also_refused, refused_words
from kubectl_plugin.views.scheduling.budget_words import blocked_words, budgets_table, drain_leads, hold_words
from kubectl_plugin.views.scheduling.daemon_words import daemon_tables, daemon_words
from kubectl_plugin.views.scheduling.placement import why_no_node
from kubectl_plugin.views.scheduling.plan_more import (
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
    victim_words,
    weightiest,
)
from kubectl_plugin.views.scheduling.spread_words import left_out_words
from kubectl_plugin.views.words import clock, counted, lasting, listed
from podrules.api.model.instant import span
from podrules.scheduling.placement.planned import AchievedSpread, PlannedSpec, UnmovedPod
from podrules.workload.disruption import fails_drain

_SHOWN_NODES = 10
_SHOWN_VICTIMS = 10
_SHOWN_PENDING = 10
_SHOWN_LATE = 2
_SHOWN_EVICTED = 5
_DRAIN_REASONS = {
    "DaemonSet": "stays, of DaemonSet {detail}: a drain ignores it",
    "StaticPod": "stays, a static pod: {detail}",
    "Finished": "has ended: {detail}",
    "Terminating": "was marked for deletion before: {detail}",
    "NoController": "would be lost: {detail}",
    "NodeSilent": "stays Terminating: {detail}",
    "PodDisruptionBudget": "blocks the drain: {detail}",
    "Refused": "fails the drain: {detail}",
    "Overdue": "{detail}",
}
_FLAG_REASONS = {
    "--force": "{pods} that no controller recreates",
    "--delete-emptydir-data": "{pods} with an emptyDir, which is lost",
    "--ignore-daemonsets": "{pods} of DaemonSets, ignored",
}


def plan_page(report: PlanReport, *, wide: bool) -> Page:
    """Everything about one plan; ``wide`` names every node and victim."""
    summary = plan_verdict(report)
    # The assumed changes of the cluster; empty if there are none: the verdict then comes first.
    changes = listed(list(_changes(report.what_if)))
    parts: list[Section | Table] = []
    if wide and any(len(entry.refusals) > 1 for entry in report.refused):
        rows = tuple((entry.name, refused_words(one)) for entry in report.refused for one in entry.refusals)
        parts.append(Table("Refused", ("object", "why"), rows))
    if report.specs:
        parts.append(_specs_table(report, wide=wide))
    # A DaemonSet has one on each node.
    if any(spec.placed > 1 and (wide or spec.daemon is None) for spec in report.asked):
        parts.append(_nodes_table(report, wide=wide))
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
    if any(spec.victims for spec in report.specs):
        parts.append(_victims_table(report, wide=wide))
    if report.unmoved:
        parts.append(_unmoved_table(report, wide=wide))
    lines = (f"{one.spec}: {line}" for one in report.webhook for line in webhook_lines(one))
    parts.append(Section("Webhook", tuple(lines)))
    parts.append(versions_section(report.version_notes))
    parts.append(unread_section(tuple(dict.fromkeys((*report.unread, *report.lacks)))))
    return Page(
        title=(f"on {counted(report.nodes, 'node')}, {changes}" if changes else ""),
        verdict=summary.sentences,
        severity=summary.severity,
        parts=tuple(parts),
    )


def plan_verdict(report: PlanReport) -> Verdict:
    """What fits, and what does not."""
    sentences = (*_verdict(report), *assumed_words(report.lacks))
    fits = report.fits
    if fits is None:
        return Verdict(VerdictCode.FIT_UNKNOWN, Severity.NOTICE, sentences)
    if fits:
        # Pods that fit but can never be evicted are no trouble yet.
        notice = report.lacks or report.kept or any(blocked_words(report.budgets))
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
    if what_if.drained:
        turn = " one by one" if what_if.one_by_one and len(what_if.drained_nodes) > 1 else ""
        yield f"with {listed(what_if.drained_nodes, most=3)} drained{turn}"


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
    yield from victim_words(daemons)
    others = [spec for spec in report.specs if spec.origin in {"manifest", "drain"} and spec.daemon is None]
    yield from _asked_words(others, report)
    yield from autoscaler_words(report.specs)
    yield from pending_words([spec for spec in pending if spec not in named])
    for name in report.silent:
        pods = sum(spec.nodes.get(name, 0) for spec in report.specs)
        goes = "1 pod goes" if pods == 1 else f"{pods} pods go"
        yield f"{goes} to {name}, which does not answer: nothing starts there until it does."
    yield from blocked_words(report.budgets)
    yield from replacement_words(report.specs)
    flags = [f"{one.flag} ({_FLAG_REASONS[one.flag].format(pods=counted(one.pods, 'pod'))})" for one in report.flags]
    if flags:
        of_a_node = " of a node" if len(report.what_if.drained_nodes) > 1 else ""
        yield f"kubectl drain evicts no pod{of_a_node} without {listed(flags)}."


def _asked_words(specs: Sequence[PlannedSpec], report: PlanReport) -> Iterator[str]:
    """The sentences about manifests and about the pods of a drained node."""
    for spec in specs:
        yield from quota_words(spec, "replica", f"of {spec.name}")
    specs = [let_in(spec) for spec in specs]
    short = [spec for spec in specs if spec.is_short]
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
    # Their victims come before what would help the others.
    yield from victim_words([spec for spec in specs if not spec.is_short]) if short else ()
    yield from _short_words(short, report)
    for spec in specs:
        if spec.wanted is None:
            then = f" The next does not: {' '.join(why_no_node(spec.stopped))}" if spec.stopped is not None else ""
            yield guessed(f"{fit_words([spec], 'replica', f'of {spec.name}')}.{then}", guess=report.is_guess(spec))
    made = [spec for spec in specs if spec.origin != "drain"]
    total = sum(spec.placed for spec in made)
    # If nothing is placed, each spec already says that it requests no pods.
    if total and all(spec.wanted is not None and not spec.is_short for spec in made):
        nodes: Counter[str] = Counter()
        for spec in made:
            nodes.update(spec.nodes)
        paid, everything = paid_words(made), report.everything_fits and made == specs
        if total == 1:
            fits = f"{'It' if everything else 'The one new pod'} fits, on {next(iter(nodes))}"
            fit = f"{fits}, {paid}." if paid else f"{fits}."
        else:
            what = "pod" if everything else "new pod"
            fits = fit_words(made, what) if paid else f"{_every(total).capitalize()} {what}s fit"
            fit = f"{fits}: {nodes_words(dict(nodes.most_common()))}."
        yield guessed(fit, guess=any(map(report.is_guess, made)))
    yield from victim_words(specs) if not short else ()


def _short_words(short: Sequence[PlannedSpec], report: PlanReport) -> Iterator[str]:
    """What stays pending and why, and the victims of the rest; evicted pods with the same reason share a sentence."""
    groups: dict[tuple[str, str, str], list[PlannedSpec]] = {}
    for spec in short:
        # One by one, only the node that the pod left last is empty.
        drained = spec.leaves[-1:] if report.what_if.one_by_one else report.what_if.drained_nodes
        why = " ".join(why_no_node(spec.stopped, drained=drained)) if spec.stopped is not None else ""
        alone = "" if spec.origin == "drain" and not spec.victims else spec.name
        groups.setdefault((spec.until_back, why, alone), []).append(spec)
    for (back, why, _), specs in groups.items():
        stay = f"{listed([spec.name for spec in specs], most=_SHOWN_EVICTED)} stay pending."
        lead = (_short(specs[0]) if len(specs) == 1 else stay).removesuffix(".")
        lead += f" until {back} is back." if back else "."
        words = guessed(" ".join((lead, *victim_words(specs), why)), guess=any(map(report.is_guess, specs)))
        yield unknown_words(specs[0]) or words.rstrip()


def _drain_words(report: PlanReport) -> Iterator[str]:
    """The sentences about a drain: if it ends, what blocks it, and how many pods find a place; empty without one."""
    nodes = report.what_if.drained_nodes
    if not nodes:
        return
    held = [entry for entry in report.unmoved if entry.reason == "PodDisruptionBudget"]
    if report.stuck_on:
        # On a silent node no eviction ends.
        do, until = ("does", "it does, or is") if len(report.stuck_on) == 1 else ("do", "they do, or are")
        stay = "1 pod stays" if report.stuck == 1 else f"{report.stuck} pods stay"
        stay = stay if report.stuck else "each pod that is evicted stays"
        silent = f"{listed(report.stuck_on, most=3)} {do} not answer"
        yield f"The drain does not end: {silent}, and {stay} Terminating until {until} fenced."
    there = sum(entry.node in report.stuck_on for entry in held)
    if there:
        pods = f"{counted(there, 'pod')} there {'is' if there == 1 else 'are'}"
        yield f"Besides, {pods} held by a PodDisruptionBudget (below)."
    # On a silent node, a change of a budget does not help.
    answering = [entry for entry in held if entry.node not in report.stuck_on]
    yield from drain_leads(answering, "The drain", more=len(nodes) > 1)
    yield from hold_words(answering, pending=report.specs)
    late = [entry for entry in report.unmoved if entry.reason == "Overdue"]
    for entry in late[:_SHOWN_LATE]:
        yield f"The drain does not end before {entry.pod.namespace}/{entry.pod.name} is gone: {_late_words(entry)}."
    if len(late) > _SHOWN_LATE:
        yield f"The same is true for {len(late) - _SHOWN_LATE} more (below)."
    for name, finalizers in [*report.kept.items()][:_SHOWN_LATE]:
        yield f"The drain does not end before {name} is gone: {holder_words(finalizers)}."
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
    yield from _leaving_words(report, ends=not (open_nodes or held or report.kept))
    if report.slow:
        name, grace = max(report.slow.items(), key=lambda one: one[1])
        more = f" (so may {len(report.slow) - 1} more for minutes)" if len(report.slow) > 1 else ""
        yield f"{name} may take {lasting(span(grace))} to stop, its grace period{more}: the drain waits."
    lost = sum(entry.reason == "NoController" for entry in report.unmoved)
    if lost:
        yield f"{counted(lost, 'pod')} would be lost: no controller recreates {'it' if lost == 1 else 'them'}."


def _leaving_words(report: PlanReport, *, ends: bool) -> Iterator[str]:
    """``The drain ends; 3 of 4 pods find no place: pod/a, pod/b and pod/c.``; then pods that wait or move twice."""
    nodes, lead = report.what_if.drained_nodes, "The drain ends; " if ends else "Besides, "
    specs = [spec for spec in report.specs if spec.origin == "drain"]
    if specs:
        # How many of the evicted pods find a place, and where.
        short, pods = [spec for spec in specs if spec.is_short], counted(len(specs), "pod")
        where, paid = Counter(node for spec in specs for node in spec.nodes), paid_words(specs)
        if unknown := sum(bool(unknown_words(spec)) for spec in short):
            moved = f"where {unknown} of {pods} would go is unknown"
        elif short:
            late = {spec.until_back for spec in short}
            until = "" if "" in late else f" before {listed(sorted(late))} {'is' if len(late) == 1 else 'are'} back"
            names = listed([spec.name for spec in short], most=_SHOWN_EVICTED)
            if len(specs) == 1:
                moved = f"{names} finds no place{until}"
            else:
                which = f": {names}" if len(short) < len(specs) else ""
                moved = f"{len(short)} of {pods} {'finds' if len(short) == 1 else 'find'} no place{until}{which}"
        elif len(specs) == 1:
            moved = f"{specs[0].name} finds a place on {next(iter(where))}{f', {paid}' if paid else ''}"
        else:
            alone, every = sum(spec.without_preemption for spec in specs), _every(len(specs))
            find = f"{alone} of {pods} {'finds' if alone == 1 else 'find'} a place without preemption, {every} {paid}"
            moved = f"{find if paid else f'{every} pods find a place'}: {nodes_words(dict(where.most_common()))}"
        yield guessed(f"{lead}{moved}.", guess=any(map(report.is_guess, specs)))
    elif not report.refused:
        nothing = f"{lead}no pod of {listed(nodes, most=3)} is recreated elsewhere."
        yield guessed(nothing, guess=ends and report.guesses_drain)
    if len(nodes) == report.nodes and not report.what_if.one_by_one and any(spec.is_short for spec in specs):
        yield "No node is left: all are drained."
    if waits := [spec.name for spec in specs if spec.waits]:
        leave = "leaves" if len(waits) == 1 else "leave"
        once = "once replacements of others are Ready, as a budget requires"
        yield f"{listed(waits, most=_SHOWN_EVICTED)} {leave} {once}."
    if again := [spec.name for spec in specs if len(spec.leaves) > 1]:
        yield f"{listed(again, most=_SHOWN_EVICTED)} {'moves' if len(again) == 1 else 'move'} more than once."


def _every(pods: int) -> str:
    return "both" if pods == 2 else f"all {pods}"


def _late_words(entry: UnmovedPod) -> str:
    """``deleted, overdue since …; finalizer "example.com/copy" keeps …``; empty: the pod is not late."""
    if entry.over is None:
        return ""
    held = f"; {holder_words(entry.detail.split(', '))}" if entry.detail else ""
    return f"deleted before, overdue since {clock(entry.over, None)}{held}"


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


def _specs_table(report: PlanReport, *, wide: bool) -> Table:
    rows = []
    pending = [spec for spec in report.specs if spec.origin == "pending"]
    left_out = [] if wide else pending[_SHOWN_PENDING:]
    for spec in report.specs:
        if spec in left_out:
            continue
        wanted = "" if spec.wanted is None else f" of {spec.wanted}"
        leaves = f" from {', '.join(spec.leaves)}" if len(report.what_if.drained_nodes) > 1 and spec.leaves else ""
        if spec.placed == 1:
            (node,) = spec.nodes
            (zone,) = spec.zones
            where = f"{node} ({zone})" if zone else node
            where = f"{where}, once {spec.until_back} is back" if spec.until_back else where
        else:
            where = ", ".join(f"{zone or 'no zone'} {count}" for zone, count in spec.zones.items()) or "-"
        row = (f"{row_name(spec)}{leaves}", f"{spec.placed}{wanted}", where)
        rows.append((str(spec.priority), *row) if wide else row)
    if left_out:
        placed = sum(spec.placed for spec in left_out)
        rows.append((f"{len(left_out)} more pending (-o wide)", f"{placed} of {len(left_out)}", ""))
    headings = ("spec", "placed", "where")
    if wide:
        return Table("", ("priority", *headings), tuple(rows), right=frozenset({0, 2}))
    return Table("", headings, tuple(rows), right=frozenset({1}))


def _nodes_table(report: PlanReport, *, wide: bool) -> Table:
    # Pending pods have their own rows in the table of specs.
    by_node: dict[str, dict[str, int]] = {}
    for spec in report.asked:
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
    headings = ("pods", "node", "of") if len(report.asked) > 1 else ("pods", "node")
    return Table("", headings, tuple(row[: len(headings)] for row in rows), right=frozenset({0}))


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


def _unmoved_table(report: PlanReport, *, wide: bool) -> Table:
    """The pods that block the drain or would be lost come first; DaemonSet pods, which never matter, share a row."""
    order = list(_DRAIN_REASONS)
    entries = sorted(report.unmoved, key=lambda entry: -order.index(entry.reason))
    daemons = [entry for entry in entries if entry.reason == "DaemonSet"]
    nodes = report.what_if.drained_nodes
    rows = []
    for entry in entries:
        if wide or entry not in daemons:
            reason = _DRAIN_REASONS["Refused" if fails_drain(entry.detail) else entry.reason]
            name = f"{entry.pod.namespace}/{entry.pod.name}{f' on {entry.node}' if len(nodes) > 1 else ''}"
            rows.append((name, reason.format(detail=_late_words(entry) or entry.detail)))
    if daemons and not wide:
        ignored = f"a drain ignores {'it' if len(daemons) == 1 else 'them'} (-o wide)"
        rows.append((f"{len(daemons)} of DaemonSets", ignored))
    return Table(f"Pods of {listed(nodes, most=3)} that are not moved", ("pod", "why"), tuple(rows))


def _victims_table(report: PlanReport, *, wide: bool) -> Table:
    victims = [(spec, victim) for spec in report.specs for victim in spec.victims]
    victims.sort(key=lambda row: weightiest(row[1]))
    shown = victims if wide else victims[:_SHOWN_VICTIMS]
    rows = []
    for spec, victim in shown:
        why = f"on {victim.node}, {'already being deleted; ' if victim.leaving else ''}for {row_name(spec)}"
        why += "" if victim.replaced else "; no controller recreates it"
        why += f"; violates PodDisruptionBudget {listed(victim.violates)}" if victim.violates else ""
        rows.append((str(victim.priority), f"{victim.pod.namespace}/{victim.pod.name}", why))
    if len(victims) > len(shown):
        rows.append(("", f"{len(victims) - len(shown)} more (-o wide)", ""))
    title = "Preempted" if any(spec.preempted for spec in report.specs) else "Already being deleted"
    return Table(title, ("priority", "pod", "where and why"), tuple(rows), right=frozenset({0}))


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
