"""KubeSchedulerConfiguration: the profiles of a scheduler and the arguments of their plugins.

    a pod's spec.schedulerName names its profile; a profile without a name, and a configuration without profiles, is
    default-scheduler's. A plugin without pluginConfig has its default arguments.

Source: k8s.io/kube-scheduler/config/v1/types.go at v0.36.3, pkg/scheduler/apis/config/v1/defaults.go at v1.36.3.
"""

from __future__ import annotations

from typing import Any, Final

from msgspec import Struct

from podrules.model.base import Model
from podrules.model.decode import DecodeError, from_object
from podrules.scheduler.plugins.pod_topology_spread.args import (
    PodTopologySpreadArgs,
    validate_pod_topology_spread_args,
)

__all__ = ["DEFAULT_SCHEDULER_NAME", "ConfigurationError", "Profile", "read_profiles"]

DEFAULT_SCHEDULER_NAME: Final = "default-scheduler"
_API_VERSION: Final = "kubescheduler.config.k8s.io/v1"
_KIND: Final = "KubeSchedulerConfiguration"
_SPREAD: Final = "PodTopologySpread"


class ConfigurationError(ValueError):
    """A configuration that kube-scheduler would refuse; the message has each field's path, value and remedy."""


class Profile(Struct, frozen=True):
    """One scheduler name and its plugins' arguments."""

    scheduler_name: str
    pod_topology_spread: PodTopologySpreadArgs


class _PluginConfig(Model, frozen=True):
    name: str = ""
    args: dict[str, Any] = {}


class _Profile(Model, frozen=True):
    scheduler_name: str = DEFAULT_SCHEDULER_NAME
    plugin_config: tuple[_PluginConfig, ...] = ()


class _Configuration(Model, frozen=True):
    api_version: str = ""
    kind: str = ""
    profiles: tuple[_Profile, ...] = ()


def read_profiles(configuration: Any) -> dict[str, Profile]:
    """The profiles of a configuration by scheduler name.

    Args:
        configuration: The document as plain dicts and lists.

    Raises:
        ConfigurationError: it is not one, or an argument is not valid.
    """
    decoded = _decoded(configuration, _Configuration, "")
    if (decoded.api_version, decoded.kind) != (_API_VERSION, _KIND):
        given = f"{decoded.api_version} {decoded.kind}".strip() or "nothing"
        raise ConfigurationError(f"apiVersion and kind: {given}: write {_API_VERSION} {_KIND}")
    errors: list[str] = []
    profiles: dict[str, Profile] = {}
    for index, entry in enumerate(decoded.profiles or (_Profile(),)):
        path = f"profiles[{index}]"
        if entry.scheduler_name in profiles:
            errors.append(f'{path}.schedulerName: Duplicate value: "{entry.scheduler_name}"')
        args = _spread_args(entry, path, errors)
        profiles[entry.scheduler_name] = Profile(entry.scheduler_name, args)
    if errors:
        raise ConfigurationError("; ".join(errors))
    return profiles


def _spread_args(profile: _Profile, path: str, errors: list[str]) -> PodTopologySpreadArgs:
    for index, plugin in enumerate(profile.plugin_config):
        if plugin.name == _SPREAD:
            place = f"{path}.pluginConfig[{index}].args"
            args: PodTopologySpreadArgs = _decoded(plugin.args, PodTopologySpreadArgs, place)
            errors += validate_pod_topology_spread_args(args, place)
            return args
    return PodTopologySpreadArgs()


def _decoded(value: Any, kind: type[Any], path: str) -> Any:
    try:
        return from_object(value, kind)
    except DecodeError as error:
        raise ConfigurationError(f"{path}.{error}" if path else str(error)) from error
