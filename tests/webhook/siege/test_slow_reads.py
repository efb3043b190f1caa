"""An API server too busy to answer the webhook's own reads: each rule is applied within the chart's timeout."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest
import yaml

from tests.controlplane.client import ApiError
from tests.controlplane.control_plane import ControlPlane
from tests.controlplane.processes import stop_all
from tests.waiting import wait_for
from tests.webhook.balancer import Balancer
from tests.webhook.forcing import ADMIN, Cluster, make_pod, warnings
from tests.webhook.installation import Installation, chart_values

pytestmark = pytest.mark.controlplane

NAME = "siege-slow"
FORBIDDING, WARNING = f"{NAME}-deny", f"{NAME}-warn"


@pytest.mark.long("test_F2_eviction_of_a_pod_that_cannot_be_read_goes_only_where_all_do")
def test_rules_hold_while_no_read_is_answered(control_plane: ControlPlane, helm: Path, tmp_path: Path) -> None:
    api = control_plane.api
    for name in (NAME, FORBIDDING, WARNING):
        control_plane.create_namespace(name)
    node = control_plane.create_node(NAME, unschedulable=True)["metadata"]["name"]
    pods = {where: api.create(make_pod("db", where, node)) for where in (FORBIDDING, WARNING)}
    installation = Installation(control_plane, helm, tmp_path, namespace=NAME, patient=False)
    with Balancer() as balancer, Balancer(blind=True) as way, socket.create_server(("127.0.0.1", 0)) as silence:
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
        way.add(int(control_plane.server.rpartition(":")[2]))
        config["clusters"][0]["cluster"]["server"] = f"https://127.0.0.1:{way.port}"
        kubeconfig.write_text(yaml.safe_dump(config))
        replica = installation.start_replica(f"--kubeconfig={kubeconfig}")
        try:
            balancer.add(replica.port)
            cluster = Cluster(control_plane, balancer, replica)
            wait_for(cluster.is_asked, "the webhook is asked")
            way.remove(*way.known)
            way.add(silence.getsockname()[1])
            way.mute()

            refused = cluster.force("eviction", pods[FORBIDDING])
            assert (refused.returncode, cluster.is_untouched(pods[FORBIDDING])) == (1, True)
            assert "db: the pod cannot be read, and namespace" in refused.stderr
            for path in ("delete", "collection"):
                assert cluster.force(path, pods[FORBIDDING]).returncode == 1
                assert cluster.is_untouched(pods[FORBIDDING])
            with pytest.raises(ApiError, match="PriorityClass"):
                api.create(make_pod("web", FORBIDDING, "", priorityClassName="system-node-critical"))
            let_through = cluster.force("eviction", pods[WARNING], dry_run=True)
            assert let_through.returncode == 0
            assert any("the pod cannot be read" in line for line in warnings(let_through))
            let_through = cluster.force("node", pods[FORBIDDING], dry_run=True)
            assert let_through.returncode == 0
            assert any("cannot be read" in line for line in warnings(let_through))
        finally:
            stop_all([replica.process], timeout=2)
            installation.uninstall()
            for name in (FORBIDDING, WARNING):
                control_plane.leave_namespace(name)
