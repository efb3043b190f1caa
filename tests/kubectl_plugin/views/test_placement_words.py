"""Texts for one fact and change of each kind, and rare placements on a terminal."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

import pytest
from msgspec.structs import replace

from kubectl_plugin.views.scheduling.changes import remedy_words, ways_out
from kubectl_plugin.views.scheduling.scheduler_plugins import fact_words, rejection_words
from kubectl_plugin.views.words import amounts_apart
from podrules.api.model.pod import PodOnNode, PodReference
from podrules.scheduling.placement.outcome import (
    ConstraintSpread,
    Placement,
    PlacementOutcome,
    RejectedGroup,
    RejectedNode,
    Remedy,
)
from podrules.scheduling.scheduler.framework.answers import CandidateChange, ChangeKind, Fact
from podrules.scheduling.scheduler.framework.interface import ExplainedPlugin
from podrules.scheduling.scheduler.plugins.dynamic_resources.plugin import DevicePool
from podrules.scheduling.scheduler.plugins.inter_pod_affinity.plugin import PodAffinityConflict
from podrules.scheduling.scheduler.plugins.node_affinity import LabelMismatch
from podrules.scheduling.scheduler.plugins.node_ports import PortInUse
from podrules.scheduling.scheduler.plugins.node_resources.columns import InsufficientResource
from podrules.scheduling.scheduler.plugins.node_volume_limits import VolumeLimit
from podrules.scheduling.scheduler.plugins.one_field import MissingFeature
from podrules.scheduling.scheduler.plugins.pod_topology_spread.filtering import TopologySkew
from podrules.scheduling.scheduler.plugins.taint_toleration import TaintEffect
from podrules.scheduling.scheduler.plugins.volume_binding.storage_index import ClaimMismatch
from podrules.scheduling.scheduler.plugins.volume_restrictions import DiskInUse
from podrules.scheduling.scheduler.runtime import PLUGINS

ZONE = "topology.kubernetes.io/zone"
MI = 1024**2
OTHER = PodReference("shop", "web-0")

FACTS: dict[Fact, str] = {
    InsufficientResource(
        "memory", 1024 * MI, 1536 * MI, 2048 * MI
    ): "lacks 512Mi memory: 512Mi of 2Gi free, asks 1024Mi",
    InsufficientResource("cpu", 2500, 900, 1000): "lacks 2.4 cpu: 0.1 of 1 free, asks 2.5",
    InsufficientResource("cpu", 1, 1200, 1000): "lacks 201m cpu: 1200m of 1000m promised already, asks 1m",
    InsufficientResource("example.com/gpu", 2, 3, 4): "lacks 1 example.com/gpu: 1 of 4 free, asks 2",
    InsufficientResource("pods", 1, 110, 110): "has 110 of 110 pods",
    InsufficientResource("pods", 1, 110, 110, 1, (OTHER,)): (
        "has 110 of 110 pods, 1 of them the nominated pod shop/web-0"
    ),
    InsufficientResource("cpu", 1000, 1200, 1000, 500, (OTHER,)): (
        "lacks 1.2 cpu: 1.2 of 1 promised already, 0.5 of it for the nominated pod shop/web-0, asks 1"
    ),
    InsufficientResource("cpu", 1000, 700, 1000, 500, (OTHER, OTHER)): (
        "lacks 0.7 cpu: 0.3 of 1 free besides 0.5 for the nominated pods shop/web-0 and shop/web-0, asks 1"
    ),
    TaintEffect("dedicated", "gpu", "NoSchedule"): "has dedicated=gpu:NoSchedule",
    TaintEffect("dedicated", "", "NoExecute"): "has dedicated:NoExecute",
    LabelMismatch("spec.nodeSelector", "disk", "In", ("ssd",), None): "lacks it: spec.nodeSelector wants disk In ssd",
    LabelMismatch("spec.x", "disk", "Exists", (), ""): "has an empty value: spec.x wants disk Exists",
    TopologySkew("f", ZONE, "eu-1a", 2, 1, 1, 2, 1, 3, 1): (
        f"is in eu-1a, which has 3 with this one; least 1: skew 2 > maxSkew 1 ({ZONE})"
    ),
    TopologySkew("f", ZONE, None, 0, 1, 0, 1, 1, 3, 1): f"lacks label {ZONE}",
    PodAffinityConflict("affinity", ZONE, None, 0): f"lacks label {ZONE}",
    PodAffinityConflict("affinity", ZONE, "a", 0): f"no pod in {ZONE}=a matches its affinity",
    PodAffinityConflict("antiAffinity", ZONE, "a", 1): f"1 pod in {ZONE}=a that its anti-affinity avoids",
    PodAffinityConflict("existingAntiAffinity", ZONE, "a", 2): (f"2 pods in {ZONE}=a with anti-affinity against it"),
    PortInUse("TCP", 80, OTHER): "port 80/TCP is shop/web-0's",
    DiskInUse("claim data", (OTHER,)): "claim data is held by shop/web-0",
    DiskInUse("iscsi x", ()): "iscsi x is held by another pod",
    VolumeLimit("csi.example.com", 25, 1, 25): "csi.example.com: 25 attached + 1 > 25",
    MissingFeature("RestartAllContainers"): "does not declare RestartAllContainers",
    DevicePool("gpus", 4, 3): "pool gpus: 3 of 4 devices in use",
}


def test_missing_driver_is_no_volume_limit() -> None:
    def said(*reasons: str, one: bool) -> str:
        group = RejectedGroup("NodeVolumeLimits", reasons, 1, 1, preemption_may_help=False, nodes=(), remedy=None)
        return rejection_words(group, one=one)

    missing = "csi.example.com CSI driver is not installed on the node"
    assert said(missing, one=True) == "lacks its volume's driver"
    assert said(missing, one=False) == "lack its volume's driver"
    full = "node(s) exceed max volume count"
    assert said(full, one=True) == "can attach no more volumes"
    assert said(one=True) == "can attach no more volumes"


@pytest.mark.parametrize(("fact", "words"), FACTS.items(), ids=map(str, range(len(FACTS))))
def test_fact(fact: Fact, words: str) -> None:
    assert fact_words(RejectedNode("n", (fact,), ())) == words


def test_claim() -> None:
    bound = ClaimMismatch("data", "pv-1", "fast", {}, "node(s) didn't match PersistentVolume's node affinity")
    zoned = ClaimMismatch("", "pv-1", "", {ZONE: ("a", "b")}, "")
    assert fact_words(RejectedNode("n", (bound,), ())) == (
        "claim data (volume pv-1): node(s) didn't match PersistentVolume's node affinity"
    )
    assert fact_words(RejectedNode("n", (zoned,), ())) == f"volume pv-1: {ZONE} in a, b"


def test_every_type_of_fact_has_a_text() -> None:
    explained = [plugin for plugin in PLUGINS.values() if isinstance(plugin, ExplainedPlugin)]
    assert {type(fact) for fact in FACTS} | {ClaimMismatch} == {kind for one in explained for kind in one.fact_types}


def test_many_facts_are_shortened() -> None:
    facts = tuple(MissingFeature(name) for name in "abcde")
    words = fact_words(RejectedNode("n", facts, ("NodePorts",)))
    assert words.endswith("does not declare c; and 2 more; also fails NodePorts")


SPREAD = (ConstraintSpread("spec.topologySpreadConstraints[0]", ZONE, 1, 0, (), 0, 1, (), 0, ()),)
STAY = " (no pods found that could move)"
THEN = " (then b and 2 more nodes)"
ON_A, ON_B = PodOnNode("shop", "web-0", "a"), PodOnNode("shop", "web-0", "b")


def change(kind: str, node: str = "", value: str = "", **more: Any) -> CandidateChange:
    """A change; a toleration or a constraint has its field."""
    if kind == "TOLERATE":
        more["field"] = "spec.tolerations"
    if kind == "SPREAD":
        more["field"] = f"spec.topologySpreadConstraints[0].{more['field']}"
    return CandidateChange(ChangeKind[kind], node=node, value=value, **more)


def remedied(*changes: CandidateChange) -> str:
    """The words for changes after which ``b`` takes the pod."""
    return remedy_words(Remedy(changes, "b", 1, 0), ())


TOLERATED = change("TOLERATE", value="x:NoSchedule")
SILENT = change("REMOVE_TAINT", "b", "node.kubernetes.io/unreachable:NoSchedule")
STOPPED = change("REMOVE_PODS", "a", pods=(ON_A,))
BACK = "(its node is silent: bring it back or fence it)"
LACKED = {"memory": 220 * MI, "cpu": 100}
ANTI_AFFINITY = "spec.affinity.podAntiAffinity"
CHANGES: list[tuple[str, CandidateChange]] = [
    ("uncordon a", change("UNCORDON", "a")),
    (f"tolerate x:NoSchedule{THEN}", TOLERATED),
    ("wait until b answers again", SILENT),
    (
        "wait until b is back, and run kubectl qos unfence node/b",
        change("REMOVE_TAINT", "b", "node.kubernetes.io/out-of-service=x:NoExecute"),
    ),
    (
        "wait until the agent of file.csi.azure.com is ready on b",
        change("REMOVE_TAINT", "b", "file.csi.azure.com/agent-not-ready:NoExecute"),
    ),
    (
        f"tolerate CriticalAddonsOnly=true:NoSchedule (kept for critical add-ons){THEN}",
        change("TOLERATE", value="CriticalAddonsOnly=true:NoSchedule"),
    ),
    (
        "add a node or wait for a new one: Karpenter is about to remove b",
        change("ADD_NODE", "b", "karpenter.sh/disrupted:NoSchedule"),
    ),
    ("add a node that runs Linux: b runs Windows", change("ADD_NODE", "b", "kubernetes.io/os=windows:NoSchedule")),
    (
        "add a node without taint google.com/tpu=present:NoSchedule: b is for pods that use TPUs",
        change("ADD_NODE", "b", "google.com/tpu=present:NoSchedule"),
    ),
    (
        "add a node with kubernetes.io/arch=arm64",
        change("ADD_NODE", "b", "kubernetes.io/arch=arm64", field="spec.nodeSelector"),
    ),
    (f"maxSkew 3 on {ZONE}{THEN}", change("SPREAD", field="maxSkew", value="3")),
    (f"nodeTaintsPolicy Honor on {ZONE}{THEN}", change("SPREAD", field="nodeTaintsPolicy", value="Honor")),
    (f"ScheduleAnyway on {ZONE}{THEN}", change("SPREAD", field="whenUnsatisfiable", value="ScheduleAnyway")),
    (f"spread over rack instead of {ZONE}{THEN}", change("SPREAD", field="topologyKey", value="rack")),
    (f"free 220Mi memory and 100m cpu on a{STAY}", change("FREE", "a", amounts=LACKED)),
    (
        f"free 220Mi of the 300Mi promised memory and 100m cpu on a{STAY}",
        change("FREE", "a", amounts=LACKED, promised={"memory": 300 * MI}),
    ),
    (
        "replace a with one that has 2 free CPU and room for 1 more pod",
        change("ENLARGE", "a", amounts={"cpu": 2000, "pods": 1}),
    ),
    ("label a disk=ssd", change("LABEL_NODE", "a", "disk=ssd")),
    (f"drop spec.nodeSelector disk=ssd{THEN}", change("DROP", field="spec.nodeSelector", value="disk=ssd")),
    (
        f"drop the required terms of {ANTI_AFFINITY}{THEN}",
        change("DROP", field=f"{ANTI_AFFINITY}.requiredDuringSchedulingIgnoredDuringExecution"),
    ),
    ("stop pod shop/web-0 on b", change("REMOVE_PODS", "a", pods=(ON_B,))),
    ("wait until shop/web-0 on b, which is being deleted, is gone", change("AWAIT_PODS", "b", pods=(ON_B,))),
    (
        f"wait until shop/web-0 on a, which is being deleted, is gone {BACK} (then b)",
        change("AWAIT_PODS", "b", pods=(ON_A,), silent=True),
    ),
    (
        "resume the paused rollout and let it stop shop/web-0 on b first: maxUnavailable 1",
        change("ROLL_OUT", "a", pods=(ON_B,), paused=True),
    ),
    ("let the rollout stop shop/web-0 on b first: maxUnavailable 1", change("ROLL_OUT", "a", pods=(ON_B,))),
    (
        "stop pods shop/web-0 on a and shop/web-1 on b (then b)",
        change("REMOVE_PODS", "b", pods=(ON_A, PodOnNode("shop", "web-1", "b"))),
    ),
]


@pytest.mark.parametrize(("words", "one"), CHANGES, ids=map(str, range(len(CHANGES))))
def test_change(words: str, one: CandidateChange) -> None:
    assert remedy_words(Remedy((one,), "b", 3, 0), SPREAD) == words


@pytest.mark.parametrize(
    ("helped", "waiting", "words"), [(1, 3, ", which helps 1 of 3 pods"), (3, 3, ""), (None, 40, ""), (None, 1, "")]
)
def test_remedy_shows_how_many_replicas_it_helps(helped: int | None, waiting: int, words: str) -> None:
    remedy = Remedy((TOLERATED,), "b", 1, 0, helped, waiting)
    assert remedy_words(remedy, ()) == f"tolerate x:NoSchedule{words} (then b)"


def test_every_kind_of_change_has_a_text() -> None:
    assert {one.kind for _, one in CHANGES} == set(ChangeKind)


LABELLED = change("LABEL_NODE", "b", "disk=ssd")
LARGER = change("ENLARGE", "b", amounts={"cpu": 2000})
MODEL = change("ADD_NODE", "b", "nvidia.com/gpu.product=L4", field="spec.nodeSelector")
REPLACED = "replace b with one that has 2 free CPU"


REMEDIES: Final[Mapping[str, Any]] = {
    "a temporary state is a condition": (
        (SILENT, replace(STOPPED, node="b")),
        "stop pod shop/web-0 on a, once b answers again (then b)",
    ),
    "a larger node has no faults": ((SILENT, LARGER), REPLACED),
    "a larger node keeps the label": (
        (TOLERATED, change("UNCORDON", "b"), LABELLED, LARGER),
        f"tolerate x:NoSchedule and {REPLACED} and the label disk=ssd",
    ),
    "a larger node keeps the labels": (
        (replace(LABELLED, value="disk=ssd,pool=big"), LARGER),
        f"{REPLACED} and the labels disk=ssd,pool=big",
    ),
    "an added node has the missing room and labels": (
        (TOLERATED, change("ADD_NODE", "b", "ToBeDeletedByClusterAutoscaler=17:NoSchedule"), MODEL, LARGER),
        (
            "tolerate x:NoSchedule and add a node with nvidia.com/gpu.product=L4 and 2 free CPU "
            "or wait for a new one: cluster-autoscaler is about to remove b"
        ),
    ),
    "a new node is empty": (
        (MODEL, change("FREE", "b", amounts={"cpu": 100})),
        "add a node with nvidia.com/gpu.product=L4",
    ),
}


@pytest.mark.parametrize(("changes", "words"), REMEDIES.values(), ids=REMEDIES)
def test_changes_of_one_remedy(changes: tuple[CandidateChange, ...], words: str) -> None:
    assert remedied(*changes) == words


def test_every_temporary_taint_has_a_text() -> None:
    keys = (
        *(f"node.kubernetes.io/{kind}-pressure" for kind in ("memory", "disk", "pid")),
        *(f"node.kubernetes.io/{kind}" for kind in ("not-ready", "unreachable", "network-unavailable")),
        "node.kubernetes.io/out-of-service",
        *(f"node.cloudprovider.kubernetes.io/{kind}" for kind in ("uninitialized", "shutdown")),
    )
    for key in keys:
        assert re.fullmatch("wait until .*b.*", remedied(replace(SILENT, value=f"{key}=value:NoExecute")))


def rejected(plugin: str, remedy: Remedy, *facts: Fact) -> RejectedGroup:
    nodes = (RejectedNode("a", facts, ()),)
    return RejectedGroup(plugin, (), 1, 1, preemption_may_help=False, nodes=nodes, remedy=remedy)


def ways(*groups: RejectedGroup) -> list[str]:
    outcome = PlacementOutcome.UNSCHEDULABLE
    return ways_out(Placement(outcome=outcome, scheduler_name="", reason="", verified=True, rejected=groups))


def test_remedy_that_includes_another_is_dropped() -> None:
    cheap = rejected("VolumeRestrictions", Remedy((STOPPED,), "a", 1, 10))
    dearer = rejected("TaintToleration", Remedy((SILENT, replace(STOPPED, node="b")), "b", 1, 200))
    assert ways(dearer, cheap) == ["stop pod shop/web-0 on a"]


def test_changes_outside_the_spec_come_first() -> None:
    spread = rejected("P", Remedy((change("TOLERATE", value="spot:NoSchedule"),), "a", 3, 10))
    cordoned = rejected("P", Remedy((change("UNCORDON", "a"),), "a", 3, 130))
    free = Remedy((change("FREE", "a", amounts={"memory": 200 * MI}),), "a", 3, 120)

    def remedies(size: int) -> list[str]:
        lacks = InsufficientResource("memory", 300 * MI, (size - 100) * MI, size * MI)
        return ways(spread, rejected("P", free, lacks), cordoned)

    tolerated = "tolerate spot:NoSchedule (then a and 2 more nodes)"
    assert remedies(size=2000) == ["uncordon a", f"free 200Mi memory on a{STAY}", tolerated]
    assert remedies(size=1999) == ["uncordon a", tolerated, f"free 200Mi memory on a{STAY}"], "more than a tenth of it"


@pytest.mark.parametrize(
    ("free", "asked", "words"),
    [
        (1045 * MI, 1152 * MI, ("107Mi", "1045Mi", "1152Mi")),
        (1045 * MI + 1, 1152 * MI, ("107Mi", "1045Mi", "1152Mi")),
        (12902 * MI, 20480 * MI, ("7.5Gi", "12.6Gi", "20Gi")),
        (29 * 1024 * MI, 32 * 1024 * MI, ("3Gi", "29Gi", "32Gi")),
        (1024 * MI - 1, 1024 * MI, ("1", "1073741823", "1073741824")),
        (1024 * MI, 1054 * MI + 1, ("30.1Mi", "1024Mi", "1054.1Mi")),
        (-MI, 300 * MI, ("301Mi", "0", "300Mi")),
    ],
)
def test_amounts_show_what_is_missing(free: int, asked: int, words: tuple[str, str, str]) -> None:
    assert amounts_apart("memory", free, asked) == words


@pytest.mark.parametrize(
    ("missing", "words"),
    [(4352 * MI, "4.3Gi"), (4096 * MI, "4Gi"), (1, "1"), (1025, "1.1Ki"), (200 * MI + 1, "201Mi"), (220 * MI, "220Mi")],
)
def test_amount_to_free_is_not_rounded_down(missing: int, words: str) -> None:
    free = change("FREE", "a", amounts={"memory": missing})
    assert remedy_words(Remedy((free,), "a", 1, 1), ()) == f"free {words} memory on a{STAY}"
