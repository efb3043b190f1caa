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


def _selector(labels: Mapping[str, str] | None = None, *expressions: Mapping[str, Any]) -> Selector:
    given = {"matchLabels": dict(labels or {}), "matchExpressions": [dict(entry) for entry in expressions]}
    return Selector.from_label_selector(from_object(given, LabelSelector))


def _term(key: str, operator: str, *values: str) -> dict[str, Any]:
    return {"key": key, "operator": operator, "values": list(values)}


BAZ = _term("baz", "In", "qux", "norf")


@pytest.mark.parametrize(
    ("selector", "text"),
    [
        pytest.param(_selector(), "", id="empty"),
        pytest.param(_selector({"foo": "bar"}), "foo=bar", id="labels"),
        pytest.param(_selector(None, BAZ), "baz in (norf,qux)", id="expressions"),
        pytest.param(_selector({"foo": "bar"}, BAZ), "baz in (norf,qux),foo=bar", id="both, sorted by key"),
        pytest.param(
            _selector(None, _term("x", "In", "abc", "def"), _term("y", "NotIn", "jkl"), _term("z", "Exists")),
            "x in (abc,def),y notin (jkl),z",
            id="in, notin, exists",
        ),
        pytest.param(_selector(None, _term("z", "DoesNotExist")), "!z", id="does not exist"),
        pytest.param(_selector(None, _term("z", "NotIn", "")), "z notin ()", id="an empty value"),
        pytest.param(
            _selector({"x": "a"}, _term("x", "Exists"), _term("x", "NotIn", "b")),
            "x=a,x,x notin (b)",
            id="equal keys keep their order",
        ),
    ],
)
def test_text_of_a_selector(selector: Selector, text: str) -> None:
    assert str(selector) == text
    assert selector.empty is (text == "")


FOO_BAZ = {"foo": "bar", "baz": "blah"}


@pytest.mark.parametrize(
    ("selector", "labels", "expected"),
    [
        pytest.param(_selector(), {"x": "y"}, True, id="everything"),
        pytest.param(_selector(), {}, True, id="everything, no labels"),
        pytest.param(_selector({"x": "y"}), {"x": "y"}, True, id="x=y"),
        pytest.param(_selector({"x": "y", "z": "w"}), {"x": "y", "z": "w"}, True, id="x=y,z=w"),
        pytest.param(_selector({"x": "z"}), {}, False, id="x=z, absent"),
        pytest.param(_selector({"x": "y"}), {"x": "z"}, False, id="x=y, other value"),
        pytest.param(_selector({"x": "y", "z": "w"}), {"x": "w", "z": "w"}, False, id="x=y,z=w, one of two"),
        pytest.param(_selector({"foo": "bar"}), FOO_BAZ, True, id="more labels than terms"),
        pytest.param(_selector({"foo": "bar", "foobar": "bar"}), FOO_BAZ, False, id="more terms than labels"),
        pytest.param(_selector(None, _term("x", "Exists")), {"x": "z"}, True, id="x"),
        pytest.param(_selector(None, _term("x", "Exists")), {"x": ""}, True, id="x, empty"),
        pytest.param(_selector(None, _term("x", "Exists")), {"y": "z"}, False, id="x, absent"),
        pytest.param(_selector(None, _term("x", "DoesNotExist")), {"y": "z"}, True, id="!x"),
        pytest.param(_selector(None, _term("x", "DoesNotExist")), {"x": ""}, False, id="!x, empty"),
        pytest.param(_selector(None, _term("x", "In", "a", "b")), {"x": "b"}, True, id="x in (a,b)"),
        pytest.param(_selector(None, _term("x", "In", "a", "b")), {"x": "c"}, False, id="x in (a,b), other"),
        pytest.param(_selector(None, _term("x", "In", "")), {}, False, id="x in (), absent is not empty"),
        pytest.param(_selector(None, _term("x", "NotIn", "a")), {"x": "b"}, True, id="x notin (a), other"),
        pytest.param(_selector(None, _term("x", "NotIn", "a")), {"x": "a"}, False, id="x notin (a)"),
        pytest.param(_selector(None, _term("x", "NotIn", "a")), {}, True, id="x notin (a), absent"),
    ],
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


@pytest.mark.parametrize(
    ("labels", "expressions", "message"),
    [
        pytest.param(
            {}, [_term("baz", "Exists", "qux")], "values set must be empty for exists", id="Exists with values"
        ),
        pytest.param(
            {}, [_term("baz", "DoesNotExist", "qux")], "values set must be empty", id="DoesNotExist with values"
        ),
        pytest.param({}, [_term("baz", "In")], "values set can't be empty", id="In without values"),
        pytest.param({}, [_term("baz", "NotIn")], "values set can't be empty", id="NotIn without values"),
        pytest.param(
            {}, [_term("baz", "Gt", "1")], '"Gt" is not a valid label selector operator', id="operator of nodes alone"
        ),
        pytest.param({}, [_term("baz", "")], '"" is not a valid label selector operator', id="no operator"),
        pytest.param({"a b": "c"}, [], 'key: Invalid value: "a b"', id="space in a key"),
        pytest.param({"": "c"}, [], 'key: Invalid value: ""', id="empty key"),
        pytest.param({"Example.com/a": "c"}, [], "its prefix is not a DNS subdomain", id="capital in a prefix"),
        pytest.param({"/a": "c"}, [], "its prefix is not a DNS subdomain", id="empty prefix"),
        pytest.param({"a" * 64: "c"}, [], "not a label name", id="long name"),
        pytest.param({f"{'a' * 254}/b": "c"}, [], "its prefix is not a DNS subdomain", id="long prefix"),
        pytest.param({"a": "-"}, [], 'values of a: Invalid value: "-"', id="bad value"),
        pytest.param({"a": "b" * 64}, [], "not a label value", id="value too long"),
    ],
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


@pytest.mark.parametrize(
    ("requirements", "expected"),
    [
        pytest.param([], LabelSelector(), id="everything"),
        pytest.param(
            [Requirement("app", "=", ("a",)), Requirement("tier", "in", ("b", "c"))],
            LabelSelector({"app": "a"}, (LabelSelectorRequirement("tier", "In", ("b", "c")),)),
            id="equality in matchLabels, all else in matchExpressions",
        ),
        pytest.param(
            [Requirement("app", "=", ("a",)), Requirement("app", "=", ("a",))],
            LabelSelector({"app": "a"}),
            id="the same equality twice",
        ),
        pytest.param(
            [Requirement("app", "=", ("a",)), Requirement("app", "=", ("b",))],
            LabelSelector({"app": "a"}, (LabelSelectorRequirement("app", "In", ("b",)),)),
            id="two values of one key, which nothing matches",
        ),
        pytest.param(
            [
                Requirement("a", "notin", ("x",)),
                Requirement("b", "exists"),
                Requirement("c", "!"),
            ],
            LabelSelector(
                {},
                (
                    LabelSelectorRequirement("a", "NotIn", ("x",)),
                    LabelSelectorRequirement("b", "Exists"),
                    LabelSelectorRequirement("c", "DoesNotExist"),
                ),
            ),
            id="every other operator",
        ),
    ],
)
def test_to_label_selector(requirements: list[Requirement], expected: LabelSelector) -> None:
    assert Selector().add(*requirements).to_label_selector() == expected


@pytest.mark.parametrize(
    ("key", "valid"),
    [
        # TestIsQualifiedName.
        pytest.param("simple", True, id="simple"),
        pytest.param("now-with-dashes", True, id="dashes"),
        pytest.param("1-starts-with-num", True, id="starts with a number"),
        pytest.param("1234", True, id="numbers"),
        pytest.param("simple/simple", True, id="prefix"),
        pytest.param("now-with-dashes/simple", True, id="prefix with dashes"),
        pytest.param("now.with.dots/simple", True, id="prefix with dots"),
        pytest.param("1-num.2-num/3-num", True, id="numbers everywhere"),
        pytest.param("1.2.3.4/5678", True, id="prefix like an address"),
        pytest.param("Uppercase_Is_OK_123", True, id="capitals and underscores"),
        pytest.param("example.com/Uppercase_Is_OK_123", True, id="capitals after a prefix"),
        pytest.param("a" * 63, True, id="63 characters"),
        pytest.param(f"{'a' * 253}/{'b' * 63}", True, id="253 and 63 characters"),
        pytest.param("nospecialchars%^=@", False, id="special characters"),
        pytest.param("cantendwithadash-", False, id="ends with a dash"),
        pytest.param("-cantstartwithadash-", False, id="starts with a dash"),
        pytest.param("only/one/slash", False, id="two slashes"),
        pytest.param("Example.com/abc", False, id="capital in a prefix"),
        pytest.param("example_com/abc", False, id="underscore in a prefix"),
        pytest.param("example.com/", False, id="no name"),
        pytest.param("/simple", False, id="no prefix"),
        pytest.param("a" * 64, False, id="64 characters"),
        pytest.param(f"{'a' * 254}/abc", False, id="254 characters"),
        pytest.param("", False, id="empty"),
        pytest.param("simple\n", False, id="newline at the end"),
        pytest.param("caf\u00e9", False, id="not ASCII"),
    ],
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
