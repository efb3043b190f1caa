"""A Deployment's rollout that starts a second writer on an unguarded volume.

The rule is that of `podrules.ending.second_writers`, for Deployments with strategy RollingUpdate. The PersistentVolume
of a claim is known only if the same files contain it, by spec.volumeName or its claimRef, or contain its StorageClass
with a provisioner that is for NFS by its name; other claims are skipped.

Source: as in `podrules.ending.second_writers`.
"""

from __future__ import annotations

from collections.abc import Iterator

from podrules.api.model.workload import Workload
from podrules.ending.second_writers import coming_guards, second_writers, volume_of
from podrules.ending.volumes import WriterLock
from podrules.lint.finding import Finding, Level, LintRule
from podrules.lint.objects import Objects, PodCase


def check_writers(objects: Objects) -> Iterator[Finding]:
    """Every finding in the volumes of Deployments."""
    for case in objects.cases:
        yield from _unguarded(case, objects)


def _unguarded(case: PodCase, objects: Objects) -> Iterator[Finding]:
    content, namespace = case.owner.content, case.owner.namespace
    if case.owner.kind != "Deployment" or not isinstance(content, Workload):
        return
    guards = coming_guards(
        case.pod,
        lambda name: objects.claims.get((namespace, name)),
        lambda claim: volume_of(claim, objects.volumes),
        objects.drivers.get,
        objects.storage_classes,
    )
    found = second_writers(content, case.pod, guards)
    if found is None or found.surges is None:
        return
    places = {volume.name: index for index, volume in enumerate(case.pod.spec.volumes)}
    for guard in found.unguarded:
        where = "all pods on one node" if guard.lock is WriterLock.NODE else ""
        kind = tuple(filter(None, (guard.backend, *guard.access_modes, where)))
        place = case.at(f"spec.volumes[{places[guard.volume]}]")
        yield TwoWriters(*place, guard.volume, kind, found.surges)


class TwoWriters(Finding, frozen=True):
    """Two pods may write to one volume during a rollout."""

    rule = LintRule(
        name="two-writers",
        level=Level.WARNING,
        about="A Deployment's rolling update starts a second writer on an unguarded volume.",
        remedy="Use a StatefulSet; strategy.type: Recreate helps only with rollouts, not with drains and lost nodes.",
        source="pkg/controller/deployment/rolling.go; pkg/volume/util/util.go",
        term="ReadWriteOncePod",
        check_objects=check_writers,
    )
    volume: str
    kind: tuple[str, ...]
    """Its storage, its access modes, and whether one node has all pods: ``NFS``, ``ReadWriteOnce``."""
    surges: bool
    """Whether the next pod starts before the old one begins to terminate."""

    def __str__(self) -> str:
        start = "before this one terminates" if self.surges else "while this one still terminates"
        return (
            f"A rolling update starts the next pod {start}, and nothing keeps a second writer off volume {self.volume} "
            f"({', '.join(self.kind)})."
        )
