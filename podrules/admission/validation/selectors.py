"""The label selector of a workload or of a budget: whether it selects labels, and how Go prints it.

Source: pkg/apis/meta/v1/helpers.go of k8s.io/apimachinery at v0.37.1 (LabelSelectorAsSelector).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from podrules.admission.validation.view import View
from podrules.api.model.selectors import LabelSelector, LabelSelectorRequirement, Selector


def is_empty_selector(selector: View) -> bool:
    """Whether a selector that is there asks for nothing."""
    return not selector.content.get("matchLabels") and not selector.content.get("matchExpressions")


def selects(selector: View, labels: Mapping[str, str]) -> bool:
    """Whether a selector with valid parts selects labels."""
    expressions = tuple(
        LabelSelectorRequirement(one.text("key"), one.text("operator"), tuple(one.texts("values")))
        for one in selector.structs("matchExpressions")
    )
    wanted = LabelSelector(dict(selector.texts_by_key("matchLabels")), expressions)
    return Selector.from_label_selector(wanted).matches(labels)


def shown_labels(struct: View, name: str) -> Mapping[str, str] | None:
    """A map of labels as Go writes it as JSON; None where it is absent."""
    return dict(sorted(struct.texts_by_key(name).items())) if struct.has(name) else None


def shown_selector(selector: View) -> Mapping[str, Any]:
    """A selector as Go writes it as JSON."""
    expressions = [_shown_requirement(one) for one in selector.structs("matchExpressions")]
    shown = {"matchLabels": shown_labels(selector, "matchLabels"), "matchExpressions": expressions}
    return {name: value for name, value in shown.items() if value}


def _shown_requirement(requirement: View) -> Mapping[str, Any]:
    shown: dict[str, Any] = {"key": requirement.text("key"), "operator": requirement.text("operator")}
    values = requirement.texts("values")
    return {**shown, "values": values} if values else shown
