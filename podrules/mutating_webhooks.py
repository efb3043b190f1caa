"""Which mutating webhooks may be asked about a new pod.

matchConditions are not evaluated: a webhook that has some may be asked, or not.

Source: k8s.io/apiserver/pkg/admission/plugin/webhook/predicates/{rules,namespace,object}/matcher.go at v0.37.1.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from msgspec import field

from podrules.model.base import KubeObject, Model
from podrules.model.selectors import LabelSelector, Selector, SelectorError

__all__ = ["MutatingWebhookConfiguration", "asked_about_pods"]

_ANY: Final = "*"
_RESOURCES: Final = frozenset({_ANY, "*/*", "pods"})


class _Rule(Model, frozen=True):
    operations: tuple[str, ...] = ()
    api_groups: tuple[str, ...] = ()
    api_versions: tuple[str, ...] = ()
    resources: tuple[str, ...] = ()
    scope: str = _ANY

    def covers_new_pods(self) -> bool:
        """Whether it matches the creation of a pod."""
        return (
            not {_ANY, "CREATE"}.isdisjoint(self.operations)
            and not {_ANY, ""}.isdisjoint(self.api_groups)
            and not {_ANY, "v1"}.isdisjoint(self.api_versions)
            and not _RESOURCES.isdisjoint(self.resources)
            and self.scope != "Cluster"
        )


class _Webhook(Model, frozen=True):
    name: str = ""
    rules: tuple[_Rule, ...] = ()
    namespace_selector: LabelSelector = field(default_factory=LabelSelector)
    object_selector: LabelSelector = field(default_factory=LabelSelector)


class MutatingWebhookConfiguration(KubeObject, frozen=True):
    """The webhooks of one configuration."""

    webhooks: tuple[_Webhook, ...] = ()


def asked_about_pods(
    configurations: Iterable[MutatingWebhookConfiguration],
    namespace_labels: Mapping[str, str],
    pod_labels: Mapping[str, str],
) -> Iterator[str]:
    """The names of the webhooks that may be asked about a new pod.

    Args:
        configurations: All of the cluster.
        namespace_labels: Of the pod's namespace.
        pod_labels: Of the pod.
    """
    for configuration in configurations:
        for webhook in configuration.webhooks:
            covered = any(rule.covers_new_pods() for rule in webhook.rules)
            if (
                covered
                and _selects(webhook.namespace_selector, namespace_labels)
                and _selects(webhook.object_selector, pod_labels)
            ):
                yield webhook.name


def _selects(selector: LabelSelector, labels: Mapping[str, str]) -> bool:
    """An empty selector selects everything; one that cannot be read may select anything."""
    try:
        return Selector.from_label_selector(selector).matches(labels)
    except SelectorError:
        return True
