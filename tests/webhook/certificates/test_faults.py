"""What befalls the certificate, on the real API server. All the while pods are made and patched, none is refused."""

from __future__ import annotations

import http.client
import os
import re
import signal
import ssl
import threading
import urllib.request
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509

from podrules.cluster.client import ClientTransport
from tests.controlplane.client import Object
from tests.controlplane.control_plane import ControlPlane
from tests.webhook.balancer import Balancer
from tests.webhook.certificates.fleet import ADMISSION, Fleet
from tests.webhook.installation import Replica
from webhook.certificates.keeper import CertificateKeeper
from webhook.certificates.pair import authorities_in, make_pair
from webhook.certificates.serving import ServingContext
from webhook.settings import KeptCertificate, ObjectRef

pytestmark = pytest.mark.controlplane

LIFETIME = "48s"
"""The Lease lasts 4 s then, and so does it until the next certificate is served."""
GARBAGE = b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"


@pytest.fixture(scope="module")
def installed(control_plane: ControlPlane, helm: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fleet]:
    """A release that the tests of this module share."""
    name = "certificate-faults"
    control_plane.create_namespace(name)
    with Balancer() as balancer:
        fleet = Fleet(control_plane, helm, tmp_path_factory.mktemp("fleet"), balancer, name)
        try:
            fleet.install(lifetime=LIFETIME)
            yield fleet
        finally:
            fleet.remove()
            control_plane.api.delete({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})


@pytest.fixture
def running(installed: Fleet) -> Fleet:
    """Two replicas at work, of which the API server calls the one that does not write."""
    while len(installed.replicas) < 2:
        installed.start()
    installed.lead_to(_other(installed))
    # Else a certificate that an earlier test has left staged would come into service at any moment.
    installed.wait_for(installed.is_settled, "nothing is under way")
    return installed


def _holds_still(bundle: bytes, before: bytes) -> bool:
    """Whether a bundle ends with all authorities of an earlier one that have not expired since."""
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


def test_A_deleted_secret_is_made_again_with_what_is_served(running: Fleet) -> None:
    (bundle,) = running.bundles()
    with running.unnoticed(*running.replicas):
        served = running.connect_pem(running.replicas[0].port)
        labels = running.secret_labels()
        running.delete_secret()
        kept = running.wait_for(running.whole, "the Secret is made again")
        assert kept["tls.crt"] == served
        # Whoever deleted it may have wanted another one.
        running.wait_for(
            lambda: {running.connect_pem(replica.port) for replica in running.replicas} == {kept["next.crt"]},
            "all serve the next one",
        )
    (told,) = running.bundles()
    assert _holds_still(told, bundle)
    # It is the release's still: an upgrade takes it, and uninstalling takes it away.
    assert running.secret_labels() == labels
    assert labels["app.kubernetes.io/managed-by"] == "Helm"


@pytest.mark.parametrize(
    "spoilt",
    [
        pytest.param({"tls_crt": GARBAGE}, id="certificate of garbage"),
        pytest.param({"tls_key": b"\x00\xff"}, id="key of garbage"),
        pytest.param({"ca_crt": None}, id="no authorities"),
        pytest.param(dict.fromkeys(("tls_crt", "tls_key", "next_crt", "next_key", "ca_crt"), b""), id="empty"),
    ],
)
def test_A_corrupted_secret_is_mended_with_what_is_served(running: Fleet, spoilt: dict[str, bytes | None]) -> None:
    with running.unnoticed(*running.replicas):
        before = running.secret()
        running.spoil(**spoilt)
        wrong = {name.replace("_", "."): value for name, value in spoilt.items()}

        def mended() -> dict[str, bytes]:
            found = running.whole()
            return found if all(found.get(name) not in {None, b"", value} for name, value in wrong.items()) else {}

        kept = running.wait_for(mended, "the Secret is mended")
        assert kept["tls.crt"] in {before["tls.crt"], before.get("next.crt")}
        assert _holds_still(kept["ca.crt"], before["ca.crt"])


def test_A_corrupted_secret_that_is_another_clusters_is_told_before_it_is_served(running: Fleet) -> None:
    """As when a backup is restored: it is whole, and the API server does not know it."""
    foreign = make_pair(running.names, now=datetime.now(UTC), lifetime=timedelta(days=1))
    with running.unnoticed(*running.replicas):
        (known,) = running.bundles()
        restored = {"tls_crt": foreign.certificate, "tls_key": foreign.key, "ca_crt": foreign.authority}
        running.spoil(**restored, next_crt=None, next_key=None)
        running.wait_for(
            lambda: all(running.connect_pem(replica.port) == foreign.certificate for replica in running.replicas),
            "it is served",
        )
        (told,) = running.bundles()
    assert foreign.authority in told
    assert _holds_still(told, known)


def test_A_hot_reload_cuts_no_connection(running: Fleet) -> None:
    (bundle,) = running.bundles()
    kept = {}
    for replica in running.replicas:
        trusting = ssl.create_default_context(cadata=bundle.decode())
        kept[replica] = http.client.HTTPSConnection("127.0.0.1", replica.port, context=trusting, timeout=60)
    shown = {replica: _asked(connection) for replica, connection in kept.items()}
    with running.unnoticed(*running.replicas):
        running.delete_secret()
        for replica, old in shown.items():
            running.wait_for(lambda: running.connect(replica.port) != old, "another certificate is served")  # noqa: B023
    assert {replica: _asked(connection) for replica, connection in kept.items()} == shown
    for connection in kept.values():
        connection.close()


def _asked(connection: http.client.HTTPSConnection) -> bytes:
    """The certificate of this connection, after a question on it; a broken one is not opened again."""
    if connection.sock is None:
        connection.connect()
    connection.auto_open = False
    connection.request("GET", "/readyz")
    answer = connection.getresponse()
    assert (answer.status, answer.read()) == (200, b"ok\n")
    assert isinstance(connection.sock, ssl.SSLSocket)
    return connection.sock.getpeercert(binary_form=True) or b""


# Webhook configurations


def test_A_foreign_configurations_are_never_touched(running: Fleet) -> None:
    """Neither one of another name that calls the same host, nor, in our own, an entry that calls another."""
    api, (ours, _) = running.api, running.configurations()
    bundle = ours["webhooks"][0]["clientConfig"]["caBundle"]
    entry: Object = {
        "name": "foreign.example.com",
        "clientConfig": {"url": "https://foreign.example.com/mutate", "caBundle": bundle},
        "rules": [{"apiGroups": ["example.com"], "apiVersions": ["v1"], "resources": ["x"], "operations": ["CREATE"]}],
        "admissionReviewVersions": ["v1"],
        "sideEffects": "None",
    }
    same_host = {**entry, "clientConfig": ours["webhooks"][0]["clientConfig"]}
    name = f"foreign-{running.release_namespace}"
    foreign: Object = {
        "apiVersion": ADMISSION,
        "kind": ours["kind"],
        "metadata": {"name": name},
        "webhooks": [entry, {**same_host, "name": "same-host.example.com"}],
    }
    stored = api.create(foreign)
    path = api.path(ADMISSION, ours["kind"], None, running.configuration)
    strategic = "application/strategic-merge-patch+json"
    api.request("PATCH", path, {"webhooks": [entry]}, content_type=strategic)
    try:
        running.delete_secret()

        def bundles() -> dict[str, str]:
            found, _ = running.configurations()
            return {webhook["name"]: webhook["clientConfig"]["caBundle"] for webhook in found["webhooks"]}

        running.wait_for(lambda: bundles()["pods.mutate.kubectl-qos.io"] != bundle, "ours is told of another")
        assert bundles()[entry["name"]] == bundle
        assert api.get(ADMISSION, ours["kind"], name) == stored
    finally:
        api.delete(foreign)
        gone = [{"$patch": "delete", "name": entry["name"]}]
        api.request("PATCH", path, {"webhooks": gone}, content_type=strategic)
    running.wait_for(running.is_whole, "all is told")


# Who writes


def test_A_one_writer_among_replicas(running: Fleet) -> None:
    """The others read, load what was written and are ready."""
    writer, other = running.writer, _other(running)
    holder = running.lease["holderIdentity"]
    running.delete_secret()
    running.wait_for(running.is_whole, "the Secret is made again")
    assert running.writes(writer)
    assert not running.writes(other)
    assert running.lease["holderIdentity"] == holder
    assert "serving the certificate" in running.log(other)


def test_A_expiry_of_what_is_served_is_measured(running: Fleet) -> None:
    """By every replica, also after another certificate came into service; the one that writes says so."""
    writer = running.writer

    def measured(replica: Replica) -> bool:
        found = _metrics(replica)
        end = x509.load_der_x509_certificate(running.connect(replica.port)).not_valid_after_utc.timestamp()
        assert found["authority_expiry_timestamp_seconds"] >= found["certificate_expiry_timestamp_seconds"]
        return found["certificate_expiry_timestamp_seconds"] == end and found["certificate_writer"] == (
            replica is writer
        )

    # Another may come into service between the two looks.
    running.wait_for(lambda: all(measured(replica) for replica in running.replicas), "what is served is measured")
    before = {replica.port: _metrics(replica) for replica in running.replicas}

    def renewed(replica: Replica) -> bool:
        found, known = _metrics(replica), before[replica.port]
        return found["certificate_renewals_total"] > known["certificate_renewals_total"] and (
            found["certificate_expiry_timestamp_seconds"] > known["certificate_expiry_timestamp_seconds"]
        )

    running.delete_secret()
    running.wait_for(lambda: all(renewed(replica) for replica in running.replicas), "the next one is measured")


def _metrics(replica: Replica) -> dict[str, float]:
    """Those of the certificate, by their names without what all have in common."""
    with urllib.request.urlopen(f"http://127.0.0.1:{replica.metrics_port}/metrics", timeout=60) as answer:
        text = answer.read().decode()
    return {name: float(value) for name, value in re.findall(r"^qos_webhook_(\w+) (\S+)$", text, re.MULTILINE)}


def test_A_writer_dies_another_takes_over(running: Fleet) -> None:
    writer, other = running.writer, _other(running)
    before = running.lease
    with running.unnoticed(other):
        running.kill(writer)
        running.delete_secret()
        running.wait_for(lambda: running.writes(other), "the other takes over")
        running.wait_for(running.is_whole, "the Secret is made again")
    after = running.lease
    assert after["holderIdentity"] != before["holderIdentity"]
    assert after["leaseTransitions"] == before["leaseTransitions"] + 1


def test_A_writer_pauses_and_does_not_write_when_it_goes_on(running: Fleet) -> None:
    writer, other = running.writer, _other(running)
    with running.unnoticed(other):
        os.killpg(writer.process.pid, signal.SIGSTOP)
        try:
            running.delete_secret()
            running.wait_for(lambda: running.writes(other), "the other takes over")
            running.wait_for(running.is_whole, "the Secret is made again")
            holder = running.lease["holderIdentity"]
        finally:
            os.killpg(writer.process.pid, signal.SIGCONT)
        running.wait_for(lambda: not running.writes(writer), "the paused one knows")
        assert running.lease["holderIdentity"] == holder

        def serves_the_same() -> bool:
            try:
                return running.connect(writer.port) == running.connect(other.port)
            except ssl.SSLError:
                # What it served before it paused may have expired.
                return False

        running.wait_for(serves_the_same, "it serves what the other wrote")


def test_A_lease_that_cannot_be_had_leaves_the_service_as_it_is(running: Fleet) -> None:
    """As with a ServiceAccount of somebody's own that lacks the rule."""
    role = running.api.get("rbac.authorization.k8s.io/v1", "Role", "qos-qos-webhook", running.release_namespace)
    without = [rule for rule in role["rules"] if rule["resources"] != ["leases"]]
    assert len(without) < len(role["rules"])
    writer = running.writer
    with running.unnoticed(*running.replicas):
        running.api.patch(role, {"rules": without})
        try:
            running.wait_for(lambda: not running.writes(writer), "nobody writes")
            for replica in running.replicas:
                running.wait_for(lambda: "is forbidden" in running.log(replica), "it is said")  # noqa: B023
                assert _is_ready(running, replica.port)
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
    """As after all replicas were away for longer than the certificate lives."""
    fleet.install(lifetime="90d")
    old = make_pair(fleet.names, now=datetime.now(UTC) - timedelta(days=91), lifetime=timedelta(days=90))
    fleet.spoil(tls_crt=old.certificate, tls_key=old.key, ca_crt=old.authority)
    fleet.lead_to(fleet.start())
    with fleet.unnoticed(*fleet.replicas):
        (bundle,) = fleet.bundles()
        assert old.authority not in bundle
        assert fleet.secret()["tls.crt"] != old.certificate


class _Skewed:
    """`CertificateKeeper` itself, with a clock that is wrong, as its own replica would have it."""

    def __init__(self, fleet: Fleet, ahead: timedelta) -> None:
        kubeconfig = fleet.control_plane.kubeconfig_for_service_account("qos-qos-webhook", fleet.release_namespace)
        settings = KeptCertificate(
            secret=ObjectRef(fleet.release_namespace, fleet.name),
            names=fleet.names,
            configuration=fleet.configuration,
            lifetime=48,
        )
        self.keeper = CertificateKeeper(
            ClientTransport(kubeconfig=str(kubeconfig), request_timeout=10, connections=8),
            settings,
            ServingContext(),
            clock=lambda: datetime.now(UTC) + ahead,
        )
        runs: list[Callable[[], None]] = [self.keeper.run, *(entry.run for entry in self.keeper.watched)]
        self._threads = [threading.Thread(target=run, daemon=True) for run in runs]

    def __enter__(self) -> CertificateKeeper:
        for thread in self._threads:
            thread.start()
        return self.keeper

    def __exit__(self, *_: object) -> None:
        for entry in self.keeper.watched:
            entry.stop()
        self.keeper.stop()


def test_A_clock_skew_of_the_writer_makes_no_certificate_out_of_its_time(fleet: Fleet) -> None:
    """Its clock is as wrong as it may be: the API server's counts, also for a replica whose clock is right."""
    fleet.install(lifetime=LIFETIME)
    with _Skewed(fleet, timedelta(days=-200)) as behind, _Skewed(fleet, timedelta(days=200)) as ahead:
        fleet.wait_for(lambda: ahead.ready and behind.ready, "the certificate is made")

        def writers() -> list[CertificateKeeper]:
            found = [keeper for keeper in (ahead, behind) if keeper.status().writer]
            return found if len(found) == 1 else []

        (first,) = fleet.wait_for(writers, "one of them writes")
        then = behind if first is ahead else ahead
        _assert_is_of_now(fleet.secret()["tls.crt"])
        first.stop()
        fleet.wait_for(lambda: then.status().writer, "the other one writes")
        fleet.delete_secret()
        kept = fleet.wait_for(fleet.whole, "the Secret is made again")
        _assert_is_of_now(kept["next.crt"])
        fleet.lead_to(fleet.start())
        with fleet.unnoticed(*fleet.replicas):
            then.stop()
            assert fleet.writer
            fleet.wait_for(fleet.is_whole, "all is told")
        _assert_is_of_now(fleet.secret()["tls.crt"])


def _assert_is_of_now(certificate: bytes) -> None:
    leaf, now = x509.load_pem_x509_certificate(certificate), datetime.now(UTC)
    assert leaf.not_valid_before_utc < now - timedelta(minutes=50)
    assert now < leaf.not_valid_after_utc < now + timedelta(minutes=1)


def test_A_clock_skew_of_another_replica_takes_nothing_from_the_writer(running: Fleet) -> None:
    """It sees a Lease that was renewed 200 days ago by its clock, and a certificate that has expired."""
    running.wait_for(lambda: "next.crt" not in running.secret(), "nothing is under way")
    holder = running.lease["holderIdentity"]
    with running.unnoticed(*running.replicas), _Skewed(running, timedelta(days=200)) as skewed:
        running.wait_for(lambda: skewed.ready, "it is ready")
        assert not skewed.status().writer
        end = skewed.status().not_after
        assert end is not None
        assert end - datetime.now(UTC) < timedelta(seconds=48)
    assert running.lease["holderIdentity"] == holder


def test_A_writer_that_ends_in_order_gives_the_lease_back(running: Fleet) -> None:
    """Nobody else is there to take it, so what it wrote last is seen."""
    running.end(_other(running))
    running.end(running.writer)
    assert "holderIdentity" not in running.lease
