"""A pod's deletion in words: its risk and its progress."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Final

from msgspec.structs import replace

from kubectl_plugin.render.command import Command, Hint, Prose, kubectl, qos
from kubectl_plugin.render.page import Page, Row, Section
from kubectl_plugin.reports.steps import DeletionReport, Stakes, Step, StepKind, StepOutcome
from kubectl_plugin.reports.verdict import Severity, Verdict
from kubectl_plugin.views.caveats import versions_section
from kubectl_plugin.views.node.node_words import PROVIDER
from kubectl_plugin.views.pod.pod_page import unread_section
from kubectl_plugin.views.pod.safety_words import (
    FORCE_LEADS,
    FORCE_SEVERITIES,
    bound_words,
    finalizer_words,
    forcing_words,
    guard_words,
    holder_words,
    no_process_words,
    off_sentences,
    owner_risk,
    reach_words,
    safe_or_not,
    safer,
    until_words,
)
from kubectl_plugin.views.scheduling.budget_words import remedy_words
from kubectl_plugin.views.steps import outcome_verdict, refused_sentences, unanswered
from kubectl_plugin.views.words import clock, counted, listed
from podrules.api.model.base import ObjectMeta
from podrules.ending.deleted_pod import holders
from podrules.ending.deletion import CONFIRMATION, Members
from podrules.node.reachability import Reach
from podrules.silent_node.forcing import has_another, lets_second_writer
from podrules.workload.safety import ForceSafety

_USUAL_GRACE = 30
_OUTCOMES: Final = {
    StepOutcome.NOT_CONFIRMED: "Not deleted: a confirmation is missing.",
    StepOutcome.NOT_POSSIBLE: ("Not deleted: the pod is gone, or another pod has its name now. Nothing was changed."),
    StepOutcome.DRY_RUN: "Dry run of a deletion: nothing is stored.",
    StepOutcome.DONE: "Deleted: its object is gone.",
    StepOutcome.UNDER_WAY: "Being deleted: its object is marked for deletion, and still there.",
    StepOutcome.FAILED: "The deletion failed: the steps show how far it got.",
    StepOutcome.INTERRUPTED: "The deletion was interrupted: the steps show how far it got.",
}
_ADD_CONFIRM: Final = "Not deleted: to delete it without grace, add --confirm"
_NO_CONFIRMATION: Final = "Not deleted, and --confirm does not help"
_NO_TIME = "unknown when its processes end: only the kubelet of its node stops them, and it is silent"


def stakes_page(report: DeletionReport, *, now: datetime | None) -> Page:
    """What the force deletion of a pod risks, and what is safer."""
    stakes = report.stakes
    if stakes is None:
        raise ValueError("only a force deletion has stakes")
    budget_lines = []
    if stakes.eviction_refused is not None:
        budget_lines.append(f"an eviction would be refused: {stakes.eviction_refused}")
        if stakes.eviction_hold is not None:
            budget_lines.append(remedy_words(stakes.eviction_hold, stakes.eviction_way))
        budget_lines.append("a deletion does not check budgets")
    if stakes.owner.kind and (bound := bound_words(stakes.volumes, stakes.node, pending=True)):
        owner_line = f"{stakes.owner.kind} {stakes.owner.name}: {bound}"
    else:
        idle = stakes.safety is ForceSafety.SAFE
        replaced = has_another(stakes.owner.guarantee, stakes.node.reach, deleted=stakes.deleted is not None)
        owner_line = owner_risk(stakes.owner, idle=idle, replaced=replaced)
    volumes = tuple(Row((guard.volume, guard_words(guard, stakes.node.reach))) for guard in stakes.volumes)
    sections = (
        Section("Owner", (owner_line,)),
        Section("Members", (*_member_lines(stakes.members), *_third_way(report.name, stakes))),
        Section("Node", (reach_words(stakes.node, stakes.renewed, now),)),
        Section("Volumes", volumes),
        Section("Budget", tuple(budget_lines)),
        Section("Stops", tuple(_stop_lines(report, stakes, now))),
        versions_section(report.version_notes),
        unread_section(report.unread),
    )
    return Page(
        title=f"pod/{report.name} in namespace {report.namespace}, on {stakes.node.name}",
        verdict=tuple(_sentences(report, stakes, now)),
        severity=FORCE_SEVERITIES[stakes.safety],
        parts=sections,
        next_commands=tuple(_next_commands(report, stakes)),
    )


def nothing_at_stake_page(report: DeletionReport) -> Page:
    """The page of a force deletion that risks nothing, and what then happens to the object."""
    kept = holder_words(report.finalizers) if report.finalizers else "the object is gone at once"
    field = report.plan.grace.source.value
    stops = Section("Stops", (f"no process of it runs ({field}); {kept}",))
    next_commands = [qos("explain pod/{}", report.name, namespace=report.namespace)]
    if report.refusal is None:
        next_commands.append(_confirmed(report))
    return Page(
        title=f"pod/{report.name} in namespace {report.namespace}",
        verdict=_nothing_at_stake(report),
        severity=Severity.FINE,
        parts=(stops, versions_section(report.version_notes)),
        next_commands=tuple(next_commands),
    )


def _nothing_at_stake(report: DeletionReport) -> tuple[str, ...]:
    held = len(report.finalizers)
    keeps = "its finalizer keeps" if held == 1 else "its finalizers keep"
    kept = f"; {keeps} the object even then" if held else ""
    safe = f"{FORCE_LEADS[ForceSafety.SAFE]}: {no_process_words(report.plan)}."
    return (safe, *(_refused(report) or (f"{_ADD_CONFIRM}{kept}.",)))


def _refused(report: DeletionReport) -> tuple[str, ...]:
    """Why a confirmation does not help, and what does; empty if it helps, or if no refusal is known."""
    return () if report.refusal is None else refused_sentences(_NO_CONFIRMATION, report.refusal)


def deletion_verdict(report: DeletionReport, now: datetime | None) -> Verdict:
    """The result of a deletion; for a dry run, what it risks."""
    stakes, outcome = report.stakes, report.outcome
    if outcome in {StepOutcome.NOT_CONFIRMED, StepOutcome.DRY_RUN} and stakes is not None:
        sentences = tuple(_sentences(report, stakes, now))
        return replace(outcome_verdict(outcome, sentences), severity=FORCE_SEVERITIES[stakes.safety])
    if report.refusal is not None:
        return outcome_verdict(outcome, refused_sentences("Not deleted", report.refusal))
    if outcome is StepOutcome.FAILED and not report.steps:
        return outcome_verdict(outcome, (unanswered("Not deleted"),))
    sentences = _nothing_at_stake(report) if outcome is StepOutcome.NOTHING_AT_STAKE else (_OUTCOMES[outcome],)
    return outcome_verdict(outcome, sentences)


def _confirmed(report: DeletionReport) -> Command:
    options = "--grace-period=0 --confirm"
    return qos("delete pod/{}", report.name, namespace=report.namespace, options=options, changes=True)


def _sentences(report: DeletionReport, stakes: Stakes, now: datetime | None) -> Iterator[str]:
    """Whether it is safe, then what is safer, then how to continue."""
    held = holders(report.finalizers)
    yield from off_sentences(stakes.node)
    yield safe_or_not(report.name, stakes, now, held)
    refused = report.refusal
    if (report.outcome is StepOutcome.NOT_CONFIRMED or refused is not None) and not _may_not_delete(report):
        yield from safer(stakes, now, held, forcible=refused is None)
    dry_run = "Dry run of a deletion without grace: nothing is stored."
    doing = dry_run if report.dry_run else "Deleting it without grace, as you confirmed."
    yield from _refused(report) or (f"{_ADD_CONFIRM}." if report.outcome is StepOutcome.NOT_CONFIRMED else doing,)


def _may_not_delete(report: DeletionReport) -> bool:
    """Whether the user may not delete it with grace either."""
    return report.refusal is not None and report.refusal.verb == "delete"


def _member_lines(members: Members | None) -> tuple[str, ...]:
    if members is None:
        return ()
    count = len(members.live)
    live = f"{count} of {members.replicas} {'is' if count == 1 else 'are'} Ready without it"
    named = f" ({listed(members.live, most=4)})" if members.live else ""
    if members.replicas == 1:
        return ("it is the only member: nothing of the StatefulSet runs without it",)
    lost = members.unknown
    held = "keeps" if count >= members.majority else "is not known to keep" if lost else "does not keep"
    vote = f"a majority is {members.majority} of {members.replicas}: the StatefulSet {held} one without it"
    return (
        f"{live}{named}",
        *([f"on nodes that are not known to answer: {listed(lost, most=4)}"] if lost else ()),
        *(() if members.votes is False else (vote,)),
    )


def _third_way(name: str, stakes: Stakes) -> Iterator[str]:
    """How the application removes a member on a node that does not answer, and the risks that remain."""
    found, reach = stakes.members, stakes.node.reach
    if found is None or found.replicas == 1 or found.votes is False or not reach.quiet or reach.declared:
        return
    if not found.may_remove:
        yield f"the application removes {name} only while {found.majority} of {counted(found.replicas, 'member')} live"
        return
    yield f"to remove {name} in the application: {found.removal or 'its own command or API'}"
    if needs := found.joining or ("an empty claim, as a rule" if stakes.volumes else ""):
        yield f"the next {name} starts on the old data: to join it needs {needs}"
    if volumes := [guard.volume for guard in stakes.volumes if lets_second_writer(guard, reach)]:
        yield f"the old {name} may still write to {listed(volumes)}"


def _stop_lines(report: DeletionReport, stakes: Stakes, now: datetime | None) -> Iterator[str]:
    if stakes.node.provider:
        yield PROVIDER
        return
    if stakes.deleted is not None:
        yield (
            f"marked for deletion at {clock(stakes.deleted, now)}: "
            f"{forcing_words(holders(report.finalizers), 'deleting it again')}"
        )
        if stakes.may_run_until is not None and stakes.node.reach is not Reach.UNKNOWN:
            yield f"its processes {until_words(stakes.may_run_until, now)}"
        elif stakes.node.reach.quiet:
            yield _NO_TIME
        return
    if report.plan.static:
        yield "its processes run on: it mirrors a static pod, and its kubelet recreates the mirror"
        return
    held = report.finalizers
    kept = " at once" if report.plan.object_removed_at_once else f" once {finalizer_words(held, 'is', 'are')} done"
    if stakes.node.reach.quiet:
        yield f"the object is gone{kept}; {_NO_TIME}"
        return
    if not report.plan.containers:
        yield f"the object is gone{kept}; no container of it runs now: nothing has to stop"
        return
    yield f"the object is gone{kept}; processes get {report.plan.sigkill_latest} s more, if the kubelet answers"


def _next_commands(report: DeletionReport, stakes: Stakes) -> Iterator[Command]:
    if report.outcome is not StepOutcome.NOT_CONFIRMED and report.refusal is None:
        return
    pod, place = report.name, report.namespace
    if stakes.node.reach is Reach.GONE:
        yield qos("partitions", comment="safer: find out whether its machine is off")
    elif stakes.node.reach is Reach.BACK_NOT_READY:
        yield qos("unfence node/{}", stakes.node.name, comment="safer: first")
    elif stakes.node.reach is Reach.OUT_OF_SERVICE and stakes.deleted is not None:
        yield qos("partitions", comment="what remains there")
    elif stakes.node.reach.quiet and stakes.node.reach is not Reach.OUT_OF_SERVICE:
        yield qos("fence node/{}", stakes.node.name, comment="safer: once the machine is off")
    elif stakes.deleted is None and not _may_not_delete(report):
        grace = "" if report.grace_of_its_own else f"--grace-period={_USUAL_GRACE}"
        yield qos("delete pod/{}", pod, namespace=place, options=grace, changes=True, comment="safer: with grace")
    yield qos("explain pod/{}", pod, namespace=place)
    if report.refusal is None:
        yield _confirmed(report)


def state_words(pod: ObjectMeta, steps: Iterable[Step], *, sure: bool) -> Iterator[str | Prose]:
    """What an incomplete deletion of a pod has done, and how to continue; ``sure``: the last request was answered."""
    done = {step.kind: step for step in steps}
    named, place = f"pod/{pod.name}", pod.namespace
    if StepKind.DELETED in done:
        if kept := done.get(StepKind.KEPT_BY_FINALIZERS):
            yield f"{named} is deleted and has stopped. Its object stays until {kept.detail} is removed by its owner."
        else:
            yield f"{named} is deleted. Its object is removed once its processes are known to have stopped."
        if StepKind.NODE_SILENT in done:
            fence = qos("fence node/{}", done[StepKind.NODE_SILENT].detail)
            yield Prose((Hint(fence, "Once its machine is off for certain: "),))
        yield Prose((Hint(qos("explain pod/{}", pod.name, namespace=place), "To check: "),))
    elif StepKind.DELETING in done and not sure:
        yield f"Unknown whether {named} was deleted: there was no answer. Nothing else was changed."
        yield Prose((Hint(kubectl("get pod/{}", pod.name, namespace=place), "To check: "),))
        yield "The same command continues from there."
    elif StepKind.CONFIRMED in done:
        yield f"{named} carries the confirmation {CONFIRMATION}, and is not deleted."
    else:
        yield "Nothing was changed."
