"""The default scheduler, and what its diagnosis names."""

from __future__ import annotations

from typing import Final

from podrules.api.model.pod import DEFAULT_SCHEDULER_NAME
from podrules.scheduling.scheduler.cycle import FilterResult
from podrules.scheduling.scheduler.profile import Profile
from podrules.scheduling.scheduler.runtime import new_framework

DEFAULT_FRAMEWORK: Final = new_framework(Profile(DEFAULT_SCHEDULER_NAME))
"""The framework of the default profile."""


def unschedulable_plugins(filtered: FilterResult) -> frozenset[str]:
    """Plugins that reject the pod on every node (Diagnosis.UnschedulablePlugins)."""
    before = filtered.pre_filter
    if not before.status.ok:
        return before.narrowed_by | (frozenset((before.status.plugin,)) if before.status.plugin else frozenset())
    judged = (*filtered.rejected.values(), *filtered.nominated.values())
    return before.narrowed_by | {status.plugin for status in judged}
