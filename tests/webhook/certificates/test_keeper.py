"""`CertificateKeeper` on the real API server, with clocks that the test moves."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest

from podrules.qos_webhook.rules import ObjectRef
from tests.controlplane.client import Object
from tests.controlplane.control_plane import ControlPlane
from tests.objects import raw_object, raw_webhook, raw_webhook_configuration
from tests.waiting import wait_for
from tests.webhook.certificates.fleet import ADMISSION
from tests.webhook.certificates.keepers import LIFETIME, Keeping
from tests.webhook.certificates.moved_time import MovedTime
from webhook.certificates.pair import Pair, authorities_in, make_pair

pytestmark = pytest.mark.controlplane

NAMES = ("127.0.0.1",)


class Place:
    """A Secret, a Lease and an unused webhook configuration, as the chart creates them."""

    def __init__(self, control_plane: ControlPlane, namespace: str) -> None:
        self._kubeconfig = control_plane.admin_kubeconfig
        self._api = control_plane.api
        self.namespace = namespace
        self.elapsed = MovedTime()
        client = {"url": "https://127.0.0.1:1/"}
        webhook = raw_webhook("pods.mutate.example.com", client, {"x.example.com": ["CREATE"]})
        self.configuration = raw_webhook_configuration(f"keeper-{namespace}", webhook)
        self._secret = raw_object("Secret", "tls", namespace)
        self._lease = raw_object("Lease", "tls", namespace)
        self._api.apply([self._secret, self._lease])

    def keeping(self) -> Keeping:
        """The keeper of one more replica."""
        return Keeping(
            self._kubeconfig,
            secret=ObjectRef(self.namespace, "tls"),
            names=NAMES,
            configuration=self.configuration["metadata"]["name"],
            elapsed=self.elapsed,
        )

    def keep(self, pair: Pair) -> None:
        """Write a Secret as if it had been created earlier."""
        data = {"tls.crt": pair.certificate, "tls.key": pair.key, "ca.crt": pair.authority}
        encoded = {name: base64.b64encode(value).decode() for name, value in data.items()}
        self._api.apply([{**self._secret, "data": encoded}])

    def spoil(self, data: Object | None) -> None:
        """Change the Secret's data; None: remove all of it."""
        self._api.patch(self._secret, {"data": data})

    def let_another_write(self) -> None:
        """Make another holder keep the Lease forever."""
        spec = {"holderIdentity": "another", "leaseDurationSeconds": 10**9}
        self._api.patch(self._lease, {"spec": spec})

    def wipe_bundle(self) -> None:
        """Remove caBundle from the webhook."""
        found = self._configured()
        found["webhooks"][0]["clientConfig"].pop("caBundle")
        self._api.patch(found, {"webhooks": found["webhooks"]})

    def _configured(self) -> Object:
        return self._api.get(ADMISSION, self.configuration["kind"], self.configuration["metadata"]["name"])

    @property
    def secret(self) -> dict[str, bytes]:
        """The data of the Secret."""
        data = self._api.get("v1", "Secret", "tls", self.namespace).get("data", {})
        return {name: base64.b64decode(value) for name, value in data.items()}

    @property
    def holder(self) -> str | None:
        """The holder of the Lease."""
        spec: Object = self._api.get("coordination.k8s.io/v1", "Lease", "tls", self.namespace)["spec"]
        return spec.get("holderIdentity")

    def published(self) -> dict[str, bytes]:
        """The data of the Secret if its authorities are published, otherwise empty."""
        secret = self.secret
        bundle = base64.b64decode(self._configured()["webhooks"][0]["clientConfig"].get("caBundle", ""))
        return secret if secret.get("ca.crt") == bundle else {}

    def staged(self) -> dict[str, bytes]:
        """The same while there is a next certificate, otherwise empty."""
        published = self.published()
        return published if "next.crt" in published else {}


@pytest.fixture
def place(control_plane: ControlPlane, namespace: str) -> Iterator[Place]:
    found = Place(control_plane, namespace)
    with control_plane.holding([found.configuration]):
        yield found


def _aged(days: int) -> Pair:
    return make_pair(NAMES, now=datetime.now(UTC) - timedelta(days=days), lifetime=LIFETIME)


def test_A_certificate_in_its_first_two_thirds_stays(place: Place) -> None:
    pair = _aged(59)
    place.keep(pair)
    with place.keeping() as replica:
        wait_for(lambda: place.published() and replica.keeper.ready, "it is published")
        # Longer than an hour, after which everything is checked again.
        place.elapsed.let_pass(4000)
        assert place.secret == {"tls.crt": pair.certificate, "tls.key": pair.key, "ca.crt": pair.authority}
        assert replica.served_to(pair.authority) == pair.certificate


def test_A_certificate_is_replaced_once_next_was_known_a_minute(place: Place) -> None:
    pair = _aged(61)
    place.keep(pair)
    with place.keeping() as replica:
        kept = wait_for(place.staged, "the next one is published")
        assert len(authorities_in(kept["ca.crt"], now=datetime.now(UTC))) == 2
        wait_for(lambda: replica.keeper.ready, "it is ready")
        place.elapsed.let_pass(30)
        assert replica.served_to(kept["ca.crt"]) == pair.certificate

        def promoted() -> bool:
            place.elapsed.let_pass(15)
            return replica.served_to(kept["ca.crt"]) == kept["next.crt"]

        wait_for(promoted, "the next one is served")
        assert place.secret == {"tls.crt": kept["next.crt"], "tls.key": kept["next.key"], "ca.crt": kept["ca.crt"]}
        # A client that knows only the old authority was not updated.
        assert kept["ca.crt"].endswith(pair.authority)


def test_A_clock_set_forward_does_not_end_the_settling_time(place: Place) -> None:
    place.keep(_aged(61))
    with place.keeping() as replica:
        kept = wait_for(place.staged, "the next one is published")
        wait_for(lambda: (replica.keeper._first_announced or (b"",))[0] == kept["ca.crt"], "the replica knows")
        later = datetime.now(UTC) + timedelta(hours=2)
        since = replica.keeper._announced_since(kept["ca.crt"], later)
    assert since is not None
    assert later - since < timedelta(minutes=1)


def test_A_write_that_comes_too_late_changes_nothing(place: Place) -> None:
    """Like a writer that was paused after its decision."""
    with place.keeping() as first, place.keeping() as second:
        replicas = (first, second)

        def both_are_ready() -> bool:
            place.elapsed.let_pass(4)
            return all(replica.keeper.ready for replica in replicas)

        wait_for(both_are_ready, "both are ready")
        (writer,) = (replica for replica in replicas if replica.keeper.status().writer)
        (other,) = (replica for replica in replicas if replica is not writer)
        writer.transport.gate.clear()
        place.spoil(None)
        wait_for(lambda: any("secrets" in write for write in writer.transport.held_back), "it has decided")

        def other_writes() -> bool:
            place.elapsed.set_forward(1)
            return other.keeper.status().writer

        wait_for(other_writes, "the other takes over")
        kept = wait_for(place.published, "the Secret is filled again")
        holder = place.holder
        before = len(writer.transport.answers)
        writer.transport.gate.set()
        late = wait_for(lambda: _answers_to("secrets", writer.transport.answers[before:]), "it is refused")
        assert late == [409]
        assert _answers_to("leases", writer.transport.answers[before:]) in ([], [409])
        assert (place.secret, place.holder) == (kept, holder)
        assert not writer.keeper.status().writer
        assert other.keeper.status().writer


@pytest.mark.parametrize(
    "authorities",
    [pytest.param(None, id="none"), pytest.param(_aged(1).authority, id="another's")],
)
def test_A_reader_publishes_no_bundle_without_own_authority(place: Place, authorities: bytes | None) -> None:
    """The writer repairs such a Secret first."""
    place.let_another_write()
    place.keep(_aged(1))
    with place.keeping() as replica:
        wait_for(lambda: place.published() and replica.keeper.ready, "it is published")
        before = len(replica.transport.answers)
        encoded = base64.b64encode(authorities).decode() if authorities else None
        place.spoil({"ca.crt": encoded})
        (secret, *_) = replica.keeper.watched

        def is_spoilt() -> bool:
            (found,) = secret.in_namespace(place.namespace).values()
            return bool(found.data.get("ca.crt") == encoded)

        wait_for(is_spoilt, "the replica knows")
        # Longer than an hour, after which everything is checked again.
        place.elapsed.let_pass(4000)
        assert replica.transport.answers[before:] == []
        assert not replica.keeper.status().writer


def test_A_competing_writes_of_the_bundle_are_rate_limited(place: Place) -> None:
    """Each replica writes a configuration at most five times a second."""
    place.let_another_write()
    place.keep(_aged(1))
    with place.keeping() as replica:
        wait_for(place.published, "it is published")
        begun = place.elapsed.now()

        def is_published() -> bool:
            place.elapsed.set_forward(0.02)
            return bool(place.published())

        for _ in range(5):
            place.wipe_bundle()
            wait_for(is_published, "it is published again")
        # The first of the five may come at once.
        assert place.elapsed.now() - begun > 0.8
        assert len(_answers_to("mutatingwebhookconfigurations", replica.transport.answers)) == 6


def _answers_to(kind: str, answers: list[tuple[str, int]]) -> list[int]:
    """The statuses of the writes of this kind."""
    return [status for write, status in answers if f"/{kind}" in write]
