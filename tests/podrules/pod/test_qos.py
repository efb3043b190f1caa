"""QoS class: the deciding fields, the changes to Guaranteed, and the limits of a resize."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest

from podrules.api.features import Features
from podrules.api.model.pod import Pod, PodQOSClass
from podrules.pod.defaults import stored_pod
from podrules.pod.qos import (
    FieldChange,
    QOSBlocker,
    QOSProblem,
    compute_pod_qos,
    explain_qos,
    get_pod_qos,
    resize_rejection,
)
from tests.controlplane.client import Object
from tests.features import around
from tests.objects import make_pod, raw_container, raw_sidecar
from tests.podrules.pod.changes import with_changes

GUARANTEED, BURSTABLE, BEST_EFFORT = PodQOSClass.GUARANTEED, PodQOSClass.BURSTABLE, PodQOSClass.BEST_EFFORT
NO_POD_LEVEL = Features.of_minor(33)
SMALL = {"cpu": "100m", "memory": "100Mi"}
LARGE = {"cpu": "200m", "memory": "200Mi"}
MORE = {"cpu": "300m", "memory": "300Mi"}


def _equal(name: str = "app", amounts: Mapping[str, str] | None = None) -> Object:
    return raw_container(name, requests=amounts or SMALL, limits=amounts or SMALL)


def _pod_of(*containers: Object) -> Pod:
    return make_pod(containers=containers)


@pytest.mark.parametrize(
    ("pod", "expected"),
    [
        pytest.param(_pod_of(_equal()), GUARANTEED, id="guaranteed"),
        pytest.param(_pod_of(_equal("a"), _equal("b")), GUARANTEED, id="guaranteed-guaranteed"),
        pytest.param(_pod_of(raw_container("a"), raw_container("b")), BEST_EFFORT, id="best-effort-best-effort"),
        pytest.param(make_pod(), BEST_EFFORT, id="best-effort"),
        pytest.param(
            _pod_of(raw_container("a"), raw_container("b", requests={"cpu": "1"}, limits={"cpu": "2"})),
            BURSTABLE,
            id="best-effort-burstable",
        ),
        pytest.param(
            _pod_of(raw_container("a"), _equal("b", {"cpu": "10m", "memory": "100Mi"})),
            BURSTABLE,
            id="best-effort-guaranteed",
        ),
        pytest.param(
            make_pod(requests={"memory": "100Mi"}, limits={"memory": "100Mi"}),
            BURSTABLE,
            id="burstable-cpu-guaranteed-memory",
        ),
        pytest.param(make_pod(requests=SMALL), BURSTABLE, id="burstable-no-limits"),
        pytest.param(
            _pod_of(
                raw_container("a", requests={"cpu": "1", "memory": "100Mi"}, limits={"cpu": "2", "memory": "100Mi"}),
                _equal("b"),
            ),
            BURSTABLE,
            id="burstable-guaranteed",
        ),
        pytest.param(
            _pod_of(raw_container("a", requests=SMALL, limits=LARGE), raw_container("b", requests=SMALL)),
            BURSTABLE,
            id="burstable-unbounded-but-requests-match-limits",
        ),
        pytest.param(
            make_pod(requests={"cpu": "10m", "memory": "100Mi"}, limits={"cpu": "100m", "memory": "200Mi"}),
            BURSTABLE,
            id="burstable-1",
        ),
        pytest.param(
            make_pod(requests={"cpu": "0", "memory": "0"}, limits={"cpu": "100m", "memory": "200Mi"}),
            BURSTABLE,
            id="burstable-2",
        ),
        pytest.param(
            make_pod(
                requests={"cpu": "0", "memory": "0", "hugepages-2Mi": "1Gi"},
                limits={"cpu": "0", "memory": "0", "hugepages-2Mi": "1Gi"},
            ),
            BEST_EFFORT,
            id="best-effort-hugepages",
        ),
        pytest.param(
            make_pod(
                initContainers=[
                    raw_container(
                        "init", requests={"cpu": "10m", "memory": "100Mi"}, limits={"cpu": "100m", "memory": "200Mi"}
                    )
                ]
            ),
            BURSTABLE,
            id="init-container",
        ),
        pytest.param(
            make_pod(requests={"ephemeral-storage": "1Gi"}, limits={"ephemeral-storage": "1Gi"}),
            BEST_EFFORT,
            id="other resources alone",
        ),
        pytest.param(
            make_pod(requests={"cpu": "1000m", "memory": "1Gi"}, limits={"cpu": "1", "memory": "1024Mi"}),
            GUARANTEED,
            id="the same amount written differently",
        ),
        pytest.param(make_pod(limits=SMALL), BURSTABLE, id="limits alone, before defaulting"),
        pytest.param(
            _pod_of(raw_container("a", requests=SMALL, limits=LARGE), raw_container("b", requests=LARGE, limits=MORE)),
            BURSTABLE,
            id="two containers below their limits by the same amount",
        ),
    ],
)
def test_Q1_class_of_container_resources(pod: Pod, expected: PodQOSClass) -> None:
    assert compute_pod_qos(pod) is expected


TEN = {"cpu": "10m", "memory": "100Mi"}


@pytest.mark.parametrize(
    ("containers", "requests", "limits", "expected", "by_containers"),
    [
        pytest.param([raw_container()], TEN, TEN, GUARANTEED, BEST_EFFORT, id="guaranteed-with-pod-level-resources"),
        pytest.param(
            [raw_container(requests={"cpu": "3m", "memory": "10Mi"}, limits={"cpu": "5m", "memory": "20Mi"})],
            TEN,
            TEN,
            GUARANTEED,
            BURSTABLE,
            id="guaranteed-with-pod-and-container-level-resources",
        ),
        pytest.param(
            [raw_container()],
            {"cpu": "10m", "memory": "10Mi"},
            {"cpu": "20m", "memory": "50Mi"},
            BURSTABLE,
            BEST_EFFORT,
            id="burstable-with-pod-level-resources",
        ),
        pytest.param(
            [_equal(amounts={"cpu": "5m", "memory": "10Mi"})],
            {"cpu": "10m", "memory": "10Mi"},
            {"cpu": "20m", "memory": "50Mi"},
            BURSTABLE,
            GUARANTEED,
            id="burstable-with-pod-and-container-level-resources",
        ),
        pytest.param(
            [raw_container(requests={"cpu": "5m", "memory": "10Mi"})],
            {"cpu": "10m", "memory": "10Mi"},
            {},
            BURSTABLE,
            BURSTABLE,
            id="burstable-with-pod-and-container-level-requests",
        ),
        pytest.param(
            [
                raw_container("burstable", requests={"cpu": "5m", "memory": "10Mi"}),
                _equal("guaranteed", {"cpu": "5m", "memory": "10Mi"}),
            ],
            {"cpu": "10m", "memory": "10Mi"},
            {"cpu": "5m"},
            BURSTABLE,
            BURSTABLE,
            id="burstable-with-pod-and-container-level-resources-2",
        ),
        pytest.param([_equal()], {"cpu": "1"}, {"cpu": "1"}, BURSTABLE, GUARANTEED, id="one resource alone"),
        pytest.param(
            [raw_container(requests=SMALL)], {"cpu": "0"}, {"cpu": "0"}, BEST_EFFORT, BURSTABLE, id="set to zero"
        ),
    ],
)
def test_Q1_pod_level_resources_decide_alone(
    containers: Sequence[Object],
    requests: Mapping[str, str],
    limits: Mapping[str, str],
    expected: PodQOSClass,
    by_containers: PodQOSClass,
) -> None:
    pod = make_pod(containers=containers, resources={"requests": requests, "limits": limits})
    assert compute_pod_qos(pod) is expected
    assert explain_qos(pod).decided_by == "spec.resources"
    # Before 1.34 the field is ignored.
    assert compute_pod_qos(pod, features=NO_POD_LEVEL) is by_containers
    assert explain_qos(pod, features=NO_POD_LEVEL).decided_by == "spec.containers"


def test_Q1_empty_pod_level_resources_decide_until_1_36() -> None:
    pod = make_pod(containers=[_equal()], resources={})
    before, after = around("pod_level_resources_fix_kubelet_qos_class")
    assert compute_pod_qos(pod, features=before) is BEST_EFFORT
    assert explain_qos(pod, features=before).decided_by == "spec.resources"
    assert compute_pod_qos(pod, features=after) is GUARANTEED
    assert explain_qos(pod, features=after).decided_by == "spec.containers"


def test_Q1_ephemeral_containers_do_not_count() -> None:
    debugger = raw_container("debugger", requests={"cpu": "1"})
    assert compute_pod_qos(make_pod(ephemeralContainers=[debugger])) is BEST_EFFORT
    assert compute_pod_qos(make_pod(requests=SMALL, limits=SMALL, ephemeralContainers=[debugger])) is GUARANTEED


@pytest.mark.parametrize(
    ("manifest", "as_written", "as_stored"),
    [
        pytest.param(make_pod(limits=SMALL), BURSTABLE, GUARANTEED, id="limits alone"),
        pytest.param(make_pod(requests={"cpu": "100m"}, limits=SMALL), BURSTABLE, GUARANTEED, id="one request missing"),
        pytest.param(make_pod(resources={"limits": SMALL}), BURSTABLE, GUARANTEED, id="pod-level limits alone"),
        pytest.param(
            make_pod(requests={"cpu": "50m"}, resources={"limits": SMALL}),
            BURSTABLE,
            BURSTABLE,
            id="pod-level limits, requests from the containers",
        ),
        pytest.param(
            make_pod(requests={"cpu": "1", "memory": "100.0001"}, limits={"cpu": "1", "memory": "100.0005"}),
            BURSTABLE,
            GUARANTEED,
            id="amounts that rounding to thousandths makes equal",
        ),
        pytest.param(make_pod(requests={"cpu": "0.01m"}), BURSTABLE, BURSTABLE, id="a trace is rounded up, not away"),
    ],
)
def test_Q1_manifest_and_stored_pod_may_differ(manifest: Pod, as_written: PodQOSClass, as_stored: PodQOSClass) -> None:
    assert compute_pod_qos(manifest) is as_written
    assert compute_pod_qos(stored_pod(manifest)) is as_stored


def test_Q1_class_in_the_status_wins() -> None:
    pod = make_pod(requests=SMALL, limits=SMALL, status={"qosClass": "Burstable"})
    assert get_pod_qos(pod) is BURSTABLE
    assert compute_pod_qos(pod) is GUARANTEED


@pytest.mark.parametrize("written", ["", "NoSuchClass"])
def test_Q1_class_is_computed_where_the_status_has_none(written: str) -> None:
    assert get_pod_qos(make_pod(requests=SMALL, limits=SMALL, status={"qosClass": written})) is GUARANTEED


def test_Q1_explanation_of_guaranteed_has_nothing_to_change() -> None:
    explanation = explain_qos(make_pod(requests=SMALL, limits=SMALL))
    assert explanation.qos_class is GUARANTEED
    assert explanation.decided_by == "spec.containers"
    assert explanation.blockers == ()
    assert explanation.changes_to_guaranteed == ()
    assert explanation.spoiled_by == ()


def test_Q1_explanation_names_deciding_container_field() -> None:
    pod = make_pod(
        containers=[
            _equal("web"),
            raw_container("log", requests={"cpu": "50m", "memory": "64Mi"}, limits={"cpu": "50m", "memory": "128Mi"}),
        ],
        initContainers=[raw_container("setup", requests={"cpu": "10m", "memory": "1Mi"}, limits={"memory": "1Mi"})],
    )
    explanation = explain_qos(pod)
    assert explanation.qos_class is BURSTABLE
    assert explanation.blockers == (
        QOSBlocker(
            QOSProblem.REQUEST_DIFFERS, "spec.containers[1].resources.requests.memory", "log", "memory", "64Mi", "128Mi"
        ),
        QOSBlocker(
            QOSProblem.LIMIT_MISSING, "spec.initContainers[0].resources.limits.cpu", "setup", "cpu", "10m", None
        ),
    )


def test_Q1_explanation_names_the_pod_level_field() -> None:
    pod = make_pod(resources={"requests": {"cpu": "1", "memory": "1Gi"}, "limits": {"cpu": "2"}})
    explanation = explain_qos(pod)
    assert [(blocker.field, blocker.container) for blocker in explanation.blockers] == [
        ("spec.resources.requests.cpu", ""),
        ("spec.resources.limits.memory", ""),
    ]
    assert explanation.changes_to_guaranteed == (
        FieldChange("spec.resources.requests.cpu", "1", "2"),
        FieldChange("spec.resources.limits.memory", None, "1Gi"),
    )


@pytest.mark.parametrize(
    ("pod", "changes"),
    [
        pytest.param(
            make_pod(requests=SMALL),
            [
                FieldChange("spec.containers[0].resources.limits.cpu", None, "100m"),
                FieldChange("spec.containers[0].resources.limits.memory", None, "100Mi"),
            ],
            id="requests without limits: limits equal to them",
        ),
        pytest.param(
            make_pod(requests={"cpu": "100m", "memory": "50Mi"}, limits=SMALL),
            [FieldChange("spec.containers[0].resources.requests.memory", "50Mi", "100Mi")],
            id="request below the limit: raised to it",
        ),
        pytest.param(
            make_pod(requests={"cpu": "0", "memory": "100Mi"}, limits=SMALL),
            [FieldChange("spec.containers[0].resources.requests.cpu", "0", "100m")],
            id="request of zero: raised to the limit",
        ),
        pytest.param(
            make_pod(requests={"cpu": "100m", "memory": "100Mi"}, limits={"cpu": "0", "memory": "100Mi"}),
            [FieldChange("spec.containers[0].resources.limits.cpu", "0", "100m")],
            id="limit of zero is none",
        ),
        pytest.param(
            make_pod(),
            [
                FieldChange("spec.containers[0].resources.limits.cpu", None, None),
                FieldChange("spec.containers[0].resources.limits.memory", None, None),
            ],
            id="nothing set: any limits",
        ),
        pytest.param(
            make_pod(containers=[_equal("a"), raw_container("b", requests={"cpu": "1"}, limits=SMALL)]),
            [
                FieldChange("spec.containers[1].resources.requests.cpu", "1", "100m"),
                FieldChange("spec.containers[1].resources.requests.memory", None, "100Mi"),
            ],
            id="only the container that differs",
        ),
    ],
)
def test_Q1_smallest_change_to_guaranteed(pod: Pod, changes: list[FieldChange]) -> None:
    assert list(explain_qos(pod).changes_to_guaranteed) == changes


@pytest.mark.parametrize(
    ("pod", "spoilers"),
    [
        pytest.param(
            make_pod(requests=SMALL, limits=SMALL, initContainers=[raw_sidecar("mesh", requests=SMALL)]),
            ("mesh",),
            id="injected sidecar",
        ),
        pytest.param(
            make_pod(requests=SMALL, limits=SMALL, initContainers=[raw_container("mesh-init")]),
            ("mesh-init",),
            id="injected init container without resources",
        ),
        pytest.param(
            make_pod(
                requests=SMALL,
                limits=SMALL,
                initContainers=[_equal("setup"), raw_sidecar("mesh"), raw_container("certs", limits=SMALL)],
            ),
            ("mesh", "certs"),
            id="all fields that prevent it, and no other",
        ),
        pytest.param(
            make_pod(requests=SMALL, limits=LARGE, initContainers=[raw_sidecar("mesh")]),
            (),
            id="without them it would be Burstable",
        ),
        pytest.param(make_pod(initContainers=[raw_sidecar("mesh", requests=SMALL)]), (), id="or BestEffort"),
        pytest.param(
            make_pod(containers=[_equal("a"), raw_container("b")], initContainers=[raw_sidecar("mesh")]),
            ("b", "mesh"),
            id="an app container prevents it too",
        ),
        pytest.param(
            make_pod(containers=[_equal("app"), raw_container("istio-proxy", requests=SMALL)]),
            ("istio-proxy",),
            id="a sidecar injected beside the app",
        ),
        pytest.param(
            make_pod(containers=[raw_container("app", requests=SMALL), _equal("exporter")]),
            (),
            id="the first container is the main one",
        ),
        pytest.param(
            make_pod(requests=SMALL, limits=SMALL, initContainers=[raw_sidecar("mesh")], resources={"requests": SMALL}),
            (),
            id="pod-level resources decide",
        ),
    ],
)
def test_Q1_fields_that_prevent_guaranteed(pod: Pod, spoilers: tuple[str, ...]) -> None:
    assert explain_qos(pod).spoiled_by == spoilers


@pytest.mark.parametrize(
    "pod",
    [
        pytest.param(make_pod(), id="nothing set"),
        pytest.param(make_pod(requests={"cpu": "1"}, limits={"cpu": "2"}), id="memory not set"),
        pytest.param(
            make_pod(requests={"cpu": "0", "memory": "1Gi"}, limits={"memory": "1Gi"}), id="request of zero, no limit"
        ),
        pytest.param(make_pod(limits=SMALL, initContainers=[raw_sidecar()]), id="sidecar without resources"),
        pytest.param(make_pod(resources={}), id="spec.resources is empty, containers ask nothing"),
        pytest.param(make_pod(requests=SMALL, resources={}), id="spec.resources is empty, containers ask something"),
        pytest.param(
            make_pod(requests={"cpu": "0"}, resources={}),
            id="spec.resources is empty, a container asks an explicit zero",
        ),
        pytest.param(
            make_pod(requests=SMALL, resources={"requests": {"cpu": "1"}}),
            id="spec.resources says nothing of memory, containers do",
        ),
    ],
)
def test_Q1_proposed_change_reaches_guaranteed(pod: Pod) -> None:
    stored = stored_pod(pod)
    assert compute_pod_qos(stored) is not GUARANTEED
    edited = stored_pod(
        with_changes(pod, explain_qos(stored).changes_to_guaranteed, chosen={"cpu": "4", "memory": "8Gi"})
    )
    assert compute_pod_qos(edited) is GUARANTEED


REJECTED = "Pod QOS Class may not change as a result of resizing"


@pytest.mark.parametrize(
    ("old", "new", "rejected"),
    [
        pytest.param(
            make_pod(requests=SMALL, limits=SMALL),
            make_pod(requests=LARGE, limits=LARGE),
            None,
            id="Pod QoS unchanged, guaranteed -> guaranteed",
        ),
        pytest.param(
            make_pod(requests={"cpu": "200m", "memory": "100Mi"}, limits={"cpu": "400m", "memory": "200Mi"}),
            make_pod(requests={"cpu": "100m", "memory": "200Mi"}, limits={"cpu": "200m", "memory": "400Mi"}),
            None,
            id="Pod QoS unchanged, burstable -> burstable",
        ),
        pytest.param(
            make_pod(requests=SMALL),
            make_pod(requests=SMALL, limits={"cpu": "200m"}),
            None,
            id="Pod QoS unchanged, burstable -> burstable, add limits",
        ),
        pytest.param(
            make_pod(limits={"cpu": "200m", "memory": "500Mi"}),
            make_pod(requests={"cpu": "300m"}, limits={"cpu": "400m", "memory": "500Mi"}),
            None,
            id="Pod QoS unchanged, burstable -> burstable, add requests",
        ),
        pytest.param(
            make_pod(requests=SMALL, limits=SMALL),
            make_pod(requests=SMALL, limits=LARGE),
            f'spec: Invalid value: "Guaranteed": {REJECTED}',
            id="Pod QoS change, guaranteed -> burstable",
        ),
        pytest.param(
            make_pod(requests=SMALL),
            make_pod(requests=SMALL, limits=SMALL),
            f'spec: Invalid value: "Burstable": {REJECTED}',
            id="Pod QoS change, burstable -> guaranteed",
        ),
        pytest.param(
            make_pod(),
            make_pod(requests=SMALL, limits=LARGE),
            f'spec: Invalid value: "BestEffort": {REJECTED}',
            id="Pod QoS change, besteffort -> burstable",
        ),
        pytest.param(
            make_pod(requests=SMALL, limits=LARGE),
            make_pod(),
            f'spec: Invalid value: "Burstable": {REJECTED}',
            id="Pod QoS change, burstable -> besteffort",
        ),
        pytest.param(
            make_pod(requests=SMALL, status={"qosClass": "Guaranteed"}),
            make_pod(requests=SMALL),
            f'spec: Invalid value: "Guaranteed": {REJECTED}',
            id="the stored class counts, not what the old resources give",
        ),
    ],
)
def test_Q1_resize_may_not_change_the_class(old: Pod, new: Pod, rejected: str | None) -> None:
    assert resize_rejection(old, new) == rejected


def test_Q1_pod_level_resize_may_not_change_class() -> None:
    old = make_pod(resources={"requests": SMALL, "limits": SMALL})
    new = make_pod(resources={"requests": SMALL, "limits": LARGE})
    assert resize_rejection(old, new) == f'spec: Invalid value: "Guaranteed": {REJECTED}'
    assert resize_rejection(old, new, features=NO_POD_LEVEL) is None
