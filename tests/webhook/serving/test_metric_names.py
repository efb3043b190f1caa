"""Names and HELP lines of the metrics keep Prometheus' conventions.

Source: promlint, prometheus/testutil/promlint in github.com/prometheus/client_golang at v1.23.2;
prometheus.io/docs/practices/naming.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Any

import pytest
from prometheus_client import disable_created_metrics, enable_created_metrics
from prometheus_client.metrics_core import Metric
from prometheus_client.parser import text_string_to_metric_families

from tests.webhook.conftest import start_demo
from webhook.certificates.serving import CertificateStatus
from webhook.serving.app import REVIEW_PATHS
from webhook.serving.metrics import Metrics, MetricSources, ReviewResult

NOT_BASE_UNITS = re.compile(
    r"_(?:(?:pico|nano|micro|milli|centi|kilo|kibi|mega|giga)\w+|minutes|hours|days|weeks|bits|s|ms|us|ns|sec|b|kb|mb|gb|m|h|d)"
    r"(?:_|$)"
)


def families() -> list[Metric]:
    """All metrics, each with a sample."""
    now = datetime.now(UTC)
    metrics = Metrics(REVIEW_PATHS)
    metrics.count_review(REVIEW_PATHS[0], ReviewResult.ALLOWED, 0.1)
    metrics.count_refused(503)
    metrics.count_closed("tls")
    metrics.count_event("created")
    caches = start_demo().caches
    for cache in caches:
        cache.heard_at = 0.0
    status = CertificateStatus(now, now, writer=True, renewals=1, failures=1)
    watched: dict[str, Any] = {"connections": lambda: {"idle": 1}, "certificate": lambda: status}
    metrics.watch(MetricSources(caches=caches, ready=lambda: True, **watched))
    found = list(text_string_to_metric_families(metrics.render().decode()))
    return [family for family in found if family.name.startswith("qos_webhook")]


# As a worker does (`webhook.serving.server`); the switch belongs to the process.
disable_created_metrics()  # type: ignore[no-untyped-call]  # the library gives it no types
ALL = families()
enable_created_metrics()  # type: ignore[no-untyped-call]


@pytest.mark.parametrize("family", ALL, ids=lambda family: family.name)
def test_metric_name_keeps_the_conventions(family: Metric) -> None:
    exposed = f"{family.name}_total" if family.type == "counter" else family.name
    assert {sample.name for sample in family.samples} <= {exposed, *(f"{exposed}_{end}" for end in _ends(family))}
    assert re.fullmatch(r"[a-z][a-z0-9_]*", exposed)
    assert not NOT_BASE_UNITS.search(exposed)
    assert family.type not in exposed.split("_")
    if family.type != "counter":
        assert not exposed.endswith("_total")
    if family.type != "histogram":
        assert not exposed.endswith(("_count", "_sum", "_bucket"))
    for sample in family.samples:
        assert all(re.fullmatch(r"[a-z][a-z_]*", label) for label in sample.labels)
        assert "quantile" not in sample.labels
        assert ("le" in sample.labels) == (sample.name == f"{exposed}_bucket")


@pytest.mark.parametrize("family", ALL, ids=lambda family: family.name)
def test_metric_help_is_a_sentence_that_names_its_unit(family: Metric) -> None:
    text = family.documentation
    assert re.fullmatch(r"[A-Z].*[a-z0-9]\.", text)
    if family.name.endswith("_seconds"):
        assert "in seconds" in text
    elif family.type == "counter":
        assert text.startswith("Number of ")
    else:
        assert text.startswith(("Number of ", "Whether ", "Version "))
    if text.startswith("Whether "):
        assert re.search(r": 1 if .*, 0 if not\.$", text)


def test_metric_help_is_each_of_its_own() -> None:
    assert len({family.documentation for family in ALL}) == len(ALL)


def _ends(family: Metric) -> tuple[str, ...]:
    return ("bucket", "count", "sum") if family.type == "histogram" else ()
