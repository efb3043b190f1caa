"""What a controller shows about the deletion of its pod, and why it reduced its pods.

The deletion, by the controller's events and conditions:

    says so       event SuccessfulDelete about the controller names the pod, and is not older than the pod:
                  the next pod of a StatefulSet has the same name
    Job           it deleted the pod because it ended itself if one of its conditions or events says so at the same
                  time; else its parallelism was reduced
    cleaned up    it deletes a pod that had ended before, and says so in another event: that deletion ended nothing
    a Job         without a condition of an end, and not suspended since the pod was created, did not delete the pod for
                  either; at generation 1 its parallelism has not changed
    silence       is evidence only for Kubernetes' own controllers, if no event can be missing or still be on its way
    no dash       all of these controllers put a dash into pod names: none of them owns a pod without a dash

Source: pkg/controller/controller_utils.go (DeletePod), pkg/controller/job/job_controller.go (deleteActivePods,
trackJobStatusAndRemoveFinalizers), pkg/controller/statefulset/stateful_pod_control.go (recordPodEvent) at v1.36.3.

Fewer pods, by the events of a Deployment and a HorizontalPodAutoscaler:

    ScalingReplicaSet   "Scaled down replica set web-7d9f from 3 to 2": from the Deployment, before its ReplicaSet
                        deletes. Kubernetes before 1.26 leaves out "from 3"
    SuccessfulRescale   "New size: 2; reason: All metrics below target": from the autoscaler, seconds earlier. It does
                        not name the Deployment: it counts if the size is the same and the autoscaler has the
                        Deployment's name, and only as probable
    "Scaled up …"       of another ReplicaSet of the Deployment minutes before: a rollout

Source: pkg/controller/deployment/sync.go (scaleReplicaSet), pkg/controller/podautoscaler/horizontal.go
(reconcileAutoscaler) at v1.36.3.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta
from typing import Final

from podrules.api.model.event import Event
from podrules.api.model.instant import instant, later
from podrules.ending.died.cause import Cause, Clue, EvidenceSource, Family, causes_of, of_event
from podrules.ending.died.evidence import Evidence, PodEvents
from podrules.ending.died.messages import CLEANED_UP, deleted_name, names_pod

CONTROLLERS: Final = frozenset({"ReplicaSet", "StatefulSet", "DaemonSet", "Job", "ReplicationController"})
"""Kinds with controllers that write an event for each pod that they delete."""
_JOB: Final = "Job"
_DASH: Final = "-"
_DELETE: Final = "SuccessfulDelete"
_JOB_ENDS: Final = ("Failed", "FailureTarget", "Complete", "SuccessCriteriaMet", "Suspended")
_ON_NODE: Final = r" on node ([^\s,]{1,253}),"
_MAX_READ: Final = 1000
JOB_ENDS: Final = frozenset(
    {"BackoffLimitExceeded", "DeadlineExceeded", "PodFailurePolicy", "MaxFailedIndexesExceeded", "FailedIndexes"}
    | {"Completed", "Suspended"}
)
"""The reasons of events that show the end or the suspension of a Job."""
_NEAR: Final = timedelta(seconds=10)
"""Between a Job's condition and the deletions that follow from it."""
SCALED: Final = "ScalingReplicaSet"
RESCALED: Final = "SuccessfulRescale"
_DOWN: Final = r"Scaled down replica set (\S{1,253})(?: from \d{1,10})? to (\d{1,10})"
_NEW_SIZE: Final = r"New size: (\d{1,10});"
_UP: Final = r"Scaled up replica set (\S{1,253})"
_ROLLOUT: Final = 600
"""The seconds between a step of a rollout and the previous step."""
_BEFORE: Final = 60
"""The seconds between the request for fewer pods and a deletion."""
_AFTER: Final = 2


def causes_from_controller(evidence: Evidence, made: datetime | None) -> dict[Cause, list[Clue]]:
    """The causes for which its controller says that it deleted the pod; empty: it does not say so.

    ``made``: when the pod was created; None: that is not known.
    """
    if cleaned_up(evidence, made) is not None:
        return {}
    for event, when in _deletions(evidence):
        if made is not None and when <= made:
            break
        clues = [of_event(event, EvidenceSource.OWNER_EVENT), *scaling_clues(evidence.scalings, evidence.name, when)]
        return {cause: [*clues, *more] for cause, more in _causes(evidence, event, when)}
    return {}


def cleaned_up(evidence: Evidence, made: datetime | None) -> Clue | None:
    """The controller's event that it deletes the pod because it had ended; None: no such event exists."""
    for event in reversed(evidence.known_owner_events.named(*CLEANED_UP)):
        when = instant(event.last)
        if names_pod(event.message, evidence.name) and when is not None and (made is None or when >= made):
            return of_event(event, EvidenceSource.OWNER_EVENT)
    return None


def node_cleaned_up(events: PodEvents, pod: str) -> str:
    """The node of a pod that a DaemonSet deleted because it had ended, from the event; empty: no event names it."""
    texts = (event.message[:_MAX_READ] for event in events.named(*CLEANED_UP))
    return next((found[1] for text in texts if names_pod(text, pod) and (found := re.search(_ON_NODE, text))), "")


def _deletions(evidence: Evidence) -> Iterator[tuple[Event, datetime]]:
    """The events that the controller deleted a pod of that name, the latest first."""
    for event in reversed(evidence.known_owner_events.named(_DELETE)):
        when = instant(event.last)
        if deleted_name(event.message) == evidence.name and when is not None:
            yield event, when


def _causes(evidence: Evidence, event: Event, when: datetime) -> Iterator[tuple[Cause, list[Clue]]]:
    if event.involved_object.kind != _JOB:
        yield Cause.OWNER, []
        return
    ends = []
    for condition in evidence.owner.status.conditions if evidence.owner is not None else ():
        since = instant(condition.last_transition_time)
        over = condition.type in _JOB_ENDS and condition.status == "True"
        if over and since is not None and abs(since - when) <= _NEAR:
            said = f"{condition.type}: {condition.reason}: {condition.message}"
            ends.append(Clue(EvidenceSource.OWNER, "status.conditions", said, condition.last_transition_time))
    for end in evidence.known_owner_events.named(*JOB_ENDS) if not ends else ():
        since = instant(end.last)
        if since is not None and abs(since - when) <= _NEAR:
            ends.append(of_event(end, EvidenceSource.OWNER_EVENT))
    if ends:
        yield Cause.JOB_ENDED, ends
        return
    yield Cause.OWNER, []
    if evidence.owner is None:
        yield Cause.JOB_ENDED, []


def job_may_have_ended(evidence: Evidence) -> bool:
    """Whether a Job has ended or is suspended, at any time."""
    return evidence.owner is not None and any(map(evidence.owner.status.is_true, _JOB_ENDS))


def excluded_controllers(evidence: Evidence, made: datetime | None, ended: datetime | None) -> frozenset[Cause]:
    """The causes that are excluded because no controller can have deleted the pod for them, at ``ended``.

    ``made``: when the pod was created, or its earliest known moment.
    """
    both = causes_of(Family.CONTROLLER)
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
    events = evidence.owner_events
    settled = ended is not None and evidence.is_settled(ended)
    heard = events is not None and events.complete_since(made) and settled and not evidence.owner_missing
    # In the second in which the pod was created, the deletion may be of this pod or of the previous one.
    named = any(made is None or when >= made for _, when in _deletions(evidence))
    if alone and heard and not named and controller.kind in CONTROLLERS:
        return both
    if controller.kind != _JOB:
        return frozenset({Cause.JOB_ENDED})
    if not alone or named or not _goes_on(evidence, made, ended):
        return frozenset()
    # An unchanged Job still has its original parallelism; for an index it may have created two pods.
    job = evidence.owner
    as_made = job is not None and job.metadata.generation == 1 and job.spec.completion_mode != "Indexed"
    return both if as_made else frozenset({Cause.JOB_ENDED})


def _goes_on(evidence: Evidence, made: datetime | None, ended: datetime | None) -> bool:
    """Whether the Job of a pod exists, and had neither ended nor been suspended when the pod was deleted."""
    job, now = evidence.owner, evidence.now
    began = instant(job.metadata.creation_timestamp) if job is not None else None
    if job is None or began is None or made is None or ended is None or now is None:
        return False
    resumed = job.status.condition("Suspended", "False")
    since = began if resumed is None else instant(resumed.last_transition_time)
    if since is None or max(began, since) > made or now - ended <= _NEAR:
        return False
    return not (evidence.owner_missing or job.spec.suspend or job_may_have_ended(evidence))


def scaling_clues(events: Iterable[Event], pod: str, deleted: datetime | None) -> list[Clue]:
    """The evidence that the ReplicaSet of a pod was scaled down right before a deletion; empty: none.

    The name of the pod is the name of its ReplicaSet, and a suffix.
    """
    found = list(events)
    for event in reversed(found):
        down = re.search(_DOWN, event.message[:_MAX_READ]) if event.reason == SCALED else None
        if down is not None and down[1] == pod.rpartition("-")[0] and _is_before(event, deleted):
            return [of_event(event, EvidenceSource.OWNER_EVENT), *_why(found, event, down[1], down[2])]
    return []


def _why(events: Iterable[Event], scaled: Event, replica_set: str, size: str) -> Iterator[Clue]:
    """The autoscaler's event, or the last one of a rollout."""
    when, ups = instant(scaled.last), []
    for event in events:
        up = re.search(_UP, event.message[:_MAX_READ]) if event.reason == SCALED else None
        same = event.involved_object.name == scaled.involved_object.name
        if up is not None and up[1] != replica_set and same and _is_before(event, when, _ROLLOUT):
            ups.append(of_event(event, EvidenceSource.OWNER_EVENT))
        new = re.search(_NEW_SIZE, event.message[:_MAX_READ]) if event.reason == RESCALED else None
        if new is not None and new[1] == size and same and _is_before(event, when):
            yield Clue(
                EvidenceSource.OWNER_EVENT, f"{RESCALED} of {event.involved_object.name}", event.message, event.last
            )
            return
    yield from ups[-1:]


def _is_before(event: Event, moment: datetime | None, seconds: int = _BEFORE) -> bool:
    when = instant(event.last)
    return when is not None and moment is not None and later(moment, -seconds) <= when <= later(moment, _AFTER)
