"""The API server's defaults for a manifest's resources and grace period."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest

from podrules.api.features import Features
from podrules.api.model.decode import from_object
from podrules.api.model.pod import Pod, PodQOSClass, ResourceRequirements
from podrules.api.model.policy import LimitRange, RuntimeClass
from podrules.pod.defaults import (
    DefaultedField,
    apply_limit_ranges,
    apply_runtime_class,
    default_limit_range,
    default_pod,
    defaulted_fields,
    stored_pod,
)
from podrules.pod.qos import compute_pod_qos
from tests.controlplane.client import Object
from tests.features import around
from tests.objects import make_limit_range, make_pod, make_resources, raw_container, raw_sidecar
from tests.table import table

NO_POD_LEVEL = Features.of_minor(33)
UNTIL_1_36, _ = around("pod_level_resources_fix_defaulting")


def _texts(resources: ResourceRequirements) -> tuple[dict[str, str], dict[str, str]]:
    return (
        {name: str(amount) for name, amount in resources.requests.items()},
        {name: str(amount) for name, amount in resources.limits.items()},
    )


def _limited(name: str, cpu: str, memory: str) -> Object:
    return raw_container(name, limits=of(cpu, memory))


def _asking(name: str, cpu: str, memory: str) -> Object:
    return raw_container(name, of(cpu, memory))


def of(cpu: str, memory: str) -> dict[str, str]:
    return {"cpu": cpu, "memory": memory}


STORING = [raw_container("a", limits={"storage": "1Mi"}), raw_container("b", limits={"ephemeral-storage": "5Mi"})]
HUGE = [raw_container(limits={"cpu": "1m", "hugepages-2Mi": "4Mi"})]
TWO_LIMITED = [_limited("a", "2m", "1Mi"), _limited("b", "1m", "5Mi")]


@table(
    "containers, stored",
    {
        "pod resources=unset, container resources=unset": ([raw_container()], [({}, {})]),
        "pod resources=unset, container requests=unset limits=set": (
            TWO_LIMITED,
            [(of("2m", "1Mi"), of("2m", "1Mi")), (of("1m", "5Mi"), of("1m", "5Mi"))],
        ),
        "pod resources=unset, container requests=set limits=unset": (
            [_asking("a", "2m", "1Mi")],
            [(of("2m", "1Mi"), {})],
        ),
        "pod resources=unset, container requests=set limits=set": (
            [raw_container(requests=of("1m", "1Mi"), limits=of("2m", "1Mi"))],
            [(of("1m", "1Mi"), of("2m", "1Mi"))],
        ),
        "a request of zero is kept": (
            [raw_container(requests={"memory": "0"}, limits=of("100m", "1Gi"))],
            [({"memory": "0", "cpu": "100m"}, of("100m", "1Gi"))],
        ),
        "every resource, not only cpu and memory": (
            [raw_container(limits={"example.com/gpu": "2"})],
            [({"example.com/gpu": "2"}, {"example.com/gpu": "2"})],
        ),
    },
)
def test_Q1_limits_become_missing_requests(
    containers: Sequence[Object], stored: list[tuple[Mapping[str, str], Mapping[str, str]]]
) -> None:
    pod = default_pod(make_pod(containers=containers, initContainers=containers))
    assert [_texts(container.resources) for container in pod.spec.containers] == stored
    assert [_texts(container.resources) for container in pod.spec.init_containers] == stored


@table(
    "resources, containers, stored",
    {
        "pod requests=unset limits=set, container resources=unset": (
            {"limits": of("2m", "1Mi")},
            [],
            (of("2m", "1Mi"), of("2m", "1Mi")),
        ),
        "pod limits=empty map, container requests=unset limits=set": ({}, TWO_LIMITED, ({}, {})),
        "pod requests=unset limits=set, container requests=unset limits=set": (
            {"limits": of("5m", "7Mi")},
            TWO_LIMITED,
            (of("3m", "6Mi"), of("5m", "7Mi")),
        ),
        "pod requests=unset limits=set, container requests=set limits=unset": (
            {"limits": of("4m", "8Mi")},
            [_asking("a", "1m", "1Mi"), _asking("b", "1m", "2Mi")],
            (of("2m", "3Mi"), of("4m", "8Mi")),
        ),
        "pod requests=unset cpu limits=set, container resources=unset": (
            {"limits": {"cpu": "4m"}},
            [raw_container("a"), raw_container("b")],
            ({"cpu": "4m"}, {"cpu": "4m"}),
        ),
        "pod requests=unset limits=set, container memory requests=set limits=unset": (
            {"limits": of("4m", "8Mi")},
            [raw_container("a", requests={"memory": "1Mi"}), raw_container("b", requests={"memory": "5Mi"})],
            (of("4m", "6Mi"), of("4m", "8Mi")),
        ),
        "pod limits=set, container unsupported requests=set limits=set": (
            {"limits": of("2m", "1Mi")},
            STORING,
            (of("2m", "1Mi"), of("2m", "1Mi")),
        ),
        "pod unsupported resources limits=set, container unsupported requests=set limits=set": (
            {"limits": {"storage": "1Mi"}},
            STORING,
            ({}, {"storage": "1Mi"}),
        ),
        "a request that is set is kept": (
            {"requests": {"cpu": "1m"}, "limits": {"cpu": "5m"}},
            TWO_LIMITED,
            (of("1m", "6Mi"), {"cpu": "5m"}),
        ),
        "huge pages of containers become a pod-level limit and request": (
            {"requests": {"cpu": "3m"}},
            HUGE,
            ({"cpu": "3m", "hugepages-2Mi": "4Mi"}, {"hugepages-2Mi": "4Mi"}),
        ),
        "huge pages of containers are left where the pod sets nothing": ({}, HUGE, ({}, {})),
        "and where the pod requests them itself": (
            {"requests": {"hugepages-2Mi": "8Mi"}},
            HUGE,
            ({"hugepages-2Mi": "8Mi"}, {}),
        ),
    },
)
def test_Q1_pod_level_request_defaults_until_1_36(
    resources: Object, containers: Sequence[Object], stored: tuple[Mapping[str, str], Mapping[str, str]]
) -> None:
    pod = make_pod(containers=containers, resources=resources)
    after = default_pod(pod, features=UNTIL_1_36).spec.resources
    assert after is not None
    assert _texts(after) == stored
    # A version that does not know the field leaves it unchanged.
    assert default_pod(pod, features=NO_POD_LEVEL).spec.resources == pod.spec.resources


def test_Q1_amounts_are_rounded_up_to_thousandths() -> None:
    pod = default_pod(
        make_pod(
            requests={"cpu": "0.1m", "memory": "1.0001"},
            overhead={"cpu": "1u"},
            resources={"requests": {"cpu": "1500001n"}},
        )
    )
    assert _texts(pod.spec.containers[0].resources) == ({"cpu": "1m", "memory": "1001m"}, {})
    assert {name: str(amount) for name, amount in pod.spec.overhead.items()} == {"cpu": "1m"}
    assert pod.spec.resources is not None
    assert _texts(pod.spec.resources) == ({"cpu": "2m"}, {})


@table("given, stored", {"absent": (None, 30), "zero": (0, 0), "set": (7, 7), "negative": (-7, 1)})
def test_T1_grace_period_is_thirty_seconds_unless_given(given: int | None, stored: int) -> None:
    assert default_pod(make_pod(terminationGracePeriodSeconds=given)).spec.termination_grace_period_seconds == stored


def _changes(pod: Pod) -> tuple[DefaultedField, ...]:
    return defaulted_fields(pod, stored_pod(pod), "API defaults")


def test_Q1_defaulted_fields_name_what_the_api_server_changed() -> None:
    pod = make_pod(
        containers=[raw_container(limits={"cpu": "1", "memory": "1Gi"}, requests={"memory": "512Mi"})],
        initContainers=[raw_container("init", requests={"cpu": "500u"})],
        resources={"limits": {"memory": "2Gi"}},
    )
    assert _changes(pod) == (
        DefaultedField("spec.containers[0].resources.requests.cpu", None, "1", "API defaults"),
        DefaultedField("spec.initContainers[0].resources.requests.cpu", "500u", "1m", "API defaults"),
        DefaultedField("spec.resources.requests.memory", None, "512Mi", "API defaults"),
        DefaultedField("spec.resources.requests.cpu", None, "1", "API defaults"),
    )


def test_Q1_defaulted_fields_are_none_for_a_stored_pod() -> None:
    assert _changes(make_pod(requests={"cpu": "1"}, limits={"cpu": "2000m"}, terminationGracePeriodSeconds=30)) == ()


@pytest.mark.parametrize(("debugged", "limits"), [(False, {"memory": "1Gi"}), (True, {})])
def test_Q1_ephemeral_container_prevents_pod_level_limits(debugged: bool, limits: dict[str, str]) -> None:
    """It can have no limit, and each container needs one."""
    pod = make_pod(
        containers=[raw_container(limits={"memory": "1Gi"})],
        ephemeralContainers=[raw_container("debugger")] if debugged else [],
        resources={"requests": {"cpu": "1"}},
    )
    own = stored_pod(pod).spec.resources
    assert own is not None
    assert _texts(own)[1] == limits


DEFAULTS = make_limit_range(default={"cpu": "75m", "memory": "10Mi"}, default_request={"cpu": "50m", "memory": "5Mi"})


REQUESTED, LIMITED = of("50m", "5Mi"), of("75m", "10Mi")
WHOLE = raw_container("app", of("100m", "512Mi"), of("200m", "1G"))


@table(
    "container, expected",
    {
        "pod with no resources enumerated should get each resource from default request": (
            raw_container(),
            (REQUESTED, LIMITED),
        ),
        "pod with some resources enumerated should only merge empty": (
            raw_container("app", {"memory": "512Mi"}),
            (of("50m", "512Mi"), LIMITED),
        ),
        "pod with all resources enumerated should not merge anything": (WHOLE, (of("100m", "512Mi"), of("200m", "1G"))),
        "zero is set": (raw_container("app", {"cpu": "0"}), (of("0", "5Mi"), LIMITED)),
    },
)
def test_Q1_limit_range_fills_in_what_containers_leave_out(
    container: Object, expected: tuple[Mapping[str, str], Mapping[str, str]]
) -> None:
    pod = apply_limit_ranges(make_pod(containers=[container], initContainers=[container]), [DEFAULTS])
    assert [_texts(one.resources) for one in (*pod.spec.containers, *pod.spec.init_containers)] == [expected] * 2


@table(
    "limit_ranges", {"no LimitRange": [], "limits of whole pods": [make_limit_range(default={"cpu": "1"}, kind="Pod")]}
)
def test_Q1_no_values_are_set_without_container_defaults(limit_ranges: Sequence[LimitRange]) -> None:
    pod = make_pod(requests={"memory": "1Gi"}, initContainers=[raw_sidecar()])
    assert apply_limit_ranges(pod, limit_ranges) == pod


def test_Q1_first_of_several_limit_ranges_applies() -> None:
    first, second = make_limit_range(default={"cpu": "1"}), make_limit_range(default={"cpu": "2", "memory": "2Gi"})
    pod = apply_limit_ranges(make_pod(), [first, second])
    assert _texts(pod.spec.containers[0].resources) == ({}, {"cpu": "1", "memory": "2Gi"})


def test_Q1_limit_range_sets_class_of_empty_pod() -> None:
    manifest = default_pod(make_pod())
    same = {"cpu": "1", "memory": "1Gi"}
    assert compute_pod_qos(apply_limit_ranges(manifest, [DEFAULTS])) is PodQOSClass.BURSTABLE
    equal = make_limit_range(default=same, default_request=same)
    assert compute_pod_qos(apply_limit_ranges(manifest, [equal])) is PodQOSClass.GUARANTEED


def test_Q1_fields_filled_in_by_a_limit_range_are_named() -> None:
    stored = default_pod(make_pod(limits={"memory": "1Gi"}))
    admitted = apply_limit_ranges(stored, [make_limit_range(default={"cpu": "1"}, default_request={"cpu": "500m"})])
    assert defaulted_fields(stored, admitted, "LimitRange") == (
        DefaultedField("spec.containers[0].resources.requests.cpu", None, "500m", "LimitRange"),
        DefaultedField("spec.containers[0].resources.limits.cpu", None, "1", "LimitRange"),
    )


@table(
    "given, runtime_class, overhead",
    {
        "the class's overhead": (
            {},
            from_object({"overhead": {"podFixed": {"cpu": "250m"}}}, RuntimeClass),
            {"cpu": "250m"},
        ),
        "a class without one": ({}, RuntimeClass(), {}),
        "no class": ({}, None, {}),
        "the pod's own, already admitted": ({"cpu": "1"}, None, {"cpu": "1"}),
    },
)
def test_Q4_runtime_class_adds_its_overhead(
    given: Mapping[str, str], runtime_class: RuntimeClass | None, overhead: Mapping[str, str]
) -> None:
    pod = apply_runtime_class(make_pod(overhead=given), runtime_class)
    assert {name: str(amount) for name, amount in pod.spec.overhead.items()} == overhead


def test_stored_limit_range_has_defaults_from_bounds() -> None:
    bounds = {"max": {"cpu": "2", "memory": "1Gi"}, "min": {"cpu": "100m", "ephemeral-storage": "1"}}
    given = {"default": {"memory": "1.0005"}, "maxLimitRequestRatio": {"cpu": "2"}, **bounds}
    items = [{"type": kind, **given} for kind in ("Container", "Pod")]
    stored = default_limit_range(from_object({"spec": {"limits": items}}, LimitRange))
    container, pod = stored.spec.limits
    assert container.default == make_resources({"cpu": "2", "memory": "1001m"}).requests
    assert (
        container.default_request == make_resources({"cpu": "2", "memory": "1001m", "ephemeral-storage": "1"}).requests
    )
    assert (pod.default, pod.default_request) == (make_resources({"memory": "1001m"}).requests, {})
    assert default_limit_range(stored) == stored


def test_defaulted_pod_level_limit_keeps_container_format() -> None:
    pod = make_pod(
        containers=[raw_container(limits={"memory": "1073741824"})], resources={"requests": {"memory": "1Gi"}}
    )
    own = stored_pod(pod).spec.resources
    assert own is not None
    assert _texts(own) == ({"memory": "1Gi"}, {"memory": "1073741824"})
