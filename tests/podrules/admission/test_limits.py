"""LimitRanges and ResourceQuotas for a new pod; `make parity` compares the messages with upstream's own code."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from msgspec.structs import replace

from podrules.admission.limits import limit_range_refusal, quota_refusal, quota_room, with_pods
from podrules.api.features import Features
from podrules.api.model.base import ResourceList
from podrules.api.model.decode import from_object
from podrules.api.model.pod import Pod
from podrules.api.model.policy import LimitRange, ResourceQuota
from podrules.api.model.quantity import Quantity
from tests.objects import make_pod, make_resources, raw_container, raw_pod, raw_sidecar

Amounts = Mapping[str, str]
POD = make_pod(requests={"cpu": "500m", "memory": "1Gi"}, limits={"cpu": "2", "memory": "1Gi"})
REFUSED = 'pods "web" is forbidden: '


def _limit_range(**item: Any) -> LimitRange:
    return from_object(
        {"metadata": {"name": "limits"}, "spec": {"limits": [{"type": "Container", **item}]}}, LimitRange
    )


def _quota(hard: Amounts, used: Amounts | None = None, name: str = "q", **spec: Any) -> ResourceQuota:
    status = {"hard": dict(hard), "used": dict.fromkeys(hard, "0") if used is None else dict(used)}
    return from_object(
        {"metadata": {"name": name}, "spec": {"hard": dict(hard), **spec}, "status": status}, ResourceQuota
    )


@pytest.mark.parametrize(
    ("item", "words"),
    [
        ({"min": {"cpu": "500m", "memory": "1Gi"}, "max": {"cpu": "2"}, "maxLimitRequestRatio": {"cpu": "4"}}, None),
        ({"min": {"cpu": "1"}}, "minimum cpu usage per Container is 1, but request is 500m"),
        ({"min": {"memory": "2G"}}, "minimum memory usage per Container is 2G, but request is 1Gi"),
        (
            {"min": {"example.com/gpu": "1"}},
            "minimum example.com/gpu usage per Container is 1.  No request is specified",
        ),
        ({"max": {"cpu": "1"}}, "maximum cpu usage per Container is 1, but limit is 2"),
        (
            {"max": {"ephemeral-storage": "1Gi"}},
            "maximum ephemeral-storage usage per Container is 1Gi.  No limit is specified",
        ),
        (
            {"maxLimitRequestRatio": {"cpu": "3500m"}},
            "cpu max limit to request ratio per Container is 3500m, but provided ratio is 4.000000",
        ),
        (
            {"maxLimitRequestRatio": {"hugepages-2Mi": "2"}},
            "hugepages-2Mi max limit to request ratio per Container is 2, but no request is specified or request is 0",
        ),
        ({"type": "PersistentVolumeClaim", "max": {"storage": "1Gi"}}, None),
    ],
)
def test_container_is_compared_with_limit_range(item: Mapping[str, Any], words: str | None) -> None:
    assert limit_range_refusal(POD, [_limit_range(**item)]) == (words and REFUSED + words)


def test_first_refusing_limit_range_lists_problems_once() -> None:
    pod = make_pod(containers=[raw_container("a"), raw_container("b", requests={"cpu": "1"})])
    bounds = _limit_range(min={"cpu": "2"}, max={"memory": "1Gi"})
    assert limit_range_refusal(pod, [_limit_range(), bounds, _limit_range(max={"cpu": "1"})]) == (
        f"{REFUSED}[minimum cpu usage per Container is 2.  No request is specified, "
        "maximum memory usage per Container is 1Gi.  No limit is specified, "
        "minimum cpu usage per Container is 2, but request is 1]"
    )


def test_huge_amounts_are_compared_in_whole_units() -> None:
    pod = make_pod(requests={"memory": "1100m"}, limits={"memory": "16Pi"})
    assert limit_range_refusal(pod, [_limit_range(min={"memory": "1200m"})]) is None


@pytest.mark.parametrize(
    ("most", "own", "words"),
    [
        ({"cpu": "3"}, None, None),
        ({"cpu": "2"}, None, "maximum cpu usage per Pod is 2, but limit is 3"),
        ({"cpu": "3"}, {"cpu": "4"}, "maximum cpu usage per Pod is 3, but limit is 4"),
        (
            {"hugepages-2Mi": "2Mi"},
            {"hugepages-2Mi": "4Mi"},
            "maximum hugepages-2Mi usage per Pod is 2Mi.  No limit is specified",
        ),
    ],
)
def test_pod_limit_is_container_sum_or_pod_level(most: Amounts, own: Amounts | None, words: str | None) -> None:
    pod = make_pod(
        containers=[raw_container(limits={"cpu": "2"})],
        initContainers=[raw_sidecar(limits={"cpu": "1"})],
        overhead={"cpu": "1"},
        resources={"limits": own} if own else None,
    )
    assert limit_range_refusal(pod, [_limit_range(type="Pod", max=most)]) == (words and REFUSED + words)


def test_quota_refuses_more_than_its_remainder() -> None:
    quotas = [
        _quota({"services": "0"}, name="of-others"),
        _quota(
            {"requests.cpu": "1", "limits.cpu": "3", "pods": "1"},
            {"requests.cpu": "600m", "limits.cpu": "2", "pods": "0"},
        ),
    ]
    assert quota_refusal(POD, quotas) == (
        f"{REFUSED}exceeded quota: q, requested: limits.cpu=2,requests.cpu=500m, "
        "used: limits.cpu=2,requests.cpu=600m, limited: limits.cpu=3,requests.cpu=1"
    )


def test_unrequested_resource_is_not_exceeded() -> None:
    over = _quota(
        {"requests.example.com/gpu": "1", "ephemeral-storage": "1"},
        {"requests.example.com/gpu": "2", "ephemeral-storage": "5"},
    )
    assert quota_refusal(POD, [over]) is None
    assert quota_room(POD, [over]) is None


def test_quota_requires_cpu_and_memory_of_each_container() -> None:
    quota = _quota({"requests.memory": "1", "limits.cpu": "9", "limits.ephemeral-storage": "1"})
    containers = [raw_container("b"), raw_container("c", requests={"memory": "1"}), raw_container("a")]
    pod = make_pod(containers=containers)
    assert quota_refusal(pod, [quota]) == (
        f"{REFUSED}failed quota: q: must specify limits.cpu for: a,b,c; requests.memory for: a,b"
    )
    own = replace(pod.spec, resources=make_resources(requests={"cpu": "1"}))
    assert quota_refusal(replace(pod, spec=own), [quota]) is None
    assert quota_refusal(replace(pod, spec=own), [quota], features=Features.of_minor(33)) is not None


def test_quota_refuses_while_usage_is_not_counted() -> None:
    assert quota_refusal(POD, [_quota({"pods": "9", "memory": "9Gi"}, {"pods": "0"})]) == (
        f"{REFUSED}status unknown for quota: q, resources: memory,pods"
    )
    assert quota_refusal(POD, [from_object({"spec": {"hard": {"pods": "0"}}}, ResourceQuota)]) is None


PRIORITY = "PriorityClass"


@pytest.mark.parametrize(
    ("spec", "scopes", "selector"),
    [
        ({"containers": [{"name": "app"}]}, ["BestEffort", "NotTerminating"], ()),
        ({"activeDeadlineSeconds": 60}, ["NotBestEffort", "Terminating"], ()),
        ({"priorityClassName": "high"}, [PRIORITY], [(PRIORITY, "In", ["high"]), (PRIORITY, "NotIn", ["low"])]),
        ({}, [], [(PRIORITY, "DoesNotExist", []), (PRIORITY, "NotIn", ["high"])]),
        (
            {
                "affinity": {
                    "podAntiAffinity": {
                        "preferredDuringSchedulingIgnoredDuringExecution": [
                            {"podAffinityTerm": {"namespaceSelector": {}}}
                        ]
                    }
                }
            },
            ["CrossNamespacePodAffinity"],
            [("CrossNamespacePodAffinity", "Exists", [])],
        ),
    ],
)
def test_quota_counts_if_all_scopes_match(
    spec: Mapping[str, Any], scopes: list[str], selector: list[tuple[str, str, list[str]]]
) -> None:
    terms = [{"scopeName": name, "operator": operator, "values": values} for name, operator, values in selector]
    full = _quota({"pods": "0"}, scopes=scopes, scopeSelector={"matchExpressions": terms})
    pod = from_object(raw_pod("web", **{"requests": {"cpu": "1"}, **spec}), Pod)
    assert quota_refusal(pod, [full]) is not None
    for opposite in (["Terminating", "NotTerminating"], ["BestEffort", "NotBestEffort"], ["VolumeAttributesClass"]):
        other = _quota({"pods": "0"}, scopes=[*scopes, *opposite], scopeSelector={"matchExpressions": terms})
        assert quota_refusal(pod, [other]) is None


@pytest.mark.parametrize(("minor", "refused"), [(36, True), (37, False)])
def test_class_in_the_status_of_a_new_pod_counts_until_1_36(minor: int, *, refused: bool) -> None:
    pod = replace(POD, status=replace(POD.status, qos_class="BestEffort"))
    full = _quota({"pods": "0"}, scopes=["BestEffort"])
    assert (quota_refusal(pod, [full], features=Features.of_minor(minor)) is not None) is refused


@pytest.mark.parametrize(("minor", "refused"), [(34, False), (35, True)])
def test_resources_of_device_classes_count_since_1_35(minor: int, *, refused: bool) -> None:
    name = "deviceclass.resource.kubernetes.io/gpu"
    pod = make_pod(requests={name: "1"})
    quota = _quota({f"requests.{name}": "0"})
    assert (quota_refusal(pod, [quota], features=Features.of_minor(minor)) is not None) is refused


def test_quota_with_the_least_room_decides() -> None:
    pod = make_pod(requests={"cpu": "300m"}, overhead={"cpu": "50m"})
    quotas = [
        _quota({"count/pods": "9"}),
        _quota({"cpu": "2", "pods": "5"}, {"cpu": "200m", "pods": "0"}, name="tight"),
    ]
    room = quota_room(pod, quotas)
    assert room is not None
    assert (room.pods, room.quota, room.resources) == (5, "tight", ("cpu", "pods"))
    assert quota_refusal(pod, quotas) is None
    full = [replace(quota, status=replace(quota.status, used=_used(quota, room.pods))) for quota in quotas]
    assert quota_refusal(pod, full) == room.refusal
    assert room.refusal == (
        f"{REFUSED}exceeded quota: tight, requested: cpu=350m,pods=1, used: cpu=1950m,pods=5, limited: cpu=2,pods=5"
    )


def _used(quota: ResourceQuota, times: int) -> ResourceList:
    used = dict(quota.status.used)
    for _ in range(times):
        for name in used:
            used[name] += Quantity.parse("350m" if name == "cpu" else "1")
    return used


def test_new_pods_count_in_matching_quotas() -> None:
    pod = make_pod(requests={"cpu": "300m"})
    others = _quota({"pods": "1"}, scopes=["BestEffort"])
    quotas = [_quota({"requests.cpu": "1", "configmaps": "1"}), others]
    room = quota_room(pod, quotas)
    assert room is not None
    assert [(share.resource, share.used, share.hard) for share in room.shares] == [("requests.cpu", "900m", "1")]
    first, second = with_pods(pod, room.pods, quotas)
    assert (quota_refusal(pod, [first]), second) == (room.refusal, others)
    assert first.status.used["configmaps"].is_zero


def test_exceeded_quota_has_no_room() -> None:
    room = quota_room(POD, [_quota({"pods": "1"}, {"pods": "3"})])
    assert room is not None
    assert room.pods == 0
    assert room.refusal == quota_refusal(POD, [_quota({"pods": "1"}, {"pods": "3"})])
