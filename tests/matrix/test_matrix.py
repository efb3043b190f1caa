"""Answers about the same pod never contradict each other, nor its objects: 800 pods of 20 clusters.

`make test-all` asks about 2,000 pods of 50 clusters. The answers are kept for all tests of this file; each invariant is
a test.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from inspect import isfunction
from types import ModuleType

import pytest

from kubectl_plugin.reports.verdict import VerdictCode
from tests.matrix import about_clusters, about_pods
from tests.matrix.answers import ClusterStated, PodStated, answers
from tests.matrix.clusters import CLUSTERS, PODS_EACH, clusters
from tests.matrix.oracle import Truth

_IN_THE_SUITE = 20
_MAX_SHOWN = 12
_POD_CODES = frozenset(
    {
        *(VerdictCode.RUNNING, VerdictCode.STARTING, VerdictCode.WAITING_FOR_VOLUME, VerdictCode.NOT_READY),
        *(VerdictCode.CONTAINER_WAITING, VerdictCode.OOM_KILLED, VerdictCode.NO_GRACE_PERIOD),
        *(VerdictCode.NEAR_MEMORY_LIMIT, VerdictCode.NODE_NOT_READY, VerdictCode.NODE_TAINT_EVICTS),
        *(VerdictCode.NODE_PRESSURE, VerdictCode.NODE_SILENT),
        *(VerdictCode.NODE_OUT_OF_SERVICE, VerdictCode.NODE_REMOVED),
        *(VerdictCode.SCHEDULING_GATED, VerdictCode.UNSCHEDULABLE, VerdictCode.AWAITING_PREEMPTION),
        *(VerdictCode.NOT_YET_BOUND, VerdictCode.PLACEMENT_NOT_MODELLED, VerdictCode.TERMINATING),
        *(VerdictCode.TERMINATING_LATE, VerdictCode.TERMINATING_STUCK, VerdictCode.FAILED, VerdictCode.SUCCEEDED),
    }
)

Truths = Mapping[tuple[str, str], Truth]

pytestmark = pytest.mark.parametrize(
    "every_answer",
    [_IN_THE_SUITE, pytest.param(CLUSTERS, marks=pytest.mark.long("test_of_each_pod, test_of_each_cluster"))],
    indirect=True,
    scope="module",
    ids=lambda count: f"{count} clusters",
)


@pytest.fixture(scope="module")
def every_answer(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Sequence[ClusterStated]:
    """The answers of every command about all clusters."""
    found, seconds = answers(clusters(request.param), tmp_path_factory.mktemp("matrix"))
    assert len(found) == request.param
    print(f"{sum(len(one.pods) for one in found)} pods of {len(found)} clusters: {seconds:.1f} s of CPU")
    return found


@pytest.fixture(scope="module")
def truths(every_answer: Sequence[ClusterStated]) -> Sequence[Truths]:
    """The facts about each pod from its objects."""
    return [{pod.key: Truth(one.cluster, pod.pod) for pod in one.pods} for one in every_answer]


def test_the_matrix_holds_every_state(every_answer: Sequence[ClusterStated], truths: Sequence[Truths]) -> None:
    every = [truth for of_cluster in truths for truth in of_cluster.values()]

    assert len(every) == len(every_answer) * PODS_EACH
    for axis, least in (
        (lambda truth: truth.reach, 5),
        (lambda truth: truth.system, 3),
        (lambda truth: truth.owner, 7),
        (lambda truth: truth.source, 9),
        (lambda truth: truth.qos, 3),
        (lambda truth: (truth.status["phase"], truth.is_terminating, bool(truth.finalizers)), 7),
    ):
        counts = Counter(map(axis, every))
        assert len(counts) >= least, counts
        assert min(counts.values()) >= 5, counts


def test_every_code_of_a_pod_is_reached(every_answer: Sequence[ClusterStated]) -> None:
    found = Counter(pod.explained["verdict"]["code"] for one in every_answer for pod in one.pods)
    assert found.keys() >= {code.value for code in _POD_CODES}, found


def _checks(module: ModuleType) -> list[Callable[..., Iterator[str]]]:
    """The public functions of a module."""
    own = (one for name, one in vars(module).items() if isfunction(one) and not name.startswith("_"))
    return [one for one in own if one.__module__ == module.__name__]


@pytest.mark.parametrize("check", _checks(about_pods), ids=lambda check: check.__name__)
def test_of_each_pod(
    check: Callable[[PodStated, Truth], Iterator[str]], every_answer: Sequence[ClusterStated], truths: Sequence[Truths]
) -> None:
    wrong = [
        f"{pod.id}: {text}"
        for one, known in zip(every_answer, truths, strict=True)
        for pod in one.pods
        for text in check(pod, known[pod.key])
    ]

    assert not wrong, _few(wrong)


@pytest.mark.parametrize("check", _checks(about_clusters), ids=lambda check: check.__name__)
def test_of_each_cluster(
    check: Callable[[ClusterStated, Truths], Iterator[str]],
    every_answer: Sequence[ClusterStated],
    truths: Sequence[Truths],
) -> None:
    wrong = [
        f"{one.cluster.seed}: {text}"
        for one, known in zip(every_answer, truths, strict=True)
        for text in check(one, known)
    ]

    assert not wrong, _few(wrong)


def _few(wrong: Sequence[str]) -> str:
    return "\n".join((f"{len(wrong)} contradictions:", *wrong[:_MAX_SHOWN]))
