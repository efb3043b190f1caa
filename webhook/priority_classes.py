"""The current PriorityClasses, for the values that are written into pods.

A watch that broke without a word is noticed after minutes. So what was heard of the classes counts for a quarter of a
second, and is in doubt after that: they are listed live, at most four times a second, for many pods must not become
many lists. If they cannot be listed, what is known counts for a second: not every pod shall wait for a silent API
server.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping
from typing import Final

from podrules.cluster.errors import ClusterError
from podrules.cluster.kinds import PRIORITY_CLASSES
from podrules.cluster.live.reflector import Reflector
from podrules.cluster.source import Source
from podrules.model.policy import PriorityClass

__all__ = ["RecentClasses"]

_LOG: Final = logging.getLogger(__name__)
_SURE_SECONDS: Final = 0.25
_SILENT_SECONDS: Final = 1.0


class RecentClasses:
    """All PriorityClasses by name, at most a quarter of a second old."""

    def __init__(self, cache: Reflector[PriorityClass]) -> None:
        """Begin with the cache's classes.

        Args:
            cache: Filled by somebody else.
        """
        self._cache = cache
        self._listed: tuple[float, Mapping[str, PriorityClass]] = (float("-inf"), {})
        """Since when a list counts, by the monotonic clock, and what it holds."""
        self._failed = float("-inf")

    def read(self, live: Callable[[], Source]) -> Mapping[str, PriorityClass]:
        """The classes; those that are known where they cannot be listed.

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
            _LOG.warning("PriorityClasses are taken as they were, they cannot be read: %s", error)
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
