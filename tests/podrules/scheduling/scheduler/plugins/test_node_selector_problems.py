"""Errors of node selectors: upstream's cases, and messages of upstream's own parser.

TestNodeSelectorMatch, TestPreferredSchedulingTermsScore, TestNodeSelectorRequirementsAsSelector.
"""

from __future__ import annotations

from podrules.api.model.selectors import PreferredSchedulingTerm
from podrules.scheduling.scheduler.plugins.requirement import aggregate, int64_of, preferred_problems, term_problems
from tests.podrules.scheduling.scheduler.plugins.building_nodes import Json, make_requirement, make_term
from tests.table import row, table

NAME = (
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character "
    "(e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is "
    "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
)
VALUE = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and "
    "end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is "
    "'(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
)
SUBDOMAIN = (
    "prefix part a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and "
    "must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is "
    r"'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
)
PREFIX_ALLOWED = "with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
OPERATORS = '"In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"'
HTML = r'["\u003c\u0026\u003e"]'
TWO_HOSTS = {"matchFields": [make_requirement("metadata.name", "In", "host_1", "host_2")]}
ONE_HOST = {"matchFields": [make_requirement("metadata.name", "In", "host_1")]}
BAD_KEY = {"matchExpressions": [make_requirement("invalid key", "In", "label_value")]}


def test_invalid_field_selector_and_label_selector() -> None:
    terms = [make_term(term) for term in (TWO_HOSTS, ONE_HOST, BAD_KEY)]
    assert [str(found) for index, term in enumerate(terms) for found in term_problems(term, f"[{index}]")] == [
        '[0].matchFields[0].values: Invalid value: ["host_1","host_2"]: must have one element',
        f'[2].matchExpressions[0].key: Invalid value: "invalid key": name part {NAME}',
    ]


def test_preferred_terms_without_weight_are_not_reported() -> None:
    terms = [PreferredSchedulingTerm(weight, make_term(BAD_KEY)) for weight in (0, 1)]
    (found,) = preferred_problems(terms)
    assert str(found) == f'[1].matchExpressions[0].key: Invalid value: "invalid key": name part {NAME}'


@table(
    "requirement, expected",
    {
        "valid": row(make_requirement("foo", "In", "bar", "baz"), []),
        "Exists with values": row(
            make_requirement("foo", "Exists", "bar", "baz"),
            ['.values: Invalid value: ["bar","baz"]: values set must be empty for exists and does not exist'],
        ),
        "NotIn without values": row(
            make_requirement("foo", "NotIn"),
            [".values: Invalid value: null: for 'in', 'notin' operators, values set can't be empty"],
        ),
        "invalid operator": row(
            make_requirement("baz", "invalid", "5"),
            [f'.operator: Unsupported value: "invalid": supported values: {OPERATORS}'],
        ),
        "Gt with two values, no integer, no label value": row(
            make_requirement("foo", "Gt", "x", "-1"),
            [
                ".values: Invalid value: [\"x\",\"-1\"]: for 'Gt', 'Lt' operators, exactly one value is required",
                ".values[0]: Invalid value: \"x\": for 'Gt', 'Lt' operators, the value must be an integer",
                f'.values[1][foo]: Invalid value: "-1": {VALUE}',
            ],
        ),
        "lists are escaped for HTML, texts are not": row(
            make_requirement("foo", "Exists", "<&>"),
            [
                f".values: Invalid value: {HTML}: values set must be empty for exists and does not exist",
                f'.values[0][foo]: Invalid value: "<&>": {VALUE}',
            ],
        ),
        "key with two slashes": row(
            make_requirement("a/b/c", "Exists"),
            [f'.key: Invalid value: "a/b/c": a valid label key {NAME} {PREFIX_ALLOWED}'],
        ),
        "key of a slash": row(
            make_requirement("/", "Exists"),
            [f'.key: Invalid value: "/": prefix part must be non-empty; name part must be non-empty; name part {NAME}'],
        ),
        "key with a bad prefix and a long name": row(
            make_requirement("A_/" + "x" * 64, "Exists"),
            [f'.key: Invalid value: "A_/{"x" * 64}": {SUBDOMAIN}; name part must be no more than 63 bytes'],
        ),
        "long value": row(
            make_requirement("foo", "In", "x" * 64),
            [f'.values[0][foo]: Invalid value: "{"x" * 64}": must be no more than 63 bytes'],
        ),
    },
)
def test_label_requirements(requirement: Json, expected: list[str]) -> None:
    problems = term_problems(make_term([requirement]), "root")
    assert [str(found) for found in problems] == [f"root.matchExpressions[0]{problem}" for problem in expected]


def test_field_operators() -> None:
    term = make_term({"matchFields": [make_requirement("metadata.name", "Exists")]})
    (found,) = term_problems(term, "root")
    assert str(found) == 'root.matchFields[0].operator: Unsupported value: "Exists": supported values: "In", "NotIn"'


def test_prefix_has_a_length() -> None:
    (problem,) = term_problems(make_term([make_requirement("a" * 254 + "/x", "Exists")]), "")
    assert str(problem).endswith(": prefix part must be no more than 253 bytes")


def test_aggregate() -> None:
    assert aggregate(["a"]) == "a"
    assert aggregate(["a", "a"]) == "a"
    assert aggregate(["a", "b", "a"]) == "[a, b]"


@table(
    "text, expected",
    {
        "zero": row("0", 0),
        "sign and zeros": row("+0012", 12),
        "least": row("-9223372036854775808", -(2**63)),
        "too small": row("-9223372036854775809", None),
        "greatest": row("9223372036854775807", 2**63 - 1),
        "too large": row("9223372036854775808", None),
        "underscore": row("1_000", None),
        "space": row(" 1", None),
        "other digits": row("٣", None),
        "empty": row("", None),
        "sign alone": row("-", None),
    },
)
def test_int64_of(text: str, expected: int | None) -> None:
    assert int64_of(text) == expected
