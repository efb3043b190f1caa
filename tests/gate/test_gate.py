"""The result of a run of pytest follows from its tests, and a failed test is rerun alone."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.gate.__main__ import rerun_failures
from tests.gate.outcomes import Outcomes
from tests.gate.phases import Suite
from tests.marked import TESTS
from tests.waiting import wait_for

_CONFTEST = "from tests.gate.collection import pytest_addoption, pytest_collection_modifyitems, pytest_configure\n"
_TESTS = """
import pathlib
import pytest

def runs():
    file = pathlib.Path(__file__).with_name("runs")
    count = len(file.read_text()) if file.exists() else 0
    file.write_text("x" * (count + 1))
    return count + 1

def test_good(): pass
def test_bad(): assert 1 == 2
def test_bad_by_chance(): assert runs() != 1
def test_bad_rarely(): assert runs() not in {1, 4}
def test_skipped(): pytest.skip("no need")

@pytest.fixture
def broken(): raise RuntimeError("the fixture broke")
def test_with_a_broken_fixture(broken): pass

@pytest.fixture
def breaks_later():
    yield
    raise RuntimeError("the end broke")
def test_with_a_broken_teardown(breaks_later): pass

@pytest.mark.long("test_good")
def test_long(): pass
"""
_TOGETHER = """
import pytest

ran = []

@pytest.fixture(scope="module", autouse=True)
def shared():
    yield
    raise RuntimeError("the end of what is shared broke")

def test_first(): ran.append(True)
def test_bad_after_others(): assert not ran
def test_last(): pass
"""
_CRASHES = """
import os

def test_crashes(): os._exit(1)
def test_later(): pass
"""
_IS_BROKEN_OFF = """
import pathlib, sys
from tests.gate.phases import Suite
from tests.gate.processes import under_a_reaper
under_a_reaper()
Suite(jobs=1, root=pathlib.Path(sys.argv[1])).run(["test_small.py"])
"""
_WAITS = """
import pathlib, pytest, time
here = pathlib.Path(__file__)

@pytest.fixture
def begun():
    yield
    here.with_name("ended").touch()

def test_waits(begun):
    here.with_name("waits").touch()
    time.sleep(600)
"""


@pytest.fixture
def suite(tmp_path: Path) -> Suite:
    """A small suite of its own."""
    (tmp_path / "conftest.py").write_text(_CONFTEST)
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers = long\n")
    (tmp_path / "test_small.py").write_text(_TESTS)
    # Plugins that are not needed take most of the time.
    variables = {"PYTHONPATH": str(TESTS.parent), "PYTEST_ADDOPTS": "", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    return Suite(jobs=1, root=tmp_path, environment=variables)


def _names(found: Outcomes) -> dict[str, set[str]]:
    kinds = {"passed": found.passed, "failed": set(found.failed), "skipped": found.skipped}
    return {kind: {test.partition("::test_")[2] for test in tests} for kind, tests in kinds.items()}


def test_run_result_follows_from_its_tests(suite: Suite) -> None:
    found = suite.run(["test_small.py"])
    assert _names(found) == {
        "passed": {"good", "bad_rarely"},
        "failed": {"bad", "bad_by_chance", "with_a_broken_fixture", "with_a_broken_teardown"},
        "skipped": {"skipped"},
    }
    texts = {test.partition("::test_")[2]: text for test, text in found.failed.items()}
    assert texts["bad"].startswith("[call]")
    assert "assert 1 == 2" in texts["bad"]
    assert texts["with_a_broken_fixture"].startswith("[setup]")
    assert "the end broke" in texts["with_a_broken_teardown"]
    assert list(found.seconds) == ["test_small.py"]


def test_a_long_test_runs_when_it_is_asked_for(suite: Suite) -> None:
    assert "long" in _names(suite.run(["test_small.py"], ["--long"]))["passed"]
    assert _names(suite.run(["test_small.py::test_long"]))["passed"] == {"long"}


def test_flaky_test_passes_five_times_alone(suite: Suite) -> None:
    def first_of(test: str) -> Outcomes:
        (suite.root / "runs").unlink(missing_ok=True)
        return suite.run([f"test_small.py::{test}"])

    found = first_of("test_bad_by_chance")
    (text,) = found.failed.values()
    assert rerun_failures(suite, found) == {"test_small.py::test_bad_by_chance": text}
    assert _names(found) == {"passed": {"bad_by_chance"}, "failed": set(), "skipped": set()}

    # It fails again at the third of five.
    found = first_of("test_bad_rarely")
    assert rerun_failures(suite, found) == {}
    assert _names(found)["failed"] == {"bad_rarely"}


def test_repeated_failure_after_others_is_no_flake(suite: Suite) -> None:
    (suite.root / "test_small.py").write_text(_TOGETHER)
    found = suite.run(["test_small.py"])
    assert rerun_failures(suite, found) == {}
    assert _names(found) == {"passed": {"first"}, "failed": {"bad_after_others", "last"}, "skipped": set()}
    assert found.failed["test_small.py::test_last"].startswith("[teardown]")


def test_unrun_test_has_failed(suite: Suite) -> None:
    (suite.root / "test_small.py").write_text(_CRASHES)
    found = suite.run(["test_small.py"], ("-p", "xdist.plugin", "-n", "1", "--max-worker-restart=0"))
    assert found.failed.keys() == {"test_small.py::test_crashes", "test_small.py::test_later"}
    assert found.failed["test_small.py::test_later"] == "it did not run"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP], ids=lambda number: number.name)
def test_a_run_that_is_broken_off_ends_its_fixtures(suite: Suite, number: signal.Signals) -> None:
    (suite.root / "test_small.py").write_text(_WAITS)
    run = subprocess.Popen(
        [sys.executable, "-c", _IS_BROKEN_OFF, suite.root],
        cwd=TESTS.parent,
        env={**os.environ, **suite.environment},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    wait_for((suite.root / "waits").exists, "the test runs")
    run.send_signal(number)
    _, said = run.communicate()
    assert said == ""
    assert run.returncode == 128 + number
    assert (suite.root / "ended").exists()


def test_many_failures_are_not_rerun(suite: Suite) -> None:
    found = Outcomes(failed={f"test_small.py::test_bad_by_chance[{number}]": "" for number in range(11)})
    assert rerun_failures(suite, found) == {}
    assert len(found.failed) == 11
    assert not (suite.root / "runs").exists()


@pytest.mark.parametrize(
    ("content", "code"),
    [
        pytest.param("import nothing_of_this_name\n", 2, id="a file that cannot be loaded"),
        pytest.param("", 5, id="none"),
    ],
)
def test_a_run_without_tests_has_failed(suite: Suite, content: str, code: int) -> None:
    (suite.root / "test_small.py").write_text(content)
    found = suite.run(["test_small.py"])
    assert found.failed["pytest"] == f"pytest ended with {code}"
    assert found.passed == set()
