"""Claims that block a pod on every node, and which of several comes first."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from msgspec.structs import replace

from kubectl_plugin.views.pod.volume_words import claim_sentences
from podrules.api.model.decode import from_object
from podrules.scheduling.placement.likely import likely_placement
from podrules.scheduling.placement.outcome import ClaimProblem, ClaimTrouble, Placement, PlacementOutcome
from podrules.scheduling.scheduler.plugin_set import Plugins
from podrules.scheduling.scheduler.profile import Profile
from podrules.scheduling.scheduler.runtime import new_framework
from tests.podrules.scheduling.building import Json, mounted
from tests.podrules.scheduling.placement.building import make_node, make_pod, make_taint, place, situation
from tests.table import row, table

DEFAULT = "storageclass.kubernetes.io/is-default-class"
BOUND = {"annotations": {"pv.kubernetes.io/bind-completed": "yes"}}
NODES = [make_node("a"), make_node("b")]


def claim(name: str = "data", *, phase: str = "Pending", meta: Json | None = None, **spec: Any) -> Json:
    wanted = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "10Gi"}}}
    return {
        "metadata": {"name": name, "namespace": "default", "uid": name, **(meta or {})},
        "spec": {**wanted, **spec},
        "status": {"phase": phase},
    }


def volume(name: str, size: str = "10Gi", *, of: str = "", uid: str = "", **spec: Any) -> Json:
    reference = {"claimRef": {"namespace": "default", "name": of, "uid": uid or of}} if of else {}
    return {
        "metadata": {"name": name},
        "spec": {"capacity": {"storage": size}, "accessModes": ["ReadWriteOnce"], **reference, **spec},
        "status": {"phase": "Bound" if of else "Available"},
    }


def storage_class(name: str, mode: str | None = "Immediate", *, makes: bool = True, default: bool = False) -> Json:
    return {
        "metadata": {"name": name, "annotations": {DEFAULT: "true"} if default else {}},
        "provisioner": "disk.example.com" if makes else "kubernetes.io/no-provisioner",
        "volumeBindingMode": mode,
    }


DYING = claim(meta={"deletionTimestamp": "2026-01-01T00:00:00Z"})


def using(*claims: str, ephemeral: str = "", name: str = "web", **more: Any) -> Json:
    volumes: list[Json] = [mounted(name) for name in claims]
    if ephemeral:
        volumes.append({"name": ephemeral, "ephemeral": {"volumeClaimTemplate": {"spec": {}}}})
    return make_pod(name, volumes=volumes, **more)


def placed(
    pod: Json,
    claims: Sequence[Json] = (),
    volumes: Sequence[Json] = (),
    classes: Sequence[Json] = (),
    nodes: Sequence[Json] = NODES,
) -> Placement:
    return place(pod, nodes, persistentVolumeClaims=claims, persistentVolumes=volumes, storageClasses=classes)


def only(placement: Placement) -> ClaimProblem:
    assert placement.outcome is PlacementOutcome.UNSCHEDULABLE
    (problem,) = placement.claims
    return problem


def test_missing_claim() -> None:
    field = "spec.volumes[0].persistentVolumeClaim.claimName"
    expected = ClaimProblem(trouble=ClaimTrouble.MISSING, namespace="default", claim="data", field=field)
    assert only(placed(using("data"))) == expected


@table(
    "own, trouble",
    {
        "not made yet": row(None, ClaimTrouble.NOT_MADE_YET),
        "without owner": row(claim("web-tmp"), ClaimTrouble.NOT_OWNED),
    },
)
def test_claim_of_an_ephemeral_volume(own: Json | None, trouble: ClaimTrouble) -> None:
    problem = only(placed(using(ephemeral="tmp"), [own] if own else []))
    assert (problem.trouble, problem.claim, problem.field) == (trouble, "web-tmp", "spec.volumes[0].ephemeral")


@pytest.mark.parametrize(
    ("own", "trouble"),
    [
        (claim(phase="Lost", volumeName="pv-1", meta=BOUND), ClaimTrouble.LOST),
        (DYING, ClaimTrouble.BEING_DELETED),
        (claim(phase="Bound", volumeName="pv-1", meta=BOUND), ClaimTrouble.VOLUME_MISSING),
        (claim(volumeName="pv-1"), ClaimTrouble.VOLUME_MISSING),
        (claim(storageClassName="nope"), ClaimTrouble.CLASS_MISSING),
        (claim(), ClaimTrouble.NO_CLASS),
        (claim(storageClassName=""), ClaimTrouble.NO_VOLUME),
        (claim(storageClassName="by-hand"), ClaimTrouble.NO_VOLUME),
        (claim(storageClassName="by-hand-later"), ClaimTrouble.NO_VOLUME),
        (claim(storageClassName="modeless"), ClaimTrouble.NO_BINDING_MODE),
        (claim(storageClassName="fast"), ClaimTrouble.WAITS_FOR_PROVISIONER),
    ],
)
def test_what_a_claim_needs(own: Json, trouble: ClaimTrouble) -> None:
    classes = [
        storage_class("fast"),
        storage_class("by-hand", makes=False),
        storage_class("by-hand-later", "WaitForFirstConsumer", makes=False),
        storage_class("modeless", None),
    ]
    assert only(placed(using("data"), [own], classes=classes)).trouble is trouble


@pytest.mark.parametrize("phase", ["Running", "Succeeded"])
def test_pods_that_use_a_terminating_claim_are_named(phase: str) -> None:
    """A pod on a node keeps the claim even after it has finished."""
    users = [using("data", name="shell", on="a", status={"phase": phase}), using("data", name="waits")]
    found = place(using("data"), NODES, users, persistentVolumeClaims=[DYING])
    assert [one.name for one in only(found).users] == ["shell"]
    assert list(claim_sentences(found.claims)) == [
        'Claim "data" is being deleted, and pod default/shell uses it.',
        "Way out: save its data, delete pod default/shell, then create the claim again.",
    ]


@pytest.mark.parametrize(("node", "trouble"), [("gone", ClaimTrouble.SELECTED_NODE_REMOVED), ("a", None)])
def test_claim_of_a_selected_node(node: str, trouble: ClaimTrouble | None) -> None:
    own = claim(storageClassName="late", meta={"annotations": {"volume.kubernetes.io/selected-node": node}})
    found = placed(using("data"), [own], classes=[storage_class("late", "WaitForFirstConsumer")])
    assert [one.trouble for one in found.claims] == ([] if trouble is None else [trouble])
    if trouble is None:
        assert found.best == ("a",)
    else:
        assert "to be created for node gone, which does not exist" in next(claim_sentences(found.claims))


def test_claim_without_a_class_waits_for_the_default() -> None:
    problem = only(placed(using("data"), [claim()], classes=[storage_class("std", default=True)]))
    assert (problem.trouble, problem.storage_class) == (ClaimTrouble.WAITS_FOR_CLASS, "std")


def test_existing_classes_are_named_with_default_first() -> None:
    classes = [storage_class(name, default=name == "z") for name in "abz"]
    assert only(placed(using("data"), [claim(storageClassName="nope")], classes=classes)).classes == ("z", "a", "b")


@table(
    "there, trouble",
    {
        "it matches": row(volume("pv-1", storageClassName="nope"), ClaimTrouble.WAITS_FOR_VOLUME),
        "it names the claim": row(volume("pv-1", of="data", storageClassName="nope"), ClaimTrouble.WAITS_FOR_VOLUME),
        "too small": row(volume("pv-1", "5Gi", storageClassName="nope"), ClaimTrouble.CLASS_MISSING),
        "another's": row(volume("pv-1", of="other", storageClassName="nope"), ClaimTrouble.CLASS_MISSING),
    },
)
def test_volume_of_missing_class_is_enough(there: Json, trouble: ClaimTrouble) -> None:
    problem = only(placed(using("data"), [claim(storageClassName="nope")], [there]))
    assert problem.trouble is trouble
    assert problem.volume == ("pv-1" if trouble is ClaimTrouble.WAITS_FOR_VOLUME else "")
    assert [one.volume for one in problem.near] == ([] if problem.volume else ["pv-1"])


@pytest.mark.parametrize(
    ("holder", "uid", "trouble"),
    [
        ("", "", ClaimTrouble.WAITS_FOR_VOLUME),
        ("data", "data", ClaimTrouble.WAITS_FOR_VOLUME),
        ("x", "x", ClaimTrouble.VOLUME_TAKEN),
        # By an earlier claim of the name.
        ("data", "before", ClaimTrouble.VOLUME_TAKEN),
    ],
)
def test_volume_that_the_claim_names(holder: str, uid: str, trouble: ClaimTrouble) -> None:
    there = volume("pv-1", of=holder, uid=uid)
    assert only(placed(using("data"), [claim(volumeName="pv-1")], [there])).trouble is trouble


@pytest.mark.parametrize(
    ("there", "unlike"),
    [
        (volume("pv-1", "9Gi"), {"capacity": ("9Gi", "10Gi")}),
        (volume("pv-1", "10240Mi"), {}),
        (volume("pv-1", storageClassName="nfs"), {"storageClassName": ("nfs", "")}),
        (volume("pv-1", volumeMode="Block"), {"volumeMode": ("Block", "Filesystem")}),
        (volume("pv-1", accessModes=["ReadOnlyMany"]), {"accessModes": ("ReadOnlyMany", "ReadWriteOnce")}),
        (volume("pv-1", "9Gi", of="data"), {}),
    ],
)
def test_volume_that_does_not_match_the_claim_that_names_it(there: Json, unlike: dict[str, tuple[str, str]]) -> None:
    """A volume reserved for the claim is bound to it all the same."""
    problem = only(placed(using("data"), [claim(volumeName="pv-1")], [there]))
    trouble = ClaimTrouble.VOLUME_MISMATCH if unlike else ClaimTrouble.WAITS_FOR_VOLUME
    assert (problem.trouble, dict(problem.unlike)) == (trouble, unlike)
    for has, asks in unlike.values():
        assert f"{has}, not {asks or 'none'}" in " ".join(claim_sentences([problem]))


def test_claim_that_stops_the_scheduler_comes_first() -> None:
    claims = [claim("unbound", storageClassName="nope"), claim("lost", phase="Lost", volumeName="pv-1")]
    placement = placed(using("unbound", "lost", "missing"), claims)
    assert [problem.claim for problem in placement.claims] == ["missing", "lost", "unbound"]
    assert placement.message == '0/2 nodes are available: persistentvolumeclaim "missing" not found.'


def test_node_dependent_claims_are_no_separate_problem() -> None:
    """A claim that waits for its first consumer or has its volume elsewhere, and tainted nodes."""
    tainted = [make_node("a", taints=[make_taint("k")])]
    bound = claim("bound", phase="Bound", volumeName="pv-1", meta=BOUND)
    claims = [claim(storageClassName="later"), bound]
    classes = [storage_class("later", "WaitForFirstConsumer")]
    placement = placed(using("data", "bound"), claims, [volume("pv-1", of="bound")], classes, tainted)
    assert (placement.outcome, placement.claims) == (PlacementOutcome.UNSCHEDULABLE, ())


def test_pod_that_fits_has_no_problem() -> None:
    later = [storage_class("later", "WaitForFirstConsumer")]
    placement = placed(using("data"), [claim(storageClassName="later")], classes=later)
    assert (placement.outcome, placement.claims) == (PlacementOutcome.FITS, ())


@pytest.mark.parametrize(
    ("disabled", "claims"),
    [(["VolumeBinding"], ["missing"]), (["VolumeBinding", "VolumeRestrictions"], [])],
    ids=["only missing claims are checked", "claims are not checked"],
)
def test_plugin_outside_the_profile_is_no_problem(disabled: list[str], claims: list[str]) -> None:
    plugins = from_object({"multiPoint": {"disabled": [{"name": name} for name in disabled]}}, Plugins)
    pod = using("unbound", "missing", cpu="99")
    cluster = situation(pod, NODES, persistentVolumeClaims=[claim("unbound", storageClassName="nope")])
    found = likely_placement(replace(cluster, framework=new_framework(Profile("default-scheduler", plugins=plugins))))
    assert found.outcome is PlacementOutcome.UNSCHEDULABLE
    assert [problem.claim for problem in found.claims] == claims


def test_volumes_that_do_not_match_are_named() -> None:
    small = volume("small", "5Gi", storageClassName="disks", local={})
    earlier = volume("earlier", "20Gi", of="gone", storageClassName="disks", nfs={})
    volumes = [small, {**earlier, "status": {"phase": "Released"}}, volume("used", of="x", storageClassName="disks")]
    asked = claim(storageClassName="disks")
    found = placed(using("data"), [asked], volumes, [storage_class("disks", makes=False)])
    assert [(one.volume, one.size, one.phase, one.kind) for one in only(found).near] == [
        ("small", "5Gi", "Available", "local"),
        ("earlier", "20Gi", "Released", "NFS"),
    ]
    assert " ".join(claim_sentences(found.claims)) == (
        'Claim "data" is unbound: no PersistentVolume of class "disks" matches it, and no provisioner creates one; '
        '"small" (5Gi, Available, local) and "earlier" (20Gi, Released, NFS) do not match. Way out: create a '
        'PersistentVolume of class "disks" that matches it (10Gi, ReadWriteOnce); a Released one is Available again '
        "without its spec.claimRef."
    )
