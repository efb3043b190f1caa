"""The numbers behind a node's rejection: each plugin's own facts."""

from __future__ import annotations

from podrules.scheduler.cycle import Filtered
from podrules.scheduler.framework.facts import Fact
from podrules.scheduler.registry import EXPLAINED_PLUGINS

__all__ = ["facts"]


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
