"""The chart as the real helm renders, checks and installs it."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from podrules.qos_webhook.rules import CONFIG_KIND, CONFIG_VERSION
from tests.controlplane.client import Object
from tests.controlplane.processes import run_client

CHART = Path(__file__).resolve().parents[2] / "charts" / "qos-webhook"

FULL_VALUES: Mapping[str, Any] = {
    "mode": "both",
    "fullnameOverride": "harbour",
    "commonLabels": {"cost-centre": "42", "app.kubernetes.io/instance": "not-taken"},
    "commonAnnotations": {"example.com/owner": "platform"},
    "replicas": 3,
    "autoscaling": {"enabled": True, "minReplicas": 3, "maxReplicas": 9, "averageCPU": "250m"},
    "image": {"repository": "registry.example.com/qos", "tag": "1.2.3", "pullPolicy": "Always"},
    "imagePullSecrets": [{"name": "registry"}],
    "resources": {"requests": {"cpu": "100m", "memory": "128Mi"}, "limits": {"cpu": 1, "memory": "256Mi"}},
    "priorityClassName": "system-node-critical",
    "nodeSelector": {"kubernetes.io/os": "linux"},
    "tolerations": [{"key": "node-role.kubernetes.io/control-plane", "operator": "Exists", "effect": "NoSchedule"}],
    "affinity": {
        "nodeAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": {
                "nodeSelectorTerms": [{"matchExpressions": [{"key": "spot", "operator": "DoesNotExist"}]}]
            }
        }
    },
    "topologySpreadConstraints": [
        {"maxSkew": 2, "topologyKey": "rack", "whenUnsatisfiable": "DoNotSchedule", "minDomains": 2},
        {
            "maxSkew": 1,
            "topologyKey": "zone",
            "whenUnsatisfiable": "ScheduleAnyway",
            "labelSelector": {"matchLabels": {"team": "platform"}},
        },
    ],
    "podAnnotations": {"example.com/scrape": "false"},
    "podLabels": {"team": "platform", "app.kubernetes.io/name": "not-taken"},
    "serviceAccount": {"name": "porter", "annotations": {"example.com/role": "porter"}},
    "extraEnv": [
        {"name": "HTTPS_PROXY", "value": "http://proxy.example.com:3128"},
        {"name": "NODE", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}},
    ],
    "containerPort": 9443,
    "test": {"namespace": "tried"},
    "logFormat": "json",
    "logLevel": "debug",
    "tls": {
        "minVersion": "VersionTLS12",
        "cipherSuites": ["TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256", "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384"],
    },
    "auditInterval": "10m",
    "preStopSeconds": 3,
    "drainSeconds": 30,
    "networkPolicy": {
        "from": [{"ipBlock": {"cidr": "10.0.0.0/28"}}],
        "metricsFrom": [{"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "monitoring"}}}],
        "apiServer": {"cidrs": ["10.0.0.0/28", "fd00::/64"], "ports": [16443]},
        "dns": [],
    },
    "metrics": {
        "port": 9191,
        "serviceMonitor": {"enabled": True, "interval": "1m", "labels": {"release": "prometheus"}},
        "prometheusRule": {
            "enabled": True,
            "labels": {"release": "prometheus", "cost-centre": "7"},
            "runbookUrl": "https://wiki.example.com/qos",
        },
        "dashboard": {"enabled": True, "labels": {"grafana_dashboard": "yes"}},
    },
    "webhook": {
        "url": "https://qos.example.com:8443/",
        "failurePolicy": "Fail",
        "timeoutSeconds": 1,
        "excludedNamespaces": ["kube-system", "kube-public"],
        "namespaceMatchExpressions": [{"key": "qos", "operator": "NotIn", "values": ["off"]}],
    },
    "certificate": {"lifetime": "12h"},
    "forceDeletion": {
        "mode": "confirm",
        "namespaces": {"shop": "deny", "kube-system": "deny"},
        "exemptUsers": ["fencer", 'system:serviceaccount:ops:"fencer"'],
        "exemptNodeControllers": {"karpenter": [], "reaper": ["reaper", 'system:serviceaccount:ops:"reaper"']},
    },
    "clusterDefaultConstraints": {
        "schedulerConfiguration": {
            "apiVersion": "kubescheduler.config.k8s.io/v1",
            "kind": "KubeSchedulerConfiguration",
            "profiles": [
                {
                    "schedulerName": "default-scheduler",
                    "pluginConfig": [
                        {
                            "name": "PodTopologySpread",
                            "args": {
                                "defaultingType": "List",
                                "defaultConstraints": [
                                    {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "ScheduleAnyway"}
                                ],
                            },
                        }
                    ],
                }
            ],
        },
        "namespaces": {
            "shop": [{"maxSkew": 1, "topologyKey": "rack", "whenUnsatisfiable": "DoNotSchedule", "minDomains": 2}],
            "team-*": [],
        },
        "leaveOutTemplateHash": True,
        "writeSystemDefaults": True,
    },
    "priorityClasses": {
        "defaults": {"shop": "shop-low", "*": "shop-high"},
        "allowed": {"shop": ["shop-low", "shop-high"], "team-*": ["*"], "batch": []},
        "disallowed": "warn",
        "templates": "deny",
    },
    "lint": {"spreadSelectors": False, "topologyKeys": True},
    "warnings": "verbose",
}
"""As many values as can be set at once, each different from its default."""

CLIENTS: Mapping[str, Any] = {
    "clientAuthentication": {"configMap": "apiserver-authorities", "names": ["kube-apiserver", 'the "second"']}
}
"""Only the API server may send reviews: there is no file of authorities here, so these are not in FULL_VALUES."""

EVENTS: Mapping[str, Any] = {**CLIENTS, "forceDeletion": {"mode": "deny", "events": True}}
"""Refused force deletions create Events, which requires client certificates."""

HOST_NETWORK: Mapping[str, Any] = {"hostNetwork": True, "containerPort": 8443}
"""No NetworkPolicy applies to pods in the nodes' network, and only privileged namespaces admit them."""

NODE_CONTROLLERS: Mapping[str, list[str]] = yaml.safe_load((CHART / "values.yaml").read_text(encoding="utf-8"))[
    "forceDeletion"
]["exemptNodeControllers"]
"""The default usernames of controllers that delete Nodes as part of their work."""

PRODUCTION: Mapping[str, Any] = yaml.safe_load((CHART / "examples" / "production.yaml").read_text(encoding="utf-8"))
"""The chart's example."""


class HelmError(RuntimeError):
    """Helm refused; the message is what it printed."""


class Chart:
    """The chart, and helm without the user's own settings."""

    def __init__(self, helm: Path, home: Path) -> None:
        self._helm = helm
        self._env = {
            **{name: value for name, value in os.environ.items() if not name.startswith(("HELM_", "KUBE"))},
            **{f"HELM_{name}_HOME": str(home / name.lower()) for name in ("CACHE", "CONFIG", "DATA")},
            "KUBECONFIG": str(home / "none"),
        }
        self._rendered: dict[tuple[str, ...], str] = {}

    def run(
        self, *arguments: str | Path, values: Mapping[str, Any] | None = None, kubeconfig: Path | None = None
    ) -> str:
        """Run helm; return its output.

        Args:
            arguments: The arguments after ``helm``.
            values: Given with ``--values``; with an image, if they name none.
            kubeconfig: The cluster; none when not given.

        Raises:
            HelmError: the exit code was not 0.
        """
        given: Sequence[str] = () if values is None else ("--values", "-")
        done = run_client(
            [self._helm, *arguments, *given],
            input=json.dumps(with_image(values)) if values is not None else None,
            env=self._env | ({"KUBECONFIG": str(kubeconfig)} if kubeconfig else {}),
            timeout=120,
        )
        if done.returncode != 0:
            raise HelmError(done.stderr + done.stdout)
        return done.stdout

    def rendered(
        self,
        values: Mapping[str, Any] | None = None,
        *flags: str,
        release: str = "qos-webhook",
        namespace: str = "qos-system",
    ) -> str:
        """The manifest; each is rendered once."""
        asked = (json.dumps(values), *flags, release, namespace)
        if asked not in self._rendered:
            self._rendered[asked] = self.rendered_anew(values, *flags, release=release, namespace=namespace)
        return self._rendered[asked]

    def rendered_anew(
        self,
        values: Mapping[str, Any] | None = None,
        *flags: str,
        release: str = "qos-webhook",
        namespace: str = "qos-system",
    ) -> str:
        """The manifest, rendered by a separate run."""
        return self.run("template", release, CHART, "--namespace", namespace, *flags, values=values or {})

    def objects(
        self, values: Mapping[str, Any] | None = None, *, release: str = "qos-webhook", namespace: str = "qos-system"
    ) -> list[Object]:
        """The objects of the manifest, without those of ``helm test``."""
        return list(yaml.safe_load_all(self.rendered(values, "--skip-tests", release=release, namespace=namespace)))

    def test_pod(
        self, values: Mapping[str, Any] | None = None, *, release: str = "qos-webhook", namespace: str = "qos-system"
    ) -> Object:
        """The objects of ``helm test``."""
        template = ("--show-only", "templates/tests/review.yaml")
        (pod,) = yaml.safe_load_all(self.rendered(values, *template, release=release, namespace=namespace))
        return dict(pod)


def config_of(objects: Iterable[Object]) -> dict[str, Any]:
    """The configuration file of the program among rendered objects."""
    (found,) = [entry for entry in of_kind("ConfigMap", objects) if entry["metadata"]["name"].endswith("-config")]
    content: dict[str, Any] = yaml.safe_load(found["data"]["config.yaml"])
    return content


def config_argument(config: Mapping[str, Any], file: Path, changes: Mapping[str, Any] | None = None) -> str:
    """The argument for a configuration file that this writes; ``changes`` replaces keys, also within a mapping."""
    changed = {
        key: {**config.get(key, {}), **value} if isinstance(value, Mapping) else value
        for key, value in (changes or {}).items()
    }
    file.write_text(yaml.safe_dump({"apiVersion": CONFIG_VERSION, "kind": CONFIG_KIND, **config, **changed}))
    return f"--config={file}"


def of_kind(kind: str, objects: Iterable[Object]) -> list[Object]:
    """The objects of a kind."""
    return [entry for entry in objects if entry["kind"] == kind]


def with_image(values: Mapping[str, Any]) -> dict[str, Any]:
    """The values with an image that does not exist, if they name none: the chart has no default."""
    return {
        **values,
        "image": {"repository": "registry.example.com/kubectl-qos/qos-webhook", **values.get("image", {})},
    }


def only_in(namespace: str) -> list[Object]:
    """``webhook.namespaceMatchExpressions`` for one namespace: tests share the API server."""
    return [{"key": "kubernetes.io/metadata.name", "operator": "In", "values": [namespace]}]
