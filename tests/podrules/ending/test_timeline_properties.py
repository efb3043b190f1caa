"""Properties of every timeline, for any pod."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from podrules.api.model.kubelet import KubeletConfiguration
from podrules.api.model.pod import Pod
from podrules.ending.deleted_pod import stop_plan
from podrules.ending.timeline.aftermath import Ownership
from podrules.ending.timeline.events import EventKind, PodTimeline, TimelineEvent, Way
from podrules.ending.timeline.of_pod import TimelineFacts, pod_timeline
from podrules.ending.volumes import WriterGuard, WriterLock
from podrules.node.reachability import NodeReach, Reach
from podrules.pod.termination import effective_grace_period
from podrules.workload.safety import owner_guarantee
from tests.controlplane.client import Object
from tests.objects import make_pod, raw_container, raw_owner, raw_sidecar

_SECONDS = st.integers(0, 400)
_LIFECYCLES = st.sampled_from([None, {"preStop": {"exec": {"command": ["drain"]}}}]) | st.builds(
    lambda seconds: {"preStop": {"sleep": {"seconds": seconds}}}, st.integers(1, 60)
)
_PROBES = st.none() | st.builds(lambda seconds: {"terminationGracePeriodSeconds": seconds}, st.integers(1, 60))


def _containers(names: str) -> st.SearchStrategy[list[Object]]:
    return st.lists(st.tuples(_LIFECYCLES, _PROBES), min_size=1, max_size=3).map(
        lambda given: [
            raw_container(f"{names}-{index}", lifecycle=lifecycle, livenessProbe=probe)
            for index, (lifecycle, probe) in enumerate(given)
        ]
    )


@st.composite
def _pods(draw: st.DrawFn) -> Pod:
    kind = draw(st.sampled_from(["", "ReplicaSet", "StatefulSet", "DaemonSet", "Job"]))
    owner = raw_owner(kind, apiVersion="batch/v1" if kind == "Job" else "apps/v1")
    sidecars = [raw_sidecar(f"side-{index}", lifecycle=draw(_LIFECYCLES)) for index in range(draw(st.integers(0, 2)))]
    deleted = draw(st.none() | _SECONDS)
    return make_pod(
        metadata={
            "ownerReferences": [owner] if kind else [],
            "deletionTimestamp": None if deleted is None else "2026-11-21T03:00:00Z",
            "deletionGracePeriodSeconds": deleted,
            "finalizers": draw(st.sampled_from([[], ["example.com/keep"]])),
        },
        containers=draw(_containers("app")),
        initContainers=sidecars,
        nodeName=draw(st.sampled_from(["", "node-1"])),
        priority=draw(st.sampled_from([0, 1000, 2_000_000_000])),
        terminationGracePeriodSeconds=draw(_SECONDS),
        status={"phase": draw(st.sampled_from(["Pending", "Running", "Running", "Running", "Failed"]))},
    )


@st.composite
def _timelines(draw: st.DrawFn) -> tuple[Pod, PodTimeline]:
    pod = draw(_pods())
    reach = draw(st.sampled_from(list(Reach)))
    config = KubeletConfiguration(
        eviction_max_pod_grace_period=draw(_SECONDS), shutdown_grace_period=f"{draw(_SECONDS)}s"
    )
    facts = TimelineFacts(
        pod=pod,
        owner=Ownership(owner_guarantee(pod)),
        tolerations=(),
        reach=NodeReach("node-1", reach, "") if pod.spec.node_name else None,
        kubelet=draw(st.sampled_from([None, config])),
        guards=(WriterGuard("data", draw(st.sampled_from(list(WriterLock)))),),
        budgets=(),
    )
    return pod, pod_timeline(facts)


def _of(events: tuple[TimelineEvent, ...], what: EventKind) -> list[TimelineEvent]:
    return [event for event in events if event.what is what]


@given(_timelines())
def test_T5_every_way_has_events_or_a_reason(drawn: tuple[Pod, PodTimeline]) -> None:
    _, timeline = drawn
    assert sorted(entry.way.value for entry in timeline.ways) == sorted(way.value for way in Way)
    for entry in timeline.ways:
        ends = [event.latest for event in entry.events if event.latest is not None]
        assert ends == sorted(ends)
        for event in entry.events:
            assert event.latest is None or (event.earliest is not None and event.earliest <= event.latest)


@given(_timelines())
def test_T5_signals_come_in_order_two_seconds_apart(drawn: tuple[Pod, PodTimeline]) -> None:
    _, timeline = drawn
    for entry in timeline.ways:
        if entry.way is Way.PROBE:
            continue
        terms = {event.subject: event for event in _of(entry.events, EventKind.SIGTERM)}
        for kill in _of(entry.events, EventKind.SIGKILL):
            term = terms[kill.subject]
            assert kill.earliest is not None
            if entry.way is Way.SHUTDOWN and kill.latest is None:
                continue  # Its machine may be off by then.
            assert kill.latest is not None
            assert term.earliest is not None
            assert term.latest is not None
            assert kill.earliest >= term.earliest + 2
            assert kill.latest >= term.latest + 2
        for ended in _of(entry.events, EventKind.PROCESSES_ENDED):
            assert ended.latest == max(kill.latest or 0 for kill in _of(entry.events, EventKind.SIGKILL))


@given(_pods().filter(lambda pod: pod.metadata.deletion_timestamp is None))
def test_T5_delete_agrees_with_the_plan_of_a_stop(pod: Pod) -> None:
    facts = TimelineFacts(pod=pod, owner=Ownership(owner_guarantee(pod)), tolerations=(), budgets=())
    timeline = next(entry for entry in pod_timeline(facts).ways if entry.way is Way.DELETE)
    kills = {event.subject: event for event in _of(timeline.events, EventKind.SIGKILL)}
    plan = stop_plan(pod)
    assert {step.name for step in plan.containers} == set(kills)
    for step in plan.containers:
        assert kills[step.name].latest == step.sigkill_latest
    assert [event.latest for event in _of(timeline.events, EventKind.OBJECT_REMOVED)] != [
        0
    ] or plan.object_removed_at_once


@given(_pods(), st.integers(0, 400))
def test_T5_eviction_never_takes_longer_than_a_delete(pod: Pod, most: int) -> None:
    facts = TimelineFacts(
        pod=pod,
        owner=Ownership(owner_guarantee(pod)),
        tolerations=(),
        kubelet=KubeletConfiguration(eviction_max_pod_grace_period=most),
        budgets=(),
    )
    by_way = {entry.way: entry for entry in pod_timeline(facts).ways}
    period, _ = effective_grace_period(pod)
    for way in (Way.EVICT_HARD, Way.EVICT_SOFT):
        for kill in _of(by_way[way].events, EventKind.SIGKILL):
            assert kill.latest is not None
            assert kill.latest <= period + 2
