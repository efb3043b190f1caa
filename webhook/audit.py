"""How many pods were stored without an answer of the webhook, as far as can be told afterwards.

With failurePolicy Ignore the API server goes on while no replica answers, and nobody is told. What such a pod lacks
cannot be given to it any more: topologySpreadConstraints and the priority are immutable. So it is counted.

    which       pods made since the MutatingWebhookConfiguration was, in namespaces that it selects; not finished ones,
                not those about to go, no mirror pods
    lacks       what the handlers of new pods would write into it now: so a pod that is older than the Service or the
                default that it would get today is counted too
    who         the holder of the release's Lease, for all replicas
    when        as soon as it holds the Lease and its caches are filled, for then somebody was away; after that seldom
    how         in pages of 100 that are not kept, at most ten a second, with as much rest as work in between: 150,000
                pods take some minutes, and the API server as long to list them
"""

from __future__ import annotations

import logging
import random
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Final
from urllib.parse import quote

from msgspec import Raw, Struct, field
from msgspec.structs import replace

from podrules.cluster.errors import ClusterError
from podrules.cluster.kinds import PODS
from podrules.cluster.live.answers import ObjectList, error_message
from podrules.cluster.live.pages import Pages
from podrules.cluster.live.reflector import StreamTransport
from podrules.model.base import KubeObject, Model
from podrules.model.decode import DecodeError, from_json
from podrules.model.pod import Pod
from podrules.model.selectors import LabelSelector, Selector, SelectorError
from podrules.priority import is_mirror_pod
from webhook.admission_review import GroupVersionResource, Request, author_wrote
from webhook.cluster import Cluster
from webhook.handlers import fill_in
from webhook.metrics import Metrics
from webhook.new_pod import as_new
from webhook.partial_objects import Seen

__all__ = ["Audit", "Unpatched"]

_LOG: Final = logging.getLogger(__name__)
_PAGE: Final = 100
_PAGE_SECONDS: Final = 0.1
"""Rest after a page, at least."""
_NAMED: Final = 3
"""How many of the pods are named in the log."""
_RETRY_SECONDS: Final = 60.0
_STEP_SECONDS: Final = 1.0
"""How soon it is noticed that this replica is the one that looks."""
_CONFIGURATIONS: Final = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations"
_POD_RESOURCE: Final = GroupVersionResource("", "v1", "pods")


class Unpatched(Struct, frozen=True):
    """What one look has found."""

    count: int = 0
    first: tuple[str, ...] = ()
    """``namespace/name`` of a few of them."""


class _Webhook(Model, frozen=True):
    namespace_selector: LabelSelector = field(default_factory=LabelSelector)
    object_selector: LabelSelector = field(default_factory=LabelSelector)


class _Configuration(KubeObject, frozen=True):
    webhooks: tuple[_Webhook, ...] = ()


class _Failed(Exception):
    """A list cannot be read to its end."""


class Audit:
    """Looks for them; `run` for ever."""

    def __init__(
        self,
        transport: StreamTransport,
        cluster: Cluster,
        metrics: Metrics,
        elected: Callable[[], bool],
        *,
        configuration: str,
    ) -> None:
        """Look at nothing yet.

        Args:
            transport: How requests get to the API server.
            cluster: What the handlers ask.
            metrics: Where the number goes.
            elected: Whether this replica is the one that looks, at this moment.
            configuration: The name of the MutatingWebhookConfiguration by which the API server asks us.
        """
        self._transport = transport
        self._cluster = cluster
        self._metrics = metrics
        self._elected = elected
        self._configuration = configuration
        self._told = Unpatched()

    def run(self, waiting_for: Callable[[], Sequence[str]], seconds: float) -> None:
        """Look while elected, first when nothing is missing any more, and then every so many seconds.

        Errors are logged and never raised.
        """
        rest, due = threading.Event(), 0.0
        while True:
            if not self._elected():
                due = 0.0
                self._metrics.unpatched_pods.set(float("nan"))
            elif time.monotonic() >= due and not waiting_for():
                due = time.monotonic() + self._looked(seconds)
            rest.wait(_STEP_SECONDS)

    def _looked(self, seconds: float) -> float:
        """Look and tell; returns the seconds until the next look."""
        try:
            self.tell(self.look())
        except (ClusterError, DecodeError, SelectorError, _Failed) as error:
            _LOG.warning("pods cannot be audited: %s; next try in %.0f s", error, _RETRY_SECONDS)
            return _RETRY_SECONDS
        except Exception:  # noqa: BLE001 - whatever it is, it must not be the last look
            _LOG.exception("pods cannot be audited; next try in %.0f s", _RETRY_SECONDS)
            return _RETRY_SECONDS
        return seconds * random.uniform(1, 1.2)  # noqa: S311 - no secret

    def look(self) -> Unpatched:
        """Look at all pods.

        Raises:
            ClusterError: the API server does not answer.
        """
        since, selects = self._asked_about()
        count, first = 0, []
        for item in self._pods():
            pod = from_json(bytes(item), Pod)
            if (pod.metadata.creation_timestamp or "") < since or not selects(pod) or not self._lacks(pod, item):
                continue
            count += 1
            if count <= _NAMED:
                first.append(f"{pod.metadata.namespace}/{pod.metadata.name}")
        return Unpatched(count, tuple(first))

    def tell(self, found: Unpatched) -> None:
        """Measure what was found, and log it when it is not what was told before."""
        self._metrics.unpatched_pods.set(found.count)
        self._metrics.audited_at.set_to_current_time()
        if found.count and found != self._told:
            _LOG.warning(
                "pods that were stored without what the webhook would give them now: %d, %s%s: it was not asked, or "
                "what it goes by is newer; only new pods in their place get it",
                found.count,
                ", ".join(found.first),
                " …" if found.count > len(found.first) else "",
            )
        self._told = found

    def _asked_about(self) -> tuple[str, Callable[[Pod], bool]]:
        """Since when the API server asks us about new pods, and about which."""
        items = self._page(
            f"{_CONFIGURATIONS}?fieldSelector=metadata.name%3D{quote(self._configuration, safe='')}"
        ).items
        if not items:
            raise _Failed(f"there is no MutatingWebhookConfiguration {self._configuration}")
        found = from_json(bytes(items[0]), _Configuration)
        selectors = [
            tuple(map(Selector.from_label_selector, (webhook.namespace_selector, webhook.object_selector)))
            for webhook in found.webhooks
        ]

        def selects(pod: Pod) -> bool:
            labels = self._cluster.namespace(pod.metadata.namespace).metadata.labels
            return any(spaces.matches(labels) and objects.matches(pod.metadata.labels) for spaces, objects in selectors)

        # Times of one API are all written alike, so that their texts are in their order.
        return found.metadata.creation_timestamp or "", selects

    def _lacks(self, pod: Pod, item: Raw) -> bool:
        """Whether the handlers of new pods would still write something into it."""
        if pod.finished or pod.metadata.deletion_timestamp or is_mirror_pod(pod):
            return False
        request = Request(
            uid="", operation="CREATE", resource=_POD_RESOURCE, namespace=pod.metadata.namespace, object=item
        )
        if pod.spec.node_name and not author_wrote(request, "nodeName"):
            # It was bound after it was made: its maker is who would have been answered.
            pod = replace(pod, spec=replace(pod.spec, node_name=""))
        return bool(fill_in(as_new(Seen(pod), request, self._cluster), self._cluster).patch)

    def _pods(self) -> Iterator[Raw]:
        """All pods, one after the other; others have their turn in between."""
        token = ""
        pages = Pages(_PAGE)
        while True:
            if not self._elected():
                raise _Failed("another replica counts them now")
            started = time.monotonic()
            page = pages.read(partial(self._pods_from, token))
            for item in page.items:
                yield item
                time.sleep(0)
            token = page.metadata.continue_
            if not token:
                return
            time.sleep(max(time.monotonic() - started, _PAGE_SECONDS))

    def _pods_from(self, token: str, size: int) -> ObjectList:
        more = f"&continue={quote(token, safe='')}" if token else ""
        return self._page(f"{PODS.path()}?limit={size}{more}")

    def _page(self, path: str) -> ObjectList:
        status, body = self._transport.get(path)
        if status != 200:
            raise _Failed(f"GET {path.partition('?')[0]}: {status}: {error_message(body)}")
        return from_json(body, ObjectList)
