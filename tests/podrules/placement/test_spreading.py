"""Domains that count though the pod cannot enter them, and values of which no node counts."""

from __future__ import annotations

from typing import Any

from podrules.placement.outcome import ConstraintSpread
from tests.podrules.placement.building import Json, make_node, make_pod, make_taint, place

ZONE = "topology.kubernetes.io/zone"
FOO = {"foo": "bar"}


def spread_of(nodes: list[Json], *, constraint: Json | None = None, **spec: Any) -> ConstraintSpread:
    full = {
        "maxSkew": 1,
        "topologyKey": ZONE,
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": FOO},
        **(constraint or {}),
    }
    pod = make_pod("new", labels=FOO, topologySpreadConstraints=[full], **spec)
    (found,) = place(pod, nodes).spread
    return found


def zoned(name: str, zone: str, **more: Any) -> Json:
    return make_node(name, labels={ZONE: zone}, **more)


def rejected(found: ConstraintSpread) -> dict[str, tuple[str, ...]]:
    return {domain.value: domain.rejected_by for domain in found.domains}


def test_a_domain_is_closed_when_other_plugins_reject_every_node_of_it() -> None:
    taints = [make_taint("k", "v")]
    nodes = [
        zoned("a1", "a", taints=taints),
        zoned("a2", "a"),
        zoned("b1", "b", taints=taints),
        zoned("b2", "b", cpu="500m"),
    ]
    assert rejected(spread_of(nodes)) == {"a": (), "b": ("TaintToleration", "NodeResourcesFit")}


def test_a_node_that_the_pod_names_closes_the_other_domains() -> None:
    fields = [{"key": "metadata.name", "operator": "In", "values": ["a1"]}]
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [{"matchFields": fields}]}}
    found = spread_of(
        [zoned("a1", "a"), zoned("b1", "b")],
        constraint={"nodeAffinityPolicy": "Ignore"},
        affinity={"nodeAffinity": required},
    )
    assert rejected(found) == {"a": (), "b": ("NodeAffinity",)}


def test_values_of_which_no_node_counts_are_named_and_counted() -> None:
    nodes = [zoned("a1", "a"), *(zoned(f"n{name}", name, taints=[make_taint("k")]) for name in "bcdef")]
    found = spread_of(nodes, constraint={"nodeTaintsPolicy": "Honor"})
    assert ([domain.value for domain in found.domains], found.left_out, found.left_out_count) == (
        ["a"],
        ("b", "c", "d"),
        5,
    )
