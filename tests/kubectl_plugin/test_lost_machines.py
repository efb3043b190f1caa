"""What is known of the machine of a silent node, and of volumes that are on it alone."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pytest

from tests.kubectl_plugin.running import run
from tests.tree import ROOT

CASE: Final = ROOT / "tests" / "testdata" / "cases" / "field" / "partpdb.json"
SHUTDOWN: Final = "node.cloudprovider.kubernetes.io/shutdown"
SAID: Final = (
    f"The cloud provider said that the machine of node-a is off (taint {SHUTDOWN}): check that in its console, then "
    "fence node-a."
)
Json = dict[str, Any]


def _told(folder: Path, change: Callable[[Json], None], *words: str) -> str:
    """What a command says of the case, with each object changed."""
    cluster = json.loads(CASE.read_text())
    for one in cluster["items"]:
        change(one)
    file = folder / "cluster.json"
    file.write_text(json.dumps(cluster))
    return " ".join(run(*words, "--snapshot", str(file)).out.split())


def _shut_down(one: Json) -> None:
    if (one["kind"], one["metadata"]["name"]) == ("Node", "node-a"):
        one["spec"].setdefault("taints", []).append({"key": SHUTDOWN, "effect": "NoSchedule"})


@pytest.mark.parametrize(
    ("words", "before"),
    [
        (("partitions",), "Nobody can tell from here"),
        (("fence", "node/node-a"), "Not fenced: nobody has confirmed that its machine is off."),
        (("delete", "pod/pet-2", "--grace-period=0"), "Not safe yet"),
        (("explain", "node/node-a"), "no memory limit"),
        (("explain", "pod/pet-2"), "It stays Terminating"),
    ],
)
def test_F5_what_the_cloud_says_of_the_machine_comes_first(tmp_path: Path, words: tuple[str, ...], before: str) -> None:
    told = _told(tmp_path, _shut_down, *words)
    assert SAID in told
    assert before not in told.partition(SAID)[0]
    assert SAID not in _told(tmp_path, lambda _: None, *words)


def test_F5_a_node_that_answers_is_not_said_to_be_off(tmp_path: Path) -> None:
    def answers(one: Json) -> None:
        _shut_down(one)
        if (one["kind"], one["metadata"]["name"]) == ("Node", "node-a"):
            one["status"]["conditions"] = [{"type": "Ready", "status": "False"}]
        if one["kind"] == "Lease":
            one["spec"]["renewTime"] = "2026-11-27T22:00:00Z"

    assert "is off" not in _told(tmp_path, answers, "explain", "node/node-a")


def test_F5_the_taint_is_explained() -> None:
    told = " ".join(run("why", SHUTDOWN).out.split())
    assert "its cloud provider said that the machine is shut down" in told
    assert "fence the node" in told
