"""``kubectl qos snapshot``, and answers from its files."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import zlib
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from cluster_io.capture.file import CapturedKind, Header, snapshot_parts
from cluster_io.kinds import LEASES
from kubectl_plugin.parsing.commands import COMMANDS, flags_of
from tests.kubectl_plugin.answers import data, said, write_list
from tests.kubectl_plugin.running import Ran, run

ROOT = Path(__file__).resolve().parents[3]
MANIFESTS = ROOT / "tests" / "testdata" / "manifests"
CONFIG = ("--scheduler-config", "configmap/kube-system/kube-scheduler")
QUESTIONS = {
    "pending": ("explain", "-n", "shop", "pod/checkout-mv9cgvs6p-x2x7p", "-o", "json", *CONFIG),
    "placed": ("explain", "-n", "payments", "pod/ledger-0", "--placement", "-o", "json", *CONFIG),
    "on a silent node": ("explain", "-n", "shop", "pod/db-1", "-o", "json", "--timeline=node-lost"),
    "workload": ("explain", "-n", "shop", "deployment/checkout", "-o", "json", *CONFIG),
    "node": ("explain", "node/node-b4", "-o", "json"),
    "partitions": ("partitions", "-o", "json"),
    "place": ("place", "-f", str(MANIFESTS / "checkout.yaml"), "--replicas", "12", "-o", "json", *CONFIG),
}
USAGE = {"pressure", "pressureUnread", "usage"}
"""Kubelets are not captured."""


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("snapshot") / "cluster.qos"
    ran = run("snapshot", "--demo", "-o", str(file), *CONFIG)
    assert (ran.code, ran.err) == (0, "")
    return file


@pytest.fixture(scope="module")
def anonymous(demo: Path) -> Path:
    file = demo.with_name("anonymous.qos")
    assert run("snapshot", "--snapshot", str(demo), "-o", str(file), "--anonymise").code == 0
    return file


@pytest.mark.parametrize("question", QUESTIONS)
def test_snapshot_and_cluster_give_the_same_answers(demo: Path, question: str) -> None:
    words = QUESTIONS[question]
    asked, kept = run(*words, "--demo"), run(*words, "--snapshot", str(demo))

    assert (kept.code, kept.err) == (asked.code, asked.err)
    assert _without_usage(json.loads(kept.out)) == _without_usage(json.loads(asked.out))


def test_node_shows_unknown_usage(demo: Path) -> None:
    """The kubelet that reports it is not captured; the demo does not have the usage of node-b4, either."""
    sources = ("--demo",), ("--snapshot", str(demo))
    asked, kept = (data("explain", "node/node-b2", *source) for source in sources)
    assert asked.pop("verdict")["code"] == "NearMemoryLimit"
    verdict = kept.pop("verdict")
    assert verdict["code"] == "Ready"
    assert "Its usage is unknown, and so is the headroom before an eviction." in verdict["text"]
    assert _without_usage(kept) == _without_usage(asked)


def test_to_standard_output(demo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same bytes as in a file, no other output, and no file of that name."""
    monkeypatch.chdir(tmp_path)
    words = [sys.executable, "-m", "kubectl_plugin", "snapshot", "--demo", "-o", "-", *CONFIG]
    done = subprocess.run(
        words, capture_output=True, check=True, cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(ROOT)}
    )

    assert done.stdout == demo.read_bytes()
    assert not list(tmp_path.iterdir())
    printed = done.stderr.decode()
    assert printed.startswith("standard output, of the demo cluster")
    assert "configmaps" not in printed.partition("Not captured")[2]
    assert "kubectl" not in printed


_NO_FILES = ("JSON", "name", "html", "jsonpath={.name}")


@pytest.mark.parametrize(
    ("command", "name"),
    [
        *(("snapshot", name) for name in (*_NO_FILES, "wide", "json", "yaml", "markdown")),
        *(("report", name) for name in _NO_FILES),
    ],
)
def test_format_name_is_not_a_file(command: str, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    ran = run(command, "--demo", "-o", name)

    assert (ran.code, ran.out) == (2, "")
    assert f'error: -o "{name}": a format, and this command has ' in ran.err
    assert f"-o ./{name} for a file of that name, or -o - for standard output" in ran.err
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("command", ["snapshot", "report"])
def test_file_may_be_named_like_a_format(command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(command, "--demo", "-o", "./json").code == 0
    assert [file.name for file in tmp_path.iterdir()] == ["json"]


def test_every_format_of_every_command_is_known() -> None:
    """The value of -o of one command is typed after -o of another."""
    for command in COMMANDS:
        for flag in (flag for flag in flags_of(command).values() if "--output" in flag.names):
            for name in flag.choices:
                assert run("snapshot", "--demo", "-o", name).code == 2, name


def _without_usage(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_usage(entry) for key, entry in value.items() if key not in USAGE | {"source", "unread"}}
    return [_without_usage(entry) for entry in value] if isinstance(value, list) else value


def test_contents_are_listed(demo: Path, anonymous: Path) -> None:
    ran = run("snapshot", "--demo", "-o", str(demo.with_name("again.qos")))

    page = " ".join(ran.out.split())
    assert re.search(r"again\.qos, of the demo cluster v1\.36\.3 at 2026-10-17 03:11:00 UTC", page)
    assert re.search(r"Captured 12 nodes, 126 pods and 18 other kinds in [0-9.]+KiB\.", page)
    assert "There are no replicationcontrollers, limitranges" in page
    assert "configmaps: none was named with --scheduler-config" in page
    assert f"--snapshot={demo.with_name('again.qos')}" in page
    third = said("snapshot", "--snapshot", str(anonymous), "-o", str(demo.with_name("third.qos")))
    assert "events: not in the snapshot it is made of" in third


def test_anonymised_snapshot_gives_the_same_answers(demo: Path, anonymous: Path) -> None:
    """Each pod of a namespace keeps its class, scores, chances and priority; its original name cannot be determined."""
    asked, kept = (run("explain", "pods", "-o", "json", "--snapshot", str(file)) for file in (demo, anonymous))
    assert (asked.code, kept.code) == (0, 0)

    before, after = (Counter(map(_shown, _items(ran))) for ran in (asked, kept))

    assert before == after
    assert sum(before.values()) > 20
    assert len(before) > 10
    # Whole words: the letters of a replacement are random and may contain a short name.
    named, before_all, after_all = (
        set(re.findall(r"[a-z0-9]{4,}", text))
        for text in (" ".join(item["name"] for item in _items(asked)), asked.out, kept.out)
    )
    assert {"checkout", "cart", "search"} <= named <= before_all
    assert not named & after_all


def _items(ran: Ran) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = json.loads(ran.out)["items"]
    return items


def _shown(pod: dict[str, Any]) -> str:
    """A pod's explanation without names."""
    counts = re.findall(r"\b\d+(?:/\d+)?\b", re.sub(r"\{.*?\}", "", (pod["placement"] or {}).get("message", "")))
    scores = [sorted(entry["value"] for entry in node["containers"]) for node in pod["oom"]]
    requests = pod["resources"]["requests"]
    owner = (pod["owner"]["guarantee"], pod["owner"]["kind"])
    return json.dumps([pod["qos"]["qosClass"], scores, pod["priority"]["priority"], owner, requests, counts])


def test_every_command_that_reads_a_cluster_takes_one() -> None:
    pages = {command: run(command, "--help").out for command in COMMANDS}

    assert {name for name, page in pages.items() if "--snapshot FILE" in page} >= {"explain", "node", "place"}
    assert [name for name, page in pages.items() if ("qos options" in page) != ("--snapshot FILE" in page)] == []


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (("delete", "pod/db-0", "-n", "shop", "--confirm"), 2, "a snapshot cannot be changed"),
        (("explain", "pod/db-7", "-n", "shop"), 3, 'no pod "db-7" in shop\nDid you mean pod/db-'),
        (("place", "-f", "-", "--scheduler-config", "configmap/other/config"), 3, 'no configmap "config"'),
    ],
)
def test_unanswered_questions_are_named(demo: Path, words: tuple[str, ...], code: int, message: str) -> None:
    ran = run(*words, "--snapshot", str(demo), stdin=(MANIFESTS / "checkout.yaml").read_text())

    assert (ran.code, ran.out) == (code, "")
    assert message in ran.err


def test_broken_file(demo: Path, tmp_path: Path) -> None:
    file = tmp_path / "cut.qos"
    file.write_bytes(demo.read_bytes()[:-100])

    ran = run("snapshot", "--snapshot", str(file), "-o", str(tmp_path / "c.qos"))

    assert (ran.code, ran.out) == (6, "")
    assert ran.err.startswith(f"error: {file}: it is not whole, or was changed: ")
    assert not (tmp_path / "c.qos").exists()


@pytest.mark.skipif(sys.platform != "linux", reason="memory is limited on Linux only")
def test_file_that_expands_beyond_the_memory(tmp_path: Path) -> None:
    """A file of 65 KB with 64 million Leases."""
    raw = b"\xdd" + (1 << 26).to_bytes(4, "big") + b"\x80" * (1 << 26)
    block = zlib.compress(raw)
    leases = CapturedKind(LEASES.rbac_name, count=1 << 26, length=len(block), size=len(raw))
    header = Header(datetime.now(UTC), "1.2.3", "v1.36.3", "shop", anonymised=False, kinds=())
    magic, *_ = snapshot_parts(header, {})
    head = msgspec.json.encode(replace(header, kinds=(leases,)))
    file = tmp_path / "bomb.qos"
    file.write_bytes(magic + len(head).to_bytes(4, "big") + head + block)

    ran = _in_a_process("snapshot", "--snapshot", str(file), "-o", str(tmp_path / "c.qos"), most=1 << 29)

    assert file.stat().st_size < 100_000
    assert (ran.returncode, ran.stdout) == (6, "")
    assert ran.stderr == "error: out of memory: the content of the files needs more than 6 GiB\n"
    assert not (tmp_path / "c.qos").exists()


@pytest.mark.skipif(sys.platform != "linux", reason="memory is limited on Linux only")
def test_memory_is_limited_for_files(demo: Path, tmp_path: Path) -> None:
    ran = _in_a_process("snapshot", "--snapshot", str(demo), "-o", str(tmp_path / "c.qos"), most=-1)

    assert (ran.returncode, ran.stderr) == (0, "")
    assert ran.stdout.endswith(f"\n{6 << 30}\n")


def _in_a_process(*arguments: str, most: int) -> subprocess.CompletedProcess[str]:
    """Run a command; its last line is the limit of its memory in bytes, unless it fails.

    Args:
        arguments: What is typed.
        most: The hard limit of its memory in bytes; -1: none.
    """
    code = (
        "import resource, sys; from kubectl_plugin.cli import main; code = main(); "
        "code or print(resource.getrlimit(resource.RLIMIT_AS)[0]); sys.exit(code)"
    )
    return subprocess.run(
        ["prlimit", f"--as={most}:{most}", sys.executable, "-c", code, *arguments],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
        timeout=300,
    )


def test_lists_of_kubectl_have_no_time(tmp_path: Path) -> None:
    file = write_list(tmp_path / "c.json", [])
    ran = run("snapshot", "--snapshot", file, "-o", str(tmp_path / "c.qos"))
    assert ran.code == 6
    assert "has no capture time" in ran.err


def test_non_files_are_not_replaced(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)

    ran = run("snapshot", "--demo", "-o", str(pipe))

    assert (ran.code, ran.out) == (1, "")
    assert ran.err == f"error: {pipe}: cannot be written: it is no regular file\nName a new file\n"
