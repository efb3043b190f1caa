"""Permissions, one resource at a time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from tests.charts.chart import of_kind
from tests.controlplane.client import Object

__all__ = ["Grant", "granted"]


class Grant(NamedTuple):
    """One resource of one rule."""

    where: str
    resource: str
    names: tuple[str, ...]
    verbs: tuple[str, ...]


def granted(objects: list[Object]) -> Iterator[Grant]:
    """What the roles among them allow."""
    for role in of_kind("ClusterRole", objects) + of_kind("Role", objects):
        for rule in role["rules"]:
            assert set(rule) <= {"apiGroups", "resources", "resourceNames", "verbs"}
            for group in rule["apiGroups"]:
                for resource in rule["resources"]:
                    yield Grant(
                        role["metadata"].get("namespace", ""),
                        f"{resource}.{group}" if group else resource,
                        tuple(rule.get("resourceNames", ())),
                        tuple(rule["verbs"]),
                    )
