"""Upstream's plugin cases (dynamicresources_test.go, extendeddynamicresources_test.go), with their names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from podrules.api.model.decode import from_object
from podrules.api.model.pod import Pod
from podrules.api.model.resource import DeviceClass
from podrules.api.model.snapshot import ClusterSnapshot
from podrules.scheduling.scheduler.framework.answers import Code
from podrules.scheduling.scheduler.framework.interface import CycleContext
from podrules.scheduling.scheduler.plugins.dynamic_resources import UNKNOWN, DynamicResources, DynamicResourcesState
from podrules.scheduling.scheduler.plugins.dynamic_resources.claims import claim_for, classes_by_resource, special_claim
from tests.objects import raw_node
from tests.podrules.scheduling.scheduler.plugins.building_devices import (
    DRIVER,
    make_claim,
    make_claiming_pod,
    make_class,
    make_context,
    make_request,
    make_slice,
)
from tests.table import row, table

JSON = Mapping[str, Any]
NO_SUCH_KEY = f"selector #0 on device {DRIVER}/pool-1/device-1: CEL runtime error: no such key"
GUARD_IT = (
    "consider using CEL optional chaining (.? followed by orValue()) "
    "or guarding the check with has() for optional fields"
)
PLUGIN = DynamicResources()
OWNED = [{"apiVersion": "v1", "kind": "Pod", "name": "my-pod", "uid": "1234", "controller": True}]
POD = make_claiming_pod("my-claim")
GPU_POD = make_claiming_pod(requests={"example.com/gpu": "1"})
DEVICE = [make_slice("device-1")]
NOT_AVAILABLE = "resourceclaim not available on the node"


def judge(pod: Pod = POD, **cluster: Any) -> tuple[CycleContext, DynamicResourcesState, list[str]]:
    """The cycle, its state, and for each node its reason, empty where it fits."""
    context = make_context(pod, **cluster)
    found = PLUGIN.pre_filter(context)
    assert found.status.ok
    context.states[PLUGIN.name] = found.state
    verdicts = PLUGIN.filter(context, found.state)
    return context, found.state, ["".join(verdicts.reasons(row)) for row in range(len(context.table))]


@table(
    "pod, claims, reason",
    {
        "empty": row(make_claiming_pod(), [], ""),
        "claim-reference": row(POD, [make_claim()], ""),
        "claim-template": row(
            make_claiming_pod(template_claims={"gpu": "template"}, statuses={"gpu": "my-claim"}),
            [make_claim(ownerReferences=OWNED)],
            "",
        ),
        "missing-claim": row(
            make_claiming_pod(template_claims={"gpu": "template"}),
            [],
            'pod "default/my-pod": ResourceClaim not created yet',
        ),
        "no claim is needed": row(
            make_claiming_pod(template_claims={"gpu": "template"}, statuses={"gpu": None}), [], ""
        ),
        "claim does not exist": row(
            make_claiming_pod("my-claim"), [], 'could not find ResourceClaim "default/my-claim"'
        ),
        "deleted-claim": row(
            make_claiming_pod("my-claim"),
            [make_claim(deletionTimestamp="2026-01-01T00:00:00Z")],
            'resourceclaim "my-claim" is being deleted',
        ),
        "wrong-claim": row(
            make_claiming_pod(template_claims={"gpu": "template"}, statuses={"gpu": "my-claim"}),
            [make_claim()],
            "ResourceClaim default/my-claim was not created for Pod default/my-pod (Pod is not owner)",
        ),
        "neither name nor template": row(
            make_claiming_pod(template_claims={"gpu": None}),
            [],
            'pod "default/my-pod", spec.resourceClaim "gpu": none of the supported fields are set',
        ),
    },
)
def test_pre_enqueue(pod: Pod, claims: list[JSON], reason: str) -> None:
    context = make_context(pod, claims=claims)
    status = PLUGIN.pre_enqueue(pod, context.snapshot, context.features)
    assert "".join(status.reasons) == reason
    assert status.code is (Code.UNSCHEDULABLE_AND_UNRESOLVABLE if reason else Code.SUCCESS)
    if reason:
        assert PLUGIN.pre_filter(context).status == status


def test_pod_without_claims_is_skipped() -> None:
    context = make_context(make_claiming_pod(), slices=DEVICE)
    assert PLUGIN.pre_filter(context).status.code is Code.SKIP
    assert not PLUGIN.filter(context, None).codes.any()
    assert PLUGIN.score(context, None, np.array([0], np.int32)).tolist() == [0]


@table(
    "request_, code, reason",
    {
        "missing-class": row(
            make_request(device_class="nope"),
            Code.UNSCHEDULABLE_AND_UNRESOLVABLE,
            "request req-0: device class nope does not exist",
        ),
        "no class": row(make_request(device_class=""), Code.ERROR, "request req-0: unsupported request type"),
        "unknown request type": row(
            {"name": "req-0"},
            Code.UNSCHEDULABLE_AND_UNRESOLVABLE,
            "resource claim default/my-claim, request req-0: unknown request type",
        ),
    },
)
def test_pre_filter_checks_requests(request_: JSON, code: Code, reason: str) -> None:
    status = PLUGIN.pre_filter(make_context(POD, claims=[make_claim("my-claim", request_)])).status
    assert (status.code, status.reasons) == (code, (reason,))


@table(
    "claims, slices, reason",
    {
        "no-resources": row([make_claim()], [], "cannot allocate all claims"),
        "with-resources": row([make_claim()], DEVICE, ""),
        "wrong-topology": row([make_claim(allocated=["device-1"], node="node-2")], [], NOT_AVAILABLE),
        "good-topology": row([make_claim(allocated=["device-1"], node="node-1")], [], ""),
        "exhausted-resources-in-informer-cache": row(
            [make_claim(), make_claim("other", allocated=["device-1"])], DEVICE, "cannot allocate all claims"
        ),
        "structured-ignore-allocated-admin-access": row(
            [make_claim(), make_claim("other", allocated=[{"device": "device-1", "adminAccess": True}])], DEVICE, ""
        ),
        "claim-parameters-CEL-runtime-error": row(
            [make_claim("my-claim", make_request(selector=f'device.attributes["{DRIVER}"].nope'))],
            DEVICE,
            f"claim default/my-claim: {NO_SUCH_KEY}: nope. {GUARD_IT}",
        ),
    },
)
def test_filter(claims: list[JSON], slices: list[JSON], reason: str) -> None:
    assert judge(claims=claims, slices=slices)[2] == [reason]


def test_class_parameters_cel_runtime_error() -> None:
    classes = [make_class("gpu", f'device.attributes["{DRIVER}"].nope')]
    reasons = judge(claims=[make_claim()], slices=DEVICE, classes=classes)[2]
    assert reasons == [f"class gpu: {NO_SUCH_KEY}: nope. {GUARD_IT}"]


def test_cel_runtime_error_for_one_of_two_nodes() -> None:
    claim = make_claim("my-claim", make_request(selector=f'device.attributes["{DRIVER}"].healthy'))
    healthy = {"name": "device-1", "attributes": {"healthy": {"bool": True}}}
    slices = [make_slice("device-1"), make_slice(healthy, name="slice-2", pool="pool-2", node="node-2")]
    reasons = judge(nodes=["node-1", "node-2"], claims=[claim], slices=slices)[2]
    assert reasons == [f"claim default/my-claim: {NO_SUCH_KEY}: healthy. {GUARD_IT}", ""]


def bound(*, status: str = "", condition: str = "Ready", timestamp: str | None = None) -> JSON:
    """A claim with a device that has to become ready."""
    result = {"device": "device-1", "bindingConditions": ["Ready"], "bindingFailureConditions": ["Failed"]}
    reported = {"driver": DRIVER, "pool": "pool-1", "device": "device-1"}
    conditions = [{"type": condition, "status": status}]
    devices = [{**reported, "conditions": conditions}] if status else []
    return make_claim(allocated=[result], devices=devices, timestamp=timestamp)


@table(
    "claim, reason",
    {
        "bound-claim-with-succeeded-binding-conditions": row(bound(status="True"), ""),
        "bound-claim-with-failed-binding": row(bound(status="True", condition="Failed"), NOT_AVAILABLE),
        "bound-claim-with-timed-out-binding": row(bound(timestamp="2026-05-31T23:00:00Z"), NOT_AVAILABLE),
        "still within the timeout": row(bound(timestamp="2026-05-31T23:59:00Z"), ""),
        "no timestamp, no timeout": row(bound(status="False"), ""),
        "bound-claim-without-binding-conditions": row(make_claim(allocated=["device-1"]), ""),
    },
)
def test_binding_conditions(claim: JSON, reason: str) -> None:
    assert judge(claims=[claim])[2] == [reason]


def test_binding_timeout_is_unknown_without_the_time() -> None:
    claim = bound(timestamp="2026-05-31T23:00:00Z")
    context = make_context(POD, claims=[claim], now=None)
    verdicts = PLUGIN.filter(context, PLUGIN.pre_filter(context).state)
    assert verdicts.codes[0] == Code.ERROR
    assert verdicts.reasons(0)[0].startswith(UNKNOWN)


def test_single_claim_prioritized_list_scoring() -> None:
    request = make_request(first_available=[make_request("subreq-0", count=2), make_request("subreq-1")])
    slices = [make_slice("device-1"), make_slice("device-1", "device-2", name="slice-2", pool="pool-2", node="node-2")]
    context, _, _ = judge(nodes=["node-1", "node-2"], claims=[make_claim("my-claim", request)], slices=slices)
    rows = np.array([0, 1], np.int32)
    assert PLUGIN.score(context, None, rows).tolist() == [7 * 100 // 8, 100]


def test_mix_of_allocated_and_unallocated_claims() -> None:
    request = make_request(first_available=[make_request("subreq-0"), make_request("subreq-1")])
    claims = [
        make_claim("claim-1", request, allocated=[{"device": "device-9", "request": "req-0/subreq-1"}]),
        make_claim("claim-2", request),
    ]
    context, _, _ = judge(make_claiming_pod("claim-1", "claim-2"), claims=claims, slices=DEVICE)
    rows = np.array([0], np.int32)
    assert PLUGIN.score(context, None, rows).tolist() == [100]


EXTENDED = [make_class("gpu", extended_resource="example.com/gpu")]


@table(
    "allocatable, slices, reason",
    {
        "extended-resource-name-with-node-resource": row({"example.com/gpu": "1"}, [], ""),
        "extended-resource-name-with-zero-allocatable": row({"example.com/gpu": "0"}, DEVICE, ""),
        "extended-resource-name-no-resource": row({}, [], "cannot allocate all claims"),
        "extended-resource-name-with-resources": row({}, DEVICE, ""),
    },
)
def test_extended_resources(allocatable: Mapping[str, str], slices: list[JSON], reason: str) -> None:
    node = raw_node("node-1", allocatable=allocatable)
    assert judge(GPU_POD, nodes=[node], slices=slices, classes=EXTENDED)[2] == [reason]


def test_implicit_extended_resource_name_with_resources() -> None:
    pod = make_claiming_pod(requests={"deviceclass.resource.kubernetes.io/gpu": "2"})
    _, state, reasons = judge(pod, slices=[make_slice("device-1", "device-2")])
    assert reasons == [""]
    assert [device.request for device in state.allocations[0][0]] == ["container-0-request-0"] * 2


def test_resource_without_node_or_class_does_not_fit() -> None:
    pod = make_claiming_pod(requests={"example.com/gpu": "1", "example.com/other": "1"})
    assert judge(pod, slices=DEVICE, classes=EXTENDED)[2] == ["cannot fit resource"]


def test_extended_resource_name_with_resources_has_claim() -> None:
    stale = make_claim(annotations={"resource.kubernetes.io/extended-resource-claim": "true"}, ownerReferences=OWNED)
    reasons = judge(GPU_POD, claims=[stale], slices=DEVICE, classes=EXTENDED)[2]
    assert reasons == ["cannot schedule extended resource claim"]


def container(name: str, amount: str, **fields: Any) -> JSON:
    return {"name": name, "resources": {"requests": {"example.com/gpu": amount, "cpu": "1"}}, **fields}


@table(
    "inits, containers, expected",
    {
        "one resource match": row([], [container("a", "1")], {"container-0-request-1": 1}),
        "two containers match": row(
            [], [container("a", "1"), container("b", "2")], {"container-0-request-1": 1, "container-1-request-1": 2}
        ),
        "one init container, one regular container": row(
            [container("i", "3")], [container("a", "1")], {"container-0-request-1": 2, "container-1-request-1": 1}
        ),
        "two init containers, one regular container": row(
            [container("i", "3"), container("j", "4")],
            [container("a", "1")],
            {"container-1-request-1": 3, "container-2-request-1": 1},
        ),
        "an init container uses what later containers have, not what a sidecar before it has": row(
            [container("s", "1", restartPolicy="Always"), container("i", "2")],
            [container("a", "2")],
            {"container-0-request-1": 1, "container-2-request-1": 2},
        ),
    },
)
def test_create_requests(inits: list[JSON], containers: list[JSON], expected: dict[str, int]) -> None:
    pod = make_claiming_pod(init_containers=inits, containers=containers)
    classes = classes_by_resource([from_object(one, DeviceClass) for one in EXTENDED])
    made = claim_for(pod, special_claim(pod), ["example.com/gpu"], classes)
    found = {request.name: request.exactly.count for request in made.spec.devices.requests if request.exactly}
    assert found == expected


@table(
    "ages, wins",
    {
        "newer class": row(("2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z"), "b"),
        "same age: lower name": row(("2026-01-01T00:00:00Z", "2026-01-01T00:00:00Z"), "a"),
    },
)
def test_classes_with_the_same_extended_resource(ages: tuple[str, str], wins: str) -> None:
    classes = [make_class(name, extended_resource="example.com/gpu") for name in "ab"]
    for made, age in zip(classes, ages, strict=True):
        made["metadata"]["creationTimestamp"] = age
    snapshot = from_object({"deviceClasses": classes}, ClusterSnapshot)
    for order in (snapshot.device_classes, snapshot.device_classes[::-1]):
        assert classes_by_resource(order)["example.com/gpu"].metadata.name == wins


def test_explain() -> None:
    claims = [
        make_claim(),
        make_claim("other", allocated=["device-1"]),
        make_claim("far", allocated=["device-9"], node="node-2"),
    ]
    slices = [make_slice("device-1", "device-2")]
    context, state, reasons = judge(make_claiming_pod("my-claim", "far"), claims=claims, slices=slices)
    assert reasons == [NOT_AVAILABLE]
    found = PLUGIN.explain(context, state, 0)
    assert found.unavailable == ("default/far",)
    assert [(pool.pool, pool.devices, pool.in_use) for pool in found.pools] == [(f"{DRIVER}/pool-1", 2, 1)]
    fits, state, _ = judge(claims=claims, slices=slices)
    (allocation,) = PLUGIN.explain(fits, state, 0).allocations
    assert (allocation.claim, allocation.devices[0].id.device) == ("default/my-claim", "device-2")
