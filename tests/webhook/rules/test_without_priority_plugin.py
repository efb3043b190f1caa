"""If the API server's own Priority plugin is off, the webhook resolves classes and refuses unknown ones."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from tests.controlplane.binaries import Binaries
from tests.controlplane.client import ApiError, Object
from tests.controlplane.control_plane import ControlPlane
from tests.objects import raw_priority_class
from tests.webhook.asking import Asked, make_pod, priority_of, released
from tests.webhook.installation import ZONE, Installation, chart_values

pytestmark = pytest.mark.controlplane

NAMESPACE = "shop"
RELEASE_NAMESPACE = "qos-system"


@pytest.fixture(scope="module")
def control_plane(control_plane_binaries: Binaries) -> Iterator[ControlPlane]:
    """Without the plugin; with two classes and a default."""
    arguments = ["--disable-admission-plugins=Priority"]
    with ControlPlane(control_plane_binaries, scheduler=False, controllers=False, apiserver_args=arguments) as running:
        for namespace in (NAMESPACE, RELEASE_NAMESPACE):
            running.create_namespace(namespace)
        classes = (
            raw_priority_class("shop-high", 1000, preemptionPolicy="Never"),
            raw_priority_class("shop-low", 10),
            raw_priority_class("shop-default", 100, globalDefault=True),
        )
        # No plugin needs to learn of them.
        running.api.apply(classes)
        yield running


@pytest.fixture(scope="module", autouse=True)
def asked(control_plane: ControlPlane, helm: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Asked]:
    """The chart and a replica that is called."""
    installation = Installation(control_plane, helm, tmp_path_factory.mktemp("helm"), namespace=RELEASE_NAMESPACE)
    asked, probe = Asked(control_plane, NAMESPACE), make_pod(NAMESPACE, "probe")
    is_called = partial(asked.answers, probe, lambda spec: "priority" in spec)
    with released(installation, lambda port: chart_values(port, ZONE), is_called):
        yield asked


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        pytest.param({"priorityClassName": "shop-high"}, ("shop-high", 1000, "Never"), id="class alone"),
        pytest.param({}, ("shop-default", 100, "PreemptLowerPriority"), id="no class: the global default"),
        pytest.param(
            {"priorityClassName": "shop-high", "priority": 1000},
            ("shop-high", 1000, "Never"),
            id="class and its priority",
        ),
    ],
)
def test_P1_class_priority_and_policy_are_stored_together(
    asked: Asked, given: Object, expected: tuple[str, int, str]
) -> None:
    assert priority_of(asked.tried(make_pod(NAMESPACE, **given))["spec"]) == expected


def test_P1_unknown_class_is_refused_with_near_names(asked: Asked) -> None:
    said = asked.create(make_pod(NAMESPACE, priorityClassName="shop-hihg"), check=False)
    assert (
        'admission webhook "pods.validate.kubectl-qos.io" denied the request: '
        'pods "web" is forbidden: no PriorityClass with name shop-hihg was found; did you mean shop-high?'
    ) in said


def test_P1_priority_that_differs_from_the_class_is_refused(asked: Asked) -> None:
    with pytest.raises(ApiError, match=r"the integer value of priority \(7\) must not be provided in pod spec"):
        asked.tried(make_pod(NAMESPACE, priorityClassName="shop-high", priority=7))


def test_P1_new_class_is_resolved_and_not_refused(asked: Asked) -> None:
    # The cache may or may not have it yet: in both cases the pod gets its priority.
    for number in range(1, 21):
        asked.control_plane.api.apply([raw_priority_class(f"new-{number}", number)])
        assert asked.tried(make_pod(NAMESPACE, priorityClassName=f"new-{number}"))["spec"]["priority"] == number
