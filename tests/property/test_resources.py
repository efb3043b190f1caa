"""Effective requests cover every container, and defaults settle at once."""

from __future__ import annotations

from random import Random

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from podrules.api.features import REFERENCE
from podrules.api.model.decode import from_object
from podrules.api.model.pod import Container, ContainerStatus, Pod
from podrules.api.model.quantity import ZERO
from podrules.pod.defaults import apply_limit_ranges, default_pod, defaulted_fields
from podrules.pod.resources import PodResourcesOptions, container_limits, pod_limits, pod_requests, scheduler_request
from tests.objects import make_limit_range, make_resources, raw_container_status
from tests.property.strategies import containers, pods, resource_lists


@given(pods())
def test_Q4_a_pod_asks_for_no_less_than_any_of_its_containers(pod: Pod) -> None:
    requests, limits = pod_requests(pod), pod_limits(pod)
    for ref in pod.containers():
        assert all(requests[name] >= amount for name, amount in ref.container.resources.requests.items())
        assert all(limits[name] >= amount for name, amount in ref.container.resources.limits.items())
    assert len(container_limits(pod)) == len(list(pod.containers()))


@given(pods(), st.randoms(use_true_random=False))
def test_Q4_order_of_app_containers_does_not_matter(pod: Pod, random: Random) -> None:
    app = list(pod.spec.containers)
    random.shuffle(app)
    shuffled = replace(pod, spec=replace(pod.spec, containers=tuple(app)))
    assert pod_requests(shuffled) == pod_requests(pod)
    assert pod_limits(shuffled) == pod_limits(pod)


@given(pods(), containers("more"))
def test_Q4_another_container_never_lowers_the_request(pod: Pod, more: Container) -> None:
    grown = replace(pod, spec=replace(pod.spec, containers=(*pod.spec.containers, more)))
    before, after = pod_requests(pod), pod_requests(grown)
    assert all(after[name] >= amount for name, amount in before.items())


@given(pods(), resource_lists())
def test_Q4_overhead_is_the_difference_that_it_makes(pod: Pod, overhead: dict[str, str]) -> None:
    amounts = make_resources(requests=overhead).requests
    with_overhead = replace(pod, spec=replace(pod.spec, overhead=amounts))
    assert pod_requests(with_overhead, PodResourcesOptions(exclude_overhead=True)) == pod_requests(pod)
    bare = pod_requests(pod)
    for name, amount in pod_requests(with_overhead).items():
        assert amount - bare.get(name, ZERO) == amounts.get(name, ZERO)


@given(pods(), resource_lists(), resource_lists())
def test_Q4_resize_never_lowers_the_spec_request(pod: Pod, actuated: dict[str, str], allocated: dict[str, str]) -> None:
    name = pod.spec.containers[0].name
    raw = raw_container_status(name, requests=actuated, limits=actuated, allocatedResources=allocated)
    status = from_object(raw, ContainerStatus)
    resizing = replace(pod, status=replace(pod.status, container_statuses=(status,)))
    use_status = PodResourcesOptions(use_status_resources=True)
    requests, limits = pod_requests(resizing, use_status), pod_limits(resizing, use_status)
    assert all(requests[resource] >= amount for resource, amount in pod_requests(pod).items())
    assert all(limits[resource] >= amount for resource, amount in pod_limits(pod).items())


@given(pods())
def test_Q4_scheduler_scores_count_no_less_than_its_filters(pod: Pod) -> None:
    asked = scheduler_request(pod, REFERENCE)
    assert asked.nonzero_milli_cpu >= asked.milli_cpu >= 0
    assert asked.nonzero_memory >= asked.memory >= 0


@given(pods(), st.none() | resource_lists())
def test_Q1_defaulting_is_idempotent(pod: Pod, pod_level: dict[str, str] | None) -> None:
    if pod_level is not None:
        pod = replace(pod, spec=replace(pod.spec, resources=make_resources(limits=pod_level)))
    stored = default_pod(pod)
    assert default_pod(stored) == stored
    assert defaulted_fields(stored, default_pod(stored), "API defaults") == ()


@given(pods())
def test_Q1_defaulting_lowers_nothing_and_leaves_limits(pod: Pod) -> None:
    stored = default_pod(pod)
    assert pod_limits(stored) == pod_limits(pod)
    before, after = pod_requests(pod), pod_requests(stored)
    assert all(after[name] >= amount for name, amount in before.items())


@given(pods(), resource_lists(), resource_lists())
def test_Q1_limit_ranges_fill_in_once_and_change_nothing_given(
    pod: Pod, default: dict[str, str], default_request: dict[str, str]
) -> None:
    limit_range = make_limit_range(default=default, default_request=default_request)
    admitted = apply_limit_ranges(pod, [limit_range])
    assert apply_limit_ranges(admitted, [limit_range]) == admitted
    for given_ref, ref in zip(pod.containers(), admitted.containers(), strict=True):
        own, filled = given_ref.container.resources, ref.container.resources
        assert own.requests.items() <= filled.requests.items()
        assert own.limits.items() <= filled.limits.items()
