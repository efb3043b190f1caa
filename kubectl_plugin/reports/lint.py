"""The findings in manifests."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from kubectl_plugin.reports import API_VERSION
from podrules.lint.finding import Level
from podrules.pod.versions import VersionNote


class LintObject(Struct, frozen=True, kw_only=True, rename="camel"):
    """An object that was checked."""

    file: str
    """As typed; ``standard input``."""
    document: int
    """Its number in the file; the first is 1."""
    kind: str
    namespace: str
    name: str


class IgnoredBy(Struct, frozen=True, kw_only=True, rename="camel"):
    """Why a finding does not count."""

    by: Literal["comment", "annotation"]
    reason: str


class LintFinding(Struct, frozen=True, kw_only=True, rename="camel"):
    """A rule that an object violates."""

    rule: str
    level: Level
    object: LintObject
    line: int
    """The line of the field, or of the nearest field above it if it is absent; the first line is 1."""
    column: int
    """The first is 1."""
    field: str
    message: str
    remedy: str
    source: str
    """The source in Kubernetes: a path in k8s.io/kubernetes."""
    term: str
    """The term for ``kubectl qos why``; empty: none fits."""
    ignored: IgnoredBy | None


class UnknownIgnore(Struct, frozen=True, kw_only=True, rename="camel"):
    """An ignore that names an unknown rule."""

    file: str
    line: int
    rule: str
    """Empty: it names no rule."""


class UnreadableFile(Struct, frozen=True, kw_only=True, rename="camel"):
    """A file that could not be read to its end."""

    file: str
    problem: str


class LintReport(Struct, frozen=True, kw_only=True, rename="camel", tag_field="kind", tag="LintReport"):
    """All findings."""

    api_version: Literal["kubectl-qos/v1"] = API_VERSION
    rules_version: str
    version_notes: tuple[VersionNote, ...]
    """The named version, if the rules were not verified for it."""
    files: int
    """All named files and files in folders, including those that cannot be read."""
    objects: tuple[LintObject, ...]
    """The checked objects."""
    passed_over: int
    """Objects of other kinds, and documents that are not API objects."""
    findings: tuple[LintFinding, ...]
    """Errors first, then warnings, then notices; within a level, in the order of files and lines."""
    unknown_ignores: tuple[UnknownIgnore, ...]
    unreadable: tuple[UnreadableFile, ...]

    @property
    def read_in_part(self) -> int:
        """Files that were checked in part: a part of them cannot be read."""
        return len({entry.file for entry in self.unreadable} & {entry.file for entry in self.objects})

    @property
    def not_read(self) -> int:
        """Files that cannot be checked at all."""
        return len({entry.file for entry in self.unreadable}) - self.read_in_part

    def counted(self, level: Level) -> int:
        """Findings of a level that count."""
        return sum(finding.level is level and finding.ignored is None for finding in self.findings)

    @property
    def ignored(self) -> int:
        """Findings that do not count."""
        return sum(finding.ignored is not None for finding in self.findings)

    def failing(self, severity: Level) -> tuple[LintFinding, ...]:
        """Findings that count, of this severity or worse."""
        return tuple(
            finding for finding in self.findings if finding.ignored is None and finding.level.rank <= severity.rank
        )
