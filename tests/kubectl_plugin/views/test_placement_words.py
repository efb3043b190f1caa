"""Texts for one fact and change of each kind, and rare placements on a terminal."""

from __future__ import annotations

import re

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
    InsufficientResource("cpu", 2500, 900, 1000): "lacks 2.4 cpu: 100m of 1 free, asks 2.5",
    InsufficientResource("cpu", 1, 1200, 1000): "lacks 201m cpu: 1.2 of 1 promised already, asks 1m",
    InsufficientResource("example.com/gpu", 2, 3, 4): "lacks 1 example.com/gpu: 1 of 4 free, asks 2",
    InsufficientResource("pods", 1, 110, 110): "has 110 of 110 pods",
    InsufficientResource("pods", 1, 110, 110, 1, (OTHER,)): (
        "has 110 of 110 pods, 1 of them the nominated pod shop/web-0"
    ),
    InsufficientResource("cpu", 1000, 1200, 1000, 500, (OTHER,)): (
        "lacks 1.2 cpu: 1.2 of 1 promised already, 500m of it for the nominated pod shop/web-0, asks 1"
    ),
    InsufficientResource("cpu", 1000, 700, 1000, 500, (OTHER, OTHER)): (
        "lacks 700m cpu: 300m of 1 free besides 500m for the nominated pods shop/web-0 and shop/web-0, asks 1"
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
CHANGES: list[tuple[CandidateChange, str]] = [
    (CandidateChange(ChangeKind.UNCORDON, node="a"), "uncordon a"),
    (
        CandidateChange(ChangeKind.TOLERATE, field="spec.tolerations", value="x:NoSchedule"),
        "tolerate x:NoSchedule (then b and 2 more nodes)",
    ),
    (
        CandidateChange(ChangeKind.REMOVE_TAINT, node="b", value="node.kubernetes.io/unreachable:NoSchedule"),
        "wait until b answers again",
    ),
    (
        CandidateChange(ChangeKind.REMOVE_TAINT, node="b", value="node.kubernetes.io/out-of-service=x:NoExecute"),
        "wait until b is back, and run kubectl qos unfence node/b",
    ),
    (
        CandidateChange(ChangeKind.REMOVE_TAINT, node="b", value="file.csi.azure.com/agent-not-ready:NoExecute"),
        "wait until the agent of file.csi.azure.com is ready on b",
    ),
    (
        CandidateChange(ChangeKind.TOLERATE, field="spec.tolerations", value="CriticalAddonsOnly=true:NoSchedule"),
        "tolerate CriticalAddonsOnly=true:NoSchedule (kept for critical add-ons) (then b and 2 more nodes)",
    ),
    (
        CandidateChange(ChangeKind.ADD_NODE, node="b", value="karpenter.sh/disrupted:NoSchedule"),
        "add a node or wait for a new one: Karpenter is about to remove b",
    ),
    (
        CandidateChange(ChangeKind.ADD_NODE, node="b", value="kubernetes.io/os=windows:NoSchedule"),
        "add a node that runs Linux: b runs Windows",
    ),
    (
        CandidateChange(ChangeKind.ADD_NODE, node="b", value="google.com/tpu=present:NoSchedule"),
        "add a node without taint google.com/tpu=present:NoSchedule: b is for pods that use TPUs",
    ),
    (
        CandidateChange(ChangeKind.ADD_NODE, node="b", field="spec.nodeSelector", value="kubernetes.io/arch=arm64"),
        "add a node with kubernetes.io/arch=arm64",
    ),
    (
        CandidateChange(ChangeKind.SPREAD, field="spec.topologySpreadConstraints[0].maxSkew", value="3"),
        f"maxSkew 3 on {ZONE} (then b and 2 more nodes)",
    ),
    (
        CandidateChange(ChangeKind.SPREAD, field="spec.topologySpreadConstraints[0].nodeTaintsPolicy", value="Honor"),
        f"nodeTaintsPolicy Honor on {ZONE} (then b and 2 more nodes)",
    ),
    (
        CandidateChange(
            ChangeKind.SPREAD, field="spec.topologySpreadConstraints[0].whenUnsatisfiable", value="ScheduleAnyway"
        ),
        f"ScheduleAnyway on {ZONE} (then b and 2 more nodes)",
    ),
    (
        CandidateChange(ChangeKind.SPREAD, field="spec.topologySpreadConstraints[0].topologyKey", value="rack"),
        f"spread over rack instead of {ZONE} (then b and 2 more nodes)",
    ),
    (
        CandidateChange(ChangeKind.FREE, node="a", amounts={"memory": 220 * MI, "cpu": 100}),
        f"free 220Mi memory and 100m cpu on a{STAY}",
    ),
    (
        CandidateChange(
            ChangeKind.FREE, node="a", amounts={"memory": 220 * MI, "cpu": 100}, promised={"memory": 300 * MI}
        ),
        f"free 220Mi of the 300Mi promised memory and 100m cpu on a{STAY}",
    ),
    (
        CandidateChange(ChangeKind.ENLARGE, node="a", amounts={"cpu": 2000, "pods": 1}),
        "replace a with one that has 2 free CPU and room for 1 more pod",
    ),
    (CandidateChange(ChangeKind.LABEL_NODE, node="a", value="disk=ssd"), "label a disk=ssd"),
    (
        CandidateChange(ChangeKind.DROP, field="spec.nodeSelector", value="disk=ssd"),
        "drop spec.nodeSelector disk=ssd (then b and 2 more nodes)",
    ),
    (
        CandidateChange(
            ChangeKind.DROP, field="spec.affinity.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution"
        ),
        "drop the required terms of spec.affinity.podAntiAffinity (then b and 2 more nodes)",
    ),
    (
        CandidateChange(ChangeKind.REMOVE_PODS, node="a", pods=(PodOnNode("shop", "web-0", "b"),)),
        "stop pod shop/web-0 on b",
    ),
    (
        CandidateChange(ChangeKind.AWAIT_PODS, node="b", pods=(PodOnNode("shop", "web-0", "b"),)),
        "wait until shop/web-0 on b, which is being deleted, is gone",
    ),
    (
        CandidateChange(ChangeKind.AWAIT_PODS, node="b", pods=(PodOnNode("shop", "web-0", "a"),), silent=True),
        (
            "wait until shop/web-0 on a, which is being deleted, is gone "
            "(its node is silent: bring it back or fence it) (then b)"
        ),
    ),
    (
        CandidateChange(ChangeKind.ROLL_OUT, node="a", pods=(PodOnNode("shop", "web-0", "b"),), paused=True),
        "resume the paused rollout and let it stop shop/web-0 on b first: maxUnavailable 1",
    ),
    (
        CandidateChange(ChangeKind.ROLL_OUT, node="a", pods=(PodOnNode("shop", "web-0", "b"),)),
        "let the rollout stop shop/web-0 on b first: maxUnavailable 1",
    ),
    (
        CandidateChange(
            ChangeKind.REMOVE_PODS, node="b", pods=(PodOnNode("shop", "web-0", "a"), PodOnNode("shop", "web-1", "b"))
        ),
        "stop pods shop/web-0 on a and shop/web-1 on b (then b)",
    ),
]


@pytest.mark.parametrize(("change", "words"), CHANGES, ids=map(str, range(len(CHANGES))))
def test_change(change: CandidateChange, words: str) -> None:
    assert remedy_words(Remedy((change,), "b", 3, 0), SPREAD) == words


@pytest.mark.parametrize(
    ("helped", "waiting", "words"), [(1, 3, ", which helps 1 of 3 pods"), (3, 3, ""), (None, 40, ""), (None, 1, "")]
)
def test_remedy_shows_how_many_replicas_it_helps(helped: int | None, waiting: int, words: str) -> None:
    change = CandidateChange(ChangeKind.TOLERATE, field="spec.tolerations", value="x:NoSchedule")
    assert remedy_words(Remedy((change,), "b", 1, 0, helped, waiting), ()) == f"tolerate x:NoSchedule{words} (then b)"


def test_every_kind_of_change_has_a_text() -> None:
    assert {change.kind for change, _ in CHANGES} == set(ChangeKind)


SILENT = CandidateChange(ChangeKind.REMOVE_TAINT, node="b", value="node.kubernetes.io/unreachable:NoSchedule")
STOPPED = CandidateChange(ChangeKind.REMOVE_PODS, node="a", pods=(PodOnNode("shop", "web-0", "a"),))


def test_temporary_state_is_a_condition_of_the_remedy() -> None:
    stopped = replace(STOPPED, node="b")
    assert remedy_words(Remedy((SILENT, stopped), "b", 1, 0), ()) == (
        "stop pod shop/web-0 on a, once b answers again (then b)"
    )


def test_larger_node_keeps_labels_without_node_faults() -> None:
    tolerated = CandidateChange(ChangeKind.TOLERATE, field="spec.tolerations", value="x:NoSchedule")
    labelled = CandidateChange(ChangeKind.LABEL_NODE, node="b", value="disk=ssd")
    uncordoned = CandidateChange(ChangeKind.UNCORDON, node="b")
    larger = CandidateChange(ChangeKind.ENLARGE, node="b", amounts={"cpu": 2000})
    replaced = "replace b with one that has 2 free CPU"
    assert remedy_words(Remedy((SILENT, larger), "b", 1, 0), ()) == replaced
    assert remedy_words(Remedy((tolerated, uncordoned, labelled, larger), "b", 1, 0), ()) == (
        f"tolerate x:NoSchedule and {replaced} and the label disk=ssd"
    )
    several = replace(labelled, value="disk=ssd,pool=big")
    assert remedy_words(Remedy((several, larger), "b", 1, 0), ()) == f"{replaced} and the labels disk=ssd,pool=big"


def test_added_node_has_missing_room_and_labels() -> None:
    tolerated = CandidateChange(ChangeKind.TOLERATE, field="spec.tolerations", value="x:NoSchedule")
    going = CandidateChange(ChangeKind.ADD_NODE, node="b", value="ToBeDeletedByClusterAutoscaler=17:NoSchedule")
    model = CandidateChange(ChangeKind.ADD_NODE, node="b", field="spec.nodeSelector", value="nvidia.com/gpu.product=L4")
    larger = CandidateChange(ChangeKind.ENLARGE, node="b", amounts={"cpu": 2000})
    freed = CandidateChange(ChangeKind.FREE, node="b", amounts={"cpu": 100})
    said = remedy_words(Remedy((tolerated, going, model, larger), "b", 1, 0), ())
    assert said == (
        "tolerate x:NoSchedule and add a node with nvidia.com/gpu.product=L4 and 2 free CPU "
        "or wait for a new one: cluster-autoscaler is about to remove b"
    )
    # A new node is empty.
    assert remedy_words(Remedy((model, freed), "b", 1, 0), ()) == "add a node with nvidia.com/gpu.product=L4"


def test_every_temporary_taint_has_a_text() -> None:
    keys = (
        *(f"node.kubernetes.io/{kind}-pressure" for kind in ("memory", "disk", "pid")),
        *(f"node.kubernetes.io/{kind}" for kind in ("not-ready", "unreachable", "network-unavailable")),
        "node.kubernetes.io/out-of-service",
        *(f"node.cloudprovider.kubernetes.io/{kind}" for kind in ("uninitialized", "shutdown")),
    )
    for key in keys:
        one = Remedy((replace(SILENT, value=f"{key}=value:NoExecute"),), "b", 1, 0)
        assert re.fullmatch("wait until .*b.*", remedy_words(one, ()))


def test_remedy_that_includes_another_is_dropped() -> None:
    def group(plugin: str, cost: int, *changes: CandidateChange) -> RejectedGroup:
        return RejectedGroup(
            plugin, (), 1, 1, preemption_may_help=False, nodes=(), remedy=Remedy(changes, changes[-1].node, 1, cost)
        )

    cheap = group("VolumeRestrictions", 10, STOPPED)
    dearer = group("TaintToleration", 200, SILENT, replace(STOPPED, node="b"))
    placement = Placement(
        outcome=PlacementOutcome.UNSCHEDULABLE, scheduler_name="", reason="", verified=True, rejected=(dearer, cheap)
    )
    assert ways_out(placement) == ["stop pod shop/web-0 on a"]


def test_changes_outside_the_spec_come_first() -> None:
    def group(change: CandidateChange, cost: int, fact: InsufficientResource | None = None) -> RejectedGroup:
        node = RejectedNode("a", () if fact is None else (fact,), ())
        remedy = Remedy((change,), "a", 3, cost)
        return RejectedGroup("P", (), 1, 1, preemption_may_help=False, nodes=(node,), remedy=remedy)

    spread = group(CandidateChange(ChangeKind.TOLERATE, field="spec.tolerations", value="spot:NoSchedule"), 10)
    cordoned = group(CandidateChange(ChangeKind.UNCORDON, node="a"), 130)
    free = CandidateChange(ChangeKind.FREE, node="a", amounts={"memory": 200 * MI})

    def remedies(size: int) -> list[str]:
        little = group(free, 120, InsufficientResource("memory", 300 * MI, (size - 100) * MI, size * MI))
        return ways_out(
            Placement(
                outcome=PlacementOutcome.UNSCHEDULABLE,
                scheduler_name="",
                reason="",
                verified=True,
                rejected=(spread, little, cordoned),
            )
        )

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
    change = CandidateChange(ChangeKind.FREE, node="a", amounts={"memory": missing})
    assert remedy_words(Remedy((change,), "a", 1, 1), ()) == f"free {words} memory on a{STAY}"
