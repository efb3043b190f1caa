"""Suggested commands keep the source of the answer and name existing objects."""

from __future__ import annotations

import html
import json
import re
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import pytest

from cluster_io.demo import demo_objects
from cluster_io.errors import Unreachable
from kubectl_plugin.cli import main
from kubectl_plugin.exit_codes import NOT_CERTAIN, print_error, words_of
from kubectl_plugin.glossary.catalogue import CATALOGUE
from kubectl_plugin.html.data import data_block
from kubectl_plugin.options import DEMO_SCHEDULER, ClusterOptions, TypedCommand
from kubectl_plugin.parsing import parse
from kubectl_plugin.parsing.commands import COMMANDS
from kubectl_plugin.render.command import Command, Hint, Prose, Target, as_typed, kubectl, qos, why
from kubectl_plugin.render.markdown import markdown_page
from kubectl_plugin.render.page import Page, Section
from kubectl_plugin.render.text import render_page
from kubectl_plugin.reports.cluster.cluster_report import cluster_report
from kubectl_plugin.reports.steps import FenceReport, Step, StepKind, StepOutcome
from kubectl_plugin.reports.verdict import Severity
from kubectl_plugin.views.caveats import unread_lines
from kubectl_plugin.views.node.fencing import fence_page, unfence_page
from kubectl_plugin.views.node.fencing import state_words as fencing_state
from kubectl_plugin.views.pod.deletion import state_words as deletion_state
from podrules.api.model.base import ObjectMeta
from podrules.api.names import NO_COMMAND
from podrules.pod.reading import UnreadInput
from podrules.silent_node.fencing import FenceRemainder, FenceState
from tests.kubectl_plugin.answers import write_list
from tests.kubectl_plugin.running import run
from tests.report.large import large_facts
from tests.scale.cluster import Size

SUGGESTED: Final = re.compile(r"^(?:Next)? +(kubectl .*)$", re.MULTILINE)
CHOSEN: Final = ClusterOptions(
    context="prod eu",
    kubeconfig="../my configs/it's.yaml",
    cluster="c",
    user="u;id",
    as_user="system:admin",
    as_groups=("system:masters", "$(id)"),
)
NAMESPACES: Final = sorted({one["metadata"]["namespace"] for one in demo_objects() if one["kind"] == "Pod"})
NODES: Final = [one["metadata"]["name"] for one in demo_objects() if one["kind"] == "Node"]


def suggested(text: str) -> list[str]:
    """The command to paste, without its explanation."""
    return [line.partition("   # ")[0] for line in SUGGESTED.findall(text)]


def existing(objects: Iterable[Mapping[str, Any]]) -> set[tuple[str, str, str]]:
    return {
        (one["kind"].lower(), one["metadata"].get("namespace", ""), one["metadata"]["name"])
        for one in objects
        if one["kind"] in {"Pod", "Node", "Deployment", "StatefulSet", "DaemonSet"}
    }


def named(command: str) -> Iterator[tuple[str, str, str]]:
    """Kind, namespace and name of the subject of a suggested command; the command must parse."""
    words = shlex.split(command)
    assert words[:2] == ["kubectl", "qos"], command
    options: Any = parse(words[2:]).options
    for target in (*getattr(options, "targets", ()), *getattr(options, "nodes", ())):
        kind, slash, name = target.partition("/")
        if kind == "pods" and not slash:
            yield "node", "", options.selection.fields.removeprefix("spec.nodeName=")
            continue
        kind, name = (kind, name) if slash else ("node", kind)
        yield kind, "" if kind == "node" else options.cluster.namespace, name


def hold(text: str, flags: Sequence[str], objects: Iterable[Mapping[str, Any]]) -> int:
    """Check that each command of a text keeps the target and names existing objects; return their number."""
    # The command that adds to a List has FILE as its name.
    there, commands = existing(objects), [one for one in suggested(text) if not one.endswith(">> FILE")]
    for command in commands:
        assert set(named(command)) <= there, command
        assert set(flags) <= set(shlex.split(command)), command
    return len(commands)


ANSWERS: Final = {
    **{f"pods of {space}": ("explain", "pods", "-n", space) for space in NAMESPACES},
    **{f"ends of {space}": ("explain", "pods", "-n", space, "--timeline=node-lost") for space in NAMESPACES},
    "deployments": ("explain", "deployments", "-n", "shop"),
    "nodes": ("explain", "nodes"),
    "pressure": ("node", *NODES),
    "partitions": ("partitions",),
    "fence": ("fence", "node/node-c3"),
    "fence one that answers": ("fence", "node/node-a1"),
    "unfence": ("unfence", "node/node-c3"),
    "delete": ("delete", "pod/db-1", "-n", "shop", "--grace-period=0"),
    "delete where it answers": ("delete", "pod/db-0", "-n", "shop", "--grace-period=0"),
    "drain": ("place", "--drain", "node/node-a1"),
}
SILENT_ANSWERS: Final = {"fence", "unfence"}
"""Their suggestions would change the cluster, and these sources have none."""


@pytest.mark.parametrize("name", ANSWERS)
def test_K_suggested_commands_keep_the_demo(name: str) -> None:
    ran = run(*ANSWERS[name], "--demo")
    assert ran.err == ""
    found = hold(ran.out, ["--demo"], demo_objects())
    assert bool(found) == (name not in SILENT_ANSWERS)


@pytest.mark.parametrize("name", ANSWERS)
def test_K_suggested_commands_keep_the_snapshot(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The path stays as typed."""
    monkeypatch.chdir(tmp_path)
    write_list(Path("my snapshot.json"), demo_objects())
    ran = run(*ANSWERS[name], "--snapshot", "my snapshot.json")
    assert ran.err == ""
    hold(ran.out, ["--snapshot=my snapshot.json"], demo_objects())


def test_K_suggested_commands_run(tmp_path: Path) -> None:
    """The commands run as pasted, from the folder in which they were printed."""
    config = tmp_path / "scheduler config.yaml"
    config.write_text("apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n")
    pod = "pod/image-resizer-t7fpjd79c-t6pxj"
    ran = run("explain", pod, "-n", "shop", "--demo", "--scheduler-config", str(config))
    commands = suggested(ran.out)
    assert len(commands) == 5
    for command in commands:
        takes_none = command.startswith(("kubectl qos why", "kubectl qos died"))
        assert (f"--scheduler-config={config}" in shlex.split(command)) is not takes_none
        assert run(*shlex.split(command)[2:]).code in {0, NOT_CERTAIN}, command


def test_K_demos_own_scheduler_is_not_repeated() -> None:
    assert "--scheduler-config" not in run("explain", "pod/db-1", "-n", "shop", "--demo").out
    assert ClusterOptions(context="c").target(DEMO_SCHEDULER).scheduler_config == DEMO_SCHEDULER


def test_K_snapshot_suggests_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    ran = run("snapshot", "--demo", "-o", "of today.qos")
    (command,) = suggested(ran.out)
    assert command == "kubectl qos explain pods --snapshot='of today.qos'"
    assert run(*shlex.split(command)[2:]).code == 0


def live(*commands: Command, lines: tuple[str | Prose, ...] = ()) -> Page:
    return Page("title", ("verdict",), Severity.FINE, (Section("Unknown", lines),), commands)


@pytest.mark.parametrize(
    ("command", "options"),
    [
        (qos("explain pod/{}", "web-0", namespace="shop", options="-o wide"), {"namespace": "shop"}),
        (qos("delete pod/web-0", namespace="shop", options="--grace-period=0 --confirm", changes=True), {}),
        (qos("fence node/a", options="--confirm-powered-off", changes=True, comment="once it is off"), {}),
        (qos("fence node/a", options="--confirm", typed=(("--fence-command", "./off -f"),)), {}),
        (qos("unfence node/a"), {}),
        (qos("partitions"), {}),
        (qos("node {}", "a"), {}),
        (qos("report --all", options="-o r.html"), {}),
        (qos("place", options="-f web.yaml"), {}),
        (qos("snapshot", options="-o c.qos"), {}),
        (qos("versions --to {}", "1.37"), {}),
        (qos("died pod/web-0", namespace="shop"), {"namespace": "shop"}),
    ],
    ids=lambda one: one.ours if isinstance(one, Command) else None,
)
def test_K_each_of_our_commands_takes_the_flags_of_its_target(command: Command, options: Mapping[str, str]) -> None:
    line = CHOSEN.target("my config.yaml").line(command)
    assert line is not None
    parsed = parse(shlex.split(line)[2:])
    assert parsed.command == command.ours
    asked = parsed.options.cluster.replace(namespace=None, request_timeout=CHOSEN.request_timeout, typed=TypedCommand())
    assert asked == CHOSEN.replace(names_context=command.ours == "report")
    assert parsed.options.cluster.namespace == options.get("namespace", command.namespace)
    takes_config = command.ours in {"explain", "place", "report", "versions"}
    assert (getattr(parsed.options, "scheduler_config", None) == "my config.yaml") == takes_config


def test_K_every_own_command_is_tested() -> None:
    tested = "explain delete fence unfence partitions node report place snapshot versions died"
    assert set(COMMANDS) - {"why", "lint", "rights"} == set(tested.split())


def test_K_kubectl_commands_get_only_kubectl_flags() -> None:
    line = CHOSEN.target("c.yaml").line(kubectl("describe pod {}", "web-0", namespace="shop"))
    assert line == (
        "kubectl describe pod web-0 -n shop --context='prod eu' --kubeconfig='../my configs/it'\"'\"'s.yaml' "
        "--cluster=c --user='u;id' --as=system:admin --as-group=system:masters --as-group='$(id)'"
    )


@pytest.mark.parametrize("cluster", [{"demo": True}, {"snapshot": "c.json"}, {"offline": True}], ids=str)
def test_K_files_suggest_no_kubectl_and_no_changes(cluster: dict[str, Any]) -> None:
    target = ClusterOptions(**cluster).target()
    assert target.line(kubectl("describe pod {}", "web-0", namespace="shop")) is None
    assert target.line(qos("delete pod/web-0", namespace="shop", changes=True)) is None
    assert target.line(qos("partitions")) is not None


ODD = (
    "$(id)",
    "a b",
    "a;b",
    "a|b",
    "a,b",
    "a=b",
    "a/b",
    "a\nb",
    "a\x1b[2J",
    "a\u202eb",
    "'",
    "é",
    "--all",
    "a-",
    "A",
    "..",
)


@pytest.mark.parametrize("name", ODD)
def test_K_pasted_commands_have_no_invalid_names(name: str) -> None:
    """The answer shows that a command is missing."""
    for command in (
        qos("node {}", name),
        qos("explain pod/{}", name),
        qos("explain pod/web", namespace=name),
        kubectl("get pods", name, options="--field-selector spec.nodeName={}"),
    ):
        assert Target().line(command) is None
        assert Target().suggestions((qos("partitions"), command)) == ("kubectl qos partitions", f"# {NO_COMMAND}")
        assert Target().sentence(Prose(("you may not", Hint(command, " (", ")")))) == f"you may not ({NO_COMMAND})"


def test_K_typed_namespace_replaces_missing_one() -> None:
    target = ClusterOptions(namespace="shop", context="c").target()
    assert target.line(qos("explain pod/web", namespace="")) == "kubectl qos explain pod/web -n shop --context=c"
    assert target.line(qos("node {}", "a")) == "kubectl qos node a --context=c"


def test_K_commands_without_a_cluster_get_no_flags() -> None:
    assert CHOSEN.target().line(why("Insufficient memory")) == "kubectl qos why 'Insufficient memory'"
    assert CHOSEN.target().line(qos("lint", options="-f web.yaml")) == "kubectl qos lint -f web.yaml"


@pytest.mark.parametrize(
    "entry", [entry for entries in CATALOGUE.values() for entry in entries], ids=lambda one: one.name
)
def test_K_commands_of_the_glossary_parse(entry: Any) -> None:
    for text in entry.commands:
        line = Target().line(as_typed(text))
        assert line is not None, text
        words = shlex.split(line)
        assert words == shlex.split(text)
        assert words[0] == "kubectl"
        if words[1] == "qos":
            assert parse(words[2:]).command in COMMANDS


def test_K_terms_that_lint_suggests_are_known(tmp_path: Path) -> None:
    manifest = tmp_path / "p.yaml"
    manifest.write_text("apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec: {containers: [{name: c, image: i}]}\n")
    commands = suggested(run("lint", "-f", str(manifest)).out)
    assert commands
    for command in commands:
        assert run(*shlex.split(command)[2:]).code == 0, command


def test_K_suggested_lines_are_never_wrapped() -> None:
    command = qos("explain pod/web-0", namespace="shop")
    [refused] = unread_lines([UnreadInput("list", "pods", "shop", "forbidden")])
    page = live(command, lines=(refused,))
    target = CHOSEN.target()
    asked = target.line(kubectl("auth can-i list pods", namespace="shop"))
    for text in (render_page(page, colour=False, target=target), target.sentence(refused)):
        assert f"({asked})" in text
    assert suggested(render_page(page, colour=False, target=target)) == [target.line(command)]
    fenced = markdown_page(page, target=target).partition("```sh\n")[2]
    assert fenced == f"{target.line(command)}\n```\n"


def test_K_permissions_of_a_part_are_asked_for_as_kubectl_does() -> None:
    """``nodes/proxy`` after can-i would be a node named proxy."""
    [line] = unread_lines([UnreadInput("get", "nodes/proxy", None, "forbidden", "node-1", "stats/summary")])
    said = Target(connection=(("--context", "c"),)).sentence(line)
    ask = "(kubectl auth can-i get nodes --context=c --subresource=proxy)"
    assert said == f"usage of node-1 is unknown: you may not get nodes/proxy {ask}"


def test_K_hint_belongs_to_its_words() -> None:
    hint = Prose(("you may not", Hint(kubectl("auth whoami"), " (", ")")))
    assert Target().sentence(hint) == "you may not (kubectl auth whoami)"
    assert Target(live=False).sentence(hint) == "you may not"


def _deletion(*kinds: StepKind, sure: bool) -> Iterable[str | Prose]:
    steps = [Step(None, kind, "pod/db-1", "node-c3", 0) for kind in kinds]  # type: ignore[arg-type]
    return deletion_state(ObjectMeta(name="db-1", namespace="shop"), steps, sure=sure)


def _fencing(*kinds: StepKind, state: FenceState = FenceState.POSSIBLE) -> FenceReport:
    return FenceReport(
        name="node-c3",
        undo=False,
        source="the cluster",
        rules_version="1.36.3",
        server_version=None,
        dry_run=False,
        state=state,
        node=None,
        left=FenceRemainder((), (), (), ()),
        denied=(),
        steps=tuple(Step(None, kind, "node/node-c3") for kind in kinds),  # type: ignore[arg-type]
        outcome=StepOutcome.NOT_CONFIRMED,
        refusal=None,
        unread=(),
    )


@pytest.mark.parametrize(
    "lines",
    [
        list(_deletion(StepKind.DELETED, StepKind.NODE_SILENT, sure=True)),
        list(_deletion(StepKind.DELETING, sure=False)),
        list(fencing_state(_fencing(StepKind.TAINTED), sure=True)),
        list(fencing_state(_fencing(StepKind.TAINTING), sure=False)),
    ],
    ids=["deleted on a silent node", "no answer to a deletion", "fenced", "no answer to a taint"],
)
def test_K_sentences_keep_the_target(lines: Sequence[str | Prose]) -> None:
    target = CHOSEN.target()
    commands = [said.partition(": ")[2] for said in map(target.sentence, lines) if ": kubectl" in said]
    assert commands
    for command in commands:
        assert command.count("kubectl ") == 1
        assert set(shlex.split(target.flags("node") or "")) <= set(shlex.split(command)), command


@pytest.mark.parametrize("state", FenceState)
def test_K_what_fence_suggests_parses(state: FenceState) -> None:
    pages = [fence_page(_fencing(state=state), "./off --now", now=None), unfence_page(_fencing(state=state), now=None)]
    for line in suggested("".join(render_page(page, colour=False, target=CHOSEN.target()) for page in pages)):
        words = shlex.split(line)
        assert "--context=prod eu" in words
        assert words[1] != "qos" or parse(words[2:]).options.cluster.user == "u;id"


def test_K_fence_command_is_repeated() -> None:
    page = fence_page(_fencing(), "./off --now", now=None)
    first, second = suggested(render_page(page, colour=False, target=Target()))
    assert shlex.split(first)[-2:] == ["--fence-command=./off --now", "--confirm"]
    assert shlex.split(second)[-1] == "--confirm-powered-off"


def test_K_remedies_of_errors_keep_the_target(capsys: pytest.CaptureFixture[str]) -> None:
    import sys

    error = Unreachable("the API server does not accept your credentials: no", remedy=("kubectl", "auth", "whoami"))
    assert str(error).endswith("; try `kubectl auth whoami`")
    assert words_of(error, Target(connection=(("--context", "a b"),))).endswith(
        "; try `kubectl auth whoami --context='a b'`"
    )
    assert print_error(error, sys.stderr, Target(connection=(("--user", "u"),))) == 5
    assert capsys.readouterr().err.endswith("credentials: no\nTry kubectl auth whoami --user=u\n")


def test_K_command_line_errors_have_no_target(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "pod/missing", "--demo"]) == 3
    assert capsys.readouterr().err.startswith('error: no pod "missing" in shop')


@pytest.mark.parametrize(
    "words", [["explain", "pod/db-1"], ["explain", "pod/db-1", "-o", "markdown"], ["report"]], ids=str
)
def test_K_unlisted_owners_are_not_named(words: list[str], tmp_path: Path) -> None:
    """``kubectl get nodes,pods -A -o json`` contains the pods' owners only by name."""
    file = write_list(tmp_path / "c.json", (one for one in demo_objects() if one["kind"] in {"Pod", "Node"}))
    output = ["-o", "-"] if words == ["report"] else []
    asked = run(*words, "-n", "shop", "--snapshot", file, *output).out
    assert "kubectl qos partitions" in asked
    assert "kubectl qos explain statefulset/" not in asked
    assert "kubectl qos explain statefulset/db -n shop --demo" in run(*words, "-n", "shop", "--demo", *output).out


def test_K_commands_in_the_page_keep_the_target() -> None:
    page = run("report", "-n", "shop", "--demo", "-o", "-").out
    commands = {html.unescape(text).partition("   # ")[0] for text in re.findall(r"<li><code>(.*?)</code>", page)}
    assert len(commands) > 20
    there = existing(demo_objects())
    for command in commands:
        assert ("--demo" in shlex.split(command)) is not command.startswith("kubectl qos why")
        assert set(named(command)) <= there
    data = json.loads(re.findall(r'id="data"[^>]*>(.*?)</script>', page)[0])
    assert data["flags"] == {"explain": "--demo", "node": "--demo"}


def test_K_page_of_a_cluster_has_its_flags() -> None:
    report = cluster_report(large_facts(Size(2, 2)))
    block = str(data_block(report, CHOSEN.target("c.yaml")))
    flags = json.loads(block[block.index(">") + 1 : block.rindex("<")])["flags"]
    assert shlex.split(flags["explain"]) == [*CHOSEN.kubectl_flags(), "--scheduler-config=c.yaml"]
    assert shlex.split(flags["node"]) == CHOSEN.kubectl_flags()
    odd = str(data_block(report, Target(connection=(("--context", "a\u202eb"),))))
    assert '"explain":null' in odd
