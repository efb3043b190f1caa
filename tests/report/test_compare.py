"""`kubectl qos report -o json`, and `--compare` with an earlier report: the changes, the worst first."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import msgspec
import pytest

from kubectl_plugin.gather import overview
from kubectl_plugin.reports.cluster.cluster_entries import ClusterReport
from kubectl_plugin.reports.cluster.compare import EarlierReport, cluster_changes
from kubectl_plugin.reports.schema import schema_of
from kubectl_plugin.views.cluster.report_changes import changes_sentences
from tests.kubectl_plugin.running import run
from tests.report.test_command import Read

HOSTILE = "evil\x1b]0;x\x07\u202e</script><script>alert(1)</script>"
Report = dict[str, Any]


@pytest.fixture(scope="module")
def now() -> Report:
    ran = run("report", "-A", "--demo", "-o", "json")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.isascii()
    found: Report = json.loads(ran.out)
    return found


def compared(report: Report, folder: Path, *arguments: str, change: Callable[[Report], None]) -> str:
    """The command's output for the demo cluster, compared with a different report."""
    old: Report = json.loads(json.dumps(report))
    change(old)
    file = folder / "old.json"
    file.write_text(json.dumps(old), encoding="utf-8")
    ran = run("report", "-A", "--demo", "--compare", str(file), *arguments)
    assert (ran.code, ran.err) == (0, "")
    return ran.out


def pod(report: Report, name: str) -> Report:
    [found] = [one for one in report["pods"] if one["name"] == name]
    return found  # type: ignore[no-any-return]  # JSON


def node(report: Report, name: str) -> Report:
    [found] = [one for one in report["nodes"] if one["name"] == name]
    return found  # type: ignore[no-any-return]  # JSON


def lines(text: str) -> list[str]:
    """Rows of the changes, each on one line."""
    part = text.split("what changed\n", 1)[1].split("\n\nCounts", 1)[0]
    return [" ".join(line.split()) for line in part.replace("\n        ", " ").splitlines()]


def test_json_fits_its_schema_and_holds_every_pod(now: Report, demo: Path) -> None:
    jsonschema.Draft202012Validator(schema_of("ClusterReport")).validate(now)
    assert (now["kind"], now["apiVersion"]) == ("ClusterReport", "kubectl-qos/v1")
    assert [one["name"] for one in now["pods"]] == Read(demo.read_text(encoding="utf-8")).data["pods"]["name"]
    assert now["changes"] is None


def test_nothing_changed(now: Report, tmp_path: Path) -> None:
    output = compared(now, tmp_path, change=lambda _: None)
    first, second = output.splitlines()[1:3]
    assert first == "Nothing changed since 03:11:00 UTC."
    assert " findings: " in second
    assert "Changes, the worst first" not in output
    # The earlier report has shown it.
    assert "Findings, the worst" not in output
    assert "each counted once" not in output
    assert "\nCounts\n" in output


def test_changes_come_before_other_findings(now: Report, tmp_path: Path) -> None:
    output = " ".join(compared(now, tmp_path, change=_other).split())
    parts = ["changes since", " findings: ", "Changes, the worst", "Counts count", "Findings, the worst"]
    places = [output.index(part) for part in parts]
    assert places == sorted(places)


def _other(old: Report) -> None:
    """A node that answered, a pod that ran, restarts that had not come, and pods that were there or were not."""
    node(old, "node-c3").update(ready="True", down=False)
    node(old, "node-a3")["memory"]["requested"] = {"Guaranteed": 0, "Burstable": 1 << 30, "BestEffort": 0}
    pod(old, "db-1").update(status="Running", risk=None)
    pod(old, "db-0").update(status="Pending", risk="NotStarted")
    [restarted] = [one for one in old["pods"] if one["restarts"] > 3]
    restarted["restarts"] -= 3
    old["pods"].remove(pod(old, "postgres-0"))
    old["pods"].append({"namespace": "shop", "name": "gone-0", "status": "Running"})
    old["at"] = "2026-10-17T02:11:00Z"


def test_worst_changes_come_first(now: Report, tmp_path: Path) -> None:
    output = compared(now, tmp_path, change=_other)
    found = lines(output)
    order = [line.split()[0] for line in found]
    assert order == sorted(order, key=["x", "!", "ok"].index)
    assert "x node/node-c3 Ready -> silent" in found
    assert "x pod/shop/db-1 Running -> Terminating (node silent)" in found
    assert "ok pod/shop/db-0 Pending (not started) -> Running" in found
    assert "ok pod/shop/gone-0 gone: was Running" in found
    assert any(line.startswith("! node/node-a3 memory requests 1% -> 112%") for line in found)
    assert any("pod/data/postgres-0 new: Running" in line for line in found)
    assert any(line.endswith("3 new restarts") for line in found)
    assert f"{len(found)} changes since 02:11:00 UTC: 2 trouble," in " ".join(output.split())


def test_counts_add_up_before_and_after(now: Report, tmp_path: Path) -> None:
    output = compared(now, tmp_path, "-o", "json", change=_other)
    changes = json.loads(output)["changes"]
    for tally, pods in ((changes["before"], 126), (changes["after"], 126)):
        assert tally["pods"] == pods
        assert sum(tally["podsByRisk"].values()) <= pods
    assert changes["after"]["podsByRisk"]["NodeDown"] == changes["before"]["podsByRisk"]["NodeDown"] + 1
    assert changes["after"]["restarts"] == changes["before"]["restarts"] + 3
    came = [one["name"] for one in changes["pods"] if one["before"] is None]
    went = [one["name"] for one in changes["pods"] if one["after"] is None]
    assert (came, went) == (["postgres-0"], ["gone-0"])
    jsonschema.Draft202012Validator(schema_of("ClusterReport")).validate(json.loads(output))


def test_page_has_the_changes_too(now: Report, tmp_path: Path) -> None:
    said = Read(compared(now, tmp_path, "-o", "-", change=_other)).said
    assert "What changed" in said
    assert "node/node-c3 trouble Ready -> silent" in said
    assert "nodes ready 11 10 nodes cordoned 1 1" in said
    assert "12 nodes: 10 ready, 1 cordoned, 1 silent" in run("node", "--demo").out


def test_a_pod_of_the_same_name_may_be_another(now: Report, tmp_path: Path) -> None:
    def recreated(old: Report) -> None:
        pod(old, "db-0").update(created="2026-01-01T00:00:00Z", restarts=7)

    [line] = lines(compared(now, tmp_path, change=recreated))
    assert line == "ok pod/shop/db-0 recreated"


def test_node_pressure_is_a_change(now: Report, tmp_path: Path) -> None:
    def roomy(old: Report) -> None:
        entry = node(old, "node-a1")
        entry["nearest"]["percent"], entry["pressures"] = 40, ["DiskPressure"]

    [line] = lines(compared(now, tmp_path, change=roomy))
    assert line == "! node/node-a1 headroom 40% -> 6%, no longer DiskPressure"
    assert 'href="#changed"' in compared(now, tmp_path, "-o", "-", change=roomy)


def test_field_missing_in_an_earlier_release_is_no_change(now: Report, tmp_path: Path) -> None:
    def untold(old: Report) -> None:
        for one in old["pods"]:
            one["risk"] = None if one["risk"] in {"BestEffort", "NoGracePeriod"} else one["risk"]

    assert "Nothing changed since" in compared(now, tmp_path, change=untold)


def test_hostile_names_are_text(now: Report, tmp_path: Path) -> None:
    def hostile(old: Report) -> None:
        old["pods"].append({"namespace": HOSTILE, "name": HOSTILE, "status": HOSTILE, "risk": HOSTILE})
        old["nodes"].append({"name": HOSTILE, "ready": HOSTILE})
        old["source"] = HOSTILE

    for form in ("table", "markdown", "yaml", "json", "-"):
        output = compared(now, tmp_path, "-o", form, change=hostile)
        assert not set(output) & set("\x1b\x07\u202e"), form
        assert form != "-" or "<script>alert" not in output


def test_changes_in_words_and_in_json_are_the_same_ones(now: Report, tmp_path: Path) -> None:
    """Values that always change, or are known in one report only, are in neither."""

    def moved(old: Report) -> None:
        _other(old)
        for one in old["nodes"]:
            if one["nearest"]:
                one["nearest"]["percent"] += 1

    output = json.loads(compared(now, tmp_path, "-o", "json", change=moved))
    changes = output["changes"]
    entries = [f"node/{one['name']}" for one in changes["nodes"]]
    entries += [f"pod/{one['namespace']}/{one['name']}" for one in changes["pods"]]
    assert f"{len(entries)} changes since" in output["verdict"]["text"]
    assert sorted(line.split()[1] for line in lines(compared(now, tmp_path, change=moved))) == sorted(entries)


def _unmeasured(report: Report, *names: str) -> None:
    """Remove the usage of these nodes, and what depends on it, from the report."""
    for name in names:
        node(report, name).update(usageSource="none", nearest=None)
    for one in report["pods"]:
        if one["node"] in names:
            one.update(used=None, risk=None if one["risk"] in {"NearLimit", "OverRequest"} else one["risk"])


def test_usage_unknown_before_is_no_change(now: Report, tmp_path: Path) -> None:
    def one_node(old: Report) -> None:
        _unmeasured(old, "node-a1")

    assert [one for one in now["pods"] if one["node"] == "node-a1" and one["risk"] == "OverRequest"]
    said = " ".join(compared(now, tmp_path, change=one_node).split())
    assert "Nothing changed since 03:11:00 UTC." in said
    unknown = "was unknown then: headroom, and pods near their limit or over their request, are not compared there."
    assert said.count(f"Usage of node-a1 {unknown}") == 1
    assert "nodes with known usage 9 10" in said

    def every_node(old: Report) -> None:
        _unmeasured(old, *(one["name"] for one in old["nodes"]))

    said = " ".join(compared(now, tmp_path, change=every_node).split())
    assert f"Usage of cp-a1, node-a1, node-a2 and 7 more {unknown}" in said
    over = sum(one["risk"] == "OverRequest" for one in now["pods"])
    assert f"pods: over memory request unknown {over}" in said
    changes = json.loads(compared(now, tmp_path, "-o", "json", change=every_node))["changes"]
    assert (changes["nodes"], changes["pods"], changes["usageLost"]) == ([], [], [])
    assert len(changes["usageLearned"]) == 10


def test_usage_unknown_now_is_no_change(tmp_path: Path) -> None:
    """A snapshot holds no usage."""
    captured, old = tmp_path / "c.qos", tmp_path / "old.json"
    assert run("snapshot", "--demo", "-o", str(captured)).code == 0
    old.write_text(run("report", "-A", "--demo", "-o", "json").out, encoding="utf-8")
    said = " ".join(run("report", "-A", "--snapshot", str(captured), "--compare", str(old)).out.split())
    assert "Nothing changed since 03:11:00 UTC." in said
    assert "Usage of cp-a1, node-a1, node-a2 and 7 more is unknown now: headroom, and pods" in said
    assert "pods: near the memory limit 5 unknown pods: over memory request 17 unknown" in said
    assert "earlier report" not in said
    assert "the same cluster?" not in said


def test_changed_pod_is_shown_with_its_current_state(now: Report, tmp_path: Path) -> None:
    over = next(one for one in now["pods"] if one["risk"] == "OverRequest" and one["node"] == "node-a1")

    def restarted(old: Report) -> None:
        _unmeasured(old, "node-a1")
        pod(old, over["name"]).update(status="Pending", risk="NotStarted")

    [line] = lines(compared(now, tmp_path, change=restarted))
    assert line == f"! pod/{over['namespace']}/{over['name']} Pending (not started) -> Running (over memory request)"


@pytest.mark.parametrize(
    ("before", "changed"),
    [
        pytest.param(9, [], id="3 points within one bound"),
        pytest.param(2, ["ok node/node-a1 headroom 2% -> 6%"], id="away from the bound of 3"),
        pytest.param(10, ["! node/node-a1 headroom 10% -> 6%"], id="below the bound of 10"),
        pytest.param(11, ["! node/node-a1 headroom 11% -> 6%"], id="5 points"),
    ],
)
def test_headroom_change_is_shown_if_far_or_over_a_bound(
    now: Report, tmp_path: Path, before: int, changed: list[str]
) -> None:
    def otherwise(old: Report) -> None:
        node(old, "node-a1")["nearest"]["percent"] = before

    said = compared(now, tmp_path, change=otherwise)
    assert (lines(said) if changed else []) == changed
    assert ("Nothing changed" in said) is not bool(changed)


def test_newer_report_as_earlier_one_is_reported_first(now: Report, tmp_path: Path) -> None:
    def later(old: Report) -> None:
        _other(old)
        old["at"] = "2026-10-18T03:11:00Z"

    text = json.loads(compared(now, tmp_path, "-o", "json", change=later))["verdict"]["text"]
    newer = "newer (2026-10-18 03:11:00 UTC) than this one (2026-10-17 03:11:00 UTC): read each change backwards."
    before, _, after = text.partition(f"The report to compare with is {newer} ")
    assert "change" not in before
    assert "changes: 2 trouble," in after
    assert "since" not in text


@pytest.mark.parametrize(
    ("then", "today", "said"),
    [
        pytest.param({}, {}, "", id="files with neither"),
        pytest.param({"server": "a"}, {"server": "a"}, "", id="one API server"),
        pytest.param(
            {"server": "a", "context": "x"}, {"server": "a", "context": "y"}, "", id="two names for one server"
        ),
        pytest.param({"server": "a"}, {"server": "b"}, "of another API server: a, this one of b.", id="two servers"),
        pytest.param({"context": "x"}, {"context": "y"}, "of another context: x, this one of y.", id="two contexts"),
        pytest.param({"context": "x"}, {}, "", id="a cluster and its snapshot"),
    ],
)
def test_another_cluster_is_reported_first(now: Report, then: dict[str, str], today: dict[str, str], said: str) -> None:
    report = msgspec.convert(
        {**now, "source": "snapshot b", "origin": {"context": None, "server": None, **today}}, ClusterReport
    )
    before = msgspec.convert({**now, "source": "snapshot a", "origin": then}, EarlierReport)
    sentences = changes_sentences(report, cluster_changes(before, report))
    assert sentences[-1] == "Nothing changed since 03:11:00 UTC."
    assert sentences[:-1] == ((f"The earlier report is {said}",) if said else ())


def test_reports_without_a_common_object_may_be_of_two_clusters(now: Report, tmp_path: Path) -> None:
    def elsewhere(old: Report) -> None:
        old["source"] = "snapshot other.qos"
        for one in [*old["nodes"], *old["pods"]]:
            one["name"] = f"other-{one['name']}"

    text = json.loads(compared(now, tmp_path, "-o", "json", change=elsewhere))["verdict"]["text"]
    question = "No node and no pod of the earlier report (snapshot other.qos) is in this one (the demo cluster)"
    assert text.startswith(f"{question}: is it the same cluster? {2 * (126 + 12)} changes")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "it is not a JSON object"),
        ("<!DOCTYPE html>\n<html lang=en>", "it is HTML"),
        ("[]", "it is not a JSON object"),
        ("{}", "it has no kind"),
        ('{"kind": "Pod", "apiVersion": "v1"}', "its kind is 'Pod'"),
        ('{"kind": "ClusterReport", "apiVersion": "kubectl-qos/v9"}', "its API version is kubectl-qos/v9"),
        ('{"kind": "ClusterReport", "apiVersion": "kubectl-qos/v1", "source": 5}', "Expected `str`, got `int`"),
        ("[" * 100_000, "it is not a JSON object"),
    ],
)
def test_file_that_is_no_report(text: str, words: str, tmp_path: Path) -> None:
    file = tmp_path / "old.json"
    file.write_text(text, encoding="utf-8")
    ran = run("report", "-A", "--demo", "--compare", str(file))
    assert (ran.code, ran.out) == (6, "")
    assert words in ran.err
    assert "kubectl qos report -o json" in ran.err


def test_size_is_limited(now: Report, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(overview, "MAX_BYTES", 1 << 10)
    file = tmp_path / "old.json"
    file.write_text(json.dumps(now), encoding="utf-8")
    ran = run("report", "-A", "--demo", "--compare", str(file))
    assert (ran.code, "larger than" in ran.err) == (6, True)


@pytest.mark.parametrize(
    ("scope", "of", "flag"),
    [
        ("", "all namespaces", ": -A"),
        ("namespace shop", "namespace shop", ": -n shop"),
        ("namespace $(rm)", "namespace $(rm)", ""),
        ("node/node-a1", "node/node-a1", ""),
    ],
)
def test_both_are_of_the_same_pods(now: Report, tmp_path: Path, scope: str, of: str, flag: str) -> None:
    file = tmp_path / "old.json"
    file.write_text(json.dumps({**now, "scope": scope}), encoding="utf-8")
    ran = run("report", "-n", "data", "--demo", "--compare", str(file))
    assert ran.code == 2
    assert ran.err == (
        f"error: --compare: the earlier report covers {of}, this one covers namespace data\n"
        f"Ask for the same pods{flag}\n"
    )


def test_manifests_need_the_page() -> None:
    ran = run("report", "-A", "--demo", "-f", "web.yaml", "-o", "json")
    assert ran.code == 2
    assert "-f is for the HTML page" in ran.err


@pytest.mark.parametrize("name", ["old.json", "old.YAML", "old.yml", "notes.md", "jsno", "cluster"])
def test_a_page_is_written_to_no_file_of_data(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / name).write_text("kept", encoding="utf-8")
    ran = run("report", "-A", "--demo", "-o", name)
    assert (ran.code, ran.out) == (2, "")
    assert "json" in ran.err or "markdown" in ran.err or "yaml" in ran.err
    assert "-o cluster.html" in ran.err
    assert (tmp_path / name).read_text(encoding="utf-8") == "kept"
