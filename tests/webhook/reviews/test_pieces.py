"""Objects that are too rich to be built whole: the parts that are read, omitted, and never omitted."""

from __future__ import annotations

import json
from typing import Any

import pytest
from msgspec.structs import replace

from cluster_io.demo import demo_objects
from cluster_io.kinds import WORKLOADS
from podrules.api.model.base import KubeObject
from podrules.api.model.decode import DecodeError
from podrules.api.model.node import Node
from podrules.api.model.pod import Pod
from tests.webhook.review_objects import pod_object
from webhook.reviews import partial_objects
from webhook.reviews.partial_objects import MAX_VALUES, see

Object = dict[str, Any]
KINDS: dict[str, type[KubeObject]] = {"Pod": Pod, "Node": Node, **{kind.kind: kind.model for kind in WORKLOADS}}
MIRROR = "kubernetes.io/config.mirror"
CONFIRM = "kubectl-qos.io/confirm-force-delete"
MANY = [{"key": f"k{number}"} for number in range(MAX_VALUES + 2)]


def text(obj: Object) -> bytes:
    return json.dumps(obj).encode()


def test_reading_in_pieces_equals_reading_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    """Except annotations that no rule reads."""
    entries = [entry for entry in demo_objects() if entry["kind"] in KINDS]
    whole = [see(text(entry), KINDS[entry["kind"]]) for entry in entries]
    monkeypatch.setattr(partial_objects, "_USUAL_SIZE", 0)
    for entry, expected in zip(entries, whole, strict=True):
        found = see(text(entry), KINDS[entry["kind"]])
        assert not found.left_out
        objects = [
            replace(seen.object, metadata=replace(seen.object.metadata, annotations={})) for seen in (found, expected)
        ]
        assert objects[0] == objects[1]
        assert found.object.metadata.annotations.items() <= expected.object.metadata.annotations.items()


def test_list_with_too_many_values_is_omitted_and_named() -> None:
    seen = see(text(pod_object(name="web", tolerations=MANY, priorityClassName="high")), Pod)
    assert seen.left_out == {"spec.tolerations"}
    assert (seen.object.metadata.name, seen.object.spec.priority_class_name) == ("web", "high")
    assert seen.object.spec.tolerations == ()
    assert len(seen.object.spec.containers) == 1


@pytest.mark.parametrize(
    "changed",
    [
        pytest.param({"args": ["," * 3_000_000]}, id="commas"),
        pytest.param({"env": [{"name": str(number)} for number in range(10)], "args": ["<" * 3_000_000]}, id="long"),
    ],
)
def test_text_that_no_rule_reads_is_ignored(changed: Object) -> None:
    container = {"name": "app", "image": "app", **changed}
    pod = pod_object(name="web", containers=[container], priorityClassName="high", nodeName="n")
    body = text(pod).replace(b"<", b"\\u003c")
    seen = see(body, Pod)
    assert (seen.object.spec.priority_class_name, seen.object.spec.node_name) == ("high", "n")


def test_annotations_that_rules_read_are_read_among_any() -> None:
    given = {f"a{number}": "," for number in range(MAX_VALUES)} | {MIRROR: "x", CONFIRM: "uid"}
    seen = see(text(pod_object(name="web", annotations=given)), Pod)
    assert seen.object.metadata.annotations == {MIRROR: "x", CONFIRM: "uid"}
    assert not seen.left_out


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ({"priorityClassName": "a" * 5000}, "spec.priorityClassName: 5002 bytes are too long"),
        ({"priorityClassName": 7}, "spec.priorityClassName: "),
    ],
)
def test_single_value_is_never_omitted(spec: Object, words: str) -> None:
    with pytest.raises(DecodeError, match=words):
        see(text(pod_object(name="web", tolerations=MANY, **spec)), Pod)


def test_list_with_a_wrong_type_is_omitted() -> None:
    """The API server sends none; a pod with otherwise readable fields is evaluated by these."""
    seen = see(text(pod_object(name="web", volumes=[{"name": 7}], priorityClassName="high")), Pod)
    assert seen.left_out == {"spec.volumes"}
    assert seen.object.spec.priority_class_name == "high"
