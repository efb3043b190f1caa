"""A scheduler plugin is one module, one registration and one entry of texts: a made-up plugin is tested end to end."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from podrules.scheduling.scheduler.in_tree import IN_TREE
from tests.kubectl_plugin.answers import write_list
from tests.objects import raw_node, raw_pod


@pytest.fixture
def ask(tmp_path: Path) -> Any:
    """Explains a new pod on nodes with this many licences, by a program that has the plugin."""

    def asked(licences: dict[str, int], output: str) -> str:
        room = {"cpu": "2", "memory": "4Gi", "pods": "10"}
        label = "example.com/licences"
        nodes = [raw_node(name, {label: str(number)}, allocatable=room) for name, number in licences.items()]
        file = write_list(tmp_path / "cluster.json", [raw_pod("solver", "shop"), *nodes])
        command = [sys.executable, "-m", "tests.kubectl_plugin.toy_plugin", "explain", "pod/solver", "-n", "shop"]
        ran = subprocess.run(
            [*command, "--snapshot", file, "-o", output], capture_output=True, text=True, timeout=120, check=True
        )
        return ran.stdout

    return asked


def test_plugin_filters_scores_explains_and_proposes(ask: Any) -> None:
    assert "LicensedNodes" not in IN_TREE, "the plugin is that program's alone"
    placement = json.loads(ask({"poor": 1, "rich": 3, "bare": 0}, "json"))["placement"]
    assert {entry["node"]: entry["plugins"]["LicensedNodes"] for entry in placement["scores"]} == {
        "rich": 7 * 30,
        "poor": 7 * 10,
    }
    (group,) = placement["rejected"]
    assert (group["plugin"], group["reasons"]) == ("LicensedNodes", ["node(s) had no licence"])
    assert group["nodes"] == [{"node": "bare", "facts": [{"type": "NoLicence", "licences": 0}], "also": []}]
    page = ask({"bare": 0}, "wide")
    assert "1 [#] licence bare has 0 licences" in " ".join(ask({"bare": 0}, "table").split())
    assert "Of 1 node, 1 has no licence. Way out: label bare" in " ".join(page.split())
    assert "node(s) had no licence: bare has 0 licences" in " ".join(page.split())
