"""Objects with as many fields as an API server accepts, to compare two encodings."""

from __future__ import annotations

from typing import Any, Final

from tests.objects import raw_condition, raw_container, raw_node, raw_pod

Object = dict[str, Any]

RICH_NAMESPACE: Final = "rich"
_TIME: Final = "2026-03-01T09:30:00Z"
_SELECTOR: Final = {
    "matchLabels": {"app": "rich"},
    "matchExpressions": [{"key": "tier", "operator": "In", "values": ["a", "b"]}],
}
_TERM: Final = {
    "labelSelector": _SELECTOR,
    "topologyKey": "topology.kubernetes.io/zone",
    "namespaces": ["rich", "default"],
    "namespaceSelector": {"matchLabels": {"team": "a"}},
    "matchLabelKeys": ["version"],
}
_OTHER_TERM: Final = {
    "labelSelector": {"matchLabels": {"app": "rich"}},
    "topologyKey": "zone",
    "mismatchLabelKeys": ["empty"],
}
_NODE_TERM: Final = {
    "matchExpressions": [{"key": "cpus", "operator": "Gt", "values": ["4"]}],
    "matchFields": [{"key": "metadata.name", "operator": "In", "values": ["rich-node"]}],
}
_RESOURCES: Final = {
    "requests": {"cpu": "0.5", "memory": "128974848", "ephemeral-storage": "1e3", "example.com/gpu": "2"},
    "limits": {"cpu": "1500m", "memory": "1.5Gi", "ephemeral-storage": "2Gi", "example.com/gpu": "2"},
}
_PROBE: Final = {
    "exec": {"command": ["true"]},
    "initialDelaySeconds": 3,
    "timeoutSeconds": 2,
    "periodSeconds": 7,
    "failureThreshold": 4,
    "terminationGracePeriodSeconds": 9,
}
_VOLUMES: Final[Object] = {
    "persistentVolumeClaim": {"claimName": "data", "readOnly": True},
    "ephemeral": {
        "volumeClaimTemplate": {
            "spec": {
                "accessModes": ["ReadWriteOnce"],
                "storageClassName": "",
                "volumeMode": "Block",
                "volumeAttributesClassName": "gold",
                "volumeName": "named",
                "selector": _SELECTOR,
                "resources": {"requests": {"storage": "1Gi"}},
            }
        }
    },
    "gcePersistentDisk": {"pdName": "disk", "readOnly": True},
    "awsElasticBlockStore": {"volumeID": "vol-1", "readOnly": True},
    "nfs": {"server": "10.0.0.2", "path": "/a", "readOnly": True},
    "iscsi": {"targetPortal": "10.0.0.1", "iqn": "iqn.2000-01.com.example:a", "lun": 3, "readOnly": True},
    "fc": {"targetWWNs": ["50060e801049cfd1"], "lun": 2, "readOnly": True},
    "rbd": {"monitors": ["m1", "m2"], "image": "image", "pool": "pool", "readOnly": True},
    "azureDisk": {"diskName": "d", "diskURI": "https://x.blob.core.windows.net/d.vhd", "kind": "Shared"},
    "azureFile": {"secretName": "s", "shareName": "share", "readOnly": True},
    "cinder": {"volumeID": "c-1"},
    "portworxVolume": {"volumeID": "p-1"},
    "vsphereVolume": {"volumePath": "/v"},
    "emptyDir": {"medium": "Memory", "sizeLimit": "0.5Gi"},
    "hostPath": {"path": "/var"},
    "configMap": {"name": "config"},
    "image": {"reference": "registry/data:v1"},
    "gitRepo": {"repository": "https://git.example.com/r"},
}
EPHEMERAL: Final = {
    "name": "debugger",
    "image": "registry/debugger",
    "targetContainerName": "app",
    "env": [{"name": "PASSWORD", "value": "not for a model"}],
}
"""A container that is added to the first of the pods."""


def rich_pods() -> list[tuple[Object, Object]]:
    """Pods and the status that their kubelets report."""
    return [
        (_full_pod(), _full_status()),
        (
            _held_pod(),
            {
                "nominatedNodeName": "rich-node",
                "resourceClaimStatuses": [{"name": "nic", "resourceClaimName": "held-nic-x"}],
            },
        ),
        (_plain_pod(), _failed_status()),
    ]


def _plain_pod() -> Object:
    container = raw_container("app", volumeDevices=[{"name": "raw", "devicePath": "/dev/raw"}])
    volumes = [{"name": "raw", "persistentVolumeClaim": {"claimName": "raw"}}]
    return raw_pod("plain", RICH_NAMESPACE, containers=[container], volumes=volumes)


def alike_pods() -> list[tuple[Object, Object]]:
    """Pods of one template on different nodes, and some with names or texts that resemble their own values."""
    names = [*(f"alike-{number}" for number in range(8, 12)), "my-kube-api-access-abcde", "kube-api-access-abcde"]
    return [_alike_pod(name, number) for number, name in enumerate(names)]


def _alike_pod(name: str, number: int) -> tuple[Object, Object]:
    token = f"kube-api-access-a{number}b{number}c"
    mount = {"name": token, "mountPath": "/token", "readOnly": True}
    container = {"name": "app", "image": "app:1", "resources": _RESOURCES, "volumeMounts": [mount]}
    look = {"name": "LOOK", "value": "kube-api-access-abcde R\x05node1X \b\béé\x05\x10"}
    pod = raw_pod(
        name,
        RICH_NAMESPACE,
        labels={"app": "alike"},
        containers=[container, {**container, "name": "proxy", "env": [look]}],
        nodeName=f"node-{number * 7}",
        automountServiceAccountToken=False,
        terminationGracePeriodSeconds=0,
        volumes=[{"name": token, "emptyDir": {}}],
    )
    started = f"2026-03-01T09:{10 + number}:00Z"
    ran = {
        "ready": True,
        "restartCount": 0,
        "image": "app:1",
        "imageID": f"app@sha256:{'ab' * 32}",
        "containerID": f"containerd://{number:064x}",
        "state": {"running": {"startedAt": started}},
    }
    status = {
        "phase": "Running",
        "message": "\b\béé\x05\x10" if number % 2 else "",
        "startTime": f"2026-03-01T09:{number:02}:00Z",
        "hostIP": f"10.0.0.{number + 7}",
        "hostIPs": [{"ip": f"10.0.0.{number + 7}"}],
        "podIP": f"10.1.0.{number + 98}",
        "podIPs": [{"ip": f"10.1.0.{number + 98}"}],
        "conditions": [{"type": kind, "status": "True", "lastTransitionTime": started} for kind in ("Ready", "Mine")],
        "containerStatuses": [{"name": name, **ran} for name in ("app", "proxy")],
    }
    return pod, status


def _full_pod() -> Object:
    container = {
        "name": "app",
        "image": "registry/app:v1",
        "restartPolicy": "Never",
        "restartPolicyRules": [{"action": "Restart", "exitCodes": {"operator": "In", "values": [42]}}],
        "env": [{"name": "PASSWORD", "value": "not for a model"}],
        "resources": _RESOURCES,
        "ports": [{"containerPort": 80, "hostPort": 8080, "hostIP": "127.0.0.1", "protocol": "UDP"}],
        "livenessProbe": _PROBE,
        "startupProbe": _PROBE,
        "lifecycle": {
            "postStart": {"sleep": {"seconds": 1}},
            "preStop": {"exec": {"command": ["sleep", "5"]}},
            "stopSignal": "SIGUSR1",
        },
        "resizePolicy": [{"resourceName": "memory", "restartPolicy": "RestartContainer"}],
    }
    sidecar = {
        "name": "sidecar",
        "image": "registry/sidecar",
        "restartPolicy": "Always",
        "lifecycle": {"preStop": {"httpGet": {"path": "/stop", "port": 80}}},
    }
    metadata = {
        "generateName": "fu",
        "labels": {"app": "rich", "version": "1", "empty": ""},
        "annotations": {"note": 'text with " and ünicode', "empty": ""},
        "finalizers": ["example.com/hold"],
        "ownerReferences": [
            {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "r", "uid": "u-1", "controller": True},
            {"apiVersion": "v1", "kind": "ConfigMap", "name": "c", "uid": "u-2"},
        ],
    }
    containers = [container, raw_container("plain", lifecycle={"preStop": {"sleep": {"seconds": 3}}})]
    spec: Object = {
        "os": {"name": "linux"},
        "initContainers": [sidecar, {"name": "init", "image": "x"}],
        "nodeName": "rich-node",
        "runtimeClassName": "rich",
        "overhead": {"cpu": "10m", "memory": "20Mi"},
        "priorityClassName": "rich",
        "terminationGracePeriodSeconds": 45,
        "activeDeadlineSeconds": 86_400,
        "readinessGates": [{"conditionType": "example.com/in-balancer"}],
        "volumes": [{"name": name.lower(), name: source} for name, source in _VOLUMES.items()],
        "nodeSelector": {"kubernetes.io/os": "linux"},
        "schedulerName": "mine",
        "restartPolicy": "OnFailure",
        "hostUsers": False,
        "tolerations": [
            {"key": "a", "operator": "Equal", "value": "b", "effect": "NoExecute", "tolerationSeconds": 0},
            {"operator": "Exists"},
        ],
        "topologySpreadConstraints": [
            {
                "maxSkew": 2,
                "topologyKey": "zone",
                "whenUnsatisfiable": "DoNotSchedule",
                "labelSelector": _SELECTOR,
                "minDomains": 3,
                "nodeAffinityPolicy": "Ignore",
                "nodeTaintsPolicy": "Honor",
                "matchLabelKeys": ["version"],
            }
        ],
        "affinity": {
            "nodeAffinity": {
                "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [_NODE_TERM]},
                "preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 7, "preference": _NODE_TERM}],
            },
            "podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [_TERM]},
            "podAntiAffinity": {
                "preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 9, "podAffinityTerm": _OTHER_TERM}]
            },
        },
    }
    return raw_pod("full", RICH_NAMESPACE, metadata=metadata, containers=containers, **spec)


def _full_status() -> Object:
    ended = {
        "exitCode": 137,
        "reason": "OOMKilled",
        "startedAt": _TIME,
        "finishedAt": _TIME,
        "signal": 9,
        "message": "killed",
    }
    return {
        "phase": "Running",
        "reason": "Because",
        "message": "of this",
        "startTime": _TIME,
        "conditions": [
            {"type": "Ready", "status": "False", "reason": "NotYet", "message": "soon", "lastTransitionTime": _TIME},
            {"type": "PodScheduled", "status": "True", "lastProbeTime": _TIME, "lastTransitionTime": None},
        ],
        "containerStatuses": [
            {
                "name": "app",
                "image": "registry/app:v1",
                "imageID": "",
                "ready": True,
                "restartCount": 3,
                "state": {"running": {"startedAt": _TIME}},
                "lastState": {"terminated": ended},
                "allocatedResources": _RESOURCES["requests"],
                "resources": _RESOURCES,
            },
            {
                "name": "plain",
                "image": "x",
                "imageID": "",
                "ready": False,
                "restartCount": 0,
                "state": {"waiting": {"reason": "CrashLoopBackOff", "message": "back-off 10s"}},
            },
        ],
        "initContainerStatuses": [
            {
                "name": "init",
                "image": "x",
                "imageID": "",
                "ready": True,
                "restartCount": 0,
                "state": {"terminated": {**ended, "exitCode": 0, "reason": "Completed"}},
            }
        ],
        "ephemeralContainerStatuses": [
            {
                "name": EPHEMERAL["name"],
                "image": "x",
                "imageID": "",
                "ready": False,
                "restartCount": 0,
                "state": {"terminated": ended},
            }
        ],
    }


def _held_pod() -> Object:
    return raw_pod(
        "held",
        RICH_NAMESPACE,
        schedulingGates=[{"name": "example.com/wait"}],
        resources={"requests": {"cpu": "1"}, "limits": {"cpu": "2", "memory": "1Gi"}},
        resourceClaims=[
            {"name": "gpu", "resourceClaimName": "gpu"},
            {"name": "nic", "resourceClaimTemplateName": "nic"},
        ],
        preemptionPolicy="PreemptLowerPriority",
        hostNetwork=True,
        terminationGracePeriodSeconds=0,
    )


def _failed_status() -> Object:
    return {"phase": "Failed", "reason": "Evicted", "message": "The node was low on resource: memory."}


NODE: Final = raw_node(
    "rich-node",
    {"zone": "a"},
    metadata={
        "generateName": "rich-",
        "annotations": {"a": "b"},
        "finalizers": ["example.com/hold"],
        "ownerReferences": [{"apiVersion": "v1", "kind": "ConfigMap", "name": "c", "uid": "u-2", "controller": True}],
    },
    unschedulable=True,
    taints=[
        {"key": "k", "value": "v", "effect": "NoExecute", "timeAdded": _TIME},
        {"key": "only", "effect": "NoSchedule"},
    ],
    capacity={"cpu": "4", "memory": "8Gi", "pods": "110", "hugepages-2Mi": "0", "example.com/gpu": "3"},
    allocatable={"cpu": "3920m", "memory": "7.5Gi", "pods": "110"},
    conditions=[
        raw_condition(
            "Ready",
            "Unknown",
            reason="NodeStatusUnknown",
            message="Kubelet stopped posting node status.",
            lastHeartbeatTime=_TIME,
            lastTransitionTime=_TIME,
        )
    ],
    status={
        "nodeInfo": {
            "kubeletVersion": "v1.36.3",
            "kernelVersion": "6.12",
            "osImage": "Debian",
            "containerRuntimeVersion": "containerd://2.1.4",
            "operatingSystem": "linux",
            "architecture": "amd64",
            "machineID": "",
            "systemUUID": "",
            "bootID": "",
            "kubeProxyVersion": "",
            "swap": {"capacity": 1024},
        },
        "images": [{"names": ["registry/app:v1", "registry/app@sha256:0"], "sizeBytes": 123456789}],
        "declaredFeatures": ["SomeFeature"],
        "volumesInUse": ["kubernetes.io/csi/driver^handle"],
        "volumesAttached": [{"name": "kubernetes.io/csi/driver^handle", "devicePath": ""}],
    },
)
EVENT: Final[Object] = {
    "apiVersion": "v1",
    "kind": "Event",
    "metadata": {"name": "full.1", "namespace": RICH_NAMESPACE},
    "involvedObject": {"kind": "Pod", "namespace": RICH_NAMESPACE, "name": "full", "uid": "u-9"},
    "related": {"kind": "Pod", "namespace": "other", "name": "high", "uid": "u-8"},
    "reason": "Preempted",
    "message": "Preempted by pod u-8 on node rich-node",
    "type": "Normal",
    "action": "Preempting",
    "reportingComponent": "default-scheduler",
    "reportingInstance": "s",
    "eventTime": "2026-03-01T09:30:00.123456Z",
    "lastTimestamp": None,
}


def others() -> list[Object]:
    """Objects of other kinds that the demo cluster lacks."""
    template = {"metadata": {"labels": {"app": "rich"}}, "spec": raw_pod()["spec"]}
    return [
        _named("scheduling.k8s.io/v1", "PriorityClass", "rich", value=-5, preemptionPolicy="Never", description="d"),
        _named(
            "node.k8s.io/v1",
            "RuntimeClass",
            "rich",
            handler="h",
            overhead={"podFixed": {"cpu": "10m", "memory": "20Mi"}},
        ),
        _named(
            "v1",
            "LimitRange",
            "limits",
            spec={
                "limits": [
                    {"type": "Container", "default": {"cpu": "1"}, "defaultRequest": {"cpu": "100m"}},
                    {
                        "type": "PersistentVolumeClaim",
                        "min": {"storage": "1"},
                        "max": {"storage": "1Pi"},
                        "maxLimitRequestRatio": {"storage": "2"},
                    },
                ]
            },
        ),
        _named(
            "v1",
            "ResourceQuota",
            "quota",
            spec={
                "hard": {"pods": "10", "requests.cpu": "2"},
                "scopes": ["NotBestEffort"],
                "scopeSelector": {
                    "matchExpressions": [{"scopeName": "PriorityClass", "operator": "In", "values": ["rich"]}]
                },
            },
            status={"hard": {"pods": "10", "requests.cpu": "2"}, "used": {"pods": "1", "requests.cpu": "100m"}},
        ),
        _named(
            "v1", "ReplicationController", "rc", spec={"replicas": 0, "selector": {"app": "rich"}, "template": template}
        ),
        _named("v1", "Service", "all", spec={"ports": [{"port": 80}]}),
        _named("v1", "Service", "some", spec={"ports": [{"port": 80}], "selector": {"app": "rich"}}),
        _named(
            "storage.k8s.io/v1",
            "CSIStorageCapacity",
            "capacity",
            storageClassName="fast",
            capacity="10Gi",
            maximumVolumeSize="1Gi",
            nodeTopology=_SELECTOR,
        ),
        _named("coordination.k8s.io/v1", "Lease", "lease", spec={"renewTime": "2026-03-01T09:30:00.000007Z"}),
        _named(
            "apps/v1",
            "DaemonSet",
            "daemon",
            spec={
                "selector": {"matchLabels": {"app": "rich"}},
                "template": template,
                "updateStrategy": {"rollingUpdate": {"maxSurge": "30%", "maxUnavailable": 0}},
            },
        ),
    ]


def _named(api_version: str, kind: str, name: str, **fields: Any) -> Object:
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": name, "namespace": RICH_NAMESPACE}, **fields}
