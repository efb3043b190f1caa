"""Changes of DynamicResources between minors without a gate."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytest

from podrules.api.features import Features
from podrules.scheduling.scheduler.framework.answers import SUCCESS, Code, ScoreError, Status
from podrules.scheduling.scheduler.plugins.dynamic_resources import DynamicResources
from tests.features import around
from tests.podrules.scheduling.scheduler.plugins.building_devices import (
    DRIVER,
    make_claim,
    make_claiming_pod,
    make_class,
    make_context,
    make_device,
    make_request,
    make_slice,
)
from tests.podrules.scheduling.scheduler.plugins.building_nodes import filter_status
from tests.table import row, table

JSON = Mapping[str, Any]
DEVICES = DynamicResources()
POD = make_claiming_pod("my-claim")
TWICE = make_slice("device-1", "device-1")
ONE = [make_slice("device-1")]
CAPACITY = make_request(capacity={"requests": {"memory": "1Gi"}})
DISTINCT = {"distinctAttribute": f"{DRIVER}/shape"}


def judged(features: Features, claims: Sequence[JSON], slices: Sequence[JSON]) -> Status:
    """Whether the pod gets the devices of its claim on node-1."""
    classes = [make_class("gpu", "device.driver != ''")]
    context = make_context(POD, claims=claims, slices=slices, classes=classes, features=features)
    return filter_status(DEVICES, context)


def error(text: str) -> Status:
    return Status(Code.ERROR, (text,))


def rejected(text: str) -> Status:
    return Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, (text,))


CANNOT = rejected("cannot allocate all claims")


def asking(*requests: JSON, **fields: Any) -> list[JSON]:
    return [make_claim("my-claim", *requests, **fields)]


def either(*alternatives: JSON, name: str = "req-0") -> list[JSON]:
    return asking(make_request(name, first_available=alternatives))


def shaped(*shapes: str) -> list[JSON]:
    """Devices of these shapes."""
    return [make_slice(*(make_device(f"gpu-{at}", attributes={"shape": shape}) for at, shape in enumerate(shapes)))]


def counted(driver: str = DRIVER, **fields: Any) -> list[JSON]:
    """A device that takes the only slot of its pool."""
    counters = {"set": {"slots": "1"}}
    device = make_device("a", counters=counters, **fields)
    return [
        make_slice(name=f"{driver}-counters", driver=driver, slices=2, counters=counters),
        make_slice(device, name=f"{driver}-devices", driver=driver, slices=2),
    ]


ALL = make_request(allocationMode="All")
HALF = make_slice("device-1", slices=2)
SHARED = make_device("a", capacity={"memory": "2Gi"}, allowMultipleAllocations=True)
SHARE = {"device": "a", "shareID": "share"}
GOOD = [make_slice(make_device("a", attributes={"good": True}), make_device("b", attributes={"good": False}))]
ALL_GOOD = make_request("rest", allocationMode="All", selector="device.attributes['gpu.example.com'].good")
BROKEN = make_request("second", allocationMode="All", selector="device.attributes['gpu.example.com'].nope")
REQUEST = "claim default/my-claim, request req"
NO_CAPACITY = "has capacity requests, but the DRAConsumableCapacity feature is disabled"
UPDATED = f"asks for all devices, but resource pool {DRIVER}/pool-1 is currently being updated"
UNKNOWN_CONSTRAINT = "claim default/my-claim, constraint #0: empty constraint (unsupported constraint type?)"
NO_SUCH_KEY = "claim default/my-claim: selector #0: CEL runtime error: no such key: nope"


@table(
    "change, claims, slices, before, after",
    {
        "an invalid pool is an error until 1.34": row(
            "dra_pools_as_a_whole",
            asking(),
            [TWICE],
            error("pool pool-1 is invalid: duplicate device name device-1"),
            rejected("invalid resource pools were encountered"),
        ),
        "an invalid pool after another is no error": row(
            "dra_pools_as_a_whole",
            asking(),
            [make_slice("device-1", pool="first", name="slice-0"), TWICE],
            SUCCESS,
            SUCCESS,
        ),
        "an incomplete pool is used until 1.34": row("dra_pools_as_a_whole", asking(), [HALF], SUCCESS, CANNOT),
        "slices of other nodes complete a pool since 1.35": row(
            "dra_pools_as_a_whole",
            asking(ALL),
            [HALF, make_slice("device-2", slices=2, name="slice-2", node="node-2")],
            error(f"{REQUEST}-0: {UPDATED}"),
            SUCCESS,
        ),
        "a request for capacity is an error until 1.34": row(
            "dra_allocator_by_binding", asking(CAPACITY), ONE, error(f"{REQUEST}-0: {NO_CAPACITY}"), SUCCESS
        ),
        "the error of an alternative names the request": row(
            "dra_allocator_by_binding",
            either({**CAPACITY, "name": "large"}, name="req-7"),
            ONE,
            error(f"{REQUEST}-7: {NO_CAPACITY}"),
            SUCCESS,
        ),
        "distinct attributes: until 1.36 it remembers the last of a request": row(
            "dra_distinct_by_device",
            asking(make_request(count=3), constraints=[DISTINCT]),
            shaped("round", "square", "round"),
            SUCCESS,
            CANNOT,
        ),
        # In 1.34 it compares pointers to the values, which are never equal.
        "distinct attributes in 1.34 but not in 1.35": row(
            "dra_allocator_by_binding",
            asking(make_request(count=2), constraints=[DISTINCT]),
            shaped("round", "round"),
            SUCCESS,
            error(UNKNOWN_CONSTRAINT),
        ),
        "a full device counts for all devices since 1.37": row(
            "dra_all_by_whole_capacity",
            [*asking(ALL), make_claim("other", allocated=[{**SHARE, "consumedCapacity": {"memory": "1Gi"}}])],
            [make_slice(SHARED, "b")],
            SUCCESS,
            CANNOT,
        ),
        "pools of one name share counters until 1.36": row(
            "dra_counters_by_driver",
            asking(make_request(count=2)),
            [*counted(), *counted("nic.example.com")],
            CANNOT,
            SUCCESS,
        ),
        "a further share takes no counters since 1.37": row(
            "dra_shares_without_capacity",
            [*asking(), make_claim("other", allocated=[SHARE])],
            counted(allowMultipleAllocations=True),
            CANNOT,
            SUCCESS,
        ),
        # It loses the position among the alternatives, and searches for the rest of the first one.
        "all devices of a later alternative: not until 1.35": row(
            "dra_search_goes_on", either(make_request("first", count=3), ALL_GOOD), GOOD, CANNOT, SUCCESS
        ),
        # It caches its result for each device, and reuses the cache of the earlier alternative.
        "all devices uses the earlier alternative until 1.35": row(
            "dra_alternatives_apart", either({**ALL, "name": "first"}, BROKEN), ONE, SUCCESS, error(NO_SUCH_KEY)
        ),
    },
)
def test_result_before_and_after_a_change(
    change: str, claims: Sequence[JSON], slices: Sequence[JSON], before: Status, after: Status
) -> None:
    assert tuple(judged(features, claims, slices) for features in around(change)) == (before, after)


def test_rounded_amount_has_format_of_step_since_1_37() -> None:
    before, after = around("dra_rounded_like_step")
    policy = {"default": "1G", "validRange": {"min": "1G", "step": "100M"}}
    capacity = {"bandwidth": {"value": "10G", "requestPolicy": policy}}
    device = make_device("a", capacity=capacity, allowMultipleAllocations=True)
    asked = make_claim("my-claim", make_request(capacity={"requests": {"bandwidth": "1150M"}}))
    taken = []
    for features in (before, after):
        context = make_context(POD, claims=[asked], slices=[make_slice(device)], features=features)
        found = DEVICES.pre_filter(context)
        DEVICES.filter(context, found.state)
        taken.append(str(found.state.allocations[0][0][0].consumed["bandwidth"]))
    assert taken == ["1171875Ki", "1200M"]


@pytest.mark.parametrize("minor", [34, 35, 36, 37])
def test_message_about_a_claim_of_another_pod(minor: int) -> None:
    who = "Pod" if minor >= 36 else "pod"
    pod = make_claiming_pod(template_claims={"mine": "template"}, statuses={"mine": "other"})
    context = make_context(pod, claims=[make_claim("other")], features=Features.of_minor(minor))
    found = DEVICES.pre_enqueue(pod, context.snapshot, context.features)
    assert found.reasons == (
        f"ResourceClaim default/other was not created for {who} default/my-pod ({who} is not owner)",
    )


def test_claim_that_is_allocated_cannot_be_scored_until_1_35() -> None:
    before, after = around("dra_score_of_allocated")
    alternatives = make_request("req-0", first_available=[make_request("large"), make_request("small")])
    given = make_claim("given", alternatives, allocated=[{"request": "req-0/large", "device": "device-1"}])
    pod = make_claiming_pod("given", "my-claim")

    def score(features: Features) -> list[int]:
        slices = [make_slice("device-1", "device-2")]
        context = make_context(pod, claims=[given, make_claim()], slices=slices, features=features)
        found = DEVICES.pre_filter(context)
        context.states[DEVICES.name] = found.state
        assert Code(int(DEVICES.filter(context, found.state).codes[0])) is Code.SUCCESS
        return [int(points) for points in DEVICES.score(context, None, np.array([0], np.int32))]

    with pytest.raises(ScoreError, match="number of allocations 1 is smaller than number of claims"):
        score(before)
    assert score(after) == [100]
