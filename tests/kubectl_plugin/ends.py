"""Objects of an edge node, its mail pods and their ends, and the pages about them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final, NamedTuple

from tests.kubectl_plugin.answers import said as output
from tests.kubectl_plugin.answers import write_list
from tests.kubectl_plugin.running import run, write_cluster
from tests.objects import raw_condition, raw_event, raw_node, raw_owner, raw_pod

Object = Mapping[str, Any]
NODE: Final = "edge-3"
MAIL: Final = "mail-55d-abcde"
GONE: Final = "mail-55d-bcdfg"
SET: Final = "ReplicaSet/mail-55d"
NOW: Final = datetime(2026, 5, 20, 12, 0, tzinfo=UTC)


def at(seconds: float) -> str:
    """The time this many seconds from now."""
    return (NOW + timedelta(seconds=seconds)).strftime("%Y-%m-%dT%H:%M:%SZ")


def edge(*conditions: Object, name: str = NODE, made: float = -900_000, **more: Any) -> Object:
    """A node that is Ready, unless a condition differs."""
    size = {"cpu": "16", "memory": "64Gi", "pods": "110"}
    ready = raw_condition("Ready", lastHeartbeatTime=at(0), lastTransitionTime=at(-90_000))
    own = conditions if any(one["type"] == "Ready" for one in conditions) else (*conditions, ready)
    metadata = {"creationTimestamp": at(made), "uid": "n-1"}
    return raw_node(name, metadata=metadata, capacity=size, allocatable=size, conditions=own, **more)


EDGE: Final = edge()
UNKNOWN: Final = raw_condition("Ready", "Unknown", lastTransitionTime=at(-900))
SILENT: Final = edge(UNKNOWN)


def post_pod(
    name: str = MAIL,
    owner: str = SET,
    *,
    made: float = -7000,
    metadata: Object | None = None,
    containers: Sequence[Object] | None = None,
    status: Object | None = None,
    **spec: Any,
) -> Object:
    """A pod of the namespace post on the node."""
    kind, _, own = owner.partition("/")
    owners = [raw_owner(kind, own, uid=f"o-{own}")] if owner else []
    meta = {"creationTimestamp": at(made), "ownerReferences": owners, **(metadata or {})}
    state = {"phase": "Running", "startTime": at(made), **(status or {})}
    spec = {"nodeName": NODE, "terminationGracePeriodSeconds": 30, "restartPolicy": "Always", **spec}
    return raw_pod(name, "post", uid=f"u-{name}", metadata=meta, containers=containers, status=state, **spec)


OTHER: Final = post_pod("other")


def going(ends: float, grace: int, **more: Any) -> Object:
    """Metadata of a pod that is being deleted."""
    return {"deletionTimestamp": at(ends), "deletionGracePeriodSeconds": grace, **more}


def seen(about: str, reason: str, message: str, when: float, by: str = "kubelet", **more: Any) -> Object:
    """An event about ``Kind/name``."""
    kind, _, name = about.partition("/")
    uid = {"Node": NODE, "Pod": f"u-{name}"}.get(kind, f"o-{name}")
    source = {"component": by, **({"host": NODE} if by == "kubelet" else {})}
    space = None if kind == "Node" else "post"
    return raw_event(about, reason, message, namespace=space, uid=uid, last=at(when), **{"source": source, **more})


def of_container(name: str, reason: str, message: str, when: float, container: str = "app") -> Object:
    return seen(f"Pod/{name}", reason, message, when, fieldPath=f"spec.containers{{{container}}}")


def stop_of(name: str, when: float) -> Object:
    return of_container(name, "Killing", "Stopping container app", when)


def marked(name: str, when: float) -> Object:
    """A deletion because of a taint."""
    return seen(f"Pod/{name}", "TaintManagerEviction", f"Marking for deletion Pod post/{name}", when, "taint")


CLOCK: Final = seen("Node/clock", "Clock", "", 0, "none")
"""The present is one of the times."""


def said(folder: Path, objects: Sequence[Object], *words: str) -> str:
    """The page for some objects."""
    ran = run(*words, "--snapshot", write_list(folder / "list.json", [*objects, CLOCK]))
    assert "Traceback" not in ran.err
    return " ".join(ran.out.split())


def died(folder: Path, *objects: Object, name: str = MAIL) -> str:
    return said(folder, objects, "died", f"pod/{name}", "-n", "post")


def captured(folder: Path, *objects: Object, name: str = GONE) -> str:
    """The page of a pod from a snapshot: objects that it lacks do not exist."""
    file = write_cluster(folder / "c.qos", [*objects, CLOCK])
    return output("died", f"pod/{name}", "-n", "post", "--snapshot", file)


class Case(NamedTuple):
    """Objects of a List, and what the page of a pod has and lacks."""

    objects: Sequence[Object]
    has: str | Sequence[str]
    lacks: str | Sequence[str] = ()
    name: str = MAIL
