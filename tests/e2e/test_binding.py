"""A pod with a chosen node that waits for a dead provisioner: kube-scheduler's fields, and `explain`'s answer."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.controlplane.client import Object
from tests.controlplane.control_plane import ControlPlane
from tests.e2e.plugin import InProcess
from tests.e2e.storage import late_class, raw_claim
from tests.objects import raw_container, unscheduled_pod
from tests.waiting import wait_for

pytestmark = pytest.mark.controlplane

SELECTED = "volume.kubernetes.io/selected-node"


def test_a_dead_provisioner(
    control_plane: ControlPlane, qos: InProcess, namespace: str, make_node: Callable[..., Object]
) -> None:
    api, name = control_plane.api, make_node()["metadata"]["name"]
    storage = late_class(namespace, "csi.dead.example")
    claim = raw_claim("data", namespace, namespace)
    pod = unscheduled_pod(
        namespace,
        "db",
        containers=[raw_container(requests={"cpu": "10m"})],
        schedulerName="default-scheduler",
        nodeSelector={"kubernetes.io/hostname": name},
        volumes=[{"name": "v", "persistentVolumeClaim": {"claimName": "data"}}],
    )

    def said(*words: str) -> str:
        return " ".join(qos.text(*words, "-n", namespace).split())

    def waits() -> bool:
        chosen = api.get("v1", "PersistentVolumeClaim", "data", namespace)["metadata"].get("annotations", {})
        nominated = api.get("v1", "Pod", "db", namespace)["status"].get("nominatedNodeName")
        return bool(nominated == name == chosen.get(SELECTED))

    with control_plane.holding([storage]):
        control_plane.apply([claim, pod])
        wait_for(waits, "the scheduler waits for the volume")
        awaited = f'kube-scheduler chose {name} and waits for claim "data", which is unbound: csi.dead.example has not'
        page = said("pod/db")
        assert awaited in page
        assert "No CSIDriver is named csi.dead.example" in page
        assert f"kubectl qos explain pvc/data -n {namespace}" in page
        assert "preemption" not in page
        assert awaited in said("pods")

        # So does a provisioner that failed.
        api.patch(claim, {"metadata": {"annotations": {SELECTED: None}}})
        wait_for(lambda: "SchedulerError" in str(api.get("v1", "Pod", "db", namespace)["status"]), "the attempt fails")
        wait_for(waits, "the scheduler tries again")
        page = said("pod/db")
        assert awaited in page
        assert 'An attempt failed: running PreBind plugin "VolumeBinding": binding volumes: ' in page
        report = " ".join(qos.also("report").text("-n", namespace).split())
        assert f"trouble 1 pod: claim stays unbound. {namespace}/db." in report
