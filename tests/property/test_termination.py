"""Deletions only shorten, and every container gets its two seconds."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from podrules.api.model.pod import Pod
from podrules.ending.deleted_pod import stop_plan
from podrules.pod.termination import (
    check_graceful_delete,
    container_grace_period,
    effective_grace_period,
    eviction_stop,
    kill_timeout,
    termination_order,
)
from tests.controlplane.client import Object
from tests.objects import make_pod, raw_container, raw_sidecar
from tests.restated.termination import DeleteOptions, before_delete

seconds = st.integers(-10, 4000)
periods = st.integers(0, 4000)
optional_seconds = st.none() | seconds
NOW = 1_700_000_000


def _pod(grace: int | None, deletion: int | None = None) -> Pod:
    return make_pod(
        metadata={"deletionGracePeriodSeconds": deletion},
        nodeName="node-1",
        terminationGracePeriodSeconds=grace,
        status={"phase": "Running"},
    )


@st.composite
def _running_pods(draw: st.DrawFn) -> Pod:
    """Pods with hooks of every kind in app containers and sidecars."""
    hooks = st.sampled_from([{"exec": {"command": ["drain"]}}, {"httpGet": {"path": "/"}}]) | st.builds(
        lambda pause: {"sleep": {"seconds": pause}}, st.integers(0, 100)
    )
    lifecycles = st.none() | st.builds(lambda hook: {"preStop": hook}, hooks)
    app = [raw_container(f"app-{index}", lifecycle=draw(lifecycles)) for index in range(draw(st.integers(1, 3)))]
    init: list[Object] = []
    for index in range(draw(st.integers(0, 3))):
        sidecar = draw(st.booleans())
        name = f"init-{index}"
        init.append(raw_sidecar(name, lifecycle=draw(lifecycles)) if sidecar else raw_container(name))
    return make_pod(
        containers=app,
        initContainers=init,
        nodeName="node-1",
        terminationGracePeriodSeconds=draw(st.integers(0, 100)),
        status={"phase": "Running"},
    )


@given(st.integers(1, 4000), optional_seconds, st.integers(-5000, 5000))
@settings(max_examples=200)
def test_T1_second_delete_never_lengthens(current: int, asked: int | None, due_in: int) -> None:
    outcome = before_delete(
        _pod(30, current), DeleteOptions(grace_period_seconds=asked), now=NOW, deletion_time=NOW + due_in
    )
    assert outcome.deletion_grace_period_seconds is not None
    assert 0 <= outcome.deletion_grace_period_seconds <= current
    assert outcome.deletion_time is not None
    assert outcome.deletion_time <= max(NOW, NOW + due_in)
    assert not (outcome.graceful and outcome.graceful_pending)
    if outcome.graceful_pending:
        assert (outcome.deletion_grace_period_seconds, outcome.deletion_time) == (current, NOW + due_in)
    else:
        assert outcome.deletion_time >= NOW


@given(optional_seconds, optional_seconds)
def test_T1_first_delete_gives_what_a_graceful_delete_gives(grace: int | None, asked: int | None) -> None:
    pod = _pod(grace)
    outcome = before_delete(pod, DeleteOptions(grace_period_seconds=asked), now=NOW, deletion_time=None)
    given_seconds = check_graceful_delete(pod, asked).seconds
    assert given_seconds >= 0
    assert outcome.option_seconds == outcome.deletion_grace_period_seconds == given_seconds
    assert outcome.deletion_time == NOW + given_seconds


# A period of 0 means unset to the pod worker, so that it alone can be raised: it has a test of its own.
@given(optional_seconds, st.none() | st.integers(1, 4000), st.lists(st.none() | st.integers(1, 4000), max_size=4))
def test_T2_pod_workers_period_only_decreases(
    grace: int | None, deletion: int | None, overrides: list[int | None]
) -> None:
    pod = _pod(grace, deletion)
    known, shortened = effective_grace_period(pod)
    assert known >= 1
    assert not shortened
    for override in overrides:
        seconds_now, shortened = effective_grace_period(pod, known_seconds=known, override_seconds=override)
        assert 1 <= seconds_now <= known
        assert shortened is (seconds_now < known)
        known = seconds_now


@given(seconds, periods, periods)
def test_T3_containers_get_two_seconds_to_the_period(period: int, pre_stop: int, waited: int) -> None:
    left = container_grace_period(period, pre_stop_seconds=pre_stop, waited_seconds=waited)
    assert 2 <= left <= max(period, 2)


@given(periods, periods, periods)
def test_T3_longer_hook_never_leaves_more(period: int, first: int, second: int) -> None:
    short, long = sorted((first, second))
    assert container_grace_period(period, pre_stop_seconds=long) <= container_grace_period(
        period, pre_stop_seconds=short
    )


@given(_running_pods(), st.none() | st.integers(0, 100))
def test_T3_plan_orders_signals_and_ends_in_time(pod: Pod, asked: int | None) -> None:
    plan = stop_plan(pod, asked)
    period = max(plan.grace.seconds, 1)
    for step in plan.containers:
        assert 0 <= step.sigterm_earliest <= step.sigterm_latest <= period
        assert step.sigterm_latest + 2 <= step.sigkill_latest <= period + 2
    assert plan.sigkill_latest == max(step.sigkill_latest for step in plan.containers)
    names = [step.name for step in plan.containers]
    assert names == [name for group in termination_order(pod) for name in group]
    assert set(names) >= {entry.name for entry in pod.spec.containers}
    # After the first sidecar only sidecars are stopped.
    kinds = [step.is_sidecar for step in plan.containers]
    assert kinds == sorted(kinds)


@given(optional_seconds, optional_seconds, st.none() | periods)
def test_T4_eviction_is_bounded(grace: int | None, deletion: int | None, maximum: int | None) -> None:
    stop = eviction_stop(_pod(grace, deletion), max_pod_grace_period_seconds=maximum)
    assert stop is not None
    assert stop.kill_timeout >= 10
    assert stop.container_seconds == max(stop.pod_seconds, 2)
    assert 1 <= stop.pod_seconds <= max(1, deletion or 0, 1 if maximum is None else maximum)


@given(periods, periods)
def test_T4_kill_timeout_grows_with_the_period(first: int, second: int) -> None:
    short, long = sorted((first, second))
    assert max(10, short) <= kill_timeout(short) <= kill_timeout(long)
