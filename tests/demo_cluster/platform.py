"""Tables of the platform team: kube-system, ingress, monitoring."""

from __future__ import annotations

from typing import Final

from tests.demo_cluster.rows import Container, Workload, spread, workload

_EVERYWHERE: Final = "cp-a1 a1 a2 a3 b1 b2 b3 b4 c1 c2 c3 c4"
_BLOCK_NODES: Final = "a1 a2 a3 b1 b2 b3 c1 c2 c3"
_ANYWHERE: Final = {"tolerations": [{"operator": "Exists"}]}
_LOGS: Final = {"mountPath": "/var/log", "name": "logs", "readOnly": True}
_HOST: Final = {"hostNetwork": True, **_ANYWHERE}
_CONTROL_PLANE: Final = {"hostNetwork": True, "securityContext": {"seccompProfile": {"type": "RuntimeDefault"}}}


def _static(name: str, image: str, asks: str) -> Workload:
    return workload(
        f"Node kube-system/{name}",
        Container(name, image, asks),
        on="cp-a1",
        priority_class="system-node-critical",
        age="146d",
        spec=_CONTROL_PLANE,
    )


def _daemon(name: str, image: str, asks: str, on: str = _EVERYWHERE) -> Workload:
    return workload(
        f"DaemonSet kube-system/{name}",
        Container(name, image, asks),
        on=on,
        priority_class="system-node-critical",
        age="146d",
        spec=_HOST,
    )


_KUBE_SYSTEM: Final = (
    _static("etcd", "kube/etcd:3.6.8-0", "200m 512Mi"),
    _static("kube-apiserver", "kube/kube-apiserver:v1.36.3", "250m 1Gi"),
    _static("kube-controller-manager", "kube/kube-controller-manager:v1.36.3", "200m 256Mi"),
    _static("kube-scheduler", "kube/kube-scheduler:v1.36.3", "100m 128Mi"),
    _daemon("kube-proxy", "kube/kube-proxy:v1.36.3", "100m 64Mi"),
    _daemon("net-agent", "net/agent:1.18.4", "100m 128Mi"),
    _daemon("csi-block-node", "storage/csi-block:2.4.0", "30m 96Mi", _BLOCK_NODES),
    workload(
        "Deployment kube-system/coredns",
        Container("coredns", "kube/coredns:v1.13.1", "100m 70Mi", "- 170Mi"),
        on="a2 b2",
        priority_class="system-cluster-critical",
        age="146d",
        port=53,
    ),
    workload(
        "Deployment kube-system/metrics-server",
        Container("metrics-server", "kube/metrics-server:v0.8.1", "100m 200Mi"),
        on="b1",
        priority_class="system-cluster-critical",
        age="146d",
        port=10250,
    ),
    workload(
        "Deployment kube-system/csi-block-controller",
        Container("controller", "storage/csi-block:2.4.0", "50m 128Mi"),
        Container("attacher", "storage/csi-attacher:v4.11.0", "10m 32Mi"),
        on="a1",
        priority_class="system-cluster-critical",
        age="146d",
    ),
)

_MONITORING: Final = (
    # Trouble: a log agent that asks for nothing, so it is BestEffort and dies first on every node.
    workload(
        "DaemonSet monitoring/log-agent",
        Container("agent", "monitoring/log-agent:3.2.6", more={"volumeMounts": [_LOGS]}),
        on=_EVERYWHERE,
        qos="BestEffort",
        age="63d",
        spec={**_ANYWHERE, "volumes": [{"name": "logs", "hostPath": {"path": "/var/log", "type": ""}}]},
    ),
    workload(
        "StatefulSet monitoring/prometheus",
        Container("prometheus", "monitoring/prometheus:v3.8.1", "1 6Gi", "- 8Gi"),
        Container("reloader", "monitoring/reloader:0.88.0", "10m 32Mi", "10m 32Mi"),
        on="b2",
        age="120d",
        spec={"terminationGracePeriodSeconds": 600},
        port=9090,
        claim="fast-block 200Gi",
    ),
    workload(
        "StatefulSet monitoring/alertmanager",
        Container("alertmanager", "monitoring/alertmanager:v0.30.0", "50m 128Mi", "- 256Mi"),
        on="a2 b1",
        age="120d",
        port=9093,
    ),
    workload(
        "Deployment monitoring/grafana",
        Container("grafana", "monitoring/grafana:12.3.1", "100m 256Mi", "500m 512Mi"),
        on="a1",
        age="47d",
        port=3000,
    ),
    workload(
        "Deployment monitoring/kube-state-metrics",
        Container("kube-state-metrics", "monitoring/kube-state-metrics:v2.18.0", "50m 192Mi", "- 384Mi"),
        on="b2",
        age="47d",
        port=8080,
    ),
)

_INGRESS: Final = (
    workload(
        "Deployment ingress/gateway",
        Container("gateway", "ingress/gateway:1.6.2", "500m 512Mi", "- 1Gi"),
        on="a1 b1 c1",
        priority_class="shop-high",
        age="34d",
        spec={"terminationGracePeriodSeconds": 60, **spread("gateway", "ScheduleAnyway")},
        port=8443,
    ),
)

PLATFORM: Final = (*_KUBE_SYSTEM, *_MONITORING, *_INGRESS)
