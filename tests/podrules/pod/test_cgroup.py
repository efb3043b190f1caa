"""Cgroup names under both drivers; values of the QoS, pod and container level on v1 and v2."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest

from podrules.api.features import Features
from podrules.api.model.pod import Pod, PodQOSClass
from podrules.pod.cgroup import (
    QUOTA_PERIOD,
    CgroupName,
    ResourceConfig,
    container_resource_config,
    cpu_weight,
    cpu_weight_libcontainer,
    milli_cpu_to_quota,
    milli_cpu_to_shares,
    pod_cgroup_name,
    pod_resource_config,
    qos_cgroup_name,
    qos_resource_configs,
)
from tests.controlplane.client import Object
from tests.features import around
from tests.objects import make_pod, raw_container, raw_sidecar
from tests.restated.cgroup import cpu_weight_to_shares, parse_systemd
from tests.table import table

MI = 1024 * 1024
TUNED = 5000
NO_POD_LEVEL = Features.of_minor(33)
SMALL = {"cpu": "100m", "memory": "100Mi"}
LARGE = {"cpu": "200m", "memory": "200Mi"}
GUARANTEED, BURSTABLE, BEST_EFFORT = PodQOSClass.GUARANTEED, PodQOSClass.BURSTABLE, PodQOSClass.BEST_EFFORT


@table(
    "parts, systemd, cgroupfs",
    {
        "the root": ((), "/", "/"),
        "kubepods": (("kubepods",), "/kubepods.slice", "/kubepods"),
        "system": (("system",), "/system.slice", "/system"),
        "two parts": (("system", "Burstable"), "/system.slice/system-Burstable.slice", "/system/Burstable"),
        "dashes are escaped": (
            ("Burstable", "pod-123"),
            "/Burstable.slice/Burstable-pod_123.slice",
            "/Burstable/pod-123",
        ),
        "each slice repeats its parents": (
            ("test", "a", "b", "Burstable"),
            "/test.slice/test-a.slice/test-a-b.slice/test-a-b-Burstable.slice",
            "/test/a/b/Burstable",
        ),
        "a pod's uid": (
            ("BestEffort", "pod-6c1a4e95-6bb6-11e6-bc26-28d2444e470d"),
            "/BestEffort.slice/BestEffort-pod_6c1a4e95_6bb6_11e6_bc26_28d2444e470d.slice",
            "/BestEffort/pod-6c1a4e95-6bb6-11e6-bc26-28d2444e470d",
        ),
    },
)
def test_Q5_names_by_driver(parts: tuple[str, ...], systemd: str, cgroupfs: str) -> None:
    name = CgroupName(parts)
    assert name.to_systemd() == systemd
    assert name.to_cgroupfs() == cgroupfs


@pytest.mark.parametrize(
    ("path", "parts"),
    [
        ("/test", ("test",)),
        ("/test.slice", ("test",)),
        ("/test.slice/", ("test",)),
        ("/kubepods.slice/kubepods-burstable.slice", ("kubepods", "burstable")),
        ("/kubepods.slice/kubepods-podab_cd.slice", ("kubepods", "podab-cd")),
    ],
)
def test_Q5_slice_is_read_back(path: str, parts: tuple[str, ...]) -> None:
    assert parse_systemd(path) == CgroupName(parts)


@pytest.mark.parametrize(
    ("qos_class", "cgroupfs", "systemd"),
    [
        (GUARANTEED, "/kubepods", "/kubepods.slice"),
        (BURSTABLE, "/kubepods/burstable", "/kubepods.slice/kubepods-burstable.slice"),
        (BEST_EFFORT, "/kubepods/besteffort", "/kubepods.slice/kubepods-besteffort.slice"),
    ],
)
def test_Q5_cgroup_of_a_class(qos_class: PodQOSClass, cgroupfs: str, systemd: str) -> None:
    assert qos_cgroup_name(qos_class).to_cgroupfs() == cgroupfs
    assert qos_cgroup_name(qos_class).to_systemd() == systemd


@table(
    "pod, cgroupfs, systemd",
    {
        "pod with qos guaranteed": (
            make_pod(uid="fake-uid-1", requests=SMALL, limits=SMALL),
            "/kubepods/podfake-uid-1",
            "/kubepods.slice/kubepods-podfake_uid_1.slice",
        ),
        "pod with qos burstable": (
            make_pod(uid="fake-uid-3", requests=SMALL),
            "/kubepods/burstable/podfake-uid-3",
            "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-podfake_uid_3.slice",
        ),
        "pod with qos best-effort": (
            make_pod(uid="fake-uid-5"),
            "/kubepods/besteffort/podfake-uid-5",
            "/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-podfake_uid_5.slice",
        ),
        "the stored class counts": (
            make_pod(uid="u", status={"qosClass": "Burstable"}),
            "/kubepods/burstable/podu",
            "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-podu.slice",
        ),
    },
)
def test_Q5_cgroup_of_a_pod(pod: Pod, cgroupfs: str, systemd: str) -> None:
    assert pod_cgroup_name(pod).to_cgroupfs() == cgroupfs
    assert pod_cgroup_name(pod).to_systemd() == systemd


def test_Q5_cgroup_root_of_the_kubelet_comes_first() -> None:
    assert pod_cgroup_name(make_pod(uid="u"), ("kind", "node")).to_cgroupfs() == "/kind/node/kubepods/besteffort/podu"


def test_Q5_class_of_a_cgroup_depends_on_the_version() -> None:
    pod = make_pod(uid="u", requests=SMALL, resources={})
    assert pod_cgroup_name(pod).to_cgroupfs() == "/kubepods/burstable/podu"
    before, _ = around("pod_level_resources_fix_kubelet_qos_class")
    assert pod_cgroup_name(pod, features=before).to_cgroupfs() == "/kubepods/besteffort/podu"
    assert pod_cgroup_name(pod, features=NO_POD_LEVEL).to_cgroupfs() == "/kubepods/burstable/podu"


@pytest.mark.parametrize(
    ("milli_cpu", "shares"),
    [(0, 2), (1, 2), (2, 2), (3, 3), (100, 102), (250, 256), (1000, 1024), (256_000, 262_144), (300_000, 262_144)],
)
def test_Q5_shares(milli_cpu: int, shares: int) -> None:
    assert milli_cpu_to_shares(milli_cpu) == shares


@pytest.mark.parametrize(
    ("milli_cpu", "period", "quota"),
    [
        (0, 0, 0),
        (0, QUOTA_PERIOD, 0),
        (5, QUOTA_PERIOD, 1000),
        (9, QUOTA_PERIOD, 1000),
        (10, QUOTA_PERIOD, 1000),
        (11, QUOTA_PERIOD, 1100),
        (200, QUOTA_PERIOD, 20_000),
        (500, QUOTA_PERIOD, 50_000),
        (1000, QUOTA_PERIOD, 100_000),
        (1500, QUOTA_PERIOD, 150_000),
        (200, TUNED, 1000),
        (1000, TUNED, 5000),
    ],
)
def test_Q5_quota(milli_cpu: int, period: int, quota: int) -> None:
    assert milli_cpu_to_quota(milli_cpu, period) == quota


@table(
    "shares, kubelet, libcontainer",
    {
        "the least": (2, 1, 1),
        "just above the least": (3, 1, 2),
        "100m": (102, 4, 17),
        "the example of two formulas": (816, 32, 84),
        "a whole cpu": (1024, 39, 100),
        "just below the most": (262_143, 9999, 10_000),
        "the most": (262_144, 10_000, 10_000),
        "beyond the most": (262_145, 10_000, 10_000),
    },
)
def test_Q5_two_conversions_of_shares_to_weight(shares: int, kubelet: int, libcontainer: int) -> None:
    assert cpu_weight(shares) == kubelet
    assert cpu_weight_libcontainer(shares) == libcontainer


@table("shares, weight", {"unset": (0, 0), "below": (1, 1)})
def test_Q5_libcontainer_weight_out_of_range(shares: int, weight: int) -> None:
    assert cpu_weight_libcontainer(shares) == weight


@pytest.mark.parametrize(("weight", "shares"), [(1, 2), (2, 28), (3, 54), (4, 80), (245, 6398), (10_000, 262_144)])
def test_Q5_weight_back_to_shares(weight: int, shares: int) -> None:
    assert cpu_weight_to_shares(weight) == shares


def _limited(requests: Mapping[str, str], limits: Mapping[str, str] | None = None) -> Object:
    return raw_container(requests=requests, limits=limits)


SMALL_SHARES, LARGE_SHARES = 102, 204


TINY, LITTLE = {"cpu": "10m", "memory": "50Mi"}, {"cpu": "50m", "memory": "100Mi"}
EMPTY, ASKING = make_pod(), make_pod(requests=SMALL)
BELOW, EQUAL = make_pod(requests=SMALL, limits=LARGE), make_pod(requests=SMALL, limits=SMALL)
PARTLY = [_limited(SMALL, SMALL), _limited(SMALL)]
OWN_BELOW, OWN_EQUAL = {"requests": SMALL, "limits": LARGE}, {"requests": SMALL, "limits": SMALL}
SIDE = raw_sidecar(requests=SMALL, limits=LARGE)
FREE, TUNING = {"enforce_cpu_limits": False}, {"cpu_period": TUNED}


def _config(shares: int, quota: int, mebibytes: int, period: int = QUOTA_PERIOD) -> ResourceConfig:
    return ResourceConfig(shares, quota, period, mebibytes * MI)


@table(
    "pod, options, expected",
    {
        "besteffort": (EMPTY, {}, ResourceConfig(2)),
        "burstable-no-limits": (ASKING, {}, ResourceConfig(SMALL_SHARES)),
        "burstable-with-limits": (BELOW, {}, _config(SMALL_SHARES, 20_000, 200)),
        "burstable-with-limits-no-cpu-enforcement": (BELOW, FREE, _config(SMALL_SHARES, -1, 200)),
        "burstable-partial-limits": (
            make_pod(containers=[_limited(SMALL, LARGE), _limited(SMALL)]),
            {},
            ResourceConfig(LARGE_SHARES),
        ),
        "burstable-with-limits-with-tuned-quota": (BELOW, TUNING, _config(SMALL_SHARES, 1000, 200, TUNED)),
        "burstable-with-limits-no-cpu-enforcement-with-tuned-quota": (
            BELOW,
            FREE | TUNING,
            _config(SMALL_SHARES, -1, 200, TUNED),
        ),
        "guaranteed": (EQUAL, {}, _config(SMALL_SHARES, 10_000, 100)),
        "guaranteed-no-cpu-enforcement": (EQUAL, FREE, _config(SMALL_SHARES, -1, 100)),
        "guaranteed-with-tuned-quota": (EQUAL, TUNING, _config(SMALL_SHARES, 1000, 100, TUNED)),
        "burstable-partial-limits-with-init-containers": (
            make_pod(containers=PARTLY, initContainers=PARTLY),
            TUNING,
            ResourceConfig(LARGE_SHARES),
        ),
        "one resource limited in every container": (
            make_pod(requests=SMALL, limits={"memory": "200Mi"}),
            {},
            ResourceConfig(SMALL_SHARES, memory=200 * MI),
        ),
        "a sidecar's limit does not apply to the init container after it": (
            make_pod(requests=SMALL, limits=LARGE, initContainers=[SIDE, raw_container("init")]),
            {},
            ResourceConfig(LARGE_SHARES),
        ),
        "overhead counts": (
            make_pod(requests=SMALL, limits=LARGE, overhead={"cpu": "100m", "memory": "50Mi"}),
            {},
            _config(LARGE_SHARES, 30_000, 250),
        ),
    },
)
def test_Q5_values_of_a_pod(pod: Pod, options: Object, expected: ResourceConfig) -> None:
    assert pod_resource_config(pod, **options) == expected


def test_Q5_sidecar_limit_covers_later_inits_until_1_36() -> None:
    before, _ = around("limits_per_container")
    after_it = make_pod(requests=SMALL, limits=LARGE, initContainers=[SIDE, raw_container("init")])
    assert pod_resource_config(after_it, features=before) == _config(LARGE_SHARES, 40_000, 400)
    before_it = make_pod(requests=SMALL, limits=LARGE, initContainers=[raw_container("init"), SIDE])
    assert pod_resource_config(before_it, features=before) == ResourceConfig(LARGE_SHARES)


OWN_REQUESTS, FREE_CONTAINER, SMALLER = {"requests": SMALL}, raw_container(), _limited(TINY, LITTLE)
LEAST, OF_SMALL, OF_TINY = ResourceConfig(2), ResourceConfig(SMALL_SHARES), _config(10, 5000, 100)
TWICE, ONCE, OF_LARGE = (
    _config(SMALL_SHARES, 20_000, 200),
    _config(SMALL_SHARES, 10_000, 100),
    _config(LARGE_SHARES, 20_000, 200),
)
PARTIAL = {"requests": {"cpu": "200m", "memory": "300Mi"}}


@table(
    "resources, container, expected, without_pod_level",
    {
        "besteffort-with-pod-level-resources-enabled": ({}, FREE_CONTAINER, LEAST, LEAST),
        "burstable-with-pod-level-requests": (OWN_REQUESTS, FREE_CONTAINER, OF_SMALL, LEAST),
        "burstable-with-pod-and-container-level-requests": (OWN_REQUESTS, _limited(TINY), OF_SMALL, ResourceConfig(10)),
        "burstable-with-pod-level-resources": (OWN_BELOW, FREE_CONTAINER, TWICE, LEAST),
        "burstable-with-pod-and-container-level-resources": (OWN_BELOW, SMALLER, TWICE, OF_TINY),
        "burstable-with-partial-pod-level-resources-limits": (PARTIAL, _limited(LARGE, LARGE), OF_LARGE, OF_LARGE),
        "guaranteed-with-pod-level-resources": (OWN_EQUAL, FREE_CONTAINER, ONCE, LEAST),
        "guaranteed-with-pod-and-container-level-resources": (OWN_EQUAL, SMALLER, ONCE, OF_TINY),
        "a pod-level limit of memory alone": (
            {"limits": {"memory": "1Gi"}},
            _limited(SMALL),
            ResourceConfig(SMALL_SHARES, memory=1024 * MI),
            OF_SMALL,
        ),
    },
)
def test_Q5_values_of_a_pod_with_pod_level_resources(
    resources: Object, container: Object, expected: ResourceConfig, without_pod_level: ResourceConfig
) -> None:
    pod = make_pod(containers=[container], resources=resources)
    assert pod_resource_config(pod) == expected
    assert pod_resource_config(pod, features=NO_POD_LEVEL) == without_pod_level


@table(
    "requests, expected",
    {
        "no valid hugepages": ({"2Mi": "128"}, {}),
        "2Mi only": ({"hugepages-2Mi": "128"}, {2 * MI: 128}),
        "2Mi and 4Mi": (
            {"hugepages-2Mi": "128", f"hugepages-{2 * MI}": "256", "hugepages-4Mi": "512", "4Mi": "1024"},
            {2 * MI: 384, 4 * MI: 512},
        ),
    },
)
def test_Q5_huge_pages_of_a_pod(requests: Mapping[str, str], expected: Mapping[int, int]) -> None:
    assert pod_resource_config(make_pod(requests=requests)).huge_page_limit == expected
    assert pod_resource_config(make_pod(requests={**requests, "cpu": "1"})).huge_page_limit == expected


def test_Q5_page_size_that_cannot_be_read_is_zero_as_upstream() -> None:
    assert pod_resource_config(make_pod(requests={"hugepages-foo": "4Mi"})).huge_page_limit == {0: 4 * MI}


STEADY = make_pod(requests={"cpu": "1", "memory": "128Mi"}, limits={"cpu": "1", "memory": "128Mi"})
BURSTY = make_pod(requests={"cpu": "1", "memory": "128Mi"}, limits={"cpu": "2", "memory": "256Mi"})


@table(
    "pods, shares",
    {
        "guaranteed-pods-only": ([STEADY], 2),
        "burstable-pods-only": ([BURSTY], 1024),
        "besteffort-pods-only": ([make_pod()], 2),
        "guaranteed-and-burstable-pods": ([STEADY, BURSTY], 1024),
        "all-burstable-requests-add-up": ([BURSTY, make_pod(requests={"cpu": "500m"}), make_pod()], 1536),
        "burstable-without-cpu": ([make_pod(requests={"memory": "1Gi"})], 2),
        "no-pods": ([], 2),
    },
)
def test_Q5_values_of_the_qos_cgroups(pods: Sequence[Pod], shares: int) -> None:
    assert qos_resource_configs(pods) == {
        GUARANTEED: ResourceConfig(),
        BURSTABLE: ResourceConfig(cpu_shares=shares),
        BEST_EFFORT: ResourceConfig(cpu_shares=2),
    }


def _container_config(pod: Pod, *, enforced: bool = True, features: Features | None = None) -> ResourceConfig:
    ref = next(pod.containers())
    if features is None:
        return container_resource_config(pod, ref, enforce_cpu_limits=enforced)
    return container_resource_config(pod, ref, enforce_cpu_limits=enforced, features=features)


@table(
    "pod, expected",
    {
        "requests & limits, cpu & memory, guaranteed qos": (
            make_pod(requests={"cpu": "250m", "memory": "500Mi"}, limits={"cpu": "250m", "memory": "500Mi"}),
            ResourceConfig(256, 25_000, QUOTA_PERIOD, 524_288_000),
        ),
        "requests & limits, cpu & memory, burstable qos": (
            make_pod(requests={"cpu": "250m", "memory": "500Mi"}, limits={"cpu": "500m", "memory": "750Mi"}),
            ResourceConfig(256, 50_000, QUOTA_PERIOD, 786_432_000),
        ),
        "best-effort qos": (make_pod(), ResourceConfig(2, 0, QUOTA_PERIOD, 0)),
        "a limit replaces a missing request": (
            make_pod(limits={"cpu": "500m"}),
            ResourceConfig(512, 50_000, QUOTA_PERIOD, 0),
        ),
        "but not for a request of zero": (
            make_pod(requests={"cpu": "0"}, limits={"cpu": "500m"}),
            ResourceConfig(2, 50_000, QUOTA_PERIOD, 0),
        ),
    },
)
def test_Q5_values_of_a_container(pod: Pod, expected: ResourceConfig) -> None:
    assert _container_config(pod) == expected


def test_Q5_container_without_enforcement_has_no_quota() -> None:
    pod = make_pod(requests=SMALL, limits=LARGE)
    assert _container_config(pod, enforced=False) == ResourceConfig(SMALL_SHARES, memory=200 * MI)


def test_Q5_container_quota_follows_the_kubelets_period() -> None:
    pod = make_pod(limits={"cpu": "1"})
    config = container_resource_config(pod, next(pod.containers()), cpu_period=TUNED)
    assert (config.cpu_quota, config.cpu_period) == (5000, TUNED)


@table(
    "limits, expected",
    {
        "no own limit: the pod's": ({}, ResourceConfig(1024, 100_000, QUOTA_PERIOD, 1024 * MI)),
        "zero is none": ({"cpu": "0"}, ResourceConfig(1024, 100_000, QUOTA_PERIOD, 1024 * MI)),
        "its own limit before the pod's": ({"cpu": "250m"}, ResourceConfig(256, 25_000, QUOTA_PERIOD, 1024 * MI)),
    },
)
def test_Q5_pod_level_limits_apply_to_containers(limits: Mapping[str, str], expected: ResourceConfig) -> None:
    pod = make_pod(limits=limits, resources={"limits": {"cpu": "1", "memory": "1Gi"}})
    assert _container_config(pod) == expected


def test_Q5_old_versions_ignore_pod_level_limits() -> None:
    pod = make_pod(resources={"limits": {"cpu": "1", "memory": "1Gi"}})
    assert _container_config(pod, features=NO_POD_LEVEL) == ResourceConfig(2, 0, QUOTA_PERIOD, 0)


# The values of one kubelet 1.36.3 on cgroup v1. Without a quota (0) the kernel shows -1, and without a memory limit
# (0) none.
REAL_GUARANTEED = make_pod(
    containers=[
        raw_container("a", requests={"cpu": "250m", "memory": "128Mi"}, limits={"cpu": "250m", "memory": "128Mi"}),
        raw_container("b", requests={"cpu": "1m", "memory": "32Mi"}, limits={"cpu": "1m", "memory": "32Mi"}),
    ]
)
REAL_BURSTABLE = make_pod(
    containers=[
        raw_container("main", requests={"cpu": "100m", "memory": "200Mi"}, limits={"cpu": "500m", "memory": "300Mi"}),
        raw_container("sibling"),
    ],
    initContainers=[
        raw_sidecar(requests={"cpu": "50m", "memory": "64Mi"}, limits={"memory": "128Mi"}),
        raw_container("init", requests={"cpu": "500m"}),
    ],
)
REAL_POD_LEVEL = make_pod(
    containers=[raw_container("a"), raw_container("b")],
    resources={"requests": SMALL, "limits": {"cpu": "1", "memory": "256Mi"}},
)


@table(
    "pod, container, shares, quota, memory",
    {
        "Guaranteed 250m / 128Mi": (REAL_GUARANTEED, "a", 256, 25_000, 128 * MI),
        "Guaranteed 1m / 32Mi": (REAL_GUARANTEED, "b", 2, 1000, 32 * MI),
        "Burstable, request 200Mi, limit 300Mi": (REAL_BURSTABLE, "main", 102, 50_000, 300 * MI),
        "its sidecar, 64Mi": (REAL_BURSTABLE, "sidecar", 51, 0, 128 * MI),
        "its sibling without resources": (REAL_BURSTABLE, "sibling", 2, 0, 0),
        "BestEffort": (make_pod(), "app", 2, 0, 0),
        "pod-level limits, first container": (REAL_POD_LEVEL, "a", 1024, 100_000, 256 * MI),
        "pod-level limits, second container": (REAL_POD_LEVEL, "b", 1024, 100_000, 256 * MI),
    },
)
def test_Q5_containers_of_a_real_node(pod: Pod, container: str, shares: int, quota: int, memory: int) -> None:
    ref = next(entry for entry in pod.containers() if entry.container.name == container)
    assert container_resource_config(pod, ref) == ResourceConfig(shares, quota, QUOTA_PERIOD, memory)


@table(
    "pod, expected",
    {
        "the Guaranteed pod": (REAL_GUARANTEED, ResourceConfig(257, 25_100, QUOTA_PERIOD, 160 * MI)),
        "the Burstable pod: its init phase dominates": (REAL_BURSTABLE, ResourceConfig(563)),
    },
)
def test_Q5_pods_of_a_real_node(pod: Pod, expected: ResourceConfig) -> None:
    assert pod_resource_config(pod) == expected


def test_Q5_qos_cgroups_of_a_real_node() -> None:
    # Read back from the shares: 550m for the Burstable pod, 370m for the others of its class, 1800m for kubepods.
    configs = qos_resource_configs([REAL_GUARANTEED, REAL_BURSTABLE, make_pod(requests={"cpu": "370m"}), make_pod()])
    assert configs[BURSTABLE].cpu_shares == 942
    assert configs[BEST_EFFORT].cpu_shares == 2
    assert milli_cpu_to_shares(1800) == 1843
