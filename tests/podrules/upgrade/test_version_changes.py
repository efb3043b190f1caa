"""The gates that decide about a pod are those that change a result when flipped."""

from __future__ import annotations

import itertools

import pytest

from podrules.api.features import GATES
from podrules.api.model.decode import from_object
from podrules.api.model.pod import Pod
from podrules.pod.versions import KUBELET_RULES, Versions
from podrules.upgrade.version_changes import assumed_gates, pod_changes
from tests.objects import make_node
from tests.recorded import recorded

NODE = make_node(capacity={"memory": "32Gi"})
CASES = 60


@pytest.mark.parametrize("suite", ["qos", "oom", "resize"])
@pytest.mark.parametrize("minor", [34, 37])
def test_Q5_every_gate_that_changes_something_is_named(suite: str, minor: int) -> None:
    versions = Versions.of(f"1.{minor}")
    found: set[str] = set()
    for case in itertools.islice(recorded(suite, minor), CASES):
        pod = from_object(case["input"]["pod"], Pod)
        named = {gate.name: gate.changes for gate in assumed_gates(pod, NODE, versions)}
        for field, change in GATES.items():
            holder = versions.kubelet(NODE) if change.rule in KUBELET_RULES else versions.api_server
            if change.can_be_set(holder.gates_of):
                other = versions.with_gate(field, on=not getattr(holder, field))
                changes = dict.fromkeys(one.kind for one in pod_changes(pod, NODE, versions, other))
                assert named.get(change.gate, ()) == tuple(changes), case["id"]
        found |= named.keys()

    assert found
