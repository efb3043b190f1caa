"""Kinds that are missing from a List never make an answer more certain, and never invent an absence.

Each cluster is read twice: whole, and as a plain List without some kinds. An answer about the List with exit code 0
equals the answer about the whole cluster. With 11 it may have less, and 7 (no place) requires the same from the whole.
"""

from __future__ import annotations

import io
import json
import random
import re
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import cache
from importlib import import_module
from typing import Any, Final, NamedTuple

import pytest

from cluster_io.demo import DEMO_NOW, demo_objects
from cluster_io.errors import ClusterError, Forbidden, NotCaptured
from cluster_io.in_memory import MemorySource, newest_time
from cluster_io.kinds import Kind
from kubectl_plugin.exit_codes import print_error
from kubectl_plugin.options import Streams
from kubectl_plugin.parsing import parse
from tests.cluster_io.test_needs_suffice import LISTS
from tests.kubectl_plugin.gather.test_related import BUDGETS, CLAIMS, QUOTAS
from tests.kubectl_plugin.gather.test_related import NOW as RELATED_NOW
from tests.matrix.clusters import NOW, clusters
from tests.objects import raw_node
from tests.podrules.ending.died.cases import recorded_clusters
from tests.recorded import recorded
from tests.tree import ROOT

Json = Mapping[str, Any]
CASES: Final = ROOT / "tests" / "testdata" / "cases"
REPORTS: Final = ROOT / "tests" / "testdata" / "reports"
VERSION: Final = "v1.36.3"
SURENESS: Final = {"Nothing": 0, "Several": 1, "Likely": 1, "Certain": 2}
"""Likely and "A or B" are equally certain: evidence against a cause may be missing, too."""
ABSENT: Final = re.compile(
    r"\b(?:do|does|did) not exist|no longer exists?|\b(?:is|are|was|were) gone\b|\b(?:was|were) deleted\b"
    r"|no Node object|\b(?:is|are) not there\b|\b[Ee]very pod|\bNothing (?:stands out among|is left|has ended)"
)
"""What needs a proof of absence."""
OPEN: Final = re.compile(r"\b(?:before|once|after|until|when|whether|unless|if|confirmed|confirms|could tell)\b")
"""Words of a sentence that does not claim a present absence."""
DESTRUCTIVE: Final = re.compile(r"\brecreate|\bdelete (?:it|the|pod|claim)\b|kubectl delete")
SENTENCE: Final = re.compile(r"[^.;:]+")
USAGE: Final = frozenset({"NodeMetrics", "PodMetrics"})
DEMOS: Final = 28
EVERY: Final = 6
"""Of upstream's recorded clusters."""
HOLES: Final = ("list", "list", "snapshot", "list", "rights")
RAISED: Final = -1
FIT: Final = {0: "yes", 7: "no", 11: "unknown"}


class Whole(NamedTuple):
    """A cluster with nothing missing."""

    name: str
    objects: Sequence[Json]
    now: datetime
    pod: Json | None = None
    """The only target pod; None: any."""

    def of(self, kind: str) -> list[tuple[str, str]]:
        """Namespace and name of the objects of a kind."""
        found = (entry["metadata"] for entry in self.objects if entry["kind"] == kind)
        return [(meta.get("namespace", "default"), meta["name"]) for meta in found]


class Answer(NamedTuple):
    """The answer of a command."""

    code: int
    text: str
    data: Json
    err: str


class PartlyRead(MemorySource):
    """A cluster with kinds that may not be read, or that a snapshot did not capture."""

    unread: frozenset[str] = frozenset()
    forbids = False

    def _check_captured(self, kind: Kind[Any]) -> None:
        super()._check_captured(kind)
        if kind.kind in self.unread and self.forbids:
            raise Forbidden("list", kind, None, "")
        if kind.kind in self.unread:
            raise NotCaptured(kind, self.description, "forbidden")


def source_of(whole: Whole, missing: frozenset[str], namespace: str, hole: str) -> MemorySource:
    """The cluster, and some kinds of it missing: from a List, from a snapshot, or for lack of rights."""
    is_list = hole == "list"
    kept = [entry for entry in whole.objects if not (is_list and entry["kind"] in missing)]
    source = PartlyRead(kept, description="a file", now=whole.now, git_version=VERSION, namespace=namespace)
    source.is_plain_list = is_list
    source.unread, source.forbids = missing, hole == "rights"
    return source


@cache
def _options(words: tuple[str, ...]) -> Any:
    placeholder = "node/x" if "--drain" in words else "pod/x"
    return parse([*(placeholder if word == "TARGET" else word for word in words), "--snapshot", "x"]).options


def ask(source: MemorySource, words: tuple[str, ...], target: str) -> Answer:
    """The answer in words and as data."""
    texts, codes, errors = [], [], []
    for form in ((), ("-o", "json")):
        options = _options((*words, *form))
        if "TARGET" in words:
            named = {"nodes" if words[0] == "node" else "targets": (target,)}
            options = options.replace(**({"drain": target} if "--drain" in words else named))
        out, err = io.StringIO(), io.StringIO()
        try:
            run = import_module(f"kubectl_plugin.commands.{words[0]}").run
            codes.append(run(options, source, Streams(io.StringIO(), out, err)))
        except ClusterError as error:
            codes.append(print_error(error, err))
        except Exception:  # noqa: BLE001  # a person would see it
            codes.append(RAISED)
            err.write(traceback.format_exc())
        texts.append(out.getvalue())
        errors.append(err.getvalue())
    data = json.loads(texts[1]) if texts[1].strip() else {}
    code = codes[0] if codes[0] == codes[1] else RAISED
    return Answer(code, " ".join(texts[0].split()), data, errors[0])


def wholes() -> Iterator[Whole]:
    """All clusters."""
    for number in range(DEMOS):
        # With other pods gone each time, so that other nodes have room.
        kept = [one for place, one in enumerate(demo_objects()) if one["kind"] != "Pod" or (number * place) % 7 != 1]
        yield Whole(f"demo-{number}", kept, datetime.fromisoformat(DEMO_NOW))
    for cluster in clusters():
        if cluster.seed % 10:
            yield Whole(f"matrix-{cluster.seed}", cluster.objects, NOW)
    for case in recorded_clusters():
        yield Whole(f"died-{case['id']}", case["objects"], datetime.fromisoformat(case["at"]))
    for suite in ("schedule", "schedule_dra"):
        for number, case in enumerate(recorded(suite)):
            if number % EVERY == 0:
                yield Whole(f"{suite}-{number}", list(_objects(case["input"])), NOW, pod=_pod(case["input"]))
    for file in sorted((*CASES.rglob("*.json"), *REPORTS.glob("[0-9]*.json"))):
        content = json.loads(file.read_text())
        objects = content.get("items", [])
        if any(entry["kind"] == "Pod" for entry in objects):
            yield Whole(file.stem, objects, newest_time(objects) or NOW)


def _pod(case: Json) -> Json:
    """The pod that a recorded case places, as it waits in a cluster."""
    metadata = {"uid": "the-pod", "namespace": "default", "name": "the-pod", **case["pod"].get("metadata", {})}
    return {"apiVersion": "v1", "kind": "Pod", **case["pod"], "metadata": metadata, "status": {"phase": "Pending"}}


def _objects(case: Json) -> Iterator[Json]:
    yield _pod(case)
    for name, (_, kind) in LISTS.items():
        yield from ({"apiVersion": kind.api_version, "kind": kind.kind, **entry} for entry in case.get(name, ()))


QUESTIONS: Final[Mapping[str, tuple[tuple[str, ...], str, frozenset[str]]]] = {
    "explain": (("explain", "TARGET"), "Pod", frozenset({"Pod"})),
    "died": (("died", "TARGET"), "Pod", frozenset({"Pod"})),
    "place": (("place", "TARGET"), "Pod", frozenset({"Pod"})),
    "more": (("place", "TARGET", "--replicas", "9"), "StatefulSet", frozenset({"StatefulSet"})),
    "drain": (("place", "--drain", "TARGET"), "Node", frozenset({"Node"})),
    "explain claim": (("explain", "TARGET"), "PersistentVolumeClaim", frozenset({"PersistentVolumeClaim"})),
    "explain budget": (("explain", "TARGET"), "PodDisruptionBudget", frozenset({"PodDisruptionBudget"})),
    "explain quota": (("explain", "TARGET"), "ResourceQuota", frozenset({"ResourceQuota"})),
    "explain class": (("explain", "TARGET"), "PriorityClass", frozenset({"PriorityClass"})),
    "explain node": (("explain", "TARGET"), "Node", frozenset({"Node"})),
    "node": (("node", "TARGET"), "Node", frozenset({"Node"})),
    "partitions": (("partitions",), "Node", frozenset({"Node"})),
    "report": (("report", "-A"), "Pod", frozenset({"Pod"})),
}


class Trial(NamedTuple):
    """One question, with what is missing."""

    whole: Whole
    question: str
    namespace: str
    name: str
    missing: frozenset[str]
    hole: str
    """``list snapshot rights``: why the kinds are missing."""

    @property
    def target(self) -> str:
        """``pod/web-0``."""
        kind = QUESTIONS[self.question][1]
        return self.name if self.question == "node" else f"{kind.lower()}/{self.name}"

    def answers(self) -> tuple[Answer, Answer]:
        """Of the whole cluster, and of what is left."""
        words = QUESTIONS[self.question][0]
        full = source_of(self.whole, frozenset(), self.namespace, "")
        part = source_of(self.whole, self.missing, self.namespace, self.hole)
        return ask(full, words, self.target), ask(part, words, self.target)


def trials(seed: int, count: int) -> Iterator[Trial]:
    """Random questions to random clusters without random kinds."""
    chance = random.Random(seed)  # noqa: S311  # for tests
    everything = list(wholes())
    chance.shuffle(everything)
    for number in range(count):
        whole = everything[number % len(everything)]
        question = chance.choice(list(QUESTIONS))
        _, kind, asked = QUESTIONS[question]
        found = whole.of(kind)
        if whole.pod is not None:
            question = chance.choice(("explain", "place"))
            kind, asked = "Pod", frozenset({"Pod"})
            found = [(whole.pod["metadata"]["namespace"], whole.pod["metadata"]["name"])]
        if not found:
            continue
        namespace, name = chance.choice(found)
        kinds = sorted({entry["kind"] for entry in whole.objects} - asked)
        most = chance.choice((1, 2, 3, len(kinds)))
        missing = frozenset(chance.sample(kinds, min(len(kinds), chance.randint(0, max(most, 1)))))
        hole = HOLES[number % len(HOLES)]
        yield Trial(whole, question, "default" if kind == "Node" else namespace, name, missing, hole)


def _headline(answer: Answer) -> tuple[str, str]:
    verdict = answer.data.get("verdict", {})
    return verdict.get("code", ""), verdict.get("text", "")


def _certain(trial: Trial, full: Answer, part: Answer) -> Iterator[str]:
    """A certain answer about a List equals the answer about the whole cluster, except for usage."""
    if trial.question == "died" or trial.missing & USAGE or ("Lease" in trial.missing and _is_late(full)):
        return
    if part.code == 0 and _headline(part)[0] != _headline(full)[0]:
        yield f"certain of {_headline(part)}, whole: {full.code} {_headline(full)}"


def _is_late(full: Answer) -> bool:
    """Whether only a Lease shows that a node is silent or comes back: its conditions are up to 50 s behind."""
    return any(word in json.dumps(full.data) for word in ("MissedHeartbeats", "Returning", "NotReadyBack"))


def _fits(trial: Trial, full: Answer, part: Answer) -> Iterator[str]:
    if QUESTIONS[trial.question][0][0] != "place":
        return
    before, after = FIT.get(full.code), FIT.get(part.code)
    if before is not None and after not in {before, "unknown", None}:
        yield f"place: {before} becomes {after}: {_headline(part)[1]}; whole: {_headline(full)[1]}"


def _grade(trial: Trial, full: Answer, part: Answer) -> Iterator[str]:
    if trial.question != "died" or not full.data or not part.data:
        return
    before, after = full.data["end"], part.data["end"]
    if before["of"] == "Nothing":
        return
    grade, other = before["verdict"]["grade"], after["verdict"]["grade"]
    if SURENESS[other] > SURENESS[grade]:
        yield f"{grade} becomes {other}: {_headline(part)[1]}; whole: {_headline(full)[1]}"
    causes, others = ({one["cause"] for one in end["verdict"]["suspects"]} for end in (before, after))
    if other == "Certain" and grade == "Certain" and causes != others:
        yield f"certain of {others}, whole: {causes}"


def _phrases(pattern: re.Pattern[str]) -> Callable[[Trial, Answer, Answer], Iterator[str]]:
    """That a sentence of a pattern appears that the whole cluster and its objects do not have."""

    def found(trial: Trial, full: Answer, part: Answer) -> Iterator[str]:
        for sentence in SENTENCE.findall(part.text):
            match = pattern.search(sentence)
            if match is None or match[0] in full.text or OPEN.search(sentence):
                continue
            if match[0] not in json.dumps(trial.whole.objects):
                yield f"says {sentence.strip()[-160:]!r}"

    return found


def _ends(trial: Trial, full: Answer, part: Answer) -> Iterator[str]:
    """A List without a kind ends with no traceback, and with an error only where the whole cluster does."""
    if part.code == RAISED:
        yield f"raised: {part.err[-400:]}"
    if part.code not in {full.code, 0, 7, 11, 12, 6, 4 if trial.hole == "rights" else 0}:
        yield f"ends with {part.code}, whole: {full.code}: {part.err}"


CHECKS: Final = (_ends, _certain, _fits, _grade, _phrases(ABSENT), _phrases(DESTRUCTIVE))


def violations(trial: Trial) -> Iterator[str]:
    """The absences that a List without some kinds invents."""
    full, part = trial.answers()
    if full.code == RAISED:
        return
    for check in CHECKS:
        yield from (
            f"{trial.whole.name} {trial.question} {trial.target} -n {trial.namespace} {trial.hole} without "
            f"{sorted(trial.missing)}: {found}"
            for found in check(trial, full, part)
        )


def test_list_without_some_kinds_invents_nothing() -> None:
    wrong = [found for trial in trials(1, 300) for found in violations(trial)]
    assert not wrong, "\n".join(wrong)


RELATED: Final = {"claim": (CLAIMS, "data"), "budget": (BUDGETS, "web"), "quota": (QUOTAS, "compute")}
"""Clusters with an object of each kind that pods depend on, and its name."""


@pytest.mark.parametrize("what", RELATED)
def test_list_without_one_kind_invents_nothing_about_it(what: str) -> None:
    found, name = RELATED[what]
    wrong: list[str] = []
    for code, cases in found.items():
        _, *objects = next(iter(cases.values()))
        whole = Whole(code, [raw_node("n1"), *objects], datetime.fromisoformat(RELATED_NOW))
        for kind in {entry["kind"] for entry in whole.objects} - QUESTIONS[f"explain {what}"][2]:
            for hole in ("list", "rights"):
                trial = Trial(whole, f"explain {what}", "default", name, frozenset({kind}), hole)
                wrong += violations(trial)
    assert not wrong, "\n".join(wrong)


@pytest.mark.long("test_list_without_some_kinds_invents_nothing")
@pytest.mark.parametrize("seed", range(10))
def test_thousands_of_partial_lists_invent_nothing(seed: int) -> None:
    wrong = [found for trial in trials(100 + seed, 250) for found in violations(trial)]
    assert not wrong, "\n".join(wrong)
