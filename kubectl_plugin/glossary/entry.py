"""The fields of a glossary entry."""

from __future__ import annotations

from enum import Enum

from msgspec import Struct


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
    """One term, or one message of Kubernetes."""

    name: str
    """The name as upstream spells it."""
    also: tuple[str, ...] = ()
    """Other spellings."""
    pattern: str = ""
    """A regular expression for a message with names or numbers; it matches the whole message."""
    means: str
    """The decisive fact, in one sentence."""
    rule: tuple[str, ...] = ()
    """The rule behind it, sentence by sentence."""
    do: tuple[str, ...] = ()
    """The remedies."""
    commands: tuple[str, ...] = ()
    """Commands that show more."""
    source: tuple[str, ...]
    """Files of kubernetes v1.37.1, KEPs, or kernel files; empty for a term of this program."""
    see: tuple[str, ...] = ()
    """Names of other entries."""
