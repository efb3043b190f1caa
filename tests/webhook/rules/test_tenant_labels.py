"""Who may label a Namespace: which labels of rules a tenant can change (docs/webhook/reference.md)."""

from __future__ import annotations

import pytest

from tests.controlplane.control_plane import ControlPlane
from tests.waiting import wait_for

pytestmark = pytest.mark.controlplane


def may(control_plane: ControlPlane, *line: str) -> bool:
    """Whether jane may do something."""
    return control_plane.kubectl(*line, "--as=jane", check=False).returncode == 0


def test_F2_role_in_a_namespace_may_label_it_admins_may_not(control_plane: ControlPlane, namespace: str) -> None:
    label = ("label", "namespace", namespace, "example.com/tried=yes", "--overwrite")
    # It may do all that edit may.
    control_plane.kubectl("create", "rolebinding", "admin", "--clusterrole=admin", "--user=jane", "-n", namespace)
    wait_for(lambda: may(control_plane, "get", "namespace", namespace), "the role counts")
    assert not may(control_plane, *label)
    verbs = ("--verb=get,patch", "--resource=namespaces")
    control_plane.kubectl("create", "role", "labels", *verbs, "-n", namespace)
    control_plane.kubectl("create", "rolebinding", "labels", "--role=labels", "--user=jane", "-n", namespace)
    wait_for(lambda: may(control_plane, *label), "the role counts")


def test_F2_label_with_the_namespace_name_cannot_be_changed(control_plane: ControlPlane, namespace: str) -> None:
    """The chart excludes namespaces by this label."""
    for change in ("kubernetes.io/metadata.name=other", "kubernetes.io/metadata.name-"):
        control_plane.kubectl("label", "namespace", namespace, change, "--overwrite", check=False)
        stored = control_plane.api.get("v1", "Namespace", namespace)
        assert stored["metadata"]["labels"]["kubernetes.io/metadata.name"] == namespace
