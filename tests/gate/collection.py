"""The gate's hooks of pytest: its options, the order of tests, and a record of each outcome."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO

import pytest

from tests.gate.tiers import in_order, seconds_by_file, shuffled


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options that ``python -m tests.gate`` gives."""
    group = parser.getgroup("gate")
    group.addoption("--long", action="store_true", help="also run tests marked long")
    group.addoption("--shuffle", type=int, metavar="SEED", help="run files, and the tests of each, in random order")
    group.addoption("--record", type=Path, metavar="FILE", help="append each test's outcome to FILE, as lines of JSON")


def pytest_configure(config: pytest.Config) -> None:
    """Record outcomes in the main process, not in the workers of pytest-xdist."""
    file: Path | None = config.getoption("--record")
    if file is not None and not hasattr(config, "workerinput"):
        stream = file.open("a", encoding="utf-8")
        config.add_cleanup(stream.close)
        config.pluginmanager.register(Recorder(stream))


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselect long tests, and sort the others."""
    named = any("::" in argument for argument in config.args)
    if not named and not config.getoption("--long"):
        config.hook.pytest_deselected(items=[item for item in items if item.get_closest_marker("long")])
        items[:] = [item for item in items if not item.get_closest_marker("long")]
    seed: int | None = config.getoption("--shuffle")
    items[:] = in_order(items, seconds_by_file()) if seed is None else shuffled(items, seed)


class Recorder:
    """Writes a line for the tests that are to run, and one for each phase of each."""

    def __init__(self, stream: IO[str]) -> None:
        self._stream = stream

    @pytest.hookimpl(trylast=True)
    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """The tests to run, where this process runs them itself."""
        self._write_collected([item.nodeid for item in session.items])

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, ids: Sequence[str]) -> None:
        """The tests to run, as each worker finds them."""
        self._write_collected(ids)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Of a phase: setup, call or teardown."""
        self._write(report.nodeid, report.when, report.outcome, report.duration, report)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Of a file that could not be loaded."""
        if report.failed:
            self._write(report.nodeid, "collect", report.outcome, 0, report)

    def _write(
        self, node_id: str, phase: str, outcome: str, seconds: float, report: pytest.TestReport | pytest.CollectReport
    ) -> None:
        text = report.longreprtext if outcome == "failed" else ""
        line = {"id": node_id, "phase": phase, "outcome": outcome, "seconds": round(seconds, 3), "text": text}
        self._write_line(line)

    def _write_collected(self, ids: Sequence[str]) -> None:
        self._write_line({"collected": list(ids)})

    def _write_line(self, line: Mapping[str, object]) -> None:
        self._stream.write(json.dumps(line) + "\n")
        self._stream.flush()
