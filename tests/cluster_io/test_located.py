"""Lines and columns of fields, comments, and hostile manifests."""

from __future__ import annotations

import json
import re
import tracemalloc
from textwrap import dedent

import pytest

from cluster_io.errors import ManifestError
from cluster_io.manifests import located
from cluster_io.manifests.located import MAX_TEXT, Ignore, LocatedObject, Place, located_objects


def _found(where: str, text: str) -> list[LocatedObject]:
    return [entry for entry in located_objects(where, text) if isinstance(entry, LocatedObject)]


def _one(text: str) -> LocatedObject:
    found = _found("a.yaml", dedent(text))
    assert len(found) == 1
    return found[0]


POD = """\
apiVersion: v1
kind: Pod
metadata:
  annotations: {example.com/a.b: x, "q": 'y'}
spec:
  containers:
  - name: app
    resources:
      limits:
        nvidia.com/gpu: 1
  -   name: other
"""


@pytest.mark.parametrize(
    ("field", "place"),
    [
        ("", (1, 1)),
        ("spec.containers[0]", (7, 5)),
        ("spec.containers[0].name", (7, 5)),
        ("spec.containers[0].resources.limits.nvidia.com/gpu", (10, 9)),
        ("spec.containers[1].name", (11, 7)),
        ("metadata.annotations.example.com/a.b", (4, 17)),
        ("metadata.annotations.q", (4, 37)),
        # An absent field has the place of its nearest parent.
        ("spec.containers[0].resources.limits.example.com/x", (9, 7)),
        ("spec.containers[1].resources.requests.cpu", (11, 7)),
        ("spec.containers[7].name", (6, 3)),
        ("status", (1, 1)),
    ],
)
def test_fields_have_places(field: str, place: tuple[int, int]) -> None:
    assert _one(POD).places.of(field) == Place(*place)


def test_json_has_places_too() -> None:
    text = json.dumps({"apiVersion": "v1", "kind": "Pod", "spec": {"nodeName": "a/b\t\u00e9"}}, indent=2)
    found = _one(text)
    assert found.content["spec"] == {"nodeName": "a/b\t\u00e9"}
    assert found.places.of("spec.nodeName") == (5, 5)
    tabs = json.dumps({"apiVersion": "v1", "kind": "Pod", "spec": {"nodeName": "x"}}, indent="\t")
    assert _one(tabs).places.of("spec.nodeName") == (5, 3)


def test_json_objects_have_places_in_the_whole_text() -> None:
    one = json.dumps({"apiVersion": "v1", "kind": "Pod", "spec": {"nodeName": "x # kubectl-qos: ignore best-effort"}})
    line = f" {one}{one}\n{one}"
    found = [*_found("a", line), *_found("a", "\n" + json.dumps(json.loads(one), indent=2) + one)]
    places = [(entry.document, *entry.places.of("spec.nodeName")) for entry in found]
    column = one.index('"nodeName"') + 1
    assert places == [(1, 1, column + 1), (2, 1, column + 1 + len(one)), (3, 2, column), (1, 6, 5), (2, 8, column + 1)]
    assert not any(entry.ignores for entry in found)


def test_json_that_yaml_does_not_take_has_no_places() -> None:
    found = _one('{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "\\ud83d\\ude00"}}')
    assert found.content["metadata"] == {"name": "\U0001f600"}
    assert found.places.of("metadata.name") == (1, 1)


def test_items_of_lists_have_their_own_places() -> None:
    items = [{"metadata": {"name": name}} for name in ("a", "b")]
    text = json.dumps({"apiVersion": "v1", "kind": "PodList", "items": items}, indent=1)
    found = _found("a", text)
    assert [text.splitlines()[entry.places.of("metadata.name").line - 1].strip() for entry in found] == [
        '"name": "a"',
        '"name": "b"',
    ]


def test_aliases_and_merge_keys_are_where_their_anchor_is() -> None:
    found = _one("""\
        apiVersion: v1
        kind: Pod
        spec:
          a: &a {x: 1}
          b: *a
          c:
            <<: *a
        """)
    assert found.content["spec"] == {"a": {"x": 1}, "b": {"x": 1}, "c": {"x": 1}}
    assert found.places.of("spec.b.x") == found.places.of("spec.c.x") == (4, 10)


COMMENTED = """\
# kubectl-qos: ignore best-effort, grace-zero - a test
apiVersion: v1
kind: Pod
spec:
  # kubectl-qos: ignore node-name-set -- by hand
  # and this is why
  nodeName: a

  priority: 1  # kubectl-qos: ignore priority-without-class
  text: |
    # kubectl-qos: ignore bare-pod
  quoted: " # kubectl-qos: ignore bare-pod"
  glued: a#kubectl-qos:ignore bare-pod
---
#kubectl-qos:ignore
apiVersion: v1
kind: Service
"""


def test_comments_ask_to_ignore() -> None:
    pod, service = (entry.ignores for entry in _found("a", COMMENTED))
    assert pod == (
        Ignore(("best-effort", "grace-zero"), "a test", 1, None),
        Ignore(("node-name-set",), "by hand", 5, 7),
        Ignore(("priority-without-class",), "", 9, 9),
    )
    assert service == (Ignore((), "", 15, None),)


def test_a_comment_counts_for_its_own_document_alone() -> None:
    documents = "kind: A\napiVersion: v1", "kind: B\napiVersion: v1", "# kubectl-qos: ignore x\nkind: C\napiVersion: v1"
    found = _found("a", "\n---\n".join(documents))
    assert [bool(entry.ignores) for entry in found] == [False, False, True]


def test_non_api_objects_are_skipped() -> None:
    assert list(located_objects("values.yaml", "replicas: 3\n---\n# nothing\n---\n")) == [None]


def _bomb(key: str) -> str:
    """Each level contains the previous one twice, by aliases or merge keys."""
    levels = ["apiVersion: v1", "kind: Pod", "l0: &l0 {x: 1}"]
    for level in range(1, 40):
        before = f"[*l{level - 1}, *l{level - 1}]"
        levels.append(f"l{level}: &l{level} " + (f"{{{key}: {before}}}" if key else before))
    return "\n".join(levels)


FEW_VALUES = 5_000
HOSTILE = {
    "aliases": (_bomb(""), "aliases expand"),
    "merge keys": (_bomb("<<"), "aliases expand"),
    "contains itself": ("apiVersion: v1\nkind: Pod\nspec: &a [*a]\n", "aliases expand"),
    "deep brackets": ("[" * 100_000, "nested too deeply|not valid YAML"),
    "deep lists": ("- " * 5_000 + "x", "nested too deeply"),
    "deep json": ('{"a":' * 100_000, "nested too deeply"),
    "many values": ("[" + "1," * FEW_VALUES + "1]", "more than 5000 values"),
    "many values in JSON": ('{"a":[' + "1," * FEW_VALUES + "1]}", "more than 5000 values"),
    "too large": ("x" * (MAX_TEXT + 1), "larger than 16 MiB"),
    "NUL": ("apiVersion: v1\nkind: P\0d\n", "not valid YAML"),
    "a tag": ("apiVersion: !!python/object/apply:os.system [id]\nkind: Pod\n", "not valid YAML"),
    "a template": ("apiVersion: v1\nkind: {{ .Values.kind }}\n", "it is a template"),
    "half an object": ("kind: Pod\n", "apiVersion is missing"),
    "a list": ("- 1\n", "an API object is a mapping"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_manifests_end_in_a_clear_error(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(located, "MAX_VALUES", FEW_VALUES)
    text, problem = HOSTILE[name]
    tracemalloc.start()
    try:
        (caught,) = located_objects("a.yaml", text)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert isinstance(caught, ManifestError)
    assert re.search(problem, str(caught))
    assert str(caught).startswith("a.yaml")
    assert peak < 100 << 20


def test_many_documents_may_hold_many_values_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(located, "MAX_VALUES", FEW_VALUES)
    one = "apiVersion: v1\nkind: ConfigMap\ndata: [" + "1," * (FEW_VALUES // 2) + "1]\n"
    assert len(list(located_objects("a", "---\n".join([one] * 6)))) == 6
