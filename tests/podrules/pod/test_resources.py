"""Effective requests and limits of a pod, as the scheduler and the kubelet sum them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from podrules.api.features import REFERENCE, Features
from podrules.api.model.base import ResourceList
from podrules.api.model.pod import Pod
from podrules.pod.resources import (
    PodResourcesOptions,
    SchedulerRequest,
    aggregate_container_limits,
    aggregate_container_requests,
    allocated_pod,
    container_limits,
    is_overcommit_allowed,
    is_pod_level_limits_set,
    is_pod_level_requests_set,
    is_pod_level_resources_set,
    is_supported_pod_level_resource,
    pod_limits,
    pod_requests,
    scheduler_options,
    scheduler_request,
)
from tests.controlplane.client import Object
from tests.objects import make_pod, raw_container, raw_container_status, raw_sidecar
from tests.table import table

DEFAULT = PodResourcesOptions()
USE_STATUS = PodResourcesOptions(use_status_resources=True)
USE_POD_STATUS = PodResourcesOptions(use_status_resources=True, use_status_pod_level_resources=True)
NO_OVERHEAD = PodResourcesOptions(exclude_overhead=True)
NO_POD_LEVEL = PodResourcesOptions(skip_pod_level_resources=True)
INFEASIBLE = {"type": "PodResizePending", "status": "True", "reason": "Infeasible"}
DEFERRED = {"type": "PodResizePending", "status": "True", "reason": "Deferred"}


def _texts(amounts: ResourceList) -> dict[str, str]:
    return {name: str(amount) for name, amount in amounts.items()}


def _cpu(name: str, amount: str) -> Object:
    """The same request and limit, so that one table serves both sums."""
    return raw_container(name, requests={"cpu": amount}, limits={"cpu": amount})


def _sidecar(name: str, amount: str) -> Object:
    return raw_sidecar(name, requests={"cpu": amount}, limits={"cpu": amount})


SIDECARS = [_sidecar("s1", "1"), _sidecar("s2", "2"), _sidecar("s3", "3")]


@table(
    "init_containers, containers, expected",
    {
        "nil options, larger init container": ([_cpu("init", "4")], [_cpu("a", "1")], "4"),
        "nil options, larger containers": ([_cpu("init", "2")], [_cpu("a", "2"), _cpu("b", "3")], "5"),
        "restartable init container": ([_sidecar("restartable-init-1", "1")], [_cpu("a", "1")], "2"),
        "multiple restartable init containers": ([_cpu("init-1", "5"), *SIDECARS], [_cpu("a", "1")], "7"),
        "multiple restartable and regular init containers": (
            [_cpu("init-1", "5"), *SIDECARS[:2], _cpu("init-2", "5"), SIDECARS[2]],
            [_cpu("a", "1")],
            "8",
        ),
        "restartable-init, init and regular": ([_sidecar("s1", "10"), _cpu("i", "200")], [_cpu("a", "100")], "210"),
    },
)
def test_Q4_phases_of_a_pod(init_containers: Sequence[Object], containers: Sequence[Object], expected: str) -> None:
    pod = make_pod(containers=containers, initContainers=init_containers)
    assert _texts(pod_requests(pod)) == {"cpu": expected}
    assert _texts(pod_limits(pod)) == {"cpu": expected}


def test_Q4_larger_phase_is_taken_resource_by_resource() -> None:
    pod = make_pod(
        requests={"cpu": "1", "memory": "4Gi"},
        initContainers=[raw_container("init", requests={"cpu": "2", "memory": "1Gi", "ephemeral-storage": "5Gi"})],
    )
    assert _texts(pod_requests(pod)) == {"cpu": "2", "memory": "4Gi", "ephemeral-storage": "5Gi"}


def test_Q4_equal_phases_keep_notation_of_app_containers() -> None:
    pod = make_pod(
        requests={"memory": "1Gi"}, initContainers=[raw_container("init", requests={"memory": "1073741824"})]
    )
    assert _texts(pod_requests(pod)) == {"memory": "1Gi"}


def test_Q4_ephemeral_containers_ask_for_nothing() -> None:
    pod = make_pod(requests={"cpu": "1"}, ephemeralContainers=[_cpu("debugger", "2")])
    assert _texts(pod_requests(pod)) == {"cpu": "1"}
    assert _texts(pod_limits(pod)) == {}


@table(
    "options, requests, limits",
    {
        "pod overhead included": (DEFAULT, {"cpu": "6", "memory": "1Gi"}, {"cpu": "6"}),
        "pod overhead excluded": (NO_OVERHEAD, {"cpu": "5"}, {"cpu": "5"}),
    },
)
def test_Q4_overhead_adds_to_requests_and_existing_limits(
    options: PodResourcesOptions, requests: Mapping[str, str], limits: Mapping[str, str]
) -> None:
    pod = make_pod(
        containers=[_cpu("a", "2"), _cpu("b", "3")],
        initContainers=[_cpu("init", "2")],
        overhead={"cpu": "1", "memory": "1Gi"},
    )
    assert _texts(pod_requests(pod, options)) == requests
    assert _texts(pod_limits(pod, options)) == limits


def test_Q4_overhead_is_not_added_to_a_limit_of_zero() -> None:
    pod = make_pod(limits={"cpu": "0"}, overhead={"cpu": "1"})
    assert _texts(pod_limits(pod)) == {"cpu": "0"}
    assert _texts(pod_requests(pod)) == {"cpu": "1"}


TWO_GI = {"cpu": "2", "memory": "2Gi"}


@table(
    "pod, expected",
    {
        "no limited containers should result in no limits for the pod": (make_pod(), {}),
        "one limited and one unlimited container should result in the limited container's limits for the pod": (
            make_pod(containers=[raw_container("a", limits=TWO_GI), raw_container("b")]),
            TWO_GI,
        ),
        "one limited and one unlimited init container should result in the limited init container's limits "
        "for the pod": (
            make_pod(
                limits={"cpu": "1", "memory": "1Gi"},
                initContainers=[raw_container("a", limits=TWO_GI), raw_container("b")],
            ),
            TWO_GI,
        ),
    },
)
def test_Q4_limits_of_partly_limited_pods(pod: Pod, expected: Mapping[str, str]) -> None:
    assert _texts(pod_limits(pod)) == expected


def test_Q4_limits_in_force_by_container() -> None:
    pod = make_pod(
        containers=[_cpu("a", "1"), raw_container("b")],
        initContainers=[_cpu("init-1", "5"), _sidecar("s1", "1"), _cpu("init-2", "5"), _sidecar("s2", "2")],
    )
    assert [_texts(limits) for limits in container_limits(pod)] == [
        {"cpu": "1"},
        {},
        {"cpu": "5"},
        {"cpu": "1"},
        {"cpu": "6"},
        {"cpu": "3"},
    ]


SMALL = {"memory": "3Mi", "cpu": "2m"}
MEDIUM = {"memory": "5Mi", "cpu": "4m"}
LARGE = {"memory": "6Mi", "cpu": "8m"}
HUGE_2MI, HUGE_1GI = "hugepages-2Mi", "hugepages-1Gi"


GPU = "example.com/gpu"
SIDE, INIT = raw_sidecar(requests=MEDIUM), raw_container("init", LARGE)
PAGES = {"requests": {"cpu": "1", HUGE_2MI: "10Mi"}, "limits": {HUGE_2MI: "10Mi"}}
OWN_PAGES = make_pod(requests={HUGE_2MI: "6Mi"}, limits={HUGE_2MI: "6Mi"}, resources=PAGES)
OTHER_PAGES = make_pod(requests={"memory": "4Mi", HUGE_1GI: "1Gi"}, limits={HUGE_1GI: "1Gi"}, resources=PAGES)


def _with_level(requests: Mapping[str, str], own: Mapping[str, str], *init: Object) -> Pod:
    """A pod that requests this itself; ``own`` is what its container requests."""
    return make_pod(requests=own, initContainers=init, resources={"requests": requests})


@table(
    "pod, expected",
    {
        "pod level memory resource": (_with_level({"memory": "2Mi"}, {}), {"memory": "2Mi"}),
        "pod level memory and container level cpu resources": (
            _with_level({"memory": "2Mi"}, {"cpu": "2m"}),
            {"memory": "2Mi", "cpu": "2m"},
        ),
        "pod level unsupported resources set at both pod-level and container-level": (
            _with_level({"storage": "2Mi"}, {"storage": "3Mi"}),
            {"storage": "3Mi"},
        ),
        "pod level unsupported resources set at pod-level": (
            _with_level({"storage": "2Mi"}, {"memory": "3Mi"}),
            {"memory": "3Mi"},
        ),
        "only container level resources set": (make_pod(requests=SMALL, resources={}), SMALL),
        "both container-level and pod-level resources set": (_with_level(LARGE, SMALL), LARGE),
        "container-level resources and init container set": (
            make_pod(requests=SMALL, initContainers=[raw_container("init", MEDIUM)]),
            MEDIUM,
        ),
        "container-level resources and sidecar container set": (
            make_pod(requests=SMALL, initContainers=[SIDE]),
            {"memory": "8Mi", "cpu": "6m"},
        ),
        "container-level resources, init and sidecar container set": (
            make_pod(requests=SMALL, initContainers=[SIDE, INIT]),
            {"memory": "11Mi", "cpu": "12m"},
        ),
        "pod-level resources, container-level resources, init and sidecar container set": (
            _with_level({"memory": "15Mi", "cpu": "18m"}, SMALL, SIDE, INIT),
            {"memory": "15Mi", "cpu": "18m"},
        ),
        "pod-level resources, hugepage request/limit single page size": (
            make_pod(resources={"requests": {"memory": "10Mi", HUGE_2MI: "2Mi"}, "limits": {HUGE_2MI: "2Mi"}}),
            {"memory": "10Mi", HUGE_2MI: "2Mi"},
        ),
        "both, hugepage request/limit single page size": (OWN_PAGES, {"cpu": "1", HUGE_2MI: "10Mi"}),
        "both, hugepage request/limit multiple page sizes": (
            OTHER_PAGES,
            {"cpu": "1", "memory": "4Mi", HUGE_2MI: "10Mi", HUGE_1GI: "1Gi"},
        ),
        "overhead comes on top of the pod level": (
            make_pod(resources={"requests": {"cpu": "1"}}, overhead={"cpu": "250m"}),
            {"cpu": "1250m"},
        ),
    },
)
def test_Q4_pod_level_requests_replace_the_sum(pod: Pod, expected: Mapping[str, str]) -> None:
    assert _texts(pod_requests(pod)) == expected


def test_Q4_pod_level_requests_may_be_skipped() -> None:
    assert pod_requests(_with_level({"memory": "2Mi"}, {}), NO_POD_LEVEL) == {}


def test_Q4_pod_level_limits_replace_the_sum() -> None:
    pod = make_pod(
        limits={"cpu": "5", "memory": "1Gi", "example.com/gpu": "1"},
        resources={"limits": {"cpu": "2", "ephemeral-storage": "1Gi"}},
        overhead={"cpu": "1", "memory": "1Mi"},
    )
    assert _texts(pod_limits(pod)) == {"cpu": "3", "memory": "1025Mi", "example.com/gpu": "1"}
    assert _texts(pod_limits(pod, NO_POD_LEVEL)) == {"cpu": "6", "memory": "1025Mi", "example.com/gpu": "1"}


def _resized(spec: str, actuated: str, allocated: str | None = None, *, infeasible: bool = False) -> dict[str, Pod]:
    """An app container and a sidecar that were resized so."""
    granted = {} if allocated is None else {"cpu": allocated}
    statuses = [raw_container_status("resized", {"cpu": actuated}, allocatedResources=granted)]
    conditions = [INFEASIBLE] if infeasible else []
    return {
        "app": make_pod(
            containers=[raw_container("resized", {"cpu": spec})],
            status={"containerStatuses": statuses, "conditions": conditions},
        ),
        "sidecar": make_pod(
            containers=[],
            initContainers=[raw_sidecar("resized", requests={"cpu": spec})],
            status={"initContainerStatuses": statuses, "conditions": conditions},
        ),
    }


@table(
    "pod, expected, without_status",
    {
        "resized, infeasible": (_resized("4", "2", infeasible=True)["app"], "2", "4"),
        "resized, infeasible & in-progress": (_resized("6", "2", "4", infeasible=True)["app"], "4", "6"),
        "resized, no resize status": (_resized("4", "2")["app"], "4", "4"),
        "scaled down, not yet actuated": (_resized("1", "2")["app"], "2", "1"),
        "allocated is the most": (_resized("1", "2", "3")["app"], "3", "1"),
        "resized, restartable init container, infeasible": (_resized("4", "2", infeasible=True)["sidecar"], "2", "4"),
        "resized, restartable init container, no resize status": (_resized("4", "2")["sidecar"], "4", "4"),
    },
)
def test_Q4_resize_counts_highest_of_three_requests(pod: Pod, expected: str, without_status: str) -> None:
    assert _texts(pod_requests(pod, USE_STATUS)) == {"cpu": expected}
    assert _texts(pod_requests(pod)) == {"cpu": without_status}


def test_Q4_resize_takes_the_maximum_of_three_for_each_resource() -> None:
    reported = raw_container_status(
        requests={"cpu": "10m", "memory": "30M", "ephemeral-storage": "20G"},
        allocatedResources={"cpu": "20m", "memory": "10M", "ephemeral-storage": "30G"},
    )
    pod = make_pod(
        requests={"cpu": "30m", "memory": "20M", "ephemeral-storage": "10G"}, status={"containerStatuses": [reported]}
    )
    assert _texts(pod_requests(pod, USE_STATUS)) == {"cpu": "30m", "memory": "30M", "ephemeral-storage": "30G"}


def test_Q4_deferred_resize_still_counts_the_spec() -> None:
    pod = make_pod(
        requests={"cpu": "4"},
        status={"containerStatuses": [raw_container_status(requests={"cpu": "2"})], "conditions": [DEFERRED]},
    )
    assert _texts(pod_requests(pod, USE_STATUS)) == {"cpu": "4"}


@table(
    "pod",
    {
        "regularcontainers with empty requests, but status with non-empty requests": make_pod(
            status={"containerStatuses": [raw_container_status(requests={"cpu": "2"})]}
        ),
        "always-restart init containers with empty requests, but status with non-empty requests": make_pod(
            containers=[],
            initContainers=[raw_sidecar()],
            status={"initContainerStatuses": [raw_container_status("sidecar", requests={"cpu": "2"})]},
        ),
    },
)
def test_Q4_status_counts_where_the_spec_asks_nothing(pod: Pod) -> None:
    assert _texts(aggregate_container_requests(pod, USE_STATUS)) == {"cpu": "2"}
    assert aggregate_container_limits(pod, USE_STATUS) == {}


def test_Q4_status_of_an_init_container_that_ends_is_not_counted() -> None:
    pod = make_pod(
        initContainers=[raw_container("init", requests={"cpu": "1"}, limits={"cpu": "1"})],
        status={"initContainerStatuses": [raw_container_status("init", requests={"cpu": "3"}, limits={"cpu": "3"})]},
    )
    assert _texts(pod_requests(pod, USE_STATUS)) == {"cpu": "1"}
    assert _texts(pod_limits(pod, USE_STATUS)) == {"cpu": "1"}


@table(
    "spec, actuated, conditions, options, expected",
    {
        "pod scaled up": ("2Gi", "1Gi", [], USE_STATUS, "2Gi"),
        "pod scaled down": ("1Gi", "2Gi", [], USE_STATUS, "2Gi"),
        "pod scaled down, don't use status": ("1Gi", "2Gi", [], DEFAULT, "1Gi"),
        "infeasible: the actuated one": ("4Gi", "1Gi", [INFEASIBLE], USE_STATUS, "1Gi"),
    },
)
def test_Q4_limits_of_a_resize(
    spec: str, actuated: str, conditions: list[Object], options: PodResourcesOptions, expected: str
) -> None:
    app, sidecar = (raw_container_status(name, limits={"memory": actuated}) for name in ("app", "sidecar"))
    app_pod = make_pod(limits={"memory": spec}, status={"containerStatuses": [app], "conditions": conditions})
    sidecar_pod = make_pod(
        containers=[],
        initContainers=[raw_sidecar(limits={"memory": spec})],
        status={"initContainerStatuses": [sidecar], "conditions": conditions},
    )
    assert _texts(pod_limits(app_pod, options)) == {"memory": expected}
    assert _texts(pod_limits(sidecar_pod, options)) == {"memory": expected}


def _pod_resize(*conditions: Mapping[str, str]) -> Pod:
    return make_pod(
        resources={"requests": {"cpu": "4"}, "limits": {"cpu": "8"}},
        status={
            "resources": {"requests": {"cpu": "2"}, "limits": {"cpu": "6"}},
            "allocatedResources": {"cpu": "3"},
            "conditions": conditions,
        },
    )


@table(
    "pod, options, request_cpu, limit_cpu",
    {
        "the spec is the most": (_pod_resize(), USE_POD_STATUS, "4", "8"),
        "infeasible: allocated, actuated": (_pod_resize(INFEASIBLE), USE_POD_STATUS, "3", "6"),
        "status of containers alone": (_pod_resize(INFEASIBLE), USE_STATUS, "4", "8"),
        "no status": (_pod_resize(INFEASIBLE), DEFAULT, "4", "8"),
    },
)
def test_Q4_resize_of_pod_level_resources(
    pod: Pod, options: PodResourcesOptions, request_cpu: str, limit_cpu: str
) -> None:
    assert _texts(pod_requests(pod, options)) == {"cpu": request_cpu}
    assert _texts(pod_limits(pod, options)) == {"cpu": limit_cpu}


RESIZED = raw_container_status(
    requests={"cpu": "2"}, limits={"cpu": "4"}, allocatedResources={"cpu": "3", "example.com/gpu": "1"}
)


ASKED, GRANTED = {"cpu": "1", "memory": "1Gi"}, {"cpu": "3", "memory": "1Gi", GPU: "1"}
REPORTED = raw_container_status(requests={"cpu": "2"}, limits={"cpu": "4"})


@table(
    "status, requests, limits",
    {
        "nothing reported": ([], ASKED, {"cpu": "8"}),
        "nothing granted": ([REPORTED], ASKED, {"cpu": "8"}),
        "requests that are granted, limits that are in force": ([RESIZED], GRANTED, {"cpu": "4"}),
        "limits that are not reported": ([RESIZED | {"resources": None}], GRANTED, {"cpu": "8"}),
        "another container": ([RESIZED | {"name": "other"}], ASKED, {"cpu": "8"}),
    },
)
def test_Q4_pod_with_resources_granted_by_kubelet(
    status: Sequence[Object], requests: Mapping[str, str], limits: Mapping[str, str]
) -> None:
    container = raw_container(requests={"cpu": "1", "memory": "1Gi"}, limits={"cpu": "8"})
    granted = allocated_pod(make_pod(containers=[container], status={"containerStatuses": status})).spec.containers[0]
    assert _texts(granted.resources.requests) == requests
    assert _texts(granted.resources.limits) == limits


def test_Q4_init_containers_are_granted_resizes() -> None:
    init = [raw_sidecar("mesh", requests={"cpu": "1"}), raw_container("setup", requests={"cpu": "1"})]
    statuses = [RESIZED | {"name": "mesh"}, RESIZED | {"name": "setup"}]
    mesh, setup = allocated_pod(
        make_pod(initContainers=init, status={"initContainerStatuses": statuses})
    ).spec.init_containers
    assert str(mesh.resources.requests["cpu"]) == "3"
    assert str(setup.resources.requests["cpu"]) == "3"


EPHEMERAL = {"ephemeral-storage": "1Mi"}


@table(
    "resources, requests_set, limits_set",
    {
        "nil resources struct": (None, False, False),
        "empty resources struct": ({}, False, False),
        "only resource requests set": ({"requests": {"memory": "100Mi"}}, True, False),
        "only unsupported resource requests set": ({"requests": EPHEMERAL}, False, False),
        "only unsupported resource limits set": ({"limits": EPHEMERAL}, False, False),
        "unsupported and suported resources requests set": ({"requests": {**EPHEMERAL, "cpu": "1m"}}, True, False),
        "unsupported and suported resources limits set": ({"limits": {**EPHEMERAL, "cpu": "1m"}}, False, True),
    },
)
def test_Q4_whether_pod_level_resources_are_set(resources: Object | None, requests_set: bool, limits_set: bool) -> None:
    pod = make_pod(resources=resources)
    assert is_pod_level_requests_set(pod) is requests_set
    assert is_pod_level_limits_set(pod) is limits_set
    assert is_pod_level_resources_set(pod) is (requests_set or limits_set)


@pytest.mark.parametrize(
    ("name", "supported", "overcommit"),
    [
        ("cpu", True, True),
        ("memory", True, True),
        ("ephemeral-storage", False, True),
        ("hugepages-2Mi", True, False),
        ("hugepages-1Gi", True, False),
        ("example.com/gpu", False, False),
        ("kubernetes.io/batch", False, True),
    ],
)
def test_Q4_kinds_of_resources(name: str, supported: bool, overcommit: bool) -> None:
    assert is_supported_pod_level_resource(name) is supported
    assert is_overcommit_allowed(name) is overcommit


@pytest.mark.parametrize(
    ("minor", "expected"),
    [
        (32, PodResourcesOptions(skip_pod_level_resources=True)),
        (33, PodResourcesOptions(skip_pod_level_resources=True, use_status_resources=True)),
        (34, PodResourcesOptions(use_status_resources=True)),
        (36, PodResourcesOptions(use_status_resources=True, use_status_pod_level_resources=True)),
    ],
)
def test_Q4_how_the_scheduler_counts_by_version(minor: int, expected: PodResourcesOptions) -> None:
    assert scheduler_options(Features.of_minor(minor)) == expected


MI = 1024 * 1024


HALF = {"cpu": "500m", "memory": "500M"}
SCALARS = {HUGE_2MI: "4Mi", GPU: "2", "attachable-volumes-csi": "1"}
NOT_COUNTED = {"unqualified": "7", f"requests.{GPU}": "7", "pods": "7"}


@table(
    "pod, expected",
    {
        "requestless container": (make_pod(), (0, 0, 0, {}, 100, 200 * MI)),
        "1X container with requests": (make_pod(requests=HALF), (500, 500_000_000, 0, {}, 500, 500_000_000)),
        "each container without requests counts": (
            make_pod(containers=[raw_container("a", HALF), raw_container("b")]),
            (500, 500_000_000, 0, {}, 600, 500_000_000 + 200 * MI),
        ),
        "a request of zero is a request": (make_pod(requests={"cpu": "0", "memory": "0"}), (0, 0, 0, {}, 0, 0)),
        "pod-level request of one resource": (
            make_pod(resources={"requests": {"cpu": "2"}}),
            (2000, 0, 0, {}, 2000, 200 * MI),
        ),
        "scalar resources are those that the scheduler counts by name": (
            make_pod(requests={"cpu": "1", "ephemeral-storage": "3Gi", **SCALARS, **NOT_COUNTED}),
            (1000, 0, 3 * 1024 * MI, {GPU: 2, HUGE_2MI: 4 * MI, "attachable-volumes-csi": 1}, 1000, 200 * MI),
        ),
        "fractions are rounded up, overhead counts": (
            make_pod(requests={"cpu": "0.1m", "memory": "0.5"}, overhead={"cpu": "250m", "memory": "64Mi"}),
            (251, 64 * MI + 1, 0, {}, 251, 64 * MI + 1),
        ),
    },
)
def test_Q4_resources_that_the_scheduler_accounts(pod: Pod, expected: tuple[Any, ...]) -> None:
    assert scheduler_request(pod, REFERENCE) == SchedulerRequest(*expected)


LONGEST_PREFIX = ".".join(["a" * 60] * 4)


@table(
    "name, counted",
    {
        "name of 63 characters": (f"example.com/{'a' * 63}", True),
        "name of 64 characters": (f"example.com/{'a' * 64}", False),
        "prefix of 243 characters: with requests. in front 252": (f"{LONGEST_PREFIX}/a", True),
        "prefix of 244 characters: with requests. in front 253": (f"{LONGEST_PREFIX}a/a", True),
        "prefix of 245 characters: with requests. in front 254": (f"{LONGEST_PREFIX}aa/a", False),
        "capital letter in the prefix": ("Example.com/a", False),
        "two slashes": ("a/b/c", False),
        "native names are not checked": ("node.kubernetes.io/-", True),
    },
)
def test_Q4_resources_that_the_scheduler_counts_by_name(name: str, counted: bool) -> None:
    assert scheduler_request(make_pod(requests={name: "2"}), REFERENCE).scalar == ({name: 2} if counted else {})


def test_Q4_old_scheduler_ignores_pod_level_resources() -> None:
    pod = make_pod(requests={"cpu": "1", "memory": "1"}, resources={"requests": {"cpu": "2", "memory": "2"}})
    assert scheduler_request(pod, Features.of_minor(33)) == SchedulerRequest(1000, 1, 0, {}, 1000, 1)
    assert scheduler_request(pod, REFERENCE) == SchedulerRequest(2000, 2, 0, {}, 2000, 2)


def test_Q4_limits_do_not_count_for_the_scheduler() -> None:
    assert scheduler_request(make_pod(limits={"cpu": "4", "memory": "8Gi"}), REFERENCE) == SchedulerRequest(
        0, 0, 0, {}, 100, 200 * MI
    )
