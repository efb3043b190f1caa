"""The meaning of terms and messages of Kubernetes."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from kubectl_plugin.glossary.catalogue import Entry
from kubectl_plugin.reports import API_VERSION
from podrules.api.features import REFERENCE_VERSION


class ExplainedText(Struct, frozen=True, kw_only=True, rename="camel"):
    """A part of the request, and the entry that explains it."""

    text: str
    nodes: int | None
    """The number of nodes in the message; None: not given."""
    entry: Entry


class TermReport(Struct, frozen=True, kw_only=True, rename="camel", tag_field="kind", tag="TermExplanation"):
    """All known parts of a text."""

    api_version: Literal["kubectl-qos/v1"] = API_VERSION
    rules_version: str = REFERENCE_VERSION
    asked: str
    explained: tuple[ExplainedText, ...]
    unexplained: tuple[str, ...]
    """Parts of a Kubernetes message that no entry explains."""
