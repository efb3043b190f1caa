"""The files in .github: valid, with least privilege, and only with steps that a developer can run with make."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from tests.controlplane.binaries import Unavailable, find_binaries
from tests.required import without
from tests.tree import ROOT, files

GITHUB: Final = ROOT / ".github"
WORKFLOWS: Final = sorted((GITHUB / "workflows").glob("*.yml"))
SCHEMAS: Final = {
    "vendor.github-workflows": tuple(WORKFLOWS),
    "vendor.dependabot": (GITHUB / "dependabot.yml",),
    "vendor.github-issue-config": (GITHUB / "ISSUE_TEMPLATE" / "config.yml",),
    "vendor.github-issue-forms": tuple(
        sorted(path for path in (GITHUB / "ISSUE_TEMPLATE").glob("*.yml") if path.stem != "config")
    ),
}
PINNED: Final = re.compile(r"uses: actions/[a-z-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+")


def _read(path: Path) -> Any:
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def _schema_problems(schema: str, *files: Path) -> str:
    command = (sys.executable, "-m", "check_jsonschema", "--builtin-schema", schema, *map(str, files))
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return "" if done.returncode == 0 else done.stdout + done.stderr


def _actionlint(*files: Path) -> str:
    found = find_binaries(["actionlint"])
    if isinstance(found, Unavailable):
        without(found.reason)
    # Without its optional helpers, so that the result does not depend on the machine.
    command = (str(found["actionlint"]), "-no-color", "-shellcheck=", "-pyflakes=", *map(str, files))
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout


@pytest.mark.parametrize("schema", SCHEMAS)
def test_files_fit_their_schemas(schema: str) -> None:
    assert SCHEMAS[schema]
    assert _schema_problems(schema, *SCHEMAS[schema]) == ""


def test_every_file_is_held_against_a_schema() -> None:
    held = {path for files in SCHEMAS.values() for path in files}
    assert held == set(GITHUB.rglob("*.yml"))


def test_a_wrong_file_is_found(tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.yml"
    wrong.write_text(WORKFLOWS[0].read_text(encoding="utf-8").replace("runs-on", "run-on"), encoding="utf-8")
    assert "run-on" in _schema_problems("vendor.github-workflows", wrong)
    assert "run-on" in _actionlint(wrong)


def test_actionlint_finds_nothing() -> None:
    assert _actionlint(*WORKFLOWS) == ""


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_workflows_run_what_a_person_runs(path: Path) -> None:
    for job in _read(path)["jobs"].values():
        steps = [step["run"] for step in job["steps"] if "run" in step]
        assert steps
        assert {" ".join(step.split()[:2]) for step in steps} <= {".ci/run", "make dist"}


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_workflows_may_read_only_and_end(path: Path) -> None:
    workflow = _read(path)
    assert workflow["permissions"] == {"contents": "read"}
    assert {"group", "cancel-in-progress"} == set(workflow["concurrency"])
    for job in workflow["jobs"].values():
        assert "permissions" not in job
        assert 0 < job["timeout-minutes"] <= 120
        checkouts = [step for step in job["steps"] if step.get("uses", "").startswith("actions/checkout@")]
        assert [step["with"]["persist-credentials"] for step in checkouts] == [False]


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_actions_are_githubs_own_and_pinned(path: Path) -> None:
    uses = [line.strip().removeprefix("- ") for line in path.read_text().splitlines() if "uses:" in line]
    assert uses
    assert [line for line in uses if not PINNED.fullmatch(line)] == []


def test_dependency_updates_cover_every_lock() -> None:
    listed = {
        (update["package-ecosystem"], folder.strip("/"))
        for update in _read(GITHUB / "dependabot.yml")["updates"]
        for folder in update.get("directories", [update.get("directory")])
    }
    kinds = {"go.mod": "gomod", "Dockerfile": "docker", "pyproject.toml": "pip"}
    there = {(kinds[path.name], str(path.parent).strip(".")) for path in files() if path.name in kinds}
    assert listed == there | {("pip", "requirements"), ("github-actions", "")}


def test_security_page_has_no_address_and_valid_links() -> None:
    page = (ROOT / "SECURITY.md").read_text(encoding="utf-8")
    assert not re.search(r"\S+@\S+|mailto:", page)
    links = re.findall(r"\]\(([^)]+)\)", page)
    assert "docs/threat-model.md" in links
    assert [link for link in links if not (ROOT / link).is_file()] == []


def test_pre_commit_runs_what_make_lint_runs() -> None:
    """Each tool of `make lint` is a hook, and a hook that gets no file names gets the same arguments."""
    recipe = re.search(r"^lint:.*\n((?:\t.*\n)+)", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    assert recipe is not None
    lint = [line.strip().replace("$(BIN)", ".venv/bin") for line in recipe[1].splitlines()]
    hooks = [hook for repo in _read(ROOT / ".pre-commit-config.yaml")["repos"] for hook in repo["hooks"]]
    entries = {hook["entry"] for hook in hooks}
    for command in lint:
        tool = command.split()[0]
        own = [entry for entry in entries if entry.split()[0] == tool]
        assert own, f"make lint runs {tool}, and no hook does"
    tools = {command.split()[0] for command in lint}
    assert [entry for entry in entries if entry.split()[0] not in tools] == []
