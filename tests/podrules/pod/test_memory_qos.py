"""MemoryQoS: the kernel's throttling and protection, by version, configuration and pod.

Figures of 1.36 and 1.37 come from upstream's own functions at v1.36.3 and v1.37.1: generateLinuxContainerResources,
ResourceConfigForPod and ApplyPodLevelMemoryHigh were called with these pods and settings; they also matched for
thousands of random pods. Those of 1.35 follow from the code at v1.35.4, which 1.34.4 has as well.
"""

from __future__ import annotations

from typing import Any

from podrules.api.features import Features
from podrules.api.model.decode import from_object
from podrules.api.model.kubelet import KubeletConfiguration
from podrules.api.model.pod import Pod
from podrules.pod.memory_qos import MemoryQoS, MemorySettings, container_memory_qos, memory_settings, pod_memory_qos
from podrules.pod.versions import Versions
from podrules.upgrade.version_changes import assumed_gates, pod_changes
from tests.objects import make_node, make_pod, raw_container, raw_sidecar
from tests.table import table

MI, GI = 1 << 20, 1 << 30
SMALL, LARGE = {"memory": "128Mi"}, {"memory": "256Mi"}
STEADY = {"cpu": "1", "memory": "256Mi"}
WITHOUT, UNPROTECTED = MemoryQoS(), MemoryQoS(low=0, min=0)
TIERED = MemorySettings(0.9, tiered=True, allocatable=32 * GI)
UNTIERED = MemorySettings(0.9, allocatable=32 * GI)
BURSTY = make_pod(requests=SMALL, limits=LARGE)
UNLIMITED, BEST_EFFORT = make_pod(requests=SMALL), make_pod()
GUARANTEED = make_pod(requests=STEADY, limits=STEADY)
POD_LEVEL = make_pod(
    containers=[raw_container("a", requests=LARGE, limits={"memory": "512Mi"}), raw_container("b", requests=LARGE)],
    resources={"limits": {"memory": "1Gi"}},
)
CPU_LEVEL = make_pod(requests=SMALL, resources={"limits": {"cpu": "2"}})
ALL_LIMITED = make_pod(
    containers=[raw_container("a", requests=SMALL, limits=LARGE)],
    initContainers=[raw_sidecar("b", requests=SMALL, limits=LARGE)],
    resources={"requests": {"cpu": "1"}},
)
OVERHEAD = make_pod(
    requests={"cpu": "1", **SMALL},
    limits={"cpu": "1", **LARGE},
    overhead={"memory": "64Mi"},
    resources={"requests": {"cpu": "1", **SMALL}, "limits": {"cpu": "1", **LARGE}},
)
STEADY_LEVEL = make_pod(
    containers=[raw_container("a", requests=LARGE, limits={"memory": "512Mi"})],
    resources={"requests": {"cpu": "1", "memory": "1Gi"}, "limits": {"cpu": "1", "memory": "1Gi"}},
)
TIGHT = make_pod(requests={"memory": "1048576"}, limits={"memory": "1050000"})
LARGER_THAN_NODE = make_pod(requests={"memory": "33Gi"})


def values(pod: Pod, settings: MemorySettings, minor: int) -> list[MemoryQoS | None]:
    """The values of the pod, then of each container, init containers first."""
    features = Features.of_minor(minor)
    of_containers = [container_memory_qos(pod, ref, settings, features=features) for ref in pod.containers()]
    return [pod_memory_qos(pod, settings, features=features), *of_containers]


LOW, HIGH, HIGH_AND_LOW = MemoryQoS(low=128 * MI), MemoryQoS(255012864, 0, 0), MemoryQoS(255012864, 128 * MI)
HALF_A_GIB = MemoryQoS(510025728, 0, 0)
NO_FACTOR = MemorySettings(tiered=True, allocatable=32 * GI)


@table(
    "pod, settings, expected",
    {
        "Burstable: by the limit": (BURSTY, TIERED, [LOW, HIGH_AND_LOW]),
        "no limit: by the node's allocatable memory": (UNLIMITED, TIERED, [LOW, MemoryQoS(30937186304, 128 * MI)]),
        "BestEffort": (BEST_EFFORT, TIERED, [WITHOUT, MemoryQoS(30923763712, 0, 0)]),
        "Guaranteed: not throttled": (GUARANTEED, TIERED, [MemoryQoS(min=256 * MI), MemoryQoS(min=256 * MI)]),
        "no factor, no memory.high": (BURSTY, NO_FACTOR, [LOW, LOW]),
        "the defaults": (BURSTY, MemorySettings(), [WITHOUT, UNPROTECTED]),
        "no reservation": (BURSTY, UNTIERED, [WITHOUT, HIGH]),
        "a factor of 1": (BURSTY, MemorySettings(1.0, allocatable=0), [WITHOUT, MemoryQoS(256 * MI, 0, 0)]),
        "a container without a limit leaves it to the pod": (
            POD_LEVEL,
            UNTIERED,
            [MemoryQoS(1020051456), HALF_A_GIB, UNPROTECTED],
        ),
        "pod-level cpu alone throttles nothing": (CPU_LEVEL, UNTIERED, [WITHOUT, MemoryQoS(30937186304, 0, 0)]),
        "every container limited, and pod-level cpu": (ALL_LIMITED, UNTIERED, [MemoryQoS(510025728), HIGH, HIGH]),
        "overhead counts": (OVERHEAD, UNTIERED, [MemoryQoS(322121728), HIGH]),
        "a Guaranteed pod with a container that is not": (
            STEADY_LEVEL,
            TIERED,
            [MemoryQoS(min=GI), MemoryQoS(510025728, min=256 * MI)],
        ),
        "less than a page above the request": (TIGHT, UNTIERED, [WITHOUT, UNPROTECTED]),
        "a request above what is allocatable": (LARGER_THAN_NODE, UNTIERED, [WITHOUT, UNPROTECTED]),
        "a kubelet alone": (UNLIMITED, MemorySettings(0.9, allocatable=0), [WITHOUT, UNPROTECTED]),
    },
)
def test_Q5_memory_of_a_pod_and_its_containers(
    pod: Pod, settings: MemorySettings, expected: list[MemoryQoS | None]
) -> None:
    assert values(pod, settings, 37) == expected


@table(
    "minor, pod, settings, expected",
    {
        "1.36: by the limit": (36, BURSTY, UNTIERED, [WITHOUT, HIGH]),
        "1.36: requests are reserved by policy": (36, BURSTY, TIERED, [LOW, HIGH_AND_LOW]),
        "1.35: every request is reserved": (
            35,
            BURSTY,
            UNTIERED,
            [MemoryQoS(min=128 * MI), MemoryQoS(255012864, min=128 * MI)],
        ),
        "1.35: nothing to reserve": (35, BEST_EFFORT, UNTIERED, [WITHOUT, WITHOUT]),
        "1.36: BestEffort is not throttled": (36, BEST_EFFORT, UNTIERED, [WITHOUT, UNPROTECTED]),
        "1.36: each container for itself": (
            36,
            POD_LEVEL,
            UNTIERED,
            [WITHOUT, HALF_A_GIB, MemoryQoS(30950604800, 0, 0)],
        ),
    },
)
def test_Q5_memory_of_older_versions(
    minor: int, pod: Pod, settings: MemorySettings, expected: list[MemoryQoS | None]
) -> None:
    assert values(pod, settings, minor) == expected


def test_Q5_unknown_allocatable_memory_gives_no_value() -> None:
    settings = MemorySettings(0.9)
    assert values(UNLIMITED, settings, 37) == [WITHOUT, None]
    assert values(BURSTY, settings, 37) == [WITHOUT, MemoryQoS(255012864, 0, 0)]
    assert values(POD_LEVEL, settings, 37)[2] == UNPROTECTED


def test_Q5_memory_is_rounded_down_to_pages() -> None:
    assert values(BURSTY, MemorySettings(0.9, page_size=65536), 37)[1] == MemoryQoS(255000576, 0, 0)


def test_Q5_amount_that_overflows_is_not_written() -> None:
    huge = make_pod(requests=SMALL, limits={"memory": str(2**63 - 1)})
    assert values(huge, MemorySettings(1.0), 37)[1] == UNPROTECTED


NODE = make_node(capacity={"memory": "32Gi"}, allocatable={"memory": "30Gi"})
ON_36, ON_37 = Features.of_minor(36, {"memory_qos": True}), Features.of_minor(37)


def config(**fields: Any) -> KubeletConfiguration:
    return from_object({"failCgroupV1": True, "memoryReservationPolicy": "None", **fields}, KubeletConfiguration)


def test_Q5_settings_are_those_of_the_kubelet() -> None:
    reserved = {"kubeReserved": {"memory": "1Gi"}, "systemReserved": {"memory": "0.5Gi"}}
    read = config(memoryThrottlingFactor=0.7, **reserved)
    allocatable = 32 * GI - GI - GI // 2
    assert memory_settings(NODE, read, ON_37) == MemorySettings(0.7, allocatable=allocatable)
    tiered = config(memoryReservationPolicy="TieredReservation")
    assert memory_settings(NODE, tiered, ON_37) == MemorySettings(tiered=True, allocatable=32 * GI)
    too_much = config(kubeReserved={"memory": "33Gi"})
    assert memory_settings(NODE, too_much, ON_37) == MemorySettings(allocatable=0)
    assert memory_settings(make_node(), config(), ON_37) == MemorySettings()


def test_Q5_settings_default_by_version() -> None:
    assert memory_settings(NODE, None, ON_37) == MemorySettings()
    assert memory_settings(NODE, None, ON_36) == MemorySettings(0.9)
    assert memory_settings(NODE, config(), ON_36) == MemorySettings(0.9, allocatable=32 * GI)


def test_Q5_settings_are_none_if_unset_or_unknown() -> None:
    assert memory_settings(NODE, config(), Features.of_minor(36)) is None
    assert memory_settings(None, config(), ON_37) is None
    # It may run on cgroup v1, as every kubelet could until 1.34.
    assert memory_settings(NODE, config(failCgroupV1=False), ON_37) is None
    assert memory_settings(NODE, None, Features.of_minor(34, {"memory_qos": True})) is None


def versions(minor: int, *, on: bool) -> Versions:
    return Versions.of(f"1.{minor}").with_gate("memory_qos", on=on)


def changed(pod: Pod, before: Versions, minor: int) -> dict[tuple[str, str], tuple[str, str]]:
    """The memory settings that another minor changes; no configuration is known."""
    node = make_node(capacity={"memory": "32Gi"}, kubelet=f"v1.{before.api_server.minor}.0")
    return {
        (one.container, one.field): (one.before, one.after)
        for one in pod_changes(pod, node, before, before.upgraded(f"1.{minor}"))
        if one.field.startswith("memory ")
    }


def test_Q5_upgrade_to_1_37_changes_no_memory_by_default() -> None:
    assert changed(BURSTY, Versions.of("1.36"), 37) == {}


def test_Q5_upgrade_changes_memory_where_the_gate_was_on() -> None:
    assert changed(BURSTY, versions(36, on=True), 37) == {("app", "memory high"): ("255012864", "none")}
    reserved = {("", "memory min"): ("134217728", "none"), ("app", "memory min"): ("134217728", "none")}
    assert changed(BURSTY, versions(35, on=True), 36) == reserved


def test_Q5_change_that_needs_configuration_is_left_out() -> None:
    # Allocatable memory is unknown, as is whether a kubelet of 1.34 runs on cgroup v1.
    assert changed(UNLIMITED, versions(36, on=True), 37) == {}
    assert changed(BURSTY, versions(34, on=True), 36) == {}


def test_Q5_gate_is_assumed_without_kubelet_configuration() -> None:
    old, new = (make_node(capacity={"memory": "32Gi"}, kubelet=version) for version in ("v1.36.3", "v1.37.1"))
    assert [gate.name for gate in assumed_gates(BURSTY, old, Versions.of("1.37"))] == ["MemoryQoS"]
    assert assumed_gates(BURSTY, old, Versions.of("1.37"), config()) == ()
    assert assumed_gates(BURSTY, new, Versions.of("1.37")) == ()
