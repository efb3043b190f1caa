"""Claims of new pods."""

from __future__ import annotations

from typing import Any

import pytest

from podrules.api.model.decode import from_object
from podrules.api.model.pod import Pod
from podrules.api.model.snapshot import ClusterSnapshot
from podrules.api.model.storage import PersistentVolumeClaim
from podrules.scheduling.placement.claims import with_claims, with_claims_of
from tests.podrules.scheduling.building import Json, mounted
from tests.podrules.scheduling.placement.building import make_pod

MARKED = {"storageclass.kubernetes.io/is-default-class": "true"}


def claim(name: str, *, owner: Json | None = None, **spec: Any) -> Json:
    owners = [] if owner is None else [{"controller": True, **owner}]
    return {"metadata": {"name": name, "namespace": "default", "ownerReferences": owners}, "spec": spec}


def template(name: str, **spec: Any) -> PersistentVolumeClaim:
    return from_object({"metadata": {"name": name, "labels": {"app": "db"}}, "spec": spec}, PersistentVolumeClaim)


def storage_class(name: str, created: str | None = None, **annotations: str) -> Json:
    return {"metadata": {"name": name, "creationTimestamp": created, "annotations": annotations}}


def cluster(**lists: Any) -> ClusterSnapshot:
    return from_object(lists, ClusterSnapshot)


def volumes(pod: Pod) -> dict[str, str]:
    """The claim of each volume."""
    return {
        volume.name: volume.persistent_volume_claim.claim_name if volume.persistent_volume_claim else ""
        for volume in pod.spec.volumes
    }


def names(snapshot: ClusterSnapshot) -> list[tuple[str, str]]:
    return [(entry.metadata.name, entry.spec.storage_class_name or "") for entry in snapshot.persistent_volume_claims]


def test_templates_are_claims_of_the_pods_name() -> None:
    bare = from_object(make_pod("db-3", volumes=[{"name": "logs", "emptyDir": {}}]), Pod)
    pod, claims = with_claims_of(bare, [template("data"), template("wal")])
    made = [(entry.metadata.name, entry.metadata.namespace) for entry in claims]
    assert made == [("data-db-3", "default"), ("wal-db-3", "default")]
    assert claims[0].metadata.labels == {"app": "db"}
    assert volumes(pod) == {"data": "data-db-3", "wal": "wal-db-3", "logs": ""}


def test_template_replaces_volume_of_its_name() -> None:
    own = {**mounted("shared"), "name": "data"}
    pod, _ = with_claims_of(from_object(make_pod("db-0", volumes=[own]), Pod), [template("data")])
    assert volumes(pod) == {"data": "data-db-0"}


def test_ephemeral_volume_is_a_claim_that_the_pod_controls() -> None:
    volume = {"name": "tmp", "ephemeral": {"volumeClaimTemplate": {"spec": {"storageClassName": "fast"}}}}
    pod, (made,) = with_claims_of(from_object(make_pod("web", volumes=[volume]), Pod))
    assert (made.metadata.name, made.spec.storage_class_name) == ("web-tmp", "fast")
    owner = made.metadata.controller
    assert owner is not None
    assert (owner.kind, owner.name, owner.uid) == ("Pod", "web", pod.metadata.uid)
    assert pod.spec.volumes[0].ephemeral is not None


@pytest.mark.parametrize(
    ("classes", "chosen"),
    [
        ([storage_class("slow")], ""),
        ([storage_class("slow"), storage_class("std", **MARKED)], "std"),
        ([storage_class("old", **{"storageclass.beta.kubernetes.io/is-default-class": "true"})], "old"),
        (
            [
                storage_class("a", "2026-01-01T00:00:00Z", **MARKED),
                storage_class("z", "2026-02-01T00:00:00Z", **MARKED),
                storage_class("y", "2026-02-01T00:00:00Z", **MARKED),
            ],
            "y",
        ),
    ],
    ids=["none", "one", "of old", "the newest, the first by name"],
)
def test_default_class(classes: list[Json], chosen: str) -> None:
    _, claims = with_claims_of(
        from_object(make_pod("db-0"), Pod), [template("data"), template("x", storageClassName="")]
    )
    found = with_claims(cluster(storageClasses=classes), claims)
    assert names(found) == [("data-db-0", chosen), ("x-db-0", "")]


def test_existing_claim_stays() -> None:
    _, claims = with_claims_of(from_object(make_pod("db-0"), Pod), [template("data"), template("wal")])
    before = cluster(persistentVolumeClaims=[claim("data-db-0", volumeName="pv-1", storageClassName="old")])
    found = with_claims(before, claims)
    assert names(found) == [("data-db-0", "old"), ("wal-db-0", "")]
    assert found.persistent_volume_claims[0].spec.volume_name == "pv-1"
    assert with_claims(found, claims) is found


@pytest.mark.parametrize(
    ("owner", "stays"),
    [
        ({"kind": "Pod", "name": "web", "uid": "earlier"}, False),
        ({"kind": "Pod", "name": "other", "uid": "other"}, True),
        (None, True),
    ],
    ids=["of the deleted pod", "of another pod", "without owner"],
)
def test_ephemeral_claim_is_deleted_with_its_pod(owner: Json | None, *, stays: bool) -> None:
    volume = {"name": "tmp", "ephemeral": {"volumeClaimTemplate": {"spec": {}}}}
    _, claims = with_claims_of(from_object(make_pod("web", volumes=[volume]), Pod))
    before = cluster(persistentVolumeClaims=[claim("web-tmp", owner=owner, volumeName="pv-1")])
    (found,) = with_claims(before, claims).persistent_volume_claims
    assert (found.spec.volume_name == "pv-1") is stays
