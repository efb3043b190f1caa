"""The common parts of the gate's command lines."""

from __future__ import annotations

import argparse


def at_least_one(text: str) -> int:
    """A count, for argparse.

    Raises:
        argparse.ArgumentTypeError: It is no whole number, or less than 1.
    """
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is no number from 1 on")
    return int(text)
