"""The calls of the real API server: with its client certificate, and repeated when a replica is not ready."""

from __future__ import annotations

import re
import ssl
from collections.abc import Iterator
from contextlib import ExitStack
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.controlplane import certificates
from tests.controlplane.binaries import Binaries
from tests.controlplane.client import ApiError, Object
from tests.controlplane.control_plane import ControlPlane
from tests.waiting import wait_for
from tests.webhook.asked_by_url import Files, ask_for_pods_in
from tests.webhook.balancer import Balancer
from tests.webhook.demo_server import UNVERIFIED, DemoServer, running_demo
from tests.webhook.review_objects import create_review, pod_object

GOOD = create_review(pod_object(name="web"))
NAME = "kube-apiserver"
ADMISSION = "/etc/kubernetes/admission"
PAGE = (Path(__file__).resolve().parents[3] / "docs" / "webhook" / "operations.md").read_text()
EXAMPLE_TEXTS: dict[str, str] = {
    yaml.safe_load(text)["kind"]: text for text in re.findall(r"```yaml\n(apiVersion: .*?)```", PAGE, re.DOTALL)
}
EXAMPLES: dict[str, Any] = {kind: yaml.safe_load(text) for kind, text in EXAMPLE_TEXTS.items()}
"""The examples of the page, by kind."""


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Files:
    return Files(tmp_path_factory.mktemp("certificates"))


@pytest.fixture(scope="module")
def server(files: Files, tmp_path_factory: pytest.TempPathFactory) -> Iterator[DemoServer]:
    """A server that the API server can verify, and that requests a client certificate."""
    certificate, key = files.credential("server", files.authority.server(()))
    flags = (f"--tls-cert={certificate}", f"--tls-key={key}")
    clients = {"caFile": str(files.ca), "names": [NAME]}
    with running_demo(tmp_path_factory.mktemp("server"), *flags, clients=clients) as running:
        yield running


def test_with_its_certificate(server: DemoServer, files: Files) -> None:
    assert server.ask("POST", "/mutate", GOOD, context=files.client(NAME)).status == 200


def test_without_a_certificate(server: DemoServer) -> None:
    answer = server.ask("POST", "/mutate", GOOD, context=UNVERIFIED)
    assert answer.status == 401
    assert answer.body == b"show a client certificate of an authority in clients.caFile\n"


def test_with_the_certificate_of_another_client(server: DemoServer, files: Files) -> None:
    answer = server.ask("POST", "/validate", GOOD, context=files.client("system:kube-proxy"))
    assert answer.status == 403
    assert answer.body == b"common name system:kube-proxy is not one of clients.names\n"


def test_with_a_certificate_of_another_authority(server: DemoServer, tmp_path: Path) -> None:
    """It has the right name, but its authority is unknown."""
    with pytest.raises((ssl.SSLError, ConnectionError)):
        server.ask("POST", "/mutate", GOOD, context=Files(tmp_path).client(NAME))


@pytest.mark.parametrize(
    ("backdated", "lifetime", "reason"),
    [
        pytest.param(timedelta(days=3), timedelta(days=-1), "certificate has expired", id="expired"),
        pytest.param(timedelta(days=-1), timedelta(days=3), "certificate is not yet valid", id="not yet valid"),
    ],
)
def test_with_a_certificate_out_of_its_time(
    server: DemoServer,
    files: Files,
    monkeypatch: pytest.MonkeyPatch,
    backdated: timedelta,
    lifetime: timedelta,
    reason: str,
) -> None:
    """Also if the clock of the replica is wrong. The log shows which of both; other clients are served."""
    with monkeypatch.context() as patch:
        patch.setattr(certificates, "_BACKDATED", backdated)
        patch.setattr(certificates, "_LIFETIME", lifetime)
        client = files.client(NAME)

    with pytest.raises((ssl.SSLError, ConnectionError)):
        server.ask("POST", "/mutate", GOOD, context=client)

    wait_for(lambda: f"the TLS handshake failed: {reason}" in server.log(), "it is logged")
    assert server.ask("POST", "/mutate", GOOD, context=files.client(NAME)).status == 200


@pytest.mark.parametrize("path", ["/healthz", "/readyz"])
def test_probes_need_none(server: DemoServer, path: str) -> None:
    assert server.ask("GET", path).status == 200


@pytest.fixture(scope="module")
def control_plane(
    control_plane_binaries: Binaries, files: Files, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ControlPlane]:
    """A control plane with an API server that shows webhooks a certificate."""
    folder = tmp_path_factory.mktemp("admission")
    certificate, key = files.credential("apiserver", files.authority.client(NAME))
    kubeconfig = folder / "webhooks.kubeconfig"
    # The page's own files, except for their folders and the name of the Service.
    user = EXAMPLES["Config"]["users"][0]["user"]
    users = EXAMPLE_TEXTS["Config"].replace("qos-webhook.qos-system.svc", "'*'")
    for path, own in ((user["client-certificate"], certificate), (user["client-key"], key)):
        users = users.replace(path, str(own))
    kubeconfig.write_text(users)
    configuration = folder / "admission.yaml"
    configuration.write_text(
        EXAMPLE_TEXTS["AdmissionConfiguration"].replace(f"{ADMISSION}/webhooks.kubeconfig", str(kubeconfig))
    )
    arguments = (f"--admission-control-config-file={configuration}",)
    with ControlPlane(control_plane_binaries, scheduler=False, controllers=False, apiserver_args=arguments) as running:
        yield running


def create_pod(control_plane: ControlPlane, namespace: str, name: str) -> Object:
    pod = pod_object(name=name, namespace=namespace, priority=None, preemptionPolicy=None)
    return control_plane.api.create(pod)


def wait_until_asked(control_plane: ControlPlane, namespace: str, server: DemoServer) -> None:
    """The API server learns of a new configuration a little later."""
    reviews = 'qos_webhook_reviews_total{outcome="allowed",path="/mutate"}'
    before = server.metric(reviews)
    numbers = iter(range(1000))

    def asked() -> bool:
        create_pod(control_plane, namespace, f"try-{next(numbers)}")
        return server.metric(reviews) > before

    wait_for(asked, "the server is called")


def test_the_pages_files_for_kubeadm_find_each_other() -> None:
    server = EXAMPLES["ClusterConfiguration"]["apiServer"]
    (argument,), (volume,) = server["extraArgs"], server["extraVolumes"]
    assert argument == {"name": "admission-control-config-file", "value": f"{ADMISSION}/admission.yaml"}
    assert volume["hostPath"] == volume["mountPath"] == ADMISSION
    plugins = EXAMPLES["AdmissionConfiguration"]["plugins"]
    assert {plugin["configuration"]["kubeConfigFile"] for plugin in plugins} == {f"{ADMISSION}/webhooks.kubeconfig"}
    assert all(f"`{ADMISSION}/{name}`" in PAGE for name in ("admission.yaml", "webhooks.kubeconfig"))


@pytest.mark.controlplane
def test_the_api_server_shows_its_certificate(control_plane: ControlPlane, server: DemoServer, files: Files) -> None:
    ask_for_pods_in("known", control_plane, files, server.port)
    wait_until_asked(control_plane, "known", server)
    assert server.metric('qos_webhook_refused_requests_total{code="401"}') <= 1
    assert create_pod(control_plane, "known", "web")["metadata"]["uid"]


@pytest.mark.controlplane
def test_the_api_server_shows_a_certificate_of_another_name(
    control_plane: ControlPlane, files: Files, tmp_path: Path
) -> None:
    certificate, key = files.credential("server", files.authority.server(()))
    flags = (f"--tls-cert={certificate}", f"--tls-key={key}")
    clients = {"caFile": str(files.ca), "names": ["another-client"]}
    with running_demo(tmp_path, *flags, clients=clients) as server:
        ask_for_pods_in("unknown", control_plane, files, server.port)
        numbers = iter(range(1000))

        def refusal_names_it() -> bool:
            try:
                create_pod(control_plane, "unknown", f"try-{next(numbers)}")
            except ApiError as error:
                # The answer comes before the body is read: some API servers still write then, and see a broken pipe.
                return f"common name {NAME} is not one of clients.names" in error.message
            return False

        wait_for(refusal_names_it, "the refusal names the certificate")


@pytest.mark.controlplane
def test_api_server_retries_if_a_replica_is_not_ready(
    control_plane: ControlPlane, server: DemoServer, files: Files, tmp_path: Path
) -> None:
    """Its first connection reaches a replica with caches that stay empty; no pod is lost."""
    certificate, key = files.credential("server", files.authority.server(()))
    never = control_plane.kubeconfig_for_token("unknown")
    flags = (f"--tls-cert={certificate}", f"--tls-key={key}", f"--kubeconfig={never}")
    with ExitStack() as stack:
        waiting = stack.enter_context(running_demo(tmp_path, *flags, demo=False))
        balancer = stack.enter_context(Balancer(blind=True))
        for port in (server.port, waiting.port):
            balancer.add(port)
        ask_for_pods_in("again", control_plane, files, balancer.port)
        wait_until_asked(control_plane, "again", server)
        # Reused connections would always reach the one that answers.
        assert waiting.metric('qos_webhook_refused_requests_total{code="503"}') >= 1
        # It was called again, and did not answer without a check.
        assert not waiting.metric('qos_webhook_reviews_total{outcome="failed",path="/mutate"}')
