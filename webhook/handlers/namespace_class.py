"""Which PriorityClass a namespace gives pods that name none, and which ones it allows.

default    the label of the Namespace, as far as the allowed classes hold it, else the configuration's
allowed    the configuration's alone: see `webhook.namespace_rules`
"""

from __future__ import annotations

from typing import Final

from webhook.cached import CachedNamespace
from webhook.cluster import Cluster
from webhook.namespace_rules import is_allowed

__all__ = ["DEFAULT_CLASS_LABEL", "disallowed", "namespace_default"]

DEFAULT_CLASS_LABEL: Final = "kubectl-qos.io/default-priority-class"
"""On a Namespace: the class of its pods that name none."""


def namespace_default(namespace: CachedNamespace, cluster: Cluster) -> str:
    """The name of the class for pods that name none, empty: the cluster's global default is theirs."""
    rule = cluster.options.rules.of(namespace.metadata.name)
    label = namespace.metadata.labels.get(DEFAULT_CLASS_LABEL, "")
    if label and is_allowed(label, rule.allowed_classes):
        return label
    return rule.default_class or ""


def disallowed(class_name: str, namespace: str, cluster: Cluster) -> str:
    """What is wrong with a class in a namespace; empty: nothing. Pods without a class are everybody's to make."""
    allowed = cluster.options.rules.of(namespace).allowed_classes
    if not class_name or is_allowed(class_name, allowed):
        return ""
    named = ", ".join(allowed or ()) or "none"
    return f"PriorityClass {class_name} is not allowed in namespace {namespace} (allowed: {named})"
