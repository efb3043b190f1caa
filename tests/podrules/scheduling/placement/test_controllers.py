"""The controllers of new pods."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from msgspec.structs import replace

from podrules.api.model.base import OwnerReference
from podrules.api.model.decode import from_object
from podrules.api.model.pod import Pod
from podrules.api.model.snapshot import ClusterSnapshot
from podrules.api.model.workload import CronJob, ReplicationController, Workload
from podrules.scheduling.placement.controllers import Revision, controlled, with_controllers
from podrules.scheduling.scheduler.plugins.pod_topology_spread.constraints import SnapshotSiblings, default_selector
from podrules.workload.made_pod import planned_word, replica
from tests.objects import make_service, raw_pod, raw_workload

OWN = {"app": "web"}
OWNERS = {
    "deployment": ("apps/v1", "ReplicaSet"),
    "replicaset": ("apps/v1", "ReplicaSet"),
    "statefulset": ("apps/v1", "StatefulSet"),
    "replicationcontroller": ("v1", "ReplicationController"),
    "job": ("batch/v1", "Job"),
}


def make_pod(kind: str, name: str = "web") -> Pod:
    """A workload's pod as its manifest has it."""
    version, owner = OWNERS.get(kind, ("v1", "Pod"))
    pod = from_object(raw_pod(name, "shop", labels=OWN), Pod)
    reference = OwnerReference(api_version=version, kind=owner, name=name, controller=True)
    return replace(pod, metadata=replace(pod.metadata, owner_references=(reference,)))


def make_entry(kind: str, name: str = "web", **spec: Any) -> Workload:
    return from_object(raw_workload(kind, name, "shop", **spec), Workload)


def selector(pod: Pod, snapshot: ClusterSnapshot) -> str:
    """The selector of the pod's siblings in the scheduler."""
    return str(default_selector(pod, SnapshotSiblings(snapshot)))


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("deployment", "app=web,pod-template-hash=planned-web"),
        ("replicaset", "app=web"),
        ("statefulset", "app=web"),
        ("job", ""),
    ],
)
def test_scheduler_finds_the_controller(kind: str, expected: str) -> None:
    found = controlled(make_pod(kind), kind, make_entry(kind))
    pod = replica(found.pod, kind, 0, uid="")
    snapshot = with_controllers(ClusterSnapshot(), [found])
    assert selector(pod, snapshot) == expected
    # The plugin finds nothing while the state is empty.
    assert selector(pod, ClusterSnapshot()) == ""


def test_services_count_with_the_controller() -> None:
    snapshot = ClusterSnapshot(services=(make_service(namespace="shop", selector={"app": "web"}),))
    found = controlled(make_pod("statefulset"), "statefulset", make_entry("StatefulSet"))
    assert selector(found.pod, with_controllers(snapshot, [found])) == "app=web,app=web"


@pytest.mark.parametrize(("given", "expected"), [({"app": "web", "tier": "x"}, "app=web,tier=x"), (None, "app=web")])
def test_replication_controller_selector_defaults_to_template(given: Mapping[str, str] | None, expected: str) -> None:
    raw = {"metadata": {"name": "web", "namespace": "shop"}, "spec": {"selector": given} if given else {}}
    entry = from_object(raw, ReplicationController)
    found = controlled(make_pod("replicationcontroller"), "replicationcontroller", entry)
    assert selector(found.pod, with_controllers(ClusterSnapshot(), [found])) == expected


def test_existing_revision_makes_the_pod() -> None:
    there = from_object(
        raw_workload("ReplicaSet", "web-5f6c", "shop", selector={"matchLabels": {"pod-template-hash": "5f6c"}}),
        Workload,
    )
    snapshot = ClusterSnapshot(replica_sets=(there,))
    found = controlled(make_pod("deployment"), "deployment", make_entry("Deployment"), Revision("web-5f6c", "5f6c"))
    assert found.pod.metadata.labels == {"app": "web", "pod-template-hash": "5f6c"}
    assert selector(found.pod, with_controllers(snapshot, [found])) == "pod-template-hash=5f6c"


def test_manifest_replaces_object_of_same_name() -> None:
    other = from_object(raw_workload("StatefulSet", "web", "shop", selector={"matchLabels": {"app": "old"}}), Workload)
    elsewhere = replace(other, metadata=replace(other.metadata, namespace="else"))
    found = controlled(make_pod("statefulset"), "statefulset", make_entry("StatefulSet"))
    snapshot = with_controllers(ClusterSnapshot(stateful_sets=(other, elsewhere)), [found])
    assert selector(found.pod, snapshot) == "app=web"
    assert snapshot.stateful_sets[1] is elsewhere


@pytest.mark.parametrize("kind", ["deployment", "statefulset", "job"])
def test_long_name_is_shortened_for_a_label(kind: str) -> None:
    name = "w" * 54 + "." + "x" * 30
    found = controlled(make_pod(kind, name), kind, make_entry(kind, name))
    labels = replica(found.pod, kind, 0, uid="").metadata.labels
    made = planned_word(name)
    assert made in labels.values()
    assert len(made) <= 63
    assert made[-1] not in "-."


@pytest.mark.parametrize(
    ("mode", "labels"), [("Indexed", ["0", "3"]), ("NonIndexed", [None, None]), ("", [None, None])]
)
def test_indexed_job_numbers_its_pods(mode: str, labels: list[str | None]) -> None:
    index = "batch.kubernetes.io/job-completion-index"
    found = controlled(make_pod("job"), "job", make_entry("Job", completionMode=mode))
    assert [replica(found.pod, "job", number, uid="").metadata.labels.get(index) for number in (0, 3)] == labels
    template = {"spec": {"completionMode": mode}}
    cron = from_object({"metadata": {"name": "web"}, "spec": {"jobTemplate": template}}, CronJob)
    found = controlled(make_pod("job"), "cronjob", cron)
    assert [replica(found.pod, "cronjob", number, uid="").metadata.labels.get(index) for number in (0, 3)] == labels
