"""``kubectl qos explain --timeline``: output, targets and arguments."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from cluster_io.demo import DEMO_NOW, demo_objects
from kubectl_plugin.options.change_commands import DeletionOptions
from kubectl_plugin.options.pod_commands import WAYS
from kubectl_plugin.parsing import parse
from kubectl_plugin.reports.schema import schema_of
from kubectl_plugin.views.pod.timeline_words import NOTES, STEPS, WHY
from kubectl_plugin.views.pod.timeline_words import WAYS as WAY_WORDS
from podrules.ending.timeline.events import EventKind, Reminder, TimeRule, Way
from tests.controlplane.client import Object
from tests.golden import check
from tests.kubectl_plugin.answers import check_texts, data, said, write_list
from tests.kubectl_plugin.edits import CASES, GOLDEN, find
from tests.kubectl_plugin.running import run, write_cluster
from tests.objects import raw_container, raw_event, raw_node, raw_owner, raw_pod, raw_workload

MANIFESTS = Path(__file__).resolve().parents[2] / "testdata" / "manifests"

DEMO = {
    "timeline-hook-and-sidecar": ["-n", "data", "pod/postgres-0", "--timeline"],
    "timeline-two-writers-on-silent-node": ["-n", "shop", "pod/db-1", "--timeline"],
    "timeline-daemon-on-silent-node": ["-n", "monitoring", "pod/log-agent-fwj7l", "--timeline"],
    "timeline-being-preempted": ["-n", "ml", "pod/embed-n6d8t", "--timeline"],
    "timeline-static-pod": ["-n", "kube-system", "pod/etcd-cp-a1", "--timeline"],
    "timeline-pending": ["-n", "shop", "pod/checkout-mv9cgvs6p-x2x7p", "--timeline"],
    "timeline-finished": ["-n", "batch", "pod/nightly-report-29870100-wm6rq", "--timeline"],
    "timeline-grace-zero": ["-n", "shop", "pod/price-feed", "--timeline"],
    "timeline-drain-refused": ["-n", "shop", "pod/db-0", "--timeline=drain"],
    "timeline-soft-eviction": ["-n", "ml", "pod/feature-store-0", "--timeline=evict-soft"],
    "timeline-manifest": ["-f", str(MANIFESTS / "checkout.yaml"), "--timeline=node-lost"],
}


@pytest.mark.parametrize("name", DEMO)
def test_T5_demo(name: str) -> None:
    ran = run("explain", "--demo", *DEMO[name])
    assert (ran.code, ran.err) == (0, "")
    prose = [line for line in ran.out.splitlines() if "kubectl qos " not in line]
    assert max(map(len, prose)) <= 80
    check(GOLDEN / f"{name}.txt", ran.out)


@pytest.mark.parametrize(
    ("kubelet", "seconds", "assumed"), [("v1.35.1", 50, False), ("v1.31.4", 40, True), ("", 50, True)]
)
def test_T5_version_decides_when_a_silent_node_is_unknown(
    kubelet: str, seconds: int, assumed: bool, tmp_path: Path
) -> None:
    """A control plane is at least as new as its newest kubelet; an old kubelet may have a newer control plane."""
    node = raw_node("n1", status={"nodeInfo": {"kubeletVersion": kubelet}})
    file = write_cluster(tmp_path / "cluster.json", [node, raw_pod("web", nodeName="n1")])
    out = " ".join(run("explain", "pod/web", "--timeline=node-lost", "--snapshot", file).out.split())
    assert f"--node-monitor-grace-period {seconds} s," in out
    assert ("the control plane's version is unknown: 50 s since 1.32, 40 s before" in out) is assumed


def test_T5_each_part_of_a_timeline_has_its_row_of_words() -> None:
    assert set(WAY_WORDS) == set(Way)
    assert set(STEPS) == set(EventKind)
    assert set(WHY) == set(TimeRule)
    assert set(NOTES) == set(Reminder)


def test_T5_every_way_can_be_selected() -> None:
    assert tuple(way.value for way in Way) == WAYS


@pytest.mark.parametrize("typed", [("--grace-period=-1",), ("--grace-period", "-30")])
def test_negative_period_is_the_pods_own(typed: tuple[str, ...]) -> None:
    """As in kubectl, which then sends no period."""
    asked = ["explain", "--demo", "-n", "data", "pod/postgres-0", "--timeline=delete", "-o", "json"]
    assert run(*asked, *typed).out == run(*asked).out
    options = parse(["delete", "pod/x", *typed]).options
    assert isinstance(options, DeletionOptions)
    assert options.grace_period is None


@pytest.mark.parametrize("seconds", [3, 0, 2**63 - 1])
def test_period_of_the_delete_counts_of_pods_and_manifests(seconds: int) -> None:
    for asked in (
        ["pod/g1", "--snapshot", str(CASES / "field" / "grace.json")],
        ["-f", str(MANIFESTS / "checkout.yaml"), "--offline"],
    ):
        ran = run("explain", *asked, "--timeline=delete", f"--grace-period={seconds}", "-o", "json")
        found = json.loads(ran.out)
        (one, *_) = found.get("items", [found])
        (way,) = one.get("template", one)["timeline"]["ways"]
        assert {one["what"]: one["latest"] for one in way["events"]}["SIGKILL"] == max(seconds, 2)
        page = said("explain", *asked, "--timeline=delete", f"--grace-period={seconds}")
        assert ("kubectl delete requests 0 s with --force only" in page) is (seconds == 0)


def test_probe_periods_are_beside_the_pod_period() -> None:
    """Two probes of g3 have their own periods, 60 s and 5 s; the pod has 30 s."""
    asked = ("explain", "pod/g3", "--snapshot", str(CASES / "field" / "grace.json"))
    assert "after a failed probe 60 s (app, livenessProbe) and 5 s (app, startupProbe)" in said(*asked)
    page = said(*asked, "-o", "wide")
    for probe, seconds in (("livenessProbe", 60), ("startupProbe", 5)):
        field = f"spec.containers[0].{probe}.terminationGracePeriodSeconds"
        assert f"app {probe} fails: SIGKILL after {seconds} s ({field})" in page
    fails = ("SIGTERM app at once: livenessProbe failed", "SIGTERM app at once: startupProbe failed")
    check_texts(said(*asked, "--timeline=probe"), fails)


def test_each_container_has_the_periods_of_its_probes(tmp_path: Path) -> None:
    probe = {"exec": {"command": ["ok"]}}
    hook = {"preStop": {"exec": {"command": ["slow"]}}}
    short = {**probe, "terminationGracePeriodSeconds": 1}
    containers = [
        raw_container("plain", livenessProbe=probe),
        raw_container("short", livenessProbe=short, readinessProbe=probe),
        raw_container("hooked", startupProbe=short, lifecycle=hook),
    ]
    running = {"state": {"running": {}}, "ready": True}
    status = {
        "phase": "Running",
        "containerStatuses": [{"name": one["name"], **running} for one in containers],
        "initContainerStatuses": [{"name": "side", **running}],
    }
    sidecar = raw_container("side", restartPolicy="Always", startupProbe=probe)
    spec: dict[str, Any] = {
        "containers": containers,
        "initContainers": [sidecar, raw_container("once")],
        "terminationGracePeriodSeconds": 40,
        "nodeName": "n",
    }
    going = {"deletionTimestamp": "2026-01-01T00:00:40Z"}
    pods = [
        raw_pod(name, "shop", metadata=meta, status=status, **spec) for name, meta in (("web", {}), ("going", going))
    ]
    snapshot = write_list(tmp_path / "pods.json", pods)

    def stops(name: str) -> list[tuple[str, str, int, int]]:
        found = data("explain", f"pod/{name}", "-n", "shop", "--snapshot", snapshot)["probeStops"]
        return [(one["container"], one["probe"], one["seconds"], one["sigkillLatest"]) for one in found]

    assert stops("web") == [
        ("plain", "livenessProbe", 40, 40),
        ("short", "livenessProbe", 1, 2),
        ("hooked", "startupProbe", 1, 3),
        ("side", "startupProbe", 40, 40),
    ]
    assert stops("going") == []
    page = said("explain", "pod/web", "-n", "shop", "--snapshot", snapshot)
    assert "after a failed probe 1 s (short, livenessProbe) and 1 s (hooked, startupProbe)" in page


def test_second_delete_with_probe_periods(tmp_path: Path) -> None:
    probe = {"exec": {"command": ["ok"]}, "periodSeconds": 4, "failureThreshold": 1}
    containers = [
        raw_container("a", livenessProbe=probe),
        raw_container("z", livenessProbe=probe, restartPolicy="Never"),
    ]
    running = [{"name": name, "state": {"running": {}}, "ready": True} for name in "az"]
    status = {"phase": "Running", "containerStatuses": running}
    owners = [raw_owner("StatefulSet", "db", uid="u")]
    meta: dict[str, Any] = {"creationTimestamp": "2026-10-01T00:00:00Z", "ownerReferences": owners}
    going = {**meta, "deletionTimestamp": "2026-11-01T00:10:00Z", "deletionGracePeriodSeconds": 600}
    spec: dict[str, Any] = {"containers": containers, "nodeName": "n", "terminationGracePeriodSeconds": 600}
    pods = [
        raw_pod(name, "shop", metadata=one, status=status, **spec) for name, one in (("db-0", going), ("db-1", meta))
    ]
    event = raw_event("Pod/x", "Now", last="2026-11-01T00:00:30Z")
    snapshot = write_list(tmp_path / "pods.json", [*pods, raw_node("n"), event])

    def drawn(pod: str, *more: str) -> str:
        return said("explain", f"pod/{pod}", "-n", "shop", "--snapshot", snapshot, *more)

    second = (
        "Being deleted since 00:00:00 UTC; with a second delete of 0 s now: object gone at 00:00:30 UTC, another "
        "pod at 00:00:30 UTC, SIGKILL at 00:10:00 UTC."
    )
    assert second in drawn("db-0", "--timeline=delete", "--grace-period=0")
    impossible = "drain is not possible: it is being deleted already, see delete."
    check_texts(drawn("db-0", "--timeline=drain"), impossible, "Not certain")
    assert "Not certain: no poddisruptionbudgets" in drawn("db-1", "--timeline=drain", "--grace-period=0")
    never = "never restart z it stays ended (spec.containers[1].restartPolicy)"
    check_texts(drawn("db-1", "--timeline=probe"), ("restarted by 605 s, z never.", never))


@pytest.mark.parametrize("way", WAYS)
def test_T5_one_way(way: str) -> None:
    ran = run("explain", "--demo", "-n", "data", "pod/postgres-0", f"--timeline={way}", "-o", "json")
    assert [entry["way"] for entry in json.loads(ran.out)["timeline"]["ways"]] == [way]
    text = run("explain", "--demo", "-n", "data", "pod/postgres-0", f"--timeline={way}").out
    assert [line for line in text.splitlines() if line.startswith(f"{way}: ")]
    others = set(WAYS) - {way}
    assert not [line for line in text.splitlines() if line.partition(":")[0] in others]


@pytest.mark.parametrize(
    "words",
    [
        pytest.param(("--timeline", "pod/db-0"), id="before the pod, which is no value of it"),
        pytest.param(("pod/db-0", "--timeline"), id="after the pod"),
        pytest.param(("pod/db-0", "--timeline=all"), id="by name"),
    ],
)
def test_T5_flag_alone_means_every_way(words: tuple[str, ...]) -> None:
    ran = run("explain", "--demo", *words, "-o", "json")
    assert ran.code == 0, ran.err
    assert len(json.loads(ran.out)["timeline"]["ways"]) == len(WAYS)


def test_T5_flag_before_the_command() -> None:
    ran = run("--demo", "--timeline", "explain", "pod/db-0", "-o", "name")
    assert (ran.code, ran.out) == (0, "pod/db-0\n")


def test_T5_unknown_way_lists_known_ways() -> None:
    ran = run("explain", "--demo", "pod/db-0", "--timeline=reboot")
    assert ran.code == 2
    check_texts(ran.err, WAYS)


def test_T5_timeline_needs_the_flag() -> None:
    assert data("explain", "--demo", "pod/db-0")["timeline"] is None


def test_T5_timeline_of_a_pending_pod_has_no_placement() -> None:
    printed = json.loads(
        run("explain", "--demo", "-n", "shop", "pod/checkout-mv9cgvs6p-x2x7p", "--timeline", "-o", "json").out
    )
    assert printed["placement"] is None


@pytest.mark.parametrize("namespace", ["shop", "data", "batch", "ml", "monitoring", "kube-system", "payments"])
def test_T5_every_demo_pod_fits_the_schema_and_the_page(namespace: str) -> None:
    printed = data("explain", "--demo", "-n", namespace, "pods", "--timeline")
    validator = jsonschema.Draft202012Validator(schema_of("PodExplanation"))
    for item in printed["items"]:
        validator.validate(item)
        assert len(item["timeline"]["ways"]) == len(WAYS)
    text = run("explain", "--demo", "-n", namespace, "pods", "--timeline").out
    prose = [line for line in text.splitlines() if "kubectl qos " not in line]
    assert max(map(len, prose)) <= 80
    assert "None" not in text


def test_T5_yaml_and_json_agree() -> None:
    asked = ("explain", "--demo", "-n", "shop", "pod/db-1", "--timeline")
    assert yaml.safe_load(run(*asked, "-o", "yaml").out) == data(*asked)


def test_T5_old_lease_in_a_snapshot_is_not_silence(tmp_path: Path) -> None:
    # The capture time is unknown: a Lease that is old now was fresh then.
    source = ("--timeline", "--snapshot", write_list(tmp_path / "cluster.json", demo_objects()))
    found = data("explain", "-n", "shop", "pod/db-0", *source)["timeline"]
    assert (found["silent"], found["ways"][0]["way"]) == (False, "delete")
    # A node with an Unknown condition is silent all the same.
    assert data("explain", "-n", "shop", "pod/db-1", *source)["timeline"]["ways"][0]["way"] == "node-lost"


def test_T5_hostile_names_do_not_shift_lanes(tmp_path: Path) -> None:
    objects = demo_objects()
    find(objects, "Pod/db-0")["metadata"]["finalizers"] = ["a\x1b[2J\u202e"]
    file = write_list(tmp_path / "cluster.json", objects)
    ran = run("explain", "--snapshot", file, "-n", "shop", "pod/db-0", "--timeline=delete")
    assert ran.code == 0
    check_texts(ran.out, r"a\x1b[2J\u202e", ("\x1b", "\u202e"))


def test_T5_timeline_of_manifest_includes_admission() -> None:
    printed = json.loads(
        run("explain", "--demo", "-f", str(MANIFESTS / "checkout.yaml"), "--timeline", "-o", "json").out
    )
    for item in printed["items"]:
        [lost] = [entry for entry in item["timeline"]["ways"] if entry["way"] == "node-lost"]
        [deleted] = [event for event in lost["events"] if event["what"] == "Deleted"]
        assert (deleted["earliest"], deleted["latest"], deleted["seconds"]) == (350, 361, 300)
    assert printed["items"]


def test_T5_daemon_set_tolerates_what_its_controller_adds(tmp_path: Path) -> None:
    daemon = raw_workload("DaemonSet", "agent", updateStrategy={"rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}})
    file = tmp_path / "daemon.yaml"
    file.write_text(yaml.safe_dump(daemon))
    page = data("explain", "--offline", "-f", str(file), "--timeline")["timeline"]
    by_way = {entry["way"]: entry["events"] for entry in page["ways"]}
    assert {event["rule"] for event in by_way["node-lost"] if event["what"] == "Deleted"} == {"ToleratedForEver"}
    assert {event["rule"] for event in by_way["delete"] if event["what"] == "Replaced"} == {"Surge"}
    # Whether a budget refuses is unknown.
    assert page["budgetsKnown"] is False


def test_T5_workload_shows_timeline_of_its_next_pod() -> None:
    ran = run("explain", "--demo", "-n", "shop", "statefulset/db", "--timeline", "-o", "json")
    [gone] = [
        event
        for entry in json.loads(ran.out)["template"]["timeline"]["ways"]
        if entry["way"] == "delete"
        for event in entry["events"]
        if event["what"] == "Replaced"
    ]
    assert gone["rule"] == "AfterObject"
    assert run("explain", "--demo", "-n", "shop", "statefulset/db", "--timeline").out.startswith("statefulset/db")


def test_T5_now_separates_past_and_future() -> None:
    lines = run("explain", "--demo", "-n", "ml", "pod/embed-n6d8t", "--timeline=delete").out.splitlines()
    at = DEMO_NOW[11:19]
    [now] = [index for index, line in enumerate(lines) if line.split() == [at, "now"]]
    assert lines[now - 1].split()[1] < at
    assert lines[now + 1].split()[1] > at


def test_picture_comes_first_and_marks_each_event_once() -> None:
    page = run("explain", "--demo", "-n", "shop", "pod/db-1", "--timeline=node-lost").out
    picture, table = page.partition("\nnode-lost: ")[::2]
    [lane] = [line for line in picture.splitlines() if line.startswith("object ")]
    # Ready Unknown and the taint have the same second, and the deletion is the last event.
    assert re.fullmatch(r"object +=+UT=+D>", lane)
    assert lane.index("U") - lane.index("=") == 52 * 59 // 352
    assert "U Ready Unknown, T tainted, D deleted, = there, > no end" in picture
    assert "only its kubelet can, and it is silent" in table
    assert not re.search(r"kubelet can.*kubelet can", table, re.DOTALL)


def test_T3_sidecar_s_hook_has_its_time_its_bar_and_its_path() -> None:
    manifest = str(CASES / "cli" / "sidecars.yaml")
    path = "spec.initContainers[1].lifecycle.preStop.sleep"
    page = " ".join(run("explain", "-f", manifest, "--offline", "-o", "wide").out.split())
    assert f"preStop sleep for 10 s ({path}), then SIGTERM once the containers before it ended" in page
    drawn = run("explain", "-f", manifest, "--offline", "--timeline=delete").out
    assert f"preStop proxy   {path} 10 s" in drawn
    lane = next(line for line in drawn.splitlines() if line.startswith("proxy   p"))
    # 10 of 49 s, and then it waits for its turn until 45 s.
    assert (lane.count("p") - 1, lane.count("w")) == (12, 42)


def test_T5_first_sentence_names_sigterm_of_app(tmp_path: Path) -> None:
    proxy = raw_container("proxy", restartPolicy="Always")
    hook = {"preStop": {"sleep": {"seconds": 5}}}

    def first(*containers: Object) -> str:
        file = tmp_path / "pod.yaml"
        file.write_text(yaml.safe_dump(raw_pod(containers=containers, initContainers=[proxy])))
        drawn = run("explain", "--offline", "-f", str(file), "--timeline=delete").out
        return next(line for line in drawn.splitlines() if line.startswith("Deleted now: "))

    # The sidecar gets its own SIGTERM once the others have ended, after 30 s at the latest.
    assert first(raw_container()).startswith("Deleted now: SIGTERM at once, SIGKILL by 32 s,")
    assert first(raw_container(lifecycle=hook)).startswith("Deleted now: SIGTERM at 5 s, SIGKILL by 32 s,")
    both = first(raw_container("slow", lifecycle=hook), raw_container("quick"))
    assert both.startswith("Deleted now: first SIGTERM at once, SIGKILL by 32 s,")


def test_T5_silent_node_times_match_partitions() -> None:
    page = run("explain", "--demo", "-n", "shop", "pod/db-1", "--timeline=node-lost").out
    partitions = run("partitions", "--demo").out
    assert "03:02:04 UTC heartbeat > 03:02:56 Unknown, tainted > 03:07:56 5" in partitions
    check_texts(page, ("     52  03:02:56  Ready Unknown ", "     52  03:02:56  node tainted "))


def test_T5_unhandled_shutdown_node_is_not_called_silent() -> None:
    ran = run("explain", "--demo", "-n", "ingress", "pod/gateway-6m74d8fzc-rjq4s", "--timeline=shutdown")
    page = " ".join(ran.out.split())
    assert "When its machine is shut down: its kubelet sends no SIGTERM, object gone never by itself." in page
    assert "never object gone only its kubelet can, and it stops with the machine" in page


def _offline_page(folder: Path, way: str, **pod: Any) -> str:
    """The timeline of a manifest's pod, in one line."""
    file = folder / "pod.yaml"
    file.write_text(yaml.safe_dump(raw_pod("lone", **pod)))
    return " ".join(run("explain", "-f", str(file), "--offline", f"--timeline={way}").out.split())


def test_T5_uncertain_sigterm_may_precede_known_one(tmp_path: Path) -> None:
    sleeps = raw_container("app", lifecycle={"preStop": {"sleep": {"seconds": 10}}})
    runs = raw_container("b", lifecycle={"preStop": {"exec": {"command": ["x"]}}})
    page = _offline_page(tmp_path, "delete", containers=[sleeps, runs])
    check_texts(page, ("Deleted now: first SIGTERM by 10 s, SIGKILL by 32 s,", " 10 SIGTERM app ", " 0-30 SIGTERM b "))


def test_T5_sentence_names_the_signal_of_the_table(tmp_path: Path) -> None:
    stops = raw_container("app", lifecycle={"stopSignal": "SIGUSR1"})
    page = _offline_page(tmp_path, "delete", containers=[stops], os={"name": "linux"})
    check_texts(page, ("Deleted now: SIGUSR1 at once, SIGKILL at 30 s,", " 0 SIGUSR1 app at once "))


def test_T5_budgets_are_unknown_only_for_a_drain(tmp_path: Path) -> None:
    unknown = "whether a PodDisruptionBudget refuses a drain"
    assert unknown not in _offline_page(tmp_path, "delete", containers=[raw_container("app")])
    assert unknown in _offline_page(tmp_path, "drain", containers=[raw_container("app")])


@pytest.mark.parametrize(("way", "assumes"), [("shutdown", True), ("evict-soft", True), ("evict-hard", False)])
def test_kubelet_that_was_not_read_is_named_in_the_headline(tmp_path: Path, way: str, *, assumes: bool) -> None:
    """Only its configuration decides whether its machine waits for the pod."""
    asked = ("explain", "pod/g1", "--snapshot", str(CASES / "field" / "grace.json"), f"--timeline={way}")
    lead = ", with its kubelet's defaults (its own are not known): "
    assert (lead in " ".join(run(*asked).out.split())) is assumes
    file = tmp_path / "kubelet.yaml"
    file.write_text("apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n")
    assert "defaults" not in run(*asked, "--kubelet-config", str(file)).out
