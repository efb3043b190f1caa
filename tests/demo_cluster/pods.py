"""From a row to pods, as the API server stores them once defaulting, admission and the kubelet have had their say."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from tests.demo_cluster.base import Obj, clone, condition, digest, instant, quantities, reference, suffix, written
from tests.demo_cluster.nodes import NODES, SILENT_NODE
from tests.demo_cluster.policies import PRIORITY_CLASSES
from tests.demo_cluster.rows import Container, Replica, Workload, node_name, pod_template_hash
from tests.demo_cluster.states import mark_not_ready

REGISTRY: Final = "registry.example.com"

_RESTARTS: Final = {"Job": "OnFailure", "CronJob": "OnFailure"}
_TOKEN_PATH: Final = "/var/run/secrets/kubernetes.io/serviceaccount"
_PROBES: Final = ("startupProbe", "livenessProbe", "readinessProbe")
_PROBE_DEFAULTS: Final = {"failureThreshold": 3, "periodSeconds": 10, "successThreshold": 1, "timeoutSeconds": 1}
# DaemonSet controller, AddOrUpdateDaemonPodTolerations.
_DAEMON_TOLERATIONS: Final = (
    ("node.kubernetes.io/not-ready", "NoExecute"),
    ("node.kubernetes.io/unreachable", "NoExecute"),
    ("node.kubernetes.io/disk-pressure", "NoSchedule"),
    ("node.kubernetes.io/memory-pressure", "NoSchedule"),
    ("node.kubernetes.io/pid-pressure", "NoSchedule"),
    ("node.kubernetes.io/unschedulable", "NoSchedule"),
    ("node.kubernetes.io/network-unavailable", "NoSchedule"),
)


def image_id(image: str) -> str:
    """The image by its digest."""
    return f"{image.rpartition(':')[0]}@sha256:{digest(image)}"


def job_name(workload: Workload) -> str:
    """A CronJob's Job carries the minute for which it was scheduled; a plain Job its own name."""
    return f"{workload.name}-29870100" if workload.kind == "CronJob" else workload.name


def pod_name(workload: Workload, index: int, replica: Replica) -> str:
    """The name that the row's controller gives."""
    last = replica.name or suffix(f"{workload.namespace}/{workload.name}/{index}")
    if workload.kind == "Deployment":
        return f"{workload.name}-{pod_template_hash(workload)}-{last}"
    if workload.kind == "StatefulSet":
        return f"{workload.name}-{index}"
    if workload.kind == "Node":
        return f"{workload.name}-{node_name(replica.node)}"
    return workload.name if workload.kind == "Pod" else f"{job_name(workload)}-{last}"


def claim_name(workload: Workload, index: int) -> str:
    """The claim that a StatefulSet makes from its template ``data``."""
    return f"data-{workload.name}-{index}"


def template_of(workload: Workload) -> Obj:
    """The pod template with API defaults, before admission adds what only pods have."""
    extra = clone(dict(workload.spec))
    spec: Obj = {
        "containers": [_container(one) for one in workload.containers],
        "dnsPolicy": "ClusterFirst",
        "restartPolicy": _RESTARTS.get(workload.kind, "Always"),
        "schedulerName": "default-scheduler",
        "securityContext": {},
        "terminationGracePeriodSeconds": 30,
        **extra,
    }
    if workload.init:
        spec["initContainers"] = [_container(one) for one in workload.init]
    if workload.priority_class != "shop-default":
        spec["priorityClassName"] = workload.priority_class
    if workload.port:
        spec["containers"][0]["ports"] = [{"containerPort": workload.port, "name": "main", "protocol": "TCP"}]
    if workload.claim:
        mounts = spec["containers"][0].setdefault("volumeMounts", [])
        mounts.append({"name": "data", "mountPath": f"/var/lib/{workload.name}"})
    labels = {"app": workload.name, "team": workload.namespace}
    if workload.kind == "Deployment":
        labels["pod-template-hash"] = pod_template_hash(workload)
    return {"metadata": {"labels": labels}, "spec": spec}


def _container(row: Container) -> Obj:
    asks, caps = quantities(row.asks), quantities(row.caps)
    resources = {"requests": caps | asks, "limits": caps}
    made: Obj = {
        "name": row.name,
        "image": f"{REGISTRY}/{row.image}",
        "imagePullPolicy": "IfNotPresent",
        "resources": {kind: amounts for kind, amounts in resources.items() if amounts},
        "terminationMessagePath": "/dev/termination-log",
        "terminationMessagePolicy": "File",
        **clone(dict(row.more)),
    }
    for probe in _PROBES:
        if probe in made:
            made[probe] = _PROBE_DEFAULTS | made[probe]
    return made


def pods_of(workload: Workload) -> list[Obj]:
    """Every pod of a row."""
    return [_pod(workload, index, replica) for index, replica in enumerate(workload.replicas)]


def _pod(workload: Workload, index: int, replica: Replica) -> Obj:
    name = pod_name(workload, index, replica)
    age = replica.age or workload.age
    template = template_of(workload)
    spec = template["spec"]
    node = node_name(replica.node) if replica.node else ""
    pod = written("v1", "Pod", name, workload.namespace, age=age, generation=1) | {"spec": spec}
    meta = pod["metadata"]
    meta["labels"] = template["metadata"]["labels"]
    _own(meta, workload, node, index)
    if workload.kind == "Node":
        _make_static(meta, spec, node)
    else:
        _mount_token(spec, name)
    _admit(spec, workload, node)
    if workload.claim:
        claim = {"name": "data", "persistentVolumeClaim": {"claimName": claim_name(workload, index)}}
        spec.setdefault("volumes", []).append(claim)
    if workload.kind == "StatefulSet":
        spec |= {"hostname": name, "subdomain": workload.name}
    pod["status"] = _running(pod, node, age) if node else _unscheduled(age)
    pod["status"]["qosClass"] = workload.qos
    if node:
        spec["nodeName"] = node
        meta["labels"] |= NODES[node].topology
    if node == SILENT_NODE:
        mark_not_ready(pod)
    if replica.state:
        replica.state(pod)
    return pod


def give_addresses(pods: Iterable[Obj]) -> None:
    """Number the pods of each node; one that has stopped keeps its address in its status."""
    last = dict.fromkeys(NODES, 9)
    for pod in pods:
        node = pod["spec"].get("nodeName")
        if node is None:
            continue
        last[node] += 1
        own = f"10.244.{NODES[node].number}.{last[node]}"
        address = NODES[node].address if pod["spec"].get("hostNetwork") else own
        pod["status"] |= {"podIP": address, "podIPs": [{"ip": address}]}


def _own(meta: Obj, workload: Workload, node: str, index: int) -> None:
    """Owner, generated name, and the labels that each kind of controller adds."""
    kind, namespace, labels = workload.kind, workload.namespace, meta["labels"]
    owner, api_version = workload.name, "apps/v1"
    if kind == "Pod":
        return
    if kind == "Node":
        meta["ownerReferences"] = [reference("Node", "", node)]
        del meta["ownerReferences"][0]["blockOwnerDeletion"]
        return
    if kind == "Deployment":
        kind, owner = "ReplicaSet", f"{workload.name}-{pod_template_hash(workload)}"
    elif kind in {"Job", "CronJob"}:
        kind, owner, api_version = "Job", job_name(workload), "batch/v1"
        ids = {"controller-uid": reference("Job", namespace, owner)["uid"], "job-name": owner}
        labels |= ids | {f"batch.kubernetes.io/{key}": value for key, value in ids.items()}
        meta["finalizers"] = ["batch.kubernetes.io/job-tracking"]
    else:
        revision = suffix(f"revision/{namespace}/{owner}", 9)
        labels["controller-revision-hash"] = revision if kind == "DaemonSet" else f"{owner}-{revision}"
    if kind == "StatefulSet":
        labels |= {"apps.kubernetes.io/pod-index": str(index), "statefulset.kubernetes.io/pod-name": meta["name"]}
    else:
        meta["generateName"] = f"{owner}-"
    if kind == "DaemonSet":
        labels["pod-template-generation"] = "1"
    meta["ownerReferences"] = [reference(kind, namespace, owner, api_version)]


def _make_static(meta: Obj, spec: Obj, node: str) -> None:
    """A mirror pod: the kubelet's picture in the API of a manifest file on its node."""
    config = digest(meta["name"])[:32]
    meta["annotations"] = {
        "kubernetes.io/config.hash": config,
        "kubernetes.io/config.mirror": config,
        "kubernetes.io/config.seen": meta["creationTimestamp"].replace("Z", ".417233808Z"),
        "kubernetes.io/config.source": "file",
    }
    meta["labels"] = {"component": meta["name"].removesuffix(f"-{node}"), "tier": "control-plane"}
    spec["tolerations"] = [{"effect": "NoExecute", "operator": "Exists"}]


def _mount_token(spec: Obj, name: str) -> None:
    """What the ServiceAccount admission plugin adds."""
    volume = f"kube-api-access-{suffix('token/' + name)}"
    spec |= {"serviceAccount": "default", "serviceAccountName": "default"}
    namespace_item = {"path": "namespace", "fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.namespace"}}
    sources: list[Obj] = [
        {"serviceAccountToken": {"expirationSeconds": 3607, "path": "token"}},
        {"configMap": {"items": [{"key": "ca.crt", "path": "ca.crt"}], "name": "kube-root-ca.crt"}},
        {"downwardAPI": {"items": [namespace_item]}},
    ]
    spec.setdefault("volumes", []).append({"name": volume, "projected": {"defaultMode": 420, "sources": sources}})
    for container in spec.get("initContainers", []) + spec["containers"]:
        mount = {"mountPath": _TOKEN_PATH, "name": volume, "readOnly": True}
        container.setdefault("volumeMounts", []).append(mount)


def _admit(spec: Obj, workload: Workload, node: str) -> None:
    """Priority, the DaemonSet controller's own fields, and DefaultTolerationSeconds."""
    chosen = PRIORITY_CLASSES[workload.priority_class]
    spec |= {
        "enableServiceLinks": True,
        "priorityClassName": workload.priority_class,
        "priority": chosen.value,
        "preemptionPolicy": chosen.preemption_policy,
    }
    tolerations = spec.setdefault("tolerations", [])
    if workload.kind == "DaemonSet":
        field = {"key": "metadata.name", "operator": "In", "values": [node]}
        required = {"nodeSelectorTerms": [{"matchFields": [field]}]}
        spec["affinity"] = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}
        own_network = spec.get("hostNetwork", False)
        tolerations += [
            {"effect": effect, "key": key, "operator": "Exists"}
            for key, effect in _DAEMON_TOLERATIONS
            if own_network or "network" not in key
        ]
    elif workload.kind != "Node":
        tolerations += [
            {"effect": effect, "key": key, "operator": "Exists", "tolerationSeconds": 300}
            for key, effect in _DAEMON_TOLERATIONS[:2]
        ]


def _unscheduled(age: str) -> Obj:
    since = instant(age)
    scheduled = _pod_condition("PodScheduled", since)
    return {"phase": "Pending", "conditions": [scheduled]}


def _pod_condition(kind: str, since: str) -> Obj:
    return {"lastProbeTime": None, "observedGeneration": 1, **condition(kind, "True", since)}


def _running(pod: Obj, node: str, age: str) -> Obj:
    """A healthy pod, ready twelve seconds after it was made."""
    spec, started = pod["spec"], instant(age, 4)
    ready = instant(age, 12)
    times = {
        "PodReadyToStartContainers": started,
        "Initialized": started,
        "Ready": ready,
        "ContainersReady": ready,
        "PodScheduled": instant(age),
    }
    host = NODES[node].address
    status: Obj = {
        "phase": "Running",
        "observedGeneration": 1,
        "conditions": [_pod_condition(kind, since) for kind, since in times.items()],
        "hostIP": host,
        "hostIPs": [{"ip": host}],
        "startTime": instant(age),
        "containerStatuses": [_container_status(pod, one, started) for one in spec["containers"]],
    }
    if "initContainers" in spec:
        status["initContainerStatuses"] = [_container_status(pod, one, started) for one in spec["initContainers"]]
        for one, shown in zip(spec["initContainers"], status["initContainerStatuses"], strict=True):
            if one.get("restartPolicy") != "Always":
                _complete(shown, started)
    if "resources" in spec:
        status["allocatedResources"] = dict(spec["resources"]["requests"])
        status["resources"] = clone(spec["resources"])
    return status


def _container_status(pod: Obj, container: Obj, started: str) -> Obj:
    status: dict[str, Any] = {
        "name": container["name"],
        "image": container["image"],
        "imageID": image_id(container["image"]),
        "containerID": f"containerd://{digest(pod['metadata']['uid'] + container['name'])}",
        "lastState": {},
        "ready": True,
        "started": True,
        "restartCount": 0,
        "resources": clone(container["resources"]),
        "state": {"running": {"startedAt": started}},
    }
    if "requests" in container["resources"]:
        status["allocatedResources"] = dict(container["resources"]["requests"])
    return status


def _complete(status: Obj, started: str) -> None:
    """An init container that has run to its end."""
    status["started"] = False
    status["state"] = {
        "terminated": {
            "containerID": status["containerID"],
            "exitCode": 0,
            "finishedAt": started,
            "reason": "Completed",
            "startedAt": started,
        }
    }
