"""The repeated warning while a pod does not start, does not end or gets no volume."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import pytest

from podrules.api.model.decode import from_object
from podrules.api.model.event import Event
from podrules.api.model.pod import Pod
from podrules.ending.stuck import Stuck, Wait, may_be_stuck, stuck_by, unseen, waits
from tests.objects import make_pod, raw_condition
from tests.table import table

NOW: Final = datetime(2026, 5, 4, 12, 0, tzinfo=UTC)
WAITING: Final = {"name": "app", "state": {"waiting": {"reason": "ContainerCreating"}}}
ENDED: Final = {"name": "app", "state": {"terminated": {"exitCode": 0, "finishedAt": "2026-05-04T11:20:05Z"}}}
NO_IMAGE: Final = {"name": "app", "state": {"waiting": {"reason": "ErrImagePull"}}}
NO_SANDBOX: Final = raw_condition("PodReadyToStartContainers", "False")
CLAIM: Final = {"name": "data", "persistentVolumeClaim": {"claimName": "ledger"}}


def stamp(minutes: float) -> str:
    """The time this many minutes before now."""
    return (NOW - timedelta(minutes=minutes)).strftime("%Y-%m-%dT%H:%M:%SZ")


def pod(*, status: Mapping[str, Any] | None = None, metadata: Mapping[str, Any] | None = None, **spec: Any) -> Pod:
    own = {"uid": "u-1", "creationTimestamp": stamp(90), **(metadata or {})}
    own_status = {"phase": "Pending", "containerStatuses": [WAITING], **(status or {})}
    return make_pod("ledger-0", "bank", metadata=own, status=own_status, **{"nodeName": "n7", **spec})


def warning(reason: str, message: str, *, first: float = 80, last: float = 1, count: int = 20, **more: Any) -> Event:
    about = {"kind": "Pod", "namespace": "bank", "name": "ledger-0", "uid": "u-1"}
    fields = {
        "involvedObject": about,
        "reason": reason,
        "message": message,
        "type": "Warning",
        "firstTimestamp": stamp(first),
        "lastTimestamp": stamp(last),
        "count": count,
    }
    return from_object({"metadata": {"name": "e"}, **fields, **more}, Event)


def found(*events: Event, of: Pod | None = None, wait: Wait = Wait.START) -> Stuck | None:
    return stuck_by(of or pod(), wait, events, NOW)


GOING: Final = {"deletionTimestamp": stamp(40), "deletionGracePeriodSeconds": 30}


@table(
    "waiting, wait",
    {
        "creating": (pod(), Wait.START),
        "too young": (pod(metadata={"creationTimestamp": stamp(0.5)}), None),
        "sandbox exists": (pod(status={"conditions": [raw_condition("PodReadyToStartContainers")]}), None),
        "held up by its image": (pod(status={"containerStatuses": [NO_IMAGE]}), None),
        "new sandbox after a restart of the node": (
            pod(status={"containerStatuses": [ENDED], "conditions": [NO_SANDBOX]}),
            Wait.START,
        ),
        "not cleaned up": (pod(metadata=GOING, status={"containerStatuses": [ENDED]}), Wait.END),
        "its grace period runs": (pod(metadata={**GOING, "deletionTimestamp": stamp(0.5)}), None),
        "kept by a finalizer": (pod(metadata={**GOING, "finalizers": ["example.com/hold"]}), None),
        "claim": (pod(nodeName=None, volumes=[CLAIM]), Wait.VOLUME),
        "no claim": (pod(nodeName=None), None),
        "finished": (pod(status={"phase": "Failed"}), None),
        "the longest grace period": (
            pod(metadata={"deletionTimestamp": "9999-12-31T23:59:59Z", "deletionGracePeriodSeconds": 2**63 - 1}),
            None,
        ),
    },
)
def test_awaited_step_of_a_pod(waiting: Pod, wait: Wait | None) -> None:
    assert waits(waiting, NOW) is wait
    assert waits(waiting, None) is None
    assert waits(waiting, NOW, quiet=True) is None


def test_volume_warning_precedes_mount_summary() -> None:
    stuck = found(
        warning("FailedMount", 'MountVolume.SetUp failed for volume "tls" : secret "tls-2" not found', last=2),
        warning("FailedMount", "Unable to attach or mount volumes: unmounted volumes=[tls]", last=0.1, count=9),
    )
    assert stuck is not None
    assert (stuck.reason, stuck.times, stuck.long, stuck.about) == ("FailedMount", 20, True, "")
    assert stuck.message.endswith('secret "tls-2" not found')


def test_similar_events_count_together() -> None:
    """A message with a new id each time becomes several events, and then a combined one."""
    said = [warning("FailedCreatePodSandBox", f"Failed to create pod sandbox: {n}", count=1, last=60) for n in range(3)]
    combined = warning("FailedCreatePodSandBox", "(combined from similar events): Failed to create pod sandbox: 9")
    stuck = found(*said, combined)
    assert stuck is not None
    assert (stuck.times, stuck.message) == (23, "Failed to create pod sandbox: 9")


def test_failing_volumes_count_separately() -> None:
    said = [
        warning("FailedMount", f'MountVolume.SetUp failed for volume "{name}" : {kind} "{name}-3" not found', count=n)
        for name, kind, n in (("keys", "secret", 7), ("conf", "configmap", 5), ("certs", "secret", 40))
    ]
    old = warning("FailedMount", 'MountVolume.SetUp failed for volume "old" : secret "x" not found', last=30)
    stuck = found(*said, old)
    assert stuck is not None
    assert (stuck.times, stuck.message) == (7, said[0].message)
    assert stuck.also == (said[1].message, said[2].message)


@table(
    "event",
    {
        "ten minutes old": warning("FailedMount", "no", last=11),
        "once": warning("FailedMount", "no", count=1),
        "no warning": warning("FailedMount", "no", type="Normal"),
        "a probe": warning("Unhealthy", "Readiness probe failed"),
        "blocks nothing": warning("DNSConfigForming", "Nameserver limits were exceeded"),
        "before the pod was made": warning("FailedMount", "no", first=200, last=95),
        "an earlier pod of the name": warning(
            "FailedMount", "no", involvedObject={"kind": "Pod", "namespace": "bank", "name": "ledger-0", "uid": "o"}
        ),
        "blocks no pod": warning("Rebooted", "no", involvedObject={"kind": "Node", "name": "n7"}),
        "another node's": warning("CIDRNotAvailable", "no", involvedObject={"kind": "Node", "name": "n8"}),
    },
)
def test_warnings_without_a_reason(event: Event) -> None:
    assert found(event) is None


def test_multi_attach_error_lasts_until_attached() -> None:
    said = 'Multi-Attach error for volume "pvc-4" Volume is already exclusively attached to one node'
    error = warning("FailedAttachVolume", said, first=50, last=50, count=1)
    stuck = found(error)
    assert stuck is not None
    assert stuck.long
    done = 'AttachVolume.Attach succeeded for volume "pvc-{}"'
    assert found(error, warning("SuccessfulAttachVolume", done.format(5), type="Normal")) == stuck
    assert found(error, warning("SuccessfulAttachVolume", done.format(4), type="Normal")) is None


def test_step_that_follows_ends_a_warning() -> None:
    """A large image is pulled long after a volume could be mounted."""
    early = warning("FailedMount", "failed to sync configmap cache: timed out", first=7, last=6, count=3)
    assert found(early) is not None
    assert found(early, warning("Pulling", "Pulling image", first=5.5, last=5.5, count=1, type="Normal")) is None
    again = warning("FailedMount", "no", first=7, last=1)
    assert found(again, warning("Pulling", "Pulling image", first=5.5, last=5.5, count=1, type="Normal")) is not None


def test_claim_and_node_events_count_without_pod_events() -> None:
    of_claim = {"kind": "PersistentVolumeClaim", "namespace": "bank", "name": "ledger", "uid": "c"}
    claim = warning("ProvisioningFailed", "quota of disks is used up", involvedObject=of_claim)
    node = warning("CIDRNotAvailable", "no CIDR", involvedObject={"kind": "Node", "name": "n7"})
    own = warning("NetworkNotReady", "network is not ready", last=9)
    bound = pod(volumes=[CLAIM])
    results = [found(*events, of=bound) for events in ([node, claim, own], [node, claim], [node])]
    assert [one.about for one in results if one] == ["", "persistentvolumeclaim/ledger", "node/n7"]
    waiting = found(claim, of=pod(nodeName=None, volumes=[CLAIM]), wait=Wait.VOLUME)
    assert waiting is not None
    assert waiting.reason == "ProvisioningFailed"


def test_only_events_after_deletion_explain_stuck_end() -> None:
    going = pod(metadata=GOING, status={"containerStatuses": [ENDED]})
    before = warning("FailedMount", "no", first=80, last=60)
    after = warning("FailedUnMount", "device is busy", first=3, last=1, count=4)
    assert found(before, of=going, wait=Wait.END) is None
    stuck = found(before, after, of=going, wait=Wait.END)
    assert stuck is not None
    assert (stuck.reason, stuck.times, stuck.long) == ("FailedUnMount", 4, False)


@pytest.mark.parametrize(
    ("waiting", "may"),
    [
        (pod(), True),
        (pod(metadata={"creationTimestamp": stamp(4)}), False),
        (pod(nodeName=None, volumes=[CLAIM]), True),
        (pod(nodeName=None, volumes=[CLAIM], status={"conditions": [raw_condition("PodScheduled", "False")]}), False),
    ],
)
def test_when_missing_events_decide(waiting: Pod, may: bool) -> None:
    assert may_be_stuck(waiting, NOW) is may


@pytest.mark.parametrize(
    ("spec", "minutes", "long"),
    [
        ({"schedulerName": "yunikorn"}, 6, True),
        ({}, 6, True),
        ({}, 4, False),
        ({"volumes": [CLAIM]}, 14, False),
        ({"volumes": [CLAIM]}, 16, True),
        ({"resourceClaims": [{"name": "gpu", "resourceClaimName": "g"}]}, 14, False),
    ],
)
def test_no_scheduler_has_tried(spec: Mapping[str, Any], minutes: float, long: bool) -> None:
    stuck = unseen(pod(nodeName=None, metadata={"creationTimestamp": stamp(minutes)}, **spec))
    assert stuck is not None
    assert stuck.scheduler == spec.get("schedulerName", "default-scheduler")
    assert stuck.is_long(NOW) is long
    assert not stuck.is_long(None)


@pytest.mark.parametrize(
    "looked",
    [
        pod(),
        pod(nodeName=None, status={"conditions": [raw_condition("PodScheduled", "False")]}),
        pod(nodeName=None, status={"nominatedNodeName": "n7"}),
        pod(nodeName=None, schedulingGates=[{"name": "hold"}]),
        pod(nodeName=None, schedulingGroup={"podGroupName": "ring"}),
        pod(nodeName=None, metadata=GOING),
    ],
)
def test_scheduler_has_tried_or_need_not(looked: Pod) -> None:
    assert unseen(looked) is None
