"""Which parts of a recorded answer count, and whether ours differ."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

__all__ = ["differs"]

_UNGRADED: Final = {
    # With the feature gate MemoryQoS, which is off by default and not restated.
    "cgroup": frozenset({"podMemoryQoSTiered"}),
    # The devices are held by the plugin's own tests.
    "schedule_dra": frozenset({"draAllocations"}),
}


def differs(suite: str, answer: Mapping[str, Any], expected: Mapping[str, Any]) -> list[str]:
    """The keys under which an answer differs from upstream's; none: it is equal."""
    ungraded = set(_UNGRADED.get(suite, ()))
    if suite in {"schedule", "schedule_dra"}:
        if _says_unknown(answer):
            return []
        answer, expected = _by_plugin(answer), _by_plugin(expected)
        if "error" in expected and "error" in answer:
            # Any node's error may be the one that is given.
            ungraded.add("error")
    wanted = {key: value for key, value in expected.items() if key not in ungraded}
    got = {key: value for key, value in answer.items() if key not in ungraded}
    return sorted(key for key in wanted.keys() | got.keys() if wanted.get(key) != got.get(key))


def _says_unknown(answer: Mapping[str, Any]) -> bool:
    """Whether a node's verdict is that these rules cannot tell, which is never wrong."""
    verdicts = answer.get("rejected", {}).values()
    return any("filter plugin: unknown: " in reason for verdict in verdicts for reason in verdict.get("reasons", ()))


def _by_plugin(answer: Mapping[str, Any]) -> dict[str, Any]:
    """Scores by plugin and node; lists of nodes in order, for they are sets."""
    found = dict(answer)
    if "scores" in found:
        columns = enumerate(answer["scorePlugins"])
        rows = answer["scores"]
        found["scores"] = {plugin: {node: row[column] for node, row in rows.items()} for column, plugin in columns}
    for key in ("feasible", "best"):
        if key in found:
            found[key] = sorted(found[key])
    return found
