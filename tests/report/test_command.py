"""`kubectl qos report`: the file, its permissions, and the messages about it."""

from __future__ import annotations

import gzip
import hashlib
import json
import re
import subprocess
import sys
import zipfile
from base64 import b64decode, b64encode
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
import yaml

from cluster_io.demo import demo_objects
from kubectl_plugin.html.data import embedded
from tests.kubectl_plugin.running import run
from tests.objects import raw_pod

ROOT = Path(__file__).resolve().parents[2]


class Read(HTMLParser):
    """Texts of scripts and styles, attributes, and words."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.blocks: list[tuple[str, dict[str, str | None], str]] = []
        self.attributes: list[tuple[str, str, str]] = []
        self.words: list[str] = []
        self._open: list[tuple[str, dict[str, str | None]]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.attributes += [(tag, key, value or "") for key, value in attrs]
        if tag in {"script", "style"}:
            self._open.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        if self._open and self._open[-1][0] == tag:
            self._open.pop()

    def handle_data(self, data: str) -> None:
        if self._open:
            self.blocks.append((*self._open[-1], data))
        else:
            self.words.append(data)

    @property
    def data(self) -> dict[str, Any]:
        """What the script gets."""
        (block,) = [text for _, attributes, text in self.blocks if attributes.get("id") == "data"]
        found: dict[str, Any] = json.loads(block)
        return found

    @property
    def said(self) -> str:
        return " ".join(" ".join(self.words).split())


def written(*arguments: str) -> Read:
    ran = run("report", *arguments, "-o", "-")
    assert (ran.code, ran.err) == (0, ""), ran.err
    return Read(ran.out)


def pods_of(namespace: str) -> set[str]:
    return {
        entry["metadata"]["name"]
        for entry in demo_objects()
        if entry["kind"] == "Pod" and entry["metadata"]["namespace"] == namespace
    }


def test_two_runs_write_the_same(demo: Path, tmp_path: Path) -> None:
    again = tmp_path / "again.html"
    again.write_text("what was there before")
    ran = run("report", "--all", "--demo", "-o", str(again))
    assert again.read_bytes() == demo.read_bytes()
    assert (
        f"Written, {again.stat().st_size / 1024:.0f}KiB: 12 nodes and 126 pods, each with its explanation." in ran.out
    )
    assert run("report", "--all", "--demo", "-o", "-").out == demo.read_text(encoding="utf-8")


def test_a_list_without_a_time_gives_the_same_page_later(tmp_path: Path) -> None:
    listed = tmp_path / "c.json"
    listed.write_text(json.dumps({"kind": "List", "apiVersion": "v1", "items": demo_objects()}))
    first = written("--all", "--snapshot", str(listed))
    assert first.said == written("--all", "--snapshot", str(listed)).said
    assert "node-c3 is silent" in first.said


def test_loads_nothing_and_runs_only_its_own(demo: Path) -> None:
    page = Read(demo.read_text(encoding="utf-8"))
    addresses = [value for _, key, value in page.attributes if key in {"src", "href", "action", "data", "srcset"}]
    assert {value for value in addresses if not value.startswith("#")} == {"data:,"}
    assert not [key for _, key, _ in page.attributes if key.startswith("on") or key == "style"]
    (policy,) = [value for tag, key, value in page.attributes if tag == "meta" and key == "content" and "-src" in value]
    assert "default-src 'none'" in policy
    for tag, attributes, text in page.blocks:
        if tag == "style" or not attributes:
            assert f"'sha256-{b64encode(hashlib.sha256(text.encode()).digest()).decode()}'" in policy, tag


def test_scopes() -> None:
    assert set(written("--demo").data["pods"]["name"]) == pods_of("shop")
    other = written("--demo", "-n", "data").data
    assert set(other["pods"]["name"]) == pods_of("data")
    assert len(other["nodes"]["name"]) == 12
    one = written("--demo", "node/node-a1").data
    assert one["nodes"]["name"] == ["node-a1"]
    assert len(one["pods"]["name"]) == one["nodes"]["pods"][0] + 1, "finished pods are listed, and have no requests"
    pod = written("--demo", "-n", "shop", "pod/db-1").data
    assert (pod["pods"]["name"], pod["nodes"]["name"]) == (["db-1"], ["node-c3"])


def test_pods_to_come_are_explained(tmp_path: Path) -> None:
    manifest = tmp_path / "web.yaml"
    manifest.write_text(yaml.safe_dump(raw_pod("coming")))
    said = written("--demo", "-f", str(manifest)).said
    assert "Pods to come pod/coming in namespace shop" in said
    assert "Pods to come" not in written("--demo").said


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        pytest.param(
            ["deployment/web"],
            2,
            '"deployment/web": neither a pod nor a node\nWrite pod/NAME or node/NAME\n',
            id="another kind",
        ),
        pytest.param(["--all", "pod/db-1"], 2, "Leave out --all", id="all and one"),
        pytest.param(["pod/db-9"], 3, "Did you mean pod/db-1 or pod/db-0?", id="no such pod"),
        pytest.param(["node/node-z"], 3, 'no node "node-z"', id="no such node"),
        pytest.param(["-f", "no-such-file.yaml"], 6, "no-such-file.yaml", id="no such manifest"),
    ],
)
def test_errors(arguments: list[str], code: int, message: str, tmp_path: Path) -> None:
    ran = run("report", "--demo", *arguments, "-o", str(tmp_path / "r.html"))
    assert ran.code == code, ran.err
    assert message in ran.err


def test_a_file_that_cannot_be_written(tmp_path: Path) -> None:
    ran = run("report", "--demo", "-o", str(tmp_path / "none" / "r.html"))
    assert (ran.code, ran.out) == (1, "")
    assert "r.html: cannot be written: No such file or directory" in ran.err
    assert not list(tmp_path.iterdir())


def test_snapshots_say_what_they_lack(tmp_path: Path) -> None:
    captured = tmp_path / "c.qos"
    assert run("snapshot", "--demo", "-o", str(captured)).code == 0
    page = written("--all", "--snapshot", str(captured))
    assert "Unknown" in page.said
    assert f"usage of 11 nodes (cp-a1, node-a1, node-a2 and 8 more) is unknown: not in snapshot {captured}" in page.said
    assert {entry[-1] for entry in page.data["nodes"]["memory"]} == {None}, "a snapshot holds no usage"


def test_large_blocks_are_packed_and_whole() -> None:
    content = {"names": [f"name-{number}" for number in range(200_000)]}
    packed = re.search(r">([^<]*)</script>", embedded(content))
    assert packed is not None
    assert json.loads(gzip.decompress(b64decode(packed[1]))) == content
    assert embedded({"a": "</script>\u2028"}) == (
        '<script type="application/json" id="data">{"a":"\\u003c/script\\u003e\\u2028"}</script>'
    )


def test_the_wheel_has_the_page(tmp_path: Path) -> None:
    """Style and script are no Python: they have to come along."""
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True, timeout=120)
    (wheel,) = tmp_path.glob("*.whl")
    assert {"kubectl_plugin/html/page.css", "kubectl_plugin/html/page.js"} <= set(zipfile.ZipFile(wheel).namelist())
