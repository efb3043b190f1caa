"""Volumes: claims for one writer, pods that share them or bypass the scheduler that binds them, and second writers.

The rule of second writers is that of `podrules.ending.volumes`, for Deployments with strategy RollingUpdate. The
PersistentVolume of a claim is known only if the same files contain it, by spec.volumeName or its claimRef, or contain
its StorageClass with a provisioner that is for NFS by its name; other claims are skipped.

Source: pkg/apis/core/validation/validation.go (ValidatePersistentVolumeClaimSpec),
pkg/scheduler/framework/plugins/volumerestrictions, pkg/controller/volume/persistentvolume/pv_controller.go and
pkg/controller/deployment/util/deployment_util.go (ResolveFenceposts) at v1.36.3; for second writers as in
`podrules.ending.volumes`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from podrules.api.controllers import scaled
from podrules.api.model.storage import READ_WRITE_ONCE_POD, PersistentVolumeClaim
from podrules.api.model.workload import Workload
from podrules.ending.volumes import WriterLock, coming_guards, second_writers, surge_of, volume_of
from podrules.lint.finding import Finding, Level, LintRule
from podrules.lint.objects import Objects, PodCase

_WAITS: Final = "WaitForFirstConsumer"
_ONE_WRITER: Final = frozenset(("ReadWriteOnce", READ_WRITE_ONCE_POD))


def check_shared_claims(objects: Objects) -> Iterator[Finding]:
    """Every finding in pods that use a claim in the files."""
    for case in objects.cases:
        for index, volume in enumerate(case.pod.spec.volumes):
            if volume.persistent_volume_claim is None:
                continue
            name = volume.persistent_volume_claim.claim_name
            claim = objects.claims.get((case.owner.namespace, name))
            if claim is None or not claim.spec.access_modes or not set(claim.spec.access_modes) <= _ONE_WRITER:
                continue
            mode = claim.spec.access_modes[0]
            place = case.at(f"spec.volumes[{index}].persistentVolumeClaim.claimName")
            if case.replicas is not None and case.replicas > 1:
                yield ClaimForOne(*place, name, mode, case.replicas)
            elif mode == READ_WRITE_ONCE_POD and _starts_first(case):
                yield RolloutWaitsForClaim(*place, name)


def check_node_names(objects: Objects) -> Iterator[Finding]:
    """Every finding in claims of pods with ``spec.nodeName``."""
    for case in objects.cases:
        if not case.pod.spec.node_name:
            continue
        # By name, or by the name in their template; None: no file contains the claim.
        claims: list[tuple[str, PersistentVolumeClaim | None]] = []
        if isinstance(case.owner.content, Workload):
            claims += [(claim.metadata.name, claim) for claim in case.owner.content.spec.volume_claim_templates]
        for volume in case.pod.spec.volumes:
            if volume.persistent_volume_claim is not None:
                name = volume.persistent_volume_claim.claim_name
                claims.append((name, objects.claims.get((case.owner.namespace, name))))
            elif volume.ephemeral is not None and volume.ephemeral.volume_claim_template is not None:
                claims.append((volume.name, PersistentVolumeClaim(spec=volume.ephemeral.volume_claim_template.spec)))
        for name, claim in claims:
            bound = claim is not None and claim.spec.volume_name
            named = "" if claim is None else claim.spec.storage_class_name or ""
            found = objects.storage_classes.get(named)
            waits = found is None or found.volume_binding_mode == _WAITS
            if waits and not bound and (case.owner.namespace, name) not in objects.reserved:
                yield ClaimNeedsScheduler(*case.at("spec.nodeName"), name, "" if found is None else named)


def _starts_first(case: PodCase) -> bool:
    """Whether a Deployment's rollout creates a pod before it deletes one (ResolveFenceposts).

    The surge is rounded up, the number of unavailable pods down; both are 25% by default.
    """
    content = case.owner.content
    if case.owner.kind != "Deployment" or not isinstance(content, Workload) or not case.replicas:
        return False
    strategy = content.spec.strategy
    if strategy.type == "Recreate":
        return False
    rolling = strategy.rolling_update
    unavailable = "25%" if rolling is None or rolling.max_unavailable is None else rolling.max_unavailable
    return bool(surge_of(strategy, case.replicas)) and scaled(unavailable, case.replicas, up=False) == 0


class RolloutWaitsForClaim(Finding, frozen=True):
    """The rollout creates the new pod first, which finds no node while the old pod uses the claim."""

    rule = LintRule(
        name="rollout-waits-for-claim",
        level=Level.WARNING,
        about="A rolling update starts the new pod while the old one uses a ReadWriteOncePod claim.",
        remedy="Set strategy.type: Recreate, or maxSurge: 0 with maxUnavailable: 1.",
        source="pkg/scheduler/framework/plugins/volumerestrictions",
        term="ReadWriteOncePod",
        check_objects=check_shared_claims,
    )
    claim: str

    def __str__(self) -> str:
        return (
            f"Claim {self.claim} is ReadWriteOncePod: a rollout's new pod waits for the old one, "
            "which stays until the new one is ready."
        )


class ClaimNeedsScheduler(Finding, frozen=True):
    """The claim waits for the scheduler to choose a node, but the pod bypasses it: its containers never start."""

    rule = LintRule(
        name="claim-needs-scheduler",
        level=Level.WARNING,
        about="A pod with spec.nodeName uses a claim that only the scheduler binds.",
        remedy="Replace spec.nodeName with nodeSelector kubernetes.io/hostname.",
        source="pkg/controller/volume/persistentvolume/pv_controller.go",
        term="WaitForFirstConsumer",
        check_objects=check_node_names,
    )
    claim: str
    storage_class: str
    """The name of its StorageClass; empty: no file contains it."""

    def __str__(self) -> str:
        waits = "waits for the scheduler (WaitForFirstConsumer)"
        if self.storage_class:
            return f"Claim {self.claim} stays unbound: its StorageClass {self.storage_class} {waits}."
        return f"Claim {self.claim} stays unbound if its StorageClass {waits}."


class ClaimForOne(Finding, frozen=True):
    """With ReadWriteOnce all replicas run on one node; with ReadWriteOncePod only one runs."""

    rule = LintRule(
        name="claim-for-one",
        level=Level.WARNING,
        about="Several replicas use one claim for a single writer.",
        remedy="Use a StatefulSet with volumeClaimTemplates, or a ReadWriteMany claim.",
        source="kubernetes.io/docs: Access Modes; plugins/volumerestrictions",
        term="ReadWriteOncePod",
        check_objects=check_shared_claims,
    )
    claim: str
    mode: str
    replicas: int

    def __str__(self) -> str:
        if self.mode == READ_WRITE_ONCE_POD:
            return f"Only one of {self.replicas} replicas can use claim {self.claim} ({self.mode})."
        return f"All {self.replicas} replicas must be on one node: claim {self.claim} is {self.mode}."


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
