"""Counts the pods that the API server stored without the webhook's defaults.

With failurePolicy Ignore, the API server stores pods while no replica answers, and does not report it. The defaults
cannot be added later: topologySpreadConstraints and the priority are immutable. So the webhook counts these pods.

    pods        those that are newer than the MutatingWebhookConfiguration, in namespaces that it selects; no finished,
                terminating or mirror pods
    defaults    those that the handlers of new pods would write into the pod now. So a pod is also counted if it is
                older than the Service or the default that they come from
    replica     the holder of the release's Lease, for all replicas
    time        once it holds the Lease and its caches are filled, because a replica was away then; rarely after that
    load        pages of 100 that are not stored, at most ten a second. After each page and each pod, the audit pauses
                for as long as it worked: it takes some minutes for 150,000 pods, as does the API server's list
"""

from __future__ import annotations

import logging
import random
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final
from urllib.parse import quote

from msgspec import Raw, Struct, field
from msgspec.structs import replace

from cluster_io.errors import ClusterError
from cluster_io.field_selector import equal_fields
from cluster_io.kinds import PODS
from cluster_io.live.answers import ObjectList, error_message, head_of_object, pages_of
from cluster_io.live.reflector import StreamTransport
from podrules.api.model.base import KubeObject, Model, ObjectMeta
from podrules.api.model.decode import DecodeError, from_json
from podrules.api.model.pod import Pod
from podrules.api.model.selectors import LabelSelector, Selector, SelectorError
from podrules.pod.priority import is_mirror_pod
from webhook.cluster.view import Cluster
from webhook.reviews.admission_review import GroupVersionResource, Request, fields_of_author
from webhook.reviews.new_pod import as_new
from webhook.reviews.partial_objects import PartialObject
from webhook.rules import fill_in
from webhook.serving.metrics import Metrics

_LOG: Final = logging.getLogger(__name__)
_PAGE: Final = 100
_PAGE_SECONDS: Final = 0.1
"""The shortest pause after a page."""
_NAMED: Final = 3
"""How many of the pods are named in the log."""
_RETRY_SECONDS: Final = 60.0
_STEP_SECONDS: Final = 1.0
"""How often the audit checks whether this replica is elected."""
_CONFIGURATIONS: Final = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations"
_POD_RESOURCE: Final = GroupVersionResource("", "v1", "pods")


class AuditResult(Struct, frozen=True):
    """The result of one audit."""

    count: int = 0
    first: tuple[str, ...] = ()
    """``namespace/name`` of a few of them."""


class _Webhook(Model, frozen=True):
    namespace_selector: LabelSelector = field(default_factory=LabelSelector)
    object_selector: LabelSelector = field(default_factory=LabelSelector)


class _Configuration(KubeObject, frozen=True):
    webhooks: tuple[_Webhook, ...] = ()


class _Failed(Exception):
    """A list cannot be read completely."""


class Audit:
    """Counts pods without defaults; `run` repeats it without end."""

    def __init__(
        self,
        transport: StreamTransport,
        cluster: Cluster,
        metrics: Metrics,
        elected: Callable[[], bool],
        *,
        configuration: str,
    ) -> None:
        """Set up the audit; `run` starts it.

        Args:
            transport: How requests get to the API server.
            cluster: The cluster that the handlers read.
            metrics: The metrics that show the number.
            elected: Whether this replica does the audit, at this moment.
            configuration: The name of the MutatingWebhookConfiguration that calls this webhook.
        """
        self._transport = transport
        self._cluster = cluster
        self._metrics = metrics
        self._elected = elected
        self._configuration = configuration
        self._last_logged = AuditResult()

    def run(self, waiting_for: Callable[[], Sequence[str]], seconds: float) -> None:
        """Audit while elected: first when all caches are filled, then after every so many seconds.

        Errors are logged and never raised.
        """
        pause, due, earliest = threading.Event(), 0.0, 0.0
        while True:
            if not self._elected():
                due = earliest
                self._metrics.unpatched_pods.set(float("nan"))
            elif time.monotonic() >= due and not waiting_for():
                due = time.monotonic() + self._audited(seconds)
                # Holds also if the Lease moves back and forth between replicas.
                earliest = time.monotonic() + _RETRY_SECONDS
            pause.wait(_STEP_SECONDS)

    def _audited(self, seconds: float) -> float:
        """Audit and report; return the seconds until the next audit."""
        try:
            self.report(self.count())
        except (ClusterError, DecodeError, SelectorError, _Failed) as error:
            _LOG.warning("pods cannot be audited: %s; next try in %.0f s", error, _RETRY_SECONDS)
            return _RETRY_SECONDS
        except Exception:  # noqa: BLE001 - no error may end the audits
            _LOG.exception("pods cannot be audited; next try in %.0f s", _RETRY_SECONDS)
            return _RETRY_SECONDS
        return seconds * random.uniform(1, 1.2)  # noqa: S311 - no secret

    def count(self) -> AuditResult:
        """Read all pods and count those that lack defaults.

        Raises:
            ClusterError: the API server does not answer.
        """
        since, selects = self._selection()
        count, first = 0, []
        for item in self._pods():
            try:
                pod = from_json(bytes(item), Pod)
            except DecodeError:
                _leave_out(head_of_object(bytes(item)))
                continue
            if (pod.metadata.creation_timestamp or "") < since or not selects(pod) or not self._lacks(pod, item):
                continue
            count += 1
            if count <= _NAMED:
                first.append(f"{pod.metadata.namespace}/{pod.metadata.name}")
        return AuditResult(count, tuple(first))

    def report(self, found: AuditResult) -> None:
        """Set the metrics, and log the result when it differs from the last one."""
        self._metrics.unpatched_pods.set(found.count)
        self._metrics.audited_at.set_to_current_time()
        if found.count and found != self._last_logged:
            _LOG.warning(
                "pods stored without the defaults that the webhook would set now: %d, %s%s: it was not called, or the "
                "defaults are newer; only replacements of these pods get them",
                found.count,
                ", ".join(found.first),
                " …" if found.count > len(found.first) else "",
            )
        self._last_logged = found

    def _selection(self) -> tuple[str, Callable[[Pod], bool]]:
        """The time since which the API server calls this webhook for new pods, and a predicate of those pods."""
        named = equal_fields(("metadata.name", self._configuration))
        items = from_json(self._body(f"{_CONFIGURATIONS}?fieldSelector={quote(named, safe='')}"), ObjectList).items
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

        # The API server writes all times in one format, so their texts sort by time.
        return found.metadata.creation_timestamp or "", selects

    def _lacks(self, pod: Pod, item: Raw) -> bool:
        """Whether the handlers of new pods would still write a default into the pod."""
        if pod.finished or pod.metadata.deletion_timestamp or is_mirror_pod(pod):
            return False
        request = Request(
            uid="", operation="CREATE", resource=_POD_RESOURCE, namespace=pod.metadata.namespace, object=item
        )
        if pod.spec.node_name and not fields_of_author(request)("nodeName"):
            # The scheduler bound the pod later: evaluate it as its author created it.
            pod = replace(pod, spec=replace(pod.spec, node_name=""))
        return bool(fill_in(as_new(PartialObject(pod), request, self._cluster), self._cluster).patch)

    def _pods(self) -> Iterator[Raw]:
        """Iterate over all pods; other work runs in between.

        A tenant can make one pod cost 30 ms, by the selector of its ReplicaSet. With ``sleep(0)``, gevent would process
        50 of them before it polls a socket.
        """
        began = time.monotonic()
        for page in pages_of(self._page, PODS.path(), "", _PAGE, _leave_out):
            time.sleep(max(time.monotonic() - began, _PAGE_SECONDS))
            yield from _with_pauses(page.items)
            del page  # Free it before the next one arrives.
            began = time.monotonic()

    def _page(self, path: str) -> bytes:
        if not self._elected():
            raise _Failed("another replica counts them now")
        return self._body(path)

    def _body(self, path: str) -> bytes:
        status, body = self._transport.get(path)
        if status != 200:
            raise _Failed(f"GET {path.partition('?')[0]}: {status}: {error_message(body)}")
        return body


def _with_pauses(items: Iterable[Raw]) -> Iterator[Raw]:
    """Yield copies, which keep no page in memory; pause after each for as long as its processing took."""
    for item in items:
        began = time.monotonic()
        yield Raw(bytes(item))
        time.sleep(time.monotonic() - began)


def _leave_out(pod: ObjectMeta) -> None:
    _LOG.warning("pod %s/%s is not audited: it cannot be decoded", pod.namespace, pod.name)
