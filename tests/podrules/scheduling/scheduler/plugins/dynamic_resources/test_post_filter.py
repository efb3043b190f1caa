"""The outcome for claims if the pod fits nowhere (PostFilter in dynamicresources_test.go)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from podrules.api.model.pod import Pod
from podrules.scheduling.scheduler.framework.answers import Code, Status
from podrules.scheduling.scheduler.plugins.dynamic_resources import DynamicResources
from tests.features import around
from tests.podrules.scheduling.scheduler.plugins.building_devices import (
    make_claim,
    make_claiming_pod,
    make_class,
    make_context,
    make_request,
    make_slice,
)
from tests.table import row, table

JSON = Mapping[str, Any]
PLUGIN = DynamicResources()
UNTIL_1_36, _ = around("dra_quiet_post_filter")
OWNED = [{"apiVersion": "v1", "kind": "Pod", "name": "my-pod", "uid": "1234", "controller": True}]


def post_filter(pod: Pod, claims: Sequence[JSON], unavailable: Sequence[int], **given: Any) -> str:
    context = make_context(pod, claims=claims, **given)
    state = PLUGIN.pre_filter(context).state
    status = PLUGIN.post_filter(context, state, unavailable)
    assert status == Status(Code.UNSCHEDULABLE, status.reasons)
    return " ".join(status.reasons)


def reserved(claim: JSON, *uids: str) -> JSON:
    users = [{"resource": "pods", "name": uid, "uid": uid} for uid in uids]
    return {**claim, "status": {**claim["status"], "reservedFor": users}}


ELSEWHERE = make_claim(allocated=["gpu-1"], node="node-2")


def test_pod_without_claims() -> None:
    assert post_filter(make_claiming_pod(), [], []) == ""
    assert post_filter(make_claiming_pod(), [], [], features=UNTIL_1_36) == "no new claims to deallocate"


def test_pod_that_pre_filter_rejected() -> None:
    assert post_filter(make_claiming_pod("missing"), [], []) == ""
    assert post_filter(make_claiming_pod("missing"), [], [], features=UNTIL_1_36) == "no new claims to deallocate"


@table(
    "claim, unavailable, expected",
    {
        "wrong-topology": row(ELSEWHERE, [0], "deallocation of ResourceClaim completed"),
        "reserved for the pod": row(reserved(ELSEWHERE, "1234"), [0], "deallocation of ResourceClaim completed"),
        "reserved for another pod": row(reserved(ELSEWHERE, "other"), [0], ""),
        "reserved for another pod, too": row(reserved(ELSEWHERE, "1234", "other"), [0], ""),
        "others rejected the node before": row(ELSEWHERE, [], ""),
        "a claim without an allocation": row(make_claim(), [], ""),
    },
)
def test_claims(claim: JSON, unavailable: Sequence[int], expected: str) -> None:
    assert post_filter(make_claiming_pod("my-claim"), [claim], unavailable) == expected
    until_1_36 = post_filter(make_claiming_pod("my-claim"), [claim], unavailable, features=UNTIL_1_36)
    assert until_1_36 == (expected or "still not schedulable")


@pytest.mark.parametrize(
    ("written", "expected"),
    [(True, "deletion of ResourceClaim completed"), (False, "")],
    ids=["written by an earlier attempt", "not written yet"],
)
def test_extended_resources(written: bool, expected: str) -> None:
    pod = make_claiming_pod(requests={"example.com/gpu": "1"})
    annotations = {"resource.kubernetes.io/extended-resource-claim": "true"}
    claim = make_claim("left-over", make_request(), annotations=annotations, ownerReferences=OWNED)
    classes, slices = [make_class(extended_resource="example.com/gpu")], [make_slice("gpu-1")]
    assert post_filter(pod, [claim] if written else [], [], classes=classes, slices=slices) == expected
