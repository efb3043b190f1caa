"""A Deployment's rollout that starts a second writer on a volume that nothing guards.

The rule looks at Deployments with strategy RollingUpdate, also of one replica. With maxSurge above 0 the next pod
starts before the old one ends; with maxSurge 0 it starts while the old one ends, because a terminating pod no longer
counts. The volume is for one writer (ReadWriteOnce) and nothing keeps a second writer off: NFS, hostPath, local, a CSI
driver with attachRequired false, or iSCSI and FC in the pod itself.

Strategy Recreate waits until the old pods have ended. The scheduler guards ReadWriteOncePod, and the attach/detach
controller guards PersistentVolumes of iSCSI, FC or attached CSI. A StatefulSet makes no second pod of one name. The
PersistentVolume of a claim is known only when the same files hold it, by spec.volumeName or its claimRef; other claims
are passed over. NFS and Azure File in the pod itself have no access mode that says that they are for one writer.

Source: pkg/controller/deployment/{rolling.go,util/deployment_util.go} (NewRSNewReplicas) at v1.36.3, and
`podrules.volumes`.
"""

from __future__ import annotations

from collections.abc import Iterator

from podrules.checks.claims import surge_of
from podrules.checks.finding import Finding, Level, LintRule
from podrules.checks.objects import Objects, PodCase
from podrules.model.storage import READ_WRITE_ONCE_POD, PersistentVolume, PersistentVolumeClaim
from podrules.model.workload import Workload
from podrules.volumes import WriterGuard, WriterLock, claimed_volumes, inline_disks, writer_guard

__all__ = ["TwoWriters", "check_writers"]


def check_writers(objects: Objects) -> Iterator[Finding]:
    """Every finding in the volumes of Deployments."""
    for case in objects.cases:
        yield from _unguarded(case, objects)


def _unguarded(case: PodCase, objects: Objects) -> Iterator[Finding]:
    content = case.owner.content
    if case.owner.kind != "Deployment" or not isinstance(content, Workload) or case.replicas == 0:
        return
    if content.spec.strategy.type == "Recreate":
        return
    surges = bool(surge_of(content.spec.strategy, case.replicas or 1))
    places = {volume.name: index for index, volume in enumerate(case.pod.spec.volumes)}
    for guard in (*_guards(case, objects), *inline_disks(case.pod)):
        if guard.lock is WriterLock.NONE:
            kind = tuple(filter(None, (guard.backend, *guard.access_modes)))
            yield TwoWriters(*case.at(f"spec.volumes[{places[guard.volume]}]"), guard.volume, kind, surges)


def _guards(case: PodCase, objects: Objects) -> Iterator[WriterGuard]:
    for claimed in claimed_volumes(case.pod):
        claim = objects.claims.get((case.owner.namespace, claimed.claim))
        volume = None if claim is None else _volume_of(claim, case.owner.namespace, objects)
        if claim is None or volume is None or READ_WRITE_ONCE_POD in claim.spec.access_modes:
            continue
        yield writer_guard(claimed, claim, volume, attached=_attached(volume, objects))


def _volume_of(claim: PersistentVolumeClaim, namespace: str, objects: Objects) -> PersistentVolume | None:
    if claim.spec.volume_name:
        return objects.volumes.get(claim.spec.volume_name)
    own = namespace, claim.metadata.name
    refs = ((volume, volume.spec.claim_ref) for volume in objects.volumes.values())
    return next((volume for volume, ref in refs if ref is not None and (ref.namespace, ref.name) == own), None)


def _attached(volume: PersistentVolume, objects: Objects) -> bool | None:
    """False: the CSI driver says that it attaches nothing; None: not known."""
    driver = objects.drivers.get(volume.spec.csi.driver) if volume.spec.csi is not None else None
    return False if driver is not None and driver.spec.attach_required is False else None


class TwoWriters(Finding, frozen=True):
    """Two pods may write to one volume during a rollout."""

    rule = LintRule(
        name="two-writers",
        level=Level.WARNING,
        about="A Deployment's rolling update starts a second writer on a volume that nothing guards.",
        remedy="Use a StatefulSet; strategy.type: Recreate helps with rollouts alone, not with drains and lost nodes.",
        source="pkg/controller/deployment/rolling.go; pkg/volume/util/util.go",
        term="ReadWriteOncePod",
        check_objects=check_writers,
    )
    volume: str
    kind: tuple[str, ...]
    """What it is stored on and its access modes, as far as they are known: ``NFS``, ``ReadWriteOnce``."""
    surges: bool
    """Whether the next pod starts before the old one begins to end."""

    def __str__(self) -> str:
        start = "before this one ends" if self.surges else "while this one is still ending"
        return (
            f"A rolling update starts the next pod {start}, and nothing keeps a second writer off volume {self.volume} "
            f"({', '.join(self.kind)})."
        )
