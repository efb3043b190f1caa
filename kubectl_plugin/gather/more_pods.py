"""Targets of ``place``: another replica of a workload, or another pod like an existing one."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from typing import Any

from cluster_io.errors import NotFound, UsageError
from cluster_io.kinds import DAEMON_SETS, JOBS, NODES
from cluster_io.source import Source
from kubectl_plugin.gather.manifest_pods import PodManifest, template_pod
from kubectl_plugin.gather.targets import ObjectQuery, find, targets_of
from kubectl_plugin.options import NO_SELECTION
from podrules.api.model.pod import Pod

WorkloadOrPod = PodManifest | Pod
"""A workload with the pod that it would create, or a pod."""


def more_of(words: Sequence[str], source: Source, *, live: bool, replicas: int | str | None) -> Sequence[WorkloadOrPod]:
    """The named workloads and pods.

    Args:
        words: ``TYPE/NAME …``, ``TYPE NAME …``, or ``NAME …`` of pods.
        source: The source of the objects.
        live: Whether an API server answers.
        replicas: How many more pods; None: not given.

    Raises:
        UsageError: an object that needs no choice of a node, or no name.
        ClusterError: it cannot be read, or does not exist.
    """
    asked = targets_of(words, NO_SELECTION, verb="placed")
    for one in asked:
        _check_placeable(one, replicas)
    return tuple(more for one in asked for more in _found_of(one, words, source, live=live))


def _found_of(asked: ObjectQuery, words: Sequence[str], source: Source, *, live: bool) -> Sequence[WorkloadOrPod]:
    """The object of one target. A number after the names is meant as --replicas."""
    try:
        return tuple(_found(asked, source, live=live))
    except NotFound as error:
        if asked.name.isdecimal() and words[-1] == asked.name and len(words) > 1:
            raise UsageError(
                f'"{asked.name}": pass the number of pods with --replicas',
                remedy=("kubectl", "qos", "place", *words[:-1], "--replicas", asked.name, "-n", source.namespace),
            ) from error
        raise


def _check_placeable(asked: ObjectQuery, replicas: int | str | None) -> None:
    if not asked.name:
        singular = asked.kind.singular
        raise UsageError(
            f'"{asked.kind.plural}": no name', advice=f"Write {singular}/NAME: place accepts one at a time"
        )
    if asked.kind is NODES:
        raise UsageError(
            f"node/{asked.name}: a node is not placed",
            advice=f"Where its pods would go: kubectl qos place --drain {shlex.quote(f'node/{asked.name}')}",
        )
    if asked.kind is DAEMON_SETS and replicas is not None:
        raise UsageError(
            f"daemonset/{asked.name}: a DaemonSet has one pod on each node that it chooses, and cannot have more",
            advice=f"On which nodes it runs: kubectl qos place {shlex.quote(f'daemonset/{asked.name}')}",
        )


def _check_not_ended(asked: ObjectQuery, entry: Any) -> None:
    if asked.kind is JOBS and any(entry.status.is_true(word) for word in ("Complete", "Failed")):
        raise UsageError(
            f"job/{asked.name}: it has ended, and has no more pods",
            advice="Place the manifest of another Job: kubectl qos place -f FILE",
        )


def _found(asked: ObjectQuery, source: Source, *, live: bool) -> Iterator[WorkloadOrPod]:
    for entry in find(asked, NO_SELECTION, source, live=live, command="place"):
        if not isinstance(entry, Pod):
            _check_not_ended(asked, entry)
            pod = template_pod(entry, asked.kind)  # type: ignore[arg-type]
            yield PodManifest(entry, asked.kind, pod, None)
            continue
        owner = entry.metadata.controller
        if owner is not None and owner.kind in {DAEMON_SETS.kind, NODES.kind}:
            what = f"{owner.kind} {owner.name}" if owner.kind == DAEMON_SETS.kind else f"the kubelet of {owner.name}"
            raise UsageError(
                f"pod/{asked.name}: it belongs to {what}, which does not choose a node",
                advice="Name a pod or a workload that the scheduler places",
            )
        yield entry
