"""The versions of a cluster that the rules were not held against."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from msgspec.structs import replace

from kubectl_plugin.render.page import Section
from kubectl_plugin.views.words import listed
from podrules.api.features import VERIFIED, minor_of
from podrules.pod.versions import Component, VersionNote
from podrules.upgrade.version_changes import AssumedGate, PodChangeKind

__all__ = ["VersionNotes", "assumed_gate_words", "version_note_words", "versions_section"]

_MOST_NODES: Final = 3
_KINDS: Final = {
    PodChangeKind.QOS_CLASS: "the QoS class",
    PodChangeKind.REQUESTS: "requests",
    PodChangeKind.OOM_SCORE: "OOM scores",
    PodChangeKind.CGROUP: "cgroups",
    PodChangeKind.PLACEMENT: "where it goes",
}


class VersionNotes:
    """The notes of many reports, each once."""

    def __init__(self) -> None:
        """None yet."""
        self._notes: dict[tuple[Component, str], VersionNote] = {}
        self._nodes: dict[tuple[Component, str], dict[str, None]] = {}

    def add(self, notes: Iterable[VersionNote]) -> None:
        """Take those of one report."""
        for note in notes:
            key = note.component, note.version
            self._notes.setdefault(key, note)
            self._nodes.setdefault(key, {}).update(dict.fromkeys(note.nodes))

    def section(self) -> Section:
        """A line for each version, with all its nodes."""
        return versions_section([replace(note, nodes=tuple(self._nodes[key])) for key, note in self._notes.items()])


def versions_section(notes: Sequence[VersionNote], gates: Sequence[AssumedGate] = ()) -> Section:
    """A line for each; no lines: the rules were held against every version here, and no gate decides."""
    return Section("Versions", (*map(version_note_words, notes), *map(assumed_gate_words, gates)))


def assumed_gate_words(gate: AssumedGate) -> str:
    """What was taken for granted, what it decides, and how to say otherwise."""
    decides = listed([_KINDS[kind] for kind in gate.changes])
    setting, other = ("on", "false") if gate.on else ("off", "true")
    say = f"--feature-gates={gate.name}={other}"
    return f"feature gate {gate.name} is taken to be {setting}, and decides {decides}; if it is not: {say}"


def version_note_words(note: VersionNote) -> str:
    """A line that names the version, the rules that are used, and what is known to differ."""
    oldest, newest = f"1.{min(VERIFIED)}", f"1.{max(VERIFIED)}"
    nodes = f" on {listed(note.nodes, _MOST_NODES)}" if note.component is Component.KUBELET else ""
    if not note.version:
        return f"{note.component.value}{nodes} does not name a version: the rules of {note.nearest} are used"
    if minor_of(note.version) is None:
        problem = "that is no version that is known here"
        return f'{note.component.value}{nodes} is "{note.version}": {problem}, so the rules of {note.nearest} are used'
    which = f"{note.component.value}{nodes}"
    if note.component is Component.KUBELET and not note.nodes:
        which = "the control plane's version is not known; the newest kubelet"
    told = (
        f"{which} is {note.version}, and answers were checked on {oldest} to {newest} only: "
        f"the rules of {note.nearest} are used"
    )
    if not note.without:
        return told
    rules = tuple(dict.fromkeys(effect.partition(":")[0] for effect in note.without))
    return f"{told}, without what newer versions added to {listed(rules)}; more may differ"
