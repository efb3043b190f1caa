"""The sentences about placement: where the scheduler would place a pod, and why not elsewhere."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime

from msgspec.structs import replace

from kubectl_plugin.render.command import Prose
from kubectl_plugin.render.page import Section, Table
from kubectl_plugin.reports.pod.pod_report import PodReport
from kubectl_plugin.views.pod.volume_words import awaited_words, claim_lines, claim_sentences, volume_sentences
from kubectl_plugin.views.scheduling.changes import remedy_words, ways_out, ways_sentence
from kubectl_plugin.views.scheduling.preemption import (
    defeated_words,
    disabled_words,
    nominated_words,
    preemption_words,
    queue_words,
)
from kubectl_plugin.views.scheduling.scheduler_plugins import PLUGIN_PHRASES, fact_words, rejection_words, short_reason
from kubectl_plugin.views.scheduling.spread_words import conflict_words, score_tables, spread_table
from kubectl_plugin.views.words import bar, counted, listed
from podrules.scheduling.placement.outcome import (
    CurrentNode,
    NamedFate,
    NamedNode,
    Placement,
    PlacementOutcome,
    RejectedGroup,
    SchedulerMessage,
)
from podrules.scheduling.scheduler.in_tree import no_such_plugin

_LABEL = "Placement"
_SHOWN_GROUPS_IN_VERDICT = 3
_SHOWN_BEST = 3
_SHOWN_GROUPS = 5
_SHOWN_CHANGED = 4


def why_no_node(placement: Placement, *, drained: Sequence[str] = ()) -> tuple[str, ...]:
    """For a verdict: why no node fits, claims first, and the ways out; nodes that are being drained are none."""
    if placement.named is not None:
        claims = claim_sentences(placement.claims) if placement.claims else ()
        return (f"Its {named_words(placement.named)}.", *claims)
    if placement.outcome is PlacementOutcome.HELD:
        return (f"The scheduler does not look at it: {placement.reason}.",)
    # A plugin that rejects a pod for a claim before it checks any node adds nothing to the claim.
    groups = alike_joined(group for group in placement.rejected if group.nodes or not placement.claims)
    if placement.nowhere:
        groups = [group for group in groups if group.plugin != "NodeAffinity"]
    # Naming one more group is as short as counting it.
    most = _SHOWN_GROUPS_IN_VERDICT if len(groups) > _SHOWN_GROUPS_IN_VERDICT + 1 else len(groups)
    phrases = [phrase for group in groups[:most] for phrase in rejected_phrases(group)]
    rest = sum(group.count for group in groups[most:])
    if rest:
        phrases.append(f"{rest} more {'fails' if rest == 1 else 'fail'} for other reasons")
    sentences = list(claim_sentences(placement.claims)) if placement.claims else []
    if placement.nowhere:
        sentences.append(
            f"None of {counted(placement.nodes, 'node')} has {' or '.join(placement.nowhere[:_SHOWN_BEST])}."
        )
    if placement.offered_nowhere:
        # Other reasons do not matter then; the table has them.
        sentences.append(f"No node offers {listed(placement.offered_nowhere)}.")
    elif phrases:
        sentences.append(f"{_counts_lead(placement)}{listed(phrases)}.")
    if any(group.plugin == "PodTopologySpread" for group in groups):
        sentences += conflict_words(placement.spread)
    sentences += volume_sentences(placement.volumes)
    sentences += ways_sentence(ways_out(placement, drained=drained))
    if placement.preemption is not None:
        sentences += defeated_words(placement.preemption)
    if placement.preemption_disabled:
        sentences.append(f"It preempts no pod: {disabled_words(placement.preemption_disabled)}.")
    said = placement.message or placement.reason
    if not sentences and said:
        sentences.append(f"Why: {said.removesuffix('.')}.")
    return tuple(sentences)


def _counts_lead(placement: Placement) -> str:
    return f"Of {counted(placement.nodes, 'node')}, "


def without_counts(sentences: Iterable[str], placement: Placement | None) -> Iterator[str]:
    """The sentences of a verdict without the one that counts the nodes by reason, because a table does."""
    for sentence in sentences:
        if placement is None or not placement.rejected or not sentence.startswith(_counts_lead(placement)):
            yield sentence


def alike_joined(groups: Iterable[RejectedGroup]) -> list[RejectedGroup]:
    """Join groups with the same phrase."""
    found: dict[str, RejectedGroup] = {}
    for group in groups:
        phrase = next(rejected_phrases(replace(group, count=2, silent=())))
        same, joined = found.get(phrase), group
        if same is not None:
            nodes, silent = (*same.nodes, *group.nodes), (*same.silent, *group.silent)
            joined = replace(same, count=same.count + group.count, nodes=nodes, silent=silent)
        found[phrase] = joined
    return list(found.values())


def placement_parts(report: PodReport, *, now: datetime | None, wide: bool) -> Iterator[Section | Table]:
    """The nodes that fit with their scores, and the others with reasons, numbers and remedies."""
    placement = report.placement
    if placement is None or (placement.outcome is PlacementOutcome.HELD and report.status and report.status.gates):
        return  # The verdict names the gates already.
    rejected = [_rejected_table(placement, wide=wide)] if placement.rejected else []
    # The first screen of the default page has the reasons, because its verdict does not count them.
    reasons_first = placement.outcome is PlacementOutcome.UNSCHEDULABLE and not wide
    yield from rejected if reasons_first else ()
    yield Section(_LABEL, tuple(_lines(report, placement, now, wide=wide)))
    if placement.scores:
        title = (
            f"{placement.feasible} of {counted(placement.nodes, 'node')} {'fits' if placement.feasible == 1 else 'fit'}"
        )
        shown = placement.scores if wide else placement.scores[:_SHOWN_BEST]
        if len(placement.scores) > len(shown):
            title += f"; the best {len(shown)} (all: -o wide)"
        rows = []
        for entry in shown:
            by_plugin = ", ".join(f"{plugin} {score}" for plugin, score in entry.plugins.items() if score)
            rows.append((str(entry.total), entry.node, by_plugin))
        yield Table(title, ("score", "node", "by plugin"), tuple(rows), right=frozenset({0}))
        if wide:
            yield from score_tables(placement.scores, placement.normalized)
    yield from () if reasons_first else rejected
    if placement.spread and wide:
        yield spread_table(placement.spread)


def _lines(report: PodReport, placement: Placement, now: datetime | None, *, wide: bool) -> Iterator[str | Prose]:
    match placement.outcome:
        case PlacementOutcome.HELD:
            yield f"the scheduler does not look at it: {placement.reason}"
        case PlacementOutcome.UNKNOWN:
            yield f"unknown: {placement.reason}"
        case PlacementOutcome.NAMED:
            yield from [] if placement.named is None else [named_words(placement.named)]
            yield from claim_lines(placement.claims)
        case PlacementOutcome.NOT_MODELLED:
            yield f"not modelled: {placement.reason}"
        case PlacementOutcome.UNSCHEDULABLE:
            if wide or not placement.rejected or not report.status:
                yield "on no node" if placement.rejected else f"on no node: {placement.message}"
            yield from claim_lines(placement.claims)
        case PlacementOutcome.FITS:
            best, score = listed(placement.best, most=_SHOWN_BEST), placement.scores[0].total if placement.scores else 0
            by = "" if placement.proven else "by what was read, "
            if placement.nominated is not None and placement.best == (placement.nominated.node,):
                yield f"on {best}, which is reserved for it and fits"
            elif len(placement.best) > 1:
                share = f"{counted(len(placement.best), 'node')} share the highest score, {score}"
                yield f"{by}on one of {best}: {share}"
            else:
                yield f"{by}on {best}, which scores highest: {score}"
    if placement.current is not None:
        yield _current(placement.current)
    if placement.binding is not None:
        yield awaited_words(placement.binding)
    elif placement.nominated is not None:
        yield from nominated_words(placement.nominated, now)
    if placement.preemption is not None:
        yield from preemption_words(placement.preemption, wide=wide)
    if placement.preemption_disabled and placement.outcome is PlacementOutcome.UNSCHEDULABLE:
        yield f"preempts no pod: {disabled_words(placement.preemption_disabled)}"
    if placement.queue is not None:
        yield queue_words(placement.queue)
    if placement.sampled is not None and wide:
        sampled = counted(placement.sampled, "node")
        yield (
            f"kube-scheduler stops after the first {sampled} that fit, in turn: it may miss the best node "
            "(percentageOfNodesToScore)"
        )
    # The verdict begins with the scheduler's message if the answer is not proved or the message has more than nodes.
    leads = placement.feasible and (not placement.proven or placement.rejected_elsewhere)
    if placement.scheduler_message is not None and not leads:
        yield from _message_words(placement, placement.scheduler_message, wide=wide)
    for plugin in placement.unknown_plugins:
        if problem := no_such_plugin(plugin):
            yield f"the profile's pluginConfig of {plugin} does nothing: {problem}"
        else:
            yield f"the profile's plugin {plugin} is not part of kube-scheduler: it is ignored here"
    for url in placement.extenders:
        yield f"the scheduler's extender {url} was not asked"


def named_words(named: NamedNode) -> str:
    """What happens to a pod that sets spec.nodeName itself."""
    lead = f"spec.nodeName is {named.node}"
    match named.fate:
        case NamedFate.RUNS:
            return f"{lead}: no scheduler is involved, and the kubelet there runs it"
        case NamedFate.REFUSED:
            return f"{lead}: the kubelet there refuses it, and it ends as Failed ({named.reason})"
        case NamedFate.WAITS:
            return f"{lead}: the kubelet there starts no container without its claims"
        case NamedFate.SILENT:
            return f"{lead}, which is silent: the pod stays Pending until it answers"
    return f"{lead}, and there is no such node: pod garbage collection deletes it"


def _current(current: CurrentNode) -> str:
    if not current.fits:
        why = f"{current.plugin}: {', '.join(current.reasons)}" if current.plugin else ", ".join(current.reasons)
        return f"{current.node}, where it runs, would not be chosen again: {why}"
    if current.rank == 1:
        return f"{current.node}, where it runs, is still the best: {current.total}"
    better = (current.rank or 1) - 1
    count = "1 node is" if better == 1 else f"{better} nodes are"
    return f"{current.node}, where it runs, would score {current.total}: {count} better now, and nothing moves it there"


def _message_words(placement: Placement, before: SchedulerMessage, *, wide: bool) -> Iterator[str]:
    said = f": {before.message}" if wide else " (its message: -o wide)"
    if before.agrees:
        yield f"kube-scheduler said the same{said}"
        return
    yield f"kube-scheduler said before{said}" if wide else f"kube-scheduler said otherwise before{said}"
    if not before.changed:
        return
    changes = [f"{entry.now} {entry.reason} (was {entry.then})" for entry in before.changed]
    now = "a node fits now; it tries again when something changes, and after a while" if placement.feasible else ""
    yield f"since then: {now or listed(changes, most=_SHOWN_CHANGED)}"


def _rejected_table(placement: Placement, *, wide: bool) -> Table:
    rows: list[tuple[str, ...]] = []
    shown = placement.rejected if wide else placement.rejected[:_SHOWN_GROUPS]
    for group in shown:
        # Upstream's reasons, with the numbers of the node that is nearest to fitting.
        reason = ", ".join(group.reasons)
        nearest = group.nodes[0] if group.nodes else None
        if nearest is not None:
            plain = "" if nearest.facts else rejection_words(group, one=True)
            words = "; ".join(filter(None, (plain, fact_words(nearest))))
            silent = f"; {_silent_words(group.silent)}" if 0 < len(group.silent) < group.count else ""
            lead = f"{reason}: " if wide or group.plugin not in PLUGIN_PHRASES else ""
            reason = f"{lead}{nearest.node} {words}{silent}"
        share = bar(group.count, placement.nodes, width=min(placement.nodes, 20))
        rows.append((str(group.count), share, group.plugin if wide else short_reason(group), reason))
        if wide and group.remedy is not None:
            rows.append(("", "", "", f"way out: {remedy_words(group.remedy, placement.spread)}"))
        if wide:
            rows += [
                ("", "", "", f"{node.node}: {fact_words(node)}") for node in group.nodes if node.facts or node.also
            ]
    if rest := placement.rejected[len(shown) :]:
        count = sum(group.count for group in rest)
        share = bar(count, placement.nodes, width=min(placement.nodes, 20))
        rows.append((str(count), share, "others", f"{counted(len(rest), 'reason')} (-o wide)"))
    count = placement.nodes - placement.feasible
    some = f"{count} of {counted(placement.nodes, 'node')} {'does' if count == 1 else 'do'} not fit"
    title = some if placement.feasible else "Why no node fits"
    headings = ("nodes", "", "plugin", "reason; the nearest node") if wide else ("",) * 4
    return Table(title if wide else f"{title} (the nearest node of each)", headings, tuple(rows), right=frozenset({0}))


def rejected_phrases(group: RejectedGroup) -> Iterator[str]:
    """Why the nodes of a group do not fit; silent nodes are counted separately."""
    others = group.count - len(group.silent)
    if others:
        yield f"{others} {rejection_words(group, one=others == 1)}"
    if group.silent:
        yield f"{_silent_words(group.silent)} (taint unreachable)"


def _silent_words(names: Sequence[str]) -> str:
    """``node-c3 is silent``, or ``2 are silent``."""
    return f"{names[0]} is silent" if len(names) == 1 else f"{len(names)} are silent"
