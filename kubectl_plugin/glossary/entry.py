"""What an entry of the glossary holds."""

from __future__ import annotations

from enum import Enum

from msgspec import Struct

__all__ = ["Entry", "Topic"]


class Topic(Enum):
    """What an entry is about."""

    QOS = "quality of service and memory"
    PRESSURE = "a node under pressure"
    SCHEDULING = "why a pod is pending"
    SPREAD = "topology spread"
    PRIORITY = "priority and preemption"
    REFUSED = "what the API server or kubectl refuses"
    STARTING = "how pods start"
    ENDING = "how pods end"
    VOLUMES = "claims that wait for a volume"
    NODES = "what a node reports"
    SAFETY = "silent nodes, volumes, force deletion"
    DEVICES = "devices (dynamic resource allocation)"
    CODES = "what kubectl qos says"


class Entry(Struct, frozen=True, kw_only=True, rename="camel"):
    """One term, or one text of Kubernetes."""

    name: str
    """As upstream spells it."""
    also: tuple[str, ...] = ()
    """Other spellings."""
    pattern: str = ""
    """A regular expression for a text that upstream completes with names or numbers; it matches the whole text."""
    means: str
    """The decisive fact, in one sentence."""
    rule: tuple[str, ...] = ()
    """How it is decided, sentence by sentence."""
    do: tuple[str, ...] = ()
    """What helps."""
    commands: tuple[str, ...] = ()
    """To look closer."""
    source: tuple[str, ...]
    """Files of kubernetes v1.37.1, KEPs, or kernel files; none of a term of this program."""
    see: tuple[str, ...] = ()
    """Names of other entries."""
