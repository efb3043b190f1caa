"""``kubectl qos delete``: deletes one pod, with or without grace, and follows it until it is removed."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from typing import Any, Final

from cluster_io.errors import ClusterError, Conflict, Forbidden, RequestRefused
from cluster_io.force_delete_objects import read_guards, read_node_reach, read_renewed
from cluster_io.gather import Gatherer
from cluster_io.kinds import LEASES, NODES, PDBS, PODS, STATEFUL_SETS
from cluster_io.source import Source
from cluster_io.writer import Writer
from kubectl_plugin.changes import (
    ClusterAction,
    Deadline,
    FollowResult,
    changes_to,
    follow,
    look_up,
    present,
    require_live,
)
from kubectl_plugin.exit_codes import NOTHING_TO_CHANGE
from kubectl_plugin.options import Streams
from kubectl_plugin.options.change_commands import DeletionOptions
from kubectl_plugin.render.command import Prose
from kubectl_plugin.reports.steps import DeletionReport, Stakes, StepKind, StepOutcome
from podrules.api.model.node import Node
from podrules.api.model.pod import Pod
from podrules.ending.deleted_pod import pod_ending, stop_plan
from podrules.ending.deletion import CONFIRMATION, Members, is_confirmed, is_force_deletion, members
from podrules.node.lost_node import goes
from podrules.node.reachability import LEASE_NAMESPACE, Reach
from podrules.pod.platform import Platform, node_platform
from podrules.pod.reading import read_or_none
from podrules.pod.versions import version_notes
from podrules.silent_node.forcing import pod_force_safety
from podrules.workload.budget_risk import eviction_hold
from podrules.workload.disruption import Evictions
from podrules.workload.safety import Guarantee, owner_guarantee

_FOLLOWED_AFTER_GRACE: Final = 60.0
"""How long a pod is followed after its grace period, in seconds."""
_ATTEMPTS: Final = 5


def run(options: DeletionOptions, source: Source, streams: Streams) -> int:
    """Delete one pod, or show the risk of its deletion.

    Raises:
        ClusterError: the pod cannot be read.
    """
    pod = look_up(PODS, options.targets, source, streams, options.cluster.target())
    return NOTHING_TO_CHANGE if pod is None else _Deletion(pod, options, source, streams).run()


class _Deletion(ClusterAction):
    """The deletion of one pod."""

    def __init__(self, pod: Pod, options: DeletionOptions, source: Source, streams: Streams) -> None:
        """Read the risk of the deletion."""
        super().__init__(f"pod/{pod.metadata.name}", options, source, streams)
        self._pod, self._options, self._source = pod, options, source
        self._gatherer = Gatherer(source)
        # Read now, so that a report is printed even if the connection is lost later.
        self._versions = self._gatherer.versions
        node = read_or_none(self._gatherer.get(NODES, pod.spec.node_name)) if pod.spec.node_name else None
        self._version_notes = version_notes(self._versions, () if node is None else (node,))
        self._plan = stop_plan(pod, options.grace_period)
        self._stakes = self._read_stakes(node) if is_force_deletion(pod, options.grace_period) else None

    def act(self) -> StepOutcome:
        """See `ClusterAction.act`."""
        options, pod = self._options, self._pod
        if not (options.confirm or options.dry_run) and (self._stakes is not None or options.grace_period == 0):
            return self._show_risk()
        typed = [flag for flag, given in (("--confirm", options.confirm), ("--dry-run", options.dry_run)) if given]
        out = f"leave {' and '.join(typed)} out: " if typed else ""
        require_live(options.cluster, f"{out}--grace-period=0 alone shows the risk of a force deletion")
        if self._stakes is not None:
            self._show_stakes()
        path = PODS.path(pod.metadata.namespace, pod.metadata.name)
        with changes_to(path, options.cluster, methods=("PATCH", "DELETE"), dry_run=options.dry_run) as writer:
            self._check_access(writer, "delete")
            self._delete(writer)
        if options.dry_run:
            return StepOutcome.DRY_RUN
        seconds = options.timeout
        deadline = Deadline(self._plan.sigkill_latest + _FOLLOWED_AFTER_GRACE if seconds is None else seconds)
        if follow(pod, self._source, self.step_log, deadline) is FollowResult.GONE:
            return StepOutcome.DONE
        self.print_state(sure=True)
        return StepOutcome.UNDER_WAY

    def _show_risk(self) -> StepOutcome:
        """Show the risk of the deletion.

        Raises:
            ClusterError: a confirmation would not help.
        """
        from kubectl_plugin.views.pod.deletion import nothing_at_stake_page

        self.outcome = StepOutcome.NOTHING_AT_STAKE if self._stakes is None else StepOutcome.NOT_CONFIRMED
        error = self._refused() if self._options.cluster.live else None
        if error is not None:
            self.broken_by(error)
        if self._stakes is None:
            self.show(nothing_at_stake_page(self.report()))
        else:
            self._show_stakes()
        if error is not None:
            raise error
        return self.outcome

    def _refused(self) -> ClusterError | None:
        """Who refuses the deletion even with ``--confirm``; None: unknown, or it is not refused.

        A server-side dry run runs all checks: rights, webhooks and policies, as the namespace's mode is configured,
        even if the user may not read them.
        """
        path = PODS.path(self._pod.metadata.namespace, self._pod.metadata.name)
        try:
            with changes_to(path, self._options.cluster, methods=("DELETE",), dry_run=True) as writer:
                self._check_access(writer, "delete")
                try:
                    writer.delete(PODS, self._pod, grace_period_seconds=self._options.grace_period)
                except RequestRefused as refusal:
                    if not self._wants_confirmation(refusal):
                        raise
                    self._check_access(writer, "patch")
        except Forbidden as error:
            return error
        except RequestRefused as error:
            # Other errors do not judge the deletion: too many requests, a webhook without support for dry runs.
            return error if error.admission else None
        except ClusterError:
            return None
        return None

    def _check_access(self, writer: Writer, verb: str) -> None:
        pod = self._pod.metadata
        access = writer.may(verb, PODS, pod.name, pod.namespace)
        if not access.allowed:
            raise Forbidden(verb, PODS, pod.namespace, access.reason)

    def _wants_confirmation(self, refusal: RequestRefused) -> bool:
        return self._stakes is not None and CONFIRMATION in str(refusal) and not is_confirmed(self._pod.metadata)

    def report(self) -> DeletionReport:
        """See `ClusterAction.report`."""
        pod = self._pod
        return DeletionReport(
            name=pod.metadata.name,
            namespace=pod.metadata.namespace,
            uid=pod.metadata.uid,
            source=self._source.description,
            rules_version=self._versions.rules_version,
            server_version=self._versions.server_version,
            forced=self._stakes is not None,
            grace_of_its_own=not is_force_deletion(pod, None),
            dry_run=self._options.dry_run,
            plan=self._plan,
            finalizers=pod.metadata.finalizers,
            stakes=self._stakes,
            steps=self.step_log.steps,
            outcome=self.outcome,
            refusal=self.refusal,
            version_notes=self._version_notes,
            unread=self._gatherer.unread,
        )

    def state(self, *, sure: bool) -> Iterable[str | Prose]:
        """See `ClusterAction.state`."""
        from kubectl_plugin.views.pod.deletion import state_words

        return state_words(self._pod.metadata, self.step_log.steps, sure=sure)

    def _delete(self, writer: Writer) -> None:
        pod, grace, dry_run = self._pod, self._options.grace_period, self._options.dry_run
        self.step_log(StepKind.DELETING, self.named, pod.metadata.uid, self._plan.grace.seconds)
        try:
            self.step_log.add_warnings(writer.delete(PODS, pod, grace_period_seconds=grace))
        except RequestRefused as refusal:
            if not self._wants_confirmation(refusal):
                raise
            self._confirm(writer)
            # A dry run stores no confirmation: the API server would refuse the deletion again.
            if not dry_run:
                self.step_log.add_warnings(writer.delete(PODS, pod, grace_period_seconds=grace))
        if dry_run:
            self.step_log(StepKind.DRY_RUN, self.named)
            return
        if pod.metadata.deletion_timestamp is not None:
            self.step_log(StepKind.DELETED_BEFORE, self.named)
        stopping = "" if self._plan.object_removed_at_once or self._has_provider() else pod.spec.node_name
        self.step_log(StepKind.DELETED, self.named, stopping, self._plan.sigkill_latest)

    def _has_provider(self) -> bool:
        """Whether a virtual kubelet runs the pod: then it is unknown when the pod ends."""
        if self._stakes is not None:
            return self._stakes.node.provider
        try:
            node = self._source.get(NODES, self._pod.spec.node_name)
        except ClusterError:
            return False
        return node_platform(node) is Platform.VIRTUAL_KUBELET

    def _confirm(self, writer: Writer) -> None:
        """Write the confirmation that the namespace requires, with the UID of the pod."""
        pod, key = self._pod, CONFIRMATION.replace("/", "~1")
        for attempt in range(_ATTEMPTS):
            # A JSON patch that adds the confirmation.
            patch: list[dict[str, Any]] = [
                {"op": "add", "path": f"/metadata/annotations/{key}", "value": pod.metadata.uid}
            ]
            if not pod.metadata.annotations:
                patch.insert(0, {"op": "add", "path": "/metadata/annotations", "value": {}})
            self.step_log(StepKind.CONFIRMING, self.named, f"{CONFIRMATION}={pod.metadata.uid}")
            try:
                self.step_log.add_warnings(writer.patch(PODS, pod, patch))
            except Conflict:
                # The status was written in between. Read the pod again, and continue if it is the same pod.
                pod = self._source.get(PODS, pod.metadata.name, pod.metadata.namespace)
                if pod.metadata.uid != self._pod.metadata.uid or attempt == _ATTEMPTS - 1:
                    raise
                continue
            self.step_log(StepKind.CONFIRMED, self.named)
            return

    def _show_stakes(self) -> None:
        from kubectl_plugin.views.pod.deletion import stakes_page

        self.show(stakes_page(self.report(), now=self._source.now))

    def _read_stakes(self, known: Node | None) -> Stakes:
        pod, source, now = self._pod, self._source, present(self._source)
        node = read_node_reach(pod.spec.node_name, source, now, known)
        budgets = self._gatherer.noted(self._gatherer.list(PDBS, pod.metadata.namespace))
        refused = None if budgets is None else Evictions(budgets).refused(pod)
        ending = pod_ending(pod, quiet=node.ends_unknown, node=known)
        hold, way = None, ""
        if budgets and refused is not None:
            others = read_or_none(self._gatherer.list(PODS, pod.metadata.namespace)) or ()
            hold, way = eviction_hold(pod, self._gatherer.as_wanted(budgets, [pod], others))
        owner, guards = owner_guarantee(pod), read_guards(pod, source, node=known)
        members, renewed = self._members(), None
        if node.reach not in {Reach.GONE, Reach.UNKNOWN}:
            with contextlib.suppress(ClusterError):
                renewed = read_renewed(node.name, source)
        return Stakes(
            owner=owner,
            members=members,
            node=node,
            renewed=renewed,
            volumes=guards,
            safety=pod_force_safety(owner.guarantee, self._plan, node, guards),
            eviction_refused=refused,
            eviction_hold=hold,
            eviction_way=way,
            deleted=ending.deleted_at,
            collected_by=ending.collected_by,
            stays=known is not None and not goes(pod, known.spec.taints),
            may_run_until=ending.ends_by,
        )

    def _members(self) -> Members | None:
        owner, namespace = owner_guarantee(self._pod), self._pod.metadata.namespace
        if owner.guarantee is not Guarantee.AT_MOST_ONE:
            return None
        stateful_set = self._gatherer.noted(self._gatherer.get(STATEFUL_SETS, owner.name, namespace))
        siblings = self._gatherer.noted(self._gatherer.list(PODS, namespace))
        if stateful_set is None or siblings is None:
            return None
        replicas = stateful_set.spec.replicas
        return members(self._pod, 1 if replicas is None else replicas, siblings, self._answers)

    def _answers(self, node: str) -> bool:
        self._gatherer.noted(self._gatherer.get(LEASES, node, LEASE_NAMESPACE))
        return not (found := self._gatherer.reach(node).reach).quiet and found is not Reach.UNKNOWN
