"""If the API server's own Priority plugin is off, the webhook resolves classes and refuses unknown ones."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.controlplane.binaries import Binaries
from tests.controlplane.client import ApiError, Object
from tests.controlplane.control_plane import ControlPlane
from tests.controlplane.processes import stop_all
from tests.objects import raw_pod, raw_priority_class
from tests.waiting import wait_for
from tests.webhook.balancer import Balancer
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
def installed(control_plane: ControlPlane, helm: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """The chart and a replica that is called."""
    installation = Installation(control_plane, helm, tmp_path_factory.mktemp("helm"), namespace=RELEASE_NAMESPACE)
    with Balancer() as balancer:
        installation.install(chart_values(balancer.port, ZONE))
        replica = installation.start_replica()
        balancer.add(replica.port)
        try:
            wait_for(lambda: _is_called(control_plane), "the webhook is called")
            yield
        finally:
            stop_all([replica.process], timeout=2)


def _pod(name: str, **spec: Any) -> Object:
    return raw_pod(name, NAMESPACE, **spec)


def _is_called(control_plane: ControlPlane) -> bool:
    """Both kinds of webhooks: one fills in the priority, the other warns of the grace."""
    made = _dry_run(control_plane, _pod("probe", terminationGracePeriodSeconds=0))
    warned = any("terminationGracePeriodSeconds: 0" in text for text in control_plane.api.warnings)
    return "priority" in made["spec"] and warned


def _dry_run(control_plane: ControlPlane, pod: Object) -> Object:
    path = control_plane.api.path("v1", "Pod", NAMESPACE)
    return control_plane.api.request("POST", path, pod, query={"dryRun": "All"})


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
    control_plane: ControlPlane, given: Object, expected: tuple[str, int, str]
) -> None:
    spec = _dry_run(control_plane, _pod("web", **given))["spec"]
    assert (spec["priorityClassName"], spec["priority"], spec["preemptionPolicy"]) == expected


def test_P1_unknown_class_is_refused_with_near_names(control_plane: ControlPlane) -> None:
    pod = json.dumps(_pod("web", priorityClassName="shop-hihg"))
    done = control_plane.kubectl("create", "-f", "-", input=pod, check=False)
    assert done.returncode == 1
    assert (
        'admission webhook "pods.validate.kubectl-qos.io" denied the request: '
        'pods "web" is forbidden: no PriorityClass with name shop-hihg was found; did you mean shop-high?'
    ) in done.stderr


def test_P1_priority_that_differs_from_the_class_is_refused(control_plane: ControlPlane) -> None:
    with pytest.raises(ApiError, match=r"the integer value of priority \(7\) must not be provided in pod spec"):
        _dry_run(control_plane, _pod("web", priorityClassName="shop-high", priority=7))


def test_P1_new_class_is_resolved_and_not_refused(control_plane: ControlPlane) -> None:
    # The cache may or may not have it yet: in both cases the pod gets its priority.
    for number in range(1, 21):
        control_plane.api.apply([raw_priority_class(f"new-{number}", number)])
        assert _dry_run(control_plane, _pod("web", priorityClassName=f"new-{number}"))["spec"]["priority"] == number
