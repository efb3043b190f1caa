"""Custom columns compared with those of the real ``kubectl get``, its only printer that needs a cluster."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kubectl_plugin.render.templates import CustomColumns, columns_from_lines, columns_from_spec
from tests.controlplane.control_plane import ControlPlane
from tests.objects import unscheduled_pod

pytestmark = pytest.mark.controlplane

SPECS = (
    "NAME:.metadata.name",
    "NAME:metadata.name,NS:{.metadata.namespace},NOTHING:{nothing}",
    "LABELS:.metadata.labels,PERIOD:.spec.terminationGracePeriodSeconds,NONE:",
    "IMAGES:.spec.containers[*].image,REQUESTS:.spec.containers[*].resources.requests",
    "A_LONGER_HEADING_THAN_ITS_CELLS:.kind,X:.spec.containers[0].name,Y:.status.conditions",
    "FILTERED:.spec.containers[?(@.name=='app')].image,ALL:..image",
)


@pytest.fixture
def pods(control_plane: ControlPlane, namespace: str) -> Any:
    """What kubectl prints of some pods as JSON."""
    control_plane.apply(
        [
            unscheduled_pod(namespace, "a", requests={"cpu": "100m", "memory": "1Gi"}),
            unscheduled_pod(namespace, "a-longer-name-than-others", terminationGracePeriodSeconds=5),
        ]
    )
    return json.loads(control_plane.kubectl("get", "pods", "-n", namespace, "-o", "json").stdout)


@pytest.mark.parametrize("spec", SPECS)
def test_K_columns_are_kubectls(control_plane: ControlPlane, namespace: str, pods: Any, spec: str) -> None:
    asked = ("get", "pods", "-n", namespace, "-o", f"custom-columns={spec}")
    for columns, flags in ((columns_from_spec(spec), ()), (_bare(spec), ("--no-headers",))):
        real = control_plane.kubectl(*asked, *flags).stdout
        assert columns.render(pods["items"]).splitlines() == [line.rstrip() for line in real.splitlines()]


def _bare(spec: str) -> CustomColumns:
    return columns_from_spec(spec)._replace(shows_headings=False)


def test_K_columns_of_a_file_are_kubectls(
    control_plane: ControlPlane, namespace: str, pods: Any, tmp_path: Path
) -> None:
    file = tmp_path / "columns"
    file.write_text("NAME   CLASS\nmetadata.name  {.status.qosClass}\n")
    real = control_plane.kubectl("get", "pods", "-n", namespace, "-o", f"custom-columns-file={file}").stdout
    assert columns_from_lines(file.read_text()).render(pods["items"]) == real
