"""Fixtures of the end-to-end tests: the real control plane, and the plugin in the two ways of `tests.e2e.plugin`."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import yaml

from tests.controlplane.client import Object
from tests.controlplane.control_plane import ControlPlane
from tests.controlplane.fixtures import control_plane, control_plane_binaries, make_node, namespace
from tests.e2e.plugin import InProcess, KeptConnection, Plugin
from tests.e2e.space import Space

__all__ = ["control_plane", "control_plane_binaries", "kubectl_qos", "make_node", "namespace", "qos", "unreachable"]


@pytest.fixture(scope="session")
def kubectl_qos(control_plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Plugin:
    """``kubectl qos explain`` by the real kubectl, as the cluster's administrator unless a kubeconfig is given."""
    return Plugin(control_plane, tmp_path_factory.mktemp("run"))


@pytest.fixture(scope="session")
def qos(control_plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Iterator[InProcess]:
    """The same in this process."""
    with KeptConnection(tmp_path_factory.mktemp("kept")) as kept:
        yield InProcess(control_plane, tmp_path_factory.mktemp("run"), kept)


@pytest.fixture
def space(control_plane: ControlPlane, qos: InProcess, make_node: Callable[..., Object], namespace: str) -> Space:
    """A namespace of its own; nodes that it makes are removed after the test."""
    return Space(control_plane, qos, make_node, namespace)


@pytest.fixture
def unreachable(control_plane: ControlPlane, tmp_path: Path) -> Iterator[Path]:
    """The administrator's kubeconfig, with a loopback port without a listener."""
    config = yaml.safe_load(control_plane.admin_kubeconfig.read_text())
    file = tmp_path / "unreachable.kubeconfig"
    # Kept open, so that no other program listens there.
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        config["clusters"][0]["cluster"]["server"] = f"https://127.0.0.1:{held.getsockname()[1]}"
        file.write_text(yaml.safe_dump(config))
        yield file
