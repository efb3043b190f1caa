"""Manifests with fields, types or apiVersions that the API server does not know, and valid ones that resemble them."""

from __future__ import annotations

import json

import pytest

from tests.kubectl_plugin.running import run

HEAD = "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\n"
SPEC = "spec:\n  containers: [{name: a, image: b}]\n"
POD = HEAD + SPEC
VOLCANO = "apiVersion: batch.volcano.sh/v1alpha1\nkind: Job\nmetadata: {name: v}\nspec: {tasks: [{replicas: 1}]}\n"
FLOAT_OVERFLOWS = "metadata: {name: a, labels: {v: 1e400}}"


def _said(*words: str, stdin: str) -> tuple[int, str]:
    ran = run(*words, "-f", "-", stdin=stdin)
    assert "Traceback" not in ran.err
    return ran.code, " ".join(f"{ran.err} {ran.out}".split())


@pytest.mark.parametrize("command", [("explain", "--offline"), ("place", "--demo"), ("lint",)])
@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (f"{POD}  Hostnetwork: true\n", 'unknown field "spec.Hostnetwork"'),
        (f"{POD}  priority: 1e400\n", "spec.priority"),
        (POD.replace("metadata: {name: a}", FLOAT_OVERFLOWS), "write a string, in quotation marks"),
        (POD.replace("v1", "core/v1", 1), 'no matches for kind "Pod" in version "core/v1"'),
        (POD.replace("kind: Pod", "kind: Deploymnet").replace("v1", "apps/v1", 1), "Deployment"),
        (f"{POD}---\napiVersion: policy/v1beta1\nkind: PodDisruptionBudget\n", "policy/v1"),
        ("apiVersion: autoscaling/v2beta2\nkind: HorizontalPodAutoscaler\n", "autoscaling/v2"),
        (f"{POD}---\napiVersion: v1\nkind: ConfigMap\ndata: {{a: 1}}\n", "data.a"),
        (f"{POD}---\napiVersion: v1\nkind: Service\nspec: {{ports: [{{port: '80'}}]}}\n", "spec.ports[0].port"),
    ],
)
def test_decoding_failure_is_an_error(command: tuple[str, ...], text: str, problem: str) -> None:
    code, said = _said(*command, stdin=text)
    assert code == (1 if command == ("lint",) else 6)
    assert problem in said


@pytest.mark.parametrize(
    "more",
    [
        "terminationGracePeriodSeconds: 30.0",
        "activeDeadlineSeconds: 1e+06",
        "terminationGracePeriodSeconds: 089",
        "priority: null",
        "securityContext: {runAsUser: 1.00001e+06}",
        "tolerations: [{operator: Exists, effect: NoExecute, tolerationSeconds: 3e1}]",
    ],
)
def test_values_that_kubectl_converts_are_accepted(more: str) -> None:
    code, said = _said("explain", "--offline", stdin=f"{POD}  {more}\n")
    assert (code, "error" in said) == (0, False)


def test_kinds_of_other_groups_are_not_kubernetes_kinds() -> None:
    code, said = _said("explain", "--offline", stdin=f"{POD}---\n{VOLCANO}")
    assert code == 0
    assert "Not explained: Job v." in said


def test_list_without_items_is_no_unknown_kind() -> None:
    assert "no matches" not in _said("lint", stdin=f"{POD}---\napiVersion: v1\nkind: List\n")[1]


def test_lone_surrogate_is_shown_as_in_go() -> None:
    text = json.dumps({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}, "spec": {"x\ud83d": 1}})
    assert "\ufffd" in _said("lint", stdin=text)[1]
    assert "\ufffd" in _said("explain", "--offline", "--validate=warn", stdin=text)[1]


def test_at_most_ten_unknown_fields_are_named() -> None:
    fields = "".join(f"  unknown{number}: 1\n" for number in range(500))
    code, said = _said("explain", "--offline", stdin=POD + fields)
    assert code == 6
    assert said.count("unknown field") == 10
    assert "and 490 more" in said
    assert "500 errors" in _said("lint", stdin=POD + fields)[1]


@pytest.mark.parametrize(
    ("validate", "code", "said"),
    [
        ("--validate", 6, "error: "),
        ("--validate=true", 6, "error: "),
        ("--validate=strict", 6, "error: "),
        ("--validate=warn", 0, "warning: "),
        ("--validate=ignore", 0, ""),
        ("--validate=F", 0, ""),
        ("--validate=no", 2, 'error: --validate "no": not one of strict, warn, ignore'),
    ],
)
@pytest.mark.parametrize("command", [("explain", "--offline"), ("place", "--demo"), ("report", "--demo", "-o", "-")])
def test_validate_decides_about_unknown_fields(command: tuple[str, ...], validate: str, code: int, said: str) -> None:
    ran = run(*command, validate, "-f", "-", stdin=f"{POD}  resource: {{}}\n")
    assert (ran.code, ran.err.startswith(said)) == (code, True)
    assert ('unknown field "spec.resource"' in ran.err) == (said in {"error: ", "warning: "})


def test_newer_versions_may_have_more_fields_and_kinds() -> None:
    text = f"{POD}  newer: 1\n---\napiVersion: autoscaling/v3\nkind: HorizontalPodAutoscaler\n"
    assert _said("lint", "--kubernetes-version=1.38", stdin=text)[0] == 0
    assert _said("lint", "--kubernetes-version=1.37", stdin=text)[0] == 1
