"""Which memory limit a container reached: its own, its pod's, or the node's; as far as the evidence shows.

Events about the node report OOM kills: the victim, and whether the whole node ran out of memory.

    SystemOOM     the kubelet's: "System OOM encountered, victim process: java, pid: 18421". It reports only victims
                  that it cannot attribute to a container's cgroup: those of a shortage of the node
    OOMKilling    node-problem-detector's copy of the kernel's line: "Out of memory: Killed process …" is the node's
                  shortage, "Memory cgroup out of memory: …" that of a cgroup. Without this prefix it may be either
    a container   an event is about its end if both came within seconds on the node's clock. It may be about another
                  process of these seconds. The counter behind OOMKilled counts both kinds of kill

Source: pkg/kubelet/oom/oom_watcher_linux.go at v1.36.3; config/kernel-monitor.json of kubernetes/node-problem-detector;
__oom_kill_process in mm/oom_kill.c of Linux 6.18.

The pod's status and the other pods of the node show the limit:

    OOMKilled      the runtime's reason. On cgroup v1 every container in a cgroup that ran out gets it, even if only a
                   child was killed: PID 1 may live on and end much later, for any cause
                   (mem_cgroup_oom_notify notifies all descendants). On v2 it counts killed processes of the container
    whole          on cgroup v2, unless singleProcessOOMKill, the kernel kills all processes of the container together
                   (memory.oom.group): OOMKilled with exit code 137 is then its end
    137 without    the runtime may have missed it: it read the counter after the container had ended
    no limit       neither the container nor the pod has a limit: only the node can have run out
    not the node's another container of the node, which started earlier and still runs, would have been killed first:
                   its oom_score_adj outweighs all the memory that this one may use
    events         the kubelet or node-problem-detector reports a kill within these seconds. They rank the node
                   or the limits first; with both kinds, the limits if a cgroup's kill is nearer, else both

The kubelet's version shows the cgroup version of its node: from 1.35 it does not start on v1, unless failCgroupV1 is
false.

Source: mm/memcontrol.c (mem_cgroup_oom_notify, mem_cgroup_get_oom_group), mm/oom_kill.c (oom_badness) of Linux 6.18;
pkg/kubelet/kuberuntime/kuberuntime_container_linux.go, pkg/kubelet/kubelet.go (failCgroupV1) at v1.36.3.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from typing import Final

from msgspec import Struct

from podrules.api.features import CHANGES, minor_of
from podrules.api.model.event import Event
from podrules.api.model.instant import instant, later
from podrules.api.model.pod import ContainerRef, Pod
from podrules.api.model.quantity import ZERO
from podrules.ending.died.cause import Cause, Clue, EvidenceSource, Weight
from podrules.ending.died.evidence import Evidence
from podrules.pod.cgroup import container_resource_config, pod_resource_config
from podrules.pod.container_state import OOM_KILLED, Termination, status_of
from podrules.pod.oom import container_oom_score_adjs
from podrules.pod.resources import MEMORY

_NODE_KIND: Final = "Node"
_SYSTEM: Final = "SystemOOM"
_KERNEL: Final = "OOMKilling"
_MAX_READ: Final = 1000
"""The number of characters of a message that are read."""
_VICTIM: Final = r"victim process: ([^,\n]{1,40}), pid: (\d{1,10})|\bKill(?:ed)? process (\d{1,10}) \(([^)\n]{1,40})\)"
OF_CGROUP: Final = "Memory cgroup out of memory"
_OF_NODE: Final = "Out of memory: Kill"
_HOUR: Final = 3600
_NEAR: Final = 10
"""The seconds between the kernel's kill and the event, which may come before the runtime sees the end."""
SIGKILL_CODE: Final = 137
_NODE: Final = Cause.NODE_OUT_OF_MEMORY
_AT_START: Final = "container init was OOM-killed"
_SHOWS_CGROUP: Final = 31
"""The first minor version with failCgroupV1 in the kubelet's configuration."""
_FAILS_ON_V1: Final = CHANGES["fail_cgroup_v1"].since
"""The first minor version with that as its default."""
_MEMORY_MEDIUM: Final = "Memory"
_TOGETHER: Final = timedelta(seconds=5)
"""One shortage of the node ends all its containers within this time."""


class OomKill(Struct, frozen=True, rename="camel"):
    """One event about OOM kills."""

    reason: str
    """The reason of the event: ``SystemOOM``, ``OOMKilling``."""
    process: str
    """The kernel's name of the victim; empty: not named."""
    first: str | None
    at: str | None
    """The last time of the event."""
    times: int
    of_node: bool | None
    """Whether the whole node ran out of memory; False: a cgroup did. None: the message does not show which."""
    message: str


def oom_kills(events: Iterable[Event]) -> Iterator[OomKill]:
    """The kills that events about nodes report."""
    for event in events:
        if event.reason not in {_SYSTEM, _KERNEL}:
            continue
        text = event.message[:_MAX_READ]
        found = re.search(_VICTIM, text)
        process = (found[1] or found[4]) if found is not None else ""
        of_node = True if event.reason == _SYSTEM or _OF_NODE in text else None
        of_node = False if OF_CGROUP in text else of_node
        yield OomKill(event.reason, process, event.first, event.last, event.times, of_node, text)


def oom_kills_near(events: Iterable[Event], end: Termination) -> list[OomKill]:
    """The kills that may have ended a container: both times are from its node's clock."""
    return [one for one in oom_kills(events) if seconds_apart(one, end) <= _NEAR]


def seconds_apart(kill: OomKill, end: Termination) -> float:
    """The seconds between an end and the event about a kill; at most 10 if the event recurred around the end."""
    first, last, ended = instant(kill.first), instant(kill.at), instant(end.finished_at)
    if first is None or last is None or ended is None:
        return math.inf
    apart = min(abs((ended - first).total_seconds()), abs((ended - last).total_seconds()))
    return min(apart, _NEAR) if first <= ended <= last else apart


def of_both(kills: Collection[OomKill]) -> bool:
    """Whether some kills are of the whole node, and others of a cgroup."""
    return any(one.of_node for one in kills) and any(one.of_node is False for one in kills)


def node_shortages(events: Iterable[Event], now: datetime | None) -> dict[str, OomKill]:
    """The latest kill of the last hour in which a whole node ran out of memory, by the node's name."""
    found: dict[str, OomKill] = {}
    for event in sorted(events, key=lambda one: one.last or ""):
        when = instant(event.last)
        about_node = event.involved_object.kind == _NODE_KIND
        if not about_node or now is None or when is None or when < later(now, -_HOUR):
            continue
        for kill in oom_kills([event]):
            if kill.of_node:
                found[event.involved_object.name] = kill
    return found


class MemoryLimits(Struct, frozen=True, rename="camel"):
    """The memory limits of the cgroups of a container, in bytes; None: none."""

    own: int | None
    """Its own limit, or the pod's if it has only that one: the kubelet applies it to the container."""
    own_field: str
    """The field that sets it; empty: the container has no own limit."""
    pod: int | None
    """The limit of the pod's cgroup."""
    pod_field: str
    """``spec.resources.limits.memory``; empty: it is the sum of its containers' limits."""
    request: int
    """The container's request."""


class Survivor(Struct, frozen=True, rename="camel"):
    """A running container that the kernel would have killed before another."""

    namespace: str
    pod: str
    container: str
    oom_score_adj: int


def kills_whole_container(evidence: Evidence) -> bool | None:
    """Whether the kernel kills all processes of a container together; None: not known."""
    node, config = evidence.node, evidence.config
    if node is None or config is None:
        return None
    minor = minor_of(node.status.node_info.kubelet_version)
    if minor is None or minor < _SHOWS_CGROUP:
        return None
    if not (minor >= _FAILS_ON_V1 if config.fail_cgroup_v1 is None else config.fail_cgroup_v1):
        return None
    return not config.single_process_oom_kill


def start_ran_out(message: str) -> bool:
    """Whether the runtime reports that it could not start a container because it ran out of memory at once."""
    return _AT_START in message


def pod_memory_limit(pod: Pod) -> int | None:
    """The limit of the pod's cgroup in bytes, shared by all of its containers; None: no limit."""
    return pod_resource_config(pod).memory or None


def memory_limits(pod: Pod, ref: ContainerRef, of_pod: int | None) -> MemoryLimits:
    """The limits that a container can reach, with that of its pod (`pod_memory_limit`)."""
    own = ref.container.resources.limits.get(MEMORY)
    whole = pod.spec.resources.limits.get(MEMORY) if pod.spec.resources is not None else None
    return MemoryLimits(
        own=container_resource_config(pod, ref).memory or None,
        own_field=f"{ref.field}.resources.limits.memory" if own is not None and not own.is_zero else "",
        pod=of_pod,
        pod_field="spec.resources.limits.memory" if whole is not None else "",
        request=ref.container.resources.requests.get(MEMORY, ZERO).value,
    )


def memory_weights(
    evidence: Evidence, pod: Pod, ref: ContainerRef, end: Termination
) -> tuple[dict[Cause, Weight], dict[Cause, list[Clue]]]:
    """The memory limits that a container may have reached, and the evidence for each."""
    limits, said = memory_limits(pod, ref, evidence.pod_limit), end.reason == OOM_KILLED
    reason = Clue(EvidenceSource.POD, "reason", OOM_KILLED, end.finished_at)
    weights: dict[Cause, Weight] = {}
    clues: dict[Cause, list[Clue]] = {}
    kills = oom_kills_near(evidence.known_node_events.events, end)
    base = Weight.MUCH if start_ran_out(end.message) or (said and end.exit_code == SIGKILL_CODE) else Weight.SOME
    if limits.own_field:
        weights[Cause.OWN_MEMORY_LIMIT] = base
    if _pod_may_run_out(pod, limits):
        weights[Cause.POD_MEMORY_LIMIT] = base if _pod_is_tighter(pod, limits) else Weight.POSSIBLE
    if survivor(evidence, pod, ref, end) is None:
        others = list(_ended_together(evidence, end))
        sure = bool(others) or not weights
        weights[Cause.NODE_OUT_OF_MEMORY] = base if sure else Weight.POSSIBLE
        clues[Cause.NODE_OUT_OF_MEMORY] = others
        _weigh_kills(weights, kills, end)
    for kill in kills:
        # An event reports one kill: with events of both kinds, either may be this one.
        concerned = [] if of_both(kills) else [one for one in weights if (one is _NODE) is kill.of_node]
        for cause in concerned or weights:
            clue = Clue(EvidenceSource.NODE_EVENT, kill.reason, kill.message, kill.at)
            clues.setdefault(cause, []).append(clue)
    for cause in weights if said else ():
        clues.setdefault(cause, []).insert(0, reason)
    return weights, clues


def _weigh_kills(weights: dict[Cause, Weight], kills: Sequence[OomKill], end: Termination) -> None:
    """Let events decide between the node and the limits: with both kinds the nearer one, and never only the node."""
    limits = [cause for cause in weights if cause is not _NODE]
    if of_both(kills) and limits:
        nearest = {kind: min(seconds_apart(one, end) for one in kills if one.of_node is kind) for kind in (True, False)}
        weights |= {cause: Weight.MUCH for cause in limits if weights[cause] is not Weight.POSSIBLE}
        weights[_NODE] = Weight.SOME if nearest[False] < nearest[True] else Weight.MUCH
    elif any(kill.of_node for kill in kills):
        weights |= {cause: min(weights[cause], Weight.SOME) for cause in limits}
        weights[_NODE] = Weight.MUCH
    elif any(kill.of_node is False for kill in kills) and limits:
        weights |= {cause: max(weights[cause], Weight.SOME) for cause in limits}
        weights[_NODE] = Weight.POSSIBLE


def _pod_may_run_out(pod: Pod, limits: MemoryLimits) -> bool:
    """Whether the pod's cgroup has a limit that is not the limit of its only container."""
    if limits.pod is None:
        return False
    several = len(pod.spec.containers) + sum(one.restarts_always for one in pod.spec.init_containers) > 1
    return several or not limits.own_field or _has_memory_volume(pod) or limits.pod != limits.own


def _pod_is_tighter(pod: Pod, limits: MemoryLimits) -> bool:
    """Whether the containers can reach the pod's limit before each reaches its own."""
    own = [one.resources.limits.get(MEMORY, ZERO).value for one in pod.spec.containers]
    sidecars = [one for one in pod.spec.init_containers if one.restarts_always]
    own += [one.resources.limits.get(MEMORY, ZERO).value for one in sidecars]
    return limits.pod is not None and (not all(own) or sum(own) > limits.pod or _has_memory_volume(pod))


def _has_memory_volume(pod: Pod) -> bool:
    """Whether the pod has volumes in memory: after a restart only the pod's cgroup counts their files."""
    return any(one.empty_dir is not None and one.empty_dir.medium == _MEMORY_MEDIUM for one in pod.spec.volumes)


def survivor(evidence: Evidence, pod: Pod, ref: ContainerRef, end: Termination) -> Survivor | None:
    """A container that the kernel would have killed first if the node had run out; None: none is known."""
    ended, node = instant(end.finished_at), evidence.node
    most = container_resource_config(pod, ref).memory or evidence.pod_limit
    if ended is None or node is None or most is None:
        return None
    capacity = node.status.capacity.get(MEMORY, ZERO).value
    # The smallest amount that scores may relate to is that of all pods.
    total = min(capacity, node.status.allocatable.get(MEMORY, ZERO).value or capacity)
    own = container_oom_score_adjs(pod, capacity).get(ref.field)
    if own is None or not total:
        return None
    for other in evidence.neighbours or ():
        scores = container_oom_score_adjs(other, capacity)
        for theirs in () if other.finished else other.containers():
            status = status_of(other, theirs.container.name)
            began = None if status is None else status.runs_since
            if began is None or began >= ended:
                continue
            adj = scores.get(theirs.field)
            # Its memory also counts; the amount is not known and counts as 0.
            if adj is not None and (adj.value - own.value) * total > 1000 * most:
                meta = other.metadata
                return Survivor(meta.namespace, meta.name, theirs.container.name, adj.value)
    return None


def _ended_together(evidence: Evidence, end: Termination) -> Iterator[Clue]:
    """Containers without a limit, of other pods on the node, that ran out of memory within the same seconds."""
    ended = instant(end.finished_at)
    for pod in evidence.neighbours or ():
        for status in pod.status.of_containers:
            theirs = status.latest_end
            when = instant(theirs.finished_at) if theirs is not None else None
            if theirs is None or theirs.reason != OOM_KILLED or when is None or ended is None:
                continue
            if abs(when - ended) <= _TOGETHER and not _has_limit(pod, status.name):
                name = f"{pod.metadata.namespace}/{pod.metadata.name}/{status.name}"
                yield Clue(EvidenceSource.NEIGHBOUR, name, OOM_KILLED, theirs.finished_at)


def _has_limit(pod: Pod, container: str) -> bool:
    """Whether a container may have reached a limit of its own or its pod's."""
    if pod_resource_config(pod).memory:
        return True
    return any(
        one.container.name == container and container_resource_config(pod, one).memory for one in pod.containers()
    )
