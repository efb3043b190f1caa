"""Where the console script begins: until the command line is loaded, an interrupt ends us without a traceback."""

from __future__ import annotations

import signal

__all__ = ["main"]


def main() -> int:
    """Load and run the command line."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    from kubectl_plugin.cli import main as run

    return run()
