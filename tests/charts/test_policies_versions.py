"""Policies on clusters older than the built one: the rendered objects, the compilation there, and the behaviour."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.charts.chart import FULL_VALUES, Chart, HelmError
from tests.charts.policies import GROUP, KINDS, dry_run, installed, messages, scoped
from tests.charts.test_policies import FULL_POLICY_VALUES, strictest
from tests.controlplane.binaries import Binaries
from tests.controlplane.client import Object
from tests.controlplane.control_plane import ControlPlane
from tests.controlplane.fixtures import require_binaries
from tests.objects import raw_priority_class as make_class
from tests.webhook.asking import Asked, make_pod, make_workload
from tests.webhook.forcing import MODE, People
from tests.webhook.forcing import make_pod as make_bound_pod
from tests.webhook.installation import CHART, Installation

NAME = "older-cluster"
EMULATED = "1.33"
"""The oldest version that the API server of the tests can emulate."""
OLD_CLUSTER = ["--api-versions=v1/Pod", *(f"--api-versions={GROUP}/{kind}" for kind in KINDS if "Validating" in kind)]


def without_defaults(values: Mapping[str, Any]) -> Mapping[str, Any]:
    """The values without those that only a MutatingAdmissionPolicy supports."""
    classes = {**values["priorityClasses"], "defaults": {}}
    return {**values, "priorityClasses": classes, "clusterDefaultConstraints": {}}


RELEASES = {
    "mode policy": without_defaults(strictest("policy")),
    "mode policy that warns": without_defaults({**FULL_POLICY_VALUES, "forceDeletion": {}}),
    "mode both": strictest("both"),
    "mode both with all warnings": {**FULL_VALUES, "warnings": "verbose"},
    "mode webhook": {**FULL_VALUES, "mode": "webhook"},
}


@pytest.fixture(scope="module")
def cel() -> Callable[[str, Sequence[Object]], str]:
    """The errors of an API server of a version in the expressions of objects; empty: none."""
    program = require_binaries(("cel",))["cel"]

    def problems(version: str, objects: Sequence[Object]) -> str:
        done = subprocess.run([program, version], input=json.dumps(objects), capture_output=True, text=True, check=True)
        return done.stdout

    return problems


# Compilation


@pytest.mark.parametrize("minor", [30, 36])
@pytest.mark.parametrize("release", RELEASES)
def test_A_expressions_compile_on_oldest_and_newest_version(
    chart: Chart, cel: Callable[[str, Sequence[Object]], str], release: str, minor: int
) -> None:
    """With the functions that users may use in each version, from upstream's own table."""
    rendered = chart.rendered(RELEASES[release], "--skip-tests", f"--kube-version=1.{minor}.0")
    objects = [entry for entry in yaml.safe_load_all(rendered) if entry["kind"] in {
        "ValidatingAdmissionPolicy", "ValidatingWebhookConfiguration", "MutatingWebhookConfiguration"}]  # fmt: skip
    assert objects
    assert cel(f"1.{minor}", objects) == ""


@pytest.mark.parametrize(
    ("expression", "since"),
    [("lists.range(1) == [0]", 34), ("{'a': 1}.transformList(key, value, value) == [1]", 32), ("1 + 1 == 2", 0)],
)
def test_A_the_compiler_knows_what_a_version_lacks(
    cel: Callable[[str, Sequence[Object]], str], expression: str, since: int
) -> None:
    """New functions can be used from the next version on, so that an upgrade of the cluster can be undone."""
    policy: Object = {"kind": "ValidatingAdmissionPolicy", "metadata": {"name": "asks"}}
    policy["spec"] = {"validations": [{"expression": expression}]}
    refused = [minor for minor in range(30, 37) if cel(f"1.{minor}", [policy])]
    assert refused == [minor for minor in range(30, 37) if minor <= since]


# Rendered objects


def kinds(chart: Chart, values: Mapping[str, Any], *flags: str) -> set[str]:
    return {entry["kind"] for entry in yaml.safe_load_all(chart.rendered(values, "--skip-tests", *flags))} & set(KINDS)


@pytest.mark.parametrize("mode", ["policy", "both"])
@pytest.mark.parametrize(
    "flags",
    [
        pytest.param(["--kube-version=1.30.0"], id="1.30"),
        pytest.param(["--kube-version=1.35.4-gke.1", *OLD_CLUSTER], id="1.35"),
        pytest.param(["--kube-version=1.36.3", *OLD_CLUSTER], id="1.36 that serves none"),
    ],
)
def test_A_mutating_policies_are_rendered_where_they_are_served(chart: Chart, mode: str, flags: list[str]) -> None:
    values = without_defaults(strictest(mode)) if mode == "policy" else strictest(mode)
    assert kinds(chart, values, *flags) == {kind for kind in KINDS if kind.startswith("Validating")}
    assert kinds(chart, values, "--kube-version=1.36.0") == set(KINDS)


CONSTRAINTS = "clusterDefaultConstraints"


def _part_of_constraints(name: str) -> Mapping[str, Any]:
    return {CONSTRAINTS: {name: FULL_VALUES[CONSTRAINTS][name]}}


@pytest.mark.parametrize(
    ("values", "named"),
    [
        pytest.param({"priorityClasses": {"defaults": {"shop": "low"}}}, "priorityClasses.defaults", id="class"),
        pytest.param({CONSTRAINTS: {"writeSystemDefaults": True}}, f"{CONSTRAINTS}.writeSystemDefaults", id="system"),
        pytest.param(_part_of_constraints("namespaces"), f"{CONSTRAINTS}.namespaces.shop", id="of a namespace"),
        pytest.param(
            _part_of_constraints("schedulerConfiguration"), f"{CONSTRAINTS}.schedulerConfiguration", id="of the cluster"
        ),
    ],
)
def test_A_values_are_refused_without_mutating_policies(chart: Chart, values: Mapping[str, Any], named: str) -> None:
    why = f"{named}: this needs a MutatingAdmissionPolicy, which the API server does not serve (Kubernetes does from "
    remedy = "1.36, this is v1.35.0): omit it, or set mode to both or webhook"
    with pytest.raises(HelmError) as refused:
        chart.rendered({"mode": "policy", **values}, "--kube-version=1.35.0")
    assert why + remedy in str(refused.value)
    assert chart.rendered({"mode": "policy", **values}, "--kube-version=1.36.0")
    assert chart.rendered({"mode": "both", **values}, "--kube-version=1.35.0")


# Behaviour on an older API server


@pytest.fixture(scope="module")
def older(control_plane_binaries: Binaries) -> Iterator[ControlPlane]:
    """The API server, emulating an older version."""
    emulated = (f"--emulated-version={EMULATED}",)
    with ControlPlane(control_plane_binaries, scheduler=False, controllers=False, apiserver_args=emulated) as running:
        yield running


@pytest.mark.controlplane
def test_A_limits_hold_on_an_older_api_server(older: ControlPlane, helm: Path, tmp_path: Path) -> None:
    values = scoped(
        NAME,
        forceDeletion={"namespaces": {f"{NAME}-ledger": "deny"}},
        priorityClasses={"allowed": {f"{NAME}-*": ["older-low"]}, "templates": "deny"},
    )
    classes = [make_class("older-low", 10), make_class("older-high", 1000)]
    with older.holding(classes), installed(older, helm, tmp_path, NAME, values, kinds=["Validating"]) as release:
        notes = release.helm("get", "notes", NAME)
        assert "so no pod gets a default class or default\nconstraints" in notes
        assert "kubectl get validatingadmissionpolicies -l" in notes
        for policy in older.api.list_items(GROUP, "ValidatingAdmissionPolicy"):
            assert not policy.get("status", {}).get("typeChecking", {}).get("expressionWarnings"), policy["metadata"]

        asked, people = Asked(older, NAME), People(older)
        shop = asked.namespace("shop", labels={"kubectl-qos.io/default-priority-class": "older-low"})
        (said,) = dry_run(older, make_pod(shop))
        lacking = "the API server serves no MutatingAdmissionPolicy; name older-low in the pod"
        assert said == f"namespace {shop}: its default class is not given: {lacking}"
        assert (
            "PriorityClass older-high is not allowed"
            in dry_run(older, make_pod(shop, priorityClassName="older-high"))[-1]
        )
        workload = make_workload("Deployment", shop)
        workload["spec"]["template"]["spec"]["priorityClassName"] = "older-high"
        assert "PriorityClass older-high is not allowed" in dry_run(older, workload)[-1]
        mistyped = {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "ScheduleAnyway"}
        selector = {"matchLabels": {"app": "wbe"}, "matchExpressions": [{"key": "tier", "operator": "Exists"}]}
        pod = make_pod(
            shop, priorityClassName="older-low", topologySpreadConstraints=[{**mistyped, "labelSelector": selector}]
        )
        (said,) = dry_run(older, pod)
        assert said.startswith("spec.topologySpreadConstraints[0].labelSelector: app=wbe does not match the pod's own")

        node = older.create_node("older-node")["metadata"]["name"]
        namespaces = {asked.namespace("ledger"): True, asked.namespace("bank", labels={MODE: "deny"}): True}
        for namespace, refused in {**namespaces, asked.namespace("free"): False}.items():
            bound = older.api.create(make_bound_pod("db", namespace, node))
            done = people.force("delete", bound)
            assert (done.returncode == 1) == refused, done.stderr
            assert people.is_untouched(bound) == refused
            assert bool(messages(done.stderr))


@pytest.mark.controlplane
def test_A_notes_of_mode_both_name_the_source_of_defaults(older: ControlPlane, helm: Path, tmp_path: Path) -> None:
    release = Installation(older, helm, tmp_path, namespace="default", release="noted")
    printed = release.helm(
        "install", "noted", CHART, "--dry-run=server", "--set=mode=both", "--set=image.repository=example.com/q"
    )
    assert "only the webhook gives default classes" in printed
    assert "kind: MutatingAdmissionPolicy" not in printed
