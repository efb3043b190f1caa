"""A webhook that the API server calls by a URL of this machine, without a chart."""

from __future__ import annotations

import base64
import ssl
from pathlib import Path

from tests.controlplane.certificates import Authority, Credential
from tests.controlplane.client import Object
from tests.controlplane.control_plane import ControlPlane
from tests.objects import raw_webhook, raw_webhook_configuration
from tests.webhook.installation import TIMEOUT_SECONDS


class Files:
    """Certificates of one authority, as files."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.authority = Authority()
        self.ca = self._write("ca.crt", self.authority.certificate)

    def credential(self, name: str, made: Credential) -> tuple[Path, Path]:
        """The certificate and its key."""
        return self._write(f"{name}.crt", made.certificate), self._write(f"{name}.key", made.key)

    def client(self, common_name: str) -> ssl.SSLContext:
        """A client that shows a certificate."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
        context.load_cert_chain(*self.credential(common_name, self.authority.client(common_name)))
        return context

    def _write(self, name: str, text: bytes) -> Path:
        file = self._folder / name
        file.write_bytes(text)
        return file


def ask_for_pods_in(
    namespace: str, control_plane: ControlPlane, files: Files, port: int, *, timeout: int = TIMEOUT_SECONDS
) -> Object:
    """Make the API server call this port for the pods of a new namespace; without an answer no pod is created.

    Returns:
        The configuration for this.
    """
    control_plane.create_namespace(namespace)
    bundle = base64.b64encode(files.authority.certificate).decode()
    webhook = raw_webhook(
        "pods.example.com",
        {"url": f"https://127.0.0.1:{port}/mutate", "caBundle": bundle},
        {"pods": ["CREATE"]},
        namespaceSelector={"matchLabels": {"kubernetes.io/metadata.name": namespace}},
        failurePolicy="Fail",
        timeoutSeconds=timeout,
    )
    configuration = raw_webhook_configuration(namespace, webhook)
    control_plane.apply([configuration])
    return configuration
