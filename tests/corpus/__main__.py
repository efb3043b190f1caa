"""``python -m tests.corpus``: our findings on manifests of other projects, compared with real API servers.

    python -m tests.corpus                          all that was recorded, on every minor
    python -m tests.corpus --mirrors FOLDER         repositories of a folder (owner+name/repo) are not cloned
    python -m tests.corpus --minors 37 --only kubernetes/examples
    python -m tests.corpus --record                 write down hashes, and what is refused
    python -m tests.corpus --record --add owner/name Apache-2.0     one project more, or its newest version

Each object is created in a dry run on each API server. On the newest minor each file is linted, each pod and workload
explained, and a file that we cannot read is given to kubectl. Exits 1 when we refuse what an API server takes, when we
take a value that it refuses, when its words differ, when a command breaks, or when a result differs from the record.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from podrules.api.features import VERIFIED
from tests.controlplane.binaries import Binaries, Unavailable, find_binaries, names_of
from tests.controlplane.control_plane import ControlPlane
from tests.corpus import commands, record
from tests.corpus.gathering import Gathered, gather
from tests.corpus.judging import Verdict, judge
from tests.corpus.oracle import ARGUMENTS, Oracle, read_by_kubectl
from tests.corpus.record import Project
from tests.corpus.results import Results, changes
from tests.corpus.sources import GITHUB, Missing


def main() -> int:
    """Check, and print the differences."""
    given = _arguments()
    started = time.monotonic()
    wanted = _wanted(given.only, given.add)
    try:
        results = _results(wanted, given.mirrors, given.minors)
    except Missing as error:
        print(error, file=sys.stderr)
        return 1
    print(*results.page(), f"{time.monotonic() - started:.0f} s", sep="\n")
    found = results.projects()
    if given.record:
        kept = {one.name: one for one in (*record.read(), *found)}
        record.write(sorted(kept.values(), key=lambda one: one.name.lower()))
        return 0
    changed = [line for before, now in zip(wanted, found, strict=True) for line in changes(before, now, given.minors)]
    print(*changed, sep="\n")
    return 0 if results.are_good and not changed else 1


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--mirrors", type=Path, help="a folder of repositories, each in owner+name/repo")
    parser.add_argument("--minors", type=int, nargs="+", default=sorted(VERIFIED), choices=sorted(VERIFIED))
    parser.add_argument("--only", nargs="+", help="projects by name")
    parser.add_argument("--record", action="store_true", help="write down what is found")
    parser.add_argument("--add", nargs=2, action="append", metavar=("NAME", "LICENCE"), help="with --record")
    given = parser.parse_args()
    if given.record and given.minors != sorted(VERIFIED):
        parser.error("--record needs the answers of all minors")
    return given


def _wanted(only: Sequence[str] | None, add: Sequence[tuple[str, str]] | None) -> list[Project]:
    """The record, or a part of it; for an added project its newest version."""
    if add:
        return [Project(name, "", licence) for name, licence in add]
    return [project for project in record.read() if not only or project.name in only]


def _results(wanted: Sequence[Project], mirrors: Path | None, minors: Sequence[int]) -> Results:
    found = find_binaries(["helm"])
    helm = found["helm"] if isinstance(found, Binaries) else None
    gathered = [gather(project, mirrors, GITHUB, helm) for project in wanted]
    verdicts: dict[int, Mapping[str, Verdict]] = {}
    unread: list[str] = []
    for minor in minors:
        with _api_server(minor) as control_plane:
            oracle = Oracle(control_plane.api)
            objects = {found.digest: found for one in gathered for found in one.objects}
            verdicts[minor] = {digest: judge(found, minor, oracle) for digest, found in objects.items()}
            if minor == max(minors):
                unread += _unread(gathered, control_plane)
    return Results(gathered, verdicts, unread, list(_broken(gathered, max(minors), verdicts[max(minors)])))


@contextmanager
def _api_server(minor: int) -> Iterator[ControlPlane]:
    names = names_of(f"1.{minor}")
    found = find_binaries(names.values())
    if isinstance(found, Unavailable):
        raise Missing(found.reason)
    binaries = Binaries(paths={plain: found[name] for plain, name in names.items()})
    with ControlPlane(binaries, scheduler=False, controllers=False, apiserver_args=ARGUMENTS) as control_plane:
        yield control_plane


def _unread(gathered: Sequence[Gathered], control_plane: ControlPlane) -> Iterator[str]:
    for one in gathered:
        for text, reason in one.unread:
            if read_by_kubectl(text.content, control_plane):
                yield f"{one.project.name} {text.path}: {reason}"


def _broken(gathered: Sequence[Gathered], minor: int, verdicts: Mapping[str, Verdict]) -> Iterator[str]:
    for one in gathered:
        for source in one.sources:
            if broken := commands.lint(source.text, minor).broken:
                yield f"lint {one.project.name} {source.text.path}: {broken}"
        for found in one.objects:
            if not commands.is_explained(found.content):
                continue
            run = commands.explain(found, minor)
            verdict = verdicts[found.digest]
            if run.broken:
                yield f"explain {one.project.name} {found}: {run.broken}"
            elif run.code and not (verdict.refused or verdict.pod_refused):
                yield f"explain {one.project.name} {found}, which the API server takes: {run.said}"


if __name__ == "__main__":
    sys.exit(main())
