"""Our answer about a manifest equals the API server's result, and our answer about the stored pod."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import pytest

from tests.controlplane.client import Object
from tests.controlplane.control_plane import ControlPlane
from tests.e2e.plugin import Qos
from tests.objects import raw_container, raw_object, raw_priority_class, unscheduled_pod

pytestmark = pytest.mark.controlplane

NAMESPACE = "agreement"
LIMITED = "agreement-limited"
"""A namespace with LimitRanges."""
NODE = "agreement-node"
SIDECAR = "Always"
SMALL = {"cpu": "100m", "memory": "128Mi"}
LARGE = {"cpu": "500m", "memory": "1Gi"}
SLEEP = {"preStop": {"sleep": {"seconds": 5}}}


def pod(name: str, *containers: Object, namespace: str = NAMESPACE, **spec: Any) -> Object:
    """A pod on the node, as its author would write it."""
    if containers:
        spec["containers"] = list(containers)
    return unscheduled_pod(namespace, name, nodeName=NODE, **spec)


def limited(name: str, *containers: Object, **spec: Any) -> Object:
    """The same in the namespace with LimitRanges."""
    return pod(f"limited-{name}", *containers, namespace=LIMITED, **spec)


def limit_range(name: str, **item: Any) -> Object:
    """A LimitRange for containers."""
    return raw_object("LimitRange", name, LIMITED, spec={"limits": [{"type": "Container", **item}]})


MANIFESTS = (
    pod("nothing-set"),
    pod("requests-only", requests=SMALL),
    pod("requests-equal-limits", requests=LARGE, limits=LARGE),
    pod("requests-below-limits", requests=SMALL, limits=LARGE),
    pod("limits-only", limits=LARGE),
    pod("cpu-limit-only", limits={"cpu": "1"}),
    pod("memory-request-only", requests={"memory": "3Gi"}),
    pod("limits-and-one-request", requests={"cpu": "100m"}, limits=LARGE),
    pod("zero-amounts", requests={"cpu": "0", "memory": "0"}),
    pod("zero-request-with-limit", requests={"cpu": "0"}, limits={"cpu": "1", "memory": "1Gi"}),
    pod("other-resource-only", requests={"ephemeral-storage": "1Gi"}, limits={"ephemeral-storage": "2Gi"}),
    pod("other-spellings", requests={"cpu": "0.5", "memory": "1073741824"}, limits={"cpu": "500m", "memory": "1Gi"}),
    pod("rounded-up", requests={"cpu": "0.0005", "memory": "1.5Mi"}, limits={"cpu": "1e-1", "memory": "2E6"}),
    pod("guaranteed-but-for-one", raw_container("a", LARGE, LARGE), raw_container("b", SMALL)),
    pod("sums-equal-but-not-each", raw_container("a", SMALL, LARGE), raw_container("b", LARGE, LARGE)),
    pod("spoiled-by-init", raw_container("app", LARGE, LARGE), initContainers=[raw_container("migrate")]),
    pod(
        "limits-only-init", raw_container("app", limits=LARGE), initContainers=[raw_container("migrate", limits=SMALL)]
    ),
    pod(
        "spoiled-by-sidecar",
        raw_container("app", LARGE, LARGE),
        initContainers=[raw_container("proxy", SMALL, restartPolicy=SIDECAR)],
    ),
    pod(
        "guaranteed-with-sidecar",
        raw_container("app", LARGE, LARGE),
        initContainers=[raw_container("proxy", SMALL, SMALL, restartPolicy=SIDECAR)],
    ),
    pod("init-larger-than-app", raw_container("app", SMALL), initContainers=[raw_container("load", {"memory": "4Gi"})]),
    pod("pod-level-guaranteed", resources={"requests": LARGE, "limits": LARGE}),
    pod("pod-level-limits-only", resources={"limits": LARGE}),
    pod("pod-level-requests-only", resources={"requests": LARGE}),
    pod("pod-level-limits-over-containers", raw_container("a", SMALL), raw_container("b"), resources={"limits": LARGE}),
    pod("pod-level-cpu-only", raw_container("a", SMALL), resources={"requests": {"cpu": "1"}, "limits": {"cpu": "2"}}),
    pod("pod-level-empty", requests=LARGE, limits=LARGE, resources={}),
    pod("huge-pages", requests={"cpu": "1", "hugepages-2Mi": "4Mi"}, limits={"cpu": "1", "hugepages-2Mi": "4Mi"}),
    pod("classed", requests=SMALL, priorityClassName=f"{NAMESPACE}-high"),
    pod("class-and-its-own-numbers", priorityClassName=f"{NAMESPACE}-meek", priority=-5, preemptionPolicy="Never"),
    pod("node-critical", requests=SMALL, priorityClassName="system-node-critical"),
    pod("cluster-critical", requests=SMALL, priorityClassName="system-cluster-critical"),
    pod("long-grace", requests=SMALL, terminationGracePeriodSeconds=300),
    pod("no-grace", requests=SMALL, terminationGracePeriodSeconds=0),
    pod("negative-grace", requests=SMALL, terminationGracePeriodSeconds=-7),
    pod("hook-longer-than-grace", raw_container(lifecycle=SLEEP), terminationGracePeriodSeconds=5),
    pod("with-overhead", requests=SMALL, limits=SMALL, runtimeClassName=f"{NAMESPACE}-heavy"),
    limited("nothing-set"),
    limited("requests-only", requests=SMALL),
    limited("limits-only", limits=LARGE),
    limited("memory-limit-only", limits={"memory": "1Gi"}),
    limited("one-of-two", raw_container("a", LARGE, LARGE), raw_container("b")),
    limited("init", raw_container("a", LARGE, LARGE), initContainers=[raw_container("init", {"cpu": "10m"})]),
    limited("sidecar", raw_container(), initContainers=[raw_container("proxy", restartPolicy=SIDECAR)]),
    limited("pod-level", raw_container(), resources={"limits": {"cpu": "2", "memory": "2Gi"}}),
    limited("pod-level-requests", raw_container(), resources={"requests": {"cpu": "2", "memory": "2Gi"}}),
)
CHOSEN = {"cpu": "2", "memory": "2Gi"}
"""Where any amount makes it Guaranteed."""
NAMES = [manifest["metadata"]["name"] for manifest in MANIFESTS]
CLUSTER_WIDE = (
    raw_priority_class(f"{NAMESPACE}-high", 1_000_000),
    raw_priority_class(f"{NAMESPACE}-meek", -5, preemptionPolicy="Never"),
    raw_object("RuntimeClass", f"{NAMESPACE}-heavy", apiVersion="node.k8s.io/v1", handler="heavy")
    | {"overhead": {"podFixed": {"cpu": "250m", "memory": "120Mi"}}},
)
# No amount is in both: the API server's choice between two would be random.
LIMIT_RANGES = (
    limit_range("a", default={"cpu": "1"}, defaultRequest={"cpu": "200m", "ephemeral-storage": "1Gi"}),
    limit_range("b", default={"memory": "512Mi"}, max={"memory": "3Gi"}),
)


class Case(NamedTuple):
    """One pod: written, stored, and explained both ways."""

    written: Object
    stored: Object
    before: Mapping[str, Any]
    """Our answer for the manifest, asked before the pod existed."""
    after: Mapping[str, Any]
    """Our answer for the stored pod."""


@pytest.fixture(scope="module")
def cases(control_plane: ControlPlane, qos: Qos) -> Iterator[Mapping[str, Case]]:
    """All manifests are explained, then created, then explained again."""
    for namespace in (NAMESPACE, LIMITED):
        control_plane.create_namespace(namespace)
    # The largest node of all: a manifest is explained for the smallest and the largest.
    node = control_plane.create_node(NODE, {"cpu": "64", "memory": "100Gi"})
    control_plane.apply((*CLUSTER_WIDE, *LIMIT_RANGES))
    asked = json.dumps({"apiVersion": "v1", "kind": "List", "items": MANIFESTS})
    before = {entry["name"]: entry for entry in qos.json("-f", "-", stdin=asked)["items"]}
    stored = {name: control_plane.api.create(manifest) for name, manifest in zip(NAMES, MANIFESTS, strict=True)}
    after = {
        entry["name"]: entry
        for namespace in (NAMESPACE, LIMITED)
        for entry in qos.json("pods", "-n", namespace)["items"]
    }
    assert list(before) == NAMES
    assert sorted(after) == sorted(NAMES)
    yield {
        name: Case(manifest, stored[name], before[name], after[name])
        for name, manifest in zip(NAMES, MANIFESTS, strict=True)
    }
    for made in (node, *CLUSTER_WIDE):
        control_plane.api.delete(made)


@pytest.fixture(params=NAMES)
def case(cases: Mapping[str, Case], request: pytest.FixtureRequest) -> Case:
    """Each pod in turn."""
    return cases[request.param]


def test_Q1_class_is_the_one_that_the_server_stored(case: Case) -> None:
    stored = case.stored["status"]["qosClass"]

    assert case.before["qos"]["qosClass"] == stored
    assert case.after["qos"]["qosClass"] == stored
    # Computed from the resources, not read from the status.
    assert case.after["qos"]["computedClass"] == stored


def test_Q1_filled_in_fields_are_stored_so(case: Case) -> None:
    for entry in case.before["qos"]["defaulted"]:
        assert at(case.stored, entry["field"]) == entry["stored"]
        assert at(case.written, entry["field"]) != entry["stored"]
        assert (at(case.written, entry["field"]) is None) == (entry["given"] is None)
    assert not case.after["qos"]["defaulted"]


def test_Q1_nothing_filled_in_is_missed(case: Case) -> None:
    named = {entry["field"] for entry in case.before["qos"]["defaulted"]}

    missed = [field for field in amounts(case.stored) if at(case.written, field) is None and field not in named]

    assert not missed


def test_Q1_proposed_changes_make_it_guaranteed(control_plane: ControlPlane, case: Case) -> None:
    changes = case.before["qos"]["explanation"]["changesToGuaranteed"]
    edited = copy.deepcopy(case.written)
    for change in changes:
        put(edited, change["field"], change["after"] or CHOSEN[change["field"].rpartition(".")[2]])

    api = control_plane.api
    path = api.path("v1", "Pod", case.written["metadata"]["namespace"])
    stored = api.request("POST", path, edited | {"metadata": {"name": "edited"}}, query={"dryRun": "All"})

    assert stored["status"]["qosClass"] == "Guaranteed"
    assert bool(changes) == (case.stored["status"]["qosClass"] != "Guaranteed")


def test_Q4_requests_and_limits_are_the_same_before_and_after(case: Case) -> None:
    for part in ("requests", "limits", "scheduler"):
        assert case.before["resources"][part] == case.after["resources"][part]


def test_Q2_oom_score_is_the_same_before_and_after(case: Case) -> None:
    [after] = case.after["oom"]
    [before] = [entry for entry in case.before["oom"] if entry["node"] in {None, NODE}]

    assert before["containers"] == after["containers"]
    assert {entry["container"] for entry in after["containers"]} == {
        entry["name"] for entry in (*case.stored["spec"]["containers"], *case.stored["spec"].get("initContainers", ()))
    }


def test_Q5_cgroup_values_are_the_same_before_and_after(case: Case) -> None:
    for part in ("parent", "config", "cpuWeight", "containers"):
        assert case.before["cgroup"][part] == case.after["cgroup"][part]
    uid = case.stored["metadata"]["uid"]
    assert case.after["cgroup"]["cgroupfs"] == f"{case.after['cgroup']['parent'].rstrip('/')}/pod{uid}"


def test_P1_priority_is_the_one_that_the_server_stored(case: Case) -> None:
    spec = case.stored["spec"]

    for answer in (case.before["priority"], case.after["priority"]):
        assert answer["priority"] == spec["priority"]
        assert answer["preemptionPolicy"] == spec["preemptionPolicy"]
        assert answer["className"] == spec.get("priorityClassName", "")
        assert answer["rejected"] is None


def test_T1_grace_period_is_the_one_that_the_server_stored(case: Case) -> None:
    stored = case.stored["spec"]["terminationGracePeriodSeconds"]

    assert case.before["termination"]["grace"]["seconds"] == stored
    assert case.before["termination"] == case.after["termination"]


def test_the_table_holds_every_class_several_times(cases: Mapping[str, Case]) -> None:
    classes = [case.stored["status"]["qosClass"] for case in cases.values()]

    assert min(map(classes.count, ("Guaranteed", "Burstable", "BestEffort"))) > 5


def at(obj: Any, field: str) -> Any:
    """The value at ``spec.containers[0].resources.limits.cpu``; None when there is none."""
    for name, index in re.findall(r"([^.\[\]]+)|\[(\d+)\]", field):
        if index:
            obj = obj[int(index)]
        elif name not in obj:
            return None
        else:
            obj = obj[name]
    return obj


def put(obj: Any, field: str, amount: str) -> None:
    """Sets the value at such a path; mappings on the way are made."""
    names = re.findall(r"([^.\[\]]+)|\[(\d+)\]", field)
    for name, index in names[:-1]:
        obj = obj[int(index)] if index else obj.setdefault(name, {})
    obj[names[-1][0]] = amount


def amounts(pod: Mapping[str, Any]) -> Iterator[str]:
    """The path of each request and limit of a pod and its containers."""
    spec = pod["spec"]
    places = [("spec", spec)]
    for kind in ("containers", "initContainers"):
        places += [(f"spec.{kind}[{index}]", entry) for index, entry in enumerate(spec.get(kind, ()))]
    for path, entry in places:
        for side, given in entry.get("resources", {}).items():
            yield from (f"{path}.resources.{side}.{name}" for name in given)
