"""``kubectl qos unfence``: takes back a node that was declared out of service."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Final

from cluster_io.errors import Forbidden, Unreachable
from cluster_io.kinds import NODES
from cluster_io.source import Source
from cluster_io.writer import Writer
from kubectl_plugin.changes import NodeAction, changes_to, look_up, require_live
from kubectl_plugin.exit_codes import NOTHING_TO_CHANGE
from kubectl_plugin.options import Streams
from kubectl_plugin.options.change_commands import FenceOptions
from kubectl_plugin.reports.steps import StepKind, StepOutcome
from podrules.api.model.node import Node
from podrules.node.reachability import OUT_OF_SERVICE
from podrules.silent_node.fencing import FenceState

_FENCED: Final = frozenset({FenceState.FENCED, FenceState.BACK})


def run(options: FenceOptions, source: Source, streams: Streams) -> int:
    """Take one node back, or show what would change.

    Raises:
        ClusterError: the cluster cannot be read.
    """
    node = look_up(NODES, options.targets, source, streams, options.cluster.target())
    return NOTHING_TO_CHANGE if node is None else _Unfence(node, options, source, streams).run()


class _Unfence(NodeAction):
    """One node, taken back."""

    undo: ClassVar[bool] = True

    def act(self) -> StepOutcome:
        """See `ClusterAction.act`."""
        options = self._options
        if self.facts.state not in _FENCED:
            return self._shown(StepOutcome.DONE)
        path = NODES.path(None, self.facts.node.metadata.name)
        if not options.confirm and not options.dry_run:
            try:
                if options.cluster.live:
                    with changes_to(path, options.cluster, methods=(), dry_run=True) as writer:
                        self._check_access(writer)
            except Forbidden as error:
                self.broken_by(error)
                self._shown(self.outcome)
                raise
            except Unreachable:
                # It is unknown whether the user may change it: the page does not mention it.
                pass
            return self._shown(StepOutcome.NOT_CONFIRMED)
        require_live(options.cluster, "without --confirm and --dry-run it shows what would change")
        with changes_to(path, options.cluster, methods=("PATCH",), dry_run=options.dry_run) as writer:
            self._check_access(writer)
            if not self.patch(writer, StepKind.UNTAINTING, _removing_taint, while_in=_FENCED):
                self.step_log(StepKind.ALREADY_UNFENCED, self.named)
                return StepOutcome.NOT_POSSIBLE
        self.step_log(StepKind.DRY_RUN if options.dry_run else StepKind.UNTAINTED, self.named)
        return StepOutcome.DRY_RUN if options.dry_run else StepOutcome.DONE

    def _check_access(self, writer: Writer) -> None:
        access = writer.may("patch", NODES, self.facts.node.metadata.name)
        if not access.allowed:
            self._denied = (access,)
            raise Forbidden("patch", NODES, None, access.reason)

    def _shown(self, outcome: StepOutcome) -> StepOutcome:
        from kubectl_plugin.views.node.fencing import unfence_page

        self.outcome = outcome
        self.show(unfence_page(self.report(), now=self._source.now))
        return outcome


def _removing_taint(node: Node) -> Sequence[Mapping[str, Any]]:
    """A JSON patch. It removes the last taint first, because each removal moves the later ones."""
    places = [index for index, taint in enumerate(node.spec.taints) if taint.key == OUT_OF_SERVICE]
    return [{"op": "remove", "path": f"/spec/taints/{index}"} for index in reversed(places)]
