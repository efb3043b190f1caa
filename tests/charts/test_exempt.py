"""The clients that the chart exempts from the rules for force deletions: the same list in all places."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from podrules.qos_webhook.rules import read_rules
from tests.charts.chart import CHART, FULL_VALUES, NODE_CONTROLLERS, Chart, HelmError, config_of, of_kind
from tests.controlplane.client import Object
from webhook.rules.force_delete import CONTROLLERS
from webhook.settings import Settings

PAGE = CHART.parents[1] / "docs" / "platforms.md"
LIST = re.compile(r"request\.userInfo\.username in (\[.*?\])")


def settings(objects: list[Object]) -> tuple[frozenset[str], frozenset[str]]:
    """The clients that the program exempts, and those that it exempts only for Nodes."""
    rules = read_rules(config_of(objects), Settings).force_deletion
    return CONTROLLERS | rules.exempt_users, rules.exempt_node_controllers


def conditions(objects: list[Object]) -> Iterator[tuple[str, frozenset[str], frozenset[str]]]:
    """The usernames that the matchConditions for force deletions exclude: for pods and Nodes, and for Nodes only."""
    for entry in of_kind("ValidatingWebhookConfiguration", objects):
        for webhook in entry["webhooks"]:
            yield webhook["name"].split(".")[0], *usernames(webhook)
    for policy in of_kind("ValidatingAdmissionPolicy", objects):
        yield policy["metadata"]["name"].split(".", 2)[2], *usernames(policy["spec"])


def usernames(matching: Object) -> tuple[frozenset[str], frozenset[str]]:
    found = {entry["name"]: LIST.search(entry["expression"]) for entry in matching.get("matchConditions", ())}
    lists = {name: frozenset(json.loads(match[1])) for name, match in found.items() if match}
    return lists.get("not-by-a-garbage-collector", frozenset()), lists.get("not-by-a-node-controller", frozenset())


@pytest.mark.parametrize("values", [{}, {"forceDeletion": FULL_VALUES["forceDeletion"]}], ids=["defaults", "values"])
def test_F2_program_webhooks_and_policies_exempt_the_same(chart: Chart, values: Mapping[str, Any]) -> None:
    everywhere, of_nodes = settings(chart.objects(values))
    asked = {name: lists for name, *lists in conditions(chart.objects(values))}
    applied = {name: lists for name, *lists in conditions(chart.objects({**values, "mode": "policy"}))}
    of_pods = [everywhere, frozenset()]
    assert {name: asked[name] for name in ("force-delete", "evictions", "nodes")} == {
        "force-delete": of_pods,
        "evictions": of_pods,
        "nodes": [everywhere, of_nodes],
    }
    of_force = {name: lists for name, lists in applied.items() if name.startswith(("force-delete", "eviction", "node"))}
    assert {"force-delete", "eviction"} < set(of_force)
    assert any(name.startswith("node") for name in of_force)
    for name, lists in of_force.items():
        assert lists == ([everywhere, of_nodes] if name.startswith("node") else of_pods), name


def test_F2_default_controllers_can_be_taken_away_and_added_to(chart: Chart) -> None:
    def exempt(controllers: Mapping[str, list[str] | None]) -> frozenset[str]:
        return settings(chart.objects({"forceDeletion": {"exemptNodeControllers": controllers}}))[1]

    defaults = exempt({})
    assert defaults == frozenset().union(*NODE_CONTROLLERS.values())
    assert exempt({"karpenter": []}) == exempt({"karpenter": None}) == defaults - set(NODE_CONTROLLERS["karpenter"])
    assert exempt({"mine": ["reaper"]}) == defaults | {"reaper"}
    assert exempt({name: [] for name in NODE_CONTROLLERS}) == frozenset()


def test_F2_default_controllers_are_single_identities() -> None:
    for username in (name for names in NODE_CONTROLLERS.values() for name in names):
        assert re.fullmatch(r"[a-z0-9:-]+", username)
        if username.startswith("system:serviceaccount:"):
            assert username.count(":") == 3


@pytest.mark.parametrize(
    "username", ["", "*", "system:serviceaccount:kube-system:*", "system:nodes", "system:serviceaccounts:kube-system"]
)
@pytest.mark.parametrize("value", ["exemptUsers", "exemptNodeControllers"])
def test_F2_ineffective_exemptions_are_refused(chart: Chart, value: str, username: str) -> None:
    """Neither wildcards nor groups: they are compared with usernames."""
    given = [username] if value == "exemptUsers" else {"mine": [username]}
    with pytest.raises(HelmError, match=f"/forceDeletion/{value}"):
        chart.rendered({"forceDeletion": {value: given}})


def test_F2_table_of_controllers_names_each_default() -> None:
    """And the key that removes it."""
    rows = re.findall(r"^\| `([a-z-]+)` \| (.*?) \|", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    table: dict[str, list[str]] = {}
    for key, usernames_of_row in rows:
        if key in NODE_CONTROLLERS:
            table.setdefault(key, []).extend(re.findall(r"`([^`]+)`", usernames_of_row))
    assert table == NODE_CONTROLLERS
