"""A scheduler's configuration is accepted or refused as kube-scheduler itself does, with the field and its remedy."""

from __future__ import annotations

import copy
import functools
import json
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

import pytest
import yaml

from cluster_io.errors import ManifestError
from cluster_io.in_memory import MemorySource
from cluster_io.scheduler_config import read_scheduler_configuration
from tests.controlplane.fixtures import require_binaries
from tests.tree import ROOT

HEAD: Final = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
FIELD: Final = ROOT / "tests/testdata/cases/field"
FULL: Final[Any] = yaml.safe_load((ROOT / "tests/testdata/scheduler_config/full.yaml").read_text())
ELSEWHERE: Final = ("profiles", 0, "pluginConfig", 8, "args")
"""The arguments of another project's plugin, which are not decoded."""
ONCE_MORE: Final = "onceMore"
"""Represents a repeated key; no loader returns such a mapping."""


class File(NamedTuple):
    name: str
    text: str
    fields: tuple[str, ...] = ()
    """The words that our error has to contain."""


def with_args(plugin: str, args: str) -> str:
    return f"{HEAD}profiles:\n- pluginConfig:\n  - name: {plugin}\n    args: {args}\n"


def with_fit(args: str) -> str:
    return with_args("NodeResourcesFit", args)


WRITTEN: Final = (
    File("head alone", HEAD),
    File("sc-old", (FIELD / "sc-old.yaml").read_text(), ("v1alpha1", "algorithmSource", "disablePreemption")),
    File("sc-old1", (FIELD / "sc-old1.yaml").read_text(), ("algorithmSource", "disablePreemption")),
    File("sc-top", (FIELD / "sc-top.yaml").read_text(), ("percentageOfNodeToScore", "profile")),
    File("v1alpha2", HEAD.replace("/v1", "/v1alpha2"), ("kubescheduler.config.k8s.io/v1alpha2",)),
    File("v1beta1", HEAD.replace("/v1", "/v1beta1"), ("kubescheduler.config.k8s.io/v1beta1",)),
    File("v1beta2", HEAD.replace("/v1", "/v1beta2"), ("kubescheduler.config.k8s.io/v1beta2",)),
    File("v1beta3", HEAD.replace("/v1", "/v1beta3"), ("kubescheduler.config.k8s.io/v1beta3",)),
    File("another group", HEAD.replace("kubescheduler.config", "kubelet.config"), ("kubelet.config.k8s.io/v1",)),
    File("a kind in lower case", HEAD.replace("KubeS", "kubeS"), ("KubeSchedulerConfiguration",)),
    File("an unknown field of null", f"{HEAD}disablePreemption: null\n", ("disablePreemption",)),
    File("a removed extension point", f"{HEAD}profiles: [{{plugins: {{unreserve: {{}}}}}}]\n", ("plugins.unreserve",)),
    File("a lock's old name", f"{HEAD}leaderElection: {{lockObjectName: x}}\n", ("leaderElection.lockObjectName",)),
    File("plugins without a profile", f"{HEAD}plugins: {{}}\n", ("plugins",)),
    File("lists of null", f"{HEAD}profiles: null\nextenders: null\n"),
    File("mappings of null", f"{HEAD}leaderElection: null\nclientConnection: null\n"),
    File("a duration of null", f"{HEAD}leaderElection: {{leaseDuration: null}}\n", ("leaseDuration",)),
    File("a duration without a unit", f"{HEAD}leaderElection: {{leaseDuration: 15}}\n", ("leaseDuration",)),
    File("a number of two dots", f"{HEAD}leaderElection: {{leaseDuration: 1.5.0s}}\n", ("leaseDuration",)),
    File("a duration of parts", f"{HEAD}leaderElection: {{leaseDuration: 1m20.5s}}\n"),
    File("a whole float", f"{HEAD}parallelism: 4.0\n"),
    File("a broken float", f"{HEAD}parallelism: 4.5\n", ("parallelism",)),
    File("a number in quotes", f'{HEAD}parallelism: "4"\n', ("parallelism",)),
    File("yes is a boolean", f"{HEAD}enableProfiling: yes\n"),
    File("a boolean in quotes", f'{HEAD}enableProfiling: "true"\n', ("enableProfiling",)),
    File("beyond int32", f"{HEAD}parallelism: 2147483648\n", ("parallelism",)),
    File("beyond int64", f"{HEAD}podMaxBackoffSeconds: 9223372036854775808\n", ("podMaxBackoffSeconds",)),
    File("bytes that are not base64", f"{HEAD}extenders: [{{tlsConfig: {{caData: '*'}}}}]\n", ("tlsConfig.caData",)),
    File("a field in the wrong place", f"{HEAD}profiles: [{{parallelism: 3}}]\n", ("profiles[0].parallelism",)),
    File("two profiles", f"{HEAD}profiles: [{{schedulerName: a}}, {{schedulerName: b}}]\n"),
    File("args of null", with_args("InterPodAffinity", "null")),
    File("args that are empty", with_args("InterPodAffinity", "{}")),
    File("args, a list", with_args("InterPodAffinity", "[]"), ("pluginConfig[0].args",)),
    File("args, a text", with_args("InterPodAffinity", "a"), ("pluginConfig[0].args",)),
    File("args of another kind", with_args("InterPodAffinity", "{kind: NodeAffinityArgs}"), ("NodeAffinityArgs",)),
    File(
        "args of an old version",
        with_args("InterPodAffinity", "{apiVersion: kubescheduler.config.k8s.io/v1beta3, kind: InterPodAffinityArgs}"),
        ("v1beta3",),
    ),
    File("args with an empty kind", with_args("InterPodAffinity", '{kind: ""}')),
    File("args with a number for a kind", with_args("InterPodAffinity", "{kind: 5}"), ("args.kind",)),
    File("args of another project's plugin, a list", with_args("Coscheduling", "[1, {a: b}]")),
    File("args of another project's plugin, null", with_args("Coscheduling", "null")),
    File("args of another project's kind", with_args("Coscheduling", "{kind: X, apiVersion: x/v9}")),
    File("an anchor", f"{HEAD}profiles: [&a {{schedulerName: a}}]\n"),
    File("a merge key", f"{HEAD}profiles:\n- &a {{percentageOfNodesToScore: 5}}\n- <<: *a\n", ("schedulerName",)),
    File("a second document", f"{HEAD}---\napiVersion: v1\nkind: Pod\nspecs: 1\n"),
    File("a key that is a number", f"{HEAD}1: 2\n", ('"1"',)),
)

SHAPE: Final = "scoringStrategy: {type: RequestedToCapacityRatio, requestedToCapacityRatio: {shape: "
VALUES: Final = (
    File("no workers", f"{HEAD}parallelism: 0\n", ("parallelism",)),
    File("no backoff", f"{HEAD}podInitialBackoffSeconds: 0\n", ("podInitialBackoffSeconds",)),
    File("more backoff than the usual most", f"{HEAD}podInitialBackoffSeconds: 20\n", ("podMaxBackoffSeconds",)),
    File("a lock of old", f"{HEAD}leaderElection: {{resourceLock: endpointsleases}}\n", ("resourceLock", "leases")),
    File("a lock that is not used", f"{HEAD}leaderElection: {{leaderElect: false, resourceLock: configmaps}}\n"),
    File("an extender without a weight", f"{HEAD}extenders: [{{prioritizeVerb: x}}]\n", ("extenders[0]", "weight")),
    File("an extender that scores nothing", f"{HEAD}extenders: [{{filterVerb: x}}]\n"),
    File("more than all nodes", f"{HEAD}profiles: [{{percentageOfNodesToScore: 101}}]\n", ("profiles[0].percentage",)),
    File("a large weight", with_args("InterPodAffinity", "{hardPodAffinityWeight: 101}"), ("hardPodAffinityWeight",)),
    File("a weight of 0", with_args("InterPodAffinity", "{hardPodAffinityWeight: 0}")),
    File("a strategy of no type", with_fit("{scoringStrategy: {}}"), ("scoringStrategy",)),
    File("a strategy", with_fit("{scoringStrategy: {type: Most}}"), ("MostAllocated",)),
    File("a hostile one", with_fit('{scoringStrategy: {type: "a - at `$.b`"}}'), ("MostAlloc",)),
    File("a strategy without its shape", with_fit(f"{{{SHAPE}[]}}}}}}"), ("shape",)),
    File("a shape that falls back", with_fit(f"{{{SHAPE}[{{utilization: 9}}, {{utilization: 3}}]}}}}}}"), ("shape",)),
    File("a steep shape", with_fit(f"{{{SHAPE}[{{score: 11}}]}}}}}}"), ("shape[0].score",)),
    File("one point", with_fit(f"{{{SHAPE}[{{score: 10}}]}}}}}}")),
    File(
        "a shape of another strategy",
        with_args(
            "NodeResourcesFit", f"{{{SHAPE}[{{score: 1}}]}}}}}}".replace("RequestedToCapacityRatio", "MostAllocated")
        ),
        ("requestedToCapacityRatio",),
    ),
    File(
        "a resource of weight 101",
        with_args(
            "NodeResourcesFit", "{scoringStrategy: {type: MostAllocated, resources: [{name: cpu, weight: 101}]}}"
        ),
        ("resources[0].weight",),
    ),
    File(
        "a resource that weighs more",
        with_args("NodeResourcesBalancedAllocation", "{resources: [{name: cpu, weight: 2}]}"),
        ("resources",),
    ),
    File(
        "a resource twice",
        with_args("NodeResourcesBalancedAllocation", "{resources: [{name: cpu}, {name: cpu}]}"),
        ("resources",),
    ),
    File("no time to bind", with_args("VolumeBinding", "{bindTimeoutSeconds: -1}"), ("bindTimeoutSeconds",)),
    File("no candidates", with_args("DefaultPreemption", "{minCandidateNodesAbsolute: -1}"), ("minCandidateNodesA",)),
)


def with_added(affinity: str) -> str:
    return with_args("NodeAffinity", f"{{addedAffinity: {{{affinity}}}}}")


def with_term(term: str) -> str:
    return with_added(f"requiredDuringSchedulingIgnoredDuringExecution: {{nodeSelectorTerms: [{{{term}}}]}}")


def with_expression(expression: str) -> str:
    return with_term(f"matchExpressions: [{{{expression}}}]")


def with_preferred(term: str) -> str:
    return with_added(f"preferredDuringSchedulingIgnoredDuringExecution: [{term}]")


def with_constraints(constraints: str) -> str:
    return with_args("PodTopologySpread", f"{{defaultingType: List, defaultConstraints: [{constraints}]}}")


LEAST: Final = "scoringStrategy: {type: LeastAllocated, resources: "
CHOSEN: Final = "requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0]"
MORE_VALUES: Final = (
    # ValidateKubeSchedulerConfiguration
    File("fewer workers than none", f"{HEAD}parallelism: -1\n", ("parallelism",)),
    File("no profiles", f"{HEAD}profiles: []\n"),
    File("a profile of null", f"{HEAD}profiles: [null]\n"),
    File("a profile of null beside another", f"{HEAD}profiles: [null, {{schedulerName: b}}]\n", ("schedulerName",)),
    File("an empty scheduler name", f"{HEAD}profiles: [{{schedulerName: ''}}]\n", ("profiles[0].schedulerName",)),
    File("a scheduler name twice", f"{HEAD}profiles: [{{schedulerName: a}}, {{schedulerName: a}}]\n", ("[1].sched",)),
    File("a share below 0", f"{HEAD}percentageOfNodesToScore: -1\n", ("percentageOfNodesToScore",)),
    File("no longest backoff", f"{HEAD}podMaxBackoffSeconds: 0\n", ("podMaxBackoffSeconds",)),
    File("the same backoff twice", f"{HEAD}podInitialBackoffSeconds: 20\npodMaxBackoffSeconds: 20\n"),
    # ValidateClientConnectionConfiguration
    File("a burst below 0", f"{HEAD}clientConnection: {{burst: -1}}\n", ("clientConnection.burst",)),
    File("no burst", f"{HEAD}clientConnection: {{burst: 0, qps: -1}}\n"),
    File("more requests than fit", f"{HEAD}clientConnection: {{qps: 1.0e+39}}\n", ("clientConnection.qps",)),
    # ValidateLeaderElectionConfiguration
    File("a lease below 0", f"{HEAD}leaderElection: {{leaseDuration: -1s}}\n", ("leaderElection.leaseDuration",)),
    File("a lease of 0", f"{HEAD}leaderElection: {{leaseDuration: 0s}}\n"),
    File("a short lease", f"{HEAD}leaderElection: {{leaseDuration: 10s}}\n", ("leaseDuration", "renewDeadline")),
    File("a lease that is just enough", f"{HEAD}leaderElection: {{leaseDuration: 10.1s}}\n"),
    File("a deadline below 0", f"{HEAD}leaderElection: {{renewDeadline: -1s}}\n", ("leaderElection.renewDeadline",)),
    File("a late deadline", f"{HEAD}leaderElection: {{renewDeadline: 15s}}\n", ("leaseDuration", "15s")),
    File("a retry below 0", f"{HEAD}leaderElection: {{retryPeriod: -1s}}\n", ("leaderElection.retryPeriod",)),
    File("a lease without election", f"{HEAD}leaderElection: {{leaderElect: false, leaseDuration: -1s}}\n"),
    File("election of null", f"{HEAD}leaderElection: {{leaderElect: null, leaseDuration: -1s}}\n", ("leaseDuration",)),
    File("an empty lock", f"{HEAD}leaderElection: {{resourceLock: '', resourceName: '', resourceNamespace: ''}}\n"),
    # validateExtenders, NewHTTPExtender
    File("an extender of null", f"{HEAD}extenders: [null]\n"),
    File("two that bind", f"{HEAD}extenders: [{{bindVerb: a}}, {{bindVerb: b}}]\n", ("extenders[1].bindVerb",)),
    File("one that binds", f"{HEAD}extenders: [{{bindVerb: a}}, {{filterVerb: b, weight: -1}}]\n"),
    File("a managed cpu", f"{HEAD}extenders: [{{managedResources: [{{name: cpu}}]}}]\n", ("managedResources[0].name",)),
    File("a managed null", f"{HEAD}extenders: [{{managedResources: [null]}}]\n", ("managedResources[0].name",)),
    File(
        "a managed quota", f"{HEAD}extenders: [{{managedResources: [{{name: requests.a.b/c}}]}}]\n", ("requests.a.b/c",)
    ),
    File("a managed core name", f"{HEAD}extenders: [{{managedResources: [{{name: a.kubernetes.io/c}}]}}]\n", ("name",)),
    File(
        "managed by two",
        f"{HEAD}extenders: [{{managedResources: [{{name: a.b/c}}]}}, {{managedResources: [{{name: a.b/c}}]}}]\n",
        ("extenders[1].managedResources[0].name",),
    ),
    File("insecure, with roots", f"{HEAD}extenders: [{{tlsConfig: {{insecure: true, caFile: /a}}}}]\n", ("insecure",)),
    # validatePluginConfig
    File("an empty entry", f"{HEAD}profiles: [{{pluginConfig: [null]}}]\n"),
    File("args twice", f"{HEAD}profiles: [{{pluginConfig: [{{name: X}}, {{name: X}}]}}]\n", ("pluginConfig[1]",)),
    File("args of a removed plugin", with_args("EBSLimits", "{}"), ("EBSLimits",)),
    File("a disabled null", f"{HEAD}profiles: [{{plugins: {{filter: {{disabled: [null]}}}}}}]\n"),
    File("an enabled null", f"{HEAD}profiles: [{{plugins: {{filter: {{enabled: [null]}}}}}}]\n", ("enabled[0].name",)),
    # ValidateDefaultPreemptionArgs, ValidateInterPodAffinityArgs
    File("a share of 101", with_args("DefaultPreemption", "{minCandidateNodesPercentage: 101}"), ("Percentage",)),
    File("no least share", with_args("DefaultPreemption", "{minCandidateNodesPercentage: 0}")),
    File(
        "neither a share nor a number",
        with_args("DefaultPreemption", "{minCandidateNodesPercentage: 0, minCandidateNodesAbsolute: 0}"),
        ("minCandidateNodesPercentage",),
    ),
    File("a weight below 0", with_args("InterPodAffinity", "{hardPodAffinityWeight: -1}"), ("hardPodAffinityWeight",)),
    # ValidatePodTopologySpreadArgs
    File("another way to default", with_args("PodTopologySpread", "{defaultingType: None}"), ("defaultingType",)),
    File("an empty way to default", with_args("PodTopologySpread", '{defaultingType: ""}')),
    File(
        "constraints of the system",
        with_args(
            "PodTopologySpread",
            "{defaultConstraints: [{maxSkew: 1, topologyKey: a, whenUnsatisfiable: DoNotSchedule}]}",
        ),
        ("defaultingType",),
    ),
    File(
        "no skew", with_constraints("{maxSkew: 0, topologyKey: a, whenUnsatisfiable: ScheduleAnyway}"), ("[0].maxSkew",)
    ),
    File("no key", with_constraints("{maxSkew: 1, whenUnsatisfiable: ScheduleAnyway}"), ("[0].topologyKey",)),
    File("a key with a space", with_constraints("{maxSkew: 1, topologyKey: a b}"), ("[0].topologyKey",)),
    File("no action", with_constraints("{maxSkew: 1, topologyKey: a}"), ("[0].whenUnsatisfiable",)),
    File("another action", with_constraints("{maxSkew: 1, topologyKey: a, whenUnsatisfiable: X}"), ("[0].when",)),
    File(
        "a selector",
        with_constraints("{maxSkew: 1, topologyKey: a, whenUnsatisfiable: ScheduleAnyway, labelSelector: {}}"),
        ("[0].labelSelector",),
    ),
    File("a constraint of null", with_constraints("null"), ("[0].maxSkew",)),
    # ValidateNodeResourcesBalancedAllocationArgs, ValidateVolumeBindingArgs
    File("resources of null", with_args("NodeResourcesBalancedAllocation", "{resources: [null]}")),
    File("a weight of -1", with_args("NodeResourcesBalancedAllocation", "{resources: [{weight: -1}]}"), ("weight",)),
    File("no time to bind at all", with_args("VolumeBinding", "{bindTimeoutSeconds: 0}")),
    File("a shape for volumes", with_args("VolumeBinding", "{shape: [{utilization: 9}]}")),
    File("an empty shape for volumes", with_args("VolumeBinding", "{shape: []}")),
    File(
        "a shape for volumes that falls back",
        with_args("VolumeBinding", "{shape: [{utilization: 9}, {utilization: 9}]}"),
        ("args: Invalid value: each utilization of shape",),
    ),
    # ValidateNodeResourcesFitArgs
    File("an ignored name with a space", with_fit("{ignoredResources: [a b]}"), ("ources[0]", "a b")),
    File("an ignored empty name", with_fit('{ignoredResources: [""]}'), ("ignoredResources[0]",)),
    File("an ignored long name", with_fit(f"{{ignoredResources: [{'a' * 64}]}}"), ("ources[0]",)),
    File("an ignored cpu", with_fit("{ignoredResources: [cpu, a.b/C_d]}")),
    File("a group with a name", with_fit("{ignoredResourceGroups: [a.b/c]}"), ("Groups[0]", "a.b")),
    File("a group with a dash", with_fit("{ignoredResourceGroups: [-a]}"), ("Groups[0]",)),
    File("no strategy", with_fit("{scoringStrategy: null}")),
    File("a usual weight", with_fit(f"{{{LEAST}[{{name: cpu, weight: 0}}]}}}}")),
    File("a resource of null", with_fit(f"{{{LEAST}[null]}}}}")),
    File("a resource below 0", with_fit(f"{{{LEAST}[{{weight: -1}}]}}}}"), ("resources[0].weight",)),
    File("a point beyond full", with_fit(f"{{{SHAPE}[{{utilization: 101}}]}}}}}}"), ("shape[0].u",)),
    File("a point below 0", with_fit(f"{{{SHAPE}[{{score: -1}}]}}}}}}"), ("shape[0].score",)),
    File("a point of null", with_fit(f"{{{SHAPE}[null]}}}}}}")),
    # ValidateDynamicResourcesArgs
    File("a filter below 0", with_args("DynamicResources", "{filterTimeout: -1s}"), ("args.filterTimeout", "0s")),
    File("a filter of 0", with_args("DynamicResources", "{filterTimeout: 0s, bindingTimeout: 1s}")),
    File(
        "a short time to bind", with_args("DynamicResources", "{bindingTimeout: 999ms}"), ("args.bindingTimeout", "1s")
    ),
    # ValidateNodeAffinityArgs
    File("no added affinity", with_args("NodeAffinity", "{addedAffinity: null}")),
    File("an empty selector", with_added("requiredDuringSchedulingIgnoredDuringExecution: {}")),
    File("an empty term", with_term("")),
    File("an operator", with_expression("key: a, operator: Inn, values: [b]"), (f"{CHOSEN}.matchExpressions[0].op",)),
    File("no operator", with_expression("key: a"), (f"{CHOSEN}.matchExpressions[0].operator",)),
    File("In without values", with_expression("key: a, operator: In"), ("matchExpressions[0].values",)),
    File(
        "Exists with values", with_expression("key: a, operator: Exists, values: [b]"), ("matchExpressions[0].values",)
    ),
    File("Gt of two", with_expression('key: a, operator: Gt, values: ["1", "2"]'), ("matchExpressions[0].values",)),
    File("Gt of a word", with_expression("key: a, operator: Gt, values: [b]"), ("matchExpressions[0].values[0]",)),
    File("Lt of a number", with_expression('key: a, operator: Lt, values: ["3"]')),
    File("a node label with a space", with_expression("key: a b, operator: Exists"), ("matchExpressions[0].key",)),
    File("a value with a space", with_expression("key: a, operator: In, values: [b c]"), ("Expressions[0].values[0]",)),
    File("a requirement of null", with_term("matchExpressions: [null]"), ("matchExpressions[0].operator",)),
    File(
        "two names", with_term("matchFields: [{key: metadata.name, operator: In, values: [a, b]}]"), ("matchFields[0]",)
    ),
    File("a name that exists", with_term("matchFields: [{key: metadata.name, operator: Exists}]"), ("matchFields[0]",)),
    File("another field", with_term("matchFields: [{key: spec.x, operator: In, values: [a]}]")),
    File(
        "a preferred operator",
        with_preferred("{weight: 1, preference: {matchExpressions: [{key: a, operator: Inn}]}}"),
        ("preferredDuringSchedulingIgnoredDuringExecution[0].matchExpressions[0].operator",),
    ),
    File("not preferred", with_preferred("{weight: 0, preference: {matchExpressions: [{key: a, operator: Inn}]}}")),
    File("a preferred null", with_preferred("null")),
)


def with_enabled(point: str, name: str, change: str = "enabled") -> str:
    return f"{HEAD}profiles: [{{plugins: {{{point}: {{{change}: [{{name: {name}}}]}}}}}}]\n"


NAMES: Final = (
    File("a misspelt plugin", with_enabled("filter", "NodeAfinity"), ("filter.enabled[0]", "mean NodeAffinity?")),
    File("a plugin in lower case", with_enabled("score", "imagelocality"), ("did you mean ImageLocality?",)),
    File("misspelt everywhere", with_enabled("multiPoint", "VolumeBinidng"), ("did you mean VolumeBinding?",)),
    File("a misspelt plugin disabled", with_enabled("filter", "NodeAfinity", "disabled")),
    File("args of a misspelt plugin", with_args("NodeAfinity", "{}")),
    File("a scorer of 1.21", with_enabled("score", "NodeResourcesLeastAllocated"), ("scoringStrategy.type LeastAll",)),
    File("a scorer of 1.24", with_enabled("score", "SelectorSpread"), ("PodTopologySpread does its work",)),
    File("args of a scorer of 1.21", with_args("NodeResourcesLeastAllocated", "{resources: []}")),
    File("limits of 1.30", with_enabled("multiPoint", "CinderLimits"), ("NodeVolumeLimits does its work",)),
    File("the kind of args for a name", with_args("NodeResourcesFitArgs", "null"), ("write NodeResourcesFit",)),
)


def walk(value: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[tuple[str | int, ...], Any]]:
    yield path, value
    inside: Any = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, entry in inside:
        yield from walk(entry, (*path, key))


def changed(path: tuple[str | int, ...], change: Mapping[str, Any], *, without: str = "") -> Any:
    """The full configuration with other fields in the mapping at a path."""
    whole = copy.deepcopy(FULL)
    place = functools.reduce(lambda value, step: value[step], path, whole)
    place.pop(without, None)
    place.update(change)
    return whole


def mutations() -> Iterator[File]:
    """An unknown field, a key in another case and a key twice in each mapping; a wrong type for each value."""
    for path, value in walk(FULL):
        place = "/".join(map(str, path)) or "the top"
        free = path[:5] == ELSEWHERE
        if isinstance(value, dict):
            text = yaml.safe_dump(changed(path, {"notAField": 1}))
            yield File(f"unknown in {place}", text, () if free else ("notAField",))
            for key in list(value)[-1:]:
                other = changed(path, {key.capitalize(): value[key]}, without=key)
                yield File(f"capital in {place}", yaml.safe_dump(other), () if free else (key.capitalize(),))
                twice = changed(path, {ONCE_MORE: value[key]})
                yield File(f"twice in {place}", yaml.safe_dump(twice).replace(ONCE_MORE, key), (key,))
                if not free:
                    yield File(f"JSON, twice in {place}", json.dumps(twice).replace(ONCE_MORE, key), (key,))
        if path and isinstance(path[-1], str):
            wrong = [] if isinstance(value, dict) else {"a": "b"}
            text = yaml.safe_dump(changed(path[:-1], {path[-1]: wrong}))
            yield File(f"another type in {place}", text, () if free else (str(path[-1]),))


FILES: Final = (
    *WRITTEN,
    *VALUES,
    *MORE_VALUES,
    *NAMES,
    File("all fields", yaml.safe_dump(FULL)),
    File("all fields, JSON", json.dumps(FULL)),
    *mutations(),
)


def refused_by_us(text: str, folder: Path) -> str:
    file = folder / "config.yaml"
    file.write_text(text)
    try:
        read_scheduler_configuration(MemorySource([], description="nothing"), str(file))
    except ManifestError as error:
        return str(error)
    return ""


def refused_by_kube_scheduler(text: str, folder: Path, minor: str = "1.37") -> str:
    """The error of kube-scheduler; empty: it completes the configuration and writes it."""
    name = f"kube-scheduler@{minor}"
    file, complete = folder / "theirs.yaml", folder / "complete.yaml"
    file.write_text(text)
    # It connects to no server before it has written the file.
    flags = (f"--config={file}", f"--write-config-to={complete}", "--master=http://127.0.0.1:1", "--secure-port=0")
    done = subprocess.run([require_binaries([name])[name], *flags], capture_output=True, text=True, check=False)
    if done.returncode == 0:
        assert complete.exists()
        return ""
    return next(line for line in reversed(done.stderr.splitlines()) if "command failed" in line)


def test_there_are_files_of_both_kinds() -> None:
    assert len(FILES) > 300
    assert len({file.name for file in FILES}) == len(FILES)
    assert len([file for file in FILES if not file.fields]) > 20


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_kube_scheduler_decides_the_same(file: File, tmp_path: Path) -> None:
    ours = refused_by_us(file.text, tmp_path)
    assert bool(ours) == bool(file.fields), ours
    for field in file.fields:
        assert field in ours
    theirs = refused_by_kube_scheduler(file.text, tmp_path)
    assert bool(theirs) == bool(file.fields), (ours, theirs)


def test_a_point_of_the_newest_version_is_known(tmp_path: Path) -> None:
    text = f"{HEAD}profiles: [{{plugins: {{podGroupPostFilter: {{}}}}}}]\n"
    assert not refused_by_us(text, tmp_path)
    assert not refused_by_kube_scheduler(text, tmp_path)


REMEDIES: Final = {
    "disablePreemption: true": "(true): write profiles[].plugins.postFilter.disabled: [{name: DefaultPreemption}]",
    "disablePreemption: false": "(false): remove it",
    "algorithmSource: {policy: {file: {path: /p.cfg}}}": '({"policy": {"file": {"path": "/p.cfg"}}}): remove it: each',
    "bindTimeoutSeconds: 90": "(90): write it in profiles[].pluginConfig, name VolumeBinding, args.bindTimeoutSeconds",
    "hardPodAffinitySymmetricWeight: 0": "(0): write it in profiles[].pluginConfig, name InterPodAffinity",
    "schedulerName: mine": '("mine"): write profiles[].schedulerName',
    "healthzBindAddress: 0.0.0.0:10251": "write kube-scheduler's flags --bind-address and --secure-port",
    'metricsBindAddress: ""': '(""): remove it',
    "featureGates: {A: true}": "write kube-scheduler's flag --feature-gates",
    "plugins: {score: {}}": "write profiles[].plugins",
    "pluginConfig: []": "write profiles[].pluginConfig",
    "leaderElection: {lockObjectNamespace: a}": '("a"): write leaderElection.resourceNamespace',
    "profiles: [{plugins: {unreserve: {}}}]": '"profiles[0].plugins.unreserve" ({}): write profiles[].plugins.reserve',
    "extenders: [{enableHttps: true}]": '"extenders[0].enableHttps" (true): write enableHTTPS',
    "Profiles: []": '"Profiles" ([]): write profiles',
    "somethingElse: 1": '"somethingElse" (1): remove it',
}


@pytest.mark.parametrize(("line", "remedy"), REMEDIES.items(), ids=list(REMEDIES))
@pytest.mark.parametrize("version", ["v1", "v1beta1", "v1alpha1"])
def test_an_error_has_the_field_its_value_and_what_replaced_it(
    version: str, line: str, remedy: str, tmp_path: Path
) -> None:
    ours = refused_by_us(f"{HEAD.replace('/v1', f'/{version}')}{line}\n", tmp_path)
    assert 'unknown field "' in ours
    assert remedy in ours
    assert ("write kubescheduler.config.k8s.io/v1 Kube" in ours) == (version != "v1")


@pytest.mark.parametrize("name", ["NodeResourcesFitPlus", "PreemptionToleration", "DefaultPreBind", "MyNodeAffinity"])
def test_foreign_plugin_is_not_a_misspelling(name: str, tmp_path: Path) -> None:
    assert not refused_by_us(with_enabled("multiPoint", name), tmp_path)


def test_old_configuration_names_its_v1_differences(tmp_path: Path) -> None:
    text = with_args("RequestedToCapacityRatio", "{}").replace("/v1\n", "/v1beta1\n")
    ours = refused_by_us(text + "  plugins: {preFilter: {enabled: [{name: ServiceAffinity}]}}\n", tmp_path)
    assert "(in a copy, if a scheduler of 1.19 to 1.22 runs it; weights of InterPodAffinity" in ours
    assert 'profiles[0].pluginConfig[0]: "RequestedToCapacityRatio": there is no such plugin any more; write' in ours
    assert 'profiles[0].plugins.preFilter.enabled[0]: "ServiceAffinity"' in ours
    assert ours.count("ServiceAffinity") == 1
    assert "(in a copy, if a scheduler of 1.23 to 1.28 runs it)" in refused_by_us(
        HEAD.replace("/v1", "/v1beta3"), tmp_path
    )


def test_an_error_names_ten_fields_at_most(tmp_path: Path) -> None:
    ours = refused_by_us(HEAD + "".join(f"x{number}: 1\n" for number in range(5000)), tmp_path)
    assert ours.endswith("; and 4990 more")
    assert len(ours) < 1000


def test_a_deep_value_is_not_shown(tmp_path: Path) -> None:
    ours = refused_by_us(f"{HEAD}deep: {'[' * 900}{']' * 900}\n", tmp_path)
    assert 'unknown field "deep" (' in ours
    assert len(ours) < 300


def test_deep_args_of_another_project_are_read(tmp_path: Path) -> None:
    assert not refused_by_us(with_args("Elsewhere", f"{{a: {'[' * 900}{']' * 900}}}"), tmp_path)


def test_repeated_field_is_named_with_its_lines(tmp_path: Path) -> None:
    ours = refused_by_us(f"{HEAD}parallelism: 3\nprofiles: []\nparallelism: 4\n", tmp_path)
    assert ours.endswith("config.yaml, line 5: parallelism is a duplicate of line 3: keep one")
