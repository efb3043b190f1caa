"""A pod with a chosen node that waits for a dead provisioner: kube-scheduler's fields, and `explain`'s answer."""

from __future__ import annotations

import pytest

from tests.e2e.space import Space
from tests.e2e.storage import late_class, raw_claim
from tests.objects import raw_container, unscheduled_pod
from tests.waiting import wait_for

pytestmark = pytest.mark.controlplane

SELECTED = "volume.kubernetes.io/selected-node"


def test_a_dead_provisioner(space: Space) -> None:
    api, name = space.plane.api, space.node()
    storage = late_class(space.name, "csi.dead.example")
    claim = raw_claim("data", space.name, space.name)
    pod = unscheduled_pod(
        space.name,
        "db",
        containers=[raw_container(requests={"cpu": "10m"})],
        schedulerName="default-scheduler",
        nodeSelector={"kubernetes.io/hostname": name},
        volumes=[{"name": "v", "persistentVolumeClaim": {"claimName": "data"}}],
    )

    def said(*words: str) -> str:
        return " ".join(space.qos.text(*words, "-n", space.name).split())

    def waits() -> bool:
        chosen = api.get("v1", "PersistentVolumeClaim", "data", space.name)["metadata"].get("annotations", {})
        nominated = api.get("v1", "Pod", "db", space.name)["status"].get("nominatedNodeName")
        return bool(nominated == name == chosen.get(SELECTED))

    with space.plane.holding([storage]):
        space.plane.apply([claim, pod])
        wait_for(waits, "the scheduler waits for the volume")
        awaited = f'kube-scheduler chose {name} and waits for claim "data", which is unbound: csi.dead.example has not'
        page = said("pod/db")
        assert awaited in page
        assert "No CSIDriver is named csi.dead.example" in page
        assert f"kubectl qos explain pvc/data -n {space.name}" in page
        assert "preemption" not in page
        assert awaited in said("pods")

        # So does a provisioner that failed.
        api.patch(claim, {"metadata": {"annotations": {SELECTED: None}}})
        wait_for(lambda: "SchedulerError" in str(api.get("v1", "Pod", "db", space.name)["status"]), "the attempt fails")
        wait_for(waits, "the scheduler tries again")
        page = said("pod/db")
        assert awaited in page
        assert 'An attempt failed: running PreBind plugin "VolumeBinding": binding volumes: ' in page
        report = " ".join(space.qos.also("report").text("-n", space.name).split())
        assert f"x 1 pod: claim stays unbound {space.name}/db." in report
