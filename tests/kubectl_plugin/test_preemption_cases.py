"""Recorded small clusters in which a pod fits nowhere: preemption in every answer that shows it."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, Final

import pytest

from tests.kubectl_plugin.answers import check_texts, data, said
from tests.kubectl_plugin.edits import FIELD, SEEDS, find, items_of
from tests.kubectl_plugin.running import run, write_cluster
from tests.objects import raw_condition

DISABLED: Final = "its scheduler's profile disables DefaultPreemption (plugins.postFilter.disabled)"


def seed(folder: Path, name: str) -> str:
    """A cluster that has only the objects of a recorded List."""
    return write_cluster(folder / "cluster.qos", items_of(SEEDS / name))


def explained(folder: Path, manifest: str, recorded: str, *more: str) -> str:
    ran = run("explain", "-f", str(SEEDS / manifest), "--snapshot", seed(folder, recorded), "-o", "wide", *more)
    assert (ran.code, ran.err) == (0, "")
    return " ".join(ran.out.split())


def placement(folder: Path, manifest: str, recorded: str, *more: str) -> Any:
    ran = run("explain", "-f", str(SEEDS / manifest), "--snapshot", seed(folder, recorded), *more, "-o", "json")
    assert (ran.code, ran.err) == (0, "")
    return json.loads(ran.out)["placement"]


def test_P4_cross_node_victim_is_named_with_its_node(tmp_path: Path) -> None:
    text = explained(tmp_path, "Panti.yaml", "s2h.json")
    check_texts(text, ("Way out: stop pod default/q on n3 (then n1). ", "way out: stop pod default/q on n3 (then n1)"))
    check_texts(text, "without default/q on n3 it would fit n1;", "default/q on n1")
    groups = placement(tmp_path, "Panti.yaml", "s2h.json")["rejected"]
    nodes = {pod["node"] for group in groups for change in group["remedy"]["changes"] for pod in change["pods"]}
    assert nodes == {"n3"}


def test_P4_affinity_to_victim_names_the_victim(tmp_path: Path) -> None:
    text = explained(tmp_path, "Paff.yaml", "s2d2.json")
    assert "Preemption cannot make room on n1: its pod affinity needs default/svc, which would be preempted." in text
    assert "preempts no pod: n1 would lose default/svc, which its pod affinity needs: InterPodAffinity:" in text
    (entry,) = placement(tmp_path, "Paff.yaml", "s2d2.json")["preemption"]["noRoom"]
    assert entry["needs"] == [{"namespace": "default", "name": "svc"}]


def test_P4_place_agrees_with_explain(tmp_path: Path) -> None:
    page = said("place", "-f", str(SEEDS / "Paff.yaml"), "--snapshot", seed(tmp_path, "s2d2.json"))
    assert "its pod affinity needs default/svc, which would be preempted." in page


def test_P4_reason_of_plugin_is_quoted(tmp_path: Path) -> None:
    assert "preempts no pod: n1 has no pod of lower priority" in explained(tmp_path, "Panti.yaml", "s2h.json")
    text = said("explain", "pod/checkout-mv9cgvs6p-x2x7p", "-n", "shop", "--demo", "-o", "wide")
    assert "do not take it even without pods of lower priority: PodTopologySpread: node(s) didn't match" in text
    assert "none has room" not in text


def without_preemption(folder: Path, command: str, *more: str) -> str:
    """The output of a command about s2a.json with a profile that disables DefaultPreemption."""
    ran = run(command, *more, "--snapshot", seed(folder, "s2a.json"), "--scheduler-config", str(SEEDS / "nopre.yaml"))
    assert ran.err == ""
    return " ".join(ran.out.split())


@pytest.mark.parametrize(
    ("plugins", "field"),
    [
        pytest.param("postFilter: {disabled: [{name: DefaultPreemption}]}", "plugins.postFilter.disabled", id="point"),
        pytest.param("postFilter: {disabled: [{name: '*'}]}", "plugins.postFilter.disabled", id="all of the point"),
        pytest.param(
            "multiPoint: {disabled: [{name: DefaultPreemption}]}", "plugins.multiPoint.disabled", id="all points"
        ),
        pytest.param("score: {disabled: [{name: ImageLocality}]}", "", id="another"),
    ],
)
def test_P2_profile_without_preemption_preempts_no_pod(tmp_path: Path, plugins: str, field: str) -> None:
    configuration = tmp_path / "scheduler.yaml"
    head = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\nprofiles:\n- plugins:\n"
    configuration.write_text(f"{head}    {plugins}\n")
    text = explained(tmp_path, "P1.yaml", "s2a.json", "--scheduler-config", str(configuration))
    reason = f"its scheduler's profile disables DefaultPreemption ({field})"
    # First sentences, Priority and Placement.
    assert (text.count(reason), "preempts lower pods" in text) == ((3, False) if field else (0, True))
    assert ("The scheduler would preempt default/low-b on n1" in text) is (not field)


def test_P2_place_preempts_no_pod_either(tmp_path: Path) -> None:
    text = without_preemption(tmp_path, "place", "-f", str(SEEDS / "P1.yaml"))
    check_texts(text, f"It preempts no pod: {DISABLED}.", "Preempted")


def test_P2_running_pod_neither_preempts_nor_is_preempted(tmp_path: Path) -> None:
    text = without_preemption(tmp_path, "explain", "pod/low-a")
    check_texts(text, f"preempts none: {DISABLED}", "preempts lower pods")
    text = without_preemption(tmp_path, "explain", "pod/low-a", "--timeline")
    assert "preempt: every profile of the scheduler disables DefaultPreemption" in text


def test_P2_report_shows_it_for_every_class(tmp_path: Path) -> None:
    page = re.sub(r"<[^>]*>", " ", without_preemption(tmp_path, "report", "--all", "-o", "-"))
    check_texts(page, "preempts none", "preempts lower pods")


def test_running_pod_names_the_pending_pod_that_would_preempt_it() -> None:
    ran = run("explain", "pod/v1", "--snapshot", str(FIELD / "pre.json"))
    text = " ".join(ran.out.split())
    assert "The pending pod default/P (priority 1000000) would preempt it now. " in text
    assert "default/P (priority 1000000) on n1: this pod would be preempted; no scheduler has tried P yet" in text
    assert "Not certain: no poddisruptionbudgets.policy in the file: assumed none." in text
    assert ran.code == 11


def test_unchosen_running_pod_shows_it_only_in_wide() -> None:
    asked = ("explain", "pod/v2", "--snapshot", str(FIELD / "pre.json"))
    assert (run(*asked).code, "Preemption" in run(*asked).out) == (0, False)
    assert "would be preempted for none of 1 pending pod of higher priority now" in said(*asked, "-o", "wide")


UNSCHEDULABLE: Final = {"conditions": [raw_condition("PodScheduled", "False", reason="Unschedulable", message="0/2")]}


def crowd(folder: Path, *pending: dict[str, Any]) -> str:
    """Two full nodes with one pod of low priority each, and pending pods."""
    items = items_of(FIELD / "pre.json")
    waits = find(items, "Pod/P")
    kept = [one for one in items if one is not waits]
    changed = []
    for number, fields in enumerate(pending):
        name, spec = fields.get("name", f"q{number}"), {**waits["spec"], **fields.get("spec", {})}
        meta = {**waits["metadata"], "name": name, "uid": name, "creationTimestamp": f"2026-11-27T11:00:{number:02}Z"}
        changed.append({**waits, "metadata": meta, "spec": spec, "status": {**waits["status"], **fields.get("is", {})}})
    return write_cluster(folder / "cluster.qos", [*kept, *changed])


def preemptors(cluster: str, *more: str) -> Any:
    return data("explain", "pod/v1", "--snapshot", cluster, *more)["preemptors"]


def test_preemptors_are_judged_alone_in_queue_order(tmp_path: Path) -> None:
    cluster = crowd(tmp_path, {}, {"spec": {"priority": 2_000_000}}, {"spec": {"priority": 11}, "is": UNSCHEDULABLE})
    ran = run("explain", "pod/v1", "--snapshot", cluster)
    text = " ".join(ran.out.split())
    assert ran.code == 0
    assert (
        "Each of 3 pending pods would preempt it now: default/q1 (priority 2000000), default/q0 (priority 1000000) and "
        "default/q2 (priority 11)."
    ) in text
    assert "each is judged alone, by the cluster as it is now: the first in the queue may take the room" in text
    check_texts(text, ("no scheduler has tried q0 yet", "kubectl qos explain pod/q1 -n default"), "has tried q2 yet")


def test_non_preempting_and_unmodelled_pods_are_not_named(tmp_path: Path) -> None:
    pending: list[dict[str, Any]] = [
        {"spec": {"preemptionPolicy": "Never"}},
        {"spec": {"schedulingGates": [{"name": "quota"}]}},
        {"spec": {"priority": 10}},
        {"spec": {"schedulerName": "volcano"}},
        {
            "is": {"nominatedNodeName": "n1", **UNSCHEDULABLE},
            "spec": {"nodeSelector": {"kubernetes.io/hostname": "n2"}},
        },
        # Without that condition it is being bound.
        {"is": {"nominatedNodeName": "n2"}},
    ]
    found = preemptors(crowd(tmp_path, *pending))
    assert (found["found"], found["judged"], found["notModelled"]) == ([], 1, 1)


def test_profile_without_preemption_has_no_preemptors(tmp_path: Path) -> None:
    assert preemptors(crowd(tmp_path, {}), "--scheduler-config", str(SEEDS / "nopre.yaml"))["found"] == []


def test_pods_after_the_first_fifty_are_only_counted(tmp_path: Path) -> None:
    cluster = crowd(tmp_path, *[{"spec": {"nodeSelector": {"disk": "ssd"}}}] * 53)
    found = preemptors(cluster)
    assert (found["found"], found["judged"], found["leftOut"]) == ([], 50, 3)
    text = said("explain", "pod/v1", "--snapshot", cluster)
    assert "not judged: 3 pending pods of higher priority, later in the queue" in text


def test_preemptors_are_named_up_to_node_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = crowd(tmp_path, *({"spec": {"priority": 1000 + number}} for number in range(9)))
    assert [one["priority"] for one in preemptors(cluster)["found"]] == list(range(1008, 999, -1))
    asked = ("explain", "pod/v1", "--snapshot", cluster)
    brief, wide = (said(*asked, *more) for more in ((), ("-o", "wide")))
    assert "6 more (-o wide)" in brief
    assert "default/q0 (priority 1000) on n1: this pod would be preempted" in wide
    monkeypatch.setattr("kubectl_plugin.gather.likely_node._MOST_TRIED", 10)
    found = preemptors(cluster)
    assert [one["priority"] for one in found["found"]] == [1008, 1007, 1006, 1005, 1004]
    assert (found["judged"], found["leftOut"]) == (5, 4)


def test_victims_and_preemptors_agree(tmp_path: Path) -> None:
    """In the recorded clusters, a victim names exactly the pending pods that would preempt it."""
    named = 0
    for path in sorted((*SEEDS.glob("*.json"), *FIELD.glob("*.json"))):
        items = [one for one in json.loads(path.read_text()).get("items", []) if one["kind"] == "Pod"]
        waiting = [one for one in items if not one["spec"].get("nodeName")]
        if not 0 < len(waiting) <= 3 or len(items) > 20:
            continue
        cluster = write_cluster(tmp_path / "cluster.qos", items_of(path))
        victims: set[tuple[str, str]] = set()
        for one in waiting:
            asked = (f"pod/{one['metadata']['name']}", "-n", one["metadata"].get("namespace", "default"))
            placement = data("explain", *asked, "--snapshot", cluster)["placement"]
            preview = (placement or {}).get("preemption") or {"nodes": [], "victims": []}
            if len(preview["nodes"]) == 1:
                victims |= {(victim["pod"]["name"], asked[0]) for victim in preview["victims"]}
        for one in items:
            if one["spec"].get("nodeName"):
                asked = (f"pod/{one['metadata']['name']}", "-n", one["metadata"].get("namespace", "default"))
                found = data("explain", *asked, "--snapshot", cluster)["preemptors"]
                for other in found["found"]:
                    if other["nodes"] == 1 and other["twin"] is None:
                        assert (one["metadata"]["name"], f"pod/{other['pod']['name']}") in victims, path
                        victims.discard((one["metadata"]["name"], f"pod/{other['pod']['name']}"))
                        named += 1
        assert not victims, path
    assert named >= 2
