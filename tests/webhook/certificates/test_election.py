"""The holder of the Lease, on the real API server, which accepts one write per version; with a test clock."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from podrules.qos_webhook.rules import ObjectRef
from tests.controlplane.client import Object
from tests.controlplane.control_plane import ControlPlane
from tests.objects import raw_object
from tests.waiting import wait_for
from tests.webhook.certificates.gated import GatedTransport
from tests.webhook.certificates.moved_time import MovedTime
from webhook.certificates.election import Election

pytestmark = pytest.mark.controlplane

COORDINATION = "coordination.k8s.io/v1"
DURATION = 60
"""The Lease's duration, in seconds of the test's clock; a holder counts as such for two thirds of it."""
LOOK = 15
"""Slightly longer than a candidate waits between two checks."""


class Candidates:
    """The candidates for one Lease."""

    def __init__(self, control_plane: ControlPlane, namespace: str) -> None:
        self._control_plane = control_plane
        self.namespace = namespace
        self.api = control_plane.api
        self.elapsed = MovedTime()

    @property
    def lease(self) -> Object:
        """The stored Lease."""
        return self.api.get(COORDINATION, "Lease", "tls", self.namespace)

    @property
    def spec(self) -> Object:
        """The Lease's spec."""
        found: Object = self.lease["spec"]
        return found

    def write(self, **spec: Any) -> None:
        """Write the Lease as another holder would."""
        metadata = {"labels": {"team": "platform"}}
        lease = raw_object("Lease", "tls", self.namespace, apiVersion=COORDINATION, metadata=metadata)
        self.api.apply([{**lease, "spec": spec}])

    @contextmanager
    def taking_part(
        self,
        identity: str,
        *,
        ahead: timedelta = timedelta(),
        changes: list[str] | None = None,
        transport: GatedTransport | None = None,
    ) -> Iterator[Election]:
        """One candidate, until the block ends; ``changes`` gets its name whenever it gains or loses the Lease."""
        election = Election(
            transport or self.transport(),
            ObjectRef(self.namespace, "tls"),
            identity=identity,
            duration=DURATION,
            clock=lambda: datetime.now(UTC) + ahead,
            on_change=lambda: (changes if changes is not None else []).append(identity),
            elapsed=self.elapsed,
        )
        thread = threading.Thread(target=election.run)
        thread.start()
        try:
            # It has checked once.
            self.elapsed.let_do(thread)
            yield election
        finally:
            if transport is not None:
                transport.gate.set()
            election.stop(timeout=60)
            thread.join()

    def transport(self) -> GatedTransport:
        """A transport that can be made to wait."""
        return GatedTransport(self._control_plane.admin_kubeconfig)


@pytest.fixture
def candidates(control_plane: ControlPlane, namespace: str) -> Candidates:
    """For a Lease as the chart creates it."""
    found = Candidates(control_plane, namespace)
    found.write()
    return found


def _holds(election: Election) -> bool:
    """Whether it holds the Lease now; the answer may change a moment later."""
    return election.held


def test_next_replica_holds_the_lease_after_its_release(candidates: Candidates) -> None:
    with candidates.taking_part("first") as first:
        assert _holds(first)
        assert candidates.spec["leaseTransitions"] == 1
        with candidates.taking_part("second") as second:
            candidates.elapsed.let_pass(LOOK)
            assert not _holds(second)
            first.stop(timeout=60)
            # It does not wait for the first one's duration.
            candidates.elapsed.let_pass(LOOK)
            assert _holds(second)
            assert not _holds(first)
            assert candidates.spec["holderIdentity"] == "second"
            assert candidates.spec["leaseTransitions"] == 2
    assert "holderIdentity" not in candidates.spec


def test_lease_is_taken_after_any_number_of_transitions(candidates: Candidates) -> None:
    """A stolen token may write the largest number, and the API server accepts no larger one."""
    most = (1 << 31) - 1
    candidates.write(leaseTransitions=most)
    with candidates.taking_part("first") as first:
        assert _holds(first)
        assert candidates.spec["leaseTransitions"] == most


def test_lease_is_taken_from_a_holder_that_claims_it_for_years(candidates: Candidates) -> None:
    candidates.write(holderIdentity="thief", leaseDurationSeconds=(1 << 31) - 1)
    with candidates.taking_part("first") as first:
        assert not _holds(first)
        candidates.elapsed.let_pass(7200 + LOOK)
        assert _holds(first)


def test_a_lease_without_a_holder_is_taken_and_keeps_its_labels(candidates: Candidates) -> None:
    with candidates.taking_part("first") as first:
        assert _holds(first)
        assert candidates.spec["leaseDurationSeconds"] == DURATION
    assert candidates.lease["metadata"]["labels"] == {"team": "platform"}


def test_holder_that_cannot_renew_holds_two_thirds_of_duration(candidates: Candidates) -> None:
    """It stops before another replica may begin."""
    transport = candidates.transport()
    with candidates.taking_part("first", transport=transport) as first:
        assert _holds(first)
        transport.gate.clear()
        candidates.elapsed.set_forward(DURATION / 2)
        assert _holds(first)
        candidates.elapsed.set_forward(DURATION / 6)
        assert not _holds(first)


@pytest.mark.parametrize("renewed", ["1999-12-31T23:59:59", "2199-12-31T23:59:59"])
def test_holder_keeps_lease_while_it_renews_with_any_clock(candidates: Candidates, renewed: str) -> None:
    def renew(number: int) -> None:
        candidates.write(holderIdentity="other", leaseDurationSeconds=DURATION, renewTime=f"{renewed}.{number:06}Z")

    changes: list[str] = []
    renew(0)
    with candidates.taking_part("first", changes=changes) as first:
        # For longer than the duration of the Lease.
        for number in range(1, 9):
            candidates.elapsed.let_pass(LOOK)
            renew(number)
        candidates.elapsed.let_pass(LOOK)
        assert changes == []
        # It sends nothing more.
        candidates.elapsed.let_pass(DURATION / 2)
        assert not _holds(first)
        candidates.elapsed.let_pass(DURATION / 2)
        assert _holds(first)
    assert set(changes) == {"first"}


def test_late_renewal_notifies_who_found_the_lease_expired(candidates: Candidates) -> None:
    """Otherwise the keeper would keep sleeping after it had seen that its replica was not the writer."""
    changes: list[str] = []
    transport = candidates.transport()
    with candidates.taking_part("first", changes=changes, transport=transport) as first:
        assert _holds(first)
        transport.gate.clear()
        candidates.elapsed.set_forward(LOOK)
        wait_for(lambda: transport.held_back, "it is about to renew it")
        candidates.elapsed.set_forward(DURATION * 2 / 3 - LOOK)
        assert not _holds(first)
        changes.clear()
        transport.gate.set()
        wait_for(lambda: _holds(first) and changes, "it is notified")


def test_lease_taken_by_another_is_given_up(candidates: Candidates) -> None:
    with candidates.taking_part("first") as first:
        assert _holds(first)
        candidates.write(holderIdentity="other", leaseDurationSeconds=DURATION)
        # Its renewal is refused, and then it reads the Lease.
        candidates.elapsed.let_pass(LOOK)
        candidates.elapsed.let_pass(LOOK)
        assert not _holds(first)
    assert candidates.spec["holderIdentity"] == "other"


def test_deleted_lease_is_not_recreated_but_taken_once_it_exists(
    candidates: Candidates, caplog: pytest.LogCaptureFixture
) -> None:
    with candidates.taking_part("first") as first:
        assert _holds(first)
        candidates.api.delete(candidates.lease)
        # Its renewal finds no Lease, and then it reads.
        candidates.elapsed.let_pass(LOOK)
        candidates.elapsed.set_forward(DURATION)
        candidates.elapsed.let_pass(LOOK)
        assert not _holds(first)
        assert not candidates.api.list_items(COORDINATION, "Lease", candidates.namespace)
        assert "leases/tls does not exist, and this program may not create it: helm upgrade does" in caplog.text
        candidates.write()
        candidates.elapsed.let_pass(LOOK)
        assert candidates.spec["holderIdentity"] == "first"


def test_concurrent_write_is_retried(candidates: Candidates) -> None:
    """Like an upgrade of the chart that changes labels."""
    changes: list[str] = []
    with candidates.taking_part("first", changes=changes) as first:
        assert _holds(first)
        candidates.write()
        before = candidates.spec["renewTime"]
        candidates.elapsed.let_pass(LOOK)
        candidates.elapsed.let_pass(LOOK)
        assert candidates.spec["renewTime"] != before
        assert _holds(first)
        assert changes == ["first"]


@pytest.mark.parametrize("ahead", [timedelta(days=200), timedelta(days=-200), timedelta(seconds=5)])
def test_how_far_the_clock_is_ahead_of_the_api_servers(candidates: Candidates, ahead: timedelta) -> None:
    """The clock of the holder, and of a replica that only observes."""
    expected = ahead if abs(ahead) > timedelta(seconds=10) else timedelta()
    with candidates.taking_part("first") as first:
        assert _holds(first)
        with candidates.taking_part("second", ahead=ahead) as second:
            for _ in range(3):
                candidates.elapsed.let_pass(LOOK)
            assert abs(second.ahead - expected) < timedelta(minutes=2)
        assert first.ahead == timedelta()
    with candidates.taking_part("third", ahead=ahead) as third:
        assert _holds(third)
        assert abs(third.ahead - expected) < timedelta(minutes=2)
