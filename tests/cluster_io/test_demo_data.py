"""The demo cluster's files match its tables."""

from __future__ import annotations

import json
from importlib.resources import files
from pathlib import Path

from tests.demo_cluster import kubelets_written, objects_written
from tests.golden import check

DEMO = Path(str(files("cluster_io.demo")))


def _line(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def test_objects_are_written_down() -> None:
    lines = ",\n".join(map(_line, objects_written()))
    check(DEMO / "objects.json", f"[\n{lines}\n]\n")


def test_kubelets_are_written_down() -> None:
    lines = ",\n".join(f"{_line(node)}:{_line(said)}" for node, said in kubelets_written().items())
    check(DEMO / "kubelets.json", f"{{\n{lines}\n}}\n")
