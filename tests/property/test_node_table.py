"""A changed table answers as a new one, and the earlier tables keep their answers."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import Struct
from msgspec.structs import replace

from podrules.api.features import REFERENCE
from podrules.api.model.node import Node
from podrules.api.model.pod import Pod
from podrules.scheduling.scheduler.framework import node_table
from podrules.scheduling.scheduler.framework.node_table import NodeTable, PodList
from podrules.scheduling.scheduler.plugins.node_resources.columns import Accounting, Amounts, allocatable
from tests.property.changing_clusters import NODES, PODS, said_of

NAMES = tuple(NODES)
MAX_UIDS = 20


class Add(Struct, frozen=True):
    """Pods by the index of their kind, each with the name of its node."""

    pods: tuple[tuple[int, str], ...]


class Remove(Struct, frozen=True):
    """Pods by uid; some of them may not be there."""

    uids: frozenset[str]


class Become(Struct, frozen=True):
    """Nodes by name, each with the index of what it becomes."""

    nodes: dict[str, int]


class BackTo(Struct, frozen=True):
    """An earlier table, from which to go on."""

    step: int


Step = Add | Remove | Become | BackTo

MAX_KINDS = 6
focuses = st.lists(st.sampled_from(PODS), min_size=2, max_size=MAX_KINDS)
"""The kinds of pods of one example: few, so that they meet."""
kinds = st.integers(0, MAX_KINDS - 1)
placements = st.tuples(kinds, st.sampled_from((*NAMES[:2], *NAMES, "gone")))
uids = st.integers(0, MAX_UIDS - 1).map(str)
steps: st.SearchStrategy[Step] = st.one_of(
    st.builds(Add, st.lists(placements, min_size=1, max_size=4).map(tuple)),
    st.builds(Remove, st.frozensets(uids, min_size=1, max_size=6)),
    st.builds(Become, st.dictionaries(st.sampled_from(NAMES), st.integers(0, 6), min_size=1, max_size=2)),
    st.builds(BackTo, st.integers(0, 8)),
)


class Cluster(Struct, frozen=True):
    """What a table should hold, and the table."""

    focus: list[Pod]
    nodes: tuple[Node, ...]
    pods: tuple[Pod, ...]
    table: NodeTable
    made: int = 0
    """How many pods there have been."""

    def after(self, step: Add | Remove | Become) -> Cluster:
        match step:
            case Add(placed):
                more = [(self._made(kind, self.made + place), name) for place, (kind, name) in enumerate(placed)]
                bound = (replace(pod, spec=replace(pod.spec, node_name=name)) for pod, name in more)
                pods = (*self.pods, *(pod for pod in bound if pod.spec.node_name in NAMES))
                return replace(self, pods=pods, table=self.table.with_pods(more), made=self.made + len(placed))
            case Remove(gone):
                pods = tuple(pod for pod in self.pods if pod.metadata.uid not in gone)
                return replace(self, pods=pods, table=self.table.without_pods(gone))
            case Become(changed):
                other = {name: NODES[name][shape] for name, shape in changed.items()}
                nodes = tuple(other.get(node.metadata.name, node) for node in self.nodes)
                return replace(self, nodes=nodes, table=self.table.with_nodes(other))

    def kind(self, index: int) -> Pod:
        return self.focus[index % len(self.focus)]

    def _made(self, index: int, number: int) -> Pod:
        return _renamed(self.kind(index), number)


def _renamed(pod: Pod, number: int) -> Pod:
    """A pod of its own name. Two may have the same uid, as those of manifests that have none."""
    return replace(
        pod, metadata=replace(pod.metadata, name=f"{pod.metadata.name}-{number}", uid=str(number % MAX_UIDS))
    )


@pytest.fixture(autouse=True, scope="module")
def _soon_full() -> Iterator[None]:
    """Lists and stores with limits so low that generated cases reach them."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(node_table, "_LONGEST_TAIL", 4)
        patch.setattr(node_table, "_MOST", 8)
        yield


@settings(max_examples=100)
@given(
    focuses,
    st.tuples(*[st.integers(0, 6)] * len(NAMES)),
    st.lists(placements, min_size=4, max_size=16),
    st.lists(st.tuples(steps, st.lists(kinds, max_size=2)), min_size=1, max_size=6),
)
def test_a_changed_table_answers_as_a_new_one(
    focus: list[Pod], shapes: tuple[int, ...], placed: list[tuple[int, str]], history: list[tuple[Step, list[int]]]
) -> None:
    nodes = tuple(NODES[name][shape] for name, shape in zip(NAMES, shapes, strict=True))
    found = [Cluster(focus, nodes, (), NodeTable(nodes, ())).after(Add(tuple(placed)))]
    for step, asked in history:
        before = found[-1]
        # A change has to carry over the columns that were requested before.
        for index in asked:
            said_of(before.kind(index), before.table)
        found.append(found[step.step % len(found)] if isinstance(step, BackTo) else before.after(step))
    for cluster in reversed(found):
        _assert_as_new(cluster)


def _assert_as_new(cluster: Cluster) -> None:
    table, new = cluster.table, NodeTable(cluster.nodes, cluster.pods)
    assert tuple(table.nodes) == cluster.nodes
    assert tuple(table.pods) == cluster.pods
    assert table.pod_rows.tolist() == new.pod_rows.tolist()
    assert [table.pods.on(row) for row in range(len(table))] == [new.pods.on(row) for row in range(len(table))]
    held, expected = (one.pods.derived(Accounting(REFERENCE)) for one in (table, new))
    assert held.pods.tolist() == expected.pods.tolist()
    _assert_equal(held.requested, expected.requested)
    _assert_equal(held.nonzero, expected.nonzero)
    _assert_equal(table.nodes.derived(allocatable), new.nodes.derived(allocatable))
    for pod in cluster.focus:
        assert said_of(pod, table) == said_of(pod, new)


def _assert_equal(one: Amounts, other: Amounts) -> None:
    for name in one.columns.keys() | other.columns.keys():
        assert one.of(name).tolist() == other.of(name).tolist()


@given(st.lists(st.tuples(st.booleans(), st.lists(uids, max_size=4)), max_size=12))
def test_a_list_of_pods_is_a_list(history: list[tuple[bool, list[str]]]) -> None:
    plain: list[Pod] = []
    pods = PodList(())
    for adds, names in history:
        if adds:
            more = [_renamed(PODS[0], int(name)) for name in names]
            plain, pods = plain + more, pods.adding(more)
        else:
            places = pods.places(frozenset(names))
            assert places.tolist() == [place for place, pod in enumerate(plain) if pod.metadata.uid in names]
            plain, pods = [pod for pod in plain if pod.metadata.uid not in names], pods.removing(places)
        assert list(pods) == plain
        assert [pods[place] for place in range(len(pods))] == plain
        assert list(pods[1:-1]) == plain[1:-1]
        with pytest.raises(IndexError):
            pods[len(plain)]
