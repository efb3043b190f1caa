"""Bodies that a client may send instead of a review: reviews of each kind, with damaged parts."""

from __future__ import annotations

import copy
import json
from typing import Any

from hypothesis import strategies as st

from cluster_io.demo import demo_objects
from tests.webhook.review_objects import (
    create_review,
    delete_review,
    eviction_review,
    node_deletion_review,
    pod_object,
    update_review,
    workload_object,
)

_WORKLOADS = ("Deployment", "ReplicaSet", "StatefulSet", "DaemonSet", "Job", "CronJob", "ReplicationController")
_DEEP = 3000


def reviews() -> list[bytes]:
    """A good review of each kind."""
    objects = demo_objects()
    pods = [entry for entry in objects if entry["kind"] == "Pod"]
    nodes = [entry for entry in objects if entry["kind"] == "Node"]
    return [
        create_review(pod_object(name="web", priorityClassName="shop-high", terminationGracePeriodSeconds=0)),
        create_review(pod_object(priorityClassName="no-such-class")),
        *(create_review(pod) for pod in pods[:8]),
        *(delete_review(pod) for pod in pods[:8]),
        *(node_deletion_review(node) for node in nodes[:2]),
        *(create_review(workload_object(kind, "shop-high")) for kind in _WORKLOADS),
        *(update_review(workload_object(kind, None)) for kind in _WORKLOADS),
        eviction_review("db-0", "shop", {"gracePeriodSeconds": 0}),
        eviction_review("db-0", "shop", None),
    ]


_REVIEWS = tuple(reviews())
_SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.integers(-(2**70), 2**70),
    st.floats(),
    st.text(max_size=20),
    st.sampled_from(("", "0", "1e999", "-1", "100m", "1Ei", "\x00", "\x1b[2J", "\u202e", "\ud800", "a" * 5000, "pods")),
)
_VALUES = st.recursive(
    _SCALARS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4)
)


@st.composite
def bodies(draw: st.DrawFn) -> bytes:
    """A good review, with some of its values replaced, removed or nested deeply, and some of its bytes damaged.

    Most bodies are still reviews, because other bodies are refused before any handler sees them.
    """
    review: Any = json.loads(draw(st.sampled_from(_REVIEWS)))
    request = review["request"]
    for _ in range(draw(st.integers(0, 4))):
        field = draw(
            st.sampled_from([name for name in ("object", "oldObject", "options") if request[name]] or ["object"])
        )
        request[field] = _spoilt(draw, request[field])
    if _one_in(draw, 8):
        review = _spoilt(draw, review)
    text = json.dumps(review, ensure_ascii=draw(st.booleans()))
    if _one_in(draw, 16):
        text = text.replace('"spec":', '"spec":' + '{"spec":' * _DEEP, 1)
    body = text.encode("utf-8", "surrogatepass")
    if _one_in(draw, 8):
        at = draw(st.integers(0, len(body)))
        body = body[:at] + draw(st.binary(max_size=8)) + body[draw(st.integers(at, len(body))) :]
    return body


def _one_in(draw: st.DrawFn, count: int) -> bool:
    """Not for the smallest draw, which is the most likely."""
    return draw(st.integers(1, count)) == count


def _spoilt(draw: st.DrawFn, value: Any) -> Any:
    """The value with one of the values in it damaged, or unchanged."""
    keys: list[Any] = list(value) if isinstance(value, dict) else list(range(len(value))) if _is_list(value) else []
    if not keys or _one_in(draw, 8):
        return draw(_VALUES)
    key = draw(st.sampled_from(keys))
    changed = copy.copy(value)
    match draw(st.integers(0, 9)):
        case 0:
            del changed[key]
        case 1 if isinstance(changed, dict):
            changed[draw(st.text(max_size=8))] = changed.pop(key)
        case 2 if _is_list(changed):
            changed = changed * 3
        case _:
            changed[key] = _spoilt(draw, changed[key])
    return changed


def _is_list(value: Any) -> bool:
    return isinstance(value, list)
