"""Replicas of a release on the real API server, which calls one of them, and all clients that would notice a fault.

The webhook is called with failurePolicy Fail: a failed call is a refused pod. The replicas are separate processes;
Leases expire, and certificates come into service, when the test sets their clock forward.
"""

from __future__ import annotations

import base64
import itertools
import json
import os
import signal
import socket
import ssl
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from tests.controlplane.client import ApiError, Object
from tests.controlplane.control_plane import ControlPlane
from tests.controlplane.processes import stop_all
from tests.objects import raw_object, raw_webhook, raw_webhook_configuration
from tests.waiting import again_if_late, wait_for
from tests.webhook.asking import Asked, make_pod, make_service
from tests.webhook.balancer import Balancer
from tests.webhook.certificates.moved_time import MovedTime
from tests.webhook.installation import ZONE, Installation, Replica, chart_values
from webhook.serving.connections import HANDSHAKE_SECONDS

T = TypeVar("T")

ADMISSION = "admissionregistration.k8s.io/v1"
KINDS = ("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration")
_WRITES = "this replica writes now"
_WRITES_NO_LONGER = "this replica no longer writes"
_STEP_SECONDS = 4
"""On the replicas' clock: longer than until the next renewal of their Lease, and shorter than one renewal counts."""
_SETTLE_SECONDS = 60
"""The time for which clients know a certificate before it is served."""
_END_SECONDS = 60
"""For work that ends by itself; nothing takes so long."""
_MARKS = itertools.count(1)


def patiently(ask: Callable[[], T]) -> T:
    """Send a request, and repeat it if no good answer came for so long that a pause may have ended the connection."""
    return again_if_late(ask, HANDSHAKE_SECONDS, (ApiError, OSError))


class Fleet:
    """A release for one namespace, and its replicas."""

    def __init__(
        self,
        control_plane: ControlPlane,
        helm: Path,
        folder: Path,
        balancer: Balancer,
        namespace: str,
        *,
        real_time: bool = False,
        webhook: Mapping[str, Any] | None = None,
    ) -> None:
        """Set up the release.

        Args:
            control_plane: The cluster; shared.
            helm: The program.
            folder: For values and logs.
            balancer: The server that the API server calls.
            namespace: The namespace of the reviewed pods; the release's namespace is made beside it.
            real_time: Whether the replicas use the machine's clock.
            webhook: The chart's values of that name; the default ones reveal every fault.
        """
        self.control_plane = control_plane
        self.api = control_plane.api
        self.namespace = namespace
        self.release_namespace = f"{namespace}-release"
        self.balancer = balancer
        file = folder / "clock"
        self.clock = MovedTime(file)
        """The clock of the replicas."""
        self.installation = Installation(
            control_plane, helm, folder, namespace=self.release_namespace, clock=None if real_time else file
        )
        self._webhook = {"failurePolicy": "Fail", **(webhook or {})}
        self.replicas: list[Replica] = []
        self._tried = Asked(control_plane, namespace).tried
        self._clients: dict[threading.Thread, int] = {}
        """The clients of `unnoticed`, with the number of their connections."""

    @property
    def name(self) -> str:
        """The name of the Secret and the Lease."""
        return "qos-qos-webhook-tls"

    @property
    def configuration(self) -> str:
        """The name of both webhook configurations."""
        return f"qos-qos-webhook.{self.release_namespace}"

    @property
    def names(self) -> tuple[str, ...]:
        """The name that the chart gives its program for calls."""
        return f"qos-qos-webhook.{self.release_namespace}.svc", "127.0.0.1"

    def install(self, **certificate: Any) -> None:
        """Install the chart; nothing runs yet."""
        self.control_plane.create_namespace(self.release_namespace)
        # Default constraints are for pods of a Service.
        self.control_plane.apply([make_service(self.namespace)])
        self.installation.install(self._values(certificate))

    def upgrade(self, **certificate: Any) -> None:
        """Change the release's values for its certificate."""
        self.installation.upgrade(self._values(certificate))

    def _values(self, certificate: Object) -> Object:
        values = chart_values(self.balancer.port, ZONE, certificate=certificate)
        values["drainSeconds"] = 0
        own = {"key": "kubernetes.io/metadata.name", "operator": "In", "values": [self.namespace]}
        values["webhook"] |= {**self._webhook, "namespaceMatchExpressions": [own]}
        return values

    def remove(self) -> None:
        """Stop the replicas and uninstall the release."""
        stop_all([replica.process for replica in self.replicas], timeout=2)
        assert "not deleted" not in self.installation.uninstall()
        self.api.delete(raw_object("Namespace", self.release_namespace))

    def start(self, *more: str) -> Replica:
        """Start a replica and wait until it is ready."""
        replica = self.installation.start_replica(*more)
        self.replicas.append(replica)
        return replica

    def lead_to(self, replica: Replica) -> None:
        """Let the API server call only this replica."""
        if self.balancer.known != (replica.port,):
            for port in self.balancer.known:
                self.balancer.remove(port)
            self.balancer.add(replica.port)
            wait_for(lambda: self.balancer.ready == (replica.port,), "the balancer knows")
            self.balancer.cut()
        wait_for(lambda: self.refusal() == "", "the API server calls the webhook")

    def kill(self, replica: Replica) -> None:
        """End it at once, with all its processes."""
        os.killpg(replica.process.pid, signal.SIGKILL)
        replica.process.wait_ended(timeout=_END_SECONDS)
        self.replicas.remove(replica)

    def end(self, replica: Replica) -> None:
        """Send it SIGTERM, and wait until it has ended."""
        if replica.port in self.balancer.known:
            self.balancer.remove(replica.port)
            # Otherwise it would wait for its clients to leave.
            self.balancer.cut()
        replica.process.terminate()
        replica.process.wait_ended(timeout=_END_SECONDS)
        self.replicas.remove(replica)

    # Time

    def let_pass(self, condition: Callable[[], T | None], what: str) -> T:
        """Let time pass until ``condition`` is truthy, but no faster than the holder of the Lease renews it."""

        def after_a_step() -> T | None:
            if value := condition():
                return value
            before = self.lease["renewTime"]
            self.clock.set_forward(_STEP_SECONDS)
            wait_for(lambda: self.lease["renewTime"] != before, "the Lease is renewed")
            return None

        return wait_for(after_a_step, what)

    def let_lapse(self, condition: Callable[[], T | None], what: str) -> T:
        """Let time pass until ``condition`` is truthy, regardless of the holder of the Lease."""

        def after_a_step() -> T | None:
            if value := condition():
                return value
            self.clock.set_forward(1)
            return None

        return wait_for(after_a_step, what)

    def come_into_service(self, certificate: bytes) -> None:
        """Let time pass until all replicas serve a certificate that clients know."""
        self.be_known()
        self.let_pass(lambda: self.serve(certificate), "all serve the next one")

    def renew(self) -> None:
        """Make all replicas serve another certificate, by emptying the Secret."""
        self.empty_secret()
        kept = wait_for(self.whole, "the Secret is filled again")
        self.come_into_service(kept["next.crt"])

    def settle(self) -> None:
        """Bring a certificate that an earlier test has left staged into service, regardless of the writer."""
        if not self.is_settled():
            self.be_known()
            self.clock.set_forward(_SETTLE_SECONDS)
            self.let_lapse(self.is_settled, "nothing is under way")

    def serve(self, certificate: bytes) -> bool:
        """Whether all replicas serve this certificate, PEM."""
        return all(self.connect_pem(replica.port) == certificate for replica in self.replicas)

    def be_known(self) -> None:
        """Wait until the API server, and each client of `unnoticed`, uses the authorities that are published now.

        For the API server a later object is a sign: it processes them in order.
        """
        mark = f"known-{self.namespace}-{next(_MARKS)}"
        with self.control_plane.holding([_mark(mark)]):
            wait_for(lambda: self._is_refused(mark), "the API server knows")
        for client, looked in list(self._clients.items()):
            # One check may have begun before.
            wait_for(
                lambda: self._clients[client] >= looked + 2 or not client.is_alive(),  # noqa: B023
                "each client has looked again",
            )

    def _is_refused(self, mark: str) -> bool:
        try:
            self._tried(raw_object("ConfigMap", mark, self.namespace, metadata={"labels": {"mark": mark}}))
        except ApiError as error:
            return mark in error.message
        return False

    # The writer

    def writes(self, replica: Replica) -> bool:
        """Whether a replica reports that it is the writer."""
        log = self.log(replica)
        return log.rfind(_WRITES) > log.rfind(_WRITES_NO_LONGER)

    def log(self, replica: Replica) -> str:
        """The log of a replica so far."""
        return replica.process.log.read_text(encoding="utf-8")

    @property
    def writer(self) -> Replica:
        """The replica that writes; lets time pass until there is one."""
        found: list[Replica] = []

        def one() -> bool:
            found[:] = [replica for replica in self.replicas if self.writes(replica)]
            return len(found) == 1

        self.let_lapse(one, "one replica writes")
        return found[0]

    @property
    def lease(self) -> Object:
        """The Lease's spec."""
        spec: Object = self.api.get("coordination.k8s.io/v1", "Lease", self.name, self.release_namespace)["spec"]
        return spec

    # Stored and published authorities

    def secret(self) -> dict[str, bytes]:
        """The data of the Secret; empty if it does not exist."""
        found = self.api.list_items("v1", "Secret", self.release_namespace, fieldSelector=f"metadata.name={self.name}")
        data = found[0].get("data") or {} if found else {}
        return {name: base64.b64decode(value) for name, value in data.items()}

    def secret_labels(self) -> Object:
        """The owners of the Secret."""
        labels: Object = self.api.get("v1", "Secret", self.name, self.release_namespace)["metadata"]["labels"]
        return labels

    def spoil(self, **data: bytes | None) -> None:
        """Replace the Secret's data: underscores stand for dots."""
        encoded = {
            name.replace("_", "."): base64.b64encode(value).decode() if value is not None else None
            for name, value in data.items()
        }
        self.api.patch(self._named("Secret"), {"data": encoded})

    def empty_secret(self) -> None:
        """Remove all data from the Secret."""
        self.api.patch(self._named("Secret"), {"data": None})

    def delete_secret(self) -> None:
        """Delete the Secret."""
        self.api.delete(self._named("Secret"))

    def delete_lease(self) -> None:
        """Delete the Lease."""
        self.api.delete(self._named("Lease", "coordination.k8s.io/v1"))

    def _named(self, kind: str, api_version: str = "v1") -> Object:
        return raw_object(kind, self.name, self.release_namespace, apiVersion=api_version)

    def configurations(self) -> list[Object]:
        """Both webhook configurations."""
        return [self.api.get(ADMISSION, kind, self.configuration) for kind in KINDS]

    def bundles(self) -> set[bytes]:
        """The authorities that the API server trusts, for each webhook."""
        return {
            base64.b64decode(entry["clientConfig"].get("caBundle", ""))
            for found in self.configurations()
            for entry in found["webhooks"]
        }

    def wipe_bundles(self) -> None:
        """Remove caBundle from each webhook, with the necessary permissions."""
        for found in self.configurations():
            numbers = range(len(found["webhooks"]))
            steps = [{"op": "remove", "path": f"/webhooks/{number}/clientConfig/caBundle"} for number in numbers]
            path = self.api.path(ADMISSION, found["kind"], None, self.configuration)
            self.api.request("PATCH", path, json.dumps(steps).encode(), content_type="application/json-patch+json")

    def whole(self) -> dict[str, bytes]:
        """The data of the Secret if its authorities are published and nothing is missing, otherwise empty."""
        data = self.secret()
        whole = {"tls.crt", "tls.key", "ca.crt"} <= set(data) and self.bundles() == {data["ca.crt"]}
        return data if whole else {}

    def is_whole(self) -> bool:
        """Whether the stored authorities are published, and nothing is missing."""
        return bool(self.whole())

    def is_settled(self) -> bool:
        """Whether all replicas serve the stored certificate, and no next certificate is under way."""
        data = self.whole()
        return bool(data) and "next.crt" not in data and self.serve(data["tls.crt"])

    # Clients that would notice a fault

    def refusal(self) -> str:
        """Why a pod is refused now, or that it is not patched; empty if neither."""
        try:
            made = patiently(lambda: self._tried(make_pod(self.namespace)))
        except ApiError as error:
            return error.message
        return "" if made["spec"].get("topologySpreadConstraints") else "it is not patched"

    def connect(self, port: int) -> bytes:
        """The certificate, DER, that a client with the published authorities sees on a new connection.

        Raises:
            ssl.SSLError: It does not trust the served certificate.
        """
        return patiently(lambda: [_served(port, bundle) for bundle in self.bundles()][-1])

    def connect_pem(self, port: int) -> bytes:
        """The same as PEM."""
        return ssl.DER_cert_to_PEM_cert(self.connect(port)).encode()

    @contextmanager
    def unnoticed(self, *direct: Replica) -> Iterator[None]:
        """Check that no client notices the events of the block: pods are created and patched all the time.

        Args:
            direct: Replicas to which clients reconnect all the time, with the published authorities.
        """
        stopped = threading.Event()
        made: list[str] = []
        seen: list[str] = []

        def create() -> None:
            made.append(self.refusal())

        def connect() -> None:
            for replica in direct:
                try:
                    self.connect(replica.port)
                    seen.append("")
                except OSError as error:
                    seen.append(f"{replica.process.log.name}: {error!r}")

        def repeatedly(step: Callable[[], None]) -> None:
            try:
                while not stopped.wait(0.05):
                    step()
                    self._clients[threading.current_thread()] += 1
            finally:
                self.api.close()

        threads = [threading.Thread(target=repeatedly, args=(step,)) for step in (create, connect)]
        create()
        self._clients = dict.fromkeys(threads, 0)
        for thread in threads:
            thread.start()
        try:
            yield
        finally:
            stopped.set()
            for thread in threads:
                thread.join()
            self._clients = {}
        create()
        connect()
        assert set(made) == {""}
        assert set(seen) <= {""}


def _served(port: int, bundle: bytes) -> bytes:
    """The certificate, DER, that a client with these authorities sees."""
    context = ssl.create_default_context(cadata=bundle.decode())
    with (
        socket.create_connection(("127.0.0.1", port), timeout=60) as connection,
        context.wrap_socket(connection, server_hostname="127.0.0.1") as channel,
    ):
        return channel.getpeercert(binary_form=True) or b""


def _mark(name: str) -> Object:
    """A configuration that refuses every ConfigMap with this label, because its webhook is unreachable."""
    reviewed, selector = {"configmaps": ["CREATE"]}, {"matchLabels": {"mark": name}}
    more: Object = {"objectSelector": selector, "failurePolicy": "Fail"}
    client = {"url": "https://127.0.0.1:1/"}
    return raw_webhook_configuration(name, raw_webhook(f"{name}.example.com", client, reviewed, **more))
