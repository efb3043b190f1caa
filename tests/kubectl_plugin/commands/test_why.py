"""``kubectl qos why``: terms and texts of Kubernetes."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator
from enum import Enum
from pathlib import Path
from typing import Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cluster_io.demo import demo_objects
from kubectl_plugin.glossary.catalogue import CATALOGUE, CODES, Entry
from kubectl_plugin.glossary.lookup import MAX_INPUT, MAX_TEXT, find, read, similar
from kubectl_plugin.reports.pod.pod_risk import PodRisk
from kubectl_plugin.reports.steps import StepOutcome
from kubectl_plugin.reports.verdict import VerdictCode
from kubectl_plugin.views.workload_words import NODE_DOWN, node_word
from podrules.api.model.pod import PodQOSClass
from podrules.ending.died.cause import Cause, Grade
from podrules.ending.pod_state import PodState
from podrules.node.eviction.thresholds import NodeCondition, Signal
from podrules.node.lost_node import ZoneState
from podrules.node.reachability import NodeReach, Reach
from podrules.pod.health import TroubleKind
from podrules.scheduling.placement.scheduler_condition import histogram
from podrules.silent_node.fencing import FenceState
from podrules.silent_node.partitions import Risk
from podrules.workload.budget_risk import BudgetRisk
from podrules.workload.safety import ForceSafety, Guarantee
from tests.golden import check
from tests.kubectl_plugin.answers import said
from tests.kubectl_plugin.running import run
from tests.recorded import MINORS, recorded
from tests.upstream import MODULES, upstream_source

TESTDATA = Path(__file__).resolve().parents[2] / "testdata"
DOCS = Path(__file__).resolve().parents[3] / "docs"
ENTRIES = [entry for entries in CATALOGUE.values() for entry in entries]
MESSAGE = next(
    condition["message"]
    for entry in demo_objects()
    if entry["kind"] == "Pod"
    for condition in entry.get("status", {}).get("conditions", [])
    if "topology spread" in condition.get("message", "")
)


def _texts(value: Any) -> Iterator[str]:
    """All texts in upstream's answers."""
    match value:
        case dict():
            for entry in value.values():
                yield from _texts(entry)
        case list():
            for entry in value:
                yield from _texts(entry)
        case str():
            yield value


def test_every_reason_that_upstream_gave_is_explained() -> None:
    cases = [case for name in ("schedule", "schedule_dra") for minor in MINORS for case in recorded(name, minor)]
    messages = {text for case in cases for text in _texts(case) if histogram(text)}
    assert len(messages) > 100
    for message in messages:
        counted = {found.text: found.nodes for found in find(message) if found.nodes is not None}
        for sentence in message.split("preemption: "):
            for reason in histogram(sentence):
                assert find(reason), reason
        # Each appears with its own number at its first mention.
        for reason, nodes in histogram(message).items():
            by_entry = find(reason)[0].entry.name
            first = next(text for text in counted if find(text)[0].entry.name == by_entry)
            assert first != reason or counted[reason] == nodes


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.name)
def test_entry_is_found_by_each_of_its_spellings(entry: Entry) -> None:
    for spelling in (entry.name, *entry.also, entry.name.upper(), f'  "{entry.name}"\n'):
        assert [found.entry for found in find(spelling)] == [entry]
    for name in entry.see:
        assert [found.entry.name for found in find(name)] == [name]


BACK_OFF: Final = "Back-off restarting failed container web"
NOT_READY: Final = "Readiness probe failed: timeout"
TERMS = {
    "ImagePullBackOff": ("image pull backoff", 'Back-off pulling image "x:1": not found'),
    "ContainerCreating": ("container creating",),
    "FailedCreate": ('Error creating: pods "web-" is forbidden: no service account',),
    "exceeded quota": (
        "exceeded quotas",
        'Error creating: pods "web-1" is forbidden: exceeded quota: small, requested: pods=1, used: pods=5, limited: 5',
    ),
    "critical pod": ("critical-pod",),
    "system-cluster-critical": ("system cluster critical",),
    "EvenPodsSpread": ("even pods spread",),
    "silent node": ("Silent", "node lost", "lost nodes", "Node n1 which was running pod web-0 is unresponsive"),
    "PodGC": ("podgc",),
    "VolumeAttachment": ("volume attachments", "volumeattachment"),
    "ExceededGracePeriod": ("Container web exceeded grace period",),
    "scheduler backoff": ("scheduler back-off",),
    "startupProbe": ("startupProbes", "Startup probe failed: HTTP probe failed"),
    "livenessProbe": ("liveness probes", "Liveness probe failed: connection refused"),
    "Unhealthy": (NOT_READY, f"61s   Warning   Unhealthy   pod/web-0   {NOT_READY}"),
    "FailedMount": ("Warning  FailedMount  3s  kubelet  an unknown text",),
    "OutOfmemory": ("Pod was rejected: Node didn't have enough resource: cpu, requested: 500, used: 1, capacity: 8",),
    "SIGTERM": ("sigterm",),
    "globalDefault": ("PriorityClass high is already marked as default. Only one default can exist",),
    "allocatable": ("Allocatable",),
    "scheduling queue": ("queues",),
    "score": ("scores",),
    "CrashLoopBackOff": (
        *("restarts", "crashloopbackoff", BACK_OFF, BACK_OFF.lower()),
        f"Warning  BackOff  3s (x5 over 61s)  kubelet  {BACK_OFF}",
    ),
    "etcd member": ("etcd members",),
    "kubelet restart": ("kubelet restarts",),
    "deleted Node": ("deleted nodes",),
    "storage-side fencing": ("storage side fencing",),
    "phase": ("phases",),
    "Killing": ("killing",),
    "PodDisruptionBudget": ("pod disruption budgets",),
    "Evicted": ("evictions", "The node was low on resource: memory. Threshold quantity: 100Mi"),
    "Windows": ("windows nodes",),
}
"""By entry: terms and texts as users type and paste them; ``terms.tsv`` and the glossary have more."""


def _column(heading: str, *words: str) -> set[str]:
    """The values of a column in a list of the demo."""
    head, *rows = run(*words, "--demo").out.split("\n\n")[1].splitlines()
    at = head.index(heading)
    return {re.split(" {2,}", row[at:])[0] for row in rows if not row.startswith(" ")}


_STATES: Final = sorted(
    {
        *_column("STATUS", "explain", "pods", "-A"),
        *_column("STATUS", "explain", "nodes"),
        *_column("STATE", "node"),
        *(node_word(NodeReach("n1", reach, "")).capitalize() for reach in Reach if reach.quiet),
        NODE_DOWN,
        *(condition.value for condition in NodeCondition),
        *("Evicting", "NotReady", "Unknown", "Ready,SchedulingDisabled"),
        *("Init:0/2", "Init:CrashLoopBackOff", "Init:ExitCode:1", "Init:Signal:9", "Signal:9", "Completed"),
    }
)


@pytest.mark.parametrize("word", _STATES)
def test_states_of_our_lists_are_terms(word: str) -> None:
    assert find(word), word


_CODES: Final = (
    *(BudgetRisk, Cause, FenceState, ForceSafety, Grade, Guarantee, NodeCondition, PodQOSClass, PodRisk, PodState),
    *(Reach, Risk, Signal, StepOutcome, TroubleKind, VerdictCode, ZoneState),
)
"""Enumerations with words that pages and docs show, or that scripts branch on."""


@pytest.mark.parametrize("codes", _CODES, ids=lambda codes: codes.__name__)
def test_each_code_and_state_has_an_entry(codes: type[Enum]) -> None:
    """Except for common words: why cannot know that kubectl qos is meant."""
    assert [code.value for code in codes if code.value not in {"Normal", "Nothing"} and not find(code.value)] == []


def test_codes_of_the_documents_have_an_entry() -> None:
    tables = [(DOCS / name).read_text(encoding="utf-8") for name in ("formats.md", "partitions.md")]
    codes = {code for table in tables for code in re.findall(r"^\| `?([A-Z][A-Za-z]+)`? \|", table, re.MULTILINE)}
    assert {"TwoWriters", "NodesOwn", "NodeGoing", "Interrupted"} <= codes
    assert [code for code in sorted(codes) if not find(code)] == []


def test_each_entry_of_our_codes_exists() -> None:
    assert [name for name in CODES if name not in {entry.name for entry in ENTRIES}] == []


def test_lists_of_the_demo_have_states() -> None:
    assert {"Running", "Pending", "Terminating", "CrashLoopBackOff", "Silent", "Cordoned", "Ready"} <= set(_STATES)


@pytest.mark.parametrize(("name", "asked"), [(name, asked) for name, texts in TERMS.items() for asked in texts])
def test_term_is_found_however_it_is_spelled(name: str, asked: str) -> None:
    assert [found.entry.name for found in find(asked)] == [name]


def test_terms_of_the_documents_are_known() -> None:
    rows = _rows("terms.tsv")
    asked = {term: name for name, *terms in rows for term in (name, *terms)}
    assert len(asked) == sum(map(len, rows)) > 450
    answers = {term: " + ".join(found.entry.name for found in find(term)) for term in asked}
    assert answers == asked


@pytest.mark.parametrize(
    ("module", "path", "constant"),
    [
        ("k8s.io/kubernetes", "pkg/scheduler/framework/plugins/names/names.go", r"\w+ += "),
        ("k8s.io/api", "core/v1/types.go", r"Pod(Condition|Reason)\w* (PodConditionType )?= "),
        ("k8s.io/api", "core/v1/types.go", r"\w+ (Pod|Node)ConditionType = "),
        ("k8s.io/api", "core/v1/types.go", r"\w+ PodPhase = "),
        ("k8s.io/api", "core/v1/types.go", r"PersistentVolumeReclaim(Recycle|Retain) \w+ = "),
        ("k8s.io/api", "core/v1/well_known_taints.go", r"\w+ = "),
        ("k8s.io/kube-scheduler", "config/v1/types_pluginargs.go", r"(Least|Most)Allocated ScoringStrategyType = "),
    ],
)
def test_names_of_upstream_are_known(module: str, path: str, constant: str) -> None:
    written = (upstream_source(module) / path).read_text(encoding="utf-8")
    names = [found["name"] for found in re.finditer(rf'^\t{constant}"(?P<name>[^"]+)"', written, re.MULTILINE)]
    assert len(names) > 1
    assert [name for name in names if not find(name)] == []


def _rows(name: str) -> list[list[str]]:
    lines = (TESTDATA / "why" / name).read_text(encoding="utf-8").splitlines()
    return [line.split("\t") for line in lines if not line.startswith("#")]


def test_texts_of_each_component_are_known() -> None:
    texts = _rows("texts.tsv")
    assert len(texts) > 100
    for names, _, text in texts:
        pasted = re.sub(r"[{}]", "", text)
        assert (pasted, " + ".join(found.entry.name for found in find(pasted))) == (pasted, names)


def test_texts_come_from_kubernetes() -> None:
    for _, source, text in _rows("texts.tsv"):
        if source == "-":
            continue
        module, _, path = source.rpartition(" ")
        written = (upstream_source(module or "k8s.io/kubernetes") / path).read_text(encoding="utf-8")
        for literal in re.split(r"\{.*?\}", text):
            assert literal.strip(" .,:") in written, (source, literal)


def test_events_that_describe_lists_are_read_line_by_line() -> None:
    events = """Events:
  Type     Reason     Age               From               Message
  ----     ------     ----              ----               -------
  Normal   Scheduled  2m                default-scheduler  Successfully assigned shop/web-0 to node-a1
  Warning  Unhealthy  1m (x3 over 2m)   kubelet            Readiness probe failed: timeout
  Normal   Started    1m                kubelet            Container started
  Warning  BackOff    3s (x5 over 61s)  kubelet            Back-off restarting failed container web
"""
    assert [found.entry.name for found in find(events)] == ["Unhealthy", "CrashLoopBackOff", "Pulled"]


@pytest.mark.parametrize(
    ("asked", "near"), [("the flux capacitor of the volume is empty", ".*volume"), ("maxskw", r"maxSkew\b")]
)
def test_unknown_text_is_called_unknown(asked: str, near: str) -> None:
    ran = run("why", asked)
    assert (ran.code, ran.out) == (3, "")
    first, nearest, where = ran.err.splitlines()
    assert first == f'error: unknown text: "{asked}"'
    assert re.match(f"nearest terms: {near}", nearest)
    assert where == "all terms: kubectl qos why; what a pod waits for: kubectl qos explain pod/NAME"


def _page(asked: str) -> str:
    return said("why", "--", asked)


PAGES: Final = {
    "misread before": {
        "every pod with a priority of 2000000000 or more": "Evicted",
        "any stop writes this event": "Killing",
        "Preemption prefers other victims, and breaks a budget only if nothing else makes room": "PDB",
        "breaks a budget only if nothing else is enough": "preemption",
        "Victims keep their own grace period, and the pod waits for them: a shorter one makes": "preemption",
        "a pod that does not fit does not block the pods after it": "queue",
        "no field of a pod does": "oom_score_adj",
        "remove the member first": "etcd member",
        "A stop in progress starts again": "kubelet restart",
        "its kubelet recreates the object at its next start": "deleted Node",
        "the last two are final": "phase",
        "memory.available<500Mi": "Windows",
    },
    "older texts": {
        "Older texts say -998 for Guaranteed: kubelets before 1.20 set that; today it is -997.": "-998",
        "Older texts: until 1.21 all critical pods got the value of Guaranteed": "critical pod",
        "Older texts say 0 s, true before 1.22": "hard eviction grace",
        "Older texts say NodeLost: until 1.26": "NodeLost",
        "Older texts say PetSet: alpha in 1.3 and 1.4, renamed in 1.5.": "PetSet",
        "Older texts configure a Policy of predicates and priorities: it was removed in 1.23.": "scheduler policy",
        "Older texts mention pod-eviction-timeout (removed in 1.27)": "pod-eviction-timeout",
        "Older texts say that pods never swap.": "UnlimitedSwap",
    },
    "the cost of an advice": {
        "reverts the whole template": "ProgressDeadlineExceeded",
        "else it is Burstable (in place: refused)": "CPU throttling",
        "set Retain on the volume first": "PVC is being deleted",
        "which is empty then": "ClaimLost",
        "gives its data to the next claim": "ClaimMisbound",
        "it checks no budget": "--disable-eviction",
        "lets starting pods be evicted": "AlwaysAllow",
        "An eviction checks its budget, a delete does not.": "cross-node preemption",
        "a new one starts from zero": "BackoffLimitExceeded",
        "its emptyDir is lost": "immutable",
        "would relax it for all its pods": "violates PodSecurity",
    },
}
"""By text of its page: a term."""


@pytest.mark.parametrize(("has", "asked"), [row for rows in PAGES.values() for row in rows.items()])
def test_page_of_a_term_has_a_text(has: str, asked: str) -> None:
    assert has in _page(asked)


UPSTREAM: Final = """
pkg/kubelet/qos/policy.go
  guaranteedOOMScoreAdj int = -997
= -997: -997: Guaranteed
pkg/kubelet/qos/policy.go
  KubeProxyOOMScoreAdj int = -999
= kube-proxy: oom_score_adj to -999
pkg/kubelet/eviction/eviction_manager.go
  immediateEvictionGracePeriodSeconds = 1
= hard eviction: 1 s of grace
pkg/kubelet/kuberuntime/kuberuntime_manager.go
  minimumGracePeriodInSeconds = 2
= minimumGracePeriodInSeconds: at least 2 s
pkg/kubelet/kubelet.go
  nodeLeaseRenewIntervalFraction = 0.25
= Lease: a quarter of 40 s
pkg/scheduler/schedule_one.go
  minFeasibleNodesToFind = 100
= node sampling: at least 100 nodes
pkg/scheduler/util/pod_resources.go
  200 * 1024 * 1024
= MostAllocated: 100m and 200Mi
pkg/controller/volume/attachdetach/attach_detach_controller.go
  ReconcilerMaxWaitForUnmountDuration: 6 * time.Minute
= force detach: forced after 6 minutes
pkg/controller/podgc/gc_controller.go
  quarantineTime = 40 * time.Second
= deleted Node: missing for 40 s
pkg/scheduler/apis/config/v1/default_plugins.go
  names.DynamicResources, Weight: ptr.To[int32](2)
= score: PodTopologySpread, DynamicResources and both affinities 2
pkg/kubelet/apis/config/v1beta1/defaults.go
  obj.PodPidsLimit = ptr.To[int64](-1)
= podPidsLimit: by default none
plugin/pkg/admission/podtolerationrestriction/admission.go
  if qoshelper.GetPodQOS(pod) != api.PodQOSBestEffort {
= MemoryPressure: Only with PodTolerationRestriction (off by default) do all but BestEffort pods tolerate
  memory-pressure
pkg/features/kube_features.go
  InPlacePodVerticalScalingInitContainers: { {Version: version.MustParse("1.36"), Default: true
= resize is refused: init containers since 1.36
pkg/features/kube_features.go
  ContainerRestartRules: { {Version: version.MustParse("1.34"), Default: false, PreRelease: featuregate.Alpha},
  {Version: version.MustParse("1.35"), Default: true
= restartPolicy: since 1.35
pkg/features/kube_features.go
  NominatedNodeNameForExpectation: { {Version: version.MustParse("1.34"), Default: false, PreRelease:
  featuregate.Alpha}, {Version: version.MustParse("1.35"), Default: true
= nominatedNodeName: Since 1.35
pkg/apis/core/validation/validation.go
  (allow it to be set to 1 if it was previously negative)
= immutable: a negative grace (to 1)
pkg/quota/v1/evaluator/core/pods.go
  count/pods tracks all pods independent of state
= quota: count only for count/pods
pkg/controller/util/node/controller_utils.go
  "NodeNotReady", "Node is not ready"
= Node is not ready: False or Unknown alike
pkg/kubelet/nodestatus/setters.go
  recordEventFunc(logger, v1.EventTypeNormal, events.NodeNotReady)
= NodeNotReady: its kubelet reports that (False)
"""
"""By file of Kubernetes: what stands in it, a term, and a text of its page."""


@pytest.mark.parametrize(
    ("source", "written", "asked", "has"),
    re.findall(r"^(\w.*)\n((?:  .*\n)+)= (.*?): (.*(?:\n  .*)?)$", UPSTREAM, re.MULTILINE),
)
def test_numbers_of_entries_are_upstreams(source: str, written: str, asked: str, has: str) -> None:
    text, line = (" ".join(one.split()) for one in ((upstream_source() / source).read_text(encoding="utf-8"), written))
    assert re.search(rf"{re.escape(line)}(?!\w)", text)
    assert " ".join(has.split()) in _page(asked)


def test_budgets_and_preemption_do_not_contradict_each_other() -> None:
    pages = {asked: _page(asked) for asked in ("PDB", "eviction API", "preemption")}
    assert not any("Preemption, node pressure and NoExecute" in page for page in pages.values())
    assert "A PDB or the QoS class does not protect" not in pages["preemption"]


def test_no_entry_fences_a_node_that_may_answer() -> None:
    assert "fence" not in "".join(map(_page, ("NodeNotReady", "NotReady", "Unknown", "exit code 255")))


FOUND: Final[dict[str, str]] = json.loads((TESTDATA / "why" / "found.json").read_text(encoding="utf-8"))
"""By text: its entries. Each had another entry, or none."""


@pytest.mark.parametrize(("asked", "names"), FOUND.items())
def test_text_has_the_entry_that_explains_it(asked: str, names: str) -> None:
    assert " + ".join(found.entry.name for found in find(asked)) == names


PARTS: Final = """
0/2 nodes are available: pod has unbound immediate PersistentVolumeClaims. preemption: 0/2 nodes are available: 2
Preemption is not helpful for scheduling.
    - pod has unbound immediate PersistentVolumeClaims
    2 Preemption is not helpful for scheduling
0/7 nodes are available: persistentvolumeclaim "db" not found. preemption: 0/7 nodes are available: 7 Preemption is not
helpful for scheduling.
    - persistentvolumeclaim "db" not found
    7 Preemption is not helpful for scheduling
0/4 nodes are available: 1 Insufficient cpu, 3 node(s) had flux, 4 node(s) were unschedulable. no new claims to
deallocate, preemption: not eligible due to preemptionPolicy=Never.
    4 node(s) were unschedulable
    1 Insufficient cpu
    - no new claims to deallocate
    - not eligible due to preemptionPolicy=Never
    ? node(s) had flux
pod didn't trigger scale-up (it wouldn't fit if a new node is added): 1 max node group size reached, 2 node(s) had
untolerated taint {gpu: true}, 1 node(s) had flux
    - pod didn't trigger scale-up (it wouldn't fit if a new node is added)
    - node(s) had untolerated taint {gpu: true}
    ? node(s) had flux
Warning  FailedMount  3s  kubelet  the flux is gone
    - FailedMount
    ? the flux is gone
FailedCreatePodSandBox: the flux is gone
    - FailedCreatePodSandBox
    ? the flux is gone
Init:0/2
    - Init:0/2
running Bind plugin "DefaultBinder": the flux is gone
    - running Bind plugin "DefaultBinder": the flux is gone
    ? the flux is gone
"""
"""Messages with their explained parts, each after its number of nodes, and with those that no entry explains."""


@pytest.mark.parametrize(("message", "parts"), re.findall(r"((?:^\S.*\n)+)((?:    .*\n)+)", PARTS, re.MULTILINE))
def test_all_parts_of_a_message_are_explained_or_named(message: str, parts: str) -> None:
    asked = message.strip().replace("\n", " ")
    by_sign = [part.strip().split(" ", 1) for part in parts.splitlines()]
    unknown = [part for sign, part in by_sign if sign == "?"]
    found = read(asked)
    explained = [[str(one.nodes or "-"), one.text] for one in found.found]
    assert explained == [part for part in by_sign if part[0] != "?"]
    assert list(found.unknown) == unknown
    ran = run("why", asked)
    assert ran.code == 0
    assert [part for part in unknown if f'No entry explains "{part}".' not in ran.out] == []
    assert ("Not recognised" in ran.out) == bool(unknown)


@pytest.mark.parametrize(
    "text", ['{"a":' * 1600, '{"a":' * 900 + "1" + "}" * 900, "[" * 8000 + "]" * 8000, '{"exitCode":1e999}']
)
def test_json_without_content_is_unknown(text: str) -> None:
    assert not find(text)


def test_long_text_is_read_quickly() -> None:
    long = ("spec.a[0]: Forbidden: ", 'pods "a" is forbidden: ', 'Normal A a/b c d 1 1 a."', "3 Insufficient ")
    for part in (*long, 'admission webhook "', "a: ", "x, ", '"', "[", "error: ", ' err="', "what is "):
        started = time.process_time()
        read(part * MAX_TEXT)
        assert time.process_time() - started < 5, part


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.name)
def test_next_commands_of_an_entry_change_nothing(entry: Entry) -> None:
    reads = ("get", "describe", "explain", "logs", "top", "auth can-i", "api-resources", "rollout history", "qos")
    assert [one for one in entry.commands if not one.removeprefix("kubectl ").startswith(reads)] == []


def test_sources_of_entries_exist() -> None:
    named = {source for entry in ENTRIES for source in entry.source if not re.match(r"KEP-\d+$|linux mm/", source)}

    def exists(source: str) -> bool:
        module = next((module for module in MODULES if source.startswith(f"{module}/")), "k8s.io/kubernetes")
        return (upstream_source(module) / source.removeprefix(f"{module}/")).is_file()

    assert not [source for source in named if not exists(source)]


@pytest.mark.parametrize(("name", "asked"), [("message", MESSAGE), ("term", "oomkilled")])
def test_page_of_why(name: str, asked: str) -> None:
    ran = run("why", asked)
    assert (ran.code, ran.err) == (0, "")
    check(TESTDATA / "golden" / f"why-{name}.txt", ran.out)


def test_list_of_terms_and_standard_input() -> None:
    listed = said("why")
    assert [entry.name for entry in ENTRIES if entry.name not in listed] == []
    assert run("why", "-", stdin=f"{MESSAGE}\n").out == run("why", MESSAGE).out


@pytest.mark.parametrize("words", [("-",), ("",), (" ",)])
def test_empty_text_is_refused(words: tuple[str, ...]) -> None:
    ran = run("why", *words, stdin="\n")
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.splitlines() == [
        "error: standard input: no text in it" if words == ("-",) else "error: the term is empty",
        "Name a term or paste a message; all terms: kubectl qos why",
    ]


def test_terms_in_a_row_are_each_explained() -> None:
    assert [found.entry.name for found in find("OOMKilled exit 137")] == ["OOMKilled", "exit code 137"]
    assert [found.entry.name for found in find("0/0 nodes are available")] == ["FailedScheduling"]
    assert not find("OOMKilled by the flux capacitor")


def test_nearest_terms_are_similar() -> None:
    assert [similar(typed)[0] for typed in ("ErrImagePul", "OOMKiled")] == ["ErrImagePull", "OOMKilled"]
    assert similar("does preemption respect PDB")[:2] == ("preemption", "PDB")
    assert "cgroup" not in similar("pod"), "it is only inside of the word"


def test_json_contains_each_part() -> None:
    report = json.loads(run("why", "-o", "json", MESSAGE).out)
    assert report["kind"] == "TermExplanation"
    assert {part["text"]: part["nodes"] for part in report["explained"]}["Insufficient memory"] == 2


@pytest.mark.parametrize("typed", ["foo", "xyzzy"])
def test_unsimilar_term_shows_example_terms(typed: str) -> None:
    ran = run("why", typed)
    error, examples, _ = ran.err.splitlines()
    assert (ran.code, ran.out, error) == (3, "", f'error: unknown text: "{typed}"')
    named = re.split(", | and ", examples.removeprefix("terms are, for example, "))
    assert len(named) == 5
    assert [name for name in named if not find(name)] == []


@given(st.text(max_size=300))
def test_any_text_is_answered(text: str) -> None:
    for found in find(text):
        assert found.entry in ENTRIES
    assert all(find(name) for name in similar(text))
    ran = run("why", "--", text)
    assert ran.code in ({0, 3} if text.strip() and text != "-" else {2})
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]", ran.out + ran.err)


@pytest.mark.parametrize("lines", [300, 3000])
def test_end_of_a_long_list_of_events_is_read(lines: int) -> None:
    restarts = "2m   Warning   BackOff   pod/web-{}   Back-off restarting failed container app in pod web-{}_shop(11)\n"
    text = "".join(restarts.format(at, at) for at in range(lines))
    ran = run("why", "-", stdin=f'{text}1m  Warning  FailedMount  pod/a  secret "tls" not found\n')
    assert {"CreateContainerConfigError", "CrashLoopBackOff"} <= set(ran.out.splitlines())
    assert "Not recognised" not in ran.out
    assert ran.err == ("" if len(text) < MAX_INPUT else "only the last 131072 characters of standard input are read\n")


def test_truncation_of_a_line_is_shown() -> None:
    ran = run("why", "-", stdin=f"{MESSAGE} {'x' * 2 * MAX_INPUT}")
    assert (ran.code, ran.err) == (0, "only the first 8192 characters of a line are read\n")


def test_node_in_a_list_has_each_of_its_states() -> None:
    states = [*find("NotReady"), *find("SchedulingDisabled")]
    asked = find("wk-3   NotReady,SchedulingDisabled   <none>   40d   v1.37.1")
    assert [found.entry for found in asked] == [found.entry for found in states]


def test_custom_resource_fields_are_not_states() -> None:
    described = (
        "Name:  tls\nAPI Version:  example.com/v1\nKind:  Certificate\nStatus:\n  Reason:  Failed\n  Status:  Unknown\n"
    )
    events = "Events:\n  Warning  Failed  2m  issuer  The order was not completed\n"
    assert find(described) == find(described + events) == ()


def test_yaml_event_with_unknown_message_is_unknown() -> None:
    event = "kind: Event\nmessage: {}\nreason: Evicted\nsource:\n  component: karpenter\ntype: Normal\n"
    assert find(event.format("Evicted pod")) == ()
    assert [found.entry.name for found in find(event.format("'Stopping container web'"))] == ["Killing"]


def test_many_unrecognised_parts_are_counted() -> None:
    lines = "".join(f"Warning  BackOff  2m  kubelet  flux {at} is gone\n" for at in range(14))
    ran = run("why", "-", stdin=lines)
    assert ran.out.count("No entry explains") == 10
    assert "4 more parts: -o json has them." in ran.out
