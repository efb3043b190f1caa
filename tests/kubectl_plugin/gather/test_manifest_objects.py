"""Objects that files contain besides their pods."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.kubectl_plugin.answers import data
from tests.kubectl_plugin.running import run
from tests.objects import raw_object, raw_pod, raw_priority_class, raw_workload

Json = dict[str, Any]
CASES = Path(__file__).resolve().parents[2] / "testdata/cases"


def deployment(**spec: Any) -> Json:
    pod = raw_pod(requests={"cpu": "10m", "memory": "10Mi"}, **spec)
    return raw_workload("Deployment", pod_spec=pod["spec"], replicas=2)


def mounting(claim: str) -> Json:
    return deployment(volumes=[{"name": "data", "persistentVolumeClaim": {"claimName": claim}}])


def claim(storage_class: str | None = None) -> Json:
    storage = {"requests": {"storage": "1Gi"}}
    spec = {"accessModes": ["ReadWriteMany"], "resources": storage, "storageClassName": storage_class}
    return raw_object("PersistentVolumeClaim", "data", spec=spec)


LATER: Json = {"provisioner": "kubernetes.io/no-provisioner", "volumeBindingMode": "WaitForFirstConsumer"}
LOCAL = raw_object("StorageClass", "by-hand", **LATER)
ON_B2 = {"key": "kubernetes.io/hostname", "operator": "In", "values": ["node-b2"]}
VOLUME = raw_object(
    "PersistentVolume",
    "by-hand",
    spec={
        "capacity": {"storage": "1Gi"},
        "accessModes": ["ReadWriteMany"],
        "storageClassName": "by-hand",
        "local": {"path": "/data"},
        "nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [ON_B2]}]}},
    },
)
CLASS = {**raw_object("DeviceClass", "gpu"), "spec": {}}


def template(version: str, request: Json) -> Json:
    made = raw_object("ResourceClaimTemplate", "gpus", spec={"spec": {"devices": {"requests": [request]}}})
    return {**made, "apiVersion": f"resource.k8s.io/{version}"}


def placement(*documents: Json) -> Json:
    ran = run("explain", "--demo", "-f", "-", "-o", "json", stdin=yaml.safe_dump_all(documents))
    assert (ran.code, ran.err) == (0, "")
    found: Json = json.loads(ran.out)["placement"]
    return found


def spec_of(*documents: Json) -> Json:
    ran = run("place", "--demo", "-f", "-", "-o", "json", stdin=yaml.safe_dump_all(documents))
    assert ran.err == ""
    (found,) = json.loads(ran.out)["specs"]
    assert isinstance(found, dict)
    return found


def test_claim_of_the_same_file_is_found() -> None:
    assert 'persistentvolumeclaim "data" not found' in placement(mounting("data"))["message"]
    assert placement(mounting("data"), claim())["outcome"] == "Fits"
    assert spec_of(claim(), mounting("data"))["placed"] == 2


def test_volumes_and_classes_of_the_same_file_are_found() -> None:
    found = placement(LOCAL, VOLUME, claim("by-hand"), mounting("data"))
    assert (found["outcome"], found["best"]) == ("Fits", ["node-b2"])
    assert spec_of(LOCAL, VOLUME, claim("by-hand"), mounting("data"))["nodes"] == {"node-b2": 2}


@pytest.mark.parametrize(
    ("version", "request_"),
    [
        ("v1", {"name": "gpu", "exactly": {"deviceClassName": "gpu"}}),
        ("v1beta2", {"name": "gpu", "exactly": {"deviceClassName": "gpu"}}),
        ("v1beta1", {"name": "gpu", "deviceClassName": "gpu"}),
    ],
)
def test_templates_of_claims_of_the_same_file_are_found(version: str, request_: Json) -> None:
    wanting = deployment(resourceClaims=[{"name": "gpu", "resourceClaimTemplateName": "gpus"}])
    assert "ResourceClaim not created yet" in placement(wanting)["reason"]
    found = placement(wanting, template(version, request_), CLASS)
    # The demo cluster has no devices.
    assert found["outcome"] == "Unschedulable"
    assert "cannot allocate all claims" in found["message"]


def test_unreadable_objects_are_reported_with_the_answer() -> None:
    broken = {**claim(), "spec": {"accessModes": 7}}
    ran = run("explain", "--demo", "-f", "-", "-o", "name", stdin=yaml.safe_dump_all([broken, deployment()]))
    assert ran.code == 6
    assert "accessModes" in ran.err
    assert ran.out == "deployment.apps/web\n"


def offline(*documents: Json) -> Any:
    return data("explain", "--offline", "-f", "-", stdin=yaml.safe_dump_all(documents))["priority"]


def test_P1_class_of_the_same_file_counts_without_a_cluster() -> None:
    ran = run("explain", "--offline", "-f", str(CASES / "seed2.yaml"), "-o", "json")
    priority = json.loads(ran.out)["priority"]
    found = (priority["priority"], priority["className"], priority["source"])
    assert found == (1000000, "high-priority", "PriorityClass")


def test_P1_priority_beside_class_is_refused_offline() -> None:
    ran = run("explain", "--offline", "-f", str(CASES / "mis.yaml"))
    page = " ".join(ran.out.split())
    assert 'Refused: pods "mismatch" is forbidden: the integer value of priority (5)' in page
    assert "priority admission controller computed 1000000 from the given PriorityClass name" in page


def test_P1_default_class_is_unknown_offline() -> None:
    """The cluster may have another default, and the lowest of several counts."""
    default = raw_priority_class("usual", 7, globalDefault=True)
    assert offline(default, raw_pod())["priority"] is None
    assert offline(default, raw_pod(priorityClassName="usual"))["priority"] == 7
    assert offline(default, raw_pod(priorityClassName="other"))["classExists"] is None


def test_P1_cluster_class_keeps_its_value() -> None:
    """The API server does not allow changes to the value of a class."""
    pod = raw_pod(priorityClassName="shop-high")
    brought = raw_priority_class("shop-high", 7)
    found = data("explain", "--demo", "-f", "-", stdin=yaml.safe_dump_all([brought, pod]))
    assert found["priority"]["priority"] == 1000
