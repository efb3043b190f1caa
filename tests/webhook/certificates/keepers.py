"""`CertificateKeeper` itself in a thread of the test, with the test's own clocks."""

from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import TracebackType
from typing import Self

from podrules.qos_webhook.rules import ObjectRef
from tests.webhook.certificates.gated import GatedTransport
from tests.webhook.certificates.handshakes import Connection
from tests.webhook.certificates.moved_time import MovedTime
from webhook.certificates.keeper import CertificateKeeper
from webhook.certificates.serving import ServingContext
from webhook.settings import KeptCertificate

LIFETIME = timedelta(days=90)


class Keeping:
    """One replica's keeper of the certificate, from the start of the block to its end."""

    def __init__(
        self,
        kubeconfig: Path,
        *,
        secret: ObjectRef,
        names: tuple[str, ...],
        configuration: str,
        elapsed: MovedTime,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        """Set up the keeper.

        Args:
            kubeconfig: The identity of the keeper.
            secret: The Secret; the Lease has the same name.
            names: The names that clients call.
            configuration: The name of both webhook configurations.
            elapsed: The clock for durations.
            clock: The time of day.
        """
        self.transport = GatedTransport(kubeconfig)
        self.serving = ServingContext()
        self.keeper = CertificateKeeper(
            self.transport,
            KeptCertificate(
                secret=secret, names=names, configuration=configuration, lifetime_seconds=LIFETIME.total_seconds()
            ),
            self.serving,
            clock=clock,
            elapsed=elapsed,
        )
        self._name = names[-1]
        runs: list[Callable[[], None]] = [self.keeper.run, *(entry.run for entry in self.keeper.watched)]
        self._threads = [threading.Thread(target=run, daemon=True) for run in runs]

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.transport.gate.set()
        for entry in self.keeper.watched:
            entry.stop()
        self.keeper.stop()

    def served_to(self, bundle: bytes) -> bytes:
        """The certificate, PEM, that a client with these authorities sees."""
        with Connection(self.serving, trusting=bundle, name=self._name) as connection:
            return connection.served.encode()
