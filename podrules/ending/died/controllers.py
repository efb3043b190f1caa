"""What a pod's controller tells of having deleted it.

    says so       event SuccessfulDelete about the controller names the pod, and is not from before the pod was made:
                  the next pod of a StatefulSet has the same name
    Job           for its own end: one of its conditions or events says so at the same time. Else it made fewer pods at
                  once
    cleaned up    it deletes a pod that had ended before, and says so in another event: that deletion ended nothing
    a Job         that has no condition of an end, and was not suspended since the pod was made, deleted it for neither;
                  one of generation 1 has the parallelism that it had
    silence       counts only of Kubernetes' own controllers, where no event can be missing or still be on its way
    no dash       all of them end the name of a pod with one: a pod without has none of them

Source: pkg/controller/controller_utils.go (DeletePod), pkg/controller/job/job_controller.go (deleteActivePods,
trackJobStatusAndRemoveFinalizers), pkg/controller/statefulset/stateful_pod_control.go (recordPodEvent) at v1.36.3.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Final

from podrules.api.model.base import Condition
from podrules.api.model.event import Event
from podrules.api.model.instant import instant
from podrules.ending.died.cause import Cause
from podrules.ending.died.evidence import Evidence, PodEvents
from podrules.ending.died.messages import CLEANED_UP, deleted_name, tells_of_pod
from podrules.ending.died.scaling import scaling_clues
from podrules.ending.died.verdict import Clue, Source, of_event

__all__ = [
    "CONTROLLERS",
    "cleaned_up",
    "excluded_controllers",
    "job_may_have_ended",
    "node_cleaned_up",
    "told_by_controller",
]

CONTROLLERS: Final = frozenset({"ReplicaSet", "StatefulSet", "DaemonSet", "Job", "ReplicationController"})
"""Kinds whose controllers tell of each pod that they delete."""
_JOB: Final = "Job"
_DASH: Final = "-"
_DELETE: Final = "SuccessfulDelete"
_JOB_ENDS: Final = ("Failed", "FailureTarget", "Complete", "SuccessCriteriaMet", "Suspended")
_ON_NODE: Final = re.compile(r" on node ([^\s,]{1,253}),")
_MAX_READ: Final = 1000
JOB_ENDS: Final = frozenset(
    {"BackoffLimitExceeded", "DeadlineExceeded", "PodFailurePolicy", "MaxFailedIndexesExceeded", "FailedIndexes"}
    | {"Completed", "Suspended"}
)
"""The reasons of events by which a Job says that it ended, or was suspended."""
_NEAR: Final = timedelta(seconds=10)
"""Between a Job's condition and the deletions that follow from it."""


def told_by_controller(evidence: Evidence, made: datetime | None) -> dict[Cause, list[Clue]]:
    """The causes for which its controller says that it deleted the pod; none: it does not say so.

    Args:
        evidence: What is known.
        made: When the pod was made; None: that is not known.
    """
    if cleaned_up(evidence, made) is not None:
        return {}
    for event, when in _deletions(evidence):
        if made is not None and when <= made:
            break
        clues = [of_event(event, Source.OWNER_EVENT), *scaling_clues(evidence.scalings, evidence.name, when)]
        return {cause: [*clues, *more] for cause, more in _causes(evidence, event, when)}
    return {}


def cleaned_up(evidence: Evidence, made: datetime | None) -> Clue | None:
    """What its controller says of deleting it because it had ended; None: it does not say so.

    Args:
        evidence: What is known.
        made: When the pod was made; None: that is not known.
    """
    for event in reversed(evidence.known_owner_events.named(*CLEANED_UP)):
        when = instant(event.last)
        if tells_of_pod(event.message, evidence.name) and when is not None and (made is None or when >= made):
            return of_event(event, Source.OWNER_EVENT)
    return None


def node_cleaned_up(events: PodEvents, pod: str) -> str:
    """The node of a pod that a DaemonSet deleted because it had ended, by the event; empty: none names it."""
    told = (event.message[:_MAX_READ] for event in events.named(*CLEANED_UP))
    return next((found[1] for text in told if tells_of_pod(text, pod) and (found := _ON_NODE.search(text))), "")


def _deletions(evidence: Evidence) -> Iterator[tuple[Event, datetime]]:
    """The events by which the controller tells that it deleted a pod of that name, the latest first."""
    for event in reversed(evidence.known_owner_events.named(_DELETE)):
        when = instant(event.last)
        if deleted_name(event.message) == evidence.name and when is not None:
            yield event, when


def _causes(evidence: Evidence, event: Event, when: datetime) -> Iterator[tuple[Cause, list[Clue]]]:
    if event.involved_object.kind != _JOB:
        yield Cause.OWNER, []
        return
    ends = [_of_condition(one) for one in _ends_of_job(evidence, when)]
    for told in evidence.known_owner_events.named(*JOB_ENDS) if not ends else ():
        since = instant(told.last)
        if since is not None and abs(since - when) <= _NEAR:
            ends.append(of_event(told, Source.OWNER_EVENT))
    if ends:
        yield Cause.JOB_ENDED, ends
        return
    yield Cause.OWNER, []
    if evidence.owner is None:
        yield Cause.JOB_ENDED, []


def _ends_of_job(evidence: Evidence, when: datetime) -> Iterator[Condition]:
    """The conditions by which the Job ended, or was suspended, at the time of a deletion."""
    for condition in evidence.owner.status.conditions if evidence.owner is not None else ():
        since = instant(condition.last_transition_time)
        over = condition.type in _JOB_ENDS and condition.status == "True"
        if over and since is not None and abs(since - when) <= _NEAR:
            yield condition


def _of_condition(condition: Condition) -> Clue:
    said = f"{condition.type}: {condition.reason}: {condition.message}"
    return Clue(Source.OWNER, "status.conditions", said, condition.last_transition_time)


def job_may_have_ended(evidence: Evidence) -> bool:
    """Whether a Job has ended or is suspended, whenever that was."""
    return evidence.owner is not None and any(map(evidence.owner.status.is_true, _JOB_ENDS))


def excluded_controllers(evidence: Evidence, made: datetime | None, ended: datetime | None) -> frozenset[Cause]:
    """The causes by which no controller can have deleted a pod.

    Args:
        evidence: What is known.
        made: When the pod was made, or the first that is known of it.
        ended: When it was deleted.
    """
    both = frozenset({Cause.OWNER, Cause.JOB_ENDED})
    pod = evidence.pod
    controller = pod.metadata.controller if pod is not None else evidence.controller
    if pod is None and _DASH not in evidence.name:
        return both
    if pod is not None and not pod.metadata.owner_references:
        return both
    if cleaned_up(evidence, made) is not None:
        return both
    if controller is None:
        return frozenset({Cause.JOB_ENDED}) if pod is not None else frozenset()
    alone = pod is None or len(pod.metadata.owner_references) == 1
    told = evidence.owner_events
    settled = ended is not None and evidence.is_settled(ended)
    heard = told is not None and told.complete_since(made) and settled and not evidence.owner_gone
    # In the second in which it was made, it may be this pod's or the one before it.
    named = any(made is None or when >= made for _, when in _deletions(evidence))
    if alone and heard and not named and controller.kind in CONTROLLERS:
        return both
    if controller.kind != _JOB:
        return frozenset({Cause.JOB_ENDED})
    if not alone or named or not _goes_on(evidence, made, ended):
        return frozenset()
    # A Job that nobody changed has the parallelism that it had; of an index it may have made two pods.
    job = evidence.owner
    as_made = job is not None and job.metadata.generation == 1 and job.spec.completion_mode != "Indexed"
    return both if as_made else frozenset({Cause.JOB_ENDED})


def _goes_on(evidence: Evidence, made: datetime | None, ended: datetime | None) -> bool:
    """Whether the Job of a pod is there, and had neither ended nor been suspended when that was deleted."""
    job, now = evidence.owner, evidence.now
    began = instant(job.metadata.creation_timestamp) if job is not None else None
    if job is None or began is None or made is None or ended is None or now is None:
        return False
    resumed = job.status.condition("Suspended", "False")
    since = began if resumed is None else instant(resumed.last_transition_time)
    if since is None or max(began, since) > made or now - ended <= _NEAR:
        return False
    return not (evidence.owner_gone or job.spec.suspend or job_may_have_ended(evidence))
