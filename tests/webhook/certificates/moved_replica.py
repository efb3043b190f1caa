"""``qos-webhook`` with another clock for durations: the file CLOCK, which a test sets forward.

Usage: python -m tests.webhook.certificates.moved_replica CLOCK [the program's own arguments]
"""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path
from typing import Any

from tests.webhook.certificates.moved_time import MovedTime
from webhook.main import parse_settings
from webhook.serving.server import Server


class _MovedServer(Server):
    """The program, except for the clock."""

    def __init__(self, clock: Path, arguments: list[str]) -> None:
        self._clock = clock
        super().__init__(parse_settings(arguments))

    def load_config(self) -> None:
        super().load_config()
        # A test may pause the program for longer than a worker may otherwise be silent.
        self.cfg.set("timeout", 0)

    def load(self) -> Any:
        # In the worker, at the same place as in the program: gevent comes first.
        from webhook.certificates.keeper import CertificateKeeper
        from webhook.serving import backend

        vars(backend)[CertificateKeeper.__name__] = partial(CertificateKeeper, elapsed=MovedTime(self._clock))
        return super().load()


if __name__ == "__main__":
    _MovedServer(Path(sys.argv[1]), sys.argv[2:]).run()
