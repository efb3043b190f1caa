"""Where the console scripts begin and end: Python's looks for cycles would be a tenth of a short answer's time."""

from __future__ import annotations

import gc
import signal
from collections.abc import Callable

__all__ = ["complete", "main"]

_BETWEEN_LOOKS = 100_000
"""Objects. What is loaded at the start stays, and would be looked through again and again."""


def main() -> int:
    """Load and run the command line."""
    # Until it is loaded, an interrupt ends us without a traceback.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    return _run(_command_line)


def complete() -> int:
    """Answer a shell that completes words."""
    return _run(_completion)


def _run(script: Callable[[], int]) -> int:
    gc.set_threshold(_BETWEEN_LOOKS)
    code = script()
    # All that is left goes with the process: nothing of it has to be looked through at the end.
    gc.freeze()
    return code


def _command_line() -> int:
    from kubectl_plugin.cli import main as run

    return run()


def _completion() -> int:
    from kubectl_plugin.completion.answer import main as run

    return run()
