"""Recent ends by cause: a row for each cause, with its pods."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from kubectl_plugin.reports.end_report import EndedPod
from kubectl_plugin.views.died.cause_words import SHORT
from kubectl_plugin.views.words import listed
from podrules.ending.died.cause import Cause
from podrules.workload.evictors import Evictor, Where

_FEW: Final = 3
MOST_CHOICES: Final = 3
"""The most causes that are named one by one."""
_STOPPED: Final = "stopped, unknown why"


def causes_words(causes: Iterable[Cause], evictor: Evictor | None = None) -> str:
    """``own memory limit``; ``own memory limit or node out of memory``; too many causes, or none, are unknown."""
    words = [SHORT[cause] for cause in causes]
    if evictor is not None and evictor.where is Where.POD_EVENT and len(words) == 1:
        return f"{'deleted' if evictor.deletes else 'evicted'} by {evictor.agent.value}"
    return _STOPPED if len(words) > MOST_CHOICES else " or ".join(words) or "unknown"


def by_cause(ended: Iterable[EndedPod]) -> Iterator[tuple[int, str, str]]:
    """The number of ends, their cause and some of the pods, the most frequent cause first."""
    found: dict[str, list[str]] = {}
    for one in ended:
        found.setdefault(causes_words(one.causes, one.evictor), []).append(f"{one.namespace}/{one.name}")
    for cause, pods in sorted(found.items(), key=lambda entry: (-len(entry[1]), entry[0])):
        yield len(pods), cause, listed(list(dict.fromkeys(pods)), most=_FEW)
