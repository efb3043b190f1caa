"""Clusters with devices, and the answers of kube-scheduler 1.36.3: verdicts, scores, and chosen devices.

Nodes that an earlier plugin rejected are skipped.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

from podrules.api.features import Features
from podrules.api.model.decode import from_object
from podrules.api.model.pod import Pod
from podrules.api.model.snapshot import ClusterSnapshot
from podrules.scheduling.scheduler.framework.answers import Code, Status
from podrules.scheduling.scheduler.framework.interface import CycleContext
from podrules.scheduling.scheduler.framework.node_table import NodeTable
from podrules.scheduling.scheduler.plugins.dynamic_resources import DynamicResources, DynamicResourcesState
from tests.podrules.scheduling.scheduler.plugins.building_devices import NOW
from tests.recorded import FULL_MINOR, recorded

RULES = Features.of_minor(FULL_MINOR)
PLUGIN = DynamicResources()
WRAPPED = 'running "DynamicResources" filter plugin: '

JSON = Mapping[str, Any]


@pytest.mark.parametrize(
    ("given", "expected"),
    [pytest.param(case["input"], case["expected"], id=case["id"]) for case in recorded("schedule_dra")],
)
def test_recorded(given: JSON, expected: JSON) -> None:
    lists = {key: value for key, value in given.items() if isinstance(value, list)}
    snapshot, pod = from_object(lists, ClusterSnapshot), from_object(given["pod"], Pod)
    held = PLUGIN.pre_enqueue(pod, snapshot, RULES)
    if "preEnqueue" in expected:
        assert _plain(held) == (expected["preEnqueue"]["code"], expected["preEnqueue"]["reasons"])
        return
    context = CycleContext(pod, NodeTable(snapshot.nodes, snapshot.pods), snapshot, RULES, {}, {}, NOW)
    found = PLUGIN.pre_filter(context)
    before = expected["preFilter"]
    if before.get("plugin") == PLUGIN.name:
        assert _plain(found.status) == (before["code"], before["reasons"])
    if found.status.rejected or before["code"] != "Success":
        return
    assert (found.status.code is Code.SKIP) == (PLUGIN.name in before.get("skipFilterPlugins", ()))
    context.states[PLUGIN.name] = found.state
    _verdicts_agree(context, found.state, expected)
    _scores_agree(context, expected)


def _verdicts_agree(context: CycleContext, state: DynamicResourcesState | None, expected: JSON) -> None:
    verdicts = PLUGIN.filter(context, state)
    for row, name in enumerate(context.table.names):
        theirs = _theirs(name, expected)
        if theirs is not None:
            assert (str(Code(int(verdicts.codes[row]))), list(verdicts.reasons(row))) == theirs, name
        picked = expected.get("draAllocations", {}).get(name)
        if picked is not None:
            assert state is not None
            mine = [[(one.request, str(one.id)) for one in claim] for claim in state.allocations[row]]
            assert mine == [[(one["request"], one["device"]) for one in claim] for claim in picked], name


def _theirs(node: str, expected: JSON) -> tuple[str, list[str]] | None:
    """This plugin's answer about a node; None if another plugin rejected it first."""
    if node in expected["feasible"]:
        return "Success", []
    said = expected["rejected"].get(node, {})
    reasons = said.get("reasons", [""])
    if said.get("plugin") == PLUGIN.name or reasons[0].startswith(WRAPPED):
        return said["code"], [reason.removeprefix(WRAPPED) for reason in reasons]
    return None


def _scores_agree(context: CycleContext, expected: JSON) -> None:
    if PLUGIN.name not in expected.get("scorePlugins", ()):
        return
    column = expected["scorePlugins"].index(PLUGIN.name)
    rows = np.array([context.table.index[name] for name in expected["scores"]], np.int32)
    mine = PLUGIN.score(context, None, rows)
    assert (mine * 2).tolist() == [row[column] for row in expected["scores"].values()]


def _plain(status: Status) -> tuple[str, list[str]]:
    return str(status.code), list(status.reasons)
