"""The pods of a silent node end at an unknown time, and every answer shows this."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import pytest

from tests.kubectl_plugin.answers import check_texts, data, said, write_list
from tests.kubectl_plugin.edits import CASES, items_of
from tests.kubectl_plugin.running import run, write_cluster
from tests.objects import raw_condition, raw_node, raw_object, raw_pod

SINCE: Final = "2026-11-22T09:50:50Z"
NOW: Final = "2026-11-22T10:05:00Z"
TAINT: Final = {"key": "node.kubernetes.io/out-of-service", "value": "nodeshutdown", "effect": "NoExecute"}
WELL: Final = raw_node("well", conditions=[raw_condition("Ready", lastHeartbeatTime=NOW, lastTransitionTime=SINCE)])
PROMISES: Final = re.compile(r"SIGKILL by|may live until|may run until|ends? by \d|overdue|up to \d+ s")


def _page(*words: str) -> str:
    ran = run(*words)
    assert (ran.code, ran.err) in {(0, ""), (3, "")}
    return " ".join(ran.out.split())


def _node(status: str, *taints: Mapping[str, str]) -> Mapping[str, Any]:
    ready = raw_condition("Ready", status, lastHeartbeatTime=NOW, lastTransitionTime=SINCE)
    return raw_node("lost", conditions=[ready], taints=list(taints))


def _pod(*, deleted: bool, **more: Any) -> Mapping[str, Any]:
    pod = raw_pod("db-0", status={"phase": "Running"}, nodeName="lost", terminationGracePeriodSeconds=30, **more)
    if deleted:
        pod["metadata"] |= {"deletionTimestamp": "2026-11-22T09:56:20Z", "deletionGracePeriodSeconds": 30}
    return pod


def _cluster(directory: Path, *items: Mapping[str, Any]) -> str:
    return write_cluster(directory / "cluster.qos", items)


SILENT: Final = _node("Unknown")
OUT: Final = _node("Unknown", TAINT)
BACK: Final = _node("True", TAINT)


@pytest.mark.parametrize("deleted", [True, False])
@pytest.mark.parametrize("nodes", [[SILENT], [OUT], []], ids=["silent", "out of service", "gone"])
def test_T5_no_answer_names_an_end_time(nodes: Sequence[Mapping[str, Any]], deleted: bool, tmp_path: Path) -> None:
    file = _cluster(tmp_path, WELL, *nodes, _pod(deleted=deleted))
    for words in (
        ("explain", "pod/db-0"),
        ("explain", "pod/db-0", "--timeline"),
        ("delete", "pod/db-0", "--grace-period=0"),
        ("partitions",),
    ):
        assert not PROMISES.search(_page(*words, "--snapshot", file)), words
    explained = _page("explain", "pod/db-0", "--snapshot", file)
    assert "unknown when: only its kubelet stops processes" in explained
    assert "make sure that the machine is off first" in explained
    assert "unknown when its processes end" in _page("delete", "pod/db-0", "--grace-period=0", "--snapshot", file)
    assert data("delete", "pod/db-0", "--grace-period=0", "--snapshot", file)["stakes"]["mayRunUntil"] is None


def test_T5_answering_node_keeps_its_times(tmp_path: Path) -> None:
    """The same pod on an answering node: the texts that the other tests exclude can appear."""
    file = _cluster(tmp_path, WELL, _node("True"), _pod(deleted=True))
    assert PROMISES.search(_page("explain", "pod/db-0", "--snapshot", file))
    stakes = data("delete", "pod/db-0", "--grace-period=0", "--snapshot", file)["stakes"]
    assert stakes["mayRunUntil"] == "2026-11-22T09:56:20Z"


@pytest.mark.parametrize(
    ("node", "deleted", "collected"),
    [
        pytest.param(SILENT, True, "", id="silent"),
        pytest.param(OUT, True, "Pod garbage collection removes its object within 20 s", id="out of service"),
        pytest.param(OUT, False, "Once it is deleted, pod garbage collection removes its object", id="not deleted"),
        pytest.param(BACK, True, "", id="back in service"),
        pytest.param(None, False, "Pod garbage collection removes its object within 80 s", id="gone"),
    ],
)
def test_T5_garbage_collection_is_predicted_where_it_acts(
    node: Mapping[str, Any] | None, deleted: bool, collected: str, tmp_path: Path
) -> None:
    file = _cluster(tmp_path, WELL, *([node] if node else []), _pod(deleted=deleted))
    page = _page("explain", "pod/db-0", "--snapshot", file)
    assert collected in page
    assert ("arbage collection" in page) is bool(collected)
    gone = [
        event
        for way in data("explain", "pod/db-0", "--timeline", "--snapshot", file)["timeline"]["ways"]
        for event in way["events"]
        if event["what"] == "ObjectGone" and way["way"] == "delete"
    ]
    assert gone[0]["rule"].startswith("PodGC") is (bool(collected))


def test_T5_finalizers_delay_garbage_collection(tmp_path: Path) -> None:
    pod = _pod(deleted=True)
    pod["metadata"]["finalizers"] = ["example.com/keep"]
    page = _page("explain", "pod/db-0", "--snapshot", _cluster(tmp_path, WELL, pod))
    assert 'removes its object within 80 s once finalizer "example.com/keep" is done' in page


def test_T5_deleted_node_leads_in_explain(tmp_path: Path) -> None:
    page = _page("explain", "pod/etcd-2", "--snapshot", _cluster(tmp_path, *items_of(CASES / "s3f.json")))
    assert "Its node a has no Node object any more: its last known phase is Running." in page
    assert "It is unknown since when it is gone. Pod garbage collection removes its object within 80 s" in page
    assert "it is not confirmed that its processes ended: they may still run." in page
    assert "StatefulSet etcd then starts a new etcd-2, while this one may still run." in page
    assert "Unknown nodes: not found" not in page


def test_T5_pod_without_phase_on_silent_node_is_unknown(tmp_path: Path) -> None:
    pod = {field: value for field, value in _pod(deleted=False).items() if field != "status"}
    page = _page("explain", "pod/db-0", "--snapshot", _cluster(tmp_path, WELL, SILENT, pod))
    assert "is silent since 09:50:50 UTC: its last phase is unknown (no status.phase). " in page


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"unready": SINCE}, "The pod is not Ready since 09:50:50 UTC."),
        ({"renewed": NOW}, "has no Node object any more (last heartbeat 10:05:00 UTC)"),
    ],
)
def test_T5_time_of_deleted_node_comes_from_evidence(more: Mapping[str, str], words: str, tmp_path: Path) -> None:
    pod, items = _pod(deleted=False), [WELL]
    if "unready" in more:
        pod["status"]["conditions"] = [raw_condition("Ready", "False", lastTransitionTime=more["unready"])]
    if "renewed" in more:
        items.append(raw_object("Lease", "lost", "kube-node-lease", spec={"renewTime": more["renewed"]}))
    assert words in _page("explain", "pod/db-0", "--snapshot", _cluster(tmp_path, *items, pod))


@pytest.mark.parametrize("nodes", [[], [WELL]], ids=["no nodes", "another node"])
def test_T5_unlisted_node_is_not_called_deleted(nodes: Sequence[Mapping[str, Any]], tmp_path: Path) -> None:
    file = write_list(tmp_path / "list.json", [*nodes, _pod(deleted=False)])
    ran = run("explain", "pod/db-0", "--snapshot", file)
    page = " ".join(ran.out.split())
    assert (ran.code, ran.err) == (11, "")
    check_texts(page, "whether lost answers is unknown", "no Node object")


def test_T5_stuck_pod_of_the_case_has_no_end(tmp_path: Path) -> None:
    page = _page("explain", "pod/etcd-2", "--snapshot", _cluster(tmp_path, *items_of(CASES / "s3a.json")))
    assert "it is unknown when its processes end" in page
    assert not PROMISES.search(page)


def test_T5_node_page_shows_that_nothing_ends(tmp_path: Path) -> None:
    file = _cluster(tmp_path, WELL, SILENT, _pod(deleted=False))
    for words in (("explain", "node/lost"), ("node", "lost")):
        page = _page(*words, "--snapshot", file)
        assert "lost is silent since 09:50:50 UTC: its pods may or may not run" in page
        assert "nothing stops them until it answers" in page


def test_F5_partitions_and_report_show_pods_of_deleted_nodes(tmp_path: Path) -> None:
    snapshot = _cluster(tmp_path, *items_of(CASES / "s3f.json"))
    listed = _page("partitions", "--snapshot", snapshot)
    check_texts(
        listed, ("node/a x Gone since an unknown time (no Node object): 1 pod depends on it.", "default/etcd-2")
    )
    page = tmp_path / "page.html"
    assert run("report", "-o", str(page), "--snapshot", snapshot).code == 0
    check_texts(page.read_text(), ("a is gone: there is no Node object.", "node silent"))


def test_F5_returned_node_is_not_down(tmp_path: Path) -> None:
    file = _cluster(tmp_path, WELL, BACK, _pod(deleted=True))
    page = _page("partitions", "--snapshot", file)
    assert "It answers again: unfence it, or its pods are kept away." in page
    assert "its kubelet answers again and stops deleted pods" in page
    assert "never ends" not in page


UNREACHABLE: Final = {"key": "node.kubernetes.io/unreachable", "effect": "NoExecute", "timeAdded": SINCE}
TOLERATES: Final = {"key": UNREACHABLE["key"], "operator": "Exists", "effect": "NoExecute"}


@pytest.mark.parametrize("added", [{}, {"timeAdded": NOW}])
def test_partitions_and_fence_agree_without_time_added(tmp_path: Path, added: Mapping[str, str]) -> None:
    tolerations = [{**TOLERATES, "tolerationSeconds": 3000}]
    cluster = _cluster(
        tmp_path, _node("Unknown", UNREACHABLE, {**TAINT, **added}), WELL, _pod(deleted=False, tolerations=tolerations)
    )
    page = _page("partitions", "--snapshot", cluster)
    check_texts(page, "1 pod is removed, and volumes are detached, without waiting for the machine.", "stays")
    why = "1 pod marked for deletion because of a taint that it does not tolerate for ever; it has no timeAdded"
    assert (why in page) is (not added)
    assert "Under way removes 1 pod: " in said("fence", "node/lost", "--snapshot", cluster)


def test_overdue_taint_deletion_shows_on_silent_node(tmp_path: Path) -> None:
    tolerations = [{**TOLERATES, "tolerationSeconds": 300}]
    cluster = _cluster(tmp_path, _node("Unknown", UNREACHABLE), WELL, _pod(deleted=False, tolerations=tolerations))
    late = (
        "should have deleted it at 09:55:50 UTC: it tolerates that for 300 s. kube-controller-manager deletes such pods"
    )
    assert late in _page("explain", "pod/db-0", "--snapshot", cluster)


def _next(*words: str) -> list[str]:
    """The commands of the page, without the flags that name its source."""
    _, label, commands = run(*words).out.partition("\nNext  ")
    assert label
    return [re.sub(r" --snapshot=\S+", "", line.strip()) for line in commands.splitlines()]


PARTITIONS: Final = "kubectl qos partitions"
FENCE: Final = "kubectl qos fence node/lost"


@pytest.mark.parametrize(
    ("node", "first"),
    [
        pytest.param(SILENT, [PARTITIONS, f"{FENCE}   # what it would remove; changes nothing"], id="silent"),
        pytest.param(OUT, [PARTITIONS, f"{FENCE}   # what is left to remove"], id="out of service"),
        pytest.param(BACK, ["kubectl qos unfence node/lost   # it answers again"], id="back"),
        pytest.param(_node("True"), [], id="answers"),
        pytest.param(None, [PARTITIONS], id="gone"),
    ],
)
def test_silent_node_suggests_partitions_and_fence_first(
    node: Mapping[str, Any] | None, first: Sequence[str], tmp_path: Path
) -> None:
    """On its own pages and on the page of a pod there: no suggestion leads back to the page it is on."""
    file = _cluster(tmp_path, WELL, *([node] if node else []), _pod(deleted=True))
    pages = [("explain", "pod/db-0"), ("explain", "pod/db-0", "-o", "wide")]
    if node is not None:
        pages += [("node", "lost"), ("explain", "node/lost")]
    for words in pages:
        commands = _next(*words, "--snapshot", file)
        assert commands[: len(first)] == first, words
        others = ("kubectl qos partitions", "kubectl qos fence", "kubectl qos unfence")
        assert not [line for line in commands[len(first) :] if line.startswith(others)], words
