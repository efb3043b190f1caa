"""The served certificate: its state, its TLS context, and files that another program, such as cert-manager, writes."""

from __future__ import annotations

import logging
import ssl
import tempfile
import threading
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any, Final, Protocol

from msgspec import Struct

from cluster_io.live.reflector import Reflector
from webhook.certificates.pair import CertificateFacts, PairError, earliest_end, inspect
from webhook.settings import CertificateFiles, TlsOptions


class CertificateStatus(Struct, frozen=True):
    """The certificate of one replica, now."""

    not_after: datetime | None
    """When the served certificate expires; None: only a temporary one is served yet."""
    authority_not_after: datetime | None
    """When the authority that signed it expires; None: not known here."""
    writer: bool
    """Whether this replica makes the certificate for all; False also when another program makes it."""
    renewals: int
    """How many certificates have replaced the first one since the start."""
    failures: int
    """How many attempts to store or load it have failed since the start; each was retried."""


class Certificate(Protocol):
    """Keeps the served certificate up to date."""

    @property
    def ready(self) -> bool:
        """Whether the API server trusts the served certificate, as far as known; stays true."""
        ...

    @property
    def watched(self) -> Iterator[Reflector[Any]]:
        """Caches that must run for it."""
        ...

    def run(self) -> None:
        """Keep the certificate up to date until stopped. Errors are logged and never raised."""
        ...

    def stop(self) -> None:
        """Stop, and release what others wait for; returns within the time of one request."""
        ...

    def status(self) -> CertificateStatus:
        """The state of the certificate."""
        ...


# The TLS context of the running server. A renewed certificate serves new connections and closes no open one.
#
# Each certificate gets its own TLS context, which is complete before it is used. So a load that fails changes nothing,
# and the next certificate may have another type of key.

_DEFAULT_TLS: Final = TlsOptions()


class _Newest:
    """Replaces an `ssl.SSLContext`: each new connection uses the newest context."""

    __slots__ = ("now",)

    def __init__(self) -> None:
        self.now = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)

    def wrap_bio(self, incoming: ssl.MemoryBIO, outgoing: ssl.MemoryBIO, **how: Any) -> ssl.SSLObject:
        """See `ssl.SSLContext.wrap_bio`."""
        return self.now.wrap_bio(incoming, outgoing, **how)


class ServingContext:
    """The certificate that a server presents to its clients."""

    def __init__(self, client_authorities: str | None = None, tls: TlsOptions = _DEFAULT_TLS) -> None:
        """Serve nothing yet.

        Args:
            client_authorities: Path of the authorities that sign client certificates, PEM; when not given, clients are
                not asked for one.
            tls: Versions and cipher suites.
        """
        self.context: Final = _Newest()
        self._client_authorities = client_authorities
        self._tls = tls
        self.served: CertificateFacts | None = None
        """The names and validity of the served certificate."""

    def load(self, certificate: bytes, key: bytes) -> None:
        """Serve this certificate to new connections from now on.

        Args:
            certificate: The chain, the server's certificate first, PEM.
            key: The private key, PEM.

        Raises:
            PairError: they are not a certificate with its key.
            OSError: they cannot be served, as `ssl.SSLError`; or the client authorities cannot be read.
        """
        inspected = inspect(certificate, key)
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        self._tls.apply(context)
        if self._client_authorities is not None:
            try:
                context.load_verify_locations(self._client_authorities)
            except OSError as error:
                why = "no certificate in PEM" if isinstance(error, ssl.SSLError) else error.strerror
                raise OSError(f"clients.caFile: {self._client_authorities}: {why}") from error
            context.verify_mode = ssl.CERT_OPTIONAL
        # A context reads only files. This file is private and is deleted before the first connection.
        with tempfile.TemporaryDirectory(prefix="qos-webhook-") as folder:
            file = Path(folder) / "pair.pem"
            file.touch(mode=0o600)
            file.write_bytes(certificate + b"\n" + key)
            context.load_cert_chain(file)
        self.context.now = context
        self.served = inspected


# The kubelet replaces all files of a mounted Secret at once, by a symbolic link. But they are read one after the other,
# and other programs write in place. So a new certificate is served only when it matches its key; until then the
# previous one stays. The files are small, so they are read each time: their modification times do not matter.

_LOG: Final = logging.getLogger(__name__)
_CHECK_SECONDS: Final = 2.0
_MAX_BYTES: Final = 1 << 20
"""The most that a Secret can hold."""


class WatchedFiles:
    """A `webhook.certificates.serving.Certificate` from two files, which may be the same file."""

    def __init__(self, files: CertificateFiles, serving: ServingContext) -> None:
        """Serve the current certificate of the files.

        Raises:
            OSError: they cannot be read, or are not a certificate with its key.
        """
        self._files = files
        self._serving = serving
        self._stopped = threading.Event()
        self._trouble = ""
        self._renewals = 0
        self._failures = 0
        self._seen = self._read()
        try:
            serving.load(*self._seen)
        except PairError as error:
            raise OSError(f"{files.certificate}, {files.key}: {error}") from error
        self._served = self._seen[0]
        self.ready = True
        """The program that writes the files also publishes the CA to the API server."""

    @property
    def watched(self) -> Iterator[Reflector[Any]]:
        """No caches: it reads nothing from the API server."""
        yield from ()

    def run(self) -> None:
        """Check the files every two seconds until stopped."""
        while not self._stopped.wait(_CHECK_SECONDS):
            self.check()

    def stop(self) -> None:
        """Stop checking the files."""
        self._stopped.set()

    def check(self) -> None:
        """Serve the files' certificate if it has changed. Errors are logged, once for each content."""
        try:
            found = self._read()
            if found == self._seen:
                return
            self._seen = found
            self._serving.load(*found)
        except (PairError, OSError) as error:
            self._failures += 1
            if f"{error}" != self._trouble:
                self._trouble = f"{error}"
                _LOG.warning("%s: %s; the previous certificate stays in use", self._files.certificate, error)
            return
        self._trouble = ""
        self._renewals += 1
        self._served = found[0]
        _LOG.info("serving the new certificate of %s", self._files.certificate)

    def status(self) -> CertificateStatus:
        """The state of the certificate. Only authorities in the certificate's own file, after it, are known."""
        served = self._serving.served
        return CertificateStatus(
            not_after=served.not_after if served else None,
            authority_not_after=earliest_end(self._served, skip=1),
            writer=False,
            renewals=self._renewals,
            failures=self._failures,
        )

    def _read(self) -> tuple[bytes, bytes]:
        return _start_of(self._files.certificate), _start_of(self._files.key)


def _start_of(path: str) -> bytes:
    with Path(path).open("rb") as file:
        return file.read(_MAX_BYTES)
