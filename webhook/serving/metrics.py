"""The metrics of the webhook, for Prometheus.

Reviews are counted as they happen. The state of the caches, the certificate and the connections is read at each scrape.
docs/webhook/reference.md documents the names, and the alerts of the chart use them.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from enum import Enum
from typing import Any, Final

from msgspec import Struct
from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    ProcessCollector,
    generate_latest,
)
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from cluster_io.live.reflector import Reflector
from podrules import __version__
from webhook.certificates.serving import CertificateStatus

_BUCKETS: Final = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.0)
"""Seconds: from the time of a review that caches answer to the API server's timeout."""


class ReviewResult(Enum):
    """How a review ended."""

    ALLOWED = "allowed"
    PATCHED = "patched"
    WARNED = "warned"
    DENIED = "denied"
    UNREADABLE = "unreadable"
    """The object does not match its kind. The request is allowed unless a rule refuses unreadable requests."""
    FAILED = "failed"
    """An error in the webhook. The request is allowed unless a rule refuses unreadable requests."""


class MetricSources(Struct, frozen=True, kw_only=True):
    """The sources of the metrics that are read at each scrape."""

    caches: Sequence[Reflector[Any]]
    ready: Callable[[], bool]
    certificate: Callable[[], CertificateStatus | None]
    connections: Callable[[], Mapping[str, int]]
    """The number of connections by state."""


class Metrics:
    """The metrics of one process."""

    def __init__(self, paths: Iterable[str] = ()) -> None:
        """Begin at zero.

        Args:
            paths: The paths of reviews. Each has a series per outcome from the beginning, so that the first review
                with an outcome shows as an increase.
        """
        self._registry = CollectorRegistry()
        reviews = Counter(
            "qos_webhook_reviews",
            "Number of reviews answered, by path and outcome.",
            ("path", "outcome"),
            registry=self._registry,
        )
        seconds = Histogram(
            "qos_webhook_review_duration_seconds",
            "Time from the last byte of a review to its answer, in seconds.",
            ("path",),
            buckets=_BUCKETS,
            registry=self._registry,
        )
        self._reviews = {
            (path, outcome): reviews.labels(path, outcome.value) for path in paths for outcome in ReviewResult
        }
        self._seconds = {path: seconds.labels(path) for path in paths}
        self._refused = Counter(
            "qos_webhook_refused_requests",
            "Number of requests answered with an HTTP error; the API server then applies its failurePolicy.",
            ("code",),
            registry=self._registry,
        )
        self._closed = Counter(
            "qos_webhook_closed_connections",
            "Number of connections closed before their client was done, by reason.",
            ("reason",),
            registry=self._registry,
        )
        self._events = Counter(
            "qos_webhook_events",
            "Number of Events about force deletions, by outcome.",
            ("outcome",),
            registry=self._registry,
        )
        self._refused_configurations = Counter(
            "qos_webhook_scheduler_configs_refused",
            "Number of refused scheduler configurations.",
            registry=self._registry,
        )
        self._configuration_in_force = Gauge(
            "qos_webhook_scheduler_config_current",
            "Whether the scheduler configuration in the cluster is in force: 1 if it is, 0 if not.",
            registry=self._registry,
        )
        self._configuration_in_force.set(1)
        self.unpatched_pods = Gauge(
            "qos_webhook_unpatched_pods",
            "Number of pods stored without the defaults that the webhook would set now; NaN before the first count and "
            "on replicas that do not hold the Lease.",
            registry=self._registry,
        )
        self.unpatched_pods.set(float("nan"))
        self.audited_at = Gauge(
            "qos_webhook_audit_timestamp_seconds",
            "Time of the last count of unpatched pods, in seconds since the Unix epoch; 0 before the first count.",
            registry=self._registry,
        )
        info = Gauge(
            "qos_webhook_build_info",
            "Version of the webhook, as a label of the constant 1.",
            ("version",),
            registry=self._registry,
        )
        info.labels(__version__).set(1)
        ProcessCollector(registry=self._registry)

    def count_review(self, path: str, outcome: ReviewResult, seconds: float) -> None:
        """Count an answered review."""
        self._reviews[path, outcome].inc()
        self._seconds[path].observe(seconds)

    def count_refused(self, code: int) -> None:
        """Count a request that was answered with an HTTP error."""
        self._refused.labels(str(code)).inc()

    def count_closed(self, reason: str) -> None:
        """Count a connection that was ended before its client was done."""
        self._closed.labels(reason).inc()

    def count_event(self, outcome: str) -> None:
        """Count the outcome of an Event about a force deletion."""
        self._events.labels(outcome).inc()

    def note_configuration(self, accepted: bool) -> None:
        """Record whether a scheduler configuration is accepted; count a refused one."""
        self._configuration_in_force.set(accepted)
        if not accepted:
            self._refused_configurations.inc()

    def watch(self, watched: MetricSources) -> None:
        """Add the metrics of these sources."""
        self._registry.register(_State(watched))

    def render(self) -> bytes:
        """All metrics in Prometheus' text format."""
        return generate_latest(self._registry)


class _State(Collector):
    def __init__(self, watched: MetricSources) -> None:
        self._watched = watched

    def collect(self) -> Iterator[Metric]:
        watched = self._watched
        yield _gauge("ready", "Whether the webhook can answer reviews: 1 if it can, 0 if not.", watched.ready())
        labels = ("cache",)
        synced = _gauge("cache_synced", "Whether a cache holds a whole list: 1 if it does, 0 if not.", labels=labels)
        objects = _gauge("cache_objects", "Number of objects in a cache.", labels=labels)
        age = _gauge(
            "cache_age_seconds",
            "Time since the API server last sent something for a cache, in seconds; up to about a minute is usual.",
            labels=labels,
        )
        lists = _counter("cache_lists", "Number of times that a cache was filled by a whole list.", labels)
        watches = _counter(
            "cache_watches", "Number of watches started; the API server ends each after minutes.", labels
        )
        failures = _counter("cache_failures", "Number of lists and watches that failed and were retried.", labels)
        left_out = _counter(
            "cache_left_out",
            "Number of objects in lists and events that were skipped: they cannot be decoded, or need too much memory.",
            labels,
        )
        now = time.monotonic()
        for cache in watched.caches:
            synced.add_metric((cache.name,), cache.synced)
            objects.add_metric((cache.name,), cache.size)
            if cache.heard_at is not None:
                age.add_metric((cache.name,), now - cache.heard_at)
            lists.add_metric((cache.name,), cache.lists)
            watches.add_metric((cache.name,), cache.watches)
            failures.add_metric((cache.name,), cache.failures)
            left_out.add_metric((cache.name,), cache.left_out)
        yield from (synced, objects, age, lists, watches, failures, left_out)
        status = watched.certificate()
        if status is not None:
            ends = (
                ("certificate", "the served certificate", status.not_after),
                ("authority", "the authority of the served certificate", status.authority_not_after),
            )
            for name, what, end in ends:
                if end is not None:
                    yield _gauge(
                        f"{name}_expiry_timestamp_seconds",
                        f"Time at which {what} expires, in seconds since the Unix epoch.",
                        end.timestamp(),
                    )
            yield _gauge(
                "certificate_writer",
                "Whether this replica makes the certificate for all replicas: 1 if it does, 0 if not.",
                status.writer,
            )
            yield CounterMetricFamily(
                "qos_webhook_certificate_renewals",
                "Number of served certificates that replaced another.",
                value=status.renewals,
            )
            yield CounterMetricFamily(
                "qos_webhook_certificate_failures",
                "Number of failures to keep or load the certificate; each is retried.",
                value=status.failures,
            )
        connections = _gauge("connections", "Number of open connections, by state.", labels=("state",))
        for state, count in watched.connections().items():
            connections.add_metric((state,), count)
        yield connections


def _gauge(
    name: str, text: str, value: float | None = None, *, labels: Sequence[str] | None = None
) -> GaugeMetricFamily:
    return GaugeMetricFamily(f"qos_webhook_{name}", text, value=value, labels=labels)


def _counter(name: str, text: str, labels: Sequence[str]) -> CounterMetricFamily:
    return CounterMetricFamily(f"qos_webhook_{name}", text, labels=labels)
