"""What may not be said of one pod: by one answer against its objects, and by two answers against each other.

Each function takes all that was said of a pod, and what its objects tell, and yields what is wrong.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Final

from kubectl_plugin.render.escape import escape
from tests.matrix.answers import PodTold
from tests.matrix.clusters import HOSTILE, NOW
from tests.matrix.oracle import Truth

__all__ = [
    "comes_to_an_end",
    "does_not_end_on_a_quiet_node",
    "ends_at_one_time",
    "has_no_linux_line",
    "has_one_class",
    "has_one_owner",
    "has_one_priority",
    "is_fine_only_when_well",
    "is_static_everywhere",
    "keeps_a_second_writer_off",
    "keeps_its_finalizers",
    "knows_its_node",
    "lost_containers_are_no_victims",
    "scores_are_in_range",
    "stops_by_one_plan",
    "tells_programs_the_same",
    "waits_for_one_thing",
]

_CLOCK: Final = re.compile(r"(?:(\d{4}-\d\d-\d\d) )?(\d\d:\d\d:\d\d) UTC")
_QUIET_WORDS: Final = re.compile(
    r"silent|heartbeat|does not answer|declared out of service|no Node object|has no Node|no such Node|Node is gone"
)
_END_WORDS: Final = re.compile(r"(?:ends by|overdue since|live until|run until|SIGKILL by) ((?:[\d-]+ )?[\d:]+ UTC)")
_LINUX_WORDS: Final = re.compile(r"\boom|cgroup|kernel kills|SIGKILL|SIGTERM|hard threshold", re.IGNORECASE)
_KILLS: Final = frozenset({"SIGTERM", "SIGKILL", "ProcessesEnded"})


def comes_to_an_end(told: PodTold, truth: Truth) -> Iterator[str]:
    """Exit codes: 0 explained; 3 when a deletion without grace was not confirmed; 2 wrongly asked."""
    for name, said in (("explain", told.explain), ("timeline", told.timeline)):
        if said.code:
            yield f"{name} ends with {said.code}: {said.err[-300:]}"
    # A name that no pod can have is refused before anything is looked at.
    refused = HOSTILE in truth.meta["name"]
    asked = truth.has_processes and not refused
    expected = 2 if refused else 3
    if told.delete.code != expected:
        yield f"delete ends with {told.delete.code}, not {expected}: {told.delete.err[-300:]}"
    if bool(told.deletion) is not asked or bool(told.webhook) is not truth.has_processes:
        yield f"at stake: delete {bool(told.deletion)}, webhook {bool(told.webhook)}, processes {truth.has_processes}"
    for said in (told.explain, told.timeline, told.delete):
        if "Traceback" in said.err:
            yield said.err[-300:]


def tells_programs_the_same(told: PodTold, _: Truth) -> Iterator[str]:
    """The verdict as data is the one of the page, and its severity is the page's colour."""
    verdict = told.explained.get("verdict", {})
    said = " ".join(escape(verdict.get("text", "")).split())
    if said != told.explain.verdict:
        yield f"verdict: {said!r} as data, {told.explain.verdict!r} on the page"
    if verdict.get("severity") != told.explain.severity:
        yield f"verdict: {verdict.get('severity')} as data, {told.explain.severity} on the page"


def has_one_class(told: PodTold, truth: Truth) -> Iterator[str]:
    """The QoS class, in words and data."""
    said = told.explained["qos"]["qosClass"]
    if said != truth.qos:
        yield f"explain says {said}, the containers give {truth.qos}"
    if not re.search(rf"QoS class +{truth.qos}\b", told.explain.out):
        yield f"explain's words do not say {truth.qos}"


def has_one_priority(told: PodTold, truth: Truth) -> Iterator[str]:
    """The priority."""
    said, stored = told.explained["priority"]["priority"], truth.spec["priority"]
    if said != stored or not re.search(rf"Priority +{stored}\b", told.explain.out):
        yield f"explain says {said}, the pod {stored}"


def has_one_owner(told: PodTold, truth: Truth) -> Iterator[str]:
    """Who promises what, and the risk that follows."""
    kinds = {"StatefulSet": "AtMostOne", "ReplicaSet": "AvailabilityFirst", "DaemonSet": "OnePerNode"}
    kinds |= {"Job": "RunsToCompletion", "Node": "KubeletOwned", "": "NotReplaced", "Widget": "Unknown"}
    expected = kinds[truth.owner]
    said = {"explain": told.explained["owner"]["guarantee"]}
    if told.deletion:
        said["delete"] = told.deletion["stakes"]["owner"]["guarantee"]
    if set(said.values()) != {expected}:
        yield f"{said}, and its controller is {truth.owner or 'nobody'}"


def knows_its_node(told: PodTold, truth: Truth) -> Iterator[str]:
    """Whether its node answers."""
    if told.timed and told.timed["silent"] is not truth.is_quiet:
        yield f"timeline: silent {told.timed['silent']}, and the node is {truth.reach or 'none'}"
    if told.deletion and told.deletion["stakes"]["node"]["reach"] != truth.reach:
        yield f"delete: {told.deletion['stakes']['node']['reach']}, and the node is {truth.reach}"
    if not truth.is_quiet or truth.finished:
        return
    texts = _texts(told)
    for name, text in texts.items():
        if not _QUIET_WORDS.search(text):
            yield f"{name} does not say that its node is {truth.reach}"
    for name, said in (("explain", told.explain), ("timeline", told.timeline), ("delete", told.delete)):
        if said.severity == "fine":
            yield f"{name} is fine on a node that is {truth.reach}"


def does_not_end_on_a_quiet_node(told: PodTold, truth: Truth) -> Iterator[str]:
    """Nothing stops processes there: no answer says when they end, but that garbage collection takes the object."""
    if not truth.is_quiet or truth.finished:
        return
    texts = _texts(told)
    for name, text in texts.items():
        if found := _END_WORDS.search(text):
            yield f"{name}: {found[0]}"
    if found := re.search(r"SIGKILL (?:by|after) \d+ s", told.explain.flat):
        yield f"explain: {found[0]}"
    if found := re.search(r"processes get \d+ s(?! more, if)", told.explain.flat + told.delete.flat):
        yield f"explain or delete: {found[0]}"
    if told.deletion and told.deletion["stakes"]["mayRunUntil"] is not None:
        yield f"delete: mayRunUntil {told.deletion['stakes']['mayRunUntil']}"
    for way in told.timed.get("ways", ()):
        for event in way["events"]:
            if event["what"] in _KILLS and event["latest"] is not None:
                yield f"timeline {way['way']}: {event['what']} by {event['latest']} s"


def ends_at_one_time(told: PodTold, truth: Truth) -> Iterator[str]:
    """When the kubelet has killed what is left of a pod that is being deleted."""
    if not truth.is_terminating or truth.is_quiet or not truth.has_processes or truth.is_static:
        return
    if truth.system != "linux":
        return
    texts = _texts(told)
    times = {(name, _instant(text)) for name, said in texts.items() for text in _END_WORDS.findall(said)}
    way = told.timed["ways"][0]
    kills = [event["latest"] for event in way["events"] if event["what"] == "SIGKILL"]
    began = datetime.fromisoformat(told.timed["began"])
    if kills and truth.running:
        times.add(("timeline", began.timestamp() + max(kills)))
    if told.deletion and (until := told.deletion["stakes"]["mayRunUntil"]) is not None:
        times.add(("delete -o json", datetime.fromisoformat(until).timestamp()))
    named = sorted((name, f"{datetime.fromtimestamp(when, UTC):%H:%M:%S}") for name, when in times)
    if len({when for _, when in times}) > 1:
        yield f"ends at {named}"
    if any(when < truth.killed_by.timestamp() for _, when in times):
        yield f"ends at {named}, and its first period lasts until {truth.killed_by:%H:%M:%S}"


def _texts(told: PodTold) -> dict[str, str]:
    """What is said of its deletion; of a name that no pod can have only some is."""
    texts = {"explain": told.explain.flat, "delete": told.delete.flat, "webhook": " ".join(told.webhook)}
    return {name: text for name, text in texts.items() if text}


def _instant(text: str) -> float:
    found = _CLOCK.search(text)
    assert found is not None, text
    day = found[1] or f"{NOW:%Y-%m-%d}"
    return datetime.fromisoformat(f"{day}T{found[2]}+00:00").timestamp()


def stops_by_one_plan(told: PodTold, truth: Truth) -> Iterator[str]:
    """What explain says of a deletion and an eviction is what their timelines say."""
    ways = {way["way"]: way for way in told.timed["ways"]}
    hard = told.explained["hardEviction"]
    if truth.has_processes and not truth.is_static and not truth.is_quiet and truth.system == "linux":
        spared = ways["evict-hard"]["standing"] == "Critical"
        if (hard is None) is not spared and not truth.is_terminating:
            yield f"explain: evicted {hard}, timeline: {ways['evict-hard']['standing']}"
    for name, seconds in (
        ("delete", told.explained["termination"]["sigkillLatest"]),
        ("evict-hard", None if hard is None else hard["sigkillLatest"]),
    ):
        kills = [event["latest"] for event in ways[name]["events"] if event["what"] == "SIGKILL"]
        # A container that waits is stopped only if it starts by then.
        idle = len(truth.running) < len(truth.spec["containers"])
        if kills and None not in kills and not idle and max(kills) != seconds:
            yield f"{name}: explain kills by {seconds} s, timeline by {max(kills)} s"


def is_static_everywhere(told: PodTold, truth: Truth) -> Iterator[str]:
    """The API cannot stop a static pod."""
    if not truth.is_static or truth.finished:
        return
    if told.explained["hardEviction"] is not None:
        yield "explain: the kubelet would evict it"
    if found := re.search(r"SIG(?:KILL|TERM) [a-z ]*\d+ s|grace \d+ s after a delete", told.explain.flat):
        yield f"explain: {found[0]}"
    yield from (f"{name} does not say that it is static" for name, text in _texts(told).items() if "static" not in text)
    for way in told.timed["ways"]:
        events = {event["what"] for event in way["events"]}
        if way["way"] in {"delete", "node-lost"} and "SIGKILL" in events:
            yield f"timeline {way['way']}: SIGKILL"


def keeps_its_finalizers(told: PodTold, truth: Truth) -> Iterator[str]:
    """While there is a finalizer, no deletion removes the object at once."""
    said = told.explain.flat + told.delete.flat + " ".join(told.webhook)
    if not truth.finalizers:
        if "finalizer" in said.lower():
            yield "an answer names finalizers, and there is none"
        return
    if found := re.search(r"(?:removes the object|object is gone) at once|frees (?:the|its) name", said):
        yield f"words: {found[0]}"
    if told.explained["termination"]["objectRemovedAtOnce"]:
        yield "explain -o json: the object is removed at once"
    if told.deletion and told.deletion["plan"]["objectRemovedAtOnce"]:
        yield "delete -o json: the object is removed at once"
    for way in told.timed["ways"]:
        for event in way["events"]:
            if event["what"] == "ObjectGone" and event["latest"] is not None:
                yield f"timeline {way['way']}: object gone by {event['latest']} s ({event['rule']})"


def keeps_a_second_writer_off(told: PodTold, truth: Truth) -> Iterator[str]:
    """Who says that nothing keeps a second writer off."""
    if not truth.has_processes:
        return
    words = re.compile(r"nothing keeps a second writer off|no(?:thing|body) keeps|Two may write")
    said = {name: bool(words.search(text)) for name, text in _texts(told).items()}
    if truth.is_kept_apart:
        # A node that answers unmounts before it is detached: at stake it is elsewhere.
        expected = {name: name != "webhook" or truth.is_quiet for name in said}
    elif truth.second_writer is None:
        expected = dict.fromkeys(said, said["explain"])
    else:
        expected = dict.fromkeys(said, truth.second_writer)
    if said != expected:
        yield f"{truth.source} on {truth.reach}: {said}"


def has_no_linux_line(told: PodTold, truth: Truth) -> Iterator[str]:
    """Windows has no oom_score_adj and no cgroups; what runs a virtual kubelet's pods is not known."""
    if truth.system == "linux":
        return
    words = _LINUX_WORDS if truth.system == "virtual" else re.compile(r"\boom|cgroup|kernel kills", re.IGNORECASE)
    for name, said in (("explain", told.explain), ("timeline", told.timeline), ("delete", told.delete)):
        lines = [line.strip() for line in said.out.splitlines()[1:] if words.search(line) and "OOMKilled" not in line]
        lines = [line for line in lines if not re.search(r"not known|no .*(?:oom|cgroup)|Windows", line)]
        if lines:
            yield f"{name}, {truth.system}: {lines[0]}"
    if told.explained["oom"]:
        yield f"explain -o json, {truth.system}: oom"


def is_fine_only_when_well(told: PodTold, truth: Truth) -> Iterator[str]:
    """A healthy first sentence for what is healthy."""
    if told.explain.severity == "fine" and not truth.is_well:
        states = [next(iter(entry["state"].items())) for entry in truth.status.get("containerStatuses", ())]
        yield f"explain is fine: {told.explain.verdict}; {truth.status['phase']}, {states}, on {truth.reach}"


def waits_for_one_thing(told: PodTold, truth: Truth) -> Iterator[str]:
    """A pod without a node: gates, a group, another scheduler, room that is being made, or a verdict."""
    if truth.node_name or truth.is_terminating:
        return
    first = told.explain.verdict
    placement = told.explained["placement"] or {}
    outcome = placement.get("outcome")
    if truth.spec.get("schedulingGates") and ("gate" not in first or "no node fits" in first):
        yield f"gated: {first}"
    if truth.spec.get("schedulingGroup") and re.search(r"no node fits|nodes? fits? now", first):
        yield f"of a group: {first}"
    if truth.spec["schedulerName"] != "default-scheduler" and re.search(r"no node fits|nodes? fits? now", first):
        yield f"of another scheduler: {first}"
    stuck = re.search(r"once the pods that leave|no node fits before", first)
    if truth.status.get("nominatedNodeName") and "no node fits" in first and not stuck:
        yield f"nominated: {first}"
    if outcome == "Fits" and "no node fits" in first:
        yield f"placement fits: {first}"
    if outcome == "Unschedulable" and "fit now" in first:
        yield f"placement finds nothing: {first}"


def scores_are_in_range(told: PodTold, truth: Truth) -> Iterator[str]:
    """oom_score_adj is from -999 to 1000, and so is every number that is called so."""
    scores = [score["value"] for entry in told.explained["oom"] for score in entry["containers"]]
    for standing in (one for place in told.explained["pressure"] for one in place["oom"]):
        scores += [standing[side]["oomScoreAdj"] for side in ("place", "before") if standing[side] is not None]
    if wrong := [score for score in scores if not -999 <= score <= 1000]:
        yield f"scores {wrong}"
    section = told.explain.out.partition("OOM score")[2].partition("\nRequests")[0]
    if wrong := [found for found in re.findall(r"= (-?\d+)", section) if not -999 <= int(found) <= 1000]:
        yield f"words: {wrong}"
    if truth.qos == "BestEffort" and scores and truth.spec.get("priorityClassName") != "system-node-critical":
        own = [score["value"] for entry in told.explained["oom"] for score in entry["containers"]]
        if set(own) - {1000}:
            yield f"BestEffort, with {own}"


def lost_containers_are_no_victims(told: PodTold, truth: Truth) -> Iterator[str]:
    """What has no process is not killed."""
    for place in told.explained["pressure"]:
        for standing in place["oom"]:
            container = standing["place"]["container"]
            if standing["scope"] == "Global" and container not in truth.running:
                yield f"explain ranks {container!r}, of which no process runs"
