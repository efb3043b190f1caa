"""A format is one module and one entry in `FORMATS`; everything else follows."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from kubectl_plugin.completion import answer
from kubectl_plugin.manual import pages
from kubectl_plugin.options import CommandOptions
from kubectl_plugin.options.shared import OutputFormats
from kubectl_plugin.parsing.commands import COMMANDS, flags_of
from kubectl_plugin.render.formats import FORMATS, Format, Reads, formats_of, load
from tests.kubectl_plugin.running import run
from tests.tree import ROOT

POD = ("explain", "--demo", "-n", "shop", "pod/db-1")


@pytest.fixture
def toy(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The registration, before the commands declare their flags."""
    entry = Format("toy", Reads.REPORTS, "tests.kubectl_plugin.render.toy_format:render_toy", suffixes=("toy",))
    monkeypatch.setitem(FORMATS, entry.name, entry)
    monkeypatch.setattr(CommandOptions, "of_command", {})
    for module in _declarations():
        monkeypatch.delitem(sys.modules, module)
    flags_of.cache_clear()
    yield
    for module in _declarations():
        del sys.modules[module]
    flags_of.cache_clear()


def _declarations() -> list[str]:
    return [name for name in sys.modules if name.startswith("kubectl_plugin.options.") and "_command" in name]


@pytest.mark.usefixtures("toy")
def test_registered_format_is_printed() -> None:
    assert run(*POD, "-o", "toy") == (0, "TOY PodExplanation\n", "")
    assert run("report", "--demo", "-o", "toy").out == "TOY ClusterReport\n"


@pytest.mark.usefixtures("toy")
def test_registered_format_is_in_help_completion_and_manual() -> None:
    assert "toy" in run("explain", "--help").out
    assert "toy" in answer(["explain", "-o"], "t")[0]
    assert "toy" in pages()["kubectl-qos-explain.1"]


@pytest.mark.usefixtures("toy")
def test_registered_format_is_in_the_messages(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    assert "toy" in run(*POD, "-o", "nonsense").err
    assert run(*POD, "-o", "tyo").err.endswith("Did you mean toy?\n")
    assert "a format" in run("snapshot", "--demo", "-o", "toy").err
    assert "Print the data with -o toy" in run("report", "--demo", "-o", "all.toy").err


def test_no_command_knows_the_toy() -> None:
    ran = run(*POD, "-o", "toy")
    assert (ran.code, ran.out) == (2, "")


@pytest.mark.parametrize("entry", FORMATS.values(), ids=lambda entry: entry.name)
def test_every_registration_names_existing_objects(entry: Format) -> None:
    assert callable(load(entry.renderer))
    assert entry.template is None or callable(load(entry.template.parser))


@pytest.mark.parametrize("command", COMMANDS)
def test_formats_of_a_command_come_from_the_table(command: str) -> None:
    offered = next(flag for flag in flags_of(command).values() if "--output" in flag.names).choices
    assert set(offered) <= {entry.typed for entry in FORMATS.values()}
    assert list(offered) == [entry.typed for entry in FORMATS.values() if entry.typed in offered]


def test_command_with_all_features_offers_all_formats() -> None:
    everything = formats_of(wide=True, names=True, findings=True)
    assert OutputFormats(everything).all == tuple(entry.typed for entry in FORMATS.values())


def test_every_format_is_described() -> None:
    pages = [(ROOT / "docs" / name).read_text(encoding="utf-8") for name in ("formats.md", "lint.md")]
    rows = [line.split(" | ")[0] for page in pages for line in page.splitlines() if line.startswith("| `")]
    assert [name for name in FORMATS if not any(f"`{name}`" in row or f"`{name}=" in row for row in rows)] == []
