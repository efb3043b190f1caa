"""The advice if no API server answers: never a command that needs an answer from it."""

from __future__ import annotations

import pytest

from cluster_io.errors import ASK_ANOTHER, Unreachable
from cluster_io.live.kubeconfig import Kubeconfig, plain

REACHED = "the API server cannot be reached: "
DIAL = f"{REACHED}dial tcp [::1]:8080: connect: connection refused"
X509 = f"{REACHED}tls: failed to verify certificate: x509: "
CLIENT = "no answer from https://10.0.0.1:6443: [SSL: "
CONFIG = Kubeconfig({"/home/ann/config": ""}, "", "https://10.0.0.1:6443", "Log in.")


@pytest.mark.parametrize(
    ("message", "advice"),
    [
        (
            f"{X509}certificate has expired or is not yet valid: current time 2027-01-01 is after 2026-12-01",
            "Renew its",
        ),
        (f"{X509}certificate signed by unknown authority", "certificate-authority-data of the kubeconfig"),
        (f"{X509}certificate is valid for 10.0.0.1, not 10.0.0.2", "Name a host of that certificate"),
        (f"{X509}cannot validate certificate for 10.0.0.2 because it doesn't contain any IP SANs", "Name a host"),
        (f"{REACHED}proxyconnect tcp: dial tcp: lookup proxy on 10.0.0.53:53: no such host", "Correct HTTPS_PROXY"),
        (f"{REACHED}dial tcp: lookup api.corp on 10.0.0.53:53: no such host", "Compare server in the kubeconfig"),
        (f"{REACHED}dial tcp 10.0.0.1:6443: i/o timeout", "Check server in the kubeconfig, VPN and firewall"),
        ("the API server answered 400 to get pods: Client sent an HTTP request to an HTTPS server.", "Begin server"),
        (f"{REACHED}http: server gave HTTP response to HTTPS client", "server in the kubeconfig is the port of"),
        (f"{REACHED}getting credentials: exec: executable cloud-login not found", "Install it"),
        (f"{REACHED}getting credentials: exec: executable cloud-login failed with exit code 1", "Log in with it again"),
        ('error loading config file "config": yaml: line 1: did not find', "Correct the kubeconfig"),
        ("EOF", "kubectl asked for a password"),
        (f"{REACHED}dial tcp 10.0.0.1:6443: connect: connection refused", ASK_ANOTHER),
        (DIAL, ASK_ANOTHER),
        (f"{CLIENT}CERTIFICATE_VERIFY_FAILED] certificate verify failed: certificate has expired", "Renew its"),
        (
            f"{CLIENT}CERTIFICATE_VERIFY_FAILED] certificate verify failed: unable to get local issuer",
            "certificate-auth",
        ),
        (f"{CLIENT}CERTIFICATE_VERIFY_FAILED] certificate verify failed: Hostname mismatch", "Name a host"),
        ("no answer from https://api.corp: Failed to resolve 'api.corp'", "Compare server in the kubeconfig"),
    ],
)
def test_advice(message: str, advice: str) -> None:
    said = plain(Unreachable(message, advice=ASK_ANOTHER), CONFIG)
    assert said.message == message
    assert said.advice.startswith(advice)
    assert not said.remedy


@pytest.mark.parametrize(
    ("config", "said"),
    [
        (Kubeconfig({"/a": "does not exist"}, "KUBECONFIG", ""), "/a does not exist (named by KUBECONFIG)"),
        (Kubeconfig({"/a": "does not exist"}, ""), "/a does not exist (KUBECONFIG is not set)"),
        (
            Kubeconfig({"/a": "is empty", "/b": ""}, "KUBECONFIG", ""),
            "/a is empty, /b has no current-context (named by KUBECONFIG)",
        ),
    ],
)
def test_no_server_is_configured(config: Kubeconfig, said: str) -> None:
    assert plain(Unreachable(DIAL, advice=ASK_ANOTHER), config).message == f"no cluster is configured: {said}"


def test_no_file_is_blamed_without_reason() -> None:
    """The configuration has that address, or kubectl could not be run."""
    for config in (CONFIG._replace(files={"/a": "does not exist", "/b": ""}), Kubeconfig({"/b": ""}, "KUBECONFIG")):
        assert plain(Unreachable(DIAL, advice=ASK_ANOTHER), config).message == DIAL


def test_credentials_that_are_not_known_are_not_described() -> None:
    refused = Unreachable("the API server does not accept your credentials: Unauthorized", remedy=("kubectl", "config"))
    for config, remedy in ((CONFIG._replace(login=""), ("kubectl", "config")), (Kubeconfig({}, ""), ())):
        assert (plain(refused, config).advice, plain(refused, config).remedy) == ("", remedy)
