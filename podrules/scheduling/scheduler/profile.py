"""KubeSchedulerConfiguration: the profiles of a scheduler, their plugins and the arguments of these.

    a pod's spec.schedulerName names its profile; the only profile may go without a name, and a configuration without
    profiles: that is default-scheduler's. A plugin without pluginConfig has its default arguments.
    percentageOfNodesToScore: the profile's, else that of the configuration, else 0.

Which plugins a profile runs is `podrules.scheduling.scheduler.plugin_set`'s business.

Source: k8s.io/kube-scheduler/config/v1/types.go at v0.36.3; pkg/scheduler/apis/config/v1/defaults.go and
pkg/scheduler/apis/config/validation/validation.go at v1.36.3.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from podrules.api.model.base import Model
from podrules.api.model.decode import DecodeError, from_object
from podrules.api.model.misfit import FieldError, unfit
from podrules.api.model.pod import DEFAULT_SCHEDULER_NAME
from podrules.scheduling.scheduler.config_fields import field_problems, value_problems
from podrules.scheduling.scheduler.in_tree import ExtensionPoint, no_such_plugin
from podrules.scheduling.scheduler.plugin_set import Plugins, disabled_by, enabled_plugins, plugin_problems
from podrules.scheduling.scheduler.plugins.default_preemption import NAME as DEFAULT_PREEMPTION
from podrules.scheduling.scheduler.plugins.pod_topology_spread.constraints import (
    SYSTEM_DEFAULTING,
    PodTopologySpreadArgs,
    validate_pod_topology_spread_args,
)

_MAX_ERRORS: Final = 10
"""Of one configuration that are listed."""
_MAX_DEPTH: Final = 32
"""Of fields that are known; arguments of other projects' plugins may go deeper."""
_TEXTS: Final = frozenset({"ignoredResources", "ignoredResourceGroups", "matchLabelKeys", "values"})
"""Fields with a list of texts."""
_REFUSED: Final = {
    **{name: no_such_plugin(name) for name in ("AzureDiskLimits", "CinderLimits", "EBSLimits", "GCEPDLimits")},
    "NodeResourcesFitArgs": "write NodeResourcesFit",
}
"""Names of pluginConfig that are not passed over, as those of other plugins that do not run."""
_FIT: Final = "NodeResourcesFit"
_SPREAD: Final = "PodTopologySpread"
_DEFAULT_PLUGINS: Final = Plugins()


class ConfigurationError(ValueError):
    """A configuration that kube-scheduler would refuse; the message has each field's path, value and remedy."""


class _ManagedResource(Model, frozen=True):
    name: str = ""
    ignored_by_scheduler: bool = False


class Extender(Model, frozen=True):
    """A service that filters or scores for every profile, and cannot be asked from here."""

    url_prefix: str = ""
    filter_verb: str = ""
    prioritize_verb: str = ""
    managed_resources: tuple[_ManagedResource, ...] = ()
    """The resources for which it is asked; none: it is asked about all pods."""


class Profile(Struct, frozen=True):
    """One scheduler name, its plugins and their arguments."""

    scheduler_name: str
    args: Mapping[str, Any] = {}
    """By plugin name; a plugin without an entry has its defaults."""
    plugins: Plugins = _DEFAULT_PLUGINS
    """What it changes in the default plugins; `enabled_plugins` returns what runs."""
    percentage_of_nodes_to_score: int = 0
    """How many feasible nodes of all are enough; 0: by the number of nodes (`num_feasible_nodes_to_find`)."""
    misnamed: tuple[str, ...] = ()
    """Names of pluginConfig that kube-scheduler does not know, and passes over."""
    extenders: tuple[Extender, ...] = ()

    @property
    def pod_topology_spread(self) -> PodTopologySpreadArgs:
        """The arguments of PodTopologySpread."""
        found: PodTopologySpreadArgs = self.args.get(_SPREAD, PodTopologySpreadArgs())
        return found

    @property
    def preemption_disabled(self) -> str:
        """The field that disables preemption, because it leaves DefaultPreemption out; empty: it preempts."""
        return disabled_by(self.plugins, DEFAULT_PREEMPTION, ExtensionPoint.POST_FILTER)


class _PluginConfig(Model, frozen=True):
    name: str = ""
    args: Any = {}


class _Profile(Model, frozen=True):
    scheduler_name: str | None = None
    percentage_of_nodes_to_score: int | None = None
    plugins: Plugins = _DEFAULT_PLUGINS
    plugin_config: tuple[_PluginConfig, ...] = ()

    def args_of(self, plugin: str) -> Mapping[str, Any] | None:
        """A plugin's arguments as they are written."""
        return next((config.args for config in self.plugin_config if config.name == plugin), None)


class _Configuration(Model, frozen=True):
    percentage_of_nodes_to_score: int | None = None
    profiles: tuple[_Profile, ...] = ()
    extenders: tuple[Extender, ...] = ()


SPREAD_ARGS: Final[Mapping[str, type[Model]]] = {_SPREAD: PodTopologySpreadArgs}


def read_profiles(configuration: Any, kinds: Mapping[str, type[Model]] = SPREAD_ARGS) -> dict[str, Profile]:
    """The profiles of a configuration by scheduler name; arguments are read of the plugins in ``kinds`` alone.

    Raises:
        ConfigurationError: it is not one, or kube-scheduler would refuse it.
    """
    if not isinstance(configuration, Mapping):
        raise ConfigurationError(unfit(configuration, "object"))
    _raise(list(field_problems(configuration)))
    decoded = _decoded(configuration := _filled(configuration), _Configuration, "")
    errors = list(value_problems(configuration))
    managed = (resource for extender in decoded.extenders for resource in extender.managed_resources)
    ignored = tuple(resource.name for resource in managed if resource.ignored_by_scheduler)
    profiles: dict[str, Profile] = {}
    common = decoded.percentage_of_nodes_to_score or 0
    entries = decoded.profiles or (_Profile(),)
    for index, entry in enumerate(entries):
        path = f"profiles[{index}]"
        name = DEFAULT_SCHEDULER_NAME if len(entries) == 1 and entry.scheduler_name is None else entry.scheduler_name
        if not name:
            errors.append(f"{path}.schedulerName: Required value: each of several profiles needs one")
        elif name in profiles:
            errors.append(f'{path}.schedulerName: Duplicate value: "{name}"')
        errors += plugin_problems(entry.plugins, f"{path}.plugins")
        args, own = _plugin_args(entry, kinds, path, errors), entry.percentage_of_nodes_to_score
        if ignored and _FIT in kinds:
            args[_FIT] = replace(args.get(_FIT) or kinds[_FIT](), ignored_resources=ignored)
        profiles[name or ""] = Profile(
            scheduler_name=name or "",
            args=args,
            plugins=entry.plugins,
            misnamed=tuple(plugin.name for plugin in entry.plugin_config if no_such_plugin(plugin.name)),
            extenders=decoded.extenders,
            percentage_of_nodes_to_score=common if own is None else own,
        )
    _raise(errors or list(_queue_sort_problems(entries)))
    return profiles


def _filled(value: Any, field: str = "", depth: int = _MAX_DEPTH) -> Any:
    """A configuration as kube-scheduler decodes it: null among structs is one without fields."""
    match value:
        case dict() if depth:
            return {name: _filled(entry, name, depth - 1) for name, entry in value.items()}
        case list() if depth:
            return [{} if entry is None and field not in _TEXTS else _filled(entry, "", depth - 1) for entry in value]
    return value


def _raise(errors: Sequence[str]) -> None:
    if errors:
        more = [f"and {len(errors) - _MAX_ERRORS} more"] if len(errors) > _MAX_ERRORS else []
        raise ConfigurationError("; ".join((*errors[:_MAX_ERRORS], *more)))


def _queue_sort_problems(profiles: Sequence[_Profile]) -> Iterator[str]:
    """All profiles share one queue, and so the plugin that sorts it, with its arguments."""
    first, *others = profiles
    sorting = enabled_plugins(first.plugins).at[ExtensionPoint.QUEUE_SORT]
    for index, profile in enumerate(others, start=1):
        path = f"profiles[{index}]"
        its = enabled_plugins(profile.plugins).at[ExtensionPoint.QUEUE_SORT]
        if (its, profile.plugins.queue_sort) != (sorting, first.plugins.queue_sort):
            shown = ", ".join(its) or "unknown"
            yield f"{path}.plugins.queueSort: Invalid value: {shown}: must be the same for all profiles"
        elif any(profile.args_of(name) != first.args_of(name) for name in sorting):
            yield f"{path}.pluginConfig: Invalid value: args of {sorting[0]}: must be the same for all profiles"


def _plugin_args(profile: _Profile, kinds: Mapping[str, type[Model]], path: str, errors: list[str]) -> dict[str, Any]:
    args: dict[str, Any] = {}
    seen: set[str] = set()
    for index, plugin in enumerate(profile.plugin_config):
        place = f"{path}.pluginConfig[{index}]"
        if plugin.name in seen:
            errors.append(f'{place}: Duplicate value: "{plugin.name}"')
        elif plugin.name in _REFUSED:
            errors.append(f'{place}: Invalid value: "{plugin.name}": {_REFUSED[plugin.name]}')
        elif plugin.name in kinds:
            found = _decoded({} if plugin.args is None else plugin.args, kinds[plugin.name], f"{place}.args")
            if isinstance(found, PodTopologySpreadArgs):
                found = replace(found, defaulting_type=found.defaulting_type or SYSTEM_DEFAULTING)
                errors += validate_pod_topology_spread_args(found, f"{place}.args")
            args[plugin.name] = found
        seen.add(plugin.name)
    return args


def _decoded(value: Any, kind: type[Any], path: str) -> Any:
    try:
        return from_object(value, kind)
    except DecodeError as error:
        field = ".".join(filter(None, (path, error.field)))
        raise ConfigurationError(str(FieldError(field, error.problem))) from error
