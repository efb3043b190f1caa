"""Checkouts on one machine share the base of their images, and nothing else."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.image.builder import Builder
from tests.waiting import wait_for

DOCKERFILE = """\
ARG BASE
FROM ${BASE} AS dependencies
FROM dependencies AS stripped
RUN python3 -c 'print(1 + 1)' > /mark
FROM scratch
COPY --from=stripped /mark /
"""


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """Another checkout, of another image."""
    folder = tmp_path / "tree"
    folder.mkdir()
    (folder / "Dockerfile").write_text(DOCKERFILE, encoding="utf-8")
    return folder


@pytest.fixture
def other(builder: Builder, tree: Path) -> Builder:
    """Its builder."""
    return builder.of(tree)


def test_checkouts_do_not_meet(builder: Builder, other: Builder, tree: Path) -> None:
    # Two runs of the same checkout at the same time, as well.
    with other.image() as first, other.image() as second:
        assert first.root != second.root
        assert builder.images() & other.images() == {builder.base_id()}
        for image in (first, second):
            assert [(file.name, file.read_text(encoding="utf-8")) for file in image.root.iterdir()] == [("mark", "2\n")]
        # While they run, their images stay, although the tree is gone.
        shutil.rmtree(tree)
        builder.remove_stale()
        assert (second.root / "mark").exists()
    builder.remove_stale()
    # Unless another run on this machine is just at it.
    wait_for(lambda: not other.folder.exists(), "it is removed")
    assert builder.base_id()


def _containers(builder: Builder) -> list[str]:
    return builder.buildah("containers", "--format", "{{.ContainerName}}").split()


def test_remains_of_a_killed_run_are_removed(builder: Builder, other: Builder, tree: Path) -> None:
    with other.image():
        other.buildah("from", "--name", "left", "scratch")
        other.buildah("mount", "left")
        # A run cannot know which parallel run owns the container.
        with other.image():
            assert "left" in _containers(other)
    with other.image():
        assert "left" not in _containers(other)
    shutil.rmtree(tree)
    builder.remove_stale()
    # Unless another run on this machine is just at it.
    wait_for(lambda: not other.folder.exists(), "it is removed")
