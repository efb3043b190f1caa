"""Our answer about an object and its pod, compared with the API server's."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from msgspec import Struct

from podrules.admission.validation.objects import VALIDATED
from podrules.api.schema.strict import decode
from podrules.api.schema.table import schema
from podrules.lint.finding import Finding
from podrules.lint.shape import RefusedValue, UnservedVersion, check_shape
from podrules.workload.made_pod import made_pod
from tests.corpus.objects import Found
from tests.corpus.oracle import Answer, Oracle

FALSE_REFUSAL: Final = "false refusal"
FALSE_REFUSAL_OF_POD: Final = "false refusal of its pod"
MISSED: Final = "missed refusal"
MISSED_OF_POD: Final = "missed refusal of its pod"
OTHER_WORDS: Final = "other words"


class Difference(Struct, frozen=True):
    """The kind of difference between the two answers."""

    what: str
    minor: int
    found: Found
    ours: str
    theirs: str

    def __str__(self) -> str:
        said = f"  ours:   {self.ours}\n  theirs: {self.theirs}"
        return f"\n1.{self.minor} {self.what}: {self.found}\n{said}"


class Verdict(Struct, frozen=True):
    """Both answers."""

    refused: bool | None
    """What the API server says; None: it refused for a reason that is not in the manifest."""
    ours: bool
    """Whether we refuse it."""
    words: str
    """The API server's."""
    pod_refused: bool
    """Whether the API server refuses the pod that it would make."""
    differences: tuple[Difference, ...]


def judge(found: Found, minor: int, oracle: Oracle) -> Verdict:
    """Ask both about an object, and about its pod if both accept the object.

    Args:
        found: The object.
        minor: The version of the API server.
        oracle: The API server.
    """
    findings = check_shape(0, found.content, schema(minor))
    own = [one for one in findings if not _of_pods(one)]
    answer = oracle.ask(found.content)
    seen = list(_differences(found, minor, own, answer, (FALSE_REFUSAL, MISSED)))
    pod_refused = False
    made = made_pod(found.content) if answer.taken and not own and found.kind in VALIDATED else None
    if made is not None:
        of_pods = [one for one in findings if _of_pods(one)]
        theirs = _below(made.path, oracle.ask(made.content))
        pod_refused = theirs.taken is False
        seen += _differences(found, minor, of_pods, theirs, (FALSE_REFUSAL_OF_POD, MISSED_OF_POD))
    refused = None if answer.taken is None else not answer.taken
    return Verdict(refused, bool(own), answer.words, pod_refused, tuple(seen))


def _differences(
    found: Found, minor: int, own: list[Finding], answer: Answer, names: tuple[str, str]
) -> Iterator[Difference]:
    ours = "; ".join(f"{one.field}: {_problem(one)}" for one in own)
    if answer.taken is None:
        return
    if answer.taken and own:
        yield Difference(names[0], minor, found, ours, "")
    elif not answer.taken and not own and found.kind in VALIDATED and not _is_stored(found.content):
        yield Difference(names[1], minor, found, "", answer.words)
    elif own and not _same_words(found.content, minor, own, answer):
        yield Difference(OTHER_WORDS, minor, found, ours, answer.words)


def _same_words(content: Mapping[str, Any], minor: int, own: list[Finding], answer: Answer) -> bool:
    """Whether our message equals the API server's; messages about an unserved kind differ."""
    if isinstance(own[0], UnservedVersion):
        return True
    decoding = decode(content, schema(minor))
    if decoding is not None and decoding.words:
        return answer.words.startswith(decoding.words)
    return answer.problems == {(one.field, one.problem) for one in own if isinstance(one, RefusedValue)}


def _is_stored(content: Mapping[str, Any]) -> bool:
    """Whether an object was read from a cluster: it is not meant to be created, and its values are not judged."""
    return bool((content.get("metadata") or {}).get("uid"))


def _below(path: str, answer: Answer) -> Answer:
    """An answer about a pod, with the fields of the workload that makes it."""
    problems = frozenset((path + field, problem) for field, problem in answer.problems)
    return Answer(answer.taken, answer.words, problems)


def _of_pods(finding: Finding) -> bool:
    return isinstance(finding, RefusedValue) and finding.of_pods


def _problem(finding: Finding) -> str:
    return finding.problem if isinstance(finding, RefusedValue) else str(finding)
