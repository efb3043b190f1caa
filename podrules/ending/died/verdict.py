"""A verdict: which causes fit the evidence, what supports each, and how certain the result is.

    a cause that does not fit   is left out because of existing evidence. Missing evidence excludes nothing
    one cause is left           Certain
    one has stronger evidence   Likely; the others are also named
    several are equal           Several: A or B, and which evidence would decide

So less evidence leaves more causes, and never only a wrong one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import Enum, IntEnum

from msgspec import Struct

from podrules.api.model.event import Event
from podrules.ending.died.cause import Cause, Grade


class Weight(IntEnum):
    """How strong the evidence for a cause is."""

    POSSIBLE = 0
    """No evidence excludes it."""
    SOME = 1
    MUCH = 2
    PROOF = 3
    """A component of Kubernetes names the cause of this very end."""


class EvidenceSource(Enum):
    """The source of a piece of evidence."""

    POD = "Pod"
    """The pod's stored object."""
    EVENT = "Event"
    OWNER_EVENT = "OwnerEvent"
    OWNER = "Owner"
    NODE = "Node"
    NODE_EVENT = "NodeEvent"
    KUBELET = "Kubelet"
    """The kubelet's configuration."""
    NEIGHBOUR = "Neighbour"
    """Another pod on the node."""


class Clue(Struct, frozen=True, rename="camel"):
    """One piece of evidence."""

    source: EvidenceSource
    where: str
    """``status.reason``, ``Killing``: the field or the event's reason."""
    says: str
    """The value, in its author's words."""
    at: str | None = None


def of_event(event: Event, source: EvidenceSource = EvidenceSource.EVENT) -> Clue:
    """An event as evidence; the default source is an event about the pod."""
    return Clue(source, event.reason, event.message, event.last)


class Suspect(Struct, frozen=True, rename="camel"):
    """A cause that fits the evidence."""

    cause: Cause
    weight: Weight
    clues: tuple[Clue, ...] = ()
    """The evidence for it."""


class EndVerdict(Struct, frozen=True, rename="camel"):
    """Which causes fit, and how certain that is."""

    grade: Grade
    suspects: tuple[Suspect, ...] = ()
    """One cause, or for grade Several those with equal evidence."""
    others: tuple[Suspect, ...] = ()
    """The causes that also fit, with weaker evidence."""
    clues: tuple[Clue, ...] = ()
    """The remaining evidence that names no cause."""

    @property
    def cause(self) -> Cause | None:
        """The only cause; None: several, or none."""
        return self.suspects[0].cause if len(self.suspects) == 1 else None

    @property
    def causes(self) -> frozenset[Cause]:
        """All that fit."""
        return frozenset(one.cause for one in (*self.suspects, *self.others))


NOTHING = EndVerdict(Grade.NOTHING)


def proven(cause: Cause, *clues: Clue) -> EndVerdict:
    """The verdict if a component of Kubernetes names the cause."""
    return EndVerdict(Grade.CERTAIN, (Suspect(cause, Weight.PROOF, clues),))


def weighed(weights: Mapping[Cause, Weight], clues: Mapping[Cause, Iterable[Clue]]) -> EndVerdict:
    """The verdict over the causes that fit."""
    if not weights:
        return NOTHING
    order = list(Cause)
    found = [Suspect(cause, weight, tuple(clues.get(cause, ()))) for cause, weight in weights.items()]
    found.sort(key=lambda one: (-one.weight, order.index(one.cause)))
    first = tuple(one for one in found if one.weight == found[0].weight)
    if len(found) == 1:
        return EndVerdict(Grade.CERTAIN, first)
    return EndVerdict(Grade.LIKELY if len(first) == 1 else Grade.SEVERAL, first, tuple(found[len(first) :]))
