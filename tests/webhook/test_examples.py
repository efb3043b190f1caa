"""The examples of docs/webhook: its values installed by the real helm, its commands run by the real kubectl."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from tests.controlplane.binaries import Binaries
from tests.controlplane.client import Object
from tests.controlplane.control_plane import ControlPlane
from tests.golden import check
from tests.objects import raw_pod, raw_priority_class
from tests.webhook.asking import Asked, make_pod, make_service, make_workload, released
from tests.webhook.installation import Installation
from tests.webhook.pages import typed

pytestmark = pytest.mark.controlplane

PAGES: Final = sorted((Path(__file__).resolve().parents[2] / "docs" / "webhook").glob("*.md"))
VALUES: Final = re.compile(r"<!-- webhook values -->\n```yaml\n(.*?)```\n", re.DOTALL)
NAMESPACE: Final = re.compile(r"<!-- webhook namespace -->\n```yaml\n(.*?)```\n", re.DOTALL)
COMMANDS: Final = re.compile(r"(<!-- webhook rules -->\n```\n)(.*?)(```\n)", re.DOTALL)
NAMESPACES: Final = ("shop", "team-a", "data")
BOUND: Final[Object] = {"nodeName": "node-1", "priorityClassName": "shop-low"}


def _pod(name: str, **spec: Any) -> Object:
    return raw_pod(name, labels={"app": "web"}, **spec)


def _deployment(name: str, **spec: Any) -> Object:
    return {**make_workload("Deployment", "", replicas=1, **spec), "metadata": {"name": name}}


MISTYPED: Final[Object] = {
    "maxSkew": 1,
    "topologyKey": "topology.kubernetes.io/zoen",
    "whenUnsatisfiable": "DoNotSchedule",
    "labelSelector": {"matchLabels": {"app": "wbe"}},
}
MANIFESTS: Final[dict[str, Object]] = {
    "web.yaml": _pod("web"),
    "high.yaml": _pod("high", priorityClassName="shop-high"),
    "cache.yaml": _pod("cache", **BOUND, terminationGracePeriodSeconds=0),
    "queue.yaml": _pod("queue", **BOUND),
    "high-deployment.yaml": _deployment("high", priorityClassName="shop-high"),
    "mistyped-deployment.yaml": _deployment("mistyped", topologySpreadConstraints=[MISTYPED]),
}


@pytest.fixture(scope="module")
def cluster(
    control_plane_binaries: Binaries, helm: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ControlPlane]:
    """A cluster of its own, for the names of the pages, with the values of all of them."""
    values: Object = {"drainSeconds": 1}
    texts = "\n".join(page.read_text(encoding="utf-8") for page in PAGES)
    for text in VALUES.findall(texts):
        for key, part in yaml.safe_load(text).items():
            values[key] = {**values.get(key, {}), **part} if isinstance(part, dict) else part
    namespaces = [yaml.safe_load(text) for text in NAMESPACE.findall(texts)]
    with ControlPlane(control_plane_binaries, scheduler=False, controllers=False) as running:
        named = (*NAMESPACES, *(entry["metadata"]["name"] for entry in namespaces))
        for name in (*named, "qos-system"):
            running.create_namespace(name)
        running.apply([raw_priority_class("shop-low", 10), raw_priority_class("shop-high", 1000)])
        running.create_node("node-1", labels={"topology.kubernetes.io/zone": "a"})
        running.apply(namespaces)
        running.apply([make_service(name) for name in named])
        installation = Installation(running, helm, tmp_path_factory.mktemp("helm"), namespace="qos-system")
        is_called = partial(Asked(running, "").answers, make_pod("shop"), lambda spec: spec["priority"] == 10)
        webhook = {"timeoutSeconds": 30}
        with released(
            installation,
            lambda port: {**values, "webhook": {**webhook, "url": f"https://127.0.0.1:{port}"}},
            is_called,
        ):
            yield running


def test_A_pages_show_what_their_values_do(cluster: ControlPlane) -> None:
    def generated(found: re.Match[str]) -> str:
        return f"{found[1]}{typed(cluster, found[2], MANIFESTS)}{found[3]}"

    written = {page: COMMANDS.subn(generated, page.read_text(encoding="utf-8")) for page in PAGES}
    assert sum(count for _, count in written.values()) == 5
    for page, (text, _) in written.items():
        check(page, text)
