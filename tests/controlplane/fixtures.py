"""Fixtures of the real control plane, for any conftest to import.

However many conftests import them, one control plane runs in a session: it is kept with pytest's configuration and
stopped when that is closed, also after failures and Ctrl-C.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.controlplane.binaries import Binaries, Unavailable, find_binaries, names_of
from tests.controlplane.client import ApiError, Object
from tests.controlplane.control_plane import ControlPlane
from tests.controlplane.custom_kinds import CustomKinds
from tests.required import without
from tests.waiting import wait_for

_RUNNING = pytest.StashKey[ControlPlane]()
# One sequence for the process: names in the shared control plane never meet again.
_NUMBERS = itertools.count(1)


def require_binaries(names: Sequence[str]) -> Binaries:
    """Finds programs, or ends the test: skipped on a person's machine, failed in CI, where they must be."""
    found = find_binaries(names)
    if isinstance(found, Unavailable):
        without(found.reason)
    return found


def require_kinds(control_plane: ControlPlane, kinds: CustomKinds) -> None:
    """Lets the API server know kinds of another project from then on, or ends the test as above."""
    found = kinds.find()
    if isinstance(found, Unavailable):
        without(found.reason)
    names = control_plane.kubectl("apply", "--server-side", "-o", "name", *(f"--filename={file}" for file in found))
    for line in names.stdout.split():
        name = line.partition("/")[2]
        wait_for(partial(_is_served, control_plane, name), f"{name} is served")


def _is_served(control_plane: ControlPlane, name: str) -> bool:
    """Whether each version of a kind can be found and listed, which it can a little after it is established."""
    spec = control_plane.api.get("apiextensions.k8s.io/v1", "CustomResourceDefinition", name)["spec"]
    try:
        for version in spec["versions"]:
            if version["served"]:
                control_plane.api.list_items(f"{spec['group']}/{version['name']}", spec["names"]["kind"])
    except (ApiError, LookupError):
        return False
    return True


@pytest.fixture(scope="session")
def control_plane_binaries() -> Binaries:
    """The programs of the control plane, with kubectl: of the reference, or of the minor in CONTROL_PLANE_MINOR."""
    return require_minor(os.environ.get("CONTROL_PLANE_MINOR", ""))


def require_minor(minor: str) -> Binaries:
    """Finds the programs of a control plane of another minor, as `require_binaries` does; empty: the reference's."""
    names = names_of(minor)
    found = require_binaries(tuple(names.values()))
    return Binaries(paths={plain: found[name] for plain, name in names.items()})


@pytest.fixture(scope="session")
def helm() -> Path:
    """The real helm."""
    return require_binaries(("helm",))["helm"]


@pytest.fixture(scope="session")
def control_plane(control_plane_binaries: Binaries, pytestconfig: pytest.Config) -> ControlPlane:
    """A whole control plane, shared by the session: tests keep to namespaces and nodes of their own."""
    running = pytestconfig.stash.get(_RUNNING, None)
    if running is None:
        running = ControlPlane(control_plane_binaries)
        running.start()
        pytestconfig.add_cleanup(running.stop)
        pytestconfig.stash[_RUNNING] = running
    return running


@pytest.fixture(scope="module", autouse=True)
def no_pods_stay(pytestconfig: pytest.Config) -> Iterator[None]:
    """Pods of one file of tests are gone before the next: the scheduler would put those that wait on its nodes."""
    yield
    if running := pytestconfig.stash.get(_RUNNING, None):
        running.leave_namespaces()


@pytest.fixture
def namespace(control_plane: ControlPlane) -> Iterator[str]:
    """A namespace for one test, with a new name; it has no pods after the test."""
    name = f"test-{next(_NUMBERS)}"
    control_plane.create_namespace(name)
    yield name
    control_plane.leave_namespace(name)


@pytest.fixture
def make_node(control_plane: ControlPlane) -> Iterator[Callable[..., Object]]:
    """Makes nodes for one test: ``ControlPlane.create_node`` with a new name; they are deleted after the test."""
    made = []

    def make(**arguments: Any) -> Object:
        node = control_plane.create_node(f"node-{next(_NUMBERS)}", **arguments)
        made.append(node)
        return node

    yield make
    for node in made:
        control_plane.api.delete(node)
