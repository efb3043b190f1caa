"""No page of the demo uses a plural for one thing."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.kubectl_plugin.running import run
from tests.plurals import plurals_in_code, wrong_plurals

ROOT = Path(__file__).resolve().parents[3]
CODE = [file for package in ("kubectl_plugin", "webhook") for file in sorted((ROOT / package).rglob("*.py"))]

PAGES = [
    *(("explain", "pods", "-n", name) for name in ("shop", "data", "batch", "ml", "monitoring", "kube-system")),
    *(("explain", kind, "-n", "shop") for kind in ("deployments", "statefulsets", "nodes")),
    ("explain", "deployments", "-n", "shop", "--timeline"),
    ("explain", "pods", "-n", "data", "--timeline"),
    *(("node", f"node-{name}") for name in ("a1", "a2", "a3", "b1", "b2", "c3")),
    ("partitions",),
    ("place", "--drain", "node/node-a1"),
    ("place", "-f", "tests/testdata/manifests/checkout.yaml", "--replicas", "9"),
    ("fence", "node/node-c3"),
    ("report", "--all", "-o", "-"),
]


@pytest.mark.parametrize("arguments", PAGES, ids=" ".join)
def test_singular_is_not_plural(arguments: tuple[str, ...]) -> None:
    command, *rest = arguments
    for form in ((), ("-o", "wide")) if command not in {"report", "fence"} else ((),):
        said = run(command, "--demo", *rest, *form)
        assert said.out
        assert not list(wrong_plurals(said.out + said.err))


@pytest.mark.parametrize(
    "text",
    [
        "on 1 nodes",
        "1st of 1 containers",
        "2 of 9, 1 pods now",
        "1 more pods",
        "1 of 1 pods",
        "1 of 9 go before it",
        "1 pod are",
    ],
)
def test_wrong_plurals_are_found(text: str) -> None:
    assert list(wrong_plurals(text))


@pytest.mark.parametrize(
    "text", ["1 node", "11 nodes", "1  pods", "1.1 nodes", "1 pod/web-0", "x-1 pods", "1 pods/a", "1 of 9 goes"]
)
def test_right_plurals_are_not_found(text: str) -> None:
    assert not list(wrong_plurals(text))


def test_names_of_several_nodes_are_in_the_plural() -> None:
    without = ("place", "-f", "tests/testdata/manifests/checkout.yaml", "--demo", "--exclude-node", "node-a1")
    assert run(*without).out.startswith("on 11 nodes, without node-a1\n")
    said = run(*without, "--exclude-node", "node-a2", "--without", "pod/db-0", "--without", "pod/db-1").out
    assert " ".join(said.split()).startswith("on 10 nodes, without node-a1 and node-a2 and without pods db-0 and db-1 ")
    assert list(wrong_plurals("without node node-a1 and node-b2"))


def test_no_text_of_the_code_counts_in_the_plural_alone() -> None:
    assert not [f"{file.relative_to(ROOT)}: {text}" for file in CODE for text in plurals_in_code(file.read_text())]


@pytest.mark.parametrize("text", ['f"{count} pods"', 'f"on {len(nodes):,} more nodes"'])
def test_plural_only_texts_are_found(text: str) -> None:
    assert list(plurals_in_code(text))


@pytest.mark.parametrize("text", ['"1 pod" if n == 1 else f"{n} pods"', 'f"{their} pods"', "f\"{counted(n, 'pod')}\""])
def test_conditional_plurals_are_not_found(text: str) -> None:
    assert not list(plurals_in_code(text))
