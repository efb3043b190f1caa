"""Every wrong value is reported in terms of manifests: its path, its value, what to write instead."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, Final

import msgspec
import pytest

from cluster_io.kinds import ALL_KINDS
from podrules.api.model.base import KubeObject
from podrules.api.model.decode import DecodeError, from_json, from_object
from podrules.api.model.pod import Pod
from podrules.lint.objects import KINDS

WRONG: Final[tuple[Any, ...]] = (
    5,
    -1.5,
    10**30,
    True,
    "text",
    "5",
    "",
    [],
    ["a"],
    {},
    {"a": 1},
    {"a": {"b": [None]}},
    [None],
)
FOREIGN: Final = re.compile(
    r"[Ee]xpected\b|\bgot\b|NoneType|None\b|\bint\b|\bstr\b|\bbool\b|\bdict\b|\bfloat\b|\barray\b|msgspec|<class"
    r"|Traceback|Error|True\b|False\b|`"
)
MODELS: Final = tuple(dict.fromkeys([*KINDS.values(), *(kind.model for kind in ALL_KINDS)]))


def _sample(kind: Any, depth: int = 0) -> Any:
    """A valid value of a field, with everything that the model has."""
    match kind:
        case msgspec.inspect.StructType() if depth < 12:
            return {field.encode_name: _sample(field.type, depth + 1) for field in kind.fields}
        case msgspec.inspect.StructType():
            return {}
        case msgspec.inspect.VarTupleType() | msgspec.inspect.ListType():
            return [_sample(kind.item_type, depth + 1)]
        case msgspec.inspect.DictType():
            return {"a.b/c": _sample(kind.value_type, depth + 1)}
        case msgspec.inspect.UnionType():
            return _sample(next(one for one in kind.types if not isinstance(one, msgspec.inspect.NoneType)), depth)
        case msgspec.inspect.BoolType():
            return True
        case msgspec.inspect.IntType():
            return 1
        case msgspec.inspect.FloatType():
            return 1.5
        case msgspec.inspect.EnumType():
            return next(iter(kind.cls)).value
        case msgspec.inspect.StrType(pattern=str()):
            return "2026-11-22T10:00:00Z"
    return "1"


def _paths(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield path
    entries = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, below in entries:
        yield from _paths(below, (*path, key))


def _with(value: Any, path: tuple[Any, ...], wrong: Any) -> Any:
    """The value with another one at a path; the rest is shared."""
    if not path:
        return wrong
    changed = value.copy()
    changed[path[0]] = _with(value[path[0]], path[1:], wrong)
    return changed


def _written(path: tuple[Any, ...]) -> str:
    return "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path).lstrip(".")


@pytest.mark.parametrize("model", MODELS, ids=lambda model: str(model.__name__))
def test_errors_avoid_programming_terms(model: type[KubeObject]) -> None:
    fitting = _sample(msgspec.inspect.type_info(model))
    from_object(fitting, model)
    errors = 0
    for path in _paths(fitting):
        for wrong in WRONG:
            try:
                from_object(_with(fitting, path, wrong), model)
            except DecodeError as error:
                errors += 1
                words = str(error)
                assert not FOREIGN.search(words.replace(_written(path), "")), words
                assert words.startswith(_written(path)), (words, path, wrong)
                assert "write " in words, words
    assert errors


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (
            {"spec": {"containers": [{"image": 5}]}},
            "spec.containers[0].image: 5 is a number; write a string, in quotation marks",
        ),
        (
            {"spec": {"nodeSelector": {"a": True}}},
            "spec.nodeSelector.a: true is a boolean; write a string, in quotation marks",
        ),
        (
            {"spec": {"hostNetwork": "true"}},
            'spec.hostNetwork: "true" is a string; write true or false without quotation marks (true)',
        ),
        ({"spec": {"priority": "7"}}, 'spec.priority: "7" is a string; write a whole number (7)'),
        ({"spec": {"priority": 1.5}}, "spec.priority: 1.5 is no whole number; write a whole number"),
        ({"spec": {"containers": {"name": "a"}}}, "spec.containers: this is a mapping; write a list"),
        ({"spec": {"containers": [None]}}, "spec.containers[0]: nothing stands here; write a mapping"),
        ({"spec": []}, "spec: this is a list; write a mapping"),
        (
            {"metadata": {"deletionTimestamp": "garbage"}},
            'metadata.deletionTimestamp: "garbage" is no time; write one as "2026-11-22T10:00:00Z"',
        ),
        (
            {"status": {"conditions": [{"lastTransitionTime": ""}]}},
            'status.conditions[0].lastTransitionTime: "" is no time; write one as "2026-11-22T10:00:00Z"',
        ),
        ({"spec": {"priority": "x" * 99}}, f'spec.priority: "{"x" * 38}… is a string; write a whole number'),
    ],
)
def test_remedy_shows_a_valid_value(value: Any, words: str) -> None:
    with pytest.raises(DecodeError) as raised:
        from_object(value, Pod)
    assert str(raised.value) == words
    with pytest.raises(DecodeError) as raised:
        from_json(json.dumps(value), Pod)
    assert str(raised.value) == words


def test_keys_that_yaml_reads_as_numbers_are_strings() -> None:
    pod = from_object({"metadata": {"labels": {7: "a", True: "b"}}}, Pod)
    assert pod.metadata.labels == {"7": "a", "true": "b"}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (b'{"metadata": ]', "not valid JSON from byte 13 on"),
        (b'{"metadata":', "not valid JSON: it ends too early"),
        (b'{"metadata": \xff}', "not valid JSON"),
        (b"[" * 100_000, "not valid JSON: nested too deeply"),
    ],
)
def test_invalid_json(text: bytes, words: str) -> None:
    with pytest.raises(DecodeError) as raised:
        from_json(text, Pod)
    assert str(raised.value).startswith(words)
    assert not FOREIGN.search(str(raised.value))
