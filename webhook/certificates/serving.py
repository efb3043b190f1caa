"""The TLS context of the running server. A renewed certificate serves new connections and closes no open one.

Each certificate gets its own TLS context, which is complete before it is used. So a load that fails changes nothing,
and the next certificate may have another type of key.
"""

from __future__ import annotations

import ssl
import tempfile
from pathlib import Path
from typing import Any, Final

from webhook.certificates.pair import CertificateFacts, inspect
from webhook.tls_options import TlsOptions

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
            context.load_verify_locations(self._client_authorities)
            context.verify_mode = ssl.CERT_OPTIONAL
        # A context reads only files. This file is private and is deleted before the first connection.
        with tempfile.TemporaryDirectory(prefix="qos-webhook-") as folder:
            file = Path(folder) / "pair.pem"
            file.touch(mode=0o600)
            file.write_bytes(certificate + b"\n" + key)
            context.load_cert_chain(file)
        self.context.now = context
        self.served = inspected
