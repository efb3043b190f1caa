"""The class depends on the resources of containers alone, and the way to Guaranteed gets there."""

from __future__ import annotations

from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from podrules.api.model.pod import Container, Pod, PodQOSClass
from podrules.pod.defaults import stored_pod
from podrules.pod.qos import QOSProblem, compute_pod_qos, explain_qos, resize_rejection
from tests.objects import make_pod, make_resources
from tests.podrules.pod.changes import with_changes
from tests.property.strategies import containers, cpu_amounts, memory_amounts, pods, resource_lists


@st.composite
def _pods_with_oddities(draw: st.DrawFn) -> Pod:
    """Pods in which a request may be an explicit zero and the pod itself may have resources."""
    pod = draw(pods())
    if draw(st.booleans()):
        zero = make_resources(requests={draw(st.sampled_from(["cpu", "memory"])): "0"}).requests
        first = pod.spec.containers[0]
        own = replace(first.resources, requests={**first.resources.requests, **zero})
        spec = replace(pod.spec, containers=(replace(first, resources=own), *pod.spec.containers[1:]))
        pod = replace(pod, spec=spec)
    if draw(st.booleans()):
        requests = draw(resource_lists())
        limits = draw(st.sampled_from([{}, requests]))
        pod = replace(pod, spec=replace(pod.spec, resources=make_resources(requests=requests, limits=limits)))
    return pod


@given(_pods_with_oddities(), cpu_amounts, memory_amounts)
@settings(max_examples=200)
def test_Q1_proposed_changes_reach_guaranteed(pod: Pod, cpu: str, memory: str) -> None:
    changes = explain_qos(stored_pod(pod)).changes_to_guaranteed
    edited = with_changes(pod, changes, chosen={"cpu": cpu, "memory": memory})
    assert compute_pod_qos(stored_pod(edited)) is PodQOSClass.GUARANTEED


@given(_pods_with_oddities())
def test_Q1_guaranteed_alone_has_no_blockers(pod: Pod) -> None:
    stored = stored_pod(pod)
    explanation = explain_qos(stored)
    guaranteed = explanation.qos_class is PodQOSClass.GUARANTEED
    assert guaranteed is (not explanation.blockers) is (not explanation.changes_to_guaranteed)
    assert len({(blocker.field, blocker.problem) for blocker in explanation.blockers}) == len(explanation.blockers)


@given(pods())
def test_Q1_defaulting_sets_requests_to_limits(pod: Pod) -> None:
    blockers = explain_qos(stored_pod(pod)).blockers
    assert all(blocker.request is not None for blocker in blockers if blocker.problem is QOSProblem.REQUEST_DIFFERS)


@given(pods(), st.lists(containers("debugger"), max_size=2))
def test_Q1_ephemeral_containers_never_change_the_class(pod: Pod, debuggers: list[Container]) -> None:
    debugged = replace(pod, spec=replace(pod.spec, ephemeral_containers=tuple(debuggers)))
    assert compute_pod_qos(debugged) is compute_pod_qos(pod)
    assert explain_qos(debugged) == explain_qos(pod)


@given(pods(), st.randoms(use_true_random=False))
def test_Q1_order_of_containers_never_changes_the_class(pod: Pod, random: Random) -> None:
    app, init = list(pod.spec.containers), list(pod.spec.init_containers)
    random.shuffle(app)
    random.shuffle(init)
    shuffled = replace(pod, spec=replace(pod.spec, containers=tuple(app), init_containers=tuple(init)))
    assert compute_pod_qos(shuffled) is compute_pod_qos(pod)


@given(pods())
def test_Q1_a_container_without_resources_ends_guaranteed(pod: Pod) -> None:
    more = make_pod(containers=[*pod.spec.containers, *make_pod().spec.containers])
    assert compute_pod_qos(more) is not PodQOSClass.GUARANTEED


@given(pods())
def test_Q1_without_its_spoilers_a_pod_is_guaranteed(pod: Pod) -> None:
    spoilers = explain_qos(pod).spoiled_by
    apps = tuple(entry for entry in pod.spec.containers if entry.name not in spoilers)
    init = tuple(entry for entry in pod.spec.init_containers if entry.name not in spoilers)
    without = replace(pod, spec=replace(pod.spec, containers=apps, init_containers=init))
    if spoilers:
        assert pod.spec.containers[0] in apps
        assert compute_pod_qos(pod) is not PodQOSClass.GUARANTEED
        assert compute_pod_qos(without) is PodQOSClass.GUARANTEED


@given(pods(), pods())
def test_Q1_resize_is_rejected_both_ways_or_neither(old: Pod, new: Pod) -> None:
    assert (resize_rejection(old, new) is None) is (resize_rejection(new, old) is None)
    assert resize_rejection(old, old) is None
