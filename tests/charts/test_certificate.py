"""The sources of the certificate, and the objects that the chart renders for each."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any

import pytest

from tests.charts.chart import FULL_VALUES, Chart, HelmError, config_of, of_kind
from tests.charts.grants import Grant, granted
from tests.controlplane.client import Object

AUTHORITY = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"
CERT_MANAGER: Mapping[str, Any] = {"certificate": {"mode": "cert-manager"}}
EXISTING = {"certificate": {"mode": "existing", "existing": {"secretName": "serving", "caBundle": AUTHORITY}}}
FILES = {"certificate": "/etc/qos-webhook/tls/tls.crt", "key": "/etc/qos-webhook/tls/tls.key"}
CONFIGURATIONS = ("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration")


def configurations(objects: list[Object]) -> list[Object]:
    return [entry for kind in CONFIGURATIONS for entry in of_kind(kind, objects)]


@pytest.mark.parametrize(
    ("values", "secret"),
    [
        pytest.param(CERT_MANAGER, "qos-webhook-cert", id="cert-manager"),
        pytest.param(EXISTING, "serving", id="existing"),
    ],
)
def test_foreign_certificate(chart: Chart, values: Mapping[str, Any], secret: str) -> None:
    """Its Secret is mounted completely, and the program has no permission for it."""
    objects = chart.objects({**values, "auditInterval": "0s"})
    (deployment,) = of_kind("Deployment", objects)
    pod = deployment["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    assert {"name": "tls", "secret": {"secretName": secret}} in pod["volumes"]
    assert {"name": "tls", "mountPath": "/etc/qos-webhook/tls", "readOnly": True} in container["volumeMounts"]
    config = config_of(objects)
    assert (config["certificate"], config["audit"]) == ({"files": FILES}, {"intervalSeconds": 0})
    assert not of_kind("Secret", objects) + of_kind("Lease", objects)
    roles = of_kind("ClusterRole", objects) + of_kind("Role", objects)
    named = {
        (role["metadata"].get("namespace"), name)
        for role in roles
        for rule in role["rules"]
        for name in rule["resources"]
    }
    assert not {name for _, name in named} & {"secrets", *(f"{kind.lower()}s" for kind in CONFIGURATIONS)}
    assert {where for where, name in named if name == "leases"} == {"kube-node-lease"}


@pytest.mark.parametrize(
    "values", [pytest.param(CERT_MANAGER, id="cert-manager"), pytest.param(EXISTING, id="existing")]
)
def test_one_replica_audits_with_a_foreign_certificate(chart: Chart, values: Mapping[str, Any]) -> None:
    """It may read its own configuration and hold its own Lease for that, and nothing more."""
    without, objects = chart.objects({**values, "auditInterval": "0s"}), chart.objects(values)
    (lease,) = of_kind("Lease", objects)
    assert lease["metadata"]["name"] == "qos-webhook-audit"
    name = "qos-webhook.qos-system"
    shared = {"configuration": name, "lease": {"namespace": "qos-system", "name": "qos-webhook-audit"}}
    assert config_of(objects)["audit"] == {"intervalSeconds": 3600, **shared}
    assert set(granted(objects)) - set(granted(without)) == {
        Grant("", "mutatingwebhookconfigurations.admissionregistration.k8s.io", (name,), ("list",)),
        Grant("qos-system", "leases.coordination.k8s.io", ("qos-webhook-audit",), ("get", "patch")),
    }


def test_certificate_of_the_program(chart: Chart) -> None:
    """The Lease has no spec, and the Secret no data: an upgrade removes nothing."""
    objects = chart.objects()
    (lease,), (secret,) = of_kind("Lease", objects), of_kind("Secret", objects)
    assert set(lease) == {"apiVersion", "kind", "metadata"}
    assert lease["metadata"]["name"] == secret["metadata"]["name"] == "qos-webhook-tls"
    (deployment,) = of_kind("Deployment", objects)
    assert [volume["name"] for volume in deployment["spec"]["template"]["spec"]["volumes"]] == ["tmp", "config"]
    assert not of_kind("Certificate", objects) + of_kind("Issuer", objects)


def test_cert_manager_publishes_to_the_api_server(chart: Chart) -> None:
    found = configurations(chart.objects({**FULL_VALUES, **CERT_MANAGER}))
    assert len(found) == 2
    for entry in found:
        annotations = entry["metadata"]["annotations"]
        assert annotations["cert-manager.io/inject-ca-from"] == "qos-system/harbour-cert"
        assert annotations["example.com/owner"] == "platform"
        assert not [webhook for webhook in entry["webhooks"] if "caBundle" in webhook["clientConfig"]]


def test_chart_publishes_existing_authorities(chart: Chart) -> None:
    for entry in configurations(chart.objects(EXISTING)):
        assert "annotations" not in entry["metadata"]
        for webhook in entry["webhooks"]:
            assert base64.b64decode(webhook["clientConfig"]["caBundle"]).decode() == AUTHORITY


def test_existing_certificate_of_an_authority_that_all_trust(chart: Chart) -> None:
    values = {"certificate": {"mode": "existing", "existing": {"secretName": "serving"}}}
    found = configurations(chart.objects(values | {"webhook": {"url": "https://qos.example.com"}}))
    assert not [webhook for entry in found for webhook in entry["webhooks"] if "caBundle" in webhook["clientConfig"]]


def test_cert_manager_signs_with_the_releases_authority(chart: Chart) -> None:
    objects = chart.objects(CERT_MANAGER)
    issuers = {entry["metadata"]["name"]: entry["spec"] for entry in of_kind("Issuer", objects)}
    certificates = {entry["metadata"]["name"]: entry["spec"] for entry in of_kind("Certificate", objects)}
    assert issuers == {
        "qos-webhook-root": {"selfSigned": {}},
        "qos-webhook-ca": {"ca": {"secretName": "qos-webhook-ca"}},
    }
    authority, serving = certificates["qos-webhook-ca"], certificates["qos-webhook-cert"]
    assert (authority["isCA"], authority["secretName"]) == (True, "qos-webhook-ca")
    assert authority["issuerRef"] == {"name": "qos-webhook-root"}
    # Certificates that it signed before its renewal are still trusted.
    assert authority["privateKey"]["rotationPolicy"] == "Never"
    assert serving["privateKey"]["rotationPolicy"] == "Always"
    assert (serving["secretName"], serving["issuerRef"]) == ("qos-webhook-cert", {"name": "qos-webhook-ca"})
    assert serving["dnsNames"] == ["qos-webhook.qos-system.svc"]
    assert "ipAddresses" not in serving


def test_cert_manager_signs_with_an_issuer_that_is_given(chart: Chart) -> None:
    issuer = {"name": "internal", "kind": "ClusterIssuer", "group": "cert-manager.io"}
    objects = chart.objects({"certificate": {"mode": "cert-manager", "certManager": {"issuerRef": issuer}}})
    assert not of_kind("Issuer", objects)
    (certificate,) = of_kind("Certificate", objects)
    assert certificate["spec"]["issuerRef"] == issuer


@pytest.mark.parametrize(
    ("url", "hosts", "addresses"),
    [
        ("https://qos.example.com:8443", ["qos.example.com"], None),
        ("https://10.0.0.7", [], ["10.0.0.7"]),
        ("https://[fd00::7]:8443", [], ["fd00::7"]),
    ],
)
def test_cert_manager_signs_for_a_host(chart: Chart, url: str, hosts: list[str], addresses: list[str] | None) -> None:
    objects = chart.objects(
        {"certificate": {"mode": "cert-manager", "certManager": {"issuerRef": {"name": "a"}}}, "webhook": {"url": url}}
    )
    (certificate,) = of_kind("Certificate", objects)
    assert certificate["spec"]["dnsNames"] == ["qos-webhook.qos-system.svc", *hosts]
    assert certificate["spec"].get("ipAddresses") == addresses


@pytest.mark.parametrize(("lifetime", "duration"), [("90d", "2160h"), ("36h", "36h"), ("90m", "1h"), ("3600s", "1h")])
def test_lifetime_with_cert_manager(chart: Chart, lifetime: str, duration: str) -> None:
    values = {"mode": "cert-manager", "lifetime": lifetime, "certManager": {"issuerRef": {"name": "a"}}}
    (certificate,) = of_kind("Certificate", chart.objects({"certificate": values}))
    assert certificate["spec"]["duration"] == duration


@pytest.mark.parametrize(
    ("certificate", "said"),
    [
        (
            {"mode": "cert-manager", "lifetime": "59m"},
            "certificate.lifetime: 59m is outside its limits: at least 1h, at most 3650d",
        ),
        ({"mode": "existing", "existing": {"caBundle": AUTHORITY}}, "certificate.existing.secretName: name the Secret"),
        ({"mode": "existing", "existing": {"secretName": "a"}}, "certificate.existing.caBundle: give the authorities"),
        ({"existing": {"secretName": "a"}}, "certificate.existing: is for certificate.mode existing, which is self"),
        (
            {"certManager": {"issuerRef": {"name": "a"}}},
            "certificate.certManager: is for certificate.mode cert-manager, which is self",
        ),
        ({"mode": "auto"}, "at '/certificate/mode': value must be one of 'self', 'cert-manager', 'existing'"),
        (
            {"mode": "existing", "existing": {"secretName": "a", "caBundle": "AAAA"}},
            "at '/certificate/existing/caBundle'",
        ),
        ({"certManager": {"issuerRef": {"kind": "Issuer"}}}, "missing property 'name'"),
    ],
)
def test_mistakes(chart: Chart, certificate: Mapping[str, Any], said: str) -> None:
    with pytest.raises(HelmError) as refused:
        chart.rendered({"certificate": certificate})
    assert said in str(refused.value)


@pytest.mark.parametrize("mode", ["self", "cert-manager"])
def test_policies_need_no_certificate(chart: Chart, mode: str) -> None:
    kinds = {entry["kind"] for entry in chart.objects({"mode": "policy", "certificate": {"mode": mode}})}
    assert not kinds & {"Secret", "Lease", "Certificate", "Issuer"}
