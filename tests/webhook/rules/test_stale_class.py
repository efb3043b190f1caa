"""A namespace's default class that is changed or deleted while the watch of PriorityClasses is silently cut off."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest
import yaml

from tests.controlplane.client import ApiError, Object
from tests.controlplane.control_plane import ControlPlane
from tests.objects import raw_priority_class
from tests.waiting import wait_for
from tests.webhook.asked_by_url import Files, ask_for_pods_in
from tests.webhook.asking import make_pod, priority_of
from tests.webhook.balancer import Balancer
from tests.webhook.demo_server import DemoServer, running_demo

pytestmark = pytest.mark.controlplane

NAMESPACE = "stale-class"
ELSEWHERE = "default"
"""A namespace without the webhook."""
CLASS = "stale-team"


@pytest.fixture(scope="module")
def way(control_plane: ControlPlane) -> Iterator[Balancer]:
    """A proxy between the webhook and its API server."""
    with Balancer(blind=True) as balancer:
        balancer.add(int(control_plane.server.rpartition(":")[2]))
        yield balancer


@pytest.fixture(scope="module")
def server(
    control_plane: ControlPlane, way: Balancer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[DemoServer]:
    """A webhook that gives pods of the namespace the class."""
    folder = tmp_path_factory.mktemp("stale")
    files = Files(folder)
    certificate, key = files.credential("server", files.authority.server(()))
    config = yaml.safe_load(control_plane.admin_kubeconfig.read_text())
    config["clusters"][0]["cluster"]["server"] = f"https://127.0.0.1:{way.port}"
    kubeconfig = folder / "kubeconfig"
    kubeconfig.write_text(yaml.safe_dump(config))
    flags = (f"--tls-cert={certificate}", f"--tls-key={key}", f"--kubeconfig={kubeconfig}")
    control_plane.api.apply([raw_priority_class(CLASS, 10)])
    with (
        running_demo(folder, *flags, demo=False, priorityClasses={"defaults": {NAMESPACE: CLASS}}) as running,
        # Ends before the webhook does, which would wait for the API server to close its connection.
        Balancer(blind=True) as front,
    ):
        front.add(running.port)
        configuration = ask_for_pods_in(NAMESPACE, control_plane, files, front.port, timeout=6)
        wait_for(lambda: given(control_plane) == (CLASS, 10, "PreemptLowerPriority"), "the class is given")
        yield running
        control_plane.api.delete(configuration)
    for left in control_plane.api.list_items("scheduling.k8s.io/v1", "PriorityClass"):
        if left["metadata"]["name"] == CLASS:
            control_plane.api.delete({**left, "apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass"})


def _dry_run(control_plane: ControlPlane, pod: Object) -> tuple[str | None, int, str] | str:
    """Class, priority and policy of a pod as it would be stored, or why it is refused."""
    path = control_plane.api.path("v1", "Pod", pod["metadata"]["namespace"])
    try:
        return priority_of(control_plane.api.request("POST", path, pod, query={"dryRun": "All"})["spec"])
    except ApiError as error:
        return error.message


def given(control_plane: ControlPlane) -> tuple[str | None, int, str] | str:
    """The same for a pod that names no class."""
    return _dry_run(control_plane, make_pod(NAMESPACE))


def resolved(control_plane: ControlPlane) -> tuple[str | None, int, str] | str:
    """The API server's own plugin resolves the class so."""
    return _dry_run(control_plane, make_pod(ELSEWHERE, priorityClassName=CLASS))


def test_removed_or_changed_fields_are_not_patched_in(
    control_plane: ControlPlane, server: DemoServer, way: Balancer
) -> None:
    assert server.metric("qos_webhook_ready") == 1
    way.mute()
    control_plane.api.delete(raw_priority_class(CLASS, 10))
    other = raw_priority_class(CLASS, 20, preemptionPolicy="Never")
    control_plane.api.create(other)
    wait_for(lambda: resolved(control_plane) == (CLASS, 20, "Never"), "the plugin knows the other class")
    # The cache does not, and will not for minutes.
    assert given(control_plane) == (CLASS, 20, "Never")
    control_plane.api.delete(other)
    wait_for(lambda: f"no PriorityClass with name {CLASS}" in str(resolved(control_plane)), "the plugin knows of none")
    # A list from a moment ago still counts.
    time.sleep(0.5)
    assert given(control_plane) == (None, 0, "PreemptLowerPriority")
    (warning,) = control_plane.api.warnings
    assert warning.startswith(f"namespace {NAMESPACE}: its default class is not given: ")
    assert server.metric('qos_webhook_cache_objects{cache="priorityclasses.scheduling.k8s.io"}') > 0
