"""The cluster's default topology spread constraints, from its KubeSchedulerConfiguration in a ConfigMap.

The configuration is read anew whenever the ConfigMap changes. One that kube-scheduler would refuse is told in the log
and changes nothing: the last good one stays in force.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Any, Final

from msgspec import field

from podrules.cluster.errors import ManifestError
from podrules.cluster.files import parse_documents
from podrules.cluster.reflector import CachedObject
from podrules.model.pod import TopologySpreadConstraint
from podrules.scheduler.plugins.pod_topology_spread.args import LIST_DEFAULTING
from podrules.scheduler.profile import ConfigurationError, Profile, read_profiles

__all__ = ["CachedConfigMap", "SpreadDefaults"]

_LOG: Final = logging.getLogger(__name__)
_KIND: Final = "KubeSchedulerConfiguration"


class CachedConfigMap(CachedObject, frozen=True):
    """A ConfigMap's texts."""

    data: dict[str, str] = field(default_factory=dict)


class SpreadDefaults:
    """The default constraints of each scheduler that are to be written into pods."""

    def __init__(self, *, write_system_defaults: bool) -> None:
        """Start as kube-scheduler does without a configuration: type System for default-scheduler.

        Args:
            write_system_defaults: Whether those of type System are written. The scheduler applies them by itself, and
                scores nodes without a zone label otherwise when they are the pod's own.
        """
        self._write_system = write_system_defaults
        self._profiles: Mapping[str, Profile] = read_profiles(_empty())

    def take(self, config_map: CachedConfigMap | None) -> None:
        """Go by this ConfigMap from now on; None: there is none."""
        try:
            self._profiles = read_profiles(_document(config_map))
        except (ConfigurationError, ManifestError) as error:
            name = config_map.metadata.name if config_map else ""
            _LOG.error("ConfigMap %s is not taken, the last good configuration stays in force: %s", name, error)

    def of(self, scheduler_name: str) -> Sequence[TopologySpreadConstraint]:
        """What pods of this scheduler are given; nothing for a scheduler that the configuration does not name."""
        profile = self._profiles.get(scheduler_name)
        if profile is None:
            return ()
        args = profile.pod_topology_spread
        return args.constraints if self._write_system or args.defaulting_type == LIST_DEFAULTING else ()


def _document(config_map: CachedConfigMap | None) -> Any:
    """The one KubeSchedulerConfiguration among a ConfigMap's texts."""
    if config_map is None:
        return _empty()
    found = [
        document.content
        for key, text in sorted(config_map.data.items())
        for document in parse_documents(f"data.{key}", text)
        if document.content["kind"] == _KIND
    ]
    if len(found) != 1:
        raise ConfigurationError(f"{len(found)} documents of kind {_KIND} in its data: it needs one")
    return found[0]


def _empty() -> Any:
    return {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": _KIND}
