"""Sources and transports that record their requests."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import Any, TypeVar

from cluster_io.errors import Forbidden, NotServed
from cluster_io.in_memory import MemorySource
from cluster_io.kinds import NODE_PROXIES, Kind
from cluster_io.kubelet import KubeletEndpoint
from cluster_io.live.responses import Response, StreamedAnswer
from cluster_io.live.transport import KubectlProxy
from podrules.api.model.base import KubeObject, Model
from podrules.api.model.selectors import Selector
from podrules.pod.versions import NOTHING_STATED

T = TypeVar("T", bound=KubeObject)
M = TypeVar("M", bound=Model)


class RecordingSource:
    """Objects in memory; some requests are refused.

    Requests are recorded as for kubectl: ``list services -n shop``, ``get nodes node-1``.
    """

    description = "the cluster"
    namespace = "default"
    side_by_side = False
    emulates = ""
    schedulers = None
    stated = NOTHING_STATED
    now: datetime | None = None
    is_plain_list = False

    def __init__(
        self,
        objects: Iterable[Mapping[str, Any]] = (),
        *,
        forbidden: Collection[str] = (),
        only_in: str = "",
        not_served: Collection[str] = (),
        git_version: str | None = None,
        kubelets: Mapping[str, Mapping[str, Any]] | None = None,
    ) -> None:
        """Store objects and answers of kubelets; resources by their names in RBAC are forbidden, or not served.

        With `only_in`, namespaced objects may be read in that namespace only, and Leases.
        """
        self.git_version = git_version
        self._memory = MemorySource(objects, description=self.description, kubelets=kubelets or {})
        self._forbidden = forbidden
        self._only_in = only_in
        self._not_served = not_served
        self.asked: list[str] = []

    def get(self, kind: Kind[T], name: str, namespace: str | None = None) -> T:
        """See `Source.get`."""
        self._ask("get", kind, namespace, name)
        return self._memory.get(kind, name, namespace)

    def list(
        self, kind: Kind[T], namespace: str | None = None, *, selector: Selector | None = None, field_selector: str = ""
    ) -> Sequence[T]:
        """See `Source.list`."""
        self._ask("list", kind, namespace, field_selector)
        return self._memory.list(kind, namespace, selector=selector, field_selector=field_selector)

    def names(self, kind: Kind[Any], namespace: str | None) -> Sequence[str]:
        """See `Source.names`."""
        self._ask("list", kind, namespace, "")
        return self._memory.names(kind, namespace)

    def kubelet(self, node: str, endpoint: KubeletEndpoint[M]) -> M:
        """See `Source.kubelet`."""
        self._ask("get", NODE_PROXIES, None, f"{node} {endpoint.path}")
        return self._memory.kubelet(node, endpoint)

    def _ask(self, verb: str, kind: Kind[Any], namespace: str | None, which: str) -> None:
        place = f" -n {namespace}" if namespace else ""
        self.asked.append(f"{verb} {kind.rbac_name}{f' {which}' if which else ''}{place}")
        elsewhere = self._only_in and kind.namespaced and namespace not in {self._only_in, "kube-node-lease"}
        if elsewhere or kind.rbac_name in self._forbidden:
            raise Forbidden(verb, kind, namespace, "no")
        if kind.rbac_name in self._not_served:
            raise NotServed(kind)


class RecordingTransport:
    """A proxy, and its requests."""

    def __init__(self, proxy: KubectlProxy) -> None:
        """Wrap a proxy; its owner closes it."""
        self._proxy = proxy
        self.paths: list[str] = []
        self.streamed: list[tuple[str, str, int]] = []
        """Path, type and status of each streamed answer."""

    def get(self, path: str, accept: str = "application/json") -> Response:
        """See `Transport.get`."""
        self.paths.append(path)
        return self._proxy.get(path, accept)

    @contextmanager
    def stream(self, path: str, accept: str) -> Iterator[StreamedAnswer]:
        """See `LargeTransport.stream`."""
        with self._proxy.stream(path, accept) as answer:
            self.streamed.append((path, answer.content_type, answer.status))
            yield answer

    def lines(self, path: str, *, idle_timeout: float) -> Iterator[bytes]:
        """See `KubectlProxy.lines`."""
        return self._proxy.lines(path, idle_timeout=idle_timeout)

    def close(self) -> None:
        """See `Transport.close`."""
        self._proxy.close()
