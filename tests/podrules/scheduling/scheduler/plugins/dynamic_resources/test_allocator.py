"""Upstream's allocator cases (structured/internal/allocatortesting), with their names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from podrules.scheduling.scheduler.framework.answers import Code
from podrules.scheduling.scheduler.plugins.dynamic_resources import UNKNOWN, DynamicResources
from podrules.scheduling.scheduler.plugins.dynamic_resources import allocator as allocator_module
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
from tests.table import row, table

JSON = Mapping[str, Any]
NONE = "cannot allocate all claims"
TAINT = {"key": "broken", "effect": "NoSchedule"}
TOLERATION = {"key": "broken", "operator": "Exists"}
SHARED: dict[str, Any] = {"allowMultipleAllocations": True}


def allocate(*claims: JSON, slices: Sequence[JSON]) -> list[str] | str:
    """The results of the unallocated claims on node-1, request and device each; or the reason of a failure."""
    waiting = [claim["metadata"]["name"] for claim in claims if "allocation" not in claim["status"]]
    zones: list[JSON] = [
        {"metadata": {"name": name, "labels": {"zone": zone}}} for name, zone in (("node-1", "a"), ("node-2", "b"))
    ]
    context = make_context(make_claiming_pod(*waiting), nodes=zones, claims=claims, slices=slices)
    plugin = DynamicResources()
    state = plugin.pre_filter(context).state
    verdicts = plugin.filter(context, state)
    if verdicts.codes[0]:
        return verdicts.reasons(0)[0]
    return [f"{device.request} {device.id.device}" for devices in state.allocations[0] for device in devices]


def memory(at_least: str) -> str:
    return f'device.capacity["{DRIVER}"].memory.compareTo(quantity("{at_least}")) >= 0'


def in_zone(zone: str) -> JSON:
    expression = {"key": "zone", "operator": "In", "values": [zone]}
    return {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}


def sized(name: str, amount: str, **fields: Any) -> JSON:
    return make_device(name, capacity={"memory": amount}, **fields)


def shaped(*shapes: Any) -> JSON:
    """A slice with a device of each of these shapes."""
    return make_slice(*(make_device(f"device-{at}", attributes={"shape": shape}) for at, shape in enumerate(shapes, 1)))


def wants(*requests: JSON, **fields: Any) -> list[JSON]:
    """One claim."""
    return [make_claim("my-claim", *requests, **fields)]


def either(*counts: int) -> JSON:
    """A request for one of these numbers of devices, the first that there is."""
    return make_request(first_available=[make_request(f"subreq-{at}", count=count) for at, count in enumerate(counts)])


def counted(name: str, **fields: Any) -> JSON:
    """A device that takes one slot."""
    return make_device(name, counters={"set": {"slots": "1"}}, **fields)


def slots(number: str, **fields: Any) -> JSON:
    return make_slice(counters={"set": {"slots": number}}, **fields)


MATCH = {"matchAttribute": f"{DRIVER}/shape"}
DISTINCT = {"distinctAttribute": f"{DRIVER}/shape"}
ALL, ADMIN = make_request(allocationMode="All"), make_request(adminAccess=True)
TAKEN = make_claim("other", allocated=["device-1"])
TWO = (make_request("req-0"), make_request("req-1"))

SMALL_AND_LARGE = (make_request("small", selector=memory("1Gi")), make_request("large", selector=memory("2Gi")))
POLICY = {"value": "2Gi", "requestPolicy": {"default": "1Gi", "validValues": ["1Gi"]}}


@table(
    "claims, slices, expected",
    {
        "simple": row(wants(), [make_slice("device-1", "device-2")], ["req-0 device-1"]),
        "other-node": row(wants(), [make_slice("device-1", node="node-2")], NONE),
        "small-and-large": row(
            wants(*SMALL_AND_LARGE),
            [make_slice(sized("device-1", "1Gi"), sized("device-2", "2Gi"))],
            ["small device-1", "large device-2"],
        ),
        "small-and-large-backtrack-requests": row(
            wants(*SMALL_AND_LARGE),
            [make_slice(sized("device-2", "2Gi"), sized("device-1", "1Gi"))],
            ["small device-1", "large device-2"],
        ),
        "small-and-large-backtrack-claims": row(
            [
                make_claim("claim-1", make_request("small", selector=memory("1Gi"))),
                make_claim("claim-2", make_request("large", selector=memory("2Gi"))),
            ],
            [make_slice(sized("device-2", "2Gi"), sized("device-1", "1Gi"))],
            ["small device-1", "large device-2"],
        ),
        "devices-split-across-different-slices": row(
            wants(*TWO),
            [make_slice("device-1", slices=2), make_slice("device-2", name="slice-2", slices=2)],
            ["req-0 device-1", "req-1 device-2"],
        ),
        "obsolete-slice": row(
            wants(), [make_slice("device-1"), make_slice("device-2", name="slice-2", generation=2)], ["req-0 device-2"]
        ),
        "no-slices": row(wants(), [], NONE),
        "not-enough-suitable-devices": row(wants(*TWO), [make_slice("device-1")], NONE),
        "all-devices-many": row(wants(ALL), [make_slice("device-1", "device-2")], ["req-0 device-1", "req-0 device-2"]),
        "all-devices-of-the-incomplete-pool": row(
            wants(ALL),
            [make_slice("device-1", slices=2)],
            "claim default/my-claim, request req-0: asks for all devices, but resource pool gpu.example.com/pool-1"
            " is currently being updated",
        ),
        "all-devices-no-slices": row(wants(ALL), [], NONE),
        "all-devices-some-allocated": row(
            [make_claim("my-claim", ALL), TAKEN], [make_slice("device-1", "device-2")], NONE
        ),
        "all-devices-some-allocated-admin-access": row(
            [make_claim("my-claim", make_request(allocationMode="All", adminAccess=True)), TAKEN],
            [make_slice("device-1", "device-2")],
            ["req-0 device-1", "req-0 device-2"],
        ),
        "separate-claims-share-device-admin-access": row(
            [make_claim("claim-1", ADMIN), make_claim("claim-2", ADMIN)],
            [make_slice("device-1")],
            ["req-0 device-1", "req-0 device-1"],
        ),
        "admin-access-claims-device-allocating-for-non-admin-access": row(
            [make_claim("claim-1", ADMIN), make_claim("claim-2")], [make_slice("device-1")], NONE
        ),
        "network-attached-device": row(
            wants(), [make_slice("device-1", node="", nodeSelector=in_zone("a"))], ["req-0 device-1"]
        ),
        "unsuccessful-allocation-network-attached-device": row(
            wants(), [make_slice("device-1", node="", nodeSelector=in_zone("b"))], NONE
        ),
        "already-allocated-devices": row(
            [make_claim(), make_claim("other", allocated=["device-1", "device-2"])],
            [make_slice("device-1", "device-2")],
            NONE,
        ),
        "with-constraint": row(
            wants(make_request(count=2), constraints=[MATCH]),
            [shaped("a", "b", "a")],
            ["req-0 device-1", "req-0 device-3"],
        ),
        "with-constraint-non-existent-attribute": row(
            wants(make_request(count=2), constraints=[{"matchAttribute": f"{DRIVER}/nope"}]), [shaped("a", "a")], NONE
        ),
        "with-constraint-not-matching-int-attribute": row(
            wants(make_request(count=2), constraints=[MATCH]), [shaped(1, 2)], NONE
        ),
        "with-constraint-not-matching-int-attribute-all-devices": row(
            wants(ALL, constraints=[MATCH]),
            [shaped(1, 2)],
            "claim default/my-claim, request req-0: cannot add device gpu.example.com/pool-1/device-2 because a claim"
            " constraint would not be satisfied",
        ),
        "with-constraint-not-matching-version-attribute": row(
            wants(make_request(count=2), constraints=[MATCH]),
            [shaped({"version": "1.0.0"}, {"version": "2.0.0"})],
            NONE,
        ),
        "with-constraint-for-request": row(
            wants(*TWO, constraints=[{**MATCH, "requests": ["req-0"]}]),
            [shaped(1, 2)],
            ["req-0 device-1", "req-1 device-2"],
        ),
        "with-distinct-constraints": row(
            wants(*TWO, constraints=[DISTINCT]), [shaped("a", "a", "b")], ["req-0 device-1", "req-1 device-3"]
        ),
        "too-many-devices-single-request": row(
            wants(make_request(count=33)),
            [make_slice("device-1")],
            "claim default/my-claim, request req-0: adding 33 devices exceeds the claim limit of 32, "
            "with 0 already accounted for",
        ),
        "prioritized-list-first-unavailable": row(
            wants(either(2, 1)), [make_slice("device-1")], ["req-0/subreq-1 device-1"]
        ),
        "prioritized-list-non-available": row(wants(either(2, 3)), [make_slice("device-1")], NONE),
        "prioritized-list-too-many-in-first-subrequest": row(
            wants(either(500, 1)), [make_slice("device-1")], ["req-0/subreq-1 device-1"]
        ),
        "prioritized-list-with-backtracking": row(
            wants(either(2, 1), make_request("req-1")),
            [make_slice("device-1", "device-2")],
            ["req-0/subreq-1 device-1", "req-1 device-2"],
        ),
        "prioritized-list-subrequests-with-constraints-ref-sub-request": row(
            wants(either(2, 2), constraints=[{**MATCH, "requests": ["req-0/subreq-0"]}]),
            [shaped(1, 2)],
            ["req-0/subreq-1 device-1", "req-0/subreq-1 device-2"],
        ),
        "partitionable-devices-no-capacity-available": row(
            wants(*TWO),
            [slots("1", slices=2), make_slice(counted("device-1"), counted("device-2"), name="slice-2", slices=2)],
            NONE,
        ),
        "partitionable-devices-taint-releases-counter": row(
            wants(*TWO),
            [
                slots("2", slices=2),
                make_slice(
                    counted("device-1", taints=[TAINT]),
                    counted("device-2"),
                    counted("device-3"),
                    name="slice-2",
                    slices=2,
                ),
            ],
            ["req-0 device-2", "req-1 device-3"],
        ),
        "partitionable-devices-device-counter-consumption-references-unknown-counter-set": row(
            wants(),
            [
                slots("1", slices=2),
                make_slice(make_device("device-1", counters={"nope": {"slots": "1"}}), name="slice-2", slices=2),
            ],
            "invalid resource pools were encountered",
        ),
        "partitionable-devices-devices-on-different-nodes-consume-same-counter-set": row(
            [make_claim(), make_claim("other", allocated=["device-2"])],
            [
                slots("1", slices=3),
                make_slice(counted("device-1"), name="slice-2", slices=3),
                make_slice(counted("device-2"), name="slice-3", slices=3, node="node-2"),
            ],
            NONE,
        ),
        "partitionable-devices-per-device-node-selection-nodename": row(
            wants(),
            [
                make_slice(
                    make_device("device-1", nodeName="node-2"),
                    make_device("device-2", nodeName="node-1"),
                    node="",
                    perDeviceNodeSelection=True,
                )
            ],
            ["req-0 device-2"],
        ),
        "tainted-two-devices": row(
            wants(), [make_slice(make_device("device-1", taints=[TAINT]), make_device("device-2"))], ["req-0 device-2"]
        ),
        "tainted-two-devices-tolerated": row(
            wants(make_request(tolerations=[TOLERATION])),
            [make_slice(make_device("device-1", taints=[TAINT]))],
            ["req-0 device-1"],
        ),
        "tainted-one-device-two-taints": row(
            wants(make_request(tolerations=[TOLERATION])),
            [make_slice(make_device("device-1", taints=[TAINT, {"key": "other", "effect": "NoExecute"}]))],
            NONE,
        ),
        "tainted-no-effect": row(
            wants(),
            [make_slice(make_device("device-1", taints=[{"key": "broken", "effect": "None"}]))],
            ["req-0 device-1"],
        ),
        "binding-conditions-with-and-without": row(
            wants(),
            [
                make_slice(make_device("device-1", bindingConditions=["Ready"], bindingFailureConditions=["Failed"])),
                make_slice("device-2", name="slice-2", pool="pool-2"),
            ],
            ["req-0 device-2"],
        ),
        "consumable-capacity-multi-allocatable-device-with-policy-without-capacity-request": row(
            wants(make_request(capacity={"requests": {"memory": "1Gi"}}), make_request("req-1")),
            [make_slice(make_device("device-1", capacity={"memory": POLICY}, **SHARED))],
            ["req-0 device-1", "req-1 device-1"],
        ),
        "consumable-capacity-multi-allocatable-device-without-policy-without-capacity-request-block": row(
            wants(*TWO), [make_slice(sized("device-1", "2Gi", **SHARED))], NONE
        ),
        "consumable-capacity-multi-allocatable-device-with-missing-capacity-request": row(
            wants(make_request(capacity={"requests": {"speed": "1"}})),
            [make_slice(sized("device-1", "2Gi", **SHARED))],
            NONE,
        ),
        "consumable-capacity-multi-allocatable-device-with-allocated-capacity-next-device": row(
            [
                make_claim("my-claim", make_request(capacity={"requests": {"memory": "1Gi"}})),
                make_claim(
                    "other", allocated=[{"device": "device-1", "shareID": "s", "consumedCapacity": {"memory": "2Gi"}}]
                ),
            ],
            [make_slice(sized("device-1", "2Gi", **SHARED), sized("device-2", "2Gi", **SHARED))],
            ["req-0 device-2"],
        ),
        "different-resourceslices-in-pool-can-target-different-nodes": row(
            wants(),
            [make_slice("device-1", node="node-2", slices=2), make_slice("device-2", name="slice-2", slices=2)],
            ["req-0 device-2"],
        ),
        "invalid-pool-is-ok-if-devices-can-be-allocated-from-other": row(
            wants(),
            [make_slice("device-1", "device-1"), make_slice("device-2", name="slice-2", pool="pool-2")],
            ["req-0 device-2"],
        ),
        "invalid-pool-is-error-if-no-other-device-can-be-allocated": row(
            wants(), [make_slice("device-1", "device-1")], "invalid resource pools were encountered"
        ),
        "no-allocation-from-incomplete-pools": row(wants(), [make_slice("device-1", slices=2)], NONE),
        "a complete old pool is used where the newer generation does not reach": row(
            wants(),
            [make_slice("device-1", slices=1), make_slice("device-2", name="slice-2", node="node-2", generation=2)],
            ["req-0 device-1"],
        ),
        "multi-host-resource-pool-with-stale-slice-for-current-node": row(
            wants(ALL),
            [make_slice("device-1", slices=2), make_slice("device-2", name="slice-2", node="node-2", generation=2)],
            NONE,
        ),
    },
)
def test_allocate(claims: list[JSON], slices: list[JSON], expected: list[str] | str) -> None:
    assert allocate(*claims, slices=slices) == expected


@table(
    "wanted, policy, consumed",
    {
        "range-policy-step": row("1500Mi", {"default": "1Gi", "validRange": {"min": "1Gi", "step": "1Gi"}}, "2Gi"),
        "below the least": row("100Mi", {"default": "1Gi", "validRange": {"min": "1Gi"}}, "1Gi"),
        "valid-values-policy-round-up": row("3Gi", {"default": "1Gi", "validValues": ["1Gi", "2Gi", "4Gi"]}, "4Gi"),
        "a valid value": row("2Gi", {"default": "1Gi", "validValues": ["1Gi", "2Gi", "4Gi"]}, "2Gi"),
        "beyond the valid values": row("5Gi", {"default": "1Gi", "validValues": ["1Gi", "2Gi", "4Gi"]}, None),
        "request-over-max-sharing-policy": row(
            "9Gi", {"default": "1Gi", "validRange": {"min": "1Gi", "max": "8Gi"}}, None
        ),
        "exceeded-consumable-capacity-request": row("17Gi", None, None),
        "without-policy-with-capacity-request": row("3Gi", None, "3Gi"),
    },
)
def test_consumed_capacity(wanted: str, policy: JSON | None, consumed: str | None) -> None:
    capacity = {"memory": {"value": "16Gi"} | ({"requestPolicy": policy} if policy else {})}
    claim = make_claim("my-claim", make_request(capacity={"requests": {"memory": wanted}}))
    device = make_device("device-1", capacity=capacity, **SHARED)
    context = make_context(make_claiming_pod("my-claim"), claims=[claim], slices=[make_slice(device)])
    plugin = DynamicResources()
    state = plugin.pre_filter(context).state
    verdicts = plugin.filter(context, state)
    if consumed is None:
        assert verdicts.reasons(0) == (NONE,)
    else:
        assert str(state.allocations[0][0][0].consumed["memory"]) == consumed


def test_pools_of_a_driver_are_tried_in_order_of_their_names() -> None:
    slices = [make_slice("device-2", pool="b"), make_slice("device-1", name="slice-2", pool="a")]
    assert allocate(make_claim(), slices=slices) == ["req-0 device-1"]


def test_class_that_a_subrequest_names_is_checked_before() -> None:
    claim = make_claim("my-claim", make_request(first_available=[make_request("subreq-0", device_class="nope")]))
    context = make_context(make_claiming_pod("my-claim"), claims=[claim], classes=[make_class()])
    status = DynamicResources().pre_filter(context).status
    assert status.reasons == ("request req-0/subreq-0: device class nope does not exist",)


def test_endless_search_is_aborted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(allocator_module, "MAX_STEPS", 100)
    devices = [make_device(f"device-{index:02}", attributes={"shape": index // 2}) for index in range(20)]
    requests = [make_request(f"req-{index}", count=2) for index in range(12)]
    claim = make_claim("my-claim", *requests, constraints=[{**MATCH, "requests": ["req-11"]}])
    context = make_context(make_claiming_pod("my-claim"), claims=[claim], slices=[make_slice(*devices)])
    plugin = DynamicResources()
    verdicts = plugin.filter(context, plugin.pre_filter(context).state)
    assert verdicts.codes[0] == Code.ERROR
    assert verdicts.reasons(0)[0].startswith(UNKNOWN)
