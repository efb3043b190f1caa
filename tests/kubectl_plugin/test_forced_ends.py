"""Pods that were deleted by force or replaced: claims that `died` must not make."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import pytest

from tests.kubectl_plugin.answers import check_texts
from tests.kubectl_plugin.answers import said as output
from tests.kubectl_plugin.ends import (
    EDGE,
    GONE,
    NODE,
    OTHER,
    SET,
    SILENT,
    UNKNOWN,
    Case,
    Object,
    at,
    captured,
    died,
    edge,
    going,
    marked,
    of_container,
    post_pod,
    seen,
    stop_of,
)
from tests.objects import raw_condition, raw_object


def owner(of: str) -> Object:
    """The controller ``Kind/name`` of one pod."""
    kind, _, name = of.partition("/")
    labels = {"app": name}
    selector = labels if kind == "ReplicationController" else {"matchLabels": labels}
    return raw_object(kind, name, "post", metadata={"uid": f"o-{name}"}, spec={"replicas": 1, "selector": selector})


def successor(name: str, of: str, made: float = -100, **more: Any) -> Object:
    references = post_pod("any", of)["metadata"]["ownerReferences"]
    metadata = {"uid": f"new-{name}", "labels": {"app": of.partition("/")[2]}, "ownerReferences": references}
    return post_pod(name, of, made=made, metadata=metadata, **more)


def ran_before(name: str, since: float = -3000) -> list[Object]:
    bound = f"Successfully assigned post/{name} to {NODE}"
    started = of_container(name, "Started", "Started container app", since + 2)
    return [seen(f"Pod/{name}", "Scheduled", bound, since, "default-scheduler"), started]


PENDING: Final = {"phase": "Pending"}
MAILS: Final = owner(SET)
RAN: Final = ran_before(GONE)
STOP: Final = stop_of(GONE, -60)
NEW: Final = "mail-55d-k9x2p"


def allowed(name: str, when: float = -100) -> Object:
    risk = "volume data (claim data-db-0, NFS)"
    text = f"A force deletion by jane@example.com was allowed (mode warn): {name} on {NODE}; {risk}"
    related = {"kind": "Node", "name": NODE}
    return seen(f"Pod/{name}", "ForceDeletionAllowed", text, when, "kubectl-qos.io/webhook", related=related)


NO_STOP: Final = f"No event shows that its kubelet stopped it: its processes may still run on {NODE}."
NO_ANSWER: Final = f"{NODE} is silent, and n{NO_STOP[1:]}"
FORCED: Final = "User jane@example.com force deleted the pod"
OPEN: Final = "The remaining evidence does not show what ended it."


@pytest.mark.parametrize("owner_is_there", [True, False])
@pytest.mark.parametrize(
    ("of", "gone", "new"),
    [
        (SET, GONE, NEW),
        ("ReplicaSet/mail-55d-with-a-name-that-is-cut", "mail-55d-with-a-name-bcdfg", "mail-55d-with-a-name-k9x2p"),
        ("StatefulSet/db", "db-1", "db-1"),
        ("DaemonSet/log", "log-bcdfg", "log-k9x2p"),
        ("Job/import", "import-bcdfg", "import-k9x2p"),
        ("Job/import", "import-3-bcdfg", "import-3-k9x2p"),
        ("ReplicationController/old", "old-bcdfg", "old-k9x2p"),
    ],
)
def test_younger_pod_is_a_possible_replacement(
    of: str, gone: str, new: str, tmp_path: Path, *, owner_is_there: bool
) -> None:
    """No event shows when the pod ended."""
    own = [owner(of)] if owner_is_there else []
    page = died(tmp_path, EDGE, *own, successor(new, of, status=PENDING), *ran_before(gone), name=gone)
    perhaps = f"perhaps replaced by {new} on edge-3: Pending, not Ready, created 100 s ago: unknown, because no event"
    replaced = "replacement db-1 on edge-3: Pending, not Ready, created 100 s ago"
    has = (replaced, "what ended the pod before this one.") if gone == new else perhaps
    check_texts(page, has, "no replacement was found")


@pytest.mark.parametrize(
    ("of", "gone", "other", "more"),
    [
        (SET, GONE, "mail-66e-k9x2p", {}),
        ("StatefulSet/db", "db-1", "db-2", {}),
        ("DaemonSet/log", "log-bcdfg", "log-k9x2p", {"nodeName": "edge-4"}),
        ("Job/import", "import-3-bcdfg", "import-4-k9x2p", {}),
        (SET, GONE, NEW, {"made": -3000}),
        (SET, GONE, NEW, {"status": {"phase": "Failed"}}),
    ],
)
def test_unrelated_pods_are_no_replacement(of: str, gone: str, other: str, more: Any, tmp_path: Path) -> None:
    page = died(tmp_path, EDGE, owner(of), successor(other, of, **more), *ran_before(gone), name=gone)
    assert f"{of.replace('/', ' ')}: no replacement was found" in page


@pytest.mark.parametrize(
    ("lost", "own", "fenced"),
    [
        pytest.param(-230, None, True, id="by default 70 s were left"),
        pytest.param(-500, None, False, id="the default was over"),
        pytest.param(-230, 30, False, id="its own time was over"),
        pytest.param(-500, 600, True, id="its own time was not over"),
        pytest.param(None, None, False, id="when the node was lost is not known"),
    ],
)
def test_fence_deletes_pods_before_toleration_ends(
    lost: float | None, own: int | None, fenced: bool, tmp_path: Path
) -> None:
    unreachable = {"key": "node.kubernetes.io/unreachable", "effect": "NoExecute"}
    added = {} if lost is None else {"timeAdded": at(lost)}
    out = {"key": "node.kubernetes.io/out-of-service", "value": "nodeshutdown", "effect": "NoExecute"}
    lost_node = seen(f"Pod/{GONE}", "NodeNotReady", "Node is not ready", -230, "node-controller")
    evidence = [edge(UNKNOWN, taints=[unreachable | added, out]), MAILS, lost_node, marked(GONE, -100), *RAN]
    if own is not None:
        stays = [{"key": unreachable["key"], "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": own}]
        target = raw_condition("DisruptionTarget", reason="DeletionByTaintManager", lastTransitionTime=at(-100))
        status = {"conditions": [target]}
        evidence.append(post_pod(GONE, metadata=going(-70, 30), tolerations=stays, status=status))
    page = died(tmp_path, *evidence, name=GONE)
    words = ["node.kubernetes.io/unreachable:NoExecute", "node.kubernetes.io/out-of-service=nodeshutdown:NoExecute"]
    assert f"a taint of its node: {', '.join(words[::-1] if fenced else words)}. " in page
    assert ("(a fence) deletes pods at once" in page) is fenced
    assert ("Kubernetes deletes pods there once their tolerationSeconds are over" in page) is not fenced


def test_webhook_names_user_of_force_deletion(tmp_path: Path) -> None:
    new = successor("db-7", "StatefulSet/db", made=-99, status=PENDING)
    page = died(tmp_path, EDGE, owner("StatefulSet/db"), new, allowed("db-7"), name="db-7")
    check_texts(
        page,
        (
            f"{FORCED}. At 11:58:20 UTC",
            "Likely, not certain: also possible: deleted.",
            "volume data (claim data-db-0, NFS)",
            f"on {NODE}: crictl pods --name db-7 --namespace post --state ready lists it as long as it runs",
            "replacement db-7",
            f"kubectl qos node {NODE}",
        ),
    )
    assert f"{NO_STOP} Likely, not certain" in page.partition("Proof")[0]


@pytest.mark.parametrize("of", [SET, "DaemonSet/log"])
def test_silent_kubelet_did_not_stop_deleted_pod(of: str, tmp_path: Path) -> None:
    gone = f"{of.partition('/')[2]}-bcdfg"
    others = owner(of), OTHER, *ran_before(gone)
    forced = f"A client force deleted the pod. {NO_ANSWER} Likely, not certain: also possible: deleted."
    assert forced in captured(tmp_path, SILENT, *others, name=gone)
    fenced = edge(UNKNOWN, taints=[{"key": "node.kubernetes.io/out-of-service", "effect": "NoExecute"}])
    page = captured(tmp_path, fenced, *others, name=gone)
    assert "A client deleted the pod; unknown whether with or without grace." in page
    assert OPEN in died(tmp_path, SILENT, *others, name=gone)


@pytest.mark.parametrize(
    ("gone", "objects"),
    [
        pytest.param(GONE, [EDGE, MAILS], id="its node answers"),
        pytest.param("import-bcdfg", [SILENT, owner("Job/import")], id="it may have completed"),
        pytest.param("bare", [SILENT], id="nothing restarts it"),
        pytest.param("import-bcdfg", [EDGE, owner("Job/import")], id="it was completed, or its node answers"),
        pytest.param("bare", [EDGE], id="nothing restarts it, and its node answers"),
        pytest.param(GONE, [MAILS], id="its node is not known"),
    ],
)
def test_pod_without_a_stop_may_have_ended_by_itself(gone: str, objects: list[Object], tmp_path: Path) -> None:
    page = captured(tmp_path, *objects, OTHER, *ran_before(gone), name=gone)
    silent, controlled = SILENT in objects, gone == GONE
    known = NO_STOP if EDGE in objects else f"The Node object of {NODE} is gone, and n{NO_STOP[1:]}"
    webhook = "who deleted the pod, and whether the webhook warned of force"
    check_texts(page, (f"{OPEN} {NO_ANSWER if silent else known}", webhook), "force deleted")
    assert (f"on {NODE}: crictl pods --name {gone} --namespace post --state ready" in page) is not silent
    table = output("died", "-n", "post", "--snapshot", str(tmp_path / "c.qos"))
    unseen = f"No event shows that the kubelet stopped {gone} on {NODE}"
    assert (f"{unseen}, which is silent: it may still run." in table) is silent
    assert (f"{unseen}: it may still run." in table) is (controlled and not silent)
    assert ("Nothing has ended" in table) is (not silent and not controlled)
    assert ("unknown unknown" in table) is ("Nothing has ended" not in table)


OF_SET: Final = "StatefulSet db removed the pod, for a rollout or because it was scaled down."


def test_stateful_set_deletes_what_garbage_collection_ended(tmp_path: Path) -> None:
    """The Node object was deleted, not the machine: the pod is set to Failed, and its controller creates another."""
    text = "delete Pod db-7 in StatefulSet db successful"
    removed = seen("StatefulSet/db", "SuccessfulDelete", text, -100, "statefulset-controller")
    new = successor("db-7", "StatefulSet/db", made=-99, nodeName="edge-4")
    known = [owner("StatefulSet/db"), new, *ran_before("db-7"), removed]
    page = captured(tmp_path, edge(name="edge-4"), *known, name="db-7")
    lead = (
        "Another pod has this name now; this is about the one before it.",
        "Garbage collection removed the pod: its Node object is gone.",
        f"The Node object of {NODE} is gone, and n{NO_STOP[1:]} Likely, not certain: also possible: its controller, ",
    )
    check_texts(page.partition("Proof")[0], lead)
    check_texts(page, f"on {NODE}: crictl pods --name db-7", ("for a rollout", f"kubectl qos node {NODE}"))
    listed = output("died", f"node/{NODE}", "--snapshot", str(tmp_path / "c.qos"))
    assert f"No event shows that the kubelet stopped db-7 on {NODE}: it may still run." in listed
    # Its kubelet stopped it, or its node exists: no garbage collection.
    assert OF_SET in captured(tmp_path, edge(name="edge-4"), *known, stop_of("db-7", -99), name="db-7")
    assert OF_SET in captured(tmp_path, EDGE, *known, name="db-7")
    # The Node was created again since.
    page = captured(tmp_path, edge(made=-90), *known, name="db-7")
    check_texts(page, ("Either garbage collection removed the pod", NO_STOP))


@pytest.mark.parametrize(
    ("nodes", "lost"),
    [([], f"The Node object of {NODE} is gone"), ([SILENT], f"{NODE} is silent")],
    ids=["gone", "silent"],
)
def test_pod_on_lost_node_may_still_run(nodes: list[Object], lost: str, tmp_path: Path) -> None:
    page = captured(tmp_path, *nodes, post_pod("db-7", "StatefulSet/db"), *ran_before("db-7"), name="db-7")
    runs = f"{lost}: unknown whether its processes still run there. Its object shows no end."
    check_texts(page, runs, "Neither the pod nor a container has ended")


@pytest.mark.parametrize(
    ("generation", "spec", "conditions", "left"),
    [
        pytest.param(1, {}, (), "", id="never changed"),
        pytest.param(1, {"completionMode": "Indexed"}, (), "few", id="two pods of an index"),
        pytest.param(3, {}, (("Suspended", "False", -8000),), "few", id="resumed before"),
        pytest.param(3, {}, (("Suspended", "False", -100),), "few ended", id="resumed since"),
        pytest.param(2, {"suspend": True}, (), "few ended", id="suspended"),
        pytest.param(1, {}, (("Complete", "True", -90),), "few ended", id="complete"),
    ],
)
def test_unfinished_job_did_not_remove_pod_at_its_end(
    generation: int, spec: Object, conditions: Sequence[tuple[str, str, float]], left: str, tmp_path: Path
) -> None:
    job, pod = owner("Job/import"), "import-bcdfg"
    written = [raw_condition(kind, status, lastTransitionTime=at(when)) for kind, status, when in conditions]
    meta = {**job["metadata"], "generation": generation, "creationTimestamp": at(-9000)}
    job = {**job, "metadata": meta, "spec": {"parallelism": 1, **spec}, "status": {"conditions": written}}
    events = [*ran_before(pod), stop_of(pod, -30)]
    lead = captured(tmp_path, EDGE, job, OTHER, *events, name=pod).partition("Proof")[0]
    assert ("controller" in lead) is ("few" in left)
    assert ("Job ended" in lead) is ("ended" in left)
    leaving = post_pod(pod, "Job/import", metadata=going(-1, 30, labels={"app": "import"}))
    page = captured(tmp_path, EDGE, job, leaving, *events, name=pod)
    assert ("Job import removed the pod" in page) is bool(left)
    assert ("Job had ended" in page) is ("ended" in left)


def test_force_deletion_of_stopping_pod_is_not_only_cause(tmp_path: Path) -> None:
    evidence = [*ran_before("bare-one"), stop_of("bare-one", -400), allowed("bare-one")]
    page = died(tmp_path, EDGE, OTHER, *evidence, name="bare-one")
    assert "The kubelet stopped the pod" in page.partition("Proof")[0]


KEPT: Final = post_pod(
    "kept",
    "",
    metadata=going(-99, 0, finalizers=["example.com/keeps"]),
    status={"containerStatuses": [{"name": "app", "state": {"running": {"startedAt": at(-900)}}}]},
)
UNPULLED: Final = {
    "phase": "Pending",
    "containerStatuses": [{"name": "app", "restartCount": 4, "state": {"waiting": {"reason": "ImagePullBackOff"}}}],
}
LATE: Final = [EDGE, MAILS, successor(NEW, SET, made=-500), *RAN, STOP]
SCALED: Final = [EDGE, MAILS, *RAN, STOP, seen(SET, "SuccessfulDelete", f"Deleted pod: {GONE}", -62, "rs")]
CASES: Final[Mapping[str, Case]] = {
    "a late kubelet does not rule out a replacement": Case(LATE, f"perhaps replaced by {NEW}", name=GONE),
    "a taint's event shows when it was deleted": Case(
        [*LATE, marked(GONE, -505)], f"replacement {NEW} on edge-3", name=GONE
    ),
    # It deletes surplus pods, as in a rollout; a pod that it creates later belongs to another replica count.
    **{
        f"a pod that was scaled down has no replacement, made at {made}": Case(
            [*SCALED, successor(NEW, SET, made=made)],
            "not replaced: ReplicaSet mail-55d wanted fewer pods",
            ("replacement", "replaced by"),
            GONE,
        )
        for made in (-500, -30)
    },
    "why the replacement is pending": Case(
        [EDGE, MAILS, successor(NEW, SET, made=-50, status=UNPULLED), STOP, *RAN],
        (
            f"replacement {NEW} on edge-3: ImagePullBackOff, not Ready, created",
            f"kubectl qos explain pod/{NEW} -n post",
        ),
        name=GONE,
    ),
    "a capture without pods leaves the replacement open": Case(
        [EDGE, MAILS, *RAN, STOP], "ReplicaSet mail-55d: unknown whether it made a replacement", name=GONE
    ),
    "the kubelet stopped a force deleted pod": Case(
        [EDGE, successor("db-7", "StatefulSet/db", made=-99, status=PENDING), allowed("db-7"), stop_of("db-7", -97)],
        (FORCED, f"the kubelet of {NODE} began to stop its containers at"),
        ("may still run", "crictl"),
        "db-7",
    ),
    "force deleted on a silent node": Case([SILENT, OTHER, allowed("bare")], NO_ANSWER, "crictl", "bare"),
    "force deleted after a taint": Case(
        [EDGE, OTHER, marked("bare-one", -300), allowed("bare-one")],
        (FORCED, "also possible: deleted by a taint, deleted"),
        name="bare-one",
    ),
    # The webhook's event precedes the deletion.
    "a force deletion that was refused ended nothing": Case(
        [EDGE, post_pod(GONE), allowed(GONE)], "Neither the pod nor a container has ended.", name=GONE
    ),
    "a finalizer keeps a force deleted pod": Case([EDGE, KEPT, allowed("kept")], FORCED, name="kept"),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_page_claims_no_other_deletion(case: Case, tmp_path: Path) -> None:
    check_texts(died(tmp_path, *case.objects, name=case.name), case.has, case.lacks)
