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

import pytest
import yaml

from podrules import __version__
from release.build import CHART, ROOT, build_chart, build_packages
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


def test_wheel_alone_is_installed_used_and_taken_away(
    built: Built, wheels: Path, alone: dict[str, str], tmp_path: Path
) -> None:
    venv = tmp_path / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", venv], check=True)
    pip = (sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet", "--python", venv / "bin" / "python")
    pinned = ("--no-index", "--find-links", wheels, "--require-hashes", "-r", ROOT / "requirements" / "plugin.txt")
    # Bytecode of the dependencies would take longer to make than all the rest.
    _run(*pip, "install", "--no-compile", *pinned, environment=alone)
    before = _files(venv)

    _run(*pip, "install", "--no-index", "--no-deps", built.wheel, environment=alone)
    user = _bare(tmp_path)
    assert _run(venv / "bin" / "kubectl-qos", *QUESTION, environment=user) == ANSWER
    assert _run(venv / "bin" / "kubectl-qos", "--version", environment=user) == f"kubectl-qos {__version__}\n"

    _run(*pip, "uninstall", "--yes", "kubectl-qos", environment=alone)
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
    # kubectl finds it if the whole archive is unpacked onto PATH; Krew links only the program.
    candidates = _run(unpacked / "kubectl_complete-qos", "expl", environment=user)
    assert candidates.splitlines()[0].startswith("explain")
    assert (store / "LICENSE").read_bytes() == (ROOT / "LICENSE").read_bytes()


def _sums(folder: Path) -> dict[str, str]:
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in folder.iterdir()}


def test_the_same_commit_gives_the_same_packages(built: Built, tmp_path: Path) -> None:
    build_packages(tmp_path, built.environment)
    names = {f"kubectl_qos-{__version__}-py3-none-any.whl", f"kubectl_qos-{__version__}.tar.gz"}
    assert _sums(tmp_path) == {name: digest for name, digest in _sums(built.folder).items() if name in names}
    assert set(_sums(tmp_path)) == names


@pytest.mark.long(
    "test_the_same_commit_gives_the_same_packages, test_executable_is_installed_as_krew_does_it and "
    "test_packaged_chart_renders_as_the_folder, each for its part"
)
def test_a_release_from_nothing_has_the_same_bytes(
    built: Built, wheels: Path, alone: dict[str, str], helm: Path, tmp_path: Path
) -> None:
    """By the command line of `make dist`, with nothing kept from before, and with all that belongs to a release."""
    out = tmp_path / "dist"
    path = os.pathsep.join([str(helm.parent), alone["PATH"]])
    command = (sys.executable, "-m", "release.build", "--out", out, "--wheels", wheels)
    _run(*command, environment=alone | {"PATH": path, "PEX_ROOT": str(tmp_path / "pex"), "PYTHONPATH": str(ROOT)})

    made = _sums(out)
    assert made.items() > _sums(built.folder).items()
    listed = (line.split() for line in (out / "SHA256SUMS").read_text(encoding="utf-8").splitlines())
    assert {name: digest for digest, name in listed} == {name: made[name] for name in made if name != "SHA256SUMS"}
    assert set(made) - set(_sums(built.folder)) == {"SHA256SUMS", "qos.yaml", f"qos-webhook-{__version__}.tgz"}
    assert (out / "qos.yaml").read_text(encoding="utf-8") == manifest(__version__, out.as_uri(), [built.archive])


def test_packaged_chart_renders_as_the_folder(tmp_path: Path, helm: Path, built: Built) -> None:
    epoch = int(built.environment["SOURCE_DATE_EPOCH"])
    first, second = tmp_path / "first", tmp_path / "second"
    for folder in (first, second):
        folder.mkdir()
        build_chart(folder, str(helm), epoch)
    (package,) = first.iterdir()
    assert package.name == f"qos-webhook-{__version__}.tgz"
    assert package.read_bytes() == (second / package.name).read_bytes()
    render = (helm, "template", "release-name", "--namespace", "qos-system", "--set=image.repository=localhost/qos")
    environment = _bare(tmp_path)
    assert _run(*render, package, environment=environment) == _run(*render, CHART, environment=environment)


def test_one_version_for_all(built: Built) -> None:
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text(encoding="utf-8"))
    assert chart["version"] == chart["appVersion"] == __version__
    assert f"-{__version__}-" in built.wheel.name
