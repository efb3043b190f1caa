"""Which PriorityClass a namespace gives to pods that name none, and which classes it allows.

default    the label of the Namespace, if the allowed classes include it, else the configuration
allowed    the configuration alone: see `webhook.namespace_rules`
"""

from __future__ import annotations

from typing import Final

from webhook.cached import CachedNamespace
from webhook.cluster import Cluster
from webhook.namespace_rules import is_allowed

__all__ = ["DEFAULT_CLASS_LABEL", "disallowed", "namespace_default"]

DEFAULT_CLASS_LABEL: Final = "kubectl-qos.io/default-priority-class"
"""A label of a Namespace: the class of its pods that name none."""


def namespace_default(namespace: CachedNamespace, cluster: Cluster) -> str:
    """The name of the class for pods that name none; empty: they get the cluster's global default."""
    rule = cluster.options.rules.of(namespace.metadata.name)
    label = namespace.metadata.labels.get(DEFAULT_CLASS_LABEL, "")
    if label and is_allowed(label, rule.allowed_classes):
        return label
    return rule.default_class or ""


def disallowed(class_name: str, namespace: str, cluster: Cluster) -> str:
    """Why a class is not allowed in a namespace; empty: it is. Pods without a class are always allowed."""
    allowed = cluster.options.rules.of(namespace).allowed_classes
    if not class_name or is_allowed(class_name, allowed):
        return ""
    named = ", ".join(allowed or ()) or "none"
    return f"PriorityClass {class_name} is not allowed in namespace {namespace} (allowed: {named})"
