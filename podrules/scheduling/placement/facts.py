"""The numbers behind a node's rejection: each plugin's own facts."""

from __future__ import annotations

from collections.abc import Iterable

from podrules.scheduling.scheduler.cycle import FilterResult
from podrules.scheduling.scheduler.framework.answers import Fact
from podrules.scheduling.scheduler.plugins.inter_pod_affinity.plugin import PodAffinityConflict
from podrules.scheduling.scheduler.plugins.pod_topology_spread.filtering import TopologySkew
from podrules.scheduling.scheduler.plugins.taint_toleration import TaintEffect
from podrules.scheduling.scheduler.runtime import EXPLAINED_PLUGINS


def facts(filtered: FilterResult, plugin: str, row: int) -> tuple[Fact, ...]:
    """The facts behind a plugin's rejection of a row; none for plugins with a complete reason.

    Args:
        filtered: The cycle's verdicts.
        plugin: By name.
        row: Of the table.
    """
    context, explained = filtered.judged(row).context, EXPLAINED_PLUGINS.get(plugin)
    if explained is None or plugin not in context.states:
        return ()
    return tuple(explained.facts(context, context.states[plugin], row))


def shared_keys(nodes: Iterable[Iterable[Fact]]) -> tuple[str, ...]:
    """The topology keys that each of these nodes lacks, or the keys of taints that each has, by its facts."""
    common: tuple[str, ...] | None = None
    for found in nodes:
        keys = dict.fromkeys(
            fact.key if isinstance(fact, TaintEffect) else fact.topology_key
            for fact in found
            if isinstance(fact, TaintEffect)
            or (isinstance(fact, TopologySkew | PodAffinityConflict) and fact.domain is None)
        )
        common = tuple(key for key in keys if common is None or key in common)
        if not common:
            break
    return common or ()
