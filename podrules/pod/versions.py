"""The versions that run in one cluster, and which component's version decides each rule.

The API server admits and classifies pods, the scheduler places them, and each node's kubelet runs them. Kubernetes
allows kubelets to be three minors older than the API server, so one cluster may have four versions at once.

Source: the version skew policy (kubernetes.io/releases/version-skew-policy). The kubelet writes
status.nodeInfo.kubeletVersion; a static pod's image names the version of a scheduler that kubeadm runs. If the leading
scheduler is elected by its version (KEP-4355), LeaseCandidates name the versions;
pickBestLeaderOldestEmulationVersion in pkg/controlplane/controller/leaderelection/election.go at v1.37.1 chooses the
leader.
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

_COMPONENT_LABEL: Final = "component"
"""The label of the static pods of kubeadm (cmd/kubeadm/app/util/staticpod/utils.go, ComponentPod)."""
SCHEDULER_NAMESPACE: Final = "kube-system"
"""The namespace of those pods, and of the schedulers' LeaseCandidates."""
_SCHEDULER_LEASE: Final = "kube-scheduler"
"""The default Lease of the leading scheduler."""
_SEMVER: Final = r"v?([0-9]{1,9})\.([0-9]{1,9})(?:\.([0-9]{1,9}))?"


GATE_FIELDS: Final[Mapping[str, str]] = {change.gate: field for field, change in GATES.items()}
"""The field of `Features` for each gate that a rule reads, by the gate's name."""


KUBELET_RULES: Final = frozenset({"OOM score", "Cgroups", "Eviction"})
"""The rules of kubelets only."""
RULES_OF_ALL: Final = frozenset({"QoS class", "Pod-level resources", "Requests"})
"""The rules of several components. All other rules are the scheduler's plugins."""


class Component(Enum):
    """A component with a version."""

    API_SERVER = "kube-apiserver"
    SCHEDULER = "kube-scheduler"
    KUBELET = "kubelet"


class StatedFacts(Struct, frozen=True):
    """What the user states about the cluster because the cluster does not report it."""

    version: str | None = None
    """The version of API server and scheduler: ``1.35``; None: it is read from them."""
    gates: tuple[tuple[str, bool], ...] = ()
    """Fields of `Features`, and whether their gate is on, in every component."""
    kubelet: KubeletFile | None = None
    """The configuration of every kubelet; None: it is read from each."""


NOTHING_STATED: Final = StatedFacts()


class Release(Struct, frozen=True, rename="camel"):
    """The version of one component of the control plane."""

    version: str
    """``v1.37.1``"""
    emulates: str = ""
    """The version that sets its defaults of gates: ``1.36``; empty: its own."""

    @property
    def minor(self) -> int | None:
        """The minor of its own version; None: that is not a version."""
        return minor_of(self.version)

    @property
    def emulated(self) -> int | None:
        """The minor that it emulates; None: its own."""
        found = minor_of(self.emulates)
        return None if found == self.minor else found


class Versions(Struct, frozen=True, kw_only=True):
    """The rules of one cluster."""

    api_server: Features = REFERENCE
    """The rules for classes, defaults and admission."""
    scheduler: Features = REFERENCE
    """The rules for requests and placements."""
    server_version: str | None = None
    """The API server's version; None: it is not known, and the reference version is used."""
    scheduler_version: str | None = None
    """The scheduler's version; None: it is not known, and the API server's is used."""
    schedulers: tuple[str, ...] = ()
    """The scheduler versions that were found, if the leading one is not known."""
    stated: StatedFacts = NOTHING_STATED
    kubelets: int | None = None
    """The minor of every kubelet; None: that of each node."""
    newest_kubelet: str = ""
    """The kubelet version that stands in for an unknown control plane's version; empty: not used."""

    @classmethod
    def of(
        cls,
        server: str | None,
        schedulers: Iterable[Release] = (),
        stated: StatedFacts = NOTHING_STATED,
        kubelets: Iterable[str] = (),
        *,
        emulates: str = "",
    ) -> Versions:
        """The rules of a cluster.

        Args:
            server: ``gitVersion`` of the API server; None: it is not known.
            schedulers: The known versions of its schedulers. If they differ, the leading one is not known, and the API
                server's version is used.
            stated: What the user states; that version is used for both.
            kubelets: Their versions. The newest of these and of the schedulers' is used if the API server's version
                is not known: that is at least as new.
            emulates: The version that the API server emulates; empty: its own.
        """
        seen = () if stated.version else tuple(one for one in schedulers if one.minor is not None)
        newest_kubelet = ""
        if stated.version:
            api_server = _features(_minor(stated.version), stated.gates)
        elif server:
            api_server = _features(_minor(server), stated.gates, Release(server, emulates).emulated)
        else:
            known = {minor: version for version in kubelets if (minor := minor_of(version)) is not None}
            newest = max((*known, *(one.minor for one in seen if one.minor is not None)), default=REFERENCE.minor)
            api_server = _features(newest, stated.gates)
            newest_kubelet = known.get(newest, "")
        rules = {_features(one.minor, stated.gates, one.emulated): one.version for one in seen if one.minor is not None}
        scheduler, version = next(iter(rules.items())) if len(rules) == 1 else (api_server, None)
        return cls(
            api_server=api_server,
            scheduler=scheduler,
            server_version=stated.version or server,
            scheduler_version=version,
            schedulers=() if version else tuple(one.version for one in seen),
            stated=stated,
            newest_kubelet=newest_kubelet,
        )

    @property
    def rules_version(self) -> str:
        """The upstream version that an answer uses; placements use the scheduler's."""
        return self.api_server.nearest_verified

    def upgraded(self, version: str) -> Versions:
        """The same cluster with another version of every component; the gates that the user named stay."""
        features = _features(_minor(version), self.stated.gates)
        return Versions(
            api_server=features,
            scheduler=features,
            server_version=version,
            stated=self.stated,
            kubelets=features.minor,
        )

    def with_gate(self, field: str, *, on: bool) -> Versions:
        """The same cluster with one gate set in every component."""
        stated = StatedFacts(self.stated.version, tuple(sorted({**dict(self.stated.gates), field: on}.items())))
        return replace(
            self,
            api_server=_features(self.api_server.minor, stated.gates, self.api_server.emulated),
            scheduler=_features(self.scheduler.minor, stated.gates, self.scheduler.emulated),
            stated=stated,
        )

    def kubelet(self, node: Node | None, config: KubeletConfiguration | None = None) -> Features:
        """The rules of a node's kubelet; those of the API server's version if the kubelet's is not known.

        Args:
            node: The node; None: it is not known.
            config: The kubelet's own configuration; its gates take precedence. None: it was not read.
        """
        minor = self.kubelets
        if minor is None and node is not None:
            minor = minor_of(node.status.node_info.kubelet_version)
        set_there = {} if config is None else config.feature_gates
        own = {GATE_FIELDS[name]: on for name, on in set_there.items() if name in GATE_FIELDS}
        if minor is None and not own:
            return self.api_server
        gates = tuple(sorted({**dict(self.stated.gates), **own}.items())) if own else self.stated.gates
        return _features(self.api_server.minor if minor is None else minor, gates)


class VersionNote(Struct, frozen=True, rename="camel"):
    """A version for which the rules were not verified, and the known differences."""

    component: Component
    version: str
    """The version that the component reports."""
    nodes: tuple[str, ...]
    """For kubelets: their nodes; empty: it is the newest kubelet, and the control plane's version is not known."""
    nearest: str
    """The upstream version with which the rules were verified."""
    without: tuple[str, ...]
    """What the nearest version added, and the rules leave out: effects in `CHANGES`. Older versions differ further."""


def version_notes(versions: Versions, nodes: Sequence[Node] = ()) -> tuple[VersionNote, ...]:
    """The versions of a cluster for which the rules were not verified; for kubelets, those of the answer's nodes."""
    notes = []
    apart = versions.scheduler.minor != versions.api_server.minor
    if versions.server_version is not None and not versions.api_server.verified:
        # The note includes the scheduler's differences, unless it has another minor.
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
    """Whether a component uses a rule; the scheduler uses all except those of kubelets only."""
    if component is Component.SCHEDULER:
        return change.rule not in KUBELET_RULES
    return change.rule in (KUBELET_RULES | RULES_OF_ALL if component is Component.KUBELET else RULES_OF_ALL)


def static_versions(pods: Iterable[Pod], component: Component) -> tuple[str, ...]:
    """The versions of a component that kubeadm runs as static pods, by the tags of their images."""
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
    """The leading scheduler; None: no LeaseCandidate shows it.

    The one that emulates the oldest version leads; among equals, the oldest one.
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
    """Major, minor and patch; patch may be missing."""
    found = re.match(_SEMVER, text)
    return None if found is None else tuple(int(part or 0) for part in found.groups())


def _minor(version: str | None) -> int:
    found = minor_of(version) if version else None
    return REFERENCE.minor if found is None else found


@cache
def _features(minor: int, gates: tuple[tuple[str, bool], ...], emulated: int | None = None) -> Features:
    """The rules of a minor, with the gates that can be set in it."""
    gates_minor = minor if emulated is None else emulated
    can_be_set = {field: on for field, on in gates if GATES[field].can_be_set(gates_minor)}
    return Features.of_minor(minor, can_be_set, emulated=emulated)
