"""Pods are created during each fault: each stored pod has the patch, and no call of the webhook fails.

The webhook is called with failurePolicy Ignore: a failed call leaves a pod without its patch, and increases the API
server's own count of such calls. Creations that the API server or etcd refuses are counted separately.

All faults: ``make test-all``. The same for 5,000 pods per fault: ``make chaos``.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from tests.controlplane.binaries import Binaries
from tests.controlplane.control_plane import ControlPlane
from tests.waiting import wait_for
from tests.webhook.faults.silence import idle_connections, slow_clients
from tests.webhook.faults.world import CLIENTS, Account, Load, World
from tests.webhook.installation import Replica

pytestmark = pytest.mark.controlplane

PAUSE_SECONDS = 10
IDLE_CONNECTIONS = 500
SLOW_CLIENTS = 100
CACHES = 11
"""The number of caches of a replica, each with its own watch."""
WATCHES = "qos_webhook_cache_watches_total"


@pytest.fixture(scope="module")
def world(control_plane_binaries: Binaries, helm: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """One for all faults; the scheduler and the controllers would only cost time."""
    with (
        ControlPlane(control_plane_binaries, scheduler=False, controllers=False) as control_plane,
        World(control_plane, helm, tmp_path_factory.mktemp("faults")) as world,
    ):
        yield world


def assert_all_patched(account: Account, *, refused: bool = False) -> None:
    """Nothing was lost, and nothing refused unless creations may have been, and then be stored or not."""
    assert refused or account.refused == 0
    assert account.created <= account.stored <= account.created + account.refused
    assert account.unpatched == ()
    assert account.fail_open == 0


@pytest.mark.long(
    "test_A_draining_server_answers_and_announces_its_end, test_A_drained_server_answers_once_more_accepts_no_new"
)
def test_rolling_restart_of_two_replicas(world: World) -> None:
    with Load(world, "rolling-restart") as load:
        # Like a Deployment: start the new replica first, then end an old one.
        for replica in list(world.replicas):
            world.add_replica()
            world.retire(replica)
        world.wait_retired()
    assert_all_patched(load.account())


@pytest.mark.long("test_idle_ones_are_borne, test_more_connections_than_there_may_be")
def test_500_idle_tls_connections(world: World) -> None:
    ports = [replica.port for replica in world.replicas]
    with idle_connections(ports, IDLE_CONNECTIONS), Load(world, "idle-connections") as load:
        for replica in world.replicas:
            assert (world.metric(replica, "qos_webhook_connections") or 0) >= IDLE_CONNECTIONS
    assert_all_patched(load.account())


@pytest.mark.long("test_each_stage_has_its_time")
def test_slow_loris(world: World) -> None:
    ports = [replica.port for replica in world.replicas]
    with slow_clients(ports, SLOW_CLIENTS), Load(world, "slow-loris") as load:
        for replica in world.replicas:
            # Clients without TLS, and clients with slow bodies, are ended; those without a whole head may stay.
            wait_for(partial(_shown_the_door, world, replica, 2 * SLOW_CLIENTS), "slow clients go")
    assert_all_patched(load.account())


def test_worker_killed_between_reviews(world: World) -> None:
    """Its arbiter starts another; connections that were open end, and new ones go to the other replica or wait."""
    killed = world.replicas[0]
    worker = world.worker(killed)
    with Load(world, "worker-killed") as load:
        with load.held():
            os.kill(worker, signal.SIGKILL)
            # The next review finds no connection that is about to end: the API server would not retry on another.
            wait_for(lambda: not world.balancer.carried(killed.port), "its connections have ended")
        wait_for(lambda: killed.port not in world.balancer.ready or world.worker(killed) != worker, "its end")
        load.more(10 * CLIENTS)
        world.all_replicas()
    assert_all_patched(load.account())
    assert world.worker(killed) != worker


@pytest.mark.long("test_worker_killed_between_reviews")
def test_worker_killed_during_reviews(world: World) -> None:
    """The requests of that moment are lost, and no more: the API server does not retry after a broken answer."""
    killed = world.replicas[0]
    with Load(world, "worker-killed-busy") as load:
        load.more(10 * CLIENTS)
        worker = world.worker(killed)
        gone = world.balancer.opened(killed.port) - world.balancer.carried(killed.port)
        os.kill(worker, signal.SIGKILL)
        wait_for(lambda: not _runs(worker), "its end")
        # The connections that it had, and those that it got until it had ended.
        connections = world.balancer.opened(killed.port) - gone
        load.more(10 * CLIENTS)
        world.all_replicas()
    account = load.account()
    assert account.refused == 0
    assert account.stored == account.created
    # A client may continue on another connection before the API server has seen that this one has ended, too.
    assert len(account.unpatched) <= account.fail_open <= max(CLIENTS, connections)


@pytest.mark.long("test_cut_connection_resumes_where_it_stopped")
def test_apiserver_restarted(world: World) -> None:
    with Load(world, "apiserver-restarted") as load:
        load.more(10 * CLIENTS)
        watches = [world.by_cache(replica, WATCHES) for replica in world.replicas]
        world.restart_apiserver()
        # Caches follow changes again: a new Service is known, and every watch has restarted.
        wait_for(world.is_called, "the webhook is called again")
        world.pod_namespace("after-restart")
        for replica, before in zip(world.replicas, watches, strict=True):
            assert len(before) == CACHES
            wait_for(partial(_has_restarted_watches, world, replica, before), "all watch again")
    assert_all_patched(load.account(), refused=True)


@pytest.mark.long("test_A_unavailable_lease_does_not_affect_serving")
def test_etcd_paused(world: World) -> None:
    with Load(world, "etcd-paused") as load:
        load.more(10 * CLIENTS)
        with world.control_plane.paused("etcd"):
            time.sleep(PAUSE_SECONDS)
        load.more(10 * CLIENTS)
    assert_all_patched(load.account(), refused=True)


def test_both_replicas_dead(world: World) -> None:
    """Creations continue, and afterwards a replica counts the pods that lack their defaults."""
    pods = 50
    before = world.unpatched()
    with Load(world, "both-dead", pods=pods) as load:
        for replica in list(world.replicas):
            world.kill(replica)
        load.more(pods)
    account = load.account()
    assert account.refused == 0
    assert account.stored == account.created
    assert len(account.unpatched) >= pods
    world.let_lease_run_out()
    world.all_replicas({"audit": {"intervalSeconds": 3600}})
    missed = before + len(account.unpatched)
    # By the replica that counts; if its first audit fails, the next one is a minute later.
    wait_for(lambda: any(_reports(world, replica, missed) for replica in world.replicas), "it is reported", timeout=300)


@pytest.mark.long("test_A_emptied_secret_is_restored_from_memory")
def test_certificates_and_authorities_rotate(world: World) -> None:
    with Load(world, "rotation") as load:
        for _ in range(2):
            world.rotate()
    assert_all_patched(load.account())


def _reports(world: World, replica: Replica, unpatched: int) -> bool:
    return world.metric(replica, "qos_webhook_unpatched_pods") == unpatched


def _shown_the_door(world: World, replica: Replica, count: int) -> bool:
    names = ("qos_webhook_closed_connections_total", "qos_webhook_refused_requests_total")
    return sum(world.metric(replica, name) or 0 for name in names) >= count


def _has_restarted_watches(world: World, replica: Replica, before: dict[str, float]) -> bool:
    now = world.by_cache(replica, WATCHES)
    return bool(now) and all(count > before[cache] for cache, count in now.items())


def _runs(pid: int) -> bool:
    """Whether a process has not ended; a zombie has ended."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False
