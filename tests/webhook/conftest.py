"""The demo cluster behind the webhook, and the fixtures of the real control plane."""

from __future__ import annotations

import pytest

from tests.controlplane.fixtures import control_plane, control_plane_binaries, helm, make_node, namespace
from webhook.cluster.view import Cluster
from webhook.serving.backend import Backend, start_backend
from webhook.settings import ForceDeletion, ForceDeletionMode, Settings

__all__ = ["control_plane", "control_plane_binaries", "helm", "make_node", "namespace", "start_demo"]


@pytest.fixture(scope="session")
def demo_backend() -> Backend:
    """The backend of ``qos-webhook --demo``."""
    return start_demo()


def start_demo() -> Backend:
    """The same, for callers outside tests."""
    return start_backend(
        Settings(
            demo=True,
            # The same as in webhook.demo.
            force_deletion=ForceDeletion(namespaces={"data": ForceDeletionMode.CONFIRM}),
        )
    )


@pytest.fixture(scope="session")
def demo_cluster(demo_backend: Backend) -> Cluster:
    """The demo cluster as handlers see it."""
    return demo_backend.cluster
