"""Further evidence if a verdict is not certain: a command, or the place to check."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from kubectl_plugin.render.command import Command, Hint, Prose, kubectl
from kubectl_plugin.reports.end_report import EndReport
from podrules.api.plain_names import command
from podrules.ending.died.cause import Cause, Grade
from podrules.ending.died.of_pod import EndOf

_MEMORY: Final = frozenset({Cause.OWN_MEMORY_LIMIT, Cause.POD_MEMORY_LIMIT, Cause.NODE_OUT_OF_MEMORY})
_KUBELET: Final = frozenset(
    {Cause.LIVENESS_PROBE, Cause.STARTUP_PROBE, Cause.POST_START_HOOK, Cause.SANDBOX_CHANGED, Cause.DEFINITION_CHANGED}
)
_DELETERS: Final = frozenset(
    {Cause.DELETED, Cause.FORCE_DELETED, Cause.OWNER, Cause.JOB_ENDED, Cause.API_EVICTION, Cause.PREEMPTION}
)
_AUDIT: Final = (
    "the API server's audit log: who deleted the pod, and whether the webhook warned of force (annotation "
    "force-delete.kubectl-qos.io/warned)"
)
_GREP: Final = "grep -iE 'oom|killed process'"


def may_run_on(report: EndReport) -> bool:
    """Whether a pod without an object may still run: it may have been force deleted, and nothing shows its end."""
    end = report.end
    if report.exists or end.of is not EndOf.POD or not report.node or end.stopped:
        return False
    # Pod garbage collection does not stop a machine; a program that removes a node does.
    unseen = {Cause.FORCE_DELETED} if end.evictor else {Cause.FORCE_DELETED, Cause.NODE_REMOVED}
    return end.verdict.grade is Grade.NOTHING or bool(unseen & {one.cause for one in end.verdict.suspects[:2]})


def further_evidence(report: EndReport) -> tuple[str | Prose, ...]:
    """What distinguishes the causes that fit; empty if the verdict is certain or nothing has ended."""
    if report.end.of is EndOf.NOTHING:
        return ()
    runs = []
    if may_run_on(report) and not report.silent:
        listed = command("crictl pods --name {} --namespace {} --state ready", report.name, report.namespace)
        runs = [
            f"on {report.node}: {listed} lists it as long as it runs; `kubectl qos node` lists only pods with an object"
        ]
    return (*runs, *(_lines(report) if report.end.verdict.grade is not Grade.CERTAIN else ()))


def _lines(report: EndReport) -> Iterator[str | Prose]:
    causes = report.end.verdict.causes
    if report.end.verdict.grade is Grade.NOTHING:
        yield "your log and metrics store, by the pod's name"
        yield _AUDIT
        return
    if causes & _MEMORY:
        yield f"the kernel's log on {_node(report)}: journalctl -k | {_GREP} names the cgroup that ran out"
        yield "container_oom_events_total and container_memory_working_set_bytes, if your monitoring keeps them"
    if causes & _KUBELET:
        yield f"the kubelet's log on {_node(report)}: it says why it stops a container"
    if causes & _DELETERS:
        yield _AUDIT
    if Cause.APPLICATION in causes and (logs := end_log(report)) is not None:
        yield Prose(("the log of the process that ended", Hint(logs, ": ")))


def end_log(report: EndReport) -> Command | None:
    """The command for the log of the container that ended; None if none did, or its pod is gone."""
    one = report.end.end_of(report.end.container)
    if not report.exists or one is None or one.end is None:
        return None
    options = "-c {} --previous" if one.runs or one.waits else "-c {}"
    return kubectl("logs {}", report.name, one.container, namespace=report.namespace, options=options)


def _node(report: EndReport) -> str:
    return report.node or "its node"
