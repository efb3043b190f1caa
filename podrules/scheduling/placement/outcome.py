"""The answer to "where would the scheduler put this pod, and why not elsewhere". Only data: it loads no arrays."""

from __future__ import annotations

import re
from collections.abc import Mapping
from enum import Enum
from typing import Final

from msgspec import Struct, field

from podrules.api.model.pod import PodReference
from podrules.pod.reading import UnreadInput
from podrules.scheduling.placement.preemption_victims import NominatedNode, PreemptionPreview
from podrules.scheduling.scheduler.framework.answers import CandidateChange, Fact
from podrules.scheduling.scheduler.plugins.pod_topology_spread.constraints import SpreadDomain, SpreadTerm
from podrules.scheduling.scheduler.queue import QueuePosition

_OF_NODES: Final = r"0/\d+ nodes |no nodes "
"""How kube-scheduler's message begins that is about nodes."""


class PlacementOutcome(Enum):
    """The result of the cycle."""

    FITS = "Fits"
    UNSCHEDULABLE = "Unschedulable"
    HELD = "Held"
    """It is not queued (PreEnqueue)."""
    UNKNOWN = "Unknown"
    """The rules cannot decide: something could not be read, or is not restated here."""
    NAMED = "Named"
    """It names its node itself: no scheduler handles it."""
    NOT_MODELLED = "NotModelled"
    """It belongs to a group, or to a scheduler that is not kube-scheduler: judged alone it would be judged wrongly."""


class ClaimTrouble(Enum):
    """Why a claim cannot be used on any node."""

    MISSING = "Missing"
    NOT_MADE_YET = "NotMadeYet"
    """The claim of an ephemeral volume: kube-controller-manager makes it."""
    LOST = "Lost"
    """The volume that it was bound to is gone."""
    BEING_DELETED = "BeingDeleted"
    NOT_OWNED = "NotOwned"
    """It has the name of an ephemeral volume's claim, and is not this pod's."""
    VOLUME_MISSING = "VolumeMissing"
    """It names a PersistentVolume that does not exist."""
    VOLUME_TAKEN = "VolumeTaken"
    """It names a PersistentVolume that is another claim's."""
    VOLUME_MISMATCH = "VolumeMismatch"
    """It names a PersistentVolume that kube-controller-manager does not bind it to."""
    CLASS_MISSING = "ClassMissing"
    """Unbound: no volume matches, and its StorageClass does not exist."""
    NO_CLASS = "NoClass"
    """Unbound: no volume matches, it names no class, and there is no default."""
    NO_VOLUME = "NoVolume"
    """Unbound: no volume matches, and its class has no provisioner."""
    NO_BINDING_MODE = "NoBindingMode"
    """Unbound: its StorageClass has no volumeBindingMode."""
    SELECTED_NODE_REMOVED = "SelectedNodeGone"
    """Unbound: a node was selected for it, and does not exist."""
    NEEDS_SCHEDULER = "NeedsScheduler"
    """Unbound: its class waits for a pod that the scheduler places, and spec.nodeName passes the scheduler over."""
    WAITS_FOR_CLASS = "WaitsForClass"
    """Unbound and without a class: it is given the default one."""
    WAITS_FOR_VOLUME = "WaitsForVolume"
    """Unbound: a volume for it exists, and is to be bound."""
    WAITS_FOR_PROVISIONER = "WaitsForProvisioner"
    """Unbound: its class makes volumes, and has not made this one."""
    WAITS_FOR_DEVICE = "WaitsForDevice"
    """Of devices: a binding condition of one that is allocated is not true."""


class VolumePlace(Struct, frozen=True, kw_only=True, rename="camel"):
    """A volume of the pod, there or to be made, that only some nodes can use."""

    claim: str
    volume: str
    """Empty: none yet. The claim's StorageClass makes one where its allowedTopologies lets it."""
    size: str
    phase: str
    """The volume's, else the claim's."""
    kind: str
    """What it is stored on: ``ebs.csi.aws.com``, ``local``; else the provisioner."""
    labels: dict[str, tuple[str, ...]]
    """The labels that a node needs, with their values; empty: they are asked for in another form."""
    hostnames: dict[str, str] = {}
    """The labels kubernetes.io/hostname of nodes that have the wanted one as their name."""
    nodes: tuple[str, ...] = ()
    """Some nodes that can use it."""
    count: int = 0
    """How many can."""
    reasons: tuple[str, ...] = ()
    """If one can: why that rejects the pod."""
    lacking: tuple[str, ...] = ()
    """If none can: some nodes of its zone or region, by Kubernetes' own labels, that lack only the volume's label."""
    apart: str = ""
    """Another volume of the pod with which it has no node in common, though each of the two has some."""


class ClaimProblem(Struct, frozen=True, kw_only=True, rename="camel"):
    """A claim of the pod that keeps it from every node."""

    trouble: ClaimTrouble
    namespace: str
    claim: str
    field: str
    """The pod's field: ``spec.volumes[0].persistentVolumeClaim.claimName``, ``spec.volumes[0].ephemeral``."""
    volume: str = ""
    """The PersistentVolume that it names, or that is there for it."""
    storage_class: str = ""
    """The one that it names or is given; empty: none."""
    provisioner: str = ""
    """Of that class."""
    wanted: tuple[str, ...] = ()
    """What it asks of a volume: the size and the access modes."""
    classes: tuple[str, ...] = ()
    """For one with a class that does not exist: some existing StorageClasses, the default first."""
    near: tuple[VolumePlace, ...] = ()
    """For one that no volume matches: some volumes of its class, those that are not bound first."""
    unlike: Mapping[str, tuple[str, str]] = {}
    """For one that does not match the volume that it names: by field what it has and what the claim asks for."""
    failed: tuple[str, ...] = ()
    """Of devices: the binding failure conditions that are True; any ends the binding at once."""
    messages: Mapping[str, str] = {}
    """Of devices: what the driver says of these conditions."""
    users: tuple[PodReference, ...] = ()
    """For one that is being deleted: pods on nodes that use it, also finished ones; it is kept until they are gone."""
    selected_node: str = ""
    hostname: str = ""
    """For one that needs the scheduler: the label kubernetes.io/hostname of the pod's node; empty: it has none."""


class BindingStage(Enum):
    """Why a pod is not bound to the node that is chosen for it."""

    VOLUMES = "Volumes"
    DEVICES = "Devices"
    PERMIT = "Permit"
    """A plugin of the profile that is not kube-scheduler's own may let it wait."""
    FAILED = "Failed"
    """An attempt failed: the scheduler has still to try again."""
    UNKNOWN = "Unknown"


class Binding(Struct, frozen=True, kw_only=True, rename="camel"):
    """Why a pod is not bound yet to the node that the scheduler has chosen."""

    stage: BindingStage
    node: str
    """Empty: none is chosen any more."""
    claims: tuple[ClaimProblem, ...]
    timeout_seconds: int
    """The scheduler waits so long for these, then it tries again."""
    error: str
    """Why an attempt failed."""
    late: bool
    """Whether an attempt waited for the claims without success, or the pod has waited for 5 min."""
    missing: str
    """``CSIDriver``: none has the provisioner's name; ``CSINode``: that of the node does not list it."""


class SoftSpreadScore(Struct, frozen=True, rename="camel"):
    """PodTopologySpread's score of a node in its terms."""

    terms: tuple[SpreadTerm, ...]
    """Empty for a node that lacks a key that it needs: it gets 0."""
    raw: int
    """Their sum, rounded; the fewer the better."""
    normalized: int
    """Of 100, among the nodes that fit."""
    weight: int
    """The plugin's, by which that is multiplied."""


class NormalizedValue(Struct, frozen=True, rename="camel"):
    """A score as a plugin gives it, and what NormalizeScore makes of it."""

    raw: int
    score: int
    """Of 100, before the plugin's weight."""
    node: str
    """One that has it."""
    nodes: int
    """How many have it."""


class NormalizedScores(Struct, frozen=True, rename="camel"):
    """The scores of a plugin that brings them to 0 to 100, where nodes differ."""

    plugin: str
    formula: str
    """The result is cut to a whole number, unlike the raw score of PodTopologySpread: that is rounded."""
    most: int
    least: int
    values: tuple[NormalizedValue, ...]
    """The best first."""
    before: str = ""
    """The version before which it held; empty: today's."""


class NodeScore(Struct, frozen=True, rename="camel"):
    """A node that fits."""

    node: str
    total: int
    plugins: dict[str, int]
    """Weighted score of each plugin that had something to say, by name; they add up to the total."""
    soft_spread: SoftSpreadScore | None = None
    """For a pod with ScheduleAnyway constraints, its own or default ones."""


class RejectedNode(Struct, frozen=True, rename="camel"):
    """A node that does not fit."""

    node: str
    facts: tuple[Fact, ...]
    also: tuple[str, ...]
    """Further plugins that reject it too; the scheduler stops at the first.

    TaintToleration is left out for a cordoned node if the cordon's own taint is its only reason: uncordoning takes
    that away.
    """


class Remedy(Struct, frozen=True, rename="camel"):
    """Changes that together let the pod onto a node: the cycle was run again with them."""

    changes: tuple[CandidateChange, ...]
    node: str
    """The best node then; for changes to a node that node."""
    feasible: int
    """How many nodes fit then."""
    cost: int
    """The smaller the cheaper; it means nothing beyond that order."""
    helped: int | None = None
    """How many of the replicas that wait have a node then; None: one waits, or the number is not known."""
    waiting: int = 1
    """How many replicas wait."""


class RejectedGroup(Struct, frozen=True, rename="camel"):
    """Nodes that one plugin rejects for the same reasons."""

    plugin: str
    reasons: tuple[str, ...]
    """The reasons in upstream's words."""
    count: int
    alone: int
    """How many of them nothing else rejects."""
    preemption_may_help: bool
    nodes: tuple[RejectedNode, ...]
    """The nearest to fit comes first; all of them where every node was asked for, else that one."""
    remedy: Remedy | None
    """The cheapest that was found, for a pod that fits nowhere; None: nothing that these rules know of helps."""
    silent: tuple[str, ...] = ()
    """Of TaintToleration's, the nodes that do not answer and have the taint node.kubernetes.io/unreachable."""
    keys: tuple[str, ...] = ()
    """Of labels that the topology spread or the affinity needs and each of these nodes lacks; of TaintToleration's, of
    taints that each has, but for those that are silent."""
    softened: Remedy | None = None
    """For constraints that conflict: one of them becomes ScheduleAnyway; None: that is the remedy, or does not help."""


class ConstraintSpread(Struct, frozen=True, rename="camel"):
    """A DoNotSchedule constraint and its domains."""

    field: str
    topology_key: str
    max_skew: int
    minimum: int
    domains: tuple[SpreadDomain, ...]
    leaves: int
    """Nodes that this constraint has nothing against."""
    min_domains: int
    """With fewer domains the minimum is 0."""
    left_out: tuple[str, ...]
    """Some values that no counted node has: they are no domains."""
    left_out_count: int
    """How many there are."""
    conflicts_with: tuple[str, ...]
    """Fields of constraints with which it leaves no node, though each of them alone leaves some."""


class CurrentNode(Struct, frozen=True, rename="camel"):
    """A bound pod's own node, judged as if the pod were created again."""

    node: str
    fits: bool
    plugin: str
    """Which one rejects it now."""
    reasons: tuple[str, ...]
    total: int | None
    rank: int | None
    """1: no node has a higher score."""


class ReasonCount(Struct, frozen=True, rename="camel"):
    """A reason, on how many nodes it held then, and holds now."""

    reason: str
    then: int
    now: int


class SchedulerMessage(Struct, frozen=True, rename="camel"):
    """kube-scheduler's message in the PodScheduled condition, compared with the current answer."""

    message: str
    agrees: bool
    changed: tuple[ReasonCount, ...]
    """Reasons with different numbers; empty if the message could not be read."""
    no_victims: bool = False
    """Whether it found no victims, though preemption makes room by what is known now."""


class NamedFate(Enum):
    """The fate of a pod on the node that it names."""

    RUNS = "Runs"
    REFUSED = "Refused"
    """By the kubelet: it ends as Failed."""
    SILENT = "Silent"
    """The node does not answer: it stays Pending."""
    WAITS = "Waits"
    """The kubelet takes it, and starts no container: a claim has no volume, and gets none (`Placement.claims`)."""
    NO_NODE = "NoNode"
    """Pod garbage collection deletes it."""


class NamedNode(Struct, frozen=True, rename="camel"):
    """The node of ``spec.nodeName``."""

    node: str
    fate: NamedFate
    reason: str = ""
    """For Refused: the reason that the pod's status gets."""


class Placement(Struct, frozen=True, kw_only=True, rename="camel"):
    """Where the scheduler would put a pod."""

    outcome: PlacementOutcome
    scheduler_name: str
    reason: str = ""
    """Why it is held, or why nothing is known."""
    message: str = ""
    """For Unschedulable: the sentence of kube-scheduler's FailedScheduling event, without what preemption adds."""
    nodes: int = 0
    """All of the cluster."""
    feasible: int = 0
    sampled: int | None = None
    """kube-scheduler stops looking after so many nodes that fit, and so may not see the best; None: it sees all."""
    best: tuple[str, ...] = ()
    """Nodes with the highest score: any may be chosen; a nominated node alone, if it fits."""
    silent: tuple[str, ...] = ()
    """The best nodes that do not answer: a pod is bound to them, and does not start."""
    scores: tuple[NodeScore, ...] = ()
    """Highest first; all that fit where every node was asked for, else some."""
    normalized: tuple[NormalizedScores, ...] = ()
    """How the scores of some plugins came about, where every node was asked for."""
    rejected: tuple[RejectedGroup, ...] = ()
    """Largest group first."""
    nowhere: tuple[str, ...] = ()
    """Names that pin the pod, and that no node has: ``kubernetes.io/hostname=node-7``."""
    offered_nowhere: tuple[str, ...] = ()
    """Resources that it requests and that no node has."""
    spread: tuple[ConstraintSpread, ...] = ()
    claims: tuple[ClaimProblem, ...] = ()
    """For a pod that fits nowhere: its claims that no node can use; the one that the scheduler stops at comes first.
    For one that names its node: the claims without which its kubelet starts no container."""
    volumes: tuple[VolumePlace, ...] = ()
    """For a pod that fits nowhere: its volumes that only some nodes can use."""
    named: NamedNode | None = None
    """For Named."""
    current: CurrentNode | None = None
    nominated: NominatedNode | None = None
    """Node that preemption made room on: it is tried first, and taken when it fits."""
    binding: Binding | None = None
    """What the scheduler waits for before it binds the pod to a node that it has chosen; None: nothing is known."""
    preemption: PreemptionPreview | None = None
    """For Unschedulable: the pods that it would preempt; None: the profile does not preempt."""
    preemption_disabled: str = ""
    """The field of the scheduler's profile that disables preemption; empty: it preempts."""
    queue: QueuePosition | None = None
    """None: the pod is not queued."""
    scheduler_message: SchedulerMessage | None = field(default=None, name="told")
    verified: bool = True
    """False: these rules were not verified against the server's version."""
    unknown_plugins: tuple[str, ...] = ()
    """Plugins of the profile that are not kube-scheduler's own, and are left out here."""
    extenders: tuple[str, ...] = ()
    """URLs of the scheduler's extenders, which were not asked."""
    assumed: tuple[UnreadInput, ...] = ()
    """The unread objects that may change whether it fits, or what would help: they count as absent."""
    proven: bool = True
    """Whether the outcome is certain in spite of them."""

    @property
    def is_denied(self) -> bool:
        """Whether kube-scheduler found no victims, though preemption makes room by what is known."""
        return self.scheduler_message is not None and self.scheduler_message.no_victims

    @property
    def rejected_elsewhere(self) -> bool:
        """Whether kube-scheduler rejected a pod that fits, not for its nodes: in Permit, or by an unknown plugin."""
        message = self.scheduler_message.message if self.feasible and self.scheduler_message is not None else ""
        return bool(message) and not re.match(_OF_NODES, message)

    @property
    def preempts(self) -> bool:
        """Whether the scheduler preempts pods for it, and so makes room."""
        victims = self.preemption.victims if self.preemption is not None else ()
        return bool(victims) and not self.is_denied and not any(victim.is_static for victim in victims)
