"""Label selectors: matches, printed form, refusals."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from podrules.api.model.decode import from_object
from podrules.api.model.selectors import (
    LabelSelector,
    LabelSelectorRequirement,
    Requirement,
    Selector,
    SelectorError,
    is_label_key,
)
from tests.table import table


def _selector(labels: Mapping[str, str] | None = None, *expressions: Mapping[str, Any]) -> Selector:
    given = {"matchLabels": dict(labels or {}), "matchExpressions": [dict(entry) for entry in expressions]}
    return Selector.from_label_selector(from_object(given, LabelSelector))


def _term(key: str, operator: str, *values: str) -> dict[str, Any]:
    return {"key": key, "operator": operator, "values": list(values)}


BAZ = _term("baz", "In", "qux", "norf")


@table(
    "selector, text",
    {
        "empty": (_selector(), ""),
        "labels": (_selector({"foo": "bar"}), "foo=bar"),
        "expressions": (_selector(None, BAZ), "baz in (norf,qux)"),
        "both, sorted by key": (_selector({"foo": "bar"}, BAZ), "baz in (norf,qux),foo=bar"),
        "in, notin, exists": (
            _selector(None, _term("x", "In", "abc", "def"), _term("y", "NotIn", "jkl"), _term("z", "Exists")),
            "x in (abc,def),y notin (jkl),z",
        ),
        "does not exist": (_selector(None, _term("z", "DoesNotExist")), "!z"),
        "an empty value": (_selector(None, _term("z", "NotIn", "")), "z notin ()"),
        "equal keys keep their order": (
            _selector({"x": "a"}, _term("x", "Exists"), _term("x", "NotIn", "b")),
            "x=a,x,x notin (b)",
        ),
    },
)
def test_text_of_a_selector(selector: Selector, text: str) -> None:
    assert str(selector) == text
    assert selector.empty is (text == "")


FOO_BAZ = {"foo": "bar", "baz": "blah"}


@table(
    "selector, labels, expected",
    {
        "everything": (_selector(), {"x": "y"}, True),
        "everything, no labels": (_selector(), {}, True),
        "x=y": (_selector({"x": "y"}), {"x": "y"}, True),
        "x=y,z=w": (_selector({"x": "y", "z": "w"}), {"x": "y", "z": "w"}, True),
        "x=z, absent": (_selector({"x": "z"}), {}, False),
        "x=y, other value": (_selector({"x": "y"}), {"x": "z"}, False),
        "x=y,z=w, one of two": (_selector({"x": "y", "z": "w"}), {"x": "w", "z": "w"}, False),
        "more labels than terms": (_selector({"foo": "bar"}), FOO_BAZ, True),
        "more terms than labels": (_selector({"foo": "bar", "foobar": "bar"}), FOO_BAZ, False),
        "x": (_selector(None, _term("x", "Exists")), {"x": "z"}, True),
        "x, empty": (_selector(None, _term("x", "Exists")), {"x": ""}, True),
        "x, absent": (_selector(None, _term("x", "Exists")), {"y": "z"}, False),
        "!x": (_selector(None, _term("x", "DoesNotExist")), {"y": "z"}, True),
        "!x, empty": (_selector(None, _term("x", "DoesNotExist")), {"x": ""}, False),
        "x in (a,b)": (_selector(None, _term("x", "In", "a", "b")), {"x": "b"}, True),
        "x in (a,b), other": (_selector(None, _term("x", "In", "a", "b")), {"x": "c"}, False),
        "x in (), absent is not empty": (_selector(None, _term("x", "In", "")), {}, False),
        "x notin (a), other": (_selector(None, _term("x", "NotIn", "a")), {"x": "b"}, True),
        "x notin (a)": (_selector(None, _term("x", "NotIn", "a")), {"x": "a"}, False),
        "x notin (a), absent": (_selector(None, _term("x", "NotIn", "a")), {}, True),
    },
)
def test_matches(selector: Selector, labels: Mapping[str, str], expected: bool) -> None:
    assert selector.matches(labels) is expected


def test_from_labels_sorts_by_key() -> None:
    assert str(Selector.from_labels({"b": "2", "a": "1"})) == "a=1,b=2"
    assert Selector.from_labels({}).empty


def test_add_returns_another_selector() -> None:
    selector = Selector.from_labels({"b": "2"})
    assert str(selector.add(Requirement("a", "exists"))) == "a,b=2"
    assert str(selector) == "b=2"


@table(
    "labels, expressions, message",
    {
        "Exists with values": ({}, [_term("baz", "Exists", "qux")], "values set must be empty for exists"),
        "DoesNotExist with values": ({}, [_term("baz", "DoesNotExist", "qux")], "values set must be empty"),
        "In without values": ({}, [_term("baz", "In")], "values set can't be empty"),
        "NotIn without values": ({}, [_term("baz", "NotIn")], "values set can't be empty"),
        "operator of nodes alone": ({}, [_term("baz", "Gt", "1")], '"Gt" is not a valid label selector operator'),
        "no operator": ({}, [_term("baz", "")], '"" is not a valid label selector operator'),
        "space in a key": ({"a b": "c"}, [], 'key: Invalid value: "a b"'),
        "empty key": ({"": "c"}, [], 'key: Invalid value: ""'),
        "capital in a prefix": ({"Example.com/a": "c"}, [], "its prefix is not a DNS subdomain"),
        "empty prefix": ({"/a": "c"}, [], "its prefix is not a DNS subdomain"),
        "long name": ({"a" * 64: "c"}, [], "not a label name"),
        "long prefix": ({f"{'a' * 254}/b": "c"}, [], "its prefix is not a DNS subdomain"),
        "bad value": ({"a": "-"}, [], 'values of a: Invalid value: "-"'),
        "value too long": ({"a": "b" * 64}, [], "not a label value"),
    },
)
def test_refused(labels: Mapping[str, str], expressions: list[dict[str, Any]], message: str) -> None:
    with pytest.raises(SelectorError, match=re.escape(message)):
        _selector(labels, *expressions)


def test_longest_names_are_accepted() -> None:
    key = f"{'.'.join(['a' * 63] * 3)}.{'b' * 61}/{'c' * 63}"
    assert str(_selector({key: "d" * 63})) == f"{key}={'d' * 63}"


_KEYS = st.sampled_from(["app", "tier", "example.com/track"])
_VALUES = st.sampled_from(["", "a", "b", "c"])
_SETS = st.lists(_VALUES, min_size=1, max_size=3, unique=True).map(tuple)
_REQUIREMENTS = st.one_of(
    st.builds(Requirement, _KEYS, st.just("="), st.tuples(_VALUES)),
    st.builds(Requirement, _KEYS, st.sampled_from(["in", "notin"]), _SETS),
    st.builds(Requirement, _KEYS, st.sampled_from(["exists", "!"])),
)


@given(st.lists(_REQUIREMENTS, max_size=5), st.lists(st.dictionaries(_KEYS, _VALUES), min_size=1, max_size=8))
def test_label_selector_matches_what_its_selector_matches(
    requirements: list[Requirement], pods: list[dict[str, str]]
) -> None:
    selector = Selector().add(*requirements)
    again = Selector.from_label_selector(selector.to_label_selector())
    assert [again.matches(labels) for labels in pods] == [selector.matches(labels) for labels in pods]


@table(
    "requirements, expected",
    {
        "everything": ([], LabelSelector()),
        "equality in matchLabels, all else in matchExpressions": (
            [Requirement("app", "=", ("a",)), Requirement("tier", "in", ("b", "c"))],
            LabelSelector({"app": "a"}, (LabelSelectorRequirement("tier", "In", ("b", "c")),)),
        ),
        "the same equality twice": (
            [Requirement("app", "=", ("a",)), Requirement("app", "=", ("a",))],
            LabelSelector({"app": "a"}),
        ),
        "two values of one key, which nothing matches": (
            [Requirement("app", "=", ("a",)), Requirement("app", "=", ("b",))],
            LabelSelector({"app": "a"}, (LabelSelectorRequirement("app", "In", ("b",)),)),
        ),
        "every other operator": (
            [Requirement("a", "notin", ("x",)), Requirement("b", "exists"), Requirement("c", "!")],
            LabelSelector(
                {},
                (
                    LabelSelectorRequirement("a", "NotIn", ("x",)),
                    LabelSelectorRequirement("b", "Exists"),
                    LabelSelectorRequirement("c", "DoesNotExist"),
                ),
            ),
        ),
    },
)
def test_to_label_selector(requirements: list[Requirement], expected: LabelSelector) -> None:
    assert Selector().add(*requirements).to_label_selector() == expected


@table(
    "key, valid",
    {
        # TestIsQualifiedName.
        "simple": ("simple", True),
        "dashes": ("now-with-dashes", True),
        "starts with a number": ("1-starts-with-num", True),
        "numbers": ("1234", True),
        "prefix": ("simple/simple", True),
        "prefix with dashes": ("now-with-dashes/simple", True),
        "prefix with dots": ("now.with.dots/simple", True),
        "numbers everywhere": ("1-num.2-num/3-num", True),
        "prefix like an address": ("1.2.3.4/5678", True),
        "capitals and underscores": ("Uppercase_Is_OK_123", True),
        "capitals after a prefix": ("example.com/Uppercase_Is_OK_123", True),
        "63 characters": ("a" * 63, True),
        "253 and 63 characters": (f"{'a' * 253}/{'b' * 63}", True),
        "special characters": ("nospecialchars%^=@", False),
        "ends with a dash": ("cantendwithadash-", False),
        "starts with a dash": ("-cantstartwithadash-", False),
        "two slashes": ("only/one/slash", False),
        "capital in a prefix": ("Example.com/abc", False),
        "underscore in a prefix": ("example_com/abc", False),
        "no name": ("example.com/", False),
        "no prefix": ("/simple", False),
        "64 characters": ("a" * 64, False),
        "254 characters": (f"{'a' * 254}/abc", False),
        "empty": ("", False),
        "newline at the end": ("simple\n", False),
        "not ASCII": ("caf\u00e9", False),
    },
)
def test_is_label_key(key: str, valid: bool) -> None:
    assert is_label_key(key) is valid


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("", ()),
        ("x=a,y=b,z=c", (("x", "=", ("a",)), ("y", "=", ("b",)), ("z", "=", ("c",)))),
        ("x==a", (("x", "=", ("a",)),)),
        (" x = a , y != b ", (("x", "=", ("a",)), ("y", "notin", ("b",)))),
        ("x=", (("x", "=", ("",)),)),
        ("x,!y", (("x", "exists", ()), ("y", "!", ()))),
        ("x in (a,b), y notin ( c )", (("x", "in", ("a", "b")), ("y", "notin", ("c",)))),
        ("x in ()", (("x", "in", ("",)),)),
        ("example.com/in in (in)", (("example.com/in", "in", ("in",)),)),
    ],
)
def test_valid_typed_selectors(text: str, terms: tuple[tuple[str, str, tuple[str, ...]], ...]) -> None:
    found = Selector.from_text(text)
    assert tuple((term.key, term.operator, term.values) for term in found.requirements) == terms
    assert Selector.from_text(str(found)) == found


@pytest.mark.parametrize(
    "text",
    ["x=a,", ",x=a", "x=a y=b", "x in a", "x in (a", "!x=a", "x=a=b", "x>1", "=a", "!", "x in (a)b", "-x=a", "x=a/b"],
)
def test_invalid_typed_selectors(text: str) -> None:
    with pytest.raises(SelectorError):
        Selector.from_text(text)
