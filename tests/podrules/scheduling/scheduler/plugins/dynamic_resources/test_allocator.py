"""Upstream's allocator cases (structured/internal/allocatortesting), with their names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from podrules.scheduling.scheduler.framework.answers import Code
from podrules.scheduling.scheduler.plugins.dynamic_resources import UNKNOWN, DynamicResources
from podrules.scheduling.scheduler.plugins.dynamic_resources import allocator as allocator_module
from tests.cases import cases, row
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

JSON = Mapping[str, Any]
NONE = "cannot allocate all claims"
TAINT = {"key": "broken", "effect": "NoSchedule"}
TOLERATION = {"key": "broken", "operator": "Exists"}
SHARED: dict[str, Any] = {"allowMultipleAllocations": True}


def allocate(
    *claims: JSON, slices: Sequence[JSON], classes: Sequence[JSON] | None = None, node: str = "node-1"
) -> list[str] | str:
    """The results of the unallocated claims on a node, request and device each; or the reason of a failure."""
    waiting = [claim["metadata"]["name"] for claim in claims if "allocation" not in claim["status"]]
    zones: list[JSON] = [
        {"metadata": {"name": name, "labels": {"zone": zone}}} for name, zone in (("node-1", "a"), ("node-2", "b"))
    ]
    context = make_context(make_claiming_pod(*waiting), nodes=zones, claims=claims, slices=slices, classes=classes)
    plugin = DynamicResources()
    state = plugin.pre_filter(context).state
    verdicts = plugin.filter(context, state)
    row = context.table.index[node]
    if verdicts.codes[row]:
        return verdicts.reasons(row)[0]
    return [f"{device.request} {device.id.device}" for devices in state.allocations[row] for device in devices]


def memory(at_least: str) -> str:
    return f'device.capacity["{DRIVER}"].memory.compareTo(quantity("{at_least}")) >= 0'


def in_zone(zone: str) -> JSON:
    expression = {"key": "zone", "operator": "In", "values": [zone]}
    return {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}


def sized(name: str, amount: str, **fields: Any) -> JSON:
    return make_device(name, capacity={"memory": amount}, **fields)


def attributed(name: str, value: Any, **fields: Any) -> JSON:
    return make_device(name, attributes={"shape": value}, **fields)


def sub(name: str, **fields: Any) -> JSON:
    return make_request(name, **fields)


MATCH = {"matchAttribute": f"{DRIVER}/shape"}
DISTINCT = {"distinctAttribute": f"{DRIVER}/shape"}
ALL: dict[str, Any] = {"allocationMode": "All"}
TWO = (make_request("req-0"), make_request("req-1"))

SMALL_AND_LARGE = (make_request("small", selector=memory("1Gi")), make_request("large", selector=memory("2Gi")))
POLICY = {"value": "2Gi", "requestPolicy": {"default": "1Gi", "validValues": ["1Gi"]}}

CASES = [
    pytest.param([make_claim()], [make_slice("device-1", "device-2")], ["req-0 device-1"], id="simple"),
    pytest.param([make_claim()], [make_slice("device-1", node="node-2")], NONE, id="other-node"),
    pytest.param(
        [make_claim("my-claim", *SMALL_AND_LARGE)],
        [make_slice(sized("device-1", "1Gi"), sized("device-2", "2Gi"))],
        ["small device-1", "large device-2"],
        id="small-and-large",
    ),
    pytest.param(
        [make_claim("my-claim", *SMALL_AND_LARGE)],
        [make_slice(sized("device-2", "2Gi"), sized("device-1", "1Gi"))],
        ["small device-1", "large device-2"],
        id="small-and-large-backtrack-requests",
    ),
    pytest.param(
        [
            make_claim("claim-1", make_request("small", selector=memory("1Gi"))),
            make_claim("claim-2", make_request("large", selector=memory("2Gi"))),
        ],
        [make_slice(sized("device-2", "2Gi"), sized("device-1", "1Gi"))],
        ["small device-1", "large device-2"],
        id="small-and-large-backtrack-claims",
    ),
    pytest.param(
        [make_claim("my-claim", *TWO)],
        [make_slice("device-1", slices=2), make_slice("device-2", name="slice-2", slices=2)],
        ["req-0 device-1", "req-1 device-2"],
        id="devices-split-across-different-slices",
    ),
    pytest.param(
        [make_claim()],
        [make_slice("device-1"), make_slice("device-2", name="slice-2", generation=2)],
        ["req-0 device-2"],
        id="obsolete-slice",
    ),
    pytest.param([make_claim()], [], NONE, id="no-slices"),
    pytest.param([make_claim("my-claim", *TWO)], [make_slice("device-1")], NONE, id="not-enough-suitable-devices"),
    pytest.param(
        [make_claim("my-claim", make_request(**ALL))],
        [make_slice("device-1", "device-2")],
        ["req-0 device-1", "req-0 device-2"],
        id="all-devices-many",
    ),
    pytest.param(
        [make_claim("my-claim", make_request(**ALL))],
        [make_slice("device-1", slices=2)],
        "claim default/my-claim, request req-0: asks for all devices, but resource pool gpu.example.com/pool-1"
        " is currently being updated",
        id="all-devices-of-the-incomplete-pool",
    ),
    pytest.param([make_claim("my-claim", make_request(**ALL))], [], NONE, id="all-devices-no-slices"),
    pytest.param(
        [make_claim("my-claim", make_request(**ALL)), make_claim("other", allocated=["device-1"])],
        [make_slice("device-1", "device-2")],
        NONE,
        id="all-devices-some-allocated",
    ),
    pytest.param(
        [make_claim("my-claim", make_request(adminAccess=True, **ALL)), make_claim("other", allocated=["device-1"])],
        [make_slice("device-1", "device-2")],
        ["req-0 device-1", "req-0 device-2"],
        id="all-devices-some-allocated-admin-access",
    ),
    pytest.param(
        [make_claim("claim-1", make_request(adminAccess=True)), make_claim("claim-2", make_request(adminAccess=True))],
        [make_slice("device-1")],
        ["req-0 device-1", "req-0 device-1"],
        id="separate-claims-share-device-admin-access",
    ),
    pytest.param(
        [make_claim("claim-1", make_request(adminAccess=True)), make_claim("claim-2")],
        [make_slice("device-1")],
        NONE,
        id="admin-access-claims-device-allocating-for-non-admin-access",
    ),
    pytest.param(
        [make_claim()],
        [make_slice("device-1", node="", nodeSelector=in_zone("a"))],
        ["req-0 device-1"],
        id="network-attached-device",
    ),
    pytest.param(
        [make_claim()],
        [make_slice("device-1", node="", nodeSelector=in_zone("b"))],
        NONE,
        id="unsuccessful-allocation-network-attached-device",
    ),
    pytest.param(
        [make_claim(), make_claim("other", allocated=["device-1", "device-2"])],
        [make_slice("device-1", "device-2")],
        NONE,
        id="already-allocated-devices",
    ),
    pytest.param(
        [make_claim("my-claim", make_request(count=2), constraints=[MATCH])],
        [make_slice(attributed("device-1", "a"), attributed("device-2", "b"), attributed("device-3", "a"))],
        ["req-0 device-1", "req-0 device-3"],
        id="with-constraint",
    ),
    pytest.param(
        [make_claim("my-claim", make_request(count=2), constraints=[{"matchAttribute": f"{DRIVER}/nope"}])],
        [make_slice(attributed("device-1", "a"), attributed("device-2", "a"))],
        NONE,
        id="with-constraint-non-existent-attribute",
    ),
    pytest.param(
        [make_claim("my-claim", make_request(count=2), constraints=[MATCH])],
        [make_slice(attributed("device-1", 1), attributed("device-2", 2))],
        NONE,
        id="with-constraint-not-matching-int-attribute",
    ),
    pytest.param(
        [make_claim("my-claim", make_request(**ALL), constraints=[MATCH])],
        [make_slice(attributed("device-1", 1), attributed("device-2", 2))],
        "claim default/my-claim, request req-0: cannot add device gpu.example.com/pool-1/device-2 because a claim"
        " constraint would not be satisfied",
        id="with-constraint-not-matching-int-attribute-all-devices",
    ),
    pytest.param(
        [make_claim("my-claim", make_request(count=2), constraints=[MATCH])],
        [make_slice(attributed("device-1", {"version": "1.0.0"}), attributed("device-2", {"version": "2.0.0"}))],
        NONE,
        id="with-constraint-not-matching-version-attribute",
    ),
    pytest.param(
        [make_claim("my-claim", *TWO, constraints=[{**MATCH, "requests": ["req-0"]}])],
        [make_slice(attributed("device-1", 1), attributed("device-2", 2))],
        ["req-0 device-1", "req-1 device-2"],
        id="with-constraint-for-request",
    ),
    pytest.param(
        [make_claim("my-claim", *TWO, constraints=[DISTINCT])],
        [make_slice(attributed("device-1", "a"), attributed("device-2", "a"), attributed("device-3", "b"))],
        ["req-0 device-1", "req-1 device-3"],
        id="with-distinct-constraints",
    ),
    pytest.param(
        [make_claim("my-claim", make_request(count=33))],
        [make_slice("device-1")],
        "claim default/my-claim, request req-0: adding 33 devices exceeds the claim limit of 32, "
        "with 0 already accounted for",
        id="too-many-devices-single-request",
    ),
    pytest.param(
        [make_claim("my-claim", make_request(first_available=[sub("subreq-0", count=2), sub("subreq-1")]))],
        [make_slice("device-1")],
        ["req-0/subreq-1 device-1"],
        id="prioritized-list-first-unavailable",
    ),
    pytest.param(
        [make_claim("my-claim", make_request(first_available=[sub("subreq-0", count=2), sub("subreq-1", count=3)]))],
        [make_slice("device-1")],
        NONE,
        id="prioritized-list-non-available",
    ),
    pytest.param(
        [make_claim("my-claim", make_request(first_available=[sub("subreq-0", count=500), sub("subreq-1")]))],
        [make_slice("device-1")],
        ["req-0/subreq-1 device-1"],
        id="prioritized-list-too-many-in-first-subrequest",
    ),
    pytest.param(
        [
            make_claim(
                "my-claim",
                make_request("req-0", first_available=[sub("subreq-0", count=2), sub("subreq-1")]),
                make_request("req-1"),
            )
        ],
        [make_slice("device-1", "device-2")],
        ["req-0/subreq-1 device-1", "req-1 device-2"],
        id="prioritized-list-with-backtracking",
    ),
    pytest.param(
        [
            make_claim(
                "my-claim",
                make_request(first_available=[sub("subreq-0", count=2), sub("subreq-1", count=2)]),
                constraints=[{**MATCH, "requests": ["req-0/subreq-0"]}],
            )
        ],
        [make_slice(attributed("device-1", 1), attributed("device-2", 2))],
        ["req-0/subreq-1 device-1", "req-0/subreq-1 device-2"],
        id="prioritized-list-subrequests-with-constraints-ref-sub-request",
    ),
    pytest.param(
        [make_claim("my-claim", *TWO)],
        [
            make_slice(counters={"set": {"slots": "1"}}, slices=2),
            make_slice(
                make_device("device-1", counters={"set": {"slots": "1"}}),
                make_device("device-2", counters={"set": {"slots": "1"}}),
                name="slice-2",
                slices=2,
            ),
        ],
        NONE,
        id="partitionable-devices-no-capacity-available",
    ),
    pytest.param(
        [make_claim("my-claim", *TWO)],
        [
            make_slice(counters={"set": {"slots": "2"}}, slices=2),
            make_slice(
                make_device("device-1", counters={"set": {"slots": "1"}}, taints=[TAINT]),
                make_device("device-2", counters={"set": {"slots": "1"}}),
                make_device("device-3", counters={"set": {"slots": "1"}}),
                name="slice-2",
                slices=2,
            ),
        ],
        ["req-0 device-2", "req-1 device-3"],
        id="partitionable-devices-taint-releases-counter",
    ),
    pytest.param(
        [make_claim()],
        [
            make_slice(counters={"set": {"slots": "1"}}, slices=2),
            make_slice(make_device("device-1", counters={"nope": {"slots": "1"}}), name="slice-2", slices=2),
        ],
        "invalid resource pools were encountered",
        id="partitionable-devices-device-counter-consumption-references-unknown-counter-set",
    ),
    pytest.param(
        [make_claim(), make_claim("other", allocated=["device-2"])],
        [
            make_slice(counters={"set": {"slots": "1"}}, slices=3),
            make_slice(make_device("device-1", counters={"set": {"slots": "1"}}), name="slice-2", slices=3),
            make_slice(
                make_device("device-2", counters={"set": {"slots": "1"}}), name="slice-3", slices=3, node="node-2"
            ),
        ],
        NONE,
        id="partitionable-devices-devices-on-different-nodes-consume-same-counter-set",
    ),
    pytest.param(
        [make_claim()],
        [
            make_slice(
                make_device("device-1", nodeName="node-2"),
                make_device("device-2", nodeName="node-1"),
                node="",
                perDeviceNodeSelection=True,
            )
        ],
        ["req-0 device-2"],
        id="partitionable-devices-per-device-node-selection-nodename",
    ),
    pytest.param(
        [make_claim()],
        [make_slice(make_device("device-1", taints=[TAINT]), make_device("device-2"))],
        ["req-0 device-2"],
        id="tainted-two-devices",
    ),
    pytest.param(
        [make_claim("my-claim", make_request(tolerations=[TOLERATION]))],
        [make_slice(make_device("device-1", taints=[TAINT]))],
        ["req-0 device-1"],
        id="tainted-two-devices-tolerated",
    ),
    pytest.param(
        [make_claim("my-claim", make_request(tolerations=[TOLERATION]))],
        [make_slice(make_device("device-1", taints=[TAINT, {"key": "other", "effect": "NoExecute"}]))],
        NONE,
        id="tainted-one-device-two-taints",
    ),
    pytest.param(
        [make_claim()],
        [make_slice(make_device("device-1", taints=[{"key": "broken", "effect": "None"}]))],
        ["req-0 device-1"],
        id="tainted-no-effect",
    ),
    pytest.param(
        [make_claim()],
        [
            make_slice(make_device("device-1", bindingConditions=["Ready"], bindingFailureConditions=["Failed"])),
            make_slice("device-2", name="slice-2", pool="pool-2"),
        ],
        ["req-0 device-2"],
        id="binding-conditions-with-and-without",
    ),
    pytest.param(
        [make_claim("my-claim", make_request(capacity={"requests": {"memory": "1Gi"}}), make_request("req-1"))],
        [make_slice(make_device("device-1", capacity={"memory": POLICY}, **SHARED))],
        ["req-0 device-1", "req-1 device-1"],
        id="consumable-capacity-multi-allocatable-device-with-policy-without-capacity-request",
    ),
    pytest.param(
        [make_claim("my-claim", *TWO)],
        [make_slice(sized("device-1", "2Gi", **SHARED))],
        NONE,
        id="consumable-capacity-multi-allocatable-device-without-policy-without-capacity-request-block",
    ),
    pytest.param(
        [make_claim("my-claim", make_request(capacity={"requests": {"speed": "1"}}))],
        [make_slice(sized("device-1", "2Gi", **SHARED))],
        NONE,
        id="consumable-capacity-multi-allocatable-device-with-missing-capacity-request",
    ),
    pytest.param(
        [
            make_claim("my-claim", make_request(capacity={"requests": {"memory": "1Gi"}})),
            make_claim(
                "other", allocated=[{"device": "device-1", "shareID": "s", "consumedCapacity": {"memory": "2Gi"}}]
            ),
        ],
        [make_slice(sized("device-1", "2Gi", **SHARED), sized("device-2", "2Gi", **SHARED))],
        ["req-0 device-2"],
        id="consumable-capacity-multi-allocatable-device-with-allocated-capacity-next-device",
    ),
    pytest.param(
        [make_claim()],
        [make_slice("device-1", node="node-2", slices=2), make_slice("device-2", name="slice-2", slices=2)],
        ["req-0 device-2"],
        id="different-resourceslices-in-pool-can-target-different-nodes",
    ),
    pytest.param(
        [make_claim()],
        [make_slice("device-1", "device-1"), make_slice("device-2", name="slice-2", pool="pool-2")],
        ["req-0 device-2"],
        id="invalid-pool-is-ok-if-devices-can-be-allocated-from-other",
    ),
    pytest.param(
        [make_claim()],
        [make_slice("device-1", "device-1")],
        "invalid resource pools were encountered",
        id="invalid-pool-is-error-if-no-other-device-can-be-allocated",
    ),
    pytest.param([make_claim()], [make_slice("device-1", slices=2)], NONE, id="no-allocation-from-incomplete-pools"),
    pytest.param(
        [make_claim()],
        [make_slice("device-1", slices=1), make_slice("device-2", name="slice-2", node="node-2", generation=2)],
        ["req-0 device-1"],
        id="a complete old pool is used where the newer generation does not reach",
    ),
    pytest.param(
        [make_claim("my-claim", make_request(**ALL))],
        [make_slice("device-1", slices=2), make_slice("device-2", name="slice-2", node="node-2", generation=2)],
        NONE,
        id="multi-host-resource-pool-with-stale-slice-for-current-node",
    ),
]


@pytest.mark.parametrize(("claims", "slices", "expected"), CASES)
def test_allocate(claims: list[JSON], slices: list[JSON], expected: list[str] | str) -> None:
    assert allocate(*claims, slices=slices) == expected


@cases(
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
    claim = make_claim("my-claim", make_request(first_available=[sub("subreq-0", device_class="nope")]))
    context = make_context(make_claiming_pod("my-claim"), claims=[claim], classes=[make_class()])
    status = DynamicResources().pre_filter(context).status
    assert status.reasons == ("request req-0/subreq-0: device class nope does not exist",)


def test_endless_search_is_aborted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(allocator_module, "MAX_STEPS", 100)
    devices = [attributed(f"device-{index:02}", index // 2) for index in range(20)]
    requests = [make_request(f"req-{index}", count=2) for index in range(12)]
    claim = make_claim("my-claim", *requests, constraints=[{**MATCH, "requests": ["req-11"]}])
    context = make_context(make_claiming_pod("my-claim"), claims=[claim], slices=[make_slice(*devices)])
    plugin = DynamicResources()
    verdicts = plugin.filter(context, plugin.pre_filter(context).state)
    assert verdicts.codes[0] == Code.ERROR
    assert verdicts.codes[0] == Code.ERROR
    assert verdicts.reasons(0)[0].startswith(UNKNOWN)
