"""Both orders of one node, and the headroom until the first eviction."""

from __future__ import annotations

from typing import Any

from podrules.api.features import REFERENCE
from podrules.api.model.decode import from_object
from podrules.api.model.kubelet import KubeletConfiguration, Summary
from podrules.api.model.node import Node, NodeMetrics, PodMetrics
from podrules.api.model.pod import ContainerStatus, Pod
from podrules.node.eviction.ranking import Disks
from podrules.node.eviction.thresholds import Signal
from podrules.node.pressure.node import (
    NodePressure,
    OOMOrder,
    OOMScope,
    ThresholdSource,
    limited_usage,
    node_pressure,
    requested_usage,
    standings,
    with_pod_using,
)
from podrules.node.pressure.usage import NO_USAGE, NodeUsage, UsageSource, usage_from_metrics, usage_from_summary
from tests.objects import make_node, make_pod, raw_container, raw_node, raw_sidecar
from tests.podrules.node.eviction.building import amount, configuration, node_memory, stats, summary
from tests.table import table

MI, GI = 1 << 20, 1 << 30
NODE = make_node("node-1", capacity={"memory": "8Gi"}, allocatable={"memory": "7Gi"})


def _pod(name: str, *, request: str = "", limit: str = "", **fields: Any) -> Pod:
    container = raw_container(
        requests={"memory": request} if request else None, limits={"memory": limit} if limit else None
    )
    return make_pod(name, uid=name, nodeName="node-1", **{"containers": [container], **fields})


def _container(name: str, rss: str, working_set: str = "0", **fields: Any) -> dict[str, Any]:
    return {"name": name, "memory": {"rssBytes": amount(rss), "workingSetBytes": amount(working_set)}, **fields}


def _pressure(
    pods: list[Pod],
    measured: Summary | NodeUsage = NO_USAGE,
    config: KubeletConfiguration | None = None,
    node: Node = NODE,
) -> NodePressure:
    usage = measured if isinstance(measured, NodeUsage) else usage_from_summary(measured)
    return node_pressure(node, pods, usage, config, features=REFERENCE)


def _order(pressure: NodePressure, scope: OOMScope) -> OOMOrder:
    return next(order for order in pressure.ooms if order.scope is scope)


def _names(order: OOMOrder) -> list[tuple[str, str]]:
    return [(place.candidate.pod, place.candidate.container) for place in order.places]


def test_Q3_each_cgroup_has_its_candidates_and_total() -> None:
    pods = [
        _pod("limited", request="100Mi", limit="200Mi"),
        _pod(
            "two",
            containers=[raw_container("a", limits={"memory": "1Gi"}), raw_container("b", limits={"memory": "512Mi"})],
        ),
        _pod("free"),
    ]
    measured = summary(
        stats("limited", "150Mi", containers=[_container("app", "100Mi", "150Mi")]),
        stats("two", "300Mi", containers=[_container("a", "200Mi", "250Mi"), _container("b", "10Mi", "50Mi")]),
        stats("free", "50Mi", containers=[_container("app", "40Mi")]),
        systemContainers=[
            {"name": "pods", "memory": {"workingSetBytes": 500 * MI, "availableBytes": 6 * GI - 500 * MI}},
            {"name": "kubelet", "memory": {"rssBytes": 60 * MI}},
            {"name": "runtime", "memory": {"rssBytes": 50 * MI}},
            {"name": "misc", "memory": {"rssBytes": 90 * MI}},
        ],
        memory=node_memory("7Gi", "1Gi"),
    )
    pressure = _pressure(pods, measured)
    machine, kubepods = _order(pressure, OOMScope.GLOBAL), _order(pressure, OOMScope.KUBEPODS)
    assert (machine.memory, machine.working_set) == (8 * GI, GI)
    assert _names(machine)[-2:] == [("", "kubelet"), ("", "runtime")]
    assert (kubepods.memory, kubepods.memory_assumed, kubepods.working_set) == (6 * GI, False, 500 * MI)
    assert sorted(_names(kubepods)) == sorted(_names(machine)[:-2])
    assert len(kubepods.places) == 4
    own = [order for order in pressure.ooms if order.scope in {OOMScope.POD, OOMScope.CONTAINER}]
    assert [(order.scope.value, order.pod, order.container, order.memory // MI) for order in own] == [
        ("Pod", "limited", "", 200),
        ("Container", "limited", "app", 200),
        ("Container", "two", "a", 1024),
        ("Pod", "two", "", 1536),
        ("Container", "two", "b", 512),
    ]
    (of_two,) = [order for order in own if order.scope is OOMScope.POD and order.pod == "two"]
    assert _names(of_two) == [("two", "a"), ("two", "b")]


def test_Q3_adj_depends_on_class_and_request() -> None:
    pods = [_pod("burstable", request="1Gi"), _pod("best-effort"), make_pod("elsewhere", status={"phase": "Failed"})]
    places = _order(_pressure(pods), OOMScope.GLOBAL).places
    assert [(place.candidate.pod, place.candidate.oom_score_adj, place.candidate.rss) for place in places] == [
        ("best-effort", 1000, None),
        ("burstable", 875, None),
    ]


def test_Q3_containers_that_run_are_candidates() -> None:
    pod = _pod(
        "mixed",
        containers=[raw_container("app")],
        initContainers=[raw_container("init"), raw_sidecar("mesh")],
        ephemeralContainers=[raw_container("debugger")],
    )
    assert {name for _, name in _names(_order(_pressure([pod]), OOMScope.GLOBAL))} == {"app", "mesh"}
    measured = summary(stats("mixed", containers=[_container(name, "1Mi") for name in ("init", "debugger", "gone")]))
    assert {name for _, name in _names(_order(_pressure([pod], measured), OOMScope.GLOBAL))} == {"init", "debugger"}


@table(
    "status, measured, expected",
    {
        "none": ({}, {}, 0),
        "as the node says": ({"nodeInfo": {"swap": {"capacity": 4096}}}, {}, 4096),
        "as it was measured": ({}, {"swap": {"swapAvailableBytes": 60, "swapUsageBytes": 4}}, 64),
    },
)
def test_Q3_swap_of_the_machine_is_part_of_the_total(
    status: dict[str, Any], measured: dict[str, Any], expected: int
) -> None:
    node = from_object(raw_node("n", capacity={"memory": "8Gi"}, status=status), Node)
    pressure = _pressure([_pod("one")], summary(**measured), node=node)
    assert _order(pressure, OOMScope.GLOBAL).swap == expected


@table(
    "config, memory, assumed",
    {
        "capacity less what is reserved": (
            configuration(kubeReserved={"memory": "1Gi"}, systemReserved={"memory": "512Mi"}),
            8 * GI - GI - 512 * MI,
            False,
        ),
        "not enforced": (configuration(kubeReserved={"memory": "1Gi"}, enforceNodeAllocatable=["none"]), 8 * GI, False),
        "not known: allocatable and the default threshold": (None, 7 * GI + 100 * MI, True),
    },
)
def test_Q3_limit_of_all_pods_where_it_is_not_measured(
    config: KubeletConfiguration | None, memory: int, assumed: bool
) -> None:
    order = _order(_pressure([_pod("one")], config=config), OOMScope.KUBEPODS)
    assert (order.memory, order.memory_assumed) == (memory, assumed)


@table(
    "config, expected",
    {
        "not known": (None, None),
        "cgroup v2 is required since 1.35": (configuration(), True),
        "v1 is allowed": (configuration(failCgroupV1=False), None),
        "switched off": (configuration(singleProcessOOMKill=True), False),
        "switched on": (configuration(singleProcessOOMKill=False, failCgroupV1=False), True),
    },
)
def test_Q3_whether_a_whole_container_dies(config: KubeletConfiguration | None, expected: bool | None) -> None:
    assert _pressure([], config=config).oom_group is expected


_FS = {"capacityBytes": 1000, "availableBytes": 500, "inodes": 100, "inodesFree": 50}
_OTHER_FS = {**_FS, "capacityBytes": 2000, "availableBytes": 100}


@table(
    "runtime, disks, signals",
    {
        "not known": ({}, Disks(), {"nodefs"}),
        "one": ({"imageFs": _FS, "containerFs": _FS}, Disks(), {"nodefs"}),
        "images": ({"imageFs": _OTHER_FS, "containerFs": _OTHER_FS}, Disks(image_fs=True), {"nodefs", "imagefs"}),
        "layers apart": ({"imageFs": _OTHER_FS, "containerFs": _FS}, Disks(True, True), {"nodefs", "imagefs"}),
    },
)
def test_Q6_disks_are_distinguished_by_size(runtime: dict[str, Any], disks: Disks, signals: set[str]) -> None:
    pressure = _pressure([_pod("one")], summary(stats("one"), fs=_FS, runtime=runtime))
    assert pressure.disks == disks
    ranked = {order.signal.value.partition(".")[0] for order in pressure.evictions}
    assert ranked == signals | {"memory", "pid"}


def test_Q6_each_threshold_has_its_headroom() -> None:
    config = configuration(
        evictionHard={"memory.available": "1Gi", "nodefs.available": "10%"},
        evictionSoft={"memory.available": "2Gi"},
        evictionSoftGracePeriod={"memory.available": "1m"},
        enforceNodeAllocatable=[],
    )
    pressure = _pressure([], summary(memory=node_memory("1536Mi"), fs=_FS), config)
    assert pressure.threshold_source is ThresholdSource.KUBELET
    headrooms = [(one.threshold.signal, str(one.quantity), str(one.left), one.met) for one in pressure.headrooms]
    assert headrooms == [
        (Signal.MEMORY_AVAILABLE, "1Gi", "512Mi", False),
        (Signal.MEMORY_AVAILABLE, "2Gi", "-512Mi", True),
        (Signal.NODE_FS_AVAILABLE, "100", "400", False),
    ]


def test_Q6_unknown_thresholds_are_the_defaults() -> None:
    pressure = _pressure([], summary(memory=node_memory("1Gi")))
    assert pressure.threshold_source is ThresholdSource.DEFAULTS
    assert [str(one.quantity) for one in pressure.headrooms] == ["100Mi"]
    broken = _pressure([], summary(memory=node_memory("1Gi")), configuration(evictionHard={"new.signal": "1"}))
    assert broken.threshold_source is ThresholdSource.DEFAULTS
    assert "evictionHard[new.signal]: no such eviction signal" in broken.threshold_problem
    assert [str(one.quantity) for one in broken.headrooms] == ["100Mi"]


def test_Q6_pods_over_own_limits_are_listed() -> None:
    volume = {"name": "scratch", "emptyDir": {"sizeLimit": "100"}}
    measured = summary(stats("one", volume=[{"name": "scratch", "usedBytes": 101}]))
    (over,) = _pressure([_pod("one", volumes=[volume])], measured, configuration()).over_limits
    assert (over.limit.field, over.limit.usage, over.limit.limit) == ("spec.volumes[0].emptyDir.sizeLimit", 101, 100)
    off = configuration(localStorageCapacityIsolation=False)
    assert _pressure([_pod("one", volumes=[volume])], measured, off).over_limits == ()


def _metrics(pods: dict[str, str], node: str = "3Gi") -> NodeUsage:
    of_node = from_object({"metadata": {"name": "node-1"}, "usage": {"memory": node}}, NodeMetrics)
    found = [
        from_object(
            {
                "metadata": {"name": name, "namespace": "default"},
                "containers": [{"name": "app", "usage": {"cpu": "1m", "memory": used}}],
            },
            PodMetrics,
        )
        for name, used in pods.items()
    ]
    return usage_from_metrics(NODE, of_node, [_pod(name) for name in pods], found)


def test_Q6_metrics_rank_pods_for_memory_alone() -> None:
    pressure = _pressure([_pod("small"), _pod("large")], _metrics({"small": "1Mi", "large": "2Mi"}))
    assert pressure.usage_source is UsageSource.METRICS
    (order,) = pressure.evictions
    assert [place.ranked.pod.metadata.name for place in order.places] == ["large", "small"]
    assert [str(one.available) for one in pressure.headrooms] == ["5Gi"]


def test_Q3_working_set_replaces_unknown_resident_memory() -> None:
    pressure = _pressure([_pod("one")], _metrics({"one": "100Mi"}))
    assert _order(pressure, OOMScope.GLOBAL).places[0].candidate.rss == 100 * MI


def test_Q6_no_eviction_order_without_usage() -> None:
    pressure = _pressure([_pod("one")])
    assert (pressure.evictions, pressure.headrooms) == ((), ())


def test_node_of_unknown_size_has_no_order() -> None:
    nothing = make_node("n")
    assert _pressure([_pod("one")], node=nothing).ooms == ()


def test_Q3_Q6_rank_of_a_pod_and_its_predecessors() -> None:
    pods = [_pod("large", priority=0), _pod("small", priority=1000), _pod("critical", priority=2_000_000_000)]
    measured = summary(*(stats(name, "5Mi", containers=[_container("app", used)]) for name, used in USED.items()))
    found = standings(_pressure(pods, measured))
    standing = found[pods[1].metadata.place]
    by_scope = {entry.order.scope: entry for entry in standing.ooms}
    machine = by_scope[OOMScope.GLOBAL]
    assert (machine.rank, machine.before and machine.before.candidate.pod) == (3, "large")
    by_signal = {entry.signal: entry for entry in standing.evictions}
    memory = by_signal[Signal.MEMORY_AVAILABLE]
    assert (memory.rank, memory.of) == (2, 2)
    assert memory.before is not None
    assert memory.before.ranked.pod.metadata.name == "large"
    assert found[pods[2].metadata.place].evictions == ()
    assert _pod("unknown").metadata.place not in found


USED = {"large": "500Mi", "small": "1Mi", "critical": "600Mi"}


def test_Q3_Q6_rank_of_a_new_pod() -> None:
    coming = _pod("coming", request="100Mi", limit="1Gi")
    there = _pod("there", request="100Mi")
    usage = usage_from_summary(summary(stats("there", "150Mi", containers=[_container("app", "150Mi", "150Mi")])))
    ranks = []
    for memory in (requested_usage(coming), limited_usage(coming, REFERENCE)):
        assert memory is not None
        standing = standings(_pressure([there, coming], with_pod_using(usage, coming, memory)))[coming.metadata.place]
        eviction = {entry.signal: entry.rank for entry in standing.evictions}
        ranks.append((standing.ooms[0].rank, eviction[Signal.MEMORY_AVAILABLE]))
    assert ranks == [(2, 2), (1, 1)]
    assert len(usage.summary.pods) == 1


def test_usage_of_new_pod_is_bounded_only_by_limits() -> None:
    pod = _pod("one", containers=[raw_container("a", requests={"memory": "5"}), raw_container("b")])
    assert requested_usage(pod) == {"a": 5, "b": 0}
    assert limited_usage(pod, REFERENCE) is None
    assert with_pod_using(NO_USAGE, pod, {"a": 5}) is NO_USAGE


def _status(name: str, **state: Any) -> ContainerStatus:
    return from_object({"name": name, "state": state}, ContainerStatus)


def test_Q3_kernel_kills_no_container_that_has_no_process() -> None:
    pods = [
        _pod("image", status={"containerStatuses": [_status("app", waiting={"reason": "ImagePullBackOff"})]}),
        _pod(
            "half",
            containers=[raw_container("up"), raw_container("down")],
            status={"containerStatuses": [_status("up", running={}), _status("down", terminated={"exitCode": 1})]},
        ),
        _pod("to-come"),
    ]
    expected = [("half", "up"), ("to-come", "app")]
    assert _names(_order(_pressure(pods), OOMScope.GLOBAL)) == expected
    # A summary may still list ended containers.
    old = summary(
        stats("image", "1Mi", containers=[_container("app", "1Mi")]),
        stats("half", "9Mi", containers=[_container("up", "5Mi"), _container("down", "4Mi")]),
        stats("to-come", "2Mi", containers=[_container("app", "2Mi")]),
    )
    assert _names(_order(_pressure(pods, old), OOMScope.GLOBAL)) == expected
    assert pods[0].metadata.place not in standings(_pressure(pods))
