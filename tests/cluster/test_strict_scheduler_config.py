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

from podrules.cluster.errors import ManifestError
from podrules.cluster.in_memory import MemorySource
from podrules.cluster.scheduler_config import read_scheduler_configuration
from tests.controlplane.fixtures import require_binaries
from tests.tree import ROOT

HEAD: Final = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
FIELD: Final = ROOT / "tests/testdata/cases/field"
FULL: Final[Any] = yaml.safe_load((ROOT / "tests/testdata/scheduler_config/full.yaml").read_text())
ELSEWHERE: Final = ("profiles", 0, "pluginConfig", 8, "args")
"""The arguments of another project's plugin, which are not decoded."""
ONCE_MORE: Final = "onceMore"
"""Stands for a key that is written twice; no loader gives such a mapping."""


class File(NamedTuple):
    name: str
    text: str
    fields: tuple[str, ...] = ()
    """What our error has to name."""


def with_args(plugin: str, args: str) -> str:
    return f"{HEAD}profiles:\n- pluginConfig:\n  - name: {plugin}\n    args: {args}\n"


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
    File("a strategy of no type", with_args("NodeResourcesFit", "{scoringStrategy: {}}"), ("scoringStrategy",)),
    File("a strategy", with_args("NodeResourcesFit", "{scoringStrategy: {type: Most}}"), ("MostAllocated",)),
    File("a hostile one", with_args("NodeResourcesFit", '{scoringStrategy: {type: "a - at `$.b`"}}'), ("MostAlloc",)),
    File("a strategy without its shape", with_args("NodeResourcesFit", f"{{{SHAPE}[]}}}}}}"), ("shape",)),
    File(
        "a shape that falls back",
        with_args("NodeResourcesFit", f"{{{SHAPE}[{{utilization: 9}}, {{utilization: 3}}]}}}}}}"),
        ("shape",),
    ),
    File("a steep shape", with_args("NodeResourcesFit", f"{{{SHAPE}[{{score: 11}}]}}}}}}"), ("shape[0].score",)),
    File("one point", with_args("NodeResourcesFit", f"{{{SHAPE}[{{score: 10}}]}}}}}}")),
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
    """Its own error; empty: it completes the configuration and writes it."""
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


def test_an_error_names_ten_fields_at_most(tmp_path: Path) -> None:
    ours = refused_by_us(HEAD + "".join(f"x{number}: 1\n" for number in range(5000)), tmp_path)
    assert ours.endswith("; and 4990 more")
    assert len(ours) < 1000


def test_a_deep_value_is_not_shown(tmp_path: Path) -> None:
    ours = refused_by_us(f"{HEAD}deep: {'[' * 900}{']' * 900}\n", tmp_path)
    assert 'unknown field "deep" (' in ours
    assert len(ours) < 300


def test_a_field_that_stands_twice_is_named_with_its_lines(tmp_path: Path) -> None:
    ours = refused_by_us(f"{HEAD}parallelism: 3\nprofiles: []\nparallelism: 4\n", tmp_path)
    assert ours.endswith("config.yaml, line 5: parallelism stands in line 3 already: keep one")
