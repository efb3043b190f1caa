"""A pod has no kubeconfig: the service account's token and the API server's address come with the container."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import urlsplit

import pytest
from kubernetes.config import incluster_config

from cluster_io.errors import Unreachable
from cluster_io.live.client import ClientTransport
from tests.controlplane.control_plane import ControlPlane


@pytest.fixture(autouse=True)
def no_kubeconfig(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Like in a container: no KUBECONFIG, an empty home."""
    monkeypatch.delenv("KUBECONFIG", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))


@pytest.mark.controlplane
def test_the_service_account_is_taken(
    control_plane: ControlPlane, namespace: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    token = tmp_path / "token"
    token.write_text(control_plane.service_account_token("webhook", namespace))
    monkeypatch.setattr(incluster_config, "SERVICE_TOKEN_FILENAME", str(token))
    monkeypatch.setattr(incluster_config, "SERVICE_CERT_FILENAME", str(control_plane.folder / "ca.crt"))
    address = urlsplit(control_plane.server)
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", str(address.hostname))
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT", str(address.port))
    transport = ClientTransport(request_timeout=60)
    status, body = transport.get("/api/v1/nodes")
    transport.close()
    # Authenticated and not allowed: the API server names the user of the token.
    assert status == 403
    assert f"system:serviceaccount:{namespace}:webhook".encode() in body


def test_neither_kubeconfig_nor_service_account(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    with pytest.raises(Unreachable, match="no configuration for a cluster"):
        ClientTransport(request_timeout=10)
