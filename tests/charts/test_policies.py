"""The objects that the chart renders in each mode, and the values that it refuses."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from podrules.api.controllers import ADDED_LABELS
from podrules.api.model.pod import Pod, PodSpec
from podrules.lint.spread import Miss, SelectorMiss
from tests.charts.chart import CHART, FULL_VALUES, Chart, HelmError, of_kind
from tests.charts.policies import GROUP, KINDS
from tests.controlplane.client import Object
from tests.golden import check
from tests.webhook.clusters import make_cluster
from webhook.reviews.partial_objects import PartialObject
from webhook.rules.force_delete import warn_of_zero_grace

FULL_POLICY_VALUES = {**FULL_VALUES, "mode": "policy", "lint": {"spreadSelectors": True, "topologyKeys": False}}
NAME = "harbour.qos-system"
REFUSING = {"class", "template-class", "force-delete", "eviction", "node"}
MISSING = "missing-spread.warn"
"""Fields that the webhook would have written, in mode both."""
GUARD = "own-objects"
"""Restricts the program, in all modes with a program: see tests/charts/test_configurations_policy.py."""
WARNING = {"pod.warn", "workload.warn", "force-delete.warn", "eviction.warn"}
CLUSTER = [f"--api-versions={group}" for group in ("v1/Pod", *(f"{GROUP}/{kind}" for kind in KINDS))]
"""A part of what Argo CD reports about a cluster."""


def strictest(mode: str) -> Mapping[str, Any]:
    rules = {**FULL_VALUES["priorityClasses"], "disallowed": "deny", "templates": "deny"}
    return {**FULL_POLICY_VALUES, "mode": mode, "priorityClasses": rules, "warnings": "usual"}


def named(kind: str, objects: list[Object]) -> dict[str, Object]:
    """The objects of a kind by their short name."""
    return {entry["metadata"]["name"].removeprefix(f"{NAME}."): entry for entry in of_kind(kind, objects)}


# Commands

COMMAND = re.compile(
    r"\(\[([^\]]+)\]\.all\(name, name\.matches\('\^\[a-z0-9\]\([^']*\$'\)\) \? ('kubectl [^?]+) : 'no command: [^']+'\)"
)
"""A command, and the names before it that must be plain."""


@pytest.mark.parametrize("forced", ["warn", "confirm", "deny"])
@pytest.mark.parametrize("mode", ["policy", "both"])
def test_A_commands_of_policies_have_plain_names_only(chart: Chart, mode: str, forced: str) -> None:
    values = {**strictest(mode), "forceDeletion": {"mode": forced, "nodes": True}}
    found = 0
    for policy in of_kind("ValidatingAdmissionPolicy", chart.objects(values)):
        for text in filter(None, (entry.get("messageExpression") for entry in policy["spec"]["validations"])):
            for names, command in COMMAND.findall(text):
                place = command.replace("variables.place", "oldObject.metadata.name + oldObject.metadata.namespace")
                assert set(re.findall(r"\+ ([a-z][\w.]+)", place)) <= set(names.split(", "))
                found += 1
            assert "kubectl " not in COMMAND.sub("", text)
    assert found >= 3


def test_A_commands_of_alerts_have_no_labels(chart: Chart) -> None:
    """Every owner of scraped metrics may write a label."""
    (rules,) = of_kind("PrometheusRule", chart.objects(FULL_VALUES))
    texts = [text for rule in rules["spec"]["groups"][0]["rules"] for text in rule["annotations"].values()]
    commands = [command for text in texts for command in re.findall(r"\b(?:kubectl|helm) .*", text)]
    assert len(commands) > 5
    assert not any("{{" in command for command in commands)


# The same sentences as the rules


def _lint_expression(chart: Chart) -> str:
    """The CEL expression that finds the problems of spread constraints."""
    policy = named("ValidatingAdmissionPolicy", chart.objects(strictest("policy")))["workload.warn"]
    (found,) = (one for one in policy["spec"]["variables"] if one["name"] == "problems")
    return str(found["expression"])


@pytest.mark.parametrize("why", Miss)
def test_A_policies_word_a_spread_constraint_as_the_rule_does(chart: Chart, why: Miss) -> None:
    miss = SelectorMiss(why)
    # If a term does not match, only the text after the term is literal.
    opening, quote = ("", '"') if why is Miss.NOT_MATCHED else (f"]{miss.field}: ", "'")
    assert f"{opening}{miss}{quote}" in _lint_expression(chart)


def test_A_policies_ignore_the_labels_that_the_rule_ignores(chart: Chart) -> None:
    policy = named("ValidatingAdmissionPolicy", chart.objects(strictest("policy")))["workload.warn"]
    (failing,) = (one["expression"] for one in policy["spec"]["variables"] if one["name"] == "failing")
    lists = re.findall(r"!\((?:key|term\.key) in (\[.*?\])\)", failing)
    assert len(lists) == 2
    assert all(set(json.loads(found)) == ADDED_LABELS for found in lists)


def test_A_policies_word_zero_grace_as_the_webhook_does(chart: Chart) -> None:
    pod = Pod(spec=PodSpec(termination_grace_period_seconds=0))
    (warning,) = warn_of_zero_grace(PartialObject(pod), make_cluster()).warnings
    policy = named("ValidatingAdmissionPolicy", chart.objects(strictest("policy")))["workload.warn"]
    expressions = [one.get("messageExpression", "") for one in policy["spec"]["validations"]]
    assert warning.removeprefix("spec") in {"".join(re.findall("'([^']*)'", one)) for one in expressions}


# The whole manifest


def test_A_render_of_mode_policy(chart: Chart) -> None:
    """Recorded as a file, as those of tests/charts/test_golden.py: `make docs` rewrites it."""
    check(Path(__file__).parent / "golden" / "policy.yaml", chart.rendered(strictest("policy")))


@pytest.mark.parametrize("values", [{"mode": "policy"}, FULL_POLICY_VALUES], ids=["defaults", "all values"])
def test_A_mode_policy_renders_policies_alone(chart: Chart, values: Mapping[str, Any]) -> None:
    assert {entry["kind"] for entry in chart.objects(values)} == set(KINDS)
    assert "0 chart(s) failed" in chart.run("lint", "--strict", CHART, values=values)


def test_A_mode_webhook_renders_no_policies(chart: Chart) -> None:
    objects = chart.objects({**FULL_VALUES, "mode": "webhook"})
    assert set(named("ValidatingAdmissionPolicy", objects)) == {GUARD}
    assert not of_kind("MutatingAdmissionPolicy", objects)


def test_A_mode_both_adds_policies_that_work_without_webhook(chart: Chart) -> None:
    webhook, both = chart.objects({**strictest("both"), "mode": "webhook"}), chart.objects(strictest("both"))
    assert [entry for entry in both if entry["kind"] not in KINDS or entry in webhook] == webhook
    assert set(named("ValidatingAdmissionPolicy", both)) == REFUSING | {GUARD, MISSING}
    assert named("ValidatingAdmissionPolicyBinding", both)[MISSING]["spec"]["validationActions"] == ["Warn", "Audit"]
    assert set(named("MutatingAdmissionPolicy", both)) == {"default-class", "default-class.label"}
    policies = named("ValidatingAdmissionPolicy", chart.objects({**strictest("both"), "warnings": "verbose"}))
    assert set(policies) == REFUSING | {GUARD, MISSING, "pod.warn"}
    # Only about fields that a policy fills in.
    (validation,) = policies["pod.warn"]["spec"]["validations"]
    assert "is filled in" in validation["message"]


def test_A_only_refusing_policies_fail_closed(chart: Chart) -> None:
    objects = chart.objects(strictest("policy"))
    policies = named("ValidatingAdmissionPolicy", objects)
    bindings = named("ValidatingAdmissionPolicyBinding", objects)
    assert set(policies) == set(bindings) == REFUSING | WARNING
    for name, policy in policies.items():
        refuses = name in REFUSING
        assert policy["spec"]["failurePolicy"] == ("Fail" if refuses else "Ignore"), name
        assert bindings[name]["spec"]["validationActions"] == (["Deny"] if refuses else ["Warn"]), name
        assert bindings[name]["spec"]["policyName"] == policy["metadata"]["name"]
        for validation in policy["spec"]["validations"]:
            assert validation["message"], name
            assert validation.get("reason") == ("Forbidden" if refuses else None), name
    mutating = named("MutatingAdmissionPolicy", objects)
    assert set(mutating) == {"default-class", "default-class.label", "default-spread"}
    for policy in mutating.values():
        assert (policy["spec"]["failurePolicy"], policy["spec"]["reinvocationPolicy"]) == ("Ignore", "Never")


def test_A_disallowed_class_only_warns_if_configured(chart: Chart) -> None:
    objects = chart.objects(FULL_POLICY_VALUES)
    assert FULL_VALUES["priorityClasses"]["disallowed"] == "warn"
    binding = named("ValidatingAdmissionPolicyBinding", objects)["class"]
    policy = named("ValidatingAdmissionPolicy", objects)["class"]
    assert binding["spec"]["validationActions"] == ["Warn"]
    assert policy["spec"]["failurePolicy"] == "Ignore"
    assert "template-class" not in named("ValidatingAdmissionPolicy", objects)


def test_A_policies_match_the_same_requests_as_the_webhook(chart: Chart) -> None:
    objects = chart.objects(strictest("both"))
    (configuration,) = of_kind("ValidatingWebhookConfiguration", objects)
    hooks = {entry["name"].removesuffix(".kubectl-qos.io"): entry for entry in configuration["webhooks"]}
    policies = named("ValidatingAdmissionPolicy", objects)
    pairs = {"class": "pods.validate", "template-class": "workloads", "force-delete": "force-delete"}
    for policy, hook in {**pairs, "eviction": "evictions"}.items():
        spec, entry = policies[policy]["spec"], hooks[hook]
        assert spec["matchConstraints"]["namespaceSelector"] == entry["namespaceSelector"]
        assert spec["matchConstraints"]["resourceRules"] == entry["rules"]
        assert spec["matchConstraints"]["matchPolicy"] == entry["matchPolicy"]
        assert spec["matchConditions"][: len(entry["matchConditions"])] == entry["matchConditions"]


@pytest.mark.parametrize(
    ("modes", "expected"),
    [
        pytest.param({"mode": "warn"}, {"node.warn"}, id="warn"),
        pytest.param({"mode": "warn", "namespaces": {"shop": "confirm"}}, {"node", "node.warn"}, id="confirm"),
        pytest.param({"mode": "confirm", "namespaces": {"shop": "deny"}}, {"node"}, id="deny"),
    ],
)
def test_A_the_strictest_mode_of_the_values_is_that_of_nodes(
    chart: Chart, modes: Mapping[str, Any], expected: set[str]
) -> None:
    """A policy does not know which namespaces have pods on a Node."""
    for mode in ("policy", "both"):
        values = {**strictest(mode), "forceDeletion": modes}
        found = {name for name in named("ValidatingAdmissionPolicy", chart.objects(values)) if name.startswith("node")}
        assert found == (expected if mode == "policy" else expected - {"node.warn"})


def test_A_missing_constraints_warn_if_a_policy_knows_them(chart: Chart) -> None:
    constraints = FULL_VALUES["clusterDefaultConstraints"]
    existing = {**constraints, "schedulerConfiguration": {}, "existingConfigMap": {"name": "sched"}}
    for given, warns in ((constraints, True), ({}, False), (existing, False)):
        values = {**strictest("both"), "clusterDefaultConstraints": given}
        assert (MISSING in named("ValidatingAdmissionPolicy", chart.objects(values))) == warns


def notes(chart: Chart, mode: str, /, **force_deletion: Any) -> str:
    """The output of helm after an installation."""
    values = {"mode": mode, "forceDeletion": force_deletion}
    return chart.run("install", "qos", CHART, "--dry-run=client", values=values).partition("NOTES:")[2]


def test_A_notes_name_the_running_parts(chart: Chart) -> None:
    assert "No program runs." in notes(chart, "policy")
    assert "rollout status" not in notes(chart, "policy")
    assert "also while no pod of the webhook answers" in notes(chart, "both")
    assert "policies" not in notes(chart, "webhook").lower()


LABEL = "\n  kubectl label namespace NAME kubectl-qos.io/force-delete="
NODES = {
    "webhook": "For a Node the strictest mode of the namespaces of its pods counts.\n",
    "policy": "For a Node that was not drained the strictest mode counts: deny.\n",
    "both": "For a Node that was not drained the strictest mode counts: deny.\n",
}


@pytest.mark.parametrize("mode", ["webhook", "policy", "both"])
def test_A_notes_list_the_modes_by_namespace(chart: Chart, mode: str) -> None:
    said = notes(chart, mode, namespaces={"data": "confirm", "shop": "deny"})
    table = "  warn     all others\n  confirm  data\n  deny     shop\n"
    assert f"The mode of force deletions, by namespace:\n\n{table}\n{NODES[mode]}" in said
    assert f"{LABEL}confirm\n" in said

    said = notes(chart, mode, mode="confirm", namespaces={"b": "deny", "a": "deny", "c": "confirm"}, nodes=False)
    assert "by namespace:\n\n  confirm  c, all others\n  deny     a, b\n\nA label gives" in said
    assert f"{LABEL}deny\n" in said


@pytest.mark.parametrize("mode", ["webhook", "policy"])
@pytest.mark.parametrize(("forced", "stricter"), [("warn", "confirm"), ("confirm", "deny"), ("deny", "")])
def test_A_notes_name_one_mode_and_a_stricter_one(chart: Chart, mode: str, forced: str, stricter: str) -> None:
    said = notes(chart, mode, mode=forced)
    assert f"The mode of force deletions is {forced} in all namespaces.\n" in said
    assert said.count(LABEL) == bool(stricter)
    assert f"{LABEL}{stricter}" in said or not stricter


# Clusters that do not serve policies


@pytest.mark.parametrize("mode", ["policy", "both"])
@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind.startswith("Validating")])
def test_A_cluster_that_does_not_serve_policies_is_refused(chart: Chart, kind: str, mode: str) -> None:
    served = [flag for flag in CLUSTER if not flag.endswith(f"/{kind}")]
    with pytest.raises(HelmError) as refused:
        chart.rendered({"mode": mode}, "--kube-version=1.36.3", *served)
    assert (
        f"mode: {mode}: the API server does not serve ValidatingAdmissionPolicy and its binding of {GROUP}: "
        "set mode to webhook"
    ) in str(refused.value)
    assert chart.rendered({"mode": "webhook"}, "--kube-version=1.36.3", *served)


def test_A_served_policies_are_detected(chart: Chart) -> None:
    """By all that it serves, as Argo CD reports, by its version, or by neither, as with a bare ``helm template``."""
    bare = chart.rendered({"mode": "policy"}, "--kube-version=1.36.0")
    assert chart.rendered({"mode": "policy"}, "--kube-version=1.36.3", *CLUSTER) == bare
    assert (
        chart.rendered({"mode": "policy"}, "--kube-version=1.36.3", "--api-versions=monitoring.coreos.com/v1") == bare
    )


# Values that policies do not support


def spread(**constraint: Any) -> Mapping[str, Any]:
    """Values with a default constraint."""
    default = {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "ScheduleAnyway", **constraint}
    return profile({"defaultingType": "List", "defaultConstraints": [default]})


def profile(args: Mapping[str, Any], *more: Mapping[str, Any]) -> Mapping[str, Any]:
    """Values with profiles, the first with these arguments of PodTopologySpread."""
    first = {"pluginConfig": [{"name": "NodeResourcesFit"}, {"name": "PodTopologySpread", "args": args}]}
    configuration = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}
    return {"clusterDefaultConstraints": {"schedulerConfiguration": {**configuration, "profiles": [first, *more]}}}


DEFAULTS = "profiles[0] (default-scheduler): defaultConstraints[0]"
SPREAD_TWICE = [{"maxSkew": skew, "topologyKey": "zone", "whenUnsatisfiable": "ScheduleAnyway"} for skew in (1, 2)]


@pytest.mark.parametrize(
    ("values", "said"),
    [
        pytest.param(
            {"lint": {"topologyKeys": True}}, "lint.topologyKeys: true: a policy cannot see Nodes", id="nodes"
        ),
        pytest.param(
            {"clusterDefaultConstraints": {"existingConfigMap": {"name": "sched"}}},
            "clusterDefaultConstraints.existingConfigMap.name: sched: a policy cannot read it: give",
            id="config map",
        ),
        pytest.param(
            {"priorityClasses": {"defaults": {"shop": "high"}, "allowed": {"shop": ["low"], "*": ["*"]}}},
            "priorityClasses.defaults.shop: high is not among the allowed classes: low",
            id="default that is not allowed",
        ),
        pytest.param(
            {"priorityClasses": {"defaults": {"team-a": "high"}, "allowed": {"t*": ["*"], "team-*": [], "*": ["*"]}}},
            "priorityClasses.defaults.team-a: high is not among the allowed classes: none",
            id="default that is not allowed by a beginning",
        ),
        pytest.param(spread(maxSkew=0), f"{DEFAULTS}.maxSkew: 0: write a number from 1", id="skew"),
        pytest.param(spread(topologyKey="a b"), f"{DEFAULTS}.topologyKey: a b: write the name of a label", id="key"),
        pytest.param(
            spread(whenUnsatisfiable="Later"), f"{DEFAULTS}.whenUnsatisfiable: Later: write DoNotSchedule", id="when"
        ),
        pytest.param(spread(labelSelector={}), f"{DEFAULTS}.labelSelector: remove it", id="selector"),
        pytest.param(spread(minDomains=2), f"{DEFAULTS}.minDomains: 2: write a number from 1, with", id="domains"),
        pytest.param(spread(nodeTaintsPolicy="No"), f"{DEFAULTS}.nodeTaintsPolicy: No: write Honor", id="policy"),
        pytest.param(
            {"clusterDefaultConstraints": {"namespaces": {"shop": SPREAD_TWICE}}},
            "clusterDefaultConstraints.namespaces.shop[1]: zone, ScheduleAnyway is a duplicate: remove one",
            id="twice",
        ),
        pytest.param(
            profile({"defaultConstraints": SPREAD_TWICE[:1]}),
            "profiles[0] (default-scheduler): defaultingType: System: write List, or System without",
            id="type",
        ),
        pytest.param(profile({}, {"schedulerName": "b"}), 'profiles[0].schedulerName: "": each of several', id="name"),
    ],
)
def test_A_refusal_names_value_and_remedy(chart: Chart, values: Mapping[str, Any], said: str) -> None:
    with pytest.raises(HelmError) as refused:
        chart.rendered({"mode": "policy", **values})
    assert said in str(refused.value)


def test_A_default_that_any_class_may_be_is_taken(chart: Chart) -> None:
    rules = {"defaults": {"team-a": "high", "team-*": "low"}, "allowed": {"team-a": ["*"], "team-*": ["low"]}}
    assert chart.rendered({"mode": "policy", "priorityClasses": rules})
