"""Suite ``schedule``: one pod, one cluster, kube-scheduler's verdict on every node and its scores.

What preemption adds (``postFilter``, and the end of ``message`` where it ran) is not answered.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from podrules.features import REFERENCE
from podrules.model.decode import from_object
from podrules.model.pod import Pod
from podrules.model.snapshot import ClusterSnapshot
from podrules.scheduler.cycle import Filtered, filter_nodes, pre_enqueue, score_nodes
from podrules.scheduler.framework.node_table import NodeTable
from podrules.scheduler.framework.status import Status
from podrules.scheduler.profile import read_profiles
from podrules.scheduler.registry import PLUGIN_ARGS

__all__ = ["answer_schedule"]

Answer = dict[str, Any]


def answer_schedule(case: Mapping[str, Any]) -> Answer:
    """The answer to one case, in the shape of ``expected``."""
    pod = from_object(case["pod"], Pod)
    snapshot = from_object({key: value for key, value in case.items() if isinstance(value, list)}, ClusterSnapshot)
    held = pre_enqueue(pod, snapshot)
    if not held.ok:
        return {"preEnqueue": _status(held)}
    profile = read_profiles(case["schedulerConfiguration"], PLUGIN_ARGS)["default-scheduler"]
    table = NodeTable(snapshot.nodes, snapshot.pods)
    filtered = filter_nodes(pod, table, snapshot, features=REFERENCE, args=profile.args)
    answer = _filtered(filtered)
    if filtered.error:
        return answer | {"error": filtered.error}
    if not len(filtered.feasible):
        return answer | {
            "message": filtered.message,
            "unschedulablePlugins": sorted(filtered.unschedulable_plugins),
        }
    return answer | _scored(filtered, pod)


def _filtered(filtered: Filtered) -> Answer:
    pre_filter = _status(filtered.pre_filter.status)
    if filtered.pre_filter.skipped:
        pre_filter["skipFilterPlugins"] = sorted(filtered.pre_filter.skipped)
    if filtered.pre_filter.node_names is not None:
        pre_filter["nodes"] = sorted(filtered.pre_filter.node_names)
    names = filtered.context.table.names
    return {
        "preFilter": pre_filter,
        "rejected": {name: _status(status) for name, status in filtered.rejected.items()},
        "feasible": [names[row] for row in filtered.feasible],
    }


def _scored(filtered: Filtered, pod: Pod) -> Answer:
    scored = score_nodes(filtered)
    names = [filtered.context.table.names[row] for row in scored.feasible]
    answer: Answer = {
        "feasibleNodesSeenByScheduler": len(names),
        "scorePlugins": list(scored.by_plugin),
        "skipScorePlugins": sorted(scored.skipped),
        "scores": {name: [int(scores[row]) for scores in scored.by_plugin.values()] for row, name in enumerate(names)},
        "totals": {name: int(scored.totals[row]) for row, name in enumerate(names)},
        "best": [filtered.context.table.names[row] for row in scored.best],
    }
    if pod.status.nominated_node_name in names:
        answer |= {"pickedNominatedNode": pod.status.nominated_node_name, "feasibleNodesSeenByScheduler": 1}
    return answer


def _status(status: Status) -> Answer:
    found: Answer = {"code": str(status.code)}
    if status.plugin:
        found["plugin"] = status.plugin
    if status.reasons:
        found["reasons"] = list(status.reasons)
    return found
