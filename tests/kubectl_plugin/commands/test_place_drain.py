"""Whether a drain of one or several nodes ends, and where their pods are placed."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
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
    "ok Drain of a ends: both pods find a place. ok shop/web-1 -> b ok shop/web-2 -> b": (
        0,
        [node("b"), pod("web-1", "a"), pod("web-2", "a")],
    ),
    "x Drain of a ends, but 3 of 4 pods find no place. x shop/w-1 no place. Of 2 nodes, ": (
        7,
        [node("b", "1"), *MANY],
    ),
    "x Drain of a ends, but 2 of 2 pods find no place. x shop/mail-0 no place. ": (
        7,
        [node("b", "0"), pod("mail-0", "a", "2"), pod("web-1", "a")],
    ),
    "ok Drain of a ends: pod shop/api-0 finds a place. ok shop/api-0 -> b": (0, [node("b"), pod("api-0", "a")]),
    "x Drain of a ends, but pod shop/api-0 finds no place. x shop/api-0 no place. ": (
        7,
        [node("b", "0"), pod("api-0", "a")],
    ),
    "ok Drain of a ends: no pod is recreated elsewhere. Flags kubectl drain needs --ignore-daemonsets (1 pod, ": (
        0,
        [node("b"), pod("agent-0", "a", kind="DaemonSet")],
    ),
    "! Drain of a ends: pod shop/top-0 finds a place, if 1 pod is preempted. ": (
        0,
        [node("b", "1"), LOW, TOP],
    ),
    "x Drain of a ends, but 1 of 2 pods finds no place. x shop/x-0 no place. Of 2 nodes, ": (
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
    rows = ("x shop/mid-0 no place. ", "! shop/low-0 preempted for shop/top-0 on b", "ok shop/top-0 -> b")
    assert [row for row in rows if row in said] == sorted(rows, key=said.index) == [*rows]


def test_budget_allows_eviction_after_replacement_is_ready(tmp_path: Path) -> None:
    """The budget allows one at a time: the second eviction waits and is then allowed."""
    two = [pod("web-1", "a"), pod("web-2", "a"), pod("web-3", "b")]
    found = Drained(tmp_path, "--drain a", node("a"), node("b"), *two, budget("web", 1, 3))
    assert "Drain of a ends: both pods find a place." in found.said
    assert "shop/web-2 -> b, once replacements of others are Ready (its budget)" in found.said
    assert found.ran.code == 0


def test_budget_blocks_next_pod_if_replacement_is_pending(tmp_path: Path) -> None:
    pods = [pod("web-1", "a"), pod("web-2", "a"), pod("web-3", "b")]
    found = Drained(tmp_path, "--drain a", node("a"), node("b", "1"), *pods, budget("web", 1, 3))
    assert (
        "x Drain of a stops: budget web (2 healthy, 2 needed) holds shop/web-2. Besides, pod shop/web-1 finds no "
        "place. x shop/web-2 held: the replacement of shop/web-1 has to be Ready first, and fits on no node x shop/"
        "web-1 no place. " in found.said
    )
    assert found.ran.code == 7


def test_budget_counts_across_all_nodes(tmp_path: Path) -> None:
    pods = [pod("web-1", "a"), pod("web-2", "b"), pod("web-3", "c")]
    whole = Drained(tmp_path, "--drain a,b", *map(node, "abc"), *pods, budget("web", 1, 3))
    assert "Drain of a and b ends: both pods find a place." in whole.said
    nodes = [node("a"), node("b"), node("c", "1")]
    held = Drained(tmp_path, "--drain a --drain b", *nodes, *pods, budget("web", 1, 3))
    assert "Drain of a and b stops: budget web (2 healthy, 2 needed) holds shop/web-2." in held.said
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
    assert found.said.startswith("x Drain of a and b ends, but 1 of 2 pods finds no place. x shop/api-1 no place. ")
    assert found.nodes == {"web-1": ["c"], "api-1": []}
    assert found.plan["whatIf"]["drained"] == "a,b"
    assert found.plan["whatIf"]["drainedNodes"] == ["a", "b"]
    assert [spec["leaves"] for spec in found.plan["specs"]] == [["a"], ["b"]]
    assert "ok shop/web-1 -> c, from a" in found.said


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
    assert "Drain of a and b, one by one, ends: both pods find a place." in found.said
    assert "shop/web-1 -> a, from a and b ok shop/web-2 -> a, from a and b" in found.said
    assert [spec["leaves"] for spec in found.plan["specs"]] == [["a", "b"], ["a", "b"]]
    together = Drained(tmp_path, "--drain a,b", *objects)
    assert "ends, but 2 of 2 pods find no place. No node is left: all are drained." in together.said


def test_one_by_one_a_pod_waits_until_its_node_is_back(tmp_path: Path) -> None:
    pods = [pod("web-1", "a", "3"), pod("api-1", "b", "3")]
    found = Drained(tmp_path, "--drain a,b --one-by-one", node("a"), node("b"), *pods)
    assert "Drain of a and b, one by one, ends, but 2 of 2 pods find no place before a and b are back." in found.said
    assert "x shop/web-1 no place until a is back." in found.said
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
    assert "x shop/web-0 no place until a is back." in found.said
    assert "Way out: nodeTaintsPolicy Honor on zone (then b)." in found.said
    assert "No node is left" not in found.said
    assert "then b" not in Drained(tmp_path, "--drain a,b", *nodes, *pods).said


def test_single_node_that_returns(tmp_path: Path) -> None:
    """This is the order of a restart."""
    found = Drained(tmp_path, "--drain a --one-by-one", node("a"), node("b", "0"), pod("web-1", "a"))
    assert "Drain of a ends, but pod shop/web-1 finds no place before a is back." in found.said


def test_one_by_one_budgets_recover_when_a_node_is_back(tmp_path: Path) -> None:
    pods = [pod("web-1", "a", "3"), pod("web-2", "b", "3")]
    found = Drained(tmp_path, "--drain a,b --one-by-one", node("a"), node("b"), *pods, budget("web", 1, 2))
    assert "ends, but 2 of 2 pods find no place before a and b are back." in found.said


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
    assert "kubectl drain needs --ignore-daemonsets (2 pods, which stay)" in said


def test_files_are_placed_with_the_drained_pods(tmp_path: Path) -> None:
    file = tmp_path / "x.yaml"
    file.write_text(json.dumps(raw_pod("x", "shop", requests={"cpu": "1"})))
    for more, where in (("", "c"), (" --one-by-one", "b")):
        found = Drained(tmp_path, f"--drain a,b -f {file}{more}", *map(node, "abc"), pod("web-1", "a"))
        assert "ends: pod shop/web-1 finds a place. The one new pod fits, " in found.said
        assert f"The one new pod fits, on {where}." in found.said


def test_budget_with_one_disruption_does_not_block_drain(tmp_path: Path) -> None:
    cordoned = node("a")
    cordoned["spec"] = {"unschedulable": True}
    objects = [cordoned, node("b"), pod("web-1", "a"), pod("web-2", "a")]
    for allowed, said in ((1, False), (0, True)):
        file = write_cluster(tmp_path / "cluster.json", [*objects, budget("web", allowed, 2)])
        assert ("A drain stops" in run("node", "a", "--snapshot", file).out) is said


def test_pods_without_uids_are_distinguished(tmp_path: Path) -> None:
    objects = [node("a"), node("b"), node("c"), pod("web-1", "a"), pod("api-1", "b"), pod("web-2", "c")]
    for one in objects:
        one["metadata"].pop("uid", None)
    found = Drained(tmp_path, "--drain a,b", *objects)
    assert [spec["leaves"] for spec in found.plan["specs"]] == [["a"], ["b"]]
    assert "Drain of a and b ends: both pods find a place." in found.said


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
        'Drain of a does not end before shop/batch-1 is gone: finalizer "shop.example/copy" keeps the object until the '
        "controller of shop.example removes it. "
    )
    assert (kept in found.said, "Drain of a ends" in found.said) == (waits, not waits)
    assert found.plan["kept"] == ({"shop/batch-1": [finalizer]} if waits else {})


@pytest.mark.parametrize("phase", ["Succeeded", "Running"])
def test_finished_pod_that_was_deleted_long_ago_is_overdue(phase: str, tmp_path: Path) -> None:
    done = pod("batch-1", "a")
    done["metadata"] |= {"finalizers": ["shop.example/copy"], "deletionTimestamp": "2026-01-01T00:00:00Z"}
    now = raw_pod("new", "shop", nodeName="b", metadata={"creationTimestamp": "2026-01-02T00:00:00Z"}, status=READY)
    done["status"] = {**READY, "phase": phase}
    found = Drained(tmp_path, "--drain a", node("a"), node("b"), done, now)
    assert found.ran.code == 7
    assert "x Drain of a stops: shop/batch-1 is being deleted and overdue. " in found.said
    assert "x shop/batch-1 overdue since 2026-01-01" in found.said


def test_terminal_counts_pods_that_find_a_place() -> None:
    """A pipe and -o wide have a row for each pod."""
    words = ("place", "--drain", "node-a1", "--demo")
    master, slave = pty.openpty()
    environment = {**os.environ, "COLUMNS": "80", "NO_COLOR": "1"}
    subprocess.run([sys.executable, "-m", "kubectl_plugin", *words], stdout=slave, env=environment, check=False)
    shown = os.read(master, 65536).decode().splitlines()
    for descriptor in (master, slave):
        os.close(descriptor)
    piped = run(*words).out
    fits = [line.split()[1] for line in piped.splitlines() if line.startswith("ok ")]
    assert [" ".join(line.split()) for line in shown if line.startswith("ok ")] == [
        f"ok {len(fits)} more -> node-a2 5, node-b2 3, node-c2 1 (-o wide)"
    ]
    assert [line for line in shown if line.startswith(("x ", "! "))] == [
        line for line in piped.splitlines() if line.startswith(("x ", "! "))
    ]
    assert len(shown) <= 22


@pytest.mark.parametrize(
    "words",
    [
        *(f"--drain {name}" for name in ("node-a1", "node-b2", "node-b4", "node-c1,node-c4", "node-c3", "node-a2")),
        "--drain node-a1,node-b1 --one-by-one",
        "deployment/web --replicas 3",
        "deployment/checkout --replicas 3",
        "deployment/fraud-score -n payments",
        "deployment/model-server -n ml",
        "statefulset/broker -n data",
    ],
)
def test_no_row_is_worse_than_the_headline(words: str) -> None:
    order = ["ok", "!", "x"]
    lines = run("place", "--demo", *words.split()).out.splitlines()
    first, *rows = [order.index(line.split()[0]) for line in lines if line.startswith(("x ", "! ", "ok "))]
    assert rows
    assert max(rows) <= first
    assert rows == sorted(rows, reverse=True) or "--drain" not in words
