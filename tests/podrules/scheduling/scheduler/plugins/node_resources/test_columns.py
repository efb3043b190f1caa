"""Sums by kind of pod are the sums of all pods."""

from __future__ import annotations

from msgspec.structs import replace

from podrules.api.features import REFERENCE, Features
from podrules.api.model.pod import Pod
from podrules.pod.resources import scheduler_request
from podrules.scheduling.scheduler.framework.node_table import NodeTable
from podrules.scheduling.scheduler.plugins.node_resources.columns import Accounting, allocatable
from tests.objects import make_pod, raw_container, raw_container_status
from tests.podrules.scheduling.scheduler.plugins.building_resources import make_room, pod_asking

RESIZED = raw_container_status(requests={"cpu": "3"}, allocatedResources={"cpu": "2"})
INFEASIBLE = {"type": "PodResizePending", "status": "True", "reason": "Infeasible"}
# Each differs from another only in one field that decides about the scheduler's accounts.
KINDS = [
    pod_asking("cpu=1"),
    pod_asking("cpu=1", ""),
    pod_asking("cpu=1000m"),
    pod_asking("memory=1"),
    pod_asking("cpu=1", init=["cpu=4"]),
    pod_asking("cpu=1", sidecars=["cpu=4"]),
    pod_asking("cpu=1", "cpu=4"),
    pod_asking("cpu=1", overhead="cpu=4"),
    pod_asking("cpu=1", own="cpu=4"),
    pod_asking("cpu=1", own=""),
    pod_asking("cpu=1 example.com/gpu=2 storage=7"),
    pod_asking("cpu=1 hugepages-2Mi=4Mi"),
    make_pod(requests={"cpu": "1"}, status={"containerStatuses": [RESIZED]}),
    make_pod(requests={"cpu": "4"}, status={"containerStatuses": [RESIZED], "conditions": [INFEASIBLE]}),
    make_pod(requests={"cpu": "4"}, status={"containerStatuses": [RESIZED]}),
    make_pod(containers=[raw_container("other", requests={"cpu": "1"})], status={"containerStatuses": [RESIZED]}),
    make_pod(containers=[raw_container("app"), raw_container("other", requests={"cpu": "1"})]),
    make_pod(
        requests={"cpu": "1"},
        resources={"requests": {"cpu": "1"}},
        status={"resources": {"requests": {"cpu": "5"}}, "allocatedResources": {"cpu": "6"}},
    ),
    make_pod(
        requests={"cpu": "1"},
        resources={"requests": {"cpu": "1"}},
        status={"resources": {"requests": {"cpu": "5"}}, "allocatedResources": {"cpu": "7"}},
    ),
    make_pod(
        requests={"cpu": "1"},
        resources={"requests": {"cpu": "1"}},
        status={"resources": {"requests": {"cpu": "9"}}, "allocatedResources": {"cpu": "7"}},
    ),
    make_pod(requests={"cpu": "1"}, resources={"requests": {"cpu": "1"}}, status={"allocatedResources": {"cpu": "6"}}),
    make_pod(
        requests={"cpu": "1"},
        status={"containerStatuses": [raw_container_status(requests={"cpu": "3"}, allocatedResources={"cpu": "8"})]},
    ),
    *(
        make_pod(
            containers=[raw_container("one", requests={"cpu": "1"}), raw_container("two", requests={"cpu": "2"})],
            status={"containerStatuses": [raw_container_status(name, requests={"cpu": "5"})]},
        )
        for name in ("one", "two")
    ),
]


def on(pod: Pod, name: str) -> Pod:
    return replace(pod, spec=replace(pod.spec, node_name=name))


def check(features: Features) -> None:
    names = [f"node{index}" for index in range(len(KINDS))]
    pods = [
        on(pod, name) for round_ in range(2) for name, pod in zip(names, KINDS, strict=True) for _ in range(2 - round_)
    ]
    accounts = NodeTable([make_room(name, "") for name in names], pods).pods.derived(Accounting(features))
    for row, pod in enumerate(KINDS):
        one = scheduler_request(pod, features)
        assert accounts.pods[row] == 3
        assert accounts.requested.of("cpu")[row] == 3 * one.milli_cpu, pod
        assert accounts.requested.of("memory")[row] == 3 * one.memory
        assert accounts.requested.of("ephemeral-storage")[row] == 3 * one.ephemeral_storage
        assert accounts.nonzero.of("cpu")[row] == 3 * one.nonzero_milli_cpu
        assert accounts.nonzero.of("memory")[row] == 3 * one.nonzero_memory
        for name in ("example.com/gpu", "hugepages-2Mi"):
            assert accounts.requested.of(name)[row] == 3 * one.scalar.get(name, 0)


def test_accounts_by_kind_are_the_sums_of_all_pods() -> None:
    check(REFERENCE)
    check(Features.of_minor(32))


def test_accounts_are_kept_by_features() -> None:
    table = NodeTable([make_room("node", "")], [on(pod_asking("cpu=1", own="cpu=4"), "node")])
    assert table.pods.derived(Accounting(REFERENCE)).requested.of("cpu").tolist() == [4000]
    assert table.pods.derived(Accounting(Features.of_minor(32))).requested.of("cpu").tolist() == [1000]
    newest = Features.of_minor(REFERENCE.minor)
    assert table.pods.derived(Accounting(REFERENCE)) is table.pods.derived(Accounting(newest))


def test_allocatable_takes_what_the_scheduler_counts() -> None:
    table = NodeTable(
        [make_room("a", "cpu=1500m memory=1Ki example.com/gpu=2"), make_room("b", "whatever=3 pods=7")], []
    )
    found = table.nodes.derived(allocatable)
    assert {name: found.of(name).tolist() for name in ("cpu", "memory", "example.com/gpu", "whatever", "pods")} == {
        "cpu": [1500, 0],
        "memory": [1024, 0],
        "example.com/gpu": [2, 0],
        "whatever": [0, 0],
        "pods": [110, 7],
    }


def test_sums_wrap_as_64_bit_integers() -> None:
    huge = on(pod_asking("memory=9223372036854775807"), "node")
    table = NodeTable([make_room("node", "")], [huge, huge])
    assert table.pods.derived(Accounting(REFERENCE)).requested.of("memory").tolist() == [-2]
