"""The chart, the real helm, and the fixtures of the real control plane."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.charts.chart import Chart
from tests.controlplane.control_plane import ControlPlane
from tests.controlplane.custom_kinds import PROMETHEUS_OPERATOR
from tests.controlplane.fixtures import (
    control_plane,
    control_plane_binaries,
    helm,
    make_node,
    namespace,
    require_kinds,
)

__all__ = [
    "chart",
    "control_plane",
    "control_plane_binaries",
    "helm",
    "make_node",
    "monitoring_kinds",
    "namespace",
    "release_namespace",
]


@pytest.fixture(scope="session")
def chart(helm: Path, tmp_path_factory: pytest.TempPathFactory) -> Chart:
    """The chart qos-webhook, rendered and installed by the real helm."""
    return Chart(helm, tmp_path_factory.mktemp("helm"))


@pytest.fixture(scope="session")
def monitoring_kinds(control_plane: ControlPlane) -> None:
    """Make the API server serve ServiceMonitor and PrometheusRule."""
    require_kinds(control_plane, PROMETHEUS_OPERATOR)


@pytest.fixture
def release_namespace(control_plane: ControlPlane, namespace: str) -> Iterator[str]:
    """A namespace for the webhook itself that admits only restricted pods; ``namespace`` is one that it reviews."""
    name = f"{namespace}-release"
    control_plane.create_namespace(name, {"pod-security.kubernetes.io/enforce": "restricted"})
    yield name
    control_plane.leave_namespace(name)
