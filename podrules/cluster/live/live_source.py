"""The live cluster as a source.

How it is reached is `podrules.cluster.live.transport`'s business; why so is told in `podrules.cluster`.
"""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import quote

import msgspec

from podrules.cluster.errors import (
    ASK_ANOTHER,
    BadObject,
    ClusterError,
    Forbidden,
    KubeletUnavailable,
    NotFound,
    NotServed,
    Unreachable,
    UsageError,
)
from podrules.cluster.kinds import ALL_KINDS, LEASES, NODE_PROXIES, VOLUME_ATTACHMENTS, Kind
from podrules.cluster.kubelet import KubeletEndpoint
from podrules.cluster.live.answers import ObjectList, error_message
from podrules.cluster.live.large_lists import NoProgress, Progress, can_read_whole, read_whole
from podrules.cluster.live.responses import Response, service_account_namespace
from podrules.cluster.live.transport import LargeTransport, Transport
from podrules.cluster.origin import UNKNOWN_ORIGIN, Origin, host_of
from podrules.cluster.similar_names import near_names
from podrules.model.base import KubeObject, Model, ObjectMeta
from podrules.model.decode import DecodeError, from_json
from podrules.model.selectors import Selector

if TYPE_CHECKING:
    from podrules.cluster.live.reflector import Named, Reflector

__all__ = ["LiveSource"]

T = TypeVar("T", bound=KubeObject)
M = TypeVar("M", bound=Model)
K = TypeVar("K", bound="Named")

_NAMES_ONLY = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json"
_PAGE = 500
_NAMED_BY_NOBODY = frozenset({LEASES, VOLUME_ATTACHMENTS})
"""Kinds whose names follow from others' names."""


class _Named(Model, frozen=True):
    metadata: ObjectMeta = msgspec.field(default_factory=ObjectMeta)


class _Version(Model, frozen=True):
    git_version: str = ""


class LiveSource:
    """Objects of the live cluster, fetched when asked for."""

    description = "the cluster"
    side_by_side = True
    is_plain_list = False

    def __init__(
        self,
        transport: Transport,
        *,
        namespace: str | None,
        asked_context: subprocess.Popen[bytes] | None = None,
        suggest: bool = True,
        large: LargeTransport | None = None,
        progress: Progress | None = None,
    ) -> None:
        """Take over a transport.

        Args:
            transport: Closed by its owner.
            namespace: What the user named, if anything.
            asked_context: The process that finds out the context's namespace, server and name.
            suggest: Whether names are listed that look like one that was not found.
            large: Gives large lists in one answer; None: they are read in pages.
            progress: Told while a large list is read.
        """
        self._transport = transport
        self._suggest = suggest
        self._large = large
        self._progress = progress or NoProgress()
        self._namespace = namespace
        self._asked = asked_context

    @cached_property
    def namespace(self) -> str:
        """The namespace that the user named, else the context's, else ``default``."""
        if self._namespace:
            return self._namespace
        if self._asked is None:
            return "default"
        told = self._context
        if told is None:
            # There is no context: kubectl then goes by the pod's service account, if it runs in one.
            return service_account_namespace() or "default"
        return told[0] or "default"

    @property
    def origin(self) -> Origin:
        """The context and its server, where kubectl was asked for them."""
        told = self._context
        return Origin(told[2] or None, host_of(told[1])) if told is not None else UNKNOWN_ORIGIN

    @cached_property
    def _context(self) -> tuple[str, str, str] | None:
        """Namespace, server and name of kubectl's context; None: it has none, or was not asked."""
        if self._asked is None:
            return None
        out, _ = self._asked.communicate()
        if self._asked.returncode != 0:
            return None
        namespace, server, name = [*out.decode(errors="replace").split("\n", 2), "", ""][:3]
        return namespace.strip(), server, name.strip()

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
            # Only names that people type are mistyped.
            suggest = self._suggest and kind in ALL_KINDS and kind not in _NAMED_BY_NOBODY
            raise NotFound(kind, name, namespace, self._near(kind, name, namespace) if suggest else ())
        self._check("get", kind, namespace, status, body)
        return _decoded(body, kind, name)

    def list(
        self, kind: Kind[T], namespace: str | None = None, *, selector: Selector | None = None, field_selector: str = ""
    ) -> Sequence[T]:
        """All objects of a kind; see `Source.list`."""
        path = kind.path(namespace)
        selectors = f"&labelSelector={quote(str(selector), safe='')}" if selector else ""
        selectors += f"&fieldSelector={quote(field_selector, safe='')}" if field_selector else ""
        found: list[T] = []
        token = ""
        while True:
            query = f"?limit={_PAGE}{selectors}" + (f"&continue={quote(token, safe='')}" if token else "")
            status, body = self._transport.get(path + query)
            self._check("list", kind, namespace, status, body)
            page = from_json(body, ObjectList)
            first, token = not token, page.metadata.continue_
            if first and token and (whole := self._whole(kind, path, selectors, page.metadata.resource_version)):
                return whole
            found.extend(_decoded(bytes(item), kind, "") for item in page.items)
            if not token:
                self._progress.done(kind)
                return found
            self._progress.read(kind, len(found))

    def _whole(self, kind: Kind[T], path: str, selectors: str, version: str) -> Sequence[T] | None:
        """A large list in one answer; None: it has to be read in pages."""
        if self._large is None or not can_read_whole(kind):
            return None
        joined = f"{path}?{selectors.removeprefix('&')}" if selectors else path
        try:
            return read_whole(self._large, kind, joined, version, self._progress)
        finally:
            self._progress.done(kind)

    def kubelet(self, node: str, endpoint: KubeletEndpoint[M]) -> M:
        """What the kubelet of a node says; see `Source.kubelet`."""
        try:
            status, body = self._transport.get(endpoint.proxy_path(node))
        except Unreachable as error:
            raise KubeletUnavailable(f"the kubelet of {node} does not answer: {error}") from error
        if status == 403 and body.lstrip().startswith(b"{"):
            raise Forbidden("get", NODE_PROXIES, None, error_message(body))
        if status != 200:
            # Also a kubelet's own 403, which is plain text: it does not let the API server ask.
            raise KubeletUnavailable(f"the kubelet of {node} answers {status}: {error_message(body)}")
        return endpoint.from_json(node, body)

    def reflector(
        self, kind: Kind[Any], model: type[K], namespace: str | None, name: str, on_change: Callable[[], None]
    ) -> Reflector[K] | None:
        """What follows objects of a kind while it runs; None where answers that go on cannot be read.

        Args:
            kind: What is followed.
            model: What is kept of each object.
            namespace: The only one; None: all.
            name: The only object; empty: all.
            on_change: Called after each change, in the thread that runs it.
        """
        # Loaded when something is followed.
        from podrules.cluster.live.reflector import Reflector

        if self._large is None:
            return None
        place = namespace if kind.namespaced else None
        return Reflector(self._large, kind, model, namespace=place, name=name, on_change=on_change)

    def problem(self) -> str | None:
        """Why the cluster cannot be asked; None when it answers."""
        try:
            status, body = self._version
        except Unreachable as error:
            return str(error)
        return None if status in {200, 403} else error_message(body)

    def names(self, kind: Kind[Any], namespace: str | None) -> Sequence[str]:
        """Names of objects of a kind, of a large cluster the first ones; the API server leaves the rest of them out.

        Raises:
            Forbidden: the user may not list them.
            Unreachable: the cluster does not answer.
        """
        status, body = self._transport.get(f"{kind.path(namespace)}?limit={_PAGE}", _NAMES_ONLY)
        self._check("list", kind, namespace, status, body)
        return [from_json(bytes(item), _Named).metadata.name for item in from_json(body, ObjectList).items]

    def _near(self, kind: Kind[Any], name: str, namespace: str | None) -> Sequence[str]:
        """Existing names that look like the one not found, if the user may list them."""
        try:
            return near_names(name, self.names(kind, namespace))
        except (ClusterError, DecodeError):
            return ()

    def _check(self, verb: str, kind: Kind[Any], namespace: str | None, status: int, body: bytes) -> None:
        if status == 200:
            return
        message = error_message(body)
        if status == 403:
            raise Forbidden(verb, kind, namespace, message)
        if status == 404:
            raise NotServed(kind)
        if status == 401:
            raise Unreachable(
                f"the API server does not accept your credentials: {message}", remedy=("kubectl", "auth", "whoami")
            )
        if status in {500, 502} and not body.lstrip().startswith(b"{"):
            # kubectl proxy reports its own failures as plain text.
            raise Unreachable(f"the API server cannot be reached: {message}", advice=ASK_ANOTHER)
        raise Unreachable(f"the API server answered {status} to {verb} {kind.rbac_name}: {message}")


def _decoded(body: bytes, kind: Kind[T], name: str) -> T:
    try:
        return from_json(body, kind.model)
    except DecodeError as error:
        raise BadObject(f"{kind.singular}/{name}: {error}") from error
