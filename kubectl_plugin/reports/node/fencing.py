"""A node that is declared out of service, or taken back (F6)."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from kubectl_plugin.reports import API_VERSION
from kubectl_plugin.reports.node.partitions import ON_NODES
from kubectl_plugin.reports.steps import Refusal, Step, StepOutcome
from podrules.pod.reading import Access, UnreadInput
from podrules.pod.versions import VersionNote
from podrules.silent_node.fencing import FenceRemainder, FenceState
from podrules.silent_node.partitions import NodeDown


class FenceReport(Struct, frozen=True, kw_only=True, rename="camel", tag_field="kind", tag="Fencing"):
    """One node."""

    api_version: Literal["kubectl-qos/v1"] = API_VERSION
    name: str
    undo: bool
    """The node is taken back into service."""
    source: str
    rules_version: str
    server_version: str | None
    dry_run: bool
    state: FenceState
    node: NodeDown | None
    """None: the node answers."""
    left: FenceRemainder
    denied: tuple[Access, ...]
    """The permissions that you lack, among those that this needs."""
    steps: tuple[Step, ...]
    outcome: StepOutcome
    refusal: Refusal | None
    """The reason for the outcome Refused."""
    version_notes: tuple[VersionNote, ...] = ()
    """The versions for which the rules were not verified, including the node's kubelet."""
    unread: tuple[UnreadInput, ...]

    @property
    def lacks(self) -> tuple[UnreadInput, ...]:
        """Resources that could not be read, and may still have to be removed."""
        down = self.node is not None and not self.undo
        return tuple(one for one in self.unread if down and one.may_exist and one.resource in ON_NODES)
