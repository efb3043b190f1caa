"""The sentences about manifest files: which objects a page is about, and which were skipped."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from kubectl_plugin.views.words import counted, listed
from podrules.scheduling.placement.planned import Autoscaler, JobSize

_MAX_NAMED: Final = 3


def manifest_title(
    kind: str,
    name: str,
    *,
    namespace: str,
    file: str,
    replicas: int | None,
    job: JobSize | None = None,
    autoscaler: Autoscaler | None = None,
) -> str:
    """``Deployment web in namespace shop (from deploy.yaml), 6 replicas: the pod that it makes``.

    Args:
        kind: The kind of the object.
        name: Its name or generateName.
        namespace: The namespace in which it would be created.
        file: The file that has it; empty: unknown.
        replicas: The requested number; None: the nodes decide.
        job: How many pods a Job makes, or each Job of a CronJob.
        autoscaler: A HorizontalPodAutoscaler of the same file that sets the replicas.
    """
    head = f"{kind} {name}{f' in namespace {namespace}' if namespace else ''}{f' (from {file})' if file else ''}"
    if kind == "Pod":
        return head
    wanted = "one pod for each node" if replicas is None else counted(replicas, "replica")
    if job is not None:
        wanted = job_words(job)
    if autoscaler is not None:
        wanted = f"{range_words(autoscaler)} from HorizontalPodAutoscaler {autoscaler.name}"
    return f"{head}, {wanted}: the pod that it makes"


def range_words(autoscaler: Autoscaler) -> str:
    """``2 to 5 replicas``."""
    least, most = autoscaler.min_replicas, autoscaler.max_replicas
    return counted(most, "replica") if least == most else f"{least} to {counted(most, 'replica')}"


def job_words(job: JobSize) -> str:
    """``3 pods at once, 10 in all, one for each index``."""
    words = f"{counted(job.at_once, 'pod')} at once"
    if job.completions is not None and job.completions != job.at_once:
        words += f", {job.completions} in all"
    return f"{words}{', one for each index' if job.indexed else ''}"


def not_explained(ignored: Sequence[tuple[str, str]], counted_in: Sequence[tuple[str, str]]) -> str:
    """One line about the other objects in the files, by kind and name; empty if there are none.

    ``counted_in``: objects that pods use, such as a PersistentVolumeClaim, without own page.
    """
    parts = []
    if ignored:
        parts.append(f"Not explained: {_named(ignored)}.")
    if counted_in:
        parts.append(f"Read with the pods: {_named(counted_in)}.")
    return " ".join(parts)


def nothing_there(where: str, ignored: Sequence[tuple[str, str]], done: str) -> str:
    """Why nothing in a file was explained or placed; ``done``: the verb, such as ``explain``."""
    if not ignored:
        return f"{where}: no object in it; there is nothing to {done}"
    return f"{where}: no pod and no workload in it, only {_named(ignored)}; there is nothing to {done}"


def _named(objects: Sequence[tuple[str, str]]) -> str:
    """``Service web, ConfigMap a and 2 more``."""
    return listed([f"{kind} {name}".rstrip() for kind, name in objects], _MAX_NAMED)
