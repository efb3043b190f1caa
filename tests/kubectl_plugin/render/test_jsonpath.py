"""Templates of ``-o jsonpath`` have the same meaning as in kubectl."""

from __future__ import annotations

import json
import random
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from kubectl_plugin.render.jsonpath import JSONPathError, go_json, go_print, parse
from kubectl_plugin.render.structured import render_json_list
from tests.controlplane.fixtures import require_binaries


def _node(address: str, cpu: str, *more: dict[str, str], ready: bool) -> dict[str, Any]:
    addresses = [{"type": "LegacyHostIP", "address": address}, *more]
    return {
        "kind": "None",
        "metadata": {"name": address, "labels": {"kubernetes.io/hostname": address}},
        "status": {"capacity": {"cpu": cpu}, "ready": ready, "addresses": addresses},
    }


NODES: Final[Any] = {
    "kind": "List",
    "items": [
        _node("127.0.0.1", "4", ready=True),
        _node("127.0.0.2", "8", {"type": "another", "address": "127.0.0.3"}, ready=False),
    ],
    "users": [
        {"name": "myself", "user": {}},
        {"name": "e2e", "user": {"username": "admin", "password": "secret"}},
    ],
}
POINTS: Final[Any] = [
    {"id": "i1", "x": 4, "y": -5},
    {"id": "i2", "x": -2, "y": -5, "z": 1},
    {"id": "i3", "x": 8, "y": 3},
    {"id": "i4", "x": -6, "y": -1},
    {"id": "i5", "x": 0, "y": 2, "z": 1},
    {"id": "i6", "x": 1, "y": 4},
    {"id": "i7", "x": None, "y": 4},
]


OF_NODES: Final = {
    "{range .items[*]}{.metadata.name}, {end}{.kind}": "127.0.0.1, 127.0.0.2, List",
    r'{range .items[*]}{.metadata.name}{"\t"}{end}': "127.0.0.1\t127.0.0.2\t",
    "{.items[*].status.addresses[*].address}": "127.0.0.1 127.0.0.2 127.0.0.3",
    "{range .items[*]}{range .status.addresses[*]}{.address}, {end}{end}": "127.0.0.1, 127.0.0.2, 127.0.0.3, ",
    "{.items[*]['metadata.name', 'status.capacity']}": '127.0.0.1 127.0.0.2 {"cpu":"4"} {"cpu":"8"}',
    "{range .items[*]}[{.kind}, {.status.capacity}] {end}": '[None, {"cpu":"4"}] [None, {"cpu":"8"}] ',
    '{.users[?(@.name=="e2e")].user.password}': "secret",
    r"{.items[0].metadata.labels.kubernetes\.io/hostname}": "127.0.0.1",
    r'{.items[?(@.metadata.labels.kubernetes\.io/hostname=="127.0.0.1")].kind}': "None",
    "{.items[?(@..ready==true)].metadata.name}": "127.0.0.1",
    "{..name}": "127.0.0.1 127.0.0.2 myself e2e",
    "before-{.hello}after": "before-after",
}


@pytest.mark.parametrize(
    ("template", "data", "expected"),
    [
        ("hello jsonpath", None, "hello jsonpath"),
        ("{..}", [1, 2, 3], "[1,2,3]"),
        ("{[?(@<5)]}", [2, 6, 3, 7], "2 3"),
        ('{"{"}', None, "{"),
        ("{[1,3,4]}", [0, 1, 2, 3, 4], "1 3 4"),
        ("{[0:2]}", ["Monday", "Tudesday"], "Monday Tudesday"),
        ("{[?(@.z)].id}", POINTS, "i2 i5"),
        ("{[0]['id']}", POINTS, "i1"),
        ("{[-1]['x']}", POINTS, "null"),
        ("{range .items[*]}{.metadata.name}{end}", {"items": []}, ""),
        *((template, NODES, expected) for template, expected in OF_NODES.items()),
    ],
)
def test_K_templates_of_upstreams_tests(template: str, data: Any, expected: str) -> None:
    assert parse(template).render(data) == expected


@pytest.mark.parametrize(
    ("template", "problem"),
    [
        ("{hello}", "unknown word 'hello': a field is written .hello"),
        ("{.a", "} is missing"),
        ("{.a[0}", "[ is not closed"),
        ("{.a[x]}", "[x]: write a number"),
        ("{.a[?(@.b=='c']}", "a filter is not closed"),
        ("{.a[?(@.b=='c')}", "a filter ends with )]"),
        ("{.a[?(@.b<>1)]}", "unknown operator <>"),
        ("{.a....b}", "'..' twice"),
        ('{"a}', 'has no closing "'),
        (r'{"\q"}', r"unknown escape \q"),
        ("{1.2.3}", "'1.2.3' is not a number"),
        ("{end}", "{end} without {range …} before it"),
        ("{range .a}{.b}", "{range …} without {end} after it"),
        ("{range .a}{end .b}", "{end} must be alone"),
        ("{.a}}{#}", "unexpected '#'"),
    ],
)
def test_K_invalid_template_is_an_error(template: str, problem: str) -> None:
    with pytest.raises(JSONPathError, match=re.escape(problem)):
        parse(template)


@pytest.mark.parametrize(
    ("template", "problem"),
    [
        ("{.users[5].name}", "[5] is out of bounds: the list has 2"),
        ("{.kind[0]}", "[0] is for a list, and this is a text"),
        ("{.kind[?(@.x)]}", "is for a list"),
        ("{.users[1:0]}", "[1:0] starts after its end"),
        ("{.users[0:1:0]}", "the step has to be 1 or more"),
        ("{.items[?(@.status.ready>false)]}", "use == or !="),
        ("{.items[?(@.status.ready==1)]}", "a truth value == a whole number: these cannot be compared"),
        ("{.items[?(@.status.addresses[*].type=='x')]}", "compares one value with one other"),
    ],
)
def test_K_template_that_does_not_match_the_data_is_an_error(template: str, problem: str) -> None:
    parsed = parse(template)
    with pytest.raises(JSONPathError, match=re.escape(problem)):
        parsed.render(NODES)


def test_values_and_template_are_shown_unchanged() -> None:
    assert parse('{.a}\x1b{"\x1b"}').render({"a": "x\x1b"}, lambda text: text.replace("\x1b", "?")) == "x?\x1b\x1b"


@pytest.mark.parametrize(
    ("value", "printed", "as_json"),
    [
        (1e6, "1e+06", "1000000"),
        (1e20, "1e+20", "100000000000000000000"),
        (123456.5, "123456.5", "123456.5"),
        (1234567.5, "1.2345675e+06", "1234567.5"),
        (1e21, "1e+21", "1e+21"),
        (1.5e-5, "1.5e-05", "0.000015"),
        (1e-7, "1e-07", "1e-7"),
        (0.25, "0.25", "0.25"),
        (-2.0, "-2", "-2"),
        (0.0, "0", "0"),
        (None, "<nil>", "null"),
        ({"b": [1, True], "a": {}}, "map[a:map[] b:[1 true]]", '{"a":{},"b":[1,true]}'),
        ("<é\u2028\x1f>", "<é\u2028\x1f>", '"\\u003cé\\u2028\\u001f\\u003e"'),
    ],
)
def test_values_are_printed_as_in_go(value: Any, printed: str, as_json: str) -> None:
    assert (go_print(value), go_json(value)) == (printed, as_json)


# Comparison with the real kubectl

OBJECT: Final[Any] = {
    "apiVersion": "kubectl-qos/v1",
    "kind": "PodExplanation",
    "metadata": {"name": "sample", "labels": {"k8s.io/a.b": "x", "app": "<web> & 'more'"}},
    "qos": {
        "class": "Burstable",
        "score": 937,
        "part": 0.25,
        "million": 1234567.5,
        "large": 1e21,
        "small": 1.5e-7,
        "none": None,
    },
    "containers": [
        {"name": "app", "memory": 200, "share": 0.5, "ready": True, "ports": [80, 81], "env": [{"n": "A"}, {"n": "é"}]},
        {"name": "proxy", "memory": 100, "share": 1.5, "ready": False, "ports": [], "env": []},
        {"name": "log", "memory": 300, "ready": True, "ports": [9000], "last": {"code": 137, "why": "OOM\tkilled"}},
    ],
    "empty": [],
    "matrix": [[1, 2, 3], [4, 5, 6]],
    "text": 'quote " backslash \\ tab \t line\nend',
}
_FIELDS: Final = ("name", "memory", "share", "ready", "ports", "env", "last", "nothing", "last.why", "env[*].n")
_LISTS: Final = (
    *(".containers", ".matrix", ".empty", ".containers[*].ports", ".containers[0].env", ".matrix[1]", ".kind"),
)
_INDEXES: Final = (
    *("*", "0", "1", "-1", "-2", ":", "1:", ":2", "::2", "1::2", ":-1", "-2:", "0,2", "0,-1", "5", "2:1", ""),
)
_RIGHT: Final = ("100", "200", "+200", "0.5", "true", "false", "'app'", '"log"', "@.memory", "1.5e", "'é'")
_LITERALS: Final = ("5", "-1.50", "true", "@", ".x", '"t"', "1e3")


def _chance(seed: int) -> random.Random:
    """A random generator with the same sequence in every run."""
    return random.Random(seed)  # noqa: S311 - no secret


def _expressions(chance: random.Random) -> Iterator[str]:
    """Templates of all kinds, valid and invalid."""
    pick = chance.choice
    while True:
        index = f"{pick(_LISTS)}[{pick(_INDEXES)}]"
        compared = f"[?(@.{pick(_FIELDS)}{pick(['==', '!=', '<', '<=', '>', '>='])}{pick(_RIGHT)})]"
        yield from (
            f"{{{index}}}",
            f"{{.containers[{pick(_INDEXES)}].{pick(_FIELDS)}}}",
            f"{{.containers{compared}.name}}",
            f"{{.containers[?(@.{pick(_FIELDS)})].{pick(_FIELDS)}}}",
            f"{{.containers[{pick(_INDEXES)}]['{pick(_FIELDS)}', '{pick(_FIELDS)}']}}",
            f"{{range {index}}}<{{@}}{{.{pick(_FIELDS)}}}>{{end}}",
            f"{{range .containers[*]}}{{.name}}:{{range .{pick(('ports', 'env'))}[*]}}{{@}},{{end}};{{end}}",
            f"{pick(('a', '', 'x}'))}{{$.qos.{pick(('class', 'score', 'part', 'million', 'large', 'small', 'none'))}}}",
            f"{{..{pick(('name', 'n', 'why', 'ports[0]', 'nothing'))}}}",
            f"{{.qos.score {pick(_LITERALS)}}}",
        )


_FIXED: Final = r"""
{@}
{$}
{.}
{.[0]}
.kind
{.text}
{.metadata.labels}
{.metadata.labels.k8s\.io/a\.b}
{.metadata.labels['k8s\.io/a\.b']}
{['kind','metadata.name']}
{"a\n\t\\\x41\u00e9\101"}
{'it\'s'}
{.kind.*}
{.matrix[*][*]}
{.matrix[*][?(@>2)]}
{.containers[?(@.ports[0])].name}
{.containers[?(@.env[?(@.n=='A')])].name}
{ .kind }{ }{''}
{.containers[ 0 ].name}
{.containers[0, 1].name}
{.empty[0]}
{.empty[*].x}
{.empty[?(@.x)]}
{...name}
{.containers[*].name .x}
{.containers[?(@.name=="a)pp")].name}
{.containers[0].name}{'"'}
{-5}{+3}{2.50}{true}
""".strip().split("\n")
_UNORDERED: Final = ("{.*}", "{..}", "{.qos.*}", "{.containers[*].*}", "{..name}", "{..*}", "{.metadata..*}", "{.a.*}")


@pytest.fixture(scope="module")
def kubectl() -> Path:
    return require_binaries(["kubectl"])["kubectl"]


def _real(
    kubectl: Path, folder: Path, template: str, output: str = "jsonpath-file="
) -> subprocess.CompletedProcess[str]:
    """The output of kubectl for the object; ``patch --local`` contacts no cluster."""
    (folder / "object.json").write_text(json.dumps(OBJECT), encoding="utf-8")
    (folder / "template").write_text(template, encoding="utf-8")
    command = ["patch", "--local", f"--filename={folder / 'object.json'}", "--type=merge", "--patch={}"]
    return subprocess.run(
        [kubectl, *command, f"--output={output}{folder / 'template' if output == 'jsonpath-file=' else template}"],
        env={"KUBECONFIG": str(folder / "none"), "HOME": str(folder)},
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
        timeout=60,
    )


def _ours(template: str) -> str | None:
    try:
        return parse(template).render(OBJECT)
    except JSONPathError:
        return None


@pytest.mark.controlplane
def test_K_generated_templates_print_the_same_as_kubectl(kubectl: Path, tmp_path: Path) -> None:
    source = _expressions(_chance(20261121))
    generated = [*_FIXED, *dict.fromkeys(next(source) for _ in range(900))]
    ours = {template: text for template in generated if (text := _ours(template)) is not None}
    assert len(ours) > 250
    assert sum(map(bool, ours.values())) > 150
    mark = "\n%%\n"
    done = _real(kubectl, tmp_path, mark.join(ours))
    assert done.returncode == 0, done.stderr
    printed = dict(zip(ours, done.stdout.split(mark), strict=True))
    differing = {template: real for template, real in printed.items() if real != ours[template]}
    # Go iterates over the fields of an object in random order.
    unordered = {
        template for template, real in differing.items() if sorted(real.split()) == sorted(ours[template].split())
    }
    assert [template for template in differing if ".." not in template or template not in unordered] == []


@pytest.mark.controlplane
def test_K_templates_that_fail_fail_in_kubectl(kubectl: Path, tmp_path: Path) -> None:
    source = _expressions(_chance(7))
    failing = list(dict.fromkeys(template for _ in range(400) if _ours(template := next(source)) is None))
    assert len(failing) > 30
    # Each call is a process: a few of every kind.
    sample = _chance(3).sample(failing, 12)
    assert [template for template in sample if _real(kubectl, tmp_path, template).returncode == 0] == []


@pytest.mark.controlplane
@pytest.mark.parametrize(
    "template",
    [
        *("{.containers[*].name}", "{.containers}", "{.kind} of {.metadata.name}", "{.nothing}", "{.empty[*]}"),
        "{range .containers[*]}{.name}, {end}",
    ],
)
def test_K_as_json(kubectl: Path, tmp_path: Path, template: str) -> None:
    done = _real(kubectl, tmp_path, template, output="jsonpath-as-json=")
    assert done.returncode == 0, done.stderr
    ours = "".join(map(render_json_list, parse(template).values(OBJECT)))
    # Go sorts the keys of an object and escapes characters that could end a script in HTML: the values are the same.
    assert _documents(ours) == _documents(done.stdout)
    assert ours.count("\n") == done.stdout.count("\n")


def _documents(text: str) -> list[Any]:
    """All JSON documents of a text, in order."""
    found, at = [], 0
    while at < len(text):
        document, at = json.JSONDecoder().raw_decode(text, at)
        found.append(document)
        at += len(text[at:]) - len(text[at:].lstrip())
    return found


@pytest.mark.controlplane
@pytest.mark.parametrize("template", _UNORDERED)
def test_K_fields_in_any_order(kubectl: Path, tmp_path: Path, template: str) -> None:
    done = _real(kubectl, tmp_path, template)
    ours = _ours(template)
    if ours is None:
        assert done.returncode != 0
    else:
        assert (done.returncode, sorted(done.stdout.split())) == (0, sorted(ours.split())), done.stderr
