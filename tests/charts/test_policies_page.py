"""The example of docs/policies.md: its values installed by the real helm, its commands run by the real kubectl."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from tests.charts.policies import installed, scoped
from tests.controlplane.client import Object
from tests.controlplane.control_plane import ControlPlane
from tests.golden import check
from tests.objects import raw_pod, raw_workload
from tests.objects import raw_priority_class as make_class
from tests.webhook.asking import with_labels
from tests.webhook.installation import ZONE
from tests.webhook.pages import typed

pytestmark = pytest.mark.controlplane

PAGE: Final = Path(__file__).resolve().parents[2] / "docs" / "policies.md"
VALUES: Final = re.compile(r"<!-- policy values -->\n```yaml\n(.*?)```\n", re.DOTALL)
COMMANDS: Final = re.compile(r"(<!-- policy rules -->\n```\n)(.*?)(```\n)", re.DOTALL)
NAME: Final = "qos-webhook"


def _pod(name: str, **spec: Any) -> Object:
    return raw_pod(name, labels={"app": "web"}, **spec)


MISTYPED: Final = raw_pod(topologySpreadConstraints=[with_labels(ZONE, {"app": "wbe"})])["spec"]
MANIFESTS: Final = {
    "web.yaml": _pod("web"),
    "high.yaml": _pod("high", priorityClassName="checkout-high"),
    "mistyped-deployment.yaml": raw_workload("Deployment", "mistyped", pod_spec=MISTYPED),
}


def test_A_the_page_of_policies_shows_what_its_values_do(
    control_plane: ControlPlane, helm: Path, tmp_path: Path
) -> None:
    page = PAGE.read_text(encoding="utf-8")
    (values,) = VALUES.findall(page)
    classes = [make_class("checkout-low", 10), make_class("checkout-high", 1000)]
    control_plane.apply(classes)
    for name in ("checkout", "ledger"):
        control_plane.create_namespace(name, {"asked": NAME})
    node = control_plane.create_node("node-ledger-1")
    pod = _pod("ledger-0", nodeName="node-ledger-1")
    control_plane.api.create({**pod, "metadata": {**pod["metadata"], "namespace": "ledger"}})
    with installed(control_plane, helm, tmp_path, NAME, scoped(NAME, **yaml.safe_load(values))):
        text, count = COMMANDS.subn(
            lambda found: f"{found[1]}{typed(control_plane, found[2], MANIFESTS)}{found[3]}", page
        )
    for entry in [*classes, node]:
        control_plane.api.delete({"apiVersion": "v1", "kind": "Node", **entry})
    assert count == 1
    check(PAGE, text)
