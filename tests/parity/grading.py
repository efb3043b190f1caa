"""Which parts of a recorded answer count, and whether ours differ."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping
from typing import Any, Final, NamedTuple

from podrules.scheduling.scheduler.plugins.dynamic_resources import UNKNOWN, DynamicResources

Answer = Mapping[str, Any]

_SCHEDULES: Final = frozenset({"schedule", "schedule_dra"})
_VALIDATE: Final = "validate"
"""Its errors about the keys of one map come in the order of a Go map, which differs from run to run."""
_UNKNOWN: Final = f'running "{DynamicResources.name}" filter plugin: {UNKNOWN}'
_OF_NODES: Final = ("preFilter", "rejected", "feasible", "draAllocations")
"""The keys that are compared node by node if some nodes' verdicts are unknown; the others concern all nodes."""


class Grade(NamedTuple):
    """An answer compared with upstream's."""

    differs: list[str]
    """The keys that differ; for an unknown answer, those about the other nodes."""
    unknown: str
    """What the rules report as unknown; empty: they answer. It is never equal."""


EQUAL: Final = Grade([], "")


def graded(suite: str, answer: Answer, expected: Answer) -> Grade:
    """Compare an answer with upstream's."""
    own, theirs = dict(answer), dict(expected)
    unknown: Mapping[str, str] = {}
    if suite in _SCHEDULES:
        own, theirs = _any_best(_in_order(own)), _any_best(_in_order(theirs))
        if own.get("error") in _errors(theirs):
            own["error"] = theirs["error"]
        unknown = _unknown_nodes(own)
        if unknown:
            own, theirs = _of_others(own, unknown), _of_others(theirs, unknown)
    if suite == _VALIDATE:
        own["errors"], theirs["errors"] = sorted(own["errors"]), sorted(theirs["errors"])
    keys = own.keys() | theirs.keys()
    differs = sorted(key for key in keys if own.get(key) != theirs.get(key))
    return Grade(differs, "; ".join(sorted(set(unknown.values()))))


def _in_order(answer: Answer) -> dict[str, Any]:
    """Scores by plugin and node; lists of nodes in order, for they are sets; devices without the mark of a share.

    A share's ID is drawn at random, and the device alone decides whether there is one.
    """
    found = dict(answer)
    if "scores" in found:
        columns = enumerate(answer["scorePlugins"])
        rows = answer["scores"]
        found["scores"] = {plugin: {node: row[column] for node, row in rows.items()} for column, plugin in columns}
    for key in ("feasible", "best"):
        if key in found:
            found[key] = sorted(found[key])
    if "draAllocations" in found:
        found["draAllocations"] = {
            node: [[{key: device[key] for key in device.keys() - {"shared"}} for device in claim] for claim in claims]
            for node, claims in found["draAllocations"].items()
        }
    return found


def _any_best(answer: dict[str, Any]) -> dict[str, Any]:
    """Where several nodes are equally good for a preemption, the message names any of them: it says so instead."""
    found = answer.get("postFilter", {})
    sentences = [
        f"on node {node}, preempting {len(found['candidates'][node]['victims'])} victims"
        for node in found.get("best", ())
    ]
    if len(sentences) < 2:
        return answer
    return json.loads(re.sub("|".join(map(re.escape, sentences)), "on any of the best nodes", json.dumps(answer)))  # type: ignore[no-any-return]


def _errors(expected: Answer) -> Collection[str]:
    """The errors that upstream may give for the whole cycle.

    Its workers judge nodes side by side, and the first that fails ends the cycle: any node's own error may be given,
    and none else. An error that is no node's comes from a step that runs once.
    """
    if "error" not in expected:
        return ()
    verdicts = expected.get("rejected", {}).values()
    of_nodes = {", ".join(verdict["reasons"]) for verdict in verdicts if verdict["code"] == "Error"}
    return of_nodes if expected["error"] in of_nodes else {expected["error"]}


def _unknown_nodes(answer: Answer) -> dict[str, str]:
    """Nodes with unknown verdicts, and what is missing."""
    said = ((node, " ".join(verdict.get("reasons", ()))) for node, verdict in answer.get("rejected", {}).items())
    return {node: text.removeprefix(_UNKNOWN) for node, text in said if text.startswith(_UNKNOWN)}


def _of_others(answer: Answer, nodes: Collection[str]) -> dict[str, Any]:
    """The answer about all nodes except these."""
    found: dict[str, Any] = {key: answer[key] for key in _OF_NODES if key in answer}
    found["feasible"] = [node for node in found.get("feasible", ()) if node not in nodes]
    for key in ("rejected", "draAllocations"):
        found[key] = {node: said for node, said in found.get(key, {}).items() if node not in nodes}
    return found
