"""Pods that a PodDisruptionBudget protects from eviction: whether waiting helps, and the remedy."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import pytest

from podrules.workload.budget_risk import BudgetRisk
from tests.kubectl_plugin.running import Ran, run, write_cluster
from tests.kubectl_plugin.test_field_cases import FIELD

Json = dict[str, Any]
POLICY: Final = "unhealthyPodEvictionPolicy AlwaysAllow lets them be evicted, and also pods that are only starting"
TIME: Final = "2026-06-07T10:00:00Z"


def flat(ran: Ran) -> str:
    return " ".join(ran.out.split())


def first_lines(ran: Ran) -> str:
    return " ".join(" ".join(ran.out.splitlines()[:12]).split())


@pytest.mark.parametrize("words", [("place", "--drain", "worker-1"), ("node", "worker-1")])
def test_field_crashing_pods_that_block_a_drain(words: tuple[str, ...]) -> None:
    said = first_lines(run(*words, "--snapshot", str(FIELD / "Q-pdb.json")))
    assert "rain does not end: 1 pod is held by a PodDisruptionBudget." in said
    assert "prod/web-1-a: The disruption budget web needs 2 healthy pods and has 1 currently." in said
    assert f"Pods that are not Ready are held too: {POLICY}." in said


def test_field_report_and_page_of_the_pod() -> None:
    snapshot = ("--snapshot", str(FIELD / "Q-pdb.json"))
    assert f"prod/web: pods that are not Ready are held too: {POLICY}." in flat(run("report", "-A", *snapshot))
    page = first_lines(run("explain", "pod/web-1-a", "-n", "prod", *snapshot))
    assert "A drain of its node does not end: The disruption budget web needs 2 healthy pods and has 1" in page
    assert POLICY in page


def node(name: str, *, cordoned: bool) -> Json:
    status = {"conditions": [{"type": "Ready", "status": "True"}], "allocatable": {"cpu": "8", "pods": "50"}}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name},
        "spec": {"unschedulable": cordoned},
        "status": status,
    }


def pod(number: int, *, ready: bool = True) -> Json:
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "mail-6f", "uid": "rs", "controller": True}
    meta = {"name": f"mail-{number}", "namespace": "post", "uid": f"u{number}", "labels": {"app": "mail"}}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {**meta, "creationTimestamp": TIME, "ownerReferences": [owner]},
        "spec": {"nodeName": f"n{number % 2}", "containers": [{"name": "app", "image": "mail:1"}]},
        "status": {"phase": "Running", "conditions": [{"type": "Ready", "status": str(ready)}]},
    }


def budget(name: str = "mail", *, policy: str | None = None, reason: str = "InsufficientPods", **status: int) -> Json:
    allowed = {"type": "DisruptionAllowed", "status": "False", "reason": reason, "message": "no scale"}
    meta = {"name": name, "namespace": "post", "generation": 4}
    spec = {"minAvailable": 2, "selector": {"matchLabels": {"app": "mail"}}}
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": meta,
        "spec": {**spec, **({"unhealthyPodEvictionPolicy": policy} if policy else {})},
        "status": {"observedGeneration": 4, "disruptionsAllowed": 0, "conditions": [allowed], **status},
    }


def needs_all(name: str = "mail", pods: int = 3, healthy: int = 3, **setting: int | str) -> Json:
    made = budget(name, currentHealthy=healthy, desiredHealthy=pods, expectedPods=pods)
    return made | {"spec": {**setting, "selector": {"matchLabels": {"app": "mail"}}}}


THREE: Final = [pod(0), pod(1), pod(2)]
CRASHING: Final = [pod(0, ready=False), pod(1), pod(2)]
NEEDS_ALL: Final = needs_all(minAvailable=3)


@pytest.mark.parametrize(
    ("pods", "budgets", "risk", "said"),
    [
        (
            THREE,
            [NEEDS_ALL],
            BudgetRisk.BLOCKS_ALWAYS,
            "Waiting does not help. Way out: minAvailable 2, or 4 pods (now 3)",
        ),
        (THREE, [budget("a"), budget("b")], BudgetRisk.OVERLAPS, "Waiting does not help: let one of them select"),
        (
            THREE,
            [budget(reason="SyncFailed")],
            BudgetRisk.UNCOUNTED,
            "Waiting does not help: give minAvailable as a number",
        ),
        (CRASHING, [budget(currentHealthy=2, desiredHealthy=3, expectedPods=5)], BudgetRisk.UNHEALTHY, POLICY),
        (
            THREE,
            [budget(currentHealthy=3, desiredHealthy=3, expectedPods=5)],
            BudgetRisk.BLOCKS_NOW,
            "more of its pods have to be Ready first: ",
        ),
        (
            THREE,
            [budget(observedGeneration=3)],
            BudgetRisk.NOT_OBSERVED,
            "wait until the disruption controller has seen its newest spec",
        ),
    ],
)
def test_remedy_by_budget(
    pods: Sequence[Json], budgets: Sequence[Json], risk: BudgetRisk, said: str, tmp_path: Path
) -> None:
    items = [node("n0", cordoned=True), node("n1", cordoned=False), *pods, *budgets]
    file = write_cluster(tmp_path / "cluster.json", items)
    for words in (
        ("place", "--drain", "n0"),
        ("node", "n0"),
        ("explain", "pod/mail-0", "-n", "post"),
        ("delete", "pod/mail-0", "-n", "post", "--grace-period=0"),
    ):
        assert said.lower() in flat(run(*words, "--snapshot", file)).lower(), words
    plan = json.loads(run("place", "--drain", "n0", "--snapshot", file, "-o", "json").out)
    assert plan["unmoved"][0]["hold"] == risk.value


@pytest.mark.parametrize(
    ("held", "way"),
    [
        (needs_all(maxUnavailable=0), "Way out: maxUnavailable 1."),
        (needs_all(maxUnavailable="0%"), "Way out: maxUnavailable 1."),
        (needs_all(minAvailable=3), "Way out: minAvailable 2, or 4 pods (now 3)."),
        (needs_all(minAvailable="100%"), "Way out: minAvailable 66%, or maxUnavailable 1 in its place."),
        (
            needs_all(minAvailable="80%"),
            "Way out: minAvailable 66%, or maxUnavailable 1 in its place, or 5 pods (now 3).",
        ),
    ],
)
def test_remedy_fits_the_budget(held: Json, way: str, tmp_path: Path) -> None:
    items = [node("n0", cordoned=True), node("n1", cordoned=False), *THREE, held]
    file = write_cluster(tmp_path / "cluster.json", items)
    for words in (
        ("place", "--drain", "n0"),
        ("node", "n0"),
        ("report", "-A"),
        ("explain", "pod/mail-0", "-n", "post"),
        ("explain", "pdb/mail", "-n", "post"),
        ("delete", "pod/mail-0", "-n", "post", "--grace-period=0"),
    ):
        assert way.removesuffix(".") in flat(run(*words, "--snapshot", file)), words


def test_budget_that_needs_all_while_one_is_not_ready(tmp_path: Path) -> None:
    items = [node("n1", cordoned=False), node("n0", cordoned=False), *CRASHING, needs_all(healthy=2, maxUnavailable=0)]
    file = write_cluster(tmp_path / "cluster.json", items)
    assert "Every pod is needed. Way out: pods that are not Ready first; then maxUnavailable 1." in flat(
        run("place", "--drain", "n1", "--snapshot", file)
    )


def test_report_of_many_budgets_names_some_remedies(tmp_path: Path) -> None:
    budgets = []
    for number in range(6):
        made = needs_all(f"b{number}", pods=number + 3, minAvailable=number + 3)
        made["metadata"]["namespace"] = f"post{number}"
        budgets.append(made)
    pods = [{**pod(0), "metadata": {**pod(0)["metadata"], "namespace": f"post{number}"}} for number in range(6)]
    file = write_cluster(tmp_path / "cluster.json", [node("n0", cordoned=False), *pods, *budgets])
    said = flat(run("report", "-A", "--snapshot", file))
    assert "post3/b3: every pod is needed." in said
    assert "post4/b4: every pod is needed." not in said
    assert "The same is true for 2 more: kubectl qos explain pdb/NAME -n NAMESPACE." in said


def alone(place: int) -> Json:
    """A pod of another workload that no budget selects."""
    made = pod(place)
    return {**made, "metadata": {**made["metadata"], "name": f"cart-{place}", "uid": f"c{place}", "labels": {}}}


def test_drain_fails_for_pod_of_two_budgets_and_continues(tmp_path: Path) -> None:
    """A drain retries only after a 429; this refusal is a 500."""
    both = [budget(name, disruptionsAllowed=1, currentHealthy=3, desiredHealthy=2, expectedPods=3) for name in "ab"]
    items = [node("n0", cordoned=True), node("n1", cordoned=False), pod(0), alone(1), alone(2), *both]
    file = write_cluster(tmp_path / "cluster.json", [*items, node("n2", cordoned=False)])
    one = run("place", "--drain", "n0", "--snapshot", file)
    assert one.code == 7
    fails = "kubectl drain does not retry 1 pod that PodDisruptionBudgets hold; it evicts the others"
    assert f"The drain fails: {fails}. post/mail-0: This pod has more than one" in first_lines(one)
    assert "post/mail-0 fails the drain: This pod has more" in flat(one)
    two = flat(run("place", "--drain", "n0,n1", "--snapshot", file))
    assert f"The drain fails: {fails}, then continues with the next node." in two
    for said in (flat(one), two):
        assert not any(other in said for other in ("does not end", "The drain ends", "behind"))
        assert "Besides, " in said
    assert "A drain fails: kubectl drain does not retry" in flat(run("node", "n0", "--snapshot", file))
    assert "A drain of its node fails: This pod" in flat(run("explain", "pod/mail-0", "-n", "post", "--snapshot", file))
    assert "A drain of n0 fails." in flat(run("explain", "pdb/a", "-n", "post", "--snapshot", file))


def test_drain_that_waits_for_one_pod_and_fails_for_another(tmp_path: Path) -> None:
    """The drain fails after all other pods of the node are gone."""
    waits = {**alone(2), "metadata": {**alone(2)["metadata"], "labels": {"only": "cart"}}}
    full = needs_all("cart", pods=1, healthy=1, maxUnavailable=0)
    full["spec"]["selector"] = {"matchLabels": {"only": "cart"}}
    items = [node("n0", cordoned=True), node("n1", cordoned=False), pod(0), waits, budget("a"), budget("b"), full]
    said = flat(run("place", "--drain", "n0,n1", "--snapshot", write_cluster(tmp_path / "cluster.json", items)))
    assert (
        "The drain does not end: 1 pod is held by a PodDisruptionBudget. Besides, kubectl drain does not retry" in said
    )
    assert "PodDisruptionBudgets hold, and fails." in said
    assert "n1 waits behind n0" in said


@pytest.mark.parametrize("others", [[], [alone(2)]])
def test_silent_node_comes_before_its_budgets(others: Sequence[Json], tmp_path: Path) -> None:
    """No eviction ends there, so a change of the budget does not help."""
    silent = node("n0", cordoned=False)
    silent["status"]["conditions"] = [{"type": "Ready", "status": "Unknown", "lastTransitionTime": TIME}]
    silent["spec"]["taints"] = [{"key": "node.kubernetes.io/unreachable", "effect": "NoExecute", "timeAdded": TIME}]
    held = budget(currentHealthy=0, desiredHealthy=2, expectedPods=1)
    items = [silent, node("n1", cordoned=False), pod(0, ready=False), *others, held]
    said = run("place", "--drain", "n0", "--snapshot", write_cluster(tmp_path / "cluster.json", items))
    pods = "1 pod stays" if others else "each pod that is evicted stays"
    first = (
        f"The drain does not end: n0 does not answer, and {pods} Terminating until it does, or is fenced. Besides, 1"
    )
    assert first_lines(said).startswith(f"on 2 nodes, with n0 drained {first}") or first in first_lines(said)
    assert "AlwaysAllow" not in flat(said)
    assert "post/mail-0 blocks the drain: The disruption budget mail needs 2 healthy pods" in flat(said)


def test_policy_that_allows_eviction_of_unready_pods(tmp_path: Path) -> None:
    lets = budget(policy="AlwaysAllow", currentHealthy=2, desiredHealthy=3, expectedPods=3)
    items = [node("n0", cordoned=True), node("n1", cordoned=False), pod(0, ready=False), pod(1), lets]
    file = write_cluster(tmp_path / "cluster.json", items)
    assert "PodDisruptionBudget" not in run("node", "n0", "--snapshot", file).out
    assert POLICY not in run("report", "-A", "--snapshot", file).out


def test_node_that_takes_pods_is_not_drained(tmp_path: Path) -> None:
    items = [node("n0", cordoned=False), *THREE, NEEDS_ALL]
    file = write_cluster(tmp_path / "cluster.json", items)
    assert "drain" not in run("node", "n0", "--snapshot", file).out
    assert "drain" not in run("explain", "pod/mail-0", "-n", "post", "--snapshot", file).out


@pytest.mark.parametrize(
    ("setting", "helps"),
    [
        ("minAvailable: 2", "Way out: minAvailable 1, or 3 pods (now 2)."),
        ('minAvailable: "100%"', "Way out: minAvailable 50%, or maxUnavailable 1 in its place."),
        ("maxUnavailable: 0", "Way out: maxUnavailable 1."),
    ],
)
def test_remedies_before_an_apply(setting: str, helps: str, tmp_path: Path) -> None:
    file = tmp_path / "mail.yaml"
    file.write_text(
        f"""
apiVersion: apps/v1
kind: Deployment
metadata: {{name: mail}}
spec:
  replicas: 2
  selector: {{matchLabels: {{app: mail}}}}
  template:
    metadata: {{labels: {{app: mail}}}}
    spec: {{containers: [{{name: app, image: mail:1}}]}}
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {{name: mail}}
spec:
  {setting}
  selector: {{matchLabels: {{app: mail}}}}
"""
    )
    assert f"A drain waits for ever. {helps}" in flat(run("place", "-f", str(file), "--demo"))


def replica_set(replicas: int) -> Json:
    template = {"metadata": {"labels": {"app": "mail"}}, "spec": {"containers": [{"name": "app", "image": "mail:1"}]}}
    return {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "metadata": {"name": "mail-6f", "namespace": "post", "uid": "rs", "creationTimestamp": TIME},
        "spec": {"replicas": replicas, "selector": {"matchLabels": {"app": "mail"}}, "template": template},
        "status": {"replicas": 2},
    }


@pytest.mark.parametrize(
    ("replicas", "said", "lacks"),
    [
        (
            3,
            "Lets no pod be evicted now: 1 healthy of 2 pods, 2 needed (minAvailable 2). Way out: 2 more healthy",
            False,
        ),
        (2, "even if all are Ready: 1 healthy of 2 pods, 2 needed (minAvailable 2).", True),
    ],
)
def test_controller_that_lacks_pods_needs_no_lower_budget(
    replicas: int, said: str, lacks: bool, tmp_path: Path
) -> None:
    """A low number of existing pods during an outage is no reason to protect fewer."""
    held = needs_all(pods=2, healthy=1, minAvailable=2)
    items = [node("n0", cordoned=False), node("n1", cordoned=False), pod(1), pod(2, ready=False), held]
    file = write_cluster(tmp_path / "cluster.json", [*items, replica_set(replicas)])
    text = flat(run("explain", "pdb/mail", "-n", "post", "--snapshot", file))
    assert said in text
    assert ("pods that are not Ready first; then minAvailable 1, or 3 pods (now 2)" in text) is lacks
    for words in (("place", "--drain", "n1"), ("report", "-A")):
        helps = flat(run(*words, "--snapshot", file))
        needed = "every pod is needed. way out: pods that are not ready first; then" in helps.lower()
        assert needed is lacks, words
        assert "Waiting does not help" not in helps


def test_list_without_the_controller_is_not_certain(tmp_path: Path) -> None:
    items = [node("n1", cordoned=False), pod(1), needs_all(pods=1, healthy=1, minAvailable=1)]
    file = tmp_path / "list.json"
    for more, code in (([], 11), ([replica_set(1)], 0)):
        file.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": [*items, *more]}))
        assert run("explain", "pdb/mail", "-n", "post", "--snapshot", str(file)).code == code


@pytest.mark.parametrize(
    ("pods", "said"),
    [([pod(1)], "all existing ones are, so"), ([pod(1), pod(2, ready=False)], "(not Ready: post/mail-2).")],
)
def test_pods_that_must_be_ready_first(pods: Sequence[Json], said: str, tmp_path: Path) -> None:
    """Its controller may not have created the others yet, or nothing creates them."""
    held = budget(currentHealthy=1, desiredHealthy=1, expectedPods=2)
    nodes = [node(name, cordoned=name == "n1") for name in ("n0", "n1", "n2")]
    file = write_cluster(tmp_path / "cluster.json", [*nodes, *pods, held])
    first = "More of its pods have to be Ready first: "
    text = flat(run("place", "--drain", "n1", "--snapshot", file))
    assert first in text
    assert said in text
    # The command does not read the pods of other nodes.
    assert f"{first}check pods that are not Ready or not made yet" in flat(run("node", "n1", "--snapshot", file))
    turns = flat(run("place", "--drain", "n1,n2", "--one-by-one", "--snapshot", file))
    assert "n2 waits behind n1: an upgrade does not continue there before that." in turns


def outage(wanted: int = 3, *, of: str = "StatefulSet", labels: Json | None = None, known: bool = True) -> list[Json]:
    """A budget of two pods: one runs on n0, one is Terminating on the silent n1; no others are created."""
    silent = node("n1", cordoned=False)
    silent["status"]["conditions"] = [{"type": "Ready", "status": "Unknown", "lastTransitionTime": TIME}]
    owner = {"apiVersion": "apps/v1", "kind": of, "name": "mail", "uid": "mail", "controller": True}
    pods = [pod(1, ready=False), pod(0)]
    for one in pods:
        one["metadata"]["ownerReferences"] = [owner]
    pods[0]["metadata"] |= {"deletionTimestamp": TIME, "deletionGracePeriodSeconds": 30}
    labels = {"app": "mail"} if labels is None else labels
    maker = {
        "apiVersion": "apps/v1",
        "kind": of,
        "metadata": {"name": "mail", "namespace": "post", "uid": "mail"},
        "spec": {
            "replicas": wanted,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "app", "image": "mail:1"}]}},
        },
    }
    held = budget(currentHealthy=1, desiredHealthy=2, expectedPods=2, observedGeneration=4)
    return [node("n0", cordoned=True), silent, *pods, held, *([maker] if known else [])]


ASKED: Final = (
    ("place", "--drain", "n0"),
    ("node", "n0"),
    ("report", "-A"),
    ("explain", "pdb/mail", "-n", "post"),
    ("explain", "pod/mail-0", "-n", "post"),
    ("delete", "pod/mail-0", "-n", "post", "--grace-period=0"),
)


@pytest.mark.parametrize("of", ["StatefulSet", "ReplicaSet"])
def test_outage_is_not_blamed_on_the_budget(of: str, tmp_path: Path) -> None:
    """Its controller wants more pods than exist, and more than the budget needs."""
    file = write_cluster(tmp_path / "cluster.json", outage(of=of))
    for words in ASKED:
        said = flat(run(*words, "--snapshot", file))
        assert "every pod is needed" not in said.lower(), words
        assert "minAvailable 1" not in said, words
        assert "Waiting does not help" not in said, words
        if words[1] != "pdb/mail":
            now = "more of its pods have to be Ready first: check pods that are not Ready or not made yet, and nodes"
            assert now.lower() in said.lower(), words
    page = first_lines(run("explain", "pdb/mail", "-n", "post", "--snapshot", file))
    broken = "n1 does not answer: pod mail-1. 1 of 3 pods is not made yet. Lets no pod be evicted now: 1 healthy of 2"
    assert broken in page
    assert "Way out: 2 more healthy pods" in page


@pytest.mark.parametrize(
    "objects",
    [
        pytest.param(outage(2), id="its controller wants no more than the budget needs"),
        pytest.param(outage(0), id="it is scaled down"),
        pytest.param(outage(labels={"app": "other"}), id="it makes pods that the budget does not select"),
    ],
)
def test_budget_that_needs_all_desired_pods_is_blamed(objects: list[Json], tmp_path: Path) -> None:
    file = write_cluster(tmp_path / "cluster.json", objects)
    for words in ASKED:
        assert "minAvailable 1, or 3 pods (now 2)" in flat(run(*words, "--snapshot", file)), words


@pytest.mark.parametrize("words", [ASKED[0], ASKED[1], ASKED[3]])
def test_desired_count_of_uncaptured_controller_is_unknown(words: Sequence[str], tmp_path: Path) -> None:
    file = tmp_path / "list.json"
    file.write_text(json.dumps({"kind": "List", "apiVersion": "v1", "items": outage(known=False)}))
    said = run(*words, "--snapshot", str(file))
    assert "statefulsets" in said.out
    assert said.code in {7, 11}


def test_drain_does_not_wait_for_unrecreated_pods(tmp_path: Path) -> None:
    alone = [pod(0), pod(2), pod(4)]
    for one in alone:
        del one["metadata"]["ownerReferences"]
    held = budget(currentHealthy=3, desiredHealthy=2, expectedPods=3, disruptionsAllowed=1)
    items = [node("n0", cordoned=False), node("n1", cordoned=False), *alone, held]
    said = flat(run("place", "--drain", "n0", "--snapshot", write_cluster(tmp_path / "cluster.json", items)))
    assert "Every pod is needed. Waiting does not help. Way out: minAvailable 1, or 3 pods (now 2)." in said
    assert "have to be Ready first" not in said


def surplus(going: Json, *, wanted: int = 2, expected: int = 3, healthy: int = 2) -> list[Json]:
    """Two pods that stay, and one terminating pod that no controller recreates."""
    stay = [pod(0), pod(1, ready=healthy > 1)]
    held = budget(currentHealthy=healthy, desiredHealthy=2, expectedPods=expected)
    return [node("n0", cordoned=True), node("n1", cordoned=False), *stay, going, held, replica_set(wanted)]


def terminating(number: int) -> Json:
    made = pod(number, ready=False)
    made["metadata"] |= {"deletionTimestamp": TIME, "deletionGracePeriodSeconds": 30}
    return made


FAILED: Final = {**pod(2), "status": {"phase": "Failed", "reason": "Evicted"}}


@pytest.mark.parametrize("going", [terminating(2), terminating(3), FAILED])
@pytest.mark.parametrize("healthy", [2, 1])
def test_terminating_pod_does_not_become_ready(going: Json, healthy: int, tmp_path: Path) -> None:
    """The disruption controller expects the pod; after it ends, exactly the needed pods remain."""
    file = write_cluster(tmp_path / "cluster.json", surplus(going, healthy=healthy))
    way = f"{'pods that are not Ready first; then ' if healthy == 1 else ''}minAvailable 1, or 3 pods (now 2)"
    for words in (*ASKED[:1], *ASKED[2:]):
        said = flat(run(*words, "--snapshot", file))
        assert f"Way out: {way}" in said, words
        assert f"not Ready: post/{going['metadata']['name']}" not in said, words


def test_terminating_pod_is_ignored_for_share_or_zero(tmp_path: Path) -> None:
    objects = surplus(terminating(2))
    for setting, way in (({"maxUnavailable": 0}, "maxUnavailable 1"), ({"minAvailable": "100%"}, "minAvailable 50%")):
        objects[-2] = needs_all(pods=2, healthy=2) | {"spec": {**setting, "selector": {"matchLabels": {"app": "mail"}}}}
        file = write_cluster(tmp_path / "cluster.json", objects)
        for words in (("place", "--drain", "n0"), ("report", "-A"), ("explain", "pdb/mail", "-n", "post")):
            assert f"Way out: {way}" in flat(run(*words, "--snapshot", file)), words


@pytest.mark.parametrize("wanted", [3, None])
def test_terminating_pod_is_or_may_be_recreated(wanted: int | None, tmp_path: Path) -> None:
    """Its controller wants more pods than exist, or the desired number is unknown."""
    objects = surplus(terminating(3), wanted=wanted or 0)
    file = tmp_path / "list.json"
    objects = objects if wanted else objects[:-1]
    file.write_text(json.dumps({"kind": "List", "apiVersion": "v1", "items": objects}))
    for words in (("place", "--drain", "n0"), ("explain", "pdb/mail", "-n", "post")):
        ran = run(*words, "--snapshot", str(file))
        said = flat(ran)
        assert "minAvailable 1" not in said, words
        assert "mail-3" not in said.partition("Way out: ")[2].partition(".")[0], words
        assert "not Ready: post/mail-3" not in said, words
        assert ran.code in {7, 11} if wanted is None else True


def test_terminating_pod_with_mixed_owners_is_uncertain(tmp_path: Path) -> None:
    """The StatefulSet recreates the pod of the silent node; the controller of the two others is unknown."""
    others = [pod(2), pod(4)]
    for one in others:
        one["metadata"]["ownerReferences"][0] |= {"kind": "Fleet", "apiVersion": "fleet.example/v1"}
    n0, silent, gone, _, held, maker = outage(1)
    held["status"] |= {"currentHealthy": 2, "expectedPods": 3}
    file = write_cluster(tmp_path / "cluster.json", [n0, silent, gone, *others, held, maker])
    for words in ASKED[:4]:
        assert "minAvailable 1" not in flat(run(*words, "--snapshot", file)), words
