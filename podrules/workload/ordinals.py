"""The pods of a StatefulSet by their ordinals: which it makes next, and for which it waits before.

    OrderedReady    in the order of the ordinals: a pod is made once all before it run, are Ready and are not being
                    deleted. While one is not, the set neither scales nor rolls out
    Parallel        each as soon as it is missing, whatever the others do

A pod of an ordinal is made only when the object of the one before it is gone, in both.

Source: processReplica and updateStatefulSet in pkg/controller/statefulset/stateful_set_control.go at v1.36.3.
minReadySeconds, which lets an OrderedReady set wait longer, is not looked at.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import count

from msgspec import Struct

from podrules.api.model.pod import Pod
from podrules.api.model.workload import Workload

__all__ = ["NextPod", "awaited_pod", "is_ordered", "next_pod"]


class NextPod(Struct, frozen=True):
    """The pod that a StatefulSet makes next, or would make if it had one more."""

    ordinal: int
    name: str
    waits_for: str
    """The pod that has to be Ready before; empty: none."""


def is_ordered(stateful_set: Workload) -> bool:
    """Whether its pods are made one after the other."""
    return stateful_set.spec.pod_management_policy != "Parallel"


def next_pod(stateful_set: Workload, ready: Mapping[str, bool]) -> NextPod:
    """The first that is not there.

    Args:
        stateful_set: Whose pods they are.
        ready: By name those that are there, also those that are being deleted, and whether each runs, is Ready, and is
            to stay.
    """
    awaited = ""
    for ordinal in count(stateful_set.spec.ordinals.start):
        name = f"{stateful_set.metadata.name}-{ordinal}"
        if name not in ready:
            return NextPod(ordinal, name, awaited if is_ordered(stateful_set) else "")
        awaited = awaited or ("" if ready[name] else name)
    raise AssertionError  # Ordinals have no end.


def awaited_pod(stateful_set: Workload, pods: Iterable[Pod]) -> Pod | None:
    """The pod without which it makes no other; None: it waits for none.

    Args:
        stateful_set: As the cluster has it.
        pods: Of the cluster.
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
