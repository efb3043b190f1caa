"""One node while preemption removes and adds pods there.

A plugin that depends on the node's pods gives its verdict again after each change (`PodFilterPlugin`), from what
PreFilter found about the whole cluster; it does not examine the other nodes again. All other plugins' verdicts stay.

Source: k8s.io/kube-scheduler/framework/interface.go (PreFilterExtensions, NodeInfo) at v0.36.3.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, runtime_checkable

from podrules.api.model.pod import Pod
from podrules.scheduling.scheduler.framework.answers import Status
from podrules.scheduling.scheduler.framework.interface import CycleContext, FilterPlugin


class OnNode(Protocol):
    """A plugin's state of one node; it never changes: other pods make another one."""

    def add_pod(self, pod: Pod) -> OnNode:
        """With one pod more on the node (AddPod); the same object, if that makes no difference."""
        ...

    def remove_pod(self, pod: Pod) -> OnNode:
        """With one pod less on the node (RemovePod); the same object, if that makes no difference."""
        ...

    def status(self) -> Status:
        """The plugin's verdict, with upstream's reasons (Filter)."""
        ...


@runtime_checkable
class PodFilterPlugin(FilterPlugin, Protocol):
    """A plugin with a verdict that depends on the pods of the node."""

    def on_node(self, context: CycleContext, state: Any, row: int, pods: Sequence[Pod]) -> OnNode:
        """A row's node as it is.

        Args:
            context: The cycle.
            state: What the plugin's PreFilter found.
            row: The node's.
            pods: Those that the table has on it.
        """
        ...
