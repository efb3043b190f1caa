"""Contradictions about one pod: between an answer and the pod's objects, and between two answers.

Each function takes all answers about a pod and the facts from its objects, and yields what is wrong.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Final

from podrules.api.escape import escape
from tests.matrix.answers import PodStated
from tests.matrix.clusters import HOSTILE, NOW
from tests.matrix.oracle import Truth

_CLOCK: Final = re.compile(r"(?:(\d{4}-\d\d-\d\d) )?(\d\d:\d\d:\d\d) UTC")
_QUIET_WORDS: Final = re.compile(
    r"silent|heartbeat|does not answer|declared out of service|no Node object|has no Node|no such Node|Node is gone"
)
NONE_FITS: Final = r"no node fits|\b0 of \d+ nodes? fits?\b"
"""How a verdict says that a pod fits nowhere: without and with the number of nodes."""
_END_WORDS: Final = re.compile(r"(?:ends by|overdue since|live until|run until|SIGKILL by) ((?:[\d-]+ )?[\d:]+ UTC)")
_LINUX_WORDS: Final = re.compile(r"\boom|cgroup|kernel kills|SIGKILL|SIGTERM|hard threshold", re.IGNORECASE)
_KILLS: Final = frozenset({"SIGTERM", "SIGKILL", "ProcessesEnded"})


def comes_to_an_end(answers: PodStated, truth: Truth) -> Iterator[str]:
    """Exit codes: 0 explained; 3 when a deletion without grace was not confirmed; 2 wrongly asked."""
    for name, said in (("explain", answers.explain), ("timeline", answers.timeline)):
        if said.code:
            yield f"{name} ends with {said.code}: {said.err[-300:]}"
    # A name that no pod can have is rejected before anything is read.
    refused = HOSTILE in truth.meta["name"]
    asked = truth.has_processes and not refused
    expected = 2 if refused else 3
    if answers.delete.code != expected:
        yield f"delete ends with {answers.delete.code}, not {expected}: {answers.delete.err[-300:]}"
    if bool(answers.deletion) is not asked or bool(answers.webhook) is not truth.has_processes:
        yield f"risk: delete {bool(answers.deletion)}, webhook {bool(answers.webhook)}, processes {truth.has_processes}"
    for said in (answers.explain, answers.timeline, answers.delete):
        if "Traceback" in said.err:
            yield said.err[-300:]


def has_one_verdict_in_data(answers: PodStated, _: Truth) -> Iterator[str]:
    """The verdict as data equals the page's verdict, and its severity the page's mark and colour."""
    verdict = answers.explained.get("verdict", {})
    said = " ".join(escape(verdict.get("text", "")).split())
    if said != answers.explain.verdict:
        yield f"verdict: {said!r} as data, {answers.explain.verdict!r} on the page"
    if verdict.get("severity") != answers.explain.severity:
        yield f"verdict: {verdict.get('severity')} as data, {answers.explain.severity} on the page"
    if answers.explain.mark != {"fine": "ok", "notice": "!", "trouble": "x"}.get(verdict.get("severity", "")):
        yield f"verdict: {verdict.get('severity')} as data, {answers.explain.mark!r} on the page"


def has_one_class(answers: PodStated, truth: Truth) -> Iterator[str]:
    """Every answer gives the same QoS class, in words and data."""
    said = answers.explained["qos"]["qosClass"]
    if said != truth.qos:
        yield f"explain says {said}, the containers give {truth.qos}"
    if not re.search(rf"QoS class +{truth.qos}\b", answers.explain.out):
        yield f"explain's words do not say {truth.qos}"


def has_one_priority(answers: PodStated, truth: Truth) -> Iterator[str]:
    """Every answer gives the same priority."""
    said, stored = answers.explained["priority"]["priority"], truth.spec["priority"]
    if said != stored or not re.search(rf"Priority +{stored}\b", answers.explain.out):
        yield f"explain says {said}, the pod {stored}"


def has_one_owner(answers: PodStated, truth: Truth) -> Iterator[str]:
    """Every answer gives the same owner guarantee."""
    kinds = {"StatefulSet": "AtMostOne", "ReplicaSet": "AvailabilityFirst", "DaemonSet": "OnePerNode"}
    kinds |= {"Job": "RunsToCompletion", "Node": "KubeletOwned", "": "NotReplaced", "Widget": "Unknown"}
    expected = kinds[truth.owner]
    said = {"explain": answers.explained["owner"]["guarantee"]}
    if answers.deletion:
        said["delete"] = answers.deletion["stakes"]["owner"]["guarantee"]
    if set(said.values()) != {expected}:
        yield f"{said}, and its controller is {truth.owner or 'none'}"


def knows_its_node(answers: PodStated, truth: Truth) -> Iterator[str]:
    """Every answer agrees on whether the node answers."""
    if answers.timed and answers.timed["silent"] is not truth.is_quiet:
        yield f"timeline: silent {answers.timed['silent']}, and the node is {truth.reach or 'none'}"
    if answers.deletion and answers.deletion["stakes"]["node"]["reach"] != truth.reach:
        yield f"delete: {answers.deletion['stakes']['node']['reach']}, and the node is {truth.reach}"
    if not truth.is_quiet or truth.finished:
        return
    texts = _texts(answers)
    for name, text in texts.items():
        if not _QUIET_WORDS.search(text):
            yield f"{name} does not say that its node is {truth.reach}"
    for name, said in (("explain", answers.explain), ("timeline", answers.timeline), ("delete", answers.delete)):
        if said.severity == "fine":
            yield f"{name} is fine on a node that is {truth.reach}"


def does_not_end_on_a_quiet_node(answers: PodStated, truth: Truth) -> Iterator[str]:
    """Processes on a silent node are not stopped: no answer says when they end, only when the object is collected."""
    if not truth.is_quiet or truth.finished:
        return
    texts = _texts(answers)
    for name, text in texts.items():
        if found := _END_WORDS.search(text):
            yield f"{name}: {found[0]}"
    if found := re.search(r"SIGKILL (?:by|after) \d+ s", answers.explain.flat):
        yield f"explain: {found[0]}"
    if found := re.search(r"processes get \d+ s(?! more, if)", answers.explain.flat + answers.delete.flat):
        yield f"explain or delete: {found[0]}"
    if answers.deletion and answers.deletion["stakes"]["mayRunUntil"] is not None:
        yield f"delete: mayRunUntil {answers.deletion['stakes']['mayRunUntil']}"
    for way in answers.timed.get("ways", ()):
        for event in way["events"]:
            if event["what"] in _KILLS and event["latest"] is not None:
                yield f"timeline {way['way']}: {event['what']} by {event['latest']} s"


def ends_at_one_time(answers: PodStated, truth: Truth) -> Iterator[str]:
    """Every answer gives the same time for the kubelet's last SIGKILL to a pod that is being deleted."""
    if not truth.is_terminating or truth.is_quiet or not truth.has_processes or truth.is_static:
        return
    if truth.system != "linux":
        return
    texts = _texts(answers)
    times = {(name, _instant(text)) for name, said in texts.items() for text in _END_WORDS.findall(said)}
    way = answers.timed["ways"][0]
    kills = [event["latest"] for event in way["events"] if event["what"] == "SIGKILL"]
    began = datetime.fromisoformat(answers.timed["began"])
    if kills and truth.running:
        times.add(("timeline", began.timestamp() + max(kills)))
    if answers.deletion and (until := answers.deletion["stakes"]["mayRunUntil"]) is not None:
        times.add(("delete -o json", datetime.fromisoformat(until).timestamp()))
    named = sorted((name, f"{datetime.fromtimestamp(when, UTC):%H:%M:%S}") for name, when in times)
    if len({when for _, when in times}) > 1:
        yield f"ends at {named}"
    if any(when < truth.killed_by.timestamp() for _, when in times):
        yield f"ends at {named}, and its first period lasts until {truth.killed_by:%H:%M:%S}"


def _texts(answers: PodStated) -> dict[str, str]:
    """The texts about the pod's deletion; a name that no pod can have has only some of them."""
    texts = {"explain": answers.explain.flat, "delete": answers.delete.flat, "webhook": " ".join(answers.webhook)}
    return {name: text for name, text in texts.items() if text}


def _instant(text: str) -> float:
    found = _CLOCK.search(text)
    assert found is not None, text
    day = found[1] or f"{NOW:%Y-%m-%d}"
    return datetime.fromisoformat(f"{day}T{found[2]}+00:00").timestamp()


def stops_by_one_plan(answers: PodStated, truth: Truth) -> Iterator[str]:
    """The explanation and the timelines agree about a deletion and an eviction."""
    ways = {way["way"]: way for way in answers.timed["ways"]}
    hard = answers.explained["hardEviction"]
    if truth.has_processes and not truth.is_static and not truth.is_quiet and truth.system == "linux":
        spared = ways["evict-hard"]["standing"] == "Critical"
        if (hard is None) is not spared and not truth.is_terminating:
            yield f"explain: evicted {hard}, timeline: {ways['evict-hard']['standing']}"
    for name, seconds in (
        ("delete", answers.explained["termination"]["sigkillLatest"]),
        ("evict-hard", None if hard is None else hard["sigkillLatest"]),
    ):
        kills = [event["latest"] for event in ways[name]["events"] if event["what"] == "SIGKILL"]
        # A container that waits is stopped only if it starts by then.
        idle = len(truth.running) < len(truth.spec["containers"])
        if kills and None not in kills and not idle and max(kills) != seconds:
            yield f"{name}: explain kills by {seconds} s, timeline by {max(kills)} s"


def is_static_everywhere(answers: PodStated, truth: Truth) -> Iterator[str]:
    """The API cannot stop a static pod."""
    if not truth.is_static or truth.finished:
        return
    if answers.explained["hardEviction"] is not None:
        yield "explain: the kubelet would evict it"
    if found := re.search(r"SIG(?:KILL|TERM) [a-z ]*\d+ s|grace \d+ s after a delete", answers.explain.flat):
        yield f"explain: {found[0]}"
    yield from (
        f"{name} does not say that it is static" for name, text in _texts(answers).items() if "static" not in text
    )
    for way in answers.timed["ways"]:
        events = {event["what"] for event in way["events"]}
        if way["way"] in {"delete", "node-lost"} and "SIGKILL" in events:
            yield f"timeline {way['way']}: SIGKILL"


def keeps_its_finalizers(answers: PodStated, truth: Truth) -> Iterator[str]:
    """While there is a finalizer, no deletion removes the object at once."""
    said = answers.explain.flat + answers.delete.flat + " ".join(answers.webhook)
    if not truth.finalizers:
        if "finalizer" in said.lower():
            yield "an answer names finalizers, and there is none"
        return
    if found := re.search(r"(?:removes the object|object is gone) at once|frees (?:the|its) name", said):
        yield f"words: {found[0]}"
    if answers.explained["termination"]["objectRemovedAtOnce"]:
        yield "explain -o json: the object is removed at once"
    if answers.deletion and answers.deletion["plan"]["objectRemovedAtOnce"]:
        yield "delete -o json: the object is removed at once"
    for way in answers.timed["ways"]:
        for event in way["events"]:
            if event["what"] == "ObjectGone" and event["latest"] is not None:
                yield f"timeline {way['way']}: object gone by {event['latest']} s ({event['rule']})"


def keeps_a_second_writer_off(answers: PodStated, truth: Truth) -> Iterator[str]:
    """The answers agree on whether a second writer is possible."""
    if not truth.has_processes:
        return
    words = re.compile(r"nothing keeps a second writer off|no(?:thing|body) keeps|Two may write")
    said = {name: bool(words.search(text)) for name, text in _texts(answers).items()}
    if truth.is_kept_apart:
        # A node that answers unmounts before the detach: the risk is elsewhere.
        expected = {name: name != "webhook" or truth.is_quiet for name in said}
    elif truth.second_writer is None:
        expected = dict.fromkeys(said, said["explain"])
    else:
        expected = dict.fromkeys(said, truth.second_writer)
    if said != expected:
        yield f"{truth.source} on {truth.reach}: {said}"


def has_no_linux_line(answers: PodStated, truth: Truth) -> Iterator[str]:
    """Windows has no oom_score_adj and no cgroups; the runtime of a virtual kubelet's pods is unknown."""
    if truth.system == "linux":
        return
    words = _LINUX_WORDS if truth.system == "virtual" else re.compile(r"\boom|cgroup|kernel kills", re.IGNORECASE)
    for name, said in (("explain", answers.explain), ("timeline", answers.timeline), ("delete", answers.delete)):
        lines = [line.strip() for line in said.out.splitlines()[1:] if words.search(line) and "OOMKilled" not in line]
        lines = [line for line in lines if not re.search(r"not known|no .*(?:oom|cgroup)|Windows", line)]
        if lines:
            yield f"{name}, {truth.system}: {lines[0]}"
    if answers.explained["oom"]:
        yield f"explain -o json, {truth.system}: oom"


def is_fine_only_when_well(answers: PodStated, truth: Truth) -> Iterator[str]:
    """Only a healthy pod has a healthy first sentence."""
    if answers.explain.severity == "fine" and not truth.is_well:
        states = [next(iter(entry["state"].items())) for entry in truth.status.get("containerStatuses", ())]
        yield f"explain is fine: {answers.explain.verdict}; {truth.status['phase']}, {states}, on {truth.reach}"


def waits_for_one_thing(answers: PodStated, truth: Truth) -> Iterator[str]:
    """A pod without a node waits for one thing: gates, a group, another scheduler, preemption, or a node that fits."""
    if truth.node_name or truth.is_terminating:
        return
    first = answers.explain.verdict
    placement = answers.explained["placement"] or {}
    outcome = placement.get("outcome")
    if truth.spec.get("schedulingGates") and ("gate" not in first or re.search(NONE_FITS, first)):
        yield f"gated: {first}"
    if truth.spec.get("schedulingGroup") and re.search(rf"{NONE_FITS}|nodes? fits? now", first):
        yield f"of a group: {first}"
    if truth.spec["schedulerName"] != "default-scheduler" and re.search(rf"{NONE_FITS}|nodes? fits? now", first):
        yield f"of another scheduler: {first}"
    stuck = re.search(r"once the pods that leave|no node fits before", first)
    if truth.status.get("nominatedNodeName") and re.search(NONE_FITS, first) and not stuck:
        yield f"nominated: {first}"
    if outcome == "Fits" and re.search(NONE_FITS, first):
        yield f"placement fits: {first}"
    if outcome == "Unschedulable" and "fit now" in first:
        yield f"placement finds nothing: {first}"


def scores_are_in_range(answers: PodStated, truth: Truth) -> Iterator[str]:
    """oom_score_adj is from -999 to 1000, and so is every number that is called so."""
    scores = [score["value"] for entry in answers.explained["oom"] for score in entry["containers"]]
    for standing in (one for place in answers.explained["pressure"] for one in place["oom"]):
        scores += [standing[side]["oomScoreAdj"] for side in ("place", "before") if standing[side] is not None]
    if wrong := [score for score in scores if not -999 <= score <= 1000]:
        yield f"scores {wrong}"
    section = answers.explain.out.partition("OOM score")[2].partition("\nRequests")[0]
    if wrong := [found for found in re.findall(r"= (-?\d+)", section) if not -999 <= int(found) <= 1000]:
        yield f"words: {wrong}"
    if truth.qos == "BestEffort" and scores and truth.spec.get("priorityClassName") != "system-node-critical":
        own = [score["value"] for entry in answers.explained["oom"] for score in entry["containers"]]
        if set(own) - {1000}:
            yield f"BestEffort, with {own}"


def lost_containers_are_no_victims(answers: PodStated, truth: Truth) -> Iterator[str]:
    """A container without a process is not ranked for OOM kills."""
    for place in answers.explained["pressure"]:
        for standing in place["oom"]:
            container = standing["place"]["container"]
            if standing["scope"] == "Global" and container not in truth.running:
                yield f"explain ranks {container!r}, which has no running process"
