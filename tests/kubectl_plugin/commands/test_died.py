"""``kubectl qos died``: output and exit codes."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from cluster_io.demo import DEMO_NOW, demo_kubelets, demo_objects
from cluster_io.gather import Gatherer
from cluster_io.in_memory import MemorySource
from kubectl_plugin.exit_codes import NOT_CERTAIN
from kubectl_plugin.gather.ends import HOUR, Ends
from kubectl_plugin.render.command import Hint, Prose, Target
from kubectl_plugin.render.text import render_page
from kubectl_plugin.reports.end_report import EndReport, end_report
from kubectl_plugin.views.died.causes import CAUSES, cause_sentence, end_remedies, further_evidence
from kubectl_plugin.views.died.page import end_page
from kubectl_plugin.views.died.table import ends_page
from podrules.ending.died.cause import Cause, EndVerdict, Grade, Suspect, Weight
from podrules.ending.died.evidence import Evidence, KnownEnd
from podrules.ending.died.of_pod import EndOf, PodEnd
from podrules.pod.versions import Versions
from tests.kubectl_plugin.answers import data, in_order
from tests.kubectl_plugin.running import Ran, run, write_cluster
from tests.objects import raw_condition, raw_container, raw_node, raw_node_event, raw_object, raw_owner, raw_pod

NOW = "2026-10-01T12:00:00Z"


def report_of(*causes: Cause, grade: Grade = Grade.CERTAIN, container: str = "") -> EndReport:
    """A report with known causes and nothing else."""
    known = end_report(KnownEnd(Evidence(name="web", namespace="shop")), Versions(), "a test")
    suspects = tuple(Suspect(cause, Weight.PROOF) for cause in causes)
    of = EndOf.CONTAINER if container else EndOf.POD
    end = PodEnd(of, EndVerdict(grade, suspects), container)
    return EndReport(**{**{name: getattr(known, name) for name in known.__struct_fields__}, "end": end})


def snapshot(folder: Path, *objects: Any) -> str:
    node = raw_node("n1", conditions=[raw_condition("Ready", lastHeartbeatTime=NOW)])
    return write_cluster(folder / "c.json", [node, *objects])


def crashed(name: str = "web", *, code: int = 1, finished: str = "2026-10-01T11:50:00Z", **more: Any) -> dict[str, Any]:
    end = {"exitCode": code, "reason": "Error", "startedAt": "2026-10-01T11:00:00Z", "finishedAt": finished}
    state = {"name": "app", "state": {"running": {"startedAt": finished}}, "lastState": {"terminated": end}}
    ready = raw_condition("PodReadyToStartContainers", lastTransitionTime="2026-10-01T10:59:00Z")
    status = {"phase": "Running", "conditions": [ready], "containerStatuses": [{**state, "restartCount": 3}]}
    own = {"uid": name, "creationTimestamp": "2026-10-01T10:59:00Z", "generation": 1}
    return raw_pod(name, "shop", containers=[raw_container("app", **more)], nodeName="n1", metadata=own, status=status)


def about(
    reason: str, clock: str, message: str, uid: str = "", component: str = "kubelet", made: str = ""
) -> dict[str, Any]:
    """An event about ``web`` or its container; without a uid, as the taint manager writes it."""
    path = {"uid": uid, "fieldPath": "spec.containers{app}"} if uid else {}
    return raw_object(
        "Event",
        reason,
        "shop",
        metadata={"creationTimestamp": f"2026-10-01T{made or clock}Z"},
        involvedObject={"kind": "Pod", "name": "web", "namespace": "shop", **path},
        reason=reason,
        message=message,
        firstTimestamp=f"2026-10-01T{clock}Z",
        lastTimestamp=f"2026-10-01T{clock}Z",
        source={"component": component, "host": "n1"},
    )


def ended(*, phase: str = "Failed", **more: Any) -> dict[str, Any]:
    """``web``, and its container does not run again."""
    pod = crashed(**more)
    [status] = pod["status"]["containerStatuses"]
    status |= {"state": status.pop("lastState"), "restartCount": 0}
    pod["status"]["phase"] = phase
    return pod


def running(*, on: str = "n1", made: str = "11:50:00", since: str = "11:50:00") -> dict[str, Any]:
    """A new pod ``web``, which has not ended."""
    pod = crashed()
    pod["spec"]["nodeName"] = on
    pod["metadata"]["creationTimestamp"] = f"2026-10-01T{made}Z"
    state = {"running": {"startedAt": f"2026-10-01T{since}Z"}}
    pod["status"]["containerStatuses"] = [{"name": "app", "state": state}]
    return pod


def died(file: str, *words: str) -> Ran:
    return run("died", *words, "-n", "shop", "--snapshot", file)


def reported(file: str, *words: str) -> Any:
    return data("died", *words, "-n", "shop", "--snapshot", file)


@pytest.mark.parametrize("cause", Cause, ids=lambda cause: cause.value)
@pytest.mark.parametrize("container", ["", "app"])
def test_every_cause_has_a_text(cause: Cause, container: str) -> None:
    report = report_of(cause, container=container)
    sentence = cause_sentence(cause, report)

    assert sentence[0].islower()
    assert not sentence.endswith(".")
    assert CAUSES[cause].short
    assert len(CAUSES[cause].short) <= 32
    end_remedies(report)
    assert end_page(report, None, wide=True).verdict


def test_each_cause_has_its_row_of_words() -> None:
    assert list(CAUSES) == list(Cause)
    assert len({words.short for words in CAUSES.values()}) == len(Cause)


def test_two_causes_are_joined_with_or() -> None:
    report = report_of(Cause.DELETED, Cause.API_EVICTION, grade=Grade.SEVERAL)
    first, second = end_page(report, None, wide=False).verdict
    assert first.startswith("Either a client deleted the pod, or a client evicted")
    assert second == "Both fit the remaining evidence."
    many = report_of(*list(Cause)[-6:], grade=Grade.SEVERAL)
    assert end_page(many, None, wide=False).verdict[1].startswith("All of these fit: ")


@pytest.mark.parametrize(
    ("made", "said"),
    [
        ("11:52:00", "the clock of n1 is 2 min behind the API server's, or its events came late"),
        ("11:48:00", "the clock of n1 is 2 min ahead of the API server's: the times of"),
        ("11:50:05", None),
    ],
)
def test_clock_difference_is_shown(made: str, said: str | None, tmp_path: Path) -> None:
    event = about("Pulled", "11:50:00", "", "web", made=made)
    ran = died(snapshot(tmp_path, crashed(), event), "web")
    page = " ".join(ran.out.split())

    assert ran.code == 0
    assert ("the clock of" in page) == (said is not None)
    assert said is None or said in page


@pytest.mark.parametrize(
    ("killed_at", "said"),
    [
        ("11:50:30", "it had not ended after its grace period of 30 s"),
        ("11:50:10", "before its grace period of 30 s was over: out of memory, a second delete"),
    ],
)
def test_kill_within_grace_period_is_not_its_end(killed_at: str, said: str, tmp_path: Path) -> None:
    event = about("Killing", "11:50:00", "Stopping container app", "web")
    finished = f"2026-10-01T{killed_at}Z"
    pod = ended(phase="Running", code=137, finished=finished, terminationGracePeriodSeconds=30)
    pod["metadata"] |= {"deletionTimestamp": "2026-10-01T11:50:30Z", "deletionGracePeriodSeconds": 30}
    pod["metadata"]["finalizers"] = ["example.com/audit"]

    page = " ".join(died(snapshot(tmp_path, pod, event), "web").out.split())

    assert "A client deleted the pod" in page
    assert said in page
    assert ("raise terminationGracePeriodSeconds above 30 s" in page) is ("had not ended" in said)


@pytest.mark.parametrize("again", [False, True])
def test_log_without_restart_is_not_previous(again: bool) -> None:
    """The kubelet refuses --previous without a lastState."""
    pod = crashed(code=137) if again else ended(code=137, restartPolicy="Never")
    source = MemorySource([pod], description="it", now=datetime.fromisoformat(NOW), namespace="shop")
    report = Ends(Gatherer(source)).named("web", "shop")

    lines = tuple(further_evidence(report))
    [hint] = [one for line in lines if isinstance(line, Prose) for one in line.parts if isinstance(one, Hint)]
    for command in (hint.command, end_page(report, None, wide=False).next_commands[0]):
        assert (command.words, command.namespace) == (("kubectl", "logs", "web"), "shop")
        assert command.options == ("-c", "app", *(["--previous"] if again else []))


AS_BY_ITSELF = (
    "Container app ended by itself: exit code 1. At 11:50:00 UTC (10 min ago). ... runs again, after 3 restarts"
)
NEAR = {"matchExpressions": [{"key": "app", "operator": "Near"}]}
REFUSED = 'error: web: spec.selector: "Near" is not a valid label selector operator\n'


@pytest.mark.parametrize(
    ("objects", "words", "code", "has"),
    [
        ([crashed()], "pod/web", 0, AS_BY_ITSELF),
        ([crashed(code=137)], "web", NOT_CERTAIN, " Check "),
        (
            [crashed("web-1")],
            "pod/web",
            3,
            'error: no pod "web" in shop: no object or event names it ... Did you mean pod/web-1?',
        ),
        # The least certain end counts.
        ([crashed(), crashed("db", code=137)], "pod/web pod/db", NOT_CERTAIN, ""),
        ([crashed(), crashed("db", code=137)], "", NOT_CERTAIN, ""),
        ([running()], "pod/web", 0, "Neither the pod nor a container has ended."),
        ([running()], "", 0, "Nothing has ended in the last 60 min"),
        ([], "node/no", 3, 'no node "no"'),
        ([], "deployment/no", 3, 'no deployment "no"'),
        ([], "nodes", 2, "no node is named"),
        ([], "secret/a", 2, "cannot be examined"),
        ([], "pod/web -A", 2, "-A selects all pods"),
        ([], "--since soon", 2, "not a time"),
        ([], "--since 0", 2, "must be more than 0"),
        ([], "--since 0us", 2, "must be more than 0"),
        ([raw_object("Deployment", "web", "shop", spec={"selector": NEAR})], "deployment/web", 1, REFUSED),
    ],
)
def test_exit_code_and_text(objects: list[Any], words: str, code: int, has: str, tmp_path: Path) -> None:
    ran = died(snapshot(tmp_path, *objects or [crashed()]), *words.split())
    assert ran.code == code
    assert in_order(" ".join(ran.out.split()) + ran.err, has)
    assert (ran.out == "") == (code in {1, 2, 3})


def test_earlier_ends_do_not_count(tmp_path: Path) -> None:
    file = snapshot(tmp_path, crashed(), crashed("old", finished="2026-10-01T09:00:00Z"))

    assert [entry["name"] for entry in reported(file)["items"]] == ["web"]
    assert [entry["name"] for entry in reported(file, "--since", "4h")["items"]] == ["web", "old"]


def test_explain_shows_the_same_end(tmp_path: Path) -> None:
    file = snapshot(tmp_path, crashed(code=137, limits={"memory": "1Gi"}))
    own = reported(file, "pod/web")
    explained = data("explain", "pod/web", "-n", "shop", "--snapshot", file)
    assert explained["lastEnd"]["end"] == own["end"]
    assert "Last end" in run("explain", "pod/web", "-n", "shop", "--snapshot", file).out


def test_node_and_the_report_count_them(tmp_path: Path) -> None:
    file = snapshot(tmp_path, crashed(), crashed("db"))
    assert died(file, "-o", "wide").out.count("\nProof") == 2
    assert "2 pods ended or were deleted in the last 60 min: its own process." in died(file).out
    assert "2  its own process" in run("node", "n1", "--snapshot", file).out
    page = tmp_path / "r.html"
    assert run("report", "--all", "-o", str(page), "--snapshot", file).code == 0
    text = page.read_text()
    assert "Ended in the last hour" in text
    assert "its own process" in text


_GROUPED = """\
x 9 pods ended or were deleted in the last 60 min, 5 of them: node-c3 silent,
deleted by a taint.

x  5  node-c3 silent, deleted by a taint  3 min ago
     shop/checkout-mv9cgvs6p-g8h5k, shop/web-wkmm8tk5p-m7lqd,
     shop/search-5l7xfxsb4-k5wvb, shop/db-1, data/broker-2
x  2  preempted                           42 s to 3 min ago
     ml/embed-n6d8t, batch/nightly-index-w5k9d
x  1  likely own memory limit             2 min ago
     shop/image-resizer-t7fpjd79c-t6pxj/resizer
ok 1  completed                           4 min ago
     batch/nightly-report-29870100-wm6rq/report

Next          kubectl qos partitions
              kubectl qos died pod/checkout-mv9cgvs6p-g8h5k -n shop
"""


def test_terminal_groups_ends_by_cause_and_node() -> None:
    now = datetime.fromisoformat(DEMO_NOW)
    ends = Ends(Gatherer(MemorySource(demo_objects(), description="it", now=now, kubelets=demo_kubelets())))
    reports = list(ends.everywhere(None, now - HOUR))
    page = ends_page(reports, now, since=HOUR, every=False)
    assert render_page(page, colour=False, target=Target()) == _GROUPED
    # Many pods of one cause: a few names, and how to see the others.
    many = ends_page([replace(reports[1], name=f"p{number}") for number in range(12)], now, since=HOUR, every=False)
    assert "/resizer and 4 more (--all)" in render_page(many, colour=False, target=Target())


def test_names_of_the_cluster_are_escaped_on_terminals(tmp_path: Path) -> None:
    hostile = crashed()
    hostile["status"]["containerStatuses"][0]["lastState"]["terminated"]["reason"] = "\x1b[31mred"
    hostile["metadata"]["ownerReferences"] = [raw_owner("\x1b[2J", "x;rm")]

    for words in (("pod/web",), (), ("pod/web", "-o", "wide")):
        assert "\x1b" not in died(snapshot(tmp_path, hostile), *words).out


def _evicted(clock: str) -> dict[str, Any]:
    return about("TaintManagerEviction", clock, "Marking for deletion Pod shop/web", component="taint-eviction")


def test_event_without_uid_belongs_to_the_earlier_pod(tmp_path: Path) -> None:
    started = about("Started", "11:00:00", "Container started", "earlier")
    stopped = about("Killing", "11:50:00", "Stopping container app", "earlier")
    report = reported(snapshot(tmp_path, running(), started, stopped, _evicted("11:50:00")), "pod/web")
    assert report["earlier"]
    assert [one["cause"] for one in report["end"]["verdict"]["suspects"]] == ["TaintEviction"]


@pytest.mark.parametrize("clock", ["11:00:00", "11:45:00"])
def test_deleter_did_not_end_a_pod_that_remains(clock: str, tmp_path: Path) -> None:
    """The deleter's event is about an earlier pod of the name, or the pod ended before it was deleted."""
    report = reported(snapshot(tmp_path, ended(restartPolicy="Never"), _evicted(clock)), "pod/web")
    assert report["end"]["of"] == "Container"
    assert "Application" in [one["cause"] for one in report["end"]["verdict"]["suspects"]]


@pytest.mark.parametrize(("made", "expected"), [("11:50:00", "web-7d9f-x2x7p"), ("11:40:00", None)])
def test_replacement_precedes_late_kubelet_stop(tmp_path: Path, made: str, expected: str | None) -> None:
    """A controller creates it when the deletion begins; the kubelet's event came eight seconds later."""
    labels = {"app": "web"}
    meta = {"uid": "rs", "creationTimestamp": "2026-10-01T10:00:00Z"}
    spec = {"replicas": 1, "selector": {"matchLabels": labels}, "template": {"metadata": {"labels": labels}}}
    owner = raw_object("ReplicaSet", "web-7d9f", "shop", metadata=meta, spec=spec)
    there = {"creationTimestamp": f"2026-10-01T{made}Z", "ownerReferences": [raw_owner("ReplicaSet", "web-7d9f", "rs")]}
    status = {"phase": "Running"}
    new = raw_pod("web-7d9f-x2x7p", "shop", uid="new", labels=labels, metadata=there, status=status, nodeName="n1")
    killing = about("Killing", "11:50:08", "Stopping container app", "old")
    killing["involvedObject"]["name"] = "web-7d9f-bbbbb"
    found = reported(snapshot(tmp_path, owner, new, killing), "pod/web-7d9f-bbbbb")
    assert (found["replacement"] or {}).get("name") == expected


LOW = "The node was low on resource: memory. Threshold quantity: 100Mi, available: 80Mi. "
FORCED = "A force deletion by admin was allowed at 11:50:00"


def _recreated(reason: str, message: str, component: str, *, on: str) -> list[dict[str, Any]]:
    """The pod ``web`` runs on a node, and events show how an earlier pod of the name ended on ``n1``."""
    runs = running(on=on, made="11:50:02", since="11:50:04")
    of_next = about("Started", "11:50:04", "Container started", "web")
    of_next["source"]["host"] = on
    of_next["metadata"]["name"] = "next"
    started = about("Started", "11:00:00", "Container started", "earlier")
    said = about(reason, "11:50:00", message, "earlier", component=component)
    stopped = about("Killing", "11:50:00", "Stopping container app", "earlier")
    return [raw_node("n2"), runs, started, said, stopped, of_next]


@pytest.mark.parametrize("on", ["n1", "n2"])
@pytest.mark.parametrize(
    ("reason", "message", "component", "short"),
    [
        ("Preempted", "Preempted by pod 5f1a on node n1", "default-scheduler", "preempted"),
        ("Evicted", LOW, "kubelet", "evicted: memory"),
        ("ForceDeletionAllowed", FORCED, "kubectl-qos-webhook", "force deleted"),
    ],
)
def test_lists_show_ended_and_recreated_pod(
    reason: str, message: str, component: str, short: str, on: str, tmp_path: Path
) -> None:
    file = snapshot(tmp_path, *_recreated(reason, message, component, on=on))
    alone = reported(file, "pod/web")

    for words in ((), ("-A",), ("node/n1",)):
        asked = words if "-A" in words else ("-n", "shop", *words)
        [listed] = data("died", *asked, "--snapshot", file)["items"]
        assert listed["earlier"]
        assert (listed["node"], listed["end"]) == ("n1", alone["end"])
    assert reported(file, "node/n2")["items"] == []
    assert short in died(file).out
    assert f"1  {short}" in run("node", "n1", "--snapshot", file).out
    assert "Ended" not in run("node", "n2", "--snapshot", file).out
    page = tmp_path / "r.html"
    assert run("report", "--all", "-o", str(page), "--snapshot", file).code == 0
    assert short in page.read_text()


def test_preempted_pod_and_crashed_successor_are_two_ends(tmp_path: Path) -> None:
    preempted = _recreated("Preempted", "Preempted by pod 5f1a on node n1", "default-scheduler", on="n1")
    status = crashed(finished="2026-10-01T11:55:00Z")["status"]["containerStatuses"]
    status[0]["lastState"]["terminated"]["startedAt"] = "2026-10-01T11:50:04Z"
    preempted[1]["status"]["containerStatuses"] = status

    file = snapshot(tmp_path, *preempted)
    items = reported(file)["items"]

    assert "2 pods ended or were deleted" in (said := died(file).out)
    assert said.count("kubectl qos died") == 1
    assert [(one["name"], one["earlier"], one["end"]["container"]) for one in items] == [
        ("web", False, "app"),
        ("web", True, ""),
    ]


def test_ends_on_a_deleted_node(tmp_path: Path) -> None:
    """Pods and events name it; only a name that neither contains is not found."""
    waits = crashed("db")
    waits["status"]["containerStatuses"] = []
    waits["spec"]["nodeName"] = "n7"
    evicted = about("Killing", "11:50:00", "Stopping container app", "earlier")
    evicted["source"]["host"] = "n8"
    about_node = {**raw_node_event("n9", "RemovingNode"), "lastTimestamp": NOW}
    file = snapshot(tmp_path, waits, evicted, about_node)

    assert [one["name"] for one in reported(file, "node/n8")["items"]] == ["web"]
    for node in ("n7", "n9"):
        ran = died(file, f"node/{node}")
        assert (ran.code, ran.err) == (0, "")
        assert "Nothing has ended" in ran.out
        named = ": 1 pod still names it, shop/db." if node == "n7" else "."
        lead = f"{node} has no Node object any more, and its processes may still run unless its machine is off{named}"
        assert lead in " ".join(ran.out.split())
    assert "no Node object" not in died(file, "node/n1", "node/n11").out
    ran = died(file, "node/n11")
    assert (ran.code, ran.out) == (3, "")
    assert 'no node "n11"' in ran.err
    assert "Did you mean node/n1?" in ran.err


def preempted_for(message: str, **related: str) -> dict[str, Any]:
    """The event of kube-scheduler; older versions set its related pod to the preemptor."""
    own = {**about("Preempted", "11:50:00", message, component="default-scheduler"), "type": "Normal"}
    return {**own, **({"related": {"namespace": "shop", **related}} if related else {})}


UID = "37be6f76-da92-4585-bcc4-95d547c255e8"
HIGH = raw_pod("high", "shop", uid=UID, nodeName="n1")
BY_UID = f"Preempted by pod {UID} on node n1"


@pytest.mark.parametrize(
    ("message", "pods", "related", "preemptor"),
    [
        (BY_UID, [HIGH], {}, "for shop/high."),
        (BY_UID, [raw_pod("high", "shop", uid="another")], {}, "for a pod that no longer exists (uid 37be6f76…)."),
        ("Preempted by a pod on node n1", [], {"kind": "Pod", "name": "old", "uid": UID}, "for shop/old."),
        ("Preempted by shop/old on node n1", [], {"kind": "Pod", "name": "old", "uid": UID}, "for shop/old."),
        ("Preempted by a pod on node n1", [], {}, "for a pod of higher priority."),
        (
            f"Preempted by podgroup {UID} on node n1",
            [HIGH],
            {"kind": "PodGroup", "name": "train", "uid": UID},
            "for the pod group shop/train.",
        ),
        (f"Preempted by podgroup {UID} on node n1", [HIGH], {}, "for the pod group with uid 37be6f76…."),
    ],
)
def test_preemptor_of_deleted_pod_is_named(
    message: str, pods: list[dict[str, Any]], related: dict[str, str], preemptor: str, tmp_path: Path
) -> None:
    other = raw_pod("other", "shop", uid="other", nodeName="n1")
    file = snapshot(tmp_path, preempted_for(message, **related), other, *pods)
    said = " ".join(died(file, "pod/web").out.split())
    assert f"The scheduler preempted the pod {preemptor}" in said
    assert ("on node n1 (shop/high)" in said) is (preemptor == "for shop/high.")
