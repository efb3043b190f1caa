"""The labels that controllers add to those of a template when they create a pod, and counts of pods in percent.

    Deployment    pod-template-hash
    StatefulSet   statefulset.kubernetes.io/pod-name, apps.kubernetes.io/pod-index, controller-revision-hash
    DaemonSet     controller-revision-hash, pod-template-generation
    Job, CronJob  controller-uid and job-name, each also with the prefix batch.kubernetes.io/; for an indexed Job
                  batch.kubernetes.io/job-completion-index

Source, at v1.36.3: pkg/controller/deployment/sync.go (getNewReplicaSet), pkg/controller/statefulset/
stateful_set_utils.go (newVersionedStatefulSetPod), pkg/controller/daemon/util/daemonset_util.go (CreatePodTemplate),
pkg/registry/batch/job/strategy.go (generateSelector), pkg/controller/job/indexed_job_utils.go
(addCompletionIndexLabel); pkg/util/intstr/intstr.go (GetScaledValueFromIntOrPercent) in k8s.io/apimachinery.
"""

from __future__ import annotations

import re
from typing import Final

HASH_LABEL: Final = "pod-template-hash"
INDEX_LABEL: Final = "batch.kubernetes.io/job-completion-index"
_BATCH: Final = "batch.kubernetes.io/"


def controllers_labels(kind: str, name: str, number: int, own: str) -> dict[str, str]:
    """The labels of one of a workload's pods, except the index of an indexed Job.

    Args:
        kind: The kind of the workload, in singular: ``deployment``. Other kinds add none.
        name: The name of the workload; for a CronJob, of its Job.
        number: The number of the pod, from ``ordinals.start`` of a StatefulSet.
        own: The hash of the template or revision; the uid of a Job.
    """
    match kind:
        case "deployment":
            return {HASH_LABEL: own}
        case "statefulset":
            return {
                "statefulset.kubernetes.io/pod-name": f"{name}-{number}",
                "apps.kubernetes.io/pod-index": str(number),
                "controller-revision-hash": own,
            }
        case "daemonset":
            return {"controller-revision-hash": own, "pod-template-generation": "1"}
        case "job" | "cronjob":
            ids = {"controller-uid": own, "job-name": name}
            return ids | {_BATCH + key: value for key, value in ids.items()}
        case _:
            return {}


_MAKERS: Final = ("deployment", "statefulset", "daemonset", "job")
ADDED_LABELS: Final = frozenset(key for kind in _MAKERS for key in controllers_labels(kind, "", 0, "")) | {INDEX_LABEL}
"""Labels that controllers add to those of a template."""


_PERCENTAGE: Final = r"([0-9]{1,9})%"


def percentage(text: str) -> int | None:
    """The number before the sign; None: the text is not a percentage."""
    match = re.fullmatch(_PERCENTAGE, text)
    return None if match is None else int(match[1])


def scaled(value: int | str, replicas: int, *, up: bool) -> int | None:
    """The number of pods, rounded up or down; None: the text is not a percentage."""
    if isinstance(value, int):
        return value
    percent = percentage(value)
    if percent is None:
        return None
    return -(-percent * replicas // 100) if up else percent * replicas // 100
