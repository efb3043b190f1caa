"""Recorded small clusters in which a pod fits nowhere: what is said of preemption, everywhere where it is said."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

from tests.kubectl_plugin.running import run

SEEDS: Final = Path(__file__).parents[1] / "testdata/cases/seeds"


def explained(manifest: str, snapshot: str, *more: str) -> str:
    ran = run("explain", "-f", str(SEEDS / manifest), "--snapshot", str(SEEDS / snapshot), *more)
    assert (ran.code, ran.err) == (0, "")
    return " ".join(ran.out.split())


def placement(manifest: str, snapshot: str, *more: str) -> Any:
    ran = run("explain", "-f", str(SEEDS / manifest), "--snapshot", str(SEEDS / snapshot), *more, "-o", "json")
    assert (ran.code, ran.err) == (0, "")
    return json.loads(ran.out)["placement"]


def test_P4_a_pod_that_is_to_go_is_named_with_its_own_node() -> None:
    said = explained("Panti.yaml", "s2h.json")
    assert "Cheapest way out: stop pod default/q on n3 (then n1), or tolerate" in said
    assert "would fit: stop pod default/q on n3 (then n1)" in said
    assert "without default/q on n3 it would fit n1;" in said
    assert "default/q on n1" not in said
    pods = [
        change["pods"]
        for group in placement("Panti.yaml", "s2h.json")["rejected"]
        for change in group["remedy"]["changes"]
    ]
    assert {pod["node"] for entry in pods for pod in entry} == {"n3"}
