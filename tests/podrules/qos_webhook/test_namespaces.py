"""The rule that applies to a namespace, and refused rules."""

from __future__ import annotations

import json
from typing import Any

import pytest

from podrules.qos_webhook.arguments import (
    NamespaceRule,
    NamespaceRules,
    RuleError,
    annotated_constraints,
    is_allowed,
    read_constraints,
)

RACK = {"maxSkew": 1, "topologyKey": "rack", "whenUnsatisfiable": "DoNotSchedule"}
RULES = NamespaceRules(
    {
        "*": NamespaceRule(default_class="any", allowed_classes=("any", "team")),
        "team-*": NamespaceRule(default_class="team"),
        "team-a*": NamespaceRule(allowed_classes=("team", "a"), constraints=()),
        "team-a": NamespaceRule(default_class="a"),
    }
)


@pytest.mark.parametrize(
    ("namespace", "expected"),
    [
        pytest.param("shop", NamespaceRule(default_class="any", allowed_classes=("any", "team")), id="all namespaces"),
        pytest.param("team-b", NamespaceRule(default_class="team", allowed_classes=("any", "team")), id="a prefix"),
        pytest.param(
            "team-ab",
            NamespaceRule(default_class="team", allowed_classes=("team", "a"), constraints=()),
            id="the longest prefix, and missing values from shorter ones",
        ),
        pytest.param(
            "team-a",
            NamespaceRule(default_class="a", allowed_classes=("team", "a"), constraints=()),
            id="the name first; a default does not lift a limit",
        ),
    ],
)
def test_P1_most_specific_entry_with_a_value_counts(namespace: str, expected: NamespaceRule) -> None:
    assert RULES.of(namespace) == expected
    RULES.check()


def test_P1_no_entries_give_no_defaults() -> None:
    assert NamespaceRules().of("shop") == NamespaceRule()
    assert NamespaceRules({"team-*": NamespaceRule(default_class="a")}).of("team") == NamespaceRule()


@pytest.mark.parametrize(
    ("allowed", "expected"),
    [(None, True), ((), False), (("low",), False), (("low", "high"), True), (("*",), True), (("hig*",), False)],
)
def test_P1_allowed(allowed: tuple[str, ...] | None, expected: bool) -> None:
    assert is_allowed("high", allowed) is expected


@pytest.mark.parametrize("key", ["", "Shop", "-a", "a-", "a*b", "**", "a" * 64, "shop\n", "müller"])
def test_invalid_namespace_keys(key: str) -> None:
    with pytest.raises(RuleError, match="neither a namespace nor its beginning"):
        NamespaceRules({key: NamespaceRule(default_class="a")}).check()


@pytest.mark.parametrize("key", ["*", "a", "a-b", "a*", "team-*", "0", "a" * 63])
def test_keys_that_are(key: str) -> None:
    NamespaceRules({key: NamespaceRule(default_class="a")}).check()


def test_P1_default_that_a_more_general_entry_does_not_allow() -> None:
    entries = {"*": NamespaceRule(allowed_classes=()), "shop": NamespaceRule(default_class="high")}
    with pytest.raises(RuleError, match="default class high of shop is not among its allowed: none"):
        NamespaceRules(entries).check()


def test_S4_constraints_are_read_as_kube_scheduler_would() -> None:
    (constraint,) = read_constraints(json.dumps([RACK]))
    assert (constraint.max_skew, constraint.topology_key, constraint.when_unsatisfiable) == (1, "rack", "DoNotSchedule")
    assert read_constraints("[]") == ()


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        pytest.param("rack", "not valid JSON", id="no JSON"),
        pytest.param("{}", "this is a mapping; write a list", id="no list"),
        pytest.param([{**RACK, "maxSkew": 0}], "defaultConstraints[0].maxSkew: Invalid value: 0", id="no skew"),
        pytest.param([{**RACK, "maxSkew": 2**31}], "maxSkew", id="more than an int32"),
        pytest.param([{**RACK, "topologyKye": "x"}], "topologyKye", id="an unknown field"),
        pytest.param([{**RACK, "labelSelector": {}}], "labelSelector: Forbidden", id="a selector"),
        pytest.param([RACK, RACK], "Duplicate value", id="twice"),
        pytest.param(
            [{**RACK, "whenUnsatisfiable": "ScheduleAnyway", "minDomains": 2}], "minDomains", id="not for a pod"
        ),
    ],
)
def test_S4_constraints_that_are_refused(value: Any, problem: str) -> None:
    text = value if isinstance(value, str) else json.dumps(value)
    with pytest.raises(RuleError) as refused:
        read_constraints(text)
    assert problem in str(refused.value)
    assert annotated_constraints(text) == str(refused.value)


def test_S4_annotation_has_a_maximum_length() -> None:
    assert annotated_constraints(f"[{' ' * 4096}]") == "longer than 4096 characters"
    assert annotated_constraints(json.dumps([RACK])) == read_constraints(json.dumps([RACK]))
