"""The base of ``fence`` and ``unfence``: the facts about a node, and a patch of its taints."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, ClassVar, Final

from msgspec import Struct
from msgspec.structs import replace

from cluster_io.errors import Conflict, RequestRefused
from cluster_io.field_selector import equal_fields
from cluster_io.gather import Gatherer
from cluster_io.kinds import NODES, PODS, VOLUME_ATTACHMENTS
from cluster_io.safety_facts import partition_facts, renewals
from cluster_io.source import Source
from cluster_io.writer import Writer
from kubectl_plugin.changes.change import ClusterAction, present
from kubectl_plugin.options import FenceOptions, Streams
from kubectl_plugin.render.command import Prose
from kubectl_plugin.reports.node.fencing import FenceReport
from kubectl_plugin.reports.steps import StepKind
from podrules.api.model.node import Node
from podrules.api.model.storage import PersistentVolume
from podrules.pod.reading import Access
from podrules.pod.versions import version_notes
from podrules.silent_node.fencing import FenceRemainder, FenceState, fence_state, kept_volumes, left_to_go
from podrules.silent_node.partitions import NodeDown, partitions

_ATTEMPTS: Final = 5


class FencingFacts(Struct, frozen=True):
    """The facts about a node."""

    node: Node
    state: FenceState
    down: NodeDown | None
    left: FenceRemainder
    kept: frozenset[str]
    """Volumes that stay attached because their pods stay."""
    volumes: tuple[PersistentVolume, ...]
    """The known ones: a Node's status does not name them."""


class NodeAction(ClusterAction):
    """A change of a node's taints."""

    undo: ClassVar[bool]

    def __init__(self, node: Node, options: FenceOptions, source: Source, streams: Streams) -> None:
        """Read the node and its dependent objects."""
        super().__init__(f"node/{node.metadata.name}", options, source, streams)
        self._options, self._source = options, source
        self._gatherer = Gatherer(source)
        # Read now, so that a report is printed even if the connection is lost later.
        self._versions = self._gatherer.versions
        self._denied: tuple[Access, ...] = ()
        self.facts = self._read_facts(node)

    def report(self) -> FenceReport:
        """See `ClusterAction.report`."""
        facts = self.facts
        return FenceReport(
            name=facts.node.metadata.name,
            undo=self.undo,
            source=self._source.description,
            rules_version=self._versions.rules_version,
            server_version=self._versions.server_version,
            dry_run=self._options.dry_run,
            state=facts.state,
            node=facts.down,
            left=facts.left,
            denied=self._denied,
            steps=self.step_log.steps,
            outcome=self.outcome,
            refusal=self.refusal,
            version_notes=version_notes(self._versions, (facts.node,)),
            unread=self._gatherer.unread,
        )

    def state(self, *, sure: bool) -> Iterable[str | Prose]:
        """See `ClusterAction.state`."""
        from kubectl_plugin.views.node.fencing import state_words

        return state_words(self.report(), sure=sure)

    def refresh(self) -> FenceState:
        """Read the node and its Lease again, without its dependent objects."""
        node = self._source.get(NODES, self.facts.node.metadata.name)
        if node.metadata.uid != self.facts.node.metadata.uid:
            raise Conflict(f"{self.named} is another Node now: it was created again")
        now = present(self._source)
        renewed = renewals(Gatherer(self._source)).get(node.metadata.name)
        state = fence_state(node, renewed=renewed, now=now)
        self.facts = replace(self.facts, node=node, state=state)
        return state

    def patch(
        self,
        writer: Writer,
        kind: StepKind,
        operations: Callable[[Node], Sequence[Mapping[str, Any]]],
        *,
        while_in: frozenset[FenceState],
    ) -> bool:
        """Patch the current node; False if its state no longer allows the patch.

        A node's status is written every few seconds: after another write, the node is checked and the patch is tried
        again.

        Raises:
            Conflict: other clients keep writing to the node.
            RequestRefused: the API server refuses the patch.
        """
        for attempt in range(_ATTEMPTS):
            node = self.facts.node
            self.step_log(kind, self.named, node.metadata.resource_version)
            try:
                self.step_log.add_warnings(writer.patch(NODES, node, operations(node)))
                return True
            except (Conflict, RequestRefused) as error:
                state = self.refresh()
                # The API server refuses an index beyond the end of a list before it compares versions.
                unchanged = self.facts.node.metadata.resource_version == node.metadata.resource_version
                if isinstance(error, RequestRefused) and unchanged:
                    raise
                if state not in while_in:
                    return False
                if attempt == _ATTEMPTS - 1:
                    raise
        return False

    def _read_facts(self, node: Node) -> FencingFacts:
        now = present(self._source)
        facts = partition_facts(self._gatherer, self._source.list(NODES), now)
        name = node.metadata.name
        down = next((entry for entry in partitions(facts, now) if entry.reach.name == name), None)
        state = fence_state(node, renewed=facts.renewed.get(name), now=now)
        pods = [pod for pod in facts.pods if pod.spec.node_name == name]
        kept = kept_volumes(down, node, pods) if down is not None else frozenset()
        volumes = tuple(facts.volumes.values())
        left = (
            left_to_go(node, pods, facts.attachments, kept, volumes)
            if down is not None
            else FenceRemainder((), (), (), ())
        )
        return FencingFacts(node, state, down, left, kept, volumes)

    def what_is_left(self) -> FenceRemainder:
        """Read the remaining objects and the state again: volumes leave a node's status after its pods are removed.

        Raises:
            ClusterError: it cannot be read.
        """
        on_it = equal_fields(("spec.nodeName", self.facts.node.metadata.name))
        pods = self._source.list(PODS, field_selector=on_it)
        self.refresh()
        facts, attachments = self.facts, self._source.list(VOLUME_ATTACHMENTS)
        left = left_to_go(facts.node, pods, attachments, facts.kept, facts.volumes)
        self.facts = replace(facts, left=left)
        return left
