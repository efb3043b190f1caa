"""Keeps the certificate of `rotation` in a Secret, serves it, and names its authorities in the webhook configurations.

Every replica does the same: whoever writes the Secret first wins, the others' writes are refused for their older
resourceVersion and they take what was written. So no leader is needed, and no replica waits for another.
"""

from __future__ import annotations

import base64
import logging
import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from http import HTTPStatus
from typing import Any, Final, NamedTuple, Protocol

import msgspec
from msgspec import field

from podrules.cluster.answers import error_message
from podrules.cluster.errors import ClusterError
from podrules.cluster.kinds import Kind
from podrules.cluster.reflector import CachedObject, Reflector, StreamTransport
from podrules.cluster.transport import Response
from podrules.model.base import KubeObject, Model
from podrules.model.decode import DecodeError, from_json
from webhook.certificates.rotation import Kept, next_step
from webhook.certificates.serving import ServingContext
from webhook.settings import KeptCertificate

__all__ = ["CertificateKeeper"]

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
_MOST_WAIT_SECONDS: Final = 3600.0
_MERGE: Final = "application/merge-patch+json"
_STRATEGIC: Final = "application/strategic-merge-patch+json"


class _CachedSecret(CachedObject, frozen=True):
    data: dict[str, str] = {}


class _ClientConfig(Model, frozen=True):
    ca_bundle: str = ""


class _Webhook(Model, frozen=True):
    name: str = ""
    client_config: _ClientConfig = field(default_factory=_ClientConfig)


class _CachedConfiguration(CachedObject, frozen=True):
    webhooks: tuple[_Webhook, ...] = ()


class WritingTransport(StreamTransport, Protocol):
    """Requests to one API server that may also write."""

    def send(self, method: str, path: str, body: bytes, content_type: str = "application/json") -> Response:
        """See `podrules.cluster.client.ClientTransport`."""
        ...


class _Read(NamedTuple):
    """The Secret as it is now."""

    kept: Kept
    resource_version: str
    """Empty: there is none."""


class CertificateKeeper:
    """One replica's part in keeping the certificate."""

    def __init__(self, transport: WritingTransport, settings: KeptCertificate, serving: ServingContext) -> None:
        """Describe it; `run` does it.

        Args:
            transport: How requests get to the API server.
            settings: Names, lifetime, and where things are kept.
            serving: Where the certificate is served.
        """
        self._transport = transport
        self._settings = settings
        self._serving = serving
        self._lifetime = timedelta(seconds=settings.lifetime)
        self._changed = threading.Event()
        self._first_told: tuple[bytes, datetime] | None = None
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
        self.ready = False
        """Whether a kept certificate is served and the API server has been told of it."""

    @property
    def watched(self) -> Iterator[Reflector[Any]]:
        """What has to run beside the keeper."""
        yield self._secret
        yield from self._configurations

    def run(self) -> None:
        """Keep the certificate for ever. Errors are logged and never raised."""
        wait = 0.0
        while True:
            self._changed.wait(wait)
            self._changed.clear()
            try:
                wait = self._keep() if all(entry.synced for entry in self.watched) else _RETRY_SECONDS
            except (ClusterError, _Failed, DecodeError, OSError) as error:
                _LOG.warning("the certificate: %s; next try in %.0f s", error, _RETRY_SECONDS)
                wait = _RETRY_SECONDS
            except Exception:  # noqa: BLE001 - whatever it is, the certificate must be renewed when it has passed
                _LOG.exception("the certificate; next try in %.0f s", _RETRY_SECONDS)
                wait = _RETRY_SECONDS

    def _keep(self) -> float:
        """Do what is due and return the seconds until something may be due again."""
        now = datetime.now(UTC)
        kept = _kept(self._secret.get(self._settings.secret.name, self._settings.secret.namespace))
        since = self._told_since(kept.authorities, now)
        step = next_step(kept, self._settings.names, now=now, lifetime=self._lifetime, told_since=since)
        if step.kept.certificate == kept.certificate and self._serving.load(kept.certificate, kept.key):
            _LOG.info("serving the certificate of Secret %s", self._settings.secret)
        if step.kept != kept:
            self._write(step.kept, kept)
        else:
            self._tell(kept.authorities)
            self.ready = True
        # Clocks are set and machines sleep: nothing is waited for longer than this.
        return min(max(0.1, (step.look_again - datetime.now(UTC)).total_seconds()), _MOST_WAIT_SECONDS)

    def _write(self, wanted: Kept, seen: Kept) -> None:
        """Replace the Secret's data if it still is what was looked at; the watch then brings what was written."""
        read = self._read()
        if read.kept != seen:
            return
        secret = self._settings.secret
        data = {name: getattr(wanted, attribute) for attribute, name in _KEYS.items()}
        encoded = {name: base64.b64encode(value).decode() if value else None for name, value in data.items()}
        if read.resource_version:
            body: Any = {"metadata": {"resourceVersion": read.resource_version}, "data": encoded}
            self._sent("PATCH", _SECRETS.path(secret.namespace, secret.name), body, _MERGE)
        else:
            body = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": secret.name}, "data": encoded}
            self._sent("POST", _SECRETS.path(secret.namespace), body)

    def _read(self) -> _Read:
        secret = self._settings.secret
        status, body = self._transport.get(_SECRETS.path(secret.namespace, secret.name))
        if status == HTTPStatus.NOT_FOUND:
            return _Read(Kept(), "")
        if status != HTTPStatus.OK:
            raise _Failed(f"Secret {secret} cannot be read: {error_message(body)}")
        found = from_json(body, _CachedSecret)
        return _Read(_kept(found), found.metadata.resource_version)

    def _told_since(self, authorities: bytes, now: datetime) -> datetime | None:
        """Since when this replica has seen each of our webhooks with these authorities."""
        if not self._told(authorities):
            self._first_told = None
        elif self._first_told is None or self._first_told[0] != authorities:
            self._first_told = (authorities, now)
        return self._first_told[1] if self._first_told is not None else None

    def _told(self, authorities: bytes) -> bool:
        """Whether each of our webhooks in the configurations has these authorities."""
        bundle = base64.b64encode(authorities).decode()
        found = [entry.get(self._settings.configuration) for entry in self._configurations]
        return all(
            webhook.client_config.ca_bundle == bundle
            for entry in found
            if entry is not None
            for webhook in entry.webhooks
        )

    def _tell(self, authorities: bytes) -> None:
        """Name the authorities in our webhook configurations, where they are not named yet."""
        if self._told(authorities):
            return
        # What we saw of the Secret may be older than what another replica has told already.
        if self._read().kept.authorities != authorities:
            return
        bundle = base64.b64encode(authorities).decode()
        for reflector in self._configurations:
            found = reflector.get(self._settings.configuration)
            late = [webhook for webhook in found.webhooks if webhook.client_config.ca_bundle != bundle] if found else []
            if late:
                changes = [{"name": webhook.name, "clientConfig": {"caBundle": bundle}} for webhook in late]
                path = reflector.kind.path(name=self._settings.configuration)
                self._sent("PATCH", path, {"webhooks": changes}, _STRATEGIC)

    def _sent(self, method: str, path: str, body: Any, content_type: str = "application/json") -> None:
        status, answer = self._transport.send(method, path, msgspec.json.encode(body), content_type)
        # Refused because another replica was first: the watch brings what that one wrote.
        if status not in {HTTPStatus.OK, HTTPStatus.CREATED, HTTPStatus.CONFLICT}:
            raise _Failed(f"{method} {path}: {status}: {error_message(answer)}")


class _Failed(Exception):
    """A request was refused."""


def _kept(secret: _CachedSecret | None) -> Kept:
    """What a Secret holds; what is not Base64 counts as nothing."""
    data = secret.data if secret is not None else {}

    def decoded(name: str) -> bytes:
        try:
            return base64.b64decode(data.get(name, ""), validate=True)
        except ValueError:
            return b""

    return Kept(**{attribute: decoded(name) for attribute, name in _KEYS.items()})
