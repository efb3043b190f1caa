"""Claims that are made for one writer, and pods that share them.

    invalid-access-modes      refused: ReadWriteOncePod beside another mode
    claim-for-one             several replicas of one claim: with ReadWriteOnce all run on one node, with
                              ReadWriteOncePod only one runs
    rollout-waits-for-claim   a rolling update that starts the new pod first, while the old one holds a
                              ReadWriteOncePod claim: the new one finds no node, and the old one is not ended before
                                  surge = ceil(maxSurge), unavailable = floor(maxUnavailable), both 25% by default

Source: pkg/apis/core/validation/validation.go (ValidatePersistentVolumeClaimSpec),
pkg/scheduler/framework/plugins/volumerestrictions and pkg/controller/deployment/util/deployment_util.go
(ResolveFenceposts) at v1.36.3.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from podrules.checks.finding import Finding
from podrules.checks.objects import Objects, PodCase
from podrules.checks.scaled import scaled
from podrules.model.storage import READ_WRITE_ONCE_POD
from podrules.model.workload import UpdateStrategy, Workload

__all__ = ["check_claims", "check_shared_claims", "surge_of"]

_ONE_WRITER: Final = frozenset(("ReadWriteOnce", READ_WRITE_ONCE_POD))


def check_claims(objects: Objects) -> Iterator[Finding]:
    """All that is told of claims alone."""
    for manifest in objects.manifests:
        claim = objects.claims.get((manifest.namespace, manifest.name))
        if manifest.kind == "PersistentVolumeClaim" and claim is not None:
            modes = claim.spec.access_modes
            if READ_WRITE_ONCE_POD in modes and len(set(modes)) > 1:
                values = {"modes": ", ".join(modes)}
                yield Finding("invalid-access-modes", manifest.position, "spec.accessModes", values)


def check_shared_claims(case: PodCase, objects: Objects) -> Iterator[Finding]:
    """All that is told of pods that use a claim of the files."""
    for index, volume in enumerate(case.pod.spec.volumes):
        if volume.persistent_volume_claim is None:
            continue
        name = volume.persistent_volume_claim.claim_name
        claim = objects.claims.get((case.owner.namespace, name))
        if claim is None or not claim.spec.access_modes or not set(claim.spec.access_modes) <= _ONE_WRITER:
            continue
        mode = claim.spec.access_modes[0]
        field = f"spec.volumes[{index}].persistentVolumeClaim.claimName"
        if case.replicas is not None and case.replicas > 1:
            why = "OnePod" if mode == READ_WRITE_ONCE_POD else "OneNode"
            yield case.finding("claim-for-one", field, why=why, claim=name, mode=mode, replicas=case.replicas)
        elif mode == READ_WRITE_ONCE_POD and _starts_first(case):
            yield case.finding("rollout-waits-for-claim", field, claim=name)


def _starts_first(case: PodCase) -> bool:
    """Whether a Deployment's rollout makes a pod before it ends one (ResolveFenceposts)."""
    content = case.owner.content
    if case.owner.kind != "Deployment" or not isinstance(content, Workload) or not case.replicas:
        return False
    strategy = content.spec.strategy
    if strategy.type == "Recreate":
        return False
    rolling = strategy.rolling_update
    unavailable = "25%" if rolling is None or rolling.max_unavailable is None else rolling.max_unavailable
    return bool(surge_of(strategy, case.replicas)) and scaled(unavailable, case.replicas, up=False) == 0


def surge_of(strategy: UpdateStrategy, replicas: int) -> int | None:
    """Pods that a Deployment's rollout may make beyond its replicas; None of what is no number."""
    rolling = strategy.rolling_update
    return scaled("25%" if rolling is None or rolling.max_surge is None else rolling.max_surge, replicas, up=True)
