"""The TLS context of the running server. A renewed certificate is loaded into it: no connection is cut for it."""

from __future__ import annotations

import ssl
import tempfile
from pathlib import Path

__all__ = ["ServingContext"]


class ServingContext:
    """A server's context."""

    def __init__(self) -> None:
        self.context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        self._loaded = b""

    def load(self, certificate: bytes, key: bytes) -> bool:
        """Serve this certificate from now on; returns whether it is another than before.

        Raises:
            ssl.SSLError: they cannot be served.
        """
        if certificate == self._loaded:
            return False
        # A load that fails half way leaves neither the old pair nor the new one.
        self._loaded = b""
        # The context takes files only. This one is the process's own, and gone before the first connection.
        with tempfile.TemporaryDirectory(prefix="qos-webhook-") as folder:
            file = Path(folder) / "pair.pem"
            file.touch(mode=0o600)
            file.write_bytes(certificate + key)
            self.load_files(file, None)
        self._loaded = certificate
        return True

    def load_files(self, certificate: str | Path, key: str | Path | None) -> None:
        """Serve the certificate of these PEM files; the key may stand in the first.

        Raises:
            OSError: they cannot be read, or are no certificate with its key.
        """
        self.context.load_cert_chain(certificate, key)
