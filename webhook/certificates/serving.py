"""What the running server serves. A renewed certificate is for new connections: none is cut for it.

Each certificate has a TLS context of its own, made whole before it is used: a load that fails changes nothing, and the
next certificate may have a key of another type.
"""

from __future__ import annotations

import ssl
import tempfile
from pathlib import Path
from typing import Any, Final

from webhook.certificates.pair import Inspected, inspect
from webhook.tls_options import TlsOptions

__all__ = ["ServingContext"]

_DEFAULT_TLS: Final = TlsOptions()


class _Newest:
    """What a server needs of an `ssl.SSLContext`; each connection gets the one that is newest then."""

    __slots__ = ("now",)

    def __init__(self) -> None:
        self.now = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)

    def wrap_socket(self, sock: Any, **how: Any) -> ssl.SSLSocket:
        """See `ssl.SSLContext.wrap_socket`."""
        return self.now.wrap_socket(sock, **how)


class ServingContext:
    """A server's certificate."""

    def __init__(self, client_authorities: str | None = None, tls: TlsOptions = _DEFAULT_TLS) -> None:
        """Serve nothing yet.

        Args:
            client_authorities: Path of the authorities whose clients may prove who they are, PEM; none are asked when
                not given.
            tls: Versions and cipher suites.
        """
        self.context: Final = _Newest()
        self._client_authorities = client_authorities
        self._tls = tls
        self.served: Inspected | None = None
        """What the served certificate says."""

    def load(self, certificate: bytes, key: bytes) -> None:
        """Serve this certificate to new connections from now on.

        Args:
            certificate: The chain, its own certificate first, PEM.
            key: The private key, PEM.

        Raises:
            PairError: they are no certificate with its key.
            OSError: they cannot be served, as `ssl.SSLError`; or the client authorities cannot be read.
        """
        inspected = inspect(certificate, key)
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        self._tls.apply(context)
        if self._client_authorities is not None:
            context.load_verify_locations(self._client_authorities)
            context.verify_mode = ssl.CERT_OPTIONAL
        # A context takes files only. This one is the process's own, and gone before the first connection.
        with tempfile.TemporaryDirectory(prefix="qos-webhook-") as folder:
            file = Path(folder) / "pair.pem"
            file.touch(mode=0o600)
            file.write_bytes(certificate + b"\n" + key)
            context.load_cert_chain(file)
        self.context.now = context
        self.served = inspected
