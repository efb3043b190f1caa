"""The plugins that are restated here, loaded from their descriptors.

Which of them a profile runs, and in which order, is `podrules.scheduling.scheduler.plugin_set`'s business.
"""

from __future__ import annotations

from collections.abc import Mapping
from pkgutil import resolve_name
from typing import Final

from podrules.api.model.base import Model
from podrules.scheduling.scheduler.framework.interface import (
    ChangingPlugin,
    ConfiguredPlugin,
    ExplainedPlugin,
    NamedPlugin,
)
from podrules.scheduling.scheduler.in_tree import IN_TREE


def _load(implementation: str) -> NamedPlugin:
    plugin: NamedPlugin = resolve_name(f"podrules.scheduling.scheduler.plugins.{implementation}")()
    return plugin


PLUGINS: Final[Mapping[str, NamedPlugin]] = {
    plugin.name: _load(plugin.implementation) for plugin in IN_TREE.values() if plugin.implementation
}
"""By name, in the order of the descriptors."""
PLUGIN_ARGS: Final[Mapping[str, type[Model]]] = {
    name: plugin.args_type for name, plugin in PLUGINS.items() if isinstance(plugin, ConfiguredPlugin)
}
"""How each plugin's arguments are read."""
# To ask a plugin whether it has a protocol's members takes long, and they are asked about for each node.
EXPLAINED_PLUGINS: Final[Mapping[str, ExplainedPlugin]] = {
    name: plugin for name, plugin in PLUGINS.items() if isinstance(plugin, ExplainedPlugin)
}
"""Those that give the numbers behind their rejections."""
CHANGING_PLUGINS: Final[Mapping[str, ChangingPlugin]] = {
    name: plugin for name, plugin in PLUGINS.items() if isinstance(plugin, ChangingPlugin)
}
"""Those that propose changes against their rejections."""
