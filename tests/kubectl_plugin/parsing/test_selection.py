"""``-A``, ``-l`` and ``--field-selector``: the selected objects, and the requests to the API server."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from cluster_io.live.live_source import LiveSource
from kubectl_plugin.commands.explain import run as explain
from kubectl_plugin.commands.node import run as node
from kubectl_plugin.options import Streams
from kubectl_plugin.parsing import parse
from tests.kubectl_plugin.answers import data
from tests.kubectl_plugin.running import run
from tests.objects import raw_node, raw_pod


def _names(*words: str) -> list[str]:
    ran = run(*words, "--demo", "-o", "name")
    assert (ran.code, ran.err) == (0, "")
    return ran.out.split()


def test_all_namespaces() -> None:
    found = _names("explain", "pods", "-A")
    for space in ("shop", "ml", "kube-system", "monitoring", "ops", "batch", "default"):
        assert set(run("explain", "pods", "-n", space, "--demo", "-o", "name").out.split()) < set(found)


def test_name_and_selection_give_the_same_page() -> None:
    pending = ("-A", "--field-selector", "status.phase=Pending")
    chosen = data("explain", *pending, "--demo")["items"]
    assert len({entry["namespace"] for entry in chosen}) > 1
    for entry in chosen:
        expected = data("explain", f"pod/{entry['name']}", "-n", entry["namespace"], "--demo")
        assert {key: expected[key] for key in entry} == entry


def test_list_and_single_pod_have_the_same_verdict() -> None:
    listed = data("explain", "pods", "-n", "data", "--demo")["items"]
    for entry in listed:
        assert data("explain", f"pod/{entry['name']}", "-n", "data", "--demo")["verdict"] == entry["verdict"]
    codes = {entry["name"]: entry["verdict"]["code"] for entry in listed}
    assert codes["postgres-0"] == "NearMemoryLimit"


def test_live_list_shows_that_usage_was_not_read() -> None:
    pods = [raw_pod(name, nodeName="node-1") for name in ("a", "b")]

    def said(*typed: str) -> str:
        source = LiveSource(_Asked(*pods, raw_node("node-1")), namespace="shop")
        out = io.StringIO()
        options: Any = parse(["explain", *typed]).options
        explain(options, source, Streams(io.StringIO(), out, io.StringIO()))
        return out.getvalue()

    assert "usage was not read: use explain pod/NAME" in said("pods")
    entries = json.loads(said("pods", "-o", "json"))["items"]
    assert {one["reason"] for entry in entries for one in entry["pressureUnread"]} == {"not asked for a list"}


def test_label_selectors_work_as_in_kubectl() -> None:
    everything = _names("explain", "pods")
    web = _names("explain", "pods", "-l", "app=web")
    assert web
    assert all(name.startswith("pod/web-") for name in web)
    assert _names("explain", "pods", "--selector", "app in (web)") == web
    assert _names("explain", "pods", "-l", "app==web,app") == web
    others = _names("explain", "pods", "-l", "app!=web")
    assert sorted(web + others) == sorted(everything)
    assert _names("explain", "pods", "-l", "app notin (web)") == others
    unlabelled = run("explain", "pods", "-l", "!app", "--demo", "-o", "name").out.split()
    assert set(unlabelled) <= set(others)


def test_field_selectors_work_as_in_kubectl() -> None:
    on = _names("explain", "pods", "-A", "--field-selector", "spec.nodeName=node-a1")
    assert on
    pending = set(_names("explain", "pods", "-A", "--field-selector", "status.phase=Pending"))
    assert "pod/checkout-mv9cgvs6p-x2x7p" in pending
    assert not pending & set(on)
    assert _names("explain", "nodes", "--field-selector", "spec.unschedulable=true") == ["node/node-c1"]
    free = _names("explain", "nodes", "--field-selector", "spec.unschedulable=false")
    assert sorted([*free, "node/node-c1"]) == sorted(_names("explain", "nodes"))


def test_field_selectors_work_alike_in_a_snapshot(tmp_path: Path) -> None:
    file = tmp_path / "c.qos"
    assert run("snapshot", "--demo", "-o", str(file)).code == 0
    for words in (
        ("nodes", "--field-selector", "spec.unschedulable=true"),
        ("pods", "-A", "--field-selector", "spec.hostNetwork=true"),
        ("pods", "-A", "--field-selector", "spec.hostNetwork=false,status.phase=Pending"),
    ):
        asked = run("explain", *words, "-o", "name", "--snapshot", str(file))
        assert (asked.code, asked.out.split()) == (0, _names("explain", *words))


@pytest.mark.parametrize(
    ("words", "where"),
    [("explain pods", " in shop namespace"), ("explain pods -A", ""), ("explain nodes", ""), ("node", "")],
)
def test_selection_without_matches(words: str, where: str) -> None:
    assert run(*words.split(), "-l", "app=none", "--demo") == (0, "", f"No resources found{where}.\n")


def test_nodes_by_label() -> None:
    zone = ("-l", "topology.kubernetes.io/zone=eu-1a")
    assert _names("node", *zone) == _names("explain", "nodes", *zone)


@pytest.mark.parametrize(
    ("words", "heading"),
    [
        (("-l", "app=db"), "pods with app=db in namespace shop"),
        (("-A", "--field-selector", "status.phase=Pending"), "pods with status.phase=Pending in all namespaces"),
        (("db-0",), "pod/db-0"),
        (("pod", "db-0"), "pod/db-0"),
    ],
)
def test_report_of_some_pods(words: Sequence[str], heading: str) -> None:
    ran = run("report", *words, "--demo", "-o", "-")
    assert (ran.code, ran.err) == (0, "")
    assert f"<h1>{heading}</h1>" in ran.out
    pending = "status.phase=Pending" in words
    assert ("checkout-mv9cgvs6p-x2x7p" in ran.out) is pending
    assert pending or "db-0" in ran.out


class _Asked:
    """An API server that records its requests."""

    def __init__(self, *objects: Any) -> None:
        self.objects = objects
        self.lists: list[tuple[str, dict[str, list[str]]]] = []

    def get(self, path: str, accept: str = "") -> tuple[int, bytes]:
        """Answer a list with the objects of its kind, and a path that ends in an object's name with that object."""
        del accept
        parts = urlsplit(path)
        self.lists.append((parts.path, parse_qs(parts.query)))
        kind = {"pods": "Pod", "nodes": "Node"}.get(parts.path.rpartition("/")[2])
        if kind is None:
            named = [entry for entry in self.objects if parts.path.endswith(f"/nodes/{entry['metadata']['name']}")]
            return (200, json.dumps(named[0]).encode()) if named else (404, b"{}")
        return 200, json.dumps({"items": [entry for entry in self.objects if entry["kind"] == kind]}).encode()

    def close(self) -> None:
        """Do nothing: no connection is open."""


@pytest.mark.parametrize(
    ("typed", "selector", "path", "sent"),
    [
        (
            "explain pods -n shop -l",
            "app=web,tier in (b,a),!old,z!=1",
            "/api/v1/namespaces/shop/pods",
            "app=web,!old,tier in (a,b),z notin (1)",
        ),
        ("explain pods -A --field-selector", "spec.nodeName=node-1,status.phase!=Failed", "/api/v1/pods", ""),
        ("explain pods -A --field-selector", "status.podIP=10.0.0.1", "/api/v1/pods", ""),
        ("node -l", "zone=a", "/api/v1/nodes", ""),
    ],
)
def test_api_server_evaluates_the_selection(typed: str, selector: str, path: str, sent: str) -> None:
    server = _Asked(raw_pod("web-0"), raw_node("node-1"))
    parsed = parse([*typed.split(), selector])
    streams = Streams(io.StringIO(), io.StringIO(), io.StringIO())
    command: Any = {"explain": explain, "node": node}[parsed.command]
    command(parsed.options, LiveSource(server, namespace="shop"), streams)
    name = "labelSelector" if typed.endswith("-l") else "fieldSelector"
    assert [given[name] for where, given in server.lists if where == path and name in given][:1] == [[sent or selector]]


@pytest.mark.parametrize(
    ("typed", "pods"),
    [
        (["node"], [{}]),
        (["node", "-l", "zone=a"], [{"fieldSelector": [f"spec.nodeName=node-{number}"]} for number in range(3)]),
    ],
    ids=["all", "some"],
)
def test_many_nodes_need_few_requests(typed: list[str], pods: list[dict[str, list[str]]]) -> None:
    """The list has each node already; only its kubelet needs its own requests."""
    server = _Asked(raw_pod("web-0", nodeName="node-1"), *(raw_node(f"node-{number}") for number in range(3)))
    streams = Streams(io.StringIO(), io.StringIO(), io.StringIO())
    options: Any = parse(typed).options
    assert node(options, LiveSource(server, namespace="shop"), streams) == 0
    of_pods = [
        {name: value for name, value in query.items() if name == "fieldSelector"}
        for path, query in server.lists
        if path == "/api/v1/pods"
    ]
    assert of_pods == pods
    paths = [path for path, _ in server.lists]
    assert paths.count("/api/v1/nodes") == 1
    assert not [path for path in paths if re.fullmatch(r"/api/v1/nodes/[^/]+", path)]
    assert len(paths) == len(set(paths)) + len(pods) - 1


@pytest.mark.parametrize(
    ("typed", "wrong", "values"),
    [
        ("status.phase=pending", 'status.phase is never "pending"', "Pending, Running, Succeeded, Failed, Unknown"),
        ("status.phase!=CrashLoopBackOff", 'status.phase is never "CrashLoopBackOff"', "Pending, Running, Succeeded"),
        ("spec.hostNetwork=True", 'spec.hostNetwork is never "True"', "true, false"),
        ("spec.restartPolicy==never", 'spec.restartPolicy is never "never"', "Always, OnFailure, Never"),
    ],
)
def test_impossible_selector_value_lists_possible_values(typed: str, wrong: str, values: str) -> None:
    for command in (("explain", "pods", "-A"), ("report", "-A")):
        ran = run(*command, "--demo", "--field-selector", typed)
        assert (ran.code, ran.out) == (2, "")
        first, second = ran.err.splitlines()
        assert first == f'error: --field-selector "{typed}": {wrong}'
        assert second.startswith(f"Its values, as they are written: {values}")
    assert run("explain", "pods", "-A", "--demo", "--field-selector", "status.phase!=").code == 0


def test_report_of_missing_namespace_is_an_error(tmp_path: Path) -> None:
    page, captured = tmp_path / "t.html", tmp_path / "c.qos"
    assert run("snapshot", "--demo", "-o", str(captured)).code == 0
    expected = 'error: no namespace "shp"\nNamespace shp does not exist: did you mean -n shop?\n'
    for source in (("--demo",), ("--snapshot", str(captured))):
        for asked in ((), ("-l", "app=web"), ("-o", str(page)), ("-o", "json")):
            assert run("report", "-n", "shp", *asked, *source) == (3, "", expected)
    assert not page.exists()
    assert run("report", "-n", "kube-public", "--demo").code == 0
