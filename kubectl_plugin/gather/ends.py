"""Reports of ends: reads the evidence of how a pod ended, or the pods of a node, of a workload or of the cluster."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from datetime import datetime, timedelta
from functools import partial
from typing import Final, TypeVar

from cluster_io.end_evidence import EndReader, events_of_earlier, is_of_workload, node_of
from cluster_io.errors import NotCaptured, NotFound
from cluster_io.field_selector import equal_fields
from cluster_io.gather import Gatherer
from cluster_io.kinds import EVENTS, JOBS, NODES, PODS, Kind
from cluster_io.live.many_reads import together
from kubectl_plugin.gather.targets import ObjectQuery, check_namespace, find, pod_selector
from kubectl_plugin.options import NO_SELECTION
from kubectl_plugin.reports.end_report import EndReport, end_report
from podrules.api.model.base import KubeObject
from podrules.api.model.event import Event
from podrules.api.model.instant import instant
from podrules.api.model.pod import Pod
from podrules.api.model.selectors import Selector
from podrules.ending.died.cause import Grade
from podrules.ending.died.evidence import KnownEnd
from podrules.ending.died.of_pod import EndOf, has_ended, may_have_ended, never_started
from podrules.pod.reading import UnreadInput, read_or_none
from podrules.scheduling.placement.preemption_victims import PreemptionRecord, is_preempted, preempted, preemption_event

HOUR: Final = timedelta(hours=1)
"""Tables list the pods that ended within this time."""

K = TypeVar("K", bound=KubeObject)

_FEW: Final = 3000
"""Up to this many pods are read one by one; for more, all pods are listed."""
_FEW_ENDS: Final = 50
"""For up to this many pods that ended, all evidence is read; for more, only pods and events."""


class Ends:
    """Makes reports of ends. Data that several reports need are read once."""

    def __init__(self, gatherer: Gatherer) -> None:
        """Read nothing yet."""
        self._source, self._gatherer, self._reader = gatherer.source, gatherer, EndReader(gatherer)
        self.gone_nodes: dict[str, Sequence[Pod]] = {}
        """The requested nodes without a Node object, with the unfinished pods that name them."""

    def named(self, name: str, namespace: str) -> EndReport:
        """The report of one pod, or of an earlier pod with the name.

        Raises:
            ClusterError: pods cannot be read.
        """
        try:
            pod = self._source.get(PODS, name, namespace)
        except (NotFound, NotCaptured):
            return self._earlier(name, namespace)
        report = self.of_pod(pod)
        if report.end.of is not EndOf.NOTHING:
            return report
        earlier = self._earlier(name, namespace, present=pod)
        verdict = earlier.end.verdict
        return report if verdict.grade is Grade.NOTHING and not verdict.clues else earlier

    def of_pod(self, pod: Pod) -> EndReport:
        """The report of an existing pod, with all dependent data."""
        known = self._reader.of_pod(pod, alone=True)
        return self._report(known, self._preempted(known, pod))

    def _earlier(
        self,
        name: str,
        namespace: str,
        events: Sequence[Event] | None = None,
        present: Pod | None = None,
        *,
        alone: bool = True,
    ) -> EndReport:
        """The report of a pod that no longer exists."""
        known = self._reader.of_name(name, namespace, events, present, alone=alone)
        return self._report(known, self._preempted(known, alone=alone), earlier=present is not None)

    def everywhere(self, namespace: str | None, after: datetime | None) -> Iterator[EndReport]:
        """The reports of the pods that events name; in a live cluster, no other pods are read.

        Args:
            namespace: Their namespace; None: all.
            after: Earlier ends do not count; None: all count.

        Raises:
            ClusterError: events cannot be read.
        """
        if namespace == self._source.namespace:
            check_namespace(self._source)
        events = self._all(EVENTS, namespace)
        pods = self._pods_named(events or (), namespace)
        yield from self.among(pods, events, after)

    def on_node(self, name: str, after: datetime | None) -> Iterator[EndReport]:
        """The reports of the pods of a node, including pods that no longer exist.

        Raises:
            ClusterError: the node or its pods cannot be read.
        """
        found = self._all(EVENTS)
        pods = self._all(PODS, field_selector=equal_fields(("spec.nodeName", name))) or ()
        events = None if found is None else list(_on_node(found, name, {pod.metadata.place for pod in pods}))
        about = (one for event in found or () for one in (event.involved_object, event.related) if one is not None)
        if not events and not pods and (NODES.kind, name) not in ((one.kind, one.name) for one in about):
            # Pods and events may also name a node that no longer exists.
            self._source.get(NODES, name)
        if self._gatherer.get(NODES, name) is None:
            self.gone_nodes[name] = [pod for pod in pods if not pod.finished]
        # An existing pod may have been elsewhere before.
        yield from (report for report in self.among(pods, events, after) if report.node == name)

    def of_workload(self, asked: ObjectQuery, after: datetime | None) -> Iterator[EndReport]:
        """The reports of the pods of a workload, including pods that no longer exist.

        Raises:
            ClusterError: it cannot be read.
        """
        for entry in find(asked, NO_SELECTION, self._source, live=self._source.side_by_side, command="died"):
            meta, selector = entry.metadata, pod_selector(entry)
            pods = None if selector is None else self._all(PODS, meta.namespace, selector=selector)
            found = self._all(EVENTS, meta.namespace)
            events = [
                one
                for one in found or ()
                if one.involved_object.kind == PODS.kind
                and is_of_workload(one.involved_object.name, asked.kind, meta.name)
            ]
            yield from self.among(pods or (), None if found is None else events, after)

    @property
    def lacks(self) -> tuple[UnreadInput, ...]:
        """The kinds that could not be read: other pods may have ended."""
        return tuple(one for one in self._gatherer.unread if one.resource in {PODS.plural, EVENTS.plural})

    def _all(
        self,
        kind: Kind[K],
        namespace: str | None = None,
        *,
        selector: Selector | None = None,
        field_selector: str = "",
    ) -> Sequence[K] | None:
        """The objects of a kind; None: a file has none, which is noted.

        Raises:
            ClusterError: they cannot be read.
        """
        try:
            return self._source.list(kind, namespace, selector=selector, field_selector=field_selector)
        except NotCaptured:
            return self._gatherer.noted(self._gatherer.list(kind))

    def among(self, pods: Sequence[Pod], events: Sequence[Event] | None, after: datetime | None) -> Iterator[EndReport]:
        """The reports of pods that ended, and of removed pods that events name; the latest first.

        Args:
            pods: The existing pods. Events may name an earlier pod with the same name.
            events: All events about them, and about others of the same place; None: they could not be read.
            after: Earlier ends do not count; None: all count.
        """
        found = [
            one
            for one in self._listed(pods, events, after)
            if one.end.of is not EndOf.NOTHING
            and (after is None or (when := instant(one.end.at)) is None or when >= after)
        ]
        yield from sorted(found, key=lambda report: report.end.at or "", reverse=True)

    def _listed(
        self, pods: Sequence[Pod], events: Sequence[Event] | None, after: datetime | None
    ) -> Iterator[EndReport]:
        about = _by_pod(events or ())
        there = {pod.metadata.place: pod for pod in pods}
        ended = [pod for pod in pods if (has_ended(pod) or never_started(pod)) and may_have_ended(pod, after)]
        alone = len(ended) <= _FEW_ENDS or not self._source.side_by_side
        for pod in ended:
            own = None if events is None else about.get(pod.metadata.place, ())
            known = self._reader.of_pod(pod, alone=alone, events=own)
            yield self._report(known, self._preempted(known, pod) if alone else None)
        gone = [place for place, own in about.items() if place not in there or events_of_earlier(own, there[place])]
        alone = len(gone) <= _FEW_ENDS or not self._source.side_by_side
        for namespace, name in gone:
            # Another pod may have the name by now, also on another node, or of another workload.
            present = there.get((namespace, name)) or read_or_none(self._gatherer.get(PODS, name, namespace))
            report = self._earlier(name, namespace, about[namespace, name], present, alone=alone)
            # Without a known cause, a pod that always restarts, or with a silent node, cannot have finished.
            restarts = report.owner is not None and report.owner.kind != JOBS.kind
            unfinished = bool(report.end.verdict.clues) and (report.silent or restarts)
            if report.end.verdict.grade is not Grade.NOTHING or unfinished:
                yield report

    def _pods_named(self, events: Sequence[Event], namespace: str | None) -> Sequence[Pod]:
        """The pods that events name: few are read by name; for many, all pods are listed."""
        names = list(_by_pod(events))
        if not self._source.side_by_side:
            # All existing pods, including those without an event.
            return self._all(PODS, namespace) or ()
        if len(names) > _FEW:
            named = set(names)
            return [pod for pod in self._source.list(PODS, namespace) if pod.metadata.place in named]
        reads = [partial(self._gatherer.get, PODS, name, place) for place, name in names]
        return [found for found in together(reads) if isinstance(found, Pod)]

    def _preempted(self, known: KnownEnd, pod: Pod | None = None, *, alone: bool = True) -> PreemptionRecord | None:
        """What preempted a pod, by its event; for many pods, only the event is read."""
        event = preemption_event(known.evidence.known_events.events)
        if event is None if pod is None else not is_preempted(pod):
            return None
        related = event.related if event is not None else None
        pods: Sequence[Pod] | None = None
        in_part = self._source.is_plain_list
        if related is not None and related.name:
            found = read_or_none(self._gatherer.get(PODS, related.name, related.namespace)) if alone else None
            pods = None if found is None else [found]
        elif event is not None and alone:
            # The message contains only its uid.
            pods, in_part = self._gatherer.preemptor_among(event)
        return preempted(pod, event, pods, is_list=in_part)

    def _report(self, known: KnownEnd, by: PreemptionRecord | None = None, *, earlier: bool = False) -> EndReport:
        return end_report(
            known,
            self._gatherer.versions,
            self._source.description,
            preempted=by,
            earlier=earlier,
            unread=self._gatherer.unread,
        )


def _on_node(events: Sequence[Event], node: str, there: Collection[tuple[str, str]]) -> Iterator[Event]:
    """The events about pods that run or ran on a node, not only the events of its kubelet."""
    for place, own in _by_pod(events).items():
        of_uid: dict[str, list[Event]] = {}
        for event in own:
            of_uid.setdefault(event.involved_object.uid, []).append(event)
        nodes = {uid: node_of(group) for uid, group in of_uid.items()}
        if place in there or node in nodes.values():
            yield from (event for event in own if nodes[event.involved_object.uid] in {node, ""})


def _by_pod(events: Sequence[Event]) -> dict[tuple[str, str], list[Event]]:
    """The events about pods, by namespace and name."""
    about: dict[tuple[str, str], list[Event]] = {}
    for event in events:
        if event.involved_object.kind == PODS.kind:
            about.setdefault((event.involved_object.namespace, event.involved_object.name), []).append(event)
    return about
