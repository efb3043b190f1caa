"""``make lint`` in parallel to the tests, because most live tests wait for other programs."""

from __future__ import annotations

import os
import subprocess
import tempfile
from types import TracebackType
from typing import Self

from tests.marked import TESTS


class Lint:
    """Starts on ``with``; its output is kept until it is requested."""

    def __enter__(self) -> Self:
        self._output = tempfile.TemporaryFile()  # closed by __exit__
        # make passes its own flags to its children; this make is independent.
        inherited = {key: value for key, value in os.environ.items() if not key.startswith(("MAKE", "MFLAGS"))}
        self._process = subprocess.Popen(
            ["make", "--no-print-directory", "lint"],
            cwd=TESTS.parent,
            env=inherited,
            stdin=subprocess.DEVNULL,
            stdout=self._output,
            stderr=subprocess.STDOUT,
            preexec_fn=lambda: os.nice(5),  # noqa: PLW1509  # it makes one system call
        )
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.terminate()
        self._process.wait()
        self._output.close()

    def has_failed(self) -> bool:
        """Whether it has found something so far."""
        return bool(self._process.poll())

    def finish(self) -> bool:
        """Wait for its end; return whether it passed."""
        return self._process.wait() == 0

    def said(self) -> str:
        """What it printed so far."""
        self._output.seek(0)
        return self._output.read().decode(errors="backslashreplace")
