"""The fixtures of the real control plane."""

from __future__ import annotations

from tests.controlplane.fixtures import control_plane, control_plane_binaries, namespace

__all__ = ["control_plane", "control_plane_binaries", "namespace"]
