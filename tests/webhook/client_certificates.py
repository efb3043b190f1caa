"""An API server that shows webhooks a client certificate."""

from __future__ import annotations

from pathlib import Path

import yaml

from tests.webhook.asked_by_url import Files

_ADMISSION = "apiserver.config.k8s.io/v1"


def shown_to_webhooks(files: Files, name: str, folder: Path) -> Path:
    """The files of ``--admission-control-config-file`` for an API server that shows all webhooks a certificate.

    Args:
        files: The authority that signs it.
        name: Its common name.
        folder: For the files.
    """
    certificate, key = files.credential("apiserver", files.authority.client(name))
    user = {"client-certificate": str(certificate), "client-key": str(key)}
    kubeconfig = folder / "webhooks.kubeconfig"
    kubeconfig.write_text(
        yaml.safe_dump({"apiVersion": "v1", "kind": "Config", "users": [{"name": "*", "user": user}]})
    )
    webhooks = {
        "apiVersion": _ADMISSION,
        "kind": "WebhookAdmissionConfiguration",
        "kubeConfigFile": str(kubeconfig),
    }
    names = ("MutatingAdmissionWebhook", "ValidatingAdmissionWebhook")
    plugins = [{"name": name, "configuration": webhooks} for name in names]
    configuration = folder / "admission.yaml"
    configuration.write_text(
        yaml.safe_dump({"apiVersion": _ADMISSION, "kind": "AdmissionConfiguration", "plugins": plugins})
    )
    return configuration
