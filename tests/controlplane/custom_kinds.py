"""Kinds of other projects, from their Go modules: the API server then checks objects of theirs that the chart renders.

``python -m tests.controlplane.custom_kinds`` fetches them, once, into the cache folder of the control plane's programs.
Tests only look.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from tests.controlplane.binaries import Unavailable, cache_folder, find_go, go_environment

_SECONDS = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class CustomKinds:
    """CustomResourceDefinitions of one version of one module."""

    name: str
    """Whose they are, for people and for the folder in the cache."""
    module: str
    version: str
    checksum: str
    """Of the module, as go.sum has it."""
    folder: str
    """Where they are in the module."""
    files: tuple[str, ...]

    def find(self) -> list[Path] | Unavailable:
        """The files, one for each kind."""
        files = [cache_folder() / f"{self.name}-{self.version}" / name for name in self.files]
        if all(file.is_file() for file in files):
            return files
        return Unavailable(reason=f"the kinds of {self.name} are missing: python -m {__spec__.name} fetches them")

    def fetch(self) -> list[Path] | Unavailable:
        """Bring them into the cache folder; what is there already stays."""
        if not isinstance(found := self.find(), Unavailable):
            return found
        go = find_go()
        if isinstance(go, Unavailable):
            return go
        done = subprocess.run(
            [go, "mod", "download", "-json", f"{self.module}@{self.version}"],
            env=go_environment(),
            cwd=Path(sys.executable).parent,
            capture_output=True,
            text=True,
            check=False,
            timeout=_SECONDS,
        )
        if done.returncode != 0:
            # Without the addresses of the proxies that a person has set up.
            said = re.sub(r"https?://[^\s\"']+", "<address>", done.stderr + done.stdout)
            return Unavailable(reason=f"go could not fetch {self.module}: {said}")
        module = json.loads(done.stdout)
        if module["Sum"] != self.checksum:
            return Unavailable(reason=f"{self.module}@{self.version} is {module['Sum']} and not {self.checksum}")
        target = cache_folder() / f"{self.name}-{self.version}"
        target.mkdir(parents=True, exist_ok=True)
        # A file is found whole or not at all: another checkout may look at the same time.
        with tempfile.TemporaryDirectory(dir=target, prefix=".fetch-") as scratch:
            for name in self.files:
                shutil.copyfile(Path(module["Dir"]) / self.folder / name, Path(scratch, name))
                Path(scratch, name).replace(target / name)
        return self.find()


PROMETHEUS_OPERATOR = CustomKinds(
    name="monitoring",
    module="github.com/prometheus-operator/prometheus-operator",
    version="v0.85.0",
    checksum="h1:M5xLCLEoaW2IJfnuCwFzzpL+jSVQu3KGT84Pye+fW8s=",
    folder="example/prometheus-operator-crd",
    files=("monitoring.coreos.com_servicemonitors.yaml", "monitoring.coreos.com_prometheusrules.yaml"),
)
CERT_MANAGER = CustomKinds(
    name="cert-manager",
    module="github.com/cert-manager/cert-manager",
    version="v1.21.2",
    checksum="h1:UWgoYM+KLNtRlqmoWOKjKBOBUPVHeepQ6/ac3ERJW68=",
    folder="deploy/crds",
    files=("cert-manager.io_certificates.yaml", "cert-manager.io_issuers.yaml"),
)
SARIF = CustomKinds(
    name="sarif",
    module="github.com/owenrumney/go-sarif/v3",
    version="v3.3.1",
    checksum="h1:bKY8YnWcY8zYTiGVObC5wZLlfEvMkCxK9XMGXBbzEtQ=",
    folder="pkg/report/v210/sarif",
    files=("schema.go",),
)
"""No kind: OASIS' JSON Schema of SARIF 2.1.0, as a text of Go."""


def main() -> int:
    """Fetch all of them."""
    for kinds in (PROMETHEUS_OPERATOR, CERT_MANAGER, SARIF):
        outcome = kinds.fetch()
        if isinstance(outcome, Unavailable):
            print(outcome.reason, file=sys.stderr)
            return 1
        print(*outcome, sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
