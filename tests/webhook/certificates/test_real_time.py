"""Waits for a Lease to expire and for clients to learn of a certificate, with the machine's own clock."""

from __future__ import annotations

import pytest

from tests.waiting import wait_for
from tests.webhook.certificates.fleet import Fleet

pytestmark = [
    pytest.mark.controlplane,
    pytest.mark.long("test_A_writer_dies_another_takes_over, by a clock that the test sets forward"),
]


def test_A_writer_dies_and_another_takes_over_and_renews(fleet: Fleet) -> None:
    fleet.install()
    writer = fleet.start()
    other = fleet.start()
    fleet.lead_to(other)
    before = fleet.lease
    with fleet.unnoticed(other):
        fleet.kill(writer)
        fleet.empty_secret()
        wait_for(lambda: fleet.writes(other), "the other takes over", timeout=300)
        kept = wait_for(fleet.whole, "the Secret is filled again")
        assert fleet.serve(kept["tls.crt"])
        wait_for(lambda: fleet.serve(kept["next.crt"]), "the next one is served", timeout=300)
    assert fleet.lease["leaseTransitions"] == before["leaseTransitions"] + 1
