"""The dashboard and the runbook: every query names a served metric, every alert has its heading."""

from __future__ import annotations

import http.client
import json
import re
import socket
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.charts.chart import CHART, FULL_VALUES, Chart, of_kind
from tests.charts.promql import TARGET_LABELS, named, served
from tests.controlplane.client import ApiError, Object
from tests.controlplane.control_plane import ControlPlane
from tests.objects import raw_pod
from tests.waiting import wait_for
from tests.webhook.demo_server import UNVERIFIED, DemoServer, running_demo

RUNBOOK = CHART.parents[1] / "docs" / "runbook.md"
DASHBOARD = CHART / "dashboards" / "qos-webhook.json"
ADMISSION = "admissionregistration.k8s.io/v1"


def expressions() -> list[str]:
    """Every query of the dashboard's panels."""
    dashboard = json.loads(DASHBOARD.read_text(encoding="utf-8"))
    return [target["expr"] for panel in dashboard["panels"] for target in panel.get("targets", ())]


def alert_rules(chart: Chart) -> list[Object]:
    (rule,) = of_kind("PrometheusRule", chart.objects(FULL_VALUES))
    return [alert for group in rule["spec"]["groups"] for alert in group["rules"]]


# The ConfigMap


def test_dashboard_is_found_by_the_sidecar(chart: Chart) -> None:
    (found,) = [
        entry
        for entry in of_kind("ConfigMap", chart.objects({"metrics": {"dashboard": {"enabled": True}}}))
        if "grafana_dashboard" in entry["metadata"]["labels"]
    ]
    assert found["metadata"]["labels"]["grafana_dashboard"] == "1"
    (text,) = found["data"].values()
    assert json.loads(text) == json.loads(DASHBOARD.read_text(encoding="utf-8"))


def test_no_dashboard_by_default(chart: Chart) -> None:
    assert not [entry for entry in chart.objects() if entry["metadata"]["name"].endswith("-dashboard")]


def test_panels_have_a_place_of_their_own() -> None:
    panels = json.loads(DASHBOARD.read_text(encoding="utf-8"))["panels"]
    assert len({panel["id"] for panel in panels}) == len(panels)
    taken: set[tuple[int, int]] = set()
    for panel in panels:
        place = panel["gridPos"]
        cells = {
            (x, y)
            for x in range(place["x"], place["x"] + place["w"])
            for y in range(place["y"], place["y"] + place["h"])
        }
        assert not cells & taken, panel["title"]
        assert max(x for x, _ in cells) < 24
        taken |= cells


# The runbook


def test_every_alert_has_its_heading_in_the_runbook(chart: Chart) -> None:
    headings = re.findall(r"^## (\w+)$", RUNBOOK.read_text(encoding="utf-8"), re.MULTILINE)
    assert sorted(headings) == sorted(rule["alert"] for rule in alert_rules(chart))
    for rule in alert_rules(chart):
        assert rule["annotations"]["runbook_url"] == f"https://wiki.example.com/qos#{rule['alert'].lower()}"


def test_alerts_lead_nowhere_where_no_runbook_is_named(chart: Chart) -> None:
    (rule,) = of_kind("PrometheusRule", chart.objects({"metrics": {"prometheusRule": {"enabled": True}}}))
    alerts = [alert for group in rule["spec"]["groups"] for alert in group["rules"]]
    assert [alert["alert"] for alert in alerts if "runbook_url" in alert["annotations"]] == []


# Served metrics


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DemoServer]:
    with running_demo(tmp_path_factory.mktemp("dashboard")) as running:
        yield running


def of_the_webhook(server: DemoServer) -> str:
    """A scrape after one request that was not a review, and one connection without TLS."""
    with closing(http.client.HTTPSConnection("127.0.0.1", server.port, timeout=60, context=UNVERIFIED)) as connection:
        connection.request("POST", "/mutate", b"{}", {"Content-Type": "application/json"})
        assert connection.getresponse().status == 400
    with socket.create_connection(("127.0.0.1", server.port), timeout=60) as plain:
        plain.sendall(b"GET / HTTP/1.1\r\n\r\n")
    return wait_for(lambda: found if "closed_connections_total{" in (found := server.metrics()) else "", "both count")


def unreachable(name: str, namespace: str, failure_policy: str) -> Object:
    """A configuration with an unreachable webhook of ours, for the pods of one namespace."""
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"], "operations": ["CREATE"]}
    entry: dict[str, Any] = {
        "name": f"{name}.kubectl-qos.io",
        "rules": [rule],
        "clientConfig": {"url": "https://127.0.0.1:1/"},
        "admissionReviewVersions": ["v1"],
        "sideEffects": "None",
        "failurePolicy": failure_policy,
        "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": namespace}},
    }
    metadata = {"name": f"{name}.{namespace}"}
    kind = "ValidatingWebhookConfiguration"
    return {"apiVersion": ADMISSION, "kind": kind, "metadata": metadata, "webhooks": [entry]}


def of_the_api_server(control_plane: ControlPlane, namespace: str) -> str:
    """A scrape after a call that failed and was allowed, and one that was refused."""

    def asked() -> str:
        try:
            path = control_plane.api.path("v1", "Pod", namespace)
            control_plane.api.request("POST", path, raw_pod("probe", namespace), query={"dryRun": "All"})
        except ApiError:
            text = control_plane.kubectl("get", "--raw", "/metrics").stdout
            return text if "apiserver_admission_webhook_rejection_count{" in text else ""
        return ""

    opened = unreachable("opened", namespace, "Ignore")
    closed = unreachable("closed", namespace, "Fail")
    with control_plane.holding([opened, closed]):
        return wait_for(asked, "the API server has called both")


@pytest.mark.controlplane
def test_every_query_names_what_is_served(
    chart: Chart, control_plane: ControlPlane, namespace: str, server: DemoServer
) -> None:
    known = served(of_the_webhook(server), of_the_api_server(control_plane, namespace))
    of_certificates = {name for name in _documented() if "_certificate_" in name or "_authority_" in name}
    asked = [*expressions(), *(rule["expr"] for rule in alert_rules(chart))]
    assert len(asked) > 20
    for expression in asked:
        series = named(expression)
        assert series, expression
        for name, labels in series.items():
            # The demo cluster has no kept certificate.
            assert name in known.keys() | of_certificates, expression
            assert labels - TARGET_LABELS <= known.get(name, set()), expression


def _documented() -> set[str]:
    page = (Path(RUNBOOK).parent / "webhook" / "reference.md").read_text(encoding="utf-8")
    return set(re.findall(r"^\| `(qos_webhook_\w+)`", page, re.MULTILINE))
