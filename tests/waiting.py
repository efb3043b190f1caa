"""Waiting for other processes and threads, also on a machine that stands still now and then."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

_FIRST_PAUSE = 0.002
_LONGEST_PAUSE = 0.05


def wait_for(condition: Callable[[], T | None], what: str, *, timeout: float = 90) -> T:
    """Waits until ``condition`` is truthy and returns its value.

    Args:
        condition: Asked repeatedly, and once more when the time is over: the machine may have stood still meanwhile.
            What it raises ends the wait, as when a process has ended that will never be ready.
        what: The awaited event, for the error message.
        timeout: Seconds to wait at most. It only bounds how long a failure takes: no test needs it to be short.

    Raises:
        TimeoutError: The time is over.
    """
    deadline = time.monotonic() + timeout
    pause = _FIRST_PAUSE
    while True:
        over = time.monotonic() > deadline
        if value := condition():
            return value
        if over:
            raise TimeoutError(f"after {timeout:.0f} s still not: {what}")
        time.sleep(pause)
        # Short waits end at once, and long waits cost little.
        pause = min(2 * pause, _LONGEST_PAUSE)


def answer_in_the_end(ask: Callable[[], T], wanted: Callable[[T], bool], *, timeout: float = 90) -> T:
    """Asks until the answer is as wanted, and returns the last one, so that the test shows the difference.

    Args:
        ask: Returns an answer.
        wanted: Whether the answer is the one to wait for.
        timeout: Seconds to wait at most, as of `wait_for`.
    """
    last = ask()

    def asked() -> bool:
        nonlocal last
        last = ask()
        return wanted(last)

    if not wanted(last):
        with contextlib.suppress(TimeoutError):
            wait_for(asked, "the answer", timeout=timeout)
    return last


def again_if_late(ask: Callable[[], T], seconds: float, errors: tuple[type[Exception], ...] = (OSError,)) -> T:
    """Asks, and up to twice more after a failure that took so long that the other end may have given up.

    Args:
        ask: Returns the answer.
        seconds: The other end's timeout: an earlier failure is final.
        errors: The errors of a failure.
    """
    for _ in range(2):
        began = time.monotonic()
        try:
            return ask()
        except errors:
            if time.monotonic() - began < seconds:
                raise
    return ask()
