"""The page of a cluster with hostile text in every field: no text becomes an element, an attribute or a script."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import pytest
from playwright.sync_api import Browser

from cluster_io.demo import demo_objects
from tests.kubectl_plugin.running import run, write_cluster
from tests.report.test_page import shown

MARK: Final = "evil"
HOSTILE: Final = (
    "\"'><img src=x onerror=window.pwned=1></title></style></script></template></dialog><script>window.pwned=1</script>"
    f"<!--{MARK}]]>\u202e\u2028\x1b[2J&quot; onload=window.pwned=1 javascript:window.pwned=1;"
    f"}}*{{background:url(//{MARK})}}"
)
_AMOUNT_OR_TIME: Final = re.compile(r"|[-+]?[0-9.]+([numkKMGTPE]i?|e[0-9]+)?|\d{4}-\d\d-\d\dT.*")
_FREE_KEYS: Final = frozenset(
    {"labels", "annotations", "matchLabels", "nodeSelector", "capacity", "allocatable", "requests"}
)
_ENUMERATION: Final = re.compile("[A-Z][A-Za-z]*")
"""``Running``, ``True``, ``NoSchedule``: what Kubernetes has a list of."""
FOUND: Final = """
async () => {
  const happens = (target, what) => new Promise((done) => target.addEventListener(what, done, { once: true }));
  const detail = document.getElementById("detail");
  const found = new Set(), marked = new Set();
  const walk = (root) => {
    for (const element of root.querySelectorAll("*")) {
      found.add(element.tagName);
      for (const { name, value } of element.attributes) {
        found.add(`${element.tagName} ${name}`);
        if (value.includes("evil")) marked.add(name === "href" && value[0] === "#" ? "address" : name);
      }
      if (element.tagName === "TEMPLATE") walk(element.content);
    }
  };
  walk(document);
  for (const list of ["nodes", "pods"]) {
    for (const link of document.querySelectorAll(`#${list}-list tbody a`)) {
      const opened = happens(window, "hashchange"), closed = happens(detail, "close");
      link.click();
      await opened;
      walk(detail);
      detail.close();
      await closed;
    }
  }
  return { found: [...found].sort(), marked: [...marked].sort(), scripts: document.scripts.length };
}
"""
"""All elements and attributes in the page and in what is opened there, and the attributes with hostile text in them."""


def spoiled(entry: Any, path: tuple[str, ...], keep: re.Pattern[str]) -> Any:
    """An object with hostile text in each string, and in each key that a user chooses.

    Args:
        entry: A part of the object.
        path: Its place.
        keep: Texts that stay as they are.
    """
    if isinstance(entry, str):
        kept = path[1:] in {("kind",), ("apiVersion",)} or _AMOUNT_OR_TIME.fullmatch(entry) or keep.fullmatch(entry)
        return entry if kept else f"{entry}{HOSTILE}"
    if isinstance(entry, Mapping):
        free = path[-1] in _FREE_KEYS
        return {
            f"{key}{HOSTILE}" if free and ("/" in key or "l" in path[-1][0]) else key: spoiled(
                value, (*path, key), keep
            )
            for key, value in entry.items()
        }
    return [spoiled(part, path, keep) for part in entry] if isinstance(entry, list | tuple) else entry


@pytest.mark.parametrize(
    "keep",
    [
        pytest.param(_ENUMERATION, id="all but enumerations"),
        pytest.param(
            re.compile("(?!)"), id="all", marks=pytest.mark.long("the other case, test_hostile_names_are_text")
        ),
    ],
)
def test_no_text_of_any_field_is_markup(browser: Browser, demo: Path, tmp_path: Path, keep: re.Pattern[str]) -> None:
    objects = [spoiled(entry, (entry["kind"],), keep) for entry in demo_objects()]
    page_file = tmp_path / "hostile.html"
    manifest = tmp_path / "pod.json"
    manifest.write_text(json.dumps(next(entry for entry in objects if entry["kind"] == "Pod")))
    file = write_cluster(tmp_path / "c.qos", objects)
    ran = run("report", "--all", "--snapshot", file, "-f", str(manifest), "-o", str(page_file))
    assert "12 nodes and 126 pods" in ran.out, ran
    text = page_file.read_text(encoding="utf-8")
    assert text.count(MARK) > 5_000
    assert "Pods to come" in text
    assert not set(text) & set("\x1b\u202e\u2028")

    with shown(browser, demo) as (page, _, _):
        usual = page.evaluate(FOUND)
    with shown(browser, page_file) as (page, _, _):
        hostile = page.evaluate(FOUND)
        assert page.evaluate("window.pwned") is None

    assert set(hostile["found"]) <= set(usual["found"])
    assert hostile["scripts"] == usual["scripts"]
    assert set(hostile["marked"]) == {"address"}
