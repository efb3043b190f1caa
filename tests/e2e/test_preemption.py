"""The real scheduler preempts the pods that the rules predict, one preemptor after the other.

``PREEMPTIONS`` sets the number of preemptions, ``PREEMPTION_SEED`` the seed of the cluster and the pods.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from pathlib import Path
from random import Random
from typing import Any, Final

import pytest
from msgspec import Struct
from msgspec.structs import replace

from podrules.api.features import Features
from podrules.api.model.decode import from_object
from podrules.api.model.pod import Pod
from podrules.api.model.snapshot import ClusterSnapshot
from podrules.scheduling.placement.preemption_victims import Preemptor
from podrules.scheduling.placement.preview import preemptor
from podrules.scheduling.placement.situation import Situation
from podrules.scheduling.scheduler.cycle import FilterResult, filter_nodes, score_nodes
from podrules.scheduling.scheduler.framework.node_table import NodeTable
from podrules.scheduling.scheduler.plugins.default_preemption import is_terminating_by_preemption
from podrules.scheduling.scheduler.preemption import Candidate, Criterion, PostFilter, Preemption, preempt
from tests.controlplane.binaries import Binaries
from tests.controlplane.client import Object
from tests.controlplane.control_plane import ControlPlane
from tests.e2e.preemption_objects import (
    NAMESPACES,
    Filler,
    make_classes,
    make_fillers,
    make_guards,
    make_nodes,
    make_preemptor,
)
from tests.e2e.scheduling import ALL_NODES, await_node, create_nodes, make_framework, read_cluster, settled, why_not
from tests.kubectl_plugin.running import run as run_qos
from tests.objects import on, raw_pod, raw_priority_class, unscheduled_pod
from tests.scheduling import unschedulable_plugins
from tests.waiting import answer_in_the_end, wait_for

pytestmark = pytest.mark.controlplane

PREEMPTIONS: Final = int(os.environ.get("PREEMPTIONS", "40"))
SEED: Final = int(os.environ.get("PREEMPTION_SEED", "1"))
THREADS: Final = 4
TERMINATING: Final = "preemption: not eligible due to a terminating pod on the nominated node."

Pods = Mapping[str, Object]
"""All pods by namespace and name."""


class Turn(Struct, frozen=True):
    """One attempt."""

    pod: Object
    beside: Object | None
    """A pod of at most the same priority, which comes while the first one waits for its victims."""
    stays: bool
    """Whether the first pod stays on its node; else all is restored."""


class Answer(Struct, frozen=True):
    """The rules' answer about one pod, and the outcome."""

    pod: Object
    fits: frozenset[str]
    """The best nodes for a pod that fits without preemption."""
    best: Mapping[str, Candidate]
    """Candidates from which one is chosen, by node."""
    victims: frozenset[str]
    """The victims of the candidate on the nominated node, without those that were already terminating."""
    message: str
    decided_by: Criterion | None
    candidates: int
    rejected_by: frozenset[str]
    """Plugins that reject the pod on every node."""
    unhelped: frozenset[str]
    """Plugins that still reject a node without any pod that may be preempted."""
    others_nominated: int
    """Pods that have been nominated before this one."""
    named: Mapping[str, Preemptor]
    """The pods on those nodes that name this pod on their pages, before the scheduler sees it."""
    real_node: str
    real_nominated: str
    real_message: str
    real_victims: frozenset[str]

    @property
    def nominates(self) -> bool:
        """Whether either of them preempts."""
        return bool(self.best or self.real_nominated)

    def __str__(self) -> str:
        ours = {node: [_key(victim.pod) for victim in found.victims] for node, found in self.best.items()}
        return (
            f"ours: {sorted(self.fits) or ours} {self.message}\n"
            f"real: {self.real_node or self.real_nominated} {sorted(self.real_victims)} {self.real_message}\n"
            f"of: {json.dumps(self.pod)}"
        )


class Freed(Struct, frozen=True):
    """The node of a nominated pod once its victims are gone."""

    pod: Object
    nominated: str
    best: frozenset[str]
    real_node: str


class Waiting(Struct, frozen=True):
    """The answer about a nominated pod when some of its victims are gone."""

    pod: Object
    message: str
    real_message: str


class Run(Struct, frozen=True):
    """All observations."""

    answers: Sequence[Answer]
    freed: Sequence[Freed]
    waiting: Sequence[Waiting]
    going: frozenset[str]
    """Pods that were deleted before."""
    still_going: frozenset[str]
    """Pods that are terminating at the end."""
    kept: ClusterSnapshot
    """The cluster of the last judgement."""
    read: ClusterSnapshot
    """The cluster, read again."""

    @property
    def preemptions(self) -> Sequence[Answer]:
        """Answers with a nomination."""
        return [answer for answer in self.answers if answer.nominates]


@pytest.fixture(scope="module")
def run(control_plane_binaries: Binaries) -> Iterator[Run]:
    """Runs until there are enough preemptions."""
    random = Random(SEED)  # noqa: S311  # the same cluster each time
    # No controllers: only the scheduler acts.
    with ControlPlane(control_plane_binaries, controllers=False, scheduler_config=ALL_NODES) as plane:
        fillers = _create_cluster(plane, random)
        turns = [_turn(random, number) for number in range(3 * PREEMPTIONS)]
        preempting = Preempting(plane, turns)
        for turn in turns:
            preempting.take(turn)
            if sum(answer.nominates for answer in preempting.answers) >= PREEMPTIONS:
                break
        pods = preempting.pods()
        yield Run(
            answers=preempting.answers,
            freed=preempting.freed,
            waiting=preempting.waiting,
            going=frozenset(_name(filler.pod) for filler in fillers if filler.going),
            still_going=frozenset(_going(pods)),
            kept=preempting.snapshot(pods),
            read=_read(plane, turns),
        )


class Preempting:
    """Gives pods to the scheduler and records its decisions with the rules' answers."""

    def __init__(self, plane: ControlPlane, turns: Sequence[Turn]) -> None:
        """Begin with the parts of the current cluster that the pods of these turns need."""
        self._plane, self._api = plane, plane.api
        self._base, self._features = read_cluster(plane, _pods_of(turns), budgets=True)
        self._framework = make_framework()
        self._starts = count()
        self.answers: list[Answer] = []
        self.freed: list[Freed] = []
        self.waiting: list[Waiting] = []

    def pods(self) -> Pods:
        """All current pods."""
        return {_name(pod): pod for pod in self._api.list_items("v1", "Pod")}

    def snapshot(self, pods: Pods) -> ClusterSnapshot:
        """The cluster with these pods."""
        found = (from_object(pod, Pod) for pod in pods.values())
        return replace(
            self._base, pods=tuple(pod for pod in found if pod.spec.node_name or pod.status.nominated_node_name)
        )

    def take(self, turn: Turn) -> None:
        """One pod, all its consequences and, if it does not stay, their end."""
        pods = self.pods()
        pod, answer = self._ask(turn.pod, pods)
        if not (answer.real_nominated or answer.real_node):
            # No pod may be retried when later pods come.
            self._api.delete(pod, grace_period_seconds=0)
            return
        victims: list[Object] = []
        others: list[Object] = []
        if answer.real_nominated:
            victims = _victims(answer, pods)
            meanwhile: list[Pods] = []
            # A pod may preempt others on its next try if all its victims were already terminating.
            if turn.beside is not None and answer.real_victims:
                others, meanwhile = self._come_beside(turn.beside)
            self._finish(pod, answer, victims + others, meanwhile)
        if turn.stays:
            second = next(self._starts)
            start = f"2026-03-01T{10 + second // 3600:02}:{second // 60 % 60:02}:{second % 60:02}Z"
            self._plane.set_pod_status(pod, {"startTime": start})
        else:
            self._api.delete(pod, grace_period_seconds=0)
        for victim in others if turn.stays else victims + others:
            _put_back(self._plane, victim)

    def _come_beside(self, written: Object) -> tuple[list[Object], list[Pods]]:
        """A pod comes and goes while another waits.

        Returns:
            The victims that are terminating for it, and all pods at the time it was bound, if it was.
        """
        pods = self.pods()
        pod, answer = self._ask(written, pods)
        self._api.delete(pod, grace_period_seconds=0)
        going = _going(pods)
        victims = [victim for victim in _victims(answer, pods) if _name(victim) not in going]
        return victims, [{**pods, _name(pod): pod}] if answer.real_node else []

    def _ask(self, written: Object, pods: Pods) -> tuple[Object, Answer]:
        """Create a pod, ask the rules, and wait for the scheduler."""
        stored = self._api.create(written)
        filtered = self._filtered(stored, pods)
        found = None if len(filtered.feasible) else preempt(filtered, self._base.pod_disruption_budgets)
        preemption = (found.preemption if found else None) or Preemption()
        judged = settled(self._api, stored)
        node = judged["status"].get("nominatedNodeName", "") if not judged["spec"].get("nodeName") else ""
        best = {candidate.node: candidate for candidate in found.best} if found else {}
        expected = frozenset(_key(victim.pod) for victim in best[node].victims) if node in best else frozenset[str]()
        rows = [filtered.context.table.index[name] for name in best]
        bound = [one for row in rows for one in filtered.context.table.pods.on(row)]
        asked = {_key(one): self._preemptor(filtered, one) for one in bound if one.metadata.deletion_timestamp is None}
        answer = Answer(
            pod=written,
            fits=self._fits(filtered),
            best=best,
            victims=expected - _going(pods),
            message=found.message if found else "",
            decided_by=preemption.choice.decided_by,
            candidates=len(preemption.candidates),
            rejected_by=unschedulable_plugins(filtered),
            unhelped=frozenset(status.plugin for status in preemption.no_candidate.values()),
            named={name: one for name, one in asked.items() if one is not None},
            others_nominated=sum(not pod["spec"].get("nodeName") for pod in pods.values()),
            real_node=judged["spec"].get("nodeName", ""),
            real_nominated=node,
            real_message=why_not(judged),
            real_victims=self._preempted(expected - _going(pods), pods) if node else frozenset(),
        )
        self.answers.append(answer)
        return judged, answer

    def _preemptor(self, filtered: FilterResult, bound: Pod) -> Preemptor | None:
        context = filtered.context
        return preemptor(Situation(context.pod, context.table, context.snapshot, self._framework, now=None), bound)

    def _preempted(self, expected: frozenset[str], before: Pods) -> frozenset[str]:
        """Pods that the scheduler has preempted since; it continues with that after the nomination."""

        def preempted() -> frozenset[str]:
            now = self.pods()
            gone = _going(now) - _going(before)
            return frozenset(name for name in gone if is_terminating_by_preemption(from_object(now[name], Pod)))

        return answer_in_the_end(preempted, expected.issubset)

    def _finish(self, pod: Object, answer: Answer, victims: Sequence[Object], meanwhile: Sequence[Pods] = ()) -> None:
        """Remove the victims one by one, and record the pod's node."""
        pods = dict(self.pods())
        untouched = pods.pop(_name(pod)) == pod
        states = [{name: other for name, other in state.items() if name != _name(pod)} for state in meanwhile]
        for victim in victims:
            self._api.delete(victim, grace_period_seconds=0)
            del pods[_name(victim)]
            states.append(dict(pods))
            if untouched and len(states) == 1 < len(victims):
                self._wait(pod, answer, pods)
        namespace, name = pod["metadata"]["namespace"], pod["metadata"]["name"]
        real: str = wait_for(
            lambda: self._api.get("v1", "Pod", name, namespace)["spec"].get("nodeName"), f"{name} is bound: {answer}"
        )
        best = self._best(pod, states[-1])
        if real not in best:
            # It may have been bound before all of them were gone.
            best = best.union(*(self._best(pod, state) for state in states[:-1]))
        self.freed.append(Freed(answer.pod, answer.real_nominated, best, real))

    def _wait(self, nominated: Object, answer: Answer, pods: Pods) -> None:
        """Record the answer about a pod when the first of its victims is gone."""
        filtered = self._filtered(nominated, pods)
        # A pod that other plugins reject is retried for certain pods only.
        if len(filtered.feasible) or "NodeResourcesFit" not in answer.rejected_by:
            return
        found = preempt(filtered, self._base.pod_disruption_budgets)
        if found.message == answer.real_message:
            return
        namespace, name = nominated["metadata"]["namespace"], nominated["metadata"]["name"]

        def said() -> str:
            return why_not(self._api.get("v1", "Pod", name, namespace))

        # It may have been tried once more before the victim was gone.
        real = answer_in_the_end(said, lambda message: message == found.message)
        self.waiting.append(Waiting(answer.pod, found.message, real))

    def _filtered(self, pod: Object, pods: Pods) -> FilterResult:
        snapshot = self.snapshot(pods)
        table = NodeTable(snapshot.nodes, snapshot.pods)
        return filter_nodes(from_object(pod, Pod), table, snapshot, features=self._features, framework=self._framework)

    def _best(self, pod: Object, pods: Pods) -> frozenset[str]:
        """The nodes for a nominated pod: its own, whatever others score; the best ones if it does not fit there.

        Source: findNodesThatFitPod in pkg/scheduler/schedule_one.go at v1.36.3.
        """
        filtered = self._filtered(pod, pods)
        node = pod["status"]["nominatedNodeName"]
        fits = filtered.fits(filtered.context.table.index[node])
        return frozenset((node,)) if fits else self._fits(filtered)

    @staticmethod
    def _fits(filtered: FilterResult) -> frozenset[str]:
        if not len(filtered.feasible):
            return frozenset()
        names = filtered.context.table.names
        return frozenset(names[row] for row in score_nodes(filtered).best)


def _create_cluster(plane: ControlPlane, random: Random) -> Sequence[Filler]:
    """Returns what fills it."""
    for namespace, labels in NAMESPACES.items():
        plane.create_namespace(namespace, labels)
    plane.apply(make_classes())
    for budget, status in make_guards():
        plane.api.create(budget)
        plane.api.patch(budget, {"status": status}, subresource="status")
    nodes = make_nodes(random)
    create_nodes(plane, nodes, "shop")
    plane.api.delete(raw_pod("first", "shop"), grace_period_seconds=0)
    fillers = make_fillers(random, nodes)

    def create(some: Sequence[Filler]) -> None:
        try:
            for filler in some:
                _create_filler(plane, filler)
        finally:
            plane.api.close()

    with ThreadPoolExecutor(THREADS) as pool:
        list(pool.map(create, (fillers[index::THREADS] for index in range(THREADS))))
    return fillers


def _create_filler(plane: ControlPlane, filler: Filler) -> None:
    plane.api.create(filler.pod)
    if filler.start:
        plane.set_pod_status(filler.pod, {"startTime": filler.start})
    if filler.going:
        plane.api.delete(filler.pod, grace_period_seconds=3600)


def _put_back(plane: ControlPlane, pod: Object) -> None:
    """The pod on its node before it was preempted."""
    metadata = {key: pod["metadata"][key] for key in ("name", "namespace", "labels")}
    own = raw_pod(metadata=metadata, **pod["spec"])
    going = "deletionTimestamp" in pod["metadata"]
    _create_filler(plane, Filler(own, pod["status"].get("startTime"), going))


def _turn(random: Random, number: int) -> Turn:
    pod = make_preemptor(random, number)
    value = {name["metadata"]["name"]: name["value"] for name in make_classes()}[pod["spec"]["priorityClassName"]]
    beside = make_preemptor(random, 10_007 + number, at_most=value) if value > 0 and random.random() < 0.3 else None
    return Turn(pod, beside, stays="pool" not in json.dumps(pod["spec"]) and random.random() < 0.4)


def _pods_of(turns: Sequence[Turn]) -> Sequence[Object]:
    return [pod for turn in turns for pod in (turn.pod, turn.beside) if pod is not None]


def _read(plane: ControlPlane, turns: Sequence[Turn]) -> ClusterSnapshot:
    return read_cluster(plane, _pods_of(turns), budgets=True)[0]


def _victims(answer: Answer, before: Pods) -> list[Object]:
    """The victims for a pod, as they were before: those that the rules name and those that the scheduler preempted.

    Those that were already terminating come first.
    """
    candidate = answer.best.get(answer.real_nominated)
    ours = [_key(victim.pod) for victim in candidate.victims] if candidate else []
    found = [before[name] for name in dict.fromkeys((*ours, *sorted(answer.real_victims)))]
    return sorted(found, key=lambda pod: "deletionTimestamp" not in pod["metadata"])


def _going(pods: Pods) -> set[str]:
    return {name for name, pod in pods.items() if "deletionTimestamp" in pod["metadata"]}


def _name(pod: Object) -> str:
    return f"{pod['metadata']['namespace']}/{pod['metadata']['name']}"


def _key(pod: Pod) -> str:
    return f"{pod.metadata.namespace}/{pod.metadata.name}"


def test_P4_nominated_node_is_one_of_the_best(run: Run) -> None:
    assert [str(answer) for answer in run.preemptions if answer.real_nominated not in answer.best] == []


def test_P4_victims_are_those_of_the_candidate(run: Run) -> None:
    assert [str(answer) for answer in run.preemptions if answer.real_victims != answer.victims] == []
    # No other pod was preempted later.
    assert run.still_going <= run.going


def test_pages_of_the_victims_named_the_preemptor_before(run: Run) -> None:
    found = [answer for answer in run.preemptions if answer.real_nominated in answer.best]
    assert [str(answer) for answer in found if not answer.real_victims <= answer.named.keys()] == []
    # Others on the node are named only if it is open which of two is preempted.
    certain = [
        (answer, name)
        for answer in found
        for name, one in answer.named.items()
        if one.node == answer.real_nominated and one.twin is None
    ]
    assert [str(answer) for answer, name in certain if name not in answer.real_victims] == []
    assert len(certain) >= 0.5 * PREEMPTIONS


def test_P4_message_is_the_same_with_and_without_a_nomination(run: Run) -> None:
    pending = [answer for answer in run.answers if not answer.real_node]

    assert [str(answer) for answer in pending if answer.real_message != answer.message] == []


def test_P4_pods_that_fit_preempt_no_pod(run: Run) -> None:
    fitting = [answer for answer in run.answers if answer.fits or answer.real_node]

    assert [str(answer) for answer in fitting if answer.real_node not in answer.fits or answer.nominates] == []


def test_P5_pod_binds_to_nominated_or_best_node(run: Run) -> None:
    assert len(run.freed) >= 0.6 * PREEMPTIONS
    assert [freed for freed in run.freed if freed.real_node not in freed.best] == []


def test_P5_no_second_preemption_while_victim_terminates(run: Run) -> None:
    assert len(run.waiting) >= 0.05 * PREEMPTIONS
    assert [seen for seen in run.waiting if seen.real_message != seen.message] == []
    assert [seen for seen in run.waiting if not seen.message.endswith(TERMINATING)] == []


def test_P5_pod_of_a_higher_priority_takes_the_nominated_node(
    control_plane: ControlPlane, namespace: str, make_node: Callable[..., Object]
) -> None:
    node = make_node(capacity={"cpu": "2"})
    name, api = node["metadata"]["name"], control_plane.api
    await_node(control_plane, node, namespace)
    control_plane.apply(
        [raw_priority_class(f"{namespace}-{one}", value) for one, value in (("mid", 1000), ("high", 2000))]
    )
    victim = api.create(unscheduled_pod(namespace, "victim", requests={"cpu": "2"}, nodeName=name))

    def judge(pod: Object, snapshot: ClusterSnapshot, features: Features) -> PostFilter:
        table = NodeTable(snapshot.nodes, snapshot.pods)
        filtered = filter_nodes(from_object(pod, Pod), table, snapshot, features=features, framework=make_framework())
        return preempt(filtered, snapshot.pod_disruption_budgets)

    def come(priority: str) -> tuple[PostFilter, Object]:
        pod = unscheduled_pod(
            namespace,
            priority,
            requests={"cpu": "2"},
            nodeSelector=on(node),
            priorityClassName=f"{namespace}-{priority}",
            schedulerName="default-scheduler",
        )
        snapshot, features = read_cluster(control_plane, [pod], budgets=True)
        stored = api.create(pod)
        return judge(stored, snapshot, features), settled(api, stored)

    def is_going() -> bool:
        return "deletionTimestamp" in api.get("v1", "Pod", "victim", namespace)["metadata"]

    said = {}
    for priority in ("mid", "high"):
        found, pod = come(priority)
        said[priority] = why_not(pod)
        # Its preemptor does not matter: it is already terminating when the second pod comes.
        assert [entry.pod.metadata.name for candidate in found.best for entry in candidate.victims] == ["victim"]
        assert pod["status"]["nominatedNodeName"] == found.nominated_node_name == name
        assert said[priority] == found.message
        wait_for(is_going, "the victim goes")

    api.delete(victim, grace_period_seconds=0)

    def bound() -> bool:
        return bool(api.get("v1", "Pod", "high", namespace)["spec"].get("nodeName"))

    def refused() -> Object | None:
        pod = api.get("v1", "Pod", "mid", namespace)
        # The nomination may be removed first, and the message on the next try.
        return None if "nominatedNodeName" in pod["status"] or why_not(pod) == said["mid"] else pod

    wait_for(bound, "the pod of the higher priority is bound")
    loser = wait_for(refused, "the nomination of the other one is taken back")
    found = judge(loser, *read_cluster(control_plane, [loser], budgets=True))
    assert found.nominated_node_name == ""
    assert why_not(loser) == found.message


def test_page_names_the_later_preemptor(
    control_plane: ControlPlane, namespace: str, make_node: Callable[..., Object], tmp_path: Path
) -> None:
    api, pool = control_plane.api, {"pool": namespace}
    nodes = [make_node(capacity={"cpu": "4"}, labels=pool) for _ in range(2)]
    for node in nodes:
        await_node(control_plane, node, namespace)
    values = {"low": 10, "usual": 500, "high": 5000}
    control_plane.apply([raw_priority_class(f"{namespace}-{name}", value) for name, value in values.items()])
    for name, node, cpu in (("low", nodes[0], "3"), ("usual", nodes[1], "3")):
        asks = {
            "requests": {"cpu": cpu},
            "priorityClassName": f"{namespace}-{name}",
            "nodeName": node["metadata"]["name"],
        }
        api.create(unscheduled_pod(namespace, name, **asks))
    held = unscheduled_pod(
        namespace,
        "high",
        requests={"cpu": "2"},
        nodeSelector=pool,
        priorityClassName=f"{namespace}-high",
        schedulerName="default-scheduler",
        schedulingGates=[{"name": "example.com/held"}],
    )
    pending = api.create(held)

    def page(name: str, *, gates: bool) -> Any:
        """The message about the current pods, with or without the gate."""
        kinds = {"Pod": "v1", "Node": "v1", "Namespace": "v1", "PriorityClass": "scheduling.k8s.io/v1"}
        items = [
            {"apiVersion": of, "kind": kind, **one} for kind, of in kinds.items() for one in api.list_items(of, kind)
        ]
        for one in items:
            if one["metadata"].get("uid") == pending["metadata"]["uid"] and not gates:
                del one["spec"]["schedulingGates"]
                one["status"] = {"phase": "Pending"}
        (tmp_path / "list.json").write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
        ran = run_qos(
            "explain", f"pod/{name}", "-n", namespace, "--snapshot", str(tmp_path / "list.json"), "-o", "json"
        )
        return [one["pod"]["name"] for one in json.loads(ran.out)["preemptors"]["found"]]

    assert [page(name, gates=True) for name in ("low", "usual")] == [[], []]
    assert [page(name, gates=False) for name in ("low", "usual")] == [["high"], []]
    api.patch(pending, {"spec": {"schedulingGates": None}})

    def is_going(name: str) -> bool:
        return "deletionTimestamp" in api.get("v1", "Pod", name, namespace)["metadata"]

    wait_for(lambda: is_going("low"), "the victim that the page named goes")
    assert not is_going("usual")
    assert settled(api, pending)["status"]["nominatedNodeName"] == nodes[0]["metadata"]["name"]


def test_cluster_that_was_judged_is_the_one_that_is_read(run: Run) -> None:
    def by_uid(pods: Sequence[Pod]) -> Sequence[Pod]:
        return sorted(pods, key=lambda pod: pod.metadata.uid)

    assert by_uid(run.read.pods) == by_uid(run.kept.pods)
    assert replace(run.read, pods=()) == replace(run.kept, pods=())


def test_preemptions_tried_every_rule(run: Run) -> None:
    """The counts as shares of the preemptions."""
    found = run.preemptions
    decided = Counter(answer.decided_by for answer in found)
    plugins = Counter(plugin for answer in run.answers for plugin in answer.rejected_by | answer.unhelped)
    taken = [answer.best[answer.real_nominated] for answer in found if answer.real_nominated in answer.best]
    counts = {
        "several candidates": sum(answer.candidates > 1 for answer in found),
        "one candidate": sum(answer.candidates == 1 for answer in found),
        "several victims": sum(len(candidate.victims) > 1 for candidate in taken),
        "a budget is violated": sum(candidate.num_pdb_violations > 0 for candidate in taken),
        "no candidate": sum(not (answer.fits or answer.best) for answer in run.answers),
        "never": sum("preemptionPolicy=Never" in answer.message for answer in run.answers),
        "nothing to preempt for": sum("No preemption victims found" in answer.message for answer in run.answers),
        "fits": sum(bool(answer.fits) for answer in run.answers),
        "beside another": sum(answer.others_nominated > 0 for answer in found),
    }

    assert len(found) >= PREEMPTIONS
    assert min(counts.values()) >= 0.01 * PREEMPTIONS, counts
    assert set(Criterion) <= set(decided), decided
    assert {"NodeResourcesFit", "NodePorts", "PodTopologySpread", "InterPodAffinity"} <= set(plugins), plugins
