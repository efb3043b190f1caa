"""NodeDeclaredFeatures: upstream's cases (TestPreFilter, TestFilter, TestInferForScheduling, TestFeatureMapper)."""

from __future__ import annotations

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
from tests.table import row, table

LACKS = Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, ("node(s) didn't match Pod's required features",))
RESTARTING = {"restartPolicyRules": [{"action": "RestartAllContainers"}]}
PLAIN = {"restartPolicyRules": [{"action": "Restart"}]}
HOST_USERS = {"hostNetwork": True, "hostUsers": False}


@table(
    "spec, expected",
    {
        "init container with rules": row(
            {"initContainers": [RESTARTING], "containers": [{}]}, {RESTART_ALL_CONTAINERS}
        ),
        "regular container with rules": row(
            {"initContainers": [{}], "containers": [RESTARTING]}, {RESTART_ALL_CONTAINERS}
        ),
        "no rules": row({"initContainers": [{}], "containers": [{}]}, set()),
        "rules of another action": row({"containers": [PLAIN]}, set()),
        "host network and user namespace": row(HOST_USERS, {USER_NAMESPACES_HOST_NETWORK}),
        "host network, hostUsers not set": row({"hostNetwork": True}, set()),
        "host network, host users": row({"hostNetwork": True, "hostUsers": True}, set()),
        "user namespace alone": row({"hostUsers": False}, set()),
        "Pod with multiple feature requirements": row(
            {**HOST_USERS, "containers": [RESTARTING]}, {RESTART_ALL_CONTAINERS, USER_NAMESPACES_HOST_NETWORK}
        ),
    },
)
def test_required_features(spec: Json, expected: set[str]) -> None:
    assert required_features(pod_of(spec)) == expected


@table(
    "spec, declared, expected",
    {
        "Pod with no requirements": row({}, [], SKIP),
        "Node matches requirements": row(HOST_USERS, [RESTART_ALL_CONTAINERS, USER_NAMESPACES_HOST_NETWORK], SUCCESS),
        "Node does not match requirements": row(HOST_USERS, [RESTART_ALL_CONTAINERS], LACKS),
        "Node has no declared features": row(HOST_USERS, [], LACKS),
        "unknown features": row(HOST_USERS, ["A", "RestartSome", USER_NAMESPACES_HOST_NETWORK, "Z"], SUCCESS),
        "Node with some but not all required features": row(
            {**HOST_USERS, "containers": [RESTARTING]}, [USER_NAMESPACES_HOST_NETWORK], LACKS
        ),
        "a list that is not sorted loses features": row(
            {"containers": [RESTARTING]}, [USER_NAMESPACES_HOST_NETWORK, RESTART_ALL_CONTAINERS], LACKS
        ),
    },
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
