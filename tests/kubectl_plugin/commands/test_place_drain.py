"""Whether a drain of one or several nodes ends, and where their pods are placed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

import pytest

from tests.kubectl_plugin.running import Ran, run, write_cluster
from tests.objects import raw_condition, raw_node, raw_object, raw_owner, raw_pod

Json = dict[str, Any]
HOST: Final = "kubernetes.io/hostname"
READY: Final = {"phase": "Running", "conditions": [raw_condition("Ready")]}


def node(name: str, cpu: str = "4") -> Any:
    has = {"cpu": cpu, "memory": "64Gi", "pods": "110"}
    return raw_node(name, {HOST: name}, allocatable=has, conditions=[raw_condition("Ready")])


def pod(name: str, on: str, cpu: str = "1", kind: str = "ReplicaSet", **spec: Any) -> Any:
    app = name.rpartition("-")[0] or name
    meta = {"uid": f"uid-{name}", "labels": {"app": app}, "ownerReferences": [raw_owner(kind, app, app)]}
    return raw_pod(name, "shop", requests={"cpu": cpu}, nodeName=on, metadata=meta, status=READY, **spec)


def budget(app: str, allowed: int, pods: int) -> Any:
    status = {"currentHealthy": pods, "desiredHealthy": pods - allowed, "expectedPods": pods}
    spec = {"maxUnavailable": allowed, "selector": {"matchLabels": {"app": app}}}
    status = {"observedGeneration": 1, "disruptionsAllowed": allowed, **status}
    return raw_object("PodDisruptionBudget", app, "shop", metadata={"generation": 1}, spec=spec, status=status)


class Drained:
    """The answer of ``place --drain`` on a cluster."""

    def __init__(self, tmp_path: Path, words: str, *objects: Any) -> None:
        self._file = write_cluster(tmp_path / "cluster.json", list(objects))
        self._words = ("place", *words.split(), "--snapshot", self._file)
        self.ran: Ran = run(*self._words)
        self.said = " ".join(self.ran.out.split())

    @property
    def plan(self) -> Any:
        return json.loads(run(*self._words, "-o", "json").out)

    @property
    def nodes(self) -> dict[str, list[str]]:
        return {spec["name"].removeprefix("pod/"): list(spec["nodes"]) for spec in self.plan["specs"]}


TOP = pod("top-0", "a", priority=9)
LOW = pod("low-0", "b", priority=1)
MANY = [pod(f"w-{number}", "a") for number in range(4)]
VERDICTS: Final[dict[str, tuple[int, list[Any]]]] = {
    "with a drained The drain ends; both pods find a place: 2 on b.": (
        0,
        [node("b"), pod("web-1", "a"), pod("web-2", "a")],
    ),
    "ends; 3 of 4 pods find no place: pod/w-1, pod/w-2 and pod/w-3. pod/w-1, pod/w-2 and pod/w-3 stay pending.": (
        7,
        [node("b", "1"), *MANY],
    ),
    "The drain ends; 2 of 2 pods find no place. ": (7, [node("b", "0"), pod("mail-0", "a", "2"), pod("web-1", "a")]),
    "The drain ends; pod/api-0 finds a place on b.": (0, [node("b"), pod("api-0", "a")]),
    "The drain ends; pod/api-0 finds no place. pod/api-0 stays": (7, [node("b", "0"), pod("api-0", "a")]),
    "The drain ends; no pod of a is recreated elsewhere.": (0, [node("b"), pod("agent-0", "a", kind="DaemonSet")]),
    "The drain ends; pod/top-0 finds a place on b, if 1 pod is preempted. The scheduler preempts shop/low-0": (
        0,
        [node("b", "1"), LOW, TOP],
    ),
    "The drain ends; 1 of 2 pods finds no place: pod/x-0. pod/x-0 stays pending.": (
        7,
        [node("b", "2"), LOW, TOP, pod("x-0", "a")],
    ),
}


@pytest.mark.parametrize("said", VERDICTS)
def test_verdict_leads(said: str, tmp_path: Path) -> None:
    code, objects = VERDICTS[said]
    found = Drained(tmp_path, "--drain a", node("a"), *objects)
    assert said in found.said
    assert found.ran.code == code


def test_preemption_comes_before_remedies(tmp_path: Path) -> None:
    low = [pod(f"low-{number}", "b", priority=1) for number in range(2)]
    top = [pod("top-0", "a", "2", priority=9), pod("mid-0", "a", "2", priority=1)]
    said = Drained(tmp_path, "--drain a", node("a"), node("b", "2"), *low, *top).said
    preempts = "The scheduler preempts shop/low-0 and shop/low-1 for it"
    assert f"finds no place: pod/mid-0. {preempts}. pod/mid-0 stays pending" in said


def test_budget_allows_eviction_after_replacement_is_ready(tmp_path: Path) -> None:
    """The budget allows one at a time: the second eviction waits and is then allowed."""
    two = [pod("web-1", "a"), pod("web-2", "a"), pod("web-3", "b")]
    found = Drained(tmp_path, "--drain a", node("a"), node("b"), *two, budget("web", 1, 3))
    assert "The drain ends; both pods find a place: 2 on b." in found.said
    assert "pod/web-2 leaves once replacements of others are Ready, as a budget requires." in found.said
    assert found.ran.code == 0


def test_budget_blocks_next_pod_if_replacement_is_pending(tmp_path: Path) -> None:
    pods = [pod("web-1", "a"), pod("web-2", "a"), pod("web-3", "b")]
    found = Drained(tmp_path, "--drain a", node("a"), node("b", "1"), *pods, budget("web", 1, 3))
    assert (
        "The drain does not end: 1 pod is held by a PodDisruptionBudget. shop/web-2: The disruption budget web needs 2 "
        "healthy pods and has 2 currently. The replacement of shop/web-1 has to be Ready first, and fits on no node. "
        "Besides, pod/web-1 finds no place." in found.said
    )
    assert found.ran.code == 7


def test_budget_counts_across_all_nodes(tmp_path: Path) -> None:
    pods = [pod("web-1", "a"), pod("web-2", "b"), pod("web-3", "c")]
    whole = Drained(tmp_path, "--drain a,b", *map(node, "abc"), *pods, budget("web", 1, 3))
    assert "The drain ends; both pods find a place: 2 on c." in whole.said
    nodes = [node("a"), node("b"), node("c", "1")]
    held = Drained(tmp_path, "--drain a --drain b", *nodes, *pods, budget("web", 1, 3))
    assert "The drain does not end: 1 pod is held by a PodDisruptionBudget. shop/web-2: " in held.said
    assert [entry["node"] for entry in held.plan["unmoved"]] == ["b"]


def test_blocked_node_stops_kubectl_before_the_next(tmp_path: Path) -> None:
    pods = [pod("web-1", "a"), pod("web-2", "b"), pod("db-0", "a")]
    found = Drained(tmp_path, "--drain a,b", *map(node, "abc"), *pods, budget("db", 0, 1))
    assert "b waits behind a: kubectl drain continues there only with --timeout, as below." in found.said
    last = Drained(tmp_path, "--drain b,a", *map(node, "abc"), *pods, budget("db", 0, 1))
    assert "--timeout" not in last.said


def test_all_nodes_are_cordoned_before_the_first_is_drained(tmp_path: Path) -> None:
    """As in kubectl: pods of one drained node are not placed on the next."""
    found = Drained(tmp_path, "--drain a,b", *map(node, "ab"), node("c", "1"), pod("web-1", "a"), pod("api-1", "b"))
    assert found.said.startswith(
        "on 3 nodes, with a and b drained The drain ends; 1 of 2 pods finds no place: pod/api-1"
    )
    assert found.nodes == {"web-1": ["c"], "api-1": []}
    assert found.plan["whatIf"]["drained"] == "a,b"
    assert found.plan["whatIf"]["drainedNodes"] == ["a", "b"]
    assert [spec["leaves"] for spec in found.plan["specs"]] == [["a"], ["b"]]
    assert "spec placed where pod/web-1 from a 1 of 1 c" in found.said


def test_pods_of_a_later_node_count_until_it_is_drained(tmp_path: Path) -> None:
    """The first replacement may not run where an app that it excludes still runs; the second finds its room taken."""
    apart = {"requiredDuringSchedulingIgnoredDuringExecution": [{"topologyKey": "zone", "labelSelector": {}}]}
    nodes = [node(name) for name in "abc"]
    for one in nodes[1:]:
        one["metadata"]["labels"]["zone"] = "z"
    pods = pod("web-1", "a", affinity={"podAntiAffinity": apart}), pod("api-1", "b")
    for order in ("a,b", "b,a"):
        assert Drained(tmp_path, f"--drain {order}", *nodes, *pods).nodes == {"web-1": [], "api-1": ["c"]}


def test_one_by_one_a_pod_moves_twice(tmp_path: Path) -> None:
    objects = [node("a"), node("b"), pod("web-1", "a"), pod("web-2", "a")]
    found = Drained(tmp_path, "--drain a,b --one-by-one", *objects)
    assert "with a and b drained one by one The drain ends; both pods find a place: 2 on a." in found.said
    assert "pod/web-1 and pod/web-2 move more than once." in found.said
    assert [spec["leaves"] for spec in found.plan["specs"]] == [["a", "b"], ["a", "b"]]
    together = Drained(tmp_path, "--drain a,b", *objects)
    assert "The drain ends; 2 of 2 pods find no place. No node is left: all are drained." in together.said


def test_one_by_one_a_pod_waits_until_its_node_is_back(tmp_path: Path) -> None:
    pods = [pod("web-1", "a", "3"), pod("api-1", "b", "3")]
    found = Drained(tmp_path, "--drain a,b --one-by-one", node("a"), node("b"), *pods)
    assert "The drain ends; 2 of 2 pods find no place before a and b are back." in found.said
    assert "pod/web-1 stays pending until a is back." in found.said
    assert "a, once a is back" in found.said
    assert found.nodes == {"web-1": ["a"], "api-1": ["b"]}
    assert found.ran.code == 7


def test_long_grace_period_delays_a_drain(tmp_path: Path) -> None:
    pods = [pod("web-1", "a", terminationGracePeriodSeconds=7200), pod("api-1", "a", terminationGracePeriodSeconds=300)]
    found = Drained(tmp_path, "--drain a", node("a"), node("b"), *pods)
    assert "shop/web-1 may take 120 min to stop, its grace period: the drain waits." in found.said
    assert found.plan["slow"] == {"shop/web-1": 7200}


def test_one_by_one_other_nodes_are_remedies(tmp_path: Path) -> None:
    labels = {"labelSelector": {"matchLabels": {"app": "web"}}}
    apart = {"topologyKey": "zone", "maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule", **labels}
    nodes = node("a"), node("b")
    for one in nodes:
        one["metadata"]["labels"]["zone"] = f"zone-{one['metadata']['name']}"
    pods = [pod(f"web-{number}", "ab"[number], topologySpreadConstraints=[apart]) for number in range(2)]
    found = Drained(tmp_path, "--drain a,b --one-by-one", *nodes, *pods)
    assert "pod/web-0 stays pending until a is back." in found.said
    assert "Way out: nodeTaintsPolicy Honor on zone (then b)." in found.said
    assert "No node is left" not in found.said
    assert "then b" not in Drained(tmp_path, "--drain a,b", *nodes, *pods).said


def test_single_node_that_returns(tmp_path: Path) -> None:
    """This is the order of a restart."""
    found = Drained(tmp_path, "--drain a --one-by-one", node("a"), node("b", "0"), pod("web-1", "a"))
    assert "with a drained The drain ends; pod/web-1 finds no place before a is back." in found.said


def test_one_by_one_budgets_recover_when_a_node_is_back(tmp_path: Path) -> None:
    pods = [pod("web-1", "a", "3"), pod("web-2", "b", "3")]
    found = Drained(tmp_path, "--drain a,b --one-by-one", node("a"), node("b"), *pods, budget("web", 1, 2))
    assert "The drain ends; 2 of 2 pods find no place before a and b are back." in found.said


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        ("--drain a,z", 3, 'no node "z"'),
        ("--drain a,", 2, '--drain "": not a node'),
        ("--drain a,pod/x", 2, '--drain "pod/x": not a node'),
        ("--drain a,b --exclude-node b", 2, "--drain b: --exclude-node already leaves out this node and its pods"),
        ("deployment/web --one-by-one", 2, "--one-by-one is for drained nodes\nName them: --drain NODE,NODE"),
    ],
)
def test_wrong_nodes(words: str, code: int, said: str, tmp_path: Path) -> None:
    ran = Drained(tmp_path, words, node("a"), node("b")).ran
    assert (ran.code, ran.out) == (code, "")
    assert said in ran.err


def test_node_that_is_named_twice_counts_once(tmp_path: Path) -> None:
    found = Drained(tmp_path, "--drain a,node/b --drain a", node("a"), node("b"), node("c"), pod("web-1", "a"))
    assert found.plan["whatIf"]["drainedNodes"] == ["a", "b"]


def test_flags_of_several_nodes_are_counted_together(tmp_path: Path) -> None:
    agents = [pod(f"agent-{name}", name, kind="DaemonSet") for name in "ab"]
    said = Drained(tmp_path, "--drain a,b", *map(node, "abc"), *agents).said
    assert "kubectl drain evicts no pod of a node without --ignore-daemonsets (2 pods of DaemonSets" in said
    assert "Pods of a and b that are not moved pod why 2 of DaemonSets" in said


def test_files_are_placed_with_the_drained_pods(tmp_path: Path) -> None:
    file = tmp_path / "x.yaml"
    file.write_text(json.dumps(raw_pod("x", "shop", requests={"cpu": "1"})))
    for more, where in (("", "c"), (" --one-by-one", "b")):
        found = Drained(tmp_path, f"--drain a,b -f {file}{more}", *map(node, "abc"), pod("web-1", "a"))
        assert "The drain ends; pod/web-1 finds a place on " in found.said
        assert f"The one new pod fits, on {where}." in found.said


def test_budget_with_one_disruption_does_not_block_drain(tmp_path: Path) -> None:
    cordoned = node("a")
    cordoned["spec"] = {"unschedulable": True}
    objects = [cordoned, node("b"), pod("web-1", "a"), pod("web-2", "a")]
    for allowed, said in ((1, False), (0, True)):
        file = write_cluster(tmp_path / "cluster.json", [*objects, budget("web", allowed, 2)])
        assert ("A drain does not end" in run("node", "a", "--snapshot", file).out) is said


def test_pods_without_uids_are_distinguished(tmp_path: Path) -> None:
    objects = [node("a"), node("b"), node("c"), pod("web-1", "a"), pod("api-1", "b"), pod("web-2", "c")]
    for one in objects:
        one["metadata"].pop("uid", None)
    found = Drained(tmp_path, "--drain a,b", *objects)
    assert [spec["leaves"] for spec in found.plan["specs"]] == [["a"], ["b"]]
    assert "The drain ends; both pods find a place: 2 on c." in found.said


@pytest.mark.parametrize(
    ("phase", "finalizer", "waits"),
    [
        ("Succeeded", "shop.example/copy", True),
        ("Failed", "shop.example/copy", True),
        ("Running", "shop.example/copy", True),
        ("Succeeded", "batch.kubernetes.io/job-tracking", False),
    ],
)
def test_drain_waits_for_finalizers(phase: str, finalizer: str, waits: bool, tmp_path: Path) -> None:
    """A drain by kubectl also evicts finished pods, and waits until their objects are gone."""
    done = pod("batch-1", "a")
    done["metadata"]["finalizers"] = [finalizer]
    done["status"] = {**READY, "phase": phase}
    found = Drained(tmp_path, "--drain a", node("a"), node("b"), done, pod("web-1", "a"))
    kept = (
        'The drain does not end before shop/batch-1 is gone: finalizer "shop.example/copy" keeps the object until the '
        "controller of shop.example removes it. Besides, "
    )
    assert (kept in found.said, "The drain ends" in found.said) == (waits, not waits)
    assert found.plan["kept"] == ({"shop/batch-1": [finalizer]} if waits else {})


@pytest.mark.parametrize("phase", ["Succeeded", "Running"])
def test_finished_pod_that_was_deleted_long_ago_is_overdue(phase: str, tmp_path: Path) -> None:
    done = pod("batch-1", "a")
    done["metadata"] |= {"finalizers": ["shop.example/copy"], "deletionTimestamp": "2026-01-01T00:00:00Z"}
    now = raw_pod("new", "shop", nodeName="b", metadata={"creationTimestamp": "2026-01-02T00:00:00Z"}, status=READY)
    done["status"] = {**READY, "phase": phase}
    found = Drained(tmp_path, "--drain a", node("a"), node("b"), done, now)
    assert found.ran.code == 7
    assert "The drain does not end before shop/batch-1 is gone: deleted before, overdue since 2026-01-01" in found.said
