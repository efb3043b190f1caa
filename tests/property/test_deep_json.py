"""JSON that the API server stores and the decoder rejects: the object is read in spite of that."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import reduce
from typing import Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Raw

from cluster_io import device_kinds, kinds
from cluster_io.kinds import Kind
from podrules.api.model import decode
from podrules.api.model.base import Model
from podrules.api.model.decode import DecodeError, exactly, from_json, without_depths
from podrules.api.schema.table import schema

STORED: Final = 1_500_000
"""Bytes of the largest object that etcd takes."""
DEEPEST: Final = 10_000
"""Levels that Go reads."""
HERE: Final = "HERE"
SCHEMA: Final = schema(36)
KINDS: Final = sorted(
    {
        entry.rbac_name: entry
        for module in (kinds, device_kinds)
        for entry in vars(module).values()
        if isinstance(entry, Kind) and SCHEMA.root(entry.api_version, entry.kind)
    }.values(),
    key=lambda kind: kind.rbac_name,
)


def _nested(opening: str, depth: int, size: int = 0) -> bytes:
    """Values of a depth, as many as have a size."""
    closing = {"[": "]", "{": "}"}[opening[0]]
    text = opening * depth + "1" + closing * depth
    return f"[{','.join([text] * max(1, size // (len(text) + 1)))}]".encode()


VALUES: Final = {
    **{f"{depth} lists": _nested("[", depth) for depth in (199, 201, 900, 990, 1000, 1001, DEEPEST)},
    **{f"{depth} mappings": _nested('{"f:a":', depth) for depth in (199, 201, 900, 990, 1000, 1001, DEEPEST)},
    "brackets in names": _nested('{"]}\\"[{\\\\":', DEEPEST),
    "half a pair": b'{"\\ud800":"\\\\\\udc00\\ud83d\\ude00"}',
    "no UTF-8": b'{"\xff":"\xc3"}',
    "no UTF-8, deep": b'["\xff\\udc00",%b]' % _nested("[", 1500),
    "numbers": b"[1e999999,-1E-999999,%b]" % (b"1" * 5000),
}

LARGE: Final = {
    "many deep": _nested('{"f:a":', 1500, STORED),
    "many deep lists": _nested("[1,", 1500, STORED),
    "one deep, many fields": b"[%b,%b]" % (_nested("[", 1500), _nested('{"f:a":[1],"f:b":', 1, STORED)),
    "one deep, dense lists": b"[%b,%b]" % (_nested("[", 1500), b",".join([b"[[1],1]"] * (STORED // 8))),
    "one deep, long text": b'[%b,"%b"]' % (_nested("[", 1500), b"\\u003c" * STORED),
}


def _free(struct: str, seen: tuple[str, ...] = ()) -> Iterator[Any]:
    """Objects, each with one field that holds any JSON."""
    for name, field in SCHEMA.fields(struct).items():
        found, around = SCHEMA.type(field.type), []
        while found.item:
            around.append(found.shape)
            found = SCHEMA.type(found.item)
        inner = [HERE] if found.shape == "raw" else []
        if found.struct and found.struct not in seen:
            inner = list(_free(found.struct, (*seen, struct)))
        for value in inner:
            yield {name: reduce(_around, reversed(around), value)}


def _around(inside: Any, shape: str) -> Any:
    return [inside] if shape == "list" else {"k": inside}


def _objects() -> Iterator[Any]:
    for kind in KINDS:
        for value in _free(SCHEMA.root(kind.api_version, kind.kind) or ""):
            text = json.dumps(value)
            place = text.partition(f'"{HERE}"')[0].translate({ord(sign): None for sign in '{}[]" '})
            yield pytest.param(kind, text, id=f"{kind.rbac_name} {place.replace(':', '.').strip('.')}")


class _Page(Model, frozen=True):
    items: tuple[Raw, ...]


@pytest.mark.parametrize(("kind", "text"), list(_objects()))
def test_objects_are_read_whatever_their_free_fields_hold(kind: Kind[Any], text: str) -> None:
    """As without that, alone and in a list, where the next object is read too."""
    named = '{"metadata": {"name": "web"'
    head = '{"metadata": {'
    body = f"{named}, {text.removeprefix(head)}" if text.startswith(head) else f"{named}}}, {text[1:]}"
    before, after = body.encode().split(f'"{HERE}"'.encode())
    expected = from_json(before + b"{}" + after, kind.model)
    assert expected.metadata.name == "web"
    for value in VALUES.values():
        spoilt = before + value + after
        assert from_json(spoilt, kind.model) == expected
        items = exactly(b'{"items":[%b,{"metadata":{"name":"next"}}]}' % spoilt, _Page).items
        assert [from_json(bytes(item), kind.model).metadata.name for item in items] == ["web", "next"]


@pytest.mark.parametrize("value", LARGE.values(), ids=LARGE)
def test_objects_are_read_up_to_the_size_that_is_stored(value: bytes) -> None:
    body = b'{"metadata":{"name":"web","managedFields":[{"fieldsV1":%b}]}}' % value
    assert from_json(body, kinds.PODS.model).metadata.name == "web"


def test_free_fields_are_known() -> None:
    """Each kind has managedFields, and the other deep fields that existed when this was written."""
    places = [str(param.id) for param in _objects()]
    assert len([place for place in places if place.endswith(" metadata.managedFields.fieldsV1")]) == len(KINDS)
    assert "deployments.apps spec.template.metadata.managedFields.fieldsV1" in places
    assert "statefulsets.apps spec.volumeClaimTemplates.metadata.managedFields.fieldsV1" in places
    assert "resourceclaims.resource.k8s.io spec.devices.config.opaque.parameters" in places
    assert "deviceclasses.resource.k8s.io spec.config.opaque.parameters" in places


VALUE: Final = st.recursive(
    st.none() | st.integers() | st.text('[]{}",:\\é\ud83d'),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text('[]{}"\\é'), inner, max_size=3),
    max_leaves=30,
)
MOST: Final = 2
"""Levels that are read in this test."""


def _emptied(value: Any, depth: int = 0) -> Any:
    """A value as far as it is read in any case."""
    if isinstance(value, dict):
        return {key: _emptied(part, depth + 1) for key, part in value.items()} if depth < MOST else {}
    if isinstance(value, list):
        return [_emptied(part, depth + 1) for part in value] if depth < MOST else []
    return value


def _depth(value: Any) -> int:
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, list) else None
    return 0 if parts is None else 1 + max(map(_depth, parts), default=0)


@given(value=VALUE, ascii_only=st.booleans(), indent=st.sampled_from([None, 1]))
def test_lists_and_mappings_below_the_limit_are_emptied(value: Any, ascii_only: bool, indent: int | None) -> None:
    """But for those in which there is no other."""
    text = json.dumps(value, ensure_ascii=ascii_only, indent=indent)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(decode, "MAX_DEPTH", MOST)
        found = without_depths(text)
        assert without_depths(found) == found
        if ascii_only:
            assert without_depths(text.encode()) == found.encode()
    assert len(found) == len(text)
    assert _emptied(json.loads(found)) == _emptied(value)
    assert _depth(json.loads(found)) <= MOST + 1


@given(text=st.text('[]{}",:\\1 ', max_size=60), depth=st.integers(0, 1500))
def test_any_text_is_decoded_or_is_an_error(text: str, depth: int) -> None:
    try:
        from_json("[" * depth + text + "]" * depth, Any)
    except DecodeError:
        with pytest.raises(json.JSONDecodeError):
            json.loads(text)


def test_text_that_would_take_too_much_cpu_is_an_error() -> None:
    dense = b"[[1],1],"
    with pytest.raises(DecodeError, match="nested too deeply"):
        from_json(b"[" * 1100 + dense * (4 * STORED // len(dense)) + b"1" + b"]" * 1100, list[Any])
