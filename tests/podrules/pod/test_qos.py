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
from tests.table import table

GUARANTEED, BURSTABLE, BEST_EFFORT = PodQOSClass.GUARANTEED, PodQOSClass.BURSTABLE, PodQOSClass.BEST_EFFORT
NO_POD_LEVEL = Features.of_minor(33)
SMALL = {"cpu": "100m", "memory": "100Mi"}
LARGE = {"cpu": "200m", "memory": "200Mi"}
MORE = {"cpu": "300m", "memory": "300Mi"}


def _equal(name: str = "app", amounts: Mapping[str, str] | None = None) -> Object:
    return raw_container(name, requests=amounts or SMALL, limits=amounts or SMALL)


def _pod_of(*containers: Object) -> Pod:
    return make_pod(containers=containers)


@table(
    "pod, expected",
    {
        "guaranteed": (_pod_of(_equal()), GUARANTEED),
        "guaranteed-guaranteed": (_pod_of(_equal("a"), _equal("b")), GUARANTEED),
        "best-effort-best-effort": (_pod_of(raw_container("a"), raw_container("b")), BEST_EFFORT),
        "best-effort": (make_pod(), BEST_EFFORT),
        "best-effort-burstable": (
            _pod_of(raw_container("a"), raw_container("b", requests={"cpu": "1"}, limits={"cpu": "2"})),
            BURSTABLE,
        ),
        "best-effort-guaranteed": (
            _pod_of(raw_container("a"), _equal("b", {"cpu": "10m", "memory": "100Mi"})),
            BURSTABLE,
        ),
        "burstable-cpu-guaranteed-memory": (
            make_pod(requests={"memory": "100Mi"}, limits={"memory": "100Mi"}),
            BURSTABLE,
        ),
        "burstable-no-limits": (make_pod(requests=SMALL), BURSTABLE),
        "burstable-guaranteed": (
            _pod_of(
                raw_container("a", requests={"cpu": "1", "memory": "100Mi"}, limits={"cpu": "2", "memory": "100Mi"}),
                _equal("b"),
            ),
            BURSTABLE,
        ),
        "burstable-unbounded-but-requests-match-limits": (
            _pod_of(raw_container("a", requests=SMALL, limits=LARGE), raw_container("b", requests=SMALL)),
            BURSTABLE,
        ),
        "burstable-1": (
            make_pod(requests={"cpu": "10m", "memory": "100Mi"}, limits={"cpu": "100m", "memory": "200Mi"}),
            BURSTABLE,
        ),
        "burstable-2": (
            make_pod(requests={"cpu": "0", "memory": "0"}, limits={"cpu": "100m", "memory": "200Mi"}),
            BURSTABLE,
        ),
        "best-effort-hugepages": (
            make_pod(
                requests={"cpu": "0", "memory": "0", "hugepages-2Mi": "1Gi"},
                limits={"cpu": "0", "memory": "0", "hugepages-2Mi": "1Gi"},
            ),
            BEST_EFFORT,
        ),
        "init-container": (
            make_pod(
                initContainers=[
                    raw_container(
                        "init", requests={"cpu": "10m", "memory": "100Mi"}, limits={"cpu": "100m", "memory": "200Mi"}
                    )
                ]
            ),
            BURSTABLE,
        ),
        "other resources alone": (
            make_pod(requests={"ephemeral-storage": "1Gi"}, limits={"ephemeral-storage": "1Gi"}),
            BEST_EFFORT,
        ),
        "the same amount written differently": (
            make_pod(requests={"cpu": "1000m", "memory": "1Gi"}, limits={"cpu": "1", "memory": "1024Mi"}),
            GUARANTEED,
        ),
        "limits alone, before defaulting": (make_pod(limits=SMALL), BURSTABLE),
        "two containers below their limits by the same amount": (
            _pod_of(raw_container("a", requests=SMALL, limits=LARGE), raw_container("b", requests=LARGE, limits=MORE)),
            BURSTABLE,
        ),
    },
)
def test_Q1_class_of_container_resources(pod: Pod, expected: PodQOSClass) -> None:
    assert compute_pod_qos(pod) is expected


TEN = {"cpu": "10m", "memory": "100Mi"}


@table(
    "containers, requests, limits, expected, by_containers",
    {
        "guaranteed-with-pod-level-resources": ([raw_container()], TEN, TEN, GUARANTEED, BEST_EFFORT),
        "guaranteed-with-pod-and-container-level-resources": (
            [raw_container(requests={"cpu": "3m", "memory": "10Mi"}, limits={"cpu": "5m", "memory": "20Mi"})],
            TEN,
            TEN,
            GUARANTEED,
            BURSTABLE,
        ),
        "burstable-with-pod-level-resources": (
            [raw_container()],
            {"cpu": "10m", "memory": "10Mi"},
            {"cpu": "20m", "memory": "50Mi"},
            BURSTABLE,
            BEST_EFFORT,
        ),
        "burstable-with-pod-and-container-level-resources": (
            [_equal(amounts={"cpu": "5m", "memory": "10Mi"})],
            {"cpu": "10m", "memory": "10Mi"},
            {"cpu": "20m", "memory": "50Mi"},
            BURSTABLE,
            GUARANTEED,
        ),
        "burstable-with-pod-and-container-level-requests": (
            [raw_container(requests={"cpu": "5m", "memory": "10Mi"})],
            {"cpu": "10m", "memory": "10Mi"},
            {},
            BURSTABLE,
            BURSTABLE,
        ),
        "burstable-with-pod-and-container-level-resources-2": (
            [
                raw_container("burstable", requests={"cpu": "5m", "memory": "10Mi"}),
                _equal("guaranteed", {"cpu": "5m", "memory": "10Mi"}),
            ],
            {"cpu": "10m", "memory": "10Mi"},
            {"cpu": "5m"},
            BURSTABLE,
            BURSTABLE,
        ),
        "one resource alone": ([_equal()], {"cpu": "1"}, {"cpu": "1"}, BURSTABLE, GUARANTEED),
        "set to zero": ([raw_container(requests=SMALL)], {"cpu": "0"}, {"cpu": "0"}, BEST_EFFORT, BURSTABLE),
    },
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


@table(
    "manifest, as_written, as_stored",
    {
        "limits alone": (make_pod(limits=SMALL), BURSTABLE, GUARANTEED),
        "one request missing": (make_pod(requests={"cpu": "100m"}, limits=SMALL), BURSTABLE, GUARANTEED),
        "pod-level limits alone": (make_pod(resources={"limits": SMALL}), BURSTABLE, GUARANTEED),
        "pod-level limits, requests from the containers": (
            make_pod(requests={"cpu": "50m"}, resources={"limits": SMALL}),
            BURSTABLE,
            BURSTABLE,
        ),
        "amounts that rounding to thousandths makes equal": (
            make_pod(requests={"cpu": "1", "memory": "100.0001"}, limits={"cpu": "1", "memory": "100.0005"}),
            BURSTABLE,
            GUARANTEED,
        ),
        "a trace is rounded up, not away": (make_pod(requests={"cpu": "0.01m"}), BURSTABLE, BURSTABLE),
    },
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


@table(
    "pod, changes",
    {
        "requests without limits: limits equal to them": (
            make_pod(requests=SMALL),
            [
                FieldChange("spec.containers[0].resources.limits.cpu", None, "100m"),
                FieldChange("spec.containers[0].resources.limits.memory", None, "100Mi"),
            ],
        ),
        "request below the limit: raised to it": (
            make_pod(requests={"cpu": "100m", "memory": "50Mi"}, limits=SMALL),
            [FieldChange("spec.containers[0].resources.requests.memory", "50Mi", "100Mi")],
        ),
        "request of zero: raised to the limit": (
            make_pod(requests={"cpu": "0", "memory": "100Mi"}, limits=SMALL),
            [FieldChange("spec.containers[0].resources.requests.cpu", "0", "100m")],
        ),
        "limit of zero is none": (
            make_pod(requests={"cpu": "100m", "memory": "100Mi"}, limits={"cpu": "0", "memory": "100Mi"}),
            [FieldChange("spec.containers[0].resources.limits.cpu", "0", "100m")],
        ),
        "nothing set: any limits": (
            make_pod(),
            [
                FieldChange("spec.containers[0].resources.limits.cpu", None, None),
                FieldChange("spec.containers[0].resources.limits.memory", None, None),
            ],
        ),
        "only the container that differs": (
            make_pod(containers=[_equal("a"), raw_container("b", requests={"cpu": "1"}, limits=SMALL)]),
            [
                FieldChange("spec.containers[1].resources.requests.cpu", "1", "100m"),
                FieldChange("spec.containers[1].resources.requests.memory", None, "100Mi"),
            ],
        ),
    },
)
def test_Q1_smallest_change_to_guaranteed(pod: Pod, changes: list[FieldChange]) -> None:
    assert list(explain_qos(pod).changes_to_guaranteed) == changes


@table(
    "pod, spoilers",
    {
        "injected sidecar": (
            make_pod(requests=SMALL, limits=SMALL, initContainers=[raw_sidecar("mesh", requests=SMALL)]),
            ("mesh",),
        ),
        "injected init container without resources": (
            make_pod(requests=SMALL, limits=SMALL, initContainers=[raw_container("mesh-init")]),
            ("mesh-init",),
        ),
        "all fields that prevent it, and no other": (
            make_pod(
                requests=SMALL,
                limits=SMALL,
                initContainers=[_equal("setup"), raw_sidecar("mesh"), raw_container("certs", limits=SMALL)],
            ),
            ("mesh", "certs"),
        ),
        "without them it would be Burstable": (
            make_pod(requests=SMALL, limits=LARGE, initContainers=[raw_sidecar("mesh")]),
            (),
        ),
        "or BestEffort": (make_pod(initContainers=[raw_sidecar("mesh", requests=SMALL)]), ()),
        "an app container prevents it too": (
            make_pod(containers=[_equal("a"), raw_container("b")], initContainers=[raw_sidecar("mesh")]),
            ("b", "mesh"),
        ),
        "a sidecar injected beside the app": (
            make_pod(containers=[_equal("app"), raw_container("istio-proxy", requests=SMALL)]),
            ("istio-proxy",),
        ),
        "the first container is the main one": (
            make_pod(containers=[raw_container("app", requests=SMALL), _equal("exporter")]),
            (),
        ),
        "pod-level resources decide": (
            make_pod(requests=SMALL, limits=SMALL, initContainers=[raw_sidecar("mesh")], resources={"requests": SMALL}),
            (),
        ),
    },
)
def test_Q1_fields_that_prevent_guaranteed(pod: Pod, spoilers: tuple[str, ...]) -> None:
    assert explain_qos(pod).spoiled_by == spoilers


@table(
    "pod",
    {
        "nothing set": make_pod(),
        "memory not set": make_pod(requests={"cpu": "1"}, limits={"cpu": "2"}),
        "request of zero, no limit": make_pod(requests={"cpu": "0", "memory": "1Gi"}, limits={"memory": "1Gi"}),
        "sidecar without resources": make_pod(limits=SMALL, initContainers=[raw_sidecar()]),
        "spec.resources is empty, containers ask nothing": make_pod(resources={}),
        "spec.resources is empty, containers ask something": make_pod(requests=SMALL, resources={}),
        "spec.resources is empty, a container asks an explicit zero": make_pod(requests={"cpu": "0"}, resources={}),
        "spec.resources says nothing of memory, containers do": make_pod(
            requests=SMALL, resources={"requests": {"cpu": "1"}}
        ),
    },
)
def test_Q1_proposed_change_reaches_guaranteed(pod: Pod) -> None:
    stored = stored_pod(pod)
    assert compute_pod_qos(stored) is not GUARANTEED
    edited = stored_pod(
        with_changes(pod, explain_qos(stored).changes_to_guaranteed, chosen={"cpu": "4", "memory": "8Gi"})
    )
    assert compute_pod_qos(edited) is GUARANTEED


REJECTED = "Pod QOS Class may not change as a result of resizing"


@table(
    "old, new, rejected",
    {
        "Pod QoS unchanged, guaranteed -> guaranteed": (
            make_pod(requests=SMALL, limits=SMALL),
            make_pod(requests=LARGE, limits=LARGE),
            None,
        ),
        "Pod QoS unchanged, burstable -> burstable": (
            make_pod(requests={"cpu": "200m", "memory": "100Mi"}, limits={"cpu": "400m", "memory": "200Mi"}),
            make_pod(requests={"cpu": "100m", "memory": "200Mi"}, limits={"cpu": "200m", "memory": "400Mi"}),
            None,
        ),
        "Pod QoS unchanged, burstable -> burstable, add limits": (
            make_pod(requests=SMALL),
            make_pod(requests=SMALL, limits={"cpu": "200m"}),
            None,
        ),
        "Pod QoS unchanged, burstable -> burstable, add requests": (
            make_pod(limits={"cpu": "200m", "memory": "500Mi"}),
            make_pod(requests={"cpu": "300m"}, limits={"cpu": "400m", "memory": "500Mi"}),
            None,
        ),
        "Pod QoS change, guaranteed -> burstable": (
            make_pod(requests=SMALL, limits=SMALL),
            make_pod(requests=SMALL, limits=LARGE),
            f'spec: Invalid value: "Guaranteed": {REJECTED}',
        ),
        "Pod QoS change, burstable -> guaranteed": (
            make_pod(requests=SMALL),
            make_pod(requests=SMALL, limits=SMALL),
            f'spec: Invalid value: "Burstable": {REJECTED}',
        ),
        "Pod QoS change, besteffort -> burstable": (
            make_pod(),
            make_pod(requests=SMALL, limits=LARGE),
            f'spec: Invalid value: "BestEffort": {REJECTED}',
        ),
        "Pod QoS change, burstable -> besteffort": (
            make_pod(requests=SMALL, limits=LARGE),
            make_pod(),
            f'spec: Invalid value: "Burstable": {REJECTED}',
        ),
        "the stored class counts, not what the old resources give": (
            make_pod(requests=SMALL, status={"qosClass": "Guaranteed"}),
            make_pod(requests=SMALL),
            f'spec: Invalid value: "Guaranteed": {REJECTED}',
        ),
    },
)
def test_Q1_resize_may_not_change_the_class(old: Pod, new: Pod, rejected: str | None) -> None:
    assert resize_rejection(old, new) == rejected


def test_Q1_pod_level_resize_may_not_change_class() -> None:
    old = make_pod(resources={"requests": SMALL, "limits": SMALL})
    new = make_pod(resources={"requests": SMALL, "limits": LARGE})
    assert resize_rejection(old, new) == f'spec: Invalid value: "Guaranteed": {REJECTED}'
    assert resize_rejection(old, new, features=NO_POD_LEVEL) is None
