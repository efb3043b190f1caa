"""Builds the whole page.

The page's policy allows its own script and style, by their hashes, and nothing else; the page loads nothing. Everything
from the cluster is text: escaped in the markup (`markup`), and in one block of JSON that the script reads and puts into
text nodes only.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping, Sequence
from functools import cache
from hashlib import sha256
from importlib.resources import files

from msgspec import Struct

from kubectl_plugin.html import overview
from kubectl_plugin.html.data import data_block
from kubectl_plugin.html.markup import Child, Markup, element, joined, page_body, patterns
from kubectl_plugin.html.overview import changed, workloads
from kubectl_plugin.render.command import Target
from kubectl_plugin.render.page import Page
from kubectl_plugin.reports.cluster.cluster_entries import ClusterReport, PodKey
from kubectl_plugin.views.cluster.cluster_page import asked_words
from kubectl_plugin.views.words import clock


class FullExplanations(Struct, frozen=True):
    """The full explanations of nodes, pods and manifests."""

    nodes: Mapping[str, Page] = {}
    """By the node's name."""
    pods: Mapping[PodKey, Page] = {}
    manifests: Sequence[Page] = ()
    """Explanations of pods that do not exist yet."""


def document(report: ClusterReport, explained: FullExplanations, target: Target) -> str:
    """Build the page as HTML text; the same report gives the same page.

    Args:
        report: The cluster.
        explained: The explanations in the page.
        target: The source of the report, for the commands in the page.
    """
    style, script = _asset("page.css"), _asset("page.js")
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element(
            "meta",
            http_equiv="Content-Security-Policy",
            content=f"default-src 'none'; script-src '{_hash(script)}'; style-src '{_hash(style)}'; img-src data:; "
            "base-uri 'none'; form-action 'none'",
        ),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="color-scheme", content="light dark"),
        element("meta", name="referrer", content="no-referrer"),
        element("title", f"{report.scope or 'All pods'} of {report.source}: kubectl qos"),
        element("link", rel="icon", href="data:,"),
        element("style", Markup(style)),
    )
    body = element(
        "body",
        element("a", "To the summary", href="#summary", class_="skip"),
        patterns(),
        _header(report),
        element("main", _sections(report, explained, target), id="main"),
        _footer(report),
        element(
            "dialog",
            element(
                "div",
                element("h2", "", id="detail-title"),
                element("button", "Close", type="button", id="detail-close"),
                class_="bar-of",
            ),
            element("div", "", id="detail-body"),
            id="detail",
            aria_labelledby="detail-title",
        ),
        [
            element("template", page_body(explained.nodes[node.name], level=3, target=target), id=f"node-{row}")
            for row, node in enumerate(report.nodes)
            if node.name in explained.nodes
        ],
        [
            element("template", page_body(explained.pods[pod.key], level=3, target=target), id=f"pod-{row}")
            for row, pod in enumerate(report.pods)
            if pod.key in explained.pods
        ],
        data_block(report, target),
        element("script", Markup(script)),
    )
    return f"<!DOCTYPE html>\n{element('html', head, body, lang='en')}\n"


def _header(report: ClusterReport) -> Markup:
    when = clock(report.at, None) if report.at is not None else "at an unknown time"
    if report.at is not None and report.at_is_newest:
        when = f"now is taken to be {when}, by the times in it"
    return element(
        "header",
        element(
            "div",
            element("p", "kubectl qos", class_="mark"),
            element("h1", report.scope or "Cluster"),
            element("p", f"{asked_words(report)}, {when}; written by kubectl-qos {report.written_by}", class_="when"),
        ),
        element("button", "Dark", type="button", id="theme", aria_pressed="false", class_="needs-script"),
        element(
            "nav",
            element(
                "ul",
                [element("li", element("a", name, href=f"#{anchor}")) for anchor, name in overview.anchors(report)],
            ),
            aria_label="Sections",
        ),
    )


def _sections(report: ClusterReport, explained: FullExplanations, target: Target) -> Markup:
    return joined(
        overview.summary(report),
        changed(report),
        overview.capacity(report),
        _manifests(explained, target),
        _listing("nodes", "Nodes", "name, zone, taint", overview.nodes(report)),
        _listing("pods", "Pods", "name, node:NAME, ns:NAME, owner:NAME", overview.troubled(report)),
        workloads(report),
        overview.zones(report),
        overview.priorities(report),
        overview.budgets(report),
        overview.partitions(report, target),
        overview.ended(report),
        overview.unknown(report, target),
    )


def _listing(anchor: str, title: str, hint: str, static: Child) -> Markup:
    """A list that the script fills; its static content is for print and for browsers without scripts."""
    search = element(
        "label",
        element("span", f"Search {title.lower()}"),
        element(
            "input", type="search", id=f"{anchor}-search", placeholder=hint, autocomplete="off", spellcheck="false"
        ),
    )
    return element(
        "section",
        element("h2", title),
        element(
            "div",
            element("div", search, element("div", "", id=f"{anchor}-filters"), class_="filters"),
            element("p", "", id=f"{anchor}-count", class_="count", role="status", aria_live="polite"),
            element("div", "", id=f"{anchor}-list"),
            class_="needs-script",
        ),
        static,
        element("noscript", element("div", "Search, sorting and every pod need the page's script.", class_="note")),
        id=anchor,
    )


def _manifests(explained: FullExplanations, target: Target) -> Markup | None:
    if not explained.manifests:
        return None
    cards = [
        element("article", element("h3", page.title), page_body(page, level=4, target=target), class_="card")
        for page in explained.manifests
    ]
    return element("section", element("h2", "Pods to come"), cards, id="manifests")


def _footer(report: ClusterReport) -> Markup:
    return element(
        "footer",
        element(
            "p",
            f"Rules of Kubernetes {report.rules_version}. This page loads nothing and sends nothing. It contains names "
            "of your cluster: share it accordingly.",
        ),
    )


def _hash(text: str) -> str:
    return f"sha256-{b64encode(sha256(text.encode()).digest()).decode()}"


@cache
def _asset(name: str) -> str:
    return files(__package__).joinpath(name).read_text(encoding="utf-8")
