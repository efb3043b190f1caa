"""``kubectl qos lint``: output in each format, and exit codes."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, Final
from xml.etree import ElementTree as ET

import jsonschema
import pytest
import yaml

from kubectl_plugin.glossary.lookup import find
from kubectl_plugin.reports.schema import schema_of
from podrules.lint.rules import RULES
from tests.controlplane.binaries import Unavailable
from tests.controlplane.custom_kinds import SARIF
from tests.golden import check
from tests.kubectl_plugin.answers import data, said
from tests.kubectl_plugin.commands.rule_table import table_of_rules
from tests.kubectl_plugin.running import run
from tests.required import without

ROOT = Path(__file__).resolve().parents[3]
TESTDATA = ROOT / "tests" / "testdata"
GOLDEN = TESTDATA / "golden"
PAGE = ROOT / "docs" / "lint.md"
TABLE = re.compile(r"(<!-- rules -->\n).*?(<!-- end of rules -->)", re.DOTALL)
FORMATS = ("table", "json", "yaml", "markdown", "sarif", "junit", "github")
EXAMPLE = "tests/testdata/lint/example.yaml"
UNWANTED = "tests/testdata/lint/unwanted.yaml"

POD = """\
apiVersion: v1
kind: Pod
metadata:
  name: one
spec:
  containers:
  - name: app
    image: registry.example/app
"""


@pytest.fixture(autouse=True)
def _at_the_root(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)


def _found(*arguments: str, stdin: str = "") -> dict[str, Any]:
    ran = run("lint", *arguments, "-o", "json", stdin=stdin)
    report: dict[str, Any] = json.loads(ran.out)
    jsonschema.Draft202012Validator(schema_of("LintReport")).validate(report)
    return report


def _xml(text: str) -> ET.Element:
    return ET.fromstring(text)  # noqa: S314 - what we wrote ourselves


def _rules(report: dict[str, Any], *, ignored: bool = False) -> list[str]:
    return sorted(entry["rule"] for entry in report["findings"] if (entry["ignored"] is not None) is ignored)


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("name", ["example", "unwanted"])
def test_output(name: str, form: str) -> None:
    ran = run("lint", "-f", f"tests/testdata/lint/{name}.yaml", "-o", form)
    assert (ran.code, ran.err) == (1 if name == "example" else 0, "")
    # A release changes only the version in the file.
    text = re.sub(r'("version": ")[0-9][^"]*(",\n +"rules")', r"\g<1>VERSION\g<2>", ran.out)
    check(GOLDEN / f"lint-{name}.{form}", text)


def test_every_rule_is_described_in_sentences() -> None:
    for rule in RULES.values():
        assert rule.about.endswith(".")
        assert rule.remedy.endswith(".")
        assert not rule.term or find(rule.term), rule.term


@pytest.mark.parametrize("file", ["refused", "unwanted"])
def test_messages_contain_their_values(file: str) -> None:
    report = _found("-f", f"tests/testdata/lint/{file}.yaml")
    assert len(report["findings"]) > 20
    for entry in report["findings"]:
        assert not re.search(r"\{[a-z]+\}", entry["message"])
        assert entry["message"].endswith((".", ".)"))


@pytest.mark.parametrize("file", ["refused", "unwanted"])
def test_finding_is_placed_at_last_part_of_its_field(file: str) -> None:
    path = ROOT / "tests" / "testdata" / "lint" / f"{file}.yaml"
    lines = path.read_text(encoding="utf-8").splitlines()
    found = 0
    for entry in _found("-f", str(path))["findings"]:
        if re.search(r"[a-z]$", entry["field"]):
            word = re.split(r"[./\]]", entry["field"])[-1]
            found += lines[entry["line"] - 1][entry["column"] - 1 :].startswith(f"{word}:")
    # The other fields are absent; their findings name the place where they would be.
    assert found > 10


def test_finding_is_placed_at_its_field() -> None:
    report = _found("-f", EXAMPLE)
    (error,) = (entry for entry in report["findings"] if entry["level"] == "error")
    assert error["rule"] == "request-over-limit"
    assert error["field"] == "spec.template.spec.containers[0].resources.requests"
    text = (ROOT / EXAMPLE).read_text(encoding="utf-8").splitlines()[error["line"] - 1]
    assert text[error["column"] - 1 :].startswith("memory: 2Gi")


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (EXAMPLE, 1),
        (f"{EXAMPLE} --disable=request-over-limit", 0),
        (f"{EXAMPLE} --disable=request-over-limit --severity=warning", 1),
        (f"{EXAMPLE} --disable request-over-limit,budget-blocks-drains --severity warning", 0),
        (UNWANTED, 0),
        (f"{UNWANTED} --severity=notice", 1),
        (f"{EXAMPLE} -f missing.yaml", 6),
        (f"{EXAMPLE} --disable=no-such", 2),
        (f"{EXAMPLE} --severity=fatal", 2),
        (f"{EXAMPLE} -o xml", 2),
    ],
)
@pytest.mark.parametrize("form", ["table", "sarif"])
def test_exit_codes(arguments: str, code: int, form: str) -> None:
    assert run("lint", "-o", form, "-f", *arguments.split()).code == code


def test_wrong_command_line_names_the_remedy() -> None:
    assert "-f FILE" in run("lint").err
    assert "Did you mean bare-pod?" in run("lint", "-f", EXAMPLE, "--disable=bare-pods").err


def test_other_files_are_checked_despite_an_unreadable_one(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(POD, encoding="utf-8")
    (tmp_path / "b.yaml").write_text("kind: {{ .Values.kind }}\n", encoding="utf-8")
    (tmp_path / "c.yaml").write_bytes(b"\xff\xfe")
    (tmp_path / "d.yaml").write_text(POD + "---\nkind: Pod\n", encoding="utf-8")
    (tmp_path / "Chart.txt").write_text("not read", encoding="utf-8")
    (tmp_path / "values.yaml").write_text("replicas: 3\n", encoding="utf-8")
    report = _found("-f", str(tmp_path), "-f", str(tmp_path / "gone"))
    assert [Path(entry["file"]).name for entry in report["unreadable"]] == ["b.yaml", "c.yaml", "d.yaml", "gone"]
    assert len(report["objects"]) == 2
    assert report["passedOver"] == 1
    for form in FORMATS:
        ran = run("lint", "-f", str(tmp_path), "-o", form)
        assert ran.code == 6
        assert "it is a template. Render it first: helm template" in " ".join(ran.out.split())
        assert "Traceback" not in ran.err


def test_standard_input() -> None:
    ran = run("lint", "-f", "-", "--severity=notice", stdin=POD)
    assert ran.code == 1
    assert "standard input:6:3" in ran.out or "standard input:7:5" in ran.out


_ONLY: Final = tuple(f"--disable={name}" for name in RULES if name not in {"bare-pod", "best-effort"})
"""The other rules would add findings."""


def test_comments_and_annotations_ignore() -> None:
    head = _found("-f", "-", *_ONLY, stdin=f"# kubectl-qos: ignore bare-pod, best-effort - a test\n{POD}")
    assert _rules(head, ignored=True) == ["bare-pod", "best-effort"]
    assert _rules(head) == []
    assert {entry["ignored"]["reason"] for entry in head["findings"]} == {"a test"}
    field = _found("-f", "-", *_ONLY, stdin=POD.replace("  - name", "  # kubectl-qos: ignore best-effort\n  - name"))
    assert (_rules(field), _rules(field, ignored=True)) == (["bare-pod"], ["best-effort"])
    elsewhere = _found("-f", "-", *_ONLY, stdin=POD.replace("spec:", "spec:  # kubectl-qos: ignore best-effort"))
    assert _rules(elsewhere) == ["bare-pod", "best-effort"]
    for lines in (
        ["kubectl-qos.io/ignore: best-effort,bare-pod"],
        ["kubectl-qos/ignore: bare-pod , best-effort"],
        ["kubectl-qos/ignore: bare-pod", "kubectl-qos.io/ignore: best-effort"],
    ):
        annotation = "\n    ".join(["metadata:\n  annotations:", *lines])
        annotated = _found("-f", "-", *_ONLY, stdin=POD.replace("metadata:", annotation))
        assert _rules(annotated, ignored=True) == ["bare-pod", "best-effort"]
        assert {entry["ignored"]["by"] for entry in annotated["findings"]} == {"annotation"}


@pytest.mark.parametrize(
    "hook", ["helm.sh/hook: test", "helm.sh/hook: pre-install,pre-upgrade", "argocd.argoproj.io/hook: Sync"]
)
def test_pod_awaited_by_a_tool_is_not_bare(hook: str) -> None:
    text = POD.replace("metadata:", f"metadata:\n  annotations:\n    {hook}")
    other = text.replace("/hook:", "/hook-weight:")
    assert _rules(_found("-f", "-", *_ONLY, stdin=text)) == ["best-effort"]
    assert _rules(_found("-f", "-", *_ONLY, stdin=other)) == ["bare-pod", "best-effort"]


def test_page_shows_a_rule_once_with_its_places() -> None:
    text = "---\n".join(POD.replace("name: one", f"name: pod-{number}") for number in range(12))
    asked = ("lint", "-f", "-", *_ONLY)
    brief, wide = (run(*asked, "-o", form, stdin=text).out for form in ("table", "wide"))
    for page, shown in ((brief, 5), (wide, 12)):
        assert page.count("The pod is BestEffort") == page.count("Request memory and cpu") == 1
        assert page.count("standard input:") == 2 * shown
        assert page.count(" warning best-effort\n    - name: app\n      ^\n") == shown
    assert brief.count("and 7 more places; all: -o wide") == 2
    assert "more places" not in wide
    assert [entry["rule"] for entry in data(*asked, stdin=text)["findings"]].count("bare-pod") == 12
    sarif = json.loads(run(*asked, "-o", "sarif", stdin=text).out)
    assert len(sarif["runs"][0]["results"]) == 24


def test_places_are_listed_below_their_message() -> None:
    pods = (
        POD.replace("name: one", f"name: pod-{name}").replace("spec:", f"spec:\n  nodeName: {name}") for name in "aba"
    )
    page = said("lint", "-f", "-", "-o", "wide", stdin="---\n".join(pods))
    first, second = page.split("nothing checks that a exists", 1)
    second, _ = second.split("nothing checks that b exists", 1)
    assert [first.count(" node-name-set "), second.count(" node-name-set ")] == [2, 1]


WIDE = f"""\
apiVersion: v1
kind: ConfigMap
metadata: {{name: c, annotations: {{a: "{"long " * 30}"}}, lables: {{b: "{"long " * 30}"}}}}
immutible:\ttrue
"""


@pytest.mark.parametrize("width", [40, 80, 200])
def test_caret_is_below_the_field(width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    lines = run("lint", "-f", "-", stdin=WIDE).out.splitlines()
    for place, key in (("standard input:3:", "lables"), ("standard input:4:1 ", "immutible: true")):
        shown, caret = lines[next(at for at, line in enumerate(lines) if line.startswith(place)) + 1 :][:2]
        assert caret.strip() == "^"
        assert shown[len(caret) - 1 :].startswith(key)
    assert max(map(len, lines)) <= width


def test_unknown_rule_in_ignore_is_reported() -> None:
    annotation = "metadata:\n  annotations:\n    kubectl-qos/ignore: nothing\n    kubectl-qos.io/ignore: more"
    text = f"# kubectl-qos: ignore bare-pods\n# kubectl-qos: ignore\n{POD}".replace("metadata:", annotation)
    report = _found("-f", "-", stdin=text)
    unknown = [(entry["line"], entry["rule"]) for entry in report["unknownIgnores"]]
    assert unknown == [(1, "bare-pods"), (2, ""), (8, "more"), (7, "nothing")]
    for form in ("table", "sarif", "github", "markdown"):
        assert "Unknown rule bare-pods" in run("lint", "-f", "-", "-o", form, stdin=text).out


@pytest.mark.parametrize("text", ["", "\n", "# Source: chart\n---\n"])
@pytest.mark.parametrize("form", FORMATS)
def test_empty_input_is_an_error(tmp_path: Path, text: str, form: str) -> None:
    file = tmp_path / "e.yaml"
    file.write_text(text, encoding="utf-8")
    for named, where in (("-", "standard input"), (str(file), str(file)), (str(tmp_path), str(file))):
        ran = run("lint", "-o", form, "-f", named, stdin=text)
        assert (ran.code, ran.out) == (6, "")
        assert ran.err == (
            f"error: {where}: no object in it; nothing to check\n"
            "Check the command that should have written it: a command that fails writes nothing\n"
        )


def test_empty_file_is_an_error_only_if_named(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(POD, encoding="utf-8")
    empty = tmp_path / "e.yaml"
    empty.touch()
    among = run("lint", "-f", str(tmp_path))
    assert among.code == 0
    assert among.err == f"warning: {empty}: no object in it\n"
    named = run("lint", "-f", str(tmp_path), "-f", str(empty))
    assert named.code == 6
    assert "1 file cannot be read" in named.out
    piped = _found("-f", str(tmp_path / "a.yaml"), "-f", "-")
    assert [entry["file"] for entry in piped["unreadable"]] == ["standard input"]


@pytest.mark.parametrize("text", [None, "kind: {{ .Values.kind }}\n"])
def test_unreadable_files_do_not_count_as_checked(tmp_path: Path, text: str | None) -> None:
    file = tmp_path / "a.yaml"
    if text is not None:
        file.write_text(text, encoding="utf-8")
    ran = run("lint", "-f", str(file))
    assert ran.code == 6
    assert ran.out.startswith("x 1 file cannot be read: nothing was checked.\n")
    assert "of a kind that is checked" not in ran.out
    (tmp_path / "b.yaml").write_text(POD, encoding="utf-8")
    beside = run("lint", "-f", str(file), "-f", str(tmp_path / "b.yaml"))
    assert "1 file cannot be read. " in beside.out
    assert " in 1 object of 1 file" in beside.out


def test_objects_that_are_not_checked_are_reported() -> None:
    ran = run("lint", "-f", "-", stdin="apiVersion: v1\nkind: Secret\n")
    assert (ran.code, "No object has a kind that is checked." in ran.out) == (0, True)
    page = said("lint", "-f", "-", stdin="apiVersion: v1\nkind: List\nitems: [null, 3]\n")
    assert "items[0]: an API object is a mapping, this is null." in page
    assert "items[1]: an API object is a mapping, this is a number." in page


def test_namespace_flag_applies_to_objects_without_one() -> None:
    budget = "apiVersion: policy/v1\nkind: PodDisruptionBudget\nmetadata: {name: all, namespace: shop}\n"
    text = f"{POD}---\n{budget}spec: {{minAvailable: 1, selector: {{}}}}\n"
    assert "budget-blocks-drains" not in _rules(_found("-f", "-", stdin=text))
    assert "budget-blocks-drains" in _rules(_found("-n", "shop", "-f", "-", stdin=text))


@pytest.mark.parametrize("depth", [100, 400, 700, 990, 1100])
def test_deep_objects_are_checked_or_reported(depth: int) -> None:
    ran = run("lint", "-f", "-", stdin=f"{POD}  extra: {'[' * depth}{']' * depth}\n")
    assert ran.err == ""
    assert any(one in ran.out for one in ("unknown-field", "nested too deeply", "maximum recursion depth"))
    assert depth > 400 or "bare-pod" in ran.out


@pytest.mark.parametrize("form", FORMATS)
def test_hostile_names_do_not_reach_a_terminal_or_another_line(form: str) -> None:
    hostile = 'a\u202e\x1b[31m\n::error::b <&"%0A'
    text = POD.replace("name: one", f"name: {json.dumps(hostile)}").replace(
        "image:", f"{json.dumps(hostile)}: # kubectl-qos: ignore \x85\n    image:"
    )
    ran = run("lint", "-f", "-", "-o", form, stdin=text)
    assert ran.code == 1
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f\u202e]", ran.out)
    assert not re.search("^::error::", ran.out, re.MULTILINE)
    if form == "junit":
        _xml(ran.out)


def test_junit_is_readable_for_consumers(tmp_path: Path) -> None:
    broken = tmp_path / "broken.yaml"
    broken.write_text("{", encoding="utf-8")
    root = _xml(run("lint", "-f", EXAMPLE, "-f", UNWANTED, "-f", str(broken), "-o", "junit").out)
    assert root.tag == "testsuites"
    for element in (root, *root):
        cases = list(element.iter("testcase"))
        assert element.get("tests") == str(len(cases))
        assert element.get("failures") == str(sum(case.find("failure") is not None for case in cases))
        assert element.get("errors") == str(sum(case.find("error") is not None for case in cases))
    assert (root.get("failures"), root.get("errors")) == ("1", "1")
    names = [(case.get("classname"), case.get("name")) for case in root.iter("testcase")]
    assert len(names) == len(set(names))
    for case in root.iter("testcase"):
        # Jenkins' schema: failures come before output.
        assert [entry.tag for entry in case] in (["failure"], ["error"], ["system-out"], ["failure", "system-out"], [])
    (failure,) = root.iter("failure")
    assert failure.get("type") == "request-over-limit"
    assert f"{EXAMPLE}:19:35" in str(failure.text)
    assert not list(_xml(run("lint", "-f", UNWANTED, "-o", "junit").out).iter("failure"))
    assert list(_xml(run("lint", "-f", UNWANTED, "-o", "junit", "--severity=notice").out).iter("failure"))


def _sarif_schema() -> dict[str, Any]:
    found = SARIF.find()
    if isinstance(found, Unavailable):
        without(found.reason)
    text = found[0].read_text(encoding="utf-8")
    schema: dict[str, Any] = json.loads(text[text.index("`") + 1 : text.rindex("`")])
    assert "2.1.0" in schema["title"]
    return schema


def test_sarif_fits_its_schema(tmp_path: Path) -> None:
    validator = jsonschema.Draft4Validator(_sarif_schema())
    (tmp_path / "a b%.yaml").write_text("{", encoding="utf-8")
    ignored = "# kubectl-qos: ignore no-such, bare-pod - a test\n"
    files = ("-f", EXAMPLE, "-f", UNWANTED, "-f", "tests/testdata/lint/refused.yaml", "-f", str(tmp_path), "-f", "-")
    log = json.loads(run("lint", *files, "-o", "sarif", stdin=ignored + POD).out)
    validator.validate(log)
    assert list(validator.iter_errors({**log, "runs": [{}]}))
    (ran,) = log["runs"]
    assert [entry["id"] for entry in ran["tool"]["driver"]["rules"]] == list(RULES)
    for result in ran["results"]:
        assert ran["tool"]["driver"]["rules"][result["ruleIndex"]]["id"] == result["ruleId"]
    suppressed = [result for result in ran["results"] if result["suppressions"]]
    assert [result["ruleId"] for result in suppressed] == ["node-name-set", "bare-pod"]
    assert suppressed[1]["suppressions"] == [{"kind": "inSource", "justification": "a test"}]
    invocation = ran["invocations"][0]
    assert invocation["executionSuccessful"] is False
    assert len(invocation["toolExecutionNotifications"]) == 2


def test_each_github_command_has_a_place() -> None:
    lines = run("lint", "-f", EXAMPLE, "-o", "github").out.splitlines()
    assert lines[0].startswith(f"::error file={EXAMPLE},line=19,col=35,title=request-over-limit::Deployment/web ")
    assert len(lines) == 2
    assert run("lint", "-f", "-", "-o", "github", stdin="").out == ""


def test_table_of_rules_is_that_of_the_code() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert TABLE.search(text)
    check(PAGE, TABLE.sub(lambda found: found[1] + table_of_rules() + found[2], text))


def test_yaml_and_json_agree() -> None:
    assert yaml.safe_load(run("lint", "-f", EXAMPLE, "-o", "yaml").out) == _found("-f", EXAMPLE)
