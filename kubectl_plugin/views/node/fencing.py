"""The pages of `fence` and `unfence`."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Final

from cluster_io.kinds import PODS, VOLUME_ATTACHMENTS
from kubectl_plugin.render.command import Command, Hint, Prose, can_i, kubectl, qos
from kubectl_plugin.render.page import Page, Section, Table
from kubectl_plugin.reports.steps import FenceReport, StepKind, StepOutcome
from kubectl_plugin.reports.verdict import Severity, Verdict, lacking
from kubectl_plugin.views.caveats import assumed_words, versions_section
from kubectl_plugin.views.node.partitions import (
    bound_sentences,
    budgets_section,
    by_itself,
    deletions,
    detaching_words,
    force_section,
    pods_table,
    unhelped,
)
from kubectl_plugin.views.pod.pod_page import unread_section
from kubectl_plugin.views.pod.safety_words import guarded, off_sentences, reach_words, unfenced_from
from kubectl_plugin.views.steps import TAINT_TEXT, outcome_verdict, refused_sentences, unanswered
from kubectl_plugin.views.words import clock, counted, listed
from podrules.node.reachability import Reach
from podrules.silent_node.fencing import FenceState

_MAX_NAMED = 6
_AS_ASKED: Final = {False: frozenset({FenceState.POSSIBLE}), True: frozenset({FenceState.FENCED, FenceState.BACK})}
"""The states that allow the action, by whether it is `unfence`."""
_BROKEN: Final = {
    StepOutcome.FAILED: "It failed: the steps show how far it came.",
    StepOutcome.INTERRUPTED: "It was interrupted: the steps show how far it came.",
}


def fence_page(report: FenceReport, fence_command: str, *, now: datetime | None, going_on: bool = False) -> Page:
    """What a fence removes, what it needs, and if it is allowed; ``fence_command`` as typed, for suggested commands."""
    fenced = going_on or report.outcome is StepOutcome.UNDER_WAY
    denied = []
    for access in report.denied:
        named, check = f" {access.name}" if access.name else "", can_i(access.verb, access.resource, None)
        denied.append(Prose((f"{access.verb} {access.resource}{named}", Hint(check, " (", ")"))))
    parts: list[Section | Table] = [Section("You may not", tuple(denied))]
    if report.node is not None and now is not None:
        parts.append(pods_table(report.node, priorities=True, nodes_own=False))
        # A user who confirms that the machine is off needs no answer to that.
        parts += [] if fenced else [force_section(report.node)]
        title = "Under way" if report.state is FenceState.FENCED else "Changes"
        parts += [Section(title, tuple(_changes(report))), budgets_section(report.node)]
        # Once the node is fenced, what would happen without a fence does not matter.
        if not fenced:
            parts += [Section("By itself", tuple(by_itself(report.node, now)))]
    parts += [versions_section(report.version_notes), unread_section(report.unread)]
    return Page(
        title=f"node/{report.name}",
        verdict=(*_verdict(report, fence_command, now), *assumed_words(report.lacks)),
        severity=fencing_verdict(report, now).severity,
        parts=tuple(parts),
        next_commands=tuple(_next_commands(report, fence_command)),
    )


def fencing_verdict(report: FenceReport, now: datetime | None) -> Verdict:
    """What the command did, or why it did nothing."""
    outcome = report.outcome
    lead = "Not taken back" if report.undo else "Not fenced"
    results = {StepOutcome.DONE: "Taken back into service.", StepOutcome.DRY_RUN: "Dry run: nothing is stored."}
    sentences: tuple[str, ...]
    if report.refusal is not None:
        sentences = refused_sentences(lead, report.refusal)
    elif outcome is StepOutcome.FAILED and not report.steps:
        sentences = (unanswered(lead),)
    elif outcome in _BROKEN:
        sentences = (_BROKEN[outcome],)
    elif outcome is StepOutcome.NOT_POSSIBLE and report.state in _AS_ASKED[report.undo]:
        # Why a node in an allowed state was not changed.
        failed = next((step for step in report.steps if step.kind is StepKind.FENCE_COMMAND_FAILED), None)
        hindered = "the Node has been deleted or changed since it was read"
        if failed is not None:
            hindered = f"the fence command failed ({failed.detail})"
        sentences = (f"{lead}: {hindered}. Nothing in the cluster was changed.",)
    elif report.undo and report.state in _AS_ASKED[True] and outcome in results:
        sentences = (results[outcome],)
    elif report.undo:
        sentences = tuple(_unfence_verdict(report, now))
    elif outcome in {StepOutcome.DONE, StepOutcome.UNDER_WAY}:
        sentences = (_fenced(report, now),)
    else:
        sentences = tuple(_verdict(report, "", now))
    return lacking(outcome_verdict(outcome, sentences), assumed_words(report.lacks))


def _verdict(report: FenceReport, fence_command: str, now: datetime | None) -> Iterator[str]:
    if report.node is not None and report.state is FenceState.POSSIBLE:
        yield f"{reach_words(report.node.reach, report.node.renewed, now)}."
        yield from bound_sentences(report.node)
        yield from () if report.outcome is not StepOutcome.NOT_CONFIRMED else off_sentences(report.node.reach)
        yield from () if now is None else detaching_words(report.node, now)
    match report.state, report.outcome:
        case FenceState.ANSWERS, _:
            yield "Not fenced: it answers. A fence would delete its pods and not wait until they have ended."
            yield "To empty a node that answers, drain it."
        case FenceState.TOO_EARLY, _:
            due = report.node.unknown_at if report.node is not None else None
            to_come = due is not None and (now is None or due > now)
            when = f", by {clock(due, now)}" if due is not None and to_come else ""
            yield f"Not fenced yet: it sends no heartbeats, but is not considered lost{when}. It may still come back."
        case FenceState.BACK, _:
            yield "Not fenced: it is declared out of service already, and answers again."
        case FenceState.FENCED, _:
            yield _fenced(report, now)
        case _, StepOutcome.NOT_CONFIRMED if fence_command:
            yield "Not fenced: the fence command runs with --confirm only. Nothing was changed."
        case _, StepOutcome.NOT_CONFIRMED:
            yield "Not fenced: it is not confirmed that its machine is off. Nothing was changed."
            yield "Once you know that it is off, add --confirm-powered-off."
        case _, StepOutcome.REFUSED if report.refusal is not None:
            yield from refused_sentences("Not fenced", report.refusal)
        case _, _ if report.dry_run:
            yield "Dry run: nothing is stored."
        case _:
            yield "Fencing it, as you confirmed."


def _fenced(report: FenceReport, now: datetime | None) -> str:
    left, node = report.left, report.node
    there = (*left.pods, *left.staying)
    more = (*unhelped(node, now, there), *detaching_words(node, now)) if node is not None and now is not None else ()
    if left.nothing:
        rest = "nothing more is removed by itself" if more else "nothing is left to remove"
        return " ".join((f"It is declared out of service, and {rest}.", *more))
    going = len(left.pods) + len(left.attachments)
    counts = ((len(left.pods), "pod"), (len(left.attachments), "volume"))
    what = listed([counted(count, one) for count, one in counts if count])
    has = "has" if going == 1 else "have"
    alone = "" if more else "; no further action is needed"
    return " ".join((f"It is declared out of service: {what} still {has} to be removed{alone}.", *more))


def _changes(report: FenceReport) -> Iterator[str]:
    left = report.left
    if report.state is FenceState.POSSIBLE:
        yield f"adds taint {TAINT_TEXT}"
    elif report.state is not FenceState.FENCED:
        return
    pods = [pod for pod in left.pods if pod not in left.kept]
    unread = {one.resource for one in report.lacks}
    if pods:
        yield f"removes {counted(len(pods), 'pod')}: {listed(pods, most=_MAX_NAMED)}"
    else:
        yield "which pods it removes is unknown" if PODS.rbac_name in unread else "removes no pod"
    refused = {held.persistent_volume for held in report.node.attachments if held.error} if report.node else set()
    volumes = [name for name in left.attachments if name not in refused]
    if volumes:
        yield f"detaches {counted(len(volumes), 'volume')}: {listed(volumes, most=3)}"
    else:
        unknown = VOLUME_ATTACHMENTS.rbac_name in unread
        yield "which volumes it detaches is unknown" if unknown else "detaches no volume"
    # The volumes that get a second writer if the machine is not off.
    down, held = (report.node.pods, report.node.attachments) if report.node is not None else ((), ())
    named = [
        f"{guard.volume} of {pod.namespace}/{pod.name} ({guarded(guard)})"
        for pod in down
        for guard in pod.volumes
        if unfenced_from(guard, Reach.OUT_OF_SERVICE) and f"{pod.namespace}/{pod.name}" not in report.left.staying
    ]
    unused = [entry.writer for entry in held if entry.writer is not None]
    named += [f"{one.volume} ({guarded(one)})" for one in unused if unfenced_from(one, Reach.OUT_OF_SERVICE)]
    if named:
        yield f"nothing then keeps a second writer off: {listed(named, most=3)}"
    if left.kept:
        yield f"marks for deletion, but finalizers keep them: {listed(left.kept, most=_MAX_NAMED)}"
    if left.staying:
        yield f"leaves pods that tolerate the taints of the node: {listed(left.staying, most=_MAX_NAMED)}"


def _next_commands(report: FenceReport, fence_command: str) -> Iterator[Command]:
    node = report.name
    match report.state:
        case FenceState.ANSWERS:
            yield qos("place --drain {}", node, comment="where its pods would go")
            yield kubectl("drain {}", node, options="--ignore-daemonsets", changes=True, comment="to empty it")
        case FenceState.BACK:
            yield _unfencing(node)
        case FenceState.TOO_EARLY:
            yield qos("fence node/{}", node, comment="again, in a minute")
        case FenceState.FENCED:
            yield from deletions(report.node) if report.node is not None and report.left.staying else ()
            yield qos("unfence node/{}", node, comment="once the machine is back")
        case _ if report.outcome is StepOutcome.NOT_CONFIRMED:
            if fence_command:
                # As a flag: the environment variable may not be set where this is pasted.
                yield qos(
                    "fence node/{}",
                    node,
                    options="--confirm",
                    typed=(("--fence-command", fence_command),),
                    changes=True,
                    comment="runs the fence command",
                )
            yield qos(
                "fence node/{}",
                node,
                options="--confirm-powered-off",
                changes=True,
                comment="once you know that it is off",
            )


def _unfencing(node: str) -> Command:
    return qos("unfence node/{}", node, options="--confirm", changes=True)


def unfence_page(report: FenceReport, *, now: datetime | None) -> Page:
    """What `unfence` would change, and what that means."""
    fenced = report.state in _AS_ASKED[True]
    return Page(
        title=f"node/{report.name}",
        verdict=tuple(_unfence_verdict(report, now)),
        severity=Severity.NOTICE if fenced else Severity.FINE,
        parts=(versions_section(report.version_notes),),
        next_commands=(_unfencing(report.name),) if fenced and report.refusal is None else (),
    )


def _unfence_verdict(report: FenceReport, now: datetime | None) -> Iterator[str]:
    since = report.node.out_of_service_at if report.node is not None else None
    when = f" since {clock(since, now)}" if since is not None else ""
    if report.refusal is not None:
        yield from refused_sentences("Not taken back, and --confirm does not help", report.refusal)
    lead = "" if report.refusal is not None else "Not taken back: add --confirm. "
    match report.state:
        case FenceState.BACK:
            yield f"{lead}It answers again, and is declared out of service{when}."
        case FenceState.FENCED:
            yield f"{lead}It is declared out of service{when}, and still silent."
            if report.left.pods:
                count = counted(len(report.left.pods), "pod")
                yield f"Garbage collection would leave {count} Terminating that it removes now."
        case _:
            yield "Nothing to do: it is not declared out of service."


def state_words(report: FenceReport, *, sure: bool) -> Iterator[str | Prose]:
    """What was done before an interruption, and how to continue; ``sure``: the last request was answered."""
    reached = {step.kind for step in report.steps}
    node = f"node/{report.name}"
    undo = _unfencing(report.name)
    if reached & {StepKind.TAINTED, StepKind.GOING_ON}:
        yield f"{node} is declared out of service; pods and volumes are removed without further action."
        if rest := [
            *(f"pod {pod}" for pod in report.left.pods),
            *(f"volume {name}" for name in report.left.attachments),
        ]:
            yield f"Still to be removed: {listed(rest, most=_MAX_NAMED)}."
        yield Prose((Hint(qos("fence node/{}", report.name), "To go on: "),))
        yield Prose((Hint(undo, "To undo, as far as nothing is removed yet: "),))
    elif StepKind.UNTAINTED in reached:
        yield f"{node} is taken back."
    elif reached & {StepKind.TAINTING, StepKind.UNTAINTING} and not sure:
        yield f"Unknown whether the taint of {node} was changed: there was no answer. Nothing else was changed."
        yield Prose((Hint(qos("partitions"), "To check: "),))
        yield "The same command continues from there."
        yield Prose((Hint(undo, "To undo it: "),))
    elif StepKind.FENCE_COMMAND_DONE in reached:
        yield f"The fence command has run; {node} is not declared out of service. The same command runs both again."
    elif StepKind.FENCE_COMMAND in reached:
        yield f"The fence command was interrupted: it is unknown whether the machine of {node} is off."
        yield "Nothing in the cluster was changed."
    else:
        yield "Nothing was changed."
