"""The guard against a second writer of a volume, and its end: explain, delete, partitions and fence agree."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import pytest

from kubectl_plugin.views.pod.safety_words import guard_words, unfenced_from
from podrules.ending.volumes import WriterGuard, WriterLock
from podrules.node.reachability import Reach
from tests.kubectl_plugin.answers import check_texts, said, write_list
from tests.kubectl_plugin.edits import CASES

MODES: Final = ("ReadWriteOnce",)


def _items(name: str) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = json.loads((CASES / name).read_text())["items"]
    return items


def _without(name: str, pod: str, directory: Path, status: Mapping[str, Any]) -> str:
    """The case without a pod, and with additions to the status of node ``a``."""
    kept = [entry for entry in _items(name) if (entry["kind"], entry["metadata"]["name"]) != ("Pod", pod)]
    for entry in kept:
        if (entry["kind"], entry["metadata"]["name"]) == ("Node", "a"):
            entry["status"] |= status
    return write_list(directory / "cluster.json", kept)


@pytest.mark.parametrize("case", ["s3c.json", "s3d.json"])
def test_F7_iscsi_waits_as_ebs_does(case: str) -> None:
    page = said("explain", "pod/pod2", "--snapshot", str(CASES / case))
    assert "Volumes data step 1 of 4, stop: the kubelet of a has to stop pod1" in page


def test_F7_iscsi_is_detached_once_unmounted(tmp_path: Path) -> None:
    name = "kubernetes.io/iscsi/10.0.0.1:3260:iqn.x:0"
    attached = {"volumesAttached": [{"name": name, "devicePath": ""}], "volumesInUse": [name]}
    page = said("explain", "pod/pod2", "--snapshot", _without("s3c.json", "pod1", tmp_path, attached))
    assert "step 2 of 4, detach: the kubelet of a still has it mounted" in page
    page = said("explain", "pod/pod2", "--snapshot", _without("s3c.json", "pod1", tmp_path, {}))
    assert "step 3 of 4, attach: the attach/detach controller has to attach it at b" in page


@pytest.mark.parametrize(
    ("case", "words"),
    [
        ("s3dep-iscsi.json", "iSCSI, ReadWriteOnce: a second node is kept off until it is detached"),
        ("s3dep-fc.json", "FC, ReadWriteOnce: a second node is kept off until it is detached"),
        ("s3dep-nfs.json", "NFS, ReadWriteOnce: nothing keeps a second writer off"),
        ("s3dep-rbd.json", "Ceph RBD, ReadWriteOnce: no kubelet from 1.31 on mounts it"),
    ],
)
def test_F4_explain_shows_the_guard_of_each_volume(case: str, words: str) -> None:
    assert f"Writers data {words}" in said("explain", "pod/web-h-1", "--snapshot", str(CASES / case), "-o", "wide")


def test_F4_answers_show_when_the_guard_ends() -> None:
    snapshot = ("--snapshot", str(CASES / "s3a.json"))
    explained = said("explain", "pod/etcd-2", *snapshot)
    guarded = (
        "a second node is kept off until it is detached (6 min after the pod object is gone); from then on nothing"
    )
    assert guarded in explained
    stakes = said("delete", "pod/etcd-2", "--grace-period=0", *snapshot)
    check_texts(stakes, (guarded, "6 min after its object is gone, nothing keeps a second writer off"))
    partitions = said("partitions", *snapshot)
    assert "6 min after its object is gone, nothing keeps a second writer off volume data (iSCSI, ReadWriteOnce)" in (
        partitions
    )
    timeline = said("explain", "pod/etcd-2", "--timeline=node-lost", *snapshot)
    assert "volume data open the pod's object keeps it; 360 s after that is gone" in timeline


GUARDS: Final[Sequence[Any]] = [
    (WriterLock.CONTROLLER, Reach.ANSWERS, "until it is detached (once its kubelet has unmounted it); from then on"),
    (WriterLock.CONTROLLER, Reach.OUT_OF_SERVICE, "until it is detached (as soon as the pod object is gone); from"),
    (WriterLock.CONTROLLER, Reach.UNKNOWN, "until it is detached; from then on"),
    (WriterLock.ATTACHMENT, Reach.SILENT, "detached from this node (6 min after the pod object is gone)"),
    (WriterLock.ATTACHMENT, Reach.UNKNOWN, "until it is detached from this node"),
    (WriterLock.NONE, Reach.SILENT, "nothing keeps a second writer off"),
]


@pytest.mark.parametrize(("lock", "reach", "words"), GUARDS)
def test_F4_when_a_guard_ends(lock: WriterLock, reach: Reach, words: str) -> None:
    assert words in guard_words(WriterGuard("data", lock, "iSCSI", MODES), reach)


UNGUARDED: Final[Sequence[Any]] = [
    (WriterLock.NONE, Reach.ANSWERS, "nothing keeps a second writer off"),
    (WriterLock.CONTROLLER, Reach.ANSWERS, ""),
    (WriterLock.CONTROLLER, Reach.GONE, "6 min after its object is gone, nothing keeps a second writer off"),
    (WriterLock.CONTROLLER, Reach.OUT_OF_SERVICE, "as soon as its object is gone, nothing keeps a second writer off"),
    (WriterLock.ATTACHMENT, Reach.SILENT, ""),
]


@pytest.mark.parametrize(("lock", "reach", "words"), UNGUARDED)
def test_F4_when_no_guard_remains(lock: WriterLock, reach: Reach, words: str) -> None:
    assert unfenced_from(WriterGuard("data", lock, "iSCSI", MODES), reach) == words
