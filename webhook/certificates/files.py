"""Serves a certificate that another program, such as cert-manager, writes to files, and reloads it when it changes.

The kubelet replaces all files of a mounted Secret at once, by a symbolic link. But they are read one after the other,
and other programs write in place. So a new certificate is served only when it matches its key; until then the previous
one stays. The files are small, so they are read each time: their modification times do not matter.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from cluster_io.live.reflector import Reflector
from webhook.certificates.pair import PairError, earliest_end
from webhook.certificates.serving import ServingContext
from webhook.certificates.status import CertificateStatus
from webhook.settings import CertificateFiles

_LOG: Final = logging.getLogger(__name__)
_CHECK_SECONDS: Final = 2.0
_MAX_BYTES: Final = 1 << 20
"""The most that a Secret can hold."""


class WatchedFiles:
    """A `webhook.certificates.status.Certificate` from two files, which may be the same file."""

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
