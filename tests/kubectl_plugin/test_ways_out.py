"""Ways out are what the owner of a taint, a label or a pod would do."""

from __future__ import annotations

import pytest

from tests.kubectl_plugin.running import run
from tests.kubectl_plugin.test_field_cases import FIELD


def said(*words: str) -> str:
    ran = run(*words)
    assert "Traceback" not in ran.err
    return " ".join("\n".join(ran.out.splitlines()[:12]).split())


@pytest.mark.parametrize(
    ("case", "way"),
    [
        ("c33-a", "add a node or wait for a new one: cluster-autoscaler is about to remove a."),
        ("c33-b", "add a node or wait for a new one: Karpenter is about to remove b."),
        ("c33-d", "wait until Cilium's agent is ready on d."),
        ("c33-h", "add a node that runs Linux: h runs Windows."),
    ],
)
def test_a_taint_with_an_owner_is_not_tolerated(case: str, way: str) -> None:
    page = said("explain", "pod/web", "--snapshot", str(FIELD / f"{case}.json"))
    assert f"Way out: {way}" in page
    assert "tolerate " not in page.replace("does not tolerate", "")
