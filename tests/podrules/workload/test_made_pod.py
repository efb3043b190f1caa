"""The first pod that a workload's controller would create."""

from __future__ import annotations

from typing import Any

import pytest

from podrules.admission.validation.objects import validate
from podrules.api.model.decode import from_object
from podrules.api.model.selectors import Toleration
from podrules.api.model.workload import Workload
from podrules.workload.made_pod import NO_UID, made_pod, template_pod
from tests.objects import raw_pod, raw_workload

KINDS = ("Deployment", "ReplicaSet", "StatefulSet", "DaemonSet", "Job")


def _made(workload: dict[str, Any]) -> dict[str, Any]:
    made = made_pod(workload)
    assert made is not None
    return made.content


@pytest.mark.parametrize("kind", KINDS)
def test_api_server_accepts_the_made_pod(kind: str) -> None:
    workload = raw_workload(kind, "web", "shop")
    assert validate(workload, 37) == ()
    pod = _made(workload)
    assert validate(pod, 37) == ()
    assert pod["metadata"]["namespace"] == "shop"
    (owner,) = pod["metadata"]["ownerReferences"]
    assert (owner["uid"], owner["controller"], owner["blockOwnerDeletion"]) == (NO_UID, True, True)


def test_deployments_pod_belongs_to_its_replica_set() -> None:
    meta = _made(raw_workload("Deployment", "web"))["metadata"]
    assert meta["ownerReferences"][0]["name"] == "web-planned"
    assert (meta["generateName"], meta["labels"]) == ("web-planned-", {"app": "web", "pod-template-hash": "planned"})


def test_stateful_sets_pod_has_its_identity_and_claims() -> None:
    claim = {"metadata": {"name": "data"}, "spec": {}}
    workload = raw_workload("StatefulSet", "db", serviceName="db", ordinals={"start": 3}, volumeClaimTemplates=[claim])
    workload["spec"]["template"]["spec"]["volumes"] = [
        {"name": "data", "emptyDir": {}},
        {"name": "tmp", "emptyDir": {}},
    ]
    pod = _made(workload)
    assert (pod["metadata"]["name"], pod["spec"]["hostname"], pod["spec"]["subdomain"]) == ("db-3", "db-3", "db")
    assert pod["metadata"]["labels"]["apps.kubernetes.io/pod-index"] == "3"
    assert pod["spec"]["volumes"] == [
        {"name": "data", "persistentVolumeClaim": {"claimName": "data-db-3"}},
        {"name": "tmp", "emptyDir": {}},
    ]


def test_indexed_jobs_pod_has_its_index() -> None:
    pod = _made(raw_workload("Job", "work", completions=2, completionMode="Indexed"))
    assert pod["metadata"]["labels"]["batch.kubernetes.io/job-completion-index"] == "0"
    assert pod["spec"]["hostname"] == "work-0"
    assert [variable["name"] for variable in pod["spec"]["containers"][0]["env"]] == ["JOB_COMPLETION_INDEX"]


def test_daemon_sets_toleration_loses_its_time_in_its_place() -> None:
    own = {"key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoExecute"}
    workload = raw_workload("DaemonSet", "agent")
    workload["spec"]["template"]["spec"]["tolerations"] = [{**own, "tolerationSeconds": 60}, {"operator": "Exists"}]
    made = _made(workload)["spec"]["tolerations"]
    assert made[:2] == [own, {"operator": "Exists"}]
    assert template_pod(from_object(workload, Workload), "DaemonSet").spec.tolerations == tuple(
        from_object(one, Toleration) for one in made
    )


def test_pod_with_invalid_label_of_valid_workload() -> None:
    workload = raw_workload("StatefulSet", "s" * 62)
    assert validate(workload, 37) == ()
    assert any("63" in str(error) for error in validate(_made(workload), 37))


def test_object_without_pods_has_no_pod() -> None:
    assert made_pod(raw_pod()) is None
