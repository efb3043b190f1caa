"""A manifest's pod goes through admission once, whatever is asked about it: counted in runs of the commands."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, Final

import pytest

from podrules.defaults import apply_limit_ranges, default_pod
from podrules.priority import admit_pod_create
from tests.kubectl_plugin.running import run

LIMITS_ONLY: Final = str(Path(__file__).parents[1] / "testdata" / "manifests" / "limits-only.yaml")
RUNS: Final = {
    "explain": ("explain", "--demo"),
    "explain on a node": ("explain", "--demo", "--on", "cp-a1"),
    "explain with a placement and a position": ("explain", "--demo", "--placement"),
    "explain with a timeline": ("explain", "--demo", "--timeline"),
    "place": ("place", "--demo"),
    "place more than one": ("place", "--demo", "--replicas", "3"),
}


@contextmanager
def counted_calls(*functions: Callable[..., Any]) -> Iterator[dict[str, int]]:
    """Counts the calls of functions by name, whoever makes them."""
    codes: dict[CodeType, str] = {function.__code__: function.__name__ for function in functions}
    counts = dict.fromkeys(codes.values(), 0)

    def count(frame: FrameType, event: str, _: object) -> None:
        if event == "call" and frame.f_code in codes:
            counts[codes[frame.f_code]] += 1

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        yield counts
    finally:
        sys.setprofile(before)


@pytest.mark.parametrize("name", RUNS)
def test_a_pod_to_come_is_admitted_once(name: str) -> None:
    with counted_calls(apply_limit_ranges, admit_pod_create) as counts:
        ran = run(*RUNS[name], "-f", LIMITS_ONLY)
    assert (ran.code, ran.err) == (0, "")
    assert counts == {"apply_limit_ranges": 1, "admit_pod_create": 1}


def test_lint_fills_in_the_defaults_of_a_pod_once() -> None:
    with counted_calls(default_pod, apply_limit_ranges) as counts:
        ran = run("lint", "-f", LIMITS_ONLY)
    assert ran.out
    assert counts == {"default_pod": 1, "apply_limit_ranges": 0}
