"""The meaning of terms and texts of Kubernetes."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from kubectl_plugin.glossary.entry import Entry
from kubectl_plugin.reports import API_VERSION
from podrules.api.features import REFERENCE_VERSION

__all__ = ["ExplainedText", "TermReport"]


class ExplainedText(Struct, frozen=True, kw_only=True, rename="camel"):
    """A part of what was asked, and the entry that explains it."""

    text: str
    nodes: int | None
    """Of how many nodes the message said it; None: it did not say."""
    entry: Entry


class TermReport(Struct, frozen=True, kw_only=True, rename="camel", tag_field="kind", tag="TermExplanation"):
    """All known parts of a text."""

    api_version: Literal["kubectl-qos/v1"] = API_VERSION
    rules_version: str = REFERENCE_VERSION
    asked: str
    explained: tuple[ExplainedText, ...]
    unexplained: tuple[str, ...]
    """Parts of a message of Kubernetes that no entry explains."""
