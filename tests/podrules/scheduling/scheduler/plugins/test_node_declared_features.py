"""NodeDeclaredFeatures: upstream's cases (TestPreFilter, TestFilter, TestInferForScheduling, TestFeatureMapper)."""

from __future__ import annotations

import pytest

from podrules.api.features import Features
from podrules.scheduling.scheduler.framework.answers import SKIP, SUCCESS, Code, Status
from podrules.scheduling.scheduler.plugins.one_field import (
    RESTART_ALL_CONTAINERS,
    USER_NAMESPACES_HOST_NETWORK,
    MissingFeatures,
    NodeDeclaredFeatures,
    required_features,
)
from tests.podrules.scheduling.scheduler.plugins.building_nodes import Json, filter_status, make_cycle, node_of, pod_of

LACKS = Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, ("node(s) didn't match Pod's required features",))
RESTARTING = {"restartPolicyRules": [{"action": "RestartAllContainers"}]}
PLAIN = {"restartPolicyRules": [{"action": "Restart"}]}
HOST_USERS = {"hostNetwork": True, "hostUsers": False}


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        pytest.param(
            {"initContainers": [RESTARTING], "containers": [{}]},
            {RESTART_ALL_CONTAINERS},
            id="init container with rules",
        ),
        pytest.param(
            {"initContainers": [{}], "containers": [RESTARTING]},
            {RESTART_ALL_CONTAINERS},
            id="regular container with rules",
        ),
        pytest.param({"initContainers": [{}], "containers": [{}]}, set(), id="no rules"),
        pytest.param({"containers": [PLAIN]}, set(), id="rules of another action"),
        pytest.param(HOST_USERS, {USER_NAMESPACES_HOST_NETWORK}, id="host network and user namespace"),
        pytest.param({"hostNetwork": True}, set(), id="host network, hostUsers not set"),
        pytest.param({"hostNetwork": True, "hostUsers": True}, set(), id="host network, host users"),
        pytest.param({"hostUsers": False}, set(), id="user namespace alone"),
        pytest.param(
            {**HOST_USERS, "containers": [RESTARTING]},
            {RESTART_ALL_CONTAINERS, USER_NAMESPACES_HOST_NETWORK},
            id="Pod with multiple feature requirements",
        ),
    ],
)
def test_required_features(spec: Json, expected: set[str]) -> None:
    assert required_features(pod_of(spec)) == expected


@pytest.mark.parametrize(
    ("spec", "declared", "expected"),
    [
        pytest.param({}, [], SKIP, id="Pod with no requirements"),
        pytest.param(
            HOST_USERS,
            [RESTART_ALL_CONTAINERS, USER_NAMESPACES_HOST_NETWORK],
            SUCCESS,
            id="Node matches requirements",
        ),
        pytest.param(HOST_USERS, [RESTART_ALL_CONTAINERS], LACKS, id="Node does not match requirements"),
        pytest.param(HOST_USERS, [], LACKS, id="Node has no declared features"),
        pytest.param(
            HOST_USERS, ["A", "RestartSome", USER_NAMESPACES_HOST_NETWORK, "Z"], SUCCESS, id="unknown features"
        ),
        pytest.param(
            {**HOST_USERS, "containers": [RESTARTING]},
            [USER_NAMESPACES_HOST_NETWORK],
            LACKS,
            id="Node with some but not all required features",
        ),
        pytest.param(
            {"containers": [RESTARTING]},
            [USER_NAMESPACES_HOST_NETWORK, RESTART_ALL_CONTAINERS],
            LACKS,
            id="a list that is not sorted loses features",
        ),
    ],
)
def test_filter(spec: Json, declared: list[str], expected: Status) -> None:
    context = make_cycle(pod_of(spec), [node_of(status={"declaredFeatures": declared})])
    assert filter_status(NodeDeclaredFeatures(), context) == expected


def test_plugin_disabled() -> None:
    context = make_cycle(pod_of(HOST_USERS), [node_of()], features=Features.of_minor(35))
    assert filter_status(NodeDeclaredFeatures(), context) == SKIP


def test_explain_names_what_is_missing() -> None:
    nodes = [node_of("a"), node_of("b", status={"declaredFeatures": [RESTART_ALL_CONTAINERS]})]
    context = make_cycle(pod_of({**HOST_USERS, "containers": [RESTARTING]}), nodes)
    plugin = NodeDeclaredFeatures()
    both = (RESTART_ALL_CONTAINERS, USER_NAMESPACES_HOST_NETWORK)
    assert plugin.explain(context, plugin.pre_filter(context).state, 1) == MissingFeatures(both, both[1:])
