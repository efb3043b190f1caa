"""Objects as large as a tenant can store: the webhook lists them, and no page of them takes its memory."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.controlplane.control_plane import ControlPlane
from tests.objects import raw_container
from tests.webhook.asking import make_workload, template_of
from tests.webhook.forcing import serving
from tests.webhook.memory import MEMORY_LIMIT, peak, worker_of

pytestmark = pytest.mark.controlplane

TENANT = "lists-tenant"
LARGE = 10
"""ReplicaSets of 9 MB of JSON: 90 MB in the page that holds them."""


def test_large_objects_of_a_tenant_keep_no_replica_from_starting(
    control_plane: ControlPlane, helm: Path, tmp_path: Path
) -> None:
    api = control_plane.api
    control_plane.create_namespace(TENANT)
    for number in range(LARGE):
        workload = make_workload("ReplicaSet", TENANT)
        workload["metadata"]["name"] = f"large-{number}"
        workload["spec"]["replicas"] = 0
        template_of(workload)["spec"]["containers"] = [raw_container(args=["<" * 1_500_000])]
        api.create(workload)
    with serving(control_plane, helm, tmp_path, namespace="qos-lists", force_deletion={}) as cluster:
        assert cluster.is_asked()
        assert peak(worker_of(cluster.replica.process.pid)) < MEMORY_LIMIT
    for stored in api.list_items("apps/v1", "ReplicaSet", TENANT):
        api.delete(stored)
    control_plane.leave_namespace(TENANT)
