"""Faults of the certificate, on the real API server. Meanwhile pods are created and patched, and none is refused.

Certificates are valid for 90 days. Others come into service, and Leases expire, when a test lets time pass.
"""

from __future__ import annotations

import http.client
import os
import re
import signal
import ssl
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509

from podrules.qos_webhook.rules import ObjectRef
from tests.controlplane.control_plane import ControlPlane
from tests.objects import raw_object, raw_webhook, raw_webhook_configuration
from tests.waiting import wait_for
from tests.webhook.balancer import Balancer
from tests.webhook.certificates.fleet import ADMISSION, Fleet, patiently
from tests.webhook.certificates.keepers import Keeping
from tests.webhook.installation import Replica
from tests.webhook.scraping import scraped
from webhook.certificates.pair import authorities_in, make_pair

pytestmark = pytest.mark.controlplane

GARBAGE = b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"


@pytest.fixture(scope="module")
def installed(control_plane: ControlPlane, helm: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fleet]:
    """A release that the tests of this module share."""
    name = "certificate-faults"
    control_plane.create_namespace(name)
    with Balancer() as balancer:
        fleet = Fleet(control_plane, helm, tmp_path_factory.mktemp("fleet"), balancer, name)
        try:
            fleet.install()
            yield fleet
        finally:
            fleet.remove()
            control_plane.api.delete(raw_object("Namespace", name))


@pytest.fixture
def running(installed: Fleet) -> Fleet:
    """Two running replicas; the API server calls the one that does not write."""
    while len(installed.replicas) < 2:
        installed.start()
    installed.settle()
    installed.lead_to(_other(installed))
    return installed


def _holds_still(bundle: bytes, before: bytes) -> bool:
    """Whether a bundle ends with all unexpired authorities of an earlier one."""
    now = datetime.now(UTC)
    known = authorities_in(before, now=now)
    found = authorities_in(bundle, now=now)
    return found[len(found) - len(known) :] == known


def _other(fleet: Fleet) -> Any:
    """The replica that does not write."""
    writer = fleet.writer
    (other,) = (replica for replica in fleet.replicas if replica is not writer)
    return other


# The Secret


def test_A_emptied_secret_is_restored_from_memory(running: Fleet) -> None:
    (bundle,) = running.bundles()
    with running.unnoticed(*running.replicas):
        served = running.connect_pem(running.replicas[0].port)
        running.empty_secret()
        kept = wait_for(running.whole, "the Secret is filled again")
        assert kept["tls.crt"] == served
        # A user who empties it may want another certificate.
        running.come_into_service(kept["next.crt"])
    (published,) = running.bundles()
    assert _holds_still(published, bundle)


def test_A_upgrade_recreates_a_deleted_secret_and_lease(running: Fleet) -> None:
    """The program may not create them. It keeps serving, logs the remedy, and renews nothing meanwhile."""
    served = running.connect_pem(running.replicas[0].port)
    labels = running.secret_labels()
    with running.unnoticed(*running.replicas):
        running.delete_secret()
        missing = f"secrets/{running.name} does not exist, and this program may not create it: helm upgrade does"
        wait_for(lambda: any(missing in running.log(replica) for replica in running.replicas), "it is said")
        running.delete_lease()
        missing = f"leases/{running.name} does not exist, and this program may not create it: helm upgrade does"
        running.let_lapse(lambda: any(missing in running.log(replica) for replica in running.replicas), "it is said")
        assert not running.secret()
        running.upgrade()
        running.let_lapse(lambda: "renewTime" in running.lease, "the Lease is held again")
        kept = running.let_lapse(running.whole, "the Secret is filled again")
        assert kept["tls.crt"] == served
        running.come_into_service(kept["next.crt"])
    assert running.secret_labels() == labels


@pytest.mark.parametrize(
    "spoilt",
    [
        pytest.param({"tls_crt": GARBAGE}, id="certificate of garbage"),
        pytest.param({"tls_key": b"\x00\xff"}, id="key of garbage"),
        pytest.param({"ca_crt": None}, id="no authorities"),
        pytest.param(dict.fromkeys(("tls_crt", "tls_key", "next_crt", "next_key", "ca_crt"), b""), id="empty"),
    ],
)
def test_A_corrupted_secret_is_restored_from_memory(running: Fleet, spoilt: dict[str, bytes | None]) -> None:
    with running.unnoticed(*running.replicas):
        before = running.secret()
        running.spoil(**spoilt)
        wrong = {name.replace("_", "."): value for name, value in spoilt.items()}

        def mended() -> dict[str, bytes]:
            found = running.whole()
            return found if all(found.get(name) not in {None, b"", value} for name, value in wrong.items()) else {}

        kept = wait_for(mended, "the Secret is mended")
        assert kept["tls.crt"] in {before["tls.crt"], before.get("next.crt")}
        assert _holds_still(kept["ca.crt"], before["ca.crt"])


def test_A_foreign_secret_is_published_before_it_is_served(running: Fleet) -> None:
    """Like a restored backup: it is complete, and the API server does not know it."""
    foreign = make_pair(running.names, now=datetime.now(UTC), lifetime=timedelta(days=1))
    with running.unnoticed(*running.replicas):
        (known,) = running.bundles()
        restored = {"tls_crt": foreign.certificate, "tls_key": foreign.key, "ca_crt": foreign.authority}
        running.spoil(**restored, next_crt=None, next_key=None)
        wait_for(lambda: all(foreign.authority in bundle for bundle in running.bundles()), "it is published")
        assert foreign.certificate not in {running.connect_pem(replica.port) for replica in running.replicas}
        running.come_into_service(foreign.certificate)
        (published,) = running.bundles()
    assert foreign.authority in published
    assert _holds_still(published, known)


def test_A_hot_reload_cuts_no_connection(running: Fleet) -> None:
    (bundle,) = running.bundles()
    kept = {}
    for replica in running.replicas:
        trusting = ssl.create_default_context(cadata=bundle.decode())
        kept[replica] = http.client.HTTPSConnection("127.0.0.1", replica.port, context=trusting, timeout=60)
    shown = {replica: _asked(connection) for replica, connection in kept.items()}
    with running.unnoticed(*running.replicas):
        running.renew()
        assert all(running.connect(replica.port) != old for replica, old in shown.items())
    assert {replica: _asked(connection) for replica, connection in kept.items()} == shown
    for connection in kept.values():
        connection.close()


def _asked(connection: http.client.HTTPSConnection) -> bytes:
    """The certificate of this connection, after a request on it; a broken connection is not reopened."""
    if connection.sock is None:
        patiently(connection.connect)
    connection.auto_open = False
    connection.request("GET", "/readyz")
    answer = connection.getresponse()
    assert (answer.status, answer.read()) == (200, b"ok\n")
    assert isinstance(connection.sock, ssl.SSLSocket)
    return connection.sock.getpeercert(binary_form=True) or b""


# Webhook configurations


def test_A_foreign_configurations_are_never_touched(running: Fleet) -> None:
    """Neither one with another name that calls the same host, nor an entry in our own that calls another host."""
    api, (ours, _) = running.api, running.configurations()
    bundle = ours["webhooks"][0]["clientConfig"]["caBundle"]
    reviewed = {"x.example.com": ["CREATE"]}
    client = {"url": "https://foreign.example.com/mutate", "caBundle": bundle}
    entry = raw_webhook("foreign.example.com", client, reviewed)
    same_host = raw_webhook("same-host.example.com", ours["webhooks"][0]["clientConfig"], reviewed)
    name = f"foreign-{running.release_namespace}"
    foreign = raw_webhook_configuration(name, entry, same_host)
    assert foreign["kind"] == ours["kind"]
    stored = api.create(foreign)
    path = api.path(ADMISSION, ours["kind"], None, running.configuration)
    strategic = "application/strategic-merge-patch+json"
    api.request("PATCH", path, {"webhooks": [entry]}, content_type=strategic)
    try:
        running.empty_secret()

        def bundles() -> dict[str, str]:
            found, _ = running.configurations()
            return {webhook["name"]: webhook["clientConfig"]["caBundle"] for webhook in found["webhooks"]}

        wait_for(lambda: bundles()["pods.mutate.kubectl-qos.io"] != bundle, "ours gets another")
        assert bundles()[entry["name"]] == bundle
        assert api.get(ADMISSION, ours["kind"], name) == stored
    finally:
        api.delete(foreign)
        gone = [{"$patch": "delete", "name": entry["name"]}]
        api.request("PATCH", path, {"webhooks": gone}, content_type=strategic)
    wait_for(running.is_whole, "everything is published")


def test_A_ca_bundle_is_restored_while_the_writer_is_dead(running: Fleet) -> None:
    """By the other replica, long before the Lease expires."""
    writer, other = running.writer, _other(running)
    holder = running.lease["holderIdentity"]
    running.kill(writer)
    running.wipe_bundles()
    wait_for(running.is_whole, "caBundle is written again")
    assert running.refusal() == ""
    assert running.lease["holderIdentity"] == holder
    assert not running.writes(other)


# The writer


def test_A_one_writer_among_replicas(running: Fleet) -> None:
    """The others read, load the written certificate and are ready."""
    writer, other = running.writer, _other(running)
    holder = running.lease["holderIdentity"]
    running.empty_secret()
    wait_for(running.is_whole, "the Secret is filled again")
    assert running.writes(writer)
    assert not running.writes(other)
    assert running.lease["holderIdentity"] == holder
    assert "serving the certificate" in running.log(other)


def test_A_expiry_of_the_served_certificate_is_measured(running: Fleet) -> None:
    """By every replica, also after another certificate came into service; the writer reports itself."""
    writer = running.writer

    def measured(replica: Replica) -> bool:
        found = _metrics(replica)
        end = x509.load_der_x509_certificate(running.connect(replica.port)).not_valid_after_utc.timestamp()
        assert found["authority_expiry_timestamp_seconds"] >= found["certificate_expiry_timestamp_seconds"]
        return found["certificate_expiry_timestamp_seconds"] == end and found["certificate_writer"] == (
            replica is writer
        )

    wait_for(lambda: all(measured(replica) for replica in running.replicas), "what is served is measured")
    before = {replica.port: _metrics(replica)["certificate_renewals_total"] for replica in running.replicas}

    def renewed(replica: Replica) -> bool:
        return _metrics(replica)["certificate_renewals_total"] > before[replica.port] and measured(replica)

    running.renew()
    wait_for(lambda: all(renewed(replica) for replica in running.replicas), "the next one is measured")


def _metrics(replica: Replica) -> dict[str, float]:
    """The metrics of the certificate, by name without the common prefix."""
    text = scraped(replica.metrics_port)
    return {name: float(value) for name, value in re.findall(r"^qos_webhook_(\w+) (\S+)$", text, re.MULTILINE)}


def test_A_writer_dies_another_takes_over(running: Fleet) -> None:
    writer, other = running.writer, _other(running)
    before = running.lease
    with running.unnoticed(other):
        running.kill(writer)
        running.empty_secret()
        running.let_lapse(lambda: running.writes(other), "the other takes over")
        wait_for(running.is_whole, "the Secret is filled again")
    after = running.lease
    assert after["holderIdentity"] != before["holderIdentity"]
    assert after["leaseTransitions"] == before["leaseTransitions"] + 1


def test_A_paused_writer_does_not_write_when_it_resumes(running: Fleet) -> None:
    writer, other = running.writer, _other(running)
    with running.unnoticed(other):
        os.killpg(writer.process.pid, signal.SIGSTOP)
        try:
            running.empty_secret()
            running.let_lapse(lambda: running.writes(other), "the other takes over")
            kept = wait_for(running.whole, "the Secret is filled again")
            running.be_known()
            running.let_pass(lambda: running.connect_pem(other.port) == kept["next.crt"], "the other serves the next")
            holder = running.lease["holderIdentity"]
        finally:
            os.killpg(writer.process.pid, signal.SIGCONT)
        running.let_pass(lambda: not running.writes(writer), "the paused one knows")
        assert running.lease["holderIdentity"] == holder
        running.let_pass(lambda: running.serve(kept["next.crt"]), "it serves what the other wrote")


def test_A_unavailable_lease_does_not_affect_serving(running: Fleet) -> None:
    """Like a user's ServiceAccount that lacks the rule."""
    role = running.api.get("rbac.authorization.k8s.io/v1", "Role", "qos-qos-webhook", running.release_namespace)
    without = [rule for rule in role["rules"] if rule["resources"] != ["leases"]]
    assert len(without) < len(role["rules"])
    writer = running.writer
    with running.unnoticed(*running.replicas):
        running.api.patch(role, {"rules": without})
        try:
            running.let_lapse(lambda: not running.writes(writer), "no replica writes")
            for replica in running.replicas:
                running.let_lapse(lambda: "is forbidden" in running.log(replica), "it is said")  # noqa: B023
                assert patiently(lambda: _is_ready(running, replica.port))  # noqa: B023
        finally:
            running.api.patch(role, {"rules": role["rules"]})
        assert running.writer


def _is_ready(fleet: Fleet, port: int) -> bool:
    (bundle,) = fleet.bundles()
    trusting = ssl.create_default_context(cadata=bundle.decode())
    connection = http.client.HTTPSConnection("127.0.0.1", port, context=trusting, timeout=60)
    connection.request("GET", "/readyz")
    status = connection.getresponse().status
    connection.close()
    return status == 200


# Time


def test_A_expired_authority_is_replaced_before_the_first_review(fleet: Fleet) -> None:
    """Like after all replicas were away for longer than the certificate is valid."""
    fleet.install()
    old = make_pair(fleet.names, now=datetime.now(UTC) - timedelta(days=91), lifetime=timedelta(days=90))
    fleet.spoil(tls_crt=old.certificate, tls_key=old.key, ca_crt=old.authority)
    fleet.lead_to(fleet.start())
    with fleet.unnoticed(*fleet.replicas):
        (bundle,) = fleet.bundles()
        assert old.authority not in bundle
        assert fleet.secret()["tls.crt"] != old.certificate


def test_A_writers_clock_skew_makes_no_invalid_certificate(moved_fleet: Fleet) -> None:
    """Its clock has the largest possible error: the API server's time counts, also for a correct replica."""
    moved_fleet.install()
    with _skewed(moved_fleet, timedelta(days=-200)) as behind, _skewed(moved_fleet, timedelta(days=200)) as ahead:
        moved_fleet.let_lapse(lambda: ahead.keeper.ready and behind.keeper.ready, "the certificate is made")

        def writers() -> list[Keeping]:
            found = [keeping for keeping in (ahead, behind) if keeping.keeper.status().writer]
            return found if len(found) == 1 else []

        (first,) = moved_fleet.let_lapse(writers, "one of them writes")
        then = behind if first is ahead else ahead
        _assert_is_of_now(moved_fleet.secret()["tls.crt"])
        first.keeper.stop()
        moved_fleet.let_lapse(lambda: then.keeper.status().writer, "the other one writes")
        moved_fleet.empty_secret()
        kept = wait_for(moved_fleet.whole, "the Secret is filled again")
        _assert_is_of_now(kept["next.crt"])
        moved_fleet.lead_to(moved_fleet.start())
        with moved_fleet.unnoticed(*moved_fleet.replicas):
            then.keeper.stop()
            assert moved_fleet.writer
            wait_for(moved_fleet.is_whole, "everything is published")
        _assert_is_of_now(moved_fleet.secret()["tls.crt"])


def _skewed(fleet: Fleet, ahead: timedelta) -> Keeping:
    """A keeper with a wrong clock, as its own replica would have it."""
    kubeconfig = fleet.control_plane.kubeconfig_for_service_account("qos-qos-webhook", fleet.release_namespace)
    return Keeping(
        kubeconfig,
        secret=ObjectRef(fleet.release_namespace, fleet.name),
        names=fleet.names,
        configuration=fleet.configuration,
        elapsed=fleet.clock,
        clock=lambda: datetime.now(UTC) + ahead,
    )


def _assert_is_of_now(certificate: bytes) -> None:
    leaf, now = x509.load_pem_x509_certificate(certificate), datetime.now(UTC)
    assert timedelta(minutes=50) < now - leaf.not_valid_before_utc < timedelta(minutes=90)
    # The error of a clock is known to a second or two.
    assert timedelta(days=89) < leaf.not_valid_after_utc - now < timedelta(days=90, minutes=1)


def test_A_clock_skew_of_another_replica_keeps_the_writer(running: Fleet) -> None:
    """It sees a Lease that was renewed 200 days ago by its clock, and an expired certificate."""
    holder = running.lease["holderIdentity"]
    with running.unnoticed(*running.replicas), _skewed(running, timedelta(days=200)) as skewed:
        running.let_pass(lambda: skewed.keeper.ready, "it is ready")
        assert not skewed.keeper.status().writer
        end = skewed.keeper.status().not_after
        assert end is not None
        assert end - datetime.now(UTC) < timedelta(days=90, minutes=1)
    assert running.lease["holderIdentity"] == holder


def test_A_writer_releases_the_lease_when_it_ends(running: Fleet) -> None:
    """No other replica can take it, so its last write is visible."""
    running.end(_other(running))
    running.end(running.writer)
    assert "holderIdentity" not in running.lease
