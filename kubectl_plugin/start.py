"""The entry points of the console scripts, with less garbage collection: it would take a tenth of a short answer."""

from __future__ import annotations

import gc
import signal
from collections.abc import Callable

__all__ = ["complete", "main"]

_COLLECTION_THRESHOLD = 100_000
"""Objects between two collections. Modules stay loaded, and the default would search them many times."""


def main() -> int:
    """Run the command line."""
    # An interrupt while modules load ends the process without a traceback.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    return _run(_command_line)


def complete() -> int:
    """Print completions for a shell."""
    return _run(_completion)


def _run(script: Callable[[], int]) -> int:
    gc.set_threshold(_COLLECTION_THRESHOLD)
    code = script()
    # The interpreter collects once more at its end; frozen objects are left out.
    gc.freeze()
    return code


def _command_line() -> int:
    from kubectl_plugin.cli import main as run

    return run()


def _completion() -> int:
    from kubectl_plugin.completion.answer import main as run

    return run()
