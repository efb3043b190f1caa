"""Which versions run in one cluster, and whose rules hold for what.

The API server admits and classifies pods, the scheduler places them, and each node's kubelet runs them. Kubernetes lets
kubelets be three minors older than the API server, so one cluster may have four versions at once.

Source: the version skew policy (kubernetes.io/releases/version-skew-policy). status.nodeInfo.kubeletVersion is the
kubelet's own word; a static pod's image names the version of a scheduler that kubeadm runs. Where the scheduler that
leads is elected by its version (KEP-4355), LeaseCandidates name the versions; who leads of them is
pickBestLeaderOldestEmulationVersion in pkg/controlplane/controller/leaderelection/election.go at v1.37.1.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from enum import Enum
from functools import cache
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from podrules.api.features import CHANGES, GATES, OLDEST_VERIFIED, REFERENCE, Change, Features, minor_of
from podrules.api.model.kubelet import KubeletConfiguration, KubeletFile
from podrules.api.model.node import LeaseCandidate, Node
from podrules.api.model.pod import Pod
from podrules.pod.platform import Platform, node_platform

__all__ = [
    "GATE_FIELDS",
    "KUBELET_RULES",
    "NOTHING_TOLD",
    "RULES_OF_ALL",
    "SCHEDULER_NAMESPACE",
    "Component",
    "Release",
    "Told",
    "VersionNote",
    "Versions",
    "concerns",
    "leading_scheduler",
    "static_versions",
    "version_notes",
]

_COMPONENT_LABEL: Final = "component"
"""On the static pods of kubeadm (cmd/kubeadm/app/util/staticpod/utils.go, ComponentPod)."""
SCHEDULER_NAMESPACE: Final = "kube-system"
"""The namespace of those pods, and of the schedulers' LeaseCandidates."""
_SCHEDULER_LEASE: Final = "kube-scheduler"
"""The Lease of the scheduler that leads, by default."""
_SEMVER: Final = re.compile(r"v?([0-9]{1,9})\.([0-9]{1,9})(?:\.([0-9]{1,9}))?", re.ASCII)


GATE_FIELDS: Final[Mapping[str, str]] = {change.gate: field for field, change in GATES.items()}
"""The field of `Features` for each gate that some rule reads, by the gate's name."""


KUBELET_RULES: Final = frozenset({"OOM score", "Cgroups", "Eviction"})
"""Rules by which kubelets alone go."""
RULES_OF_ALL: Final = frozenset({"QoS class", "Pod-level resources", "Requests"})
"""Rules by which several components go. All other rules are the scheduler's plugins."""


class Component(Enum):
    """A component with a version."""

    API_SERVER = "kube-apiserver"
    SCHEDULER = "kube-scheduler"
    KUBELET = "kubelet"


class Told(Struct, frozen=True):
    """What the user says of the cluster, because the cluster does not."""

    version: str | None = None
    """Of API server and scheduler: ``1.35``; None: they are asked."""
    gates: tuple[tuple[str, bool], ...] = ()
    """Fields of `Features`, and whether that gate is on, in every component."""
    kubelet: KubeletFile | None = None
    """The configuration of every kubelet; None: each is asked."""


NOTHING_TOLD: Final = Told()


class Release(Struct, frozen=True, rename="camel"):
    """The version of one component of the control plane."""

    version: str
    """``v1.37.1``"""
    emulates: str = ""
    """The version whose defaults of gates it has: ``1.36``; empty: its own."""

    @property
    def minor(self) -> int | None:
        """The minor of its own version; None: that is no version."""
        return minor_of(self.version)

    @property
    def emulated(self) -> int | None:
        """The minor that it emulates; None: none but its own."""
        found = minor_of(self.emulates)
        return None if found == self.minor else found


class Versions(Struct, frozen=True, kw_only=True):
    """The rules that hold in one cluster."""

    api_server: Features = REFERENCE
    """For classes, defaults and admission."""
    scheduler: Features = REFERENCE
    """For requests and placements."""
    server_version: str | None = None
    """The API server's version; None: it is not known, and the reference counts."""
    scheduler_version: str | None = None
    """The scheduler's version; None: it is not known, and the API server's counts."""
    schedulers: tuple[str, ...] = ()
    """The versions that were seen, if nobody knows which of them leads."""
    told: Told = NOTHING_TOLD
    kubelets: int | None = None
    """The minor of every kubelet; None: each node's own."""
    newest_kubelet: str = ""
    """The version whose rules hold for a control plane of an unknown version; empty: another one's do."""

    @classmethod
    def of(
        cls,
        server: str | None,
        schedulers: Iterable[Release] = (),
        told: Told = NOTHING_TOLD,
        kubelets: Iterable[str] = (),
        *,
        emulates: str = "",
    ) -> Versions:
        """The rules of a cluster.

        Args:
            server: ``gitVersion`` of the API server; None: it is not known.
            schedulers: The versions of its schedulers, as far as they are known. Where they differ, nobody knows which
                one leads, and the API server's counts.
            told: What the user says; that version counts for both.
            kubelets: Their versions. The newest of these and of the schedulers' counts where nobody knows the API
                server's, which is as new at least.
            emulates: The version that the API server emulates; empty: its own.
        """
        seen = () if told.version else tuple(one for one in schedulers if one.minor is not None)
        newest_kubelet = ""
        if told.version:
            api_server = _features(_minor(told.version), told.gates)
        elif server:
            api_server = _features(_minor(server), told.gates, Release(server, emulates).emulated)
        else:
            known = {minor: version for version in kubelets if (minor := minor_of(version)) is not None}
            newest = max((*known, *(one.minor for one in seen if one.minor is not None)), default=REFERENCE.minor)
            api_server = _features(newest, told.gates)
            newest_kubelet = known.get(newest, "")
        rules = {_features(one.minor, told.gates, one.emulated): one.version for one in seen if one.minor is not None}
        scheduler, version = next(iter(rules.items())) if len(rules) == 1 else (api_server, None)
        return cls(
            api_server=api_server,
            scheduler=scheduler,
            server_version=told.version or server,
            scheduler_version=version,
            schedulers=() if version else tuple(one.version for one in seen),
            told=told,
            newest_kubelet=newest_kubelet,
        )

    @property
    def rules_version(self) -> str:
        """The upstream version whose rules an answer goes by; placements go by the scheduler's."""
        return self.api_server.nearest_verified

    def upgraded(self, version: str) -> Versions:
        """The same cluster once every component has another version; gates that the user named stay."""
        features = _features(_minor(version), self.told.gates)
        return Versions(
            api_server=features,
            scheduler=features,
            server_version=version,
            told=self.told,
            kubelets=features.minor,
        )

    def with_gate(self, field: str, *, on: bool) -> Versions:
        """The same cluster with one gate set in every component."""
        told = Told(self.told.version, tuple(sorted({**dict(self.told.gates), field: on}.items())))
        return replace(
            self,
            api_server=_features(self.api_server.minor, told.gates, self.api_server.emulated),
            scheduler=_features(self.scheduler.minor, told.gates, self.scheduler.emulated),
            told=told,
        )

    def kubelet(self, node: Node | None, config: KubeletConfiguration | None = None) -> Features:
        """The rules of the kubelet of a node; those of the API server's version, where no node says.

        Args:
            node: None: it is not known.
            config: The kubelet's own configuration, whose gates count first; None: it was not read.
        """
        minor = self.kubelets
        if minor is None and node is not None:
            minor = minor_of(node.status.node_info.kubelet_version)
        set_there = {} if config is None else config.feature_gates
        own = {GATE_FIELDS[name]: on for name, on in set_there.items() if name in GATE_FIELDS}
        if minor is None and not own:
            return self.api_server
        gates = tuple(sorted({**dict(self.told.gates), **own}.items())) if own else self.told.gates
        return _features(self.api_server.minor if minor is None else minor, gates)


class VersionNote(Struct, frozen=True, rename="camel"):
    """A version that the rules were not held against, and what is known to differ."""

    component: Component
    version: str
    """As it says itself."""
    nodes: tuple[str, ...]
    """For kubelets: where they run; empty: it is the newest, and the control plane's version is not known."""
    nearest: str
    """The upstream version whose code the rules were held against."""
    without: tuple[str, ...]
    """What that version added, and the rules leave out here: effects in `CHANGES`. Older versions differ further."""


def version_notes(versions: Versions, nodes: Sequence[Node] = ()) -> tuple[VersionNote, ...]:
    """Which versions of a cluster the rules were not held against; of kubelets, those of the nodes of the answer."""
    notes = []
    apart = versions.scheduler.minor != versions.api_server.minor
    if versions.server_version is not None and not versions.api_server.verified:
        # What the scheduler lacks is named with it, unless that is of another minor.
        also = () if apart else (Component.SCHEDULER,)
        notes.append(_note(Component.API_SERVER, versions.server_version, versions.api_server, also=also))
    alone = apart or versions.server_version is None
    if alone and versions.scheduler_version is not None and not versions.scheduler.verified:
        notes.append(_note(Component.SCHEDULER, versions.scheduler_version, versions.scheduler))
    unnamed = "" if notes or versions.api_server.verified else versions.newest_kubelet
    by_version: dict[str, list[str]] = {unnamed: []} if unnamed else {}
    for node in nodes:
        version = node.status.node_info.kubelet_version
        judged = versions.kubelet(node).verified and (not version or minor_of(version) is not None)
        if not judged and node_platform(node) is not Platform.VIRTUAL_KUBELET:
            by_version.setdefault(version, []).append(node.metadata.name)
    for version, names in sorted(by_version.items()):
        minor = minor_of(version)
        features = versions.api_server if minor is None else _features(minor, ())
        also = (Component.SCHEDULER,) if version == unnamed else ()
        notes.append(_note(Component.KUBELET, version, features, tuple(names), also))
    return tuple(notes)


def _note(
    component: Component,
    version: str,
    features: Features,
    nodes: tuple[str, ...] = (),
    also: tuple[Component, ...] = (),
) -> VersionNote:
    without = tuple(
        f"{change.rule}: {change.effect}"
        for change in CHANGES.values()
        if features.minor < change.since <= OLDEST_VERIFIED and any(concerns(change, one) for one in (component, *also))
    )
    return VersionNote(component, version, nodes, features.nearest_verified, without)


def concerns(change: Change, component: Component) -> bool:
    """Whether a component goes by a rule; the scheduler by all that is no other component's alone."""
    if component is Component.SCHEDULER:
        return change.rule not in KUBELET_RULES
    return change.rule in (KUBELET_RULES | RULES_OF_ALL if component is Component.KUBELET else RULES_OF_ALL)


def static_versions(pods: Iterable[Pod], component: Component) -> tuple[str, ...]:
    """The versions of a component that runs as static pods of kubeadm, by the tags of their images."""
    return tuple(
        sorted(
            {
                tag
                for pod in pods
                if pod.metadata.namespace == SCHEDULER_NAMESPACE
                and pod.metadata.labels.get(_COMPONENT_LABEL) == component.value
                for container in pod.spec.containers
                if (tag := container.image.partition("@")[0].rpartition(":")[2]) and minor_of(tag) is not None
            }
        )
    )


def leading_scheduler(candidates: Iterable[LeaseCandidate]) -> Release | None:
    """The scheduler that leads; None: no LeaseCandidate tells.

    The one that emulates the oldest version leads, of several the oldest one.
    """
    found = [
        (emulated, binary, one.metadata.creation_timestamp or "", one.spec.binary_version, one.spec.emulation_version)
        for one in candidates
        if one.metadata.namespace == SCHEDULER_NAMESPACE
        and one.spec.lease_name == _SCHEDULER_LEASE
        and (binary := _semver(one.spec.binary_version)) is not None
        and (emulated := _semver(one.spec.emulation_version)) is not None
    ]
    if not found:
        return None
    *_, version, emulates = min(found)
    return Release(f"v{version.removeprefix('v')}", emulates)


def _semver(text: str) -> tuple[int, ...] | None:
    """Major, minor and patch, which may be missing."""
    found = _SEMVER.match(text)
    return None if found is None else tuple(int(part or 0) for part in found.groups())


def _minor(version: str | None) -> int:
    found = minor_of(version) if version else None
    return REFERENCE.minor if found is None else found


@cache
def _features(minor: int, gates: tuple[tuple[str, bool], ...], emulated: int | None = None) -> Features:
    """The rules of a minor, with the gates that it lets its owner set."""
    whose = minor if emulated is None else emulated
    can_be_set = {field: on for field, on in gates if GATES[field].can_be_set(whose)}
    return Features.of_minor(minor, can_be_set, emulated=emulated)
