"""The sentences about changes that would let a pod fit on a node."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final, cast

from msgspec.structs import replace

from kubectl_plugin.views.evictor_words import node_words
from kubectl_plugin.views.scheduling.scheduler_plugins import ONE_POD, nominated_pods_words
from kubectl_plugin.views.words import counted, cut, listed, resource_amount
from podrules.api.model.pod import PodOnNode
from podrules.api.well_known import KnownTaint, Meaning, known_taint, meant_value
from podrules.node.reachability import OUT_OF_SERVICE
from podrules.scheduling.placement.outcome import ConstraintSpread, Placement, RejectedGroup, Remedy
from podrules.scheduling.scheduler.framework.answers import CandidateChange, ChangeKind

if TYPE_CHECKING:
    from podrules.scheduling.scheduler.plugins.inter_pod_affinity.plugin import PodAffinityConflict
    from podrules.scheduling.scheduler.plugins.node_resources.columns import InsufficientResource
    from podrules.scheduling.scheduler.plugins.volume_restrictions import DiskInUse

_REQUIRED = ".requiredDuringSchedulingIgnoredDuringExecution"
_LARGE: Final = 32
_LITTLE = 10
"""Up to a tenth of a node's resource counts as little to free."""
_WHEN_LOST: Final[Mapping[str, str]] = {
    "node.kubernetes.io/unreachable": "{node} answers again",
    "node.kubernetes.io/not-ready": "{node} is Ready again",
    "node.kubernetes.io/network-unavailable": "the network of {node} is set up",
    OUT_OF_SERVICE: "{node} is back, and run kubectl qos unfence node/{node}",
    "node.kubernetes.io/memory-pressure": "{node} has memory to spare again",
    "node.kubernetes.io/disk-pressure": "{node} has disk space to spare again",
    "node.kubernetes.io/pid-pressure": "{node} has process ids to spare again",
    "node.cloudprovider.kubernetes.io/uninitialized": "its cloud controller has set {node} up",
    "karpenter.sh/unregistered": "{node} has registered with Karpenter",
    "medik8s": "the remediator has repaired {node}",
    "kubevirt.io/drain": "KubeVirt has drained {node} and its taint is gone",
    "node.cloudprovider.kubernetes.io/shutdown": "the machine of {node} is started again",
}
"""What removes a taint that reports a problem of a node: a removal by hand has no effect."""


def ways_out(placement: Placement, *, drained: Sequence[str] = (), most: int = 3) -> list[str]:
    """The remedies of all groups: first those that change no spec and little else, then the rest in order.

    Remedies that need a larger machine come only if there is no other. Nodes that are being drained are not uncordoned.
    """
    found = [
        (group, remedy)
        for group in placement.rejected
        for remedy in (group.remedy, group.softened)
        if remedy is not None and remedy.node not in drained
    ]
    small = [remedy for _, remedy in found if all(change.kind is not ChangeKind.ENLARGE for change in remedy.changes)]
    remedies = [remedy for _, remedy in sorted(found, key=lambda one: (_place(*one), one[1].cost))]
    ways: list[Remedy] = []
    for remedy in [remedy for remedy in remedies if remedy in small] or remedies[:1]:
        # A remedy that includes all changes of an earlier one is superfluous.
        if not any(_effects(before) <= _effects(remedy) for before in ways):
            ways.append(remedy)
    found_ways = dict.fromkeys(remedy_words(remedy, placement.spread) for remedy in ways)
    coming = placement.nominated is not None or (placement.preemption is not None and placement.preemption.nodes)
    return list(found_ways)[:most] or ([] if coming else list(_by_spec(placement.rejected)))


def ways_sentence(ways: Sequence[str]) -> tuple[str, ...]:
    """``Ways out: uncordon node-1; or add a node with 2 free CPU.``; empty without a way."""
    if not ways:
        return ()
    *others, last = ways
    return (f"Ways out: {'; '.join(others)}; or {last}." if others else f"Way out: {last}.",)


def _by_spec(rejected: Iterable[RejectedGroup]) -> Iterator[str]:
    """What helps if no change of one node or pod does, because controllers recreate the conflicting pods."""
    for group in rejected:
        facts = [fact for node in group.nodes for fact in node.facts]
        if group.plugin == "VolumeRestrictions" and any(reason.endswith(ONE_POD) for reason in group.reasons):
            claim = next((fact.disk for fact in cast("list[DiskInUse]", facts)), "its claim")
            yield f"one replica, or another access mode for {claim}"
        elif group.plugin == "InterPodAffinity":
            rules = {fact.rule: fact.topology_key for fact in cast("list[PodAffinityConflict]", facts)}
            if rules and "affinity" not in rules:
                key = next(iter(rules.values()))
                yield f"add a node in another {key.rpartition('/')[2]} ({key})"
            if "antiAffinity" in rules and "affinity" not in rules:
                yield "request fewer pods"
                yield "make its anti-affinity preferred"


def _place(group: RejectedGroup, remedy: Remedy) -> int:
    """0: a node is uncordoned or restarts, or pods end. 1: a node frees a little. 2: everything else."""
    if len(remedy.changes) > 1:
        return 2
    (change,) = remedy.changes
    if change.kind is ChangeKind.UNCORDON or change.going is not None or change.kind is ChangeKind.AWAIT_PODS:
        return 0
    if change.kind is not ChangeKind.FREE:
        return 2
    facts = [fact for node in group.nodes if node.node == change.node for fact in node.facts]
    lacks = cast("list[InsufficientResource]", facts)
    little = all(fact.short * _LITTLE <= fact.allocatable for fact in lacks)
    return 1 if lacks and little else 2


def _effects(remedy: Remedy) -> set[str]:
    """The changes of a remedy as texts; a stopped pod is the same change for any node."""
    return {repr(replace(change, node="") if change.pods else change) for change in remedy.changes}


def remedy_words(remedy: Remedy, spread: tuple[ConstraintSpread, ...]) -> str:
    """``free 220Mi memory on node-a1``, ``maxSkew 3 on zone (then node-b2)``."""
    changes = _changes_words(remedy.changes, spread)
    if remedy.helped is not None and remedy.helped < remedy.waiting:
        changes += f", which helps {remedy.helped} of {counted(remedy.waiting, 'pod')}"
    if any(change.node for change in remedy.changes):
        elsewhere = any(pod.node != remedy.node for change in remedy.changes for pod in change.pods)
        return f"{changes} (then {remedy.node})" if elsewhere else changes
    others = f" and {counted(remedy.feasible - 1, 'more node')}" if remedy.feasible > 1 else ""
    return f"{changes} (then {remedy.node}{others})"


def pods_on_nodes(pods: Sequence[PodOnNode], most: int | None = None) -> str:
    """``shop/a and shop/b on node-1``; if the nodes differ, each pod has its own."""
    names = [f"{pod.namespace}/{pod.name}" for pod in pods]
    if len({pod.node for pod in pods}) == 1:
        return f"{listed(names, most)} on {pods[0].node}"
    return listed([f"{name} on {pod.node}" for name, pod in zip(names, pods, strict=True)], most)


def _changes_words(changes: Sequence[CandidateChange], spread: tuple[ConstraintSpread, ...]) -> str:
    """The changes to make, and the events to wait for."""
    added = [change for change in changes if change.kind is ChangeKind.ADD_NODE]
    larger = next((change for change in changes if change.kind is ChangeKind.ENLARGE), None)
    if added:
        others = [_change_words(change, spread) for change in changes if not change.node]
        return listed([*others, _added_words(added, larger)])
    if larger is not None:
        others = [_change_words(change, spread) for change in changes if change.kind not in _OF_THE_NODE]
        return listed([*others, _replaced_words(larger, changes)])
    awaited = listed([_change_words(change, spread) for change in changes if change.kind in _AWAITED])
    done = listed([_change_words(change, spread) for change in changes if change.kind not in _AWAITED])
    if not done:
        return f"wait until {awaited}"
    return f"{done}, once {awaited}" if awaited else done


_AWAITED: Final = frozenset({ChangeKind.REMOVE_TAINT, ChangeKind.AWAIT_PODS})
_OF_THE_NODE: Final = frozenset(
    {ChangeKind.ENLARGE, ChangeKind.LABEL_NODE, ChangeKind.UNCORDON, ChangeKind.REMOVE_TAINT}
)
"""Changes that a larger node includes or makes superfluous: a new node is not cordoned and has no problems."""


def _added_words(added: Sequence[CandidateChange], larger: CandidateChange | None) -> str:
    """Another node, and why the judged one is not enough."""
    node, has, why = added[0].node, [change.value for change in added if change.field], ""
    for change in added:
        if change.going is not None:
            why = f" or wait for a new one: {node_words(change.going, node)}"
            continue
        taint = "" if change.field else change.value
        known = _known(taint)
        if known is None:
            continue
        if known.meaning is Meaning.LEAVING:
            why = f" or wait for a new one: {known.owner} is about to remove {node}"
        elif known.meaning is Meaning.OTHER_OS:
            why = f" that runs Linux: {node} runs {known.owner}"
        else:
            why = f" without taint {taint}: {node} is for pods that use {known.owner}"
    if larger is not None:
        has.append(listed(_shape_words(larger)))
    return f"add a node{f' with {listed(has)}' if has else ''}{why}"


def _known(taint: str) -> KnownTaint | None:
    """The table entry of the taint ``key=value:effect``."""
    key, _, value = taint.rpartition(":")[0].partition("=")
    return known_taint(key, value)


def _replaced_words(larger: CandidateChange, changes: Sequence[CandidateChange]) -> str:
    """A larger node in addition to one or instead of it, with the labels that it lacks."""
    has = _shape_words(larger)
    labels = ",".join(change.value for change in changes if change.kind is ChangeKind.LABEL_NODE)
    if labels:
        has.append(f"the {'labels' if ',' in labels else 'label'} {labels}")
    return f"{'add a node with' if larger.added else f'replace {larger.node} with one that has'} {listed(has)}"


def _shape_words(larger: CandidateChange) -> list[str]:
    """``64 free CPU``, rounded to usual machine sizes; resources without such sizes stay exact."""
    return [_free_words(resource, larger.asks.get(resource, amount)) for resource, amount in larger.amounts.items()]


def _free_words(resource: str, amount: int) -> str:
    if resource == "pods":
        return f"room for {counted(amount, 'more pod')}"
    unit = {"cpu": 1000, "memory": 2**30}.get(resource)
    if unit is not None:
        count = max(-(-amount // unit), 1)
        power: int = 2 ** (count - 1).bit_length()
        # One and a half times a power of 2 is also usual, such as 48 and 96.
        amount = unit * (power * 3 // 4 if power > _LARGE and power * 3 // 4 >= count else power)
    name = "CPU" if resource == "cpu" else resource
    return f"{resource_amount(resource, amount, named=False, enough=True)} free {name}"


def _change_words(change: CandidateChange, spread: tuple[ConstraintSpread, ...]) -> str:
    match change.kind:
        case ChangeKind.UNCORDON:
            return f"uncordon {change.node}"
        case ChangeKind.TOLERATE:
            known = _known(change.value)
            reserved = known is not None and known.meaning is Meaning.RESERVED
            return f"tolerate {change.value}{f' (kept for {known.owner})' if known and reserved else ''}"
        case ChangeKind.REMOVE_TAINT if change.going is not None:
            return f"{change.going.agent.value} has restarted {change.node}"
        case ChangeKind.REMOVE_TAINT:
            known = _known(change.value)
            owner = known.owner if known is not None else "its owner"
            key = re.split("[=:]", change.value)[0]
            words = _WHEN_LOST.get(key) or _WHEN_LOST.get(owner, "{owner} is ready on {node}")
            return f"{words.format(node=change.node, owner=owner)}{_cause(change)}"
        case ChangeKind.ADD_NODE:
            return _added_words([change], None)
        case ChangeKind.SPREAD:
            return _spread_words(change, spread)
        case ChangeKind.FREE:
            freed = listed([_freed_words(change, resource) for resource in change.amounts])
            resizes = [f"{pod.namespace}/{pod.name}" for pod in change.resizing]
            waiting = f", where the waiting resize of {listed(resizes, most=2)} counts" if resizes else ""
            moved = listed([f"{pod.namespace}/{pod.name}" for pod in change.pods])
            moving = f" by moving {moved}" if moved else "" if waiting else " (no pods found that could move)"
            return f"free {freed} on {change.node}{waiting}{moving}"
        case ChangeKind.ENLARGE:
            return _replaced_words(change, ())
        case ChangeKind.LABEL_NODE:
            return f"label {change.node} {change.value}{f' (it has {change.replaced})' if change.replaced else ''}"
        case ChangeKind.DROP if change.writer:
            return f"take {change.value} out of its namespace's annotation {change.writer} (admission copies it)"
        case ChangeKind.DROP if change.field.endswith(_REQUIRED):
            return _dropped(f"the required terms of {change.field.removesuffix(_REQUIRED)}", change)
        case ChangeKind.DROP:
            meant = meant_value(*change.value.partition("=")[::2])
            return f"{_dropped(f'{change.field} {change.value}', change)}{f', for kubelets {meant}' if meant else ''}"
        case ChangeKind.ROLL_OUT:
            rollout = "resume the paused rollout and let it" if change.paused else "let the rollout"
            return f"{rollout} stop {pods_on_nodes(change.pods)} first: maxUnavailable {len(change.pods)}"
        case ChangeKind.AWAIT_PODS:
            is_ = "is" if len(change.pods) == 1 else "are"
            silent = " (its node is silent: bring it back or fence it)" if change.silent else ""
            return f"{pods_on_nodes(change.pods)}, which {is_} being deleted, {is_} gone{silent}"
        case ChangeKind.REMOVE_PODS:
            return f"stop {'pod' if len(change.pods) == 1 else 'pods'} {pods_on_nodes(change.pods)}"


def _dropped(what: str, change: CandidateChange) -> str:
    return f"correct {what} (nodes have {listed(change.meant)}), or drop it" if change.meant else f"drop {what}"


def _cause(change: CandidateChange) -> str:
    """Why the owner of a taint does not remove it."""
    if change.says:
        return f" (its kubelet says: {cut(change.says, most=160).rstrip('. ')})"
    unready = listed([f"{pod.namespace}/{pod.name}" for pod in change.unready])
    return f" ({unready} there {'is' if len(change.unready) == 1 else 'are'} not healthy)" if unready else ""


def _freed_words(change: CandidateChange, resource: str) -> str:
    """``220Mi memory``; ``63.5Gi of the 68.6Gi promised memory`` if the node has less than was promised on it."""
    amount, promised = change.amounts[resource], change.promised.get(resource)
    if promised is None:
        return resource_amount(resource, amount, enough=True)
    freed = resource_amount(resource, amount, named=False, enough=True)
    whole = f"{freed} of the {resource_amount(resource, promised, named=False)} promised {resource}"
    if resource not in change.nominated:
        return whole
    part = resource_amount(resource, change.nominated[resource], named=False)
    return f"{whole} ({part} of it for {nominated_pods_words(change.nominated_pods)})"


def _spread_words(change: CandidateChange, spread: tuple[ConstraintSpread, ...]) -> str:
    constraint, _, part = change.field.rpartition(".")
    keys = {entry.field: entry.topology_key for entry in spread}
    key = keys.get(constraint, re.sub(r"^spec\.", "", constraint))
    if part in {"minDomains", "maxSkew", "nodeTaintsPolicy", "nodeAffinityPolicy"}:
        return f"{part} {change.value} on {key}"
    if part == "whenUnsatisfiable":
        return f"{change.value} on {key}"
    return f"spread over {change.value} instead of {key}"
