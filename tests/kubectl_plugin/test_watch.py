"""``--watch`` without a cluster: supported commands, output to a pipe, and screen updates."""

from __future__ import annotations

import io
import os
import pty
import re
from collections.abc import Iterator

import pytest

from kubectl_plugin.options import Streams
from kubectl_plugin.parsing import parse
from kubectl_plugin.watch import Pipe, Terminal
from tests.kubectl_plugin.running import run
from tests.kubectl_plugin.terminals import resize

STAMP = re.compile(r"\d\d:\d\d:\d\d UTC  ")


def _pipe(*, in_words: bool) -> tuple[Pipe, io.StringIO, io.StringIO]:
    out, err = io.StringIO(), io.StringIO()
    return Pipe(Streams(io.StringIO(), out, err), in_words=in_words), out, err


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (("explain", "pod/x", "-w", "--demo"), "--watch needs a cluster"),
        (("node", "x", "--watch", "--snapshot", "c.json"), "--watch needs a cluster"),
        (("explain", "-w", "--offline", "-f", "x.yaml"), "--watch needs a cluster"),
        (("explain", "-w", "-f", "-"), "standard input can be read only once"),
        (("partitions", "-w", "--watch-interval=soon"), '--watch-interval "soon": not a time'),
        (("delete", "pod/x", "-w"), "unknown flag -w"),
        (("report", "-A", "-w"), "unknown flag -w"),
        (("explain", "deployment/x", "-w", "--demo"), "--watch needs a cluster"),
    ],
)
def test_K_what_cannot_be_watched(words: tuple[str, ...], problem: str) -> None:
    ran = run(*words)
    assert (ran.code, ran.out) == (2, "")
    assert problem in ran.err


@pytest.mark.parametrize(
    ("flags", "seconds"),
    [
        ((), None),
        (("-w",), 10.0),
        (("--watch", "--watch-interval", "2m"), 120.0),
        (("-w", "--watch-interval=1ms"), 1.0),
    ],
)
def test_K_how_often(flags: tuple[str, ...], seconds: float | None) -> None:
    for words in (("explain", "pod/x"), ("node", "x"), ("partitions",)):
        assert getattr(parse([*words, *flags]).options, "watch") == seconds  # noqa: B009 - not all options have it


def test_K_pipe_gets_what_is_new() -> None:
    pipe, out, err = _pipe(in_words=True)
    pipe.show("one\ntwo\nthree\n", "")
    pipe.show("one\ntwo\nthree\n", "")
    pipe.show("one\n2\nthree\nfour\n", "")
    pipe.show("one\nfour\n", "")
    assert [STAMP.sub("", line) for line in out.getvalue().splitlines()] == [
        "one",
        "two",
        "three",
        "2",
        "four",
        "no longer: 2",
        "no longer: three",
    ]
    assert all(STAMP.match(line) for line in out.getvalue().splitlines())
    assert err.getvalue() == ""


def test_K_data_are_not_cut() -> None:
    pipe, out, _ = _pipe(in_words=False)
    for text in ("{1}\n", "{1}\n", "{2}\n"):
        pipe.show(text, "")
    assert out.getvalue() == "{1}\n{2}\n"


def test_K_problem_is_reported_once() -> None:
    pipe, out, err = _pipe(in_words=True)
    pipe.show("one\n", "error: x\n")
    pipe.show("one\n", "error: x\n")
    pipe.note("gone\x1b[2J")
    assert STAMP.sub("", out.getvalue()) == "one\n"
    assert STAMP.sub("", err.getvalue()) == "error: x\ngone\\x1b[2J\n"


@pytest.fixture
def terminal() -> Iterator[tuple[Terminal, int, int]]:
    master, slave = pty.openpty()
    with os.fdopen(slave, "w", encoding="utf-8") as out:
        yield Terminal(out), master, out.fileno()
    os.close(master)


def _drawn(master: int, slave: int) -> str:
    """The output so far: a single read may return a part of it, so a mark is written after it."""
    os.write(slave, b"\0")
    drawn = b""
    while not drawn.endswith(b"\0"):
        drawn += os.read(master, 65536)
    return drawn.removesuffix(b"\0").decode()


def test_K_screen_shows_what_fits(terminal: tuple[Terminal, int, int]) -> None:
    screen, master, slave = terminal
    resize(slave, rows=4, columns=30)
    screen.show("".join(f"line {number} {'x' * 40}\n" for number in range(9)), "")
    lines = _drawn(master, slave).removeprefix("\x1b[H").removesuffix("\x1b[J").split("\r\n")
    plain = [line.removesuffix("\x1b[0m\x1b[K") for line in lines]
    assert len(lines) == 4
    assert plain[:3] == [f"line {number} {'x' * 22}" for number in range(3)]
    assert re.fullmatch(r"as of \d\d:\d\d:\d\d UTC, 6 more li", plain[3])


def test_K_screen_keeps_answer_while_cluster_is_silent(terminal: tuple[Terminal, int, int]) -> None:
    screen, master, slave = terminal
    resize(slave, rows=20, columns=100)
    screen.show("the answer\n", "")
    before = _drawn(master, slave)
    screen.note("the API server does not answer")
    after = _drawn(master, slave)
    assert "the answer" in before
    assert "the answer" in after
    assert STAMP.search(after)
    assert re.search(r"as of [\d:]+ UTC; Ctrl-C ends", after)


def test_K_colours_take_no_room(terminal: tuple[Terminal, int, int]) -> None:
    screen, master, slave = terminal
    resize(slave, rows=5, columns=10)
    screen.show("\x1b[1mbold\x1b[0m \x1b[31m123456789\x1b[0m\n", "")
    assert _drawn(master, slave).startswith("\x1b[H\x1b[1mbold\x1b[0m \x1b[31m1234\x1b[0m\x1b[0m\x1b[K\r\n")


def test_K_terminal_is_always_restored(terminal: tuple[Terminal, int, int]) -> None:
    screen, master, slave = terminal

    def fail() -> None:
        with screen:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fail()
    assert _drawn(master, slave) == "\x1b[?1049h\x1b[?25l\x1b[?25h\x1b[?1049l"
