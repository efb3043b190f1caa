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


def test_P4_affinity_to_a_pod_that_would_be_preempted_is_said_with_its_name() -> None:
    said = explained("Paff.yaml", "s2d2.json")
    assert "Preemption cannot make room on n1: its pod affinity needs default/svc, which would be preempted." in said
    assert "preempts nobody: n1 would lose default/svc, which its pod affinity needs: InterPodAffinity:" in said
    (entry,) = placement("Paff.yaml", "s2d2.json")["preemption"]["noRoom"]
    assert entry["needs"] == [{"namespace": "default", "name": "svc"}]


def test_P4_place_says_the_same() -> None:
    ran = run("place", "-f", str(SEEDS / "Paff.yaml"), "--snapshot", str(SEEDS / "s2d2.json"))
    assert "its pod affinity needs default/svc, which would be preempted." in " ".join(ran.out.split())


def test_P4_the_reason_of_the_plugin_is_said() -> None:
    assert "preempts nobody: n1 has no pod of lower priority" in explained("Panti.yaml", "s2h.json")
    said = " ".join(run("explain", "pod/checkout-mv9cgvs6p-x2x7p", "-n", "shop", "--demo").out.split())
    assert "do not take it even without pods of lower priority: PodTopologySpread: node(s) didn't match" in said
    assert "none has room" not in said
