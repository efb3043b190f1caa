"""The real server behind a real API server: kubectl's output."""

from __future__ import annotations

import base64
import ssl
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.controlplane.certificates import Authority
from tests.controlplane.control_plane import ControlPlane
from tests.controlplane.processes import probe, start_on_free_port, stop_all
from tests.objects import raw_pod
from tests.waiting import wait_for
from tests.webhook.installation import TIMEOUT_SECONDS, program_for_tests

pytestmark = pytest.mark.controlplane

WARNING = "Warning: db on {node}: its processes may run on, and no controller replaces it"
CHECK = (
    "Warning: Check now whether container app still runs on {node}: "
    "kubectl qos died pod/db -n {namespace}; kubectl qos node {node}"
)
FIRST = "Warning: Check first: kubectl qos explain pod/db -n {namespace}"


@pytest.fixture(scope="module")
def webhook(control_plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Any]]:
    """A running ``qos-webhook``: its URL and the bundle that signs it."""
    folder = tmp_path_factory.mktemp("webhook")
    authority = Authority()
    serving = authority.server(["localhost"])
    certificate, key = folder / "tls.crt", folder / "tls.key"
    certificate.write_bytes(serving.certificate)
    key.write_bytes(serving.key)
    trusting = ssl.create_default_context(cadata=authority.certificate.decode())

    def arguments(port: int) -> list[str | Path]:
        address = ("--address", f"127.0.0.1:{port}", "--drain", "0s")
        served = ("--tls-cert", certificate, "--tls-key", key, "--kubeconfig", control_plane.admin_kubeconfig)
        return [*program_for_tests("qos-webhook"), *address, *served]

    process, port = start_on_free_port(arguments, probe("/readyz", trusting), log=folder / "log", timeout=120)
    bundle = base64.b64encode(authority.certificate).decode()
    yield {"url": f"https://127.0.0.1:{port}/validate", "caBundle": bundle}
    stop_all([process], timeout=10)


@pytest.fixture
def warned(control_plane: ControlPlane, webhook: dict[str, Any], namespace: str) -> Iterator[None]:
    """The webhook configured for deletions of pods in the test's namespace."""
    configuration = {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingWebhookConfiguration",
        "metadata": {"name": f"qos-{namespace}"},
        "webhooks": [
            {
                "name": "force-delete.qos.example.com",
                "clientConfig": webhook,
                "rules": [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["DELETE"], "resources": ["pods"]}],
                "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": namespace}},
                "admissionReviewVersions": ["v1"],
                "sideEffects": "None",
                "failurePolicy": "Fail",
                "timeoutSeconds": TIMEOUT_SECONDS,
            }
        ],
    }
    control_plane.apply([configuration])
    yield
    control_plane.api.delete(configuration)


@pytest.fixture
def pod(control_plane: ControlPlane, namespace: str, make_node: Callable[..., Any], warned: None) -> dict[str, Any]:
    """A bare pod on a node, in a namespace that the webhook reviews."""
    node = make_node(capacity={"cpu": "4", "memory": "8Gi", "pods": "110"})["metadata"]["name"]
    made = raw_pod("db", namespace, nodeName=node)
    control_plane.apply([made])
    api = control_plane.api

    def asked() -> bool:
        options = {"apiVersion": "v1", "kind": "DeleteOptions", "gracePeriodSeconds": 0, "dryRun": ["All"]}
        api.request("DELETE", api.path("v1", "Pod", namespace, "db"), options)
        return bool(api.warnings)

    wait_for(asked, "the webhook is called")
    return made


def _delete(control_plane: ControlPlane, pod: dict[str, Any], *flags: str) -> str:
    """The standard error of kubectl."""
    namespace = pod["metadata"]["namespace"]
    done = control_plane.kubectl("delete", "pod", "db", "-n", namespace, "--wait=false", *flags)
    return done.stderr


def test_force_deletion_warns_once(control_plane: ControlPlane, pod: dict[str, Any]) -> None:
    said = _delete(control_plane, pod, "--grace-period=0", "--force")
    assert said.count(WARNING.format(node=pod["spec"]["nodeName"])) == 1
    assert said.count(CHECK.format(namespace=pod["metadata"]["namespace"], node=pod["spec"]["nodeName"])) == 1


def test_dry_run_also_warns(control_plane: ControlPlane, pod: dict[str, Any]) -> None:
    said = _delete(control_plane, pod, "--grace-period=0", "--force", "--dry-run=server")
    assert WARNING.format(node=pod["spec"]["nodeName"]) in said
    assert "already stopping" not in said
    assert FIRST.format(namespace=pod["metadata"]["namespace"]) in said
    assert "Check now" not in said


def test_plain_deletion_is_not(control_plane: ControlPlane, pod: dict[str, Any]) -> None:
    assert "Warning: db" not in _delete(control_plane, pod)


def test_forcing_a_pod_that_is_stopping(control_plane: ControlPlane, pod: dict[str, Any]) -> None:
    _delete(control_plane, pod)
    said = _delete(control_plane, pod, "--grace-period=0", "--force")
    assert said.count("is already stopping and may run until") == 1
