"""Shares, weights and quotas stay within the kernel's bounds and grow with what is asked."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from podrules.api.model.pod import Pod, PodQOSClass
from podrules.pod.cgroup import (
    CgroupName,
    container_resource_config,
    cpu_weight,
    cpu_weight_libcontainer,
    milli_cpu_to_quota,
    milli_cpu_to_shares,
    pod_cgroup_name,
    pod_resource_config,
    qos_resource_configs,
)
from podrules.pod.qos import compute_pod_qos
from podrules.pod.resources import pod_requests
from tests.property.strategies import pods
from tests.restated.cgroup import cpu_weight_to_shares, parse_systemd

milli_cpus = st.integers(0, 1_000_000)
all_shares = st.integers(2, 262_144)
weights = st.integers(1, 10_000)
parts = st.text("abcdefghijklmnopqrstuvwxyz0123456789-", min_size=1, max_size=12)


@given(milli_cpus, milli_cpus)
def test_Q5_shares_are_bounded_and_monotone(first: int, second: int) -> None:
    small, large = sorted((first, second))
    assert 2 <= milli_cpu_to_shares(small) <= milli_cpu_to_shares(large) <= 262_144


@given(all_shares, all_shares)
def test_Q5_weights_are_bounded_and_monotone(first: int, second: int) -> None:
    small, large = sorted((first, second))
    assert 1 <= cpu_weight(small) <= cpu_weight(large) <= 10_000
    assert 1 <= cpu_weight_libcontainer(small) <= cpu_weight_libcontainer(large) <= 10_000


@given(weights)
def test_Q5_way_back_to_shares_loses_at_most_one_weight(weight: int) -> None:
    shares = cpu_weight_to_shares(weight)
    assert 2 <= shares <= 262_144
    assert weight - 1 <= cpu_weight(shares) <= weight


@given(milli_cpus, milli_cpus, st.integers(1000, 1_000_000))
def test_Q5_quota_is_none_or_at_least_a_thousand_and_monotone(first: int, second: int, period: int) -> None:
    small, large = sorted((first, second))
    quota = milli_cpu_to_quota(small, period)
    assert (quota == 0) is (small == 0)
    assert quota == 0 or quota >= 1000
    assert quota <= milli_cpu_to_quota(large, period)


@given(st.lists(parts, min_size=1, max_size=4))
def test_Q5_slice_is_read_back_and_each_holds_the_next(names: list[str]) -> None:
    name = CgroupName(tuple(names))
    assert parse_systemd(name.to_systemd()) == name
    slices = name.to_systemd().split("/")[1:]
    assert len(slices) == len(names)
    assert all(below.startswith(above.removesuffix(".slice") + "-") for above, below in pairwise(slices))


@given(pods())
def test_Q5_pod_is_limited_only_where_all_its_containers_are(pod: Pod) -> None:
    config = pod_resource_config(pod)
    unlimited = {
        resource: any(resource not in ref.container.resources.limits for ref in pod.containers() if not ref.is_init)
        for resource in ("cpu", "memory")
    }
    assert config.cpu_shares is not None
    if unlimited["cpu"]:
        assert config.cpu_quota is None
    if unlimited["memory"]:
        assert config.memory is None
    if compute_pod_qos(pod) is PodQOSClass.GUARANTEED:
        assert config.memory == pod_requests(pod)["memory"].value
        assert config.cpu_quota is not None


@given(pods())
def test_Q5_container_is_within_its_pod(pod: Pod) -> None:
    whole = pod_resource_config(pod)
    for ref in pod.containers():
        own = container_resource_config(pod, ref)
        assert own.cpu_shares is not None
        assert own.memory is not None
        if whole.memory is not None:
            assert own.memory <= whole.memory
        if compute_pod_qos(pod) is PodQOSClass.GUARANTEED:
            assert whole.cpu_shares is not None
            assert own.cpu_shares <= whole.cpu_shares


@given(st.lists(pods(), max_size=4))
def test_Q5_burstable_cgroup_outweighs_each_of_its_pods(running: list[Pod]) -> None:
    configs = qos_resource_configs(running)
    shares = configs[PodQOSClass.BURSTABLE].cpu_shares
    assert shares is not None
    assert configs[PodQOSClass.BEST_EFFORT].cpu_shares == 2
    for pod in running:
        if compute_pod_qos(pod) is PodQOSClass.BURSTABLE:
            assert (pod_resource_config(pod).cpu_shares or 0) <= shares
            assert pod_cgroup_name(pod).parts[:2] == ("kubepods", "burstable")
