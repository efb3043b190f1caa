"""A project's files and objects, each of them once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from msgspec import Struct

from cluster_io.errors import ManifestError
from tests.corpus.charts import rendered
from tests.corpus.objects import Found, objects_of
from tests.corpus.record import Project
from tests.corpus.sources import Repository, Text, texts_of
from tests.upstream import MODULES


class Source(Struct, frozen=True):
    """A file that has objects which are checked."""

    text: Text
    objects: tuple[Found, ...]


class Gathered(Struct, frozen=True):
    """The files and objects of a project."""

    project: Project
    """With the version that was found."""
    sources: tuple[Source, ...]
    unread: tuple[tuple[Text, str], ...]
    """Files with unreadable parts, and the reason; templates are not among them."""

    @property
    def objects(self) -> Sequence[Found]:
        """The objects, each content once."""
        return list({found.digest: found for source in self.sources for found in source.objects}.values())


def gather(project: Project, mirrors: Path | None, base: str, helm: Path | None) -> Gathered:
    """Read a project.

    Args:
        project: Its name and version.
        mirrors: A folder of existing repositories.
        base: What stands before its name in the address that it is cloned from.
        helm: The program; None: charts are left out.

    Raises:
        Missing: it is unavailable here.
    """
    repository = None if project.name in MODULES else Repository.find(project, mirrors, base)
    version = repository.commit if repository else MODULES[project.name]
    sources: dict[str, Source] = {}
    unread: list[tuple[Text, str]] = []
    for text in _texts(project, repository, helm):
        found = list(objects_of(text))
        objects = tuple(one for one in found if isinstance(one, Found))
        errors = [str(one) for one in found if isinstance(one, ManifestError)]
        unread += [(text, errors[0])] if errors else []
        if objects:
            sources.setdefault(text.content, Source(text, objects))
    named = Project(project.name, version, project.licence)
    return Gathered(named, tuple(sources.values()), tuple(unread))


def _texts(project: Project, repository: Repository | None, helm: Path | None) -> Iterator[Text]:
    yield from texts_of(project, repository)
    if repository is not None and helm is not None:
        yield from rendered(helm, repository)
