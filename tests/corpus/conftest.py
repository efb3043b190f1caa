"""Makes the fixtures of the real control plane known here."""

from tests.controlplane.fixtures import control_plane, control_plane_binaries, helm, namespace

__all__ = ["control_plane", "control_plane_binaries", "helm", "namespace"]
