"""The versions of a cluster against which the rules were not checked."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from msgspec.structs import replace

from kubectl_plugin.render.page import Section
from kubectl_plugin.views.words import listed
from podrules.api.features import VERIFIED, minor_of
from podrules.pod.versions import Component, VersionNote
from podrules.upgrade.version_changes import AssumedGate, PodChangeKind

_MOST_NODES: Final = 3
_KINDS: Final = {
    PodChangeKind.QOS_CLASS: "the QoS class",
    PodChangeKind.REQUESTS: "requests",
    PodChangeKind.OOM_SCORE: "OOM scores",
    PodChangeKind.CGROUP: "cgroups",
    PodChangeKind.PLACEMENT: "its placement",
}


class VersionNotes:
    """Collects the notes of many reports without duplicates."""

    def __init__(self) -> None:
        """Start empty."""
        self._notes: dict[tuple[Component, str], VersionNote] = {}
        self._nodes: dict[tuple[Component, str], dict[str, None]] = {}

    def add(self, notes: Iterable[VersionNote]) -> None:
        """Add the notes of one report."""
        for note in notes:
            key = note.component, note.version
            self._notes.setdefault(key, note)
            self._nodes.setdefault(key, {}).update(dict.fromkeys(note.nodes))

    def section(self) -> Section:
        """A section with a line for each version and all its nodes."""
        return versions_section([replace(note, nodes=tuple(self._nodes[key])) for key, note in self._notes.items()])


def versions_section(notes: Sequence[VersionNote], gates: Sequence[AssumedGate] = ()) -> Section:
    """A section with a line for each note and gate; empty if all versions were checked and no gate decides."""
    return Section("Versions", (*map(version_note_words, notes), *map(assumed_gate_words, gates)))


def assumed_gate_words(gate: AssumedGate) -> str:
    """The assumed setting of a gate, what it decides, and the flag for the other setting."""
    decides = listed([_KINDS[kind] for kind in gate.changes])
    setting, other = ("on", "false") if gate.on else ("off", "true")
    flag = f"--feature-gates={gate.name}={other}"
    return f"feature gate {gate.name} is assumed to be {setting}, and decides {decides}; if it is not: {flag}"


def version_note_words(note: VersionNote) -> str:
    """A line with the version, the rules that are used, and the known differences."""
    oldest, newest = f"1.{min(VERIFIED)}", f"1.{max(VERIFIED)}"
    nodes = f" on {listed(note.nodes, _MOST_NODES)}" if note.component is Component.KUBELET else ""
    if not note.version:
        return f"{note.component.value}{nodes} has no version: the rules of {note.nearest} are used"
    if minor_of(note.version) is None:
        problem = "that is not a known version"
        return f'{note.component.value}{nodes} is "{note.version}": {problem}, so the rules of {note.nearest} are used'
    which = f"{note.component.value}{nodes}"
    if note.component is Component.KUBELET and not note.nodes:
        which = "the control plane's version is unknown; the newest kubelet"
    line = (
        f"{which} is {note.version}, and answers were checked on {oldest} to {newest} only: "
        f"the rules of {note.nearest} are used"
    )
    if not note.without:
        return line
    rules = tuple(dict.fromkeys(effect.partition(":")[0] for effect in note.without))
    return f"{line}, without what newer versions added to {listed(rules)}; more may differ"
