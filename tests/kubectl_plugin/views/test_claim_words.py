"""Claims that block a pod on every node lead the verdict, each with its remedy."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import pytest

from kubectl_plugin.views.pod.volume_words import claim_command, claim_lines, claim_sentences
from podrules.scheduling.placement.outcome import ClaimProblem, ClaimTrouble
from tests.kubectl_plugin.answers import data, said

CASES: Final = Path(__file__).parents[2] / "testdata/cases/cli"
BOTH: Final = (
    'Claim "missing" does not exist. Claim "data" is unbound: its StorageClass "nope" does not exist. '
    'Way out: create PersistentVolumeClaim "missing" in namespace shop, or name one that exists.'
)
UNBOUND: Final = (
    'Claim "data" is unbound: its StorageClass "nope" does not exist. '
    'Way out: create StorageClass "nope", or recreate the claim with a class that exists '
    "(fast-block and shared-nfs)."
)


def printed(command: str, manifest: str) -> str:
    return said(command, "-f", str(CASES / manifest), "--demo")


@pytest.mark.parametrize(("manifest", "words"), [("pvc.yaml", BOTH), ("pvcself.yaml", UNBOUND)])
def test_claim_problem_leads_in_explain_and_place(manifest: str, words: str) -> None:
    assert printed("explain", manifest).startswith(
        f"Pod usepvc in namespace shop (from {manifest}) ! No node fits now. {words}"
    )
    assert printed("place", manifest).startswith(f"x pod/usepvc stays pending. {words}")


@pytest.mark.parametrize("manifest", ["pvc.yaml", "pvcself.yaml"])
def test_no_disk_is_called_in_use(manifest: str) -> None:
    assert "disk in use" not in printed("explain", manifest) + printed("place", manifest)


def test_placement_names_the_field_of_each_claim() -> None:
    page = printed("explain", "pvc.yaml")
    assert (
        'Placement on no node claim "missing" does not exist (spec.volumes[1].persistentVolumeClaim.claimName) '
        'way out: create PersistentVolumeClaim "missing" in namespace shop, or name one that exists '
        'claim "data" is unbound: its StorageClass "nope" does not exist '
        "(spec.volumes[0].persistentVolumeClaim.claimName)"
    ) in page


def test_json_has_them() -> None:
    report = data("explain", "-f", str(CASES / "pvc.yaml"), "--demo")
    assert [(one["claim"], one["trouble"]) for one in report["placement"]["claims"]] == [
        ("missing", "Missing"),
        ("data", "ClassMissing"),
    ]


def test_claim_without_a_class_gets_the_default_and_fits() -> None:
    assert printed("place", "pvcself2.yaml").startswith("ok It fits, on node-b2. ")


@pytest.mark.parametrize("trouble", ClaimTrouble)
def test_every_trouble_has_text_and_remedy(trouble: ClaimTrouble) -> None:
    problem = ClaimProblem(trouble=trouble, namespace="shop", claim="data", field="spec.volumes[0].ephemeral")
    what, way = claim_lines([problem])
    assert what.startswith('claim "data" ')
    assert len(way) > len("way out: ")


def test_many_claims_are_counted() -> None:
    problems = [
        ClaimProblem(trouble=ClaimTrouble.MISSING, namespace="shop", claim=name, field=f"spec.volumes[{index}]")
        for index, name in enumerate("abcd")
    ]
    *_, rest, _ = claim_sentences(problems)
    assert rest == "2 more of its claims have no volume either."


def problem_of(trouble: ClaimTrouble, claim: str = "data", **more: Any) -> ClaimProblem:
    return ClaimProblem(trouble=trouble, namespace="shop", claim=claim, field="spec.volumes[0]", **more)


@pytest.mark.parametrize(
    ("trouble", "words"),
    [
        (ClaimTrouble.MISSING, ("kubectl", "get", "pvc")),
        (ClaimTrouble.CLASS_MISSING, ("kubectl", "get", "storageclass")),
        (ClaimTrouble.NO_CLASS, ("kubectl", "get", "storageclass")),
        (ClaimTrouble.WAITS_FOR_PROVISIONER, ("kubectl", "qos", "explain", "pvc/data")),
    ],
)
def test_next_commands(trouble: ClaimTrouble, words: tuple[str, ...]) -> None:
    (command,) = claim_command([problem_of(trouble), problem_of(ClaimTrouble.MISSING, "other")])
    assert command.words == words
    assert command.namespace == (None if "storageclass" in words else "shop")


def test_hostile_name_is_in_no_command() -> None:
    assert [command.plain for command in claim_command([problem_of(ClaimTrouble.LOST, "x; rm -rf")])] == [False]


@pytest.mark.parametrize(
    ("trouble", "classes", "words"),
    [
        (ClaimTrouble.CLASS_MISSING, (), 'its StorageClass "nope" does not exist, and no other exists'),
        (ClaimTrouble.CLASS_MISSING, ("fast",), 'its StorageClass "nope" does not exist'),
        (ClaimTrouble.NO_CLASS, (), "it names no StorageClass, and none exists"),
        (ClaimTrouble.NO_CLASS, ("fast",), "it names no StorageClass, and none is the default"),
    ],
)
def test_existing_classes_are_named(trouble: ClaimTrouble, classes: tuple[str, ...], words: str) -> None:
    """A snapshot without StorageClasses may come from a capture that left them out."""
    what, *_ = claim_sentences([problem_of(trouble, storage_class="nope", classes=classes)])
    assert what == f'Claim "data" is unbound: {words}.'
