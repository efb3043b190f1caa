"""The sentences about nodes on other pages: their platform, their NoExecute taints, and the commands that help."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Final

from msgspec.structs import replace

from kubectl_plugin.render.command import Command, qos
from kubectl_plugin.render.page import Section
from kubectl_plugin.reports.node.node_report import NodeFacts
from kubectl_plugin.reports.pod.pod_status import PodStatusReport
from kubectl_plugin.reports.verdict import Severity, Verdict, VerdictCode
from kubectl_plugin.views.words import clock, counted, listed
from podrules.api.model.instant import instant
from podrules.ending.deleted_pod import PATIENCE
from podrules.node.reachability import NodeReach, Reach
from podrules.pod.platform import Platform
from podrules.pod.tolerations import Eviction

PROVIDER: Final = "its node is a virtual kubelet: what its provider does is unknown"
"""Replaces everything that a kubelet would do."""
NOT_KNOWN: Final = "unknown: a virtual kubelet's provider decides"
"""Replaces a time."""
_PODS: Final = {
    Platform.WINDOWS: (
        "Windows: what its kubelet does when the node runs short is not modelled (kubectl qos why Windows)",
    ),
    Platform.VIRTUAL_KUBELET: (
        f"virtual kubelet: {PROVIDER.rpartition(': ')[2]}",
        "unknown to Kubernetes: when its processes end, and whether any still run",
    ),
}
_NODES: Final = {
    Platform.WINDOWS: ("Windows: what is killed or evicted first is not modelled (kubectl qos why Windows)",),
    Platform.VIRTUAL_KUBELET: (
        "virtual kubelet: there is no kubelet, and what its provider does with pods is unknown",
    ),
}
_NAMES: Final = {
    Platform.LINUX: "Linux",
    Platform.WINDOWS: "Windows",
    Platform.VIRTUAL_KUBELET: "virtual kubelet",
}


def pod_platform_section(platform: Platform) -> Section:
    """The lines about a pod's platform; none for Linux."""
    return Section("Platform", _PODS.get(platform, ()))


def node_platform_section(platform: Platform) -> Section:
    """The lines about a node's platform; none for Linux."""
    return Section("Platform", _NODES.get(platform, ()))


def platform_name(platform: Platform) -> str:
    """``Windows``, ``virtual kubelet``."""
    return _NAMES[platform]


def node_sentences(status: PodStatusReport | None, now: datetime | None) -> tuple[Verdict, ...]:
    """What is wrong with the node of a pod that is not being deleted, and the effect on the pod; may be empty."""
    found: list[Verdict] = []
    node = status.node if status is not None else None
    if status is None or node is None or status.deletion_timestamp or status.phase in {"Failed", "Succeeded"}:
        return ()
    if node.reach is not None and node.reach.reach.quiet:
        return ()
    if node.ready == "False":
        since = instant(node.since)
        unready = f"Its node {node.name} is not Ready{f' since {clock(since, now)}' if since else ''}."
        found.append(Verdict(VerdictCode.NODE_NOT_READY, Severity.NOTICE, (unready,)))
    if node.eviction is not None and node.eviction.comes:
        evicts = _eviction(node.eviction, node.name, now)
        found.append(Verdict(VerdictCode.NODE_TAINT_EVICTS, Severity.TROUBLE, (evicts,)))
    elif node.eviction is not None and found:
        stays = "It stays there: it tolerates the taints of the node for ever."
        found = [replace(one, sentences=(*one.sentences, stays)) for one in found]
    return tuple(found)


def overdue_sentences(node: NodeFacts, now: datetime | None) -> tuple[str, ...]:
    """Says that a taint of a silent node should have deleted the pod by now; empty if none should."""
    eviction = node.eviction
    if eviction is None or not eviction.comes or eviction.at is None or now is None or now - eviction.at <= PATIENCE:
        return ()
    return (_eviction(eviction, node.name, now),)


def count_words(evictions: Sequence[Eviction], now: datetime | None) -> str:
    """How many pods a node's taints delete and when: ``… delete 3 pods: 1 now, 2 at 07:33:20 UTC or later.``."""
    later = sorted(entry.at for entry in evictions if entry.at is not None and (now is None or entry.at > now))
    unknown = sum(entry.at is None and bool(entry.tolerated) for entry in evictions)
    due = len(evictions) - len(later) - unknown
    parts = [f"{due} now"] if due else []
    if later:
        parts.append(f"{len(later)} at {clock(later[0], now)}{' or later' if later[-1] > later[0] else ''}")
    if unknown:
        parts.append(f"{unknown} at an unknown time")
    return f"Its NoExecute taints delete {counted(len(evictions), 'pod')}: {listed(parts)}."


def _eviction(eviction: Eviction, node: str, now: datetime | None) -> str:
    """``Taint maintenance:NoExecute of node mt deletes it at 07:31:00 UTC: it tolerates that for 120 s.``."""
    why = f"it tolerates that for {eviction.tolerated} s" if eviction.tolerated else "it does not tolerate that"
    lead = f"Taint {eviction.taint} of node {node}"
    at = eviction.at
    if at is None:
        return f"{lead} deletes it{' soon' if eviction.tolerated else ' at once'}: {why}."
    if now is None or at > now:
        return f"{lead} deletes it at {clock(at, now)} unless it is removed before: {why}."
    if now - at <= PATIENCE:
        return f"{lead} deletes it now, due at {clock(at, now)}: {why}."
    return (
        f"{lead} should have deleted it at {clock(at, now)}: {why}. kube-controller-manager deletes such pods, so "
        "check that it runs."
    )


def reach_commands(node: NodeReach | None) -> Iterator[Command]:
    """The commands that show and repair a node's state; none if it is in service and answers.

    silent              show the pods that depend on it, then what a fence would do
    heartbeats missed   show the pods that depend on it: it may still come back by itself
    out of service      show the pods that depend on it, then what is left to remove
    gone                show the pods that depend on it: there is no Node to fence
    back                unfence it
    """
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
