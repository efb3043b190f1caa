"""Two replicas behind a balancer, an API server that calls them, and clients that create pods all the time."""

from __future__ import annotations

import os
import re
import signal
import threading
import time
import urllib.error
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from tests.controlplane.client import ApiError, Object
from tests.controlplane.control_plane import ControlPlane
from tests.controlplane.processes import stop_all
from tests.waiting import wait_for
from tests.webhook.asking import Asked, make_pod, make_service
from tests.webhook.balancer import Balancer
from tests.webhook.installation import NO_AUDIT, ZONE, Installation, Replica, chart_values
from tests.webhook.memory import worker_of
from tests.webhook.scraping import scraped

PODS = int(os.environ.get("CHAOS_PODS", "300"))
"""The minimum number of pods under each fault; ``make chaos`` requests 5,000."""
CLIENTS = 4
TIMEOUT_SECONDS = 2 if "CHAOS_PODS" in os.environ else 30
"""The API server's timeout. With the chart's 2 s, a machine that is busy with other work would be one more fault."""
DRAIN_SECONDS = 30
"""Longer than the balancer's lag, also while everything is paused for a while."""
_END_SECONDS = 300
"""For slow steps, such as the drain time and the wait for clients to leave."""
_RELEASE_NAMESPACE = "qos-system"
_AGAIN_SECONDS = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """The outcomes of the pods."""

    created: int
    """The API server reported that they are stored."""
    refused: int
    """The API server or etcd refused or did not answer: not stored, or stored without a report."""
    stored: int
    unpatched: tuple[str, ...]
    """Stored without constraints."""
    fail_open: float
    """How often the API server continued without the webhook's answer."""

    @property
    def lost(self) -> float:
        """Pods that were refused, not stored, or not patched, and calls that failed open."""
        return self.refused + abs(self.stored - self.created) + len(self.unpatched) + self.fail_open

    def __str__(self) -> str:
        numbers = f"{self.created} created, {self.refused} refused, {self.stored} stored"
        return f"{numbers}, {len(self.unpatched)} unpatched, fail-open +{self.fail_open:g}"


class World:
    """Everything but the load. Ends on leaving the block."""

    def __init__(
        self, control_plane: ControlPlane, helm: Path, folder: Path, *, tree: Path | None = None, replicas: int = 2
    ) -> None:
        """Set up the world; the block starts it.

        Args:
            control_plane: A separate one: it is paused and restarted.
            helm: The program.
            folder: For logs.
            tree: Folder with the chart and the program's packages, if not these.
            replicas: The number of replicas that are started.
        """
        self.control_plane = control_plane
        self.installation = Installation(control_plane, helm, folder, namespace=_RELEASE_NAMESPACE)
        self.installation.tree = tree or self.installation.tree
        self._count = replicas
        self._earlier = 0.0
        self.balancer = Balancer()
        self.replicas: list[Replica] = []
        self._leaving: list[Replica] = []

    def __enter__(self) -> Self:
        self.control_plane.create_namespace(_RELEASE_NAMESPACE)
        self.control_plane.apply([make_service("default")])
        with ExitStack() as stack:
            stack.enter_context(self.balancer)
            stack.callback(self._stop)
            self.installation.install(self.values())
            self.all_replicas()
            self._stack = stack.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._stack.close()

    def _stop(self) -> None:
        stop_all([replica.process for replica in (*self.replicas, *self._leaving)], timeout=2)

    def all_replicas(self, config: Mapping[str, Any] = NO_AUDIT) -> None:
        """Make all replicas serve: each test leaves as many as it found."""
        self.replicas = [replica for replica in self.replicas if replica.process.running]
        while len(self.replicas) < self._count:
            self.add_replica(config=config)
        # The balancer notices late that a worker has ended, and may consider its replica ready while it has no other.
        wait_for(lambda: all(self.metric(replica, "qos_webhook_ready") for replica in self.replicas), "all are ready")
        wait_for(lambda: len(self.balancer.ready) == self._count and self.is_called(), "all are called")

    def add_replica(self, *more: str, config: Mapping[str, Any] = NO_AUDIT, until: str = "/readyz") -> Replica:
        """Start one more; it gets new connections when the balancer has noticed that it is ready."""
        replica = self.installation.start_replica(*more, config=config, until=until)
        self.replicas.append(replica)
        self.balancer.add(replica.port)
        return replica

    def retire(self, replica: Replica) -> None:
        """Send one SIGTERM, as its kubelet does; it takes time, but gets no new connections."""
        replica.process.terminate()
        wait_for(lambda: replica.port not in self.balancer.ready, "the end of a replica is known")
        self.balancer.remove(replica.port)
        self.replicas.remove(replica)
        self._leaving.append(replica)

    def wait_retired(self) -> None:
        """Wait until the retired replicas have ended."""
        wait_for(lambda: not any(one.process.running for one in self._leaving), "they end", timeout=_END_SECONDS)
        self._leaving.clear()

    def kill(self, replica: Replica) -> None:
        """End all its processes at once."""
        os.killpg(replica.process.pid, signal.SIGKILL)
        replica.process.wait_ended(timeout=_END_SECONDS)
        self.balancer.remove(replica.port)
        self.replicas.remove(replica)

    def let_lease_run_out(self) -> None:
        """Remove the holder of the Lease, as when a dead holder has expired: here that takes a minute and a half."""
        for lease in self.control_plane.api.list_items("coordination.k8s.io/v1", "Lease", _RELEASE_NAMESPACE):
            self.control_plane.api.patch(lease, {"spec": {"holderIdentity": None}})

    def worker(self, replica: Replica) -> int:
        """The process id of a replica's worker, once there is one; the replica's own is that of the arbiter."""
        return worker_of(replica.process.pid)

    def rotate(self) -> None:
        """Make all replicas serve another certificate from another authority, which takes more than a minute."""
        name = "qos_webhook_certificate_renewals_total"
        before = {replica: self.metric(replica, name) or 0 for replica in self.replicas}
        for secret in self.control_plane.api.list_items("v1", "Secret", _RELEASE_NAMESPACE):
            if "tls.crt" in secret.get("data", {}):
                self.control_plane.api.patch(secret, {"data": None})
        for replica, count in before.items():
            wait_for(partial(self._is_above, replica, name, count), "another one is served", timeout=_END_SECONDS)

    def _is_above(self, replica: Replica, name: str, count: float) -> bool:
        return (self.metric(replica, name) or 0) > count

    def metric(self, replica: Replica, name: str) -> float | None:
        """The sum of a metric of one replica; None while it has none."""
        return _sum_of(name, _scraped(replica))

    def by_cache(self, replica: Replica, name: str) -> dict[str, float]:
        """A metric of one replica for each of its caches; empty while it has none."""
        found = re.findall(rf'^{name}\{{cache="(.+)"\}} (\S+)$', _scraped(replica), re.MULTILINE)
        return {cache: float(value) for cache, value in found}

    def is_called(self, namespace: str = "default") -> bool:
        """Whether a pod that is created now would be patched; nothing is stored."""
        try:
            return _is_patched(Asked(self.control_plane, "").tried(make_pod(namespace, "probe")))
        except (ApiError, OSError):
            return False

    def pod_namespace(self, name: str) -> str:
        """A namespace with a Service that selects its pods: they get constraints."""
        self.control_plane.create_namespace(name)
        self.control_plane.apply([make_service(name)])
        wait_for(lambda: self.is_called(name), f"pods in {name} are patched")
        # By one of them, which may not be the one that is called next.
        for replica in self.replicas:
            wait_for(partial(self._knows_services, replica), "each replica knows all Services")
        return name

    def _knows_services(self, replica: Replica) -> bool:
        services = self.control_plane.api.list_items("v1", "Service")
        return self.by_cache(replica, "qos_webhook_cache_objects").get("services") == len(services)

    def unpatched(self) -> int:
        """The number of pods in all reviewed namespaces that lack their constraints."""
        pods = self.control_plane.api.list_items("v1", "Pod")
        return sum(not _is_patched(pod) for pod in pods)

    def restart_apiserver(self) -> None:
        """Stop and restart it; its counts are kept."""
        self._earlier += self._fail_open_now()
        self.control_plane.restart_apiserver()

    def fail_open(self) -> float:
        """How often an API server of this world continued without the webhook's answer."""
        return self._earlier + self._fail_open_now()

    def _fail_open_now(self) -> float:
        text = self.control_plane.kubectl("get", "--raw", "/metrics").stdout
        return _sum_of("apiserver_admission_webhook_fail_open_count", text) or 0.0

    def values(self) -> Object:
        """The name of the release."""
        values = chart_values(self.balancer.port, ZONE, drainSeconds=DRAIN_SECONDS)
        values["webhook"]["timeoutSeconds"] = TIMEOUT_SECONDS
        return values


class Load:
    """Clients that each create pods one after the other, from the start of the block to its end."""

    def __init__(self, world: World, namespace: str, *, pods: int = PODS, pause: float = 0) -> None:
        """Set up the load.

        Args:
            world: The world.
            namespace: The namespace of all the pods, and of nothing else.
            pods: The minimum number of pods; more are created while the block lasts.
            pause: Seconds that each client waits between two pods.
        """
        self._world = world
        self._namespace = world.pod_namespace(namespace)
        self._pods = pods
        self._pause = pause
        self._stopped = threading.Event()
        self._pool = ThreadPoolExecutor(CLIENTS)
        self._gates = [threading.Lock() for _ in range(CLIENTS)]
        self._open = threading.Event()
        self._open.set()
        self._created = [0] * CLIENTS
        self._refused = [0] * CLIENTS

    def __enter__(self) -> Self:
        self._before = self._world.fail_open()
        self._clients = [self._pool.submit(self._create, number) for number in range(CLIENTS)]
        self.more(10 * CLIENTS)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if kind is not None:
            self._pods = 0
        self._stopped.set()
        for client in self._clients:
            client.result()
        self._pool.shutdown()

    @property
    def created(self) -> int:
        """The number of pods that have been created so far."""
        return sum(self._created)

    def more(self, pods: int) -> None:
        """Wait until so many more pods have been created."""
        wanted = self.created + pods
        wait_for(lambda: self.created >= wanted or self._failed(), f"{wanted} pods")

    @contextmanager
    def held(self) -> Iterator[None]:
        """During the block no pod is being created: all earlier ones have been answered."""
        # A client could be back at its gate before any other has passed it.
        self._open.clear()
        with ExitStack() as stack:
            stack.callback(self._open.set)
            for gate in self._gates:
                stack.enter_context(gate)
            yield

    def account(self) -> Account:
        """The outcomes of the pods; for use after the block."""
        api = self._world.control_plane.api
        stored = api.list_items("v1", "Pod", self._namespace)
        found = Account(
            created=self.created,
            refused=sum(self._refused),
            stored=len(stored),
            unpatched=tuple(pod["metadata"]["name"] for pod in stored if not _is_patched(pod)),
            fail_open=self._world.fail_open() - self._before,
        )
        print(f"{self._namespace}: {found}")
        return found

    def _failed(self) -> bool:
        return any(client.done() for client in self._clients)

    def _create(self, number: int) -> None:
        api = self._world.control_plane.api
        attempts = 0
        try:
            while self._created[number] < self._pods // CLIENTS or not self._stopped.is_set():
                self._open.wait()
                with self._gates[number]:
                    attempts += 1
                    try:
                        api.create(make_pod(self._namespace, f"web-{number}-{attempts}"))
                    except (ApiError, OSError):
                        self._refused[number] += 1
                        time.sleep(_AGAIN_SECONDS)
                    else:
                        self._created[number] += 1
                time.sleep(self._pause)
        finally:
            api.close()


def _is_patched(pod: Object) -> bool:
    return bool(pod["spec"].get("topologySpreadConstraints"))


def _scraped(replica: Replica) -> str:
    """The metrics of a replica; empty while its arbiter starts a new worker."""
    try:
        return scraped(replica.metrics_port)
    except urllib.error.URLError as error:
        if isinstance(error.reason, ConnectionRefusedError):
            return ""
        raise


def _sum_of(name: str, text: str) -> float | None:
    found: Sequence[str] = re.findall(rf"^{name}(?:\{{.*\}})? (\S+)$", text, re.MULTILINE)
    return sum(map(float, found)) if found else None
