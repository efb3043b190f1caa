"""The sentences about NoExecute taints of a node that answers."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from kubectl_plugin.reports.node.node_facts import NodeFacts
from kubectl_plugin.reports.pod.pod_status import PodStatusReport
from kubectl_plugin.reports.verdict import Severity, Verdict, VerdictCode
from kubectl_plugin.views.words import clock, counted, listed
from podrules.api.model.instant import instant
from podrules.ending.deleted_pod import PATIENCE
from podrules.pod.tolerations import Eviction


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
        found.append(Verdict(VerdictCode.NODE_NOT_READY, Severity.NOTICE, (stays,)))
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
