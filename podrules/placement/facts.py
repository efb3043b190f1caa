"""The numbers behind a node's rejection: each plugin's own facts."""

from __future__ import annotations

from collections.abc import Iterable

from podrules.scheduler.cycle import Filtered
from podrules.scheduler.framework.facts import Fact
from podrules.scheduler.plugins.inter_pod_affinity.plugin import PodAffinityConflict
from podrules.scheduler.plugins.pod_topology_spread.filtering import TopologySkew
from podrules.scheduler.registry import EXPLAINED_PLUGINS

__all__ = ["facts", "lacked_labels"]


def facts(filtered: Filtered, plugin: str, row: int) -> tuple[Fact, ...]:
    """What stands behind a plugin's rejection of a row; nothing for plugins whose reason says it all.

    Args:
        filtered: The cycle's verdicts.
        plugin: By name.
        row: Of the table.
    """
    context, explained = filtered.judged(row).context, EXPLAINED_PLUGINS.get(plugin)
    if explained is None or plugin not in context.states:
        return ()
    return tuple(explained.facts(context, context.states[plugin], row))


def lacked_labels(nodes: Iterable[Iterable[Fact]]) -> tuple[str, ...]:
    """The topology keys that each of these nodes lacks by its facts, in the order of the pod's fields."""
    common: tuple[str, ...] | None = None
    for found in nodes:
        lacked = (
            fact for fact in found if isinstance(fact, TopologySkew | PodAffinityConflict) and fact.domain is None
        )
        keys = dict.fromkeys(fact.topology_key for fact in lacked)
        common = tuple(key for key in keys if common is None or key in common)
        if not common:
            break
    return common or ()
