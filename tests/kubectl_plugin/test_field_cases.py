"""Captures rebuilt from public bug reports: each command ends, and each pair of commands agrees."""

from __future__ import annotations

import json
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any, Final

import pytest

from tests.kubectl_plugin.answers import check_texts, write_list
from tests.kubectl_plugin.running import Ran, run
from tests.tree import ROOT

FIELD: Final = ROOT / "tests" / "testdata" / "cases" / "field"
CAPTURES: Final = sorted(path.name for path in FIELD.glob("*.json"))
MANIFESTS: Final = sorted(path.name for path in FIELD.iterdir())
CODES: Final = {0, 6, 7, 11, 12}


@cache
def asked(name: str, *words: str) -> Ran:
    ran = run(*words, "--snapshot", str(FIELD / name))
    assert "Traceback" not in ran.err
    return ran


def data(name: str, *words: str) -> Any:
    ran = asked(name, *words, "-o", "json")
    return json.loads(ran.out) if ran.out else {}


@cache
def objects(name: str, kind: str) -> tuple[dict[str, Any], ...]:
    items = json.loads((FIELD / name).read_text())["items"]
    return tuple(entry for entry in items if entry["kind"] == kind)


def pods(name: str) -> list[tuple[str, str]]:
    metadata = (entry["metadata"] for entry in objects(name, "Pod"))
    return [(meta.get("namespace", "default"), meta["name"]) for meta in metadata]


@pytest.mark.parametrize("name", CAPTURES)
@pytest.mark.parametrize(
    "words", [("report", "-A"), ("node",), ("partitions",), ("died", "-A"), ("explain", "pods", "-A")]
)
def test_each_command_ends(name: str, words: tuple[str, ...]) -> None:
    ran = asked(name, *words)
    assert ran.code in CODES
    assert ran.code == 6 or ran.out


@pytest.mark.parametrize("name", MANIFESTS)
def test_lint_and_explain_agree_on_refusals(name: str) -> None:
    path = str(FIELD / name)
    linted, explained = run("lint", "-f", path), run("explain", "-f", path, "--offline")
    assert "Traceback" not in linted.err + explained.err
    assert (linted.code, explained.code) in {(0, 0), (0, 6), (1, 6), (6, 6)}, linted.out


@pytest.mark.parametrize("name", CAPTURES)
def test_explain_and_died_name_one_cause(name: str) -> None:
    for namespace, pod in pods(name):
        last = data(name, "explain", f"pod/{pod}", "-n", namespace)["lastEnd"]
        died = data(name, "died", f"pod/{pod}", "-n", namespace)
        if last is not None:
            assert last["end"] == died["end"]
        elif died["exists"] and not died["earlier"]:
            # An explanation leads with the reason why a container does not start.
            assert died["end"]["of"] in {"Nothing", "NeverRan"}


@pytest.mark.parametrize("name", CAPTURES)
def test_report_and_died_list_the_same_ends(name: str) -> None:
    report = data(name, "report", "-A")
    listed = [one for one in data(name, "died", "-A")["items"] if one["end"]["of"] != "Nothing"]
    ends = Counter(
        (one["namespace"], one["name"], one["end"]["verdict"]["grade"], *_causes(one["end"])) for one in listed
    )
    shown = Counter((one["namespace"], one["name"], one["grade"], *one["causes"]) for one in report["ended"] or ())
    if report["ended"] is not None:
        assert shown == ends


def _causes(end: dict[str, Any]) -> list[str]:
    return [one["cause"] for one in end["verdict"]["suspects"]]


@pytest.mark.parametrize("name", CAPTURES)
def test_explain_and_place_agree_on_whether_a_pending_pod_fits(name: str) -> None:
    for entry in objects(name, "Pod"):
        meta = entry["metadata"]
        if entry["spec"].get("nodeName") or meta.get("deletionTimestamp"):
            continue
        where = ("-n", meta.get("namespace", "default"))
        placement = data(name, "explain", f"pod/{meta['name']}", *where)["placement"]
        if placement is None or placement["outcome"] not in {"Fits", "Unschedulable"}:
            continue
        plan = data(name, "place", f"pod/{meta['name']}", *where)
        waiting = next(one for one in plan["specs"] if one["origin"] == "pending")
        assert (placement["outcome"] == "Fits") == (waiting["withoutPreemption"] == 1), meta["name"]
        if placement["outcome"] == "Fits":
            assert placement["proven"] == waiting["proven"]
            assert set(waiting["nodes"]) <= set(placement["best"])


@pytest.mark.parametrize("name", CAPTURES)
def test_counts_and_nodes_are_the_same_everywhere(name: str) -> None:
    report = data(name, "report", "-A")
    listed = pods(name)
    assert {(one["namespace"], one["name"]) for one in report["pods"]} == set(listed)
    explained = (
        {}
        if not listed
        else {(one["namespace"], one["name"]): one for one in _items(data(name, "explain", "pods", "-A"))}
    )
    for one in report["pods"]:
        node = explained[one["namespace"], one["name"]]["status"]["node"]
        assert one["node"] == (node["name"] if node else "")
    for node in report["nodes"]:
        promised = data(name, "explain", f"node/{node['name']}")
        assert data(name, "node", node["name"])["promised"]["pods"] == promised["pods"]
        if promised["pods"] is not None:
            assert node["pods"] == promised["pods"]


def _items(found: Any) -> list[Any]:
    return found["items"] if found.get("kind") == "List" else [found]


@pytest.mark.parametrize("name", CAPTURES)
def test_exit_codes_show_missing_kinds(name: str) -> None:
    for namespace, pod in pods(name):
        words = ("explain", f"pod/{pod}", "-n", namespace)
        verdict = data(name, *words)["verdict"]
        assert (asked(name, *words).code == 11) == bool(verdict["lacks"])
        assert ("Not certain: " in " ".join(asked(name, *words).out.split())) == bool(verdict["lacks"])


# Objects that these captures lack were once treated as deleted, as none, or as a yes.


def flat(name: str, *words: str) -> tuple[int, str]:
    ran = asked(name, *words)
    return ran.code, " ".join(ran.out.split())


def test_scale_down_without_captured_replica_set() -> None:
    code, text = flat("AC2-gone-scaledown-nodes-pods-events.json", "died", "pod/web-y")
    assert "ReplicaSet web removed the pod, for a rollout or because it was scaled down." in text
    check_texts(text, "replicasets.apps: not in the file", "was deleted")
    assert code == 0


def test_controller_event_counts_without_start_events(tmp_path: Path) -> None:
    content = json.loads((FIELD / "AC2-gone-scaledown-nodes-pods-events.json").read_text())
    starts = {"Scheduled", "Pulling", "Pulled", "Created", "Started"}
    kept = [one for one in content["items"] if one.get("reason") not in starts]
    assert len(kept) < len(content["items"])
    file = tmp_path / "late.json"
    file.write_text(json.dumps({**content, "items": kept}))
    ran = run("died", "pod/web-y", "--snapshot", str(file))
    assert "ReplicaSet web removed the pod" in " ".join(ran.out.split())
    assert ran.code == 0


def test_uncaptured_owner_adds_no_certainty() -> None:
    without = data("Z-owner-not-captured.json", "died", "pod/db-0")["end"]["verdict"]
    known = data("Z2-owner-captured.json", "died", "pod/db-0")["end"]["verdict"]
    assert (without["grade"], known["grade"]) == ("Several", "Several")
    assert {one["cause"] for one in without["suspects"]} == {one["cause"] for one in known["suspects"]}
    assert "gone" not in json.dumps(without)
    assert asked("Z-owner-not-captured.json", "died", "pod/db-0").code == 11


@pytest.mark.parametrize("command", ["place", "explain"])
def test_scheduler_is_quoted_first_without_csi_nodes(command: str) -> None:
    code, text = flat("t-CSINode.json", command, "pod/late")
    answer = text.partition("Now is taken")[0]
    scheduler = answer.index("2 node(s) exceed max volume count")
    ours = answer.index("Unknown; by what was read, 1 more pod" if command == "place" else "By what was read, 2 of 3")
    assert (
        scheduler < ours < answer.index("Not certain: no csinodes.storage.k8s.io or volumeattachments.storage.k8s.io")
    )
    assert "Yes" not in answer
    assert code == 11


def test_victim_that_a_budget_may_protect_is_not_certain() -> None:
    code, text = flat("c05-nopdb.json", "explain", "pod/very-high")
    assert "Not certain: no poddisruptionbudgets.policy in the file: assumed none." in text
    assert "to add: kubectl get poddisruptionbudgets -A -o json >> FILE" in text
    assert code == 11
    known, whole = flat("c05.json", "explain", "pod/very-high")
    assert (known, "Not certain" in whole) == (0, False)


@pytest.mark.parametrize("command", ["explain", "node"])
def test_node_without_captured_pods_promises_nothing_known(command: str) -> None:
    code, text = flat("AL-nodesonly.json", command, "node/worker-1")
    check_texts(text, "unknown: its pods could not be read.", "Every pod")
    assert code == 11
    _, table = flat("AL-nodesonly.json", command, *(["nodes"] if command == "explain" else []))
    assert "0%" not in table


def test_later_captures_may_follow_in_the_same_file(tmp_path: Path) -> None:
    items = json.loads((FIELD / "c05.json").read_text())["items"]
    file = tmp_path / "c.json"
    with file.open("w") as out:
        for budgets in (False, True):
            some = [entry for entry in items if (entry["kind"] == "PodDisruptionBudget") is budgets]
            json.dump({"apiVersion": "v1", "kind": "List", "items": some}, out, indent=4)
            out.write("\n")
    answer = run("explain", "pod/very-high", "--snapshot", str(file))
    whole = asked("c05.json", "explain", "pod/very-high")
    assert answer == whole._replace(out=whole.out.replace(str(FIELD / "c05.json"), str(file))) or answer.code == 0
    assert "would preempt default/high" in answer.out


def test_objects_of_unread_version_count_as_missing(tmp_path: Path) -> None:
    items = json.loads((FIELD / "c05.json").read_text())["items"]
    old = [{**one, "apiVersion": "policy/v1beta1"} if one["kind"] == "PodDisruptionBudget" else one for one in items]
    file = write_list(tmp_path / "c.json", old)
    ran = run("explain", "pod/very-high", "--snapshot", file)
    text = " ".join(ran.out.split())
    assert "poddisruptionbudgets.policy: not in the file: those of policy/v1beta1 are not read" in text
    assert "Not certain: no poddisruptionbudgets.policy in the file: assumed none." in text
    assert ran.code == 11


@pytest.mark.parametrize("command", [("explain", "pods"), ("place", "deployment/checkout"), ("report",)])
@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("sc-old.yaml", "(true): write profiles[].plugins.postFilter.disabled: [{name: DefaultPreemption}]"),
        ("sc-old1.yaml", 'unknown field "algorithmSource" ({"provider": "DefaultProvider"}): remove it'),
        ("sc-top.yaml", 'unknown field "percentageOfNodeToScore" (5): write percentageOfNodesToScore'),
    ],
)
def test_scheduler_configuration_is_refused_before_any_answer(command: tuple[str, ...], name: str, said: str) -> None:
    ran = run(*command, "-n", "shop", "--demo", "--scheduler-config", str(FIELD / name))
    assert (ran.code, ran.out) == (6, "")
    assert ran.err.startswith(f"error: {FIELD / name}: ")
    assert said in ran.err
