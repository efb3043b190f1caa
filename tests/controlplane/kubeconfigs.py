"""Kubeconfig files for the ways in which a person's kubectl proves who they are."""

from __future__ import annotations

import base64
import json
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from tests.controlplane.certificates import Credential


class KubeconfigWriter:
    """Writes kubeconfig files for one API server, each with one context named ``test``."""

    def __init__(self, folder: Path, *, server: str, authority: bytes) -> None:
        self._folder = folder
        self._cluster = {"server": server, "certificate-authority-data": _encoded(authority)}

    def for_certificate(self, credential: Credential) -> Path:
        """A user with a client certificate, embedded."""
        return self._write(
            {"client-certificate-data": _encoded(credential.certificate), "client-key-data": _encoded(credential.key)}
        )

    def for_token(self, token: str) -> Path:
        """A user with a bearer token."""
        return self._write({"token": token})

    def for_exec_plugin(self, token: str) -> Path:
        """A user with a token from a credential plugin, as with cloud providers."""
        answer = {"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential", "status": {"token": token}}
        with tempfile.NamedTemporaryFile("w", dir=self._folder, suffix=".sh", delete=False) as script:
            script.write(f"#!/bin/sh\ncat <<'END'\n{json.dumps(answer)}\nEND\n")
        Path(script.name).chmod(0o700)
        command = {
            "apiVersion": answer["apiVersion"],
            "command": script.name,
            "interactiveMode": "Never",
            "provideClusterInfo": False,
        }
        return self._write({"exec": command})

    def _write(self, user: Mapping[str, Any]) -> Path:
        config = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "test", "cluster": self._cluster}],
            "users": [{"name": "test", "user": user}],
            "contexts": [{"name": "test", "context": {"cluster": "test", "user": "test"}}],
            "current-context": "test",
        }
        with tempfile.NamedTemporaryFile("w", dir=self._folder, suffix=".kubeconfig", delete=False) as file:
            yaml.safe_dump(config, file)
        return Path(file.name)


def _encoded(data: bytes) -> str:
    return base64.b64encode(data).decode()
