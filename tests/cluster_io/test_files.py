"""Manifests and snapshots are read as kubectl reads them, and limits hold."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest

from cluster_io.errors import ManifestError
from cluster_io.manifests.files import check_expanded, read_documents, read_what_can_be
from podrules.api.model.decode import from_object
from podrules.api.model.pod import Pod
from tests.table import table


def _value(scalar: str) -> Any:
    text = f"apiVersion: v1\nkind: ConfigMap\nvalue: {scalar}\n"
    return next(read_documents("-", io.StringIO(text))).content["value"]


@table(
    "scalar, value",
    {
        "words are booleans": ("yes", True),
        "off is false": ("off", False),
        "also single letters": ("y", True),
        "other words are not": ("Yess", "Yess"),
        "a leading zero is octal": ("017", 15),
        "0o is octal": ("0o17", 15),
        "0x is hexadecimal": ("0x1F", 31),
        "0b is binary": ("0b101", 5),
        "no octal digit: a float, which is sent as an integer": ("018", 18),
        "negative": ("-7", -7),
        "positive": ("+7", 7),
        "underscores": ("1_000", 1000),
        "an exponent without a point is a float, which is sent as an integer": ("1e3", 1000),
        "no digit before the point": (".5", 0.5),
        "no base 60": ("1:30", "1:30"),
        "a time stays text": ("2026-11-21T03:00:00Z", "2026-11-21T03:00:00Z"),
        "a date stays text": ("2026-11-21", "2026-11-21"),
        "tilde is null": ("~", None),
        "nothing is null": ("", None),
        "quoted is text": ('"yes"', "yes"),
        "a quantity is text": ("128Mi", "128Mi"),
        "no special meaning": ("=", "="),
    },
)
def test_scalars_are_kubectls(scalar: str, value: object) -> None:
    found = _value(scalar)
    assert found == value
    assert type(found) is type(value)


def test_lists_are_opened_and_typed() -> None:
    text = json.dumps({"apiVersion": "v1", "kind": "PodList", "items": [{"metadata": {"name": "a"}}]})
    found = list(read_documents("-", io.StringIO(text)))
    assert [(entry.content["kind"], entry.content["apiVersion"]) for entry in found] == [("Pod", "v1")]
    assert found[0].where == "standard input, items[0]"


def test_several_json_documents() -> None:
    text = '{"apiVersion": "v1", "kind": "A"}\n---\n{"apiVersion": "v1", "kind": "B"}\n'
    assert [entry.content["kind"] for entry in read_documents("-", io.StringIO(text))] == ["A", "B"]


@pytest.mark.parametrize("between", ["", "\n", " \r\n\t\n"])
def test_json_objects_in_sequence_are_read(between: str) -> None:
    text = between.join(f'{{"apiVersion": "v1", "kind": "{kind}", "half": "\\ud83d", "n": 3.0}}' for kind in "ABC")
    found = [entry.content for entry in read_documents("-", io.StringIO(f"\n{text}\n"))]
    assert [(entry["kind"], entry["half"], entry["n"]) for entry in found] == [(kind, "\ufffd", 3) for kind in "ABC"]


def test_after_two_json_objects_only_json_counts() -> None:
    """As in kubectl; after one object the rest may still be YAML."""
    one, two = (f'{{"apiVersion": "v1", "kind": "{kind}"}}' for kind in "AB")
    found = list(read_what_can_be("-", io.StringIO(f"{one}\n{two}\n---\napiVersion: v1\nkind: C\n")))
    assert [str(entry) if isinstance(entry, ManifestError) else entry.content["kind"] for entry in found] == [
        "standard input, line 3, column 1: not valid JSON, which the text before is",
        "A",
        "B",
    ]
    with pytest.raises(ManifestError, match="not valid YAML"):
        list(read_documents("-", io.StringIO(f"{one}\nnonsense")))


def test_an_item_of_a_list_has_a_kind() -> None:
    text = json.dumps({"apiVersion": "v1", "kind": "List", "items": [{"metadata": {"name": "a"}}]})
    with pytest.raises(ManifestError, match="apiVersion and kind are missing"):
        list(read_documents("-", io.StringIO(text)))


def test_empty_documents_are_passed_over() -> None:
    text = "---\n# only a comment\n---\napiVersion: v1\nkind: A\n---\n"
    assert [entry.content["kind"] for entry in read_documents("-", io.StringIO(text))] == ["A"]


def test_folders_are_read_in_order_and_by_ending(tmp_path: Path) -> None:
    for name in ("b.yaml", "a.yml", "sub/c.json", "notes.txt"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(f'{{"apiVersion": "v1", "kind": "{path.stem}"}}')
    assert [entry.content["kind"] for entry in read_documents(str(tmp_path))] == ["a", "b", "c"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: b: c", "line 1, column 5: not valid YAML: mapping values are not allowed in this context"),
        ("!!python/object:os.system x", "not valid YAML: the tag .* means nothing to Kubernetes"),
        ("[" * 100_000, "nested too deeply"),
        ("a:\n" + "".join(f"{' ' * level}b:\n" for level in range(1, 1500)), "nested too deeply"),
        ("{" * 100_000, "nested too deeply"),
        ("a: 1\n---\nb: " + "[" * 2000, "nested too deeply"),
        ("[\n---\n" * 2000, "not valid YAML"),
        ("- " * 100_000, "nested too deeply"),
    ],
)
def test_bad_text_is_located(text: str, message: str) -> None:
    with pytest.raises(ManifestError, match=message.replace("(", r"\(")):
        list(read_documents("-", io.StringIO(text)))


@pytest.mark.parametrize("depth", [150, 450, *range(970, 1010), 9_990])
@pytest.mark.parametrize("opening", ["[", '{"f:a":'])
def test_list_is_read_however_deep_an_object_of_it_is(opening: str, depth: int) -> None:
    """As in the output of `kubectl get -o json`."""
    fields = opening * depth + "1" + {"[": "]", "{": "}"}[opening[0]] * depth
    deep = (
        f'{{"apiVersion":"v1","kind":"Pod",\n"metadata":{{"name":"deep","managedFields":[{{"fieldsV1":{fields}}}]}}}}'
    )
    text = f'{{"apiVersion":"v1","kind":"List","items":[{deep},\n{{"apiVersion":"v1","kind":"Pod"}}]}}'
    found = list(read_documents("-", io.StringIO(text)))
    assert [from_object(entry.content, Pod).metadata.name for entry in found] == ["deep", ""]


@pytest.mark.parametrize("depth", [*range(970, 1010), 9_990])
def test_deep_yaml_is_read_or_is_an_error(depth: int) -> None:
    head = "apiVersion: v1\nkind: Pod\n"
    text = f"{head}metadata:\n  managedFields: {'[' * depth}{']' * depth}\n---\n{head}"
    read = [found if isinstance(found, ManifestError) else "" for found in read_what_can_be("-", io.StringIO(text))]
    assert read[-1] == ""
    assert len(read) == 2
    assert all("document 1: nested too deeply" in str(error) for error in read if error)


def test_aliases_may_not_explode() -> None:
    lines = ["apiVersion: v1", "kind: Pod", "a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{level}: &a{level} [{', '.join([f'*a{level - 1}'] * 10)}]" for level in range(1, 10)]
    with pytest.raises(ManifestError, match="its aliases expand to more than"):
        list(read_documents("-", io.StringIO("\n".join(lines))))


def test_shared_values_count_at_every_place() -> None:
    def parts(value: Any) -> list[Any] | None:
        return value if isinstance(value, list) else None

    shared = [1, 2]
    # A list counts itself and what is in it: 1 + 2 * (1 + 3 + 1).
    root = [[shared, 1], [shared, 1]]
    check_expanded("-", root, parts, most=11)
    with pytest.raises(ManifestError, match="its aliases expand to more than 10 values"):
        check_expanded("-", root, parts, most=10)


def test_merge_keys_may_not_explode() -> None:
    lines = ["apiVersion: v1", "kind: Pod", "a0: &a0 {x: 1}"]
    lines += [f"a{level}: &a{level} {{<<: [*a{level - 1}, *a{level - 1}]}}" for level in range(1, 60)]
    with pytest.raises(ManifestError, match="its merge keys write out more than"):
        list(read_documents("-", io.StringIO("\n".join(lines))))


def test_merge_keys_are_written_out() -> None:
    text = "apiVersion: v1\nkind: Pod\nbase: &base {a: 1, b: 2}\nspec: {<<: *base, b: 3}\n"
    (document,) = read_documents("-", io.StringIO(text))
    assert document.content["spec"] == {"a": 1, "b": 3}
    with pytest.raises(ManifestError, match="its merge keys write out more than"):
        list(read_documents("-", io.StringIO("apiVersion: v1\nkind: Pod\nspec: &s {<<: *s}\n")))


def test_a_value_inside_itself_is_refused() -> None:
    with pytest.raises(ManifestError, match="its aliases expand to more than"):
        list(read_documents("-", io.StringIO("apiVersion: v1\nkind: Pod\nspec: &s {again: *s}\n")))


def test_not_utf8(tmp_path: Path) -> None:
    path = tmp_path / "latin1.yaml"
    path.write_bytes(b"apiVersion: v1\nkind: \xe9\n")
    with pytest.raises(ManifestError, match=r"not UTF-8 text: byte 21 is 0xe9"):
        list(read_documents(str(path)))


def test_empty_folder(tmp_path: Path) -> None:
    with pytest.raises(ManifestError, match=r"no \.yaml, \.yml or \.json file in this folder"):
        list(read_documents(str(tmp_path)))
