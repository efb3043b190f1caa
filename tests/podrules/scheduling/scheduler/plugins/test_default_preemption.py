"""DefaultPreemption's rules about pods, budgets and arguments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from podrules.api.model.decode import from_object
from podrules.api.model.pod import Pod
from podrules.api.model.policy import PodDisruptionBudget
from podrules.scheduling.scheduler.plugins.default_preemption import (
    DefaultPreemptionArgs,
    by_importance,
    is_preemption_allowed,
    num_candidates,
    with_violations,
)
from podrules.scheduling.scheduler.profile import ConfigurationError, Profile
from tests.objects import raw_pod
from tests.podrules.scheduling.building import make_budget, read_profile
from tests.table import row, table


def pod(
    name: str, priority: int | None = None, start: str | None = None, *, labels: Mapping[str, str] | None = None
) -> Pod:
    return from_object(raw_pod(name, "default", labels=labels, priority=priority, status={"startTime": start}), Pod)


def budget(name: str, allowed: int, selector: Any, *, disrupted: Sequence[str] = ()) -> PodDisruptionBudget:
    written = {**make_budget(name, allowed, disrupted=disrupted), "spec": {"selector": selector}}
    return from_object(written, PodDisruptionBudget)


def profile(args: Mapping[str, Any]) -> Profile:
    typed = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "DefaultPreemptionArgs", **args}
    return read_profile(pluginConfig=[{"name": "DefaultPreemption", "args": typed}])


@table(
    "nodes, percentage, absolute, expected",
    {
        "never more than there are": row(50, 10, 100, 50),
        "the absolute number": row(900, 10, 100, 100),
        "the percentage": row(5000, 10, 100, 500),
        "the remainder is dropped": row(1999, 10, 100, 199),
        "nothing": row(5, 10, 0, 0),
    },
)
def test_num_candidates(nodes: int, percentage: int, absolute: int, expected: int) -> None:
    args = DefaultPreemptionArgs(min_candidate_nodes_percentage=percentage, min_candidate_nodes_absolute=absolute)
    assert num_candidates(args, nodes) == expected


def test_P4_order_of_importance() -> None:
    pods = [
        pod("starting", 5),
        pod("young", 5, "2026-01-01T00:00:02Z"),
        pod("none", None, "2026-01-01T00:00:00Z"),
        pod("negative", -1, "2025-01-01T00:00:00Z"),
        pod("old", 5, "2026-01-01T00:00:01Z"),
        pod("top", 9, "2026-01-01T00:00:09Z"),
    ]
    assert [each.metadata.name for each in by_importance(pods)] == [
        "top",
        "old",
        "young",
        "starting",
        "none",
        "negative",
    ]


def test_P4_only_lower_priority_pods_may_be_preempted() -> None:
    assert is_preemption_allowed(pod("a", 1), pod("b", 2))
    assert not is_preemption_allowed(pod("a", 2), pod("b", 2))
    assert is_preemption_allowed(pod("a", -1), pod("b"))


def test_P4_budgets_are_used_up_in_the_order_of_importance() -> None:
    app = {"app": "a"}
    pods = [
        pod("one", labels=app),
        pod("two", labels=app),
        pod("bare"),
        pod("gone", labels=app),
        pod("b", labels={"app": "b"}),
    ]
    budgets = [
        budget("both", 1, {"matchExpressions": [{"key": "app", "operator": "Exists"}]}, disrupted=["gone"]),
        budget("only-b", 0, {"matchLabels": {"app": "b"}}),
        budget("not-b", 9, {"matchExpressions": [{"key": "app", "operator": "NotIn", "values": ["b"]}]}),
        budget("bare", 0, {"matchExpressions": [{"key": "app", "operator": "DoesNotExist"}]}),
        budget("everything", 0, {}),
        budget("nothing", 0, None),
        budget("unreadable", 0, {"matchExpressions": [{"key": "app", "operator": "Like"}]}),
    ]
    violated = {
        victim.pod.metadata.name: [each.metadata.name for each in victim.violates]
        for victim in with_violations(pods, budgets)
    }
    assert violated == {"one": [], "two": ["both"], "bare": [], "gone": [], "b": ["both", "only-b"]}


def test_arguments_and_their_defaults() -> None:
    assert profile({}).args["DefaultPreemption"] == DefaultPreemptionArgs(10, 100)
    assert profile({"minCandidateNodesAbsolute": 7}).args["DefaultPreemption"] == DefaultPreemptionArgs(10, 7)


@table(
    "args, problem",
    {
        "percentage": row(
            {"minCandidateNodesPercentage": 101},
            "minCandidateNodesPercentage: Invalid value: 101: not in valid range [0-100]",
        ),
        "absolute": row(
            {"minCandidateNodesAbsolute": -1},
            "minCandidateNodesAbsolute: Invalid value: -1: not in valid range [0-inf)",
        ),
        "both 0": row(
            {"minCandidateNodesPercentage": 0, "minCandidateNodesAbsolute": 0},
            "minCandidateNodesPercentage: Invalid value: 0: minCandidateNodesAbsolute is 0 too",
        ),
    },
)
def test_arguments_that_kube_scheduler_refuses(args: Mapping[str, Any], problem: str) -> None:
    with pytest.raises(ConfigurationError) as raised:
        profile(args)
    assert str(raised.value) == f"profiles[0].pluginConfig[0].args.{problem}"
