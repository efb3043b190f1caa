"""Pods that a PodDisruptionBudget protects from eviction: whether waiting helps, and the remedy."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import pytest

from podrules.workload.budget_risk import BudgetRisk
from tests.kubectl_plugin.answers import check_texts, data, said, write_list
from tests.kubectl_plugin.running import Ran, run, write_cluster
from tests.kubectl_plugin.test_field_cases import FIELD
from tests.objects import raw_condition, raw_node, raw_object, raw_owner, raw_pod, raw_workload

Json = dict[str, Any]
POLICY: Final = "unhealthyPodEvictionPolicy AlwaysAllow lets them be evicted, and also pods that are only starting"
TIME: Final = "2026-06-07T10:00:00Z"


def first_lines(ran: Ran) -> str:
    return " ".join(" ".join(ran.out.splitlines()[:12]).split())


@pytest.mark.parametrize("words", [("place", "--drain", "worker-1"), ("node", "worker-1")])
def test_field_crashing_pods_that_block_a_drain(words: tuple[str, ...]) -> None:
    page = first_lines(run(*words, "--snapshot", str(FIELD / "Q-pdb.json")))
    assert "rain does not end: 1 pod is held by a PodDisruptionBudget." in page
    assert "prod/web-1-a: The disruption budget web needs 2 healthy pods and has 1 currently." in page
    assert f"Pods that are not Ready are held too: {POLICY}." in page


def test_field_report_and_page_of_the_pod() -> None:
    snapshot = ("--snapshot", str(FIELD / "Q-pdb.json"))
    assert f"prod/web: pods that are not Ready are held too: {POLICY}." in said("report", "-A", *snapshot)
    page = first_lines(run("explain", "pod/web-1-a", "-n", "prod", *snapshot))
    assert "A drain of its node does not end: The disruption budget web needs 2 healthy pods and has 1" in page
    assert POLICY in page


def worker(name: str, *, cordoned: bool = False, silent: bool = False) -> Json:
    ready = raw_condition("Ready", "Unknown" if silent else "True", lastTransitionTime=TIME if silent else None)
    return raw_node(name, conditions=[ready], allocatable={"cpu": "8", "pods": "50"}, unschedulable=cordoned)


N0: Final = worker("n0", cordoned=True)
N1: Final = worker("n1")


def mail(number: int, name: str = "mail", *, ready: bool = True, status: Json | None = None, **more: Any) -> Json:
    """A pod of mail, or of another workload that no budget selects."""
    owner = more.pop("owner", raw_owner("ReplicaSet", "mail-6f", uid="rs"))
    meta = {"creationTimestamp": TIME, "ownerReferences": [owner] if owner else None, **more}
    status = status or {"phase": "Running", "conditions": [raw_condition("Ready", str(ready))]}
    labels = more.get("labels", {"app": "mail"} if name == "mail" else {})
    where, uid = f"n{number % 2}", f"{name}{number}"
    return raw_pod(f"{name}-{number}", "post", uid=uid, labels=labels, metadata=meta, status=status, nodeName=where)


SELECTOR: Final = {"matchLabels": {"app": "mail"}}


def budget(name: str = "mail", *, policy: str | None = None, reason: str = "InsufficientPods", **status: int) -> Json:
    allowed = raw_condition("DisruptionAllowed", "False", reason=reason, message="no scale")
    return raw_object(
        "PodDisruptionBudget",
        name,
        "post",
        metadata={"generation": 4},
        spec={"minAvailable": 2, "selector": SELECTOR, "unhealthyPodEvictionPolicy": policy},
        status={"observedGeneration": 4, "disruptionsAllowed": 0, "conditions": [allowed], **status},
    )


def needs_all(name: str = "mail", pods: int = 3, healthy: int = 3, **setting: Any) -> Json:
    made = budget(name, currentHealthy=healthy, desiredHealthy=pods, expectedPods=pods)
    return made | {"spec": {"selector": SELECTOR, **setting}}


THREE: Final = [mail(0), mail(1), mail(2)]
CRASHING: Final = [mail(0, ready=False), mail(1), mail(2)]
NEEDS_ALL: Final = needs_all(minAvailable=3)
PLACE: Final = ("place", "--drain", "n0")
NODE: Final = ("node", "n0")
REPORT: Final = ("report", "-A")
BUDGET: Final = ("explain", "pdb/mail", "-n", "post")
POD: Final = ("explain", "pod/mail-0", "-n", "post")
FORCE: Final = ("delete", "pod/mail-0", "-n", "post", "--grace-period=0")
ASKED: Final = (PLACE, NODE, REPORT, BUDGET, POD, FORCE)


@pytest.mark.parametrize(
    ("pods", "held", "risk", "words"),
    [
        (THREE, [NEEDS_ALL], "BLOCKS_ALWAYS", "Waiting does not help. Way out: minAvailable 2, or 4 pods (now 3)"),
        (THREE, [budget("a"), budget("b")], "OVERLAPS", "Waiting does not help: let one of them select"),
        (THREE, [budget(reason="SyncFailed")], "UNCOUNTED", "Waiting does not help: give minAvailable as a number"),
        (CRASHING, [budget(currentHealthy=2, desiredHealthy=3, expectedPods=5)], "UNHEALTHY", POLICY),
        (
            THREE,
            [budget(currentHealthy=3, desiredHealthy=3, expectedPods=5)],
            "BLOCKS_NOW",
            "more of its pods have to be Ready first: ",
        ),
        (
            THREE,
            [budget(observedGeneration=3)],
            "NOT_OBSERVED",
            "wait until the disruption controller has seen its newest spec",
        ),
    ],
)
def test_remedy_by_budget(pods: Sequence[Json], held: Sequence[Json], risk: str, words: str, tmp_path: Path) -> None:
    file = write_cluster(tmp_path / "cluster.json", [N0, N1, *pods, *held])
    for asked in (PLACE, NODE, POD, FORCE):
        assert words.lower() in said(*asked, "--snapshot", file).lower(), asked
    assert data(*PLACE, "--snapshot", file)["unmoved"][0]["hold"] == BudgetRisk[risk].value


@pytest.mark.parametrize(
    ("setting", "way"),
    [
        ({"maxUnavailable": 0}, "maxUnavailable 1"),
        ({"maxUnavailable": "0%"}, "maxUnavailable 1"),
        ({"minAvailable": 3}, "minAvailable 2, or 4 pods (now 3)"),
        ({"minAvailable": "100%"}, "minAvailable 66%, or maxUnavailable 1 in its place"),
        ({"minAvailable": "80%"}, "minAvailable 66%, or maxUnavailable 1 in its place, or 5 pods (now 3)"),
    ],
)
def test_remedy_fits_the_budget(setting: Json, way: str, tmp_path: Path) -> None:
    file = write_cluster(tmp_path / "cluster.json", [N0, N1, *THREE, needs_all(**setting)])
    for words in ASKED:
        assert f"Way out: {way}" in said(*words, "--snapshot", file), words


def test_budget_that_needs_all_while_one_is_not_ready(tmp_path: Path) -> None:
    items = [N1, worker("n0"), *CRASHING, needs_all(healthy=2, maxUnavailable=0)]
    page = said("place", "--drain", "n1", "--snapshot", write_cluster(tmp_path / "cluster.json", items))
    assert "Every pod is needed. Way out: pods that are not Ready first; then maxUnavailable 1." in page


def test_report_of_many_budgets_names_some_remedies(tmp_path: Path) -> None:
    items = [worker("n0")]
    for number in range(6):
        pair = needs_all(f"b{number}", pods=number + 3, minAvailable=number + 3), mail(0)
        items += [{**one, "metadata": {**one["metadata"], "namespace": f"post{number}"}} for one in pair]
    page = said("report", "-A", "--snapshot", write_cluster(tmp_path / "cluster.json", items))
    more = "The same is true for 2 more: kubectl qos explain pdb/NAME -n NAMESPACE."
    check_texts(page, ("post3/b3: every pod is needed.", more), "post4/b4: every pod is needed.")


def test_drain_fails_for_pod_of_two_budgets_and_continues(tmp_path: Path) -> None:
    """A drain retries only after a 429; this refusal is a 500."""
    both = [budget(name, disruptionsAllowed=1, currentHealthy=3, desiredHealthy=2, expectedPods=3) for name in "ab"]
    items = [N0, N1, mail(0), mail(1, "cart"), mail(2, "cart"), *both, worker("n2")]
    source = ("--snapshot", write_cluster(tmp_path / "cluster.json", items))
    one = run(*PLACE, *source)
    assert one.code == 7
    fails = "kubectl drain does not retry 1 pod that PodDisruptionBudgets hold; it evicts the others"
    assert f"The drain fails: {fails}. post/mail-0: This pod has more than one" in first_lines(one)
    page, two = said(*PLACE, *source), said("place", "--drain", "n0,n1", *source)
    assert "post/mail-0 fails the drain: This pod has more" in page
    assert f"The drain fails: {fails}, then continues with the next node." in two
    for text in (page, two):
        check_texts(text, "Besides, ", ("does not end", "The drain ends", "behind"))
    assert "A drain fails: kubectl drain does not retry" in said(*NODE, *source)
    assert "A drain of its node fails: This pod" in said(*POD, *source)
    assert "A drain of n0 fails." in said("explain", "pdb/a", "-n", "post", *source)


def test_drain_that_waits_for_one_pod_and_fails_for_another(tmp_path: Path) -> None:
    """The drain fails after all other pods of the node are gone."""
    waits = mail(2, "cart", labels={"only": "cart"})
    full = needs_all("cart", pods=1, healthy=1, maxUnavailable=0, selector={"matchLabels": {"only": "cart"}})
    items = [N0, N1, mail(0), waits, budget("a"), budget("b"), full]
    page = said("place", "--drain", "n0,n1", "--snapshot", write_cluster(tmp_path / "cluster.json", items))
    held = "The drain does not end: 1 pod is held by a PodDisruptionBudget. Besides, kubectl drain does not retry"
    check_texts(page, (held, "PodDisruptionBudgets hold, and fails.", "n1 waits behind n0"))


@pytest.mark.parametrize("others", [[], [mail(2, "cart")]])
def test_silent_node_comes_before_its_budgets(others: Sequence[Json], tmp_path: Path) -> None:
    """No eviction ends there, so a change of the budget does not help."""
    silent = worker("n0", silent=True)
    silent["spec"]["taints"] = [{"key": "node.kubernetes.io/unreachable", "effect": "NoExecute", "timeAdded": TIME}]
    held = budget(currentHealthy=0, desiredHealthy=2, expectedPods=1)
    ran = run(
        *PLACE,
        "--snapshot",
        write_cluster(tmp_path / "cluster.json", [silent, N1, mail(0, ready=False), *others, held]),
    )
    pods = "1 pod stays" if others else "each pod that is evicted stays"
    first = (
        f"The drain does not end: n0 does not answer, and {pods} Terminating until it does, or is fenced. Besides, 1"
    )
    assert first_lines(ran).startswith(f"on 2 nodes, with n0 drained {first}") or first in first_lines(ran)
    blocks = "post/mail-0 blocks the drain: The disruption budget mail needs 2 healthy pods"
    check_texts(" ".join(ran.out.split()), blocks, "AlwaysAllow")


def test_policy_that_allows_eviction_of_unready_pods(tmp_path: Path) -> None:
    lets = budget(policy="AlwaysAllow", currentHealthy=2, desiredHealthy=3, expectedPods=3)
    file = write_cluster(tmp_path / "cluster.json", [N0, N1, mail(0, ready=False), mail(1), lets])
    assert "PodDisruptionBudget" not in run(*NODE, "--snapshot", file).out
    assert POLICY not in run(*REPORT, "--snapshot", file).out


def test_node_that_takes_pods_is_not_drained(tmp_path: Path) -> None:
    file = write_cluster(tmp_path / "cluster.json", [worker("n0"), *THREE, NEEDS_ALL])
    assert "drain" not in run(*NODE, "--snapshot", file).out
    assert "drain" not in run(*POD, "--snapshot", file).out


@pytest.mark.parametrize(
    ("setting", "helps"),
    [
        ({"minAvailable": 2}, "minAvailable 1, or 3 pods (now 2)."),
        ({"minAvailable": "100%"}, "minAvailable 50%, or maxUnavailable 1 in its place."),
        ({"maxUnavailable": 0}, "maxUnavailable 1."),
    ],
)
def test_remedies_before_an_apply(setting: Json, helps: str, tmp_path: Path) -> None:
    held = raw_object("PodDisruptionBudget", "mail", spec={**setting, "selector": SELECTOR})
    file = write_list(tmp_path / "mail.json", [raw_workload("Deployment", "mail", replicas=2), held])
    assert f"A drain waits for ever. Way out: {helps}" in said("place", "-f", file, "--demo")


def replica_set(replicas: int) -> Json:
    made = raw_workload("ReplicaSet", "mail", "post", replicas=replicas)
    meta = {"name": "mail-6f", "namespace": "post", "uid": "rs", "creationTimestamp": TIME}
    return made | {"metadata": meta, "status": {"replicas": 2}}


@pytest.mark.parametrize(
    ("replicas", "words", "lacks"),
    [(3, "Lets no pod be evicted now: {}. Way out: 2 more healthy", False), (2, "even if all are Ready: {}.", True)],
)
def test_controller_that_lacks_pods_needs_no_lower_budget(
    replicas: int, words: str, lacks: bool, tmp_path: Path
) -> None:
    """A low number of existing pods during an outage is no reason to protect fewer."""
    held = needs_all(pods=2, healthy=1, minAvailable=2)
    items = [worker("n0"), N1, mail(1), mail(2, ready=False), held, replica_set(replicas)]
    file = write_cluster(tmp_path / "cluster.json", items)
    text = said(*BUDGET, "--snapshot", file)
    assert words.format("1 healthy of 2 pods, 2 needed (minAvailable 2)") in text
    assert ("pods that are not Ready first; then minAvailable 1, or 3 pods (now 2)" in text) is lacks
    for asked in (("place", "--drain", "n1"), REPORT):
        helps = said(*asked, "--snapshot", file)
        needed = "every pod is needed. way out: pods that are not ready first; then" in helps.lower()
        assert needed is lacks, asked
        assert "Waiting does not help" not in helps


def test_list_without_the_controller_is_not_certain(tmp_path: Path) -> None:
    items = [N1, mail(1), needs_all(pods=1, healthy=1, minAvailable=1)]
    for more, code in (([], 11), ([replica_set(1)], 0)):
        assert run(*BUDGET, "--snapshot", write_list(tmp_path / "list.json", [*items, *more])).code == code


@pytest.mark.parametrize(
    ("pods", "words"),
    [([mail(1)], "all existing ones are, so"), ([mail(1), mail(2, ready=False)], "(not Ready: post/mail-2).")],
)
def test_pods_that_must_be_ready_first(pods: Sequence[Json], words: str, tmp_path: Path) -> None:
    """Its controller may not have created the others yet, or nothing creates them."""
    nodes = [worker(name, cordoned=name == "n1") for name in ("n0", "n1", "n2")]
    held = budget(currentHealthy=1, desiredHealthy=1, expectedPods=2)
    source = ("--snapshot", write_cluster(tmp_path / "cluster.json", [*nodes, *pods, held]))
    first = "More of its pods have to be Ready first: "
    check_texts(said("place", "--drain", "n1", *source), (first, words))
    # The command does not read the pods of other nodes.
    assert f"{first}check pods that are not Ready or not made yet" in said("node", "n1", *source)
    turns = said("place", "--drain", "n1,n2", "--one-by-one", *source)
    assert "n2 waits behind n1: an upgrade does not continue there before that." in turns


GOING: Final[Json] = {"deletionTimestamp": TIME, "deletionGracePeriodSeconds": 30}


def outage(wanted: int = 3, *, of: str = "StatefulSet", app: str = "mail", known: bool = True) -> list[Json]:
    """A budget of two pods: one runs on n0, one is Terminating on the silent n1; no others are created."""
    owner = raw_owner(of, "mail", uid="mail")
    pods = [mail(1, ready=False, owner=owner, **GOING), mail(0, owner=owner)]
    labels = {"app": app}
    template = {"metadata": {"labels": labels}, "spec": raw_pod()["spec"]}
    spec = {"replicas": wanted, "selector": {"matchLabels": labels}, "template": template}
    maker = raw_object(of, "mail", "post", metadata={"uid": "mail"}, spec=spec)
    held = budget(currentHealthy=1, desiredHealthy=2, expectedPods=2, observedGeneration=4)
    return [N0, worker("n1", silent=True), *pods, held, *([maker] if known else [])]


@pytest.mark.parametrize("of", ["StatefulSet", "ReplicaSet"])
def test_outage_is_not_blamed_on_the_budget(of: str, tmp_path: Path) -> None:
    """Its controller wants more pods than exist, and more than the budget needs."""
    file = write_cluster(tmp_path / "cluster.json", outage(of=of))
    for words in ASKED:
        page = said(*words, "--snapshot", file).lower()
        now = "more of its pods have to be Ready first: check pods that are not Ready or not made yet, and nodes"
        check_texts(
            page,
            now.lower() if words is not BUDGET else (),
            ("every pod is needed", "minavailable 1", "waiting does not help"),
        )
    page = first_lines(run(*BUDGET, "--snapshot", file))
    broken = "! n1 is silent: pod mail-1. 1 of 3 pods is not made yet. Lets no pod be evicted now: 1 healthy of 2"
    check_texts(page, (broken, "Way out: 2 more healthy pods"))


@pytest.mark.parametrize(
    "objects",
    [
        pytest.param(outage(2), id="its controller wants no more than the budget needs"),
        pytest.param(outage(0), id="it is scaled down"),
        pytest.param(outage(app="other"), id="it makes pods that the budget does not select"),
    ],
)
def test_budget_that_needs_all_desired_pods_is_blamed(objects: list[Json], tmp_path: Path) -> None:
    file = write_cluster(tmp_path / "cluster.json", objects)
    for words in ASKED:
        assert "minAvailable 1, or 3 pods (now 2)" in said(*words, "--snapshot", file), words


@pytest.mark.parametrize("words", [PLACE, NODE, BUDGET])
def test_desired_count_of_uncaptured_controller_is_unknown(words: Sequence[str], tmp_path: Path) -> None:
    ran = run(*words, "--snapshot", write_list(tmp_path / "list.json", outage(known=False)))
    assert "statefulsets" in ran.out
    assert ran.code in {7, 11}


def test_drain_does_not_wait_for_unrecreated_pods(tmp_path: Path) -> None:
    alone = [mail(number, owner=None) for number in (0, 2, 4)]
    held = budget(currentHealthy=3, desiredHealthy=2, expectedPods=3, disruptionsAllowed=1)
    file = write_cluster(tmp_path / "cluster.json", [worker("n0"), N1, *alone, held])
    needed = "Every pod is needed. Waiting does not help. Way out: minAvailable 1, or 3 pods (now 2)."
    check_texts(said(*PLACE, "--snapshot", file), needed, "have to be Ready first")


def surplus(going: Json, *, wanted: int = 2, healthy: int = 2) -> list[Json]:
    """Two pods that stay, and one terminating pod that no controller recreates."""
    stay = [mail(0), mail(1, ready=healthy > 1)]
    held = budget(currentHealthy=healthy, desiredHealthy=2, expectedPods=3)
    return [N0, N1, *stay, going, held, replica_set(wanted)]


LEAVES: Final = mail(3, ready=False, **GOING)
LEAVES_N0: Final = mail(2, ready=False, **GOING)
FAILED: Final = mail(2, status={"phase": "Failed", "reason": "Evicted"})


@pytest.mark.parametrize("going", [LEAVES_N0, LEAVES, FAILED])
@pytest.mark.parametrize("healthy", [2, 1])
def test_terminating_pod_does_not_become_ready(going: Json, healthy: int, tmp_path: Path) -> None:
    """The disruption controller expects the pod; after it ends, exactly the needed pods remain."""
    file = write_cluster(tmp_path / "cluster.json", surplus(going, healthy=healthy))
    way = f"{'pods that are not Ready first; then ' if healthy == 1 else ''}minAvailable 1, or 3 pods (now 2)"
    for words in (PLACE, REPORT, BUDGET, POD, FORCE):
        page = said(*words, "--snapshot", file)
        assert f"Way out: {way}" in page, words
        assert f"not Ready: post/{going['metadata']['name']}" not in page, words


@pytest.mark.parametrize(
    ("setting", "way"), [({"maxUnavailable": 0}, "maxUnavailable 1"), ({"minAvailable": "100%"}, "minAvailable 50%")]
)
def test_terminating_pod_is_ignored_for_share_or_zero(setting: Json, way: str, tmp_path: Path) -> None:
    objects = surplus(LEAVES_N0)
    objects[-2] = needs_all(pods=2, healthy=2, **setting)
    file = write_cluster(tmp_path / "cluster.json", objects)
    for words in (PLACE, REPORT, BUDGET):
        assert f"Way out: {way}" in said(*words, "--snapshot", file), words


@pytest.mark.parametrize("wanted", [3, None])
def test_terminating_pod_is_or_may_be_recreated(wanted: int | None, tmp_path: Path) -> None:
    """Its controller wants more pods than exist, or the desired number is unknown."""
    objects = surplus(LEAVES, wanted=wanted or 0)
    file = write_list(tmp_path / "list.json", objects if wanted else objects[:-1])
    for words in (PLACE, BUDGET):
        page = said(*words, "--snapshot", file)
        check_texts(page, (), ("minAvailable 1", "not Ready: post/mail-3"))
        assert "mail-3" not in page.partition("Way out: ")[2].partition(".")[0], words
        assert wanted or run(*words, "--snapshot", file).code in {7, 11}


def test_terminating_pod_with_mixed_owners_is_uncertain(tmp_path: Path) -> None:
    """The StatefulSet recreates the pod of the silent node; the controller of the two others is unknown."""
    fleet = {**raw_owner("Fleet", "mail-6f", uid="rs"), "apiVersion": "fleet.example/v1"}
    n0, silent, gone, _, held, maker = outage(1)
    held["status"] |= {"currentHealthy": 2, "expectedPods": 3}
    others = [mail(2, owner=fleet), mail(4, owner=fleet)]
    file = write_cluster(tmp_path / "cluster.json", [n0, silent, gone, *others, held, maker])
    for words in (PLACE, NODE, REPORT, BUDGET):
        assert "minAvailable 1" not in said(*words, "--snapshot", file), words
