"""No page of the demo tells one thing as many."""

from __future__ import annotations

import pytest

from tests.kubectl_plugin.running import run
from tests.plurals import wrong_plurals

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
def test_one_is_not_many(arguments: tuple[str, ...]) -> None:
    command, *rest = arguments
    for form in ((), ("-o", "wide")) if command not in {"report", "fence"} else ((),):
        said = run(command, "--demo", *rest, *form)
        assert said.out
        assert not list(wrong_plurals(said.out + said.err))


@pytest.mark.parametrize(
    "text", ["on 1 nodes", "1st of 1 containers", "2 of 9, 1 pods now", "1 more pods", "1 of 1 pods"]
)
def test_what_is_wrong_is_found(text: str) -> None:
    assert list(wrong_plurals(text))


@pytest.mark.parametrize("text", ["1 node", "11 nodes", "1  pods", "1.1 nodes", "1 pod/web-0", "x-1 pods", "1 pods/a"])
def test_what_is_right_is_not(text: str) -> None:
    assert not list(wrong_plurals(text))
