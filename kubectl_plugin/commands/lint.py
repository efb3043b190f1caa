"""``kubectl qos lint``: checks manifests against the rules of Kubernetes, without a cluster."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import IO, Any, Final

from msgspec import Struct

from cluster_io.errors import ManifestError, UsageError
from cluster_io.manifests.located import MAX_TEXT, Ignore, LocatedObject, Places, located_objects
from cluster_io.manifests.text import STDIN, advice_for, files_of, read_stdin, read_text
from cluster_io.source import Source
from kubectl_plugin.exit_codes import FINDINGS, UNREADABLE, warn
from kubectl_plugin.options import Streams
from kubectl_plugin.options.offline_commands import LintOptions
from kubectl_plugin.printing import Printer
from kubectl_plugin.render.command import Target
from kubectl_plugin.render.formats import LintAnswer
from kubectl_plugin.reports.lint import (
    IgnoredBy,
    LintFinding,
    LintObject,
    LintReport,
    UnknownIgnore,
    UnreadableFile,
)
from kubectl_plugin.views.lint import lint_page, lint_verdict
from kubectl_plugin.views.words import listed
from podrules.api.names import nearest_word
from podrules.api.schema.table import Schema, schema
from podrules.lint.finding import Finding, Level
from podrules.lint.objects import KINDS, Manifest, Objects
from podrules.lint.rules import RULES, check
from podrules.lint.shape import read_manifest
from podrules.pod.versions import Versions, version_notes

_ANNOTATIONS: Final = ("kubectl-qos.io/ignore", "kubectl-qos/ignore")
"""The second rule has the old name of the first."""
_EMPTY: Final = "Check the command that should have written it: a command that fails writes nothing"


class _Entry(Struct, frozen=True):
    """A checked object, and its position in the file."""

    object: LintObject
    places: Places
    ignores: tuple[Ignore, ...]
    """Comments."""
    annotated: tuple[tuple[str, str], ...]
    """The rules that annotations name, each with its annotation."""


class _ReadFiles:
    """Everything that was read from the files."""

    def __init__(self) -> None:
        self.files = 0
        """All files, including those that cannot be read."""
        self.empty: list[str] = []
        self.passed_over = 0
        self.entries: list[_Entry] = []
        self.manifests: list[Manifest] = []
        self.misshapen: list[Finding] = []
        self.unreadable: list[UnreadableFile] = []
        self.texts: dict[str, str] = {}
        """The text of each file, if the page shows lines of it."""


def run(options: LintOptions, source: Source, streams: Streams) -> int:
    """Check the named files, and print the findings. If a file cannot be read, the others are still checked.

    Raises:
        ManifestError: all files are empty.
    """
    versions = Versions.of(None, (), source.stated)
    disabled = _known(options.disabled)
    if not options.files:
        raise UsageError("nothing to check", advice="Name it: -f FILE, -f FOLDER, or -f - for standard input")
    known = schema(versions.api_server.minor)
    read = _ReadFiles()
    for where, text in _texts(options.files, streams.stdin, read):
        if options.output.in_words:
            read.texts[where] = text
        found = list(located_objects(where, text, _Checked(known)))
        if not found:
            read.empty.append(where)
        for located in found:
            if isinstance(located, ManifestError):
                read.unreadable.append(_unreadable(where, located))
            else:
                _add(read, where, located, known, options.namespace)
    # The command that should have written an empty file failed. In a folder, this is only a warning.
    if read.empty and len(read.empty) == read.files:
        raise ManifestError(f"{listed(read.empty)}: no object in it; nothing to check", advice=_EMPTY)
    asked = {STDIN if path == "-" else str(Path(path)) for path in options.files}
    problem = f"no object in it. {_EMPTY}"
    read.unreadable += [UnreadableFile(file=file, problem=problem) for file in read.empty if file in asked]
    warn((f"{file}: no object in it" for file in read.empty if file not in asked), streams.err)
    report = _report(read, disabled, versions)
    severity = Level(options.severity)
    printer = Printer(options.output, streams, colour=options.colour, target=Target(), source=None)
    printer.add(
        report,
        pages=lambda: (lint_page(report, severity, read.texts, wide=options.output.wide),),
        verdict=lint_verdict(report, severity),
    )
    printer.finish(lint=LintAnswer(report, severity))
    if report.unreadable:
        return UNREADABLE
    return FINDINGS if report.failing(severity) else 0


def _known(disabled: Iterable[str]) -> frozenset[str]:
    for name in disabled:
        if name not in RULES:
            near = nearest_word(name.lower(), RULES)
            hint = f"Did you mean {near}?" if near else f"Rules: {', '.join(RULES)}"
            problem = "no such rule" if name else "a rule's name is missing"
            raise UsageError(f'--disable "{name}": {problem}', advice=hint)
    return frozenset(disabled)


def _texts(paths: Iterable[str], stdin: IO[str], read: _ReadFiles) -> Iterator[tuple[str, str]]:
    for path in paths:
        if path == "-":
            yield from _text(STDIN, partial(read_stdin, stdin, MAX_TEXT), read)
            continue
        try:
            files = files_of(path)
        except ManifestError as error:
            read.files += 1
            read.unreadable.append(_unreadable(path, error))
            continue
        for file in files:
            yield from _text(str(file), partial(read_text, file, MAX_TEXT), read)


def _text(where: str, get: Callable[[], str], read: _ReadFiles) -> Iterator[tuple[str, str]]:
    read.files += 1
    try:
        yield where, get()
    except ManifestError as error:
        read.unreadable.append(_unreadable(where, error))


def _unreadable(where: str, error: ManifestError) -> UnreadableFile:
    problem = str(error).removeprefix(where).lstrip(",: ")
    advice = advice_for(error.advice, "lint")
    return UnreadableFile(file=where, problem=f"{problem}. {advice}" if advice else problem)


class _Checked(Container[tuple[str, str]]):
    """The kinds that rules check, the kinds with known fields, and the Kubernetes kinds that the version lacks."""

    def __init__(self, known: Schema) -> None:
        self._known = known

    def __contains__(self, kind: object) -> bool:
        if not isinstance(kind, tuple):
            return False
        return kind in KINDS or self._known.serves(*kind) is False or self._known.root(*kind) is not None


def _add(read: _ReadFiles, file: str, located: LocatedObject | None, known: Schema, namespace: str) -> None:
    if located is None:
        read.passed_over += 1
        return
    position = len(read.entries)
    manifest, findings = read_manifest(position, located.content, known=known, namespace=namespace)
    metadata = located.content.get("metadata")
    named = metadata if isinstance(metadata, Mapping) else {}
    shown = LintObject(
        file=file,
        document=located.document,
        kind=str(located.content["kind"]),
        namespace=str(named.get("namespace") or ""),
        name=str(named.get("name") or named.get("generateName") or ""),
    )
    read.misshapen += findings
    if manifest is not None:
        read.manifests.append(manifest)
    read.entries.append(_Entry(shown, located.places, located.ignores, tuple(_annotated(named))))


def _annotated(metadata: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    annotations = metadata.get("annotations")
    if isinstance(annotations, Mapping):
        for key in _ANNOTATIONS:
            if isinstance(asked := annotations.get(key), str):
                yield from ((name.strip(), key) for name in asked.split(","))


def _report(read: _ReadFiles, disabled: frozenset[str], versions: Versions) -> LintReport:
    features = versions.api_server
    found = [*read.misshapen, *check(Objects.of(read.manifests, features))]
    findings = [_lint_finding(one, read.entries[one.position]) for one in found if one.rule.name not in disabled]
    order = {entry.object: number for number, entry in enumerate(read.entries)}
    findings.sort(key=lambda one: (one.level.rank, order[one.object], one.line, one.column))
    return LintReport(
        rules_version=features.nearest_verified,
        version_notes=version_notes(versions),
        files=read.files,
        objects=tuple(entry.object for entry in read.entries),
        passed_over=read.passed_over,
        findings=tuple(findings),
        unknown_ignores=tuple(dict.fromkeys(_unknown_ignores(read.entries))),
        unreadable=tuple(read.unreadable),
    )


def _lint_finding(finding: Finding, entry: _Entry) -> LintFinding:
    """The finding with its message and its place in the file."""
    rule, place = finding.rule, entry.places.of(finding.place)
    ignored = IgnoredBy(by="annotation", reason="") if any(rule.name == name for name, _ in entry.annotated) else None
    for ignore in reversed(entry.ignores):
        if rule.name in ignore.rules and ignore.target in {None, place.line}:
            ignored = IgnoredBy(by="comment", reason=ignore.reason)
    return LintFinding(
        rule=rule.name,
        level=rule.level,
        object=entry.object,
        line=place.line,
        column=place.column,
        field=finding.field,
        message=str(finding),
        remedy=finding.remedy,
        source=rule.source,
        term=rule.term,
        ignored=ignored,
    )


def _unknown_ignores(entries: Iterable[_Entry]) -> Iterator[UnknownIgnore]:
    for entry in entries:
        file = entry.object.file
        for ignore in entry.ignores:
            names = (name for name in ignore.rules or ("",) if name not in RULES)
            yield from (UnknownIgnore(file=file, line=ignore.line, rule=name) for name in names)
        for name, key in entry.annotated:
            if name not in RULES:
                line = entry.places.of(f"metadata.annotations.{key}").line
                yield UnknownIgnore(file=file, line=line, rule=name)
