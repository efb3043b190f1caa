"""The built-in cluster: one that everybody has, to try each command on and to show it in the documentation.

Twelve nodes in three zones and about 120 pods, as of `DEMO_NOW`, three in the morning. At 03:02 node-c3 went silent;
at 03:07:56 its pods were evicted, and what follows from that is still under way. `tests/demo_cluster` writes the files
from tables of workloads, nodes and states.
"""

from __future__ import annotations

from pkgutil import get_data
from typing import Any, Final

import msgspec

DEMO_NOW: Final = "2026-10-17T03:11:00Z"
"""When the cluster was so."""
DEMO_VERSION: Final = "v1.36.3"
"""The version of its API server; its kubelets and images say the same."""


def demo_objects() -> list[dict[str, Any]]:
    """Every object of the demo cluster, built for each call; an object comes before those that refer to it."""
    found: list[dict[str, Any]] = _read("objects.json")
    return found


def demo_kubelets() -> dict[str, dict[str, dict[str, Any]]]:
    """What the kubelets of most nodes say, by node and path: ``stats/summary`` and ``configz``."""
    found: dict[str, dict[str, dict[str, Any]]] = _read("kubelets.json")
    return found


def _read(name: str) -> Any:
    return msgspec.json.decode(get_data(__package__, name) or b"")
