"""Renders the charts of a project with helm, with their own values and no cluster."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import yaml

from podrules.api.features import REFERENCE_VERSION
from tests.corpus.sources import Repository, Text

_CHART: Final = "Chart.yaml"


def rendered(helm: Path, repository: Repository) -> Iterator[Text]:
    """The manifests of each chart that helm can render, by the path of the chart.

    A chart inside another comes with that one. Left out are charts that need others from elsewhere.

    Args:
        helm: The program.
        repository: The project's.
    """
    for below in _charts(repository):
        with tempfile.TemporaryDirectory(prefix="chart-") as folder:
            repository.unpack(below, Path(folder))
            if made := _render(helm, Path(folder) / below):
                yield Text(f"{below}/" if below else "./", made)


def _charts(repository: Repository) -> list[str]:
    folders = sorted(str(Path(path).parent) for path in repository.paths() if Path(path).name == _CHART)
    outer = [one for one in folders if not any(one.startswith(f"{other}/charts/") for other in folders)]
    return ["" if one == "." else one for one in outer]


def _render(helm: Path, chart: Path) -> str:
    """The manifests, without those that differ each time, as made-up certificates do; empty: helm cannot render it."""
    first, second = (_documents(_template(helm, chart)) for _ in range(2))
    return "\n---\n".join(one for one, other in zip(first, second, strict=False) if one == other)


def _template(helm: Path, chart: Path) -> str:
    try:
        about = yaml.safe_load((chart / _CHART).read_text(encoding="utf-8"))
    except (OSError, yaml.YAMLError):
        return ""
    if not isinstance(about, dict) or about.get("type") == "library":
        return ""
    with tempfile.TemporaryDirectory(prefix="helm-") as home:
        own = {f"HELM_{part}_HOME": home for part in ("CACHE", "CONFIG", "DATA")}
        command = (helm, "template", "corpus", chart, f"--kube-version={REFERENCE_VERSION}", "--namespace=default")
        done = subprocess.run(command, env={**os.environ, **own}, capture_output=True, text=True, check=False)
    return "" if done.returncode else done.stdout


def _documents(made: str) -> list[str]:
    return made.removeprefix("---\n").split("\n---\n") if made else []
