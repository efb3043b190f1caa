"""The controllers behind the pods, with the status that they would report, and the Services in front."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from tests.demo_cluster.base import Obj, clone, condition, digest, instant, reference, written
from tests.demo_cluster.pods import job_name, template_of
from tests.demo_cluster.rows import Workload, pod_template_hash

_ROLLING: Final = {"rollingUpdate": {"maxSurge": "25%", "maxUnavailable": "25%"}, "type": "RollingUpdate"}


def controllers_of(workload: Workload, pods: Sequence[Obj]) -> list[Obj]:
    """The row's controller, its controller's controller, and its Service."""
    build = _BUILDERS.get(workload.kind)
    made = build(workload, pods) if build else []
    if workload.port:
        made.append(_service(workload))
    return made


def _object(kind: str, workload: Workload, name: str, spec: Obj, status: Obj, **meta: Any) -> Obj:
    group = "batch/v1" if kind in {"Job", "CronJob"} else "apps/v1"
    labels = {"app": workload.name, "team": workload.namespace}
    made = written(group, kind, name, workload.namespace, age=workload.age, generation=1, labels=labels, **meta)
    return made | {"spec": spec, "status": status}


def _is_ready(pod: Obj) -> bool:
    return any(one["type"] == "Ready" and one["status"] == "True" for one in pod["status"]["conditions"])


def _last_change(pod: Obj) -> str:
    changes: list[str] = [one["lastTransitionTime"] for one in pod["status"]["conditions"]]
    return max(changes)


def _active(pods: Sequence[Obj]) -> list[Obj]:
    """Pods that count as replicas: neither finished nor terminating."""
    return [
        pod
        for pod in pods
        if pod["status"]["phase"] not in {"Failed", "Succeeded"} and "deletionTimestamp" not in pod["metadata"]
    ]


def _deployment(workload: Workload, pods: Sequence[Obj]) -> list[Obj]:
    active = _active(pods)
    ready, wanted = sum(map(_is_ready, active)), len(active)
    template, name = template_of(workload), workload.name
    hashed = {"pod-template-hash": pod_template_hash(workload)}
    own = {"metadata": {"labels": {"app": name, "team": workload.namespace}}, "spec": clone(template["spec"])}
    counts = {"replicas": wanted, "terminatingReplicas": sum("deletionTimestamp" in p["metadata"] for p in pods)}
    # The API leaves zeros out of these statuses.
    counts |= {"availableReplicas": ready, "readyReplicas": ready} if ready else {}
    selector = {"app": name}
    deployment: Obj = {
        "progressDeadlineSeconds": 600,
        "replicas": wanted,
        "revisionHistoryLimit": 10,
        "selector": {"matchLabels": selector},
        "strategy": clone(_ROLLING),
        "template": own,
    }
    status: Obj = {**counts, "observedGeneration": 1, "updatedReplicas": wanted}
    status["conditions"] = _deployment_conditions(workload, active)
    if wanted > ready:
        status["unavailableReplicas"] = wanted - ready
    replica_set: Obj = {
        "replicas": wanted,
        "selector": {"matchLabels": {**selector, **hashed}},
        "template": template,
    }
    set_name = f"{name}-{hashed['pod-template-hash']}"
    revision = {"deployment.kubernetes.io/revision": "1"}
    made = _object("Deployment", workload, name, deployment, status, annotations=revision)
    rs_status = {**counts, "fullyLabeledReplicas": wanted, "observedGeneration": 1}
    rs = _object("ReplicaSet", workload, set_name, replica_set, rs_status)
    rs["metadata"] |= {
        "annotations": {
            **revision,
            "deployment.kubernetes.io/desired-replicas": str(wanted),
            "deployment.kubernetes.io/max-replicas": str(wanted + (wanted + 3) // 4),
        },
        "ownerReferences": [reference("Deployment", workload.namespace, name, "apps/v1")],
    }
    rs["metadata"]["labels"] |= hashed
    return [made, rs]


def _deployment_conditions(workload: Workload, active: Sequence[Obj]) -> list[Obj]:
    """Available while no more than maxUnavailable, a quarter rounded down, are missing."""
    available = ("True", "MinimumReplicasAvailable", "Deployment has minimum availability.")
    missing = [pod for pod in active if not _is_ready(pod)]
    if len(missing) > len(active) // 4:
        available = ("False", "MinimumReplicasUnavailable", "Deployment does not have minimum availability.")
    name = f"{workload.name}-{pod_template_hash(workload)}"
    made = []
    progressed = f'ReplicaSet "{name}" has successfully progressed.'
    for kind, status, reason, message in (
        ("Available", *available),
        ("Progressing", "True", "NewReplicaSetAvailable", progressed),
    ):
        since = instant(workload.age, 14) if status == "True" else max(map(_last_change, missing))
        made.append({**condition(kind, status, since, reason, message), "lastUpdateTime": since})
    return made


def _stateful_set(workload: Workload, pods: Sequence[Obj]) -> list[Obj]:
    ready, wanted = sum(map(_is_ready, pods)), len(pods)
    spec: Obj = {
        "persistentVolumeClaimRetentionPolicy": {"whenDeleted": "Retain", "whenScaled": "Retain"},
        "podManagementPolicy": "OrderedReady",
        "replicas": wanted,
        "revisionHistoryLimit": 10,
        "selector": {"matchLabels": {"app": workload.name}},
        "serviceName": workload.name,
        "template": template_of(workload),
        "updateStrategy": {"rollingUpdate": {"partition": 0}, "type": "RollingUpdate"},
    }
    if workload.claim:
        storage_class, size = workload.claim.split()
        claim = {
            "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": size}},
            "storageClassName": storage_class,
            "volumeMode": "Filesystem",
        }
        template = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "data"}}
        spec["volumeClaimTemplates"] = [{**template, "spec": claim, "status": {"phase": "Pending"}}]
    revision = pods[0]["metadata"]["labels"]["controller-revision-hash"]
    # A terminating pod is a replica still; only a removed one is replaced.
    status: Obj = {
        "availableReplicas": ready,
        "collisionCount": 0,
        "currentReplicas": wanted,
        "currentRevision": revision,
        "observedGeneration": 1,
        "replicas": wanted,
        "updateRevision": revision,
        "updatedReplicas": wanted,
    }
    if ready:
        status["readyReplicas"] = ready
    return [_object("StatefulSet", workload, workload.name, spec, status)]


def _daemon_set(workload: Workload, pods: Sequence[Obj]) -> list[Obj]:
    ready, wanted = sum(map(_is_ready, pods)), len(pods)
    spec: Obj = {
        "revisionHistoryLimit": 10,
        "selector": {"matchLabels": {"app": workload.name}},
        "template": template_of(workload),
        "updateStrategy": {"rollingUpdate": {"maxSurge": 0, "maxUnavailable": 1}, "type": "RollingUpdate"},
    }
    status: Obj = {
        "currentNumberScheduled": wanted,
        "desiredNumberScheduled": wanted,
        "numberAvailable": ready,
        "numberMisscheduled": 0,
        "numberReady": ready,
        "observedGeneration": 1,
        "updatedNumberScheduled": wanted,
    }
    if wanted > ready:
        status["numberUnavailable"] = wanted - ready
    annotations = {"deprecated.daemonset.template.generation": "1"}
    return [_object("DaemonSet", workload, workload.name, spec, status, annotations=annotations)]


def _job_spec(workload: Workload) -> Obj:
    return {
        "backoffLimit": 6,
        "completionMode": "NonIndexed",
        "completions": 1,
        "manualSelector": False,
        "parallelism": 1,
        "podReplacementPolicy": "TerminatingOrFailed",
        "suspend": False,
        "template": template_of(workload),
        **{key: value for key, value in workload.settings.items() if key != "schedule"},
    }


def _job(workload: Workload, pods: Sequence[Obj]) -> list[Obj]:
    name = job_name(workload)
    ids = {
        key: pods[0]["metadata"]["labels"][key]
        for key in ("batch.kubernetes.io/controller-uid", "batch.kubernetes.io/job-name", "controller-uid", "job-name")
    }
    spec = _job_spec(workload)
    spec["selector"] = {"matchLabels": {"batch.kubernetes.io/controller-uid": ids["controller-uid"]}}
    spec["template"]["metadata"]["labels"] |= ids
    active = _active(pods)
    status: Obj = {
        "ready": sum(map(_is_ready, active)),
        "startTime": instant(workload.age),
        "terminating": sum("deletionTimestamp" in p["metadata"] and p["status"]["phase"] == "Running" for p in pods),
        "uncountedTerminatedPods": {},
    }
    if active:
        status["active"] = len(active)
    for phase, field in (("Failed", "failed"), ("Succeeded", "succeeded")):
        if count := sum(pod["status"]["phase"] == phase for pod in pods):
            status[field] = count
    if "succeeded" in status:
        done = pods[0]["status"]["containerStatuses"][0]["state"]["terminated"]["finishedAt"]
        _finish_job(status, done)
    return [_object("Job", workload, name, spec, status)]


def _finish_job(status: Obj, done: str) -> None:
    status["completionTime"] = done
    message = "Reached expected number of succeeded pods"
    status["conditions"] = [
        {**condition(kind, "True", done, "CompletionsReached", message), "lastProbeTime": done}
        for kind in ("SuccessCriteriaMet", "Complete")
    ]


def _cron_job(workload: Workload, pods: Sequence[Obj]) -> list[Obj]:
    job = _job(workload, pods)[0]
    started = job["status"]["startTime"]
    meta = job["metadata"]
    meta["annotations"] = {"batch.kubernetes.io/cronjob-scheduled-timestamp": started}
    meta["ownerReferences"] = [reference("CronJob", workload.namespace, workload.name, "batch/v1")]
    spec: Obj = {
        "concurrencyPolicy": "Forbid",
        "failedJobsHistoryLimit": 1,
        "jobTemplate": {"metadata": {}, "spec": {"template": template_of(workload)}},
        "schedule": workload.settings["schedule"],
        "successfulJobsHistoryLimit": 3,
        "suspend": False,
    }
    status = {"lastScheduleTime": started, "lastSuccessfulTime": job["status"]["completionTime"]}
    # The schedule is older than its last run.
    made = _object("CronJob", workload._replace(age="380d"), workload.name, spec, status)
    return [made, job]


def _service(workload: Workload) -> Obj:
    """A ClusterIP Service; a StatefulSet's has no address of its own."""
    content = digest(f"service/{workload.namespace}/{workload.name}")
    address = f"10.96.{int(content[:2], 16)}.{1 + int(content[2:4], 16) % 254}"
    if workload.kind == "StatefulSet":
        address = "None"
    labels = {"app": workload.name, "team": workload.namespace}
    return written("v1", "Service", workload.name, workload.namespace, age="206d", labels=labels) | {
        "spec": {
            "clusterIP": address,
            "clusterIPs": [address],
            "internalTrafficPolicy": "Cluster",
            "ipFamilies": ["IPv4"],
            "ipFamilyPolicy": "SingleStack",
            "ports": [{"name": "main", "port": workload.port, "protocol": "TCP", "targetPort": "main"}],
            "selector": {"app": workload.name},
            "sessionAffinity": "None",
            "type": "ClusterIP",
        },
        "status": {"loadBalancer": {}},
    }


_BUILDERS: Final[dict[str, Callable[[Workload, Sequence[Obj]], list[Obj]]]] = {
    "Deployment": _deployment,
    "StatefulSet": _stateful_set,
    "DaemonSet": _daemon_set,
    "Job": _job,
    "CronJob": _cron_job,
}
