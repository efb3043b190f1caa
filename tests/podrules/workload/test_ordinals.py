"""The next pod of a StatefulSet, and the pod for which it waits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from podrules.api.model.pod import Pod
from podrules.workload.made_pod import awaited_pod, next_pod
from tests.objects import make_pod, raw_condition, raw_owner
from tests.podrules.node.lost import stateful_set
from tests.table import table


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


@table(
    "policy, ready, expected",
    {
        "no pod exists": ("OrderedReady", {}, (0, "db-0", "")),
        "all are ready": ("OrderedReady", {"db-0": True, "db-1": True}, (2, "db-2", "")),
        "waits for an earlier one": ("OrderedReady", {"db-0": False, "db-1": True}, (2, "db-2", "db-0")),
        "the lowest comes first": ("OrderedReady", {"db-0": False, "db-1": False}, (2, "db-2", "db-0")),
        "one after the missing one does not block": ("OrderedReady", {"db-1": False}, (0, "db-0", "")),
        "Parallel waits for none": ("Parallel", {"db-0": False, "db-1": False}, (2, "db-2", "")),
        "Parallel fills a gap": ("Parallel", {"db-0": True, "db-2": True}, (1, "db-1", "")),
    },
)
def test_next_pod(policy: str, ready: Mapping[str, bool], expected: tuple[int, str, str]) -> None:
    found = next_pod(stateful_set(policy=policy), ready)
    assert (found.ordinal, found.name, found.waits_for) == expected


@table(
    "policy, pods, expected",
    {
        "all run and are Ready": ("OrderedReady", [pod("db-0"), pod("db-1")], None),
        "not Ready": ("OrderedReady", [pod("db-0"), pod("db-1", ready="False")], "db-1"),
        "to be recreated": ("OrderedReady", [pod("db-0", phase="Failed"), pod("db-1")], "db-0"),
        "being deleted and still Ready": (
            "OrderedReady",
            [pod("db-0"), pod("db-1", deleted="2026-01-01T00:00:00Z")],
            "db-1",
        ),
        "Parallel and being deleted": ("Parallel", [pod("db-0", deleted="2026-01-01T00:00:00Z")], None),
        "of another set": ("OrderedReady", [pod("db-0", ready="False", owner="other")], None),
        "of another namespace": ("OrderedReady", [pod("db-0", ready="False", namespace="data")], None),
    },
)
def test_awaited_pod(policy: str, pods: Sequence[Pod], expected: str | None) -> None:
    found = awaited_pod(stateful_set(policy=policy), pods)
    assert (found.metadata.name if found is not None else None) == expected
