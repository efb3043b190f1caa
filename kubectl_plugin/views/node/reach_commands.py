"""The commands that come first about a node that does not answer, or is still declared out of service.

silent              which pods depend on it, then what a fence of it would do
heartbeats missed   which pods depend on it: it may still come back by itself
out of service      which pods depend on it, then what is left to go
gone                which pods depend on it: there is no Node to fence
back                how to take it back
"""

from __future__ import annotations

from collections.abc import Iterator

from kubectl_plugin.render.command import Command, qos
from podrules.node.reachability import NodeReach, Reach

__all__ = ["reach_commands", "remedies"]


def reach_commands(node: NodeReach | None) -> Iterator[Command]:
    """Commands that show a node's state and commands that mend it; none if it is in service and answers."""
    if node is None:
        return
    if node.reach.quiet:
        yield qos("partitions")
    yield from remedies(node)


def remedies(node: NodeReach) -> Iterator[Command]:
    """What is done about it; a look that changes nothing, as long as nobody confirms it."""
    match node.reach:
        case Reach.SILENT:
            yield qos("fence node/{}", node.name, comment="what would go; changes nothing")
        case Reach.OUT_OF_SERVICE:
            yield qos("fence node/{}", node.name, comment="what is left to go")
        case Reach.BACK | Reach.BACK_NOT_READY:
            yield qos("unfence node/{}", node.name, comment="it answers again")
