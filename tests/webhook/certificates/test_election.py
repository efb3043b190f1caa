"""Who holds the Lease, on the real API server, which takes one write of each version."""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from podrules.cluster.client import ClientTransport
from podrules.cluster.transport import Response
from tests.controlplane.client import ApiError, Object
from tests.controlplane.control_plane import ControlPlane
from webhook.certificates.election import Election
from webhook.settings import ObjectRef

pytestmark = pytest.mark.controlplane

COORDINATION = "coordination.k8s.io/v1"


class _Slow(ClientTransport):
    """Its writes wait for a gate."""

    def __init__(self, kubeconfig: Path) -> None:
        super().__init__(kubeconfig=str(kubeconfig), request_timeout=10)
        self.gate = threading.Event()
        self.gate.set()

    def send(self, method: str, path: str, body: bytes, content_type: str = "application/json") -> Response:
        self.gate.wait(10)
        return super().send(method, path, body, content_type)


class Candidates:
    """Those who would hold one Lease."""

    def __init__(self, control_plane: ControlPlane, namespace: str) -> None:
        self._control_plane = control_plane
        self.namespace = namespace
        self.api = control_plane.api

    @property
    def spec(self) -> Object:
        """The Lease's spec; nothing when there is no Lease."""
        try:
            found: Object = self.api.get(COORDINATION, "Lease", "tls", self.namespace)["spec"]
        except ApiError:
            return {}
        return found

    @property
    def labels(self) -> Object:
        """The Lease's labels."""
        found: Object = self.api.get(COORDINATION, "Lease", "tls", self.namespace)["metadata"]["labels"]
        return found

    def write(self, **spec: object) -> None:
        """Write the Lease as another holder does."""
        metadata = {"name": "tls", "namespace": self.namespace, "labels": {"team": "platform"}}
        self.api.apply([{"apiVersion": COORDINATION, "kind": "Lease", "metadata": metadata, "spec": spec}])

    def delete(self) -> None:
        """Delete the Lease."""
        metadata = {"name": "tls", "namespace": self.namespace}
        self.api.delete({"apiVersion": COORDINATION, "kind": "Lease", "metadata": metadata})

    @contextmanager
    def taking_part(
        self,
        identity: str,
        *,
        duration: int = 1,
        ahead: timedelta = timedelta(),
        changes: list[str] | None = None,
        transport: ClientTransport | None = None,
    ) -> Iterator[Election]:
        """One of them, until the block ends; ``changes`` gets its name whenever it begins or ceases to hold."""
        election = Election(
            transport or self.slow_transport(),
            ObjectRef(self.namespace, "tls"),
            identity=identity,
            duration=duration,
            clock=lambda: datetime.now(UTC) + ahead,
            on_change=lambda: (changes if changes is not None else []).append(identity),
        )
        thread = threading.Thread(target=election.run)
        thread.start()
        try:
            yield election
        finally:
            election.stop(timeout=10)
            thread.join()

    def slow_transport(self) -> _Slow:
        """One that can be made to wait."""
        return _Slow(self._control_plane.admin_kubeconfig)

    def wait_for(self, condition: Callable[[], object], what: str) -> None:
        """See `ControlPlane.wait_for`."""
        self._control_plane.wait_for(condition, what)


@pytest.fixture
def candidates(control_plane: ControlPlane, namespace: str) -> Candidates:
    return Candidates(control_plane, namespace)


def test_the_first_holds_it_and_the_next_when_it_is_given_back(candidates: Candidates) -> None:
    with candidates.taking_part("first", duration=15) as first:
        candidates.wait_for(lambda: first.held, "the first holds it")
        assert candidates.spec["leaseTransitions"] == 0
        with candidates.taking_part("second", duration=5) as second:
            first.stop(timeout=10)
            # The first one's duration is not waited for.
            candidates.wait_for(lambda: second.held, "the second holds it")
            assert not first.held
            assert candidates.spec["holderIdentity"] == "second"
            assert candidates.spec["leaseTransitions"] == 1
    assert "holderIdentity" not in candidates.spec


def test_a_lease_without_a_holder_is_taken_and_keeps_its_labels(candidates: Candidates) -> None:
    """As the chart makes it."""
    candidates.write()
    with candidates.taking_part("first") as first:
        candidates.wait_for(lambda: first.held, "the first holds it")
        assert candidates.spec["leaseDurationSeconds"] == 1
    assert candidates.labels == {"team": "platform"}


@pytest.mark.parametrize("renewed", ["1999-12-31T23:59:59", "2199-12-31T23:59:59"])
def test_a_holder_has_it_while_it_is_seen_to_renew_whatever_its_clock(candidates: Candidates, renewed: str) -> None:
    def renew(number: int) -> None:
        candidates.write(holderIdentity="other", leaseDurationSeconds=4, renewTime=f"{renewed}.{number:06}Z")

    changes: list[str] = []
    renew(0)
    with candidates.taking_part("first", changes=changes) as first:
        # For longer than the Lease lasts, and often enough for a machine that does other things between two of them.
        started = time.monotonic()
        for number in itertools.count(1):
            time.sleep(0.4)
            renew(number)
            if time.monotonic() > started + 5:
                break
        assert changes == []
        # It is heard of no more.
        candidates.wait_for(lambda: first.held, "the first holds it")
    assert set(changes) == {"first"}


def test_a_renewal_that_comes_late_is_told_to_who_found_it_lapsed(candidates: Candidates) -> None:
    """Else the keeper would sleep on, which has seen in between that it is not the one that writes."""
    changes: list[str] = []
    transport = candidates.slow_transport()
    with candidates.taking_part("first", duration=5, changes=changes, transport=transport) as first:
        candidates.wait_for(lambda: first.held, "the first holds it")
        transport.gate.clear()
        candidates.wait_for(lambda: not first.held, "it has lapsed")
        changes.clear()
        transport.gate.set()
        candidates.wait_for(lambda: first.held and changes, "it is told")


def test_what_another_has_taken_is_given_up(candidates: Candidates) -> None:
    with candidates.taking_part("first") as first:
        candidates.wait_for(lambda: first.held, "the first holds it")
        candidates.write(holderIdentity="other", leaseDurationSeconds=60)
        candidates.wait_for(lambda: not first.held, "it knows")
    assert candidates.spec["holderIdentity"] == "other"


def test_a_deleted_lease_is_made_again_as_it_was(candidates: Candidates) -> None:
    candidates.write()
    with candidates.taking_part("first", duration=5) as first:
        candidates.wait_for(lambda: first.held, "the first holds it")
        candidates.delete()
        candidates.wait_for(lambda: candidates.spec.get("holderIdentity") == "first", "it is there again")
    assert candidates.labels == {"team": "platform"}


def test_a_write_of_somebody_else_in_between_costs_nothing(candidates: Candidates) -> None:
    """As an upgrade of the chart that changes labels."""
    changes: list[str] = []
    with candidates.taking_part("first", duration=15, changes=changes) as first:
        candidates.wait_for(lambda: first.held, "the first holds it")
        candidates.write()
        before = candidates.spec["renewTime"]
        candidates.wait_for(lambda: candidates.spec["renewTime"] != before, "it is renewed")
        assert changes == ["first"]


@pytest.mark.parametrize("ahead", [timedelta(days=200), timedelta(days=-200), timedelta(seconds=5)])
def test_how_far_the_clock_is_ahead_of_the_api_servers(candidates: Candidates, ahead: timedelta) -> None:
    """Of the holder, and of one that only looks on."""
    with candidates.taking_part("first", duration=5) as first:
        candidates.wait_for(lambda: first.held, "the first holds it")
        with candidates.taking_part("second", duration=5, ahead=ahead) as second:
            if abs(ahead) < timedelta(seconds=10):
                candidates.delete()
                candidates.wait_for(lambda: candidates.spec.get("holderIdentity"), "it is renewed")
                assert second.ahead == timedelta()
            else:
                candidates.wait_for(lambda: abs(second.ahead - ahead) < timedelta(minutes=1), "it is seen")
        assert first.ahead == timedelta()
    with candidates.taking_part("third", ahead=ahead) as third:
        candidates.wait_for(lambda: third.held, "the third holds it")
        assert abs(third.ahead - (ahead if abs(ahead) > timedelta(seconds=10) else timedelta())) < timedelta(minutes=1)
