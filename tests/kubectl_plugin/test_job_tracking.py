"""Pods kept only by the finalizer of the Job controller: whether their Job exists, and the remedy."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import pytest

from tests.kubectl_plugin.answers import data
from tests.kubectl_plugin.running import run, write_cluster
from tests.kubectl_plugin.test_field_cases import FIELD
from tests.objects import raw_node, raw_object, raw_owner, raw_pod

Json = dict[str, Any]
LEASE: Final = raw_object(
    "Lease", "n1", "kube-node-lease", spec={"renewTime": "2026-08-02T11:00:00.000000Z", "leaseDurationSeconds": 40}
)
NODE: Final = raw_node("n1", conditions=[])


def kept(deleted: str = "2026-08-02T10:00:00Z", **meta: Any) -> Json:
    """A pod of a Job that has ended and is being deleted."""
    own = {
        "creationTimestamp": "2026-08-02T09:00:00Z",
        "deletionTimestamp": deleted,
        "deletionGracePeriodSeconds": 0,
        "finalizers": ["batch.kubernetes.io/job-tracking"],
        "ownerReferences": [raw_owner("Job", "nightly", apiVersion="batch/v1", uid="job-1")],
    }
    return raw_pod("nightly-x", "etl", uid="p", metadata=own | meta, nodeName="n1", status={"phase": "Succeeded"})


def job(uid: str) -> Json:
    return raw_object("Job", "nightly", "etl", metadata={"uid": uid}, spec={"template": {"spec": {}}})


def explained(file: str, name: str, namespace: str) -> tuple[str, Any]:
    words = ("explain", f"pod/{name}", "-n", namespace, "--snapshot", file)
    return " ".join(run(*words).out.partition("\n\n")[0].split()), data(*words)["tracking"]


def test_field_job_that_the_file_lacks() -> None:
    page, tracking = explained(str(FIELD / "I2-jobfinalizer-jobs-listed.json"), "trig-2819-0-hgdzc", "default")
    assert "Check whether Job trig-2819 exists (kubectl get job). If it does not, no Job counts the pod" in page
    assert "A webhook that changes or refuses pods on UPDATE blocks the Job controller and a patch" in page
    assert tracking == {"job": "trig-2819", "exists": None}


REMOVE: Final = "no Job counts the pod. Remove the finalizer (kubectl patch pod)."


@pytest.mark.parametrize(
    ("objects", "said", "exists"),
    [
        ([kept()], f"its Job nightly does not exist: {REMOVE}", False),
        ([kept(), job("job-2")], f"its Job nightly does not exist: {REMOVE}", False),
        ([kept(ownerReferences=[])], f"it has no Job: {REMOVE}", False),
        ([kept(), job("job-1")], "Job nightly exists: do not remove it by hand", True),
        ([kept(deleted="2026-08-02T10:59:50Z")], "until the Job controller removes it.", False),
    ],
)
def test_job_of_a_kept_pod(objects: list[Json], said: str, exists: bool, tmp_path: Path) -> None:
    file = write_cluster(tmp_path / "cluster.json", [NODE, LEASE, *objects])
    page, tracking = explained(file, "nightly-x", "etl")
    assert said in page
    assert tracking["exists"] is exists
    assert ("Remove the finalizer" in page) == (REMOVE in said)


@pytest.mark.parametrize(
    "meta",
    [
        {"finalizers": ["example.com/copy"]},
        {"ownerReferences": [{"apiVersion": "jobset.x-k8s.io/v1", "kind": "Job", "name": "a", "controller": True}]},
    ],
)
def test_other_reasons_why_a_pod_remains(meta: Json, tmp_path: Path) -> None:
    file = write_cluster(tmp_path / "cluster.json", [NODE, LEASE, kept(**meta)])
    assert explained(file, "nightly-x", "etl")[1] is None


@pytest.mark.parametrize("exists", [True, False])
def test_other_finalizer_does_not_hide_the_remedy(tmp_path: Path, exists: bool) -> None:
    """The patch that removes all finalizers is not offered: the other finalizer has another owner."""
    both = kept(finalizers=["batch.kubernetes.io/job-tracking", "example.com/bill"])
    file = write_cluster(tmp_path / "c.json", [NODE, LEASE, both, *([job("job-1")] if exists else [])])
    page, tracking = explained(file, "nightly-x", "etl")
    assert tracking == {"job": "nightly", "exists": exists}
    name = "finalizer batch.kubernetes.io/job-tracking"
    helps = f"do not remove {name} by hand" if exists else f"Remove {name} (kubectl patch pod)."
    assert helps in page
    assert "finalizers" not in run("explain", "pod/nightly-x", "-n", "etl", "--snapshot", file).out.partition("Next")[2]
