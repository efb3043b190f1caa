"""`kubectl qos died` names the true cause for pods that the real scheduler, controllers, kubectl and users ended.

Every verdict includes the true cause, and none is certain of another; with fewer rights, verdicts are less certain.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Final

import pytest

from tests.controlplane.client import Object
from tests.controlplane.control_plane import ControlPlane
from tests.e2e.access import allow, rights_everywhere, robot
from tests.e2e.deaths import Deaths, name_of
from tests.e2e.played_kubelets import Kubelets
from tests.e2e.plugin import InProcess
from tests.e2e.ways_to_end import DEATHS, SLOW
from tests.objects import raw_workload
from tests.waiting import wait_for

pytestmark = pytest.mark.controlplane

NAMESPACE: Final = "died"
"""Also what the names of nodes begin with."""
GRADES: Final = ("Certain", "Likely", "Several", "Nothing")
"""The most certain first."""
_ENDED_BY: Final = {
    "Preemption": "preempted-held preempted-gone",
    "ApiEviction": "evicted-held evicted-gone drained-held drained-gone",
    "TaintEviction": "tainted-held tainted-gone tolerating-held tolerating-gone lost-held lost-gone device-tainted",
    "Deleted": (
        "deleted-while-tolerating-held deleted-while-tolerating-gone tainted-after-deleted lost-after-deleted "
        "lost-after-deleted-gone web-held web-gone grown db roll agent moved deleted-held deleted-gone "
        "evicted-after-deleted uninitialized"
    ),
    "Application": "again",
    "JobEnded": "backoff-held backoff-gone policy-held policy-gone late-held late-gone suspended-held suspended-gone",
    "Owner": (
        "removed-held removed-gone narrowed-held narrowed-gone web-scaled-held web-scaled-gone rolled-held "
        "rolled-gone abandoned-held abandoned-gone shrunk garbage custom"
    ),
    "ForceDeleted": "forced-held forced-gone forced",
}
TRUTH: Final = {key: cause for cause, keys in _ENDED_BY.items() for key in keys.split()}
"""The true cause for each pod of `tests.e2e.ways_to_end`, by its key there."""
_CERTAIN: Final = (
    "preempted-held preempted-gone evicted-held drained-held tainted-held tainted-gone tolerating-held "
    "tolerating-gone lost-held backoff-held policy-held late-held suspended-held web-scaled-held "
    "web-scaled-gone rolled-held rolled-gone shrunk"
)
GRADE: Final[Mapping[str, str]] = {
    **dict.fromkeys(_CERTAIN.split(), "Certain"),
    **dict.fromkeys(("drained-gone", "removed-held", "abandoned-held"), "Likely"),
}
"""The least certainty of the verdict, if the evidence allows it."""
EARLIER: Final = frozenset({"db", "moved"})
"""Pods with a successor of the same name."""
BLIND: Final = "blind"
"""A user who may read all but events."""


@pytest.fixture(scope="module")
def deaths(control_plane: ControlPlane) -> Iterator[Deaths]:
    """All deaths, once they have happened."""
    control_plane.create_namespace(NAMESPACE)
    with Kubelets(control_plane, [NAMESPACE]) as kubelets:
        found = Deaths(control_plane, NAMESPACE, kubelets, NAMESPACE)
        try:
            found.node("quick")
            found.run({name: act for name, act in DEATHS.items() if name != SLOW})
            yield found
        finally:
            found.clean()


@pytest.fixture(scope="module")
def died(qos: InProcess) -> InProcess:
    """``kubectl qos died``."""
    return qos.also("died")


@pytest.fixture(scope="module")
def reports(deaths: Deaths, died: InProcess) -> Mapping[str, Object]:
    """The verdicts about each pod for a user who may read everything."""
    return ask(died, deaths)


@pytest.fixture(scope="module")
def blind(control_plane: ControlPlane, deaths: Deaths) -> Iterator[Path]:
    """The kubeconfig of a user who may read no events."""
    reads = ("get", "list")
    with control_plane.holding(rights_everywhere(BLIND, {"nodes": reads})):
        names = ("pods", "replicasets.apps", "statefulsets.apps", "daemonsets.apps", "jobs.batch", "configmaps")
        user = {"kind": "User", "name": BLIND}
        allow(control_plane, NAMESPACE, user, dict.fromkeys((*names, "replicationcontrollers"), reads))
        kubeconfig = control_plane.kubeconfig_for_client_certificate(BLIND)
        nodes = partial(control_plane.kubectl, "auth", "can-i", "get", "nodes", kubeconfig=kubeconfig, check=False)
        wait_for(lambda: nodes().returncode == 0, "the user may read nodes")
        yield kubeconfig


def ask(died: InProcess, deaths: Deaths, kubeconfig: Path | None = None) -> Mapping[str, Object]:
    """The verdict about each pod, by its key."""
    names = [f"pod/{name}" for name in deaths.pods.values()]
    ran = died(*names, "-n", NAMESPACE, "-o", "json", kubeconfig=kubeconfig)
    assert ran.code in {11, 12}, ran
    assert ran.err == ""
    return dict(zip(deaths.pods, json.loads(ran.out)["items"], strict=True))


def grade_of(report: Object) -> str:
    grade: str = report["end"]["verdict"]["grade"]
    return grade


def causes_of(report: Object) -> list[str]:
    """The most likely causes according to the report."""
    return [one["cause"] for one in report["end"]["verdict"]["suspects"]]


def fitting(report: Object) -> set[str]:
    """All causes in the report."""
    return {*causes_of(report), *(one["cause"] for one in report["end"]["verdict"]["others"])}


def wrong(report: Object, truth: str) -> str:
    """What is wrong with a verdict; empty: nothing."""
    verdict = (grade_of(report), causes_of(report), sorted(fitting(report)))
    if grade_of(report) == "Certain":
        return "" if causes_of(report) == [truth] else f"{report['name']}: {verdict}, in truth {truth}"
    left_out = grade_of(report) != "Nothing" and truth not in fitting(report)
    return f"{report['name']}: {verdict} without {truth}" if left_out else ""


def worse(found: Mapping[str, Object], reports: Mapping[str, Object]) -> list[str]:
    """The verdicts that are wrong with less evidence, but right with more."""
    both = [key for key in found if key in TRUTH]
    texts = (wrong(found[key], TRUTH[key]) for key in both if not wrong(reports[key], TRUTH[key]))
    return [text for text in texts if text]


def listed(deaths: Deaths, report: Any) -> dict[str, Object]:
    """Items of a list, by their pods' keys; other pods by their own names."""
    called = {name: key for key, name in deaths.pods.items()}
    return {called.get(item["name"], item["name"]): item for item in report["items"]}


# Of each pod


def test_all_has_happened(deaths: Deaths, reports: Mapping[str, Object]) -> None:
    assert not deaths.failed
    assert reports.keys() == TRUTH.keys() | {"alive", "grown-third"}


@pytest.mark.parametrize("key", TRUTH)
def test_verdict_is_the_truth(reports: Mapping[str, Object], key: str) -> None:
    report = reports[key]

    assert not wrong(report, TRUTH[key])
    assert grade_of(report) != "Nothing"
    if key in GRADE:
        assert (grade_of(report), causes_of(report)) == (GRADE[key], [TRUTH[key]])
    if grade_of(report) == "Certain":
        assert report["end"]["lost"] == []


@pytest.mark.parametrize("key", TRUTH)
def test_whether_it_is_there(reports: Mapping[str, Object], key: str) -> None:
    report = reports[key]

    assert report["exists"] is not (key.endswith("-gone") or key in {*EARLIER, "agent"})
    assert report["earlier"] is (key in EARLIER)
    assert (report["end"]["of"], report["namespace"]) == ("Container" if key == "again" else "Pod", NAMESPACE)
    assert report["end"]["at"]
    assert report["unread"] == []


def test_nothing_has_ended(died: InProcess, deaths: Deaths) -> None:
    end = died.json("pod/alive", "-n", NAMESPACE)["end"]

    assert (end["of"], end["verdict"]["grade"]) == ("Nothing", "Nothing")


def test_preemptor(reports: Mapping[str, Object], died: InProcess) -> None:
    by = reports["preempted-held"]["preempted"]

    assert by["by"] == {"namespace": NAMESPACE, "name": "winner-held"}
    assert by["node"] == reports["preempted-held"]["node"] == f"{NAMESPACE}-small-held"
    assert "winner-held" in died.text("pod/preempted-held", "-n", NAMESPACE)
    # Its event names the preemptor by uid alone.
    assert reports["preempted-gone"]["preempted"]["by"] == {"namespace": NAMESPACE, "name": "winner-gone"}
    assert f"for {NAMESPACE}/winner-gone" in " ".join(died.text("pod/preempted-gone", "-n", NAMESPACE).split())


@pytest.mark.parametrize(
    ("key", "workload"), [("web-held", "web"), ("forced-held", "forced"), ("rolled-held", ""), ("agent", "agent")]
)
def test_replacement(reports: Mapping[str, Object], deaths: Deaths, key: str, workload: str) -> None:
    """Another pod of the same controller: another revision has another ReplicaSet."""
    found = reports[key]["replacement"]
    names = (
        {pod["metadata"]["name"] for pod in deaths.of_workload(workload, 2 if "-" in key else 1)}
        if workload
        else {None}
    )

    assert (found["name"] if found else None) in names


def test_replacement_of_the_same_name(reports: Mapping[str, Object]) -> None:
    assert {reports[key]["replacement"]["name"] for key in EARLIER} == {"db-0", "moved-0"}


def test_replacement_came_afterwards(reports: Mapping[str, Object], deaths: Deaths) -> None:
    """An older pod of the same controller is not a replacement."""
    assert reports["grown"]["replacement"]["name"] == deaths.pods["grown-third"]


@pytest.mark.parametrize(
    ("key", "kind"),
    [
        ("web-gone", "ReplicaSet"),
        ("backoff-gone", "Job"),
        ("policy-gone", "Job"),
        ("agent", "DaemonSet"),
        ("db", "StatefulSet"),
        ("deleted-gone", None),
    ],
)
def test_owner_of_a_deleted_pod(reports: Mapping[str, Object], key: str, kind: str | None) -> None:
    """Of one there is a StatefulSet of the same name as its Job."""
    owner = reports[key]["owner"]

    assert (owner["kind"] if owner else None) == kind
    assert (reports[key]["replacement"] is None) is (kind in {None, "Job"})


def test_explain_says_the_same(died: InProcess, deaths: Deaths, qos: InProcess) -> None:
    before = ask(died, deaths)
    there = [key for key, report in before.items() if report["exists"] and not report["earlier"]]

    items = qos.json(*(f"pod/{deaths.pods[key]}" for key in there), "-n", NAMESPACE)["items"]

    after = ask(died, deaths)
    for key, item in zip(there, items, strict=True):
        last = item["lastEnd"]
        # A verdict may have become certain meanwhile: its events may have arrived.
        ends = [reports[key]["end"] for reports in (before, after)]
        known = [end["verdict"] if end["of"] != "Nothing" else None for end in ends]
        assert (last["end"]["verdict"] if last else None) in known, key


@pytest.mark.parametrize("kind", ["ReplicaSet", "StatefulSet", "Job"])
def test_replacement_of_a_pod_that_no_kubelet_stopped(deaths: Deaths, died: InProcess, kind: str) -> None:
    """The deletion time of its object is unknown."""
    pod, after = deaths.unseen[kind]
    ran = died(f"pod/{name_of(pod)}", "-n", NAMESPACE, "-o", "json")
    report = json.loads(ran.out)
    found = report["replacement"] if kind == "StatefulSet" else report["younger"]
    assert (found["name"], found["phase"]) == (name_of(after), "Pending")
    assert report["owner"]["kind"] == kind
    page = died(f"pod/{name_of(pod)}", "-n", NAMESPACE).out
    assert name_of(after) in page.partition("Now ")[2]
    assert "no replacement" not in page


# Of many


def test_everywhere(reports: Mapping[str, Object], deaths: Deaths, died: InProcess) -> None:
    ran = died("-A", "--since", "1h", "-o", "json")
    report = json.loads(ran.out)
    own = [item for item in report["items"] if item["namespace"] == NAMESPACE]
    before = {deaths.pods[key] for key in EARLIER}
    # Earlier pods of a name are listed too: for other names they are not the pod under test.
    found = listed(deaths, {"items": [item for item in own if not item["earlier"] or item["name"] in before]})
    times = [item["end"]["at"] or "" for item in report["items"]]

    assert (ran.code, ran.err) == (12 if "Nothing" in map(grade_of, report["items"]) else 11, "")
    assert found.keys() >= TRUTH.keys()
    assert not found.keys() & {"alive", "grown-third"}
    assert {key for key, item in found.items() if item["earlier"]} >= EARLIER
    assert not worse(found, reports)
    assert times == sorted(times, reverse=True)
    assert all(item["end"]["of"] != "Nothing" for item in report["items"])


def test_pods_that_no_kubelet_stopped(deaths: Deaths, died: InProcess) -> None:
    """Their end is unknown; a Job's pod may have completed.

    In one namespace: owners are read for at most 50 pods, and other tests leave events on the same API server.
    """
    ran = died("-n", NAMESPACE, "--since", "1h", "-o", "json")
    unseen = {kind: name_of(pod) for kind, (pod, _) in deaths.unseen.items()}
    grades = {item["name"]: item["end"]["verdict"]["grade"] for item in json.loads(ran.out)["items"]}

    assert [grades.get(unseen[kind]) for kind in ("ReplicaSet", "StatefulSet")] == ["Nothing", "Nothing"]
    assert unseen["Job"] not in grades
    assert (ran.code, ran.err) == (12, "")


def test_since_omits_older_pods(died: InProcess, deaths: Deaths) -> None:
    """A pod with an unknown time of end may have ended since."""

    def only_of_unknown_time() -> bool:
        ran = died("-n", NAMESPACE, "--since", "1s", "-o", "json")
        assert (ran.code, ran.err) in {(11, ""), (12, "")}
        return all(item["end"]["at"] is None for item in json.loads(ran.out)["items"])

    wait_for(only_of_unknown_time, "all that ended did so over a second ago", timeout=10)


@pytest.mark.parametrize("workload", ["web", "web-scaled", "rolled"])
def test_of_a_deployment(reports: Mapping[str, Object], deaths: Deaths, died: InProcess, workload: str) -> None:
    """Other pods with the same name prefix are not its own."""
    ran = died(f"deployment/{workload}", "-n", NAMESPACE, "-o", "json")
    found = listed(deaths, json.loads(ran.out))

    assert ran.err == ""
    assert found.keys() == {f"{workload}-held", f"{workload}-gone"}
    assert not worse(found, reports)
    assert ran.code == (0 if {grade_of(report) for report in found.values()} == {"Certain"} else 11)


@pytest.mark.parametrize(
    ("node", "keys"),
    [
        ("small-gone", {"preempted-gone"}),
        ("small-held", {"preempted-held"}),
        ("drained", {"drained-held", "drained-gone"}),
        ("daemon", {"agent"}),
        ("devices", {"device-tainted"}),
        ("lost", {"lost-held", "lost-gone", "lost-after-deleted", "lost-after-deleted-gone"}),
        ("tainted", {key for key in TRUTH if "taint" in key or "tolerating" in key} - {"device-tainted"}),
    ],
)
def test_of_a_node(reports: Mapping[str, Object], deaths: Deaths, died: InProcess, node: str, keys: set[str]) -> None:
    ran = died(f"node/{NAMESPACE}-{node}", "-o", "json")
    found = listed(deaths, json.loads(ran.out))

    assert ran.code in {0, 11}, ran
    assert ran.err == ""
    # Of the name of one there is another elsewhere.
    assert found.keys() - {"again"} == keys
    assert not worse({key: report for key, report in found.items() if key != "again"}, reports)


# With fewer rights


def test_without_events(died: InProcess, deaths: Deaths, blind: Path) -> None:
    found = ask(died, deaths, blind)
    # Afterwards: a verdict becomes more certain once its events have arrived.
    reports = ask(died, deaths)

    assert not worse(found, reports)
    for key, report in found.items():
        if key in EARLIER:
            continue  # Nothing shows that there was another.
        end = report["end"]
        assert GRADES.index(grade_of(report)) >= GRADES.index(grade_of(reports[key])), key
        assert ("EventsUnread" in end["lost"]) is (end["of"] != "Nothing" and grade_of(report) != "Certain"), key
        assert any((one["verb"], one["resource"]) == ("list", "events") for one in report["unread"]), key
    assert all(grade_of(report) == "Nothing" for key, report in found.items() if key.endswith("-gone"))
    assert all(grade_of(found[key]) == "Certain" for key in ("preempted-held", "evicted-held", "tainted-held"))


def test_without_events_of_many(died: InProcess, blind: Path) -> None:
    ran = died("-n", NAMESPACE, kubeconfig=blind)

    assert (ran.code, ran.out) == (4, ""), ran
    assert "list events" in ran.err


def test_without_nodes(died: InProcess, deaths: Deaths, control_plane: ControlPlane) -> None:
    found = ask(died, deaths, robot(control_plane, NAMESPACE))
    reports = ask(died, deaths)

    assert not worse(found, reports)
    for key, report in found.items():
        assert GRADES.index(grade_of(report)) >= GRADES.index(grade_of(reports[key])), key
    assert grade_of(found["drained-gone"]) == "Several"
    assert "NodeUnread" in found["drained-gone"]["end"]["lost"]
    assert any(one["resource"] == "nodes" for one in found["drained-gone"]["unread"])


# Exit codes


@pytest.mark.parametrize(
    ("target", "code"),
    [
        ("pod/alive", 0),
        ("pod/preempted-held", 0),
        ("pod/preempted-gone", 0),
        ("pod/evicted-gone", 11),
        ("pod/never-was", 3),
        ("deployment/never-was", 3),
        ("node/never-was", 3),
    ],
)
def test_exit_code(deaths: Deaths, died: InProcess, target: str, code: int) -> None:
    ran = died(target, "-n", NAMESPACE)

    assert ran.code == code, ran
    assert ran.err.startswith("error: ") is (code == 3)


@pytest.mark.parametrize(
    ("targets", "code"),
    [
        (("pod/alive", "pod/evicted-gone"), 11),
        (("pod/evicted-gone", "pod/never-was"), 3),
        (("pod/evicted-gone", "deployment/never-was"), 3),
    ],
)
def test_exit_code_of_several(deaths: Deaths, died: InProcess, targets: tuple[str, ...], code: int) -> None:
    assert died(*targets, "-n", NAMESPACE).code == code


# What takes long


@pytest.mark.long("test_verdict_is_the_truth, with what other components of the control plane write")
def test_node_that_is_deleted(deaths: Deaths, died: InProcess) -> None:
    """Garbage collection names itself if the object remains, and hides whether it was deleted before."""
    deaths.run({SLOW: DEATHS[SLOW]})
    assert SLOW not in deaths.failed, deaths.failed[SLOW]

    kept = died.json("pod/collected-kept", "-n", NAMESPACE, code=11)
    names = ("collected-gone", "collected-after-drain-gone", "collected-on-gone")
    ran = died(*(f"pod/{name}" for name in names), "-n", NAMESPACE, "-o", "json")
    gone, drained, stopped = json.loads(ran.out)["items"]

    assert (grade_of(kept), causes_of(kept)) == ("Likely", ["NodeGone"])
    # All evidence may be gone, and nothing else has ended it.
    assert grade_of(gone) in {"Likely", "Nothing"}
    assert not wrong(gone, "NodeGone")
    assert [grade_of(drained), grade_of(stopped)] == ["Several", "Several"]
    assert not wrong(drained, "ApiEviction")
    assert not wrong(stopped, "NodeGone")
    assert ran.code == (12 if grade_of(gone) == "Nothing" else 11)


@pytest.fixture
def many(control_plane: ControlPlane, namespace: str) -> Iterator[Deaths]:
    """A namespace with so many changes at once that events come late: a controller sends 20 in a second."""
    with Kubelets(control_plane, [namespace]) as kubelets:
        found = Deaths(control_plane, namespace, kubelets, namespace)
        try:
            found.node("quick")
            yield found
        finally:
            found.clean()


@pytest.mark.long("test_verdict_is_the_truth, once the events are there")
def test_events_of_a_controller_that_come_late(many: Deaths, died: InProcess) -> None:
    workloads = [f"web-{number}" for number in range(12)]
    for name in workloads:
        many.plane.apply([raw_workload("Deployment", name, many.namespace, pod_spec=_spec(many), replicas=9)])
    for name in workloads:
        for pod in many.of_workload(name, 9):
            many.stay(pod)
    for name in workloads:
        many.plane.api.patch(raw_workload("Deployment", name, many.namespace, pod_spec={}), {"spec": {"replicas": 0}})

    def going(count: int) -> list[str]:
        """The names of those that are, once they are so many."""
        found = [pod["metadata"]["name"] for pod in _pods(many) if "deletionTimestamp" in pod["metadata"]]
        return found if len(found) >= count else []

    for count in (10, 50, 100):
        items = _of_many(many, died, wait_for(partial(going, count), f"{count} are going"))
        assert not [text for item in items if (text := wrong(item, "Owner"))]


@pytest.mark.long("test_verdict_is_the_truth, once the events are there")
def test_events_of_the_taint_manager_that_come_late(many: Deaths, died: InProcess) -> None:
    node = many.node("tainted")
    made = [many.plane.api.create(many.manifest(f"web-{number}", nodeName=node)) for number in range(60)]
    many.old(made)
    many.taint(node)

    def gone(count: int) -> list[str]:
        """The names of those that are, once they are so many."""
        left = {pod["metadata"]["name"] for pod in _pods(many)}
        found = [name for pod in made if (name := pod["metadata"]["name"]) not in left]
        return found if len(found) >= count else []

    for count in (10, 30, 60):
        items = _of_many(many, died, wait_for(partial(gone, count), f"{count} are gone"))
        assert not [text for item in items if (text := wrong(item, "TaintEviction"))]


def _spec(many: Deaths) -> Object:
    """The pods of a workload."""
    spec: Object = many.manifest("any", nodeName=many.quick)["spec"]
    return spec


def _pods(many: Deaths) -> list[Object]:
    return many.plane.api.list_items("v1", "Pod", many.namespace)


def _of_many(many: Deaths, died: InProcess, names: list[str]) -> list[Object]:
    """The verdict about each, which may have changed meanwhile."""
    ran = died(*(f"pod/{name}" for name in [*names, "never-was"]), "-n", many.namespace, "-o", "json")
    assert (ran.code, ran.err.count("error: "), 'no pod "never-was"' in ran.err) == (3, 1, True), ran
    items: list[Object] = json.loads(ran.out)["items"]
    assert len(items) == len(names)
    return items
