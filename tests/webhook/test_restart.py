"""No pod is stored without its patch while a replica is restarted and while certificates rotate.

The webhook is called with failurePolicy Ignore, so a failed call is no error to whoever creates a pod: what counts is
what is stored, and the API server's own count of calls that it went on without.
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
from pathlib import Path
from typing import Any

import pytest

from tests.controlplane.binaries import Binaries
from tests.controlplane.client import Object
from tests.controlplane.control_plane import ControlPlane
from tests.controlplane.processes import stop_all
from tests.webhook.balancer import Balancer
from tests.webhook.installation import ZONE, Installation, chart_values

pytestmark = [pytest.mark.controlplane, pytest.mark.timeout(600)]

PODS = 2000
CLIENTS = 4
NAMESPACE = "load"
RELEASE_NAMESPACE = "qos-system"
DRAIN_SECONDS = 10
LIFETIME_SECONDS = 30
"""The next is made after 20 s, and served when it has been told for `SETTLE_SECONDS`."""
SETTLE_SECONDS = 2.5


@pytest.fixture
def control_plane(control_plane_binaries: Binaries) -> Iterator[ControlPlane]:
    """One of its own, where nobody else creates pods; the scheduler and the controllers would only cost time."""
    with ControlPlane(control_plane_binaries, scheduler=False, controllers=False) as running:
        yield running


def _pod(name: str) -> Object:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": NAMESPACE, "labels": {"app": "web"}},
        "spec": {"containers": [{"name": "app", "image": "x"}]},
    }


def _fail_open_count(control_plane: ControlPlane) -> float:
    """How often the API server went on without an answer of a webhook."""
    text = control_plane.kubectl("get", "--raw", "/metrics").stdout
    lines = re.findall(r"^apiserver_admission_webhook_fail_open_count\{.*\} (.+)$", text, re.MULTILINE)
    return sum(map(float, lines))


def _patched(control_plane: ControlPlane) -> bool:
    made: Object = control_plane.api.request(
        "POST", control_plane.api.path("v1", "Pod", NAMESPACE), _pod("probe"), query={"dryRun": "All"}
    )
    return "topologySpreadConstraints" in made["spec"]


class _Client:
    """A client that, unlike the API server, opens a new connection each time: no handshake may fail at any time."""

    def __init__(self, control_plane: ControlPlane, port: int) -> None:
        self._control_plane = control_plane
        self._port = port
        self.seen: set[bytes] = set()
        """The certificates that were served."""

    def connect_until(self, stopped: threading.Event) -> None:
        """Connect again and again."""
        try:
            while not stopped.is_set():
                self._connect()
        finally:
            self._control_plane.api.close()

    def _connect(self) -> None:
        """Trust what the API server has been told, and shake hands.

        Raises:
            ssl.SSLCertVerificationError: The certificate is not one that clients know.
        """
        asked = time.monotonic()
        try:
            self._shake_hands()
        except ssl.SSLCertVerificationError:
            # Who looked that long ago may know less than the API server does.
            if time.monotonic() < asked + SETTLE_SECONDS:
                raise

    def _shake_hands(self) -> None:
        found = self._control_plane.api.list_items("admissionregistration.k8s.io/v1", "MutatingWebhookConfiguration")
        bundle = base64.b64decode(found[0]["webhooks"][0]["clientConfig"]["caBundle"])
        context = ssl.create_default_context(cadata=bundle.decode())
        with (
            socket.create_connection(("127.0.0.1", self._port), timeout=60) as connection,
            context.wrap_socket(connection, server_hostname="127.0.0.1") as channel,
        ):
            served = channel.getpeercert(binary_form=True)
        assert served
        self.seen.add(served)


def test_A_every_pod_is_patched_while_a_replica_restarts_and_certificates_rotate(
    control_plane: ControlPlane, helm: Path, tmp_path: Path
) -> None:
    control_plane.create_namespace(RELEASE_NAMESPACE)
    control_plane.create_namespace(NAMESPACE)
    service = {"selector": {"app": "web"}, "ports": [{"port": 80}]}
    control_plane.apply(
        [{"apiVersion": "v1", "kind": "Service", "metadata": {"name": "web", "namespace": NAMESPACE}, "spec": service}]
    )
    installation = Installation(control_plane, helm, tmp_path, namespace=RELEASE_NAMESPACE)
    with Balancer() as balancer:
        own = {"drainSeconds": DRAIN_SECONDS, "certificate": {"lifetime": f"{LIFETIME_SECONDS}s"}}
        values = chart_values(balancer.port, ZONE, **own)
        installation.install(values)
        replicas = [installation.start_replica() for _ in range(2)]
        try:
            for replica in replicas:
                balancer.add(replica.port)
            control_plane.wait_for(lambda: len(balancer.ready) == 2 and _patched(control_plane), "both are asked")
            before = _fail_open_count(control_plane)
            client = _Client(control_plane, balancer.port)
            stopped = threading.Event()

            def create(number: int) -> int:
                """Pods one after the other until all has happened that may disturb; returns how many."""
                made = 0
                try:
                    while made < PODS // CLIENTS or not stopped.is_set():
                        control_plane.api.create(_pod(f"web-{number}-{made}"))
                        made += 1
                finally:
                    control_plane.api.close()
                return made

            with ThreadPoolExecutor(CLIENTS + 1) as pool:
                connecting = pool.submit(client.connect_until, stopped)
                creating = [pool.submit(create, number) for number in range(CLIENTS)]
                try:
                    # As a Deployment does it: the new one first, then the old one is told to end.
                    replicas.append(installation.start_replica())
                    balancer.add(replicas[-1].port)
                    leaving = replicas[0].process
                    leaving.terminate()
                    control_plane.wait_for(lambda: replicas[0].port not in balancer.ready, "its end is known")
                    balancer.remove(replicas[0].port)
                    leaving.wait_ended(timeout=60)

                    control_plane.wait_for(
                        lambda: connecting.done() or len(client.seen) >= 3, "two rotations", timeout=180
                    )
                finally:
                    stopped.set()
                connecting.result()
                created = sum(future.result() for future in creating)
        finally:
            stop_all([replica.process for replica in replicas], timeout=2)
    stored: list[Any] = control_plane.api.list_items("v1", "Pod", NAMESPACE)
    assert len(stored) == created >= PODS
    assert [pod["metadata"]["name"] for pod in stored if "topologySpreadConstraints" not in pod["spec"]] == []
    assert _fail_open_count(control_plane) == before
