"""A tenant, and an administrator, nest objects as deeply as the API server stores them: webhook and plugin work."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from cluster_io.capture.file import SnapshotFile
from cluster_io.device_kinds import RESOURCE_CLAIMS
from kubectl_plugin.exit_codes import NO_PLACE, NOT_CERTAIN, NOTHING_LEFT
from tests.controlplane.client import Object
from tests.controlplane.control_plane import ControlPlane
from tests.controlplane.deep_objects import PROTOBUF, deepen, flatten, replica_set_no_event_holds
from tests.controlplane.processes import stop_all
from tests.e2e.plugin import Plugin
from tests.objects import raw_priority_class
from tests.waiting import wait_for
from tests.webhook.asking import make_service, make_workload
from tests.webhook.balancer import Balancer
from tests.webhook.forcing import ADMIN, MODE, Cluster, make_pod
from tests.webhook.installation import ZONE, Installation, Replica, chart_values
from tests.webhook.scraping import scraped

pytestmark = [
    pytest.mark.controlplane,
    pytest.mark.long("tests/cluster_io/test_deep_objects.py, tests/property/test_deep_json.py, test_unreadable.py"),
]

TENANT, OTHER, RELEASE = "deep-tenant", "deep-other", "deep-system"
NODE, CLASS = "deep-node", "deep-class"
DEVICES = "resource.k8s.io/v1"
CACHES = {
    "namespaces": "Namespace",
    "services": "Service",
    "replicasets.apps": "ReplicaSet",
    "priorityclasses.scheduling.k8s.io": "PriorityClass",
    "nodes": "Node",
}
DEEPEST = "Pod"
"""The kind of the object with 6,000 levels; the others have 1,500. With 9,000 the API server may end its request."""
PARAMETERS = '{"a":' * 1_600 + "1" + "}" * 1_600
"""The value of a device: at most 10 KiB are stored."""
ANSWERED = {0, NO_PLACE, NOT_CERTAIN, NOTHING_LEFT}
NOT_IN_TESTS = {"nodes/proxy", "nodes.metrics.k8s.io", "pods.metrics.k8s.io"}
"""A URL without a server."""


@pytest.fixture(scope="module")
def installation(
    control_plane: ControlPlane, helm: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Installation]:
    """The release's namespace; nothing is installed yet."""
    control_plane.create_namespace(RELEASE)
    made = Installation(control_plane, helm, tmp_path_factory.mktemp("helm"), namespace=RELEASE)
    yield made
    made.uninstall()


@pytest.fixture(scope="module")
def cluster(control_plane: ControlPlane, installation: Installation) -> Iterator[Cluster]:
    """The chart with force deletions forbidden in the tenant's namespace, and a replica that is called."""
    forbidden = {"namespaces": {TENANT: "deny"}, "exemptUsers": [ADMIN]}
    with Balancer() as balancer:
        installation.install(chart_values(balancer.port, ZONE, forceDeletion=forbidden))
        replica = installation.start_replica()
        balancer.add(replica.port)
        running = Cluster(control_plane, balancer, replica)
        wait_for(running.is_called, "the webhook is called")
        yield running
        stop_all([replica.process], timeout=2)


@pytest.fixture(scope="module")
def deep(control_plane: ControlPlane, cluster: Cluster) -> Iterator[dict[str, Object]]:
    """Deep objects by kind, which the replica has seen in its watches."""
    api = control_plane.api
    control_plane.create_namespace(TENANT)
    control_plane.create_node(NODE, unschedulable=True)
    pod = api.create(make_pod("web", TENANT, NODE, terminationGracePeriodSeconds=30))
    made = {
        "Pod": control_plane.set_pod_status(pod, {"phase": "Running"}),
        "Service": api.create(make_service(TENANT)),
        "ReplicaSet": api.create(make_workload("ReplicaSet", TENANT)),
        "PriorityClass": api.create(raw_priority_class(CLASS, 10)),
        "Namespace": {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": TENANT}},
        "Node": {"apiVersion": "v1", "kind": "Node", "metadata": {"name": NODE}},
    }
    for kind, entry in made.items():
        deepen(api, entry, 6_000 if kind == DEEPEST else 1_500)
    config = f'[{{"opaque":{{"driver":"example.com","parameters":{PARAMETERS}}}}}]'
    request = '[{"name":"r","exactly":{"deviceClassName":"deep-class"}}]'
    for kind, namespace, spec in (
        ("DeviceClass", None, f'{{"config":{config}}}'),
        ("ResourceClaim", TENANT, f'{{"devices":{{"requests":{request},"config":{config}}}}}'),
    ):
        body = f'{{"apiVersion":"{DEVICES}","kind":"{kind}","metadata":{{"name":"{CLASS}"}},"spec":{spec}}}'
        api.request("POST", api.path(DEVICES, kind, namespace), body.encode(), accept=PROTOBUF)
    with ExitStack() as stack:
        for kind in ("Node", "PriorityClass"):
            stack.callback(api.delete, made[kind])
        for kind, namespace in (("DeviceClass", None), ("ResourceClaim", TENANT)):
            stack.callback(api.request, "DELETE", api.path(DEVICES, kind, namespace, CLASS), accept=PROTOBUF)
        stack.callback(control_plane.leave_namespace, TENANT)
        for entry in made.values():
            stack.callback(flatten, api, entry)
        yield made


def _metrics(replica: Replica, name: str) -> dict[str, int]:
    found = re.findall(rf'^qos_webhook_{name}{{cache="(.*)"}} (.*)$', scraped(replica.metrics_port), re.MULTILINE)
    return {cache: int(float(value)) for cache, value in found if cache in CACHES}


def test_caches_still_work(control_plane: ControlPlane, cluster: Cluster, deep: dict[str, Object]) -> None:
    """A label that is set after the attack takes effect, and no list or watch has failed."""
    control_plane.create_namespace(OTHER, {MODE: "deny"})
    pod = control_plane.api.create(make_pod("web", OTHER, NODE, terminationGracePeriodSeconds=30))
    said = wait_for(lambda: cluster.force("delete", pod, dry_run=True).stderr, "it is judged")
    assert f"namespace {OTHER} forbids force deletions" in said
    control_plane.api.delete(pod, grace_period_seconds=0)
    control_plane.leave_namespace(OTHER)
    assert set(_metrics(cluster.replica, "cache_failures_total").values()) == {0}
    assert set(_metrics(cluster.replica, "cache_left_out_total").values()) == {0}


def test_new_replica_gets_ready(
    control_plane: ControlPlane, cluster: Cluster, installation: Installation, deep: dict[str, Object]
) -> None:
    replica = installation.start_replica()
    try:
        assert set(_metrics(replica, "cache_left_out_total").values()) == {0}
        wait_for(
            lambda: _metrics(replica, "cache_objects") == _metrics(cluster.replica, "cache_objects"), "same caches"
        )
    finally:
        stop_all([replica.process], timeout=2)


@pytest.mark.parametrize("path", ["node", "delete", "eviction"])
def test_deletion_is_judged(cluster: Cluster, deep: dict[str, Object], path: str) -> None:
    done = cluster.force(path, deep["Pod"], dry_run=True)
    assert done.returncode != 0
    if path == "node":
        assert "force deletes 1 pod that may still run" in done.stderr
        assert "forbidden for" in done.stderr
    else:
        assert f"namespace {TENANT} forbids force deletions" in done.stderr


@pytest.mark.parametrize(
    ("command", "arguments"),
    [
        ("explain", ("pod/web", "-n", TENANT)),
        ("explain", (f"node/{NODE}",)),
        ("explain", ("replicaset/web", "-n", TENANT)),
        ("node", (NODE,)),
        ("report", ("-A",)),
        ("partitions", ()),
        ("place", ("replicaset/web", "-n", TENANT, "--replicas", "1")),
    ],
)
def test_plugin_answers(
    control_plane: ControlPlane, deep: dict[str, Object], tmp_path: Path, command: str, arguments: tuple[str, ...]
) -> None:
    ran = Plugin(control_plane, tmp_path, command=command)(*arguments, "-o", "json")
    assert ran.code in ANSWERED, ran
    assert ran.err == ""
    unread = json.loads(ran.out).get("unread", [])
    assert {entry["resource"] for entry in unread} <= NOT_IN_TESTS, unread


def test_snapshot_is_taken_and_read(control_plane: ControlPlane, deep: dict[str, Object], tmp_path: Path) -> None:
    (runtime := tmp_path / "runtime").mkdir()
    file = tmp_path / "cluster.qos"
    assert Plugin(control_plane, runtime, command="snapshot")("-o", file).code == 0
    assert [found.metadata.name for found in SnapshotFile(str(file)).objects(RESOURCE_CLAIMS)] == [CLASS]
    kinds = "pods,nodes,namespaces,services,replicasets,priorityclasses"
    (listed := tmp_path / "list.json").write_text(control_plane.kubectl("get", kinds, "-A", "-o", "json").stdout)
    for snapshot in (file, listed):
        ran = Plugin(control_plane, runtime, command="explain")("pod/web", "-n", TENANT, "--snapshot", snapshot)
        assert ran.code in ANSWERED, ran
        assert f"pod/web in namespace {TENANT}, on {NODE}" in ran.out


def test_event_that_no_watch_can_send_stops_no_cache(
    control_plane: ControlPlane, cluster: Cluster, deep: dict[str, Object]
) -> None:
    api = control_plane.api
    path = api.path("apps/v1", "ReplicaSet", TENANT)
    before = _metrics(cluster.replica, "cache_objects")["replicasets.apps"]
    body = replica_set_no_event_holds("deepest", TENANT)
    api.request("POST", path, body, content_type=PROTOBUF, accept=PROTOBUF)
    wait_for(
        lambda: _metrics(cluster.replica, "cache_objects")["replicasets.apps"] == before + 1, "a list has brought it"
    )
    api.request("DELETE", f"{path}/deepest", accept=PROTOBUF)
