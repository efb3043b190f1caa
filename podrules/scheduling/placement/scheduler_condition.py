"""Compares kube-scheduler's message in the PodScheduled condition with the present answer.

    0/12 nodes are available: 2 Insufficient memory, 10 node(s) had untolerated taint(s). preemption: 0/12 nodes …

Older versions have other words for some reasons: meanings are compared, not texts.
The histogram is FitError's, which this product words itself; what follows it is PostFilter's.

Source: FitError.Error in pkg/scheduler/framework/types.go at v1.36.3.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from msgspec.structs import replace

from podrules.api.model.quantity import whole_number
from podrules.scheduling.placement.outcome import ReasonCount, SchedulerMessage

_SENTENCE: Final = re.compile(r"0/\d+ nodes are available: (.*?)\.(?: |$)", re.DOTALL)
_ENTRY: Final = re.compile(r"(\d+) (.+)", re.DOTALL)
_OLDER: Final = (
    (re.compile(r"node\(s\) had untolerated taint \{.*\}", re.DOTALL), "node(s) had untolerated taint(s)"),
    (re.compile(r"node\(s\) had taint.* that the pod didn't tolerate", re.DOTALL), "node(s) had untolerated taint(s)"),
    (
        re.compile(r"node\(s\) didn't match (?:node selector|node affinity|Pod's node affinity)"),
        "node(s) didn't match Pod's node affinity/selector",
    ),
    (
        re.compile(r"node\(s\) had volume node affinity conflict"),
        "node(s) didn't match PersistentVolume's node affinity",
    ),
)
"""Patterns of older wording, and today's."""


def found_no_victims(message: str) -> bool:
    """Whether preemption helped on no node: if it has victims, kube-scheduler does not mention preemption."""
    return " preemption: 0/" in message


def compare_messages(message: str, now: str, *, room: bool = False) -> SchedulerMessage:
    """Compare the condition's message with the current one, which is empty if a node fits now.

    `room`: preemption makes room now, so a message that reports no victim disagrees.
    """
    if room and found_no_victims(message):
        return replace(compare_messages(message, now), agrees=False, no_victims=True)
    if now and (message == now or message.startswith(f"{now} ")):
        return SchedulerMessage(message, agrees=True, changed=())
    then_counts, now_counts = _in_todays_words(histogram(message)), histogram(now)
    if then_counts == now_counts and then_counts and message.partition(" ")[0] == now.partition(" ")[0]:
        return SchedulerMessage(message, agrees=True, changed=())
    if not then_counts:
        return SchedulerMessage(message, agrees=False, changed=())
    reasons = sorted({*then_counts, *now_counts})
    changed = [
        ReasonCount(reason, then, there)
        for reason in reasons
        if (then := then_counts.get(reason, 0)) != (there := now_counts.get(reason, 0))
    ]
    return SchedulerMessage(message, agrees=False, changed=tuple(changed))


def histogram(message: str) -> dict[str, int]:
    """The number of nodes for each reason; empty if the message has another form."""
    sentence = _SENTENCE.match(message)
    if sentence is None:
        return {}
    entries = [_ENTRY.fullmatch(entry) for entry in re.split(r", (?=\d+ )", sentence.group(1))]
    return {entry.group(2): whole_number(entry.group(1)) for entry in entries if entry is not None}


def _in_todays_words(counts: Mapping[str, int]) -> dict[str, int]:
    found: dict[str, int] = {}
    for reason, nodes in counts.items():
        words = next((today for older, today in _OLDER if older.fullmatch(reason)), reason)
        found[words] = found.get(words, 0) + nodes
    return found
