"""A node with its pods taken away and put back, and whether the pod fits it then.

Only plugins that depend on the node's pods are asked again, and only about that node (`framework.on_node`); the
verdicts of the others are those of the cycle. Plugins that skip Filter for this pod stay skipped.

Source: RunPreFilterExtensionAddPod, RunPreFilterExtensionRemovePod, RunFilterPlugins and
RunFilterPluginsWithNominatedPods in pkg/scheduler/framework/runtime/framework.go at v1.36.3.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from podrules.api.model.pod import Pod
from podrules.scheduling.scheduler.cycle import FilterResult
from podrules.scheduling.scheduler.framework.answers import SUCCESS, Code, Status
from podrules.scheduling.scheduler.framework.interface import OnNode, PodFilterPlugin, nominated_rows


class _Check:
    """A plugin on the node; its verdict is asked for once, as long as pods make no difference to it."""

    def __init__(self, plugin: str, on_node: OnNode | None, status: Status | None = None) -> None:
        """Take what the plugin makes of the node, or a rejection that no pod's going mends."""
        self._plugin = plugin
        self._on_node = on_node
        self._status = status

    def add_pod(self, pod: Pod) -> _Check:
        return self if self._on_node is None else self._with(self._on_node.add_pod(pod))

    def remove_pod(self, pod: Pod) -> _Check:
        return self if self._on_node is None else self._with(self._on_node.remove_pod(pod))

    def _with(self, on_node: OnNode) -> _Check:
        return self if on_node is self._on_node else _Check(self._plugin, on_node)

    @property
    def status(self) -> Status:
        if self._status is None:
            self._status = SUCCESS if self._on_node is None else _named(self._on_node.status(), self._plugin)
        return self._status


class NodeTrial(Struct, frozen=True):
    """One node with some pods."""

    checks: tuple[_Check, ...]
    """The plugins in order."""
    nominated: Sequence[Pod]
    """Pods of the same or a higher priority that were nominated to the node."""

    def add_pod(self, pod: Pod) -> NodeTrial:
        """With one pod more."""
        return NodeTrial(tuple([check.add_pod(pod) for check in self.checks]), self.nominated)

    def remove_pod(self, pod: Pod) -> NodeTrial:
        """With one pod less."""
        return NodeTrial(tuple([check.remove_pod(pod) for check in self.checks]), self.nominated)

    def status(self) -> Status:
        """The verdict of the first plugin that rejects: with the nominated pods there, and then without them."""
        crowded = self
        for pod in self.nominated:
            crowded = crowded.add_pod(pod)
        statuses = (check.status for check in (*crowded.checks, *self.checks))
        return next((status for status in statuses if not status.ok), SUCCESS)


class Trials:
    """The nodes of a cycle after its Filter plugins have run."""

    def __init__(self, filtered: FilterResult) -> None:
        self._filtered = filtered
        self._nominated = nominated_rows(filtered.context)
        ran = (plugin for plugin in filtered.framework.filter if plugin.name not in filtered.pre_filter.skipped)
        self._plugins = [(plugin.name, plugin if isinstance(plugin, PodFilterPlugin) else None) for plugin in ran]

    def of(self, row: int, pods: Sequence[Pod]) -> NodeTrial:
        """A row's node as it is, with the pods that the table has on it."""
        context = self._filtered.context
        checks: list[_Check] = []
        for name, plugin in self._plugins:
            if plugin is not None:
                checks.append(_Check(name, plugin.on_node(context, context.states[name], row, pods)))
            elif not (status := self._filtered.verdict(name, row)).ok:
                checks.append(_Check(name, None, status))
        return NodeTrial(tuple(checks), self._nominated.get(row, ()))


def _named(status: Status, plugin: str) -> Status:
    if status.code is Code.ERROR:
        return Status(Code.ERROR, tuple(f'running "{plugin}" filter plugin: {text}' for text in status.reasons), plugin)
    return status if status.ok else replace(status, plugin=plugin)
