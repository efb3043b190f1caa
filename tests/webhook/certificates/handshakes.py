"""TLS of clients and servers over a pair of sockets, without threads."""

from __future__ import annotations

import socket
import ssl
from datetime import UTC, datetime, timedelta
from types import TracebackType
from typing import Self

from webhook.certificates.pair import Pair, make_pair
from webhook.certificates.serving import ServingContext


def localhost_pair(days: int = 1) -> Pair:
    """A certificate for localhost, valid from now."""
    return make_pair(["localhost"], now=datetime.now(UTC), lifetime=timedelta(days=days))


def serving_of(pair: Pair, client_authorities: str | None = None) -> ServingContext:
    """A server with this certificate."""
    serving = ServingContext(client_authorities)
    serving.load(pair.certificate, pair.key)
    return serving


def assert_served(serving: ServingContext, pair: Pair, name: str = "localhost") -> None:
    """A client that trusts the pair's authority gets its certificate."""
    with Connection(serving, trusting=pair.authority, name=name) as connection:
        assert connection.served.encode() == pair.certificate


class Connection:
    """One client and the server, connected; closed when the block ends."""

    def __init__(
        self, serving: ServingContext, *, trusting: bytes, name: str, client: ssl.SSLContext | None = None
    ) -> None:
        """Shake hands.

        Args:
            serving: The server's context.
            trusting: The authorities that the client trusts, PEM.
            name: The name that the client calls.
            client: Replaces a client with Python's defaults that trusts them.

        Raises:
            ssl.SSLError: The client does not trust the served certificate, or none is served.
        """
        context = client or ssl.create_default_context(cadata=trusting.decode())
        near, far = socket.socketpair()
        near.setblocking(False)
        far.setblocking(False)
        self._client = context.wrap_socket(near, server_hostname=name, do_handshake_on_connect=False)
        self._server = serving.context.now.wrap_socket(far, server_side=True, do_handshake_on_connect=False)
        try:
            self._shake_hands()
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    @property
    def served(self) -> str:
        """The certificate that the client saw, PEM."""
        shown = self._client.getpeercert(binary_form=True)
        assert shown is not None
        return ssl.DER_cert_to_PEM_cert(shown)

    @property
    def spoken(self) -> tuple[str, str]:
        """The version and the cipher suite, by OpenSSL's names."""
        version, suite = self._client.version(), self._client.cipher()
        assert version is not None
        assert suite is not None
        return version, suite[0]

    def ask(self, text: bytes) -> bytes:
        """The data that the client reads after the server has echoed it."""
        self._client.sendall(text)
        self._server.sendall(self._server.recv(1024))
        return self._client.recv(1024)

    def close(self) -> None:
        """Close both ends."""
        self._client.close()
        self._server.close()

    def _shake_hands(self) -> None:
        waiting = [self._client, self._server]
        while waiting:
            for end in tuple(waiting):
                try:
                    end.do_handshake()
                    waiting.remove(end)
                except ssl.SSLWantReadError:
                    pass
