"""The fixtures and settings of all tests."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Generator, Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.internal.conjecture import providers
from hypothesis.internal.constants_ast import Constants

from cluster_io.live import client
from tests.controlplane.fixtures import no_pods_stay
from tests.gate.collection import pytest_addoption, pytest_collection_modifyitems, pytest_configure
from tests.required import in_ci

__all__ = [
    "no_pods_stay",
    "patient_connections",
    "pytest_addoption",
    "pytest_collection_modifyitems",
    "pytest_configure",
    "runtime",
]

# Generated examples are the same in every CI run, so that a failure depends on the change and not on chance.
# The speed of their generation does not matter.
settings.register_profile("here", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("ci", settings.get_profile("here"), derandomize=True)
settings.load_profile("ci" if in_ci() else "here")
# Texts have the width of a pipe, whatever the width of the developer's terminal.
os.environ.pop("COLUMNS", None)
if in_ci():
    # Constants of the product are among what is drawn, and chance goes on otherwise with each module that is loaded:
    # by which files came before on a worker.
    providers._get_local_constants = Constants


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print each reason for skipped tests once."""
    skipped = terminalreporter.stats.get("skipped", [])
    reasons = Counter(str(report.longrepr[2]).removeprefix("Skipped: ") for report in skipped)
    for reason, count in reasons.items():
        terminalreporter.write_line(f"{count} skipped: {reason}")


@pytest.fixture(scope="session", autouse=True)
def patient_connections() -> Iterator[None]:
    """Our client waits long for a connection, too: a machine that stands still makes none late."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(client, "_CONNECT_SECONDS", 60.0)
        yield


@pytest.fixture
def runtime(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """XDG_RUNTIME_DIR of a plugin, with a short path: sockets with too long a path are put elsewhere."""
    return tmp_path_factory.mktemp("run")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Logs that hold half a character, as hostile names do, are escaped: no report could be sent with one."""
    report = yield
    report.sections = [
        (name, content.encode("utf-8", "backslashreplace").decode("utf-8")) for name, content in report.sections
    ]
    return report
