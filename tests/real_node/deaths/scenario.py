"""A scenario of a death: the pod, the act, and the test for its end. Each runs on the real node."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from podrules.ending.died.cause import Cause
from tests.controlplane.client import ApiError, Object
from tests.controlplane.control_plane import ControlPlane
from tests.real_node.node import RealNode
from tests.waiting import wait_for

CONTAINER_STATUSES: Final = ("initContainerStatuses", "containerStatuses")


class World(NamedTuple):
    """The environment of the scenarios."""

    plane: ControlPlane
    node: RealNode


class Scenario(NamedTuple):
    """One pod and its end."""

    cause: Cause
    """The truth."""
    slug: str
    """The event, in a word or two; finer than the cause."""
    variation: str
    objects: tuple[Object, ...]
    """Made in this order."""
    happened: Test
    """Whether it has happened, and its evidence exists."""
    pod: str = ""
    """The pod's name; empty: the oldest pod of the namespace, which an owner makes."""
    container: str = ""
    """Empty: the pod as a whole."""
    ready: Test | None = None
    """When `act` may begin."""
    act: Act | None = None
    settle: float = 3.0
    """Seconds in which events and status arrive."""
    find_container: bool = False
    """The ended container is only known afterwards: the kernel chose it."""

    @property
    def id(self) -> str:
        """``own-memory-limit/init-container``."""
        return f"{self.slug}/{self.variation}"

    @property
    def namespace(self) -> str:
        """Each has its own."""
        return f"{self.slug}-{self.variation}"


class Made:
    """A scenario that is under way."""

    def __init__(self, world: World, scenario: Scenario) -> None:
        self.world = world
        self.scenario = scenario
        self.api = world.plane.api
        self.node = world.node
        self.last: Object = {}
        """The pod as it was last seen."""

    @property
    def namespace(self) -> str:
        """Where it is."""
        return self.scenario.namespace

    # What is there

    def pod(self) -> Object | None:
        """The pod as it is now; None: it is gone, or not there yet."""
        name = self.scenario.pod or self.last.get("metadata", {}).get("name", "") or self._oldest()
        query = {"fieldSelector": f"metadata.name={name}"}
        found = self.api.list_items("v1", "Pod", self.namespace, **query) if name else []
        if not found or (self.last and found[0]["metadata"]["uid"] != self.last["metadata"]["uid"]):
            return None
        self.last = found[0]
        return self.last

    def status(self, container: str = "") -> Object:
        """The status of one container, by default the scenario's, else the first."""
        pod = self.pod() or self.last
        wanted = container or self.scenario.container
        for entry in statuses(pod):
            if entry["name"] == wanted or not wanted:
                return entry
        return {}

    def events(self) -> Sequence[Object]:
        """All events of the namespace."""
        return self.api.list_items("v1", "Event", self.namespace)

    def has_event(self, reason: str, words: str = "") -> bool:
        """Whether there is one with this reason and these words."""
        return any(event["reason"] == reason and words in event.get("message", "") for event in self.events())

    # What is done

    def kill(self, container: str, number: signal.Signals) -> None:
        """Kill the first process of a container, from the node."""
        identity = self.node.containers(self.pod() or {})[container]
        os.kill(self.node.task(identity), number)

    def sandbox(self) -> str:
        """The id of the pod's sandbox."""
        uid = self.last["metadata"]["uid"]
        filters = f'labels."io.kubernetes.pod.uid"=={uid},labels."io.cri-containerd.kind"==sandbox'
        return self.node.ctr("containers", "list", "--quiet", filters).split()[-1]

    def patch(self, patch: Mapping[str, Any], subresource: str | None = None) -> None:
        """Change the pod."""
        self.api.patch(self.last, patch, subresource=subresource)

    def owner(self, kind: str) -> Object:
        """The one object of a kind among those that were made."""
        return next(entry for entry in self.scenario.objects if entry["kind"] == kind)

    def create(self, obj: Mapping[str, Any]) -> None:
        """Add an object."""
        self.api.create(obj)

    def clean_up(self) -> None:
        """Remove all pods and their owners; the namespace stays."""
        for obj in self.scenario.objects:
            if obj["kind"] not in {"Pod", "PriorityClass", "Namespace"}:
                with contextlib.suppress(ApiError):
                    self.api.delete(obj)
        for _ in range(3):
            for pod in self.api.list_items("v1", "Pod", self.namespace):
                with contextlib.suppress(ApiError):
                    if pod["metadata"].get("finalizers"):
                        self.api.patch(pod, {"metadata": {"finalizers": None}})
                    self.api.delete(pod, grace_period_seconds=1)

    def _oldest(self) -> str:
        pods = self.api.list_items("v1", "Pod", self.namespace)
        ordered = sorted(pods, key=lambda pod: (pod["metadata"]["creationTimestamp"], pod["metadata"]["name"]))
        return ordered[0]["metadata"]["name"] if ordered else ""


Test = Callable[[Made], bool]
Act = Callable[[Made], None]


class Phase(NamedTuple):
    """Scenarios that run in parallel, and their requirements on the node."""

    name: str
    scenarios: Sequence[Scenario]
    at_once: int = 0
    """How many; 0: all together, and `trigger` when all of them are ready."""
    before: Callable[[World], None] | None = None
    trigger: Callable[[World], None] | None = None
    after: Callable[[World], None] | None = None
    seconds: float = 120
    """How long each may take to happen."""


def statuses(pod: Mapping[str, Any]) -> Iterator[Object]:
    """Of all containers, init containers last."""
    for field in reversed(CONTAINER_STATUSES):
        yield from pod.get("status", {}).get(field, ())


def killed_containers(pod: Mapping[str, Any]) -> list[str]:
    """Those that ended with exit code 137 at least once."""
    return [
        entry["name"]
        for entry in statuses(pod)
        for state in (entry.get("state", {}), entry.get("lastState", {}))
        if state.get("terminated", {}).get("exitCode") == 128 + signal.SIGKILL
    ]


# Tests, in the order of a pod's life


def running(made: Made) -> bool:
    """All main containers run, and started."""
    pod = made.pod()
    found = (pod or {}).get("status", {}).get("containerStatuses", ())
    return bool(found) and all("running" in entry.get("state", {}) for entry in found)


def ended(times: int = 1, container: str = "", **said: Any) -> Test:
    """A container ended so many times, the last time with these fields (``exitCode``, ``reason``)."""

    def test(made: Made) -> bool:
        entry = made.status(container)
        now = entry.get("state", {}).get("terminated")
        end = now or entry.get("lastState", {}).get("terminated") or {}
        ends = entry.get("restartCount", 0) + (1 if now else 0)
        return bool(end) and ends >= times and all(end.get(key) == value for key, value in said.items())

    return test


def any_killed(made: Made) -> bool:
    """Some container was killed, or its own child was."""
    return bool(killed_containers(made.pod() or {}))


def restarted(times: int = 1, container: str = "") -> Test:
    """A container runs again after so many restarts."""

    def test(made: Made) -> bool:
        entry = made.status(container)
        return entry.get("restartCount", 0) >= times and "running" in entry.get("state", {})

    return test


def waiting(*reasons: str) -> Test:
    """A container waits for one of these reasons."""

    def test(made: Made) -> bool:
        return made.status().get("state", {}).get("waiting", {}).get("reason") in reasons

    return test


def phase(*phases: str, reason: str = "") -> Test:
    """The pod is in one of these phases."""

    def test(made: Made) -> bool:
        status = (made.pod() or {}).get("status", {})
        return status.get("phase") in phases and (not reason or status.get("reason") == reason)

    return test


def gone(made: Made) -> bool:
    """The pod was there and is not any more."""
    return made.pod() is None and bool(made.last)


def stopped(made: Made) -> bool:
    """The pod is being deleted and all its containers ended: a finalizer keeps the object."""
    pod = made.pod() or {}
    found = pod.get("status", {}).get("containerStatuses", ())
    return (
        bool(found)
        and "deletionTimestamp" in pod["metadata"]
        and all("terminated" in entry.get("state", {}) for entry in found)
    )


def gone_or_stopped(made: Made) -> bool:
    """Either."""
    return gone(made) or stopped(made)


def leaving(made: Made) -> bool:
    """The pod is being deleted, without confirmation."""
    return "deletionTimestamp" in (made.pod() or {"metadata": {}})["metadata"]


def said(reason: str, words: str = "") -> Test:
    """An event."""
    return lambda made: made.has_event(reason, words)


def both(*tests: Test) -> Test:
    """All of them."""
    return lambda made: all(test(made) for test in tests)


def either(*tests: Test) -> Test:
    """One of them."""
    return lambda made: any(test(made) for test in tests)


def await_test(made: Made, test: Test, what: str, seconds: float = 120) -> None:
    """Poll a test slowly, because the machine is small."""
    deadline = time.monotonic() + seconds
    while not test(made):
        if time.monotonic() > deadline:
            raise TimeoutError(f"{made.scenario.id}: after {seconds:.0f} s still not {what}")
        time.sleep(0.4)


def remove_namespaces_pods(world: World, namespace: str) -> None:
    """All pods of a namespace end, and are gone from the node."""
    path = world.plane.api.path("v1", "Pod", namespace)
    world.plane.api.request("DELETE", path, query={"gracePeriodSeconds": "1"})
    wait_for(lambda: not world.plane.api.list_items("v1", "Pod", namespace), f"{namespace} is empty", timeout=60)


def write_file(path: Path, size: int) -> None:
    """A file of real blocks."""
    with path.open("wb") as file:
        os.posix_fallocate(file.fileno(), 0, size)
