"""What ended one pod, or a container of it; in a short form for answers about more than one end."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from typing import Final, Literal

from msgspec import Struct, field

from kubectl_plugin.reports import API_VERSION
from podrules.api.model.instant import instant, later
from podrules.api.model.node import Node
from podrules.api.model.pod import Pod, Probe
from podrules.api.model.selectors import Toleration
from podrules.ending.died.cause import Cause, Grade
from podrules.ending.died.evidence import KnownEnd, Replacement
from podrules.ending.died.gone import LOST_NODE
from podrules.ending.died.of_pod import EndOf, PodEnd, last_end
from podrules.pod.reading import Owner, UnreadInput
from podrules.pod.tolerations import DEFAULT_TOLERATION_SECONDS, NO_EXECUTE, eviction_after, tolerations_tolerate_taint
from podrules.pod.versions import VersionNote, Versions, version_notes
from podrules.scheduling.placement.preemption_victims import PreemptionRecord
from podrules.workload.evictors import Evictor

_SCALED: Final = frozenset({"ReplicaSet", "ReplicationController"})


class ContainerSpec(Struct, frozen=True, rename="camel"):
    """The fields of a container's spec that affect its end."""

    name: str
    field: str
    """``spec.containers[0]``."""
    liveness: Probe | None
    startup: Probe | None
    pre_stop: bool
    post_start: bool


class EndReport(Struct, frozen=True, kw_only=True, rename="camel", tag_field="kind", tag="EndExplanation"):
    """The cause of a pod's last end, with its evidence."""

    api_version: Literal["kubectl-qos/v1"] = API_VERSION
    name: str
    namespace: str
    source: str
    rules_version: str
    server_version: str | None
    version_notes: tuple[VersionNote, ...]
    exists: bool
    """Whether the pod's object still exists."""
    earlier: bool
    """A pod of that name exists, and this report is about an earlier pod with the name."""
    node: str
    phase: str
    restart_policy: str
    priority: int | None
    grace_seconds: int | None
    """spec.terminationGracePeriodSeconds."""
    active_deadline_seconds: int | None
    owner: Owner | None
    owner_missing: bool = field(name="ownerGone")
    """Whether its controller no longer exists, or is being deleted."""
    end: PodEnd
    containers: tuple[ContainerSpec, ...]
    """The containers that ended."""
    cordoned: bool
    """Its node is unschedulable now, as after `kubectl drain`."""
    silent: bool
    """Its node does not answer (Ready is Unknown): unknown whether its processes have ended."""
    node_clock_ahead_seconds: int
    """How far its node's clock is ahead of the API server's, by the kubelet's events; below 0: behind; 0: not more
    than a late event explains."""
    taints: tuple[str, ...]
    """The current taints of its node that delete it: it does not tolerate them, or only for a time. A taint of a lost
    node comes last if that time was not over."""
    preempted: PreemptionRecord | None
    """Its preemption by the scheduler; None: it was not preempted."""
    replacement: Replacement | None
    """The pod that its controller created instead; None: none is known, or not requested."""
    replacement_sought: bool
    """Whether the pods of its controller were read to find that pod."""
    younger: Replacement | None = None
    """The youngest pod of its controller, if that may be its replacement: unknown when this pod ended."""
    is_surplus: bool = False
    """Whether its controller wanted fewer pods: a ReplicaSet deletes pods only then, and creates no replacement."""
    hint: str = ""
    """The name that was probably meant, if the name is unknown; empty: none is similar."""
    unread: tuple[UnreadInput, ...]

    @property
    def container_spec(self) -> ContainerSpec | None:
        """The spec of the container that ended; None: the pod as a whole ended, or it is not known."""
        return next((one for one in self.containers if one.name == self.end.container), None)


def end_report(
    known: KnownEnd,
    versions: Versions,
    source: str,
    *,
    preempted: PreemptionRecord | None = None,
    earlier: bool = False,
    unread: tuple[UnreadInput, ...] = (),
) -> EndReport:
    """The report of a pod's last end.

    ``earlier``: the report is about an earlier pod, not the one that has the name now.
    """
    evidence = known.evidence
    pod, node, owner, clocks = evidence.pod, evidence.node, evidence.controller, evidence.clocks
    spec = pod.spec if pod is not None else None
    end = last_end(evidence)
    by_owner = (end.verdict.cause, end.verdict.grade) == (Cause.OWNER, Grade.CERTAIN)
    surplus = by_owner and owner is not None and owner.kind in _SCALED and not evidence.owner_missing
    return EndReport(
        name=evidence.name,
        namespace=evidence.namespace,
        source=source,
        rules_version=versions.rules_version,
        server_version=versions.server_version,
        version_notes=version_notes(versions, () if node is None else (node,)),
        exists=pod is not None,
        earlier=earlier,
        node=evidence.node_name,
        phase=pod.status.phase if pod is not None else "",
        restart_policy=spec.restart_policy or "Always" if spec is not None else "",
        priority=spec.priority if spec is not None else None,
        grace_seconds=spec.termination_grace_period_seconds if spec is not None else None,
        active_deadline_seconds=spec.active_deadline_seconds if spec is not None else None,
        owner=None if owner is None else Owner(owner.kind, owner.name),
        owner_missing=evidence.owner_missing,
        end=end,
        containers=() if pod is None else tuple(_specs(pod, end)),
        cordoned=node is not None and node.spec.unschedulable,
        silent=node is not None and node.ready is not None and node.ready.status == "Unknown",
        node_clock_ahead_seconds=round(clocks.ahead.total_seconds()) if clocks.are_apart else 0,
        taints=tuple(_taints(node, None if spec is None else spec.tolerations, instant(end.at))),
        preempted=preempted if end.verdict.cause is Cause.PREEMPTION else None,
        replacement=None if surplus else known.replacement,
        replacement_sought=known.sought,
        younger=None if surplus else known.younger,
        is_surplus=surplus,
        unread=unread,
    )


def _specs(pod: Pod, end: PodEnd) -> Iterator[ContainerSpec]:
    ended = {one.container for one in end.ends}
    for ref in pod.containers():
        own = ref.container
        if own.name not in ended:
            continue
        hooks = own.lifecycle
        yield ContainerSpec(
            own.name,
            ref.field,
            own.liveness_probe,
            own.startup_probe,
            pre_stop=hooks is not None and hooks.pre_stop is not None,
            post_start=hooks is not None and hooks.post_start is not None,
        )


def _taints(node: Node | None, tolerations: Sequence[Toleration] | None, at: datetime | None) -> Iterator[str]:
    """For a removed pod, the tolerations that the API server adds count."""
    endless = [one for one in tolerations or () if one.toleration_seconds is None]
    found: list[tuple[int, str]] = []
    for taint in node.spec.taints if node is not None else ():
        if taint.effect != NO_EXECUTE or tolerations_tolerate_taint(endless, taint):
            continue
        added, lost = instant(taint.time_added), taint.key in LOST_NODE
        stays = None if tolerations is None else eviction_after(tolerations, [taint])
        seconds = DEFAULT_TOLERATION_SECONDS if stays is None else stays.total_seconds()
        early = lost and at is not None and added is not None and later(added, seconds) > at
        found.append((2 if early else 0 if lost else 1, taint.text))
    yield from (text for _, text in sorted(found, key=lambda one: one[0]))


class EndedPod(Struct, frozen=True, rename="camel"):
    """One pod, or a container of it, that ended."""

    namespace: str
    name: str
    container: str
    """Empty: the pod as a whole."""
    at: str | None
    grade: Grade
    causes: tuple[Cause, ...]
    """Several, if the evidence for each is equal."""
    evictor: Evictor | None = None
    """See `PodEnd.evictor`."""


def ended_pods(reports: Iterable[EndReport]) -> Iterator[EndedPod]:
    """The ends that `kubectl qos died` counts: a container that never started has not ended."""
    for report in reports:
        end = report.end
        if end.of is not EndOf.NOTHING and not end.never_began:
            causes = tuple(one.cause for one in end.verdict.suspects)
            yield EndedPod(report.namespace, report.name, end.container, end.at, end.verdict.grade, causes, end.evictor)
