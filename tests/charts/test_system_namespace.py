"""A release in a namespace of Kubernetes itself: a new one is refused, an existing one causes a warning."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cluster_io.live.client import ClientTransport
from tests.charts.chart import Chart, HelmError, only_in
from tests.controlplane.client import Object
from tests.controlplane.control_plane import ControlPlane
from tests.webhook.installation import Installation

ALLOWED = {"allowSystemNamespace": True}


@pytest.mark.parametrize("namespace", ["kube-system", "kube-public", "kube-node-lease"])
def test_A_new_release_in_a_namespace_of_kubernetes_is_refused(chart: Chart, namespace: str) -> None:
    said = f"allowSystemNamespace: {namespace} is a namespace of Kubernetes itself, where bootstrap tokens and"
    with pytest.raises(HelmError, match=said):
        chart.rendered(namespace=namespace)
    allowed = chart.rendered({"allowSystemNamespace": True}, namespace=namespace)
    assert chart.rendered(None, "--is-upgrade", namespace=namespace) == allowed
    # Policies have no token that could be stolen.
    assert chart.rendered({"mode": "policy"}, namespace=namespace)


@pytest.mark.controlplane
def test_A_release_in_kube_system_creates_no_bootstrap_token(
    control_plane: ControlPlane, helm: Path, tmp_path: Path
) -> None:
    """With such a token any client could join as a node. An upgrade keeps the certificate, and names an alternative."""
    api = control_plane.api
    installation = Installation(control_plane, helm, tmp_path, namespace="kube-system")
    values: Object = {"webhook": {"namespaceMatchExpressions": only_in("nowhere")}}
    installation.install({**values, **ALLOWED})
    try:
        kubeconfig = control_plane.kubeconfig_for_service_account("qos-qos-webhook", "kube-system")
        transport = ClientTransport(kubeconfig=str(kubeconfig), request_timeout=60)
        token = {
            "apiVersion": "v1",
            "kind": "Secret",
            "type": "bootstrap.kubernetes.io/token",
            "metadata": {"name": "bootstrap-token-abcdef"},
            "stringData": {"token-id": "abcdef", "token-secret": "0123456789abcdef"},
        }
        status, body, _ = transport.send("POST", "/api/v1/namespaces/kube-system/secrets", json.dumps(token).encode())
        transport.close()
        assert status == 403, body
        secret = api.get("v1", "Secret", "qos-qos-webhook-tls", "kube-system")
        data = api.patch(secret, {"data": {"tls.crt": "AAAA"}})["data"]
        notes = installation.upgrade(values)
        assert "Warning: kube-system is a namespace of Kubernetes itself, where bootstrap tokens" in notes
        assert "Warning" not in installation.upgrade({**values, **ALLOWED})
        assert api.get("v1", "Secret", "qos-qos-webhook-tls", "kube-system")["data"] == data
    finally:
        installation.uninstall()
