"""The rule that applies to a namespace, and refused rules."""

from __future__ import annotations

import json
from typing import Any

import pytest

from podrules.qos_webhook.rules import (
    PodRules,
    RuleError,
    annotated_constraints,
    is_allowed,
    most_specific,
    read_constraints,
    read_rules,
)
from tests.table import table

RACK = {"maxSkew": 1, "topologyKey": "rack", "whenUnsatisfiable": "DoNotSchedule"}
ENTRIES = {"*": "any", "team-*": "team", "team-a*": "a", "team-ab": "ab"}


@pytest.mark.parametrize(
    ("namespace", "expected"),
    [("shop", "any"), ("team-b", "team"), ("team-ac", "a"), ("team-ab", "ab"), ("team", "any")],
)
def test_P1_most_specific_entry_counts(namespace: str, expected: str) -> None:
    assert most_specific(ENTRIES, namespace) == expected


def test_P1_no_matching_entry() -> None:
    assert most_specific({}, "shop") is None
    assert most_specific({"team-*": "a", "shop-*": "b"}, "shop") is None
    assert PodRules().allowed_classes("shop") is None


@pytest.mark.parametrize(
    ("allowed", "expected"),
    [(None, True), ((), False), (("low",), False), (("low", "high"), True), (("*",), True), (("hig*",), False)],
)
def test_P1_allowed(allowed: tuple[str, ...] | None, expected: bool) -> None:
    assert is_allowed("high", allowed) is expected


@pytest.mark.parametrize("place", ["defaults", "allowed", "namespaces"])
@pytest.mark.parametrize("key", ["", "Shop", "-a", "a-", "a*b", "**", "a" * 64, "shop\n", "müller"])
def test_invalid_namespace_keys(key: str, place: str) -> None:
    keys = {"defaults": {key: "a"}, "allowed": {key: ["a"]}, "namespaces": {key: []}}
    section = "clusterDefaultConstraints" if place == "namespaces" else "priorityClasses"
    with pytest.raises(RuleError, match=f"{section}.{place}: .* neither a namespace nor its beginning"):
        read_rules({section: {place: keys[place]}}, PodRules)


@pytest.mark.parametrize("key", ["*", "a", "a-b", "a*", "team-*", "0", "a" * 63])
def test_valid_namespace_keys(key: str) -> None:
    rules = read_rules({"priorityClasses": {"defaults": {key: "a"}}}, PodRules)
    assert rules.priority_classes.defaults == {key: "a"}


def test_P1_default_that_a_more_general_entry_does_not_allow() -> None:
    with pytest.raises(RuleError, match="default class high of shop is not among its allowed: none"):
        read_rules({"priorityClasses": {"defaults": {"shop": "high"}, "allowed": {"*": []}}}, PodRules)


@table(
    "rules, message",
    {
        "section": ({"priorityClases": None}, "priorityClases: nothing stands here; write a value, or omit the key"),
        "allowed": ({"priorityClasses": {"allowed": {"a": None}}}, "priorityClasses.allowed.a: nothing stands here"),
        "no list": (
            {"priorityClasses": {"allowed": {"b": ["c"], "a": "c"}}},
            'allowed.a: "c" is a string; write a list',
        ),
        "section like another": (
            {"priorityClasses": {"allow": {}}},
            'priorityClasses: unknown field "allow"; did you mean allowed?',
        ),
        "no class": (
            {"priorityClasses": {"allowed": {"a": ["A b"]}}},
            "priorityClasses.allowed.a: 'A b' is not the name",
        ),
        "no default": (
            {"priorityClasses": {"defaults": {"a": "*"}}},
            "priorityClasses.defaults.a: '*' is not the name",
        ),
        "version": (
            {"apiVersion": "kubectl-qos.io/v2"},
            'apiVersion: "kubectl-qos.io/v2" is none of kubectl-qos.io/v1',
        ),
        "constraint": (
            {"clusterDefaultConstraints": {"namespaces": {"b": [], "a": [{"maxSkew": "1"}]}}},
            'clusterDefaultConstraints.namespaces.a[0].maxSkew: "1" is a string; write a whole number',
        ),
        "null in a list": (
            {"clusterDefaultConstraints": {"namespaces": {"a": [{**RACK, "minDomains": None}]}}},
            "clusterDefaultConstraints.namespaces.a[0].minDomains: nothing stands here",
        ),
    },
)
def test_message_names_the_whole_path(rules: dict[str, Any], message: str) -> None:
    with pytest.raises(RuleError) as refused:
        read_rules(rules, PodRules)
    assert message in str(refused.value)


def test_other_keys_of_the_file_are_skipped() -> None:
    assert read_rules({"kind": "QosWebhookConfiguration", "drainSeconds": 5}, PodRules) == PodRules()


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
        pytest.param([{**RACK, "minDomains": 2**31}], "minDomains", id="more domains than an int32"),
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
