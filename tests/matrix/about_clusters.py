"""Contradictions about a cluster: between answers about nodes, lists and pages, and those about each pod."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from functools import cache
from typing import Any, Final

from tests.matrix.about_pods import NONE_FITS
from tests.matrix.answers import ClusterStated, PodStated, Said
from tests.matrix.clusters import HOSTILE, key_of
from tests.matrix.oracle import Truth, amount
from tests.plurals import wrong_plurals

Truths = Mapping[tuple[str, str], Truth]
_DOWN: Final = frozenset({"Silent", "MissedHeartbeats", "OutOfService", "Gone"})
_UNSEEN: Final = re.compile(r"[^\n -~\u00a0-\u200a\u2010-\u2027\u2030-\u205e\u2190-\uffff]")
"""Control characters, and those that turn the direction of text."""


def every_command_ends(answers: ClusterStated, _: Truths) -> Iterator[str]:
    """Every command has the expected exit code and no traceback."""
    for name, said in answers.words.items():
        failing = any(entry["level"] == "error" for entry in answers.lint["findings"]) if name == "lint" else False
        if said.code != int(failing) or "Traceback" in said.err:
            yield f"{name} ends with {said.code}: {said.err[-300:]}"


def nothing_moves_a_terminal(answers: ClusterStated, _: Truths) -> Iterator[str]:
    """A file may hold any text as a name."""
    texts = {name: said.out + said.err for name, said in answers.words.items()} | {"report": answers.page}
    for pod in answers.pods:
        for name, said in (("explain", pod.explain), ("timeline", pod.timeline), ("delete", pod.delete)):
            texts[f"{pod.id} {name}"] = said.out + said.err
        texts[f"{pod.id} webhook"] = "\n".join(pod.webhook)
    for name, text in texts.items():
        if found := _UNSEEN.search(text):
            yield f"{name}: {text[max(found.start() - 30, 0) : found.end() + 10]!r}"


def one_is_not_many(answers: ClusterStated, _: Truths) -> Iterator[str]:
    """No text says ``1 nodes``."""
    for pod in answers.pods:
        for name, said in (("explain", pod.explain), ("timeline", pod.timeline), ("delete", pod.delete)):
            yield from (f"{pod.id} {name}: {text}" for text in wrong_plurals(said.out))
    for name, said in answers.words.items():
        yield from (f"{name}: {text}" for text in wrong_plurals(said.out))


def partitions_are_what_pods_say(answers: ClusterStated, truths: Truths) -> Iterator[str]:
    """The partitions answer names the silent nodes and their pods, with the same risks as the pods' answers."""
    reaches = {truth.node_name: truth.reach for truth in truths.values() if truth.reach in _DOWN}
    said = {entry["reach"]["name"]: entry["reach"]["reach"] for entry in answers.down["nodes"]}
    for name in {name for name, reach in reaches.items() if said.get(name) != reach}:
        yield f"partitions: {name} is {said.get(name)}, and not {reaches[name]}"
    there = {(pod["namespace"], pod["name"]): pod for entry in answers.down["nodes"] for pod in entry["pods"]}
    for pod in answers.pods:
        truth, entry = truths[pod.key], there.get(pod.key)
        hangs = truth.reach in _DOWN and (not truth.finished or truth.is_terminating)
        if hangs is not (entry is not None):
            yield f"partitions: {pod.id} on {truth.reach} is {'' if entry else 'not '}there"
        if entry is not None:
            yield from _wrong_in_partitions(pod, truth, entry)


def _wrong_in_partitions(pod: PodStated, truth: Truth, entry: Mapping[str, Any]) -> Iterator[str]:
    if entry["priority"] != truth.spec["priority"]:
        yield f"partitions: {pod.id} has priority {entry['priority']}"
    if entry["owner"]["guarantee"] != pod.explained["owner"]["guarantee"]:
        yield f"partitions: {pod.id} {entry['owner']['guarantee']}, explain {pod.explained['owner']['guarantee']}"
    deleted = truth.deleted_at.timestamp() if truth.is_terminating else None
    if (entry["deleted"] is not None) is not (deleted is not None):
        yield f"partitions: {pod.id} deleted {entry['deleted']}"
    if pod.deletion and entry["volumes"] != pod.deletion["stakes"]["volumes"]:
        yield f"partitions: {pod.id} {entry['volumes']}, delete {pod.deletion['stakes']['volumes']}"
    if truth.is_static and entry["risk"] != "NodesOwn":
        yield f"partitions: the static {pod.id} is {entry['risk']}"
    if truth.second_writer and truth.owner not in {"", "DaemonSet"} and entry["risk"] != "TwoWriters":
        yield f"partitions: {pod.id} is {entry['risk']}, and its {truth.source} allows a second writer"
    if truth.second_writer is False and entry["risk"] == "TwoWriters":
        yield f"partitions: {pod.id} is TwoWriters on {truth.source}"


def _rows(answers: ClusterStated) -> Mapping[tuple[str, str], Mapping[str, Any]]:
    """The report's pods by namespace and name."""
    pods, texts = answers.report["pods"], answers.report["texts"]
    found = {}
    for row, pod in enumerate(answers.pods):
        # The page lists pods as the snapshot does.
        entry = {column: values[row] for column, values in pods.items()}
        entry |= {column: texts[entry[column]] for column in ("namespace", "bound", "state", "class", "owner")}
        entry["qos"] = answers.report["classes"][entry["qos"]]
        entry["risk"] = "" if entry["risk"] < 0 else answers.report["risks"][entry["risk"]]
        found[pod.key] = entry
    return found


def risks_are_what_pods_say(answers: ClusterStated, truths: Truths) -> Iterator[str]:
    """The page and the commands agree about each pod."""
    for key, row in _rows(answers).items():
        truth = truths[key]
        [pod] = [pod for pod in answers.pods if pod.key == key]
        if (row["qos"], row["priority"]) != (truth.qos, truth.spec["priority"]):
            yield f"report: {pod.id} is {row['qos']}, {row['priority']}"
        if row["bound"] != truth.node_name:
            yield f"report: {pod.id} is on {row['bound']}"
        lost = truth.is_quiet and not truth.finished
        if (row["risk"] == "node silent") is not lost:
            yield f"report: {pod.id} on {truth.reach}: {row['risk'] or 'nothing'}"
        first = pod.explain.verdict
        if row["risk"] == "no node fits" and not re.search(NONE_FITS, first):
            yield f"report: {pod.id}: no node fits; explain: {first}"
        if row["risk"] != "no node fits" and re.search(rf"Pending[^:]*: (?:{NONE_FITS})", first):
            yield f"report: {pod.id} {row['risk'] or 'is well'}; explain: {first}"
        if not row["risk"] and pod.explain.severity == "trouble":
            yield f"report: nothing is wrong with {pod.id}; explain: {first}"
        # A running pod may use more than it requests.
        if row["risk"] not in {"", "over memory request"} and pod.explain.severity == "fine":
            yield f"report: {pod.id} {row['risk']}; explain is fine: {first}"


_FINDINGS: Final = ("no node fits", "failed", "should have ended", "OOMKilled", "not Ready")


def counts_are_those_of_pods(answers: ClusterStated, truths: Truths) -> Iterator[str]:
    """The page's counts match its pods and nodes, and add up."""
    risks = Counter(row["risk"] for row in _rows(answers).values())
    for risk in _FINDINGS:
        found = re.search(rf">(\d+) pods?: {risk}\.<", answers.page)
        if (int(found[1]) if found else 0) != risks[risk]:
            yield f"report: {found and found[0]}, and {risks[risk]} pods: {risk}"
    nodes = answers.report["nodes"]
    for row, name in enumerate(nodes["name"]):
        own = [truth for truth in truths.values() if truth.node_name == name and not truth.finished]
        if nodes["pods"][row] != len(own):
            yield f"report: {name} has {nodes['pods'][row]} pods, and {len(own)} are there"
        for resource, unit in (("cpu", 1000), ("memory", 1)):
            _, guaranteed, burstable, best_effort, *_ = nodes[resource][row]
            asked = sum((truth.requested(resource) for truth in own), Fraction()) * unit
            if guaranteed + burstable + best_effort != asked:
                yield f"report: {name} promises {nodes[resource][row]} {resource}, and pods ask {asked}"


def node_tables_add_up(answers: ClusterStated, truths: Truths) -> Iterator[str]:
    """A node's sums match its pods in both commands; each answer has its own verdict at the top."""
    for name, entry in answers.nodes.items():
        own = [truth for truth in truths.values() if truth.node_name == name and not truth.finished]
        alone = {key: value for key, value in answers.promised[name].items() if key != "verdict"}
        if entry["promised"] != {**alone, "source": entry["promised"]["source"]}:
            differing = [key for key, value in alone.items() if entry["promised"].get(key) != value]
            if differing != ["unread"]:
                yield f"node and explain node {name} differ in {differing}"
        promised = answers.promised[name]
        if promised["pods"] != len(own) or sum(promised["podsByClass"].values()) != len(own):
            yield f"{name} has {promised['pods']}, {promised['podsByClass']}, and {len(own)} are there"
        if {one: count for one, count in promised["podsByClass"].items() if count} != Counter(t.qos for t in own):
            yield f"{name} has {promised['podsByClass']}, and {Counter(t.qos for t in own)} are there"
        for resource in promised["resources"]:
            if resource["name"] not in {"cpu", "memory"}:
                continue
            asked = sum((truth.requested(resource["name"]) for truth in own), Fraction())
            by_class = sum(map(amount, resource["requestedByClass"].values()), Fraction())
            if not amount(resource["requested"]) == by_class == asked:
                yield f"{name} promises {resource}, and pods ask {asked}"
            if amount(resource["allocatable"]) - asked != amount(resource["free"]):
                yield f"{name}: {resource['free']} free of {resource['allocatable']}, and pods ask {asked}"


def orders_are_one(answers: ClusterStated, truths: Truths) -> Iterator[str]:
    """The kernel's order on a node is the same for the node, each pod of it, and the page."""
    rows = _rows(answers)
    for name, entry in answers.nodes.items():
        places = [place for order in entry["oom"] if order["scope"] == "Global" for place in order["places"]]
        first: dict[tuple[str, str], Mapping[str, Any]] = {}
        for place in places:
            if place["pod"]:
                first.setdefault((place["namespace"], place["pod"]), place)
            if not -999 <= place["oomScoreAdj"] <= 1000:
                yield f"node {name}: {place['container']} has {place['oomScoreAdj']}"
            if place["pod"] and place["container"] not in truths[place["namespace"], place["pod"]].running:
                yield f"node {name} ranks {place['pod']} {place['container']}, which has no running process"
        for pod in answers.pods:
            truth = truths[pod.key]
            if truth.node_name == name and not truth.finished:
                yield from _other_place(pod, rows[pod.key], first.get(pod.key), len(places))
        if {truth.system for truth in truths.values() if truth.node_name == name} - {"linux"} and places:
            yield f"node {name} has an order of the kernel, and runs no Linux of ours"


def _other_place(pod: PodStated, row: Mapping[str, Any], place: Mapping[str, Any] | None, count: int) -> Iterator[str]:
    standings = [one for under in pod.explained["pressure"] for one in under["oom"] if one["scope"] == "Global"]
    ours = place and (place["rank"], place["oomScoreAdj"], place["points"], place["container"], count)
    fields = ("rank", "oomScoreAdj", "points", "container")
    said = [(*(one["place"][field] for field in fields), one["of"]) for one in standings]
    if said != ([ours] if ours else []):
        yield f"{pod.id}: explain {said}, node {ours}"
    if (row["killed"], row["adj"], row["points"]) != (ours[:3] if ours else (None, None, None)):
        yield f"{pod.id}: report {row['killed'], row['adj'], row['points']}, node {ours}"
    scores = {one["container"]: one["value"] for entry in pod.explained["oom"] for one in entry["containers"]}
    if place and scores.get(place["container"]) != place["oomScoreAdj"]:
        yield f"{pod.id}: explain's score {scores}, node {ours}"


def pages_of_pods_are_explanations(answers: ClusterStated, _: Truths) -> Iterator[str]:
    """A pod's part of the page begins as its explanation does."""
    for row, pod in enumerate(answers.pods):
        start = answers.page.find(f'id="pod-{row}"')
        part = answers.page[start : answers.page.find("</template>", start)] if start >= 0 else ""
        found = re.search(r'class="sign (\w+)">[^<]*</span> <strong>(.*?)</strong>', part, re.DOTALL)
        if found is None:
            yield f"{pod.id} is not explained in the page"
            continue
        shown = re.sub(r"&#?\w+;|[&<>\"']", "", found[2]).split()
        first = re.sub(r"[&<>\"']", "", pod.explain.verdict).split()
        if found[1] != pod.explain.severity or first[: len(shown)] != shown:
            yield f"{pod.id}: {found[1]} {' '.join(shown)}; explain: {pod.explain.severity} {' '.join(first[:20])}"


def lint_says_what_explain_says(answers: ClusterStated, truths: Truths) -> Iterator[str]:
    """Findings name pods with BestEffort (not on Windows), no grace or no owner, and rollouts with a second writer."""
    found: dict[tuple[str, str], set[str]] = {}
    for entry in answers.lint["findings"]:
        if entry["object"]["kind"] == "Pod":
            found.setdefault((entry["object"]["namespace"], entry["object"]["name"]), set()).add(entry["rule"])
    for pod in answers.pods:
        truth, rules = truths[pod.key], found.get(pod.key, set())
        for rule, holds in (
            ("best-effort", pod.explained["qos"]["qosClass"] == "BestEffort" and "os" not in truth.spec),
            ("grace-zero", truth.spec["terminationGracePeriodSeconds"] == 0),
            ("bare-pod", pod.explained["owner"]["guarantee"] == "NotReplaced"),
        ):
            if (rule in rules) is not holds:
                yield f"{pod.id}: lint {'has' if rule in rules else 'lacks'} {rule}, explain {holds}"
    warned = {
        (entry["object"]["namespace"], entry["object"]["name"])
        for entry in answers.lint["findings"]
        if entry["rule"] == "two-writers"
    }
    for deployment in answers.cluster.of("Deployment"):
        template = deployment["spec"]["template"]
        made = Truth(answers.cluster, {**template, "metadata": deployment["metadata"], "status": {"phase": "Pending"}})
        # No rollout opens a volume that controllers, the node's own disk or an unknown driver keep apart.
        expected = made.source == "nfs" and not made.is_shared
        if (key_of(deployment) in warned) is not expected:
            yield f"lint: deployment {key_of(deployment)} on {made.source}, {expected}"


def commands_can_be_run(answers: ClusterStated, truths: Truths) -> Iterator[str]:
    """Each suggested command can be parsed, keeps the source of objects, and names an object that exists."""
    texts: dict[str, Said | str] = {name: said for name, said in answers.words.items() if name != "lint"}
    for pod in answers.pods:
        texts |= {f"{pod.id} explain": pod.explain, f"{pod.id} timeline": pod.timeline, f"{pod.id} delete": pod.delete}
        # No API server sends such names to a webhook.
        texts[f"{pod.id} webhook"] = "" if HOSTILE in pod.key[1] else "\n".join(pod.webhook)
    any_truth = next(iter(truths.values()))
    for name, text in texts.items():
        keeps = "" if isinstance(text, str) else answers.file
        for command in _commands(text if isinstance(text, str) else text.out):
            yield from (f"{name}: {command}: {wrong}" for wrong in _wrong(command, keeps, any_truth))


_COMMAND: Final = re.compile(r"kubectl (?:qos )?[a-z].*?(?=$| {3}#|   ·|;|\))", re.MULTILINE)


def _commands(text: str) -> Sequence[str]:
    return [found.strip() for found in _COMMAND.findall(text) if re.match(r"kubectl (qos )?[a-z]+ [a-z/-]", found)]


def _wrong(command: str, file: str, truth: Truth) -> Iterator[str]:
    words = command.split()
    if words[1] != "qos":
        return
    if file and f"--snapshot={file}" not in words and words[2] != "why":
        yield "it forgets the snapshot"
    namespace = words[words.index("-n") + 1] if "-n" in words else "default"
    for word in words[3:]:
        kind, slash, name = word.partition("/")
        kinds = {"pod": "Pod", "node": "Node", "deployment": "Deployment"}
        kinds |= {"statefulset": "StatefulSet", "daemonset": "DaemonSet", "job": "Job"}
        if words[2:4] == ["died", f"node/{name}"] and truth.is_named_by_pod(name):
            # It reads the pods of a node that is gone, too.
            continue
        if slash and kind in kinds and not truth.exists(kinds[kind], name, "" if kind == "node" else namespace):
            yield f"there is no {word} in {namespace}"
    if problem := _parsed(tuple(_shape(words))):
        yield problem


def _shape(words: Sequence[str]) -> Iterator[str]:
    """The words with names left out, so that few command lines are parsed."""
    for word in words[2:]:
        kind, slash, name = word.partition("/")
        yield f"{kind}/name" if slash and name else re.sub(r"^node-\d+$|(?<==).*", "name", word)


@cache
def _parsed(words: tuple[str, ...]) -> str:
    from kubectl_plugin.parsing import parse

    try:
        parse(words)
    except SystemExit as stop:
        return f"the plugin ends with {stop.code}"
    return ""
