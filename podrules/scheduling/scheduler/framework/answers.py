"""The answers of plugins: verdicts, the facts behind them, changes that would help; it loads no arrays.

Source: k8s.io/kube-scheduler/framework/interface.go (Code, Status) at v0.36.3.
"""

from __future__ import annotations

from enum import Enum, IntEnum
from typing import Final

import msgspec
from msgspec import Struct

from podrules.api.model.pod import PodOnNode, PodReference
from podrules.workload.evictors import Evictor


class ScoreError(Exception):
    """A plugin cannot score; the message is upstream's."""


class Code(IntEnum):
    """Upstream's codes, with its numbers; also held in arrays, one entry a node."""

    SUCCESS = 0
    ERROR = 1
    UNSCHEDULABLE = 2
    """Rejected; removing pods may help, so preemption examines it."""
    UNSCHEDULABLE_AND_UNRESOLVABLE = 3
    """Rejected; removing pods cannot help."""
    WAIT = 4
    SKIP = 5
    """PreFilter and PreScore: the plugin does not apply to this pod."""
    PENDING = 6

    def __str__(self) -> str:
        return _NAMES[self]


_NAMES: Final = {
    Code.SUCCESS: "Success",
    Code.ERROR: "Error",
    Code.UNSCHEDULABLE: "Unschedulable",
    Code.UNSCHEDULABLE_AND_UNRESOLVABLE: "UnschedulableAndUnresolvable",
    Code.WAIT: "Wait",
    Code.SKIP: "Skip",
    Code.PENDING: "Pending",
}


class Status(Struct, frozen=True):
    """A code and why, in upstream's words."""

    code: Code = Code.SUCCESS
    reasons: tuple[str, ...] = ()
    plugin: str = ""
    """The plugin; empty within the plugin itself."""

    @property
    def ok(self) -> bool:
        """Whether it is Success."""
        return self.code is Code.SUCCESS

    @property
    def rejected(self) -> bool:
        """Whether the pod cannot go there (Status.IsRejected)."""
        return self.code in {Code.UNSCHEDULABLE, Code.UNSCHEDULABLE_AND_UNRESOLVABLE, Code.PENDING}


SUCCESS: Final = Status()
SKIP: Final = Status(Code.SKIP)


FAR = 1000.0
"""The distance of a node that no small change opens."""


class Fact(Struct, frozen=True, rename="camel", tag_field="type"):
    """A number or value behind a rejection; each plugin has its own kinds, distinguished by ``type``."""

    @property
    def distance(self) -> float:
        """How far the node is from fitting, in parts of what it has; 0 where that cannot be measured."""
        return 0.0


class ChangeKind(Enum):
    """The kinds of changes, the cheapest first."""

    SPREAD = "ChangeSpreadConstraint"
    TOLERATE = "Tolerate"
    FREE = "FreeResources"
    UNCORDON = "Uncordon"
    LABEL_NODE = "LabelNode"
    REMOVE_PODS = "RemovePods"
    ROLL_OUT = "RollOut"
    """The pods are of an earlier revision, and the rollout stops them if it may before their successors are ready."""
    DROP = "DropRequirement"
    REMOVE_TAINT = "RemoveTaint"
    ADD_NODE = "AddNode"
    """Another node, without the taint or with the labels, because this one cannot be changed."""
    ENLARGE = "LargerNode"
    """More than the node has without the pods that can go."""
    AWAIT_PODS = "AwaitPods"
    """The pods are being deleted already."""


class CandidateChange(Struct, frozen=True, rename="camel"):
    """One change to the pod, to a node, or to the pods on it."""

    kind: ChangeKind
    node: str = ""
    """Of changes to a node, or to pods for its sake."""
    field: str = ""
    """The pod's field that is changed or dropped."""
    value: str = ""
    """The new value, the taint or the label."""
    replaced: str = ""
    """The labels that the node has, with other values."""
    meant: tuple[str, ...] = ()
    """Labels of nodes that the dropped ones look like, which no node has."""
    writer: str = ""
    """The annotation of the pod's namespace by which admission writes what would be dropped."""
    amounts: dict[str, int] = msgspec.field(default_factory=dict)
    """Of resources; cpu in thousandths, the rest in whole units."""
    asks: dict[str, int] = msgspec.field(default_factory=dict)
    """For a larger node, what the pod requests of these resources."""
    promised: dict[str, int] = msgspec.field(default_factory=dict)
    """What is requested of those that are freed, where that is more than the node has."""
    nominated: dict[str, int] = msgspec.field(default_factory=dict)
    """What of that pods request that were nominated to the node: they are not there yet."""
    nominated_pods: tuple[PodReference, ...] = ()
    resizing: tuple[PodReference, ...] = ()
    """Pods on the node that count with a resize which the kubelet defers."""
    pods: tuple[PodOnNode, ...] = ()
    """That are to go; they may run on other nodes than the one that takes the pod then. Where resources are freed, pods
    that find a place elsewhere, in order; none: no few pods of the node do, or it was not tried."""
    says: str = ""
    """What the kubelet of the node says about why it is not Ready."""
    unready: tuple[PodReference, ...] = ()
    """For a taint that is waited for: pods of DaemonSets on the node that are not Ready, or wait to start."""
    silent: bool = False
    """Whether the node of the pods that are awaited does not answer."""
    paused: bool = False
    """Whether the rollout that may stop the pods is paused."""
    added: bool = False
    """Whether a larger node may be added instead of replacing the one."""
    going: Evictor | None = None
    """The program that is about to remove or restart the node."""
