"""Every remedy for upstream's recorded clusters is applied to the JSON, and the scheduling cycle runs again."""

from __future__ import annotations

import copy
import re
from collections import Counter
from typing import Any

from podrules.api.model.decode import from_object
from podrules.api.model.pod import Pod
from podrules.api.model.quantity import Quantity
from podrules.api.model.snapshot import ClusterSnapshot
from podrules.scheduling.placement.likely import likely_placement
from podrules.scheduling.placement.outcome import PlacementOutcome, Remedy
from podrules.scheduling.placement.situation import Situation
from podrules.scheduling.scheduler.framework.answers import CandidateChange, ChangeKind
from podrules.scheduling.scheduler.framework.node_table import NodeTable
from podrules.scheduling.scheduler.profile import read_profiles
from podrules.scheduling.scheduler.runtime import PLUGIN_ARGS, new_framework
from tests.recorded import recorded

Case = dict[str, Any]


def _situation(case: Case) -> Situation:
    snapshot = from_object({key: value for key, value in case.items() if isinstance(value, list)}, ClusterSnapshot)
    profile = read_profiles(case["schedulerConfiguration"], PLUGIN_ARGS)["default-scheduler"]
    return Situation(
        pod=from_object(case["pod"], Pod),
        table=NodeTable(snapshot.nodes, snapshot.pods),
        snapshot=snapshot,
        framework=new_framework(profile),
        now=None,
    )


def _applied(case: Case, remedy: Remedy) -> Case:
    changed = copy.deepcopy(case)
    for change in remedy.changes:
        _apply(changed, change)
    return changed


def _apply(case: Case, change: CandidateChange) -> None:
    """Apply a change as a user would make it."""
    pod = case["pod"]
    node: Case = next((node for node in case["nodes"] if node["metadata"]["name"] == change.node), {})
    match change.kind:
        case ChangeKind.UNCORDON:
            node["spec"]["unschedulable"] = False
            _remove_taint(node, "node.kubernetes.io/unschedulable")
        case ChangeKind.TOLERATE:
            taint = re.fullmatch(r"([^=:]+)=?([^:]*):(\w+)", change.value)
            assert taint is not None
            toleration = {"key": taint[1], "operator": "Equal", "value": taint[2], "effect": taint[3]}
            pod["spec"]["tolerations"] = [*pod["spec"].get("tolerations", []), toleration]
        case ChangeKind.REMOVE_TAINT:
            _remove_taint(node, re.split("[=:]", change.value)[0])
        case ChangeKind.SPREAD:
            place = re.fullmatch(r"spec\.topologySpreadConstraints\[(\d+)\]\.(\w+)", change.field)
            assert place is not None
            value = int(change.value) if place[2] in {"maxSkew", "minDomains"} else change.value
            pod["spec"]["topologySpreadConstraints"][int(place[1])][place[2]] = value
        case ChangeKind.FREE | ChangeKind.ENLARGE:
            allocatable = node["status"]["allocatable"]
            for name, amount in change.amounts.items():
                there = Quantity.parse(str(allocatable.get(name, "0")))
                allocatable[name] = str(there + Quantity.parse(f"{amount}m" if name == "cpu" else str(amount)))
        case ChangeKind.LABEL_NODE:
            pairs = dict(pair.split("=") for pair in change.value.split(","))
            node["metadata"]["labels"] = {**node["metadata"].get("labels", {}), **pairs}
        case ChangeKind.DROP:
            _drop(pod["spec"], change)
        case ChangeKind.REMOVE_PODS | ChangeKind.AWAIT_PODS:
            gone = {(entry.namespace, entry.name) for entry in change.pods}
            case["pods"] = [
                entry
                for entry in case["pods"]
                if (entry["metadata"]["namespace"], entry["metadata"]["name"]) not in gone
            ]


def _remove_taint(node: Case, key: str) -> None:
    node["spec"]["taints"] = [taint for taint in node["spec"].get("taints", []) if taint["key"] != key]


def _drop(spec: Case, change: CandidateChange) -> None:
    if change.field == "spec.nodeSelector":
        for pair in change.value.split(", "):
            del spec["nodeSelector"][pair.partition("=")[0]]
        return
    _, *path, last = change.field.split(".")
    for part in path:
        spec = spec[part]
    del spec[last]


def test_every_remedy_lets_the_pod_onto_its_node() -> None:
    kinds: Counter[ChangeKind] = Counter()
    groups = remedied = 0
    for case in (case["input"] for case in recorded("schedule")):
        placement = likely_placement(_situation(case))
        if placement.outcome is not PlacementOutcome.UNSCHEDULABLE:
            assert all(group.remedy is None for group in placement.rejected)
            continue
        for group in placement.rejected:
            groups += 1
            if group.remedy is None:
                continue
            remedied += 1
            kinds.update(change.kind for change in group.remedy.changes)
            after = likely_placement(_situation(_applied(case, group.remedy)), every_node=True)
            assert after.outcome is PlacementOutcome.FITS, (group, after)
            assert group.remedy.node in {score.node for score in after.scores}, group
            assert group.remedy.feasible == after.feasible
    assert remedied > groups / 2
    assert set(kinds) >= set(ChangeKind) - {ChangeKind.REMOVE_TAINT, ChangeKind.ADD_NODE, ChangeKind.ROLL_OUT}, kinds


def test_freed_amount_is_requested_by_removable_pods() -> None:
    """Without all removable pods, the node has enough room at its size; no pod can free more."""
    kinds: Counter[ChangeKind] = Counter()
    for case in map(_with_daemons, (case["input"] for case in recorded("schedule"))):
        placement = likely_placement(_situation(case))
        for remedy in filter(None, (group.remedy for group in placement.rejected)):
            for change in remedy.changes:
                kinds[change.kind] += 1
                if change.kind is ChangeKind.FREE:
                    filtered = _situation(_emptied(case, change.node)).filtered()
                    row = filtered.context.table.index[change.node]
                    assert "NodeResourcesFit" not in filtered.rejecting(row), (case, change)
    assert min(kinds[ChangeKind.FREE], kinds[ChangeKind.ENLARGE]) > 50, kinds


def _with_daemons(case: Case) -> Case:
    """The same cluster, in which every second pod belongs to a DaemonSet."""
    changed = copy.deepcopy(case)
    for pod in changed["pods"][::2]:
        owner = {"apiVersion": "apps/v1", "kind": "DaemonSet", "name": "agent", "uid": "agent", "controller": True}
        pod["metadata"]["ownerReferences"] = [owner]
    return changed


def _emptied(case: Case, node: str) -> Case:
    """The cluster without the pods of a node that a drain moves."""

    def stays(pod: Case) -> bool:
        owners = pod["metadata"].get("ownerReferences", [])
        return pod["spec"].get("nodeName") != node or any(owner["kind"] == "DaemonSet" for owner in owners)

    return {**case, "pods": [pod for pod in case["pods"] if stays(pod)]}
