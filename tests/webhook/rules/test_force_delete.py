"""The clients that get a warning about a force deletion, the warning's content, and the exempt clients."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from typing import Any

import pytest

from cluster_io.demo import demo_objects
from tests.webhook.review_objects import delete_review, in_a_dry_run, validated
from webhook.cluster.view import Cluster
from webhook.reviews.response import ALLOWED

PODS = {entry["metadata"]["name"]: entry for entry in demo_objects() if entry["kind"] == "Pod"}


@pytest.fixture
def warnings_for(demo_cluster: Cluster) -> Callable[..., tuple[str, ...]]:
    def warnings(name: str, **how: Any) -> tuple[str, ...]:
        answer = validated(delete_review(PODS[name], **how), demo_cluster)
        assert answer.allowed
        return answer.warnings

    return warnings


Warnings = Callable[..., tuple[str, ...]]


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("alertmanager-0", "node-a2: StatefulSet alertmanager promises at most one, but a second may start while it"),
        ("checkout-mv9cgvs6p-m2n4z", "node-a1: ReplicaSet checkout-mv9cgvs6p may start a replacement while it"),
        ("log-agent-vqkbz", "node-a1: DaemonSet log-agent may start the next copy while it still runs"),
        ("nightly-index-q7n2s", "node-a1: Job nightly-index may start the work again while it still runs"),
        ("etcd-cp-a1", "cp-a1: it mirrors a static pod, and deleting it stops nothing"),
        ("price-feed", "node-a2: its processes may run on, and no controller replaces it"),
    ],
)
def test_F3_force_deletion_warns_about_the_owners_promise(warnings_for: Warnings, name: str, line: str) -> None:
    first, second = warnings_for(name)
    assert first.startswith(f"{name} on {line}")
    spec, namespace = PODS[name]["spec"], PODS[name]["metadata"]["namespace"]
    if name == "etcd-cp-a1":
        assert second == f"Check now: kubectl qos explain pod/{name} -n {namespace}"
        return
    container, node = spec["containers"][0]["name"], spec["nodeName"]
    died = f"kubectl qos died pod/{name} -n {namespace}"
    assert second == f"Check now whether container {container} still runs on {node}: {died}; kubectl qos node {node}"


def test_F3_dry_run_names_the_check_before_deletion(demo_cluster: Cluster) -> None:
    """Otherwise the warning arrives when the pod no longer exists."""
    answer = validated(in_a_dry_run(delete_review(PODS["db-0"])), demo_cluster)
    assert answer.warnings[1] == (
        "nothing keeps a second writer off volume data (claim data-db-0, NFS, ReadWriteOnce); "
        "check first: kubectl qos explain pod/db-0 -n shop"
    )


def test_F3_warning_names_checks_as_far_as_there_is_room(demo_cluster: Cluster) -> None:
    pod = deepcopy(PODS["price-feed"])
    (box,) = pod["spec"]["containers"]
    pod["spec"]["containers"] = [box | {"name": name} for name in ("feed", "cache", "proxy", "log")]
    node, died = pod["spec"]["nodeName"], f"kubectl qos died pod/price-feed -n {pod['metadata']['namespace']}"

    def check() -> str:
        return validated(delete_review(pod), demo_cluster).warnings[1]

    names = "containers feed, cache, proxy and 1 more"
    assert check() == f"Check now whether {names} still run on {node}: {died}; kubectl qos node {node}"
    pod["spec"]["containers"][0]["name"] = "f" * 63
    pod["spec"]["containers"][1]["name"] = "c" * 63
    assert check() == f"Check now whether it still runs on {node}: {died}; kubectl qos node {node}"
    pod["metadata"]["name"] = "p" * 200
    assert check().startswith("Check now: kubectl qos died pod/ppp")


def test_forcing_shortened_deletion_names_end_of_running_stop(demo_cluster: Cluster) -> None:
    pod = deepcopy(PODS["alertmanager-0"])
    pod["metadata"] |= {"deletionTimestamp": "2026-11-21T03:10:10Z", "deletionGracePeriodSeconds": 10}
    pod["spec"]["terminationGracePeriodSeconds"] = 120
    answer = validated(delete_review(pod), demo_cluster)
    assert "is already stopping and may run until 2026-11-21 03:12:00 UTC: forcing" in answer.warnings[0]


def test_forcing_stopping_pod_on_silent_node_does_not_speed_up(warnings_for: Warnings) -> None:
    first, second = warnings_for("db-1")
    assert first == (
        "db-1 on node-c3, silent since 03:02:56 UTC, is already stopping, and its end is unknown: "
        "forcing does not stop it sooner; "
        "StatefulSet db promises at most one, but a second may start while it still runs"
    )
    assert second == (
        "nothing keeps a second writer off volume data (claim data-db-1, NFS, ReadWriteOnce); check now whether "
        "container db still runs on node-c3: kubectl qos died pod/db-1 -n shop; kubectl qos node node-c3"
    )


@pytest.mark.parametrize(
    ("name", "stopping", "risk"),
    [
        pytest.param("web-silent", True, "has another instead, and this one may still run", id="marked there"),
        pytest.param("web-silent", False, "may start a replacement while it still runs", id="not marked for deletion"),
        pytest.param("web-there", True, "may start a replacement while it still runs", id="its node answers"),
    ],
)
def test_replica_set_has_replaced_a_pod_deleted_on_a_silent_node(
    demo_cluster: Cluster, name: str, stopping: bool, risk: str
) -> None:
    """As in kubectl qos: a ReplicaSet counts no pod that was marked for deletion."""
    pod = deepcopy(PODS["checkout-mv9cgvs6p-m2n4z"])
    pod["metadata"]["name"] = name
    pod["spec"]["nodeName"] = "node-c3" if name == "web-silent" else "node-a1"
    if stopping:
        pod["metadata"] |= {"deletionTimestamp": "2026-11-21T03:08:00Z", "deletionGracePeriodSeconds": 30}
    answer = validated(delete_review(pod), demo_cluster)
    assert answer.warnings[0].endswith(f"ReplicaSet checkout-mv9cgvs6p {risk}")


@pytest.mark.parametrize(
    "name", ["checkout-mv9cgvs6p-x2x7p", "nightly-report-29870100-wm6rq", "report-export-kjj87m522-zr4gw"]
)
def test_pod_without_processes_has_no_risk(warnings_for: Warnings, name: str) -> None:
    assert warnings_for(name) == ()


@pytest.mark.parametrize(
    "how",
    [
        {"seconds": 1},
        {"seconds": 30},
        {"seconds": None},
        {"user": "system:serviceaccount:kube-system:pod-garbage-collector"},
        {"user": "system:serviceaccount:kube-system:generic-garbage-collector"},
        {"user": "system:serviceaccount:kube-system:namespace-controller"},
        {"user": "system:kube-controller-manager"},
        {"user": "system:node:node-b2", "groups": ("system:nodes",)},
    ],
)
def test_graceful_or_controllers_deletion_causes_no_warning(warnings_for: Warnings, how: Any) -> None:
    """The last is a kubelet's last one."""
    assert warnings_for("db-0", **how) == ()


def test_a_name_alone_makes_no_kubelet(warnings_for: Warnings) -> None:
    assert warnings_for("db-0", user="system:node:node-b2") != ()


def test_second_review_of_one_command_does_not_warn(demo_cluster: Cluster) -> None:
    pod = PODS["db-0"] | {"metadata": PODS["db-0"]["metadata"] | {"deletionGracePeriodSeconds": 0}}
    assert validated(delete_review(pod), demo_cluster) == ALLOWED
