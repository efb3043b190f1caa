"""The results for projects: answers by minor, files that only kubectl reads, failed commands; and their page."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct

from tests.corpus.gathering import Gathered
from tests.corpus.judging import Difference, Verdict
from tests.corpus.record import Project


class Results(Struct, frozen=True):
    """All of it."""

    gathered: Sequence[Gathered]
    verdicts: Mapping[int, Mapping[str, Verdict]]
    """By minor, and by the hash of the object."""
    unread: Sequence[str]
    """Files that kubectl reads and we do not."""
    broken: Sequence[str]
    """Runs of commands with an unexpected end."""

    @property
    def differences(self) -> list[Difference]:
        """The differences between our answers and the API servers'."""
        return [one for known in self.verdicts.values() for verdict in known.values() for one in verdict.differences]

    @property
    def are_good(self) -> bool:
        """Whether there is no problem to fix."""
        return not (self.differences or self.unread or self.broken)

    def projects(self) -> list[Project]:
        """What is recorded of them."""
        return [self._recorded(one) for one in self.gathered]

    def _recorded(self, gathered: Gathered) -> Project:
        objects = sorted(found.digest for found in gathered.objects)
        minors = {
            digest: [minor for minor, known in self.verdicts.items() if known[digest].refused] for digest in objects
        }
        refused = {digest: where for digest, where in minors.items() if where}
        project = gathered.project
        return Project(project.name, project.version, project.licence, objects, refused)

    def page(self) -> Iterator[str]:
        """The lines of the report."""
        for one in self.gathered:
            counts = Counter(found.kind[1] for found in one.objects)
            kinds = ", ".join(f"{count} {kind}" for kind, count in counts.most_common())
            yield f"{one.project.name} {one.project.version[:12]}: {len(one.objects)} objects ({kinds})"
        objects = {found.digest for one in self.gathered for found in one.objects}
        yield f"\n{len(self.gathered)} projects, {len(objects)} different objects"
        for minor, known in self.verdicts.items():
            yield from _answers(minor, known)
        differences = self.differences
        yield f"answers that differ: {len(differences)} {dict(Counter(one.what for one in differences)) or ''}".rstrip()
        yield from map(str, differences)
        yield f"files that kubectl reads and we do not: {len(self.unread)}"
        yield from self.unread
        yield f"commands that broke: {len(self.broken)}"
        yield from self.broken


def _answers(minor: int, known: Mapping[str, Verdict]) -> Iterator[str]:
    answers = Counter(verdict.refused for verdict in known.values())
    both = sum(verdict.ours for verdict in known.values() if verdict.refused)
    yield (
        f"1.{minor}: the API server takes {answers[False]} and refuses {answers[True]}; we refuse {both} of these; the "
        f"others are of kinds with unchecked values, or were read from a cluster"
    )
    for verdict in known.values():
        if verdict.refused is None:
            yield f"  not judged: {verdict.words}"


def changes(before: Project, now: Project, minors: Sequence[int]) -> Iterator[str]:
    """The differences from the record.

    Args:
        before: The record.
        now: The current results.
        minors: Those that were asked now.
    """
    more, fewer = set(now.objects) - set(before.objects), set(before.objects) - set(now.objects)
    if more or fewer:
        yield f"{now.name}: {len(more)} objects more and {len(fewer)} fewer than were recorded"
    for digest in sorted(set(now.objects) & set(before.objects)):
        refused = [minor for minor in before.refused.get(digest, ()) if minor in minors]
        if refused != now.refused.get(digest, []):
            yield f"{now.name}: object {digest} was refused in {refused} and is now in {now.refused.get(digest, [])}"
