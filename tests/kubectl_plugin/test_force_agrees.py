"""Whether a pod may be deleted without grace: `explain` and `delete` follow one rule and agree."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Final

import pytest

from cluster_io.demo import demo_objects
from tests.kubectl_plugin.answers import check_texts, data, said, write_list
from tests.kubectl_plugin.edits import find
from tests.kubectl_plugin.running import run
from tests.kubectl_plugin.scripted import TAKEN, change

PODS: Final = [
    (entry["metadata"]["namespace"], entry["metadata"]["name"]) for entry in demo_objects() if entry["kind"] == "Pod"
]
OF_EACH_OWNER: Final = list({name.rpartition("-")[0]: (namespace, name) for namespace, name in PODS}.values())
LEAD: Final = re.compile(r"[^:,;]+")
"""The first words of a sentence: ``Not safe yet``."""


@cache
def _looked_at(namespace: str, name: str, *source: str) -> dict[str, Any]:
    ran = run("delete", f"pod/{name}", "-n", namespace, "--grace-period=0", *source, "-o", "json")
    report: dict[str, Any] = json.loads(ran.out)
    return report


def _explained(namespace: str, name: str, *more: str) -> str:
    return run("explain", f"pod/{name}", "-n", namespace, *more).out


def _force_section(page: str) -> str:
    """The section in one line."""
    found = re.search(r"^Force delete +(.*(?:\n +.*)*)", page, re.MULTILINE)
    return " ".join(found[1].split()) if found else ""


def _first_words(text: str) -> str:
    found = LEAD.match(text)
    assert found is not None
    return found[0].lower()


def test_F1_explain_and_delete_agree_on_every_pod_of_the_demo() -> None:
    differ = {}
    for namespace, name in PODS:
        report = _looked_at(namespace, name, "--demo")
        safety = report["stakes"]["safety"] if report["stakes"] is not None else "Safe"
        explained = json.loads(_explained(namespace, name, "--demo", "-o", "json"))["forceSafety"]
        if explained != safety:
            differ[name] = (explained, safety)
    assert not differ


@pytest.mark.parametrize("wide", [False, True], ids=["default", "wide"])
def test_F1_explain_and_delete_use_the_same_words(*, wide: bool) -> None:
    shown = set()
    for namespace, name in OF_EACH_OWNER:
        section = _force_section(_explained(namespace, name, "--demo", *(["-o", "wide"] if wide else [])))
        # The default page leaves it out if Stops shows it: no process runs, or a delete stops nothing.
        if not section and not wide:
            continue
        lead = _first_words(_looked_at(namespace, name, "--demo")["verdict"]["text"])
        assert _first_words(section) == lead, name
        shown.add(lead)
    always = {"safe", "no promise is broken", "not safe", "not safe yet"}
    assert shown == always | ({"it stops nothing"} if wide else set())


def test_F2_force_deletion_without_confirm_deletes_nothing() -> None:
    wrong = {}
    for namespace, name in PODS:
        ran = run("delete", f"pod/{name}", "-n", namespace, "--grace-period=0", "--demo")
        verdict = ran.out.partition("\n\n")[0]
        if ran.code != 3 or "\nNot deleted: to delete it without grace, add --confirm" not in verdict:
            wrong[name] = (ran.code, verdict)
    assert not wrong


def test_F2_ended_pod_is_deleted_only_with_confirm() -> None:
    words = "delete", "pod/nightly-report-29870100-wm6rq", "-n", "batch", "--grace-period=0"
    # The server has no answer to a deletion: one that is sent fails.
    looked = change(*words, given={})
    assert looked.code == 3
    assert looked.out.splitlines()[1:3] == [
        "ok Safe: its processes have ended.",
        "Not deleted: to delete it without grace, add --confirm.",
    ]
    assert looked.out.splitlines()[-1].split() == ["kubectl", "qos", *words[:4], "--grace-period=0", "--confirm"]
    sent = change(*words, "--confirm", "--timeout=100ms", given={"DELETE": [TAKEN]})
    assert (sent.code, "Not deleted" in sent.out) == (10, False)


def test_F2_preview_shows_that_a_finalizer_keeps_the_object() -> None:
    ran = run("delete", "pod/nightly-index-w5k9d", "-n", "batch", "--grace-period=0", "--demo")
    assert ran.out.splitlines()[1:4] == [
        "ok Safe: its processes have ended.",
        "Not deleted: to delete it without grace, add --confirm; its finalizer keeps the",
        "object even then.",
    ]


def test_F1_three_commands_agree_on_replaced_pod() -> None:
    lost = {pod["name"]: pod for pod in _partitions() if pod["owner"]["kind"] == "ReplicaSet"}
    assert len(lost) == 3
    listed = said("partitions", "--demo")
    for name, pod in lost.items():
        another = f"ReplicaSet {pod['owner']['name']} has another instead"
        still = f"{another}, and this one may still run"
        assert f"{pod['namespace']}/{name} ReplicaSet has another; this one may still run" in listed
        words = f"pod/{name}", "-n", pod["namespace"], "--demo"
        deletion = said("delete", *words, "--grace-period=0")
        check_texts(deletion, (f"so its processes may still run, and {another}.", f"Owner {still}"))
        assert still in " ".join(_explained(pod["namespace"], name, "--demo", "-o", "wide").split())


def test_F5_partitions_and_delete_agree_on_silent_node() -> None:
    safety = {(pod["namespace"], pod["name"]): pod["forceSafety"] for pod in _partitions()}
    assert len(safety) == 9
    assert safety == {pod: _looked_at(*pod, "--demo")["stakes"]["safety"] for pod in safety}
    none = "none of the 9 pods is safe until the machine is off: then fence node-c3"
    assert _force_section(run("partitions", "--demo").out) == none
    assert _force_section(run("partitions", "--demo", "-o", "wide").out) == none
    assert _force_section(run("fence", "node-c3", "--demo").out) == none


def test_F5_partitions_separates_safe_pods(tmp_path: Path) -> None:
    """On the silent node, one pod has ended and one is static."""
    objects = demo_objects()
    find(objects, "Pod/web-wkmm8tk5p-m7lqd")["status"]["phase"] = "Succeeded"
    find(objects, "Pod/net-agent-f7j29")["metadata"]["annotations"] = {"kubernetes.io/config.mirror": "abc"}
    source = _on(tmp_path, objects)
    assert _force_section(run("partitions", *source).out) == (
        "1 of 9 pods is safe: shop/web-wkmm8tk5p-m7lqd"
        " not the others until the machine is off: then fence node-c3"
        " it stops nothing: kube-system/net-agent-f7j29"
        " not safe yet: shop/db-1, data/broker-2, shop/checkout-mv9cgvs6p-g8h5k, shop/search-5l7xfxsb4-k5wvb,"
        " kube-system/csi-block-node-52bfn, kube-system/kube-proxy-trmb5 and 1 more"
    )
    for namespace, name in (("shop", "web-wkmm8tk5p-m7lqd"), ("kube-system", "net-agent-f7j29")):
        assert _first_words(_looked_at(namespace, name, *source)["verdict"]["text"]) in {"safe", "it stops nothing"}


def test_F1_replacement_of_terminating_pod_stays_open(tmp_path: Path) -> None:
    """A rollout or a smaller number of replicas may have deleted it."""
    objects, name = demo_objects(), "checkout-mv9cgvs6p-m2n4z"
    deleted = {"deletionTimestamp": "2026-10-17T03:11:20Z", "deletionGracePeriodSeconds": 30}
    find(objects, f"Pod/{name}")["metadata"] |= deleted
    page = said("delete", f"pod/{name}", "-n", "shop", "--grace-period=0", *_on(tmp_path, objects))
    assert "ReplicaSet checkout-mv9cgvs6p may start a replacement" in page


def _partitions() -> list[dict[str, Any]]:
    pods: list[dict[str, Any]] = data("partitions", "--demo")["nodes"][0]["pods"]
    return pods


def _on(folder: Path, objects: Sequence[Any]) -> tuple[str, str]:
    return "--snapshot", write_list(folder / "cluster.json", objects)


def _virtual(objects: Sequence[Any]) -> None:
    """``db-0`` is on a virtual kubelet."""
    taint = {"key": "virtual-kubelet.io/provider", "value": "x", "effect": "NoSchedule"}
    find(objects, "Node/node-b2")["spec"]["taints"] = [taint]


def _replaced(objects: Sequence[Any]) -> None:
    """``db-0`` belongs to a ReplicaSet: its volume decides, because nothing keeps a second writer off."""
    find(objects, "Pod/db-0")["metadata"]["ownerReferences"][0] |= {"kind": "ReplicaSet", "name": "db-7"}


def _ended(objects: Sequence[Any]) -> None:
    """All containers of ``db-0`` have ended, and its phase does not say so yet."""
    for status in find(objects, "Pod/db-0")["status"]["containerStatuses"]:
        status["state"] = {"terminated": {"exitCode": 1, "reason": "Error"}}


CASES: Final[Mapping[str, Any]] = {
    "node of a virtual kubelet": (_virtual, "Unknown", "not known to be safe: its node is a virtual kubelet: "),
    "volume": (_replaced, "NotSafe", "not safe: two may run (ReplicaSet db-7) both would write to volume data"),
    "idle": (_ended, "Safe", "safe: no container of it runs now; StatefulSet db may make another"),
}


@pytest.mark.parametrize(("change", "safety", "section"), CASES.values(), ids=CASES)
def test_F1_commands_agree_on_cases_outside_the_demo(change: Any, safety: str, section: str, tmp_path: Path) -> None:
    change(objects := demo_objects())
    source = _on(tmp_path, objects)
    report = _looked_at("shop", "db-0", *source)
    assert report["stakes"]["safety"] == safety
    assert json.loads(_explained("shop", "db-0", *source, "-o", "json"))["forceSafety"] == safety
    shown = _force_section(_explained("shop", "db-0", *source))
    assert shown.startswith(section)
    assert _first_words(shown) == _first_words(report["verdict"]["text"])


def test_F1_volumes_that_were_not_read_are_not_mentioned(tmp_path: Path) -> None:
    """A list reads no claims: pods that depend on them stay open, the others are judged."""
    _replaced(objects := demo_objects())
    listed = data("explain", "pods", "-n", "shop", *_on(tmp_path, objects))["items"]
    safety = {entry["name"]: entry["forceSafety"] for entry in listed}
    assert (safety["db-0"], safety["db-1"], safety["price-feed"]) == (None, "NotSafeYet", "NoPromiseBroken")
