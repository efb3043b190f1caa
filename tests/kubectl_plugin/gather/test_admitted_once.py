"""Each command admits a manifest's pod once; the calls are counted."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pytest

from kubectl_plugin.exit_codes import NOT_FOUND, REFUSED
from podrules.pod.defaults import apply_limit_ranges, default_pod
from podrules.pod.priority import admit_pod_create
from tests.calls import counted_calls
from tests.kubectl_plugin.running import run

LIMITS_ONLY: Final = str(Path(__file__).parents[2] / "testdata" / "manifests" / "limits-only.yaml")
RUNS: Final = {
    "explain": ("explain", "--demo"),
    "explain on a node": ("explain", "--demo", "--on", "cp-a1"),
    "explain with a placement and a position": ("explain", "--demo", "--placement"),
    "explain with a timeline": ("explain", "--demo", "--timeline"),
    "place": ("place", "--demo"),
    "place more than one": ("place", "--demo", "--replicas", "3"),
}


@pytest.mark.parametrize("name", RUNS)
def test_new_pod_is_admitted_once(name: str) -> None:
    with counted_calls(apply_limit_ranges, admit_pod_create) as counts:
        ran = run(*RUNS[name], "-f", LIMITS_ONLY)
    assert (ran.code, ran.err) == (0, "")
    assert counts == {"apply_limit_ranges": 1, "admit_pod_create": 1}


def test_lint_fills_in_the_defaults_of_a_pod_once() -> None:
    with counted_calls(default_pod, apply_limit_ranges) as counts:
        ran = run("lint", "-f", LIMITS_ONLY)
    assert ran.out
    assert counts == {"default_pod": 1, "apply_limit_ranges": 0}


def test_on_flag_names_missing_node_for_refused_pod(tmp_path: Path) -> None:
    path = tmp_path / "refused.yaml"
    pod = Path(LIMITS_ONLY).read_text(encoding="utf-8").replace("spec:", "spec:\n  priorityClassName: none-such", 1)
    path.write_text(pod, encoding="utf-8")
    assert run("explain", "--demo", "-f", str(path)).code == REFUSED
    ran = run("explain", "--demo", "--on", "missing", "-f", str(path))
    assert (ran.code, ran.err.splitlines()[0]) == (NOT_FOUND, 'error: no node "missing"')
