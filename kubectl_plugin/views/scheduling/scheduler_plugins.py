"""The words for why scheduler plugins reject nodes: one entry for each plugin.

The types of the facts are imported for type checkers only: they load arrays, which pages without placement do not need.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct

from kubectl_plugin.views.words import amounts_apart, counted, cpus, listed, resource_amount
from podrules.api.model.node import Taint
from podrules.api.model.pod import PodReference
from podrules.api.names import meant_label
from podrules.pod.resources import CPU
from podrules.scheduling.placement.outcome import RejectedGroup, RejectedNode

if TYPE_CHECKING:
    from podrules.scheduling.scheduler.plugins.inter_pod_affinity.plugin import PodAffinityConflict
    from podrules.scheduling.scheduler.plugins.node_affinity import LabelMismatch
    from podrules.scheduling.scheduler.plugins.node_resources.columns import InsufficientResource
    from podrules.scheduling.scheduler.plugins.pod_topology_spread.filtering import TopologySkew
    from podrules.scheduling.scheduler.plugins.volume_binding.storage_index import ClaimMismatch


_SHOWN_FACTS = 3


class PluginPhrases(Struct, frozen=True):
    """The phrases for nodes that one plugin rejects."""

    short: str
    """The plugin in a row."""
    one: str
    """For one node: it ``is cordoned``."""
    several: str
    facts: Mapping[str, Callable[[Any], str]] = {}
    """The function that describes each kind of fact, by the name of its class."""
    reasons: Mapping[str, tuple[str, str]] = {}
    """Other phrases, for one node and for several, by the end of upstream's reason."""


def fact_words(node: RejectedNode) -> str:
    """What a node has and what the pod requests."""
    shown = [(type(fact).__name__, fact) for fact in node.facts[:_SHOWN_FACTS]]
    words = "; ".join(
        next(words.facts[kind](fact) for words in PLUGIN_PHRASES.values() if kind in words.facts)
        for kind, fact in shown
    )
    if len(node.facts) > _SHOWN_FACTS:
        words += f"; and {len(node.facts) - _SHOWN_FACTS} more"
    if node.also:
        words += f"{'; ' if words else ''}also fails {listed(node.also)}"
    return words


def rejection_words(group: RejectedGroup, *, one: bool) -> str:
    """Why a plugin rejects one node of a group, or several: ``lack memory``."""
    plugin, reasons = group.plugin, group.reasons
    if group.keys and plugin == "TaintToleration":
        return f"{'has' if one else 'have'} taint {group.keys[0]} that it does not tolerate"
    if group.keys:
        word = "label" if len(group.keys) == 1 else "labels"
        meant = [f"Kubernetes sets {label}" for label in map(meant_label, group.keys) if label]
        keys = f"{'lacks' if one else 'lack'} {word} {listed(group.keys)} of its {_NEED_KEYS[plugin]}"
        return f"{keys} ({listed(meant)})" if meant else keys
    lacking = [reason.removeprefix(_INSUFFICIENT) for reason in reasons if reason.startswith(_INSUFFICIENT)]
    if lacking:
        return f"{'lacks' if one else 'lack'} {listed(lacking)}"
    words = PLUGIN_PHRASES.get(plugin)
    if words is None:
        return f"{'is' if one else 'are'} rejected by {plugin}"
    forms = [own for end, own in words.reasons.items() if all(reason.endswith(end) for reason in reasons)]
    for_one, for_several = forms[0] if reasons and forms else (words.one, words.several)
    return for_one if one else for_several


def short_reason(group: RejectedGroup) -> str:
    """The plugin that rejects a group in a word: ``taint``; for missing resources their names."""
    lacking = [reason.removeprefix(_INSUFFICIENT) for reason in group.reasons if reason.startswith(_INSUFFICIENT)]
    words = PLUGIN_PHRASES.get(group.plugin)
    return ", ".join(lacking) or (words.short if words is not None else group.plugin)


ONE_POD: Final = " ReadWriteOncePod access mode already in-use by another pod"
"""The end of VolumeRestrictions' reason for such a claim."""
_OTHER_HAS_CLAIM: Final = "ruled out because another pod uses its ReadWriteOncePod claim"
_INSUFFICIENT: Final = "Insufficient "
_NEED_KEYS: Final = {"PodTopologySpread": "topology spread", "InterPodAffinity": "required pod affinity"}


def _label(fact: LabelMismatch) -> str:
    values = f" {', '.join(fact.values)}" if fact.values else ""
    has = "lacks it" if fact.actual is None else f"has {fact.actual or 'an empty value'}"
    meant = meant_label(fact.key) if fact.actual is None else ""
    return (
        f"{has}: {fact.field} wants {fact.key} {fact.operator}{values}{f' (Kubernetes sets {meant})' if meant else ''}"
    )


def _pod(pod: PodReference) -> str:
    return f"{pod.namespace}/{pod.name}"


def _resource(fact: InsufficientResource) -> str:
    nominated = nominated_pods_words(fact.nominated_pods)
    if fact.resource == "pods":
        pods = f"has {fact.used} of {counted(fact.allocatable, 'pod')}"
        return f"{pods}, {fact.nominated} of them {nominated}" if nominated else pods
    left = fact.allocatable - fact.used
    if fact.resource == CPU:
        amounts = [fact.requested - left, max(left, 0), fact.requested, fact.allocatable, fact.nominated, fact.used]
        lacks, free, asks, whole, part, promised = cpus(amounts)
    else:
        amounts = [fact.allocatable, fact.nominated, fact.used]
        whole, part, promised = (resource_amount(fact.resource, one, named=False) for one in amounts)
        lacks, free, asks = amounts_apart(fact.resource, left, fact.requested)
    here = f"{free} of {whole} free{f' besides {part} for {nominated}' if nominated else ''}"
    if fact.used > fact.allocatable:
        here = f"{promised} of {whole} promised already{f', {part} of it for {nominated}' if nominated else ''}"
    return f"lacks {lacks} {fact.resource}: {here}, asks {asks}"


def nominated_pods_words(nominated: Sequence[PodReference]) -> str:
    """The nominated pods that count but are not on the node yet; empty if there are none."""
    pods = listed([_pod(pod) for pod in nominated], most=_SHOWN_FACTS)
    return f"the nominated {'pod' if len(nominated) == 1 else 'pods'} {pods}" if pods else ""


def _skew(fact: TopologySkew) -> str:
    if fact.domain is None:
        return f"lacks label {fact.topology_key}"
    own = " with this one" if fact.self_match else ""
    few = f" because minDomains is {fact.min_domains}" if fact.domains < fact.min_domains else ""
    return (
        f"is in {fact.domain}, which has {fact.matching + fact.self_match}{own}; least {fact.minimum}{few}: "
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
    return f"{pods} in {where} with anti-affinity against it"


def _claim(fact: ClaimMismatch) -> str:
    what = f"claim {fact.claim}" if fact.claim else f"volume {fact.volume}"
    bound = f" (volume {fact.volume})" if fact.claim and fact.volume else ""
    labels = "; ".join(f"{key} in {', '.join(values)}" for key, values in fact.labels.items())
    has = f", and the node has {listed(list(fact.has.values()))}" if fact.has else ""
    return f"{what}{bound}: {f'{labels}{has}' if labels else fact.reason}"


_NEEDED_LABEL: Final = "a label that its topology spread needs"
_NO_NEIGHBOUR: Final = "no pod that its required pod affinity needs"
_KEEPS_AWAY: Final = "ruled out by its required pod anti-affinity"
_KEPT_AWAY: Final = "ruled out by required anti-affinity of other pods"
_DOES_NOT_MATCH: Final = "match its node selector or affinity"
PLUGIN_PHRASES: Final[dict[str, PluginPhrases]] = {
    "NodeUnschedulable": PluginPhrases("cordoned", "is cordoned", "are cordoned"),
    "NodeName": PluginPhrases("node name", "is not the one it names", "are not the one it names"),
    "TaintToleration": PluginPhrases(
        "taint",
        "has a taint that it does not tolerate",
        "have taints that it does not tolerate",
        {"TaintEffect": lambda fact: f"has {Taint(fact.key, fact.value, fact.effect).text}"},
    ),
    "NodeAffinity": PluginPhrases(
        "affinity",
        f"does not {_DOES_NOT_MATCH}",
        f"do not {_DOES_NOT_MATCH}",
        {"LabelMismatch": _label},
        {"satisfy plugin(s) [NodeAffinity]": ("is not its node", "are not its node")},
    ),
    "NodePorts": PluginPhrases(
        "port",
        "has its host port in use",
        "have its host port in use",
        {"PortInUse": lambda fact: f"port {fact.port}/{fact.protocol} is {_pod(fact.by)}'s"},
    ),
    "NodeResourcesFit": PluginPhrases(
        "room", "has as many pods as it may", "have as many pods as they may", {"InsufficientResource": _resource}
    ),
    "PodTopologySpread": PluginPhrases(
        "spread",
        "would break its topology spread",
        "would break its topology spread",
        {"TopologySkew": _skew},
        {" (missing required label)": (f"lacks {_NEEDED_LABEL}", f"lack {_NEEDED_LABEL}")},
    ),
    "InterPodAffinity": PluginPhrases(
        "pod affinity",
        "is ruled out by pod affinity",
        "are ruled out by pod affinity",
        {"PodAffinityConflict": _affinity},
        {
            " pod affinity rules": (f"has {_NO_NEIGHBOUR}", f"have {_NO_NEIGHBOUR}"),
            " pod anti-affinity rules": (f"is {_KEEPS_AWAY}", f"are {_KEEPS_AWAY}"),
            " existing pods anti-affinity rules": (f"is {_KEPT_AWAY}", f"are {_KEPT_AWAY}"),
        },
    ),
    "VolumeRestrictions": PluginPhrases(
        "disk",
        "has its disk in use",
        "have its disk in use",
        {
            "DiskInUse": lambda fact: (
                f"{fact.disk} is held by {listed(list(map(_pod, fact.by)), most=3) or 'another pod'}"
            )
        },
        {ONE_POD: (f"is {_OTHER_HAS_CLAIM}", f"are {_OTHER_HAS_CLAIM}")},
    ),
    "VolumeBinding": PluginPhrases(
        "volume", "cannot use its volumes", "cannot use its volumes", {"ClaimMismatch": _claim}
    ),
    "VolumeZone": PluginPhrases(
        "volume zone", "is outside its volume's zone", "are outside its volume's zone", {"ClaimMismatch": _claim}
    ),
    "NodeVolumeLimits": PluginPhrases(
        "volume limit",
        "can attach no more volumes",
        "can attach no more volumes",
        {"VolumeLimit": lambda fact: f"{fact.driver}: {fact.attached} attached + {fact.added} > {fact.limit}"},
        {" CSI driver is not installed on the node": ("lacks its volume's driver", "lack its volume's driver")},
    ),
    "DynamicResources": PluginPhrases(
        "devices",
        "has no devices for it",
        "have no devices for it",
        {
            "ClaimMismatch": _claim,
            "DevicePool": lambda fact: f"pool {fact.pool}: {fact.in_use} of {counted(fact.devices, 'device')} in use",
        },
    ),
    "NodeDeclaredFeatures": PluginPhrases(
        "feature",
        "lacks a kubelet feature",
        "lack a kubelet feature",
        {"MissingFeature": lambda fact: f"does not declare {fact.feature}"},
    ),
}
"""The phrases by plugin; for a plugin without an entry, its name is shown."""
