"""The text of steps: one line each, with its time."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Final

from kubectl_plugin.render.command import Hint, Prose, can_i
from kubectl_plugin.reports.steps import Refusal, RefusedBy, StepEvent, StepKind, StepOutcome
from kubectl_plugin.reports.verdict import Severity, Verdict, VerdictCode
from kubectl_plugin.views.words import counted, listed
from podrules.node.lost_node import TAINT

TAINT_TEXT: Final = TAINT.text
_REMEDIES: Final = {
    RefusedBy.RIGHTS: "Ask an administrator of the cluster for this right",
    RefusedBy.ADMISSION: "Do what its reason asks for, or ask the team that runs it",
    RefusedBy.API_SERVER: "Correct what it names, then run the same command again",
}
"""The remedies by what refused; for other refusals the command names the remedy."""

_SEVERITIES: Final = {
    StepOutcome.NOT_CONFIRMED: Severity.NOTICE,
    StepOutcome.NOT_POSSIBLE: Severity.TROUBLE,
    StepOutcome.REFUSED: Severity.TROUBLE,
    StepOutcome.NOTHING_AT_STAKE: Severity.FINE,
    StepOutcome.DRY_RUN: Severity.NOTICE,
    StepOutcome.DONE: Severity.FINE,
    StepOutcome.UNDER_WAY: Severity.NOTICE,
    StepOutcome.FAILED: Severity.TROUBLE,
    StepOutcome.INTERRUPTED: Severity.TROUBLE,
}


def outcome_verdict(outcome: StepOutcome, sentences: tuple[str, ...]) -> Verdict:
    """The verdict on a change: its code is the outcome."""
    return Verdict(VerdictCode(outcome.value), _SEVERITIES[outcome], sentences)


def remedy(refusal: Refusal) -> Prose:
    """What to do about a refusal; empty if its message says it."""
    words = _REMEDIES.get(refusal.by)
    if words is None:
        return Prose(())
    if not refusal.verb:
        return Prose((f"{words}.",))
    return Prose((words, Hint(can_i(refusal.verb, refusal.resource, refusal.namespace), " (", ")"), "."))


def refused_sentences(lead: str, refusal: Refusal) -> tuple[str, ...]:
    """``Not deleted: you may not delete pods in namespace shop. Nothing was changed. Ask …``."""
    helps = "".join(part for part in remedy(refusal).parts if isinstance(part, str))
    return tuple(filter(None, (f"{lead}: {refusal.message.rstrip('.')}.", "Nothing was changed.", helps)))


def unanswered(lead: str) -> str:
    """The sentence about a change that stopped before its first step."""
    return f"{lead}: the cluster did not answer. Nothing was changed."


def step_line(step: StepEvent, at: datetime) -> str:
    """``03:12:04 UTC  deleting pod/db-1 …``."""
    return f"{at:%H:%M:%S} UTC  {step_words(step)}"


def step_words(step: StepEvent) -> str:
    """The text of a step without its time."""
    return _WORDS[step.kind](step)


_WORDS: Final[dict[StepKind, Callable[[StepEvent], str]]] = {
    StepKind.DRY_RUN: lambda step: f"dry run: the API server would do it; {step.subject} is unchanged",
    StepKind.DELETING: lambda step: (
        f"deleting {step.subject} with {step.number} s of grace, if its uid is still {step.detail}"
    ),
    StepKind.DELETED: lambda step: (
        f"{step.subject} is deleted: the kubelet of {step.detail} stops it, SIGKILL after {step.number} s at the latest"
        if step.detail
        else f"{step.subject} is deleted"
    ),
    StepKind.DELETED_BEFORE: lambda step: (
        f"{step.subject} was already marked for deletion: that stop continues, and its period can only get shorter"
    ),
    StepKind.CONFIRMING: lambda step: f"the namespace requires a confirmation: annotating {step.subject} {step.detail}",
    StepKind.CONFIRMED: lambda step: f"{step.subject} carries the confirmation",
    StepKind.WARNING: lambda step: f"Warning: {step.detail}",
    StepKind.CONTAINER_ENDED: lambda step: (
        f"container {step.subject} ended with exit code {step.number}{f' ({step.detail})' if step.detail else ''}"
    ),
    StepKind.KEPT_BY_FINALIZERS: lambda step: (
        f"nothing of {step.subject} runs any more; finalizer {', '.join(step.names)} keeps the object"
    ),
    StepKind.OVERDUE: lambda step: (
        f"its grace period is over, and the kubelet of {step.detail} has not confirmed that it stopped"
    ),
    StepKind.NODE_SILENT: lambda step: (
        f"{step.detail} is silent: {step.subject} stays Terminating, and it is not confirmed that it stopped"
    ),
    StepKind.REPLACED: lambda step: f"a new {step.subject} exists, uid {step.detail}",
    StepKind.GONE: lambda step: f"{step.subject} is gone",
    StepKind.NO_ANSWER: lambda step: f"no answer for the moment, asking again: {step.detail}",
    StepKind.FENCE_COMMAND: lambda step: f"running the fence command, {step.number} s at most: {step.detail}",
    StepKind.FENCE_COMMAND_DONE: lambda _: "the fence command ended with exit code 0",
    StepKind.FENCE_COMMAND_FAILED: lambda step: (
        f"the fence command failed, nothing in the cluster is changed: {step.detail}"
    ),
    StepKind.FENCE_COMMAND_LEFT_OUT: lambda step: f"dry run: the fence command is not run: {step.detail}",
    StepKind.VOUCHED: lambda step: f"you confirm that the machine of {step.subject} is off (--confirm-powered-off)",
    StepKind.TAINTING: lambda step: (
        f"tainting {step.subject} {TAINT_TEXT}, if it has not changed since resourceVersion {step.detail}"
    ),
    StepKind.TAINTED: lambda step: f"{step.subject} is declared out of service",
    StepKind.ALREADY_FENCED: lambda step: (
        f"{step.subject} was declared out of service by another client at the same time"
    ),
    StepKind.ALREADY_UNFENCED: lambda step: f"{step.subject} was taken back by another client at the same time",
    StepKind.GOING_ON: lambda step: f"{step.subject} is declared out of service already: continuing from there",
    StepKind.UNTAINTING: lambda step: (
        f"removing taint {TAINT.key} from {step.subject}, if it has not changed since resourceVersion {step.detail}"
    ),
    StepKind.UNTAINTED: lambda step: f"{step.subject} is no longer declared out of service",
    StepKind.WAITING: lambda step: (
        f"waiting for {listed(step.names, most=3) or 'no pod'} and "
        f"{counted(step.number or 0, 'volume')} to be removed; garbage collection runs every 20 s"
    ),
    StepKind.POD_REMOVED: lambda step: f"pod {step.subject} is gone",
    StepKind.DETACHED: lambda step: f"volume {step.subject} is detached",
    StepKind.ALL_REMOVED: lambda step: f"nothing is left to remove from {step.subject}",
    StepKind.STAYING: lambda step: f"staying, because the taints of the node are tolerated: {', '.join(step.names)}",
    StepKind.NODE_BACK: lambda step: f"{step.subject} answers again: its own kubelet ends what is being deleted there",
}
