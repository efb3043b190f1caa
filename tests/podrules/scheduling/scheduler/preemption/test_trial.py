"""A trial without some pods gives the same result for a node as a cycle without these pods."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any

from podrules.api.model.pod import Pod
from podrules.scheduling.scheduler.cycle import FilterResult, filter_nodes
from podrules.scheduling.scheduler.framework.answers import Code, Status
from podrules.scheduling.scheduler.plugins.node_ports import host_ports
from podrules.scheduling.scheduler.preemption.victims import Trials
from tests.objects import raw_pod
from tests.podrules.scheduling.building import Json, spread
from tests.podrules.scheduling.scheduler.preemption.building import (
    DATA,
    HIGH,
    LOW,
    USES_DATA,
    cycle,
    make_node,
    make_pod,
)
from tests.recorded import recorded


def recorded_cycles(count: int) -> Iterator[FilterResult]:
    """Cycles of recorded cases that reach Filter."""
    for recorded_case in islice(recorded("schedule"), count):
        case = recorded_case["input"]
        lists: dict[str, Any] = {name: value for name, value in case.items() if isinstance(value, list)}
        filtered = cycle(case["pod"], lists.pop("nodes"), lists.pop("pods"), **lists)
        if filtered.pre_filter.status.ok:
            yield filtered


def is_odd(pods: Sequence[Pod]) -> bool:
    """Whether removing pods differs from their absence: see the tests below."""
    ports = [port for pod in pods for port in host_ports(pod)]
    return len(ports) > len(set(ports)) or any(pod.metadata.deletion_timestamp is not None for pod in pods)


def without(filtered: FilterResult, pods: Sequence[Pod]) -> FilterResult:
    context = filtered.context
    table = context.table.without_pods(frozenset(pod.metadata.uid for pod in pods))
    framework = filtered.framework
    return filter_nodes(context.pod, table, context.snapshot, features=context.features, framework=framework)


def test_removed_and_restored_pods() -> None:
    judged = 0
    for filtered in recorded_cycles(150):
        trials = Trials(filtered)
        for row in range(len(filtered.context.table)):
            pods = filtered.context.table.pods.on(row)
            trial = trials.of(row, pods)
            if not filtered.considered[row]:
                continue
            assert trial.status() == filtered.status(row)
            if is_odd(pods):
                continue
            gone = pods[::2]
            for pod in gone:
                trial = trial.remove_pod(pod)
            assert trial.status() == without(filtered, gone).status(row)
            for pod in gone:
                trial = trial.add_pod(pod)
            assert trial.status() == filtered.status(row)
            judged += 1
    assert judged > 500


def test_uncounted_terminating_pod_is_subtracted() -> None:
    pod = make_pod("p", priority=HIGH, labels={"app": "a"}, topologySpreadConstraints=[spread("zone", app="a")])
    nodes = [make_node("a", labels={"zone": "a"}), make_node("b", labels={"zone": "b"})]
    pods = [
        make_pod("kept", priority=HIGH, on="a", labels={"app": "a"}),
        make_pod("going", priority=LOW, on="a", labels={"app": "a"}, deleted=True),
    ]
    filtered = cycle(pod, nodes, pods)
    (kept, going) = filtered.context.table.pods
    rejected = Status(
        Code.UNSCHEDULABLE, ("node(s) didn't match pod topology spread constraints",), "PodTopologySpread"
    )
    trial = Trials(filtered).of(0, (kept, going))
    assert trial.status() == rejected
    assert trial.remove_pod(going).status().ok
    assert without(filtered, [going]).status(0) == rejected


def test_port_is_free_after_one_holder_is_removed() -> None:
    def with_port(name: str, *, on: str = "") -> Json:
        containers = [{"name": "app", "ports": [{"hostPort": 80}]}]
        return raw_pod(name, "default", uid=name, containers=containers, nodeName=on)

    filtered = cycle(with_port("p"), [make_node("a")], [with_port("one", on="a"), with_port("two", on="a")])
    one, two = filtered.context.table.pods
    trial = Trials(filtered).of(0, (one, two))
    assert trial.status().plugin == "NodePorts"
    assert trial.remove_pod(one).status().ok
    assert without(filtered, [one]).status(0).plugin == "NodePorts"


def test_claim_counts_by_name_only() -> None:
    """Removing a pod of another namespace with a claim of the same name frees the claim."""
    user = make_pod("user", on="b", volumes=USES_DATA)
    other = make_pod("x", on="a", namespace="other", volumes=USES_DATA)
    filtered = cycle(make_pod("p", volumes=USES_DATA), [make_node("a"), make_node("b")], [user, other], **DATA)
    (stranger,) = filtered.context.table.pods.on(0)
    trial = Trials(filtered).of(0, (stranger,))
    assert trial.status().plugin == "VolumeRestrictions"
    assert trial.remove_pod(stranger).status().ok
    assert without(filtered, [stranger]).status(0).plugin == "VolumeRestrictions"
