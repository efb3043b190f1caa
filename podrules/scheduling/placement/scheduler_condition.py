"""What kube-scheduler says of a pending pod: its message, compared with the present answer, and what a binding awaits.

    0/12 nodes are available: 2 Insufficient memory, 10 node(s) had untolerated taint(s). preemption: 0/12 nodes …

Older versions have other words for some reasons: meanings are compared, not texts.
The histogram is FitError's, which this product words itself; what follows it is PostFilter's.

Source: FitError.Error in pkg/scheduler/framework/types.go at v1.36.3.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from typing import Final

from msgspec.structs import replace

from podrules.api.model.instant import instant, later
from podrules.api.model.pod import Pod
from podrules.api.model.quantity import whole_number
from podrules.scheduling.placement.outcome import (
    Binding,
    BindingStage,
    ClaimProblem,
    ClaimTrouble,
    ReasonCount,
    SchedulerMessage,
)
from podrules.scheduling.placement.situation import Situation
from podrules.scheduling.scheduler.cycle import FilterResult
from podrules.scheduling.scheduler.plugins.dynamic_resources.plugin import DynamicResources, DynamicResourcesState
from podrules.scheduling.scheduler.plugins.volume_binding.binder import ANNOTATION_SELECTED_NODE
from podrules.scheduling.scheduler.plugins.volume_binding.plugin import VolumeBindingArgs
from podrules.scheduling.scheduler.plugins.volume_binding.storage_index import (
    StorageIndex,
    claim_class,
    claim_provisioner,
    claim_reference,
    is_bound,
    storage_index,
)

_SENTENCE: Final = re.compile(r"0/\d+ nodes are available: (.*?)\.(?: |$)", re.DOTALL)
_ENTRY: Final = re.compile(r"(\d+) (.+)", re.DOTALL)
_OLDER: Final = (
    (re.compile(r"node\(s\) had untolerated taint \{.*\}", re.DOTALL), "node(s) had untolerated taint(s)"),
    (re.compile(r"node\(s\) had taint.* that the pod didn't tolerate", re.DOTALL), "node(s) had untolerated taint(s)"),
    (
        re.compile(r"node\(s\) didn't match (?:node selector|node affinity|Pod's node affinity)"),
        "node(s) didn't match Pod's node affinity/selector",
    ),
    (
        re.compile(r"node\(s\) had volume node affinity conflict"),
        "node(s) didn't match PersistentVolume's node affinity",
    ),
)
"""Patterns of older wording, and today's."""


def found_no_victims(message: str) -> bool:
    """Whether preemption helped on no node: if it has victims, kube-scheduler does not mention preemption."""
    return " preemption: 0/" in message


def compare_messages(message: str, now: str, *, room: bool = False) -> SchedulerMessage:
    """Compare the condition's message with the current one, which is empty if a node fits now.

    `room`: preemption makes room now, so a message that reports no victim disagrees.
    """
    if room and found_no_victims(message):
        return replace(compare_messages(message, now), agrees=False, no_victims=True)
    if now and (message == now or message.startswith(f"{now} ")):
        return SchedulerMessage(message, agrees=True, changed=())
    then_counts, now_counts = Counter[str](), histogram(now)
    for reason, nodes in histogram(message).items():
        then_counts[next((today for older, today in _OLDER if older.fullmatch(reason)), reason)] += nodes
    if then_counts == now_counts and then_counts and message.partition(" ")[0] == now.partition(" ")[0]:
        return SchedulerMessage(message, agrees=True, changed=())
    if not then_counts:
        return SchedulerMessage(message, agrees=False, changed=())
    reasons = sorted({*then_counts, *now_counts})
    changed = [
        ReasonCount(reason, then, there)
        for reason in reasons
        if (then := then_counts.get(reason, 0)) != (there := now_counts.get(reason, 0))
    ]
    return SchedulerMessage(message, agrees=False, changed=tuple(changed))


def histogram(message: str) -> dict[str, int]:
    """The number of nodes for each reason; empty if the message has another form."""
    sentence = _SENTENCE.match(message)
    if sentence is None:
        return {}
    entries = [_ENTRY.fullmatch(entry) for entry in re.split(r", (?=\d+ )", sentence.group(1))]
    return {entry.group(2): whole_number(entry.group(1)) for entry in entries if entry is not None}


_NAMES_NODE: Final = 35
"""The first minor version in which kube-scheduler names the node before it binds."""
_LONG: Final = 300
_AWAITED: Final = re.compile(r"binding (volumes:|timeout|failed)")
"""The attempt failed because of what it waited for; other errors pass, such as two writers of one claim."""


def awaited_binding(situation: Situation, filtered: FilterResult) -> Binding | None:
    """What the scheduler waits for before it binds a pod; None: it looks for a node, or nothing is known.

        preempted    status.nominatedNodeName keeps the room of the pods that go; condition PodScheduled: Unschedulable
        Permit       a plugin of the profile, or the rest of its group, is awaited
        PreBind      the volume of a claim is awaited, which is to be made on the node (annotation selected-node) or is
                     there and reserved (spec.claimRef); or devices with binding conditions: one of failure ends it
        failed       after an error, or bindTimeoutSeconds (600), the nomination ends, PodScheduled is SchedulerError,
                     and the scheduler tries again within 10 s: with the node that the claim has by then

    kube-scheduler writes nominatedNodeName before Permit and PreBind since 1.35 (NominatedNodeNameForExpectation), also
    for a pod that was never Unschedulable. An older one writes it only for a preemption. Other components may write it.

    Source: pkg/scheduler/schedule_one.go (bindingCycle, handleBindingCycleError), plugins/volumebinding/binder.go
    (BindPodVolumes), plugins/dynamicresources (PreBind) and pkg/controller/volume/persistentvolume/pv_controller.go
    (provisionClaimOperationExternal) at v1.36.3.
    """
    pod, index, now = situation.pod, storage_index(filtered.context), situation.now
    scheduled, nominated = pod.status.condition("PodScheduled"), pod.status.nominated_node_name
    condition = scheduled if scheduled is not None and scheduled.status == "False" else None
    failed = condition is not None and condition.reason == "SchedulerError"
    volumes = list(awaited_claims(index, pod))
    node = nominated or next((one.selected_node for one in volumes if one.selected_node), "")
    volumes = [one for one in volumes if one.selected_node in {"", node}]
    claims = tuple(volumes or _devices(filtered))
    row, names_node = situation.table.index.get(node), situation.features.minor >= _NAMES_NODE
    waits = row is not None and bool(nominated or (claims and (condition is None or not names_node)))
    # With Unschedulable, a node that does not fit is one that preemption makes room on.
    passed = condition is None or (row is not None and filtered.fits(row))
    if not failed and not (waits and passed and (claims or (condition is None and names_node))):
        return None
    made = instant(pod.metadata.creation_timestamp)
    late = made is not None and now is not None and now >= later(made, _LONG)
    args = situation.framework.args.get("VolumeBinding") or VolumeBindingArgs()
    unread, missing = {one.resource for one in situation.unread}, ""
    provisioner = volumes[0].provisioner if volumes else ""
    in_tree = not provisioner or provisioner.startswith("kubernetes.io/")
    if not (in_tree or situation.is_list or "csidrivers.storage.k8s.io" in unread):
        there = index.csi_nodes[row].spec.drivers if row is not None and row in index.csi_nodes else ()
        if provisioner not in index.drivers:
            missing = "CSIDriver"
        elif row is not None and "csinodes.storage.k8s.io" not in unread:
            missing = "" if any(one.name == provisioner for one in there) else "CSINode"
    of_claims = BindingStage.VOLUMES if volumes else BindingStage.DEVICES
    of_others = BindingStage.PERMIT if situation.framework.unknown else BindingStage.UNKNOWN
    return Binding(
        stage=BindingStage.FAILED if not waits else of_claims if claims else of_others,
        node=node,
        claims=claims,
        timeout_seconds=args.bind_timeout_seconds if volumes else 600,
        error=condition.message if condition is not None and failed else "",
        late=bool(claims)
        and (
            late
            or any(one.failed for one in claims)
            or (condition is not None and failed and bool(_AWAITED.search(condition.message)))
        ),
        missing=missing,
    )


def awaited_claims(index: StorageIndex, pod: Pod) -> Iterator[ClaimProblem]:
    """The unbound claims for which the scheduler has chosen a node, or has reserved a volume."""
    held = ((one.spec.claim_ref, one.metadata.name) for one in index.volumes.values())
    holders = {holder.uid: name for holder, name in held if holder is not None and holder.uid}
    for place, volume in enumerate(pod.spec.volumes):
        named, space = claim_reference(pod, volume), pod.metadata.namespace
        claim = index.claims.get((space, named.name)) if named is not None else None
        if claim is None or is_bound(claim) or claim.metadata.deletion_timestamp is not None:
            continue
        chosen, reserved = claim.metadata.annotations.get(ANNOTATION_SELECTED_NODE), holders.get(claim.metadata.uid)
        trouble = ClaimTrouble.WAITS_FOR_VOLUME if reserved else ClaimTrouble.WAITS_FOR_PROVISIONER
        named_class, field = claim_class(claim), f"spec.volumes[{place}]"
        found = ClaimProblem(
            trouble=trouble, namespace=space, claim=claim.metadata.name, field=field, storage_class=named_class
        )
        if reserved:
            yield replace(found, volume=reserved)
        elif chosen:
            yield replace(found, provisioner=claim_provisioner(index, claim), selected_node=chosen)


def _devices(filtered: FilterResult) -> Iterator[ClaimProblem]:
    """The pod's claims with allocated devices that have a binding condition that is not true."""
    state, trouble = filtered.context.states.get(DynamicResources.name), ClaimTrouble.WAITS_FOR_DEVICE
    for claim in state.claims if isinstance(state, DynamicResourcesState) else ():
        space, name = claim.metadata.place
        found = ClaimProblem(trouble=trouble, namespace=space, claim=name, field="spec.resourceClaims")
        for result in () if claim.status.allocation is None else claim.status.allocation.devices.results:
            own = [one for one in claim.status.devices if (one.driver, one.device) == (result.driver, result.device)]
            reported = {one.type: one for device in own for one in device.conditions}
            true = {name for name, one in reported.items() if one.status == "True"}
            lacks = tuple(one for one in result.binding_conditions if one not in true)
            failed = tuple(one for one in result.binding_failure_conditions if one in true)
            if result.binding_conditions and (lacks or failed):
                said = {
                    name: reported[name].message or reported[name].reason
                    for name in (*failed, *lacks)
                    if name in reported
                }
                yield replace(found, provisioner=result.driver, wanted=lacks, failed=failed, messages=said)
