"""Runs the command line in this process and keeps what it printed."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Mapping
from tempfile import TemporaryFile
from typing import IO, NamedTuple

import pytest

from kubectl_plugin.cli import main

__all__ = ["Ran", "run"]


class Ran(NamedTuple):
    """What a person sees of one run."""

    code: int
    out: str
    err: str


def run(*arguments: str, stdin: str = "", env: Mapping[str, str] | None = None) -> Ran:
    """The same as typing ``kubectl qos ARGUMENTS``, with output that is no terminal.

    Args:
        arguments: What is typed.
        stdin: What comes through a pipe.
        env: The whole environment; this process' own when not given.
    """
    # Files, for a program that is started may be given one of them.
    with _file() as out, _file(errors="backslashreplace") as err:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(sys, "stdin", io.StringIO(stdin))
            patch.setattr(sys, "stdout", out)
            # By this one libraries find out how wide the terminal is.
            patch.setattr(sys, "__stdout__", out)
            patch.setattr(sys, "stderr", err)
            if env is not None:
                _set_environment(patch, env)
            try:
                code = main(arguments)
            except SystemExit as stop:
                code = stop.code if isinstance(stop.code, int) else 1
        return Ran(code, _written(out), _written(err))


def _file(errors: str = "strict") -> IO[str]:
    return TemporaryFile("w+", encoding="utf-8", errors=errors)


def _set_environment(patch: pytest.MonkeyPatch, wanted: Mapping[str, str]) -> None:
    for name in os.environ.keys() - wanted.keys():
        patch.delenv(name)
    for name, value in wanted.items():
        if os.environ.get(name) != value:
            patch.setenv(name, value)


def _written(file: IO[str]) -> str:
    file.seek(0)
    return file.read()
