"""A lint rule is one class in one module and one registration; everything else follows."""

from __future__ import annotations

import json

import pytest

from podrules.lint.rules import RULES
from tests.kubectl_plugin.commands.rule_table import table_of_rules
from tests.kubectl_plugin.commands.toy_rule import LatestImage
from tests.kubectl_plugin.running import run

NAME = LatestImage.rule.name
MESSAGE = "web:latest names another image tomorrow."
POD = """\
apiVersion: v1
kind: Pod
metadata:
  name: web
spec:
  containers:
  - name: app
    image: web:latest
"""


@pytest.fixture
def toy(monkeypatch: pytest.MonkeyPatch) -> None:
    """The registration."""
    monkeypatch.setitem(RULES, NAME, LatestImage.rule)


def _lint(form: str, *more: str, text: str = POD) -> str:
    return run("lint", "-f", "-", "-o", form, *more, stdin=text).out


@pytest.mark.usefixtures("toy")
@pytest.mark.parametrize("form", ["table", "markdown", "json", "yaml", "junit", "github", "sarif"])
def test_registered_rule_is_in_every_format(form: str) -> None:
    said = " ".join(_lint(form, "--severity=warning").split())
    assert NAME in said
    assert MESSAGE in said


@pytest.mark.usefixtures("toy")
def test_registered_rule_is_data_and_documented() -> None:
    (found,) = (entry for entry in json.loads(_lint("json"))["findings"] if entry["rule"] == NAME)
    assert (found["level"], found["line"], found["field"]) == ("warning", 8, "spec.containers[0].image")
    assert (found["message"], found["remedy"], found["source"]) == (MESSAGE, "Write a version.", "toy.go")
    (ran,) = json.loads(_lint("sarif"))["runs"]
    stated = ran["tool"]["driver"]["rules"][-1]
    assert (stated["id"], stated["shortDescription"]["text"]) == (NAME, "An image has the tag latest.")
    assert NAME in {result["ruleId"] for result in ran["results"]}
    remedy = "Write a version. `kubectl qos why BestEffort`"
    row = f"| `{NAME}` | warning | An image has the tag latest. | {remedy} | toy.go |"
    assert row in table_of_rules().splitlines()


@pytest.mark.usefixtures("toy")
def test_registered_rule_can_be_disabled_and_ignored() -> None:
    assert NAME not in _lint("json", f"--disable={NAME}")
    ignored = json.loads(_lint("json", text=f"# kubectl-qos: ignore {NAME}\n{POD}"))
    assert [entry["ignored"] is not None for entry in ignored["findings"] if entry["rule"] == NAME] == [True]
    assert ignored["unknownIgnores"] == []


def test_no_other_module_knows_the_toy() -> None:
    assert NAME not in _lint("json")
    assert NAME not in table_of_rules()
    assert "Did you mean" in run("lint", "-f", "-", "--disable=bare-po", stdin=POD).err
    assert f'"{NAME}": no such rule' in run("lint", "-f", "-", f"--disable={NAME}", stdin=POD).err
