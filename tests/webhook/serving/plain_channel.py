"""Connections without TLS, for the code that reads them."""

from __future__ import annotations

import ssl


class NoTls:
    """TLS that changes nothing, with handshakes that never end."""

    count = 0
    """The handshakes that began."""

    def wrap_bio(self, incoming: ssl.MemoryBIO, _outgoing: ssl.MemoryBIO, *, server_side: bool) -> NoTls:
        """See `ssl.SSLContext.wrap_bio`."""
        assert server_side
        self._incoming = incoming
        self.count += 1
        return self

    def do_handshake(self) -> None:
        """See `ssl.SSLObject.do_handshake`: it always waits for more."""
        raise ssl.SSLWantReadError

    def pending(self) -> int:
        """See `ssl.SSLObject.pending`."""
        return 0

    def read(self, size: int) -> bytes:
        """See `ssl.SSLObject.read`."""
        if not (self._incoming.pending or self._incoming.eof):
            raise ssl.SSLWantReadError
        return self._incoming.read(size)
