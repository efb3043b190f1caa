"""The objects of manifest files, in words: which ones a page is about, and which were skipped."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from kubectl_plugin.views.words import counted, listed

__all__ = ["manifest_title", "not_explained", "nothing_there"]

_MAX_NAMED: Final = 3
_AT_ONCE: Final = frozenset(("Job", "CronJob"))


def manifest_title(
    kind: str, name: str, *, namespace: str, file: str, replicas: int | None, autoscaler: str = ""
) -> str:
    """``Deployment web in namespace shop (from deploy.yaml), 6 replicas: the pod that it makes``.

    Args:
        kind: Of the object.
        name: Its own, or what it will begin with.
        namespace: To which it would come.
        file: In which it stands; empty: that is not known.
        replicas: For which it asks; of a Job, its pods at once; None: the nodes decide.
        autoscaler: A HorizontalPodAutoscaler of the same file that decides about the replicas; empty: none.
    """
    head = f"{kind} {name}{f' in namespace {namespace}' if namespace else ''}{f' (from {file})' if file else ''}"
    if kind == "Pod":
        return head
    if autoscaler:
        return f"{head}, replicas from HorizontalPodAutoscaler {autoscaler}: the pod that it makes"
    if replicas is None:
        return f"{head}, one pod for each node: the pod that it makes"
    wanted = f"{counted(replicas, 'pod')} at once" if kind in _AT_ONCE else counted(replicas, "replica")
    return f"{head}, {wanted}: the pod that it makes"


def not_explained(ignored: Sequence[tuple[str, str]], counted_in: Sequence[tuple[str, str]]) -> str:
    """One line on what else stood in files; empty: nothing did.

    Args:
        ignored: Kinds and names of what told nothing.
        counted_in: Of what counts for the pods, as a PersistentVolumeClaim, and has no page of its own.
    """
    parts = []
    if ignored:
        parts.append(f"Not explained: {_named(ignored)}.")
    if counted_in:
        parts.append(f"Read with the pods: {_named(counted_in)}.")
    return " ".join(parts)


def nothing_there(where: str, ignored: Sequence[tuple[str, str]], done: str) -> str:
    """Why nothing of a file was explained, or placed.

    Args:
        where: What messages call the file.
        ignored: Kinds and names of what was there.
        done: ``explain``.
    """
    if not ignored:
        return f"{where}: no object in it; there is nothing to {done}"
    return f"{where}: no pod and no workload in it, only {_named(ignored)}; there is nothing to {done}"


def _named(objects: Sequence[tuple[str, str]]) -> str:
    """``Service web, ConfigMap a and 2 more``."""
    return listed([f"{kind} {name}".rstrip() for kind, name in objects], _MAX_NAMED)
