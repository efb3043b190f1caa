"""Objects as large as a tenant can store: the webhook lists them, and no page of them exhausts its memory."""

from __future__ import annotations

import re
from functools import partial
from pathlib import Path

import pytest

from tests.controlplane.control_plane import ControlPlane
from tests.objects import raw_container
from tests.waiting import wait_for
from tests.webhook.asking import make_service, make_workload, template_of
from tests.webhook.forcing import serving
from tests.webhook.memory import MEMORY_LIMIT, peak, worker_of
from tests.webhook.scraping import scraped

pytestmark = pytest.mark.controlplane

TENANT, OTHER_TENANT = "lists-tenant", "selectors-tenant"
LARGE = 10
"""ReplicaSets of 9 MB of JSON: 90 MB in the page that contains them."""
SERVICES = 12
"""Each with a selector of 100,000 short labels, which takes 15 MB in a process."""


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
        assert cluster.is_called()
        assert peak(worker_of(cluster.replica.process.pid)) < MEMORY_LIMIT
    for stored in api.list_items("apps/v1", "ReplicaSet", TENANT):
        api.delete(stored)
    control_plane.leave_namespace(TENANT)


@pytest.mark.long("test_namespace_takes_no_more_memory_than_it_may")
def test_large_selectors_of_a_tenant_take_no_memory(control_plane: ControlPlane, helm: Path, tmp_path: Path) -> None:
    """Half of them exist when the replica starts; the others come later."""
    api = control_plane.api
    control_plane.create_namespace(OTHER_TENANT)

    def create(number: int) -> None:
        service = make_service(OTHER_TENANT)
        service["metadata"]["name"] = f"large-{number}"
        service["spec"]["selector"] = {f"{label}": "v" for label in range(100_000)}
        api.create(service)

    for number in range(SERVICES // 2):
        create(number)
    with serving(control_plane, helm, tmp_path, namespace="qos-selectors", force_deletion={}) as cluster:
        for number in range(SERVICES // 2, SERVICES):
            create(number)
        seen = re.compile(r'^qos_webhook_cache_(?:objects|left_out_total)\{cache="services"\} (\S+)', re.MULTILINE)
        metrics = partial(scraped, cluster.replica.metrics_port)
        wait_for(lambda: sum(map(float, seen.findall(metrics()))) > SERVICES, "all were seen")
        assert cluster.is_called()
        assert peak(worker_of(cluster.replica.process.pid)) < MEMORY_LIMIT
    for stored in api.list_items("v1", "Service", OTHER_TENANT):
        api.delete(stored)
    control_plane.leave_namespace(OTHER_TENANT)
