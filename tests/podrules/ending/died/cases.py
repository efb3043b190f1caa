"""The recorded ends: each with its cause, and all that the API server and the kubelet showed afterwards."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from msgspec import Struct

from cluster_io.end_evidence import EndReader
from cluster_io.errors import NotFound
from cluster_io.gather import Gatherer
from cluster_io.in_memory import MemorySource
from cluster_io.kinds import PODS
from podrules.ending.died.cause import Cause
from podrules.ending.died.evidence import Evidence
from tests.tree import ROOT

FOLDER: Final = ROOT / "tests" / "testdata" / "died"
REAL_NODE: Final = FOLDER / "real_node.jsonl.gz"


class RecordedEnd(Struct, frozen=True):
    """One end."""

    id: str
    """``own-memory-limit/restarts``: the action and its variation."""
    cause: Cause
    """The action."""
    container: str
    """The container that ended; empty: the pod."""
    evidence: Evidence
    """The remaining evidence."""


def recorded_ends(file: Path = REAL_NODE) -> Iterator[RecordedEnd]:
    """The recorded ends of a file."""
    yield from map(recorded_end, recorded_clusters(file))


def recorded_clusters(file: Path = REAL_NODE) -> Iterator[dict[str, Any]]:
    """The clusters after the ends, as recorded."""
    with gzip.open(file, "rt", encoding="utf-8") as lines:
        yield from map(json.loads, lines)


def recorded_end(case: dict[str, Any]) -> RecordedEnd:
    """One recorded end, as written."""
    return RecordedEnd(case["id"], Cause(case["cause"]), case["container"], _evidence(case))


def source_of(case: dict[str, Any]) -> MemorySource:
    """The cluster of a case."""
    return MemorySource(
        case["objects"],
        description=case["id"],
        now=datetime.fromisoformat(case["at"]),
        namespace=case["namespace"],
        kubelets=case["kubelets"],
    )


def _evidence(case: dict[str, Any]) -> Evidence:
    source = source_of(case)
    reader = EndReader(Gatherer(source))
    try:
        pod = source.get(PODS, case["pod"], case["namespace"])
    except NotFound:
        return reader.of_name(case["pod"], case["namespace"]).evidence
    known = reader.of_pod(pod).evidence
    if case["gone"]:
        # Another pod has its name now.
        return reader.of_name(case["pod"], case["namespace"], present=pod).evidence
    return known
