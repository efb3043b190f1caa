"""The state of the served certificate."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Any, Protocol

from msgspec import Struct

from cluster_io.live.reflector import Reflector


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
