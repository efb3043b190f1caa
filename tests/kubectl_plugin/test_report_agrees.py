"""The report tells as much trouble of each pod as the pod's explanation does, and lists the worst first."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

import pytest

from kubectl_plugin.reports.pod_risk import PodRisk
from kubectl_plugin.reports.verdict import Severity
from kubectl_plugin.views.risk_words import RISK_SEVERITY
from tests.kubectl_plugin.running import run

STATES: Final = str(Path(__file__).parents[1] / "testdata/cases/cli/states.json")
NEEDS_USAGE: Final = frozenset({"OverRequest"})
"""The summary looks at usage on the whole node: the pod's own page tells it beside the order of eviction."""
OF_THE_NODE: Final = frozenset({"NodePressure", "NodeNotReady", "NearMemoryLimit"})
"""What is the matter with the node is told of the node, once, and not of each pod there."""


@pytest.mark.parametrize("source", [("--demo",), ("--snapshot", STATES)], ids=["demo", "states"])
def test_the_report_is_as_urgent_about_a_pod_as_its_explanation(source: tuple[str, ...]) -> None:
    report = json.loads(run("report", "--all", "-o", "json", *source).out)
    assert report["pods"]
    for pod in report["pods"]:
        told = json.loads(run("explain", f"pod/{pod['name']}", "-n", pod["namespace"], "-o", "json", *source).out)
        verdict: dict[str, Any] = told["verdict"]
        risk = pod.get("risk")
        if risk in NEEDS_USAGE or verdict["code"] in OF_THE_NODE:
            continue
        severity = RISK_SEVERITY[PodRisk(risk)] if risk else Severity.FINE
        assert severity.value == verdict["severity"], (pod["name"], risk, verdict)


def test_risks_are_in_the_order_of_their_urgency() -> None:
    order = list(Severity)
    places = [order.index(RISK_SEVERITY[risk]) for risk in PodRisk]
    assert places == sorted(places, reverse=True)
