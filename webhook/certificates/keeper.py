"""Stores the certificate in a Secret, serves it, and publishes its authorities in the webhook configurations.

Every replica reads the Secret, serves its certificate, and writes its authorities into the caBundle of our webhooks: if
they are removed, no replica waits for another. The replica that wins the `election` also writes the Secret. Each write
names the version that it is based on: a late write changes nothing, and the first of several wins.
"""

from __future__ import annotations

import base64
import logging
import math
import threading
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any, Final
from urllib.parse import urlsplit

import msgspec
from msgspec import field

from cluster_io.errors import ClusterError
from cluster_io.kinds import Kind
from cluster_io.live.reflector import CachedObject, Reflector
from podrules.api.model.base import KubeObject, Model
from podrules.api.model.decode import DecodeError
from webhook.certificates.election import (
    MERGE,
    STRATEGIC,
    Election,
    MonotonicClock,
    RealTime,
    RefusedError,
    WritingTransport,
    own_identity,
    read,
    write,
)
from webhook.certificates.pair import (
    PairError,
    StoredCertificates,
    authorities_in,
    canonical_name,
    earliest_end,
    is_signed_by,
    next_step,
    to_serve,
)
from webhook.certificates.serving import CertificateStatus, ServingContext
from webhook.settings import KeptCertificate

_LOG: Final = logging.getLogger(__name__)
_SECRETS: Final = Kind("Secret", "secrets", (), "", "v1", namespaced=True, model=KubeObject)
_MUTATING: Final = Kind(
    "MutatingWebhookConfiguration",
    "mutatingwebhookconfigurations",
    (),
    "admissionregistration.k8s.io",
    "v1",
    namespaced=False,
    model=KubeObject,
)
_VALIDATING: Final = msgspec.structs.replace(
    _MUTATING, kind="ValidatingWebhookConfiguration", plural="validatingwebhookconfigurations"
)
_KEYS: Final = {
    "certificate": "tls.crt",
    "key": "tls.key",
    "next_certificate": "next.crt",
    "next_key": "next.key",
    "authorities": "ca.crt",
}
_RETRY_SECONDS: Final = 5.0
_MAX_WAIT_SECONDS: Final = 3600.0
_RELEASE_SECONDS: Final = 5.0
_PUBLISH_SECONDS: Final = 0.2
"""The shortest time between two writes of a configuration: it limits a fight with another writer."""
_MAX_LEASE_SECONDS: Final = 15
"""client-go's default duration."""
_LEASE: Final = 1 / 12
"""The Lease's largest share of the lifetime: its holder may die when a third of the lifetime is left."""


class _CachedSecret(CachedObject, frozen=True):
    data: dict[str, str] = {}


class _Service(Model, frozen=True):
    name: str = ""
    namespace: str = ""


class _ClientConfig(Model, frozen=True):
    ca_bundle: str = ""
    service: _Service | None = None
    url: str | None = None

    @property
    def host(self) -> str:
        """The host name that the API server calls, and that the certificate must contain."""
        if self.service is not None:
            return f"{self.service.name}.{self.service.namespace}.svc"
        try:
            return canonical_name(urlsplit(self.url or "").hostname or "")
        except ValueError:
            return ""


class _Webhook(Model, frozen=True):
    name: str = ""
    client_config: _ClientConfig = field(default_factory=_ClientConfig)


class _CachedConfiguration(CachedObject, frozen=True):
    webhooks: tuple[_Webhook, ...] = ()


class CertificateKeeper:
    """A `webhook.certificates.serving.Certificate` that one replica keeps together with the others."""

    def __init__(
        self,
        transport: WritingTransport,
        settings: KeptCertificate,
        serving: ServingContext,
        *,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
        elapsed: MonotonicClock | None = None,
    ) -> None:
        """Set up the keeper; `run` does the work.

        Args:
            transport: How requests get to the API server.
            settings: Names, lifetime, and which objects hold the certificate.
            serving: Where the certificate is served.
            clock: The local time. The API server's time wins where it differs.
            elapsed: The clock for durations; `RealTime` when not given.
        """
        self._transport = transport
        self._settings = settings
        self._serving = serving
        self._clock = clock
        self._elapsed = elapsed or RealTime()
        self._secret_path = _SECRETS.path(settings.secret.namespace, settings.secret.name)
        self._lifetime = timedelta(seconds=settings.lifetime_seconds)
        self._hosts = {canonical_name(name.lower()) for name in settings.names}
        self._changed = threading.Event()
        self._stopped = False
        self._first_announced: tuple[bytes, float] | None = None
        """The authorities that the webhooks have, and since when."""
        self._served = StoredCertificates()
        """The served certificate, with the authorities that were last stored with it."""
        self._published: dict[str, float] = {}
        """When each configuration was last written, by its kind."""
        self._loads = 0
        self._failures = 0
        self._secret = Reflector(
            transport,
            _SECRETS,
            _CachedSecret,
            namespace=settings.secret.namespace,
            name=settings.secret.name,
            on_change=self._changed.set,
        )
        self._configurations = [
            Reflector(transport, kind, _CachedConfiguration, name=settings.configuration, on_change=self._changed.set)
            for kind in (_MUTATING, _VALIDATING)
        ]
        self._election = Election(
            transport,
            settings.secret,
            identity=own_identity(),
            duration=min(_MAX_LEASE_SECONDS, max(1, math.ceil(_LEASE * settings.lifetime_seconds))),
            clock=clock,
            on_change=self._changed.set,
            elapsed=self._elapsed,
        )
        self.ready = False
        """Whether a stored certificate was served after the webhooks got its authorities."""

    @property
    def elected(self) -> bool:
        """Whether this replica holds the Lease, at this moment."""
        return self._election.held

    @property
    def watched(self) -> Iterator[Reflector[Any]]:
        """The caches that must run while the keeper runs."""
        yield self._secret
        yield from self._configurations

    def run(self) -> None:
        """Keep the certificate until stopped. Errors are logged and never raised."""
        threading.Thread(target=self._election.run, daemon=True).start()
        wait = 0.0
        while not self._stopped:
            self._elapsed.wait(self._changed, wait)
            self._changed.clear()
            try:
                wait = self._keep() if all(entry.synced for entry in self.watched) else _RETRY_SECONDS
            except (ClusterError, RefusedError, PairError, DecodeError, OSError) as error:
                _LOG.warning("the certificate: %s; next try in %.0f s", error, _RETRY_SECONDS)
                self._failures += 1
                wait = _RETRY_SECONDS
            except Exception:  # noqa: BLE001 - after any error, the certificate must still be renewed
                _LOG.exception("the certificate; next try in %.0f s", _RETRY_SECONDS)
                self._failures += 1
                wait = _RETRY_SECONDS

    def stop(self) -> None:
        """Stop, and release the Lease so that another replica may write."""
        self._stopped = True
        self._changed.set()
        self._election.stop(timeout=_RELEASE_SECONDS)

    def status(self) -> CertificateStatus:
        """The state of the certificate; a temporary one that was served before it does not count."""
        found = self._serving.served if self._loads else None
        return CertificateStatus(
            not_after=found.not_after if found else None,
            authority_not_after=earliest_end(self._signers(self._served.authorities)),
            writer=self._election.held,
            renewals=max(0, self._loads - 1),
            failures=self._failures,
        )

    def _keep(self) -> float:
        """Take the step that is due; return the seconds until the next one may be due."""
        now = self._now()
        secret = self._secret.get(self._settings.secret.name, self._settings.secret.namespace)
        kept = _decode_secret(secret)
        since = self._announced_since(kept.authorities, now)
        # Serve the certificate that is due; return the latest time of the next decision.
        served, next_decision = to_serve(kept, self._served, now=now, lifetime=self._lifetime, announced_since=since)
        if (served.certificate, served.key) != (self._served.certificate, self._served.key):
            self._serving.load(served.certificate, served.key)
            self._loads += 1
            _LOG.info("serving the certificate of Secret %s", self._settings.secret)
        self._served = served
        self.ready = self.ready or (since is not None and served.certificate == kept.certificate != b"")
        if self._election.held:
            step = next_step(
                kept, self._settings.names, now=now, lifetime=self._lifetime, announced_since=since, served=self._served
            )
            next_decision = min(next_decision, step.next_decision)
            if step.kept != kept:
                self._write(step.kept, kept)
        # Clients must trust the served certificate: a Secret without its authority is repaired first.
        if since is None and self._signers(kept.authorities):
            self._publish(kept.authorities)
            next_decision = min(next_decision, now + timedelta(seconds=_PUBLISH_SECONDS))
        # Clocks are adjusted and machines sleep: no wait is longer than this.
        return min(max(0.1, (next_decision - self._now()).total_seconds()), _MAX_WAIT_SECONDS)

    def _now(self) -> datetime:
        """The API server's time: the API server is the one that checks the certificate."""
        return self._clock() - self._election.ahead

    def _write(self, wanted: StoredCertificates, seen: StoredCertificates) -> None:
        """Replace the Secret's data unless it has changed; the watch then delivers the new data."""
        found = self._read()
        if _decode_secret(found) != seen:
            return
        data = {name: getattr(wanted, attribute) for attribute, name in _KEYS.items()}
        encoded = {name: base64.b64encode(value).decode() if value else None for name, value in data.items()}
        body = {"metadata": {"resourceVersion": found.metadata.resource_version}, "data": encoded}
        write(self._transport, "PATCH", self._secret_path, body, MERGE)

    def _read(self) -> _CachedSecret:
        return read(self._transport, self._secret_path, _CachedSecret)

    def _signers(self, authorities: bytes) -> bytes:
        """The authorities that signed the served certificate."""
        found = authorities_in(authorities, now=datetime.min.replace(tzinfo=UTC))
        return b"".join(entry for entry in found if is_signed_by(self._served.certificate, entry))

    def _announced_since(self, authorities: bytes, now: datetime) -> datetime | None:
        """The time from which this replica has seen these authorities in each of our webhooks."""
        if any(self._outdated(found, authorities) for found in self._found()):
            self._first_announced = None
            return None
        elapsed = self._elapsed.now()
        if self._first_announced is None or self._first_announced[0] != authorities:
            self._first_announced = (authorities, elapsed)
        # Setting the clock forward meanwhile gave clients no extra time.
        return now - timedelta(seconds=elapsed - self._first_announced[1])

    def _found(self) -> Iterator[_CachedConfiguration]:
        for reflector in self._configurations:
            found = reflector.get(self._settings.configuration)
            if found is not None:
                yield found

    def _outdated(self, configuration: _CachedConfiguration, authorities: bytes) -> list[_Webhook]:
        """The configuration's webhooks that call us and lack these authorities; other webhooks are not changed."""
        bundle = base64.b64encode(authorities).decode()
        return [
            webhook
            for webhook in configuration.webhooks
            if webhook.client_config.host in self._hosts and webhook.client_config.ca_bundle != bundle
        ]

    def _publish(self, authorities: bytes) -> None:
        """Write the authorities into our webhooks that lack them, unless they were written a moment ago."""
        for reflector in self._configurations:
            found = reflector.get(self._settings.configuration)
            outdated = self._outdated(found, authorities) if found is not None else []
            now, kind = self._elapsed.now(), reflector.kind
            if found is None or not outdated or now < self._published.get(kind.kind, -math.inf) + _PUBLISH_SECONDS:
                continue
            # Our copy of the Secret may be older than what another replica has already published.
            if _decode_secret(self._read()).authorities != authorities:
                return
            bundle = base64.b64encode(authorities).decode()
            body = {
                "metadata": {"resourceVersion": found.metadata.resource_version},
                "webhooks": [{"name": webhook.name, "clientConfig": {"caBundle": bundle}} for webhook in outdated],
            }
            self._published[kind.kind] = now
            write(self._transport, "PATCH", kind.path(name=self._settings.configuration), body, STRATEGIC)


def _decode_secret(secret: _CachedSecret | None) -> StoredCertificates:
    """Decode a Secret; a value that is not Base64 counts as empty."""
    data = secret.data if secret is not None else {}

    def decoded(name: str) -> bytes:
        try:
            return base64.b64decode(data.get(name, ""), validate=True)
        except ValueError:
            return b""

    return StoredCertificates(**{attribute: decoded(name) for attribute, name in _KEYS.items()})
