"""The verdict of a plugin on a pod or a node.

Source: k8s.io/kube-scheduler/framework/interface.go (Code, Status) at v0.36.3.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Final

from msgspec import Struct


class ScoreError(Exception):
    """A plugin cannot score; the message is upstream's."""


class Code(IntEnum):
    """Upstream's codes, with its numbers; also held in arrays, one entry a node."""

    SUCCESS = 0
    ERROR = 1
    UNSCHEDULABLE = 2
    """Rejected; removing pods may help, so preemption examines it."""
    UNSCHEDULABLE_AND_UNRESOLVABLE = 3
    """Rejected; removing pods cannot help."""
    WAIT = 4
    SKIP = 5
    """PreFilter and PreScore: the plugin does not apply to this pod."""
    PENDING = 6

    def __str__(self) -> str:
        return _NAMES[self]


_NAMES: Final = {
    Code.SUCCESS: "Success",
    Code.ERROR: "Error",
    Code.UNSCHEDULABLE: "Unschedulable",
    Code.UNSCHEDULABLE_AND_UNRESOLVABLE: "UnschedulableAndUnresolvable",
    Code.WAIT: "Wait",
    Code.SKIP: "Skip",
    Code.PENDING: "Pending",
}


class Status(Struct, frozen=True):
    """A code and why, in upstream's words."""

    code: Code = Code.SUCCESS
    reasons: tuple[str, ...] = ()
    plugin: str = ""
    """The plugin; empty within the plugin itself."""

    @property
    def ok(self) -> bool:
        """Whether it is Success."""
        return self.code is Code.SUCCESS

    @property
    def rejected(self) -> bool:
        """Whether the pod cannot go there (Status.IsRejected)."""
        return self.code in {Code.UNSCHEDULABLE, Code.UNSCHEDULABLE_AND_UNRESOLVABLE, Code.PENDING}


SUCCESS: Final = Status()
SKIP: Final = Status(Code.SKIP)
