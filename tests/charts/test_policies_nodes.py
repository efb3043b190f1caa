"""Deletions of Nodes, without a list of their pods. Nodes are shared, so each test has its own release."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.charts.policies import installed, messages, scoped
from tests.controlplane.client import Object
from tests.controlplane.control_plane import ControlPlane
from tests.webhook.forcing import ADMIN, CONFIRMATION, MODE, People, make_pod, undrained

pytestmark = pytest.mark.controlplane

NAME = "nodes-policy"


def test_F2_policy_accepts_a_confirmed_node_deletion(
    control_plane: ControlPlane, helm: Path, tmp_path: Path, make_node: Callable[..., Object]
) -> None:
    name = f"{NAME}-confirmed"
    values = scoped(name, forceDeletion={"namespaces": {"ledger": "confirm"}, "exemptUsers": [ADMIN]})
    nodes = [make_node()["metadata"]["name"] for _ in range(2)]
    people = People(control_plane)
    with installed(control_plane, helm, tmp_path, name, values):
        done = people.kubectl("delete", "node", nodes[0], "--dry-run=server")
        assert done.returncode == 1
        assert "the configuration requires a confirmation in some namespaces" in done.stderr
        command = re.search(rf"kubectl annotate node {nodes[0]} {CONFIRMATION}=\S+ --overwrite", done.stderr)
        assert command is not None, done.stderr
        people.run(command[0])
        confirmed = people.kubectl("delete", "node", nodes[0], "--dry-run=server")
        assert confirmed.returncode == 0
        assert messages(confirmed.stderr) == [
            f"{undrained(nodes[0])}; drain it first: kubectl drain {nodes[0]} --ignore-daemonsets"
        ]
        assert people.kubectl("delete", "node", nodes[1], "--dry-run=server").returncode == 1
        people.kubectl("cordon", nodes[1])
        assert messages(people.kubectl("delete", "node", nodes[1], "--dry-run=server").stderr) == []


def test_F1_policy_warns_of_a_node_that_was_not_drained(
    control_plane: ControlPlane, helm: Path, tmp_path: Path, make_node: Callable[..., Object]
) -> None:
    """A Namespace's label forbids no deletion of a Node."""
    name = f"{NAME}-warned"
    node = make_node()["metadata"]["name"]
    people = People(control_plane)
    control_plane.create_namespace(f"{name}-denied", {"asked": name, MODE: "deny"})
    control_plane.api.create(make_pod("db", f"{name}-denied", node))
    with installed(control_plane, helm, tmp_path, name, scoped(name)):
        done = people.kubectl("delete", "node", node, "--dry-run=server")
        assert done.returncode == 0
        assert messages(done.stderr) == [f"{undrained(node)}; drain it first: kubectl drain {node} --ignore-daemonsets"]
        people.kubectl("cordon", node)
        assert messages(people.kubectl("delete", "node", node, "--dry-run=server").stderr) == []
        people.kubectl("uncordon", node)
        done = people.kubectl("delete", "node", node)
        assert messages(done.stderr) == [f"{undrained(node)}; check now: kubectl qos died node/{node}"]
