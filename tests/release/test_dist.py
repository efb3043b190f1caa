"""Releases: installed from what was built alone, used, and taken away."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Mapping
from pathlib import Path

import yaml

from podrules import __version__
from release.build import CHART, ROOT, build_archive, build_chart, build_packages
from release.krew import manifest
from release.platforms import THIS
from tests.controlplane.binaries import Binaries
from tests.release.conftest import Built

QUESTION = ("explain", "--demo", "-n", "shop", "deployment/checkout")
ANSWER = (ROOT / "tests" / "testdata" / "golden" / "deployment.txt").read_text(encoding="utf-8")


def _run(*command: str | Path, environment: Mapping[str, str]) -> str:
    done = subprocess.run(command, capture_output=True, text=True, env=dict(environment), check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def _bare(home: Path, *path: Path) -> dict[str, str]:
    """The environment of a user who has nothing of this project."""
    return {"HOME": str(home), "PATH": os.pathsep.join([*map(str, path), "/usr/bin", "/bin"])}


def _files(folder: Path) -> set[Path]:
    return {path for path in folder.rglob("*") if "__pycache__" not in path.parts}


def test_wheel_alone_is_installed_used_and_taken_away(built: Built, tmp_path: Path) -> None:
    venv = tmp_path / "venv"
    subprocess.run([sys.executable, "-m", "venv", venv], check=True)
    patient = ("--timeout=60", "--retries=10")
    pip = (venv / "bin" / "python", "-m", "pip", "--disable-pip-version-check", "--quiet", *patient)
    _run(*pip, "install", "--require-hashes", "-r", ROOT / "requirements" / "plugin.txt", environment=os.environ)
    before = _files(venv)

    _run(*pip, "install", "--no-index", "--no-deps", built.wheel, environment=os.environ)
    user = _bare(tmp_path)
    assert _run(venv / "bin" / "kubectl-qos", *QUESTION, environment=user) == ANSWER
    assert _run(venv / "bin" / "kubectl-qos", "--version", environment=user) == f"kubectl-qos {__version__}\n"

    _run(*pip, "uninstall", "--yes", "kubectl-qos", environment=os.environ)
    assert _files(venv) == before


def test_executable_is_installed_as_krew_does_it(
    built: Built, tmp_path: Path, control_plane_binaries: Binaries
) -> None:
    """The steps of Krew: check the sum, unpack, take the files that are named, link what runs; then by kubectl."""
    content = yaml.safe_load(manifest(__version__, built.folder.as_uri(), [built.archive]))
    (platform,) = content["spec"]["platforms"]
    assert platform["selector"] == {"matchLabels": {"os": THIS.system, "arch": THIS.arch}}
    archive = Path(platform["uri"].removeprefix("file://"))
    assert hashlib.sha256(archive.read_bytes()).hexdigest() == platform["sha256"]
    unpacked, store, links = tmp_path / "unpacked", tmp_path / "store", tmp_path / "bin"
    with tarfile.open(archive) as packed:
        packed.extractall(unpacked, filter="data")
    for entry in platform["files"]:
        target = store / entry["to"] / entry["from"]
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(unpacked / entry["from"], target)
    links.mkdir()
    (links / "kubectl-qos").symlink_to(store / platform["bin"])

    user = _bare(tmp_path, links, Path(sys.executable).parent)
    printed = _run(control_plane_binaries.paths["kubectl"], "qos", *QUESTION, environment=user)

    assert printed == ANSWER
    # kubectl finds it where somebody unpacks the whole archive onto PATH; Krew links what runs, and nothing else.
    candidates = _run(unpacked / "kubectl_complete-qos", "expl", environment=user)
    assert candidates.splitlines()[0].startswith("explain")
    assert (store / "LICENSE").read_bytes() == (ROOT / "LICENSE").read_bytes()


def test_the_same_commit_gives_the_same_bytes(built: Built, tmp_path: Path) -> None:
    wheel = build_packages(tmp_path, built.environment)
    build_archive(tmp_path, THIS, wheel, built.environment)

    def sums(folder: Path) -> dict[str, str]:
        return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in folder.iterdir()}

    assert sums(tmp_path) == sums(built.folder)


def test_packaged_chart_renders_as_the_folder(tmp_path: Path, helm: Path, built: Built) -> None:
    epoch = int(built.environment["SOURCE_DATE_EPOCH"])
    first, second = tmp_path / "first", tmp_path / "second"
    for folder in (first, second):
        folder.mkdir()
        build_chart(folder, str(helm), epoch)
    (package,) = first.iterdir()
    assert package.name == f"qos-webhook-{__version__}.tgz"
    assert package.read_bytes() == (second / package.name).read_bytes()
    render = (helm, "template", "release-name", "--namespace", "qos-system")
    environment = _bare(tmp_path)
    assert _run(*render, package, environment=environment) == _run(*render, CHART, environment=environment)


def test_one_version_for_all(built: Built) -> None:
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text(encoding="utf-8"))
    assert chart["version"] == chart["appVersion"] == __version__
    assert f"-{__version__}-" in built.wheel.name
