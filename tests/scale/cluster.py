"""A cluster of any size, as its API server would hold it: every object is made from its number alone.

Pods are of 300 Deployments in 50 namespaces, with environment, probe, mounts, tolerations, the token volume that
admission adds and the status that a kubelet reports: about 5 KB of JSON each. Nodes have fifty images. A tenth of the
Deployments keep their pods apart, another tenth spread them, one in twenty has priority. One pod in a hundred has
finished. The pod `asked` waits for a node: it wants spread over zones, and nodes without its like.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

from tests.controlplane.client import Object
from tests.objects import raw_container, raw_object, raw_owner, raw_pod, raw_priority_class

ASKED: Final = "asked"
ASKED_NAMESPACE: Final = "team-00"
ZONE: Final = "topology.kubernetes.io/zone"
HOST: Final = "kubernetes.io/hostname"
_APPS: Final = 300
_NAMESPACES: Final = 50
_ZONES: Final = 3
_IMAGES: Final = 200
_IMAGES_PER_NODE: Final = 50
_TIME: Final = "2026-03-01T09:30:00Z"


class Size(NamedTuple):
    """How large a cluster is."""

    nodes: int
    pods: int


def fingerprint() -> str:
    """Changes with what is made here: a cluster that was kept is of use for the same objects only."""
    return hashlib.sha256(Path(__file__).read_bytes()).hexdigest()[:12]


def namespaces() -> list[str]:
    """Names of the namespaces with pods."""
    return [f"team-{number:02}" for number in range(_NAMESPACES)]


def namespace_of(app: int) -> str:
    """The nodes of an app's pods."""
    return f"team-{app % _NAMESPACES:02}"


def priority_classes() -> list[Object]:
    """The classes that pods name."""
    return [raw_priority_class("front", 1000, description="answers people")]


def deployments(size: Size) -> Iterator[Object]:
    """The Deployments of the pods and the budget of every fifth."""
    for app in range(_APPS):
        name, namespace = f"app-{app}", namespace_of(app)
        labels = {"app": name, "team": namespace}
        template = {"metadata": {"labels": labels}, "spec": _spec(app)}
        spec = {"replicas": max(1, size.pods // _APPS), "selector": {"matchLabels": labels}, "template": template}
        yield raw_object("Deployment", name, namespace, spec=spec)
        hashed = {"labels": {**labels, "pod-template-hash": _hash(app)}}
        yield raw_object("ReplicaSet", _replica_set(app), namespace, metadata=hashed, spec=spec)
        if app % 5 == 0:
            budget = {"maxUnavailable": "25%", "selector": {"matchLabels": labels}}
            yield raw_object("PodDisruptionBudget", name, namespace, spec=budget)


def node_name(number: int) -> str:
    """As a cloud names them."""
    return f"ip-10-{number // 65536}-{number // 256 % 256}-{number % 256}.eu-west-1.compute.internal"


def node(number: int) -> Object:
    """A node as its kubelet registers it."""
    name, zone = node_name(number), f"eu-west-1{'abc'[number % _ZONES]}"
    labels = {
        "beta.kubernetes.io/arch": "amd64",
        "beta.kubernetes.io/instance-type": "m6i.8xlarge",
        "beta.kubernetes.io/os": "linux",
        "failure-domain.beta.kubernetes.io/region": "eu-west-1",
        "failure-domain.beta.kubernetes.io/zone": zone,
        HOST: name,
        "kubernetes.io/arch": "amd64",
        "kubernetes.io/os": "linux",
        "node.kubernetes.io/instance-type": "m6i.8xlarge",
        "topology.kubernetes.io/region": "eu-west-1",
        ZONE: zone,
        "pool": f"pool-{number % 4}",
    }
    metadata = {"name": name, "labels": labels, "annotations": {"node.alpha.kubernetes.io/ttl": "0"}}
    spec = {"providerID": f"aws:///{zone}/i-{number:017x}", "podCIDR": f"10.{number // 256 % 256}.{number % 256}.0/24"}
    return {"apiVersion": "v1", "kind": "Node", "metadata": metadata, "spec": spec}


def node_status(number: int) -> Object:
    """The status that a kubelet reports about its node."""
    capacity = {
        "cpu": "32",
        "ephemeral-storage": "104845292Ki",
        "hugepages-1Gi": "0",
        "hugepages-2Mi": "0",
        "memory": "130045492Ki",
        "pods": "110",
    }
    allocatable = {**capacity, "cpu": "31850m", "memory": "127040052Ki", "ephemeral-storage": "95551679124"}
    images = [
        {"names": [f"{_image(image)}@sha256:{_digest(image)}", _image(image)], "sizeBytes": 60_000_000 + 1000 * image}
        for image in range(number % 7, _IMAGES, _IMAGES // _IMAGES_PER_NODE)
    ]
    return {
        "capacity": capacity,
        "allocatable": allocatable,
        "conditions": [
            _node_condition("MemoryPressure", "False", "KubeletHasSufficientMemory"),
            _node_condition("DiskPressure", "False", "KubeletHasNoDiskPressure"),
            _node_condition("PIDPressure", "False", "KubeletHasSufficientPID"),
            _node_condition("Ready", "True", "KubeletReady"),
        ],
        "addresses": [
            {"type": "InternalIP", "address": _address(number)},
            {"type": HOST, "address": node_name(number)},
        ],
        "daemonEndpoints": {"kubeletEndpoint": {"Port": 10250}},
        "nodeInfo": {
            "machineID": f"{number:032x}",
            "systemUUID": f"{number:032x}",
            "bootID": f"{number:032x}",
            "kernelVersion": "6.12.40-63.114.amzn2023.x86_64",
            "osImage": "Amazon Linux 2023.8.20250818",
            "containerRuntimeVersion": "containerd://2.1.4",
            "kubeletVersion": "v1.36.3",
            "kubeProxyVersion": "v1.36.3",
            "operatingSystem": "linux",
            "architecture": "amd64",
        },
        "images": images,
    }


def pod_name(number: int) -> str:
    """As its ReplicaSet names it."""
    return f"{_replica_set(number % _APPS)}-{number:06x}"


def pod(number: int, size: Size) -> Object:
    """A bound pod as its ReplicaSet made it."""
    app = number % _APPS
    name, replica_set, uid = f"app-{app}", _replica_set(app), f"00000000-0000-4000-8000-{app:012x}"
    metadata = {
        "name": pod_name(number),
        "generateName": f"{replica_set}-",
        "namespace": namespace_of(app),
        "labels": {"app": name, "team": namespace_of(app), "pod-template-hash": _hash(app)},
        "annotations": {"prometheus.io/scrape": "true"},
        "ownerReferences": [raw_owner("ReplicaSet", replica_set, uid=uid, blockOwnerDeletion=True)],
    }
    spec = {**_spec(app), "nodeName": node_name(_node_of(number, size))}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


def pod_status(number: int, size: Size) -> Object:
    """The status that a kubelet reports about a pod."""
    app = number % _APPS
    finished = number % 100 == 99
    started = f"2026-03-01T{number // 3600 % 24:02}:{number // 60 % 60:02}:{number % 60:02}Z"
    ready = "False" if finished else "True"
    state = {"terminated": {"reason": "Completed", "exitCode": 0, "startedAt": started, "finishedAt": started}}
    return {
        "phase": "Succeeded" if finished else "Running",
        "conditions": [
            {"type": kind, "status": status, "lastTransitionTime": started}
            for kind, status in (
                ("Initialized", "True"),
                ("Ready", ready),
                ("ContainersReady", ready),
                ("PodScheduled", "True"),
            )
        ],
        "hostIP": _address(_node_of(number, size)),
        "hostIPs": [{"ip": _address(_node_of(number, size))}],
        "podIP": f"10.{100 + number // 65536}.{number // 256 % 256}.{number % 256}",
        "podIPs": [{"ip": f"10.{100 + number // 65536}.{number // 256 % 256}.{number % 256}"}],
        "startTime": started,
        "containerStatuses": [
            {
                "name": container["name"],
                "state": state if finished else {"running": {"startedAt": started}},
                "ready": not finished,
                "started": not finished,
                "restartCount": number % 50 // 49,
                "image": container["image"],
                "imageID": f"{container['image'].rpartition(':')[0]}@sha256:{_digest(app)}",
                "containerID": f"containerd://{_digest(number)}",
                "resources": container["resources"],
            }
            for container in _containers(app)
        ],
    }


def asked_pod() -> Object:
    """The target pod, which waits for a node."""
    return wanted_pod(ASKED)


def wanted_pod(app: str = "wanted") -> Object:
    """A pod to come, with hard spread over zones and soft spread over nodes, kept apart from its like."""
    selector = {"labelSelector": {"matchLabels": {"app": app}}}
    main = raw_container("app", {"cpu": "100m", "memory": "128Mi"}, {"memory": "128Mi"}, image=_image(1))
    spread = [_spread(ZONE, "DoNotSchedule") | selector, _spread(HOST, "ScheduleAnyway") | selector]
    spec: Object = {"affinity": _apart(app), "topologySpreadConstraints": spread, "containers": [main]}
    return raw_pod(app, ASKED_NAMESPACE, labels={"app": app}, **spec)


def _spec(app: int) -> Object:
    config = {"name": "config", "configMap": {"name": f"app-{app}", "defaultMode": 420}}
    spec: Object = {"containers": _containers(app)}
    if app % 3 == 0:
        spec["volumes"] = [config]
    if app % 4 == 2:
        spec["nodeSelector"] = {"kubernetes.io/os": "linux"}
    if app % 20 == 1:
        spec["priorityClassName"] = "front"
    if app % 10 == 0:
        spec["affinity"] = _apart(f"app-{app}")
    elif app % 10 == 5:
        selector = {"labelSelector": {"matchLabels": {"app": f"app-{app}"}}}
        spec["topologySpreadConstraints"] = [{**_spread(ZONE, "ScheduleAnyway"), **selector}]
    return spec


def _containers(app: int) -> list[Object]:
    memory = f"{128 + app % 7 * 64}Mi"
    main: Object = {
        "name": "app",
        "image": _image(app % _IMAGES),
        "args": ["--listen=:8080"],
        "ports": [{"name": "http", "containerPort": 8080, "protocol": "TCP"}],
        "env": [{"name": "OTEL_EXPORTER_OTLP_ENDPOINT", "value": "http://collector.telemetry.svc:4317"}],
        "resources": {"requests": {"cpu": f"{100 + app % 10 * 50}m", "memory": memory}, "limits": {"memory": memory}},
        "readinessProbe": {"httpGet": {"path": "/readyz", "port": "http"}, "periodSeconds": 5, "timeoutSeconds": 1},
    }
    if app % 3 == 0:
        main["volumeMounts"] = [{"name": "config", "mountPath": f"/etc/app-{app}", "readOnly": True}]
    if app % 10:
        return [main]
    requests = {"cpu": "10m", "memory": "40Mi"}
    proxy = {
        "name": "proxy",
        "image": _image(0),
        "resources": {"requests": requests, "limits": {"memory": "256Mi"}},
        "ports": [{"name": "proxy", "containerPort": 15001, "protocol": "TCP"}],
    }
    return [main, proxy]


def _node_of(number: int, size: Size) -> int:
    # Pods of one Deployment are on different nodes.
    return number * size.nodes // size.pods if size.pods > size.nodes else number % size.nodes


def _apart(app: str) -> Object:
    term = {"labelSelector": {"matchLabels": {"app": app}}, "topologyKey": HOST}
    return {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}


def _spread(key: str, otherwise: str) -> Object:
    return {"maxSkew": 1, "topologyKey": key, "whenUnsatisfiable": otherwise}


def _node_condition(kind: str, status: str, reason: str) -> Object:
    return {
        "type": kind,
        "status": status,
        "reason": reason,
        "message": f"kubelet says {reason}",
        "lastHeartbeatTime": _TIME,
        "lastTransitionTime": _TIME,
    }


def _image(number: int) -> str:
    return f"registry.example.com/platform/service-{number}:v{number % 9}.{number % 5}.0"


def _address(number: int) -> str:
    return f"10.{number // 65536}.{number // 256 % 256}.{number % 256}"


def _digest(number: int) -> str:
    return hashlib.sha256(str(number).encode()).hexdigest()


def _hash(app: int) -> str:
    return _digest(app)[:9]


def _replica_set(app: int) -> str:
    return f"app-{app}-{_hash(app)}"
