"""The live cluster as a source.

How it is reached is `podrules.cluster.transport`'s business; why so is told in `podrules.cluster`.
"""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import cached_property
from typing import Any, TypeVar
from urllib.parse import quote

import msgspec

from podrules.cluster.answers import ObjectList, error_message
from podrules.cluster.errors import BadObject, ClusterError, Forbidden, NotFound, Unreachable, UsageError
from podrules.cluster.kinds import Kind
from podrules.cluster.transport import Response, Transport, service_account_namespace
from podrules.model.base import KubeObject, Model, ObjectMeta
from podrules.model.decode import DecodeError, from_json
from podrules.model.selectors import Selector

__all__ = ["LiveSource"]

T = TypeVar("T", bound=KubeObject)

_NAMES_ONLY = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json"
_PAGE = 500


class _Named(Model, frozen=True):
    metadata: ObjectMeta = msgspec.field(default_factory=ObjectMeta)


class _Version(Model, frozen=True):
    git_version: str = ""


class LiveSource:
    """Objects of the live cluster, fetched when asked for."""

    description = "the cluster"

    def __init__(
        self,
        transport: Transport,
        *,
        namespace: str | None,
        asked_namespace: subprocess.Popen[bytes] | None = None,
        suggest: bool = True,
    ) -> None:
        """Take over a transport.

        Args:
            transport: Closed by its owner.
            namespace: What the user named, if anything.
            asked_namespace: The process that finds out the context's namespace.
            suggest: Whether names are listed that look like one that was not found.
        """
        self._transport = transport
        self._suggest = suggest
        self._namespace = namespace
        self._asked = asked_namespace

    @cached_property
    def namespace(self) -> str:
        """The namespace that the user named, else the context's, else ``default``."""
        if self._namespace:
            return self._namespace
        if self._asked is None:
            return "default"
        out, _ = self._asked.communicate()
        if self._asked.returncode != 0:
            # There is no context: kubectl then goes by the pod's service account, if it runs in one.
            return service_account_namespace() or "default"
        return out.decode(errors="replace").strip() or "default"

    @cached_property
    def git_version(self) -> str | None:
        """``gitVersion`` of the API server; None when it may not be read."""
        status, body = self._version
        return from_json(body, _Version).git_version or None if status == 200 else None

    @cached_property
    def _version(self) -> Response:
        return self._transport.get("/version")

    @property
    def now(self) -> datetime:
        """This machine's clock."""
        return datetime.now(UTC)

    def get(self, kind: Kind[T], name: str, namespace: str | None = None) -> T:
        """One object; see `Source.get`."""
        if not name:
            # Its path would be that of all objects.
            raise UsageError(f"a {kind.singular} without a name cannot be asked for")
        status, body = self._transport.get(kind.path(namespace, name))
        if status == 404:
            raise NotFound(kind, name, namespace, self._near(kind, name, namespace) if self._suggest else ())
        self._check("get", kind, namespace, status, body)
        return _decoded(body, kind, name)

    def list(
        self, kind: Kind[T], namespace: str | None = None, *, selector: Selector | None = None, field_selector: str = ""
    ) -> Sequence[T]:
        """All objects of a kind; see `Source.list`."""
        found: list[T] = []
        token = ""
        while True:
            query = f"?limit={_PAGE}"
            query += f"&labelSelector={quote(str(selector), safe='')}" if selector else ""
            query += f"&fieldSelector={quote(field_selector, safe='')}" if field_selector else ""
            query += f"&continue={quote(token, safe='')}" if token else ""
            status, body = self._transport.get(kind.path(namespace) + query)
            self._check("list", kind, namespace, status, body)
            page = from_json(body, ObjectList)
            found.extend(_decoded(bytes(item), kind, "") for item in page.items)
            token = page.metadata.continue_
            if not token:
                return found

    def problem(self) -> str | None:
        """Why the cluster cannot be asked; None when it answers."""
        try:
            status, body = self._version
        except Unreachable as error:
            return str(error)
        return None if status in {200, 403} else error_message(body)

    def _near(self, kind: Kind[Any], name: str, namespace: str | None) -> Sequence[str]:
        """Existing names that look like the one not found, if the user may list them."""
        from difflib import get_close_matches

        try:
            status, body = self._transport.get(f"{kind.path(namespace)}?limit={_PAGE}", _NAMES_ONLY)
            if status != 200:
                return ()
            names = [from_json(bytes(item), _Named).metadata.name for item in from_json(body, ObjectList).items]
        except (ClusterError, DecodeError):
            return ()
        return get_close_matches(name, names, n=3)

    def _check(self, verb: str, kind: Kind[Any], namespace: str | None, status: int, body: bytes) -> None:
        if status == 200:
            return
        message = error_message(body)
        if status == 403:
            raise Forbidden(verb, kind, namespace, message)
        if status == 401:
            raise Unreachable(f"the API server does not accept your credentials: {message}; try `kubectl auth whoami`")
        if status in {500, 502} and not body.lstrip().startswith(b"{"):
            # kubectl proxy reports its own failures as plain text.
            raise Unreachable(f"the API server cannot be reached: {message}")
        raise Unreachable(f"the API server answered {status} to {verb} {kind.rbac_name}: {message}")


def _decoded(body: bytes, kind: Kind[T], name: str) -> T:
    try:
        return from_json(body, kind.model)
    except DecodeError as error:
        raise BadObject(f"{kind.singular}/{name}: {error}") from error
