"""The manifest by which Krew, kubectl's plugin manager, finds and installs a release.

Source: docs/developer-guide/plugin-manifest of the Krew project (krew.googlecontainertools.github.com/v1alpha2).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple

import yaml

from release.platforms import Platform

_SHORT: Final = "Explain QoS, OOM order, placement and endings of pods"
_DESCRIPTION: Final = """\
Shows what Kubernetes will do to a pod, and why: its QoS class, which pod is
killed first when memory runs out, where the scheduler would put it and why not
elsewhere, which pods it would preempt, how it will end, and the risk of
force-deleting it. The rules are those of Kubernetes 1.34 to 1.37, tested
against upstream's own code.
"""
_CAVEATS: Final = """\
Needs Python 3.11, 3.12 or 3.13. Try it without a cluster:
  kubectl qos explain --demo -n shop deployment/checkout
"""


class Archive(NamedTuple):
    """A file of the release for one system."""

    name: str
    sha256: str
    platform: Platform


def manifest(version: str, url: str, archives: Iterable[Archive]) -> str:
    """The manifest as YAML.

    Args:
        version: Without the leading v, which Krew needs and this adds.
        url: The folder of the archives.
        archives: One for each system.
    """
    content = {
        "apiVersion": "krew.googlecontainertools.github.com/v1alpha2",
        "kind": "Plugin",
        "metadata": {"name": "qos"},
        "spec": {
            "version": f"v{version}",
            "shortDescription": _SHORT,
            "description": _DESCRIPTION,
            "caveats": _CAVEATS,
            "platforms": [_platform(url, archive) for archive in archives],
        },
    }
    text: str = yaml.safe_dump(content, sort_keys=False)
    return text


def _platform(url: str, archive: Archive) -> dict[str, object]:
    return {
        "selector": {"matchLabels": {"os": archive.platform.system, "arch": archive.platform.arch}},
        "uri": f"{url}/{archive.name}",
        "sha256": archive.sha256,
        "files": [{"from": "kubectl-qos", "to": "."}, {"from": "LICENSE", "to": "."}],
        "bin": "kubectl-qos",
    }
