"""oom_score_adj of each container, and the terms it came from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest

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


def _init_and(*more: Object) -> list[Object]:
    return [_asking("init-container", EIGHTH), *more]


@table(
    "pod, capacity, expected",
    {
        "cpu-limit": (make_pod(limits={"cpu": "10"}), 4_000_000_000, {"app": 999}),
        "memory-limit-cpu-request": (make_pod(requests={"cpu": "0"}, limits={"memory": "10G"}), STANDARD, {"app": 999}),
        "zero-memory-limit": (make_pod(limits={"memory": "0"}), 7_230_457_451, {"app": 1000}),
        "no-request-limit": (make_pod(), 4_000_000_000, {"app": 1000}),
        "equal-request-limit-cpu-memory": (
            make_pod(requests={"memory": "10G", "cpu": "5m"}, limits={"memory": "10G", "cpu": "5m"}),
            123_456_789,
            {"app": -997},
        ),
        "cpu-unlimited-memory-limited-with-requests": (
            make_pod(requests={"memory": HALF, "cpu": "5m"}, limits={"memory": "10G"}),
            STANDARD,
            {"app": 500},
        ),
        "request-no-limit": (make_pod(requests={"memory": str(STANDARD - 1), "cpu": "5m"}), STANDARD, {"app": 3}),
        "cluster-critical": (
            make_pod(priority=2_000_000_000, priorityClassName=SYSTEM_CLUSTER_CRITICAL),
            4_000_000_000,
            {"app": 1000},
        ),
        "node-critical": (
            make_pod(priority=2_000_001_000, priorityClassName=SYSTEM_NODE_CRITICAL),
            4_000_000_000,
            {"app": -997},
        ),
        "burstable-unique-container-pod": (
            make_pod(requests={"memory": EIGHTH}, limits={"memory": ABOVE_EIGHTH}),
            STANDARD,
            {"app": 875},
        ),
        "burstable-mixed-unique-main-container-pod": (
            make_pod(containers=[_asking("main-1", EIGHTH)], initContainers=_init_and()),
            STANDARD,
            {"main-1": 875, "init-container": 875},
        ),
        "burstable-mixed-multi-container-small-sidecar-pod": (
            make_pod(containers=[_asking("main-1", EIGHTH)], initContainers=_init_and(_sidecar("sidecar", TWENTIETH))),
            STANDARD,
            {"main-1": 875, "init-container": 875, "sidecar": 875},
        ),
        "burstable-mixed-multi-container-sample-request-pod": (
            make_pod(containers=[_asking("main-1", EIGHTH)], initContainers=_init_and(_sidecar("sidecar", EIGHTH))),
            STANDARD,
            {"main-1": 875, "init-container": 875, "sidecar": 875},
        ),
        "burstable-mixed-multi-container-big-sidecar-container-pod": (
            make_pod(containers=[_asking("main-1", EIGHTH)], initContainers=_init_and(_sidecar("sidecar", HALF))),
            STANDARD,
            {"main-1": 875, "init-container": 875, "sidecar": 500},
        ),
        "the app container with the smallest request caps a sidecar": (
            make_pod(
                containers=[_asking("small", TWENTIETH), _asking("large", HALF)],
                initContainers=[_sidecar("sidecar", "0")],
            ),
            STANDARD,
            {"small": 950, "large": 500, "sidecar": 950},
        ),
        "an init container that ends is neither capped nor caps": (
            make_pod(
                containers=[_asking("main-1", EIGHTH)],
                initContainers=[_asking("init-container", TWENTIETH), _sidecar("sidecar", "0")],
            ),
            STANDARD,
            {"main-1": 875, "init-container": 950, "sidecar": 875},
        ),
        "a request beyond the node": (
            make_pod(requests={"memory": "3G"}, limits={"memory": "4G"}),
            2_000_000_000,
            {"app": 3},
        ),
        "a request of one byte": (make_pod(requests={"memory": "1"}), STANDARD, {"app": 999}),
    },
)
def test_Q2_adj_of_containers(pod: Pod, capacity: int, expected: dict[str, int]) -> None:
    assert _adjs(pod, capacity) == expected


GUARANTEED = {"requests": {"cpu": "5m", "memory": QUARTER}, "limits": {"cpu": "5m", "memory": QUARTER}}
BURSTABLE = {"requests": {"cpu": "5m", "memory": QUARTER}, "limits": {"cpu": "5m", "memory": ABOVE_QUARTER}}


@table(
    "resources, containers, init_containers, expected",
    {
        "guaranteed-pod-resources-no-container-resources": (
            GUARANTEED,
            [raw_container("a"), raw_container("b")],
            [],
            {"a": -997, "b": -997},
        ),
        "guaranteed-pod-resources-equal-container-resources": (
            GUARANTEED,
            [_asking("a", EIGHTH, limit=EIGHTH), _asking("b", EIGHTH, limit=EIGHTH)],
            [],
            {"a": -997, "b": -997},
        ),
        "guaranteed-pod-resources-unequal-container-requests": (
            GUARANTEED,
            [_asking("a", EIGHTH), raw_container("b")],
            [],
            {"a": -997, "b": -997},
        ),
        "burstable-pod-resources-no-container-resources": (
            BURSTABLE,
            [raw_container("a"), raw_container("b")],
            [],
            {"a": 750, "b": 750},
        ),
        "burstable-pod-resources-equal-container-requests": (
            BURSTABLE,
            [_asking("a", EIGHTH, limit=EIGHTH), _asking("b", EIGHTH, limit=EIGHTH)],
            [],
            {"a": 750, "b": 750},
        ),
        "burstable-pod-resources-unequal-container-requests": (
            BURSTABLE,
            [_asking("a", EIGHTH, limit=EIGHTH), raw_container("b")],
            [],
            {"a": 625, "b": 875},
        ),
        "burstable-pod-resources-no-container-resources-with-sidecar": (
            BURSTABLE,
            [raw_container("a")],
            [raw_sidecar()],
            {"a": 750, "sidecar": 750},
        ),
        "burstable-pod-resources-equal-container-requests-with-sidecar": (
            BURSTABLE,
            [_asking("a", EIGHTH)],
            [_sidecar("sidecar", EIGHTH)],
            {"a": 750, "sidecar": 750},
        ),
        "burstable-pod-resources-unequal-container-requests-with-sidecar": (
            {"requests": {"cpu": "5m", "memory": "2000000000"}, "limits": {"cpu": "5m", "memory": ABOVE_QUARTER}},
            [_asking("a", "1000000000"), _asking("b", "500000000")],
            [_sidecar("sidecar", "200000000")],
            {"a": 725, "b": 850, "sidecar": 850},
        ),
        "no memory at pod level: nothing to spread": (
            {"requests": {"cpu": "1"}},
            [_asking("a", EIGHTH)],
            [],
            {"a": 750},
        ),
        "containers ask more than the pod: nothing is left to spread": (
            {"requests": {"memory": EIGHTH}},
            [_asking("a", QUARTER)],
            [],
            {"a": 500},
        ),
    },
)
def test_Q2_pod_level_request_is_spread_over_containers(
    resources: Object, containers: Sequence[Object], init_containers: Sequence[Object], expected: dict[str, int]
) -> None:
    pod = make_pod(containers=containers, initContainers=init_containers, resources=resources)
    assert _adjs(pod, 4_000_000_000) == expected


def test_Q2_pod_level_request_counts_only_where_it_is_known() -> None:
    pod = make_pod(requests={"memory": EIGHTH}, resources={"requests": {"memory": QUARTER}})
    assert _adjs(pod, STANDARD) == {"app": 750}
    assert _adjs(pod, STANDARD, features=NO_POD_LEVEL) == {"app": 875}


@table(
    "pod, expected",
    {
        "static pod of class system-node-critical": (
            make_pod(
                metadata={"annotations": {"kubernetes.io/config.source": "file"}},
                priorityClassName=SYSTEM_NODE_CRITICAL,
            ),
            -997,
        ),
        "mirror pod of class system-node-critical": (
            make_pod(
                metadata={"annotations": {"kubernetes.io/config.mirror": "hash"}},
                priorityClassName=SYSTEM_NODE_CRITICAL,
            ),
            -997,
        ),
        "class name without its priority": (
            make_pod(priorityClassName=SYSTEM_NODE_CRITICAL, priority=1_999_999_999),
            1000,
        ),
        "class name alone": (make_pod(priorityClassName=SYSTEM_NODE_CRITICAL), 1000),
        "static pod of no class": (make_pod(metadata={"annotations": {"kubernetes.io/config.source": "file"}}), 1000),
        "priority without the class name": (make_pod(priority=2_000_001_000), 1000),
    },
)
def test_Q2_node_critical_needs_class_and_criticality(pod: Pod, expected: int) -> None:
    assert _adjs(pod, STANDARD) == {"app": expected}


@table(
    "pod, expected",
    {
        "the stored class counts": (
            make_pod(requests={"memory": "1G"}, status={"qosClass": "Guaranteed"}),
            {"app": -997},
        ),
        "BestEffort": (make_pod(), {"app": 1000}),
        "node-critical": (
            make_pod(requests={"memory": "1G"}, priority=2_000_001_000, priorityClassName=SYSTEM_NODE_CRITICAL),
            {"app": -997},
        ),
    },
)
def test_Q2_fixed_values_need_no_capacity(pod: Pod, expected: dict[str, int]) -> None:
    assert _adjs(pod, None) == expected


@pytest.mark.parametrize("capacity", [None, 0])
def test_Q2_burstable_is_unknown_without_a_capacity(capacity: int | None) -> None:
    pod = make_pod(requests={"memory": "1G"})
    assert pod_oom_score_adjs(pod, capacity) is None
    assert container_oom_score_adjs(pod, capacity) == {}


def test_Q2_terms_of_a_burstable_container() -> None:
    pod = make_pod(
        requests={"memory": "500000000"}, resources={"requests": {"memory": "1G"}, "limits": {"memory": "2G"}}
    )
    assert _score(pod, "app") == OOMScoreAdj(
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


def test_Q2_terms_of_a_container_of_another_class() -> None:
    pod = make_pod(requests={"cpu": "1", "memory": "1G"}, limits={"cpu": "1", "memory": "1G"})
    assert _score(pod, "app") == OOMScoreAdj(
        container="app",
        field="spec.containers[0]",
        is_sidecar=False,
        value=-997,
        rule=OOMRule.GUARANTEED,
        memory_request=1_000_000_000,
        pod_level_share=0,
        memory_capacity=STANDARD,
        formula_value=None,
        app_minimum=None,
    )


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
    assert _score(pod, "mesh") == OOMScoreAdj(
        container="mesh",
        field="spec.initContainers[0]",
        is_sidecar=True,
        value=875,
        rule=OOMRule.BURSTABLE_SIDECAR,
        memory_request=400_000_000,
        pod_level_share=0,
        memory_capacity=STANDARD,
        formula_value=950,
        app_minimum=875,
    )


@table(
    "pod, container, rule, formula, app_minimum",
    {
        "BURSTABLE_FLOOR": (make_pod(requests={"memory": "8G"}), "app", OOMRule.BURSTABLE_FLOOR, 0, None),
        "BURSTABLE_CEILING": (make_pod(requests={"cpu": "1"}), "app", OOMRule.BURSTABLE_CEILING, 1000, None),
        "a sidecar below the app minimum is not capped": (
            make_pod(requests={"memory": "1G"}, initContainers=[raw_sidecar(requests={"memory": "2G"})]),
            "sidecar",
            OOMRule.BURSTABLE,
            750,
            875,
        ),
        "nor one that equals it": (
            make_pod(requests={"memory": "1G"}, initContainers=[raw_sidecar(requests={"memory": "1G"})]),
            "sidecar",
            OOMRule.BURSTABLE,
            875,
            875,
        ),
        "exactly the floor": (make_pod(requests={"memory": "7976M"}), "app", OOMRule.BURSTABLE, 3, None),
        "BEST_EFFORT": (make_pod(), "app", OOMRule.BEST_EFFORT, None, None),
        "GUARANTEED": (make_pod(status={"qosClass": "Guaranteed"}), "app", OOMRule.GUARANTEED, None, None),
        "NODE_CRITICAL": (
            make_pod(priority=2_000_000_000, priorityClassName=SYSTEM_NODE_CRITICAL),
            "app",
            OOMRule.NODE_CRITICAL,
            None,
            None,
        ),
    },
)
def test_Q2_rule_that_decided(
    pod: Pod, container: str, rule: OOMRule, formula: int | None, app_minimum: int | None
) -> None:
    score = _score(pod, container)
    assert (score.rule, score.formula_value, score.app_minimum) == (rule, formula, app_minimum)


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


def _guaranteed(memory: str, cpu: str) -> Object:
    return raw_container(requests={"cpu": cpu, "memory": memory}, limits={"cpu": cpu, "memory": memory})


@table(
    "pod, expected",
    {
        "Guaranteed 250m / 128Mi": (make_pod(containers=[_guaranteed("128Mi", "250m")]), {"app": -997}),
        "Guaranteed 1m / 32Mi": (make_pod(containers=[_guaranteed("32Mi", "1m")]), {"app": -997}),
        "Burstable request 200Mi, its sidecar of 64Mi, its sibling without resources": (
            make_pod(
                containers=[
                    raw_container("main", requests={"memory": "200Mi"}, limits={"memory": "300Mi"}),
                    raw_container("sibling"),
                ],
                initContainers=[raw_sidecar(requests={"memory": "64Mi"}, limits={"memory": "128Mi"})],
            ),
            {"main": 992, "sidecar": 998, "sibling": 999},
        ),
        "a sidecar of 10Mi beside a main container of 200Mi": (
            make_pod(
                containers=[raw_container("main", requests={"memory": "200Mi"})],
                initContainers=[raw_sidecar(requests={"memory": "10Mi"})],
            ),
            {"main": 992, "sidecar": 992},
        ),
        "BestEffort": (make_pod(), {"app": 1000}),
        "BestEffort with system-cluster-critical": (
            make_pod(priority=2_000_000_000, priorityClassName=SYSTEM_CLUSTER_CRITICAL),
            {"app": 1000},
        ),
        "system-node-critical, BestEffort": (
            make_pod(priority=2_000_001_000, priorityClassName=SYSTEM_NODE_CRITICAL),
            {"app": -997},
        ),
        "system-node-critical, Burstable": (
            make_pod(requests={"memory": "200Mi"}, priority=2_000_001_000, priorityClassName=SYSTEM_NODE_CRITICAL),
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
