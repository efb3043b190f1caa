"""Runs the command line in this process and keeps what it printed."""

from __future__ import annotations

import contextlib
import io
import sys
from typing import NamedTuple

import pytest

from kubectl_plugin.cli import main

__all__ = ["Ran", "run"]


class Ran(NamedTuple):
    """Exit code and output."""

    code: int
    out: str
    err: str


def run(*arguments: str, stdin: str = "") -> Ran:
    """The same as typing ``kubectl qos ARGUMENTS``, with output that is no terminal."""
    out, err = io.StringIO(), io.StringIO()
    with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        patch.setattr(sys, "stdin", io.StringIO(stdin))
        try:
            code = main(list(arguments))
        except SystemExit as stop:
            code = stop.code if isinstance(stop.code, int) else 1
    return Ran(code, out.getvalue(), err.getvalue())
