"""oom_score_adj of each container, and the terms it came from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from msgspec.structs import replace

from podrules.api.features import REFERENCE, Features
from podrules.api.model.pod import Pod
from podrules.pod.oom import OOMRule, OOMScoreAdj, container_oom_score_adjs, divide, pod_oom_score_adjs
from podrules.pod.priority import SYSTEM_CLUSTER_CRITICAL, SYSTEM_NODE_CRITICAL
from tests.controlplane.client import Object
from tests.features import around
from tests.objects import make_pod, raw_container, raw_owner, raw_sidecar
from tests.table import table

STANDARD = 8_000_000_000
HALF, QUARTER, EIGHTH, TWENTIETH = (str(STANDARD // part) for part in (2, 4, 8, 20))
ABOVE_EIGHTH = "1000001000"
ABOVE_QUARTER = "2000001000"
NO_POD_LEVEL = Features.of_minor(33)

# A machine with 24684096 kB, kubelet 1.36.3.
REAL_CAPACITY = 24_684_096 * 1024


def _adjs(pod: Pod, capacity: int | None, *, features: Features = REFERENCE) -> dict[str, int]:
    scores = pod_oom_score_adjs(pod, capacity, features=features)
    assert scores is not None
    return {score.container: score.value for score in scores}


def _score(pod: Pod, container: str, capacity: int | None = STANDARD, *, features: Features = REFERENCE) -> OOMScoreAdj:
    scores = pod_oom_score_adjs(pod, capacity, features=features)
    assert scores is not None
    return next(score for score in scores if score.container == container)


def _asking(name: str, memory: str, *, limit: str = ABOVE_EIGHTH) -> Object:
    return raw_container(name, requests={"memory": memory}, limits={"memory": limit})


def _sidecar(name: str, memory: str) -> Object:
    return raw_sidecar(name, requests={"memory": memory}, limits={"memory": ABOVE_EIGHTH})


def _mixed(*init: Object, init_container: str | None = EIGHTH, **apps: str) -> Pod:
    """Containers with these requests of memory, an init container and sidecars."""
    first = [] if init_container is None else [_asking("init-container", init_container)]
    return make_pod(containers=[_asking(*app) for app in apps.items()], initContainers=[*first, *init])


def _critical(name: str, **more: Any) -> Pod:
    priority = {SYSTEM_CLUSTER_CRITICAL: 2_000_000_000, SYSTEM_NODE_CRITICAL: 2_000_001_000}[name]
    return make_pod(priority=priority, priorityClassName=name, **more)


CPU_AND_MEMORY = {"memory": "10G", "cpu": "5m"}


@table(
    "pod, capacity, expected",
    {
        "cpu-limit": (make_pod(limits={"cpu": "10"}), 4_000_000_000, 999),
        "memory-limit-cpu-request": (make_pod(requests={"cpu": "0"}, limits={"memory": "10G"}), STANDARD, 999),
        "zero-memory-limit": (make_pod(limits={"memory": "0"}), 7_230_457_451, 1000),
        "no-request-limit": (make_pod(), 4_000_000_000, 1000),
        "equal-request-limit-cpu-memory": (make_pod(requests=CPU_AND_MEMORY, limits=CPU_AND_MEMORY), 123_456_789, -997),
        "cpu-unlimited-memory-limited-with-requests": (
            make_pod(requests={"memory": HALF, "cpu": "5m"}, limits={"memory": "10G"}),
            STANDARD,
            500,
        ),
        "request-no-limit": (make_pod(requests={"memory": str(STANDARD - 1), "cpu": "5m"}), STANDARD, 3),
        "cluster-critical": (_critical(SYSTEM_CLUSTER_CRITICAL), 4_000_000_000, 1000),
        "node-critical": (_critical(SYSTEM_NODE_CRITICAL), 4_000_000_000, -997),
        "burstable-unique-container-pod": (make_pod(containers=[_asking("app", EIGHTH)]), STANDARD, 875),
        "a request beyond the node": (make_pod(containers=[_asking("app", "3G", limit="4G")]), 2_000_000_000, 3),
        "a request of one byte": (make_pod(requests={"memory": "1"}), STANDARD, 999),
    },
)
def test_Q2_adj_of_a_container(pod: Pod, capacity: int, expected: int) -> None:
    assert _adjs(pod, capacity) == {"app": expected}


@table(
    "pod, expected",
    {
        "burstable-mixed-unique-main-container-pod": (_mixed(main=EIGHTH), {"main": 875, "init-container": 875}),
        "burstable-mixed-multi-container-small-sidecar-pod": (
            _mixed(_sidecar("sidecar", TWENTIETH), main=EIGHTH),
            {"main": 875, "init-container": 875, "sidecar": 875},
        ),
        "burstable-mixed-multi-container-sample-request-pod": (
            _mixed(_sidecar("sidecar", EIGHTH), main=EIGHTH),
            {"main": 875, "init-container": 875, "sidecar": 875},
        ),
        "burstable-mixed-multi-container-big-sidecar-container-pod": (
            _mixed(_sidecar("sidecar", HALF), main=EIGHTH),
            {"main": 875, "init-container": 875, "sidecar": 500},
        ),
        "the app container with the smallest request caps a sidecar": (
            _mixed(_sidecar("sidecar", "0"), init_container=None, small=TWENTIETH, large=HALF),
            {"small": 950, "large": 500, "sidecar": 950},
        ),
        "an init container that ends is neither capped nor caps": (
            _mixed(_sidecar("sidecar", "0"), init_container=TWENTIETH, main=EIGHTH),
            {"main": 875, "init-container": 950, "sidecar": 875},
        ),
    },
)
def test_Q2_adj_of_containers(pod: Pod, expected: dict[str, int]) -> None:
    assert _adjs(pod, STANDARD) == expected


GUARANTEED = {"requests": {"cpu": "5m", "memory": QUARTER}, "limits": {"cpu": "5m", "memory": QUARTER}}
BURSTABLE = {"requests": {"cpu": "5m", "memory": QUARTER}, "limits": {"cpu": "5m", "memory": ABOVE_QUARTER}}
LESS = BURSTABLE | {"requests": {"cpu": "5m", "memory": "2000000000"}}
EMPTY, EQUAL = [raw_container("a"), raw_container("b")], [_asking(name, EIGHTH, limit=EIGHTH) for name in "ab"]
UNEQUAL = [_asking("a", "1000000000"), _asking("b", "500000000"), _sidecar("sidecar", "200000000")]


@table(
    "resources, containers, expected",
    {
        "guaranteed-pod-resources-no-container-resources": (GUARANTEED, EMPTY, {"a": -997, "b": -997}),
        "guaranteed-pod-resources-equal-container-resources": (GUARANTEED, EQUAL, {"a": -997, "b": -997}),
        "guaranteed-pod-resources-unequal-container-requests": (
            GUARANTEED,
            [_asking("a", EIGHTH), raw_container("b")],
            {"a": -997, "b": -997},
        ),
        "burstable-pod-resources-no-container-resources": (BURSTABLE, EMPTY, {"a": 750, "b": 750}),
        "burstable-pod-resources-equal-container-requests": (BURSTABLE, EQUAL, {"a": 750, "b": 750}),
        "burstable-pod-resources-unequal-container-requests": (
            BURSTABLE,
            [_asking("a", EIGHTH, limit=EIGHTH), raw_container("b")],
            {"a": 625, "b": 875},
        ),
        "burstable-pod-resources-no-container-resources-with-sidecar": (
            BURSTABLE,
            [raw_container("a"), raw_sidecar()],
            {"a": 750, "sidecar": 750},
        ),
        "burstable-pod-resources-equal-container-requests-with-sidecar": (
            BURSTABLE,
            [_asking("a", EIGHTH), _sidecar("sidecar", EIGHTH)],
            {"a": 750, "sidecar": 750},
        ),
        "burstable-pod-resources-unequal-container-requests-with-sidecar": (
            LESS,
            UNEQUAL,
            {"a": 725, "b": 850, "sidecar": 850},
        ),
        "no memory at pod level: nothing to spread": ({"requests": {"cpu": "1"}}, [_asking("a", EIGHTH)], {"a": 750}),
        "containers ask more than the pod: nothing is left to spread": (
            {"requests": {"memory": EIGHTH}},
            [_asking("a", QUARTER)],
            {"a": 500},
        ),
    },
)
def test_Q2_pod_level_request_is_spread_over_containers(
    resources: Object, containers: Sequence[Object], expected: dict[str, int]
) -> None:
    apps = [one for one in containers if "restartPolicy" not in one]
    sidecars = [one for one in containers if "restartPolicy" in one]
    pod = make_pod(containers=apps, initContainers=sidecars, resources=resources)
    assert _adjs(pod, 4_000_000_000) == expected


def test_Q2_pod_level_request_counts_only_where_it_is_known() -> None:
    pod = make_pod(requests={"memory": EIGHTH}, resources={"requests": {"memory": QUARTER}})
    assert _adjs(pod, STANDARD) == {"app": 750}
    assert _adjs(pod, STANDARD, features=NO_POD_LEVEL) == {"app": 875}


STATIC = {"annotations": {"kubernetes.io/config.source": "file"}}
MIRROR = {"annotations": {"kubernetes.io/config.mirror": "hash"}}
BY_NAME: Object = {"priorityClassName": SYSTEM_NODE_CRITICAL}


@table(
    "pod, expected",
    {
        "static pod of class system-node-critical": (make_pod(metadata=STATIC, **BY_NAME), -997),
        "mirror pod of class system-node-critical": (make_pod(metadata=MIRROR, **BY_NAME), -997),
        "class name without its priority": (make_pod(priority=1_999_999_999, **BY_NAME), 1000),
        "class name alone": (make_pod(**BY_NAME), 1000),
        "static pod of no class": (make_pod(metadata=STATIC), 1000),
        "priority without the class name": (make_pod(priority=2_000_001_000), 1000),
    },
)
def test_Q2_node_critical_needs_class_and_criticality(pod: Pod, expected: int) -> None:
    assert _adjs(pod, STANDARD) == {"app": expected}


@table(
    "pod, expected",
    {
        "the stored class counts": (make_pod(requests={"memory": "1G"}, status={"qosClass": "Guaranteed"}), -997),
        "BestEffort": (make_pod(), 1000),
        "node-critical": (_critical(SYSTEM_NODE_CRITICAL, requests={"memory": "1G"}), -997),
    },
)
def test_Q2_fixed_values_need_no_capacity(pod: Pod, expected: int) -> None:
    assert _adjs(pod, None) == {"app": expected}


@pytest.mark.parametrize("capacity", [None, 0])
def test_Q2_burstable_is_unknown_without_a_capacity(capacity: int | None) -> None:
    pod = make_pod(requests={"memory": "1G"})
    assert pod_oom_score_adjs(pod, capacity) is None
    assert container_oom_score_adjs(pod, capacity) == {}


TERMS = OOMScoreAdj(
    container="app",
    field="spec.containers[0]",
    is_sidecar=False,
    value=875,
    rule=OOMRule.BURSTABLE,
    memory_request=500_000_000,
    pod_level_share=500_000_000,
    memory_capacity=STANDARD,
    formula_value=875,
    app_minimum=None,
)


def test_Q2_terms_of_a_burstable_container() -> None:
    own = {"requests": {"memory": "1G"}, "limits": {"memory": "2G"}}
    assert _score(make_pod(requests={"memory": "500000000"}, resources=own), "app") == TERMS


def test_Q2_terms_of_a_container_of_another_class() -> None:
    amounts = {"cpu": "1", "memory": "1G"}
    fixed = replace(TERMS, value=-997, rule=OOMRule.GUARANTEED, memory_request=10**9, pod_level_share=0)
    assert _score(make_pod(requests=amounts, limits=amounts), "app") == replace(fixed, formula_value=None)


@table(
    "resources",
    {
        "no pod-level resources": None,
        "no pod-level memory request": {"requests": {"cpu": "1"}},
        "a pod-level limit alone": {"limits": {"memory": "4G"}},
    },
)
def test_Q2_no_share_without_pod_level_memory_request(resources: Object | None) -> None:
    assert _score(make_pod(requests={"memory": "1G"}, resources=resources), "app").pod_level_share == 0


def test_Q2_terms_of_a_capped_sidecar() -> None:
    pod = make_pod(requests={"memory": "1G"}, initContainers=[raw_sidecar("mesh", requests={"memory": "400M"})])
    own = replace(TERMS, container="mesh", field="spec.initContainers[0]", is_sidecar=True, app_minimum=875)
    asked = replace(own, rule=OOMRule.BURSTABLE_SIDECAR, memory_request=400_000_000, pod_level_share=0)
    assert _score(pod, "mesh") == replace(asked, formula_value=950)


def _with_sidecar(memory: str) -> Pod:
    return make_pod(requests={"memory": "1G"}, initContainers=[raw_sidecar("side", requests={"memory": memory})])


@table(
    "pod, container, rule, terms",
    {
        "BURSTABLE_FLOOR": (make_pod(requests={"memory": "8G"}), "app", OOMRule.BURSTABLE_FLOOR, (0, None)),
        "BURSTABLE_CEILING": (make_pod(requests={"cpu": "1"}), "app", OOMRule.BURSTABLE_CEILING, (1000, None)),
        "a sidecar below the app minimum is not capped": (_with_sidecar("2G"), "side", OOMRule.BURSTABLE, (750, 875)),
        "nor one that equals it": (_with_sidecar("1G"), "side", OOMRule.BURSTABLE, (875, 875)),
        "exactly the floor": (make_pod(requests={"memory": "7976M"}), "app", OOMRule.BURSTABLE, (3, None)),
        "BEST_EFFORT": (make_pod(), "app", OOMRule.BEST_EFFORT, (None, None)),
        "GUARANTEED": (make_pod(status={"qosClass": "Guaranteed"}), "app", OOMRule.GUARANTEED, (None, None)),
        "NODE_CRITICAL": (
            make_pod(priority=2_000_000_000, priorityClassName=SYSTEM_NODE_CRITICAL),
            "app",
            OOMRule.NODE_CRITICAL,
            (None, None),
        ),
    },
)
def test_Q2_rule_that_decided(pod: Pod, container: str, rule: OOMRule, terms: tuple[int | None, int | None]) -> None:
    score = _score(pod, container)
    assert (score.rule, (score.formula_value, score.app_minimum)) == (rule, terms)


def test_Q2_every_container_but_ephemeral_ones_is_listed() -> None:
    pod = make_pod(
        requests={"memory": "1G"},
        initContainers=[raw_container("init"), raw_sidecar("mesh")],
        ephemeralContainers=[raw_container("debugger")],
    )
    scores = pod_oom_score_adjs(pod, STANDARD)
    assert scores is not None
    assert [(score.container, score.field, score.is_sidecar) for score in scores] == [
        ("app", "spec.containers[0]", False),
        ("init", "spec.initContainers[0]", False),
        ("mesh", "spec.initContainers[1]", True),
    ]


def _guaranteed(memory: str, cpu: str) -> Pod:
    return make_pod(requests={"cpu": cpu, "memory": memory}, limits={"cpu": cpu, "memory": memory})


MAIN_200 = raw_container("main", {"memory": "200Mi"})


@table(
    "pod, expected",
    {
        "Guaranteed 250m / 128Mi": (_guaranteed("128Mi", "250m"), {"app": -997}),
        "Guaranteed 1m / 32Mi": (_guaranteed("32Mi", "1m"), {"app": -997}),
        "Burstable request 200Mi, its sidecar of 64Mi, its sibling without resources": (
            make_pod(
                containers=[_asking("main", "200Mi", limit="300Mi"), raw_container("sibling")],
                initContainers=[raw_sidecar(requests={"memory": "64Mi"}, limits={"memory": "128Mi"})],
            ),
            {"main": 992, "sidecar": 998, "sibling": 999},
        ),
        "a sidecar of 10Mi beside a main container of 200Mi": (
            make_pod(containers=[MAIN_200], initContainers=[raw_sidecar(requests={"memory": "10Mi"})]),
            {"main": 992, "sidecar": 992},
        ),
        "BestEffort": (make_pod(), {"app": 1000}),
        "BestEffort with system-cluster-critical": (_critical(SYSTEM_CLUSTER_CRITICAL), {"app": 1000}),
        "system-node-critical, BestEffort": (_critical(SYSTEM_NODE_CRITICAL), {"app": -997}),
        "system-node-critical, Burstable": (
            _critical(SYSTEM_NODE_CRITICAL, requests={"memory": "200Mi"}),
            {"app": -997},
        ),
    },
)
def test_Q2_adj_that_a_real_kubelet_asked_for(pod: Pod, expected: dict[str, int]) -> None:
    assert _adjs(pod, REAL_CAPACITY) == expected


def test_Q2_resize_changes_the_computed_value() -> None:
    # A real kubelet kept 992 when the request changed from 200Mi to 300Mi; a restart uses the new value.
    assert _adjs(make_pod(requests={"memory": "200Mi"}), REAL_CAPACITY) == {"app": 992}
    assert _adjs(make_pod(requests={"memory": "300Mi"}), REAL_CAPACITY) == {"app": 988}


@pytest.mark.parametrize(("dividend", "quotient"), [(7, 3), (6, 3), (1, 0), (0, 0), (-1, 0), (-6, -3), (-7, -3)])
def test_Q2_division_is_gos_towards_zero(dividend: int, quotient: int) -> None:
    assert divide(dividend, 2) == quotient


def test_Q2_negative_pod_level_share_rounds_to_zero() -> None:
    containers = [raw_container("one", requests={"memory": "1000"}), raw_container("other")]
    pod = make_pod(containers=containers, resources={"requests": {"memory": "995"}})
    before, after = around("oom_share_not_negative")
    score = _score(pod, "one", 2000, features=before)
    assert (score.pod_level_share, score.formula_value) == (-2, 501)
    score = _score(pod, "one", 2000, features=after)
    assert (score.pod_level_share, score.formula_value) == (0, 500)


def _system_pod(
    *containers: Object, namespace: str = "kube-system", owner: str = "", label: str = "", key: str = "k8s-app"
) -> Pod:
    owners = [raw_owner("DaemonSet", owner)] if owner else []
    labels = {key: label} if label else {}
    return make_pod("p", namespace, labels=labels, metadata={"ownerReferences": owners}, containers=containers)


@pytest.mark.parametrize(
    ("pod", "own"),
    [
        (_system_pod(raw_container("a", image="registry.k8s.io/kube-proxy:v1.36.3")), {"a": "Image"}),
        (_system_pod(raw_container("a", image="kube-proxy-arm64@sha256:12"), namespace="infra"), {"a": "Image"}),
        (_system_pod(raw_container("a", image="x/kube-proxy-exporter:1")), {}),
        (_system_pod(raw_container("a", image="x/kube-proxy/agent:1")), {}),
        (_system_pod(raw_container("main"), label="kube-proxy"), {"main": "Label"}),
        (_system_pod(raw_container("main"), label="kube-proxy", namespace="shop"), {}),
        (_system_pod(raw_container("main"), owner="kube-proxy"), {"main": "DaemonSet"}),
        (_system_pod(raw_container("main"), owner="kube-router"), {}),
        (
            _system_pod(raw_container("kube-proxy"), raw_container("log"), owner="kube-proxy"),
            {"kube-proxy": "DaemonSet"},
        ),
        (_system_pod(raw_container("one"), raw_container("two"), label="kube-proxy"), {}),
        (_system_pod(raw_container("main"), label="kube-proxy", key="component"), {"main": "Label"}),
        (
            _system_pod(
                raw_container("kube-proxy"),
                raw_container("kube-rbac-proxy"),
                owner="openshift-kube-proxy",
                namespace="openshift-kube-proxy",
            ),
            {"kube-proxy": "DaemonSet"},
        ),
    ],
)
def test_Q2_kube_proxy_writes_its_own_value(pod: Pod, own: Mapping[str, str]) -> None:
    # `ApplyOOMScoreAdj(0, ...)` of cmd/kube-proxy: the process, not its container.
    scores = pod_oom_score_adjs(pod, STANDARD) or ()
    assert {one.container: one.value for one in scores} == {
        one.name: -999 if one.name in own else 1000 for one in pod.spec.containers
    }
    assert all(one.own is None or one.own.kubelet_value == 1000 for one in scores)
    assert {one.container: one.own.recognised_by for one in scores if one.own} == own
