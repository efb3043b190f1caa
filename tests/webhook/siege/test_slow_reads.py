"""Reads of the webhook that take long, or get no answer: each rule is applied within the chart's own timeout."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import yaml

from tests.controlplane.client import ApiError, Object
from tests.controlplane.control_plane import ControlPlane
from tests.controlplane.processes import stop_all
from tests.objects import raw_container
from tests.waiting import wait_for
from tests.webhook.balancer import Balancer
from tests.webhook.forcing import ADMIN, Cluster, make_pod, warnings
from tests.webhook.installation import Installation, chart_values

pytestmark = pytest.mark.controlplane

NAME = "siege-slow"
FORBIDDING, WARNING = f"{NAME}-deny", f"{NAME}-warn"
LARGE_PODS = 6
AT_ONCE = 20
UNREAD = "cannot be read, and"
LARGE = {"containers": [raw_container(args=["<" * 1_450_000])]}
"""8.7 MB in JSON."""


@pytest.fixture(scope="module")
def way() -> Iterator[Balancer]:
    """Forwards the reads of the replica to the API server."""
    with Balancer(blind=True) as balancer:
        yield balancer


@pytest.fixture(scope="module")
def cluster(
    control_plane: ControlPlane, helm: Path, way: Balancer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Cluster]:
    """With the program itself, called with the chart's settings; one namespace forbids force deletions."""
    for name in (NAME, FORBIDDING, WARNING):
        control_plane.create_namespace(name)
    folder = tmp_path_factory.mktemp(NAME)
    installation = Installation(control_plane, helm, folder, namespace=NAME, patient=False)
    with Balancer() as balancer:
        values = chart_values(
            balancer.port,
            priorityClasses={"allowed": {FORBIDDING: ["none"]}},
            forceDeletion={"namespaces": {FORBIDDING: "deny"}, "exemptUsers": [ADMIN]},
        )
        values["webhook"] |= {"timeoutSeconds": 2, "failurePolicy": "Ignore"}
        installation.install(values)
        account = installation.deployment["spec"]["template"]["spec"]["serviceAccountName"]
        kubeconfig = control_plane.kubeconfig_for_service_account(account, NAME)
        config = yaml.safe_load(kubeconfig.read_text())
        way.add(_port_of(control_plane))
        config["clusters"][0]["cluster"]["server"] = f"https://127.0.0.1:{way.port}"
        kubeconfig.write_text(yaml.safe_dump(config))
        replica = installation.start_replica(f"--kubeconfig={kubeconfig}")
        try:
            balancer.add(replica.port)
            found = Cluster(control_plane, balancer, replica)
            wait_for(found.is_called, "the webhook is called")
            yield found
        finally:
            stop_all([replica.process], timeout=2)
            installation.uninstall()
            for name in (FORBIDDING, WARNING):
                control_plane.leave_namespace(name)


def _port_of(control_plane: ControlPlane) -> int:
    return int(control_plane.server.rpartition(":")[2])


@pytest.fixture(scope="module")
def node(control_plane: ControlPlane) -> str:
    """A Node without scheduled pods."""
    return str(control_plane.create_node(NAME, unschedulable=True)["metadata"]["name"])


@pytest.mark.long("test_F2_eviction_of_unreadable_pod_is_allowed_only_by_warn")
def test_rules_hold_while_no_read_is_answered(cluster: Cluster, way: Balancer, node: str) -> None:
    api = cluster.control_plane.api
    pods = {where: api.create(make_pod("db", where, node)) for where in (FORBIDDING, WARNING)}
    with socket.create_server(("127.0.0.1", 0)) as silence:
        way.remove(*way.known)
        way.add(silence.getsockname()[1])
        way.mute()
        refused = cluster.force("eviction", pods[FORBIDDING])
        assert (refused.returncode, cluster.is_untouched(pods[FORBIDDING])) == (1, True)
        assert UNREAD in refused.stderr
        for path in ("delete", "collection"):
            assert cluster.force(path, pods[FORBIDDING]).returncode == 1
            assert cluster.is_untouched(pods[FORBIDDING])
        with pytest.raises(ApiError, match="PriorityClass"):
            api.create(make_pod("web", FORBIDDING, "", priorityClassName="system-node-critical"))
        let_through = cluster.force("eviction", pods[WARNING], dry_run=True)
        assert let_through.returncode == 0
        assert any("the pod cannot be read" in line for line in warnings(let_through))
        assert UNREAD in cluster.force("node", pods[FORBIDDING]).stderr
        assert cluster.is_untouched(pods[FORBIDDING])
        way.remove(*way.known)
        way.add(_port_of(cluster.control_plane))
        way.cut()


@pytest.mark.long("test_answers_that_come_byte_by_byte_gain_no_time, test_F2_claims_of_a_pod_take_few_reads")
def test_large_pods_lift_no_rule(cluster: Cluster, node: str) -> None:
    """Twenty evictions of one pod at once, the deletion of a Node with six pods, and a pod with a thousand claims."""
    api = cluster.control_plane.api

    def create(name: str, namespace: str, **spec: object) -> Object:
        return api.create(make_pod(name, namespace, node, **spec))

    large = create("large", FORBIDDING, **LARGE)
    jane = cluster.control_plane.client_for("jane", ["system:masters"])
    body = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "large"}}
    body["deleteOptions"] = {"gracePeriodSeconds": 0}

    def evict(_: int) -> str:
        try:
            jane.request("POST", jane.path("v1", "Pod", FORBIDDING, "large", "eviction"), body)
        except ApiError as error:
            return error.message
        finally:
            jane.close()
        return ""

    with ThreadPoolExecutor(AT_ONCE) as pool:
        assert "" not in set(pool.map(evict, range(AT_ONCE)))
    assert cluster.is_untouched(large)

    for number in range(LARGE_PODS):
        create(f"large-{number}", WARNING, **LARGE)
    assert cluster.force("node", large).returncode == 1
    assert cluster.is_untouched(large)

    claims = [
        {"name": f"v{number}", "persistentVolumeClaim": {"claimName": f"claim-{number}"}} for number in range(1_000)
    ]
    with_claims = create("claims", FORBIDDING, volumes=claims)
    for path in ("delete", "eviction"):
        assert cluster.force(path, with_claims).returncode == 1
        assert cluster.is_untouched(with_claims)
