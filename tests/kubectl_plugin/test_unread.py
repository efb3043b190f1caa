"""What could not be read, in words: whose usage is unknown, told once, and not where a metrics API knows it."""

from __future__ import annotations

import pytest

from kubectl_plugin.render.command import Target
from kubectl_plugin.views.unread import unread_lines
from podrules.cluster.gather import Gatherer
from podrules.cluster.kinds import NODES
from podrules.cluster.node_usage import read_usages
from podrules.cluster.source import Unread
from tests.cluster.recording import RecordingSource
from tests.kubectl_plugin.running import run
from tests.objects import raw_condition, raw_node


def of_kubelet(node: str, path: str = "stats/summary", reason: str = "not in the file") -> Unread:
    return Unread("get", "nodes/proxy", None, reason, node, path)


@pytest.mark.parametrize(
    ("unread", "measured", "lines"),
    [
        pytest.param([of_kubelet("a")], (), ["usage of a is unknown: not in the file"], id="one node"),
        pytest.param(
            [of_kubelet(name) for name in "abcde"],
            (),
            ["usage of a, b, c and 2 more is unknown: not in the file"],
            id="several nodes for one reason",
        ),
        pytest.param(
            [of_kubelet("a"), of_kubelet("b", reason="no answer")],
            (),
            ["usage of a is unknown: not in the file", "usage of b is unknown: no answer"],
            id="two reasons",
        ),
        pytest.param(
            [of_kubelet("a"), of_kubelet("b"), of_kubelet("c")],
            ("a", "c"),
            ["the kubelets of a and c were not read: not in the file", "usage of b is unknown: not in the file"],
            id="a metrics API knows two",
        ),
        pytest.param(
            [of_kubelet("a", "configz")],
            ("a",),
            ["the kubelet's configuration of a is unknown: not in the file"],
            id="thresholds alone",
        ),
        pytest.param(
            [Unread("list", "pods", "shop", "not served"), Unread("list", "pods", "shop", "not served")],
            (),
            ["pods in shop: not served"],
            id="one thing twice",
        ),
    ],
)
def test_lines(unread: list[Unread], measured: tuple[str, ...], lines: list[str]) -> None:
    assert list(unread_lines(unread, measured=measured)) == lines


def test_a_right_that_is_missing_leaves_the_usage_of_every_node_unknown() -> None:
    nodes = [raw_node(name, conditions=[raw_condition("Ready")]) for name in ("n1", "n2")]
    source = RecordingSource(nodes, forbidden={"nodes/proxy"})
    _, unread = read_usages(Gatherer(source), source.list(NODES), {})
    assert [one for one in source.asked if "proxy" in one] == ["get nodes/proxy n1 stats/summary"]
    [line] = unread_lines(unread)
    assert Target().said(line) == (
        "usage of n1 and n2 is unknown: you may not get nodes/proxy (kubectl auth can-i get nodes --subresource=proxy)"
    )


def test_the_report_names_the_node_once_on_the_terminal_and_in_its_page() -> None:
    line = "usage of node-b4 is unknown: not in the demo cluster"
    assert " ".join(run("report", "-A", "--demo").out.split()).count(line) == 1
    page = run("report", "-A", "--demo", "-o", "-").out
    assert page.partition('id="unknown"')[2].partition("</section>")[0].count(line) == 1
