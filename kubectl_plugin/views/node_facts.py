"""The numbers behind a node's rejection, in words."""

from __future__ import annotations

from collections.abc import Sequence

from kubectl_plugin.views.words import amounts_apart, counted, listed, resource_amount
from podrules.placement.outcome import (
    ClaimMismatch,
    DevicePool,
    DiskInUse,
    Fact,
    InsufficientResource,
    LabelMismatch,
    MissingFeature,
    PodAffinityConflict,
    PortInUse,
    RejectedNode,
    TaintEffect,
    TopologySkew,
    VolumeLimit,
)
from podrules.placement.preemption_victims import PodReference

__all__ = ["fact_words", "nominated_pods_words"]

_SHOWN_FACTS = 3


def fact_words(node: RejectedNode) -> str:
    """What a node has, beside what the pod wants."""
    words = "; ".join(_words(fact) for fact in node.facts[:_SHOWN_FACTS])
    if len(node.facts) > _SHOWN_FACTS:
        words += f"; and {len(node.facts) - _SHOWN_FACTS} more"
    if node.also:
        words += f"{'; ' if words else ''}also fails {listed(node.also)}"
    return words


def _words(fact: Fact) -> str:
    match fact:
        case InsufficientResource():
            return _resource(fact)
        case TaintEffect():
            return f"has {fact.key}{'=' if fact.value else ''}{fact.value}:{fact.effect}"
        case LabelMismatch():
            values = f" {', '.join(fact.values)}" if fact.values else ""
            has = "lacks it" if fact.actual is None else f"has {fact.actual or 'an empty value'}"
            return f"{has}: {fact.field} wants {fact.key} {fact.operator}{values}"
        case TopologySkew():
            return _skew(fact)
        case PodAffinityConflict():
            return _affinity(fact)
        case PortInUse():
            return f"port {fact.port}/{fact.protocol} is {_pod(fact.by)}'s"
        case DiskInUse():
            return f"{fact.disk} is held by {listed([_pod(pod) for pod in fact.by], most=3) or 'another pod'}"
        case ClaimMismatch():
            return _claim(fact)
        case VolumeLimit():
            return f"{fact.driver}: {fact.attached} attached + {fact.added} > {fact.limit}"
        case MissingFeature():
            return f"does not declare {fact.feature}"
        case DevicePool():
            return f"pool {fact.pool}: {fact.in_use} of {counted(fact.devices, 'device')} in use"


def _pod(pod: PodReference) -> str:
    return f"{pod.namespace}/{pod.name}"


def _resource(fact: InsufficientResource) -> str:
    nominated = nominated_pods_words(fact.nominated_pods)
    if fact.resource == "pods":
        pods = f"has {fact.used} of {counted(fact.allocatable, 'pod')}"
        return f"{pods}, {fact.nominated} of them {nominated}" if nominated else pods
    whole = resource_amount(fact.resource, fact.allocatable, named=False)
    lacks, free, asks = amounts_apart(fact.resource, fact.allocatable - fact.used, fact.requested)
    part = resource_amount(fact.resource, fact.nominated, named=False)
    here = f"{free} of {whole} free{f' besides {part} for {nominated}' if nominated else ''}"
    if fact.used > fact.allocatable:
        promised = resource_amount(fact.resource, fact.used, named=False)
        here = f"{promised} of {whole} promised already{f', {part} of it for {nominated}' if nominated else ''}"
    return f"lacks {lacks} {fact.resource}: {here}, asks {asks}"


def nominated_pods_words(nominated: Sequence[PodReference]) -> str:
    """Who was promised a part and is not there yet: the node's own pods request less; empty: nobody."""
    pods = listed([_pod(pod) for pod in nominated], most=_SHOWN_FACTS)
    return f"the nominated {'pod' if len(nominated) == 1 else 'pods'} {pods}" if pods else ""


def _skew(fact: TopologySkew) -> str:
    if fact.domain is None:
        return f"lacks label {fact.topology_key}"
    own = " with this one" if fact.self_match else ""
    return (
        f"is in {fact.domain}, which has {fact.matching + fact.self_match}{own}; least {fact.minimum}: "
        f"skew {fact.skew} > maxSkew {fact.max_skew} ({fact.topology_key})"
    )


def _affinity(fact: PodAffinityConflict) -> str:
    where = f"{fact.topology_key}={fact.domain}"
    if fact.domain is None:
        return f"lacks label {fact.topology_key}"
    if fact.rule == "affinity":
        return f"no pod in {where} matches its affinity"
    pods = "1 pod" if fact.count == 1 else f"{fact.count} pods"
    if fact.rule == "antiAffinity":
        return f"{pods} in {where} that its anti-affinity avoids"
    return f"{pods} in {where} whose anti-affinity keeps it away"


def _claim(fact: ClaimMismatch) -> str:
    what = f"claim {fact.claim}" if fact.claim else f"volume {fact.volume}"
    bound = f" (volume {fact.volume})" if fact.claim and fact.volume else ""
    labels = "; ".join(f"{key} in {', '.join(values)}" for key, values in fact.labels.items())
    return f"{what}{bound}: {labels or fact.reason}"
