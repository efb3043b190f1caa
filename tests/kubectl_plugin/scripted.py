"""Commands that change objects of the demo cluster, with scripted answers of the API server.

`tests/e2e` tests the answers of a real API server; here each answer is scripted.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import IO, Any, Final, TypeVar

import pytest

from cluster_io.demo import DEMO_NOW, demo_objects
from cluster_io.errors import Forbidden
from cluster_io.in_memory import MemorySource
from cluster_io.kinds import Kind
from cluster_io.live.responses import ChangeAnswer
from cluster_io.live.transport import ProxySettings
from cluster_io.source import Source
from kubectl_plugin import changes as changing
from kubectl_plugin import cli
from kubectl_plugin.options import ClusterOptions
from podrules.api.model.base import KubeObject
from tests.kubectl_plugin.running import Ran, run

T = TypeVar("T", bound=KubeObject)
Given = ChangeAnswer | BaseException
TAKEN: Final = ChangeAnswer(200, b"{}", ())


def refusal(status: int, message: str) -> ChangeAnswer:
    """An error of the API server."""
    return ChangeAnswer(status, json.dumps({"kind": "Status", "message": message, "code": status}).encode(), ())


class _Server:
    """Answers changes by method, in order, and questions about rights with yes or no."""

    def __init__(self, given: Mapping[str, list[Given]], *, allowed: bool | frozenset[str]) -> None:
        self._given, self._allowed = given, allowed

    def send(self, method: str, path: str, body: bytes, content_type: str = "application/json") -> ChangeAnswer:
        """See `cluster_io.writer.Sender.send`."""
        del content_type
        asked = json.loads(body)
        if method == "POST":
            verb = asked["spec"]["resourceAttributes"]["verb"]
            allowed = verb in self._allowed if isinstance(self._allowed, frozenset) else self._allowed
            return ChangeAnswer(201, json.dumps({"status": {"allowed": allowed}}).encode(), ())
        stores = not (path.endswith("?dryRun=All") or (method == "DELETE" and asked.get("dryRun") == ["All"]))
        answer = self._given[method].pop(0) if stores else self._given.get("DRY RUN", [TAKEN])[0]
        if isinstance(answer, BaseException):
            raise answer
        return answer


class _Unread(MemorySource):
    """A cluster in which the user may not list some kinds."""

    unread: tuple[Kind[Any], ...] = ()

    def list(self, kind: Kind[T], *given: Any, **named: Any) -> Sequence[T]:
        """See `Source.list`."""
        if kind in self.unread:
            raise Forbidden("list", kind, None, "")
        return super().list(kind, *given, **named)


def change(
    *words: str,
    given: Mapping[str, list[Given]],
    allowed: bool | frozenset[str] = True,
    unread: tuple[Kind[Any], ...] = (),
    fenced: str = "",
) -> Ran:
    """Run ``kubectl qos WORDS`` with a cluster.

    Args:
        words: The arguments.
        given: Answers to changes, by method: ``DELETE``, ``PATCH``; ``DRY RUN``: to changes that are not stored.
        allowed: Whether the user may make them, or the allowed verbs.
        unread: The kinds that the user may not list.
        fenced: A node that is declared out of service.
    """
    objects = demo_objects()
    taint = {"key": "node.kubernetes.io/out-of-service", "value": "nodeshutdown", "effect": "NoExecute"}
    for node in [entry for entry in objects if (entry["kind"], entry["metadata"]["name"]) == ("Node", fenced)]:
        node["spec"]["taints"] = [*node["spec"].get("taints", []), taint]

    @contextlib.contextmanager
    def source_of(cluster: ClusterOptions, _err: IO[str]) -> Iterator[Source]:
        now, namespace = datetime.fromisoformat(DEMO_NOW), cluster.namespace or "default"
        source = _Unread(objects, description="the cluster", now=now, namespace=namespace)
        source.unread = unread
        yield source

    def connect(_cluster: ClusterOptions, _settings: ProxySettings) -> contextlib.nullcontext[_Server]:
        return contextlib.nullcontext(_Server(given, allowed=allowed))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cli, "source_of", source_of)
        patch.setattr(changing, "connect_for_changes", connect)
        return run(*words)
