"""Events of force deletions: their maximum number, and the reviews without Events."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from typing import Any

import pytest
from msgspec.structs import replace

from cluster_io.errors import Unreachable
from cluster_io.live.responses import ChangeAnswer
from podrules.api.model.base import ObjectMeta
from tests.controlplane.client import Object
from tests.marked import TESTS
from tests.objects import raw_node
from tests.waiting import wait_for
from tests.webhook.clusters import make_cluster
from tests.webhook.review_objects import (
    delete_review,
    eviction_review,
    in_a_dry_run,
    node_deletion_review,
    pod_object,
)
from webhook import rules as handlers
from webhook.reviews.events import Events, Limits
from webhook.reviews.response import ForceDeletionRecord
from webhook.rules import unreadable
from webhook.serving.app import create_app
from webhook.settings import ForceDeletion, ForceDeletionMode

ROOT = TESTS.parent
UID = "97adba77-19ea-40d7-a1ef-b38fa206ac45"
RUNNING = {**pod_object(name="db-0", nodeName="node-1"), "status": {"phase": "Running"}}
RUNNING["metadata"]["uid"] = UID


class Clock:
    """A clock that is moved by hand."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_one_event_per_user_and_object_in_ten_minutes() -> None:
    clock = Clock()
    limits = Limits(clock)
    assert limits.admit("a", "jane", "shop")
    assert not limits.admit("a", "jane", "shop")
    assert limits.admit("a", "joe", "shop")
    assert limits.admit("b", "jane", "shop")
    clock.now = 599
    assert not limits.admit("a", "jane", "shop")
    clock.now = 601
    assert limits.admit("a", "jane", "shop")


def test_quota_of_a_namespace_does_not_affect_others() -> None:
    clock = Clock()
    limits = Limits(clock)
    assert [limits.admit(f"{number}", "jane", "loud") for number in range(20)].count(True) == 10
    assert limits.admit("other", "jane", "quiet")
    clock.now = 300
    assert [limits.admit(f"later-{number}", "jane", "loud") for number in range(20)].count(True) == 10
    # In an hour: the initial quota, and the refills.
    clock.now = 0.0
    limits, made = Limits(clock), 0
    for second in range(3600):
        clock.now = second
        made += sum(limits.admit(f"{second}-{number}", "jane", "loud") for number in range(10))
    assert made <= 10 + 3600 / 30


def test_memory_of_events_is_bounded() -> None:
    limits = Limits(Clock())
    for number in range(10_000):
        limits.admit(f"{number}", "jane", f"namespace-{number}")
    assert len(limits._last_events) == len(limits._left) == 4096


class Silent:
    """An API server that is slow, then unavailable; the first request delays all others."""

    def __init__(self) -> None:
        self.asked = threading.Event()
        self.go_on = threading.Event()
        self.bodies: list[Object] = []

    def send(self, method: str, path: str, body: bytes, content_type: str = "application/json") -> ChangeAnswer:
        self.bodies.append(json.loads(body))
        self.asked.set()
        self.go_on.wait(60)
        raise Unreachable(f"{method} {path}: {content_type}")

    def get(self, path: str, accept: str = "application/json") -> Any:
        raise AssertionError(f"{path}: {accept}")

    def lines(self, path: str, *, idle_timeout: float) -> Iterator[bytes]:
        raise AssertionError(f"{path}: {idle_timeout}")


def running(transport: Silent, note: Callable[[str], None] = lambda _: None) -> Events:
    """The queue of Events, and a thread that sends them."""
    events = Events(transport, note)
    threading.Thread(target=events.run, daemon=True).start()
    return events


def forced(number: int, kind: str = "Pod") -> ForceDeletionRecord:
    meta = ObjectMeta(name=f"db-{number}", namespace=f"shop-{number}", uid=f"{number}")
    return ForceDeletionRecord(kind, meta, ForceDeletionMode.DENY)


def test_no_refusal_waits_for_its_event() -> None:
    """One is under way and the queue is full: later ones are counted and dropped."""
    outcomes: list[str] = []
    transport = Silent()
    events = running(transport, outcomes.append)
    events.enqueue(forced(0), "jane", "no")
    assert transport.asked.wait(60)
    for number in range(1, 101):
        events.enqueue(forced(number), "jane", "no")
    assert outcomes == ["held_back"] * 36
    transport.go_on.set()
    wait_for(lambda: outcomes.count("failed") == 65, "the others are tried")


def test_foreign_text_is_made_plain_and_short() -> None:
    transport = Silent()
    events = running(transport)
    events.enqueue(forced(0), "jane\x1b[2J: kubectl taint nodes --all" + "é" * 2000, "ü" * 2000)
    assert transport.asked.wait(60)
    note = transport.bodies[0]["note"]
    assert note.startswith("A force deletion by jane??2J:?kubectl?taint?nodes?--all")
    assert note.isprintable()
    assert len(note.encode()) <= 1024
    transport.go_on.set()


# Documentation


def test_rules_that_the_audit_log_names_are_documented() -> None:
    tables = (handlers.DEFAULTS, handlers.POD_RULES, handlers.TEMPLATE_RULES, handlers.DELETION_RULES.values())
    judging: Iterable[handlers.Rule[Any]] = chain.from_iterable(tables)
    named = {rule.name for rule in judging} | {unreadable._RULE}
    page = (ROOT / "docs" / "webhook" / "reference.md").read_text()
    (listed,) = re.findall(r"^Rules are (.+?)\.\n\n", page, re.MULTILINE | re.DOTALL)
    assert set(re.findall(r"`([a-z-]+)`", listed)) == named


# Reviews with Events


Reported = list[tuple[str, str, str]]
NODE = raw_node("node-1", metadata={"uid": "1"})


def reported(review: bytes, mode: str) -> Reported:
    """Kind, name and user of each force deletion in one review."""
    found: Reported = []

    def report(forced: ForceDeletionRecord, user: str, denial: str) -> None:
        assert bool(denial) is (mode == "deny")
        found.append((forced.kind, forced.metadata.name, user))

    cluster = make_cluster([NODE, RUNNING], force_deletion=ForceDeletion(mode=ForceDeletionMode(mode)))
    app = create_app(cluster, lambda: (), lambda: False, report_forced=report)
    assert app.test_client().post("/validate", data=review, content_type="application/json").status_code == 200
    return found


ZERO_GRACE = {**RUNNING, "spec": {**RUNNING["spec"], "terminationGracePeriodSeconds": 0}}
NODE_DELETION = node_deletion_review(NODE)
EVICTION = eviction_review("db-0", "shop", {"gracePeriodSeconds": 0})


@pytest.mark.parametrize(
    ("review", "refused", "allowed"),
    [
        pytest.param(delete_review(RUNNING), [("Pod", "db-0", "jane")], [("Pod", "db-0", "jane")], id="forced"),
        pytest.param(delete_review(RUNNING, seconds=30), [], [], id="a plain deletion"),
        pytest.param(in_a_dry_run(delete_review(RUNNING)), [], [], id="a dry run"),
        pytest.param(delete_review(RUNNING, groups=("system:nodes",)), [], [], id="a kubelet's"),
        pytest.param(NODE_DELETION, [("Node", "node-1", "jane")], [], id="a Node's"),
        # A budget may refuse it after the webhook has allowed it.
        pytest.param(EVICTION, [("Pod", "db-0", "jane")], [], id="an eviction"),
        pytest.param(delete_review(ZERO_GRACE), None, [], id="without grace: each deletion is forced, and allowed"),
    ],
)
def test_events_only_for_force_deletions(review: bytes, refused: Reported | None, allowed: Reported) -> None:
    if refused is not None:
        assert reported(review, "deny") == refused
    assert reported(review, "warn") == allowed


def test_event_of_allowed_force_deletion_names_user_risk_node() -> None:
    transport = Silent()
    events = running(transport)
    allowed = replace(forced(0), mode=ForceDeletionMode.CONFIRM, risk="db-0 on node-1: risk", node="node-1")
    events.enqueue(forced(0), "jane", "no")
    # It is confirmed a moment later.
    events.enqueue(allowed, "jane", "")
    transport.go_on.set()
    wait_for(lambda: len(transport.bodies) == 2, "both are made")
    assert [body["reason"] for body in transport.bodies] == ["ForceDeletionRefused", "ForceDeletionAllowed"]
    assert transport.bodies[1]["note"] == "A force deletion by jane was allowed (mode confirm): db-0 on node-1: risk"
    assert transport.bodies[1]["related"] == {"apiVersion": "v1", "kind": "Node", "name": "node-1"}
    assert "related" not in transport.bodies[0]
