"""The state of a pod in words: its phase, the containers that do not run as they should, and repeated warnings."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Final

from kubectl_plugin.render.command import Command, kubectl, why
from kubectl_plugin.reports.pod.pod_report import PodReport
from kubectl_plugin.reports.pod.pod_risk import ephemeral_trouble, health_verdict, lately_ended
from kubectl_plugin.reports.verdict import Severity, Verdict, VerdictCode
from kubectl_plugin.views.died.start_errors import start_error
from kubectl_plugin.views.pod.container_words import container_words, end_words
from kubectl_plugin.views.words import clock, counted, cut, for_words, in_units, lasting, listed, quoted, when_words
from podrules.api.model.instant import instant
from podrules.api.model.pod import DEFAULT_SCHEDULER_NAME
from podrules.ending.stuck import Stuck, UnprocessedPod
from podrules.pod.container_state import OOM_KILLED, ContainerKind, ObservedContainer, StateKind
from podrules.pod.health import Health, TroubleKind

_CONTAINERS_NOT_READY: Final = "ContainersNotReady"
"""The reason of the Ready condition that adds nothing to the states of the containers."""
_MARKED: Final = (
    "its containers are ready, but the node controller marks pods not ready once their node's Ready is not True"
)
_KINDS: Final = {ContainerKind.INIT: "init container ", ContainerKind.SIDECAR: "sidecar "}
_MOST_NAMED: Final = 2
"""The most containers that are named with their trouble; the others are counted."""


def state_line(health: Health, now: datetime | None) -> str:
    """The first sentence about a pod that exists, without its full stop.

    ``Running and ready for 3 d``, ``Running, not ready: "app" CrashLoopBackOff, 12 restarts, last exit 1 (Error) 3 min
    ago``, ``Pending for 4 min: "app" ImagePullBackOff``, ``Failed: container "app" ended with exit 3 (Error)``.
    It does not cover a pod on a node that does not answer, or a pod that is being deleted.
    """
    return ": ".join(filter(None, _state(health, now)))


def _state(health: Health, now: datetime | None) -> tuple[str, str]:
    """The state, and what is known of its reason."""
    if health.phase in {"Failed", "Succeeded"}:
        # The state of a pod that has finished, and how its containers ended.
        lead = f"{health.phase} ({health.reason})" if health.reason else health.phase
        ends = [(one, one.end) for one in health.containers if one.end is not None]
        if health.phase == "Succeeded":
            last = max((end.finished_at for _, end in ends if end.finished_at), default=None)
            when = when_words(last, now)
            lead = f"{lead}{f' {when}' if when else ''}"
        said = [in_units(health.message).rstrip(". ")] if health.message and health.phase == "Failed" else []
        # The first container that ended is named with as many details as those that were killed with it.
        failed = [(one, end) for one, end in ends if end.exit_code]
        contradicted = any(one.kind is not ContainerKind.SIDECAR for one, _ in failed)
        if health.phase == "Succeeded" and not contradicted:
            # A sidecar is killed after the others, and its exit code does not count.
            said.append("every app container succeeded" if failed else "every container succeeded")
        for one, end in failed[:_MOST_NAMED]:
            said.append(f"{_named(one, app='container ')} ended with {end_words(end, one, now)}")
        if len(failed) > _MOST_NAMED:
            said.append(f"{len(failed) - _MOST_NAMED} more")
        if health.phase == "Succeeded" and contradicted:
            said.append("the phase says that all succeeded")
        return lead, "; ".join(said) or "the status does not say which container ended with an error"
    return lead_words(health, now), why_words(health, now)


def why_words(health: Health, now: datetime | None) -> str:
    """What is wrong with the containers of a pod that has not finished; empty if nothing is."""
    # Only the worst problem: the others often follow from it.
    why: list[str] = []
    broken = [*health.of_kind(TroubleKind.HELD_UP), *health.of_kind(TroubleKind.ENDED)]
    if broken:
        troubled = [health.container(trouble.container) for trouble in broken]
        why += _containers(_with_oom_killed(troubled, health), health, now)
    elif health.phase == "Pending":
        if not health.bound:
            why.append("not yet bound to a node")
        else:
            if health.initializing:
                why += _containers([health.container(health.initializing)], health, now)
                sidecar = health.container(health.initializing).kind is ContainerKind.SIDECAR
                why.append("the containers after it wait" if sidecar else "the containers after it wait for its end")
            why += _containers([one for one in health.oom_killed if one.name != health.initializing], health, now)
            starting = [trouble for trouble in health.of_kind(TroubleKind.STARTING) if trouble.reason]
            if not health.initializing and starting:
                names = [quoted(trouble.container) for trouble in starting]
                reasons = list(dict.fromkeys(trouble.reason for trouble in starting))
                why.append(f"{listed(names, most=_MOST_NAMED)} {listed(reasons)}")
            if health.no_sandbox:
                why.append("its sandbox and network are not ready (PodReadyToStartContainers False)")
            elif not health.containers:
                why.append("its kubelet has not reported its containers yet")
    elif not health.phase:
        why.append("status.phase is not set")
    elif health.phase == "Unknown":
        why.append("its state could not be read")
        why += _containers(health.oom_killed, health, now)
    elif health.ready is False:
        why += _not_ready(health, now)
    else:
        why += _containers(lately_ended(health, now), health, now)
    return "; ".join(why)


def state_verdict(health: Health, now: datetime | None) -> Verdict:
    """The state, its consequences and its severity: trouble if it does not run and will not run by itself."""
    code, severity = health_verdict(health, now)
    lead, why = _state(health, now)
    # The ephemeral containers that do not run as they should; they do not affect the state of the pod.
    debuggers = [
        f"Ephemeral container {quoted(one.name)} {container_words(one, now)}"
        f"{'; it is never restarted' if one.end is not None else ''}."
        for one in ephemeral_trouble(health, now)[:_MOST_NAMED]
    ]
    state = ": ".join(filter(None, (lead, why)))
    return Verdict(code, severity, (f"{state}.", *_further(health), *debuggers), lead=lead if why else "")


def _further(health: Health) -> Iterator[str]:
    """What follows from the state, a sentence each."""
    for one in health.oom_killed:
        if one.latest is not None and one.latest.exit_code == 0:
            if one.kind is ContainerKind.INIT and health.phase != "Running":
                yield "It failed despite exit code 0: for an init container only OOMKilled counts."
            else:
                yield "Only a child process was killed: the main process continued, and ended by itself with 0."
        if one.memory_limit is None and not health.memory_limited:
            yield (
                f"Neither container {quoted(one.name)} nor the pod has a memory limit: most likely the node ran out of "
                "memory."
            )
        elif one.memory_limit is None:
            yield (
                f"Container {quoted(one.name)} has no memory limit of its own: the status does not show whether the "
                "pod or the node ran out of memory."
            )
    for trouble in health.of_kind(TroubleKind.HELD_UP)[:1]:
        one = health.container(trouble.container)
        known = start_error(one.last.message if one.last is not None and one.last.message else one.message)
        if known is not None:
            remedy = known.remedy.format(limit=f" above {one.memory_limit}" if one.memory_limit else "")
            yield f"{remedy[:1].upper()}{remedy[1:]}."
    if health.phase == "Running" and not health.ready and not health.broken:
        yield "Services that select only ready pods send it no traffic."
        if health.unmet_gates:
            which = "each readiness gate" if len(health.unmet_gates) > 1 else "the readiness gate"
            yield f"Its containers are ready: the owner of {which} has to set it True (spec.readinessGates)."
    if health.phase == "Succeeded":
        yield "It reserves no resources."


def lead_words(health: Health, now: datetime | None) -> str:
    """Phase and readiness, and since when."""
    if health.phase != "Running":
        lasts = for_words(health.created or health.started, now) if health.phase == "Pending" else ""
        return f"{health.phase or 'State unknown'}{f' {lasts}' if lasts else ''}"
    since = for_words(health.ready_since, now)
    ready = {True: " and ready", False: ", not ready", None: ", readiness not reported"}[health.ready]
    return f"Running{ready}{f' {since}' if since and health.ready is not None else ''}"


def _with_oom_killed(containers: list[ObservedContainer], health: Health) -> list[ObservedContainer]:
    return [*containers, *(one for one in health.oom_killed if one not in containers)]


def _containers(containers: Sequence[ObservedContainer], health: Health, now: datetime | None) -> Iterator[str]:
    for one in containers[:_MOST_NAMED]:
        yield f"{_named(one)} {container_words(one, now, since=instant(health.started))}"
    if len(containers) > _MOST_NAMED:
        yield f"{len(containers) - _MOST_NAMED} more"


def _named(one: ObservedContainer, app: str = "") -> str:
    return f"{app if one.kind is ContainerKind.APP else _KINDS[one.kind]}{quoted(one.name)}"


def _not_ready(health: Health, now: datetime | None) -> Iterator[str]:
    unready = [*health.of_kind(TroubleKind.NOT_READY), *health.of_kind(TroubleKind.STARTING)]
    troubled = [health.container(trouble.container) for trouble in unready]
    if troubled:
        yield from _containers(_with_oom_killed(troubled, health), health, now)
        return
    yield from _containers(lately_ended(health, now), health, now)
    ended = [one for one in health.containers if one.end is not None and one.kind is ContainerKind.APP]
    yield from _containers(ended, health, now)
    if health.unmet_gates:
        # ``ReadinessGatesNotReady: condition "example.com/lb" is False, not True``.
        for index, gate in enumerate(health.unmet_gates[:_MOST_NAMED]):
            lead = "" if index else "ReadinessGatesNotReady: "
            state = f"is {gate.status}, not True" if gate.status else "is not set yet"
            words = (f"{lead}condition {quoted(gate.condition)} {state}", gate.reason, gate.message.rstrip(". "))
            yield ": ".join(filter(None, words))
        if len(health.unmet_gates) > _MOST_NAMED:
            yield f"{len(health.unmet_gates) - _MOST_NAMED} more"
    elif health.marked_not_ready:
        yield _MARKED
    elif health.unready and not (ended and health.unready.startswith(_CONTAINERS_NOT_READY)):
        yield health.unready.rstrip(". ")


_MAX_READ: Final = 1024
"""The most characters of a message that are looked up: events have no more (NoteLengthLimit)."""
_NAMED: Final = 2
"""The most containers and messages that are named; the others are counted."""


def starting_verdict(stuck: Stuck, health: Health, now: datetime | None) -> Verdict:
    """The verdict on a pod that has a node and does not start."""
    lead, (first, *more) = lead_words(health, now), repeated_sentences(stuck, now)
    code, severity = (VerdictCode.STUCK, Severity.TROUBLE) if stuck.long else health_verdict(health, now)
    return Verdict(code, severity, (f"{lead}: {first}", *more), lead=lead)


def ending_verdict(stuck: Stuck, report: PodReport, lead: str, now: datetime | None) -> Verdict:
    """The verdict on a pod that was deleted and still exists."""
    ending, (first, *more) = report.ending, repeated_sentences(stuck, now)
    if not ending.processes:
        still = "Its processes have ended; its kubelet has not cleaned up."
    else:
        over = f"Overdue since {clock(ending.ends_by, now)}" if ending.ends_by is not None else "Overdue"
        runs = running_names(report)
        still = f"{over}: {runs} by its status." if runs else f"{over}."
    return Verdict(VerdictCode.STUCK, Severity.TROUBLE, (f"{lead}: {first}", still, *more))


def running_names(report: PodReport) -> str:
    """``container "app" still runs``; empty if none is known to run."""
    health = report.status.health if report.status is not None else None
    running = [one.name for one in health.containers if one.state is StateKind.RUNNING] if health is not None else []
    if not running:
        return ""
    names = listed([quoted(name) for name in running], most=_NAMED)
    return f"container {names} still runs" if len(running) == 1 else f"containers {names} still run"


def repeated_sentences(stuck: Stuck, now: datetime | None, *, helps: bool = True) -> Iterator[str]:
    """``FailedMount 30 times in 57 min, last 2 min ago: …``, and, with ``helps``, what helps."""
    first, last = instant(stuck.first), instant(stuck.last)
    span = f" in {lasting(last - first)}" if first is not None and last is not None and last > first else ""
    times = f" {counted(stuck.times, 'time')}{span}" if stuck.times > 1 else ""
    when = when_words(stuck.last, now)
    about = f" ({stuck.about})" if stuck.about else ""
    facts = (
        f"{stuck.reason}{about}{times}{f', last {when}' if when and stuck.times > 1 else f' {when}' if when else ''}"
    )
    said = cut(stuck.message).rstrip(". ")
    yield f"{facts}{f': {said}' if said else ''}."
    # Loaded on demand: few pods are stuck.
    from kubectl_plugin.glossary.lookup import find

    message = stuck.message[:_MAX_READ]
    found = find(message) or find(stuck.reason)
    if helps and found and found[0].entry.do:
        yield found[0].entry.do[0]
    for message in stuck.also[:_NAMED]:
        yield f"Also: {cut(message).rstrip('. ')}."
    if len(stuck.also) > _NAMED:
        yield f"The same step fails for {counted(len(stuck.also) - _NAMED, 'more volume')}."


def autoscaler_words(report: PodReport, now: datetime | None) -> Iterator[str]:
    """``cluster-autoscaler, 2 min ago: pod didn't trigger scale-up: …``."""
    event = report.autoscaler
    if event is not None:
        when = when_words(event.at, now)
        yield f"{event.component}{f', {when}' if when else ''}: {cut(event.message).rstrip('. ') or event.reason}."


def unseen_words(unseen: UnprocessedPod) -> Iterator[str]:
    """``no scheduler has seen it (spec.schedulerName "x", no PodScheduled condition).``, then what helps."""
    yield f"no scheduler has seen it (spec.schedulerName {quoted(unseen.scheduler)}, no PodScheduled condition)."
    if unseen.scheduler == DEFAULT_SCHEDULER_NAME:
        yield "Check that kube-scheduler runs."
    else:
        yield f"Check that a scheduler of that name runs; the default is {quoted(DEFAULT_SCHEDULER_NAME)}."


def health_commands(health: Health, pod: str, namespace: str, now: datetime | None) -> Iterator[Command]:
    """The next commands for the container that the state names first.

    A container that has ended: its log; if it restarted or waits for a restart, the log of its last process. A
    container that never ran because of its image or configuration, and a failed probe: the events. A kill because of
    memory: the glossary, which says what helps.
    """
    broken = (*health.of_kind(TroubleKind.HELD_UP), *health.of_kind(TroubleKind.ENDED))
    if health.phase == "Failed":
        worst = next((one for one in health.containers if one.end is not None and one.end.exit_code), None)
    elif broken:
        worst = health.container(broken[0].container)
    else:
        worst = next(iter(lately_ended(health, now)), None)
    # The state then says too little: the events may say more.
    unclear = health.phase == "Unknown" or (health.phase == "Running" and not health.ready)
    if worst is not None and worst.latest is not None:
        before = " --previous" if worst.end is None else ""
        yield kubectl(f"logs {{}} -c {{}}{before}", pod, worst.name, namespace=namespace)
        if worst.latest.reason == OOM_KILLED:
            yield why(OOM_KILLED, comment="what helps")
    elif health.bound and (unclear or state_verdict(health, now).severity is Severity.TROUBLE):
        yield kubectl("describe pod {}", pod, namespace=namespace)
