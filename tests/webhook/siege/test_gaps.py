"""The time for which rules are not applied after a change of the cluster, with the machine's own clock."""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from tests.controlplane.client import ApiError, Object
from tests.controlplane.control_plane import ControlPlane
from tests.objects import raw_pod
from tests.waiting import wait_for
from tests.webhook.balancer import Balancer
from tests.webhook.certificates.fleet import Fleet
from tests.webhook.forcing import MODE
from tests.webhook.installation import Replica

pytestmark = pytest.mark.controlplane

KILLS = 4
WIPES = 5
"""The delays of a kill, and none."""
LABELS = 300
NAME = "siege-gaps"
MOST_SECONDS = 5
AS_THE_CHART = {"failurePolicy": "Ignore", "timeoutSeconds": 2}
_APART_SECONDS = 0.5
"""The time between two wipes: a replica writes at most five times a second."""


@pytest.fixture(scope="module")
def fleet(control_plane: ControlPlane, helm: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fleet]:
    """A release that is called with the chart's settings: objects without an answer are stored."""
    control_plane.create_namespace(NAME)
    with Balancer() as balancer:
        folder = tmp_path_factory.mktemp("fleet")
        found = Fleet(control_plane, helm, folder, balancer, NAME, real_time=True, webhook=AS_THE_CHART)
        try:
            found.install()
            found.start()
            yield found
        finally:
            found.remove()
            control_plane.leave_namespace(NAME)


def _called(fleet: Fleet) -> tuple[Replica, Replica]:
    """The replica that writes, and the other one, which the API server calls from now on."""
    while len(fleet.replicas) < 2:
        fleet.start()
    wait_for(fleet.is_settled, "nothing is under way")
    writer = fleet.writer
    (other,) = (replica for replica in fleet.replicas if replica is not writer)
    fleet.lead_to(other)
    return writer, other


def _gap(fleet: Fleet) -> float:
    """Seconds from the first of two wipes until the last pod was not patched, and both caBundles were restored."""
    time.sleep(_APART_SECONDS)
    began = last = time.monotonic()
    fleet.wipe_bundles()
    good = 0
    while good < 5:
        if fleet.refusal() == "" and fleet.is_whole():
            good += 1
        else:
            last, good = time.monotonic(), 0
    return last - began


def _say(what: str, seconds: Sequence[float]) -> None:
    found = sorted(seconds)
    p99 = found[int(0.99 * (len(found) - 1))]
    print(f"{what}: {len(found)} tries, p50 {statistics.median(found):.3f} s, p99 {p99:.3f} s, max {found[-1]:.3f} s")


@pytest.mark.long(
    "test_A_ca_bundle_is_restored_while_the_writer_is_dead, test_A_competing_writes_of_the_bundle_are_rate_limited"
)
def test_gap_after_ca_bundle_was_wiped(fleet: Fleet) -> None:
    _called(fleet)
    with_writer = [_gap(fleet) for _ in range(KILLS * WIPES)]
    _say("caBundle wiped", with_writer)
    without = []
    for _ in range(KILLS):
        writer, other = _called(fleet)
        fleet.kill(writer)
        without += [_gap(fleet) for _ in range(WIPES)]
        assert not fleet.writes(other), "the Lease has lapsed meanwhile: the writer was not away for long enough"
        # The test does not wait for the Lease to expire.
        lease: Object = {
            "apiVersion": "coordination.k8s.io/v1",
            "kind": "Lease",
            "metadata": {"name": fleet.name, "namespace": fleet.release_namespace},
        }
        fleet.api.patch(lease, {"spec": {"holderIdentity": None}})
    _say("caBundle wiped, writer killed", without)
    assert max(*with_writer, *without) <= MOST_SECONDS


@pytest.mark.long("test_F2_label_may_only_tighten_the_configuration")
def test_gap_after_a_label_was_changed(fleet: Fleet) -> None:
    """A force deletion is requested right after its namespace forbids it, and repeated until it is refused."""
    _called(fleet)
    api, control_plane = fleet.api, fleet.control_plane
    node = control_plane.create_node(NAME, unschedulable=True)
    pod = api.create(raw_pod("db", NAME, nodeName=node["metadata"]["name"]))
    control_plane.set_pod_status(pod, {"phase": "Running"})
    namespace: Object = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAME}}
    path = api.path("v1", "Pod", NAME, "db")

    def is_refused() -> bool:
        try:
            api.request("DELETE", path, query={"dryRun": "All", "gracePeriodSeconds": "0"})
        except ApiError as error:
            return "forbids force deletions" in error.message
        return False

    gaps = []
    for _ in range(LABELS):
        api.patch(namespace, {"metadata": {"labels": {MODE: None}}})
        wait_for(lambda: not is_refused(), "nothing is forbidden")
        api.patch(namespace, {"metadata": {"labels": {MODE: "deny"}}})
        began = last = time.monotonic()
        while not is_refused():
            last = time.monotonic()
        gaps.append(last - began)
    _say(f"label changed, {sum(gap > 0 for gap in gaps)} missed", gaps)
    api.delete(node)
    assert max(gaps) <= MOST_SECONDS
