"""A Deployment's rollout that starts a second writer on a volume that nothing guards.

    two-writers    strategy RollingUpdate, also of one replica: with maxSurge above 0 the next pod starts before the old
                   one ends, with 0 while it ends, for a pod that is told to end counts no more. The volume is made for
                   one writer (ReadWriteOnce), and nothing keeps a second one off: NFS, hostPath, local, a CSI driver
                   with attachRequired false, iSCSI and FC in the pod itself

Recreate waits until the old pods have ended. ReadWriteOncePod is kept by the scheduler, a PersistentVolume of iSCSI, FC
or attached CSI by the attach/detach controller, a StatefulSet makes no second pod of a name. What is behind a claim is
known when its PersistentVolume comes in the same files, by spec.volumeName or its claimRef: of others nothing is said.
NFS and Azure File in the pod itself have no access mode that says that they are for one writer.

Source: pkg/controller/deployment/{rolling.go,util/deployment_util.go} (NewRSNewReplicas) at v1.36.3, and
`podrules.volumes`.
"""

from __future__ import annotations

from collections.abc import Iterator

from podrules.checks.claims import surge_of
from podrules.checks.finding import Finding
from podrules.checks.objects import Objects, PodCase
from podrules.model.storage import READ_WRITE_ONCE_POD, PersistentVolume, PersistentVolumeClaim
from podrules.model.workload import Workload
from podrules.volumes import WriterGuard, WriterLock, claimed_volumes, inline_disks, writer_guard

__all__ = ["check_writers"]


def check_writers(case: PodCase, objects: Objects) -> Iterator[Finding]:
    """All that is told of a Deployment's volumes."""
    content = case.owner.content
    if case.owner.kind != "Deployment" or not isinstance(content, Workload) or case.replicas == 0:
        return
    if content.spec.strategy.type == "Recreate":
        return
    why = "Surge" if surge_of(content.spec.strategy, case.replicas or 1) else "Stopping"
    places = {volume.name: index for index, volume in enumerate(case.pod.spec.volumes)}
    for guard in (*_guards(case, objects), *inline_disks(case.pod)):
        if guard.lock is WriterLock.NONE:
            what = ", ".join(filter(None, (guard.backend, *guard.access_modes)))
            field = f"spec.volumes[{places[guard.volume]}]"
            yield case.finding("two-writers", field, why=why, volume=guard.volume, what=what)


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
    """False of a CSI driver that says that it attaches nothing; None: not known."""
    driver = objects.drivers.get(volume.spec.csi.driver) if volume.spec.csi is not None else None
    return False if driver is not None and driver.spec.attach_required is False else None
