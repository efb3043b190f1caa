"""The cluster's default topology spread constraints, from its KubeSchedulerConfiguration in a ConfigMap.

The configuration is read again whenever the ConfigMap changes. If kube-scheduler would refuse it, the log names the
field, and the last valid one stays in force. A replica without a valid one is not ready: if an upgrade refuses a
configuration that the previous version accepted, the old replicas stay.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from cluster_io.errors import ManifestError
from cluster_io.scheduler_config import config_map_document
from podrules.api.model.config import ConfigMap
from podrules.api.model.pod import TopologySpreadConstraint
from podrules.qos_webhook.defaults import DEFAULT_PROFILES, scheduler_defaults
from podrules.scheduling.scheduler.profile import ConfigurationError, Profile, read_profiles

_LOG: Final = logging.getLogger(__name__)


class SpreadDefaults:
    """The default constraints that the webhook writes into pods, by scheduler."""

    def __init__(self, *, write_system_defaults: bool, note: Callable[[bool], None] = lambda _: None) -> None:
        """Start like kube-scheduler without a configuration: type System for default-scheduler.

        Args:
            write_system_defaults: Whether to write constraints of type System. The scheduler applies them by itself. If
                the pod itself has them, it scores nodes without a zone label differently.
            note: Called with whether a configuration is accepted.
        """
        self._write_system = write_system_defaults
        self._note = note
        self._had_good = False
        self.missing = False
        """Whether a configuration is named and none has been accepted yet."""
        self._profiles: Mapping[str, Profile] = DEFAULT_PROFILES

    def take(self, config_map: ConfigMap | None) -> None:
        """Use this ConfigMap from now on; None: it does not exist."""
        try:
            self._profiles = DEFAULT_PROFILES if config_map is None else read_profiles(config_map_document(config_map))
        except (ConfigurationError, ManifestError) as error:
            self.missing = not self._had_good
            self._note(False)
            place = "/".join(config_map.metadata.place) if config_map else ""
            then = "not ready until it is corrected" if self.missing else "the last valid one stays in force"
            _LOG.error("the scheduler configuration in ConfigMap %s is refused, %s: %s", place, then, error)
        else:
            self._had_good, self.missing = True, False
            self._note(True)

    def of(self, scheduler_name: str) -> Sequence[TopologySpreadConstraint] | None:
        """The default constraints of this scheduler's pods; None: the configuration does not name it."""
        return scheduler_defaults(self._profiles, scheduler_name, write_system=self._write_system)
