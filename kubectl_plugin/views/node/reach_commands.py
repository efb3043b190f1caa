"""The first commands for a node that does not answer, or is still declared out of service.

silent              show the pods that depend on it, then what a fence would do
heartbeats missed   show the pods that depend on it: it may still come back by itself
out of service      show the pods that depend on it, then what is left to remove
gone                show the pods that depend on it: there is no Node to fence
back                unfence it
"""

from __future__ import annotations

from collections.abc import Iterator

from kubectl_plugin.render.command import Command, qos
from podrules.node.reachability import NodeReach, Reach


def reach_commands(node: NodeReach | None) -> Iterator[Command]:
    """The commands that show and repair a node's state; none if it is in service and answers."""
    if node is None:
        return
    if node.reach.quiet:
        yield qos("partitions")
    yield from remedies(node)


def remedies(node: NodeReach) -> Iterator[Command]:
    """The commands that repair it; without a confirmation they change nothing."""
    match node.reach:
        case Reach.SILENT:
            yield qos("fence node/{}", node.name, comment="what it would remove; changes nothing")
        case Reach.OUT_OF_SERVICE:
            yield qos("fence node/{}", node.name, comment="what is left to remove")
        case Reach.BACK | Reach.BACK_NOT_READY:
            yield qos("unfence node/{}", node.name, comment="it answers again")
