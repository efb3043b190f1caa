"""The next pod of a StatefulSet, and the pod for which it waits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest

from podrules.api.model.pod import Pod
from podrules.workload.made_pod import awaited_pod, next_pod
from tests.objects import make_pod, raw_condition, raw_owner
from tests.podrules.node.lost import stateful_set


def pod(
    name: str,
    namespace: str = "shop",
    *,
    ready: str = "True",
    owner: str = "db",
    phase: str = "Running",
    deleted: str | None = None,
) -> Pod:
    return make_pod(
        name,
        namespace,
        metadata={"ownerReferences": [raw_owner("StatefulSet", owner)], "deletionTimestamp": deleted},
        status={"phase": phase, "conditions": [raw_condition("Ready", ready)]},
    )


@pytest.mark.parametrize(
    ("policy", "ready", "expected"),
    [
        pytest.param("OrderedReady", {}, (0, "db-0", ""), id="no pod exists"),
        pytest.param("OrderedReady", {"db-0": True, "db-1": True}, (2, "db-2", ""), id="all are ready"),
        pytest.param("OrderedReady", {"db-0": False, "db-1": True}, (2, "db-2", "db-0"), id="waits for an earlier one"),
        pytest.param("OrderedReady", {"db-0": False, "db-1": False}, (2, "db-2", "db-0"), id="the lowest comes first"),
        pytest.param("OrderedReady", {"db-1": False}, (0, "db-0", ""), id="one after the missing one does not block"),
        pytest.param("Parallel", {"db-0": False, "db-1": False}, (2, "db-2", ""), id="Parallel waits for none"),
        pytest.param("Parallel", {"db-0": True, "db-2": True}, (1, "db-1", ""), id="Parallel fills a gap"),
    ],
)
def test_next_pod(policy: str, ready: Mapping[str, bool], expected: tuple[int, str, str]) -> None:
    found = next_pod(stateful_set(policy=policy), ready)
    assert (found.ordinal, found.name, found.waits_for) == expected


@pytest.mark.parametrize(
    ("policy", "pods", "expected"),
    [
        pytest.param("OrderedReady", [pod("db-0"), pod("db-1")], None, id="all run and are Ready"),
        pytest.param("OrderedReady", [pod("db-0"), pod("db-1", ready="False")], "db-1", id="not Ready"),
        pytest.param("OrderedReady", [pod("db-0", phase="Failed"), pod("db-1")], "db-0", id="to be recreated"),
        pytest.param(
            "OrderedReady",
            [pod("db-0"), pod("db-1", deleted="2026-01-01T00:00:00Z")],
            "db-1",
            id="being deleted and still Ready",
        ),
        pytest.param("Parallel", [pod("db-0", deleted="2026-01-01T00:00:00Z")], None, id="Parallel and being deleted"),
        pytest.param("OrderedReady", [pod("db-0", ready="False", owner="other")], None, id="of another set"),
        pytest.param("OrderedReady", [pod("db-0", ready="False", namespace="data")], None, id="of another namespace"),
    ],
)
def test_awaited_pod(policy: str, pods: Sequence[Pod], expected: str | None) -> None:
    found = awaited_pod(stateful_set(policy=policy), pods)
    assert (found.metadata.name if found is not None else None) == expected
