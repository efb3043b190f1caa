"""QoS class: the deciding fields, the changes to Guaranteed, and the limits of a resize."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

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


FIVE, TEN = {"cpu": "5m", "memory": "10Mi"}, {"cpu": "10m", "memory": "100Mi"}
HUGE = {"cpu": "0", "memory": "0", "hugepages-2Mi": "1Gi"}
EQUAL, BELOW = make_pod(requests=SMALL, limits=SMALL), make_pod(requests=SMALL, limits=LARGE)
ASKING, EMPTY = make_pod(requests=SMALL), make_pod()


def _equal(name: str = "app", amounts: Mapping[str, str] = SMALL) -> Object:
    return raw_container(name, amounts, amounts)


def _pod_of(*containers: Object) -> Pod:
    return make_pod(containers=containers)


def _with_init(*containers: Object, limits: Mapping[str, str] = SMALL, **more: Any) -> Pod:
    """An app container with these limits, and init containers."""
    return make_pod(requests=SMALL, limits=limits, initContainers=containers, **more)


@table(
    "pod, expected",
    {
        "guaranteed": (_pod_of(_equal()), GUARANTEED),
        "guaranteed-guaranteed": (_pod_of(_equal("a"), _equal("b")), GUARANTEED),
        "best-effort-best-effort": (_pod_of(raw_container("a"), raw_container("b")), BEST_EFFORT),
        "best-effort": (EMPTY, BEST_EFFORT),
        "best-effort-burstable": (
            _pod_of(raw_container("a"), raw_container("b", {"cpu": "1"}, {"cpu": "2"})),
            BURSTABLE,
        ),
        "best-effort-guaranteed": (_pod_of(raw_container("a"), _equal("b", TEN)), BURSTABLE),
        "burstable-cpu-guaranteed-memory": (_pod_of(_equal("a", {"memory": "100Mi"})), BURSTABLE),
        "burstable-no-limits": (ASKING, BURSTABLE),
        "burstable-guaranteed": (
            _pod_of(raw_container("a", {"cpu": "1", "memory": "100Mi"}, {"cpu": "2", "memory": "100Mi"}), _equal("b")),
            BURSTABLE,
        ),
        "burstable-unbounded-but-requests-match-limits": (
            _pod_of(raw_container("a", SMALL, LARGE), raw_container("b", SMALL)),
            BURSTABLE,
        ),
        "burstable-1": (make_pod(requests=TEN, limits={"cpu": "100m", "memory": "200Mi"}), BURSTABLE),
        "burstable-2": (make_pod(requests={"cpu": "0", "memory": "0"}, limits=LARGE), BURSTABLE),
        "best-effort-hugepages": (make_pod(requests=HUGE, limits=HUGE), BEST_EFFORT),
        "init-container": (
            make_pod(initContainers=[raw_container("init", TEN, {"cpu": "100m", "memory": "200Mi"})]),
            BURSTABLE,
        ),
        "other resources alone": (_pod_of(_equal("a", {"ephemeral-storage": "1Gi"})), BEST_EFFORT),
        "the same amount written differently": (
            make_pod(requests={"cpu": "1000m", "memory": "1Gi"}, limits={"cpu": "1", "memory": "1024Mi"}),
            GUARANTEED,
        ),
        "limits alone, before defaulting": (make_pod(limits=SMALL), BURSTABLE),
        "two containers below their limits by the same amount": (
            _pod_of(raw_container("a", SMALL, LARGE), raw_container("b", LARGE, MORE)),
            BURSTABLE,
        ),
    },
)
def test_Q1_class_of_container_resources(pod: Pod, expected: PodQOSClass) -> None:
    assert compute_pod_qos(pod) is expected


ONE_TENTH = {"cpu": "10m", "memory": "10Mi"}
TWICE = {"cpu": "20m", "memory": "50Mi"}
TWO = [raw_container("burstable", FIVE), _equal("guaranteed", FIVE)]
PART = [raw_container("app", {"cpu": "3m", "memory": "10Mi"}, {"cpu": "5m", "memory": "20Mi"})]


@table(
    "containers, requests, limits, classes",
    {
        "guaranteed-with-pod-level-resources": ([raw_container()], TEN, TEN, (GUARANTEED, BEST_EFFORT)),
        "guaranteed-with-pod-and-container-level-resources": (PART, TEN, TEN, (GUARANTEED, BURSTABLE)),
        "burstable-with-pod-level-resources": ([raw_container()], ONE_TENTH, TWICE, (BURSTABLE, BEST_EFFORT)),
        "burstable-with-pod-and-container-level-resources": (
            [_equal(amounts=FIVE)],
            ONE_TENTH,
            TWICE,
            (BURSTABLE, GUARANTEED),
        ),
        "burstable-with-pod-and-container-level-requests": (
            [raw_container("app", FIVE)],
            ONE_TENTH,
            {},
            (BURSTABLE, BURSTABLE),
        ),
        "burstable-with-pod-and-container-level-resources-2": (TWO, ONE_TENTH, {"cpu": "5m"}, (BURSTABLE, BURSTABLE)),
        "one resource alone": ([_equal()], {"cpu": "1"}, {"cpu": "1"}, (BURSTABLE, GUARANTEED)),
        "set to zero": ([raw_container("app", SMALL)], {"cpu": "0"}, {"cpu": "0"}, (BEST_EFFORT, BURSTABLE)),
    },
)
def test_Q1_pod_level_resources_decide_alone(
    containers: Sequence[Object],
    requests: Mapping[str, str],
    limits: Mapping[str, str],
    classes: tuple[PodQOSClass, PodQOSClass],
) -> None:
    pod = make_pod(containers=containers, resources={"requests": requests, "limits": limits})
    assert (compute_pod_qos(pod), compute_pod_qos(pod, features=NO_POD_LEVEL)) == classes
    assert explain_qos(pod).decided_by == "spec.resources"
    # Before 1.34 the field is ignored.
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
    explanation = explain_qos(EQUAL)
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


def _change(field: str, before: str | None, after: str | None) -> FieldChange:
    return FieldChange("spec." + field.replace("].", "].resources."), before, after)


@table(
    "pod, changes",
    {
        "requests without limits: limits equal to them": (
            ASKING,
            [_change("containers[0].limits.cpu", None, "100m"), _change("containers[0].limits.memory", None, "100Mi")],
        ),
        "request below the limit: raised to it": (
            make_pod(requests={"cpu": "100m", "memory": "50Mi"}, limits=SMALL),
            [_change("containers[0].requests.memory", "50Mi", "100Mi")],
        ),
        "request of zero: raised to the limit": (
            make_pod(requests={"cpu": "0", "memory": "100Mi"}, limits=SMALL),
            [_change("containers[0].requests.cpu", "0", "100m")],
        ),
        "limit of zero is none": (
            make_pod(requests=SMALL, limits={"cpu": "0", "memory": "100Mi"}),
            [_change("containers[0].limits.cpu", "0", "100m")],
        ),
        "nothing set: any limits": (
            EMPTY,
            [_change("containers[0].limits.cpu", None, None), _change("containers[0].limits.memory", None, None)],
        ),
        "only the container that differs": (
            _pod_of(_equal("a"), raw_container("b", {"cpu": "1"}, SMALL)),
            [
                _change("containers[1].requests.cpu", "1", "100m"),
                _change("containers[1].requests.memory", None, "100Mi"),
            ],
        ),
    },
)
def test_Q1_smallest_change_to_guaranteed(pod: Pod, changes: list[FieldChange]) -> None:
    assert list(explain_qos(pod).changes_to_guaranteed) == changes


@table(
    "pod, spoilers",
    {
        "injected sidecar": (_with_init(raw_sidecar("mesh", requests=SMALL)), ("mesh",)),
        "injected init container without resources": (_with_init(raw_container("mesh-init")), ("mesh-init",)),
        "all fields that prevent it, and no other": (
            _with_init(_equal("setup"), raw_sidecar("mesh"), raw_container("certs", limits=SMALL)),
            ("mesh", "certs"),
        ),
        "without them it would be Burstable": (_with_init(raw_sidecar("mesh"), limits=LARGE), ()),
        "or BestEffort": (make_pod(initContainers=[raw_sidecar("mesh", requests=SMALL)]), ()),
        "an app container prevents it too": (
            make_pod(containers=[_equal("a"), raw_container("b")], initContainers=[raw_sidecar("mesh")]),
            ("b", "mesh"),
        ),
        "a sidecar injected beside the app": (
            _pod_of(_equal("app"), raw_container("istio-proxy", SMALL)),
            ("istio-proxy",),
        ),
        "the first container is the main one": (_pod_of(raw_container("app", SMALL), _equal("exporter")), ()),
        "pod-level resources decide": (_with_init(raw_sidecar("mesh"), resources={"requests": SMALL}), ()),
    },
)
def test_Q1_fields_that_prevent_guaranteed(pod: Pod, spoilers: tuple[str, ...]) -> None:
    assert explain_qos(pod).spoiled_by == spoilers


ONE_CPU = {"requests": {"cpu": "1"}}


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
        "spec.resources says nothing of memory, containers do": make_pod(requests=SMALL, resources=ONE_CPU),
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
        "Pod QoS unchanged, guaranteed -> guaranteed": (EQUAL, make_pod(requests=LARGE, limits=LARGE), ""),
        "Pod QoS unchanged, burstable -> burstable": (
            make_pod(requests={"cpu": "200m", "memory": "100Mi"}, limits={"cpu": "400m", "memory": "200Mi"}),
            make_pod(requests={"cpu": "100m", "memory": "200Mi"}, limits={"cpu": "200m", "memory": "400Mi"}),
            "",
        ),
        "Pod QoS unchanged, burstable -> burstable, add limits": (
            ASKING,
            make_pod(requests=SMALL, limits={"cpu": "200m"}),
            "",
        ),
        "Pod QoS unchanged, burstable -> burstable, add requests": (
            make_pod(limits={"cpu": "200m", "memory": "500Mi"}),
            make_pod(requests={"cpu": "300m"}, limits={"cpu": "400m", "memory": "500Mi"}),
            "",
        ),
        "Pod QoS change, guaranteed -> burstable": (EQUAL, BELOW, "Guaranteed"),
        "Pod QoS change, burstable -> guaranteed": (ASKING, EQUAL, "Burstable"),
        "Pod QoS change, besteffort -> burstable": (EMPTY, BELOW, "BestEffort"),
        "Pod QoS change, burstable -> besteffort": (BELOW, EMPTY, "Burstable"),
        "the stored class counts, not what the old resources give": (
            make_pod(requests=SMALL, status={"qosClass": "Guaranteed"}),
            ASKING,
            "Guaranteed",
        ),
    },
)
def test_Q1_resize_may_not_change_the_class(old: Pod, new: Pod, rejected: str) -> None:
    assert resize_rejection(old, new) == (f'spec: Invalid value: "{rejected}": {REJECTED}' if rejected else None)


def test_Q1_pod_level_resize_may_not_change_class() -> None:
    old = make_pod(resources={"requests": SMALL, "limits": SMALL})
    new = make_pod(resources={"requests": SMALL, "limits": LARGE})
    assert resize_rejection(old, new) == f'spec: Invalid value: "Guaranteed": {REJECTED}'
    assert resize_rejection(old, new, features=NO_POD_LEVEL) is None
