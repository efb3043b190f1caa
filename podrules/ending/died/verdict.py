"""A verdict: which causes fit the evidence, what speaks for each, and how sure that makes it.

    what does not fit     is left out, by evidence that is there. What is missing excludes nothing
    one is left           Certain
    more speaks for one   Likely; the others are named, too
    as much for several   Several: A or B, and what would tell

So less evidence leaves more causes, and never the wrong one alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import Enum, IntEnum

from msgspec import Struct

from podrules.api.model.event import Event
from podrules.ending.died.cause import Cause, Grade

__all__ = ["Clue", "Source", "Suspect", "Verdict", "Weight", "of_event", "proven", "weighed"]


class Weight(IntEnum):
    """How much speaks for a cause."""

    POSSIBLE = 0
    """Nothing excludes it."""
    SOME = 1
    MUCH = 2
    PROOF = 3
    """A component of Kubernetes says so of this very end."""


class Source(Enum):
    """Where a piece of evidence is from."""

    POD = "Pod"
    """Its stored object."""
    EVENT = "Event"
    OWNER_EVENT = "OwnerEvent"
    OWNER = "Owner"
    NODE = "Node"
    NODE_EVENT = "NodeEvent"
    KUBELET = "Kubelet"
    """The kubelet's configuration."""
    NEIGHBOUR = "Neighbour"
    """Another pod of the node."""


class Clue(Struct, frozen=True, rename="camel"):
    """One piece of evidence."""

    source: Source
    where: str
    """``status.reason``, ``Killing``: the field or the event's reason."""
    says: str
    """What is there, in its author's words."""
    at: str | None = None


def of_event(event: Event, source: Source = Source.EVENT) -> Clue:
    """What an event says; without a source one about the pod."""
    return Clue(source, event.reason, event.message, event.last)


class Suspect(Struct, frozen=True, rename="camel"):
    """A cause that fits the evidence."""

    cause: Cause
    weight: Weight
    clues: tuple[Clue, ...] = ()
    """What speaks for it."""


class Verdict(Struct, frozen=True, rename="camel"):
    """Which cause it was."""

    grade: Grade
    suspects: tuple[Suspect, ...] = ()
    """One, or of grade Several those that are alike."""
    others: tuple[Suspect, ...] = ()
    """Which fit, too, and less speaks for."""
    clues: tuple[Clue, ...] = ()
    """What is left that names no cause."""

    @property
    def cause(self) -> Cause | None:
        """The one cause; None: there are several, or none."""
        return self.suspects[0].cause if len(self.suspects) == 1 else None

    @property
    def causes(self) -> frozenset[Cause]:
        """All that fit."""
        return frozenset(one.cause for one in (*self.suspects, *self.others))


NOTHING = Verdict(Grade.NOTHING)


def proven(cause: Cause, *clues: Clue) -> Verdict:
    """The verdict where a component says so itself."""
    return Verdict(Grade.CERTAIN, (Suspect(cause, Weight.PROOF, clues),))


def weighed(weights: Mapping[Cause, Weight], clues: Mapping[Cause, Iterable[Clue]]) -> Verdict:
    """The verdict over the causes that fit."""
    if not weights:
        return NOTHING
    order = list(Cause)
    found = [Suspect(cause, weight, tuple(clues.get(cause, ()))) for cause, weight in weights.items()]
    found.sort(key=lambda one: (-one.weight, order.index(one.cause)))
    first = tuple(one for one in found if one.weight == found[0].weight)
    if len(found) == 1:
        return Verdict(Grade.CERTAIN, first)
    return Verdict(Grade.LIKELY if len(first) == 1 else Grade.SEVERAL, first, tuple(found[len(first) :]))
