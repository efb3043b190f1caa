"""The current PriorityClasses, for the values that are written into pods.

A silent failure of a watch is detected only after minutes. So the watched classes count as current for a quarter of a
second. After that they are listed live, at most four times a second, so that many pods do not cause many lists. If the
list fails, the known classes count for one more second, so that not every pod waits for an unresponsive API server.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping
from typing import Final

from cluster_io.errors import ClusterError
from cluster_io.kinds import PRIORITY_CLASSES
from cluster_io.live.reflector import Reflector
from cluster_io.source import Source
from podrules.api.model.policy import PriorityClass

_LOG: Final = logging.getLogger(__name__)
_SURE_SECONDS: Final = 0.25
_SILENT_SECONDS: Final = 1.0


class RecentClasses:
    """All PriorityClasses by name, at most a quarter of a second old."""

    def __init__(self, cache: Reflector[PriorityClass]) -> None:
        """Start with the classes in the cache.

        Args:
            cache: The cache of PriorityClasses; its owner fills it.
        """
        self._cache = cache
        self._listed: tuple[float, Mapping[str, PriorityClass]] = (float("-inf"), {})
        """When the last list began, by the monotonic clock, and its classes."""
        self._failed = float("-inf")

    def read(self, live: Callable[[], Source]) -> Mapping[str, PriorityClass]:
        """The current classes; the known ones if they cannot be listed.

        Args:
            live: Makes the source for lists.
        """
        began = time.monotonic()
        heard, known = self._known()
        if began < max(heard + _SURE_SECONDS, self._failed + _SILENT_SECONDS):
            return known
        try:
            found = {entry.metadata.name: entry for entry in live().list(PRIORITY_CLASSES)}
        except ClusterError as error:
            _LOG.warning("PriorityClasses cannot be read; the known ones are used: %s", error)
            self._failed = time.monotonic()
            return known
        self._listed = (began, found)
        return found

    def _known(self) -> tuple[float, Mapping[str, PriorityClass]]:
        """The newest classes, from the watch or a list, and their time."""
        heard = self._cache.heard_at
        if heard is None or heard < self._listed[0]:
            return self._listed
        return heard, self._cache.in_namespace()
