"""The page in a browser: it opens, loads nothing, filters, sorts, is accessible, prints, and resists hostile text."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from playwright.sync_api import Browser, Dialog, Locator, Page, expect

from cluster_io.demo import demo_objects
from kubectl_plugin.html.document import FullExplanations, document
from kubectl_plugin.render.command import Target
from kubectl_plugin.reports.cluster.cluster_report import cluster_report
from tests.kubectl_plugin.running import run
from tests.objects import raw_condition, raw_container, raw_node, raw_object, raw_pod
from tests.report.browser import axe_violations
from tests.report.large import large_facts
from tests.scale.cluster import Size

MILLISECONDS = 60_000
"""The time limit for any step on a busy machine."""
SERIOUS = {"serious", "critical"}
LARGEST = 15 * 2**20


class Opened(NamedTuple):
    """A page, and its unwanted actions."""

    page: Page
    said: list[str]
    """Messages to the console, and uncaught errors."""
    asked_for: list[str]
    """The requested addresses."""


@contextmanager
def shown(browser: Browser, path: Path, **context: Any) -> Iterator[Opened]:
    """Open a file's page and wait for its lists; at the end check that it logged and requested nothing."""
    made = browser.new_context(viewport={"width": 1280, "height": 900}, offline=True, **context)
    made.set_default_timeout(MILLISECONDS)
    expect.set_options(timeout=MILLISECONDS)
    page = made.new_page()
    opened = Opened(page, [], [])

    def refuse(dialog: Dialog) -> None:
        opened.said.append(f"dialog: {dialog.message}")
        dialog.dismiss()

    page.on("console", lambda message: opened.said.append(message.text))
    page.on("pageerror", lambda error: opened.said.append(str(error)))
    page.on("dialog", refuse)
    page.on("request", lambda request: opened.asked_for.append(request.url))
    page.goto(path.as_uri())
    if context.get("java_script_enabled", True):
        page.wait_for_selector("html[data-ready]")
    yield opened
    assert opened.said == []
    assert [url for url in opened.asked_for if not url.startswith("data:,")] == [path.as_uri()]
    made.close()


def demo_pods() -> list[dict[str, Any]]:
    return [entry for entry in demo_objects() if entry["kind"] == "Pod"]


def rows(page: Page, what: str) -> Locator:
    return page.locator(f"#{what}-list tbody tr:not(.spacer)")


def test_page_opens_with_the_worst_first(browser: Browser, demo: Path) -> None:
    with shown(browser, demo) as (page, _, _):
        expect(page.locator(".headline")).to_contain_text("findings: ")
        expect(page.locator(".findings li").first).to_contain_text("node-c3 is silent")
        expect(page.locator("#pods-count")).to_have_text(f"{len(demo_pods())} pods")
        expect(rows(page, "nodes").first).to_contain_text("silent")


def _has_no_place(pod: dict[str, Any]) -> bool:
    """Neither a gate nor a preemption under way keeps it from being placed."""
    status, spec = pod["status"], pod["spec"]
    unplaced = status["phase"] == "Pending" and not spec.get("nodeName")
    return unplaced and not spec.get("schedulingGates") and not status.get("nominatedNodeName")


def test_searches_and_filters(browser: Browser, demo: Path) -> None:
    in_shop = [pod for pod in demo_pods() if pod["metadata"]["namespace"] == "shop"]
    web = [pod for pod in in_shop if "web" in pod["metadata"]["name"]]
    waiting = list(filter(_has_no_place, demo_pods()))
    total = len(demo_pods())
    with shown(browser, demo) as (page, _, _):
        count, search = page.locator("#pods-count"), page.get_by_label("Search pods")
        search.fill("ns:shop")
        expect(count).to_have_text(f"{len(in_shop)} of {total} pods")
        search.fill("NS:shop web-")
        expect(count).to_have_text(f"{len(web)} of {total} pods")
        search.fill("")
        page.get_by_role("combobox", name="What is wrong").select_option(label="no node fits")
        expect(count).to_have_text(f"{len(waiting)} of {total} pods")
        search.fill("no such pod")
        expect(count).to_have_text(f"0 of {total} pods")
        expect(page.locator("#pods-list tbody")).to_contain_text("Nothing matches")
        page.locator(".findings a", has_text="OOMKilled").click()
        expect(rows(page, "pods")).to_have_count(1)
        expect(rows(page, "pods")).to_contain_text("image-resizer")


def test_sorts_either_way_and_says_so(browser: Browser, demo: Path) -> None:
    priorities = [pod["spec"]["priority"] for pod in demo_pods()]
    with shown(browser, demo) as (page, _, _):
        head = page.locator("#pods-list th", has_text="Priority")
        first = rows(page, "pods").first.locator("td").nth(7)
        expect(head).to_have_attribute("aria-sort", "none")
        head.get_by_role("button").click()
        expect(head).to_have_attribute("aria-sort", "descending")
        expect(first).to_have_text(f"{max(priorities):,}")
        head.get_by_role("button").click()
        expect(head).to_have_attribute("aria-sort", "ascending")
        expect(first).to_have_text(f"{min(priorities):,}")
        page.locator("#nodes-list th", has_text="Memory").get_by_role("button").click()
        expect(rows(page, "nodes").first).to_contain_text("node-a3")


def test_keyboard_alone(browser: Browser, demo: Path) -> None:
    with shown(browser, demo) as (page, _, _):
        last = rows(page, "pods").last
        rows(page, "pods").first.get_by_role("link").focus()
        page.keyboard.press("ArrowDown")
        expect(rows(page, "pods").nth(1).get_by_role("link")).to_be_focused()
        page.keyboard.press("End")
        expect(last.get_by_role("link")).to_be_focused()
        expect(last).to_have_attribute("aria-rowindex", str(len(demo_pods()) + 1))
        name = last.get_by_role("link").inner_text()
        page.keyboard.press("Enter")
        expect(page.get_by_role("dialog")).to_be_visible()
        expect(page.locator("#detail-title")).to_contain_text(name)
        page.keyboard.press("Escape")
        expect(page.get_by_role("dialog")).to_be_hidden()
        expect(last.get_by_role("link")).to_be_focused()
        page.keyboard.press("Home")
        expect(rows(page, "pods").first.get_by_role("link")).to_be_focused()


def test_explanations_are_the_words_of_the_command(browser: Browser, demo: Path) -> None:
    words = run("explain", "pod/db-1", "-n", "shop", "--demo").out.splitlines()[1].removeprefix("x ")
    with shown(browser, demo) as (page, _, _):
        page.get_by_label("Search pods").fill("ns:shop db-1")
        rows(page, "pods").get_by_role("link", name="db-1", exact=True).click()
        expect(page.locator("#detail-body .verdict")).to_contain_text(words)
        page.get_by_role("link", name="Node node-c3").click()
        expect(page.locator("#detail-title")).to_have_text("node/node-c3")
        page.get_by_role("link", name="Its 9 pods").click()
        expect(page.locator("#pods-count")).to_have_text(f"9 of {len(demo_pods())} pods")


def test_details_have_an_address(browser: Browser, demo: Path) -> None:
    with shown(browser, demo) as (page, _, _):
        title, dialog, before = page.locator("#detail-title"), page.get_by_role("dialog"), page.url
        page.locator("#workloads tbody a", has_text="trainer-v9c4m").click()
        expect(title).to_have_text("pod/trainer-v9c4m in ml")
        assert page.url == f"{before}#/pod/ml/trainer-v9c4m"
        page.go_back()
        expect(dialog).to_be_hidden()
        page.goto(f"{before}#pod/shop/db-1")
        expect(title).to_have_text("pod/db-1 in shop")
        page.locator("#detail-body .verdict a", has_text="node-c3").click()
        expect(title).to_have_text("node/node-c3")
        page.go_back()
        expect(title).to_have_text("pod/db-1 in shop")
        page.get_by_role("button", name="Close").click()
        expect(dialog).to_be_hidden()
        assert page.url == before
        for part in ("#workloads", "#zones", "#budgets"):
            page.get_by_label("Search pods").fill("no such pod")
            expect(page.locator("#pods-count")).to_contain_text("0 of ")
            row = page.locator(f"{part} tr", has_text=re.compile("^shop/(Deployment )?checkout"))
            row.locator("a[href^='#/pods/']").click()
            expect(page.locator("#pods-count")).to_contain_text("7 of ")
        for part in ("#partitions", "#ended"):
            expect(page.locator(f"{part} a", has_text="shop/web-wkmm8tk5p-m7lqd")).to_have_attribute(
                "href", "#/pod/shop/web-wkmm8tk5p-m7lqd"
            )


def test_next_commands_are_copied(browser: Browser, demo: Path) -> None:
    with shown(browser, demo, permissions=["clipboard-read", "clipboard-write"]) as (page, _, _):
        page.locator("#partitions .commands li", has_text="fence").get_by_role("button").click()
        expect(page.locator("#partitions .commands")).to_contain_text("Copied")
        assert page.evaluate("navigator.clipboard.readText()") == "kubectl qos fence node/node-c3 --demo"


def test_decisive_columns_are_whole_on_a_phone(browser: Browser, demo: Path) -> None:
    with shown(browser, demo) as (page, _, _):
        for width in (375, 1280):
            page.set_viewport_size({"width": width, "height": 800})
            assert page.evaluate("document.documentElement.scrollWidth") == width
            for part in ("#nodes-list", "#pods-list", "#workloads", "#budgets", "#ended", "#partitions"):
                cells = page.locator(f"{part} tbody tr:not(.spacer) > :nth-child(-n + 2)")
                edges, cut = cells.evaluate_all(
                    "all => [all.map((one) => one.getBoundingClientRect().right),"
                    " all.map((one) => one.scrollWidth > one.clientWidth + 1)]"
                )
                assert max(edges) <= width, (part, width)
                assert not any(cut), (part, width)
        broken = "image-resizer-t7fpjd79c-t6pxj"
        expect(page.locator("#pods-list th", has_text=broken)).to_have_css("height", "36px")


def test_dark_and_light(browser: Browser, demo: Path) -> None:
    def background(page: Page) -> str:
        return str(page.evaluate("getComputedStyle(document.body).backgroundColor"))

    with shown(browser, demo, color_scheme="light") as (page, _, _):
        light, toggle = background(page), page.get_by_role("button", name="Dark")
        toggle.click()
        expect(toggle).to_have_attribute("aria-pressed", "true")
        chosen = background(page)
    with shown(browser, demo, color_scheme="dark") as (page, _, _):
        assert background(page) == chosen != light
        page.get_by_role("button", name="Dark").click()
        assert background(page) == light


def test_prints(browser: Browser, demo: Path) -> None:
    with shown(browser, demo, color_scheme="dark") as (page, _, _):
        printed = page.pdf(prefer_css_page_size=True)
        assert 3 <= len(re.findall(rb"/Type\s*/Page\b(?!s)", printed)) <= 8
        assert len(printed) < 2**20, "it has pictures"
        page.emulate_media(media="print")
        expect(page.locator("#nodes .static")).to_be_visible()
        expect(page.locator("#nodes-list")).to_be_hidden()
        assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"


def test_without_a_script(browser: Browser, demo: Path) -> None:
    with shown(browser, demo, java_script_enabled=False) as (page, _, _):
        expect(page.locator(".findings li").first).to_be_visible()
        expect(page.locator("#nodes .static tbody tr")).to_have_count(12)
        expect(page.locator("#pods-list")).to_be_hidden()
        expect(page.locator("#pods noscript")).to_be_visible()


def test_bars_and_marks_have_words(browser: Browser, demo: Path) -> None:
    with shown(browser, demo) as (page, _, _):
        unnamed = page.locator("svg:visible:not([aria-hidden]):not([aria-label])")
        expect(unnamed).to_have_count(0)
        page.goto(f"{page.url}#pod/data/postgres-0")
        row = page.locator("#detail-body tr", has_text="postgres[###")
        expect(row).to_match_aria_snapshot("- text: postgres 7.6Gi of 8Gi 95%")
        page.goto(f"{page.url.split('#')[0]}#node/node-c3")
        signs = page.locator("#detail-body .sign").all_inner_texts()
        assert signs
        assert set(signs) <= {"trouble", "notice", "fine"}


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_accessible(browser: Browser, demo: Path, scheme: Any) -> None:
    with shown(browser, demo, color_scheme=scheme) as (page, _, _):
        found = axe_violations(page)
        rows(page, "pods").first.get_by_role("link").click()
        found += axe_violations(page)
        assert [(one["id"], one["impact"], one["nodes"][0]["html"][:200]) for one in found] == []


def test_no_other_script_runs(browser: Browser, demo: Path, tmp_path: Path) -> None:
    """Even if markup got into the page, the policy would not run it."""
    spoilt = tmp_path / "spoilt.html"
    injected = "<script>window.pwned = 1</script><img src=x onerror='window.pwned = 2'></body>"
    spoilt.write_text(demo.read_text(encoding="utf-8").replace("</body>", injected), encoding="utf-8")
    page = browser.new_page()
    page.goto(spoilt.as_uri(), timeout=MILLISECONDS)
    page.wait_for_selector("html[data-ready]", timeout=MILLISECONDS)
    assert page.evaluate("window.pwned") is None
    page.close()


HOSTILE = "</script><script>window.pwned=1</script><!--<img src=x onerror=alert(1)>\u202egnp\u2028\x1b[2J'\"&amp;${1}"


def hostile_cluster(path: Path) -> Path:
    """Names that no API server accepts, as in a manipulated file."""
    long = f"{HOSTILE}{'x' * 300}"
    capacity = {"cpu": "4", "memory": "8Gi", "pods": "110"}
    node = raw_node(
        HOSTILE,
        {"topology.kubernetes.io/zone": HOSTILE},
        taints=[{"key": HOSTILE, "effect": HOSTILE}],
        capacity=capacity,
        allocatable=capacity,
        conditions=[raw_condition("Ready")],
    )
    owner = {"apiVersion": "apps/v1", "kind": HOSTILE, "name": HOSTILE, "uid": "u", "controller": True}
    spec: dict[str, Any] = {"nodeName": HOSTILE, "priority": 5, "priorityClassName": HOSTILE}
    pods = [
        raw_pod(
            name,
            HOSTILE,
            uid=str(number),
            metadata={"ownerReferences": [owner]},
            containers=[raw_container(HOSTILE, {"memory": "1Gi"})],
            **spec,
            status={"phase": "Failed" if number else "Running", "reason": HOSTILE, "message": HOSTILE},
        )
        for number, name in enumerate((HOSTILE, long))
    ]
    healthy = {"currentHealthy": 1, "desiredHealthy": 2}
    selects: dict[str, Any] = {"selector": {"matchLabels": {}}}
    budget = raw_object("PodDisruptionBudget", HOSTILE, HOSTILE, spec=selects, status=healthy)
    path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": [node, *pods, budget]}), encoding="utf-8")
    return path


def test_hostile_names_are_text(browser: Browser, tmp_path: Path) -> None:
    page_file = tmp_path / "hostile.html"
    ran = run("report", "--all", "--snapshot", str(hostile_cluster(tmp_path / "c.json")), "-o", str(page_file))
    assert ran.code == 0, ran.err
    assert not set(page_file.read_text(encoding="utf-8")) & set("\x1b\u202e\u2028")
    with shown(browser, page_file) as (page, _, _):
        assert page.evaluate("window.pwned") is None
        name = rows(page, "pods").first.get_by_role("link")
        expect(name).to_contain_text("</script><script>window.pwned=1</script><!--")
        expect(name).to_contain_text("\\u202e")
        name.click()
        expect(page.locator("#detail-title")).to_contain_text("<img src=x onerror=alert(1)>")
        assert "kubectl qos explain pod/<" not in page.locator("#detail-body").inner_text()
        page.keyboard.press("Escape")
        # The count is the same before the search, so another search comes first.
        page.get_by_label("Search pods").fill("no such pod")
        expect(page.locator("#pods-count")).to_have_text("0 of 2 pods")
        page.get_by_label("Search pods").fill("</script>")
        expect(page.locator("#pods-count")).to_have_text("2 pods")
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), "the page is wider than its window"
        assert [one["id"] for one in axe_violations(page) if one["impact"] in SERIOUS] == []


def test_large_cluster_stays_small(browser: Browser, tmp_path: Path) -> None:
    """The page's tree does not grow with the cluster; `make report-scale` measures ten times as many."""
    size = Size(500, 15_000)
    text = document(cluster_report(large_facts(size)), FullExplanations(), Target())
    assert len(text.encode()) < LARGEST / 10
    path = tmp_path / "large.html"
    path.write_text(text, encoding="utf-8")
    with shown(browser, path) as (page, _, _):
        expect(page.locator("#pods-count")).to_have_text("15,000 pods")
        assert page.evaluate("document.getElementsByTagName('*').length") < 6000
        page.get_by_label("Search pods").fill("node:ip-10-0-1-7 app-1")
        expect(page.locator("#pods-count")).not_to_have_text("15,000 pods")
        expect(rows(page, "pods").first).to_contain_text("ip-10-0-1-7")
        page.get_by_label("Search pods").fill("")
        expect(page.locator("#pods-count")).to_have_text("15,000 pods")
        rows(page, "pods").first.get_by_role("link").focus()
        page.keyboard.press("End")
        expect(rows(page, "pods").last).to_have_attribute("aria-rowindex", "15001")
        rows(page, "nodes").first.get_by_role("link").click()
        expect(page.locator("#detail-body h3").first).to_contain_text("Whom the kernel kills first")
        expect(page.locator("#detail-body ol").first.locator("li").first).to_be_visible()
