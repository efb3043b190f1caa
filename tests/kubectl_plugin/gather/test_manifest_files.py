"""Files with mixed content: valid objects are explained, invalid ones are named with their place and remedy."""

from __future__ import annotations

import gzip
import json
import re
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from tests.golden import check
from tests.kubectl_plugin.answers import said
from tests.kubectl_plugin.running import run
from tests.objects import raw_container, raw_object, raw_pod, raw_workload

DATA: Final = Path(__file__).parents[2] / "testdata"
CASES: Final = DATA / "cases" / "cli"
FILES: Final = (
    *("anchors.yaml", "bad.yaml", "bad2.yaml", "bomb.yaml", "d6svc.yaml", "deploy-hpa.yaml", "dupkey.yaml"),
    *("empty.yaml", "helm.yaml", "helmout.yaml", "kindonly.yaml", "list.json", "noc.yaml", "noname.yaml", "odd.yaml"),
    *("typo.yaml", "weird.yaml"),
)
COMMANDS: Final = (("explain", "--offline"), ("explain", "--offline", "--timeline"), ("place", "--demo"), ("lint",))
FOREIGN: Final = re.compile(r"Expected `|got `|NoneType|\bint\b|\bstr\b|msgspec|<class|codec|KeyError|Traceback|None\b")
GOOD: Final = "apiVersion: v1\nkind: Pod\nmetadata: {name: good}\nspec: {containers: [{name: a, image: a}]}\n"


def _printed(command: tuple[str, ...], file: str) -> str:
    """The message about a file besides the pages, and the first lines of these."""
    ran = run(*command, "-f", file)
    head = r"^\S+ \S+ in namespace [^(]*\([^)]*\).*"
    if command == ("lint",):
        head = r"^(?:not read .*\n(?: .*\n)*|.* of \d+ files?.*|.*nothing was checked.*)"
    shown = "".join(f"{found.rstrip()}\n" for found in re.findall(head, ran.out, re.MULTILINE))
    return f"$ kubectl qos {' '.join((*command, '-f', file))}   # exit code {ran.code}\n{ran.err}{shown}\n"


@pytest.mark.parametrize("file", FILES)
def test_errors_of_files(file: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(CASES)
    printed = "".join(_printed(command, file) for command in COMMANDS)
    assert not FOREIGN.search(printed)
    check(DATA / "golden" / "files" / f"{file}.txt", printed)


SECOND: Final = {
    "syntax": ("kind: Pod\n  a: [\n", "document 2, line 7, column"),
    "a bracket": ("kind: Pod\na: {b: c\nd: e\n", "A comma or a closing bracket is missing here or in a line above"),
    "a tab": ("kind: Pod\nspec:\n\ta: b\n", "a tab stands here\nIndent with spaces"),
    "a template": ("kind: {{ .Values.kind }}\n", "document 2, line 6, column 8: it is a template\nRender it first"),
    "jinja": ("kind: Pod\n{% if a %}\nb: c\n{% endif %}\n", "it is a template\nRender it first: helm template ."),
    "a field": (GOOD.replace("name: a", "name: 5"), "document 2, line 9: spec.containers[0].name: 5 is a number;"),
    "a text": ("just a text\n", "document 2: an API object is a mapping, this is text"),
    "no version": ("kind: Pod\n", "document 2: apiVersion is missing"),
    "a version of another type": ("apiVersion: 1\nkind: Pod\n", "apiVersion: a number stands here; write a string"),
    "an item": (
        "apiVersion: v1\nkind: List\nitems:\n- 5\n- {apiVersion: v1, kind: Service, metadata: {name: s}}\n",
        "document 2, items[0]: an API object is a mapping, this is a number",
    ),
    "a number that is none": ("kind: Pod\na: 0x_\n", "a number in it cannot be read\nPut it in quotation marks"),
    "a control character": ("kind: Pod\na: \x01\n", "U+0001 is not allowed\nRemove it"),
    "a tag": ("kind: !Ref a\n", "the tag '!Ref' means nothing to Kubernetes\nRemove it"),
    "a deep one": ("a: " + "[" * 2000 + "\n", "nested too deeply"),
}  # fmt: skip


@pytest.mark.parametrize("name", SECOND)
def test_bad_document_does_not_hide_good_ones(name: str, tmp_path: Path) -> None:
    text, words = SECOND[name]
    third = GOOD.replace("good", "third")
    path = tmp_path / "m.yaml"
    path.write_text(f"{GOOD}---\n{text}---\n{third}", encoding="utf-8")
    ran = run("explain", "--offline", "-f", str(path), "-o", "name")
    assert (ran.code, ran.out) == (6, "pod/good\npod/third\n")
    assert words in ran.err
    assert ran.err.count("error: ") == 1
    assert not FOREIGN.search(ran.err.replace(str(path), ""))
    report = json.loads(run("lint", "-f", str(path), "-o", "json").out)
    assert [entry["name"] for entry in report["objects"] if entry["name"] != ""][:1] == ["good"]
    assert "third" in [entry["name"] for entry in report["objects"]]
    placed = run("place", "--demo", "-f", str(path))
    assert placed.code == 6
    assert "pod/third" in placed.out


def test_bad_file_does_not_hide_good_ones(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("a: [", encoding="utf-8")
    (tmp_path / "b.yaml").write_text(GOOD, encoding="utf-8")
    (tmp_path / "values.yaml").write_text("replicas: 3\n", encoding="utf-8")
    (tmp_path / "kustomization.yaml").write_text("resources: [b.yaml]\n", encoding="utf-8")
    ran = run("explain", "--offline", "-f", str(tmp_path))
    assert ran.code == 6
    assert ran.out.startswith("Pod good in namespace default (from b.yaml)\n")
    assert f"{tmp_path}/a.yaml, line 2, column 1: not valid YAML" in ran.err
    assert f"kubectl kustomize {tmp_path} | kubectl qos explain -f -" in ran.err
    assert f"helm template {tmp_path} | kubectl qos explain -f -" in ran.err


NOT_READ: Final = {
    "it is UTF-16; Kubernetes reads UTF-8\nSave it as UTF-8: iconv -f UTF-16 -t UTF-8 ": GOOD.encode("utf-16"),
    "it is UTF-16LE; Kubernetes reads UTF-8\nSave it as UTF-8: iconv -f UTF-16LE ": GOOD.encode("utf-16-le"),
    "it is UTF-16BE": GOOD.encode("utf-16-be"),
    "it is UTF-32": GOOD.encode("utf-32"),
    "it is UTF-32BE": GOOD.encode("utf-32-be"),
    "it is compressed with gzip\nUnpack it first: gunzip -c ": gzip.compress(GOOD.encode(), mtime=0),
    "it is binary, no YAML or JSON": b"\x99\xb2\x35\x00\x01\xff" * 20,
    "it is a snapshot of a cluster, no manifest\nRead it with --snapshot ": b"kubectl-qos snapshot 1\n",
    "line 3: not UTF-8 text: byte 44 is 0xfc\nSave it as UTF-8": GOOD.replace("good", "gr\xfcn").encode("latin-1"),
    "m.yaml: no object in it; there is nothing to explain": b"",
    "no object in it; there is nothing to explain\n": b"\n# nothing\n---\n",
}


@pytest.mark.parametrize("words", NOT_READ)
def test_binary_file_shows_how_to_convert_it(words: str, tmp_path: Path) -> None:
    path = tmp_path / "m.yaml"
    path.write_bytes(NOT_READ[words])
    ran = run("explain", "--offline", "-f", str(path))
    assert (ran.code, ran.out) == (6, "")
    assert words in ran.err
    assert ran.err.count("\n") == 2
    assert not FOREIGN.search(ran.err)


def test_utf_8_byte_order_mark_is_skipped(tmp_path: Path) -> None:
    path = tmp_path / "m.yaml"
    path.write_bytes(GOOD.encode("utf-8-sig"))
    assert run("explain", "--offline", "-f", str(path), "-o", "name").out == "pod/good\n"
    assert run("lint", "-f", str(path)).code == 0


UNREADABLE: Final = {
    "https://example.com/a.yaml": "a URL is not fetched\nDownload it first: curl -fsSL https://example.com/a.yaml |",
    "-": "standard input: no object in it; there is nothing to explain",
    "deploi.yaml": "deploi.yaml: No such file or directory\nDid you mean deploy.yaml?",
    "folder": "folder: no .yaml, .yml or .json file in this folder\nName a file",
    "chart": "chart: a Helm chart; its files are templates\nRender it first: helm template chart |",
}


@pytest.mark.parametrize(("path", "words"), UNREADABLE.items())
def test_unreadable_files(path: str, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "deploy.yaml").write_text(GOOD, encoding="utf-8")
    (tmp_path / "folder").mkdir()
    (tmp_path / "chart").mkdir()
    (tmp_path / "chart" / "Chart.yaml").write_text("apiVersion: v2\nname: a\n", encoding="utf-8")
    ran = run("explain", "--offline", "-f", path, stdin="")
    assert (ran.code, ran.out) == (6, "")
    assert words in ran.err


def test_unexplained_objects_are_named_on_stderr_only() -> None:
    others = "".join(f"---\napiVersion: v1\nkind: ConfigMap\nmetadata: {{name: c{number}}}\n" for number in range(9))
    ran = run("explain", "--offline", "-f", "-", stdin=GOOD + others)
    assert ran.err == "Not explained: ConfigMap c0, ConfigMap c1, ConfigMap c2 and 6 more.\n"
    assert run("explain", "--offline", "-f", "-", "-o", "json", stdin=GOOD + others).err == ""


def test_file_without_pods_names_its_objects() -> None:
    ran = run("explain", "--offline", "-f", "-", stdin="apiVersion: v1\nkind: Service\nmetadata: {name: web}\n")
    assert ran.code == 6
    assert ran.err == (
        "error: standard input: no pod and no workload in it, only Service web; there is nothing to explain\n"
        "Name a file with a Pod, or with a workload, as a Deployment\n"
    )


def test_lint_lists_errors_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(CASES)
    report = json.loads(run("lint", "-f", "typo.yaml", "-f", "bad2.yaml", "-f", "bad.yaml", "-o", "json").out)
    assert {finding["level"] for finding in report["findings"]} == {"error", "warning", "notice"}
    places = [
        (
            ["error", "warning", "notice"].index(one["level"]),
            ["typo.yaml", "bad2.yaml", "bad.yaml"].index(one["object"]["file"]),
            one["line"],
        )
        for one in report["findings"]
    ]
    assert places == sorted(places)
    page = run("lint", "-f", "typo.yaml", "-f", "bad.yaml").out.splitlines()
    assert re.match(r"x \d+ errors, \d+ warnings? and \d+ notices? in ", page[0])


_APPS: Final = (
    "apiVersion: apps/v1\nkind: {}\nmetadata: {{name: bad}}\n"
    "spec:\n  selector: {{matchLabels: {{a: b}}}}\n  replicas: {}\n"
    "  template: {{metadata: {{labels: {{a: b}}}}, spec: {{containers: [{{name: a, image: a}}]}}}}\n"
)
_JOB: Final = (
    "apiVersion: batch/v1\nkind: Job\nmetadata: {{name: bad}}\nspec:\n  {}\n"
    "  template: {{spec: {{restartPolicy: Never, containers: [{{name: a, image: a}}]}}}}\n"
)
_POD: Final = (
    "apiVersion: v1\nkind: Pod\nmetadata: {{name: bad}}\nspec: {{containers: [{{name: a, image: a, resources: {}}}]}}\n"
)
_AT_LEAST_0: Final = "must be greater than or equal to 0. Write a number that is not below 0."
_OVER: Final = "must be less than or equal to cpu limit of 1. Lower the request or raise the limit."
_INT32: Final = "is out of range; write a whole number of at most 2147483647"
_OF: Final = "line 4: spec.containers[0].resources"
NUMBERS: Final = {
    f"line 6: spec.replicas: Invalid value: -1: {_AT_LEAST_0}": _APPS.format("Deployment", -1),
    f"line 6: spec.replicas: Invalid value: -2: {_AT_LEAST_0}": _APPS.format("StatefulSet", -2),
    f"line 5: spec.completions: Invalid value: -1: {_AT_LEAST_0}": _JOB.format("completions: -1"),
    f"line 5: spec.parallelism: Invalid value: -2: {_AT_LEAST_0}": _JOB.format("parallelism: -2"),
    f'{_OF}.requests[memory]: Invalid value: "-1Gi": {_AT_LEAST_0}': _POD.format("{requests: {cpu: 1, memory: -1Gi}}"),
    f'{_OF}.limits[cpu]: Invalid value: "-1": {_AT_LEAST_0}': _POD.format("{limits: {cpu: -1}}"),
    f'{_OF}.requests: Invalid value: "2": {_OVER}': _POD.format("{requests: {cpu: 2}, limits: {cpu: 1}}"),
}
"""By refusal: a manifest."""
_NO_INTEGERS: Final = {f"{number} {_INT32}": _APPS.format("Deployment", number) for number in (3 * 10**9, 10**23 - 1)}
"""Neither is an int32, and the second is no int64."""


@pytest.mark.parametrize(("words", "text"), NUMBERS.items())
def test_refused_number_leads_with_its_value(words: str, text: str) -> None:
    ran = run("explain", "--demo", "-f", "-", stdin=text)
    assert (ran.code, ran.err) == (6, "")
    assert f"\nRefused: {words}" in " ".join(ran.out.split()).replace(" Refused: ", "\nRefused: ")
    assert "\nIf it were accepted:\n\nQoS class " in ran.out


@pytest.mark.parametrize(("words", "text"), NUMBERS.items())
def test_refused_object_is_not_placed_but_others_are(words: str, text: str) -> None:
    ran = run("place", "--demo", "-f", "-", "-o", "json", stdin=f"{text}---\n{GOOD}")
    report = json.loads(ran.out)
    assert ran.code == 6
    assert [spec["name"] for spec in report["specs"]] == ["pod/good"]
    (refused,) = report["refused"]
    assert refused["byApiServer"]
    assert refused["reason"].removeprefix("the API server refuses ") in words


@pytest.mark.parametrize("command", [("explain", "--demo"), ("place", "--demo")], ids=" ".join)
@pytest.mark.parametrize("words", _NO_INTEGERS)
def test_invalid_go_integer_is_refused_beside_good_pod(words: str, command: tuple[str, ...]) -> None:
    ran = run(*command, "-f", "-", stdin=f"{_NO_INTEGERS[words]}---\n{GOOD}")
    assert ran.code == 6
    assert words in ran.err
    assert ran.err.startswith("error: standard input, document 1, line ")
    assert "good" in ran.out
    assert "bad" not in ran.out


@pytest.mark.parametrize(("version", "code"), [("1.33", 0), ("1.36", 6)])
def test_number_is_refused_by_the_versions_that_read_it(version: str, code: int) -> None:
    """The containers request 2 cpus together, which exceeds the pod-level limit."""
    pod = _pod(requests={"cpu": "2"}, resources={"limits": {"cpu": "1"}})
    ran = run("explain", "--demo", "-f", "-", "--kubernetes-version", version, stdin=pod)
    assert ran.code == code, ran.err
    assert ("spec.resources.requests: Invalid value" in ran.out) == bool(code)


@pytest.mark.parametrize("text", [*NUMBERS.values(), *_NO_INTEGERS.values()])
def test_lint_objects_to_the_same_numbers(text: str) -> None:
    ran = run("lint", "-f", "-", stdin=text)
    assert ran.code == 1
    assert re.search("negative-number|request-over-limit|invalid-field", ran.out)


def _pod(**spec: Any) -> str:
    return yaml.safe_dump(raw_pod("bad", **spec))


_ZONE: Final = {"maxSkew": 0, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule"}
_NO_TERMS: Final[dict[str, Any]] = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": []}}
_PROBE: Final = {"tcpSocket": {"port": 1}, "terminationGracePeriodSeconds": 5}
_CONTAINERS: Final = {"containers": [raw_container()]}
_OTHER: Final = {"selector": {"matchLabels": {"a": "b"}}, "template": {"spec": _CONTAINERS}}
_FROM_LINT: Final = {
    "a spread constraint": _pod(topologySpreadConstraints=[_ZONE]),
    "a toleration": _pod(tolerations=[{"key": "a", "operator": "Foo"}]),
    "a node affinity": _pod(affinity={"nodeAffinity": _NO_TERMS}),
    "pod-level resources": _pod(resources={"requests": {"memory": "1Gi"}}, requests={"memory": "2Gi"}),
    "a limit that is missing": _pod(requests={"example.com/gpu": "1"}),
    "a sleep": _pod(containers=[raw_container(lifecycle={"preStop": {"sleep": {"seconds": 99}}})]),
    "a probe": _pod(containers=[raw_container(readinessProbe=_PROBE)]),
    "a selector": yaml.safe_dump(raw_workload("Deployment", pod_spec=_CONTAINERS) | {"spec": _OTHER}),
}


_COMPUTED: Final = "must not be provided in pod spec; priority admission controller computed"


@pytest.mark.parametrize("name", _FROM_LINT)
def test_lint_errors_are_refused_with_the_same_message(name: str) -> None:
    text = _FROM_LINT[name]
    found = json.loads(run("lint", "-f", "-", "-o", "json", stdin=text).out)["findings"]
    errors = [(one["rule"], one["field"], one["message"], one["remedy"]) for one in found if one["level"] == "error"]
    assert errors
    ran = run("explain", "--demo", "-f", "-", "-o", "json", stdin=text)
    report = json.loads(ran.out)
    assert (ran.code, report["verdict"]["code"]) == (6, "AdmissionRefused")
    refusals = [(one["rule"], one["field"], one["message"], one["remedy"]) for one in report["refusals"]]
    assert sorted(refusals) == sorted(errors)
    line = report["refusals"][0]["line"]
    assert report["verdict"]["text"].startswith(f"Refused: line {line}: {': '.join(refusals[0][1:3])} {refusals[0][3]}")
    placed = run("place", "--demo", "-f", "-", stdin=text)
    assert placed.code == 6
    place = f"the API server refuses it (standard input, line {line})"
    assert f"is not placed: {place}: {refusals[0][1]}: {refusals[0][2]}" in " ".join(placed.out.split())


_NONE: Final = "no PriorityClass with name {} was found. {}"
_PRIORITIES: Final = {
    _NONE.format("nope", "Apply that PriorityClass first, or name an existing one."): {"priorityClassName": "nope"},
    _NONE.format("shop-hihg", "Did you mean shop-high? Else apply that PriorityClass first."): {
        "priorityClassName": "shop-hihg"
    },
    _NONE.format("system-nope", "Name system-node-critical, system-cluster-critical or a class of your own."): {
        "priorityClassName": "system-nope"
    },
    f"the integer value of priority (7) {_COMPUTED} 100 from the given PriorityClass name. Remove the field: the class "
    "decides.": {"priority": 7},
}


@pytest.mark.parametrize(("problem", "spec"), _PRIORITIES.items())
def test_P1_priority_that_admission_refuses_heads_the_page(problem: str, spec: dict[str, Any]) -> None:
    source = "--offline" if "system-nope" in problem else "--demo"
    ran = run("explain", source, "-f", "-", "-n", "payments", "-o", "json", stdin=_pod(**spec))
    assert ran.code == 6
    assert json.loads(ran.out)["verdict"]["text"] == f'Refused: pods "bad" is forbidden: {problem}'


def test_further_errors_are_named_by_field() -> None:
    pod = _pod(tolerations=[{"key": "a", "operator": "Foo", "effect": "Bad"}], priorityClassName="nope")
    out = said("explain", "--demo", "-f", "-", stdin=pod)
    assert 'Refused: pods "bad" is forbidden: no PriorityClass with name nope was found.' in out
    assert "Refused as well: spec.tolerations[0].operator and spec.tolerations[0].effect." in out
    assert "Next kubectl qos why toleration" in out
    assert "Placement" not in out


def test_unknown_class_is_not_refused() -> None:
    assert run("explain", "--offline", "-f", "-", stdin=_pod(priorityClassName="nope")).code == 0


def test_table_shows_refused() -> None:
    ran = run("explain", "--demo", "-f", "-", stdin=f"{_FROM_LINT['a toleration']}---\n{GOOD}")
    assert ran.code == 6
    rows = [row.split() for line in ran.out.splitlines() if (row := line[3:]).startswith("pod/")]
    assert [row[0] for row in rows] == ["pod/bad", "pod/good"]
    assert "refused" in rows[0]
    assert "2 manifests: 1 refused" in ran.out


def test_report_page_shows_refusal_and_its_exit_code(tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    ran = run("report", "--demo", "-A", "-f", "-", "-o", str(page), stdin=_FROM_LINT["a toleration"])
    assert ran.code == 6
    assert 'spec.tolerations[0].operator: Unsupported value: "Foo": supported values' in page.read_text()


@pytest.mark.parametrize("where", ["--offline", "--demo"])
def test_scheduling_gates_come_first_online_and_offline(where: str) -> None:
    gates = [{"name": "example.com/a"}, {"name": "example.com/b"}]
    page = said("explain", "-f", "-", where, stdin=_pod(schedulingGates=gates))
    gated = 'scheduling gates "example.com/a" and "example.com/b" are removed (spec.schedulingGates).'
    assert f"(from standard input) ! The scheduler does not look at it until {gated}" in page


_QUOTA: Final = "apiVersion: v1\nkind: ResourceQuota\nmetadata: {name: none}\nspec: {hard: {pods: 0}}\n"


@pytest.mark.parametrize(("command", "code"), [("explain", 6), ("place", 7), ("report", 6)])
def test_objects_of_one_file_count_for_the_pods_of_another(command: str, code: int, tmp_path: Path) -> None:
    (tmp_path / "quota.yaml").write_text(_QUOTA)
    (tmp_path / "pod.yaml").write_text(GOOD)
    page = ("-A", "-o", "-") if command == "report" else ()
    ran = run(command, "--demo", *page, "-f", str(tmp_path / "quota.yaml"), "-f", str(tmp_path / "pod.yaml"))
    assert ran.code == code
    assert "exceeded quota: none, requested: pods=1" in " ".join(ran.out.split())
    assert "error:" not in ran.err


@pytest.mark.parametrize("folder", [False, True])
def test_autoscaler_counts_for_a_workload_of_another_file(folder: bool, tmp_path: Path) -> None:
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
    scaler = {"scaleTargetRef": target, "minReplicas": 2, "maxReplicas": 5}
    objects = {
        "a": raw_workload("Deployment", "web", replicas=4),
        "b": raw_object("HorizontalPodAutoscaler", "web", spec=scaler),
    }
    for name, entry in objects.items():
        (tmp_path / f"{name}.yaml").write_text(yaml.safe_dump(entry))
    paths = [tmp_path] if folder else [tmp_path / f"{name}.yaml" for name in objects]
    files = [word for path in paths for word in ("-f", str(path))]
    explained, placed = (said(command, "--demo", *files) for command in ("explain", "place"))
    assert "2 to 5 replicas from HorizontalPodAutoscaler web" in explained
    assert "deployment/web has 2 to 5 replicas (HorizontalPodAutoscaler web)" in placed


def test_wide_page_quotes_every_refusal() -> None:
    ports = [{"containerPort": 0}, {"containerPort": 80, "protocol": "tcp"}]
    pod = _pod(containers=[raw_container("a", ports=ports)])
    page = said("explain", "--demo", "-o", "wide", "-f", "-", stdin=pod)
    assert "Refused line 10: spec.containers[0].ports[0].containerPort: Required value" in page
    assert 'spec.containers[0].ports[1].protocol: Unsupported value: "tcp": supported values:' in page
    assert "Refused as well: spec.containers[0].ports[1].protocol." in page
