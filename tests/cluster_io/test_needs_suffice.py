"""The rules answer from the read objects as from the whole cluster: upstream's recorded cases."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

import pytest
from msgspec.structs import fields

from cluster_io.device_kinds import DEVICE_CLASSES, RESOURCE_CLAIM_TEMPLATES, RESOURCE_CLAIMS, RESOURCE_SLICES
from cluster_io.gather import Gatherer
from cluster_io.in_memory import MemorySource
from cluster_io.kinds import ALL_KINDS, Kind
from podrules.api.features import REFERENCE
from podrules.api.model.decode import from_object
from podrules.api.model.pod import Pod
from podrules.api.model.snapshot import ClusterSnapshot
from podrules.scheduling.scheduler.profile import read_profiles
from tests.parity.schedule import answer_schedule
from tests.recorded import recorded

Object = dict[str, Any]

DEVICES = (DEVICE_CLASSES, RESOURCE_CLAIM_TEMPLATES, RESOURCE_CLAIMS, RESOURCE_SLICES)
KINDS = {kind.plural: kind for kind in (*ALL_KINDS, *DEVICES)}
LISTS: Mapping[str, tuple[str, Kind[Any]]] = {
    field.encode_name: (field.name, KINDS[field.encode_name.lower()])
    for field in fields(ClusterSnapshot)
    if field.name != "pod_disruption_budgets"
}
"""A case's lists: fields of the snapshot, and kinds; budgets are only read for preemption."""


def _read(case: Object) -> Object:
    """The case with the objects that are read for its pod."""
    args = read_profiles(case["schedulerConfiguration"])["default-scheduler"].args
    objects = [
        {"apiVersion": kind.api_version, "kind": kind.kind, **entry}
        for name, (_, kind) in LISTS.items()
        for entry in case.get(name, ())
    ]
    cluster = Gatherer(MemorySource(objects, description="a case")).snapshot([from_object(case["pod"], Pod)], args)
    assert (cluster.unread, cluster.error) == ((), None)
    read: Object = {}
    for name, (field, _) in LISTS.items():
        known = {(entry.metadata.namespace, entry.metadata.name) for entry in getattr(cluster.snapshot, field)}
        read[name] = [entry for entry in case.get(name, ()) if _key(entry) in known]
    return {**case, **read}


def _key(entry: Object) -> tuple[str, str]:
    return entry["metadata"].get("namespace", ""), entry["metadata"]["name"]


@pytest.mark.parametrize(
    ("suite", "spared"),
    [
        ("schedule", {"namespaces", "services", "replicationControllers", "replicaSets", "statefulSets"}),
        ("schedule_dra", {"namespaces", "services", "resourceClaims", "resourceSlices", "deviceClasses"}),
    ],
)
def test_less_is_read_and_the_same_is_answered(suite: str, spared: set[str]) -> None:
    left_out: Counter[str] = Counter()
    wrong = []
    for number, recorded_case in enumerate(recorded(suite)):
        case = recorded_case["input"]
        read = _read(case)
        if answer_schedule(read, REFERENCE) != answer_schedule(case, REFERENCE):
            wrong.append(number)
        left_out.update(name for name in LISTS if len(read[name]) < len(case.get(name, ())))
    assert wrong == []
    assert spared <= left_out.keys(), left_out
