"""An upgrade from the previous release, and a rollback to it, while pods are created: each stored pod is patched.

The same with a scheduler configuration that the previous release accepted and this one refuses: its replicas stay. The
Deployment controller is real; the test acts as the kubelets and probes real processes of both releases.

The chart and the program of the previous release are an archive, because neither a shallow clone nor a source archive
contains them. It is rebuilt for each release:

    git archive TAG charts/qos-webhook webhook podrules | xz -9 > tests/testdata/release/before.tar.xz
"""

from __future__ import annotations

import tarfile
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest
import yaml

from tests.charts.chart import CHART
from tests.controlplane.binaries import Binaries
from tests.controlplane.client import Object
from tests.controlplane.control_plane import ControlPlane
from tests.controlplane.processes import probe
from tests.waiting import wait_for
from tests.webhook.faults.world import CLIENTS, Load, World
from tests.webhook.installation import Replica
from tests.webhook.scraping import scraped

pytestmark = pytest.mark.controlplane

ROOT = CHART.parents[1]
ARCHIVE = ROOT / "tests" / "testdata" / "release" / "before.tar.xz"
PODS = 100
PAUSE = 0.1
"""The pause between two pods of a client: some pods must be created at any time."""
CONFIGURATIONS = ("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration")


@pytest.fixture(scope="module")
def before(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The chart and the program of the previous release."""
    folder = tmp_path_factory.mktemp("before")
    with tarfile.open(ARCHIVE) as archive:
        archive.extractall(folder, filter="data")
    return folder


def replace_all(world: World, load: Load) -> None:
    """Act as a Deployment: start a new replica first, then end an old one."""
    for replica in list(world.replicas):
        world.add_replica()
        world.retire(replica)
        load.more(CLIENTS)


def programs(world: World) -> set[bool]:
    """Whether replicas belong to the previous release: each of its counters had an additional series."""
    return {"qos_webhook_reviews_created" in scraped(replica.metrics_port) for replica in world.replicas}


def configurations(control_plane: ControlPlane) -> list[Object]:
    """The webhook configurations, without the fields that the program writes."""
    found = []
    for kind in CONFIGURATIONS:
        stored = control_plane.api.get("admissionregistration.k8s.io/v1", kind, "qos-qos-webhook.qos-system")
        for webhook in stored["webhooks"]:
            webhook["clientConfig"].pop("caBundle")
            found.append(webhook)
    return found


@pytest.mark.parametrize(
    "replicas", [1, pytest.param(2, marks=pytest.mark.long("test_upgrade_and_rollback_leave_no_pod_unpatched[1]"))]
)
def test_upgrade_and_rollback_leave_no_pod_unpatched(
    control_plane_binaries: Binaries, helm: Path, tmp_path: Path, before: Path, replicas: int
) -> None:
    with (
        ControlPlane(control_plane_binaries, scheduler=False, controllers=False) as control_plane,
        World(control_plane, helm, tmp_path, tree=before, replicas=replicas) as world,
    ):
        assert programs(world) == {True}
        earlier = configurations(control_plane)
        with Load(world, "upgrade", pods=PODS, pause=PAUSE) as load:
            world.installation.tree = ROOT
            world.installation.upgrade(world.values())
            # The replicas of the previous release continue with the permissions of the new one.
            load.more(10 * CLIENTS)
            replace_all(world, load)
            assert programs(world) == {False}
            assert configurations(control_plane) != earlier
        assert load.account().lost == 0
        with Load(world, "rollback", pods=PODS, pause=PAUSE) as load:
            world.installation.tree = before
            world.installation.roll_back()
            load.more(10 * CLIENTS)
            replace_all(world, load)
            assert programs(world) == {True}
            assert configurations(control_plane) == earlier
        assert load.account().lost == 0


class RefusedWorld(World):
    """Its scheduler configuration has a field that the previous release ignored."""

    def values(self) -> Object:
        values = super().values()
        values["clusterDefaultConstraints"]["schedulerConfiguration"] |= {"disablePreemption": True}
        return values


def configure(world: World, change: Callable[[Object], object]) -> None:
    """Rewrite the ConfigMap."""
    api = world.control_plane.api
    name = f"{world.installation.deployment['metadata']['name']}-scheduler"
    found = api.get("v1", "ConfigMap", name, world.installation.namespace)
    ((key, text),) = found["data"].items()
    content = yaml.safe_load(text)
    change(content)
    api.patch(found, {"data": {key: yaml.safe_dump(content)}})


def containers(world: World) -> list[Object]:
    found: list[Object] = world.installation.deployment["spec"]["template"]["spec"]["containers"]
    return found


def pods_by_set(world: World) -> dict[str, list[Object]]:
    """The pods of the Deployment that are not terminating, by ReplicaSet."""
    found: dict[str, list[Object]] = {}
    for pod in world.control_plane.api.list_items("v1", "Pod", world.installation.namespace):
        if not pod["metadata"].get("deletionTimestamp"):
            found.setdefault(pod["metadata"]["ownerReferences"][0]["name"], []).append(pod)
    return found


def play_kubelets(world: World, pods: Iterable[Object], replica: Replica) -> bool:
    """Give pods the readiness of the process that represents them; return it."""
    ready = probe("/readyz")(replica.port)
    for pod in pods:
        status = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True" if ready else "False"}]}
        world.control_plane.api.patch(pod, {"status": status}, subresource="status")
    return ready


def log_of(replica: Replica) -> str:
    return replica.process.log_tail(lines=200)


def test_upgrade_with_refused_configuration_keeps_old_replicas(
    control_plane_binaries: Binaries, helm: Path, tmp_path: Path, before: Path
) -> None:
    with (
        ControlPlane(control_plane_binaries, scheduler=False) as control_plane,
        RefusedWorld(control_plane, helm, tmp_path, tree=before, replicas=1) as world,
    ):
        (old,) = world.replicas
        wait_for(lambda: sum(map(len, pods_by_set(world).values())) == 2, "the Deployment has its pods")
        ((old_set, old_pods),) = pods_by_set(world).items()
        assert play_kubelets(world, old_pods, old)
        wait_for(lambda: available(world) == 2, "both are available")
        with Load(world, "upgrade", pods=PODS, pause=PAUSE) as load:
            world.installation.tree = ROOT
            world.installation.upgrade(world.values())
            new = world.add_replica(until="/healthz")
            wait_for(lambda: "not ready until it is corrected" in log_of(new), "the refusal is logged")
            assert 'unknown field "disablePreemption" (true): write profiles[].plugins.postFilter' in log_of(new)
            wait_for(lambda: set(pods_by_set(world)) > {old_set}, "a new ReplicaSet has a pod")
            (new_pods,) = (pods for name, pods in pods_by_set(world).items() if name != old_set)
            assert len(new_pods) == 1
            assert not play_kubelets(world, new_pods, new)
            wait_for(lambda: world.installation.deployment["status"].get("unavailableReplicas") == 1, "it is counted")
            load.more(10 * CLIENTS)
            assert len(pods_by_set(world)[old_set]) == available(world) == 2
            assert new.port not in world.balancer.ready
            assert old.port in world.balancer.ready
            assert world.metric(new, "qos_webhook_scheduler_configs_refused_total") == 1
            assert world.metric(new, "qos_webhook_scheduler_config_current") == 0
            assert world.metric(new, "qos_webhook_ready") == 0

            configure(world, lambda content: content.pop("disablePreemption"))
            wait_for(lambda: new.port in world.balancer.ready, "it is ready with the corrected one")
            assert play_kubelets(world, new_pods, new)
            wait_for(lambda: len(pods_by_set(world)[old_set]) < 2, "the rollout continues")
            world.retire(old)
            load.more(10 * CLIENTS)

            # An invalid configuration while it runs.
            configure(world, lambda content: content.update(percentageOfNodeToScore=5))
            wait_for(lambda: world.metric(new, "qos_webhook_scheduler_configs_refused_total") == 2, "it is counted")
            assert world.metric(new, "qos_webhook_scheduler_config_current") == 0
            assert world.metric(new, "qos_webhook_ready") == 1
            assert 'in force: unknown field "percentageOfNodeToScore" (5): write percentageOfN' in log_of(new)
            load.more(10 * CLIENTS)
            configure(world, lambda content: content.pop("percentageOfNodeToScore"))
            wait_for(lambda: world.metric(new, "qos_webhook_scheduler_config_current") == 1, "it is corrected")
        assert load.account().lost == 0


def available(world: World) -> int:
    found: int = world.installation.deployment["status"].get("availableReplicas", 0)
    return found
