"""A release with cert-manager, on the real API server with cert-manager's own kinds.

Its controllers do not run here. The test does their work, with the chart's objects and the documented rules of
cert-manager: it signs the certificate that a Certificate requests, stores it in the named Secret, and writes the
caBundle of objects with the annotation cert-manager.io/inject-ca-from. It also acts as the kubelet, and writes the
Secret to files. The program, the chart and the API server are real.
"""

from __future__ import annotations

import base64
from pathlib import Path

import pytest

from tests.controlplane.certificates import Authority, Credential
from tests.controlplane.client import Object
from tests.controlplane.control_plane import ControlPlane
from tests.controlplane.custom_kinds import CERT_MANAGER
from tests.controlplane.fixtures import require_kinds
from tests.objects import raw_object
from tests.waiting import wait_for
from tests.webhook.certificates.fleet import Fleet
from tests.webhook.certificates.mounted import Mounted

pytestmark = pytest.mark.controlplane

CERT_MANAGER_IO = "cert-manager.io/v1"


class _CertManager:
    """The work of its controllers."""

    def __init__(self, fleet: Fleet) -> None:
        self._fleet = fleet
        self._authorities: dict[str, Authority] = {}
        """The authorities, by the Secret that their Issuer names."""

    def issue(self, name: str) -> Credential:
        """Sign the certificate that a Certificate requests, and store it in its Secret."""
        spec = self._get("Certificate", name)["spec"]
        assert spec["ipAddresses"] == ["127.0.0.1"]
        authority = self._authority(spec["issuerRef"])
        made = authority.server(spec["dnsNames"])
        self._keep(spec["secretName"], name, made, authority)
        return made

    def inject(self) -> None:
        """Publish the authority to the API server, in annotated objects."""
        for configuration in self._fleet.configurations():
            namespace, name = configuration["metadata"]["annotations"]["cert-manager.io/inject-ca-from"].split("/")
            assert namespace == self._fleet.release_namespace
            secret = self.secret(self._get("Certificate", name)["spec"]["secretName"])
            assert secret["metadata"]["annotations"]["cert-manager.io/certificate-name"] == name
            entries = [
                {**entry, "clientConfig": {**entry["clientConfig"], "caBundle": secret["data"]["ca.crt"]}}
                for entry in configuration["webhooks"]
            ]
            self._fleet.api.patch(configuration, {"webhooks": entries})

    def secret(self, name: str) -> Object:
        """A Secret of the release."""
        return self._fleet.api.get("v1", "Secret", name, self._fleet.release_namespace)

    def _authority(self, issuer: Object) -> Authority:
        """The authority of an Issuer of type CA, which is made when its Certificate requests it."""
        secret_name = self._get("Issuer", issuer["name"])["spec"]["ca"]["secretName"]
        (asked,) = [
            entry
            for entry in self._fleet.api.list_items(CERT_MANAGER_IO, "Certificate", self._fleet.release_namespace)
            if entry["spec"]["secretName"] == secret_name
        ]
        assert asked["spec"]["isCA"]
        assert self._get("Issuer", asked["spec"]["issuerRef"]["name"])["spec"] == {"selfSigned": {}}
        return self._authorities.setdefault(secret_name, Authority())

    def _keep(self, name: str, certificate: str, made: Credential, authority: Authority) -> None:
        data = {"tls.crt": made.certificate, "tls.key": made.key, "ca.crt": authority.certificate}
        annotations = {"annotations": {"cert-manager.io/certificate-name": certificate}}
        secret = raw_object("Secret", name, self._fleet.release_namespace, metadata=annotations)
        encoded = {key: base64.b64encode(value).decode() for key, value in data.items()}
        self._fleet.api.apply([{**secret, "type": "kubernetes.io/tls", "data": encoded}])

    def _get(self, kind: str, name: str) -> Object:
        return self._fleet.api.get(CERT_MANAGER_IO, kind, name, self._fleet.release_namespace)


def _mount(fleet: Fleet, mounted: Mounted, manager: _CertManager) -> None:
    """Act as the kubelet for the pods of the Deployment, now and whenever the Secret changes."""
    pod = fleet.installation.deployment["spec"]["template"]["spec"]
    (volume,) = [entry["secret"]["secretName"] for entry in pod["volumes"] if "secret" in entry]
    data = manager.secret(volume)["data"]
    mounted.write(*(base64.b64decode(data[name]) for name in ("tls.crt", "tls.key")))


def test_A_cert_manager_renews_and_the_program_writes_nothing(
    control_plane: ControlPlane, fleet: Fleet, tmp_path: Path
) -> None:
    require_kinds(control_plane, CERT_MANAGER)
    fleet.install(mode="cert-manager")
    manager, mounted = _CertManager(fleet), Mounted(tmp_path / "tls")
    manager.issue("qos-qos-webhook-cert")
    manager.inject()
    configurations = fleet.configurations()
    _mount(fleet, mounted, manager)
    replica = fleet.start(f"--tls-cert={mounted.files.certificate}", f"--tls-key={mounted.files.key}")
    fleet.lead_to(replica)
    with fleet.unnoticed(replica):
        renewed = manager.issue("qos-qos-webhook-cert")
        _mount(fleet, mounted, manager)
        wait_for(lambda: fleet.connect_pem(replica.port) == renewed.certificate, "the next one is served")
    assert fleet.configurations() == configurations
    _assert_may_write_nothing(control_plane, fleet)


def _assert_may_write_nothing(control_plane: ControlPlane, fleet: Fleet) -> None:
    """The permissions for the program's own certificate are not granted."""
    account = f"system:serviceaccount:{fleet.release_namespace}:qos-qos-webhook"
    configuration = f"mutatingwebhookconfigurations.admissionregistration.k8s.io/{fleet.configuration}"
    for verb, what in (
        ("patch", configuration),
        ("get", "secrets/qos-qos-webhook-cert"),
        ("create", "secrets"),
        # The program may have its own Lease, which elects the replica that counts.
        ("patch", "leases.coordination.k8s.io/qos-qos-webhook-tls"),
    ):
        line = ("auth", "can-i", verb, what, f"--as={account}", f"--namespace={fleet.release_namespace}")
        assert control_plane.kubectl(*line, check=False).stdout == "no\n", (verb, what)


def test_A_cert_manager_takes_every_object_as_it_is(control_plane: ControlPlane, fleet: Fleet) -> None:
    """All fields are known to its kinds: an unknown one would be dropped silently."""
    require_kinds(control_plane, CERT_MANAGER)
    fleet.install(mode="cert-manager")
    manifest = fleet.installation.helm("get", "manifest", fleet.installation.release)
    dry_run = ("apply", "--server-side", "--force-conflicts", "--dry-run=server", "--validate=strict", "-f", "-")
    done = control_plane.kubectl(*dry_run, input=manifest)
    assert "Warning" not in done.stderr
    assert done.stdout.count("cert-manager.io") == 4
