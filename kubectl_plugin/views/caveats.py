"""The lines about what an answer lacks: what could not be read, and versions that were not checked."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Final

from msgspec.structs import replace

from cluster_io.kubelet import CONFIGZ
from kubectl_plugin.render.command import Hint, Prose, can_i
from kubectl_plugin.render.page import Section
from kubectl_plugin.views.words import counted, listed
from podrules.api.features import VERIFIED, minor_of
from podrules.pod.reading import FORBIDDEN, NOT_ALL_IN_FILE, NOT_ASKED, UnreadInput
from podrules.pod.versions import Component, VersionNote
from podrules.upgrade.version_changes import AssumedGate, PodChangeKind

_MAX_NODES: Final = 3
_MAX_KINDS: Final = 30
"""The most characters of the kinds in one command, so that it fits in a line."""
_NAMED: Final = frozenset(
    {
        "nodes",
        "persistentvolumeclaims",
        "persistentvolumes",
        "storageclasses.storage.k8s.io",
        "resourceclaims.resource.k8s.io",
        "resourceclaimtemplates.resource.k8s.io",
    }
)
"""Kinds that other objects refer to by name: a missing one does not count as absent."""
_METRICS: Final = ".metrics.k8s.io"
_ADDRESS: Final = r"(?:\d{1,3}(?:\.\d{1,3}){3}|\[[0-9a-f:]+\])(?::\d+)?"
_FIXES: Final = (
    ("kubelet .*no preferred addresses", "the Node needs status.addresses"),
    (
        "kubelet .*(refused|no route to host|time(d )?out|deadline exceeded|no answer)",
        "the API server has to reach the kubelet's port, 10250",
    ),
    ("kubelet .*x509: ", "the API server has to trust the kubelet's certificate (kubectl get csr)"),
    ("kubelet .*answers 40[13]: ", "the kubelet has to accept the API server's client certificate"),
    (r"metrics\.k8s\.io: not served", "metrics-server serves them"),
)
"""The remedies by reason why usage is unknown."""


def unread_lines(unread: Iterable[UnreadInput], *, measured: Collection[str] = ()) -> tuple[str | Prose, ...]:
    """``pods: you may not list them (kubectl auth can-i list pods)``, ``usage of node-1 is unknown: …``; each once.

    Nodes share a line if the same is unknown for the same reason, apart from their names and addresses. So do kinds.
    The usage of the ``measured`` nodes is known anyway, from a metrics API.
    """
    groups: dict[tuple[UnreadInput, bool], list[UnreadInput]] = {}
    entries = list(dict.fromkeys(unread))
    missing = [entry for entry in entries if entry.is_not_listed and not entry.node]
    for entry in entries:
        if entry in missing:
            continue
        alike = entry
        if entry.node:
            # The reason without the names and addresses of nodes.
            said = re.sub(_ADDRESS, "ADDRESS", entry.reason.replace(f"the kubelet of {entry.node} ", "each kubelet "))
            reason = re.sub(rf"(?<![\w.-]){re.escape(entry.node)}(?![\w-])", "NODE", said)
            alike = replace(entry, node="", reason=reason)
        elif not entry.reason.startswith(FORBIDDEN):
            alike = replace(entry, verb="", resource="")
        groups.setdefault((alike, entry.node in measured), []).append(entry)
    lines = (
        _line(found[0] if len(found) == 1 else replace(found[0], reason=alike.reason), found, known=known)
        for (alike, known), found in groups.items()
    )
    return (*_not_listed(missing), *lines)


def _not_listed(missing: Sequence[UnreadInput]) -> Iterator[str]:
    """What a List lacks and how to add it: a file may have several lists of kubectl, one after another."""
    by_reason: dict[str, list[str]] = {}
    for entry in missing:
        kinds = by_reason.setdefault(entry.reason, [])
        if entry.resource not in kinds:
            kinds.append(entry.resource)
    for reason, kinds in by_reason.items():
        yield f"{listed(kinds)}: {reason}"
    rows: list[str] = []
    for kind in dict.fromkeys(kind for kinds in by_reason.values() for kind in kinds):
        # kubectl accepts the plural; nodes and pods of the metrics API share it with other kinds.
        name = kind if kind.endswith(_METRICS) else kind.partition(".")[0]
        if rows and len(rows[-1]) + len(name) < _MAX_KINDS:
            rows[-1] += f",{name}"
        else:
            rows.append(name)
    if len(rows) > 1:
        yield "to capture all of it: kubectl qos snapshot -o FILE; or to add to this file:"
    yield from (f"{'to add: ' if len(rows) == 1 else ''}kubectl get {row} -A -o json >> FILE" for row in rows)


def assumed_words(lacks: Iterable[UnreadInput]) -> Iterator[str]:
    """For a verdict: what could not be read and counts as absent; empty if nothing is missing."""
    entries = list(lacks)
    some = [entry for entry in entries if entry.reason == NOT_ALL_IN_FILE]
    none = [entry for entry in entries if entry.is_not_listed and entry not in some]
    unasked = [entry.resource for entry in entries if entry.reason == NOT_ASKED]
    others = [entry for entry in entries if entry.read_in]
    unread = [entry for entry in entries if not entry.is_not_listed and entry.reason != NOT_ASKED and not entry.read_in]
    for space in dict.fromkeys(entry.read_in for entry in others):
        kinds = list(dict.fromkeys(entry.resource for entry in others if entry.read_in == space))
        yield f"Not certain: no {_either(kinds)} outside of {space} could be read: assumed none."
    for group, said in (
        (none, "no {} in the file"),
        (some, "not all {} are in the file"),
        (unread, "no {} could be read"),
    ):
        counted = [entry for entry in group if entry.resource not in _NAMED]
        for entries, ends in (
            (counted, "" if group is some else ": assumed none"),
            ([entry for entry in group if entry not in counted], ": what needs them is not judged"),
        ):
            if kinds := list(dict.fromkeys(entry.resource for entry in entries)):
                joint = listed(kinds) if group is some else _either(kinds)
                yield f"Not certain: {said.format(joint)}{ends}."
    if unasked:
        yield f"Not certain: {listed(unasked, most=_MAX_NODES)} {'was' if len(unasked) == 1 else 'were'} not asked."


def _either(kinds: Sequence[str]) -> str:
    """``a, b or c``."""
    *others, last = kinds
    return f"{', '.join(others)} or {last}" if others else last


def _line(entry: UnreadInput, alike: Sequence[UnreadInput], *, known: bool) -> str | Prose:
    """One line about everything that could not be read for the same reason."""
    place = f" in {entry.namespace}" if entry.namespace else f" outside of {entry.read_in}" if entry.read_in else ""
    unknown = ""
    if entry.node:
        # What is unknown because kubelets could not be read.
        names = [one.node for one in alike]
        nodes = listed(names, most=_MAX_NODES)
        if len(names) > _MAX_NODES:
            nodes = f"{counted(len(names), 'node')} ({nodes})"
        if entry.path == CONFIGZ.path:
            unknown = f"the kubelet's configuration of {nodes} is unknown"
        elif known:
            one = len(names) == 1
            unknown = f"the kubelet of {nodes} was not read" if one else f"the kubelets of {nodes} were not read"
        else:
            unknown = f"usage of {nodes} is unknown"
    if not entry.reason.startswith(FORBIDDEN):
        kinds = listed(list(dict.fromkeys(one.resource for one in alike)))
        helps = (fix for pattern, fix in _FIXES if re.search(pattern, f"{kinds}: {entry.reason}"))
        return "; ".join((f"{unknown or f'{kinds}{place}'}: {entry.reason}", *helps))
    refused = f"you may not {entry.verb} {entry.resource if unknown else 'them'}"
    # Loaded only for a refusal.
    from kubectl_plugin.reports.rights import is_namespaced

    everywhere = not entry.namespace and is_namespaced(entry.resource)
    ask = can_i(entry.verb, entry.resource, entry.namespace, everywhere=everywhere)
    return Prose((f"{unknown or f'{entry.resource}{place}'}: {refused}", Hint(ask, " (", ")")))


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
