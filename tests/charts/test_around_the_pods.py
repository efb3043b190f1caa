"""The objects around the pods: network, number of pods, metrics and `helm test`."""

from __future__ import annotations

import re
from typing import Any

import pytest
import yaml

from tests.charts.chart import CLIENTS, FULL_VALUES, HOST_NETWORK, Chart, config_of, of_kind
from tests.controlplane.client import Object

HTTPS = [{"port": "https", "protocol": "TCP"}]
METRICS = [{"port": "metrics", "protocol": "TCP"}]
DNS = [{"port": 53, "protocol": "UDP"}, {"port": 53, "protocol": "TCP"}]


def one(kind: str, objects: list[Object]) -> Object:
    (found,) = of_kind(kind, objects)
    return found


def container(objects: list[Object]) -> Object:
    (found,) = one("Deployment", objects)["spec"]["template"]["spec"]["containers"]
    return dict(found)


# NetworkPolicy


def test_network_policy_by_default(chart: Chart) -> None:
    objects = chart.objects()
    spec = one("NetworkPolicy", objects)["spec"]
    assert spec["podSelector"] == one("Deployment", objects)["spec"]["selector"]
    assert spec["policyTypes"] == ["Ingress", "Egress"]
    monitoring = {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "monitoring"}}}
    assert spec["ingress"] == [{"ports": HTTPS}, {"ports": METRICS, "from": [monitoring]}]
    api_server, dns = spec["egress"]
    assert api_server == {"ports": [{"port": 443, "protocol": "TCP"}, {"port": 6443, "protocol": "TCP"}]}
    assert dns["ports"] == DNS
    assert dns["to"] == [
        {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "kube-system"}}},
        {"ipBlock": {"cidr": "169.254.20.10/32"}},
    ]


def test_network_policy_of_known_addresses(chart: Chart) -> None:
    values = FULL_VALUES["networkPolicy"]
    spec = one("NetworkPolicy", chart.objects(FULL_VALUES))["spec"]
    assert spec["ingress"] == [
        {"ports": HTTPS, "from": values["from"]},
        {"ports": METRICS, "from": values["metricsFrom"]},
    ]
    assert spec["egress"] == [
        {
            "ports": [{"port": 16443, "protocol": "TCP"}],
            "to": [{"ipBlock": {"cidr": "10.0.0.0/28"}}, {"ipBlock": {"cidr": "fd00::/64"}}],
        }
    ]


@pytest.mark.parametrize("values", [{"metrics": {"enabled": False}}, {"networkPolicy": {"metricsFrom": []}}])
def test_metrics_have_no_allowed_readers(chart: Chart, values: dict[str, Any]) -> None:
    # A rule without from would allow everyone.
    assert one("NetworkPolicy", chart.objects(values))["spec"]["ingress"] == [{"ports": HTTPS}]


def test_no_network_policy(chart: Chart) -> None:
    assert not of_kind("NetworkPolicy", chart.objects({"networkPolicy": {"enabled": False}}))


@pytest.mark.parametrize(
    ("values", "listens"),
    [
        pytest.param({}, {"https": 10250, "metrics": 9090}, id="defaults"),
        pytest.param(FULL_VALUES, {"https": 9443, "metrics": 9191}, id="all values"),
    ],
)
def test_ports_are_values(chart: Chart, values: dict[str, Any], listens: dict[str, int]) -> None:
    """Service and NetworkPolicy refer to the names of these ports."""
    objects = chart.objects(values)
    found, config = container(objects), config_of(objects)
    assert {port["name"]: port["containerPort"] for port in found["ports"]} == listens
    assert config["address"] == f"0.0.0.0:{listens['https']}"
    assert config["metricsAddress"] == f"0.0.0.0:{listens['metrics']}"


def test_nodes_network(chart: Chart) -> None:
    objects = chart.objects(HOST_NETWORK)
    spec = one("Deployment", objects)["spec"]["template"]["spec"]
    # Otherwise it could not resolve the API server by a name of the cluster.
    assert (spec["hostNetwork"], spec["dnsPolicy"]) == (True, "ClusterFirstWithHostNet")
    # An object without restrictions would look like a restriction.
    assert not of_kind("NetworkPolicy", objects)


# HorizontalPodAutoscaler


def test_autoscaler_counts_the_pods_alone(chart: Chart) -> None:
    objects = chart.objects(FULL_VALUES)
    deployment, autoscaler = one("Deployment", objects), one("HorizontalPodAutoscaler", objects)
    assert "replicas" not in deployment["spec"]
    assert autoscaler["spec"]["scaleTargetRef"] == {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "name": deployment["metadata"]["name"],
    }
    assert (autoscaler["spec"]["minReplicas"], autoscaler["spec"]["maxReplicas"]) == (3, 9)
    (metric,) = autoscaler["spec"]["metrics"]
    assert metric["resource"] == {"name": "cpu", "target": {"type": "AverageValue", "averageValue": "250m"}}


def test_no_autoscaler_by_default(chart: Chart) -> None:
    objects = chart.objects()
    assert one("Deployment", objects)["spec"]["replicas"] == 2
    assert not of_kind("HorizontalPodAutoscaler", objects)


# Metrics


def test_metrics_are_served_on_a_port_of_their_own(chart: Chart) -> None:
    objects = chart.objects()
    ports = {port["name"]: port["targetPort"] for port in one("Service", objects)["spec"]["ports"]}
    assert ports == {"https": "https", "metrics": "metrics"}


def test_no_metrics(chart: Chart) -> None:
    objects = chart.objects({"metrics": {"enabled": False}})
    assert [port["name"] for port in one("Service", objects)["spec"]["ports"]] == ["https"]
    assert [port["name"] for port in container(objects)["ports"]] == ["https"]
    assert "metricsAddress" not in config_of(objects)


def test_service_monitor_leads_to_the_metrics(chart: Chart) -> None:
    objects = chart.objects(FULL_VALUES)
    service, monitor = one("Service", objects), one("ServiceMonitor", objects)
    assert monitor["spec"]["selector"]["matchLabels"].items() <= service["metadata"]["labels"].items()
    assert monitor["spec"]["namespaceSelector"]["matchNames"] == [service["metadata"]["namespace"]]
    (endpoint,) = monitor["spec"]["endpoints"]
    assert endpoint == {"port": "metrics", "path": "/metrics", "scheme": "http", "interval": "1m"}
    assert monitor["metadata"]["labels"]["release"] == "prometheus"


def test_nothing_of_prometheus_operator_by_default(chart: Chart) -> None:
    assert not [entry for entry in chart.objects() if entry["apiVersion"].startswith("monitoring.")]


def alerts(objects: list[Object]) -> dict[str, Object]:
    (group,) = one("PrometheusRule", objects)["spec"]["groups"]
    return {rule["alert"]: rule for rule in group["rules"]}


def test_alerts_are_of_this_release(chart: Chart) -> None:
    objects = chart.objects(FULL_VALUES)
    service = one("Service", objects)["metadata"]
    of_release = alerts(objects)
    # The API server knows no releases.
    assert of_release.pop("QosWebhookFailedOpen")
    for name, rule in of_release.items():
        of_series = re.findall(r"qos_webhook_\w+(\{[^}]*)", rule["expr"])
        assert of_series, name
        for selector in of_series:
            assert f'namespace="{service["namespace"]}",job="{service["name"]}"' in selector, name
        assert rule["annotations"].keys() == {"summary", "description", "runbook_url"}
        assert rule["labels"]["severity"] in {"info", "warning", "critical"}


def test_alerts_follow_the_values(chart: Chart) -> None:
    enabled = {"metrics": {"prometheusRule": {"enabled": True}}}
    by_default, others = alerts(chart.objects(enabled)), alerts(chart.objects(FULL_VALUES))
    # Half of timeoutSeconds, and a sixth of certificate.lifetime: 2 s and 90 days, 1 s and 12 hours.
    assert by_default["QosWebhookSlow"]["expr"].endswith("> 1")
    assert others["QosWebhookSlow"]["expr"].endswith("> 0.5")
    assert by_default["QosWebhookCertificateExpires"]["expr"].endswith(f"< {15 * 24 * 3600}")
    assert others["QosWebhookCertificateExpires"]["expr"].endswith(f"< {2 * 3600}")
    # With failurePolicy Ignore, and Fail.
    assert by_default["QosWebhookDown"]["labels"]["severity"] == "warning"
    assert others["QosWebhookDown"]["labels"]["severity"] == "critical"


# Other objects


def test_environment(chart: Chart) -> None:
    assert container(chart.objects(FULL_VALUES))["env"] == FULL_VALUES["extraEnv"]
    assert "env" not in container(chart.objects())


def test_helm_test_calls_the_service(chart: Chart) -> None:
    objects, pod = chart.objects(), chart.test_pod()
    service = one("Service", objects)
    (asking,) = pod["spec"]["containers"]
    assert asking["image"] == container(objects)["image"]
    name = f"{service['metadata']['name']}.{service['metadata']['namespace']}.svc"
    assert f"--url=https://{name}" in asking["args"]
    assert config_of(objects)["certificate"]["kept"]["names"] == [name]
    # Otherwise the Service would select it, too.
    assert not service["spec"]["selector"].items() <= pod["metadata"]["labels"].items()


def hooks(chart: Chart, values: dict[str, Any] | None = None) -> list[Object]:
    """The objects of ``helm test``, in their order."""
    entries = [entry for entry in yaml.safe_load_all(chart.rendered(values)) if weight(entry) is not None]
    return sorted(entries, key=lambda entry: weight(entry) or 0)


def weight(entry: Object) -> int | None:
    annotations = entry["metadata"].get("annotations", {})
    return int(annotations["helm.sh/hook-weight"]) if annotations.get("helm.sh/hook") == "test" else None


def test_helm_test_is_given_no_more_than_it_needs(chart: Chart) -> None:
    objects = chart.objects()
    account, role, binding, pod = hooks(chart)
    assert [entry["kind"] for entry in (account, role, binding, pod)] == [
        "ServiceAccount",
        "Role",
        "RoleBinding",
        "Pod",
    ]
    spec, of_pods = pod["spec"], one("Deployment", objects)["spec"]["template"]["spec"]
    assert spec["serviceAccountName"] == account["metadata"]["name"] != of_pods["serviceAccountName"]
    assert role["metadata"]["namespace"] == binding["metadata"]["namespace"] == "default"
    assert role["rules"] == [{"apiGroups": [""], "resources": ["pods"], "verbs": ["create"]}]
    assert binding["roleRef"]["name"] == role["metadata"]["name"]
    namespace = account["metadata"]["namespace"]
    assert binding["subjects"] == [
        {"kind": "ServiceAccount", "name": spec["serviceAccountName"], "namespace": namespace}
    ]
    assert spec["securityContext"] == of_pods["securityContext"]
    assert spec["containers"][0]["securityContext"] == of_pods["containers"][0]["securityContext"]
    (volume,) = spec["volumes"]
    secret = volume["secret"]
    assert secret["secretName"] == one("Secret", objects)["metadata"]["name"]
    assert secret["items"] == [{"key": "ca.crt", "path": "ca.crt"}]


def test_helm_test_tries_the_namespace_of_the_values(chart: Chart) -> None:
    _, role, binding, pod = hooks(chart, {"test": {"namespace": "tried"}})
    assert role["metadata"]["namespace"] == binding["metadata"]["namespace"] == "tried"
    assert "--namespace=tried" in pod["spec"]["containers"][0]["args"]


@pytest.mark.parametrize(
    "values",
    [
        pytest.param(
            {
                "certificate": {
                    "mode": "existing",
                    "existing": {"secretName": "own-tls", "caBundle": "-----BEGIN CERTIFICATE-----"},
                }
            },
            id="authorities that are nowhere",
        ),
        pytest.param(CLIENTS, id="a client without a certificate"),
    ],
)
def test_helm_test_calls_only_the_api_server(chart: Chart, values: dict[str, Any]) -> None:
    spec = chart.test_pod(values)["spec"]
    assert spec["containers"][0]["args"] == ["--namespace=default", "--timeout=60"]
    assert "volumes" not in spec


def test_no_program_no_helm_test(chart: Chart) -> None:
    assert not hooks(chart, {"mode": "policy"})


# Client certificates


def test_clients_are_known_by_their_certificates(chart: Chart) -> None:
    """The authorities are where the program reads them, and it has the names."""
    objects = chart.objects(CLIENTS)
    values = CLIENTS["clientAuthentication"]
    volumes = {volume["name"]: volume for volume in one("Deployment", objects)["spec"]["template"]["spec"]["volumes"]}
    (mount,) = [mount for mount in container(objects)["volumeMounts"] if mount["name"] == "clients"]
    assert volumes["clients"]["configMap"] == {"name": values["configMap"]}
    assert mount["readOnly"] is True
    assert config_of(objects)["clients"] == {"caFile": f"{mount['mountPath']}/ca.crt", "names": values["names"]}


def test_any_client_by_default(chart: Chart) -> None:
    objects = chart.objects()
    assert "clients" not in config_of(objects)
    assert "clients" not in {mount["name"] for mount in container(objects)["volumeMounts"]}


def test_helm_test_leaves_nothing_behind(chart: Chart) -> None:
    for entry in hooks(chart):
        policy = entry["metadata"]["annotations"]["helm.sh/hook-delete-policy"]
        assert set(policy.split(",")) == {"before-hook-creation", "hook-succeeded", "hook-failed"}
