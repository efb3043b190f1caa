"""The pods of a StatefulSet by their ordinals: the one that it creates next, and the one for which it first waits.

    OrderedReady    in the order of the ordinals: it creates a pod once all before it run, are Ready and are not being
                    deleted. Until then the set neither scales nor rolls out
    Parallel        each pod as soon as it is missing, regardless of the others

In both modes it creates a pod only after the object of the previous pod with that ordinal is gone.

Source: processReplica and updateStatefulSet in pkg/controller/statefulset/stateful_set_control.go at v1.36.3.
minReadySeconds, with which an OrderedReady set waits longer, is not considered.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import count

from msgspec import Struct

from podrules.api.model.pod import Pod
from podrules.api.model.workload import Workload


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
