"""`kubectl qos report -o json`, and `--compare` with what it wrote: what changed, the worst first."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from kubectl_plugin.commands import earlier
from kubectl_plugin.reports.schema import schema_of
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
    """What the command says of the demo cluster, compared with a report that is otherwise."""
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
    told = compared(now, tmp_path, change=lambda _: None)
    assert "Nothing changed since 03:11:00 UTC." in told
    assert "Changes, the worst first" not in told


def _other(old: Report) -> None:
    """A node that answered, a pod that ran, restarts that had not come, and pods that were there or were not."""
    for node in old["nodes"]:
        if node["name"] == "node-c3":
            node.update(ready="True", down=False)
        if node["name"] == "node-a3":
            node["memory"]["requested"] = {"Guaranteed": 0, "Burstable": 1 << 30, "BestEffort": 0}
    pod(old, "db-1").update(status="Running", risk=None)
    pod(old, "db-0").update(status="Pending", risk="NotStarted")
    [restarted] = [one for one in old["pods"] if one["restarts"] > 3]
    restarted["restarts"] -= 3
    old["pods"].remove(pod(old, "postgres-0"))
    old["pods"].append({"namespace": "shop", "name": "gone-0", "status": "Running"})
    old["at"] = "2026-10-17T02:11:00Z"


def test_the_worst_news_comes_first(now: Report, tmp_path: Path) -> None:
    told = compared(now, tmp_path, change=_other)
    found = lines(told)
    order = [line.split()[0] for line in found]
    assert order == sorted(order, key=["trouble", "notice", "fine"].index)
    assert "trouble node/node-c3 Ready -> silent" in found
    assert "trouble pod/shop/db-1 Running -> Terminating (node does not answer)" in found
    assert "fine pod/shop/db-0 Pending (not started) -> Running" in found
    assert "fine pod/shop/gone-0 gone: was Running" in found
    assert any(line.startswith("notice node/node-a3 memory requests 1% -> 112%") for line in found)
    assert any("pod/data/postgres-0 new: Running" in line for line in found)
    assert any(line.endswith("3 new restarts") for line in found)
    assert f"{len(found)} changes since 02:11:00 UTC: 2 trouble," in " ".join(told.split())


def test_counts_add_up_before_and_after(now: Report, tmp_path: Path) -> None:
    told = compared(now, tmp_path, "-o", "json", change=_other)
    changes = json.loads(told)["changes"]
    for tally, pods in ((changes["before"], 126), (changes["after"], 126)):
        assert tally["pods"] == pods
        assert sum(tally["podsByRisk"].values()) <= pods
    assert changes["after"]["podsByRisk"]["NodeDown"] == changes["before"]["podsByRisk"]["NodeDown"] + 1
    assert changes["after"]["restarts"] == changes["before"]["restarts"] + 3
    came = [one["name"] for one in changes["pods"] if one["before"] is None]
    went = [one["name"] for one in changes["pods"] if one["after"] is None]
    assert (came, went) == (["postgres-0"], ["gone-0"])
    jsonschema.Draft202012Validator(schema_of("ClusterReport")).validate(json.loads(told))


def test_the_page_tells_it_too(now: Report, tmp_path: Path) -> None:
    said = Read(compared(now, tmp_path, "-o", "-", change=_other)).said
    assert "What changed" in said
    assert "node/node-c3 trouble Ready -> silent" in said
    assert "nodes ready 12 11" in said


def test_a_pod_of_the_same_name_may_be_another(now: Report, tmp_path: Path) -> None:
    def recreated(old: Report) -> None:
        pod(old, "db-0").update(created="2026-01-01T00:00:00Z", restarts=7)

    [line] = lines(compared(now, tmp_path, change=recreated))
    assert line == "fine pod/shop/db-0 made anew"


def test_what_a_node_is_short_of_is_a_change(now: Report, tmp_path: Path) -> None:
    def roomy(old: Report) -> None:
        for node in old["nodes"]:
            if node["name"] == "node-a1":
                node["nearest"]["percent"], node["pressures"] = 40, ["DiskPressure"]

    [line] = lines(compared(now, tmp_path, change=roomy))
    assert line == "notice node/node-a1 headroom 40% -> 6%, no DiskPressure any more"
    assert 'href="#changed"' in compared(now, tmp_path, "-o", "-", change=roomy)


def test_what_an_earlier_release_did_not_tell_of_a_spec_is_no_change(now: Report, tmp_path: Path) -> None:
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
        told = compared(now, tmp_path, "-o", form, change=hostile)
        assert not set(told) & set("\x1b\x07\u202e"), form
        assert form != "-" or "<script>alert" not in told
    assert "of another source: evil" in " ".join(compared(now, tmp_path, change=hostile).split())


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "it is no JSON"),
        ("<!DOCTYPE html>\n<html lang=en>", "it is HTML"),
        ("[]", "it is no JSON of an object"),
        ("{}", "it has no kind"),
        ('{"kind": "Pod", "apiVersion": "v1"}', "its kind is 'Pod'"),
        ('{"kind": "ClusterReport", "apiVersion": "kubectl-qos/v9"}', "its API version is kubectl-qos/v9"),
        ('{"kind": "ClusterReport", "apiVersion": "kubectl-qos/v1", "source": 5}', "Expected `str`, got `int`"),
        ("[" * 100_000, "it is no JSON"),
    ],
)
def test_what_is_no_report(text: str, words: str, tmp_path: Path) -> None:
    file = tmp_path / "old.json"
    file.write_text(text, encoding="utf-8")
    ran = run("report", "-A", "--demo", "--compare", str(file))
    assert (ran.code, ran.out) == (6, "")
    assert words in ran.err
    assert "kubectl qos report -o json" in ran.err


def test_size_is_limited(now: Report, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(earlier, "MAX_BYTES", 1 << 10)
    file = tmp_path / "old.json"
    file.write_text(json.dumps(now), encoding="utf-8")
    ran = run("report", "-A", "--demo", "--compare", str(file))
    assert (ran.code, "larger than" in ran.err) == (6, True)


def test_both_tell_of_the_same_pods(now: Report, tmp_path: Path) -> None:
    file = tmp_path / "old.json"
    file.write_text(json.dumps(now), encoding="utf-8")
    ran = run("report", "-n", "data", "--demo", "--compare", str(file))
    assert ran.code == 2
    assert "all namespaces, this one of namespace data" in ran.err


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
