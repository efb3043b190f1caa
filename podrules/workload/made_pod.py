"""The first pod that a workload's controller would send to the API server, computed from the workload's manifest.

    Deployment     a pod of its ReplicaSet, with the label pod-template-hash
    StatefulSet    the pod of the first ordinal, with its name, host name, labels and claims
    DaemonSet      with its controller's tolerations; the node that its controller adds differs from pod to pod
    Job, CronJob   for an indexed Job the pod with index 0, with its label, annotation and variable

Values that are generated at creation (hashes, uids, the name of a CronJob's Job) are placeholders here.

Source: pkg/controller/controller_utils.go (GetPodFromTemplate), pkg/controller/deployment/sync.go (getNewReplicaSet),
pkg/controller/statefulset/stateful_set_utils.go (newStatefulSetPod, updateStorage),
pkg/controller/daemon/util/daemonset_util.go (CreatePodTemplate),
pkg/controller/job/{job_controller,indexed_job_utils}.go (manageJob) of k8s.io/kubernetes at v1.37.1.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from itertools import count
from typing import Any, Final

from msgspec import Struct

from podrules.api.controller_labels import INDEX_LABEL, controllers_labels
from podrules.api.model.pod import Pod
from podrules.api.model.workload import Workload
from podrules.pod.tolerations import daemon_tolerations

Content = dict[str, Any]

NO_UID: Final = "00000000-0000-0000-0000-000000000000"
"""The uid of an object that does not exist yet."""
PLANNED_HASH: Final = "planned"
"""The placeholder for the hash of a template; no hash has all of these letters."""
_INDEX_VARIABLE: Final = "JOB_COMPLETION_INDEX"
_TRACKING: Final = "batch.kubernetes.io/job-tracking"


class MadePod(Struct, frozen=True):
    """A planned pod."""

    content: Content
    """The pod as its controller sends it."""
    path: str
    """The path of the pod in the workload: ``spec.template.``."""


def made_pod(workload: Mapping[str, Any]) -> MadePod | None:
    """The first pod of a workload; None: the object creates no pods."""
    make = _MAKERS.get(str(workload.get("kind")))
    return make(workload) if make is not None else None


def _part(content: Mapping[str, Any], *steps: str) -> Mapping[str, Any]:
    found: Any = content
    for step in steps:
        found = found.get(step) or {}
    return found  # type: ignore[no-any-return]


def _owner(api_version: str, kind: str, name: str, workload: Mapping[str, Any], *, own: bool = True) -> Content:
    uid = str(_part(workload, "metadata").get("uid") or NO_UID) if own else NO_UID
    flags = {"controller": True, "blockOwnerDeletion": True}
    return {"apiVersion": api_version, "kind": kind, "name": name, "uid": uid, **flags}


def _pod(
    workload: Mapping[str, Any], template: Mapping[str, Any], owner: Content, labels: Mapping[str, str]
) -> Content:
    """The pod of a template, with the labels that its controller adds."""
    meta = _part(template, "metadata")
    made: Content = {
        "labels": {**(meta.get("labels") or {}), **labels},
        "annotations": dict(meta.get("annotations") or {}),
        "generateName": f"{owner['name']}-",
        "ownerReferences": [owner],
    }
    if meta.get("finalizers"):
        made["finalizers"] = list(meta["finalizers"])
    namespace = _part(workload, "metadata").get("namespace")
    if namespace:
        made["namespace"] = namespace
    return {"apiVersion": "v1", "kind": "Pod", "metadata": made, "spec": dict(template.get("spec") or {})}


def _name(workload: Mapping[str, Any]) -> str:
    meta = _part(workload, "metadata")
    return str(meta.get("name") or f"{meta.get('generateName') or ''}{PLANNED_HASH}")


def _of_deployment(workload: Mapping[str, Any]) -> MadePod:
    owner = _owner("apps/v1", "ReplicaSet", f"{_name(workload)}-{PLANNED_HASH}", workload, own=False)
    labels = controllers_labels("deployment", "", 0, PLANNED_HASH)
    pod = _pod(workload, _part(workload, "spec", "template"), owner, labels)
    return MadePod(pod, "spec.template.")


def _of_replicas(workload: Mapping[str, Any]) -> MadePod:
    owner = _owner(str(workload.get("apiVersion")), str(workload.get("kind")), _name(workload), workload)
    return MadePod(_pod(workload, _part(workload, "spec", "template"), owner, {}), "spec.template.")


def _of_stateful_set(workload: Mapping[str, Any]) -> MadePod:
    spec, name = _part(workload, "spec"), _name(workload)
    ordinal = int(_part(spec, "ordinals").get("start") or 0)
    own = f"{name}-{ordinal}"
    labels = controllers_labels("statefulset", name, ordinal, f"{name}-{PLANNED_HASH}")
    pod = _pod(workload, _part(spec, "template"), _owner("apps/v1", "StatefulSet", name, workload), labels)
    pod["metadata"]["name"] = own
    pod["spec"] |= {"hostname": own, "subdomain": spec.get("serviceName") or ""}
    claims = [str(_part(claim or {}, "metadata").get("name") or "") for claim in spec.get("volumeClaimTemplates") or ()]
    if claims:
        named = [{"name": claim, "persistentVolumeClaim": {"claimName": f"{claim}-{own}"}} for claim in claims]
        others = [one for one in pod["spec"].get("volumes") or () if (one or {}).get("name") not in claims]
        pod["spec"]["volumes"] = [*named, *others]
    return MadePod(pod, "spec.template.")


def _of_daemon_set(workload: Mapping[str, Any]) -> MadePod:
    owner = _owner("apps/v1", "DaemonSet", _name(workload), workload)
    labels = controllers_labels("daemonset", "", 0, PLANNED_HASH)
    pod = _pod(workload, _part(workload, "spec", "template"), owner, labels)
    added = [
        {"key": one.key, "operator": one.operator, "effect": one.effect}
        for one in daemon_tolerations(host_network=bool(pod["spec"].get("hostNetwork")))
    ]
    own = [one for one in pod["spec"].get("tolerations") or () if _without_end(one) not in added]
    pod["spec"]["tolerations"] = [*own, *added]
    return MadePod(pod, "spec.template.")


def _without_end(toleration: Any) -> Any:
    """The toleration without its time and without an empty value."""
    if not isinstance(toleration, Mapping):
        return toleration
    return {key: value for key, value in toleration.items() if key != "tolerationSeconds" and value not in ("", None)}


def _of_job(workload: Mapping[str, Any]) -> MadePod:
    name = _name(workload)
    return MadePod(_of_job_spec(workload, _part(workload, "spec"), name), "spec.template.")


def _of_cron_job(workload: Mapping[str, Any]) -> MadePod:
    job = _part(workload, "spec", "jobTemplate", "spec")
    pod = _of_job_spec(workload, job, f"{_name(workload)}-{PLANNED_HASH}")
    return MadePod(pod, "spec.jobTemplate.spec.template.")


def _of_job_spec(workload: Mapping[str, Any], job: Mapping[str, Any], name: str) -> Content:
    own = workload.get("kind") == "Job"
    owner = _owner("batch/v1", "Job", name, workload, own=own)
    labels = {} if job.get("manualSelector") else controllers_labels("job", name, 0, owner["uid"])
    pod = _pod(workload, _part(job, "template"), owner, labels)
    meta = pod["metadata"]
    meta["finalizers"] = [
        *meta.get("finalizers", ()),
        *(() if _TRACKING in meta.get("finalizers", ()) else (_TRACKING,)),
    ]
    if job.get("completionMode") == "Indexed":
        meta["generateName"] = f"{name}-0-"
        for map_of in ("labels", "annotations"):
            meta[map_of][INDEX_LABEL] = "0"
        pod["spec"]["hostname"] = f"{name}-0"
        for list_of in ("initContainers", "containers"):
            if pod["spec"].get(list_of):
                pod["spec"][list_of] = [_with_index(one or {}) for one in pod["spec"][list_of]]
    return pod


def _with_index(container: Mapping[str, Any]) -> Content:
    variables = list(container.get("env") or ())
    if not any((one or {}).get("name") == _INDEX_VARIABLE for one in variables):
        source = {"fieldRef": {"fieldPath": f"metadata.labels['{INDEX_LABEL}']"}}
        variables.append({"name": _INDEX_VARIABLE, "valueFrom": source})
    return {**container, "env": variables}


_MAKERS: Final[Mapping[str, Callable[[Mapping[str, Any]], MadePod]]] = {
    "Deployment": _of_deployment,
    "ReplicaSet": _of_replicas,
    "ReplicationController": _of_replicas,
    "StatefulSet": _of_stateful_set,
    "DaemonSet": _of_daemon_set,
    "Job": _of_job,
    "CronJob": _of_cron_job,
}


# The pods of a StatefulSet by their ordinals: the one that it creates next, and the one for which it first waits.
#
#     OrderedReady    in the order of the ordinals: it creates a pod once all before it run, are Ready and are not being
#                     deleted. Until then the set neither scales nor rolls out
#     Parallel        each pod as soon as it is missing, regardless of the others
#
# In both modes it creates a pod only after the object of the previous pod with that ordinal is gone.
#
# Source: processReplica and updateStatefulSet in pkg/controller/statefulset/stateful_set_control.go at v1.36.3.
# minReadySeconds, with which an OrderedReady set waits longer, is not considered.


class NextPod(Struct, frozen=True):
    """The pod that a StatefulSet creates next, or would create with one more replica."""

    ordinal: int
    name: str
    waits_for: str
    """The pod that must be Ready before; empty: none."""


def is_ordered(stateful_set: Workload) -> bool:
    """Whether it creates its pods one after the other."""
    return stateful_set.spec.pod_management_policy != "Parallel"


def next_pod(stateful_set: Workload, ready: Mapping[str, bool]) -> NextPod:
    """The first missing pod.

    Args:
        stateful_set: The StatefulSet of the pods.
        ready: The existing pods by name, including those that are being deleted, and whether each runs, is Ready, and
            is not being deleted.
    """
    awaited = ""
    for ordinal in count(stateful_set.spec.ordinals.start):
        name = f"{stateful_set.metadata.name}-{ordinal}"
        if name not in ready:
            return NextPod(ordinal, name, awaited if is_ordered(stateful_set) else "")
        awaited = awaited or ("" if ready[name] else name)
    raise AssertionError  # Ordinals have no end.


def awaited_pod(stateful_set: Workload, pods: Iterable[Pod]) -> Pod | None:
    """The pod for which it waits before it creates another; None: it waits for none.

    Args:
        stateful_set: The stored StatefulSet.
        pods: The pods of the cluster.
    """
    owner = ("StatefulSet", stateful_set.metadata.name)
    own = {
        pod.metadata.name: pod
        for pod in pods
        if pod.metadata.namespace == stateful_set.metadata.namespace
        and (found := pod.metadata.controller) is not None
        and (found.kind, found.name) == owner
    }
    return own.get(next_pod(stateful_set, {name: _stays_ready(pod) for name, pod in own.items()}).waits_for)


def _stays_ready(pod: Pod) -> bool:
    return pod.status.phase == "Running" and pod.is_ready and pod.metadata.deletion_timestamp is None
