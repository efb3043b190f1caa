"""Serves the objects of the live cluster.

`cluster_io.live.transport` sends the requests; `cluster_io` explains why it uses kubectl.
"""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import quote

import msgspec

from cluster_io.errors import (
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
from cluster_io.kinds import (
    ALL_KINDS,
    LEASES,
    NODE_METRICS,
    NODE_PROXIES,
    POD_METRICS,
    VOLUME_ATTACHMENTS,
    Kind,
)
from cluster_io.kubelet import KubeletEndpoint
from cluster_io.live.answers import error_message, head_of_object, pages_of
from cluster_io.live.large_lists import NoProgress, Progress, can_read_whole, read_whole
from cluster_io.live.responses import Response, service_account_namespace
from cluster_io.live.transport import LargeTransport, Transport
from cluster_io.origin import UNKNOWN_ORIGIN, Origin, host_of
from podrules.api.model.base import KubeObject, Model, ObjectMeta
from podrules.api.model.decode import EFFORT, DecodeError, from_json
from podrules.api.model.selectors import Selector
from podrules.api.names import near_names
from podrules.pod.versions import NOTHING_STATED, StatedFacts

if TYPE_CHECKING:
    from cluster_io.live.reflector import NamedObject, Reflector

T = TypeVar("T", bound=KubeObject)
M = TypeVar("M", bound=Model)
K = TypeVar("K", bound="NamedObject")

_NAMES_ONLY = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json"
_PAGE = 500
_DERIVED_NAMES = frozenset({LEASES, VOLUME_ATTACHMENTS})
"""Kinds with names derived from other objects' names: users do not type them."""


class _Named(Model, frozen=True):
    metadata: ObjectMeta = msgspec.field(default_factory=ObjectMeta)


class _Version(Model, frozen=True):
    git_version: str = ""
    emulation_major: str = ""
    emulation_minor: str = ""


class LiveSource:
    """Serves objects of the live cluster; each request goes to the API server."""

    description = "the cluster"
    side_by_side = True
    is_plain_list = False
    stated: StatedFacts = NOTHING_STATED
    schedulers = None

    def __init__(
        self,
        transport: Transport,
        *,
        namespace: str | None,
        asked_context: subprocess.Popen[bytes] | None = None,
        suggest: bool = True,
        large: LargeTransport | None = None,
        progress: Progress | None = None,
        effort: int = EFFORT,
    ) -> None:
        """Take a transport.

        Args:
            transport: Sends the requests; its owner closes it.
            namespace: The namespace that the user named, if any.
            asked_context: The process that prints the context's namespace, server and name.
            suggest: Whether an error suggests existing names similar to one that was not found.
            large: Reads large lists in one answer; None: they are read in pages.
            progress: Receives the progress of large lists.
            effort: For an object or a page that is decoded again: see `podrules.api.model.decode.without_depths`.
        """
        self._transport = transport
        self._suggest = suggest
        self._large = large
        self._progress = progress or NoProgress()
        self._effort = effort
        self._namespace = namespace
        self._context_process = asked_context

    @cached_property
    def namespace(self) -> str:
        """The namespace that the user named, else the context's, else ``default``."""
        if self._namespace:
            return self._namespace
        if self._context_process is None:
            return "default"
        parts = self._context
        if parts is None:
            # There is no context: kubectl then uses the pod's service account, if it runs in one.
            return service_account_namespace() or "default"
        return parts[0] or "default"

    @property
    def origin(self) -> Origin:
        """The context and its API server; unknown if kubectl was not asked for them."""
        parts = self._context
        return Origin(parts[2] or None, host_of(parts[1])) if parts is not None else UNKNOWN_ORIGIN

    @cached_property
    def _context(self) -> tuple[str, str, str] | None:
        """Namespace, server and name of kubectl's context; None: there is none, or kubectl was not asked."""
        if self._context_process is None:
            return None
        out, _ = self._context_process.communicate()
        if self._context_process.returncode != 0:
            return None
        namespace, server, name = [*out.decode(errors="replace").split("\n", 2), "", ""][:3]
        return namespace.strip(), server, name.strip()

    @cached_property
    def git_version(self) -> str | None:
        """``gitVersion`` of the API server; None when it may not be read."""
        status, body = self._version
        return from_json(body, _Version).git_version or None if status == 200 else None

    @property
    def emulates(self) -> str:
        """See `Source.emulates`; versions before 1.33 do not say it."""
        status, body = self._version
        said = from_json(body, _Version) if status == 200 else _Version()
        return f"{said.emulation_major}.{said.emulation_minor}" if said.emulation_minor else ""

    @cached_property
    def _version(self) -> Response:
        return self._transport.get("/version")

    @property
    def now(self) -> datetime:
        """The current time by this machine's clock."""
        return datetime.now(UTC)

    def get(self, kind: Kind[T], name: str, namespace: str | None = None) -> T:
        """One object; see `Source.get`."""
        if not name:
            # An empty name would give the path of the list.
            raise UsageError(f"a {kind.singular} without a name cannot be asked for")
        try:
            status, body = self._transport.get(kind.path(namespace, name))
        except NotFound:
            status, body = 404, b""
        if status == 404:
            # Suggestions make sense only for names that people type.
            suggest = self._suggest and kind in ALL_KINDS and kind not in _DERIVED_NAMES
            raise NotFound(kind, name, namespace, partial(self._near, kind, name, namespace) if suggest else ())
        self._check("get", kind, namespace, status, body)
        return self._decoded(body, kind)

    def list(
        self, kind: Kind[T], namespace: str | None = None, *, selector: Selector | None = None, field_selector: str = ""
    ) -> Sequence[T]:
        """All objects of a kind; see `Source.list`."""
        try:
            path = kind.path(namespace)
        except NotFound:
            return []
        selectors = f"&labelSelector={quote(str(selector), safe='')}" if selector else ""
        selectors += f"&fieldSelector={quote(field_selector, safe='')}" if field_selector else ""
        found: list[T] = []

        def leave_out(item: ObjectMeta) -> None:
            raise BadObject(f"{_named(kind, item)}: too large to be decoded")

        request = self._lists_of(kind, namespace)
        for number, page in enumerate(pages_of(request, path, selectors, _PAGE, leave_out, effort=self._effort)):
            more, version = page.metadata.continue_, page.metadata.resource_version
            if more and number == 0 and (whole := self._whole(kind, path, selectors, version)):
                return whole
            found.extend(self._decoded(bytes(item), kind) for item in page.items)
            if kind in {NODE_METRICS, POD_METRICS}:
                # A metrics API has no pages; one that goes wrong may have no end.
                break
            if more:
                self._progress.read(kind, len(found))
        self._progress.done(kind)
        return found

    def _lists_of(self, kind: Kind[Any], namespace: str | None, *accept: str) -> Callable[[str], bytes]:
        """A function that requests a page of a list."""

        def body(path: str) -> bytes:
            status, answer = self._transport.get(path, *accept)
            self._check("list", kind, namespace, status, answer)
            return answer

        return body

    def _whole(self, kind: Kind[T], path: str, selectors: str, version: str) -> Sequence[T] | None:
        """Read a large list in one answer; None: it has to be read in pages."""
        if self._large is None or not can_read_whole(kind):
            return None
        joined = f"{path}?{selectors.removeprefix('&')}" if selectors else path
        try:
            return read_whole(self._large, kind, joined, version, self._progress)
        finally:
            self._progress.done(kind)

    def kubelet(self, node: str, endpoint: KubeletEndpoint[M]) -> M:
        """Ask a node's kubelet; see `Source.kubelet`."""
        try:
            status, body = self._transport.get(endpoint.proxy_path(node))
        except Unreachable as error:
            raise KubeletUnavailable(f"the kubelet of {node} does not answer: {error}") from error
        if status == 403 and body.lstrip().startswith(b"{"):
            raise Forbidden("get", NODE_PROXIES, None, error_message(body))
        if status != 200:
            # A 403 in plain text comes from the kubelet itself: it does not authorize the API server.
            raise KubeletUnavailable(f"the kubelet of {node} answers {status}: {error_message(body)}")
        return endpoint.from_json(node, body)

    def reflector(
        self, kind: Kind[Any], model: type[K], namespace: str | None, name: str, on_change: Callable[[], None]
    ) -> Reflector[K] | None:
        """A reflector that watches objects of a kind; None: the transport cannot read watches.

        Args:
            kind: The kind to watch.
            model: What is kept of each object.
            namespace: The only namespace; None: all.
            name: The only object; empty: all.
            on_change: Called after each change, in the reflector's thread.
        """
        # Loaded only for a watch.
        from cluster_io.live.reflector import Reflector

        if self._large is None:
            return None
        place = namespace if kind.namespaced else None
        return Reflector(self._large, kind, model, namespace=place, name=name, on_change=on_change)

    def problem(self) -> str | None:
        """Why the API server cannot be used; None when it answers."""
        try:
            status, body = self._version
        except Unreachable as error:
            return str(error)
        return None if status in {200, 403} else error_message(body)

    def names(self, kind: Kind[Any], namespace: str | None) -> Sequence[str]:
        """The names of a kind's objects; see `Source.names`."""
        request = self._lists_of(kind, namespace, _NAMES_ONLY)
        page = next(pages_of(request, kind.path(namespace), "", _PAGE, lambda _: None))
        return [from_json(bytes(item), _Named).metadata.name for item in page.items]

    def _near(self, kind: Kind[Any], name: str, namespace: str | None) -> Sequence[str]:
        """Existing names similar to the one that was not found.

        Raises:
            Forbidden: the user may not list them.
        """
        try:
            return near_names(name, self.names(kind, namespace))
        except Forbidden:
            raise
        except (ClusterError, DecodeError):
            return ()

    def _decoded(self, body: bytes, kind: Kind[T]) -> T:
        try:
            return from_json(body, kind.model, self._effort)
        except DecodeError as error:
            raise BadObject(f"{_named(kind, head_of_object(body))}: {error}") from error

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
                f"the API server does not accept your credentials: {message}",
                remedy=("kubectl", "config", "view", "--minify"),
            )
        if status in {500, 502} and not body.lstrip().startswith(b"{"):
            # kubectl proxy reports its own failures as plain text.
            raise Unreachable(f"the API server cannot be reached: {message}", advice=ASK_ANOTHER)
        raise Unreachable(f"the API server answered {status} to {verb} {kind.rbac_name}: {message}")


def _named(kind: Kind[Any], item: ObjectMeta) -> str:
    place = f" in namespace {item.namespace}" if item.namespace else ""
    return f"{kind.singular}/{item.name}{place}"
