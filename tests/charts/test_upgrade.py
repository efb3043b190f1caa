"""An upgrade from the release before, and a rollback to it, while pods are created: each that is stored is patched.

The chart and the program of the release before are an archive here, for neither a shallow clone nor a source archive
has them. It is made anew with each release:

    git archive TAG charts/qos-webhook webhook podrules | xz -9 > tests/testdata/release/before.tar.xz
"""

from __future__ import annotations

import tarfile
from pathlib import Path

import pytest

from tests.charts.chart import CHART
from tests.controlplane.binaries import Binaries
from tests.controlplane.client import Object
from tests.controlplane.control_plane import ControlPlane
from tests.webhook.faults.world import CLIENTS, Load, World
from tests.webhook.scraping import scraped

pytestmark = pytest.mark.controlplane

ROOT = CHART.parents[1]
ARCHIVE = ROOT / "tests" / "testdata" / "release" / "before.tar.xz"
PODS = 100
PAUSE = 0.1
"""Between two pods of a client: what counts is that some are created at any time."""
CONFIGURATIONS = ("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration")


@pytest.fixture(scope="module")
def before(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The chart and the program of the release before."""
    folder = tmp_path_factory.mktemp("before")
    with tarfile.open(ARCHIVE) as archive:
        archive.extractall(folder, filter="data")
    return folder


def replace_all(world: World, load: Load) -> None:
    """As a Deployment does it: a new replica first, then an old one is told to end."""
    for replica in list(world.replicas):
        world.add_replica()
        world.retire(replica)
        load.more(CLIENTS)


def programs(world: World) -> set[bool]:
    """Whether replicas are of the release before: its counters had a series more each."""
    return {"qos_webhook_reviews_created" in scraped(replica.metrics_port) for replica in world.replicas}


def configurations(control_plane: ControlPlane) -> list[Object]:
    """What the API server is told to ask, without what the program writes."""
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
            # Those of the release before go on with what the new one allows them.
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
