"""``kubectl qos fence``: declares a node out of service, once its machine is confirmed to be off.

    check     the node is silent; the objects that depend on it; the user's permissions
    proof     an operator confirms, or the fence command exits with 0
    check     again: the node may have come back meanwhile
    taint     one patch, of the Node that was checked; of two operators, one wins
    follow    log each pod and volume that is removed

An interrupted run continues from the taint when it is started again. No other state is stored.
"""

from __future__ import annotations

import os
import shlex
import subprocess
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, ClassVar, Final

from cluster_io.errors import Forbidden, Unreachable
from cluster_io.kinds import NODES, PODS, VOLUME_ATTACHMENTS, Kind
from cluster_io.source import Source
from cluster_io.writer import Writer
from kubectl_plugin.changes import Deadline, NodeAction, changes_to, look_up, require_live
from kubectl_plugin.exit_codes import NOTHING_TO_CHANGE
from kubectl_plugin.options import Streams
from kubectl_plugin.options.change_commands import FenceOptions
from kubectl_plugin.reports.steps import StepKind, StepOutcome
from podrules.api.model.base import KubeObject
from podrules.api.model.node import Node
from podrules.node.lost_node import TAINT
from podrules.silent_node.fencing import FenceRemainder, FenceState

_NEEDS: Final[tuple[tuple[str, Kind[Any]], ...]] = (("patch", NODES), ("list", PODS), ("list", VOLUME_ATTACHMENTS))
"""The rights to change this node, and to follow its pods and volumes."""
_PROVIDER_ID: Final = "KUBECTL_QOS_PROVIDER_ID"
"""The variable with ``spec.providerID`` of the Node, for a fence command that does not know the cluster."""
_MAY_BE_TAINTED: Final = frozenset({FenceState.POSSIBLE})


class _Machine(KubeObject, frozen=True):
    """A complete Node; the model of other commands omits the fields that identify its machine."""

    spec: dict[str, Any] = {}


_MACHINES: Final = Kind(NODES.kind, NODES.plural, NODES.short_names, NODES.group, NODES.version, False, _Machine)


def run(options: FenceOptions, source: Source, streams: Streams) -> int:
    """Fence one node, or show what would be removed.

    Raises:
        ClusterError: the cluster cannot be read.
    """
    node = look_up(NODES, options.targets, source, streams, options.cluster.target())
    return NOTHING_TO_CHANGE if node is None else _Fence(node, options, source, streams).run()


class _Fence(NodeAction):
    """One node, declared out of service."""

    undo: ClassVar[bool] = False

    def act(self) -> StepOutcome:
        """See `ClusterAction.act`."""
        options = self._options
        if not options.cluster.live:
            if options.powered_off or options.confirm or options.dry_run:
                require_live(options.cluster, "without a confirmation and --dry-run it shows what would be removed")
            # Without a confirmation and a dry run, an outcome is always set.
            return self._plan() or StepOutcome.NOT_CONFIRMED
        path = NODES.path(None, self.facts.node.metadata.name)
        with changes_to(path, options.cluster, methods=("PATCH",), dry_run=options.dry_run) as writer:
            # Missing rights are found before anything else.
            name = self.facts.node.metadata.name
            asked = [writer.may(verb, kind, name if kind is NODES else "") for verb, kind in _NEEDS]
            self._denied = tuple(access for access in asked if not access.allowed)
            if self.facts.state is FenceState.FENCED:
                self.step_log(StepKind.GOING_ON, self.named)
            else:
                ended = self._plan() or self._declare(writer)
                if ended is not None:
                    return ended
        return self._follow()

    def _plan(self) -> StepOutcome | None:
        """Show what would be removed; the outcome if nothing more is done, None if the node may be fenced.

        Raises:
            Forbidden: the user lacks a right.
        """
        options = self._options
        if self.facts.state is FenceState.POSSIBLE and self._denied:
            denied = self._denied[0]
            kind = next(kind for _, kind in _NEEDS if kind.rbac_name == denied.resource)
            error = Forbidden(denied.verb, kind, None, denied.reason)
            self.broken_by(error)
            self._show()
            raise error
        ended: StepOutcome | None = StepOutcome.NOT_POSSIBLE
        if self.facts.state is FenceState.FENCED:
            ended = StepOutcome.DONE if self.facts.left.nothing else StepOutcome.UNDER_WAY
        elif self.facts.state is FenceState.POSSIBLE:
            proven = options.powered_off or (options.confirm and options.fence_command.strip())
            ended = None if proven or options.dry_run else StepOutcome.NOT_CONFIRMED
        if ended is not None:
            self.outcome = ended
        self._show(going_on=ended is None)
        return ended

    def _show(self, *, going_on: bool = False) -> None:
        from kubectl_plugin.views.node.fencing import fence_page

        page = fence_page(self.report(), self._options.fence_command, now=self._source.now, going_on=going_on)
        self.show(page)

    def _declare(self, writer: Writer) -> StepOutcome | None:
        """Get the proof, read the node again, and set the taint; None: the taint is set."""
        if not self._prove():
            return StepOutcome.NOT_POSSIBLE
        state = self.refresh()
        if state is FenceState.POSSIBLE and self.patch(
            writer, StepKind.TAINTING, _adding_taint, while_in=_MAY_BE_TAINTED
        ):
            self.step_log(StepKind.DRY_RUN if self._options.dry_run else StepKind.TAINTED, self.named)
            return StepOutcome.DRY_RUN if self._options.dry_run else None
        fenced = self.facts.state is FenceState.FENCED
        self.step_log(StepKind.ALREADY_FENCED if fenced else StepKind.NODE_BACK, self.named)
        return StepOutcome.NOT_POSSIBLE

    def _prove(self) -> bool:
        """Whether it is proved that the machine is off."""
        options = self._options
        if options.powered_off:
            self.step_log(StepKind.VOUCHED, self.named)
            return True
        command = [*shlex.split(options.fence_command), self.facts.node.metadata.name]
        shown = shlex.join(command)
        if options.dry_run:
            if options.fence_command:
                self.step_log(StepKind.FENCE_COMMAND_LEFT_OUT, self.named, shown)
            return True
        self.step_log(StepKind.FENCE_COMMAND, self.named, shown, int(options.timeout))
        machine = self._source.get(_MACHINES, self.facts.node.metadata.name)
        environment, err = os.environ | {_PROVIDER_ID: str(machine.spec.get("providerID") or "")}, self._streams.err
        try:
            # Its output is for people, and goes to standard error.
            code = subprocess.run(
                command, stdin=subprocess.DEVNULL, stdout=err, env=environment, check=False, timeout=options.timeout
            ).returncode
        except subprocess.TimeoutExpired:
            self.step_log(StepKind.FENCE_COMMAND_FAILED, self.named, f"it did not end within {options.timeout:g} s")
            return False
        except OSError as error:
            self.step_log(StepKind.FENCE_COMMAND_FAILED, self.named, f"it cannot be started: {error.strerror}")
            return False
        if code:
            self.step_log(StepKind.FENCE_COMMAND_FAILED, self.named, f"exit code {code}")
            return False
        self.step_log(StepKind.FENCE_COMMAND_DONE, self.named)
        return True

    def _follow(self) -> StepOutcome:
        """Log each removal, until everything is removed or the time is over.

        Raises:
            Unreachable: the API server did not answer until the time was over.
        """
        deadline, left = Deadline(self._options.timeout), self.facts.left
        if left.staying:
            self.step_log(StepKind.STAYING, self.named, names=left.staying)
        if not left.nothing:
            self.step_log(StepKind.WAITING, self.named, number=len(left.attachments), names=left.pods)
        silent = False
        while True:
            unanswered = None
            try:
                left, silent = self._log_what_went(left), False
                if left.nothing:
                    self.step_log(StepKind.ALL_REMOVED, self.named)
                    return StepOutcome.DONE
                if self.facts.state is FenceState.BACK:
                    self.step_log(StepKind.NODE_BACK, self.named)
                    return StepOutcome.UNDER_WAY
            except Unreachable as error:
                unanswered = error
                if not silent:
                    self.step_log(StepKind.NO_ANSWER, self.named, error.message)
                silent = True
            if not deadline.wait():
                if unanswered is not None:
                    raise unanswered
                self.print_state(sure=True)
                return StepOutcome.UNDER_WAY

    def _log_what_went(self, before: FenceRemainder) -> FenceRemainder:
        left = self.what_is_left()
        for pod in before.pods:
            if pod not in left.pods:
                self.step_log(StepKind.POD_REMOVED, pod)
        for volume in before.attachments:
            if volume not in left.attachments:
                self.step_log(StepKind.DETACHED, volume)
        return left


def _adding_taint(node: Node) -> Sequence[Mapping[str, Any]]:
    """A JSON patch."""
    now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    taint = {"key": TAINT.key, "value": TAINT.value, "effect": TAINT.effect, "timeAdded": now}
    if node.spec.taints:
        return [{"op": "add", "path": "/spec/taints/-", "value": taint}]
    return [{"op": "add", "path": "/spec/taints", "value": [taint]}]
