"""What would let a pod onto a node, in words."""

from __future__ import annotations

import re
from collections.abc import Sequence

from kubectl_plugin.views.words import listed, resource_amount
from podrules.placement.outcome import Change, ChangeKind, ConstraintSpread, Placement, PodOnNode, Remedy

__all__ = ["cheapest_ways", "pods_on_nodes", "remedy_words"]

_REQUIRED = ".requiredDuringSchedulingIgnoredDuringExecution"


def cheapest_ways(placement: Placement, most: int = 2) -> list[str]:
    """The cheapest remedies of all groups; those that take a larger machine only when there is no other."""
    remedies = sorted(
        (group.remedy for group in placement.rejected if group.remedy is not None), key=lambda remedy: remedy.cost
    )
    small = [remedy for remedy in remedies if all(change.kind is not ChangeKind.ENLARGE for change in remedy.changes)]
    words = [remedy_words(remedy, placement.spread) for remedy in small or remedies[:1]]
    return list(dict.fromkeys(words))[:most]


def remedy_words(remedy: Remedy, spread: tuple[ConstraintSpread, ...]) -> str:
    """``free 220Mi memory on node-a1``, ``maxSkew 3 on zone (then node-b2)``."""
    changes = listed([_change_words(change, spread) for change in remedy.changes])
    if any(change.node for change in remedy.changes):
        elsewhere = any(pod.node != remedy.node for change in remedy.changes for pod in change.pods)
        return f"{changes} (then {remedy.node})" if elsewhere else changes
    others = f" and {remedy.feasible - 1} more" if remedy.feasible > 1 else ""
    return f"{changes} (then {remedy.node}{others})"


def pods_on_nodes(pods: Sequence[PodOnNode], most: int | None = None) -> str:
    """``shop/a and shop/b on node-1``; with each its node where these differ."""
    names = [f"{pod.namespace}/{pod.name}" for pod in pods]
    if len({pod.node for pod in pods}) == 1:
        return f"{listed(names, most)} on {pods[0].node}"
    return listed([f"{name} on {pod.node}" for name, pod in zip(names, pods, strict=True)], most)


def _change_words(change: Change, spread: tuple[ConstraintSpread, ...]) -> str:
    match change.kind:
        case ChangeKind.UNCORDON:
            return f"uncordon {change.node}"
        case ChangeKind.TOLERATE:
            return f"tolerate {change.value}"
        case ChangeKind.REMOVE_TAINT:
            return f"{change.node} loses its taint {change.value}"
        case ChangeKind.SPREAD:
            return _spread_words(change, spread)
        case ChangeKind.FREE:
            return f"free {_amounts(change)} on {change.node}"
        case ChangeKind.ENLARGE:
            return f"a node with {_amounts(change)} more than {change.node}"
        case ChangeKind.LABEL_NODE:
            return f"label {change.node} {change.value}"
        case ChangeKind.DROP if change.field.endswith(_REQUIRED):
            return f"drop the required terms of {change.field.removesuffix(_REQUIRED)}"
        case ChangeKind.DROP:
            return f"drop {change.field} {change.value}"
        case ChangeKind.REMOVE_PODS:
            return f"stop {'pod' if len(change.pods) == 1 else 'pods'} {pods_on_nodes(change.pods)}"


def _amounts(change: Change) -> str:
    return listed([resource_amount(name, amount) for name, amount in change.amounts.items()])


def _spread_words(change: Change, spread: tuple[ConstraintSpread, ...]) -> str:
    constraint, _, part = change.field.rpartition(".")
    keys = {entry.field: entry.topology_key for entry in spread}
    key = keys.get(constraint, re.sub(r"^spec\.", "", constraint))
    if part in {"maxSkew", "nodeTaintsPolicy", "nodeAffinityPolicy"}:
        return f"{part} {change.value} on {key}"
    if part == "whenUnsatisfiable":
        return f"{change.value} on {key}"
    return f"spread over {change.value} instead of {key}"
