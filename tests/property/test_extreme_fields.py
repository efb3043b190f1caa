"""Extreme numbers and times: an answer, or an error that names the field; no traceback."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from hypothesis import example, given, settings
from hypothesis import strategies as st

from cluster_io.demo import demo_objects
from kubectl_plugin.exit_codes import NOT_CERTAIN, NOTHING_LEFT
from podrules.api.model.instant import instant
from tests.kubectl_plugin.running import run
from tests.podrules.ending.died.cases import recorded_clusters

Place = tuple[str | int, ...]
MOST: Final = 2**63 - 1
NUMBERS: Final = (0, -1, 9_223_372_037, 10**12, 10**15, MOST - 1, MOST, -MOST - 1)
TIMES: Final = (
    "0001-01-01T00:00:00Z",
    "1969-12-31T23:59:59Z",
    "2099-01-01T00:00:00Z",
    "9999-12-31T23:59:59Z",
    "9999-12-31T23:59:59-23:59",
    "garbage",
    "",
)
SILENT: Final = "node-c3"
POD: Final = "db-1"
CALLS: Final = (
    ("explain", f"pod/{POD}", "-n", "shop"),
    ("explain", f"pod/{POD}", "-n", "shop", "--timeline"),
    ("explain", "pods", "-A"),
    ("explain", "pdb,pvc,pc", "-A"),
    ("node", SILENT),
    ("partitions",),
    ("report", "-A", "-o", "table"),
)
ANSWERED: Final = frozenset({0, NOT_CERTAIN, NOTHING_LEFT})
REFUSED: Final = 6


def _changed() -> list[dict[str, Any]]:
    """The objects of the demo cluster, with fields that only some pods have."""
    objects: list[dict[str, Any]] = json.loads(json.dumps(demo_objects()))
    for entry in objects:
        if entry["kind"] == "Pod" and entry["metadata"]["name"] == POD:
            entry["metadata"] |= {"deletionTimestamp": "2026-10-17T03:07:56Z", "deletionGracePeriodSeconds": 30}
    return objects


OBJECTS: Final = _changed()


def _fields(value: Any, path: Place = ()) -> Iterator[Place]:
    """The paths of numbers and times in an object."""
    if isinstance(value, dict | list):
        for key, below in value.items() if isinstance(value, dict) else enumerate(value):
            yield from _fields(below, (*path, key))
    elif (isinstance(value, int) and not isinstance(value, bool)) or (isinstance(value, str) and instant(value)):
        yield path


FIELDS: Final = [
    (index, *path)
    for index, entry in enumerate(OBJECTS)
    if (entry["kind"], entry["metadata"]["name"])
    in {
        ("Pod", POD),
        ("Node", SILENT),
        ("Lease", SILENT),
        ("PodDisruptionBudget", "db"),
        ("PriorityClass", "shop-high"),
    }
    for path in _fields(entry)
]


def _field(kind: str, *path: str | int) -> Place:
    """A field of what stands in `OBJECTS`."""
    name = POD if kind == "Pod" else SILENT
    index = next(index for index, one in enumerate(OBJECTS) if (one["kind"], one["metadata"]["name"]) == (kind, name))
    return (index, *path)


def _put(objects: Any, path: Place, value: Any) -> None:
    for step in path[:-1]:
        objects = objects[step]
    old = objects[path[-1]]
    objects[path[-1]] = value[isinstance(old, str)]


VALUES: Final = st.tuples(st.sampled_from(NUMBERS), st.sampled_from(TIMES))


@given(st.dictionaries(st.sampled_from(FIELDS), VALUES, min_size=1, max_size=4), st.sampled_from(CALLS))
@example({_field("Pod", "metadata", "deletionGracePeriodSeconds"): (MOST, "")}, CALLS[0])
@example({_field("Pod", "metadata", "deletionGracePeriodSeconds"): (10**14, "")}, CALLS[2])
@example({_field("Pod", "spec", "tolerations", 1, "tolerationSeconds"): (MOST, "")}, CALLS[5])
@example({_field("Pod", "spec", "tolerations", 1, "tolerationSeconds"): (10**12, "")}, CALLS[6])
@example({_field("Pod", "metadata", "deletionTimestamp"): (0, "garbage")}, CALLS[0])
@example({_field("Lease", "spec", "renewTime"): (0, "garbage")}, CALLS[5])
@settings(max_examples=25, deadline=None)
def test_no_number_and_no_time_ends_in_a_traceback(
    changes: dict[Place, tuple[int, str]], call: tuple[str, ...]
) -> None:
    _is_reported(OBJECTS, changes, call)


def _is_reported(objects: Any, changes: Mapping[Place, tuple[int, str]], call: Sequence[str]) -> None:
    """Check that a command answers about changed objects, or names the field in an error."""
    changed = deepcopy(objects)
    for path, value in changes.items():
        _put(changed, path, value)
    with TemporaryDirectory() as folder:
        file = Path(folder, "cluster.json")
        file.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": changed}), encoding="utf-8")
        ran = run(*call, "--snapshot", str(file))
    assert ran.code in ANSWERED | {REFUSED}, ran.err
    assert ran.out if ran.code in ANSWERED else ": " in ran.err, ran.err


@cache
def _ends() -> list[tuple[dict[str, Any], list[Place]]]:
    """The clusters of ends that were made on a real kubelet, each with where its numbers and times stand."""
    return [(case, list(_fields(case["objects"]))) for case in recorded_clusters()]


@given(st.data())
@settings(max_examples=40, deadline=None)
def test_no_number_and_no_time_of_an_end_does_either(data: st.DataObject) -> None:
    case, fields = data.draw(st.sampled_from(_ends()))
    # All that have the name: the field may stand in several objects, and few of them matter.
    names = data.draw(
        st.dictionaries(st.sampled_from(sorted({str(at[-1]) for at in fields})), VALUES, min_size=1, max_size=4)
    )
    changes = {at: names[str(at[-1])] for at in fields if at[-1] in names}
    place = ("-n", case["namespace"])
    pod = f"pod/{case['pod']}"
    calls = [("died", pod, *place, "-o", "wide"), ("died", *place, "--since", "1h"), ("report", "-A", "-o", "table")]
    here = [one["metadata"] for one in case["objects"] if one["kind"] == "Pod"]
    if any((one["namespace"], one["name"]) == (case["namespace"], case["pod"]) for one in here):
        calls.append(("explain", pod, *place))
    call = data.draw(st.sampled_from(calls))
    _is_reported(case["objects"], changes, call)
