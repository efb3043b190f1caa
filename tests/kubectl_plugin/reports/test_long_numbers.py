"""Numbers with more digits than Python reads: an object that has one does not break commands about others."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.kubectl_plugin.running import run, write_cluster
from tests.objects import raw_condition, raw_node, raw_pod

LONG = "9" * 5000
MESSAGE = f"0/3 nodes are available: {LONG} Insufficient memory."
SPECS = {
    "PodDisruptionBudget": ("policy/v1", f"maxUnavailable: {LONG}%"),
    "CronJob": ("batch/v1", f'schedule: "{LONG} * * * *"'),
    "Job": (
        "batch/v1",
        f'{{completionMode: Indexed, completions: 5, successPolicy: {{rules: [{{succeededIndexes: "{LONG}"}}]}}}}',
    ),
}


@pytest.mark.parametrize("kind", SPECS)
def test_manifest(kind: str) -> None:
    version, spec = SPECS[kind]
    manifest = f"apiVersion: {version}\nkind: {kind}\nmetadata: {{name: a}}\nspec:\n  {spec}\n"
    ran = run("lint", "-f", "-", stdin=manifest)
    assert (ran.code, ran.err) == (1, "")
    assert "max_str_digits" not in ran.out


def test_every_schedule_of_a_long_duration() -> None:
    manifest = f'apiVersion: batch/v1\nkind: CronJob\nmetadata: {{name: a}}\nspec: {{schedule: "@every 1.{LONG}h"}}\n'
    assert "schedule" not in run("lint", "-f", "-", stdin=manifest).err


def test_message_of_the_scheduler(tmp_path: Path) -> None:
    condition = raw_condition("PodScheduled", status="False", reason="Unschedulable", message=MESSAGE)
    pod = raw_pod("web", "shop", status={"phase": "Pending", "conditions": [condition]})
    file = tmp_path / "c.json"
    write_cluster(file, [raw_node("n1"), pod])
    for command in ("explain", "place"):
        assert run(command, "pod/web", "-n", "shop", "--snapshot", str(file)).err == ""


def test_message_passed_to_why() -> None:
    ran = run("why", MESSAGE)
    assert (ran.code, ran.err) == (0, "")
