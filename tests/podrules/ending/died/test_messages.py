"""Messages of components about an end, in upstream's formats."""

from __future__ import annotations

import pytest

from podrules.ending.died.cause import Cause
from podrules.ending.died.messages import (
    OverUse,
    cause_of_eviction,
    cause_of_kill,
    cause_of_status,
    deleted_name,
    eviction_numbers,
    is_plain_stop,
)

LOW = "The node was low on resource: memory. Threshold quantity: 100Mi, available: 73216Ki. "
USED = "Container export was using 9437588Ki, request is 1Gi, has larger consumption of memory. "
OF_POD = "Pod web was using 300Mi, request is 200Mi, has larger consumption of memory. "


@pytest.mark.parametrize(
    ("reason", "message", "cause"),
    [
        ("Evicted", LOW + USED, Cause.EVICTED_MEMORY),
        ("Evicted", "The node was low on resource: ephemeral-storage. ", Cause.EVICTED_DISK),
        ("Evicted", "The node was low on resource: inodes. ", Cause.EVICTED_INODES),
        ("Evicted", "The node was low on resource: pids. ", Cause.EVICTED_PIDS),
        (
            "Evicted",
            'Container main exceeded its local ephemeral storage limit "10Mi". ',
            Cause.CONTAINER_STORAGE_LIMIT,
        ),
        (
            "Evicted",
            "Pod ephemeral local storage usage exceeds the total limit of containers 20Mi. ",
            Cause.POD_STORAGE_LIMIT,
        ),
        ("Evicted", 'Usage of EmptyDir volume "scratch" exceeds the limit "5Mi". ', Cause.EMPTY_DIR_LIMIT),
        ("Evicted", "Pod was rejected: The node had condition: [MemoryPressure]. ", Cause.REJECTED),
        ("Evicted", "my own controller says so", None),
        ("Preempting", "Preempted in order to admit critical pod", Cause.KUBELET_PREEMPTION),
        ("DeadlineExceeded", "Pod was active on the node longer than the specified deadline", Cause.ACTIVE_DEADLINE),
        ("Terminated", "Pod was terminated in response to imminent node shutdown.", Cause.NODE_SHUTDOWN),
        ("OutOfcpu", "Pod was rejected: Node didn't have enough resource: cpu, requested: 9", Cause.REJECTED),
        ("", "", None),
        ("Shutdown", "Node is shutting, evicting pods", Cause.NODE_SHUTDOWN),
        ("Shutdown", "Node is shutting down, evicting pods", Cause.NODE_SHUTDOWN),
        ("Shutdown", "the maintenance window begins", None),
        ("MatchNodeSelector", "Pod Predicate MatchNodeSelector failed", Cause.REJECTED),
        ("NodeAffinity", "Predicate NodeAffinity failed", Cause.REJECTED),
        ("HostName", "Pod Predicate HostName failed", Cause.REJECTED),
        ("Evicted", "The node had condition: [DiskPressure]. ", Cause.REJECTED),
        ("Evicted", "Pod The node had condition: [MemoryPressure PIDPressure]. ", Cause.REJECTED),
        ("NodeLost", "Node n which was running pod web is unresponsive", None),
    ],
)
def test_facts_from_a_status(reason: str, message: str, cause: Cause | None) -> None:
    assert cause_of_status(reason, message) is cause


def test_eviction_event_names_the_same_facts() -> None:
    assert cause_of_eviction(LOW + USED) is Cause.EVICTED_MEMORY


def test_numbers_of_an_eviction() -> None:
    numbers = eviction_numbers(LOW + OF_POD + USED)

    assert (numbers.resource, numbers.threshold, numbers.available) == ("memory", "100Mi", "73216Ki")
    assert numbers.over == (
        OverUse("web", whole_pod=True, used="300Mi", requested="200Mi"),
        OverUse("export", whole_pod=False, used="9437588Ki", requested="1Gi"),
    )
    assert (numbers.name, numbers.limit) == ("", "")


@pytest.mark.parametrize(
    ("message", "name", "limit"),
    [
        ('Container main exceeded its local ephemeral storage limit "10Mi". ', "main", "10Mi"),
        ("Pod ephemeral local storage usage exceeds the total limit of containers 20Mi. ", "", "20Mi"),
        ('Usage of EmptyDir volume "scratch" exceeds the limit "5Mi". ', "scratch", "5Mi"),
        ("something else", "", ""),
    ],
)
def test_own_limits_of_the_pod(message: str, name: str, limit: str) -> None:
    numbers = eviction_numbers(message)

    assert (numbers.name, numbers.limit) == (name, limit)
    assert not numbers.resource
    assert not numbers.over


@pytest.mark.parametrize(
    ("message", "cause"),
    [
        ("Container web failed liveness probe, will be restarted", Cause.LIVENESS_PROBE),
        ("Init container side failed startup probe", Cause.STARTUP_PROBE),
        ("FailedPostStartHook", Cause.POST_START_HOOK),
        ("Container web resize requires restart, will be restarted", Cause.RESIZE),
        ("Container web definition changed, will be restarted", Cause.DEFINITION_CHANGED),
        ("Stopping container web", None),
    ],
)
def test_reasons_of_container_kills(message: str, cause: Cause | None) -> None:
    assert cause_of_kill(message) is cause
    assert is_plain_stop(message) is (cause is None)


def test_pod_that_a_controller_deleted() -> None:
    assert deleted_name("Deleted pod: web-7d9f-x2x7p") == "web-7d9f-x2x7p"
    assert deleted_name("Delete Pod db-1 in StatefulSet db successful") == "db-1"
    assert not deleted_name("(combined from similar events): 12 pods")
