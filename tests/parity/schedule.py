"""Suite ``schedule``: one pod, one cluster, kube-scheduler's verdict on every node, its scores, what it preempts."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Final

from podrules.api.features import Features
from podrules.api.model.decode import from_object
from podrules.api.model.pod import Pod
from podrules.api.model.snapshot import ClusterSnapshot
from podrules.scheduling.scheduler.cycle import FilterResult, filter_nodes, pre_enqueue, score_nodes
from podrules.scheduling.scheduler.framework.answers import Code, Status
from podrules.scheduling.scheduler.framework.node_table import NodeTable
from podrules.scheduling.scheduler.plugins.dynamic_resources import DynamicResources, DynamicResourcesState
from podrules.scheduling.scheduler.plugins.dynamic_resources.pools import AllocatedDevice
from podrules.scheduling.scheduler.preemption import PostFilter, Preemption, preempt
from podrules.scheduling.scheduler.profile import read_profiles
from podrules.scheduling.scheduler.runtime import PLUGIN_ARGS, new_framework
from tests.scheduling import unschedulable_plugins

Answer = dict[str, Any]

_NOW: Final = datetime(2026, 6, 1, tzinfo=UTC)
"""When upstream was asked; any time does: what runs out in a case did so in 2020 or does in 2999."""


def answer_schedule(case: Mapping[str, Any], features: Features, *, devices: bool = False) -> Answer:
    """The answer to one case, in the shape of ``expected``.

    Args:
        case: Its input.
        features: What holds in the version that was asked.
        devices: Whether to say which devices each node would give.
    """
    pod = from_object(case["pod"], Pod)
    snapshot = from_object({key: value for key, value in case.items() if isinstance(value, list)}, ClusterSnapshot)
    profile = read_profiles(case["schedulerConfiguration"], PLUGIN_ARGS)["default-scheduler"]
    framework = new_framework(profile, features)
    held = pre_enqueue(pod, snapshot, framework, features=features)
    if not held.ok:
        return {"preEnqueue": _status(held)}
    table = NodeTable(snapshot.nodes, snapshot.pods)
    filtered = filter_nodes(pod, table, snapshot, features=features, framework=framework, now=_NOW)
    answer = _filtered(filtered)
    if devices and (allocations := _allocations(filtered)):
        answer["draAllocations"] = allocations
    if filtered.error:
        return answer | {"error": filtered.error}
    if not len(filtered.feasible):
        return answer | _unschedulable(filtered, pod)
    return answer | _scored(filtered, pod)


def answer_schedule_dra(case: Mapping[str, Any], features: Features) -> Answer:
    """The same, with the devices."""
    return answer_schedule(case, features, devices=True)


def _filtered(filtered: FilterResult) -> Answer:
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


def _allocations(filtered: FilterResult) -> Answer:
    """By node the devices for each claim; upstream asks for them only where no plugin before has rejected the node."""
    state = filtered.context.states.get(DynamicResources.name)
    if not isinstance(state, DynamicResourcesState):
        return {}
    order = [plugin.name for plugin in filtered.framework.filter]
    before = frozenset(order[: order.index(DynamicResources.name)])
    names = filtered.context.table.names
    return {
        names[row]: [[_device(device) for device in claim] for claim in claims]
        for row, claims in state.allocations.items()
        if filtered.considered[row] and before.isdisjoint(filtered.rejecting(row))
    }


def _device(device: AllocatedDevice) -> Answer:
    found: Answer = {"request": device.request, "device": str(device.id)}
    if device.consumed:
        found["consumed"] = {name: str(amount) for name, amount in device.consumed.items()}
    return found


def _unschedulable(filtered: FilterResult, pod: Pod) -> Answer:
    answer: Answer = {
        "message": filtered.message,
        "unschedulablePlugins": sorted(unschedulable_plugins(filtered)),
    }
    names = filtered.context.table.names
    if len(filtered.rejected) != len(names):
        left_out = _status(_of_the_left_out(filtered))
        judged = {**filtered.nominated, **filtered.rejected}
        answer["nodeStatuses"] = {name: _status(judged[name]) if name in judged else left_out for name in names}
    if pod.spec.node_name:
        # Such a pod is never given to the scheduler; the oracle does not ask either.
        return answer
    found = preempt(filtered, filtered.context.snapshot.pod_disruption_budgets)
    return answer | {"message": found.message, "postFilter": _post_filter(filtered, found)}


def _of_the_left_out(filtered: FilterResult) -> Status:
    """What the scheduler notes of nodes that it does not look at."""
    if not filtered.pre_filter.status.ok:
        return filtered.pre_filter.status
    return Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, (filtered.left_out,))


def _post_filter(filtered: FilterResult, found: PostFilter) -> Answer:
    answer = _status(found.status)
    preemption = found.preemption or Preemption()
    answer["potentialNodes"] = list(preemption.potential_nodes)
    if preemption.not_eligible:
        answer["notEligible"] = preemption.not_eligible
    elif preemption.potential_nodes:
        answer["candidates"] = {
            candidate.node: {
                "victims": [f"{pod.metadata.namespace}/{pod.metadata.name}" for pod, _ in candidate.victims],
                "numPDBViolations": candidate.num_pdb_violations,
            }
            for candidate in preemption.candidates
        }
        answer["noCandidate"] = {name: _status(status) for name, status in preemption.no_candidate.items()}
    if preemption.error:
        answer["dryRunError"] = preemption.error
    if found.nominates is not None:
        answer["nominatingMode"] = "Override"
        if found.nominates:
            answer["best"] = list(found.nominates)
        if found.nominated_node_name is not None:
            answer["nominatedNodeName"] = found.nominated_node_name
    return answer


def _scored(filtered: FilterResult, pod: Pod) -> Answer:
    scored = score_nodes(filtered)
    if scored.fails:
        return {"error": scored.error}
    if scored.error:
        status = {"code": "Error", "reasons": [scored.error]}
        return {"feasibleNodesSeenByScheduler": 1, "skipScorePlugins": sorted(scored.skipped), "score": status}
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
