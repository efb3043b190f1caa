"""Where the real control plane comes from."""

from __future__ import annotations

from tests.controlplane.fixtures import control_plane_binaries

__all__ = ["control_plane_binaries"]
