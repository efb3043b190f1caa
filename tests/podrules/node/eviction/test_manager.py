"""Passes of the kubelet's eviction loop. tests/parity compares recorded answers of upstream's own manager."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from podrules.api.model.pod import Pod
from podrules.api.model.selectors import Toleration
from podrules.node.eviction.ranking import Disks
from podrules.node.eviction.thresholds import NodeCondition, parse_threshold_config
from tests.features import around
from tests.objects import make_pod, raw_container, raw_sidecar
from tests.podrules.node.eviction.building import configuration, node_memory, pod, stats, summary
from tests.restated.eviction_manager import ManagerConfig, ManagerState, Pass, admit, eviction_grace_period, synchronize
from tests.table import table

START = datetime(2026, 1, 1, tzinfo=UTC)
PODS = [pod("small"), pod("large"), pod("critical", 2_000_000_000)]
HARD = {"evictionHard": {"memory.available": "1Gi"}}
SOFT = {"evictionSoft": {"memory.available": "1Gi"}, "evictionSoftGracePeriod": {"memory.available": "30s"}}
USED = [stats("small", "1Gi"), stats("large", "2Gi"), stats("critical", "3Gi")]


def _config(fields: dict[str, Any] | None = None, max_grace: int = 0) -> ManagerConfig:
    settings = configuration(**{"enforceNodeAllocatable": [], "evictionHard": {}, **(fields or {})})
    return ManagerConfig(parse_threshold_config(settings), max_grace)


class _Kubelet:
    """A kubelet that keeps its state, with new measurements in every pass."""

    def __init__(self, config: ManagerConfig, pods: list[Pod] | None = None) -> None:
        self.config = config
        self.pods = PODS if pods is None else pods
        self.state = ManagerState()

    def pass_at(self, seconds: int, available: str, *, measured_at: int | None = None) -> Pass:
        now = START + timedelta(seconds=seconds)
        time = (START + timedelta(seconds=seconds if measured_at is None else measured_at)).isoformat()
        measured = summary(*USED, memory=node_memory(available, time=time))
        self.state, done = synchronize(self.state, self.config, self.pods, measured, now)
        return done


def _evicted(done: Pass) -> list[tuple[str, int]]:
    return [(entry.pod.metadata.name, entry.grace_period_seconds) for entry in done.evicted]


def test_Q6_hard_threshold_evicts_one_pod_per_pass() -> None:
    kubelet = _Kubelet(_config(HARD))
    done = kubelet.pass_at(0, "1023Mi")
    assert done.reclaim == "memory"
    assert [place.ranked.pod.metadata.name for place in done.ranked] == ["large", "small", "critical"]
    assert _evicted(done) == [("large", 1)]
    assert "Threshold quantity: 1Gi, available: 1023Mi. Container app was using 2Gi" in done.evicted[0].message


def test_Q6_exact_threshold_is_not_met() -> None:
    kubelet = _Kubelet(_config(HARD))
    assert kubelet.pass_at(0, "1Gi") == Pass()
    assert kubelet.state.conditions == ()


def test_Q6_memory_percentage_is_of_used_and_available() -> None:
    # 4Gi are used: a tenth of these and of 420Mi is 451Mi.
    tenth = _config({"evictionHard": {"memory.available": "10%"}})
    assert _Kubelet(tenth).pass_at(0, "420Mi").evicted
    assert _Kubelet(tenth).pass_at(0, "456Mi") == Pass()


def test_Q6_critical_pods_are_not_evicted() -> None:
    kubelet = _Kubelet(_config(HARD), [PODS[-1]])
    done = kubelet.pass_at(0, "1Mi")
    assert (len(done.ranked), done.evicted) == (1, ())


def test_Q6_soft_threshold_waits_and_gives_grace_period() -> None:
    kubelet = _Kubelet(_config(SOFT, 60))
    assert kubelet.pass_at(0, "1Mi").evicted == ()
    assert kubelet.state.conditions == (NodeCondition.MEMORY_PRESSURE,)
    assert kubelet.pass_at(29, "1Mi").evicted == ()
    assert _evicted(kubelet.pass_at(30, "1Mi")) == [("large", 60)]


def test_Q6_soft_threshold_restarts_after_recovery() -> None:
    kubelet = _Kubelet(_config(SOFT))
    for seconds, available in ((0, "1Mi"), (20, "2Gi"), (25, "1Mi"), (40, "1Mi")):
        assert kubelet.pass_at(seconds, available).evicted == ()
    assert _evicted(kubelet.pass_at(55, "1Mi")) == [("large", 0)]


def test_Q6_one_measurement_evicts_only_one_pod() -> None:
    kubelet = _Kubelet(_config(HARD))
    assert kubelet.pass_at(0, "1Mi").evicted
    assert kubelet.pass_at(10, "1Mi", measured_at=0) == Pass()
    assert kubelet.pass_at(20, "1Mi").evicted


def test_Q6_minimum_reclaim_keeps_a_threshold_met() -> None:
    own = {"evictionHard": {"memory.available": "1Gi"}, "evictionMinimumReclaim": {"memory.available": "500Mi"}}
    assert _Kubelet(_config(own)).pass_at(0, "1523Mi") == Pass()
    kubelet = _Kubelet(_config(own))
    assert kubelet.pass_at(0, "1Mi").evicted
    assert kubelet.pass_at(10, "1523Mi").evicted
    assert kubelet.pass_at(20, "1524Mi") == Pass()


def test_Q6_condition_lasts_for_the_transition_period() -> None:
    kubelet = _Kubelet(_config(HARD))
    kubelet.pass_at(0, "1Mi")
    kubelet.pass_at(299, "5Gi")
    assert [condition.value for condition in kubelet.state.conditions] == ["MemoryPressure"]
    kubelet.pass_at(300, "5Gi")
    assert not kubelet.state.conditions


def test_Q6_memory_is_reclaimed_before_disks() -> None:
    hard = {"evictionHard": {"nodefs.available": "10%", "memory.available": "1Gi"}}
    measured = summary(*USED, memory=node_memory("1Mi"), fs={"availableBytes": 1, "capacityBytes": 1000})
    state, done = synchronize(ManagerState(), _config(hard), PODS, measured, START)
    assert done.reclaim == "memory"
    assert state.conditions == (NodeCondition.DISK_PRESSURE, NodeCondition.MEMORY_PRESSURE)


def test_Q6_pods_over_own_storage_limit_are_evicted() -> None:
    volume = {"name": "scratch", "emptyDir": {"sizeLimit": "100"}}
    over, within = pod("over", volumes=[volume]), pod("within", volumes=[volume])
    used = [
        stats("over", volume=[{"name": "scratch", "usedBytes": 101}]),
        stats("within", volume=[{"name": "scratch", "usedBytes": 100}]),
    ]
    _, done = synchronize(ManagerState(), _config(), [over, within], summary(*used), START)
    assert _evicted(done) == [("over", 1)]
    assert done.evicted[0].message == 'Usage of EmptyDir volume "scratch" exceeds the limit "100". '
    assert not done.evicted[0].by_pressure


def test_Q6_volume_limit_of_zero_is_none() -> None:
    unlimited = pod("one", volumes=[{"name": "scratch", "emptyDir": {"sizeLimit": "0"}}])
    used = stats("one", volume=[{"name": "scratch", "usedBytes": 101}])
    _, done = synchronize(ManagerState(), _config(), [unlimited], summary(used), START)
    assert not done.evicted


@pytest.mark.parametrize(("used", "evicted"), [(100, []), (101, ["one"])])
def test_Q6_container_over_storage_limit_is_evicted(used: int, evicted: list[str]) -> None:
    # The whole pod does not exceed its limit: the limit of an init container is larger.
    limited = pod(
        "one",
        containers=[raw_container(limits={"ephemeral-storage": "100"})],
        initContainers=[raw_container("init", limits={"ephemeral-storage": "200"})],
    )
    measured = stats("one", containers=[{"name": "app", "logs": {"usedBytes": used}}])
    _, done = synchronize(ManagerState(), _config(), [limited], summary(measured), START)
    assert [name for name, _ in _evicted(done)] == evicted


def test_Q6_sidecar_storage_limit_counts_since_1_37() -> None:
    # The whole pod does not exceed its limit: the sidecar and the container have 300 together.
    limited = pod(
        "one",
        containers=[raw_container(limits={"ephemeral-storage": "200"})],
        initContainers=[raw_sidecar("mesh", limits={"ephemeral-storage": "100"})],
    )
    used = summary(stats("one", containers=[{"name": "mesh", "logs": {"usedBytes": 101}}]))
    before, after = around("sidecar_storage_limits")
    _, done = synchronize(ManagerState(), _config(), [limited], used, START, features=before)
    assert not done.evicted
    _, done = synchronize(ManagerState(), _config(), [limited], used, START, features=after)
    assert done.evicted[0].message == 'Container mesh exceeded its local ephemeral storage limit "100". '


@pytest.mark.parametrize(("image_fs", "evicted"), [(False, ["one"]), (True, [])])
def test_Q6_writable_layer_counts_only_on_node_disk(image_fs: bool, evicted: list[str]) -> None:
    limited = raw_container(limits={"ephemeral-storage": "100"})
    used = stats("one", containers=[{"name": "app", "rootfs": {"usedBytes": 60}, "logs": {"usedBytes": 60}}])
    config = ManagerConfig((), disks=Disks(image_fs=image_fs))
    _, done = synchronize(ManagerState(), config, [pod("one", containers=[limited])], summary(used), START)
    assert [name for name, _ in _evicted(done)] == evicted


@pytest.mark.parametrize(("own", "maximum", "expected"), [(30, 10, 10), (5, 10, 5), (None, 10, 10), (30, 0, 0)])
def test_Q6_grace_of_a_soft_eviction(own: int | None, maximum: int, expected: int) -> None:
    soft = _config(SOFT).thresholds[0]
    assert eviction_grace_period(make_pod(terminationGracePeriodSeconds=own), soft, maximum) == expected


BEST_EFFORT, BURSTABLE = make_pod(), make_pod(requests={"memory": "1Mi"})


@table(
    "coming, conditions, refused",
    {
        "no pressure": (BEST_EFFORT, (), False),
        "BestEffort under memory pressure": (BEST_EFFORT, ("MemoryPressure",), True),
        "Burstable under memory pressure": (BURSTABLE, ("MemoryPressure",), False),
        "Burstable under disk pressure": (BURSTABLE, ("DiskPressure",), True),
        "Burstable under both": (BURSTABLE, ("DiskPressure", "MemoryPressure"), True),
        "critical": (make_pod(priority=2_000_000_000), ("DiskPressure",), False),
    },
)
def test_Q6_admission_under_pressure(coming: Pod, conditions: tuple[str, ...], refused: bool) -> None:
    said = admit(coming, [NodeCondition(condition) for condition in conditions])
    assert said == (f"The node had condition: [{' '.join(conditions)}]. " if refused else None)


@pytest.mark.parametrize(("effect", "refused"), [("NoSchedule", False), ("NoExecute", True)])
def test_Q6_best_effort_pod_with_toleration_is_admitted(effect: str, refused: bool) -> None:
    from msgspec.structs import replace

    toleration = Toleration(key="node.kubernetes.io/memory-pressure", operator="Exists", effect=effect)
    tolerant = replace(BEST_EFFORT, spec=replace(BEST_EFFORT.spec, tolerations=(toleration,)))
    assert (admit(tolerant, [NodeCondition.MEMORY_PRESSURE]) is not None) is refused
