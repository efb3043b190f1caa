"""The pods that ended recently, each with its cause: for answers about more than one end."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from msgspec import Struct

from kubectl_plugin.reports.died.end_report import EndReport
from podrules.ending.died.cause import Cause, Grade
from podrules.ending.died.of_pod import EndOf
from podrules.workload.evictors import Evictor


class EndedPod(Struct, frozen=True, rename="camel"):
    """One pod, or a container of it, that ended."""

    namespace: str
    name: str
    container: str
    """Empty: the pod as a whole."""
    at: str | None
    grade: Grade
    causes: tuple[Cause, ...]
    """Several, if the evidence for each is equal."""
    evictor: Evictor | None = None
    """See `PodEnd.evictor`."""


def ended_pods(reports: Iterable[EndReport]) -> Iterator[EndedPod]:
    """The ends that `kubectl qos died` counts: a container that never started has not ended."""
    for report in reports:
        end = report.end
        if end.of is not EndOf.NOTHING and not end.never_began:
            causes = tuple(one.cause for one in end.verdict.suspects)
            yield EndedPod(report.namespace, report.name, end.container, end.at, end.verdict.grade, causes, end.evictor)
