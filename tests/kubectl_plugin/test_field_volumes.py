"""Captures of pods that wait for their volumes, rebuilt from public bug reports."""

from __future__ import annotations

from typing import Final

import pytest

from tests.kubectl_plugin.running import run
from tests.kubectl_plugin.test_field_cases import FIELD, flat

NODE: Final = "ip-10-20-2-1.us-east-2.compute.internal"


def test_a_copy_of_a_node_in_the_zone_of_the_volume_lets_the_pod_run() -> None:
    words = ("place", "pod/worker-0", "-n", "ci")
    assert flat("c21.json", *words)[0] == 7
    code, text = flat("c21.json", *words, "--add-node", f"like={NODE},zone=us-east-2a")
    assert f"1 more pod like worker-0 fits, on {NODE}-copy." in text
    assert "kube-scheduler says otherwise" not in text
    assert code == 11
    assert (FIELD / "c21-fix.json").exists()
    assert "worker-0 fits, on ip-10-20-1-9" in flat("c21-fix.json", *words)[1]


@pytest.mark.parametrize(
    ("command", "lead"), [("place", "by what was read, deployment/app3 does not run."), ("explain", "")]
)
def test_a_pod_with_a_node_name_waits_for_a_claim_that_needs_the_scheduler(command: str, lead: str) -> None:
    code, text = flat("c10.json", command, "-f", str(FIELD / "c10-dep.yaml"))
    assert (
        f"{lead} Its spec.nodeName is w1: no scheduler looks at it, and the kubelet there starts nothing without its "
        'claims. Claim "aaa3" stays unbound: its StorageClass "openebs-lvmpv" waits for a pod that the scheduler '
        "places (WaitForFirstConsumer). Way out: replace spec.nodeName by nodeSelector kubernetes.io/hostname: w1."
    ) in text
    assert "It fits" not in text
    assert "Not certain: no persistentvolumes in the file" in text
    assert code == 11


def test_lint_and_why_say_what_such_a_claim_needs() -> None:
    linted = " ".join(run("lint", "-f", str(FIELD / "c10-dep.yaml")).out.split())
    assert "Claim aaa3 stays unbound if its StorageClass waits for the scheduler (WaitForFirstConsumer)." in linted
    assert "Replace spec.nodeName by nodeSelector kubernetes.io/hostname." in linted
    assert "the claim stays unbound" in " ".join(run("why", "WaitForFirstConsumer").out.split())
