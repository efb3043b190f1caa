"""How a pod ends, in words: when it was deleted, when its processes end, and what keeps its object."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Final

from kubectl_plugin.render.command import Command, kubectl
from kubectl_plugin.render.page import Row
from kubectl_plugin.reports.pod.pod_report import PodReport
from kubectl_plugin.views.node.node_words import NOT_KNOWN
from kubectl_plugin.views.node.silent_node import ended_line, quiet_node, quiet_stop_lines
from kubectl_plugin.views.pod.admission_words import CONFIGURATIONS
from kubectl_plugin.views.pod.health_words import running_names
from kubectl_plugin.views.pod.safety_words import holder_words
from kubectl_plugin.views.words import clock, listed
from podrules.api.model.instant import later
from podrules.ending.deleted_pod import JOB_TRACKING, PATIENCE, Ending
from podrules.pod.platform import Platform
from podrules.pod.termination import MINIMUM_GRACE_PERIOD_SECONDS, GraceSource

STATIC_STOP: Final = "a delete stops nothing: it is a static pod, and its kubelet recreates its mirror in the API"
_SPEC: Final = "spec.terminationGracePeriodSeconds"
_UNCONFIRMED: Final = "The kubelet has not confirmed yet that its processes are gone."
_CLEANS_UP: Final = "its kubelet removes the object once it has cleaned up"
_MIRROR: Final = "metadata.annotations[kubernetes.io/config.mirror]"


def deletion_time(ending: Ending, now: datetime | None) -> str:
    """``03:02:04 UTC``; "or before" after a second delete; "or after" if nothing shows how much later it was."""
    if ending.deleted_at is None:
        return "an unknown time"
    more = " or after" if ending.deletion_time_unknown else " or before" if ending.deleted_earlier else ""
    return f"{clock(ending.deleted_at, now)}{more}"


def ending_sentences(report: PodReport, lead: str, now: datetime | None) -> tuple[tuple[str, ...], bool]:
    """The verdict on a pod that is being deleted, on a node that answers, and whether it is late.

    It begins with ``lead``: since when it is being deleted, and with what grace.
    """
    ending = report.ending
    held = holder_words(ending.finalizers) if ending.finalizers else ""
    if ending.static:
        return (
            f"{lead}: its mirror in the API is removed, and the kubelet recreates it. Its processes run on.",
        ), False
    if not ending.processes:
        on_node = report.status is not None and report.status.node is not None
        ended = "its processes have ended" if on_node else "no process of it runs"
        if held:
            return (f"{lead}: {ended}, {held}.", *tracking_sentences(report, now)), False
        return (f"{lead}: {ended}. {_sentence(_CLEANS_UP)}",), False
    if ending.ends_by is None:
        return (f"{lead}.",), False
    by, then = clock(ending.ends_by, now), (f"Then {holder_words(ending.holders)}.",) if ending.holders else ()
    if now is not None and now > ending.ends_by:
        runs = running_names(report)
        still = f"; {runs} by its status" if runs else ""
        return (f"{lead}: overdue since {by}{still}.", _UNCONFIRMED, *then), ending.is_late(now)
    if ending.grace.first is not None:
        second = "That may be a second delete's period, which does not shorten the stop in flight."
        return (f"{lead}: its processes may run until {by}.", second, *then), False
    return (f"{lead}: it ends by {by}.", *then), False


def kept_words(ending: Ending, now: datetime | None) -> str:
    """Why a pod that is being deleted still exists, on a node that answers; empty until its time is over."""
    if not ending.processes:
        return holder_words(ending.finalizers) if ending.finalizers else ""
    if ending.ends_by is None or now is None or now <= ending.ends_by:
        return ""
    return f"overdue since {clock(ending.ends_by, now)}, its kubelet has not confirmed that its processes are gone"


def tracking_sentences(report: PodReport, now: datetime | None) -> Iterator[str]:
    """What to do if the Job controller should have removed its finalizer by now."""
    tracking, deleted_at = report.tracking, report.ending.deleted_at
    if tracking is None or deleted_at is None or now is None or report.ending.processes:
        return
    if now <= later(deleted_at, report.ending.grace.longest + PATIENCE.total_seconds()):
        return
    which = f"finalizer {JOB_TRACKING}"
    it, which = (which, which) if len(report.ending.finalizers) > 1 else ("it", "the finalizer")
    if tracking.exists:
        yield f"Job {tracking.job} exists: do not remove {it} by hand, because the Job would count wrong."
    elif tracking.exists is None:
        yield f"Check whether Job {tracking.job} exists (kubectl get job)."
        yield f"If it does not, no Job counts the pod: remove {which} (kubectl patch pod)."
    else:
        what = f"its Job {tracking.job} does not exist" if tracking.job else "it has no Job"
        yield f"The Job controller should have removed {it}, because {what}: no Job counts the pod."
        yield f"Remove {which} (kubectl patch pod)."
    # Source: "My pod stays terminating" in kubernetes.io/docs/tasks/debug/debug-application/debug-pods.
    yield (
        "A webhook that changes or refuses pods on UPDATE blocks the Job controller and a patch: limit it to CREATE."
    )


def tracking_commands(report: PodReport, now: datetime | None) -> Iterator[Command]:
    """The check, and the removal."""
    tracking = report.tracking
    if tracking is None or not any(tracking_sentences(report, now)):
        return
    yield kubectl(CONFIGURATIONS)
    if tracking.job:
        yield kubectl("get job {}", tracking.job, namespace=report.namespace)
    # It removes all finalizers.
    if not tracking.exists and len(report.ending.finalizers) == 1:
        yield kubectl(
            "patch pod {}",
            report.name,
            namespace=report.namespace,
            typed=(("--patch", '{"metadata":{"finalizers":null}}'),),
            changes=True,
            comment="if that Job does not exist" if tracking.exists is None else "",
        )


def held_by(report: PodReport, now: datetime | None) -> Iterator[str]:
    """What keeps the object of a pod that is being deleted, a sentence each: first its node, then finalizers."""
    ending, quiet = report.ending, quiet_node(report)
    if quiet is None and not ending.processes and ending.finalizers:
        yield f"Its processes have ended; {holder_words(ending.finalizers)}."
        return
    if quiet is not None:
        yield _sentence(ended_line(report, quiet, now))
    else:
        yield _UNCONFIRMED if ending.processes else f"Its processes have ended; {_CLEANS_UP}."
    if ending.holders:
        yield f"Then {holder_words(ending.holders)}."


def _sentence(words: str) -> str:
    return f"{words[:1].upper()}{words[1:]}."


def stop_lines(report: PodReport, now: datetime | None, *, wide: bool) -> Iterator[str | Row]:
    """When and how its processes end; ``wide`` adds every container's way and the kubelet's eviction."""
    plan, ending = report.termination, report.ending
    if plan.grace.source is GraceSource.NOT_SCHEDULED:
        yield "at once: it is on no node yet (spec.nodeName is empty)"
        yield from _holders(ending)
        return
    if not plan.processes:
        yield from _nothing_runs(report, now)
        return
    if (quiet := quiet_node(report)) is not None:
        yield from quiet_stop_lines(report, quiet, now)
        return
    if report.platform is Platform.VIRTUAL_KUBELET:
        yield NOT_KNOWN
        return
    if ending.static:
        node = report.status.node.name if report.status is not None and report.status.node is not None else "its node"
        yield f"{STATIC_STOP} ({_MIRROR})" if wide else "a delete stops nothing: it is a static pod"
        yield f"removing its manifest on {node} stops it, with {ending.grace.seconds} s{f' ({_SPEC})' if wide else ''}"
        if wide:
            yield from _eviction_words(report)
        return
    if not wide:
        yield from _briefly(report, now)
        return
    yield _deletion_words(report, now)
    if ending.deleted_at is not None and ending.grace.first is not None:
        yield (
            f"its stop may have begun with {ending.grace.first} s ({_SPEC}): a second delete shortens only the "
            "period of the object"
        )
    for stop in plan.containers:
        hook = ""
        if stop.pre_stop is not None:
            most = "" if stop.pre_stop_earliest == stop.pre_stop_latest else "up to "
            field = f"{stop.field}.lifecycle.preStop.{stop.pre_stop}"
            hook = f"preStop {stop.pre_stop} for {most}{stop.pre_stop_latest} s ({field}), then "
        when = "" if hook else " at once"
        if stop.waits:
            when = f" once the containers before it ended, at {stop.sigterm_latest} s at the latest"
        yield Row((stop.name, f"{hook}{stop.stop_signal}{when}; SIGKILL by {stop.sigkill_latest} s"))
    for one in report.probe_stops:
        yield Row((one.container, f"{one.probe} fails: SIGKILL after {one.sigkill_latest} s ({one.field})"))
    if not plan.containers:
        yield "no container of it runs now: nothing has to stop"
    yield from _holders(ending)
    yield from _eviction_words(report)


def _briefly(report: PodReport, now: datetime | None) -> Iterator[str]:
    """``grace 30 s after a delete, SIGKILL by 32 s; preStop up to 5 s``: the containers in one line."""
    stops, deleted = report.termination.containers, report.ending.deleted_at is not None
    grace = report.termination.grace.seconds
    lead = _deletion_words(report, now) if deleted else f"grace {grace} s after a delete" if grace else "grace 0 s"
    if not stops:
        yield f"{lead}; no container of it runs now: nothing has to stop"
    else:
        last = max(stop.sigkill_latest for stop in stops)
        gone = not deleted and report.termination.object_removed_at_once
        at_once = "; a delete removes the object at once" if gone else ""
        hooks = [stop.pre_stop_latest for stop in stops if stop.pre_stop is not None]
        hook = f"; preStop up to {max(hooks)} s" if hooks else ""
        yield f"{lead}{';' if deleted else ','} SIGKILL by {last} s{at_once}{hook}"
        own = [one for one in report.probe_stops if one.field != _SPEC]
        if own:
            yield f"after a failed probe {listed([f'{one.seconds} s ({one.container}, {one.probe})' for one in own])}"
    yield from _holders(report.ending)


def _holders(ending: Ending) -> Iterator[str]:
    if ending.holders:
        yield f"then {holder_words(ending.holders)} (metadata.finalizers)"


def _nothing_runs(report: PodReport, now: datetime | None) -> Iterator[str]:
    """The lines about a pod that has finished, or has stopped."""
    finished = report.termination.grace.source is GraceSource.FINISHED
    fact = f"no process of it runs any more ({'status.phase' if finished else 'status.containerStatuses'})"
    deleted = report.ending.deleted_at is not None
    if report.ending.finalizers:
        after = "" if deleted else "after a delete "
        yield f"{fact}; {after}{holder_words(report.ending.finalizers)} (metadata.finalizers)"
    elif deleted and (quiet := quiet_node(report)) is not None:
        yield f"{fact}; {ended_line(report, quiet, now)}"
    elif deleted:
        yield f"{fact}; {_CLEANS_UP}"
    else:
        yield f"{fact}: a delete removes the object at once"


def _deletion_words(report: PodReport, now: datetime | None) -> str:
    plan, ending = report.termination, report.ending
    if ending.deleted_at is not None:
        given = ending.grace.seconds if ending.grace.given is None else ending.grace.given
        second = "a second delete may shorten that, never lengthen it, and does not stop processes sooner"
        return f"marked for deletion at {deletion_time(ending, now)}, with {given} s; {second}"
    if plan.grace.seconds == 0:
        when = "at once" if plan.object_removed_at_once else "once its finalizers are"
        return f"the object is gone {when} ({_SPEC} is 0); processes get {MINIMUM_GRACE_PERIOD_SECONDS} s more"
    return f"grace {plan.grace.seconds} s after a delete ({_SPEC})"


def _eviction_words(report: PodReport) -> Iterator[str]:
    hard = report.hard_eviction
    if report.platform is not Platform.LINUX:
        return
    if hard is None:
        yield "the kubelet never evicts it: it is critical"
    else:
        yield f"evicted at a hard threshold: SIGKILL after {hard.sigkill_latest} s"
    if (soft := report.soft_eviction) is not None:
        most = "evictionMaxPodGracePeriod, or its own grace if shorter"
        yield f"evicted at a soft threshold: SIGKILL after {soft.sigkill_latest} s ({most})"
