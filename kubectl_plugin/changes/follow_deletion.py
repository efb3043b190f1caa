"""Follows a deleted pod until it is removed, and logs what changes and what keeps it."""

from __future__ import annotations

from enum import Enum

from cluster_io.errors import NotFound, Unreachable
from cluster_io.force_delete_objects import read_node_reach
from cluster_io.kinds import PODS
from cluster_io.source import Source
from kubectl_plugin.changes.change import Deadline, StepLog, present
from kubectl_plugin.reports.steps import StepKind
from podrules.api.model.pod import Pod
from podrules.ending.deleted_pod import pod_ending
from podrules.node.reachability import Reach


class FollowResult(Enum):
    """How the following ended."""

    GONE = "Gone"
    STUCK = "Stuck"
    """Nothing will remove the pod: its node is silent."""
    TIME_OVER = "TimeOver"


def follow(pod: Pod, source: Source, step_log: StepLog, deadline: Deadline) -> FollowResult:
    """Log what happens to a deleted pod.

    Raises:
        Unreachable: the API server did not answer until the time was over.
        ClusterError: the pod cannot be read any more.
    """
    seen = _FollowedPod(pod, step_log)
    while True:
        unanswered = None
        try:
            current = source.get(PODS, pod.metadata.name, pod.metadata.namespace)
            if current.metadata.uid != pod.metadata.uid:
                step_log(StepKind.GONE, seen.name)
                step_log(StepKind.REPLACED, seen.name, current.metadata.uid)
                return FollowResult.GONE
            seen.look(current, source)
            if seen.stuck:
                return FollowResult.STUCK
        except NotFound:
            step_log(StepKind.GONE, seen.name)
            return FollowResult.GONE
        except Unreachable as error:
            unanswered = error
            seen.unanswered(error)
        if not deadline.wait():
            if unanswered is not None:
                raise unanswered
            return FollowResult.TIME_OVER


class _FollowedPod:
    """The state that was logged about a pod."""

    def __init__(self, pod: Pod, step_log: StepLog) -> None:
        self.name = f"pod/{pod.metadata.name}"
        self.stuck = False
        self._step_log = step_log
        self._ended = {status.name for status in pod.status.container_statuses if status.state.terminated}
        self._said: set[StepKind] = set()
        self._was_cut_off = False

    def look(self, pod: Pod, source: Source) -> None:
        """Log the changes."""
        self._said.discard(StepKind.NO_ANSWER)
        for status in (*pod.status.init_container_statuses, *pod.status.container_statuses):
            end = status.state.terminated
            if end is not None and status.name not in self._ended:
                self._ended.add(status.name)
                self._step_log(StepKind.CONTAINER_ENDED, status.name, end.reason, end.exit_code)
        node, now = pod.spec.node_name, present(source)
        found = read_node_reach(node, source, now) if node else None
        reach = found.reach if found is not None else Reach.UNKNOWN
        ending = pod_ending(pod, quiet=found is not None and found.ends_unknown)
        if ending.finalizers and not ending.processes:
            self._once(StepKind.KEPT_BY_FINALIZERS, names=ending.finalizers)
            return
        if reach.quiet:
            self._once(StepKind.NODE_SILENT, node)
            # While the API server was down, no node could renew its Lease: an old Lease means nothing then.
            self.stuck = reach is Reach.SILENT and not self._was_cut_off
        elif ending.ends_by is not None and now > ending.ends_by:
            self._once(StepKind.OVERDUE, node)

    def unanswered(self, error: Unreachable) -> None:
        """Log once that the API server does not answer."""
        self._was_cut_off = True
        self._once(StepKind.NO_ANSWER, error.message)

    def _once(self, kind: StepKind, detail: str = "", names: tuple[str, ...] = ()) -> None:
        if kind not in self._said:
            self._said.add(kind)
            self._step_log(kind, self.name, detail, names=names)
