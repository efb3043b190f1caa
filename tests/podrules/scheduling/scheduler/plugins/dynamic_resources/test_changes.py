"""Changes of DynamicResources between minors without a gate."""

from __future__ import annotations

from collections.abc import Mapping
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

JSON = Mapping[str, Any]
DEVICES = DynamicResources()
POD = make_claiming_pod("my-claim")
TWICE = make_slice("device-1", "device-1")
CANNOT = Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, ("cannot allocate all claims",))
CAPACITY = make_request(capacity={"requests": {"memory": "1Gi"}})
DISTINCT = {"distinctAttribute": f"{DRIVER}/shape"}


def status(features: Features, *slices: JSON, claim: JSON | None = None) -> Status:
    """Whether the pod gets the devices of its claim on node-1."""
    return filter_status(DEVICES, make_context(POD, claims=[claim or make_claim()], slices=slices, features=features))


def error(text: str) -> Status:
    return Status(Code.ERROR, (text,))


def test_invalid_pool_is_an_error_until_1_34() -> None:
    before, after = around("dra_pools_as_a_whole")
    assert status(before, TWICE) == error("pool pool-1 is invalid: duplicate device name device-1")
    assert status(after, TWICE).code is Code.UNSCHEDULABLE_AND_UNRESOLVABLE


def test_invalid_pool_after_another_is_no_error() -> None:
    before, _ = around("dra_pools_as_a_whole")
    assert status(before, make_slice("device-1", pool="first", name="slice-0"), TWICE) == SUCCESS


def test_incomplete_pool_is_used_until_1_34() -> None:
    before, after = around("dra_pools_as_a_whole")
    half = make_slice("device-1", slices=2)
    assert status(before, half) == SUCCESS
    assert status(after, half) == CANNOT


def test_slices_of_other_nodes_complete_a_pool_since_1_35() -> None:
    before, after = around("dra_pools_as_a_whole")
    everything = make_claim("my-claim", make_request(allocationMode="All"))
    pool = make_slice("device-1", slices=2), make_slice("device-2", slices=2, name="slice-2", node="node-2")
    updated = "is currently being updated"
    assert status(before, *pool, claim=everything) == error(
        f"claim default/my-claim, request req-0: asks for all devices, but resource pool {DRIVER}/pool-1 {updated}"
    )
    assert status(after, *pool, claim=everything) == SUCCESS


def test_request_for_capacity_is_an_error_until_1_34() -> None:
    before, after = around("dra_allocator_by_binding")
    problem = "has capacity requests, but the DRAConsumableCapacity feature is disabled"
    claim = make_claim("my-claim", CAPACITY)
    assert status(before, make_slice("device-1"), claim=claim) == error(
        f"claim default/my-claim, request req-0: {problem}"
    )
    assert status(after, make_slice("device-1"), claim=claim) == SUCCESS


def test_capacity_error_of_alternative_names_the_request() -> None:
    before, _ = around("dra_allocator_by_binding")
    claim = make_claim("my-claim", make_request("req-7", first_available=[{**CAPACITY, "name": "large"}]))
    problem = "has capacity requests, but the DRAConsumableCapacity feature is disabled"
    assert status(before, make_slice("device-1"), claim=claim) == error(
        f"claim default/my-claim, request req-7: {problem}"
    )


def test_distinct_attributes_compare_all_devices_since_1_37() -> None:
    before, after = around("dra_distinct_by_device")
    claim = make_claim("my-claim", make_request(count=3), constraints=[DISTINCT])
    shapes = ("round", "square", "round")
    devices = make_slice(*(make_device(f"device-{at}", attributes={"shape": shape}) for at, shape in enumerate(shapes)))
    assert status(before, devices, claim=claim) == SUCCESS, "it remembers the last of a request"
    assert status(after, devices, claim=claim) == CANNOT


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


def test_full_device_counts_for_all_devices_since_1_37() -> None:
    before, after = around("dra_all_by_whole_capacity")
    held = [{"device": "a", "shareID": "share", "consumedCapacity": {"memory": "1Gi"}}]
    everything = make_claim("my-claim", make_request(allocationMode="All"))
    shared = make_device("a", capacity={"memory": "2Gi"}, allowMultipleAllocations=True)
    claims = [everything, make_claim("other", allocated=held)]

    def found(features: Features) -> Status:
        slices = [make_slice(shared, "b")]
        return filter_status(DEVICES, make_context(POD, claims=claims, slices=slices, features=features))

    assert found(before) == SUCCESS, "it takes the other one"
    assert found(after) == CANNOT


def test_pools_of_one_name_share_counters_until_1_36() -> None:
    before, after = around("dra_counters_by_driver")
    counters = {"set": {"slots": "1"}}
    slices = []
    for driver in (DRIVER, "nic.example.com"):
        slices += [
            make_slice(name=f"{driver}-counters", driver=driver, slices=2, counters=counters),
            make_slice(make_device("a", counters=counters), name=f"{driver}-devices", driver=driver, slices=2),
        ]
    any_class = make_class("gpu", "device.driver != ''")
    claim = make_claim("my-claim", make_request(count=2))

    def found(features: Features) -> Status:
        context = make_context(POD, claims=[claim], slices=slices, classes=[any_class], features=features)
        return filter_status(DEVICES, context)

    assert found(before) == CANNOT
    assert found(after) == SUCCESS


def test_further_share_takes_no_counters_since_1_37() -> None:
    before, after = around("dra_shares_without_capacity")
    counters = {"set": {"slots": "1"}}
    slices = [
        make_slice(name="counters", slices=2, counters=counters),
        make_slice(make_device("a", counters=counters, allowMultipleAllocations=True), name="devices", slices=2),
    ]
    claims = [make_claim("my-claim"), make_claim("other", allocated=[{"device": "a", "shareID": "share"}])]

    def found(features: Features) -> Status:
        return filter_status(DEVICES, make_context(POD, claims=claims, slices=slices, features=features))

    assert found(before) == CANNOT
    assert found(after) == SUCCESS


def test_all_devices_of_a_later_alternative_until_1_35() -> None:
    """Upstream loses the position among the alternatives, and searches for the rest of the first one."""
    before, after = around("dra_search_goes_on")
    first = make_request("first", count=3)
    everything = make_request("rest", allocationMode="All", selector="device.attributes['gpu.example.com'].good")
    claim = make_claim("my-claim", make_request("req-0", first_available=[first, everything]))
    pool = make_slice(make_device("a", attributes={"good": True}), make_device("b", attributes={"good": False}))
    assert status(after, pool, claim=claim) == SUCCESS
    assert status(before, pool, claim=claim) == CANNOT


def test_distinct_attributes_in_1_34_but_not_in_1_35() -> None:
    before, after = around("dra_allocator_by_binding")
    claim = make_claim("my-claim", make_request(count=2), constraints=[DISTINCT])
    alike = make_slice(*(make_device(name, attributes={"shape": "round"}) for name in ("a", "b")))
    # It compares pointers to the values, which are never equal.
    assert status(before, alike, claim=claim) == SUCCESS
    unknown = "empty constraint (unsupported constraint type?)"
    assert status(after, alike, claim=claim) == error(f"claim default/my-claim, constraint #0: {unknown}")


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


def test_all_devices_uses_earlier_alternative_until_1_35() -> None:
    """Upstream caches its result for each device, and reuses the cache of the earlier alternative."""
    before, after = around("dra_alternatives_apart")
    everything = make_request("first", allocationMode="All")
    broken = make_request("second", allocationMode="All", selector="device.attributes['gpu.example.com'].nope")
    claim = make_claim("my-claim", make_request("req-0", first_available=[everything, broken]))
    assert status(before, make_slice("device-1"), claim=claim) == SUCCESS
    assert status(after, make_slice("device-1"), claim=claim).code is Code.ERROR
