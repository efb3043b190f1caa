"""What is to be known from outside about the served certificate, whoever makes it."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Any, Protocol

from msgspec import Struct

from podrules.cluster.live.reflector import Reflector

__all__ = ["Certificate", "CertificateStatus"]


class CertificateStatus(Struct, frozen=True):
    """Of one replica, now."""

    not_after: datetime | None
    """When the served certificate expires; None: a stand-in is served, until there is one."""
    authority_not_after: datetime | None
    """When the authority that signed it expires; None: not known here."""
    writer: bool
    """Whether this replica makes the certificate for all; False also when somebody else makes it."""
    renewals: int
    """How often another certificate has come into service since the start; the first does not count."""
    failures: int
    """How often it could not be kept or loaded since the start; it was tried again each time."""


class Certificate(Protocol):
    """Keeps the served certificate the right one."""

    @property
    def ready(self) -> bool:
        """Whether one is served that the API server trusts, as far as can be known; does not change back."""
        ...

    @property
    def watched(self) -> Iterator[Reflector[Any]]:
        """Caches that have to run beside it."""
        ...

    def run(self) -> None:
        """Keep it until stopped. Errors are logged and never raised."""
        ...

    def stop(self) -> None:
        """Give up what others wait for; returns within the time of a request."""
        ...

    def status(self) -> CertificateStatus:
        """How it stands."""
        ...
