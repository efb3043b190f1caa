"""No pod is stored without its patch while a replica is restarted and while its certificate is replaced.

The webhook is called with failurePolicy Ignore, so a failed call is no error for the client: the test checks the stored
pods, and the API server's own count of failed calls.
"""

from __future__ import annotations

import base64
import re
import socket
import ssl
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from functools import partial
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.controlplane.binaries import Binaries
from tests.controlplane.client import Object
from tests.controlplane.control_plane import ControlPlane
from tests.controlplane.processes import stop_all
from tests.objects import raw_pod
from tests.waiting import wait_for
from tests.webhook.asking import make_service
from tests.webhook.balancer import Balancer
from tests.webhook.installation import ZONE, Installation, Replica, chart_values

pytestmark = pytest.mark.controlplane

CLIENTS = 4
ROTATIONS = 3
NAMESPACE = "load"
RELEASE_NAMESPACE = "qos-system"
SECRET: Object = {
    "apiVersion": "v1",
    "kind": "Secret",
    "metadata": {"name": "qos-qos-webhook-tls", "namespace": RELEASE_NAMESPACE},
}
DRAIN_SECONDS = 15
"""The time in which the balancer must notice a replica's end, also on a machine that is paused for a part of it."""
LIFETIME_SECONDS = 120
SETTLE_SECONDS = LIFETIME_SECONDS / 12
"""The time for which clients know a certificate before it is served."""


@pytest.fixture
def control_plane(control_plane_binaries: Binaries) -> Iterator[ControlPlane]:
    """A separate one, without other pods; the scheduler and the controllers would only cost time."""
    with ControlPlane(control_plane_binaries, scheduler=False, controllers=False) as running:
        yield running


class World(NamedTuple):
    """Two replicas that the API server calls."""

    control_plane: ControlPlane
    installation: Installation
    balancer: Balancer
    replicas: list[Replica]

    def restart_a_replica(self) -> None:
        """Like a Deployment: start the new replica first, then end the old one."""
        leaving = self.replicas[0]
        self.replicas.append(self.installation.start_replica())
        self.balancer.add(self.replicas[-1].port)
        leaving.process.terminate()
        wait_for(lambda: leaving.port not in self.balancer.ready, "its end is known")
        self.balancer.remove(leaving.port)
        leaving.process.wait_ended(timeout=60)

    def fail_open_count(self) -> float:
        """How often the API server continued without the webhook's answer."""
        text = self.control_plane.kubectl("get", "--raw", "/metrics").stdout
        lines = re.findall(r"^apiserver_admission_webhook_fail_open_count\{.*\} (.+)$", text, re.MULTILINE)
        return sum(map(float, lines))

    def is_called(self) -> bool:
        """Whether a pod would be patched."""
        path = self.control_plane.api.path("v1", "Pod", NAMESPACE)
        made = self.control_plane.api.request("POST", path, _pod("probe"), query={"dryRun": "All"})
        return "topologySpreadConstraints" in made["spec"]


@pytest.fixture
def world(control_plane: ControlPlane, helm: Path, tmp_path: Path) -> Iterator[World]:
    control_plane.create_namespace(RELEASE_NAMESPACE)
    control_plane.create_namespace(NAMESPACE)
    control_plane.apply([make_service(NAMESPACE)])
    installation = Installation(control_plane, helm, tmp_path, namespace=RELEASE_NAMESPACE)
    replicas: list[Replica] = []
    with ExitStack() as stack:
        balancer = stack.enter_context(Balancer())
        stack.callback(lambda: stop_all([replica.process for replica in replicas], timeout=2))
        own = {"drainSeconds": DRAIN_SECONDS, "certificate": {"lifetime": f"{LIFETIME_SECONDS}s"}}
        installation.install(chart_values(balancer.port, ZONE, **own))
        for _ in range(2):
            replicas.append(installation.start_replica())
            balancer.add(replicas[-1].port)
        made = World(control_plane, installation, balancer, replicas)
        wait_for(lambda: len(balancer.ready) == 2 and made.is_called(), "both are asked")
        yield made


def _pod(name: str) -> Object:
    return raw_pod(name, NAMESPACE, labels={"app": "web"})


class _Client:
    """A client that, unlike the API server, opens a new connection each time: no handshake may fail at any time."""

    def __init__(self, world: World) -> None:
        self._world = world
        self.seen: set[bytes] = set()
        """The certificates that were served."""
        self._failed = False

    def has_seen(self, rotations: int) -> bool:
        """Whether a certificate was replaced so often; true after an untrusted one, because no more will be seen."""
        return self._failed or len(self.seen) > rotations

    def connect_until(self, stopped: threading.Event) -> None:
        """Connect repeatedly."""
        try:
            while not stopped.wait(0.02):
                self._connect()
        except BaseException:
            self._failed = True
            raise
        finally:
            self._world.control_plane.api.close()

    def _connect(self) -> None:
        """Trust the published authorities, and shake hands.

        Raises:
            ssl.SSLCertVerificationError: Clients do not know the certificate.
        """
        asked = time.monotonic()
        try:
            self._shake_hands()
        except ssl.SSLCertVerificationError:
            # A client that read them so long ago may know less than the API server does.
            if time.monotonic() < asked + SETTLE_SECONDS:
                raise

    def _shake_hands(self) -> None:
        api = self._world.control_plane.api
        found = api.list_items("admissionregistration.k8s.io/v1", "MutatingWebhookConfiguration")
        bundle = base64.b64decode(found[0]["webhooks"][0]["clientConfig"]["caBundle"])
        context = ssl.create_default_context(cadata=bundle.decode())
        with (
            socket.create_connection(("127.0.0.1", self._world.balancer.port), timeout=60) as connection,
            context.wrap_socket(connection, server_hostname="127.0.0.1") as channel,
        ):
            served = channel.getpeercert(binary_form=True)
        assert served
        self.seen.add(served)


@pytest.mark.long(
    "test_A_draining_server_answers_and_announces_its_end, "
    "test_A_drained_server_answers_once_more_accepts_no_new, "
    "test_A_emptied_secret_is_restored_from_memory"
)
def test_A_pods_are_patched_during_restarts_and_rotation(world: World) -> None:
    """A certificate is replaced when its Secret is emptied, long before it is due."""
    before = world.fail_open_count()
    api, client, stopped = world.control_plane.api, _Client(world), threading.Event()

    def create(number: int) -> int:
        """Create pods one after the other until all disturbances have happened; return their number."""
        made = 0
        with closing(api):
            while not stopped.is_set():
                api.create(_pod(f"web-{number}-{made}"))
                made += 1
        return made

    with ThreadPoolExecutor(CLIENTS + 1) as pool:
        connecting = pool.submit(client.connect_until, stopped)
        creating = [pool.submit(create, number) for number in range(CLIENTS)]
        try:
            wait_for(partial(client.has_seen, 0), "the first certificate")
            for rotation in range(ROTATIONS):
                api.patch(SECRET, {"data": None})
                if rotation == 0:
                    world.restart_a_replica()
                wait_for(partial(client.has_seen, rotation + 1), "the next certificate")
        finally:
            stopped.set()
        connecting.result()
        created = sum(future.result() for future in creating)
    stored = api.list_items("v1", "Pod", NAMESPACE)
    assert len(stored) == created > 0
    assert [pod["metadata"]["name"] for pod in stored if "topologySpreadConstraints" not in pod["spec"]] == []
    assert world.fail_open_count() == before
