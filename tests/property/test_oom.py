"""oom_score_adj stays within its bounds and falls as requests grow."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from podrules.api.model.pod import Pod, PodQOSClass
from podrules.pod.oom import OOMRule, OOMScoreAdj, pod_oom_score_adjs
from podrules.pod.qos import compute_pod_qos
from tests.objects import make_pod, raw_container, raw_sidecar
from tests.property.strategies import pods

capacities = st.integers(2**27, 2**42)
requests = st.integers(0, 2**41)


def _scores(pod: Pod, capacity: int) -> list[OOMScoreAdj]:
    scores = pod_oom_score_adjs(pod, capacity)
    assert scores is not None
    return list(scores)


def _adj(memory: int, capacity: int) -> int:
    pod = make_pod(containers=[raw_container(requests={"cpu": "1m", "memory": str(memory)})])
    return _scores(pod, capacity)[0].value


@given(pods(), capacities)
def test_Q2_value_is_within_the_bounds_of_its_class(pod: Pod, capacity: int) -> None:
    bounds = {
        PodQOSClass.GUARANTEED: range(-997, -996),
        PodQOSClass.BEST_EFFORT: range(1000, 1001),
        PodQOSClass.BURSTABLE: range(3, 1000),
    }[compute_pod_qos(pod)]
    assert all(score.value in bounds for score in _scores(pod, capacity))


@given(requests, requests, capacities)
def test_Q2_larger_request_never_gives_a_larger_value(first: int, second: int, capacity: int) -> None:
    small, large = sorted((first, second))
    assert _adj(large, capacity) <= _adj(small, capacity)


@given(requests, capacities, capacities)
def test_Q2_larger_node_never_gives_a_smaller_value(memory: int, first: int, second: int) -> None:
    small, large = sorted((first, second))
    assert _adj(memory, large) >= _adj(memory, small)


@given(st.lists(requests, min_size=1, max_size=3), requests, capacities)
def test_Q2_sidecar_is_not_above_the_smallest_app_container(app: list[int], own: int, capacity: int) -> None:
    pod = make_pod(
        containers=[
            raw_container(f"app-{index}", requests={"cpu": "1m", "memory": str(memory)})
            for index, memory in enumerate(app)
        ],
        initContainers=[raw_sidecar(requests={"memory": str(own)})],
    )
    *apps, sidecar = _scores(pod, capacity)
    assert sidecar.is_sidecar
    assert sidecar.value <= max(score.value for score in apps)
    assert sidecar.value <= _adj(own, capacity)


@given(pods(), capacities)
def test_Q2_value_is_its_formula_unless_another_line_decided(pod: Pod, capacity: int) -> None:
    for score in _scores(pod, capacity):
        assert score.memory_request >= 0
        if score.formula_value is None:
            below_0 = score.rule is OOMRule.BURSTABLE_FLOOR and score.memory_request + score.pod_level_share > capacity
            assert score.value == 3 if below_0 else score.value in {-997, 1000}
        elif score.value != score.formula_value:
            assert score.value in {3, 999, score.app_minimum}


@given(st.lists(requests, min_size=1, max_size=3), st.integers(0, 2**43), capacities)
def test_Q2_pod_level_share_gives_away_no_more_than_is_left(app: list[int], pod_request: int, capacity: int) -> None:
    pod = make_pod(
        containers=[
            raw_container(f"app-{index}", requests={"memory": str(memory)}) for index, memory in enumerate(app)
        ],
        resources={"requests": {"cpu": "1m", "memory": str(pod_request)}},
    )
    for score in _scores(pod, capacity):
        if pod_request:
            left = max(pod_request - sum(app), 0)
            assert score.pod_level_share * len(app) <= left < (score.pod_level_share + 1) * len(app)
        else:
            assert score.pod_level_share == 0
