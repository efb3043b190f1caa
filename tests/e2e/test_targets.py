"""The targets, in kubectl's forms, and the output formats."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import pytest
import yaml

from tests.controlplane.control_plane import ControlPlane
from tests.e2e.plugin import Plugin, Qos, flat, with_contexts
from tests.e2e.space import Space
from tests.objects import unscheduled_pod

pytestmark = pytest.mark.controlplane

SMALL = {"cpu": "100m", "memory": "128Mi"}


@pytest.fixture
def pods(control_plane: ControlPlane, namespace: str) -> str:
    """A namespace with the pods web, api and db."""
    control_plane.apply([unscheduled_pod(namespace, name) for name in ("web", "api", "db")])
    return namespace


# Names


@pytest.mark.parametrize(
    ("words", "names"),
    [
        (["pod/web"], ["web"]),
        (["po/web"], ["web"]),
        (["pods/web"], ["web"]),
        (["Pod/web"], ["web"]),
        (["pod", "web"], ["web"]),
        (["pod", "web", "api"], ["web", "api"]),
        (["pod/db", "pod/api"], ["db", "api"]),
        (["pods"], ["api", "db", "web"]),
        (["po"], ["api", "db", "web"]),
    ],
    ids=" ".join,
)
def test_K_pods_by_name(qos: Qos, pods: str, words: list[str], names: list[str]) -> None:
    ran = qos(*words, "-n", pods, "-o", "name")

    assert ran == (0, "".join(f"pod/{name}\n" for name in names), "")


@pytest.mark.parametrize("word", ["node", "nodes", "no"])
def test_K_node_by_name(space: Space, word: str) -> None:
    name = space.node()

    assert space.qos(f"{word}/{name}", "-o", "name") == (0, f"node/{name}\n", "")


def test_K_names_are_printed_as_kubectl_does(space: Space, pods: str) -> None:
    name = ("pods", "-n", pods, "-o", "name")

    assert space.qos(*name).out == space.plane.kubectl("get", *name).stdout


def test_K_kinds_may_be_mixed(space: Space, pods: str) -> None:
    name = space.node()

    answer = space.qos.json("pod/web", f"node/{name}", "-n", pods)

    assert [(item["kind"], item["name"]) for item in answer["items"]] == [
        ("PodExplanation", "web"),
        ("NodeExplanation", name),
    ]


def test_several_pages_stand_apart(qos: Qos, pods: str) -> None:
    ran = qos("pod", "web", "api", "-n", pods, "-o", "wide")

    first, second = ran.out.split(f"\n\npod/api in namespace {pods}\n")
    assert first.startswith(f"pod/web in namespace {pods}\n")
    assert second.startswith("! Pending for ")


def test_several_are_a_line_each(qos: Qos, pods: str) -> None:
    ran = qos("pod", "web", "api", "-n", pods)

    headings, *lines = ran.out.split("\n\n")[1].splitlines()
    head, rows = headings.split(), [line[3:].split() for line in lines if not line.startswith(" ")]
    assert (ran.code, ran.err, head[:2]) == (0, "", ["NAME", "STATUS"])
    assert [row[:2] for row in rows] == [["web", "Pending"], ["api", "Pending"]]
    assert "Total 2 pods: 2 pending -o wide: a page each" in flat(ran.out)


def test_one_of_two_is_missing(qos: Qos, pods: str) -> None:
    table = qos("pod/web", "pod/wep", "-n", pods)
    pages = qos("pod/web", "pod/wep", "-n", pods, "-o", "wide")

    assert table.out.split("\n\n")[1].splitlines()[1].split()[1:3] == ["web", "Pending"]
    assert "Total 1 pod: 1 pending" in flat(table.out)
    assert pages.out.startswith(f"pod/web in namespace {pods}\n")
    for ran in (table, pages):
        assert ran.code == 3
        which = f"Did you mean pod/web? To list them: kubectl qos explain pods -n {pods}"
        assert ran.err == f'error: no pod "wep" in {pods}\n{which}\n'


def test_nothing_there(space: Space) -> None:
    ran = space.qos("pods", "-n", space.name)

    assert (ran.code, ran.out) == (0, "")
    assert ran.err == space.plane.kubectl("get", "pods", "-n", space.name).stderr


def test_nothing_there_as_json(space: Space) -> None:
    ran = space.qos("pods", "-n", space.name, "-o", "json")

    assert ran.code == 0
    assert json.loads(ran.out) == {"apiVersion": "kubectl-qos/v1", "kind": "List", "items": []}


def test_empty_name_is_not_everything(qos: Qos, pods: str) -> None:
    """As from a script with an empty variable."""
    ran = qos("pod", "", "-n", pods)

    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith("error: ")


@pytest.mark.parametrize(
    ("words", "said", "helps"),
    [
        (["service/web"], '"service" cannot be explained', "Types: pod, node, deployment, "),
        (["pod/web", "node"], '"node": no name', "Write TYPE/NAME, e.g. pod/web-0"),
        (
            ["pod", "web", "node/n"],
            '"node/n": TYPE/NAME after the type pod',
            "Write TYPE NAME [NAME …], or TYPE/NAME [TYPE/NAME …]",
        ),
        ([], "nothing to explain", "Name a pod (pod/NAME), a node, a workload, or a file with -f"),
    ],
)
def test_wrong_words(qos: Qos, words: list[str], said: str, helps: str) -> None:
    ran = qos(*words)

    assert (ran.code, ran.out) == (2, "")
    error, hint = ran.err.splitlines()
    assert error == f"error: {said}"
    assert hint.startswith(helps)


@pytest.mark.parametrize("name", ["web?x=y", "web#x", "we b", "wéb", "web%2fstatus", "web%", ".", ".."])
def test_odd_name_is_not_found(qos: Qos, pods: str, name: str) -> None:
    ran = qos(f"pod/{name}", "-n", pods)

    assert (ran.code, ran.out) == (3, "")
    assert ran.err.startswith(f'error: no pod "{name}" in {pods}')


@pytest.mark.parametrize("name", ["web/status", "web/log", "../api/web"])
def test_name_is_no_path(qos: Qos, pods: str, name: str) -> None:
    """The API server has such names for other things; kubectl rejects them before any request."""
    ran = qos(f"pod/{name}", "-n", pods)

    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith("error: ")
    assert name in ran.err


@pytest.mark.parametrize("namespace", ["other/pods", "other%2fpods", ".", ".."])
def test_namespace_is_no_path(qos: Qos, namespace: str) -> None:
    ran = qos("pod/web", "-n", namespace)

    assert (ran.code, ran.out) == (3, "")
    assert ran.err.startswith(f'error: no pod "web" in {namespace}')


# A node's page


def test_Q4_node(space: Space) -> None:
    size = {"cpu": "4", "memory": "8Gi"}
    node = space.node(capacity=size, allocatable={"cpu": "2", "memory": "4Gi"})
    space.pod("a", nodeName=node, requests={"cpu": "1"}, limits={"cpu": "3", "memory": "1Gi"})
    space.pod("b", nodeName=node, requests={"memory": "1Gi"})
    space.pod("done", nodeName=node, requests={"cpu": "1"})
    space.report({"phase": "Succeeded"}, "done")

    text = space.qos.text(f"node/{node}")
    wide = space.qos.text(f"node/{node}", "-o", "wide")
    answer = space.qos.json(f"node/{node}")

    assert "Overcommitted: limits add up to cpu 150% of allocatable." in text
    assert "1 of 2 pods has no memory limit: it may use all memory." in text
    assert "cpu 2 1 50% 1 3 150% 1 pod" in text
    assert "memory 4Gi 2Gi 50% 2Gi 1Gi 25% 1 pod" in text
    assert "Pods 2 of 110:" in text
    assert "kept for the system" not in text
    assert "requested by Guaranteed Burstable BestEffort kept for the system cpu 0 1 0 2 of 4" in wide
    assert [answer["kind"], answer["ready"], answer["pods"]] == ["NodeExplanation", "True", 2]
    described = space.plane.kubectl("describe", "node", node).stdout
    assert [line.split() for line in described.splitlines() if line.startswith(("  cpu  ", "  memory  "))] == [
        ["cpu", "1", "(50%)", "3", "(150%)"],
        ["memory", "2Gi", "(50%)", "1Gi", "(25%)"],
    ]


def test_node_that_is_silent_or_cordoned(space: Space) -> None:
    node = space.make_node(taints=[{"key": "dedicated", "value": "db", "effect": "NoSchedule"}], ready=False)
    cordoned = space.node()
    space.plane.kubectl("cordon", cordoned)

    text = space.qos.text(f"node/{node['metadata']['name']}")

    assert "Not ready since " in text
    assert "dedicated=db:NoSchedule" in text
    assert "Cordoned: its pods keep running, new pods are not placed here (spec.unschedulable)." in space.qos.text(
        f"node/{cordoned}"
    )


# Formats


def test_json_and_yaml_say_the_same(qos: Qos, pods: str) -> None:
    as_yaml = qos("pod/web", "-n", pods, "-o", "yaml")

    answer = qos.json("pod/web", "-n", pods)

    read = yaml.safe_load(as_yaml.out)
    for one in (read, answer):
        # A new second may begin between the two.
        one["verdict"]["text"] = re.sub(r"for \d+ s\b", "for a while", one["verdict"]["text"])
    assert read == answer
    assert [answer[key] for key in ("apiVersion", "kind", "name", "namespace", "source", "serverVersion")] == [
        "kubectl-qos/v1",
        "PodExplanation",
        "web",
        pods,
        "the cluster",
        "v1.36.3",
    ]


def test_wide_shows_each_container(space: Space) -> None:
    space.plane.apply([unscheduled_pod(space.name, nodeName=space.node(), requests=SMALL, limits=SMALL)])
    uid = space.get()["metadata"]["uid"]

    wide = space.page()

    values = "cpu.weight 10 (v1: cpu.shares 102), cpu.max 10000 100000, memory.max 128Mi"
    assert f"with the cgroupfs driver: /kubepods/pod{uid}" in wide
    assert f"app {values}" not in space.text()
    assert "app cpu.weight 17 (v1: cpu.shares 102), cpu.max 10000 100000, memory.max 128Mi" in wide


def test_prose_stays_within_80_columns(qos: Qos, pods: str) -> None:
    lines = [line for wide in ((), ("-o", "wide")) for line in qos("pods", "-n", pods, *wide).out.splitlines()]

    long = [line for line in lines if len(line) > 80 and "kubectl " not in line and "kubepods" not in line]

    assert not long


# Namespaces


def test_namespace_of_the_context(space: Space, pods: str, tmp_path: Path) -> None:
    contexts = {"here": {"namespace": pods}, "elsewhere": {"namespace": "kube-system"}, "none": {}}
    kubeconfig = with_contexts(space.plane.admin_kubeconfig, tmp_path, contexts, current="here")

    assert space.qos.json("pod/web", kubeconfig=kubeconfig)["namespace"] == pods
    assert space.qos.json("pod/web", "--context", "here", kubeconfig=kubeconfig)["namespace"] == pods
    assert space.qos.json("pod/web", "-n", pods, "--context=elsewhere", kubeconfig=kubeconfig)["namespace"] == pods
    assert 'no pod "web" in kube-system' in space.qos("pod/web", "--context=elsewhere", kubeconfig=kubeconfig).err
    for words in (("--context=none",), ("-n", "default")):
        ran = space.qos("pod/web", *words, kubeconfig=kubeconfig)
        assert 'no pod "web" in default' in ran.err


def test_kubeconfig_by_flag(control_plane: ControlPlane, kubectl_qos: Plugin, pods: str, tmp_path: Path) -> None:
    kubeconfig = with_contexts(control_plane.admin_kubeconfig, tmp_path, {"here": {"namespace": pods}}, "here")

    assert kubectl_qos("pod/web", "--kubeconfig", kubeconfig, "-o", "name") == (0, "pod/web\n", "")


def test_kubeconfigs_are_merged_as_kubectl_does(
    control_plane: ControlPlane, kubectl_qos: Plugin, pods: str, tmp_path: Path
) -> None:
    first = tmp_path / "first"
    first.write_text(yaml.safe_dump({"apiVersion": "v1", "kind": "Config", "current-context": "here"}))
    second = with_contexts(control_plane.admin_kubeconfig, tmp_path, {"here": {"namespace": pods}}, "elsewhere")

    ran = kubectl_qos("pod/web", "-o", "name", env={"KUBECONFIG": f"{first}:{second}"})

    assert ran == (0, "pod/web\n", "")


# The cluster of a suggested command


def test_K_suggested_deletion_keeps_the_cluster(space: Space, kubectl_qos: Plugin, tmp_path: Path) -> None:
    """Pasted into a shell with another current context, which cannot be reached."""
    kubeconfig = with_contexts(space.plane.admin_kubeconfig, tmp_path, {"far away": {"namespace": "default"}}, "lost")
    delete = Plugin(space.plane, kubectl_qos.runtime, command="delete")
    node = space.node()
    space.plane.apply([unscheduled_pod(space.name, name, nodeName=node) for name in ("web", "db")])

    shown = delete("pod/web", "-n", space.name, "--context", "far away", "--grace-period=0", kubeconfig=kubeconfig)

    assert shown.code == 3, shown
    (line,) = re.findall(r"kubectl qos delete .* --confirm$", shown.out, re.MULTILINE)
    assert "--context='far away'" in line
    pasted = ["bash", "-c", line]
    done = subprocess.run(pasted, env=delete.environment(kubeconfig), capture_output=True, text=True, check=False)
    assert (done.returncode, "pod/web is gone" in done.stdout) == (0, True), done
    left = {pod["metadata"]["name"] for pod in space.plane.api.list_items("v1", "Pod", space.name)}
    assert left == {"db"}
    without = ["bash", "-c", line.replace(" --context='far away'", "")]
    lost = subprocess.run(without, env=delete.environment(kubeconfig), capture_output=True, text=True, check=False)
    assert lost.returncode == 5, lost
